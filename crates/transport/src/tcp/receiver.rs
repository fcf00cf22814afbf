//! The receive side: reassembly, the window that is announced, the timestamp to echo, and
//! duplicates to report.
//!
//! When to acknowledge is in `ack_policy`; the size of the buffer is `recovery::ReceiveBuffer`'s.

use super::ack_policy::{AckPolicy, Arrival, Received};
use super::config::Buffers;
use crate::buffer::Reassembly;
use crate::recovery::{ReceiveBuffer, Received as Queued, Reception, Sizing, Space};
use base::{Duration, Instant, prefetch};
use std::hint::cold_path;
use std::ops::Range;
use wire::{Payload, SackBlocks, SeqNumber};

/// SACK blocks for which every acknowledgement has space (three fit next to timestamps).
const SACK_BLOCKS_EXPECTED: usize = 2;
/// A timestamp older than this may be of a clock that wrapped and is not compared
/// (RFC 7323 s5.5).
const PAWS_IDLE: Duration = Duration::from_secs(24 * 24 * 3600);
/// A timestamp that is older by one tick is not old (Linux `TCP_PAWS_WINDOW`).
const PAWS_TICKS: i64 = 1;
/// No offset: no FIN was seen.
const NO_FIN: u64 = u64::MAX;

/// The window of a multi-path connection, in bytes from its data acknowledgement on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedWindow {
    /// All subflows announce this window.
    Whole(u32),
    /// Each subflow announces the part of `space` that it has earned (`recovery::SharedBuffer`),
    /// and at least `left`, what is left of the window that any of them announced.
    Room { space: Space, left: u32 },
}

/// The receive side of a subflow. Offsets count payload bytes from zero; a FIN takes one more. The
/// fields that sending needs, too, come first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    pub ack: AckPolicy,
    /// `nxt` when the window was last announced (Linux `rcv_wup`).
    announced_at: u64,
    /// The window announced then, in bytes.
    announced_window: u32,
    /// Bytes beyond `nxt` that a subflow of a multi-path connection accepts, regardless of what it
    /// announced.
    share_limit: u32,
    /// The window of the multi-path connection.
    shared: Option<SharedWindow>,
    /// The timestamp to echo (RFC 7323 s4.3).
    ts_recent: u32,
    /// The FIN was reached in order.
    fin_received: bool,
    /// Acknowledgements of two segments are left to the reader of the multi-path connection.
    leaves_acks: bool,
    /// Nothing happened to the buffer since a window was chosen.
    window_stands: bool,
    ts_recent_at: Instant,
    /// The echoed timestamp that was last used for an RTT sample.
    last_echo: Option<u32>,
    buffer: ReceiveBuffer,
    /// The duplicate to report in the next acknowledgement (RFC 2883).
    dsack: Option<Range<u64>>,
    /// Offset of the peer's FIN, once seen; `NO_FIN` before.
    fin_offset: u64,
    data: Reassembly,
}

/// The part of a segment's payload that is accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Accepted {
    /// Offset of its first byte.
    pub offset: u64,
    /// Payload bytes before it, which precede the stream.
    pub skipped: u32,
    pub len: u32,
}

/// A data segment that arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrivedData {
    pub now: Instant,
    /// Payload length before it was cut to what is accepted.
    pub segment_len: u32,
    /// Memory of the segment (`recovery::received_truesize`).
    pub truesize: u32,
    /// Header bytes of its SACK blocks.
    pub sack_bytes: u32,
    /// The segment has a PSH.
    pub push: bool,
    /// RTO of this host's direction, zero if unknown.
    pub rto: Duration,
}

/// What the payload of a segment was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inserted {
    /// Everything had arrived before.
    Duplicate,
    /// Something new, behind a gap.
    OutOfOrder,
    /// Something new that can be read.
    InOrder,
}

impl Receiver {
    /// Nothing received.
    pub(crate) fn new(buffers: &Buffers, mss: u32, sizing: Sizing) -> Self {
        let buffer = if buffers.auto_tuning {
            ReceiveBuffer::auto(buffers.receive_max, mss, sizing)
        } else {
            ReceiveBuffer::fixed(buffers.receive_max, mss, sizing)
        };
        Receiver {
            ack: AckPolicy::default(),
            announced_at: 0,
            announced_window: 0,
            share_limit: 0,
            shared: None,
            ts_recent: 0,
            fin_received: false,
            leaves_acks: false,
            window_stands: false,
            ts_recent_at: Instant::ZERO,
            last_echo: None,
            buffer,
            dsack: None,
            fin_offset: NO_FIN,
            data: Reassembly::new(),
        }
    }

    /// Requests the memory that every packet needs.
    pub(crate) fn prefetch(&self) {
        prefetch(&self.ack);
        prefetch(&self.announced_at);
        prefetch(&self.ts_recent_at);
        prefetch(&self.data);
    }

    /// Requests the memory that receiving needs besides.
    pub(crate) fn prefetch_more(&self) {
        self.buffer.prefetch();
        self.data.prefetch();
    }

    /// The peer's SYN came, with this timestamp.
    pub(crate) const fn on_syn(&mut self, now: Instant, timestamp: Option<u32>) {
        self.announced_at = 0;
        if let Some(timestamp) = timestamp {
            self.ts_recent = timestamp;
            self.ts_recent_at = now;
        }
    }

    /// The handshake is over. `mss`: payload of a full segment of the peer.
    pub(crate) fn on_established(&mut self, now: Instant, mss: u32) {
        self.window_stands = false;
        self.buffer.on_established(now, mss);
    }

    /// The data that arrived.
    pub(crate) const fn data(&self) -> &Reassembly {
        &self.data
    }

    /// The next offset expected, FIN included (RCV.NXT).
    pub(crate) const fn nxt(&self) -> u64 {
        self.data.next_offset() + self.fin_received as u64
    }

    /// Bytes received in order since the last acknowledgement.
    pub(crate) fn unacked(&self) -> u64 {
        self.nxt().saturating_sub(self.announced_at)
    }

    /// Whether something waits behind a gap.
    pub(crate) const fn has_gaps(&self) -> bool {
        self.data.has_gaps()
    }

    /// The peer's FIN was reached in order.
    pub(crate) const fn is_fin_received(&self) -> bool {
        self.fin_received
    }

    /// The timestamp to echo.
    pub(crate) const fn ts_recent(&self) -> u32 {
        self.ts_recent
    }

    /// Whether `timestamp` is newer than the last one of the peer.
    pub(crate) const fn is_newer_timestamp(&self, timestamp: u32) -> bool {
        (timestamp.wrapping_sub(self.ts_recent) as i32) > 0
    }

    /// Whether `timestamp` is not before the last one of the peer.
    pub(crate) const fn is_in_order(&self, timestamp: u32) -> bool {
        (timestamp.wrapping_sub(self.ts_recent) as i32) >= 0
    }

    /// Whether `start` is the next offset expected, and no FIN was seen.
    pub(crate) const fn is_next(&self, start: i64) -> bool {
        start == self.data.next_offset() as i64 && self.fin_offset == NO_FIN
    }

    /// Whether a segment with `timestamp` is old (PAWS, RFC 7323 s5.3).
    pub(crate) fn is_old_timestamp(&self, now: Instant, timestamp: u32) -> bool {
        self.timestamp_age(timestamp) > PAWS_TICKS && now - self.ts_recent_at < PAWS_IDLE
    }

    /// By how much `timestamp` is older than the last one that was kept, in ticks of the peer's.
    pub(crate) fn timestamp_age(&self, timestamp: u32) -> i64 {
        i64::from(self.ts_recent.wrapping_sub(timestamp) as i32)
    }

    /// Keeps `timestamp` of a segment that begins at `start` for the echo, if the segment begins at
    /// or before the last acknowledgement (RFC 7323 s4.3).
    pub(crate) const fn on_timestamp(&mut self, now: Instant, timestamp: u32, start: i64) {
        if self.is_in_order(timestamp) && start <= self.announced_at as i64 {
            self.ts_recent = timestamp;
            self.ts_recent_at = now;
        }
    }

    /// Whether `echo` may give an RTT sample on a segment with `len` payload bytes: it is the first
    /// segment with that echo, and a full one (RFC 7323 s4).
    pub(crate) fn is_sampled_echo(&mut self, echo: u32, len: u32) -> bool {
        let fresh = self.last_echo.replace(echo) != Some(echo);
        fresh && len >= self.buffer.segment_size()
    }

    /// An RTT sample of the receiver, from an echoed timestamp.
    pub(crate) fn on_rtt(&mut self, rtt: Duration) {
        let unread = self.data.readable() > 0;
        self.buffer.on_rtt(rtt, unread);
    }

    /// Whether a segment that covers `start..end` is acceptable (RFC 9293 s3.10.7.4).
    pub(crate) const fn is_acceptable(&self, start: i64, end: i64) -> bool {
        let window_end = self.nxt() + self.window_left();
        end >= self.announced_at as i64 && start <= window_end as i64
    }

    /// What is left of the announced window (Linux `tcp_receive_window`).
    pub(crate) const fn window_left(&self) -> u64 {
        if self.shared.is_some() {
            return self.share_limit as u64;
        }
        (self.announced_at + self.announced_window as u64).saturating_sub(self.nxt())
    }

    /// Announces the window of the multi-path connection from now on.
    pub(crate) const fn share_window(&mut self, window: SharedWindow) {
        self.shared = Some(window);
        self.window_stands = false;
    }

    /// Accepts up to `bytes` beyond what arrived in order.
    pub(crate) const fn limit_reception(&mut self, bytes: u32) {
        self.share_limit = bytes;
    }

    /// The window of the SYN or SYN/ACK, which is not scaled (RFC 7323 s2.2).
    pub(crate) fn initial_window(&self) -> u32 {
        self.buffer.initial_window().min(65_535)
    }

    /// The SYN or SYN/ACK announces the initial window.
    pub(crate) fn announce_initial_window(&mut self) -> u16 {
        let window = self.initial_window();
        self.announced_window = window;
        self.window_stands = false;
        window as u16
    }

    /// Chooses the window to announce and remembers it. The right edge never moves left
    /// (RFC 9293 s3.8.6). `short`: what is known to be the same is not computed again.
    #[inline]
    pub(crate) fn announce_window(&mut self, shift: u8, short: bool) -> u16 {
        let nxt = self.nxt();
        // A sender receives nothing: saves it a quarter of what its segment costs.
        if short && self.window_stands && self.announced_at == nxt {
            debug_assert_eq!(self.next_window(shift), self.announced_window, "it stands");
        } else {
            self.choose_window(shift);
            self.announced_at = nxt;
        }
        (self.announced_window >> shift).min(65_535) as u16
    }

    // Inlined, it would take the registers of what needs it rarely.
    #[inline(never)]
    fn choose_window(&mut self, shift: u8) {
        let before = (self.announced_at, self.announced_window, self.buffer.advertised());
        let window = self.next_window(shift);
        debug_assert!(
            self.shared.is_some() || u64::from(window) >= self.window_left(),
            "the right edge of the window never moves left"
        );
        self.announced_window = window;
        // Without a window scale a share depends on the last one: it is kept once it came out the
        // same.
        let stands = before == (self.nxt(), window, self.buffer.advertised());
        self.window_stands = stands || self.shared.is_none();
    }

    /// The window to announce now.
    #[inline(always)]
    fn next_window(&mut self, shift: u8) -> u32 {
        match self.shared {
            // It counts bytes of the connection; what one subflow may deliver is bounded by
            // `share_limit`, and the connection checks the rest (RFC 8684 s3.3.5).
            Some(SharedWindow::Whole(window)) => {
                cold_path();
                self.buffer.on_announced(window);
                window
            }
            Some(SharedWindow::Room { space, left }) => self.window_of(space, left, shift),
            None => self.own_window(shift),
        }
    }

    fn own_window(&mut self, shift: u8) -> u32 {
        let kept = u32::try_from(self.window_left()).unwrap_or(u32::MAX);
        self.buffer.window(kept, shift).min(65_535 << shift)
    }

    /// The part of the connection's space that this subflow has earned, which may be less than what
    /// is left of its window: Linux forgets what a subflow announced before each packet with a
    /// DATA_ACK (`mptcp_established_options_dss`), so that `tcp_select_window` may shrink it. Only
    /// the right edge of the connection never moves left, `left` bytes from here
    /// (`mptcp_set_rwin`); a window that is raised to it is the subflow's (`rcv_wnd`).
    fn window_of(&mut self, space: Space, left: u32, shift: u8) -> u32 {
        let window = self.buffer.select_of(space.free, space.full, shift).max(left);
        self.buffer.on_announced(window);
        window
    }

    /// What is left of the window announced last, in bytes of this subflow.
    fn own_left(&self) -> u32 {
        let left =
            (self.announced_at + u64::from(self.announced_window)).saturating_sub(self.nxt());
        u32::try_from(left).unwrap_or(u32::MAX)
    }

    /// The window announced last, in bytes.
    pub(crate) const fn announced_window(&self) -> u32 {
        self.announced_window
    }

    /// Whether this subflow would announce at least twice what is left of its window (Linux
    /// `tcp_cleanup_rbuf`).
    pub(crate) fn would_double_window(&self, space: Space, shift: u8) -> bool {
        let left = self.own_left();
        let window = self.buffer.select_of(space.free, space.full, shift);
        u64::from(left) * 2 <= u64::from(self.buffer.clamp()) && window > 0 && window / 2 >= left
    }

    /// The window scale of our SYN.
    pub(crate) fn window_scale(&self) -> u8 {
        self.buffer.window_scale()
    }

    /// The size of the buffer, in bytes of memory.
    pub(crate) const fn buffer_size(&self) -> u32 {
        self.buffer.size()
    }

    /// The first base of growth of a multi-path connection that begins with this subflow.
    pub(crate) fn initial_space(&self) -> u32 {
        self.buffer.initial_space()
    }

    /// Payload of the segments that the peer may send, in bytes.
    pub(crate) const fn advmss(&self) -> u32 {
        self.buffer.advmss()
    }

    /// Memory ratio and RTT, as far as the receiver knows them.
    pub(crate) const fn reception(&self) -> Reception {
        Reception { ratio: self.buffer.ratio(), rtt_us8: self.buffer.rtt_us8() }
    }

    /// The reader of the multi-path connection took `copied` bytes in a round trip.
    pub(crate) fn on_connection_read(&mut self, copied: u32) {
        let beyond = self.data.highest().saturating_sub(self.data.next_offset());
        self.window_stands = false;
        self.buffer.enlarge(copied, beyond);
    }

    /// Reads the next bytes in order, of which there are some, for the application. Returns
    /// also whether the window opened so
    /// far that it is to be announced at once (Linux: to at least twice the one announced last).
    #[inline(always)]
    pub(crate) fn read(&mut self, now: Instant, max: u32, shift: u8) -> (Payload, bool) {
        debug_assert!(max > 0 && self.data.readable() > 0, "there is something to read");
        let payload = self.data.read(max);
        let opened = self.on_read(now, shift);
        (payload, opened)
    }

    #[inline(always)]
    fn on_read(&mut self, now: Instant, shift: u8) -> bool {
        let next = self.data.next_offset();
        self.window_stands = false;
        self.buffer.on_read(now, self.data.read_offset(), next, self.data.highest());
        let left = self.window_left();
        2 * left <= u64::from(self.buffer.size()) && self.would_double_own_window(left, shift)
    }

    /// Whether the window that could be announced is at least twice the `left` bytes of the last.
    #[cold]
    fn would_double_own_window(&self, left: u64, shift: u8) -> bool {
        let window = u64::from(self.buffer.select_window(shift));
        window > 0 && window >= 2 * left
    }

    /// Moves in-order bytes to the multi-path connection, at most `max`. Where that tunes one
    /// buffer for all subflows, theirs follow it.
    #[inline(always)]
    pub(crate) fn take(&mut self, now: Instant, max: u32, shift: u8) -> Payload {
        let payload = self.data.read(max);
        if matches!(self.shared, Some(SharedWindow::Room { .. })) {
            self.window_stands = false;
            self.buffer.on_taken(self.data.read_offset());
        } else {
            self.on_read(now, shift);
        }
        if !self.leaves_acks {
            self.on_all_read();
        }
        payload
    }

    /// If everything was read: whether an acknowledgement is urgent for that reason.
    pub(crate) fn on_all_read(&mut self) -> bool {
        let (unacked, size) = (self.unacked(), self.buffer.segment_size());
        self.data.readable() == 0 && self.ack.on_read(unacked, size, true)
    }

    /// Leaves acknowledgements of two segments to the reader of the multi-path connection.
    pub(crate) const fn leave_acks_to_reader(&mut self, leaves: bool) {
        self.leaves_acks = leaves;
    }

    /// Data went to the multi-path connection, of which nothing can be read if `waits`: whether two
    /// segments are acknowledged without the reader. Otherwise only if the window does not become
    /// smaller (Linux `subflow_data_ready`, `__tcp_ack_snd_check`).
    #[inline]
    pub(crate) fn on_passed(&mut self, waits: bool, space: impl FnOnce() -> Space, shift: u8) {
        let two_segments = self.unacked() > u64::from(self.buffer.segment_size());
        let window = || {
            let Space { free, full } = space();
            self.buffer.select_of(free, full, shift)
        };
        if self.ack.is_owed() && two_segments && (waits || window() >= self.announced_window) {
            self.ack.now();
        }
    }

    /// The application read from the multi-path connection, and `emptied` its buffer. Returns
    /// whether an acknowledgement is urgent.
    pub(crate) fn on_connection_cleanup(&mut self, emptied: bool) -> bool {
        let (unacked, size) = (self.unacked(), self.buffer.segment_size());
        self.ack.on_read(unacked, size, emptied && self.data.readable() == 0)
    }

    /// Forgets everything that was not read.
    pub(crate) fn discard(&mut self) {
        self.data.discard();
    }

    /// The part of `len` payload bytes from `start` on that is in the stream and in the window;
    /// `None` if there is none (RFC 9293 s3.10.7.4).
    #[inline(always)]
    pub(crate) fn acceptable_part(&self, start: i64, len: u32) -> Option<Accepted> {
        if start == self.nxt() as i64 && u64::from(len) <= self.window_left() {
            // The expected bytes.
            return Some(Accepted { offset: start as u64, skipped: 0, len });
        }
        cold_path();
        self.acceptable_part_of_unexpected(start, len)
    }

    #[inline(never)]
    fn acceptable_part_of_unexpected(&self, start: i64, len: u32) -> Option<Accepted> {
        let skipped = u32::try_from((-start).max(0)).unwrap_or(u32::MAX).min(len);
        let offset = (start + i64::from(skipped)) as u64;
        let room = (self.nxt() + self.window_left()).saturating_sub(offset);
        let kept = (len - skipped).min(u32::try_from(room).unwrap_or(u32::MAX));
        (kept > 0).then_some(Accepted { offset, skipped, len: kept })
    }

    /// Queues payload from `offset` on, and decides what is owed for it.
    // Inlined for the bytes that come next while nothing waits behind a gap, so that what they do
    // not do is not asked.
    #[inline(always)]
    pub(crate) fn insert(
        &mut self,
        arrived: ArrivedData,
        Accepted { offset, len, .. }: Accepted,
        payload: Payload,
    ) -> Inserted {
        debug_assert!(len > 0 && len == payload.len(), "a part that is accepted");
        if !self.data.is_plain_next(offset) {
            cold_path();
            return self.insert_unexpected(arrived, offset, payload);
        }
        self.data.push_next(payload, len);
        self.on_inserted(&arrived, Inserted::InOrder)
    }

    #[inline(never)]
    fn insert_unexpected(
        &mut self,
        arrived: ArrivedData,
        offset: u64,
        payload: Payload,
    ) -> Inserted {
        let had_gaps = self.has_gaps();
        let inserted = self.data.insert(offset, payload);
        if let Some(duplicate) = inserted.duplicate {
            self.dsack = Some(duplicate);
        }
        if inserted.new_bytes == 0 {
            self.enter_quick_acks();
            self.ack.now();
            return Inserted::Duplicate;
        }
        debug_assert_eq!(inserted.out_of_order, inserted.advanced == 0);
        let kind = if inserted.out_of_order { Inserted::OutOfOrder } else { Inserted::InOrder };
        self.on_inserted(&arrived, kind);
        if kind == Inserted::InOrder && had_gaps && !self.has_gaps() {
            // RFC 5681 s4.2: the last gap is filled.
            self.ack.now();
        }
        kind
    }

    /// Something new was queued: the window and the acknowledgement that follow.
    #[inline(always)]
    fn on_inserted(&mut self, arrived: &ArrivedData, kind: Inserted) -> Inserted {
        self.window_stands = false;
        let opened = self.buffer.on_segment(&Queued {
            now: arrived.now,
            len: arrived.segment_len,
            truesize: arrived.truesize,
            sack_bytes: arrived.sack_bytes,
            push: arrived.push,
            in_order: kind == Inserted::InOrder,
            next_offset: self.data.next_offset(),
            highest: self.data.highest(),
        });
        if kind != Inserted::InOrder {
            self.ack.owe();
            self.ack.on_window_growth(opened);
            return kind;
        }
        self.ack.on_data(&Arrival {
            now: arrived.now,
            len: arrived.segment_len,
            segment_size: self.buffer.segment_size(),
            push: arrived.push,
            rto: arrived.rto,
            window: self.announced_window,
        });
        self.ack.on_window_growth(opened);
        kind
    }

    /// The place among the SACK blocks of the range that an out-of-order payload extends, or which
    /// it would get as a new one, if the blocks of one acknowledgement are all in use: an
    /// acknowledgement that is held back must go before that, or a range would never be reported
    /// (Linux `TCP_SACK_BLOCKS_EXPECTED`).
    #[cold]
    pub(crate) fn crowded_place(&self, part: Accepted) -> Option<u8> {
        if part.offset <= self.data.next_offset() {
            return None;
        }
        let (start, end) = (part.offset, part.offset + u64::from(part.len));
        let recent = self.data.sack_ranges();
        let touched = recent.iter().position(|range| range.start <= end && start <= range.end);
        let place = touched.unwrap_or(recent.len());
        (place >= SACK_BLOCKS_EXPECTED).then_some(place as u8)
    }

    /// Puts the newest SACK block at `place`, where it was before its range changed, or takes it
    /// from there again.
    pub(crate) fn move_newest_sack(&mut self, place: u8, back: bool) {
        self.data.move_newest(usize::from(place), back);
    }

    /// Acknowledges the next segments at once: something unusual arrived.
    #[cold]
    fn enter_quick_acks(&mut self) {
        self.ack.enter_quick(self.announced_window, self.buffer.segment_size());
    }

    /// A segment that covers `start..end` is old or unacceptable: the answer reports the next
    /// offset expected, and the part that is a duplicate.
    pub(crate) fn on_unacceptable(&mut self, start: i64, end: i64) {
        if end > start && start >= 0 && start < self.nxt() as i64 {
            self.dsack = Some(start as u64..(end as u64).min(self.nxt()));
            self.enter_quick_acks();
        }
        self.ack.now();
    }

    /// A FIN came that follows the byte before `offset`, which is negative before the stream.
    pub(crate) fn on_fin(&mut self, offset: i64) {
        self.fin_offset = u64::try_from(offset).unwrap_or(self.fin_offset);
    }

    /// Whether the peer's FIN is now reached in order, for the first time.
    pub(crate) fn reaches_fin(&mut self) -> bool {
        let reached = !self.fin_received && self.fin_offset == self.data.next_offset();
        self.fin_received |= reached;
        reached
    }

    /// What the acknowledgement policy needs to know after a segment. `compress`: acknowledgements
    /// of out-of-order segments may be merged.
    pub(crate) fn received(&self, compress: bool, srtt: Duration) -> Received {
        Received {
            unacked: self.unacked(),
            segment_size: self.buffer.segment_size(),
            left_to_reader: self.leaves_acks,
            gaps: self.has_gaps(),
            expected: self.nxt(),
            compress,
            srtt,
        }
    }

    /// Whether there is something to report in SACK blocks.
    pub(crate) const fn has_sacks(&self) -> bool {
        self.dsack.is_some() || self.has_gaps()
    }

    /// The number of SACK blocks that report it.
    pub(crate) fn sack_blocks(&self) -> u32 {
        u32::from(self.dsack.is_some()) + self.data.sack_ranges().len() as u32
    }

    /// At most `most` SACK blocks: D-SACK first (RFC 2883), then the most recently changed ranges
    /// (RFC 2018 s4), with the FIN behind the last byte (`end_seq` of Linux): without it the sender
    /// would not know that the segment with the FIN arrived. `first`: sequence number of the peer's
    /// first byte. Without room for one the D-SACK waits for the next segment.
    pub(crate) fn take_sack_blocks(&mut self, first: SeqNumber, most: usize) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        let fin = |end: u64| end + u64::from(end == self.fin_offset);
        let data = self.data.sack_ranges().iter().map(|range| range.start..fin(range.end));
        for range in self.dsack.iter().cloned().chain(data).take(most) {
            let start = SeqNumber::from_offset(first, range.start);
            let end = SeqNumber::from_offset(first, range.end);
            blocks.push(start, end);
        }
        if most > 0 {
            self.dsack = None;
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver() -> Receiver {
        let mut receiver = Receiver::new(&Buffers::default(), 1448, Sizing::Linux);
        receiver.on_syn(Instant::ZERO, None);
        receiver.announce_initial_window();
        receiver
    }

    #[test]
    fn payload_is_cut_to_stream_and_window() {
        let receiver = receiver();
        let window = receiver.window_left() as u32;
        let part = |start, len| receiver.acceptable_part(start, len);
        assert_eq!(part(0, 100), Some(Accepted { offset: 0, skipped: 0, len: 100 }));
        assert_eq!(part(-10, 100), Some(Accepted { offset: 0, skipped: 10, len: 90 }));
        assert_eq!(part(-100, 100), None);
        assert_eq!(part(0, window + 5).map(|part| part.len), Some(window));
        assert_eq!(part(i64::from(window), 1), None);
    }

    /// A kernel with 1708 bytes more behind a gap announced 61,696 bytes up to the edge of the
    /// connection where the subflow itself had 62,964 left.
    #[test]
    fn window_of_a_subflow_shrinks_to_the_edge_of_the_connection() {
        let mut receiver = receiver();
        let space = |free| Space { free, full: 65_536 };
        receiver.share_window(SharedWindow::Room { space: space(62_080), left: 63_232 });
        assert_eq!(receiver.announce_window(7, false), 63_232 / 128);
        receiver.share_window(SharedWindow::Room { space: space(61_440), left: 61_812 });
        assert_eq!(receiver.announce_window(7, false), 61_812 / 128);
        receiver.share_window(SharedWindow::Room { space: space(62_464), left: 61_812 });
        assert_eq!(receiver.announce_window(7, false), 62_464 / 128, "it opens");
    }

    /// Regression: the second subflow of a kernel that had announced 331,760 bytes, the rest of the
    /// connection's window, had earned them with its first segment (`tcp_set_window_clamp`); ours
    /// had the 64 kB of its handshake.
    #[test]
    fn first_segment_of_a_subflow_earns_the_window_raised_to_the_edge_of_the_connection() {
        let mut receiver = receiver();
        let space = Space { free: 600_000, full: 700_000 };
        receiver.on_connection_read(400_000);
        receiver.share_window(SharedWindow::Room { space, left: 331_776 });
        assert_eq!(receiver.announce_window(7, false), (331_776 / 128) as u16);
        let whole = Accepted { offset: 0, skipped: 0, len: 1424 };
        let payload = Payload::virtual_range(1, 0, 1424);
        assert_eq!(receiver.insert(arrived(1424, 2304), whole, payload), Inserted::InOrder);
        receiver.share_window(SharedWindow::Room { space, left: 100_000 });
        let window = u32::from(receiver.announce_window(7, false)) * 128;
        assert!((331_776..340_000).contains(&window), "{window}");
    }

    fn arrived(len: u32, truesize: u32) -> ArrivedData {
        ArrivedData {
            now: Instant::ZERO,
            segment_len: len,
            truesize,
            sack_bytes: 0,
            push: false,
            rto: Duration::ZERO,
        }
    }

    #[test]
    fn fin_is_reached_once_the_gap_before_it_is_filled() {
        let mut receiver = receiver();
        receiver.on_fin(5);
        assert!(!receiver.reaches_fin());
        let arrived = arrived(5, 500);
        let payload = || Payload::virtual_range(1, 0, 5);
        let whole = Accepted { offset: 0, skipped: 0, len: 5 };
        assert_eq!(receiver.insert(arrived, whole, payload()), Inserted::InOrder);
        assert!(receiver.reaches_fin() && !receiver.reaches_fin());
        assert_eq!(receiver.nxt(), 6, "the FIN takes an offset");
        assert_eq!(receiver.insert(arrived, whole, payload()), Inserted::Duplicate);
        assert!(receiver.has_sacks());
    }

    /// Regression: the block ended before the FIN, so the sender took its segment for one that had
    /// not arrived, and a loss before it was found by the time-out only.
    #[test]
    fn block_of_the_last_segment_covers_its_fin() {
        let mut receiver = receiver();
        let first = SeqNumber(1_000);
        let blocks = |receiver: &mut Receiver| {
            let taken = receiver.take_sack_blocks(first, 3);
            taken.as_slice().iter().map(|(from, to)| (from.0, to.0)).collect::<Vec<_>>()
        };
        for (offset, expected) in [(10, [(1_010, 1_015)]), (15, [(1_010, 1_021)])] {
            if offset == 15 {
                receiver.on_fin(20);
            }
            let accepted = Accepted { offset, skipped: 0, len: 5 };
            receiver.insert(arrived(5, 500), accepted, Payload::virtual_range(1, offset, 5));
            assert_eq!(blocks(&mut receiver), expected);
        }
    }
}
