//! What a viewer's player fetches: the objects of a film, and when each is requested.
//!
//! Netflix and YouTube as 001 s6 and Table 7 measured them: a long prefetch, then blocks in
//! periods. Media of constant bit rate: a block is what is watched in a period. The bit rate of
//! YouTube, and so its periods, are assumed; 001 gives its blocks and prefetch only.

use super::Vod;
use super::ladder;
use crate::web::exchange::content_bytes;
use crate::web::{Object, Page};
use base::Duration;
use std::f64::consts::TAU;

/// Bytes of a request, and of the head of a response: those of pages (assumed).
const REQUEST_BYTES: u64 = 400;
const RESPONSE_HEAD: u64 = 300;
/// Bytes of the content of a response that come before the media.
pub(super) const HEAD_CONTENT: u64 = content_bytes(RESPONSE_HEAD);
/// Draws for each block.
const DRAWS: u64 = 4;
/// No drawn value is below this share of its mean.
const LEAST: f64 = 0.1;
/// Bit rate of YouTube's media, assumed.
const YOUTUBE_BPS: f64 = 1e6;

/// A service, as a player on one device sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// Netflix on an Android device.
    Netflix,
    /// Netflix on an iPad.
    NetflixIpad,
    /// YouTube.
    Youtube,
    /// Segments of four seconds whose bit rate depends on the buffer.
    Dash,
}

/// Mean and standard deviation.
type Normal = (f64, f64);

/// A row of 001 Table 7: megabytes of the prefetch, megabytes of a block, seconds of a period.
const ANDROID: [Normal; 3] = [(40.57, 0.85), (5.18, 0.24), (72.04, 10.13)];
const IPAD: [Normal; 3] = [(15.04, 2.64), (1.76, 0.52), (10.15, 2.65)];

/// A block, or the prefetch, which is number 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Block {
    pub bytes: u64,
    /// From its request, of the prefetch from its end, to the request of the next one.
    pub period: Duration,
}

impl Service {
    /// All of them, with what they are.
    pub const TABLE: [(&'static str, Service, &'static str, &'static str); 4] = [
        (
            "netflix",
            Service::Netflix,
            "Netflix on Android: 40.57 MB, then 5.18 MB every 72 s",
            "001 Table 7",
        ),
        (
            "netflix-ipad",
            Service::NetflixIpad,
            "Netflix on an iPad: 15.04 MB, then 1.76 MB every 10 s",
            "001 Table 7",
        ),
        (
            "youtube",
            Service::Youtube,
            "YouTube: 10 to 15 MB, then blocks of 64 or 512 kB; 1 Mbit/s is assumed",
            "001 s6",
        ),
        (
            "dash",
            Service::Dash,
            "segments of 4 s at 235 to 5800 kbit/s, chosen by the buffer (BBA-0)",
            "Huang et al., SIGCOMM 2014, s4",
        ),
    ];

    /// Name in `vod:NAME`.
    pub fn name(self) -> &'static str {
        Service::TABLE.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }

    /// Bit rate of the media in blocks, in bit/s.
    pub(super) fn block_bps(self) -> u64 {
        let of = |[_, (megabytes, _), (seconds, _)]: [Normal; 3]| megabytes * 8e6 / seconds;
        (match self {
            Service::Netflix => of(ANDROID),
            Service::NetflixIpad => of(IPAD),
            Service::Youtube | Service::Dash => YOUTUBE_BPS,
        }) as u64
    }
}

impl Vod {
    /// The prefetch and as many blocks as may be requested before the viewer leaves.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut at = Duration::ZERO;
        for number in 0.. {
            let block = self.block(number);
            at += block.period;
            blocks.push(block);
            if at > self.time {
                break;
            }
        }
        blocks
    }

    fn block(&self, number: u64) -> Block {
        let [prefetch, block, period] = match self.service {
            Service::Netflix => ANDROID,
            Service::NetflixIpad => IPAD,
            Service::Youtube | Service::Dash => return self.youtube_block(number),
        };
        let megabytes = self.normal(number, 0, if number == 0 { prefetch } else { block });
        let seconds = self.normal(number, 2, period);
        let period = Duration::from_secs_f64(seconds);
        Block { bytes: (megabytes * 1e6) as u64, period }
    }

    /// Uniform from 10 to 15 MB, then 64 or 512 kB with equal probability (assumed).
    fn youtube_block(&self, number: u64) -> Block {
        let share = self.draws.uniform(number * DRAWS);
        let bytes = match number {
            0 => 10e6 + 5e6 * share,
            _ if share < 0.5 => 64e3,
            _ => 512e3,
        };
        let watched = if number == 0 { 0.0 } else { bytes * 8.0 / YOUTUBE_BPS };
        Block { bytes: bytes as u64, period: Duration::from_secs_f64(watched) }
    }

    /// A normal number of block `number` from its draws `draw` and the next one (Box and Muller).
    fn normal(&self, number: u64, draw: u64, (mean, deviation): Normal) -> f64 {
        let [u, v] = [0, 1].map(|next| self.draws.uniform(number * DRAWS + draw + next));
        let length = libm::sqrt(-2.0 * libm::log(1.0 - u));
        (mean + deviation * length * libm::cos(TAU * v)).max(LEAST * mean)
    }

    /// The film as a page: blocks in order, or all bit rates of segment after segment.
    pub(super) fn page(&self) -> Page {
        let object = |bytes: u64| Object {
            label: String::new(),
            host: 0,
            request_bytes: REQUEST_BYTES,
            response_bytes: RESPONSE_HEAD + bytes,
            think: Duration::ZERO,
            urgency: 0,
            in_clear: false,
        };
        let objects: Vec<Object> = match self.service {
            Service::Dash => ladder::sizes(self.time).map(object).collect(),
            _ => self.blocks().iter().map(|block| object(block.bytes)).collect(),
        };
        Page::of_film(objects)
    }
}
