//! Sending: the sender's decisions carried out on subflows, packets pulled from them, and what
//! acknowledgements and accounts have to do with the sending half.

use super::connection::Connection;
use super::paths::SubflowPaths;
use super::stage::Stage;
use super::subflow::SubflowEntry;
use crate::endpoint::FLOW_PATH_SHIFT;
use crate::multipath::{Dispatched, Sender, Signs};
use base::{Blocked, Context, EventMask, Instant, InterfaceId};
use wire::Packet;

impl Connection {
    /// The sender, and its paths.
    #[inline]
    pub(super) fn parts(&mut self) -> (&mut Sender, SubflowPaths<'_>) {
        let paths = SubflowPaths {
            subflows: &mut self.subflows,
            controller: &mut self.controller,
            keys: &self.keys,
            fallback: &self.fallback,
            numbers: &self.numbers,
            rules: self.rules,
            closed: self.lifecycle.is_closed(),
        };
        (&mut self.sender, paths)
    }

    /// The next packet to send and its interface, until `None`.
    pub fn poll_packet(&mut self, cx: &mut Context<'_>) -> Option<(Box<Packet>, InterfaceId)> {
        // Everything that fits is handed out before anything leaves, so that a subflow knows
        // whether its window or the data end first, and where a burst ends (as Linux, which
        // pushes after filling). Older kernels send what a subflow has, then each segment before
        // they choose the next one's subflow.
        if !self.rules.one_at_a_time {
            self.schedule(cx);
        }
        loop {
            self.refresh_signals();
            while let Some(index) = self.subflows.first_queued() {
                let entry = &mut self.subflows[index];
                if let Some(mut packet) = entry.tcp.poll_segment(cx, &mut self.controller) {
                    packet.flow |= u32::from(entry.path.0) << FLOW_PATH_SHIFT;
                    // Siblings announce no less from now on.
                    let window = entry.tcp.announced_window();
                    self.receive.on_announced(window);
                    return Some((packet, self.subflows[index].interface));
                }
                self.subflows.pop_queued();
            }
            // What left may have let a subflow's buffer grow.
            self.check_writer();
            if !self.rules.one_at_a_time || !self.sender.is_due() {
                if cx.wants(EventMask::ACCOUNT) {
                    self.record_idle(cx);
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

    /// Ask the scheduler what to send where until it waits.
    fn schedule(&mut self, cx: &mut Context<'_>) {
        let (sender, mut paths) = self.parts();
        if !sender.begin_round(cx, &mut paths) {
            return;
        }
        loop {
            let (sender, mut paths) = self.parts();
            let before = sender.queue.nxt();
            let dispatched = sender.dispatch(cx, &mut paths);
            if dispatched != Dispatched::Nothing || sender.queue.nxt() != before {
                self.check_fin(cx);
            }
            if dispatched != Dispatched::Again {
                return;
            }
        }
    }

    /// The data acknowledgement `up_to`, with the window that came with it. Whether anything new is
    /// acknowledged; `None`: it acknowledges what was never sent and is ignored.
    pub(super) fn on_data_ack(&mut self, up_to: u64, window: u64) -> Option<bool> {
        let queue = &mut self.sender.queue;
        if up_to > queue.nxt() + u64::from(self.numbers.is_fin_sent()) {
            return None;
        }
        queue.allow(up_to, window);
        let ends = up_to > queue.end() && self.numbers.on_fin_acked();
        Some(queue.on_ack(up_to.min(queue.end())) | ends)
    }

    /// Data or acknowledgements moved.
    pub(super) fn restart_data_timer(&mut self, now: Instant) {
        let (sender, paths) = self.parts();
        sender.restart_timer(now, &paths);
    }

    /// Something happened on a subflow: whether its path works is decided by the fail-over rule.
    pub(super) fn judge_path(&mut self, cx: &Context<'_>, index: usize) {
        let entry = &mut self.subflows[index];
        let path = entry.path;
        let Some(mp) = entry.tcp.multipath() else { return };
        let signs = Signs { timed_out: mp.take_timed_out(), probed: mp.take_probed() };
        let (sender, mut paths) = self.parts();
        sender.judge(cx, &mut paths, path, signs);
    }

    /// `bytes` of a subflow left the NIC. Whether that lets something go.
    pub fn on_departed(&mut self, index: usize, bytes: u32) -> bool {
        let Some(entry) = self.subflows.get_mut(index) else { return false };
        let released = entry.tcp.on_departed(bytes);
        if released {
            self.subflows.wake(index);
            self.sender.set_due();
        }
        released
    }

    /// Nothing more can be sent for now: record why.
    fn record_idle(&mut self, cx: &mut Context<'_>) {
        let opening = |entry: &SubflowEntry| entry.stage() == Stage::Opening;
        let is_opening = self.subflows.first().is_none_or(opening);
        let schedules = !self.is_plain();
        let (sender, paths) = self.parts();
        let (end, unsent) = (sender.queue.end(), sender.unsent(&paths));
        let why = if is_opening { Blocked::Opening } else { sender.why_idle(&paths, schedules) };
        self.account.stops(cx, self.socket, why, end, unsent);
    }

    /// Something arrived: record what waits for bytes before it. What a subflow holds that another
    /// one brought since keeps no reader waiting.
    pub(super) fn record_held(&mut self, cx: &mut Context<'_>) {
        let gaps = self.receive.out_of_order_bytes();
        let next = self.receive.next_offset();
        let waits = |entry: &SubflowEntry| {
            entry.held > 0 && (self.is_plain() || entry.received.data_end() > next)
        };
        let blocks_reader = gaps > 0 || self.subflows.iter().any(waits);
        self.account.holds(cx, self.socket, self.subflows.held() + gaps, blocks_reader);
    }
}
