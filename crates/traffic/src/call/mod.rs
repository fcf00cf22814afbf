//! `video:adaptive` and `call`: video whose rate follows the delay, one way or both.
//!
//! `nada` controls the rate (RFC 8698): the receiver reports every 100 ms over the same connection
//! what it saw. `talk` puts frames, audio and reports on the `line`, a stream or datagrams;
//! `caller` is either half.
//!
//! Over a stream no loss is visible, so delay alone steers the rate; over datagrams loss does, too.
//! Frames are not dropped after they were written; while an earlier one waits for room in the send
//! buffer, the encoder skips.

mod caller;
mod line;
mod nada;
mod talk;

pub use caller::Caller;
pub(crate) use caller::outcome;

use crate::measure::Measure;
use crate::model::delays::{MEDIAN, P95, P99};
use crate::model::video::{FROZEN, LATE};
use crate::outcome::Metric;
use crate::vod::BIT_RATE;
use base::{Duration, Rate};

/// What the value of a run is.
pub(crate) const METRIC: Metric = Metric::MessageDelay;
/// Numbers of a run that may be compared in place of the metric.
pub(crate) const FURTHER: &[Measure] = &[MEDIAN, P95, P99, LATE, FROZEN, BIT_RATE];

/// A call whose video adapts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// What is sent.
    pub kind: CallKind,
    /// From the first frame of an end to its last.
    pub time: Duration,
}

/// What an adaptive call consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallKind {
    /// One direction: 30 to 950 kbit/s, 5 to 30 frames a second (000 s3.1).
    OneWay,
    /// Both directions: 150 to 1500 kbit/s, the default range of RFC 8698, and audio.
    TwoWay,
}

/// Limits of a video.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Limits {
    least: Rate,
    most: Rate,
    /// Frames per second at the least and at the most rate, linear in between.
    frames: [f64; 2],
}

impl Call {
    /// The default length.
    pub const DEFAULT_TIME: Duration = Duration::from_secs(60);

    const fn limits(&self) -> Limits {
        let [least, most] = match self.kind {
            CallKind::OneWay => [30_000, 950_000],
            CallKind::TwoWay => [150_000, 1_500_000],
        };
        let frames = match self.kind {
            CallKind::OneWay => [5.0, 30.0],
            CallKind::TwoWay => [30.0, 30.0],
        };
        Limits { least: Rate::from_bps(least), most: Rate::from_bps(most), frames }
    }

    /// Whether both ends send.
    pub(crate) const fn is_two_way(&self) -> bool {
        matches!(self.kind, CallKind::TwoWay)
    }
}

impl Limits {
    /// Frames per second at a rate (assumed to be linear between the limits).
    fn frames_at(&self, bps: f64) -> f64 {
        let (least, most) = (self.least.as_bps() as f64, self.most.as_bps() as f64);
        let [few, many] = self.frames;
        few + (many - few) * ((bps - least) / (most - least)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests;
