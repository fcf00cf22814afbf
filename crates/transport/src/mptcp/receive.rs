//! The receiving half of the data sequence space: one buffer and one window for all subflows
//! (RFC 8684 s3.3.2, s3.3.4). Head-of-line blocking happens here.
//!
//! Offsets count from zero; data sequence numbers begin one above the initial one.

use super::config::MptcpConfig;
use super::mappings::{Contradiction, ReceivedMapping, data_number};
use super::subflow::SubflowEntry;
use crate::buffer::Reassembly;
use crate::recovery::{
    ReceiveBuffer, Received, SharedBuffer, received_tail_room, received_truesize,
};
use crate::tcp::receiver::SharedWindow;
use base::Instant;
use std::hint::cold_path;
use wire::Payload;
use wire::mptcp::{DataNumber, Mapping};

/// IPv4 and TCP headers without options: what the first SYN assumes of every datagram.
pub(super) const SYN_HEADER: u32 = 40;
/// The same with timestamps: what the first SYN/ACK assumes.
pub(super) const SYN_ACK_HEADER: u32 = 52;
/// Memory of a received segment in addition to its payload, in bytes.
const SEGMENT_OVERHEAD: u32 = 80;
/// Mappings of one subflow that wait for their data: this many, or one for every
/// `BYTES_PER_MAPPING` of the receive buffer; a peer that sends more is broken.
const MAX_MAPPINGS: usize = 4096;
const BYTES_PER_MAPPING: usize = 512;
/// Bytes that a subflow may receive independently of the data in other subflows.
const LEAST_RECEPTION: u64 = 65_535;

/// Who sizes the buffer and chooses the window.
#[derive(Debug)]
pub(super) enum Tuning {
    /// The connection, as if it were one TCP connection: every subflow announces the same.
    Whole(ReceiveBuffer),
    /// The connection sizes the buffer, every subflow chooses its window (mainline Linux).
    Shared(SharedBuffer),
}

/// The result of a mapping that arrived. `refused`: number of refusals to count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mapped {
    /// It covers nothing, and its checksum is wrong.
    Invalid,
    /// It is kept, or need not be.
    Taken { refused: u64 },
    /// It contradicts another one, or there are too many.
    Contradiction { refused: u64 },
}

/// What a packet with `len` bytes of new data takes in memory, and how much of that is room behind
/// them, in bytes. That of the last one is kept: nearly all have the same length.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    len: u32,
    truesize: u32,
    tail_room: u32,
}

impl Sizes {
    #[inline(never)]
    fn of(len: u32) -> Self {
        let packet = len.saturating_add(SEGMENT_OVERHEAD);
        let (truesize, tail_room) = (received_truesize(packet), received_tail_room(packet));
        Sizes { len, truesize, tail_room }
    }
}

/// The receiving half.
#[derive(Debug)]
pub(super) struct DataReceive {
    pub(super) data: Reassembly,
    pub(super) tuning: Tuning,
    /// The right edge that was announced on any subflow; never moves left.
    edge: u64,
    /// The window announced last on any subflow, in bytes.
    announced: u32,
    /// Data sequence number of offset zero.
    first_dsn: u64,
    /// Offset of the peer's DATA_FIN, once it arrived.
    fin_offset: Option<u64>,
    /// The DATA_FIN was reached in order.
    fin_received: bool,
    /// The peer sent a 64-bit number: acknowledgements must have 64 bits (RFC 8684 s3.3.2).
    long_numbers: bool,
    duplicate_bytes: u64,
    /// Where the highest data behind a gap end, and what the memory of their last packet takes in
    /// addition, in bytes.
    tail: (u64, u32),
    sizes: Sizes,
    /// Data arrived at another offset of the connection than of the subflow: the two are not one
    /// stream, as they must be for falling back.
    shifted: bool,
    /// Number of changes of what subflows acknowledge and announce.
    version: u64,
}

impl DataReceive {
    /// Nothing received. `header`: bytes of a datagram of `mtu` bytes that are not payload, as the
    /// first subflow's SYN or SYN/ACK assumes.
    pub(super) fn new(config: &MptcpConfig, mtu: u32, header: u32) -> Self {
        let max = config.tcp.buffers.receive_max;
        let auto = config.tcp.buffers.auto_tuning;
        let advmss = mtu.saturating_sub(header).max(64);
        let sizing = config.tcp.profile.switches().receive_buffer;
        let whole = match auto {
            true => ReceiveBuffer::auto(max, advmss, sizing),
            false => ReceiveBuffer::fixed(max, advmss, sizing),
        };
        let announced = whole.initial_window();
        let tuning = match (config.mainline_limits, auto) {
            (false, _) => Tuning::Whole(whole),
            (true, true) => Tuning::Shared(SharedBuffer::auto(max)),
            (true, false) => Tuning::Shared(SharedBuffer::fixed(max)),
        };
        DataReceive {
            data: Reassembly::new(),
            tuning,
            edge: u64::from(announced),
            announced,
            first_dsn: 0,
            fin_offset: None,
            fin_received: false,
            long_numbers: false,
            duplicate_bytes: 0,
            tail: (0, 0),
            sizes: Sizes::of(0),
            shifted: false,
            version: 1,
        }
    }

    /// The peer's initial data sequence number.
    pub(super) const fn set_idsn(&mut self, idsn: u64) {
        self.first_dsn = idsn.wrapping_add(1);
        self.mark_changed();
    }

    /// Data sequence number of offset zero.
    #[inline]
    pub(super) const fn first_dsn(&self) -> u64 {
        self.first_dsn
    }

    /// The data sequence number that `number` abbreviates, and its offset.
    #[inline]
    pub(super) const fn expand(&self, number: DataNumber) -> (u64, u64) {
        let dsn = number.expand(self.ack_number());
        (dsn, dsn.wrapping_sub(self.first_dsn))
    }

    /// What subflows acknowledge or announce changed.
    #[inline]
    pub(super) const fn mark_changed(&mut self) {
        self.version += 1;
    }

    /// Number of changes: a subflow that was told an earlier one is to be updated before it sends.
    #[inline]
    pub(super) const fn version(&self) -> u64 {
        self.version
    }

    /// Every subflow chooses its window.
    #[inline]
    pub(super) const fn is_shared(&self) -> bool {
        matches!(self.tuning, Tuning::Shared(_))
    }

    /// The window was announced in another way up to `edge`.
    pub(super) fn extend_edge(&mut self, edge: u64) {
        self.edge = self.edge.max(edge);
    }

    /// The peer uses 64-bit numbers. Whether that is new.
    #[inline]
    pub(super) const fn use_long_numbers(&mut self) -> bool {
        if self.long_numbers {
            return false;
        }
        self.long_numbers = true;
        self.mark_changed();
        true
    }

    /// Acknowledgements have 64 bits.
    #[inline]
    pub(super) const fn uses_long_numbers(&self) -> bool {
        self.long_numbers
    }

    /// A mapping of data at an offset of the connection to one of the subflow arrived.
    #[inline]
    pub(super) const fn note_offsets(&mut self, data: u64, subflow: u64) {
        self.shifted |= data != subflow;
    }

    /// All data had the same offset in connection and subflow.
    pub(super) const fn is_one_stream(&self) -> bool {
        !self.shifted
    }

    /// The first subflow is established, which accepts segments of `mss` bytes.
    pub(super) fn on_established(&mut self, now: Instant, mss: u32) {
        match &mut self.tuning {
            Tuning::Whole(buffer) => buffer.on_established(now, mss),
            Tuning::Shared(buffer) => buffer.on_established(now),
        }
    }

    /// Another subflow is established.
    pub(super) fn on_joined(&mut self) {
        if let Tuning::Whole(buffer) = &mut self.tuning {
            buffer.on_joined();
        }
    }

    /// The next offset expected, DATA_FIN included.
    #[inline]
    pub(super) const fn nxt(&self) -> u64 {
        self.data.next_offset() + self.fin_received as u64
    }

    /// The number that is to be acknowledged.
    #[inline]
    pub(super) const fn ack_number(&self) -> u64 {
        self.first_dsn.wrapping_add(self.nxt())
    }

    /// Whether payload from a subflow continues the highest that waits behind a gap, within the
    /// window; then it is kept. Four of five segments, while the other path is waited for: they
    /// need a third of the steps of [`DataReceive::insert`], which does the same.
    pub(super) fn extend_top(&mut self, offset: u64, payload: &Payload) -> bool {
        let len = payload.len();
        let within = offset.saturating_add(u64::from(len)) <= self.edge;
        if !within || self.fin_offset.is_some() || !self.is_shared() {
            return false;
        }
        if !self.data.extend_top(offset, payload) {
            return false;
        }
        let truesize = self.memory_of(offset, len, true);
        if let Tuning::Shared(buffer) = &mut self.tuning {
            buffer.on_queued(len, truesize);
        }
        true
    }

    /// Payload from a subflow. Whether something new arrived in order; what is beyond the announced
    /// edge (`acceptable`) or behind the end of the stream is dropped.
    #[inline(never)]
    pub(super) fn insert(&mut self, now: Instant, offset: u64, payload: Payload) -> bool {
        let len = payload.len();
        let room = self.acceptable(offset, len);
        let mut payload = payload;
        if room != len {
            cold_path();
            payload = payload.slice(0, room);
        }
        if payload.is_empty() {
            cold_path();
            return false;
        }
        let inserted = self.data.insert(offset, payload);
        self.extend_edge(self.data.next_offset());
        debug_assert!(self.data.highest() <= self.edge, "nothing is kept beyond the window");
        self.duplicate_bytes += u64::from(room) - inserted.new_bytes;
        if inserted.new_bytes == 0 {
            cold_path();
            return false;
        }
        // New bytes are a part of a payload, whose length is a u32.
        let fresh = inserted.new_bytes as u32;
        let truesize = self.memory_of(offset, fresh, inserted.out_of_order);
        match &mut self.tuning {
            Tuning::Shared(buffer) => buffer.on_queued(fresh, truesize),
            Tuning::Whole(buffer) => {
                cold_path();
                buffer.on_segment(&Received {
                    now,
                    len: fresh,
                    truesize,
                    sack_bytes: 0,
                    push: false,
                    in_order: !inserted.out_of_order,
                    next_offset: self.data.next_offset(),
                    highest: self.data.highest(),
                });
            }
        }
        inserted.advanced > 0
    }

    /// How much of `len` bytes of payload from `offset` on is taken: what is within the announced
    /// edge (RFC 8684 s3.8). Mainline drops a segment behind a gap that crosses the edge
    /// (`mptcp_data_queue_ofo`), although its subflow acknowledged it, and takes data in order
    /// without a look at the edge (`__mptcp_move_skb`), as far as there is memory.
    fn acceptable(&self, offset: u64, len: u32) -> u32 {
        let end = offset.saturating_add(u64::from(len));
        let edge =
            match &self.tuning {
                Tuning::Whole(_) => self.edge,
                Tuning::Shared(buffer) if offset <= self.data.next_offset() => {
                    if buffer.has_room() { end } else { self.edge }
                }
                Tuning::Shared(_) => {
                    if end > self.edge {
                        offset
                    } else {
                        end
                    }
                }
            };
        let end = edge.min(self.fin_offset.unwrap_or(u64::MAX));
        // At most `len`.
        end.saturating_sub(offset).min(u64::from(len)) as u32
    }

    /// Memory of `len` new bytes from `offset` on. Those that follow the highest ones behind a gap
    /// are copied to these if they fit (Linux `mptcp_ooo_try_coalesce`).
    #[inline]
    fn memory_of(&mut self, offset: u64, len: u32, out_of_order: bool) -> u32 {
        let (end, room) = self.tail;
        let end_of_new = offset + u64::from(len);
        if out_of_order && offset == end && len <= room {
            self.tail = (end_of_new, room - len);
            return 0;
        }
        if self.sizes.len != len {
            self.sizes = Sizes::of(len);
        }
        if end_of_new >= end {
            self.tail = (end_of_new, self.sizes.tail_room);
        }
        self.sizes.truesize
    }

    /// In-order data of a subflow were taken, behind a gap of the connection or not: there is less
    /// room for all, and the subflow may acknowledge two segments without the reader.
    #[inline]
    pub(super) fn on_taken(&mut self, entry: &mut SubflowEntry) {
        if let Tuning::Shared(buffer) = &self.tuning {
            entry.tcp.on_passed(self.data.readable() == 0, || buffer.room());
            self.mark_changed();
        }
    }

    /// Payload that was not read, in bytes.
    #[inline]
    pub(super) const fn held(&self) -> u64 {
        self.data.readable() + self.data.out_of_order_bytes()
    }

    /// Payload that can be read, in bytes.
    #[inline]
    pub(super) const fn readable(&self) -> u64 {
        self.data.readable()
    }

    /// The next offset expected, without the DATA_FIN.
    #[inline]
    pub(super) const fn next_offset(&self) -> u64 {
        self.data.next_offset()
    }

    /// Payload that arrived before what precedes it, in bytes.
    #[inline]
    pub(super) const fn out_of_order_bytes(&self) -> u64 {
        self.data.out_of_order_bytes()
    }

    /// Payload that arrived twice, in bytes.
    pub(super) const fn duplicate_bytes(&self) -> u64 {
        self.duplicate_bytes
    }

    /// What may arrive within the window announced, in bytes.
    #[inline]
    pub(super) const fn room(&self) -> u64 {
        self.edge.saturating_sub(self.data.next_offset())
    }

    /// Limits what a subflow accepts of the next segment: all subflows, which have `held` bytes
    /// now, together never have more than the receive buffer (RFC 8684 s3.8). After a fallback
    /// (`plain`) the window is the limit.
    #[inline]
    pub(super) fn limit_reception(&self, entry: &mut SubflowEntry, held: u64, plain: bool) {
        let limit = if plain {
            self.room()
        } else {
            let (_, own_gaps) = entry.tcp.held();
            let others = held.saturating_sub(own_gaps);
            u64::from(self.max()).saturating_sub(others).max(LEAST_RECEPTION)
        };
        entry.tcp.limit_reception(u32::try_from(limit).unwrap_or(u32::MAX));
    }

    /// What may wait in a subflow for its mapping, in bytes.
    #[inline]
    pub(super) fn unmapped_limit(&self) -> u64 {
        self.room().max(LEAST_RECEPTION)
    }

    /// How many mappings of a subflow may wait for their data.
    #[inline]
    pub(super) fn mapping_limit(&self) -> usize {
        MAX_MAPPINGS.max(self.max() as usize / BYTES_PER_MAPPING)
    }

    /// A mapping arrived on a segment of a subflow at (offset, length); `fin`: its last number is
    /// the DATA_FIN.
    #[inline(always)]
    pub(super) fn on_mapping(
        &mut self,
        entry: &mut SubflowEntry,
        (at, len): (u64, u32),
        mapping: &Mapping,
        fin: bool,
    ) -> Mapped {
        let (dsn, data) = self.expand(mapping.dsn);
        let bytes = u32::from(mapping.len) - u32::from(fin);
        if bytes == 0 && !mapping.matches(dsn, &Payload::EMPTY) {
            return Mapped::Invalid;
        }
        let mut refused = 0;
        if fin {
            cold_path();
            refused = u64::from(self.on_data_fin(data.wrapping_add(u64::from(bytes))).is_err());
        }
        if bytes == 0 {
            cold_path();
            if fin {
                entry.tcp.acknowledge();
            }
            return Mapped::Taken { refused };
        }
        let map = ReceivedMapping::new(*mapping, bytes, (dsn, data), at);
        let Some(map) = map else { return Mapped::Contradiction { refused } };
        // It applies to a part of the segment at least (RFC 8684 s3.3.1).
        if !map.overlaps(at, len) {
            return Mapped::Taken { refused: refused + 1 };
        }
        if map.end() <= entry.tcp.received().0 {
            // A repetition of what was taken already.
            return Mapped::Taken { refused };
        }
        self.note_offsets(map.data, map.offset);
        let contradicts = entry.received.insert(map).is_err();
        if contradicts || entry.received.len() > self.mapping_limit() {
            return Mapped::Contradiction { refused };
        }
        Mapped::Taken { refused }
    }

    /// A DATA_FIN at `offset`. A stream ends once, behind everything that arrived.
    pub(super) fn on_data_fin(&mut self, offset: u64) -> Result<(), Contradiction> {
        let within = (self.data.highest()..=self.edge).contains(&offset);
        if within && self.fin_offset.is_none() {
            self.fin_offset = Some(offset);
        }
        if self.fin_offset == Some(offset) { Ok(()) } else { Err(Contradiction) }
    }

    /// The stream is that of the first subflow, and ends with its FIN: a middlebox may have made it
    /// longer than the DATA_FIN said.
    pub(super) fn forget_fin(&mut self) {
        if !self.fin_received {
            self.fin_offset = None;
        }
    }

    /// The DATA_FIN, or the FIN after a fallback, was reached in order.
    #[inline]
    pub(super) const fn is_fin_received(&self) -> bool {
        self.fin_received
    }

    /// The FIN of the first subflow was reached after a fallback. Whether the end is new.
    pub(super) const fn on_plain_fin(&mut self) -> bool {
        !std::mem::replace(&mut self.fin_received, true)
    }

    /// What every subflow is to acknowledge.
    #[inline]
    pub(super) const fn data_ack(&self) -> DataNumber {
        data_number(self.long_numbers, self.ack_number())
    }

    /// Where the stream ends is known, or it has ended.
    #[inline]
    pub(super) const fn knows_end(&self) -> bool {
        self.fin_received || self.fin_offset.is_some()
    }

    /// Whether the DATA_FIN is reached just now.
    #[inline]
    pub(super) fn reach_fin(&mut self) -> bool {
        let reached = !self.fin_received && self.fin_offset == Some(self.data.next_offset());
        self.fin_received |= reached;
        self.version += u64::from(reached);
        reached
    }

    /// What is left of the window announced, in bytes.
    fn left(&self) -> u32 {
        u32::try_from(self.window_left()).unwrap_or(u32::MAX)
    }

    /// The same, of any size.
    pub(super) const fn window_left(&self) -> u64 {
        self.edge.saturating_sub(self.nxt())
    }

    /// What subflows are to announce, with windows of this shift.
    #[inline]
    pub(super) fn window(&mut self, shift: u8) -> SharedWindow {
        let left = self.left();
        match &mut self.tuning {
            Tuning::Shared(buffer) => SharedWindow::Room { space: buffer.room(), left },
            Tuning::Whole(buffer) => {
                let window = buffer.window(left, shift).min(65_535 << shift);
                self.move_edge(window);
                SharedWindow::Whole(window)
            }
        }
    }

    /// A subflow announced `window` bytes. If the right edge moved the others announce it, too.
    #[inline]
    pub(super) fn on_announced(&mut self, window: u32) {
        if matches!(self.tuning, Tuning::Shared(_)) {
            self.announced = window;
            self.version += u64::from(self.move_edge(window));
        }
    }

    /// The window announced last on any subflow, in bytes.
    pub(super) const fn announced(&self) -> u32 {
        self.announced
    }

    fn move_edge(&mut self, window: u32) -> bool {
        let before = self.edge;
        self.edge = before.max(self.nxt() + u64::from(window));
        self.edge > before
    }

    /// The largest size of the buffer, in bytes of memory.
    #[inline]
    pub(super) const fn max(&self) -> u32 {
        match &self.tuning {
            Tuning::Whole(buffer) => buffer.max(),
            Tuning::Shared(buffer) => buffer.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(receive: &DataReceive, told: &mut u64) -> bool {
        std::mem::replace(told, receive.version()) != receive.version()
    }

    fn receive() -> DataReceive {
        DataReceive::new(&MptcpConfig::default(), 1500, SYN_HEADER)
    }

    fn mainline() -> DataReceive {
        let config = MptcpConfig { mainline_limits: true, ..MptcpConfig::default() };
        DataReceive::new(&config, 1500, SYN_HEADER)
    }

    #[test]
    fn stream_ends_once_and_behind_everything_that_arrived() {
        let mut receive = receive();
        receive.insert(Instant::ZERO, 10, Payload::from(vec![0; 10]));
        assert_eq!(receive.on_data_fin(19), Err(Contradiction), "before its last byte");
        assert_eq!(receive.on_data_fin(20), Ok(()));
        assert_eq!(receive.on_data_fin(20), Ok(()), "a repetition");
        assert_eq!(receive.on_data_fin(21), Err(Contradiction));
        assert!(!receive.reach_fin(), "data are missing before it");
        receive.insert(Instant::ZERO, 0, Payload::from(vec![0; 10]));
        assert!(receive.reach_fin());
        assert_eq!(receive.nxt(), 21, "the DATA_FIN has a number");
        assert!(!receive.reach_fin(), "it is reached once");
    }

    /// Mainline drops them although the subflow acknowledged them: the connection has to send them
    /// again.
    #[test]
    fn segment_behind_a_gap_that_crosses_the_edge_is_dropped_whole() {
        let mut receive = mainline();
        let edge = receive.edge;
        let segment = || Payload::from(vec![0; 1000]);
        receive.insert(Instant::ZERO, edge - 999, segment());
        assert_eq!(receive.out_of_order_bytes(), 0);
        receive.insert(Instant::ZERO, edge - 1000, segment());
        assert_eq!(receive.out_of_order_bytes(), 1000);
    }

    #[test]
    fn segment_in_order_is_taken_beyond_the_edge() {
        let mut receive = mainline();
        let edge = receive.edge;
        let payload = |len: u64| Payload::from(vec![0; len as usize]);
        assert!(receive.insert(Instant::ZERO, 0, payload(edge - 10)));
        assert!(receive.insert(Instant::ZERO, edge - 10, payload(1000)));
        assert_eq!(receive.next_offset(), edge + 990);
        assert_eq!(receive.room(), 0);
    }

    #[test]
    fn segment_that_continues_the_highest_is_kept_the_same_either_way() {
        let state = |receive: &DataReceive| {
            let Tuning::Shared(buffer) = &receive.tuning else { panic!("mainline shares") };
            let held = (receive.out_of_order_bytes(), receive.duplicate_bytes, buffer.used());
            (held, receive.tail, receive.next_offset(), receive.edge)
        };
        let (mut short, mut whole) = (mainline(), mainline());
        let (edge, mut continued) = (short.edge, 0);
        let first = [(5000, 1000), (6000, 1000), (7000, 40), (7040, 12), (0, 1000), (7052, 1420)];
        for (at, len) in first.into_iter().chain([(edge - 2000, 1000), (edge - 1000, 1001)]) {
            let payload = || Payload::virtual_range(1, at, len);
            if short.extend_top(at, &payload()) {
                continued += 1;
            } else {
                short.insert(Instant::ZERO, at, payload());
            }
            whole.insert(Instant::ZERO, at, payload());
            assert_eq!(state(&short), state(&whole), "{at}");
        }
        assert_eq!(continued, 4, "not the first ones of a range, nor what crosses the edge");
    }

    /// 64 bytes of head room, 1500 of packet and 320 behind it leave 164 of 2048.
    #[test]
    fn small_segments_behind_a_gap_share_the_memory_of_the_one_before() {
        let mut receive = mainline();
        let used = |receive: &DataReceive| match &receive.tuning {
            Tuning::Shared(buffer) => buffer.used(),
            Tuning::Whole(_) => panic!("mainline shares the buffer"),
        };
        let mut at = 10_000;
        let mut arrives = |receive: &mut DataReceive, len: usize| {
            receive.insert(Instant::ZERO, at, Payload::from(vec![0; len]));
            at += len as u64;
            used(receive)
        };
        assert_eq!(arrives(&mut receive, 1420), 2304);
        assert_eq!(arrives(&mut receive, 160), 2304);
        assert_eq!(arrives(&mut receive, 12), 2304 + 960, "four bytes were left");
        assert_eq!(arrives(&mut receive, 12), 2304 + 960);
        assert_eq!(arrives(&mut receive, 1420), 2304 + 960 + 2304);
    }

    #[test]
    fn subflows_are_updated_after_a_change() {
        let mut receive = receive();
        let mut told = 0;
        assert!(changes(&receive, &mut told) && !changes(&receive, &mut told));
        assert!(receive.use_long_numbers() && !receive.use_long_numbers());
        assert!(changes(&receive, &mut told) && !changes(&receive, &mut told));
    }

    #[test]
    fn subflow_may_receive_a_segment_whatever_others_hold() {
        let receive = receive();
        assert_eq!(receive.unmapped_limit(), receive.room().max(LEAST_RECEPTION));
        assert!(receive.mapping_limit() >= MAX_MAPPINGS);
    }
}
