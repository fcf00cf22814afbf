//! What can be wrong with a recording: the mistake, its line and how to correct it.
//!
//! The caller adds the name of the file.

use std::fmt;

/// A recording that cannot be used.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceError {
    /// Counted from 1; `None` for the whole file.
    pub line: Option<usize>,
    pub fault: TraceFault,
}

/// The mistake.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum TraceFault {
    #[error("the recording is empty")]
    Empty,
    #[error("the recording has no capacity: every rate is zero")]
    NoCapacity,
    #[error("the recording has a duration of zero")]
    NoTime,
    #[error("the recording is longer than 500 years")]
    TooLong,
    #[error("times decrease")]
    Backwards,
    #[error("`{found}` is not {wanted}")]
    Malformed { found: String, wanted: &'static str },
    #[error("`{found}` is out of range: {wanted}")]
    OutOfRange { found: String, wanted: &'static str },
    #[error("two columns, but their unit is not clear: {why}")]
    Ambiguous { why: &'static str },
    #[error("this is {what}, not a recording of capacity")]
    NotCapacity { what: &'static str, mend: &'static str },
    #[error("`unit={unit}` does not fit: {why}")]
    Unit { unit: &'static str, why: &'static str },
}

impl TraceFault {
    /// A mistake in a line, counted from 1.
    pub(super) const fn at(self, line: usize) -> TraceError {
        TraceError { line: Some(line), fault: self }
    }

    /// A mistake of the whole file.
    pub(super) const fn whole(self) -> TraceError {
        TraceError { line: None, fault: self }
    }

    pub(super) fn malformed(found: &str, wanted: &'static str) -> Self {
        TraceFault::Malformed { found: shown(found), wanted }
    }

    pub(super) fn out_of_range(found: &str, wanted: &'static str) -> Self {
        TraceFault::OutOfRange { found: shown(found), wanted }
    }

    /// How to correct it.
    pub const fn mend(&self) -> &'static str {
        match self {
            TraceFault::Empty | TraceFault::NoCapacity | TraceFault::NoTime => {
                "give a recording with some capacity and a duration"
            }
            TraceFault::TooLong => "check the times: they are in seconds, or milliseconds",
            TraceFault::Backwards => {
                "times must not decrease; a list of rates needs a column of times before it"
            }
            TraceFault::Malformed { .. } | TraceFault::OutOfRange { .. } => {
                "correct the line, or check that the format is one of: mahimahi milliseconds, \
                 `seconds megabit/s` columns, CSV `second,bytes-per-second`, JSON of `duration_ms` \
                 and `bandwidth_kbps`, a throughput list, a DL_bitrate table"
            }
            TraceFault::Ambiguous { .. } => {
                "add the unit: `unit=mbit`, `unit=kbit`, `unit=bit` or `unit=bytes` (per second)"
            }
            TraceFault::NotCapacity { mend, .. } => mend,
            TraceFault::Unit { .. } => "remove `unit=`, or give the file that it describes",
        }
    }
}

/// A piece of a file for display: short, without control characters.
fn shown(text: &str) -> String {
    let mut shown: String =
        text.trim().chars().map(|c| if c.is_control() { '?' } else { c }).take(40).collect();
    if text.trim().chars().count() > 40 {
        shown.push_str("...");
    }
    shown
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}", self.fault)
    }
}

impl std::error::Error for TraceError {}
