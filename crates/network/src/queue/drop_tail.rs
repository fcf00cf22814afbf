//! Drop-tail: a packet that exceeds the limit is dropped.

use super::{Arrival, TailDiscipline};
use base::DropReason;

/// The simplest discipline; it has no state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DropTail;

impl TailDiscipline for DropTail {
    #[inline]
    fn admit(&mut self, arrival: &Arrival) -> Result<(), DropReason> {
        if arrival.idle_since.is_some() || arrival.room.fits(arrival.backlog, arrival.len) {
            Ok(())
        } else {
            Err(DropReason::QueueFull)
        }
    }
}
