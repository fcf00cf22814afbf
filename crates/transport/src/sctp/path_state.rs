//! `PathStates`: which destinations work (RFC 9260 s8, RFC 7829), and where data go.
//!
//! States and error counters; timers, heartbeats and windows are left to the association, which
//! reports what they observe.

use base::PathId;

/// State of a destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathState {
    /// Its address is not verified: no data go there (RFC 9260 s5.4).
    Unconfirmed,
    /// It works.
    Active,
    /// It may have failed (RFC 7829 s5).
    PotentiallyFailed,
    /// It has failed.
    Inactive,
}

/// Limits of error counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FailureLimits {
    /// Path.Max.Retrans: with more errors a path is inactive.
    pub path: u32,
    /// PotentiallyFailed.Max.Retrans: with more errors a path may have failed; `None` without RFC
    /// 7829.
    pub potentially_failed: Option<u32>,
    /// Primary.Switchover.Max.Retrans: with more errors another path becomes the primary for good.
    pub switchover: Option<u32>,
    /// Association.Max.Retrans: with more errors the peer is unreachable.
    pub association: u32,
}

/// What an error leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Consequence {
    /// The path is in another state: before and after.
    pub changed: Option<(PathState, PathState)>,
    /// Another path is the primary now.
    pub new_primary: Option<PathId>,
    /// The peer is unreachable: the association ends (RFC 9260 s8.1).
    pub unreachable: bool,
}

/// The destinations of an association.
#[derive(Clone, Debug)]
pub struct PathStates {
    limits: FailureLimits,
    paths: Vec<Destination>,
    primary: PathId,
    /// The primary whose address was deleted: it is the primary again when it is there and works.
    returning: Option<PathId>,
    /// Errors of the association since data or a heartbeat were acknowledged.
    errors: u32,
    /// Paths that are not confirmed are usable.
    trusting: bool,
}

#[derive(Clone, Copy, Debug)]
struct Destination {
    state: PathState,
    errors: u32,
    /// Number of acknowledgements of all paths when this one was last known to work.
    last_alive: u64,
    /// One of its addresses was deleted: it carries nothing.
    deleted: bool,
}

/// Error counters of dormant paths grow up to this multiple of the limit, to compare them (RFC 7829
/// s6).
const DORMANT_LIMITS: u32 = 10;

impl PathState {
    /// The name of the state, as RFC 9260 s5.4 and RFC 7829 s3 have it.
    pub const fn name(self) -> &'static str {
        match self {
            PathState::Unconfirmed => "UNCONFIRMED",
            PathState::Active => "ACTIVE",
            PathState::PotentiallyFailed => "PF",
            PathState::Inactive => "INACTIVE",
        }
    }
}

impl FailureLimits {
    /// The recommended values of RFC 9260 s16, with PFMR 0 of RFC 7829 s5.
    pub const RFC_9260: FailureLimits =
        FailureLimits { path: 5, potentially_failed: Some(0), switchover: None, association: 10 };
}

impl PathStates {
    /// Paths in their order, each confirmed or not; the first is the primary.
    pub fn new(limits: FailureLimits, confirmed: &[bool]) -> Self {
        let destination = |confirmed: &bool| Destination {
            state: if *confirmed { PathState::Active } else { PathState::Unconfirmed },
            errors: 0,
            last_alive: 0,
            deleted: false,
        };
        let paths = confirmed.iter().map(destination).collect();
        PathStates {
            limits,
            paths,
            primary: PathId(0),
            returning: None,
            errors: 0,
            trusting: false,
        }
    }

    /// The same, and new data of several paths may go to those that are not confirmed.
    pub const fn trusting(mut self, trusting: bool) -> Self {
        self.trusting = trusting;
        self
    }

    /// State of a path.
    pub fn state(&self, path: PathId) -> Option<PathState> {
        self.paths.get(path.index()).map(|path| path.state)
    }

    /// Whether the address of a path is verified.
    pub fn is_confirmed(&self, path: PathId) -> bool {
        self.state(path).is_some_and(|state| state != PathState::Unconfirmed)
    }

    /// Adds a path that is not confirmed.
    pub fn add(&mut self) {
        let state = PathState::Unconfirmed;
        self.paths.push(Destination { state, errors: 0, last_alive: 0, deleted: false });
    }

    /// Errors of a path since it was last known to work.
    pub fn errors(&self, path: PathId) -> u32 {
        self.paths.get(path.index()).map_or(0, |path| path.errors)
    }

    /// The primary path.
    pub const fn primary(&self) -> PathId {
        self.primary
    }

    /// Makes a confirmed path the primary; returns whether it is.
    pub fn set_primary(&mut self, path: PathId) -> bool {
        let is_confirmed = self.state(path).is_some_and(|state| state != PathState::Unconfirmed);
        if is_confirmed {
            (self.primary, self.returning) = (path, None);
        }
        is_confirmed
    }

    /// T3-rtx expired on `path` (RFC 9260 s8.1 and s8.2), or a heartbeat to it was not answered.
    /// `counts`: the error is one of the association, too; unanswered heartbeats of a path that
    /// carries no data are not.
    pub fn on_error(&mut self, path: PathId, counts: bool) -> Consequence {
        let unreachable = if counts { self.on_association_error() } else { self.is_unreachable() };
        let limits = self.limits;
        let Some(destination) = self.paths.get_mut(path.index()) else {
            return Consequence { changed: None, new_primary: None, unreachable };
        };
        destination.errors = (destination.errors + 1).min(DORMANT_LIMITS * limits.path.max(1));
        let before = destination.state;
        let errors = destination.errors;
        let may_have_failed = limits.potentially_failed.is_some_and(|limit| errors > limit);
        destination.state = match before {
            // Only a heartbeat that returns makes the address one that data may go to.
            PathState::Unconfirmed => before,
            _ if errors > limits.path => PathState::Inactive,
            PathState::Active if may_have_failed => PathState::PotentiallyFailed,
            _ => before,
        };
        let after = destination.state;
        let new_primary = self.switch_over(path, errors);
        let changed = (before != after).then_some((before, after));
        Consequence { changed, new_primary, unreachable }
    }

    /// An error of the association that is none of a path; returns whether the peer is unreachable
    /// (RFC 9260 s8.1).
    pub const fn on_association_error(&mut self) -> bool {
        self.errors += 1;
        self.is_unreachable()
    }

    const fn is_unreachable(&self) -> bool {
        self.errors > self.limits.association
    }

    /// A path cannot be used, as its interface says; returns its states before and after if they
    /// differ.
    pub fn fail(&mut self, path: PathId) -> Option<(PathState, PathState)> {
        let limit = self.limits.path;
        let destination = self.paths.get_mut(path.index())?;
        let before = destination.state;
        if matches!(before, PathState::Unconfirmed | PathState::Inactive) {
            return None;
        }
        (destination.state, destination.errors) = (PathState::Inactive, limit + 1);
        Some((before, PathState::Inactive))
    }

    /// An address of a path was deleted, or is there again: it must be verified before it carries
    /// data. Another path is the primary until then.
    pub fn set_deleted(&mut self, path: PathId, deleted: bool) {
        let Some(destination) = self.paths.get_mut(path.index()) else { return };
        if destination.deleted == deleted {
            return;
        }
        destination.deleted = deleted;
        (destination.state, destination.errors) = (PathState::Unconfirmed, 0);
        if self.primary == path
            && let Some(next) = self.data_path()
        {
            self.primary = next;
            self.returning.get_or_insert(path);
        }
    }

    /// Whether an address of a path was deleted.
    pub fn is_deleted(&self, path: PathId) -> bool {
        self.paths.get(path.index()).is_some_and(|path| path.deleted)
    }

    /// A heartbeat to `path` was answered, or a chunk was acknowledged that was sent once and to
    /// this path only (RFC 9260 s8.2 and s8.3); returns its states before and after if they differ.
    pub fn on_alive(&mut self, path: PathId) -> Option<(PathState, PathState)> {
        self.errors = 0;
        let newest = self.paths.iter().map(|path| path.last_alive).max().unwrap_or(0);
        let destination = self.paths.get_mut(path.index())?;
        let before = destination.state;
        let last_alive = newest + 1;
        if destination.deleted {
            return None;
        }
        *destination =
            Destination { state: PathState::Active, errors: 0, last_alive, deleted: false };
        if self.returning.take_if(|returning| *returning == path).is_some() {
            self.primary = path;
        }
        (before != PathState::Active).then_some((before, PathState::Active))
    }

    /// Data were acknowledged that were sent to several paths, or more than once: the association
    /// works, whatever path it was (RFC 9260 s8.1).
    pub const fn on_acknowledged(&mut self) {
        self.errors = 0;
    }

    /// The path that data go to: the primary if it is active, else the active path that follows it,
    /// else the one with the fewest errors that may have failed, else the inactive one with the
    /// fewest errors (RFC 7829 s5 and s6). `None` if none is confirmed.
    pub fn data_path(&self) -> Option<PathId> {
        if self.state(self.primary) == Some(PathState::Active) {
            return Some(self.primary);
        }
        self.best_from(self.primary, None)
    }

    /// Whether data may go to a path while they go to several: it is active, or it is the one that
    /// is used while none is.
    pub fn is_usable(&self, path: PathId) -> bool {
        let is_active = |path: &Destination| path.state == PathState::Active;
        match self.state(path) {
            Some(PathState::Active) => true,
            Some(PathState::PotentiallyFailed | PathState::Inactive) => {
                !self.paths.iter().any(is_active) && self.data_path() == Some(path)
            }
            Some(PathState::Unconfirmed) => self.trusting && !self.is_deleted(path),
            None => false,
        }
    }

    /// The path for a retransmission of what was lost on `path`: another active one if there is
    /// one (RFC 9260 s6.4.1).
    pub fn alternative(&self, path: PathId) -> Option<PathId> {
        self.best_from(path, Some(path)).or(self.data_path())
    }

    /// The path for a retransmission of what was lost on `path` while no path is active: the one
    /// with the fewest errors, which may be `path` itself (RFC 7829 s5 and s6).
    pub fn fewest_errors(&self, path: PathId) -> Option<PathId> {
        self.best_from(PathId(path.0.wrapping_add(1)), None)
    }

    /// The best path without `excluded`; of equal ones the first behind `from`, itself included.
    fn best_from(&self, from: PathId, excluded: Option<PathId>) -> Option<PathId> {
        let count = self.paths.len();
        let in_turn = (0..count).map(|i| (from.index() + i) % count);
        let usable = in_turn.filter(|i| {
            self.paths[*i].state != PathState::Unconfirmed
                && excluded.is_none_or(|excluded| excluded.index() != *i)
        });
        let rank = |i: &usize| {
            let Destination { state, errors, last_alive, .. } = self.paths[*i];
            match state {
                PathState::Active => (0, 0, 0),
                // Of those that failed equally often the one most recently active.
                PathState::PotentiallyFailed => (1, errors, u64::MAX - last_alive),
                PathState::Inactive | PathState::Unconfirmed => (2, errors, 0),
            }
        };
        usable.min_by_key(rank).map(|i| PathId(i as u8))
    }

    /// Another path becomes the primary if `path` was it and has too many errors (RFC 7829 s5 8).
    fn switch_over(&mut self, path: PathId, errors: u32) -> Option<PathId> {
        if path != self.primary || self.limits.switchover.is_none_or(|limit| errors <= limit) {
            return None;
        }
        let next = self.best_from(path, Some(path))?;
        let is_better = self.state(next) == Some(PathState::Active);
        is_better.then(|| {
            (self.primary, self.returning) = (next, None);
            next
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sctp::{Rto, RtoBounds};

    const A: PathId = PathId(0);
    const B: PathId = PathId(1);
    const C: PathId = PathId(2);
    const PMR: FailureLimits =
        FailureLimits { potentially_failed: None, ..FailureLimits::RFC_9260 };

    fn states(limits: FailureLimits) -> PathStates {
        PathStates::new(limits, &[true, true, true])
    }

    #[test]
    fn dead_primary_may_have_failed_after_1_s_and_has_after_63_s() {
        let mut states = PathStates::new(FailureLimits::RFC_9260, &[true, true]);
        let mut rto = Rto::new(RtoBounds::RFC_9260);
        let (mut seconds, mut changes) = (0, vec![]);
        while states.state(A) != Some(PathState::Inactive) {
            seconds += rto.rto().as_nanos() / 1_000_000_000;
            let consequence = states.on_error(A, false);
            rto.back_off();
            changes.extend(consequence.changed.map(|(_, after)| (seconds, after)));
            assert_eq!(states.data_path(), Some(B));
        }
        assert_eq!(changes, [(1, PathState::PotentiallyFailed), (63, PathState::Inactive)]);
    }

    #[test]
    fn without_rfc_7829_the_primary_is_used_until_it_has_failed() {
        let mut states = states(PMR);
        for _ in 0..5 {
            assert_eq!(states.on_error(A, true).changed, None);
            assert_eq!(states.data_path(), Some(A));
        }
        let changed = Some((PathState::Active, PathState::Inactive));
        assert_eq!(states.on_error(A, true).changed, changed);
        assert_eq!(states.data_path(), Some(B));
        assert_eq!(states.on_alive(A), Some((PathState::Inactive, PathState::Active)));
        assert_eq!((states.data_path(), states.errors(A)), (Some(A), 0), "the primary returns");
    }

    #[test]
    fn retransmissions_go_to_another_active_path() {
        let mut states = states(FailureLimits::RFC_9260);
        assert_eq!(states.alternative(A), Some(B));
        assert_eq!(states.alternative(C), Some(A));
        states.on_error(B, true);
        assert_eq!(states.alternative(A), Some(C));
        let single = PathStates::new(FailureLimits::RFC_9260, &[true]);
        assert_eq!(single.alternative(A), Some(A), "there is no other");
    }

    /// Regression: what was lost on the path with the fewest errors was sent again on another one,
    /// which was dead.
    #[test]
    fn retransmissions_go_to_the_path_with_the_fewest_errors_while_none_is_active() {
        let mut states = PathStates::new(FailureLimits::RFC_9260, &[true, true]);
        (0..3).for_each(|_| _ = states.on_error(A, true));
        states.on_error(B, true);
        assert_eq!((states.fewest_errors(B), states.fewest_errors(A)), (Some(B), Some(B)));
        for path in [A, B] {
            (0..7).for_each(|_| _ = states.on_error(path, false));
        }
        assert_eq!(states.fewest_errors(B), Some(B), "both are inactive");
        (0..2).for_each(|_| _ = states.on_error(B, false));
        assert_eq!((states.fewest_errors(B), states.fewest_errors(A)), (Some(A), Some(B)));
    }

    #[test]
    fn if_all_paths_may_have_failed_the_one_with_the_fewest_errors_is_used() {
        let mut states = states(FailureLimits::RFC_9260);
        states.on_alive(B);
        states.on_alive(C);
        for (path, errors) in [(A, 3), (B, 2), (C, 2)] {
            (0..errors).for_each(|_| _ = states.on_error(path, false));
        }
        assert_eq!(states.data_path(), Some(C), "the most recently active one");
        states.on_error(C, false);
        assert_eq!(states.data_path(), Some(B));
    }

    #[test]
    fn dormant_association_uses_the_inactive_path_with_the_fewest_errors() {
        let mut states = states(FailureLimits::RFC_9260);
        for (path, errors) in [(A, 200), (B, 8), (C, 7)] {
            (0..errors).for_each(|_| _ = states.on_error(path, false));
        }
        assert_eq!(states.data_path(), Some(C));
        assert_eq!(states.state(C), Some(PathState::Inactive), "using it does not change it");
        assert_eq!(states.errors(A), 50);
    }

    #[test]
    fn unconfirmed_path_carries_no_data_until_a_heartbeat_returns() {
        let mut states = PathStates::new(FailureLimits::RFC_9260, &[true, false]);
        assert!(!states.set_primary(B));
        for _ in 0..20 {
            assert_eq!(states.on_error(B, false).changed, None, "failing does not confirm it");
        }
        (0..30).for_each(|_| _ = states.on_error(A, false));
        assert_eq!((states.data_path(), states.alternative(A)), (Some(A), Some(A)));
        assert_eq!(states.on_alive(B), Some((PathState::Unconfirmed, PathState::Active)));
        assert_eq!(states.data_path(), Some(B));
        assert!(states.set_primary(B));
        let none = PathStates::new(FailureLimits::RFC_9260, &[false]);
        assert_eq!(none.data_path(), None);
    }

    #[test]
    fn trusting_association_uses_unconfirmed_paths_for_new_data_alone() {
        let mut states = PathStates::new(FailureLimits::RFC_9260, &[true, false]);
        assert!(states.is_usable(A) && !states.is_usable(B));
        states = states.trusting(true);
        assert!(states.is_usable(A) && states.is_usable(B));
        assert_eq!((states.data_path(), states.alternative(A)), (Some(A), Some(A)));
        states.set_deleted(B, true);
        assert!(!states.is_usable(B));
    }

    #[test]
    fn peer_is_unreachable_after_more_than_10_errors_in_a_row() {
        let mut states = states(FailureLimits::RFC_9260);
        for _ in 0..10 {
            assert!(!states.on_error(A, true).unreachable);
        }
        states.on_acknowledged();
        for _ in 0..10 {
            assert!(!states.on_error(B, true).unreachable);
        }
        assert!(!states.on_error(C, false).unreachable, "a heartbeat of an idle path");
        assert!(states.on_error(B, true).unreachable);
    }

    #[test]
    fn primary_that_was_deleted_is_the_primary_again_when_it_works_again() {
        let mut states = states(FailureLimits::RFC_9260);
        states.set_deleted(A, true);
        assert_eq!((states.primary(), states.data_path()), (B, Some(B)));
        states.set_deleted(B, true);
        states.set_deleted(A, false);
        assert_eq!(states.primary(), C, "its address is not verified");
        states.on_alive(A);
        assert_eq!((states.primary(), states.data_path()), (A, Some(A)));
        // The user's choice in the meantime stands.
        states.set_deleted(A, true);
        assert!(states.set_primary(C));
        states.set_deleted(A, false);
        states.on_alive(A);
        assert_eq!(states.primary(), C);
    }

    #[test]
    fn primary_with_too_many_errors_is_replaced_for_good() {
        let switchover = Some(1);
        let mut states = states(FailureLimits { switchover, ..FailureLimits::RFC_9260 });
        assert_eq!(states.on_error(A, true).new_primary, None);
        assert_eq!(states.on_error(A, true).new_primary, Some(B));
        states.on_alive(A);
        assert_eq!((states.primary(), states.data_path()), (B, Some(B)));
    }
}
