//! `LastBlocks`: the gap blocks of the last report, from which those of the next one are made.
//!
//! With several paths a report has a block for each chunk that is under way on the slowest one.
//! From one report to the next the lowest of them are passed and the highest ones change; those
//! between are moved by the advance of the cumulative TSN and not collected again. How many blocks
//! fit a packet is left to the caller.

use crate::buffer::RangeSet;
use std::ops::Range;
use wire::sctp::GapBlock;

/// Offsets from the cumulative TSN have 16 bits (RFC 9260 s3.3.4).
const MAX_OFFSET: u64 = u16::MAX as u64;

/// Blocks of the last report.
#[derive(Clone, Debug)]
pub(super) struct LastBlocks {
    /// Offset behind its cumulative TSN.
    next: u64,
    blocks: Vec<GapBlock>,
    /// What has arrived is the same below this offset, but for what the cumulative TSN has passed.
    same_below: u64,
}

impl LastBlocks {
    /// There was no report.
    pub(super) const fn new() -> Self {
        LastBlocks { next: 0, blocks: Vec::new(), same_below: 0 }
    }

    /// A TSN arrives above the cumulative one, or is discarded.
    pub(super) fn on_change(&mut self, at: u64) {
        self.same_below = self.same_below.min(at);
    }

    /// The lowest blocks of what has arrived `above` the TSN `next`, at most `limit` of them.
    pub(super) fn update(&mut self, above: &RangeSet, next: u64, limit: usize) -> &[GapBlock] {
        self.keep_same(next);
        self.blocks.truncate(limit);
        let from = self.blocks.last().map_or(next, |last| next + u64::from(last.end));
        let room = limit - self.blocks.len();
        self.blocks.extend(blocks(above.iter_from(from), next).take(room));
        self.same_below = u64::MAX;
        debug_assert!(
            self.blocks.iter().copied().eq(blocks(above.iter(), next).take(limit)),
            "as if all were collected"
        );
        &self.blocks
    }

    /// Keeps the blocks that are above the cumulative TSN and did not change, with their offsets
    /// from the new cumulative TSN.
    fn keep_same(&mut self, next: u64) {
        let shift = next - self.next;
        let is_same = |block: &GapBlock| {
            self.next + u64::from(block.end) < self.same_below && block.end < u16::MAX
        };
        // A search would cost more: few blocks change, and few are passed.
        while self.blocks.last().is_some_and(|block| !is_same(block)) {
            self.blocks.pop();
        }
        if shift > 0 {
            let is_passed = |block: &&GapBlock| u64::from(block.start) <= shift;
            let passed = self.blocks.iter().take_while(is_passed).count();
            self.blocks.drain(..passed);
            for block in &mut self.blocks {
                *block = moved(*block, shift as u16);
            }
        }
        self.next = next;
    }
}

/// The block with offsets from a cumulative TSN that is higher by `shift`.
const fn moved(block: GapBlock, shift: u16) -> GapBlock {
    GapBlock { start: block.start - shift, end: block.end - shift }
}

/// Ranges of offsets as blocks, where the one behind the cumulative TSN is `next`, until their
/// offsets have too many bits.
pub(super) fn blocks(
    ranges: impl Iterator<Item = Range<u64>>,
    next: u64,
) -> impl Iterator<Item = GapBlock> {
    let offset = move |at: u64| at - next + 1;
    let pairs = ranges.map(move |range| (offset(range.start), offset(range.end - 1)));
    let pairs = pairs.take_while(|&(start, _)| start <= MAX_OFFSET);
    pairs.map(|(start, end)| GapBlock { start: start as u16, end: end.min(MAX_OFFSET) as u16 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(blocks: &[GapBlock]) -> Vec<(u16, u16)> {
        blocks.iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn blocks_are_moved_by_the_advance_of_the_cumulative_tsn_and_collected_behind_a_change() {
        let (mut above, mut last) = (RangeSet::new(), LastBlocks::new());
        for at in [2, 3, 5, 8, 11] {
            above.insert(at..at + 1);
        }
        assert_eq!(pairs(last.update(&above, 1, 9)), [(2, 3), (5, 5), (8, 8), (11, 11)]);
        // 1 arrives: the cumulative TSN is 3. 9 continues a block, 12 the last one.
        above.remove_below(4);
        for at in [9, 12] {
            above.insert(at..at + 1);
            last.on_change(at);
        }
        assert_eq!(pairs(last.update(&above, 4, 9)), [(2, 2), (5, 6), (8, 9)]);
        // Less room, then more, and no change.
        assert_eq!(pairs(last.update(&above, 4, 1)), [(2, 2)]);
        assert_eq!(pairs(last.update(&above, 4, 9)), [(2, 2), (5, 6), (8, 9)]);
    }

    #[test]
    fn block_whose_end_was_cut_off_is_collected_again() {
        let (mut above, mut last) = (RangeSet::new(), LastBlocks::new());
        above.insert(10..70_000);
        assert_eq!(pairs(last.update(&above, 1, 9)), [(10, u16::MAX)]);
        above.insert(1..3);
        above.remove_below(3);
        assert_eq!(pairs(last.update(&above, 3, 9)), [(8, u16::MAX)]);
    }
}
