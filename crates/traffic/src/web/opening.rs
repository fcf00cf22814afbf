//! What comes before the first request to a host: the lookup of its name, and TLS.
//!
//! A full handshake of TLS 1.3 takes one round trip after the connection is established (RFC 8446
//! s2): the client's hello, then the server's hello with its certificates, then the request. A
//! resumed one with early data takes none: the request follows the hello (s2.3), and the server
//! sends no certificate (s2.2). A name is looked up once, in a given time, when the first object of
//! its host is wanted; later objects of that host wait for the same answer. Not modelled: the time
//! that cryptography takes, records (22 bytes in 16 KiB), and the client's last message of the
//! handshake, which travels with the first request.

use base::{Duration, Instant};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What comes before the first request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Opening {
    /// How a connection begins; `None`: in the clear.
    pub tls: Option<Tls>,
    /// Time to look up the name of a host; zero: names are known.
    pub lookup: Duration,
}

/// A handshake of TLS 1.3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tls {
    /// One round trip.
    Full,
    /// Resumed, with the request as early data.
    Early,
}

/// The client's hello, with the padding of browsers (RFC 7685: 512 bytes) and a record header.
const CLIENT_BYTES: u64 = 517;
/// The server's messages with a chain of two certificates; assumed.
const SERVER_BYTES: u64 = 4000;
/// The server's messages without certificates; assumed.
const RESUMED_BYTES: u64 = 250;

impl Tls {
    /// Both ways, by their name as values of the option.
    pub const ALL: [(&'static str, Tls); 2] = [("1.3", Tls::Full), ("0rtt", Tls::Early)];

    /// The value of the option.
    pub fn name(self) -> &'static str {
        match self {
            Tls::Full => "1.3",
            Tls::Early => "0rtt",
        }
    }

    /// Bytes of the client's first messages.
    pub(super) const fn client_bytes(self) -> u64 {
        CLIENT_BYTES
    }

    /// Bytes of the server's messages.
    pub(super) const fn server_bytes(self) -> u64 {
        match self {
            Tls::Full => SERVER_BYTES,
            Tls::Early => RESUMED_BYTES,
        }
    }
}

/// The names of hosts as they are looked up.
#[derive(Debug)]
pub(super) struct Names {
    time: Duration,
    /// By host: when its name is known.
    known: Vec<Option<Instant>>,
    /// Objects that wait for a name: (when it is known, order, object).
    waiting: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    asked: u64,
}

impl Names {
    /// No name of `hosts` is known; `time` passes until one is.
    pub(super) fn new(time: Duration, hosts: u32) -> Self {
        let known = vec![None; hosts as usize];
        Names { time, known, waiting: BinaryHeap::new(), asked: 0 }
    }

    /// Whether an object of this host can be requested now. If not, `poll` returns it later.
    pub(super) fn knows(&mut self, host: u32, object: u32, now: Instant) -> bool {
        let known = *self.known[host as usize].get_or_insert(now + self.time);
        if known > now {
            self.waiting.push(Reverse((known, self.asked, object)));
            self.asked += 1;
        }
        known <= now
    }

    /// The next object whose host is known by now.
    pub(super) fn poll(&mut self, now: Instant) -> Option<u32> {
        let Reverse((known, _, object)) = *self.waiting.peek()?;
        if known > now {
            return None;
        }
        self.waiting.pop();
        Some(object)
    }

    /// When `poll` has something to return.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waiting.peek().map(|Reverse((known, ..))| *known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_looked_up_once_and_its_objects_wait_in_order() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut names = Names::new(Duration::from_millis(30), 2);
        assert!(!names.knows(0, 7, at(0)) && !names.knows(0, 3, at(10)));
        assert!(!names.knows(1, 5, at(20)));
        assert_eq!((names.poll(at(29)), names.deadline()), (None, Some(at(30))));
        assert_eq!(
            [names.poll(at(30)), names.poll(at(30)), names.poll(at(30))],
            [Some(7), Some(3), None]
        );
        assert!(names.knows(0, 9, at(31)), "is known from then on");
        assert_eq!(names.deadline(), Some(at(50)));
    }

    #[test]
    fn known_names_hold_nothing_up() {
        let mut names = Names::new(Duration::ZERO, 1);
        assert!(names.knows(0, 0, Instant::ZERO));
        assert_eq!(names.deadline(), None);
    }
}
