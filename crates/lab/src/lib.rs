//! Scenarios, variants, repetitions, statistics, verdicts and result files.

mod error;
mod units;
mod words;
