//! What every live test needs: namespaces joined by wires, kernels and engines in them, and one
//! connection between the two.

// Each test program uses a part of it.
#![allow(dead_code, reason = "shared by several programs")]

pub(crate) mod connection;
pub(crate) mod exchange;
pub(crate) mod forwarder;
pub(crate) mod kernel;
pub(crate) mod prompt;
pub(crate) mod strip;
pub(crate) mod timekeeping;
pub(crate) mod world;
