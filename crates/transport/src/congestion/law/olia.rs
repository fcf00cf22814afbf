//! The law of OLIA, opportunistic linked increases (Khalili and others, CoNEXT 2012, as in 001
//! sII; `mptcp_olia.c` in the multipath-tcp kernel v0.95).
//!
//! `M` is the set of paths with the largest window, `B` the set of best paths, those with the
//! largest `l_i / rtt_i^2`, and `C = B \ M`. Of `n` paths, `alpha_i` is `1 / (n |C|)` in `C`,
//! `-1 / (n |M|)` in `M` if `C` is not empty, and zero otherwise: windows move from the largest to
//! the best.

use super::{Flow, total_rate};

/// The measure of a path that decides on `B`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Metric {
    /// `l / rtt^2`: the paper and the kernel.
    Kernel,
    /// `l^2 / rtt`: implementations of draft-khalili-mptcp-congestion-control-05.
    Draft,
}

/// Change of the window of path `own` in congestion avoidance per acknowledged segment or byte:
/// `(w_i / rtt_i^2) / (sum_p w_p / rtt_p)^2 + alpha_i / w_i` for windows in segments. It may be
/// negative.
pub(crate) fn increase(flows: &[Flow], own: usize, metric: Metric, unit: f64) -> f64 {
    debug_assert!(are_balanced(flows, metric, unit), "{flows:?}");
    let flow = &flows[own];
    let total = total_rate(flows);
    let linked = flow.rate() / flow.rtt() / (total * total);
    linked * unit + alpha(flows, own, metric, unit) / flow.cwnd * unit
}

/// `alpha_i` of path `own`.
pub(crate) fn alpha(flows: &[Flow], own: usize, metric: Metric, unit: f64) -> f64 {
    // Windows are compared in whole segments.
    let whole = |flow: &Flow| (flow.cwnd / unit) as u64;
    let largest = flows.iter().map(whole).max().unwrap_or(0);
    let is_largest = |flow: &Flow| whole(flow) == largest;
    let is_best = |flow: &Flow| {
        flow.loss_interval > 0 && flows.iter().all(|other| metric.is_at_least(flow, other))
    };
    let collected = flows.iter().filter(|flow| is_best(flow) && !is_largest(flow)).count();
    if collected == 0 {
        return 0.0;
    }
    let paths = flows.len() as f64;
    if is_largest(&flows[own]) {
        let count = flows.iter().filter(|flow| is_largest(flow)).count();
        -1.0 / (paths * count as f64)
    } else if is_best(&flows[own]) {
        1.0 / (paths * collected as f64)
    } else {
        0.0
    }
}

/// The `alpha_i` of all paths add up to zero.
fn are_balanced(flows: &[Flow], metric: Metric, unit: f64) -> bool {
    let sum: f64 = (0..flows.len()).map(|own| alpha(flows, own, metric, unit)).sum();
    sum.abs() < 1e-9
}

impl Metric {
    /// Whether `a` is as good as `b`, exactly.
    fn is_at_least(self, a: &Flow, b: &Flow) -> bool {
        let rtt = |flow: &Flow| u128::from(flow.srtt.as_micros().max(1));
        let l = |flow: &Flow| u128::from(flow.loss_interval);
        // Data below 2^48 bytes and round-trip times below 2^31 us keep this below 2^128; beyond
        // that both sides saturate, which is a tie.
        let product = |one: u128, two: u128| one.saturating_mul(two);
        match self {
            Metric::Kernel => product(l(a), rtt(b) * rtt(b)) >= product(l(b), rtt(a) * rtt(a)),
            Metric::Draft => {
                product(product(l(a), l(a)), rtt(b)) >= product(product(l(b), l(b)), rtt(a))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::law::assert_close;
    use base::Duration;
    use proptest::prelude::*;

    fn flow(cwnd: f64, rtt_ms: u64, loss_interval: u64) -> Flow {
        Flow { loss_interval, ..Flow::new(cwnd, Duration::from_millis(rtt_ms)) }
    }

    fn alphas<const N: usize>(flows: &[Flow; N]) -> [f64; N] {
        std::array::from_fn(|own| alpha(flows, own, Metric::Kernel, 1.0))
    }

    fn increases<const N: usize>(flows: &[Flow; N]) -> [f64; N] {
        std::array::from_fn(|own| increase(flows, own, Metric::Kernel, 1.0))
    }

    #[test]
    fn olia_1_windows_move_to_the_best_path() {
        let flows = [flow(20.0, 100, 300), flow(10.0, 100, 600)];
        assert_eq!(alphas(&flows), [-0.5, 0.5]);
        let [largest, best] = increases(&flows);
        assert_close(largest, -0.002_777_78);
        assert_close(best, 0.061_111_1);
    }

    #[test]
    fn olia_2_best_path_has_the_largest_window() {
        let flows = [flow(20.0, 100, 600), flow(10.0, 100, 300)];
        assert_eq!(alphas(&flows), [0.0, 0.0]);
        let [first, second] = increases(&flows);
        assert_close(first, 0.022_222_2);
        assert_close(second, 0.011_111_1);
    }

    #[test]
    fn olia_3_two_largest_windows_give_to_a_third_path() {
        let flows = [flow(12.0, 50, 100), flow(12.0, 50, 120), flow(6.0, 50, 700)];
        let expected = [-1.0 / 6.0, -1.0 / 6.0, 1.0 / 3.0];
        expected.into_iter().zip(alphas(&flows)).for_each(|(a, b)| assert_close(a, b));
        let [first, second, third] = increases(&flows);
        assert_close(first, -0.000_555_556);
        assert_close(second, -0.000_555_556);
        assert_close(third, 0.062_222_2);
    }

    #[test]
    fn the_two_metrics_disagree() {
        let (first, second) = (flow(9.0, 10, 100), flow(9.0, 40, 300));
        assert!(Metric::Kernel.is_at_least(&first, &second));
        assert!(!Metric::Kernel.is_at_least(&second, &first));
        assert!(Metric::Draft.is_at_least(&second, &first));
        assert!(!Metric::Draft.is_at_least(&first, &second));
    }

    #[test]
    fn path_without_data_acknowledged_is_never_the_best() {
        assert_eq!(alphas(&[flow(20.0, 100, 0), flow(10.0, 1, 0)]), [0.0, 0.0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn alphas_add_up_to_nothing(
            paths in prop::collection::vec((1..200u32, 1..3000u64, 0..1_000_000u64), 1..9),
            draft in any::<bool>(),
        ) {
            let flows: Vec<_> =
                paths.iter().map(|(w, rtt, l)| flow(f64::from(*w), *rtt, *l)).collect();
            let metric = if draft { Metric::Draft } else { Metric::Kernel };
            let sum: f64 = (0..flows.len()).map(|own| alpha(&flows, own, metric, 1.0)).sum();
            prop_assert!(sum.abs() < 1e-9, "{}", sum);
            let bytes: Vec<_> =
                flows.iter().map(|flow| Flow { cwnd: flow.cwnd * 1468.0, ..*flow }).collect();
            for own in 0..flows.len() {
                let segs = increase(&flows, own, metric, 1.0);
                let bytes = increase(&bytes, own, metric, 1468.0);
                prop_assert!((segs - bytes).abs() < 1e-9, "{} {}", segs, bytes);
            }
        }
    }
}
