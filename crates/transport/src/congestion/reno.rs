//! NewReno: additive increase, half of the window after a loss (RFC 5681 s3.1, RFC 6582).
//!
//! Windows in segments grow as Linux `tcp_reno_cong_avoid` counts, one segment per window
//! acknowledged. Slow start, time-outs and recovery are those of `uncoupled`; over windows in
//! bytes they are those of `byte_control`.

use super::byte_control::ByteLaw;
use super::choice::ControllerRow;
use super::controller::Controller;
use super::law;
use super::segment_window::{MIN_SSTHRESH_SEGS, SegmentWindow, truncate};
use super::uncoupled::{Algorithm, Uncoupled};
use super::{AckSample, CongestionEvent, Options};

/// The row of `reno`.
pub(super) const ROW: ControllerRow = ControllerRow {
    name: "reno",
    about: "NewReno: one segment more per round trip, half the window on loss.",
    source: "RFC 5681, RFC 6582",
    parameters: &[],
    is_coupled: false,
    make: |options| Controller::Reno(Uncoupled::new(*options)),
    bytes: Some(BYTES),
};

/// RFC 9260 s7.2.
pub(super) const BYTES: ByteLaw = ByteLaw {
    slow_start_share: |_, _, _| 1.0,
    increase: |flows, own, pmdcs| law::reno::increase(flows[own].cwnd, pmdcs),
    reduced: |flows, own| law::reno::decrease(flows[own].cwnd),
    floor: |_, _, pmdcs| 4.0 * pmdcs,
    shares_start: false,
};

/// NewReno has no state beyond the window.
#[derive(Clone, Debug)]
pub struct Reno;

impl Algorithm for Reno {
    fn new(_options: &Options) -> Self {
        Reno
    }

    fn increase(&mut self, window: &mut SegmentWindow, acked: f64, _sample: &AckSample) {
        window.reno_increase(acked);
    }

    fn ssthresh(&mut self, window: &SegmentWindow, _event: &CongestionEvent) -> f64 {
        truncate(law::reno::decrease(window.cwnd())).max(MIN_SSTHRESH_SEGS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::test_support::{ack, loss};
    use base::Instant;

    #[test]
    fn reno_1_ten_acks_add_one_segment() {
        let mut window = SegmentWindow::new(1448, 10, Some(10));
        for _ in 0..10 {
            Reno.increase(&mut window, 1.0, &ack(Instant::ZERO, 1));
        }
        assert_eq!(window.cwnd(), 11.0);
    }

    #[test]
    fn reno_1_loss_halves_down_to_two() {
        let ssthresh = |cwnd| {
            let mut window = SegmentWindow::new(1448, cwnd, None);
            let ssthresh = Reno.ssthresh(&window, &loss(Instant::ZERO));
            window.reduce(ssthresh);
            window.ssthresh()
        };
        assert_eq!(ssthresh(15), 7.0);
        assert_eq!(ssthresh(3), 2.0);
    }
}
