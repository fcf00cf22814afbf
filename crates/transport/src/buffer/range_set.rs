//! `RangeSet`: disjoint half-open ranges of 64-bit offsets, in order.
//!
//! Every operation costs O(log n) plus the ranges it touches; a linear list of gaps can occupy a
//! whole processor (003 sIII-D). Ranges that touch or overlap are joined. The meaning of the
//! offsets is left to the owner.

use std::collections::BTreeMap;
use std::ops::Range;

/// An ordered set of disjoint, non-adjacent, non-empty ranges.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RangeSet {
    /// Start to end.
    ranges: BTreeMap<u64, u64>,
    covered: u64,
}

impl RangeSet {
    /// No ranges.
    pub const fn new() -> Self {
        RangeSet { ranges: BTreeMap::new(), covered: 0 }
    }

    /// Covers `range`; returns how many offsets were not covered before.
    pub fn insert(&mut self, range: Range<u64>) -> u64 {
        if range.start >= range.end {
            return 0;
        }
        let before = self.covered;
        if self.extends_last(&range) {
            return self.covered - before;
        }
        let (mut start, mut end) = (range.start, range.end);
        // From the highest neighbour that touches the range downwards.
        while let Some((&s, &e)) = self.ranges.range(..=end).next_back() {
            if e < start {
                break;
            }
            self.ranges.remove(&s);
            self.covered -= e - s;
            start = start.min(s);
            end = end.max(e);
        }
        self.ranges.insert(start, end);
        self.covered += end - start;
        self.check(start);
        self.covered - before
    }

    /// Covers `range`, which is behind all others and not empty; returns the range that it became a
    /// part of. Needs no search.
    pub fn append(&mut self, range: Range<u64>) -> Range<u64> {
        debug_assert!(range.start < range.end, "the range is not empty");
        debug_assert!(self.last().is_none_or(|last| last.end <= range.start), "it is behind all");
        self.covered += range.end - range.start;
        if let Some(mut last) = self.ranges.last_entry()
            && *last.get() == range.start
        {
            *last.get_mut() = range.end;
            return *last.key()..range.end;
        }
        self.ranges.insert(range.start, range.end);
        range
    }

    /// The usual case of arrivals: the range extends or follows the highest one, which needs no
    /// search. Returns whether it did.
    fn extends_last(&mut self, range: &Range<u64>) -> bool {
        let Some(mut last) = self.ranges.last_entry() else { return false };
        let (start, end) = (*last.key(), *last.get());
        if range.start < start {
            return false;
        }
        if range.start <= end {
            let further = end.max(range.end);
            *last.get_mut() = further;
            self.covered += further - end;
        } else {
            self.ranges.insert(range.start, range.end);
            self.covered += range.end - range.start;
        }
        true
    }

    /// The parts of `range` that are not covered, in order.
    pub fn missing(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut at = match self.range_containing(range.start) {
            Some(first) => first.end,
            None => range.start,
        };
        let end = range.end;
        let mut covered = self.ranges.range(at.min(end)..end);
        std::iter::from_fn(move || {
            while at < end {
                let (gap_end, next) = match covered.next() {
                    Some((&s, &e)) => (s, e),
                    None => (end, end),
                };
                let gap = at..gap_end;
                at = next;
                if !gap.is_empty() {
                    return Some(gap);
                }
            }
            None
        })
    }

    /// Whether `offset` is covered.
    #[inline]
    pub fn contains(&self, offset: u64) -> bool {
        self.range_containing(offset).is_some()
    }

    /// The range that covers `offset`.
    #[inline]
    pub fn range_containing(&self, offset: u64) -> Option<Range<u64>> {
        if self.ranges.is_empty() { None } else { self.find(offset) }
    }

    fn find(&self, offset: u64) -> Option<Range<u64>> {
        // What arrives is mostly near the end.
        let last = self.last().filter(|last| last.start <= offset);
        if let Some(last) = last {
            return (offset < last.end).then_some(last);
        }
        let (&start, &end) = self.ranges.range(..=offset).next_back()?;
        (offset < end).then_some(start..end)
    }

    /// The lowest part of `range` that is covered.
    pub fn first_overlap(&self, range: Range<u64>) -> Option<Range<u64>> {
        if range.is_empty() {
            return None;
        }
        if let Some(first) = self.range_containing(range.start) {
            return Some(range.start..first.end.min(range.end));
        }
        let (&start, &end) = self.ranges.range(range.clone()).next()?;
        Some(start..end.min(range.end))
    }

    /// Removes everything below `offset`.
    pub fn remove_below(&mut self, offset: u64) {
        while let Some(first) = self.ranges.first_entry() {
            let (start, end) = (*first.key(), *first.get());
            if start >= offset {
                break;
            }
            first.remove();
            self.covered -= end.min(offset) - start;
            if end > offset {
                self.ranges.insert(offset, end);
                break;
            }
        }
    }

    /// Removes a range.
    pub fn remove(&mut self, range: Range<u64>) {
        while let Some(overlap) = self.first_overlap(range.clone()) {
            let Some(whole) = self.range_containing(overlap.start) else { return };
            self.ranges.remove(&whole.start);
            self.covered -= whole.end - whole.start;
            for rest in
                [whole.start..range.start.min(whole.end), range.end.max(whole.start)..whole.end]
            {
                if rest.start < rest.end {
                    self.ranges.insert(rest.start, rest.end);
                    self.covered += rest.end - rest.start;
                }
            }
        }
    }

    /// The range at `start` is not empty, and apart from its neighbours.
    fn check(&self, start: u64) {
        debug_assert!(
            self.ranges.range(..start).next_back().is_none_or(|(_, &end)| end < start),
            "ranges are disjoint and do not touch"
        );
        debug_assert!(
            self.ranges.get(&start).is_some_and(|&end| {
                start < end && self.ranges.range(start + 1..).next().is_none_or(|(&s, _)| end < s)
            }),
            "ranges are in order"
        );
    }

    /// The ranges in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + '_ {
        self.ranges.iter().map(|(&start, &end)| start..end)
    }

    /// The ranges that start at `offset` or above, in ascending order.
    pub fn iter_from(&self, offset: u64) -> impl DoubleEndedIterator<Item = Range<u64>> + '_ {
        self.ranges.range(offset..).map(|(&start, &end)| start..end)
    }

    /// The lowest range.
    pub fn first(&self) -> Option<Range<u64>> {
        self.ranges.first_key_value().map(|(&start, &end)| start..end)
    }

    /// The highest range.
    pub fn last(&self) -> Option<Range<u64>> {
        self.ranges.last_key_value().map(|(&start, &end)| start..end)
    }

    /// Whether nothing is covered.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Number of ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Number of offsets covered.
    pub const fn covered_bytes(&self) -> u64 {
        self.covered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(ranges: &[(u64, u64)]) -> RangeSet {
        let mut set = RangeSet::new();
        for &(start, end) in ranges {
            set.insert(start..end);
        }
        set
    }

    #[test]
    fn remove_cuts_what_it_touches() {
        let mut set = RangeSet::new();
        set.insert(0..10);
        set.insert(20..30);
        set.remove(5..25);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0..5, 25..30]);
        assert_eq!(set.covered_bytes(), 10);
        set.remove(2..3);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0..2, 3..5, 25..30]);
        set.remove(40..50);
        assert_eq!(set.covered_bytes(), 9);
    }

    #[test]
    fn ranges_that_touch_are_joined() {
        let mut ranges = set(&[(0, 10), (20, 30)]);
        assert_eq!(ranges.len(), 2);
        assert_eq!(ranges.insert(10..20), 10);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), vec![0..30]);
    }

    #[test]
    fn missing_gives_the_gaps_only() {
        let ranges = set(&[(10, 20), (30, 40)]);
        let gaps: Vec<_> = ranges.missing(5..35).collect();
        assert_eq!(gaps, vec![5..10, 20..30]);
        assert_eq!(ranges.missing(12..18).count(), 0);
        assert_eq!(ranges.missing(15..25).collect::<Vec<_>>(), vec![20..25]);
        assert_eq!(ranges.missing(40..45).collect::<Vec<_>>(), vec![40..45]);
    }

    #[test]
    fn empty_and_reversed_ranges_cover_nothing() {
        let mut ranges = set(&[(5, 5)]);
        assert_eq!(ranges.insert(Range { start: 7, end: 3 }), 0);
        assert!(ranges.is_empty());
        assert_eq!(ranges.missing(Range { start: 7, end: 3 }).count(), 0);
    }

    const SIZE: u64 = 48;

    #[derive(Clone, Debug)]
    enum Op {
        Insert(u64, u64),
        RemoveBelow(u64),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            6 => (0..SIZE, 0..12u64).prop_map(|(s, n)| Op::Insert(s, (s + n).min(SIZE))),
            1 => (0..SIZE).prop_map(Op::RemoveBelow),
        ]
    }

    fn check(set: &RangeSet, model: &[bool], probe: Range<u64>) {
        let covered: Vec<u64> = set.iter().flatten().collect();
        let expected: Vec<u64> = (0..SIZE).filter(|&i| model[i as usize]).collect();
        assert_eq!(covered, expected);
        assert_eq!(set.covered_bytes(), expected.len() as u64);
        let ranges: Vec<_> = set.iter().collect();
        assert!(ranges.windows(2).all(|w| w[0].end < w[1].start), "joined and ordered");
        let missing: Vec<u64> = set.missing(probe.clone()).flatten().collect();
        let holes: Vec<u64> = probe.clone().filter(|&i| !model[i as usize]).collect();
        assert_eq!(missing, holes);
        let overlap = set.first_overlap(probe.clone());
        assert_eq!(overlap.map(|r| r.start), probe.clone().find(|&i| model[i as usize]));
        for i in probe {
            assert_eq!(set.contains(i), model[i as usize]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn random_operations_equal_a_naive_set(
            ops in prop::collection::vec((op(), 0..SIZE, 0..SIZE), 1..40)
        ) {
            let mut set = RangeSet::new();
            let mut model = vec![false; SIZE as usize];
            for (op, a, b) in ops {
                match op {
                    Op::Insert(start, end) => {
                        let cells = &mut model[start as usize..end as usize];
                        let new = cells.iter().filter(|c| !**c).count() as u64;
                        cells.fill(true);
                        prop_assert_eq!(set.insert(start..end), new);
                    }
                    Op::RemoveBelow(offset) => {
                        model[..offset as usize].fill(false);
                        set.remove_below(offset);
                    }
                }
                check(&set, &model, a.min(b)..a.max(b));
            }
        }
    }
}
