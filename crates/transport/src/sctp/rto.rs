//! `Rto`: the retransmission time-out of one path (RFC 9260 s6.3.1).
//!
//! RFC 9260's arithmetic in nanoseconds, without the rounding and the floors of Linux that
//! `recovery` has for TCP. Which samples are valid is left to the owner.

use base::Duration;

/// Clock granularity G: a variance of zero counts as this.
const GRANULARITY: Duration = Duration::from_micros(1);

/// Bounds of the time-out (RFC 9260 s16).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtoBounds {
    /// RTO.Initial: before the first sample.
    pub initial: Duration,
    /// RTO.Min.
    pub min: Duration,
    /// RTO.Max.
    pub max: Duration,
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
        let rto = Duration::from_nanos(srtt.saturating_add(4 * rttvar.as_nanos()));
        self.rto = rto.max(self.bounds.min).min(self.bounds.max);
    }

    /// A timer with this time-out expired: twice as long (RFC 9260 s6.3.3 E2).
    pub fn back_off(&mut self) {
        self.rto = (self.rto + self.rto).min(self.bounds.max);
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

    #[test]
    fn constant_round_trip_has_the_granularity_as_variance() {
        let low = RtoBounds { min: Duration::ZERO, ..RtoBounds::RFC_9260 };
        let samples = [100; 200];
        let (srtt, rttvar, rto) = micros(&samples, low)[199];
        assert_eq!((srtt, rttvar, rto), (100_000, 1, 100_004));
    }
}
