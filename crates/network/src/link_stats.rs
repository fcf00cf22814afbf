//! Counters of a link.

use crate::queue::Backlog;
use base::DropReason;

/// Counters of a link. At any time
/// `accepted + duplicated = delivered + lost + dropped_queued + Link::in_transit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct LinkStats {
    /// Packets that arrived, copies included.
    pub delivered: u64,
    /// IP bytes of the packets in `delivered`.
    pub bytes_delivered: u64,
    /// IP bytes of the packets in `accepted`.
    pub bytes_accepted: u64,
    /// Packets accepted into the queue.
    pub accepted: u64,
    /// Largest backlog.
    pub max_backlog: Backlog,
    /// Packets refused because the queue was full.
    pub dropped_full: u64,
    /// Packets dropped early by the discipline on arrival (RED).
    pub dropped_early: u64,
    /// Packets refused because the link was down.
    pub dropped_down: u64,
    /// Accepted packets that the discipline dropped from the queue (CoDel, FQ-CoDel), early or
    /// because it was full.
    pub dropped_queued: u64,
    /// Accepted packets that were lost at random after their service.
    pub lost: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Packets damaged.
    pub corrupted: u64,
}

impl LinkStats {
    /// Count a packet that was accepted and delivered.
    pub(crate) const fn count_passed(&mut self, len: u32) {
        self.accepted += 1;
        self.delivered += 1;
        self.bytes_accepted += len as u64;
        self.bytes_delivered += len as u64;
    }

    /// Count a packet that was not accepted.
    pub(crate) const fn count_refused(&mut self, reason: DropReason) {
        match reason {
            DropReason::Down => self.dropped_down += 1,
            DropReason::Early => self.dropped_early += 1,
            _ => self.dropped_full += 1,
        }
    }
}
