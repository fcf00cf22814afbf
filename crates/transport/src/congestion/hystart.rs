//! HyStart: leaving slow start before the first loss, as CUBIC does on Linux 6.x
//! (`net/ipv4/tcp_cubic.c`, `hystart_update`).
//!
//! Either a long train of acknowledgements or a grown delay sets the threshold to the present
//! window. The constants of the delay rule are also those of RFC 9406 s4.3.

use super::AckSample;
use super::segment_window::SegmentWindow;
use crate::recovery::pacing_rate;
use base::{Duration, Instant};
use std::hint::cold_path;

/// RTT samples of a round before the delay rule applies.
const MIN_SAMPLES: u32 = 8;
/// Bounds of the tolerated increase of the RTT.
const MIN_RTT_THRESH_US: u64 = 4_000;
const MAX_RTT_THRESH_US: u64 = 16_000;
/// The tolerated increase is this part of the RTT.
const RTT_DIVISOR: u64 = 8;
/// Smallest window for which it applies, in segments (`hystart_low_window`).
const LOW_WINDOW_SEGS: u32 = 16;
/// Longest time between two acknowledgements of a train (`hystart_ack_delta_us`).
const TRAIN_GAP_US: u64 = 2_000;
/// Upper bound of the allowance for bursts of the sender (`hystart_ack_delay`).
const MAX_ACK_DELAY_US: u64 = 1_000;
/// The allowance is the time of four of the largest bursts at the pacing rate.
const BURST_BYTES: u64 = 4 * 65_215;

/// The state of one path; times in microseconds.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    found: bool,
    round_start_us: u64,
    last_ack_us: u64,
    /// The round lasts until `snd_una` passes this offset.
    round_end: u64,
    /// Zero before the first sample.
    delay_min_us: u64,
    round_min_us: u64,
    samples: u32,
}

impl HyStart {
    /// At the start of a path.
    pub(super) fn new(now: Instant) -> Self {
        let now = now.as_micros();
        HyStart {
            found: false,
            round_start_us: now,
            last_ack_us: now,
            round_end: 0,
            delay_min_us: 0,
            round_min_us: u64::MAX,
            samples: 0,
        }
    }

    /// A retransmission time-out restarts it.
    pub(super) fn on_timeout(&mut self, now: Instant, snd_nxt: u64) {
        *self = HyStart::new(now);
        self.round_end = snd_nxt;
    }

    /// An acknowledgement with an RTT sample; may end slow start.
    pub(super) fn on_rtt(&mut self, window: &mut SegmentWindow, rtt: Duration, sample: &AckSample) {
        let delay = rtt.as_micros().max(1);
        if self.delay_min_us == 0 || delay < self.delay_min_us {
            self.delay_min_us = delay;
        }
        if self.found || !window.in_slow_start() {
            return;
        }
        cold_path();
        let now = sample.now.as_micros();
        if sample.snd_una > self.round_end {
            self.start_round(now, sample.snd_nxt);
        }
        if window.cwnd_segs() < LOW_WINDOW_SEGS {
            return;
        }
        if self.train_is_long(window, now, sample) | self.delay_grew(delay) {
            self.found = true;
            window.end_slow_start();
        }
    }

    const fn start_round(&mut self, now_us: u64, snd_nxt: u64) {
        self.round_start_us = now_us;
        self.last_ack_us = now_us;
        self.round_end = snd_nxt;
        self.round_min_us = u64::MAX;
        self.samples = 0;
    }

    /// Acknowledgements close to each other for longer than half of the smallest RTT: the path is
    /// full.
    fn train_is_long(&mut self, window: &SegmentWindow, now_us: u64, sample: &AckSample) -> bool {
        if now_us.saturating_sub(self.last_ack_us) > TRAIN_GAP_US {
            return false;
        }
        self.last_ack_us = now_us;
        let mut threshold = self.delay_min_us + ack_delay_us(window, sample);
        if !sample.paced {
            threshold /= 2;
        }
        now_us.saturating_sub(self.round_start_us) > threshold
    }

    fn delay_grew(&mut self, delay_us: u64) -> bool {
        self.round_min_us = self.round_min_us.min(delay_us);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        debug_assert!(self.delay_min_us <= self.round_min_us, "{self:?}");
        self.round_min_us > self.delay_min_us + threshold_us(self.delay_min_us)
    }
}

/// Delay of acknowledgements that a burst of the sender causes.
fn ack_delay_us(window: &SegmentWindow, sample: &AckSample) -> u64 {
    let rate = pacing_rate(
        window.cwnd_segs(),
        window.ssthresh_segs(),
        sample.inflight_before_segs,
        window.mss(),
        sample.srtt,
    );
    match rate {
        None | Some(0) => 0,
        Some(rate) => (BURST_BYTES * 1_000_000 / rate).min(MAX_ACK_DELAY_US),
    }
}

fn threshold_us(rtt_us: u64) -> u64 {
    (rtt_us / RTT_DIVISOR).clamp(MIN_RTT_THRESH_US, MAX_RTT_THRESH_US)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::test_support::ack;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn window(cwnd: u32) -> SegmentWindow {
        SegmentWindow::new(1448, cwnd, None)
    }

    #[test]
    fn hys_1_thresholds() {
        assert_eq!(threshold_us(20_000), 4_000);
        assert_eq!(threshold_us(40_000), 5_000);
        assert_eq!(threshold_us(200_000), 16_000);
    }

    /// The time from the first acknowledgement of a round to the end of slow start, for
    /// acknowledgements `gap_us` apart.
    fn exit_after(cwnd: u32, rtt: Duration, gap_us: u64) -> Option<u64> {
        let mut hystart = HyStart::new(Instant::ZERO);
        let mut window = window(cwnd);
        for i in 0..200 {
            let mut sample = ack(Instant::from_micros(100_000 + i * gap_us), 1);
            (sample.snd_una, sample.snd_nxt) = (1 + i, 1000);
            hystart.on_rtt(&mut window, rtt, &sample);
            if window.ssthresh().is_finite() {
                return Some(i * gap_us);
            }
        }
        None
    }

    #[test]
    fn long_train_ends_slow_start() {
        // (40 ms + 1 ms) / 2 since the round began; the samples' srtt of 50 ms gives d = 1 ms.
        assert_eq!(exit_after(100, ms(40), 500), Some(21_000));
        assert_eq!(exit_after(100, ms(40), 2_000), Some(22_000));
    }

    #[test]
    fn wide_gaps_are_no_train() {
        assert_eq!(exit_after(100, ms(40), 2_001), None);
    }

    #[test]
    fn window_below_16_stays_in_slow_start() {
        assert_eq!(exit_after(15, ms(40), 500), None);
    }

    #[test]
    fn delay_ends_slow_start_after_eight_samples() {
        let mut hystart = HyStart::new(Instant::ZERO);
        let mut window = window(100);
        let mut at = 0;
        let mut feed = |hystart: &mut HyStart, window: &mut SegmentWindow, rtt, una, nxt| {
            at += 10;
            let mut sample = ack(Instant::from_millis(at), 1);
            (sample.snd_una, sample.snd_nxt) = (una, nxt);
            hystart.on_rtt(window, rtt, &sample);
        };
        feed(&mut hystart, &mut window, ms(40), 1, 100);
        for i in 0..8 {
            feed(&mut hystart, &mut window, ms(46), 101 + i, 300);
        }
        assert!(window.in_slow_start());
        feed(&mut hystart, &mut window, ms(46), 120, 300);
        assert_eq!(window.ssthresh_segs(), Some(100), "46 > 40 + 5");
        assert!(hystart.found);
    }

    #[test]
    fn time_out_restarts_it() {
        let mut hystart = HyStart::new(Instant::ZERO);
        hystart.found = true;
        hystart.delay_min_us = 40_000;
        hystart.on_timeout(Instant::from_secs(9), 77);
        assert!(!hystart.found && hystart.delay_min_us == 0);
        assert_eq!(hystart.round_end, 77);
    }
}
