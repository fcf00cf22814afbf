//! `Half`: the TSNs that one side of an association sent, and what the other acknowledged.
//!
//! Positions count TSNs from the initial one of INIT or INIT ACK. If the capture has none, the
//! first TSN seen has a position that leaves room for earlier ones.

use super::result::{PathUse, Retransmissions, Sacks, Sent};
use super::streams::{Released, Streams, blocked, count_missing};
use crate::analyze::{Distribution, Flowing, Sending};
use base::{Duration, Instant};
use std::collections::BTreeMap;
use std::ops::Range;
use transport::buffer::RangeSet;
use wire::sctp::{GapBlock, Tsn};

/// A TSN below others of its path that comes later than this after them was sent again.
const REORDERING: Duration = Duration::from_millis(3);
/// Position of the first TSN of a capture that begins in the middle.
const MIDDLE: u64 = 1 << 20;
/// Reports that a TSN is missing, after which it is retransmitted (RFC 9260 s7.2.4).
const REPORTS: usize = 3;
/// Most acknowledgements that are searched for reports.
const MOST_SEARCHED: usize = 256;

/// Data of one side.
#[derive(Clone, Debug, Default)]
pub(super) struct Half {
    /// TSN of position 0.
    initial: Option<Tsn>,
    /// Position of the first TSN that the capture can have.
    pub first: u64,
    /// The initial TSN is known from the handshake.
    pub whole: bool,
    seen: RangeSet,
    /// Position behind the highest TSN seen.
    highest: u64,
    copies: BTreeMap<u64, Latest>,
    /// Positions below this one are acknowledged cumulatively.
    pub acknowledged: u64,
    selected: RangeSet,
    paths: BTreeMap<usize, OnPath>,
    pub streams: Streams,
    sacks: Sacks,
    unique: u64,
    unique_bytes: u64,
    missed: u64,
    abandoned: u64,
    /// Times of the first chunk and of the last new one or new acknowledgement.
    span: Option<(Instant, Instant)>,
}

/// The latest copy of a chunk.
#[derive(Clone, Copy, Debug)]
struct Latest {
    path: usize,
    time: Instant,
    /// It was sent before.
    again: bool,
}

/// Data of one side on one path.
#[derive(Clone, Debug, Default)]
struct OnPath {
    chunks: u64,
    bytes: u64,
    first_bytes: u64,
    resent: u64,
    resent_bytes: u64,
    moved_bytes: u64,
    retransmissions: Retransmissions,
    /// Chunks whose latest copy was here when they were sent again, on whatever path.
    repeated: u64,
    /// Position behind the highest TSN seen here.
    highest: u64,
    /// By position behind which TSNs of this path were left out: when that was seen.
    gaps: BTreeMap<u64, Instant>,
    /// Acknowledgements of data of this path: when, and the highest TSN newly acknowledged.
    reports: Vec<(Instant, u64)>,
    rtt: Vec<f64>,
    waited: Vec<f64>,
}

/// A chunk as it is counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    /// Position of its TSN.
    pub position: u64,
    /// Its TSN was not seen before.
    pub new: bool,
    /// Kind in the sequence.
    pub kind: Sending,
}

impl Half {
    /// The initial TSN from INIT or INIT ACK.
    pub(super) fn begin(&mut self, initial: Tsn) {
        if self.initial.is_none() {
            (self.initial, self.whole) = (Some(initial), true);
        }
    }

    /// Position of a TSN; `None` before the first one.
    pub(super) fn position(&self, tsn: Tsn) -> Option<u64> {
        let near = self.highest.max(self.acknowledged);
        u64::try_from(tsn.to_offset(self.initial?, near)).ok()
    }

    /// Position behind a TSN, which may be the one before the initial one: nothing was received.
    fn position_behind(&self, tsn: Tsn) -> Option<u64> {
        self.position(tsn + 1)
    }

    /// Counts a chunk of `len` bytes of user data; `None` if its TSN is before the association.
    pub(super) fn chunk(
        &mut self,
        tsn: Tsn,
        len: u64,
        path: usize,
        now: Instant,
    ) -> Option<Counted> {
        if self.initial.is_none() {
            self.initial = Some(tsn - MIDDLE as u32);
            (self.first, self.highest, self.acknowledged) = (MIDDLE, MIDDLE, MIDDLE);
        }
        let position = self.position(tsn)?;
        let new = !self.seen.contains(position);
        let on = self.paths.entry(path).or_default();
        (on.chunks, on.bytes) = (on.chunks + 1, on.bytes + len);
        let kind = if new {
            self.first_copy(position, len, path, now)
        } else {
            self.further_copy(position, len, path, now)
        };
        self.highest = self.highest.max(position + 1);
        let start = self.span.map_or(now, |(start, _)| start);
        if new {
            self.span = Some((start, now));
        }
        Some(Counted { position, new, kind })
    }

    /// A TSN that was not seen before.
    fn first_copy(&mut self, position: u64, len: u64, path: usize, now: Instant) -> Sending {
        let on = self.paths.entry(path).or_default();
        on.first_bytes += len;
        self.unique += 1;
        self.unique_bytes += len;
        let gap = on.gaps.range(..=position).next_back().map(|(_, opened)| *opened);
        // Paths do not change the order of packets much; a late TSN was sent again.
        let late = position < on.highest.max(self.first);
        let lost = late && gap.is_none_or(|opened| now > opened + REORDERING);
        if position > on.highest {
            on.gaps.insert(on.highest, now);
        }
        on.highest = on.highest.max(position + 1);
        self.seen.insert(position..position + 1);
        self.copies.insert(position, Latest { path, time: now, again: lost });
        if !lost {
            return Sending::New;
        }
        let fast = gap.is_some_and(|opened| on.is_reported(position, opened));
        on.resent += 1;
        on.resent_bytes += len;
        on.retransmissions.lost_before += 1;
        on.retransmissions.count(fast);
        Sending::Retransmission
    }

    /// A TSN that was seen before.
    fn further_copy(&mut self, position: u64, len: u64, path: usize, now: Instant) -> Sending {
        // A TSN that was acknowledged without being seen has no earlier copy.
        let copy = Latest { path, time: now, again: true };
        let before = self.copies.insert(position, copy).unwrap_or(copy);
        let origin = self.paths.entry(before.path).or_default();
        origin.repeated += 1;
        let fast = !before.again && origin.is_reported(position, before.time);
        let on = self.paths.entry(path).or_default();
        on.highest = on.highest.max(position + 1);
        on.retransmissions.count(fast);
        if before.path == path {
            on.resent += 1;
            on.resent_bytes += len;
            return Sending::Retransmission;
        }
        on.retransmissions.moved += 1;
        on.moved_bytes += len;
        Sending::Reinjection
    }

    /// Counts an acknowledgement without its blocks.
    pub(super) fn count_sack(&mut self, window: u32, blocks: usize, duplicates: usize, nr: bool) {
        let sacks = &mut self.sacks;
        *(if nr { &mut sacks.nr_sacks } else { &mut sacks.sacks }) += 1;
        sacks.gap_blocks += blocks as u64;
        sacks.most_gap_blocks = sacks.most_gap_blocks.max(blocks as u64);
        sacks.duplicates += duplicates as u64;
        sacks.least_window = Some(sacks.least_window.map_or(window, |least| least.min(window)));
        sacks.zero_windows += u64::from(window == 0);
    }

    /// The other side has every TSN up to `cumulative`, and those of the blocks. Returns the chunks
    /// that wait no longer, and whether the cumulative TSN advanced.
    pub(super) fn acknowledge<'a>(
        &mut self,
        cumulative: Tsn,
        blocks: impl Iterator<Item = &'a GapBlock>,
        now: Instant,
    ) -> (Vec<Released>, bool) {
        let Some(up_to) = self.position_behind(cumulative) else { return (Vec::new(), false) };
        let mut newly = NewlyAcknowledged::default();
        self.select(self.acknowledged..up_to, &mut newly);
        for block in blocks {
            // Offsets from the cumulative TSN.
            let start = (up_to + u64::from(block.start)).saturating_sub(1);
            let range = start..up_to + u64::from(block.end);
            self.select(range, &mut newly);
        }
        for (path, (sent, highest)) in newly.paths {
            let on = self.paths.entry(path).or_default();
            on.reports.push((now, highest));
            on.rtt.extend(sent.map(|sent| (now - sent).as_secs_f64()));
            self.span = self.span.map(|(start, _)| (start, now));
        }
        let advanced = up_to > self.acknowledged;
        if !advanced {
            return (Vec::new(), false);
        }
        // TSNs above the highest one seen may never have been sent.
        let known = up_to.min(self.highest);
        let missing = self.acknowledged.max(self.first)..known;
        self.missed += count_missing(&self.seen, missing.clone());
        self.seen.insert(missing);
        self.acknowledged = up_to;
        self.selected.remove_below(up_to);
        (self.release(known, now), true)
    }

    /// Notes the chunks of a range that were not acknowledged before.
    fn select(&mut self, range: Range<u64>, newly: &mut NewlyAcknowledged) {
        let range = range.start.max(self.acknowledged)..range.end.min(self.highest);
        if range.is_empty() {
            return;
        }
        for part in self.selected.missing(range.clone()) {
            for (position, copy) in self.copies.range(part) {
                newly.note(*position, copy);
            }
        }
        self.selected.insert(range);
    }

    /// The sender abandons TSNs up to this one (RFC 3758 s3.5).
    pub(super) fn skip(&mut self, cumulative: Tsn, now: Instant) -> Vec<Released> {
        let Some(up_to) = self.position_behind(cumulative) else { return Vec::new() };
        // More than a window can hold was not sent: a FORWARD TSN of another association.
        let range = self.acknowledged..up_to.min(self.highest + u64::from(u16::MAX));
        if !range.is_empty() {
            self.abandoned += count_missing(&self.seen, range.clone());
            self.highest = self.highest.max(range.end);
            self.seen.insert(range.clone());
            return self.release(range.end, now);
        }
        Vec::new()
    }

    fn release(&mut self, below: u64, now: Instant) -> Vec<Released> {
        let released = self.streams.complete_below(below, now);
        self.waited(&released);
        released
    }

    /// Notes the waiting times on the paths that carried the chunks.
    pub(super) fn waited(&mut self, released: &[Released]) {
        for one in released {
            self.paths.entry(one.path).or_default().waited.push(one.waited);
        }
    }

    /// Result over all paths; `at_sender`: the capture was made there.
    pub(super) fn finish(&self, at_sender: bool) -> Sent {
        let mut all = OnPath::default();
        for on in self.paths.values() {
            (all.chunks, all.bytes) = (all.chunks + on.chunks, all.bytes + on.bytes);
            all.retransmissions.add(on.retransmissions);
        }
        let took = self.span.map_or(0.0, |(start, end)| (end - start).as_secs_f64());
        Sent {
            chunks: all.chunks,
            bytes: all.bytes,
            unique_chunks: self.unique,
            unique_bytes: self.unique_bytes,
            missed_chunks: self.missed,
            abandoned_chunks: self.abandoned,
            retransmissions: all.retransmissions,
            sacks: self.sacks,
            goodput: (took > 0.0).then(|| self.unique_bytes as f64 * 8.0 / took),
            streams: self.streams.finish(at_sender),
        }
    }

    /// Result of one path; `other` is what it carried beside data.
    pub(super) fn flowing(&self, path: usize, place: Place, other: PathUse) -> Flowing {
        let none = OnPath::default();
        let on = self.paths.get(&path).unwrap_or(&none);
        let sent = on.chunks + on.retransmissions.lost_before;
        let lost = on.repeated + on.retransmissions.lost_before;
        Flowing {
            segments: on.chunks,
            bytes: on.bytes,
            first_bytes: on.first_bytes,
            share: (self.unique_bytes > 0)
                .then(|| on.first_bytes as f64 / self.unique_bytes as f64),
            resent_segments: on.resent,
            resent_bytes: on.resent_bytes,
            reinjected_bytes: on.moved_bytes,
            loss: (sent > 0).then(|| lost as f64 / sent as f64),
            rtt: Distribution::of(&on.rtt).filter(|_| !place.receiver),
            out_of_order: blocked(&on.waited).filter(|_| !place.sender),
            sctp: Some(PathUse { retransmissions: on.retransmissions, ..other }),
        }
    }
}

/// Where the capture was made, from the view of one direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// At the sender of the data.
    pub sender: bool,
    /// At their receiver.
    pub receiver: bool,
}

impl OnPath {
    /// Whether, since then, acknowledgements of three later chunks of this path came.
    fn is_reported(&self, position: u64, since: Instant) -> bool {
        let since = self.reports.iter().rev().take_while(|(time, _)| *time >= since);
        let later = since.take(MOST_SEARCHED).filter(|(_, highest)| *highest > position);
        later.take(REPORTS).count() == REPORTS
    }
}

impl Retransmissions {
    fn count(&mut self, fast: bool) {
        *(if fast { &mut self.fast } else { &mut self.timeout }) += 1;
    }

    fn add(&mut self, other: Retransmissions) {
        self.fast += other.fast;
        self.timeout += other.timeout;
        self.moved += other.moved;
        self.lost_before += other.lost_before;
    }
}

/// Chunks that one acknowledgement is the first to report, by path.
#[derive(Debug, Default)]
struct NewlyAcknowledged {
    /// When the oldest one that was sent once was sent, and the highest position.
    paths: BTreeMap<usize, (Option<Instant>, u64)>,
}

impl NewlyAcknowledged {
    fn note(&mut self, position: u64, copy: &Latest) {
        let (oldest, highest) = self.paths.entry(copy.path).or_default();
        // RFC 9260 s6.3.1, rule C5 (Karn).
        if !copy.again {
            *oldest = Some(oldest.map_or(copy.time, |oldest| oldest.min(copy.time)));
        }
        *highest = (*highest).max(position);
    }
}
