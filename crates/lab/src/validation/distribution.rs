//! Distributions of both sides: one row per variant, one decision per scenario, and what they are
//! over the whole set.
//!
//! A kernel's figure that is known to 4 % is compared by means. A wider one is compared by medians,
//! and the half-width of the kernel's interval is no misfit. Both sides decide by the same rule:
//! the 95 % interval of the difference (Welch) between MPTCP and the best path alone.

use super::judge::{KNOWN, QuantileRow, Subject, quantile_rows};
use super::series::{RecordedRun, RecordedVariant};
use super::set::Entry;
use crate::comparison::{Class, margin};
use crate::run::Run;
use crate::stack::Emulated;
use crate::statistics::{Mode, mean, mean_interval, median, modes, quantile, welch};
use base::Blocked;
use std::iter;

/// Recorded runs below which a figure is not judged.
const FEWEST: usize = 4;
/// Largest median of the misfits of MPTCP on scenarios that nobody has looked at.
pub const MOST_MEDIAN: f64 = 0.02;
/// Largest 90th percentile of them, and largest misfit of a figure that is not known to 4 %.
pub const MOST_P90: f64 = 0.08;
/// Largest misfit of a figure that is known to 4 %.
pub const MOST_WORST: f64 = 0.15;
/// Largest share of the scenarios in which one side decides and the other does not.
pub const MOST_ONE_SIDED: f64 = 0.10;
/// Largest difference of a path's share of the bytes.
pub(super) const SHARE_WITHIN: f64 = 0.05;
/// Least share of the scenarios in which the shares are within it.
pub const LEAST_SHARES: f64 = 0.95;

/// A variant of a scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct Spread {
    /// Subject of the comparison.
    pub subject: Subject,
    /// The recorded runs.
    pub kernel: Side,
    /// The simulated runs.
    pub ours: Side,
    /// Compared quantiles.
    pub quantiles: Vec<QuantileRow>,
    /// Half-width of the 95 % interval of the kernel's mean, as a share of it; `None` for a single
    /// run.
    pub half_width: Option<f64>,
    /// The simulator's value over the kernel's, minus one: of means if the kernel's is known to
    /// 4 %, else of medians.
    pub diff: f64,
    /// Its size; of medians, less the half-width.
    pub misfit: f64,
    /// Largest difference of a path's share of the bytes; `None` over a single path.
    pub share_diff: Option<f64>,
}

/// The runs of a side.
#[derive(Clone, PartialEq, Debug)]
pub struct Side {
    /// Values of the finished runs, ascending.
    pub values: Vec<f64>,
    /// Number of runs that did not finish.
    pub incomplete: usize,
    /// Mean of the values.
    pub mean: f64,
    /// Median of the values.
    pub median: f64,
    /// Modes, from the smallest.
    pub modes: Vec<Mode>,
    /// Mean share of the bytes first sent on each path.
    pub shares: Vec<f64>,
    /// Mean number of segments sent again; `None` where it was not recorded.
    pub retransmitted_segs: Option<f64>,
    /// Mean number of bytes sent on another path, too; `None` where it was not recorded.
    pub reinjected_bytes: Option<f64>,
    /// Mean seconds limited by the receive window: of the kernel's subflows together, of our
    /// connection.
    pub receive_window: Option<f64>,
    /// Mean seconds limited by the send buffer, in the same way.
    pub send_buffer: Option<f64>,
}

/// Decisions of both sides on one congestion control of a scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct Decision {
    /// Name of the scenario.
    pub scenario: String,
    /// Congestion control.
    pub cc: String,
    /// Of the kernel's runs.
    pub kernel: Class,
    /// Of the simulated runs.
    pub ours: Class,
}

/// What rows are over the whole set.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Overall {
    /// Number of rows.
    pub n: usize,
    /// Rows whose kernel's figure is known to 4 %.
    pub known: usize,
    /// Rows with too few recorded runs, which are not in the figures below.
    pub too_few: usize,
    /// Median of the misfits.
    pub median: Option<f64>,
    /// 90th percentile of the misfits.
    pub p90: Option<f64>,
    /// Largest misfit where the kernel's figure is known.
    pub worst_known: Option<f64>,
    /// Largest misfit elsewhere.
    pub worst_wide: Option<f64>,
    /// Rows with several paths.
    pub shared: usize,
    /// Of these, rows whose shares are within 5 points.
    pub shares_within: usize,
}

impl Overall {
    /// Over these rows.
    pub fn of<'a>(rows: impl Iterator<Item = &'a Spread>) -> Overall {
        let rows: Vec<&Spread> = rows.collect();
        let judged: Vec<&&Spread> = rows.iter().filter(|row| row.is_judged()).collect();
        let mut misfits: Vec<f64> = judged.iter().map(|row| row.misfit).collect();
        misfits.sort_by(f64::total_cmp);
        let worst = |known: bool| {
            let of = judged.iter().filter(|row| row.is_known() == known);
            of.map(|row| row.misfit).reduce(f64::max)
        };
        let shares: Vec<f64> = rows.iter().filter_map(|row| row.share_diff).collect();
        Overall {
            n: rows.len(),
            known: rows.iter().filter(|row| row.is_known()).count(),
            too_few: rows.len() - judged.len(),
            median: median(&misfits),
            p90: quantile(&misfits, 0.9),
            worst_known: worst(true),
            worst_wide: worst(false),
            shared: shares.len(),
            shares_within: shares.iter().filter(|diff| **diff <= SHARE_WITHIN).count(),
        }
    }
}

impl Spread {
    /// Whether the kernel's mean is known to 4 %.
    pub fn is_known(&self) -> bool {
        self.is_judged() && self.half_width.is_some_and(|half| half <= KNOWN)
    }

    /// Whether the recorded runs are enough for an interval. Two that agree are not.
    pub fn is_judged(&self) -> bool {
        self.kernel.values.len() >= FEWEST
    }

    /// Whether the misfit is within what is wanted on scenarios that nobody has looked at.
    pub fn is_within(&self) -> bool {
        self.misfit <= if self.is_known() { MOST_WORST } else { MOST_P90 }
    }

    /// The row of a variant; `None` without finished runs of either side.
    pub(super) fn new(
        subject: Subject,
        (entry, emulated): (&Entry, &Emulated),
        kernel: &RecordedVariant,
        ours: &[Run],
    ) -> Option<Spread> {
        let (kernel, ours) = (kernel_side(kernel)?, our_side(ours)?);
        let quantiles = quantile_rows(entry, &subject, &kernel.values, &ours.values);
        let Misfit { half_width, diff, misfit } = Misfit::of(&kernel, &ours);
        let differences = kernel.shares.iter().zip(&ours.shares).map(|(a, b)| (a - b).abs());
        let share_diff = differences.reduce(f64::max);
        let share_diff = share_diff.filter(|_| emulated.variant.single_path().is_none());
        Some(Spread { subject, kernel, ours, quantiles, half_width, diff, misfit, share_diff })
    }
}

/// How far the simulator is from the kernel.
struct Misfit {
    half_width: Option<f64>,
    diff: f64,
    misfit: f64,
}

impl Misfit {
    fn of(kernel: &Side, ours: &Side) -> Misfit {
        let interval = mean_interval(&kernel.values, 0.95).filter(|_| kernel.mean > 0.0);
        let half_width = interval.map(|interval| interval.half_width() / kernel.mean);
        let over = |ours: f64, kernel: f64| if kernel > 0.0 { ours / kernel - 1.0 } else { 0.0 };
        if half_width.is_some_and(|half| half <= KNOWN) {
            let diff = over(ours.mean, kernel.mean);
            return Misfit { half_width, diff, misfit: diff.abs() };
        }
        let diff = over(ours.median, kernel.median);
        let misfit = (diff.abs() - half_width.unwrap_or(0.0)).max(0.0);
        Misfit { half_width, diff, misfit }
    }
}

impl Decision {
    /// Whether both sides decide, and differently.
    pub fn contradicts(&self) -> bool {
        let [kernel, ours] = [self.kernel, self.ours].map(is_decided);
        kernel && ours && self.kernel != self.ours
    }

    /// Whether one side decides and the other does not.
    pub fn is_one_sided(&self) -> bool {
        is_decided(self.kernel) != is_decided(self.ours)
    }

    /// The decisions of a scenario, from its rows with their variants.
    pub(super) fn of(entry: &Entry, rows: &[(&Emulated, &Spread)]) -> Vec<Decision> {
        let several = rows.iter().filter(|(emulated, _)| emulated.variant.single_path().is_none());
        let decision = |(emulated, row): &(&Emulated, &Spread)| {
            let alone = rows.iter().filter(|(other, _)| {
                let same = other.variant.congestion == emulated.variant.congestion;
                same && other.variant.single_path().is_some()
            });
            let alone: Vec<&Spread> = alone.map(|(_, row)| *row).collect();
            if alone.len() < entry.scenario.paths.len() {
                return None;
            }
            let class = |side: fn(&Spread) -> &Side| {
                let alone: Vec<&[f64]> =
                    alone.iter().map(|row| side(row).values.as_slice()).collect();
                class(entry, &side(row).values, &alone)
            };
            Some(Decision {
                scenario: entry.name.clone(),
                cc: row.subject.cc.clone(),
                kernel: class(|row| &row.kernel),
                ours: class(|row| &row.ours),
            })
        };
        several.filter_map(decision).collect()
    }
}

fn is_decided(class: Class) -> bool {
    class != Class::Undecided
}

/// The class of these values against the best of the others.
fn class(entry: &Entry, values: &[f64], alone: &[&[f64]]) -> Class {
    let metric = entry.scenario.metric;
    let larger = metric.larger_is_better();
    let better = |a: &f64, b: &f64| if larger { b.total_cmp(a) } else { a.total_cmp(b) };
    let best = alone.iter().filter_map(|values| Some((mean(values)?, *values)));
    let Some((reference, best)) = best.min_by(|(a, _), (b, _)| better(a, b)) else {
        return Class::Undecided;
    };
    let Some(interval) = welch(values, best) else { return Class::Undecided };
    let margin = margin(&entry.scenario, metric, reference);
    let (low, high) =
        if larger { (-interval.high, -interval.low) } else { (interval.low, interval.high) };
    if high < -margin {
        Class::PaysOff
    } else if low > margin {
        Class::Hurts
    } else if low >= -margin && high <= margin {
        Class::NoDifference
    } else {
        Class::Undecided
    }
}

fn kernel_side(variant: &RecordedVariant) -> Option<Side> {
    let runs: Vec<&RecordedRun> = variant.runs.iter().filter(|run| run.invalid.is_none()).collect();
    let finished: Vec<&RecordedRun> =
        runs.iter().copied().filter(|run| run.value.is_some()).collect();
    let average = |of: fn(&RecordedRun) -> Option<f64>| {
        mean(&finished.iter().filter_map(|run| of(run)).collect::<Vec<f64>>())
    };
    let limited = |run: &RecordedRun, what: usize| {
        let sum = run.limited_us.iter().map(|of| of[what]).sum::<u64>() as f64;
        (!run.limited_us.is_empty()).then_some(sum / 1e6)
    };
    let paths: Vec<&[u64]> = finished.iter().map(|run| run.path_bytes.as_slice()).collect();
    let values = finished.iter().filter_map(|run| run.value).collect();
    let (windows, buffers): (Vec<_>, Vec<_>) =
        finished.iter().map(|run| (limited(run, 1), limited(run, 2))).unzip();
    let known = |of: Vec<Option<f64>>| mean(&of.into_iter().flatten().collect::<Vec<f64>>());
    let side = side(values, &paths)?;
    Some(Side {
        incomplete: runs.len() - finished.len(),
        retransmitted_segs: average(|run| run.retransmitted_segs.map(|segs| segs as f64)),
        reinjected_bytes: average(|run| run.reinjected_bytes.map(|bytes| bytes as f64)),
        receive_window: known(windows),
        send_buffer: known(buffers),
        ..side
    })
}

fn our_side(runs: &[Run]) -> Option<Side> {
    let finished: Vec<&Run> = runs.iter().filter(|run| run.value.is_some()).collect();
    let average = |of: &dyn Fn(&Run) -> Option<f64>| {
        mean(&finished.iter().filter_map(|run| of(run)).collect::<Vec<f64>>())
    };
    let stopped = |why: Blocked| {
        average(&|run| run.account.map(|account| account.of(why).time.as_secs_f64()))
    };
    let sent: Vec<Vec<u64>> = finished.iter().map(|run| sent_bytes(run)).collect();
    let paths: Vec<&[u64]> = sent.iter().map(Vec::as_slice).collect();
    let side = side(finished.iter().filter_map(|run| run.value).collect(), &paths)?;
    Some(Side {
        incomplete: runs.len() - finished.len(),
        retransmitted_segs: average(&|run| Some(run.retransmitted_segs as f64)),
        reinjected_bytes: average(&|run| Some(run.reinjected_bytes as f64)),
        receive_window: stopped(Blocked::ReceiveWindow),
        send_buffer: stopped(Blocked::SendBuffer),
        ..side
    })
}

/// Payload bytes sent on each path, retransmissions on the same path excluded. Counters of a kernel
/// have reinjected data in them, too (`tcpi_bytes_sent` less `tcpi_bytes_retrans`).
fn sent_bytes(run: &Run) -> Vec<u64> {
    let reinjected = run.repeated.iter().map(|path| path.reinjected_bytes).chain(iter::repeat(0));
    run.first_sent_bytes.iter().zip(reinjected).map(|(first, again)| first + again).collect()
}

/// Values and the bytes of each run by path; everything else is absent.
fn side(mut values: Vec<f64>, paths: &[&[u64]]) -> Option<Side> {
    values.sort_by(f64::total_cmp);
    let share = |bytes: &[u64], path: usize| {
        let all = bytes.iter().sum::<u64>();
        Some(*bytes.get(path)? as f64 / all as f64).filter(|_| all > 0)
    };
    let number = paths.iter().map(|bytes| bytes.len()).max().unwrap_or(0);
    let shares = (0..number).map(|path| {
        let of: Vec<f64> = paths.iter().filter_map(|bytes| share(bytes, path)).collect();
        mean(&of).unwrap_or(0.0)
    });
    Some(Side {
        incomplete: 0,
        mean: mean(&values)?,
        median: median(&values)?,
        modes: modes(&values),
        shares: shares.collect(),
        retransmitted_segs: None,
        reinjected_bytes: None,
        receive_window: None,
        send_buffer: None,
        values,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::SourceFile;
    use crate::scenario::Options;
    use crate::validation::ValidationSet;
    use std::sync::Arc;

    fn entry() -> Entry {
        let text = "series = 'x'\n[[scenario]]\nname = 'a'\ntraffic = 'bulk:1MiB'\n\
                    path.a = 'rate 10mbit delay 10ms limit 100p'";
        let file = Arc::new(SourceFile { name: "set.toml".into(), text: text.into() });
        ValidationSet::read(&file, &Options::default()).unwrap().entries.remove(0)
    }

    fn misfit(kernel: &[f64], ours: &[f64]) -> (f64, f64) {
        let [kernel, ours] = [kernel, ours].map(|values| side(values.to_vec(), &[]).unwrap());
        let Misfit { diff, misfit, .. } = Misfit::of(&kernel, &ours);
        (diff, misfit)
    }

    #[test]
    fn known_figure_is_compared_by_means_and_a_wide_one_by_medians_less_its_half_width() {
        let (diff, known) = misfit(&[1.0, 1.0, 1.01, 0.99], &[1.1, 1.3, 1.2, 1.2]);
        assert!((diff - 0.2).abs() < 1e-9 && (known - 0.2).abs() < 1e-9);
        // Mean 1.25, median 1.0, half-width 64 % of the mean.
        let kernel = [1.0, 1.0, 1.0, 2.0];
        let (diff, wide) = misfit(&kernel, &[1.5, 1.5, 1.5, 1.5]);
        assert!((diff - 0.5).abs() < 1e-9 && wide == 0.0);
        let (diff, wide) = misfit(&kernel, &[3.0, 3.0, 3.0, 3.0]);
        assert!((diff - 2.0).abs() < 1e-9 && wide > 1.3 && wide < 1.4, "{wide}");
    }

    #[test]
    fn class_is_that_of_the_best_path_alone_and_of_the_interval() {
        let alone: [&[f64]; 2] = [&[1.0, 1.001, 1.002], &[2.0, 2.001, 2.002]];
        for (values, expected) in [
            ([0.8, 0.801, 0.802], Class::PaysOff),
            ([1.2, 1.201, 1.202], Class::Hurts),
            ([1.0, 1.01, 1.02], Class::NoDifference),
            ([0.8, 1.0, 1.2], Class::Undecided),
        ] {
            assert_eq!(class(&entry(), &values, &alone), expected, "{values:?}");
        }
    }

    #[test]
    fn sides_that_decide_differently_contradict_and_an_undecided_one_does_not() {
        use Class::{Hurts, NoDifference, PaysOff, Undecided};
        for (kernel, ours, contradicts, one_sided) in [
            (PaysOff, PaysOff, false, false),
            (NoDifference, PaysOff, true, false),
            (PaysOff, Hurts, true, false),
            (Undecided, PaysOff, false, true),
            (Undecided, Undecided, false, false),
        ] {
            let decision = Decision { scenario: "a".into(), cc: "reno".into(), kernel, ours };
            assert_eq!(
                (decision.contradicts(), decision.is_one_sided()),
                (contradicts, one_sided),
                "{decision:?}"
            );
        }
    }
}
