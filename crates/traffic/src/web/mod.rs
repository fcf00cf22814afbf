//! `web`: a page whose objects are fetched over HTTP-like connections as its graph allows.
//!
//! `page` is the dependency graph, `progress` carries it out over time, `browser` and `server` are
//! the two halves, `pool` assigns requests to connections, `frame` and `exchange` put requests and
//! responses on a stream. There are four ways to fetch:
//!
//! - `Http::One`: a number of connections that are opened when needed and kept, with one exchange
//!   at a time on each (six in all: 000 s4.3.3, 002 sIII-D).
//! - `Http::Pipelined`: the page itself on one connection, then its objects in turn over a number
//!   of further ones; the requests of a connection are written at once, and are answered in their
//!   order (RFC 9112 s9.3.2). So does INET's HttpTools, which fetched the pages of 000 over SCTP.
//! - `Http::Two`: one connection with concurrent streams, served by urgency; streams of equal
//!   urgency alternate frame by frame (002 sV-C; RFC 9113, RFC 9218 s10).
//!
//! - `Http::Streams`: one association of SCTP, exchange k on its stream k modulo their number; the
//!   association orders the streams.
//!
//! `opening` has what comes before the first request: names and TLS. There is no flow control of
//! streams. Reading pages from files is left to the lab.

mod browser;
pub(crate) mod exchange;
mod frame;
mod opening;
mod outcome;
mod page;
mod pool;
mod progress;
mod server;

pub use browser::Browser;
pub use opening::{Opening, Tls};
pub(crate) use outcome::nothing_loaded;
pub use page::{
    Action, Activity, LEAST_URGENT, MOST_ACTIVITIES, Object, Page, PageFault, Trigger, View, Wait,
};
pub use server::WebServer;

use crate::application::StreamHost;
use base::SocketId;
use std::sync::Arc;
use wire::Payload;

/// A page and how it is fetched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Web {
    /// The page; all runs of a study share it.
    pub page: Arc<Page>,
    /// The version of HTTP.
    pub http: Http,
    /// The limit of connections applies to each host of the page instead of all hosts together.
    pub per_host: bool,
    /// What comes before the first request.
    pub opening: Opening,
}

impl Web {
    /// The pool whose connections fetch an object. With TLS those in the clear have their own.
    fn pool_of(&self, number: u32) -> usize {
        let object = &self.page.objects()[number as usize];
        let host = if self.per_host { object.host as usize } else { 0 };
        let group = host * self.http.pools_of_a_host() + self.http.pool_of_a_host(number);
        group * 2 + usize::from(self.opening.tls.is_some() && object.in_clear)
    }

    /// Its urgency on a connection.
    const fn urgency_of(&self, object: &Object) -> u8 {
        if self.http.keeps_order() { 0 } else { object.urgency }
    }

    fn pools(&self) -> usize {
        let hosts = if self.per_host { self.page.hosts() as usize } else { 1 };
        2 * hosts * self.http.pools_of_a_host()
    }
}

/// How exchanges share connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Http {
    /// At most `connections`, one exchange at a time on each.
    One {
        /// Largest number of connections, at least 1.
        connections: u16,
    },
    /// One connection for the first object and at most `connections` for the others, any number of
    /// exchanges on each, one after the other.
    Pipelined {
        /// Largest number of connections beside the first one, at least 1.
        connections: u16,
    },
    /// One connection, concurrent streams.
    Two,
    /// One association with this many streams, each of them ordered.
    Streams(u16),
}

/// Most bytes of one read.
const READ_BYTES: u32 = 256 << 10;
/// Most concurrent streams of a connection: the usual default of servers (RFC 9113 s6.5.2
/// recommends at least this many).
const MOST_STREAMS: u16 = 100;

impl Http {
    /// Six connections, as in browsers with HTTP/1.1 and in the papers.
    pub const SIX: Http = Http::One { connections: 6 };

    /// Six connections for the objects of a page, each with all of its requests at once.
    pub const SIX_PIPELINED: Http = Http::Pipelined { connections: 6 };

    /// As many streams of an association as Linux and FreeBSD open by default.
    pub const TEN_STREAMS: Http = Http::Streams(10);

    /// Connections of a pool, and exchanges at a time on each.
    pub(crate) const fn limits(self) -> (u16, u16) {
        match self {
            Http::One { connections } => (connections, 1),
            Http::Pipelined { .. } => (1, u16::MAX),
            Http::Two | Http::Streams(_) => (1, MOST_STREAMS),
        }
    }

    /// Pools of one host: each connection of those with pipelining has its own.
    const fn pools_of_a_host(self) -> usize {
        match self {
            Http::Pipelined { connections } => 1 + connections as usize,
            Http::One { .. } | Http::Two | Http::Streams(_) => 1,
        }
    }

    /// Which of them fetches the object of this number: the first object has one for itself, the
    /// others are dealt to the rest.
    const fn pool_of_a_host(self, number: u32) -> usize {
        match self {
            Http::Pipelined { connections } if number > 0 && connections > 0 => {
                1 + (number as usize - 1) % connections as usize
            }
            _ => 0,
        }
    }

    /// Answers keep the order of their requests, whatever their urgency.
    const fn keeps_order(self) -> bool {
        matches!(self, Http::Pipelined { .. })
    }

    /// The next bytes of a connection with their stream; `None` if there are none.
    pub(crate) fn read(
        self,
        host: &mut dyn StreamHost,
        socket: SocketId,
    ) -> Option<(u16, Payload)> {
        if let Http::Streams(_) = self {
            return host.receive_message(socket);
        }
        let payload = host.read(socket, READ_BYTES);
        (!payload.is_empty()).then_some((0, payload))
    }

    /// The value of the option.
    pub const fn name(self) -> &'static str {
        match self {
            Http::One { .. } => "1.1",
            Http::Pipelined { .. } => "pipelined",
            Http::Two => "2",
            Http::Streams(_) => "streams",
        }
    }
}

#[cfg(test)]
mod tests;
