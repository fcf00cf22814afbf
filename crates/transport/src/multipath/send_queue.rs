//! `SendQueue`: what was written, passed to paths, acknowledged, and what must be sent again, by
//! offsets from zero in the connection's stream.
//!
//! Sequence numbers of the wire are the protocol's. Which path gets what is decided by a scheduler
//! and carried out in `dispatch`.

use crate::buffer::{Fragments, RangeSet, SendBuffer};
use crate::scheduler::{DataSegment, DataView, PathSet};
use base::PathId;
use std::collections::VecDeque;
use std::hint::cold_path;
use std::ops::Range;
use wire::Payload;

/// Windows up to this are not halved (RFC 9293 s3.7.1's default segment).
const SMALL_WINDOW: u64 = 536;

/// The send queue of a connection.
#[derive(Debug, Default)]
pub struct SendQueue {
    buffer: SendBuffer,
    fragments: Fragments,
    /// Passed to some path and not acknowledged, in order; without gaps below `nxt`.
    segments: VecDeque<DataSegment>,
    /// Everything below is acknowledged by the peer.
    una: u64,
    /// The first byte that counts as memory: `una`, or less, see `on_ack`.
    charged_from: u64,
    /// The path that acknowledged all that was outstanding, until something is passed to a path or
    /// written.
    acked_by: Option<PathId>,
    /// Acknowledged parts of fragments may stay, see `on_ack`.
    keeps_fragments: bool,
    /// The first byte never passed to a path.
    nxt: u64,
    /// End of the peer's receive window; moves left at its first data acknowledgement at most.
    window_end: u64,
    /// No data acknowledgement came with a window yet.
    window_is_provisional: bool,
    /// The largest window it announced.
    max_window: u64,
    /// To be passed to another path.
    reinject: RangeSet,
    /// What was passed to a second path, whichever paths are known to have it now.
    copied: RangeSet,
    writer_waits: bool,
    /// Size of the send buffer when the application last wrote or waited, in bytes of memory.
    limit: u32,
    /// Data were passed to a path before others that come first.
    scattered: bool,
    reinjected_bytes: u64,
    probe_bytes: u64,
}

impl SendQueue {
    /// Nothing was written yet. `keeps_fragments`: see [`SendQueue::on_ack`].
    pub fn new(keeps_fragments: bool) -> Self {
        SendQueue { keeps_fragments, ..SendQueue::default() }
    }

    /// Append to the stream.
    pub fn write(&mut self, payload: Payload) {
        self.acked_by = None;
        self.fragments.append(self.end(), payload.len(), !self.is_drained());
        self.buffer.append(payload);
    }

    /// Bytes that a write takes at most before Linux looks at the buffer's size again.
    pub fn write_room(&self) -> u32 {
        self.fragments.room(!self.is_drained())
    }

    /// Memory of what is buffered (Linux `sk_wmem_queued`), in bytes.
    #[inline]
    pub fn memory(&self) -> u64 {
        self.end() - self.charged_from + u64::from(self.fragments.overhead_bytes())
    }

    /// The end of Linux's fragment of the send queue that has the byte before `offset`.
    pub(super) fn fragment_end(&self, offset: u64) -> u64 {
        self.fragments.end_of(offset)
    }

    /// Offset of the first byte that the peer has not acknowledged.
    pub const fn una(&self) -> u64 {
        self.una
    }

    /// Offset of the first byte never passed to a path.
    pub const fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Offset of the next byte that is written.
    pub const fn end(&self) -> u64 {
        self.buffer.end()
    }

    /// End of the peer's receive window.
    pub const fn window_end(&self) -> u64 {
        self.window_end
    }

    /// The peer's window has room for more than was passed to paths.
    pub(super) const fn has_window(&self) -> bool {
        self.window_end > self.nxt
    }

    /// Bytes written and not acknowledged.
    pub const fn buffered(&self) -> u64 {
        self.buffer.len()
    }

    /// The application waits for room.
    pub const fn writer_waits(&self) -> bool {
        self.writer_waits
    }

    /// The size of the send buffer, in bytes of [`SendQueue::memory`].
    pub const fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
    }

    /// Whether the application waits for room.
    pub const fn set_writer_waits(&mut self, waits: bool) {
        self.writer_waits = waits;
    }

    /// Data were passed to a path before others that come first.
    pub const fn is_scattered(&self) -> bool {
        self.scattered
    }

    /// Bytes passed to a second path although another one had them.
    pub const fn reinjected_bytes(&self) -> u64 {
        self.reinjected_bytes
    }

    /// The part of these that was sent to probe paths.
    pub const fn probe_bytes(&self) -> u64 {
        self.probe_bytes
    }

    /// The handshake announced a window. It is the subflow's: of the connection's window the peer
    /// speaks with its first data acknowledgement (RFC 8684 s3.3.4).
    pub fn allow_provisionally(&mut self, window: u64) {
        self.allow(self.una, window);
        self.window_is_provisional = true;
    }

    /// The peer takes `window` bytes from `from` on; its window never shrinks, except that a first
    /// data acknowledgement may take back a part of what the handshake announced: Linux drops what
    /// is beyond `rcv_wnd_sent`, which counts segments with a DATA_ACK (`mptcp_data_queue_ofo`).
    pub fn allow(&mut self, from: u64, window: u64) {
        let end = from + window;
        let before = if self.window_is_provisional { self.nxt } else { self.window_end };
        self.window_is_provisional = false;
        self.window_end = end.max(before);
        self.max_window = self.max_window.max(window);
    }

    /// The largest segment that is not to wait for more of a small window: half of its most.
    pub(super) fn half_window(&self) -> u32 {
        let most = if self.max_window > SMALL_WINDOW { self.max_window / 2 } else { SMALL_WINDOW };
        u32::try_from(most).unwrap_or(u32::MAX)
    }

    /// Everything written was passed to paths.
    pub const fn is_drained(&self) -> bool {
        self.nxt == self.buffer.end()
    }

    /// Something was passed to a path and is not acknowledged by the peer.
    pub fn has_unacknowledged(&self) -> bool {
        !self.segments.is_empty()
    }

    /// Something was written and is not acknowledged, or was never passed to a path.
    pub fn is_busy(&self) -> bool {
        self.has_unacknowledged() || !self.is_drained()
    }

    /// Where the data begin that were passed to a path and are not acknowledged.
    pub(super) fn unacknowledged_head(&self) -> Option<u64> {
        self.segments.front().map(|head| head.offset.max(self.una))
    }

    /// Bytes of `range` that were passed to `path`, never to another one, and not acknowledged.
    pub fn bytes_on_only(&self, path: PathId, range: Range<u64>) -> u64 {
        let only = PathSet::EMPTY.with(path);
        let first = self.segments.partition_point(|segment| segment.end() <= range.start);
        let within = self.segments.range(first..).take_while(|known| known.offset < range.end);
        let ours = within.filter(|segment| segment.paths == only);
        let bytes = |segment: &DataSegment| {
            let start = segment.offset.max(range.start).max(self.una);
            let once = self.copied.missing(start..segment.end().min(range.end));
            once.map(|part| part.end - part.start).sum::<u64>()
        };
        ours.map(bytes).sum()
    }

    /// Everything below `up_to` is acknowledged, on `path`. Whether anything new is.
    ///
    /// Memory of what was acknowledged of a fragment is free; in a queue that keeps fragments not
    /// if nothing is outstanding any more: then it is with the next acknowledgement (Linux
    /// `__mptcp_clean_una`, for which `mptcp_rtx_head` has no fragment), unless the same path sends
    /// first (`ack_update_msk`).
    pub fn on_ack(&mut self, up_to: u64, path: PathId) -> bool {
        debug_assert!(up_to <= self.nxt, "acknowledged before it was sent");
        if up_to <= self.una {
            self.acked_by = None;
            return false;
        }
        self.una = up_to;
        while self.segments.front().is_some_and(|segment| segment.end() <= up_to) {
            self.segments.pop_front();
        }
        self.buffer.release_below(up_to);
        let whole = self.fragments.release_below(up_to);
        if up_to == self.nxt && self.keeps_fragments {
            cold_path();
            self.charged_from = whole.unwrap_or(self.charged_from);
            self.acked_by = Some(path);
        } else {
            self.charged_from = up_to;
        }
        self.reinject.remove_below(up_to);
        if !self.copied.is_empty() {
            self.copied.remove_below(up_to);
        }
        self.check();
        true
    }

    /// Take everything never passed to a path, for a connection that schedules no more.
    pub fn take_rest(&mut self) -> Option<Payload> {
        let left = self.end() - self.nxt;
        if left == 0 {
            return None;
        }
        // A send buffer is smaller than 4 GiB.
        let payload = self.buffer.slice(self.nxt, u32::try_from(left).unwrap_or(u32::MAX));
        self.nxt += u64::from(payload.len());
        Some(payload)
    }

    /// What a scheduler sees of it.
    pub(super) fn view(&self, peer_closed: bool) -> DataView<'_> {
        DataView {
            segments: &self.segments,
            fragments: &self.fragments,
            snd_una: self.una,
            snd_nxt: self.nxt,
            write_end: self.end(),
            window_end: self.window_end,
            reinject: self.reinject_head(),
            sndbuf_limited: self.writer_waits,
            sndbuf_full: self.writer_waits && self.memory() >= u64::from(self.limit),
            peer_closed,
        }
    }

    /// `una <= nxt <= end`, and no gap below `nxt`.
    fn check(&self) {
        debug_assert!(self.una <= self.nxt && self.nxt <= self.end());
        debug_assert!(self.charged_from <= self.una);
        debug_assert!(
            self.segments
                .front()
                .is_none_or(|head| head.offset <= self.una || head.offset > self.nxt),
            "the first segment begins at the first byte that is not acknowledged"
        );
    }

    /// The first data that were never passed to a path; empty if there are none.
    #[inline]
    pub(super) fn first_unsent(&self) -> Range<u64> {
        if self.segments.back().is_none_or(|last| last.end() <= self.nxt) {
            return self.nxt..self.buffer.end();
        }
        self.unsent_part(self.nxt..u64::MAX)
    }

    /// The first part of `range` that was never passed to a path; empty if there is none.
    pub(super) fn unsent_part(&self, range: Range<u64>) -> Range<u64> {
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

    /// Take the bytes of `range`, never sent, for `path`: segments of at most `most` bytes.
    // In line where `first_unsent` was asked just before.
    #[inline(always)]
    pub(super) fn take_unsent(&mut self, path: PathId, range: Range<u64>, most: u32) -> Payload {
        debug_assert!(self.nxt <= range.start && range.end <= self.end(), "it was never sent");
        if let Some(by) = self.acked_by.take() {
            cold_path();
            if by == path {
                self.charged_from = self.una;
            }
        }
        // A grant is shorter than 4 GiB.
        let payload = self.buffer.slice(range.start, (range.end - range.start) as u32);
        let paths = PathSet::EMPTY.with(path);
        let behind = self.segments.back().is_none_or(|last| last.end() <= range.start);
        let in_order = behind && range.start == self.nxt;
        let mut offset = range.start;
        while offset < range.end {
            let len = (range.end - offset).min(u64::from(most)) as u32;
            let segment = DataSegment { offset, len, paths };
            if in_order {
                self.segments.push_back(segment);
            } else {
                self.note_scattered(segment);
            }
            offset += u64::from(len);
        }
        if in_order {
            self.nxt = range.end;
        }
        payload
    }

    /// A segment was passed to a path before others that come first.
    #[cold]
    fn note_scattered(&mut self, segment: DataSegment) {
        self.scattered = true;
        let index = self.segments.partition_point(|known| known.offset < segment.offset);
        debug_assert!(
            self.segments.get(index).is_none_or(|next| segment.end() <= next.offset)
                && (index.checked_sub(1))
                    .is_none_or(|last| self.segments[last].end() <= segment.offset),
            "no byte is handed out twice as new data"
        );
        self.segments.insert(index, segment);
        for known in self.segments.range(index..) {
            if known.offset != self.nxt {
                break;
            }
            self.nxt = known.end();
        }
        self.check();
    }

    /// Whether the reinject queue holds anything.
    pub(crate) fn has_reinjections(&self) -> bool {
        !self.reinject.is_empty()
    }

    /// Queue `range` for another path.
    pub(super) fn reinject(&mut self, range: Range<u64>) {
        debug_assert!(self.una <= range.start, "it is not acknowledged");
        self.reinject.insert(range);
    }

    /// Take a copy of data that some path already has for `path`; what was acknowledged since is
    /// left out.
    pub(super) fn take_copy(&mut self, path: PathId, range: Range<u64>) -> Option<(u64, Payload)> {
        let start = range.start.max(self.una);
        // What is not copied is still only where it was.
        if start > self.una {
            self.cut(start);
        }
        self.cut(range.end);
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
        self.copied.insert(start..end);
        debug_assert!(end <= self.end(), "copies are of what was written");
        Some((start, self.buffer.slice(start, len)))
    }

    /// The last copy was sent to probe a path.
    pub(super) fn count_probe(&mut self, bytes: u32) {
        self.probe_bytes += u64::from(bytes);
    }

    /// The head of the reinject queue, cut to one range of data not acknowledged.
    pub(super) fn reinject_head(&self) -> Option<Range<u64>> {
        self.reinject.first().map(|range| range.start.max(self.una)..range.end)
    }

    /// Take a range of the reinject queue for `path`; what was acknowledged since is left out.
    pub(super) fn take_reinject(
        &mut self,
        path: PathId,
        range: Range<u64>,
    ) -> Option<(u64, Payload)> {
        let taken = self.take_copy(path, range.clone());
        self.reinject.remove(range);
        taken
    }

    /// Everything that `path` has and the peer has not acknowledged goes to another one, unless
    /// one of those that work has it already.
    pub(super) fn reinject_all_of(&mut self, path: PathId, working: PathSet) {
        for segment in &self.segments {
            let others = segment.paths.without(path);
            let stuck = segment.paths.contains(path) && !others.meets(working);
            if stuck && segment.end() > self.una {
                self.reinject.insert(segment.offset.max(self.una)..segment.end());
            }
        }
    }

    /// Everything that was passed to a path and is not acknowledged is passed to one again,
    /// wherever it is (Linux `__mptcp_retransmit_pending_data`).
    pub(super) fn reinject_all(&mut self) {
        for segment in &mut self.segments {
            segment.paths = PathSet::EMPTY;
            self.reinject.insert(segment.offset.max(self.una)..segment.end());
        }
    }

    /// A path left: its number may be given to another one.
    pub(super) fn forget_path(&mut self, path: PathId) {
        for segment in &mut self.segments {
            segment.paths = segment.paths.without(path);
        }
    }

    /// The newest `len` bytes at most of what others have and `path` has not. They are cut out of
    /// their segments, so that what is noted of a segment is true of all of it: a path that has a
    /// part of it only would keep the rest from being reinjected.
    pub(super) fn cut_newest_without(&mut self, path: PathId, len: u32) -> Option<Range<u64>> {
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
            // Otherwise a head would remain of which everything is acknowledged.
            self.cut_at(first, start);
        }
        Some(start..end)
    }

    /// No segment is on both sides of `offset`: what is noted of one is true of all of it.
    pub(super) fn cut(&mut self, offset: u64) {
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
            debug_assert!(0 < len && len < whole.len, "both parts hold something");
            self.segments.insert(index + 1, DataSegment { offset, len: whole.len - len, ..whole });
        }
    }

    /// Every path was tried with these. What is beside them in a segment keeps its paths: it is not
    /// queued again.
    pub(super) fn forget_paths_of(&mut self, range: &Range<u64>) {
        self.cut(range.start);
        self.cut(range.end);
        for segment in &mut self.segments {
            if segment.offset < range.end && segment.end() > range.start {
                segment.paths = PathSet::EMPTY;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::FRAGMENT_BYTES;

    const FAST: PathId = PathId(0);
    const SLOW: PathId = PathId(1);

    /// Regression: the rest of a segment was forgotten, too, and nobody repeated it when its path
    /// failed.
    #[test]
    fn paths_of_a_part_are_forgotten_without_those_of_the_rest() {
        let mut send = sent(3000, 1000);
        send.forget_paths_of(&(1000..1400));
        let of = |send: &SendQueue| -> Vec<(u64, u32, bool)> {
            let of =
                |segment: &DataSegment| (segment.offset, segment.len, segment.paths.is_empty());
            send.segments.iter().map(of).collect()
        };
        let expected =
            [(0, 1000, false), (1000, 400, true), (1400, 600, false), (2000, 1000, false)];
        assert_eq!(of(&send), expected);
    }

    /// A queue of which `bytes` were passed to `FAST`, in segments of `segment` bytes.
    fn sent(bytes: u32, segment: u32) -> SendQueue {
        let mut send = SendQueue::default();
        send.buffer.append(Payload::from(vec![7; bytes as usize]));
        while send.nxt < u64::from(bytes) {
            let end = u64::from(bytes).min(send.nxt + u64::from(segment));
            send.take_unsent(FAST, send.nxt..end, segment);
        }
        send
    }

    /// Probes of at most `size` bytes until there is nothing to probe with.
    fn probes(send: &mut SendQueue, size: u32) -> Vec<Range<u64>> {
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
        send.on_ack(9500, FAST);
        assert_eq!(send.cut_newest_without(SLOW, 1024), Some(9500..10_000));
    }

    /// Seen of Linux 6.18: with 106,212 bytes that were not acknowledged, of which none was
    /// outstanding, four whole fragments counted.
    ///
    /// Regression: the acknowledged part of a fragment was free at once, so that the application
    /// wrote another one, and both paths got more than those of the kernel.
    #[test]
    fn fragment_stays_whole_while_nothing_is_outstanding() {
        let fragment = u64::from(FRAGMENT_BYTES);
        let queue = |keeps: bool, sent: u64| {
            let mut queue = SendQueue::new(keeps);
            queue.allow(0, 1 << 20);
            queue.write(Payload::virtual_range(0, 0, 3 * FRAGMENT_BYTES));
            queue.take_unsent(FAST, 0..sent, 1400);
            queue
        };
        let all = 3 * (fragment + 40);
        // Whether fragments are kept, the path of the acknowledgement, and the memory after it and
        // after the other data that `FAST` gets.
        let cases = [
            (true, SLOW, all, all),
            (true, FAST, all, all - 10_000),
            (false, SLOW, all - 10_000, all - 10_000),
        ];
        for (keeps, by, acknowledged, sent) in cases {
            let mut queue = queue(keeps, 10_000);
            queue.on_ack(10_000, by);
            assert_eq!(queue.memory(), acknowledged, "{by:?}");
            queue.take_unsent(FAST, 10_000..20_000, 1400);
            assert_eq!(queue.memory(), sent, "{by:?}");
            queue.on_ack(15_000, by);
            assert_eq!(queue.memory(), all - 15_000, "{by:?}");
        }
        let mut queue = queue(true, fragment + 10);
        queue.on_ack(fragment + 10, SLOW);
        assert_eq!(queue.memory(), all - fragment - 40);
    }

    #[test]
    fn probe_of_all_that_is_unacknowledged_leaves_no_acknowledged_head() {
        let mut send = sent(10_000, 10_000);
        send.on_ack(9500, FAST);
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

    /// Regression: of a grant of 64 KiB of which another path took one segment, nothing more was
    /// copied, and nothing reinjected when its path failed.
    #[test]
    fn what_was_not_copied_of_a_segment_is_only_on_its_own_path() {
        let mut send = sent(65_000, 65_000);
        send.take_copy(SLOW, 20_000..21_420);
        send.take_copy(SLOW, 0..1_420);
        send.reinject_all_of(FAST, PathSet::EMPTY.with(SLOW));
        assert!(send.reinject.iter().eq([1_420..20_000, 21_420..65_000]));
    }

    /// Regression: what was reinjected and waited on its second path counted as data that no path
    /// had sent once the first one was gone, or every path had been tried.
    #[test]
    fn copy_stays_a_copy_when_the_path_that_had_it_is_forgotten() {
        for forgets_all in [false, true] {
            let mut send = sent(4000, 1000);
            send.take_copy(SLOW, 500..1500);
            match forgets_all {
                true => send.forget_paths_of(&(2000..4000)),
                false => send.forget_path(FAST),
            }
            send.take_copy(SLOW, 2000..4000);
            assert_eq!(send.bytes_on_only(SLOW, 0..4000), 0, "{forgets_all}");
        }
        let mut send = sent(4000, 1000);
        send.take_copy(SLOW, 500..1500);
        assert_eq!(send.bytes_on_only(FAST, 0..4000), 3000);
        send.on_ack(1000, FAST);
        assert_eq!(send.bytes_on_only(FAST, 0..4000), 2500);
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
