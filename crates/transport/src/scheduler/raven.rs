//! RAVEN: redundancy only while it is uncertain which path is the fastest.
//!
//! Decision rule (RAVEN, MobiCom 2018): each path's RTT has an interval `srtt_i +- width * dev_i`.
//! New data go on the path with the lowest RTT that has room. Paths whose interval overlaps that of
//! the fastest path are rivals: what one of them gets, the others carry, too, as far as they have
//! room at that moment; no other path carries copies.
//!
//! Only the principle is certain from the source. Added here: the interval is made of the mean
//! deviation of the samples seen at acknowledgements, as RFC 6298 averages it (weight 1/4 for a new
//! sample; half the first sample at the start), and not of the kernel's, which never falls below 50
//! ms; `width` is assumed; a copy that finds no room is not made later; copies are not called back
//! when the first one arrives. On a saturated connection all rivals therefore carry the same data,
//! and it is as fast as the fastest of them: the scheduler is meant for small data with a deadline.

use super::lrf::{choose, fastest};
use super::path_view::PathView;
use super::view::{Offer, PathSet, View};
use super::{AnyScheduler, Decision, Options, PathChange, Scheduler, SchedulerRow, Step, What};
use crate::parameters::{Kind, Parameter, Settings};
use base::decision::Explanation;
use base::{Blocked, Duration, PathId};
use std::ops::Range;

/// The parameters.
const PARAMETERS: &[Parameter] = &[Parameter {
    key: "width",
    about: "half-width of the RTT interval in mean deviations; 0: copies on ties only",
    least: 0.0,
    most: 100.0,
    default: 2.0,
    kind: Kind::Real,
    source: "anabranch, assumed",
}];

/// Its line in the table.
pub(super) const ROW: SchedulerRow = SchedulerRow {
    name: "raven",
    about: "Lowest RTT first, and copies on paths that may be as fast.",
    source: "RAVEN, MobiCom 2018",
    parameters: PARAMETERS,
    own_reinjection: None,
    make: |options, asked| AnyScheduler::Raven(Raven::new(options, &asked.settings)),
};

/// Redundancy while the fastest path is uncertain.
#[derive(Clone, Debug)]
pub struct Raven {
    width: f64,
    kernel_compat: bool,
    /// By path number: mean deviation of its samples, once there is one.
    deviations: Vec<Option<Duration>>,
    /// The new data of the last decision: their offset, and the other paths that are to carry them.
    decided: Option<(u64, PathSet)>,
    /// What is to be copied now.
    copies: Option<(Range<u64>, PathSet)>,
}

impl Raven {
    /// With the switch that concerns it, `kernel_compat`, and its parameter.
    pub fn new(options: &Options, settings: &Settings) -> Self {
        Raven {
            width: settings.number("width"),
            kernel_compat: options.kernel_compat,
            deviations: Vec::new(),
            decided: None,
            copies: None,
        }
    }

    fn deviation(&mut self, path: PathId) -> &mut Option<Duration> {
        if self.deviations.len() <= path.index() {
            self.deviations.resize(path.index() + 1, None);
        }
        &mut self.deviations[path.index()]
    }

    /// Half the width of the interval of a path's RTT, in seconds.
    fn half_width(&self, path: &PathView) -> f64 {
        let known = self.deviations.get(path.id.index()).copied().flatten();
        self.width * known.unwrap_or(path.rtt.srtt / 2).as_secs_f64()
    }

    /// The paths of which any may be the fastest; empty if one certainly is.
    fn rivals(&self, view: &View<'_>, offer: &Offer) -> PathSet {
        let Some(best) = fastest(view, offer, self.kernel_compat) else { return PathSet::EMPTY };
        let up_to = best.rtt.srtt.as_secs_f64() + self.half_width(best);
        let rivals = view.paths.iter().filter(|path| {
            let usable = !path.is_definitely_unavailable(offer) && path.backup == best.backup;
            let known = !path.rtt.srtt.is_zero();
            usable && known && path.rtt.srtt.as_secs_f64() - self.half_width(path) <= up_to
        });
        rivals.fold(PathSet::EMPTY, |set, path| set.with(path.id))
    }

    /// The next copy of the data dispatched last.
    fn copy(&mut self, view: &View<'_>) -> Option<Decision> {
        if let Some((start, rivals)) = self.decided.take()
            && start < view.data.snd_nxt
        {
            self.copies = Some((start..view.data.snd_nxt, rivals));
        }
        let (range, left) = self.copies.take()?;
        let offset = range.start.max(view.data.snd_una);
        let segment = view.data.segment_at(offset)?;
        let (end, paths) = (segment.end().min(range.end), segment.paths);
        let offer = Offer { reinject: true, offset, end, paths };
        let may = |path: &&PathView| {
            left.contains(path.id) && !paths.contains(path.id) && path.is_available(&offer)
        };
        let path = view.paths.iter().find(may)?;
        self.copies = Some((range, left.without(path.id)));
        Some(Decision::copy(path.id, offer.range_on(path)))
    }
}

impl Scheduler for Raven {
    fn next(&mut self, view: &View<'_>) -> Decision {
        if let Some(copy) = self.copy(view) {
            return copy;
        }
        let Some(offer) = view.offered() else {
            let full = view.data.sndbuf_limited;
            return Decision::wait(if full { Blocked::SendBuffer } else { Blocked::NothingToSend });
        };
        let choice = choose(view, &offer, self.kernel_compat);
        if let Some(path) = choice.path.filter(|_| !offer.reinject) {
            if !view.fits_window(&offer, path) {
                return Decision::wait(Blocked::ReceiveWindow);
            }
            let rivals = self.rivals(view, &offer);
            if rivals.contains(path.id) {
                self.decided = Some((view.data.snd_nxt, rivals.without(path.id)));
            }
        }
        choice.decide(view, &offer)
    }

    fn explain(&self, view: &View<'_>) -> Option<Explanation> {
        let decision = self.clone().next(view);
        let rule = match decision.step {
            Step::Send { what: What::Copy(_), .. } => "a copy: the paths' RTTs may be alike",
            _ => "lowest srtt with room",
        };
        Some(Explanation { best: decision.path(), rule, ..Explanation::default() })
    }

    fn heeds_acks(&self) -> bool {
        true
    }

    fn on_ack(&mut self, view: &View<'_>, path: PathId) {
        let Some(path) = view.path(path).filter(|path| !path.rtt.srtt.is_zero()) else { return };
        let error = path.rtt.srtt.abs_diff(path.rtt.last);
        let deviation = self.deviation(path.id);
        *deviation = Some((deviation.unwrap_or(path.rtt.srtt / 2) * 3 + error) / 4);
    }

    fn on_path_changed(&mut self, path: PathId, change: PathChange) {
        if change != PathChange::State {
            *self.deviation(path) = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::support::{Model, path};
    use super::super::{AnyScheduler, by_name};
    use super::*;

    fn raven(text: &str) -> AnyScheduler {
        by_name(text, &Options::default()).expect("a name of the table")
    }

    /// Acknowledgements with samples off the mean by these errors, until the deviation is that.
    fn settle(raven: &mut AnyScheduler, model: &mut Model, errors_ms: &[u64]) {
        for (index, error) in errors_ms.iter().enumerate() {
            let path = &mut model.paths[index];
            path.rtt.last = path.rtt.srtt + Duration::from_millis(*error);
            let id = path.id;
            for _ in 0..60 {
                raven.on_ack(&model.view(), id);
            }
        }
    }

    #[test]
    fn paths_whose_intervals_meet_carry_the_same() {
        for (errors, copied) in [([5, 5], true), ([4, 5], true), ([4, 4], false), ([0, 0], false)] {
            let mut scheduler = raven("raven");
            let mut model = Model::new(vec![path(0, 20, 10, 0), path(1, 38, 10, 0)], 3);
            settle(&mut scheduler, &mut model, &errors);
            model.push(&mut scheduler);
            let expected: &[u8] = if copied { &[0, 1, 0, 1, 0, 1] } else { &[0, 0, 0] };
            assert_eq!(model.sent, expected, "deviations of {errors:?} ms");
        }
    }

    #[test]
    fn path_that_is_certainly_slower_is_used_without_copies_when_the_fast_one_is_full() {
        let mut scheduler = raven("raven");
        let mut model = Model::new(vec![path(0, 10, 2, 0), path(1, 100, 10, 0)], 5);
        settle(&mut scheduler, &mut model, &[1, 1]);
        model.push(&mut scheduler);
        assert_eq!(model.sent, [0, 0, 1, 1, 1]);
    }

    #[test]
    fn first_samples_leave_everything_in_doubt() {
        let mut scheduler = raven("raven");
        let mut model = Model::new(vec![path(0, 10, 10, 0), path(1, 100, 10, 0)], 1);
        model.push(&mut scheduler);
        assert_eq!(model.sent, [0, 1], "100 - 2 * 50 is below 10 + 2 * 5");
        let mut narrow = raven("raven:width=1");
        let mut model = Model::new(vec![path(0, 10, 10, 0), path(1, 100, 10, 0)], 1);
        model.push(&mut narrow);
        assert_eq!(model.sent, [0]);
    }

    #[test]
    fn copy_that_finds_no_room_is_not_made_later() {
        let mut scheduler = raven("raven");
        let mut model = Model::new(vec![path(0, 20, 10, 0), path(1, 20, 1, 0)], 3);
        model.push(&mut scheduler);
        assert_eq!(model.sent, [0, 1, 0, 0]);
        model.paths[1].window.cwnd_segs = 10;
        model.push(&mut scheduler);
        assert_eq!(model.sent.len(), 4);
    }

    #[test]
    fn three_rivals_all_carry_it_and_backups_do_not() {
        let mut scheduler = raven("raven");
        let mut backup = path(3, 20, 10, 0);
        backup.backup = true;
        let paths = vec![path(0, 20, 10, 0), path(1, 21, 10, 0), path(2, 22, 10, 0), backup];
        let mut model = Model::new(paths, 1);
        model.push(&mut scheduler);
        assert_eq!(model.sent, [0, 1, 2]);
    }
}
