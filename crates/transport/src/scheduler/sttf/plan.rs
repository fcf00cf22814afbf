//! Which unsent data are meant for which path, and how many segments each path would get.
//!
//! `Tags` are the marks: ranges by path, nothing of the data moves. `Merge` gives segment after
//! segment to the path where it arrives first (002 sIV-B Algorithm 2): as
//! times of arrival never fall along a path, that is the merge of the paths' rounds by (time,
//! number of the path), so it costs a step a round and not a step a segment.

use super::transfer::{Round, Window};
use base::{Duration, PathId};
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

/// Marks on unsent data in the order of the data.
#[derive(Clone, Debug, Default)]
pub(super) struct Tags {
    /// By path number.
    paths: Vec<Queue>,
    /// Everything unsent below is tagged.
    end: u64,
}

/// What is meant for one path.
#[derive(Clone, Debug, Default)]
struct Queue {
    runs: VecDeque<Range<u64>>,
    bytes: u64,
}

impl Tags {
    /// The offset at which tagging continues.
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// Everything up to there is tagged or sent.
    pub(super) fn reach(&mut self, end: u64) {
        self.end = self.end.max(end);
    }

    /// Bytes meant for `path`.
    pub(super) fn bytes_of(&self, path: PathId) -> u64 {
        self.paths.get(path.index()).map_or(0, |queue| queue.bytes)
    }

    /// The first run meant for `path`.
    pub(super) fn first_of(&self, path: PathId) -> Option<&Range<u64>> {
        self.paths.get(path.index())?.runs.front()
    }

    /// The first byte that is tagged.
    pub(super) fn begin(&self) -> Option<u64> {
        self.paths.iter().filter_map(|queue| queue.runs.front()).map(|run| run.start).min()
    }

    /// Whether nothing is tagged.
    pub(super) fn is_empty(&self) -> bool {
        self.paths.iter().all(|queue| queue.bytes == 0)
    }

    /// Paths with tags.
    pub(super) fn paths(&self) -> impl Iterator<Item = PathId> + '_ {
        let tagged = self.paths.iter().enumerate().filter(|(_, queue)| queue.bytes > 0);
        // Numbers of paths are below 64.
        tagged.map(|(index, _)| PathId(index as u8))
    }

    /// `run`, behind all others, is meant for `path`.
    pub(super) fn push(&mut self, path: PathId, run: Range<u64>) {
        debug_assert!(run.start >= self.end && !run.is_empty());
        self.end = run.end;
        if self.paths.len() <= path.index() {
            self.paths.resize_with(path.index() + 1, Queue::default);
        }
        let queue = &mut self.paths[path.index()];
        queue.bytes += run.end - run.start;
        match queue.runs.back_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => queue.runs.push_back(run),
        }
    }

    /// The first bytes meant for `path` are sent.
    pub(super) fn pop(&mut self, path: PathId, bytes: u64) {
        let Some(queue) = self.paths.get_mut(path.index()) else { return };
        let Some(first) = queue.runs.front_mut() else { return };
        debug_assert!(bytes <= first.end - first.start);
        queue.bytes -= bytes;
        first.start += bytes;
        if first.is_empty() {
            queue.runs.pop_front();
        }
    }

    /// Take all tags back.
    pub(super) fn clear(&mut self) {
        self.end = 0;
        for queue in &mut self.paths {
            queue.runs.clear();
            queue.bytes = 0;
        }
    }
}

/// A path that segments can be given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub id: PathId,
    /// Bytes of a segment.
    pub mss: u64,
    pub window: Window,
    /// What its subflow's window still takes, in bytes.
    pub window_left: u64,
}

impl Candidate {
    /// Segments arrive on it when they arrive on `other`.
    pub(super) fn is_like(&self, other: &Candidate) -> bool {
        (self.id, self.mss, self.window) == (other.id, other.mss, other.window)
    }
}

/// A path while segments are given out.
#[derive(Clone, Copy, Debug)]
struct Lane {
    candidate: Candidate,
    round: Round,
    /// Segments it was given.
    given: u64,
}

/// Segments given to the paths where they arrive first. Kept for its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Merge {
    lanes: Vec<Lane>,
    /// Arrival of the next segment on a lane, and which.
    next: BinaryHeap<Reverse<(Duration, usize)>>,
}

impl Merge {
    /// Removes all paths.
    pub(super) fn clear(&mut self) {
        self.lanes.clear();
        self.next.clear();
    }

    /// Adds a path, with a higher number than those before. `waiting`: bytes that wait on it.
    pub(super) fn add(&mut self, mut candidate: Candidate, waiting: u64) {
        let round = candidate.window.round_of(waiting.div_ceil(candidate.mss) + 1);
        candidate.window_left = candidate.window_left.saturating_sub(waiting);
        self.next.push(Reverse((round.arrival, self.lanes.len())));
        self.lanes.push(Lane { candidate, round, given: 0 });
    }

    /// Gives out the beginning of `data` bytes. Returns the path and the number of bytes. `is_cut`:
    /// more data follow than may be given out, so that a segment must be a whole one. `None`: no
    /// path takes more.
    pub(super) fn take(&mut self, data: u64, is_cut: bool) -> Option<(PathId, u64)> {
        while let Some(mut next) = self.next.peek_mut() {
            let Reverse((_, index)) = *next;
            let lane = &mut self.lanes[index];
            let bytes = lane.fitting(data, is_cut);
            if bytes == 0 {
                PeekMut::pop(next);
                continue;
            }
            lane.give(bytes);
            *next = Reverse((lane.round.arrival, index));
            return Some((lane.candidate.id, bytes));
        }
        None
    }

    /// How many segments each path was given.
    pub(super) fn given(&self) -> impl Iterator<Item = (&Candidate, u64)> {
        self.lanes.iter().map(|lane| (&lane.candidate, lane.given))
    }
}

impl Lane {
    /// How much of the beginning of `data` arrives in its present round.
    fn fitting(&self, data: u64, is_cut: bool) -> u64 {
        let mss = self.candidate.mss;
        let available = if is_cut { data / mss } else { data.div_ceil(mss) };
        let bytes = (available.min(self.round.left) * mss).min(data);
        let most = self.candidate.window_left;
        if bytes <= most { bytes } else { most / mss * mss }
    }

    fn give(&mut self, bytes: u64) {
        let segments = bytes.div_ceil(self.candidate.mss);
        self.given += segments;
        self.candidate.window_left -= bytes;
        self.round.left -= segments;
        if self.round.left == 0 {
            self.round = self.candidate.window.after(self.round);
        }
    }
}
