//! Comparing the variants of a study: paired differences, Holm's correction, classes.
//!
//! One comparison is of a variant with another, or with the average of the single paths; a table of
//! them is corrected together (interface, "Variants"). `summary` describes single variants,
//! `report` chooses the comparisons.

use crate::scenario::Scenario;
use crate::statistics::{
    Interval, Paired, has_heavy_tail, holm, mean, median, median_interval, paired, ratio_interval,
    welch,
};
use crate::study::{Study, VariantRuns};
use base::chance::owner_of;
use traffic::Metric;

/// Relevant share of the baseline's mean: a smaller difference is slight, and a narrower interval
/// around zero shows that there is no difference.
const MATTERS: f64 = 0.10;

/// Difference of a variant and the baseline.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// Mean difference in the metric's unit.
    pub mean: f64,
    /// 95 % interval of the paired difference; `None` from one run.
    pub interval: Option<Interval>,
    /// The interval corrected for the number of comparisons (Holm), which decides the class.
    pub corrected: Option<Interval>,
    /// 95 % interval without pairing.
    pub unpaired: Option<Interval>,
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
    /// Shown to be about equal.
    NoDifference,
    /// Neither shown.
    Undecided,
}

/// A comparison and its outcome.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// `None` without a repetition that both finished.
    pub difference: Option<Difference>,
    /// Outcome.
    pub class: Class,
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
    /// `significant` if the difference is more than a tenth of the baseline, else `slight`.
    pub fn magnitude(&self) -> &'static str {
        if self.relative.is_some_and(|share| share.abs() > MATTERS) {
            "significant"
        } else {
            "slight"
        }
    }
}

/// The other side of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Series {
    Variant(usize),
    /// The mean over the single paths, run by run.
    Average,
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
    pub metric: Metric,
}

/// A comparison before correction.
struct Uncorrected {
    paired: Paired,
    difference: Difference,
    reference: f64,
}

impl Comparison<'_> {
    /// Computes the comparisons of one table and corrects them together.
    pub(crate) fn table(&self, asked: &[(usize, Series)], depth: Depth) -> Vec<Compared> {
        let uncorrected: Vec<Option<Uncorrected>> =
            asked.iter().map(|(variant, with)| self.one(*variant, *with, depth)).collect();
        let p_values: Vec<f64> = uncorrected.iter().flatten().map(|u| u.paired.p_value).collect();
        let mut levels = holm(&p_values).into_iter().map(|holm| holm.level);
        let compared = uncorrected.into_iter().map(|uncorrected| {
            let with_level =
                uncorrected.and_then(|uncorrected| Some((uncorrected, levels.next()?)));
            let Some((Uncorrected { paired, mut difference, reference }, level)) = with_level
            else {
                return Compared { difference: None, class: Class::Undecided };
            };
            difference.corrected = difference.interval.map(|_| paired.interval(level));
            let class = self.class(&difference, reference);
            Compared { difference: Some(difference), class }
        });
        compared.collect()
    }

    /// Values of the repetitions that both sides finished.
    pub(crate) fn pairs(&self, variant: usize, with: Series) -> (Vec<f64>, Vec<f64>) {
        let (a, b) = (self.values(Series::Variant(variant)), self.values(with));
        a.into_iter().zip(b).filter_map(|(a, b)| a.zip(b)).unzip()
    }

    /// The mean of all finished repetitions.
    pub(crate) fn mean(&self, series: Series) -> Option<f64> {
        mean(&self.values(series).into_iter().flatten().collect::<Vec<f64>>())
    }

    fn one(&self, variant: usize, with: Series, depth: Depth) -> Option<Uncorrected> {
        let (a, b) = self.pairs(variant, with);
        let reference = self.mean(with)?.abs();
        let mean = mean(&a)? - mean(&b)?;
        let certain = !self.scenario.is_random() && a.len() == 1;
        let paired = paired(&a, &b);
        let interval = match &paired {
            Some(paired) => Some(paired.interval(0.95)),
            None => certain.then(|| Interval::around(mean, 0.0)),
        };
        let paired = paired.unwrap_or(Paired {
            mean,
            standard_error: 0.0,
            freedom: 1.0,
            correlation: None,
            // A single run has no interval, unless the scenario is deterministic.
            p_value: if certain && mean != 0.0 { 0.0 } else { 1.0 },
        });
        let mut difference = Difference {
            mean,
            interval,
            corrected: None,
            unpaired: welch(&a, &b),
            correlation: paired.correlation,
            relative: (reference > 0.0).then(|| mean / reference),
            relative_interval: None,
            heavy_tail: false,
            median: None,
            median_interval: None,
        };
        if depth == Depth::All {
            self.resample(&mut difference, &a, &b, variant);
        }
        Some(Uncorrected { paired, difference, reference })
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

    fn class(&self, difference: &Difference, reference: f64) -> Class {
        let Some(interval) = difference.corrected else { return Class::Undecided };
        if !interval.includes_zero() {
            let larger = difference.mean > 0.0;
            let better = larger == self.metric.larger_is_better();
            return if better { Class::PaysOff } else { Class::Hurts };
        }
        if interval.half_width() <= MATTERS * reference {
            Class::NoDifference
        } else {
            Class::Undecided
        }
    }

    /// The value of every repetition.
    fn values(&self, series: Series) -> Vec<Option<f64>> {
        let of = |runs: &VariantRuns| runs.runs.iter().map(|run| run.value).collect();
        match series {
            Series::Variant(index) => self.study.variants.get(index).map_or(Vec::new(), of),
            Series::Average => {
                let alone = |runs: &&VariantRuns| runs.variant.single_path().is_some();
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
