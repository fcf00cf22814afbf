//! The verdict in one line: the best variant, its advantage and the confidence; and if single paths
//! and several at once were compared, whether using several pays off.

use crate::comparison::Class;
use crate::quantity::{Scale, percent};
use crate::scenario::Scenario;
use crate::statistics::Interval;
use crate::summary::Summary;
use traffic::Metric;

/// Largest number of variants named individually.
const MOST_NAMED: usize = 4;

/// The verdict on variants compared with `best`: the best one, or the best single path if there are
/// multi-path variants to compare with it.
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
    let together = words.best_together(variants).filter(|_| !is_together(best));
    let mut sentences = match together {
        Some(together) => words.on_multipath(best, together, variants),
        None => words.on_rivals(best, variants),
    };
    let headline = together.unwrap_or(best);
    let place = sentences.len().min(1);
    sentences.splice(place..place, words.share_of_tcp(headline));
    if !excluded.is_empty() {
        sentences.push(format!("No verdict on {}.", excluded.join("; ")));
    }
    format!("Verdict: {}", sentences.join(" "))
}

/// Whether a variant may use several paths at once.
const fn is_together(summary: &Summary) -> bool {
    summary.variant.single_path().is_none()
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
    /// Text on the best variant, and on the next ones.
    fn on_rivals(&self, best: &Summary, variants: &[Summary]) -> Vec<String> {
        let best_is = if variants.len() == 1 { "" } else { "best is " };
        let what = self.metric.info().short;
        let (name, mean) = (self.name(best), self.mean(best));
        let mut sentences = vec![format!("{best_is}{name}: {what} {mean}.")];
        let next = self.runner_up(best, variants, |_| true);
        sentences.extend(next.map(|next| self.comparison(best, next)));
        // The best congestion control and the best path are separate questions.
        let same_path = |other: &Summary| other.variant.single_path() == best.variant.single_path();
        if next.is_some_and(same_path) {
            let next = self.runner_up(best, variants, |other| !same_path(other));
            sentences.extend(next.map(|next| self.comparison(best, next)));
        }
        sentences
    }

    /// Text on whether several paths at once are better than the best one alone, and on the
    /// variants that are not.
    fn on_multipath(
        &self,
        alone: &Summary,
        together: &Summary,
        variants: &[Summary],
    ) -> Vec<String> {
        let path = format!("{}, the best path alone", self.name(alone));
        let apparent = together.difference.as_ref().and_then(|difference| difference.interval);
        let apparent = apparent.is_some_and(|interval| !interval.includes_zero());
        let opening = match together.class {
            Some(Class::PaysOff) => "multi-path pays off",
            Some(Class::Hurts) => "multi-path hurts",
            Some(Class::NoDifference) => "multi-path makes no difference that matters",
            _ if apparent => {
                "undecided whether multi-path pays off (significant alone, not after Holm's \
                 correction for all variants; more runs may decide)"
            }
            _ => "undecided whether multi-path pays off (more runs may decide)",
        };
        let name = &together.variant.name;
        let verb = self.metric.info().verb;
        let performance = format!("{verb} {}", self.mean(together));
        let mut sentences =
            vec![format!("{opening}: {name} {performance}{}.", self.distance(together, &path))];
        let rivals = variants.iter().filter(|v| is_together(v) && v.variant != together.variant);
        let worse: Vec<String> = rivals
            .filter(|v| v.class == Some(Class::Hurts) && together.class != Some(Class::Hurts))
            .map(|v| v.variant.name.clone())
            .collect();
        match worse.len() {
            0 => {}
            1 => sentences.push(format!("But {} hurts.", worse[0])),
            2..=MOST_NAMED => sentences.push(format!("But {} hurt.", worse.join(", "))),
            many => {
                let named = worse[..MOST_NAMED - 1].join(", ");
                let others = many - (MOST_NAMED - 1);
                sentences.push(format!("But {named} and {others} others hurt."));
            }
        }
        sentences
    }

    /// Text on the share of a variant against competing TCP flows: the best variant may be the
    /// least fair.
    fn share_of_tcp(&self, summary: &Summary) -> Option<String> {
        let share = summary.fairness.as_ref()?.tcp_share?;
        let interval = share.interval.filter(|interval| interval.half_width() > 0.0);
        let ends = interval.map_or(String::new(), |Interval { low, high }| {
            format!(" (95 % interval {low:.2} to {high:.2})")
        });
        let (name, mean) = (self.name(summary), share.mean);
        Some(format!("{name} gets {mean:.2} times the goodput of a competing TCP flow{ends}."))
    }

    /// Text on the difference of a variant and its baseline.
    fn distance(&self, summary: &Summary, reference: &str) -> String {
        let Some(difference) = &summary.difference else { return String::new() };
        let by = self.scale.value(difference.mean.abs());
        let more = if difference.mean > 0.0 { "more" } else { "less" };
        let share = difference.relative.map_or(String::new(), |share| percent(share.abs()));
        let magnitude = match summary.class {
            Some(Class::PaysOff | Class::Hurts) => format!(": {}", difference.magnitude()),
            _ => String::new(),
        };
        let ends = match difference.interval {
            Some(interval) if interval.half_width() > 0.0 => self.ends(interval),
            Some(_) => "deterministic".to_owned(),
            None => "no interval".to_owned(),
        };
        format!(", {by} {more} than {reference} ({share}; {ends}){magnitude}")
    }

    /// An interval of a difference without its sign, which the text gives; with signs if it
    /// contains zero.
    fn ends(&self, interval: Interval) -> String {
        if interval.includes_zero() {
            let (low, high) = (interval.low, interval.high);
            let (low, high) = (self.scale.signed(low), self.scale.signed(high));
            return format!("95 % interval {low} to {high} {}", self.scale.unit);
        }
        let (a, b) = (interval.low.abs(), interval.high.abs());
        let ends = Interval { low: a.min(b), high: a.max(b) };
        format!("95 % interval {}", self.scale.interval(ends))
    }

    /// The best variant that uses several paths.
    fn best_together<'v>(&self, variants: &'v [Summary]) -> Option<&'v Summary> {
        let sign = if self.metric.larger_is_better() { -1.0 } else { 1.0 };
        let key = |summary: &&Summary| sign * summary.mean.unwrap_or(f64::INFINITY);
        let rivals = variants.iter().filter(|v| is_together(v) && v.qualifies());
        rivals.min_by(|a, b| key(a).total_cmp(&key(b)))
    }

    /// Text on the mean and its interval.
    fn mean(&self, summary: &Summary) -> String {
        let mean = summary.mean.map_or(String::new(), |mean| self.scale.value(mean));
        format!("{mean} on average ({})", self.certainty(summary))
    }

    fn certainty(&self, summary: &Summary) -> String {
        let runs = if summary.n == 1 { "1 run".to_owned() } else { format!("{} runs", summary.n) };
        match summary.mean_interval {
            _ if summary.deterministic => format!("{runs}, deterministic"),
            Some(interval) => format!("95 % interval {}, {runs}", self.scale.interval(interval)),
            None => format!("{runs}, no interval"),
        }
    }

    /// The nearest qualifying rival among the given variants.
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
            return format!("No comparison with {name}.");
        };
        let by = self.scale.value(difference.mean.abs());
        let share = difference.relative.map_or(String::new(), |r| percent(r.abs()));
        let (before, after) = self.metric.info().worse;
        let worse = format!("{name} {before} {by} {after}");
        match (next.class, difference.interval) {
            (Some(Class::Hurts), Some(interval)) if interval.half_width() > 0.0 => {
                format!("{worse} ({share}; {}): {}.", self.ends(interval), difference.magnitude())
            }
            (Some(Class::Hurts), _) => {
                format!("{worse} ({share}, deterministic): {}.", difference.magnitude())
            }
            (Some(Class::NoDifference), _) => {
                format!("No difference to {name} that matters ({by}, {share}).")
            }
            _ => format!(
                "Undecided against {name}: {by} ({share}) apart, not significant; more runs may \
                 distinguish it from {best}."
            ),
        }
    }

    /// The path, with the congestion control if single paths were run with several controls; for a
    /// variant over all paths, its name.
    fn name(&self, summary: &Summary) -> String {
        let path = summary.variant.single_path().and_then(|path| self.scenario.paths.get(path));
        let controls =
            self.scenario.choices.congestion.iter().filter(|control| !control.is_coupled()).count();
        match (path, controls) {
            (Some(path), 0 | 1) => path.name.clone(),
            (Some(path), _) => format!("{} with {}", path.name, summary.variant.congestion),
            (None, _) => summary.variant.name.clone(),
        }
    }
}
