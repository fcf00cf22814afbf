//! `DataTimer`: retransmission of the connection's data, independent of retransmissions on paths.
//!
//! It runs while data are not acknowledged or never passed to a path. Its interval is twice the
//! longest RTO of the paths that work, doubled at each expiry without an answer (RFC 6298 s5.5),
//! or that of the fail-over rule `stale`. It is the connection's window probe, too.
//!
//! After the same number of expiries as TCP has retransmissions it ends the connection. That of
//! `stale` is not doubled and, as in Linux, ends none: paths do, at their own limits. A peer that
//! dies with a closed window leaves nothing outstanding on them, so that there is a bound.

use base::{Duration, Instant, PathId};

/// The interval without a path that works (Linux `TCP_RTO_MIN`).
pub(super) const MIN_INTERVAL: Duration = Duration::from_millis(200);
/// Longest interval (RFC 6298's bound).
const MAX_INTERVAL: Duration = Duration::from_secs(120);
/// Expiries without an answer before the connection fails (Linux `tcp_retries2`).
const MAX_TRIES: u32 = 15;
/// Time of expiries without an answer before it fails if the interval is not doubled: what as many
/// of the longest ones take.
const MAX_SILENCE: Duration = Duration::from_secs(15 * 120);

/// The timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataTimer {
    pub at: Instant,
    tries: u32,
    /// The first of them.
    first_try: Instant,
    /// The interval of the rule `stale`, set when a path was last looked for.
    pub stale_interval: Duration,
    /// It was started in the present round of decisions: the last interval of the round holds.
    pub begun: bool,
    /// A path is looked for even if the window is closed: something was written, or the timer
    /// expired.
    pub looks_anyway: bool,
    /// The path that was given data last in the present round of decisions. Linux sends them when
    /// it comes to another path, or at the end of the round.
    pub given: Option<PathId>,
}

impl Default for DataTimer {
    fn default() -> Self {
        DataTimer {
            at: Instant::FAR_FUTURE,
            tries: 0,
            first_try: Instant::ZERO,
            stale_interval: MIN_INTERVAL,
            begun: false,
            looks_anyway: false,
            given: None,
        }
    }
}

impl DataTimer {
    /// It runs.
    pub(super) fn is_set(&self) -> bool {
        self.at != Instant::FAR_FUTURE
    }

    /// Data were acknowledged or moved.
    pub(super) const fn reset_tries(&mut self) {
        self.tries = 0;
    }

    /// The timer expired. Returns whether the number of expiries permits to give the connection up.
    /// `is_doubled`: the interval is.
    pub(super) fn count_try(&mut self, now: Instant, is_doubled: bool) -> bool {
        if self.tries == 0 {
            self.first_try = now;
        }
        self.tries = self.tries.saturating_add(1);
        self.tries > MAX_TRIES && (is_doubled || now - self.first_try > MAX_SILENCE)
    }

    /// Expiries without an answer.
    pub(super) const fn tries(&self) -> u32 {
        self.tries
    }

    /// The interval if the longest RTO of a path that works is `longest_rto`.
    pub(super) fn interval(&self, longest_rto: Option<Duration>) -> Duration {
        let doublings = self.tries.min(10);
        let longest = longest_rto.unwrap_or(MIN_INTERVAL);
        debug_assert!(!longest.is_zero(), "an RTO has a lower bound");
        (longest * 2 * (1 << doublings)).min(MAX_INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_is_twice_the_longest_rto_and_doubles_up_to_two_minutes() {
        let ms = Duration::from_millis;
        let mut timer = DataTimer::default();
        let now = Instant::from_secs(1);
        assert_eq!(timer.interval(None), ms(400));
        assert_eq!(timer.interval(Some(ms(300))), ms(600));
        assert!(!timer.count_try(now, true));
        assert_eq!(timer.interval(Some(ms(300))), ms(1200));
        for tries in 2..=15 {
            assert!(!timer.count_try(now, true), "{tries}");
        }
        assert_eq!(timer.interval(Some(ms(300))), MAX_INTERVAL);
        assert!(timer.count_try(now, true));
        timer.reset_tries();
        assert_eq!((timer.interval(None), timer.is_set()), (ms(400), false));
    }

    /// Regression: a connection that was silent for four minutes was given up under `stale`.
    #[test]
    fn constant_interval_gives_up_after_half_an_hour() {
        let mut timer = DataTimer::default();
        let given_up = |timer: &mut DataTimer| {
            let expiries = (1..=10_000u64).map(|tries| Instant::from_millis(200 * tries));
            expiries.map(|now| timer.count_try(now, false)).filter(|given_up| *given_up).count()
        };
        // After 1800.2 s.
        assert_eq!(given_up(&mut timer), 10_000 - 9001);
        timer.reset_tries();
        assert!(!timer.count_try(Instant::from_secs(2001), false));
    }
}
