//! `Assignments`: which unsent data are meant for which path.
//!
//! An assignment is a mark on a range and can be taken back: no sequence number of a path exists
//! before transmission (002 sV-B, STTF's tags). Data that are assigned irrevocably go straight to
//! the queue of a path and are not kept here.

use crate::buffer::RangeSet;
use base::PathId;
use std::ops::Range;

/// Marks on unsent data, each byte for one path at most.
#[derive(Clone, Debug, Default)]
pub(super) struct Assignments {
    /// By path number; as many as ever had an assignment.
    paths: Vec<RangeSet>,
}

impl Assignments {
    /// Nothing is marked.
    pub(super) fn is_empty(&self) -> bool {
        self.paths.iter().all(RangeSet::is_empty)
    }

    /// `range` is meant for `path`, whichever it was meant for before.
    pub(super) fn assign(&mut self, range: Range<u64>, path: PathId) {
        self.unassign(range.clone());
        if self.paths.len() <= path.index() {
            self.paths.resize_with(path.index() + 1, RangeSet::new);
        }
        debug_assert!(
            self.paths.iter().all(|marked| marked.first_overlap(range.clone()).is_none()),
            "no byte is assigned twice"
        );
        self.paths[path.index()].insert(range);
    }

    /// `range` is meant for no path.
    pub(super) fn unassign(&mut self, range: Range<u64>) {
        for marked in &mut self.paths {
            marked.remove(range.clone());
        }
    }

    /// Removes the marks of a path that left.
    pub(super) fn forget(&mut self, path: PathId) {
        if let Some(marked) = self.paths.get_mut(path.index()) {
            *marked = RangeSet::new();
        }
    }

    /// Take all assignments back.
    pub(super) fn clear(&mut self) {
        self.paths.clear();
    }

    /// The first range meant for `path`.
    pub(super) fn first_of(&self, path: PathId) -> Option<Range<u64>> {
        self.paths.get(path.index())?.first()
    }

    /// Bytes meant for `path`.
    pub(super) fn bytes_of(&self, path: PathId) -> u64 {
        self.paths.get(path.index()).map_or(0, RangeSet::covered_bytes)
    }

    /// The first part of `range` that is meant for no path; empty if there is none.
    pub(super) fn free_part(&self, range: Range<u64>) -> Range<u64> {
        let Range { start: mut at, end } = range;
        let marked_until = |at: u64| {
            self.paths.iter().find_map(|marked| marked.range_containing(at)).map(|range| range.end)
        };
        while at < end
            && let Some(next) = marked_until(at)
        {
            at = next.min(end);
        }
        let starts = self.paths.iter().filter_map(|marked| marked.first_overlap(at..end));
        at..starts.map(|range| range.start).min().unwrap_or(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mark_moves_from_path_to_path_and_away() {
        let mut assignments = Assignments::default();
        assignments.assign(0..100, PathId(1));
        assignments.assign(40..60, PathId(0));
        assert_eq!(assignments.first_of(PathId(0)), Some(40..60));
        assert_eq!(assignments.first_of(PathId(1)), Some(0..40));
        assert_eq!(assignments.bytes_of(PathId(1)), 80);
        assignments.unassign(0..50);
        assert_eq!(assignments.free_part(0..200), 0..50);
        assert_eq!(assignments.free_part(50..200), 100..200);
        assignments.forget(PathId(1));
        assert_eq!(assignments.free_part(50..200), 60..200);
        assert_eq!(assignments.free_part(50..60), 60..60, "empty");
    }

    proptest! {
        /// Against an array of owners.
        #[test]
        fn every_byte_is_meant_for_whom_it_was_last(
            ops in prop::collection::vec((0u64..40, 0u64..20, 0u8..4), 0..30),
        ) {
            let mut assignments = Assignments::default();
            let mut model = [None; 64];
            for (start, len, path) in ops {
                let range = start..start + len;
                let owner = (path < 3).then_some(PathId(path));
                match owner {
                    Some(path) => assignments.assign(range.clone(), path),
                    None => assignments.unassign(range.clone()),
                }
                model[range.start as usize..range.end as usize].fill(owner);
            }
            for path in [PathId(0), PathId(1), PathId(2)] {
                let bytes = model.iter().filter(|owner| **owner == Some(path)).count();
                prop_assert_eq!(assignments.bytes_of(path), bytes as u64);
                let first = model.iter().position(|owner| *owner == Some(path));
                let found = assignments.first_of(path).map(|range| range.start as usize);
                prop_assert_eq!(found, first);
            }
            let free = assignments.free_part(0..64);
            let first = model.iter().position(Option::is_none).unwrap_or(64);
            prop_assert_eq!(free.start as usize, first);
            let end = model[first..].iter().position(Option::is_some).map_or(64, |at| first + at);
            prop_assert_eq!(free.end as usize, end);
        }
    }
}
