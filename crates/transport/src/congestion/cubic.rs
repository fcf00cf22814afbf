//! CUBIC: window growth along a cubic function of time since the last reduction (RFC 9438).
//!
//! `W_cubic(t) = C (t - K)^3 + W_max`, `K = cbrt((W_max - cwnd_epoch) / C)`; never slower than the
//! Reno estimate `W_est`; `ssthresh = beta cwnd`. Congestion spec s2. Linux's integer variant is
//! in `cubic_linux`; slow start and HyStart are the common ones of `uncoupled`.

use super::cubic_linux::LinuxCubic;
use super::uncoupled::Algorithm;
use super::window::{MIN_SSTHRESH, Window};
use super::{AckSample, CongestionEvent, Options};
use base::{Duration, Instant};

/// Whose CUBIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CubicFlavour {
    /// The kernel's integer arithmetic and clock.
    #[default]
    Linux,
    /// RFC 9438 in real numbers.
    Rfc9438,
}

/// Segments per second cubed (RFC 9438 s4.1).
const C: f64 = 0.4;
/// Multiplicative decrease (RFC 9438 s4.6).
const BETA: f64 = 0.7;
/// Additive increase of the Reno estimate: `3 (1 - beta) / (1 + beta)` (RFC 9438 s4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// The target is at most this multiple of the window (RFC 9438 s4.2).
const MAX_TARGET: f64 = 1.5;

/// CUBIC in one of its flavours.
#[derive(Clone, Debug)]
pub enum Cubic {
    Linux(LinuxCubic),
    Rfc9438(RfcCubic),
}

impl Algorithm for Cubic {
    const CLASSIC_HYSTART: bool = true;

    fn new(options: &Options) -> Self {
        match options.cubic {
            CubicFlavour::Linux => Cubic::Linux(LinuxCubic::default()),
            CubicFlavour::Rfc9438 => Cubic::Rfc9438(RfcCubic::default()),
        }
    }

    fn increase(&mut self, window: &mut Window, acked: f64, sample: &AckSample) {
        match self {
            Cubic::Linux(cubic) => cubic.increase(window, acked as u32, sample.now),
            Cubic::Rfc9438(cubic) => cubic.increase(window, acked, sample),
        }
    }

    fn threshold(&mut self, window: &Window, _event: &CongestionEvent) -> f64 {
        match self {
            Cubic::Linux(cubic) => cubic.threshold(window),
            Cubic::Rfc9438(cubic) => window.whole(cubic.threshold(window)),
        }
    }

    fn on_rtt(&mut self, rtt: Duration, now: Instant) -> bool {
        match self {
            Cubic::Linux(cubic) => cubic.on_rtt(rtt, now),
            Cubic::Rfc9438(_) => true,
        }
    }

    fn on_timeout(&mut self) {
        match self {
            Cubic::Linux(cubic) => *cubic = LinuxCubic::default(),
            Cubic::Rfc9438(cubic) => cubic.on_timeout(),
        }
    }

    fn on_undo(&mut self) {
        // The kernel keeps what the reduction left.
        if let Cubic::Rfc9438(cubic) = self {
            cubic.undo();
        }
    }

    fn on_transmit_start(&mut self, idle: Duration, now: Instant) {
        match self {
            Cubic::Linux(cubic) => cubic.on_transmit_start(idle, now),
            Cubic::Rfc9438(cubic) => cubic.curve.shift(idle, now),
        }
    }
}

/// RFC 9438's variables and what an undo restores.
#[derive(Clone, Debug, Default)]
pub struct RfcCubic {
    curve: Curve,
    saved: Option<Curve>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Curve {
    /// Zero while no reduction happened, or after a time-out.
    w_max: f64,
    cwnd_prior: f64,
    k: f64,
    epoch_start: Option<Instant>,
    w_est: f64,
    /// The window as the last increase left it.
    last_cwnd: f64,
}

impl Curve {
    /// `W_cubic(t)` (RFC 9438 s4.2, equation 1).
    fn at(&self, t: f64) -> f64 {
        let x = t - self.k;
        C * x * x * x + self.w_max
    }

    fn start_epoch(&mut self, cwnd: f64, now: Instant) -> Instant {
        if self.w_max == 0.0 {
            self.cwnd_prior = cwnd;
        }
        if cwnd >= self.w_max {
            self.w_max = cwnd;
            self.k = 0.0;
        } else {
            self.k = time_to_origin(self.w_max, cwnd);
        }
        self.w_est = cwnd;
        self.epoch_start = Some(now);
        now
    }

    /// Idle time does not count.
    fn shift(&mut self, idle: Duration, now: Instant) {
        if let Some(start) = self.epoch_start {
            self.epoch_start = Some((start + idle).min(now));
        }
    }
}

/// `K` (RFC 9438 s4.2, equation 2).
fn time_to_origin(w_max: f64, cwnd_epoch: f64) -> f64 {
    libm::cbrt((w_max - cwnd_epoch) / C)
}

impl RfcCubic {
    fn increase(&mut self, window: &mut Window, acked: f64, sample: &AckSample) {
        let cwnd = window.cwnd();
        let curve = &mut self.curve;
        if cwnd < curve.last_cwnd {
            // Lowered for want of use or as a penalty: congestion avoidance begins anew.
            curve.epoch_start = None;
        }
        let start = match curve.epoch_start {
            Some(start) => start,
            None => curve.start_epoch(cwnd, sample.now),
        };
        let t = (sample.now - start).as_secs_f64();
        let target = curve.at(t + sample.srtt.as_secs_f64()).clamp(cwnd, MAX_TARGET * cwnd);
        let alpha = if curve.w_est >= curve.cwnd_prior { 1.0 } else { ALPHA };
        curve.w_est += alpha * acked / cwnd;
        if curve.at(t) < curve.w_est {
            window.grow(curve.w_est - cwnd);
        } else {
            window.grow(acked * (target - cwnd) / cwnd);
        }
        curve.last_cwnd = window.cwnd();
    }

    fn threshold(&mut self, window: &Window) -> f64 {
        let cwnd = window.cwnd();
        self.saved = Some(self.curve);
        self.curve.cwnd_prior = cwnd;
        self.curve.w_max = if cwnd < self.curve.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.curve.epoch_start = None;
        self.curve.last_cwnd = 0.0;
        (cwnd * BETA).max(MIN_SSTHRESH)
    }

    fn on_timeout(&mut self) {
        self.curve = Curve::default();
    }

    fn undo(&mut self) {
        if let Some(saved) = self.saved.take() {
            self.curve = saved;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Arithmetic;
    use crate::congestion::test_support::{ack, loss};

    fn window(cwnd: u32) -> Window {
        Window::new(Arithmetic::Real, 1448, cwnd, Some(cwnd))
    }

    fn near(a: f64, b: f64, within: f64) -> bool {
        (a - b).abs() < within
    }

    #[test]
    fn cubic_1_the_curve_after_a_loss_at_100() {
        let mut cubic = RfcCubic::default();
        assert!(near(cubic.threshold(&window(100)), 70.0, 1e-9));
        cubic.curve.start_epoch(70.0, Instant::ZERO);
        assert!(near(cubic.curve.k, 4.217_163, 1e-6));
        let expected = [
            (0.0, 70.0),
            (1.0, 86.680_8),
            (2.0, 95.640_3),
            (cubic.curve.k, 100.0),
            (5.0, 100.191_9),
            (6.0, 102.266_7),
        ];
        for (t, w) in expected {
            assert!(near(cubic.curve.at(t), w, 1e-4), "W_cubic({t})");
        }
        assert!(near(cubic.curve.at(2.1), 96.204_0, 1e-4), "the target at t = 2, RTT 0.1");
    }

    #[test]
    fn cubic_1_growth_goes_to_the_target() {
        let mut cubic = RfcCubic::default();
        cubic.threshold(&window(100));
        let mut w = window(70);
        cubic.increase(&mut w, 1.0, &ack(Instant::from_secs(1), 1));
        w.set_cwnd(95.0);
        let mut sample = ack(Instant::from_secs(3), 1);
        sample.srtt = Duration::from_millis(100);
        cubic.increase(&mut w, 95.0, &sample);
        assert!(near(w.cwnd(), 96.204_0, 1e-4));
    }

    #[test]
    fn cubic_2_second_loss_below_w_max_gives_way() {
        let mut cubic = RfcCubic::default();
        cubic.threshold(&window(100));
        assert!(near(cubic.threshold(&window(80)), 56.0, 1e-9));
        assert!(near(cubic.curve.w_max, 68.0, 1e-9));
        assert!(near(time_to_origin(68.0, 56.0), 3.107_233, 1e-6));
    }

    #[test]
    fn cubic_2_reno_estimate_over_20_rounds() {
        let curve = Curve { cwnd_prior: 1e9, ..Curve::default() };
        let mut cubic = RfcCubic { curve, saved: None };
        let mut w = window(70);
        for _ in 0..20 {
            // One window acknowledged: alpha segments more.
            let acked = w.cwnd();
            cubic.curve.epoch_start.get_or_insert(Instant::ZERO);
            if cubic.curve.w_est == 0.0 {
                cubic.curve.w_est = 70.0;
            }
            cubic.increase(&mut w, acked, &ack(Instant::ZERO, 1));
        }
        assert!(near(cubic.curve.w_est, 80.588, 1e-3));
    }

    #[test]
    fn time_out_forgets_the_old_maximum() {
        let mut cubic = RfcCubic::default();
        cubic.threshold(&window(100));
        cubic.on_timeout();
        cubic.increase(&mut window(50), 1.0, &ack(Instant::from_secs(5), 1));
        assert_eq!((cubic.curve.k, cubic.curve.w_max), (0.0, 50.0));
    }

    #[test]
    fn undo_restores_the_curve() {
        let mut cubic = RfcCubic::default();
        cubic.threshold(&window(100));
        cubic.increase(&mut window(70), 1.0, &ack(Instant::from_secs(1), 1));
        let before = cubic.curve;
        cubic.threshold(&window(80));
        assert_ne!(cubic.curve.w_max, before.w_max);
        cubic.undo();
        assert_eq!(cubic.curve.w_max, before.w_max);
        assert_eq!(cubic.curve.epoch_start, before.epoch_start);
    }

    #[test]
    fn window_lowered_by_another_rule_starts_a_new_epoch() {
        let mut cubic = RfcCubic::default();
        cubic.threshold(&window(100));
        let mut w = window(70);
        cubic.increase(&mut w, 70.0, &ack(Instant::from_secs(1), 1));
        w.set_cwnd(20.0);
        cubic.increase(&mut w, 1.0, &ack(Instant::from_secs(2), 1));
        assert_eq!(cubic.curve.epoch_start, Some(Instant::from_secs(2)));
        assert!(w.cwnd() <= 20.5 + 1e-9, "at most half a segment more per segment");
    }

    #[test]
    fn ecn_and_loss_reduce_alike_and_never_below_two() {
        let mut cubic = RfcCubic::default();
        assert_eq!(cubic.threshold(&window(2)), 2.0);
        let mut any = Cubic::Rfc9438(cubic);
        assert_eq!(any.threshold(&window(2), &loss(Instant::ZERO)), 2.0);
    }
}
