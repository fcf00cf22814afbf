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
        (window.cwnd() / 2.0).max(MIN_SSTHRESH)
    }
}
