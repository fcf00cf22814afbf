//! From the record of a repetition, emulated or simulated, to a [`Run`].

use crate::run::{Drops, OBJECT_TIME, Run};
use crate::scenario::Scenario;
use crate::{failover, fairness};
use harness::RunRecord;
use traffic::Outcome;

impl Run {
    /// The run of repetition `number` of a scenario. A run in real time has no hash, since it
    /// cannot be reproduced exactly.
    pub fn new(scenario: &Scenario, number: u64, record: &RunRecord) -> Run {
        let measured = record.measured();
        let mut extra = extra_of(&record.outcome);
        extra.extend(fairness::numbers(scenario, record));
        extra.extend(failover::numbers(scenario, record));
        Run {
            number,
            metric: record.outcome.metric,
            value: record.outcome.value,
            extra,
            histograms: Vec::new(),
            parts: record.outcome.parts.len() as u64,
            ended: record.ended.as_secs_f64(),
            bytes_read: record.outcome.bytes_read,
            data_packets: measured.data_packets,
            retransmitted_segs: measured.sent.retransmitted_segs,
            reinjected_bytes: measured.sent.reinjected_bytes,
            duplicate_bytes: measured.duplicate_bytes,
            sacks: measured.sacks,
            first_sent_bytes: measured.sent.first_sent_bytes.clone(),
            repeated: measured.sent.repeated.clone(),
            account: record.account(),
            drops: Drops::of(record.links.iter().chain(&record.shared)),
            failure: measured.failure.as_ref().map(ToString::to_string),
            hash: record.hash().unwrap_or_default(),
        }
    }
}

/// Most objects of a page with a number of their own; each is a column of files.
const MOST_OBJECT_TIMES: usize = 1000;

/// Further numbers of a run, by name.
fn extra_of(outcome: &Outcome) -> Vec<(String, f64)> {
    let extra = outcome.extra.iter().map(|(name, value)| ((*name).to_owned(), *value));
    extra.chain(object_times(outcome)).collect()
}

/// The time of every object of a page, by its number from 1. Thousands of messages of a call are
/// summarised by the numbers of the outcome.
fn object_times(outcome: &Outcome) -> impl Iterator<Item = (String, f64)> {
    let is_page = outcome.metric.has_objects() && outcome.message_delays.len() <= MOST_OBJECT_TIMES;
    let times =
        outcome.message_delays.iter().zip(1..).filter(move |(time, _)| is_page && time.is_finite());
    times.map(|(time, number)| (format!("{OBJECT_TIME}{number}"), *time))
}
