//! The writer's side of the send buffer: its size, and whether a writer waits for space.

use crate::recovery::SendBufferTuning;
use crate::tcp::Buffers;

/// The size of a send buffer and its waiting writer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Writer {
    /// A write was refused or cut short.
    waits: bool,
    /// Acknowledgements freed space since the waiting writer was last considered.
    check_due: bool,
    tuning: SendBufferTuning,
}

impl Writer {
    /// No writer waits.
    pub(crate) fn new(buffers: &Buffers) -> Self {
        let tuning = if buffers.auto_tuning {
            SendBufferTuning::auto(buffers.send_max)
        } else {
            SendBufferTuning::fixed(buffers.send_max)
        };
        Writer { waits: false, check_due: false, tuning }
    }

    /// Sets whether a writer waits.
    pub(crate) const fn set_waiting(&mut self, waits: bool) {
        self.waits = waits;
    }

    /// Whether a writer waits.
    pub(crate) const fn is_waiting(&self) -> bool {
        self.waits
    }

    /// Data were acknowledged.
    pub(crate) const fn on_freed(&mut self) {
        self.check_due = true;
    }

    /// Whether `take_check` has anything to answer or forget.
    pub(crate) const fn is_check_due(&self) -> bool {
        self.check_due
    }

    /// Whether a waiting writer is to be considered now.
    pub(crate) const fn take_check(&mut self) -> bool {
        std::mem::replace(&mut self.check_due, false) && self.waits
    }

    /// The size of the buffer, in bytes of memory.
    pub(crate) const fn size(&self) -> u32 {
        self.tuning.size()
    }

    /// Whether the buffer is auto-tuned.
    pub(crate) const fn is_tuned(&self) -> bool {
        self.tuning.is_auto()
    }

    /// Grows the buffer for a window of `cwnd_segs` segments (`SendBufferTuning::expand`).
    pub(crate) fn expand(&mut self, cwnd_segs: u32, reordering: u32, mss: u32) {
        self.tuning.expand(cwnd_segs, reordering, mss);
    }

    /// Whether a write may begin while `memory` bytes are in use.
    pub(crate) const fn has_room(&self, memory: u32) -> bool {
        self.tuning.has_room(memory)
    }

    /// Whether a waiting writer is to be woken while `memory` bytes are in use.
    pub(crate) const fn wakes(&self, memory: u32) -> bool {
        self.tuning.wakes_writer(memory)
    }
}
