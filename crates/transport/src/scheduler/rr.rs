//! Round robin and weighted round robin.
//!
//! Decision rule (000 s2.3.2, kernel v0.95 `mptcp_rr.c`): path `i` sends `weight_i * num_segments`
//! segments, then it is the next path's turn; a round ends when every path that can send has used
//! its quota. With `cwnd_limited` a full path is passed over, without it the turn waits for it.
//! Weights, the order by number and the rest of backups are our additions. With an unlimited
//! `num_segments` it is CMT-SCTP's rule: the turn stays while there is room.

use super::path_view::PathView;
use super::view::{Offer, PathSet, View};
use super::{Action, AnyScheduler, Decision, Options, PathChange, Scheduler, SchedulerRow};
use base::decision::{Explanation, Score, Unit};
use base::{Blocked, PathId};

/// The parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turns {
    /// Segments a turn for a path of weight 1.
    pub num_segments: u32,
    /// Pass over a path whose window is full.
    pub cwnd_limited: bool,
    /// By interface; 1 beyond its end, and for 0.
    pub weights: Vec<u32>,
}

impl Default for Turns {
    fn default() -> Self {
        Turns { num_segments: 1, cwnd_limited: true, weights: Vec::new() }
    }
}

impl Turns {
    /// Segments a turn of that path.
    fn quota(&self, path: &PathView) -> u32 {
        let weight = self.weights.get(path.interface.index()).copied().unwrap_or(1).max(1);
        weight.saturating_mul(self.num_segments.max(1))
    }
}

/// Its line in the table.
pub(super) const ROW: SchedulerRow = SchedulerRow {
    name: "rr",
    about: "Round robin: one segment per path in turn.",
    source: "000 s2.3.2, kernel v0.95 `roundrobin`",
    parameters: &[],
    own_reinjection: None,
    make: |options, _| AnyScheduler::Rr(RoundRobin::weighted(options, &[])),
};

/// The line of the form with weights.
pub(super) const WEIGHTED: SchedulerRow = SchedulerRow {
    name: "wrr",
    about: "Weighted round robin: as many segments per turn as the path's weight, as in `wrr:3,1`.",
    source: "000 s2.3.2",
    parameters: &[],
    own_reinjection: None,
    make: |options, asked| {
        let weights = asked.weights.as_ref().unwrap_or(&options.turns.weights);
        AnyScheduler::Rr(RoundRobin::weighted(options, weights))
    },
};

/// Round robin.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    turns: Turns,
    /// Segments sent in this round, by path number.
    used: Vec<u32>,
    last: Option<PathId>,
}

impl RoundRobin {
    /// The first round begins with the lowest path.
    pub const fn new(turns: Turns) -> Self {
        RoundRobin { turns, used: Vec::new(), last: None }
    }

    /// With these weights, by interface, and the other turns of `options`.
    fn weighted(options: &Options, weights: &[u32]) -> Self {
        RoundRobin::new(Turns { weights: weights.to_vec(), ..options.turns.clone() })
    }

    fn used(&self, path: PathId) -> u32 {
        self.used.get(path.index()).copied().unwrap_or(0)
    }

    fn set_used(&mut self, path: PathId, segs: u32) {
        if self.used.len() <= path.index() {
            self.used.resize(path.index() + 1, 0);
        }
        self.used[path.index()] = segs;
    }

    /// Whose turn it is among the paths `considered`.
    fn turn<'a>(&mut self, view: &View<'a>, considered: PathSet) -> Option<&'a PathView> {
        let in_order = self.in_order(view).filter(move |path| considered.contains(path.id));
        let begun = |path: &&PathView| (1..self.turns.quota(path)).contains(&self.used(path.id));
        if let Some(path) = in_order.clone().find(begun) {
            return Some(path);
        }
        // A new turn belongs to the path after the last one, which therefore comes at the end.
        let last = self.last;
        let mut cyclic =
            in_order.clone().filter(move |path| Some(path.id) != last).chain(in_order.clone());
        if let Some(path) = cyclic.clone().find(|path| self.used(path.id) == 0) {
            return Some(path);
        }
        in_order.for_each(|path| self.set_used(path.id, 0));
        cyclic.next()
    }

    /// The paths from the last one chosen on, in a circle.
    fn in_order<'a>(
        &self,
        view: &View<'a>,
    ) -> impl Iterator<Item = &'a PathView> + Clone + use<'a> {
        let first = self.last.map_or(0, |last| view.paths.partition_point(|path| path.id < last));
        let (before, from) = view.paths.split_at(first);
        from.iter().chain(before)
    }

    fn send_new(&mut self, view: &View<'_>, offer: &Offer) -> Decision {
        let has_active = view.has_active(offer);
        let cwnd_limited = self.turns.cwnd_limited;
        let considered = view
            .paths
            .iter()
            .filter(|path| !path.is_definitely_unavailable(offer))
            .filter(|path| path.held_by(offer).is_none())
            .filter(|path| !(cwnd_limited && path.is_window_full()))
            .filter(|path| path.is_active() || !has_active)
            .fold(PathSet::EMPTY, |set, path| set.with(path.id));
        match self.turn(view, considered) {
            None => Decision::wait(view.why_blocked(offer)),
            Some(path) if !view.fits_window(offer, path) => Decision::wait(Blocked::ReceiveWindow),
            Some(path) if path.is_window_full() => Decision::wait(Blocked::SchedulerWaits),
            Some(path) => {
                self.set_used(path.id, self.used(path.id).saturating_add(1));
                self.last = Some(path.id);
                Decision::offer(path, offer)
            }
        }
    }
}

impl Scheduler for RoundRobin {
    fn next(&mut self, view: &View<'_>) -> Decision {
        match view.offered() {
            None => Decision::wait(Blocked::NothingToSend),
            Some(offer) if offer.reinject => reinject(view, &offer),
            Some(offer) => self.send_new(view, &offer),
        }
    }

    fn makes_copies(&self) -> bool {
        false
    }

    fn explain(&self, view: &View<'_>) -> Option<Explanation> {
        let best = self.clone().next(view).path();
        let is_new = view.offered().is_some_and(|offer| !offer.reinject);
        let rule = if is_new { "its turn" } else { "the first with room" };
        let used = |path: &PathView| Score {
            path: path.id,
            name: "used of its turn",
            value: f64::from(self.used(path.id)),
            unit: Unit::Segments,
        };
        let scores = view.paths.iter().map(used).collect();
        Some(Explanation { best, rule, scores, ..Explanation::default() })
    }

    fn on_path_changed(&mut self, path: PathId, change: PathChange) {
        if change != PathChange::State {
            self.set_used(path, 0);
        }
    }
}

/// Any path that the segment was not on yet, otherwise any.
fn reinject(view: &View<'_>, offer: &Offer) -> Decision {
    let has_active = view.has_active(offer);
    let mut available = view
        .paths
        .iter()
        .filter(|path| path.is_available(offer) && (path.is_active() || !has_active));
    let Some(first) = available.clone().next() else {
        return Decision::wait(view.why_blocked(offer));
    };
    match available.find(|path| !offer.paths.contains(path.id)) {
        Some(path) => Decision::offer(path, offer),
        None => {
            Decision::offer(first, offer).with(Action::ForgetPaths { range: offer.range_on(first) })
        }
    }
}
