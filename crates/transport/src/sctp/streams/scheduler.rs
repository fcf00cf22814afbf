//! Stream schedulers: which stream sends next (RFC 8260 s3).
//!
//! Each rule gives a stream with queued messages a rank; the lowest one is served. What a stream
//! has queued is left to `OutboundStreams`, and which path sends it to the association.

use super::MessageKey;
use std::collections::BTreeSet;

/// Order in which streams send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StreamOrder {
    /// Messages in the order in which they were queued (RFC 8260 s3.1).
    #[default]
    Fcfs,
    /// A message of each stream in turn, with I-DATA a chunk (RFC 8260 s3.2).
    RoundRobin,
    /// A packet of each stream in turn; a packet has data of one stream (RFC 8260 s3.3).
    RoundRobinPacket,
    /// The stream with the lowest priority value, equal ones in turn (RFC 8260 s3.4).
    Priority,
    /// The stream that has sent the fewest bytes (RFC 8260 s3.5).
    Fair,
    /// The stream that has sent the fewest bytes for its weight (RFC 8260 s3.6).
    WeightedFair,
}

/// Stream schedulers and their names.
const NAMES: [(StreamOrder, &str); 6] = [
    (StreamOrder::Fcfs, "fcfs"),
    (StreamOrder::RoundRobin, "rr"),
    (StreamOrder::RoundRobinPacket, "rr-packet"),
    (StreamOrder::Priority, "priority"),
    (StreamOrder::Fair, "fair"),
    (StreamOrder::WeightedFair, "weighted-fair"),
];

impl StreamOrder {
    /// Names of all stream schedulers.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, name)| *name)
    }

    /// The stream scheduler of that name.
    pub fn by_name(name: &str) -> Option<StreamOrder> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(order, _)| *order)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(order, _)| *order == self).map_or("", |(_, name)| *name)
    }
}

/// The streams that have something to send, and the rule that picks one.
#[derive(Clone, Debug)]
pub(super) struct StreamScheduler {
    order: StreamOrder,
    ready: Ready,
    /// Turns given so far.
    turns: u64,
    /// Service of the stream served last: one that was idle must not catch up.
    floor: u64,
    /// `RoundRobinPacket`: the stream of the current packet, and whether it has more.
    packet: Option<(u16, bool)>,
}

/// What a scheduler knows of a stream.
#[derive(Clone, Debug)]
pub(super) struct Share {
    pub(super) priority: u16,
    /// At least 1.
    pub(super) weight: u16,
    /// Bytes sent, in units of 1/65536 byte for a weight of 1.
    service: u64,
    /// `None`: the stream has nothing to send.
    rank: Option<Rank>,
}

impl Default for Share {
    fn default() -> Self {
        Share { priority: 0, weight: 1, service: 0, rank: None }
    }
}

/// Order of streams: by the rule's measure, then by turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Rank(u64, u64);

impl StreamScheduler {
    pub(super) const fn new(order: StreamOrder) -> Self {
        StreamScheduler { order, ready: Ready::new(), turns: 0, floor: 0, packet: None }
    }

    /// Whether the stream that sends next is the only one, and keeps its rank when it has more:
    /// others get a later turn or message, whatever the rank is.
    pub(super) fn is_alone(&self) -> bool {
        use StreamOrder::{Fcfs, Priority, RoundRobin};
        self.ready.others.is_empty() && matches!(self.order, Fcfs | RoundRobin | Priority)
    }

    /// The stream that sends next.
    pub(super) fn next(&self) -> Option<u16> {
        match self.packet {
            Some((stream, has_more)) => has_more.then_some(stream),
            None => self.ready.first.map(|(_, stream)| stream),
        }
    }

    /// The first message of a stream changed without being sent; `None`: it has none.
    pub(super) fn update(&mut self, stream: u16, share: &mut Share, head: Option<MessageKey>) {
        if share.rank.is_none() {
            share.service = share.service.max(self.floor);
        }
        let rank = head.map(|head| match share.rank {
            Some(rank) if self.order != StreamOrder::Fcfs => rank,
            _ => self.rank(share, head),
        });
        self.move_to(stream, share, rank);
    }

    /// A stream sent `bytes` of a message that has not ended, and keeps its turn.
    pub(super) fn began(&mut self, stream: u16, share: &mut Share, bytes: u32) {
        self.floor = share.service;
        let bytes = u64::from(bytes) << 16;
        share.service += match self.order {
            StreamOrder::WeightedFair => bytes / u64::from(share.weight.max(1)),
            _ => bytes,
        };
        if self.order == StreamOrder::RoundRobinPacket {
            self.packet = Some((stream, true));
        }
    }

    /// A stream sent `bytes`, and its turn is over; `head` is its first message now.
    pub(super) fn served(
        &mut self,
        stream: u16,
        share: &mut Share,
        bytes: u32,
        head: Option<MessageKey>,
    ) {
        self.began(stream, share, bytes);
        let rank = head.map(|head| match share.rank {
            Some(rank) if self.order == StreamOrder::RoundRobinPacket => rank,
            _ => self.rank(share, head),
        });
        self.move_to(stream, share, rank);
    }

    /// Priority or weight of a stream changed; `head` is its first message.
    pub(super) fn changed(&mut self, stream: u16, share: &mut Share, head: Option<MessageKey>) {
        let rank = head.map(|head| self.rank(share, head));
        self.move_to(stream, share, rank);
    }

    /// The stream of the packet that ends here, which goes to the end of the queue.
    pub(super) fn take_packet(&mut self) -> Option<u16> {
        self.packet.take().map(|(stream, _)| stream)
    }

    /// A stream takes its turn behind all others.
    pub(super) fn requeue(&mut self, stream: u16, share: &mut Share) {
        if share.rank.is_some() {
            let rank = Rank(0, self.turn());
            self.move_to(stream, share, Some(rank));
        }
    }

    fn rank(&mut self, share: &Share, head: MessageKey) -> Rank {
        match self.order {
            StreamOrder::Fcfs => Rank(head.0, 0),
            StreamOrder::RoundRobin | StreamOrder::RoundRobinPacket => Rank(0, self.turn()),
            StreamOrder::Priority => Rank(share.priority.into(), self.turn()),
            StreamOrder::Fair | StreamOrder::WeightedFair => Rank(share.service, self.turn()),
        }
    }

    fn turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    #[inline(always)]
    fn move_to(&mut self, stream: u16, share: &mut Share, rank: Option<Rank>) {
        let first = self.ready.first.map(|(_, first)| first);
        let is_only = self.ready.others.is_empty() && first.is_none_or(|first| first == stream);
        if is_only && self.packet.is_none() {
            self.ready.first = rank.map(|rank| (rank, stream));
            share.rank = rank;
        } else {
            self.move_among(stream, share, rank);
        }
    }

    #[inline(never)]
    fn move_among(&mut self, stream: u16, share: &mut Share, rank: Option<Rank>) {
        match (share.rank, rank) {
            (None, None) => {}
            (None, Some(new)) => self.ready.insert((new, stream)),
            (Some(old), None) => self.ready.remove((old, stream)),
            (Some(old), Some(new)) => self.ready.replace((old, stream), (new, stream)),
        }
        share.rank = rank;
        if let Some((current, has_more)) = &mut self.packet
            && *current == stream
        {
            *has_more = rank.is_some();
        }
    }
}

/// Streams by rank. The first one is kept apart, so that a single stream touches no tree.
#[derive(Clone, Debug)]
struct Ready {
    first: Option<(Rank, u16)>,
    others: BTreeSet<(Rank, u16)>,
}

impl Ready {
    const fn new() -> Self {
        Ready { first: None, others: BTreeSet::new() }
    }

    fn insert(&mut self, entry: (Rank, u16)) {
        match self.first {
            None => self.first = Some(entry),
            Some(first) if entry < first => {
                self.others.insert(first);
                self.first = Some(entry);
            }
            Some(_) => {
                self.others.insert(entry);
            }
        }
    }

    fn remove(&mut self, entry: (Rank, u16)) {
        if self.first == Some(entry) {
            self.first = self.others.pop_first();
        } else {
            self.others.remove(&entry);
        }
    }

    fn replace(&mut self, old: (Rank, u16), new: (Rank, u16)) {
        let stays_first =
            self.first == Some(old) && self.others.first().is_none_or(|second| new < *second);
        if stays_first {
            self.first = Some(new);
        } else {
            self.remove(old);
            self.insert(new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stream_scheduler_has_one_name() {
        assert_eq!(StreamOrder::names().count(), NAMES.len());
        for (order, name) in NAMES {
            assert_eq!((StreamOrder::by_name(name), order.name()), (Some(order), name));
        }
        assert_eq!(StreamOrder::by_name("wfq"), None);
    }

    #[test]
    fn first_of_the_ready_is_always_the_lowest() {
        let mut ready = Ready::new();
        let entry = |rank, stream| (Rank(rank, 0), stream);
        for rank in [5, 3, 9, 1, 7] {
            ready.insert(entry(rank, rank as u16));
        }
        ready.replace(entry(1, 1), entry(6, 1));
        assert_eq!(ready.first, Some(entry(3, 3)));
        ready.replace(entry(3, 3), entry(4, 3));
        assert_eq!(ready.first, Some(entry(4, 3)));
        ready.remove(entry(6, 1));
        ready.remove(entry(4, 3));
        assert_eq!(ready.first, Some(entry(5, 5)));
        ready.replace(entry(9, 9), entry(2, 9));
        assert_eq!(ready.first, Some(entry(2, 9)));
    }
}
