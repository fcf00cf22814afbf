//! `Receiver`: what an association has received, its window, and the SACKs that report it (RFC 9260
//! s6.2, s6.7).
//!
//! Messages are put together by `InboundStreams`, TSNs are kept by `ReceivedTsns`, and `SackTiming`
//! decides when to report. Where a SACK goes is left to the association.

use super::cmt::SackRoute;
use super::gaps::GapStructure;
use super::received::{Keep, ReceivedTsns};
use super::sack_timing::{Content, DataPacket, Gap, SackTiming};
use super::streams::{Framing, InboundStreams, Received, Violation};
use base::{Duration, Instant, PathId};
use std::hint::cold_path;
use wire::Payload;
use wire::sctp::{
    Cause, Chunk, Data, DataFlags, ForwardTsn, IData, IForwardTsn, NrSack, Sack, Ssn, Tsn,
};

/// Advertised windows below this many packets are advertised as 0 (silly window syndrome).
const SILLY_PACKETS: u32 = 2;

/// How a receiver is set up.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiverSetup {
    /// First TSN of the peer.
    pub initial_tsn: Tsn,
    /// Inbound streams.
    pub streams: u16,
    pub framing: Framing,
    /// User data that are held at most, in bytes.
    pub buffer: u32,
    /// Bytes of chunks in a packet.
    pub room: u32,
    /// NR-SACK in place of SACK.
    pub nr_sack: bool,
    pub sack_delay: Duration,
    /// Whether chunks that were reported may be discarded.
    pub keep: Keep,
    /// Delayed acknowledgements for data on several paths.
    pub dac: bool,
    pub gap_structure: GapStructure,
}

/// What arrived.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    tsns: ReceivedTsns,
    timing: SackTiming,
    streams: InboundStreams,
    setup: ReceiverSetup,
    /// The packet that is being processed.
    packet: PacketContent,
    /// TSNs were missing before it.
    had_gap: bool,
    /// A SACK must be sent now.
    sack_due: bool,
    /// Where the last packet with data came from.
    reply_to: PathId,
    /// Where all came from since the last SACK.
    pub(super) route: SackRoute,
    /// The window in the last SACK.
    advertised: u32,
    /// User data that the application took, in bytes.
    taken: u64,
    /// User data that have arrived, in bytes.
    arrived: u64,
    /// User data of chunks that had arrived before, in bytes.
    duplicated: u64,
    /// SACKs and NR-SACKs sent.
    sacks: u64,
    /// The numbers of what arrives are not known, because the peer was asked to begin anew and has
    /// not answered: it must come again.
    is_deaf: bool,
}

/// What a packet brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct PacketContent {
    data: bool,
    new: bool,
    immediate: bool,
    dropped: bool,
}

/// What a DATA chunk is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Accepted {
    /// Its first arrival: user data, in bytes, and their position among all that were sent.
    New { offset: u64, len: u32 },
    /// It is a duplicate, or is dropped for lack of memory.
    Nothing,
}

/// Why a chunk is answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// An ERROR with this cause; the chunk counts as received.
    Error(Cause),
    /// An ABORT with this cause.
    Abort(Cause),
}

impl Receiver {
    /// Nothing has arrived.
    pub(super) fn new(setup: ReceiverSetup) -> Receiver {
        Receiver {
            tsns: ReceivedTsns::with_structure(setup.initial_tsn, setup.gap_structure),
            timing: SackTiming::new(setup.sack_delay, setup.dac),
            streams: InboundStreams::new(setup.streams, setup.framing),
            setup,
            packet: PacketContent::default(),
            had_gap: false,
            sack_due: false,
            reply_to: PathId(0),
            route: SackRoute::default(),
            advertised: setup.buffer,
            taken: 0,
            arrived: 0,
            duplicated: 0,
            sacks: 0,
            is_deaf: false,
        }
    }

    /// A packet from `pair` is going to be processed.
    pub(super) fn begin_packet(&mut self) {
        self.packet = PacketContent::default();
        self.had_gap = self.tsns.has_gap();
    }

    /// DATA arrives (RFC 9260 s6.2).
    ///
    /// # Errors
    /// If an ERROR or an ABORT answers it.
    #[inline(always)]
    pub(super) fn on_data(&mut self, data: &mut Data) -> Result<Accepted, Answer> {
        if self.setup.framing == Framing::Interleaved {
            return Err(violation(b"DATA in place of I-DATA"));
        }
        let len = data.payload.len();
        let Some(at) = self.admit(data.tsn, data.flags, len)? else {
            return Ok(Accepted::Nothing);
        };
        let stream = data.stream;
        let offset = self.position(&data.payload);
        self.streams.insert(at, data).map_err(|fault| answer_to(fault, stream))?;
        Ok(Accepted::New { offset, len })
    }

    /// I-DATA arrives (RFC 8260 s2.1).
    ///
    /// # Errors
    /// If an ERROR or an ABORT answers it.
    pub(super) fn on_i_data(&mut self, data: &mut IData) -> Result<Accepted, Answer> {
        if self.setup.framing == Framing::Data {
            return Err(violation(b"I-DATA in place of DATA"));
        }
        let len = data.payload.len();
        let Some(at) = self.admit(data.tsn, data.flags, len)? else {
            return Ok(Accepted::Nothing);
        };
        let stream = data.stream;
        let offset = self.position(&data.payload);
        self.streams.insert_interleaved(at, data).map_err(|fault| answer_to(fault, stream))?;
        Ok(Accepted::New { offset, len })
    }

    /// The position of user data for the recorder. Chunks have no byte positions: it is that in the
    /// virtual stream, otherwise what has arrived before.
    #[inline(always)]
    fn position(&mut self, payload: &Payload) -> u64 {
        let arrived = self.arrived;
        self.arrived += u64::from(payload.len());
        payload.as_virtual().map_or(arrived, |range| range.offset)
    }

    /// Whether a chunk is kept: the offset of its TSN.
    #[inline(always)]
    fn admit(&mut self, tsn: Tsn, flags: DataFlags, len: u32) -> Result<Option<u64>, Answer> {
        if len == 0 {
            return Err(Answer::Abort(Cause::NoUserData(tsn)));
        }
        self.packet.data = true;
        self.packet.immediate |= flags.contains(DataFlags::IMMEDIATE);
        let held = self.streams.held_bytes() + u64::from(len);
        if !self.is_deaf
            && held <= u64::from(self.setup.buffer)
            && let Some(at) = self.tsns.take_next(tsn)
        {
            self.packet.new = true;
            return Ok(Some(at));
        }
        cold_path();
        self.admit_out_of_order(tsn, len)
    }

    /// The same of a chunk that does not follow all others, or has no room.
    #[inline(never)]
    fn admit_out_of_order(&mut self, tsn: Tsn, len: u32) -> Result<Option<u64>, Answer> {
        let Some(at) = self.tsns.new_offset(tsn) else {
            self.tsns.insert(tsn, self.setup.keep);
            self.duplicated += u64::from(len);
            return Ok(None);
        };
        // A chunk has a byte at least: no TSN of the window is further ahead than that.
        let ahead = i64::from(tsn.distance_from(self.tsns.cum_tsn()));
        // Behind by half of the number space: the last TSN before a reset of the association.
        let is_near = (1..=i64::from(self.setup.buffer)).contains(&ahead);
        if self.is_deaf || !is_near || !self.make_room(tsn, len)? {
            self.packet.dropped = true;
            return Ok(None);
        }
        self.tsns.insert_new(at, self.setup.keep);
        self.packet.new = true;
        Ok(Some(at))
    }

    /// Whether `len` bytes more can be held. Higher chunks that may be discarded make room for
    /// lower ones (RFC 9260 s6.2), except those of messages that were delivered.
    fn make_room(&mut self, tsn: Tsn, len: u32) -> Result<bool, Answer> {
        let buffer = u64::from(self.setup.buffer);
        while self.streams.held_bytes() + u64::from(len) > buffer {
            let highest = self.tsns.highest_renegable().filter(|highest| *highest > tsn);
            let Some(highest) = highest else { return self.overrun(tsn, len) };
            let discarded = self.tsns.offset(highest).map_or(0, |at| self.streams.discard(at));
            if discarded > 0 {
                self.tsns.discard(highest);
            } else {
                // It is delivered: when the peer sends it again, it is a duplicate.
                self.tsns.keep_forever(highest);
            }
        }
        Ok(true)
    }

    /// Whether `len` bytes are held although the buffer is full: those that everything held waits
    /// for, as they fill the first gap, or continue a message of which nothing can be read before
    /// it is whole. What is held stays below twice the buffer, whatever window the peer uses.
    ///
    /// # Errors
    /// If that is too little for anything to be delivered, ever: no reader can make room.
    fn overrun(&self, tsn: Tsn, len: u32) -> Result<bool, Answer> {
        let is_next = tsn == self.tsns.cum_tsn() + 1;
        if !is_next || self.streams.waiting_bytes() == 0 {
            return Ok(false);
        }
        let is_stuck = self.streams.readable() == 0;
        let fits = self.streams.held_bytes() + u64::from(len) <= 2 * u64::from(self.setup.buffer);
        if is_stuck && !fits {
            return Err(Answer::Abort(Cause::OutOfResource));
        }
        // Without a gap the reader makes room.
        Ok(fits && (is_stuck || self.tsns.has_gap()))
    }

    /// FORWARD TSN arrives (RFC 3758 s3.6).
    pub(super) fn on_forward_tsn(&mut self, forward: &ForwardTsn) {
        self.packet.data = true;
        let streams: Vec<(u16, Ssn)> = forward.streams.to_vec();
        if let Some(below) = self.skip(forward.new_cum_tsn) {
            self.streams.skip(below, &streams);
        }
    }

    /// I-FORWARD-TSN arrives (RFC 8260 s2.3).
    pub(super) fn on_i_forward_tsn(&mut self, forward: &IForwardTsn) {
        self.packet.data = true;
        if let Some(below) = self.skip(forward.new_cum_tsn) {
            self.streams.skip_interleaved(below, &forward.streams);
        }
    }

    /// The offset below which everything is skipped; `None` if that is old, or of numbers that are
    /// not known: FORWARD TSN comes again, too.
    fn skip(&mut self, new_cum_tsn: Tsn) -> Option<u64> {
        if self.is_deaf {
            self.packet.dropped = true;
            return None;
        }
        let at = self.tsns.offset(new_cum_tsn)?;
        self.tsns.skip_to(new_cum_tsn).then(|| {
            self.packet.new = true;
            at + 1
        })
    }

    /// The packet from `pair` is processed; returns whether it had data.
    #[inline(always)]
    pub(super) fn end_packet(&mut self, now: Instant, pair: PathId, shutting_down: bool) -> bool {
        if !self.packet.data {
            return false;
        }
        self.reply_to = pair;
        self.route.on_data(pair);
        let gap = match (self.had_gap, self.tsns.has_gap()) {
            (_, true) => Gap::Open,
            (true, false) => Gap::Closed,
            (false, false) => Gap::None,
        };
        let PacketContent { new, immediate, dropped, .. } = self.packet;
        let content = if new || dropped { Content::New } else { Content::Duplicates };
        let packet = DataPacket { content, gap, immediate, dropped };
        self.sack_due |= self.timing.on_packet(now, &packet, shutting_down);
        self.packet = PacketContent::default();
        true
    }

    /// Whether TSNs are missing below one that has arrived.
    pub(super) fn has_gap(&self) -> bool {
        self.tsns.has_gap()
    }

    /// Whether a SACK must be sent now, and where to.
    pub(super) const fn sack_due(&self) -> Option<PathId> {
        if self.sack_due { Some(self.reply_to) } else { None }
    }

    /// Whether data have arrived that no SACK has reported.
    pub(super) fn has_pending_sack(&self) -> bool {
        self.sack_due || self.timing.deadline().is_some()
    }

    /// Bytes of the SACK to send, if nothing is left out.
    pub(super) fn sack_len(&self) -> u32 {
        NrSack::HEADER + 4 * (self.tsns.gaps() + self.tsns.duplicates()) as u32
    }

    /// Where the last packet with data came from.
    pub(super) const fn reply_to(&self) -> PathId {
        self.reply_to
    }

    /// SACKs no longer go to `path`, but to another one.
    pub(super) fn leave(&mut self, path: PathId, other: Option<PathId>) {
        if self.reply_to == path
            && let Some(other) = other
        {
            self.reply_to = other;
        }
    }

    /// The time of the delayed SACK.
    pub(super) fn deadline(&self) -> Instant {
        self.timing.deadline().unwrap_or(Instant::FAR_FUTURE)
    }

    /// The SACK timer may have expired.
    pub(super) fn on_timeout(&mut self, now: Instant) {
        self.sack_due |= self.timing.deadline().is_some_and(|deadline| deadline <= now);
    }

    /// Whether the next SACK reports chunks that came twice.
    pub(super) const fn has_duplicates(&self) -> bool {
        self.tsns.duplicates() > 0
    }

    /// The SACK or NR-SACK to send to a pair in at most `room` bytes.
    pub(super) fn sack(&mut self, to: PathId, room: u32) -> Chunk {
        let a_rwnd = self.window();
        let dac_packets = if self.setup.dac { self.timing.dac_packets() } else { 0 };
        (self.sack_due, self.advertised) = (false, a_rwnd);
        self.sacks += 1;
        self.timing.on_sack();
        self.route.on_sack(to);
        if self.setup.nr_sack {
            let sack = self.tsns.nr_sack(a_rwnd, room);
            Chunk::NrSack(NrSack { dac_packets, ..sack })
        } else {
            Chunk::Sack(Sack { dac_packets, ..self.tsns.sack(a_rwnd, room) })
        }
    }

    /// The window to advertise: 0 instead of little (RFC 9260 s6.2.1).
    fn window(&self) -> u32 {
        let buffer = self.setup.buffer;
        let held = u32::try_from(self.streams.held_bytes()).unwrap_or(u32::MAX);
        let free = buffer.saturating_sub(held);
        let silly = (SILLY_PACKETS * self.setup.room).min(buffer / 2);
        if free < silly { 0 } else { free }
    }

    /// The application takes at most `max` bytes.
    pub(super) fn read(&mut self, max: u32) -> Payload {
        let payload = self.streams.read(max);
        self.on_taken(u64::from(payload.len()));
        payload
    }

    /// The application takes the next whole message.
    pub(super) fn receive(&mut self) -> Option<Received> {
        let received = self.streams.pop()?;
        self.on_taken(u64::from(received.payload.len()));
        Some(received)
    }

    /// The application took `bytes`: a SACK reports a window that opened by a quarter of the
    /// buffer, or from 0.
    pub(super) fn on_taken(&mut self, bytes: u64) {
        self.taken += bytes;
        let window = self.window();
        let opened = window.saturating_sub(self.advertised);
        let from_zero = self.advertised == 0 && window > 0;
        // Without unreported data the peer may send what the window was, and needs no update yet.
        self.sack_due |= from_zero || (opened >= self.setup.buffer / 4 && opened > 0);
    }

    pub(super) const fn streams(&self) -> &InboundStreams {
        &self.streams
    }

    /// The peer numbers messages of these streams from zero again (RFC 6525 s5.2.2).
    pub(super) fn reset_streams(&mut self, streams: &[u16]) {
        self.streams.reset(streams);
    }

    /// Whether data are dropped until the peer has answered a request to begin anew.
    pub(super) const fn set_deaf(&mut self, is_deaf: bool) {
        self.is_deaf = is_deaf;
    }

    /// Everything that the peer has sent has arrived.
    pub(super) fn is_complete(&self) -> bool {
        !self.tsns.has_gap() && self.streams.waiting_bytes() == 0
    }

    /// The peer asks for other TSNs, and numbers the messages of all streams from zero again;
    /// returns its next TSN, which none in the network can be taken for (RFC 6525 s5.2.4 E3).
    pub(super) fn renumber(&mut self) -> Tsn {
        let next = self.tsns.cum_tsn() + 1 + (1 << 31);
        self.tsns.renumber(next);
        self.streams.renumber();
        next
    }

    /// The peer has numbered the messages of all streams from zero again since its TSN `next`,
    /// before which nothing is missing any more (RFC 6525 s5.2.7).
    pub(super) fn begin_at(&mut self, next: Tsn) {
        if let Some(below) = self.skip(next - 1) {
            self.streams.skip(below, &[]);
        }
        self.streams.renumber();
    }

    /// The peer has more streams (RFC 6525 s5.2.5).
    pub(super) fn add_streams(&mut self, count: u16) {
        self.streams.add_streams(count);
    }

    /// Last TSN before the first gap.
    pub(super) fn cum_tsn(&self) -> Tsn {
        self.tsns.cum_tsn()
    }

    /// Entries of the gap structure that were visited since the last call.
    pub(super) const fn take_visited(&mut self) -> u64 {
        self.tsns.take_visited()
    }

    /// User data that the application took, in bytes.
    pub(super) const fn taken(&self) -> u64 {
        self.taken
    }

    /// User data that were delivered to the application or can be, in bytes.
    pub(super) fn delivered(&self) -> u64 {
        self.taken + self.streams.readable()
    }

    /// User data of chunks that had arrived before, in bytes.
    pub(super) const fn duplicate_bytes(&self) -> u64 {
        self.duplicated
    }

    /// SACKs and NR-SACKs sent.
    pub(super) const fn sacks(&self) -> u64 {
        self.sacks
    }

    /// The window in the last SACK, in bytes.
    pub(super) const fn advertised(&self) -> u32 {
        self.advertised
    }

    /// The buffer, in bytes.
    pub(super) const fn buffer(&self) -> u32 {
        self.setup.buffer
    }
}

fn violation(what: &'static [u8]) -> Answer {
    Answer::Abort(Cause::ProtocolViolation(what.into()))
}

fn answer_to(fault: Violation, stream: u16) -> Answer {
    match fault {
        Violation::InvalidStream => Answer::Error(Cause::InvalidStream(stream)),
        Violation::Malformed(what) => violation(what.as_bytes()),
    }
}
