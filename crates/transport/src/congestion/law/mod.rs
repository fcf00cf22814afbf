//! The laws of congestion control: how much a window grows for acknowledged data and what a
//! congestion event leaves of it, as pure functions of the windows and round-trip times of all
//! paths.
//!
//! Slow start, time-outs, counters of acknowledged data and floors belong to the windows
//! (`segment_window`, `byte_window`) and to the controllers that own them.
//!
//! A window is in segments or in bytes. A function that returns growth takes `unit`, the size of
//! a segment in the same measure: 1 for segments, the MSS (SCTP: the PMDCS) for bytes. Growth is
//! per acknowledged segment or byte, so that for `n` bytes acknowledged RFC 6356 s3 adds
//! `n * increase` bytes.

pub(super) mod balia;
pub(super) mod cubic;
pub(super) mod lia;
pub(super) mod olia;
pub(super) mod pool;
pub(super) mod reno;
pub(super) mod wvegas;

use base::Duration;

/// A path as the coupled laws see it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flow {
    /// `w_i`, in segments or bytes.
    pub cwnd: f64,
    /// `rtt_i`, smoothed; not zero.
    pub srtt: Duration,
    /// `l_i`, in bytes; only OLIA sets it.
    pub loss_interval: u64,
    /// Slow-start threshold, in segments or bytes; infinite while arbitrarily high. Only resource
    /// pooling uses it.
    pub ssthresh: f64,
    /// The rate that wVegas measured over the last round, in segments per second; zero while it
    /// is unknown and for all other laws.
    pub round_rate: f64,
}

impl Flow {
    /// A path with that window and round-trip time.
    pub const fn new(cwnd: f64, srtt: Duration) -> Self {
        Flow { cwnd, srtt, loss_interval: 0, ssthresh: f64::INFINITY, round_rate: 0.0 }
    }

    /// `rtt_i` in seconds.
    pub fn rtt(&self) -> f64 {
        self.srtt.as_secs_f64()
    }

    /// `x_i = w_i / rtt_i`, in segments or bytes per second.
    pub fn rate(&self) -> f64 {
        debug_assert!(self.cwnd >= 0.0 && !self.srtt.is_zero(), "{self:?}");
        self.cwnd / self.rtt()
    }
}

/// `sum_i w_i / rtt_i`.
pub(super) fn total_rate(flows: &[Flow]) -> f64 {
    flows.iter().map(Flow::rate).sum()
}

/// Equal to the digits that a worked example prints.
#[cfg(test)]
pub(super) fn assert_close(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-6, "{actual} is not {expected}");
}
