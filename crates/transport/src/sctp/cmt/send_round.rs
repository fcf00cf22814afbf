//! `SendRound`: the order in which paths send as much as their windows allow.

use super::config::SendAllKey;
use base::{Instant, PathId};
use std::cmp::Reverse;

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
    left: Vec<PathId>,
}

impl SendRound {
    /// A round over these paths begins, in the order of `key`; equal ones in that of the list.
    pub(in crate::sctp) fn begin(&mut self, key: SendAllKey, paths: &mut [PathKey]) {
        debug_assert!(self.left.is_empty(), "the round before is over");
        match key {
            SendAllKey::Normal => {}
            SendAllKey::LastTx => paths.sort_by_key(|path| path.last_sent),
            SendAllKey::Random => paths.sort_by_key(|path| path.random),
            SendAllKey::Ssthresh => paths.sort_by_key(|path| Reverse(path.ssthresh)),
            SendAllKey::Space => paths.sort_by_key(|path| Reverse(path.space)),
            SendAllKey::SsthreshSpace => {
                paths.sort_by_key(|path| Reverse((path.ssthresh, path.space)));
            }
        }
        self.left.extend(paths.iter().rev().map(|path| path.path));
    }

    /// The path that sends now; `None`: the round is over.
    pub(in crate::sctp) fn current(&self) -> Option<PathId> {
        self.left.last().copied()
    }

    /// The path that sends now can send no more.
    pub(in crate::sctp) fn advance(&mut self) {
        self.left.pop();
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
            round.begin(key, &mut paths.clone());
            let mut order = Vec::new();
            while let Some(path) = round.current() {
                order.push(path.0);
                round.advance();
            }
            assert_eq!(order, expected, "{key:?}");
        }
    }
}
