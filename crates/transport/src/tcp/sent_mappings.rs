//! The mappings of bytes sent on one subflow to the data sequence space of its multi-path
//! connection (RFC 8684 s3.3.1).
//!
//! Mappings are kept in the order of their subflow offsets until the subflow acknowledges them.
//! When a mapping is sent is decided in `multipath`.

use std::cell::Cell;
use std::collections::VecDeque;
use wire::mptcp::{DataNumber, Mapping};

/// A mapping of bytes of the subflow to bytes of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentMapping {
    /// Offset of the first byte in the subflow.
    pub offset: u64,
    /// Length in data sequence space: payload bytes, plus one for a `DATA_FIN`.
    pub len: u16,
    /// Data sequence number of the first byte in wire format.
    pub dsn: DataNumber,
    pub checksum: Option<u16>,
    /// The last number of the mapping is the `DATA_FIN`, which takes no byte of the subflow.
    pub fin: bool,
}

/// Payload of one offload buffer: at most `most` bytes in whole segments of `mss`, but one segment
/// at least (Linux `tcp_xmit_size_goal`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizeGoal {
    pub most: u16,
    pub mss: u32,
}

impl SizeGoal {
    /// In bytes.
    #[cold]
    pub(crate) fn bytes(self) -> u16 {
        let mss = self.mss.max(1);
        let whole = (u32::from(self.most) / mss).max(1).saturating_mul(mss);
        whole.min(u32::from(u16::MAX)) as u16
    }

    /// Whether it is `len` or more.
    // Whole segments lack less than one: mostly that tells, without a division.
    #[inline]
    fn holds(self, len: u32) -> bool {
        len.saturating_add(self.mss) <= self.most.into() || len <= self.bytes().into()
    }
}

/// The unacknowledged mappings of one subflow.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentMappings {
    /// Disjoint, in ascending order.
    mappings: VecDeque<SentMapping>,
    /// Mappings were joined: each is a buffer that is segmented below the send queue.
    joined: bool,
    /// Index of the mapping found last, which may be that of many segments.
    hint: Cell<usize>,
}

impl SentMappings {
    /// Adds a mapping. Offsets ascend.
    pub(crate) fn push(&mut self, mapping: SentMapping) {
        debug_assert!(
            self.mappings.back().is_none_or(|last| last.end() <= mapping.offset),
            "mappings are disjoint and in the order of their offsets"
        );
        self.mappings.push_back(mapping);
    }

    /// Adds a mapping as a sender with segmentation offload does: the bytes extend the last mapping
    /// if none of it was sent, `nxt` being the next offset to send. No mapping becomes longer than
    /// `goal`.
    pub(crate) fn push_joined(&mut self, mut mapping: SentMapping, nxt: u64, goal: SizeGoal) {
        self.joined = true;
        match self.mappings.back_mut() {
            Some(last) if last.offset >= nxt && last.is_followed_by(&mapping) => {
                if goal.holds(u32::from(last.len) + u32::from(mapping.len)) {
                    last.len += mapping.len;
                    return;
                }
                last.len += mapping.split_front(goal.bytes().saturating_sub(last.len)).len;
            }
            // Nearly always: what precedes it is under way.
            _ if goal.holds(mapping.len.into()) => return self.push(mapping),
            _ => {}
        }
        self.push_buffers(mapping, goal);
    }

    #[cold]
    fn push_buffers(&mut self, mut mapping: SentMapping, goal: SizeGoal) {
        while mapping.len > 0 {
            self.push(mapping.split_front(goal.bytes()));
        }
    }

    /// Bytes from `offset` to the end of its mapping; `None` if the byte is not mapped.
    #[inline]
    pub(crate) fn left_from(&self, offset: u64) -> Option<u64> {
        self.find(offset).map(|mapping| mapping.end() - offset)
    }

    /// The number of mappings with payload that begin at or after `offset`.
    pub(crate) fn buffers_from(&self, offset: u64) -> u8 {
        let later = self.mappings.iter().rev().take_while(|mapping| mapping.offset >= offset);
        let count = later.filter(|mapping| mapping.bytes() > 0).count();
        u8::try_from(count).unwrap_or(u8::MAX)
    }

    /// The data of the connection that are mapped at or after `offset`, last ones first: their
    /// first number and their length.
    pub(crate) fn data_from(&self, offset: u64) -> impl Iterator<Item = (DataNumber, u16)> {
        let later = self.mappings.iter().rev().take_while(move |mapping| mapping.end() > offset);
        let later = later.filter(|mapping| mapping.bytes() > 0);
        later.map(move |mapping| {
            // The part before it is shorter than the mapping.
            let before = offset.saturating_sub(mapping.offset) as u16;
            (advanced(mapping.dsn, before), mapping.bytes() - before)
        })
    }

    /// Whether mappings are offload buffers.
    pub(crate) const fn are_joined(&self) -> bool {
        self.joined
    }

    /// Removes the mappings that end at or below `offset`, which is acknowledged.
    pub(crate) fn forget_below(&mut self, offset: u64) {
        while self.mappings.front().is_some_and(|first| first.end() <= offset) {
            self.mappings.pop_front();
            self.hint.set(self.hint.get().saturating_sub(1));
        }
    }

    /// The mapping of the byte at `offset`. The one found last and the next one are tried first.
    #[inline]
    pub(crate) fn find(&self, offset: u64) -> Option<&SentMapping> {
        let last = self.found_last(offset);
        if last.is_some() { last } else { self.find_other(offset) }
    }

    /// The same, if it is the one found last.
    #[inline]
    pub(crate) fn found_last(&self, offset: u64) -> Option<&SentMapping> {
        self.mappings.get(self.hint.get()).filter(|map| map.covers(offset))
    }

    #[inline(never)]
    fn find_other(&self, offset: u64) -> Option<&SentMapping> {
        let next = self.hint.get() + 1;
        let is_next = self.mappings.get(next).is_some_and(|map| map.covers(offset));
        let search = || self.mappings.partition_point(|mapping| mapping.end() <= offset);
        let index = if is_next { next } else { search() };
        let mapping = self.mappings.get(index).filter(|mapping| mapping.offset <= offset)?;
        self.hint.set(index);
        Some(mapping)
    }
}

impl SentMapping {
    /// Bytes of the subflow that the mapping covers.
    pub const fn bytes(&self) -> u16 {
        self.len - self.fin as u16
    }

    /// The mapping in wire format.
    pub fn to_wire(self) -> Mapping {
        Mapping {
            dsn: self.dsn,
            subflow_seq: (self.offset as u32).wrapping_add(1),
            len: self.len,
            checksum: self.checksum,
        }
    }

    fn end(&self) -> u64 {
        self.offset + u64::from(self.bytes())
    }

    /// Whether `next` can extend this mapping.
    fn is_followed_by(&self, next: &SentMapping) -> bool {
        let plain = |map: &SentMapping| map.checksum.is_none() && !map.fin;
        let number = advanced(self.dsn, self.len);
        plain(self) && plain(next) && next.offset == self.end() && next.dsn == number
    }

    /// Splits off the first `max_len` bytes; a mapping with a checksum or a `DATA_FIN` is
    /// indivisible.
    fn split_front(&mut self, max_len: u16) -> SentMapping {
        let whole = self.checksum.is_some() || self.fin;
        let len = if whole { self.len } else { self.len.min(max_len) };
        let front = SentMapping { len, ..*self };
        self.offset += u64::from(len);
        self.dsn = advanced(self.dsn, len);
        self.len -= len;
        front
    }

    fn covers(&self, offset: u64) -> bool {
        // Below it, the difference is larger than any length.
        offset.wrapping_sub(self.offset) < u64::from(self.bytes())
    }
}

fn advanced(number: DataNumber, by: u16) -> DataNumber {
    match number {
        DataNumber::Short(number) => DataNumber::Short(number.wrapping_add(by.into())),
        DataNumber::Long(number) => DataNumber::Long(number.wrapping_add(by.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(offset: u64, len: u16) -> SentMapping {
        let dsn = DataNumber::Long(7000 + offset);
        SentMapping { offset, len, dsn, checksum: None, fin: false }
    }

    fn goal(most: u16) -> SizeGoal {
        SizeGoal { most, mss: 1 }
    }

    #[test]
    fn buffers_from_an_offset_are_those_that_begin_there_or_later() {
        let goal = SizeGoal { most: 4000, mss: 1000 };
        let mut mappings = SentMappings::default();
        mappings.push_joined(map(0, 9000), 0, goal);
        let counts = [0, 1, 4000, 8000, 8001].map(|offset| mappings.buffers_from(offset));
        assert_eq!(counts, [3, 2, 2, 1, 0]);
    }

    #[test]
    fn data_from_an_offset_begin_within_a_mapping() {
        let mut mappings = SentMappings::default();
        for (offset, len) in [(0, 1000), (1000, 500), (1500, 700)] {
            mappings.push(map(offset, len));
        }
        mappings.push(SentMapping { len: 1, fin: true, ..map(2200, 1) });
        let from = |offset| mappings.data_from(offset).collect::<Vec<_>>();
        let long = DataNumber::Long;
        assert_eq!(from(1200), [(long(8500), 700), (long(8200), 300)]);
        assert_eq!(from(1500), [(long(8500), 700)]);
        assert_eq!(from(2200), []);
    }

    #[test]
    fn size_goal_is_whole_segments() {
        for most in (0..4000).chain(64_000..=u16::MAX) {
            for mss in [1, 7, 536, 1428, 65_535, 70_000] {
                let goal = SizeGoal { most, mss };
                let bytes = u32::from(goal.bytes());
                assert!(bytes == 65_535.min(mss) || bytes % mss == 0 && bytes <= most.into());
                assert!(u32::from(most) < bytes + mss, "{most} {mss}");
                let at = [0, 1, bytes, bytes + 1, 65_535, 131_070];
                assert!(at.iter().all(|len| goal.holds(*len) == (*len <= bytes)));
            }
        }
    }

    #[test]
    fn mapping_grows_while_nothing_of_it_was_sent() {
        let mut maps = SentMappings::default();
        maps.push_joined(map(0, 1000), 0, goal(60_000));
        maps.push_joined(map(1000, 500), 0, goal(60_000));
        assert_eq!(maps.left_from(0), Some(1500));
        maps.push_joined(map(1500, 100), 200, goal(60_000));
        assert_eq!(maps.left_from(0), Some(1500), "a part of it is in flight");
        assert_eq!(maps.left_from(1500), Some(100));
    }

    #[test]
    fn mappings_are_filled_up_to_the_size_of_an_offload_buffer() {
        let mut maps = SentMappings::default();
        maps.push_joined(map(0, 3000), 0, goal(1000));
        maps.push_joined(map(3000, 400), 0, goal(1000));
        maps.push_joined(map(3400, 1000), 0, goal(1000));
        let lens: Vec<u64> =
            [0, 1000, 2000, 3000, 4000].map(|at| maps.left_from(at).unwrap()).into();
        assert_eq!(lens, [1000, 1000, 1000, 1000, 400]);
        let last = maps.find(4000).unwrap();
        assert_eq!(last.dsn, DataNumber::Long(11_000), "each is mapped to its own numbers");
        maps.push_joined(SentMapping { checksum: Some(1), ..map(4400, 3000) }, 0, goal(1000));
        assert_eq!(maps.left_from(4400), Some(3000), "its checksum is over the whole");
        maps.push_joined(SentMapping { dsn: DataNumber::Long(1), ..map(7400, 10) }, 0, goal(1000));
        assert_eq!(maps.left_from(7400), Some(10), "its numbers jump");
    }

    #[test]
    fn acknowledged_mappings_are_forgotten() {
        let mut maps = SentMappings::default();
        maps.push(map(0, 1000));
        maps.push(map(1000, 1000));
        maps.find(1500).unwrap();
        maps.forget_below(1000);
        assert_eq!(maps.left_from(999), None);
        assert_eq!(maps.left_from(1500), Some(500));
    }
}
