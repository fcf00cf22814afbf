//! HyStart: leaving slow start before the first loss (congestion spec s2).
//!
//! `Classic` is CUBIC's own on Linux 6.x (ACK trains and delay, threshold set at once);
//! `PlusPlus` is RFC 9406 (delay only, then conservative slow start). The growth itself is
//! `Window::slow_start`.

use super::AckSample;
use super::window::Window;
use crate::recovery::pacing_rate;
use base::{Duration, Instant};

/// Which HyStart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HyStartKind {
    /// Linux's: only with CUBIC.
    #[default]
    Classic,
    /// RFC 9406.
    PlusPlus,
    /// None.
    Off,
}

/// RTT samples of a round before the delay rule may speak (RFC 9406 s4.3 and Linux).
const MIN_SAMPLES: u32 = 8;
/// Bounds of the tolerated increase of the RTT.
const MIN_RTT_THRESH_US: u64 = 4_000;
const MAX_RTT_THRESH_US: u64 = 16_000;
/// The tolerated increase is this part of the RTT.
const RTT_DIVISOR: u64 = 8;
/// Classic: not below this window.
const LOW_WINDOW: u32 = 16;
/// Classic: ACKs of a train are at most this far apart.
const TRAIN_GAP_US: u64 = 2_000;
/// Classic: upper bound of the allowance for bursts, and what a burst may be.
const MAX_ACK_DELAY_US: u64 = 1_000;
const BURST_BYTES: u64 = 4 * 65_215;
/// PlusPlus: growth in conservative slow start is divided by this.
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// PlusPlus: rounds of conservative slow start.
const CSS_ROUNDS: u32 = 5;
/// PlusPlus: segments an ACK may add, unless paced.
const PLUS_PLUS_LIMIT: u32 = 8;

/// The state of one path.
#[derive(Clone, Debug)]
pub enum HyStart {
    Off,
    Classic(Classic),
    PlusPlus(PlusPlus),
}

impl HyStart {
    /// At the start of a path.
    pub fn new(kind: HyStartKind, now: Instant) -> Self {
        match kind {
            HyStartKind::Off => HyStart::Off,
            HyStartKind::Classic => HyStart::Classic(Classic::new(now)),
            HyStartKind::PlusPlus => HyStart::PlusPlus(PlusPlus::default()),
        }
    }

    /// An acknowledgement with an RTT sample; may set the threshold.
    pub fn on_rtt(&mut self, window: &mut Window, rtt: Duration, sample: &AckSample) {
        match self {
            HyStart::Off => {}
            HyStart::Classic(classic) => classic.on_rtt(window, rtt, sample),
            HyStart::PlusPlus(plus_plus) => plus_plus.on_rtt(window, rtt, sample),
        }
    }

    /// The most segments an ACK may add in slow start; `None` for no limit.
    pub fn growth_limit(&self, limit: Option<u32>, paced: bool) -> Option<u32> {
        match (self, limit) {
            (_, None) => None,
            (_, Some(_)) if paced => None,
            (HyStart::PlusPlus(state), Some(limit)) if !state.done => {
                Some(limit.max(PLUS_PLUS_LIMIT))
            }
            (_, limit) => limit,
        }
    }

    /// What the growth in slow start is divided by.
    pub const fn growth_divisor(&self) -> f64 {
        match self {
            HyStart::PlusPlus(PlusPlus { css: Some(_), .. }) => CSS_GROWTH_DIVISOR,
            _ => 1.0,
        }
    }

    /// Loss or an ECN mark.
    pub const fn on_congestion(&mut self) {
        if let HyStart::PlusPlus(state) = self {
            // RFC 9406 s4.2: only the initial slow start.
            state.finish();
        }
    }

    /// A time-out: Linux starts afresh.
    pub fn on_timeout(&mut self, now: Instant, snd_nxt: u64) {
        if let HyStart::Classic(state) = self {
            *state = Classic::new(now);
            state.round_end = snd_nxt;
        }
    }
}

/// Linux's HyStart; microseconds throughout.
#[derive(Clone, Debug)]
pub struct Classic {
    found: bool,
    round_start_us: u64,
    last_ack_us: u64,
    /// The round lasts until `snd_una` passes this offset.
    round_end: u64,
    /// Zero before the first sample.
    delay_min_us: u64,
    round_min_us: u64,
    samples: u32,
}

impl Classic {
    fn new(now: Instant) -> Self {
        let now = now.as_micros();
        Classic {
            found: false,
            round_start_us: now,
            last_ack_us: now,
            round_end: 0,
            delay_min_us: 0,
            round_min_us: u64::MAX,
            samples: 0,
        }
    }

    fn on_rtt(&mut self, window: &mut Window, rtt: Duration, sample: &AckSample) {
        let delay = rtt.as_micros().max(1);
        if self.delay_min_us == 0 || delay < self.delay_min_us {
            self.delay_min_us = delay;
        }
        if self.found || !window.in_slow_start() {
            return;
        }
        let now = sample.now.as_micros();
        if sample.snd_una > self.round_end {
            self.start_round(now, sample.snd_nxt);
        }
        if window.cwnd_segs() < LOW_WINDOW {
            return;
        }
        if self.train_is_long(window, now, sample) | self.delay_grew(delay) {
            self.found = true;
            window.end_slow_start();
        }
    }

    const fn start_round(&mut self, now_us: u64, snd_nxt: u64) {
        self.round_start_us = now_us;
        self.last_ack_us = now_us;
        self.round_end = snd_nxt;
        self.round_min_us = u64::MAX;
        self.samples = 0;
    }

    /// ACKs close to each other for longer than half the smallest RTT: the pipe is full.
    fn train_is_long(&mut self, window: &Window, now_us: u64, sample: &AckSample) -> bool {
        if now_us.saturating_sub(self.last_ack_us) > TRAIN_GAP_US {
            return false;
        }
        self.last_ack_us = now_us;
        let mut threshold = self.delay_min_us + ack_delay_us(window, sample);
        if !sample.paced {
            threshold /= 2;
        }
        now_us.saturating_sub(self.round_start_us) > threshold
    }

    fn delay_grew(&mut self, delay_us: u64) -> bool {
        self.round_min_us = self.round_min_us.min(delay_us);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.round_min_us > self.delay_min_us + threshold_us(self.delay_min_us)
    }
}

/// What a burst of the sender may delay ACKs by: four bursts at the pacing rate, at most 1 ms.
fn ack_delay_us(window: &Window, sample: &AckSample) -> u64 {
    let rate = pacing_rate(
        window.cwnd_segs(),
        window.ssthresh_segs(),
        sample.inflight_before_segs,
        window.mss(),
        sample.srtt,
    );
    match rate {
        None | Some(0) => 0,
        Some(rate) => (BURST_BYTES * 1_000_000 / rate).min(MAX_ACK_DELAY_US),
    }
}

fn threshold_us(rtt_us: u64) -> u64 {
    (rtt_us / RTT_DIVISOR).clamp(MIN_RTT_THRESH_US, MAX_RTT_THRESH_US)
}

/// RFC 9406's state.
#[derive(Clone, Debug, Default)]
pub struct PlusPlus {
    done: bool,
    window_end: u64,
    last_round_min: Option<Duration>,
    current_round_min: Option<Duration>,
    samples: u32,
    css: Option<Css>,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Css {
    baseline: Duration,
    rounds: u32,
}

impl PlusPlus {
    const fn finish(&mut self) {
        self.done = true;
        self.css = None;
    }

    fn on_rtt(&mut self, window: &mut Window, rtt: Duration, sample: &AckSample) {
        if self.done {
            return;
        }
        if window.ssthresh().is_finite() {
            self.finish();
            return;
        }
        if sample.snd_una >= self.window_end {
            self.end_round(window, sample.snd_nxt);
            if self.done {
                return;
            }
        }
        self.current_round_min = Some(self.current_round_min.map_or(rtt, |min| min.min(rtt)));
        self.samples += 1;
        if self.samples >= MIN_SAMPLES {
            self.judge();
        }
    }

    fn end_round(&mut self, window: &mut Window, snd_nxt: u64) {
        self.window_end = snd_nxt;
        self.last_round_min = self.current_round_min.take().or(self.last_round_min);
        self.samples = 0;
        if let Some(css) = &mut self.css {
            css.rounds += 1;
            if css.rounds >= CSS_ROUNDS {
                window.end_slow_start();
                self.finish();
            }
        }
    }

    fn judge(&mut self) {
        let Some(current) = self.current_round_min else { return };
        if let Some(css) = self.css {
            if current < css.baseline {
                self.css = None;
            }
        } else if let Some(last) = self.last_round_min
            && current >= last + Duration::from_micros(threshold_us(last.as_micros()))
        {
            self.css = Some(Css { baseline: current, rounds: 0 });
        }
    }
}
