//! What can be wrong with a recording: the mistake, its line and how to correct it.
//!
//! The caller adds the name of the file.

use std::fmt;

/// A recording that cannot be used.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceError {
    /// Counted from 1; `None` for the whole file.
    pub line: Option<usize>,
    /// The mistake.
    pub fault: TraceFault,
}

/// What is wrong with a recording.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum TraceFault {
    /// No line with content.
    #[error("the recording is empty")]
    Empty,
    /// A period without capacity.
    #[error("the recording has no capacity: every rate is zero")]
    NoCapacity,
    /// A period of length zero.
    #[error("the recording has a duration of zero")]
    NoTime,
    /// A period, or the time between two rows, that exceeds 64 bits of nanoseconds.
    #[error("the recording is longer than 500 years")]
    TooLong,
    /// A time before that of the line above.
    #[error("times decrease")]
    Backwards,
    /// Text that does not have the form of its place.
    #[error("`{found}` is not {wanted}")]
    Malformed {
        /// The text, cut to 40 characters.
        found: String,
        /// Description of the expected form.
        wanted: &'static str,
    },
    /// A number outside of its limits.
    #[error("`{found}` is out of range: {wanted}")]
    OutOfRange {
        /// The text, cut to 40 characters.
        found: String,
        /// Description of the permitted range.
        wanted: &'static str,
    },
    /// Two columns whose unit is named neither by a header nor by the caller, nor evident from the
    /// values.
    #[error("two columns, but their unit is not clear: {why}")]
    Ambiguous {
        /// The reason.
        why: &'static str,
    },
    /// A known kind of file that does not describe capacity.
    #[error("this is {what}, not a recording of capacity")]
    NotCapacity {
        /// The kind of file.
        what: &'static str,
        /// How to get a recording of capacity instead.
        mend: &'static str,
    },
    /// A unit that the caller named and that contradicts the format.
    #[error("`unit={unit}` does not fit: {why}")]
    Unit {
        /// The word after `unit=`.
        unit: &'static str,
        /// The reason.
        why: &'static str,
    },
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
