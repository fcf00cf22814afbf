//! `Reassembly`: what arrived of a stream, in order for the reader, out of order until gaps fill.
//!
//! In-order arrival with nothing waiting is O(1) and touches no tree; everything else is
//! O(log n) plus the pieces it joins. It also says what a TCP receiver must report: the most
//! recently changed out-of-order ranges first (RFC 2018 s4) and the duplicate part of a segment
//! (RFC 2883). Windows, and deciding what may be accepted at all, are left to the connection.

use super::RangeSet;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use wire::Payload;

/// SACK blocks kept in order of recency: no more fit into a segment (RFC 2018 s3).
const RECENT_RANGES: usize = 4;

/// A receive buffer with gaps.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    /// Unread bytes below `next`: plain pieces, virtual ones joined.
    ready: VecDeque<Payload>,
    read: u64,
    next: u64,
    /// Disjoint plain pieces above `next`, by offset.
    waiting: BTreeMap<u64, Payload>,
    /// What `waiting` covers.
    above: RangeSet,
    /// Out-of-order ranges, most recently changed first; may lack old ones.
    recent: Vec<Range<u64>>,
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

    /// Bytes that wait behind a gap.
    pub const fn out_of_order_bytes(&self) -> u64 {
        self.above.covered_bytes()
    }

    /// The ranges behind gaps, ascending.
    pub fn ranges_above(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + '_ {
        self.above.iter()
    }

    /// Up to four ranges behind gaps, the most recently changed first (RFC 2018 s4).
    pub fn sack_ranges(&self) -> &[Range<u64>] {
        &self.recent
    }

    /// Bytes `offset..offset + payload.len()` arrived.
    pub fn insert(&mut self, offset: u64, payload: Payload) -> Inserted {
        let len = u64::from(payload.len());
        if len == 0 {
            return Inserted::default();
        }
        if offset == self.next && self.above.is_empty() {
            self.next += len;
            self.push_ready(payload);
            return Inserted { new_bytes: len, advanced: len, ..Inserted::default() };
        }
        self.insert_slowly(offset..offset.saturating_add(len), payload)
    }

    fn insert_slowly(&mut self, range: Range<u64>, payload: Payload) -> Inserted {
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
        let gaps: Vec<_> = self.above.missing(fresh.clone()).collect();
        for gap in gaps {
            inserted.new_bytes += gap.end - gap.start;
            // Both differences are at most the payload's length, a u32.
            let from = (gap.start - range.start) as u32;
            self.wait(gap.start, payload.slice(from, (gap.end - gap.start) as u32));
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

    /// Keep a piece that is covered by no other, joined to its predecessor where that is free.
    fn wait(&mut self, offset: u64, payload: Payload) {
        let mut at = offset;
        for piece in payload.into_pieces() {
            let len = u64::from(piece.len());
            let joined = self.waiting.range_mut(..at).next_back().is_some_and(|(start, before)| {
                start + u64::from(before.len()) == at && join(before, &piece)
            });
            if !joined {
                self.waiting.insert(at, piece);
            }
            at += len;
        }
    }

    /// Everything up to the next gap becomes readable; returns how much that is.
    fn fill_gap(&mut self) -> u64 {
        let Some(filled) = self.above.first() else { return 0 };
        self.above.remove_below(filled.end);
        self.recent.retain(|range| range.start > filled.end);
        while let Some(first) = self.waiting.first_entry() {
            if *first.key() >= filled.end {
                break;
            }
            let piece = first.remove();
            self.push_ready(piece);
        }
        let advanced = filled.end - self.next;
        self.next = filled.end;
        advanced
    }

    /// The range around `offset` changed: it is the first to report.
    fn touch(&mut self, offset: u64) {
        let Some(changed) = self.above.range_containing(offset) else { return };
        self.recent.retain(|range| range.start < changed.start || range.start >= changed.end);
        self.recent.truncate(RECENT_RANGES - 1);
        self.recent.insert(0, changed);
    }

    fn push_ready(&mut self, payload: Payload) {
        match payload {
            Payload::Mixed(_) => {
                for piece in payload.into_pieces() {
                    self.push_ready(piece);
                }
            }
            piece => {
                if !self.ready.back_mut().is_some_and(|last| join(last, &piece)) {
                    self.ready.push_back(piece);
                }
            }
        }
    }

    /// Take the next bytes, at most `max`; empty if there are none.
    pub fn read(&mut self, max: u32) -> Payload {
        let mut left = max;
        let mut pieces = Vec::new();
        let mut first = Payload::Empty;
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
        if pieces.is_empty() {
            return first;
        }
        pieces.push(first);
        Payload::Mixed(pieces.into_boxed_slice())
    }
}

/// Extend `last` by `next` if that moves no bytes; says whether it did.
fn join(last: &mut Payload, next: &Payload) -> bool {
    if let (Payload::Virtual(last), Payload::Virtual(next)) = (last, next)
        && last.continues_with(next)
    {
        last.len += next.len;
        return true;
    }
    false
}
