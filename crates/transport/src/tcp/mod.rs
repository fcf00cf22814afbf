//! TCP (RFC 9293): one connection as a subflow and its parts, and the plain TCP socket around it.
//!
//! `subflow` has the struct; `handshake`, `incoming`, `acknowledge`, `loss`, `timeout`,
//! `transmit` and `segment` what happens to it; `sender`, `receiver`, `ack_policy`, `timers` and
//! `state` its parts; `profile` how kernels of several ages differ; `connection` the socket.

mod ack_policy;
mod acknowledge;
mod config;
pub(crate) mod connection;
mod handshake;
mod incoming;
mod loss;
pub(crate) mod multipath;
mod owned;
pub(crate) mod profile;
pub(crate) mod receiver;
mod segment;
mod sender;
pub(crate) mod sent_mappings;
mod state;
pub(crate) mod stray;
pub(crate) mod subflow;
mod timeout;
pub(crate) mod timers;
mod transmit;

pub use config::{Buffers, TcpConfig};
pub use profile::{CwndAfterRto, LossDetection, Profile};
