//! `Sender`: the sending half of a connection, the events that it handles, and its deadlines.

use super::assignments::Assignments;
use super::data_timer::DataTimer;
use super::failover::{Failover, Watch};
use super::paths::Paths;
use super::send_queue::SendQueue;
use crate::path_policy::{AnyPolicy, PathPolicy};
use crate::scheduler::{AnyScheduler, PathChange, PathSet, PathView, Scheduler};
use base::{Blocked, Context, Instant, PathId, SocketId};
use std::hint::cold_path;

/// The configuration of a sender.
pub struct SenderConfig {
    pub socket: SocketId,
    pub scheduler: AnyScheduler,
    pub policy: AnyPolicy,
    pub failover: Failover,
    /// Each piece leaves before the scheduler is asked about the next one.
    pub one_at_a_time: bool,
}

/// The sending half of a connection over several paths.
pub struct Sender {
    pub queue: SendQueue,
    pub(super) socket: SocketId,
    pub(super) scheduler: AnyScheduler,
    /// Determines the paths that the scheduler may use.
    pub(super) policy: AnyPolicy,
    pub(super) failover: Failover,
    /// Unsent data that the scheduler means for a path.
    pub(super) assignments: Assignments,
    /// By path number.
    pub(super) states: Vec<PathRecord>,
    /// A path counts as failed, or the rule probes: each arrival may change that.
    pub(super) watches: bool,
    pub(super) timer: DataTimer,
    /// What the scheduler sees of the paths, overwritten in its place.
    pub(super) views: Vec<PathView>,
    /// It is what they are now.
    pub(super) are_views_current: bool,
    /// Paths whose windows the last decisions filled, or that can carry nothing, and on which
    /// nothing happened since but sending: what `views` says of that is still true.
    pub(super) full: PathSet,
    /// Paths that a segment arrived on since the last decision, if the scheduler heeds
    /// acknowledgements.
    pub(super) arrivals: PathSet,
    /// Why the scheduler waits, since it was last asked.
    pub(super) waits: Option<Blocked>,
    pub(super) rules: Rules,
    /// The peer will send nothing more.
    pub(super) peer_closed: bool,
    /// Something happened since the scheduler was asked.
    pub(super) is_due: bool,
    /// Copies that the scheduler sent in this round.
    pub(super) copies: u32,
}

/// What does not change while the connection lasts, so that the scheduler need not be asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Each piece leaves before the scheduler is asked about the next one.
    pub one_at_a_time: bool,
    /// The scheduler heeds acknowledgements.
    pub heeds_acks: bool,
    /// Scheduler or path policy read all of a view.
    pub read_all: bool,
    /// Scheduler or path policy may have a deadline.
    pub have_deadlines: bool,
}

impl Rules {
    fn new(config: &SenderConfig) -> Self {
        let own_policy = !config.policy.is_none();
        Rules {
            one_at_a_time: config.one_at_a_time,
            heeds_acks: config.scheduler.heeds_acks(),
            read_all: !config.scheduler.reads_admission_only() || own_policy,
            have_deadlines: config.scheduler.has_period() || own_policy,
        }
    }
}

/// What the sender keeps of a path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathRecord {
    pub watch: Watch,
    /// The path policy or the scheduler admits probes and reinjections only.
    pub probing: bool,
    pub account: PathAccount,
}

/// What was passed to a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathAccount {
    /// Payload that no path had before, in bytes.
    pub first_sent_bytes: u64,
    /// Payload that another path had, in bytes.
    pub reinjected_bytes: u64,
    /// The same in segments.
    pub reinjected_segs: u64,
}

impl Sender {
    /// Nothing was written yet.
    pub fn new(config: SenderConfig) -> Self {
        Sender {
            rules: Rules::new(&config),
            // Older kernels have a queue of segments.
            queue: SendQueue::new(!config.one_at_a_time),
            socket: config.socket,
            scheduler: config.scheduler,
            policy: config.policy,
            failover: config.failover,
            assignments: Assignments::default(),
            states: Vec::new(),
            watches: config.failover == Failover::Probe,
            timer: DataTimer::default(),
            views: Vec::new(),
            are_views_current: false,
            full: PathSet::EMPTY,
            arrivals: PathSet::EMPTY,
            waits: None,
            peer_closed: false,
            is_due: true,
            copies: 0,
        }
    }

    /// Ask the scheduler again at the next opportunity: something happened, on any path.
    pub const fn set_due(&mut self) {
        self.is_due = true;
        self.full = PathSet::EMPTY;
    }

    /// Something was written: the scheduler is asked at the next opportunity.
    pub const fn on_write(&mut self) {
        self.set_due();
        self.timer.looks_anyway = true;
    }

    /// Something happened since the scheduler was asked.
    pub const fn is_due(&self) -> bool {
        self.is_due
    }

    /// Whether a round of decisions is to begin. Most rounds of a receiver, which has nothing to
    /// offer, end here.
    #[inline]
    pub fn takes_round(&mut self, cx: &Context<'_>) -> bool {
        let idle = || !self.has_offer() && self.policy.is_none() && self.arrivals.is_empty();
        if self.is_due && cx.has_short_ways() && idle() {
            self.is_due = false;
            self.timer.given = None;
        }
        self.is_due
    }

    /// The peer will send nothing more.
    pub const fn on_peer_closed(&mut self) {
        self.peer_closed = true;
    }

    /// A segment was handled on a path: windows may have opened.
    #[inline]
    pub fn on_segment(&mut self, cx: &Context<'_>, path: PathId) {
        self.is_due = true;
        // A receiver has none.
        if !self.full.is_empty() {
            self.full = self.full.without(path);
        }
        if self.rules.heeds_acks {
            self.arrivals = self.arrivals.with(path);
        }
        // For a receiver it is over.
        self.takes_round(cx);
    }

    /// An acceptable segment arrived on a path.
    #[inline]
    pub fn on_arrival(&mut self, now: Instant, path: PathId) {
        // The other rules look at the time of the last arrival.
        if self.failover != Failover::Rto {
            self.state_mut(path).watch.on_arrival(now);
        }
    }

    /// A path came, went, or changed what it may do.
    pub fn on_path_changed(&mut self, path: PathId, change: PathChange) {
        if change == PathChange::Added {
            self.policy.on_path_added(path);
        }
        self.full = PathSet::EMPTY;
        self.scheduler.on_path_changed(path, change);
    }

    /// A path ended: its data go elsewhere.
    pub fn on_path_removed(&mut self, now: Instant, paths: &impl Paths, path: PathId) {
        debug_assert!(!paths.is_usable(path));
        self.state_mut(path).watch.on_removed();
        self.on_watch_changed();
        self.queue.reinject_all_of(path, self.working_paths(paths));
        self.queue.forget_path(path);
        self.assignments.forget(path);
        self.on_path_changed(path, PathChange::Removed);
        self.set_due();
        self.restart_timer(now, paths);
    }

    /// The number of a closed path is given to another one. Returns what was passed to the closed
    /// one.
    pub fn take_account(&mut self, path: PathId) -> PathAccount {
        let over = std::mem::take(self.state_mut(path));
        self.on_watch_changed();
        over.account
    }

    /// What was passed to a path.
    pub fn account(&self, path: PathId) -> PathAccount {
        self.state(path).account
    }

    /// The path policy or the scheduler admits probes and reinjections only.
    pub fn is_probing(&self, path: PathId) -> bool {
        self.states.get(path.index()).is_some_and(|state| state.probing)
    }

    /// The path counts as failed.
    pub fn is_failed(&self, path: PathId) -> bool {
        self.states.get(path.index()).is_some_and(|state| state.watch.is_failed())
    }

    /// Take what no path had for a connection that has only `path` left.
    pub fn take_rest(&mut self, path: PathId) -> Option<wire::Payload> {
        let rest = self.queue.take_rest()?;
        self.state_mut(path).account.first_sent_bytes += u64::from(rest.len());
        Some(rest)
    }

    /// Nothing is scheduled any more, or not before new data are written.
    pub fn stop(&mut self) {
        self.timer = DataTimer::default();
    }

    /// Only one path is left, for good: takes all assignments back, and no path counts as failed or
    /// is probed any more.
    pub fn end_multipath(&mut self) {
        self.assignments.clear();
        for state in &mut self.states {
            state.watch = Watch::default();
        }
        self.on_watch_changed();
    }

    /// Whether there is anything a scheduler could send.
    pub(super) fn has_offer(&self) -> bool {
        let copies = || self.scheduler.makes_copies() || self.queue.writer_waits();
        !self.queue.is_drained()
            || self.queue.has_reinjections()
            || (self.queue.has_unacknowledged() && copies())
    }

    /// The earliest deadline of scheduler, path policy and data timer. `over`: nothing is scheduled
    /// any more.
    #[inline]
    pub fn deadline(&self, over: bool) -> Instant {
        self.scheduler_deadline(over).min(self.timer.at)
    }

    /// The earliest deadline of scheduler and path policy, if there is anything to send.
    #[inline]
    fn scheduler_deadline(&self, over: bool) -> Instant {
        if over || !self.rules.have_deadlines {
            return Instant::FAR_FUTURE;
        }
        self.earliest_deadline()
    }

    #[inline(never)]
    fn earliest_deadline(&self) -> Instant {
        let scheduler = self.scheduler.poll_timeout().filter(|_| self.has_offer());
        let policy = self.policy.poll_timeout().filter(|_| self.queue.is_busy());
        let never = Instant::FAR_FUTURE;
        scheduler.unwrap_or(never).min(policy.unwrap_or(never))
    }

    /// Time has passed: scheduler and path policy are called again if their deadline is due, and
    /// timers of paths may have changed what these take.
    pub fn check_due(&mut self, now: Instant, over: bool) {
        self.full = PathSet::EMPTY;
        self.is_due |= self.scheduler_deadline(over) <= now;
    }

    /// Why nothing more is sent for now: the scheduler's reason while something is left to
    /// schedule, then that of the first path with something it may not send, then the
    /// application's. `schedules`: the connection uses several paths.
    pub fn why_idle(&self, paths: &impl Paths, schedules: bool) -> Blocked {
        let is_left = schedules && (!self.queue.is_drained() || self.queue.has_reinjections());
        if let Some(why) = self.waits.filter(|why| is_left && *why != Blocked::NothingToSend) {
            return why;
        }
        let ids = (0..paths.count()).map(path_id);
        let mut stopped = ids.filter(|id| paths.unsent(*id) > 0 && !self.is_failed(*id));
        match stopped.next() {
            Some(id) => paths.why_unsent(id),
            None if is_left => Blocked::PathDown,
            None if self.queue.writer_waits() => Blocked::SendBuffer,
            None => Blocked::NothingToSend,
        }
    }

    /// Bytes written and not sent on any path.
    pub fn unsent(&self, paths: &impl Paths) -> u64 {
        let queued: u64 = (0..paths.count()).map(|index| paths.unsent(path_id(index))).sum();
        self.queue.end() - self.queue.nxt() + queued
    }

    /// The paths that carry data now.
    pub fn working_paths(&self, paths: &impl Paths) -> PathSet {
        let ids = (0..paths.count()).map(path_id);
        let working = ids.filter(|id| paths.is_usable(*id) && !self.is_failed(*id));
        working.fold(PathSet::EMPTY, PathSet::with)
    }

    #[inline]
    pub(super) fn state(&self, path: PathId) -> PathRecord {
        self.states.get(path.index()).copied().unwrap_or_default()
    }

    /// Paths failed or work again.
    pub(super) fn on_watch_changed(&mut self) {
        let any_failed = self.states.iter().any(|state| state.watch.is_failed());
        self.watches = any_failed || self.failover == Failover::Probe;
    }

    #[inline(always)]
    pub(super) fn state_mut(&mut self, path: PathId) -> &mut PathRecord {
        if self.states.len() <= path.index() {
            cold_path();
            self.states.resize_with(path.index() + 1, PathRecord::default);
        }
        &mut self.states[path.index()]
    }
}

/// The number of the path with that index.
pub(crate) const fn path_id(index: usize) -> PathId {
    // At most `PathSet::CAPACITY` paths.
    PathId(index as u8)
}
