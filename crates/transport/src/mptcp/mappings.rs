//! Mappings received on one subflow, until their data are taken (RFC 8684 s3.3.1).

use std::collections::VecDeque;
use wire::mptcp::{DataNumber, Mapping};

/// Mappings received on one subflow, by offset in the subflow.
#[derive(Clone, Debug, Default)]
pub struct ReceivedMappings {
    maps: VecDeque<ReceivedMapping>,
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
    /// As it came, for the checksum.
    pub wire: Mapping,
    /// Data sequence number of the first byte, 64 bits.
    pub dsn: u64,
}

/// A number or an offset of the peer that contradicts an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contradiction;

impl ReceivedMapping {
    /// The mapping `wire` of `len` bytes to data at (data sequence number, offset), on a segment
    /// at `segment` in the subflow; its own number is the nearest there. `None`: it lies before
    /// the subflow's first byte.
    pub fn new(wire: Mapping, len: u32, (dsn, data): (u64, u64), segment: u64) -> Option<Self> {
        let distance = wire.subflow_seq.wrapping_sub(segment as u32 + 1) as i32;
        let offset = segment.checked_add_signed(i64::from(distance))?;
        Some(ReceivedMapping { offset, len, data, wire, dsn })
    }

    /// End of the last byte in the subflow.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }

    /// Whether it maps a byte of a segment.
    pub fn overlaps(&self, offset: u64, len: u32) -> bool {
        len > 0 && offset < self.end() && self.offset < offset + u64::from(len)
    }
}

impl ReceivedMappings {
    /// Keep a mapping. Repetitions are welcome, contradictions are not (RFC 8684 s3.3.1).
    pub fn insert(&mut self, map: ReceivedMapping) -> Result<(), Contradiction> {
        let follows = |last: &ReceivedMapping| last.end() <= map.offset;
        if self.maps.back().is_none_or(follows) {
            self.maps.push_back(map);
            return Ok(());
        }
        let index = self.maps.partition_point(|known| known.offset < map.offset);
        let end = map.end();
        if let Some(next) = self.maps.get(index) {
            if next.offset == map.offset {
                let same = next.data == map.data && next.len == map.len;
                return if same { Ok(()) } else { Err(Contradiction) };
            }
            if next.offset < end {
                return Err(Contradiction);
            }
        }
        let before = index.checked_sub(1).and_then(|before| self.maps.get(before));
        if before.is_some_and(|before| before.end() > map.offset) {
            return Err(Contradiction);
        }
        self.maps.insert(index, map);
        debug_assert!(self.maps.iter().is_sorted_by(|one, next| one.end() <= next.offset));
        Ok(())
    }

    /// The mapping of the byte at `offset`.
    pub fn at(&self, offset: u64) -> Option<&ReceivedMapping> {
        let ends_above = |map: &&ReceivedMapping| map.end() > offset;
        // What is taken next is mapped first.
        let map = self.maps.front().filter(ends_above).or_else(|| {
            let below = |map: &ReceivedMapping| map.end() <= offset;
            self.maps.get(self.maps.partition_point(below))
        });
        map.filter(|map| map.offset <= offset)
    }

    /// Whether a byte behind `offset` is mapped.
    pub fn reach_beyond(&self, offset: u64) -> bool {
        self.maps.back().is_some_and(|map| map.offset > offset)
    }

    /// Everything below `offset` went to the connection.
    pub fn forget_below(&mut self, offset: u64) {
        while self.maps.front().is_some_and(|map| map.end() <= offset) {
            self.maps.pop_front();
        }
    }

    /// Where the last of them ends in the connection's stream; zero without any.
    pub fn data_end(&self) -> u64 {
        self.maps.back().map_or(0, |map| map.data + u64::from(map.len))
    }

    /// How many are held.
    pub fn len(&self) -> usize {
        self.maps.len()
    }
}

/// A data sequence number in the width that a peer must be answered in.
pub const fn data_number(long: bool, number: u64) -> DataNumber {
    if long { DataNumber::Long(number) } else { DataNumber::Short(number as u32) }
}
