//! What runs have in common in virtual and in real time: the record that they give back.
//!
//! Building hosts and links and letting time pass is left to `simulator` and `linux`; statistics
//! and files are left to the lab.

mod account;
mod failover;
mod record;

pub use account::{Account, Held};
pub use failover::{FailoverTime, FailureKind};
pub use record::{Captures, FlowRecord, Repeated, RunRecord, SentRecord, SimulatedRecord};
