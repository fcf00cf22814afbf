//! The timers of a connection other than those of its subflows and of its data: repetition of the
//! DATA_FIN (RFC 8684 s3.3.3) and of MP_FAIL (s3.7), and the end of a connection without a subflow
//! or without a reader.

use super::management::PathManagement;
use base::{Duration, Instant};
use std::ops::{Deref, DerefMut};

/// First interval of an unanswered DATA_FIN, doubled each time (Linux `TCP_RTO_MIN`).
const FIN_INTERVAL: Duration = Duration::from_millis(200);
/// Longest interval of an unanswered DATA_FIN.
const MAX_FIN_INTERVAL: Duration = Duration::from_millis(102_400);
/// Time that a connection waits for a new subflow without any, and for its peer without a reader
/// (Linux `close_timeout`).
const CLOSE_TIMEOUT: Duration = Duration::from_secs(60);
/// Time that the sender of MP_FAIL waits for an answer (Linux `TCP_RTO_MAX`).
const FAIL_TIMEOUT: Duration = Duration::from_secs(120);
/// First interval of an unanswered MP_FAIL, doubled each time.
const FAIL_INTERVAL: Duration = Duration::from_millis(100);
/// Intervals are doubled this often at most.
const DOUBLINGS: u32 = 10;

/// What follows when an MP_FAIL stays unanswered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unanswered {
    Repeat,
    GiveUp,
}

/// These timers; `FAR_FUTURE` where one is not set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    /// The DATA_FIN is repeated.
    fin: Instant,
    fin_tries: u32,
    /// The connection fails because it has no subflow or no reader.
    end: Instant,
    /// MP_FAIL is repeated.
    fail: Instant,
    /// MP_FAIL is not repeated any more.
    fail_end: Instant,
    fail_tries: u32,
    /// The earliest of `fin`, `end` and `fail`, which each packet needs.
    earliest: Instant,
    /// When a data acknowledgement last arrived.
    heard_at: Instant,
}

impl Default for Deadlines {
    fn default() -> Self {
        let never = Instant::FAR_FUTURE;
        Deadlines {
            fin: never,
            fin_tries: 0,
            end: never,
            fail: never,
            fail_end: never,
            fail_tries: 0,
            earliest: never,
            heard_at: Instant::ZERO,
        }
    }
}

impl Deadlines {
    /// A data acknowledgement arrived.
    #[inline]
    pub(super) const fn on_heard(&mut self, now: Instant) {
        self.heard_at = now;
    }

    /// When a data acknowledgement last arrived.
    #[inline]
    pub(super) const fn heard_at(&self) -> Instant {
        self.heard_at
    }

    /// The earliest of them.
    #[inline]
    pub(super) const fn earliest(&self) -> Instant {
        self.earliest
    }

    /// One of them changed.
    fn on_change(&mut self) {
        self.earliest = self.fin.min(self.end).min(self.fail);
    }

    /// A DATA_FIN was sent.
    pub(super) fn start_fin(&mut self, now: Instant) {
        self.fin_tries = 0;
        self.fin = now + FIN_INTERVAL;
        self.on_change();
    }

    /// The DATA_FIN was acknowledged.
    pub(super) fn stop_fin(&mut self) {
        self.fin = Instant::FAR_FUTURE;
        self.on_change();
    }

    /// The number of unacknowledged transmissions of the DATA_FIN, if it is due again.
    pub(super) fn take_fin(&mut self, now: Instant) -> Option<u32> {
        if self.fin > now {
            return None;
        }
        self.fin_tries = self.fin_tries.saturating_add(1);
        let interval = FIN_INTERVAL * (1 << self.fin_tries.min(DOUBLINGS));
        self.fin = now + interval.min(MAX_FIN_INTERVAL);
        self.on_change();
        Some(self.fin_tries)
    }

    /// No subflow or no reader is left: the connection fails in a minute.
    pub(super) fn start_end(&mut self, now: Instant) {
        self.end = self.end.min(now + CLOSE_TIMEOUT);
        self.on_change();
    }

    /// There is a subflow again.
    pub(super) fn stop_end(&mut self) {
        self.end = Instant::FAR_FUTURE;
        self.on_change();
    }

    /// Whether the connection is to fail.
    #[inline]
    pub(super) fn is_end_due(&self, now: Instant) -> bool {
        self.end <= now
    }

    /// An MP_FAIL was sent.
    pub(super) fn start_fail(&mut self, now: Instant) {
        self.fail_tries = 0;
        self.fail = now + FAIL_INTERVAL;
        self.fail_end = now + FAIL_TIMEOUT;
        self.on_change();
    }

    /// The MP_FAIL was answered, or is void.
    pub(super) fn stop_fail(&mut self) {
        self.fail = Instant::FAR_FUTURE;
        self.on_change();
    }

    /// Whether the MP_FAIL is due again.
    pub(super) fn take_fail(&mut self, now: Instant) -> Option<Unanswered> {
        if self.fail > now {
            return None;
        }
        debug_assert!(self.fail <= self.fail_end, "it is given up in time");
        if now >= self.fail_end {
            return Some(Unanswered::GiveUp);
        }
        self.fail_tries += 1;
        let interval = FAIL_INTERVAL * (1 << self.fail_tries.min(DOUBLINGS));
        self.fail = (now + interval).min(self.fail_end);
        self.on_change();
        Some(Unanswered::Repeat)
    }
}

/// The path management with its deadlines, which are looked for only after it was borrowed to be
/// changed: for most packets it is not.
pub(super) struct Watched {
    management: PathManagement,
    /// The earliest one; zero: not known.
    earliest: Instant,
    /// That of announcements, if `earliest` is known.
    announcement: Instant,
}

impl Watched {
    pub(super) const fn new(management: PathManagement) -> Self {
        Watched { management, earliest: Instant::ZERO, announcement: Instant::ZERO }
    }

    /// The earliest deadline. `is_over`: the manager is not asked any more.
    #[inline]
    pub(super) fn deadline(&mut self, is_over: bool) -> Instant {
        if self.earliest == Instant::ZERO {
            self.look();
        }
        if is_over { self.announcement } else { self.earliest }
    }

    #[cold]
    fn look(&mut self) {
        self.announcement = self.management.announcement_deadline();
        self.earliest = self.management.manager_deadline().min(self.announcement);
    }
}

impl Deref for Watched {
    type Target = PathManagement;

    #[inline]
    fn deref(&self) -> &PathManagement {
        &self.management
    }
}

impl DerefMut for Watched {
    #[inline]
    fn deref_mut(&mut self) -> &mut PathManagement {
        self.earliest = Instant::ZERO;
        &mut self.management
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_fin_is_repeated_at_doubled_intervals_up_to_the_longest() {
        let mut deadlines = Deadlines::default();
        assert_eq!(deadlines.take_fin(Instant::ZERO), None);
        deadlines.start_fin(Instant::ZERO);
        let mut waits = Vec::new();
        let mut before = Instant::ZERO;
        for tries in 1..=12 {
            let now = deadlines.earliest();
            waits.push((now - before).as_millis());
            before = now;
            assert_eq!(deadlines.take_fin(now), Some(tries));
        }
        let doubled = (0..10).map(|doublings| 200 << doublings);
        assert!(waits.iter().copied().eq(doubled.chain([102_400, 102_400])), "{waits:?}");
        deadlines.stop_fin();
        assert_eq!(deadlines.earliest(), Instant::FAR_FUTURE);
    }

    #[test]
    fn mp_fail_is_given_up_after_two_minutes() {
        let mut deadlines = Deadlines::default();
        deadlines.start_fail(Instant::ZERO);
        let mut repetitions = 0;
        loop {
            let now = deadlines.earliest();
            match deadlines.take_fail(now) {
                Some(Unanswered::Repeat) => repetitions += 1,
                other => {
                    assert_eq!(other, Some(Unanswered::GiveUp));
                    assert_eq!(now, Instant::ZERO + FAIL_TIMEOUT);
                    break;
                }
            }
        }
        assert_eq!(repetitions, 10, "100 ms, doubled up to 51.2 s");
    }

    #[test]
    fn end_is_the_earliest_of_its_causes() {
        let mut deadlines = Deadlines::default();
        deadlines.start_end(Instant::ZERO);
        deadlines.start_end(Instant::from_millis(1));
        assert!(deadlines.is_end_due(Instant::ZERO + CLOSE_TIMEOUT));
        deadlines.stop_end();
        assert!(!deadlines.is_end_due(Instant::ZERO + CLOSE_TIMEOUT));
    }
}
