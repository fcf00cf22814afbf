//! Distributions of a run in few numbers, and those of several runs together: with
//! `--packet-metrics`.
//!
//! A histogram counts samples by their size, in 16 buckets for each power of two, whose lower ends
//! are whole nanoseconds. So the share of samples at or above the lower end of a bucket is exact,
//! also over several runs. `packet_metrics` counts, `results` stores and `report` of the program
//! draws.

use super::Run;
use std::collections::BTreeMap;

/// Buckets for each power of two: this power of two.
const BITS: u32 = 4;

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Counted {
    /// Round-trip times of a path, by sample.
    RoundTrip,
    /// Times that segments wait for earlier bytes, by segment.
    OutOfOrder,
    /// Times from write to read, by byte.
    ApplicationDelay,
}

/// The counts of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    /// What is counted.
    pub of: Counted,
    /// The path, by its place in the scenario; `None`: of the connection.
    pub path: Option<usize>,
    /// Lower ends of the buckets that have samples, in nanoseconds, ascending, with their number.
    pub counts: Vec<(u64, u64)>,
}

/// The complementary distribution of samples of several runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Ccdf {
    /// What was counted.
    pub of: Counted,
    /// The path, by its place in the scenario; `None`: of the connection.
    pub path: Option<usize>,
    /// Number of samples.
    pub n: u64,
    /// Seconds, ascending, with the share of the samples that is at least as large.
    pub points: Vec<(f64, f64)>,
    /// A bound above all samples, in seconds.
    pub end: f64,
}

impl Counted {
    /// All of them.
    pub const ALL: [Counted; 3] =
        [Counted::RoundTrip, Counted::OutOfOrder, Counted::ApplicationDelay];

    /// The name in files, that of its numbers.
    pub const fn name(self) -> &'static str {
        match self {
            Counted::RoundTrip => "rtt",
            Counted::OutOfOrder => "out_of_order",
            Counted::ApplicationDelay => "application_delay",
        }
    }

    /// The name in figures.
    pub const fn words(self) -> &'static str {
        match self {
            Counted::RoundTrip => "round-trip time",
            Counted::OutOfOrder => "out-of-order delay",
            Counted::ApplicationDelay => "delay from write to read",
        }
    }

    /// Whether each path has its own.
    pub const fn is_of_paths(self) -> bool {
        matches!(self, Counted::RoundTrip)
    }
}

impl Histogram {
    /// The counts of these values with their weights, in nanoseconds.
    pub(crate) fn new(
        of: Counted,
        path: Option<usize>,
        values: impl Iterator<Item = (u64, u64)>,
    ) -> Histogram {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        for (value, weight) in values.filter(|(_, weight)| *weight > 0) {
            *counts.entry(lower_end(value)).or_default() += weight;
        }
        Histogram { of, path, counts: counts.into_iter().collect() }
    }

    /// Bytes of memory beyond its own size.
    pub(super) const fn memory(&self) -> usize {
        self.counts.capacity() * size_of::<(u64, u64)>()
    }

    /// `20971520:3 22020096:1`.
    pub(crate) fn text(&self) -> String {
        let words = self.counts.iter().map(|(low, count)| format!("{low}:{count}"));
        words.collect::<Vec<_>>().join(" ")
    }

    /// Parses the same; `None` if it is something else.
    pub(crate) fn parse(of: Counted, path: Option<usize>, text: &str) -> Option<Histogram> {
        let count = |word: &str| {
            let (low, count) = word.split_once(':')?;
            Some((low.parse().ok()?, count.parse().ok()?))
        };
        let counts: Vec<(u64, u64)> = text.split(' ').map(count).collect::<Option<_>>()?;
        counts.is_sorted_by(|a, b| a.0 < b.0).then_some(Histogram { of, path, counts })
    }
}

impl Ccdf {
    /// Those of the finished ones of these runs, in the order of [`Counted`] and of the paths.
    pub fn all_of(runs: &[Run]) -> Vec<Ccdf> {
        let mut all: BTreeMap<(Counted, Option<usize>), BTreeMap<u64, u64>> = BTreeMap::new();
        let finished = runs.iter().filter(|run| run.value.is_some());
        for Histogram { of, path, counts } in finished.flat_map(|run| &run.histograms) {
            let pooled = all.entry((*of, *path)).or_default();
            for (low, count) in counts {
                let sum = pooled.entry(*low).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
        all.into_iter().map(|((of, path), counts)| Ccdf::new(of, path, &counts)).collect()
    }

    fn new(of: Counted, path: Option<usize>, counts: &BTreeMap<u64, u64>) -> Ccdf {
        let n = counts.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
        let mut left = n;
        let mut point = |(low, count): (&u64, &u64)| {
            let share = left as f64 / n.max(1) as f64;
            left -= count;
            (*low as f64 / 1e9, share)
        };
        let points = counts.iter().map(&mut point).collect();
        let end = counts.keys().next_back().map_or(0.0, |low| upper_end(*low) as f64 / 1e9);
        Ccdf { of, path, n, points, end }
    }
}

/// The lower end of the bucket of a value.
const fn lower_end(value: u64) -> u64 {
    if value < 1 << BITS {
        return value;
    }
    let shift = value.ilog2() - BITS;
    (value >> shift) << shift
}

/// The end of the bucket with this lower end: the lower end of the next one.
const fn upper_end(low: u64) -> u64 {
    if low < 1 << BITS { low + 1 } else { low.saturating_add(1 << (low.ilog2() - BITS)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_are_as_wide_as_a_sixteenth() {
        for value in [0, 1, 15, 16, 17, 31, 32, 33, 1_000, 123_456_789, u64::MAX / 3] {
            let (low, end) = (lower_end(value), upper_end(lower_end(value)));
            assert!(low <= value && value < end, "{value}: {low} to {end}");
            assert_eq!((lower_end(low), lower_end(end)), (low, end), "{value}");
            assert!((end - low) as f64 <= (low as f64 / 16.0).max(1.0), "{value}");
        }
    }

    #[test]
    fn text_is_read_back() {
        let values = [(30, 2), (1_000, 5), (31, 1), (0, 4), (7, 0)];
        let histogram = Histogram::new(Counted::OutOfOrder, None, values.into_iter());
        assert_eq!(histogram.text(), "0:4 30:2 31:1 992:5");
        let parse = |text: &str| Histogram::parse(Counted::OutOfOrder, None, text);
        assert_eq!(parse(&histogram.text()), Some(histogram));
        for damaged in ["", "5", "5:", "5:-1", "5:1,6:1", "6:1 5:1", "5:1 5:1", "5:1  6:1"] {
            assert_eq!(parse(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn shares_are_those_of_all_samples() {
        let of = |counts: &[(u64, u64)]| {
            [(Counted::RoundTrip, counts.iter().copied().collect::<BTreeMap<u64, u64>>())]
        };
        let [(of, counts)] = of(&[(0, 6), (16, 3), (1 << 20, 1)]);
        let ccdf = Ccdf::new(of, Some(1), &counts);
        assert_eq!((ccdf.n, ccdf.path), (10, Some(1)));
        assert_eq!(ccdf.points, [(0.0, 1.0), (16e-9, 0.4), (1_048_576e-9, 0.1)]);
        assert_eq!(ccdf.end, 1_114_112e-9);
    }
}
