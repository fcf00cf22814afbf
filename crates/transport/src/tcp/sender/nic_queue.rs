//! Packets of a connection in the queue of the network interface, which TCP Small Queues bounds
//! (Linux `tcp_small_queue_check`).
//!
//! The interface reports that a packet left it, or when it will leave. In the second case the
//! packet is counted until the first call of `settle` after that time.

use crate::endpoint::KNOWN_DEPARTURES;
use base::Instant;

/// The share of the interface's queue that one connection has.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct NicQueue {
    /// IP bytes sent to the interface that have not left it by the last call of `settle`.
    bytes: u64,
    /// IP length of the last packet that was made.
    pub last_len: u32,
    /// The queue kept new data from being sent.
    throttled: bool,
    /// The number of packets of which it is known when they leave.
    known: u8,
    /// These, in order. Connections need them only where such packets are.
    leaving: Option<Box<[Leaving; KNOWN_DEPARTURES]>>,
}

/// A packet that leaves the interface at a known time.
#[derive(Clone, Copy, Debug, Default)]
struct Leaving {
    at: Instant,
    bytes: u32,
}

impl NicQueue {
    /// A packet of `bytes` was sent to the interface.
    pub(crate) const fn on_packet(&mut self, bytes: u32) {
        self.bytes += bytes as u64;
    }

    /// `bytes` left the interface.
    pub(crate) const fn on_departed(&mut self, bytes: u32) {
        self.bytes = self.bytes.saturating_sub(bytes as u64);
    }

    /// The last packet will leave the interface at `at`.
    #[inline]
    pub(crate) fn on_departure_known(&mut self, departed_by: Instant, at: Instant) {
        // Two packets leave between two calls of `settle`: it is called seldom.
        if usize::from(self.known) == KNOWN_DEPARTURES {
            self.settle(departed_by);
        }
        let Some(leaving) = &mut self.leaving else { return self.on_first_known(departed_by, at) };
        if let Some(place) = leaving.get_mut(usize::from(self.known)) {
            *place = Leaving { at, bytes: self.last_len };
            self.known += 1;
        } else {
            debug_assert!(false, "more departures than `KNOWN_DEPARTURES`");
            self.on_departed(self.last_len);
        }
    }

    #[cold]
    fn on_first_known(&mut self, departed_by: Instant, at: Instant) {
        self.leaving = Some(Box::default());
        self.on_departure_known(departed_by, at);
    }

    /// Counts what left by `departed_by` no more.
    #[inline(never)]
    pub(crate) fn settle(&mut self, departed_by: Instant) {
        let Some(leaving) = &mut self.leaving else { return };
        let known = leaving[..usize::from(self.known)].iter();
        let left = known.take_while(|packet| packet.at <= departed_by).count();
        let bytes = leaving[..left].iter().map(|packet| u64::from(packet.bytes)).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
        leaving.copy_within(left.., 0);
        self.known -= left as u8;
    }

    /// Whether it waits for packets of which it is known when they leave.
    pub(crate) const fn waits_for_known(&self) -> bool {
        self.throttled && self.known > 0
    }

    /// Departures after `departed_by` will be reported: they are not known in advance any more.
    pub(crate) fn forget_departures(&mut self, departed_by: Instant) {
        self.settle(departed_by);
        self.known = 0;
    }

    /// Whether more than `limit` bytes are queued.
    #[inline]
    pub(crate) fn exceeds(&mut self, limit: u64, departed_by: Instant) -> bool {
        if self.bytes > limit {
            self.settle(departed_by);
        }
        self.bytes > limit
    }

    /// New data have to wait for the queue.
    pub(crate) const fn throttle(&mut self) {
        self.throttled = true;
    }

    /// Whether new data wait for the queue.
    pub(crate) const fn is_throttled(&self) -> bool {
        self.throttled
    }

    /// Ends the wait if no more than `limit` bytes are queued; returns whether it ended.
    pub(crate) const fn release(&mut self, limit: u64) -> bool {
        let released = self.throttled && self.bytes <= limit;
        if released {
            self.throttled = false;
        }
        released
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttled_sender_is_released_once_at_the_limit() {
        let mut queue = NicQueue::default();
        queue.on_packet(1500);
        queue.on_packet(1500);
        let now = Instant::ZERO;
        assert!(queue.exceeds(2999, now) && !queue.exceeds(3000, now));
        assert!(!queue.release(3000), "nothing waits");
        queue.throttle();
        queue.on_departed(1000);
        assert!(!queue.release(1999));
        assert!(queue.release(2000) && !queue.release(2000));
    }

    #[test]
    fn packet_of_a_known_departure_counts_until_then() {
        let at = Instant::from_micros;
        let mut queue = NicQueue::default();
        for micros in [1, 2, 3] {
            queue.last_len = 1500;
            queue.on_packet(1500);
            queue.on_departure_known(at(0), at(micros));
        }
        assert!(queue.exceeds(4499, at(0)) && !queue.exceeds(4499, at(1)));
        queue.throttle();
        assert!(queue.waits_for_known());
        queue.forget_departures(at(2));
        assert!(!queue.exceeds(1500, at(3)), "those that left before do not count");
        assert!(!queue.waits_for_known() && queue.exceeds(1499, at(3)), "it will be reported");
    }
}
