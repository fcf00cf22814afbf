//! STTF: shortest transfer time first.
//!
//! Decision rule (002 sIV-B Algorithm 2, kernels of its authors): every unsent
//! segment in the peer's window is meant for the path `s` with the smallest predicted transfer
//! time `T_s(q)`, `q - 1` segments waiting there before it (`transfer`), whether or not the window
//! of `s` has room. What a path has room for it sends, in its own order; the rest is a tag that
//! binds nothing (`plan`), exists here only, and is an assignment in the decision that sends it.
//! Before a decision tags are taken back and given anew if a path with tags cannot be used any
//! more, or if the paths' windows or RTTs changed and the new numbers of segments differ by more
//! than `tolerance` for some path. Not so with one path, with paths whose first RTTs are alike
//! (`alpha`; LRF decides then), while more is under way on all of them than their windows take,
//! or once the peer has closed its direction.
//!
//! `RTT` is the last sample, after an RTO without sending on the path the first one until there is
//! a new one: an abandoned path is tried again (002 sII-C). TCP Small Queues do not change the path
//! of a segment: it waits (002 sIV-C). Reinjections go first, to the smallest `T` among the paths
//! they were not on. Added here: backups rest while others can send, a path without RTT sample
//! while another has one, and paths that come or go are compared anew. The kernels' flag against
//! rescheduling is left out: nothing was found to set it.

mod plan;
#[cfg(test)]
mod tests;
mod transfer;

use super::lrf::{self, Choice};
use super::opportunistic::OpportunisticRetransmission;
use super::path_view::{LossPhase, PathView};
use super::view::{Offer, View};
use super::{
    Action, AnyScheduler, Decision, Options, PathChange, PathSet, Scheduler, SchedulerRow, What,
};
use crate::parameters::{Kind, Parameter, Settings};
use crate::reinjection::Opportunistic;
use base::decision::{Explanation, Score, Unit};
use base::{Blocked, Duration, Instant, PathId};
use plan::{Candidate, Merge, Tags};
use transfer::Window;

/// The parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "alpha",
        about: "difference below which two first RTTs are equal, percent; 0: none",
        least: 0.0,
        most: 1000.0,
        default: 10.0,
        kind: Kind::Whole,
        source: "002's kernel",
    },
    Parameter {
        key: "tolerance",
        about: "deviation of a path's share, in segments, at which all data are assigned again",
        least: 0.0,
        most: 100_000.0,
        default: 1.0,
        kind: Kind::Whole,
        source: "002's kernel",
    },
    Parameter {
        key: "srtt",
        about: "1: predict with the smoothed RTT, 0: with the last sample",
        least: 0.0,
        most: 1.0,
        default: 0.0,
        kind: Kind::Whole,
        source: "002's kernel, 1 in 002",
    },
    Parameter {
        key: "reset",
        about: "idle time after which the first RTT is used again, RTOs",
        least: 0.1,
        most: 1_000_000.0,
        default: 1.0,
        kind: Kind::Real,
        source: "002's kernel",
    },
    Parameter {
        key: "optim",
        about: "opportunistic retransmission, 0: off, 1: on, 2: on, with penalties (superseded by \
                `reinjection`)",
        least: 0.0,
        most: 2.0,
        default: 1.0,
        kind: Kind::Whole,
        source: "002's kernel",
    },
];

/// First RTTs that differ by no more are alike: a tick of the kernels' clock, ours.
const JIFFY: Duration = Duration::from_millis(1);

/// Its line in the table.
pub(super) const ROW: SchedulerRow = SchedulerRow {
    name: "sttf",
    about: "Shortest transfer time first: assigns all unsent data to where they arrive first.",
    source: "002 sIV-B",
    parameters: PARAMETERS,
    own_reinjection: Some(Opportunistic::RetransOnly),
    make: |options, asked| AnyScheduler::Sttf(Box::new(Sttf::new(options, &asked.settings))),
};

/// Shortest transfer time first.
#[derive(Clone, Debug)]
pub struct Sttf {
    /// Percent.
    alpha: u64,
    /// Segments.
    tolerance: u64,
    smoothed: bool,
    /// In thousandths of an RTO.
    reset: u64,
    kernel_compat: bool,
    opportunistic: OpportunisticRetransmission,
    tags: Tags,
    /// The paths that tags may be for, as they were at the last question and as they are now.
    before: Vec<Candidate>,
    candidates: Vec<Candidate>,
    merge: Merge,
    /// The established paths whose first RTTs were compared, and whether they are alike.
    compared: PathSet,
    /// Those of them that had an RTT sample: one may be established without, if its SYN was
    /// repeated.
    sampled: PathSet,
    alike: bool,
    /// By path number: number of RTT samples when it had been silent for long.
    silent_since: Vec<Option<u32>>,
}

impl Sttf {
    /// With the switches that concern it, `opportunistic` and, while paths are alike,
    /// `kernel_compat`, and its parameters.
    pub fn new(options: &Options, settings: &Settings) -> Self {
        let own = match settings.whole("optim") {
            0 => Opportunistic::Off,
            1 => Opportunistic::RetransOnly,
            _ => Opportunistic::Kernel,
        };
        Sttf {
            alpha: u64::from(settings.whole("alpha")),
            tolerance: u64::from(settings.whole("tolerance")),
            smoothed: settings.is_on("srtt"),
            reset: settings.thousandths("reset"),
            kernel_compat: options.kernel_compat,
            opportunistic: OpportunisticRetransmission::new(options.opportunistic.unwrap_or(own)),
            tags: Tags::default(),
            before: Vec::new(),
            candidates: Vec::new(),
            merge: Merge::default(),
            compared: PathSet::EMPTY,
            sampled: PathSet::EMPTY,
            alike: false,
            silent_since: Vec::new(),
        }
    }

    /// Whether there is anything to predict: several paths that are not alike.
    fn predicts(&mut self, view: &View<'_>) -> bool {
        let established = view.paths.iter().filter(|path| path.is_established());
        let set = established.clone().fold(PathSet::EMPTY, |set, path| set.with(path.id));
        let has_sample = |path: &&PathView| !path.rtt.first.is_zero();
        let sampled = established.clone().filter(has_sample);
        let sampled = sampled.fold(PathSet::EMPTY, |set, path| set.with(path.id));
        if (set, sampled) != (self.compared, self.sampled) {
            (self.compared, self.sampled) = (set, sampled);
            self.alike = are_alike(established.map(|path| path.rtt.first), self.alpha);
        }
        set.0.count_ones() > 1 && !self.alike
    }

    /// Note which paths were silent for long.
    fn heed_silence(&mut self, view: &View<'_>) {
        for path in view.paths {
            let limit = path.rtt.rto.as_nanos().saturating_mul(self.reset) / 1000;
            let is_silent = |last: Instant| (view.now - last).as_nanos() > limit;
            if path.last_send.is_some_and(is_silent) {
                *self.silent_since(path.id) = Some(path.rtt.samples);
            }
        }
    }

    fn silent_since(&mut self, path: PathId) -> &mut Option<u32> {
        if self.silent_since.len() <= path.index() {
            self.silent_since.resize(path.index() + 1, None);
        }
        &mut self.silent_since[path.index()]
    }

    /// The RTT to predict with.
    fn rtt(&self, path: &PathView) -> Duration {
        let silent_since = self.silent_since.get(path.id.index()).copied().flatten();
        if silent_since == Some(path.rtt.samples) {
            path.rtt.first
        } else if self.smoothed {
            path.rtt.srtt
        } else {
            path.rtt.last
        }
    }

    fn window(&self, path: &PathView) -> Window {
        Window {
            room: i64::from(path.free_segs()) - i64::from(path.queue.unsent_segs),
            cwnd: path.window.cwnd_segs,
            ssthresh: path.window.ssthresh_segs,
            rtt: self.rtt(path),
        }
    }

    /// The paths that can be given segments of the offer.
    fn look_at_candidates(&mut self, view: &View<'_>, offer: &Offer) {
        std::mem::swap(&mut self.before, &mut self.candidates);
        self.candidates.clear();
        let has_active = view.has_active(offer);
        let rests = |path: &PathView| path.backup && has_active;
        let mut open = view.paths.iter().filter(|path| is_open(path, offer) && !rests(path));
        let is_sampled = open.any(has_sample);
        for path in view.paths {
            // The window must take what is meant for the path next, or the offer.
            let next = self.tags.first_of(path.id).map(|run| run.end - run.start);
            let next =
                next.unwrap_or(u64::from(offer.len_on(path))).min(u64::from(path.window.mss));
            let fits = path.window.send_window_bytes >= next.max(1);
            if is_open(path, offer) && !rests(path) && fits && has_sample(path) == is_sampled {
                let (mss, window) = (u64::from(path.window.mss.max(1)), self.window(path));
                let window_left = path.window.send_window_bytes;
                self.candidates.push(Candidate { id: path.id, mss, window, window_left });
            }
        }
    }

    /// Takes all tags back if tagging anew would change them.
    fn reschedule(&mut self, view: &View<'_>) {
        let is_astray = match self.tags.begin() {
            Some(begin) => begin != view.data.snd_nxt,
            None => self.tags.end() > view.data.snd_nxt,
        };
        if is_astray {
            // Something else sent the data that come next.
            self.tags.clear();
        }
        if self.tags.is_empty() || self.is_as_before() {
            return;
        }
        let is_candidate = |path| self.candidates.iter().any(|candidate| candidate.id == path);
        let are_usable = self.tags.paths().all(is_candidate);
        if !are_usable || (!view.data.peer_closed && !self.are_tags_right()) {
            self.tags.clear();
        }
    }

    /// Nothing changed but what was sent.
    fn is_as_before(&self) -> bool {
        let mut pairs = self.before.iter().zip(&self.candidates);
        self.before.len() == self.candidates.len() && pairs.all(|(then, now)| then.is_like(now))
    }

    /// The dry run: whether tagging anew would give every path about as many segments.
    fn are_tags_right(&mut self) -> bool {
        self.merge.clear();
        let mut left = 0;
        for candidate in &self.candidates {
            left += self.tags.bytes_of(candidate.id);
            self.merge.add(*candidate, 0);
        }
        while left > 0 {
            let Some((_, bytes)) = self.merge.take(left, false) else { return false };
            left -= bytes;
        }
        self.merge.given().all(|(candidate, given)| {
            let tagged = self.tags.bytes_of(candidate.id).div_ceil(candidate.mss);
            tagged.abs_diff(given) <= self.tolerance
        })
    }

    /// Tag what is not tagged yet, as far as the peer's window reaches.
    fn tag(&mut self, view: &View<'_>) {
        let limit = view.data.write_end.min(view.data.window_end);
        let is_cut = limit < view.data.write_end;
        let begin = self.tags.end().max(view.data.snd_nxt);
        let least = self.candidates.iter().map(|candidate| candidate.mss).min().unwrap_or(0);
        if begin >= limit || (is_cut && limit - begin < least) {
            return;
        }
        self.merge.clear();
        for candidate in &self.candidates {
            self.merge.add(*candidate, self.tags.bytes_of(candidate.id));
        }
        for unsent in view.data.unsent_from(begin) {
            let end = unsent.end.min(limit);
            let mut at = unsent.start;
            while at < end {
                let taken = self.merge.take(end - at, is_cut && end == limit);
                let Some((path, bytes)) = taken else { return };
                self.tags.push(path, at..at + bytes);
                at += bytes;
            }
            self.tags.reach(end);
        }
    }

    /// The first tagged segment that its path can send now.
    fn send_tagged(&mut self, view: &View<'_>) -> Option<Decision> {
        let mut best: Option<(Offer, &PathView)> = None;
        for path in view.paths {
            let Some(run) = self.tags.first_of(path.id) else { continue };
            let paths = PathSet::EMPTY;
            let segment = Offer { reinject: false, offset: run.start, end: run.end, paths };
            let is_earlier = best.is_none_or(|(known, _)| segment.offset < known.offset);
            let has_room = path.free_segs() > path.queue.unsent_segs && path.is_available(&segment);
            if is_earlier && has_room && view.fits_window(&segment, path) {
                best = Some((segment, path));
            }
        }
        let (segment, path) = best?;
        self.tags.pop(path.id, u64::from(segment.len_on(path)));
        // The next question finds the path as it expects it.
        if let Some(known) = self.candidates.iter_mut().find(|known| known.id == path.id) {
            known.window.room -= 1;
        }
        let decision = Decision::send(path.id, What::New, segment.len_on(path));
        if segment.offset == view.data.snd_nxt {
            return Some(decision);
        }
        let range = segment.range_on(path);
        Some(decision.with(Action::Assign { range, path: path.id, revocable: true }))
    }

    fn send_new(&mut self, view: &View<'_>, offer: &Offer) -> Decision {
        let mut established = view.paths.iter().filter(|path| self.compared.contains(path.id));
        if established.all(|path| path.window.cwnd_segs < path.window.inflight_segs) {
            return Decision::wait(view.why_blocked(offer));
        }
        self.look_at_candidates(view, offer);
        self.reschedule(view);
        self.tag(view);
        if let Some(decision) = self.send_tagged(view) {
            return decision;
        }
        let why = view.why_blocked(offer);
        let why_window = if self.tags.is_empty() { Blocked::ReceiveWindow } else { why };
        let untagged = Offer { offset: self.tags.end().max(offer.offset), ..*offer };
        match self.earliest(view, &untagged) {
            Some(path) if !view.fits_window(&untagged, path) => {
                lrf::help(view, path, &mut self.opportunistic, why_window)
            }
            _ => Decision::wait(why),
        }
    }

    /// The path where one segment of the offer more arrives first, not one it was on if possible.
    fn earliest<'a>(&self, view: &View<'a>, offer: &Offer) -> Option<&'a PathView> {
        let has_active = view.has_active(offer);
        let open = view.paths.iter().filter(|path| is_open(path, offer));
        let open = open.filter(|path| path.is_active() || !has_active);
        let fitting = open
            .filter(|path| path.window.send_window_bytes >= u64::from(offer.len_on(path).max(1)));
        fitting.min_by_key(|path| {
            let waiting = self.tags.bytes_of(path.id).div_ceil(u64::from(path.window.mss.max(1)));
            let time = self.window(path).transfer_time(waiting + 1);
            (offer.paths.contains(path.id), !has_sample(path), time)
        })
    }

    /// For what was sent before: the earliest path, once it has room.
    fn choose<'a>(&self, view: &View<'a>, offer: &Offer) -> Choice<'a> {
        let path = self.earliest(view, offer);
        Choice::of(path.filter(|path| !offer.reinject || path.is_available(offer)))
    }
}

impl Scheduler for Sttf {
    fn next(&mut self, view: &View<'_>) -> Decision {
        let predicts = self.predicts(view);
        if predicts {
            self.heed_silence(view);
        } else {
            self.tags.clear();
        }
        if let Some(offer) = view.offered().filter(|offer| predicts && !offer.reinject) {
            return self.send_new(view, &offer);
        }
        let mut opportunistic = std::mem::take(&mut self.opportunistic);
        let decision = lrf::serve(view, &mut opportunistic, &mut false, |offer| {
            if predicts {
                self.choose(view, offer)
            } else {
                lrf::choose(view, offer, self.kernel_compat)
            }
        });
        self.opportunistic = opportunistic;
        decision
    }

    fn makes_copies(&self) -> bool {
        false
    }

    fn plans_ahead(&self) -> bool {
        true
    }

    fn reinjects(&self) -> bool {
        true
    }

    fn explain(&self, view: &View<'_>) -> Option<Explanation> {
        let mut trial = self.clone();
        let best = trial.next(view).path();
        if !trial.predicts(view) {
            let rule = "lowest srtt with room: one path, or paths alike";
            return Some(Explanation { best, rule, ..Explanation::default() });
        }
        let time = |path: &PathView| Score {
            path: path.id,
            name: "transfer time",
            value: trial.window(path).transfer_time(1).as_secs_f64(),
            unit: Unit::Seconds,
        };
        let rule = match best {
            Some(_) => "shortest transfer time",
            None => "the path of the shortest transfer time has no room yet",
        };
        let scores = view.paths.iter().map(time).collect();
        Some(Explanation { best, rule, scores, ..Explanation::default() })
    }

    fn on_path_changed(&mut self, path: PathId, change: PathChange) {
        if change != PathChange::State {
            // The number may be another path's from now on.
            *self.silent_since(path) = None;
            self.compared = PathSet::EMPTY;
            self.tags.clear();
        }
    }
}

/// Whether the first RTTs of the paths are alike.
fn are_alike(rtts: impl Iterator<Item = Duration> + Clone, alpha: u64) -> bool {
    let (Some(least), Some(most)) = (rtts.clone().min(), rtts.max()) else { return false };
    if alpha == 0 || least.is_zero() {
        return false;
    }
    let is_close = most - least <= JIFFY;
    is_close || most.as_nanos() * 100 < least.as_nanos().saturating_mul(100 + alpha)
}

const fn has_sample(path: &PathView) -> bool {
    !path.rtt.srtt.is_zero()
}

/// It could carry the offer, apart from the limits of its congestion window, small queue and
/// subflow window.
fn is_open(path: &PathView, offer: &Offer) -> bool {
    let in_loss = path.loss == LossPhase::Timeout;
    !path.is_definitely_unavailable(offer) && !in_loss && path.may_carry(offer)
}
