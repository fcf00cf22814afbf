//! Packets of a connection in the queue of the network interface, which TCP Small Queues bounds
//! (Linux `tcp_small_queue_check`).

/// The share of the interface's queue that one connection has.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct NicQueue {
    /// IP bytes sent to the interface that have not left it.
    bytes: u64,
    /// IP length of the last packet that was made.
    pub last_len: u32,
    /// The queue kept new data from being sent.
    throttled: bool,
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

    /// Whether more than `limit` bytes are queued.
    pub(crate) const fn exceeds(&self, limit: u64) -> bool {
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
        assert!(queue.exceeds(2999) && !queue.exceeds(3000));
        assert!(!queue.release(3000), "nothing waits");
        queue.throttle();
        queue.on_departed(1000);
        assert!(!queue.release(1999));
        assert!(queue.release(2000) && !queue.release(2000));
    }
}
