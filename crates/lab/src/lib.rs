//! The lab: scenarios, variants, repetitions, statistics, verdicts and result files.
//!
//! Data flow: [`Options`] are the user's input, [`Scenario`] is the resolved input, [`Study`] has
//! the runs, [`Report`] the statistics, and `results` writes and reads files. The lab has no
//! knowledge of protocols; arguments, tables and pages belong to the command line.

mod advice;
pub mod analyze;
pub mod answer;
pub mod blocking;
mod built_in;
pub mod comparison;
mod conversation;
pub mod coverage;
pub mod decisions;
pub mod delays;
#[cfg(all(feature = "linux", target_os = "linux"))]
pub mod emulation;
mod error;
mod execution;
pub mod failover;
pub mod fairness;
mod goal;
mod kept;
mod packet_metrics;
pub mod path_spec;

mod quantity;
mod reference;
pub mod repetition;
mod report;
pub mod reproduction;
pub mod results;
pub mod run;
pub mod scenario;
pub mod series;
mod setup;
pub mod stack;
pub mod statistics;
mod stopping;
mod study;
mod summary;
mod traffic_source;
mod traffic_spec;
mod units;
mod unseen;
pub mod validation;
mod verdict;
pub mod web_page;
mod words;

pub use conversation::NAMED_GAMES;
pub use error::{Given, InputError, Refusal};
pub use execution::run_study;
pub use harness::Captures;
pub use quantity::{Scale, percent};
pub use report::Report;
pub use scenario::{Options, Scenario};
pub use series::VariantSeries;
pub use study::{Study, StudyError, VariantRuns, Watcher};
pub use summary::Summary;
pub use traffic_spec::describe_traffic;
pub use verdict::scale;
