//! `SeqNumber`: 32-bit TCP sequence numbers with wrapping comparison (RFC 9293 s3.4).
//!
//! This is the number on the wire; the 64-bit offsets of the engine are left to `transport`.

use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Sub};

/// A sequence number modulo 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// The signed distance from `other` to `self`, correct while they are less than 2^31 apart.
    pub const fn distance_from(self, other: SeqNumber) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// The 64-bit offset nearest to `near` whose low 32 bits, counted from `initial`, are this
    /// number. It may be negative, before the start of the stream.
    pub const fn to_offset(self, initial: SeqNumber, near: u64) -> i64 {
        let here = SeqNumber(initial.0.wrapping_add(near as u32));
        near as i64 + self.distance_from(here) as i64
    }

    /// The number on the wire of the byte at 64-bit `offset` of a stream that begins at `initial`.
    pub const fn from_offset(initial: SeqNumber, offset: u64) -> SeqNumber {
        SeqNumber(initial.0.wrapping_add(offset as u32))
    }
}

impl PartialOrd for SeqNumber {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.distance_from(*other).cmp(&0))
    }
}

impl Add<u32> for SeqNumber {
    type Output = SeqNumber;
    fn add(self, rhs: u32) -> SeqNumber {
        SeqNumber(self.0.wrapping_add(rhs))
    }
}

impl AddAssign<u32> for SeqNumber {
    fn add_assign(&mut self, rhs: u32) {
        *self = *self + rhs;
    }
}

impl Sub<u32> for SeqNumber {
    type Output = SeqNumber;
    fn sub(self, rhs: u32) -> SeqNumber {
        SeqNumber(self.0.wrapping_sub(rhs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_wraps() {
        assert!(SeqNumber(u32::MAX) < SeqNumber(0));
        assert!(SeqNumber(5) > SeqNumber(u32::MAX - 5));
        assert_eq!(SeqNumber(3).distance_from(SeqNumber(u32::MAX)), 4);
    }

    #[test]
    fn offsets_survive_many_wraps() {
        let initial = SeqNumber(0xFFFF_FF00);
        for offset in [0u64, 255, 256, 1 << 32, (1 << 40) + 12_345] {
            let seq = SeqNumber::from_offset(initial, offset);
            for near in [offset, offset + 1_000_000, offset.saturating_sub(1_000_000)] {
                assert_eq!(seq.to_offset(initial, near), offset as i64);
            }
        }
        assert_eq!((initial - 1).to_offset(initial, 0), -1);
    }
}
