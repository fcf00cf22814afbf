//! Redundant: every path carries everything that is not yet acknowledged, at its own speed.
//!
//! Decision rule (kernel v0.95 `mptcp_redundant.c`, the newer of its two forms): paths take turns;
//! path `i` sends the segment after the last one it sent, or the first one not acknowledged if that
//! is further, so a slow path skips what others delivered. Backups never carry a second copy. The
//! reinject queue goes first, by LRF. Added here: a path does not repeat what it carried already as
//! a reinjection, and a backup in need goes straight to what was never sent (the kernel's rests
//! until the others' data are acknowledged).

use super::lrf::choose;
use super::path_view::PathView;
use super::view::{Offer, View};
use super::{AnyScheduler, Decision, Options, PathChange, Scheduler, SchedulerRow};
use base::decision::Explanation;
use base::{Blocked, PathId};

/// Its line in the table.
pub(super) const ROW: SchedulerRow = SchedulerRow {
    name: "redundant",
    about: "Every path carries everything not yet acknowledged, at its own speed.",
    source: "multipath-tcp kernel v0.95 `redundant`",
    parameters: &[],
    own_reinjection: None,
    make: |options, _| AnyScheduler::Redundant(Redundant::new(options)),
};

/// Redundant.
#[derive(Clone, Debug)]
pub struct Redundant {
    kernel_compat: bool,
    /// By path number: where the last segment scheduled on it ends.
    cursors: Vec<u64>,
    /// The path to try first.
    next: PathId,
}

impl Redundant {
    /// With the switch that concerns its reinjections: `kernel_compat`.
    pub const fn new(options: &Options) -> Self {
        Redundant { kernel_compat: options.kernel_compat, cursors: Vec::new(), next: PathId(0) }
    }

    fn cursor(&mut self, path: PathId) -> &mut u64 {
        if self.cursors.len() <= path.index() {
            self.cursors.resize(path.index() + 1, 0);
        }
        &mut self.cursors[path.index()]
    }

    /// The next segment for that path: a second copy if `reinject` is set.
    fn candidate(&mut self, view: &View<'_>, path: &PathView) -> Option<Offer> {
        let mut offset = (*self.cursor(path.id)).max(view.data.snd_una);
        while path.is_active() && offset < view.data.snd_nxt {
            let segment = view.data.segment_at(offset)?;
            if !segment.paths.contains(path.id) {
                let paths = segment.paths;
                return Some(Offer { reinject: true, offset, end: segment.end(), paths });
            }
            offset = segment.end();
            *self.cursor(path.id) = offset;
        }
        Some(view.unsent_offer()).filter(|offer| offer.offset < offer.end)
    }

    /// What `path` would do now.
    fn try_path(&mut self, view: &View<'_>, path: &PathView) -> Option<Decision> {
        if path.probing || path.is_window_full() {
            return None;
        }
        let offer = self.candidate(view, path)?;
        let may_use = path.is_active() || !view.has_active(&offer);
        if !may_use || !path.is_available(&offer) {
            return None;
        }
        if !offer.reinject && !view.fits_window(&offer, path) {
            return None;
        }
        *self.cursor(path.id) = offer.range_on(path).end;
        Some(if offer.reinject {
            Decision::copy(path.id, offer.range_on(path))
        } else {
            Decision::offer(path, &offer)
        })
    }

    /// No path can send: the reason for the next new segment, if there is one.
    fn why_blocked(view: &View<'_>) -> Blocked {
        match view.offered() {
            None => Blocked::NothingToSend,
            Some(offer) => match view.why_blocked(&offer) {
                Blocked::SchedulerWaits => Blocked::ReceiveWindow,
                why => why,
            },
        }
    }
}

impl Scheduler for Redundant {
    fn next(&mut self, view: &View<'_>) -> Decision {
        if let Some(offer) = view.offered().filter(|offer| offer.reinject) {
            let choice = choose(view, &offer, self.kernel_compat);
            return choice.decide(view, &offer);
        }
        let first = view.paths.partition_point(|path| path.id < self.next);
        let (before, from) = view.paths.split_at(first);
        for path in from.iter().chain(before) {
            if let Some(decision) = self.try_path(view, path) {
                self.next = PathId(path.id.0.saturating_add(1));
                return decision;
            }
        }
        Decision::wait(Redundant::why_blocked(view))
    }

    fn explain(&self, view: &View<'_>) -> Option<Explanation> {
        let best = self.clone().next(view).path();
        let rule = match view.offered() {
            Some(offer) if offer.reinject => "lowest srtt with room",
            _ => "its turn; every path carries everything",
        };
        Some(Explanation { best, rule, ..Explanation::default() })
    }

    fn on_path_changed(&mut self, path: PathId, change: PathChange) {
        if change != PathChange::State {
            *self.cursor(path) = 0;
        }
    }
}
