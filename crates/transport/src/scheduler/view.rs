//! `View`: what a scheduler sees, and the rules about it that all schedulers share.
//!
//! Fields and availability are those of the schedulers spec s0.1 and s0.2, the segment on offer
//! is s0.3. Everything is borrowed from arrays that the connection keeps current. Which of the
//! available paths is the right one is left to the schedulers.

use base::{Blocked, CaState, Duration, Instant, InterfaceId, PathId};
use std::collections::VecDeque;
use std::iter;
use std::ops::Range;

/// A set of the paths that a connection has at present. A path's number is its bit: a connection
/// hands out numbers below 64, lowest never used one first, and clears the bit of a path that
/// left before it hands its number out again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathSet(pub u64);

impl PathSet {
    /// No path.
    pub const EMPTY: PathSet = PathSet(0);
    /// Most paths a connection has at a time.
    pub const CAPACITY: u8 = 64;

    /// The bit of a path; none for a number no connection hands out.
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

/// Data handed to some path and not acknowledged by the peer's connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataSegment {
    /// Where it begins in the connection's stream.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// Every path it was handed to.
    pub paths: PathSet,
}

impl DataSegment {
    /// Where it ends.
    pub const fn end(&self) -> u64 {
        self.offset + self.len as u64
    }
}

/// One path as a scheduler sees it. Times without a sample are zero.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathView {
    /// Ties are broken by the lowest.
    pub id: PathId,
    /// The interface it leaves by: what a user calls a path. It outlives a subflow.
    pub interface: InterfaceId,
    /// The state of the subflow lets data be sent.
    pub can_send: bool,
    /// The initiator of a join that has not heard the fourth ACK: no data.
    pub pre_established: bool,
    /// The peer proved that this subflow speaks MPTCP.
    pub fully_established: bool,
    /// Potentially failed: the retransmission timer expired, no progress since.
    pub pf: bool,
    /// Either side asks to spare it.
    pub backup: bool,
    /// Policy mark: probes and reinjections only, no new data.
    pub probing: bool,
    /// The sender's queue below the transport is full enough (TCP Small Queues). Never set
    /// where schedulers do not care.
    pub tsq_throttled: bool,
    pub ca_state: CaState,
    /// In `CaState::Loss` without SACK: everything sent before the time-out is acknowledged.
    pub loss_repaired: bool,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Its variation as in RFC 6298.
    pub rttvar: Duration,
    /// The newest sample, unsmoothed.
    pub rtt_last: Duration,
    /// The first sample, the handshake's.
    pub rtt_first: Duration,
    /// How many there were.
    pub rtt_samples: u32,
    pub rto: Duration,
    /// The last transmission of data.
    pub last_send: Option<Instant>,
    /// The congestion window in whole segments.
    pub cwnd_segs: u32,
    /// The slow-start threshold; `None` while infinite.
    pub ssthresh_segs: Option<u32>,
    /// Sent, neither acknowledged nor declared lost.
    pub inflight_segs: u32,
    /// The same in bytes.
    pub inflight_bytes: u64,
    /// Handed or assigned to the path, not transmitted.
    pub unsent_bytes: u64,
    /// The same in segments.
    pub unsent_segs: u32,
    /// Handed or assigned to the path, not acknowledged on it.
    pub outstanding_bytes: u64,
    /// Payload bytes of a full segment after all options.
    pub mss: u32,
    /// What the subflow's receive window still takes beyond what was handed to it. More than any
    /// segment where a smaller subflow window is lifted to the connection's: that one is
    /// [`View::fits_window`]'s.
    pub window_left_bytes: u64,
    /// Bytes a second; `None` without an RTT sample.
    pub pacing_rate: Option<u64>,
    /// Memory of what was handed to the path and not acknowledged on it, in bytes.
    pub queued_memory: u32,
    /// What of it the path takes: its own send buffer, in bytes of memory.
    pub send_buffer: u32,
    /// Where the last data handed to this subflow end in the connection's stream.
    pub last_end: Option<u64>,
}

impl PathView {
    /// Not a backup.
    pub const fn is_active(&self) -> bool {
        !self.backup
    }

    /// Segments that the congestion window still takes.
    pub const fn free_segs(&self) -> u32 {
        self.cwnd_segs.saturating_sub(self.inflight_segs)
    }

    /// It cannot carry the offer before its state changes (s0.2).
    pub fn is_definitely_unavailable(&self, offer: &Offer) -> bool {
        let fit = self.can_send && !self.pre_established && !self.pf;
        !fit || (self.probing && !offer.reinject)
    }

    /// Tests 3 and 4: the window is full, or will be by what is queued.
    pub fn is_window_full(&self) -> bool {
        let free = self.free_segs();
        free == 0 || self.unsent_bytes > u64::from(free) * u64::from(self.mss)
    }

    /// Test 2: before full establishment data are contiguous on the one subflow.
    pub fn may_carry(&self, offer: &Offer) -> bool {
        self.fully_established || self.last_end.is_none_or(|end| end == offer.offset)
    }

    /// Tests 1, 2, 5 and 6: what holds the path up beside its congestion window.
    pub fn held_by(&self, offer: &Offer) -> Option<Blocked> {
        if self.ca_state == CaState::Loss && !self.loss_repaired {
            return Some(Blocked::CongestionWindow);
        }
        if !self.may_carry(offer) {
            return Some(Blocked::PathDown);
        }
        if self.window_left_bytes < u64::from(offer.len_on(self).max(1)) {
            return Some(Blocked::ReceiveWindow);
        }
        self.tsq_throttled.then_some(Blocked::SmallQueue)
    }

    /// It cannot carry the offer right now.
    pub fn is_temporarily_unavailable(&self, offer: &Offer) -> bool {
        self.is_window_full() || self.held_by(offer).is_some()
    }

    /// It can carry the offer right now.
    pub fn is_available(&self, offer: &Offer) -> bool {
        !self.is_definitely_unavailable(offer) && !self.is_temporarily_unavailable(offer)
    }
}

/// The segment the papers' kernels would send next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// The head of the reinject queue, otherwise data never sent.
    pub reinject: bool,
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
        self.end.saturating_sub(self.offset).min(u64::from(path.mss)) as u32
    }

    /// The range of that one segment.
    pub fn range_on(&self, path: &PathView) -> Range<u64> {
        self.offset..self.offset + u64::from(self.len_on(path))
    }
}

/// What the connection has to send; 64-bit offsets from zero in its stream.
#[derive(Clone, Debug)]
pub struct DataView<'a> {
    /// Handed to some path and not acknowledged by the peer's connection; ordered. Without gaps
    /// from `snd_una` (which the first may straddle) to `snd_nxt`; beyond only what a scheduler
    /// assigned out of order.
    pub segments: &'a VecDeque<DataSegment>,
    /// Everything below was acknowledged by the peer's connection.
    pub snd_una: u64,
    /// The first byte never handed to a path.
    pub snd_nxt: u64,
    /// The end of what the application wrote.
    pub write_end: u64,
    /// The end of the peer's receive window.
    pub window_end: u64,
    /// The head of the reinject queue; nothing of it below `snd_una`.
    pub reinject: Option<Range<u64>>,
    /// The application waits for the send buffer.
    pub sndbuf_limited: bool,
    /// The peer will send nothing more.
    pub peer_closed: bool,
    /// The path the peer's DATA_FIN came on, while ours is all there is to send.
    pub fin_path: Option<PathId>,
}

impl DataView<'_> {
    /// What the peer's connection has not acknowledged, in order.
    pub fn unacknowledged(&self) -> impl Iterator<Item = &DataSegment> {
        self.segments.iter()
    }

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

    /// What was never handed to a path, in order: mostly one range.
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
    pub now: Instant,
    /// The paths there are, by ascending number.
    pub paths: &'a [PathView],
    pub data: DataView<'a>,
}

impl<'a> View<'a> {
    /// The path of that number.
    pub fn path(&self, id: PathId) -> Option<&'a PathView> {
        self.paths.iter().find(|path| path.id == id)
    }

    /// The segment on offer (s0.3): the head of the reinject queue, else the first never sent.
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

    /// Whether the connection's window takes a segment of the offer on `path` (s0.3 rule 5). A
    /// window that stays smaller than a segment is a matter of the connection's window probe.
    pub fn fits_window(&self, offer: &Offer, path: &PathView) -> bool {
        offer.range_on(path).end <= self.data.window_end
    }

    /// Whether a path that is no backup could carry the offer now or soon: backups rest then.
    pub fn has_active(&self, offer: &Offer) -> bool {
        self.paths.iter().any(|path| path.is_active() && !path.is_definitely_unavailable(offer))
    }

    /// Why the offer goes nowhere although the connection's window would take it. Backups that
    /// rest are not asked.
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
            snd_una: 150,
            snd_nxt: 300,
            write_end: 900,
            window_end: 1000,
            reinject: None,
            sndbuf_limited: false,
            peer_closed: false,
            fin_path: None,
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
