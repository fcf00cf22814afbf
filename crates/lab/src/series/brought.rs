//! Bytes that each path delivered first to the receiver, per tenth of a second.
//!
//! Data that arrive again, over the same path or another one, count where they arrived first, so
//! the rates of the paths add up to the progress of the connection.

use super::{Points, Quantity, Series};
use base::{Duration, Instant, PathId};
use std::collections::BTreeMap;

/// The time of one value; the shortest retransmission time-out has several.
const BIN: Duration = Duration::from_millis(100);

/// Bytes by subflow and bin.
#[derive(Default)]
pub(super) struct Brought {
    of_subflows: BTreeMap<PathId, Vec<u64>>,
}

impl Brought {
    /// Add new bytes of a subflow.
    pub(super) fn add(&mut self, now: Instant, subflow: PathId, bytes: u64) {
        let bins = self.of_subflows.entry(subflow).or_default();
        let bin = bin(now);
        if bins.len() <= bin {
            bins.resize(bin + 1, 0);
        }
        bins[bin] += bytes;
    }

    /// The series of every path that delivered bytes, all of the same length; `path` returns the
    /// path of a subflow.
    pub(super) fn into_series(self, path: impl Fn(PathId) -> Option<usize>) -> Vec<Series> {
        let longest = self.of_subflows.values().map(Vec::len).max().unwrap_or(0);
        // A path that was joined again has several subflows.
        let mut of_paths: BTreeMap<Option<usize>, Vec<u64>> = BTreeMap::new();
        for (subflow, bins) in self.of_subflows {
            let sums = of_paths.entry(path(subflow)).or_insert_with(|| vec![0; longest]);
            for (sum, bytes) in sums.iter_mut().zip(bins) {
                *sum += bytes;
            }
        }
        let series = |(path, bins): (Option<usize>, Vec<u64>)| {
            let points = bins.into_iter().zip(1..).map(|(bytes, number)| point(number, bytes));
            Series { quantity: Quantity::Brought, path, points: points.collect::<Points>() }
        };
        of_paths.into_iter().map(series).collect()
    }
}

/// The number of the bin of a time.
fn bin(now: Instant) -> usize {
    let number = (now - Instant::ZERO).as_nanos() / BIN.as_nanos();
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The point at the end of the `number`-th bin.
fn point(number: u64, bytes: u64) -> (Instant, f64) {
    let at = Instant::from_nanos(number * BIN.as_nanos());
    (at, bytes as f64 * 8.0 / BIN.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subflows_of_a_path_are_added_and_silent_bins_are_zero() {
        let mut brought = Brought::default();
        let subflow = PathId;
        for (millis, number, bytes) in [(0, 0, 1_000), (99, 0, 250), (250, 1, 500), (399, 2, 125)] {
            brought.add(Instant::from_millis(millis), subflow(number), bytes);
        }
        let path = |id: PathId| [0, 1, 0].get(id.index()).copied();
        let series = brought.into_series(path);
        let values = |series: &Series| series.points.iter().map(|(_, v)| *v).collect::<Vec<_>>();
        assert_eq!(series.iter().map(|one| one.path).collect::<Vec<_>>(), [Some(0), Some(1)]);
        assert_eq!(values(&series[0]), [100_000.0, 0.0, 0.0, 10_000.0]);
        assert_eq!(values(&series[1]), [0.0, 0.0, 40_000.0, 0.0]);
        assert_eq!(series[0].points[3].0, Instant::from_millis(400), "of the time before it");
    }
}
