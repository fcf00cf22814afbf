//! NewReno: additive increase, half of the window after a loss (RFC 5681 s3.1, RFC 6582).
//!
//! Windows in segments grow as Linux `tcp_reno_cong_avoid` counts, one segment per window
//! acknowledged. Slow start, time-outs and recovery are those of `uncoupled`; over windows in
//! bytes they are those of `byte_control`.

use super::byte_control::ByteLaw;
use super::choice::ControllerRow;
use super::controller::{Controller, Counting};
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
pub struct Reno {
    counting: Counting,
}

/// The threshold after a loss, in whole segments: half the window.
pub(super) fn ssthresh(window: &SegmentWindow) -> f64 {
    truncate(law::reno::decrease(window.cwnd())).max(MIN_SSTHRESH_SEGS)
}

/// The increase in congestion avoidance by an acknowledgement of `acked` segments.
pub(super) fn increase(window: &mut SegmentWindow, acked: f64, counting: Counting) {
    match counting {
        Counting::Segments => window.reno_increase(acked),
        Counting::SegmentsInSlowStart | Counting::Acknowledgements => window.reno_increase_by_ack(),
    }
}

impl Algorithm for Reno {
    fn new(options: &Options) -> Self {
        Reno { counting: options.counting }
    }

    fn increase(&mut self, window: &mut SegmentWindow, acked: f64, _sample: &AckSample) {
        increase(window, acked, self.counting);
    }

    fn ssthresh(&mut self, window: &SegmentWindow, _event: &CongestionEvent) -> f64 {
        ssthresh(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::test_support::{ack, loss, path_start};
    use crate::congestion::{CongestionControl, Growth};
    use base::{Instant, PathId};

    /// The window after acknowledgements of two segments each.
    fn grown(counting: Counting, cwnd: u32, ssthresh: u32, acks: u32) -> f64 {
        let mut reno = Uncoupled::<Reno>::new(Options { counting, ..Options::LINUX });
        reno.on_path_added(PathId(0), &path_start(1448, cwnd, Some(ssthresh)));
        for _ in 0..acks {
            reno.on_ack(PathId(0), &ack(Instant::ZERO, 2));
        }
        reno.window(PathId(0)).expect("added").cwnd()
    }

    #[test]
    fn reno_1_ten_acks_add_one_segment() {
        let mut window = SegmentWindow::new(1448, 10, Some(10));
        let mut reno = Reno::new(&Options::LINUX);
        for _ in 0..10 {
            reno.increase(&mut window, 1.0, &ack(Instant::ZERO, 1));
        }
        assert_eq!(window.cwnd(), 11.0);
    }

    #[test]
    fn old_kernels_count_acknowledgements_in_congestion_avoidance() {
        assert_eq!(grown(Counting::Segments, 10, 10, 5), 11.0);
        for counting in [Counting::SegmentsInSlowStart, Counting::Acknowledgements] {
            // Compared, then counted: the eleventh acknowledgement makes the step.
            assert_eq!(grown(counting, 10, 10, 10), 10.0, "{counting:?}");
            assert_eq!(grown(counting, 10, 10, 11), 11.0, "{counting:?}");
        }
    }

    #[test]
    fn kernels_before_3_13_count_acknowledgements_in_slow_start() {
        assert_eq!(grown(Counting::Segments, 10, 100, 5), 20.0);
        assert_eq!(grown(Counting::SegmentsInSlowStart, 10, 100, 5), 20.0);
        assert_eq!(grown(Counting::Acknowledgements, 10, 100, 5), 15.0);
    }

    #[test]
    fn window_that_is_not_full_grows_before_linux_3_16() {
        let grown = |growth, cwnd| {
            let mut reno = Uncoupled::<Reno>::new(Options { growth, ..Options::LINUX });
            reno.on_path_added(PathId(0), &path_start(1448, cwnd, None));
            // Ten in flight.
            let sample = AckSample { cwnd_limited: false, ..ack(Instant::ZERO, 1) };
            reno.on_ack(PathId(0), &sample);
            reno.window(PathId(0)).expect("added").cwnd()
        };
        assert_eq!(grown(Growth::WhenFull, 13), 13.0);
        assert_eq!(grown(Growth::WhenNearlyFull, 13), 14.0, "three unused");
        assert_eq!(grown(Growth::WhenNearlyFull, 14), 15.0, "less than a third unused");
        assert_eq!(grown(Growth::WhenNearlyFull, 15), 15.0);
    }

    #[test]
    fn reno_1_loss_halves_down_to_two() {
        let ssthresh = |cwnd| {
            let mut window = SegmentWindow::new(1448, cwnd, None);
            let ssthresh = Reno::new(&Options::LINUX).ssthresh(&window, &loss(Instant::ZERO));
            window.reduce(ssthresh);
            window.ssthresh()
        };
        assert_eq!(ssthresh(15), 7.0);
        assert_eq!(ssthresh(3), 2.0);
    }
}
