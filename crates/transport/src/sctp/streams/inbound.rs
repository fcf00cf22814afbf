//! `InboundStreams`: fragments received, put together and delivered (RFC 9260 s6.6, s6.9).
//!
//! A message without fragments that is in order is delivered at once, without a search in a tree
//! of fragments, and one that is not takes one slot of a queue; everything else is O(log n).
//! Streams cost memory from their first ordered message on. Which TSNs have arrived is left to
//! `ReceivedTsns`, the window to the association.

use super::joined::Joined;
use super::keyed::KeyedQueue;
use super::partial::{Head, Partial, Place, Run};
use super::table::StreamTable;
use super::{Framing, Received};
use base::ShortQueue;
use std::collections::BTreeMap;
use wire::Payload;
use wire::sctp::{Data, DataFlags, IData, Mid, SkippedMessages, Ssn};

/// MIDs behind a skipped message from which on it is forgotten: serial arithmetic compares numbers
/// that are up to 2^31 - 1 apart, and no fragment of it is that late.
const FORGOTTEN_AFTER: i32 = 1 << 30;

/// Messages received, by stream.
#[derive(Clone, Debug)]
pub struct InboundStreams {
    framing: Framing,
    count: u16,
    streams: StreamTable<Stream>,
    partial: Partial,
    /// Whole messages that wait for others, by the offsets of their TSNs: stream and key. None
    /// until the first one is discarded, which in most associations never happens.
    waiting: Option<BTreeMap<u64, (u16, u64)>>,
    ready: Ready,
    held: u64,
    /// DATA: offset behind the last TSN of the message completed last.
    boundary: u64,
    /// I-DATA: whether a stream may have skipped messages.
    has_skipped: bool,
}

/// Ordered messages of a stream.
#[derive(Clone, Debug, Default)]
struct Stream {
    /// Key of the message expected; its low bits are the SSN or MID.
    next: u64,
    /// Whole messages behind it, by key.
    waiting: KeyedQueue<Waiting>,
    /// I-DATA: MIDs of the last ordered and unordered message that were skipped.
    skipped: [Option<Mid>; 2],
}

/// A whole message that waits for others.
#[derive(Clone, Debug)]
enum Waiting {
    /// It came in one chunk, whose TSN has the offset `at`.
    Single { at: u64, ppid: u32, payload: Payload },
    /// It came in fragments.
    Fragments(Box<Run>),
}

/// Messages delivered and not yet taken, and their bytes.
#[derive(Clone, Debug, Default)]
struct Ready {
    messages: ShortQueue<Received>,
    bytes: u64,
}

/// A fragment that arrives.
struct Arrived {
    /// Offset of its TSN.
    at: u64,
    place: Place,
    head: Head,
    flags: DataFlags,
    ppid: u32,
    payload: Payload,
}

/// Why a chunk is not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    /// The association has fewer streams: answered with ERROR, Invalid Stream Identifier (RFC 9260
    /// s3.3.10.1). Its TSN counts as received.
    #[error("no such stream")]
    InvalidStream,
    /// It contradicts others: answered with ABORT, Protocol Violation (RFC 9260 s3.3.10.13).
    #[error("{0}")]
    Malformed(&'static str),
}

impl InboundStreams {
    /// `streams` streams on which nothing was received.
    pub fn new(streams: u16, framing: Framing) -> Self {
        InboundStreams {
            framing,
            count: streams,
            streams: StreamTable::new(),
            partial: Partial::default(),
            waiting: None,
            ready: Ready::default(),
            held: 0,
            boundary: 0,
            has_skipped: false,
        }
    }

    /// A chunk arrives whose TSN has the offset `at`, for the first time. Its payload is moved out.
    #[inline(always)]
    pub fn insert(&mut self, at: u64, data: &mut Data) -> Result<(), Violation> {
        self.check(Framing::Data, data.stream, &data.payload)?;
        let (flags, ppid) = (data.flags, data.ppid);
        let unordered = flags.contains(DataFlags::UNORDERED);
        if at == self.boundary && !flags.contains(DataFlags::BEGIN) {
            return Err(Violation::Malformed("no first fragment behind a last one"));
        }
        let number = if unordered { 0 } else { data.ssn.0.into() };
        let head = Head { stream: data.stream, unordered, number };
        let payload = std::mem::take(&mut data.payload);
        if self.is_plain(flags) {
            return self.accept_whole(at, head, ppid, payload);
        }
        self.accept(Arrived { at, place: Place::of_data(at), head, flags, ppid, payload })
    }

    /// As [`Self::insert`], for I-DATA.
    pub fn insert_interleaved(&mut self, at: u64, data: &mut IData) -> Result<(), Violation> {
        self.check(Framing::Interleaved, data.stream, &data.payload)?;
        let (flags, ppid) = (data.flags, data.ppid().unwrap_or(0));
        let unordered = flags.contains(DataFlags::UNORDERED);
        if data.fsn() == 0 && !flags.contains(DataFlags::BEGIN) {
            return Err(Violation::Malformed("fragment 0 is not the first one"));
        }
        let head = Head { stream: data.stream, unordered, number: data.mid.0 };
        if self.has_skipped {
            self.forget_skipped(&head);
        }
        if self.is_plain(flags) {
            return self.accept_whole(at, head, ppid, std::mem::take(&mut data.payload));
        }
        if !flags.contains(DataFlags::WHOLE) && self.is_skipped(&head) {
            return Ok(());
        }
        let place = Place::of_interleaved(data.stream, unordered, data.mid.0, data.fsn());
        let payload = std::mem::take(&mut data.payload);
        self.accept(Arrived { at, place, head, flags, ppid, payload })
    }

    fn check(&self, framing: Framing, stream: u16, payload: &Payload) -> Result<(), Violation> {
        if framing != self.framing {
            return Err(Violation::Malformed("DATA and I-DATA in one association"));
        }
        if payload.is_empty() {
            return Err(Violation::Malformed("a chunk without user data"));
        }
        if stream < self.count { Ok(()) } else { Err(Violation::InvalidStream) }
    }

    #[inline(never)]
    fn accept(&mut self, arrived: Arrived) -> Result<(), Violation> {
        let Arrived { at, place, head, flags, ppid, payload } = arrived;
        let bytes = u64::from(payload.len());
        let whole = self.partial.insert(place, Run::new(at, head, flags, ppid, payload))?;
        self.held += bytes;
        whole.map_or(Ok(()), |run| self.complete(run))
    }

    /// Whether a chunk with these flags is a message, and there are no fragments of others.
    fn is_plain(&self, flags: DataFlags) -> bool {
        flags.contains(DataFlags::WHOLE) && self.partial.is_empty()
    }

    /// A message arrives in one chunk, and there are no fragments of others.
    #[inline(always)]
    fn accept_whole(
        &mut self,
        at: u64,
        Head { stream: id, unordered, number }: Head,
        ppid: u32,
        payload: Payload,
    ) -> Result<(), Violation> {
        let bytes = u64::from(payload.len());
        self.boundary = at + 1;
        let mut is_awaited = false;
        if !unordered {
            let stream = self.streams.entry(id);
            let key = stream.key(self.framing, number);
            if key != Some(stream.next) {
                let single = Waiting::Single { at, ppid, payload };
                return self.keep(id, key, single).map(|()| self.held += bytes);
            }
            stream.next += 1;
            is_awaited = !stream.waiting.is_empty();
        }
        self.held += bytes;
        self.ready.push(Received { stream: id, ppid, unordered, payload });
        if is_awaited {
            self.release(id);
        }
        Ok(())
    }

    /// Keeps a message with this key for its turn; without one it is before the one expected.
    fn keep(&mut self, id: u16, key: Option<u64>, message: Waiting) -> Result<(), Violation> {
        let stream = self.streams.entry(id);
        match key {
            Some(key) if !stream.waiting.contains(key) => {
                if let Some(waiting) = &mut self.waiting {
                    waiting.extend(message.offsets().map(|at| (at, (id, key))));
                }
                stream.waiting.insert(key, message);
                Ok(())
            }
            _ => Err(Violation::Malformed("two messages with one number")),
        }
    }

    /// A message is whole: delivers it, or keeps it for its turn.
    fn complete(&mut self, run: Run) -> Result<(), Violation> {
        self.boundary = run.offsets().last().map_or(0, |last| last + 1);
        if run.head.unordered {
            self.ready.push(run.into_received());
            return Ok(());
        }
        let id = run.head.stream;
        let stream = self.streams.entry(id);
        match stream.key(self.framing, run.head.number) {
            Some(key) if key == stream.next => {
                stream.next += 1;
                self.ready.push(run.into_received());
                self.release(id);
                Ok(())
            }
            key => {
                let bytes = run.bytes();
                let kept = self.keep(id, key, Waiting::Fragments(Box::new(run)));
                self.held -= if kept.is_err() { bytes } else { 0 };
                kept
            }
        }
    }

    /// Delivers what waits in a stream up to the first message that is missing.
    fn release(&mut self, id: u16) {
        let Some(stream) = self.streams.get_mut(id) else { return };
        while let Some((key, message)) = stream.waiting.pop_up_to(stream.next) {
            stream.next = stream.next.max(key + 1);
            if let Some(waiting) = &mut self.waiting {
                for at in message.offsets() {
                    waiting.remove(&at);
                }
            }
            self.ready.push(message.into_received(id));
        }
    }

    /// The next message delivered.
    pub fn pop(&mut self) -> Option<Received> {
        let received = self.ready.pop()?;
        self.held -= u64::from(received.payload.len());
        Some(received)
    }

    /// The next bytes delivered, at most `max`, without regard to the ends of messages.
    #[inline(always)]
    pub fn read(&mut self, max: u32) -> Payload {
        let payload = self.ready.read(max);
        self.held -= u64::from(payload.len());
        payload
    }

    /// Bytes delivered and not yet taken.
    pub const fn readable(&self) -> u64 {
        self.ready.bytes
    }

    /// Bytes of user data kept: of incomplete messages, of those that wait, and of those that are
    /// delivered and not yet taken.
    pub const fn held_bytes(&self) -> u64 {
        self.held
    }

    /// Bytes of user data received and not yet delivered.
    pub const fn waiting_bytes(&self) -> u64 {
        self.held - self.ready.bytes
    }

    /// FORWARD TSN: the peer sends nothing more whose TSN has an offset below `below`, and no
    /// message up to these SSNs (RFC 3758 s3.6).
    pub fn skip(&mut self, below: u64, streams: &[(u16, Ssn)]) {
        if self.framing == Framing::Data {
            self.held -= self.partial.drop_below(below);
            for (stream, ssn) in streams {
                self.skip_messages(*stream, ssn.0.into());
            }
        }
    }

    /// I-FORWARD-TSN: the peer sends nothing more of these messages (RFC 8260 s2.3.1). What is
    /// below `below` and not of one of them is complete already.
    pub fn skip_interleaved(&mut self, _below: u64, skipped: &[SkippedMessages]) {
        if self.framing == Framing::Interleaved {
            for SkippedMessages { stream, unordered, mid } in skipped.iter().copied() {
                self.held -= self.partial.drop_messages(stream, unordered, mid);
                self.note_skipped(stream, unordered, mid);
                if !unordered {
                    self.skip_messages(stream, mid.0);
                }
            }
        }
    }

    /// I-DATA: whether a message was skipped, of which a fragment with a TSN behind that of
    /// I-FORWARD-TSN is late: nothing would ever complete it.
    fn is_skipped(&self, head: &Head) -> bool {
        let stream = self.streams.get(head.stream);
        let skipped = stream.and_then(|stream| stream.skipped[usize::from(head.unordered)]);
        skipped.is_some_and(|skipped| Mid(head.number).distance_from(skipped) <= 0)
    }

    /// I-DATA: a message far behind the one that was skipped arrives, whose number another message
    /// will have.
    fn forget_skipped(&mut self, head: &Head) {
        let Some(stream) = self.streams.get_mut(head.stream) else { return };
        let last = &mut stream.skipped[usize::from(head.unordered)];
        if last.is_some_and(|last| Mid(head.number).distance_from(last) >= FORGOTTEN_AFTER) {
            *last = None;
        }
    }

    /// I-DATA: messages of a stream up to this MID are skipped.
    fn note_skipped(&mut self, id: u16, unordered: bool, mid: Mid) {
        if id >= self.count {
            return;
        }
        let last = &mut self.streams.entry(id).skipped[usize::from(unordered)];
        if last.is_none_or(|last| mid.distance_from(last) > 0) {
            *last = Some(mid);
            self.has_skipped = true;
        }
    }

    /// Ordered messages of a stream up to this SSN or MID are not waited for any more.
    fn skip_messages(&mut self, id: u16, number: u32) {
        if id >= self.count {
            return;
        }
        let stream = self.streams.entry(id);
        if let Some(key) = stream.skipped_key(self.framing, number) {
            stream.next = key + 1;
            self.release(id);
        }
    }

    /// Drops the chunk whose TSN has the offset `at`, which the peer will send again; returns its
    /// bytes, 0 if it is delivered.
    pub fn discard(&mut self, at: u64) -> u64 {
        let index = self.waiting.take().unwrap_or_else(|| self.index());
        let place = index.get(&at).copied();
        let index = self.waiting.insert(index);
        let message = place
            .and_then(|(id, key)| Some((id, key, self.streams.get_mut(id)?.waiting.remove(key)?)));
        let bytes = match message {
            None => self.partial.discard(at),
            Some((id, key, message)) => {
                for at in message.offsets() {
                    index.remove(&at);
                }
                let run = message.into_run(id, number_of(self.framing, key));
                self.partial.insert_without(run.place(self.framing), run, at)
            }
        };
        self.held -= bytes;
        bytes
    }

    /// Messages that wait, by the offsets of their TSNs.
    fn index(&self) -> BTreeMap<u64, (u16, u64)> {
        let mut index = BTreeMap::new();
        for id in self.streams.keys() {
            let waiting = self.streams.get(id).map(|stream| &stream.waiting);
            for (key, message) in waiting.into_iter().flat_map(KeyedQueue::iter) {
                index.extend(message.offsets().map(|at| (at, (id, key))));
            }
        }
        index
    }

    /// The peer numbers messages of these streams, or of all if there are none, from zero again
    /// (RFC 6525 s5.2.2). What waits for earlier messages is delivered.
    pub fn reset(&mut self, streams: &[u16]) {
        let all: Vec<u16> =
            if streams.is_empty() { self.streams.keys().collect() } else { streams.to_vec() };
        for id in all {
            if let Some(stream) = self.streams.get_mut(id) {
                let last = stream.waiting.iter().map(|(key, _)| key + 1).max().unwrap_or(0);
                stream.next = stream.next.max(last);
                self.release(id);
            }
            if let Some(stream) = self.streams.get_mut(id) {
                (stream.next, stream.skipped) = (0, [None; 2]);
            }
        }
    }

    /// The peer has numbered the messages of all streams from zero again, and those that wait are
    /// of the new numbers (RFC 6525 s5.2.4).
    pub fn renumber(&mut self) {
        let all: Vec<u16> = self.streams.keys().collect();
        for id in all {
            let Some(stream) = self.streams.get_mut(id) else { continue };
            (stream.next, stream.skipped) = (0, [None; 2]);
            let mut before = std::mem::take(&mut stream.waiting);
            while let Some((key, message)) = before.pop_up_to(u64::MAX) {
                let key = number_of(self.framing, key).into();
                if let Some(waiting) = &mut self.waiting {
                    waiting.extend(message.offsets().map(|at| (at, (id, key))));
                }
                stream.waiting.insert(key, message);
            }
            self.release(id);
        }
    }

    /// Adds streams, up to 65,535 (RFC 6525 s4.6).
    pub fn add_streams(&mut self, count: u16) {
        self.count = self.count.saturating_add(count);
    }

    /// Number of streams.
    pub const fn streams(&self) -> u16 {
        self.count
    }
}

impl Waiting {
    /// Offsets of the TSNs of its chunks.
    fn offsets(&self) -> impl Iterator<Item = u64> {
        let (single, fragments) = match self {
            Waiting::Single { at, .. } => (Some(*at), None),
            Waiting::Fragments(run) => (None, Some(run.offsets())),
        };
        single.into_iter().chain(fragments.into_iter().flatten())
    }

    /// The message of a stream.
    fn into_received(self, stream: u16) -> Received {
        match self {
            Waiting::Single { ppid, payload, .. } => {
                Received { stream, ppid, unordered: false, payload }
            }
            Waiting::Fragments(run) => run.into_received(),
        }
    }

    /// Its fragments, `number` being its SSN or MID.
    fn into_run(self, stream: u16, number: u32) -> Run {
        match self {
            Waiting::Single { at, ppid, payload } => {
                let head = Head { stream, unordered: false, number };
                Run::new(at, head, DataFlags::WHOLE, ppid, payload)
            }
            Waiting::Fragments(run) => *run,
        }
    }
}

/// The SSN or MID of the message with this key.
const fn number_of(framing: Framing, key: u64) -> u32 {
    match framing {
        Framing::Data => key as u16 as u32,
        Framing::Interleaved => key as u32,
    }
}

impl Stream {
    /// Key of a message that arrives with this SSN or MID; `None` if it is before the one expected.
    ///
    /// A new message is never before: every SSN is ahead, so that 65,535 messages can wait for a
    /// lost one.
    fn key(&self, framing: Framing, number: u32) -> Option<u64> {
        match framing {
            Framing::Data => {
                let ahead = (number as u16).wrapping_sub(self.next as u16);
                Some(self.next + u64::from(ahead))
            }
            Framing::Interleaved => self.skipped_key(framing, number),
        }
    }

    /// Key of the message with this SSN or MID, which is skipped; `None` if it is before the one
    /// expected.
    fn skipped_key(&self, framing: Framing, number: u32) -> Option<u64> {
        let ahead = match framing {
            Framing::Data => i64::from(Ssn(number as u16).distance_from(Ssn(self.next as u16))),
            Framing::Interleaved => i64::from(Mid(number).distance_from(Mid(self.next as u32))),
        };
        u64::try_from(ahead).ok().map(|ahead| self.next + ahead)
    }
}

impl Ready {
    #[inline(always)]
    fn push(&mut self, received: Received) {
        self.bytes += u64::from(received.payload.len());
        self.messages.push_back(received);
    }

    fn pop(&mut self) -> Option<Received> {
        let received = self.messages.pop_front()?;
        self.bytes -= u64::from(received.payload.len());
        Some(received)
    }

    #[inline(always)]
    fn read(&mut self, max: u32) -> Payload {
        // What is usual in a simulation: one message, or none.
        let first = self.messages.front().map_or(0, |first| first.payload.len());
        if u64::from(first) == self.bytes && first <= max {
            self.bytes = 0;
            return self.messages.pop_front().map_or(Payload::EMPTY, |first| first.payload);
        }
        self.read_several(max)
    }

    #[inline(never)]
    fn read_several(&mut self, max: u32) -> Payload {
        let (mut joined, mut left) = (Joined::default(), max);
        while let Some(first) = self.messages.front_mut()
            && left > 0
        {
            let len = first.payload.len();
            if len <= left {
                joined.push(std::mem::take(&mut first.payload));
                self.messages.pop_front();
            } else {
                joined.push(first.payload.slice(0, left));
                first.payload = first.payload.slice(left, len - left);
            }
            left -= len.min(left);
        }
        self.bytes -= u64::from(max - left);
        joined.into_payload()
    }
}

#[cfg(test)]
mod tests;
