//! Serial numbers of SCTP with wrapping comparison (RFC 9260 s1.6): TSN, SSN, MID.
//!
//! `a < b` if `b - a` modulo the range is less than half of it. A difference of exactly half is
//! undefined; senders keep their windows below it.

use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Sub};

macro_rules! serial {
    ($(#[$doc:meta])* $name:ident($unsigned:ty), $signed:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        pub struct $name(pub $unsigned);

        impl $name {
            /// Signed distance from `other` to `self`, right while it is below half of the range.
            pub const fn distance_from(self, other: $name) -> $signed {
                self.0.wrapping_sub(other.0) as $signed
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.distance_from(*other).cmp(&0))
            }
        }

        impl Add<$unsigned> for $name {
            type Output = $name;
            fn add(self, rhs: $unsigned) -> $name {
                $name(self.0.wrapping_add(rhs))
            }
        }

        impl AddAssign<$unsigned> for $name {
            fn add_assign(&mut self, rhs: $unsigned) {
                *self = *self + rhs;
            }
        }

        impl Sub<$unsigned> for $name {
            type Output = $name;
            fn sub(self, rhs: $unsigned) -> $name {
                $name(self.0.wrapping_sub(rhs))
            }
        }
    };
}

serial! {
    /// Transmission sequence number of a DATA or I-DATA chunk, modulo 2^32 (RFC 9260 s3.3.1).
    Tsn(u32), i32
}
serial! {
    /// Stream sequence number of an ordered message, modulo 2^16 (RFC 9260 s3.3.1).
    Ssn(u16), i16
}
serial! {
    /// Message identifier of an I-DATA chunk, modulo 2^32 (RFC 8260 s2.1).
    Mid(u32), i32
}

impl Tsn {
    /// The 64-bit offset nearest to `near` whose low 32 bits, counted from `initial`, are this TSN.
    /// It is negative before `initial`.
    pub const fn to_offset(self, initial: Tsn, near: u64) -> i64 {
        let here = Tsn::from_offset(initial, near);
        near as i64 + self.distance_from(here) as i64
    }

    /// The TSN at 64-bit `offset` from `initial`.
    pub const fn from_offset(initial: Tsn, offset: u64) -> Tsn {
        Tsn(initial.0.wrapping_add(offset as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_numbers_compare_modulo_their_range() {
        assert!(Tsn(0xFFFF_FFFF) < Tsn(0));
        assert!(Tsn(0) < Tsn(0x7FFF_FFFF));
        assert!(Tsn(0) > Tsn(0x8000_0001));
        assert!(Ssn(65_535) < Ssn(0));
        assert!(Mid(u32::MAX) < Mid(3));
        assert_eq!(Tsn(0xFFFF_FFFF) + 1, Tsn(0));
        assert_eq!(Ssn(0) - 1, Ssn(65_535));
        assert_eq!(Tsn(3).distance_from(Tsn(u32::MAX)), 4);
    }

    #[test]
    fn offsets_of_tsns_survive_many_wraps() {
        let initial = Tsn(0xFFFF_FF00);
        for offset in [0u64, 255, 256, 1 << 32, (1 << 40) + 12_345] {
            let tsn = Tsn::from_offset(initial, offset);
            for near in [offset, offset + 1_000_000, offset.saturating_sub(1_000_000)] {
                assert_eq!(tsn.to_offset(initial, near), offset as i64);
            }
        }
        assert_eq!((initial - 1).to_offset(initial, 0), -1);
    }
}
