//! CUBIC as Linux 6.x computes it: whole segments, a clock of 4 ms ticks, fixed point.
//!
//! The differences to RFC 9438 are listed in the congestion spec s2; the cube root is exact here
//! where the kernel's is within 0.2 %. Slow start and HyStart are in `uncoupled` and `hystart`.

use super::window::Window;
use base::{Duration, Instant};

/// Multiplicative decrease, of 1024.
const BETA: u32 = 717;
const BETA_SCALE: u32 = 1024;
/// Ticks per second of the kernel's clock.
const HZ: u64 = 250;
const TICK_NANOS: u64 = 1_000_000_000 / HZ;
const TICK_MICROS: u64 = 1_000_000 / HZ;
/// The curve's time is in 1/1024 s.
const TIME_SHIFT: u32 = 10;
/// `C` times 1024: 0.4 as 410/1024.
const C_SCALED: u64 = 410;
/// `1024^4 / 410`: turns segments into a cube of 1/1024 s.
const CUBE_FACTOR: u64 = (1 << (10 + 3 * TIME_SHIFT)) / C_SCALED;
/// The Reno estimate grows by one per 15/8 windows: `8 (1024 + beta) / 3 / (1024 - beta)`.
const RENO_SCALE: u32 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// Recomputed no more often than this while the window stands still.
const RECOMPUTE_TICKS: u64 = HZ / 32;
/// Acknowledged segments per step at most before the first loss, at least always.
const MAX_STEP_BEFORE_LOSS: u32 = 20;
const MIN_STEP: u32 = 2;

/// The kernel's variables of one path.
#[derive(Clone, Debug, Default)]
pub struct LinuxCubic {
    /// Acknowledged segments per segment of growth.
    cnt: u32,
    /// `W_max`; zero before the first loss.
    last_max_cwnd: u32,
    last_cwnd: u32,
    last_tick: u64,
    origin: u32,
    /// In 1/1024 s.
    k: u64,
    /// Zero before the first sample.
    delay_min_us: u64,
    epoch_start: Option<u64>,
    acked: u32,
    /// The Reno estimate.
    reno_cwnd: u32,
}

impl LinuxCubic {
    /// An RTT sample; says whether HyStart may see it: not in the first second of an epoch.
    pub fn on_rtt(&mut self, rtt: Duration, now: Instant) -> bool {
        if self.epoch_start.is_some_and(|start| ticks(now).saturating_sub(start) < HZ) {
            return false;
        }
        let rtt = rtt.as_micros().max(1);
        if self.delay_min_us == 0 || rtt < self.delay_min_us {
            self.delay_min_us = rtt;
        }
        true
    }

    /// Congestion avoidance for `acked` segments.
    pub fn increase(&mut self, window: &mut Window, acked: u32, now: Instant) {
        self.update(window.cwnd_segs(), acked, ticks(now));
        window.count(self.cnt, acked);
    }

    fn update(&mut self, cwnd: u32, acked: u32, now: u64) {
        self.acked = self.acked.saturating_add(acked);
        if self.last_cwnd == cwnd && now - self.last_tick <= RECOMPUTE_TICKS {
            return;
        }
        if self.epoch_start.is_none() || now != self.last_tick {
            self.last_cwnd = cwnd;
            self.last_tick = now;
            let start = match self.epoch_start {
                Some(start) => start,
                None => self.start_epoch(cwnd, acked, now),
            };
            self.follow_curve(cwnd, now - start);
        }
        self.keep_up_with_reno(cwnd);
        self.cnt = self.cnt.max(MIN_STEP);
    }

    fn start_epoch(&mut self, cwnd: u32, acked: u32, now: u64) -> u64 {
        self.epoch_start = Some(now);
        self.acked = acked;
        self.reno_cwnd = cwnd;
        if self.last_max_cwnd <= cwnd {
            self.k = 0;
            self.origin = cwnd;
        } else {
            self.k = cube_root(CUBE_FACTOR * u64::from(self.last_max_cwnd - cwnd));
            self.origin = self.last_max_cwnd;
        }
        now
    }

    fn follow_curve(&mut self, cwnd: u32, elapsed_ticks: u64) {
        let t = elapsed_ticks + self.delay_min_us.div_ceil(TICK_MICROS);
        let t = (t << TIME_SHIFT) / HZ;
        let delta = height(t.abs_diff(self.k));
        let target = if t < self.k {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        };
        self.cnt = match target.checked_sub(cwnd) {
            Some(above) if above > 0 => cwnd / above,
            _ => cwnd.saturating_mul(100),
        };
        if self.last_max_cwnd == 0 {
            self.cnt = self.cnt.min(MAX_STEP_BEFORE_LOSS);
        }
    }

    fn keep_up_with_reno(&mut self, cwnd: u32) {
        let per_step = (cwnd.saturating_mul(RENO_SCALE) >> 3).max(1);
        if self.acked > per_step {
            let steps = (self.acked - 1) / per_step;
            self.acked -= steps * per_step;
            self.reno_cwnd = self.reno_cwnd.saturating_add(steps);
        }
        if self.reno_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.reno_cwnd - cwnd));
        }
    }

    /// The threshold after a congestion signal; ends the epoch.
    pub fn threshold(&mut self, window: &Window) -> f64 {
        let cwnd = window.cwnd_segs();
        self.epoch_start = None;
        self.last_max_cwnd = if cwnd < self.last_max_cwnd {
            scale(cwnd, BETA_SCALE + BETA, 2 * BETA_SCALE)
        } else {
            cwnd
        };
        f64::from(scale(cwnd, BETA, BETA_SCALE).max(2))
    }

    /// Sending resumes after `idle`: the pause does not count.
    pub fn on_transmit_start(&mut self, idle: Duration, now: Instant) {
        let now_ticks = ticks(now);
        let paused = now_ticks.saturating_sub(ticks(now - idle));
        if let Some(start) = self.epoch_start {
            self.epoch_start = Some((start + paused).min(now_ticks));
        }
    }
}

const fn ticks(now: Instant) -> u64 {
    now.as_nanos() / TICK_NANOS
}

/// `n * by / of`.
fn scale(n: u32, by: u32, of: u32) -> u32 {
    // The quotient is at most `n`.
    (u64::from(n) * u64::from(by) / u64::from(of)) as u32
}

/// `C x^3` for `x` in 1/1024 s, in whole segments.
fn height(x: u64) -> u32 {
    let x = u128::from(x.min(1 << 30));
    let height = (u128::from(C_SCALED) * x * x * x) >> (10 + 3 * TIME_SHIFT);
    u32::try_from(height).unwrap_or(u32::MAX)
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
    use crate::congestion::Arithmetic;
    use proptest::prelude::*;

    fn window(cwnd: u32) -> Window {
        Window::new(Arithmetic::Counter, 1448, cwnd, Some(cwnd))
    }

    #[test]
    fn constants_are_the_kernels() {
        assert_eq!(RENO_SCALE, 15);
        assert_eq!(CUBE_FACTOR, 2_681_735_677);
    }

    #[test]
    fn loss_keeps_717_of_1024_and_gives_way_below_the_maximum() {
        let mut cubic = LinuxCubic::default();
        assert_eq!(cubic.threshold(&window(100)), 70.0);
        assert_eq!(cubic.last_max_cwnd, 100);
        assert_eq!(cubic.threshold(&window(80)), 56.0);
        assert_eq!(cubic.last_max_cwnd, 68);
        assert_eq!(cubic.threshold(&window(2)), 2.0);
    }

    #[test]
    fn curve_starts_at_k_of_rfc_9438() {
        let mut cubic = LinuxCubic { last_max_cwnd: 100, ..LinuxCubic::default() };
        cubic.start_epoch(70, 1, 1000);
        // 4.217 s in 1/1024 s are 4318; 410/1024 is a little more than 0.4.
        assert_eq!(cubic.k, 4316);
        assert_eq!(height(cubic.k), 29, "30 segments, cut");
    }

    #[test]
    fn before_the_first_loss_a_step_is_20_segments_at_most() {
        let mut cubic = LinuxCubic::default();
        cubic.update(500, 1, 1000);
        assert_eq!(cubic.cnt, 20);
        let mut cubic = LinuxCubic { last_max_cwnd: 400, ..LinuxCubic::default() };
        cubic.update(500, 1, 1000);
        assert_eq!(cubic.cnt, 50_000);
    }

    #[test]
    fn steps_are_never_below_two_segments() {
        let mut cubic = LinuxCubic { last_max_cwnd: 1000, ..LinuxCubic::default() };
        cubic.update(10, 1, 1000);
        cubic.update(10, 1, 1000 + 100 * HZ);
        assert_eq!(cubic.cnt, 2);
    }

    #[test]
    fn curve_is_recomputed_every_eighth_tick_while_the_window_stands() {
        let mut cubic = LinuxCubic { last_max_cwnd: 100, ..LinuxCubic::default() };
        cubic.update(70, 1, 1000);
        cubic.update(70, 1, 1007);
        assert_eq!(cubic.last_tick, 1000);
        cubic.update(70, 1, 1008);
        assert_eq!(cubic.last_tick, 1008);
        cubic.update(71, 1, 1009);
        assert_eq!(cubic.last_tick, 1009);
    }

    #[test]
    fn rtt_of_the_first_second_of_an_epoch_is_not_believed() {
        let mut cubic = LinuxCubic::default();
        assert!(cubic.on_rtt(Duration::from_millis(50), Instant::from_millis(0)));
        cubic.epoch_start = Some(ticks(Instant::from_secs(1)));
        assert!(!cubic.on_rtt(Duration::from_millis(20), Instant::from_millis(1999)));
        assert_eq!(cubic.delay_min_us, 50_000);
        assert!(cubic.on_rtt(Duration::from_millis(20), Instant::from_millis(2000)));
        assert_eq!(cubic.delay_min_us, 20_000);
    }

    #[test]
    fn idle_time_shifts_the_epoch_but_not_into_the_future() {
        let mut cubic = LinuxCubic { epoch_start: Some(250), ..LinuxCubic::default() };
        cubic.on_transmit_start(Duration::from_secs(2), Instant::from_secs(5));
        assert_eq!(cubic.epoch_start, Some(750));
        cubic.on_transmit_start(Duration::from_secs(4), Instant::from_secs(5));
        assert_eq!(cubic.epoch_start, Some(1250));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn cube_root_is_exact(a in 0..u64::MAX >> 8) {
            let root = cube_root(a);
            prop_assert!(root.pow(3) <= a && (root + 1).pow(3) > a);
        }

        #[test]
        fn hostile_values_do_not_overflow(
            cwnd in 1..u32::MAX,
            max in 0..u32::MAX,
            acked in 1..u32::MAX,
            later in 0..u64::MAX >> 22,
        ) {
            let mut cubic = LinuxCubic { last_max_cwnd: max, ..LinuxCubic::default() };
            cubic.update(cwnd, acked, 10);
            cubic.update(cwnd, acked, 10 + later);
            prop_assert!(cubic.cnt >= MIN_STEP);
        }
    }
}
