//! Statistics over repetitions: means and medians with intervals, paired differences, Holm.
//!
//! Student t for means and paired differences, BCa bootstrap for medians (interface, "Variants").
//! Quantile functions come from `statrs`; their results are rounded to 12 digits so that the last
//! bit of a platform's mathematics never reaches a result (rule 12 of the house). Leaves classes
//! and verdicts to `report`.

mod bootstrap;
mod compare;

pub use bootstrap::median_interval;
pub use compare::{Holm, Paired, holm, paired, welch};

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The ends of an interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// `centre` plus and minus `half`.
    pub fn around(centre: f64, half: f64) -> Self {
        Interval { low: centre - half, high: centre + half }
    }

    /// Half the distance between the ends.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Whether zero lies inside or on an end.
    pub fn includes_zero(&self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }
}

/// Arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Median, the mean of the middle two for an even number; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// Unbiased variance; `None` of fewer than two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    if values.windows(2).all(|pair| pair[0] == pair[1]) {
        // Equal values have no spread, whatever rounding makes of their mean.
        return Some(0.0);
    }
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    Some(squares / (values.len() - 1) as f64)
}

/// The interval of the mean by Student t that covers with probability `level`.
pub fn mean_interval(values: &[f64], level: f64) -> Option<Interval> {
    let (mean, variance) = (mean(values)?, variance(values)?);
    let n = values.len() as f64;
    let half = student_quantile(level, n - 1.0) * (variance / n).sqrt();
    Some(Interval::around(mean, half))
}

/// Whether the tail of the values is too heavy for the mean's interval to cover as it claims:
/// a sample skewness beyond what 2.5 standard errors of a normal sample would show, and one that
/// is large in itself.
pub fn has_heavy_tail(values: &[f64]) -> bool {
    let (Some(mean), Some(variance)) = (mean(values), variance(values)) else { return false };
    let n = values.len() as f64;
    if variance <= 0.0 || n < 8.0 {
        return false;
    }
    let third: f64 = values.iter().map(|x| (x - mean) * (x - mean) * (x - mean)).sum::<f64>() / n;
    let skewness = third / (variance * variance.sqrt());
    skewness.abs() > 1.5 && skewness.abs() > 2.5 * (6.0 / n).sqrt()
}

/// The two-sided quantile of Student's t: `P(|T| <= t) = level`.
pub(crate) fn student_quantile(level: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom)
        .map_or(f64::NAN, |t| rounded(t.inverse_cdf(0.5 + level.clamp(0.0, 1.0) / 2.0)))
}

/// `P(|T| >= t)`.
pub(crate) fn student_tail(t: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom)
        .map_or(f64::NAN, |dist| rounded(2.0 * dist.cdf(-t.abs())).clamp(0.0, 1.0))
}

pub(crate) fn normal_quantile(p: f64) -> f64 {
    rounded(Normal::standard().inverse_cdf(p))
}

pub(crate) fn normal_cdf(x: f64) -> f64 {
    rounded(Normal::standard().cdf(x))
}

/// The nearest number of 12 significant digits.
fn rounded(x: f64) -> f64 {
    // A formatted float always parses.
    format!("{x:.11e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests;
