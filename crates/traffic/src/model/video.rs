//! `video[:TIME][:RATE][:deadline=TIME][:skip=TIME][:message=BYTES]`: constant bit rate, 950 kbit/s
//! as 30 frames of 3958 bytes a second, and a player that shows each frame at its deadline.
//!
//! 000 s4.3.1 (a Skype-like video call). A frame is a message, or is cut into several, each with
//! a delay of its own, as NetPerfMeter sends them (000 s4.2). Delays count from the *scheduled*
//! send time, so that the time in which a sender is blocked is included. The thresholds of 100 and
//! 150 ms are those of 000 s3.1. The player's buffer is a constant delay: a frame that is not there
//! by its deadline is not shown, and the picture before it freezes until a frame is in time again.

use crate::measure::{Measure, Silence};
use crate::model::delays::{MEDIAN, OVER_150MS, P95, P99, distribution_of, late, of_messages};
use crate::model::{Due, Message, TrafficModel};
use crate::one_way::Report;
use crate::outcome::{Metric, Outcome, share_above};
use base::{Duration, Rate};

/// Frames per second.
const FRAMES_PER_SECOND: u64 = 30;
/// From the request to the first frame.
const LEAD_IN: Duration = Duration::from_millis(500);
/// Delays beyond which the shares of messages are counted.
pub(crate) const SHARES: &[(&str, Duration)] =
    &[("over_100ms", Duration::from_millis(100)), OVER_150MS];

/// Numbers of a call that may be compared in place of the mean delay.
const FURTHER: &[Measure] = &[MEDIAN, P95, P99, LATE, FROZEN];
/// The same with a deadline of the user's.
const WITH_DEADLINE: &[Measure] = &[MEDIAN, P95, P99, LATE_FOR_DEADLINE, FROZEN];
/// Share of messages later than 150 ms.
pub(crate) const LATE: Measure = late(
    ["over 150 ms", "messages later than 150 ms:", "has messages later than 150 ms:"],
    OVER_150MS.0,
);
/// Share of messages later than the deadline.
const LATE_FOR_DEADLINE: Measure = late(
    ["late", "messages after their deadline:", "has messages after their deadline:"],
    LATE_SHARE,
);
/// How long pictures are frozen.
pub(crate) const FROZEN: Measure = Measure::delay(
    (FROZEN_TIME, FROZEN_TIME),
    (FROZEN_TIME, FROZEN_TIME),
    ["frozen", "is frozen for", "is frozen for"],
    Silence::Whole,
);
/// Numbers that follow from the delays of the messages and the deadline. The hash of a result has
/// the delays, and leaves these out.
pub const OF_PLAYER: [&str; 3] = [LATE_SHARE, FREEZES, FROZEN_TIME];
/// Names of further numbers.
const LATE_SHARE: &str = "late";
pub(crate) const FREEZES: &str = "freezes";
pub(crate) const FROZEN_TIME: &str = "frozen_time";

/// A video call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Video {
    /// Length of the call.
    pub time: Duration,
    /// Rate of the payload, at least a byte in each frame.
    pub rate: Rate,
    /// From the scheduled time of a frame until the player shows it.
    pub deadline: Duration,
    /// Frames scheduled in this time from the first one on are sent but not measured: the transient
    /// that measuring tools leave out (`resetTime` of INET's NetPerfMeter).
    pub skip: Duration,
    /// Most bytes of a message, at least one; `None`: a frame is a message.
    pub message: Option<u32>,
}

impl Video {
    /// The default length.
    pub const DEFAULT_TIME: Duration = Duration::from_secs(60);
    /// The rate of paper 000.
    pub const DEFAULT_RATE: Rate = Rate::from_bps(950_000);
    /// The longest delay of live video (000 s3.1).
    pub const DEFAULT_DEADLINE: Duration = OVER_150MS.1;

    /// A call of this length, with the other defaults.
    pub const fn of(time: Duration) -> Video {
        let (rate, deadline) = (Video::DEFAULT_RATE, Video::DEFAULT_DEADLINE);
        Video { time, rate, deadline, skip: Duration::ZERO, message: None }
    }

    /// Whole bytes of a frame.
    pub const fn frame_bytes(&self) -> u64 {
        self.rate.as_bps() / 8 / FRAMES_PER_SECOND
    }

    /// Bytes of the largest message.
    pub fn largest_message(&self) -> u64 {
        self.message.map_or(self.frame_bytes(), |most| self.frame_bytes().min(u64::from(most)))
    }

    /// Messages of a frame; at least one.
    fn messages_per_frame(&self) -> u64 {
        self.frame_bytes().div_ceil(self.largest_message().max(1)).max(1)
    }

    /// The delays of whole frames: a frame is there with its last message.
    fn of_frames(&self, delays: &[f64]) -> Vec<f64> {
        let messages = usize::try_from(self.messages_per_frame()).unwrap_or(usize::MAX);
        let last = |frame: &[f64]| frame.iter().copied().fold(0.0, f64::max);
        delays.chunks(messages).map(last).collect()
    }

    /// How often the picture freezes, and for how long in all, in seconds: each frame that is not
    /// in time leaves the one before it on the screen.
    fn freezes(&self, delays: &[f64]) -> (usize, f64) {
        let late: Vec<bool> =
            delays.iter().map(|delay| *delay > self.deadline.as_secs_f64()).collect();
        let count = late.iter().filter(|late| **late).count();
        let before = std::iter::once(false).chain(late.iter().copied());
        let begins = late.iter().zip(before).filter(|(late, before)| **late && !before).count();
        (begins, count as f64 / FRAMES_PER_SECOND as f64)
    }

    /// The numbers of the player, from the delays of messages.
    fn shown(&self, delays: &[f64]) -> Vec<(&'static str, f64)> {
        if delays.is_empty() {
            return Vec::new();
        }
        let frames = self.of_frames(delays);
        let (freezes, frozen) = self.freezes(&frames);
        let own = self.deadline != Video::DEFAULT_DEADLINE;
        let late = share_above(&frames, self.deadline).filter(|_| own);
        let late = late.map(|share| (LATE_SHARE, share));
        late.into_iter().chain([(FREEZES, freezes as f64), (FROZEN_TIME, frozen)]).collect()
    }

    /// Messages due within `time`.
    pub fn messages(&self) -> u64 {
        frames_within(self.time).saturating_mul(self.messages_per_frame())
    }

    /// Messages that are not measured.
    pub fn skipped(&self) -> u64 {
        let nanos = u128::from(self.skip.as_nanos()) * u128::from(FRAMES_PER_SECOND);
        let frames = u64::try_from(nanos.div_ceil(1_000_000_000)).unwrap_or(u64::MAX);
        frames.saturating_mul(self.messages_per_frame())
    }
}

/// Frames due within a time.
fn frames_within(time: Duration) -> u64 {
    let whole = u128::from(time.as_nanos()) * u128::from(FRAMES_PER_SECOND);
    u64::try_from(whole / 1_000_000_000).unwrap_or(u64::MAX)
}

impl TrafficModel for Video {
    fn message(&self, index: u64) -> Option<Message> {
        let (frame, part) = (index / self.messages_per_frame(), index % self.messages_per_frame());
        // Computed from its number, not by adding 33.333 ms: 1800 frames take exactly 60 s.
        let nanos = u128::from(frame) * 1_000_000_000 / u128::from(FRAMES_PER_SECOND);
        let offset = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let largest = self.largest_message();
        (index < self.messages()).then_some(Message {
            due: Due::SinceStart(LEAD_IN + offset),
            len: (self.frame_bytes() - part * largest).min(largest),
            measured: index >= self.skipped(),
        })
    }

    /// They are written whole.
    fn message_bytes(&self) -> Option<u32> {
        Some(u32::MAX)
    }

    fn duration(&self) -> Option<Duration> {
        Some(self.time)
    }

    fn metric(&self) -> Metric {
        Metric::MessageDelay
    }

    fn further(&self) -> &'static [Measure] {
        if self.deadline == Video::DEFAULT_DEADLINE { FURTHER } else { WITH_DEADLINE }
    }

    fn numbers(&self, delays: &[f64], all: &[f64]) -> Vec<(&'static str, f64)> {
        [distribution_of(delays, all, SHARES), self.shown(all)].concat()
    }

    fn outcome(&self, client: &Report, sender: &Report, receiver: &Report) -> Outcome {
        of_messages(
            self,
            self.messages().saturating_sub(self.skipped()),
            [client, sender, receiver],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Source;
    use crate::model::Traffic;
    use base::Instant;

    #[test]
    fn frames_due_in_the_time_that_is_skipped_are_not_measured() {
        for (skip, skipped) in [(0, 0), (10, 1), (34, 2), (100, 3), (1000, 30)] {
            let skip = Duration::from_millis(skip);
            let video = Video { skip, ..Video::of(Video::DEFAULT_TIME) };
            assert_eq!(video.skipped(), skipped, "{skip:?}");
            let measured = (0..60).map(|n| video.message(n).map(|message| message.measured));
            assert_eq!(measured.filter(|of| *of == Some(true)).count() as u64, 60 - skipped);
        }
    }

    #[test]
    fn sixty_seconds_are_1800_messages_that_do_not_drift() {
        let video = Video::of(Video::DEFAULT_TIME);
        let last = video.message(1799).expect("1800 messages");
        assert_eq!(last.due, Due::SinceStart(Duration::from_nanos(60_466_666_666)));
        assert_eq!(video.message(1800), None);
        assert_eq!(video.frame_bytes(), 3958);
        let bits = 1800 * video.frame_bytes() * 8;
        assert_eq!(bits / 60, 949_920, "950 kbit/s in whole bytes");
    }

    #[test]
    fn outcome_has_mean_quantiles_shares_and_jitter() {
        let video = Video::of(Duration::from_millis(100));
        let sent = vec![Instant::ZERO; 3];
        let arrived = [80, 160, 120].map(Instant::from_millis).to_vec();
        let sender = Report { sent, ..Report::default() };
        let receiver = Report { arrived, ..Report::default() };
        let outcome = video.outcome(&Report::default(), &sender, &receiver);
        assert!((outcome.value.expect("complete") - 0.12).abs() < 1e-12);
        let extra: std::collections::BTreeMap<_, _> = outcome.extra.iter().copied().collect();
        assert!((extra["median"] - 0.12).abs() < 1e-12);
        assert!((extra["over_100ms"] - 2.0 / 3.0).abs() < 1e-12);
        assert!((extra["over_150ms"] - 1.0 / 3.0).abs() < 1e-12);
        assert!((extra["jitter"] - 0.06).abs() < 1e-12);
    }

    #[test]
    fn late_frames_freeze_the_picture_until_one_is_in_time() {
        let video = Video::of(Duration::from_secs(1));
        let delays = [0.1, 0.16, 0.2, 0.151, 0.15, 0.1, 0.3, 0.1];
        // Frames 1 to 3 and frame 6.
        assert_eq!(video.freezes(&delays), (2, 4.0 / 30.0));
        assert_eq!(video.freezes(&[0.2]), (1, 1.0 / 30.0), "the first frame may be late");
        let short = Video { deadline: Duration::from_millis(100), ..video };
        assert_eq!(short.freezes(&delays), (2, 5.0 / 30.0));
        let shown = short.shown(&delays);
        assert_eq!(shown[0], ("late", 5.0 / 8.0));
        assert_eq!(video.shown(&delays)[0], ("freezes", 2.0), "named by its time: over_150ms");
        assert!(short.further().iter().any(|measure| measure.source == Source::Further("late")));
    }

    #[test]
    fn skipped_frames_are_sent_but_not_measured() {
        let video = Video { skip: Duration::from_secs(18), ..Video::of(Duration::from_secs(78)) };
        let measured = |index| video.message(index).map(|message| message.measured);
        assert_eq!((measured(539), measured(540)), (Some(false), Some(true)));
        assert_eq!((measured(2339), measured(2340)), (Some(true), None));
        let report = |count| Report { sent: vec![Instant::ZERO; count], ..Report::default() };
        let arrived = vec![Instant::from_millis(80); 1800];
        let receiver = Report { arrived, ..Report::default() };
        let outcome = video.outcome(&Report::default(), &report(1800), &receiver);
        assert!(outcome.is_complete(), "60 s of 78 s are measured");
        assert!(!Traffic::Video(video).fits_datagrams());
    }

    #[test]
    fn messages_of_a_frame_are_sent_at_its_time_and_have_its_bytes() {
        let whole = Video::of(Duration::from_secs(1));
        let skip = Duration::from_millis(500);
        let cut = Video { message: Some(1452), skip, ..whole };
        let all: Vec<Message> = (0..).map_while(|index| cut.message(index)).collect();
        assert_eq!(all.len(), 90);
        assert_eq!(cut.messages(), 90);
        for (frame, messages) in all.chunks(3).enumerate() {
            let frame = whole.message(frame as u64).expect("30 frames");
            assert!(messages.iter().all(|message| message.due == frame.due));
            let lens: Vec<u64> = messages.iter().map(|message| message.len).collect();
            assert_eq!(lens, [1452, 1452, 1054]);
        }
        assert_eq!(all.iter().position(|message| message.measured), Some(45), "half a second");
        let large = Video { message: Some(5000), ..whole };
        assert_eq!(large.message(29), whole.message(29), "a frame is smaller");
        let rate = Rate::from_mbit(20);
        assert!(!Traffic::Video(Video { rate, ..whole }).fits_datagrams(), "83,333 bytes");
        let small = Video { rate, message: Some(1452), ..whole };
        assert!(Traffic::Video(small).fits_datagrams());
    }

    #[test]
    fn a_frame_is_late_if_one_of_its_messages_is() {
        let cut = Video { message: Some(1452), ..Video::of(Duration::from_secs(1)) };
        let delays = [0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.3, 0.1];
        assert_eq!(cut.of_frames(&delays), [0.2, 0.1, 0.3]);
        assert_eq!(cut.shown(&delays), [("freezes", 2.0), ("frozen_time", 2.0 / 30.0)]);
    }

    #[test]
    fn rate_decides_the_bytes_of_a_frame() {
        let video = Video { rate: Rate::from_mbit(3), ..Video::of(Duration::from_secs(1)) };
        assert_eq!(video.message(0).map(|message| message.len), Some(12_500));
    }

    #[test]
    fn a_missing_message_leaves_the_run_incomplete() {
        let video = Video::of(Duration::from_millis(100));
        let sender = Report { sent: vec![Instant::ZERO; 3], ..Report::default() };
        let receiver = Report { arrived: vec![Instant::from_millis(80); 2], ..Report::default() };
        let outcome = video.outcome(&Report::default(), &sender, &receiver);
        assert!(!outcome.is_complete());
        assert_eq!(outcome.message_delays.len(), 2);
    }
}
