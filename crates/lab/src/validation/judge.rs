//! The simulator against recorded runs, variant by variant.
//!
//! A scenario counts if the kernel's own mean is known to 4 %. The difference is the simulator's
//! mean over the kernel's minus one; the excess is the part of it outside the joint 95 % interval
//! (Welch). Scenarios with random loss, or with several modes of the kernel, are compared by
//! quantiles and modes and do not count. All of them are in `distribution`, too.

use super::distribution::{Decision, Overall, Spread};
use super::series::{Recorded, RecordedVariant, Series};
use super::set::{Entry, Judged, ValidationSet};
use crate::execution::run_study;
use crate::run::Run;
use crate::scenario::{Choices, Protocol, Runs, Scenario};
use crate::stack::Emulated;
use crate::statistics::{
    Interval, Mode, mean, mean_interval, median, modes, quantile, quantile_intervals, welch,
};
use crate::study::{Study, StudyError, Watcher};
use crate::traffic_spec::show_traffic;
use base::chance::owner_of;
use transport::scheduler::SchedulerChoice;

/// A scenario counts if the half-width of the kernel's own interval is at most this share of its
/// mean.
pub(super) const KNOWN: f64 = 0.04;
/// Reason for a scenario that is not recorded yet.
pub const NO_RUNS: &str = "it has no recorded runs";
/// Compared quantiles.
const QUANTILES: [f64; 3] = [0.25, 0.5, 0.75];

/// Result of a validation.
#[derive(Clone, PartialEq, Debug)]
pub struct Validation {
    /// Rows compared by the mean, in the order of the set.
    pub rows: Vec<Row>,
    /// Rows compared by quantiles and modes: those with random loss, and, in addition to their row,
    /// those with several modes of the kernel whose mean is not known.
    pub apart: Vec<Apart>,
    /// Distributions of all variants, in the order of the set.
    pub spreads: Vec<Spread>,
    /// Decisions of both sides, in the order of the set.
    pub decisions: Vec<Decision>,
    /// Number of scenarios of the set.
    pub scenarios: usize,
    /// Of these, scenarios without recorded runs.
    pub unrecorded: usize,
    /// Reasons for scenarios that are left out.
    pub left_out: Vec<String>,
}

/// A variant of a scenario, compared by the mean.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Subject of the comparison.
    pub subject: Subject,
    /// Mean of the kernel's runs.
    pub kernel: Estimate,
    /// The same for the simulator.
    pub ours: Estimate,
    /// The simulator's mean over the kernel's, minus one.
    pub diff: f64,
    /// Part of its size outside the joint interval.
    pub excess: f64,
    /// Whether the kernel's mean is known well enough.
    pub counted: bool,
}

/// Subject of a comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// Name of the scenario.
    pub scenario: String,
    /// The kernel's variant.
    pub variant: String,
    /// `kernel-tcp`, `kernel-mptcp`.
    pub stack: &'static str,
    /// The congestion control.
    pub cc: String,
    /// Metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
}

/// A mean of runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Estimate {
    /// Number of runs.
    pub n: usize,
    /// Mean in the metric's unit.
    pub mean: f64,
    /// 95 % interval; `None` for a single run.
    pub interval: Option<Interval>,
}

/// A variant of a scenario, compared by quantiles and modes.
#[derive(Clone, PartialEq, Debug)]
pub struct Apart {
    /// Subject of the comparison.
    pub subject: Subject,
    /// Number of runs of the kernel.
    pub kernel_n: usize,
    /// Number of runs of the simulator.
    pub ours_n: usize,
    /// Compared quantiles.
    pub quantiles: Vec<QuantileRow>,
    /// Modes of the kernel's runs, from the smallest.
    pub kernel_modes: Vec<Mode>,
    /// The same for the simulator.
    pub our_modes: Vec<Mode>,
}

/// A quantile of both sides.
#[derive(Clone, PartialEq, Debug)]
pub struct QuantileRow {
    /// Level, such as 0.25 for the lower quartile.
    pub q: f64,
    /// Value of the kernel.
    pub kernel: f64,
    /// 95 % interval of it.
    pub kernel_interval: Option<Interval>,
    /// Value of the simulator.
    pub ours: f64,
    /// 95 % interval of it.
    pub ours_interval: Option<Interval>,
    /// The simulator's value over the kernel's, minus one.
    pub diff: f64,
}

impl Validation {
    /// The counted differences.
    pub fn counted(&self) -> Vec<f64> {
        self.rows.iter().filter(|row| row.counted).map(|row| row.diff).collect()
    }

    /// Median of their absolute values.
    pub fn median_abs_diff(&self) -> Option<f64> {
        median(&self.counted().into_iter().map(f64::abs).collect::<Vec<f64>>())
    }

    /// Figures over the distributions of each stack, in the order of the set.
    pub fn overall(&self) -> Vec<(&'static str, Overall)> {
        let mut stacks: Vec<&'static str> = Vec::new();
        for row in &self.spreads {
            if !stacks.contains(&row.subject.stack) {
                stacks.push(row.subject.stack);
            }
        }
        let of = |stack| self.spreads.iter().filter(move |row| row.subject.stack == stack);
        stacks.into_iter().map(|stack| (stack, Overall::of(of(stack)))).collect()
    }

    /// Largest of their absolute values.
    pub fn worst(&self) -> Option<f64> {
        self.counted().into_iter().map(f64::abs).reduce(f64::max)
    }
}

/// Runs the simulator over the scenarios of `set` that `series` has, with their numbers of
/// repetitions, and compares the two. `on_entry` is called with the next entry.
pub fn validate(
    set: &ValidationSet,
    series: &Series,
    watcher: &dyn Watcher,
    on_entry: &dyn Fn(&Entry),
) -> Result<Validation, StudyError> {
    let has_runs = |entry: &&Entry| series.find(&entry.name).is_some();
    let mut result = Validation {
        rows: Vec::new(),
        apart: Vec::new(),
        spreads: Vec::new(),
        decisions: Vec::new(),
        scenarios: set.entries.len(),
        unrecorded: set.entries.len() - set.entries.iter().filter(has_runs).count(),
        left_out: Vec::new(),
    };
    for entry in &set.entries {
        on_entry(entry);
        match usable(entry, series) {
            Ok(recorded) => judge(entry, recorded, watcher, &mut result)?,
            Err(reason) => result.left_out.push(format!("{}: {reason}", entry.name)),
        }
        if watcher.is_stopped() {
            break;
        }
    }
    Ok(result)
}

fn usable<'s>(entry: &Entry, series: &'s Series) -> Result<&'s Recorded, String> {
    let recorded = series.find(&entry.name).ok_or(NO_RUNS)?;
    if recorded.lacks_page(entry) {
        let name = show_traffic(&entry.scenario.traffic);
        return Err(format!(
            "the recording of `{name}` is not here; name the folder that has web/epload and \
             web/paper000 with `--data DIR` or ANABRANCH_DATA"
        ));
    }
    match recorded.stale(entry) {
        None => Ok(recorded),
        Some(change) => Err(format!("the scenario changed since it was recorded: {change}")),
    }
}

fn judge(
    entry: &Entry,
    recorded: &Recorded,
    watcher: &dyn Watcher,
    result: &mut Validation,
) -> Result<(), StudyError> {
    let variants = entry.variants();
    let scenario = counterparts(&entry.scenario, &variants);
    let runs = if scenario.path_noise().is_zero() { entry.runs() } else { entry.most_runs };
    let study = run_study(&Scenario { runs: Runs::Fixed(runs), ..scenario }, None, watcher)?;
    let mut spreads = Vec::new();
    for emulated in &variants {
        let Some(kernel) = recorded.find(&emulated.name) else {
            result
                .left_out
                .push(format!("{}: there are no recorded runs of {}", entry.name, emulated.name));
            continue;
        };
        let ours = runs_of(&study, &emulated.variant.name);
        let spread = Spread::new(subject(entry, emulated, kernel), (entry, emulated), kernel, ours);
        spreads.extend(spread.map(|spread| (emulated, spread)));
        let ours: Vec<f64> = ours.iter().filter_map(|run| run.value).collect();
        let subject = subject(entry, emulated, kernel);
        let (theirs, name) = (kernel.values(), &emulated.name);
        if theirs.is_empty() || ours.is_empty() {
            let whose = if ours.is_empty() { "simulated" } else { "recorded" };
            result.left_out.push(format!("{}: no {whose} run of {name} finished", entry.name));
            continue;
        }
        match entry.judged_by {
            Judged::Mean => {
                let row = row(subject.clone(), &theirs, &ours);
                let apart = apart(entry, subject, &theirs, &ours);
                if row.as_ref().is_none_or(|row| !row.counted) && apart.kernel_modes.len() > 1 {
                    result.apart.push(apart);
                }
                result.rows.extend(row);
            }
            Judged::Quantiles => result.apart.push(apart(entry, subject, &theirs, &ours)),
        }
    }
    let pairs: Vec<_> = spreads.iter().map(|(emulated, spread)| (*emulated, spread)).collect();
    result.decisions.extend(Decision::of(entry, &pairs));
    result.spreads.extend(spreads.into_iter().map(|(_, spread)| spread));
    Ok(())
}

/// The scenario with exactly the counterparts of the kernel's variants.
pub(super) fn counterparts(scenario: &Scenario, variants: &[Emulated]) -> Scenario {
    let has = |protocol: Protocol| variants.iter().any(|v| v.variant.protocol() == protocol);
    let protocols = Protocol::ALL.into_iter().filter(|protocol| has(*protocol)).collect();
    let schedulers = variants.iter().filter_map(|v| v.variant.scheduler());
    let mut schedulers: Vec<SchedulerChoice> = schedulers.cloned().collect();
    schedulers.dedup();
    let mut path_managers: Vec<_> =
        variants.iter().filter_map(|v| v.variant.path_manager()).collect();
    path_managers.dedup();
    let choices = Choices { protocols, schedulers, path_managers, ..scenario.choices.clone() };
    Scenario { choices, ..scenario.clone() }
}

fn runs_of<'s>(study: &'s Study, variant: &str) -> &'s [Run] {
    let runs = study.variants.iter().find(|runs| runs.variant.name == variant);
    runs.map_or(&[], |runs| &runs.runs)
}

fn subject(entry: &Entry, emulated: &Emulated, kernel: &RecordedVariant) -> Subject {
    Subject {
        scenario: entry.name.clone(),
        variant: emulated.name.clone(),
        stack: emulated.stack.name(),
        cc: emulated.variant.congestion.to_string(),
        metric: kernel.metric.clone(),
        unit: kernel.unit.clone(),
    }
}

fn estimate(values: &[f64]) -> Option<Estimate> {
    let interval = mean_interval(values, 0.95);
    Some(Estimate { n: values.len(), mean: mean(values)?, interval })
}

fn row(subject: Subject, theirs: &[f64], ours: &[f64]) -> Option<Row> {
    let joint = welch(ours, theirs).map_or(0.0, |interval| interval.half_width());
    let (kernel, ours) = (estimate(theirs)?, estimate(ours)?);
    if kernel.mean <= 0.0 {
        return None;
    }
    let diff = ours.mean / kernel.mean - 1.0;
    let excess = (diff.abs() - joint / kernel.mean).max(0.0);
    let known = |interval: Interval| interval.half_width() <= KNOWN * kernel.mean;
    let counted = kernel.interval.is_some_and(known);
    Some(Row { subject, kernel, ours, diff, excess, counted })
}

fn apart(entry: &Entry, subject: Subject, theirs: &[f64], ours: &[f64]) -> Apart {
    Apart {
        kernel_n: theirs.len(),
        ours_n: ours.len(),
        quantiles: quantile_rows(entry, &subject, theirs, ours),
        kernel_modes: modes(theirs),
        our_modes: modes(ours),
        subject,
    }
}

pub(super) fn quantile_rows(
    entry: &Entry,
    subject: &Subject,
    theirs: &[f64],
    ours: &[f64],
) -> Vec<QuantileRow> {
    let (seed, name) = (entry.scenario.seed, &subject.variant);
    let sorted = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted
    };
    let intervals = |values: &[f64], whose: &str| {
        quantile_intervals(values, &QUANTILES, seed, owner_of(&format!("{whose}/{name}")))
    };
    let (kernel_intervals, our_intervals) = (intervals(theirs, "kernel"), intervals(ours, "ours"));
    let (theirs, ours) = (sorted(theirs), sorted(ours));
    let quantiles = QUANTILES.iter().enumerate().filter_map(|(i, q)| {
        let (kernel, ours) = (quantile(&theirs, *q)?, quantile(&ours, *q)?);
        Some(QuantileRow {
            q: *q,
            kernel,
            kernel_interval: kernel_intervals.get(i).copied().flatten(),
            ours,
            ours_interval: our_intervals.get(i).copied().flatten(),
            diff: if kernel > 0.0 { ours / kernel - 1.0 } else { 0.0 },
        })
    });
    quantiles.collect()
}
