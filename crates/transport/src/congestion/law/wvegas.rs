//! The law of wVegas, weighted Vegas (Cao, Xu, Fu: ICNP 2012; `mptcp_wvegas.c` in the
//! multipath-tcp kernel v0.95).
//!
//! `rtt` is the mean round-trip time of a round, `base` the smallest one. Windows are in segments.

use base::Duration;

/// The smallest `alpha_i`: segments that a path may always have in queues.
const MIN_ALPHA: f64 = 2.0;

/// Round-trip times of one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// The mean of the samples of the round.
    pub rtt: Duration,
    /// `baseRTT`, the smallest sample.
    pub base: Duration,
}

impl Round {
    /// `diff_i = w_i (rtt_i - base_i) / rtt_i`: segments in queues, in whole segments.
    pub(crate) fn queued(self, cwnd: f64) -> f64 {
        libm::floor(cwnd * self.queue_delay().as_secs_f64() / self.rtt.as_secs_f64())
    }

    /// `w_i base_i / rtt_i`: the window that leaves queues empty, in whole segments.
    pub(crate) fn target(self, cwnd: f64) -> f64 {
        libm::floor(cwnd * self.base.as_secs_f64() / self.rtt.as_secs_f64())
    }

    /// `rtt_i - base_i`.
    pub(crate) fn queue_delay(self) -> Duration {
        self.rtt.saturating_sub(self.base)
    }

    /// The window that drains the queue, `w_i base_i / (2 rtt_i)`, in whole segments.
    pub(crate) fn drained(self, cwnd: f64) -> f64 {
        let share = self.base.as_secs_f64() / (2.0 * self.rtt.as_secs_f64());
        libm::floor(cwnd * share)
    }
}

/// `weight_i = rate_i / sum_k rate_k`; `None` while no rate is known.
pub(crate) fn weight(rate: f64, sibling_rates: f64) -> Option<f64> {
    let total = rate + sibling_rates;
    (total > 0.0).then(|| rate / total)
}

/// `alpha_i = max(2, weight_i total_alpha)`, in whole segments.
pub(crate) fn alpha(weight: f64, total_alpha_segs: u32) -> f64 {
    debug_assert!((0.0..=1.0).contains(&weight), "{weight}");
    libm::floor(weight * f64::from(total_alpha_segs)).max(MIN_ALPHA)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(rtt_ms: u64) -> Round {
        Round { rtt: Duration::from_millis(rtt_ms), base: Duration::from_millis(100) }
    }

    #[test]
    fn wv_1_to_3_queues_shares_and_drain_of_a_window_of_20() {
        assert_eq!([110, 130].map(|rtt| round(rtt).queued(20.0)), [1.0, 4.0]);
        assert_eq!([0.5, 0.3, 0.1].map(|weight| alpha(weight, 10)), [5.0, 3.0, 2.0]);
        assert_eq!(round(220).drained(20.0), 4.0);
        assert_eq!(round(125).target(20.0), 16.0);
    }

    #[test]
    fn rates_that_differ_little_have_different_weights() {
        // The kernel's integers would make both rates 10.
        let weight = weight(20.0 / 0.13, 10.0 / 0.06);
        assert!(weight.is_some_and(|weight| (weight - 0.48).abs() < 1e-9), "{weight:?}");
        assert_eq!(super::weight(0.0, 0.0), None);
    }
}
