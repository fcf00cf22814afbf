//! A distribution of times in bounded memory: exact count, mean, extremes and shares above given
//! bounds, quantiles to 1.6 %.

use base::Duration;

/// Bits of a value that its bucket keeps, the leading one not counted.
const BITS: u32 = 6;
/// Quantiles that are reported.
const QUANTILES: [(&str, f64); 5] =
    [("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p95", 0.95), ("p99", 0.99)];

#[derive(Clone, Debug, Default)]
pub(super) struct Distribution {
    /// Weight by bucket: 64 buckets for each power of two.
    buckets: Vec<u64>,
    weight: u64,
    zero: u64,
    /// Sum of the values, in nanoseconds.
    sum: u128,
    least: Option<u64>,
    most: u64,
    /// Weight above each of the bounds.
    above: Vec<u64>,
}

impl Distribution {
    /// Adds a value; `bounds` are the same at every call.
    pub(super) fn add(&mut self, value: Duration, bounds: &[(&str, Duration)]) {
        self.add_weighted(value, 1);
        self.above.resize(bounds.len(), 0);
        for (above, (_, bound)) in self.above.iter_mut().zip(bounds) {
            *above += u64::from(value > *bound);
        }
    }

    /// Adds a value that counts `weight` times.
    pub(super) fn add_weighted(&mut self, value: Duration, weight: u64) {
        let nanos = value.as_nanos();
        let place = bucket(nanos);
        if self.buckets.len() <= place {
            self.buckets.resize(place + 1, 0);
        }
        self.buckets[place] += weight;
        self.weight += weight;
        self.zero += if nanos == 0 { weight } else { 0 };
        self.sum += u128::from(nanos) * u128::from(weight);
        self.least = Some(self.least.map_or(nanos, |least| least.min(nanos)));
        self.most = self.most.max(nanos);
    }

    pub(super) fn merge(&mut self, other: &Distribution) {
        for (into, from) in [(&mut self.buckets, &other.buckets), (&mut self.above, &other.above)] {
            into.resize(into.len().max(from.len()), 0);
            for (into, from) in into.iter_mut().zip(from) {
                *into += from;
            }
        }
        self.weight += other.weight;
        self.zero += other.zero;
        self.sum += other.sum;
        self.least = [self.least, other.least].into_iter().flatten().min();
        self.most = self.most.max(other.most);
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.weight == 0
    }

    /// Least values of the buckets, in nanoseconds, with their weights.
    pub(super) fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        self.buckets.iter().enumerate().map(|(place, weight)| (least(place), *weight))
    }

    /// Share of the values above zero.
    pub(super) fn above_zero(&self) -> f64 {
        1.0 - self.zero as f64 / self.weight as f64
    }

    /// Count, extremes, mean, quantiles and the shares above the bounds; nothing without values.
    pub(super) fn numbers(
        &self,
        bounds: &[(&'static str, Duration)],
    ) -> impl Iterator<Item = (&'static str, f64)> {
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let weight = self.weight as f64;
        let mut numbers = Vec::new();
        if !self.is_empty() {
            numbers.push(("n", weight));
            numbers.push(("min", seconds(self.least.unwrap_or(0))));
            numbers.push(("mean", self.sum as f64 / weight / 1e9));
            let of = |(name, level): &(&'static str, f64)| (*name, seconds(self.quantile(*level)));
            numbers.extend(QUANTILES.iter().map(of));
            numbers.push(("max", seconds(self.most)));
            let share = |((name, _), above): (&(&'static str, Duration), &u64)| {
                (*name, *above as f64 / weight)
            };
            numbers.extend(bounds.iter().zip(&self.above).map(share));
        }
        numbers.into_iter()
    }

    /// The least value that this part of the weight does not exceed, in nanoseconds.
    fn quantile(&self, level: f64) -> u64 {
        let wanted = ((level * self.weight as f64).ceil() as u64).max(1);
        let mut below = 0;
        for (place, weight) in self.buckets.iter().enumerate() {
            below += weight;
            if below >= wanted {
                return middle(place).clamp(self.least.unwrap_or(0), self.most);
            }
        }
        self.most
    }
}

/// The bucket of a value.
const fn bucket(nanos: u64) -> usize {
    if nanos < 1 << BITS {
        return nanos as usize;
    }
    let shift = nanos.ilog2() - BITS;
    ((shift as usize + 1) << BITS) + ((nanos >> shift) as usize & ((1 << BITS) - 1))
}

/// The least value of a bucket.
const fn least(bucket: usize) -> u64 {
    if bucket < 1 << BITS {
        return bucket as u64;
    }
    let low = (1 << BITS) + (bucket & ((1 << BITS) - 1)) as u64;
    low << ((bucket >> BITS) - 1)
}

/// The value in the middle of a bucket.
const fn middle(bucket: usize) -> u64 {
    let width = if bucket < 1 << BITS { 1 } else { 1 << ((bucket >> BITS) - 1) };
    least(bucket) + width / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: [(&str, Duration); 1] = [("above_30ms", Duration::from_millis(30))];

    fn number(of: &Distribution, name: &str) -> f64 {
        of.numbers(&BOUNDS).find(|(known, _)| *known == name).expect(name).1
    }

    #[test]
    fn ten_values_have_the_numbers_of_a_table() {
        let mut of = Distribution::default();
        for millis in [0, 10, 10, 20, 20, 20, 30, 40, 50, 100] {
            of.add(Duration::from_millis(millis), &BOUNDS);
        }
        for (name, expected) in [
            ("n", 10.0),
            ("min", 0.0),
            ("mean", 0.03),
            ("max", 0.1),
            ("above_30ms", 0.3),
            ("p25", 0.01),
            ("p50", 0.02),
            ("p75", 0.04),
            ("p95", 0.1),
        ] {
            let found = number(&of, name);
            assert!((found - expected).abs() <= 0.01 * expected, "{name}: {found}");
        }
        assert_eq!(of.above_zero(), 0.9);
        let mut both = of.clone();
        both.merge(&of);
        assert_eq!((number(&both, "n"), number(&both, "mean")), (20.0, 0.03));
        assert_eq!(number(&both, "above_30ms"), 0.3);
    }

    #[test]
    fn buckets_are_as_wide_as_their_values_need() {
        for nanos in [0, 1, 63, 64, 65, 127, 128, 1_000, 123_456_789, u64::MAX / 3] {
            let found = middle(bucket(nanos));
            assert!(found.abs_diff(nanos) as f64 <= nanos as f64 / 128.0 + 1.0, "{nanos}: {found}");
        }
        let of = Distribution::default();
        assert!(of.is_empty() && of.numbers(&BOUNDS).next().is_none());
    }
}
