//! Detects live-locks: limits on the steps at one instant and in one second of virtual time. A step
//! is an event, or a packet put on a link that it may pass without one.
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
    /// Steps until the next look at the time: comparing it at each was a twelfth of an event.
    left: u64,
    /// Time of the last look.
    instant: Instant,
    /// When the present second ends.
    second_ends: Instant,
    in_second: u64,
}

/// Steps from one look to the next: if it sees the same time again, all of them were at one
/// instant.
const BLOCK: u64 = SAME_INSTANT_LIMIT + 1;

impl Default for Guard {
    fn default() -> Self {
        let (instant, second_ends) = (Instant::ZERO, Instant::from_secs(1));
        Guard { left: BLOCK, instant, second_ends, in_second: 0 }
    }
}

impl Guard {
    /// Count a step. Returns the reason if a limit is exceeded.
    #[inline]
    pub(crate) fn step(&mut self, now: Instant) -> Option<&'static str> {
        self.left -= 1;
        if self.left == 0 { self.look(now) } else { None }
    }

    #[cold]
    fn look(&mut self, now: Instant) -> Option<&'static str> {
        // What exceeds a limit does so with the next step, too.
        self.left = 1;
        if now == self.instant {
            return Some("events or packets without end at one instant");
        }
        if now >= self.second_ends {
            self.second_ends = Instant::from_secs(now.as_millis() / 1000 + 1);
            self.in_second = 0;
        }
        self.in_second += BLOCK;
        if self.in_second > PER_SECOND_LIMIT {
            return Some("too much happens in one second");
        }
        (self.left, self.instant) = (BLOCK, now);
        None
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
