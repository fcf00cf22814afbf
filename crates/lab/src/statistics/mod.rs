//! Statistics over repetitions: means and medians with intervals, paired differences, Holm.
//!
//! Student t for means and paired differences, confidence sequences where somebody looks at results
//! before they are complete, BCa bootstrap for medians, quantiles and ratios.
//! Quantile functions come from `statrs`; their results are rounded to 12 digits so that the last
//! bit of a platform's mathematics never affects a result. `report` assigns classes and verdicts.

mod bootstrap;
mod compare;
mod modes;
mod resample;
mod sequence;

pub use bootstrap::{median_interval, quantile_intervals, ratio_interval};
pub(crate) use compare::student_interval;
pub use compare::{Paired, holm, paired, welch};
pub use modes::{Mode, modes};
pub(crate) use resample::{Picks, resampled};
pub use sequence::{
    FEWEST, Independent, needed_runs, sequence_half, sequence_interval, sequence_p_value,
    share_interval,
};

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

    /// Whether the interval contains zero, ends included.
    pub fn includes_zero(&self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }
}

/// Arithmetic mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Median, the mean of the middle two for an even number; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

/// The `q`-quantile of sorted values, linear between order statistics (Hyndman and Fan type 7);
/// `None` without values.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let (below, fraction) = rank(sorted.len(), q);
    Some(between(sorted[below], sorted[(below + 1).min(last)], fraction))
}

/// The order statistic, from 0, at or below the `q`-quantile of `n` values, and how far the
/// quantile is from there to the next.
fn rank(n: usize, q: f64) -> (usize, f64) {
    let rank = q.clamp(0.0, 1.0) * n.saturating_sub(1) as f64;
    (rank as usize, rank - rank.floor())
}

fn between(below: f64, above: f64, fraction: f64) -> f64 {
    match fraction {
        // The next value may be infinite.
        0.0 => below,
        0.5 => f64::midpoint(below, above),
        _ => below + (above - below) * fraction,
    }
}

/// Unbiased variance; `None` with fewer than two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    if values.windows(2).all(|pair| pair[0] == pair[1]) {
        // Equal values have variance zero, regardless of rounding of their mean.
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

/// The 95 % interval of the mean by Student t; `None` with fewer than four values.
pub fn interval_of_several(values: &[f64]) -> Option<Interval> {
    mean_interval(values, 0.95).filter(|_| values.len() >= FEWEST)
}

/// Whether the values have such a heavy tail that the interval of the mean may have less than its
/// nominal coverage.
///
/// The sign is the sample's skewness, which is what shifts Student's t: it has to be beyond 2.5
/// standard errors of a normal sample's, and beyond a bound that grows with the sample, because a
/// larger one bears more skewness and shows more of a heavy tail. The bound was chosen by
/// simulation (`tests`): it recognises most samples of 30 and nearly all of 100 from a Pareto
/// distribution of index 2.5, and next to none from a normal one.
pub fn has_heavy_tail(values: &[f64]) -> bool {
    let (Some(mean), Some(variance)) = (mean(values), variance(values)) else { return false };
    let n = values.len() as f64;
    if variance <= 0.0 || n < 8.0 {
        return false;
    }
    let moment = |power: fn(f64) -> f64| values.iter().map(|x| power(x - mean)).sum::<f64>() / n;
    let (second, third) = (moment(|d| d * d), moment(|d| d * d * d));
    let skewness = third / (second * second.sqrt());
    let normal_error = (6.0 * (n - 2.0) / ((n + 1.0) * (n + 3.0))).sqrt();
    let bound = 1.27 + 0.75 * libm::log10(n / 20.0);
    skewness.abs() > bound.max(2.5 * normal_error)
}

/// The two-sided quantile of Student's t: `P(|T| <= t) = level`.
pub(crate) fn student_quantile(level: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom)
        .map_or(f64::NAN, |t| rounded(t.inverse_cdf(0.5 + level.clamp(0.0, 1.0) / 2.0)))
}

/// `P(|T| >= t)`.
pub(crate) fn student_tail(t: f64, freedom: f64) -> f64 {
    if t.is_nan() {
        // The library panics.
        return f64::NAN;
    }
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
