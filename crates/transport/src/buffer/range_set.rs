//! `RangeSet`: disjoint half-open ranges of 64-bit offsets, in order.
//!
//! Ranges are found in O(log n); a list that is searched from its beginning can occupy a whole
//! processor (003 sIII-D). Nearly all changes are at one of the ends, where they move nothing; one
//! in between moves the ranges on its shorter side, 16 bytes each. Ranges that touch or overlap are
//! joined. The meaning of the offsets is left to the owner.

use base::ring;
use std::collections::VecDeque;
use std::ops::Range;

/// An ordered set of disjoint, non-adjacent, non-empty ranges.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RangeSet {
    /// In order. No tree, whose nodes would be half empty: ranges are mostly appended.
    ranges: VecDeque<Span>,
    covered: u64,
}

/// Ranges at the end that are looked at before a search.
const NEAR: usize = 3;

/// A range that can be copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Span {
    start: u64,
    end: u64,
}

impl Span {
    const fn len(self) -> u64 {
        self.end - self.start
    }

    const fn range(self) -> Range<u64> {
        self.start..self.end
    }
}

impl RangeSet {
    /// No ranges.
    pub const fn new() -> Self {
        RangeSet { ranges: VecDeque::new(), covered: 0 }
    }

    /// Covers `range`; returns how many offsets were not covered before.
    pub fn insert(&mut self, range: Range<u64>) -> u64 {
        if range.start >= range.end {
            return 0;
        }
        let before = self.covered;
        if !self.extends_last(&range) {
            self.insert_before_last(&Span { start: range.start, end: range.end });
        }
        self.covered - before
    }

    /// Covers `range`, which is behind all others and not empty; returns the range that it became a
    /// part of. Needs no search.
    pub fn append(&mut self, range: Range<u64>) -> Range<u64> {
        debug_assert!(range.start < range.end, "the range is not empty");
        debug_assert!(self.last().is_none_or(|last| last.end <= range.start), "it is behind all");
        self.covered += range.end - range.start;
        if let Some(last) = self.ranges.back_mut()
            && last.end == range.start
        {
            last.end = range.end;
            return last.range();
        }
        ring::push_back(&mut self.ranges, Span { start: range.start, end: range.end });
        range
    }

    /// The usual case of arrivals: the range extends or follows the highest one, which needs no
    /// search. Returns whether it did.
    fn extends_last(&mut self, range: &Range<u64>) -> bool {
        let Some(last) = self.ranges.back_mut() else { return false };
        if range.start < last.start {
            return false;
        }
        if range.start <= last.end {
            let further = last.end.max(range.end);
            self.covered += further - last.end;
            last.end = further;
        } else {
            self.covered += range.end - range.start;
            ring::push_back(&mut self.ranges, Span { start: range.start, end: range.end });
        }
        true
    }

    fn insert_before_last(&mut self, span: &Span) {
        let touched = self.ranges.partition_point(|other| other.end < span.start)
            ..self.ranges.partition_point(|other| other.start <= span.end);
        let mut whole = *span;
        for other in self.ranges.range(touched.clone()) {
            whole.start = whole.start.min(other.start);
            whole.end = whole.end.max(other.end);
            self.covered -= other.len();
        }
        self.covered += whole.len();
        if touched.is_empty() {
            self.ranges.insert(touched.start, whole);
        } else {
            self.ranges[touched.start] = whole;
            self.ranges.drain(touched.start + 1..touched.end);
        }
        self.check(touched.start);
    }

    /// The parts of `range` that are not covered, in order.
    pub fn missing(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut at = match self.range_containing(range.start) {
            Some(first) => first.end,
            None => range.start,
        };
        let end = range.end;
        let next = self.place_from(at);
        let mut covered = self.ranges.range(next..).take_while(move |other| other.start < end);
        std::iter::from_fn(move || {
            while at < end {
                let (gap_end, next) = match covered.next() {
                    Some(other) => (other.start, other.end),
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
        // What arrives is mostly near the end.
        let last = self.last()?;
        if last.start <= offset {
            return (offset < last.end).then_some(last);
        }
        self.find(offset)
    }

    /// The same below the highest range.
    #[inline(never)]
    fn find(&self, offset: u64) -> Option<Range<u64>> {
        let place = self.ranges.partition_point(|other| other.end <= offset);
        let first = self.ranges.get(place)?;
        (first.start <= offset).then(|| first.range())
    }

    /// The lowest part of `range` that is covered.
    pub fn first_overlap(&self, range: Range<u64>) -> Option<Range<u64>> {
        if range.is_empty() {
            return None;
        }
        let place = self.ranges.partition_point(|other| other.end <= range.start);
        let first = self.ranges.get(place).filter(|first| first.start < range.end)?;
        Some(first.start.max(range.start)..first.end.min(range.end))
    }

    /// Removes everything below `offset`.
    pub fn remove_below(&mut self, offset: u64) {
        while let Some(first) = self.ranges.front_mut() {
            if first.start >= offset {
                break;
            }
            if first.end > offset {
                self.covered -= offset - first.start;
                first.start = offset;
                break;
            }
            self.covered -= first.len();
            ring::pop_front(&mut self.ranges);
        }
    }

    /// Removes a range.
    pub fn remove(&mut self, range: Range<u64>) {
        let from = self.ranges.partition_point(|other| other.end <= range.start);
        let to = self.ranges.partition_point(|other| other.start < range.end);
        if range.is_empty() || from >= to {
            return;
        }
        let (first, last) = (self.ranges[from], self.ranges[to - 1]);
        let rests = [
            Span { start: first.start, end: first.end.min(range.start) },
            Span { start: last.start.max(range.end), end: last.end },
        ];
        self.covered -= self.ranges.drain(from..to).map(Span::len).sum::<u64>();
        for rest in rests.into_iter().rev().filter(|rest| rest.start < rest.end) {
            self.covered += rest.len();
            self.ranges.insert(from, rest);
        }
    }

    /// The range at `place` is not empty, and apart from its neighbours.
    fn check(&self, place: usize) {
        let around = self.ranges.range(place.saturating_sub(1)..(place + 2).min(self.len()));
        debug_assert!(around.clone().all(|span| span.start < span.end), "no range is empty");
        debug_assert!(
            around.clone().zip(around.skip(1)).all(|(one, next)| one.end < next.start),
            "ranges are disjoint, do not touch and are in order"
        );
    }

    /// The ranges in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + '_ {
        self.ranges.iter().map(|span| span.range())
    }

    /// The ranges that start at `offset` or above, in ascending order.
    pub fn iter_from(&self, offset: u64) -> impl DoubleEndedIterator<Item = Range<u64>> + '_ {
        self.ranges.range(self.place_from(offset)..).map(|span| span.range())
    }

    /// The place of the lowest range that starts at `offset` or above.
    fn place_from(&self, offset: u64) -> usize {
        // Most questions are about the end, which needs no search.
        let end = self.ranges.len();
        for place in (end.saturating_sub(NEAR)..end).rev() {
            if self.ranges[place].start < offset {
                return place + 1;
            }
        }
        self.ranges.partition_point(|span| span.start < offset)
    }

    /// The lowest range.
    #[inline]
    pub fn first(&self) -> Option<Range<u64>> {
        self.ranges.front().map(|span| span.range())
    }

    /// The highest range.
    #[inline]
    pub fn last(&self) -> Option<Range<u64>> {
        self.ranges.back().map(|span| span.range())
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
        Remove(u64, u64),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            6 => (0..SIZE, 0..12u64).prop_map(|(s, n)| Op::Insert(s, (s + n).min(SIZE))),
            1 => (0..SIZE).prop_map(Op::RemoveBelow),
            1 => (0..SIZE, 0..12u64).prop_map(|(s, n)| Op::Remove(s, (s + n).min(SIZE))),
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
                    Op::Remove(start, end) => {
                        model[start as usize..end as usize].fill(false);
                        set.remove(start..end);
                    }
                }
                check(&set, &model, a.min(b)..a.max(b));
            }
        }
    }
}
