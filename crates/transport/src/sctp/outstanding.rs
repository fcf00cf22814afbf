//! `Outstanding`: the chunks that a sender has sent and the peer has not acknowledged cumulatively.
//!
//! TSNs are offsets of 64 bits from the initial TSN. A SACK costs O(log n) per block and per chunk
//! whose state it changes. Misses are not counted per chunk: a chunk that was sent once is missing
//! by three reports if its TSN is below the third highest TSN that reports were about (RFC 9260
//! s7.2.4), because what is reported was sent behind it. Windows, timers and the choice of a path
//! are left to the owner.

mod last_report;
mod misses;

use super::offset_set::OffsetSet;
use super::received::OLD_NUMBERS_FROM;
use crate::buffer::RangeSet;
use base::{Duration, Instant, PathId, ring};
use last_report::{LastReport, Rest, in_order};
use misses::Reports;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use wire::sctp::{GapBlock, Tsn};

/// What it takes to send a chunk again.
pub trait UserData {
    /// Bytes of user data.
    fn bytes(&self) -> u64;
}

/// None.
impl UserData for () {
    fn bytes(&self) -> u64 {
        0
    }
}

/// Chunks in the order of their TSNs; `T` is what it takes to send one again.
#[derive(Clone, Debug)]
pub struct Outstanding<T> {
    initial: Tsn,
    /// Offset of the first of `chunks`: the one behind the cumulative TSN.
    first: u64,
    chunks: VecDeque<Chunk<T>>,
    /// Chunks acknowledged by gap blocks of what the peer may discard.
    acked: RangeSet,
    /// Chunks that it never discards, which may be in `acked`, too, or that this side gave up.
    kept: RangeSet,
    /// Chunks to be retransmitted.
    marked: BTreeSet<u64>,
    /// What they take of windows, in bytes.
    marked_bytes: u64,
    /// By path.
    paths: Vec<OnPath>,
    /// What is in the network on all of them, in bytes.
    in_flight_bytes: u64,
    /// Data that the peer may still ask for, in bytes.
    held_bytes: u64,
    /// For all paths together, then by path.
    reports: Vec<Reports>,
    /// Misses of chunks that are in the network again: retransmitted for another reason than
    /// misses, or reneged.
    counted: BTreeMap<u64, usize>,
    /// Offset behind the last abandoned chunk that nothing precedes which the peer may need.
    advanced: u64,
    /// Chunks up to here are acknowledged for good or abandoned.
    scanned: u64,
    last: LastReport,
    /// A chunk that no block of the last report has may be acknowledged and not kept.
    has_unreported: bool,
    /// Vectors for the next answer.
    spare: Option<Box<Acknowledged>>,
    /// TSNs began anew.
    renumbered: bool,
    /// SACKs come over several paths, so that one with fewer blocks may only be late: when and
    /// over which one the report comes. `None`: over one path.
    arrival: Option<Arrival>,
}

/// When a report comes, and over which path, if that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Arrival {
    pub now: Instant,
    pub over: Option<PathId>,
}

/// By this time after an acknowledgement every report that was sent before it has come.
const LATEST_REPORT: Duration = Duration::from_secs(1);

impl Arrival {
    /// Whether this report may have been sent before the one that arrived `earlier`.
    pub(super) fn may_be_before(self, earlier: Arrival) -> bool {
        let is_other_way = self.over.is_none() || self.over != earlier.over;
        is_other_way && self.now - earlier.now < LATEST_REPORT
    }
}

#[derive(Clone, Debug)]
struct Chunk<T> {
    /// `None`: the peer will never ask for it.
    data: Option<T>,
    len: u32,
    path: PathId,
    /// Of a chunk that the peer may discard, when it was acknowledged.
    sent_at: Instant,
    /// Path of that report.
    acked_over: Option<PathId>,
    retransmissions: u32,
    /// Marked because of misses, which happens once.
    fast: bool,
    /// Marked for another reason than misses last.
    timed_out: bool,
    /// Sent again on another path, because all others waited for it.
    moved: bool,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    InFlight,
    Marked,
    Acked,
    /// Acknowledged and never discarded by the peer.
    Kept,
    /// Given up by this side; counts as acknowledged.
    Abandoned,
}

/// What is in the network on one path.
#[derive(Clone, Debug, Default)]
struct OnPath {
    bytes: u64,
    chunks: OffsetSet,
    /// Data of chunks sent here last that the peer may still ask for, in bytes.
    held_bytes: u64,
    /// Chunks sent here last above the cumulative TSN that the peer keeps, in bytes.
    kept_bytes: u64,
    /// Chunks sent here last that are marked: because of misses, and for another reason.
    marked: [BTreeSet<u64>; 2],
}

/// A SACK or NR-SACK.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// Cumulative TSN.
    pub cum_tsn: Tsn,
    /// Blocks of TSNs that the peer may still discard.
    pub gaps: &'a [GapBlock],
    /// Blocks of TSNs that it keeps.
    pub nr_gaps: &'a [GapBlock],
    /// No block was left out for lack of room.
    pub complete: bool,
}

/// A chunk that a report acknowledges for the first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckedChunk {
    /// Its TSN.
    pub tsn: Tsn,
    /// Path of its last transmission.
    pub path: PathId,
    /// Bytes that it takes of windows.
    pub len: u32,
    /// Time of the last transmission.
    pub sent_at: Instant,
    /// It was sent once, so that the time measures a round trip (RFC 9260 s6.3.1 C5).
    pub sent_once: bool,
    /// It was in the network, and not marked for retransmission.
    pub in_flight: bool,
    /// It was sent again for another reason than misses.
    pub timed_out: bool,
    /// It was moved to its path, and lets no window grow.
    pub moved: bool,
}

/// A chunk that is to be sent again.
#[derive(Clone, Copy, Debug)]
pub struct Marked<'a, T> {
    /// Its TSN.
    pub tsn: Tsn,
    /// What it takes to send it.
    pub data: &'a T,
    /// Bytes that it takes of windows.
    pub len: u32,
    /// Path of its last transmission.
    pub path: PathId,
    /// T3-rtx expired, or its path is gone; otherwise it was missing in three reports.
    pub timed_out: bool,
    /// How often it was sent again already.
    pub retransmissions: u32,
}

/// What a report changes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Acknowledged {
    /// Chunks acknowledged for the first time, in the order of TSNs.
    pub newly: Vec<AckedChunk>,
    /// User data of chunks that the peer never asks for again, in bytes.
    pub released_bytes: u64,
    /// Chunks that were acknowledged by a gap block and are not any more; they count as sent.
    pub reneged: Vec<Tsn>,
    /// The cumulative TSN advanced.
    pub advanced: bool,
}

/// Why a report is not processed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SackError {
    /// Its cumulative TSN is below the current one: ignored (RFC 9260 s6.2.1).
    Old,
    /// It acknowledges a TSN that was never sent: protocol violation (RFC 9260 s12.4).
    NeverSent,
}

impl<T: UserData> Outstanding<T> {
    /// Nothing is sent; the first chunk will have the TSN `initial`.
    pub fn new(initial: Tsn) -> Self {
        Outstanding {
            initial,
            first: 0,
            chunks: VecDeque::new(),
            acked: RangeSet::new(),
            kept: RangeSet::new(),
            marked: BTreeSet::new(),
            marked_bytes: 0,
            paths: Vec::new(),
            in_flight_bytes: 0,
            held_bytes: 0,
            reports: Vec::new(),
            counted: BTreeMap::new(),
            advanced: 0,
            scanned: 0,
            last: LastReport::default(),
            has_unreported: false,
            spare: None,
            renumbered: false,
            arrival: None,
        }
    }

    /// A chunk of `len` bytes of window is sent for the first time; returns its TSN.
    // Inlined, what is sent is not moved twice.
    #[inline(always)]
    pub fn send(&mut self, now: Instant, path: PathId, len: u32, data: T) -> Tsn {
        let at = self.end();
        self.chunks.push_back(Chunk {
            data: Some(data),
            len,
            path,
            sent_at: now,
            acked_over: None,
            retransmissions: 0,
            fast: false,
            timed_out: false,
            moved: false,
            state: State::InFlight,
        });
        self.held_bytes += u64::from(len);
        self.put(at, path, len).held_bytes += u64::from(len);
        self.tsn(at)
    }

    /// The next report comes now, over this path. It takes back an acknowledgement that came over
    /// the same path (`cmtSmartReneging` of INET), or long ago.
    pub(super) const fn arrives(&mut self, now: Instant, over: Option<PathId>) {
        self.arrival = Some(Arrival { now, over });
    }

    /// The next chunk has the TSN `next` (RFC 6525 s5.2.4). Nothing is outstanding.
    pub fn renumber(&mut self, next: Tsn) {
        debug_assert!(self.is_empty(), "everything is acknowledged");
        self.renumbered = true;
        self.initial = Tsn(next.0.wrapping_sub(self.end() as u32));
    }

    /// Whether any chunk is marked for retransmission.
    #[inline]
    pub(super) fn has_marked(&self) -> bool {
        !self.marked.is_empty()
    }

    /// What the chunks marked for retransmission take of windows, in bytes.
    #[inline]
    pub(super) const fn marked_bytes(&self) -> u64 {
        self.marked_bytes
    }

    /// The lowest chunk marked for retransmission.
    #[inline]
    pub fn next_marked(&self) -> Option<Marked<'_, T>> {
        self.marked_at(*self.marked.first()?)
    }

    /// The lowest marked chunk of those sent on `path` last, because of misses or not.
    pub(super) fn next_marked_of(&self, path: PathId, timed_out: bool) -> Option<Marked<'_, T>> {
        let marked = &self.paths.get(path.index())?.marked[usize::from(timed_out)];
        self.marked_at(*marked.first()?)
    }

    /// Whether a chunk whose last transmission was on `path` is to be sent again.
    pub(super) fn has_marked_of(&self, path: PathId) -> bool {
        let marked = self.paths.get(path.index()).map(|path| &path.marked);
        marked.is_some_and(|marked| marked.iter().any(|marked| !marked.is_empty()))
    }

    fn marked_at(&self, at: u64) -> Option<Marked<'_, T>> {
        let chunk = self.chunk(at)?;
        let &Chunk { len, path, timed_out, retransmissions, .. } = chunk;
        let data = chunk.data.as_ref()?;
        Some(Marked { tsn: self.tsn(at), data, len, path, timed_out, retransmissions })
    }

    /// The path of the last transmission of a chunk, and the bytes that it takes of windows.
    pub fn sent_on(&self, tsn: Tsn) -> Option<(PathId, u32)> {
        let chunk = self.chunk(self.offset(tsn)?)?;
        Some((chunk.path, chunk.len))
    }

    /// Whether a chunk was marked for another reason than misses last.
    pub(super) fn is_timed_out(&self, tsn: Tsn) -> bool {
        self.offset(tsn).and_then(|at| self.chunk(at)).is_some_and(|chunk| chunk.timed_out)
    }

    /// What it takes to send a chunk again; `None` if the peer never asks for it.
    pub fn data(&self, tsn: Tsn) -> Option<&T> {
        self.chunk(self.offset(tsn)?)?.data.as_ref()
    }

    /// The highest TSN that was sent.
    pub fn highest_tsn(&self) -> Tsn {
        self.next_tsn() - 1
    }

    /// A marked chunk is sent again; returns whether it was marked.
    pub fn retransmit(&mut self, now: Instant, tsn: Tsn, path: PathId) -> bool {
        let Some(at) = self.offset(tsn).filter(|at| self.marked.contains(at)) else { return false };
        self.unmark(at);
        let Some(chunk) = self.chunk_mut(at) else { return false };
        let (before, len) = (chunk.path, u64::from(chunk.len));
        (chunk.path, chunk.sent_at) = (path, now);
        chunk.retransmissions = chunk.retransmissions.saturating_add(1);
        chunk.state = State::InFlight;
        if !chunk.fast {
            self.counted.insert(at, 0);
        }
        self.enter(at);
        self.paths[before.index()].held_bytes -= len;
        self.paths[path.index()].held_bytes += len;
        true
    }

    /// The lowest chunk, for which all others wait, is marked to be sent again on `path`: unless it
    /// is marked already, was moved before, or was sent on `path` after `before`. Returns it with
    /// its last path and its bytes of window.
    pub(super) fn take_lowest(
        &mut self,
        path: PathId,
        before: Instant,
    ) -> Option<(Tsn, PathId, u32)> {
        let at = self.first;
        let chunk = self.chunk_mut(at)?;
        let is_elsewhere = chunk.path != path;
        let is_due = is_elsewhere || chunk.sent_at < before;
        if chunk.state != State::InFlight || chunk.moved || !is_due {
            return None;
        }
        // Misses count anew on the other path.
        (chunk.state, chunk.moved) = (State::Marked, is_elsewhere);
        (chunk.fast, chunk.timed_out) = (false, false);
        let (last, len) = (chunk.path, chunk.len);
        self.leave(at, last, len);
        self.counted.remove(&at);
        self.enter_marked(at);
        Some((self.tsn(at), last, len))
    }

    /// Whether a report acknowledges a chunk, new or not.
    pub(super) fn covers(report: &Report<'_>, tsn: Tsn) -> bool {
        let beyond = tsn.distance_from(report.cum_tsn);
        let mut blocks = report.gaps.iter().chain(report.nr_gaps);
        let is_in =
            |block: &GapBlock| (i32::from(block.start)..=i32::from(block.end)).contains(&beyond);
        beyond <= 0 || blocks.any(is_in)
    }

    /// Everything in the network on `path` is marked for retransmission, because T3-rtx expired or
    /// the path is gone (RFC 9260 s6.3.3 E3); returns the bytes and the chunks.
    pub fn mark_path(&mut self, path: PathId) -> (u64, usize) {
        let Some(on_path) = self.paths.get_mut(path.index()) else { return (0, 0) };
        let chunks = std::mem::take(&mut on_path.chunks);
        let bytes = std::mem::take(&mut on_path.bytes);
        self.in_flight_bytes -= bytes;
        for at in chunks.iter() {
            self.counted.remove(&at);
            if let Some(chunk) = self.chunk_mut(at) {
                (chunk.state, chunk.timed_out) = (State::Marked, true);
            }
            self.enter_marked(at);
        }
        (bytes, chunks.len())
    }

    /// What was sent on `path` before `limit` and is in the network, in no particular order.
    fn older(&self, path: PathId, limit: Instant) -> impl Iterator<Item = u64> {
        let on_path = self.paths.get(path.index());
        let all = on_path.into_iter().flat_map(|on_path| on_path.chunks.iter());
        all.filter(move |at| self.chunk(*at).is_some_and(|chunk| chunk.sent_at < limit))
    }

    /// The lowest TSN of it.
    pub(super) fn earliest_before(&self, path: PathId, limit: Instant) -> Option<Tsn> {
        self.older(path, limit).min().map(|at| self.tsn(at))
    }

    /// It is marked for retransmission; returns the bytes and the chunks.
    pub(super) fn mark_older(&mut self, path: PathId, limit: Instant) -> (u64, usize) {
        let older: Vec<u64> = self.older(path, limit).collect();
        let mut bytes = 0;
        for at in &older {
            let Some(chunk) = self.chunk_mut(*at) else { continue };
            (chunk.state, chunk.timed_out) = (State::Marked, true);
            let len = chunk.len;
            self.leave(*at, path, len);
            self.counted.remove(at);
            self.enter_marked(*at);
            bytes += u64::from(len);
        }
        (bytes, older.len())
    }

    /// This side gives a chunk up: it counts as acknowledged, but for no window (RFC 3758 s3.5).
    /// Returns what it takes to send it, unless the peer never asks for it.
    pub fn abandon(&mut self, tsn: Tsn) -> Option<T> {
        let at = self.offset(tsn)?;
        self.unmark(at);
        let chunk = self.chunk_mut(at)?;
        let before = std::mem::replace(&mut chunk.state, State::Abandoned);
        let (len, path, data) = (chunk.len, chunk.path, chunk.data.take());
        match before {
            State::InFlight => self.leave(at, path, len),
            State::Kept => self.paths[path.index()].kept_bytes -= u64::from(len),
            State::Marked | State::Acked | State::Abandoned => {}
        }
        if data.is_some() {
            self.give_back(path, len);
        }
        self.counted.remove(&at);
        self.kept.insert(at..at + 1);
        self.check();
        data
    }

    /// Advanced.Peer.Ack.Point: the peer needs nothing up to this TSN (RFC 3758 s3.5). It is the
    /// cumulative TSN unless chunks behind that were abandoned.
    pub fn advanced_tsn(&mut self) -> Tsn {
        self.scanned = self.scanned.max(self.first);
        self.advanced = self.advanced.max(self.first);
        while let Some(chunk) = self.chunk(self.scanned) {
            match chunk.state {
                State::Abandoned => self.advanced = self.scanned + 1,
                State::Kept => {}
                State::InFlight | State::Marked | State::Acked => break,
            }
            self.scanned += 1;
        }
        self.tsn(self.advanced) - 1
    }

    /// A SACK or NR-SACK arrives (RFC 9260 s6.2.1). The answer is boxed to be passed on by address.
    ///
    /// # Errors
    /// If it changes nothing because it is old, or acknowledges what was never sent.
    pub fn acknowledge(&mut self, report: &Report<'_>) -> Result<Box<Acknowledged>, SackError> {
        let next = self.cum(report.cum_tsn).ok_or(SackError::Old)?;
        let has_blocks = !report.gaps.is_empty() || !report.nr_gaps.is_empty();
        if !has_blocks && self.last.is_empty() && self.acked.is_empty() {
            return self.acknowledge_up_to(next);
        }
        self.acknowledge_blocks(report, next, has_blocks)
    }

    /// The same for a report with blocks, or where one was known.
    #[inline(never)]
    fn acknowledge_blocks(
        &mut self,
        report: &Report<'_>,
        next: u64,
        has_blocks: bool,
    ) -> Result<Box<Acknowledged>, SackError> {
        let last = std::mem::take(&mut self.last);
        let rests = last.compare(report, next);
        let highest = rests.iter().map(Rest::highest).max().unwrap_or(0);
        if highest.max(next) > self.end() {
            self.last = last;
            return Err(self.beyond(next));
        }
        let mut answer = self.spare.take().unwrap_or_default();
        answer.advanced = next > self.first;
        self.take_cumulative(next, &mut answer);
        for (rest, state) in rests.iter().zip([State::Acked, State::Kept]) {
            if rest.new_blocks() > 0 {
                rest.changed().for_each(|range| self.take_gap(&range, state, &mut answer));
            }
        }
        if highest > 0 {
            answer.newly.sort_unstable_by_key(|acked| acked.tsn.distance_from(report.cum_tsn));
        }
        let may_renege = self.has_unreported || !rests[0].has_all();
        if may_renege && !self.acked.is_empty() {
            self.take_back(report, next, &mut answer);
        }
        let is_same = rests.iter().all(Rest::is_empty);
        let new = [rests[0].new_blocks(), rests[1].new_blocks()];
        self.last = last;
        if !is_same || !has_blocks {
            self.last.set(report, next, new);
        }
        self.check();
        Ok(answer)
    }

    /// The same for a report without blocks when none is known, as without loss: only the offset
    /// behind its cumulative TSN counts.
    fn acknowledge_up_to(&mut self, next: u64) -> Result<Box<Acknowledged>, SackError> {
        if next > self.end() {
            return Err(self.beyond(next));
        }
        let mut answer = self.spare.take().unwrap_or_default();
        answer.advanced = next > self.first;
        self.take_cumulative(next, &mut answer);
        self.check();
        Ok(answer)
    }

    /// What a report is whose cumulative TSN is in front of the offset `next`, and which reaches
    /// beyond all that was sent: after TSNs began anew, half of the number space further on, it may
    /// be of before.
    #[cold]
    fn beyond(&self, next: u64) -> SackError {
        let is_far = next > self.end() + OLD_NUMBERS_FROM;
        if self.renumbered && is_far { SackError::Old } else { SackError::NeverSent }
    }

    /// The highest TSN that the report acknowledges which was processed last.
    pub(super) fn highest_of(&self, report: &Report<'_>) -> Tsn {
        report.cum_tsn + u32::from(self.last.highest_end(report))
    }

    /// The vectors of an answer are used for the next one.
    pub fn recycle(&mut self, mut answer: Box<Acknowledged>) {
        answer.newly.clear();
        answer.released_bytes = 0;
        answer.reneged.clear();
        self.spare = Some(answer);
    }

    /// Offset of a TSN from the initial one, 0 below that.
    pub(super) fn position(&self, tsn: Tsn) -> u64 {
        self.offset(tsn).unwrap_or(0)
    }

    /// The highest TSN in the network on `path`.
    pub(super) fn latest(&self, path: PathId) -> Option<Tsn> {
        self.paths.get(path.index())?.chunks.last().map(|at| self.tsn(at))
    }

    /// Chunks in the network on `path` whose offset from the initial TSN is below `end`.
    pub(super) fn in_flight_below(&self, path: PathId, end: u64) -> u32 {
        self.paths
            .get(path.index())
            .map_or(0, |on_path| on_path.chunks.range(0..end).count() as u32)
    }

    /// How many of these chunks were sent on `path` last.
    pub(super) fn count_on(&self, path: PathId, tsns: &[Tsn]) -> u32 {
        let is_there = |tsn: &&Tsn| self.sent_on(**tsn).is_some_and(|(last, _)| last == path);
        tsns.iter().filter(is_there).count() as u32
    }

    /// Bytes in the network on `path`.
    pub fn in_flight_bytes(&self, path: PathId) -> u64 {
        // An `Option` of a reference would be compared with null as well.
        if path.index() < self.paths.len() { self.paths[path.index()].bytes } else { 0 }
    }

    /// Chunks in the network on `path`.
    pub fn in_flight_chunks(&self, path: PathId) -> usize {
        self.paths.get(path.index()).map_or(0, |on_path| on_path.chunks.len())
    }

    /// Chunks in the network on all paths.
    pub fn total_in_flight_chunks(&self) -> usize {
        match &self.paths[..] {
            // An addition over all paths is a loop with a long beginning.
            [only] => only.chunks.len(),
            paths => paths.iter().map(|on_path| on_path.chunks.len()).sum(),
        }
    }

    /// Bytes in the network on all paths.
    pub const fn total_in_flight_bytes(&self) -> u64 {
        self.in_flight_bytes
    }

    /// The lowest TSN in the network on `path`, which T3-rtx is about.
    pub fn earliest(&self, path: PathId) -> Option<Tsn> {
        let on_path = self.paths.get(path.index())?;
        on_path.chunks.first().map(|at| self.tsn(at))
    }

    /// Chunks that must be kept because the peer may ask for them, in the order of their TSNs.
    pub fn held(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().filter_map(|chunk| chunk.data.as_ref())
    }

    /// Bytes of data that must be kept because the peer may ask for them. With SACK this is
    /// everything above the cumulative TSN, with NR-SACK less.
    pub const fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// The part of these that was sent on `path` last.
    pub(super) fn held_bytes_of(&self, path: PathId) -> u64 {
        self.paths.get(path.index()).map_or(0, |on_path| on_path.held_bytes)
    }

    /// Bytes that the peer keeps above the cumulative TSN, so that it never asks for them.
    pub(super) fn kept_bytes(&self) -> u64 {
        self.paths.iter().map(|on_path| on_path.kept_bytes).sum()
    }

    /// The part of these that was sent on `path` last.
    pub(super) fn kept_bytes_of(&self, path: PathId) -> u64 {
        self.paths.get(path.index()).map_or(0, |on_path| on_path.kept_bytes)
    }

    /// Last TSN acknowledged cumulatively.
    pub fn cum_tsn(&self) -> Tsn {
        self.tsn(self.first) - 1
    }

    /// TSN of the next chunk that is sent for the first time.
    pub fn next_tsn(&self) -> Tsn {
        self.tsn(self.end())
    }

    /// Chunks that are not acknowledged cumulatively.
    pub(super) fn span(&self) -> usize {
        self.chunks.len()
    }

    /// Whether everything sent is acknowledged cumulatively.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Offset behind a cumulative TSN; `None` if that is below the current one.
    fn cum(&self, cum_tsn: Tsn) -> Option<u64> {
        let next = u64::try_from((cum_tsn + 1).to_offset(self.initial, self.first)).ok()?;
        (next >= self.first).then_some(next)
    }

    fn take_cumulative(&mut self, next: u64, answer: &mut Acknowledged) {
        while self.first < next {
            let kept = self.chunks.front().filter(|chunk| chunk.state == State::Kept);
            match kept.map(|chunk| (chunk.path, chunk.len)) {
                Some((path, len)) => self.paths[path.index()].kept_bytes -= u64::from(len),
                None => _ = self.settle(self.first, State::Kept, answer),
            }
            ring::pop_front(&mut self.chunks);
            self.first += 1;
        }
        self.acked.remove_below(next);
        self.kept.remove_below(next);
    }

    /// Chunks in `range` are acknowledged by a gap block, and get `state`.
    fn take_gap(&mut self, range: &Range<u64>, state: State, answer: &mut Acknowledged) {
        let known = if state == State::Kept { &mut self.kept } else { &mut self.acked };
        // What a block adds is mostly behind all that is known.
        let last = known.last().unwrap_or_default();
        if last.start <= range.start {
            known.insert(range.clone());
            return self.settle_all(last.end.max(range.start)..range.end, state, answer);
        }
        let changed: Vec<Range<u64>> = known.missing(range.clone()).collect();
        known.insert(range.clone());
        changed.into_iter().for_each(|part| self.settle_all(part, state, answer));
    }

    /// Chunks in `range` are acknowledged, and get `state`, by a gap block.
    fn settle_all(&mut self, range: Range<u64>, state: State, answer: &mut Acknowledged) {
        for at in range {
            let settled = self.settle(at, state, answer);
            if let Some((path, len)) = settled.filter(|_| state == State::Kept) {
                self.paths[path.index()].kept_bytes += u64::from(len);
            }
        }
    }

    /// Chunks that were acknowledged and are not in a block of a report any more are in the network
    /// again, unless the peer keeps them (RFC 9260 s6.2.1 D iii).
    fn take_back(&mut self, report: &Report<'_>, next: u64, answer: &mut Acknowledged) {
        let mut reneged = Vec::new();
        let reported = in_order(report, next);
        let blocks = report.gaps.iter().chain(report.nr_gaps);
        let highest = next + u64::from(blocks.map(|block| block.end).max().unwrap_or(0));
        let end = if report.complete { self.end() } else { highest };
        let range = next..end;
        self.has_unreported = self.acked.last().is_some_and(|acked| acked.end > end);
        let mut reported = reported.iter().peekable();
        for acked in self.acked.iter() {
            let (mut at, end) = (acked.start.max(range.start), acked.end.min(range.end));
            while at < end {
                while reported.next_if(|block| block.end <= at).is_some() {}
                let (gap_end, next) = match reported.peek() {
                    Some(block) => (block.start.min(end), block.end),
                    None => (end, end),
                };
                if at < gap_end {
                    reneged.extend(self.kept.missing(at..gap_end).flatten());
                }
                at = next;
            }
        }
        for at in reneged {
            // One that advances the cumulative TSN was sent after all that came before.
            if !answer.advanced && self.may_be_late(at) {
                self.has_unreported = true;
                continue;
            }
            self.acked.remove(at..at + 1);
            let Some(chunk) = self.chunk_mut(at) else { continue };
            chunk.state = State::InFlight;
            if !chunk.fast {
                self.counted.insert(at, 1);
            }
            self.enter(at);
            answer.reneged.push(self.tsn(at));
        }
    }

    /// Whether the report that does not have chunk `at` may have been sent before the one that
    /// acknowledged it.
    fn may_be_late(&self, at: u64) -> bool {
        let (Some(arrival), Some(chunk)) = (self.arrival, self.chunk(at)) else { return false };
        arrival.may_be_before(Arrival { now: chunk.sent_at, over: chunk.acked_over })
    }

    /// Chunk `at` is acknowledged, and gets `state`, unless it is kept or given up; returns its
    /// path and its bytes of window.
    // Saves a call for each chunk, and what finds the first one a second time.
    #[inline(always)]
    fn settle(
        &mut self,
        at: u64,
        state: State,
        answer: &mut Acknowledged,
    ) -> Option<(PathId, u32)> {
        let (tsn, arrival) = (self.tsn(at), self.arrival);
        let index = usize::try_from(at.checked_sub(self.first)?).ok()?;
        let chunk = self.chunks.get_mut(index)?;
        let before = chunk.state;
        if matches!(before, State::Kept | State::Abandoned) {
            return None;
        }
        chunk.state = state;
        let (len, path, sent_at) = (chunk.len, chunk.path, chunk.sent_at);
        if let (State::Acked, Some(Arrival { now, over })) = (state, arrival) {
            (chunk.sent_at, chunk.acked_over) = (now, over);
        }
        let sent_once = chunk.retransmissions == 0;
        let (timed_out, moved) = (chunk.timed_out && !sent_once, chunk.moved);
        let on_path = &mut self.paths[path.index()];
        if state == State::Kept
            && let Some(data) = &chunk.data
        {
            answer.released_bytes += data.bytes();
            chunk.data = None;
            self.held_bytes -= u64::from(len);
            on_path.held_bytes -= u64::from(len);
        }
        let in_flight = before == State::InFlight;
        match before {
            State::InFlight => {
                on_path.leave(at, len);
                self.in_flight_bytes -= u64::from(len);
            }
            State::Marked => self.unmark(at),
            State::Acked | State::Kept | State::Abandoned => return Some((path, len)),
        }
        if !self.counted.is_empty() {
            self.counted.remove(&at);
        }
        let acked = AckedChunk { tsn, path, len, sent_at, sent_once, in_flight, timed_out, moved };
        answer.newly.push(acked);
        Some((path, len))
    }

    /// Chunk `at` has the state of a marked one.
    fn enter_marked(&mut self, at: u64) {
        let Some(chunk) = self.chunk(at) else { return };
        let (path, timed_out, len) = (chunk.path.index(), chunk.timed_out, chunk.len);
        if self.marked.insert(at) {
            self.marked_bytes += u64::from(len);
        }
        self.paths[path].marked[usize::from(timed_out)].insert(at);
    }

    /// Chunk `at` is not marked any more, if it was.
    fn unmark(&mut self, at: u64) {
        if !self.marked.remove(&at) {
            return;
        }
        let Some(chunk) = self.chunk(at) else { return };
        let (path, timed_out, len) = (chunk.path.index(), chunk.timed_out, chunk.len);
        self.marked_bytes -= u64::from(len);
        let was_there = self.paths[path].marked[usize::from(timed_out)].remove(&at);
        debug_assert!(was_there, "a marked chunk is one of its path");
    }

    /// The peer does not ask for data again that were sent on `path` last.
    fn give_back(&mut self, path: PathId, len: u32) {
        self.held_bytes -= u64::from(len);
        self.paths[path.index()].held_bytes -= u64::from(len);
    }

    /// Chunk `at` is in the network.
    fn enter(&mut self, at: u64) {
        if let Some((path, len)) = self.chunk(at).map(|chunk| (chunk.path, chunk.len)) {
            self.put(at, path, len);
        }
    }

    /// Chunk `at` of `len` bytes is in the network on `path`.
    #[inline(always)]
    fn put(&mut self, at: u64, path: PathId, len: u32) -> &mut OnPath {
        if self.paths.len() <= path.index() {
            self.paths.resize_with(path.index() + 1, OnPath::default);
        }
        let on_path = &mut self.paths[path.index()];
        on_path.bytes += u64::from(len);
        self.in_flight_bytes += u64::from(len);
        on_path.chunks.insert(at);
        on_path
    }

    /// Chunk `at` is no longer in the network on `path`.
    fn leave(&mut self, at: u64, path: PathId, len: u32) {
        self.paths[path.index()].leave(at, len);
        self.in_flight_bytes -= u64::from(len);
    }

    fn chunk(&self, at: u64) -> Option<&Chunk<T>> {
        self.chunks.get(usize::try_from(at.checked_sub(self.first)?).ok()?)
    }

    fn chunk_mut(&mut self, at: u64) -> Option<&mut Chunk<T>> {
        self.chunks.get_mut(usize::try_from(at.checked_sub(self.first)?).ok()?)
    }

    /// Offset behind the last chunk.
    fn end(&self) -> u64 {
        self.first + self.chunks.len() as u64
    }

    fn offset(&self, tsn: Tsn) -> Option<u64> {
        u64::try_from(tsn.to_offset(self.initial, self.first)).ok()
    }

    fn tsn(&self, at: u64) -> Tsn {
        Tsn::from_offset(self.initial, at)
    }

    /// What must hold between calls at the cost of a look at the ends.
    fn check(&self) {
        for acked in [&self.acked, &self.kept] {
            debug_assert!(acked.first().is_none_or(|range| range.start >= self.first), "above");
            debug_assert!(acked.last().is_none_or(|range| range.end <= self.end()), "sent");
        }
        debug_assert!(self.marked.first().is_none_or(|at| *at >= self.first), "outstanding");
        let wanted = self.total_in_flight_bytes() + self.marked_bytes;
        debug_assert!(self.held_bytes >= wanted, "in flight or marked is held");
        debug_assert_eq!(
            self.in_flight_bytes,
            self.paths.iter().map(|on_path| on_path.bytes).sum::<u64>(),
            "of all paths"
        );
    }
}

impl OnPath {
    /// Chunk `at` of `len` bytes is no longer in the network here.
    fn leave(&mut self, at: u64, len: u32) {
        let was_there = self.chunks.remove(at);
        debug_assert!(was_there, "a chunk in the network is on its path");
        self.bytes -= u64::from(len);
    }
}

#[cfg(test)]
mod tests;
