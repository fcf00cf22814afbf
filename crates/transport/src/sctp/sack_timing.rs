//! `SackTiming`: when a receiver of data sends a SACK (RFC 9260 s6.2 and s6.7).
//!
//! At most one SACK answers a packet. What it reports is left to `ReceivedTsns`.

use base::{Duration, Instant};

/// Packets with data that one SACK acknowledges (RFC 9260 s6.2).
const FREQUENCY: u32 = 2;

/// What a packet with data, or with FORWARD TSN, brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataPacket {
    /// Whether any of its chunks had not arrived before.
    pub content: Content,
    /// TSNs that are missing.
    pub gap: Gap,
    /// A chunk asks for an immediate SACK (I bit).
    pub immediate: bool,
    /// A chunk was dropped for lack of memory.
    pub dropped: bool,
}

/// Chunks of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// A chunk arrived for the first time, or a TSN was skipped.
    New,
    /// All chunks had arrived before.
    Duplicates,
}

/// Missing TSNs below one that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gap {
    /// None, as before the packet.
    None,
    /// There are some.
    Open,
    /// The packet brought the last of them.
    Closed,
}

/// Timer and counters of a receiver.
#[derive(Clone, Debug)]
pub struct SackTiming {
    /// SACK.Delay (RFC 9260 s16).
    delay: Duration,
    /// A gap alone does not force a SACK (delayed acknowledgement for concurrent multipath).
    dac: bool,
    /// Packets with data since the last SACK.
    unacknowledged: u32,
    /// No data have arrived yet.
    is_first: bool,
    deadline: Option<Instant>,
}

impl SackTiming {
    /// No data have arrived. `delay`: how long a SACK may be delayed; `dac`: gaps are usual, and
    /// alone do not force a SACK.
    pub const fn new(delay: Duration, dac: bool) -> Self {
        SackTiming { delay, dac, unacknowledged: 0, is_first: true, deadline: None }
    }

    /// A packet arrived; returns whether a SACK must be sent at once. `shutting_down`: SHUTDOWN
    /// was sent (RFC 9260 s9.2).
    #[inline(always)]
    pub fn on_packet(&mut self, now: Instant, packet: &DataPacket, shutting_down: bool) -> bool {
        self.unacknowledged += 1;
        let gap_matters = match packet.gap {
            Gap::None => false,
            Gap::Open => !self.dac,
            Gap::Closed => true,
        };
        let at_once = self.is_first
            || packet.immediate
            || packet.content == Content::Duplicates
            || packet.dropped
            || shutting_down
            || gap_matters
            || self.unacknowledged >= FREQUENCY;
        self.is_first = false;
        if !at_once {
            self.deadline.get_or_insert(now + self.delay);
        }
        at_once
    }

    /// A SACK is sent, alone or with data.
    pub const fn on_sack(&mut self) {
        (self.unacknowledged, self.deadline) = (0, None);
    }

    /// When a SACK must be sent at the latest.
    pub const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Packets that no SACK has acknowledged, 0 to 3: the count of delayed acknowledgements for
    /// concurrent multipath that the SACK to send has.
    pub fn dac_packets(&self) -> u8 {
        self.unacknowledged.min(3) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: DataPacket =
        DataPacket { content: Content::New, gap: Gap::None, immediate: false, dropped: false };

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// A receiver whose first data are acknowledged.
    fn running(dac: bool) -> SackTiming {
        let mut timing = SackTiming::new(Duration::from_millis(200), dac);
        assert!(timing.on_packet(at(0), &NEW, false), "the first data of an association");
        timing.on_sack();
        timing
    }

    #[test]
    fn second_packet_is_acknowledged_at_once_and_a_single_one_after_200_ms() {
        let mut timing = running(false);
        assert!(!timing.on_packet(at(1_000), &NEW, false));
        assert_eq!(timing.deadline(), Some(at(201_000)));
        assert_eq!(timing.dac_packets(), 1);
        assert!(timing.on_packet(at(90_000), &NEW, false));
        timing.on_sack();
        assert_eq!((timing.deadline(), timing.dac_packets()), (None, 0));
        assert!(!timing.on_packet(at(100_000), &NEW, false), "counted anew");
        assert_eq!(timing.deadline(), Some(at(300_000)));
    }

    #[test]
    fn what_forces_a_sack_at_once() {
        let cases = [
            (DataPacket { immediate: true, ..NEW }, [true, true]),
            (DataPacket { content: Content::Duplicates, ..NEW }, [true, true]),
            (DataPacket { dropped: true, ..NEW }, [true, true]),
            (DataPacket { gap: Gap::Open, ..NEW }, [true, false]),
            (DataPacket { gap: Gap::Closed, ..NEW }, [true, true]),
            (NEW, [false, false]),
        ];
        for (packet, expected) in cases {
            for (dac, expected) in [false, true].into_iter().zip(expected) {
                let sends = running(dac).on_packet(at(0), &packet, false);
                assert_eq!(sends, expected, "{packet:?}, DAC {dac}");
            }
            assert!(running(false).on_packet(at(0), &packet, true), "after SHUTDOWN");
        }
    }

    #[test]
    fn timer_keeps_its_first_deadline_and_counts_saturate() {
        let mut timing = running(true);
        let gap = DataPacket { gap: Gap::Open, ..NEW };
        assert!(!timing.on_packet(at(0), &gap, false));
        assert!(timing.on_packet(at(5), &gap, false), "two packets");
        assert!(timing.on_packet(at(6), &gap, false), "no SACK was sent yet");
        assert!(timing.on_packet(at(7), &gap, false));
        assert_eq!((timing.deadline(), timing.dac_packets()), (Some(at(200_000)), 3));
    }
}
