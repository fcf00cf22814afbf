//! `Partial`: fragments of messages that are not complete.
//!
//! Fragments that follow one another form runs; a run with the first and the last fragment is a
//! message. A fragment of DATA has the place of its TSN, one of I-DATA that of its FSN within its
//! message (RFC 8260 s2.1). O(log n) per fragment.

use super::inbound::Violation;
use super::joined::Joined;
use super::{Framing, Received};
use std::collections::{BTreeMap, VecDeque};
use wire::Payload;
use wire::sctp::{DataFlags, Mid};

/// Runs of fragments.
#[derive(Clone, Debug, Default)]
pub(super) struct Partial {
    runs: BTreeMap<Place, Run>,
    /// I-DATA: places of the fragments by the offset of their TSN.
    places: BTreeMap<u64, Place>,
}

/// Place of a fragment: messages that differ never follow one another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    /// I-DATA: stream, U bit and MID; DATA: 0.
    message: u64,
    /// I-DATA: FSN; DATA: offset of the TSN.
    at: u64,
}

/// Fragments that follow one another in one message, at least one.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) head: Head,
    /// Payload protocol identifier, known if the run begins the message.
    pub(super) ppid: u32,
    begins: bool,
    ends: bool,
    pieces: VecDeque<Piece>,
}

/// What the fragments of a message have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) stream: u16,
    pub(super) unordered: bool,
    /// SSN or MID; 0 in unordered messages of DATA, whose SSN has no meaning.
    pub(super) number: u32,
}

/// A fragment.
#[derive(Clone, Debug)]
struct Piece {
    /// Offset of its TSN.
    at: u64,
    payload: Payload,
}

impl Partial {
    /// Whether there are no fragments.
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Adds a fragment; returns the message that it completes.
    pub(super) fn insert(&mut self, place: Place, run: Run) -> Result<Option<Run>, Violation> {
        let (left, right) = self.neighbours(place, &run)?;
        let mut run = run;
        self.remember(place, &run);
        if let Some(right) = right.and_then(|right| self.runs.remove(&right)) {
            run.join(right);
        }
        let first = left.and_then(|left| self.runs.get_mut(&left).map(|run| (left, run)));
        let start = match first {
            Some((left, first)) => {
                first.join(run);
                left
            }
            None if run.is_whole() => {
                self.forget(&run);
                return Ok(Some(run));
            }
            None => {
                self.runs.insert(place, run);
                return Ok(None);
            }
        };
        if !self.runs.get(&start).is_some_and(Run::is_whole) {
            return Ok(None);
        }
        let whole = self.runs.remove(&start);
        whole.iter().for_each(|run| self.forget(run));
        Ok(whole)
    }

    /// The runs that end before and begin behind `run` in its message, if it is at `place`.
    pub(super) fn neighbours(
        &self,
        place: Place,
        run: &Run,
    ) -> Result<(Option<Place>, Option<Place>), Violation> {
        let same = |(at, _): &(&Place, &Run)| at.message == place.message;
        let left = self.runs.range(..place).next_back().filter(same);
        let right = self.runs.range(place..).next().filter(same);
        let end = place.at + run.len();
        let (mut after, mut before) = (None, None);
        if let Some((at, left)) = left {
            let left_end = at.at + left.len();
            let apart = left_end < place.at;
            if left_end > place.at || place.is_interleaved() && left.ends {
                return Err(Violation::Malformed("fragments of a message overlap"));
            }
            after = left.precedes(run, apart)?.then_some(*at);
        }
        if let Some((at, right)) = right {
            let apart = end < at.at;
            if end > at.at || place.is_interleaved() && run.ends {
                return Err(Violation::Malformed("fragments of a message overlap"));
            }
            before = run.precedes(right, apart)?.then_some(*at);
        }
        Ok((after, before))
    }

    /// Drops what begins at TSNs whose offset is below `below`; returns its bytes.
    pub(super) fn drop_below(&mut self, below: u64) -> u64 {
        let mut bytes = 0;
        while let Some(first) = self.runs.first_entry()
            && *first.key() < Place::of_data(below)
        {
            bytes += first.remove().bytes();
        }
        bytes
    }

    /// Drops the fragments of messages up to `mid` of a stream; returns their bytes.
    pub(super) fn drop_messages(&mut self, stream: u16, unordered: bool, mid: Mid) -> u64 {
        let place = |mid| Place::of_interleaved(stream, unordered, mid, 0);
        // Those that are not above `mid` in serial arithmetic.
        let lowest = mid.0.wrapping_sub(i32::MAX as u32);
        let end = Place { at: u64::MAX, ..place(mid.0) };
        let ranges = if lowest <= mid.0 {
            [place(lowest)..=end, end..=end]
        } else {
            let top = Place { at: u64::MAX, ..place(u32::MAX) };
            [place(0)..=end, place(lowest)..=top]
        };
        let mut bytes = 0;
        for range in ranges {
            while let Some(place) = self.runs.range(range.clone()).next().map(|(place, _)| *place)
                && let Some(run) = self.runs.remove(&place)
            {
                self.forget(&run);
                bytes += run.bytes();
            }
        }
        bytes
    }

    /// Drops the fragment whose TSN has this offset; returns its bytes.
    pub(super) fn discard(&mut self, at: u64) -> u64 {
        let place = self.places.get(&at).copied().unwrap_or(Place::of_data(at));
        let run = self.runs.range(..=place).next_back();
        let run = run.filter(|(start, run)| {
            start.message == place.message && place.at < start.at + run.len()
        });
        let Some(start) = run.map(|(start, _)| *start) else { return 0 };
        self.runs.remove(&start).map_or(0, |run| self.insert_without(start, run, at))
    }

    /// Adds a run that begins at `start`, without its fragment whose TSN has the offset `at`;
    /// returns the bytes of that. What a peer has sent a second time in its place goes, too.
    pub(super) fn insert_without(&mut self, start: Place, mut run: Run, at: u64) -> u64 {
        self.forget(&run);
        let Some(index) = run.pieces.iter().position(|piece| piece.at == at) else { return 0 };
        let after = run.pieces.split_off(index + 1);
        let mut discarded = run.pieces.pop_back().map_or(0, |piece| u64::from(piece.payload.len()));
        let ends = std::mem::replace(&mut run.ends, false);
        if !after.is_empty() {
            let place = Place { at: start.at + index as u64 + 1, ..start };
            let after = Run { begins: false, ends, pieces: after, ..run };
            discarded += self.put(place, after);
        }
        if index > 0 {
            discarded += self.put(start, run);
        }
        discarded
    }

    /// Enters a run; returns the bytes of one that it replaces.
    fn put(&mut self, start: Place, run: Run) -> u64 {
        self.remember(start, &run);
        let Some(replaced) = self.runs.insert(start, run) else { return 0 };
        self.forget(&replaced);
        replaced.bytes()
    }

    fn remember(&mut self, start: Place, run: &Run) {
        if start.is_interleaved() {
            for (at, piece) in (start.at..).zip(&run.pieces) {
                self.places.insert(piece.at, Place { at, ..start });
            }
        }
    }

    fn forget(&mut self, run: &Run) {
        if !self.places.is_empty() {
            for piece in &run.pieces {
                self.places.remove(&piece.at);
            }
        }
    }
}

impl Place {
    /// I-DATA, whatever the other bits of `message` are.
    const INTERLEAVED: u64 = 1 << 63;

    /// Place of a fragment of DATA whose TSN has the offset `at`.
    pub(super) const fn of_data(at: u64) -> Place {
        Place { message: 0, at }
    }

    /// Place of a fragment of I-DATA.
    pub(super) fn of_interleaved(stream: u16, unordered: bool, mid: u32, fsn: u32) -> Place {
        let id = u64::from(stream) << 33 | u64::from(unordered) << 32 | u64::from(mid);
        Place { message: Place::INTERLEAVED | id, at: fsn.into() }
    }

    const fn is_interleaved(self) -> bool {
        self.message & Place::INTERLEAVED != 0
    }
}

impl Run {
    /// A fragment whose TSN has the offset `at`, with its B and E bits.
    pub(super) fn new(at: u64, head: Head, flags: DataFlags, ppid: u32, payload: Payload) -> Run {
        let (begins, ends) = (flags.contains(DataFlags::BEGIN), flags.contains(DataFlags::END));
        Run { head, ppid, begins, ends, pieces: VecDeque::from([Piece { at, payload }]) }
    }

    /// Whether it has all fragments of its message.
    pub(super) const fn is_whole(&self) -> bool {
        self.begins && self.ends
    }

    /// Bytes of user data.
    pub(super) fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| u64::from(piece.payload.len())).sum()
    }

    /// Offsets of the TSNs of its fragments.
    pub(super) fn offsets(&self) -> impl Iterator<Item = u64> {
        self.pieces.iter().map(|piece| piece.at)
    }

    /// Place of its first fragment.
    pub(super) fn place(&self, framing: Framing) -> Place {
        let Head { stream, unordered, number } = self.head;
        match framing {
            Framing::Data => Place::of_data(self.pieces.front().map_or(0, |piece| piece.at)),
            Framing::Interleaved => Place::of_interleaved(stream, unordered, number, 0),
        }
    }

    /// The message, if the run is whole.
    pub(super) fn into_received(self) -> Received {
        let mut payload = Joined::default();
        self.pieces.into_iter().for_each(|piece| payload.push(piece.payload));
        let (Head { stream, unordered, .. }, ppid) = (self.head, self.ppid);
        Received { stream, ppid, unordered, payload: payload.into_payload() }
    }

    fn len(&self) -> u64 {
        self.pieces.len() as u64
    }

    /// Whether `next`, which is behind this run, continues it.
    fn precedes(&self, next: &Run, apart: bool) -> Result<bool, Violation> {
        match (self.ends, next.begins) {
            _ if apart => Ok(false),
            (true, true) => Ok(false),
            (true, false) => Err(Violation::Malformed("no first fragment behind a last one")),
            (false, true) => Err(Violation::Malformed("a message begins within another one")),
            (false, false) if self.head == next.head => Ok(true),
            (false, false) => Err(Violation::Malformed("fragments of a message disagree")),
        }
    }

    /// Appends the run that follows; the shorter one is moved.
    fn join(&mut self, mut next: Run) {
        self.ends = next.ends;
        if self.pieces.len() >= next.pieces.len() {
            self.pieces.append(&mut next.pieces);
            return;
        }
        while let Some(piece) = self.pieces.pop_back() {
            next.pieces.push_front(piece);
        }
        self.pieces = next.pieces;
    }
}
