//! SCTP of the engine and foreign implementations.
//!
//! `sctp_proto` runs in virtual time, `usrsctp` in a process of its own. `ours` is the engine's end
//! of an association and its user.

#[path = "../support/mod.rs"]
mod support;

mod concurrent;
mod ours;
mod pattern;
mod raw_ip;
mod sctp_proto;
mod sockets;
mod tshark;
mod two_addresses;
mod usrsctp;
mod usrsctp_peer;
