//! `ReceivedList`: TSNs that have arrived, in a list of blocks.
//!
//! The linear reference of `ReceivedTsns`: an arrival visits the blocks from the lowest one on.

use crate::sctp::received::Arrival;
use std::ops::Range;

/// Blocks of TSNs above the cumulative one, lowest first. TSNs are offsets from the initial one.
#[derive(Clone, Debug, Default)]
pub struct ReceivedList {
    /// Offset of the lowest TSN that has not arrived.
    next: u64,
    /// Disjoint, and apart from each other.
    blocks: Vec<Range<u64>>,
}

impl ReceivedList {
    /// A TSN arrives; returns the number of blocks visited, too.
    pub fn insert(&mut self, at: u64) -> (Arrival, u64) {
        if at < self.next {
            return (Arrival::Duplicate, 0);
        }
        let mut index = 0;
        while let Some(block) = self.blocks.get(index)
            && block.end < at
        {
            index += 1;
        }
        let visited = self.blocks.len().min(index + 1) as u64;
        if self.blocks.get(index).is_some_and(|block| block.contains(&at)) {
            return (Arrival::Duplicate, visited);
        }
        match self.blocks.get_mut(index) {
            Some(block) if block.end == at => block.end += 1,
            Some(block) if block.start == at + 1 => block.start = at,
            _ => self.blocks.insert(index, at..at + 1),
        }
        if let [block, above, ..] = &self.blocks[index..]
            && block.end == above.start
        {
            self.blocks[index].end = above.end;
            self.blocks.remove(index + 1);
        }
        self.advance();
        (Arrival::New, visited)
    }

    /// Everything below `at` has arrived or is skipped.
    pub fn skip_to(&mut self, at: u64) {
        self.next = self.next.max(at);
        self.blocks.retain(|block| block.end > at);
        if let Some(block) = self.blocks.first_mut() {
            block.start = block.start.max(at);
        }
        self.advance();
    }

    /// A TSN is discarded.
    pub fn remove(&mut self, at: u64) {
        let Some(index) = self.blocks.iter().position(|block| block.contains(&at)) else { return };
        let Range { start, end } = self.blocks.remove(index);
        let rest = [start..at, at + 1..end];
        self.blocks.splice(index..index, rest.into_iter().filter(|range| !range.is_empty()));
    }

    /// Offset of the lowest TSN that has not arrived.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// The blocks, lowest first.
    pub fn blocks(&self) -> &[Range<u64>] {
        &self.blocks
    }

    /// The lowest block joins what has arrived without a gap.
    fn advance(&mut self) {
        if self.blocks.first().is_some_and(|block| block.start == self.next) {
            self.next = self.blocks.remove(0).end;
        }
        debug_assert!(self.blocks.first().is_none_or(|block| block.start > self.next), "a gap");
    }
}
