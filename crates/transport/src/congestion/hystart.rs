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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Arithmetic;
    use crate::congestion::test_support::ack;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn window(arithmetic: Arithmetic, cwnd: u32) -> Window {
        Window::new(arithmetic, 1448, cwnd, None)
    }

    /// Feed `count` samples of one round that starts with the acknowledgement of everything.
    fn round(state: &mut PlusPlus, window: &mut Window, round: u64, rtt: Duration, count: u64) {
        for i in 0..count {
            let mut sample = ack(Instant::from_millis(round * 100 + i), 1);
            sample.snd_una = round * 1000 + i;
            sample.snd_nxt = (round + 1) * 1000;
            state.on_rtt(window, rtt, &sample);
        }
    }

    #[test]
    fn hys_1_thresholds() {
        assert_eq!(threshold_us(20_000), 4_000);
        assert_eq!(threshold_us(40_000), 5_000);
        assert_eq!(threshold_us(200_000), 16_000);
    }

    #[test]
    fn hys_1_five_milliseconds_more_start_conservative_slow_start() {
        for (current, css) in [(44, false), (45, true)] {
            let mut state = PlusPlus::default();
            let mut window = window(Arithmetic::Real, 80);
            round(&mut state, &mut window, 0, ms(40), 8);
            round(&mut state, &mut window, 1, ms(current), 7);
            assert!(state.css.is_none(), "eight samples are needed");
            round(&mut state, &mut window, 1, ms(current), 1);
            assert_eq!(state.css.is_some(), css, "{current} ms");
        }
    }

    #[test]
    fn hys_2_conservative_slow_start_grows_by_a_quarter_for_five_rounds() {
        let css = Css { baseline: ms(45), rounds: 0 };
        let state = PlusPlus { css: Some(css), window_end: 1000, ..PlusPlus::default() };
        let mut hystart = HyStart::PlusPlus(state);
        let mut window = window(Arithmetic::Real, 80);
        let mut ends = Vec::new();
        for round in 1..=5u64 {
            let acked = window.cwnd();
            window.slow_start(acked, hystart.growth_divisor());
            ends.push(window.cwnd());
            let mut sample = ack(Instant::ZERO, 1);
            sample.snd_una = round * 1000;
            sample.snd_nxt = (round + 1) * 1000;
            hystart.on_rtt(&mut window, ms(45), &sample);
        }
        assert_eq!(ends, [100.0, 125.0, 156.25, 195.312_5, 244.140_625]);
        assert_eq!(window.ssthresh(), 244.140_625);
        assert_eq!(hystart.growth_divisor(), 1.0);
    }

    #[test]
    fn falling_rtt_returns_to_slow_start() {
        let mut state = PlusPlus::default();
        let mut window = window(Arithmetic::Real, 80);
        round(&mut state, &mut window, 0, ms(40), 8);
        round(&mut state, &mut window, 1, ms(50), 8);
        assert!(state.css.is_some());
        round(&mut state, &mut window, 2, ms(49), 8);
        assert!(state.css.is_none() && !state.done);
    }

    #[test]
    fn plus_plus_is_for_the_initial_slow_start_only() {
        let mut hystart = HyStart::new(HyStartKind::PlusPlus, Instant::ZERO);
        assert_eq!(hystart.growth_limit(Some(2), false), Some(8));
        assert_eq!(hystart.growth_limit(Some(2), true), None);
        assert_eq!(hystart.growth_limit(None, false), None);
        hystart.on_congestion();
        assert_eq!(hystart.growth_limit(Some(2), false), Some(2));
    }

    /// ACKs `gap_us` apart of one round; the times of the first and of the exit.
    fn classic_exit(cwnd: u32, rtt: Duration, gap_us: u64) -> Option<u64> {
        let mut state = Classic::new(Instant::ZERO);
        let mut window = window(Arithmetic::Counter, cwnd);
        for i in 0..200 {
            let mut sample = ack(Instant::from_micros(100_000 + i * gap_us), 1);
            (sample.snd_una, sample.snd_nxt) = (1 + i, 1000);
            state.on_rtt(&mut window, rtt, &sample);
            if window.ssthresh().is_finite() {
                return Some(i * gap_us);
            }
        }
        None
    }

    #[test]
    fn classic_long_train_ends_slow_start() {
        // (40 ms + 1 ms) / 2 since the round began; the samples' srtt of 50 ms gives d = 1 ms.
        assert_eq!(classic_exit(100, ms(40), 500), Some(21_000));
        assert_eq!(classic_exit(100, ms(40), 2_000), Some(22_000));
    }

    #[test]
    fn classic_wide_gaps_are_no_train() {
        assert_eq!(classic_exit(100, ms(40), 2_001), None);
    }

    #[test]
    fn classic_needs_a_window_of_16() {
        assert_eq!(classic_exit(15, ms(40), 500), None);
    }

    #[test]
    fn classic_delay_ends_slow_start_after_eight_samples() {
        let mut state = Classic::new(Instant::ZERO);
        let mut window = window(Arithmetic::Counter, 100);
        let mut at = 0;
        let mut feed = |state: &mut Classic, window: &mut Window, rtt, una, nxt| {
            at += 10;
            let mut sample = ack(Instant::from_millis(at), 1);
            (sample.snd_una, sample.snd_nxt) = (una, nxt);
            state.on_rtt(window, rtt, &sample);
        };
        feed(&mut state, &mut window, ms(40), 1, 100);
        for i in 0..8 {
            feed(&mut state, &mut window, ms(46), 101 + i, 300);
        }
        assert!(window.in_slow_start());
        feed(&mut state, &mut window, ms(46), 120, 300);
        assert_eq!(window.ssthresh_segs(), Some(100), "46 > 40 + 5");
        assert!(state.found);
    }

    #[test]
    fn classic_starts_afresh_after_a_time_out() {
        let mut hystart = HyStart::new(HyStartKind::Classic, Instant::ZERO);
        if let HyStart::Classic(state) = &mut hystart {
            state.found = true;
            state.delay_min_us = 40_000;
        }
        hystart.on_timeout(Instant::from_secs(9), 77);
        let HyStart::Classic(state) = hystart else { unreachable!("still classic") };
        assert!(!state.found && state.delay_min_us == 0);
        assert_eq!(state.round_end, 77);
    }
}
