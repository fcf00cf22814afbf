//! Bursts of new segments: how many segments of the present one are left, and where the bursts in
//! flight begin that are socket buffers of their own (Linux TSO).
//!
//! The size of a burst is chosen in `transmit`.

use base::ring;
use std::collections::VecDeque;
use std::hint::cold_path;

/// The bursts of a sender.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Bursts {
    /// Segments of the present burst still to be sent.
    left: u32,
    /// Segments of the present burst in all.
    segs: u32,
    /// Lower halves of the offsets at which the unacknowledged bursts begin, ascending: less than
    /// 2 GiB is in flight (RFC 7323 s2.3).
    starts: VecDeque<u32>,
}

impl Bursts {
    /// Begins a burst of `segs` segments. `start`: offset of its first byte, if the burst is a
    /// buffer of its own.
    pub(crate) fn begin(&mut self, segs: u32, start: Option<u64>) {
        debug_assert!(segs > 0, "a burst has at least one segment");
        self.left = segs;
        self.segs = segs;
        if let Some(start) = start {
            ring::push_back(&mut self.starts, start as u32);
        }
    }

    /// Whether the present burst was sent to its end.
    pub(crate) const fn is_over(&self) -> bool {
        self.left == 0
    }

    /// A segment of the present burst is sent.
    pub(crate) const fn on_segment(&mut self) {
        self.left -= 1;
    }

    /// Something was left to send of the present burst, or the end of its data was not noticed.
    pub(crate) const fn is_open(&self) -> bool {
        self.segs > 0
    }

    /// Nothing is left to send.
    pub(crate) const fn on_nothing_unsent(&mut self) {
        self.segs = 0;
    }

    /// Something keeps the rest of the burst from being sent.
    pub(crate) const fn on_blocked(&mut self) {
        self.left = 0;
        self.segs = 0;
    }

    /// Whether the segment being sent is the last of a burst of several.
    pub(crate) const fn ends_with_this(&self) -> bool {
        self.left == 0 && self.segs > 1
    }

    /// Number of unacknowledged bursts that are buffers of their own.
    pub(crate) fn count(&self) -> u32 {
        self.starts.len() as u32
    }

    /// Forgets the bursts that end at or below `una`; all of them if nothing beyond is in flight.
    pub(crate) fn forget_below(&mut self, una: u64, nxt: u64) {
        while self.starts.get(1).is_some_and(|next| is_at_most(*next, una)) {
            ring::pop_front(&mut self.starts);
        }
        if una == nxt {
            cold_path();
            self.starts.clear();
        }
    }
}

/// Whether the offset with this lower half is at most `offset`, less than 2 GiB away.
const fn is_at_most(half: u32, offset: u64) -> bool {
    (offset as u32).wrapping_sub(half) <= i32::MAX as u32
}
