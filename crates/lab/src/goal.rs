//! Whether a goal is met: a bound of the mean of a number over the runs, or of a share of them.
//!
//! The intervals are valid whenever the runs ended, and corrected for the number of variants that
//! might meet the goal (Bonferroni).

use crate::comparison::Comparison;
use crate::scenario::{Goal, Scenario};
use crate::statistics::{Interval, quantile, sequence_interval, share_interval};
use crate::study::{Study, VariantRuns};
use crate::summary::Summary;
use crate::unseen::{mean_bytes, unseen};

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
    /// The mean, or the quantile over the runs, in the unit of the number; `None` where it depends
    /// on runs that did not finish.
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
    /// The variants in the order of the study, without those whose runs finished without a value.
    pub variants: Vec<Standing>,
    /// The number of those.
    pub valueless: usize,
    /// The variant that decides: the best of those that meet it, or else of those that may, or else
    /// of all.
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

    /// Order of variants by how near they are to the goal.
    const fn rank(self) -> u8 {
        match self {
            Outcome::Met => 0,
            Outcome::Undecided => 1,
            Outcome::Missed => 2,
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
    let has_value = |(summary, _): &(&Summary, &VariantRuns)| {
        summary.mean.is_some() || summary.unfinished() > 0 || summary.unmeasured == 0
    };
    let judged = summaries.iter().zip(&study.variants).filter(has_value);
    let variants: Vec<Standing> = judged.map(standing).collect();
    let valueless = summaries.len() - variants.len();
    let all = |outcome| !variants.is_empty() && variants.iter().all(|of| of.outcome == outcome);
    let any = |outcome| variants.iter().any(|of| of.outcome == outcome);
    let outcome = match () {
        () if any(Outcome::Met) => Outcome::Met,
        () if all(Outcome::Missed) => Outcome::Missed,
        () => Outcome::Undecided,
    };
    let sign = if goal.below { 1.0 } else { -1.0 };
    let key = |of: &Standing| of.value.map_or(f64::INFINITY, |value| sign * value);
    let order = |a: &Standing, b: &Standing| {
        a.outcome.rank().cmp(&b.outcome.rank()).then(key(a).total_cmp(&key(b)))
    };
    let best = variants.iter().enumerate().min_by(|a, b| order(a.1, b.1)).map(|(index, _)| index);
    Some(Aim { goal, outcome, variants, valueless, best })
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
    if let Some(share) = goal.quantile {
        let is_certain = summary.deterministic || values.is_empty() && !runs.is_random(scenario);
        let runs = Shared { values, unfinished: summary.unfinished(), is_certain };
        let (outcome, interval) = runs.outcome(goal, share, error);
        return Standing { variant, outcome, value: runs.quantile(goal, share), interval };
    }
    if !summary.qualifies() && summary.unfinished() > 0 {
        // The mean of the runs that finished is not that of the runs.
        let outcome = Outcome::Missed;
        return Standing { variant, outcome, value: None, interval: None };
    }
    let mean = summary.mean.unwrap_or(0.0).abs();
    let bytes = mean_bytes(runs.runs.iter());
    let unseen = unseen(scenario, [&runs.variant].into_iter(), goal.metric, (mean, bytes));
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

/// The runs of a variant, of which a share is to keep the bound.
struct Shared {
    /// Those that finished.
    values: Vec<f64>,
    /// The number of the others, which do not keep it.
    unfinished: usize,
    /// All runs are equal, and nothing in the scenario is random.
    is_certain: bool,
}

impl Shared {
    /// Whether this share of the runs keeps the bound, and the interval of that of the others.
    fn outcome(&self, goal: &Goal, share: f64, error: f64) -> (Outcome, Option<Interval>) {
        let late = self.values.iter().filter(|value| !goal.is_kept_by(**value)).count();
        let (beyond, n) = (late + self.unfinished, self.values.len() + self.unfinished);
        let interval = if self.is_certain && n > 0 {
            Some(Interval::around(if beyond > 0 { 1.0 } else { 0.0 }, 0.0))
        } else {
            share_interval(beyond, n, error)
        };
        let outcome = match interval {
            Some(interval) if interval.high <= 1.0 - share => Outcome::Met,
            Some(interval) if interval.low > 1.0 - share => Outcome::Missed,
            _ => Outcome::Undecided,
        };
        (outcome, interval)
    }

    /// The quantile, with runs that did not finish beyond every value; `None` if it is among them.
    fn quantile(&self, goal: &Goal, share: f64) -> Option<f64> {
        let beyond = if goal.below { f64::INFINITY } else { f64::NEG_INFINITY };
        let mut sorted = self.values.clone();
        sorted.extend(std::iter::repeat_n(beyond, self.unfinished));
        sorted.sort_by(f64::total_cmp);
        let level = if goal.below { share } else { 1.0 - share };
        quantile(&sorted, level).filter(|value| value.is_finite())
    }
}

impl Goal {
    /// Whether this value is on the right side of the bound.
    fn is_kept_by(&self, value: f64) -> bool {
        match (self.below, self.strict) {
            (true, false) => value <= self.bound,
            (true, true) => value < self.bound,
            (false, false) => value >= self.bound,
            (false, true) => value > self.bound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::study_of;
    use crate::scenario::{Key, Options};

    /// Two variants with these values, judged by `goal`.
    fn aim_of(goal: &str, values: [&[f64]; 2]) -> Aim {
        let finished = values.map(|of| of.iter().copied().map(Some).collect());
        aim_over("rate 5mbit loss 1%", goal, finished)
    }

    /// The same over two paths like this one, with runs that did not finish.
    fn aim_over(path: &str, goal: &str, values: [Vec<Option<f64>>; 2]) -> Aim {
        let options = Options::default()
            .with(Key::Path, &format!("a={path}"))
            .with(Key::Path, &format!("b={path}"))
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

    /// Regression: `<` and `>` were met at the bound itself.
    #[test]
    fn bound_itself_meets_the_goal_only_where_it_is_included() {
        let outcome_of = |goal: &str| {
            let equal = || vec![Some(2.0); 20];
            aim_over("rate 5mbit", goal, [equal(), equal()]).outcome.name()
        };
        for (sign, outcome) in [("<", "missed"), (">", "missed"), ("<=", "met"), (">=", "met")] {
            let goal = format!("completion_time {sign} 2s");
            assert_eq!(outcome_of(&goal), outcome, "{goal}");
            assert_eq!(outcome_of(&format!("median {goal}")), outcome, "median {goal}");
        }
        for goal in ["completion_time < 2.001s", "completion_time > 1.999s"] {
            assert_eq!(outcome_of(goal), "met", "{goal}");
        }
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

    /// Regression: more than 5 % of unfinished runs missed every goal, and the mean of the others
    /// was given as the quantile.
    #[test]
    fn unfinished_runs_count_as_runs_beyond_a_quantile() {
        let with = |finished: &[f64], unfinished: usize| -> Vec<Option<f64>> {
            let finished = finished.iter().copied().map(Some);
            finished.chain(std::iter::repeat_n(None, unfinished)).collect()
        };
        let (most, few) = ([1.0, 1.1].repeat(45), [1.3].repeat(20));
        let of = |goal, unfinished| {
            let values = [with(&most, unfinished), with(&few, 0)];
            aim_over("rate 5mbit loss 1%", goal, values)
        };
        let median = of("median completion_time < 1.5s", 10);
        assert_eq!((median.variants[0].outcome, median.best), (Outcome::Met, Some(0)));
        assert_eq!(median.variants[0].value, Some(1.1), "50 of 100 runs are at most that late");
        let rate = of("median goodput > 1kbit", 10).variants.swap_remove(0);
        assert_eq!(rate.outcome, Outcome::Met);
        assert!(rate.value.is_some_and(f64::is_finite), "{rate:?}");
        // 40 of 130 runs did not finish.
        let p95 = of("p95 completion_time < 1.5s", 40);
        let [missed, open] = &p95.variants[..] else { panic!("two variants") };
        assert_eq!((missed.outcome, missed.value), (Outcome::Missed, None));
        assert_eq!((open.outcome, p95.best), (Outcome::Undecided, Some(1)), "it may meet the goal");
        assert!(missed.interval.is_some_and(|of| of.low > 0.05 && of.high < 1.0), "{missed:?}");
        let mean = of("completion_time < 1.5s", 40).variants.swap_remove(0);
        assert_eq!((mean.outcome, mean.value), (Outcome::Missed, None), "no mean of all runs");
    }

    /// Regression: a variant over a path that never fails missed a goal on the time after failures.
    #[test]
    fn variant_whose_runs_have_no_value_neither_meets_nor_misses_a_goal() {
        let options = Options::default()
            .with(Key::Path, "a=rate 5mbit loss 1% silent @1s..2s")
            .with(Key::Path, "b=rate 5mbit loss 1%")
            .with(Key::Protocols, "tcp")
            .with(Key::Traffic, "bulk:1MiB");
        let aim_for = |goal: &str, failures: [Option<f64>; 2]| {
            let scenario = options.clone().with(Key::Goal, goal).resolve().unwrap();
            let values = vec![Some(1.0); 20];
            let mut study = study_of(&scenario, &[values.clone(), values]);
            for (of, time) in study.variants.iter_mut().zip(failures) {
                let Some(time) = time else { continue };
                for run in &mut of.runs {
                    run.extra.push(("failover_time".to_owned(), time));
                    run.extra.push(("failovers_unresumed".to_owned(), 0.0));
                }
            }
            aim(&scenario, &study).unwrap()
        };
        let aim = aim_for("failover < 200ms", [Some(0.9), None]);
        assert_eq!((outcomes(&aim), aim.valueless), (vec!["missed", "missed"], 1));
        let said = crate::verdict::on_goal(&aim);
        assert!(said.contains("missed by every variant with a value; tcp/a/cubic"), "{said}");
        let none = aim_for("failover < 1s", [None, None]);
        assert_eq!((outcomes(&none), none.best, none.valueless), (vec!["undecided"], None, 2));
        let said = crate::verdict::on_goal(&none);
        assert_eq!(said, "Goal failover < 1s: no variant has a value.");
    }

    /// Regression: of a rate, 95 % of the runs were said to be below the 5 % quantile.
    #[test]
    fn quantile_of_what_is_better_if_larger_is_a_least_value() {
        let values = [1.0, 1.1, 1.2, 1.3].repeat(20);
        let said = crate::verdict::on_goal(&aim_of("p95 goodput > 5mbit", [&values, &values]));
        assert!(said.contains("95 % of the runs at or above"), "{said}");
        let said = crate::verdict::on_goal(&aim_of("p95 completion_time < 2s", [&values, &values]));
        assert!(said.contains("95 % of the runs within"), "{said}");
    }
}
