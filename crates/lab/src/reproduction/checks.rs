//! The rules by which a part of a claim holds, fails or remains undecided.
//!
//! | check | holds where |
//! |---|---|
//! | order | the paired 95 % interval of b - a is above zero |
//! | order of interquartile ranges | the 95 % interval of a / b is below 1 |
//! | at most | the upper end of the 95 % interval of a - b is below +2 % of b |
//! | equal | the 90 % interval of a - b is within +-10 % of b, of shares within +-5 points |
//! | range, ratio | the 95 % interval is between the bounds |
//! | order of gains | the upper end of the 95 % interval of the difference is below +2 points |
//!
//! Where the interval shows the contrary, the part fails; an order also fails where it shows that
//! both are equal within 2 %. Otherwise it is undecided. `judge` takes the samples from studies;
//! intervals of means are those of Student, of anything else bootstraps (`statistics::resample`).

use super::claims::Statistic;
use crate::statistics::{
    Interval, Picks, mean, mean_interval, paired, quantile, resampled, student_interval,
};

/// Share of the right side within which "at most" and "no difference" are.
const NOISE: f64 = 0.02;
/// Share of the right side within which two values are equal.
const EQUAL: f64 = 0.10;
/// Points within which two shares are equal.
const EQUAL_SHARES: f64 = 0.05;
/// Fewest repetitions of a sample for an interval of Student, and for resamples.
const FEWEST: usize = 2;
const FEWEST_RESAMPLED: usize = 4;

/// One side of a comparison: a number of every repetition.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Side {
    /// A number without repetitions.
    Constant(f64),
    /// The values of the repetitions of a study; `None` where a run did not finish.
    Runs {
        /// Repetitions of sides with the same number are paired.
        draws: usize,
        /// By repetition, as many values each as `joined` joins.
        rows: Vec<Option<Vec<f64>>>,
        /// How the statistics of the values make one number.
        joined: Joining,
    },
}

/// How the statistics of the columns of a side make one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Joining {
    /// Their mean: of one value, or over single paths.
    Average,
    /// The relative gain of the first over the mean of the others, (mean - first) / mean.
    Gain,
}

/// What a comparison shows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Shown {
    /// Whether the statement holds; `None`: undecided.
    pub holds: Option<bool>,
    /// The number that decides: a difference, a ratio or the value.
    pub estimate: f64,
    /// Its interval.
    pub interval: Option<Interval>,
}

/// How to compute numbers of samples.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Means {
    /// The statistic of the repetitions.
    pub statistic: Statistic,
    /// Whether values are shares.
    pub is_share: bool,
    /// Seed and owner of resamples.
    pub keys: (u64, u64),
}

/// How two sides make one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Joined {
    /// a - b.
    Difference,
    /// a / b.
    Ratio,
}

impl Shown {
    const NOTHING: Shown = Shown { holds: None, estimate: f64::NAN, interval: None };
}

impl Means {
    /// a < b.
    pub(super) fn order(self, a: &Side, b: &Side) -> Shown {
        if self.statistic == Statistic::Iqr {
            return self.judged(Joined::Ratio, (a, b), 0.95, |ratio, _| {
                decided([ratio.high < 1.0, ratio.low >= 1.0])
            });
        }
        let shown = self.judged(Joined::Difference, (b, a), 0.95, |difference, _| {
            decided([difference.low > 0.0, difference.high < 0.0])
        });
        let noise = NOISE * self.value(b).unwrap_or(f64::NAN).abs();
        let is_nothing = |of: Interval| of.low >= -noise && of.high <= noise;
        match (shown.holds, shown.interval) {
            (None, Some(interval)) if is_nothing(interval) => Shown { holds: Some(false), ..shown },
            _ => shown,
        }
    }

    /// a <= b, or no more than noise above it.
    pub(super) fn at_most(self, a: &Side, b: &Side) -> Shown {
        if self.statistic == Statistic::Iqr {
            return self.judged(Joined::Ratio, (a, b), 0.95, |ratio, _| {
                decided([ratio.high < 1.0 + NOISE, ratio.low >= 1.0 + NOISE])
            });
        }
        self.judged(Joined::Difference, (a, b), 0.95, |difference, b| {
            let noise = NOISE * b.abs();
            let is_below = difference.high < noise || difference.high <= 0.0;
            decided([is_below, difference.low >= noise])
        })
    }

    /// a = b.
    pub(super) fn equal(self, a: &Side, b: &Side) -> Shown {
        self.judged(Joined::Difference, (a, b), 0.90, |difference, b| {
            let bound = if self.is_share { EQUAL_SHARES } else { EQUAL * b.abs() };
            let is_within = difference.low >= -bound && difference.high <= bound;
            decided([is_within, difference.low > bound || difference.high < -bound])
        })
    }

    /// low <= a <= high.
    pub(super) fn range(self, a: &Side, bounds: (f64, f64)) -> Shown {
        let Some((estimate, interval)) = self.interval(Joined::Difference, (a, &ZERO), 0.95) else {
            return Shown::NOTHING;
        };
        Shown { holds: inside(interval, bounds), estimate, interval: Some(interval) }
    }

    /// low <= a / b <= high.
    pub(super) fn ratio(self, a: &Side, b: &Side, bounds: (f64, f64)) -> Shown {
        self.judged(Joined::Ratio, (a, b), 0.95, |ratio, _| inside(ratio, bounds))
    }

    /// The gain a is at most the gain b.
    pub(super) fn gains(self, a: &Side, b: &Side) -> Shown {
        self.judged(Joined::Difference, (a, b), 0.95, |difference, _| {
            decided([difference.high < NOISE, difference.low >= NOISE])
        })
    }

    /// a - b with its 95 % interval.
    pub(super) fn difference(self, a: &Side, b: &Side) -> Option<(f64, Interval)> {
        self.interval(Joined::Difference, (a, b), 0.95)
    }

    /// The number of one side.
    pub(super) fn value(self, side: &Side) -> Option<f64> {
        let part = Part::new(side);
        let all = (0..part.size().unwrap_or(0)).collect();
        part.number(self, Some(&all))
    }

    fn judged(
        self,
        joined: Joined,
        (a, b): (&Side, &Side),
        level: f64,
        rule: impl Fn(Interval, f64) -> Option<bool>,
    ) -> Shown {
        let right = self.value(b);
        match (self.interval(joined, (a, b), level), right) {
            (Some((estimate, interval)), Some(right)) => {
                Shown { holds: rule(interval, right), estimate, interval: Some(interval) }
            }
            _ => Shown::NOTHING,
        }
    }

    /// The joined number and its interval.
    fn interval(
        self,
        joined: Joined,
        (a, b): (&Side, &Side),
        level: f64,
    ) -> Option<(f64, Interval)> {
        let rows = Rows::new(a, b)?;
        if rows.sizes().iter().any(|size| *size < FEWEST) {
            return None;
        }
        if joined == Joined::Difference
            && self.statistic == Statistic::Mean
            && let Some((a, b)) = rows.paired()
        {
            let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
            let interval = match paired(&a, &b) {
                Some(paired) => paired.interval(level),
                None => mean_interval(&differences, level)?,
            };
            return Some((mean(&differences)?, interval));
        }
        if joined == Joined::Difference
            && self.statistic == Statistic::Mean
            && let Some((a, b)) = rows.unpaired()
        {
            let estimate = mean(&a)? - mean(&b)?;
            return Some((estimate, student_interval(&a, &b, level)?));
        }
        if rows.sizes().iter().any(|size| *size < FEWEST_RESAMPLED) {
            return None;
        }
        let number = |picks: &Picks| {
            let (a, b) = (rows.left(self, picks), rows.right(self, picks));
            match (joined, a, b) {
                (Joined::Difference, Some(a), Some(b)) => a - b,
                (Joined::Ratio, Some(a), Some(b)) if b != 0.0 => a / b,
                _ => f64::NAN,
            }
        };
        let found = resampled(&rows.sizes(), level, self.keys, &number)?;
        Some((found.estimate, found.interval))
    }

    /// The statistic of values.
    fn of(self, mut values: Vec<f64>) -> Option<f64> {
        if self.statistic == Statistic::Mean {
            return mean(&values);
        }
        values.sort_by(f64::total_cmp);
        match self.statistic {
            Statistic::Mean => mean(&values),
            Statistic::Median => quantile(&values, 0.5),
            Statistic::Quantile(q) => quantile(&values, q),
            Statistic::Iqr => Some(quantile(&values, 0.75)? - quantile(&values, 0.25)?),
        }
    }

    /// The joined statistics of the picked rows.
    fn join(self, rows: &[Vec<f64>], picks: &[usize], joined: Joining) -> Option<f64> {
        let width = rows.first()?.len();
        let column = |place: usize| self.of(picks.iter().map(|i| rows[*i][place]).collect());
        let columns: Vec<f64> = (0..width).map(column).collect::<Option<_>>()?;
        match (joined, columns.as_slice()) {
            (Joining::Average, _) => mean(&columns),
            (Joining::Gain, [first, others @ ..]) => {
                let second = mean(others).filter(|second| *second != 0.0)?;
                Some((second - first) / second)
            }
            (Joining::Gain, []) => None,
        }
    }
}

const ZERO: Side = Side::Constant(0.0);

/// Whether it holds, from whether that is shown, and whether the contrary is.
const fn decided([holds, fails]: [bool; 2]) -> Option<bool> {
    match (holds, fails) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}

fn inside(interval: Interval, (low, high): (f64, f64)) -> Option<bool> {
    let is_inside = interval.low >= low && interval.high <= high;
    decided([is_inside, interval.high < low || interval.low > high])
}

/// The sides with the repetitions that count: of paired ones those that both finished.
struct Rows {
    left: Part,
    right: Part,
    /// The repetitions of both sides are paired, and so picked together.
    together: bool,
}

enum Part {
    Constant(f64),
    Values(Vec<Vec<f64>>, Joining),
}

impl Part {
    fn new(side: &Side) -> Part {
        match side {
            Side::Constant(value) => Part::Constant(*value),
            Side::Runs { rows, joined, .. } => {
                Part::Values(rows.iter().flatten().cloned().collect(), *joined)
            }
        }
    }

    fn size(&self) -> Option<usize> {
        match self {
            Part::Constant(_) => None,
            Part::Values(rows, _) => Some(rows.len()),
        }
    }

    fn number(&self, means: Means, picks: Option<&Vec<usize>>) -> Option<f64> {
        match (self, picks) {
            (Part::Constant(value), _) => Some(*value),
            (Part::Values(rows, joined), Some(picks)) => means.join(rows, picks, *joined),
            (Part::Values(..), None) => None,
        }
    }

    /// A number for each repetition; `None` of gains, which are of all together.
    fn by_repetition(&self) -> Option<Vec<f64>> {
        match self {
            Part::Values(rows, Joining::Average) => rows.iter().map(|row| mean(row)).collect(),
            Part::Values(_, Joining::Gain) | Part::Constant(_) => None,
        }
    }
}

impl Rows {
    /// `None` of constants alone.
    fn new(a: &Side, b: &Side) -> Option<Rows> {
        match (a, b) {
            (Side::Constant(_), Side::Constant(_)) => None,
            (
                Side::Runs { draws, rows, joined },
                Side::Runs { draws: others, rows: right, joined: right_joined },
            ) if draws == others => {
                let both = rows.iter().zip(right).filter_map(|(a, b)| a.clone().zip(b.clone()));
                let (left, right) = both.unzip();
                let (left, right) =
                    (Part::Values(left, *joined), Part::Values(right, *right_joined));
                Some(Rows { left, right, together: true })
            }
            _ => Some(Rows { left: Part::new(a), right: Part::new(b), together: false }),
        }
    }

    /// The number of repetitions of each sample.
    fn sizes(&self) -> Vec<usize> {
        let right = self.right.size().filter(|_| !self.together);
        self.left.size().into_iter().chain(right).collect()
    }

    /// Paired values, or one side beside a constant.
    fn paired(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        match (&self.left, &self.right) {
            (a, Part::Constant(b)) => a.by_repetition().map(|a| (a.clone(), vec![*b; a.len()])),
            (Part::Constant(a), b) => b.by_repetition().map(|b| (vec![*a; b.len()], b)),
            (a, b) if self.together => a.by_repetition().zip(b.by_repetition()),
            _ => None,
        }
    }

    fn unpaired(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        self.left.by_repetition().zip(self.right.by_repetition())
    }

    fn left(&self, means: Means, picks: &Picks) -> Option<f64> {
        self.left.number(means, picks.first())
    }

    fn right(&self, means: Means, picks: &Picks) -> Option<f64> {
        let is_first = self.together || self.left.size().is_none();
        self.right.number(means, picks.get(usize::from(!is_first)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: Means = Means { statistic: Statistic::Mean, is_share: false, keys: (1, 7) };
    const SHARE: Means = Means { is_share: true, ..MEAN };
    const MEDIAN: Means = Means { statistic: Statistic::Median, ..MEAN };
    const IQR: Means = Means { statistic: Statistic::Iqr, ..MEAN };

    fn runs(draws: usize, values: impl IntoIterator<Item = f64>) -> Side {
        let rows = values.into_iter().map(|value| Some(vec![value])).collect();
        Side::Runs { draws, rows, joined: Joining::Average }
    }

    /// Twenty values around `centre`, `spread` to each side, in a fixed order.
    fn around(study: usize, centre: f64, spread: f64) -> Side {
        runs(study, (0..20).map(|i| centre + spread * (f64::from(i * 7 % 20) - 9.5) / 9.5))
    }

    /// The same with a noise of its own.
    fn noisy(study: usize, centre: f64, spread: f64) -> Side {
        runs(study, (0..20).map(|i| centre + spread * (f64::from(i * 13 % 20) - 9.5) / 9.5))
    }

    #[test]
    fn an_order_holds_fails_or_is_open() {
        let a = around(0, 100.0, 50.0);
        // Paired: the common noise cancels.
        assert_eq!(MEAN.order(&a, &around(0, 101.0, 50.1)).holds, Some(true));
        assert_eq!(MEAN.order(&around(0, 101.0, 50.1), &a).holds, Some(false));
        // Of another study the noise does not cancel.
        assert_eq!(MEAN.order(&a, &around(1, 101.0, 50.1)).holds, None);
        assert_eq!(MEAN.order(&a, &around(1, 300.0, 50.0)).holds, Some(true));
        assert_eq!(MEAN.order(&around(1, 300.0, 50.0), &a).holds, Some(false));
    }

    #[test]
    fn an_order_of_equals_fails() {
        let a = around(0, 100.0, 50.0);
        assert_eq!(MEAN.order(&a, &a).holds, Some(false));
        assert_eq!(MEAN.order(&around(0, 100.0, 0.5), &noisy(0, 100.0, 0.5)).holds, Some(false));
        assert_eq!(MEAN.order(&a, &noisy(0, 100.0, 50.0)).holds, None);
    }

    #[test]
    fn an_order_with_a_constant_is_about_the_interval_of_the_mean() {
        let values = around(0, 1.0, 0.1);
        assert_eq!(MEAN.order(&Side::Constant(0.95), &values).holds, Some(true));
        assert_eq!(MEAN.order(&Side::Constant(1.05), &values).holds, Some(false));
        assert_eq!(MEAN.order(&values, &Side::Constant(1.05)).holds, Some(true));
        assert_eq!(MEAN.order(&Side::Constant(1.0), &around(0, 1.0, 0.5)).holds, None);
    }

    #[test]
    fn at_most_allows_two_per_cent() {
        let b = runs(0, [100.0; 10]);
        assert_eq!(MEAN.at_most(&runs(0, [101.9; 10]), &b).holds, Some(true));
        assert_eq!(MEAN.at_most(&runs(0, [102.1; 10]), &b).holds, Some(false));
        assert_eq!(MEAN.at_most(&runs(0, [50.0; 10]), &b).holds, Some(true));
        assert_eq!(MEAN.at_most(&around(0, 100.0, 20.0), &b).holds, None);
        let zero = runs(0, [0.0; 10]);
        assert_eq!(MEAN.at_most(&zero, &zero).holds, Some(true));
    }

    #[test]
    fn equal_allows_a_tenth_and_shares_five_points() {
        let b = runs(0, [100.0; 10]);
        assert_eq!(MEAN.equal(&runs(0, [109.9; 10]), &b).holds, Some(true));
        assert_eq!(MEAN.equal(&runs(0, [90.1; 10]), &b).holds, Some(true));
        assert_eq!(MEAN.equal(&runs(0, [110.1; 10]), &b).holds, Some(false));
        assert_eq!(MEAN.equal(&runs(0, [89.9; 10]), &b).holds, Some(false));
        assert_eq!(MEAN.equal(&around(0, 100.0, 60.0), &b).holds, None);
        let half = runs(0, [0.5; 10]);
        assert_eq!(SHARE.equal(&runs(0, [0.549; 10]), &half).holds, Some(true));
        assert_eq!(SHARE.equal(&runs(0, [0.551; 10]), &half).holds, Some(false));
    }

    #[test]
    fn equality_is_judged_at_ninety_per_cent() {
        let (a, b) = (around(0, 105.0, 17.5), runs(0, [100.0; 20]));
        let at = |level: f64| MEAN.interval(Joined::Difference, (&a, &b), level).unwrap().1.high;
        assert!(at(0.90) < 10.0 && at(0.95) > 9.9, "{} {}", at(0.90), at(0.95));
        assert_eq!(MEAN.equal(&a, &b).holds, Some(true));
    }

    #[test]
    fn a_range_and_a_ratio_have_two_bounds() {
        let a = runs(0, [5.0; 6]);
        assert_eq!(MEAN.range(&a, (4.0, 6.0)).holds, Some(true));
        assert_eq!(MEAN.range(&a, (5.1, 6.0)).holds, Some(false));
        assert_eq!(MEAN.range(&a, (f64::NEG_INFINITY, 4.9)).holds, Some(false));
        assert_eq!(MEAN.range(&around(0, 5.0, 2.0), (5.0, 9.0)).holds, None);
        let (ten, three) = (around(0, 10.0, 0.1), around(1, 3.0, 0.1));
        assert_eq!(MEAN.ratio(&ten, &three, (3.0, f64::INFINITY)).holds, Some(true));
        assert_eq!(MEAN.ratio(&ten, &three, (4.0, f64::INFINITY)).holds, Some(false));
        let wide = around(1, 3.0, 2.0);
        assert_eq!(MEAN.ratio(&ten, &wide, (3.3, f64::INFINITY)).holds, None);
    }

    #[test]
    fn medians_ignore_a_few_far_values() {
        let mut far: Vec<f64> = (0..20).map(|i| 1.0 + 0.001 * f64::from(i)).collect();
        let near = runs(0, far.iter().map(|x| x + 0.1));
        far[3] = 900.0;
        let far = runs(0, far);
        assert_eq!(MEDIAN.order(&far, &near).holds, Some(true));
        assert_ne!(MEAN.order(&far, &near).holds, Some(true));
    }

    #[test]
    fn spreads_are_compared_by_the_ratio_of_their_ranges() {
        let (narrow, wide) = (around(0, 100.0, 1.0), noisy(0, 5.0, 30.0));
        assert_eq!(IQR.order(&narrow, &wide).holds, Some(true));
        assert_eq!(IQR.order(&wide, &narrow).holds, Some(false));
        assert_eq!(IQR.order(&noisy(0, 5.0, 29.0), &around(0, 5.0, 30.0)).holds, None);
        assert_eq!(IQR.at_most(&narrow, &wide).holds, Some(true));
    }

    #[test]
    fn average_of_medians_is_that_of_the_medians_of_each_path() {
        // A path with few far values, and one whose values are those of the other in reverse.
        let far = |i: i32| if i % 5 == 0 { 100.0 } else { f64::from(i) };
        let rows: Vec<_> = (0..20).map(|i| Some(vec![far(i), far(19 - i)])).collect();
        let both = Side::Runs { draws: 0, rows: rows.clone(), joined: Joining::Average };
        let alone = runs(0, (0..20).map(far));
        assert_eq!(MEDIAN.value(&both), MEDIAN.value(&alone));
        let by_run = runs(0, rows.iter().flatten().map(|row| (row[0] + row[1]) / 2.0));
        assert_ne!(MEDIAN.value(&both), MEDIAN.value(&by_run));
        let difference = MEAN.value(&both).unwrap() - MEAN.value(&by_run).unwrap();
        assert!(difference.abs() < 1e-9, "of means nothing changes: {difference}");
        // Both paths vary, and are resampled together with what is compared.
        let above = Side::Runs {
            draws: 0,
            rows: rows
                .iter()
                .map(|row| row.clone().map(|of| vec![of[0] + 1.0, of[1] + 1.0]))
                .collect(),
            joined: Joining::Average,
        };
        assert_eq!(MEDIAN.order(&both, &above).holds, Some(true));
    }

    #[test]
    fn gains_are_ordered_across_studies() {
        let gain = |draws, first: f64| Side::Runs {
            draws,
            rows: (0..20).map(|i| Some(vec![first + f64::from(i % 5), 100.0])).collect(),
            joined: Joining::Gain,
        };
        let (small, large) = (gain(0, 90.0), gain(1, 60.0));
        assert!((MEAN.value(&small).unwrap() - 0.08).abs() < 1e-9);
        assert_eq!(MEAN.gains(&small, &large).holds, Some(true));
        assert_eq!(MEAN.gains(&large, &small).holds, Some(false));
        assert_eq!(MEAN.gains(&small, &gain(1, 90.5)).holds, Some(true), "less than two points");
        assert_eq!(MEAN.gains(&gain(0, 87.9), &gain(1, 90.0)).holds, None, "about two points");
    }

    #[test]
    fn gain_over_an_average_is_over_the_statistics_of_each_path() {
        // As above: the medians of both paths are equal, and lie below that of the means by run.
        let far = |i: i32| if i % 5 == 0 { 100.0 } else { f64::from(i) };
        let row = |i| Some(vec![far(i) / 2.0, far(i), far(19 - i)]);
        let gain = Side::Runs { draws: 0, rows: (0..20).map(row).collect(), joined: Joining::Gain };
        assert!((MEDIAN.value(&gain).unwrap() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn runs_that_one_side_did_not_finish_do_not_count_and_few_decide_nothing() {
        let mut rows: Vec<_> = (0..12).map(|i| Some(vec![f64::from(i)])).collect();
        let right = runs(0, (0..12).map(|i| f64::from(i) + 1.0));
        rows[4] = None;
        let left = Side::Runs { draws: 0, rows, joined: Joining::Average };
        assert_eq!(MEAN.order(&left, &right).holds, Some(true));
        let (two, later) = (runs(0, [1.0, 2.0]), runs(0, [11.0, 12.0]));
        assert_eq!(MEAN.order(&two, &later).holds, Some(true), "without any randomness");
        let shown = MEDIAN.order(&two, &later);
        assert_eq!((shown.holds, shown.interval), (None, None));
        assert_eq!(MEAN.order(&runs(0, [1.0]), &runs(0, [11.0])).holds, None);
        assert_eq!(MEAN.order(&ZERO, &ZERO).holds, None);
    }
}
