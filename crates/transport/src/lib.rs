//! The engine: a host's transport stack, sans-IO.
//!
//! # The contract
//!
//! A world owns one [`Stack`] per host and drives it with four calls and nothing else:
//!
//! 1. [`Stack::handle`] feeds one input: a packet, the expiry of the deadline, a departure from
//!    the NIC, or a change of an interface. Socket calls (`listen`, `connect`, `write`, `read`,
//!    `shutdown`, `release`) count as inputs, too.
//! 2. Then [`Stack::poll_transmit`] until it gives `None`,
//! 3. [`Stack::poll_event`] until it gives `None`,
//! 4. and [`Stack::poll_deadline`] returns when to call `handle` with [`Input::Timeout`].
//!
//! The stack never reads a clock, never opens a socket and never draws from a global random
//! source: `now` and chance arrive in the [`base::Context`]. Same inputs, same outputs.

mod account;
pub mod buffer;
pub mod choice;
pub mod congestion;
mod endpoint;
mod info;
pub mod mptcp;
mod multipath;
pub mod parameters;
pub mod path_manager;
pub mod path_policy;
mod recovery;
pub mod reinjection;
mod routes;
pub mod scheduler;
pub mod sctp;
mod socket;
mod stack;
mod tcp;

pub use endpoint::KNOWN_DEPARTURES;
pub use info::{ConnectionInfo, PathInfo, Protocol, RetiredPath, TcpInfo};
pub use multipath::{FAILOVER_NAMES, Failover};
pub use routes::{PairRoute, Routes};
pub use socket::{SendFailure, SocketError};
pub use stack::{
    Input, InterfaceConfig, InterfaceEvent, ProtocolConfig, Sent, Sink, SocketEvent,
    SocketEventKind, Stack, StackConfig, Transmit,
};
pub use tcp::{Buffers, CwndAfterRto, LossDetection, Profile, TcpConfig};
