//! The stream of a connection after a fallback: it is that of the first subflow, and offsets are
//! the same numbers in both (RFC 8684 s3.7).

use super::lifecycle::Lifecycle;
use super::receive::DataReceive;
use super::subflow::SubflowEntry;
use super::subflows::FIRST;
use crate::multipath::Sender;
use crate::socket::ConnectionEvent;
use base::Instant;

/// The parts of a connection that its stream then needs.
pub(super) struct PlainStream<'a> {
    pub first: &'a mut SubflowEntry,
    pub sender: &'a mut Sender,
    pub receive: &'a mut DataReceive,
    pub lifecycle: &'a mut Lifecycle,
}

impl PlainStream<'_> {
    /// Give what was written to the subflow; `ends`: nothing more will be.
    pub(super) fn send(&mut self, ends: bool) {
        if let Some(payload) = self.sender.take_rest(self.first.path) {
            self.first.tcp.push_plain(payload);
        }
        if ends && self.sender.queue.is_drained() {
            self.first.tcp.queue_fin();
        }
    }

    /// What the subflow acknowledged is free in the connection's buffer.
    pub(super) fn acknowledge(&mut self) {
        let una = self.first.tcp.una().min(self.sender.queue.nxt());
        debug_assert_eq!(self.first.path, FIRST, "a fallback leaves the first subflow");
        // Room for options is not needed once the infinite mapping was sent.
        if self.first.tcp.multipath().is_some_and(|mp| mp.is_fallback_announced()) {
            self.first.tcp.set_option_room(0);
        }
        self.sender.queue.on_ack(una, FIRST);
    }

    /// What the subflow received in order goes to the reader.
    pub(super) fn receive(&mut self, now: Instant) {
        let (offset, len) = self.first.tcp.received();
        if len > 0 {
            let most = u32::try_from(len).unwrap_or(u32::MAX);
            let payload = self.first.tcp.take_received(now, most);
            self.receive.extend_edge(offset + len);
            if self.receive.insert(now, offset, payload) {
                self.lifecycle.push_readable();
            }
            self.receive.mark_changed();
        }
        if self.first.tcp.is_fin_received() && self.receive.on_plain_fin() {
            self.lifecycle.push(ConnectionEvent::PeerClosed);
        }
    }
}
