//! `View`: what a scheduler sees, and the rules about it that all schedulers share.
//!
//! The paths (`path_view`), the data of the connection, and the segment on offer: the head of the
//! reinject queue, else the first bytes never sent (multipath-tcp kernel v0.95,
//! `mptcp_next_segment`). Everything is borrowed from arrays that the executor keeps current. The
//! choice among the available paths is left to the schedulers.

use super::path_view::PathView;
use crate::buffer::Fragments;
use base::{Blocked, Instant, PathId};
use std::collections::VecDeque;
use std::iter;
use std::ops::Range;

/// A set of the paths that a connection has at present. A path's number is its bit: a connection
/// gives out numbers below 64, lowest never used one first, and clears the bit of a path that left
/// before it gives its number out again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathSet(pub u64);

impl PathSet {
    /// No path.
    pub const EMPTY: PathSet = PathSet(0);
    /// All that a connection can have.
    pub const ALL: PathSet = PathSet(u64::MAX);
    /// Most paths a connection has at a time.
    pub const CAPACITY: u8 = 64;

    /// The bit of a path; none for a number that no connection gives out.
    const fn bit(path: PathId) -> u64 {
        if path.0 < Self::CAPACITY { 1 << path.0 } else { 0 }
    }

    /// Whether the path is in the set.
    pub const fn contains(self, path: PathId) -> bool {
        self.0 & Self::bit(path) != 0
    }

    /// The set with that path.
    #[must_use]
    pub const fn with(self, path: PathId) -> Self {
        PathSet(self.0 | Self::bit(path))
    }

    /// Its paths, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = PathId> {
        (0..Self::CAPACITY).map(PathId).filter(move |path| self.contains(*path))
    }

    /// The set without that path.
    #[must_use]
    pub const fn without(self, path: PathId) -> Self {
        PathSet(self.0 & !Self::bit(path))
    }

    /// Whether a path is in both.
    pub const fn meets(self, other: PathSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether no path is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Data passed to some path and not acknowledged by the peer's connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataSegment {
    /// Where it begins in the connection's stream.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// Every path it was passed to.
    pub paths: PathSet,
}

impl DataSegment {
    /// Where it ends.
    pub const fn end(&self) -> u64 {
        self.offset + self.len as u64
    }
}

/// The segment the papers' kernels would send next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// The head of the reinject queue, otherwise data never sent.
    pub reinject: bool,
    /// Offset of the first byte on offer in the connection's stream.
    pub offset: u64,
    /// Where the data on offer end, possibly many segments further.
    pub end: u64,
    /// The paths it was already on.
    pub paths: PathSet,
}

impl Offer {
    /// Bytes of one segment of it on `path`.
    pub fn len_on(&self, path: &PathView) -> u32 {
        // The minimum fits: it is at most the MSS.
        self.end.saturating_sub(self.offset).min(u64::from(path.window.mss)) as u32
    }

    /// The range of that one segment.
    pub fn range_on(&self, path: &PathView) -> Range<u64> {
        self.offset..self.offset + u64::from(self.len_on(path))
    }
}

/// What the connection has to send; 64-bit offsets from zero in its stream.
#[derive(Clone, Debug)]
pub struct DataView<'a> {
    /// Passed to some path and not acknowledged by the peer's connection; ordered. Without gaps
    /// from `snd_una` (which the first may straddle) to `snd_nxt`; beyond only what a scheduler
    /// assigned out of order.
    pub segments: &'a VecDeque<DataSegment>,
    /// The pieces in which Linux would hold what is not acknowledged.
    pub fragments: &'a Fragments,
    /// Everything below was acknowledged by the peer's connection.
    pub snd_una: u64,
    /// The first byte never passed to a path.
    pub snd_nxt: u64,
    /// The end of what the application wrote.
    pub write_end: u64,
    /// The end of the peer's receive window.
    pub window_end: u64,
    /// The head of the reinject queue; nothing of it below `snd_una`.
    pub reinject: Option<Range<u64>>,
    /// The application waits for the send buffer.
    pub sndbuf_limited: bool,
    /// All of the send buffer is used. An application that waits is woken by a third of it, so it
    /// may wait beside room.
    pub sndbuf_full: bool,
    /// The peer will send nothing more.
    pub peer_closed: bool,
}

impl DataView<'_> {
    /// The first of `unsent`; empty if there is nothing.
    fn first_unsent(&self) -> Range<u64> {
        if self.segments.back().is_none_or(|last| last.end() <= self.snd_nxt) {
            // Nothing was assigned out of order, as most schedulers never do.
            return self.snd_nxt..self.write_end;
        }
        self.first_gap()
    }

    #[cold]
    fn first_gap(&self) -> Range<u64> {
        self.unsent().next().unwrap_or(self.snd_nxt..self.snd_nxt)
    }

    /// The data never passed to a path, in order: mostly one range.
    pub fn unsent(&self) -> impl Iterator<Item = Range<u64>> {
        self.unsent_from(self.snd_nxt)
    }

    /// The same from `begin` on, at least `snd_nxt`.
    pub fn unsent_from(&self, begin: u64) -> impl Iterator<Item = Range<u64>> {
        let first = match self.segments.back() {
            Some(last) if last.end() > begin => {
                self.segments.partition_point(|segment| segment.end() <= begin)
            }
            _ => self.segments.len(),
        };
        let above = self.segments.range(first..);
        let starts = iter::once(begin).chain(above.clone().map(DataSegment::end));
        let ends = above.map(|segment| segment.offset).chain(iter::once(self.write_end));
        starts.zip(ends).map(|(start, end)| start..end).filter(|range| !range.is_empty())
    }

    /// The unacknowledged segment that holds `offset`.
    pub fn segment_at(&self, offset: u64) -> Option<&DataSegment> {
        let index = self.segments.partition_point(|segment| segment.end() <= offset);
        self.segments.get(index).filter(|segment| segment.offset <= offset)
    }
}

/// What a scheduler sees.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The current time.
    pub now: Instant,
    /// The paths there are, by ascending number.
    pub paths: &'a [PathView],
    /// The data of the connection.
    pub data: DataView<'a>,
}

impl<'a> View<'a> {
    /// The path of that number.
    pub fn path(&self, id: PathId) -> Option<&'a PathView> {
        self.paths.iter().find(|path| path.id == id)
    }

    /// The segment on offer: the head of the reinject queue, else the first never sent.
    pub fn offered(&self) -> Option<Offer> {
        let data = &self.data;
        if let Some(head) = data.reinject.as_ref().filter(|head| head.end > data.snd_una) {
            let offset = head.start.max(data.snd_una);
            let paths = data.segment_at(offset).map_or(PathSet::EMPTY, |segment| segment.paths);
            return Some(Offer { reinject: true, offset, end: head.end, paths });
        }
        (data.snd_nxt < data.write_end).then(|| self.unsent_offer())
    }

    /// What was never sent as an offer, empty if there is nothing.
    pub fn unsent_offer(&self) -> Offer {
        let Range { start, end } = self.data.first_unsent();
        Offer { reinject: false, offset: start, end, paths: PathSet::EMPTY }
    }

    /// The same, empty if there is nothing: what a path is chosen for in any case.
    pub fn offered_or_empty(&self) -> Offer {
        self.offered().unwrap_or_else(|| self.unsent_offer())
    }

    /// Whether the connection's window takes a segment of the offer on `path`. Into a window that
    /// stays smaller than a segment only the window probe of the connection sends.
    pub fn fits_window(&self, offer: &Offer, path: &PathView) -> bool {
        offer.range_on(path).end <= self.data.window_end
    }

    /// Whether a path that is no backup could carry the offer now or soon: backups rest then.
    pub fn has_active(&self, offer: &Offer) -> bool {
        self.paths.iter().any(|path| path.is_active() && !path.is_definitely_unavailable(offer))
    }

    /// Why the offer goes nowhere although the connection's window would take it. Resting backups
    /// are not considered.
    pub fn why_blocked(&self, offer: &Offer) -> Blocked {
        let has_active = self.has_active(offer);
        let mut usable = self
            .paths
            .iter()
            .filter(|path| !path.is_definitely_unavailable(offer))
            .filter(|path| path.is_active() || !has_active);
        let Some(first) = usable.clone().next() else { return Blocked::PathDown };
        if usable.any(|path| path.is_available(offer)) {
            return Blocked::SchedulerWaits;
        }
        if first.is_window_full() {
            return Blocked::CongestionWindow;
        }
        first.held_by(offer).unwrap_or(Blocked::SchedulerWaits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(segments: &VecDeque<DataSegment>) -> DataView<'_> {
        DataView {
            segments,
            fragments: Fragments::none(),
            snd_una: 150,
            snd_nxt: 300,
            write_end: 900,
            window_end: 1000,
            reinject: None,
            sndbuf_limited: false,
            sndbuf_full: false,
            peer_closed: false,
        }
    }

    fn segments(offsets: &[u64]) -> VecDeque<DataSegment> {
        let segment = |offset: &u64| DataSegment { offset: *offset, len: 100, paths: PathSet(1) };
        offsets.iter().map(segment).collect()
    }

    #[test]
    fn unsent_is_the_tail_and_what_lies_between_early_assignments() {
        let contiguous = segments(&[100, 200]);
        assert!(data(&contiguous).unsent().eq(iter::once(300..900)));
        let early = segments(&[100, 200, 500, 600, 800]);
        assert_eq!(data(&early).unsent().collect::<Vec<_>>(), [300..500, 700..800]);
        let segments = data(&early);
        let from = |begin| segments.unsent_from(begin);
        assert!(from(400).eq([400..500, 700..800]));
        assert_eq!(from(750).next(), Some(750..800));
        let all_sent = DataView { snd_nxt: 900, ..data(&early) };
        assert_eq!(all_sent.unsent().next(), None);
    }

    #[test]
    fn segment_is_found_by_any_of_its_bytes() {
        let segments = segments(&[100, 200, 500]);
        let at = |offset| data(&segments).segment_at(offset).map(|segment| segment.offset);
        assert_eq!(
            [at(150), at(199), at(200), at(299)],
            [Some(100), Some(100), Some(200), Some(200)]
        );
        assert_eq!([at(99), at(300), at(499), at(600)], [None; 4]);
    }

    #[test]
    fn reinjection_is_offered_first_and_cut_to_what_is_unacknowledged() {
        let segments = segments(&[100, 200]);
        let data = DataView { reinject: Some(100..300), ..data(&segments) };
        let mut view = View { now: Instant::ZERO, paths: &[], data };
        let offer = Offer { reinject: true, offset: 150, end: 300, paths: PathSet(1) };
        assert_eq!(view.offered(), Some(offer));
        view.data.reinject = Some(100..150);
        let offer = Offer { reinject: false, offset: 300, end: 900, paths: PathSet::EMPTY };
        assert_eq!(view.offered(), Some(offer), "an acknowledged one is nothing");
    }

    #[test]
    fn set_of_paths_has_sixty_four_places() {
        let set = PathSet::EMPTY.with(PathId(0)).with(PathId(63)).with(PathId(64));
        assert_eq!(set, PathSet(1 << 63 | 1));
        assert!(set.contains(PathId(63)) && !set.contains(PathId(64)));
        assert!(set.without(PathId(0)).without(PathId(63)).is_empty());
    }
}
