//! When a segment arrives over a path, through slow start and congestion avoidance: 002 sIV-B
//! Algorithm 3.
//!
//! `T(q) = RTT / 2` for the `q`-th segment not sent yet if the free window takes it, an RTT more
//! for every round that must be acknowledged before. The windows of the rounds are
//! `w' = min(2 w, ssthresh)` below the threshold, else `w' = w + 1`. The closed form finds the
//! round of any segment without walking through those before; both are equal on the whole grid of
//! the tests. Whose segments these are is left to the plan.

use base::Duration;

/// Upper bound of windows and queues, in segments, so that 64 bits do not overflow.
const MOST_SEGS: u64 = 1 << 30;

/// State of a path for the prediction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Window {
    /// Segments that the window takes now beyond what is bound to the path; what waits there
    /// already beyond the window is negative.
    pub room: i64,
    pub cwnd: u32,
    /// `None` while infinite.
    pub ssthresh: Option<u32>,
    pub rtt: Duration,
}

/// Segments that arrive together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Round {
    /// Time from now to their arrival.
    pub arrival: Duration,
    /// Number of segments, from the one asked about on.
    pub left: u64,
    /// The window in that round, in segments.
    window: u64,
}

impl Window {
    /// `T(q)`; `q` counts from 1.
    pub(super) fn transfer_time(&self, q: u64) -> Duration {
        self.round_of(q).arrival
    }

    /// The round of the `q`-th segment, from 1.
    pub(super) fn round_of(&self, q: u64) -> Round {
        let q = q.min(MOST_SEGS);
        let room = self.room.clamp(-(MOST_SEGS as i64), MOST_SEGS as i64);
        let half = self.rtt / 2;
        let cwnd = u64::from(self.cwnd).clamp(1, MOST_SEGS);
        // Counted from 1 among those that wait for acknowledgements.
        let waiting = q as i64 - room;
        if waiting <= 0 {
            return Round { arrival: half, left: waiting.unsigned_abs() + 1, window: cwnd };
        }
        let waiting = waiting.unsigned_abs();
        let first = self.grown(cwnd).min(MOST_SEGS);
        let (rounds, end, window) = self.round_of_waiting(waiting, first);
        Round { arrival: self.rtt * rounds + half, left: end - waiting + 1, window }
    }

    /// Number, last segment and window of the round of a waiting segment; `first` is the window of
    /// the first round.
    fn round_of_waiting(&self, waiting: u64, first: u64) -> (u64, u64, u64) {
        let threshold = self.ssthresh.map(|ssthresh| u64::from(ssthresh).min(MOST_SEGS));
        // Rounds with windows below the threshold: first, 2 first, 4 first ...
        let doubling = threshold.map(|ssthresh| bits(ssthresh.div_ceil(first).saturating_sub(1)));
        let rounds = bits(waiting.div_ceil(first));
        let Some(doubling) = doubling.filter(|doubling| rounds > *doubling) else {
            return (rounds, first * ((1 << rounds) - 1), first << (rounds - 1));
        };
        let before = first * ((1 << doubling) - 1);
        let window = first.max(threshold.unwrap_or(0));
        let more = avoidance_rounds(window, waiting - before);
        (doubling + more, before + sent_in(more, window), window + more - 1)
    }

    /// The round after.
    pub(super) fn after(&self, round: Round) -> Round {
        let window = self.grown(round.window);
        Round { arrival: round.arrival + self.rtt, left: window, window }
    }

    /// The window of the next round.
    fn grown(&self, window: u64) -> u64 {
        match self.ssthresh.map(u64::from) {
            Some(ssthresh) if window >= ssthresh => window + 1,
            ssthresh => (2 * window).min(ssthresh.unwrap_or(MOST_SEGS)),
        }
    }
}

/// Binary digits: the smallest `n` with `2^n > x`.
const fn bits(x: u64) -> u64 {
    (u64::BITS - x.leading_zeros()) as u64
}

/// Segments of `rounds` rounds with windows of `window`, `window + 1` ...
const fn sent_in(rounds: u64, window: u64) -> u64 {
    rounds * window + rounds * rounds.saturating_sub(1) / 2
}

/// The smallest number of rounds that send `segments` segments: `ceil` of the positive root of
/// `r^2 + (2 window - 1) r - 2 segments = 0`.
const fn avoidance_rounds(window: u64, segments: u64) -> u64 {
    let b = 2 * window - 1;
    let below = ((b * b + 8 * segments).isqrt() - b) / 2;
    below + (sent_in(below, window) < segments) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loop that is the specification.
    fn literal(q: u64, free: u64, cwnd: u64, ssthresh: Option<u64>, rtt: Duration) -> Duration {
        let grow = |w: u64| match ssthresh {
            Some(ssthresh) if w >= ssthresh => w + 1,
            ssthresh => ssthresh.map_or(2 * w, |ssthresh| ssthresh.min(2 * w)),
        };
        if free > 0 && q <= free {
            return rtt / 2;
        }
        let mut q = q - q.min(free);
        let (mut t, mut w) = (rtt, grow(cwnd));
        while q > w {
            q -= w;
            t += rtt;
            w = grow(w);
        }
        t + rtt / 2
    }

    fn window(free: u32, cwnd: u32, ssthresh: Option<u32>, ms: u64) -> Window {
        Window { room: i64::from(free), cwnd, ssthresh, rtt: Duration::from_millis(ms) }
    }

    /// Arrival of each of these segments in ms.
    fn arrivals<const N: usize>(window: Window, segments: [u64; N]) -> [u64; N] {
        segments.map(|q| window.transfer_time(q).as_millis())
    }

    #[test]
    fn sttf_1_slow_start_without_threshold() {
        let arrivals =
            arrivals(window(10, 10, None, 10), [1, 10, 11, 30, 31, 70, 71, 150, 310, 311]);
        assert_eq!(arrivals, [5, 5, 15, 15, 25, 25, 35, 35, 45, 55]);
    }

    #[test]
    fn sttf_4_crossing_the_threshold() {
        let times = [4, 5, 24, 25, 48, 49, 73, 74, 99, 100];
        let arrivals = arrivals(window(4, 10, Some(24), 20), times);
        assert_eq!(arrivals, [10, 30, 30, 50, 50, 70, 70, 90, 90, 110]);
    }

    #[test]
    fn sttf_5_congestion_avoidance() {
        let arrivals = arrivals(window(0, 20, Some(10), 50), [1, 21, 22, 43, 44, 66, 67]);
        assert_eq!(arrivals, [75, 75, 125, 125, 175, 175, 225]);
    }

    #[test]
    fn closed_form_is_the_loop_on_the_whole_grid() {
        let rtt = Duration::from_millis(10);
        for cwnd in 1..=33u32 {
            for ssthresh in (2..=100).map(Some).chain([None]) {
                for free in 0..=cwnd {
                    let window = window(free, cwnd, ssthresh, 10);
                    let (f, c) = (u64::from(free), u64::from(cwnd));
                    for q in 1..400 {
                        let expected = literal(q, f, c, ssthresh.map(u64::from), rtt);
                        let found = window.transfer_time(q);
                        assert_eq!(found, expected, "{window:?} {q}");
                    }
                }
            }
        }
    }

    #[test]
    fn rounds_follow_each_other_as_the_closed_form_finds_them() {
        for (free, cwnd, ssthresh) in
            [(10, 10, None), (4, 10, Some(24)), (0, 20, Some(10)), (3, 7, Some(7)), (0, 1, Some(2))]
        {
            let window = window(free, cwnd, ssthresh, 10);
            let mut round = window.round_of(1);
            let mut q = 1;
            for _ in 0..12 {
                for first in 0..round.left {
                    let expected = Round { left: round.left - first, ..round };
                    assert_eq!(window.round_of(q + first), expected, "{window:?} {q} {first}");
                }
                q += round.left;
                round = window.after(round);
            }
        }
    }

    /// Own segments beyond the window go first.
    #[test]
    fn queue_of_the_path_itself_goes_first() {
        let behind = Window { room: -4, ..window(0, 10, None, 10) };
        let alone = window(0, 10, None, 10);
        for q in 1..100 {
            assert_eq!(behind.transfer_time(q), alone.transfer_time(q + 4), "{q}");
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        for ssthresh in [None, Some(0), Some(2), Some(u32::MAX)] {
            for cwnd in [0, 1, u32::MAX] {
                for room in [i64::MIN, 0, i64::MAX] {
                    let rtt = Duration::from_secs(100);
                    let window = Window { room, cwnd, ssthresh, rtt };
                    let round = window.round_of(u64::MAX);
                    assert!(round.left > 0 && window.after(round).left > 0, "{window:?}");
                }
            }
        }
        // Regression: the square of a window of 2^31 segments wrapped.
        let ssthresh = Some(u32::MAX);
        let rtt = Duration::from_secs(100);
        let window = Window { room: i64::MIN, cwnd: u32::MAX, ssthresh, rtt };
        assert_eq!(window.transfer_time(u64::MAX), Duration::from_secs(250), "2^31 of 2^30 each");
    }
}
