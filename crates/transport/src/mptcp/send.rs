//! The sending half of the data sequence space: what was written, handed to paths, acknowledged,
//! and what must go again (RFC 8684 s3.3).
//!
//! Offsets count from zero; data sequence numbers begin one above the initial one. Which path
//! gets what is a scheduler's decision, carried out in `outgoing`.

use crate::buffer::{RangeSet, SendBuffer};
use crate::scheduler::{DataSegment, PathSet};
use base::PathId;
use std::collections::VecDeque;
use std::ops::Range;
use wire::Payload;

/// Bytes that one fragment of the send queue holds (mainline: 32 KiB with its description).
pub(crate) const FRAGMENT_BYTES: u32 = (32 << 10) - FRAGMENT_COST;
/// Memory of that description (mainline `struct mptcp_data_frag`).
const FRAGMENT_COST: u32 = 40;

/// Windows up to this are not halved (RFC 9293 s3.7.1's default segment).
const SMALL_WINDOW: u64 = 536;

/// The sending half.
#[derive(Debug, Default)]
pub struct DataSend {
    pub buffer: SendBuffer,
    /// Handed to some path and not acknowledged, in order; without gaps below `nxt`.
    pub segments: VecDeque<DataSegment>,
    /// Everything below is acknowledged by the peer's connection; a DATA_FIN counts one.
    pub una: u64,
    /// The first byte never handed to a path.
    pub nxt: u64,
    /// End of the peer's receive window; never moves left.
    pub window_end: u64,
    /// The largest window it announced.
    pub max_window: u64,
    /// To be handed to another path.
    pub reinject: RangeSet,
    /// Data sequence number of offset zero.
    pub first_dsn: u64,
    /// The application will write no more.
    pub fin_queued: bool,
    /// The DATA_FIN was sent.
    pub fin_sent: bool,
    pub writer_waits: bool,
    pub reinjected_bytes: u64,
    pub probe_bytes: u64,
    /// Data were handed out before others that come first.
    pub scattered: bool,
}

impl DataSend {
    /// The number on the wire of `offset`.
    pub const fn dsn(&self, offset: u64) -> u64 {
        self.first_dsn.wrapping_add(offset)
    }

    /// The peer takes `window` bytes from `from` on; its window never shrinks.
    pub fn allow(&mut self, from: u64, window: u64) {
        self.window_end = self.window_end.max(from + window);
        self.max_window = self.max_window.max(window);
    }

    /// The largest segment that is not to wait for more of a small window: half of its most.
    pub fn half_window(&self) -> u32 {
        let most = if self.max_window > SMALL_WINDOW { self.max_window / 2 } else { SMALL_WINDOW };
        u32::try_from(most).unwrap_or(u32::MAX)
    }

    /// Everything written was handed to paths.
    pub fn is_drained(&self) -> bool {
        self.nxt == self.buffer.end()
    }

    /// The peer acknowledged the DATA_FIN.
    pub fn is_fin_acked(&self) -> bool {
        self.fin_sent && self.una > self.buffer.end()
    }

    /// A data acknowledgement and the window that came with it. Whether data were acknowledged;
    /// `None`: it acknowledges what was never sent and is ignored.
    pub fn on_data_ack(&mut self, up_to: u64, window: u64) -> Option<bool> {
        let sent = self.nxt + u64::from(self.fin_sent);
        if up_to > sent {
            return None;
        }
        self.allow(up_to, window);
        if up_to <= self.una {
            return Some(false);
        }
        self.una = up_to;
        while self.segments.front().is_some_and(|segment| segment.end() <= up_to) {
            self.segments.pop_front();
        }
        self.buffer.release_below(up_to.min(self.buffer.end()));
        self.reinject.remove_below(up_to);
        Some(true)
    }

    /// The first part of `range` that was never handed to a path; empty if there is none.
    pub fn unsent_part(&self, range: Range<u64>) -> Range<u64> {
        let end = range.end.min(self.buffer.end());
        let mut start = range.start.max(self.nxt);
        if self.segments.back().is_none_or(|last| last.end() <= start) {
            return start.min(end)..end;
        }
        let first = self.segments.partition_point(|segment| segment.end() <= start);
        for segment in self.segments.range(first..) {
            if segment.offset > start {
                return start.min(end)..end.min(segment.offset);
            }
            start = segment.end();
        }
        start.min(end)..end
    }

    /// Take bytes never sent for `path`, from `offset` on.
    pub fn take_unsent(&mut self, path: PathId, offset: u64, len: u32) -> (u64, Payload) {
        let payload = self.buffer.slice(offset, len);
        let len = payload.len();
        let paths = PathSet::EMPTY.with(path);
        let segment = DataSegment { offset, len, paths };
        let behind = self.segments.back().is_none_or(|last| last.end() <= offset);
        if behind && offset == self.nxt {
            self.segments.push_back(segment);
            self.nxt = segment.end();
            return (offset, payload);
        }
        self.scattered = true;
        let index = self.segments.partition_point(|known| known.offset < offset);
        self.segments.insert(index, segment);
        for known in self.segments.range(index..) {
            if known.offset != self.nxt {
                break;
            }
            self.nxt = known.end();
        }
        (offset, payload)
    }

    /// Take a copy of data that some path already has for `path`; what was acknowledged since is
    /// left out.
    pub fn take_copy(&mut self, path: PathId, range: Range<u64>) -> Option<(u64, Payload)> {
        let start = range.start.max(self.una);
        let first = self.segments.partition_point(|segment| segment.end() <= start);
        let mut reached = start;
        for segment in self.segments.range_mut(first..) {
            if segment.offset > reached || reached >= range.end {
                break;
            }
            segment.paths = segment.paths.with(path);
            reached = segment.end();
        }
        let end = reached.min(range.end);
        if start >= end {
            return None;
        }
        let len = u32::try_from(end - start).unwrap_or(u32::MAX);
        self.reinjected_bytes += u64::from(len);
        Some((start, self.buffer.slice(start, len)))
    }

    /// The head of the reinject queue, cut to one range of data not acknowledged.
    pub fn reinject_head(&self) -> Option<Range<u64>> {
        self.reinject.first().map(|range| range.start.max(self.una)..range.end)
    }

    /// A range of the reinject queue was handed out.
    pub fn reinjected(&mut self, range: Range<u64>) {
        self.reinject.remove(range);
    }

    /// Everything that `path` has and the peer has not acknowledged goes to another one, unless
    /// one of those that work has it already.
    pub fn reinject_all_of(&mut self, path: PathId, working: PathSet) {
        for segment in &self.segments {
            let others = segment.paths.without(path);
            let stuck = segment.paths.contains(path) && !others.meets(working);
            if stuck && segment.end() > self.una {
                self.reinject.insert(segment.offset.max(self.una)..segment.end());
            }
        }
    }

    /// A path left: its number may be given to another one.
    pub fn forget_path(&mut self, path: PathId) {
        for segment in &mut self.segments {
            segment.paths = segment.paths.without(path);
        }
    }

    /// The newest `len` bytes at most of what others have and `path` has not. They are cut out of
    /// their segments, so that what is noted of a segment is true of all of it: a path that has a
    /// part of it only would keep the rest from being reinjected.
    pub fn cut_newest_without(&mut self, path: PathId, len: u32) -> Option<Range<u64>> {
        let una = self.una;
        let lacks = |segment: &DataSegment| {
            !segment.paths.contains(path) && !segment.paths.is_empty() && segment.end() > una
        };
        let last = self.segments.iter().rposition(lacks)?;
        let end = self.segments[last].end();
        let least = end.saturating_sub(u64::from(len)).max(una);
        let mut first = last;
        while self.segments[first].offset > least
            && let Some(before) = first.checked_sub(1)
            && lacks(&self.segments[before])
            && self.segments[before].end() == self.segments[first].offset
        {
            first = before;
        }
        let start = self.segments[first].offset.max(least);
        if start > una {
            // Else a head would be left of which everything is acknowledged.
            self.cut_at(first, start);
        }
        Some(start..end)
    }

    /// No segment is on both sides of `offset`: what is noted of one is true of all of it.
    pub fn cut(&mut self, offset: u64) {
        let index = self.segments.partition_point(|segment| segment.end() <= offset);
        if index < self.segments.len() {
            self.cut_at(index, offset);
        }
    }

    /// Two segments of one, where `offset` is within it.
    fn cut_at(&mut self, index: usize, offset: u64) {
        let whole = self.segments[index];
        if whole.offset < offset && offset < whole.end() {
            // Less than the segment.
            let len = (offset - whole.offset) as u32;
            self.segments[index].len = len;
            self.segments.insert(index + 1, DataSegment { offset, len: whole.len - len, ..whole });
        }
    }

    /// Every path was tried with these.
    pub fn forget_paths_of(&mut self, range: &Range<u64>) {
        for segment in &mut self.segments {
            if segment.offset < range.end && segment.end() > range.start {
                segment.paths = PathSet::EMPTY;
            }
        }
    }

    /// Memory of what is buffered, in bytes.
    pub fn memory(&self) -> u32 {
        let bytes = u32::try_from(self.buffer.len()).unwrap_or(u32::MAX);
        bytes.saturating_add(bytes.div_ceil(FRAGMENT_BYTES) * FRAGMENT_COST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: PathId = PathId(0);
    const SLOW: PathId = PathId(1);

    /// So much was handed to `FAST`, in segments of that size.
    fn sent(bytes: u32, segment: u32) -> DataSend {
        let mut send = DataSend::default();
        send.buffer.append(Payload::from(vec![7; bytes as usize]));
        while send.nxt < u64::from(bytes) {
            send.take_unsent(FAST, send.nxt, segment.min(bytes - send.nxt as u32));
        }
        send
    }

    /// Probes of at most so many bytes until there is nothing to probe with.
    fn probes(send: &mut DataSend, size: u32) -> Vec<Range<u64>> {
        let mut probes = Vec::new();
        while let Some(range) = send.cut_newest_without(SLOW, size) {
            assert_eq!(send.take_copy(SLOW, range.clone()).expect("data").1.len(), size);
            probes.push(range);
            if probes.len() == 3 {
                break;
            }
        }
        probes
    }

    #[test]
    fn probes_are_the_newest_bytes_of_others_whatever_segments_they_are_in() {
        let expected = [8976..10_000, 7952..8976, 6928..7952];
        for segment in [1, 100, 1400, 10_000] {
            let mut send = sent(10_000, segment);
            assert_eq!(probes(&mut send, 1024), expected, "segments of {segment}");
            let of_both: u64 = (send.segments.iter())
                .filter(|segment| segment.paths.contains(SLOW))
                .map(|segment| u64::from(segment.len))
                .sum();
            assert_eq!(of_both, 3 * 1024);
        }
        let mut send = sent(10_000, 1400);
        assert_eq!(send.cut_newest_without(FAST, 1024), None, "it has everything itself");
        send.on_data_ack(9500, 1 << 20);
        assert_eq!(send.cut_newest_without(SLOW, 1024), Some(9500..10_000));
    }

    #[test]
    fn probe_of_all_that_is_unacknowledged_leaves_no_acknowledged_head() {
        let mut send = sent(10_000, 10_000);
        send.on_data_ack(9500, 1 << 20);
        let range = send.cut_newest_without(SLOW, 1024).expect("data");
        assert_eq!(range, 9500..10_000);
        assert!(send.segments.front().is_some_and(|head| head.end() > send.una));
        send.take_copy(SLOW, range);
        assert_eq!(send.cut_newest_without(SLOW, 1024), None, "it has them all");
    }

    /// A grant of Linux's scheduler is one segment of 64 KiB: a probe with its end must not make
    /// it look as if the probed path had all of it.
    #[test]
    fn what_a_probe_did_not_carry_is_reinjected_when_its_path_fails() {
        let mut send = sent(65_000, 65_000);
        probes(&mut send, 1024);
        send.reinject_all_of(FAST, PathSet::EMPTY.with(SLOW));
        assert!(send.reinject.iter().eq(std::iter::once(0..65_000 - 3 * 1024)));
    }

    /// Regression: the rest of a grant of 64 KiB, of which a part was reinjected, counted as sent
    /// on both paths, and waited until the working one had nothing outstanding.
    #[test]
    fn rest_of_a_cut_segment_keeps_its_paths() {
        let mut send = sent(65_000, 65_000);
        send.cut(20_000);
        send.take_copy(SLOW, 0..20_000);
        let paths: Vec<_> = send.segments.iter().map(|segment| segment.paths).collect();
        let first = PathSet::EMPTY.with(FAST);
        assert_eq!(paths, [first.with(SLOW), first]);
        send.cut(20_000);
        send.cut(65_000);
        assert_eq!(send.segments.len(), 2);
    }
}
