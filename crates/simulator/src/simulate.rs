//! Carrying out a run: the world is built, time passes, and the record is taken at its end.

mod build;
mod hosts;
mod layout;
mod notify;
mod progress;
mod sent;
mod sockets;

pub use sockets::socket_config;

use crate::capture::Capture;
use crate::failover::Ending;
use crate::run_error::RunError;
use crate::setup::{RunSetup, Until};
use crate::world::{Stopped, World, WorldError};
use base::{HostId, Instant, LinkId, Recorder};
use build::build;
use harness::{Captures, FlowRecord, RunRecord, SimulatedRecord};
use hosts::{FlowHosts, half};
use network::PathCounters;
use progress::Progress;
use traffic::{Half, Metric, Outcome, Traffic};

/// Where the servers listen: iperf's port.
const SERVER_PORT: u16 = 5001;

/// Carry out one run.
pub fn simulate(setup: &RunSetup) -> Result<RunRecord, RunError> {
    run(setup, None)
}

/// Carry out one run whose events also go to `recorder`.
pub fn simulate_recorded(
    setup: &RunSetup,
    recorder: Box<dyn Recorder>,
) -> Result<RunRecord, RunError> {
    run(setup, Some(recorder))
}

fn run(setup: &RunSetup, recorder: Option<Box<dyn Recorder>>) -> Result<RunRecord, RunError> {
    let flows = FlowHosts::all(setup)?;
    let mut world = build(setup, &flows)?;
    if let Some(recorder) = recorder {
        world.set_recorder(recorder);
    }
    let fault = |error: WorldError| RunError::World { error, seed: setup.seed, run: setup.run };
    let mut progress = Progress::new(setup, &flows);
    let mut stopped = progress.run(&mut world).map_err(fault)?;
    let mut records = progress.finish(&world);
    let ended = world.now();
    let was_idle = stopped == Stopped::Idle;
    let account = world.take_accounts().map(|accounts| accounts.finish(ended));
    let gaps = world.take_gaps();
    if setup.until == Until::Closed && stopped == Stopped::Condition {
        stopped = world.run_until(Instant::ZERO + setup.limit, |_| false).map_err(fault)?;
    }
    check_streams(setup, &world, &flows)?;
    for (record, flow) in records.iter_mut().zip(&flows) {
        complete(record, &world, flow);
    }
    let outcome = outcome(setup, &world, &flows[0], &records[0]);
    let ending = ending(&records[0], &outcome, &flows[0].flow.traffic, was_idle);
    let simulated = SimulatedRecord {
        idle: stopped == Stopped::Idle,
        account,
        failovers: gaps.map_or(Vec::new(), |gaps| gaps.finish(ended, ending)),
        hash: world.take_hash().map(|hash| hash.finish(&outcome)),
    };
    let (paths, shared) = (setup.network.paths.len(), setup.network.links.len());
    Ok(RunRecord {
        outcome,
        ended: ended - Instant::ZERO,
        flows: records,
        links: (0..paths).map(|path| counters(&world, path)).collect(),
        shared: (paths..paths + shared).map(|link| counters(&world, link)).collect(),
        captures: world.take_capture().and_then(files),
        simulated: Some(simulated),
    })
}

/// What is known of a flow only when nothing of the run is left to happen.
fn complete(record: &mut FlowRecord, world: &World<Half>, flow: &FlowHosts<'_>) {
    let (sender, receiver) = flow.ends();
    record.failure = flow.failure(world);
    record.data_packets = world.counters(receiver).data_packets;
    record.sender_subflows = subflows(world, flow, sender);
    record.receiver_subflows = subflows(world, flow, receiver);
}

/// The path of each subflow that a host has or had, in the first connection if there are several.
fn subflows(world: &World<Half>, flow: &FlowHosts<'_>, host: HostId) -> Vec<usize> {
    let socket = half(world, host).sockets().first().copied();
    let info = socket.and_then(|socket| world.info(host, socket));
    match info {
        None => vec![flow.first_path],
        Some(info) => info.paths.iter().map(|path| flow.path_of(path.interface)).collect(),
    }
}

/// The result of the measured flow. A goodput does not count what was read in the warm-up, unless
/// that was over when the traffic began.
fn outcome(
    setup: &RunSetup,
    world: &World<Half>,
    flow: &FlowHosts<'_>,
    record: &FlowRecord,
) -> Outcome {
    let [client, server] = flow.both().map(|host| half(world, host));
    let mut outcome = Half::outcome(&flow.flow.traffic, client, server, flow.flow.reverse);
    let begun = client.report().connected.unwrap_or(Instant::ZERO);
    let is_cut = Instant::ZERO + setup.warm_up > begun;
    if outcome.metric == Metric::Goodput && is_cut && outcome.is_complete() {
        outcome.value = record.goodput;
    }
    outcome
}

/// How the deliveries of the measured flow came to their end.
fn ending(record: &FlowRecord, outcome: &Outcome, traffic: &Traffic, was_idle: bool) -> Ending {
    let complete = outcome.is_complete();
    match traffic {
        _ if record.failure.is_some() || (was_idle && !complete) => Ending::Failed,
        Traffic::BulkTime(_) => Ending::Cut,
        _ if complete => Ending::Delivered,
        _ => Ending::Cut,
    }
}

fn files(capture: Capture) -> Option<Captures> {
    let [sender, receiver] = capture.into_files().try_into().ok()?;
    Some(Captures { sender, receiver })
}

/// The links of a path or, numbered behind all paths, of a shared link: down, up.
const fn links_of(path: usize) -> [LinkId; 2] {
    [LinkId(2 * path as u32), LinkId(2 * path as u32 + 1)]
}

fn counters(world: &World<Half>, path: usize) -> PathCounters {
    let [down, up] = links_of(path).map(|link| world.link_stats(link));
    PathCounters { down, up }
}

fn check_streams(
    setup: &RunSetup,
    world: &World<Half>,
    flows: &[FlowHosts<'_>],
) -> Result<(), RunError> {
    let mut hosts = flows.iter().flat_map(FlowHosts::both);
    let Some(what) = hosts.find_map(|host| half(world, host).report().mismatch) else {
        return Ok(());
    };
    Err(RunError::StreamBroken { at: world.now(), what, seed: setup.seed, run: setup.run })
}
