//! `OutboundStreams`: messages that are not yet sent, cut into fragments (RFC 9260 s6.9).
//!
//! A message gets its SSN or MID when its first fragment is taken, so one that is dropped before
//! leaves no gap. TSNs, paths and what was sent already are left to the association.

use super::scheduler::{Share, StreamScheduler};
use super::table::StreamTable;
use super::{Framing, Message, MessageKey, Reliability, StreamOrder};
use base::Instant;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hint::cold_path;
use wire::Payload;
use wire::sctp::{Chunk, Data, DataFlags, IData, Mid, Ssn, Tsn};

/// Messages to send, by stream. Streams cost memory from their first message on.
#[derive(Clone, Debug)]
pub struct OutboundStreams {
    framing: Framing,
    count: u16,
    streams: StreamTable<Stream>,
    scheduler: StreamScheduler,
    /// DATA: the stream whose first message has begun; its fragments have consecutive TSNs.
    started: Option<u16>,
    /// Messages of which some fragments were taken, and their streams.
    begun: BTreeMap<MessageKey, u16>,
    next_key: u64,
    queued_bytes: u64,
    limits: Limits,
}

/// Messages not begun that may be dropped.
#[derive(Clone, Debug, Default)]
struct Limits {
    lifetimes: BTreeSet<(Instant, MessageKey, u16)>,
    /// The least important first, among equals the oldest.
    expendable: BTreeSet<(Reverse<u32>, MessageKey, u16)>,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    /// By key; only the first one can have begun.
    queue: VecDeque<Queued>,
    numbers: Numbers,
    share: Share,
}

/// Numbers of the next messages.
#[derive(Clone, Debug, Default)]
struct Numbers {
    ssn: Ssn,
    /// Of ordered and of unordered messages.
    mids: [Mid; 2],
}

#[derive(Clone, Debug)]
struct Queued {
    key: MessageKey,
    ppid: u32,
    unordered: bool,
    immediate: bool,
    reliability: Reliability,
    /// A message; with byte traffic several of them, which share the key.
    payload: Payload,
    /// Byte traffic: bytes of a message.
    size: Option<u32>,
    /// Bytes of `payload` taken.
    taken: u32,
    /// Bytes of `payload` up to the end of the current message.
    end: u32,
    /// Some of the current message was taken.
    begun: bool,
    /// Of the next fragment; meaningful once the message has begun.
    sequence: Sequence,
}

/// A part of a message, or the whole of it, to be sent in one chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// Its message.
    pub message: MessageKey,
    /// Stream identifier.
    pub stream: u16,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// Flags of its chunk. A message that the user wants acknowledged at once has the I bit in its
    /// last fragment only.
    pub flags: DataFlags,
    /// Place of the message in its stream, and of the fragment in the message.
    pub sequence: Sequence,
    /// When to give the message up.
    pub reliability: Reliability,
    /// User data.
    pub payload: Payload,
}

/// Numbers of a fragment beside its TSN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sequence {
    /// Of DATA; zero in unordered messages.
    Ssn(Ssn),
    /// Of I-DATA.
    Mid {
        /// Message identifier.
        mid: Mid,
        /// Fragment sequence number.
        fsn: u32,
    },
}

/// A message that was dropped before its first fragment was taken, or is queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped {
    /// Its number.
    pub message: MessageKey,
    /// Its stream.
    pub stream: u16,
    /// Its payload protocol identifier.
    pub ppid: u32,
    /// Its bytes of user data.
    pub bytes: u64,
}

/// Why a message cannot be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidStream {
    /// The association has fewer streams.
    #[error("no such stream")]
    Unknown,
    /// It has no user data, and no DATA chunk may be without (RFC 9260 s3.3.1).
    #[error("a message has at least one byte")]
    Empty,
}

impl OutboundStreams {
    /// `streams` streams without messages, all with the same priority and weight.
    pub const fn new(streams: u16, framing: Framing, order: StreamOrder) -> Self {
        OutboundStreams {
            framing,
            count: streams,
            streams: StreamTable::new(),
            scheduler: StreamScheduler::new(order),
            started: None,
            begun: BTreeMap::new(),
            next_key: 0,
            queued_bytes: 0,
            limits: Limits { lifetimes: BTreeSet::new(), expendable: BTreeSet::new() },
        }
    }

    /// Queues a message.
    pub fn push(&mut self, message: Message) -> Result<(), InvalidStream> {
        if message.payload.is_empty() {
            return Err(InvalidStream::Empty);
        }
        self.stream_mut(message.stream)?;
        let Message { stream: id, ppid, unordered, immediate, reliability, payload } = message;
        let queued = Queued::new(payload);
        self.enqueue(id, Queued { ppid, unordered, immediate, reliability, ..queued });
        Ok(())
    }

    /// Queues bytes as ordered, reliable messages of `size` bytes. A last message of such bytes
    /// that has not begun is filled up first.
    pub fn append(
        &mut self,
        stream: u16,
        payload: Payload,
        size: u32,
    ) -> Result<(), InvalidStream> {
        let (size, len, next_key) = (size.max(1), payload.len(), self.next_key);
        let last = self.stream_mut(stream)?.queue.back_mut();
        let mut at = 0;
        if let Some(last) = last.filter(|last| last.size == Some(size)) {
            // Bytes behind messages of other streams must not overtake them.
            let is_newest = last.key.0 + 1 == next_key;
            let all = is_newest && last.payload.is_continued_by(&payload);
            at = if all { len } else { last.room().min(len) };
            last.extend(payload.slice(0, at));
            self.queued_bytes += u64::from(at);
        }
        if at < len {
            self.enqueue(stream, Queued::bytes(payload.slice(at, len - at), size));
        }
        Ok(())
    }

    fn stream_mut(&mut self, stream: u16) -> Result<&mut Stream, InvalidStream> {
        if stream >= self.count {
            return Err(InvalidStream::Unknown);
        }
        Ok(self.streams.entry(stream))
    }

    /// Queues a message in a stream that exists.
    fn enqueue(&mut self, id: u16, queued: Queued) {
        let key = MessageKey(self.next_key);
        self.next_key += 1;
        self.queued_bytes += u64::from(queued.payload.len());
        self.limits.insert(queued.reliability, key, id);
        let stream = self.streams.entry(id);
        stream.queue.push_back(Queued { key, ..queued });
        if stream.queue.len() == 1 {
            self.scheduler.update(id, &mut stream.share, Some(key));
        }
    }

    /// Bytes of user data that are not yet taken.
    pub const fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }

    /// Bytes of user data that [`Self::take`] would give.
    pub fn next_len(&self, max_payload: u32) -> Option<u32> {
        let head = self.streams.get(self.next_stream()?)?.queue.front()?;
        (max_payload > 0).then(|| head.left().min(max_payload))
    }

    /// The next fragment, with at most `max_payload` bytes of user data. There is none if nothing
    /// is queued, or if the current packet may have no data of another stream.
    // Inlined, a fragment is written once, where its chunk is kept.
    #[inline(always)]
    pub fn take(&mut self, max_payload: u32) -> Option<Fragment> {
        let id = self.next_stream().filter(|_| max_payload > 0)?;
        let stream = self.streams.get_mut(id)?;
        let head = stream.queue.front_mut()?;
        let begin = !head.begun;
        if begin {
            head.sequence = stream.numbers.bind(self.framing, head.unordered);
            if head.reliability != Reliability::Full {
                cold_path();
                self.limits.remove(head.reliability, head.key, id);
            }
        }
        let len = head.left().min(max_payload);
        let (fragment, is_over) = head.cut(id, len);
        self.queued_bytes -= u64::from(len);
        if begin != fragment.is_last() {
            note_begun(&mut self.begun, id, fragment.message, begin);
        }
        if is_over {
            stream.queue.pop_front();
        }
        if fragment.is_last() || self.framing == Framing::Interleaved {
            self.started = None;
            if is_over || !self.scheduler.is_alone() {
                let head = stream.head();
                self.scheduler.served(id, &mut stream.share, len, head);
            }
        } else {
            self.started = Some(id);
            self.scheduler.began(id, &mut stream.share, len);
        }
        Some(fragment)
    }

    /// The message whose fragment [`Self::take`] would give, if some of it was taken before.
    pub fn next_begun(&self) -> Option<(MessageKey, Reliability)> {
        let head = self.streams.get(self.next_stream()?)?.queue.front()?;
        head.begun.then_some((head.key, head.reliability))
    }

    fn next_stream(&self) -> Option<u16> {
        self.started.or_else(|| self.scheduler.next())
    }

    /// A packet ends: with [`StreamOrder::RoundRobinPacket`] the next one has another stream.
    #[inline(always)]
    pub fn end_packet(&mut self) {
        if let Some(id) = self.scheduler.take_packet() {
            self.requeue(id);
        }
    }

    /// A stream whose packet ends goes to the end of the queue.
    #[cold]
    fn requeue(&mut self, id: u16) {
        if let Some(stream) = self.streams.get_mut(id) {
            self.scheduler.requeue(id, &mut stream.share);
        }
    }

    /// Queued messages, with whether some of them was taken. Byte traffic that is queued together
    /// is one message.
    pub fn queued(&self) -> impl Iterator<Item = (Dropped, bool)> + '_ {
        self.streams.keys().flat_map(|id| {
            let queue = self.streams.get(id).into_iter().flat_map(|stream| &stream.queue);
            queue.map(move |queued| {
                let bytes = u64::from(queued.left());
                let begun = queued.taken > 0;
                (Dropped { message: queued.key, stream: id, ppid: queued.ppid, bytes }, begun)
            })
        })
    }

    /// When the next message that has not begun is to be dropped.
    #[inline(always)]
    pub fn next_expiry(&self) -> Option<Instant> {
        self.limits.lifetimes.first().map(|(end, ..)| *end)
    }

    /// Drops the messages that have not begun and whose lifetime is over.
    pub fn drop_expired(&mut self, now: Instant) -> Vec<Dropped> {
        let mut dropped = Vec::new();
        while let Some((end, message, stream)) = self.limits.lifetimes.first().copied()
            && end <= now
        {
            self.limits.lifetimes.pop_first();
            dropped.extend(self.drop_message(message, stream));
        }
        dropped
    }

    /// Drops messages that have not begun and are less important than `priority`, the least
    /// important first, until they free `bytes` or none is left (RFC 7496 s3.2). Messages without
    /// priority (`None`) are more important than all with one.
    pub fn make_room(&mut self, bytes: u64, priority: Option<u32>) -> Vec<Dropped> {
        let (mut dropped, mut freed) = (Vec::new(), 0);
        while freed < bytes
            && let Some((Reverse(rank), message, stream)) = self.limits.expendable.first().copied()
            && priority.is_none_or(|priority| rank > priority)
        {
            self.limits.expendable.pop_first();
            if let Some(message) = self.drop_message(message, stream) {
                freed += message.bytes;
                dropped.push(message);
            }
        }
        dropped
    }

    /// Drops a message that has not begun.
    fn drop_message(&mut self, key: MessageKey, id: u16) -> Option<Dropped> {
        let stream = self.streams.get_mut(id)?;
        let index = stream.queue.binary_search_by_key(&key, |queued| queued.key).ok()?;
        let queued = stream.queue.remove(index)?;
        debug_assert!(!queued.begun, "what has begun has no limit here");
        self.limits.remove(queued.reliability, key, id);
        let bytes = u64::from(queued.payload.len());
        self.queued_bytes -= bytes;
        let head = stream.head();
        self.scheduler.update(id, &mut stream.share, head);
        Some(Dropped { message: key, stream: id, ppid: queued.ppid, bytes })
    }

    /// Drops the rest of a message that has begun; returns it as one fragment.
    ///
    /// With DATA the association then skips one TSN with the message: for the receiver a first
    /// fragment next to one that is not the last would be a protocol violation.
    pub fn abandon(&mut self, message: MessageKey) -> Option<Fragment> {
        let id = self.begun.remove(&message)?;
        let stream = self.streams.get_mut(id)?;
        let mut head = stream.queue.pop_front_if(|head| head.key == message)?;
        let (rest, _) = head.cut(id, head.left());
        self.queued_bytes -= u64::from(rest.payload.len());
        self.started = None;
        let head = stream.head();
        self.scheduler.served(id, &mut stream.share, 0, head);
        Some(rest)
    }

    /// Priority of a stream for [`StreamOrder::Priority`]: the lowest value is served first.
    pub fn set_priority(&mut self, stream: u16, priority: u16) {
        self.set_share(stream, |share| share.priority = priority);
    }

    /// Share of a stream for [`StreamOrder::WeightedFair`], relative to the others; at least 1.
    pub fn set_weight(&mut self, stream: u16, weight: u16) {
        self.set_share(stream, |share| share.weight = weight);
    }

    fn set_share(&mut self, id: u16, set: impl FnOnce(&mut Share)) {
        if id < self.count {
            let stream = self.streams.entry(id);
            set(&mut stream.share);
            let head = stream.head();
            self.scheduler.changed(id, &mut stream.share, head);
        }
    }

    /// Number of streams.
    pub const fn streams(&self) -> u16 {
        self.count
    }

    /// Adds streams, up to 65,535 (RFC 6525 s4.5).
    pub fn add_streams(&mut self, count: u16) {
        self.count = self.count.saturating_add(count);
    }

    /// Numbers messages of these streams, or of all if there are none, from zero again (RFC 6525
    /// s5.1.2).
    pub fn reset(&mut self, streams: &[u16]) {
        if streams.is_empty() {
            self.streams.values_mut().for_each(|stream| stream.numbers = Numbers::default());
        }
        for id in streams {
            if let Some(stream) = self.streams.get_mut(*id) {
                stream.numbers = Numbers::default();
            }
        }
    }

    /// Whether a stream has nothing queued.
    pub fn is_idle(&self, stream: u16) -> bool {
        self.streams.get(stream).is_none_or(|stream| stream.queue.is_empty())
    }
}

impl Limits {
    fn insert(&mut self, reliability: Reliability, message: MessageKey, stream: u16) {
        match reliability {
            Reliability::Lifetime(end) => {
                self.lifetimes.insert((end, message, stream));
            }
            Reliability::Priority(priority) => {
                self.expendable.insert((Reverse(priority), message, stream));
            }
            Reliability::Full | Reliability::Retransmissions(_) => {}
        }
    }

    #[inline(never)]
    fn remove(&mut self, reliability: Reliability, message: MessageKey, stream: u16) {
        match reliability {
            Reliability::Lifetime(end) => {
                self.lifetimes.remove(&(end, message, stream));
            }
            Reliability::Priority(priority) => {
                self.expendable.remove(&(Reverse(priority), message, stream));
            }
            Reliability::Full | Reliability::Retransmissions(_) => {}
        }
    }
}

impl Stream {
    fn head(&self) -> Option<MessageKey> {
        self.queue.front().map(|head| head.key)
    }
}

impl Numbers {
    /// The numbers of the first fragment of the next message.
    fn bind(&mut self, framing: Framing, unordered: bool) -> Sequence {
        match framing {
            Framing::Data if unordered => Sequence::Ssn(Ssn(0)),
            Framing::Data => {
                self.ssn += 1;
                Sequence::Ssn(self.ssn - 1)
            }
            Framing::Interleaved => {
                let next = &mut self.mids[usize::from(unordered)];
                *next += 1;
                Sequence::Mid { mid: *next - 1, fsn: 0 }
            }
        }
    }
}

impl Queued {
    /// An ordered, reliable message; its key follows.
    fn new(payload: Payload) -> Self {
        Queued {
            key: MessageKey(0),
            ppid: 0,
            unordered: false,
            immediate: false,
            reliability: Reliability::Full,
            size: None,
            taken: 0,
            end: payload.len(),
            begun: false,
            sequence: Sequence::Ssn(Ssn(0)),
            payload,
        }
    }

    /// Byte traffic in messages of `size` bytes, of which the last one may be shorter.
    fn bytes(payload: Payload, size: u32) -> Self {
        let end = size.min(payload.len());
        Queued { size: Some(size), end, ..Queued::new(payload) }
    }

    /// Bytes by which the last message can grow: none if it has begun.
    fn room(&self) -> u32 {
        let Some(size) = self.size else { return 0 };
        let start = if self.begun { self.end } else { self.taken };
        match (self.payload.len() - start) % size {
            0 => 0,
            last => size - last,
        }
    }

    /// More bytes of byte traffic.
    fn extend(&mut self, payload: Payload) {
        self.payload.append(payload);
        if !self.begun {
            self.begin_next(self.payload.len());
        }
    }

    /// The current message is that behind what was taken.
    fn begin_next(&mut self, whole: u32) {
        let size = self.size.unwrap_or(u32::MAX);
        self.end = self.taken.saturating_add(size).min(whole);
        self.begun = false;
    }

    /// Bytes left of the current message.
    const fn left(&self) -> u32 {
        self.end - self.taken
    }

    /// The next `len` bytes as a fragment, and whether they are the last ones of `payload`.
    #[inline(always)]
    fn cut(&mut self, stream: u16, len: u32) -> (Fragment, bool) {
        let flag = |is_set: bool, flag| if is_set { flag } else { DataFlags::default() };
        let (begin, end) = (!self.begun, len == self.left());
        let whole = self.payload.len();
        let payload = if len == whole {
            std::mem::take(&mut self.payload)
        } else {
            self.payload.slice(self.taken, len)
        };
        let sequence = self.sequence;
        (self.taken, self.begun) = (self.taken + len, true);
        let is_over = self.taken >= whole;
        if end && !is_over {
            self.begin_next(whole);
        }
        if let Sequence::Mid { fsn, .. } = &mut self.sequence {
            *fsn = fsn.wrapping_add(1);
        }
        let fragment = Fragment {
            message: self.key,
            stream,
            ppid: self.ppid,
            flags: flag(begin, DataFlags::BEGIN)
                | flag(end, DataFlags::END)
                | flag(self.unordered, DataFlags::UNORDERED)
                | flag(self.immediate & end, DataFlags::IMMEDIATE),
            sequence,
            reliability: self.reliability,
            payload,
        };
        (fragment, is_over)
    }
}

impl Fragment {
    /// The chunk with this TSN.
    pub fn to_chunk(&self, tsn: Tsn) -> Chunk {
        match self.sequence {
            Sequence::Ssn(ssn) => Chunk::Data(self.to_data(tsn, ssn)),
            Sequence::Mid { mid, fsn } => Chunk::IData(IData {
                flags: self.flags,
                tsn,
                stream: self.stream,
                mid,
                ppid_or_fsn: if self.is_first() { self.ppid } else { fsn },
                payload: self.payload.clone(),
            }),
        }
    }

    /// DATA with this fragment.
    #[inline(always)]
    pub(crate) fn to_data(&self, tsn: Tsn, ssn: Ssn) -> Data {
        let (stream, ppid, payload) = (self.stream, self.ppid, self.payload.clone());
        Data { flags: self.flags, tsn, stream, ssn, ppid, payload }
    }

    /// Whether it is the first one of its message.
    pub const fn is_first(&self) -> bool {
        self.flags.contains(DataFlags::BEGIN)
    }

    /// Whether it is the last one of its message.
    pub const fn is_last(&self) -> bool {
        self.flags.contains(DataFlags::END)
    }

    /// Whether its message is delivered without regard to others.
    pub const fn is_unordered(&self) -> bool {
        self.flags.contains(DataFlags::UNORDERED)
    }

    /// Bytes of the header of DATA or I-DATA.
    pub const fn header(framing: Framing) -> u32 {
        framing.header()
    }
}

/// Notes the first or last fragment of a message that has several.
#[inline(never)]
fn note_begun(
    begun: &mut BTreeMap<MessageKey, u16>,
    stream: u16,
    message: MessageKey,
    is_begin: bool,
) {
    if is_begin {
        begun.insert(message, stream);
    } else {
        begun.remove(&message);
    }
}

#[cfg(test)]
mod tests;
