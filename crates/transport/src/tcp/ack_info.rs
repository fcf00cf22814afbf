//! The effect of one acknowledgement, collected while it is processed and read by loss recovery and
//! congestion control.

use crate::recovery::{PlainRun, SentSegment};
use base::{Duration, Instant};
use std::hint::cold_path;
use std::ops::Range;
use wire::SackBlocks;
use wire::SeqNumber;

/// The effect of one acknowledgement.
#[derive(Clone, Debug, Default)]
pub(super) struct AckInfo {
    /// The sender before the acknowledgement was processed.
    pub prior: Prior,
    pub delivered: Delivered,
    /// SND.UNA advanced.
    pub una_advanced: bool,
    /// The segment carried payload or changed the window, so it is no duplicate acknowledgement.
    pub not_dup: bool,
    /// The range that a D-SACK reports.
    pub dsack: Option<Range<u64>>,
    /// A D-SACK reported the outstanding loss probe.
    pub probe_duplicated: bool,
    /// The echoed timestamp.
    pub echo: Option<u32>,
    /// The RTT sample of the newest segment.
    pub rtt: Option<Duration>,
    /// The retransmission timer is to be restarted.
    pub restart_timer: bool,
    /// Number of segments declared lost.
    pub newly_lost: u32,
}

/// The sender before an acknowledgement was processed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prior {
    pub una: u64,
    pub inflight: u32,
    pub highest_sacked: u64,
}

/// The segments that an acknowledgement delivered.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivered {
    /// Number of segments newly delivered, cumulatively or selectively.
    pub segs: u32,
    pub bytes: u64,
    /// Number of segments newly SACKed.
    pub newly_sacked: u32,
    /// Number of segments cumulatively acknowledged.
    pub newly_acked: u32,
    /// A segment that was retransmitted is cumulatively acknowledged.
    pub retransmitted_acked: bool,
    /// A segment that was never retransmitted and sent before the recovery point is delivered.
    pub original: bool,
    /// RACK's most recently sent delivered segment is to be compared with the outstanding ones.
    pub rack_advanced: bool,
    /// Offset of the lowest segment delivered after higher ones without a retransmission.
    pub reordered: Option<u64>,
    /// Oldest and newest transmission time of the segments that are cumulatively acknowledged and
    /// were never retransmitted.
    pub acked_sent: Option<(Instant, Instant)>,
    /// Oldest and newest transmission time of the segments that are SACKed and were never
    /// retransmitted.
    pub sacked_sent: Option<(Instant, Instant)>,
}

impl AckInfo {
    /// Whether the acknowledgement is a duplicate (RFC 5681 s2).
    pub(super) const fn is_duplicate(&self) -> bool {
        !self.una_advanced && !self.not_dup && self.dsack.is_none()
    }

    /// A segment is cumulatively acknowledged.
    pub(super) fn on_acked(&mut self, segment: &SentSegment) {
        self.delivered.newly_acked += 1;
        self.delivered.retransmitted_acked |= segment.ever_retransmitted();
    }

    /// The same as `on_acked`, `on_delivered` and `on_acked_sent_at` for each segment of `run`: of
    /// what is asked about each, the answer for the first is that for all.
    pub(super) fn on_plain_run(&mut self, run: &PlainRun, high_seq: u64) {
        let delivered = &mut self.delivered;
        delivered.newly_acked += run.segs;
        delivered.segs += run.segs;
        delivered.bytes += run.bytes();
        delivered.original |= run.first.end() <= high_seq;
        if run.first.offset() < self.prior.highest_sacked {
            cold_path();
            let lowest = delivered.reordered.unwrap_or(u64::MAX).min(run.first.offset());
            delivered.reordered = Some(lowest);
        }
        delivered.on_acked_sent_at(run.first.sent_at());
        delivered.on_acked_sent_at(run.last.sent_at());
    }

    /// A segment is delivered. `high_seq`: the recovery point.
    pub(super) fn on_delivered(&mut self, segment: &SentSegment, high_seq: u64) {
        let delivered = &mut self.delivered;
        delivered.segs += 1;
        delivered.bytes += u64::from(segment.len());
        if segment.ever_retransmitted() {
            return;
        }
        delivered.original |= segment.end() <= high_seq;
        if segment.offset() < self.prior.highest_sacked {
            let lowest =
                delivered.reordered.map_or(segment.offset(), |low| low.min(segment.offset()));
            delivered.reordered = Some(lowest);
        }
    }
}

impl Delivered {
    /// The transmission time of a segment that is cumulatively acknowledged.
    pub(super) fn on_acked_sent_at(&mut self, at: Instant) {
        widen(&mut self.acked_sent, at);
    }

    /// The transmission time of a segment that is SACKed.
    pub(super) fn on_sacked_sent_at(&mut self, at: Instant) {
        widen(&mut self.sacked_sent, at);
    }
}

fn widen(span: &mut Option<(Instant, Instant)>, at: Instant) {
    *span = Some(span.map_or((at, at), |(first, last)| (first.min(at), last.max(at))));
}

/// The SACK blocks of an acknowledgement as offsets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SackRanges {
    /// The range that the first block reports as a duplicate (RFC 2883). It may begin before the
    /// stream.
    pub dsack: Option<Range<i64>>,
    /// The other blocks, in ascending order; unused ones are empty.
    pub ranges: [Range<u64>; 4],
}

impl SackRanges {
    /// The blocks of an acknowledgement of `ack`. `first`: sequence number of the first byte of the
    /// stream. Blocks beyond `nxt` are invalid and those below `una` are old.
    pub(super) fn new(blocks: &SackBlocks, first: SeqNumber, ack: i64, una: u64, nxt: u64) -> Self {
        let offsets = |block: (SeqNumber, SeqNumber)| {
            (block.0.to_offset(first, una), block.1.to_offset(first, una))
        };
        let blocks = blocks.as_slice();
        let second = blocks.get(1).map(|block| offsets(*block));
        let mut dsack = None;
        let mut ranges = [0u64..0, 0..0, 0..0, 0..0];
        for (index, block) in blocks.iter().enumerate() {
            let (start, end) = offsets(*block);
            if end <= start || end > nxt as i64 {
                continue;
            }
            // RFC 2883 s4: below the acknowledgement, or within the second block.
            let within_second = second.is_some_and(|second| start >= second.0 && end <= second.1);
            if index == 0 && (end <= ack || within_second) {
                dsack = Some(start..end);
            } else if end > una as i64 {
                ranges[index] = start.max(0) as u64..end as u64;
            }
        }
        // Blocks are in the order of their arrival; reordering is visible in ascending order only.
        ranges.sort_unstable_by_key(|range| range.start);
        debug_assert!(ranges.iter().all(|range| range.end <= nxt), "only sent data are SACKed");
        SackRanges { dsack, ranges }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: SeqNumber = SeqNumber(u32::MAX - 500);

    /// The blocks given as offsets, in an acknowledgement of 1000 with data up to 9000 sent.
    fn ranges(blocks: &[(u64, u64)]) -> SackRanges {
        let mut wire = SackBlocks::NONE;
        for &(start, end) in blocks {
            wire.push(SeqNumber::from_offset(FIRST, start), SeqNumber::from_offset(FIRST, end));
        }
        SackRanges::new(&wire, FIRST, 1000, 1000, 9000)
    }

    #[test]
    fn first_block_below_the_acknowledgement_or_within_the_second_is_a_dsack() {
        assert_eq!(ranges(&[(500, 600)]).dsack, Some(500..600));
        let within = ranges(&[(2000, 3000), (2000, 5000)]);
        assert_eq!(within.dsack, Some(2000..3000));
        assert_eq!(within.ranges[3], 2000..5000);
        assert_eq!(ranges(&[(2000, 5000), (2000, 3000)]).dsack, None);
    }

    #[test]
    fn blocks_are_sorted_and_invalid_ones_dropped() {
        let sorted = ranges(&[(7000, 8000), (3000, 4000), (8000, 9001)]);
        let kept: Vec<_> = sorted.ranges.into_iter().filter(|range| !range.is_empty()).collect();
        assert_eq!(kept, [3000..4000, 7000..8000]);
    }
}
