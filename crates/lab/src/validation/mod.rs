//! Validation: the simulator against recorded runs of a real kernel over the same links.
//!
//! `set` reads the list of scenarios, `grid` draws one, `series` reads the file of recorded runs,
//! `judge` compares the two, `distribution` compares all of their runs, `document` writes the
//! result as JSON, `record` makes a series in the order of `plan`, with the description of the
//! `machine`. The command line prints tables.

mod distribution;
mod document;
mod grid;
mod judge;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod machine;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod plan;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod record;
mod series;
mod set;

#[cfg(test)]
mod tests;

pub use distribution::{
    Decision, LEAST_SHARES, MOST_MEDIAN, MOST_ONE_SIDED, MOST_P90, MOST_WORST, Overall, Side,
    Spread,
};
pub use document::document;
pub use judge::{Apart, NO_RUNS, Row, Validation, validate};
#[cfg(all(feature = "linux", target_os = "linux"))]
pub use record::{Recording, RecordingEvent, RecordingWatcher};
pub use series::{Machine, Recorded, RecordedRun, RecordedVariant, Series, SeriesError};
pub use set::{Entry, Judged, ValidationSet};
