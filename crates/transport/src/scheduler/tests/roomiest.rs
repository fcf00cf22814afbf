//! Roomiest: the scheduler that CONTRIBUTING.md adds as an example, in a file of its own.
//!
//! Decision rule (ours): of the paths `i` that can carry the segment on offer now, the one with the
//! largest `CWND_i - inflight_i`; the lowest number wins a tie. A path that had the segment before
//! comes last, and backups rest while others can send.

use crate::scheduler::{Decision, PathView, Scheduler, View};
use base::Blocked;
use std::cmp::Reverse;

/// The path with the most room.
#[derive(Clone, Debug)]
pub(super) struct Roomiest;

impl Scheduler for Roomiest {
    fn next(&mut self, view: &View<'_>) -> Decision {
        let Some(offer) = view.offered() else { return Decision::wait(Blocked::NothingToSend) };
        let has_active = view.has_active(&offer);
        let open = view
            .paths
            .iter()
            .filter(|path| path.is_available(&offer) && (path.is_active() || !has_active));
        let rank = |path: &&PathView| (offer.paths.contains(path.id), Reverse(path.free_segs()));
        match open.min_by_key(rank) {
            None => Decision::wait(view.why_blocked(&offer)),
            Some(path) if !offer.reinject && !view.fits_window(&offer, path) => {
                Decision::wait(Blocked::ReceiveWindow)
            }
            Some(path) => Decision::offer(path, &offer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::support::{Model, path};

    #[test]
    fn segment_goes_where_most_room_is() {
        let mut model = Model::new(vec![path(0, 10, 10, 6), path(1, 100, 8, 0)], 6);
        assert_eq!(model.push(&mut Roomiest), Blocked::NothingToSend);
        assert_eq!(model.sent, [1, 1, 1, 1, 0, 1], "the lowest number wins the tie");
    }

    #[test]
    fn no_room_anywhere_waits_for_a_window() {
        let mut model = Model::new(vec![path(0, 10, 10, 10), path(1, 100, 8, 8)], 1);
        assert_eq!(model.push(&mut Roomiest), Blocked::CongestionWindow);
    }
}
