//! Receive-buffer auto-tuning of a connection of several paths, as Linux 6.18 does it
//! (`mptcp_rcv_space_adjust`).
//!
//! The connection has one buffer, counted in memory, for the data taken from its paths: data that
//! wait for the reader and data that wait behind a gap of the connection. A reader that took more
//! in the longest round trip of all paths than in the one before enlarges it, and only then the
//! buffers of the paths follow. Gaps of the connection do not enlarge it. Payload and memory are
//! converted by the smallest ratio of all paths, which is updated at most once in a round trip and
//! a half before the first update. The part of the space that a path announces is determined by
//! what it has earned (`drs`).

use super::drs::{INITIAL_RATIO, RATIO_ONE, Sizing, target_window, without};
use base::{Duration, Instant};

/// The receive buffer of a connection of several paths.
#[derive(Clone, Debug)]
pub(crate) struct SharedBuffer {
    /// Bytes of memory.
    size: u32,
    max: u32,
    auto: bool,
    /// Payload per memory, in 1/256.
    ratio: u64,
    /// Memory of unread data.
    used: u64,
    /// Payload of unread data.
    queued: u64,
    /// Bytes that the reader took in a round trip, the base of growth; `None` before it took any.
    space: Option<u32>,
    /// Bytes that the reader took since `period_start`.
    copied: u64,
    period_start: Instant,
    /// The longest round trip in microseconds times 8; zero before a sample.
    rtt_us8: u64,
}

/// State of the reception on a path.
#[derive(Clone, Copy, Debug)]
pub struct Reception {
    /// Payload per memory, in 1/256.
    pub ratio: u64,
    /// The round trip as its receiver sees it, in microseconds times 8; zero before a sample.
    pub rtt_us8: u64,
}

/// Room in the buffer, in bytes of payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Space {
    /// What fits now.
    pub free: u32,
    /// What fits into the empty buffer.
    pub full: u32,
}

impl SharedBuffer {
    /// Grows from 131072 to `max` bytes of memory.
    pub(crate) fn auto(max: u32) -> Self {
        SharedBuffer::new(Sizing::Linux.initial().min(max), max, true)
    }

    /// Fixed at `size` bytes of memory.
    pub(crate) const fn fixed(size: u32) -> Self {
        SharedBuffer::new(size, size, false)
    }

    const fn new(size: u32, max: u32, auto: bool) -> Self {
        SharedBuffer {
            size,
            max,
            auto,
            ratio: INITIAL_RATIO,
            used: 0,
            queued: 0,
            space: None,
            copied: 0,
            period_start: Instant::ZERO,
            rtt_us8: 0,
        }
    }

    /// The first path is established.
    pub(crate) const fn on_established(&mut self, now: Instant) {
        self.period_start = now;
    }

    /// `len` bytes of payload were queued that take `truesize` bytes of memory.
    pub(crate) fn on_queued(&mut self, len: u32, truesize: u32) {
        self.used += u64::from(truesize);
        self.queued += u64::from(len);
    }

    /// The application read `len` bytes. `initial_space`: the base of growth if nothing was read
    /// before. Returns the number of bytes read in a round trip if the buffer grew: the buffers of
    /// the paths are to follow.
    pub(crate) fn on_read(
        &mut self,
        now: Instant,
        len: u32,
        initial_space: u32,
        paths: impl Iterator<Item = Reception>,
    ) -> Option<u32> {
        (self.queued, self.used) = without(u64::from(len), self.queued, self.used);
        let space = *self.space.get_or_insert(initial_space);
        self.copied += u64::from(len);
        let elapsed = now - self.period_start;
        if self.is_within_round_trip(elapsed) {
            return None;
        }
        self.update_from(paths);
        if self.rtt_us8 == 0 || self.is_within_round_trip(elapsed) {
            return None;
        }
        let copied = u32::try_from(self.copied).unwrap_or(u32::MAX);
        self.copied = 0;
        self.period_start = now;
        (copied > space && self.enlarge(space, copied)).then_some(copied)
    }

    fn is_within_round_trip(&self, elapsed: Duration) -> bool {
        elapsed.as_micros() < self.rtt_us8 / 8
    }

    fn update_from(&mut self, paths: impl Iterator<Item = Reception>) {
        self.rtt_us8 = 0;
        self.ratio = RATIO_ONE - 1;
        for path in paths {
            self.rtt_us8 = self.rtt_us8.max(path.rtt_us8);
            self.ratio = self.ratio.min(path.ratio.max(1));
        }
        debug_assert!((1..RATIO_ONE).contains(&self.ratio), "payload takes more memory than bytes");
    }

    /// Sizes the buffer for a reader that took `copied` bytes; returns whether it grew.
    fn enlarge(&mut self, space: u32, copied: u32) -> bool {
        self.space = Some(copied);
        let window = target_window(space, copied, 0);
        let size = (window * RATIO_ONE / self.ratio).min(u64::from(self.max)) as u32;
        let grows = self.auto && size > self.size;
        if grows {
            debug_assert!(size <= self.max, "the buffer grows up to its maximum");
            self.size = size;
        }
        grows
    }

    /// Memory of unread data, in bytes.
    pub(crate) const fn used(&self) -> u64 {
        self.used
    }

    /// Whether any payload fits into the buffer.
    pub(crate) fn has_room(&self) -> bool {
        self.to_window(u64::from(self.size).saturating_sub(self.used)) > 0
    }

    /// The payload that fits into the buffer.
    pub(crate) fn room(&self) -> Space {
        let free = u64::from(self.size).saturating_sub(self.used);
        Space { free: self.to_window(free), full: self.to_window(u64::from(self.size)) }
    }

    fn to_window(&self, memory: u64) -> u32 {
        u32::try_from(memory * self.ratio / RATIO_ONE).unwrap_or(u32::MAX)
    }

    /// The largest size in bytes of memory.
    pub(crate) const fn max(&self) -> u32 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Reception = Reception { ratio: 158, rtt_us8: 40_000 * 8 };
    const RESTING: Reception = Reception { ratio: INITIAL_RATIO, rtt_us8: 0 };

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// One read of `len` bytes at `ms`.
    fn read(buffer: &mut SharedBuffer, ms: u64, len: u32, subflows: &[Reception]) -> Option<u32> {
        buffer.on_queued(len, len);
        buffer.on_read(at(ms), len, 14_480, subflows.iter().copied())
    }

    /// As a 6.18 kernel announced with one packet unread.
    #[test]
    fn half_the_memory_is_free_before_the_first_look() {
        let mut buffer = SharedBuffer::auto(6 << 20);
        buffer.on_queued(1428, 2304);
        assert_eq!(buffer.room(), Space { free: 64_384, full: 65_536 });
    }

    #[test]
    fn a_resting_subflow_keeps_the_window_at_half_the_memory() {
        let mut buffer = SharedBuffer::auto(6 << 20);
        read(&mut buffer, 1, 100, &[FULL]);
        assert_eq!(buffer.room().full, 80_896);
        read(&mut buffer, 50, 100, &[FULL, RESTING]);
        assert_eq!(buffer.room().full, 65_536);
    }

    #[test]
    fn reader_that_doubles_enlarges_it_once_in_the_longest_round_trip() {
        let mut buffer = SharedBuffer::auto(6 << 20);
        let slow = Reception { ratio: 158, rtt_us8: 140_000 * 8 };
        assert_eq!(read(&mut buffer, 45, 28_960, &[FULL, RESTING]), Some(28_960));
        assert_eq!(buffer.size, 28_960 * 6 * 2, "twice the reading, thrice for its growth, halved");
        assert_eq!(read(&mut buffer, 80, 60_000, &[FULL, RESTING]), None);
        assert_eq!(read(&mut buffer, 90, 60_000, &[FULL, slow]), None, "40 ms are not 140");
        assert_eq!(read(&mut buffer, 186, 1, &[FULL, slow]), Some(120_001));
    }

    #[test]
    fn without_a_round_trip_it_stays() {
        let mut buffer = SharedBuffer::auto(6 << 20);
        assert_eq!(read(&mut buffer, 500, 1 << 20, &[RESTING]), None);
        assert_eq!(buffer.size, Sizing::Linux.initial());
    }

    #[test]
    fn a_fixed_buffer_keeps_its_size() {
        let mut buffer = SharedBuffer::fixed(262_144);
        assert_eq!(read(&mut buffer, 45, 200_000, &[FULL]), None);
        assert_eq!(buffer.room().full, 161_792);
    }
}
