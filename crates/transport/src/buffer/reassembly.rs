//! `Reassembly`: the received part of a stream, readable up to the first gap.
//!
//! In-order arrival with nothing behind a gap is O(1) and touches no tree, as what continues the
//! highest piece behind a gap. Everything else is O(log n) plus the pieces that it joins, without
//! a search where it fills the first gap or is behind all other data. `Reassembly` also records
//! what a receiver reports: the most recently changed out-of-order ranges first (RFC 2018 s4) and
//! the duplicate part of a segment (RFC 2883). Windows, and what may be accepted, are left to the
//! owner.

use super::RangeSet;
use base::{ShortQueue, prefetch, ring};
use std::collections::VecDeque;
use std::hint::cold_path;
use std::ops::Range;
use wire::Payload;

/// Ranges kept in order of recency: a TCP segment has space for four SACK blocks (RFC 2018 s3).
const RECENT_RANGES: usize = 4;

/// A receive buffer with gaps.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Reassembly {
    next: u64,
    read: u64,
    /// End of the highest byte that arrived.
    highest: u64,
    /// Unread bytes below `next`: plain pieces, virtual ones joined.
    ready: ShortQueue<Payload>,
    /// The ranges that `waiting` covers.
    above: RangeSet,
    /// The bytes of `above`, but for the highest piece.
    waiting: Waiting,
    /// The highest piece above `next`, which most arrivals behind a gap extend, and its offset; it
    /// may be empty, and all pieces be in `waiting`.
    top: Payload,
    top_at: u64,
    /// Out-of-order ranges, most recently changed first; the oldest may be missing.
    recent: Vec<Range<u64>>,
}

/// Disjoint plain pieces behind gaps. Those that are at the same place of one virtual stream are
/// not kept, as they follow from their offsets. That saves a thirtieth of a connection's memory.
#[derive(Clone, Debug, Default)]
struct Waiting {
    /// What is to be added to an offset for that in the virtual stream, modulo 2^64.
    shift: u64,
    stream: u32,
    /// The stream and the shift are known: those of the first piece.
    is_known: bool,
    /// All other pieces, in order. No tree, whose nodes would be half empty.
    #[expect(clippy::box_collection, reason = "a quarter of the size, and rarely there")]
    kept: Option<Box<VecDeque<Piece>>>,
}

/// A piece of the stream and its offset.
#[derive(Clone, Debug)]
struct Piece {
    at: u64,
    payload: Payload,
}

impl Piece {
    fn end(&self) -> u64 {
        self.at + u64::from(self.payload.len())
    }
}

/// What an insertion did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inserted {
    /// Bytes that had not arrived before.
    pub new_bytes: u64,
    /// How far the first missing byte moved.
    pub advanced: u64,
    /// The first part of the segment that had arrived before (RFC 2883 D-SACK).
    pub duplicate: Option<Range<u64>>,
    /// New bytes went behind a gap.
    pub out_of_order: bool,
}

impl Reassembly {
    /// Requests the memory of what arrived.
    pub(crate) fn prefetch(&self) {
        prefetch(&self.ready);
    }

    /// Nothing received, offset zero expected.
    pub fn new() -> Self {
        Reassembly::default()
    }

    /// Offset of the first byte that is missing.
    pub const fn next_offset(&self) -> u64 {
        self.next
    }

    /// Offset of the next byte to read.
    pub const fn read_offset(&self) -> u64 {
        self.read
    }

    /// Bytes that can be read now.
    pub const fn readable(&self) -> u64 {
        self.next - self.read
    }

    /// Whether any bytes wait behind a gap.
    pub(crate) const fn has_gaps(&self) -> bool {
        self.highest > self.next
    }

    /// Bytes that wait behind a gap.
    pub const fn out_of_order_bytes(&self) -> u64 {
        self.above.covered_bytes()
    }

    /// End of the highest byte that arrived.
    pub const fn highest(&self) -> u64 {
        self.highest
    }

    /// Up to four ranges behind gaps, the most recently changed first (RFC 2018 s4).
    pub fn sack_ranges(&self) -> &[Range<u64>] {
        &self.recent
    }

    /// The range that changed last is reported at `place`, counted from zero, or at the end;
    /// `back`: first again.
    pub fn move_newest(&mut self, place: usize, back: bool) {
        let end = self.recent.len().min(place + 1);
        match back {
            false if end > 0 => self.recent[..end].rotate_left(1),
            true if end > 0 => self.recent[..end].rotate_right(1),
            _ => {}
        }
    }

    /// The state between two calls is consistent.
    fn check(&self) {
        debug_assert!(self.read <= self.next && self.next <= self.highest);
        debug_assert_eq!(self.has_gaps(), self.out_of_order_bytes() > 0);
        debug_assert!(
            self.above.first().is_none_or(|first| self.next < first.start),
            "a gap follows the readable data"
        );
        debug_assert!(
            self.above.last().is_none_or(|last| last.end == self.highest),
            "nothing is above the highest byte"
        );
        debug_assert!(
            self.recent
                .iter()
                .all(|range| { self.above.range_containing(range.start).as_ref() == Some(range) }),
            "ranges to report are out-of-order ranges"
        );
        debug_assert!(
            self.top.is_empty() || self.top_at + u64::from(self.top.len()) == self.highest,
            "the highest piece ends where the data do"
        );
    }

    /// Whether bytes from `offset` on come next, and nothing waits behind a gap.
    #[inline(always)]
    pub const fn is_plain_next(&self, offset: u64) -> bool {
        offset == self.next && offset == self.highest
    }

    /// Appends the `len` bytes of `payload`, which come next while nothing waits behind a gap.
    #[inline(always)]
    pub fn push_next(&mut self, payload: Payload, len: u32) {
        debug_assert!(self.is_plain_next(self.next) && len > 0 && len == payload.len());
        self.next = self.next.saturating_add(u64::from(len));
        self.highest = self.next;
        self.push_ready(payload);
    }

    /// Whether bytes from `offset` on continue the highest piece behind a gap, whose range changed
    /// last; then they are appended, and nothing else changes. Nearly all that arrives while one
    /// of several paths is waited for.
    #[inline]
    pub fn extend_top(&mut self, offset: u64, payload: &Payload) -> bool {
        let end = offset.checked_add(u64::from(payload.len()));
        let Some((changed, end)) = self.recent.first_mut().zip(end) else { return false };
        if offset != self.highest || changed.end != offset || !self.top.join(payload) {
            return false;
        }
        changed.end = end;
        self.highest = end;
        self.above.append(offset..end);
        true
    }

    /// Bytes `offset..offset + payload.len()` arrived.
    // Inlined as far as the expected bytes need it: its result needs not be written.
    #[inline(always)]
    pub fn insert(&mut self, offset: u64, payload: Payload) -> Inserted {
        let len = u64::from(payload.len());
        let end = offset.saturating_add(len);
        if self.is_plain_next(offset) && end > offset {
            self.push_next(payload, len as u32);
            return Inserted { new_bytes: len, advanced: len, ..Inserted::default() };
        }
        self.insert_unexpected(offset, end, payload)
    }

    /// The same, where bytes wait behind a gap, or arrived before.
    #[inline(never)]
    fn insert_unexpected(&mut self, offset: u64, end: u64, payload: Payload) -> Inserted {
        if end == offset {
            cold_path();
            return Inserted::default();
        }
        let len = end - offset;
        self.check();
        let behind = offset >= self.highest;
        self.highest = self.highest.max(end);
        if offset == self.next {
            // Nothing waits behind data that are the highest.
            let waiting = if behind { None } else { self.above.first() };
            if waiting.as_ref().is_none_or(|first| end <= first.start) {
                self.next = end;
                self.push_ready(payload);
                let touches = waiting.is_some_and(|first| end == first.start);
                let filled = if touches { self.fill_gap() } else { 0 };
                return Inserted { new_bytes: len, advanced: len + filled, ..Inserted::default() };
            }
        } else if behind {
            return self.insert_behind(offset..end, payload);
        }
        cold_path();
        self.insert_slowly(offset..end, payload)
    }

    /// Data arrived behind all other data.
    fn insert_behind(&mut self, range: Range<u64>, payload: Payload) -> Inserted {
        let new_bytes = range.end - range.start;
        let changed = self.above.append(range.clone());
        let mut payload = payload;
        if new_bytes < u64::from(payload.len()) {
            // Only at the very end of the offsets.
            cold_path();
            payload = payload.slice(0, new_bytes as u32);
        }
        let touches = self.top_at + u64::from(self.top.len()) == range.start;
        if !(touches && self.top.join(&payload)) {
            self.set_top(range.start, payload);
        }
        match self.recent.first_mut() {
            // It grew at its end, where nothing else is.
            Some(first) if first.start == changed.start => *first = changed,
            _ => self.report_first(changed),
        }
        Inserted { new_bytes, out_of_order: true, ..Inserted::default() }
    }

    /// A piece that is behind all others, and does not continue the highest one.
    fn set_top(&mut self, offset: u64, payload: Payload) {
        self.file_top();
        if payload.is_mixed() {
            cold_path();
            self.waiting.keep(offset, payload);
            return;
        }
        (self.top_at, self.top) = (offset, payload);
        let Some(kept) = &mut self.waiting.kept else { return };
        let last = kept.back().filter(|last| last.end() == offset);
        if last.is_some_and(|last| last.payload.is_continued_by(&self.top))
            && let Some(Piece { at, payload: mut before }) = kept.pop_back()
        {
            before.join(&self.top);
            (self.top_at, self.top) = (at, before);
        }
    }

    /// All pieces are in `waiting`.
    fn file_top(&mut self) {
        if !self.top.is_empty() {
            self.waiting.keep(self.top_at, std::mem::take(&mut self.top));
        }
    }

    fn insert_slowly(&mut self, range: Range<u64>, payload: Payload) -> Inserted {
        self.file_top();
        let duplicate = if range.start < self.next {
            Some(range.start..range.end.min(self.next))
        } else {
            self.above.first_overlap(range.clone())
        };
        let mut inserted = Inserted { duplicate, ..Inserted::default() };
        let fresh = range.start.max(self.next)..range.end;
        if fresh.start >= fresh.end {
            return inserted;
        }
        for gap in self.above.missing(fresh.clone()) {
            inserted.new_bytes += gap.end - gap.start;
            // Both differences are at most the payload's length, a u32.
            let from = (gap.start - range.start) as u32;
            let piece = payload.slice(from, (gap.end - gap.start) as u32);
            self.waiting.keep(gap.start, piece);
        }
        self.above.insert(fresh.clone());
        if fresh.start == self.next {
            inserted.advanced = self.fill_gap();
        } else {
            inserted.out_of_order = inserted.new_bytes > 0;
            self.touch(fresh.start);
        }
        inserted
    }

    /// Makes everything up to the next gap readable; returns the number of bytes.
    fn fill_gap(&mut self) -> u64 {
        let Some(filled) = self.above.first() else { return 0 };
        self.above.remove_below(filled.end);
        self.recent.retain(|range| range.start > filled.end);
        let mut at = filled.start;
        while let Some(first) = self.waiting.take_before(filled.end) {
            self.push_followed(at..first.at);
            at = first.end();
            self.push_ready(first.payload);
        }
        if !self.top.is_empty() && self.top_at < filled.end {
            self.push_followed(at..self.top_at);
            at = self.top_at + u64::from(self.top.len());
            let piece = std::mem::take(&mut self.top);
            self.push_ready(piece);
        }
        self.push_followed(at..filled.end);
        if self.above.is_empty() {
            self.waiting = Waiting::default();
        }
        debug_assert!(filled.start <= self.next && self.next < filled.end, "the gap is filled");
        let advanced = filled.end - self.next;
        self.next = filled.end;
        advanced
    }

    /// Makes bytes readable that follow from their offsets.
    fn push_followed(&mut self, mut range: Range<u64>) {
        debug_assert!(range.is_empty() || self.waiting.is_known, "other pieces are kept");
        while !range.is_empty() {
            let piece = self.waiting.piece(&range);
            range.start += u64::from(piece.len());
            self.push_ready(piece);
        }
    }

    /// The range around `offset` changed, so it is reported first.
    fn touch(&mut self, offset: u64) {
        if let Some(changed) = self.above.range_containing(offset) {
            self.report_first(changed);
        }
    }

    fn report_first(&mut self, changed: Range<u64>) {
        self.recent.retain(|range| range.start < changed.start || range.start >= changed.end);
        self.recent.truncate(RECENT_RANGES - 1);
        self.recent.insert(0, changed);
    }

    #[inline(always)]
    fn push_ready(&mut self, payload: Payload) {
        if self.ready.is_empty() && payload.as_virtual().is_some() {
            return self.ready.push_back(payload);
        }
        self.push_piece(payload);
    }

    #[inline(never)]
    fn push_piece(&mut self, payload: Payload) {
        if payload.is_mixed() {
            for piece in payload.into_pieces() {
                self.push_ready(piece);
            }
        } else if !self.ready.back_mut().is_some_and(|last| last.join(&payload)) {
            self.ready.push_back(payload);
        }
    }

    /// Forgets everything that was not read; nothing more will be inserted.
    pub fn discard(&mut self) {
        let next = self.next;
        *self = Reassembly { next, read: next, highest: next, ..Reassembly::default() };
    }

    /// Takes the next bytes, at most `max`; empty if there are none.
    #[inline]
    pub fn read(&mut self, max: u32) -> Payload {
        if self.ready.has_one() && self.readable() <= u64::from(max) {
            // The usual case: everything, and it is one piece.
            self.read = self.next;
            return self.ready.pop_front().unwrap_or_default();
        }
        self.read_pieces(max)
    }

    fn read_pieces(&mut self, max: u32) -> Payload {
        let mut left = max;
        let mut pieces = Vec::new();
        let mut first = Payload::EMPTY;
        while left > 0
            && let Some(front) = self.ready.front_mut()
        {
            let len = front.len();
            let piece = if len <= left {
                self.ready.pop_front().unwrap_or_default()
            } else {
                let piece = front.slice(0, left);
                *front = front.slice(left, len - left);
                piece
            };
            left -= piece.len();
            if !first.is_empty() {
                pieces.push(std::mem::take(&mut first));
            }
            first = piece;
        }
        self.read += u64::from(max - left);
        debug_assert!(self.read <= self.next, "only received data are read");
        if pieces.is_empty() {
            return first;
        }
        pieces.push(first);
        Payload::from_pieces(pieces)
    }
}

impl Waiting {
    /// Keeps a piece that is covered by no other, if it has to be kept.
    fn keep(&mut self, offset: u64, payload: Payload) {
        if let Some(range) = payload.as_virtual() {
            let (shift, stream) = (range.offset.wrapping_sub(offset), range.stream);
            if !std::mem::replace(&mut self.is_known, true) {
                (self.shift, self.stream) = (shift, stream);
            }
            if (self.shift, self.stream) == (shift, stream) {
                return;
            }
        }
        self.keep_others(offset, payload);
    }

    /// Keeps pieces, joined to their predecessors where that copies nothing.
    #[cold]
    fn keep_others(&mut self, offset: u64, payload: Payload) {
        let kept = self.kept.get_or_insert_default();
        let mut at = offset;
        for payload in payload.into_pieces() {
            let len = u64::from(payload.len());
            let place = kept.partition_point(|other| other.at < at);
            let before = place.checked_sub(1).and_then(|before| kept.get_mut(before));
            let touching = before.filter(|before| before.end() == at);
            if !touching.is_some_and(|before| before.payload.join(&payload)) {
                ring::insert(kept, place, Piece { at, payload });
            }
            at += len;
        }
    }

    /// Takes the first piece that is kept, if it is before `end`.
    fn take_before(&mut self, end: u64) -> Option<Piece> {
        let kept = self.kept.as_mut()?;
        if kept.front().is_some_and(|first| first.at < end) { ring::pop_front(kept) } else { None }
    }

    /// The first bytes of `range`, which follow from their offset.
    fn piece(&self, range: &Range<u64>) -> Payload {
        let len = u32::try_from(range.end - range.start).unwrap_or(u32::MAX);
        Payload::virtual_range(self.stream, range.start.wrapping_add(self.shift), len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;
    use wire::payload::Content;

    fn real(bytes: &[u8]) -> Payload {
        Bytes::copy_from_slice(bytes).into()
    }

    #[test]
    fn in_order_arrival_touches_no_tree_and_joins_virtual_bytes() {
        let mut buffer = Reassembly::new();
        for i in 0..1000 {
            let inserted = buffer.insert(i * 1448, Payload::virtual_range(1, i * 1448, 1448));
            assert_eq!(
                inserted,
                Inserted { new_bytes: 1448, advanced: 1448, ..Default::default() }
            );
        }
        assert!(buffer.ready.has_one());
        assert!(!buffer.waiting.is_known && buffer.waiting.kept.is_none());
        assert!(buffer.top.is_empty());
        assert_eq!(buffer.read(u32::MAX), Payload::virtual_range(1, 0, 1_448_000));
        assert_eq!(buffer.read_offset(), 1_448_000);
        assert_eq!(buffer.readable(), 0);
    }

    #[test]
    fn gap_filled_releases_what_waited() {
        let mut buffer = Reassembly::new();
        let late = buffer.insert(3, real(b"def"));
        assert!(late.out_of_order && late.advanced == 0 && late.new_bytes == 3);
        assert_eq!((buffer.readable(), buffer.out_of_order_bytes()), (0, 3));
        let filling = buffer.insert(0, real(b"abc"));
        assert_eq!((filling.advanced, filling.out_of_order), (6, false));
        assert_eq!(buffer.read(4), Payload::from_pieces(vec![real(b"abc"), real(b"d")]));
        assert_eq!(buffer.read(9), real(b"ef"));
    }

    #[test]
    fn sack_ranges_begin_with_the_one_changed_last() {
        // RFC 2018 s4: segments 1..8 of 500 bytes, 2, 4, 6 and 8 lost at first.
        let mut buffer = Reassembly::new();
        let segment = |n: u64| (n - 1) * 500..n * 500;
        let arrive = |buffer: &mut Reassembly, n: u64| {
            let at = segment(n).start;
            buffer.insert(at, Payload::virtual_range(0, at, 500));
        };
        for n in [1, 3, 5, 7] {
            arrive(&mut buffer, n);
        }
        assert_eq!(buffer.sack_ranges(), [segment(7), segment(5), segment(3)]);
        arrive(&mut buffer, 4);
        assert_eq!(buffer.sack_ranges(), [1000..2500, segment(7)]);
        arrive(&mut buffer, 2);
        assert_eq!(buffer.sack_ranges(), [segment(7)]);
        assert_eq!(buffer.next_offset(), 2500);
    }

    #[test]
    fn at_most_four_ranges_are_reported() {
        let mut buffer = Reassembly::new();
        for n in 1..=6u64 {
            buffer.insert(n * 10, Payload::virtual_range(0, n * 10, 5));
        }
        assert_eq!(buffer.sack_ranges(), [60..65, 50..55, 40..45, 30..35]);
        assert_eq!(buffer.above.len(), 6);
    }

    #[test]
    fn duplicate_is_the_first_part_that_had_arrived() {
        let mut buffer = Reassembly::new();
        buffer.insert(0, Payload::virtual_range(0, 0, 10));
        buffer.insert(20, Payload::virtual_range(0, 20, 10));
        let whole = buffer.insert(2, Payload::virtual_range(0, 2, 5));
        assert_eq!(whole, Inserted { duplicate: Some(2..7), ..Default::default() });
        let partly = buffer.insert(5, Payload::virtual_range(0, 5, 10));
        assert_eq!((partly.duplicate, partly.advanced, partly.new_bytes), (Some(5..10), 5, 5));
        let above = buffer.insert(18, Payload::virtual_range(0, 18, 20));
        assert_eq!((above.duplicate, above.new_bytes), (Some(20..30), 10));
        assert_eq!(buffer.sack_ranges().first(), Some(&(18..38)));
    }

    #[test]
    fn end_of_the_offset_space_is_survived() {
        let mut buffer = Reassembly::new();
        let inserted = buffer.insert(u64::MAX - 2, real(b"abcdef"));
        assert_eq!(inserted.new_bytes, 2);
    }

    /// Bytes of the stream: a function of the offset, so that misplaced ones show.
    fn stream(range: Range<u64>) -> Vec<u8> {
        range.map(|i| (i * 7 + i / 256) as u8).collect()
    }

    #[derive(Clone, Copy, Debug)]
    enum Kind {
        Real,
        Virtual,
        Mixed,
    }

    fn segment(kind: Kind, range: Range<u64>) -> Payload {
        let len = (range.end - range.start) as u32;
        match kind {
            Kind::Virtual => Payload::virtual_range(5, range.start, len),
            Kind::Real => real(&stream(range)),
            Kind::Mixed => {
                let mut payload = Payload::virtual_range(5, range.start, len / 2);
                payload.append(segment(Kind::Real, range.start + u64::from(len / 2)..range.end));
                payload
            }
        }
    }

    /// The bytes of what was read at `at`.
    fn bytes_of(payload: Payload, mut at: u64) -> Vec<u8> {
        let mut out = Vec::new();
        for piece in payload.into_pieces() {
            let len = u64::from(piece.len());
            match piece.content() {
                Content::Real(bytes) => out.extend_from_slice(bytes),
                Content::Virtual(range) => {
                    assert_eq!((range.stream, range.offset), (5, at), "its own place");
                    out.extend(stream(at..at + len));
                }
                Content::Empty | Content::Mixed(_) => unreachable!("pieces are plain"),
            }
            at += len;
        }
        out
    }

    const SIZE: u64 = 120;

    /// Naive model: one flag per byte.
    struct Model {
        here: Vec<bool>,
        read: u64,
    }

    impl Model {
        fn next(&self) -> u64 {
            self.here.iter().position(|here| !here).unwrap_or(self.here.len()) as u64
        }

        fn insert(&mut self, range: Range<u64>) -> Inserted {
            let before = self.next();
            let mut inserted = Inserted::default();
            let had: Vec<bool> = range.clone().map(|i| self.here[i as usize]).collect();
            if let Some(first) = had.iter().position(|had| *had) {
                let len = had[first..].iter().take_while(|had| **had).count() as u64;
                let start = range.start + first as u64;
                inserted.duplicate = Some(start..start + len);
            }
            inserted.new_bytes = had.iter().filter(|had| !**had).count() as u64;
            for i in range.clone() {
                self.here[i as usize] = true;
            }
            inserted.advanced = self.next() - before;
            inserted.out_of_order = inserted.new_bytes > 0 && inserted.advanced == 0;
            inserted
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn random_arrival_equals_a_naive_model(
            ops in prop::collection::vec(
                (0..SIZE, 1..30u64, prop_oneof![
                    Just(Kind::Real), Just(Kind::Virtual), Just(Kind::Mixed)
                ], prop::option::weighted(0.3, 0..40u32)),
                1..60,
            )
        ) {
            let mut buffer = Reassembly::new();
            let mut model = Model { here: vec![false; SIZE as usize], read: 0 };
            for (start, len, kind, read) in ops {
                let range = start..(start + len).min(SIZE);
                let payload = segment(kind, range.clone());
                if buffer.extend_top(start, &payload) {
                    let new_bytes = range.end - range.start;
                    let behind = Inserted { new_bytes, out_of_order: true, ..Default::default() };
                    prop_assert_eq!(model.insert(range), behind);
                } else {
                    prop_assert_eq!(buffer.insert(start, payload), model.insert(range));
                }
                buffer.check();
                if let Some(max) = read {
                    let payload = buffer.read(max);
                    let expected = u64::from(max).min(model.next() - model.read);
                    prop_assert_eq!(u64::from(payload.len()), expected);
                    let end = model.read + expected;
                    prop_assert_eq!(bytes_of(payload, model.read), stream(model.read..end));
                    model.read = end;
                }
                prop_assert_eq!(buffer.next_offset(), model.next());
                prop_assert_eq!(buffer.read_offset(), model.read);
                prop_assert_eq!(buffer.readable(), model.next() - model.read);
                let above = model.here.iter().skip(model.next() as usize).filter(|h| **h).count();
                prop_assert_eq!(buffer.out_of_order_bytes(), above as u64);
                let kept = buffer.waiting.kept.iter().flat_map(|kept| kept.iter());
                let kept = kept.map(|piece| &piece.payload).chain([&buffer.top]);
                let kept: u64 = kept.map(|piece| u64::from(piece.len())).sum();
                prop_assert!(kept <= above as u64, "no byte is kept twice");
                prop_assert!(kept == above as u64 || buffer.waiting.is_known, "all are kept");
                for range in buffer.sack_ranges() {
                    prop_assert!(buffer.above.iter().any(|above| above == *range));
                }
            }
        }
    }
}
