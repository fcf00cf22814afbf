//! `Rate`: bits per second, and the serialisation time of bytes.
//!
//! Parsing "20mbit" is left to the lab.

use crate::time::Duration;
use std::fmt;

/// Bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Rate(u64);

impl Rate {
    /// From bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Rate(bps)
    }

    /// From megabits (10^6 bits) per second.
    pub const fn from_mbit(mbit: u64) -> Self {
        Rate(mbit * 1_000_000)
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Time to serialise `bytes`, and the remainder for the next call in units of 1/rate ns, so
    /// that the rounding of single packets does not add up over a busy period.
    ///
    /// At a rate of zero the time is `Duration::MAX`.
    #[inline]
    pub fn serialisation(self, bytes: u64, carry: u64) -> (Duration, u64) {
        let work = bytes.checked_mul(8_000_000_000).and_then(|work| work.checked_add(carry));
        match work {
            Some(work) if self.0 > 0 => (Duration::from_nanos(work / self.0), work % self.0),
            _ => self.long_serialisation(bytes, carry),
        }
    }

    #[cold]
    fn long_serialisation(self, bytes: u64, carry: u64) -> (Duration, u64) {
        if self.0 == 0 {
            return (Duration::MAX, 0);
        }
        let work = u128::from(bytes) * 8_000_000_000 + u128::from(carry);
        let rate = u128::from(self.0);
        let nanos = u64::try_from(work / rate).unwrap_or(u64::MAX);
        (Duration::from_nanos(nanos), (work % rate) as u64)
    }
}

impl fmt::Display for Rate {
    /// The canonical text form in the syntax of `tc`: `20mbit`, `512kbit`, `1.5gbit`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bps = self.0;
        match bps {
            n if n >= 1_000_000_000 => write!(f, "{}gbit", n as f64 / 1e9),
            n if n >= 1_000_000 => write!(f, "{}mbit", n as f64 / 1e6),
            n if n >= 1_000 => write!(f, "{}kbit", n as f64 / 1e3),
            n => write!(f, "{n}bit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialisation_carries_the_remainder() {
        let rate = Rate::from_bps(7);
        let mut carry = 0;
        let mut total = Duration::ZERO;
        for _ in 0..7 {
            let (time, rest) = rate.serialisation(1, carry);
            total += time;
            carry = rest;
        }
        assert_eq!(total, Duration::from_secs(8), "7 bytes at 7 bit/s take exactly 8 s");
        assert_eq!(carry, 0);
    }

    #[test]
    fn zero_rate_never_finishes() {
        assert_eq!(Rate::from_bps(0).serialisation(1, 0).0, Duration::MAX);
    }

    #[test]
    fn rates_print_as_tc_spells_them() {
        assert_eq!(Rate::from_mbit(20).to_string(), "20mbit");
        assert_eq!(Rate::from_bps(1_500_000_000).to_string(), "1.5gbit");
        assert_eq!(Rate::from_bps(512_000).to_string(), "512kbit");
    }
}
