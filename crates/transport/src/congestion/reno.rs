//! NewReno: additive increase, halving on loss (RFC 5681 s3.1, RFC 6582; congestion spec s1).
//!
//! Congestion avoidance adds `acked/cwnd`; a loss sets `ssthresh = max(cwnd/2, 2)`. Slow start,
//! time-outs and recovery are the common ones of `uncoupled`.

use super::uncoupled::Algorithm;
use super::window::{MIN_SSTHRESH, Window};
use super::{AckSample, CongestionEvent, Options};

/// NewReno has no state beyond the window.
#[derive(Clone, Debug)]
pub struct Reno;

impl Algorithm for Reno {
    fn new(_options: &Options) -> Self {
        Reno
    }

    fn increase(&mut self, window: &mut Window, acked: f64, _sample: &AckSample) {
        window.reno_increase(acked);
    }

    fn threshold(&mut self, window: &Window, _event: &CongestionEvent) -> f64 {
        window.whole(window.cwnd() / 2.0).max(MIN_SSTHRESH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Arithmetic;
    use crate::congestion::test_support::{ack, loss};
    use base::Instant;

    fn ten_acks(arithmetic: Arithmetic) -> f64 {
        let mut window = Window::new(arithmetic, 1448, 10, Some(10));
        for _ in 0..10 {
            Reno.increase(&mut window, 1.0, &ack(Instant::ZERO, 1));
        }
        window.cwnd()
    }

    #[test]
    fn reno_1_ten_acks_add_about_one_segment() {
        // The sum of ten successive 1/cwnd.
        assert!((ten_acks(Arithmetic::Real) - 10.958_6).abs() < 5e-5);
        assert_eq!(ten_acks(Arithmetic::Counter), 11.0);
    }

    #[test]
    fn reno_1_loss_halves_down_to_two() {
        let threshold = |arithmetic, cwnd| {
            let mut window = Window::new(arithmetic, 1448, cwnd, None);
            let ssthresh = Reno.threshold(&window, &loss(Instant::ZERO));
            window.reduce(ssthresh);
            window.ssthresh()
        };
        assert_eq!(threshold(Arithmetic::Counter, 15), 7.0);
        assert_eq!(threshold(Arithmetic::Real, 15), 7.5);
        assert_eq!(threshold(Arithmetic::Real, 3), 2.0);
    }
}
