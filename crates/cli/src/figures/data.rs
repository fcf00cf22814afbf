//! What figures show: the variants of a results folder with their values, delays and rates.

use super::drawing::Style;
use crate::report::palette::{of_path, of_variant};
use lab::comparison::margin;
use lab::delays::VariantDelays;
use lab::results::StoredStudy;
use lab::run::{Ccdf, Counted, Run};
use lab::scenario::Family;
use lab::series::Quantity;
use lab::statistics::Interval;
use lab::{Scale, Summary};
use traffic::Measure;

/// Most points of a curve.
const MOST_POINTS: usize = 1_000;

/// The variants of one or several folders.
pub(crate) struct Shown {
    pub metric: Measure,
    /// The delays are those of a page's objects.
    pub has_objects: bool,
    pub variants: Vec<ShownVariant>,
    /// What differences are from: the baseline, or that of each family of protocols.
    pub baselines: String,
    /// Smallest difference from the only baseline that matters, in the metric's unit.
    pub margin: Option<f64>,
}

/// A path with its style and its rate over time.
pub(crate) type Rate = (String, Style, Vec<(f64, f64)>);

/// A distribution of packets: what is counted, the path's name, and the curve.
pub(crate) type Packets = (Counted, Option<String>, Curve);

/// A variant.
pub(crate) struct ShownVariant {
    pub name: String,
    pub look: Style,
    /// Values of the finished repetitions.
    pub values: Vec<f64>,
    pub mean: Option<f64>,
    pub mean_interval: Option<Interval>,
    /// Difference from the baseline and the interval that decides.
    pub difference: Option<(f64, Option<Interval>)>,
    /// Sorted delays of its messages or objects, and of those of each path.
    pub delays: Curve,
    pub of_paths: Vec<(String, Style, Curve)>,
    /// Distributions of its packets.
    pub packets: Vec<Packets>,
    /// Rate of each path in a repetition: end of the interval in seconds, and bit/s.
    pub rates: Vec<Rate>,
}

/// A distribution.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Curve {
    /// Values in order of size, each with the share of all that is at most as large.
    pub points: Vec<(f64, f64)>,
    /// Values beyond every other one: messages that did not arrive.
    pub missing: usize,
}

impl Curve {
    pub(super) fn of(values: &[f64]) -> Curve {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let all = sorted.len() as f64;
        let points = sorted.into_iter().zip(1..);
        let points = points.map(|(value, place)| (value, f64::from(place) / all)).collect();
        Curve { points, missing: 0 }
    }

    fn of_delays(delays: &VariantDelays) -> Curve {
        Curve { points: delays.distribution(MOST_POINTS), missing: delays.missing() }
    }

    /// The ends of buckets with the share below them; zero, as most delays by reordering are,
    /// stands for itself.
    fn of_packets(ccdf: &Ccdf) -> Curve {
        let ends = ccdf.points.iter().skip(1).copied().chain([(ccdf.end, 0.0)]);
        let both = ccdf.points.iter().zip(ends);
        let point = |((low, _), (end, left)): (&(f64, f64), (f64, f64))| {
            (if *low == 0.0 { 0.0 } else { end }, 1.0 - left)
        };
        Curve { points: both.map(point).collect(), missing: 0 }
    }

    /// The smallest value with half of all below it, or the largest one.
    pub(super) fn median(&self) -> Option<f64> {
        let middle = self.points.iter().find(|(_, share)| *share >= 0.5);
        middle.or(self.points.last()).map(|(value, _)| *value)
    }
}

impl Shown {
    /// The variants of a folder.
    pub(crate) fn of(stored: &StoredStudy) -> Shown {
        let report = &stored.report;
        let delays = stored.delays.of_study(&stored.study);
        let variant = |(summary, runs): (&Summary, &lab::VariantRuns)| {
            let name = &summary.variant.name;
            let own = delays.iter().find(|of| of.variant == *name);
            let difference = summary.difference.as_ref();
            ShownVariant {
                name: name.clone(),
                look: Style::of(of_variant(&stored.scenario, &summary.variant)),
                values: runs.runs.iter().filter_map(|run| run.measured(report.metric)).collect(),
                mean: summary.mean,
                mean_interval: summary.mean_interval,
                difference: difference.map(|of| (of.mean, of.interval)),
                delays: own.map(Curve::of_delays).unwrap_or_default(),
                of_paths: own.map_or(Vec::new(), |own| of_paths(stored, own)),
                packets: packets(stored, &runs.runs),
                rates: rates(stored, name),
            }
        };
        let both = report.variants.iter().zip(&stored.study.variants);
        let mut variants: Vec<ShownVariant> = both.map(variant).collect();
        for index in 1..variants.len() {
            let (before, own) = variants.split_at_mut(index);
            let own = &mut own[0].look;
            // Variants of combined folders may have the same style otherwise.
            let is_taken = |look: &Style| before.iter().any(|of| of.look == *look);
            *own = own.others().find(|look| !is_taken(look)).unwrap_or(*own);
        }
        let is_baseline = |of: &&ShownVariant| Some(&of.name) == report.baseline.as_ref();
        let reference = variants.iter().find(is_baseline).and_then(|of| of.mean);
        let (baselines, is_one) = baselines(&report.variants);
        let margin = reference
            .filter(|_| is_one)
            .map(|mean| margin(&stored.scenario, report.metric, mean))
            .filter(|m| *m > 0.0);
        let has_objects = stored.scenario.traffic.metric().has_objects();
        Shown { metric: report.metric, has_objects, variants, baselines, margin }
    }

    /// The scale of the metric.
    pub(super) fn scale(&self) -> Scale {
        let means = self.variants.iter().filter_map(|of| of.mean).filter(|mean| *mean > 0.0);
        let smallest = means.fold(f64::INFINITY, f64::min);
        Scale::of(self.metric.unit(), if smallest.is_finite() { smallest } else { 0.0 })
    }

    /// Name and unit of the metric.
    pub(super) fn label(&self) -> String {
        format!("{} ({})", self.metric.name().replace('_', " "), self.scale().unit)
    }
}

/// Names of the baselines, the first one without its family, and whether there is only one.
fn baselines(variants: &[Summary]) -> (String, bool) {
    let mut all: Vec<(&str, Family)> = Vec::new();
    for summary in variants {
        let Some(name) = summary.baseline.as_deref() else { continue };
        if all.iter().all(|(known, _)| *known != name) {
            all.push((name, summary.variant.family()));
        }
    }
    let further = |(name, family): &(&str, Family)| match family {
        Family::Tcp => format!(", of TCP from {name}"),
        Family::Sctp => format!(", of SCTP from {name}"),
    };
    let Some((first, _)) = all.first() else { return ("the baseline".to_owned(), true) };
    let rest: String = all.iter().skip(1).map(further).collect();
    (format!("{first}{rest}"), all.len() == 1)
}

/// The delays by the path of their last byte, where several are known.
fn of_paths(stored: &StoredStudy, own: &VariantDelays) -> Vec<(String, Style, Curve)> {
    let paths = stored.scenario.paths.iter().enumerate();
    let of = |(index, path): (usize, &lab::path_spec::PathSpec)| {
        let is_on = |path: Option<u16>| path.is_some_and(|path| usize::from(path) == index);
        let delays = own.delays.iter().filter(|one| is_on(one.last_path)).copied();
        let (variant, delays) = (own.variant.clone(), delays.collect());
        let part = VariantDelays { variant, total: own.total, delays };
        let curve = Curve::of_delays(&part);
        (!curve.points.is_empty()).then(|| (path.name.clone(), Style::of(of_path(index)), curve))
    };
    let found: Vec<_> = paths.filter_map(of).collect();
    if found.len() > 1 { found } else { Vec::new() }
}

fn packets(stored: &StoredStudy, runs: &[Run]) -> Vec<Packets> {
    let path = |of: &Ccdf| Some(stored.scenario.paths.get(of.path?)?.name.clone());
    let all = Ccdf::all_of(runs).into_iter();
    all.map(|of| (of.of, path(&of), Curve::of_packets(&of))).collect()
}

fn rates(stored: &StoredStudy, name: &str) -> Vec<Rate> {
    let own = stored.series.iter().filter(|of| of.variant == name);
    let rates = own.flat_map(|of| &of.series).filter(|one| one.quantity == Quantity::Brought);
    let rate = |one: &lab::series::Series| {
        let path = one.path?;
        let name = stored.scenario.paths.get(path)?.name.clone();
        Some((name, Style::of(of_path(path)), one.seconds().collect()))
    };
    rates.filter_map(rate).collect()
}
