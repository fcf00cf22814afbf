//! The verdict: one line a person can act on. Which variant, by how much, how sure.

use crate::path_spec::PathSpec;
use crate::quantity::{Scale, percent};
use crate::report::{Class, Summary};
use crate::scenario::Scenario;
use crate::statistics::Interval;
use traffic::Metric;

/// The verdict on variants that were compared with the best of them.
pub(crate) fn verdict(
    scenario: &Scenario,
    metric: Metric,
    variants: &[Summary],
    best: Option<usize>,
) -> String {
    let excluded: Vec<String> = variants
        .iter()
        .filter(|variant| !variant.qualifies())
        .map(|variant| format!("{}: {}", variant.variant.name, variant.disqualification()))
        .collect();
    let Some(best) = best.and_then(|index| variants.get(index)) else {
        return format!("Verdict: none. {}.", excluded.join("; "));
    };
    let words = Words { scenario, metric, scale: scale(metric, variants) };
    let mut sentences = vec![words.opening(best, variants)];
    let next = words.runner_up(best, variants, |_| true);
    sentences.extend(next.map(|next| words.comparison(best, next)));
    // Which congestion control wins is one question, which path wins the other.
    let same_path = |other: &Summary| other.variant.path == best.variant.path;
    if next.is_some_and(same_path) {
        let next = words.runner_up(best, variants, |other| !same_path(other));
        sentences.extend(next.map(|next| words.comparison(best, next)));
    }
    if !excluded.is_empty() {
        sentences.push(format!("No verdict on {}.", excluded.join("; ")));
    }
    format!("Verdict: {}", sentences.join(" "))
}

/// The scale for all means of a table.
pub fn scale(metric: Metric, variants: &[Summary]) -> Scale {
    let smallest = variants.iter().filter_map(|v| v.mean).fold(f64::INFINITY, f64::min);
    Scale::of(metric.unit(), if smallest.is_finite() { smallest } else { 0.0 })
}

struct Words<'a> {
    scenario: &'a Scenario,
    metric: Metric,
    scale: Scale,
}

impl Words<'_> {
    /// What to use and what it gives.
    fn opening(&self, best: &Summary, variants: &[Summary]) -> String {
        let name = self.name(best);
        let best_is = if variants.len() == 1 { "" } else { "best is " };
        let what = match self.metric {
            Metric::CompletionTime => "completes in",
            Metric::Goodput => "goodput",
            Metric::MessageDelay => "message delay",
        };
        let mean = best.mean.map_or(String::new(), |mean| self.scale.value(mean));
        format!("{best_is}{name}: {what} {mean} on average ({}).", self.certainty(best))
    }

    fn certainty(&self, summary: &Summary) -> String {
        let runs = if summary.n == 1 { "1 run".to_owned() } else { format!("{} runs", summary.n) };
        match summary.mean_interval {
            _ if summary.deterministic => format!("{runs}, deterministic"),
            Some(interval) => format!("95 % interval {}, {runs}", self.scale.interval(interval)),
            None => format!("{runs}, no interval"),
        }
    }

    /// The nearest rival that qualifies, among those that count.
    fn runner_up<'v>(
        &self,
        best: &Summary,
        variants: &'v [Summary],
        counts: impl Fn(&Summary) -> bool,
    ) -> Option<&'v Summary> {
        let gap = |summary: &Summary| summary.difference.as_ref().map(|d| d.mean.abs());
        variants
            .iter()
            .filter(|other| other.variant != best.variant && other.qualifies() && counts(other))
            .min_by(|a, b| {
                let far = f64::INFINITY;
                gap(a).unwrap_or(far).total_cmp(&gap(b).unwrap_or(far))
            })
    }

    fn comparison(&self, best: &Summary, next: &Summary) -> String {
        let (name, best) = (self.name(next), self.name(best));
        let Some(difference) = &next.difference else {
            return format!("Nothing can be said of {name} beside it.");
        };
        let by = self.scale.value(difference.mean.abs());
        let share = difference.relative.map_or(String::new(), |r| percent(r.abs()));
        let worse = match self.metric {
            Metric::CompletionTime => format!("{name} takes {by} longer"),
            Metric::Goodput => format!("{name} carries {by} less"),
            Metric::MessageDelay => format!("{name} delays by {by} more"),
        };
        match (next.class, difference.interval) {
            (Some(Class::Hurts), Some(interval)) if interval.half_width() > 0.0 => {
                // The sign is in the words.
                let (a, b) = (interval.low.abs(), interval.high.abs());
                let ends = Interval { low: a.min(b), high: a.max(b) };
                let ends = self.scale.interval(ends);
                format!("{worse} ({share}; 95 % interval {ends}): {}.", difference.magnitude())
            }
            (Some(Class::Hurts), _) => {
                format!("{worse} ({share}, deterministic): {}.", difference.magnitude())
            }
            (Some(Class::NoDifference), _) => {
                format!("No difference to {name} that matters ({by}, {share}).")
            }
            _ => format!(
                "Undecided against {name}: {by} ({share}) apart, within chance; more runs may \
                 tell it from {best}."
            ),
        }
    }

    /// The path, with the congestion control if there are several, and one path's own name.
    fn name(&self, summary: &Summary) -> String {
        let path = self.scenario.paths.get(summary.variant.path).map(|path: &PathSpec| &path.name);
        match (path, self.scenario.congestion.len()) {
            (Some(path), 1) => path.clone(),
            (Some(path), _) => format!("{path} with {}", summary.variant.congestion),
            (None, _) => summary.variant.name.clone(),
        }
    }
}
