//! Why a connection over several paths sends nothing more, and what waits at its receiver: what it
//! tells whoever keeps accounts.
//!
//! The scheduler's reason comes first while something is to be handed out; then that of the first
//! subflow with something it may not send; then the application's.

use super::connection::Connection;
use super::stage::Stage;
use super::subflow::SubflowEntry;
use base::{Blocked, Context};

impl Connection {
    /// Nothing more can be sent for now: tell why.
    pub(super) fn tell_standing(&mut self, cx: &mut Context<'_>) {
        let why = self.stands_because();
        let written_to = self.send.buffer.end();
        let queued: u64 = self.open_subflows().map(|entry| entry.tcp.unsent()).sum();
        let unsent = written_to.saturating_sub(self.send.nxt) + queued;
        self.account.stops(cx, self.socket, why, written_to, unsent);
    }

    fn open_subflows(&self) -> impl Iterator<Item = &SubflowEntry> {
        self.subflows.iter().filter(|entry| entry.stage() == Stage::Open)
    }

    fn stands_because(&self) -> Blocked {
        if self.subflows.first().is_none_or(|entry| entry.stage() == Stage::Opening) {
            return Blocked::Opening;
        }
        let to_hand_out = !self.send.is_drained() || !self.send.reinject.is_empty();
        let scheduler = self.waits.filter(|why| to_hand_out && *why != Blocked::NothingToSend);
        if let Some(why) = scheduler.filter(|_| !self.is_plain()) {
            return why;
        }
        let stopped = |entry: &SubflowEntry| match entry.tcp.unsent() {
            0 => None,
            _ => Some(entry.tcp.blocked_reason()),
        };
        if let Some(why) = self.open_subflows().filter(|entry| !entry.pf).find_map(stopped) {
            return why;
        }
        if to_hand_out && !self.is_plain() {
            return Blocked::PathDown;
        }
        if self.send.writer_waits { Blocked::SendBuffer } else { Blocked::NothingToSend }
    }

    /// Something arrived: tell what waits for bytes before it. What a subflow holds that another
    /// one brought since keeps no reader waiting.
    pub(super) fn tell_held(&mut self, cx: &mut Context<'_>) {
        let gaps = self.receive.out_of_order_bytes();
        let next = self.receive.next_offset();
        let news = |entry: &SubflowEntry| {
            entry.held > 0 && (self.is_plain() || entry.received.data_end() > next)
        };
        let blocks_reader = gaps > 0 || self.subflows.iter().any(news);
        self.account.holds(cx, self.socket, self.subflows.held() + gaps, blocks_reader);
    }
}
