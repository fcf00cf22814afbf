//! Counters of a link.

use crate::queue::Backlog;
use base::DropReason;

/// Counters of a link. At any time
/// `accepted + duplicated = delivered + lost + dropped_queued + Link::in_transit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
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
    /// Packets in `dropped_queued` that were dropped because the queue was full.
    pub shed: u64,
    /// Accepted packets that were lost at random after their service.
    pub lost: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Packets damaged.
    pub corrupted: u64,
}

/// Packets that arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivered {
    pub packets: u64,
    pub bytes: u64,
}

/// Packets that were accepted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub packets: u64,
    pub bytes: u64,
    pub max_backlog: Backlog,
}

/// What happens to few packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mishaps {
    pub dropped_full: u64,
    pub dropped_early: u64,
    pub dropped_down: u64,
    pub dropped_queued: u64,
    pub shed: u64,
    pub lost: u64,
    pub duplicated: u64,
    pub corrupted: u64,
}

impl LinkStats {
    /// Packets dropped because the queue was full, on arrival or from the queue.
    pub const fn of_full_queue(&self) -> u64 {
        self.dropped_full + self.shed
    }

    /// Packets dropped early by the discipline, on arrival or from the queue.
    pub const fn early(&self) -> u64 {
        self.dropped_early + self.dropped_queued - self.shed
    }

    /// The counters that a link has in different places.
    pub(crate) const fn of(delivered: &Delivered, taken: &Taken, mishaps: &Mishaps) -> Self {
        LinkStats {
            delivered: delivered.packets,
            bytes_delivered: delivered.bytes,
            bytes_accepted: taken.bytes,
            accepted: taken.packets,
            max_backlog: taken.max_backlog,
            dropped_full: mishaps.dropped_full,
            dropped_early: mishaps.dropped_early,
            dropped_down: mishaps.dropped_down,
            dropped_queued: mishaps.dropped_queued,
            shed: mishaps.shed,
            lost: mishaps.lost,
            duplicated: mishaps.duplicated,
            corrupted: mishaps.corrupted,
        }
    }
}

impl Delivered {
    pub(crate) const fn count(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += len as u64;
    }
}

impl Taken {
    /// Counts a packet; returns its place in the order of acceptance.
    pub(crate) const fn count(&mut self, len: u32) -> u64 {
        let number = self.packets;
        self.packets += 1;
        self.bytes += len as u64;
        number
    }
}

impl Mishaps {
    /// Count a packet that was not accepted.
    pub(crate) const fn count_refused(&mut self, reason: DropReason) {
        match reason {
            DropReason::Down => self.dropped_down += 1,
            DropReason::Early => self.dropped_early += 1,
            _ => self.dropped_full += 1,
        }
    }
}
