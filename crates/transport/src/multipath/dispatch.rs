//! How `Sender` passes data to paths: it asks the scheduler for one decision at a time, or for a
//! run of equal ones about new data, and carries it out.
//!
//! Between two decisions only the chosen path changes, so only its view is updated, unless a
//! decision has actions.

use super::assignments::Assignments;
use super::explain;
use super::paths::{Paths, Piece};
use super::sender::{Sender, path_id};
use crate::path_policy::PathPolicy;
use crate::scheduler::{
    Action, Bind, Decision, NewData, PathChange, PathSet, PathState, PathView, Run, Scheduler,
    Step, View, What,
};
use base::{Blocked, Context, Event, EventMask, Instant, PathId};
use std::hint::cold_path;
use std::ops::Range;
use wire::Payload;

/// Copies of one round after which the scheduler is held to send them without end: more than the
/// largest buffer has segments. The paths of unit tests take time for each that they have.
const MOST_COPIES: u32 = if cfg!(test) { 1 << 11 } else { 1 << 20 };

/// The result of a decision of the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dispatched {
    /// Data were passed to a path; the next decision may follow.
    Again,
    /// Data were passed to a path and are to leave before the next decision.
    Single,
    /// The scheduler waits, or there is nothing to ask about.
    Nothing,
}

impl Sender {
    /// Begins a round of decisions: acknowledgements are reported to the scheduler, and the path
    /// policy determines which paths may be used. Returns whether [`Sender::dispatch`] is to
    /// follow.
    pub fn begin_round(&mut self, cx: &mut Context<'_>, paths: &mut impl Paths) -> bool {
        if !std::mem::take(&mut self.is_due) || paths.is_over() {
            return false;
        }
        self.timer.given = None;
        self.timer.begun = false;
        self.copies = 0;
        if !self.arrivals.is_empty() {
            cold_path();
            self.report_acks(cx.now, paths);
        }
        if !self.policy.is_none() && paths.count() > 1 {
            cold_path();
            self.apply_policy(cx, paths);
        }
        self.are_views_current = false;
        true
    }

    /// Asks the scheduler for a decision and carries it out.
    // In line down to the path's queue: a call costs a sixth of what it does.
    #[inline(always)]
    pub fn dispatch(&mut self, cx: &mut Context<'_>, paths: &mut impl Paths) -> Dispatched {
        if !self.has_offer() {
            return Dispatched::Nothing;
        }
        let short = cx.has_short_ways() && !cx.wants(EventMask::DECISION);
        if !self.are_views_current {
            self.look_at_paths(paths, self.rules.read_all || !short);
        }
        if self.looks_for_path() {
            self.note_stale_interval(cx.now, paths);
        }
        if short
            && paths.only_queues()
            && !self.rules.one_at_a_time
            && let Some((run, unsent)) = self.next_run()
        {
            return self.carry_out(cx, paths, &run, unsent);
        }
        self.ask(cx, paths)
    }

    /// The run of decisions that the scheduler makes about new data, if it knows one: no view of
    /// the data and no decision, of which most is about the unusual, are made for them. Also the
    /// data.
    #[inline(always)]
    fn next_run(&self) -> Option<(Run, Range<u64>)> {
        let Range { start: offset, end } = self.queue.first_unsent();
        if offset >= end || self.queue.has_reinjections() || !self.assignments.is_empty() {
            return None;
        }
        let data = NewData { offset, end, window_end: self.queue.window_end() };
        self.scheduler.next_run(&self.views, &data).map(|run| (run, offset..end))
    }

    /// Carries out a run of decisions, of which all but the first go without one of their own.
    #[inline(always)]
    fn carry_out(
        &mut self,
        cx: &mut Context<'_>,
        paths: &mut impl Paths,
        run: &Run,
        unsent: Range<u64>,
    ) -> Dispatched {
        let &Run { path, max_bytes, times, fills_windows } = run;
        let Some(bytes) = self.enqueue_part(paths, path, unsent, (max_bytes, times)) else {
            return self.wait(cx, paths, Blocked::SchedulerWaits);
        };
        if fills_windows && bytes == times * u64::from(max_bytes) {
            self.note_full(path, bytes);
            self.timer.given = Some(path);
            self.ensure_timer(cx.now, paths);
            // Known without another look at the paths and another decision.
            self.note_stale_interval(cx.now, paths);
            self.waits = Some(Blocked::CongestionWindow);
            self.record_wait(cx, Blocked::CongestionWindow);
            return Dispatched::Nothing;
        }
        self.after_send(cx, paths, path, true)
    }

    /// The windows of all paths are full, that of `path` by `bytes`. Not noted while the peer's
    /// window is so small that it limits segments, as one that grows would change their lengths.
    #[inline(always)]
    fn note_full(&mut self, path: PathId, bytes: u64) {
        if self.queue.half_window() < u32::from(u16::MAX) {
            cold_path();
            return;
        }
        if let Some(view) = self.views.iter_mut().find(|view| view.id == path) {
            view.queue.unsent_bytes += bytes;
        }
        self.full = PathSet::ALL;
    }

    /// Asks the scheduler for any decision.
    #[inline(never)]
    fn ask(&mut self, cx: &mut Context<'_>, paths: &mut impl Paths) -> Dispatched {
        if !self.full.is_empty() {
            self.full = PathSet::EMPTY;
            self.look_at_paths(paths, self.rules.read_all);
        }
        let Decision { actions, step } = self.decide(cx);
        let looked = actions.is_empty();
        if !looked {
            self.act_on(cx.now, paths, actions);
        }
        let (path, what, max_bytes) = match step {
            Step::Send { path, what, bind: Bind::Now, max_bytes } => {
                (path, what, self.grant(path, max_bytes))
            }
            Step::Send { path, what, bind: Bind::Queue, max_bytes } => (path, what, max_bytes),
            Step::Wait(why) => return self.wait(cx, paths, why),
        };
        // Each other decision leaves less to send.
        self.copies += u32::from(matches!(what, What::Copy(_) | What::Probe));
        assert!(
            self.copies <= MOST_COPIES,
            "the scheduler sends copies without end: {MOST_COPIES} in one round; it must wait when \
             no path has room"
        );
        if !self.enqueue(paths, path, what, max_bytes) {
            return self.wait(cx, paths, Blocked::SchedulerWaits);
        }
        self.after_send(cx, paths, path, looked)
    }

    /// Data were passed to `path`; `looked`: the views of the other paths are still what they are.
    #[inline(never)]
    fn after_send(
        &mut self,
        cx: &mut Context<'_>,
        paths: &mut impl Paths,
        path: PathId,
        looked: bool,
    ) -> Dispatched {
        self.waits = None;
        self.timer.given = Some(path);
        self.ensure_timer(cx.now, paths);
        if self.rules.one_at_a_time {
            self.is_due = true;
            return Dispatched::Single;
        }
        self.refresh(cx, paths, path);
        self.note_last_interval(cx.now, paths, path);
        self.are_views_current = looked;
        Dispatched::Again
    }

    /// What a scheduler may see of every path.
    #[inline(never)]
    fn look_at_all(&mut self, paths: &impl Paths) {
        self.look_at_paths(paths, true);
    }

    /// The same; `whole`: or else only what admits data.
    // One call a round less.
    #[inline(always)]
    fn look_at_paths(&mut self, paths: &impl Paths, whole: bool) {
        let Sender { views, states, assignments, queue, full, .. } = self;
        let (most, is_assigned) = (queue.half_window(), !assignments.is_empty());
        if views.len() < paths.count() {
            cold_path();
            views.resize(paths.count(), PathView::BLANK);
        }
        let mut count = 0;
        for index in 0..paths.count() {
            let Some(view) = views.get_mut(count) else { break };
            if full.contains(path_id(index)) && view.id == path_id(index) && !whole {
                debug_assert!(is_still_full(view, paths));
                count += 1;
                continue;
            }
            if !paths.look(path_id(index), view, whole) {
                continue;
            }
            debug_assert_eq!(view.id.index(), index);
            count += 1;
            // What the sender has of a path independently of its protocol.
            let state = states.get(index);
            if view.is_open() && state.is_some_and(|state| state.watch.is_failed()) {
                cold_path();
                view.state = PathState::PotentiallyFailed;
            }
            view.probing = state.is_some_and(|state| state.probing);
            // Where the window never held a whole segment, smaller ones go (Linux
            // `tcp_bound_to_half_wnd`).
            view.window.mss = view.window.mss.min(most);
            if is_assigned {
                cold_path();
                add_assigned(view, assignments);
            }
        }
        views.truncate(count);
        self.are_views_current = true;
    }

    /// Data were given to a path; if it was idle, its window may have shrunk.
    fn refresh(&mut self, cx: &Context<'_>, paths: &mut impl Paths, path: PathId) {
        if let Some(view) = self.views.iter_mut().find(|view| view.id == path) {
            paths.refresh(cx, view);
            add_assigned(view, &self.assignments);
        }
    }

    /// The decision of the scheduler.
    fn decide(&mut self, cx: &mut Context<'_>) -> Decision {
        let data = self.queue.view(self.peer_closed);
        let view = View { now: cx.now, paths: &self.views, data };
        if cx.wants(EventMask::DECISION) {
            return explain::ask(cx, self.socket, &mut self.scheduler, &view);
        }
        self.scheduler.next(&view)
    }

    /// Reports the paths on which something arrived to a scheduler that heeds acknowledgements.
    #[inline(never)]
    fn report_acks(&mut self, now: Instant, paths: &impl Paths) {
        let arrivals = std::mem::take(&mut self.arrivals);
        self.look_at_all(paths);
        let data = self.queue.view(self.peer_closed);
        let view = View { now, paths: &self.views, data };
        for path in self.views.iter().filter(|path| arrivals.contains(path.id)) {
            self.scheduler.on_ack(&view, path.id);
        }
    }

    #[inline(never)]
    fn act_on(&mut self, now: Instant, paths: &mut impl Paths, actions: Vec<Action>) {
        for action in actions {
            self.act(now, paths, action);
        }
    }

    fn act(&mut self, now: Instant, paths: &mut impl Paths, action: Action) {
        match action {
            Action::Penalise(path, kind) => paths.penalise(now, path, kind),
            Action::ForgetPaths { range } => self.queue.forget_paths_of(&range),
            Action::Assign { range, path, revocable: true } => self.assign(paths, range, path),
            Action::Assign { range, path, revocable: false } => {
                self.bind(now, paths, range, path);
            }
            Action::Unassign { range } => self.assignments.unassign(range),
        }
    }

    /// Assigns the unsent part of `range` to `path`, revocably.
    fn assign(&mut self, paths: &impl Paths, range: Range<u64>, path: PathId) {
        if path.index() >= paths.count() || paths.view(path).is_none() {
            return;
        }
        let mut left = range;
        while !left.is_empty() {
            let part = self.queue.unsent_part(left.clone());
            left.start = part.end;
            if part.is_empty() {
                return;
            }
            self.assignments.assign(part, path);
        }
    }

    /// Puts the unsent part of `range` into the queue of `path`, from which it is not taken back.
    fn bind(&mut self, now: Instant, paths: &mut impl Paths, range: Range<u64>, path: PathId) {
        if path.index() >= paths.count() {
            return;
        }
        let mut left = range.start..range.end.min(self.queue.window_end());
        while !left.is_empty() && paths.is_usable(path) {
            let part = self.queue.unsent_part(left.clone());
            left.start = part.end;
            if part.is_empty() || !paths.may_carry(path, part.start) {
                break;
            }
            let most = paths.segment_size(path).clamp(1, paths.max_piece(path));
            let mut at = part.start;
            while at < part.end {
                // At most a segment.
                let len = (part.end - at).min(u64::from(most)) as u32;
                self.enqueue_unsent(paths, path, at..at + u64::from(len), most);
                at += u64::from(len);
            }
        }
        self.ensure_timer(now, paths);
    }

    /// The part of `max_bytes` that is sent at once: as much as the path's window takes, or a
    /// segment.
    fn grant(&self, path: PathId, max_bytes: u32) -> u32 {
        let Some(view) = self.views.iter().find(|view| view.id == path) else { return max_bytes };
        let mss = view.window.mss;
        if max_bytes <= mss {
            return max_bytes;
        }
        let own_unsent = view.queue.unsent_bytes.saturating_sub(self.assignments.bytes_of(path));
        let free = u64::from(view.free_segs()) * u64::from(mss);
        let room = free.saturating_sub(own_unsent).max(u64::from(mss));
        u32::try_from(room).unwrap_or(u32::MAX).min(max_bytes)
    }

    /// Sends nothing until something happens. Returns the result of [`Sender::dispatch`].
    #[inline(never)]
    fn wait(&mut self, cx: &mut Context<'_>, paths: &impl Paths, why: Blocked) -> Dispatched {
        let before = self.waits.replace(why);
        if why == Blocked::ReceiveWindow && before != Some(why) {
            cold_path();
            let data = self.queue.view(self.peer_closed);
            let view = View { now: cx.now, paths: &self.views, data };
            self.scheduler.on_window_blocked(&view);
        }
        self.record_wait(cx, why);
        // A window update may be lost: the timer probes.
        self.ensure_timer(cx.now, paths);
        Dispatched::Nothing
    }

    #[inline(always)]
    fn record_wait(&self, cx: &mut Context<'_>, why: Blocked) {
        let (socket, path) = (self.socket, PathId(0));
        cx.record(EventMask::BLOCKED, || Event::Blocked { socket, path, why });
    }

    /// Put data into the queue of a path. Whether anything was.
    #[inline(never)]
    pub(super) fn enqueue(
        &mut self,
        paths: &mut impl Paths,
        path: PathId,
        what: What,
        max_bytes: u32,
    ) -> bool {
        if path.index() >= paths.count() || !paths.is_usable(path) {
            return false;
        }
        let most = max_bytes.min(paths.max_piece(path));
        let (offset, payload) = match what {
            What::New => return self.enqueue_new(paths, path, most).is_some(),
            What::Reinject => {
                let head = self.queue.reinject_head();
                let range = head.map(|head| head.start..head.end.min(head.start + u64::from(most)));
                if range.as_ref().is_some_and(|range| !paths.may_copy(path, range)) {
                    return false;
                }
                match range.and_then(|range| self.queue.take_reinject(path, range)) {
                    Some(taken) => taken,
                    // Acknowledged in the meantime: the queue got shorter, ask again.
                    None => return self.has_offer(),
                }
            }
            What::Copy(range) => match self.take_copy(paths, path, range, most) {
                Some(taken) => taken,
                None => return false,
            },
            What::Probe => {
                let newest = self.queue.cut_newest_without(path, most);
                let taken = newest.and_then(|range| self.take_copy(paths, path, range, most));
                let Some(taken) = taken else { return false };
                self.queue.count_probe(taken.1.len());
                taken
            }
        };
        let segs = payload.len().div_ceil(paths.segment_size(path).max(1));
        let account = &mut self.state_mut(path).account;
        account.reinjected_bytes += u64::from(payload.len());
        account.reinjected_segs += u64::from(segs);
        self.push(paths, path, offset, payload, most);
        true
    }

    /// Put at most `max_bytes` that no path had into the queue of a path: those meant for it first,
    /// else the next ones that are meant for no path. How many bytes; `None`: nothing.
    #[inline(never)]
    pub(super) fn enqueue_new(
        &mut self,
        paths: &mut impl Paths,
        path: PathId,
        max_bytes: u32,
    ) -> Option<u64> {
        let unsent = match self.assignments.is_empty() {
            true => self.queue.first_unsent(),
            false => self.unsent_for(path),
        };
        self.enqueue_part(paths, path, unsent, (max_bytes, 1))
    }

    /// Put the beginning of data that no path had into the queue of a path: at most `pieces` of
    /// `max_bytes`, which go there as one, for what it costs to hand over a single one. How many
    /// bytes; `None`: nothing.
    #[inline(always)]
    fn enqueue_part(
        &mut self,
        paths: &mut impl Paths,
        path: PathId,
        unsent: Range<u64>,
        (max_bytes, pieces): (u32, u64),
    ) -> Option<u64> {
        if path.index() >= paths.count() || !paths.is_usable(path) {
            return None;
        }
        let longest = paths.max_piece(path);
        let most = max_bytes.min(longest);
        let end = unsent.end.min(self.queue.window_end());
        let mut left = end.saturating_sub(unsent.start);
        if left.min(u64::from(most)) == 0 || !paths.may_carry(path, unsent.start) {
            return None;
        }
        let mut whole = pieces.saturating_mul(u64::from(most));
        // Seldom: a division less.
        if whole > u64::from(longest) {
            whole = u64::from(longest / most * most);
        }
        left = left.min(whole);
        self.enqueue_unsent(paths, path, unsent.start..unsent.start + left, most);
        Some(left)
    }

    /// The first unsent data that are meant for `path`, or else for no path.
    #[cold]
    fn unsent_for(&self, path: PathId) -> Range<u64> {
        match self.assignments.first_of(path) {
            Some(own) => self.queue.unsent_part(own),
            None => self.free_unsent(),
        }
    }

    /// The first unsent data that are meant for no path.
    fn free_unsent(&self) -> Range<u64> {
        let mut left = self.queue.nxt()..self.queue.end();
        while !left.is_empty() {
            let part = self.queue.unsent_part(left.clone());
            let free = self.assignments.free_part(part.clone());
            if part.is_empty() || !free.is_empty() {
                return free;
            }
            left.start = part.end;
        }
        left
    }

    // Saves two calls a segment, with `push`.
    #[inline(always)]
    fn enqueue_unsent(
        &mut self,
        paths: &mut impl Paths,
        path: PathId,
        range: Range<u64>,
        most: u32,
    ) {
        let payload = self.queue.take_unsent(path, range.clone(), most);
        if !self.assignments.is_empty() {
            cold_path();
            self.assignments.unassign(range.clone());
        }
        self.state_mut(path).account.first_sent_bytes += range.end - range.start;
        self.push(paths, path, range.start, payload, most);
    }

    fn take_copy(
        &mut self,
        paths: &impl Paths,
        path: PathId,
        range: Range<u64>,
        most: u32,
    ) -> Option<(u64, Payload)> {
        let range = range.start..range.end.min(range.start + u64::from(most));
        paths.may_copy(path, &range).then(|| self.queue.take_copy(path, range))?
    }

    #[inline(always)]
    fn push(
        &mut self,
        paths: &mut impl Paths,
        path: PathId,
        offset: u64,
        payload: Payload,
        most: u32,
    ) {
        debug_assert!(!payload.is_empty() && payload.len() <= paths.max_piece(path));
        let more = offset + u64::from(payload.len()) < self.queue.end();
        paths.enqueue(path, Piece { offset, payload, most, more });
    }

    /// Lets the path policy determine the eligible paths, and sends the probes that are due.
    ///
    /// A probe is a copy of the newest data that other paths have: it costs no connection window,
    /// the peer acknowledges it on the path and drops it, and the path gets samples.
    #[inline(never)]
    fn apply_policy(&mut self, cx: &mut Context<'_>, paths: &mut impl Paths) {
        self.look_at_all(paths);
        for (path, on) in self.policy.review(cx.now, &self.views) {
            self.set_probing(cx, paths, path, on);
        }
        for place in 0..self.views.len() {
            self.probe(cx, paths, place);
        }
    }

    /// Sends the probes that are due on the path at index `place` of the views, as far as there are
    /// data.
    fn probe(&mut self, cx: &Context<'_>, paths: &mut impl Paths, place: usize) {
        while let Some(bytes) = self.policy.next_probe(cx.now, &self.views[place]) {
            let path = self.views[place].id;
            if !self.enqueue(paths, path, What::Probe, bytes) {
                return;
            }
            self.policy.on_probe_sent(path);
            self.refresh(cx, paths, path);
        }
    }

    /// A path is probed only from now on, or carries data again.
    fn set_probing(&mut self, cx: &mut Context<'_>, paths: &impl Paths, path: PathId, on: bool) {
        if path.index() >= paths.count() || self.is_probing(path) == on {
            return;
        }
        self.state_mut(path).probing = on;
        if let Some(view) = self.views.iter_mut().find(|view| view.id == path) {
            view.probing = on;
        }
        if on {
            // What was meant for it and not bound to it goes elsewhere.
            self.assignments.forget(path);
        }
        let socket = self.socket;
        cx.record(EventMask::STATE, || Event::Probing { socket, path, on });
        self.on_path_changed(path, PathChange::State);
    }
}

/// Whether the window of a path is as full as its view says.
fn is_still_full(view: &PathView, paths: &impl Paths) -> bool {
    let mut now = PathView::BLANK;
    let is_open = paths.look(view.id, &mut now, false) && now.is_open();
    let same = is_open == view.is_established() && now.window.mss == view.window.mss;
    same && (!is_open || !view.is_open() || (now.is_window_full() && view.is_window_full()))
}

/// What is meant for a path counts as queued on it.
fn add_assigned(view: &mut PathView, assignments: &Assignments) {
    let bytes = assignments.bytes_of(view.id);
    if bytes == 0 {
        return;
    }
    let segs = bytes.div_ceil(u64::from(view.window.mss.max(1)));
    let segs = u32::try_from(segs).unwrap_or(u32::MAX);
    view.queue.unsent_bytes += bytes;
    view.queue.outstanding_bytes += bytes;
    view.queue.unsent_segs = view.queue.unsent_segs.saturating_add(segs);
}
