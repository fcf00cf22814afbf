//! Opportunities ("chances") to send 1500 bytes, as mahimahi records them.
//!
//! The n-th chance over all cycles is at `(n / count) * period + millis[n % count]`; the number of
//! bytes that were sent or have lapsed determines the next chance.

use super::{Spent, TraceFault};
use base::Rate;

/// Bytes of one chance (mahimahi's MTU).
const CHANCE_BYTES: u64 = 1500;
pub(super) const NANOS_PER_MILLI: u64 = 1_000_000;

/// The chances of one period.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Chances {
    /// Non-decreasing, the last one positive: the period.
    millis: Vec<u32>,
}

impl Chances {
    pub(super) fn new(millis: Vec<u32>) -> Result<Self, TraceFault> {
        match millis.last() {
            None => Err(TraceFault::Empty),
            Some(0) => Err(TraceFault::NoTime),
            Some(_) if !millis.is_sorted() => Err(TraceFault::Backwards),
            Some(_) => Ok(Chances { millis }),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.millis.len()
    }

    pub(super) fn period_ms(&self) -> u64 {
        u64::from(self.millis[self.millis.len() - 1])
    }

    pub(super) fn mean_rate(&self) -> Rate {
        Rate::from_bps(self.count() * CHANCE_BYTES * 8 * 1000 / self.period_ms())
    }

    /// The longest time until `bytes` have passed, from any time on: a chance was just missed.
    pub(super) fn longest_ms_for(&self, bytes: u64) -> u64 {
        let chances = bytes.div_ceil(CHANCE_BYTES);
        let (periods, rest) = (chances / self.count(), (chances % self.count()) as usize);
        let (period, all) = (self.period_ms(), &self.millis);
        let within = all.iter().zip(&all[rest..]).map(|(a, b)| u64::from(b - a));
        let over_the_end = all[all.len() - rest..].iter().zip(all);
        let over_the_end = over_the_end.map(|(a, b)| period + u64::from(*b) - u64::from(*a));
        let longest = within.chain(over_the_end).max().unwrap_or(0);
        periods.saturating_mul(period).saturating_add(longest)
    }

    /// Mean over the second that begins at `nanos`.
    pub(super) fn rate_at(&self, nanos: u64) -> Rate {
        let ms = nanos / NANOS_PER_MILLI;
        let chances = self.before(ms.saturating_add(1000)) - self.before(ms);
        Rate::from_bps(chances * CHANCE_BYTES * 8)
    }

    pub(super) fn finish(&self, spent: &mut Spent, start: u64, bytes: u32) -> u64 {
        if bytes == 0 {
            return start;
        }
        let ms = start / NANOS_PER_MILLI;
        let mut position = u64::try_from(spent.position).unwrap_or(u64::MAX);
        if self.time_of(position / CHANCE_BYTES) < ms {
            // The chances of past milliseconds have lapsed.
            position = position.max(self.before(ms).saturating_mul(CHANCE_BYTES));
        }
        position = position.saturating_add(u64::from(bytes));
        spent.position = u128::from(position);
        let last = position.saturating_sub(1) / CHANCE_BYTES;
        self.time_of(last).saturating_mul(NANOS_PER_MILLI).max(start)
    }

    /// Bytes that have passed or lapse with the millisecond of `nanos`.
    pub(super) fn passed(&self, nanos: u64) -> u128 {
        u128::from(self.before(nanos / NANOS_PER_MILLI + 1).saturating_mul(CHANCE_BYTES))
    }

    fn count(&self) -> u64 {
        self.millis.len() as u64
    }

    /// The millisecond of a chance.
    fn time_of(&self, chance: u64) -> u64 {
        let (cycle, index) = (chance / self.count(), chance % self.count());
        (cycle.saturating_mul(self.period_ms()))
            .saturating_add(u64::from(self.millis[index as usize]))
    }

    /// Chances before millisecond `ms`.
    fn before(&self, ms: u64) -> u64 {
        let (cycle, rest) = (ms / self.period_ms(), ms % self.period_ms());
        let within = self.millis.partition_point(|m| u64::from(*m) < rest) as u64;
        // The last chances of a period are in the first millisecond of the next one.
        let now = if rest == 0 && cycle > 0 {
            self.count() - self.millis.partition_point(|m| u64::from(*m) < self.period_ms()) as u64
        } else {
            0
        };
        cycle.saturating_mul(self.count()).saturating_add(within).saturating_sub(now)
    }
}
