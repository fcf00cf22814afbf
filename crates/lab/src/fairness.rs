//! Competing connections: goodputs, the share against TCP, Jain's index, and convergence.
//!
//! With x_i the goodputs of all n connections, Jain's index is (sum x_i)^2 / (n sum x_i^2): 1 when
//! all are equal, 1/n when one has everything (Jain, Chiu and Hawe, DEC TR-301, 1984). The share
//! is the goodput of the compared connection over the mean goodput of the competing TCP flows.
//! Flows of UDP are not elastic and do not enter the index. The time of convergence is the
//! earliest second after the last start from which on the index stays at 0.9 or above until the
//! end. The index is taken over windows of five seconds and over the connections that last to the
//! end of the window. A run keeps these as further numbers by name, so that every file has them.

use crate::run::Run;
use crate::scenario::{Protocol, Scenario};
use crate::statistics::{Interval, interval_of_several, mean};
use base::Duration;
use harness::{FlowRecord, RunRecord};
use traffic::Metric;

/// Seconds over which the index is taken for convergence.
pub const WINDOW: usize = 5;
/// Least index of converged connections.
pub const CONVERGED: f64 = 0.9;

/// Prefixes of the numbers of competing connections.
const PREFIXES: [&str; 2] = ["flows/", "flow/"];
const MAIN: &str = "flows/main";
const TCP_SHARE: &str = "flows/tcp_share";
const JAIN: &str = "flows/jain";
const CONVERGENCE: &str = "flows/convergence_time";

/// Competing connections over the runs of a variant.
#[derive(Clone, PartialEq, Debug)]
pub struct Fairness {
    /// The goodput of the compared connection, bit/s.
    pub main: Option<Estimate>,
    /// The mean goodput of every kind of flow, in the order of the scenario, bit/s.
    pub kinds: Vec<Option<Estimate>>,
    /// The competing connections one by one.
    pub flows: Vec<FlowSummary>,
    /// Goodput of the compared connection over the mean of the TCP flows.
    pub tcp_share: Option<Estimate>,
    /// Jain's index over all connections.
    pub jain: Option<Estimate>,
    /// Seconds from the last start until convergence, over the runs that converged.
    pub convergence: Option<Estimate>,
    /// Number of runs that converged.
    pub converged: usize,
    /// Number of runs.
    pub runs: usize,
    /// Flows without a goodput in some runs, with the number of those runs.
    pub absent: Vec<(String, usize)>,
}

/// A mean over runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// Mean of the runs.
    pub mean: f64,
    /// 95 % interval; `None` of a single run.
    pub interval: Option<Interval>,
}

/// One competing connection.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowSummary {
    /// Its name in the scenario, with a number if there are several.
    pub name: String,
    /// `tcp`, `mptcp`.
    pub protocol: Protocol,
    /// Names of its paths.
    pub paths: Vec<String>,
    /// In bit/s.
    pub goodput: Option<Estimate>,
    /// Share of the payload on each path, of a flow over several paths.
    pub share: Vec<(String, f64)>,
}

/// Whether a further number of a run is one of these.
pub(crate) fn is_of_flows(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The further numbers of a run with competing connections; none without them.
pub(crate) fn numbers(scenario: &Scenario, record: &RunRecord) -> Vec<(String, f64)> {
    let (main, competing) = (record.measured(), record.competing());
    if competing.is_empty() {
        return Vec::new();
    }
    let own = match record.outcome.metric {
        Metric::Goodput => record.outcome.value,
        _ => main.goodput,
    };
    let mut numbers: Vec<(String, f64)> = Vec::new();
    let mut add = |name: &str, value: Option<f64>| {
        numbers.extend(value.map(|value| (name.to_owned(), value)));
    };
    // UDP takes its rate whatever the others have.
    let elastic = named(scenario, competing).filter(|(.., protocol)| *protocol != Protocol::Udp);
    let elastic: Vec<&FlowRecord> = elastic.map(|(_, flow, _)| flow).collect();
    let all: Vec<f64> =
        own.into_iter().chain(elastic.iter().filter_map(|flow| flow.goodput)).collect();
    add(MAIN, own);
    add(TCP_SHARE, own.and_then(|own| Some(own / tcp_goodput(scenario, competing)?)));
    // A single connection has no index.
    add(JAIN, jain(&all).filter(|_| all.len() > 1));
    add(CONVERGENCE, convergence(main, &elastic).filter(|_| !elastic.is_empty()));
    for (name, flow, protocol) in named(scenario, competing) {
        add(&format!("flow/{name}"), flow.goodput);
        let sent: u64 = flow.sent.first_sent_bytes.iter().sum();
        for (path, bytes) in scenario.paths.iter().zip(&flow.sent.first_sent_bytes) {
            if (protocol.is_multipath() || protocol.is_sctp()) && sent > 0 {
                let share = *bytes as f64 / sent as f64;
                add(&format!("flow/{name}/{}", path.name), Some(share));
            }
        }
    }
    numbers
}

/// The records of flows with their names and protocols.
fn named<'a>(
    scenario: &'a Scenario,
    records: &'a [FlowRecord],
) -> impl Iterator<Item = (String, &'a FlowRecord, Protocol)> {
    let protocols =
        scenario.flows.iter().flat_map(|flow| flow.names().into_iter().map(|n| (n, flow.protocol)));
    protocols.zip(records).map(|((name, protocol), record)| (name, record, protocol))
}

/// Mean goodput of the TCP flows that have one.
fn tcp_goodput(scenario: &Scenario, competing: &[FlowRecord]) -> Option<f64> {
    let tcp = named(scenario, competing).filter(|(.., protocol)| *protocol == Protocol::Tcp);
    mean(&tcp.filter_map(|(_, flow, _)| flow.goodput).collect::<Vec<f64>>())
        .filter(|goodput| *goodput > 0.0)
}

/// Jain's index; `None` if all goodputs are zero.
fn jain(goodputs: &[f64]) -> Option<f64> {
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|goodput| goodput * goodput).sum();
    (squares > 0.0).then(|| sum * sum / (goodputs.len() as f64 * squares))
}

/// Seconds from the last start until convergence; `None` if there is none.
fn convergence(main: &FlowRecord, flows: &[&FlowRecord]) -> Option<f64> {
    let all = || std::iter::once(main).chain(flows.iter().copied());
    let last_start = all().map(|flow| flow.started).max()?;
    let seconds = all().map(|flow| flow.read_by.len()).min()?;
    let first = usize::try_from(last_start.as_nanos().div_ceil(1_000_000_000)).ok()?;
    let index = |from: usize| {
        let to = from + WINDOW;
        let end = Duration::from_secs(to as u64);
        let there = all().filter(|flow| flow.ended.is_none_or(|ended| ended >= end));
        let read = there.map(|flow| (flow.read_by[to] - flow.read_by[from]) as f64);
        jain(&read.collect::<Vec<f64>>())
    };
    let is_even = |from: &usize| index(*from).is_some_and(|index| index >= CONVERGED);
    let since = (first..seconds.saturating_sub(WINDOW)).rev().take_while(is_even).last()?;
    Some(since as f64 - last_start.as_secs_f64())
}

impl Fairness {
    /// Over these runs; `None` without competing flows.
    pub(crate) fn new(scenario: &Scenario, runs: &[Run]) -> Option<Fairness> {
        if scenario.flows.is_empty() {
            return None;
        }
        let estimate = |name: &str| Estimate::of(&values(runs, name));
        let kind = |names: Vec<String>| {
            let of_run = |run: &Run| {
                let goodputs = names.iter().filter_map(|name| value(run, &format!("flow/{name}")));
                mean(&goodputs.collect::<Vec<f64>>())
            };
            Estimate::of(&runs.iter().filter_map(of_run).collect::<Vec<f64>>())
        };
        Some(Fairness {
            main: estimate(MAIN),
            kinds: scenario.flows.iter().map(|flow| kind(flow.names())).collect(),
            flows: flows(scenario, runs),
            tcp_share: estimate(TCP_SHARE),
            jain: estimate(JAIN),
            convergence: estimate(CONVERGENCE),
            converged: values(runs, CONVERGENCE).len(),
            runs: runs.len(),
            absent: absent(scenario, runs),
        })
    }
}

/// The flows without a goodput in some runs, because the run ended before they started or they
/// ended within the warm-up.
fn absent(scenario: &Scenario, runs: &[Run]) -> Vec<(String, usize)> {
    let names = scenario.flow_names().into_iter();
    let counted = names.map(|name| {
        let number = format!("flow/{name}");
        let missing = runs.iter().filter(|run| value(run, &number).is_none()).count();
        (name, missing)
    });
    counted.filter(|(_, missing)| *missing > 0).collect()
}

impl Estimate {
    fn of(values: &[f64]) -> Option<Estimate> {
        Some(Estimate { mean: mean(values)?, interval: interval_of_several(values) })
    }
}

fn flows(scenario: &Scenario, runs: &[Run]) -> Vec<FlowSummary> {
    let named = scenario.flows.iter().flat_map(|flow| {
        let paths = flow.paths.iter().filter_map(|path| scenario.paths.get(*path));
        let paths: Vec<String> = paths.map(|path| path.name.clone()).collect();
        flow.names().into_iter().map(move |name| (name, flow.protocol, paths.clone()))
    });
    let summary = |(name, protocol, paths): (String, Protocol, Vec<String>)| {
        let on = |path: &String| {
            Some((path.clone(), mean(&values(runs, &format!("flow/{name}/{path}")))?))
        };
        let share = paths.iter().filter_map(on).collect();
        let goodput = Estimate::of(&values(runs, &format!("flow/{name}")));
        FlowSummary { name, protocol, paths, goodput, share }
    };
    named.map(summary).collect()
}

fn values(runs: &[Run], name: &str) -> Vec<f64> {
    runs.iter().filter_map(|run| value(run, name)).collect()
}

fn value(run: &Run, name: &str) -> Option<f64> {
    run.extra.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Read at these rates in bytes per second, from second to second.
    fn flow(started_ms: u64, rates: &[u64]) -> FlowRecord {
        let mut read_by = vec![0];
        for rate in rates {
            read_by.push(read_by[read_by.len() - 1] + rate);
        }
        let started = Duration::from_millis(started_ms);
        FlowRecord { started, read_by, ..FlowRecord::default() }
    }

    #[test]
    fn jain_is_one_of_equals_and_a_half_of_all_or_nothing() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[5.0, 0.0]), Some(0.5));
        assert_eq!(jain(&[2.0, 1.0]), Some(0.9));
        assert_eq!(jain(&[0.0, 0.0]), None);
    }

    #[test]
    fn convergence_is_counted_from_the_last_start() {
        let main = flow(0, &[10; 20]);
        let mut slow_start = vec![0, 0, 0, 1, 2];
        slow_start.extend([10; 15]);
        // Sums of five seconds from 2 s on: 0+1+2+10+10 = 23 of 50, index 0.88; then 33 of 50.
        let late = flow(1_500, &slow_start);
        assert_eq!(convergence(&main, &[&late]), Some(1.5));
        assert_eq!(convergence(&main, &[&flow(1_000, &[10; 20])]), Some(0.0));
    }

    #[test]
    fn what_is_uneven_at_the_end_has_not_converged() {
        let main = flow(0, &[10; 20]);
        let mut fades = vec![10; 15];
        fades.extend([0; 5]);
        assert_eq!(convergence(&main, &[&flow(0, &fades)]), None);
        assert_eq!(convergence(&main, &[&flow(0, &[10; 4])]), None, "too short for a window");
        let mut ended = flow(0, &fades);
        ended.ended = Some(Duration::from_secs(15));
        assert_eq!(convergence(&main, &[&ended]), Some(0.0), "who is done does not count");
    }
}
