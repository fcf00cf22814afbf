//! How late packets were: counts by size, in buckets that grow with the size.
//!
//! Constant memory and a few instructions a sample, so that the loop can count every packet.

use base::Duration;

/// Buckets per doubling: a value is known to within a sixteenth of itself.
const STEPS: u64 = 16;
/// Enough for 64-bit nanoseconds.
const BUCKETS: usize = 64 * STEPS as usize;

/// Counts of durations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max: Duration,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: vec![0; BUCKETS], total: 0, max: Duration::ZERO }
    }
}

impl Histogram {
    /// Count one.
    pub(super) fn add(&mut self, value: Duration) {
        self.counts[bucket(value.as_nanos())] += 1;
        self.total += 1;
        self.max = self.max.max(value);
    }

    /// How many were counted.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// The largest one.
    pub(super) const fn max(&self) -> Duration {
        self.max
    }

    /// A value that a share `q` of all (0 to 1) do not exceed, at most a sixteenth too large;
    /// zero if nothing was counted.
    pub(super) fn quantile(&self, q: f64) -> Duration {
        let wanted = (self.total as f64 * q).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Duration::from_nanos(upper_end(bucket)).min(self.max);
            }
        }
        self.max
    }
}

/// Below `STEPS` every value has its own; above, its power of two and the four bits behind.
const fn bucket(nanos: u64) -> usize {
    if nanos < STEPS {
        return nanos as usize;
    }
    let shift = nanos.ilog2() - STEPS.ilog2();
    (shift as u64 * STEPS + (nanos >> shift)) as usize
}

/// The largest value of a bucket.
const fn upper_end(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * STEPS {
        return bucket;
    }
    let shift = bucket / STEPS - 1;
    let top = (STEPS + bucket % STEPS) as u128 + 1;
    let end = (top << shift) - 1;
    if end > u64::MAX as u128 { u64::MAX } else { end as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket_and_above_the_one_before() {
        let values = (0..64u32).flat_map(|bit| [1u64 << bit, (1u64 << bit) - 1, (1 << bit) + 1]);
        for value in values.chain([0, 12_345, 2_000_000, u64::MAX]) {
            let at = bucket(value);
            assert!(value <= upper_end(at), "{value}");
            assert!(at == 0 || value > upper_end(at - 1), "{value}");
            assert!(upper_end(at) - value <= value / 16, "{value}");
        }
    }

    #[test]
    fn quantiles_are_within_a_sixteenth() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), Duration::ZERO);
        for micros in 1..=1000 {
            histogram.add(Duration::from_micros(micros));
        }
        assert_eq!((histogram.total(), histogram.max()), (1000, Duration::from_millis(1)));
        for (q, micros) in [(0.5, 500.0), (0.99, 990.0), (0.001, 1.0)] {
            let got = histogram.quantile(q).as_nanos() as f64 / 1000.0;
            assert!((micros..=micros * 1.0625).contains(&got), "{q}: {got}");
        }
        assert_eq!(histogram.quantile(1.0), Duration::from_millis(1));
    }
}
