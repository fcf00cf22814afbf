//! Tests of the crate's interface: emit and parse of packets, captures, and comparison with tshark.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod capture_files;
mod captures;
mod fragments;
mod generate;
mod layout;
mod mptcp;
mod packets;
mod sctp;
mod tshark;
