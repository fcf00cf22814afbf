//! `web`: a page whose objects are fetched over HTTP-like connections as its graph allows.
//!
//! `page` is the graph of what waits for what, `progress` carries it out in time, `browser` and
//! `server` are the two halves, `pool` decides which connection fetches what, `frame` and
//! `exchange` put requests and responses on a stream. Two ways of fetching:
//!
//! - `Http::One`: so many connections, opened when needed and kept, each carrying one exchange at
//!   a time (six in all: 000 s4.3.3, 002 sIII-D).
//! - `Http::Two`: one connection with concurrent streams, served by urgency, equals frame by frame
//!   in turn (002 sV-C; RFC 9113, RFC 9218 s10).
//!
//! There is no TLS, no name service and no flow control of streams. Reading pages from files is
//! the lab's business.

mod browser;
mod exchange;
mod frame;
mod outcome;
mod page;
mod pool;
mod progress;
mod server;

pub use browser::Browser;
pub use page::{
    Action, Activity, LEAST_URGENT, MOST_ACTIVITIES, Object, Page, PageFault, Trigger, Wait,
};
pub use server::WebServer;

use std::sync::Arc;

/// A page and how it is fetched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Web {
    pub page: Arc<Page>,
    pub http: Http,
    /// The limits of connections hold for each host of the page instead of all together.
    pub per_host: bool,
}

/// How exchanges share connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Http {
    /// At most `connections`, one exchange at a time on each.
    One { connections: u16 },
    /// One connection, concurrent streams.
    Two,
}

/// Streams that may be open at once on one connection: what servers announce by default
/// (RFC 9113 s6.5.2 recommends no less).
const MOST_STREAMS: u16 = 100;

impl Http {
    /// Six connections, as browsers use for HTTP/1.1 and the papers did.
    pub const SIX: Http = Http::One { connections: 6 };

    /// Connections of a pool, and exchanges at a time on each.
    pub(crate) const fn limits(self) -> (u16, u16) {
        match self {
            Http::One { connections } => (connections, 1),
            Http::Two => (1, MOST_STREAMS),
        }
    }

    /// As the option spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Http::One { .. } => "1.1",
            Http::Two => "2",
        }
    }
}

#[cfg(test)]
mod tests;
