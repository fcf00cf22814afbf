//! The kernel's aggregate rule on the wire, in a program of its own: it measures time, and other
//! tests beside it would cost some.
//!
//! Needs root and TUN devices; without them every test says `skipped: ...`.

#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

mod rule;
