//! Recorded capacity: what a link could carry, over and over.
//!
//! Two shapes. *Chances* are mahimahi's: each is leave to send 1500 bytes in one millisecond;
//! small packets share a chance, a large one takes what it needs from the next, and what is not
//! used when its millisecond ends is lost. *Steps* are rates that hold for a time; a packet goes on
//! across them. Both wrap at their end.
//!
//! Service is arithmetic on the capacity that has passed since the trace began: a packet's end is
//! where that sum reaches the packet's own end, found by one search at most, so neither idle time
//! nor an outage costs anything. Recognising and reading files is `detect` and the files beside
//! it; where a repetition starts in a trace is drawn by the caller.

mod bitrate_table;
mod chances;
mod columns;
mod detect;
mod error;
mod json;
mod mahimahi;
mod run_list;
mod steps;

pub use detect::{Direction, Form, Unit, read};
pub use error::{TraceError, TraceFault};

use base::{Duration, Instant, Rate};
use chances::Chances;
use steps::Steps;

/// The highest rate taken for real: a terabit a second.
const MAX_BPS: f64 = 1e12;
/// The longest time taken for real, in seconds: 31 years.
const MAX_SECS: f64 = 1e9;

/// A recorded capacity.
#[derive(Clone, PartialEq, Debug)]
pub struct CapacityTrace {
    shape: Shape,
}

#[derive(Clone, PartialEq, Debug)]
enum Shape {
    Chances(Chances),
    Steps(Steps),
}

/// How much of a trace a link has used up. Starts as `default`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// Bytes (chances) or 10^-9 bits (steps) since the trace began.
    position: u128,
    /// The step found last.
    step: usize,
}

impl CapacityTrace {
    /// A trace of chances to send 1500 bytes, by their milliseconds; the last one is the period.
    pub fn from_chances(millis: Vec<u32>) -> Result<Self, TraceFault> {
        Ok(CapacityTrace { shape: Shape::Chances(Chances::new(millis)?) })
    }

    /// A trace of rates and how long each holds.
    pub fn from_steps(steps: &[(Duration, Rate)]) -> Result<Self, TraceFault> {
        Ok(CapacityTrace { shape: Shape::Steps(Steps::new(steps)?) })
    }

    /// The time after which the trace begins anew.
    pub fn period(&self) -> Duration {
        match &self.shape {
            Shape::Chances(chances) => Duration::from_millis(chances.period_ms()),
            Shape::Steps(steps) => Duration::from_nanos(steps.period_ns()),
        }
    }

    /// The mean capacity over a period.
    pub fn mean_rate(&self) -> Rate {
        match &self.shape {
            Shape::Chances(chances) => chances.mean_rate(),
            Shape::Steps(steps) => steps.mean_rate(),
        }
    }

    /// The longest time without a sample, where one is far longer than usual; the rate before it
    /// holds. Silence between chances is no gap but an outage.
    pub fn longest_gap(&self) -> Option<Duration> {
        match &self.shape {
            Shape::Chances(_) => None,
            Shape::Steps(steps) => steps.longest_gap_ns().map(Duration::from_nanos),
        }
    }

    /// The longest time without a chance, the way round from the last to the first included.
    pub fn longest_silence(&self) -> Option<Duration> {
        match &self.shape {
            Shape::Chances(chances) => Some(Duration::from_millis(chances.longest_silence_ms())),
            Shape::Steps(_) => None,
        }
    }

    /// The number of chances or steps in a period.
    pub fn samples(&self) -> usize {
        match &self.shape {
            Shape::Chances(chances) => chances.len(),
            Shape::Steps(steps) => steps.len(),
        }
    }

    /// The rate at `time` since the trace began; of chances, the mean of the second from then on.
    pub fn rate_at(&self, time: Duration) -> Rate {
        match &self.shape {
            Shape::Chances(chances) => chances.rate_at(time.as_nanos()),
            Shape::Steps(steps) => steps.rate_at(time.as_nanos()),
        }
    }

    /// When `bytes` that may be sent from `start` on have been sent, in time since the trace began.
    pub(crate) fn finish(&self, spent: &mut Spent, start: Instant, bytes: u32) -> Instant {
        let nanos = match &self.shape {
            Shape::Chances(chances) => chances.finish(spent, start.as_nanos(), bytes),
            Shape::Steps(steps) => steps.finish(spent, start.as_nanos(), bytes),
        };
        Instant::from_nanos(nanos)
    }

    /// Use up what has passed by `now`, and no more: of chances, those of the millisecond too.
    pub(crate) fn lapse(&self, spent: &mut Spent, now: Instant) {
        spent.position = match &self.shape {
            Shape::Chances(chances) => chances.passed(now.as_nanos()),
            Shape::Steps(steps) => steps.passed(now.as_nanos()),
        };
    }
}

#[cfg(test)]
mod tests;
