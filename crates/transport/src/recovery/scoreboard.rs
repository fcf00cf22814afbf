//! The scoreboard: which sent segments are outstanding, selectively acknowledged, lost or
//! retransmitted (RFC 6675 s3, RFC 8985 s6).
//!
//! Segments are kept in the order of their offsets. RACK examines those whose delivery is still
//! open in the order of their last transmission, and only those sent before the newest delivered
//! one: segments that were sent once have the order of their offsets, and those that were sent
//! again, or declared lost too early, are in a list. The decision that a segment is lost is left to
//! the owner.

use crate::buffer::RangeSet;
use base::{ChunkQueue, Instant, chunked, prefetch, ring};
use std::collections::{BTreeSet, VecDeque};
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
}

/// A segment fits into a datagram.
const LEN_BITS: u32 = 16;
/// As many as there are marks, rounded up to a byte.
const MARK_BITS: u32 = 8;

/// The delivery of the segment is open: neither SACKed nor lost since its last transmission.
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
/// The segment has an entry in the list of those that are not in the order of their offsets.
const LISTED: u64 = 1 << 6;

chunked!(SentSegment);

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
        SentSegment { place, sent }
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

    /// Whether its delivery is open, and it has the place of its offset by time.
    const fn is_open_in_order(&self) -> bool {
        self.sent & (OPEN | LISTED) == OPEN
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

/// A segment that is not in the order of its offset by time.
#[derive(Clone, Copy, Debug)]
struct Listed {
    /// Lower half of its identifier.
    id: u32,
    /// That of the next segment in the order of offsets that follows it by time.
    before: u32,
}

/// All outstanding segments of one sequence space.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Scoreboard {
    sacked_out: u32,
    lost_out: u32,
    retrans_out: u32,
    /// Number of segments at the front of which none is open in the order of offsets.
    closed: u32,
    segments: ChunkQueue<SentSegment>,
    /// End of the highest segment ever selectively acknowledged.
    highest_sacked: u64,
    /// Identifier of `segments[0]`; identifiers count up by one per segment sent.
    first_id: u64,
    /// The segments that are not in the order of their offsets by time, in that order, open or not.
    /// The first one is outstanding; others may not be. Few connections have any at a time.
    #[expect(clippy::box_collection, reason = "a quarter of the size, and rarely there")]
    listed: Option<Box<VecDeque<Listed>>>,
    sacked_ranges: RangeSet,
    /// Segments lost and not retransmitted since, which are sent next, lowest first.
    awaiting_retransmission: BTreeSet<u64>,
}

impl Scoreboard {
    /// Requests the memory of the identifier of the first segment.
    pub(crate) fn prefetch_first(&self) {
        prefetch(&self.first_id);
    }

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
        let mut segment = SentSegment::new(now, offset, len, fin);
        segment.sent |= OPEN;
        self.segments.push_back(segment);
    }

    /// Segment `id` is sent again. `counted`: it repairs a loss, as opposed to a tail loss probe,
    /// which Linux does not count as an outstanding retransmission.
    pub(crate) fn on_retransmitted(&mut self, now: Instant, id: u64, counted: bool) {
        self.awaiting_retransmission.remove(&id);
        let Some(segment) = self.segment_mut(id) else { return };
        let newly_out = counted && !segment.retransmission_out();
        let again = segment.has(LISTED);
        segment.send_again(now);
        segment.sent |= OPEN | LISTED | if counted { RETRANSMISSION_OUT } else { 0 };
        self.retrans_out += u32::from(newly_out);
        if again {
            cold_path();
            self.unlist(id);
        }
        let listed = Listed { id: id as u32, before: self.end_id() as u32 };
        ring::push_back(self.listed.get_or_insert_default(), listed);
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
        segment.clear(OPEN);
        segment.sent |= LOST;
        self.lost_out += u32::from(!was_lost);
        self.retrans_out -= u32::from(was_out);
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
                self.reopen(id);
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
        self.segments.pop_front();
        self.first_id += 1;
        self.closed = self.closed.saturating_sub(1);
        self.forget_counts(id, &head);
        if head.has(LISTED) {
            cold_path();
            self.forget_listed();
        }
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
            && self.segments.len() > 1
        {
            debug_assert!(self.closed == 0, "the first one is open and in order");
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
    pub(crate) fn by_time(&mut self) -> ByTime<'_> {
        let is_closed = |segment: &SentSegment| !segment.is_open_in_order();
        while self.segments.get(self.closed as usize).is_some_and(is_closed) {
            self.closed += 1;
        }
        ByTime { board: self, place: self.closed as usize, listed: 0 }
    }

    /// The retransmissions outstanding after which something was sent for the first time that is
    /// SACKed.
    pub(crate) fn overtaken_retransmissions(&self) -> Vec<u64> {
        let listed = self.listed.iter().flat_map(|listed| listed.iter());
        let overtaken = listed.filter_map(|Listed { id, before }| {
            let place = self.place_of(*id);
            let is_out = self.segments.get(place)?.retransmission_out();
            let next = self.segments.get(self.place_of(*before))?;
            let is_overtaken = is_out && next.offset() < self.highest_sacked;
            is_overtaken.then_some(self.first_id + place as u64)
        });
        overtaken.collect()
    }

    /// Forgets selective acknowledgements: the receiver reneged (RFC 2018 s8).
    pub(crate) fn forget_sacks(&mut self) {
        for id in self.first_id..self.end_id() {
            let Some(segment) = self.segment_mut(id) else { continue };
            if segment.clear(SACKED) {
                self.reopen(id);
            }
        }
        self.sacked_out = 0;
        self.sacked_ranges = RangeSet::default();
        self.highest_sacked = 0;
    }

    fn mark_sacked(&mut self, id: u64) {
        self.awaiting_retransmission.remove(&id);
        let Some(segment) = self.segment_mut(id) else { return };
        segment.clear(OPEN);
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

    /// The place of the segment whose identifier has this lower half, if it is outstanding.
    const fn place_of(&self, half: u32) -> usize {
        half.wrapping_sub(self.first_id as u32) as usize
    }

    /// Removes the entry of a segment; returns it.
    fn unlist(&mut self, id: u64) -> Option<Listed> {
        let listed = self.listed.as_mut()?;
        let place = listed.iter().position(|other| other.id == id as u32)?;
        listed.remove(place)
    }

    /// The delivery of `id` is open again (after undo and reneging): by time it follows those that
    /// were sent at the same instant.
    fn reopen(&mut self, id: u64) {
        let entry = self.unlist(id);
        let Some(segment) = self.segment_mut(id) else { return };
        segment.sent |= OPEN | LISTED;
        let sent_at = segment.sent_at();
        let follows =
            |segment: &SentSegment| !segment.ever_retransmitted() && segment.sent_at() > sent_at;
        let mut before = entry.map_or(id as u32, |entry| entry.before);
        while self.segments.get(self.place_of(before)).is_some_and(|segment| !follows(segment)) {
            before = before.wrapping_add(1);
        }
        let mut listed = self.listed.take().unwrap_or_default();
        listed.retain(|other| self.place_of(other.id) < self.segments.len());
        let sent_later = |other: &&Listed| {
            self.segments
                .get(self.place_of(other.id))
                .is_some_and(|other| other.sent_at() > sent_at)
        };
        let place = listed.len() - listed.iter().rev().take_while(sent_later).count();
        ring::insert(&mut listed, place, Listed { id: id as u32, before });
        self.listed = Some(listed);
    }

    /// A segment with an entry is not outstanding any more.
    fn forget_listed(&mut self) {
        let (first, len) = (self.first_id as u32, self.segments.len());
        let Some(listed) = &mut self.listed else { return };
        while listed.front().is_some_and(|one| one.id.wrapping_sub(first) as usize >= len) {
            ring::pop_front(listed);
        }
        if listed.is_empty() {
            self.listed = None;
        }
    }
}

/// Iterator of [`Scoreboard::by_time`].
pub(crate) struct ByTime<'a> {
    board: &'a Scoreboard,
    /// No segment before this place follows that is in the order of offsets.
    place: usize,
    /// Entries of `listed` that were looked at.
    listed: usize,
}

impl<'a> ByTime<'a> {
    /// The next segment in the order of offsets, and its place.
    fn next_in_order(&mut self) -> Option<(usize, &'a SentSegment)> {
        loop {
            let segment = self.board.segments.get(self.place)?;
            if segment.is_open_in_order() {
                return Some((self.place, segment));
            }
            self.place += 1;
            if segment.is_sacked()
                && let Some(range) = self.board.sacked_ranges.range_containing(segment.offset())
                && range.end > segment.end()
            {
                // Hundreds of them may follow.
                self.place = self.board.index_at(range.end);
            }
        }
    }

    /// The next segment of the list, its place, and that of the next in the order of offsets.
    fn next_listed(&mut self) -> Option<(usize, usize, &'a SentSegment)> {
        let listed = self.board.listed.as_ref()?;
        loop {
            let Listed { id, before } = *listed.get(self.listed)?;
            let place = self.board.place_of(id);
            match self.board.segments.get(place).filter(|segment| segment.has(OPEN)) {
                Some(segment) => return Some((place, self.board.place_of(before), segment)),
                None => self.listed += 1,
            }
        }
    }
}

impl<'a> Iterator for ByTime<'a> {
    type Item = (u64, &'a SentSegment);

    fn next(&mut self) -> Option<Self::Item> {
        let in_order = self.next_in_order();
        let listed = self.next_listed();
        let listed = listed.filter(|(_, before, _)| in_order.is_none_or(|(at, _)| *before <= at));
        let (place, segment) = match listed {
            Some((place, _, segment)) => {
                self.listed += 1;
                (place, segment)
            }
            None => {
                self.place += 1;
                in_order?
            }
        };
        Some((self.board.first_id + place as u64, segment))
    }
}

const _: () = assert!(size_of::<SentSegment>() == 16);

#[cfg(test)]
mod tests;
