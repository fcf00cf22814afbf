//! The report of a study: a summary of every variant, its comparison with the baseline, its class,
//! and all pairs of variants.
//!
//! `summary` computes values of one variant, `comparison` of two; `verdict` makes the texts,
//! `results` the files.

use crate::advice::advice;
use crate::answer::{
    Answer, MetricRow, Stopped, answer, compare, judge, judge_failures, metric_rows,
};
use crate::comparison::{Asked, Comparison, Depth, Pair, Ratio, Series};
use crate::goal::{Aim, aim};
use crate::reference::{baselines, best_of_all};
use crate::scenario::{Baseline, Runs, Scenario};
use crate::statistics::{FEWEST, Independent, mean, ratio_interval};
use crate::study::{Study, VariantRuns};
use crate::summary::Summary;
use crate::verdict::{beside, verdict};
use crate::words::hex;
use base::chance::owner_of;
use traffic::Measure;

/// The result of a study.
#[derive(Clone, Debug)]
pub struct Report {
    /// The metric.
    pub metric: Measure,
    /// Repetitions of each variant: as requested, or those complete where `--runs auto`, the time
    /// or an interruption ended them.
    pub runs: u32,
    /// The answer to the question of the study.
    pub answer: Answer,
    /// Every number of the runs, judged by itself.
    pub metrics: Vec<MetricRow>,
    /// The goal and the variants, if there is one.
    pub goal: Option<Aim>,
    /// Why the repetitions ended.
    pub stopped: Stopped,
    /// Name of the baseline, or `average`; `None` if no variant qualifies.
    pub baseline: Option<String>,
    /// Summaries in the order of the study.
    pub variants: Vec<Summary>,
    /// All pairs of variants.
    pub pairs: Vec<Pair>,
    /// Index of the variant with the best mean.
    pub best: Option<usize>,
    /// That variant in comparison with the others, the nearest first.
    pub ratios: Vec<Ratio>,
    /// What to do with the answer, line by line; empty where nothing is known.
    pub advice: Vec<String>,
    /// Verdict in one line.
    pub verdict: String,
    /// Result hash of the study, in hexadecimal digits.
    pub hash: String,
    /// Whether the study was stopped early.
    pub interrupted: bool,
}

impl Report {
    /// The report of `study`; `None` if no repetition is complete.
    pub fn new(scenario: &Scenario, study: &Study) -> Option<Report> {
        Report::of_seeds(scenario, study, &[])
    }

    /// The same for runs with these seeds, one of each variant; those of different seeds are
    /// compared without pairing.
    pub(crate) fn of_seeds(scenario: &Scenario, study: &Study, seeds: &[u64]) -> Option<Report> {
        study.metric()?;
        let metric = scenario.metric;
        let comparison = Comparison { scenario, study, metric, seeds };
        let summary = |runs: &VariantRuns| Summary::new(scenario, runs);
        let mut variants: Vec<Summary> = study.variants.iter().map(summary).collect();
        // The verdict compares multi-path with the best single path.
        let judged = judge(&comparison, variants.clone());
        let baselines = baselines(scenario, &variants, &judged.references);
        compare(&comparison, &mut variants, &baselines, Depth::All);
        let names: Vec<String> =
            baselines.iter().map(|series| name_of(*series, &variants)).collect();
        for (summary, name) in variants.iter_mut().zip(&names) {
            summary.baseline = Some(name.clone());
        }
        let failures = judge_failures(&comparison, &judged);
        let answer = answer(metric, &judged, failures.as_ref());
        let of_failures = failures.as_ref().filter(|_| answer.metric == Measure::FAILOVER.name());
        let answering = &of_failures.unwrap_or(&judged).variants;
        let place = judged.deciding.unwrap_or(0);
        let beside = baselines.get(place).and_then(|series| beside(&judged, &variants, *series));
        let name = names.get(place).cloned();
        let goal = aim(scenario, study);
        let verdict = verdict(scenario, &judged, failures.as_ref(), goal.as_ref(), beside);
        Some(Report {
            metric,
            metrics: metric_rows(&comparison),
            goal,
            runs: match scenario.runs {
                Runs::Fixed(runs) if study.stopped != Stopped::Time && !study.interrupted => runs,
                _ => study.repetitions(),
            },
            advice: advice(scenario, &answer, answering),
            answer,
            stopped: study.stopped,
            baseline: name,
            best: best_of_all(metric, &variants),
            ratios: ratios(&comparison, &variants),
            pairs: pairs(&comparison, &variants),
            verdict,
            variants,
            hash: hex(&study.hash()),
            interrupted: study.interrupted,
        })
    }
}

/// Name of a baseline.
fn name_of(series: Series, variants: &[Summary]) -> String {
    match series {
        Series::Variant(index) => variants[index].variant.name.clone(),
        Series::Average(_) => Baseline::Average.to_string(),
    }
}

/// The best variant in comparison with the others that qualify, the nearest first.
fn ratios(comparison: &Comparison<'_>, variants: &[Summary]) -> Vec<Ratio> {
    let metric = comparison.metric;
    let Some(best) = best_of_all(metric, variants) else { return Vec::new() };
    let qualified = |index: &usize| *index != best && variants[*index].qualifies();
    let one = |index: usize| {
        let is_paired = comparison.is_paired(best, Series::Variant(index));
        let (ours, theirs) = if is_paired {
            comparison.pairs(best, Series::Variant(index))
        } else {
            let Independent { a, b } = comparison.independent(best, Series::Variant(index));
            (a, b)
        };
        let (above, below) =
            if metric.larger_is_better() { (&ours, &theirs) } else { (&theirs, &ours) };
        let owner = owner_of(&format!("ratio/{}", variants[index].variant.name));
        let ratio = mean(above)? / mean(below)?;
        let enough = is_paired && above.len() >= FEWEST && comparison.scenario.is_random();
        let interval =
            enough.then(|| ratio_interval(above, below, comparison.scenario.seed, owner)).flatten();
        ratio.is_finite().then_some(Ratio { variant: index, ratio, interval })
    };
    let mut ratios: Vec<Ratio> = (0..variants.len()).filter(qualified).filter_map(one).collect();
    ratios.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    ratios
}

/// All pairs of variants that qualify.
fn pairs(comparison: &Comparison<'_>, variants: &[Summary]) -> Vec<Pair> {
    let qualified: Vec<usize> = (0..variants.len()).filter(|i| variants[*i].qualifies()).collect();
    let after = |(at, first): (usize, &usize)| {
        let first = *first;
        qualified[at + 1..].iter().map(move |second| (first, *second))
    };
    let asked: Vec<(usize, usize)> = qualified.iter().enumerate().flat_map(after).collect();
    let one = |(variant, with): &(usize, usize)| Asked {
        variant: *variant,
        with: Series::Variant(*with),
        in_family: true,
    };
    let together: Vec<Asked> = asked.iter().map(one).collect();
    let compared = comparison.table(&together, Depth::Class);
    let pair = |((variant, with), compared): ((usize, usize), crate::comparison::Compared)| Pair {
        variant,
        with,
        difference: compared.difference,
        class: compared.class,
    };
    asked.into_iter().zip(compared).map(pair).collect()
}

#[cfg(test)]
pub(crate) mod tests;
