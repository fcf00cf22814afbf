//! The variants that others are compared with, in the table and in the verdict: one for each family
//! of protocols.

use crate::comparison::Series;
use crate::scenario::{Baseline, Family, Protocol, Scenario};
use crate::summary::Summary;
use traffic::Measure;

/// Whether a variant shows what a path can do alone. UDP does not: it loses what others deliver.
fn is_alone(summary: &Summary) -> bool {
    summary.variant.single_path().is_some() && !is_udp(summary)
}

fn is_udp(summary: &Summary) -> bool {
    summary.variant.protocol() == Protocol::Udp
}

/// The best variant over a single path, or else the best of all; UDP only beside nothing else.
fn reference(metric: Measure, variants: &[Summary]) -> Option<usize> {
    let alone = best(metric, variants, is_alone);
    let only_udp = variants.iter().all(is_udp);
    alone.or_else(|| best(metric, variants, |variant| only_udp || !is_udp(variant)))
}

/// The reference of each variant; `None` if no variant qualifies. Where variants over several paths
/// are of one of two families, each family has its best single path, or else that of both.
pub(crate) fn references(metric: Measure, variants: &[Summary]) -> Option<Vec<usize>> {
    let common = reference(metric, variants)?;
    let of = |family: Family| {
        let own = |v: &Summary| is_alone(v) && v.variant.family() == family;
        best(metric, variants, own).unwrap_or(common)
    };
    let is_split = has_families(variants);
    let of_each = Family::ALL.map(|family| (family, if is_split { of(family) } else { common }));
    let one = |variant: &Summary| {
        let mine = of_each.iter().find(|(family, _)| *family == variant.variant.family());
        mine.map_or(common, |(_, reference)| *reference)
    };
    Some(variants.iter().map(one).collect())
}

/// Whether each family has a reference of its own: both are there, and some variant may use several
/// paths.
fn has_families(variants: &[Summary]) -> bool {
    let several = Family::ALL.iter().all(|family| {
        let is_in = |v: &Summary| v.variant.family() == *family;
        variants.iter().any(is_in)
    });
    several && variants.iter().any(|v| v.variant.single_path().is_none())
}

/// The variant with the best mean.
pub(crate) fn best_of_all(metric: Measure, variants: &[Summary]) -> Option<usize> {
    best(metric, variants, |_| true)
}

/// Baseline of each variant of the table; empty without any.
pub(crate) fn baselines(
    scenario: &Scenario,
    variants: &[Summary],
    references: &[usize],
) -> Vec<Series> {
    match &scenario.baseline {
        Baseline::Best => references.iter().copied().map(Series::Variant).collect(),
        Baseline::Average => {
            let is_split = has_families(variants);
            let has_alone = |family: Family| {
                let mut alone = variants.iter().filter(|v| is_alone(v));
                alone.any(|v| v.variant.family() == family)
            };
            let family = |v: &Summary| Some(v.variant.family()).filter(|of| has_alone(*of));
            let one = |v: &Summary| Series::Average(family(v).filter(|_| is_split));
            variants.iter().map(one).collect()
        }
        Baseline::Named(name) => {
            let found = variants.iter().position(|v| v.variant.name == *name);
            found.map_or(Vec::new(), |found| vec![Series::Variant(found); variants.len()])
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
