//! The scoreboard: which sent segments are outstanding, selectively acknowledged, lost or
//! retransmitted (RFC 6675 s3, RFC 8985 s6).
//!
//! Segments are kept in the order of their offsets. A second, intrusive list has the segments whose
//! delivery is still open, in the order of their last transmission, so that RACK examines only
//! those sent before the newest delivered one. The decision that a segment is lost is left to the
//! owner.

use crate::buffer::RangeSet;
use base::{ChunkQueue, Instant, prefetch};
use std::collections::BTreeSet;
use std::hint::cold_path;
use std::ops::Range;

/// One transmitted segment. It is small, because a connection has as many as its window and uses
/// each again only after a round trip: two numbers are a word each with what is beside them.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SentSegment {
    /// Offset of the first byte, then in `LEN_BITS` the length in sequence space: payload bytes,
    /// plus one for a FIN.
    place: u64,
    /// Time of the last transmission in nanoseconds, then in `MARK_BITS` the marks.
    sent: u64,
    /// Lower half of the identifier of the previous segment in the list by time, if any.
    prev: u32,
    /// Lower half of the identifier of the next segment in the list by time, if any.
    next: u32,
}

/// A segment fits into a datagram.
const LEN_BITS: u32 = 16;
/// As many as there are marks, rounded up to a byte.
const MARK_BITS: u32 = 8;

/// The segment is in the list by time: its delivery is open.
const OPEN: u64 = 1;
/// The segment ends the stream.
const FIN: u64 = 1 << 1;
/// The segment is selectively acknowledged.
const SACKED: u64 = 1 << 2;
/// The segment is declared lost, and no acknowledgement of its retransmission came.
const LOST: u64 = 1 << 3;
/// The segment was transmitted more than once.
const EVER_RETRANSMITTED: u64 = 1 << 4;
/// A retransmission is outstanding (counted in `retrans_out`).
const RETRANSMISSION_OUT: u64 = 1 << 5;

impl SentSegment {
    /// A segment that is sent for the first time.
    #[inline]
    fn new(now: Instant, offset: u64, len: u32, fin: bool) -> SentSegment {
        // 256 TiB and two years; a length is below 2^16.
        let beyond = offset >> (u64::BITS - LEN_BITS)
            | now.as_nanos() >> (u64::BITS - MARK_BITS)
            | u64::from(len >> LEN_BITS);
        assert!(beyond == 0, "a segment at {offset} of {len} bytes, sent at {now}");
        let fin = if fin { FIN } else { 0 };
        let (place, sent) =
            (offset << LEN_BITS | u64::from(len), now.as_nanos() << MARK_BITS | fin);
        SentSegment { place, sent, prev: 0, next: 0 }
    }

    /// Offset of the first byte.
    #[inline]
    pub(crate) const fn offset(&self) -> u64 {
        self.place >> LEN_BITS
    }

    /// Length in sequence space: payload bytes, plus one for a FIN.
    #[inline]
    pub(crate) const fn len(&self) -> u32 {
        self.place as u16 as u32
    }

    /// Offset after the last byte.
    #[inline]
    pub(crate) const fn end(&self) -> u64 {
        self.offset() + self.len() as u64
    }

    /// Time of the last transmission.
    #[inline]
    pub(crate) const fn sent_at(&self) -> Instant {
        Instant::from_nanos(self.sent >> MARK_BITS)
    }

    /// Whether the segment ends the stream.
    #[inline]
    pub(crate) const fn fin(&self) -> bool {
        self.has(FIN)
    }

    /// Whether the segment is selectively acknowledged.
    #[inline]
    pub(crate) const fn is_sacked(&self) -> bool {
        self.has(SACKED)
    }

    /// Whether the segment is lost, retransmitted or not.
    #[inline]
    pub(crate) const fn is_lost(&self) -> bool {
        self.has(LOST)
    }

    /// Whether the segment was transmitted more than once.
    #[inline]
    pub(crate) const fn ever_retransmitted(&self) -> bool {
        self.has(EVER_RETRANSMITTED)
    }

    /// Whether a retransmission is outstanding (counted in `retrans_out`).
    #[inline]
    pub(crate) const fn retransmission_out(&self) -> bool {
        self.has(RETRANSMISSION_OUT)
    }

    const fn has(&self, mark: u64) -> bool {
        self.sent & mark != 0
    }

    const fn marks(&self) -> u64 {
        self.sent & ((1 << MARK_BITS) - 1)
    }

    /// Removes marks; returns whether one of them was set.
    const fn clear(&mut self, marks: u64) -> bool {
        let had = self.has(marks);
        self.sent &= !marks;
        had
    }

    const fn send_again(&mut self, now: Instant) {
        let marks = self.marks() | EVER_RETRANSMITTED;
        self.sent = now.as_nanos() << MARK_BITS | marks;
    }
}

impl std::fmt::Debug for SentSegment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let marks = self.marks();
        write!(f, "{}..{} at {}, marks {marks:#b}", self.offset(), self.end(), self.sent_at())
    }
}

/// Segments in a row that were sent once, in this order, and are acknowledged without more ado.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PlainRun {
    pub segs: u32,
    pub first: SentSegment,
    pub last: SentSegment,
}

impl PlainRun {
    /// Length of all in sequence space.
    pub(crate) const fn bytes(&self) -> u64 {
        self.last.end() - self.first.offset()
    }
}

/// All outstanding segments of one sequence space.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Scoreboard {
    sacked_out: u32,
    lost_out: u32,
    retrans_out: u32,
    /// End of the highest segment ever selectively acknowledged.
    highest_sacked: u64,
    segments: ChunkQueue<SentSegment>,
    /// Identifier of `segments[0]`; identifiers count up by one per segment sent.
    first_id: u64,
    /// Oldest entry of the list by time, if it has any.
    time_head: u32,
    /// Newest entry of the list by time, if it has any.
    time_tail: u32,
    /// Number of entries of the list by time.
    open: u32,
    sacked_ranges: RangeSet,
    /// Segments lost and not retransmitted since, which are sent next, lowest first.
    awaiting_retransmission: BTreeSet<u64>,
}

impl Scoreboard {
    /// Requests the memory of the segments that the next acknowledgement is about, and of the last
    /// one.
    pub(crate) fn prefetch(&self) {
        let ends = [self.segments.front(), self.segments.get(1), self.segments.back()];
        ends.into_iter().flatten().for_each(prefetch);
    }

    /// Number of segments sent and not cumulatively acknowledged.
    pub(crate) fn packets_out(&self) -> u32 {
        self.segments.len() as u32
    }

    /// Number of outstanding segments that are selectively acknowledged.
    pub(crate) const fn sacked_out(&self) -> u32 {
        self.sacked_out
    }

    /// Number of outstanding segments that are lost, retransmitted or not.
    pub(crate) const fn lost_out(&self) -> u32 {
        self.lost_out
    }

    /// Number of retransmissions outstanding.
    pub(crate) const fn retrans_out(&self) -> u32 {
        self.retrans_out
    }

    /// Number of segments in the network: sent, neither acknowledged nor lost, plus retransmissions
    /// (Linux `tcp_packets_in_flight`).
    pub(crate) fn inflight(&self) -> u32 {
        debug_assert!(
            self.packets_out() >= self.sacked_out + self.lost_out,
            "SACKed and lost segments are outstanding, and none is both"
        );
        debug_assert!(self.retrans_out <= self.packets_out(), "retransmissions are outstanding");
        self.packets_out() - self.sacked_out - self.lost_out + self.retrans_out
    }

    /// Whether nothing is outstanding.
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// End of the highest selectively acknowledged segment, or `floor` if that is higher.
    pub(crate) fn highest_sacked(&self, floor: u64) -> u64 {
        self.highest_sacked.max(floor)
    }

    /// The lowest outstanding segment.
    pub(crate) fn head(&self) -> Option<(u64, &SentSegment)> {
        self.segments.front().map(|segment| (self.first_id, segment))
    }

    /// The highest outstanding segment.
    pub(crate) fn last(&self) -> Option<(u64, &SentSegment)> {
        self.segments.back().map(|segment| (self.end_id() - 1, segment))
    }

    /// The segment with identifier `id`, if still outstanding.
    pub(crate) fn segment(&self, id: u64) -> Option<&SentSegment> {
        self.segments.get(usize::try_from(id.checked_sub(self.first_id)?).ok()?)
    }

    /// All outstanding segments, lowest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &SentSegment)> {
        (self.first_id..).zip(self.segments.iter())
    }

    /// The lowest lost segment that was not retransmitted since.
    pub(crate) fn next_to_retransmit(&self) -> Option<u64> {
        self.awaiting_retransmission.first().copied()
    }

    /// A segment is sent for the first time. Offsets are contiguous.
    #[inline(always)]
    pub(crate) fn on_sent(&mut self, now: Instant, offset: u64, len: u32, fin: bool) {
        debug_assert!(
            self.segments.back().is_none_or(|last| last.end() == offset && last.sent_at() <= now),
            "offsets are contiguous and time does not run backwards"
        );
        let half = self.end_id() as u32;
        let mut segment = SentSegment::new(now, offset, len, fin);
        // The last one of the list by time, too.
        segment.sent |= OPEN;
        if self.open == 0 {
            self.time_head = half;
        } else {
            segment.prev = self.time_tail;
            let before = match half.wrapping_sub(self.time_tail) {
                1 => self.segments.back_mut(),
                _ => self.linked_mut(self.time_tail),
            };
            if let Some(before) = before {
                before.next = half;
            }
        }
        self.time_tail = half;
        self.open += 1;
        self.segments.push_back(segment);
    }

    /// Segment `id` is sent again. `counted`: it repairs a loss, as opposed to a tail loss probe,
    /// which Linux does not count as an outstanding retransmission.
    pub(crate) fn on_retransmitted(&mut self, now: Instant, id: u64, counted: bool) {
        self.unlink(id);
        self.awaiting_retransmission.remove(&id);
        let newly_out = {
            let Some(segment) = self.segment_mut(id) else { return };
            let newly_out = counted && !segment.retransmission_out();
            segment.send_again(now);
            segment.sent |= if counted { RETRANSMISSION_OUT } else { 0 };
            newly_out
        };
        self.retrans_out += u32::from(newly_out);
        self.link_last(id);
    }

    /// Declares `id` lost, or its retransmission if it was lost before. Returns whether that
    /// changed anything.
    pub(crate) fn mark_lost(&mut self, id: u64) -> bool {
        let Some(segment) = self.segment_mut(id) else { return false };
        if segment.is_sacked() || (segment.is_lost() && !segment.retransmission_out()) {
            return false;
        }
        let was_lost = segment.is_lost();
        let was_out = segment.clear(RETRANSMISSION_OUT);
        segment.sent |= LOST;
        self.lost_out += u32::from(!was_lost);
        self.retrans_out -= u32::from(was_out);
        self.unlink(id);
        self.awaiting_retransmission.insert(id);
        true
    }

    /// Reverts every loss that was not repaired yet: the segments were late, not lost.
    pub(crate) fn unmark_all_lost(&mut self) {
        for id in self.first_id..self.end_id() {
            let Some(segment) = self.segment_mut(id) else { continue };
            if !segment.clear(LOST) {
                continue;
            }
            if !segment.retransmission_out() {
                self.insert_by_time(id);
            }
        }
        self.lost_out = 0;
        self.awaiting_retransmission.clear();
    }

    /// Removes and returns the lowest segment if `up_to` covers it. A segment covered in part is
    /// trimmed, because its rest may still be needed.
    pub(crate) fn pop_acked(&mut self, up_to: u64) -> Option<SentSegment> {
        let id = self.first_id;
        let head = *self.segments.front()?;
        if head.end() > up_to {
            self.trim_head(up_to);
            return None;
        }
        if head.has(OPEN) && id as u32 == self.time_head && self.open > 1 {
            // The usual one; what precedes the first of the list is never asked for.
            self.time_head = head.next;
            self.open -= 1;
        } else {
            cold_path();
            self.unlink(id);
        }
        self.segments.pop_front();
        self.first_id += 1;
        self.forget_counts(id, &head);
        Some(head)
    }

    /// Removes the lowest segments as long as `up_to` covers them and nothing happened to them:
    /// sent once, neither SACKed nor lost, no FIN, and not the last one outstanding. `pop_acked`
    /// would give the same segments, at three times the instructions with what follows from each.
    pub(crate) fn pop_plain(&mut self, up_to: u64) -> Option<PlainRun> {
        let mut run: Option<PlainRun> = None;
        while let Some(&head) = self.segments.front()
            && head.end() <= up_to
            && head.marks() == OPEN
            && self.first_id as u32 == self.time_head
            && self.open > 1
        {
            self.time_head = head.next;
            self.open -= 1;
            self.segments.pop_front();
            self.first_id += 1;
            match &mut run {
                None => run = Some(PlainRun { segs: 1, first: head, last: head }),
                Some(run) => (run.segs, run.last) = (run.segs + 1, head),
            }
        }
        run
    }

    /// To be called after the last `pop_acked` of an acknowledgement.
    pub(crate) fn forget_below(&mut self, up_to: u64) {
        if !self.sacked_ranges.is_empty() {
            cold_path();
            self.sacked_ranges.remove_below(up_to);
        }
    }

    /// Applies a SACK block. `visit` is called with each segment that it newly covers, lowest
    /// first, as it was before. Only whole segments count.
    pub(crate) fn sack(&mut self, block: Range<u64>, mut visit: impl FnMut(&SentSegment)) {
        let Some(first) = self.segments.front() else { return };
        let block = block.start.max(first.offset())..block.end;
        if block.start >= block.end {
            return;
        }
        let parts: Vec<Range<u64>> = self.sacked_ranges.missing(block).collect();
        for part in parts {
            let mut index = self.index_at(part.start);
            while let Some(segment) = self.segments.get(index).copied() {
                if segment.offset() < part.start {
                    index += 1;
                    continue;
                }
                if segment.end() > part.end {
                    break;
                }
                if !segment.is_sacked() {
                    visit(&segment);
                    self.mark_sacked(self.first_id + index as u64);
                }
                index += 1;
            }
        }
    }

    /// Segments whose delivery is open, by the time of their last transmission, oldest first.
    pub(crate) fn by_time(&self) -> ByTime<'_> {
        ByTime { board: self, next: self.time_head, left: self.open }
    }

    /// Forgets selective acknowledgements: the receiver reneged (RFC 2018 s8).
    pub(crate) fn forget_sacks(&mut self) {
        for id in self.first_id..self.end_id() {
            let Some(segment) = self.segment_mut(id) else { continue };
            if segment.clear(SACKED) {
                self.insert_by_time(id);
            }
        }
        self.sacked_out = 0;
        self.sacked_ranges = RangeSet::default();
        self.highest_sacked = 0;
    }

    fn mark_sacked(&mut self, id: u64) {
        self.unlink(id);
        self.awaiting_retransmission.remove(&id);
        let Some(segment) = self.segment_mut(id) else { return };
        let was_lost = segment.clear(LOST);
        let was_out = segment.clear(RETRANSMISSION_OUT);
        segment.sent |= SACKED;
        let range = segment.offset()..segment.end();
        self.sacked_out += 1;
        self.lost_out -= u32::from(was_lost);
        self.retrans_out -= u32::from(was_out);
        self.highest_sacked = self.highest_sacked.max(range.end);
        self.sacked_ranges.insert(range);
    }

    fn forget_counts(&mut self, id: u64, segment: &SentSegment) {
        self.sacked_out -= u32::from(segment.is_sacked());
        self.lost_out -= u32::from(segment.is_lost());
        self.retrans_out -= u32::from(segment.retransmission_out());
        if segment.is_lost() {
            self.awaiting_retransmission.remove(&id);
        }
    }

    fn trim_head(&mut self, up_to: u64) {
        if let Some(head) = self.segments.front_mut()
            && up_to > head.offset()
        {
            head.place = up_to << LEN_BITS | (head.end() - up_to);
        }
    }

    fn end_id(&self) -> u64 {
        self.first_id + self.segments.len() as u64
    }

    fn segment_mut(&mut self, id: u64) -> Option<&mut SentSegment> {
        self.segments.get_mut(usize::try_from(id.checked_sub(self.first_id)?).ok()?)
    }

    /// Index of the segment that contains `offset`. Most segments have one size, so a division
    /// nearly always finds it; otherwise a binary search does.
    fn index_at(&self, offset: u64) -> usize {
        if let Some(first) = self.segments.front()
            && first.len() > 0
            && offset >= first.offset()
        {
            let guess = ((offset - first.offset()) / u64::from(first.len())) as usize;
            if let Some(segment) = self.segments.get(guess)
                && segment.offset() <= offset
                && offset < segment.end()
            {
                return guess;
            }
        }
        self.segments.partition_point(|segment| segment.end() <= offset)
    }

    /// The segment whose identifier ends in `half`.
    fn linked(&self, half: u32) -> Option<&SentSegment> {
        self.segments.get(half.wrapping_sub(self.first_id as u32) as usize)
    }

    fn linked_mut(&mut self, half: u32) -> Option<&mut SentSegment> {
        self.segments.get_mut(half.wrapping_sub(self.first_id as u32) as usize)
    }

    fn link_last(&mut self, id: u64) {
        let after = (self.open > 0).then_some(self.time_tail);
        self.link(id, after);
    }

    /// Inserts `id` into the list by time at its transmission time (after undo and reneging).
    fn insert_by_time(&mut self, id: u64) {
        let Some(sent_at) = self.segment(id).map(|segment| segment.sent_at()) else { return };
        let mut after = (self.open > 0).then_some(self.time_tail);
        while let Some(half) = after
            && let Some(before) = self.linked(half)
            && before.sent_at() > sent_at
        {
            after = (half != self.time_head).then_some(before.prev);
        }
        self.link(id, after);
    }

    /// Inserts `id` into the list by time, behind `after` or as the first one.
    fn link(&mut self, id: u64, after: Option<u32>) {
        let half = id as u32;
        let was_empty = self.open == 0;
        let prev = after.unwrap_or_default();
        let next = match after.and_then(|after| self.linked_mut(after)) {
            Some(before) => std::mem::replace(&mut before.next, half),
            None => std::mem::replace(&mut self.time_head, half),
        };
        if was_empty || after == Some(self.time_tail) {
            self.time_tail = half;
        } else if let Some(following) = self.linked_mut(next) {
            following.prev = half;
        }
        if let Some(segment) = self.segment_mut(id) {
            (segment.prev, segment.next) = (prev, next);
            segment.sent |= OPEN;
            self.open += 1;
        }
        debug_assert!(self.open <= self.packets_out(), "the list by time has outstanding segments");
    }

    /// Removes `id` from the list by time, if it is there.
    fn unlink(&mut self, id: u64) {
        let Some(segment) = self.segment_mut(id) else { return };
        if !segment.clear(OPEN) {
            return;
        }
        let (half, prev, next) = (id as u32, segment.prev, segment.next);
        self.open -= 1;
        if half == self.time_head {
            self.time_head = next;
        } else if let Some(before) = self.linked_mut(prev) {
            before.next = next;
        }
        if half == self.time_tail {
            self.time_tail = prev;
        } else if let Some(following) = self.linked_mut(next) {
            following.prev = prev;
        }
    }
}

/// Iterator of [`Scoreboard::by_time`].
pub(crate) struct ByTime<'a> {
    board: &'a Scoreboard,
    next: u32,
    left: u32,
}

impl<'a> Iterator for ByTime<'a> {
    type Item = (u64, &'a SentSegment);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let index = self.next.wrapping_sub(self.board.first_id as u32);
        let segment = self.board.linked(self.next)?;
        self.next = segment.next;
        Some((self.board.first_id + u64::from(index), segment))
    }
}

const _: () = assert!(size_of::<SentSegment>() == 24);

#[cfg(test)]
mod tests;
