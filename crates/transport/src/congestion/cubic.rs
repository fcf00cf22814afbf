//! CUBIC as Linux 6.x computes it (`net/ipv4/tcp_cubic.c`): whole segments and a clock of 4 ms
//! ticks.
//!
//! The window follows the curve of `law::cubic` and is never slower than NewReno's estimate
//! (RFC 9438 s4.3). Unlike RFC 9438, the curve is evaluated one minimum instead of one smoothed
//! round-trip time ahead, at most every 1/32 s while the window is constant, and the estimate
//! never switches to one segment per window. Slow start is that of `uncoupled`, with HyStart
//! (`hystart`).

use super::choice::ControllerRow;
use super::controller::{Controller, Counting};
use super::law::cubic as law;
use super::segment_window::{MIN_SSTHRESH_SEGS, SegmentWindow};
use super::uncoupled::{Algorithm, Uncoupled};
use super::{AckSample, CongestionEvent, Options};
use base::{Duration, Instant};

/// The row of `cubic`.
pub(super) const ROW: ControllerRow = ControllerRow {
    name: "cubic",
    about: "CUBIC: the window follows a cubic function of the time since the last loss.",
    source: "RFC 9438, Linux 6.x",
    parameters: &[],
    is_coupled: false,
    make: |options| Controller::Cubic(Uncoupled::new(*options)),
    bytes: None,
};

/// Ticks per second of the kernel's clock.
const HZ: u64 = 250;
const TICK_NANOS: u64 = 1_000_000_000 / HZ;
const TICK_MICROS: u64 = 1_000_000 / HZ;
/// The curve is not evaluated again within this time while the window is constant.
const RECOMPUTE_TICKS: u64 = HZ / 32;

/// The kernel's variables of one path (`struct bictcp`).
#[derive(Clone, Debug, Default)]
pub struct Cubic {
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
    /// What NewReno's estimate counted since its last step.
    acked: u32,
    counting: Counting,
    /// NewReno's estimate, `W_est`.
    reno_cwnd: u32,
}

impl Algorithm for Cubic {
    const HYSTART: bool = true;

    fn new(options: &Options) -> Self {
        Cubic { counting: options.counting, ..Cubic::default() }
    }

    fn increase(&mut self, window: &mut SegmentWindow, acked: f64, sample: &AckSample) {
        let acked = acked as u32;
        // NewReno's estimate counts as NewReno does; a step of the curve counts segments in every
        // kernel (older ones divided it by the segments of a usual acknowledgement).
        let counted = if self.counting == Counting::Segments { acked } else { 1 };
        self.update(window.cwnd_segs(), counted, ticks(sample.now));
        window.count(self.cnt, acked);
    }

    /// Ends the epoch.
    fn ssthresh(&mut self, window: &SegmentWindow, _event: &CongestionEvent) -> f64 {
        let cwnd = window.cwnd_segs();
        self.epoch_start = None;
        self.last_max_cwnd = law::w_max_after_loss(cwnd, self.last_max_cwnd);
        f64::from(law::decrease(cwnd)).max(MIN_SSTHRESH_SEGS)
    }

    /// HyStart does not use samples of the first second of an epoch.
    fn on_rtt(&mut self, rtt: Duration, now: Instant) -> bool {
        if self.epoch_start.is_some_and(|start| ticks(now).saturating_sub(start) < HZ) {
            return false;
        }
        let rtt = rtt.as_micros().max(1);
        if self.delay_min_us == 0 || rtt < self.delay_min_us {
            self.delay_min_us = rtt;
        }
        true
    }

    fn on_timeout(&mut self) {
        *self = Cubic { counting: self.counting, ..Cubic::default() };
    }

    /// The idle time does not count.
    fn on_transmit_start(&mut self, idle: Duration, now: Instant) {
        let now_ticks = ticks(now);
        let paused = now_ticks.saturating_sub(ticks(now - idle));
        if let Some(start) = self.epoch_start {
            self.epoch_start = Some((start + paused).min(now_ticks));
        }
    }
}

impl Cubic {
    /// The kernel's `bictcp_update`.
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
        self.follow_reno(cwnd);
        self.cnt = self.cnt.max(law::MIN_STEP);
    }

    fn start_epoch(&mut self, cwnd: u32, acked: u32, now: u64) -> u64 {
        self.epoch_start = Some(now);
        self.acked = acked;
        self.reno_cwnd = cwnd;
        if self.last_max_cwnd <= cwnd {
            self.k = 0;
            self.origin = cwnd;
        } else {
            self.k = law::time_to_origin(self.last_max_cwnd - cwnd);
            self.origin = self.last_max_cwnd;
        }
        debug_assert!(self.origin >= cwnd, "{self:?}");
        now
    }

    fn follow_curve(&mut self, cwnd: u32, elapsed_ticks: u64) {
        let t = elapsed_ticks + self.delay_min_us.div_ceil(TICK_MICROS);
        let t = (t << law::TIME_SHIFT) / HZ;
        let target = law::window_at(t, self.k, self.origin);
        self.cnt = law::step(cwnd, target, self.last_max_cwnd == 0);
    }

    /// Not slower than NewReno (RFC 9438 s4.3).
    fn follow_reno(&mut self, cwnd: u32) {
        let per_step = law::reno_step(cwnd);
        if self.acked > per_step {
            let steps = (self.acked - 1) / per_step;
            self.acked -= steps * per_step;
            self.reno_cwnd = self.reno_cwnd.saturating_add(steps);
        }
        if self.reno_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.reno_cwnd - cwnd));
        }
    }
}

const fn ticks(now: Instant) -> u64 {
    now.as_nanos() / TICK_NANOS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::test_support::{ack, loss};
    use proptest::prelude::*;

    fn window(cwnd: u32) -> SegmentWindow {
        SegmentWindow::new(1448, cwnd, Some(cwnd))
    }

    fn ssthresh(cubic: &mut Cubic, cwnd: u32) -> f64 {
        cubic.ssthresh(&window(cwnd), &loss(Instant::ZERO))
    }

    #[test]
    fn loss_keeps_717_of_1024_and_gives_way_below_the_maximum() {
        let mut cubic = Cubic::default();
        assert_eq!(ssthresh(&mut cubic, 100), 70.0);
        assert_eq!(cubic.last_max_cwnd, 100);
        assert_eq!(ssthresh(&mut cubic, 80), 56.0);
        assert_eq!(cubic.last_max_cwnd, 68);
        assert_eq!(ssthresh(&mut cubic, 2), 2.0);
    }

    #[test]
    fn time_out_forgets_the_old_maximum() {
        let mut cubic = Cubic::default();
        ssthresh(&mut cubic, 100);
        cubic.on_timeout();
        cubic.increase(&mut window(50), 1.0, &ack(Instant::from_secs(5), 1));
        assert_eq!((cubic.k, cubic.origin), (0, 50));
    }

    #[test]
    fn estimate_of_old_kernels_counts_acknowledgements() {
        let counted = |counting| {
            let mut cubic = Cubic::new(&Options { counting, ..Options::LINUX });
            cubic.on_timeout();
            let mut window = window(50);
            for _ in 0..3 {
                cubic.increase(&mut window, 2.0, &ack(Instant::from_secs(5), 2));
            }
            cubic.acked
        };
        assert_eq!(counted(Counting::Segments), 6);
        assert_eq!(counted(Counting::Acknowledgements), 3);
    }

    #[test]
    fn curve_starts_at_k_of_rfc_9438() {
        let mut cubic = Cubic { last_max_cwnd: 100, ..Cubic::default() };
        cubic.start_epoch(70, 1, 1000);
        // 4.217 s in 1/1024 s are 4318; 410/1024 is a little more than 0.4.
        assert_eq!(cubic.k, 4316);
    }

    #[test]
    fn before_the_first_loss_a_step_is_20_segments_at_most() {
        let mut cubic = Cubic::default();
        cubic.update(500, 1, 1000);
        assert_eq!(cubic.cnt, 20);
        let mut cubic = Cubic { last_max_cwnd: 400, ..Cubic::default() };
        cubic.update(500, 1, 1000);
        assert_eq!(cubic.cnt, 50_000);
    }

    #[test]
    fn steps_are_never_below_two_segments() {
        let mut cubic = Cubic { last_max_cwnd: 1000, ..Cubic::default() };
        cubic.update(10, 1, 1000);
        cubic.update(10, 1, 1000 + 100 * HZ);
        assert_eq!(cubic.cnt, 2);
    }

    #[test]
    fn curve_is_recomputed_every_eighth_tick_while_the_window_is_constant() {
        let mut cubic = Cubic { last_max_cwnd: 100, ..Cubic::default() };
        cubic.update(70, 1, 1000);
        cubic.update(70, 1, 1007);
        assert_eq!(cubic.last_tick, 1000);
        cubic.update(70, 1, 1008);
        assert_eq!(cubic.last_tick, 1008);
        cubic.update(71, 1, 1009);
        assert_eq!(cubic.last_tick, 1009);
    }

    #[test]
    fn rtt_of_the_first_second_of_an_epoch_is_ignored() {
        let mut cubic = Cubic::default();
        assert!(cubic.on_rtt(Duration::from_millis(50), Instant::from_millis(0)));
        cubic.epoch_start = Some(ticks(Instant::from_secs(1)));
        assert!(!cubic.on_rtt(Duration::from_millis(20), Instant::from_millis(1999)));
        assert_eq!(cubic.delay_min_us, 50_000);
        assert!(cubic.on_rtt(Duration::from_millis(20), Instant::from_millis(2000)));
        assert_eq!(cubic.delay_min_us, 20_000);
    }

    #[test]
    fn idle_time_shifts_the_epoch_but_not_into_the_future() {
        let mut cubic = Cubic { epoch_start: Some(250), ..Cubic::default() };
        cubic.on_transmit_start(Duration::from_secs(2), Instant::from_secs(5));
        assert_eq!(cubic.epoch_start, Some(750));
        cubic.on_transmit_start(Duration::from_secs(4), Instant::from_secs(5));
        assert_eq!(cubic.epoch_start, Some(1250));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn hostile_values_do_not_overflow(
            cwnd in 1..u32::MAX,
            max in 0..u32::MAX,
            acked in 1..u32::MAX,
            later in 0..u64::MAX >> 22,
        ) {
            let mut cubic = Cubic { last_max_cwnd: max, ..Cubic::default() };
            cubic.update(cwnd, acked, 10);
            cubic.update(cwnd, acked, 10 + later);
            prop_assert!(cubic.cnt >= law::MIN_STEP);
        }
    }
}
