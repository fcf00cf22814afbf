//! The link emulator on this machine, looked at from outside: with `ping`, floods, odd datagrams,
//! kernel connections, and a kill in mid-run.
//!
//! Needs namespaces and TUN devices; without them every test says `skipped: ...`. What depends on
//! time is tried up to three times, because the machine may be busy; what does not, never.

#![cfg(target_os = "linux")]

mod accuracy;
mod carriage;
mod cleanup;
mod connections;
mod events;
mod independent;
mod systems;
mod world;
