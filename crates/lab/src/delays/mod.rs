//! The delays of single messages and objects, over all runs of a study.
//!
//! Of each variant at most [`MOST_KEPT`] are kept, a uniform sample: those with the smallest keyed
//! hash of (run, index). The sample does not depend on the order of the runs or on interruptions,
//! and every variant has the same messages of the same repetitions. `arrivals` finds the paths of
//! a message, `results` stores the table.

mod arrivals;

pub(crate) use arrivals::Arrivals;

use crate::run::Run;
use crate::scenario::{Scenario, Variant};
use crate::study::Study;
use base::Duration;
use base::chance::{Chance, Purpose};
use harness::RunRecord;
use std::collections::BTreeMap;
use traffic::{Model, Part};

/// Largest number of delays kept for each variant; quantiles up to 99.99 % are those of several
/// messages.
pub const MOST_KEPT: usize = 100_000;

/// The delay of a message or object.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Delay {
    /// Number of the repetition.
    pub run: u64,
    /// Number of the message or object in its repetition, from 1.
    pub index: u32,
    /// From the start of the connection or page until it was sent, or was to be sent, or was
    /// requested; `None` if it was not.
    pub start: Option<Duration>,
    /// From then until its last byte was read; `None` if it did not arrive.
    pub delay: Option<Duration>,
    /// The path of the scenario that delivered its first byte, where known.
    pub first_path: Option<u16>,
    /// The path of the scenario that delivered its last byte, where known.
    pub last_path: Option<u16>,
}

/// The delays of a variant in all repetitions of a study.
#[derive(Clone, PartialEq, Debug)]
pub struct VariantDelays {
    /// Name of the variant.
    pub variant: String,
    /// Number of messages or objects in all repetitions.
    pub total: u64,
    /// Those kept, in the order of repetition and index.
    pub delays: Vec<Delay>,
}

impl VariantDelays {
    /// Whether only a sample was kept.
    pub fn is_sample(&self) -> bool {
        (self.delays.len() as u64) < self.total
    }

    /// Sorted delays in seconds of those that arrived, at most `most`: every n-th in order of size,
    /// with the smallest and the largest.
    pub fn sorted(&self, most: usize) -> Vec<f64> {
        let arrived = self.delays.iter().filter_map(|one| one.delay);
        let mut sorted: Vec<f64> = arrived.map(Duration::as_secs_f64).collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        if sorted.len() <= most.max(2) {
            return sorted;
        }
        let steps = most.max(2) - 1;
        (0..=steps).map(|step| sorted[step * last / steps]).collect()
    }

    /// Delays in seconds of those that arrived, with the share of all that arrived as early: about
    /// `most` in order of size, the largest of them closer together, where few are rare.
    pub fn distribution(&self, most: usize) -> Vec<(f64, f64)> {
        let sorted = self.sorted(usize::MAX);
        let all = self.delays.len().max(1) as f64;
        let ranks: Vec<usize> = if sorted.len() <= most.max(2) {
            (0..sorted.len()).collect()
        } else {
            let (last, half) = (sorted.len() - 1, most.max(2) / 2);
            let even = (0..=half).map(|step| step * last / half);
            // From the largest one away, each step by the same factor.
            let factor = libm::pow(last as f64, 1.0 / half as f64);
            let away = (0..half).map(|step| libm::pow(factor, step as f64) - 1.0);
            let mut ranks: Vec<usize> =
                even.chain(away.map(|away| last - (away as usize).min(last))).collect();
            ranks.sort_unstable();
            ranks.dedup();
            ranks
        };
        ranks.into_iter().map(|rank| (sorted[rank], (rank + 1) as f64 / all)).collect()
    }

    /// Those kept that did not arrive.
    pub fn missing(&self) -> usize {
        self.delays.iter().filter(|one| one.delay.is_none()).count()
    }
}

/// The delays of a run, with the paths that are known.
pub(crate) fn of_run(
    scenario: &Scenario,
    variant: &Variant,
    (number, record): (u64, &RunRecord),
    arrivals: Option<&Arrivals>,
) -> Vec<Delay> {
    let single = variant.single_path().and_then(|path| u16::try_from(path).ok());
    let paths = arrivals.map(|arrivals| arrivals.paths(record, scenario.paths.len()));
    let delay = |(part, index): (&Part, u32)| {
        let of = paths.as_ref().and_then(|paths| paths.get(index as usize - 1)).copied();
        let (first, last) = of.unwrap_or_default();
        let arrived = |path: Option<u16>| path.filter(|_| part.delay.is_some());
        Delay {
            run: number,
            index,
            start: part.start,
            delay: part.delay,
            first_path: arrived(single.or(first)),
            last_path: arrived(single.or(last)),
        }
    };
    record.outcome.parts.iter().zip(1..).map(delay).collect()
}

/// Names of the objects of a page, in the order of their indices; empty for messages.
pub(crate) fn names(scenario: &Scenario) -> Vec<&str> {
    match scenario.traffic.model() {
        Model::Web(web) => web.page.objects().iter().map(|object| object.label.as_str()).collect(),
        _ => Vec::new(),
    }
}

/// The delays of the variants of a study while it runs.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    kept: BTreeMap<String, Sample>,
}

/// The kept delays of a variant.
#[derive(Clone, Debug)]
struct Sample {
    /// Without order; up to twice as many as are kept in the end.
    delays: Vec<Delay>,
    /// Those with a larger rank are not among the smallest.
    limit: u64,
}

impl Sample {
    const EMPTY: Sample = Sample { delays: Vec::new(), limit: u64::MAX };

    /// Adds those of a run that may be part of the sample, and returns them.
    fn add(&mut self, run: Vec<Delay>, most: usize) -> Vec<Delay> {
        let limit = self.limit;
        let run: Vec<Delay> = run.into_iter().filter(|one| rank(one) <= limit).collect();
        self.delays.extend(&run);
        if self.delays.len() >= 2 * most {
            self.shrink(most);
        }
        run
    }

    fn shrink(&mut self, most: usize) {
        if self.delays.len() > most && most > 0 {
            self.delays.select_nth_unstable_by_key(most - 1, rank);
            self.delays.truncate(most);
            self.limit = self.delays.last().map_or(u64::MAX, rank);
        }
    }
}

/// Place in the order by which the sample is chosen.
fn rank(delay: &Delay) -> u64 {
    Chance::new(0, delay.run).bits(0, Purpose::Resample, delay.index.into())
}

impl Delays {
    /// Adds the delays of a run, and returns those that may be part of the sample.
    pub(crate) fn add(&mut self, variant: &str, run: Vec<Delay>) -> Vec<Delay> {
        if run.is_empty() {
            return run;
        }
        if !self.kept.contains_key(variant) {
            self.kept.insert(variant.to_owned(), Sample::EMPTY);
        }
        self.kept.get_mut(variant).map_or(Vec::new(), |sample| sample.add(run, MOST_KEPT))
    }

    /// Adds the delays of another study, whose variants get new names; those without are left out.
    pub(crate) fn absorb(&mut self, other: &Delays, renamed: impl Fn(&str) -> Option<String>) {
        for (variant, sample) in &other.kept {
            if let Some(name) = renamed(variant) {
                self.kept.insert(name, sample.clone());
            }
        }
    }

    /// Whether the traffic has no messages or objects.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The kept delays of each variant, in the order of repetition and index.
    pub(crate) fn rows(&self) -> BTreeMap<&str, Vec<Delay>> {
        let rows = |sample: &Sample| {
            let mut sample = sample.clone();
            sample.shrink(MOST_KEPT);
            sample.delays.sort_unstable_by_key(|one| (one.run, one.index));
            sample.delays
        };
        self.kept.iter().map(|(variant, sample)| (variant.as_str(), rows(sample))).collect()
    }

    /// The delays of the repetitions of a study, in the order of its variants; those without
    /// messages are left out.
    pub fn of_study(&self, study: &Study) -> Vec<VariantDelays> {
        let rows = self.rows();
        let of_variant = |of: &crate::study::VariantRuns| {
            let kept = rows.get(of.variant.name.as_str())?;
            let runs: BTreeMap<u64, &Run> = of.runs.iter().map(|run| (run.number, run)).collect();
            let delays = kept.iter().filter(|one| runs.contains_key(&one.run)).copied();
            let total = of.runs.iter().map(|run| run.parts).sum();
            let variant = of.variant.name.clone();
            Some(VariantDelays { variant, total, delays: delays.collect() })
        };
        let all = study.variants.iter().filter_map(of_variant);
        all.filter(|of| !of.delays.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: u64, parts: u32) -> Vec<Delay> {
        let delay = |index| Delay {
            run: number,
            index,
            start: Some(Duration::from_millis(index.into())),
            delay: Some(Duration::from_millis(number + 1)),
            first_path: None,
            last_path: None,
        };
        (1..=parts).map(delay).collect()
    }

    fn sampled(order: &[u64], most: usize) -> Vec<Delay> {
        let mut sample = Sample::EMPTY;
        for number in order {
            sample.add(run(*number, 50), most);
            assert!(sample.delays.len() < 2 * most, "memory is bounded");
        }
        sample.shrink(most);
        sample.delays.sort_unstable_by_key(|one| (one.run, one.index));
        sample.delays
    }

    #[test]
    fn sample_is_the_same_in_any_order_of_runs_and_draws_from_all_of_them() {
        let forward: Vec<u64> = (0..100).collect();
        let mut other = forward.clone();
        other.reverse();
        other.swap(3, 70);
        let sample = sampled(&forward, 1000);
        assert_eq!((sample.len(), &sample), (1000, &sampled(&other, 1000)));
        let of = |run: u64| sample.iter().filter(|one| one.run == run).count();
        assert!((0..100).all(|run| (1..30).contains(&of(run))), "10 of each on average");
        assert_eq!(sampled(&forward[..20], 1000).len(), 1000, "all of them");
        assert_eq!(sampled(&forward[..19], 1000).len(), 950);
    }

    #[test]
    fn what_was_left_out_by_an_earlier_limit_is_not_part_of_the_sample() {
        let (mut whole, mut resumed) = (Sample::EMPTY, Sample::EMPTY);
        let mut journal = Vec::new();
        for number in 0..100 {
            journal.push(whole.add(run(number, 50), 300));
        }
        assert!(journal.iter().map(Vec::len).sum::<usize>() < 3_000, "of 5000");
        for rows in journal {
            resumed.add(rows, 300);
        }
        for sample in [&mut whole, &mut resumed] {
            sample.shrink(300);
            sample.delays.sort_unstable_by_key(|one| (one.run, one.index));
        }
        assert_eq!(whole.delays, resumed.delays);
    }

    #[test]
    fn thinned_delays_keep_both_ends() {
        let mut delays = run(0, 1000);
        for (one, number) in delays.iter_mut().zip(0..) {
            one.delay = (number != 7).then(|| Duration::from_millis((number * 7) % 1000));
        }
        let of = VariantDelays { variant: "v".into(), total: 1000, delays };
        let thinned = of.sorted(100);
        assert_eq!((thinned.len(), thinned[0], thinned[99]), (100, 0.0, 0.999));
        assert!(thinned.is_sorted());
        assert_eq!((of.sorted(5000).len(), of.missing(), of.is_sample()), (999, 1, false));
        let distribution = of.distribution(100);
        assert!((70..=101).contains(&distribution.len()), "{}", distribution.len());
        assert!(distribution.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1));
        assert_eq!(distribution.last(), Some(&(0.999, 0.999)), "one of 1000 did not arrive");
        let tail: Vec<f64> = distribution.iter().rev().take(5).map(|(delay, _)| *delay).collect();
        assert_eq!(tail, [0.999, 0.998, 0.997, 0.996, 0.995], "every one of the largest");
    }
}
