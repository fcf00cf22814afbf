//! One subflow of a connection: its TCP, and what the connection keeps about it.

use super::fallback::Announcement;
use super::mappings::ReceivedMappings;
use super::numbers::SendNumbers;
use super::opening::SYN_REPETITIONS;
use super::priority::Priority;
use super::remove_addr::RemovalCheck;
use super::stage::{Handshake, Stage};
use crate::congestion::Controller;
use crate::info::PathInfo;
use crate::multipath::{PathAccount, SendQueue, Signs};
use crate::path_manager::Ending;
use crate::socket::SocketError;
use crate::tcp::multipath::{SegmentInfo, TimerSignals};
use crate::tcp::subflow::Subflow;
use base::{Instant, InterfaceId, PathId};
use wire::mptcp::{DataNumber, Mapping, MptcpOption};
use wire::{Flags, Payload, TcpSegment};

/// The address identifiers of a subflow (RFC 8684 s3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressIds {
    pub local: u8,
    pub remote: u8,
}

impl AddressIds {
    /// Of the first subflow.
    pub const FIRST: AddressIds = AddressIds { local: 0, remote: 0 };
}

/// What a subflow received next in order.
#[derive(Clone, Copy, Debug)]
pub enum NextReceived {
    /// Nothing, or not all that a checksum covers.
    Nothing,
    /// `waiting` bytes from `offset` of the subflow on without a mapping.
    Unmapped { offset: u64, waiting: u64 },
    /// `len` bytes from `offset` of the subflow on, which are those from `data` of the connection
    /// on; `summed`: they are those of a mapping with a checksum.
    Mapped { data: u64, offset: u64, len: u32, summed: bool },
}

/// One subflow of a connection.
#[derive(Debug)]
pub struct SubflowEntry {
    pub path: PathId,
    pub tcp: Subflow,
    pub interface: InterfaceId,
    pub handshake: Handshake,
    pub ids: AddressIds,
    pub priority: Priority,
    /// The peer removed its address; whether the subflow still works is being checked.
    pub removal: Option<RemovalCheck>,
    pub received: ReceivedMappings,
    /// Where the last data passed to it end in the connection's stream.
    pub last_end: Option<u64>,
    /// Payload that its TCP holds, in bytes, when last counted by `Subflows`.
    pub(super) held: u64,
    /// `DataReceive::version` of what it was told last to acknowledge and to announce.
    pub(super) informed: u64,
    /// It is in the queue of `Subflows`.
    pub(super) queued: bool,
}

impl SubflowEntry {
    /// A subflow whose handshake begins.
    pub fn new(
        tcp: Subflow,
        interface: InterfaceId,
        handshake: Handshake,
        ids: AddressIds,
        priority: Priority,
    ) -> Self {
        SubflowEntry {
            path: tcp.path(),
            tcp,
            interface,
            handshake,
            ids,
            priority,
            removal: None,
            received: ReceivedMappings::default(),
            last_end: None,
            held: 0,
            informed: 0,
            queued: false,
        }
    }

    /// Whether a segment concerns only data and acknowledgements: the subflow is not being opened,
    /// ended or checked, and the only option is a DSS. Asked once, instead of each question about
    /// the rest.
    #[inline]
    pub fn takes_usual(&self, segment: &TcpSegment) -> bool {
        segment.flags | Flags::PSH == Flags::ACK | Flags::PSH
            && segment.options.mptcp.is_only_dss()
            && self.stage() == Stage::Open
            && self.removal.is_none()
    }

    /// What its retransmission timer did since the last call.
    #[inline]
    pub fn take_signs(&mut self) -> Signs {
        let Some(mp) = self.tcp.multipath() else { return Signs::default() };
        let TimerSignals { timed_out, probed } = mp.take_signals();
        Signs { timed_out, probed }
    }

    /// The state of its handshake.
    #[inline]
    pub const fn stage(&self) -> Stage {
        self.handshake.stage()
    }

    /// Whether it can be used for data.
    #[inline]
    pub fn is_usable(&self) -> bool {
        self.stage() == Stage::Open && self.tcp.may_send()
    }

    /// It is over, and nothing of it is left to be sent.
    pub fn is_free(&self) -> bool {
        self.stage() == Stage::Gone && self.tcp.is_closed() && !self.queued
    }

    /// Counts again what its TCP holds, in bytes.
    #[inline]
    pub(super) fn count_held(&mut self) -> u64 {
        let (in_order, gaps) = self.tcp.held();
        self.held = if self.stage() == Stage::Gone { 0 } else { in_order + gaps };
        self.held
    }

    /// Either host asks for it to be used as a backup only.
    #[inline]
    pub const fn is_backup(&self) -> bool {
        self.priority.is_backup()
    }

    /// The earliest deadline of its TCP, its handshake and the check of its address, if it is
    /// before `at`, else any time that is not.
    #[inline]
    pub fn deadline_before(&mut self, at: Instant) -> Instant {
        let tcp = self.tcp.deadline_before(at);
        if self.stage() == Stage::Open && self.removal.is_none() {
            return tcp;
        }
        let removal = self.removal.map_or(Instant::FAR_FUTURE, RemovalCheck::deadline);
        tcp.min(self.handshake.deadline()).min(removal)
    }

    /// Whether a segment for the first subflow of a server has a DSS but lacks the keys that are to
    /// come first (RFC 8684 s3.1).
    #[inline]
    pub fn comes_before_keys(&self, segment: &TcpSegment) -> bool {
        let options = &segment.options.mptcp;
        self.stage() == Stage::Opening
            && self.tcp.handshake_repetitions() <= SYN_REPETITIONS
            && !segment.flags.contains(Flags::SYN)
            && options.dss.is_some()
            && options.capable().is_none()
    }

    /// The SYN/ACK of its join was verified: `third`, the proof of this host, goes out on its
    /// acknowledgements. The peer's address identifier and backup flag come with it.
    pub fn on_join_answered(
        &mut self,
        now: Instant,
        remote_nonce: u32,
        (remote_id, backup): (u8, bool),
        third: MptcpOption,
    ) {
        self.handshake.on_answered(now, remote_nonce, self.tcp.rto());
        self.ids.remote = remote_id;
        self.priority.add_remote(backup);
        if let Some(mp) = self.tcp.multipath() {
            mp.repeat_on_acks(third);
        }
    }

    /// It is the only one from now on, and TCP: `infinite` is the mapping to announce that with,
    /// `window` the end of the connection's window.
    pub fn fall_back(&mut self, infinite: Option<Mapping>, window: u64) {
        if self.stage() != Stage::Gone {
            self.handshake.on_open();
        }
        self.received = ReceivedMappings::default();
        let una = self.tcp.una();
        if let Some(mp) = self.tcp.multipath() {
            mp.fall_back(infinite);
            mp.retain_queued(|option| matches!(option, MptcpOption::Fail { .. }));
        }
        self.tcp.lower_window(window.saturating_sub(una));
    }

    /// How a subflow ended that failed with `error`; `open`: it was open.
    pub fn ending(&self, error: SocketError, open: bool) -> Ending {
        match error {
            SocketError::TimedOut if open => Ending::TimedOut,
            SocketError::TimedOut | SocketError::Unreachable => Ending::Unreachable,
            _ => self.handshake.reset_reason.unwrap_or(Ending::Reset),
        }
    }

    /// Make the peer answer on it. Whether it is in a state to be answered on.
    pub fn prompt(&mut self) -> bool {
        match self.stage() {
            Stage::Open => self.tcp.send_keep_alive(),
            Stage::Opening if !self.handshake.is_initiator() => self.tcp.repeat_syn_ack(),
            _ => return false,
        }
        true
    }

    /// What it received next in order.
    #[inline]
    pub fn next_received(&self) -> NextReceived {
        let (offset, readable) = self.tcp.received();
        if readable == 0 {
            return NextReceived::Nothing;
        }
        let Some(map) = self.received.at(offset) else {
            return NextReceived::Unmapped { offset, waiting: readable };
        };
        debug_assert!(map.offset <= offset && offset < map.end());
        let left = map.end() - offset;
        let is_summed = map.wire.checksum.is_some();
        if is_summed && readable < left {
            // A checksum covers the whole mapping.
            return NextReceived::Nothing;
        }
        let data = map.data.wrapping_add(offset - map.offset);
        let len = left.min(readable) as u32;
        NextReceived::Mapped { data, offset, len, summed: is_summed }
    }

    /// The data sequence number at which the mapping of `payload`, received at `offset`, begins, if
    /// its checksum is wrong.
    #[inline(never)]
    pub fn wrong_checksum(&self, offset: u64, payload: &Payload) -> Option<u64> {
        let map = self.received.at(offset)?;
        (!map.wire.matches(map.dsn, payload)).then_some(map.dsn)
    }

    /// Whether a segment without any option shows that options are lost, and what to announce
    /// then (RFC 8684 s3.7). `pending`: a fallback was proposed.
    #[inline]
    pub fn lost_options(&self, segment: &SegmentInfo<'_>, pending: bool) -> Option<Announcement> {
        let (taken, readable) = self.tcp.received();
        let end = segment.offset + u64::from(segment.len);
        // What arrived out of order may be covered by what fills the gap (RFC 8684 s3.3.1).
        let fresh = segment.len > 0 && (taken + 1..=taken + readable).contains(&end);
        let unmapped = fresh && self.received.at(segment.offset.max(taken)).is_none();
        let unacked = segment.acked_data && segment.len == 0 && self.last_end.is_some();
        if unacked {
            return Some(Announcement::InfiniteMapping);
        }
        // A FIN without options ends the stream of a peer that is TCP already.
        (unmapped || segment.fin || pending).then_some(Announcement::Nothing)
    }

    /// Bytes of `queue` that were passed to it alone and wait to be sent. `numbers`: `None` after a
    /// fallback.
    fn queued_bytes(&self, queue: &SendQueue, numbers: Option<&SendNumbers>) -> u64 {
        let Some(numbers) = numbers else { return self.tcp.unsent() };
        let bytes = |(number, len): (DataNumber, u16)| {
            let offset = numbers.offset_near(number, queue.una());
            queue.bytes_on_only(self.path, offset..offset.saturating_add(len.into()))
        };
        self.tcp.unsent_data().map(bytes).sum()
    }

    /// Its state, for measurement; `sent`: what was passed to it of `queue`.
    pub(super) fn info(
        &self,
        controller: &Controller,
        sent: PathAccount,
        (queue, numbers): (&SendQueue, Option<&SendNumbers>),
    ) -> PathInfo {
        let tcp = self.tcp.info(controller);
        let queued_bytes = self.queued_bytes(queue, numbers).min(sent.first_sent_bytes);
        PathInfo {
            path: self.path,
            interface: self.interface,
            local: self.tcp.tuple().local,
            remote: self.tcp.tuple().remote,
            backup: self.is_backup(),
            probing: false,
            is_over: tcp.is_over(),
            first_sent_bytes: sent.first_sent_bytes - queued_bytes,
            queued_bytes,
            segs_retrans: tcp.segs_retrans,
            spurious_retrans: tcp.spurious_retrans,
            reinjected_bytes: sent.reinjected_bytes,
            reinjected_segs: sent.reinjected_segs,
            tcp,
        }
    }

    /// It ended: what was received and not taken is discarded. Whether it had not ended before.
    pub fn on_gone(&mut self) -> bool {
        if !self.handshake.on_gone() {
            return false;
        }
        self.removal = None;
        self.received = ReceivedMappings::default();
        self.tcp.discard();
        true
    }
}
