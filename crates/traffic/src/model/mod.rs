//! The trait a traffic model implements, the configuration, and the table of names.
//!
//! A one-way model is a list of messages with due times, and a function from the reports of both
//! halves to one number. Sockets are left to `one_way`, pages to `web` and parsing to the lab.

pub mod bulk;
pub mod burst;
pub mod conversation;
pub(crate) mod delays;
mod draws;
pub mod onoff;
pub mod udp;
pub mod video;

use crate::call::{self, Call};
use crate::datagrams;
use crate::measure::Measure;
use crate::one_way::{Report, Role};
use crate::outcome::{Metric, Outcome};
use crate::vod::{self, Vod};
use crate::web::Web;
use base::Duration;
use bulk::{BulkSize, BulkTime};
use burst::Burst;
use conversation::{Conversation, Direction};
pub use draws::Draws;
use onoff::{Frames, OnOff};
use std::sync::Arc;
use udp::Udp;
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
    /// Further numbers of a run of messages: `delays` in seconds are those of the messages that
    /// arrived, `all` has infinity for each of the others.
    fn numbers(&self, _delays: &[f64], _all: &[f64]) -> Vec<(&'static str, f64)> {
        Vec::new()
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
    /// Constant bit rate.
    Video(Video),
    /// Frames in on periods of random length.
    OnOff(OnOff),
    /// Datagrams at a constant rate.
    Udp(Udp),
    /// Video whose rate adapts, and calls.
    Call(Call),
    /// Watch a film.
    Vod(Vod),
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
    /// A film.
    Vod(&'a Vod),
    /// A call.
    Call(&'a Call),
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
            Traffic::Video(video) => Box::new(video),
            Traffic::OnOff(onoff) => Box::new(Frames::new(onoff)),
            Traffic::Udp(udp) => Box::new(udp),
            Traffic::Web(ref web) => return Model::Web(web),
            Traffic::Vod(ref vod) => return Model::Vod(vod),
            Traffic::Call(ref call) => return Model::Call(call),
            Traffic::Conversation(ref conversation) => {
                let of = |from| Direction { conversation: Arc::clone(conversation), from };
                if !conversation.is_download() {
                    return Model::TwoWay([Role::Client, Role::Server].map(of));
                }
                Box::new(of(Role::Server))
            }
        })
    }

    /// The video call of this length, with the other defaults.
    pub const fn video(time: Duration) -> Traffic {
        Traffic::Video(Video::of(time))
    }

    /// Whether each of its messages fits a datagram, and none waits for another one.
    pub fn fits_datagrams(&self) -> bool {
        match self {
            // Datagrams are measured from the first one on.
            Traffic::Video(video) => {
                video.largest_message() <= datagrams::MOST_BYTES.into() && video.skip.is_zero()
            }
            Traffic::OnOff(_) | Traffic::Udp(_) | Traffic::Call(_) => true,
            Traffic::Conversation(conversation) => conversation.fits(datagrams::MOST_BYTES.into()),
            _ => false,
        }
    }

    /// Bytes of its largest message; `None` for byte streams, and where messages fit datagrams.
    pub fn largest_message(&self) -> Option<u64> {
        match self {
            Traffic::Video(video) => Some(video.largest_message()),
            Traffic::Burst { segment_bytes, .. } => Some((*segment_bytes).into()),
            Traffic::Conversation(conversation) => Some(conversation.largest_message()),
            _ => None,
        }
    }

    /// Whether repetitions differ.
    pub const fn is_drawn(&self) -> bool {
        matches!(self, Traffic::OnOff(_) | Traffic::Vod(_))
    }

    /// The same with the random numbers of one repetition.
    #[must_use]
    pub fn drawn(&self, draws: Draws) -> Traffic {
        match *self {
            Traffic::OnOff(onoff) => Traffic::OnOff(OnOff { draws, ..onoff }),
            Traffic::Vod(vod) => Traffic::Vod(Vod { draws, ..vod }),
            ref traffic => traffic.clone(),
        }
    }

    /// What the value of a run is.
    pub fn metric(&self) -> Metric {
        match self.model() {
            Model::OneWay(model) => model.metric(),
            Model::TwoWay([up, _]) => up.metric(),
            Model::Web(web) => web.metric(),
            Model::Vod(_) => vod::METRIC,
            Model::Call(_) => call::METRIC,
        }
    }

    /// The numbers of a run that variants may be compared by, the metric first.
    pub fn measures(&self) -> Vec<Measure> {
        let further = match self.model() {
            Model::OneWay(model) => model.further(),
            Model::TwoWay([up, _]) => up.further(),
            Model::Web(web) => web.further(),
            Model::Vod(vod) => vod.further(),
            Model::Call(_) => call::FURTHER,
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
            Model::Vod(vod) => Some(vod.time),
            Model::Call(call) => Some(call.time),
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
        summary: "transfers SIZE bytes (also download:SIZE), or saturates the connection for TIME",
        source: "bulk transfers of papers 000 to 004",
    },
    ModelInfo {
        name: "burst",
        summary: "warms up with 20 segments, idles 3 s, then writes N segments at once",
        source: "002 sV-B",
    },
    ModelInfo {
        name: "call",
        summary: "talks for TIME: audio, and video of 150 to 1500 kbit/s whose rate follows the \
                  delay, both ways",
        source: "RFC 8698",
    },
    ModelInfo {
        name: "game",
        summary: "sends the messages of an online game at their times: game:aoc-1, game:aoc-2, \
                  game:aoc-3, or game:FILE of a recording",
        source: "000 s4.3.2",
    },
    ModelInfo {
        name: "maps",
        summary: "loads the few small objects of a user's map session of TIME, an assumed one, \
                  over one HTTP/2-like connection (--http)",
        source: "002 sV-D",
    },
    ModelInfo {
        name: "onoff",
        summary: "sends frames of 5000 bytes in on periods of random length, 500 kbit/s or RATE on \
                  average, for TIME: onoff[:RATE][:TIME]",
        source: "000 s4.4",
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
        name: "udp",
        summary: "sends datagrams of 1470 or N bytes at RATE for TIME: udp:RATE[:TIME][:bytes=N]; \
                  messages over other protocols",
        source: "iperf",
    },
    ModelInfo {
        name: "video",
        summary: "sends 950 kbit/s or RATE as 30 frames a second for TIME: \
                  video[:TIME][:RATE][:deadline=TIME][:skip=TIME][:message=BYTES]; \
                  video:adaptive[:TIME] sends 30 to 950 kbit/s as the delay allows",
        source: "000 s4.3.1",
    },
    ModelInfo {
        name: "vod",
        summary: "watches a film for TIME: a prefetch and blocks in periods as vod:netflix, \
                  vod:netflix-ipad or vod:youtube, or segments as vod:dash",
        source: "001 Table 7",
    },
    ModelInfo {
        name: "web",
        summary: "loads a page: web:NAME, or web:FILE of a HAR or a dependency graph, over six \
                  HTTP/1.1 connections or one HTTP/2-like one (--http)",
        source: "000 s4.3.3, 002 sV-C",
    },
];
