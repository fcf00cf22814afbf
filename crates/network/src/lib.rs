//! What a link does to packets: rate, queue, loss, delay, recorded capacity, outages; and how hosts
//! and routers connect links.
//!
//! Sans-IO and on any clock: a world calls [`Link::enqueue`], [`Link::poll`] until `None`, and
//! asks [`Link::next_deadline`] when to poll again. The simulator and a real-time emulator drive
//! the same code. Only a [`middlebox`] depends on a protocol: a link reads the length of a packet,
//! its ECN bits and, for fair queueing, its addresses and ports. All random draws are keyed draws
//! from
//! the context. Reading files and command lines is left to the lab.

mod damage;
mod flight;
mod jitter;
mod link;
mod link_config;
mod link_stats;
pub mod loss;
pub mod middlebox;
mod path;
pub mod queue;
mod server;
mod topology;
pub mod trace;

pub use jitter::{Distribution, Jitter, standard_normal};
pub use link::Link;
pub use link_config::{Capacity, Limit, LinkChange, LinkConfig};
pub use link_stats::LinkStats;
pub use loss::LossConfig;
pub use middlebox::{MiddleBox, MiddleBoxConfig};
pub use path::{Direction, NicSetup, PathCounters, PathEvent, PathSetup, ScheduledChange};
pub use queue::{Backlog, QueueConfig};
pub use topology::{End, Hop, LinkEnds, Network, Route, RouterId, Topology, TopologyError};
pub use trace::{CapacityTrace, TraceError, TraceFault};
