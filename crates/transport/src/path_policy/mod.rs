//! Path policies: which paths are eligible, over any scheduler.
//!
//! A policy sees the paths and determines which of them are only probed; a scheduler offers these
//! no new data, only reinjections. `multipath::Sender` carries that out, finds data for probes and
//! keeps the time. Backup marks are requested by the hosts, not by a policy: they are in the view,
//! and every scheduler heeds them.

mod choice;
mod drepas;
mod none;

use crate::scheduler::PathView;
use base::{Instant, PathId};

pub use choice::{PolicyChoice, PolicyRow};
pub use drepas::Drepas;
pub use none::NoPolicy;

/// Determines the eligible paths.
pub trait PathPolicy {
    /// Examines the paths; called before every round of a scheduler and at the time of
    /// [`PathPolicy::poll_timeout`]. Returns what changes: a path is to be probed only from now on
    /// (`true`), or carries data again.
    fn review(&mut self, now: Instant, paths: &[PathView]) -> Vec<(PathId, bool)>;

    /// Bytes of the probe that a path is to send now, if one is due. Called until it returns `None`
    /// while there are data to probe with.
    fn next_probe(&mut self, _now: Instant, _path: &PathView) -> Option<u32> {
        None
    }

    /// The probe that was due was sent.
    fn on_probe_sent(&mut self, _path: PathId) {}

    /// Another path has this number from now on.
    fn on_path_added(&mut self, _path: PathId) {}

    /// When to be called if nothing else happens. Kept only while data are under way.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

/// Every path policy, in the order in which they are listed.
pub const TABLE: &[PolicyRow] = &[none::ROW, drepas::ROW];

/// A path policy.
#[derive(Clone, Debug)]
pub enum AnyPolicy {
    /// `none`: every path is eligible.
    None(NoPolicy),
    /// `drepas`: slow paths are probed only.
    Drepas(Drepas),
}

impl AnyPolicy {
    /// Whether it is `none`, which never changes anything and need not be called.
    pub const fn is_none(&self) -> bool {
        matches!(self, AnyPolicy::None(_))
    }
}

/// Calls the same method of whichever policy it is.
macro_rules! dispatch {
    ($self:ident.$method:ident($($arg:expr),*)) => {
        match $self {
            AnyPolicy::None(policy) => policy.$method($($arg),*),
            AnyPolicy::Drepas(policy) => policy.$method($($arg),*),
        }
    };
}

impl PathPolicy for AnyPolicy {
    fn review(&mut self, now: Instant, paths: &[PathView]) -> Vec<(PathId, bool)> {
        dispatch!(self.review(now, paths))
    }

    fn next_probe(&mut self, now: Instant, path: &PathView) -> Option<u32> {
        dispatch!(self.next_probe(now, path))
    }

    fn on_probe_sent(&mut self, path: PathId) {
        dispatch!(self.on_probe_sent(path));
    }

    fn on_path_added(&mut self, path: PathId) {
        dispatch!(self.on_path_added(path));
    }

    fn poll_timeout(&self) -> Option<Instant> {
        dispatch!(self.poll_timeout())
    }
}
