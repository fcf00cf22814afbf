//! The live world on this machine: the engine and kernels in namespaces that each test makes.
//!
//! Needs root and TUN devices; without them every test says `skipped: ...`. No packet leaves the
//! namespaces of a test.

#![cfg(target_os = "linux")]

mod aggregate;
mod cleanup;
mod exchange;
mod forwarder;
mod interop;
mod kernel;
mod strip;
mod transfer;
mod world;
