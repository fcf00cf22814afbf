//! `Marks`: what a report says of each path: new arrivals (SFR, DAC) and pseudo-cumulative
//! acknowledgements (CUC).
//!
//! A chunk belongs to the path of its last transmission. A report costs O(log n) per chunk that it
//! acknowledges and per path, whatever is outstanding. Windows, timers and retransmissions are left
//! to the sender.

use super::config::{Algorithms, CucRule};
use crate::sctp::offset_set::OffsetSet;
use base::{Instant, PathId};

/// The marks of all paths.
#[derive(Clone, Debug)]
pub(in crate::sctp) struct Marks {
    algorithms: Algorithms,
    paths: Vec<PathMarks>,
}

/// One path. Offsets are those of TSNs from the initial one.
#[derive(Clone, Debug)]
struct PathMarks {
    /// Chunks sent once.
    fresh: Pseudo,
    /// Chunks sent again.
    again: Pseudo,
    arrivals: Option<Arrivals>,
}

/// A pseudo-cumulative acknowledgement: the lowest chunk of a kind that is missing.
#[derive(Clone, Debug)]
struct Pseudo {
    /// Chunks of the kind that are not acknowledged.
    unacked: OffsetSet,
    /// `at` is to be found.
    find: bool,
    at: Option<u64>,
    /// This report acknowledged it.
    advanced: bool,
    /// The chunk whose acknowledgement did that.
    last: Option<u64>,
}

/// Chunks of a path that a report acknowledges for the first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Arrivals {
    lowest: u64,
    highest: u64,
}

/// What a report says of the missing chunks of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sctp) struct Misses {
    /// Chunks below this one are missing once.
    pub below: u64,
    /// Chunks below this one are missing `more` times in addition.
    pub far_below: u64,
    pub more: u32,
    /// Chunks that were moved are lost only if they were sent before.
    pub settled: Instant,
}

/// How far the pseudo-cumulative acknowledgement of a path came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::sctp) struct Advance {
    /// The window may grow.
    pub grows: bool,
    /// Every chunk of the path below this one is acknowledged, if that is new.
    pub up_to: Option<u64>,
}

impl Pseudo {
    fn new() -> Pseudo {
        Pseudo { unacked: OffsetSet::default(), find: true, at: None, advanced: false, last: None }
    }

    fn begin(&mut self) {
        (self.advanced, self.last) = (false, None);
    }

    /// Finds the lowest chunk that is missing, if it is not above `bound`.
    // Six times a packet this is asked, and once there is something to find.
    #[inline(always)]
    fn look(&mut self, bound: u64) {
        if self.find && !self.unacked.is_empty() {
            self.look_among(bound);
        }
    }

    #[inline(never)]
    fn look_among(&mut self, bound: u64) {
        let from = self.last.map_or(0, |last| last + 1);
        if let Some(found) = self.unacked.first_from(from).filter(|found| *found <= bound) {
            (self.at, self.find) = (Some(found), false);
        }
    }

    /// A chunk of this kind or another one of the path is acknowledged behind a gap.
    fn acknowledge(&mut self, at: u64) {
        self.look(at);
        if self.at == Some(at) {
            (self.advanced, self.find, self.last) = (true, true, Some(at));
        }
        self.unacked.remove(at);
    }

    /// A chunk of the path is acknowledged cumulatively.
    fn advance(&mut self, at: u64) {
        self.unacked.remove(at);
        (self.advanced, self.find) = (true, true);
    }
}

impl Marks {
    /// No path yet.
    pub(in crate::sctp) const fn new(algorithms: Algorithms) -> Marks {
        Marks { algorithms, paths: Vec::new() }
    }

    fn path(&mut self, path: PathId) -> &mut PathMarks {
        while self.paths.len() <= path.index() {
            let (fresh, again) = (Pseudo::new(), Pseudo::new());
            self.paths.push(PathMarks { fresh, again, arrivals: None });
        }
        &mut self.paths[path.index()]
    }

    /// A chunk is sent for the first time.
    pub(in crate::sctp) fn on_sent(&mut self, at: u64, path: PathId) {
        self.path(path).fresh.unacked.insert(at);
    }

    /// A chunk whose last path was `before` is sent again.
    pub(in crate::sctp) fn on_sent_again(&mut self, at: u64, before: PathId, path: PathId) {
        self.forget(at, before);
        if before != path {
            for path in [before, path] {
                let marks = self.path(path);
                (marks.fresh.find, marks.again.find) = (true, true);
            }
        }
        let only_fresh = self.algorithms.cuc != CucRule::V2;
        let marks = self.path(path);
        let kind = if only_fresh { &mut marks.fresh } else { &mut marks.again };
        kind.unacked.insert(at);
    }

    /// A chunk is not asked for any more.
    pub(in crate::sctp) fn forget(&mut self, at: u64, path: PathId) {
        let marks = self.path(path);
        if !marks.fresh.unacked.remove(at) {
            marks.again.unacked.remove(at);
        }
    }

    /// An acknowledgement of a chunk was taken back.
    pub(in crate::sctp) fn on_reneged(&mut self, at: u64, path: PathId) {
        self.path(path).again.unacked.insert(at);
    }

    /// A report acknowledges these chunks, ascending, each with its path and whether it is a sign
    /// for others of its path; `next`: the first one that is not acknowledged cumulatively;
    /// `highest`: the highest one that is reported.
    pub(in crate::sctp) fn on_report(
        &mut self,
        newly: impl Iterator<Item = (u64, PathId, bool)>,
        (next, highest): (u64, u64),
    ) {
        for marks in &mut self.paths {
            marks.fresh.begin();
            marks.again.begin();
            marks.arrivals = None;
        }
        for (at, path, is_sign) in newly {
            let marks = self.path(path);
            if is_sign {
                let arrivals = marks.arrivals.get_or_insert(Arrivals { lowest: at, highest: at });
                arrivals.lowest = arrivals.lowest.min(at);
                arrivals.highest = arrivals.highest.max(at);
            }
            if at < next {
                marks.fresh.advance(at);
                marks.again.advance(at);
            } else {
                marks.fresh.acknowledge(at);
                marks.again.acknowledge(at);
            }
        }
        for marks in &mut self.paths {
            marks.fresh.look(highest);
            marks.again.look(highest);
        }
    }

    /// What the last report says of the missing chunks of a path, if anything; `count`: packets
    /// that it is for (DAC). Moved chunks count as others do.
    pub(in crate::sctp) fn misses(&self, path: PathId, count: u8) -> Option<Misses> {
        let arrivals = self.paths.get(path.index())?.arrivals?;
        let is_only = self.paths.iter().filter(|path| path.arrivals.is_some()).count() == 1;
        let more = match self.algorithms.dac && is_only {
            true => u32::from(count.max(1)) - 1,
            false => 0,
        };
        let settled = Instant::FAR_FUTURE;
        Some(Misses { below: arrivals.highest, far_below: arrivals.lowest, more, settled })
    }

    /// The highest chunk of any path that the last report acknowledges for the first time.
    pub(in crate::sctp) fn highest_arrival(&self) -> Option<u64> {
        self.paths.iter().filter_map(|path| path.arrivals).map(|arrivals| arrivals.highest).max()
    }

    /// Whether the window of a path may grow by the last report; `advanced`: the cumulative TSN
    /// advanced over a chunk of the path.
    pub(in crate::sctp) fn advance(&self, path: PathId, advanced: bool) -> Advance {
        let Some(marks) = self.paths.get(path.index()) else { return Advance::default() };
        let grows = match self.algorithms.cuc {
            CucRule::Normal => advanced,
            CucRule::V1 => marks.fresh.advanced,
            CucRule::V2 => marks.fresh.advanced || marks.again.advanced,
        };
        let of = |pseudo: &Pseudo| pseudo.at.filter(|_| pseudo.advanced);
        Advance { grows, up_to: of(&marks.fresh).max(of(&marks.again)) }
    }
}

#[cfg(test)]
mod tests;
