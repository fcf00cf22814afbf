//! Comparing two variants: paired and unpaired differences, and Holm's correction over many.

use super::{Interval, mean, student_quantile, student_tail, variance};

/// The comparison of a variant with a baseline, run by run.
#[derive(Clone, PartialEq, Debug)]
pub struct Paired {
    /// Mean of variant minus baseline.
    pub mean: f64,
    /// Standard error of that mean.
    pub standard_error: f64,
    /// Degrees of freedom.
    pub freedom: f64,
    /// Pearson's correlation of the two; `None` when one of them does not vary.
    pub correlation: Option<f64>,
    /// Probability of a mean difference at least this far from zero under the null hypothesis.
    pub p_value: f64,
}

impl Paired {
    /// The interval of the mean difference that covers with probability `level`.
    pub fn interval(&self, level: f64) -> Interval {
        if self.standard_error == 0.0 {
            return Interval::around(self.mean, 0.0);
        }
        let half = student_quantile(level, self.freedom) * self.standard_error;
        Interval::around(self.mean, half)
    }
}

/// Compares values of the same repetitions; `None` of fewer than two.
pub fn paired(variant: &[f64], baseline: &[f64]) -> Option<Paired> {
    let differences: Vec<f64> = variant.iter().zip(baseline).map(|(a, b)| a - b).collect();
    let (mean, variance) = (mean(&differences)?, variance(&differences)?);
    let n = differences.len() as f64;
    let standard_error = (variance / n).sqrt();
    let p_value = match (standard_error == 0.0, mean == 0.0) {
        (true, true) => 1.0,
        (true, false) => 0.0,
        (false, _) => student_tail(mean / standard_error, n - 1.0),
    };
    let correlation = correlation(variant, baseline);
    Some(Paired { mean, standard_error, freedom: n - 1.0, correlation, p_value })
}

/// Pearson's correlation.
fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (mean_a, mean_b) = (mean(a)?, mean(b)?);
    let (var_a, var_b) = (variance(a)?, variance(b)?);
    if var_a <= 0.0 || var_b <= 0.0 {
        return None;
    }
    let products: f64 = a.iter().zip(b).map(|(x, y)| (x - mean_a) * (y - mean_b)).sum();
    let covariance = products / (a.len().min(b.len()) - 1) as f64;
    Some((covariance / (var_a * var_b).sqrt()).clamp(-1.0, 1.0))
}

/// The 95 % interval of the difference of means of independent samples (Welch 1947).
pub fn welch(variant: &[f64], baseline: &[f64]) -> Option<Interval> {
    student_interval(variant, baseline, 0.95)
}

/// The same at another level.
pub(crate) fn student_interval(variant: &[f64], baseline: &[f64], level: f64) -> Option<Interval> {
    let difference = mean(variant)? - mean(baseline)?;
    let part_a = variance(variant)? / variant.len() as f64;
    let part_b = variance(baseline)? / baseline.len() as f64;
    let sum = part_a + part_b;
    if sum <= 0.0 {
        return Some(Interval::around(difference, 0.0));
    }
    let weigh = |part: f64, n: usize| part * part / (n - 1) as f64;
    let freedom = sum * sum / (weigh(part_a, variant.len()) + weigh(part_b, baseline.len()));
    Some(Interval::around(difference, student_quantile(level, freedom) * sum.sqrt()))
}

/// Holm's step-down procedure (1979): the error of the interval of each comparison. The smallest
/// p-value is tested at 5 %/m, the next at 5 %/(m-1), and so on; the first that is not rejected
/// ends that, and all above it keep its error.
///
/// `is_rejected` of a number and an error says whether the interval with that error excludes zero:
/// the interval decides, and it may be wider than the p-value has it.
pub fn holm(p_values: &[f64], is_rejected: impl Fn(usize, f64) -> bool) -> Vec<f64> {
    const ALPHA: f64 = 0.05;
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut errors = vec![ALPHA; p_values.len()];
    let mut stopped_at = None;
    for (rank, index) in order.into_iter().enumerate() {
        let error = stopped_at.unwrap_or(ALPHA / (p_values.len() - rank) as f64);
        errors[index] = error;
        if stopped_at.is_none() && !is_rejected(index, error) {
            stopped_at = Some(error);
        }
    }
    errors
}
