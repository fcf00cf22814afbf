//! Mappings received on one subflow, until their data are taken (RFC 8684 s3.3.1).

use std::collections::VecDeque;
use wire::mptcp::{DataNumber, Dss, Mapping};

/// Mappings received on one subflow, by offset in the subflow.
#[derive(Clone, Debug, Default)]
pub struct ReceivedMappings {
    /// The first one, which mostly is the only one: asked several times a segment.
    first: Option<ReceivedMapping>,
    /// Those behind it.
    rest: VecDeque<ReceivedMapping>,
}

/// A mapping received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceivedMapping {
    /// Offset of the first byte in the subflow.
    pub offset: u64,
    /// Bytes of the subflow.
    pub len: u32,
    /// Offset of the first byte in the connection.
    pub data: u64,
    /// The mapping in wire format, for the checksum.
    pub wire: Mapping,
    /// Data sequence number of the first byte, 64 bits.
    pub dsn: u64,
}

/// A number or an offset of the peer that contradicts an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contradiction;

impl ReceivedMapping {
    /// The mapping `wire` of `len` bytes to data at (data sequence number, offset), on a segment at
    /// `segment` in the subflow; its own number is the nearest there. `None`: it begins before the
    /// subflow's first byte.
    #[inline]
    pub fn new(wire: Mapping, len: u32, (dsn, data): (u64, u64), segment: u64) -> Option<Self> {
        let distance = wire.subflow_seq.wrapping_sub(segment as u32 + 1) as i32;
        let offset = segment.checked_add_signed(i64::from(distance))?;
        Some(ReceivedMapping { offset, len, data, wire, dsn })
    }

    /// End of the last byte in the subflow.
    #[inline]
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }

    /// Whether it maps a byte of a segment.
    #[inline]
    pub fn overlaps(&self, offset: u64, len: u32) -> bool {
        len > 0 && offset < self.end() && self.offset < offset + u64::from(len)
    }
}

impl ReceivedMappings {
    /// Stores a mapping. A repetition has no effect; a contradiction is an error (RFC 8684 s3.3.1).
    #[inline]
    pub fn insert(&mut self, map: ReceivedMapping) -> Result<(), Contradiction> {
        match self.last() {
            None => self.first = Some(map),
            Some(last) if last.end() <= map.offset => self.rest.push_back(map),
            Some(_) => return self.insert_before_last(map),
        }
        Ok(())
    }

    /// The same where it does not follow all others.
    #[cold]
    fn insert_before_last(&mut self, map: ReceivedMapping) -> Result<(), Contradiction> {
        self.rest.extend(self.first.take());
        self.rest.rotate_right(1);
        let inserted = self.insert_to_rest(map);
        self.first = self.rest.pop_front();
        inserted
    }

    fn insert_to_rest(&mut self, map: ReceivedMapping) -> Result<(), Contradiction> {
        let maps = &mut self.rest;
        let index = maps.partition_point(|known| known.offset < map.offset);
        let end = map.end();
        if let Some(next) = maps.get(index) {
            if next.offset == map.offset {
                let same = next.data == map.data && next.len == map.len;
                return if same { Ok(()) } else { Err(Contradiction) };
            }
            if next.offset < end {
                return Err(Contradiction);
            }
        }
        let before = index.checked_sub(1).and_then(|before| maps.get(before));
        if before.is_some_and(|before| before.end() > map.offset) {
            return Err(Contradiction);
        }
        maps.insert(index, map);
        debug_assert!(maps.iter().is_sorted_by(|one, next| one.end() <= next.offset));
        Ok(())
    }

    #[inline]
    fn last(&self) -> Option<&ReceivedMapping> {
        debug_assert!(self.first.is_some() || self.rest.is_empty());
        if self.rest.is_empty() { self.first.as_ref() } else { self.rest.back() }
    }

    /// Whether a DSS has the mapping stored last, no DATA_FIN, and maps a byte of a segment: the
    /// segments of one offload buffer have the same.
    #[inline]
    pub fn repeats_last(&self, dss: &Dss, offset: u64, len: u32) -> bool {
        self.last().is_some_and(|last| {
            let same = dss.has_mapping(&last.wire) && last.len == u32::from(last.wire.len);
            same && last.overlaps(offset, len)
        })
    }

    /// The mapping of the byte at `offset`.
    #[inline]
    pub fn at(&self, offset: u64) -> Option<&ReceivedMapping> {
        // What is taken next is mapped first.
        let first = self.first.as_ref().filter(|map| map.end() > offset);
        let map = if first.is_some() { first } else { self.find(offset) };
        map.filter(|map| map.offset <= offset)
    }

    #[inline(never)]
    fn find(&self, offset: u64) -> Option<&ReceivedMapping> {
        self.rest.get(self.rest.partition_point(|map| map.end() <= offset))
    }

    /// Whether a byte behind `offset` is mapped.
    #[inline]
    pub fn reach_beyond(&self, offset: u64) -> bool {
        self.last().is_some_and(|map| map.offset > offset)
    }

    /// Everything below `offset` was moved to the connection.
    #[inline]
    pub fn forget_below(&mut self, offset: u64) {
        while self.first.as_ref().is_some_and(|map| map.end() <= offset) {
            self.first = self.rest.pop_front();
        }
    }

    /// Where the last of them ends in the connection's stream; zero without any.
    #[inline]
    pub fn data_end(&self) -> u64 {
        self.last().map_or(0, |map| map.data + u64::from(map.len))
    }

    /// Number of mappings.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }
}

/// A data sequence number of 64 bits (`long`) or 32 bits.
#[inline]
pub(super) const fn data_number(long: bool, number: u64) -> DataNumber {
    if long { DataNumber::Long(number) } else { DataNumber::Short(number as u32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mapping of `len` bytes from `offset` of the subflow to `data` of the connection.
    fn map(offset: u64, len: u32, data: u64) -> ReceivedMapping {
        let subflow_seq = offset as u32 + 1;
        let dsn = DataNumber::Long(data);
        let wire = Mapping { dsn, subflow_seq, len: len as u16, checksum: None };
        ReceivedMapping::new(wire, len, (data, data), offset).expect("not before the first byte")
    }

    #[test]
    fn repetition_is_accepted_and_contradiction_is_not() {
        let mut maps = ReceivedMappings::default();
        for (offset, data) in [(100, 500), (0, 900), (50, 700)] {
            assert_eq!(maps.insert(map(offset, 50, data)), Ok(()));
        }
        assert_eq!(maps.insert(map(50, 50, 700)), Ok(()));
        assert_eq!(maps.len(), 3, "in order of the subflow");
        for wrong in [map(50, 50, 701), map(50, 40, 700), map(60, 10, 710), map(20, 60, 920)] {
            assert_eq!(maps.insert(wrong), Err(Contradiction));
        }
        assert_eq!(maps.at(75).map(|map| map.data), Some(700));
        assert_eq!(maps.at(150), None);
        maps.forget_below(100);
        assert_eq!((maps.len(), maps.data_end()), (1, 550));
    }

    #[test]
    fn subflow_number_is_the_one_nearest_to_the_segment() {
        let wire = Mapping { dsn: DataNumber::Long(7), subflow_seq: 11, len: 100, checksum: None };
        let far = 1 << 32;
        let near_wrap = ReceivedMapping::new(wire, 100, (7, 7), far + 5).map(|map| map.offset);
        assert_eq!(near_wrap, Some(far + 10));
        let before = Mapping { subflow_seq: u32::MAX, ..wire };
        assert_eq!(ReceivedMapping::new(before, 100, (7, 7), 0), None, "before the first byte");
    }

    #[test]
    fn mapping_applies_to_a_part_of_its_segment_at_least() {
        let map = map(100, 50, 0);
        for (offset, len, overlaps) in
            [(50, 50, false), (50, 51, true), (149, 1, true), (150, 10, false), (120, 0, false)]
        {
            assert_eq!(map.overlaps(offset, len), overlaps, "{offset}+{len}");
        }
    }
}
