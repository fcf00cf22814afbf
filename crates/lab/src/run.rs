//! What a study keeps of a repetition: everything that results and files are made of.
//!
//! Plain values, so that a run read back from a file equals the run that was carried out.

use crate::scenario::{Scenario, Variant};
use network::{LinkStats, PathCounters};
use simulator::{Account, Repeated, RunRecord};
use traffic::{Metric, Outcome};

/// A repetition of a variant.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// Its number, the key of its chance.
    pub number: u64,
    /// What was measured.
    pub metric: Metric,
    /// In the metric's unit; `None` if the run did not finish.
    pub value: Option<f64>,
    /// Further numbers of the traffic model by name, in SI units.
    pub extra: Vec<(String, f64)>,
    /// Seconds of virtual time until the value was known or given up.
    pub ended: f64,
    /// Application bytes read in the measured direction.
    pub bytes_read: u64,
    /// Segments with payload that reached the receiver.
    pub data_packets: u64,
    /// Segments sent again on their own path.
    pub retransmitted_segs: u64,
    /// Bytes handed to a second path although another one had them.
    pub reinjected_bytes: u64,
    /// Bytes that reached the receiver more than once.
    pub duplicate_bytes: u64,
    /// Payload first sent on each path, in the order of the scenario.
    pub first_sent_bytes: Vec<u64>,
    /// What was sent more than once on each path, in the order of the scenario; empty where that
    /// is not known, as of kernels.
    pub repeated: Vec<Repeated>,
    /// Where the time went, where that is known.
    pub account: Option<Account>,
    /// Packets that no receiver saw.
    pub drops: Drops,
    /// Why the connection failed, if it did.
    pub failure: Option<String>,
    /// SHA-256 over its packet and delivery events and metric values.
    pub hash: [u8; 32],
}

/// Lost packets by their cause, over both directions of all paths and shared links.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Drops {
    /// The queue was full.
    pub full: u64,
    /// The queue discipline chose them.
    pub early: u64,
    /// Random loss.
    pub random: u64,
    /// The link was down.
    pub down: u64,
}

/// A run and what it is a run of.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Which variant.
    pub labels: Labels,
    /// The run.
    pub run: Run,
}

/// A variant in words, as files have it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Labels {
    /// The variant's name.
    pub variant: String,
    /// `tcp`, `mptcp`.
    pub protocol: String,
    /// Of a single path; else empty.
    pub path: String,
    /// Of several paths; else empty.
    pub scheduler: String,
    /// The congestion control.
    pub congestion: String,
}

impl Run {
    /// What is kept of repetition `number`.
    pub fn new(number: u64, record: &RunRecord) -> Run {
        Run {
            number,
            metric: record.outcome.metric,
            value: record.outcome.value,
            extra: extra_of(&record.outcome),
            ended: record.ended.as_secs_f64(),
            bytes_read: record.outcome.bytes_read,
            data_packets: record.data_packets,
            retransmitted_segs: record.retransmitted_segs,
            reinjected_bytes: record.reinjected_bytes,
            duplicate_bytes: record.duplicate_bytes,
            first_sent_bytes: record.first_sent_bytes.clone(),
            repeated: record.repeated.clone(),
            account: record.account,
            drops: Drops::of(record.links.iter().chain(&record.shared)),
            failure: record.failure.as_ref().map(ToString::to_string),
            hash: record.hash.unwrap_or_default(),
        }
    }

    /// The same run with further numbers by name.
    #[must_use]
    pub(crate) fn with(mut self, numbers: Vec<(String, f64)>) -> Run {
        self.extra.extend(numbers);
        self
    }
}

/// Begins the names of the numbers that single objects of a page have.
pub(crate) const OBJECT_TIME: &str = "object_time/";

/// Objects of a page that have a number of their own; of more, files would be columns only.
const MOST_OBJECT_TIMES: usize = 1000;

/// Further numbers of a run, by name.
pub(crate) fn extra_of(outcome: &Outcome) -> Vec<(String, f64)> {
    let extra = outcome.extra.iter().map(|(name, value)| ((*name).to_owned(), *value));
    extra.chain(object_times(outcome)).collect()
}

/// The time of every object of a page, by its number from 1. Messages of a call are thousands:
/// what they amount to is in the outcome's numbers.
fn object_times(outcome: &Outcome) -> impl Iterator<Item = (String, f64)> {
    let is_page =
        outcome.metric == Metric::PageLoadTime && outcome.message_delays.len() <= MOST_OBJECT_TIMES;
    let times =
        outcome.message_delays.iter().zip(1..).filter(move |(time, _)| is_page && time.is_finite());
    times.map(|(time, number)| (format!("{OBJECT_TIME}{number}"), *time))
}

impl Drops {
    /// Over these paths and shared links.
    pub(crate) fn of<'a>(links: impl Iterator<Item = &'a PathCounters> + Clone) -> Drops {
        let sum = |counter: fn(&LinkStats) -> u64| -> u64 {
            links.clone().map(|path| counter(&path.down) + counter(&path.up)).sum()
        };
        Drops {
            full: sum(|link| link.dropped_full),
            early: sum(|link| link.dropped_early + link.dropped_queued),
            random: sum(|link| link.lost),
            down: sum(|link| link.dropped_down),
        }
    }
}

impl Labels {
    /// The words for a variant of this scenario.
    pub fn new(scenario: &Scenario, variant: &Variant) -> Labels {
        let path = variant.single_path().and_then(|path| scenario.paths.get(path));
        Labels {
            variant: variant.name.clone(),
            protocol: variant.protocol().name().to_owned(),
            path: path.map_or(String::new(), |path| path.name.clone()),
            scheduler: variant.scheduler().map(ToString::to_string).unwrap_or_default(),
            congestion: variant.congestion.to_string(),
        }
    }
}
