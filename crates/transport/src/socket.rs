//! What every kind of socket has: errors, events, and the stack's record of it.
//!
//! The protocols and the stack share these types, so they are below both. What an application sees
//! of them is in `stack::io`.

use base::{Instant, SocketId};

/// Why a socket call or a connection failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SocketError {
    #[error("no such socket")]
    NoSuchSocket,
    #[error("the socket is not connected")]
    NotConnected,
    #[error("the sending side is closed")]
    Closed,
    #[error("the address is in use")]
    AddressInUse,
    #[error("no interface has that address")]
    NoSuchAddress,
    #[error("no port is free")]
    NoFreePort,
    #[error("connection refused")]
    Refused,
    #[error("connection reset by peer")]
    Reset,
    #[error("connection timed out")]
    TimedOut,
    #[error("destination unreachable")]
    Unreachable,
}

/// An event of a connection, queued for the owner of its socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionEvent {
    /// The active open succeeded.
    Connected,
    /// The passive open succeeded.
    Accepted,
    /// New data can be read.
    Readable,
    /// A write that was refused or cut short may be tried again.
    Writable,
    /// The peer closed its direction.
    PeerClosed,
    /// Both directions are closed.
    Closed,
    /// The connection failed.
    Failed(SocketError),
}

/// The stack's record of a socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketMarks {
    /// The listener that accepted it, until the application is notified.
    pub listener: Option<SocketId>,
    /// The application released the socket.
    pub released: bool,
    /// The socket is in the stack's list of sockets that may have something to send.
    pub ready: bool,
    /// The earliest entry in the stack's timer heap.
    pub armed_at: Instant,
}

impl SocketMarks {
    /// The record of a new socket.
    pub(crate) const fn new(listener: Option<SocketId>) -> Self {
        SocketMarks { listener, released: false, ready: false, armed_at: Instant::FAR_FUTURE }
    }
}
