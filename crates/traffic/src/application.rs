//! The interface between an application and the host that runs it.
//!
//! The host calls `Application` on events, and the application calls the `StreamHost` that it is
//! given. Applications do not know whether a socket is the engine's or the kernel's.

use base::{Duration, Instant, SocketId};
use wire::Payload;

/// An application on one host. After every call the host calls `poll_deadline` again.
pub trait Application {
    /// The host is up.
    fn on_start(&mut self, _host: &mut dyn StreamHost) {}
    /// `StreamHost::connect` succeeded.
    fn on_connected(&mut self, _host: &mut dyn StreamHost, _socket: SocketId) {}
    /// A peer connected to this host.
    fn on_accepted(&mut self, _host: &mut dyn StreamHost, _socket: SocketId) {}
    /// New data can be read.
    fn on_readable(&mut self, _host: &mut dyn StreamHost, _socket: SocketId) {}
    /// A write that was cut short may be tried again.
    fn on_writable(&mut self, _host: &mut dyn StreamHost, _socket: SocketId) {}
    /// The peer closed its direction.
    fn on_peer_closed(&mut self, _host: &mut dyn StreamHost, _socket: SocketId) {}
    /// The connection is closed in both directions.
    fn on_closed(&mut self, _socket: SocketId) {}
    /// The connection failed.
    fn on_failed(&mut self, _socket: SocketId, _failure: StreamFailure) {}
    /// The deadline of `poll_deadline` is due. Harmless if early.
    fn on_timeout(&mut self, _host: &mut dyn StreamHost) {}
    /// When to call `on_timeout`.
    fn poll_deadline(&self) -> Option<Instant> {
        None
    }
    /// Prefetch the memory that the arrival of a packet needs.
    fn prefetch(&self) {}
    /// Whether this half has nothing left to do for the measurement.
    fn is_done(&self) -> bool;
}

/// The earliest of these times.
// `flatten` and `min` over an array became thousands of instructions, a tenth of a world with
// background over UDP.
pub(crate) fn earliest<const N: usize>(times: [Option<Instant>; N]) -> Option<Instant> {
    let never = Instant::FAR_FUTURE;
    let first = times.iter().fold(never, |first, at| first.min(at.unwrap_or(never)));
    (first != never).then_some(first)
}

/// How a message is sent (RFC 9260 s11.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MessageInfo {
    /// Stream identifier.
    pub stream: u16,
    /// Deliver it as soon as it is complete, whatever is missing before it.
    pub unordered: bool,
    /// Time after which it is given up (RFC 3758 s4); `None`: never.
    pub lifetime: Option<Duration>,
}

/// What a host offers an application: byte streams to one peer, or messages on several streams.
pub trait StreamHost {
    /// The current time.
    fn now(&self) -> Instant;
    /// Open a connection to the peer this application was configured for.
    fn connect(&mut self) -> Result<SocketId, StreamFailure>;
    /// Append to the stream. Returns the number of bytes accepted, a prefix; after less than all,
    /// `on_writable` follows. A failed connection accepts nothing and is reported by `on_failed`.
    fn write(&mut self, socket: SocketId, payload: &Payload) -> u32;
    /// Read at most `max` in-order bytes; empty if nothing is available.
    fn read(&mut self, socket: SocketId, max: u32) -> Payload;
    /// Bytes of the stream that the peer has acknowledged, its end counted as one (not after a
    /// fallback of MPTCP to TCP, which has no DATA_FIN); `None` where the host does not know.
    fn acknowledged(&self, _socket: SocketId) -> Option<u64> {
        None
    }
    /// Whether a read of less than it may take has left nothing to read now: half of the reads
    /// are then saved.
    fn drains(&self) -> bool {
        false
    }
    /// Largest message of a connection that has messages, in bytes; `None`: it has a byte stream
    /// only.
    fn largest_message(&self) -> Option<u32> {
        None
    }
    /// Send a whole message. Returns whether it was accepted; if not, `on_writable` follows. On a
    /// byte stream a part of it may be written then.
    fn send_message(&mut self, socket: SocketId, payload: &Payload, _info: MessageInfo) -> bool {
        self.write(socket, payload) == payload.len()
    }
    /// The next whole message with its stream, or of a byte stream the next bytes.
    fn receive_message(&mut self, socket: SocketId) -> Option<(u16, Payload)> {
        let payload = self.read(socket, u32::MAX);
        (!payload.is_empty()).then_some((0, payload))
    }
    /// No more data will be written.
    fn shutdown(&mut self, socket: SocketId);
    /// The application releases the socket.
    fn close(&mut self, socket: SocketId);
    /// The application aborts the connection. Where the host can, it notifies the peer that data
    /// is missing.
    fn abort(&mut self, socket: SocketId) {
        self.shutdown(socket);
        self.close(socket);
    }
}

/// Why a connection failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StreamFailure {
    /// The peer answered the SYN with a reset.
    #[error("connection refused")]
    Refused,
    /// The peer aborted the connection.
    #[error("connection reset by peer")]
    Reset,
    /// The peer did not answer in time.
    #[error("connection timed out")]
    TimedOut,
    /// The peer cannot be reached according to ICMP, or there is no route to it.
    #[error("destination unreachable")]
    Unreachable,
    /// The host could not even try (no address, no port).
    #[error("the host could not open the connection")]
    Local,
}
