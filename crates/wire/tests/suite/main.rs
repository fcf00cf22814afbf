//! Tests of the crate's face: packets there and back, captures, and what tshark thinks of ours.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod capture_files;
mod captures;
mod generate;
mod layout;
mod mptcp;
mod packets;
mod tshark;
