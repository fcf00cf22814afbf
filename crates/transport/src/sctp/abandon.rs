//! `Abandonment`: messages that the sender gives up, and FORWARD TSN that says so (RFC 3758, RFC
//! 7496).
//!
//! A message is abandoned as a whole: what was sent counts as acknowledged, what was not is
//! dropped. Losses that led there have cut windows as any others. The receiving side is
//! `Receiver`'s.

use super::binding::{Binding, Bound};
use super::outstanding::{Marked, UserData};
use super::path::Path;
use super::sender::{Sender, Sent};
use super::streams::{Dropped, Fragment, Framing, MessageKey, Reliability, Sequence};
use crate::socket::SendFailure;
use base::{Duration, Instant, PathId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hint::cold_path;
use wire::Payload;
use wire::sctp::{Chunk, ForwardTsn, IForwardTsn, Mid, SkippedMessages, Ssn, Tsn};

/// FORWARD TSN waits for data to share a packet with for this time at most (RFC 3758 s3.5 C4).
const MAX_DELAY: Duration = Duration::from_millis(200);
/// Bytes of FORWARD TSN and I-FORWARD-TSN without streams, and per stream.
const HEADER: u32 = 8;
const PER_STREAM: u32 = 4;
const PER_INTERLEAVED_STREAM: u32 = 8;

/// Messages that may be abandoned, and those that the peer must skip.
#[derive(Clone, Debug)]
pub(super) struct Abandonment {
    /// Both sides have FORWARD TSN.
    supported: bool,
    /// A message was queued that may be given up.
    pub(super) enabled: bool,
    /// Chunks sent of messages that may be abandoned.
    sent: BTreeMap<MessageKey, Vec<Tsn>>,
    /// Their messages in the order of TSNs, to forget what is acknowledged.
    order: VecDeque<(Tsn, MessageKey)>,
    /// Messages sent with a priority: the least important first, among equals the oldest.
    expendable: BTreeSet<(Reverse<u32>, MessageKey)>,
    /// Abandoned chunks that the peer does not know of.
    skipped: Vec<Skipped>,
    /// Messages abandoned that the user has not heard of.
    failed: Vec<SendFailure>,
    forward: Forward,
}

/// An abandoned chunk.
#[derive(Clone, Copy, Debug)]
struct Skipped {
    tsn: Tsn,
    stream: u16,
    unordered: bool,
    sequence: Sequence,
}

/// When FORWARD TSN is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Forward {
    /// There is nothing new to skip.
    Idle,
    /// It is due then, or with the next data.
    Due(Instant),
    /// It was sent and is repeated later.
    Sent {
        /// Everything up to here was to be skipped.
        wanted: Tsn,
        /// What it said, for which it had room.
        reached: Tsn,
        again: Instant,
    },
}

impl Abandonment {
    pub(super) const fn new(supported: bool) -> Abandonment {
        Abandonment {
            supported,
            enabled: false,
            sent: BTreeMap::new(),
            order: VecDeque::new(),
            expendable: BTreeSet::new(),
            skipped: Vec::new(),
            failed: Vec::new(),
            forward: Forward::Idle,
        }
    }

    /// A message is queued: if it may be given up, there is something to do from now on.
    pub(super) fn on_message(&mut self, reliability: Reliability) {
        self.enabled |= self.supported && reliability != Reliability::Full;
    }

    /// When FORWARD TSN is due.
    pub(super) const fn deadline(&self) -> Instant {
        match self.forward {
            Forward::Idle => Instant::FAR_FUTURE,
            Forward::Due(at) | Forward::Sent { again: at, .. } => at,
        }
    }

    /// Everything is acknowledged, and TSNs begin anew.
    pub(super) fn renumber(&mut self) {
        let failed = std::mem::take(&mut self.failed);
        *self = Abandonment { failed, ..Abandonment::new(self.supported) };
    }

    /// A fragment is sent for the first time.
    #[cold]
    pub(super) fn on_sent(&mut self, tsn: Tsn, message: MessageKey, reliability: Reliability) {
        if reliability == Reliability::Full {
            return;
        }
        self.sent.entry(message).or_default().push(tsn);
        self.order.push_back((tsn, message));
        if let Reliability::Priority(rank) = reliability {
            self.expendable.insert((Reverse(rank), message));
        }
    }

    /// Everything up to `cum_tsn` is acknowledged.
    fn forget(&mut self, cum_tsn: Tsn) {
        let before = self.sent.len();
        while let Some((_, message)) = self.order.pop_front_if(|(tsn, _)| *tsn <= cum_tsn) {
            let last = self.sent.get(&message).and_then(|sent| sent.last());
            if last.is_some_and(|last| *last <= cum_tsn) {
                self.sent.remove(&message);
            }
        }
        if self.sent.len() < before {
            let sent = &self.sent;
            self.expendable.retain(|(_, message)| sent.contains_key(message));
        }
        self.skipped.retain(|skipped| skipped.tsn > cum_tsn);
    }
}

impl Sender {
    /// Abandons messages whose lifetime is over, as long as the next fragment on `path` has a
    /// number in its stream: it is the rest of a message, or is bound to the path.
    #[inline(never)]
    pub(super) fn abandon_begun(&mut self, now: Instant, path: PathId) {
        while self.abandonment.enabled
            && let Some((message, Reliability::Lifetime(end))) = self.next_begun(path)
            && end <= now
            && let Some(Bound { fragment, .. }) = self.take_new(path)
        {
            let failure = SendFailure { stream: fragment.stream, ppid: fragment.ppid, sent: true };
            self.consume(now, path, fragment);
            let before = self.abandonment.failed.len();
            self.abandon(now, message);
            // The peer may have all that was sent before.
            if self.abandonment.failed.len() == before {
                self.abandonment.failed.push(failure);
            }
        }
    }

    /// The message of the next chunk on `path`, if it has its number already.
    fn next_begun(&self, path: PathId) -> Option<(MessageKey, Reliability)> {
        let Some(binding) = self.binding() else { return self.streams.next_begun() };
        binding.front(path).map(|fragment| (fragment.message, fragment.reliability))
    }

    /// A chunk gets a TSN and is abandoned at once.
    fn consume(&mut self, now: Instant, path: PathId, fragment: Fragment) {
        let unordered = fragment.is_unordered();
        let Fragment { stream, sequence, .. } = fragment;
        let sent = Sent { fragment, offset: self.bound() };
        let tsn = self.outstanding.send(now, path, 0, sent);
        self.outstanding.abandon(tsn);
        self.gaps.on_sent();
        self.gaps.on_abandoned(tsn);
        self.abandonment.skipped.push(Skipped { tsn, stream, unordered, sequence });
    }

    /// Drops messages that have not begun and whose lifetime is over (RFC 3758 s4.1).
    #[inline]
    pub(super) fn drop_expired(&mut self, now: Instant) {
        if self.streams.next_expiry().is_some_and(|end| end <= now) {
            cold_path();
            let dropped = self.streams.drop_expired(now);
            self.abandonment.failed.extend(dropped.iter().map(unsent));
        }
    }

    /// Drops less important messages if a new one of `len` bytes has no room: first those that are
    /// not sent, then those that the peer does not have (RFC 7496 s3.2).
    pub(super) fn make_room(&mut self, len: u64, reliability: Reliability) {
        let rank = match reliability {
            Reliability::Priority(rank) => Some(rank),
            _ => None,
        };
        if len <= self.room() {
            return;
        }
        let dropped = self.streams.make_room(len - self.room(), rank);
        self.abandonment.failed.extend(dropped.iter().map(unsent));
        while len > self.room()
            && let Some((Reverse(least), message)) = self.abandonment.expendable.first().copied()
            && rank.is_none_or(|rank| least > rank)
        {
            self.abandonment.expendable.pop_first();
            self.abandon(Instant::ZERO, message);
        }
    }

    /// Abandons the messages of marked chunks that reached their limit, as long as the lowest
    /// marked chunk is one; returns whether there were any.
    pub(super) fn abandon_marked(&mut self, now: Instant) -> bool {
        let mut any = false;
        while self.abandonment.enabled
            && let Some(marked) = self.outstanding.next_marked()
            && let Some(message) = given_up(&marked, now)
        {
            self.abandon(now, message);
            any = true;
        }
        any
    }

    /// The same for the lowest of those sent on `path` last, because of misses or not.
    pub(super) fn abandon_marked_of(
        &mut self,
        now: Instant,
        path: PathId,
        timed_out: bool,
    ) -> bool {
        let mut any = false;
        while self.abandonment.enabled
            && let Some(marked) = self.outstanding.next_marked_of(path, timed_out)
            && let Some(message) = given_up(&marked, now)
        {
            self.abandon(now, message);
            any = true;
        }
        any
    }

    /// Abandons a message of which something was sent.
    fn abandon(&mut self, now: Instant, message: MessageKey) {
        let sent = self.abandonment.sent.remove(&message).unwrap_or_default();
        let mut last: Option<Sent> = None;
        for tsn in sent {
            if let (Some(cmt), Some((path, _))) = (&mut self.cmt, self.outstanding.sent_on(tsn)) {
                cmt.marks.forget(self.outstanding.position(tsn), path);
            }
            self.gaps.on_abandoned(tsn);
            if let Some(data) = self.outstanding.abandon(tsn) {
                let unordered = data.fragment.is_unordered();
                let Fragment { stream, sequence, .. } = data.fragment;
                self.abandonment.skipped.push(Skipped { tsn, stream, unordered, sequence });
                self.release(data.bytes());
                last = Some(data);
            }
        }
        let bound = self.cmt.as_mut().and_then(|cmt| cmt.binding.as_mut());
        let bound = bound.and_then(|bound| bound.remove(message));
        let rest = self.streams.abandon(message).or(bound);
        // What was sent may be acknowledged beyond a gap for good.
        let any = last.as_ref().map(|sent| &sent.fragment).or(rest.as_ref());
        if let Some(Fragment { stream, ppid, .. }) = any {
            let failure = SendFailure { stream: *stream, ppid: *ppid, sent: true };
            self.abandonment.failed.push(failure);
        }
        // All that was sent may have arrived: FORWARD TSN must skip a TSN more to be heard. With
        // DATA the receiver would otherwise take the next message for the rest of this one.
        if let Some(rest) = rest {
            let fragment = Fragment { payload: Payload::default(), ..rest };
            self.consume(now, PathId(0), fragment);
        }
    }

    /// Whether messages were abandoned that the user has not heard of.
    pub(super) const fn has_failures(&self) -> bool {
        !self.abandonment.failed.is_empty()
    }

    /// Messages abandoned since the last call.
    pub(super) fn take_failures(&mut self) -> Vec<SendFailure> {
        std::mem::take(&mut self.abandonment.failed)
    }

    /// The association is over: messages abandoned since the last call, then all that the peer may
    /// not have, in the order in which they were queued (RFC 9260 s11.2.2).
    pub(super) fn fail_all(&mut self) -> Vec<SendFailure> {
        let queued = self.streams.queued().map(|(queued, begun)| {
            let Dropped { message, stream, ppid, .. } = queued;
            (message, SendFailure { stream, ppid, sent: begun })
        });
        let bound = self.binding().into_iter().flat_map(Binding::fragments).map(|fragment| {
            let Fragment { message, stream, ppid, .. } = *fragment;
            (message, SendFailure { stream, ppid, sent: false })
        });
        let queued = queued.chain(bound);
        let sent = self.outstanding.held().map(|Sent { fragment, .. }| {
            let Fragment { message, stream, ppid, .. } = *fragment;
            (message, SendFailure { stream, ppid, sent: true })
        });
        let all: BTreeMap<MessageKey, SendFailure> = queued.chain(sent).collect();
        let mut failed = self.take_failures();
        failed.extend(all.into_values());
        failed
    }

    /// What is acknowledged cumulatively cannot be abandoned any more. A chunk that was abandoned
    /// is never acknowledged: another one measures the round trip of its path.
    pub(super) fn forget_acknowledged(&mut self, paths: &mut [Path]) {
        if self.abandonment.enabled {
            cold_path();
            self.abandonment.forget(self.outstanding.cum_tsn());
            for path in paths {
                path.timed = path.timed.filter(|tsn| self.outstanding.data(*tsn).is_some());
            }
        }
    }

    /// Decides when FORWARD TSN is sent: at once if no data can share its packet (RFC 3758 s3.5
    /// C3, C4).
    pub(super) fn plan_forward(&mut self, now: Instant) {
        if !self.abandonment.enabled {
            return;
        }
        cold_path();
        let (point, cum) = (self.outstanding.advanced_tsn(), self.outstanding.cum_tsn());
        if point == cum {
            self.abandonment.forward = Forward::Idle;
            return;
        }
        let delay = if self.has_data() { MAX_DELAY } else { Duration::ZERO };
        self.abandonment.forward = match self.abandonment.forward {
            sent @ Forward::Sent { wanted, reached, .. } if wanted == point && cum < reached => {
                sent
            }
            Forward::Due(at) => Forward::Due(at.min(now + delay)),
            Forward::Sent { .. } | Forward::Idle => Forward::Due(now + delay),
        };
    }

    /// Whether FORWARD TSN waits no longer for data.
    pub(super) fn is_forward_due(&self, now: Instant) -> bool {
        matches!(self.abandonment.forward, Forward::Due(at) if at <= now)
    }

    /// FORWARD TSN was sent and not answered in time; it is due again then.
    pub(super) fn take_forward_timeout(&mut self, now: Instant) -> bool {
        let expired =
            matches!(self.abandonment.forward, Forward::Sent { again, .. } if again <= now);
        if expired {
            self.abandonment.forward = Forward::Due(now);
        }
        expired
    }

    /// FORWARD TSN or I-FORWARD-TSN, if one waits and fits `room` bytes. It is repeated after
    /// `rto`.
    pub(super) fn forward(&mut self, now: Instant, room: u32, rto: Duration) -> Option<Chunk> {
        let Forward::Due(_) = self.abandonment.forward else { return None };
        let wanted = self.outstanding.advanced_tsn();
        let per_stream = match self.setup.framing {
            Framing::Data => PER_STREAM,
            Framing::Interleaved => PER_INTERLEAVED_STREAM,
        };
        let most = room.checked_sub(HEADER)? / per_stream;
        let (reached, highest) = self.abandonment.highest_skipped(wanted, most as usize)?;
        self.abandonment.forward = Forward::Sent { wanted, reached, again: now + rto };
        Some(to_chunk(self.setup.framing, reached, &highest))
    }
}

impl Abandonment {
    /// The highest number skipped of each stream up to `point`, or up to a lower one if they are
    /// more than `most`, or more messages of a stream than serial numbers can compare (RFC 9260
    /// s1.6).
    fn highest_skipped(&self, point: Tsn, most: usize) -> Option<(Tsn, Highest)> {
        let (mut lowest, mut highest) = (Highest::new(), Highest::new());
        let mut reached = None;
        let mut skipped: Vec<&Skipped> =
            self.skipped.iter().filter(|skipped| skipped.tsn <= point).collect();
        skipped.sort_unstable_by_key(|skipped| Reverse(point.distance_from(skipped.tsn)));
        for skipped in skipped {
            let Skipped { tsn, stream, unordered, sequence } = *skipped;
            // Unordered DATA have no number.
            if unordered && matches!(sequence, Sequence::Ssn(_)) {
                reached = Some(tsn);
                continue;
            }
            let key = (stream, unordered);
            let is_too_far = is_too_far(*lowest.entry(key).or_insert(sequence), sequence);
            if is_too_far || highest.len() >= most && !highest.contains_key(&key) {
                return reached.map(|reached| (reached, highest));
            }
            highest.insert(key, sequence);
            reached = Some(tsn);
        }
        Some((point, highest))
    }
}

/// Whether a receiver that expects the message with the number `lowest` would take a FORWARD TSN up
/// to `number` for an old one. MIDs have more bits than messages can be outstanding.
const fn is_too_far(lowest: Sequence, number: Sequence) -> bool {
    match (lowest, number) {
        (Sequence::Ssn(lowest), Sequence::Ssn(number)) => {
            number.0.wrapping_sub(lowest.0) > i16::MAX as u16
        }
        _ => false,
    }
}

/// By stream and U bit.
type Highest = BTreeMap<(u16, bool), Sequence>;

/// The message of a marked chunk, if its limit is reached.
fn given_up(marked: &Marked<'_, Sent>, now: Instant) -> Option<MessageKey> {
    let Fragment { message, reliability, .. } = marked.data.fragment;
    let is_reached = match reliability {
        Reliability::Full | Reliability::Priority(_) => false,
        Reliability::Lifetime(end) => end <= now,
        Reliability::Retransmissions(most) => marked.retransmissions >= most,
    };
    is_reached.then_some(message)
}

/// A message that was dropped before anything of it was sent.
const fn unsent(dropped: &Dropped) -> SendFailure {
    SendFailure { stream: dropped.stream, ppid: dropped.ppid, sent: false }
}

fn to_chunk(framing: Framing, new_cum_tsn: Tsn, highest: &Highest) -> Chunk {
    match framing {
        Framing::Data => {
            let of = |((stream, _), sequence): (&(u16, bool), &Sequence)| match sequence {
                Sequence::Ssn(ssn) => (*stream, *ssn),
                Sequence::Mid { .. } => (*stream, Ssn(0)),
            };
            Chunk::ForwardTsn(ForwardTsn { new_cum_tsn, streams: highest.iter().map(of).collect() })
        }
        Framing::Interleaved => {
            let of = |((stream, unordered), sequence): (&(u16, bool), &Sequence)| {
                let mid = match sequence {
                    Sequence::Mid { mid, .. } => *mid,
                    Sequence::Ssn(_) => Mid(0),
                };
                SkippedMessages { stream: *stream, unordered: *unordered, mid }
            };
            let streams = highest.iter().map(of).collect();
            Chunk::IForwardTsn(IForwardTsn { new_cum_tsn, streams })
        }
    }
}
