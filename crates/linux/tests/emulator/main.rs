//! The link emulator on this machine, looked at from outside: with `ping`, floods, odd datagrams,
//! kernel connections, and a kill in mid-run.
//!
//! Needs namespaces and TUN devices; without them every test prints `skipped: ...`. What depends on
//! time is tried up to three times and skipped on a machine that does not keep time; what does not
//! depend on it is tried once.

#![cfg(target_os = "linux")]

#[path = "../support/timekeeping.rs"]
mod timekeeping;

mod accuracy;
mod carriage;
mod cleanup;
mod connections;
mod events;
mod independent;
mod systems;
mod world;
