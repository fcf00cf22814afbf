//! Scenarios, variants, repetitions, statistics, verdicts and result files.

mod error;
mod path_spec;
mod scenario;
pub mod statistics;
mod traffic_spec;
mod units;
mod variants;
mod words;

pub use error::{Given, InputError, Refusal};
pub use path_spec::{LinkSpec, PathSpec, Profile};
pub use scenario::{Baseline, Options, PathOption, Scenario};
pub use variants::{Variant, variants_of};
