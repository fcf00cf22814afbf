//! Recorded capacity of a link, repeated.
//!
//! There are two forms. *Chances* are those of mahimahi: each allows 1500 bytes in one millisecond;
//! small packets share a chance, a large one continues in the next, and the unused part is lost at
//! the end of the millisecond. *Steps* are rates that hold for a time; the service of a packet
//! continues across them. Both wrap at their end.
//!
//! Service is arithmetic on the capacity since the start of the trace: a packet leaves when this
//! sum reaches its end, which takes one search at most, so that idle times and outages cost
//! nothing. Files are recognised and read by `detect` and the other files of the module; the offset
//! at which a repetition begins is drawn by the caller.

mod bitrate_table;
mod chances;
mod columns;
mod detect;
mod error;
mod headings;
mod json;
mod mahimahi;
mod run_list;
mod steps;

pub use detect::{Direction, Form, Unit, read};
pub use error::{TraceError, TraceFault};

use base::{Duration, Instant, Rate};
use chances::{Chances, NANOS_PER_MILLI};
use steps::Steps;

/// The highest plausible rate: a terabit per second.
const MAX_BPS: f64 = 1e12;
/// The longest plausible time, in seconds: 31 years.
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

/// The part of a trace that a link has used up. Begins as `default`.
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

    /// The time after which the trace repeats.
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

    /// The longest time without a sample, if it is far longer than usual; the rate before it
    /// holds. A time without chances is not a gap but an outage.
    pub fn longest_gap(&self) -> Option<Duration> {
        match &self.shape {
            Shape::Chances(_) => None,
            Shape::Steps(steps) => steps.longest_gap_ns().map(Duration::from_nanos),
        }
    }

    /// The longest time without capacity, that from the end to the beginning included.
    pub fn longest_silence(&self) -> Duration {
        match &self.shape {
            Shape::Chances(_) => self.longest_time_for(1),
            Shape::Steps(steps) => Duration::from_nanos(steps.longest_silence_ns()),
        }
    }

    /// The longest time that `bytes` take to pass, from any time on.
    pub fn longest_time_for(&self, bytes: u64) -> Duration {
        match &self.shape {
            Shape::Chances(chances) => {
                let millis = chances.longest_ms_for(bytes);
                Duration::from_nanos(millis.saturating_mul(NANOS_PER_MILLI))
            }
            Shape::Steps(steps) => Duration::from_nanos(steps.longest_ns_for(bytes)),
        }
    }

    /// The number of chances or steps in a period.
    pub fn samples(&self) -> usize {
        match &self.shape {
            Shape::Chances(chances) => chances.len(),
            Shape::Steps(steps) => steps.len(),
        }
    }

    /// The rate at `time` since the trace began; of chances, the mean of the following second.
    pub fn rate_at(&self, time: Duration) -> Rate {
        match &self.shape {
            Shape::Chances(chances) => chances.rate_at(time.as_nanos()),
            Shape::Steps(steps) => steps.rate_at(time.as_nanos()),
        }
    }

    /// When `bytes` whose service begins at `start` have been sent, since the start of the trace.
    pub(crate) fn finish(&self, spent: &mut Spent, start: Instant, bytes: u32) -> Instant {
        let nanos = match &self.shape {
            Shape::Chances(chances) => chances.finish(spent, start.as_nanos(), bytes),
            Shape::Steps(steps) => steps.finish(spent, start.as_nanos(), bytes),
        };
        Instant::from_nanos(nanos)
    }

    /// Use up the capacity until `now`; of chances, those of the current millisecond included.
    pub(crate) fn lapse(&self, spent: &mut Spent, now: Instant) {
        spent.position = match &self.shape {
            Shape::Chances(chances) => chances.passed(now.as_nanos()),
            Shape::Steps(steps) => steps.passed(now.as_nanos()),
        };
    }
}

#[cfg(test)]
mod tests;
