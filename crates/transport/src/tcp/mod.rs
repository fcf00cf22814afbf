//! TCP (RFC 9293): one connection as a subflow and its parts, and the plain TCP socket around it.
//!
//! `subflow` coordinates the parts: `handshake`, `sender`, `loss` (recovery), `receiver` with
//! `ack_policy`, `round_trip`, `timers`, `state` and, in a connection of several paths,
//! `multipath`. `profile` has the differences between kernels of several ages; `connection` is the
//! socket.

mod ack_info;
mod ack_policy;
mod config;
pub(crate) mod connection;
mod handshake;
mod loss;
pub(crate) mod multipath;
pub(crate) mod profile;
pub(crate) mod receiver;
mod round_trip;
mod sender;
pub(crate) mod sent_mappings;
mod state;
pub(crate) mod stray;
pub(crate) mod subflow;
pub(crate) mod timers;

pub use config::{Buffers, TcpConfig};
pub use profile::{CwndAfterRto, LossDetection, Profile};
