//! How long segments wait at a receiver for all bytes before them (001 s3.3).

use base::{Duration, Instant, PathId};
use std::collections::BTreeMap;

/// One connection at its receiver.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// Segments of subflows whose place in the connection is not known yet, by subflow and position
    /// there: length and arrival.
    segments: BTreeMap<(PathId, u64), (u32, Instant)>,
    /// Segments ahead of a gap, by position in the connection: end and arrival.
    ahead: BTreeMap<u64, (u64, Instant)>,
    /// All bytes below this position arrived.
    next: u64,
}

impl Order {
    /// A segment of a subflow arrived.
    pub(super) fn on_segment(&mut self, now: Instant, path: PathId, offset: u64, len: u32) {
        self.segments.entry((path, offset)).or_insert((len, now));
    }

    /// Bytes at a position of a subflow are these bytes of the connection.
    pub(super) fn on_mapped(
        &mut self,
        now: Instant,
        (path, from): (PathId, u64),
        (offset, len): (u64, u32),
        waited: &mut impl FnMut(Duration),
    ) {
        let end = from + u64::from(len);
        let mut mapped = from;
        while mapped < end {
            let (to, arrived) = match self.segment_at(path, mapped) {
                Some((to, arrived)) => (to.min(end), arrived),
                None => (end, now),
            };
            let bytes = (offset + (mapped - from), (to - mapped) as u32);
            self.on_data(now, bytes, arrived, waited);
            mapped = to;
        }
        // What begins below the end was mapped, but for the rest of the last segment.
        while let Some((&key, &(len, arrived))) = self.segments.range((path, 0)..(path, end)).next()
        {
            self.segments.remove(&key);
            let rest = key.1 + u64::from(len);
            if rest > end {
                self.segments.insert((path, end), ((rest - end) as u32, arrived));
            }
        }
    }

    /// The end and the arrival of the segment of a subflow that has this position.
    fn segment_at(&self, path: PathId, position: u64) -> Option<(u64, Instant)> {
        let mut before = self.segments.range((path, 0)..=(path, position));
        let (key, (len, arrived)) = before.next_back()?;
        let end = key.1 + u64::from(*len);
        (end > position).then_some((end, *arrived))
    }

    /// These bytes of the connection arrived at `arrived`, and are known since now.
    pub(super) fn on_data(
        &mut self,
        now: Instant,
        (offset, len): (u64, u32),
        arrived: Instant,
        waited: &mut impl FnMut(Duration),
    ) {
        let end = offset + u64::from(len);
        if end <= self.next {
            return;
        }
        if offset > self.next {
            self.ahead.entry(offset).or_insert((end, arrived));
            return;
        }
        self.next = end;
        waited(now - arrived);
        while let Some(first) = self.ahead.first_entry().filter(|first| *first.key() <= self.next) {
            let (end, arrived) = first.remove();
            if end > self.next {
                self.next = end;
                waited(now - arrived);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: PathId = PathId(0);
    const B: PathId = PathId(1);

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn segments_ahead_of_a_gap_wait_until_it_is_filled() {
        let (mut order, mut waits) = (Order::default(), Vec::new());
        let mut waited = |wait: Duration| waits.push(wait.as_millis());
        for (millis, offset) in [(10, 0), (20, 200), (25, 300), (30, 200), (50, 100), (60, 400)] {
            order.on_data(at(millis), (offset, 100), at(millis), &mut waited);
        }
        // 0 at once, 100 at 50 with 200 (30 ms) and 300 (25 ms), 400 at once; 200 came twice.
        assert_eq!(waits, [0, 0, 30, 25, 0]);
    }

    /// A subflow's own gap counts, too: its segment arrived before the connection could take it.
    #[test]
    fn waiting_begins_with_the_arrival_on_the_subflow() {
        let (mut order, mut waits) = (Order::default(), Vec::new());
        let mut waited = |wait: Duration| waits.push(wait.as_millis());
        order.on_segment(at(10), A, 100, 100);
        order.on_segment(at(15), B, 0, 50);
        order.on_mapped(at(15), (B, 0), (200, 50), &mut waited);
        order.on_segment(at(40), A, 0, 100);
        // The subflow is in order now: both of its segments, in one piece.
        order.on_mapped(at(40), (A, 0), (0, 200), &mut waited);
        assert_eq!(waits, [0, 30, 25]);
        assert!(order.segments.is_empty() && order.ahead.is_empty());
    }

    #[test]
    fn part_of_a_segment_leaves_the_rest() {
        let (mut order, mut waits) = (Order::default(), Vec::new());
        let mut waited = |wait: Duration| waits.push(wait.as_millis());
        order.on_segment(at(10), A, 0, 100);
        order.on_mapped(at(10), (A, 0), (0, 60), &mut waited);
        order.on_mapped(at(12), (A, 60), (60, 40), &mut waited);
        assert_eq!(waits, [0, 2]);
        assert!(order.segments.is_empty());
    }
}
