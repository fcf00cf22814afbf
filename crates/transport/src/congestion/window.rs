//! `Window`: congestion window and threshold of one path, and the arithmetic of their growth.
//!
//! Shared by all TCP controllers (congestion spec s0): slow start with the excess handed on when
//! the threshold is crossed, the Reno increase, reduction, undo. When to do which is left to the
//! controllers.

/// How windows are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Arithmetic {
    /// Whole segments and a counter of acknowledged ones, as kernels do.
    #[default]
    Counter,
    /// Real numbers, as the RFCs write.
    Real,
}

/// Smallest threshold in segments (RFC 5681 s3.1).
pub const MIN_SSTHRESH: f64 = 2.0;

/// Congestion window and threshold, in segments.
#[derive(Clone, Debug)]
pub struct Window {
    arithmetic: Arithmetic,
    mss: u32,
    initial: u32,
    cwnd: f64,
    ssthresh: f64,
    /// Segments acknowledged since the last step of the counter arithmetic.
    counter: u32,
    /// Window and threshold before the last reduction.
    saved: Option<(f64, f64)>,
}

impl Window {
    /// A window of `initial` segments of `mss` bytes; no threshold means infinite.
    pub fn new(arithmetic: Arithmetic, mss: u32, initial: u32, ssthresh: Option<u32>) -> Self {
        Window {
            arithmetic,
            mss,
            initial,
            cwnd: f64::from(initial.max(1)),
            ssthresh: ssthresh.map_or(f64::INFINITY, f64::from),
            counter: 0,
            saved: None,
        }
    }

    /// The window in segments, fraction included.
    pub const fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// The threshold in segments; infinite at first.
    pub const fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// The window in whole segments, at least one.
    pub fn cwnd_segs(&self) -> u32 {
        (self.cwnd as u32).max(1)
    }

    /// The threshold in whole segments.
    pub fn ssthresh_segs(&self) -> Option<u32> {
        self.ssthresh.is_finite().then_some(self.ssthresh as u32)
    }

    /// The window in bytes.
    pub fn cwnd_bytes(&self) -> u64 {
        (self.cwnd * f64::from(self.mss)) as u64
    }

    /// The threshold in bytes.
    pub fn ssthresh_bytes(&self) -> Option<u64> {
        self.ssthresh.is_finite().then_some((self.ssthresh * f64::from(self.mss)) as u64)
    }

    /// The initial window in segments.
    pub const fn initial(&self) -> u32 {
        self.initial
    }

    /// Payload bytes of a segment.
    pub const fn mss(&self) -> u32 {
        self.mss
    }

    /// How the window is counted.
    pub const fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }

    /// Whether the window is below the threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start for `acked` segments, the growth divided by `divisor`; returns what lies beyond
    /// the threshold and belongs to congestion avoidance.
    pub fn slow_start(&mut self, acked: f64, divisor: f64) -> f64 {
        let grown = (self.cwnd + acked / divisor).min(self.ssthresh);
        let used = (grown - self.cwnd) * divisor;
        self.cwnd = grown;
        (acked - used).max(0.0)
    }

    /// The Reno increase: one segment per window acknowledged (RFC 5681 s3.1).
    pub fn reno_increase(&mut self, acked: f64) {
        match self.arithmetic {
            Arithmetic::Real => self.cwnd += acked / self.cwnd,
            Arithmetic::Counter => self.count(self.cwnd_segs(), acked as u32),
        }
    }

    /// Counter arithmetic: one segment more per `per_step` acknowledged.
    pub fn count(&mut self, per_step: u32, acked: u32) {
        let per_step = per_step.max(1);
        // Credit gathered when steps were longer gives one segment at most.
        if self.counter >= per_step {
            self.counter = 0;
            self.cwnd += 1.0;
        }
        self.counter = self.counter.saturating_add(acked);
        if self.counter >= per_step {
            self.cwnd += f64::from(self.counter / per_step);
            self.counter %= per_step;
        }
    }

    /// Add a real number of segments.
    pub fn grow(&mut self, segs: f64) {
        self.cwnd += segs.max(0.0);
    }

    /// Add a real number of segments or take it away, down to one segment.
    pub fn shift(&mut self, segs: f64) {
        self.cwnd = (self.cwnd + segs).max(1.0);
    }

    /// Set the window, at least one segment; what the counter gathered stays.
    pub fn set_cwnd(&mut self, segs: f64) {
        self.cwnd = self.whole(segs).max(1.0);
    }

    /// Set the threshold, at least one segment.
    pub fn set_ssthresh(&mut self, segs: f64) {
        self.ssthresh = self.whole(segs).max(1.0);
    }

    /// A reduction begins: remember window and threshold, set the new threshold, at least one
    /// segment, with the fraction its control left. What the counter gathered is void: the first
    /// step after recovery takes a whole window (as Linux).
    pub fn reduce(&mut self, ssthresh: f64) {
        self.saved = Some((self.cwnd, self.current_ssthresh()));
        self.counter = 0;
        self.ssthresh = ssthresh.max(1.0);
    }

    /// The retransmission timer expired: window of `cwnd_after` segments.
    pub fn collapse(&mut self, cwnd_after: u32) {
        self.cwnd = f64::from(cwnd_after.max(1));
        self.counter = 0;
    }

    /// Recovery is over: the window becomes the threshold.
    pub fn settle(&mut self) {
        if self.ssthresh.is_finite() {
            self.cwnd = self.ssthresh.max(1.0);
        }
    }

    /// The slow start found its end without a loss: threshold at the present window.
    pub fn end_slow_start(&mut self) {
        self.cwnd = self.whole(self.cwnd);
        self.ssthresh = self.cwnd;
    }

    /// The reduction was wrong: back to what was, if that is more.
    pub fn undo(&mut self) {
        if let Some((cwnd, ssthresh)) = self.saved.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }

    /// The threshold worth keeping when the window shrinks for want of use: three quarters of the
    /// window if that is more (RFC 2861 s3).
    pub fn current_ssthresh(&self) -> f64 {
        let three_quarters = match self.arithmetic {
            Arithmetic::Real => self.cwnd * 0.75,
            Arithmetic::Counter => {
                let cwnd = self.cwnd_segs();
                f64::from(cwnd / 2 + cwnd / 4)
            }
        };
        self.ssthresh.max(three_quarters)
    }

    /// `segs` as this arithmetic counts: cut to whole ones, or as it is.
    pub fn whole(&self, segs: f64) -> f64 {
        match self.arithmetic {
            Arithmetic::Real => segs,
            Arithmetic::Counter if segs.is_finite() => f64::from(segs as u32),
            Arithmetic::Counter => segs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn window(arithmetic: Arithmetic, cwnd: u32, ssthresh: Option<u32>) -> Window {
        Window::new(arithmetic, 1448, cwnd, ssthresh)
    }

    #[test]
    fn reduction_forgets_what_the_counter_gathered() {
        let mut window = Window::new(Arithmetic::Counter, 1448, 10, None);
        window.count(10, 9);
        window.reduce(5.0);
        window.settle();
        window.count(5, 4);
        assert_eq!(window.cwnd_segs(), 5, "a whole window since the reduction is needed");
        window.count(5, 1);
        assert_eq!(window.cwnd_segs(), 6);
    }

    #[test]
    fn crossing_the_threshold_leaves_the_excess() {
        let mut window = window(Arithmetic::Counter, 18, Some(20));
        assert_eq!(window.slow_start(5.0, 1.0), 3.0);
        assert_eq!(window.cwnd_segs(), 20);
        assert!(!window.in_slow_start());
    }

    #[test]
    fn undo_restores_what_was_more() {
        let mut window = window(Arithmetic::Counter, 40, None);
        window.reduce(28.9);
        assert_eq!(window.ssthresh_segs(), Some(28));
        window.collapse(1);
        window.undo();
        assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (40, None));
        window.collapse(1);
        window.undo();
        assert_eq!(window.cwnd_segs(), 1, "only once");
    }

    #[test]
    fn infinite_threshold_settles_nothing() {
        let mut window = window(Arithmetic::Real, 10, None);
        window.settle();
        assert_eq!(window.cwnd(), 10.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        /// Against one-by-one counting with a constant step.
        #[test]
        fn counter_equals_counting_one_by_one(
            step in 1..40u32,
            acks in prop::collection::vec(0..100u32, 1..40),
        ) {
            let mut window = window(Arithmetic::Counter, 10, Some(1));
            let mut total = 0;
            for acked in acks {
                window.count(step, acked);
                total += acked;
                prop_assert_eq!(window.cwnd_segs(), 10 + total / step);
            }
        }
    }
}
