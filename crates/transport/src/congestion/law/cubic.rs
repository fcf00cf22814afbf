//! The law of CUBIC in the integers of Linux (`net/ipv4/tcp_cubic.c`).
//!
//! RFC 9438 s4.2: `W_cubic(t) = C (t - K)^3 + W_max`, `K = cbrt((W_max - cwnd_epoch) / C)`, in
//! segments and seconds; s4.6, s4.7: a loss leaves `beta cwnd`, and `W_max` is lowered to
//! `cwnd (1 + beta) / 2` if the window had not regained it. Linux has `C = 410/1024`,
//! `beta = 717/1024` and time in units of 1/1024 s (`BICTCP_HZ`). The cube root is exact here
//! where the kernel's is within 0.2 %.

/// `beta`, in units of 1/1024.
const BETA: u32 = 717;
const BETA_SCALE: u32 = 1024;
/// Time is in units of 2^-10 s.
pub(crate) const TIME_SHIFT: u32 = 10;
/// `C`, in units of 1/1024.
const C_SCALED: u64 = 410;
/// `1024^4 / 410`: converts segments to the cube of a time in 1/1024 s.
const CUBE_FACTOR: u64 = (1 << (10 + 3 * TIME_SHIFT)) / C_SCALED;
/// Eight times the acknowledged windows per segment of growth of NewReno's estimate `W_est`
/// (RFC 9438 s4.3): `8 (1 + beta) / (3 (1 - beta))`.
const RENO_SCALE: u32 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// Least number of acknowledged segments per segment of growth: the growth per round trip is at
/// most half of the window.
pub(crate) const MIN_STEP: u32 = 2;
/// Largest number before the first loss: the growth per round trip is at least 5 %.
const MAX_STEP_BEFORE_LOSS: u32 = 20;

/// `K` for a window `below_max` segments below `W_max`, in 1/1024 s.
pub(crate) fn time_to_origin(below_max: u32) -> u64 {
    cube_root(CUBE_FACTOR * u64::from(below_max))
}

/// `W_cubic(t)` in segments, for `t` and `K` in 1/1024 s.
pub(crate) fn window_at(t: u64, k: u64, w_max: u32) -> u32 {
    let delta = cube(t.abs_diff(k));
    if t < k { w_max.saturating_sub(delta) } else { w_max.saturating_add(delta) }
}

/// Acknowledged segments per segment of growth that bring a window `cwnd` to `target` in one
/// round trip. `before_loss`: no `W_max` is known.
pub(crate) fn step(cwnd: u32, target: u32, before_loss: bool) -> u32 {
    let step = match target.checked_sub(cwnd) {
        Some(above) if above > 0 => cwnd / above,
        _ => cwnd.saturating_mul(100),
    };
    if before_loss { step.min(MAX_STEP_BEFORE_LOSS) } else { step }
}

/// Acknowledged segments per segment of growth of NewReno's estimate.
pub(crate) fn reno_step(cwnd: u32) -> u32 {
    (cwnd.saturating_mul(RENO_SCALE) >> 3).max(1)
}

/// `W_max` after a loss at `cwnd` (fast convergence, RFC 9438 s4.7).
pub(crate) fn w_max_after_loss(cwnd: u32, w_max: u32) -> u32 {
    if cwnd < w_max { scale(cwnd, BETA_SCALE + BETA, 2 * BETA_SCALE) } else { cwnd }
}

/// The window after a loss, before any floor: `beta cwnd` (RFC 9438 s4.6).
pub(crate) fn decrease(cwnd: u32) -> u32 {
    scale(cwnd, BETA, BETA_SCALE)
}

/// `n * by / of`, for `by <= of`.
fn scale(n: u32, by: u32, of: u32) -> u32 {
    // The quotient is at most `n`.
    (u64::from(n) * u64::from(by) / u64::from(of)) as u32
}

/// `C x^3` for `x` in 1/1024 s, in whole segments.
fn cube(x: u64) -> u32 {
    let x = u128::from(x.min(1 << 30));
    let cube = (u128::from(C_SCALED) * x * x * x) >> (10 + 3 * TIME_SHIFT);
    u32::try_from(cube).unwrap_or(u32::MAX)
}

/// The cube root, rounded down.
fn cube_root(a: u64) -> u64 {
    let mut root = libm::cbrt(a as f64) as u64;
    // The real root may be off by one in its last place.
    while root * root * root > a {
        root -= 1;
    }
    while (root + 1) * (root + 1) * (root + 1) <= a {
        root += 1;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn constants_are_the_kernels() {
        assert_eq!(RENO_SCALE, 15);
        assert_eq!(CUBE_FACTOR, 2_681_735_677);
    }

    /// RFC 9438 in real numbers: K = 4.217 s, W_cubic(1) = 86.68, (2) = 95.64, (5) = 100.19,
    /// (6) = 102.27. The cube is cut to whole segments.
    #[test]
    fn cubic_1_the_curve_after_a_loss_at_100() {
        assert_eq!(decrease(100), 70);
        let k = time_to_origin(30);
        assert_eq!(k, 4316, "4.217 s are 4318; 410/1024 is a little more than 0.4");
        let windows = [0, 1, 2, 5, 6].map(|secs| window_at(secs << TIME_SHIFT, k, 100));
        assert_eq!(windows, [71, 87, 96, 100, 102]);
        assert_eq!(window_at(k, k, 100), 100);
        // A window of 95 at 2 s, RTT 0.1 s: the target is 96.204, and 95 / 1.204 = 79.
        let target = window_at(2150, k, 100);
        assert_eq!((target, step(95, target, false)), (97, 47), "in whole segments");
    }

    #[test]
    fn cubic_2_second_loss_below_w_max_gives_way() {
        assert_eq!((decrease(80), w_max_after_loss(80, 100)), (56, 68));
        assert_eq!(w_max_after_loss(80, 80), 80);
        // K = 3.107 s in real numbers.
        assert_eq!(time_to_origin(68 - 56), 3180);
    }

    /// W_est of RFC 9438 after 20 rounds from 70 is 80.588; Linux adds 8/15 per window.
    #[test]
    fn cubic_2_reno_estimate_over_20_rounds() {
        let (mut estimate, mut acked) = (70, 0);
        for _ in 0..20 {
            acked += 70;
            while acked > reno_step(70) {
                acked -= reno_step(70);
                estimate += 1;
            }
        }
        assert_eq!(estimate, 80);
    }

    #[test]
    fn before_the_first_loss_a_step_is_20_segments_at_most() {
        assert_eq!((step(500, 500, true), step(500, 500, false)), (20, 50_000));
        assert_eq!(step(70, 80, false), 7);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn cube_root_is_exact(a in 0..u64::MAX >> 8) {
            let root = cube_root(a);
            prop_assert!(root.pow(3) <= a && (root + 1).pow(3) > a);
        }
    }
}
