//! Known values, coverage and properties of the statistics.

use super::*;
use base::{Chance, Purpose};
use proptest::prelude::*;

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance
}

#[test]
fn student_quantiles_are_those_of_the_tables() {
    // Two-sided 95 % and 99 %, as any table prints them, to all digits shown there and more.
    for (freedom, level, expected) in [
        (1.0, 0.95, 12.706_204_736),
        (4.0, 0.95, 2.776_445_105),
        (9.0, 0.95, 2.262_157_163),
        (19.0, 0.95, 2.093_024_054),
        (19.0, 0.99, 2.860_934_606),
        (99.0, 0.95, 1.984_216_952),
        (9999.0, 0.95, 1.960_201_264),
    ] {
        let t = student_quantile(level, freedom);
        assert!(close(t, expected, 2e-9), "{freedom} {level}: {t}");
        assert!(close(student_tail(t, freedom), 1.0 - level, 1e-9));
    }
    assert!(close(normal_quantile(0.975), 1.959_963_985, 2e-9));
    assert!(close(normal_cdf(1.959_963_985), 0.975, 1e-9));
}

#[test]
fn mean_median_and_variance_of_small_samples() {
    assert_eq!(mean(&[]), None);
    assert_eq!(median(&[]), None);
    assert_eq!(variance(&[1.0]), None);
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(variance(&[1.0, 2.0, 3.0, 4.0]), Some(5.0 / 3.0));
    assert_eq!(variance(&[0.1; 20]), Some(0.0), "equal values have no spread");
    assert_eq!(mean_interval(&[1.0], 0.95), None);
}

#[test]
fn mean_interval_is_students() {
    let values = [4.1, 5.2, 6.3, 5.5, 4.9];
    let interval = mean_interval(&values, 0.95).unwrap();
    // Mean 5.2, standard deviation 0.80622577, n 5, t 2.77644511.
    assert!(close(interval.low, 5.2 - 2.776_445_105 * 0.806_225_775 / 5f64.sqrt(), 1e-8));
    assert!(close(interval.high, 5.2 + 2.776_445_105 * 0.806_225_775 / 5f64.sqrt(), 1e-8));
}

#[test]
fn paired_difference_gains_from_correlation() {
    let baseline = [10.0, 12.0, 9.0, 14.0, 11.0];
    let variant = [10.5, 12.4, 9.6, 14.5, 11.5];
    let paired = paired(&variant, &baseline).unwrap();
    assert!(close(paired.mean, 0.5, 1e-12));
    assert!(paired.correlation.unwrap() > 0.99);
    let unpaired = welch(&variant, &baseline).unwrap();
    assert!(paired.interval(0.95).half_width() < unpaired.half_width() / 10.0);
    assert!(!paired.interval(0.95).includes_zero() && unpaired.includes_zero());
}

#[test]
fn welch_interval_has_welchs_degrees_of_freedom() {
    // Variances 2.5 (n 5) and 10 (n 5): freedom = (2.5)^2 / ((0.5^2 + 2^2) / 4) = 5.88235.
    let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, 10.0]);
    let interval = welch(&a, &b).unwrap();
    let half = student_quantile(0.95, 100.0 / 17.0) * 2.5f64.sqrt();
    assert!(close(interval.low, -3.0 - half, 1e-9) && close(interval.high, -3.0 + half, 1e-9));
}

#[test]
fn deterministic_runs_have_intervals_of_width_zero() {
    let equal = paired(&[2.0; 5], &[1.0; 5]).unwrap();
    assert_eq!(equal.p_value, 0.0);
    assert_eq!(equal.interval(0.95), Interval { low: 1.0, high: 1.0 });
    assert_eq!(equal.correlation, None);
    assert_eq!(paired(&[1.0; 5], &[1.0; 5]).unwrap().p_value, 1.0);
    assert_eq!(mean_interval(&[1.1; 7], 0.95).map(|i| i.half_width()), Some(0.0));
}

#[test]
fn holm_rejects_step_by_step() {
    // Holm's own rule at 5 %: 0.01 < 0.0125, 0.04 >= 0.0167 stops; the others keep that level.
    let p = [0.04, 0.01, 0.03, 0.005];
    let by_p = |index: usize, error: f64| p[index] < error;
    assert_eq!(holm(&p, by_p), [0.05 / 2.0, 0.05 / 3.0, 0.05 / 2.0, 0.05 / 4.0]);
    assert!(holm(&[], by_p).is_empty());
    // The interval of the first includes zero, although its p-value is below 5 %/4.
    assert_eq!(holm(&p, |_, _| false), [0.05 / 4.0; 4]);
}

#[test]
fn bootstrap_of_the_median_is_repeatable_and_near_the_truth() {
    let values: Vec<f64> = (1..=20).map(f64::from).collect();
    let interval = median_interval(&values, 1, 7).unwrap();
    assert_eq!(Some(interval), median_interval(&values, 1, 7));
    // The exact binomial interval of the median of 20 is the 6th to the 15th value.
    assert!((5.0..=8.0).contains(&interval.low), "{interval:?}");
    assert!((13.0..=16.0).contains(&interval.high), "{interval:?}");
    let equal = Interval { low: 3.0, high: 3.0 };
    assert_eq!(median_interval(&[3.0; 9], 1, 7), Some(equal));
    assert_eq!(median_interval(&[3.0], 1, 7), None);
    assert_eq!(median_interval(&[3.0, 4.0, 5.0], 1, 7), None, "fewer than four");
    assert!(median_interval(&[3.0, 4.0, 5.0, 6.0], 1, 7).is_some());
}

#[test]
fn median_of_a_large_sample_has_nearly_the_same_interval_without_resamples() {
    let chance = Chance::new(3, 0);
    let draw = |i| chance.uniform(1, Purpose::Traffic, i);
    let small: Vec<f64> = (0..5_000).map(draw).collect();
    let large: Vec<f64> = (0..5_001).map(draw).collect();
    let (a, b) = (median_interval(&small, 1, 7).unwrap(), median_interval(&large, 1, 7).unwrap());
    assert!(close(a.low, b.low, 0.003) && close(a.high, b.high, 0.003), "{a:?} {b:?}");
}

/// A standard normal by the polar method from keyed draws.
fn normal(chance: &Chance, owner: u64, index: u64) -> f64 {
    (0..100)
        .find_map(|attempt| {
            let at = (index * 100 + attempt) * 2;
            let u = 2.0 * chance.uniform(owner, Purpose::Traffic, at) - 1.0;
            let v = 2.0 * chance.uniform(owner, Purpose::Traffic, at + 1) - 1.0;
            let s = u * u + v * v;
            (s > 0.0 && s < 1.0).then(|| u * (-2.0 * s.ln() / s).sqrt())
        })
        .unwrap_or(0.0)
}

/// Share of `trials` samples of `n` whose 95 % interval of the mean contains `truth`.
fn coverage(trials: u64, n: u64, truth: f64, shape: impl Fn(f64) -> f64) -> f64 {
    let covers = |trial: u64| {
        let chance = Chance::new(trial, 0);
        let sample: Vec<f64> = (0..n).map(|i| shape(normal(&chance, 1, i))).collect();
        let interval = mean_interval(&sample, 0.95).unwrap();
        interval.low <= truth && truth <= interval.high
    };
    (0..trials).filter(|trial| covers(*trial)).count() as f64 / trials as f64
}

#[test]
fn interval_of_the_mean_covers_as_claimed() {
    for n in [3, 10, 20, 30, 100] {
        let share = coverage(4000, n, 0.0, |z| z);
        assert!((0.93..=0.97).contains(&share), "normal, n {n}: {share}");
    }
    let share = coverage(4000, 100, 0.5f64.exp(), f64::exp);
    assert!(share >= 0.90, "lognormal(1), n 100: {share}");
}

#[test]
fn interval_of_a_paired_difference_covers_as_claimed() {
    // Both share a part of their random draws; the difference of the means is 2.
    let covers = |trial: &u64| {
        let chance = Chance::new(*trial, 0);
        let draws = |owner| (0..20).map(move |i| normal(&chance, owner, i));
        let baseline: Vec<f64> = draws(1).zip(draws(2)).map(|(a, b)| 10.0 + a + 0.5 * b).collect();
        let variant: Vec<f64> = draws(1).zip(draws(3)).map(|(a, c)| 12.0 + a + 0.5 * c).collect();
        let paired = paired(&variant, &baseline).unwrap().interval(0.95);
        paired.low <= 2.0 && 2.0 <= paired.high
    };
    let share = (0..4000).filter(covers).count() as f64 / 4000.0;
    assert!((0.93..=0.97).contains(&share), "{share}");
}

/// A lognormal(1) sample, positive with a heavy tail.
fn lognormal(trial: u64, owner: u64, n: u64) -> Vec<f64> {
    let chance = Chance::new(trial, 0);
    (0..n).map(|i| normal(&chance, owner, i).exp()).collect()
}

#[test]
fn bootstrap_intervals_cover_nearly_as_claimed() {
    let holds = |interval: Interval, truth: f64| interval.low <= truth && truth <= interval.high;
    let share = |covers: &dyn Fn(u64) -> bool| {
        (0..400).filter(|trial| covers(*trial)).count() as f64 / 400.0
    };
    let median = |trial| holds(median_interval(&lognormal(trial, 1, 20), 1, trial).unwrap(), 1.0);
    let share_median = share(&median);
    assert!((0.91..=0.98).contains(&share_median), "median, n 20: {share_median}");
    let upper = 0.674_489_75f64.exp();
    let quartile = |trial| {
        let intervals = quantile_intervals(&lognormal(trial, 1, 40), &[0.75], 1, trial);
        holds(intervals[0].unwrap(), upper)
    };
    let share_quartile = share(&quartile);
    assert!((0.91..=0.98).contains(&share_quartile), "quartile, n 40: {share_quartile}");
    let ratio = |trial| {
        let below = lognormal(trial, 1, 30);
        let above: Vec<f64> =
            below.iter().zip(lognormal(trial, 2, 30)).map(|(x, y)| 2.0 * x + y).collect();
        holds(ratio_interval(&above, &below, 1, trial).unwrap(), 3.0)
    };
    let share_ratio = share(&ratio);
    assert!((0.88..=0.98).contains(&share_ratio), "ratio of means, n 30: {share_ratio}");
}

#[test]
fn quantiles_without_enough_runs_have_no_interval() {
    let values: Vec<f64> = (0..72).map(f64::from).collect();
    let levels = [0.25, 0.5, 0.75, 0.95];
    let known = |n: usize| -> Vec<bool> {
        let intervals = quantile_intervals(&values[..n], &levels, 1, 7);
        intervals.iter().map(Option::is_some).collect()
    };
    // All of 12 values are below the upper quartile in 3.2 % of samples, of 13 in 2.4 %.
    assert_eq!(known(1), [false; 4]);
    assert_eq!(known(12), [false, true, false, false]);
    assert_eq!(known(13), [true, true, true, false]);
    assert_eq!((known(71)[3], known(72)[3]), (false, true));
    assert_eq!(quantile(&values, 0.95), Some(67.45));
    assert_eq!(quantile(&[], 0.5), None);
}

#[test]
fn ratio_of_equal_samples_is_known_exactly() {
    let one = ratio_interval(&[2.0; 9], &[1.0; 9], 1, 7).unwrap();
    assert_eq!((one.low, one.high), (2.0, 2.0));
    assert_eq!(ratio_interval(&[2.0], &[1.0], 1, 7), None);
    assert_eq!(ratio_interval(&[2.0; 3], &[1.0, 0.0, 1.0], 1, 7), None);
    let many: Vec<f64> = (0..6000).map(|i| 1.0 + f64::from(i % 10)).collect();
    let large = ratio_interval(&many, &[2.0; 6000], 1, 7).unwrap();
    let few: Vec<f64> = many.iter().copied().take(5000).collect();
    let small = ratio_interval(&few, &[2.0; 5000], 1, 7).unwrap();
    assert!(close(large.low, small.low, 0.01) && close(large.high, small.high, 0.01));
}

/// Share of 400 samples of `n` in which a heavy tail is seen.
fn recognised(n: u64, draw: impl Fn(&Chance, u64) -> f64) -> f64 {
    let sees = |trial: &u64| {
        let chance = Chance::new(*trial, 0);
        has_heavy_tail(&(0..n).map(|i| draw(&chance, i)).collect::<Vec<f64>>())
    };
    (0..400).filter(sees).count() as f64 / 400.0
}

#[test]
fn heavy_tail_is_recognised_from_the_sample() {
    let uniform = |chance: &Chance, i| 1.0 - chance.uniform(1, Purpose::Traffic, i);
    let pareto = |chance: &Chance, i| uniform(chance, i).powf(-1.0 / 2.5);
    for (n, least) in [(20, 0.7), (30, 0.75), (100, 0.93), (300, 0.98)] {
        let share = recognised(n, pareto);
        assert!(share >= least, "Pareto 2.5, n {n}: {share}");
    }
    for n in [10, 20, 100, 300] {
        assert!(recognised(n, |chance, i| normal(chance, 1, i)) <= 0.03, "normal, n {n}");
        assert!(recognised(n, uniform) <= 0.01, "uniform, n {n}");
    }
    let exponential = recognised(1000, |chance, i| -uniform(chance, i).ln());
    assert!(exponential <= 0.1, "1000 bear the skewness of an exponential: {exponential}");
    assert!(recognised(100, |chance, i| normal(chance, 1, i).exp()) >= 0.85, "lognormal(1)");
    assert!(!has_heavy_tail(&[1.0; 50]));
}

proptest! {
    #[test]
    fn statistics_answer_any_finite_sample(values in prop::collection::vec(-1e12f64..1e12, 0..12),
                                           others in prop::collection::vec(-1e12f64..1e12, 0..12)) {
        if let Some(interval) = mean_interval(&values, 0.95) {
            prop_assert!(interval.low <= interval.high);
        }
        if let (Some(low), Some(high)) = (
            values.iter().copied().reduce(f64::min), values.iter().copied().reduce(f64::max),
        ) {
            let median = median(&values).unwrap();
            prop_assert!(low <= median && median <= high);
        }
        let _ = paired(&values, &others);
        let _ = welch(&values, &others);
    }

    #[test]
    fn holm_keeps_the_error_of_what_is_not_rejected(p in prop::collection::vec(0.0f64..1.0, 0..8)) {
        let errors = holm(&p, |index, error| p[index] < error);
        let rejected = p.iter().zip(&errors).filter(|(p, error)| p < error).count();
        // Those that are not rejected are tested as if they were alone.
        for (p, error) in p.iter().zip(&errors).filter(|(p, error)| p >= error) {
            prop_assert_eq!(*error, 0.05 / (errors.len() - rejected) as f64, "{}", p);
        }
    }
}
