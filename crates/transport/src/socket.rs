//! What every kind of socket has: errors, events, and the stack's record of it.
//!
//! The protocols and the stack share these types, so they are below both. What an application sees
//! of them is in `stack::io`.

use base::{Instant, SocketId};

/// Why a socket call or a connection failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SocketError {
    /// The host has no socket with this number, or the connection no path with this address.
    #[error("no such socket")]
    NoSuchSocket,
    /// The handshake is not complete.
    #[error("the socket is not connected")]
    NotConnected,
    /// The sending side is closed, or everything was read up to the end of the stream.
    #[error("the sending side is closed")]
    Closed,
    /// Another listener or UDP socket has the port.
    #[error("the address is in use")]
    AddressInUse,
    /// No interface of this host has the local address.
    #[error("no interface has that address")]
    NoSuchAddress,
    /// Every ephemeral port of the local address is in use.
    #[error("no port is free")]
    NoFreePort,
    /// The peer answered the SYN with a reset.
    #[error("connection refused")]
    Refused,
    /// The peer reset the connection, or every path of it.
    #[error("connection reset by peer")]
    Reset,
    /// The peer did not answer in time (RFC 9293 s3.8.3).
    #[error("connection timed out")]
    TimedOut,
    /// The association has no such stream, or the message is empty.
    #[error("no such stream, or an empty message")]
    InvalidStream,
    /// The datagram is longer than any that can be sent there.
    #[error("the datagram is too long")]
    MessageTooLong,
    /// An ICMP message during the handshake reported that the peer cannot be reached.
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
    /// The peer has restarted; what was not delivered is lost (RFC 9260 s5.2.4).
    Restarted,
    /// A message was given up (RFC 9260 s11.2.2).
    SendFailed(SendFailure),
    /// The connection failed.
    Failed(SocketError),
}

/// A message that may not be delivered: its lifetime is over, its retransmissions are used up, more
/// important ones needed the room (RFC 3758, RFC 7496), or the association failed before the peer
/// acknowledged it (RFC 9260 s11.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendFailure {
    /// Its stream.
    pub stream: u16,
    /// Its payload protocol identifier.
    pub ppid: u32,
    /// Some of it was sent.
    pub sent: bool,
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
