//! The law of LIA, linked increases (RFC 6356 s3, s4).
//!
//! With `w_total = sum_i w_i` over all paths,
//! `alpha = w_total * max_i(w_i / rtt_i^2) / (sum_i w_i / rtt_i)^2`.
//! `kernel_*` are the integers of `mptcp_coupled.c` in the multipath-tcp kernel v0.95.

use super::{Flow, reno, total_rate};

/// `w_i / rtt_i^2`.
fn rank(flow: &Flow) -> f64 {
    flow.rate() / flow.rtt()
}

/// `w_total`.
pub(crate) fn total(flows: &[Flow]) -> f64 {
    flows.iter().map(|flow| flow.cwnd).sum()
}

/// The aggressiveness of the increase (RFC 6356 s3). It has no unit: windows in bytes and in
/// segments of one size give the same.
pub(crate) fn alpha(flows: &[Flow]) -> f64 {
    let best = flows.iter().map(rank).fold(0.0, f64::max);
    let rate = total_rate(flows);
    total(flows) * best / (rate * rate)
}

/// Growth of a window `cwnd` in congestion avoidance per acknowledged segment or byte:
/// `min(alpha * MSS / w_total, MSS / w_i)` (RFC 6356 s3).
pub(crate) fn increase(flows: &[Flow], cwnd: f64, unit: f64) -> f64 {
    let increase = (alpha(flows) / total(flows) * unit).min(reno::increase(cwnd, unit));
    debug_assert!(increase > 0.0, "{flows:?}");
    increase
}

/// The share of a step that a path of `own` takes: `alpha * w_i / w_total`, at most 1.
pub(crate) fn share(flows: &[Flow], own: usize) -> f64 {
    (alpha(flows) * flows[own].cwnd / total(flows)).min(1.0)
}

/// The same with the equation as 003 prints it, which has windows in bytes and in packets: `alpha`
/// is too large by the segment size `mss`, so that the paths are hardly coupled.
pub(crate) fn printed_share(flows: &[Flow], own: usize, mss: f64) -> f64 {
    (mss * alpha(flows) * flows[own].cwnd / total(flows)).min(1.0)
}

/// `w_total / alpha` in the kernel's fixed point: `alpha` carries 12 fractional bits, its
/// numerator 32, the terms of its denominator 10.
pub(crate) fn kernel_step(flows: &[Flow]) -> u64 {
    (1 << 12) / kernel_alpha(flows)
}

/// `alpha / w_total` with 12 fractional bits, at least 1.
pub(crate) fn kernel_alpha(flows: &[Flow]) -> u64 {
    let micros = |flow: &Flow| u128::from(flow.srtt.as_micros().max(1));
    let Some(best) = flows.iter().max_by(|a, b| rank(a).total_cmp(&rank(b))) else { return 1 };
    let rate: u128 =
        flows.iter().map(|flow| ((flow.cwnd as u128) << 10) * micros(best) / micros(flow)).sum();
    // Windows and round-trip times below 2^32 keep this far from the end of the type.
    let alpha = ((best.cwnd as u128) << 32) / (rate * rate).max(1);
    u64::try_from(alpha).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::law::assert_close;
    use base::Duration;
    use proptest::prelude::*;

    fn flow(cwnd: f64, rtt_ms: u64) -> Flow {
        Flow::new(cwnd, Duration::from_millis(rtt_ms))
    }

    fn in_bytes(flows: &[Flow], mss: f64) -> Vec<Flow> {
        flows.iter().map(|flow| Flow { cwnd: flow.cwnd * mss, ..*flow }).collect()
    }

    #[test]
    fn lia_1_fast_and_slow() {
        let flows = [flow(20.0, 10), flow(10.0, 100)];
        assert_close(alpha(&flows), 1.360_544_2);
        for own in flows {
            assert_close(increase(&flows, own.cwnd, 1.0), 0.045_351_5);
        }
        assert_eq!((kernel_alpha(&flows), kernel_step(&flows)), (185, 22));
    }

    #[test]
    fn lia_2_equal_paths() {
        let flows = [flow(10.0, 100), flow(10.0, 100)];
        assert_close(alpha(&flows), 0.5);
        assert_close(increase(&flows, 10.0, 1.0), 0.025);
    }

    #[test]
    fn lia_3_capped_by_one_tcp() {
        let flows = [flow(4.0, 10), flow(100.0, 200)];
        assert_close(alpha(&flows), 5.135_802_5);
        assert_close(increase(&flows, 4.0, 1.0), 0.049_382_7);
        assert_close(increase(&flows, 100.0, 1.0), 0.01);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        /// RFC 6356, goal 2: no path grows faster than one TCP would on it.
        #[test]
        fn increase_is_at_most_that_of_one_tcp(
            paths in prop::collection::vec((1..2000u32, 1..3000u64), 1..6),
        ) {
            let flows: Vec<Flow> =
                paths.iter().map(|(cwnd, rtt_ms)| flow(f64::from(*cwnd), *rtt_ms)).collect();
            for flow in &flows {
                let increase = increase(&flows, flow.cwnd, 1.0);
                prop_assert!(increase > 0.0 && increase <= 1.0 / flow.cwnd);
            }
            // The kernel's step, where its integers have enough digits to show it.
            if kernel_alpha(&flows) > 1000 {
                let exact = total(&flows) / alpha(&flows);
                let kernel = kernel_step(&flows) as f64;
                prop_assert!((kernel - exact).abs() <= 1.0 + 0.05 * exact, "{kernel} {exact}");
            }
        }

        #[test]
        fn alpha_of_equal_paths_is_the_inverse_of_their_number(
            n in 1..9usize,
            cwnd in 1..1000u32,
            rtt_ms in 1..1000u64,
        ) {
            let flows = vec![flow(f64::from(cwnd), rtt_ms); n];
            prop_assert!((alpha(&flows) - 1.0 / n as f64).abs() < 1e-9);
        }

        #[test]
        fn bytes_and_segments_give_the_same_growth(
            paths in prop::collection::vec((1..2000u32, 1..3000u64), 1..6),
        ) {
            let flows: Vec<Flow> =
                paths.iter().map(|(cwnd, rtt_ms)| flow(f64::from(*cwnd), *rtt_ms)).collect();
            let bytes = in_bytes(&flows, 1468.0);
            prop_assert!((alpha(&flows) - alpha(&bytes)).abs() < 1e-9 * alpha(&flows));
            for (segs, bytes_of) in flows.iter().zip(&bytes) {
                let [segs, bytes] = [
                    increase(&flows, segs.cwnd, 1.0),
                    increase(&bytes, bytes_of.cwnd, 1468.0),
                ];
                prop_assert!((segs - bytes).abs() < 1e-9 * segs, "{} {}", segs, bytes);
            }
        }
    }
}
