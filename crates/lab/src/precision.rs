//! The stopping rule of `--runs auto`.
//!
//! Repetitions continue until the half-width of the 95 % interval of every paired difference is at
//! most 5 % of the baseline's mean. Holm's correction widens an interval less than twofold for
//! tables of readable size, so it stays within the 10 % of a relevant difference, and every
//! comparison is decided. The rule uses widths only, never the sign of a difference, so it does not
//! continue until something is significant. It depends on results alone: any number of threads and
//! any interruption lead to the same repetitions.

use crate::comparison::{Comparison, Series};
use crate::reference::{baseline, reference};
use crate::scenario::{DEFAULT_RUNS, Runs, Scenario};
use crate::statistics::paired;
use crate::study::Study;
use crate::summary::Summary;

/// Target half-width, as a share of the baseline's mean.
pub(crate) const TARGET: f64 = 0.05;
/// Smallest number of repetitions added at a time: the width of an interval is itself an estimate.
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

/// Number of repetitions of the next round after `done` repetitions; `None` if these are enough.
pub(crate) fn next(scenario: &Scenario, study: &Study, done: u32) -> Option<u32> {
    let Runs::Auto { most } = scenario.runs else { return None };
    if done >= most {
        return None;
    }
    let missing = widest(scenario, study).filter(|width| *width > TARGET)? / TARGET;
    // The width falls with the square root of the number; growth is limited, because an estimate
    // from few runs is uncertain.
    let needed = f64::from(done) * missing * missing;
    let needed = if needed < f64::from(u32::MAX) { needed.ceil() as u32 } else { u32::MAX };
    let doubled = done.saturating_mul(2).max(done + LEAST_STEP);
    Some(needed.clamp(done + LEAST_STEP, doubled).min(most))
}

/// The result of `widest` with `--runs auto`.
pub(crate) fn reached(scenario: &Scenario, study: &Study) -> Option<f64> {
    matches!(scenario.runs, Runs::Auto { .. }).then(|| widest(scenario, study)).flatten()
}

/// The widest half-width of a difference as a share of the mean of its baseline; without a
/// comparison, of a mean as a share of itself. `None` if no variant qualifies.
pub(crate) fn widest(scenario: &Scenario, study: &Study) -> Option<f64> {
    let metric = study.metric()?;
    let comparison = Comparison { scenario, study, metric };
    let variants: Vec<Summary> =
        study.variants.iter().map(|runs| Summary::without_resamples(scenario, runs)).collect();
    let reference = reference(metric, &variants);
    let table = baseline(scenario, &variants, reference);
    // The verdict has its own baseline.
    let verdict = reference.map(Series::Variant).filter(|series| Some(*series) != table);
    let mut widths: Vec<f64> = Vec::new();
    for with in table.into_iter().chain(verdict) {
        let others = (0..variants.len()).filter(|i| with != Series::Variant(*i));
        let qualified = others.filter(|index| variants[*index].qualifies());
        widths.extend(qualified.filter_map(|index| width(&comparison, index, with)));
    }
    if widths.is_empty() {
        let alone = variants.iter().filter(|variant| variant.qualifies());
        widths.extend(alone.filter_map(|variant| {
            Some(variant.mean_interval.map_or(f64::INFINITY, |i| i.half_width()) / variant.mean?)
        }));
    }
    widths.into_iter().reduce(f64::max)
}

fn width(comparison: &Comparison<'_>, variant: usize, with: Series) -> Option<f64> {
    let (a, b) = comparison.pairs(variant, with);
    let mean = comparison.mean(with)?;
    if !comparison.scenario.is_random() {
        return Some(0.0);
    }
    // Fewer than two pairs have no interval.
    let half = paired(&a, &b).map_or(f64::INFINITY, |paired| paired.interval(0.95).half_width());
    (mean > 0.0).then(|| half / mean)
}

#[cfg(test)]
mod tests {
    use super::*;
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
            parts: 0,
            value,
            extra: Vec::new(),
            ended: 1.0,
            bytes_read: 0,
            data_packets: 0,
            retransmitted_segs: 0,
            reinjected_bytes: 0,
            duplicate_bytes: 0,
            first_sent_bytes: vec![0, 0],
            repeated: Vec::new(),
            account: None,
            drops: Drops::default(),
            failure: None,
            hash: [0; 32],
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
        Study { variants: variants.collect(), interrupted: false }
    }

    #[test]
    fn repetitions_go_on_until_the_difference_is_known_to_five_per_cent() {
        let scenario = scenario(" loss 1%", "1000");
        assert_eq!(first(&scenario), 20);
        // 20 values of +-1: standard deviation 1.026, t 2.093, half-width 0.48 of 10.
        let narrow = study(&scenario, 20, 1.0);
        assert!((widest(&scenario, &narrow).unwrap() - 0.0480).abs() < 1e-4);
        assert_eq!(next(&scenario, &narrow, 20), None);
        // 1.2 times as wide: 1.33 times as many, but no fewer than ten more.
        assert_eq!(next(&scenario, &study(&scenario, 20, 1.2), 20), Some(30));
        assert_eq!(next(&scenario, &study(&scenario, 60, 2.5), 60), Some(102));
        assert_eq!(next(&scenario, &study(&scenario, 20, 9.0), 20), Some(40), "at most doubled");
    }

    #[test]
    fn runs_max_ends_it() {
        let scenario = scenario(" loss 1%", "30");
        assert_eq!(next(&scenario, &study(&scenario, 20, 9.0), 20), Some(30));
        assert_eq!(next(&scenario, &study(&scenario, 30, 9.0), 30), None);
        assert_eq!(first(&self::scenario(" loss 1%", "7")), 7);
    }

    #[test]
    fn without_chance_one_repetition_is_enough() {
        let scenario = scenario("", "1000");
        assert_eq!(first(&scenario), 1);
        assert_eq!(next(&scenario, &study(&scenario, 1, 1.0), 1), None);
    }

    #[test]
    fn variants_without_a_verdict_do_not_hold_it_up() {
        let scenario = scenario(" loss 1%", "1000");
        let mut study = study(&scenario, 20, 9.0);
        for run in &mut study.variants[1].runs {
            run.value = None;
        }
        assert_eq!(next(&scenario, &study, 20), None, "the other one does not spread");
        for run in &mut study.variants[0].runs {
            run.value = None;
        }
        assert_eq!((widest(&scenario, &study), next(&scenario, &study, 20)), (None, None));
    }
}
