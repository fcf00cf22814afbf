//! The trait a traffic model implements, the configuration, and the table of names.
//!
//! A one-way model is a list of messages with due times, and a function from the reports of both
//! halves to one number. Sockets are left to `one_way`, pages to `web` and parsing to the lab.

pub mod bulk;
pub mod burst;
pub mod conversation;
mod delays;
pub mod video;

use crate::measure::Measure;
use crate::one_way::{Report, Role};
use crate::outcome::{Metric, Outcome};
use crate::web::{self, Web};
use base::Duration;
use bulk::{BulkSize, BulkTime};
use burst::Burst;
use conversation::{Conversation, Direction};
use std::sync::Arc;
use video::Video;

/// What is sent and what is measured.
pub trait TrafficModel {
    /// The `index`-th message, counted from zero; `None` after the last.
    fn message(&self, index: u64) -> Option<Message>;
    /// The largest single write, in bytes.
    fn write_limit(&self) -> u32 {
        u32::MAX
    }
    /// Largest message, in bytes, where a connection has messages; `None`: the traffic is a byte
    /// stream.
    fn message_bytes(&self) -> Option<u32> {
        None
    }
    /// Time after `connect` returned at which the client ends the run; `None`: when all is read.
    fn ends_after(&self) -> Option<Duration> {
        None
    }
    /// Duration of the traffic, where its configuration defines it.
    fn duration(&self) -> Option<Duration> {
        self.ends_after()
    }
    /// What the value of a run is.
    fn metric(&self) -> Metric;
    /// Numbers of a run that may be compared in place of the metric.
    fn further(&self) -> &'static [Measure] {
        &[]
    }
    /// The result of the run, from the reports of the client, the sender and the receiver.
    fn outcome(&self, client: &Report, sender: &Report, receiver: &Report) -> Outcome;
}

/// A message of the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// When it is due.
    pub due: Due,
    /// Its length in bytes; `u64::MAX` never ends.
    pub len: u64,
    /// Whether its delay is part of the result.
    pub measured: bool,
}

/// When a message is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due {
    /// This long after the sender was requested to begin. The delay counts from that time,
    /// however late the write is.
    SinceStart(Duration),
    /// This long after the last write of the preceding message. The delay counts from the time
    /// just before its own first write.
    SincePrevious(Duration),
    /// This long after the last of the peer's first messages was read whole. The delay counts as
    /// with `SincePrevious`.
    SincePeer {
        /// How many messages of the peer.
        messages: u64,
        /// How long after that.
        after: Duration,
    },
}

/// A traffic model with its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Traffic {
    /// Transfer this many bytes.
    BulkSize(u64),
    /// Saturate for this long after `connect` returned.
    BulkTime(Duration),
    /// Warm up, fall idle, then write `segments` times `segment_bytes` at once.
    Burst {
        /// Segments of the burst.
        segments: u32,
        /// Payload of one segment, in bytes.
        segment_bytes: u32,
    },
    /// Constant bit rate for this long.
    Video(Duration),
    /// Load a page.
    Web(Web),
    /// Repeat recorded messages.
    Conversation(Arc<Conversation>),
}

/// The model of a configuration.
pub enum Model<'a> {
    /// Messages in one direction over one connection.
    OneWay(Box<dyn TrafficModel + Send>),
    /// Messages in both directions over one connection: those of the client, and of the server.
    TwoWay([Direction; 2]),
    /// A page.
    Web(&'a Web),
}

impl Traffic {
    /// The model of the configuration.
    pub fn model(&self) -> Model<'_> {
        Model::OneWay(match *self {
            Traffic::BulkSize(bytes) => Box::new(BulkSize { bytes }),
            Traffic::BulkTime(time) => Box::new(BulkTime { time }),
            Traffic::Burst { segments, segment_bytes } => {
                Box::new(Burst { segments, segment_bytes })
            }
            Traffic::Video(time) => Box::new(Video { time }),
            Traffic::Web(ref web) => return Model::Web(web),
            Traffic::Conversation(ref conversation) => {
                let of = |from| Direction { conversation: Arc::clone(conversation), from };
                if !conversation.is_download() {
                    return Model::TwoWay([Role::Client, Role::Server].map(of));
                }
                Box::new(of(Role::Server))
            }
        })
    }

    /// What the value of a run is.
    pub fn metric(&self) -> Metric {
        match self.model() {
            Model::OneWay(model) => model.metric(),
            Model::TwoWay([up, _]) => up.metric(),
            Model::Web(_) => web::METRIC,
        }
    }

    /// The numbers of a run that variants may be compared by, the metric first.
    pub fn measures(&self) -> Vec<Measure> {
        let further = match self.model() {
            Model::OneWay(model) => model.further(),
            Model::TwoWay([up, _]) => up.further(),
            Model::Web(_) => web::FURTHER,
        };
        let metric = Measure::of_metric(self.metric());
        [metric].into_iter().chain(further.iter().copied()).collect()
    }

    /// Duration of the traffic, where its configuration defines it.
    pub fn duration(&self) -> Option<Duration> {
        match self.model() {
            Model::OneWay(model) => model.duration(),
            Model::TwoWay([up, _]) => up.duration(),
            Model::Web(_) => None,
        }
    }
}

/// One row of the table of models.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModelInfo {
    /// The name in `--traffic`.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// Its source.
    pub source: &'static str,
}

/// All models, by name.
pub const MODELS: &[ModelInfo] = &[
    ModelInfo {
        name: "bulk",
        summary: "transfers SIZE bytes, or saturates the connection for TIME",
        source: "bulk transfers of papers 000 to 004",
    },
    ModelInfo {
        name: "burst",
        summary: "warms up with 20 segments, idles 3 s, then writes N segments at once",
        source: "002 sV-B",
    },
    ModelInfo {
        name: "game",
        summary: "sends the messages of an online game at their times: game:aoc-1, game:aoc-2, \
                  game:aoc-3, or game:FILE of a recording",
        source: "000 s4.3.2",
    },
    ModelInfo {
        name: "pcap",
        summary: "repeats the messages of a connection in the capture pcap:FILE[:N|:udp], think \
                  times included; datagrams at their times",
        source: "the user's own",
    },
    ModelInfo {
        name: "table",
        summary: "repeats the messages of table:FILE (time, direction, size), think times included",
        source: "the user's own",
    },
    ModelInfo {
        name: "video",
        summary: "sends 950 kbit/s as 30 messages of 3958 bytes a second",
        source: "000 s4.3.1",
    },
    ModelInfo {
        name: "web",
        summary: "loads a page: web:NAME, or web:FILE of a HAR or a dependency graph, over six \
                  HTTP/1.1 connections or one HTTP/2-like one (--http)",
        source: "000 s4.3.3, 002 sV-C",
    },
];
