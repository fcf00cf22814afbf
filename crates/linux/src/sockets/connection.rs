//! One kernel socket of a connection, and the events that its application has received.

use crate::system::nowhere;
use base::Instant;
use bytes::Bytes;
use nix::libc;
use socket2::Socket;
use std::io::{self, Read};
use std::net::Shutdown;
use traffic::StreamFailure;

/// Points of the series of what was read; a long run keeps every second one, then every fourth.
const MOST_POINTS: usize = 20_000;

/// A connection, from the call that opens it on.
pub(super) struct Connection {
    pub(super) socket: Socket,
    pub(super) phase: Phase,
    /// The peer has closed its direction; `told_end`: and the application was notified.
    pub(super) ended: bool,
    pub(super) told_end: bool,
    /// Nothing more is written.
    pub(super) shut: bool,
    /// A write was cut short.
    pub(super) wants_room: bool,
    /// Found during a call of the application, which is not notified yet.
    pub(super) failure: Option<StreamFailure>,
    /// How far the stream was read, over time.
    pub(super) read: Vec<(Instant, f64)>,
    read_bytes: u64,
}

/// Phase of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Connecting,
    Open,
    /// Closed in both directions or failed, and the application was notified.
    Over,
}

impl Connection {
    pub(super) fn new(socket: Socket, phase: Phase) -> Self {
        Connection {
            socket,
            phase,
            ended: false,
            told_end: false,
            shut: false,
            wants_room: false,
            failure: None,
            read: Vec::new(),
            read_bytes: 0,
        }
    }

    /// The result of connecting, once it is known.
    pub(super) fn poll_connected(&mut self) -> Option<Result<(), StreamFailure>> {
        match self.socket.take_error() {
            Ok(Some(error)) | Err(error) => return Some(Err(failure(&error))),
            Ok(None) => {}
        }
        self.socket.peer_addr().is_ok().then_some(Ok(()))
    }

    /// Write what fits: in one call if all of it does, as an application would.
    pub(super) fn write(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while taken < bytes.len() && self.is_usable() && !self.shut {
            match self.socket.send_with_flags(&bytes[taken..], libc::MSG_NOSIGNAL) {
                Ok(some) => taken += some,
                // Only a write that was refused is followed by a notification of room.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wants_room = true;
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.failure = Some(failure(&error)),
            }
        }
        taken
    }

    /// Read what there is into `buffer` at most.
    pub(super) fn read(&mut self, buffer: &mut [u8], now: impl Fn() -> Instant) -> Bytes {
        while self.is_usable() && !self.ended {
            match (&self.socket).read(buffer) {
                Ok(0) => self.ended = true,
                Ok(len) => {
                    self.read_bytes += len as u64;
                    self.note_read(now());
                    return Bytes::copy_from_slice(&buffer[..len]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.failure = Some(failure(&error)),
            }
        }
        Bytes::new()
    }

    fn note_read(&mut self, now: Instant) {
        if self.read.len() >= MOST_POINTS {
            let mut number = 0;
            self.read.retain(|_| {
                number += 1;
                number % 2 == 0
            });
        }
        self.read.push((now, self.read_bytes as f64));
    }

    pub(super) fn shutdown(&mut self) {
        if !std::mem::replace(&mut self.shut, true) {
            // Closed already: the poller reports that.
            let _ = self.socket.shutdown(Shutdown::Write);
        }
    }

    /// Forget what is unsent or unread, and let the peer know (RST, or MPTCP's fast close), so
    /// that nothing of this connection is on the way any more when another one begins.
    pub(super) fn abort(&self) {
        // Closed already: nothing is left to do.
        let _ = self.socket.connect(&nowhere());
    }

    /// Bytes that were read.
    pub(super) const fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    fn is_usable(&self) -> bool {
        self.phase == Phase::Open && self.failure.is_none()
    }
}

/// An error of the kernel's as an application sees it.
pub(super) fn failure(error: &io::Error) -> StreamFailure {
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => StreamFailure::Refused,
        Some(libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED | libc::ENOTCONN) => {
            StreamFailure::Reset
        }
        Some(libc::ETIMEDOUT) => StreamFailure::TimedOut,
        Some(libc::EHOSTUNREACH | libc::ENETUNREACH | libc::ENETDOWN | libc::EHOSTDOWN) => {
            StreamFailure::Unreachable
        }
        _ => StreamFailure::Local,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_kernel_are_sorted_by_what_they_mean() {
        for (code, expected) in [
            (libc::ECONNREFUSED, StreamFailure::Refused),
            (libc::EPIPE, StreamFailure::Reset),
            (libc::ETIMEDOUT, StreamFailure::TimedOut),
            (libc::ENETUNREACH, StreamFailure::Unreachable),
            (libc::EADDRNOTAVAIL, StreamFailure::Local),
        ] {
            assert_eq!(failure(&io::Error::from_raw_os_error(code)), expected);
        }
    }
}
