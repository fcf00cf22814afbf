//! `burst:N`: N segments written at once on a connection that was warmed up and fell idle.
//!
//! 002 sV-B: the window has grown and is reset by the idle time (RFC 5681 s4.1); then one write is
//! sent with the restart window. A segment is 1420 bytes (1428 with the papers' kernels) for every
//! protocol, so that MPTCP and TCP send the same bytes.

use crate::model::{Due, Message, TrafficModel};
use crate::one_way::Report;
use crate::outcome::{Metric, Outcome, mean};
use base::Duration;

/// Segments of the warm-up.
const WARM_UP_SEGMENTS: u64 = 20;
/// Silence between warm-up and burst: longer than any retransmission time-out met here.
const IDLE: Duration = Duration::from_secs(3);

/// A warm-up and one burst.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    /// Segments of the burst.
    pub segments: u32,
    /// Payload of one segment, in bytes.
    pub segment_bytes: u32,
}

impl TrafficModel for Burst {
    fn message(&self, index: u64) -> Option<Message> {
        let segment = u64::from(self.segment_bytes);
        match index {
            0 => Some(Message {
                due: Due::SinceStart(Duration::ZERO),
                len: WARM_UP_SEGMENTS * segment,
                measured: false,
            }),
            1 => Some(Message {
                due: Due::SincePrevious(IDLE),
                len: u64::from(self.segments) * segment,
                measured: true,
            }),
            _ => None,
        }
    }

    /// A segment is a message.
    fn message_bytes(&self) -> Option<u32> {
        Some(self.segment_bytes)
    }

    fn metric(&self) -> Metric {
        Metric::MessageDelay
    }

    fn outcome(&self, client: &Report, sender: &Report, receiver: &Report) -> Outcome {
        let delays = receiver.delays_since(sender);
        Outcome {
            metric: self.metric(),
            value: mean(&delays),
            bytes_read: receiver.bytes_read,
            message_delays: delays,
            parts: receiver.parts_since(sender, client),
            extra: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_is_a_warm_up_and_one_measured_message() {
        let burst = Burst { segments: 30, segment_bytes: 1420 };
        let warm_up = burst.message(0).expect("a warm-up");
        assert_eq!((warm_up.len, warm_up.measured), (28_400, false));
        let message = burst.message(1).expect("a burst");
        assert_eq!((message.len, message.measured), (42_600, true));
        assert_eq!(message.due, Due::SincePrevious(Duration::from_secs(3)));
        assert_eq!(burst.message(2), None);
    }
}
