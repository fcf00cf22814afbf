//! Handing data to subflows as the scheduler decides, and letting them send (house rule 4).

use super::binding::Assignments;
use super::connection::Connection;
use super::explained;
use super::mappings::data_number;
use super::receive::DataReceive;
use super::send::DataSend;
use super::stage::Stage;
use super::subflow::SubflowEntry;
use crate::scheduler::{
    Action, Bind, DataView, Decision, PathState, PathView, Scheduler, Step, View, What,
};
use crate::tcp::sent_mappings::SentMapping;
use base::{Blocked, Context, Event, EventMask, Instant, InterfaceId, PathId};
use std::ops::Range;
use wire::mptcp::Mapping;
use wire::{Packet, Payload};

/// Bits of a packet's flow tag that name the subflow.
const SUBFLOW_SHIFT: u32 = 24;

impl Connection {
    /// The next packet to send and its interface, until `None`.
    pub fn poll_packet(&mut self, cx: &mut Context<'_>) -> Option<(Box<Packet>, InterfaceId)> {
        // Everything that fits is handed out before anything leaves, so that a subflow knows
        // whether its window or the data end first, and where a burst ends (as Linux, which
        // pushes after filling). Older kernels send what a subflow has, then each segment before
        // they choose the next one's subflow.
        if !self.sends_what_it_hands {
            self.schedule(cx);
        }
        loop {
            self.refresh_signals();
            while let Some(index) = self.subflows.first_queued() {
                let entry = &mut self.subflows[index];
                if let Some(mut packet) = entry.tcp.poll_segment(cx, &mut self.controller) {
                    packet.flow |= u32::from(entry.path.0) << SUBFLOW_SHIFT;
                    // Siblings announce no less from now on.
                    let window = entry.tcp.announced_window();
                    self.receive.on_announced(window);
                    return Some((packet, self.subflows[index].interface));
                }
                self.subflows.pop_queued();
            }
            // What left may have let a subflow's buffer grow.
            self.check_writer();
            if !self.sends_what_it_hands || !self.schedule_due {
                if cx.wants(EventMask::ACCOUNT) {
                    self.tell_standing(cx);
                }
                return None;
            }
            self.schedule(cx);
        }
    }

    /// Tell every subflow what to acknowledge and which window to announce.
    fn refresh_signals(&mut self) {
        if !self.receive.take_changed() {
            return;
        }
        let known = self.keys.remote().is_some() && !self.is_plain();
        let window = self.receive.window(self.subflows.window_shift());
        let ack = self.receive.data_ack();
        for entry in &mut self.subflows {
            entry.tcp.share_window(window);
            if let Some(mp) = entry.tcp.multipath() {
                mp.set_data_ack(known.then_some(ack));
            }
        }
    }

    /// Ask the scheduler what to send where until it waits, and carry its answers out.
    fn schedule(&mut self, cx: &mut Context<'_>) {
        if !std::mem::take(&mut self.schedule_due) || self.is_over() {
            return;
        }
        self.tell_acks(cx);
        self.apply_policy(cx);
        let mut known = false;
        while self.has_offer() {
            // Between two questions only the path that was answered with changes.
            if !std::mem::replace(&mut known, true) {
                self.look_at_paths();
            }
            self.note_stale_interval(cx.now);
            let decision = self.decide(cx);
            for action in decision.actions {
                self.act(cx, action);
                known = false;
            }
            let (path, what, max_bytes) = match decision.step {
                Step::Send { path, what, bind: Bind::Now, max_bytes } => {
                    (path, what, self.grant(path, max_bytes))
                }
                Step::Send { path, what, bind: Bind::Queue, max_bytes } => (path, what, max_bytes),
                Step::Wait(why) => return self.wait(cx, why),
            };
            if !self.hand(path, what, max_bytes) {
                return self.wait(cx, Blocked::SchedulerWaits);
            }
            self.waits = None;
            self.ensure_data_timer(cx.now);
            self.check_fin(cx);
            if self.sends_what_it_hands {
                self.schedule_due = true;
                return;
            }
            self.look_again_at(cx, path);
        }
    }

    /// Whether there is anything a scheduler could send.
    pub(super) fn has_offer(&self) -> bool {
        let unsent = !self.send.is_drained();
        let copies = self.scheduler.makes_copies();
        unsent
            || !self.send.reinject.is_empty()
            || ((copies || self.send.writer_waits) && !self.send.segments.is_empty())
    }

    /// What the scheduler sees of every path.
    pub(super) fn look_at_paths(&mut self) {
        self.views.clear();
        for index in 0..self.subflows.len() {
            if self.subflows[index].stage() != Stage::Gone {
                let view = self.view_of(&self.subflows[index]);
                self.views.push(view);
            }
        }
    }

    /// A path was given something. If it was idle its window shrank.
    pub(super) fn look_again_at(&mut self, cx: &Context<'_>, path: PathId) {
        let view = self.views.iter_mut().find(|view| view.id == path);
        let entry = self.subflows.iter_mut().find(|entry| entry.path == path);
        if let (Some(view), Some(entry)) = (view, entry) {
            entry.tcp.restart_after_idle(cx, &mut self.controller);
            entry.tcp.view_window(view, &self.controller);
            entry.tcp.view_queue(view);
            let free = self.keys.is_fully_established() || path != PathId(0);
            view.continues_at = if free { None } else { entry.last_end };
            add_assigned(view, &self.assigned);
        }
    }

    fn view_of(&self, entry: &SubflowEntry) -> PathView {
        let mut view = entry.tcp.view(&self.controller);
        view.interface = entry.interface;
        view.state = match entry.stage() {
            Stage::Opening | Stage::PreEstablished => PathState::Opening,
            Stage::Gone => PathState::Closed,
            Stage::Open if entry.pf && view.is_open() => PathState::PotentiallyFailed,
            Stage::Open => view.state,
        };
        view.probing = entry.probing;
        view.backup = entry.is_backup();
        let free = self.keys.is_fully_established() || entry.path != PathId(0);
        view.continues_at = if free { None } else { entry.last_end };
        // Where the window never held a whole segment, smaller ones go (Linux
        // `tcp_bound_to_half_wnd`).
        view.window.mss = view.window.mss.min(self.send.half_window());
        add_assigned(&mut view, &self.assigned);
        view
    }

    fn decide(&mut self, cx: &mut Context<'_>) -> Decision {
        self.set_windows_left();
        let view = view(cx.now, &self.views, &self.send, &self.receive);
        if cx.wants(EventMask::DECISION) {
            return explained::ask(cx, self.socket, &mut self.scheduler, &view);
        }
        self.scheduler.next(&view)
    }

    /// Tell a scheduler that wants to know where something was heard.
    fn tell_acks(&mut self, cx: &Context<'_>) {
        let heard_from = std::mem::take(&mut self.heard_from);
        if heard_from.is_empty() {
            return;
        }
        self.look_at_paths();
        self.set_windows_left();
        for index in 0..self.views.len() {
            let path = self.views[index].id;
            if heard_from.contains(path) {
                self.scheduler.on_ack(&view(cx.now, &self.views, &self.send, &self.receive), path);
            }
        }
    }

    /// What windows take (specs/tcp-subflow.md s6.1).
    fn set_windows_left(&mut self) {
        if self.own_windows {
            return;
        }
        // The subflow's window is lifted to the connection's, which has no say in the choice of a
        // path: only when one is chosen is it looked at (specs/mptcp-schedulers.md s0.3 rule 5),
        // so that a full window can call for a copy, which lies below it anyhow.
        for view in &mut self.views {
            view.window.send_window_bytes = u64::from(u32::MAX);
        }
    }

    fn act(&mut self, cx: &mut Context<'_>, action: Action) {
        match action {
            Action::Penalise(path, kind) => self.penalise(cx.now, path, kind),
            Action::ForgetPaths { range } => self.send.forget_paths_of(&range),
            Action::Assign { range, path, revocable: true } => self.assign(range, path),
            Action::Assign { range, path, revocable: false } => self.bind(cx, range, path),
            Action::Unassign { range } => self.assigned.unassign(range),
            Action::SetProbing(path, on) => self.set_probing(cx, path, on),
        }
    }

    /// What of `range` was never sent is meant for `path`.
    fn assign(&mut self, range: Range<u64>, path: PathId) {
        if !self.subflows.iter().any(|entry| entry.path == path && entry.stage() != Stage::Gone) {
            return;
        }
        let mut left = range;
        while !left.is_empty() {
            let part = self.send.unsent_part(left.clone());
            left.start = part.end;
            if part.is_empty() {
                return;
            }
            self.assigned.assign(part, path);
        }
    }

    /// What of `range` was never sent goes to the queue of `path` for good.
    fn bind(&mut self, cx: &mut Context<'_>, range: Range<u64>, path: PathId) {
        let Some(index) = self.subflows.iter().position(|entry| entry.path == path) else { return };
        let mut left = range.start..range.end.min(self.send.window_end);
        while !left.is_empty() && self.subflows[index].is_usable() {
            let part = self.send.unsent_part(left.clone());
            left.start = part.end;
            if part.is_empty() || !self.may_carry(index, part.start) {
                break;
            }
            let most = self.subflows[index].tcp.segment_size().clamp(1, u32::from(u16::MAX));
            let mut at = part.start;
            while at < part.end {
                // At most a segment.
                let len = (part.end - at).min(u64::from(most)) as u32;
                self.hand_unsent(index, at, len);
                at += u64::from(len);
            }
        }
        self.ensure_data_timer(cx.now);
        self.check_fin(cx);
    }

    /// Before full establishment data are contiguous on the one subflow (RFC 8684 s3.1).
    fn may_carry(&self, index: usize, offset: u64) -> bool {
        self.keys.is_fully_established() || self.subflows[index].last_end.unwrap_or(0) == offset
    }

    /// What of `max_bytes` goes out at once: as much as the path's window takes, or a segment.
    fn grant(&self, path: PathId, max_bytes: u32) -> u32 {
        let Some(view) = self.views.iter().find(|view| view.id == path) else { return max_bytes };
        let mss = view.window.mss;
        if max_bytes <= mss {
            return max_bytes;
        }
        let own_unsent = view.queue.unsent_bytes.saturating_sub(self.assigned.bytes_of(path));
        let free = u64::from(view.free_segs()) * u64::from(mss);
        let room = free.saturating_sub(own_unsent).max(u64::from(mss));
        u32::try_from(room).unwrap_or(u32::MAX).min(max_bytes)
    }

    fn wait(&mut self, cx: &mut Context<'_>, why: Blocked) {
        let before = self.waits.replace(why);
        if why == Blocked::ReceiveWindow && before != Some(why) {
            self.scheduler.on_window_blocked(&view(cx.now, &self.views, &self.send, &self.receive));
        }
        let (socket, path) = (self.socket, PathId(0));
        cx.record(EventMask::BLOCKED, || Event::Blocked { socket, path, why });
        // A window update may be lost: the timer probes.
        self.ensure_data_timer(cx.now);
    }

    /// Hand data to a path. Whether anything was handed out.
    pub(super) fn hand(&mut self, path: PathId, what: What, max_bytes: u32) -> bool {
        let Some(index) = self.subflows.iter().position(|entry| entry.path == path) else {
            return false;
        };
        if !self.subflows[index].is_usable() {
            return false;
        }
        let most = max_bytes.min(u32::from(u16::MAX));
        let (offset, payload) = match what {
            What::New => return self.hand_new(index, most),
            What::Reinject => match self.take_reinject(path, most) {
                Some(taken) => taken,
                // Acknowledged in the meantime: the queue got shorter, ask again.
                None => return self.has_offer(),
            },
            What::Copy(range) => match self.take_copy(path, range, most) {
                Some(taken) => taken,
                None => return false,
            },
            What::Probe => {
                let newest = self.send.cut_newest_without(path, most);
                let Some(taken) = newest.and_then(|range| self.take_copy(path, range, most)) else {
                    return false;
                };
                self.send.probe_bytes += u64::from(taken.1.len());
                taken
            }
        };
        self.subflows[index].on_reinjection(payload.len());
        self.push(index, offset, payload);
        true
    }

    /// Hand data to a path that no path had: those meant for it first, else the next ones that
    /// are meant for nobody.
    fn hand_new(&mut self, index: usize, most: u32) -> bool {
        let path = self.subflows[index].path;
        let unsent = match self.assigned.first_of(path) {
            Some(own) => self.send.unsent_part(own),
            None if self.assigned.is_empty() => self.send.unsent_part(self.send.nxt..u64::MAX),
            None => self.free_unsent(),
        };
        let end = unsent.end.min(self.send.window_end);
        let len = u64::from(most).min(end.saturating_sub(unsent.start)) as u32;
        if len == 0 || !self.may_carry(index, unsent.start) {
            return false;
        }
        self.hand_unsent(index, unsent.start, len);
        true
    }

    /// The first unsent data that are meant for nobody.
    fn free_unsent(&self) -> Range<u64> {
        let mut left = self.send.nxt..self.send.buffer.end();
        while !left.is_empty() {
            let part = self.send.unsent_part(left.clone());
            let free = self.assigned.free_part(part.clone());
            if part.is_empty() || !free.is_empty() {
                return free;
            }
            left.start = part.end;
        }
        left
    }

    fn hand_unsent(&mut self, index: usize, offset: u64, len: u32) {
        let path = self.subflows[index].path;
        let (offset, payload) = self.send.take_unsent(path, offset, len);
        let end = offset + u64::from(payload.len());
        if !self.assigned.is_empty() {
            self.assigned.unassign(offset..end);
        }
        self.subflows[index].first_sent_bytes += u64::from(payload.len());
        self.push(index, offset, payload);
    }

    /// Hand what the window still takes to a path, were it less than a segment.
    pub(super) fn fill_window(&mut self, index: usize) -> bool {
        let path = self.subflows[index].path;
        self.hand(path, What::New, self.subflows[index].tcp.segment_size())
    }

    fn take_reinject(&mut self, path: PathId, most: u32) -> Option<(u64, Payload)> {
        let head = self.send.reinject_head()?;
        let end = head.end.min(head.start + u64::from(most));
        self.send.cut(end);
        let taken = self.send.take_copy(path, head.start..end);
        self.send.reinjected(head.start..end);
        taken
    }

    fn take_copy(&mut self, path: PathId, range: Range<u64>, most: u32) -> Option<(u64, Payload)> {
        let end = range.end.min(range.start + u64::from(most));
        self.send.take_copy(path, range.start..end)
    }

    fn push(&mut self, index: usize, offset: u64, payload: Payload) {
        let dsn = self.send.dsn(offset);
        let entry = &mut self.subflows[index];
        let at = entry.tcp.write_end();
        // Handed out in pieces of at most 65535 bytes.
        let len = payload.len() as u16;
        let subflow_seq = (at as u32).wrapping_add(1);
        let checksum = self
            .keys
            .uses_checksum()
            .then(|| Mapping::checksum_of(dsn, subflow_seq, len, &payload));
        let map =
            SentMapping { offset: at, len, dsn: data_number(true, dsn), checksum, fin: false };
        let end = offset + u64::from(len);
        entry.last_end = Some(end);
        entry.tcp.push(payload, map, self.mainline_limits);
        entry.tcp.expect_more(self.sends_what_it_hands && end < self.send.buffer.end());
        self.subflows.wake(index);
    }

    /// `bytes` of a subflow left the NIC. Whether that lets something go.
    pub fn on_departed(&mut self, index: usize, bytes: u32) -> bool {
        let Some(entry) = self.subflows.get_mut(index) else { return false };
        let released = entry.tcp.on_departed(bytes);
        if released {
            self.subflows.wake(index);
            self.schedule_due = true;
        }
        released
    }
}

/// What is meant for a path counts as queued on it (schedulers spec s0.3).
fn add_assigned(view: &mut PathView, assigned: &Assignments) {
    let bytes = assigned.bytes_of(view.id);
    if bytes == 0 {
        return;
    }
    let segs = bytes.div_ceil(u64::from(view.window.mss.max(1)));
    let queue = &mut view.queue;
    queue.unsent_bytes += bytes;
    queue.outstanding_bytes += bytes;
    queue.unsent_segs = queue.unsent_segs.saturating_add(u32::try_from(segs).unwrap_or(u32::MAX));
}

/// What a scheduler sees.
fn view<'a>(
    now: Instant,
    paths: &'a [PathView],
    send: &'a DataSend,
    receive: &DataReceive,
) -> View<'a> {
    let data = DataView {
        segments: &send.segments,
        snd_una: send.una,
        snd_nxt: send.nxt,
        write_end: send.buffer.end(),
        window_end: send.window_end,
        reinject: send.reinject_head(),
        sndbuf_limited: send.writer_waits,
        peer_closed: receive.is_fin_received(),
    };
    View { now, paths, data }
}

/// Socket and subflow of a packet's flow tag.
pub const fn split_flow(flow: u32) -> (u32, usize) {
    (flow & ((1 << SUBFLOW_SHIFT) - 1), (flow >> SUBFLOW_SHIFT) as usize)
}
