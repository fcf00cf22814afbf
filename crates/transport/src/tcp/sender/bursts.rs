//! Bursts of new segments: how many segments of the present one are left, and where the bursts in
//! flight begin that are socket buffers of their own (Linux TSO).
//!
//! The size of a burst is chosen in `transmit`.

use base::{prefetch, ring};
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
    /// Number of unacknowledged bursts that are buffers of their own.
    count: u32,
    /// Where they begin. Most have one size, so that one run is often all of a window of hundreds.
    run: Run,
    /// Those behind it.
    rest: VecDeque<Run>,
}

/// Bursts at equal distances. 8 bytes, since there may be dozens.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// Lower half of the offset at which the first one begins: less than 2 GiB is in flight (RFC
    /// 7323 s2.3).
    first: u32,
    /// From one to the next; has no meaning while there is one.
    step: u16,
    /// At least one, unless there is no run.
    count: u16,
}

impl Run {
    /// Appends a burst that begins at `start`, if the distance allows it.
    const fn join(&mut self, start: u32) -> bool {
        let distance = start.wrapping_sub(self.first);
        match self.count {
            0 => self.first = start,
            1 if distance <= u16::MAX as u32 => self.step = distance as u16,
            1 | u16::MAX => return false,
            count if distance != self.step as u32 * count as u32 => return false,
            _ => {}
        }
        self.count += 1;
        true
    }
}

impl Bursts {
    /// Requests the memory of the last ones.
    pub(super) fn prefetch(&self) {
        self.rest.back().inspect(|last| prefetch(*last));
    }

    /// Begins a burst of `segs` segments. `start`: offset of its first byte, if the burst is a
    /// buffer of its own.
    pub(crate) fn begin(&mut self, segs: u32, start: Option<u64>) {
        debug_assert!(segs > 0, "a burst has at least one segment");
        self.left = segs;
        self.segs = segs;
        if let Some(start) = start {
            self.add(start as u32);
        }
    }

    fn add(&mut self, start: u32) {
        self.count += 1;
        let last = if self.rest.is_empty() { Some(&mut self.run) } else { self.rest.back_mut() };
        if !last.is_some_and(|last| last.join(start)) {
            ring::push_back(&mut self.rest, Run { first: start, step: 0, count: 1 });
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
    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    /// Forgets the bursts that end at or below `una`; all of them if nothing beyond is in flight.
    pub(crate) fn forget_below(&mut self, una: u64, nxt: u64) {
        while self.count > 1 {
            if self.run.count > 1 {
                let next = self.run.first.wrapping_add(u32::from(self.run.step));
                if !is_at_most(next, una) {
                    break;
                }
                (self.run.first, self.run.count) = (next, self.run.count - 1);
            } else {
                if !self.rest.front().is_some_and(|next| is_at_most(next.first, una)) {
                    break;
                }
                self.run = ring::pop_front(&mut self.rest).unwrap_or_default();
            }
            self.count -= 1;
        }
        if una == nxt {
            cold_path();
            self.rest.clear();
            (self.run, self.count) = (Run::default(), 0);
        }
    }
}

/// Whether the offset with this lower half is at most `offset`, less than 2 GiB away.
const fn is_at_most(half: u32, offset: u64) -> bool {
    (offset as u32).wrapping_sub(half) <= i32::MAX as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_a_list_of_starts(
            steps in proptest::collection::vec(
                (prop_oneof![9 => 1u32..4, 1 => 1u32..70_000], 0u32..5, any::<bool>()), 1..200,
            ),
            from in prop_oneof![Just(0u64), Just(u64::from(u32::MAX) - 90)],
        ) {
            let (mut bursts, mut starts) = (Bursts::default(), VecDeque::new());
            let (mut una, mut nxt) = (from, from);
            for (size, acked, own) in steps {
                let start = own.then_some(nxt);
                bursts.begin(size, start);
                starts.extend(start);
                nxt += u64::from(size);
                una = nxt.min(una + u64::from(acked));
                bursts.forget_below(una, nxt);
                while starts.get(1).is_some_and(|next| *next <= una) {
                    starts.pop_front();
                }
                if una == nxt {
                    starts.clear();
                }
                prop_assert_eq!(bursts.count(), starts.len() as u32);
                let runs: u32 = bursts.rest.iter().map(|run| u32::from(run.count)).sum();
                prop_assert_eq!(u32::from(bursts.run.count) + runs, bursts.count());
            }
        }

        #[test]
        fn bursts_of_one_size_are_one_run(count in 1u64..100) {
            let mut bursts = Bursts::default();
            for number in 0..count {
                bursts.begin(2, Some(number * 2896));
            }
            prop_assert_eq!((bursts.count(), bursts.rest.capacity()), (count as u32, 0));
        }
    }
}
