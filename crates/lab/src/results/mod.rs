//! Result files: the JSON document, the table of runs, the scenario, the provenance.
//!
//! A file is written under a temporary name and renamed when complete. `records` makes a study
//! resumable: `journal` during the study, `table` and `csv` at its end, with the same `columns`;
//! `ccdf_table` has the distributions of packets over all repetitions.
//! `inputs` keeps copies of recordings and pages. `series_table` has the time series of one
//! repetition of each variant, `stored` reads a folder.

mod accounts;
mod aggregation;
mod ccdf_table;
mod columnar;
mod columns;
mod combined;
mod csv;
mod delays_json;
mod delays_table;
mod folder;
mod histograms;
mod inputs;
mod journal;
mod json;
mod matrix;
mod ownership;
mod records;
mod repetition_json;
mod series_table;
mod stored;
mod stored_inputs;
mod table;

pub(crate) use columnar::table_file;
pub(crate) use columns::{Cell, Kind};
pub use combined::combine;
pub use folder::{FILES, Provenance, ResultFolder, Written};
pub use inputs::use_copies;
pub use json::document;
pub(crate) use json::ends as json_ends;
pub use matrix::{Grade, MATRIX_FILES, MatrixCell, MatrixResult};
pub use ownership::{GENERATOR, MANUAL, is_replaceable};
pub use records::Records;
pub use repetition_json::repetition_document;
pub use stored::StoredStudy;

/// Name of the document of a reproduction in its folder; pages, data of figures and the values of
/// its studies are beside it.
pub const REPRODUCTION: &str = "reproduction.json";

/// Hash over all sources that affect results, and the compiler.
pub const BUILD: &str = env!("ANABRANCH_BUILD");

#[cfg(test)]
mod stored_tests;
#[cfg(test)]
mod tests;
