//! Applications over the kernel's sockets, in real time: its TCP and its MPTCP as systems under
//! test.
//!
//! A [`KernelHost`] is for kernel sockets what `host` is for the engine: it calls a
//! [`traffic::Application`] when something happened and carries out what that asks for, so that
//! the same halves of the same models measure a kernel and the engine. Connections stay open until
//! the host is dropped, even if the application closed them, so that their counters can be read.
//! Leaves namespaces, routes and MPTCP endpoints to the caller, and what a run is made
//! of to `sut`.

mod connection;
mod host;
mod info;
mod options;
mod poller;

pub(crate) use host::{KernelHost, Stop};
pub(crate) use info::TcpReading;
pub(crate) use options::SocketOptions;
