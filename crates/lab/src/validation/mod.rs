//! Validation: the simulator against recorded runs of a real kernel over the same links.
//!
//! `set` reads the list of scenarios, `series` the file of recorded runs, `judge` holds the two
//! against each other, `document` writes the result down for programs. Recording is `emulation`'s,
//! tables are left to the command.

mod document;
mod judge;
mod series;
mod set;

#[cfg(test)]
mod tests;

pub use document::document;
pub use judge::{Apart, Row, Validation, validate};
pub use series::{Machine, Recorded, RecordedRun, RecordedVariant, Series, SeriesError};
pub use set::{Entry, Judged, ValidationSet};
