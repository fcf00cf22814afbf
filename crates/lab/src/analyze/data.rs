//! One direction of a connection: where bytes were first seen, and how long they waited.
//!
//! Positions count from the connection's first byte, 0. A TCP connection is one with a single
//! subflow whose bytes map onto themselves.

use base::Instant;
use std::collections::BTreeMap;
use std::ops::Range;
use transport::buffer::RangeSet;
use wire::mptcp::DataNumber;

/// Data sent by one side of a connection, on all subflows.
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    /// The first data sequence number.
    base: Option<u64>,
    /// Bytes before it, which the SYN carried: they have no data sequence number (RFC 8684 appendix
    /// B).
    pub early: u64,
    seen: RangeSet,
    /// Position after the highest byte seen.
    highest: u64,
    waiting: BTreeMap<u64, Waiting>,
    in_order: u64,
    acknowledged: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    end: u64,
    arrival: Instant,
    subflow: usize,
}

/// A segment stopped waiting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Released {
    /// Index of the subflow that carried it.
    pub subflow: usize,
    /// Waiting time in seconds.
    pub waited: f64,
}

impl Data {
    /// The initial data sequence number is known from the sender's key.
    pub(super) fn begin(&mut self, initial: u64) {
        self.base.get_or_insert(initial.wrapping_add(1));
    }

    /// Position of a data sequence number; `None` before the first byte.
    pub(super) fn position(&mut self, number: DataNumber) -> Option<u64> {
        let base = *self.base.get_or_insert(match number {
            DataNumber::Short(short) => short.into(),
            DataNumber::Long(long) => long,
        });
        let whole = number.expand(base.wrapping_add(self.highest));
        let position = i128::from(whole.wrapping_sub(base) as i64) + i128::from(self.early);
        u64::try_from(position).ok()
    }

    /// Records bytes seen on a subflow; returns the number of new ones.
    pub(super) fn seen(&mut self, range: Range<u64>) -> u64 {
        self.highest = self.highest.max(range.end);
        self.seen.insert(range)
    }

    /// Bytes that are in order within a subflow reached the connection.
    pub(super) fn arrived(&mut self, start: u64, len: u64, arrival: Instant, subflow: usize) {
        // A copy, or old bytes only, do not end a wait of the reader.
        let (mut start, end) = (start, start + len);
        while let Some(first) = self.waiting.get(&start) {
            start = first.end;
        }
        if end > self.in_order.max(start) {
            self.waiting.insert(start, Waiting { end, arrival, subflow });
        }
    }

    /// Next segment that is in order.
    pub(super) fn next_in_order(&mut self, now: Instant) -> Option<Released> {
        loop {
            let (&start, &first) = self.waiting.first_key_value()?;
            if start > self.in_order.max(self.acknowledged) {
                return None;
            }
            self.waiting.pop_first();
            if first.end > self.in_order {
                self.in_order = first.end;
                let waited = (now - first.arrival).as_secs_f64();
                return Some(Released { subflow: first.subflow, waited });
            }
        }
    }

    /// The receiver has everything below `position`, whether the capture shows it or not.
    pub(super) fn acknowledged(&mut self, position: u64) {
        self.acknowledged = self.acknowledged.max(position);
    }
}

/// Mappings from positions in a subflow to positions in the connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Mappings {
    covered: RangeSet,
    /// By first position in the subflow: end there, first position in the connection.
    by_position: BTreeMap<u64, (u64, u64)>,
    /// TCP: positions of subflow and connection are equal.
    plain: bool,
    any: bool,
    /// Mappings are kept after their bytes are in order.
    pub kept: bool,
}

impl Mappings {
    /// The mapping of bytes that the SYN carried, as far as the peer accepted them.
    pub(super) fn set_early(&mut self, len: u64) {
        (self.covered, self.by_position, self.any) = Default::default();
        if len > 0 {
            self.add(1, len, 0);
        }
    }

    /// Makes positions of subflow and connection equal from now on.
    pub(super) fn become_plain(&mut self) {
        self.plain = true;
    }

    /// Whether positions of subflow and connection are equal.
    pub(super) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether no mapping was ever seen.
    pub(super) fn is_empty(&self) -> bool {
        !self.any && !self.plain
    }

    /// Whether a byte of the subflow has or had a mapping.
    pub(super) fn covers(&self, position: u64) -> bool {
        self.plain || self.covered.contains(position)
    }

    /// Bytes of the subflow from `position` are bytes of the connection from `data`.
    pub(super) fn add(&mut self, position: u64, len: u64, data: u64) {
        self.any = true;
        let range = position..position.saturating_add(len);
        let new: Vec<Range<u64>> = self.covered.missing(range).collect();
        for new in new {
            self.covered.insert(new.clone());
            self.by_position.insert(new.start, (new.end, data + (new.start - position)));
        }
    }

    /// The parts of a range of the subflow, each with its first position in the connection.
    pub(super) fn map(&self, range: Range<u64>) -> Vec<(Range<u64>, u64)> {
        if self.plain {
            let start = range.start.saturating_sub(1);
            return vec![(range, start)];
        }
        let first =
            self.by_position.range(..=range.start).next_back().map_or(0, |(start, _)| *start);
        let candidates = self.by_position.range(first..range.end);
        let parts = candidates.filter_map(|(&start, &(end, data))| {
            let part = start.max(range.start)..end.min(range.end);
            let at = data + (part.start.saturating_sub(start));
            (part.start < part.end).then_some((part, at))
        });
        parts.collect()
    }

    /// Drops mappings below `position`.
    pub(super) fn forget_below(&mut self, position: u64) {
        if self.kept {
            return;
        }
        while let Some(first) = self.by_position.first_entry() {
            if first.get().0 > position {
                break;
            }
            first.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + base::Duration::from_millis(millis)
    }

    #[test]
    fn segment_behind_a_gap_waits_until_the_gap_is_filled() {
        let mut data = Data::default();
        data.arrived(100, 100, at(10), 1);
        assert_eq!(data.next_in_order(at(10)), None);
        data.arrived(0, 100, at(35), 0);
        assert_eq!(data.next_in_order(at(35)), Some(Released { subflow: 0, waited: 0.0 }));
        assert_eq!(data.next_in_order(at(35)), Some(Released { subflow: 1, waited: 0.025 }));
        assert_eq!(data.next_in_order(at(35)), None);
    }

    #[test]
    fn second_copy_of_bytes_is_neither_new_nor_waited_for() {
        let mut data = Data::default();
        assert_eq!((data.seen(0..100), data.seen(50..150), data.seen(0..150)), (100, 50, 0));
        data.arrived(0, 100, at(1), 0);
        assert!(data.next_in_order(at(1)).is_some());
        data.arrived(0, 100, at(9), 1);
        assert_eq!(data.next_in_order(at(9)), None);
    }

    /// Regression: bytes behind those that a copy repeats from its beginning never arrived, and all
    /// that followed waited for them.
    #[test]
    fn longer_copy_of_a_waiting_segment_brings_its_further_bytes() {
        let mut data = Data::default();
        data.arrived(100, 100, at(10), 0);
        data.arrived(100, 300, at(20), 1);
        data.arrived(100, 200, at(21), 0);
        data.arrived(0, 100, at(30), 0);
        data.arrived(400, 100, at(31), 0);
        let released = std::iter::from_fn(|| data.next_in_order(at(31)));
        let released = released.map(|one| (one.subflow, (one.waited * 1e3).round() as u64));
        assert_eq!(released.collect::<Vec<_>>(), [(0, 1), (0, 21), (1, 11), (0, 0)]);
    }

    #[test]
    fn numbers_just_below_a_wrap_count_on() {
        let mut data = Data::default();
        data.begin(u64::MAX - 10);
        assert_eq!(data.position(DataNumber::Long(u64::MAX)), Some(9));
        data.seen(0..10);
        assert_eq!(data.position(DataNumber::Long(90)), Some(100));
        assert_eq!(data.position(DataNumber::Short(90)), Some(100));
        assert_eq!(data.position(DataNumber::Long(u64::MAX - 10)), None);
    }

    #[test]
    fn mapping_within_a_longer_one_hides_nothing_of_it() {
        let mut mappings = Mappings::default();
        mappings.add(1, 10_000, 500);
        mappings.add(1429, 1428, 1928);
        assert_eq!(mappings.map(5000..5010), [(5000..5010, 5499)]);
        mappings.add(10_001, 100, 40_000);
        assert_eq!(
            mappings.map(9_990..10_011),
            [(9_990..10_001, 10_489), (10_001..10_011, 40_000)]
        );
        mappings.forget_below(10_001);
        assert_eq!(mappings.map(10_050..10_060), [(10_050..10_060, 40_049)]);
        assert!(mappings.map(20_000..20_010).is_empty());
    }
}
