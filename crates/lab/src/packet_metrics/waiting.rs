//! Bytes that wait at the receiver for earlier ones: mean over time, and most.

use base::{Duration, Instant, SocketId};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    held: BTreeMap<SocketId, u64>,
    total: u64,
    most: u64,
    /// Bytes times nanoseconds.
    area: u128,
    since: Option<Instant>,
    time: Duration,
}

impl Waiting {
    /// A segment arrived: time counts from the first one to the last one.
    pub(super) fn arrive(&mut self, now: Instant) {
        let passed = now - *self.since.get_or_insert(now);
        self.area += u128::from(self.total) * u128::from(passed.as_nanos());
        self.time += passed;
        self.since = Some(now);
    }

    /// So many bytes of a connection wait from now on.
    pub(super) fn hold(&mut self, now: Instant, socket: SocketId, bytes: u64) {
        self.arrive(now);
        let before = self.held.insert(socket, bytes).unwrap_or(0);
        self.total = self.total - before + bytes;
        self.most = self.most.max(self.total);
    }

    /// Mean and most, in bytes.
    pub(super) fn bytes(&self) -> [f64; 2] {
        let nanos = self.time.as_nanos().max(1) as f64;
        [self.area as f64 / nanos, self.most as f64]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_is_over_time() {
        let mut of = Waiting::default();
        of.arrive(Instant::from_millis(100));
        of.hold(Instant::from_millis(110), SocketId(0), 1_000);
        of.hold(Instant::from_millis(120), SocketId(1), 500);
        of.hold(Instant::from_millis(140), SocketId(0), 0);
        of.hold(Instant::from_millis(150), SocketId(1), 0);
        of.arrive(Instant::from_millis(200));
        // 10 ms of 1000, 20 ms of 1500 and 10 ms of 500 bytes in 100 ms.
        assert_eq!(of.bytes(), [450.0, 1_500.0]);
    }
}
