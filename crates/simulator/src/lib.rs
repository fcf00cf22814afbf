//! Virtual time: hosts that are an engine's stack with applications, and links between them.
//!
//! Deterministic: events happen in the order of (time, insertion number), chance is a keyed hash,
//! nothing here reads a clock. `simulate` turns a [`RunSetup`] into a [`RunRecord`].

pub mod host;
pub mod run;

pub use host::ProcessingCost;
pub use run::{
    Direction, LinkCounters, NicSetup, PathChange, PathCounters, PathEvent, PathSetup, RunError,
    RunRecord, RunSetup, Until,
};

/// Carry out one run.
pub fn simulate(_setup: &RunSetup) -> Result<RunRecord, RunError> {
    todo!()
}
