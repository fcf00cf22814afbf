//! Scenarios, variants, repetitions, statistics, verdicts and result files.

mod error;
mod path_spec;
pub mod statistics;
mod units;
mod words;

pub use error::{Given, InputError, Refusal};
pub use path_spec::{LinkSpec, PathSpec, Profile};
