//! `OffsetSet`: offsets that are mostly added in ascending order and removed at the front.
//!
//! What is added behind all others is appended to a queue, in which a removed offset is marked and
//! dropped when it comes to the front. What is added elsewhere is in a tree.

use base::ring;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

/// An ordered set of offsets.
#[derive(Clone, Debug, Default)]
pub(super) struct OffsetSet {
    /// Ascending; the first one is in the set, if there is any.
    queue: VecDeque<Entry>,
    /// Those that were added below the last one of `queue`.
    others: BTreeSet<u64>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: u64,
    removed: bool,
}

impl OffsetSet {
    /// Adds an offset that is not in the set.
    pub(super) fn insert(&mut self, at: u64) {
        self.len += 1;
        if self.queue.back().is_none_or(|last| last.at < at) {
            self.queue.push_back(Entry { at, removed: false });
        } else {
            let is_new = self.others.insert(at);
            debug_assert!(is_new, "the offset was not in the set");
        }
    }

    /// Whether there is no offset.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes an offset; returns whether it was in the set.
    #[inline]
    pub(super) fn remove(&mut self, at: u64) -> bool {
        if self.is_empty() {
            return false;
        }
        if self.queue.front().is_some_and(|first| first.at == at) {
            self.remove_first();
            self.len -= 1;
            return true;
        }
        self.remove_other(at)
    }

    fn remove_other(&mut self, at: u64) -> bool {
        let is_removed = self.remove_queued(at) || self.others.remove(&at);
        self.len -= usize::from(is_removed);
        is_removed
    }

    fn remove_queued(&mut self, at: u64) -> bool {
        let index = match self.queue.front() {
            None => return false,
            Some(first) if first.at > at => return false,
            Some(_) => self.queue.partition_point(|entry| entry.at < at),
        };
        let Some(entry) = self.queue.get_mut(index) else { return false };
        if entry.at != at || entry.removed {
            return false;
        }
        entry.removed = true;
        true
    }

    /// Removes the first of `queue`, and those behind it that were removed before.
    #[inline(always)]
    fn remove_first(&mut self) {
        ring::pop_front(&mut self.queue);
        if self.queue.front().is_some_and(|first| first.removed) {
            self.drop_removed();
        }
    }

    /// Drops what was removed in front.
    #[inline(never)]
    fn drop_removed(&mut self) {
        while self.queue.front().is_some_and(|first| first.removed) {
            ring::pop_front(&mut self.queue);
        }
    }

    /// The lowest offset.
    pub(super) fn first(&self) -> Option<u64> {
        let queued = self.queue.front().map(|first| first.at);
        if self.others.is_empty() {
            return queued;
        }
        let other = self.others.first().copied();
        match (queued, other) {
            (Some(queued), Some(other)) => Some(queued.min(other)),
            (queued, other) => queued.or(other),
        }
    }

    /// The highest offset; linear in what was removed behind it.
    pub(super) fn last(&self) -> Option<u64> {
        let queued = self.queue.iter().rev().find(|entry| !entry.removed).map(|entry| entry.at);
        queued.max(self.others.last().copied())
    }

    /// The lowest offset that is not below `from`.
    pub(super) fn first_from(&self, from: u64) -> Option<u64> {
        // Mostly nothing is below `from`, so that the first one needs no search.
        let queued = match self.queue.front() {
            Some(first) if first.at < from => self.queued_from(from),
            first => first.map(|first| first.at),
        };
        if self.others.is_empty() {
            return queued;
        }
        let other = self.others.range(from..).next().copied();
        match (queued, other) {
            (Some(queued), Some(other)) => Some(queued.min(other)),
            (queued, other) => queued.or(other),
        }
    }

    #[inline(never)]
    fn queued_from(&self, from: u64) -> Option<u64> {
        let index = self.queue.partition_point(|entry| entry.at < from);
        let queued = self.queue.iter().skip(index).find(|entry| !entry.removed);
        queued.map(|entry| entry.at)
    }

    /// The offsets in `range`, in no particular order.
    pub(super) fn range(&self, range: Range<u64>) -> impl Iterator<Item = u64> + '_ {
        let Range { start, end } = range;
        let from = self.queue.partition_point(|entry| entry.at < start);
        let queued = self.queue.iter().skip(from).take_while(move |entry| entry.at < end);
        let queued = queued.filter(|entry| !entry.removed).map(|entry| entry.at);
        let others = (start < end).then(|| self.others.range(start..end));
        queued.chain(others.into_iter().flatten().copied())
    }

    /// All offsets, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.range(0..u64::MAX)
    }

    /// Number of offsets.
    pub(super) const fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(offsets: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut offsets: Vec<u64> = offsets.collect();
        offsets.sort_unstable();
        offsets
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn random_operations_equal_a_tree(
            ops in prop::collection::vec((any::<bool>(), 0..40u64, 0..40u64), 1..80)
        ) {
            let (mut set, mut model) = (OffsetSet::default(), BTreeSet::new());
            for (adds, at, other) in ops {
                if adds && model.insert(at) {
                    set.insert(at);
                } else {
                    prop_assert_eq!(set.remove(at), model.remove(&at));
                }
                let (low, high) = (at.min(other), at.max(other));
                prop_assert_eq!(
                    sorted(set.range(low..high)),
                    sorted(model.range(low..high).copied())
                );
                prop_assert_eq!(sorted(set.iter()), sorted(model.iter().copied()));
                prop_assert_eq!(set.first(), model.first().copied());
                prop_assert_eq!(set.last(), model.last().copied());
                prop_assert_eq!(set.first_from(at), model.range(at..).next().copied());
                prop_assert_eq!(set.len(), model.len());
            }
        }
    }

    #[test]
    fn what_is_removed_in_front_is_forgotten() {
        let mut set = OffsetSet::default();
        (0..1000).for_each(|at| set.insert(at));
        (1..1000).for_each(|at| assert!(set.remove(at)));
        assert_eq!((set.len(), set.queue.len()), (1, 1000));
        assert!(set.remove(0));
        assert!(set.queue.is_empty());
    }
}
