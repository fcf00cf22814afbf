//! `video[:TIME]`: constant bit rate, 950 kbit/s as 30 messages of 3958 bytes a second.
//!
//! 000 s4.3.1 (a Skype-like video call). Delays count from the *scheduled* send time, so that the
//! time in which a sender is blocked is included. The thresholds of 100 and 150 ms are those of 000
//! s3.1.

use crate::measure::Measure;
use crate::model::delays::{MEDIAN, P95, P99, distribution, late};
use crate::model::{Due, Message, TrafficModel};
use crate::one_way::Report;
use crate::outcome::{Metric, Outcome, mean};
use base::Duration;

/// Messages per second.
const MESSAGES_PER_SECOND: u64 = 30;
/// 950 kbit/s over 30 messages, in whole bytes.
const MESSAGE_BYTES: u64 = 3958;
/// From the request to the first message.
const LEAD_IN: Duration = Duration::from_millis(500);
/// Delays beyond which the shares of messages are counted.
const SHARES: &[(&str, Duration)] =
    &[("over_100ms", Duration::from_millis(100)), ("over_150ms", Duration::from_millis(150))];

/// Numbers of a call that may be compared in place of the mean delay.
const FURTHER: &[Measure] = &[MEDIAN, P95, P99, LATE];
/// Share of messages later than 150 ms.
const LATE: Measure = late(
    ["over 150 ms", "messages later than 150 ms:", "has messages later than 150 ms:"],
    "over_150ms",
);

/// A video call.
#[derive(Clone, Copy, Debug)]
pub struct Video {
    /// Length of the call.
    pub time: Duration,
}

impl Video {
    /// The default length.
    pub const DEFAULT_TIME: Duration = Duration::from_secs(60);

    /// Messages due within `time`.
    fn messages(&self) -> u64 {
        let whole = u128::from(self.time.as_nanos()) * u128::from(MESSAGES_PER_SECOND);
        u64::try_from(whole / 1_000_000_000).unwrap_or(u64::MAX)
    }
}

impl TrafficModel for Video {
    fn message(&self, index: u64) -> Option<Message> {
        // Computed from the index, not by adding 33.333 ms: 1800 messages take exactly 60 s.
        let nanos = u128::from(index) * 1_000_000_000 / u128::from(MESSAGES_PER_SECOND);
        let offset = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        (index < self.messages()).then_some(Message {
            due: Due::SinceStart(LEAD_IN + offset),
            len: MESSAGE_BYTES,
            measured: true,
        })
    }

    /// A frame is a message.
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
        FURTHER
    }

    fn outcome(&self, client: &Report, sender: &Report, receiver: &Report) -> Outcome {
        let delays = receiver.delays_since(sender);
        let complete = delays.len() as u64 == self.messages();
        Outcome {
            metric: self.metric(),
            value: mean(&delays).filter(|_| complete),
            bytes_read: receiver.bytes_read,
            extra: distribution(&delays, SHARES),
            message_delays: delays,
            parts: receiver.parts_since(sender, client),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Instant;

    #[test]
    fn sixty_seconds_are_1800_messages_that_do_not_drift() {
        let video = Video { time: Video::DEFAULT_TIME };
        let last = video.message(1799).expect("1800 messages");
        assert_eq!(last.due, Due::SinceStart(Duration::from_nanos(60_466_666_666)));
        assert_eq!(video.message(1800), None);
        let bits = 1800 * MESSAGE_BYTES * 8;
        assert_eq!(bits / 60, 949_920, "950 kbit/s in whole bytes");
    }

    #[test]
    fn outcome_has_mean_quantiles_shares_and_jitter() {
        let video = Video { time: Duration::from_millis(100) };
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
    fn a_missing_message_leaves_the_run_incomplete() {
        let video = Video { time: Duration::from_millis(100) };
        let sender = Report { sent: vec![Instant::ZERO; 3], ..Report::default() };
        let receiver = Report { arrived: vec![Instant::from_millis(80); 2], ..Report::default() };
        let outcome = video.outcome(&Report::default(), &sender, &receiver);
        assert!(!outcome.is_complete());
        assert_eq!(outcome.message_delays.len(), 2);
    }
}
