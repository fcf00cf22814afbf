//! Pacing: the rate, the size of a burst and the next departure (Linux `tcp_update_pacing_rate`,
//! `tcp_tso_autosize`, `tcp_update_skb_after_send`).
//!
//! The pacing rate is `factor * mss * max(cwnd, packets_out) / srtt`, the factor being 2 while
//! `cwnd < ssthresh / 2` and 1.2 otherwise. A burst has a millisecond's worth at that rate. Whether
//! a connection paces, and the timer, are left to the owner.

use base::{Duration, Instant};

/// Largest burst sent at once and largest offload buffer, in bytes: 64 KiB less the longest headers
/// (Linux `sk_setup_caps`).
pub(crate) const MAX_BURST_BYTES: u64 = 65_215;
/// A path with an RTT below a few times 2^9 us may burst more.
const RTT_SHIFT: u32 = 9;
/// Smallest burst, in segments.
const MIN_BURST_SEGS: u32 = 2;

/// Bytes per second: twice the window per RTT while `cwnd < ssthresh/2`, else 1.2 times. `None`
/// before an RTT is known (unpaced). `ssthresh_segs`: `None` while infinite.
pub(crate) fn pacing_rate(
    cwnd_segs: u32,
    ssthresh_segs: Option<u32>,
    inflight_segs: u32,
    mss: u32,
    srtt: Duration,
) -> Option<u64> {
    if srtt.is_zero() {
        return None;
    }
    let starting = ssthresh_segs.is_none_or(|ssthresh| cwnd_segs < ssthresh / 2);
    let percent: u64 = if starting { 200 } else { 120 };
    let window = u64::from(mss) * u64::from(cwnd_segs.max(inflight_segs));
    let (factor, srtt) = (percent * 10_000_000, srtt.as_nanos());
    // Windows up to 9 MB: a division of 128 bits is a call.
    if let Some(product) = window.checked_mul(factor) {
        return Some(product / srtt);
    }
    let rate = u128::from(window) * u128::from(factor) / u128::from(srtt);
    Some(u64::try_from(rate).unwrap_or(u64::MAX))
}

/// Number of segments in one burst: about a millisecond's worth, more on very short paths, at least
/// two, and at most `wanted`.
pub(crate) fn burst_segs(rate_bytes_per_sec: u64, mss: u32, min_rtt: Duration, wanted: u32) -> u32 {
    // Mostly an acknowledgement lets two go: a division and the rest for one packet in two.
    if wanted <= MIN_BURST_SEGS {
        return wanted;
    }
    let mut bytes = rate_bytes_per_sec >> 10;
    let halvings = min_rtt.as_micros() >> RTT_SHIFT;
    if halvings < 32 {
        bytes += MAX_BURST_BYTES >> halvings;
    }
    // At most 65 215.
    let segs = bytes.min(MAX_BURST_BYTES) as u32 / mss.max(1);
    segs.max(MIN_BURST_SEGS).min(wanted)
}

/// When the next burst may leave.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    next: Instant,
}

impl Pacer {
    /// The next departure time, if it is in the future.
    pub(crate) fn blocked_until(&self, now: Instant) -> Option<Instant> {
        (self.next > now).then_some(self.next)
    }

    /// `bytes` (headers included) were sent at `now`. Half of the delay since the last departure
    /// is credited, so that a late timer does not lower the rate, as in Linux.
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u64, rate_bytes_per_sec: u64) {
        if rate_bytes_per_sec == 0 {
            return;
        }
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate_bytes_per_sec);
        let len = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let credit = (now - self.next).min(len / 2);
        let earliest = self.next.max(now);
        self.next = earliest + (len - credit);
        debug_assert!(self.next >= earliest, "departures do not move back");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pace_1_twice_the_window_in_slow_start() {
        let srtt = Duration::from_millis(10);
        assert_eq!(pacing_rate(10, None, 10, 1428, srtt), Some(2_856_000));
        assert_eq!(pacing_rate(10, Some(21), 10, 1428, srtt), Some(1_713_600), "10 = 21 / 2");
        assert_eq!(pacing_rate(10, Some(22), 10, 1428, srtt), Some(2_856_000));
    }

    #[test]
    fn pace_1_a_fifth_more_in_congestion_avoidance() {
        let srtt = Duration::from_millis(100);
        assert_eq!(pacing_rate(10, Some(10), 10, 1428, srtt), Some(171_360));
        assert_eq!(pacing_rate(10, Some(10), 20, 1428, srtt), Some(342_720), "more in flight");
    }

    #[test]
    fn without_rtt_nothing_is_paced() {
        assert_eq!(pacing_rate(10, None, 10, 1428, Duration::ZERO), None);
    }

    #[test]
    fn bursts_are_a_millisecond_long_and_at_least_two_segments() {
        let far = Duration::from_millis(100);
        let most = |rate, rtt| burst_segs(rate, 1448, rtt, u32::MAX);
        assert_eq!(most(1_000, far), 2);
        assert_eq!(most(12_500_000, far), 8);
        assert_eq!(most(u64::MAX, far), 45);
        assert_eq!(most(1_000, Duration::from_micros(100)), 45, "next door");
        let wanted = |wanted| burst_segs(12_500_000, 1448, far, wanted);
        assert_eq!([1, 2, 3, 8, 9].map(wanted), [1, 2, 3, 8, 8]);
    }

    #[test]
    fn departures_keep_the_rate() {
        let mut pacer = Pacer::default();
        let start = Instant::from_secs(1);
        assert_eq!(pacer.blocked_until(start), None);
        let mut now = start;
        for _ in 0..1000 {
            pacer.on_sent(now, 1500, 1_500_000);
            now = pacer.blocked_until(now).unwrap();
        }
        // Half a millisecond was credited for the pause before the first.
        assert_eq!(now - start, Duration::from_micros(999_500));
    }
}
