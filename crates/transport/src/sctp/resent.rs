//! `Resent`: the latest retransmissions of a sender. A report of duplicates shows which of them
//! were spurious (RFC 9260 s3.3.4, RFC 3708 s3).

use base::PathId;
use std::collections::VecDeque;
use wire::sctp::Tsn;

/// Retransmissions that are remembered: a report of a duplicate comes within a few round trips.
const MOST: usize = 256;

/// The latest retransmissions, in the order of their sending.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Resent {
    latest: VecDeque<(Tsn, PathId)>,
}

impl Resent {
    /// A chunk is sent again on `path`.
    pub(super) fn note(&mut self, tsn: Tsn, path: PathId) {
        if self.latest.len() == MOST {
            self.latest.pop_front();
        }
        self.latest.push_back((tsn, path));
    }

    /// A chunk arrived twice: the path of its latest retransmission, which is forgotten; `None` if
    /// there was none, or not of late.
    pub(super) fn take(&mut self, tsn: Tsn) -> Option<PathId> {
        let at = self.latest.iter().rposition(|(known, _)| *known == tsn)?;
        self.latest.remove(at).map(|(_, path)| path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_retransmission_is_spurious_once_and_old_ones_are_forgotten() {
        let mut resent = Resent::default();
        resent.note(Tsn(7), PathId(0));
        resent.note(Tsn(7), PathId(1));
        assert_eq!(resent.take(Tsn(7)), Some(PathId(1)));
        assert_eq!(resent.take(Tsn(7)), Some(PathId(0)));
        assert_eq!(resent.take(Tsn(7)), None);
        for tsn in 0..=MOST as u32 {
            resent.note(Tsn(tsn), PathId(0));
        }
        assert_eq!((resent.take(Tsn(0)), resent.take(Tsn(1))), (None, Some(PathId(0))));
    }
}
