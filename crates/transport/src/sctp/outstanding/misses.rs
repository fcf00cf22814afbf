//! Which chunks three reports miss (RFC 9260 s7.2.4).
//!
//! A chunk that was sent once is missing by three reports if it is below the third highest TSN that
//! reports were about; of others misses are counted.

use super::{OnPath, Outstanding, State, UserData};
use crate::sctp::cmt::Misses;
use base::{Instant, PathId};
use std::hint::cold_path;
use std::ops::Range;
use wire::sctp::Tsn;

/// Reports of a chunk as missing after which it is retransmitted (RFC 9260 s7.2.4).
pub(super) const MISSES: usize = 3;

/// The highest ends of reports, descending.
#[derive(Clone, Debug, Default)]
pub(super) struct Reports {
    highest: [u64; MISSES],
}

impl Reports {
    /// Puts a report that ends at `end` into its place.
    pub(super) fn add(&mut self, end: u64) {
        let mut end = end;
        for highest in &mut self.highest {
            if end > *highest {
                std::mem::swap(&mut end, highest);
            }
        }
    }

    /// What is below this end is missing in three reports, if it was sent once.
    pub(super) const fn third(&self) -> u64 {
        self.highest[MISSES - 1]
    }
}

impl<T: UserData> Outstanding<T> {
    /// A report whose highest TSN that counts is `highest` says which chunks are missing: of all
    /// paths, or of `path` alone, if only what was sent there counts. Chunks that three reports
    /// miss are marked for retransmission (RFC 9260 s7.2.4); returns them, lowest first.
    pub fn count_misses(&mut self, path: Option<PathId>, highest: Tsn) -> Vec<Tsn> {
        let Some(below) = self.offset(highest) else { return Vec::new() };
        let settled = Instant::FAR_FUTURE;
        self.count_misses_of(path, &Misses { below, far_below: below, more: 0, settled })
    }

    /// The same for a report that may count more than once.
    // Each report is counted, and few miss anything: that is out of line.
    #[inline(always)]
    pub(in crate::sctp) fn count_misses_of(
        &mut self,
        path: Option<PathId>,
        misses: &Misses,
    ) -> Vec<Tsn> {
        let place = path.map_or(0, |path| path.index() + 1);
        if self.reports.len() <= place {
            self.reports.resize_with(place + 1, Reports::default);
        }
        let reports = &mut self.reports[place];
        let before = reports.third();
        reports.add(misses.below);
        (0..misses.more.min(MISSES as u32)).for_each(|_| reports.add(misses.far_below));
        let is_behind =
            |on_path: &OnPath| on_path.chunks.first().is_none_or(|first| first >= misses.below);
        // Chunks below the bound that was there before have been marked, or are counted.
        let third = before..reports.third();
        if self.of(path).iter().all(is_behind) {
            return Vec::new();
        }
        cold_path();
        self.mark_missing(path, misses, third)
    }

    /// What is in the network on `path`, or on each path.
    fn of(&self, path: Option<PathId>) -> &[OnPath] {
        match path {
            None => &self.paths,
            Some(path) => self.paths.get(path.index()..=path.index()).unwrap_or(&[]),
        }
    }

    /// Marks the chunks sent once in the range `third`, and those with three misses.
    #[inline(never)]
    fn mark_missing(
        &mut self,
        path: Option<PathId>,
        misses: &Misses,
        third: Range<u64>,
    ) -> Vec<Tsn> {
        let fresh = |at: &u64| {
            let chunk = self.chunk(*at).filter(|chunk| chunk.retransmissions == 0 && !chunk.fast);
            chunk.is_some() && !self.counted.contains_key(at)
        };
        let missed = |on_path: &OnPath| -> Vec<u64> {
            on_path.chunks.range(third.clone()).filter(fresh).collect()
        };
        let mut missing: Vec<u64> = self.of(path).iter().flat_map(missed).collect();
        missing.extend(self.count_again(path, misses));
        missing.sort_unstable();
        missing.iter().for_each(|at| self.mark(*at));
        missing.into_iter().map(|at| self.tsn(at)).collect()
    }

    /// Counts the misses of every chunk that is counted; returns those with three.
    fn count_again(&mut self, path: Option<PathId>, misses: &Misses) -> Vec<u64> {
        let mut missing = Vec::new();
        let (first, chunks) = (self.first, &self.chunks);
        let is_there = |at: u64| {
            let chunk = at.checked_sub(first).and_then(|index| chunks.get(index as usize));
            chunk.filter(|chunk| path.is_none_or(|path| path == chunk.path))
        };
        for (at, count) in self.counted.range_mut(..misses.below) {
            if let Some(chunk) = is_there(*at) {
                let more = if *at < misses.far_below { misses.more as usize } else { 0 };
                *count += 1 + more;
                let is_settled = !chunk.moved || chunk.sent_at < misses.settled;
                missing.extend((*count >= MISSES && is_settled).then_some(*at));
            }
        }
        missing
    }

    /// Chunk `at`, which is in the network, is marked because of misses.
    fn mark(&mut self, at: u64) {
        let Some(chunk) = self.chunk_mut(at) else { return };
        (chunk.state, chunk.fast, chunk.timed_out) = (State::Marked, true, false);
        let (path, len) = (chunk.path, chunk.len);
        self.leave(at, path, len);
        self.counted.remove(&at);
        self.enter_marked(at);
    }
}
