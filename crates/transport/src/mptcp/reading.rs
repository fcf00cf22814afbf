//! The application reads: what that frees, how the receive buffer grows by it (`recovery`), and
//! whether the peer is to be told at once.

use super::connection::Connection;
use super::receive::Tuning;
use super::stage::Stage;
use super::subflow::SubflowEntry;
use super::subflows::Subflows;
use crate::recovery::{ReceiveBuffer, SharedBuffer};
use crate::socket::SocketError;
use base::{Context, Event, EventMask, Instant};
use wire::Payload;

impl Connection {
    /// Take the next bytes in order.
    pub fn read(&mut self, cx: &mut Context<'_>, max: u32) -> Result<Payload, SocketError> {
        let offset = self.receive.data.read_offset();
        let payload = self.receive.data.read(max);
        let len = payload.len();
        if len == 0 {
            let ended = self.receive.fin_received || self.closed;
            return if ended { Err(SocketError::Closed) } else { Ok(payload) };
        }
        let socket = self.socket;
        cx.record(EventMask::DELIVERY, || Event::Delivered { socket, offset, len });
        self.tune_reception(cx.now, len);
        Ok(payload)
    }

    /// Bytes that can be read.
    pub fn readable(&self) -> u64 {
        self.receive.data.readable()
    }

    fn tune_reception(&mut self, now: Instant, len: u32) {
        let shift = self.shift();
        let (data, edge) = (&self.receive.data, self.receive.edge);
        let left = edge.saturating_sub(self.receive.nxt());
        match &mut self.receive.tuning {
            Tuning::Whole(buffer) => {
                buffer.on_read(now, data.read_offset(), data.next_offset(), data.highest());
                if is_doubled(buffer, left, shift) {
                    self.signals_stale = true;
                    self.subflows.acknowledge_all();
                }
            }
            Tuning::Shared(buffer) => {
                grow(buffer, &mut self.subflows, now, len);
                self.signals_stale = true;
                let space = buffer.room();
                if space.free > 0 && space.free / 2 >= self.receive.announced {
                    self.announce_doubled();
                }
            }
        }
    }

    /// Subflows whose own window would double, too, tell the peer.
    fn announce_doubled(&mut self) {
        let Tuning::Shared(buffer) = &self.receive.tuning else { return };
        let space = buffer.room();
        for index in 0..self.subflows.len() {
            if self.subflows[index].tcp.would_double_window(space) {
                self.subflows[index].tcp.acknowledge();
                self.subflows.wake(index);
            }
        }
    }
}

/// Whether the window opened enough to be told at once.
fn is_doubled(buffer: &ReceiveBuffer, left: u64, shift: u8) -> bool {
    if 2 * left > u64::from(buffer.size()) {
        return false;
    }
    let window = u64::from(buffer.select_window(shift));
    window > 0 && window >= 2 * left
}

/// `len` bytes were read: the buffers of subflows grow with the connection's.
fn grow(buffer: &mut SharedBuffer, subflows: &mut Subflows, now: Instant, len: u32) {
    let Some(first) = subflows.first() else { return };
    let initial_space = first.tcp.initial_space();
    // One that a peer is opening does not count before it is open.
    let counts = |entry: &&SubflowEntry| match entry.stage() {
        Stage::Opening => entry.handshake.is_initiator(),
        Stage::PreEstablished | Stage::Open => true,
        Stage::Gone => false,
    };
    let receptions = subflows.iter().filter(counts).map(|entry| entry.tcp.reception());
    if let Some(copied) = buffer.on_read(now, len, initial_space, receptions) {
        for entry in subflows.iter_mut().filter(|entry| entry.stage() != Stage::Gone) {
            entry.tcp.follow_reader(copied);
        }
    }
}
