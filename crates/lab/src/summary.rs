//! Statistics of one variant: mean, median, quantiles and shares, with their intervals.
//!
//! `comparison` compares variants.

use crate::blocking::{Blocking, Repeats};
use crate::comparison::{Class, Comparison, Difference};
use crate::failover::{Failovers, is_failover};
use crate::fairness::{Fairness, is_of_flows};
use crate::quantity::Scale;
use crate::run::{Run, names_of};
use crate::scenario::{Scenario, Variant};
use crate::statistics::{
    FEWEST, Interval, has_heavy_tail, interval_of_several, mean, median, quantile,
    quantile_intervals,
};
use crate::study::VariantRuns;
use base::Duration;
use base::chance::owner_of;
use traffic::{Measure, Traffic};

/// Above this share of incomplete runs a variant gets no verdict.
const MOST_INCOMPLETE: f64 = 0.05;
/// Reported quantiles over runs, in addition to the median.
const QUANTILES: [(&str, f64); 3] = [("p25", 0.25), ("p75", 0.75), ("p95", 0.95)];

/// Statistics of one variant.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The variant.
    pub variant: Variant,
    /// Number of repetitions.
    pub n: usize,
    /// Repetitions not finished within `deadline`.
    pub incomplete: usize,
    /// Those of `incomplete` that finished, but have no value of the metric.
    pub unmeasured: usize,
    /// Virtual time after which a repetition is incomplete.
    pub deadline: Duration,
    /// Repetitions discarded because the machine disturbed their emulation.
    pub discarded: usize,
    /// Mean of the finished runs, in the metric's unit.
    pub mean: Option<f64>,
    /// Values of the finished runs, where they are too few for an interval; otherwise empty.
    pub values: Vec<f64>,
    /// Median of the finished runs, in the metric's unit.
    pub median: Option<f64>,
    /// 95 % interval of the mean.
    pub mean_interval: Option<Interval>,
    /// 95 % interval of the median.
    pub median_interval: Option<Interval>,
    /// Smallest and largest value of the finished runs, in the metric's unit.
    pub range: Option<Interval>,
    /// Quantiles over the finished runs.
    pub quantiles: Vec<Quantile>,
    /// All repetitions are equal and nothing in the scenario is random.
    pub deterministic: bool,
    /// The interval of the mean is unreliable.
    pub heavy_tail: bool,
    /// Name of its baseline, or `average`.
    pub baseline: Option<String>,
    /// Difference from the baseline; `None` for the baseline itself.
    pub difference: Option<Difference>,
    /// Class; `None`: no verdict.
    pub class: Option<Class>,
    /// Means of further numbers of the traffic model, by name.
    pub extra: Vec<(String, f64)>,
    /// Share of the payload first sent on each path, by name.
    pub share: Vec<(String, f64)>,
    /// Share of the path that carried most in its run, mean of the repetitions (000, Tables 4 to
    /// 12); `None` where a run has no payload.
    pub dominant_share: Option<f64>,
    /// Segments retransmitted on their own path, per repetition.
    pub retransmitted: f64,
    /// Bytes sent on a second path although another one had them, per repetition.
    pub reinjected: f64,
    /// SACKs of the receiver per packet with data, mean of the repetitions; `None` without SCTP.
    pub sacks_per_data_packet: Option<f64>,
    /// Times by state, where known.
    pub blocking: Option<Blocking>,
    /// Repeated segments on each path.
    pub repeats: Vec<Repeats>,
    /// Fail-over times, if a path failed.
    pub failovers: Option<Failovers>,
    /// Goodputs of competing connections, if there are any.
    pub fairness: Option<Fairness>,
    /// Why connections failed, if they did.
    pub failure: Option<String>,
    /// Unfinished repetitions that ended before the deadline, if there are any.
    pub early: Option<EarlyEnds>,
}

/// Repetitions without a result that ended before the deadline.
#[derive(Clone, PartialEq, Debug)]
pub struct EarlyEnds {
    /// Number of these repetitions.
    pub runs: usize,
    /// First and last end, in seconds since the start of the run.
    pub ends: Interval,
    /// Why they ended, if it is known.
    pub why: Option<String>,
}

/// A quantile over the runs of a variant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quantile {
    /// `p75`.
    pub name: &'static str,
    /// Value in the metric's unit.
    pub value: f64,
    /// 95 % interval; `None` if there are too few runs for one.
    pub interval: Option<Interval>,
}

impl Summary {
    /// Computes the statistics of a variant's repetitions.
    pub(crate) fn new(scenario: &Scenario, runs: &VariantRuns) -> Summary {
        let values = measured(scenario.metric, runs);
        let (median_interval, quantiles) = quantiles(scenario, &runs.variant.name, &values);
        Summary {
            median_interval,
            quantiles,
            ..Summary::without_resamples(scenario, runs, scenario.metric)
        }
    }

    /// Statistics of every variant of a comparison, without the values that need resamples.
    pub(crate) fn all_of(comparison: &Comparison<'_>) -> Vec<Summary> {
        let Comparison { scenario, study, metric, .. } = *comparison;
        let summary = |runs| Summary::without_resamples(scenario, runs, metric);
        study.variants.iter().map(summary).collect()
    }

    /// The same without the values that need resamples.
    pub(crate) fn without_resamples(
        scenario: &Scenario,
        runs: &VariantRuns,
        metric: Measure,
    ) -> Summary {
        let values = measured(metric, runs);
        let equal = values.windows(2).all(|pair| pair[0] == pair[1]);
        let deterministic = equal && !values.is_empty() && !runs.is_random(scenario);
        let per_run = |of: fn(&Run) -> u64| {
            runs.runs.iter().map(of).sum::<u64>() as f64 / runs.runs.len().max(1) as f64
        };
        let valid = runs.runs.iter().filter(|run| !run.is_discarded());
        let failures = valid.filter_map(|run| run.failure.as_ref());
        let discarded = runs.runs.iter().filter(|run| run.is_discarded()).count();
        let exactly = |value: &f64| Interval::around(*value, 0.0);
        Summary {
            variant: runs.variant.clone(),
            n: runs.runs.len(),
            incomplete: runs.runs.len() - values.len() - discarded,
            unmeasured: runs.runs.iter().filter(|run| is_unmeasured(run, metric)).count(),
            deadline: scenario.deadline,
            discarded,
            mean: mean(&values),
            median: median(&values),
            values: if values.len() < FEWEST { values.clone() } else { Vec::new() },
            mean_interval: interval_of_several(&values)
                .map(possible)
                .or_else(|| values.first().filter(|_| deterministic).map(exactly)),
            median_interval: None,
            range: range(&values),
            quantiles: Vec::new(),
            deterministic,
            heavy_tail: has_heavy_tail(&values),
            baseline: None,
            difference: None,
            class: None,
            extra: extra(runs),
            share: share(scenario, runs),
            dominant_share: dominant_share(&runs.runs),
            retransmitted: per_run(|run| run.retransmitted_segs),
            reinjected: per_run(|run| run.reinjected_bytes),
            sacks_per_data_packet: sacks_per_data_packet(&runs.runs),
            blocking: Blocking::mean(&runs.runs).filter(|_| runs.variant.has_connection()),
            repeats: Repeats::mean(scenario, &runs.runs),
            failovers: Failovers::of(scenario, &runs.runs),
            fairness: Fairness::new(scenario, &runs.runs),
            failure: failures.map(ToString::to_string).next(),
            early: EarlyEnds::of(scenario, &runs.runs),
        }
    }

    /// Runs that were not discarded.
    pub(crate) fn valid(&self) -> usize {
        self.n - self.discarded
    }

    /// Runs that did not finish within the deadline.
    pub(crate) fn unfinished(&self) -> usize {
        self.incomplete - self.unmeasured
    }

    /// Whether there are too few runs for an interval of the difference.
    pub(crate) fn has_no_interval(&self) -> bool {
        self.difference.as_ref().is_some_and(|of| of.interval.is_none())
    }

    /// Whether enough runs finished for a verdict.
    pub fn qualifies(&self) -> bool {
        let valid = (self.n - self.discarded) as f64;
        self.mean.is_some() && self.incomplete as f64 <= MOST_INCOMPLETE * valid
    }

    /// The single values without their unit, `1.92, 2.03`, where they are too few for an interval;
    /// a single one is the mean.
    pub fn single_values(&self, scale: &Scale) -> Option<String> {
        let values: Vec<String> = self.values.iter().map(|value| scale.number(*value)).collect();
        (values.len() > 1).then(|| values.join(", "))
    }

    /// Reason for the missing verdict, in words.
    pub fn disqualification(&self) -> String {
        let Summary { incomplete, unmeasured, discarded, n, .. } = *self;
        if unmeasured > 0 && unmeasured == incomplete {
            return format!(
                "{unmeasured} of {n} runs have no value of the metric (a path that they do not \
                 use, no failure of one, or no delivery after it)"
            );
        }
        let unfinished = format!("{incomplete} of {n} runs did not finish{}", self.ends());
        let thrown = format!("{discarded} of {n} runs were discarded: other load disturbed them");
        match (incomplete, discarded) {
            (_, 0) => unfinished,
            (0, _) => thrown,
            _ => format!("{unfinished}; {thrown}"),
        }
    }

    /// When and why unfinished runs ended: ` within 600s`, `: they ended after 1.000 s (connection
    /// reset by peer)`.
    fn ends(&self) -> String {
        let deadline = self.deadline;
        let in_brackets =
            |why: &Option<String>| why.as_ref().map_or(String::new(), |why| format!(" ({why})"));
        let Some(EarlyEnds { runs, ends, why }) = &self.early else {
            return format!(" within {deadline}{}", in_brackets(&self.failure));
        };
        let scale = Scale::of("s", ends.low);
        let times = match ends.half_width() > 0.0 {
            true => scale.interval(*ends),
            false => scale.value(ends.low),
        };
        let why = in_brackets(why);
        match runs {
            1 if self.unfinished() == 1 => format!(": it ended after {times}{why}"),
            _ if *runs == self.unfinished() => format!(": they ended after {times}{why}"),
            some => format!(" within {deadline}, {some} of which ended after {times}{why}"),
        }
    }
}

impl EarlyEnds {
    fn of(scenario: &Scenario, runs: &[Run]) -> Option<EarlyEnds> {
        let deadline = scenario.deadline.as_secs_f64();
        let is_early =
            |run: &&Run| run.value.is_none() && !run.is_discarded() && run.ended < deadline;
        let early: Vec<&Run> = runs.iter().filter(is_early).collect();
        let ends = range(&early.iter().map(|run| run.ended).collect::<Vec<f64>>())?;
        let failure = early.iter().find_map(|run| run.failure.clone());
        let viewer = matches!(scenario.traffic, Traffic::Vod(_)).then_some("the viewer left");
        let why = failure.or_else(|| viewer.map(str::to_owned));
        Some(EarlyEnds { runs: early.len(), ends, why })
    }
}

/// Whether a finished run has no value of the metric: a fail-over time without a failure, round
/// trips of a path that it did not use.
fn is_unmeasured(run: &Run, metric: Measure) -> bool {
    run.value.is_some() && run.measured(metric).is_none()
}

/// Mean of the runs that have a number of SACKs.
fn sacks_per_data_packet(runs: &[Run]) -> Option<f64> {
    let rates: Vec<f64> = runs.iter().filter_map(Run::sacks_per_data_packet).collect();
    mean(&rates)
}

/// The number of every run that has it.
fn measured(metric: Measure, runs: &VariantRuns) -> Vec<f64> {
    runs.runs.iter().filter_map(|run| run.measured(metric)).collect()
}

/// Without what no time and no rate can be.
fn possible(interval: Interval) -> Interval {
    Interval { low: interval.low.max(0.0), high: interval.high }
}

/// Smallest and largest value.
fn range(values: &[f64]) -> Option<Interval> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some(Interval { low, high })
}

/// The median's interval, and quantiles with theirs.
fn quantiles(scenario: &Scenario, name: &str, values: &[f64]) -> (Option<Interval>, Vec<Quantile>) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let levels: Vec<f64> =
        [0.5].into_iter().chain(QUANTILES.iter().map(|(_, level)| *level)).collect();
    let mut intervals =
        quantile_intervals(values, &levels, scenario.seed, owner_of(name)).into_iter();
    let median = intervals.next().flatten();
    let named = QUANTILES.iter().zip(intervals);
    let quantiles = named.filter_map(|((name, level), interval)| {
        Some(Quantile { name, value: quantile(&sorted, *level)?, interval })
    });
    (median, quantiles.collect())
}

fn share(scenario: &Scenario, runs: &VariantRuns) -> Vec<(String, f64)> {
    let bytes = |path: usize| -> u64 {
        let sent = runs.runs.iter().map(|run| run.first_sent_bytes.get(path));
        sent.map(|bytes| bytes.copied().unwrap_or(0)).sum()
    };
    let total: u64 = (0..scenario.paths.len()).map(bytes).sum();
    let share = |path| if total == 0 { 0.0 } else { bytes(path) as f64 / total as f64 };
    let named = scenario.paths.iter().enumerate();
    named.map(|(index, path)| (path.name.clone(), share(index))).collect()
}

/// Mean over the runs of the largest share that a path has in each of them.
fn dominant_share(runs: &[Run]) -> Option<f64> {
    let of = |run: &Run| {
        let total: u64 = run.first_sent_bytes.iter().sum();
        let most = run.first_sent_bytes.iter().max().copied()?;
        (total > 0).then(|| most as f64 / total as f64)
    };
    mean(&runs.iter().filter_map(of).collect::<Vec<f64>>())
}

/// Means over the finished runs of the model's further numbers.
fn extra(runs: &VariantRuns) -> Vec<(String, f64)> {
    let complete: Vec<&Run> = runs.runs.iter().filter(|run| run.value.is_some()).collect();
    let mean_of = |name: &str| {
        let of = |run: &&Run| {
            let found = run.extra.iter().find(|(other, _)| other == name);
            found.map(|(_, value)| *value)
        };
        mean(&complete.iter().filter_map(of).collect::<Vec<f64>>())
    };
    let names = names_of(&complete, |name| !is_of_flows(name) && !is_failover(name));
    names.filter_map(|name| Some((name.to_owned(), mean_of(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::study_of;
    use crate::scenario::{Key, Options};

    /// Regression: a path that the first repetition did not use had no round trips in the results.
    #[test]
    fn numbers_that_the_first_run_lacks_are_means_of_the_others() {
        let path = Options::default().with(Key::Path, "a=rate 5mbit");
        let scenario = path.with(Key::Traffic, "bulk:1MiB").resolve().unwrap();
        let mut study = study_of(&scenario, &[vec![Some(1.0), Some(1.0), Some(1.0), None]]);
        let of_runs: [&[(&str, f64)]; 4] = [
            &[("lost", 0.5)],
            &[("lost", 0.1), ("rtt/a/mean", 0.2), ("flows/jain", 1.0)],
            &[("rtt/a/mean", 0.4), ("loss/a", 0.3), ("lost", 0.0)],
            &[("jitter", 9.0)],
        ];
        for (run, numbers) in study.variants[0].runs.iter_mut().zip(of_runs) {
            run.extra = numbers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        }
        let found = Summary::new(&scenario, &study.variants[0]).extra;
        let found: Vec<(&str, f64)> =
            found.iter().map(|(name, mean)| (name.as_str(), (mean * 1e9).round() / 1e9)).collect();
        assert_eq!(found, [("rtt/a/mean", 0.3), ("loss/a", 0.3), ("lost", 0.2)]);
    }
}
