//! The stopping rule of `--runs auto`.
//!
//! Repetitions continue until the answer is known: the class of the best variant over several paths
//! against the best single path. The intervals are confidence sequences, so looking after every
//! round costs no coverage. The rule depends on complete repetitions alone: any number of threads
//! and any interruption lead to the same repetitions.

use crate::answer::{Judged, Open, judged_so_far};
use crate::comparison::Class;
use crate::goal::{Aim, Outcome, aim};
use crate::scenario::{DEFAULT_RUNS, Runs, Scenario};
use crate::study::Study;
use crate::summary::Summary;

/// Smallest number of repetitions added at a time.
const LEAST_STEP: u32 = 10;

/// Number of repetitions of the first round.
pub(crate) fn first(scenario: &Scenario) -> u32 {
    match scenario.runs {
        Runs::Fixed(runs) => runs,
        // Without randomness all repetitions are equal.
        Runs::Auto { .. } if !scenario.is_random() => 1,
        Runs::Auto { most } => DEFAULT_RUNS.min(most),
    }
}

/// Number of repetitions of the next round after `done` repetitions; `None` if the answer is known
/// or there may be no more.
pub(crate) fn next(scenario: &Scenario, open: Option<&Open>, done: u32) -> Option<u32> {
    let Runs::Auto { most } = scenario.runs else { return None };
    open.filter(|_| done < most)?;
    Some((done + done / 2).max(done + LEAST_STEP).min(most))
}

/// What is not known yet; `None` if the answer is known, or no variant qualifies for one.
pub(crate) fn open(scenario: &Scenario, study: &Study) -> Option<Open> {
    let (_, judged) = judged_so_far(scenario, study)?;
    of_answer(scenario, &judged).or_else(|| of_goal(&aim(scenario, study)?))
}

/// The goal, if it is undecided.
fn of_goal(aim: &Aim) -> Option<Open> {
    let best = aim.variants.get(aim.best?).filter(|_| aim.outcome == Outcome::Undecided)?;
    let share = |end: f64| (end - aim.goal.bound) / aim.goal.bound;
    let interval = best.interval.filter(|_| aim.goal.quantile.is_none() && aim.goal.bound > 0.0);
    Some(Open {
        variant: best.variant.clone(),
        baseline: None,
        low: interval.map_or(f64::NEG_INFINITY, |of| share(of.low)),
        high: interval.map_or(f64::INFINITY, |of| share(of.high)),
    })
}

/// What is not known of the answer.
fn of_answer(scenario: &Scenario, judged: &Judged) -> Option<Open> {
    let reference = &judged.variants[judged.reference?];
    let mean = reference.mean?;
    let Some(deciding) = judged.deciding() else { return only(scenario, judged, reference) };
    if deciding.class.is_some_and(|class| class != Class::Undecided) {
        return None;
    }
    let interval = deciding.difference.as_ref().and_then(|difference| difference.interval);
    // A share of late messages may be zero.
    let share = |end: f64| if end == 0.0 { 0.0 } else { end / mean.abs() };
    Some(Open {
        variant: deciding.variant.name.clone(),
        baseline: Some(reference.variant.name.clone()),
        low: interval.map_or(f64::NEG_INFINITY, |interval| share(interval.low)),
        high: interval.map_or(f64::INFINITY, |interval| share(interval.high)),
    })
}

/// Without a comparison: the mean, until it is known to the difference that matters.
fn only(scenario: &Scenario, judged: &Judged, alone: &Summary) -> Option<Open> {
    let mean = alone.mean?;
    let half = alone.mean_interval.map_or(f64::INFINITY, |interval| interval.half_width() / mean);
    (judged.variants.len() == 1 && half > scenario.matters.0.max(0.01)).then(|| Open {
        variant: alone.variant.name.clone(),
        baseline: None,
        low: -half,
        high: half,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Stopped;
    use crate::run::{Drops, Run};
    use crate::scenario::{Key, Options, variants_of};
    use crate::study::VariantRuns;
    use traffic::Metric;

    fn scenario(loss: &str, most: &str) -> Scenario {
        let options = Options::default()
            .with(Key::Path, &format!("a=rate 5mbit{loss}"))
            .with(Key::Path, &format!("b=rate 5mbit{loss}"))
            .with(Key::Traffic, "bulk:4MiB")
            .with(Key::Protocols, "tcp")
            .with(Key::Runs, "auto")
            .with(Key::RunsMax, most);
        options.resolve().unwrap()
    }

    fn run(number: usize, value: Option<f64>) -> Run {
        Run {
            number: number as u64,
            metric: Metric::CompletionTime,
            value,
            extra: Vec::new(),
            histograms: Vec::new(),
            parts: 0,
            ended: 1.0,
            bytes_read: 0,
            data_packets: 0,
            retransmitted_segs: 0,
            reinjected_bytes: 0,
            duplicate_bytes: 0,
            sacks: None,
            first_sent_bytes: vec![0, 0],
            repeated: Vec::new(),
            account: None,
            drops: Drops::default(),
            failure: None,
            hash: [7; 32],
        }
    }

    /// Two variants whose difference spreads by `spread` around 1, the baseline's mean being 10.
    fn study(scenario: &Scenario, n: usize, spread: f64) -> Study {
        let value = |variant: usize, i: usize| match variant {
            0 => 10.0,
            _ => 11.0 + if i.is_multiple_of(2) { spread } else { -spread },
        };
        let variants = variants_of(scenario).into_iter().enumerate();
        let runs = |variant| (0..n).map(|i| run(i, Some(value(variant, i)))).collect();
        let variants = variants.map(|(v, variant)| VariantRuns { variant, runs: runs(v) });
        Study { variants: variants.collect(), interrupted: false, stopped: Stopped::Runs }
    }

    fn next_after(scenario: &Scenario, study: &Study, done: u32) -> Option<u32> {
        next(scenario, open(scenario, study).as_ref(), done)
    }

    #[test]
    fn repetitions_go_on_until_the_class_is_known() {
        let scenario = scenario(" loss 1%", "1000");
        assert_eq!(first(&scenario), 20);
        // 1 above 10, of which 0.5 matters: the interval has to end above 0.5.
        assert_eq!(next_after(&scenario, &study(&scenario, 20, 0.2), 20), None);
        let open = open(&scenario, &study(&scenario, 20, 2.0)).unwrap();
        assert!(open.low < 0.05 && open.high > 0.15, "{open:?}");
        assert_eq!(open.baseline.as_deref(), Some("tcp/a/cubic"));
        assert_eq!(next(&scenario, Some(&open), 12), Some(22), "no fewer than ten more");
        assert_eq!(next(&scenario, Some(&open), 60), Some(90));
    }

    #[test]
    fn runs_max_ends_it() {
        let scenario = scenario(" loss 1%", "30");
        assert_eq!(next_after(&scenario, &study(&scenario, 20, 9.0), 20), Some(30));
        assert_eq!(next_after(&scenario, &study(&scenario, 30, 9.0), 30), None);
        assert_eq!(first(&self::scenario(" loss 1%", "7")), 7);
    }

    /// Regression: without a late message on the best path the repetitions ended unanswered.
    #[test]
    fn baseline_of_zero_does_not_end_it() {
        let scenario = scenario(" loss 1%", "1000");
        let mut study = study(&scenario, 20, 0.0);
        for (variant, of) in study.variants.iter_mut().enumerate() {
            let late = |run: &mut Run| run.value = Some(if variant == 0 { 0.0 } else { 0.01 });
            of.runs.iter_mut().for_each(late);
        }
        assert!(open(&scenario, &study).is_some());
    }

    #[test]
    fn without_chance_one_repetition_is_enough() {
        let scenario = scenario("", "1000");
        assert_eq!(first(&scenario), 1);
        assert_eq!(next_after(&scenario, &study(&scenario, 1, 0.0), 1), None);
    }

    #[test]
    fn variants_without_a_verdict_do_not_prolong_it() {
        let scenario = scenario(" loss 1%", "1000");
        let mut study = study(&scenario, 20, 9.0);
        for run in &mut study.variants[1].runs {
            run.value = None;
        }
        assert_eq!(next_after(&scenario, &study, 20), None, "the other one does not spread");
        for run in &mut study.variants[0].runs {
            run.value = None;
        }
        assert_eq!(open(&scenario, &study), None);
    }

    /// Regression: a variant far behind the best one prolonged a study by a thousand repetitions.
    #[test]
    fn hopeless_variant_does_not_prolong_it() {
        let options = Options::default()
            .with(Key::Path, "a=rate 5mbit loss 1%")
            .with(Key::Path, "b=rate 5mbit loss 1%")
            .with(Key::Traffic, "bulk:4MiB")
            .with(Key::Schedulers, "lrf,redundant");
        let scenario = options.resolve().unwrap();
        let centre = [10.0, 12.0, 6.0, 40.0];
        let runs = |variant: usize| {
            let spread = if variant == 3 { 30.0 } else { 0.5 };
            let value =
                |i: usize| centre[variant] + if i.is_multiple_of(2) { spread } else { -spread };
            (0..20).map(|i| run(i, Some(value(i)))).collect()
        };
        let variants = variants_of(&scenario).into_iter().enumerate();
        let variants = variants.map(|(v, variant)| VariantRuns { variant, runs: runs(v) });
        let study =
            Study { variants: variants.collect(), interrupted: false, stopped: Stopped::Runs };
        assert_eq!(open(&scenario, &study), None);
    }
}
