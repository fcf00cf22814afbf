//! The kernel's aggregate rule on the wire, in a program of its own: it measures time, and other
//! tests in parallel would disturb it.
//!
//! Needs root and TUN devices; without them every test prints `skipped: ...`.

#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

mod kernels;
mod rule;
