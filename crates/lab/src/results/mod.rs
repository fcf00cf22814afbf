//! Result files: the JSON document, the table of runs, what was asked for, where it came from.
//!
//! A file is written under a temporary name and renamed when complete (rule 9 of the house).

mod folder;
mod json;
mod table;

pub use folder::{Provenance, ResultFolder};
pub use json::document;
