//! The BCa bootstrap of quantiles and ratios: bias-corrected and accelerated (Efron 1987).
//!
//! Resamples are keyed draws, so an interval is the same on every machine and for every number of
//! threads. A quantile of a resample is found by counting how often each value was drawn, so a
//! resample is never sorted.

use super::{FEWEST, Interval, mean, normal_cdf, normal_quantile, quantile};
use base::{Chance, Purpose};

/// Resamples drawn.
const RESAMPLES: u64 = 10_000;

/// Larger samples use the interval of the normal limit, which is then equal and needs no resamples.
const LARGEST: usize = 5_000;

/// The 95 % interval of the median; `owner` keys the draws. `None` with fewer than four values.
pub fn median_interval(values: &[f64], seed: u64, owner: u64) -> Option<Interval> {
    quantile_intervals(values, &[0.5], seed, owner)[0]
}

/// The 95 % intervals of quantiles, from the same resamples. `None` if the sample is too small: all
/// values may be on one side of the quantile, so no interval inside the sample has the coverage.
pub fn quantile_intervals(
    values: &[f64],
    levels: &[f64],
    seed: u64,
    owner: u64,
) -> Vec<Option<Interval>> {
    let n = values.len() as f64;
    // The interval of the median is useful even without full coverage (5 values would have to be on
    // one side).
    let possible = |q: f64| {
        let one_side = n * libm::log(q.max(1.0 - q)) <= libm::log(0.025);
        values.len() >= FEWEST && (q == 0.5 || one_side)
    };
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let large = values.len() > LARGEST;
    let resamples = if large || !levels.iter().any(|q| possible(*q)) {
        vec![Vec::new(); levels.len()]
    } else {
        resampled_quantiles(values, &sorted, levels, seed, owner)
    };
    let each = levels.iter().zip(resamples).map(|(q, resampled)| {
        let estimate = quantile(&sorted, *q).filter(|_| possible(*q))?;
        if large {
            return Some(order_statistics(&sorted, *q));
        }
        Some(bca(resampled, estimate, &jackknifed_quantiles(&sorted, *q)))
    });
    each.collect()
}

/// The 95 % interval of the ratio of the means of paired values. `None` with fewer than four pairs
/// or if a denominator is not positive.
pub fn ratio_interval(above: &[f64], below: &[f64], seed: u64, owner: u64) -> Option<Interval> {
    let n = above.len().min(below.len());
    if n < FEWEST || below.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let pairs: Vec<(f64, f64)> = above.iter().copied().zip(below.iter().copied()).collect();
    let total = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    let ratio = total.0 / total.1;
    let left_out = pairs.iter().map(|pair| (total.0 - pair.0) / (total.1 - pair.1));
    let left_out: Vec<f64> = left_out.collect();
    if n > LARGEST {
        return Some(jackknife_interval(ratio, &left_out));
    }
    let chance = Chance::new(seed, u64::MAX);
    let resampled = (0..RESAMPLES).map(|number| {
        let picks = (0..n as u64).map(|i| {
            let pick = chance.below(n as u64, owner, Purpose::Resample, number * n as u64 + i);
            pairs[pick as usize]
        });
        let sums = picks.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        sums.0 / sums.1
    });
    Some(bca(resampled.collect(), ratio, &left_out))
}

/// The BCa interval from the estimates of all resamples and of the sample without each value.
fn bca(mut resampled: Vec<f64>, estimate: f64, left_out: &[f64]) -> Interval {
    resampled.sort_by(f64::total_cmp);
    let below = resampled.iter().filter(|x| **x < estimate).count() as f64;
    let equal = resampled.iter().filter(|x| **x == estimate).count() as f64;
    // Ties count half: a median often falls exactly on the sample's.
    let share = (below + equal / 2.0) / resampled.len() as f64;
    if share <= 0.0 || share >= 1.0 {
        return Interval { low: resampled[0], high: resampled[resampled.len() - 1] };
    }
    let z0 = normal_quantile(share);
    let a = acceleration(left_out);
    let end = |level: f64| {
        let z = z0 + normal_quantile(level);
        let p = normal_cdf(z0 + z / (1.0 - a * z));
        let index = (p * resampled.len() as f64) as usize;
        resampled[index.min(resampled.len() - 1)]
    };
    Interval { low: end(0.025), high: end(0.975) }
}

/// The interval between the order statistics n q -+ 1.96 sqrt(n q (1 - q)) (binomial, normal
/// limit).
fn order_statistics(sorted: &[f64], q: f64) -> Interval {
    let n = sorted.len() as f64;
    let reach = normal_quantile(0.975) * (n * q * (1.0 - q)).sqrt();
    let rank = |rank: f64| sorted[(rank.max(0.0) as usize).min(sorted.len() - 1)];
    Interval { low: rank(n * q - reach), high: rank(n * q + reach) }
}

/// The estimate plus and minus 1.96 standard errors by the jackknife.
fn jackknife_interval(estimate: f64, left_out: &[f64]) -> Interval {
    let n = left_out.len() as f64;
    let mean = mean(left_out).unwrap_or(estimate);
    let squares: f64 = left_out.iter().map(|x| (x - mean) * (x - mean)).sum();
    let error = (squares * (n - 1.0) / n).sqrt();
    Interval::around(estimate, normal_quantile(0.975) * error)
}

/// For each level the quantiles of all resamples.
fn resampled_quantiles(
    values: &[f64],
    sorted: &[f64],
    levels: &[f64],
    seed: u64,
    owner: u64,
) -> Vec<Vec<f64>> {
    // No repetition has this number, so draws of runs are not reused.
    let chance = Chance::new(seed, u64::MAX);
    let n = values.len() as u64;
    // Equal values may share a rank: only the value counts.
    let rank = |value: &f64| sorted.partition_point(|other| other.total_cmp(value).is_lt());
    let ranks: Vec<usize> = values.iter().map(rank).collect();
    let mut counts = vec![0u32; values.len()];
    let mut quantiles = vec![Vec::with_capacity(RESAMPLES as usize); levels.len()];
    for number in 0..RESAMPLES {
        counts.fill(0);
        for i in 0..n {
            let pick = chance.below(n, owner, Purpose::Resample, number * n + i);
            counts[ranks[pick as usize]] += 1;
        }
        for (q, quantiles) in levels.iter().zip(&mut quantiles) {
            quantiles.push(counted_quantile(sorted, &counts, *q));
        }
    }
    quantiles
}

/// The quantile of the sample that has each sorted value as often as counted.
fn counted_quantile(sorted: &[f64], counts: &[u32], q: f64) -> f64 {
    let (below, fraction) = super::rank(sorted.len(), q);
    let mut left = below as u64;
    let mut drawn = sorted.iter().zip(counts).filter(|(_, count)| **count > 0);
    while let Some((value, count)) = drawn.next() {
        let count = u64::from(*count);
        if left + 1 < count || (left + 1 == count && fraction == 0.0) {
            return *value;
        }
        if left + 1 == count {
            let above = drawn.next().map_or(*value, |(above, _)| *above);
            return super::between(*value, above, fraction);
        }
        left -= count;
    }
    f64::NAN
}

/// The quantile of the sample without each of its values.
fn jackknifed_quantiles(sorted: &[f64], q: f64) -> Vec<f64> {
    let (below, fraction) = super::rank(sorted.len() - 1, q);
    let without = |left_out: usize, index: usize| {
        sorted[(index + usize::from(index >= left_out)).min(sorted.len() - 1)]
    };
    let last = sorted.len() - 2;
    (0..sorted.len())
        .map(|out| {
            let above = without(out, (below + 1).min(last));
            super::between(without(out, below), above, fraction)
        })
        .collect()
}

/// The acceleration by the jackknife.
fn acceleration(left_out: &[f64]) -> f64 {
    let mean = left_out.iter().sum::<f64>() / left_out.len() as f64;
    let squares: f64 = left_out.iter().map(|x| (mean - x) * (mean - x)).sum();
    let cubes: f64 = left_out.iter().map(|x| (mean - x) * (mean - x) * (mean - x)).sum();
    if squares <= 0.0 { 0.0 } else { cubes / (6.0 * squares * squares.sqrt()) }
}
