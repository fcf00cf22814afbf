//! The document of `run --json`: one repetition of each variant, with counters of each link.

use super::json::{SCHEMA, blocking, competition, path, repeated};
use crate::blocking::{Blocking, Repeats};
use crate::repetition::Repetition;
use crate::scenario::Scenario;
use crate::traffic_spec::show_traffic;
use crate::words::hex;
use network::LinkStats;
use serde_json::{Map, Value, json};

/// The document for repetition `number`.
pub fn repetition_document(scenario: &Scenario, number: u64, of: &[Repetition]) -> Value {
    let paths: Vec<Value> = scenario.paths.iter().map(path).collect();
    let metric = of.first().map(|one| one.run.metric);
    let mut document = json!({
        "schema": SCHEMA,
        "traffic": show_traffic(&scenario.traffic),
        "metric": metric.map(traffic::Metric::name),
        "unit": metric.map(traffic::Metric::unit),
        "seed": scenario.seed,
        "run": number,
        "reverse": scenario.ends.reverse,
        "paths": paths,
        "variants": of.iter().map(|one| variant(scenario, one)).collect::<Vec<_>>(),
        "notes": scenario.notes,
    });
    competition(scenario, &mut document);
    document
}

fn variant(scenario: &Scenario, one: &Repetition) -> Value {
    let run = &one.run;
    let sent: u64 = run.first_sent_bytes.iter().sum();
    let names = || scenario.paths.iter().map(|path| path.name.clone());
    let share = |bytes: &u64| json!(*bytes as f64 / sent.max(1) as f64);
    let share: Map<String, Value> = names().zip(run.first_sent_bytes.iter().map(share)).collect();
    let counters =
        |path: &simulator::PathCounters| json!({"down": link(&path.down), "up": link(&path.up)});
    let shared = scenario.links.iter().map(|link| link.name.clone());
    let links: Map<String, Value> =
        names().chain(shared).zip(one.links.iter().map(counters)).collect();
    let extra = run.extra.iter().map(|(name, value)| (name.clone(), json!(value)));
    json!({
        "name": one.variant.name,
        "value": run.value,
        "failure": run.failure,
        "ended": run.ended,
        "bytes_read": run.bytes_read,
        "data_packets": run.data_packets,
        "retransmitted_segments": run.retransmitted_segs,
        "reinjected_bytes": run.reinjected_bytes,
        "duplicate_bytes": run.duplicate_bytes,
        "sacks": run.sacks,
        "sacks_per_data_packet": run.sacks_per_data_packet(),
        "share": share,
        "links": links,
        "extra": extra.collect::<Map<String, Value>>(),
        "blocking": blocking(Blocking::mean(std::slice::from_ref(run)).as_ref()),
        "repeated": repeated(&Repeats::mean(scenario, std::slice::from_ref(run))),
        "hash": hex(&run.hash),
    })
}

/// Packets of a link by outcome.
fn link(link: &LinkStats) -> Value {
    json!({
        "accepted": link.accepted,
        "delivered": link.delivered,
        "bytes_delivered": link.bytes_delivered,
        "dropped_full": link.of_full_queue(),
        "dropped_early": link.early(),
        "dropped_random": link.lost,
        "dropped_down": link.dropped_down,
        "duplicated": link.duplicated,
        "corrupted": link.corrupted,
    })
}
