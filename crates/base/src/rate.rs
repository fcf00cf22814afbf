//! `Rate`: bits per second, and the serialisation time of bytes. `Serialiser`: packets in a row.
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

/// Serialises packets one after the other.
///
/// It remembers the last length: most packets of a link have the same, which saves a division.
#[derive(Clone, Debug)]
pub struct Serialiser {
    rate: Rate,
    /// Remainder of the last packet below one nanosecond; see `Rate::serialisation`.
    carry: u64,
    /// Time and remainder of a packet of `bytes` alone.
    time: Duration,
    rest: u64,
    bytes: u32,
}

impl Serialiser {
    /// At this rate.
    pub fn new(rate: Rate) -> Self {
        let (time, rest) = rate.serialisation(0, 0);
        Serialiser { rate, carry: 0, time, rest, bytes: 0 }
    }

    /// Its rate.
    #[inline]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// The next packet does not follow the last one at once.
    #[inline]
    pub const fn restart(&mut self) {
        self.carry = 0;
    }

    /// Time to serialise a packet of `bytes`.
    #[inline]
    pub fn packet(&mut self, bytes: u32) -> Duration {
        if bytes != self.bytes {
            self.measure(bytes);
        }
        // Both are below the rate.
        self.carry = self.carry.saturating_add(self.rest);
        if self.carry < self.rate.0 {
            return self.time;
        }
        self.carry -= self.rate.0;
        self.time + Duration::from_nanos(1)
    }

    /// Length of the last packet; 0 before the first.
    #[inline]
    pub const fn last_len(&self) -> u32 {
        self.bytes
    }

    /// The time of each packet of a run with the last one's length, if it is the same for all of
    /// them and not zero.
    #[inline]
    pub fn whole_time(&self) -> Option<Duration> {
        (self.rest == 0 && self.time > Duration::ZERO && self.time < Duration::MAX)
            .then_some(self.time)
    }

    #[inline(never)]
    fn measure(&mut self, bytes: u32) {
        self.bytes = bytes;
        (self.time, self.rest) = self.rate.serialisation(u64::from(bytes), 0);
    }

    /// Time to finish a packet of which `work` (in 10^-9 bits) is left.
    pub fn finish(&mut self, work: u64) -> Duration {
        let (time, carry) = self.rate.serialisation(0, self.carry.saturating_add(work));
        self.carry = carry;
        time
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
        let mut packets = Serialiser::new(Rate::from_bps(0));
        for bytes in [0, 1500, 1500, 0] {
            assert_eq!(packets.packet(bytes), Duration::MAX);
        }
    }

    #[test]
    fn a_serialiser_does_what_its_rate_does() {
        for bps in [1, 7, 512_000, 999_999_937, 1_000_000_000, 700_000_000_001] {
            let (rate, mut carry) = (Rate::from_bps(bps), 0);
            let mut packets = Serialiser::new(rate);
            for bytes in [1500, 1500, 1500, 40, 52, 52, 0, 1500, 65_535, 1] {
                let (time, rest) = rate.serialisation(u64::from(bytes), carry);
                assert_eq!(packets.packet(bytes), time, "{bytes} bytes at {rate}");
                carry = rest;
            }
            packets.restart();
            assert_eq!(packets.packet(1500), rate.serialisation(1500, 0).0);
        }
    }

    #[test]
    fn rates_print_as_tc_spells_them() {
        assert_eq!(Rate::from_mbit(20).to_string(), "20mbit");
        assert_eq!(Rate::from_bps(1_500_000_000).to_string(), "1.5gbit");
        assert_eq!(Rate::from_bps(512_000).to_string(), "512kbit");
    }
}
