//! `Distribution`: many measured values in a few numbers.

use crate::statistics::{mean, median};

/// Distribution of values in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Distribution {
    /// Number of values.
    pub n: u64,
    /// The smallest value.
    pub min: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The median; of an even number of values the mean of the two in the middle.
    pub median: f64,
    /// The 95th percentile, the smallest value that 95 % do not exceed.
    pub p95: f64,
    /// The largest value.
    pub max: f64,
}

impl Distribution {
    /// `None` of nothing.
    pub fn of(values: &[f64]) -> Option<Distribution> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let rank = (sorted.len() * 95).div_ceil(100).max(1);
        Some(Distribution {
            n: sorted.len() as u64,
            min: *sorted.first()?,
            mean: mean(&sorted)?,
            median: median(&sorted)?,
            p95: *sorted.get(rank - 1)?,
            max: *sorted.last()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hundred_values_have_the_ninety_fifth_as_their_percentile() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let of = Distribution::of(&values).unwrap();
        assert_eq!((of.n, of.min, of.max, of.p95), (100, 1.0, 100.0, 95.0));
        assert_eq!((of.mean, of.median), (50.5, 50.5));
        assert_eq!(Distribution::of(&[]), None);
        assert_eq!(Distribution::of(&[7.0]).unwrap().p95, 7.0);
    }
}
