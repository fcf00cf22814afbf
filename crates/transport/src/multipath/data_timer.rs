//! `DataTimer`: retransmission of the connection's data, independent of retransmissions on paths.
//!
//! It runs while data are not acknowledged or never passed to a path. Its interval is twice the
//! longest RTO of the paths that work, doubled at each expiry without an answer (RFC 6298 s5.5),
//! or that of the fail-over rule `stale`. It is the connection's window probe, too.

use base::{Duration, Instant, PathId};

/// The interval without a path that works (Linux `TCP_RTO_MIN`).
pub(super) const MIN_INTERVAL: Duration = Duration::from_millis(200);
/// Longest interval (RFC 6298's bound).
const MAX_INTERVAL: Duration = Duration::from_secs(120);
/// Expiries without an answer before the connection fails (Linux `tcp_retries2`).
const MAX_TRIES: u32 = 15;

/// The timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataTimer {
    pub at: Instant,
    tries: u32,
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
    pub(super) const fn count_try(&mut self) -> bool {
        self.tries = self.tries.saturating_add(1);
        self.tries > MAX_TRIES
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
        assert_eq!(timer.interval(None), ms(400));
        assert_eq!(timer.interval(Some(ms(300))), ms(600));
        assert!(!timer.count_try());
        assert_eq!(timer.interval(Some(ms(300))), ms(1200));
        for tries in 2..=15 {
            assert!(!timer.count_try(), "{tries}");
        }
        assert_eq!(timer.interval(Some(ms(300))), MAX_INTERVAL);
        assert!(timer.count_try());
        timer.reset_tries();
        assert_eq!((timer.interval(None), timer.is_set()), (ms(400), false));
    }
}
