//! The rate of a video from what its receiver saw: NADA (RFC 8698), without marking and without
//! the warping of delays above 50 ms while a loss is recent (s4.2, equation 1).
//!
//! `Observer` is the receiver: the delay above the smallest one, filtered, the rate received, and
//! whether the rate may rise fast (s4.2). Losses, which only datagrams show, are added to the delay
//! as s4.2 has it, with the ratio smoothed (s5.1.2). `Control` is the sender (s4.3). Constants of
//! s4.1, Table 2.

use super::Limits;
use base::{Duration, Instant};
use std::collections::VecDeque;

/// Reference delay, in seconds.
const XREF: f64 = 0.010;
const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
/// Upper bound of the round-trip time in the gradual update, in seconds.
const TAU: f64 = 0.5;
/// Interval of reports.
pub(super) const DELTA: Duration = Duration::from_millis(100);
/// Window of observation.
const LOGWIN: Duration = Duration::from_millis(500);
/// Queueing delay below which the rate rises fast, in seconds.
const QEPS: f64 = 0.010;
/// Window of the filter of delays.
const DFILT: Duration = Duration::from_millis(120);
/// Delay that the reference ratio of losses counts as, in seconds, and that ratio.
const DLOSS: f64 = 0.010;
const PLRREF: f64 = 0.01;
/// Weight of the last ratio of losses.
const ALPHA: f64 = 0.1;
const GAMMA_MAX: f64 = 0.5;
/// Queueing delay that a fast rise may cause, in seconds.
const QBOUND: f64 = 0.050;

/// Most frames missed at once: more than a window has.
const MOST_MISSED: u32 = 100;

/// What a receiver reports.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Seen {
    /// Composite congestion signal: the filtered queueing delay, in seconds.
    pub delay: f64,
    /// Rate received in the window, in bit/s.
    pub received_bps: f64,
    /// The rate may rise fast.
    pub is_free: bool,
}

/// The receiver of a video.
#[derive(Clone, Debug, Default)]
pub(super) struct Observer {
    /// Arrival, delay in seconds and bits of the frames of the window.
    recent: VecDeque<(Instant, f64, u64)>,
    /// Smallest delay so far.
    base: Option<f64>,
    first: Option<Instant>,
    /// When frames of the window were missed.
    missed: VecDeque<Instant>,
    /// Smoothed ratio of losses.
    loss: f64,
}

impl Observer {
    /// A frame arrived, this long after it was made.
    pub(super) fn on_frame(&mut self, now: Instant, delay: Duration, bytes: u64) {
        let delay = delay.as_secs_f64();
        self.base = Some(self.base.map_or(delay, |base| base.min(delay)));
        self.first.get_or_insert(now);
        self.recent.push_back((now, delay, bytes * 8));
    }

    /// So many frames before the last one did not arrive.
    pub(super) fn on_missed(&mut self, now: Instant, frames: u32) {
        self.missed.extend(std::iter::repeat_n(now, frames.min(MOST_MISSED) as usize));
    }

    /// The report at this time.
    pub(super) fn report(&mut self, now: Instant) -> Seen {
        while self.recent.front().is_some_and(|(at, ..)| now.since(*at) > LOGWIN) {
            self.recent.pop_front();
        }
        while self.missed.front().is_some_and(|at| now.since(*at) > LOGWIN) {
            self.missed.pop_front();
        }
        let frames = self.missed.len() + self.recent.len();
        let ratio = self.missed.len() as f64 / frames.max(1) as f64;
        self.loss += ALPHA * (ratio - self.loss);
        let base = self.base.unwrap_or(0.0);
        let queued = || self.recent.iter().map(|(at, delay, _)| (*at, delay - base));
        let filtered = queued().filter(|(at, _)| now.since(*at) <= DFILT).map(|(_, d)| d);
        let last = self.recent.back().map_or(0.0, |(_, delay, _)| delay - base);
        let delay = filtered.reduce(f64::min).unwrap_or(last);
        let time = self.first.map_or(LOGWIN, |first| now.since(first).min(LOGWIN)).max(DELTA);
        let bits: u64 = self.recent.iter().map(|(.., bits)| bits).sum();
        Seen {
            delay: delay + DLOSS * (self.loss / PLRREF) * (self.loss / PLRREF),
            received_bps: bits as f64 / time.as_secs_f64(),
            is_free: self.missed.is_empty() && queued().all(|(_, delay)| delay < QEPS),
        }
    }
}

/// The sender of a video.
#[derive(Clone, Debug)]
pub(super) struct Control {
    limits: Limits,
    /// Reference rate, in bit/s.
    rate: f64,
    last_delay: f64,
    last_report: Option<Instant>,
}

impl Control {
    pub(super) fn new(limits: Limits) -> Self {
        let rate = limits.least.as_bps() as f64;
        Control { limits, rate, last_delay: 0.0, last_report: None }
    }

    /// The rate of the encoder, in bit/s.
    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    /// A report arrived.
    pub(super) fn on_report(&mut self, now: Instant, seen: &Seen, rtt: Duration) {
        let (least, most) = (self.limits.least.as_bps() as f64, self.limits.most.as_bps() as f64);
        if seen.is_free {
            let window = rtt.as_secs_f64() + DELTA.as_secs_f64() + DFILT.as_secs_f64();
            let gamma = GAMMA_MAX.min(QBOUND / window);
            self.rate = self.rate.max((1.0 + gamma) * seen.received_bps);
        } else {
            let passed = self.last_report.map_or(DELTA, |last| now.since(last)).as_secs_f64();
            let offset = seen.delay - XREF * most / self.rate;
            let change = seen.delay - self.last_delay;
            let by_offset = KAPPA * (passed / TAU) * (offset / TAU);
            let by_change = KAPPA * ETA * (change / TAU);
            self.rate -= (by_offset + by_change) * self.rate;
        }
        self.rate = self.rate.clamp(least, most);
        (self.last_delay, self.last_report) = (seen.delay, Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Rate;

    fn control(rate: f64) -> Control {
        let [least, most] = [150_000, 1_500_000].map(Rate::from_bps);
        let mut control = Control::new(Limits { least, most, frames: [30.0, 30.0] });
        control.rate = rate;
        control
    }

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn fast_rise_is_bounded_by_the_delay_that_it_may_cause() {
        let free = |received_bps| Seen { delay: 0.0, received_bps, is_free: true };
        // 50 ms / (30 + 100 + 120 ms) = 0.2.
        let mut slow = control(150e3);
        slow.on_report(at(0), &free(500e3), Duration::from_millis(30));
        assert!((slow.rate() - 600e3).abs() < 1.0, "{}", slow.rate());
        slow.on_report(at(100), &free(100e3), Duration::from_millis(30));
        assert!((slow.rate() - 600e3).abs() < 1.0, "it never falls then: {}", slow.rate());
        slow.on_report(at(200), &free(9e6), Duration::from_millis(30));
        assert!((slow.rate() - 1.5e6).abs() < 1.0);
    }

    /// RFC 8698 s4.3 by hand: offset 0.05 - 0.01 * 1.5 = 0.035, change 0.05.
    #[test]
    fn gradual_update_follows_offset_and_change_of_the_delay() {
        let mut full = control(1e6);
        let seen = Seen { delay: 0.05, received_bps: 1e6, is_free: false };
        full.on_report(at(0), &seen, Duration::from_millis(30));
        let both = 1e6 * (1.0 - 0.5 * 0.2 * 0.07 - 0.5 * 2.0 * 0.1);
        assert!((full.rate() - both).abs() < 1.0, "{} {both}", full.rate());
        // At rest where the delay is XREF * RMAX / rate.
        let mut rest = control(1e6);
        rest.last_delay = 0.015;
        let seen = Seen { delay: 0.015, ..seen };
        rest.on_report(at(100), &seen, Duration::from_millis(30));
        assert!((rest.rate() - 1e6).abs() < 1.0, "{}", rest.rate());
    }

    /// RFC 8698 s4.2 by hand: one of two frames is lost, a tenth of that is 0.05: 10 ms * 25.
    #[test]
    fn losses_count_as_delay_and_end_the_fast_rise() {
        let mut observer = Observer::default();
        observer.on_frame(at(0), Duration::from_millis(40), 1250);
        observer.on_missed(at(33), 1);
        let seen = observer.report(at(100));
        assert!((seen.delay - 0.25).abs() < 1e-9 && !seen.is_free, "{seen:?}");
        observer.on_frame(at(590), Duration::from_millis(40), 1250);
        let later = observer.report(at(600));
        assert!(later.is_free && later.delay < seen.delay, "{later:?}");
    }

    #[test]
    fn observer_filters_the_delay_and_measures_the_rate() {
        let mut observer = Observer::default();
        for (millis, delay) in [(100, 40), (133, 45), (166, 60), (200, 48)] {
            observer.on_frame(at(millis), Duration::from_millis(delay), 1250);
        }
        let seen = observer.report(at(200));
        assert!(seen.delay.abs() < 1e-9, "the least of 120 ms is the base: {seen:?}");
        assert!(!seen.is_free, "20 ms are in the window");
        // 40 kbit in 100 ms, the least time that counts.
        assert!((seen.received_bps - 400e3).abs() < 1.0, "{seen:?}");
        let later = observer.report(at(300));
        assert!((later.delay - 0.008).abs() < 1e-9, "{later:?}");
        let none = observer.report(at(5000));
        assert_eq!((none.received_bps, none.is_free), (0.0, true));
    }
}
