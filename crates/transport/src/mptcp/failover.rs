//! Fail-over: when a path counts as failed, what then happens to its data, and how its return is
//! noticed (specs/tcp-subflow.md s7, mptcp-schedulers.md s10).
//!
//! A failed path (`pf`) gets nothing from the scheduler, and what only failed paths have goes to
//! one that works. It goes on repeating its own data, so that it may return. Three rules say when
//! a path fails:
//!
//! - `rto`: at its retransmission time-out, until an acknowledgement advances (the papers'
//!   kernels, 000 s2.3.4).
//! - `stale`: mainline Linux (`stale_loss_cnt` 4). A time-out alone changes nothing. Each time the
//!   connection's timer runs out without news of its data, the head of the data goes to a path
//!   that has nothing outstanding, to a backup from the second time on. A path with data
//!   outstanding on which nothing was heard for five such times fails, if another one with data
//!   outstanding heard something within three; until anything is heard on it. The timer's
//!   interval is the longest time that was left to a timer of a path not under suspicion when new
//!   data were last handed out, or 200 ms; the kernel's timer wheel makes it up to 32 ms longer,
//!   and with that more often long enough for the other path to come to rest.
//!   That suits the kernel's own scheduler. Others copy a head that is late, whose acknowledgement
//!   starts the interval anew, so that it would never run out while copies get a dead path's data
//!   through one by one: with them a time-out sends the path's data elsewhere, as with `rto`,
//!   though the path has not failed.
//! - `probe`: at the time-out, or before it if a tail loss probe (RFC 8985 s7) stays unanswered
//!   for a round trip with its variation, `srtt + max(4 mdev, 50 ms)`, while another path works.
//!   A failed path is knocked at with an acknowledgement that asks for one, after a second at
//!   first, then after a quarter of the time it has been gone, at most ten seconds; an answer
//!   resumes its retransmission at once. Ours; the other rules leave a return to the back-off of
//!   the time-out, which doubles up to two minutes.
//!
//! Timers of subflows, and TCP's own recovery on them, are theirs.

use super::connection::Connection;
use super::send::FRAGMENT_BYTES;
use super::subflow::SubflowEntry;
use crate::scheduler::{PathChange, SchedulerChoice, What};
use crate::tcp::profile::Profile;
use crate::tcp::timers::wheel_expiry;
use base::{Context, Duration, Instant, PathId};

/// Linux `stale_loss_cnt`: more intervals than these without anything heard.
const STALE_LOSS_COUNT: u8 = 4;
/// Interval of the connection's timer where no path gives one (Linux `TCP_RTO_MIN`).
const STALE_INTERVAL: Duration = Duration::from_millis(200);
/// What the answer to a probe may take beyond a round trip: delayed acknowledgements (40 ms).
const PROBE_SLACK: Duration = Duration::from_millis(50);
/// Between two knocks at a failed path: a quarter of the time since it failed, within these.
const KNOCK_SPANS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

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
        "A path fails after five intervals of the connection's timer without a sign of life.",
        "Linux `stale_loss_cnt`",
    ),
    (
        "probe",
        "A path fails at an unanswered tail loss probe, and is knocked at until it returns.",
        "anabranch",
    ),
];

impl Failover {
    /// In the order of the names.
    pub const ALL: [Failover; 3] = [Failover::Rto, Failover::Stale, Failover::Probe];

    /// As options spell it.
    pub const fn name(self) -> &'static str {
        FAILOVER_NAMES[self as usize].0
    }

    /// The rule of that name.
    pub fn by_name(name: &str) -> Option<Failover> {
        Failover::ALL.into_iter().find(|rule| rule.name() == name)
    }

    /// What is used unless said: today's Linux with its own scheduler is taken whole, everything
    /// else fails over as the papers' kernels.
    pub fn usual(profile: Profile, scheduler: &SchedulerChoice) -> Failover {
        if scheduler.is_linux() && !profile.is_old() { Failover::Stale } else { Failover::Rto }
    }
}

/// What is noted of a path to tell whether it works.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// Any acceptable segment.
    pub heard_at: Instant,
    /// Intervals without one (`stale`),
    count: u8,
    /// counted since something was heard then.
    counted_from: Instant,
    /// An unanswered probe makes it fail then (`probe`).
    verdict_at: Instant,
    failed_at: Instant,
    /// When to ask a failed path for an answer.
    knock_at: Instant,
    /// It was asked, and has not answered.
    knocked: bool,
}

impl Default for Watch {
    fn default() -> Self {
        Watch {
            heard_at: Instant::ZERO,
            count: 0,
            counted_from: Instant::ZERO,
            verdict_at: Instant::FAR_FUTURE,
            failed_at: Instant::ZERO,
            knock_at: Instant::FAR_FUTURE,
            knocked: false,
        }
    }
}

impl Watch {
    /// When to look at the path again.
    pub fn deadline(&self) -> Instant {
        self.verdict_at.min(self.knock_at)
    }

    /// One more interval passed; how many without a sign of life (Linux
    /// `mptcp_pm_subflow_chk_stale`).
    fn count_interval(&mut self) -> u8 {
        if self.count == 0 {
            self.counted_from = self.heard_at;
            self.count = 1;
        } else if self.counted_from == self.heard_at {
            self.count = self.count.saturating_add(1);
        } else {
            self.count = 0;
        }
        self.count
    }
}

impl Connection {
    /// Something happened on a path: does it work?
    pub(super) fn watch_path(&mut self, cx: &mut Context<'_>, index: usize) {
        let entry = &mut self.subflows[index];
        let Some(mp) = entry.tcp.multipath() else { return };
        let timed_out = mp.take_timed_out();
        let probed = mp.take_probed();
        let una = entry.tcp.una();
        let advanced = entry.pf && una > entry.pf_una;
        match self.config.failover {
            Failover::Rto if timed_out => self.fail_path(cx.now, index),
            Failover::Rto if advanced => self.restore_path(index),
            Failover::Stale if entry.pf && entry.watch.heard_at > entry.watch.counted_from => {
                self.restore_path(index);
            }
            Failover::Stale if timed_out && !self.scheduler.leaves_timeouts() => {
                self.reinject_of(index);
            }
            Failover::Probe => self.watch_probed(cx, index, timed_out, probed),
            _ => {}
        }
    }

    fn watch_probed(&mut self, cx: &mut Context<'_>, index: usize, timed_out: bool, probed: bool) {
        let entry = &mut self.subflows[index];
        let una = entry.tcp.una();
        let watch = &mut entry.watch;
        if entry.pf && watch.knocked && watch.heard_at == cx.now {
            watch.knocked = false;
            entry.tcp.retry_now(cx);
        }
        if probed && !entry.pf {
            entry.pf_una = una;
            entry.watch.verdict_at = cx.now + entry.tcp.probe_patience(PROBE_SLACK);
        } else if entry.watch.verdict_at != Instant::FAR_FUTURE
            && (una > entry.pf_una || entry.tcp.is_sacked())
        {
            entry.watch.verdict_at = Instant::FAR_FUTURE;
        }
        if timed_out {
            self.fail_path(cx.now, index);
        } else if self.subflows[index].pf && una > self.subflows[index].pf_una {
            self.restore_path(index);
        }
    }

    /// The path is not used any more, and its data go elsewhere.
    fn fail_path(&mut self, now: Instant, index: usize) {
        let entry = &mut self.subflows[index];
        entry.pf_una = entry.tcp.una();
        entry.watch.verdict_at = Instant::FAR_FUTURE;
        if !std::mem::replace(&mut entry.pf, true) && self.config.failover == Failover::Probe {
            entry.watch.failed_at = now;
            entry.watch.knock_at = now + KNOCK_SPANS.0;
            entry.watch.knocked = false;
        }
        self.on_path_state(index);
    }

    fn restore_path(&mut self, index: usize) {
        let entry = &mut self.subflows[index];
        entry.pf = false;
        entry.watch.count = 0;
        entry.watch.knock_at = Instant::FAR_FUTURE;
        self.on_path_state(index);
    }

    fn on_path_state(&mut self, index: usize) {
        self.reinject_stuck();
        self.on_path_changed(self.subflows[index].path, PathChange::State);
        self.schedule_due = true;
    }

    /// What a path that timed out has goes to another one that works, if there is one.
    fn reinject_of(&mut self, index: usize) {
        let path = self.subflows[index].path;
        let others = self.subflows.working_paths().without(path);
        if !others.is_empty() {
            self.send.reinject_all_of(path, others);
            self.schedule_due = true;
        }
    }

    /// When a path is to be looked at again.
    pub(super) fn watch_deadline(&self) -> Instant {
        if self.config.failover != Failover::Probe {
            return Instant::FAR_FUTURE;
        }
        let open = self.subflows.iter().filter(|entry| entry.is_usable());
        open.map(|entry| entry.watch.deadline()).fold(Instant::FAR_FUTURE, Instant::min)
    }

    /// Judge paths whose probe stayed unanswered, knock at those that failed.
    pub(super) fn on_watch_timeout(&mut self, cx: &Context<'_>) {
        for index in 0..self.subflows.len() {
            if !self.subflows[index].is_usable() {
                continue;
            }
            if self.subflows[index].watch.verdict_at <= cx.now {
                self.subflows[index].watch.verdict_at = Instant::FAR_FUTURE;
                let path = self.subflows[index].path;
                if !self.subflows.working_paths().without(path).is_empty() {
                    self.fail_path(cx.now, index);
                }
            }
            let entry = &mut self.subflows[index];
            if entry.watch.knock_at <= cx.now {
                let gone = cx.now - entry.watch.failed_at;
                let (least, most) = KNOCK_SPANS;
                entry.watch.knock_at = cx.now + (gone / 4).max(least).min(most);
                entry.watch.knocked = true;
                entry.tcp.send_keep_alive();
                self.subflows.wake(index);
            }
        }
    }

    /// The connection's timer is mainline's, as soon as there is a choice of paths.
    pub(super) fn fails_as_mainline(&self) -> bool {
        self.config.failover == Failover::Stale && self.fallback.is_join_confirmed()
    }

    /// The interval of the connection's timer as mainline sets it, which it does whenever it looks
    /// for a path for new data (Linux `mptcp_subflow_get_send`).
    pub(super) fn note_stale_interval(&mut self, now: Instant) {
        if !self.fails_as_mainline() || self.send.is_drained() {
            return;
        }
        let trusted =
            self.subflows.iter().filter(|entry| entry.is_usable() && entry.watch.count == 0);
        let left = trusted.filter_map(|entry| entry.tcp.retransmission_in(now)).max();
        self.timers.stale_interval = left.filter(|left| !left.is_zero()).unwrap_or(STALE_INTERVAL);
    }

    /// When that timer fires. Its interval is long enough for the coarser subflows of the kernel's
    /// timer wheel: 300 ms take 304 to 332.
    pub(super) fn stale_expiry(&self, now: Instant) -> Instant {
        let tick = self.config.tcp.profile.switches().tick;
        wheel_expiry(now, self.timers.stale_interval, tick)
    }

    /// The connection's timer ran out under the rule `stale`: count, and say which path the head of
    /// the data may go to (Linux `mptcp_subflow_get_retrans`).
    pub(super) fn on_stale_interval(&mut self, cx: &Context<'_>) -> Option<PathId> {
        let mut least_count = u8::MAX;
        for index in 0..self.subflows.len() {
            let entry = &mut self.subflows[index];
            if entry.is_usable() && entry.tcp.has_outstanding() {
                least_count = least_count.min(entry.watch.count_interval());
                self.check_stale(cx, index);
            }
        }
        let idle = |entry: &&SubflowEntry| entry.is_usable() && !entry.tcp.has_outstanding();
        let active = self.subflows.iter().filter(idle).find(|entry| !entry.is_backup());
        let spare = || self.subflows.iter().find(idle).filter(|_| least_count > 1);
        active.or_else(spare).map(|entry| entry.path)
    }

    /// The head of the data again, on the path found for it: what the fragment of the send queue
    /// holds that begins them (Linux `__mptcp_retrans`).
    pub(super) fn send_head_over(&mut self, spare: Option<PathId>, start: u64) {
        let Some(path) = spare else { return };
        let fragment = u64::from(FRAGMENT_BYTES);
        let end = self.send.nxt.min((start / fragment + 1) * fragment);
        self.hand(path, What::Copy(start..end), FRAGMENT_BYTES);
    }

    /// Fail a path that was silent for too long, if another one is not (Linux
    /// `mptcp_pm_nl_subflow_chk_stale`).
    fn check_stale(&mut self, cx: &Context<'_>, index: usize) {
        let entry = &self.subflows[index];
        if entry.pf || entry.watch.count <= STALE_LOSS_COUNT {
            return;
        }
        let hears = |(other, entry): (usize, &SubflowEntry)| {
            let silent = entry.watch.count >= STALE_LOSS_COUNT - 1;
            other != index && entry.is_usable() && !entry.pf && !silent
        };
        if self.subflows.iter().enumerate().any(hears) {
            self.fail_path(cx.now, index);
        }
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
    fn only_todays_linux_with_its_own_scheduler_waits_for_a_stale_path() {
        let usual =
            |profile, scheduler: &str| Failover::usual(profile, &scheduler.parse().unwrap());
        assert_eq!(usual(Profile::Linux, "linux"), Failover::Stale);
        assert_eq!(usual(Profile::Linux, "linux:burst=1000"), Failover::Stale);
        assert_eq!(usual(Profile::Linux, "lrf"), Failover::Rto);
        assert_eq!(usual(Profile::Linux314, "linux"), Failover::Rto);
    }

    #[test]
    fn silent_intervals_are_counted_from_the_second_one_on() {
        let mut watch = Watch::default();
        assert_eq!([(); 5].map(|()| watch.count_interval()), [1, 2, 3, 4, 5]);
        watch.heard_at = Instant::from_millis(1);
        assert_eq!([(); 3].map(|()| watch.count_interval()), [0, 1, 2]);
    }
}
