//! `onoff[:RATE][:TIME]`: frames of 5000 bytes in on periods, nothing in the off periods between.
//!
//! 000 s4.4: the lengths of both kinds of periods have a Pareto distribution with shape 1.5 and
//! scale 0.166667 s, so that a period lasts 0.5 s on average; on periods have 25 frames a second,
//! which is 500 kbit/s on average. Another RATE has as many more or fewer frames a second. Each
//! repetition draws its periods. Delays count from the scheduled time, as with `video`.

use crate::measure::Measure;
use crate::model::delays::{MEDIAN, OVER_150MS, P95, P99, distribution_of, of_messages};
use crate::model::{Draws, Due, Message, TrafficModel};
use crate::one_way::Report;
use crate::outcome::{Metric, Outcome};
use base::{Duration, Rate};
use std::cell::Cell;

/// Shape of the distribution of periods.
const SHAPE: f64 = 1.5;
/// Its scale, the shortest period, in seconds.
const SCALE: f64 = 0.166_667;
/// Bytes of a frame.
const FRAME_BYTES: u64 = 5000;
/// Periods are on for half of the time, on average.
const RATE_WHEN_ON: u128 = 2;
/// Delays beyond which the shares of messages are counted.
const SHARES: &[(&str, Duration)] = &[OVER_150MS];

/// An on-off source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnOff {
    /// Mean rate of the payload, above zero.
    pub rate: Rate,
    /// Length of the traffic.
    pub time: Duration,
    /// Random numbers of the periods.
    pub draws: Draws,
}

impl OnOff {
    /// The mean rate of paper 000 over wireless LANs.
    pub const DEFAULT_RATE: Rate = Rate::from_bps(500_000);
    /// The default length.
    pub const DEFAULT_TIME: Duration = Duration::from_secs(60);

    /// Frames in a time in which the source is always on.
    pub fn most_frames(&self) -> u64 {
        let bits = u128::from(self.rate.as_bps()) * RATE_WHEN_ON * u128::from(self.time.as_nanos());
        u64::try_from(bits / (u128::from(8 * FRAME_BYTES) * 1_000_000_000)).unwrap_or(u64::MAX)
    }

    /// Nanoseconds of on periods before frame number `index`.
    fn on_before(&self, index: u64) -> u64 {
        let bits = u128::from(index) * u128::from(8 * FRAME_BYTES);
        let rate = u128::from(self.rate.as_bps()) * RATE_WHEN_ON;
        u64::try_from(bits * 1_000_000_000 / rate).unwrap_or(u64::MAX)
    }

    /// Length of period number `index` in nanoseconds: off periods are even. Half of the sources
    /// begin with an on period.
    fn period(&self, index: u64) -> u64 {
        if index == 0 && self.draws.uniform(0) < 0.5 {
            return 0;
        }
        let seconds = pareto(1.0 - self.draws.uniform(index + 1));
        // No period is longer than the traffic, and the first frame is in its first half.
        let most = self.time.as_nanos() as f64 / if index == 0 { 2.0 } else { 1.0 };
        (seconds * 1e9).min(most) as u64
    }
}

/// The length in seconds that the share `above` of periods exceeds; the share is above zero.
fn pareto(above: f64) -> f64 {
    // above^(-1/SHAPE) for the shape 3/2.
    debug_assert!((SHAPE - 1.5).abs() < f64::EPSILON, "written for this shape");
    let root = libm::cbrt(above);
    SCALE / (root * root)
}

/// The frames of an on-off source, in order.
#[derive(Clone, Debug)]
pub(crate) struct Frames {
    source: OnOff,
    at: Cell<Position>,
}

/// An on period.
#[derive(Clone, Copy, Debug)]
struct Position {
    /// Number of the off period before it.
    period: u64,
    /// Nanoseconds from the start of the traffic to its begin.
    start: u64,
    /// Nanoseconds of all on periods before it, and its own.
    on_before: u64,
    length: u64,
}

impl Frames {
    pub(crate) fn new(source: OnOff) -> Self {
        Frames { source, at: Cell::new(Frames::first(&source)) }
    }

    fn first(source: &OnOff) -> Position {
        let (start, length) = (source.period(0), source.period(1));
        Position { period: 0, start, on_before: 0, length }
    }

    /// Nanoseconds from the start of the traffic to frame number `index`; `None` after its end.
    fn time_of(&self, index: u64) -> Option<u64> {
        let on = self.source.on_before(index);
        let mut at = self.at.get();
        if on < at.on_before {
            at = Frames::first(&self.source);
        }
        let end = self.source.time.as_nanos();
        while on >= at.on_before + at.length {
            let period = at.period + 2;
            let start = at.start + at.length + self.source.period(period);
            if start >= end {
                return None;
            }
            let on_before = at.on_before + at.length;
            at = Position { period, start, on_before, length: self.source.period(period + 1) };
        }
        self.at.set(at);
        Some(at.start + (on - at.on_before)).filter(|time| *time < end)
    }

    fn count(&self) -> u64 {
        (0..).take_while(|index| self.time_of(*index).is_some()).count() as u64
    }
}

impl TrafficModel for Frames {
    fn message(&self, index: u64) -> Option<Message> {
        let due = Due::SinceStart(Duration::from_nanos(self.time_of(index)?));
        Some(Message { due, len: FRAME_BYTES, measured: true })
    }

    /// A frame is a message.
    fn message_bytes(&self) -> Option<u32> {
        Some(u32::MAX)
    }

    fn duration(&self) -> Option<Duration> {
        Some(self.source.time)
    }

    fn metric(&self) -> Metric {
        Metric::MessageDelay
    }

    fn further(&self) -> &'static [Measure] {
        &[MEDIAN, P95, P99]
    }

    fn numbers(&self, delays: &[f64], all: &[f64]) -> Vec<(&'static str, f64)> {
        distribution_of(delays, all, SHARES)
    }

    fn outcome(&self, client: &Report, sender: &Report, receiver: &Report) -> Outcome {
        of_messages(self, self.count(), [client, sender, receiver])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(seconds: u64, run: u64) -> OnOff {
        OnOff {
            rate: OnOff::DEFAULT_RATE,
            time: Duration::from_secs(seconds),
            draws: Draws::new((1, run), 7),
        }
    }

    fn times(source: OnOff) -> Vec<u64> {
        let frames = Frames::new(source);
        (0..).map_while(|index| frames.time_of(index)).collect()
    }

    /// 000 s4.4: shape 1.5, scale 0.166667. The share 1 - (scale/x)^1.5 of periods is below x.
    #[test]
    fn periods_have_the_quantiles_of_the_pareto_distribution() {
        let source = source(86_400, 0);
        let mut periods: Vec<f64> =
            (1..40_001).map(|index| source.period(index) as f64 / 1e9).collect();
        periods.sort_by(f64::total_cmp);
        // Quartiles, 90 % and 99 %: 0.166667 / (1 - q)^(2/3).
        for (share, expected) in
            [(0.25, 0.2019), (0.5, 0.2646), (0.75, 0.4200), (0.9, 0.7736), (0.99, 3.591)]
        {
            let found = periods[(share * 40_000.0) as usize];
            assert!((found / expected - 1.0).abs() < 0.05, "{share}: {found}");
        }
        assert!(periods[0] >= 0.166_667 - 1e-9, "{}", periods[0]);
    }

    #[test]
    fn frames_have_25_a_second_when_on_and_the_rate_on_average() {
        let all: Vec<Vec<u64>> = (0..300).map(|run| times(source(600, run))).collect();
        let steps = all.iter().flat_map(|times| times.windows(2).map(|two| two[1] - two[0]));
        let steps: Vec<u64> = steps.collect();
        assert!(steps.iter().all(|step| *step >= 40_000_000 - 1));
        let within = steps.iter().filter(|step| step.abs_diff(40_000_000) <= 1).count();
        assert!(within as f64 > 0.85 * steps.len() as f64, "{within} of {}", steps.len());
        let frames: usize = all.iter().map(Vec::len).sum();
        let rate = frames as f64 * 40_000.0 / (300.0 * 600.0);
        assert!((rate / 500e3 - 1.0).abs() < 0.05, "{rate}");
    }

    #[test]
    fn frames_depend_on_the_run_and_not_on_the_order_of_questions() {
        assert_ne!(times(source(60, 0)), times(source(60, 1)));
        assert!((0..500).all(|run| times(source(1, run)).first() < Some(&500_000_001)));
        assert!((0..500).all(|run| !times(source(1, run)).is_empty()));
        let expected = times(source(60, 3));
        let frames = Frames::new(source(60, 3));
        assert_eq!(frames.time_of(expected.len() as u64), None);
        for index in [expected.len() - 1, 0, expected.len() / 2] {
            assert_eq!(frames.time_of(index as u64), Some(expected[index]));
        }
    }

    #[test]
    fn tenth_of_the_rate_has_a_tenth_of_the_frames() {
        let slow = OnOff { rate: Rate::from_bps(50_000), ..source(600, 0) };
        let (slow, usual) = (times(slow).len() as f64, times(source(600, 0)).len() as f64);
        assert!((slow * 10.0 / usual - 1.0).abs() < 0.02, "{slow} {usual}");
        assert_eq!(source(60, 0).most_frames(), 1500);
    }
}
