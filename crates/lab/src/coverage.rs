//! Coverage of the deciding interval, by drawing studies from a large pool of runs.
//!
//! The means of the pool are the truth. A replicate draws repetitions from it, all variants of one
//! together, and passes through the whole stopping rule of `--runs auto` with every choice that it
//! makes: the baseline, the deciding variant, the correction and the end.

use crate::answer::judged_so_far;
use crate::comparison::Class;
use crate::scenario::{Runs, Scenario};
use crate::stopping::{first, next, open};
use crate::study::{Stopped, Study, VariantRuns};
use base::{Chance, Purpose};
use traffic::Measure;

/// Counts over the replicates of one situation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Coverage {
    /// Replicates drawn.
    pub replicates: usize,
    /// Those whose interval contains the true difference.
    pub covered: usize,
    /// Those without an interval; they do not cover.
    pub without: usize,
    /// Those with a class that the true difference does not have.
    pub wrong: usize,
    /// Those that ended with an answer.
    pub answered: usize,
    /// Runs of each variant, replicate by replicate, sorted.
    pub runs: Vec<u32>,
}

impl Coverage {
    /// The share of replicates that cover, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.covered as f64 / self.replicates.max(1) as f64
    }

    /// The median number of runs.
    pub fn median_runs(&self) -> u32 {
        self.runs.get(self.runs.len() / 2).copied().unwrap_or(0)
    }

    /// Draws `replicates` studies from `pool`. With `Runs::Fixed` each has that number of runs.
    pub fn measure(scenario: &Scenario, pool: &Study, replicates: usize, seed: u64) -> Coverage {
        let mut coverage = Coverage::default();
        for replicate in 0..replicates {
            coverage.add(scenario, pool, &Chance::new(seed, replicate as u64));
        }
        coverage.runs.sort_unstable();
        coverage
    }

    fn add(&mut self, scenario: &Scenario, pool: &Study, chance: &Chance) {
        let mut study = Study {
            variants: pool
                .variants
                .iter()
                .map(|of| VariantRuns { variant: of.variant.clone(), runs: Vec::new() })
                .collect(),
            interrupted: false,
            stopped: Stopped::Runs,
        };
        let (mut done, mut wanted) = (0, first(scenario));
        loop {
            for number in done..wanted {
                draw(&mut study, pool, chance, number);
            }
            done = wanted;
            let open = matches!(scenario.runs, Runs::Auto { .. }).then(|| open(scenario, &study));
            match next(scenario, open.clone().flatten().as_ref(), done) {
                Some(more) => wanted = more,
                None => break,
            }
        }
        self.replicates += 1;
        self.runs.push(done);
        let Some((metric, judged)) = judged_so_far(scenario, &study) else {
            self.without += 1;
            return;
        };
        let answer = judged.answer(metric.name());
        let value = |name: &Option<String>| mean_of(pool, metric, name.as_deref()?);
        let truth = value(&answer.variant).zip(value(&answer.baseline));
        let Some(((variant, baseline), interval)) = truth.zip(answer.interval) else {
            self.without += 1;
            return;
        };
        let truth = variant - baseline;
        self.covered += usize::from((interval.low..=interval.high).contains(&truth));
        let margin = crate::comparison::margin(scenario, metric, baseline.abs());
        let better = |difference: f64| (difference > 0.0) == metric.larger_is_better();
        let right = match answer.class {
            Some(Class::PaysOff) => better(truth) && truth.abs() >= margin,
            Some(Class::Hurts) => !better(truth) && truth.abs() >= margin,
            Some(Class::NoDifference) => truth.abs() <= margin,
            _ => true,
        };
        self.wrong += usize::from(!right);
        let decided = answer.class.is_some_and(|class| class != Class::Undecided);
        self.answered += usize::from(decided);
    }
}

/// One repetition of the pool, the same for all variants.
fn draw(study: &mut Study, pool: &Study, chance: &Chance, number: u32) {
    let most = u64::from(pool.repetitions());
    let drawn = chance.below(most, 0, Purpose::Resample, u64::from(number)) as usize;
    for (variant, of) in study.variants.iter_mut().zip(&pool.variants) {
        if let Some(run) = of.runs.get(drawn) {
            let mut run = run.clone();
            run.number = u64::from(number);
            variant.runs.push(run);
        }
    }
}

/// The mean of a variant's finished runs.
fn mean_of(pool: &Study, metric: Measure, name: &str) -> Option<f64> {
    let of = pool.variants.iter().find(|of| of.variant.name == name)?;
    let values: Vec<f64> = of.runs.iter().filter_map(|run| run.measured(metric)).collect();
    crate::statistics::mean(&values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;
    use crate::scenario::{Key, Options, Variant};
    use crate::study::Watcher;

    struct Silent;

    impl Watcher for Silent {
        fn on_run(&self, _variant: &Variant, _run: &Run) {}
        fn is_stopped(&self) -> bool {
            false
        }
    }

    /// Regression: of the intervals from 20 runs of small downloads with loss, a quarter missed the
    /// mean, because rare time-outs decide it. `make coverage` has ten situations and larger pools.
    #[test]
    fn deciding_intervals_cover_where_rare_time_outs_decide_the_mean() {
        let options = Options::default()
            .with(Key::Path, "a=rate 10mbit delay 10ms loss 1%")
            .with(Key::Path, "b=rate 5mbit delay 30ms loss 1%")
            .with(Key::Traffic, "bulk:64KiB");
        let mut scenario = options.resolve().unwrap();
        let pool = Scenario { runs: Runs::Fixed(1000), ..scenario.clone() };
        let pool = crate::run_study(&pool, None, &Silent).unwrap();
        for runs in [Runs::Auto { most: 150 }, Runs::Fixed(20)] {
            scenario.runs = runs;
            let coverage = Coverage::measure(&scenario, &pool, 60, 1);
            assert_eq!((coverage.replicates, coverage.without), (60, 0), "{coverage:?}");
            assert!(coverage.share() >= 0.935 && coverage.wrong == 0, "{coverage:?}");
        }
    }
}
