//! Fail-over: when a path counts as failed, and how its return is noticed.
//!
//! A failed path gets nothing from the scheduler, and what only failed paths have goes to one that
//! works. It goes on retransmitting its own data, so that it may return. Three rules say when a
//! path fails:
//!
//! - `rto`: at its retransmission time-out, until an acknowledgement advances (the papers'
//!   kernels, 000 s2.3.4; RFC 7829 with a threshold of zero).
//! - `stale`: mainline Linux (`stale_loss_cnt` 4). A time-out alone changes nothing. Each time the
//!   data timer expires, the head of the data goes to a path that has nothing outstanding, to a
//!   backup from the second time on. A path with data outstanding on which nothing arrived for
//!   five such intervals fails, if something arrived on another one with data outstanding within
//!   three; until anything arrives on it. The interval of the timer is the longest time that was
//!   left to a timer of a path not under suspicion when new data were last dispatched, or 200 ms;
//!   the kernel's timer wheel makes it up to 32 ms longer, and with that more often long enough
//!   for the other path to come to rest.
//!   That suits the kernel's own scheduler, with which all data that are not acknowledged go again
//!   when a path fails, wherever they are (`__mptcp_retransmit_pending_data`). Others copy a head
//!   that is late, whose acknowledgement starts the interval anew, so that it would never expire
//!   while copies deliver a failed path's data one by one: with them a time-out sends the path's
//!   data elsewhere, as with `rto`, though the path has not failed.
//! - `probe`: at the time-out, or before it if a tail loss probe (RFC 8985 s7) stays unanswered
//!   for a round trip with its variation, `srtt + max(4 mdev, 50 ms)`, while another path works.
//!   A failed path is sent keep-alive segments, after a second at first, then after a quarter of
//!   the time since it failed, at most ten seconds; an answer resumes its retransmission at once.
//!   The other rules leave a return to the back-off of the time-out, which doubles up to two
//!   minutes.
//!
//! No rule ends the connection while a path goes on retransmitting (`data_timer`). Timers of paths,
//! and recovery from loss on them, are the protocol's.

use super::paths::Progress;
use base::{Duration, Instant};

/// Linux `stale_loss_cnt`: a path is silent after more intervals than these.
const STALE_LOSS_COUNT: u8 = 4;
/// The least time that a probe takes beyond a round trip: delayed acknowledgements (40 ms).
pub(super) const PROBE_SLACK: Duration = Duration::from_millis(50);
/// Between two keep-alive segments: a quarter of the time since the path failed, within these.
const KEEP_ALIVE_SPANS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

/// When a path counts as failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Failover {
    /// At its retransmission time-out.
    #[default]
    Rto,
    /// As mainline Linux.
    Stale,
    /// At an unanswered probe; its return is probed for.
    Probe,
}

/// Name, one sentence and source of every rule.
pub const FAILOVER_NAMES: &[(&str, &str, &str)] = &[
    (
        "rto",
        "A path fails at its retransmission time-out; an acknowledgement brings it back.",
        "000 s2.3.4, multipath-tcp kernel v0.95",
    ),
    (
        "stale",
        "A path fails after five intervals of the connection's timer without an acknowledgement.",
        "Linux `stale_loss_cnt`",
    ),
    (
        "probe",
        "A path fails at an unanswered tail loss probe, and is probed until it returns.",
        "anabranch",
    ),
];

impl Failover {
    /// All rules, in the order of their names.
    pub const ALL: [Failover; 3] = [Failover::Rto, Failover::Stale, Failover::Probe];

    /// The name in options.
    pub const fn name(self) -> &'static str {
        FAILOVER_NAMES[self as usize].0
    }

    /// The rule of that name, in any case.
    pub fn by_name(name: &str) -> Option<Failover> {
        Failover::ALL.into_iter().find(|rule| rule.name().eq_ignore_ascii_case(name))
    }
}

/// The outcome of an event on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Nothing changes.
    Unchanged,
    /// It failed.
    Failed,
    /// It works again.
    Restored,
    /// It has not failed, but its data go elsewhere, too.
    Reinject,
}

/// What happened on a path since it was last examined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Signs {
    /// Its retransmission timer expired.
    pub timed_out: bool,
    /// A tail loss probe was sent.
    pub probed: bool,
}

/// The state of a path from which its failure is determined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    failed: bool,
    /// The progress of the path when it failed or was probed.
    una: u64,
    /// When a segment last arrived on it.
    arrived_at: Instant,
    /// Intervals without one (`stale`).
    count: u8,
    /// The last arrival when `count` began.
    counted_from: Instant,
    /// When the path fails unless it answers the probe (`probe`).
    verdict_at: Instant,
    failed_at: Instant,
    /// When the next keep-alive segment is due.
    keep_alive_at: Instant,
    /// One was sent, and nothing has arrived since.
    awaits_answer: bool,
}

impl Default for Watch {
    fn default() -> Self {
        Watch {
            failed: false,
            una: 0,
            arrived_at: Instant::ZERO,
            count: 0,
            counted_from: Instant::ZERO,
            verdict_at: Instant::FAR_FUTURE,
            failed_at: Instant::ZERO,
            keep_alive_at: Instant::FAR_FUTURE,
            awaits_answer: false,
        }
    }
}

impl Watch {
    /// It counts as failed.
    pub(super) const fn is_failed(&self) -> bool {
        self.failed
    }

    /// Something arrived on the path.
    pub(super) const fn on_arrival(&mut self, now: Instant) {
        self.arrived_at = now;
    }

    /// When to examine the path again.
    pub(super) fn deadline(&self) -> Instant {
        self.verdict_at.min(self.keep_alive_at)
    }

    /// The path is over; its number may be given to another one.
    pub(super) const fn on_removed(&mut self) {
        self.failed = false;
    }

    /// The path counts as failed until something arrives on it, independent of the rule.
    pub(super) const fn suspect(&mut self, una: u64) {
        (self.failed, self.una) = (true, una);
    }

    /// Something arrived on a path that was suspected.
    pub(super) const fn clear(&mut self) {
        self.failed = false;
        self.keep_alive_at = Instant::FAR_FUTURE;
    }

    /// Under the rule `rto`.
    pub(super) fn judge_by_rto(
        &self,
        signs: Signs,
        progress: impl FnOnce() -> Progress,
    ) -> Verdict {
        if signs.timed_out {
            return Verdict::Failed;
        }
        if self.failed && progress().una > self.una {
            return Verdict::Restored;
        }
        Verdict::Unchanged
    }

    /// Under the rule `stale`; `leaves_timeouts`: the scheduler is mainline's.
    pub(super) fn judge_by_staleness(&self, signs: Signs, leaves_timeouts: bool) -> Verdict {
        if self.failed && self.arrived_at > self.counted_from {
            return Verdict::Restored;
        }
        if signs.timed_out && !leaves_timeouts { Verdict::Reinject } else { Verdict::Unchanged }
    }

    /// Under the rule `probe`: whether the path answered a keep-alive segment just now.
    pub(super) fn take_answer(&mut self, now: Instant) -> bool {
        let answered = self.failed && self.awaits_answer && self.arrived_at == now;
        self.awaits_answer &= !answered;
        answered
    }

    /// Under the rule `probe`; a probe is answered within `patience`.
    pub(super) fn judge_by_probe(
        &mut self,
        now: Instant,
        signs: Signs,
        progress: Progress,
        patience: impl FnOnce() -> Duration,
    ) -> Verdict {
        if signs.probed && !self.failed {
            self.una = progress.una;
            self.verdict_at = now + patience();
        } else if self.verdict_at != Instant::FAR_FUTURE
            && (progress.una > self.una || progress.is_sacked)
        {
            self.verdict_at = Instant::FAR_FUTURE;
        }
        if signs.timed_out {
            Verdict::Failed
        } else if self.failed && progress.una > self.una {
            Verdict::Restored
        } else {
            Verdict::Unchanged
        }
    }

    /// It failed; `keeps_alive`: its return is probed for.
    pub(super) fn fail(&mut self, now: Instant, una: u64, keeps_alive: bool) {
        self.una = una;
        self.verdict_at = Instant::FAR_FUTURE;
        if !std::mem::replace(&mut self.failed, true) && keeps_alive {
            self.failed_at = now;
            self.keep_alive_at = now + KEEP_ALIVE_SPANS.0;
            self.awaits_answer = false;
        }
    }

    /// It works again. Its intervals are counted on (Linux `mptcp_subflow_set_active`), until the
    /// next one ends.
    pub(super) const fn restore(&mut self) {
        self.failed = false;
        self.keep_alive_at = Instant::FAR_FUTURE;
    }

    /// Whether a probe stayed unanswered for too long.
    pub(super) fn take_verdict(&mut self, now: Instant) -> bool {
        let due = self.verdict_at <= now;
        if due {
            self.verdict_at = Instant::FAR_FUTURE;
        }
        due
    }

    /// Whether a keep-alive segment is due now; the next one is later.
    pub(super) fn take_keep_alive(&mut self, now: Instant) -> bool {
        if self.keep_alive_at > now {
            return false;
        }
        let (least, most) = KEEP_ALIVE_SPANS;
        debug_assert!(self.failed_at <= now);
        self.keep_alive_at = now + ((now - self.failed_at) / 4).max(least).min(most);
        self.awaits_answer = true;
        true
    }

    /// Under the rule `stale`: nothing points to a failure.
    pub(super) const fn is_trusted(&self) -> bool {
        self.count == 0
    }

    /// Under the rule `stale`: one more interval passed; how many without a segment (Linux
    /// `mptcp_pm_subflow_chk_stale`).
    pub(super) fn count_interval(&mut self) -> u8 {
        if self.count == 0 {
            self.counted_from = self.arrived_at;
            self.count = 1;
        } else if self.counted_from == self.arrived_at {
            self.count = self.count.saturating_add(1);
        } else {
            self.count = 0;
        }
        self.count
    }

    /// Nothing arrived for long enough that the path may fail.
    pub(super) const fn is_stale(&self) -> bool {
        !self.failed && self.count > STALE_LOSS_COUNT
    }

    /// Something arrived within the last intervals, so that others may fail.
    pub(super) const fn is_lively(&self) -> bool {
        !self.failed && self.count < STALE_LOSS_COUNT - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_the_rules() {
        for rule in Failover::ALL {
            assert_eq!(Failover::by_name(rule.name()), Some(rule));
        }
        assert_eq!(Failover::by_name("never"), None);
    }

    #[test]
    fn silent_intervals_are_counted_from_the_second_one_on() {
        let mut watch = Watch::default();
        assert_eq!([(); 5].map(|()| watch.count_interval()), [1, 2, 3, 4, 5]);
        watch.on_arrival(Instant::from_millis(1));
        assert_eq!([(); 3].map(|()| watch.count_interval()), [0, 1, 2]);
    }

    /// Regression: the timer of a path that works again counted at once.
    #[test]
    fn path_that_works_again_is_trusted_after_the_next_interval() {
        let mut watch = Watch::default();
        (0..5).for_each(|_| _ = watch.count_interval());
        watch.fail(Instant::from_millis(1), 0, false);
        watch.on_arrival(Instant::from_millis(2));
        assert_eq!(watch.judge_by_staleness(Signs::default(), true), Verdict::Restored);
        watch.restore();
        assert!(!watch.is_failed() && !watch.is_trusted() && !watch.is_lively());
        watch.count_interval();
        assert!(watch.is_trusted() && watch.is_lively() && !watch.is_stale());
    }

    #[test]
    fn keep_alive_segments_are_due_after_a_quarter_of_the_time_since_the_failure() {
        let second = |s: u64| Instant::from_millis(1000 * s);
        let mut watch = Watch::default();
        watch.fail(second(100), 0, true);
        assert!(!watch.take_keep_alive(Instant::from_millis(100_999)));
        assert!(watch.take_keep_alive(second(101)));
        assert_eq!(watch.deadline(), second(102), "at least a second");
        assert!(watch.take_keep_alive(second(112)));
        assert_eq!(watch.deadline(), second(115));
        assert!(watch.take_keep_alive(second(300)));
        assert_eq!(watch.deadline(), second(310), "at most ten");
        watch.on_arrival(second(305));
        assert!(!watch.take_answer(second(306)) && watch.take_answer(second(305)));
        watch.restore();
        assert_eq!(watch.deadline(), Instant::FAR_FUTURE);
    }
    /// The keep-alive segments of a path that failed and was then suspected went on for ever.
    #[test]
    fn suspicion_that_ends_ends_the_keep_alive_segments() {
        let mut watch = Watch::default();
        watch.fail(Instant::from_millis(1000), 0, true);
        watch.suspect(0);
        watch.clear();
        assert!(!watch.is_failed());
        assert_eq!(watch.deadline(), Instant::FAR_FUTURE);
    }
}
