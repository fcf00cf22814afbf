//! Multi-path TCP, version 1 (RFC 8684): one connection over several TCP subflows.
//!
//! `connection` has the struct and the application's side; `handshake` opens it and its joins,
//! `slot` is a subflow with what the connection keeps about it, `outgoing` hands data to subflows
//! as a scheduler decides, `explained` records why, `standing` why nothing is sent, `binding` knows
//! which are meant for whom, `eligible` carries the path policy out, `incoming` takes data and
//! options from them, `send` and `receive` are the two halves of the data sequence space, `reading`
//! is the application's side of the latter, `close` ends it, `failover` says which paths failed,
//! `fallback` leaves MPTCP, `timers` its own timers, `addresses` what path managers work with,
//! `manage` carries out what they say, `withdrawn` what the peer's loss of an address does,
//! `grouped` opens all paths at once. Subflows are `tcp`'s, schedulers `scheduler`'s, path policies
//! `path_policy`'s, path managers `path_manager`'s.

mod addresses;
mod binding;
mod close;
mod config;
pub(crate) mod connection;
mod eligible;
mod explained;
mod failover;
mod fallback;
pub(crate) mod grouped;
mod handshake;
mod incoming;
mod keys;
pub(crate) mod manage;
mod outgoing;
mod plain;
mod reading;
mod receive;
mod send;
mod slot;
mod standing;
mod timers;
mod withdrawn;

pub(crate) use handshake::acceptable_capable;
pub(crate) use outgoing::split_flow;
pub(crate) use send::FRAGMENT_BYTES;

pub use config::MptcpConfig;
pub use failover::{FAILOVER_NAMES, Failover};
