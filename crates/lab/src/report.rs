//! The report of a study: a summary of every variant, its comparison with the baseline, its class,
//! and all pairs of variants.
//!
//! `summary` computes values of one variant, `comparison` of two; `verdict` makes the texts,
//! `results` the files.

use crate::comparison::{Class, Comparison, Depth, Difference, Series};
use crate::precision::reached;
use crate::reference::{baseline, reference};
use crate::scenario::{Baseline, Runs, Scenario};
use crate::study::{Study, VariantRuns, hex};
use crate::summary::Summary;
use traffic::Metric;

/// The result of a study.
#[derive(Clone, Debug)]
pub struct Report {
    /// The metric.
    pub metric: Metric,
    /// Repetitions of each variant, as requested or as determined by `--runs auto`.
    pub runs: u32,
    /// With `--runs auto`: the widest half-width of a paired difference, as a share of the
    /// baseline's mean.
    pub half_width: Option<f64>,
    /// Name of the baseline, or `average`; `None` if no variant qualifies.
    pub baseline: Option<String>,
    /// Summaries in the order of the study.
    pub variants: Vec<Summary>,
    /// All pairs of variants.
    pub pairs: Vec<Pair>,
    /// Verdict in one line.
    pub verdict: String,
    /// Result hash of the study, in hexadecimal digits.
    pub hash: String,
    /// Whether the study was stopped early.
    pub interrupted: bool,
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
    /// Class of the first.
    pub class: Class,
}

impl Report {
    /// The report of `study`; `None` if no repetition is complete.
    pub fn new(scenario: &Scenario, study: &Study) -> Option<Report> {
        let metric = study.metric()?;
        let comparison = Comparison { scenario, study, metric };
        let summary = |runs: &VariantRuns| Summary::new(scenario, runs);
        let mut variants: Vec<Summary> = study.variants.iter().map(summary).collect();
        // The verdict compares multi-path with the best single path.
        let reference = reference(metric, &variants);
        let baseline = baseline(scenario, &variants, reference);
        let mut against = variants.clone();
        if let Some(baseline) = baseline {
            compare(&comparison, &mut variants, baseline, Depth::All);
        }
        if let Some(reference) = reference {
            compare(&comparison, &mut against, Series::Variant(reference), Depth::Class);
        }
        let name = baseline.map(|series| match series {
            Series::Variant(index) => variants[index].variant.name.clone(),
            Series::Average => Baseline::Average.to_string(),
        });
        Some(Report {
            metric,
            runs: match scenario.runs {
                Runs::Fixed(runs) => runs,
                Runs::Auto { .. } => study.repetitions(),
            },
            half_width: reached(scenario, study),
            baseline: name,
            pairs: pairs(&comparison, &variants),
            verdict: crate::verdict::verdict(scenario, metric, &against, reference),
            variants,
            hash: hex(&study.hash()),
            interrupted: study.interrupted,
        })
    }
}

/// Computes differences and classes.
fn compare(comparison: &Comparison<'_>, variants: &mut [Summary], baseline: Series, depth: Depth) {
    if comparison.mean(baseline).is_none() {
        return;
    }
    let others = |(index, v): (usize, &Summary)| {
        (v.qualifies() && baseline != Series::Variant(index)).then_some((index, baseline))
    };
    let asked: Vec<(usize, Series)> = variants.iter().enumerate().filter_map(others).collect();
    for ((index, _), compared) in asked.iter().zip(comparison.table(&asked, depth)) {
        variants[*index].class = Some(compared.class);
        variants[*index].difference = compared.difference;
    }
    if let Series::Variant(index) = baseline
        && variants[index].qualifies()
    {
        variants[index].class = Some(Class::Baseline);
    }
}

/// All pairs of variants that qualify.
fn pairs(comparison: &Comparison<'_>, variants: &[Summary]) -> Vec<Pair> {
    let qualified: Vec<usize> = (0..variants.len()).filter(|i| variants[*i].qualifies()).collect();
    let after = |(at, first): (usize, &usize)| {
        let first = *first;
        qualified[at + 1..].iter().map(move |second| (first, *second))
    };
    let asked: Vec<(usize, usize)> = qualified.iter().enumerate().flat_map(after).collect();
    let series: Vec<(usize, Series)> =
        asked.iter().map(|(variant, with)| (*variant, Series::Variant(*with))).collect();
    let compared = comparison.table(&series, Depth::Class);
    let pair = |((variant, with), compared): ((usize, usize), crate::comparison::Compared)| Pair {
        variant,
        with,
        difference: compared.difference,
        class: compared.class,
    };
    asked.into_iter().zip(compared).map(pair).collect()
}

#[cfg(test)]
mod tests;
