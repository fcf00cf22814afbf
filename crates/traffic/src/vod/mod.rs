//! `vod:SERVICE[:TIME]`: a viewer who watches a film for TIME, over one connection.
//!
//! `services` has what is fetched when: blocks in periods (001 Table 7), or segments whose bit rate
//! depends on the buffer (`ladder`). `playback` is the buffer of the player, `player` the client.
//! Requests and responses are those of a page over one HTTP/1.1 connection, so the server is that
//! of pages.

mod ladder;
mod playback;
mod player;
mod services;

pub use player::Player;
pub use services::Service;

use crate::measure::{Measure, Silence, Source};
use crate::model::Draws;
use crate::outcome::{Metric, MetricInfo};
use crate::web::{Http, Opening, Web};
use base::Duration;
use std::sync::Arc;

/// What the value of a run is.
pub(crate) const METRIC: Metric = Metric::StartupDelay;
/// One request at a time, as with wget (001 s3.1).
const HTTP: Http = Http::One { connections: 1 };

/// Names of the further numbers of a run.
const STALL_TIME: &str = "stall_time";
const STALLS: &str = "stalls";
const BUFFER: &str = "buffer";
const PREFETCH: &str = "prefetch_time";
const BLOCK: &str = "block_time";
pub(crate) const BITRATE: &str = "bitrate";
const SWITCHES: &str = "switches";

/// A viewer of video on demand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vod {
    /// What is fetched when.
    pub service: Service,
    /// From the start of the connection until the viewer leaves.
    pub time: Duration,
    /// Random numbers of the blocks.
    pub draws: Draws,
}

impl Vod {
    /// The default length.
    pub const DEFAULT_TIME: Duration = Duration::from_secs(300);

    /// The film as the objects of a page.
    pub(crate) fn web(&self) -> Web {
        let opening = Opening::default();
        Web { page: Arc::new(self.page()), http: HTTP, per_host: false, opening }
    }

    /// Numbers of a run that may be compared in place of the metric.
    pub(crate) const fn further(&self) -> &'static [Measure] {
        match self.service {
            Service::Dash => &[STALLED, BUFFERED, BIT_RATE],
            _ => &[STALLED, BUFFERED, PREFETCHED, FETCHED],
        }
    }
}

const fn seconds(name: &'static str, words: [&'static str; 3]) -> Measure {
    Measure::delay((name, name), (name, name), words, Silence::Whole)
}

const STALLED: Measure = seconds(STALL_TIME, ["stalled", "stalls for", "stalls for"]);
const PREFETCHED: Measure = seconds(PREFETCH, ["prefetch", "prefetches in", "prefetches in"]);
const FETCHED: Measure = seconds(BLOCK, ["block", "loads a block in", "loads a block in"]);
const BUFFERED: Measure = larger(
    BUFFER,
    "s",
    ["buffer", "has a mean buffer of", "has a mean buffer of"],
    ("has", "less buffered"),
);
/// The mean bit rate of what is shown.
pub(crate) const BIT_RATE: Measure = larger(
    BITRATE,
    "bit/s",
    ["bit rate", "shows a bit rate of", "shows a bit rate of"],
    ("shows", "less"),
);

/// A number of which more is better.
const fn larger(
    name: &'static str,
    unit: &'static str,
    [heading, short, verb]: [&'static str; 3],
    worse: (&'static str, &'static str),
) -> Measure {
    let info = METRIC.info();
    Measure {
        info: MetricInfo {
            name,
            unit,
            larger_is_better: true,
            heading,
            short,
            verb,
            worse,
            parts: info.parts,
            least_noticed: 0.0,
        },
        statistic: name,
        of: name,
        source: Source::Further(name),
        silence: Silence::Share,
    }
}

#[cfg(test)]
mod tests;
