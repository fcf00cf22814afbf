//! Result files: the JSON document, the table of runs, what was asked for, where it came from.
//!
//! A file is written under a temporary name and renamed when complete.
//! `records` is what makes a study resumable: `journal` while it goes on, `table` and `csv` at its
//! end, over the one list of `columns`. `series_table` has one repetition of each variant over
//! time, `stored` reads a folder back.

mod accounts;
mod columnar;
mod columns;
mod csv;
mod folder;
mod journal;
mod json;
mod records;
mod repetition_json;
mod series_table;
mod stored;
mod stored_inputs;
mod table;

pub use folder::{Provenance, ResultFolder, Written};
pub use json::document;
pub use records::Records;
pub use repetition_json::repetition_document;
pub use stored::StoredStudy;

/// A hash over all sources that a run's result can depend on, and the compiler.
pub const BUILD: &str = env!("ANABRANCH_BUILD");

#[cfg(test)]
mod stored_tests;
#[cfg(test)]
mod tests;
