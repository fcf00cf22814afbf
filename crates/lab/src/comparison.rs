//! Comparing the variants of a study: paired differences, their intervals, Holm's correction,
//! classes.
//!
//! One comparison is of a variant with another, or with the average of the single paths; the family
//! that a question is about is corrected together (interface, "Variants"). The deciding interval is
//! a confidence sequence, valid at the moment the runs ended; `unseen` widens it by what no run has
//! shown yet. `summary` describes single variants, `report` chooses the comparisons.

use crate::run::Run;
use crate::scenario::{Family, Matters, Scenario};
use crate::statistics::{
    FEWEST, Independent, Interval, Paired, has_heavy_tail, holm, mean, mean_interval, median,
    median_interval, needed_runs, paired, ratio_interval, sequence_half, sequence_interval,
    sequence_p_value, welch,
};
use crate::study::{Study, VariantRuns};
use crate::unseen::{mean_bytes, unseen};
use base::chance::owner_of;
use traffic::Measure;

/// Share of the baseline's mean above which a difference is called significant.
pub(crate) const SIGNIFICANT: f64 = 0.10;
/// Error of the intervals of one family together.
const ALPHA: f64 = 0.05;

/// Difference of a variant and the baseline.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// Mean difference in the metric's unit.
    pub mean: f64,
    /// The interval that decides the class: of the paired difference, corrected for the comparisons
    /// of its family (Holm), and valid at the moment the runs ended. `None` with fewer than four
    /// runs.
    pub interval: Option<Interval>,
    /// 95 % interval of the paired difference by Student t, or without pairing that of Welch;
    /// `None` with fewer than four runs.
    pub fixed: Option<Interval>,
    /// 95 % interval without pairing.
    pub unpaired: Option<Interval>,
    /// Whether repetitions were compared one by one; those of different seeds are not.
    pub is_paired: bool,
    /// Correlation of the paired values.
    pub correlation: Option<f64>,
    /// Mean difference as a share of the baseline's mean.
    pub relative: Option<f64>,
    /// 95 % interval of that share.
    pub relative_interval: Option<Interval>,
    /// The interval of the mean is unreliable.
    pub heavy_tail: bool,
    /// Median of the paired differences.
    pub median: Option<f64>,
    /// 95 % interval of that median.
    pub median_interval: Option<Interval>,
    /// Runs after which the class is expected to be known, where it is not.
    pub needs: Option<u32>,
    /// Nothing is drawn: every repetition has this difference.
    pub is_certain: bool,
}

/// Outcome of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// The baseline itself.
    Baseline,
    /// Better.
    PaysOff,
    /// Worse.
    Hurts,
    /// No difference that matters.
    NoDifference,
    /// None of these is shown.
    Undecided,
}

/// A comparison and its outcome.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// `None` without a repetition that both finished.
    pub difference: Option<Difference>,
    /// Outcome; `None` where what no run has shown yet may change it.
    pub class: Option<Class>,
}

impl Class {
    /// Name in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Baseline => "baseline",
            Class::PaysOff => "pays-off",
            Class::Hurts => "hurts",
            Class::NoDifference => "no-difference",
            Class::Undecided => "undecided",
        }
    }
}

impl Difference {
    /// `significant` if the difference is more than a tenth of the baseline, as any difference is
    /// of zero; else `slight`.
    pub fn magnitude(&self) -> &'static str {
        let is_large = |share: f64| share.abs() > SIGNIFICANT;
        if self.relative.map_or(self.mean != 0.0, is_large) { "significant" } else { "slight" }
    }
}

/// How many times as good the best variant is as another one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ratio {
    /// Index of the other variant.
    pub variant: usize,
    /// Ratio of the means, at least 1.
    pub ratio: f64,
    /// 95 % interval by BCa bootstrap of the repetitions that both finished.
    pub interval: Option<Interval>,
}

/// Comparison of two variants, corrected for the number of pairs.
#[derive(Clone, PartialEq, Debug)]
pub struct Pair {
    /// Index of the first variant.
    pub variant: usize,
    /// Index of the second variant.
    pub with: usize,
    /// Difference of the first and the second.
    pub difference: Option<Difference>,
    /// Class of the first; `None` where what no run has shown yet may change it.
    pub class: Option<Class>,
}

/// The other side of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Series {
    Variant(usize),
    /// The mean over the single paths, run by run; those of one family if it is named.
    Average(Option<Family>),
}

/// Parts of a comparison to compute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Depth {
    /// Only what decides the class.
    Class,
    /// Also intervals that need resamples.
    All,
}

/// The values of a study for comparisons.
pub(crate) struct Comparison<'a> {
    pub scenario: &'a Scenario,
    pub study: &'a Study,
    /// The number of each run that is compared.
    pub metric: Measure,
    /// Seeds of the variants' runs; empty: all have that of the scenario. Repetitions of different
    /// seeds have nothing in common, so only their means are compared.
    pub seeds: &'a [u64],
}

/// The values of both sides.
enum Sample {
    /// Differences of the repetitions that both finished.
    Paired(Vec<f64>),
    /// Those of different seeds.
    Independent(Independent),
}

impl Sample {
    fn interval(&self, error: f64, unseen: f64) -> Option<Interval> {
        match self {
            Sample::Paired(differences) => sequence_interval(differences, error, unseen),
            Sample::Independent(samples) => samples.interval(error, unseen),
        }
    }

    /// Runs of the side that has fewer.
    fn size(&self) -> usize {
        match self {
            Sample::Paired(differences) => differences.len(),
            Sample::Independent(samples) => samples.a.len().min(samples.b.len()),
        }
    }

    fn half(&self, error: f64) -> Option<f64> {
        match self {
            Sample::Paired(differences) => sequence_half(differences, error),
            Sample::Independent(samples) => samples.half(error),
        }
    }

    fn needed_runs(&self, error: f64, unseen: f64, distance: f64) -> Option<u32> {
        match self {
            Sample::Paired(differences) => needed_runs(differences, error, unseen, distance),
            Sample::Independent(samples) => samples.needed_runs(error, unseen, distance),
        }
    }
}

/// A comparison before correction.
struct Uncorrected {
    sample: Sample,
    /// Nothing in the scenario is random.
    certain: bool,
    /// Error at which it would be rejected as zero.
    p_value: f64,
    difference: Difference,
    reference: f64,
    /// The least that the difference can be.
    least: f64,
}

/// Comparisons of one table, and which of them answer the question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub variant: usize,
    pub with: Series,
    /// It belongs to the family that is corrected together.
    pub in_family: bool,
}

impl Comparison<'_> {
    /// Computes the comparisons of one table; those of the family are corrected together.
    pub(crate) fn table(&self, asked: &[Asked], depth: Depth) -> Vec<Compared> {
        let uncorrected: Vec<Option<Uncorrected>> =
            asked.iter().map(|asked| self.one(asked.variant, asked.with, depth)).collect();
        let family = asked.iter().zip(&uncorrected).filter(|(asked, _)| asked.in_family);
        let family: Vec<(Asked, &Uncorrected)> =
            family.filter_map(|(asked, of)| Some((*asked, of.as_ref()?))).collect();
        let p_values: Vec<f64> = family.iter().map(|(_, of)| of.p_value).collect();
        let excludes_zero = |index: usize, error: f64| {
            let (asked, of) = family[index];
            let interval = self.interval(asked, of, error);
            interval.is_some_and(|interval| !interval.includes_zero())
        };
        let mut errors = holm(&p_values, excludes_zero).into_iter();
        let compared = asked.iter().zip(uncorrected).map(|(asked, uncorrected)| {
            let Some(uncorrected) = uncorrected else {
                return Compared { difference: None, class: Some(Class::Undecided) };
            };
            let corrected = asked.in_family.then(|| errors.next()).flatten();
            self.decide(*asked, uncorrected, corrected.unwrap_or(ALPHA))
        });
        compared.collect()
    }

    /// What no run of either side has shown.
    fn unseen(&self, asked: Asked, reference: f64) -> f64 {
        let all = &self.study.variants;
        let with = match asked.with {
            Series::Variant(with) => &all[with..=with],
            Series::Average(_) => all,
        };
        let bytes = mean_bytes(all.iter().flat_map(|of| &of.runs));
        let both = with.iter().chain([&all[asked.variant]]).map(|of| &of.variant);
        unseen(self.scenario, both, self.metric, (reference, bytes))
    }

    /// The interval of a difference with this error.
    fn interval(&self, asked: Asked, of: &Uncorrected, error: f64) -> Option<Interval> {
        if of.certain {
            return Some(Interval::around(of.difference.mean, 0.0));
        }
        let unseen = self.unseen(asked, of.reference);
        let Interval { low, high } = of.sample.interval(error, unseen)?;
        let least = of.least - unseen / of.sample.size().max(1) as f64;
        Some(Interval { low: low.max(least), high })
    }

    /// The interval with this error, and what follows from it.
    fn decide(&self, asked: Asked, uncorrected: Uncorrected, error: f64) -> Compared {
        let interval = self.interval(asked, &uncorrected, error);
        let Uncorrected { sample, mut difference, reference, .. } = uncorrected;
        let unseen = self.unseen(asked, reference);
        difference.interval = interval;
        let margin = margin(self.scenario, self.metric, reference);
        let Some(interval) = difference.interval else {
            difference.needs = u32::try_from(FEWEST).ok();
            return Compared { difference: Some(difference), class: None };
        };
        let class = self.class(interval, margin);
        if class == Class::Undecided {
            let distance = (difference.mean.abs() - margin).abs();
            difference.needs = sample.needed_runs(error, unseen, distance).map(two_digits);
        }
        // Most of the interval is what no run has shown.
        let seen = sample.half(error).unwrap_or(0.0);
        let unknown = class == Class::Undecided && interval.half_width() > 2.0 * seen;
        Compared { difference: Some(difference), class: (!unknown).then_some(class) }
    }

    /// Values of the repetitions that both sides finished.
    pub(crate) fn pairs(&self, variant: usize, with: Series) -> (Vec<f64>, Vec<f64>) {
        let (a, b) = (self.values(Series::Variant(variant)), self.values(with));
        a.into_iter().zip(b).filter_map(|(a, b)| a.zip(b)).unzip()
    }

    /// Whether repetitions of the same number have the same random draws.
    pub(crate) fn is_paired(&self, variant: usize, with: Series) -> bool {
        match with {
            Series::Variant(other) => self.seeds.get(variant) == self.seeds.get(other),
            Series::Average(_) => self.seeds.windows(2).all(|pair| pair[0] == pair[1]),
        }
    }

    /// Whether nothing is drawn on both sides.
    fn draws_nothing(&self, variant: usize, with: Series) -> bool {
        let is_drawn = |of: &VariantRuns| of.is_random(self.scenario);
        let other = match with {
            Series::Variant(other) => self.study.variants.get(other).is_some_and(is_drawn),
            Series::Average(_) => self.scenario.is_random(),
        };
        !other && !self.study.variants.get(variant).is_some_and(is_drawn)
    }

    /// All finished repetitions of both sides.
    pub(crate) fn independent(&self, variant: usize, with: Series) -> Independent {
        Independent { a: self.finished(Series::Variant(variant)), b: self.finished(with) }
    }

    /// The mean of all finished repetitions.
    pub(crate) fn mean(&self, series: Series) -> Option<f64> {
        mean(&self.finished(series))
    }

    fn finished(&self, series: Series) -> Vec<f64> {
        self.values(series).into_iter().flatten().collect()
    }

    fn one(&self, variant: usize, with: Series, depth: Depth) -> Option<Uncorrected> {
        if !self.is_paired(variant, with) {
            return self.one_independent(variant, with);
        }
        let (a, b) = self.pairs(variant, with);
        let reference = self.mean(with)?.abs();
        let mean = mean(&a)? - mean(&b)?;
        let certain = self.draws_nothing(variant, with) && are_equal(&a) && are_equal(&b);
        let paired = paired(&a, &b).filter(|_| a.len() >= FEWEST);
        let p_value = match &paired {
            _ if certain => f64::from(u8::from(mean == 0.0)),
            None => 1.0,
            Some(Paired { standard_error, .. }) if *standard_error == 0.0 => {
                f64::from(u8::from(mean == 0.0))
            }
            Some(paired) => sequence_p_value(a.len(), paired.mean / paired.standard_error),
        };
        let mut difference = Difference {
            mean,
            interval: None,
            fixed: paired.as_ref().map(|paired| paired.interval(0.95)),
            unpaired: welch(&a, &b).filter(|_| a.len() >= FEWEST),
            is_paired: true,
            correlation: paired.and_then(|paired| paired.correlation),
            relative: (reference > 0.0).then(|| mean / reference),
            relative_interval: None,
            heavy_tail: false,
            median: None,
            median_interval: None,
            needs: None,
            is_certain: certain,
        };
        if depth == Depth::All {
            self.resample(&mut difference, &a, &b, variant);
        }
        let sample = Sample::Paired(a.iter().zip(&b).map(|(a, b)| a - b).collect());
        let least = least(&self.finished(with), mean);
        Some(Uncorrected { sample, certain, p_value, difference, reference, least })
    }

    /// The same for runs of different seeds.
    fn one_independent(&self, variant: usize, with: Series) -> Option<Uncorrected> {
        let samples = self.independent(variant, with);
        let (mean, reference) = (mean(&samples.a)? - mean(&samples.b)?, mean(&samples.b)?.abs());
        let certain =
            self.draws_nothing(variant, with) && are_equal(&samples.a) && are_equal(&samples.b);
        let p_value = match samples.p_value(mean) {
            _ if certain => f64::from(u8::from(mean == 0.0)),
            p_value => p_value.unwrap_or(1.0),
        };
        let enough = samples.a.len().min(samples.b.len()) >= FEWEST;
        let welch = welch(&samples.a, &samples.b).filter(|_| enough);
        let difference = Difference {
            mean,
            interval: None,
            fixed: welch,
            unpaired: welch,
            is_paired: false,
            correlation: None,
            relative: (reference > 0.0).then(|| mean / reference),
            relative_interval: None,
            heavy_tail: has_heavy_tail(&samples.a) || has_heavy_tail(&samples.b),
            median: None,
            median_interval: None,
            needs: None,
            is_certain: certain,
        };
        let least = least(&samples.b, mean);
        let sample = Sample::Independent(samples);
        Some(Uncorrected { sample, certain, p_value, difference, reference, least })
    }

    /// Computes the values that need single differences and resamples of them.
    fn resample(&self, difference: &mut Difference, a: &[f64], b: &[f64], variant: usize) {
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        let name = self.study.variants.get(variant).map_or("", |runs| &runs.variant.name);
        let (seed, owner) = (self.scenario.seed, owner_of(&format!("difference/{name}")));
        difference.heavy_tail = has_heavy_tail(&differences);
        difference.median = median(&differences);
        difference.median_interval = median_interval(&differences, seed, owner);
        difference.relative_interval = ratio_interval(a, b, seed, owner)
            .map(|ratio| Interval { low: ratio.low - 1.0, high: ratio.high - 1.0 });
    }

    fn class(&self, interval: Interval, margin: f64) -> Class {
        let beyond = |low: bool| if low { interval.high < -margin } else { interval.low > margin };
        if beyond(true) || beyond(false) {
            let better = beyond(false) == self.metric.larger_is_better();
            return if better { Class::PaysOff } else { Class::Hurts };
        }
        if interval.low >= -margin && interval.high <= margin {
            Class::NoDifference
        } else {
            Class::Undecided
        }
    }

    /// The value of every repetition.
    fn values(&self, series: Series) -> Vec<Option<f64>> {
        let value = |run: &Run| run.measured(self.metric);
        let of = |runs: &VariantRuns| runs.runs.iter().map(value).collect();
        match series {
            Series::Variant(index) => self.study.variants.get(index).map_or(Vec::new(), of),
            Series::Average(family) => {
                let alone = |runs: &&VariantRuns| {
                    let variant = &runs.variant;
                    let is_in = family.is_none_or(|family| variant.family() == family);
                    // UDP loses what others deliver.
                    variant.single_path().is_some() && is_in && variant.control().is_some()
                };
                let alone = self.study.variants.iter().filter(alone);
                let columns: Vec<Vec<Option<f64>>> = alone.map(of).collect();
                let rows = columns.first().map_or(0, Vec::len);
                let row = |i: usize| -> Option<f64> {
                    let row: Option<Vec<f64>> = columns.iter().map(|column| column[i]).collect();
                    mean(&row?)
                };
                (0..rows).map(row).collect()
            }
        }
    }
}

/// The smallest difference that matters from a baseline of this mean, in the metric's unit.
pub fn margin(scenario: &Scenario, metric: Measure, reference: f64) -> f64 {
    let Matters(share) = scenario.matters;
    if share == 0.0 { 0.0 } else { (share * reference).max(metric.info().least_noticed) }
}

/// Rounded up to two digits.
fn two_digits(number: u32) -> u32 {
    let number = f64::from(number);
    let mut unit = 1.0;
    while number / unit >= 100.0 {
        unit *= 10.0;
    }
    ((number / unit).ceil() * unit) as u32
}

/// The least that a difference of this mean can be. No time or rate is below zero, so that a
/// variant is at most as far below the baseline as the true mean of that may be. It is not the mean
/// of its runs, which with heavy tails is often too small: with that as the end, half of the
/// intervals of recorded links missed the truth.
fn least(baseline: &[f64], difference: f64) -> f64 {
    let interval = mean_interval(baseline, 0.999);
    interval.map_or(f64::NEG_INFINITY, |interval| (-interval.high).min(difference))
}

fn are_equal(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] == pair[1])
}
