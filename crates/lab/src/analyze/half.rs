//! `Half`: data sent by one end of a subflow, in positions of its own sequence space.
//!
//! Position 0 is the SYN, 1 the first byte, as in the mappings of a DSS. Leaves the connection's
//! sequence space to `data`.

use super::capture::Segment;
use base::{Duration, Instant};
use std::collections::BTreeMap;
use std::ops::Range;
use transport::buffer::RangeSet;
use wire::{Flags, SeqNumber};

/// Without timestamps, a segment that fills a gap later than this is a retransmission.
const REORDERING: Duration = Duration::from_millis(3);

/// Largest segment if the capture has no SYN.
const USUAL_MSS: u16 = 1460;

/// Bytes that wait for missing bytes, or that have just become in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub end: u64,
    pub arrival: Instant,
}

/// One direction of a subflow.
#[derive(Clone, Debug, Default)]
pub(super) struct Half {
    /// Sequence number of position 0.
    initial: Option<SeqNumber>,
    /// Position of the first byte that may be seen.
    first: u64,
    /// Positions of bytes seen.
    seen: RangeSet,
    /// Position after the highest byte seen.
    highest: u64,
    /// Gaps by first position: time of detection, and timestamp of the segment after the gap.
    gaps: BTreeMap<u64, (Instant, Option<u32>)>,
    /// Unacknowledged segments by first position.
    outstanding: BTreeMap<u64, Outstanding>,
    acknowledged: u64,
    sacked: RangeSet,
    /// New bytes by first position, until they are in order.
    waiting: BTreeMap<u64, Piece>,
    in_order: u64,
    pub segments: u64,
    pub bytes: u64,
    pub resent_segments: u64,
    pub resent_bytes: u64,
    /// Retransmissions whose first copy was not seen: lost before the point of capture.
    pub lost_segments: u64,
    /// Largest segment that both ends accept, from their SYNs.
    mss: Option<u16>,
    /// Segments on the network, those lost before the point of capture included. A captured one
    /// that hardware divides or has joined is several.
    pub on_network: u64,
    /// Retransmissions among them.
    pub resent_on_network: u64,
    /// Bytes acknowledged, but not in the capture, below the highest one seen.
    missed_below: u64,
    /// Before any segment is seen, the first and the furthest acknowledgement.
    unseen: Option<(SeqNumber, SeqNumber)>,
    /// A FIN was seen.
    pub has_fin: bool,
    /// Samples of the RTT, in seconds.
    pub rtt: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Outstanding {
    end: u64,
    time: Instant,
    again: bool,
}

impl Half {
    /// Position of a sequence number near those seen; `None` before the first byte.
    pub(super) fn position(&self, seq: SeqNumber) -> Option<u64> {
        let near = self.highest.max(self.acknowledged);
        u64::try_from(seq.to_offset(self.initial?, near)).ok()
    }

    /// Whether a SYN with this number belongs to another connection with the same addresses.
    pub(super) fn is_other_connection(&self, seq: SeqNumber) -> bool {
        self.initial.is_some_and(|initial| initial != seq)
    }

    /// Initialises positions from the first segment: a SYN has position 0; a segment in the middle
    /// of a connection is relative to the SYN's number if `before` knows it, and otherwise becomes
    /// the first byte.
    pub(super) fn begin(&mut self, segment: &Segment, before: impl FnOnce() -> Option<SeqNumber>) {
        if self.initial.is_some() {
            return;
        }
        let is_syn = segment.flags.contains(Flags::SYN);
        let syn = if is_syn { Some(segment.seq) } else { before() };
        let syn = syn.unwrap_or(segment.seq - 1);
        self.initial = Some(syn);
        // Earlier bytes are not in the capture.
        let first = u64::from((segment.seq - syn.0).0).max(1);
        (self.first, self.highest, self.in_order, self.acknowledged) = (first, first, first, first);
    }

    /// Positions of the payload of a segment of this direction. Data before the first byte do not
    /// belong to this connection, or precede the capture.
    pub(super) fn range(&self, segment: &Segment) -> Option<Range<u64>> {
        let position = self.position(segment.seq).filter(|_| segment.len > 0)?;
        let first = position + u64::from(segment.flags.contains(Flags::SYN));
        Some(first.max(self.first)..first + segment.len).filter(|range| !range.is_empty())
    }

    /// Whether a segment repeats the last byte although it was acknowledged, which asks whether the
    /// peer still lives (RFC 9293 s3.8.4).
    pub(super) fn is_keep_alive(&self, segment: &Segment) -> bool {
        let last = self.highest.saturating_sub(1)..self.highest;
        segment.len == 1 && self.acknowledged >= last.end && self.range(segment) == Some(last)
    }

    /// Processes a segment of this direction; returns the ranges of new bytes.
    pub(super) fn sent(&mut self, segment: &Segment) -> Vec<Range<u64>> {
        let Some(range) = self.range(segment) else { return Vec::new() };
        let new: Vec<Range<u64>> = self.seen.missing(range.clone()).collect();
        self.count(segment, &range, &new);
        self.track(segment, &range, &new);
        new
    }

    fn count(&mut self, segment: &Segment, range: &Range<u64>, new: &[Range<u64>]) {
        let len = range.end - range.start;
        let fresh: u64 = new.iter().map(|range| range.end - range.start).sum();
        self.segments += 1;
        self.bytes += len;
        self.on_network += self.divided(len);
        let late = new.first().is_some_and(|new| new.start < self.highest);
        let lost = late && self.was_sent_again(segment, range.start);
        // A single byte of a segment may be new (a probe of a closed window).
        if fresh < len || lost {
            self.resent_segments += 1;
            let again = if lost { len } else { len - fresh };
            self.resent_bytes += again;
            self.resent_on_network += self.divided(again);
        }
        if lost {
            self.lost_segments += 1;
            self.on_network += self.divided(len);
        }
    }

    /// Segments on the network of a captured one with this payload.
    fn divided(&self, len: u64) -> u64 {
        len.div_ceil(self.mss.unwrap_or(USUAL_MSS).max(1).into())
    }

    /// One of the ends accepts segments of at most this payload.
    pub(super) fn limit(&mut self, mss: u16) {
        self.mss = Some(self.mss.map_or(mss, |known| known.min(mss)));
    }

    /// Whether a segment that fills a gap was sent after the segment behind the gap, rather than
    /// reordered.
    fn was_sent_again(&self, segment: &Segment, start: u64) -> bool {
        let Some((_, (opened, stamp))) = self.gaps.range(..=start).next_back() else {
            return false;
        };
        match (segment.options.timestamps, stamp) {
            (Some(own), Some(behind)) => (own.value.wrapping_sub(*behind) as i32) > 0,
            _ => segment.time > *opened + REORDERING,
        }
    }

    fn track(&mut self, segment: &Segment, range: &Range<u64>, new: &[Range<u64>]) {
        let time = segment.time;
        if range.start > self.highest {
            let stamp = segment.options.timestamps.map(|stamps| stamps.value);
            self.gaps.insert(self.highest, (time, stamp));
        }
        for (_, sent) in self.outstanding.range_mut(..range.end).rev() {
            if sent.end <= range.start {
                break;
            }
            sent.again = true;
        }
        for new in new {
            self.seen.insert(new.clone());
            // A segment that fills a gap may be a second copy of one lost before the capture.
            let again = new.start < self.highest;
            self.outstanding.insert(new.start, Outstanding { end: new.end, time, again });
            self.waiting.insert(new.start, Piece { end: new.end, arrival: time });
        }
        self.highest = self.highest.max(range.end);
    }

    /// Processes an acknowledgement of the other end; samples the RTT of the oldest newly
    /// acknowledged segment as Linux does (`tcp_clean_rtx_queue`), unless one of them was sent
    /// again; also from SACKs.
    pub(super) fn acked(&mut self, segment: &Segment) {
        if self.initial.is_none() {
            let (first, furthest) = self.unseen.unwrap_or((segment.ack, segment.ack));
            let is_further = segment.ack > furthest;
            self.unseen = Some((first, if is_further { segment.ack } else { furthest }));
            return;
        }
        // One of data before the capture may report later ones.
        let up_to = self.position(segment.ack).unwrap_or(0);
        let (mut oldest, mut has_resent): (Option<Instant>, bool) = (None, false);
        while let Some((&start, &sent)) = self.outstanding.first_key_value()
            && sent.end <= up_to
        {
            self.outstanding.pop_first();
            has_resent |= sent.again;
            if !sent.again && !self.sacked.contains(start) {
                oldest = oldest.or(Some(sent.time));
            }
        }
        let in_part = self.acked_in_part(up_to);
        let selected = self.newly_selected(segment, up_to);
        let in_order = oldest.or(in_part).filter(|_| !has_resent);
        if let Some(sent) = in_order.or(selected) {
            self.rtt.push((segment.time - sent).as_secs_f64());
        }
        self.acknowledged = self.acknowledged.max(up_to);
        self.sacked.remove_below(up_to);
        self.skip_missed(up_to);
    }

    /// Sending time of the segment that `up_to` divides, if hardware had divided it and a part was
    /// acknowledged that was sent once (`tcp_tso_acked`).
    fn acked_in_part(&mut self, up_to: u64) -> Option<Instant> {
        let (start, sent) = self.outstanding.first_key_value().map(|(at, sent)| (*at, *sent))?;
        let parts = self.divided(sent.end - start);
        if start >= up_to || parts == 1 {
            return None;
        }
        self.outstanding.pop_first();
        self.outstanding.insert(up_to, sent);
        let is_sample = !sent.again && !self.sacked.contains(start);
        (is_sample && self.divided(sent.end - up_to) < parts).then_some(sent.time)
    }

    /// Sending time of the oldest newly selectively acknowledged segment.
    fn newly_selected(&mut self, segment: &Segment, up_to: u64) -> Option<Instant> {
        let mut oldest = None;
        for (left, right) in segment.options.sack.as_slice() {
            let Some(end) = self.position(*right) else { continue };
            // It may begin before the capture.
            let start = self.position(*left).unwrap_or(self.first);
            // A block below the acknowledgement reports a duplicate (RFC 2883).
            if start < up_to || end <= start {
                continue;
            }
            let new: Vec<Range<u64>> = self.sacked.missing(start..end).collect();
            for new in new {
                let inside = self.outstanding.range(new.clone());
                let once = inside.filter(|(_, sent)| sent.end <= new.end && !sent.again);
                oldest = once.map(|(_, sent)| sent.time).chain(oldest).min();
                self.sacked.insert(new);
            }
        }
        oldest
    }

    /// Acknowledged data were received, even if the capture lacks them.
    fn skip_missed(&mut self, up_to: u64) {
        // A FIN has a position, but is not a byte.
        let up_to = up_to.min(self.highest);
        for gap in self.seen.missing(self.in_order..up_to.max(self.in_order)).collect::<Vec<_>>() {
            self.missed_below += gap.end - gap.start;
            self.seen.insert(gap.clone());
            if gap.start == self.in_order {
                self.in_order = gap.end;
            }
        }
        let behind = self.gaps.split_off(&self.in_order);
        let before = std::mem::replace(&mut self.gaps, behind);
        // The rest of a gap of several segments, of which the first have been filled.
        if let Some((_, opened)) = before.into_iter().next_back().filter(|_| up_to < self.highest) {
            self.gaps.entry(self.in_order).or_insert(opened);
        }
    }

    /// Bytes acknowledged, but not in the capture. A FIN that is not there either counts as one of
    /// them if it is not the only one.
    pub(super) fn missed_bytes(&self) -> u64 {
        let behind = match self.unseen {
            Some((first, furthest)) if self.initial.is_none() => (furthest - first.0).0.into(),
            _ => self.acknowledged.saturating_sub(self.highest),
        };
        let fin = u64::from(self.has_fin || behind == 1);
        self.missed_below + behind.saturating_sub(fin)
    }

    /// Whether all bytes before `position` are in order, and this one is not.
    pub(super) fn is_next(&self, position: u64) -> bool {
        self.in_order == position
    }

    /// The next bytes in order.
    pub(super) fn next_in_order(&mut self) -> Option<(u64, Piece)> {
        let (&start, &piece) = self.waiting.first_key_value()?;
        if start > self.in_order && !self.seen_up_to(start) {
            return None;
        }
        self.waiting.pop_first();
        self.in_order = self.in_order.max(piece.end);
        Some((start, piece))
    }

    fn seen_up_to(&self, position: u64) -> bool {
        self.seen.missing(self.in_order..position).next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::TcpOptions;

    fn segment(seq: u32, ack: u32, len: u64) -> Segment {
        let end = ([10, 0, 0, 1], 1).into();
        Segment {
            time: Instant::ZERO,
            interface: 0,
            src: end,
            dst: end,
            identification: 0,
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            flags: Flags::ACK,
            options: TcpOptions::default(),
            len,
        }
    }

    /// Regression: of a gap of several segments only the first one counted as lost.
    #[test]
    fn every_segment_of_a_gap_is_lost() {
        let mut half = Half::default();
        let at = |millis, seq, len| Segment {
            time: Instant::ZERO + Duration::from_millis(millis),
            ..segment(seq, 0, len)
        };
        half.begin(&at(0, 101, 0), || Some(SeqNumber(100)));
        half.sent(&at(0, 101, 100));
        half.sent(&at(1, 601, 100));
        for (number, seq) in [201_u32, 301, 401, 501].into_iter().enumerate() {
            half.sent(&at(30 + number as u64, seq, 100));
            while half.next_in_order().is_some() {}
            half.acked(&segment(0, seq + 100, 0));
        }
        assert_eq!((half.resent_segments, half.lost_segments, half.missed_bytes()), (4, 4, 0));
    }

    /// Regression: packets of 40 segments and retransmissions of one counted alike.
    #[test]
    fn packet_that_hardware_divides_is_several_segments_on_the_network() {
        let mut half = Half::default();
        half.begin(&segment(101, 0, 0), || Some(SeqNumber(100)));
        half.limit(1460);
        half.limit(9000);
        half.sent(&segment(101, 0, 40 * 1448));
        half.sent(&segment(101 + 40 * 1448, 0, 100));
        half.sent(&segment(101, 0, 1448));
        half.sent(&segment(101 + 1448, 0, 2 * 1448));
        assert_eq!((half.segments, half.resent_segments), (4, 2));
        assert_eq!((half.on_network, half.resent_on_network), (44, 3));
    }

    /// Regression: where a capture began behind a lost segment, the acknowledgement that filled the
    /// gap was the only sample, with the time that it took to fill it.
    #[test]
    fn blocks_that_begin_before_the_capture_are_samples() {
        let mut half = Half::default();
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let sent = |millis, seq| Segment { time: at(millis), ..segment(seq, 0, 100) };
        half.begin(&sent(0, 5001), || None);
        half.sent(&sent(0, 5001));
        half.sent(&sent(10, 5101));
        for (millis, ack, right) in [(40, 4001, 5101), (50, 4001, 5201), (90, 5201, 0)] {
            let mut acknowledgement = Segment { time: at(millis), ..segment(1, ack, 0) };
            if right > 0 {
                acknowledgement.options.sack.push(SeqNumber(4101), SeqNumber(right));
            }
            half.acked(&acknowledgement);
        }
        assert_eq!(half.rtt, [0.04, 0.04]);
    }

    /// Regression: an acknowledgement of a segment sent once and one sent again was a sample of the
    /// first one, which had waited for the retransmission.
    #[test]
    fn acknowledgement_of_a_segment_sent_again_is_no_sample() {
        let mut half = Half::default();
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let sent = |millis, seq| Segment { time: at(millis), ..segment(seq, 0, 100) };
        half.begin(&segment(101, 0, 0), || Some(SeqNumber(100)));
        for (millis, seq) in [(0, 101), (1, 201), (300, 201), (310, 301), (311, 401)] {
            half.sent(&sent(millis, seq));
        }
        for (millis, ack) in [(340, 301), (350, 501)] {
            half.acked(&Segment { time: at(millis), ..segment(1, ack, 0) });
        }
        assert_eq!(half.rtt, [0.04]);
    }

    /// Regression: a packet that hardware divides had one sample, when its last byte was
    /// acknowledged.
    #[test]
    fn acknowledged_parts_of_a_divided_packet_are_samples() {
        let mut half = Half::default();
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        half.begin(&segment(101, 0, 0), || Some(SeqNumber(100)));
        half.limit(1000);
        half.sent(&segment(101, 0, 500));
        half.sent(&segment(601, 0, 5000));
        // The second one is repeated, the last but one acknowledges less than a segment.
        for (millis, ack) in [(40, 2601), (41, 2601), (42, 4601), (43, 4701), (44, 5601)] {
            half.acked(&Segment { time: at(millis), ..segment(1, ack, 0) });
        }
        assert_eq!(half.rtt, [0.04, 0.042, 0.044]);
        assert!(half.outstanding.is_empty());
    }

    /// Regression: only gaps before captured data counted as missed.
    #[test]
    fn bytes_behind_the_last_one_seen_are_missed_if_they_were_acknowledged() {
        let mut half = Half::default();
        [101, 301, 300, 402].iter().for_each(|ack| half.acked(&segment(0, *ack, 0)));
        assert_eq!(half.missed_bytes(), 301, "without any segment");
        half.begin(&segment(100, 0, 0), || Some(SeqNumber(100)));
        half.sent(&segment(101, 0, 100));
        for (ack, missed) in [(201, 0), (202, 0), (401, 200)] {
            half.acked(&segment(0, ack, 0));
            assert_eq!(half.missed_bytes(), missed, "{ack}");
        }
        half.has_fin = true;
        assert_eq!(half.missed_bytes(), 199);
        half.sent(&segment(401, 0, 100));
        half.acked(&segment(0, 502, 0));
        assert_eq!(half.missed_bytes(), 200);
    }

    #[test]
    fn last_byte_again_is_a_keep_alive_once_it_was_acknowledged() {
        let mut half = Half::default();
        half.begin(&segment(101, 0, 0), || Some(SeqNumber(100)));
        assert!(!half.is_keep_alive(&segment(100, 0, 1)), "before any data");
        half.sent(&segment(101, 0, 50));
        let (last, earlier) = (segment(150, 0, 1), segment(149, 0, 1));
        assert!(!half.is_keep_alive(&last), "it may be a retransmission");
        half.acked(&segment(0, 151, 0));
        assert!(half.is_keep_alive(&last));
        assert!(!half.is_keep_alive(&earlier) && !half.is_keep_alive(&segment(149, 0, 2)));
        assert!(!half.is_keep_alive(&segment(151, 0, 1)), "a new byte");
    }
}
