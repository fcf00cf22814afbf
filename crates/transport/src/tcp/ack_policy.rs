//! When to acknowledge: delayed, quick and compressed acknowledgements (RFC 9293 s3.8.6.3,
//! RFC 5681 s4.2; Linux `tcp_event_data_recv`, `__tcp_ack_snd_check`, `tcp_cleanup_rbuf`).
//!
//! Every second full segment is acknowledged at once, and so is a segment that is out of order or
//! fills a gap. This part decides that an acknowledgement is due; `transmit` writes it, and
//! `timers` has the deadlines.

use base::{Duration, Instant};
use std::hint::cold_path;

/// Smallest delay of an acknowledgement (Linux TCP_ATO_MIN, TCP_DELACK_MIN).
const MIN_DELAY: Duration = Duration::from_millis(40);
/// Largest delay (Linux TCP_DELACK_MAX; RFC 9293 allows 500 ms).
const MAX_DELAY: Duration = Duration::from_millis(200);
/// Segments acknowledged at once at the start and after a pause (Linux TCP_MAX_QUICKACKS).
const QUICK_ACKS: u32 = 16;
/// Duplicate acknowledgements sent at once before compression (Linux TCP_FASTRETRANS_THRESH).
const UNCOMPRESSED: u32 = 3;
/// Duplicate acknowledgements merged at most (Linux `tcp_comp_sack_nr`).
const MAX_COMPRESSED: u32 = 44;
/// Longest time that duplicate acknowledgements are held back (Linux `tcp_comp_sack_delay_ns`).
const MAX_COMPRESSION: Duration = Duration::from_millis(1);

/// What to do about an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// None is due.
    Nothing,
    Now,
    Delay(Duration),
    Compress(Duration),
}

/// A data segment that arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub now: Instant,
    pub len: u32,
    /// Payload of a full segment.
    pub segment_size: u32,
    pub push: bool,
    /// RTO of this host's direction, zero if unknown.
    pub rto: Duration,
    /// The announced window, which determines the number of quick acknowledgements.
    pub window: u32,
}

/// The state of the receiver after a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    /// Bytes received in order and not acknowledged yet.
    pub unacked: u64,
    /// Payload of a full segment.
    pub segment_size: u32,
    /// The acknowledgement of two segments waits for the reader (`AckPolicy::on_read`).
    pub left_to_reader: bool,
    /// Something waits behind a gap.
    pub gaps: bool,
    /// The next offset expected, where the first gap begins.
    pub expected: u64,
    /// Acknowledgements of out-of-order segments may be merged.
    pub compress: bool,
    /// Zero if unknown.
    pub srtt: Duration,
}

/// The acknowledgement state of a receiver (Linux `icsk_ack`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckPolicy {
    /// An acknowledgement is due, at once or later.
    scheduled: bool,
    /// An acknowledgement is due at once.
    urgent: bool,
    /// Short segments or PSHs that arrived (at most 2 are counted): an acknowledgement is sent when
    /// the application has read them.
    pushed: u32,
    /// Number of segments to be acknowledged at once.
    quick: u32,
    /// The application answers, so that acknowledgements can be sent with its data.
    interactive: bool,
    /// Estimated gap between data segments; zero before the first.
    ato: Duration,
    last_data: Option<Instant>,
    compressed: u32,
    duplicates: u32,
    /// The gap that `duplicates` counts for.
    duplicates_for: u64,
}

impl AckPolicy {
    /// The connection was opened actively just now.
    pub(crate) const fn on_connected(&mut self, now: Instant) {
        self.last_data = Some(now);
    }

    /// An acknowledgement is due at once.
    pub(crate) const fn now(&mut self) {
        self.scheduled = true;
        self.urgent = true;
    }

    /// An acknowledgement is due.
    pub(crate) const fn owe(&mut self) {
        self.scheduled = true;
    }

    /// Whether an acknowledgement is due at once.
    pub(crate) const fn is_urgent(&self) -> bool {
        self.urgent
    }

    /// An in-order data segment arrived.
    #[inline(always)]
    pub(crate) fn on_data(&mut self, arrival: &Arrival) {
        self.scheduled = true;
        self.measure(arrival);
        match (self.ato.is_zero(), self.last_data) {
            (true, _) => {
                self.add_quick(arrival.window, arrival.segment_size);
                self.ato = MIN_DELAY;
            }
            (false, Some(last)) => self.adapt(arrival, arrival.now - last),
            (false, None) => {}
        }
        self.last_data = Some(arrival.now);
    }

    #[inline(always)]
    fn measure(&mut self, arrival: &Arrival) {
        if arrival.len >= arrival.segment_size {
            self.pushed |= u32::from(arrival.push);
            return;
        }
        self.pushed = if self.pushed > 0 { 2 } else { 1 };
    }

    #[inline(always)]
    fn adapt(&mut self, arrival: &Arrival, gap: Duration) {
        if gap <= MIN_DELAY / 2 {
            self.ato = self.ato / 2 + MIN_DELAY / 2;
        } else {
            self.adapt_to_pause(arrival, gap);
        }
    }

    #[inline(never)]
    fn adapt_to_pause(&mut self, arrival: &Arrival, gap: Duration) {
        if gap < self.ato {
            self.ato = self.ato / 2 + gap;
            if !arrival.rto.is_zero() && self.ato > arrival.rto {
                self.ato = arrival.rto;
            }
        } else if !arrival.rto.is_zero() && gap > arrival.rto {
            // Too long a gap: the sender may be in slow start again.
            self.add_quick(arrival.window, arrival.segment_size);
        }
    }

    #[inline(never)]
    fn add_quick(&mut self, window: u32, segment_size: u32) {
        let wanted = (window / (2 * segment_size.max(1))).max(2);
        self.quick = self.quick.max(wanted.min(QUICK_ACKS));
    }

    /// The window is growing, which the sender is to know segment by segment (Linux sets the lowest
    /// bit of the number of quick acknowledgements).
    pub(crate) const fn on_window_growth(&mut self, opened: bool) {
        self.quick |= opened as u32;
    }

    /// The segment was out of order or a duplicate: it and the following ones are acknowledged at
    /// once.
    pub(crate) fn enter_quick(&mut self, window: u32, segment_size: u32) {
        self.add_quick(window, segment_size);
        self.interactive = false;
        self.ato = MIN_DELAY;
    }

    /// Data were sent at `now`: an answer within the delay makes the connection interactive.
    pub(crate) fn on_data_sent(&mut self, now: Instant) {
        if self.last_data.is_some_and(|last| now - last < self.ato) {
            self.interactive = true;
        }
    }

    /// What to do about an acknowledgement after a segment was processed.
    pub(crate) fn after_segment(&mut self, received: &Received) -> Verdict {
        if !self.scheduled {
            return Verdict::Nothing;
        }
        let two_segments = received.unacked > u64::from(received.segment_size);
        if (two_segments && !received.left_to_reader)
            || self.urgent
            || (self.quick > 0 && !self.interactive)
        {
            self.urgent = true;
            return Verdict::Now;
        }
        if !received.gaps {
            return Verdict::Delay(self.delay(received.srtt));
        }
        cold_path();
        if !received.compress {
            self.urgent = true;
            return Verdict::Now;
        }
        self.compress(received.expected, received.srtt)
    }

    fn compress(&mut self, expected: u64, rtt: Duration) -> Verdict {
        if self.duplicates_for != expected {
            self.duplicates_for = expected;
            self.duplicates = 0;
        }
        if self.duplicates < UNCOMPRESSED || self.compressed >= MAX_COMPRESSED {
            self.duplicates += 1;
            self.urgent = true;
            return Verdict::Now;
        }
        self.compressed += 1;
        debug_assert!(self.compressed <= MAX_COMPRESSED, "merged acknowledgements are bounded");
        // A twentieth of the round trip, as in Linux.
        Verdict::Compress((rtt / 20).min(MAX_COMPRESSION))
    }

    /// The delay: the estimated gap between segments, bounded by the round trip if one is known.
    fn delay(&self, srtt: Duration) -> Duration {
        if self.ato <= MIN_DELAY || srtt.is_zero() {
            return self.ato.clamp(MIN_DELAY, MAX_DELAY);
        }
        self.ato.min(srtt.max(MIN_DELAY)).min(MAX_DELAY)
    }

    /// The application read, and `emptied` the buffer: whether that makes an acknowledgement urgent
    /// (Linux `tcp_cleanup_rbuf`).
    pub(crate) fn on_read(&mut self, unacked: u64, segment_size: u32, emptied: bool) -> bool {
        if !self.scheduled {
            return false;
        }
        let pushed = self.pushed == 2 || (self.pushed == 1 && !self.interactive);
        self.urgent |= (pushed && emptied) || unacked > u64::from(segment_size);
        self.urgent
    }

    /// The delayed acknowledgement timer fired.
    pub(crate) fn on_delayed_ack_timeout(&mut self) {
        if !self.scheduled {
            return;
        }
        if self.interactive {
            // The answer did not come in time: the connection is not interactive.
            self.interactive = false;
            self.ato = MIN_DELAY;
        } else {
            self.ato = (self.ato * 2).min(MAX_DELAY);
        }
        self.urgent = true;
    }

    /// An acknowledgement was sent, alone or with data.
    pub(crate) const fn on_ack_sent(&mut self) {
        if self.scheduled {
            self.quick = self.quick.saturating_sub(1);
        }
        self.scheduled = false;
        self.urgent = false;
        self.pushed = 0;
        self.compressed = 0;
    }

    /// Whether an acknowledgement is due, at once or later.
    pub(crate) const fn is_owed(&self) -> bool {
        self.scheduled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(ms: u64) -> Arrival {
        Arrival {
            now: Instant::from_millis(ms),
            len: 1448,
            segment_size: 1448,
            push: false,
            rto: Duration::from_millis(300),
            window: 65_536,
        }
    }

    fn received(unacked: u64, gaps: bool) -> Received {
        let srtt = Duration::from_millis(10);
        Received {
            unacked,
            segment_size: 1448,
            left_to_reader: false,
            gaps,
            expected: 1000,
            compress: true,
            srtt,
        }
    }

    #[test]
    fn first_sixteen_segments_are_acknowledged_at_once() {
        let mut policy = AckPolicy::default();
        let mut verdicts = Vec::new();
        for n in 0..20 {
            policy.on_data(&arrival(n));
            let verdict = policy.after_segment(&received(1448, false));
            if verdict == Verdict::Now {
                policy.on_ack_sent();
            }
            verdicts.push(verdict);
        }
        assert!(verdicts[..16].iter().all(|verdict| *verdict == Verdict::Now));
        assert_eq!(verdicts[16], Verdict::Delay(MIN_DELAY));
    }

    #[test]
    fn every_second_full_segment_is_acknowledged() {
        let mut policy = AckPolicy::default();
        policy.on_data(&arrival(0));
        policy.quick = 0;
        assert!(matches!(policy.after_segment(&received(1448, false)), Verdict::Delay(_)));
        policy.on_data(&arrival(1));
        assert_eq!(policy.after_segment(&received(2896, false)), Verdict::Now);
    }

    #[test]
    fn two_segments_left_to_the_reader_are_acknowledged_when_it_reads() {
        let mut policy = AckPolicy::default();
        policy.on_data(&arrival(0));
        policy.quick = 0;
        policy.on_data(&arrival(1));
        let left = Received { left_to_reader: true, ..received(2896, false) };
        assert!(matches!(policy.after_segment(&left), Verdict::Delay(_)));
        assert!(!policy.is_urgent());
        assert!(policy.on_read(2896, 1448, false));
    }

    #[test]
    fn fourth_duplicate_is_compressed_to_a_twentieth_of_the_round_trip() {
        let mut policy = AckPolicy::default();
        let mut verdicts = Vec::new();
        for _ in 0..5 {
            policy.scheduled = true;
            let verdict = policy.after_segment(&received(0, true));
            if verdict == Verdict::Now {
                policy.on_ack_sent();
            }
            verdicts.push(verdict);
        }
        assert_eq!(verdicts[..3], [Verdict::Now; 3]);
        assert_eq!(verdicts[3], Verdict::Compress(Duration::from_micros(500)));
    }

    #[test]
    fn a_pushed_segment_is_acknowledged_once_read() {
        let mut policy = AckPolicy::default();
        policy.on_data(&arrival(0));
        policy.quick = 0;
        policy.on_data(&Arrival { push: true, ..arrival(1) });
        assert!(!policy.on_read(1448, 1448, false), "something else waits to be read");
        assert!(policy.on_read(1448, 1448, true));
    }
}
