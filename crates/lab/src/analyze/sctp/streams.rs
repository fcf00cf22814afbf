//! `Streams`: messages of one direction, and how long their chunks waited for those before them.
//!
//! What is before a chunk are the earlier fragments of its message and, if that is ordered, the
//! earlier messages of its stream (RFC 9260 s6.5 and s6.6, RFC 8260 s2.1).

use super::result::Stream;
use crate::analyze::{Distribution, OutOfOrder};
use base::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use transport::buffer::RangeSet;
use wire::sctp::DataFlags;

/// A chunk of user data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub stream: u16,
    pub flags: DataFlags,
    /// Position of its TSN.
    pub position: u64,
    pub number: Number,
    pub len: u64,
}

/// The number of its message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    /// The stream sequence number of DATA; fragments have consecutive TSNs.
    Ssn(u16),
    /// The message identifier and the fragment sequence number of I-DATA.
    Mid(u32, u32),
}

/// A chunk has everything before it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Released {
    /// Index of the path that carried it.
    pub path: usize,
    /// Waiting time in seconds.
    pub waited: f64,
}

/// All streams of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams {
    /// By stream identifier, and whether unordered.
    lanes: BTreeMap<(u16, bool), Lane>,
    /// By position: the lane and place of chunks that wait.
    waiting: BTreeMap<u64, ((u16, bool), Place)>,
}

/// Place of a chunk among those of its lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Place {
    /// First fragment of the message with this number, counted on where numbers wrap.
    Begin(u64),
    /// Further fragment of DATA, by its position.
    Position(u64),
    /// Further fragment of I-DATA: message and fragment.
    Fragment(u64, u32),
}

/// Ordered or unordered messages of one stream.
#[derive(Clone, Debug, Default)]
struct Lane {
    messages: u64,
    bytes: u64,
    /// The next chunks in order; empty before the first chunk.
    expected: BTreeSet<Place>,
    waiting: BTreeMap<Place, Waiting>,
    /// Number of the newest message, to count on from.
    newest: u64,
    /// Number of the first message that is not complete.
    current: u64,
    waited: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    piece: Piece,
    /// Number of its message, counted on.
    number: u64,
    path: usize,
    arrival: Instant,
}

/// Numbers begin here, so that earlier ones can be told.
const FIRST: u64 = 1 << 33;

impl Streams {
    /// A chunk whose TSN was not seen before; `whole` says that the capture has all chunks before
    /// it. Returns the chunks that wait no longer.
    pub(super) fn arrived(
        &mut self,
        piece: Piece,
        path: usize,
        now: Instant,
        whole: bool,
    ) -> Vec<Released> {
        let unordered = piece.flags.contains(DataFlags::UNORDERED);
        let key = (piece.stream, unordered);
        let lane = self.lanes.entry(key).or_default();
        lane.messages += u64::from(piece.flags.contains(DataFlags::END));
        lane.bytes += piece.len;
        let (number, place) = lane.place(&piece);
        if lane.expected.is_empty() && !unordered {
            // Numbers begin with 0 (RFC 9260 s6.5); later on the first chunk is the beginning.
            lane.expected.insert(if whole { Place::Begin(FIRST) } else { place });
            lane.current = if whole { FIRST } else { number };
        }
        let begins = piece.flags.contains(DataFlags::BEGIN);
        let is_next = lane.expected.contains(&place) || (unordered && (begins || !whole));
        let waiting = Waiting { piece, number, path, arrival: now };
        if !is_next && !lane.is_late(number, unordered) {
            lane.waiting.insert(place, waiting);
            self.waiting.insert(piece.position, (key, place));
            return Vec::new();
        }
        self.release(key, place, waiting, now)
    }

    /// The receiver has every chunk below `position`, or will get no more of them.
    pub(super) fn complete_below(&mut self, position: u64, now: Instant) -> Vec<Released> {
        let mut released = Vec::new();
        while let Some((&first, &(key, place))) = self.waiting.first_key_value()
            && first < position
        {
            self.waiting.pop_first();
            let waiting = self.lanes.get_mut(&key).and_then(|lane| lane.waiting.remove(&place));
            if let Some(waiting) = waiting {
                released.extend(self.release(key, place, waiting, now));
            }
        }
        released
    }

    /// Message numbers of these streams begin anew (RFC 6525 s4.1); none means all.
    pub(super) fn reset(&mut self, streams: &[u16]) {
        for ((stream, _), lane) in &mut self.lanes {
            if streams.is_empty() || streams.contains(stream) {
                lane.expected.clear();
                (lane.newest, lane.current) = (0, 0);
            }
        }
    }

    /// The sender abandoned the messages of a stream up to this one (RFC 3758 s3.2).
    pub(super) fn skip(
        &mut self,
        stream: u16,
        unordered: bool,
        last: Number,
        now: Instant,
    ) -> Vec<Released> {
        let key = (stream, unordered);
        let Some(lane) = self.lanes.get_mut(&key).filter(|_| !unordered) else {
            return Vec::new();
        };
        let number = lane.count_on(last) + 1;
        if number <= lane.current {
            return Vec::new();
        }
        lane.current = number;
        lane.expected = BTreeSet::from([Place::Begin(number)]);
        match lane.waiting.remove(&Place::Begin(number)) {
            Some(waiting) => self.release(key, Place::Begin(number), waiting, now),
            None => Vec::new(),
        }
    }

    /// Releases a chunk and those behind it.
    fn release(
        &mut self,
        key: (u16, bool),
        place: Place,
        first: Waiting,
        now: Instant,
    ) -> Vec<Released> {
        let Some(lane) = self.lanes.get_mut(&key) else { return Vec::new() };
        let mut released = Vec::new();
        let late = lane.is_late(first.number, key.1);
        let (mut place, mut next) = (place, Some(first));
        while let Some(waiting) = next {
            let waited = (now - waiting.arrival).as_secs_f64();
            lane.waited.push(waited);
            released.push(Released { path: waiting.path, waited });
            self.waiting.remove(&waiting.piece.position);
            lane.expected.remove(&place);
            let Some(behind) = waiting.behind(key.1).filter(|_| !late) else { break };
            (place, next) = (behind, lane.waiting.remove(&behind));
            if !key.1 {
                let ends = waiting.piece.flags.contains(DataFlags::END);
                lane.current = waiting.number + u64::from(ends);
                lane.expected.clear();
            }
            if next.is_none() {
                lane.expected.insert(behind);
            }
        }
        released
    }

    /// Results by stream; `at_sender`: what came out of order is not known.
    pub(super) fn finish(&self, at_sender: bool) -> Vec<Stream> {
        let mut streams: BTreeMap<u16, (Stream, Vec<f64>)> = BTreeMap::new();
        for ((id, unordered), lane) in &self.lanes {
            let (stream, waited) = streams.entry(*id).or_default();
            stream.id = *id;
            *(if *unordered { &mut stream.unordered } else { &mut stream.ordered }) = lane.messages;
            stream.bytes += lane.bytes;
            waited.extend(&lane.waited);
        }
        let finish = |(mut stream, waited): (Stream, Vec<f64>)| {
            stream.blocked = blocked(&waited).filter(|_| !at_sender);
            stream
        };
        streams.into_values().map(finish).collect()
    }
}

/// Waiting times as a result; `None` of nothing.
pub(super) fn blocked(waited: &[f64]) -> Option<OutOfOrder> {
    let segments = waited.iter().filter(|waited| **waited > 0.0).count() as u64;
    Some(OutOfOrder { segments, delay: Distribution::of(waited)? })
}

impl Waiting {
    /// The place behind the chunk; `None` if an unordered message ends.
    fn behind(&self, unordered: bool) -> Option<Place> {
        let ends = self.piece.flags.contains(DataFlags::END);
        if ends {
            return (!unordered).then_some(Place::Begin(self.number + 1));
        }
        Some(match self.piece.number {
            Number::Ssn(_) => Place::Position(self.piece.position + 1),
            Number::Mid(_, fragment) => Place::Fragment(self.number, fragment.wrapping_add(1)),
        })
    }
}

impl Lane {
    /// Whether a message comes when later ones of its stream are complete: the capture lacks
    /// something, or the peer is wrong.
    fn is_late(&self, number: u64, unordered: bool) -> bool {
        !unordered && number < self.current
    }

    /// The message of a chunk, and where the chunk belongs.
    fn place(&mut self, piece: &Piece) -> (u64, Place) {
        let number = self.count_on(piece.number);
        let place = match piece.number {
            _ if piece.flags.contains(DataFlags::BEGIN) => Place::Begin(number),
            Number::Ssn(_) => Place::Position(piece.position),
            Number::Mid(_, fragment) => Place::Fragment(number, fragment),
        };
        (number, place)
    }

    /// The number nearest to the newest one that has these low bits.
    fn count_on(&mut self, number: Number) -> u64 {
        let (low, range) = match number {
            Number::Ssn(ssn) => (u64::from(ssn), 1_u64 << 16),
            Number::Mid(mid, _) => (u64::from(mid), 1 << 32),
        };
        // Before the first chunk, numbers are near 0.
        let newest = self.newest.max(FIRST);
        let ahead = low.wrapping_sub(newest) & (range - 1);
        let number = if ahead < range / 2 { newest + ahead } else { newest + ahead - range };
        self.newest = newest.max(number);
        number
    }
}

/// Number of positions of a range that a set lacks.
pub(super) fn count_missing(set: &RangeSet, range: Range<u64>) -> u64 {
    if range.is_empty() {
        return 0;
    }
    set.missing(range).map(|range| range.end - range.start).sum()
}
