//! The send side's queue and sequence state (SND.UNA, SND.NXT), with its parts: the peer's window,
//! bursts, the interface's queue, congestion window validation and the waiting writer.
//!
//! Which segments are outstanding is known to `loss`; what is sent next is decided in `transmit`.

mod bursts;
mod cwnd_validation;
mod nic_queue;
mod peer_window;
mod writer;

pub(super) use cwnd_validation::Usage;

use super::config::Buffers;
use super::sent_mappings::SizeGoal;
use crate::buffer::SendBuffer;
use crate::recovery::{MAX_BURST_BYTES, Pacer, sent_truesize};
use base::{Blocked, prefetch};
use bursts::Bursts;
use cwnd_validation::CwndValidation;
use nic_queue::NicQueue;
use peer_window::PeerWindow;
use wire::Payload;
use writer::Writer;

/// Largest number of segments in one buffer of the send queue (Linux: 64 KiB of payload).
pub(super) const SEGS_PER_BUFFER: u32 = 44;

/// The send side of a subflow. Offsets count payload bytes from zero; a FIN takes one more. The
/// fields that an arriving segment needs, too, come first.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Sender {
    /// First offset not acknowledged.
    una: u64,
    /// Next offset never sent.
    nxt: u64,
    pub window: PeerWindow,
    pub nic: NicQueue,
    /// Payload bytes of a full segment.
    mss: u32,
    /// The application closed its direction.
    fin_queued: bool,
    fin_sent: bool,
    /// Unsent data are not the end of what was written: no PSH for them.
    more_follows: bool,
    /// Why unsent data were not sent at the last attempt.
    blocked: Blocked,
    pub bursts: Bursts,
    buffer: SendBuffer,
    pub writer: Writer,
    pub validation: CwndValidation,
    /// Pacing rate in bytes per second, known whether or not pacing is on.
    pub pacing_rate: Option<u64>,
    pub pacer: Pacer,
}

impl Sender {
    /// Nothing written, nothing sent.
    pub(super) fn new(buffers: &Buffers, mss: u32) -> Self {
        Sender {
            una: 0,
            nxt: 0,
            window: PeerWindow::new(),
            nic: NicQueue::default(),
            mss,
            fin_queued: false,
            fin_sent: false,
            more_follows: false,
            blocked: Blocked::Opening,
            writer: Writer::new(buffers),
            buffer: SendBuffer::default(),
            bursts: Bursts::default(),
            validation: CwndValidation::new(),
            pacing_rate: None,
            pacer: Pacer::default(),
        }
    }

    /// Requests the memory that every packet needs.
    pub(super) fn prefetch(&self) {
        prefetch(&self.una);
        prefetch(&self.nic);
        prefetch(&self.writer);
    }

    /// Requests the memory that sending needs besides.
    pub(super) fn prefetch_more(&self) {
        prefetch(&self.buffer);
        prefetch(&self.pacing_rate);
        prefetch(&self.pacer);
    }

    /// Requests the memory that the fields refer to.
    pub(super) fn prefetch_last(&self) {
        self.buffer.prefetch();
        self.bursts.prefetch();
    }

    /// The sequence variables are in order.
    fn check(&self) {
        debug_assert!(self.una <= self.nxt, "only data that were sent are acknowledged");
        debug_assert!(
            self.nxt <= self.buffer.end() + u64::from(self.fin_sent),
            "only data that were written are sent"
        );
        debug_assert!(self.fin_queued || !self.fin_sent, "a FIN that is sent was queued");
    }

    /// First offset not acknowledged (SND.UNA).
    pub(super) const fn una(&self) -> u64 {
        self.una
    }

    /// Next offset never sent (SND.NXT).
    pub(super) const fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Payload bytes of a full segment.
    pub(super) const fn mss(&self) -> u32 {
        self.mss
    }

    /// Sets the payload size of a full segment.
    pub(super) const fn set_mss(&mut self, mss: u32) {
        debug_assert!(mss > 0, "a segment carries at least one byte");
        self.mss = mss;
    }

    /// Offset of the next byte to be written.
    pub(super) fn write_end(&self) -> u64 {
        self.buffer.end()
    }

    /// Appends data to the send queue.
    pub(super) fn append(&mut self, payload: Payload) {
        debug_assert!(!self.fin_sent, "no data follow a FIN");
        self.buffer.append(payload);
    }

    /// The bytes `offset..offset + len` of the stream.
    #[inline(always)]
    pub(super) fn payload(&self, offset: u64, len: u32) -> Payload {
        self.buffer.slice(offset, len)
    }

    /// Forgets all data that were written.
    pub(super) fn discard(&mut self) {
        let end = self.buffer.end();
        self.buffer.release_below(end);
    }

    /// Payload never sent, in bytes.
    pub(super) fn unsent(&self) -> u64 {
        self.buffer.end().saturating_sub(self.nxt)
    }

    /// Queues a FIN behind the data.
    pub(super) const fn queue_fin(&mut self) {
        self.fin_queued = true;
    }

    /// Whether a FIN is queued or was sent.
    pub(super) const fn is_fin_queued(&self) -> bool {
        self.fin_queued
    }

    /// Whether a FIN is queued that was never sent.
    pub(super) const fn is_fin_unsent(&self) -> bool {
        self.fin_queued && !self.fin_sent
    }

    /// Whether payload or a FIN was never sent.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent() > 0 || self.is_fin_unsent()
    }

    /// Whether data that were written are not acknowledged.
    pub(super) fn has_outstanding(&self) -> bool {
        self.buffer.end() > self.una
    }

    /// Whether a cumulative acknowledgement of `ack` is acceptable: of something that was sent, and
    /// not older than the largest window (RFC 5961 s5).
    pub(super) const fn is_acceptable_ack(&self, ack: i64) -> bool {
        ack <= self.nxt as i64 && ack + self.window.largest() as i64 >= self.una as i64
    }

    /// Everything below `ack` is acknowledged.
    pub(super) fn on_acked(&mut self, ack: u64) {
        debug_assert!(ack > self.una, "SND.UNA advances");
        self.una = ack;
        self.bursts.forget_below(ack, self.nxt);
        self.buffer.release_below(ack);
        self.check();
    }

    /// The next `len` bytes were sent, with a FIN behind them if `fin`.
    pub(super) fn on_sent(&mut self, len: u32, fin: bool) {
        self.nxt += u64::from(len) + u64::from(fin);
        self.fin_sent |= fin;
        self.check();
    }

    /// End of the peer's window.
    pub(super) const fn window_end(&self) -> u64 {
        self.una + self.window.size()
    }

    /// Bytes of the peer's window that are left for new data.
    pub(super) const fn window_left(&self) -> u64 {
        self.window_end().saturating_sub(self.nxt)
    }

    /// Memory of the buffered data, in bytes. Each burst is a buffer of its own.
    pub(super) fn memory(&self) -> u32 {
        let bytes = u32::try_from(self.buffer.len()).unwrap_or(u32::MAX);
        let goal = u32::from(self.size_goal().bytes()).max(1);
        let whole = |bytes: u32| bytes.div_ceil(goal);
        let unsent = u32::try_from(self.unsent()).unwrap_or(u32::MAX);
        let sent = whole(bytes.saturating_sub(unsent)).max(self.bursts.count());
        sent_truesize(bytes, sent + whole(unsent))
    }

    /// Begins a burst of `segs` segments; `own`: in a buffer of its own.
    pub(super) fn begin_burst(&mut self, segs: u32, own: bool) {
        self.bursts.begin(segs, own.then_some(self.nxt));
    }

    /// Payload of one offload buffer: what the offload takes, but at most half of the largest
    /// window.
    pub(super) fn size_goal(&self) -> SizeGoal {
        let most = self.window.offload_bound().min(MAX_BURST_BYTES) as u16;
        SizeGoal { most, mss: self.mss }
    }

    /// Bytes that a write may append now, at most an offload buffer. What is left of the last
    /// one, as far as it is unsent, may always be filled; another one needs memory, and with
    /// `lowat` that fewer bytes are unsent (Linux `tcp_sendmsg_locked`).
    pub(super) fn room_for_write(&mut self, lowat: Option<u32>) -> u32 {
        let (goal, unsent) = (self.size_goal().bytes(), self.unsent());
        let room = self.writer.room_in_last(goal, unsent);
        if room > 0 {
            return room.into();
        }
        if unsent > 0 && !self.writer.continues() || !self.has_room(lowat) {
            return 0;
        }
        self.writer.begin_buffer();
        goal.into()
    }

    /// Whether a write may begin. With `lowat` only while fewer bytes are unsent.
    fn has_room(&self, lowat: Option<u32>) -> bool {
        self.is_below(lowat) && self.writer.has_room(self.memory())
    }

    /// Whether a waiting writer is to be woken. With `lowat` only while fewer bytes are unsent.
    pub(super) fn wakes_writer(&self, lowat: Option<u32>) -> bool {
        // Mostly the bytes alone are too many, without the divisions that their memory takes.
        let bytes = u32::try_from(self.buffer.len()).unwrap_or(u32::MAX);
        self.writer.wakes(bytes) && self.writer.wakes(self.memory()) && self.is_below(lowat)
    }

    fn is_below(&self, lowat: Option<u32>) -> bool {
        lowat.is_none_or(|lowat| self.unsent() < u64::from(lowat))
    }

    /// Sets whether more of what the application wrote follows the data in this queue.
    pub(super) const fn set_more_follows(&mut self, more: bool) {
        self.more_follows = more;
    }

    /// Whether the segment `offset..offset + len` gets a PSH: it is the end of what was written, or
    /// of a burst of several segments, as in Linux.
    pub(super) fn is_pushed(&self, offset: u64, len: u32) -> bool {
        let ends_write = offset + u64::from(len) == self.buffer.end() && !self.more_follows;
        len > 0 && (self.bursts.ends_with_this() || ends_write)
    }

    /// Something keeps unsent data from being sent.
    pub(super) const fn on_blocked(&mut self, why: Blocked) {
        self.blocked = why;
        self.bursts.on_blocked();
    }

    /// Why nothing more is sent, asked when nothing is.
    pub(super) fn blocked_reason(&self) -> Blocked {
        if self.has_unsent() {
            self.blocked
        } else if self.writer.is_waiting() {
            Blocked::SendBuffer
        } else {
            Blocked::NothingToSend
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::SeqNumber;

    /// A sender with `bytes` written, in segments of 1420 bytes.
    fn sender(bytes: usize) -> Sender {
        let mut sender = Sender::new(&Buffers::default(), 1420);
        sender.append(Payload::from(vec![7; bytes]));
        sender
    }

    /// Measured on 6.18 (`mptcp_subflow_get_send`): 832 bytes in addition to the payload for each
    /// buffer.
    #[test]
    fn every_burst_in_flight_has_memory_of_its_own() {
        let mut sender = sender(31_240);
        assert_eq!(sender.memory(), 31_240 + 832);
        for _ in 0..5 {
            sender.begin_burst(2, true);
            sender.on_sent(2840, false);
        }
        assert_eq!(sender.memory(), 31_240 + 6 * 832, "five bursts and the rest");
        sender.on_acked(2840 + 1420);
        assert_eq!(sender.memory(), 31_240 - 4260 + 5 * 832, "half of the second");
        sender.on_acked(sender.nxt());
        assert_eq!(sender.memory(), 31_240 - 14_200 + 832, "the rest alone");
    }

    #[test]
    fn buffer_is_filled_up_to_half_the_largest_window() {
        let goal = |largest: u64| {
            let mut sender = sender(0);
            sender.window.set(SeqNumber(1), largest);
            sender.size_goal().bytes()
        };
        assert_eq!(goal(0), 45 * 1420);
        assert_eq!(goal(64_256), 22 * 1420, "as 6.18 does in its first flight");
        assert_eq!(goal(2000), 1420, "a segment at least");
    }

    #[test]
    fn last_segment_of_a_write_is_pushed_unless_more_follows() {
        let mut sender = sender(2840);
        assert!(!sender.is_pushed(0, 1420) && sender.is_pushed(1420, 1420));
        sender.set_more_follows(true);
        assert!(!sender.is_pushed(1420, 1420));
    }
}
