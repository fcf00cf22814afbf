//! The numbers of a box: median, quartiles, ends of the whiskers, outliers. Every figure and the
//! table of quantiles have the same ones.

use lab::statistics::quantile;

/// Whiskers end at the last value within this many interquartile ranges (Tukey 1977).
const WHISKER: f64 = 1.5;

/// A box.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Boxed {
    /// Ends of the whiskers.
    pub first: f64,
    pub last: f64,
    /// Quartiles.
    pub low: f64,
    pub median: f64,
    pub high: f64,
    /// Values beyond the whiskers.
    pub outliers: Vec<f64>,
}

impl Boxed {
    /// That of some values; `None` without any.
    pub(crate) fn of(values: &[f64]) -> Option<Boxed> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let [low, median, high] = [0.25, 0.5, 0.75].map(|q| quantile(&sorted, q));
        let (low, median, high) = (low?, median?, high?);
        let reach = WHISKER * (high - low);
        let within = || sorted.iter().copied().filter(|v| (low - reach..=high + reach).contains(v));
        let (first, last) = (within().fold(low, f64::min), within().fold(high, f64::max));
        let outliers = sorted.iter().copied().filter(|v| *v < first || *v > last).collect();
        Some(Boxed { first, last, low, median, high, outliers })
    }

    /// Values for plotly.js, which draws those beyond the whiskers, and no box without any.
    pub(super) fn sample(&self) -> Vec<f64> {
        [self.first, self.last].into_iter().chain(self.outliers.iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn box_has_the_quartiles_of_the_tables() {
        let of = Boxed::of(&[105.99, 860.16, 77.85, 96.74, 108.36]).expect("values");
        assert_eq!((of.low, of.median, of.high), (96.74, 105.99, 108.36));
        assert_eq!((of.first, of.last), (96.74, 108.36), "no value within the whiskers");
        assert_eq!(of.outliers, [77.85, 860.16]);
        let alone = Boxed::of(&[3.0]).expect("a value");
        assert_eq!((alone.first, alone.last, alone.outliers), (3.0, 3.0, Vec::new()));
        assert_eq!(Boxed::of(&[]), None);
    }
}
