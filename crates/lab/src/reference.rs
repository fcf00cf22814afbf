//! The variant that others are compared with, in the table and in the verdict.

use crate::comparison::Series;
use crate::scenario::{Baseline, Scenario};
use crate::summary::Summary;
use traffic::Measure;

/// The best variant over a single path, or else the best of all.
pub(crate) fn reference(metric: Measure, variants: &[Summary]) -> Option<usize> {
    let alone = best(metric, variants, |v| v.variant.single_path().is_some());
    alone.or_else(|| best_of_all(metric, variants))
}

/// The variant with the best mean.
pub(crate) fn best_of_all(metric: Measure, variants: &[Summary]) -> Option<usize> {
    best(metric, variants, |_| true)
}

/// Baseline of the table.
pub(crate) fn baseline(
    scenario: &Scenario,
    variants: &[Summary],
    reference: Option<usize>,
) -> Option<Series> {
    match &scenario.baseline {
        Baseline::Best => reference.map(Series::Variant),
        Baseline::Average => Some(Series::Average),
        Baseline::Named(name) => {
            variants.iter().position(|v| v.variant.name == *name).map(Series::Variant)
        }
    }
}

/// The variant with the best mean among those that qualify and count.
fn best(metric: Measure, variants: &[Summary], counts: impl Fn(&Summary) -> bool) -> Option<usize> {
    let better = |a: f64, b: f64| if metric.larger_is_better() { a > b } else { a < b };
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
