//! `LastReport`: the blocks of the last report, of which those of the next one are mostly the same.
//!
//! A report repeats its blocks until the cumulative TSN passes them, as many as fit a packet. What
//! is the same at the beginning of both lists is compared many blocks at a time, and only what is
//! behind that block by block.

use super::Report;
use crate::buffer::RangeSet;
use std::iter::Peekable;
use std::ops::Range;
use wire::sctp::GapBlock;

/// Blocks that are compared at a time.
const AT_A_TIME: usize = 8;

/// Blocks of the last report.
#[derive(Clone, Debug, Default)]
pub(super) struct LastReport {
    /// Offset behind its cumulative TSN.
    next: u64,
    /// Those that the peer may discard, and those that it keeps.
    blocks: [Vec<GapBlock>; 2],
    /// Both lists are ascending.
    in_order: bool,
}

/// What is behind the blocks that two reports have in common at their beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest<'a> {
    /// Of the last report and of the next one.
    lists: [List<'a>; 2],
}

/// Blocks, and the offset behind their cumulative TSN.
#[derive(Clone, Copy, Debug)]
struct List<'a> {
    next: u64,
    blocks: &'a [GapBlock],
}

impl LastReport {
    /// What `report` changes, whose offset behind the cumulative TSN is `next`: among blocks that
    /// the peer may discard, and among those that it keeps.
    pub(super) fn compare<'a>(&'a self, report: &Report<'a>, next: u64) -> [Rest<'a>; 2] {
        let [gaps, kept] = &self.blocks;
        [(gaps, report.gaps), (kept, report.nr_gaps)].map(|(last, blocks)| {
            let passed = |block: &&GapBlock| self.next + u64::from(block.end) <= next;
            let last = &last[last.iter().take_while(passed).count()..];
            let same = if self.in_order { same(last, blocks, next - self.next) } else { 0 };
            let last = List { next: self.next, blocks: &last[same..] };
            Rest { lists: [last, List { next, blocks: &blocks[same..] }] }
        })
    }

    /// The highest end of a block of `report`, which is the last one: as a rule that of the last
    /// block, without a look at the others.
    pub(super) fn highest_end(&self, report: &Report<'_>) -> u16 {
        let highest = |blocks: &[GapBlock]| match self.in_order {
            true => blocks.last().map(|block| block.end),
            false => blocks.iter().map(|block| block.end).max(),
        };
        highest(report.gaps).max(highest(report.nr_gaps)).unwrap_or(0)
    }

    /// Whether it has no block.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.iter().all(Vec::is_empty)
    }

    /// `report` is the last one. `new`: how many blocks at the end of its lists the one before did
    /// not have; those before them are known to be ascending.
    pub(super) fn set(&mut self, report: &Report<'_>, next: u64, new: [usize; 2]) {
        self.next = next;
        self.in_order = true;
        let lists = [report.gaps, report.nr_gaps].into_iter().zip(new);
        for (last, (blocks, new)) in self.blocks.iter_mut().zip(lists) {
            last.clear();
            last.extend_from_slice(blocks);
            let known = blocks.len().saturating_sub(new + 1);
            self.in_order &= are_ascending(blocks.get(known..).unwrap_or_default());
        }
    }
}

impl<'a> Rest<'a> {
    /// Whether the next report has the blocks of the last one, and no other.
    pub(super) fn is_empty(&self) -> bool {
        self.lists.iter().all(|list| list.blocks.is_empty())
    }

    /// The number of blocks of the next report that are behind the common ones.
    pub(super) const fn new_blocks(&self) -> usize {
        self.lists[1].blocks.len()
    }

    /// Offset behind the highest block of the next report; 0 without any.
    pub(super) fn highest(&self) -> u64 {
        self.lists[1].ranges().map(|range| range.end).max().unwrap_or(0)
    }

    /// The blocks of the next report that the last one does not have, as far as both are ascending.
    pub(super) fn changed(self) -> impl Iterator<Item = Range<u64>> + 'a {
        let [last, next] = self.lists.map(List::ranges);
        let mut last = last.peekable();
        next.filter(move |range| {
            while last.next_if(|known| known.start < range.start).is_some() {}
            last.peek() != Some(range)
        })
    }

    /// Whether the next report has all that the last one has, as far as both are ascending.
    pub(super) fn has_all(&self) -> bool {
        let from = self.lists[1].next;
        let [mut last, next] = self.lists.map(List::ranges);
        let mut next: Peekable<_> = next.peekable();
        last.all(|known| {
            while next.next_if(|range| range.end < known.end).is_some() {}
            let is_part = |range: &Range<u64>| range.start <= known.start.max(from);
            known.end <= from || next.peek().is_some_and(is_part)
        })
    }
}

impl<'a> List<'a> {
    /// The blocks as ranges of offsets.
    fn ranges(self) -> impl Iterator<Item = Range<u64>> + 'a {
        self.blocks.iter().map(move |block| range_of(block, self.next))
    }
}

/// A block as a range of offsets, where `next` is the one behind the cumulative TSN.
pub(super) fn range_of(block: &GapBlock, next: u64) -> Range<u64> {
    let start = (next + u64::from(block.start)).saturating_sub(1);
    start..next + u64::from(block.end)
}

/// All blocks of a report as ranges of offsets, in order and without overlap; `next` is the offset
/// behind the cumulative TSN.
pub(super) fn in_order(report: &Report<'_>, next: u64) -> Vec<Range<u64>> {
    let blocks = report.gaps.iter().chain(report.nr_gaps);
    let ranges: Vec<Range<u64>> = blocks.map(|block| range_of(block, next)).collect();
    let follows = |pair: &[Range<u64>]| pair[0].end <= pair[1].start;
    if ranges.iter().all(|range| range.start < range.end) && ranges.windows(2).all(follows) {
        return ranges;
    }
    let mut joined = RangeSet::new();
    ranges.into_iter().for_each(|range| _ = joined.insert(range));
    joined.iter().collect()
}

/// The number of blocks at the beginning of both lists that are the same, if those of `last`, which
/// are ascending, are moved down by `shift`.
fn same(last: &[GapBlock], blocks: &[GapBlock], shift: u64) -> usize {
    let down = match (u16::try_from(shift), last.first()) {
        (Ok(shift), Some(first)) if first.start >= shift => word(shift, shift),
        _ => return 0,
    };
    let least = last.len().min(blocks.len());
    let (last, blocks) = (&last[..least], &blocks[..least]);
    // Without a branch for each block, compilers use vector instructions. No half is below `shift`.
    let differs = |(last, block): (&GapBlock, &GapBlock)| {
        word(last.start, last.end).wrapping_sub(down) ^ word(block.start, block.end)
    };
    // What is left behind them differs as a rule, as blocks change at the end of the list.
    let lists = last.chunks_exact(AT_A_TIME).zip(blocks.chunks_exact(AT_A_TIME));
    let equal = lists.take_while(|(last, blocks)| {
        last.iter().zip(*blocks).map(differs).fold(0, |any, one| any | one) == 0
    });
    let whole = equal.count() * AT_A_TIME;
    let rest = last[whole..].iter().zip(&blocks[whole..]);
    whole + rest.take_while(|pair| differs(*pair) == 0).count()
}

/// Two numbers in one.
const fn word(low: u16, high: u16) -> u32 {
    low as u32 | (high as u32) << 16
}

/// Whether every block is behind the one before.
fn are_ascending(blocks: &[GapBlock]) -> bool {
    let is_range = blocks.iter().fold(true, |all, block| all & (block.start <= block.end));
    let pairs = blocks.iter().zip(blocks.iter().skip(1));
    is_range & pairs.fold(true, |all, (block, above)| all & (block.end < above.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(from: u16, count: u16) -> Vec<GapBlock> {
        (0..count).map(|at| from + 10 * at).map(|at| GapBlock { start: at, end: at + 8 }).collect()
    }

    #[test]
    fn blocks_at_the_beginning_are_compared_from_the_new_cumulative_tsn() {
        let last = blocks(30, 100);
        for (down, from) in [(0, 30), (7, 23), (30, 0)] {
            assert_eq!(same(&last, &blocks(from, 90), down), 90);
            assert_eq!(same(&last, &blocks(from + 1, 90), down), 0);
            for at in [0, 31, 32, 50, 89] {
                let mut other = blocks(from, 90);
                other[at].end += 1;
                assert_eq!(same(&last, &other, down), at);
            }
        }
        assert_eq!(same(&last, &[], 0), 0);
        assert_eq!(same(&last, &blocks(30, 1), 31), 0, "below the first one");
        assert_eq!(same(&last, &blocks(30, 1), 1 << 16), 0, "beyond 16 bits");
    }

    #[test]
    fn only_what_a_report_adds_changes() {
        let report =
            |gaps| Report { cum_tsn: wire::sctp::Tsn(0), gaps, nr_gaps: &[], complete: true };
        let mut last = LastReport::default();
        let before = blocks(12, 40);
        last.set(&report(&before), 100, [40, 0]);
        let after = blocks(2, 40);
        // The cumulative TSN passes the first block.
        let [rest, none] = last.compare(&report(&after[..]), 120);
        assert!(none.is_empty() && rest.has_all());
        assert!(rest.changed().eq(std::iter::once(511..520)));
        let [rest, _] = last.compare(&report(&after[..39]), 120);
        assert!(rest.is_empty());
        let [rest, _] = last.compare(&report(&after[..38]), 120);
        assert!(!rest.has_all() && !rest.is_empty());
    }
}
