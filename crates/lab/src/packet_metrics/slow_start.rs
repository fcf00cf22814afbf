//! How much of the growth of a path's congestion window is slow start (004 sIV).

use base::{CaState, PathId, SocketId};
use std::collections::BTreeMap;

/// The growth of every path's window.
#[derive(Clone, Debug, Default)]
pub(super) struct SlowStart {
    paths: BTreeMap<(SocketId, PathId), Growth>,
}

/// What the window of a path grew by, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Growth {
    window: u64,
    is_below_threshold: bool,
    total: u64,
    slow_start: u64,
}

impl SlowStart {
    /// The window or the threshold of a path changed. In fast recovery the window follows what is
    /// in flight (RFC 6937), and does not grow.
    pub(super) fn on_window(
        &mut self,
        path: (SocketId, PathId),
        [window, threshold]: [u64; 2],
        state: CaState,
    ) {
        let of = self.paths.entry(path).or_default();
        if of.window > 0 && state != CaState::Recovery {
            let grown = window.saturating_sub(of.window);
            of.total += grown;
            of.slow_start += if of.is_below_threshold { grown } else { 0 };
        }
        (of.window, of.is_below_threshold) = (window, window < threshold);
    }

    /// The share of the paths with these numbers; `None` if their windows did not grow.
    pub(super) fn of(&self, is_meant: impl Fn(&PathId) -> bool) -> Option<f64> {
        let meant = self.paths.iter().filter(|((_, path), _)| is_meant(path));
        let sums = meant.fold((0, 0), |(slow_start, total), (_, of)| {
            (slow_start + of.slow_start, total + of.total)
        });
        (sums.1 > 0).then(|| sums.0 as f64 / sums.1 as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_below_the_threshold_is_slow_start() {
        let mut of = SlowStart::default();
        let path = (SocketId(0), PathId(1));
        assert_eq!(of.of(|_| true), None);
        for (window, threshold, state) in [
            (10, u64::MAX, CaState::Open),
            (40, u64::MAX, CaState::Open),
            // Halved, and still without a threshold.
            (20, u64::MAX, CaState::Open),
            (30, u64::MAX, CaState::Disorder),
            // A loss: what grows in recovery does not count.
            (15, 15, CaState::Recovery),
            (18, 15, CaState::Recovery),
            (15, 15, CaState::Open),
            (25, 15, CaState::Open),
            // A time-out.
            (1, 12, CaState::Loss),
            (11, 12, CaState::Loss),
        ] {
            of.on_window(path, [window, threshold], state);
        }
        assert_eq!(of.of(|id| *id == PathId(1)), Some(50.0 / 60.0));
        assert_eq!(of.of(|id| *id == PathId(0)), None);
    }
}
