//! LIA, "coupled" (RFC 6356; congestion spec s3): the paths of a connection together take no more
//! than one TCP would on the best of them.
//!
//! Congestion avoidance on path `i`, per segment acknowledged, over all paths with an RTT sample:
//! `w_i += min(alpha / w_total, 1 / w_i)`,
//! `alpha = w_total * max_i(w_i / rtt_i^2) / (sum_i w_i / rtt_i)^2`.
//! A loss halves. Slow start and the rest are `coupled`'s. With `kernel_compat` the multipath-tcp
//! kernel's integers: a segment more after `n + 1` acknowledgements, `n = max(w_i, w_total /
//! alpha)`, whatever each covered.

use super::coupled::{self, AckCounter, Coupled, half, total_rate};
use super::lisa;
use super::window::{MIN_SSTHRESH, Window};
use super::{CongestionEvent, Options};
use crate::parameters::{Kind, Parameter};

/// The linked increases of one connection.
pub type Lia = Coupled<Linked>;

type Flow = coupled::Flow<()>;

/// What can be set.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "app-limited-alpha",
        about: "1: of windows that are not filled only what is in flight counts (RFC 6356)",
        least: 0.0,
        most: 1.0,
        default: 0.0,
        kind: Kind::Whole,
        source: "multipath-tcp kernel v0.95",
    },
    lisa::PARAMETER,
];

/// One path's part.
#[derive(Clone, Debug)]
pub struct Linked {
    kernel_compat: bool,
    /// `kernel_compat`: acknowledgements since the last step.
    acks: AckCounter,
}

impl coupled::Rule for Linked {
    type Told = ();

    fn new(options: &Options) -> Self {
        Linked { kernel_compat: options.kernel_compat, acks: AckCounter::default() }
    }

    fn told(&self) {}

    fn increase(&mut self, window: &mut Window, acked: f64, flows: &[Flow]) {
        let own = window.cwnd();
        if !self.kernel_compat {
            window.grow(acked * increase_per_segment(flows, own));
        } else if self.acks.steps(kernel_step(flows).max(u64::from(window.cwnd_segs()))) {
            window.grow(1.0);
        }
    }

    fn threshold(&mut self, window: &Window, _: &[Flow], _: &CongestionEvent) -> f64 {
        half(window, self.kernel_compat).max(MIN_SSTHRESH)
    }

    fn on_loss(&mut self) {
        self.acks = AckCounter::default();
    }

    fn on_timeout(&mut self) {
        self.acks = AckCounter::default();
    }
}

/// `w_i / rtt_i^2`.
fn rank(flow: &Flow) -> f64 {
    flow.rate() / flow.rtt()
}

/// `sum_i w_i`.
fn total(flows: &[Flow]) -> f64 {
    flows.iter().map(|flow| flow.window).sum()
}

/// The aggressiveness of the increase (RFC 6356 s3).
fn alpha(flows: &[Flow]) -> f64 {
    let best = flows.iter().map(rank).fold(0.0, f64::max);
    let rate = total_rate(flows);
    total(flows) * best / (rate * rate)
}

/// `min(alpha / w_total, 1 / w_i)`.
fn increase_per_segment(flows: &[Flow], own: f64) -> f64 {
    (alpha(flows) / total(flows)).min(1.0 / own)
}

/// `w_total / alpha` in the kernel's fixed point: `alpha` carries 12 bits, its numerator 32, the
/// terms of its denominator 10.
fn kernel_step(flows: &[Flow]) -> u64 {
    (1 << 12) / kernel_alpha(flows)
}

/// `alpha / w_total` with 12 bits of fraction, at least 1.
fn kernel_alpha(flows: &[Flow]) -> u64 {
    let micros = |flow: &Flow| u128::from(flow.srtt.as_micros().max(1));
    let Some(best) = flows.iter().max_by(|a, b| rank(a).total_cmp(&rank(b))) else { return 1 };
    let rate: u128 =
        flows.iter().map(|flow| ((flow.window as u128) << 10) * micros(best) / micros(flow)).sum();
    // Windows and round-trip times below 2^32 keep this far from the type's end.
    let alpha = ((best.window as u128) << 32) / (rate * rate).max(1);
    u64::try_from(alpha).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::coupled::tests::{ack_of, avoiding, close, cwnd, start};
    use crate::congestion::test_support::loss;
    use crate::congestion::{AckSample, CongestionControl, CongestionKind, PathStart};
    use base::{Duration, Instant, PathId};
    use proptest::prelude::*;

    const KERNEL: Options = Options { kernel_compat: true, ..Options::LINUX };

    fn flow(window: f64, rtt_ms: u64) -> Flow {
        Flow { window, srtt: Duration::from_millis(rtt_ms), told: () }
    }

    fn growth(paths: &[(u32, u64)], path: u8) -> f64 {
        coupled::tests::growth::<Linked>(paths, path)
    }

    #[test]
    fn lia_1_fast_and_slow() {
        close(alpha(&[flow(20.0, 10), flow(10.0, 100)]), 1.360_544_2);
        let paths = [(20, 10), (10, 100)];
        close(growth(&paths, 0), 0.045_351_5);
        close(growth(&paths, 1), 0.045_351_5);
    }

    #[test]
    fn lia_2_equal_paths() {
        close(alpha(&[flow(10.0, 100), flow(10.0, 100)]), 0.5);
        close(growth(&[(10, 100), (10, 100)], 0), 0.025);
        close(growth(&[(10, 100), (10, 100)], 1), 0.025);
    }

    #[test]
    fn lia_3_capped_by_one_tcp() {
        let flows = [flow(4.0, 10), flow(100.0, 200)];
        close(alpha(&flows), 5.135_802_5);
        close(alpha(&flows) / total(&flows), 0.049_382_7);
        close(growth(&[(4, 10), (100, 200)], 0), 0.049_382_7);
        close(growth(&[(4, 10), (100, 200)], 1), 0.01);
    }

    #[test]
    fn lia_1_kernel_step_after_n_plus_one_acks() {
        let flows = [flow(20.0, 10), flow(10.0, 100)];
        assert_eq!((kernel_alpha(&flows), kernel_step(&flows)), (185, 22));
        let mut lia: Lia = avoiding(KERNEL, &[(20, 10), (10, 100)]);
        // Acknowledgements count, not what they cover.
        let mut acks_to = |window: u32| {
            let mut acks = 0;
            while lia.cwnd_segs(PathId(0)) < window {
                lia.on_ack(PathId(0), &ack_of(10, 2));
                acks += 1;
            }
            acks
        };
        assert_eq!(acks_to(21), 23);
        // (21504 + 1024)^2 makes alpha 177; the step is 4096 / 177 = 23.
        assert_eq!(acks_to(22), 24);
    }

    #[test]
    fn kernel_counter_is_void_after_a_loss() {
        let mut lia: Lia = avoiding(KERNEL, &[(40, 10), (10, 100)]);
        let path = PathId(0);
        (0..40).for_each(|_| lia.on_ack(path, &ack_of(10, 1)));
        lia.on_congestion(path, &loss(Instant::from_secs(1)));
        lia.on_recovery_exit(path, Instant::from_secs(1));
        (0..20).for_each(|_| lia.on_ack(path, &ack_of(10, 1)));
        assert_eq!(lia.cwnd_segs(path), 20);
    }

    #[test]
    fn sibling_without_sample_or_gone_does_not_count() {
        let mut lia: Lia = avoiding(Options::LINUX, &[(10, 100)]);
        lia.on_path_added(PathId(1), &start(10, Some(1)));
        lia.on_ack(PathId(0), &ack_of(100, 10));
        assert_eq!(cwnd(&lia, 0), 11.0, "a plain TCP's step");
        lia.on_ack(PathId(1), &AckSample { cwnd_limited: false, ..ack_of(100, 1) });
        lia.on_ack(PathId(0), &ack_of(100, 10));
        assert!(cwnd(&lia, 0) < 11.3, "coupled");
        lia.on_path_removed(PathId(1));
        let before = cwnd(&lia, 0);
        for _ in 0..11 {
            lia.on_ack(PathId(0), &ack_of(100, 1));
        }
        assert_eq!(cwnd(&lia, 0), before + 1.0, "alone again");
    }

    #[test]
    fn sibling_in_recovery_counts_with_its_threshold() {
        let mut lia: Lia = avoiding(Options::LINUX, &[(10, 100), (20, 100)]);
        lia.on_congestion(PathId(1), &loss(Instant::from_secs(1)));
        assert_eq!((cwnd(&lia, 1), lia.ssthresh_segs(PathId(1))), (20.0, Some(10)));
        lia.on_ack(PathId(0), &ack_of(100, 1));
        close(cwnd(&lia, 0), 10.025);
        // A time-out is no fast recovery: its window of one segment counts.
        let rto = CongestionEvent { kind: CongestionKind::Rto, ..loss(Instant::from_secs(1)) };
        lia.on_congestion(PathId(1), &rto);
        let before = cwnd(&lia, 0);
        let expected = increase_per_segment(&[flow(before, 100), flow(1.0, 100)], before);
        lia.on_ack(PathId(0), &ack_of(100, 1));
        close(cwnd(&lia, 0) - before, expected);
    }

    #[test]
    fn unfilled_sibling_counts_with_its_flight_on_request() {
        let with = |app_limited_alpha| {
            let coupling = coupled::Coupling { app_limited_alpha, ..coupled::Coupling::DEFAULT };
            let options = Options { coupling, ..Options::LINUX };
            let mut lia: Lia = avoiding(options, &[(10, 100), (40, 100)]);
            let srtt = Duration::from_millis(100);
            lia.on_path_added(PathId(2), &PathStart { srtt, ..start(10, Some(1)) });
            let unfilled =
                AckSample { cwnd_limited: false, inflight_before_segs: 5, ..ack_of(100, 1) };
            lia.on_ack(PathId(1), &unfilled);
            lia.on_ack(PathId(0), &ack_of(100, 1));
            cwnd(&lia, 0) - 10.0
        };
        let increase = |sibling, unused| {
            let windows = [10.0, sibling, unused];
            increase_per_segment(&windows.map(|window| flow(window, 100)), 10.0)
        };
        close(with(false), increase(40.0, 10.0));
        close(with(true), increase(5.0, 0.0));
    }

    #[test]
    fn loss_halves() {
        let mut lia: Lia = avoiding(Options::LINUX, &[(20, 10), (10, 100)]);
        lia.on_congestion(PathId(0), &loss(Instant::from_secs(1)));
        lia.on_recovery_exit(PathId(0), Instant::from_secs(1));
        assert_eq!((lia.cwnd_segs(PathId(0)), lia.cwnd_segs(PathId(1))), (10, 10));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        /// Congestion spec s8 item 3, and the window never outgrows one TCP's.
        #[test]
        fn increase_is_at_most_that_of_one_tcp(
            paths in prop::collection::vec((1..2000u32, 1..3000u64), 1..6),
        ) {
            let flows: Vec<Flow> =
                paths.iter().map(|(cwnd, rtt_ms)| flow(f64::from(*cwnd), *rtt_ms)).collect();
            for flow in &flows {
                let increase = increase_per_segment(&flows, flow.window);
                prop_assert!(increase > 0.0 && increase <= 1.0 / flow.window);
            }
            // The kernel's step, where its integers have digits enough to tell.
            if kernel_alpha(&flows) > 1000 {
                let exact = total(&flows) / alpha(&flows);
                let kernel = kernel_step(&flows) as f64;
                prop_assert!((kernel - exact).abs() <= 1.0 + 0.05 * exact, "{kernel} {exact}");
            }
        }

        #[test]
        fn alpha_of_equal_paths_is_one_part_of_their_number(
            n in 1..9usize,
            cwnd in 1..1000u32,
            rtt_ms in 1..1000u64,
        ) {
            let flows = vec![flow(f64::from(cwnd), rtt_ms); n];
            prop_assert!((alpha(&flows) - 1.0 / n as f64).abs() < 1e-9);
        }
    }
}
