//! What every live test needs: namespaces joined by wires, kernels and engines in them, and one
//! connection between the two.

// Each test program uses a part of it.
#![allow(dead_code, reason = "shared by several programs")]

pub mod connection;
pub mod exchange;
pub mod forwarder;
pub mod kernel;
pub mod prompt;
pub mod strip;
pub mod timekeeping;
pub mod world;
