//! What `Sender` does about paths that fail and data that do not get through.

use super::data_timer::MIN_INTERVAL;
use super::failover::{Failover, PROBE_SLACK, Signs, Verdict};
use super::paths::{Paths, Progress, Prompt};
use super::sender::{Sender, path_id};
use crate::buffer::FRAGMENT_BYTES;
use crate::scheduler::{PathChange, PathView, Scheduler, What};
use base::{Blocked, Context, Duration, Instant, PathId};
use std::hint::cold_path;

/// What the data timer reinjects at once: one buffer of Linux's send queue.
const RETRANSMIT_BYTES: u64 = 64 << 10;

impl Sender {
    /// Whether [`Sender::judge`] may do anything: not where all paths work, without a sign of the
    /// opposite, unless they are probed.
    #[inline]
    pub fn may_judge(&self, path: PathId, signs: Signs) -> bool {
        debug_assert!(self.watches || !self.is_failed(path));
        self.watches || signs != Signs::default()
    }

    /// Something happened on a path: whether it works is decided by the rule.
    pub fn judge(&mut self, cx: &Context<'_>, paths: &mut impl Paths, path: PathId, signs: Signs) {
        let leaves_timeouts = signs.timed_out && self.scheduler.leaves_timeouts();
        let rule = self.failover;
        let watch = &mut self.state_mut(path).watch;
        let verdict = match rule {
            Failover::Rto => watch.judge_by_rto(signs, || paths.progress(path)),
            Failover::Stale => watch.judge_by_staleness(signs, leaves_timeouts),
            Failover::Probe => {
                if watch.take_answer(cx.now) {
                    paths.prompt(cx, path, Prompt::Retransmission);
                }
                let patience = || paths.probe_patience(path, PROBE_SLACK);
                watch.judge_by_probe(cx.now, signs, paths.progress(path), patience)
            }
        };
        match verdict {
            Verdict::Unchanged => {}
            Verdict::Failed => self.fail(cx.now, paths, path),
            Verdict::Restored => {
                self.state_mut(path).watch.restore();
                self.on_watch_changed();
                self.on_path_state(paths, path);
            }
            Verdict::Reinject => {
                let others = self.working_paths(paths).without(path);
                if !others.is_empty() {
                    self.queue.reinject_all_of(path, others);
                    self.set_due();
                }
            }
        }
    }

    /// The path is not used any more, and its data go elsewhere.
    fn fail(&mut self, now: Instant, paths: &impl Paths, path: PathId) {
        let keeps_alive = self.failover == Failover::Probe;
        let una = paths.progress(path).una;
        self.state_mut(path).watch.fail(now, una, keeps_alive);
        self.on_watch_changed();
        if self.resends_all(paths) {
            self.queue.reinject_all();
        }
        self.on_path_state(paths, path);
    }

    fn on_path_state(&mut self, paths: &impl Paths, path: PathId) {
        self.reinject_failed(paths);
        self.on_path_changed(path, PathChange::State);
        self.set_due();
    }

    /// The path counts as failed until something arrives on it; its data go elsewhere.
    pub fn suspect(&mut self, paths: &impl Paths, path: PathId) {
        let una = paths.progress(path).una;
        self.state_mut(path).watch.suspect(una);
        self.on_watch_changed();
        self.reinject_failed(paths);
    }

    /// Something arrived on a path that was suspected.
    pub fn clear(&mut self, path: PathId) {
        self.state_mut(path).watch.clear();
        self.on_watch_changed();
        self.set_due();
    }

    /// What only failed paths have goes to one that works, if there is one: a path came, or failed.
    pub fn reinject_failed(&mut self, paths: &impl Paths) {
        let working = self.working_paths(paths);
        if working.is_empty() {
            return;
        }
        for path in (0..paths.count()).map(path_id) {
            if self.is_failed(path) {
                self.queue.reinject_all_of(path, working);
            }
        }
        self.set_due();
    }

    /// What a path has goes to others, unless one that works has it.
    pub fn reinject(&mut self, paths: &impl Paths, path: PathId) {
        let others = self.working_paths(paths).without(path);
        self.queue.reinject_all_of(path, others);
        self.set_due();
    }

    /// When a path is to be examined again.
    #[inline(always)]
    pub fn watch_deadline(&self, is_usable: impl Fn(PathId) -> bool) -> Instant {
        if self.failover != Failover::Probe {
            return Instant::FAR_FUTURE;
        }
        self.next_examination(is_usable)
    }

    #[cold]
    fn next_examination(&self, is_usable: impl Fn(PathId) -> bool) -> Instant {
        let usable = self.states.iter().enumerate().filter(|(index, _)| is_usable(path_id(*index)));
        usable.map(|(_, state)| state.watch.deadline()).fold(Instant::FAR_FUTURE, Instant::min)
    }

    /// Examines paths whose probe was not answered, and sends keep-alive segments on failed ones.
    pub fn on_watch_timeout(&mut self, cx: &Context<'_>, paths: &mut impl Paths) {
        for path in (0..paths.count()).map(path_id) {
            if !paths.is_usable(path) {
                continue;
            }
            if self.state_mut(path).watch.take_verdict(cx.now)
                && !self.working_paths(paths).without(path).is_empty()
            {
                self.fail(cx.now, paths, path);
            }
            if self.state_mut(path).watch.take_keep_alive(cx.now) {
                paths.prompt(cx, path, Prompt::KeepAlive);
            }
        }
    }

    /// The data timer is mainline's.
    fn is_stale_rule(&self) -> bool {
        self.failover == Failover::Stale
    }

    /// Whether Linux would look for a path for new data: where the window has room, after a write,
    /// and again after data were given to a path (`ack_update_msk`, `__mptcp_push_pending`).
    pub(super) fn looks_for_path(&mut self) -> bool {
        let anyway = std::mem::take(&mut self.timer.looks_anyway);
        anyway || self.timer.given.is_some() || self.queue.has_window()
    }

    /// Note the interval of the data timer as mainline sets it, which it does whenever it looks for
    /// a path for new data (Linux `mptcp_subflow_get_send`).
    // Asked twice a round; the other rules have no such interval.
    #[inline]
    pub(super) fn note_stale_interval(&mut self, now: Instant, paths: &impl Paths) {
        if self.is_stale_rule() && !self.queue.is_drained() {
            cold_path();
            self.look_for_interval(now, paths);
        }
    }

    /// Note the interval when the last data that were written went to `path`, whose buffer has
    /// room: Linux sets it after each fragment while the burst lasts (`__subflow_push_pending`).
    pub(super) fn note_last_interval(&mut self, now: Instant, paths: &impl Paths, path: PathId) {
        let has_room = |view: &PathView| view.id == path && view.queue.room_bytes() > 0;
        if self.is_stale_rule() && self.queue.is_drained() && self.views.iter().any(has_room) {
            cold_path();
            self.look_for_interval(now, paths);
        }
    }

    #[inline(never)]
    fn look_for_interval(&mut self, now: Instant, paths: &impl Paths) {
        let ids = (0..paths.count()).map(path_id);
        let trusted = ids.filter(|id| paths.is_usable(*id) && self.state(*id).watch.is_trusted());
        let given = self.timer.given;
        let left = trusted.filter_map(|id| paths.timer_left(id, now, Some(id) != given)).max();
        self.timer.stale_interval = left.filter(|left| !left.is_zero()).unwrap_or(MIN_INTERVAL);
        if self.timer.begun {
            self.set_timer(now, paths);
        }
    }

    /// Data were moved or acknowledged: restarts the data timer, or stops it if nothing is left to
    /// send or to be acknowledged. Before that Linux looks for a path if the window has room
    /// (`ack_update_msk`).
    pub fn restart_timer(&mut self, now: Instant, paths: &impl Paths) {
        self.timer.reset_tries();
        self.timer.given = None;
        self.timer.begun = false;
        if self.queue.has_window() {
            self.note_stale_interval(now, paths);
        }
        self.set_timer(now, paths);
    }

    /// Starts the data timer if data are left to send or to be acknowledged.
    pub(super) fn ensure_timer(&mut self, now: Instant, paths: &impl Paths) {
        if !self.timer.is_set() {
            self.timer.begun = true;
            self.set_timer(now, paths);
        }
    }

    fn set_timer(&mut self, now: Instant, paths: &impl Paths) {
        self.timer.at = if !self.queue.is_busy() || paths.is_over() {
            Instant::FAR_FUTURE
        } else if self.is_stale_rule() {
            paths.expiry(now, self.timer.stale_interval)
        } else {
            now + self.timer.interval(self.longest_rto(paths))
        };
    }

    /// The longest RTO of a path that works.
    fn longest_rto(&self, paths: &impl Paths) -> Option<Duration> {
        let ids = (0..paths.count()).map(path_id);
        let working = ids.filter(|id| paths.is_usable(*id) && !self.is_failed(*id));
        working.map(|id| paths.progress(id).rto).max()
    }

    /// When the data timer expires.
    pub const fn timer_at(&self) -> Instant {
        self.timer.at
    }

    /// The data timer expired. Returns whether a connection is to fail because its peer is silent.
    pub fn count_timeout(&mut self, now: Instant, paths: &impl Paths) -> bool {
        let exhausted = self.timer.count_try(now, !self.is_stale_rule());
        self.timer.looks_anyway = true;
        self.set_due();
        self.set_timer(now, paths);
        exhausted
    }

    /// The connection did not acknowledge the head of the data in time: sends it again, or probes
    /// the window. Returns whether nothing was outstanding, so that only the window was probed.
    pub fn on_data_timeout(&mut self, cx: &Context<'_>, paths: &mut impl Paths) -> bool {
        let stale = self.is_stale_rule().then(|| self.on_stale_interval(cx, paths));
        let Some(start) = self.queue.unacknowledged_head() else {
            if self.waits == Some(Blocked::SchedulerWaits) {
                // Its choice: it is asked again.
                self.set_due();
                return false;
            }
            // Written, never dispatched: the window is closed, or was when last announced.
            self.probe_window(cx, paths);
            return true;
        };
        match stale {
            None => self.repeat_head(cx, paths, start),
            Some(None) => {}
            Some(Some(path)) if paths.accepts_copies() => self.send_head_on(paths, path, start),
            // All may have arrived and the answer be lost: another one is asked for.
            Some(Some(_)) => self.probe_window(cx, paths),
        }
        false
    }

    /// The head of the data goes on another path. While no path works its own timer comes first.
    fn repeat_head(&mut self, cx: &Context<'_>, paths: &mut impl Paths, start: u64) {
        let patience = u32::from(self.working_paths(paths).is_empty());
        if self.timer.tries() <= patience {
            return;
        }
        if paths.accepts_copies() {
            let end = self.queue.nxt().min(start + RETRANSMIT_BYTES);
            self.queue.reinject(start..end);
            self.set_due();
        } else {
            // All may have arrived and the answer be lost: another one is asked for.
            self.probe_window(cx, paths);
        }
    }

    fn probe_window(&mut self, cx: &Context<'_>, paths: &mut impl Paths) {
        let works = |id: &PathId| paths.is_usable(*id) && !self.is_failed(*id);
        let working = || (0..paths.count()).map(path_id).filter(works);
        let active = working().find(|id| !self.is_probing(*id));
        let Some(path) = active.or_else(|| working().next()) else { return };
        // A window smaller than a segment is filled only now (RFC 9293 s3.8.6.2.1).
        if !self.enqueue(paths, path, What::New, paths.segment_size(path)) {
            paths.prompt(cx, path, Prompt::Window);
        }
    }

    /// The data timer expired under the rule `stale`: counts, and returns the path for the head of
    /// the data (Linux `mptcp_subflow_get_retrans`).
    fn on_stale_interval(&mut self, cx: &Context<'_>, paths: &impl Paths) -> Option<PathId> {
        let mut least_count = u8::MAX;
        let (mut active, mut backup) = (None, None);
        let mut moves = false;
        for path in (0..paths.count()).map(path_id).filter(|id| paths.is_usable(*id)) {
            let Progress { has_outstanding, is_backup, .. } = paths.progress(path);
            if has_outstanding || (moves && !self.is_failed(path)) {
                least_count = least_count.min(self.state_mut(path).watch.count_interval());
                moves |= self.check_stale(cx.now, paths, path);
            } else if is_backup {
                backup = backup.or(Some(path));
            } else {
                active = active.or(Some(path));
            }
        }
        active.or_else(|| backup.filter(|_| least_count > 1))
    }

    /// Fail a path that was silent for too long, if another one is not (Linux
    /// `mptcp_pm_nl_subflow_chk_stale`). Returns whether data go to other paths at once.
    fn check_stale(&mut self, now: Instant, paths: &impl Paths, path: PathId) -> bool {
        if !self.state(path).watch.is_stale() {
            return false;
        }
        let mut others = (0..paths.count()).map(path_id).filter(|id| *id != path);
        let fails = others.any(|id| paths.is_usable(id) && self.state(id).watch.is_lively());
        if fails {
            self.fail(now, paths, path);
        }
        fails && self.resends_all(paths) && self.queue.has_reinjections()
    }

    /// When a path fails all data go again, as in Linux.
    fn resends_all(&self, paths: &impl Paths) -> bool {
        self.is_stale_rule() && self.scheduler.leaves_timeouts() && paths.accepts_copies()
    }

    /// The head of the data again, on the path found for it: what the fragment of the send queue
    /// holds that begins them (Linux `__mptcp_retrans`).
    fn send_head_on(&mut self, paths: &mut impl Paths, path: PathId, start: u64) {
        let end = self.queue.nxt().min(self.queue.fragment_end(start + 1));
        // The rest is on one path only, and is reinjected if that fails.
        self.queue.cut(end);
        self.enqueue(paths, path, What::Copy(start..end), FRAGMENT_BYTES);
    }
}
