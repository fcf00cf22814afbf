//! Schedulers: which path sends next, and what.
//!
//! The trait, its decisions, and the table of names. A scheduler sees a borrowed [`View`] and makes
//! one decision at a time; it never sees a buffer or a path's protocol. `multipath::Sender` asks
//! and carries the answers out. The segment on offer, availability and the reason why nothing is
//! sent are in `view` and `path_view`, shared by all.

mod blest;
mod choice;
mod daps;
mod ecf;
mod linux;
mod lrf;
mod opportunistic;
mod otias;
mod parameters;
mod path_view;
mod raven;
mod redundant;
mod reinjecting;
mod rr;
mod sttf;
mod table;
mod view;
mod xlink;

#[cfg(test)]
pub(crate) mod tests;

use crate::congestion::Penalty;
use base::decision::Explanation;
use base::{Blocked, Instant, PathId};
use std::ops::Range;

pub use crate::parameters::{Kind, Parameter, Refused, Settings};
pub use blest::Blest;
pub use choice::{SchedulerChoice, SchedulerRow};
pub use daps::Daps;
pub use ecf::Ecf;
pub use linux::Linux;
pub use lrf::Lrf;
pub use otias::Otias;
pub use parameters::SchedulerParameters;
pub use path_view::{LossPhase, PathState, PathView, QueueView, RttView, WindowView};
pub use raven::Raven;
pub use redundant::Redundant;
pub use reinjecting::Reinjecting;
pub use rr::{RoundRobin, Turns};
pub use sttf::Sttf;
pub use table::{AnyScheduler, Custom, NAMES, Options, TABLE, by_name, parameters};
pub use view::{DataSegment, DataView, Offer, PathSet, View};
pub use xlink::Xlink;

/// Decides which path sends what.
///
/// The sender asks [`next`](Scheduler::next) until it gets [`Step::Wait`], then again after every
/// acknowledgement, write, departure from the NIC, change of a path, and timer. It carries out
/// every `Send` before it asks again, and updates the view in between.
pub trait Scheduler {
    /// What to do now.
    fn next(&mut self, view: &View<'_>) -> Decision;

    /// What [`next`](Scheduler::next) would decide if only new data are on offer, and how often it
    /// would decide that, one time after the other, at least, if each changes only what is unsent
    /// on the path and what the path's own window permits. It changes nothing. `None`, if it would
    /// do anything but send a new segment now, or is not known: that costs speed only.
    fn next_run(&self, _paths: &[PathView], _data: &NewData) -> Option<Run> {
        None
    }

    /// The explanation of the decision that [`next`](Scheduler::next) would give for this view.
    /// Called before it, and only if decisions are recorded. `None`: the scheduler gives none.
    fn explain(&self, _view: &View<'_>) -> Option<Explanation> {
        None
    }

    /// Whether it may send although everything written was passed to some path. One that makes no
    /// copies by itself is called less often.
    fn makes_copies(&self) -> bool {
        true
    }

    /// Whether it binds data to paths that have no room for them, or passes later data to a path
    /// before earlier ones.
    fn plans_ahead(&self) -> bool {
        false
    }

    /// Whether it calls opportunistic retransmission itself, with the path it chose.
    fn reinjects(&self) -> bool {
        false
    }

    /// Whether the data of a path that timed out are left to the data timer (mainline Linux).
    fn leaves_timeouts(&self) -> bool {
        false
    }

    /// Whether it reads no more of a path than what admits data to it: number, state, marks, loss
    /// phase, `continues_at`, SRTT, and of windows and queue `mss`, `cwnd_segs`, `inflight_segs`,
    /// `send_window_bytes` and `unsent_bytes`. The rest may be old then, which saves half of what a
    /// view costs.
    fn reads_admission_only(&self) -> bool {
        false
    }

    /// Whether [`Scheduler::on_ack`] does anything: a call requires an update of the view of all
    /// paths.
    fn heeds_acks(&self) -> bool {
        false
    }

    /// A segment came on `path` that may have acknowledged data of it or of the connection. Called
    /// at most once between two decisions, for any number of segments.
    fn on_ack(&mut self, _view: &View<'_>, _path: PathId) {}

    /// A `Wait` for the connection's window began: the peer's buffer blocks the sender.
    fn on_window_blocked(&mut self, _view: &View<'_>) {}

    /// A path came, went, or changed what it may do.
    fn on_path_changed(&mut self, _path: PathId, _change: PathChange) {}

    /// Whether [`Scheduler::poll_timeout`] ever returns a time.
    fn has_period(&self) -> bool {
        true
    }

    /// When to ask again if nothing else happens; only schedulers with a period return one. At that
    /// time a scheduler returns a later one.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

/// New data on offer: everything that was written and never passed to a path, in one range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewData {
    /// Where they begin in the connection's stream.
    pub offset: u64,
    /// Where they end.
    pub end: u64,
    /// The end of the peer's receive window.
    pub window_end: u64,
}

/// A run of equal decisions to send a new segment now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The path that gets the data.
    pub path: PathId,
    /// Bytes of each segment.
    pub max_bytes: u32,
    /// Number of decisions.
    pub times: u64,
    /// Then [`Step::Wait`] for [`Blocked::CongestionWindow`] follows: something is left to send,
    /// and the windows of all paths are full.
    pub fills_windows: bool,
}

/// What happened to a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathChange {
    /// It may be used from now on; its number may have belonged to another path before.
    Added,
    /// It left the connection.
    Removed,
    /// Backup mark, failure or return.
    State,
}

/// A decision: the changes, which are always carried out, in order, and then the step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The changes; an empty list allocates nothing.
    pub actions: Vec<Action>,
    /// What to do after the changes.
    pub step: Step,
}

impl Decision {
    /// Nothing to change, nothing to send.
    pub const fn wait(why: Blocked) -> Self {
        Decision { actions: Vec::new(), step: Step::Wait(why) }
    }

    /// Send now, change nothing.
    pub const fn send(path: PathId, what: What, max_bytes: u32) -> Self {
        let step = Step::Send { path, what, bind: Bind::Now, max_bytes };
        Decision { actions: Vec::new(), step }
    }

    /// Send one segment of the offer on `path`.
    fn offer(path: &PathView, offer: &Offer) -> Self {
        let what = if offer.reinject { What::Reinject } else { What::New };
        Decision::send(path.id, what, offer.len_on(path))
    }

    /// Queue one segment of the offer on `path`, regardless of its congestion window.
    fn queue(path: &PathView, offer: &Offer) -> Self {
        let max_bytes = offer.len_on(path);
        let step = Step::Send { path: path.id, what: What::New, bind: Bind::Queue, max_bytes };
        Decision { actions: Vec::new(), step }
    }

    /// Send these data, which are on other paths, on `path` too.
    pub(crate) const fn copy(path: PathId, range: Range<u64>) -> Self {
        // Ranges are cut to a segment.
        let len = (range.end - range.start) as u32;
        Decision::send(path, What::Copy(range), len)
    }

    /// The path that is sent on.
    const fn path(&self) -> Option<PathId> {
        match self.step {
            Step::Send { path, .. } => Some(path),
            Step::Wait(_) => None,
        }
    }

    /// The same answer with an action more.
    #[must_use]
    pub fn with(mut self, action: Action) -> Self {
        self.actions.push(action);
        self
    }
}

/// What to do now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Pass data to a path.
    Send {
        /// The path that gets the data.
        path: PathId,
        /// Which data.
        what: What,
        /// When the data get their place in the sequence of the path.
        bind: Bind,
        /// Largest number of bytes. A grant ends earlier when the window is full, data are lost on
        /// the path, or the path changes its state.
        max_bytes: u32,
    },
    /// Send nothing until something happens, and why.
    Wait(Blocked),
}

/// Which data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// Data never passed to a path; the range assigned to that path first, if there is one.
    New,
    /// The head of the reinject queue.
    Reinject,
    /// Data already sent elsewhere, at these offsets; the connection's `snd_nxt` stays.
    Copy(Range<u64>),
    /// The newest data already sent elsewhere, to measure a path that is probed.
    Probe,
}

/// When data are bound to a position in the sequence of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bind {
    /// At transmission: the path has room and sends the data at once.
    Now,
    /// Now, regardless of the congestion window: it waits in the path's queue and cannot be taken
    /// back.
    Queue,
}

/// A change that is part of a decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// These unsent data are meant for `path`. Revocable: no mapping exists before transmission,
    /// and the path gets them when it is sent `What::New`. Otherwise they go to its queue at once,
    /// as far as the peer's window reaches, and cannot be taken back.
    Assign {
        /// The unsent data, as offsets in the connection's stream.
        range: Range<u64>,
        /// The path that the data are meant for.
        path: PathId,
        /// Whether the assignment can be taken back.
        revocable: bool,
    },
    /// Take a revocable assignment back.
    Unassign {
        /// The assigned data, as offsets in the connection's stream.
        range: Range<u64>,
    },
    /// Penalise a path that blocks others: the controller halves its window.
    Penalise(PathId, Penalty),
    /// Forget which paths these data were on: every path was tried.
    ForgetPaths {
        /// The data, as offsets in the connection's stream.
        range: Range<u64>,
    },
}
