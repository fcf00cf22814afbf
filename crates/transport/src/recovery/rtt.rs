//! Round-trip time: smoothed estimate, variance, retransmission time-out, windowed minimum.
//!
//! The arithmetic is that of Linux (`tcp_rtt_estimator`): integer microseconds, `srtt` scaled by 8
//! and the mean deviation by 4, and the time-out `srtt + rttvar`. `rttvar` is the largest deviation
//! of the last window, decays by a quarter per window, and has a floor of 200 ms; a falling RTT
//! raises the deviation by an eighth only (RFC 6298 s2 has neither). Rounding of time-outs to timer
//! ticks is not modelled. Which sample is valid (Karn's algorithm, timestamps), and the timer, are
//! left to the owner.

use base::{Duration, Instant, prefetch};
use std::hint::cold_path;

/// Time-out before the first sample (RFC 6298 s2.1).
const INITIAL_RTO: Duration = Duration::from_secs(1);
/// Time-out for data if the handshake timed out and gave no sample (RFC 6298 s5.7).
const FALLBACK_RTO: Duration = Duration::from_secs(3);
/// Largest time-out; RFC 6298 s2.5 allows any bound from 60 s, Linux has 120 s.
const MAX_RTO: Duration = Duration::from_secs(120);
/// Linux's lower bound of the variance term, in microseconds.
const LINUX_RTO_MIN_US: i64 = 200_000;

/// The estimator of one path.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct RttEstimator {
    srtt: Duration,
    /// The time-out, back-off included: asked for several times a packet.
    rto: Duration,
    rttvar: Duration,
    latest: Duration,
    first: Duration,
    samples: u32,
    backoff: u32,
    initial: Duration,
    linux: LinuxState,
}

/// Integer microseconds; `srtt8` carries a factor 8, the others a factor 4.
#[derive(Clone, Copy, Debug, Default)]
struct LinuxState {
    srtt8: i64,
    mdev4: i64,
    mdev_max4: i64,
    rttvar4: i64,
    /// The variance decays once `snd_una` passes this offset.
    window_end: u64,
}

impl RttEstimator {
    /// Requests the memory of what a sample needs besides.
    pub(crate) fn prefetch(&self) {
        prefetch(&self.linux);
    }

    /// No sample yet.
    pub(crate) fn new() -> Self {
        RttEstimator {
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            latest: Duration::ZERO,
            first: Duration::ZERO,
            samples: 0,
            initial: INITIAL_RTO,
            rto: INITIAL_RTO,
            backoff: 0,
            linux: LinuxState::default(),
        }
    }

    /// A valid sample; the offsets are those after the acknowledgement that gave it. Ends the
    /// back-off (RFC 6298 s5.7).
    #[inline(always)]
    pub(crate) fn sample(&mut self, rtt: Duration, snd_una: u64, snd_nxt: u64) {
        let first = self.is_empty();
        self.latest = rtt;
        self.samples = self.samples.wrapping_add(1);
        if first {
            cold_path();
            self.first = rtt;
        }
        self.backoff = 0;
        debug_assert!(snd_una <= snd_nxt, "acknowledged data were sent");
        self.linux.sample(rtt, first, snd_una, snd_nxt);
        self.srtt = Duration::from_nanos((self.linux.srtt8 as u64) * 1_000 / 8);
        self.rttvar = Duration::from_nanos((self.linux.rttvar4 as u64) * 1_000 / 4);
        self.rto = self.base_rto();
    }

    /// Whether no sample was taken yet.
    pub(crate) const fn is_empty(&self) -> bool {
        self.srtt.is_zero()
    }

    /// Smoothed RTT; zero before the first sample.
    pub(crate) const fn srtt(&self) -> Duration {
        self.srtt
    }

    /// RTT variance: a quarter of the term that the time-out adds.
    pub(crate) const fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// Mean deviation without the floor that the time-out has.
    pub(crate) const fn mdev(&self) -> Duration {
        Duration::from_nanos((self.linux.mdev4 as u64) * 1_000 / 4)
    }

    /// The last sample; zero before the first.
    pub(crate) const fn latest(&self) -> Duration {
        self.latest
    }

    /// The first sample; zero before it.
    pub(crate) const fn first(&self) -> Duration {
        self.first
    }

    /// How many samples were taken.
    pub(crate) const fn samples(&self) -> u32 {
        self.samples
    }

    /// The time-out, back-off included.
    pub(crate) const fn rto(&self) -> Duration {
        self.rto
    }

    fn backed_off_rto(&self) -> Duration {
        let base = self.base_rto().as_nanos();
        let nanos = base.checked_shl(self.backoff).filter(|n| n >> self.backoff == base);
        Duration::from_nanos(nanos.unwrap_or(u64::MAX)).min(MAX_RTO)
    }

    /// The time-out without back-off.
    pub(crate) fn base_rto(&self) -> Duration {
        if self.is_empty() {
            return self.initial;
        }
        let us = self.linux.srtt8 / 8 + self.linux.rttvar4;
        Duration::from_micros(us as u64).min(MAX_RTO)
    }

    /// The smallest time-out there can be, what a lone tail loss probe waits for in addition.
    pub(crate) const fn min_rto(&self) -> Duration {
        Duration::from_micros(LINUX_RTO_MIN_US as u64)
    }

    /// The timer expired: double the time-out.
    pub(crate) fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
        self.rto = self.backed_off_rto();
    }

    /// Ends the back-off.
    pub(crate) fn reset_back_off(&mut self) {
        self.backoff = 0;
        self.rto = self.base_rto();
    }

    /// The handshake timed out: without a sample, data start with 3 s (RFC 6298 s5.7).
    pub(crate) fn on_handshake_timeout(&mut self) {
        self.initial = FALLBACK_RTO;
        self.rto = self.backed_off_rto();
    }
}

impl LinuxState {
    #[inline(always)]
    fn sample(&mut self, rtt: Duration, first: bool, snd_una: u64, snd_nxt: u64) {
        let m = rtt.as_micros().min(u64::from(u32::MAX)).max(1) as i64;
        if first {
            self.srtt8 = m * 8;
            self.mdev4 = m * 2;
            self.rttvar4 = self.mdev4.max(LINUX_RTO_MIN_US);
            self.mdev_max4 = self.rttvar4;
            self.window_end = snd_nxt;
            return;
        }
        let error = m - self.srtt8 / 8;
        self.srtt8 = (self.srtt8 + error).max(1);
        let mut change = error.abs() - self.mdev4 / 4;
        if error < 0 && change > 0 {
            // A falling RTT must not look like variance.
            change /= 8;
        }
        self.mdev4 += change;
        debug_assert!(self.srtt8 > 0 && self.mdev4 >= 0, "averages of positive samples");
        if self.mdev4 > self.mdev_max4 {
            self.mdev_max4 = self.mdev4;
            self.rttvar4 = self.rttvar4.max(self.mdev_max4);
        }
        if snd_una > self.window_end {
            cold_path();
            if self.mdev_max4 < self.rttvar4 {
                self.rttvar4 -= (self.rttvar4 - self.mdev_max4) / 4;
            }
            self.window_end = snd_nxt;
            self.mdev_max4 = LINUX_RTO_MIN_US;
        }
    }
}

/// The smallest RTT of a sliding window, kept as the three best samples of its parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MinRttFilter {
    window: Duration,
    /// Best, second and third best, in order of time; `None` before the first sample.
    best: Option<[(Instant, Duration); 3]>,
}

impl Default for MinRttFilter {
    /// Linux's window of 300 s.
    fn default() -> Self {
        MinRttFilter::new(Duration::from_secs(300))
    }
}

impl MinRttFilter {
    /// A filter over `window`.
    pub(crate) const fn new(window: Duration) -> Self {
        MinRttFilter { window, best: None }
    }

    /// The minimum; zero before the first sample.
    pub(crate) fn get(&self) -> Duration {
        self.best.map_or(Duration::ZERO, |best| best[0].1)
    }

    /// A sample; returns the new minimum.
    #[inline(always)]
    pub(crate) fn update(&mut self, now: Instant, rtt: Duration) -> Duration {
        // Mostly no better than the three best, of which none is old: a quarter of the work.
        match self.best {
            Some([first, _, third]) if rtt > third.1 && now - first.0 <= self.window / 4 => first.1,
            _ => self.replace_best(now, rtt),
        }
    }

    /// A sample that may change the best ones.
    #[inline(never)]
    fn replace_best(&mut self, now: Instant, rtt: Duration) -> Duration {
        let sample = (now, rtt);
        let best = match self.best {
            Some(best) if rtt > best[0].1 && now - best[2].0 <= self.window => {
                self.age(insert_sample(best, sample), sample)
            }
            _ => [sample; 3],
        };
        debug_assert!(best[0].1 <= best[1].1 && best[1].1 <= best[2].1, "best sample first");
        debug_assert!(best[0].0 <= best[1].0 && best[1].0 <= best[2].0, "in order of time");
        self.best = Some(best);
        best[0].1
    }

    /// Drops a best sample that left the window, and replaces the later ones when parts of the
    /// window pass, so that there is a successor.
    fn age(
        &self,
        mut best: [(Instant, Duration); 3],
        sample: (Instant, Duration),
    ) -> [(Instant, Duration); 3] {
        let age = sample.0 - best[0].0;
        if age > self.window {
            best = [best[1], best[2], sample];
            if sample.0 - best[0].0 > self.window {
                best = [best[1], best[2], sample];
            }
        } else if best[1].0 == best[0].0 && age > self.window / 4 {
            best = [best[0], sample, sample];
        } else if best[2].0 == best[1].0 && age > self.window / 2 {
            best[2] = sample;
        }
        best
    }
}

fn insert_sample(
    mut best: [(Instant, Duration); 3],
    sample: (Instant, Duration),
) -> [(Instant, Duration); 3] {
    if sample.1 <= best[1].1 {
        best[1] = sample;
        best[2] = sample;
    } else if sample.1 <= best[2].1 {
        best[2] = sample;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// One sample per window: every one ends the window before.
    fn feed(rtt: &mut RttEstimator, samples: &[u64]) -> Vec<u64> {
        let mut offset = 0;
        samples
            .iter()
            .map(|&sample| {
                offset += 10;
                rtt.sample(ms(sample), offset, offset + 5);
                rtt.rto().as_micros()
            })
            .collect()
    }

    #[test]
    fn rto_1_two_samples() {
        let mut linux = RttEstimator::new();
        assert_eq!(feed(&mut linux, &[100, 120]), [300_000, 302_500]);
        assert_eq!(linux.linux.mdev4, 170_000);
    }

    #[test]
    fn rto_2_constant_rtt_lets_the_variance_decay_by_windows() {
        let mut rtt = RttEstimator::new();
        let mut mdev = Vec::new();
        let mut rto = Vec::new();
        for window in 1..=4 {
            rto.extend(feed_at(&mut rtt, window * 10, 300));
            mdev.push(rtt.linux.mdev4);
        }
        assert_eq!(rto, [900_000, 900_000, 834_375, 764_063]);
        assert_eq!(mdev, [600_000, 450_000, 337_500, 253_125]);
    }

    fn feed_at(rtt: &mut RttEstimator, offset: u64, sample: u64) -> Option<u64> {
        rtt.sample(ms(sample), offset, offset + 5);
        Some(rtt.rto().as_micros())
    }

    #[test]
    fn variance_decays_only_once_per_window() {
        let mut rtt = RttEstimator::new();
        rtt.sample(ms(300), 10, 100);
        for una in [20, 50, 100] {
            rtt.sample(ms(300), una, 200);
        }
        assert_eq!(rtt.rto(), ms(900), "snd_una did not pass 100");
        rtt.sample(ms(300), 101, 300);
        assert_eq!(rtt.rto(), ms(900), "the maximum of this window was still 600");
        rtt.sample(ms(300), 301, 400);
        assert!(rtt.rto() < ms(900));
    }

    #[test]
    fn without_samples_the_time_out_is_a_second_or_three() {
        let mut rtt = RttEstimator::new();
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        rtt.on_handshake_timeout();
        assert_eq!(rtt.rto(), Duration::from_secs(3));
    }

    #[test]
    fn backing_off_doubles_up_to_two_minutes_and_a_sample_ends_it() {
        let mut rtt = RttEstimator::new();
        rtt.sample(ms(100), 1, 2);
        let mut seen = Vec::new();
        for _ in 0..10 {
            seen.push(rtt.rto().as_millis());
            rtt.back_off();
        }
        assert_eq!(seen, [300, 600, 1200, 2400, 4800, 9600, 19_200, 38_400, 76_800, 120_000]);
        for _ in 0..100 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), MAX_RTO);
        rtt.sample(ms(100), 3, 4);
        assert_eq!(rtt.rto(), ms(300));
    }

    #[test]
    fn a_falling_rtt_hardly_raises_the_variance() {
        let mut rtt = RttEstimator::new();
        feed(&mut rtt, &[400, 100]);
        // |error| 300 - mdev 200 = 100, an eighth of it counts.
        assert_eq!(rtt.linux.mdev4, 800_000 + 12_500);
    }

    #[test]
    fn min_rtt_keeps_the_minimum_of_the_window() {
        let mut min = MinRttFilter::default();
        assert_eq!(min.get(), Duration::ZERO);
        for (at, sample) in [(0, 50), (1, 40), (2, 60), (200, 45)] {
            min.update(Instant::from_secs(at), ms(sample));
        }
        assert_eq!(min.get(), ms(40));
        min.update(Instant::from_secs(302), ms(70));
        assert_eq!(min.get(), ms(45), "the 40 of second 1 left the window");
    }

    #[test]
    fn min_rtt_after_long_silence_is_the_new_sample() {
        let mut min = MinRttFilter::default();
        min.update(Instant::ZERO, ms(10));
        assert_eq!(min.update(Instant::from_secs(1000), ms(90)), ms(90));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        /// The three-sample filter may forget a minimum early, never hold one too long, and never
        /// answer less than the true minimum of the window.
        #[test]
        fn min_rtt_is_a_sample_of_the_window_and_no_less_than_its_minimum(
            samples in prop::collection::vec((0..40u64, 1..1000u64), 1..80)
        ) {
            let mut filter = MinRttFilter::default();
            let mut seen: Vec<(u64, u64)> = Vec::new();
            let mut now = 0;
            for (gap, sample) in samples {
                now += gap;
                seen.push((now, sample));
                let got = filter.update(Instant::from_secs(now), ms(sample)).as_millis();
                let window: Vec<u64> =
                    seen.iter().filter(|(at, _)| now - at <= 300).map(|(_, s)| *s).collect();
                prop_assert!(window.contains(&got));
                prop_assert!(got <= sample);
            }
        }

        #[test]
        fn time_out_stays_within_its_bounds(samples in prop::collection::vec(1..5_000u64, 1..60)) {
            let mut linux = RttEstimator::new();
            let (mut low, mut high) = (u64::MAX, 0);
            for (i, sample) in samples.into_iter().enumerate() {
                let una = i as u64;
                linux.sample(ms(sample), una, una + 3);
                (low, high) = (low.min(sample), high.max(sample));
                prop_assert!(linux.srtt() >= ms(low) - ms(1) && linux.srtt() <= ms(high));
                prop_assert!(linux.rto() >= linux.srtt() + ms(200) - ms(1));
                prop_assert!(linux.rto() <= MAX_RTO);
            }
        }
    }
}
