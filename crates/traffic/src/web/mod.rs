//! `web`: a page whose objects are fetched over HTTP-like connections as its graph allows.
//!
//! `page` is the dependency graph, `progress` carries it out over time, `browser` and `server` are
//! the two halves, `pool` assigns requests to connections, `frame` and `exchange` put requests and
//! responses on a stream. There are three ways to fetch:
//!
//! - `Http::One`: a number of connections that are opened when needed and kept, with one exchange
//!   at a time on each (six in all: 000 s4.3.3, 002 sIII-D).
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
    fn pool_of(&self, object: &Object) -> usize {
        let host = if self.per_host { object.host as usize } else { 0 };
        host * 2 + usize::from(self.opening.tls.is_some() && object.in_clear)
    }

    fn pools(&self) -> usize {
        2 * if self.per_host { self.page.hosts() as usize } else { 1 }
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

    /// As many streams of an association as Linux and FreeBSD open by default.
    pub const TEN_STREAMS: Http = Http::Streams(10);

    /// Connections of a pool, and exchanges at a time on each.
    pub(crate) const fn limits(self) -> (u16, u16) {
        match self {
            Http::One { connections } => (connections, 1),
            Http::Two | Http::Streams(_) => (1, MOST_STREAMS),
        }
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
            Http::Two => "2",
            Http::Streams(_) => "streams",
        }
    }
}

#[cfg(test)]
mod tests;
