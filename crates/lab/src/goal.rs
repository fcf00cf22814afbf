//! Whether a goal is met: a bound of the mean of a number over the runs, or of a share of them.
//!
//! The intervals are valid whenever the runs ended, and corrected for the number of variants that
//! might meet the goal (Bonferroni).

use crate::comparison::Comparison;
use crate::scenario::{Goal, Scenario};
use crate::statistics::{Interval, quantile, sequence_interval, share_interval};
use crate::study::{Study, VariantRuns};
use crate::summary::Summary;
use crate::unseen::unseen;

/// Error of all intervals together.
const ALPHA: f64 = 0.05;

/// Whether a goal is met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is met.
    Met,
    /// It is missed.
    Missed,
    /// More runs would tell.
    Undecided,
}

/// A variant and the goal.
#[derive(Clone, PartialEq, Debug)]
pub struct Standing {
    /// Name of the variant.
    pub variant: String,
    /// Whether it meets the goal.
    pub outcome: Outcome,
    /// The mean, or the quantile over the runs, in the unit of the number.
    pub value: Option<f64>,
    /// Its interval; of a quantile, that of the share of runs beyond the bound.
    pub interval: Option<Interval>,
}

/// A goal and every variant.
#[derive(Clone, PartialEq, Debug)]
pub struct Aim {
    /// The goal.
    pub goal: Goal,
    /// Met if any variant meets it, missed if every one misses it.
    pub outcome: Outcome,
    /// The variants in the order of the study.
    pub variants: Vec<Standing>,
    /// The variant that decides: the best of those that meet it, or else the best.
    pub best: Option<usize>,
}

impl Outcome {
    /// Name in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Met => "met",
            Outcome::Missed => "missed",
            Outcome::Undecided => "undecided",
        }
    }
}

/// The goal of a scenario after the runs of `study`; `None` without one, or without runs.
pub(crate) fn aim(scenario: &Scenario, study: &Study) -> Option<Aim> {
    let goal = scenario.goal.clone()?;
    study.metric()?;
    let comparison = Comparison { scenario, study, metric: goal.metric, seeds: &[] };
    let summaries = Summary::all_of(&comparison);
    let error = ALPHA / summaries.len().max(1) as f64;
    let standing = |(summary, runs)| standing(scenario, &goal, error, summary, runs);
    let variants: Vec<Standing> = summaries.iter().zip(&study.variants).map(standing).collect();
    let all = |outcome| variants.iter().all(|of| of.outcome == outcome);
    let any = |outcome| variants.iter().any(|of| of.outcome == outcome);
    let outcome = match () {
        () if any(Outcome::Met) => Outcome::Met,
        () if all(Outcome::Missed) => Outcome::Missed,
        () => Outcome::Undecided,
    };
    let sign = if goal.below { 1.0 } else { -1.0 };
    let key = |of: &Standing| of.value.map_or(f64::INFINITY, |value| sign * value);
    let best = variants
        .iter()
        .enumerate()
        .filter(|(_, of)| outcome != Outcome::Met || of.outcome == Outcome::Met)
        .min_by(|a, b| key(a.1).total_cmp(&key(b.1)))
        .map(|(index, _)| index);
    Some(Aim { goal, outcome, variants, best })
}

fn standing(
    scenario: &Scenario,
    goal: &Goal,
    error: f64,
    summary: &Summary,
    runs: &VariantRuns,
) -> Standing {
    let values: Vec<f64> = runs.runs.iter().filter_map(|run| run.measured(goal.metric)).collect();
    let variant = summary.variant.name.clone();
    if !summary.qualifies() && summary.incomplete > 0 {
        let (outcome, value, interval) = (Outcome::Missed, summary.mean, None);
        return Standing { variant, outcome, value, interval };
    }
    if let Some(share) = goal.quantile {
        let beyond = values.iter().filter(|value| !goal.is_kept_by(**value)).count();
        let (beyond, n) = (beyond + summary.incomplete, values.len() + summary.incomplete);
        let interval = share_interval(beyond, n, error);
        let interval = if summary.deterministic {
            Some(Interval::around(if beyond > 0 { 1.0 } else { 0.0 }, 0.0))
        } else {
            interval
        };
        let outcome = match interval {
            Some(interval) if interval.high <= 1.0 - share => Outcome::Met,
            Some(interval) if interval.low > 1.0 - share => Outcome::Missed,
            _ => Outcome::Undecided,
        };
        let mut sorted = values;
        sorted.sort_by(f64::total_cmp);
        let level = if goal.below { share } else { 1.0 - share };
        return Standing { variant, outcome, value: quantile(&sorted, level), interval };
    }
    let unseen = unseen(scenario, goal.metric, summary.mean.unwrap_or(0.0).abs());
    let interval = if summary.deterministic {
        summary.mean.map(|mean| Interval::around(mean, 0.0))
    } else {
        let possible = |of: Interval| Interval { low: of.low.max(0.0), high: of.high };
        sequence_interval(&values, error, unseen).map(possible)
    };
    let outcome = match interval.map(|of| [of.low, of.high].map(|end| goal.is_kept_by(end))) {
        Some([true, true]) => Outcome::Met,
        Some([false, false]) => Outcome::Missed,
        _ => Outcome::Undecided,
    };
    Standing { variant, outcome, value: summary.mean, interval }
}

impl Goal {
    /// Whether this value is on the right side of the bound.
    fn is_kept_by(&self, value: f64) -> bool {
        if self.below { value <= self.bound } else { value >= self.bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::study_of;
    use crate::scenario::{Key, Options};

    /// Two variants with these values, judged by `goal`.
    fn aim_of(goal: &str, values: [&[f64]; 2]) -> Aim {
        let options = Options::default()
            .with(Key::Path, "a=rate 5mbit loss 1%")
            .with(Key::Path, "b=rate 5mbit loss 1%")
            .with(Key::Protocols, "tcp")
            .with(Key::Traffic, "bulk:1MiB")
            .with(Key::Goal, goal);
        let scenario = options.resolve().unwrap();
        aim(&scenario, &study_of(&scenario, &values)).unwrap()
    }

    fn outcomes(aim: &Aim) -> Vec<&'static str> {
        let outcomes = aim.variants.iter().map(|of| of.outcome.name());
        [aim.outcome.name()].into_iter().chain(outcomes).collect()
    }

    #[test]
    fn goal_is_met_if_a_variant_meets_it_and_missed_if_all_miss_it() {
        let (fast, slow) = ([1.0, 1.1].repeat(20), [9.0, 9.1].repeat(20));
        let aim = aim_of("completion_time < 5s", [&slow, &fast]);
        assert_eq!((outcomes(&aim), aim.best), (vec!["met", "missed", "met"], Some(1)));
        let aim = aim_of("completion_time < 500ms", [&slow, &fast]);
        assert_eq!((outcomes(&aim), aim.best), (vec!["missed"; 3], Some(1)));
        let aim = aim_of("completion_time < 1.05s", [&slow, &fast]);
        assert_eq!(outcomes(&aim), ["undecided", "missed", "undecided"]);
        assert_eq!(outcomes(&aim_of("goodput > 5mbit", [&slow, &fast])), ["met", "missed", "met"]);
    }

    #[test]
    fn quantile_over_runs_needs_enough_of_them() {
        let good = [1.0, 1.1].repeat(20);
        let aim = aim_of("p95 completion_time < 2s", [&good, &good]);
        assert_eq!(aim.outcome, Outcome::Undecided, "40 runs without a late one show too little");
        let many = good.repeat(10);
        assert_eq!(aim_of("p95 completion_time < 2s", [&many, &many]).outcome, Outcome::Met);
        let bad = [1.0, 1.0, 1.0, 9.0].repeat(20);
        let aim = aim_of("p95 completion_time < 2s", [&bad, &bad]);
        assert_eq!((aim.outcome, aim.variants[0].value), (Outcome::Missed, Some(9.0)));
    }
}
