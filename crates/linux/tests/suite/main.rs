//! The live world on this machine: the engine and kernels in namespaces that each test makes.
//!
//! Needs root and TUN devices; without them every test prints `skipped: ...`. No packet leaves the
//! namespaces of a test.

#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

mod bound;
mod cleanup;
mod damage;
mod interop;
mod mptcp_pm;
mod nftables;
mod notices;
mod offload;
mod sctp_udp;
mod sut;
mod transfer;
mod wireshark;

use support::{connection, exchange, forwarder, kernel, strip, timekeeping, world};
