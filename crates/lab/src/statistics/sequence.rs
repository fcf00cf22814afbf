//! Confidence sequences: intervals of a mean that are valid whenever the runs end, however often
//! somebody has looked at them before.
//!
//! The boundary is Robbins' normal mixture in the asymptotic form of Waudby-Smith, Arbour, Sinha,
//! Kennedy and Ramdas (2024, theorem 2.2), after Howard, Ramdas, McAuliffe and Sekhon (2021). It
//! holds for a large number of runs; with few of them its multiple of the standard error is
//! replaced by that of Student's t with the same tail.

use super::{Interval, normal_cdf, student_quantile};

/// The number of runs at which the sequence is narrowest in comparison with a fixed interval.
const NARROWEST: f64 = 100.0;
/// Fewest runs with an interval.
pub const FEWEST: usize = 4;
/// The largest number of runs that is worth naming.
const MOST_NEEDED: u32 = 1_000_000;

/// The variance of the mixture for [`NARROWEST`] and an error of 5 % (the same source, equation
/// 24), the same for every level, so that intervals of different levels are nested.
fn mixture() -> f64 {
    let log = -2.0 * libm::log(0.05);
    (log + libm::log(log + 1.0)) / NARROWEST
}

/// The interval's half-width after `n` runs, as a multiple of the standard error, with the error
/// `alpha` at all times together.
fn sequence_multiple(n: usize, alpha: f64) -> f64 {
    let scale = n as f64 * mixture();
    let z = (2.0 * (scale + 1.0) / scale * libm::log((scale + 1.0).sqrt() / alpha)).sqrt();
    let tail = normal_cdf(-z);
    let t = student_quantile(1.0 - 2.0 * tail, (n.max(2) - 1) as f64);
    if t.is_finite() { t.max(z) } else { z }
}

/// The smallest error at which the sequence excludes zero after `n` runs, for a mean that is
/// `z` standard errors from zero.
pub fn sequence_p_value(n: usize, z: f64) -> f64 {
    let scale = n as f64 * mixture();
    let exponent = -z * z * scale / (2.0 * (scale + 1.0));
    ((scale + 1.0).sqrt() * libm::exp(exponent)).min(1.0)
}

/// Half the width of the interval of what was seen; `None` with fewer than four values.
pub fn sequence_half(values: &[f64], alpha: f64) -> Option<f64> {
    let (n, variance) = (values.len(), super::variance(values)?);
    (n >= FEWEST).then(|| sequence_multiple(n, alpha) * (variance / n as f64).sqrt())
}

/// The interval of a mean with the error `alpha`; `None` with fewer than four values.
///
/// A run that was not seen may be further from the mean than all that were. As if there were one
/// more on each side, each end is moved by an n-th of the largest deviation seen there, or of
/// `unseen` if that is larger.
pub fn sequence_interval(values: &[f64], alpha: f64, unseen: f64) -> Option<Interval> {
    let (n, mean) = (values.len() as f64, super::mean(values)?);
    let half = sequence_half(values, alpha)?;
    let (below, above) = deviations(values)?;
    let (below, above) = (below.max(unseen) / n, above.max(unseen) / n);
    Some(Interval { low: mean - half - below, high: mean + half + above })
}

/// The interval of the share that `of` out of `n` runs estimate, with the error `alpha` at all
/// times together; `None` with fewer than four.
///
/// The mixture of binomial likelihoods over Jeffreys' prior is a martingale at the true share, so
/// that Ville's inequality makes the interval exact (Howard and others 2021, section 3.2).
pub fn share_interval(of: usize, n: usize, alpha: f64) -> Option<Interval> {
    if n < FEWEST || of > n {
        return None;
    }
    let (with, without) = (of as f64, (n - of) as f64);
    let log_beta = |a: f64, b: f64| libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let mixture = log_beta(with + 0.5, without + 0.5) - log_beta(0.5, 0.5);
    let weighted =
        |count: f64, share: f64| if count > 0.0 { count * libm::log(share) } else { 0.0 };
    let is_excluded = |share: f64| {
        mixture - weighted(with, share) - weighted(without, 1.0 - share) > -libm::log(alpha)
    };
    let end = |mut outside: f64| {
        let mut inside = with / n as f64;
        if !is_excluded(outside) {
            return outside;
        }
        for _ in 0..60 {
            let middle = f64::midpoint(inside, outside);
            *(if is_excluded(middle) { &mut outside } else { &mut inside }) = middle;
        }
        outside
    };
    Some(Interval { low: end(0.0), high: end(1.0) })
}

/// The largest deviations below the mean and above it.
fn deviations(values: &[f64]) -> Option<(f64, f64)> {
    let mean = super::mean(values)?;
    let ends = |(least, most): (f64, f64), value: &f64| (value.min(least), value.max(most));
    let (least, most) = values.iter().fold((mean, mean), ends);
    Some((mean - least, most - mean))
}

/// Runs of the same spread after which the interval reaches no further than `distance` from the
/// mean; `None` if a million are not enough.
pub fn needed_runs(values: &[f64], alpha: f64, unseen: f64, distance: f64) -> Option<u32> {
    let deviation = super::variance(values)?.sqrt();
    let furthest = furthest(values)?.max(unseen);
    needed(values.len(), (deviation, furthest), alpha, distance)
}

/// The largest deviation from the mean.
fn furthest(values: &[f64]) -> Option<f64> {
    let mean = super::mean(values)?;
    Some(values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max))
}

fn needed(seen: usize, spread: (f64, f64), alpha: f64, distance: f64) -> Option<u32> {
    let (deviation, furthest) = spread;
    let half = |n: u32| {
        let n_runs = f64::from(n);
        sequence_multiple(n as usize, alpha) * deviation / n_runs.sqrt() + furthest / n_runs
    };
    let mut n = u32::try_from(seen).ok()?.max(FEWEST as u32) + 1;
    while half(n) > distance {
        n += n / 10 + 1;
        if n > MOST_NEEDED {
            return None;
        }
    }
    Some(n)
}

/// Two independent samples, whose means are compared: the variances of the means are added (Welch
/// 1947), and the multiple of their root is that of the smaller sample.
#[derive(Clone, PartialEq, Debug)]
pub struct Independent {
    /// Values of the first.
    pub a: Vec<f64>,
    /// Values of the second.
    pub b: Vec<f64>,
}

impl Independent {
    /// Size of the smaller sample.
    fn n(&self) -> usize {
        self.a.len().min(self.b.len())
    }

    /// Standard error of the difference of the means; `None` with fewer than four values.
    pub fn standard_error(&self) -> Option<f64> {
        let part = |values: &[f64]| Some(super::variance(values)? / values.len() as f64);
        let sum = part(&self.a)? + part(&self.b)?;
        (self.n() >= FEWEST).then(|| sum.sqrt())
    }

    /// The smallest error at which the sequence excludes a difference of zero.
    pub fn p_value(&self, difference: f64) -> Option<f64> {
        self.standard_error().map(|error| match error == 0.0 {
            true => f64::from(u8::from(difference == 0.0)),
            false => sequence_p_value(self.n(), difference / error),
        })
    }

    /// As [`sequence_half`].
    pub fn half(&self, alpha: f64) -> Option<f64> {
        Some(sequence_multiple(self.n(), alpha) * self.standard_error()?)
    }

    /// As [`sequence_interval`], of the difference of the means.
    pub fn interval(&self, alpha: f64, unseen: f64) -> Option<Interval> {
        let half = self.half(alpha)?;
        let (a, b) = (deviations(&self.a)?, deviations(&self.b)?);
        let difference = super::mean(&self.a)? - super::mean(&self.b)?;
        let moved = |a: f64, b: f64| {
            a.max(unseen) / self.a.len() as f64 + b.max(unseen) / self.b.len() as f64
        };
        Some(Interval {
            low: difference - half - moved(a.0, b.1),
            high: difference + half + moved(a.1, b.0),
        })
    }

    /// As [`needed_runs`], of each sample.
    pub fn needed_runs(&self, alpha: f64, unseen: f64, distance: f64) -> Option<u32> {
        let deviation = self.standard_error()? * (self.n() as f64).sqrt();
        let furthest = furthest(&self.a)?.max(unseen) + furthest(&self.b)?.max(unseen);
        needed(self.n(), (deviation, furthest), alpha, distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Chance, Purpose};

    #[test]
    fn multiple_is_that_of_the_mixture_with_many_runs() {
        // ρ² = (5.9915 + ln 6.9915) / 100 = 0.079362; n ρ² = 7.9362 with 100 runs:
        // sqrt(2 (8.9362 / 7.9362) ln(sqrt(8.9362) / 0.05)) = 3.0350.
        let z = 3.0350;
        assert!((mixture() - 0.079_362).abs() < 1e-6);
        let many = sequence_multiple(100, 0.05);
        // Student's t with 99 degrees of freedom at the same tail is a little wider.
        assert!(many > z && many < 1.04 * z, "{many}");
        assert!((sequence_p_value(100, z) - 0.05).abs() < 1e-4);
        assert!(sequence_multiple(5, 0.05) > 6.0, "few runs know little of their spread");
    }

    #[test]
    fn interval_of_equal_values_has_the_width_of_an_unseen_run() {
        assert_eq!(sequence_interval(&[2.0; 3], 0.05, 1.0), None, "too few");
        let interval = sequence_interval(&[2.0; 10], 0.05, 1.0).unwrap();
        assert_eq!((interval.low, interval.high), (1.9, 2.1));
        let certain = sequence_interval(&[2.0; 10], 0.05, 0.0).unwrap();
        assert_eq!((certain.low, certain.high), (2.0, 2.0));
    }

    #[test]
    fn share_interval_is_that_of_the_mixture_and_covers_at_every_look() {
        assert_eq!(share_interval(0, 3, 0.05), None);
        // ln B(1/2, 401/2) - ln pi = -3.2254 for none of 200: -200 ln(1 - p) = 6.2212.
        let none = share_interval(0, 200, 0.05).unwrap();
        assert!(none.low == 0.0 && (none.high - 0.030_63).abs() < 2e-4, "{none:?}");
        let all = share_interval(200, 200, 0.05).unwrap();
        assert!(all.high == 1.0 && (all.low - (1.0 - none.high)).abs() < 1e-9, "{all:?}");
        let missed = (0..500u64).filter(|replicate| {
            let chance = Chance::new(7, *replicate);
            let mut late = 0;
            (1..=300usize).any(|n| {
                late += usize::from(chance.below(20, 0, Purpose::Resample, n as u64) == 0);
                let interval = share_interval(late, n, 0.05);
                interval.is_some_and(|of| !(of.low..=of.high).contains(&0.05))
            })
        });
        assert!(missed.count() <= 25, "5 % of 500");
    }

    #[test]
    fn needed_runs_have_an_interval_as_narrow_as_asked_for() {
        let values = [1.0, 3.0].repeat(10);
        let n = needed_runs(&values, 0.05, 1.0, 0.1).unwrap() as usize;
        let reaches = |n: usize| {
            let values = [1.0, 3.0].repeat(n / 2);
            sequence_interval(&values, 0.05, 1.0).unwrap().half_width()
        };
        assert!(reaches(n) <= 0.1 && reaches(n * 8 / 10) > 0.1, "{n}");
        assert_eq!(needed_runs(&values, 0.05, 1.0, 0.0), None, "at the margin itself");
    }

    /// Looks at 5, 6, 7 ... 400 normal values: a fixed interval misses zero at one of them in more
    /// than a third of the cases.
    #[test]
    fn looking_after_every_run_costs_no_coverage() {
        let (mut missed, mut fixed) = (0, 0);
        for seed in 0..200 {
            let chance = Chance::new(seed, 0);
            // The sum of twelve uniform values is close to normal.
            let value = |i: u64| {
                let uniform = |k| chance.uniform(7, Purpose::Resample, 12 * i + k);
                (0..12).map(uniform).sum::<f64>() - 6.0
            };
            let values: Vec<f64> = (0..400).map(value).collect();
            let looks = || (5..=400).step_by(5).map(|n| &values[..n]);
            let outside = |interval: Option<Interval>| !interval.unwrap().includes_zero();
            missed += u32::from(looks().any(|v| outside(sequence_interval(v, 0.05, 0.0))));
            fixed += u32::from(looks().any(|v| outside(super::super::mean_interval(v, 0.95))));
        }
        assert!(missed <= 10, "{missed} of 200");
        assert!(fixed > 50, "{fixed} of 200: what a sequence is for");
    }

    #[test]
    fn interval_of_independent_samples_does_not_depend_on_their_order() {
        let a: Vec<f64> = (0..40).map(|i| 10.0 + f64::from(i % 5)).collect();
        let b: Vec<f64> = (0..40).map(|i| 7.0 + f64::from(i % 5)).collect();
        let both = Independent { a: a.clone(), b: b.clone() };
        let interval = both.interval(0.05, 0.0).unwrap();
        // Paired, the difference would be 3 exactly. Each mean has the variance 2 · 40/39 / 40, and
        // one value more on each side is 2 from each mean.
        let error = (2.0 * 2.0 / 39.0_f64).sqrt();
        let half = sequence_multiple(40, 0.05) * error + 2.0 * 2.0 / 40.0;
        assert!((interval.high - 3.0 - half).abs() < 1e-9, "{interval:?}");
        assert!((3.0 - half - interval.low).abs() < 1e-9, "{interval:?}");
        let turned = Independent { a, b: b.into_iter().rev().collect() };
        assert!((turned.interval(0.05, 0.0).unwrap().high - interval.high).abs() < 1e-9);
        assert!(both.p_value(3.0).unwrap() < 1e-6 && both.p_value(0.0) == Some(1.0));
        let needed = both.needed_runs(0.05, 0.0, half / 2.0).unwrap();
        assert!((120..220).contains(&needed), "{needed}");
        let few = Independent { a: vec![1.0; 3], b: vec![2.0; 9] };
        assert_eq!((few.interval(0.05, 0.0), few.p_value(1.0)), (None, None));
    }
}
