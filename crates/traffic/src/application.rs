//! The face between an application and the host that runs it.
//!
//! The host calls `Application` when something happened and the application answers by calling
//! the `StreamHost` it is given. What a socket is (engine, kernel) stays the host's secret.

use base::{Instant, SocketId};
use wire::Payload;

/// An application on one host. After every call the host asks `poll_deadline` again.
pub trait Application {
    /// The host is up.
    fn on_start(&mut self, _host: &mut dyn StreamHost) {}
    /// `StreamHost::connect` succeeded.
    fn on_connected(&mut self, _host: &mut dyn StreamHost, _socket: SocketId) {}
    /// A peer connected to this host.
    fn on_accepted(&mut self, _host: &mut dyn StreamHost, _socket: SocketId) {}
    /// There is something new to read.
    fn on_readable(&mut self, _host: &mut dyn StreamHost, _socket: SocketId) {}
    /// A write that was cut short may be tried again.
    fn on_writable(&mut self, _host: &mut dyn StreamHost, _socket: SocketId) {}
    /// The peer sends no more.
    fn on_peer_closed(&mut self, _host: &mut dyn StreamHost, _socket: SocketId) {}
    /// The connection is over in both directions.
    fn on_closed(&mut self, _socket: SocketId) {}
    /// The connection failed.
    fn on_failed(&mut self, _socket: SocketId, _failure: StreamFailure) {}
    /// The time that `poll_deadline` named has come. Harmless if early.
    fn on_timeout(&mut self, _host: &mut dyn StreamHost) {}
    /// When to call `on_timeout`.
    fn poll_deadline(&self) -> Option<Instant> {
        None
    }
    /// Ask for the memory that a packet's arrival needs.
    fn prefetch(&self) {}
    /// Whether this half has nothing left to do for the measurement.
    fn is_done(&self) -> bool;
}

/// What a host offers an application: byte streams to one peer.
pub trait StreamHost {
    /// The present.
    fn now(&self) -> Instant;
    /// Open a connection to the peer this application was configured for.
    fn connect(&mut self) -> Result<SocketId, StreamFailure>;
    /// Append to the stream; returns how many bytes were taken (a prefix). After less than all,
    /// `on_writable` follows. A failed connection takes nothing and reports itself.
    fn write(&mut self, socket: SocketId, payload: &Payload) -> u32;
    /// Take at most `max` in-order bytes; empty if there is nothing to read now.
    fn read(&mut self, socket: SocketId, max: u32) -> Payload;
    /// No more data will be written.
    fn shutdown(&mut self, socket: SocketId);
    /// The application has no more use for the socket.
    fn close(&mut self, socket: SocketId);
    /// The application gives the connection up: the peer is to learn that data is missing, where
    /// the host can tell it.
    fn abort(&mut self, socket: SocketId) {
        self.shutdown(socket);
        self.close(socket);
    }
}

/// Why a connection failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StreamFailure {
    #[error("connection refused")]
    Refused,
    #[error("connection reset by peer")]
    Reset,
    #[error("connection timed out")]
    TimedOut,
    #[error("destination unreachable")]
    Unreachable,
    /// The host could not even try (no address, no port).
    #[error("the host could not open the connection")]
    Local,
}
