//! The law of BALIA, balanced linked adaptation (draft-walid-mptcp-congestion-control-04 s2;
//! `kernel_*`: `mptcp_balia.c` in the multipath-tcp kernel v0.95).
//!
//! `x_i = w_i / rtt_i` and `alpha_i = max_k x_k / x_i` over all paths.

use super::{Flow, total_rate};

/// A loss takes at most three quarters of the window: `min(alpha_i, 1.5)`.
const MAX_ALPHA: f64 = 1.5;

/// `max_k x_k`.
fn largest_rate(flows: &[Flow]) -> f64 {
    flows.iter().map(Flow::rate).fold(0.0, f64::max)
}

/// `alpha_i`, at least 1.
fn alpha(flows: &[Flow], own: &Flow) -> f64 {
    let alpha = largest_rate(flows) / own.rate();
    debug_assert!(alpha >= 1.0, "{own:?} is not one of {flows:?}");
    alpha
}

/// Growth in congestion avoidance per acknowledged segment or byte:
/// `x_i / (rtt_i (sum_k x_k)^2) * (1 + alpha_i) / 2 * (4 + alpha_i) / 5` for windows in segments.
/// The formula has no upper bound.
pub(crate) fn increase(flows: &[Flow], own: &Flow, unit: f64) -> f64 {
    let (total, alpha) = (total_rate(flows), alpha(flows, own));
    let linked = own.rate() / (own.rtt() * total * total);
    linked * ((1.0 + alpha) / 2.0) * ((4.0 + alpha) / 5.0) * unit
}

/// What a loss takes from a window `cwnd`: `cwnd / 2 * min(alpha_i, 1.5)`.
pub(crate) fn decrement(flows: &[Flow], own: &Flow, cwnd: f64) -> f64 {
    cwnd / 2.0 * alpha(flows, own).min(MAX_ALPHA)
}

/// What a loss takes from a window of whole segments, with `alpha_i` cut to a whole number.
pub(crate) fn kernel_decrement(flows: &[Flow], own: &Flow, cwnd_segs: u32) -> f64 {
    let half = cwnd_segs / 2;
    libm::floor(f64::from(half) * libm::floor(alpha(flows, own)).min(MAX_ALPHA))
}

/// Acknowledgements per segment of growth, at least one:
/// `10 w_i (sum x)^2 / ((x_i + x_max) (4 x_i + x_max))`, the inverse of `increase`.
pub(crate) fn kernel_step(flows: &[Flow], own: &Flow) -> u64 {
    let (total, x, largest) = (total_rate(flows), own.rate(), largest_rate(flows));
    let step = 10.0 * own.cwnd * total * total / ((x + largest) * (4.0 * x + largest));
    // Rounding must not lower products that are whole numbers.
    ((step + 1e-9) as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::law::assert_close;
    use base::Duration;

    fn flows(paths: [(f64, u64); 2]) -> [Flow; 2] {
        paths.map(|(cwnd, rtt_ms)| Flow::new(cwnd, Duration::from_millis(rtt_ms)))
    }

    #[test]
    fn balia_1_equal_round_trip_times() {
        let flows = flows([(20.0, 100), (10.0, 100)]);
        assert_close(increase(&flows, &flows[0], 1.0), 0.022_222_2);
        assert_close(increase(&flows, &flows[1], 1.0), 0.02);
        assert_eq!([0, 1].map(|own| kernel_step(&flows, &flows[own])), [45, 50]);
        assert_eq!(decrement(&flows, &flows[0], 20.0), 10.0);
        assert_eq!(decrement(&flows, &flows[1], 10.0), 7.5);
    }

    #[test]
    fn balia_2_one_path_is_far_slower() {
        let flows = flows([(20.0, 10), (10.0, 100)]);
        assert_close(increase(&flows, &flows[0], 1.0), 0.045_351_5);
        assert_close(increase(&flows, &flows[1], 1.0), 0.011_428_6);
        assert_eq!(decrement(&flows, &flows[1], 10.0), 7.5);
    }

    #[test]
    fn kernel_cuts_alpha_to_a_whole_number() {
        let flows = flows([(14.0, 100), (10.0, 100)]);
        assert_close(decrement(&flows, &flows[1], 10.0), 7.0);
        assert_eq!(kernel_decrement(&flows, &flows[1], 10), 5.0);
    }
}
