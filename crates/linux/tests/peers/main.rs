//! SCTP of the engine and foreign implementations.
//!
//! `sctp_proto` runs in virtual time, `usrsctp` in a process of its own. `ours` is the engine's end
//! of an association and its user.

mod ours;
mod pattern;
mod sctp_proto;
mod sockets;
mod tshark;
mod usrsctp;
mod usrsctp_peer;
