//! What runs have in common in virtual and in real time: applications over an engine's sockets, and
//! the record that a run gives back.
//!
//! Building hosts and links and letting time pass is left to `simulator` and `linux`; statistics
//! and files are left to the lab.

mod account;
mod failover;
mod record;
mod sockets;

pub use account::{Account, Held};
pub use failover::{FailoverTime, FailureKind};
pub use record::{Captures, FlowRecord, Repeated, RunRecord, SentRecord, SimulatedRecord};
pub use sockets::{SocketOwner, StackSockets, deliver};
