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
            Cubic::Rfc9438(cubic) => cubic.threshold(window),
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
    }

    fn threshold(&mut self, window: &Window) -> f64 {
        let cwnd = window.cwnd();
        self.saved = Some(self.curve);
        self.curve.cwnd_prior = cwnd;
        self.curve.w_max = if cwnd < self.curve.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.curve.epoch_start = None;
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
