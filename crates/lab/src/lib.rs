//! The lab: scenarios, variants, repetitions, statistics, verdicts and result files.
//!
//! The way through: [`Options`] is what was asked for, [`Scenario`] what that means, [`Study`]
//! what the simulator yielded, [`Report`] what it says, `results` the files anybody can read.
//! Nothing here knows how a protocol works; arguments, tables and pages are left to the command
//! line.

pub mod analyze;
mod blocking;
mod comparison;
pub mod decisions;
#[cfg(all(feature = "linux", target_os = "linux"))]
pub mod emulation;
mod error;
mod execution;
mod failover;
mod fairness;
mod kept;
mod path_spec;
mod precision;
mod quantity;
mod reference;
mod repetition;
mod report;
pub mod results;
mod run;
mod scenario;
pub mod series;
mod setup;
mod stack;
pub mod statistics;
mod study;
mod summary;
mod traffic_spec;
mod units;
pub mod validation;
mod verdict;
mod web_page;
mod words;

pub use blocking::{Blocking, Lost, Repeats};
pub use comparison::{Class, Difference};
pub use error::{Given, InputError, Refusal};
pub use execution::run_study;
pub use failover::{FailoverEvent, Failovers};
pub use fairness::{Estimate, Fairness, FlowSummary};
pub use harness::Captures;
pub use path_spec::{Change, LinkSpec, PathSpec, Profile, TimedChange};
pub use quantity::{Scale, percent};
pub use repetition::{Repetition, as_study, record_repetition};
pub use report::{Pair, Report};
pub use run::{Drops, Labels, Record, Run};
pub use scenario::{
    Argument, Baseline, Carrier, Counts, DEFAULT_RUNS, DEFAULT_RUNS_MAX, DEFAULT_SEED, FlowSpec,
    Key, OptionRow, Options, PathOption, Protocol, Runs, Scenario, SingleChoices, SingleOptions,
    Takes, Variant, Verbs, scenario_schema, variants_of,
};
pub use series::VariantSeries;
pub use simulator::PathCounters;
pub use stack::{Emulated, StackKind, emulated_of};
pub use study::{Study, StudyError, VariantRuns, Watcher};
pub use summary::{Quantile, Summary};
pub use traffic_spec::{describe_traffic, show_traffic};
pub use verdict::scale;
pub use web_page::{NAMED_PAGES, NamedPage, PageSource};
