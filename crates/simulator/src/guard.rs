//! Detects live-locks: limits on the steps at one instant and in one second of virtual time. A step
//! is an event or a packet put on a link.
//!
//! A live-lock becomes an error instead of a hang; handling it is left to `world`.

use base::Instant;

/// A thousand hosts may all act at once, each with a large window.
const SAME_INSTANT_LIMIT: u64 = 200_000;
/// Five times what 100 Gbit/s of full-sized packets need.
const PER_SECOND_LIMIT: u64 = 200_000_000;

/// Counts steps.
#[derive(Debug)]
pub(crate) struct Guard {
    instant: Instant,
    /// When the present second ends.
    second_ends: Instant,
    at_instant: u64,
    in_second: u64,
}

impl Default for Guard {
    fn default() -> Self {
        let (instant, second_ends) = (Instant::ZERO, Instant::from_secs(1));
        Guard { instant, second_ends, at_instant: 0, in_second: 0 }
    }
}

impl Guard {
    /// Count a step. Returns the reason if a limit is exceeded.
    #[inline]
    pub(crate) fn step(&mut self, now: Instant) -> Option<&'static str> {
        if now != self.instant {
            self.advance(now);
        }
        self.at_instant += 1;
        if self.at_instant > SAME_INSTANT_LIMIT {
            return Some("events or packets without end at one instant");
        }
        (self.in_second > PER_SECOND_LIMIT).then_some("too much happens in one second")
    }

    fn advance(&mut self, now: Instant) {
        self.in_second += self.at_instant;
        self.instant = now;
        self.at_instant = 0;
        if now >= self.second_ends {
            self.second_ends = Instant::from_secs(now.as_millis() / 1000 + 1);
            self.in_second = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_without_time_are_found_and_steps_in_time_are_not() {
        let mut guard = Guard::default();
        for _ in 0..SAME_INSTANT_LIMIT {
            assert_eq!(guard.step(Instant::ZERO), None);
        }
        assert!(guard.step(Instant::ZERO).is_some());
        let mut guard = Guard::default();
        for nanos in 0..2 * SAME_INSTANT_LIMIT {
            assert_eq!(guard.step(Instant::from_nanos(nanos)), None);
        }
    }

    #[test]
    fn a_second_with_too_many_steps_is_found_however_they_are_spread() {
        let mut guard = Guard::default();
        let mut found = None;
        for nanos in 0..PER_SECOND_LIMIT / SAME_INSTANT_LIMIT + 2 {
            for _ in 0..SAME_INSTANT_LIMIT {
                found = found.or(guard.step(Instant::from_nanos(nanos)));
            }
        }
        assert!(found.is_some());
        assert_eq!(guard.step(Instant::from_secs(1)), None, "the next second begins anew");
    }
}
