//! What a study says: a summary of every variant, its comparison with the baseline, its class.
//!
//! Definitions are interface.md's "Variants". Leaves words to `verdict` and files to `results`.

use crate::path_spec::{PathSpec, RUN_LIMIT};
use crate::run::Run;
use crate::scenario::{Baseline, Scenario};
use crate::statistics::{
    Interval, Paired, has_heavy_tail, holm, mean, mean_interval, median, median_interval, paired,
    welch,
};
use crate::study::{Study, VariantRuns, hex};
use crate::variants::Variant;
use base::chance::owner_of;
use traffic::Metric;

/// Above this share of incomplete runs a variant gets no verdict.
const MOST_INCOMPLETE: f64 = 0.05;
/// The share of the baseline's mean that counts: below it a difference is slight, and an interval
/// around zero that is narrower shows that there is none.
const MATTERS: f64 = 0.10;

/// The result of a study.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was measured.
    pub metric: Metric,
    /// Name of the variant compared with, or `average`; `None` if no variant qualifies.
    pub baseline: Option<String>,
    /// In the order of the study.
    pub variants: Vec<Summary>,
    /// One line a person can act on.
    pub verdict: String,
    /// Of the study, in hexadecimal digits.
    pub hash: String,
    /// Whether the study was stopped early.
    pub interrupted: bool,
}

/// One variant.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Which one.
    pub variant: Variant,
    /// Repetitions carried out.
    pub n: usize,
    /// Those that had not finished after 600 s.
    pub incomplete: usize,
    /// Of the finished ones, in the metric's unit.
    pub mean: Option<f64>,
    /// Likewise.
    pub median: Option<f64>,
    /// 95 % interval of the mean.
    pub mean_interval: Option<Interval>,
    /// 95 % interval of the median.
    pub median_interval: Option<Interval>,
    /// All repetitions are equal and nothing in the scenario is random.
    pub deterministic: bool,
    /// The mean's interval is not to be trusted.
    pub heavy_tail: bool,
    /// Against the baseline; `None` for the baseline itself.
    pub difference: Option<Difference>,
    /// `None`: no verdict.
    pub class: Option<Class>,
    /// Means of further numbers of the traffic model, by name.
    pub extra: Vec<(String, f64)>,
    /// Share of the payload first sent on each path, by name.
    pub share: Vec<(String, f64)>,
    /// Segments sent again on their own path, per repetition.
    pub retransmitted: f64,
    /// Bytes sent on a second path although another one had them, per repetition.
    pub reinjected: f64,
    /// Why connections failed, if they did.
    pub failure: Option<String>,
}

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

impl Summary {
    /// Whether enough runs finished for a verdict.
    pub fn qualifies(&self) -> bool {
        self.mean.is_some() && self.incomplete as f64 <= MOST_INCOMPLETE * self.n as f64
    }

    /// Why there is no verdict on it, in words.
    pub fn disqualification(&self) -> String {
        let why = self.failure.as_ref().map_or(String::new(), |failure| format!(" ({failure})"));
        let (incomplete, n) = (self.incomplete, self.n);
        format!("{incomplete} of {n} runs did not finish within {RUN_LIMIT}{why}")
    }
}

impl Report {
    /// The result of `study`; `None` if not one repetition is complete.
    pub fn new(scenario: &Scenario, study: &Study) -> Option<Report> {
        let metric = study.metric()?;
        let analysis = Analysis { scenario, study, metric };
        let mut variants: Vec<Summary> =
            study.variants.iter().map(|runs| analysis.summary(runs)).collect();
        let best = analysis.best(&variants, |_| true);
        let best_alone = analysis.best(&variants, |v| v.variant.single_path().is_some());
        // Does multi-path pay off? That is a question about the best path alone.
        let reference = best_alone.or(best);
        let baseline = match &scenario.baseline {
            Baseline::Best => reference.map(Series::Variant),
            Baseline::Average => Some(Series::Average),
            Baseline::Named(name) => {
                variants.iter().position(|v| v.variant.name == *name).map(Series::Variant)
            }
        };
        if let Some(baseline) = baseline {
            analysis.compare(&mut variants, baseline);
        }
        let name = baseline.map(|series| match series {
            Series::Variant(index) => variants[index].variant.name.clone(),
            Series::Average => Baseline::Average.to_string(),
        });
        let mut against = variants.clone();
        if let Some(reference) = reference {
            analysis.compare(&mut against, Series::Variant(reference));
        }
        let verdict = crate::verdict::verdict(scenario, metric, &against, reference);
        Some(Report {
            metric,
            baseline: name,
            variants,
            verdict,
            hash: hex(&study.hash()),
            interrupted: study.interrupted,
        })
    }
}

/// What variants are compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Series {
    Variant(usize),
    /// The mean over the single paths, run by run.
    Average,
}

struct Analysis<'a> {
    scenario: &'a Scenario,
    study: &'a Study,
    metric: Metric,
}

impl Analysis<'_> {
    fn summary(&self, runs: &VariantRuns) -> Summary {
        let values: Vec<f64> = runs.runs.iter().filter_map(|run| run.value).collect();
        let equal = values.windows(2).all(|pair| pair[0] == pair[1]);
        let deterministic = equal && !values.is_empty() && !self.is_random(runs);
        let owner = owner_of(&runs.variant.name);
        let per_run = |of: fn(&Run) -> u64| {
            runs.runs.iter().map(of).sum::<u64>() as f64 / runs.runs.len().max(1) as f64
        };
        let failures = runs.runs.iter().filter_map(|run| run.failure.as_ref());
        Summary {
            variant: runs.variant.clone(),
            n: runs.runs.len(),
            incomplete: runs.runs.len() - values.len(),
            mean: mean(&values),
            median: median(&values),
            mean_interval: mean_interval(&values, 0.95)
                .or_else(|| values.first().filter(|_| deterministic).map(|v| exactly(*v))),
            median_interval: median_interval(&values, self.scenario.seed, owner),
            deterministic,
            heavy_tail: has_heavy_tail(&values),
            difference: None,
            class: None,
            extra: extra(runs),
            share: self.share(runs),
            retransmitted: per_run(|run| run.retransmitted_segs),
            reinjected: per_run(|run| run.reinjected_bytes),
            failure: failures.map(ToString::to_string).next(),
        }
    }

    /// Whether there is any chance on the paths of a variant.
    fn is_random(&self, runs: &VariantRuns) -> bool {
        match runs.variant.single_path() {
            Some(path) => self.scenario.paths.get(path).is_none_or(PathSpec::is_random),
            None => self.scenario.is_random(),
        }
    }

    fn share(&self, runs: &VariantRuns) -> Vec<(String, f64)> {
        let bytes = |path: usize| -> u64 {
            let sent = runs.runs.iter().map(|run| run.first_sent_bytes.get(path));
            sent.map(|bytes| bytes.copied().unwrap_or(0)).sum()
        };
        let total: u64 = (0..self.scenario.paths.len()).map(bytes).sum();
        let share = |path| if total == 0 { 0.0 } else { bytes(path) as f64 / total as f64 };
        let named = self.scenario.paths.iter().enumerate();
        named.map(|(index, path)| (path.name.clone(), share(index))).collect()
    }

    /// The variant with the best mean among those that qualify and count.
    fn best(&self, variants: &[Summary], counts: impl Fn(&Summary) -> bool) -> Option<usize> {
        let better = |a: f64, b: f64| if self.metric.larger_is_better() { a > b } else { a < b };
        let mut best: Option<(usize, f64)> = None;
        let rivals = variants.iter().enumerate().filter(|(_, v)| v.qualifies() && counts(v));
        for (index, variant) in rivals {
            if let Some(mean) = variant.mean
                && best.is_none_or(|(_, so_far)| better(mean, so_far))
            {
                best = Some((index, mean));
            }
        }
        best.map(|(index, _)| index)
    }

    /// Fill in differences and classes.
    fn compare(&self, variants: &mut [Summary], baseline: Series) {
        let reference = self.values(baseline);
        let Some(reference_mean) = mean(&reference.iter().copied().flatten().collect::<Vec<_>>())
        else {
            return;
        };
        let mut compared: Vec<(usize, Paired, Difference)> = Vec::new();
        for (index, summary) in variants.iter_mut().enumerate() {
            summary.difference = None;
            summary.class = None;
            if baseline == Series::Variant(index) {
                summary.class = summary.qualifies().then_some(Class::Baseline);
            } else if summary.qualifies() {
                let values = self.values(Series::Variant(index));
                let (a, b): (Vec<f64>, Vec<f64>) =
                    values.into_iter().zip(&reference).filter_map(|(a, b)| a.zip(*b)).unzip();
                let relative = reference_mean.abs();
                if let Some((paired, difference)) = self.difference(&a, &b, relative) {
                    compared.push((index, paired, difference));
                } else {
                    summary.class = Some(Class::Undecided);
                }
            }
        }
        let p_values: Vec<f64> = compared.iter().map(|(_, paired, _)| paired.p_value).collect();
        for ((index, paired, mut difference), holm) in compared.into_iter().zip(holm(&p_values)) {
            let known = difference.interval.is_some();
            let corrected = paired.interval(holm.level);
            difference.corrected = known.then_some(corrected);
            variants[index].class =
                Some(self.class(&difference, known.then_some(corrected), reference_mean));
            variants[index].difference = Some(difference);
        }
    }

    /// The difference of paired values; `None` without a pair.
    fn difference(&self, a: &[f64], b: &[f64], scale: f64) -> Option<(Paired, Difference)> {
        let mean = mean(a)? - mean(b)?;
        let certain = !self.scenario.is_random() && a.len() == 1;
        let paired = paired(a, b);
        let interval = match &paired {
            Some(paired) => Some(paired.interval(0.95)),
            None => certain.then(|| exactly(mean)),
        };
        let paired = paired.unwrap_or(Paired {
            mean,
            standard_error: 0.0,
            freedom: 1.0,
            correlation: None,
            // One run says nothing, unless there is no chance in it.
            p_value: if certain && mean != 0.0 { 0.0 } else { 1.0 },
        });
        let difference = Difference {
            mean,
            interval,
            corrected: None,
            unpaired: welch(a, b),
            correlation: paired.correlation,
            relative: (scale > 0.0).then(|| mean / scale),
        };
        Some((paired, difference))
    }

    fn class(&self, difference: &Difference, interval: Option<Interval>, reference: f64) -> Class {
        let Some(interval) = interval else { return Class::Undecided };
        if !interval.includes_zero() {
            let larger = difference.mean > 0.0;
            let better = larger == self.metric.larger_is_better();
            return if better { Class::PaysOff } else { Class::Hurts };
        }
        if interval.half_width() <= MATTERS * reference.abs() {
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

/// Means over the finished runs of the model's further numbers.
fn extra(runs: &VariantRuns) -> Vec<(String, f64)> {
    let complete: Vec<&Run> = runs.runs.iter().filter(|run| run.value.is_some()).collect();
    let Some(first) = complete.first() else { return Vec::new() };
    let mean_of = |name: &str| {
        let of = |run: &&Run| {
            let found = run.extra.iter().find(|(other, _)| other == name);
            found.map(|(_, value)| *value)
        };
        mean(&complete.iter().filter_map(of).collect::<Vec<f64>>())
    };
    let names = first.extra.iter().map(|(name, _)| name);
    names.filter_map(|name| Some((name.clone(), mean_of(name)?))).collect()
}

fn exactly(value: f64) -> Interval {
    Interval { low: value, high: value }
}

#[cfg(test)]
mod tests;
