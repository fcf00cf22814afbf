//! `Sender`: what an association has to send, has sent, and may send (RFC 9260 s6.1, s7.2).
//!
//! Messages become fragments in `OutboundStreams`, fragments get TSNs in `Outstanding` when they
//! are first sent. Which path a chunk takes, timers and packets are left to the association; what a
//! SACK does is in `acknowledge`.

use super::abandon::Abandonment;
use super::acknowledge::Before;
use super::binding::{Binding, Bound, MAX_SPAN, Source};
use super::burst::{BurstRoom, Bursts};
use super::cmt::{BufferBasis, CmtConfig, Marks, split};
use super::config::SctpConfig;
use super::eligibility::Eligibility;
use super::gaps::{GapStructure, SentGaps};
use super::outgoing::{Outgoing, Place};
use super::outstanding::{Outstanding, UserData};
use super::path::Path;
use super::profile::SctpParameters;
use super::resent::Resent;
use super::schedule::Schedule;
use super::streams::{
    Fragment, Framing, InvalidStream, Message, OutboundStreams, Sequence, StreamOrder,
};
use crate::congestion::{CongestionControl, Controller};
use base::{Blocked, Context, Duration, Event, EventMask, Instant, PathId, SocketId};
use std::hint::cold_path;
use wire::Payload;
use wire::sctp::{Chunk, Data, IData, Tsn};

/// Chunks outstanding at most: gap blocks reach no further, nor do SSNs of a stream (RFC 9260 s1.6,
/// s3.3.4).
const MAX_OUTSTANDING: usize = 65_535;

/// A chunk that was sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub fragment: Fragment,
    /// Position of its first byte in all user data of the association.
    pub offset: u64,
}

impl UserData for Sent {
    fn bytes(&self) -> u64 {
        self.fragment.payload.len().into()
    }
}

/// How a sender is set up.
#[derive(Clone, Copy, Debug)]
pub(super) struct SenderSetup {
    pub socket: SocketId,
    pub initial_tsn: Tsn,
    /// Outbound streams.
    pub streams: u16,
    pub framing: Framing,
    pub order: StreamOrder,
    /// Receiver window of the peer, in bytes.
    pub peer_rwnd: u32,
    /// User data that are buffered at most, in bytes.
    pub buffer: u32,
    /// The largest fragment, in bytes of user data.
    pub fragment: u32,
    /// Bytes of the messages that a byte stream is cut into.
    pub message_size: u32,
    pub nagle: bool,
    pub gap_structure: GapStructure,
    /// Messages can be abandoned: both sides have FORWARD TSN (RFC 3758).
    pub partial: bool,
}

/// The sending side.
pub(super) struct Sender {
    pub(super) streams: OutboundStreams,
    pub(super) outstanding: Outstanding<Sent>,
    pub(super) gaps: SentGaps,
    pub(super) control: Controller,
    pub(super) setup: SenderSetup,
    pub(super) rules: SctpParameters,
    /// What the peer can take, in bytes of chunks.
    pub(super) peer_rwnd: u64,
    /// User data that got a TSN, in bytes.
    bound: u64,
    /// User data that were sent and may be asked for again, in bytes.
    held: u64,
    /// User data that were acknowledged cumulatively, in bytes.
    pub(super) acked: u64,
    pub(super) probe: Probe,
    pub(super) abandonment: Abandonment,
    /// A write was refused or cut short: what it needs to go on.
    wanted: Option<Wanted>,
    /// The vector for the paths of the next SACK.
    pub(super) spare_paths: Vec<Before>,
    /// The largest window that the peer has offered, in bytes.
    pub(super) largest_rwnd: u64,
    /// The last SACK had gap blocks; kept for `T3Rule::FreeBsd` alone.
    pub(super) saw_gaps: bool,
    pub(super) hold: Hold,
    pub(super) bursts: Bursts,
    pub(super) resent: Resent,
    /// Data go on all paths at once.
    pub(super) cmt: Option<Box<Concurrent>>,
}

/// What a sender on all paths has in addition.
pub(super) struct Concurrent {
    pub config: CmtConfig,
    pub marks: Marks,
    /// Paths that are not deleted, of which each has its share of the buffers.
    pub live: Vec<PathId>,
    /// What chooses the path of new data, instead of `CmtConfig::send_all`.
    pub schedule: Option<Schedule>,
    /// What a scheduler that plans ahead has bound to paths.
    pub binding: Option<Binding>,
    /// Which paths get new data; `None`: all of them.
    pub policy: Option<Box<Eligibility>>,
}

impl Concurrent {
    /// Number of paths that share the buffers.
    pub(super) fn paths(&self) -> u64 {
        self.live.len().max(1) as u64
    }
}

/// Room that a writer waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wanted {
    /// For a whole message with this number of bytes.
    Message(u64),
    /// For bytes: a third of the buffer, as with TCP in Linux (`sk_stream_is_writeable`), or a
    /// message as soon as little is queued.
    Bytes,
    /// Any, once streams are not being reset any more.
    End,
}

/// Queued chunks below which a writer of bytes is woken at once.
const FEW_CHUNKS: u64 = 8;

/// Data that wait for a larger window of the peer, as those of TCP do (RFC 1122 s4.2.3.4): many
/// small chunks cost more than few large ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hold {
    Off,
    /// They are sent then at the latest.
    Until(Instant),
    /// They have waited long enough.
    Over,
}

/// The time that data wait for a larger window (RFC 1122 s4.2.3.4: 0.1 to 1 s).
const SILLY_OVERRIDE: Duration = Duration::from_millis(200);

/// Zero-window probes (RFC 9260 s6.1 A).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Probe {
    /// The window is open.
    Off,
    /// The window is too small for a chunk and nothing is outstanding; a timer runs.
    Waiting,
    /// One chunk may be sent.
    Due,
    /// A chunk was sent into the closed window.
    Sent,
    /// A SACK answered the probe, which is not acknowledged.
    Answered,
}

impl Sender {
    /// Nothing is sent. Paths are added to `control` by the caller.
    pub(super) fn new(
        setup: SenderSetup,
        rules: SctpParameters,
        control: Controller,
        cmt: Option<CmtConfig>,
    ) -> Sender {
        let outstanding = Outstanding::new(setup.initial_tsn);
        let concurrent = |config: CmtConfig| {
            Box::new(Concurrent {
                config,
                marks: Marks::new(config.algorithms),
                live: Vec::new(),
                schedule: None,
                binding: None,
                policy: None,
            })
        };
        Sender {
            streams: OutboundStreams::new(setup.streams, setup.framing, setup.order),
            outstanding,
            gaps: SentGaps::new(setup.gap_structure, setup.initial_tsn),
            control,
            setup,
            rules,
            peer_rwnd: setup.peer_rwnd.into(),
            bound: 0,
            held: 0,
            acked: 0,
            probe: Probe::Off,
            abandonment: Abandonment::new(setup.partial),
            wanted: None,
            spare_paths: Vec::new(),
            cmt: cmt.map(concurrent),
            largest_rwnd: setup.peer_rwnd.into(),
            saw_gaps: false,
            resent: Resent::default(),
            hold: Hold::Off,
            bursts: Bursts::default(),
        }
    }

    /// User data that may be buffered in addition, in bytes.
    pub(super) fn room(&self) -> u64 {
        u64::from(self.setup.buffer).saturating_sub(self.buffered())
    }

    /// User data in the send buffer, in bytes.
    pub(super) fn buffered(&self) -> u64 {
        self.held + self.unsent_bytes()
    }

    /// User data that were never sent, in bytes.
    #[inline(always)]
    pub(super) fn unsent_bytes(&self) -> u64 {
        self.streams.queued_bytes() + self.binding().map_or(0, Binding::bytes)
    }

    /// What a scheduler that plans ahead has bound to paths; `None`: it does not.
    pub(super) fn binding(&self) -> Option<&Binding> {
        self.cmt.as_ref()?.binding.as_ref()
    }

    fn binding_mut(&mut self) -> Option<&mut Binding> {
        self.cmt.as_mut()?.binding.as_mut()
    }

    /// Why the scheduler passes what is left to no path.
    pub(super) fn scheduler_waits(&self) -> Option<Blocked> {
        let why = self.cmt.as_ref()?.schedule.as_ref()?.waits()?;
        (self.has_unbound() && why != Blocked::NothingToSend).then_some(why)
    }

    /// Whether data were passed to no path yet.
    pub(super) fn has_unbound(&self) -> bool {
        self.streams.queued_bytes() > 0
            || self.binding().is_some_and(|binding| binding.next() < binding.end())
    }

    /// Whether the path policy leaves no new data to `path`.
    pub(super) fn is_suspended(&self, path: PathId) -> bool {
        self.policy().is_some_and(|policy| policy.is_suspended(path))
    }

    /// The path policy, if it does anything.
    pub(super) fn policy(&self) -> Option<&Eligibility> {
        self.cmt.as_ref()?.policy.as_deref()
    }

    /// New data go where the scheduler of `config` says, if data go on all paths.
    pub(super) fn choose_paths_by(&mut self, config: &SctpConfig) {
        let Some(cmt) = &mut self.cmt else { return };
        cmt.schedule = config.scheduler.as_ref().and_then(Schedule::new);
        cmt.policy = Eligibility::new(&config.policy).map(Box::new);
        let plans_ahead = cmt.schedule.as_ref().is_some_and(Schedule::plans_ahead);
        cmt.binding = plans_ahead.then(|| Binding::new(self.setup.framing));
    }

    /// Binds up to `most` bytes at the position `at`, at least a fragment, to `path`. Returns
    /// whether there was anything.
    pub(super) fn bind(&mut self, path: PathId, at: u64, most: u32) -> bool {
        let mut source = Source { streams: &mut self.streams, size: self.setup.fragment };
        let binding = self.cmt.as_mut().and_then(|cmt| cmt.binding.as_mut());
        binding.is_some_and(|binding| binding.bind(path, (at, most), &mut source))
    }

    /// What is bound to `path` and not sent is bound to no path again.
    pub(super) fn unbind(&mut self, path: PathId) {
        if let Some(binding) = self.binding_mut() {
            binding.take_back(path);
        }
    }

    /// Binds the rest of a message that has begun to `path`, if it is bound to none.
    pub(super) fn bind_rest(&mut self, path: Option<PathId>) {
        if let (Some(binding), Some(path)) = (self.binding_mut(), path)
            && binding.has_open_rest()
        {
            binding.bind_rest(path);
        }
    }

    /// The next fragment that is sent on `path`, with its position.
    pub(super) fn take_new(&mut self, path: PathId) -> Option<Bound> {
        if let Some(binding) = self.binding_mut() {
            return binding.pop(path);
        }
        let fragment = self.streams.take(self.setup.fragment)?;
        Some(Bound { offset: self.bound, fragment })
    }

    /// User data of the next new chunk on `path`, in bytes; `None` if there is none.
    #[inline]
    pub(super) fn next_len(&self, path: PathId) -> Option<u32> {
        match self.binding() {
            Some(binding) => binding.front(path).map(|fragment| fragment.payload.len()),
            None => self.streams.next_len(self.setup.fragment),
        }
    }

    /// The same on whichever path is next.
    pub(super) fn next_len_of_all(&self) -> Option<u32> {
        let bound = self.binding().and_then(Binding::first_len);
        bound.or_else(|| self.streams.next_len(self.setup.fragment))
    }

    /// Whether the chunk that `path` sends next leaves room at the peer for what comes before it.
    fn leaves_room(&self, path: PathId) -> bool {
        let margin = 3 * u64::from(self.setup.fragment + self.header());
        self.probe == Probe::Due
            || self
                .binding()
                .is_none_or(|bound| bound.leaves_room(path, self.room_for_new(), margin))
    }

    /// Whether `path` may send what is bound to it next, although what comes first is bound to no
    /// path.
    pub(super) fn may_overtake(&self, path: PathId) -> bool {
        self.next_len(path).is_some() && self.leaves_room(path)
    }

    /// Appends bytes to stream 0; returns how many were taken.
    pub(super) fn write(&mut self, payload: &Payload) -> u32 {
        let taken = u64::from(payload.len()).min(self.room()) as u32;
        if taken < payload.len() {
            self.wanted = Some(Wanted::Bytes);
        }
        if taken > 0 {
            let size = self.setup.message_size;
            // Stream 0 exists in every association.
            let _ = self.streams.append(0, payload.slice(0, taken), size);
        }
        taken
    }

    /// Appends a whole message; returns whether there was room for it. A message larger than the
    /// buffer is taken if the buffer is empty.
    ///
    /// # Errors
    /// If the association has no such stream, or the message is empty.
    pub(super) fn send(&mut self, message: Message) -> Result<bool, InvalidStream> {
        let len = u64::from(message.payload.len());
        self.make_room(len, message.reliability);
        let fits = len <= self.room() || self.buffered() == 0;
        if fits {
            self.abandonment.on_message(message.reliability);
            if self.abandonment.enabled
                && let Some(binding) = self.binding_mut()
            {
                binding.keep_order();
            }
            self.streams.push(message)?;
        } else {
            self.wanted = Some(Wanted::Message(len.min(self.setup.buffer.into())));
        }
        Ok(fits)
    }

    /// A message was refused because its stream is being reset: room does not help.
    pub(super) const fn refuse(&mut self) {
        self.wanted = Some(Wanted::End);
    }

    /// Streams are not being reset any more: a writer that was refused can continue.
    pub(super) fn resume(&mut self) {
        if self.wanted == Some(Wanted::End) {
            self.wanted = Some(Wanted::Message(0));
        }
    }

    /// Whether a writer that was refused can continue: there is room for what it has to send.
    #[inline]
    pub(super) fn take_writable(&mut self) -> bool {
        self.wanted.is_some() && self.take_wanted()
    }

    /// The same of a writer that was refused.
    #[inline(never)]
    fn take_wanted(&mut self) -> bool {
        let buffer = u64::from(self.setup.buffer);
        let can = match self.wanted {
            None | Some(Wanted::End) => false,
            Some(Wanted::Message(len)) => len <= self.room(),
            Some(Wanted::Bytes) => {
                let room = self.room();
                let few = FEW_CHUNKS * u64::from(self.setup.fragment);
                let least = u64::from(self.setup.message_size).min(buffer);
                room >= buffer / 3 || (room >= least && self.unsent_bytes() < few)
            }
        };
        if can {
            self.wanted = None;
        }
        can
    }

    /// Whether everything is acknowledged.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.outstanding.is_empty() && self.unsent_bytes() == 0
    }

    /// Whether the user has sent nothing that is not acknowledged, and nothing can follow from
    /// that: no writer waits, and no message can be given up.
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.is_empty()
            && self.wanted.is_none()
            && self.hold == Hold::Off
            && !self.abandonment.enabled
    }

    /// The next chunk has the TSN `next`, and the messages of all streams are numbered from zero
    /// again (RFC 6525 s5.2.4). Everything is acknowledged.
    pub(super) fn renumber(&mut self, next: Tsn) {
        self.outstanding.renumber(next);
        self.gaps.renumber(next);
        self.abandonment.renumber();
        self.streams.reset(&[]);
    }

    /// Whether anything waits to be sent, or to be sent again.
    pub(super) fn has_data(&self) -> bool {
        self.outstanding.next_marked().is_some() || self.unsent_bytes() > 0
    }

    /// User data that got a TSN, in bytes.
    pub(super) const fn bound(&self) -> u64 {
        self.bound
    }

    /// Whether nothing of a stream waits to be sent for the first time.
    pub(super) fn is_stream_idle(&self, stream: u16) -> bool {
        let is_bound = self.binding().is_some_and(|binding| !binding.is_idle(stream));
        self.streams.is_idle(stream) && !is_bound
    }

    /// User data that were sent and are not held for a retransmission, in bytes.
    pub(super) const fn acknowledged_bytes(&self) -> u64 {
        self.bound.saturating_sub(self.held)
    }

    /// Bytes of windows that the next new chunk takes; 0 if there is none.
    pub(super) fn next_new_len(&self) -> u32 {
        self.next_len_of_all().map_or(0, |payload| self.window_len(payload))
    }

    /// The peer's window with what is in the network, in bytes: what it advertised last.
    pub(super) fn total_window(&self) -> u32 {
        let total = self.peer_rwnd + self.outstanding.total_in_flight_bytes();
        u32::try_from(total).unwrap_or(u32::MAX)
    }

    /// Whether `next_expiry` or the policy may have a deadline.
    #[inline(always)]
    pub(super) fn has_rare_timers(&self) -> bool {
        self.hold != Hold::Off
            || self.abandonment.deadline() != Instant::FAR_FUTURE
            || self.streams.next_expiry().is_some()
            || self.policy().is_some()
    }

    /// When a message that has not begun expires, data have waited long enough for a larger window,
    /// or FORWARD TSN is due, which waits until there is a path for data.
    pub(super) fn next_expiry(&self, has_path: impl FnOnce() -> bool) -> Instant {
        let expiry = self.streams.next_expiry().unwrap_or(Instant::FAR_FUTURE);
        let hold = if let Hold::Until(at) = self.hold { at } else { Instant::FAR_FUTURE };
        let expiry = expiry.min(hold);
        let forward = self.abandonment.deadline();
        if forward < expiry && has_path() { forward } else { expiry }
    }

    /// Bytes of windows that a fragment takes.
    pub(super) fn window_len(&self, payload: u32) -> u32 {
        if self.rules.sending.counts_payload_only {
            return payload;
        }
        (self.header() + payload).next_multiple_of(4)
    }

    /// Bytes of a chunk without its user data.
    pub(super) const fn header(&self) -> u32 {
        match self.setup.framing {
            Framing::Data => Data::HEADER,
            Framing::Interleaved => IData::HEADER,
        }
    }

    /// The window of `path` has room.
    pub(super) fn has_window(&self, path: PathId) -> bool {
        self.outstanding.in_flight_bytes(path) < self.control.cwnd_bytes(path)
    }

    /// Nothing is queued for `path`, or its window has room left, but not for what is next (INET:
    /// `nextChunkFitsIntoPacket` of what the window leaves).
    pub(super) fn sends_no_more_on(&self, path: PathId) -> bool {
        let window = self.control.cwnd_bytes(path);
        let left = window.saturating_sub(self.outstanding.in_flight_bytes(path));
        let chunk = |payload: u32| u64::from((self.header() + payload).next_multiple_of(4));
        left > 0 && self.next_len(path).is_none_or(|payload| chunk(payload) > left)
    }

    /// What the peer can take of new data, in bytes of chunks. Chunks marked for retransmission
    /// come first (RFC 9260 s6.1 C), also if they go on another path, and take their room again.
    pub(super) const fn room_for_new(&self) -> u64 {
        self.peer_rwnd.saturating_sub(self.outstanding.marked_bytes())
    }

    /// The peer has room for a new chunk of `len` bytes, or is probed with it.
    pub(super) fn peer_takes(&self, len: u32) -> bool {
        u64::from(len) <= self.room_for_new() || self.probe == Probe::Due
    }

    /// What `chunks` with this many bytes take of the peer's buffer.
    pub(super) fn at_peer(&self, bytes: u64, chunks: usize) -> u64 {
        bytes + u64::from(self.rules.chunk_overhead) * chunks as u64
    }

    /// What is in the network takes this of the peer's buffer.
    pub(super) fn in_flight_at_peer(&self) -> u64 {
        let bytes = self.outstanding.total_in_flight_bytes();
        match self.rules.chunk_overhead {
            0 => bytes,
            _ => self.at_peer(bytes, self.outstanding.total_in_flight_chunks()),
        }
    }

    /// Whether new data wait for a larger window: it takes neither a full chunk nor all that is
    /// queued, and is less than half of the largest one.
    fn waits_for_window(&self) -> bool {
        let full = || u64::from(self.window_len(self.setup.fragment));
        2 * self.peer_rwnd < self.largest_rwnd
            && self.peer_rwnd < full()
            && self.unsent_bytes() > self.peer_rwnd
            && self.hold != Hold::Over
            && self.probe == Probe::Off
    }

    /// Nothing is sent for now: data that wait for a larger window do not wait for ever.
    #[inline]
    pub(super) fn arm_hold(&mut self, now: Instant) {
        if self.hold != Hold::Off || self.waits_for_window() {
            self.hold_on(now);
        }
    }

    /// The same where data wait, or have waited.
    #[cold]
    fn hold_on(&mut self, now: Instant) {
        let fits = |next: u32| next > 0 && u64::from(next) <= self.peer_rwnd;
        let waits = self.waits_for_window() && fits(self.next_new_len());
        self.hold = match self.hold {
            Hold::Off if waits => Hold::Until(now + SILLY_OVERRIDE),
            Hold::Until(_) if !waits => Hold::Off,
            hold => hold,
        };
    }

    /// Data may have waited long enough for a larger window.
    pub(super) fn end_hold(&mut self, now: Instant) {
        if matches!(self.hold, Hold::Until(at) if at <= now) {
            self.hold = Hold::Over;
        }
    }

    /// The peer offers a window of this many bytes.
    pub(super) fn on_window(&mut self, a_rwnd: u32) {
        self.largest_rwnd = self.largest_rwnd.max(a_rwnd.into());
    }

    /// Why no new chunk is sent on `path` now, whose packet has `room` bytes left and is empty or
    /// not; `None` if one can be sent.
    pub(super) fn blocked(&self, path: PathId, room: u32, is_first: bool) -> Option<Blocked> {
        let why = self.blocked_in_window(path, room, is_first);
        let is_full = why != Some(Blocked::NothingToSend) && !self.has_window(path);
        if is_full { Some(Blocked::CongestionWindow) } else { why }
    }

    /// The same where the window of `path` has room.
    #[inline(always)]
    pub(super) fn blocked_in_window(
        &self,
        path: PathId,
        room: u32,
        is_first: bool,
    ) -> Option<Blocked> {
        let Some(payload) = self.next_len(path) else {
            return Some(Blocked::NothingToSend);
        };
        let chunk = (self.header() + payload).next_multiple_of(4);
        // What was bound before packets became smaller is left to IP fragmentation.
        let is_whole = chunk <= room || (is_first && payload > self.setup.fragment);
        if !is_whole {
            return Some(Blocked::CongestionWindow);
        }
        let is_taken = self.peer_takes(self.window_len(payload))
            && !self.waits_for_window()
            && self.leaves_room(path);
        if self.is_span_full() || !is_taken {
            return Some(Blocked::ReceiveWindow);
        }
        if self.cmt.is_some() && !self.has_share(path) {
            return Some(Blocked::SendBuffer);
        }
        if !self.setup.nagle || !is_first {
            return None;
        }
        let is_small = self.unsent_bytes() < u64::from(self.setup.fragment);
        let waiting_for = if self.rules.sending.nagle_by_path {
            self.outstanding.in_flight_bytes(path)
        } else {
            self.outstanding.total_in_flight_bytes()
        };
        (is_small && waiting_for > 0).then_some(Blocked::Nagle)
    }

    /// Whether no more chunks may be outstanding.
    fn is_span_full(&self) -> bool {
        let span = self.outstanding.span();
        span >= MAX_OUTSTANDING || (span >= MAX_SPAN && self.binding().is_some())
    }

    /// Whether `path` leaves the other ones their shares of the buffers.
    pub(super) fn has_share(&self, path: PathId) -> bool {
        let Some(cmt) = &self.cmt else { return true };
        let taken = match cmt.config.buffer_split.basis {
            BufferBasis::Outstanding => self.outstanding.in_flight_bytes(path),
            BufferBasis::Queued => self.outstanding.held_bytes_of(path),
        };
        let shares = split::Shares {
            paths: cmt.paths(),
            taken,
            packet: u64::from(self.setup.fragment + self.header()),
            send_buffer: self.setup.buffer.into(),
            window: self.total_window().into(),
        };
        split::admits(cmt.config.buffer_split.sides, &shares)
    }

    /// The next new chunk is sent on `path`, behind `chunks`; the caller made sure that one can be.
    /// Returns its length in the packet.
    #[inline(always)]
    pub(super) fn send_new(
        &mut self,
        cx: &mut Context<'_>,
        path: &mut Path,
        chunks: &mut Outgoing,
    ) -> Option<u32> {
        if self.binding().is_some() {
            cold_path();
            return self.send_bound(cx, path, chunks);
        }
        let place = chunks.place();
        let fragment = self.streams.take(self.setup.fragment)?;
        let bound = Bound { offset: self.bound, fragment };
        Some(self.send_fragment(cx, path, bound, (chunks, place)))
    }

    /// The same of what a scheduler has bound to `path`.
    #[inline(never)]
    fn send_bound(
        &mut self,
        cx: &mut Context<'_>,
        path: &mut Path,
        chunks: &mut Outgoing,
    ) -> Option<u32> {
        let bound = self.take_new(path.id)?;
        let place = chunks.place();
        Some(self.send_fragment(cx, path, bound, (chunks, place)))
    }

    /// A fragment is sent for the first time, in memory that `chunks` has given.
    #[inline(always)]
    fn send_fragment(
        &mut self,
        cx: &mut Context<'_>,
        path: &mut Path,
        Bound { offset, fragment }: Bound,
        (chunks, place): (&mut Outgoing, Option<Place>),
    ) -> u32 {
        let payload = fragment.payload.len();
        let len = self.window_len(payload);
        let tsn = self.outstanding.next_tsn();
        // DATA apart from I-DATA: chunks of both would meet in memory, and be copied from there.
        let unwritten = match (place, fragment.sequence) {
            (Some(place), Sequence::Ssn(ssn)) => {
                chunks.begin(place, Chunk::Data(fragment.to_data(tsn, ssn)));
                None
            }
            (place, _) => Some(place),
        };
        self.gaps.on_sent();
        if self.abandonment.enabled {
            self.abandonment.on_sent(tsn, fragment.message, fragment.reliability);
        }
        self.outstanding.send(cx.now, path.id, len, Sent { fragment, offset });
        if let Some(place) = unwritten
            && let Some(sent) = self.outstanding.data(tsn)
        {
            chunks.push_at(place, sent.fragment.to_chunk(tsn));
        }
        if let Some(cmt) = &mut self.cmt {
            cmt.marks.on_sent(self.outstanding.position(tsn), path.id);
        }
        self.bound += u64::from(payload);
        self.held += u64::from(payload);
        self.peer_rwnd = self.peer_rwnd.saturating_sub(self.at_peer(len.into(), 1));
        if self.probe == Probe::Due {
            self.probe = Probe::Sent;
        }
        self.hold = Hold::Off;
        if path.unmeasured.is_some_and(|(_, sent_at)| cx.now - sent_at > path.rto.rto()) {
            cold_path();
            path.unmeasured = None;
        }
        if path.unmeasured.is_none() {
            path.timed.get_or_insert(tsn);
        }
        path.counters.first_bytes += u64::from(payload);
        self.on_sent(cx, path, payload, offset, false);
        (self.header() + payload).next_multiple_of(4)
    }

    /// Sends a marked chunk again on `path`.
    pub(super) fn send_again(
        &mut self,
        cx: &mut Context<'_>,
        path: &mut Path,
        tsn: Tsn,
    ) -> Option<Chunk> {
        let Sent { fragment, offset } = self.outstanding.data(tsn)?;
        let (chunk, payload, offset) = (fragment.to_chunk(tsn), fragment.payload.len(), *offset);
        let (before, len) = self.outstanding.sent_on(tsn)?;
        if !self.outstanding.retransmit(cx.now, tsn, path.id) {
            return None;
        }
        if let Some(cmt) = &mut self.cmt {
            cmt.marks.on_sent_again(self.outstanding.position(tsn), before, path.id);
        }
        self.peer_rwnd = self.peer_rwnd.saturating_sub(self.at_peer(len.into(), 1));
        if self.probe == Probe::Due {
            self.probe = Probe::Sent;
        }
        self.resent.note(tsn, path.id);
        let moves = before != path.id;
        if moves {
            path.counters.moved += 1;
            path.counters.moved_bytes += u64::from(payload);
        } else {
            path.counters.retransmitted += 1;
        }
        self.on_sent(cx, path, payload, offset, !moves);
        Some(chunk)
    }

    #[inline(always)]
    fn on_sent(
        &self,
        cx: &mut Context<'_>,
        path: &mut Path,
        payload: u32,
        offset: u64,
        again: bool,
    ) {
        path.last_sent = cx.now;
        path.counters.bytes += u64::from(payload);
        path.counters.on_sent(&mut path.loss);
        let (socket, id) = (self.setup.socket, path.id);
        cx.record(EventMask::SEGMENT, || Event::SegmentSent {
            socket,
            path: id,
            offset,
            len: payload,
            retransmission: again,
            inflight_segs: self.outstanding.in_flight_chunks(id) as u32,
        });
    }

    /// The window of a path, and what is in the network.
    #[inline(always)]
    pub(super) fn burst_room(&self, path: &Path) -> BurstRoom {
        BurstRoom {
            cwnd: self.control.cwnd_bytes(path.id),
            in_flight: self.outstanding.in_flight_bytes(path.id),
            packet: path.room.into(),
        }
    }

    /// Before a packet of new data: an idle window decays (RFC 9260 s7.2.1), and one that is far
    /// from used is cut (Max.Burst, s6.1 D). Returns whether the burst has room for the packet.
    #[inline(always)]
    pub(super) fn prepare_burst(&mut self, now: Instant, path: &Path, mut room: BurstRoom) -> bool {
        if room.in_flight == 0 {
            cold_path();
            let idle = now - path.last_sent;
            self.control.on_idle_restart(path.id, idle, path.rto.rto(), now);
            room.cwnd = self.control.cwnd_bytes(path.id);
        }
        if self.rules.max_burst == 0 {
            return true;
        }
        let rule = (self.rules.burst, self.rules.max_burst);
        let step = self.bursts.before_packet(rule, now, path.id, &room);
        if let Some((bytes, how)) = step.limit {
            cold_path();
            self.control.limit_window(path.id, bytes, how);
        }
        step.may_send
    }

    /// Whether the burst of `path` at this instant is over.
    pub(super) fn is_burst_over(&self, now: Instant, path: PathId) -> bool {
        let (rule, in_flight) = (self.rules.burst, self.outstanding.in_flight_bytes(path));
        let most = self.rules.max_burst;
        most > 0 && self.bursts.is_over((rule, most), now, path, in_flight)
    }

    /// Released user data are no longer held.
    pub(super) fn release(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.held, "released data were held");
        self.held = self.held.saturating_sub(bytes);
    }

    /// Records the window of a path.
    pub(super) fn record_window(&self, cx: &mut Context<'_>, path: &Path) {
        let (socket, state, path) = (self.setup.socket, path.ca_state(), path.id);
        cx.record(EventMask::WINDOW, || Event::WindowChange {
            socket,
            path,
            cwnd_bytes: self.control.cwnd_bytes(path),
            ssthresh_bytes: self.control.ssthresh_bytes(path),
            inflight_segs: self.outstanding.in_flight_chunks(path) as u32,
            state,
        });
    }
}
