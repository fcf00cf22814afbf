//! `SentList`: chunks that a sender has sent, in a list.
//!
//! The linear reference of `Outstanding`: a report visits every chunk from the lowest one that is
//! outstanding up to the highest one reported, as kernels do that walk the queue of sent chunks.

use crate::buffer::RangeSet;
use crate::sctp::outstanding::{Arrival, Report};
use base::{Instant, PathId};
use std::collections::VecDeque;
use std::ops::Range;
use wire::sctp::{GapBlock, Tsn};

/// Chunks in the order of their TSNs.
#[derive(Clone, Debug)]
pub struct SentList {
    initial: Tsn,
    /// Offset of the first of `entries`.
    first: u64,
    entries: VecDeque<Entry>,
    /// Offset behind the highest chunk that is acknowledged by a gap block.
    acked_end: u64,
    /// When and over which path the next report comes, if they come over several paths.
    arrival: Option<Arrival>,
}

/// What a report does.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListAnswer {
    /// TSNs acknowledged for the first time.
    pub newly: Vec<Tsn>,
    /// TSNs that were acknowledged and are not any more.
    pub reneged: Vec<Tsn>,
    /// Entries visited.
    pub visited: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entry {
    Sent,
    /// Acknowledged by a report that came so.
    Acked(Option<Arrival>),
    /// Acknowledged and never discarded by the peer, or abandoned.
    Kept,
}

impl SentList {
    /// Nothing is sent; the first chunk will have the TSN `initial`.
    pub const fn new(initial: Tsn) -> Self {
        SentList { initial, first: 0, entries: VecDeque::new(), acked_end: 0, arrival: None }
    }

    /// The next chunk is sent for the first time.
    pub fn send(&mut self) {
        self.entries.push_back(Entry::Sent);
    }

    /// The next chunk will have the TSN `next`.
    pub fn renumber(&mut self, next: Tsn) {
        let end = self.first + self.entries.len() as u64;
        self.initial = Tsn(next.0.wrapping_sub(end as u32));
    }

    /// This side gives a chunk up.
    pub fn abandon(&mut self, tsn: Tsn) {
        let at = tsn.to_offset(self.initial, self.first) - self.first as i64;
        if let Some(entry) = usize::try_from(at).ok().and_then(|at| self.entries.get_mut(at)) {
            *entry = Entry::Kept;
        }
    }

    /// As [`Outstanding::arrives`](crate::sctp::Outstanding).
    pub(super) const fn arrives(&mut self, now: Instant, over: Option<PathId>) {
        self.arrival = Some(Arrival { now, over });
    }

    /// A report arrives that is not old and acknowledges nothing that was never sent.
    pub fn acknowledge(&mut self, report: &Report<'_>) -> ListAnswer {
        let mut answer = ListAnswer::default();
        let next = (report.cum_tsn + 1).to_offset(self.initial, self.first);
        let next = u64::try_from(next).unwrap_or(0).max(self.first);
        let advanced = next > self.first;
        while self.first < next
            && let Some(entry) = self.entries.pop_front()
        {
            answer.visited += 1;
            answer.newly.extend((entry == Entry::Sent).then(|| self.tsn(self.first)));
            self.first += 1;
        }
        let [gaps, nr_gaps] = [report.gaps, report.nr_gaps].map(|blocks| ranges(blocks, next));
        let blocks = report.gaps.iter().chain(report.nr_gaps);
        let highest = next + u64::from(blocks.map(|block| block.end).max().unwrap_or(0));
        let end = if report.complete { highest.max(self.acked_end) } else { highest };
        let kept_end = self.walk((&gaps, &nr_gaps), (end, advanced), &mut answer);
        self.acked_end =
            if report.complete { highest.max(kept_end) } else { highest.max(self.acked_end) };
        answer
    }

    /// Visits the entries below `end`. What a report lacks that may only be late stays
    /// acknowledged, unless it has `advanced` the cumulative TSN; returns the offset behind the
    /// last of these.
    fn walk(
        &mut self,
        (gaps, nr_gaps): (&RangeSet, &RangeSet),
        (end, advanced): (u64, bool),
        answer: &mut ListAnswer,
    ) -> u64 {
        let (arrival, mut kept_end) = (self.arrival, 0);
        let (mut gaps, mut nr_gaps) = (gaps.iter().peekable(), nr_gaps.iter().peekable());
        for (at, entry) in (self.first..end).zip(&mut self.entries) {
            answer.visited += 1;
            while gaps.next_if(|range| range.end <= at).is_some() {}
            while nr_gaps.next_if(|range| range.end <= at).is_some() {}
            let acked = gaps.peek().is_some_and(|range| range.start <= at);
            let kept = nr_gaps.peek().is_some_and(|range| range.start <= at);
            let tsn = Tsn::from_offset(self.initial, at);
            let after = match (*entry, acked, kept) {
                (Entry::Kept, ..) | (_, _, true) => Entry::Kept,
                (Entry::Acked(_), true, false) => *entry,
                (Entry::Sent, true, false) => Entry::Acked(arrival),
                (Entry::Acked(Some(before)), false, false)
                    if !advanced && arrival.is_some_and(|now| now.may_be_before(before)) =>
                {
                    kept_end = at + 1;
                    *entry
                }
                (_, false, false) => Entry::Sent,
            };
            match (*entry, after) {
                (Entry::Sent, Entry::Acked(_) | Entry::Kept) => answer.newly.push(tsn),
                (Entry::Acked(_), Entry::Sent) => answer.reneged.push(tsn),
                _ => {}
            }
            *entry = after;
        }
        kept_end
    }

    fn tsn(&self, at: u64) -> Tsn {
        Tsn::from_offset(self.initial, at)
    }
}

/// Blocks as ranges of offsets, where `next` is the one behind the cumulative TSN.
fn ranges(blocks: &[GapBlock], next: u64) -> RangeSet {
    let mut set = RangeSet::new();
    for block in blocks {
        let start = (next + u64::from(block.start)).saturating_sub(1);
        set.insert(Range { start, end: next + u64::from(block.end) });
    }
    set
}
