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
        share(cwnd, self.queue_delay(), self.rtt)
    }

    /// `w_i base_i / rtt_i`: the window that leaves queues empty, in whole segments.
    pub(crate) fn target(self, cwnd: f64) -> f64 {
        share(cwnd, self.base, self.rtt)
    }

    /// `rtt_i - base_i`.
    pub(crate) fn queue_delay(self) -> Duration {
        self.rtt.saturating_sub(self.base)
    }

    /// The window that drains the queue, `w_i base_i / (2 rtt_i)`, in whole segments.
    pub(crate) fn drained(self, cwnd: f64) -> f64 {
        share(cwnd, self.base, self.rtt * 2)
    }
}

/// `cwnd part / whole` in whole segments. In integers, as in the kernel: real numbers come out
/// below quotients that are whole.
fn share(cwnd: f64, part: Duration, whole: Duration) -> f64 {
    let [part, whole] = [part, whole].map(|time| u128::from(time.as_nanos()));
    // At most `cwnd`.
    (cwnd as u128 * part / whole.max(1)) as f64
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

    /// Regression: 2 of 3 segments were seen in the queue of a window of 5.
    #[test]
    fn whole_quotients_stay_whole() {
        let of = |base_ms, rtt_ms| {
            let [base, rtt] = [base_ms, rtt_ms].map(Duration::from_millis);
            Round { base, rtt }
        };
        assert_eq!(
            [(5, 10, 25), (4, 50, 200), (7, 5, 35)]
                .map(|(cwnd, base, rtt)| { of(base, rtt).queued(f64::from(cwnd)) }),
            [3.0, 3.0, 6.0]
        );
        for cwnd in 2..400u32 {
            for queued in 1..cwnd {
                let round = of(u64::from(cwnd - queued), u64::from(cwnd));
                let windows = [round.queued(f64::from(cwnd)), round.target(f64::from(cwnd))];
                assert_eq!(windows, [queued, cwnd - queued].map(f64::from));
                let twice = of(u64::from(cwnd - queued) * 2, u64::from(cwnd));
                assert_eq!(twice.drained(f64::from(cwnd)), f64::from(cwnd - queued));
            }
        }
        let extreme = Round { base: Duration::from_micros(1), rtt: Duration::from_secs(60) };
        assert_eq!((extreme.queued(1e6), extreme.target(1e6)), (999_999.0, 0.0));
    }

    #[test]
    fn rates_that_differ_little_have_different_weights() {
        // The kernel's integers would make both rates 10.
        let weight = weight(20.0 / 0.13, 10.0 / 0.06);
        assert!(weight.is_some_and(|weight| (weight - 0.48).abs() < 1e-9), "{weight:?}");
        assert_eq!(super::weight(0.0, 0.0), None);
    }
}
