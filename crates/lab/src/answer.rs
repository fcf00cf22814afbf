//! The answer of a study: which variant decides the question, and what is known of it.
//!
//! The question is whether several paths at once pay off against the best single path; without
//! both, which of the variants is the best. `comparison` computes the intervals, `verdict` writes
//! the sentence, `stopping` ends the repetitions when the answer is known.

use crate::comparison::{Asked, Class, Compared, Comparison, Depth, Difference, Series};
pub use crate::goal::{Aim, Outcome, Standing};
use crate::reference::references;
use crate::scenario::{Scenario, measures};
use crate::statistics::Interval;
use crate::study::Study;
pub use crate::study::{Open, Stopped};
use crate::summary::Summary;
use traffic::Measure;

/// The answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// Outcome of the deciding variant; `None` if it is not known.
    pub class: Option<Class>,
    /// The better one of the two; `None` if no difference is shown.
    pub winner: Option<String>,
    /// What the deciding variant is compared with.
    pub baseline: Option<String>,
    /// The deciding variant.
    pub variant: Option<String>,
    /// What is compared: the name of the metric, or `failover`, in seconds.
    pub metric: &'static str,
    /// Its mean difference in the metric's unit.
    pub effect: Option<f64>,
    /// The interval that decides.
    pub interval: Option<Interval>,
    /// Number of comparisons that it is corrected for.
    pub family: usize,
    /// Repetitions after which the class is expected to be known, where it is not.
    pub needs: Option<u32>,
}

/// One number of the runs, judged by itself.
#[derive(Clone, PartialEq, Debug)]
pub struct MetricRow {
    /// The number.
    pub metric: Measure,
    /// Its answer.
    pub answer: Answer,
    /// Mean of the deciding variant, in the unit of the number.
    pub mean: Option<f64>,
    /// Mean of the baseline.
    pub baseline_mean: Option<f64>,
    /// `significant` or `slight`, where several paths pay off or hurt.
    pub magnitude: Option<&'static str>,
}

/// All variants compared with the reference, and the one that decides.
pub(crate) struct Judged {
    /// Summaries with their differences from the reference.
    pub variants: Vec<Summary>,
    /// The best single path, or the best of all, that the deciding variant is compared with.
    pub reference: Option<usize>,
    /// The same for each variant; empty if none qualifies.
    pub references: Vec<usize>,
    /// The deciding variant.
    pub deciding: Option<usize>,
    /// Number of comparisons of the question.
    pub family: usize,
}

/// Whether a variant may use several paths at once.
pub(crate) const fn is_together(summary: &Summary) -> bool {
    summary.variant.single_path().is_none()
}

/// Compares `variants` with the reference.
pub(crate) fn judge(comparison: &Comparison<'_>, variants: Vec<Summary>) -> Judged {
    match references(comparison.metric, &variants) {
        Some(references) => judge_against(comparison, variants, references),
        None => {
            let references = Vec::new();
            Judged { variants, reference: None, references, deciding: None, family: 0 }
        }
    }
}

fn judge_against(
    comparison: &Comparison<'_>,
    mut variants: Vec<Summary>,
    references: Vec<usize>,
) -> Judged {
    let baselines: Vec<Series> = references.iter().copied().map(Series::Variant).collect();
    let family = compare(comparison, &mut variants, &baselines, Depth::Class);
    let deciding = deciding(comparison.metric.larger_is_better(), &variants, &references);
    let reference = references.get(deciding.unwrap_or(0)).copied();
    Judged { variants, reference, references, deciding, family }
}

/// The times without a delivery after failures of paths, judged against the same reference; `None`
/// where no path failed, or they are the metric itself.
pub(crate) fn judge_failures(comparison: &Comparison<'_>, judged: &Judged) -> Option<Judged> {
    let reference = judged.reference?;
    if comparison.metric == Measure::FAILOVER {
        return None;
    }
    let times = Comparison { metric: Measure::FAILOVER, ..*comparison };
    let variants = Summary::all_of(&times);
    variants[reference].mean?;
    let judged = judge_against(&times, variants, judged.references.clone());
    judged.deciding().is_some().then_some(judged)
}

/// Computes differences and classes. Returns the number of comparisons that were corrected
/// together: those of multi-path variants, or all if there is no single path or nothing else.
pub(crate) fn compare(
    comparison: &Comparison<'_>,
    variants: &mut [Summary],
    baselines: &[Series],
    depth: Depth,
) -> usize {
    let is_other = |index: usize, with: Series, v: &Summary| {
        v.qualifies() && with != Series::Variant(index) && comparison.mean(with).is_some()
    };
    let others = || {
        let all = variants.iter().zip(baselines.iter().copied()).enumerate();
        all.filter(|(index, (v, with))| is_other(*index, *with, v))
    };
    let some_together = others().any(|(_, (v, _))| is_together(v));
    let alone = |with: Series| match with {
        Series::Variant(index) => !is_together(&variants[index]),
        Series::Average(_) => true,
    };
    let in_family = |v: &Summary, with| !(some_together && alone(with)) || is_together(v);
    let asked: Vec<Asked> = others()
        .map(|(variant, (v, with))| Asked { variant, with, in_family: in_family(v, with) })
        .collect();
    let family = asked.iter().filter(|asked| asked.in_family).count();
    for (asked, compared) in asked.iter().zip(comparison.table(&asked, depth)) {
        let Compared { difference, class } = compared;
        variants[asked.variant].class = class;
        variants[asked.variant].difference = difference;
    }
    for (index, with) in baselines.iter().enumerate() {
        if *with == Series::Variant(index) && variants[index].qualifies() {
            variants[index].class = Some(Class::Baseline);
        }
    }
    family
}

/// The variant that decides: of those over several paths the best one that pays off, or else the
/// best one; without any, the best one that pays off, as UDP may, which is never the reference, or
/// else the nearest rival of the best variant. Use of several paths at once comes before use of
/// them in turn.
fn deciding(larger_is_better: bool, variants: &[Summary], references: &[usize]) -> Option<usize> {
    let sign = if larger_is_better { -1.0 } else { 1.0 };
    let is_reference = |index: &usize| references.get(*index) == Some(index);
    let rivals = || variants.iter().enumerate().filter(|(i, v)| !is_reference(i) && v.qualifies());
    let against_one = |index: usize| references.get(index).map(|of| !is_together(&variants[*of]));
    let all = || rivals().filter(|(i, v)| is_together(v) && against_one(*i).unwrap_or(false));
    let at_once = all().any(|(_, v)| v.variant.is_concurrent());
    let together = || all().filter(|(_, v)| !at_once || v.variant.is_concurrent());
    let best = |of: &mut dyn Iterator<Item = (usize, &Summary)>| {
        let key = |v: &Summary| sign * v.mean.unwrap_or(f64::INFINITY);
        of.min_by(|a, b| key(a.1).total_cmp(&key(b.1))).map(|(index, _)| index)
    };
    let pays_off = |v: &Summary| v.class == Some(Class::PaysOff);
    if together().count() > 0 {
        return best(&mut together().filter(|(_, v)| pays_off(v)))
            .or_else(|| best(&mut together()));
    }
    let gap = |v: &Summary| v.difference.as_ref().map_or(f64::INFINITY, |d| d.mean.abs());
    let nearest = || rivals().min_by(|a, b| gap(a.1).total_cmp(&gap(b.1))).map(|(index, _)| index);
    best(&mut rivals().filter(|(_, v)| pays_off(v))).or_else(nearest)
}

impl Judged {
    /// The summary that decides.
    pub(crate) fn deciding(&self) -> Option<&Summary> {
        self.variants.get(self.deciding?)
    }

    /// The answer in `metric`.
    pub(crate) fn answer(&self, metric: &'static str) -> Answer {
        let name = |index: Option<usize>| {
            let summary = index.and_then(|index| self.variants.get(index));
            summary.map(|summary| summary.variant.name.clone())
        };
        let deciding = self.deciding();
        let difference: Option<&Difference> = deciding.and_then(|v| v.difference.as_ref());
        let class = deciding.and_then(|v| v.class);
        let winner = match class {
            Some(Class::PaysOff) => name(self.deciding),
            Some(Class::Hurts) => name(self.reference),
            None if deciding.is_none() => name(self.reference),
            _ => None,
        };
        Answer {
            class,
            winner,
            baseline: name(self.reference),
            variant: name(self.deciding),
            metric,
            effect: difference.map(|difference| difference.mean),
            interval: difference.and_then(|difference| difference.interval),
            family: self.family,
            needs: difference.and_then(|difference| difference.needs),
        }
    }
}

/// The answer of a study: that in the metric; or, where several paths neither pay off nor hurt,
/// that in the time after failures, if several paths shorten or prolong it.
pub(crate) fn answer(metric: Measure, judged: &Judged, failures: Option<&Judged>) -> Answer {
    let answer = judged.answer(metric.name());
    let decided = |answer: &Answer| matches!(answer.class, Some(Class::PaysOff | Class::Hurts));
    let of_failures = failures.map(|failures| failures.answer(Measure::FAILOVER.name()));
    of_failures.filter(|of| decided(of) && !decided(&answer)).unwrap_or(answer)
}

/// Every number of the runs that has values, judged by itself.
pub(crate) fn metric_rows(of: &Comparison<'_>) -> Vec<MetricRow> {
    let row = |metric: Measure| {
        let comparison = Comparison { metric, ..*of };
        let judged = judge(&comparison, Summary::all_of(&comparison));
        let (deciding, reference) = (judged.deciding()?, judged.variants.get(judged.reference?)?);
        let decided = matches!(deciding.class, Some(Class::PaysOff | Class::Hurts));
        let difference = deciding.difference.as_ref().filter(|_| decided);
        Some(MetricRow {
            metric,
            answer: judged.answer(metric.name()),
            mean: deciding.mean,
            baseline_mean: reference.mean,
            magnitude: difference.map(Difference::magnitude),
        })
    };
    let Scenario { traffic, paths, links, metric, goal, .. } = of.scenario;
    let mut all = measures(traffic, paths, links);
    // Numbers of packets are judged where they are asked for.
    for asked in goal.iter().map(|goal| goal.metric).chain([*metric]) {
        if all.iter().all(|known| known.name() != asked.name()) {
            all.push(asked);
        }
    }
    all.into_iter().filter_map(row).collect()
}

/// The study judged so far, without values that need resamples; `None` without runs.
pub(crate) fn judged_so_far(scenario: &Scenario, study: &Study) -> Option<(Measure, Judged)> {
    study.metric()?;
    let comparison = Comparison { scenario, study, metric: scenario.metric, seeds: &[] };
    Some((scenario.metric, judge(&comparison, Summary::all_of(&comparison))))
}
