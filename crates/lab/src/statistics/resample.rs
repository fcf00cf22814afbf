//! The BCa bootstrap of any number computed from one sample or several (Efron 1987; Davison and
//! Hinkley 1997, s3.2 of several samples).
//!
//! Each sample is resampled by itself; what belongs to one repetition stays together, so values of
//! the same repetitions remain paired. The caller computes the number from the picked indices.

use super::{Interval, normal_cdf, normal_quantile};
use base::{Chance, Purpose};

/// Resamples drawn.
const RESAMPLES: u64 = 4_000;

/// The picked repetitions of each sample.
pub(crate) type Picks = Vec<Vec<usize>>;

/// Estimate and interval of a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Resampled {
    /// The number of the samples as they are.
    pub estimate: f64,
    /// The interval of the level.
    pub interval: Interval,
}

/// The number and its interval at `level`; `sizes` are those of the samples, `keys` the seed and
/// the owner of the draws. `None` with fewer than two repetitions in a sample, or where the number
/// is not finite.
pub(crate) fn resampled(
    sizes: &[usize],
    level: f64,
    keys: (u64, u64),
    number: &dyn Fn(&Picks) -> f64,
) -> Option<Resampled> {
    if sizes.is_empty() || sizes.iter().any(|size| *size < 2) {
        return None;
    }
    let whole: Picks = sizes.iter().map(|size| (0..*size).collect()).collect();
    let estimate = Some(number(&whole)).filter(|estimate| estimate.is_finite())?;
    let mut all = resamples(sizes, keys, number);
    all.retain(|value| value.is_finite());
    // A number that most resamples do not have has no interval.
    if (all.len() as u64) < RESAMPLES * 9 / 10 {
        return None;
    }
    all.sort_by(f64::total_cmp);
    let acceleration = acceleration(&whole, number);
    Some(Resampled { estimate, interval: ends(&all, estimate, level, acceleration) })
}

fn resamples(sizes: &[usize], keys: (u64, u64), number: &dyn Fn(&Picks) -> f64) -> Vec<f64> {
    let (seed, owner) = keys;
    // No repetition has this number, so draws of runs are not reused.
    let chance = Chance::new(seed, u64::MAX);
    let total: u64 = sizes.iter().map(|size| *size as u64).sum();
    let mut picks: Picks = sizes.iter().map(|size| vec![0; *size]).collect();
    let draw = |round: u64| {
        let mut place = round * total;
        for sample in &mut picks {
            let size = sample.len() as u64;
            for pick in sample.iter_mut() {
                *pick = chance.below(size, owner, Purpose::Resample, place) as usize;
                place += 1;
            }
        }
        number(&picks)
    };
    (0..RESAMPLES).map(draw).collect()
}

/// The ends of the interval among the sorted resamples.
fn ends(sorted: &[f64], estimate: f64, level: f64, a: f64) -> Interval {
    let below = sorted.iter().filter(|x| **x < estimate).count() as f64;
    let equal = sorted.iter().filter(|x| **x == estimate).count() as f64;
    // Ties count half.
    let share = (below + equal / 2.0) / sorted.len() as f64;
    if share <= 0.0 || share >= 1.0 {
        return Interval { low: sorted[0], high: sorted[sorted.len() - 1] };
    }
    let z0 = normal_quantile(share);
    let end = |p: f64| {
        let z = z0 + normal_quantile(p);
        let p = normal_cdf(z0 + z / (1.0 - a * z));
        sorted[((p * sorted.len() as f64) as usize).min(sorted.len() - 1)]
    };
    Interval { low: end((1.0 - level) / 2.0), high: end((1.0 + level) / 2.0) }
}

/// The acceleration by the jackknife, of several samples: the sums run over all of them, each
/// around its own mean and divided by its size.
fn acceleration(whole: &Picks, number: &dyn Fn(&Picks) -> f64) -> f64 {
    let (mut squares, mut cubes) = (0.0, 0.0);
    let mut picks = whole.clone();
    for sample in 0..whole.len() {
        let size = whole[sample].len();
        let mut values = Vec::with_capacity(size);
        for out in 0..size {
            picks[sample] = (0..size).filter(|index| *index != out).collect();
            values.push(number(&picks));
        }
        picks[sample].clone_from(&whole[sample]);
        let mean = values.iter().sum::<f64>() / size as f64;
        let scale = (size as f64 - 1.0) / size as f64;
        for value in values {
            let influence = (mean - value) * scale;
            squares += influence * influence;
            cubes += influence * influence * influence;
        }
    }
    let found = cubes / (6.0 * squares * squares.sqrt());
    if squares > 0.0 && found.is_finite() { found } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of(values: &[f64]) -> impl Fn(&Picks) -> f64 {
        |picks| picks[0].iter().map(|i| values[*i]).sum::<f64>() / picks[0].len() as f64
    }

    #[test]
    fn interval_of_a_mean_is_near_that_of_student() {
        let values: Vec<f64> = (0..60).map(|i| f64::from(i * i % 61)).collect();
        let found = resampled(&[60], 0.95, (1, 2), &mean_of(&values)).unwrap();
        let student = crate::statistics::mean_interval(&values, 0.95).unwrap();
        let width = student.high - student.low;
        assert!((found.interval.low - student.low).abs() < 0.1 * width, "{found:?} {student:?}");
        assert!((found.interval.high - student.high).abs() < 0.1 * width, "{found:?} {student:?}");
    }

    #[test]
    fn a_lower_level_is_narrower_and_equal_values_have_no_width() {
        let values: Vec<f64> = (0..30).map(f64::from).collect();
        let of = |level| resampled(&[30], level, (1, 2), &mean_of(&values)).unwrap().interval;
        assert!(of(0.9).low > of(0.95).low && of(0.9).high < of(0.95).high);
        let equal = [3.0; 8];
        let found = resampled(&[8], 0.95, (1, 2), &mean_of(&equal)).unwrap();
        assert_eq!((found.interval.low, found.interval.high), (3.0, 3.0));
    }

    #[test]
    fn one_repetition_and_infinite_numbers_have_no_interval() {
        assert_eq!(resampled(&[1], 0.95, (1, 2), &|_| 1.0), None);
        assert_eq!(resampled(&[], 0.95, (1, 2), &|_| 1.0), None);
        assert_eq!(resampled(&[5, 5], 0.95, (1, 2), &|_| f64::NAN), None);
    }
}
