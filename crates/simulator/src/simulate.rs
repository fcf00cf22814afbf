//! Carrying out a run: the world of two hosts and N paths, and the record at its end.
//!
//! Path P has the addresses 10.0.P.1 (client) and 10.0.P.2 (server), or fd00::P:1 and fd00::P:2.
//! Links are numbered 2P (down) and 2P + 1 (up), NIC links come after all of them. Where links are
//! shared or other flows compete, `layout` says how it all meets, and `flows` has those flows.

mod flows;
mod layout;
mod news;
mod sent;

use crate::accounts::Accounts;
use crate::capture::Capture;
use crate::failover::{Ending, Gaps, disruptions};
use crate::host::Endpoint;
use crate::managers;
use crate::result_hash::ResultHash;
use crate::run::{Captures, Multipath, Protocol, RunError, RunRecord, RunSetup, Until};
use crate::world::{Stopped, Told, World, WorldError};
use base::{Chance, HostId, Instant, InterfaceId, LinkId, Recorder};
use flows::{Progress, add_flows, check_flows};
use layout::Layout;
use network::{
    Direction, End, LinkConfig, Network, PathCounters, PathSetup, ScheduledChange, Wiring,
};
use news::Party;
use sent::{Sent, sent};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use traffic::{Application, Half, Metric, Role, StreamFailure, Traffic};
use transport::mptcp::{Failover, MptcpConfig};
use transport::path_manager::PathManagerKind;
use transport::{InterfaceConfig, InterfaceEvent, ProtocolConfig, StackConfig, TcpConfig};

const CLIENT: HostId = HostId(0);
/// Lists of gateways that `binder` takes, as its kernel module.
const MOST_GATEWAYS: usize = 10;
const SERVER: HostId = HostId(1);
/// Where the server listens: iperf's port.
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
    let mut world = build(setup)?;
    if let Some(recorder) = recorder {
        world.set_recorder(recorder);
    }
    let fault = |error| fault(setup, error);
    let limit = Instant::ZERO + setup.limit;
    let mut progress = Progress::new(setup);
    let mut stopped = progress.run(&mut world).map_err(fault)?;
    let mut sent = sent(setup, &world);
    let mut flows = progress.finish(&world);
    let main = (!flows.is_empty()).then(|| flows.remove(0));
    if let Some(main) = &main {
        sent.first_sent_bytes.clone_from(&main.first_sent_bytes);
    }
    let ended = world.now();
    let idle = stopped == Stopped::Idle;
    let account = world.take_accounts().map(|accounts| accounts.finish(ended));
    let gaps = world.take_gaps();
    if setup.until == Until::Closed && stopped == Stopped::Condition {
        stopped = world.run_until(limit, |_| false).map_err(fault)?;
    }
    check_streams(setup, &world)?;
    let mut outcome = outcome(setup, &world);
    if outcome.metric == Metric::Goodput && !setup.warm_up.is_zero() && outcome.is_complete() {
        outcome.value = main.as_ref().and_then(|main| main.goodput);
    }
    let ending = ending(setup, &world, idle, outcome.is_complete());
    let failovers = gaps.map_or(Vec::new(), |gaps| gaps.finish(ended, ending));
    let ends_of_shared = setup.paths.len() + setup.links.len();
    let mut links: Vec<PathCounters> = (0..ends_of_shared).map(|p| counters(&world, p)).collect();
    let shared = links.split_off(setup.paths.len());
    let (sender, receiver) = ends(setup);
    Ok(RunRecord {
        sender_subflows: subflows(setup, &world, sender),
        receiver_subflows: subflows(setup, &world, receiver),
        ended: ended - Instant::ZERO,
        idle: stopped == Stopped::Idle,
        first_sent_bytes: sent.first_sent_bytes,
        retransmitted_segs: sent.retransmitted_segs,
        reinjected_bytes: sent.reinjected_bytes,
        probe_bytes: sent.probe_bytes,
        repeated: sent.repeated,
        account,
        failovers,
        duplicate_bytes: sent.duplicate_bytes,
        data_packets: world.counters(receiver).data_packets,
        packets: links.iter().map(|path| path.down.delivered + path.up.delivered).sum(),
        links,
        failure: failure(&world),
        captures: world.take_capture().and_then(files),
        hash: world.take_hash().map(|hash| hash.finish(&outcome)),
        outcome,
        main,
        flows,
        shared,
    })
}

/// Why the connection failed, if it did.
fn failure(world: &World<Half>) -> Option<StreamFailure> {
    [CLIENT, SERVER].iter().find_map(|host| half(world, *host).report().failure)
}

/// How the deliveries came to their end.
fn ending(setup: &RunSetup, world: &World<Half>, idle: bool, complete: bool) -> Ending {
    match setup.traffic {
        _ if failure(world).is_some() || (idle && !complete) => Ending::Failed,
        Traffic::BulkTime(_) => Ending::Cut,
        _ if complete => Ending::Delivered,
        _ => Ending::Cut,
    }
}

/// The path of each subflow that a host has or had, in the first connection if there are several.
fn subflows(setup: &RunSetup, world: &World<Half>, host: HostId) -> Vec<usize> {
    let socket = half(world, host).sockets().first().copied();
    let info = socket.and_then(|socket| world.info(host, socket));
    info.filter(|info| info.protocol.is_multipath()).map_or_else(
        || vec![setup.protocol.first_path()],
        |info| info.paths.iter().map(|path| path.interface.index()).collect(),
    )
}

fn files(capture: Capture) -> Option<Captures> {
    let [sender, receiver] = capture.into_files().try_into().ok()?;
    Some(Captures { sender, receiver })
}

/// The sender and the receiver of the data.
const fn ends(setup: &RunSetup) -> (HostId, HostId) {
    if setup.reverse { (CLIENT, SERVER) } else { (SERVER, CLIENT) }
}

/// The number of the run is known, or never will be.
fn measured(world: &World<Half>) -> bool {
    [CLIENT, SERVER].iter().any(|host| half(world, *host).is_done())
}

fn half(world: &World<Half>, host: HostId) -> &Half {
    // `build` gives each host exactly one application.
    world.applications(host).next().unwrap_or_else(|| unreachable!("one application a host"))
}

fn outcome(setup: &RunSetup, world: &World<Half>) -> traffic::Outcome {
    let [client, server] = [CLIENT, SERVER].map(|host| half(world, host));
    Half::outcome(&setup.traffic, client, server, setup.reverse)
}

fn counters(world: &World<Half>, path: usize) -> PathCounters {
    let [down, up] = links_of(path).map(|link| world.link_stats(link));
    PathCounters { down, up }
}

fn check_streams(setup: &RunSetup, world: &World<Half>) -> Result<(), RunError> {
    let hosts = 2 + 2 * setup.flows.len() as u16;
    let mut hosts = (0..hosts).map(HostId);
    let mismatch = hosts.find_map(|host| half(world, host).report().mismatch);
    match mismatch {
        None => Ok(()),
        Some(what) => {
            Err(RunError::StreamBroken { at: world.now(), what, seed: setup.seed, run: setup.run })
        }
    }
}

fn fault(setup: &RunSetup, error: WorldError) -> RunError {
    RunError::World { error, seed: setup.seed, run: setup.run }
}

/// The world of a run, everything in it but the recorder.
fn build(setup: &RunSetup) -> Result<World<Half>, RunError> {
    let first = setup.protocol.first_path();
    if first >= setup.paths.len() {
        return Err(RunError::NoSuchPath(first));
    }
    let chance = Chance::new(setup.seed, setup.run);
    check_flows(setup)?;
    let Layout { network, access } = Layout::new(setup)?;
    let mut world = World::new(chance, &network).map_err(RunError::Topology)?;
    for path in setup.paths.iter().chain(setup.links.iter().map(|shared| &shared.link)) {
        add_links(&mut world, path);
    }
    for (number, delay) in access.into_iter().enumerate() {
        // Nothing on them is left to chance.
        world.add_link(LinkConfig { delay, ..LinkConfig::default() }, number as u64);
    }
    for (host, cost) in [(CLIENT, setup.client_cost), (SERVER, setup.server_cost)] {
        let id = world.add_host(stack_config(setup, host), cost, setup.nic);
        debug_assert_eq!(id, host);
    }
    for (number, path) in setup.paths.iter().enumerate() {
        add_events(&mut world, number, path);
    }
    for (number, shared) in setup.links.iter().enumerate() {
        add_events_of_shared(&mut world, setup.paths.len() + number, &shared.link);
    }
    add_news(&mut world, setup);
    add_applications(setup, &mut world)?;
    add_flows(&mut world, setup)?;
    world.set_pass_through(setup.pass_through);
    if setup.hash {
        world.set_hash(ResultHash::new(LinkId(network.links.len() as u32)));
    }
    if setup.accounts {
        let (sender, receiver) = ends(setup);
        world.set_accounts(Accounts::new(sender, receiver));
    }
    let disruptions = disruptions(setup);
    if !disruptions.is_empty() {
        let first = setup.protocol.first_path();
        world.set_gaps(Gaps::new(ends(setup), first, setup.start, disruptions));
    }
    if setup.capture {
        let (sender, receiver) = ends(setup);
        let names: Vec<&str> = setup.paths.iter().map(|path| path.name.as_str()).collect();
        let capture = Capture::new(&[sender, receiver], &names);
        world.set_capture(capture.map_err(|_| RunError::PathNames)?);
    }
    Ok(world)
}

fn stack_config(setup: &RunSetup, host: HostId) -> StackConfig {
    let interfaces = (0..setup.paths.len())
        .map(|path| InterfaceConfig { addresses: vec![address(setup, path, host)], mtu: setup.mtu })
        .collect();
    StackConfig { interfaces }
}

fn address(setup: &RunSetup, path: usize, host: HostId) -> IpAddr {
    let (high, low) = ((path >> 8) as u8, path as u8);
    let number = host.0 + 1;
    if setup.ipv6 {
        Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, path as u16, number).into()
    } else {
        Ipv4Addr::new(10, high, low, number as u8).into()
    }
}

/// Two links for each path, one each way.
fn network(paths: usize) -> Network {
    let links = (0..paths as u16).flat_map(|number| {
        let [client, server] = [CLIENT, SERVER].map(|host| End::Host(host, InterfaceId(number)));
        [Wiring { from: server, to: client }, Wiring { from: client, to: server }]
    });
    Network { links: links.collect(), routes: Vec::new() }
}

/// The links of a path: down, up.
const fn links_of(path: usize) -> [LinkId; 2] {
    [LinkId(2 * path as u32), LinkId(2 * path as u32 + 1)]
}

fn add_links(world: &mut World<Half>, path: &PathSetup) {
    world.add_link(path.down.clone(), path.owner(Direction::Down));
    world.add_link(path.up.clone(), path.owner(Direction::Up));
}

fn add_events(world: &mut World<Half>, number: usize, path: &PathSetup) {
    let [down, up] = links_of(number);
    for (direction, link, host) in [(Direction::Down, down, SERVER), (Direction::Up, up, CLIENT)] {
        for ScheduledChange { at, change, told_up } in path.changes(direction) {
            let interface = InterfaceId(number as u16);
            let told = told_up.map(|up| {
                let event = if up { InterfaceEvent::Up } else { InterfaceEvent::Down };
                Told { host, interface, event }
            });
            world.change_at(Instant::ZERO + at, link, change, told);
        }
    }
}

/// What the hosts are told, but what `add_events` says, and the resets.
fn add_news(world: &mut World<Half>, setup: &RunSetup) {
    let flows = (0..setup.flows.len()).map(|number| Party::of_flow(setup, number));
    let flows: Vec<Party<'_>> = flows.collect();
    flows.iter().for_each(|flow| flow.tell_links(world));
    for party in std::iter::once(&Party::measured(setup)).chain(&flows) {
        party.tell_backups(world);
        party.tell_marks(world);
    }
}

/// Nobody is told of what happens beyond his own link.
fn add_events_of_shared(world: &mut World<Half>, number: usize, link: &PathSetup) {
    for (direction, id) in [Direction::Down, Direction::Up].into_iter().zip(links_of(number)) {
        for ScheduledChange { at, change, .. } in link.changes(direction) {
            world.change_at(Instant::ZERO + at, id, change, None);
        }
    }
}

fn add_applications(setup: &RunSetup, world: &mut World<Half>) -> Result<(), RunError> {
    let first = setup.protocol.first_path();
    let [client, server] = [CLIENT, SERVER].map(|host| address(setup, first, host));
    let remote = SocketAddr::new(server, SERVER_PORT);
    for (host, role, local) in [(CLIENT, Role::Client, client), (SERVER, Role::Server, server)] {
        let listen = (role == Role::Server).then_some(SERVER_PORT);
        let start = if role == Role::Client { setup.start } else { base::Duration::ZERO };
        let starts_at = Instant::ZERO + start;
        let mut socket = socket_config(setup);
        if let (Role::Client, ProtocolConfig::Mptcp(config)) = (role, &mut socket) {
            config.backup = Party::measured(setup).backups();
        }
        if let ProtocolConfig::Mptcp(config) = &mut socket {
            complete(setup, host, config);
        }
        let endpoint = Endpoint { local, remote, listen, starts_at, socket };
        let application = Half::new(&setup.traffic, role, setup.reverse, 0);
        world.add_application(host, application, endpoint).map_err(RunError::Socket)?;
    }
    Ok(())
}

/// What only one of the hosts is told, for its path manager.
pub fn complete(setup: &RunSetup, host: HostId, config: &mut MptcpConfig) {
    let paths = setup.paths.len();
    let own = |path| address(setup, path, host);
    managers::complete(config, setup.kernel.as_ref(), host, paths, own);
    // Every path but the first has a gateway.
    let others = (0..paths).filter(|path| *path != setup.protocol.first_path());
    config.gateways = others.take(MOST_GATEWAYS).map(|path| InterfaceId(path as u16)).collect();
    if setup.simultaneous_syn && matches!(config.path_manager, PathManagerKind::Fullmesh { .. }) {
        let first = setup.protocol.first_path();
        let others = (0..paths).filter(|path| host == CLIENT && *path != first);
        let ends = |path| {
            (
                address(setup, path, CLIENT),
                SocketAddr::new(address(setup, path, SERVER), SERVER_PORT),
            )
        };
        config.simultaneous_syn = Some(others.map(ends).collect());
    }
}

/// What the hosts of a run speak.
pub fn socket_config(setup: &RunSetup) -> ProtocolConfig {
    let multipath = match &setup.protocol {
        Protocol::Tcp { .. } => None,
        Protocol::Mptcp(multipath) => Some(multipath),
    };
    socket_of(setup, &setup.tcp, multipath, setup.paths.len())
}

/// What hosts with so many paths speak.
fn socket_of(
    setup: &RunSetup,
    tcp: &TcpConfig,
    multipath: Option<&Multipath>,
    paths: usize,
) -> ProtocolConfig {
    let tcp = tcp.clone();
    let Some(multipath) = multipath else { return ProtocolConfig::Tcp(tcp) };
    ProtocolConfig::Mptcp(Box::new(MptcpConfig {
        scheduler: multipath.scheduler.clone(),
        policy: multipath.policy.clone(),
        path_manager: multipath.path_manager,
        failover: multipath
            .failover
            .unwrap_or_else(|| Failover::usual(tcp.profile, &multipath.scheduler)),
        checksum: multipath.checksum,
        mainline_limits: tcp.profile.switches().mainline_limits,
        tcp,
        // Every path that was named is meant to be used, but none leads into another.
        max_extra_subflows: u8::try_from(paths - 1).unwrap_or(u8::MAX),
        common_prefix_bits: Some(if setup.ipv6 { 112 } else { 24 }),
        ..MptcpConfig::default()
    }))
}
