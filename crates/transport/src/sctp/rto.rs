//! `Rto`: the retransmission time-out of one path (RFC 9260 s6.3.1).
//!
//! RFC 9260's arithmetic in nanoseconds, without the rounding and the floors of Linux that
//! `recovery` has for TCP. Which samples are valid is left to the owner.

use base::{Duration, Instant};

/// Clock granularity G: a variance of zero counts as this.
const GRANULARITY: Duration = Duration::from_micros(1);

/// In nanoseconds.
const MILLISECOND: u64 = 1_000_000;

/// Bounds of the time-out (RFC 9260 s16).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtoBounds {
    /// RTO.Initial: before the first sample.
    pub initial: Duration,
    /// RTO.Min.
    pub min: Duration,
    /// RTO.Max.
    pub max: Duration,
    /// Samples, SRTT and RTTVAR have the resolution of FreeBSD (`sctp_calculate_rto`), whole
    /// milliseconds, eighths and quarters of them, and timers expire at multiples of this.
    pub tick: Option<Duration>,
}

/// The estimator of a path.
#[derive(Clone, Debug)]
pub struct Rto {
    bounds: RtoBounds,
    srtt: Option<Duration>,
    rttvar: Duration,
    rto: Duration,
}

impl RtoBounds {
    /// The recommended values: 1 s, 1 s and 60 s.
    pub const RFC_9260: RtoBounds = RtoBounds {
        initial: Duration::from_secs(1),
        min: Duration::from_secs(1),
        max: Duration::from_secs(60),
        tick: None,
    };
}

impl Rto {
    /// No sample yet.
    pub const fn new(bounds: RtoBounds) -> Self {
        Rto { bounds, srtt: None, rttvar: Duration::ZERO, rto: bounds.initial }
    }

    /// A valid sample of the round-trip time, at most one per round trip; ends the back-off.
    pub fn sample(&mut self, rtt: Duration) {
        let r = rtt.as_nanos();
        let (srtt, rttvar) = match self.srtt {
            _ if self.bounds.tick.is_some() => self.coarse_sample(r),
            None => (r, r / 2),
            Some(srtt) => {
                let srtt = srtt.as_nanos();
                let deviation = srtt.abs_diff(r);
                // RTO.Alpha is 1/8 and RTO.Beta 1/4; the variance takes the old SRTT.
                let rttvar = (3 * self.rttvar.as_nanos()).saturating_add(deviation) / 4;
                ((7 * srtt).saturating_add(r) / 8, rttvar)
            }
        };
        let rttvar = Duration::from_nanos(rttvar).max(GRANULARITY);
        (self.srtt, self.rttvar) = (Some(Duration::from_nanos(srtt)), rttvar);
        self.rto = self.estimate().max(self.bounds.min).min(self.bounds.max);
    }

    /// SRTT and RTTVAR after a sample of `nanos`, with `sa` eighths and `sv` quarters of a
    /// millisecond.
    #[cold]
    fn coarse_sample(&self, nanos: u64) -> (u64, u64) {
        let r = nanos / MILLISECOND;
        let Some(srtt) = self.srtt else { return (r * MILLISECOND, r / 2 * MILLISECOND) };
        let (sa, sv) =
            (srtt.as_nanos() * 8 / MILLISECOND, self.rttvar.as_nanos() * 4 / MILLISECOND);
        let (old, deviation) = (sa / 8, (sa / 8).abs_diff(r));
        let (sa, sv) = ((sa + r).saturating_sub(old), (sv + deviation).saturating_sub(sv / 4));
        (sa * MILLISECOND / 8, sv.max(1) * MILLISECOND / 4)
    }

    /// SRTT + 4 RTTVAR, without bounds and back-off; zero before the first sample.
    pub(super) fn estimate(&self) -> Duration {
        let srtt = self.srtt.unwrap_or(Duration::ZERO).as_nanos();
        let srtt = if self.bounds.tick.is_some() { srtt / MILLISECOND * MILLISECOND } else { srtt };
        Duration::from_nanos(srtt.saturating_add(4 * self.rttvar.as_nanos()))
    }

    /// A timer with this time-out expired: twice as long (RFC 9260 s6.3.3 E2).
    pub fn back_off(&mut self) {
        self.rto = (self.rto + self.rto).min(self.bounds.max);
    }

    /// When a timer expires that starts now.
    pub(super) fn expiry(&self, now: Instant) -> Instant {
        let at = now + self.rto;
        match self.bounds.tick {
            Some(tick) => Instant::from_nanos(at.as_nanos().next_multiple_of(tick.as_nanos())),
            None => at,
        }
    }

    /// The time-out, back-off included.
    pub const fn rto(&self) -> Duration {
        self.rto
    }

    /// Smoothed round-trip time; `None` before the first sample.
    pub const fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// Variance of the round-trip time.
    pub const fn rttvar(&self) -> Duration {
        self.rttvar
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(samples: &[u64], bounds: RtoBounds) -> Vec<(u64, u64, u64)> {
        let mut rto = Rto::new(bounds);
        let us = |duration: Duration| duration.as_nanos() / 1000;
        let each = |ms: &u64| {
            rto.sample(Duration::from_millis(*ms));
            (us(rto.srtt().unwrap()), us(rto.rttvar()), us(rto.rto()))
        };
        samples.iter().map(each).collect()
    }

    #[test]
    fn worked_example_of_three_samples() {
        let low = RtoBounds { min: Duration::from_millis(200), ..RtoBounds::RFC_9260 };
        let expected =
            [(300_000, 150_000, 900_000), (325_000, 162_500, 975_000), (319_375, 133_125, 851_875)];
        assert_eq!(micros(&[300, 500, 280], low), expected);
        let bounded = micros(&[300, 500, 280], RtoBounds::RFC_9260);
        assert!(bounded.iter().all(|(_, _, rto)| *rto == 1_000_000));
    }

    #[test]
    fn back_off_doubles_up_to_the_bound_and_a_sample_ends_it() {
        let mut rto = Rto::new(RtoBounds::RFC_9260);
        assert_eq!(rto.rto(), Duration::from_secs(1));
        let mut seconds = vec![];
        for _ in 0..8 {
            rto.back_off();
            seconds.push(rto.rto().as_nanos() / 1_000_000_000);
        }
        assert_eq!(seconds, [2, 4, 8, 16, 32, 60, 60, 60]);
        rto.sample(Duration::from_millis(400));
        assert_eq!(rto.rto(), Duration::from_millis(1200));
    }

    /// By hand, with `lastsa` and `lastsv` of FreeBSD: 2408 and 600, 2608 and 650, 2563 and 533.
    #[test]
    fn coarse_estimator_counts_whole_milliseconds() {
        let tick = Some(Duration::from_millis(10));
        let low = RtoBounds { min: Duration::ZERO, tick, ..RtoBounds::RFC_9260 };
        let expected =
            [(301_000, 150_000, 901_000), (326_000, 162_500, 976_000), (320_375, 133_250, 853_000)];
        assert_eq!(micros(&[301, 501, 281], low), expected);
        // Without variation the variance stays at three quarters of a millisecond.
        let last = micros(&[201; 40], low)[39];
        assert_eq!(last, (201_000, 750, 204_000));
    }

    #[test]
    fn coarse_timers_expire_at_the_next_tick() {
        let tick = Some(Duration::from_millis(10));
        let coarse = Rto::new(RtoBounds { tick, ..RtoBounds::RFC_9260 });
        let at = |ms| Instant::from_nanos(ms * MILLISECOND);
        assert_eq!(coarse.expiry(at(501)), at(1510));
        assert_eq!(coarse.expiry(at(510)), at(1510));
        assert_eq!(Rto::new(RtoBounds::RFC_9260).expiry(at(501)), at(1501));
    }

    #[test]
    fn constant_round_trip_has_the_granularity_as_variance() {
        let low = RtoBounds { min: Duration::ZERO, ..RtoBounds::RFC_9260 };
        let samples = [100; 200];
        let (srtt, rttvar, rto) = micros(&samples, low)[199];
        assert_eq!((srtt, rttvar, rto), (100_000, 1, 100_004));
    }
}
