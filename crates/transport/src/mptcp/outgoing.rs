//! Handing data to subflows as the scheduler decides, and letting them send (house rule 4).

use super::connection::Connection;
use super::slot::{Slot, Stage, data_number};
use crate::scheduler::{Action, AnyScheduler, DataView, PathView, Scheduler, Step, View, What};
use crate::tcp::multipath::SentMap;
use base::{Blocked, Context, Event, EventMask, InterfaceId, PathId};
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
        // pushes after filling).
        self.schedule(cx);
        self.refresh_signals();
        while let Some(&index) = self.to_poll.front() {
            let slot = &mut self.slots[index];
            if let Some(mut packet) = slot.subflow.poll_segment(cx, &mut self.controller) {
                packet.flow |= u32::from(slot.path.0) << SUBFLOW_SHIFT;
                return Some((packet, slot.interface));
            }
            self.to_poll.pop_front();
            self.slots[index].in_ready = false;
        }
        None
    }

    /// Tell every subflow what to acknowledge and which window to announce.
    fn refresh_signals(&mut self) {
        if !std::mem::take(&mut self.signals_stale) {
            return;
        }
        let known = self.remote_key.is_some() && !self.plain;
        let window = self.receive.window(self.shift());
        let number = self.receive.ack_number();
        let ack = data_number(self.receive.long_numbers, number);
        for slot in &mut self.slots {
            slot.subflow.share_window(window);
            if let Some(mp) = slot.subflow.multipath() {
                mp.data_ack = known.then_some(ack);
            }
        }
    }

    /// Ask the scheduler what to send where until it waits, and carry its answers out.
    fn schedule(&mut self, cx: &mut Context<'_>) {
        if !std::mem::take(&mut self.schedule_due) || self.plain || self.closed {
            return;
        }
        let mut known = false;
        while self.has_offer() {
            // Between two questions only the path that was answered with changes.
            if !std::mem::replace(&mut known, true) {
                self.look_at_paths();
            }
            let decision = self.decide(cx);
            for action in decision.actions {
                self.act(cx, action);
                known = false;
            }
            let (path, what, max_bytes) = match decision.step {
                Step::Send { path, what, max_bytes, .. } => (path, what, max_bytes),
                Step::Wait(why) => return self.wait(cx, why),
            };
            if !self.hand(path, what, max_bytes) {
                return;
            }
            self.ensure_data_timer(cx.now);
            self.check_fin(cx);
            self.look_again_at(path);
        }
    }

    /// Whether there is anything a scheduler could send.
    fn has_offer(&self) -> bool {
        let unsent = !self.send.is_drained();
        let copies = matches!(self.scheduler, AnyScheduler::Redundant(_) | AnyScheduler::Custom(_));
        unsent
            || !self.send.reinject.is_empty()
            || ((copies || self.send.writer_waits) && !self.send.segments.is_empty())
    }

    /// What the scheduler sees of every path.
    fn look_at_paths(&mut self) {
        self.views.clear();
        for index in 0..self.slots.len() {
            if self.slots[index].stage != Stage::Gone {
                let view = self.view_of(&self.slots[index]);
                self.views.push(view);
            }
        }
    }

    /// A path was given something.
    fn look_again_at(&mut self, path: PathId) {
        let view = self.views.iter_mut().find(|view| view.id == path);
        let slot = self.slots.iter().find(|slot| slot.path == path);
        if let (Some(view), Some(slot)) = (view, slot) {
            slot.subflow.view_queue(view);
            view.last_end = slot.last_end;
        }
    }

    fn view_of(&self, slot: &Slot) -> PathView {
        let mut view = slot.subflow.view(&self.controller);
        view.interface = slot.interface;
        view.can_send &= slot.stage == Stage::Open;
        view.pre_established = slot.stage == Stage::PreEstablished;
        view.fully_established = self.fully_established || slot.path != PathId(0);
        view.pf = slot.pf;
        view.backup = slot.is_backup();
        view.last_end = slot.last_end;
        // Where the window never held a whole segment, smaller ones go (Linux
        // `tcp_bound_to_half_wnd`).
        view.mss = view.mss.min(self.send.half_window());
        view
    }

    fn decide(&mut self, cx: &Context<'_>) -> crate::scheduler::Decision {
        // The subflow's window is lifted to the connection's; copies lie below it anyhow.
        let window_left = match self.send.reinject.is_empty() {
            true => self.send.window_end.saturating_sub(self.send.nxt),
            false => u64::from(u32::MAX),
        };
        for view in &mut self.views {
            view.window_left_bytes = window_left;
        }
        let view = View {
            now: cx.now,
            paths: &self.views,
            data: DataView {
                segments: &self.send.segments,
                snd_una: self.send.una,
                snd_nxt: self.send.nxt,
                write_end: self.send.buffer.end(),
                window_end: self.send.window_end,
                reinject: self.send.reinject_head(),
                sndbuf_limited: self.send.writer_waits,
                fin_path: None,
            },
        };
        self.scheduler.next(&view)
    }

    fn act(&mut self, cx: &Context<'_>, action: Action) {
        match action {
            Action::Penalise(path) => self.penalise(cx.now, path),
            Action::ForgetPaths { range } => self.send.forget_paths_of(&range),
            // Late binding and probing come with the schedulers that need them.
            Action::Assign { .. } | Action::Unassign { .. } | Action::SetProbing(..) => {}
        }
    }

    fn wait(&mut self, cx: &mut Context<'_>, why: Blocked) {
        let (socket, path) = (self.socket, PathId(0));
        cx.record(EventMask::BLOCKED, || Event::Blocked { socket, path, why });
        // A window update may be lost: the timer probes.
        self.ensure_data_timer(cx.now);
    }

    /// Hand data to a path. Whether anything was handed out.
    fn hand(&mut self, path: PathId, what: What, max_bytes: u32) -> bool {
        let Some(index) = self.slots.iter().position(|slot| slot.path == path) else {
            return false;
        };
        if !self.slots[index].is_usable() {
            return false;
        }
        let most = max_bytes.min(u32::from(u16::MAX));
        let fresh = what == What::New;
        let (offset, payload) = match what {
            What::New => match self.take_new(path, most) {
                Some(taken) => taken,
                None => return false,
            },
            What::Reinject => match self.take_reinject(path, most) {
                Some(taken) => taken,
                // Acknowledged in the meantime: the queue got shorter, ask again.
                None => return self.has_offer(),
            },
            What::Copy(range) => match self.take_copy(path, range, most) {
                Some(taken) => taken,
                None => return false,
            },
            What::Probe => return false,
        };
        if fresh {
            self.slots[index].first_sent_bytes += u64::from(payload.len());
        }
        self.push(index, offset, payload);
        true
    }

    /// Hand what the window still takes to a path, were it less than a segment.
    pub(super) fn fill_window(&mut self, index: usize) -> bool {
        let path = self.slots[index].path;
        self.hand(path, What::New, self.slots[index].subflow.segment_size())
    }

    fn take_new(&mut self, path: PathId, most: u32) -> Option<(u64, Payload)> {
        let window = self.send.window_end.saturating_sub(self.send.nxt);
        let unsent = self.send.buffer.end() - self.send.nxt;
        let len = u64::from(most).min(window).min(unsent) as u32;
        (len > 0).then(|| self.send.take_new(path, len))
    }

    fn take_reinject(&mut self, path: PathId, most: u32) -> Option<(u64, Payload)> {
        let head = self.send.reinject_head()?;
        let end = head.end.min(head.start + u64::from(most));
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
        let slot = &mut self.slots[index];
        let at = slot.subflow.write_end();
        // Handed out in pieces of at most 65535 bytes.
        let len = payload.len() as u16;
        let subflow_seq = (at as u32).wrapping_add(1);
        let checksum = self.checksum.then(|| Mapping::checksum_of(dsn, subflow_seq, len, &payload));
        let map = SentMap { offset: at, len, dsn: data_number(true, dsn), checksum, fin: false };
        slot.last_end = Some(offset + u64::from(len));
        slot.subflow.push(payload, map);
        self.wake(index);
    }

    /// `bytes` of a subflow left the NIC. Whether that lets something go.
    pub fn on_departed(&mut self, index: usize, bytes: u32) -> bool {
        let Some(slot) = self.slots.get_mut(index) else { return false };
        let released = slot.subflow.on_departed(bytes);
        if released {
            self.wake(index);
            self.schedule_due = true;
        }
        released
    }
}

/// Socket and subflow of a packet's flow tag.
pub const fn split_flow(flow: u32) -> (u32, usize) {
    (flow & ((1 << SUBFLOW_SHIFT) - 1), (flow >> SUBFLOW_SHIFT) as usize)
}
