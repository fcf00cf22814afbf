//! `Binding`: fragments that were taken from their streams and not sent, each bound to a path or
//! not yet.
//!
//! A scheduler that plans ahead (`Scheduler::plans_ahead`) binds data to a path that has no room
//! yet, or sends later data before earlier ones. A message gets its SSN or MID when its fragments
//! are taken here, and a fragment its TSN when it is sent: streams keep their order whatever path
//! sends first. The fragments of a message in DATA chunks have consecutive TSNs (RFC 9260 s6.9):
//! they are bound to one path together, and no other path sends new data between them.
//!
//! FORWARD TSN names the highest number of a stream that is skipped (RFC 3758 s3.2): once messages
//! may be abandoned, fragments are sent in the order in which they were taken.
//!
//! The SSN of a message in DATA chunks has 16 bits: a fragment is sent only if it is not too far
//! behind the first one that was not, which may wait long for a path that is full. With
//! [`MAX_SPAN`], at most 65,535 messages of a stream then follow one that has not arrived.
//!
//! What is missing must find room at the peer, whose buffer may be full of what was sent before it:
//! a fragment is sent only if the peer's window takes all that is bound, or if it is the first.

use super::streams::{Fragment, Framing, MessageKey, OutboundStreams, Sequence};
use crate::scheduler::{DataSegment, PathSet};
use base::PathId;
use std::collections::{BTreeMap, VecDeque};

/// Bytes of a window that a chunk takes beside its user data at most: I-DATA, with padding.
const CHUNK_OVERHEAD: u64 = 20 + 3;

/// Chunks outstanding at most.
pub(super) const MAX_SPAN: usize = 32_767;

/// Fragments from one of [`Binding::marks`] to the next.
const MARK_FRAGMENTS: u64 = 4096;

/// The mark behind the first fragment that was not sent, counted from 0, before which all are that
/// are sent. Among the messages behind one that has not arrived, at most `MAX_SPAN` were sent after
/// it, 16,384 overtook it, and 16,384 wait behind another one.
const LAST_MARK: usize = 3;

/// A fragment that is bound to a path.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    /// Position of its first byte in all user data of the association.
    pub offset: u64,
    pub fragment: Fragment,
}

/// Fragments with numbers in their streams and without TSNs.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    framing: Framing,
    /// Bound to no path, by position.
    open: BTreeMap<u64, Fragment>,
    /// By path: in the order of their positions, after the rest of a message that has begun.
    queues: Vec<Queue>,
    /// Everything below was taken from the streams.
    end: u64,
    /// What was passed to a path although data before it were not.
    ahead: VecDeque<DataSegment>,
    /// DATA: the message whose fragments must follow, since not all of them were sent.
    begun: Option<(MessageKey, Sequence)>,
    /// Nothing overtakes: messages may be abandoned.
    keeps_order: bool,
    /// User data in `open` and `queues`, in bytes, and the number of fragments.
    bytes: u64,
    count: u64,
    /// Fragments that were taken from the streams.
    taken: u64,
    /// DATA: positions, `MARK_FRAGMENTS` fragments apart, behind the first one that was not sent.
    marks: VecDeque<u64>,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    waiting: VecDeque<Bound>,
    bytes: u64,
}

/// What is taken from the streams, and how.
pub(super) struct Source<'a> {
    pub streams: &'a mut OutboundStreams,
    /// The largest fragment, in bytes of user data.
    pub size: u32,
}

impl Source<'_> {
    fn take(&mut self) -> Option<Fragment> {
        if self.streams.queued_bytes() == 0 {
            return None;
        }
        self.streams.take(self.size).or_else(|| {
            // The stream of this packet has no more.
            self.streams.end_packet();
            self.streams.take(self.size)
        })
    }
}

impl Binding {
    /// Nothing is bound.
    pub(super) const fn new(framing: Framing) -> Binding {
        Binding {
            framing,
            open: BTreeMap::new(),
            queues: Vec::new(),
            end: 0,
            ahead: VecDeque::new(),
            begun: None,
            keeps_order: false,
            bytes: 0,
            count: 0,
            taken: 0,
            marks: VecDeque::new(),
        }
    }

    /// User data that have numbers and were not sent, in bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// User data bound to `path`, in bytes.
    pub(super) fn bytes_of(&self, path: PathId) -> u64 {
        self.queues.get(path.index()).map_or(0, |queue| queue.bytes)
    }

    /// User data bound to paths, in bytes.
    pub(super) fn bound_bytes(&self) -> u64 {
        self.queues.iter().map(|queue| queue.bytes).sum()
    }

    /// Bytes of a window that everything here takes at most.
    pub(super) const fn reserve(&self) -> u64 {
        self.bytes + self.count * CHUNK_OVERHEAD
    }

    /// The first position that was passed to no path.
    pub(super) fn next(&self) -> u64 {
        self.open.keys().next().copied().unwrap_or(self.end)
    }

    /// The end of what was taken from the streams.
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// What was passed to paths behind [`Binding::next`], in order.
    pub(super) const fn ahead(&self) -> &VecDeque<DataSegment> {
        &self.ahead
    }

    /// Bytes passed to paths behind [`Binding::next`].
    pub(super) fn ahead_bytes(&self) -> u64 {
        self.ahead.iter().map(|segment| u64::from(segment.len)).sum()
    }

    /// Whether what is to be sent first is bound to no path.
    pub(super) fn is_first_open(&self) -> bool {
        self.begun.is_none() && self.first_bound().is_none_or(|(first, _)| self.next() < first)
    }

    /// The first fragment that is bound to a path: its position and the path.
    fn first_bound(&self) -> Option<(u64, PathId)> {
        let first = |(index, queue): (usize, &Queue)| {
            // The rest of a message may come before lower positions.
            let first = queue.waiting.iter().take_while(|bound| !bound.fragment.is_first());
            let rest = first.map(|bound| bound.offset).min();
            let next = queue.waiting.iter().find(|bound| bound.fragment.is_first());
            let next = next.map(|bound| bound.offset);
            let lowest = rest.into_iter().chain(next).min()?;
            Some((lowest, PathId(index as u8)))
        };
        self.queues.iter().enumerate().filter_map(first).min()
    }

    /// The path that is to send next if only one may: that of the rest of a message, else that of
    /// the first fragment bound; `None`: nothing is bound.
    pub(super) fn first_path(&self) -> Option<PathId> {
        let rest = || self.queues.iter().position(|queue| self.goes_on(queue));
        match self.begun.and_then(|_| rest()) {
            Some(index) => Some(PathId(index as u8)),
            None => self.first_bound().map(|(_, path)| path),
        }
    }

    /// User data of the first fragment of all, in bytes.
    pub(super) fn first_len(&self) -> Option<u32> {
        let of_path = || {
            let queue = self.queues.get(self.first_path()?.index())?;
            queue.waiting.front().map(|bound| bound.fragment.payload.len())
        };
        match self.open.values().next() {
            Some(fragment) if self.is_first_open() => Some(fragment.payload.len()),
            _ => of_path(),
        }
    }

    /// Whether the queue begins with the rest of the message that has begun.
    fn goes_on(&self, queue: &Queue) -> bool {
        let front = queue.waiting.front();
        front.is_some_and(|bound| self.is_rest(&bound.fragment))
    }

    fn is_rest(&self, fragment: &Fragment) -> bool {
        self.begun == Some((fragment.message, fragment.sequence))
    }

    /// Messages may be abandoned from now on.
    pub(super) const fn keep_order(&mut self) {
        self.keeps_order = true;
    }

    /// The fragment that `path` may send next; `None`: nothing is bound to it, or another path
    /// sends first.
    pub(super) fn front(&self, path: PathId) -> Option<&Fragment> {
        let queue = self.queues.get(path.index())?;
        let may = match self.begun {
            Some(_) => self.goes_on(queue),
            None => !self.keeps_order || self.is_first(path),
        };
        let front = queue.waiting.front().filter(|bound| may && self.is_near(bound));
        front.map(|bound| &bound.fragment)
    }

    /// Whether the number of a fragment is near enough to that of the first one that was not sent.
    fn is_near(&self, bound: &Bound) -> bool {
        let end = self.marks.get(LAST_MARK);
        end.is_none_or(|end| bound.offset < *end || self.is_rest(&bound.fragment))
    }

    /// The first fragment that was not sent may be another one, or there is another mark: forgets
    /// those up to it, so that it is before the last mark.
    fn forget_marks(&mut self) {
        if self.marks.len() <= LAST_MARK {
            return;
        }
        let bound = self.first_bound().map_or(self.end, |(first, _)| first);
        let first = self.next().min(bound);
        while self.marks.front().is_some_and(|mark| *mark <= first) {
            self.marks.pop_front();
        }
    }

    /// Whether what `path` sends next comes before all else.
    fn is_first(&self, path: PathId) -> bool {
        !self.is_first_open() && self.first_path() == Some(path)
    }

    /// Whether a `window` of the peer leaves room for what comes first after `path` has sent its
    /// next fragment; `margin`: bytes that the peer may not announce.
    pub(super) fn leaves_room(&self, path: PathId, window: u64, margin: u64) -> bool {
        if self.reserve() + margin <= window || self.begun.is_some() {
            return true;
        }
        self.is_first(path)
    }

    /// The next fragment of `path` is sent, or abandoned.
    pub(super) fn pop(&mut self, path: PathId) -> Option<Bound> {
        self.front(path)?;
        let queue = self.queues.get_mut(path.index())?;
        let bound = queue.waiting.pop_front()?;
        let len = u64::from(bound.fragment.payload.len());
        queue.bytes -= len;
        self.bytes -= len;
        self.count -= 1;
        if self.framing == Framing::Data {
            let fragment = &bound.fragment;
            let begun = (fragment.message, fragment.sequence);
            self.begun = (!fragment.is_last()).then_some(begun);
        }
        self.forget_marks();
        Some(bound)
    }

    /// Binds what begins at `at` to `path`: `most` bytes, at least a fragment, and with DATA to the
    /// end of a message. Returns whether there was anything.
    pub(super) fn bind(
        &mut self,
        path: PathId,
        (at, most): (u64, u32),
        source: &mut Source<'_>,
    ) -> bool {
        let Some(mut at) = self.start(at, most, source) else { return false };
        let mut left = most;
        let mut is_whole = false;
        while let Some(len) = self.len_at(at, source) {
            if is_whole && len > left {
                break;
            }
            let Some(fragment) = self.open.remove(&at) else { break };
            is_whole = fragment.is_last() || self.framing == Framing::Interleaved;
            self.enqueue(path, Bound { offset: at, fragment });
            at += u64::from(len);
            left = left.saturating_sub(len);
            if is_whole && left == 0 {
                break;
            }
        }
        true
    }

    /// Whether a message has begun whose rest is bound to no path.
    pub(super) fn has_open_rest(&self) -> bool {
        self.begun.is_some() && !self.queues.iter().any(|queue| self.goes_on(queue))
    }

    /// Binds the rest of a message that has begun and lost its path: nothing else may be sent
    /// before it.
    pub(super) fn bind_rest(&mut self, path: PathId) {
        let rest = self.open.iter().filter(|(_, fragment)| self.is_rest(fragment));
        let rest: Vec<u64> = rest.map(|(at, _)| *at).collect();
        for at in rest.iter().rev() {
            if let Some(fragment) = self.open.remove(at) {
                self.note_passed(*at, fragment.payload.len());
                let queue = self.queue(path);
                queue.bytes += u64::from(fragment.payload.len());
                queue.waiting.push_front(Bound { offset: *at, fragment });
            }
        }
    }

    /// Where the fragment begins that has the byte `at`, or the message with DATA.
    fn start(&mut self, at: u64, most: u32, source: &mut Source<'_>) -> Option<u64> {
        self.fill(at, source);
        let before = self.open.range(..=at).next_back();
        let inside =
            before.filter(|(start, fragment)| **start + u64::from(fragment.payload.len()) > at);
        let next = || self.open.range(at..at + u64::from(most.max(1))).next();
        let (first, _) = inside.or_else(next)?;
        let first = *first;
        if self.framing == Framing::Interleaved {
            return Some(first);
        }
        let begins = |(_, fragment): &(&u64, &Fragment)| fragment.is_first();
        self.open.range(..=first).rev().find(begins).map(|(start, _)| *start)
    }

    /// Bytes of the fragment at this position, which is taken from the streams if they are next.
    fn len_at(&mut self, at: u64, source: &mut Source<'_>) -> Option<u32> {
        if at == self.end {
            self.fill(at, source);
        }
        self.open.get(&at).map(|fragment| fragment.payload.len())
    }

    /// Takes fragments from the streams until the position `at` is among them.
    fn fill(&mut self, at: u64, source: &mut Source<'_>) {
        while self.end <= at
            && let Some(fragment) = source.take()
        {
            let len = u64::from(fragment.payload.len());
            self.open.insert(self.end, fragment);
            let at = self.end;
            self.end += len;
            self.bytes += len;
            self.count += 1;
            self.taken += 1;
            if self.framing == Framing::Data && self.taken.is_multiple_of(MARK_FRAGMENTS) {
                self.marks.push_back(at);
                self.forget_marks();
            }
        }
    }

    fn queue(&mut self, path: PathId) -> &mut Queue {
        if self.queues.len() <= path.index() {
            self.queues.resize_with(path.index() + 1, Queue::default);
        }
        &mut self.queues[path.index()]
    }

    fn enqueue(&mut self, path: PathId, bound: Bound) {
        let len = bound.fragment.payload.len();
        self.note_passed(bound.offset, len);
        let begun = self.begun;
        let queue = self.queue(path);
        queue.bytes += u64::from(len);
        // The rest of a message stays in front.
        let is_lower = |other: &Bound| {
            begun == Some((other.fragment.message, other.fragment.sequence))
                || other.offset < bound.offset
        };
        let index = queue.waiting.partition_point(is_lower);
        debug_assert!(
            queue.waiting.range(index..).all(|other| other.offset > bound.offset),
            "ordered behind the rest of a message"
        );
        queue.waiting.insert(index, bound);
    }

    /// `len` bytes at `offset` were passed to a path.
    fn note_passed(&mut self, offset: u64, len: u32) {
        let next = self.next();
        if next > offset {
            // Everything before `next` is passed.
            self.ahead.retain(|segment| segment.offset >= next);
            return;
        }
        let index = self.ahead.partition_point(|segment| segment.offset < offset);
        self.ahead.insert(index, DataSegment { offset, len, paths: PathSet::EMPTY });
    }

    /// What is bound to `path` and not sent is bound to no path again. Returns whether there was
    /// anything.
    pub(super) fn take_back(&mut self, path: PathId) -> bool {
        let Some(queue) = self.queues.get_mut(path.index()) else { return false };
        if queue.waiting.is_empty() {
            return false;
        }
        let queue = std::mem::take(queue);
        self.open.extend(queue.waiting.into_iter().map(|bound| (bound.offset, bound.fragment)));
        self.find_ahead();
        true
    }

    /// Everything behind the first open fragment and not open was passed.
    fn find_ahead(&mut self) {
        self.ahead.clear();
        let mut at = self.next();
        let ends = self.open.iter().map(|(start, open)| (*start, u64::from(open.payload.len())));
        for (start, len) in ends.chain([(self.end, 0)]) {
            while at < start {
                let len = u32::try_from(start - at).unwrap_or(u32::MAX);
                self.ahead.push_back(DataSegment { offset: at, len, paths: PathSet::EMPTY });
                at += u64::from(len);
            }
            at = start + len;
        }
    }

    /// Drops the fragments of a message that is given up; returns one of them.
    pub(super) fn remove(&mut self, message: MessageKey) -> Option<Fragment> {
        let removed = self.fragments().find(|fragment| fragment.message == message).cloned();
        let (mut bytes, mut count) = (0, 0);
        for queue in &mut self.queues {
            let before = (queue.bytes, queue.waiting.len());
            queue.waiting.retain(|bound| bound.fragment.message != message);
            queue.bytes = queue.waiting.iter().map(|bound| len(&bound.fragment)).sum();
            bytes += before.0 - queue.bytes;
            count += before.1 - queue.waiting.len();
        }
        self.open.retain(|_, fragment| {
            let stays = fragment.message != message;
            (bytes, count) = match stays {
                true => (bytes, count),
                false => (bytes + len(fragment), count + 1),
            };
            stays
        });
        self.bytes -= bytes;
        self.count -= count as u64;
        if self.begun.is_some_and(|(begun, _)| begun == message) {
            self.begun = None;
        }
        self.find_ahead();
        self.forget_marks();
        removed
    }

    /// All fragments, in no order.
    pub(super) fn fragments(&self) -> impl Iterator<Item = &Fragment> {
        let bound = self.queues.iter().flat_map(|queue| &queue.waiting);
        self.open.values().chain(bound.map(|bound| &bound.fragment))
    }

    /// Whether nothing of a stream waits here.
    pub(super) fn is_idle(&self, stream: u16) -> bool {
        self.count == 0 || self.fragments().all(|fragment| fragment.stream != stream)
    }
}

fn len(fragment: &Fragment) -> u64 {
    u64::from(fragment.payload.len())
}
