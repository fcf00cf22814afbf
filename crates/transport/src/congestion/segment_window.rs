//! `SegmentWindow`: congestion window and slow-start threshold of a TCP path, in segments, with
//! the arithmetic of Linux.
//!
//! Slow start passes on what is beyond the threshold, NewReno's increase counts acknowledged
//! segments or acknowledgements (`tcp_cong_avoid_ai`), a reduction can be undone. The coupled laws
//! grow a window by fractions; whole segments are what the sender may use. When a window grows and
//! by which law is left to the controllers.

/// Smallest threshold (RFC 5681 s3.1).
pub(super) const MIN_SSTHRESH_SEGS: f64 = 2.0;

/// Unused segments with which a window is nearly full (Linux `tcp_max_tso_deferred_mss`).
const SPARE_SEGS: u32 = 3;
/// The largest burst handed to a network card, in bytes (Linux `GSO_MAX_SIZE`).
const OFFLOAD_BUFFER: u64 = 65_536;

/// Congestion window and threshold, in segments.
#[derive(Clone, Debug)]
pub struct SegmentWindow {
    mss: u32,
    initial: u32,
    /// `cwnd` in whole segments, which is asked for several times a packet.
    whole: u32,
    /// At least one.
    cwnd: f64,
    /// At least one; infinite at first.
    ssthresh: f64,
    /// Segments acknowledged since the last step of NewReno's increase.
    counter: u32,
    /// Window and threshold before the last reduction.
    saved: Option<(f64, f64)>,
}

impl SegmentWindow {
    /// A window of `initial` segments of `mss` bytes; no threshold means infinite.
    pub fn new(mss: u32, initial: u32, ssthresh: Option<u32>) -> Self {
        SegmentWindow {
            mss,
            initial,
            whole: initial.max(1),
            cwnd: f64::from(initial.max(1)),
            ssthresh: ssthresh.map_or(f64::INFINITY, f64::from),
            counter: 0,
            saved: None,
        }
    }

    /// The window in segments, with its fraction.
    pub const fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// The threshold in segments; infinite at first.
    pub const fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// The window in whole segments, at least one.
    #[inline]
    pub const fn cwnd_segs(&self) -> u32 {
        self.whole
    }

    /// Every change of the window.
    #[inline]
    fn resize(&mut self, cwnd: f64) {
        debug_assert!(cwnd >= 1.0 && cwnd.is_finite(), "{self:?}");
        self.cwnd = cwnd;
        self.whole = (cwnd as u32).max(1);
    }

    /// The threshold in whole segments.
    #[inline]
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

    /// Payload bytes of a full segment.
    pub const fn mss(&self) -> u32 {
        self.mss
    }

    /// Whether the window is below the threshold (RFC 5681 s3.1).
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether at most three segments of the window were unused with that many in flight, or a
    /// third of it and less than an offload buffer (`tcp_is_cwnd_limited` up to Linux 3.15).
    pub fn is_nearly_full(&self, inflight: u32) -> bool {
        let cwnd = self.cwnd_segs();
        let unused = cwnd.saturating_sub(inflight);
        let bytes = u64::from(unused) * u64::from(self.mss);
        unused <= SPARE_SEGS || (unused * 3 < cwnd && bytes < OFFLOAD_BUFFER)
    }

    /// Slow start for `acked` segments, up to the threshold. Returns the part beyond it, which is
    /// for congestion avoidance.
    pub fn slow_start(&mut self, acked: f64) -> f64 {
        let grown = (self.cwnd + acked).min(self.ssthresh);
        let used = grown - self.cwnd;
        debug_assert!(used >= 0.0, "not in slow start: {self:?}");
        self.resize(grown);
        (acked - used).max(0.0)
    }

    /// NewReno's increase: one segment per window acknowledged (RFC 5681 s3.1).
    pub fn reno_increase(&mut self, acked: f64) {
        self.count(self.cwnd_segs(), acked as u32);
    }

    /// NewReno's increase by one acknowledgement, regardless of what it covers: compared, then
    /// counted, so that a step takes one more than the window (`tcp_cong_avoid_ai` up to Linux
    /// 3.19).
    pub fn reno_increase_by_ack(&mut self) {
        if self.counter >= self.cwnd_segs() {
            self.counter = 0;
            self.resize(self.cwnd + 1.0);
        } else {
            self.counter += 1;
        }
    }

    /// One segment more per `per_step` segments acknowledged (Linux `tcp_cong_avoid_ai`).
    pub fn count(&mut self, per_step: u32, acked: u32) {
        let per_step = per_step.max(1);
        // Credit gathered when steps were longer gives one segment at most.
        if self.counter >= per_step {
            self.counter = 0;
            self.resize(self.cwnd + 1.0);
        }
        self.counter = self.counter.saturating_add(acked);
        if self.counter >= per_step {
            self.resize(self.cwnd + f64::from(self.counter / per_step));
            self.counter %= per_step;
        }
        debug_assert!(self.counter < per_step);
    }

    /// Adds a fraction or a number of segments.
    pub fn grow(&mut self, segs: f64) {
        self.resize(self.cwnd + segs.max(0.0));
    }

    /// Adds segments or takes them away, down to one segment.
    pub fn change(&mut self, segs: f64) {
        self.resize((self.cwnd + segs).max(1.0));
    }

    /// Sets the window to whole segments, at least one. The counter is not affected.
    pub fn set_cwnd(&mut self, segs: f64) {
        self.resize(truncate(segs).max(1.0));
    }

    /// Sets the threshold to whole segments, at least one.
    pub fn set_ssthresh(&mut self, segs: f64) {
        self.ssthresh = truncate(segs).max(1.0);
    }

    /// A reduction begins: remembers window and threshold and sets the new threshold, at least
    /// one segment, with its fraction. The counter restarts, so that the first step after
    /// recovery takes a whole window, as in Linux.
    pub fn reduce(&mut self, ssthresh: f64) {
        debug_assert!(ssthresh.is_finite(), "{self:?}");
        self.saved = Some((self.cwnd, self.current_ssthresh()));
        self.counter = 0;
        self.ssthresh = ssthresh.max(1.0);
    }

    /// The retransmission timer expired: the window becomes `cwnd_after` segments.
    pub fn on_timeout(&mut self, cwnd_after: u32) {
        self.resize(f64::from(cwnd_after.max(1)));
        self.counter = 0;
    }

    /// Recovery is over: the window becomes the threshold.
    pub fn on_recovery_exit(&mut self) {
        if self.ssthresh.is_finite() {
            self.resize(self.ssthresh.max(1.0));
        }
    }

    /// Slow start ends without a loss: the threshold becomes the present window.
    pub fn end_slow_start(&mut self) {
        self.resize(truncate(self.cwnd));
        self.ssthresh = self.cwnd;
    }

    /// The last reduction was spurious: restores window and threshold if they were larger.
    pub fn undo(&mut self) {
        if let Some((cwnd, ssthresh)) = self.saved.take() {
            self.resize(self.cwnd.max(cwnd));
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }

    /// The threshold to keep when an unused window shrinks: three quarters of the window if that
    /// is more (RFC 2861 s3, Linux `tcp_current_ssthresh`).
    pub fn current_ssthresh(&self) -> f64 {
        let cwnd = self.cwnd_segs();
        self.ssthresh.max(f64::from(cwnd / 2 + cwnd / 4))
    }
}

/// Whole segments; infinity stays.
pub(super) fn truncate(segs: f64) -> f64 {
    if segs.is_finite() { f64::from(segs as u32) } else { segs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn window(cwnd: u32, ssthresh: Option<u32>) -> SegmentWindow {
        SegmentWindow::new(1448, cwnd, ssthresh)
    }

    #[test]
    fn reduction_restarts_the_counter() {
        let mut window = window(10, None);
        window.count(10, 9);
        window.reduce(5.0);
        window.on_recovery_exit();
        window.count(5, 4);
        assert_eq!(window.cwnd_segs(), 5, "a whole window since the reduction is needed");
        window.count(5, 1);
        assert_eq!(window.cwnd_segs(), 6);
    }

    #[test]
    fn crossing_the_threshold_leaves_the_excess() {
        let mut window = window(18, Some(20));
        assert_eq!(window.slow_start(5.0), 3.0);
        assert_eq!(window.cwnd_segs(), 20);
        assert!(!window.in_slow_start());
    }

    #[test]
    fn undo_restores_what_was_more() {
        let mut window = window(40, None);
        window.reduce(28.9);
        assert_eq!(window.ssthresh_segs(), Some(28));
        window.on_timeout(1);
        window.undo();
        assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (40, None));
        window.on_timeout(1);
        window.undo();
        assert_eq!(window.cwnd_segs(), 1, "only once");
    }

    #[test]
    fn infinite_threshold_leaves_the_window() {
        let mut window = window(10, None);
        window.on_recovery_exit();
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
            let mut window = window(10, Some(1));
            let mut total = 0;
            for acked in acks {
                window.count(step, acked);
                total += acked;
                prop_assert_eq!(window.cwnd_segs(), 10 + total / step);
            }
        }
    }
}
