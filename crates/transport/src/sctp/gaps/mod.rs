//! `GapStructure`: how sender and receiver keep TSNs above the cumulative one, and how many entries
//! they visit.
//!
//! An entry is a chunk at the sender and a block of TSNs at the receiver. What is acknowledged and
//! reported is the same with either structure: the tree's answers are used, the list is kept beside
//! it as a reference, walked and compared with it. A host with a cost per entry takes time for what
//! is visited: with lists more than a processor has (003 sIII-D).

mod received_list;
mod sent_list;
#[cfg(test)]
mod tests;

pub use received_list::ReceivedList;
pub use sent_list::{ListAnswer, SentList};

use super::outstanding::{Acknowledged, Report};
use super::received::Arrival;
use base::{Instant, PathId};
use wire::sctp::Tsn;

/// The structure that keeps TSNs above the cumulative one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GapStructure {
    /// Ordered trees, of which only what changes is visited.
    #[default]
    Tree,
    /// Lists, which are visited one entry after the other.
    List,
}

impl GapStructure {
    /// Every structure.
    pub const ALL: [GapStructure; 2] = [GapStructure::Tree, GapStructure::List];

    /// The name in options.
    pub const fn name(self) -> &'static str {
        match self {
            GapStructure::Tree => "tree",
            GapStructure::List => "list",
        }
    }

    /// The structure of that name, in any case.
    pub fn by_name(name: &str) -> Option<GapStructure> {
        GapStructure::ALL.into_iter().find(|structure| structure.name().eq_ignore_ascii_case(name))
    }
}

/// Entries that a sender visits while it processes reports.
#[derive(Clone, Debug, Default)]
pub(super) struct SentGaps {
    list: Option<Box<SentList>>,
    visited: u64,
}

/// Entries that a receiver visits at the arrival of TSNs.
#[derive(Clone, Debug, Default)]
pub(super) struct ReceivedGaps {
    list: Option<Box<ReceivedList>>,
    visited: u64,
}

impl SentGaps {
    /// Nothing is sent; the first chunk will have the TSN `initial`.
    pub(super) fn new(structure: GapStructure, initial: Tsn) -> Self {
        let list = || Box::new(SentList::new(initial));
        SentGaps { list: (structure == GapStructure::List).then(list), visited: 0 }
    }

    /// The next chunk is sent for the first time.
    #[inline]
    pub(super) fn on_sent(&mut self) {
        if let Some(list) = &mut self.list {
            list.send();
        }
    }

    /// A chunk is abandoned.
    pub(super) fn on_abandoned(&mut self, tsn: Tsn) {
        if let Some(list) = &mut self.list {
            list.abandon(tsn);
        }
    }

    /// The next chunk will have the TSN `next`.
    pub(super) fn renumber(&mut self, next: Tsn) {
        if let Some(list) = &mut self.list {
            list.renumber(next);
        }
    }

    /// As `Outstanding::arrives`.
    pub(super) fn arrives(&mut self, now: Instant, over: Option<PathId>) {
        if let Some(list) = &mut self.list {
            list.arrives(now, over);
        }
    }

    /// A report was processed, which changed `acked`. The tree visits chunks whose state changes.
    #[inline]
    pub(super) fn on_report(&mut self, report: &Report<'_>, acked: &Acknowledged) {
        self.visited += match &mut self.list {
            None => (acked.newly.len() + acked.reneged.len()) as u64,
            Some(list) => {
                let answer = list.acknowledge(report);
                debug_assert!(
                    answer.newly.iter().eq(acked.newly.iter().map(|chunk| &chunk.tsn))
                        && answer.reneged == acked.reneged,
                    "list and tree acknowledge the same"
                );
                answer.visited
            }
        };
    }

    /// Entries visited since the last call.
    pub(super) const fn take_visited(&mut self) -> u64 {
        std::mem::replace(&mut self.visited, 0)
    }
}

impl ReceivedGaps {
    /// Nothing has arrived.
    pub(super) fn new(structure: GapStructure) -> Self {
        let list = (structure == GapStructure::List).then(Box::default);
        ReceivedGaps { list, visited: 0 }
    }

    /// A TSN with this offset arrives when there are `blocks`; its search in the tree visits a
    /// block on each level.
    #[inline]
    pub(super) fn on_arrival(&mut self, at: u64, blocks: usize, arrival: Arrival) {
        self.visited += match &mut self.list {
            None => u64::from(blocks.checked_ilog2().map_or(0, |levels| levels + 1)),
            Some(list) => {
                let (same, visited) = list.insert(at);
                debug_assert_eq!(same, arrival, "list and tree have the same");
                visited
            }
        };
    }

    /// Everything below `at` has arrived or is skipped.
    pub(super) fn on_skipped(&mut self, at: u64) {
        if let Some(list) = &mut self.list {
            list.skip_to(at);
        }
    }

    /// The TSN with this offset is discarded.
    pub(super) fn on_discarded(&mut self, at: u64) {
        if let Some(list) = &mut self.list {
            list.remove(at);
        }
    }

    /// Entries visited since the last call.
    pub(super) const fn take_visited(&mut self) -> u64 {
        std::mem::replace(&mut self.visited, 0)
    }
}
