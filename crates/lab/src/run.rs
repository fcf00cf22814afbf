//! The part of a run record that a study keeps: the source of all results and files.
//!
//! Plain values, so that a run read back from a file equals the run that was carried out.

mod histogram;

pub use histogram::{Ccdf, Counted, Histogram};

use crate::scenario::{Scenario, Variant};
use harness::{Account, Repeated};
use network::{LinkStats, PathCounters};
use std::collections::BTreeSet;
use traffic::{Measure, Metric, Source};

/// A repetition of a variant.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// Its number, which keys its random draws.
    pub number: u64,
    /// The metric of `value`.
    pub metric: Metric,
    /// In the metric's unit; `None` if the run did not finish.
    pub value: Option<f64>,
    /// Further numbers of the traffic model by name, in SI units.
    pub extra: Vec<(String, f64)>,
    /// Distributions of its packets, with `--packet-metrics`.
    pub histograms: Vec<Histogram>,
    /// Measured messages, or objects of the page; their delays are in [`crate::delays`].
    pub parts: u64,
    /// Seconds until the value was known or the run ended as incomplete.
    pub ended: f64,
    /// Application bytes read in the measured direction.
    pub bytes_read: u64,
    /// Segments with payload that reached the receiver.
    pub data_packets: u64,
    /// Segments retransmitted on their own path.
    pub retransmitted_segs: u64,
    /// Bytes assigned to a second path although another one had them.
    pub reinjected_bytes: u64,
    /// Bytes that reached the receiver more than once.
    pub duplicate_bytes: u64,
    /// SACKs and NR-SACKs of the receiver; `None` without SCTP, and where the number is not known.
    pub sacks: Option<u64>,
    /// Payload first sent on each path, in the order of the scenario.
    pub first_sent_bytes: Vec<u64>,
    /// Repeated segments on each path, in the order of the scenario; empty where unknown, as for
    /// kernels.
    pub repeated: Vec<Repeated>,
    /// Times by state, where known.
    pub account: Option<Account>,
    /// Dropped and lost packets.
    pub drops: Drops,
    /// Why the connection failed, if it did.
    pub failure: Option<String>,
    /// SHA-256 over its packet and delivery events and metric values; zeros where it was not
    /// recorded, as in real time.
    pub hash: [u8; 32],
}

/// Dropped and lost packets by cause, over both directions of all paths and shared links.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Drops {
    /// The queue was full.
    pub full: u64,
    /// Early drops of the queue discipline.
    pub early: u64,
    /// Random loss.
    pub random: u64,
    /// The link was down.
    pub down: u64,
}

/// A run and its variant.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Names of the variant.
    pub labels: Labels,
    /// The run.
    pub run: Run,
}

/// The names of a variant in files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Labels {
    /// The variant's name.
    pub variant: String,
    /// `tcp`, `mptcp`.
    pub protocol: String,
    /// The path of a single-path variant; otherwise empty.
    pub path: String,
    /// The scheduler of a multi-path variant; otherwise empty.
    pub scheduler: String,
    /// The congestion control; empty of UDP.
    pub congestion: String,
}

/// Prefix of the numbers of single objects of a page.
pub(crate) const OBJECT_TIME: &str = "object_time/";

/// The least that the largest fail-over time of a run can be, in seconds, where nothing was
/// delivered after a failure until the run ended.
pub(crate) const FAILOVER_AT_LEAST: &str = "failover_at_least";

/// Beginning of the failure of a discarded run.
pub(crate) const DISTURBED: &str = "the emulation was disturbed";

impl Run {
    /// Bytes of memory that the run takes, without the allocator's own.
    pub fn memory(&self) -> usize {
        let numbers = self.extra.iter().map(|(name, _)| name.capacity()).sum::<usize>();
        let pairs = self.extra.capacity() * size_of::<(String, f64)>();
        let histograms = self.histograms.capacity() * size_of::<Histogram>()
            + self.histograms.iter().map(Histogram::memory).sum::<usize>();
        let paths = self.first_sent_bytes.capacity() * size_of::<u64>()
            + self.repeated.capacity() * size_of::<Repeated>();
        let failure = self.failure.as_ref().map_or(0, String::capacity);
        size_of::<Run>() + numbers + pairs + histograms + paths + failure
    }

    /// The number that `measure` is of this run; `None` where there is none, as of a run that did
    /// not finish.
    pub fn measured(&self, measure: Measure) -> Option<f64> {
        match measure.source {
            Source::Value => self.value,
            Source::Rate => self.value.map(|time| self.bytes_read as f64 * 8.0 / time),
            Source::Further(name) if measure == Measure::FAILOVER => {
                self.further(name).or_else(|| self.further(FAILOVER_AT_LEAST))
            }
            Source::Further(name) => self.value.and_then(|_| self.further(name)),
        }
    }

    /// Whether it ran in real time: then nothing reproduces it exactly, and it has no hash. (Those
    /// of a reproduction, which have none either, are not asked.)
    pub(crate) fn is_in_real_time(&self) -> bool {
        self.hash == [0; 32]
    }

    /// SACKs per packet with data that reached the receiver.
    pub fn sacks_per_data_packet(&self) -> Option<f64> {
        let sacks = self.sacks.filter(|_| self.data_packets > 0)?;
        Some(sacks as f64 / self.data_packets as f64)
    }

    /// The further number of this name.
    pub(crate) fn further(&self, name: &str) -> Option<f64> {
        self.extra.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
    }

    /// Whether the run was discarded because the machine disturbed its emulation. It says nothing
    /// about the variant.
    pub fn is_discarded(&self) -> bool {
        let disturbed = self.failure.as_ref().is_some_and(|why| why.starts_with(DISTURBED));
        disturbed && self.value.is_none()
    }
}

/// Names of the further numbers of these runs that `is_meant`, each once. A run may lack some, as
/// of a path that it did not use; the run with most of them comes first, so that its order is kept.
pub(crate) fn names_of<'a>(
    runs: &[&'a Run],
    is_meant: impl Fn(&str) -> bool,
) -> impl Iterator<Item = &'a str> {
    let most = runs.iter().max_by_key(|run| run.extra.iter().filter(|of| is_meant(&of.0)).count());
    let mut known = BTreeSet::new();
    let mut names = Vec::new();
    for run in most.into_iter().chain(runs) {
        let meant = run.extra.iter().map(|(name, _)| name.as_str()).filter(|name| is_meant(name));
        names.extend(meant.filter(|name| known.insert(*name)));
    }
    names.into_iter()
}

impl Drops {
    /// The sums over these paths and shared links.
    pub(crate) fn of<'a>(links: impl Iterator<Item = &'a PathCounters> + Clone) -> Drops {
        let sum = |counter: fn(&LinkStats) -> u64| -> u64 {
            links.clone().map(|path| counter(&path.down) + counter(&path.up)).sum()
        };
        Drops {
            full: sum(LinkStats::of_full_queue),
            early: sum(LinkStats::early),
            random: sum(|link| link.lost),
            down: sum(|link| link.dropped_down),
        }
    }
}

impl Labels {
    /// The names of a variant of this scenario.
    pub fn new(scenario: &Scenario, variant: &Variant) -> Labels {
        let path = variant.single_path().and_then(|path| scenario.paths.get(path));
        Labels {
            variant: variant.name.clone(),
            protocol: variant.protocol().name().to_owned(),
            path: path.map_or(String::new(), |path| path.name.clone()),
            scheduler: variant.scheduler_name().unwrap_or_default(),
            congestion: variant.control().unwrap_or_default(),
        }
    }
}
