//! Virtual time: hosts that are an engine's stack with applications, and links between them.
//!
//! Deterministic: events happen in the order of (time, insertion number), chance is a keyed hash,
//! nothing here reads a clock. [`simulate`] turns a [`RunSetup`] into a
//! [`RunRecord`](harness::RunRecord); [`World`] is for other topologies.

mod accounts;
mod ahead;
mod capture;
mod departures;
mod event_queue;
mod fabric;
mod failover;
mod guard;
mod host;
mod managers;
mod nic;
mod processor;
mod proxy;
mod result_hash;
mod run_error;
mod setup;
mod simulate;
mod world;

pub use accounts::Accounts;
pub use capture::Capture;
pub use host::{Endpoint, HostCounters};
pub use managers::{KernelSetup, PathEndpoint};
pub use network::{Direction, NicSetup, PathCounters, PathEvent, PathSetup};
pub use processor::ProcessingCost;
pub use result_hash::ResultHash;
pub use run_error::RunError;
pub use setup::{
    BackupMark, Carrier, FlowSetup, MOST_FLOWS, Mark, Multipath, NetworkSetup, PathBox, PathEnds,
    PathMark, Recording, RunSetup, SharedLink, Until,
};
pub use simulate::{simulate, simulate_recorded, socket_config};
pub use world::{Notice, Stopped, World, WorldError};
