//! The order of a recording, and how many runs a variant gets.
//!
//! Two runs of every variant of every scenario come first, then the rest of the runs that each has,
//! then those of variants whose figure is not known, so that an interrupted recording has
//! something of every scenario.

use super::series::{RecordedVariant, Series};
use super::set::Entry;
use crate::statistics::{mean, mean_interval};
use std::collections::BTreeSet;

/// Runs of every variant before any variant gets more.
const FIRST_RUNS: u32 = 2;
/// Half-width of the 95 % interval, as a share of the mean, above which a variant gets more runs.
const KNOWN: f64 = 0.04;
/// Two modes: the widest gap between neighbours of the sorted values is larger than this share of
/// their range, which of five values spread evenly has a probability of 6 %, ...
const PARTED: f64 = 0.75;
/// ... and larger than this share of their mean.
const APART: f64 = 0.02;

/// A run to record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Task {
    /// Place of the scenario in the set.
    pub entry: usize,
    /// Place of the variant in the scenario.
    pub variant: usize,
    /// Number of the run.
    pub number: u64,
}

/// What a round of the recording adds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Round {
    First,
    All,
    Further,
}

/// The runs that are missing, in the order of recording, with the names of the entries' variants.
/// Where the number of runs depends on values that are not there yet, further runs are left out.
pub(super) fn missing(entries: &[(Entry, Vec<String>)], series: &Series) -> Vec<Task> {
    let (mut tasks, mut planned) = (Vec::new(), BTreeSet::new());
    for round in [Round::First, Round::All, Round::Further] {
        for (place, (entry, variants)) in entries.iter().enumerate() {
            let recorded = series.find(&entry.name);
            let mut here = Vec::new();
            for (variant, name) in variants.iter().enumerate() {
                let there = recorded.and_then(|recorded| recorded.find(name));
                let numbers = 0..u64::from(wanted(entry, there, round));
                let lacks = |number: &u64| !there.is_some_and(|there| has(there, *number));
                let task = |number| Task { entry: place, variant, number };
                here.extend(numbers.filter(lacks).map(task));
            }
            here.sort_by_key(|task| (task.number, task.variant));
            here.retain(|task| planned.insert(*task));
            tasks.extend(here);
        }
    }
    tasks
}

/// Whether the variant has the run with this number. Runs that other load disturbed are repeated
/// by the next recording.
pub(super) fn has(variant: &RecordedVariant, number: u64) -> bool {
    variant.runs.iter().any(|run| run.number == number && run.invalid.is_none())
}

/// Runs that a variant has after this round.
fn wanted(entry: &Entry, recorded: Option<&RecordedVariant>, round: Round) -> u32 {
    let all = entry.runs();
    match round {
        Round::First => FIRST_RUNS.min(all),
        Round::All => all,
        Round::Further if entry.most_runs == all => all,
        Round::Further if entry.is_random() => entry.most_runs,
        Round::Further => {
            let enough = |recorded: &RecordedVariant| {
                (0..u64::from(all)).all(|number| has(recorded, number))
            };
            let Some(recorded) = recorded.filter(|recorded| enough(recorded)) else { return all };
            if is_known(recorded, all) { all } else { entry.most_runs }
        }
    }
}

/// Whether the first runs tell the figure: all of them finished, their interval is narrow, and
/// they are of one kind.
fn is_known(recorded: &RecordedVariant, runs: u32) -> bool {
    let first = recorded.runs.iter().filter(|run| run.number < u64::from(runs));
    let first: Option<Vec<f64>> =
        first.filter(|run| run.invalid.is_none()).map(|run| run.value).collect();
    first.is_some_and(|values| is_narrow(&values) && !has_two_modes(&values))
}

fn is_narrow(values: &[f64]) -> bool {
    let half = mean_interval(values, 0.95).map(|interval| interval.half_width());
    half.zip(mean(values)).is_some_and(|(half, mean)| half <= KNOWN * mean)
}

/// Whether a few values are of two kinds; `statistics::modes` needs more of them.
fn has_two_modes(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(first), Some(last), Some(mean)) = (sorted.first(), sorted.last(), mean(values))
    else {
        return false;
    };
    let widest = sorted.windows(2).map(|two| two[1] - two[0]).fold(0.0, f64::max);
    widest > PARTED * (last - first) && widest > APART * mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::SourceFile;
    use crate::scenario::Options;
    use crate::validation::{Machine, Recorded, RecordedRun, ValidationSet};
    use std::sync::Arc;

    const SET: &str = r#"
series = "kernel.json"
runs = 5
most-runs = 20
stacks = "kernel-tcp"
cc = "reno"
[[scenario]]
name = "clean"
traffic = "bulk:64KiB"
path.a = "rate 10mbit delay 10ms limit 100p"
path.b = "rate 5mbit delay 20ms limit 100p"
[[scenario]]
name = "lossy"
traffic = "burst:10"
path.a = "rate 10mbit delay 10ms loss 2% limit 100p"
"#;

    fn entries(text: &str) -> Vec<(Entry, Vec<String>)> {
        let file = Arc::new(SourceFile { name: "set.toml".into(), text: text.into() });
        let set = ValidationSet::read(&file, &Options::default()).unwrap();
        let names = |entry: &Entry| entry.variants().into_iter().map(|v| v.name).collect();
        set.entries.into_iter().map(|entry| (entry.clone(), names(&entry))).collect()
    }

    /// The values of every variant of the entry.
    fn add(series: &mut Series, (entry, names): &(Entry, Vec<String>), values: &[f64]) {
        let run = |(number, value): (u64, &f64)| RecordedRun {
            number,
            value: Some(*value),
            ..RecordedRun::default()
        };
        let variant = |name: &String| RecordedVariant {
            name: name.clone(),
            cc: "reno".into(),
            metric: "completion_time".into(),
            unit: "s".into(),
            runs: (0..).zip(values).map(run).collect(),
        };
        let variants = names.iter().map(variant).collect();
        series.replace(Recorded { variants, ..Recorded::new(entry) });
    }

    fn order(entries: &[(Entry, Vec<String>)], series: &Series) -> Vec<(usize, usize, u64)> {
        let task = |task: Task| (task.entry, task.variant, task.number);
        missing(entries, series).into_iter().map(task).collect()
    }

    #[test]
    fn two_runs_of_every_scenario_come_before_the_third_of_any() {
        let entries = entries(SET);
        let order = order(&entries, &Series::new(Machine::default()));
        let first = [(0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1), (1, 0, 0), (1, 0, 1)];
        assert_eq!(order[..6], first);
        assert_eq!(order[6..8], [(0, 0, 2), (0, 1, 2)]);
        assert_eq!(order.len(), 5 + 5 + 20, "random loss: 20 runs, else 5 so far");
        assert_eq!(order.last(), Some(&(1, 0, 19)));
    }

    #[test]
    fn figure_that_is_known_gets_no_more_runs_and_others_get_fifteen() {
        let entries = entries(SET);
        for (values, further) in [
            (&[1.0, 1.01, 1.02, 1.03, 1.04], 0),
            (&[1.0, 1.0, 1.0, 1.1, 1.1], 15),
            // The interval is narrow, but one run is of another kind.
            (&[1.0, 1.0, 1.001, 1.001, 1.025], 15),
            (&[1.0, 1.0, 1.001, 1.001, 1.015], 0),
        ] {
            let mut series = Series::new(Machine::default());
            add(&mut series, &entries[0], values);
            let here = order(&entries, &series);
            let here: Vec<_> = here.iter().filter(|task| task.0 == 0).collect();
            assert_eq!(here.len(), 2 * further, "{values:?}");
            assert!(here.iter().all(|task| task.2 >= 5));
        }
    }

    #[test]
    fn run_that_did_not_finish_asks_for_more_and_an_invalid_one_is_repeated() {
        let entries = entries(SET);
        let mut series = Series::new(Machine::default());
        add(&mut series, &entries[0], &[1.0; 5]);
        series.scenarios[0].variants[0].runs[3].value = None;
        series.scenarios[0].variants[1].runs[3].invalid = Some("late".into());
        let here = order(&entries, &series);
        assert_eq!(here.iter().filter(|task| (task.0, task.1) == (0, 0)).count(), 15);
        let again: Vec<_> = here.iter().filter(|task| (task.0, task.1) == (0, 1)).collect();
        assert_eq!(again, [&(0, 1, 3)]);
    }

    #[test]
    fn set_without_most_runs_has_its_own_number_everywhere() {
        let entries = entries(&SET.replace("most-runs = 20\n", ""));
        let mut series = Series::new(Machine::default());
        add(&mut series, &entries[0], &[1.0, 2.0, 3.0, 4.0, 5.0]);
        add(&mut series, &entries[1], &[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(order(&entries, &series), []);
    }
}
