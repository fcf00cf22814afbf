//! The writer's side of the send buffer: its size, and whether a writer waits for space.

use crate::recovery::SendBufferTuning;
use crate::tcp::Buffers;

/// The size of a send buffer, its last offload buffer, and its waiting writer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Writer {
    waiting: Waiting,
    /// Acknowledgements freed space since the waiting writer was last considered.
    check_due: bool,
    /// Payload that was written into the last offload buffer, of which some may be sent by now.
    filled: u16,
    tuning: SendBufferTuning,
}

/// What a writer waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waiting {
    Nothing,
    /// A write was refused or cut short.
    Room,
    /// The same in front of a further offload buffer: what may be sent is sent before, as by Linux
    /// in the middle of a write (`tcp_sendmsg_locked`), and leaves room in the last one.
    Sending,
    /// Nothing: what could be sent was sent, and the write continues.
    Sent,
}

impl Writer {
    /// No writer waits.
    pub(crate) fn new(buffers: &Buffers) -> Self {
        let tuning = if buffers.auto_tuning {
            SendBufferTuning::auto(buffers.send_max)
        } else {
            SendBufferTuning::fixed(buffers.send_max)
        };
        Writer { waiting: Waiting::Nothing, check_due: false, filled: 0, tuning }
    }

    /// Sets whether a writer waits.
    pub(crate) fn set_waiting(&mut self, waits: bool) {
        self.waiting = match (waits, self.waiting) {
            (true, Waiting::Sending) => Waiting::Sending,
            (true, _) => Waiting::Room,
            (false, _) => Waiting::Nothing,
        };
    }

    /// Whether a writer waits.
    pub(crate) const fn is_waiting(&self) -> bool {
        matches!(self.waiting, Waiting::Room | Waiting::Sending)
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
        std::mem::replace(&mut self.check_due, false) && self.is_waiting()
    }

    /// Payload that the last offload buffer takes, of `goal` bytes, where `unsent` bytes are.
    pub(crate) fn room_in_last(&mut self, goal: u16, unsent: u64) -> u16 {
        self.filled = u64::from(self.filled).min(unsent) as u16;
        if self.filled == 0 { 0 } else { goal.saturating_sub(self.filled) }
    }

    /// `len` bytes were written into the last offload buffer.
    pub(crate) fn on_filled(&mut self, len: u32) {
        self.filled = self.filled.saturating_add(len.min(u32::from(u16::MAX)) as u16);
    }

    /// A further offload buffer begins.
    pub(crate) const fn begin_buffer(&mut self) {
        self.filled = 0;
    }

    /// Whether a write may continue in a further buffer before anything is sent.
    pub(crate) fn continues(&mut self) -> bool {
        let continues = self.waiting == Waiting::Sent;
        self.waiting = if continues { Waiting::Nothing } else { Waiting::Sending };
        continues
    }

    /// Whether `take_sent` has anything to answer or forget.
    pub(crate) const fn is_in_a_write(&self) -> bool {
        matches!(self.waiting, Waiting::Sending | Waiting::Sent)
    }

    /// What could be sent was sent. Whether a write waited for that.
    pub(crate) fn take_sent(&mut self) -> bool {
        match self.waiting {
            Waiting::Sending => self.waiting = Waiting::Sent,
            Waiting::Sent => self.waiting = Waiting::Nothing,
            Waiting::Nothing | Waiting::Room => {}
        }
        self.waiting == Waiting::Sent
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
