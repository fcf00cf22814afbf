//! `SendRound`: the order in which paths send as much as their windows allow.

use super::config::SendAllKey;
use base::{Instant, PathId};
use std::hint::cold_path;

/// What a path is sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sctp) struct PathKey {
    pub path: PathId,
    /// The last time that data were sent.
    pub last_sent: Instant,
    /// In bytes; `u64::MAX` while infinite.
    pub ssthresh: u64,
    /// Room in the congestion window, in bytes.
    pub space: u64,
    pub random: u64,
}

/// Paths that may still send before the next event.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::sctp) struct SendRound {
    /// In reverse.
    left: Vec<Turn>,
    /// The path that sends first in the next round.
    first: Option<PathId>,
    /// The turn has just begun.
    is_fresh: bool,
}

/// A path that may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Turn {
    path: PathId,
    /// Its last packet need not fit the window.
    overshoots: bool,
    rank: Rank,
}

/// The path with the lowest rank sends first.
type Rank = (u64, u64);

impl PathKey {
    const fn rank(&self, key: SendAllKey) -> Rank {
        match key {
            SendAllKey::Normal => (0, 0),
            SendAllKey::LastTx => (self.last_sent.as_nanos(), 0),
            SendAllKey::Random => (self.random, 0),
            SendAllKey::Ssthresh => (!self.ssthresh, 0),
            SendAllKey::Space => (!self.space, 0),
            SendAllKey::SsthreshSpace => (!self.ssthresh, !self.space),
        }
    }
}

impl SendRound {
    /// In the next round `path` sends first, if it can.
    pub(in crate::sctp) const fn lead(&mut self, path: PathId) {
        self.first = Some(path);
    }

    /// In the next round `path` sends first, if no other does.
    pub(in crate::sctp) fn lead_else(&mut self, path: PathId) {
        self.first.get_or_insert(path);
    }

    /// A path sends in the round that is going to begin: in the order of `key`, equal ones in that
    /// of the calls.
    pub(in crate::sctp) fn add(&mut self, key: SendAllKey, path: &PathKey) {
        let rank = path.rank(key);
        let mut place = self.left.len();
        self.left.push(Turn { path: path.path, overshoots: true, rank });
        while place > 0 && self.left[place - 1].rank <= rank {
            self.left.swap(place - 1, place);
            place -= 1;
        }
    }

    /// The round begins. `strict`: only what fits the windows is sent, and a second round has the
    /// rest.
    pub(in crate::sctp) fn begin(&mut self, strict: bool) {
        if let Some(first) = self.first.take()
            && let Some(place) = self.left.iter().position(|turn| turn.path == first)
        {
            self.left[place..].rotate_left(1);
        }
        if strict {
            cold_path();
            let paths = self.left.len();
            self.left.extend_from_within(..);
            self.left[paths..].iter_mut().for_each(|turn| turn.overshoots = false);
        }
        self.is_fresh = true;
    }

    /// A round over no path.
    pub(in crate::sctp) const fn skip(&mut self) {
        self.first = None;
    }

    /// Whether no round has begun, and no path leads the next one.
    pub(in crate::sctp) const fn is_still(&self) -> bool {
        self.left.is_empty() && self.first.is_none()
    }

    /// The path that sends now; `None`: the round is over.
    pub(in crate::sctp) fn current(&self) -> Option<PathId> {
        self.left.last().map(|turn| turn.path)
    }

    /// Whether a packet may be larger than what is left of the window.
    pub(in crate::sctp) fn overshoots(&self) -> bool {
        self.left.last().is_none_or(|turn| turn.overshoots)
    }

    /// Whether the turn has just begun, which is said once.
    pub(in crate::sctp) const fn take_fresh(&mut self) -> bool {
        std::mem::replace(&mut self.is_fresh, false)
    }

    /// The path that sends now can send no more.
    pub(in crate::sctp) fn advance(&mut self) {
        self.left.pop();
        self.is_fresh = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_paths_and_keep_the_list_for_equal_ones() {
        let path = |number: u8, last: u64, ssthresh, space, random| PathKey {
            path: PathId(number),
            last_sent: Instant::from_millis(last),
            ssthresh,
            space,
            random,
        };
        let paths = [path(0, 9, 5, 1, 7), path(1, 3, 9, 4, 2), path(2, 3, 9, 8, 5)];
        for (key, expected) in [
            (SendAllKey::Normal, [0, 1, 2]),
            (SendAllKey::LastTx, [1, 2, 0]),
            (SendAllKey::Random, [1, 2, 0]),
            (SendAllKey::Ssthresh, [1, 2, 0]),
            (SendAllKey::Space, [2, 1, 0]),
            (SendAllKey::SsthreshSpace, [2, 1, 0]),
        ] {
            let mut round = SendRound::default();
            paths.iter().for_each(|path| round.add(key, path));
            round.begin(false);
            let mut order = Vec::new();
            while let Some(path) = round.current() {
                order.push(path.0);
                round.advance();
            }
            assert_eq!(order, expected, "{key:?}");
        }
    }

    #[test]
    fn path_that_leads_is_first_and_strict_booking_has_two_rounds() {
        let path = |number: u8| PathKey {
            path: PathId(number),
            last_sent: Instant::ZERO,
            ssthresh: 0,
            space: 0,
            random: 0,
        };
        let mut round = SendRound::default();
        round.lead(PathId(1));
        let turns = |round: &mut SendRound, strict| {
            (0..3).for_each(|number| round.add(SendAllKey::Normal, &path(number)));
            round.begin(strict);
            let mut turns = Vec::new();
            while let Some(path) = round.current() {
                assert!(round.take_fresh() && !round.take_fresh());
                turns.push((path.0, round.overshoots()));
                round.advance();
            }
            turns
        };
        assert_eq!(turns(&mut round, false), [(1, true), (0, true), (2, true)]);
        round.lead_else(PathId(2));
        assert_eq!(turns(&mut round, false), [(2, true), (0, true), (1, true)]);
        round.lead(PathId(1));
        round.lead_else(PathId(2));
        assert_eq!(turns(&mut round, false)[0], (1, true), "another one leads");
        let strict = [(0, false), (1, false), (2, false), (0, true), (1, true), (2, true)];
        assert_eq!(turns(&mut round, true), strict, "nothing leads a second time");
    }
}
