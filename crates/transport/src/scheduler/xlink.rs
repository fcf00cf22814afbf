//! XLINK's deadline reinjection: the lowest RTT first, and a copy of what is under way too long.
//!
//! Decision rule (XLINK, SIGCOMM 2021, as in XQUIC's `deadline` controller): a segment not
//! acknowledged and never copied goes on another path, before new data, once its age is at least
//! `max(min(factor * min_srtt, hard_deadline), lower_bound)`. New data and reinjections follow
//! LRF, without opportunistic retransmission.
//!
//! What differs from QUIC: MPTCP acknowledges the connection's data cumulatively, so what waits
//! behind a gap looks as if it were under way. A segment whose subflow acknowledged it is left
//! alone: subflows acknowledge in order, so the bytes a path has outstanding tell which. Copies go
//! oldest first: one that finds no room delays younger ones. Left out: the player's feedback, which
//! switches reinjection on and off (it needs information from the application), and the copies of
//! everything on paths that XQUIC's user rated low.

use super::lrf::choose;
use super::path_view::PathView;
use super::view::{Offer, View};
use super::{AnyScheduler, Decision, Options, PathChange, Scheduler, SchedulerRow, Step, What};
use crate::parameters::{Kind, Parameter, Settings};
use base::decision::Explanation;
use base::{Blocked, Duration, Instant, PathId};
use std::collections::VecDeque;
use std::ops::Range;

/// The parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "factor",
        about: "the deadline in multiples of the smallest SRTT",
        least: 0.0,
        most: 100.0,
        default: 1.1,
        kind: Kind::Real,
        source: "XQUIC",
    },
    time("hard-deadline", "largest deadline", 500.0),
    time("lower-bound", "smallest deadline", 20.0),
];

const fn time(key: &'static str, about: &'static str, default: f64) -> Parameter {
    let (kind, source) = (Kind::Time, "XQUIC");
    Parameter { key, about, least: 0.0, most: 60_000.0, default, kind, source }
}

/// Its line in the table.
pub(super) const ROW: SchedulerRow = SchedulerRow {
    name: "xlink",
    about: "Lowest RTT first, and a copy on another path of data in flight beyond a deadline.",
    source: "XLINK, SIGCOMM 2021, XQUIC `deadline`",
    parameters: PARAMETERS,
    own_reinjection: None,
    make: |options, asked| AnyScheduler::Xlink(Xlink::new(options, &asked.settings)),
};

/// Lowest RTT first with deadlines.
#[derive(Clone, Debug)]
pub struct Xlink {
    factor: f64,
    hard_deadline: Duration,
    lower_bound: Duration,
    kernel_compat: bool,
    /// What may still be copied, oldest first.
    sent: VecDeque<Sent>,
    /// By path number: bytes passed to it, copies included.
    handed: Vec<u64>,
    /// The decision that is being carried out: where new data began, when, on which path.
    decided: Option<(u64, Instant, PathId)>,
    /// When the oldest is due.
    due: Option<Instant>,
}

/// New data passed to a path.
#[derive(Clone, Debug)]
struct Sent {
    range: Range<u64>,
    at: Instant,
    path: PathId,
    /// Everything that the path had by then, in bytes.
    position: u64,
}

impl Xlink {
    /// With the switch that concerns it, `kernel_compat`, and its parameters.
    pub fn new(options: &Options, settings: &Settings) -> Self {
        Xlink {
            factor: settings.number("factor"),
            hard_deadline: settings.time("hard-deadline"),
            lower_bound: settings.time("lower-bound"),
            kernel_compat: options.kernel_compat,
            sent: VecDeque::new(),
            handed: Vec::new(),
            decided: None,
            due: None,
        }
    }

    fn handed(&mut self, path: PathId) -> &mut u64 {
        if self.handed.len() <= path.index() {
            self.handed.resize(path.index() + 1, 0);
        }
        &mut self.handed[path.index()]
    }

    /// Counts the bytes of the decision for its path: copies occupy the path's subflow, too.
    fn counted(&mut self, decision: Decision) -> Decision {
        if let Step::Send { path, max_bytes, .. } = decision.step {
            *self.handed(path) += u64::from(max_bytes);
        }
        decision
    }

    /// Adds what the last decision dispatched; removes what was acknowledged.
    fn bring_up_to_date(&mut self, view: &View<'_>) {
        if let Some((start, at, path)) = self.decided.take()
            && start < view.data.snd_nxt
        {
            let range = start..view.data.snd_nxt;
            *self.handed(path) += range.end - range.start;
            let position = *self.handed(path);
            self.sent.push_back(Sent { range, at, path, position });
        }
        while self.sent.front().is_some_and(|sent| sent.range.end <= view.data.snd_una) {
            self.sent.pop_front();
        }
    }

    /// A copy of the oldest segment if it is overdue and another path has room.
    fn overdue(&mut self, view: &View<'_>) -> Option<Decision> {
        self.due = None;
        let deadline = self.deadline(view);
        loop {
            let oldest = self.sent.front()?;
            if view.now < oldest.at + deadline {
                self.due = Some(oldest.at + deadline);
                return None;
            }
            let Some(offer) = self.copy_of(view, oldest) else {
                self.sent.pop_front();
                continue;
            };
            let path = other_path(view, &offer)?;
            return Some(Decision::copy(path.id, offer.range_on(path)));
        }
    }

    fn deadline(&self, view: &View<'_>) -> Duration {
        let usable = view.paths.iter().filter(|path| path.is_open());
        let srtts = usable.map(|path| path.rtt.srtt).filter(|srtt| !srtt.is_zero());
        deadline(self.factor, srtts.min(), self.hard_deadline, self.lower_bound)
    }

    /// The part of it to be copied; `None`: nothing, now or later.
    fn copy_of(&self, view: &View<'_>, sent: &Sent) -> Option<Offer> {
        let offset = sent.range.start.max(view.data.snd_una);
        let segment = view.data.segment_at(offset)?;
        let (end, paths) = (segment.end().min(sent.range.end), segment.paths);
        let outstanding = view.path(sent.path).map_or(0, |path| path.queue.outstanding_bytes);
        let handed = self.handed.get(sent.path.index()).copied().unwrap_or(0);
        let is_acknowledged = sent.position + outstanding <= handed;
        let is_copied = paths.0.count_ones() > 1;
        (!is_acknowledged && !is_copied).then_some(Offer { reinject: true, offset, end, paths })
    }
}

/// `max(min(factor * min_srtt, hard), lower)`; the hard one without a sample.
fn deadline(factor: f64, min_srtt: Option<Duration>, hard: Duration, lower: Duration) -> Duration {
    // To the nanosecond: some minutes at most.
    let flexible =
        min_srtt.map(|srtt| Duration::from_nanos((factor * srtt.as_nanos() as f64) as u64));
    flexible.unwrap_or(hard).min(hard).max(lower)
}

/// The fastest path with room that was not used for it. Probed ones get no copies either.
fn other_path<'a>(view: &View<'a>, offer: &Offer) -> Option<&'a PathView> {
    let has_active = view.has_active(offer);
    let may = |path: &&PathView| {
        let takes_part = (path.is_active() || !has_active) && !path.probing;
        takes_part && !offer.paths.contains(path.id) && path.is_available(offer)
    };
    view.paths.iter().filter(may).min_by_key(|path| (path.rtt.srtt.is_zero(), path.rtt.srtt))
}

impl Scheduler for Xlink {
    fn next(&mut self, view: &View<'_>) -> Decision {
        self.bring_up_to_date(view);
        let offer = view.offered();
        let choice = offer.map(|offer| choose(view, &offer, self.kernel_compat));
        if let (Some(offer), Some(choice)) = (&offer, &choice)
            && offer.reinject
            && choice.path.is_some()
        {
            return self.counted(choice.decide(view, offer));
        }
        if let Some(copy) = self.overdue(view) {
            return self.counted(copy);
        }
        let (Some(offer), Some(choice)) = (offer, choice) else {
            let full = view.data.sndbuf_limited;
            return Decision::wait(if full { Blocked::SendBuffer } else { Blocked::NothingToSend });
        };
        match choice.path {
            Some(path) if !offer.reinject && !view.fits_window(&offer, path) => {
                Decision::wait(Blocked::ReceiveWindow)
            }
            Some(path) if !offer.reinject => {
                self.decided = Some((view.data.snd_nxt, view.now, path.id));
                choice.decide(view, &offer)
            }
            _ => choice.decide(view, &offer),
        }
    }

    fn explain(&self, view: &View<'_>) -> Option<Explanation> {
        let decision = self.clone().next(view);
        let rule = match decision.step {
            Step::Send { what: What::Copy(_), .. } => "a copy: it was due and is not acknowledged",
            _ => "lowest srtt with room",
        };
        Some(Explanation { best: decision.path(), rule, ..Explanation::default() })
    }

    fn on_path_changed(&mut self, path: PathId, change: PathChange) {
        if change != PathChange::State {
            // What it had is reinjected.
            *self.handed(path) = 0;
            self.sent.retain(|sent| sent.path != path);
            self.decided = self.decided.filter(|(_, _, on)| *on != path);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::support::{MSS, Model, path};
    use super::super::{AnyScheduler, by_name};
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn model(text: &str, segments: u64) -> (AnyScheduler, Model) {
        let scheduler = by_name(text, &Options::default()).expect("a name of the table");
        (scheduler, Model::new(vec![path(0, 10, 10, 0), path(1, 100, 10, 0)], segments))
    }

    #[test]
    fn deadline_is_between_its_bounds() {
        let of = |srtt| deadline(1.1, Some(ms(srtt)), ms(500), ms(20)).as_micros();
        assert_eq!([of(10), of(100), of(1000)], [20_000, 110_000, 500_000]);
        assert_eq!(deadline(1.1, None, ms(500), ms(20)), ms(500));
        assert_eq!(deadline(2.0, Some(ms(10)), ms(500), Duration::ZERO), ms(20));
        assert_eq!(deadline(2.0, Some(ms(400)), ms(500), ms(600)), ms(600), "the lower one wins");
    }

    /// A burst of 15: five on the slow path, copied as soon as they are overdue.
    #[test]
    fn what_the_slow_path_has_for_too_long_goes_on_the_fast_one() {
        let (mut xlink, mut model) = model("xlink", 15);
        model.push(&mut xlink);
        assert_eq!(model.sent, [[0; 10].as_slice(), &[1; 5]].concat());
        for _ in 0..10 {
            model.acknowledge_one_on(0);
        }
        model.now += ms(20);
        model.push(&mut xlink);
        assert_eq!(&model.sent[15..], [0; 5], "one copy of each");
        for _ in 0..5 {
            model.acknowledge_one_on(0);
        }
        assert_eq!(model.snd_una, model.write_end, "25 ms, not 50");
    }

    #[test]
    fn nothing_is_copied_before_its_deadline_or_without_room() {
        let (mut xlink, mut model) = model("xlink", 15);
        model.push(&mut xlink);
        let due = Instant::ZERO + ms(20);
        assert_eq!(xlink.poll_timeout(), Some(due));
        model.now = Instant::ZERO + ms(19);
        for _ in 0..10 {
            model.acknowledge_one_on(0);
        }
        model.push(&mut xlink);
        assert_eq!(model.sent.len(), 15, "19 ms are not 20");
        model.now = due;
        model.paths[0].window.cwnd_segs = 2;
        model.push(&mut xlink);
        assert_eq!(model.sent.len(), 17, "as far as the window goes");
        assert_eq!(xlink.poll_timeout(), None, "there is nothing to wait for but room");
        model.paths[0].window.cwnd_segs = 20;
        model.push(&mut xlink);
        assert_eq!(model.sent.len(), 20);
        model.now += ms(1000);
        model.push(&mut xlink);
        assert_eq!(model.sent.len(), 20, "nothing is copied twice");
    }

    /// The fast path's data behind the slow path's gap are not under way any more.
    #[test]
    fn what_its_subflow_acknowledged_is_left_alone() {
        let (mut xlink, mut model) = model("xlink:lower-bound=50ms", 2);
        (model.paths[0].window.inflight_segs, model.paths[1].window.cwnd_segs) = (10, 1);
        model.push(&mut xlink);
        model.paths[0].window.inflight_segs = 0;
        model.push(&mut xlink);
        assert_eq!(model.sent, [1, 0], "the first segment on the slow path");
        model.acknowledge_one_on(0);
        assert_eq!(model.snd_una, 0);
        model.paths[1].window.cwnd_segs = 10;
        model.now += ms(60);
        model.push(&mut xlink);
        assert_eq!(model.sent, [1, 0, 0], "a copy of the first, none of the second");
    }

    #[test]
    fn probed_paths_and_backups_at_rest_get_no_copies() {
        for what in 0..2 {
            let (mut xlink, mut model) = model("xlink", 10);
            model.push(&mut xlink);
            match what {
                0 => model.paths[1].probing = true,
                _ => model.paths[1].backup = true,
            }
            model.now += ms(100);
            model.push(&mut xlink);
            assert_eq!(model.on_path(1), 0);
        }
    }

    #[test]
    fn window_of_the_connection_does_not_hold_copies_up() {
        let (mut xlink, mut model) = model("xlink", 30);
        model.window = 15 * u64::from(MSS);
        model.push(&mut xlink);
        model.now += ms(50);
        for _ in 0..10 {
            model.acknowledge_one_on(0);
        }
        model.window = 5 * u64::from(MSS);
        assert_eq!(model.push(&mut xlink), Blocked::ReceiveWindow);
        assert_eq!(model.sent.len(), 20, "five copies");
    }
}
