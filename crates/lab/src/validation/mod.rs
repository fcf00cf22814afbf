//! Validation: the simulator against recorded runs of a real kernel over the same links.
//!
//! `set` reads the list of scenarios, `grid` draws one, `series` reads the file of recorded runs,
//! `judge` compares the two, `document` writes the result as JSON, `record` makes a series. The
//! command line prints tables.

mod document;
mod grid;
mod judge;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod record;
mod series;
mod set;

#[cfg(test)]
mod tests;

pub use document::document;
pub use judge::{Apart, Row, Validation, validate};
#[cfg(all(feature = "linux", target_os = "linux"))]
pub use record::record;
pub use series::{Machine, Recorded, RecordedRun, RecordedVariant, Series, SeriesError};
pub use set::{Entry, Judged, ValidationSet};
