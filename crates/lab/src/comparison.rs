//! Comparing the variants of a study: paired differences, Holm's correction, classes.
//!
//! One comparison is of a variant with another, or with the average of the single paths; a table
//! of them is corrected together (interface, "Variants"). Leaves what a variant is by itself to
//! `summary`, and which comparisons a report has to `report`.

use crate::scenario::Scenario;
use crate::statistics::{
    Interval, Paired, has_heavy_tail, holm, mean, median, median_interval, paired, ratio_interval,
    welch,
};
use crate::study::{Study, VariantRuns};
use base::chance::owner_of;
use traffic::Metric;

/// The share of the baseline's mean that counts: below it a difference is slight, and an interval
/// around zero that is narrower shows that there is none.
const MATTERS: f64 = 0.10;

/// A variant minus the baseline.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// In the metric's unit.
    pub mean: f64,
    /// 95 % interval of the paired difference; `None` from one run.
    pub interval: Option<Interval>,
    /// The interval corrected for the number of comparisons (Holm), which decides the class.
    pub corrected: Option<Interval>,
    /// 95 % interval without pairing.
    pub unpaired: Option<Interval>,
    /// What pairing bought.
    pub correlation: Option<f64>,
    /// Share of the baseline's mean.
    pub relative: Option<f64>,
    /// 95 % interval of that share.
    pub relative_interval: Option<Interval>,
    /// The mean's interval is not to be trusted.
    pub heavy_tail: bool,
    /// Median of the paired differences.
    pub median: Option<f64>,
    /// 95 % interval of that median.
    pub median_interval: Option<Interval>,
}

/// What a comparison showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// It is what others are compared with.
    Baseline,
    /// Better.
    PaysOff,
    /// Worse.
    Hurts,
    /// Shown to be about equal.
    NoDifference,
    /// Not shown either way.
    Undecided,
}

/// A comparison and its outcome.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// `None` without a repetition that both finished.
    pub difference: Option<Difference>,
    /// What it showed.
    pub class: Class,
}

impl Class {
    /// The word in tables and files.
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
    /// Whether the difference is more than a tenth of the baseline.
    pub fn magnitude(&self) -> &'static str {
        if self.relative.is_some_and(|share| share.abs() > MATTERS) {
            "significant"
        } else {
            "slight"
        }
    }
}

/// What variants are compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Series {
    Variant(usize),
    /// The mean over the single paths, run by run.
    Average,
}

/// How much is asked of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Depth {
    /// What decides the class.
    Class,
    /// Intervals that need resamples too.
    All,
}

/// The values of a study, to be compared.
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
    /// Carries out the comparisons of one table and corrects them together.
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

    /// The values of the repetitions that both finished.
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
            // One run says nothing, unless there is no chance in it.
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

    /// Fills in what comes from single differences and from resamples of them.
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
