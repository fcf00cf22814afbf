//! The reader of a connection: how the receive buffer grows by what it reads (`recovery`), and
//! whether the peer is notified of the window at once.

use super::receive::{DataReceive, Tuning};
use super::stage::Stage;
use super::subflow::SubflowEntry;
use super::subflows::Subflows;
use crate::recovery::{ReceiveBuffer, SharedBuffer};
use base::Instant;
use wire::Payload;

impl DataReceive {
    /// The next bytes in order and their offset; `max` of them at most.
    pub(super) fn read(&mut self, max: u32) -> (u64, Payload) {
        let offset = self.data.read_offset();
        (offset, self.data.read(max))
    }

    /// `len` bytes were read.
    pub(super) fn on_read(&mut self, now: Instant, len: u32, subflows: &mut Subflows) {
        let shift = subflows.window_shift();
        let left = self.window_left();
        match &mut self.tuning {
            Tuning::Whole(buffer) => {
                let data = &self.data;
                let receptions = subflows.iter().filter(counts).map(|entry| entry.tcp.reception());
                buffer.set_rtt_us8(receptions.map(|path| path.rtt_us8).max().unwrap_or(0));
                buffer.on_read(now, data.read_offset(), data.next_offset(), data.highest());
                if is_doubled(buffer, left, shift) {
                    self.mark_changed();
                    subflows.acknowledge_all();
                }
            }
            Tuning::Shared(buffer) => {
                grow(buffer, subflows, now, len);
                let space = buffer.room();
                let emptied = buffer.used() == 0;
                self.mark_changed();
                subflows.acknowledge_read(emptied);
                if space.free > 0 && space.free / 2 >= self.announced() {
                    subflows.acknowledge_doubled(space);
                }
            }
        }
    }
}

/// Whether the window opened enough to be announced at once.
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
    let receptions = subflows.iter().filter(counts).map(|entry| entry.tcp.reception());
    if let Some(copied) = buffer.on_read(now, len, initial_space, receptions) {
        for entry in subflows.iter_mut().filter(|entry| entry.stage() != Stage::Gone) {
            entry.tcp.follow_reader(copied);
        }
    }
}

/// Whether what its receiver measured counts: one that a peer is opening does not before it is
/// open.
fn counts(entry: &&SubflowEntry) -> bool {
    match entry.stage() {
        Stage::Opening => entry.handshake.is_initiator(),
        Stage::PreEstablished | Stage::Open => true,
        Stage::Gone => false,
    }
}
