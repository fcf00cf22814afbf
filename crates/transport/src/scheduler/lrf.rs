//! LRF, lowest RTT first (also minRTT; `default` of the papers' kernels, not of today's).
//!
//! Decision rule (002 sII-C): of the paths `i` with `inflight_i < CWND_i`, the one with the
//! smallest `SRTT_i`. As in the multipath-tcp kernel v0.95 (`get_available_subflow`), besides: a
//! segment sent before prefers paths it was not on; backups carry data only if no other path can or
//! the segment was on all of them; a full receive window or send buffer causes an opportunistic
//! retransmission (`opportunistic`). Availability is left to `view`.

use super::opportunistic::OpportunisticRetransmission;
use super::path_view::PathView;
use super::view::{Offer, View};
use super::{
    Action, AnyScheduler, Decision, NewData, Options, PathSet, Run, Scheduler, SchedulerRow,
};
use crate::reinjection::Opportunistic;
use base::decision::Explanation;
use base::{Blocked, Duration};
use std::hint::cold_path;

/// Its line in the table.
pub(super) const ROW: SchedulerRow = SchedulerRow {
    name: "lrf",
    about: "Lowest RTT first (minrtt): the fastest path that has room in its window.",
    source: "002 sII-C, multipath-tcp kernel v0.95 `default`",
    parameters: &[],
    own_reinjection: Some(Opportunistic::Kernel),
    make: |options, _| AnyScheduler::Lrf(Lrf::new(options)),
};

/// Lowest RTT first.
#[derive(Clone, Debug)]
pub struct Lrf {
    kernel_compat: bool,
    opportunistic: OpportunisticRetransmission,
}

impl Lrf {
    /// With the switches that concern it: `kernel_compat`, `opportunistic`.
    pub fn new(options: &Options) -> Self {
        Lrf {
            kernel_compat: options.kernel_compat,
            opportunistic: OpportunisticRetransmission::new(
                options.opportunistic.unwrap_or_default(),
            ),
        }
    }
}

impl Scheduler for Lrf {
    fn next(&mut self, view: &View<'_>) -> Decision {
        let compat = self.kernel_compat;
        serve(view, &mut self.opportunistic, &mut false, |offer| choose(view, offer, compat))
    }

    /// While the others stay as they are, the path is the best one until a window is full.
    fn next_run(&self, paths: &[PathView], data: &NewData) -> Option<Run> {
        let &NewData { offset, end, window_end } = data;
        let offer = Offer { reinject: false, offset, end, paths: PathSet::EMPTY };
        let mut best: Option<&PathView> = None;
        let (mut longest, mut others_wait) = (0, true);
        for path in paths {
            longest = longest.max(path.window.mss);
            if path.is_definitely_unavailable(&offer) {
                continue;
            }
            if path.backup {
                cold_path();
                return None;
            }
            if path.is_temporarily_unavailable(&offer) {
                others_wait &= path.is_window_full();
                continue;
            }
            let rank = |path| rank(path, self.kernel_compat);
            others_wait &= best.is_none();
            if best.is_none_or(|known| rank(path) < rank(known)) {
                best = Some(path);
            }
        }
        let path = best?;
        let max_bytes = offer.len_on(path);
        if offset + u64::from(max_bytes) > window_end {
            return None;
        }
        let once = Run { path: path.id, max_bytes, times: 1, fills_windows: false };
        let (window, mss) = (&path.window, u64::from(path.window.mss));
        // An idle path restarts its window with the first segment.
        if window.inflight_segs == 0 || path.continues_at.is_some() {
            return Some(once);
        }
        // A short segment may go where a whole one of any path has no room.
        let unsent = end - offset;
        let whole = unsent.saturating_sub(u64::from(longest));
        let free = u64::from(path.free_segs()) * mss;
        let own = free.saturating_sub(path.queue.unsent_bytes);
        let left = (window_end - offset).min(window.send_window_bytes).saturating_sub(mss);
        let bound = whole.min(left);
        // Mostly all that are free: a division less.
        let takes_free = path.queue.unsent_bytes == 0 && own <= bound;
        let times = 1 + if takes_free { u64::from(path.free_segs()) } else { own.min(bound) / mss };
        let sent = times * mss;
        let fills_path = sent < unsent && path.queue.unsent_bytes + sent > free;
        Some(Run { times, fills_windows: fills_path && others_wait, ..once })
    }

    fn makes_copies(&self) -> bool {
        false
    }

    fn reinjects(&self) -> bool {
        true
    }

    fn reads_admission_only(&self) -> bool {
        true
    }

    fn has_period(&self) -> bool {
        false
    }

    fn explain(&self, view: &View<'_>) -> Option<Explanation> {
        let choice = choose(view, &view.offered_or_empty(), self.kernel_compat);
        Some(choice.explained("lowest srtt with room"))
    }
}

/// The decision of the papers' kernels about an offer, for any rule that chooses the path (kernel
/// v0.95 `mptcp_next_segment`). Sets `blocked` if the connection's window, or a send buffer without
/// room, blocked a path with room.
#[inline]
pub(super) fn serve<'a>(
    view: &View<'a>,
    opportunistic: &mut OpportunisticRetransmission,
    blocked: &mut bool,
    mut choose: impl FnMut(&Offer) -> Choice<'a>,
) -> Decision {
    let Some(offer) = view.offered() else {
        if !view.data.sndbuf_limited {
            return Decision::wait(Blocked::NothingToSend);
        }
        // The application waits for the send buffer, all of it is sent.
        let Some(path) = choose(&view.unsent_offer()).path else {
            return Decision::wait(Blocked::SendBuffer);
        };
        *blocked |= view.data.sndbuf_full;
        return help(view, path, opportunistic, Blocked::SendBuffer);
    };
    let choice = choose(&offer);
    match choice.path {
        Some(path) if !offer.reinject && !view.fits_window(&offer, path) => {
            *blocked = true;
            help(view, path, opportunistic, Blocked::ReceiveWindow)
        }
        _ => choice.decide(view, &offer),
    }
}

/// `fast` has room and nothing to send: help the segment that blocks window or buffer.
pub(super) fn help(
    view: &View<'_>,
    fast: &PathView,
    opportunistic: &mut OpportunisticRetransmission,
    why: Blocked,
) -> Decision {
    let mut actions = Vec::new();
    let copy = opportunistic.run(view, fast, why, &mut actions);
    let mut decision = match copy {
        Some(range) => Decision::copy(fast.id, range),
        None => Decision::wait(why),
    };
    decision.actions = actions;
    decision
}

/// The fastest path that could carry the offer now or soon; a backup only where all are. A path
/// without a sample comes last, as in [`choose`].
pub(super) fn fastest<'a>(
    view: &View<'a>,
    offer: &Offer,
    kernel_compat: bool,
) -> Option<&'a PathView> {
    let usable = view.paths.iter().filter(|path| !path.is_definitely_unavailable(offer));
    usable
        .min_by_key(|path| (path.backup, path.rtt.srtt.is_zero() && !kernel_compat, path.rtt.srtt))
}

/// The path for a segment.
pub(super) struct Choice<'a> {
    pub path: Option<&'a PathView>,
    /// The segment was on every path that could take it: forget where it was.
    forget: bool,
}

impl<'a> Choice<'a> {
    /// No path now.
    pub(super) const NONE: Self = Choice { path: None, forget: false };

    /// That path, if there is one.
    pub(super) const fn of(path: Option<&'a PathView>) -> Self {
        Choice { path, forget: false }
    }

    /// Because of that rule.
    pub(super) fn explained(&self, rule: &'static str) -> Explanation {
        let best = self.path.map(|path| path.id);
        Explanation { best, rule, ..Explanation::default() }
    }

    /// Sends the offer there, or gives the reason for waiting.
    pub(super) fn decide(&self, view: &View<'_>, offer: &Offer) -> Decision {
        let decide = || match self.path {
            Some(path) => Decision::offer(path, offer),
            None => Decision::wait(view.why_blocked(offer)),
        };
        if !self.forget {
            return decide();
        }
        let end = view.data.segment_at(offer.offset).map_or(offer.end, |segment| segment.end());
        decide().with(Action::ForgetPaths { range: offer.offset..end.min(offer.end) })
    }
}

/// The path that LRF would take for a segment now.
pub(crate) fn lowest_rtt<'a>(view: &View<'a>, offer: &Offer) -> Option<&'a PathView> {
    choose(view, offer, false).path
}

/// The choice of LRF for a segment.
pub(super) fn choose<'a>(view: &View<'a>, offer: &Offer, kernel_compat: bool) -> Choice<'a> {
    let paths = view.paths;
    if let [path] = paths {
        return Choice::of(path.is_available(offer).then_some(path));
    }
    let active = pick(paths, Class::Active, offer, kernel_compat);
    if active.force {
        return Choice { path: active.best, forget: false };
    }
    choose_backup(paths, offer, kernel_compat)
}

/// The same where no path that is no backup will do.
#[cold]
fn choose_backup<'a>(paths: &'a [PathView], offer: &Offer, kernel_compat: bool) -> Choice<'a> {
    let backup = pick(paths, Class::Backup, offer, kernel_compat);
    if backup.force || offer.paths.is_empty() {
        return Choice { path: backup.best, forget: false };
    }
    let offer = Offer { paths: PathSet::EMPTY, ..*offer };
    let active = pick(paths, Class::Active, &offer, kernel_compat);
    let backup = || pick(paths, Class::Backup, &offer, kernel_compat);
    let path = if active.force { active.best } else { backup().best };
    Choice { path, forget: true }
}

struct Pick<'a> {
    best: Option<&'a PathView>,
    /// The search ends here: `best` is new to the segment, or one that is new will open soon.
    force: bool,
}

/// Which paths are considered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Active,
    Backup,
}

/// The path of the lowest rank is chosen.
fn rank(path: &PathView, kernel_compat: bool) -> (bool, Duration) {
    // A path without a sample has an SRTT of zero; the kernels prefer it for that.
    (path.rtt.srtt.is_zero() && !kernel_compat, path.rtt.srtt)
}

/// The fastest available one of `paths` that is of that class. One that the segment was not on
/// comes before any other.
fn pick<'a>(paths: &'a [PathView], class: Class, offer: &Offer, kernel_compat: bool) -> Pick<'a> {
    let mut best = None;
    let mut unused_is_blocked = false;
    for path in paths {
        let is_of_class = path.backup == (class == Class::Backup);
        if !is_of_class || path.is_definitely_unavailable(offer) {
            continue;
        }
        // Nearly always a segment that no path had.
        let used = !offer.paths.is_empty() && offer.paths.contains(path.id);
        if path.is_temporarily_unavailable(offer) {
            unused_is_blocked |= !used;
            continue;
        }
        let rank = (used, rank(path, kernel_compat));
        if best.is_none_or(|(known, _)| rank < known) {
            best = Some((rank, path));
        }
    }
    match best {
        Some(((used, ..), path)) => Pick { best: Some(path), force: !used },
        None => Pick { best: None, force: unused_is_blocked },
    }
}
