//! The BCa bootstrap of the median: bias-corrected and accelerated (Efron 1987).
//!
//! Resamples are keyed draws, so the interval is the same on every machine and for every number
//! of threads.

use super::{Interval, median, normal_cdf, normal_quantile};
use base::{Chance, Purpose};

/// Resamples drawn.
const RESAMPLES: u64 = 10_000;

/// Larger samples take the distribution-free interval, which is the same by then and needs no
/// resamples.
const LARGEST: usize = 5_000;

/// The 95 % interval of the median; `owner` keys the draws. `None` of fewer than two values.
pub fn median_interval(values: &[f64], seed: u64, owner: u64) -> Option<Interval> {
    let centre = median(values).filter(|_| values.len() > 1)?;
    if values.len() > LARGEST {
        return Some(order_statistics(values));
    }
    let medians = resampled_medians(values, seed, owner);
    let below = medians.iter().filter(|m| **m < centre).count() as f64;
    let equal = medians.iter().filter(|m| **m == centre).count() as f64;
    // Ties count half: a median often falls exactly on the sample's.
    let share = (below + equal / 2.0) / medians.len() as f64;
    if share <= 0.0 || share >= 1.0 {
        return Some(Interval { low: medians[0], high: medians[medians.len() - 1] });
    }
    let z0 = normal_quantile(share);
    let a = acceleration(values);
    let end = |level: f64| {
        let z = z0 + normal_quantile(level);
        let p = normal_cdf(z0 + z / (1.0 - a * z));
        let index = (p * medians.len() as f64) as usize;
        medians[index.min(medians.len() - 1)]
    };
    Some(Interval { low: end(0.025), high: end(0.975) })
}

/// The interval between the order statistics n/2 -+ 1.96 sqrt(n)/2 (binomial, normal limit).
fn order_statistics(values: &[f64]) -> Interval {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let reach = normal_quantile(0.975) * n.sqrt() / 2.0;
    let rank = |rank: f64| sorted[(rank.max(0.0) as usize).min(sorted.len() - 1)];
    Interval { low: rank(n / 2.0 - reach), high: rank(n / 2.0 + reach) }
}

/// The medians of all resamples, sorted.
fn resampled_medians(values: &[f64], seed: u64, owner: u64) -> Vec<f64> {
    // No repetition has this number, so no draw of a run is met again.
    let chance = Chance::new(seed, u64::MAX);
    let n = values.len() as u64;
    let mut resample = vec![0.0; values.len()];
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|number| {
            for (i, slot) in resample.iter_mut().enumerate() {
                let index = number * n + i as u64;
                let pick = chance.below(n, owner, Purpose::Resample, index);
                *slot = values[pick as usize];
            }
            median_in_place(&mut resample)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    medians
}

/// The median of a non-empty slice, which is reordered.
fn median_in_place(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    let (lower, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if !even {
        return upper;
    }
    let below = lower.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    f64::midpoint(below, upper)
}

/// The acceleration by the jackknife.
fn acceleration(values: &[f64]) -> f64 {
    let mut rest = Vec::with_capacity(values.len());
    let jackknife: Vec<f64> = (0..values.len())
        .map(|left_out| {
            rest.clear();
            rest.extend(values.iter().enumerate().filter(|(i, _)| *i != left_out).map(|(_, x)| x));
            median_in_place(&mut rest)
        })
        .collect();
    let mean = jackknife.iter().sum::<f64>() / jackknife.len() as f64;
    let squares: f64 = jackknife.iter().map(|x| (mean - x) * (mean - x)).sum();
    let cubes: f64 = jackknife.iter().map(|x| (mean - x) * (mean - x) * (mean - x)).sum();
    if squares <= 0.0 { 0.0 } else { cubes / (6.0 * squares * squares.sqrt()) }
}
