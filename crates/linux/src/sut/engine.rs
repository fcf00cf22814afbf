//! A repetition over our engine: one of its hosts at either end, behind the kernel as a router.
//!
//! ```text
//! engine -- engineN -- kernel as router ==path N== kernel as router -- engineN -- engine
//!           TUN                                                          TUN
//! ```
//!
//! Path N of the engine has the subnet 10.111.N.0/24 (or fd00:6e:0:N::/64), with the client in its
//! lower half and the server in its upper half. The engine's path manager matches addresses by this
//! common prefix. Routes stay in the namespaces; devices are removed with the run.

use super::watch::{Points, Seen, Watch};
use super::{SERVER_PORT, SutPath, SutPaths, SutQuantity, SutRecord, SutRun, SutSeries};
use super::{T3_TIMEOUTS, joined, settle_in};
use crate::address::Subnet;
use crate::clock::Clock;
use crate::emulator::ENGINE_DEVICE;
use crate::error::LiveError;
use crate::ledger::{Ledger, Sent};
use crate::live::{Endpoint, Live, Stopper};
use crate::namespace::Namespace;
use crate::netlink::{MAIN_TABLE, Route};
use crate::path::PathDevice;
use base::{Instant, PathId, SocketId};
use harness::FlowRecord;
use nix::libc;
use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use traffic::{Half, Role};
use transport::sctp::Addresses;
use transport::{Protocol, ProtocolConfig};

/// Length of the prefix of a path. That of one half is longer by one bit.
const SHARED_V4: u8 = 24;
const SHARED_V6: u8 = 64;

/// The results of one end.
struct End {
    half: Half,
    ledger: Ledger,
    seen: Seen,
    /// When this end finished.
    ended: Instant,
}

/// What both ends have in common.
struct Common<'a> {
    run: &'a SutRun<'a>,
    /// Paths that the engine uses.
    used: &'a [usize],
    /// The path that it begins on.
    first: usize,
    ipv4: bool,
    protocol: &'a ProtocolConfig,
    clock: Clock,
}

/// One end before it starts.
struct Plan {
    devices: Vec<PathDevice>,
    endpoint: Endpoint,
    half: Half,
    clock: Clock,
    limit: Instant,
}

pub(super) fn run(
    paths: SutPaths<'_>,
    run: &SutRun<'_>,
    path: usize,
    protocol: &ProtocolConfig,
) -> Result<SutRecord, LiveError> {
    let failed = |error: io::Error| LiveError::system("leading paths to the engine", &error);
    let used: Vec<usize> =
        if uses_all(protocol) { (0..paths.paths.len()).collect() } else { vec![path] };
    for role in [Role::Client, Role::Server] {
        for path in &used {
            route(paths, role, *path).map_err(failed)?;
        }
    }
    let ipv4 = paths.paths[path].client.is_ipv4();
    let common = Common { run, used: &used, first: path, ipv4, protocol, clock: Clock::start() };
    let (client, server) = carry_out(paths, common.plan(Role::Client), common.plan(Role::Server))?;
    record(paths.paths.len(), run, &used, protocol, [&client, &server])
}

/// Whether connections have every path: subflows of MPTCP, addresses of SCTP.
fn uses_all(protocol: &ProtocolConfig) -> bool {
    match protocol {
        ProtocolConfig::Sctp(config) => matches!(config.addresses, Addresses::All),
        other => other.protocol().is_multipath(),
    }
}

/// An address of one half of path number `path`: `host` is 1 for the kernel, 2 for the engine.
fn engine_address(path: usize, role: Role, ipv4: bool, host: u8) -> Subnet {
    let server = u8::from(role == Role::Server);
    if ipv4 {
        let address = Ipv4Addr::new(10, 111, path as u8, server << 7 | host);
        return Subnet { address: address.into(), prefix_len: SHARED_V4 + 1 };
    }
    let half = u16::from(server) << 15;
    let address = Ipv6Addr::new(0xfd00, 0x6e, 0, path as u16, half, 0, 0, host.into());
    Subnet { address: address.into(), prefix_len: SHARED_V6 + 1 }
}

const fn other(role: Role) -> Role {
    match role {
        Role::Client => Role::Server,
        Role::Server => Role::Client,
    }
}

/// Add the route of a namespace to the engine at the far end of a path.
fn route(paths: SutPaths<'_>, role: Role, number: usize) -> io::Result<()> {
    let SutPath { client, server, .. } = paths.paths[number];
    let (namespace, near, far): (&Namespace, IpAddr, IpAddr) = match role {
        Role::Client => (paths.client, client, server),
        Role::Server => (paths.server, server, client),
    };
    let ipv4 = near.is_ipv4();
    // Packets for the engine are forwarded from any device.
    let settings: &[(&str, &str)] = if ipv4 {
        &[
            ("ipv4.ip_forward", "1"),
            ("ipv4.conf.all.rp_filter", "0"),
            ("ipv4.conf.default.rp_filter", "0"),
        ]
    } else {
        &[("ipv6.conf.all.forwarding", "1")]
    };
    for (name, value) in settings {
        namespace.set(name, value)?;
    }
    let destination = engine_address(number, other(role), ipv4, 0);
    namespace.configure(|netlink| {
        let addresses = netlink.addresses()?;
        let here = addresses.iter().find(|(_, known)| known.subnet.address == near);
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("no device has {near}"));
        let device = here.ok_or_else(missing)?.0;
        let route = Route { destination, device, gateway: Some(far), table: MAIN_TABLE };
        match netlink.add_route(&route) {
            // Added by an earlier run.
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => Ok(()),
            added => added,
        }
    })
}

impl Common<'_> {
    fn plan(&self, role: Role) -> Plan {
        let device = |number: &usize| PathDevice {
            name: format!("{ENGINE_DEVICE}{number}"),
            addresses: vec![engine_address(*number, role, self.ipv4, 2)],
            backup: false,
        };
        Plan {
            devices: self.used.iter().map(device).collect(),
            endpoint: self.endpoint(role),
            half: Half::new(self.run.traffic, role, self.run.reverse, 0),
            clock: self.clock,
            limit: self.clock.now() + self.run.limit,
        }
    }

    fn endpoint(&self, role: Role) -> Endpoint {
        let address = |role| engine_address(self.first, role, self.ipv4, 2).address;
        let server = SocketAddr::new(address(Role::Server), SERVER_PORT);
        let mut protocol = self.protocol.clone();
        if let ProtocolConfig::Mptcp(config) = &mut protocol {
            config.common_prefix_bits = Some(if self.ipv4 { SHARED_V4 } else { SHARED_V6 });
            config.max_extra_subflows = config.path_manager.extra_subflows(self.used.len());
        }
        match role {
            Role::Client => Endpoint {
                local: Some(address(role)),
                remote: Some(server),
                listen: None,
                protocol,
            },
            Role::Server => Endpoint { local: None, remote: None, listen: Some(server), protocol },
        }
    }
}

/// Run both ends until one of them is done or the time is over. Returns client and server.
fn carry_out(paths: SutPaths<'_>, client: Plan, server: Plan) -> Result<(End, End), LiveError> {
    let stoppers = Mutex::new(Vec::new());
    let stoppers = &stoppers;
    thread::scope(|scope| {
        let (ready, listens) = channel();
        let server = scope.spawn(|| run_end(paths.server, server, stoppers, Some(ready)));
        // The server ended before it was ready.
        if listens.recv().is_err() {
            joined(server.join())?;
            return Err(LiveError::Failed("the engine's server ended at once".to_owned()));
        }
        let client = scope.spawn(|| run_end(paths.client, client, stoppers, None));
        let client = joined(client.join());
        stop_all(stoppers);
        let server = joined(server.join());
        Ok((client?, server?))
    })
}

fn stop_all(stoppers: &Mutex<Vec<Stopper>>) {
    let stoppers = stoppers.lock().unwrap_or_else(PoisonError::into_inner);
    stoppers.iter().for_each(Stopper::stop);
}

fn run_end(
    namespace: &Namespace,
    plan: Plan,
    stoppers: &Mutex<Vec<Stopper>>,
    ready: Option<Sender<()>>,
) -> Result<End, LiveError> {
    settle_in(namespace)?;
    let mut live = Live::open(&plan.devices, plan.endpoint, plan.half)?;
    let seen = Rc::new(RefCell::new(Seen::default()));
    live.measure(plan.clock, Box::new(Watch(Rc::clone(&seen))));
    stoppers.lock().unwrap_or_else(PoisonError::into_inner).push(live.stopper());
    if let Some(ready) = ready {
        // The receiver waits for this, unless it failed.
        let _ = ready.send(());
    }
    let mut ended = plan.clock.now();
    let result = live.run_measured(plan.limit, || {
        ended = plan.clock.now();
        stop_all(stoppers);
    });
    result?;
    let ledger = live.ledger().cloned().unwrap_or_default();
    let half = live.into_application();
    let seen = seen.take();
    Ok(End { half, ledger, seen, ended })
}

fn record(
    paths: usize,
    run: &SutRun<'_>,
    used: &[usize],
    protocol: &ProtocolConfig,
    [client, server]: [&End; 2],
) -> Result<SutRecord, LiveError> {
    let mut record = SutRecord::of_halves(run, paths, &client.half, &server.half)?;
    let (sender, receiver) = if run.reverse { (client, server) } else { (server, client) };
    let multipath = protocol.protocol() == Protocol::Mptcp;
    for (_, sent) in sender.ledger.connections() {
        if multipath && sent.fallback && record.run.measured().failure.is_none() {
            return Err(LiveError::Failed(
                "the engine fell back from MPTCP to plain TCP".to_owned(),
            ));
        }
        add_sent(record.flow_mut(), used, sent);
    }
    let duplicates = receiver.ledger.connections().map(|(_, sent)| sent.duplicate_bytes);
    record.flow_mut().duplicate_bytes = duplicates.sum();
    let sacks = receiver.ledger.connections().filter_map(|(_, sent)| sent.sacks);
    record.flow_mut().sacks = sacks.reduce(|sum, sacks| sum + sacks);
    record.flow_mut().data_packets = receiver.seen.arrived;
    if protocol.protocol().is_sctp() {
        let timeouts = sender.seen.t3_timeouts as f64;
        record.run.outcome.extra.push((T3_TIMEOUTS, timeouts));
    }
    record.congestion = protocol.congestion().iter().map(ToString::to_string).collect();
    record.series = series(sender, receiver, used);
    record.run.ended = client.ended.min(server.ended) - Instant::ZERO;
    Ok(record)
}

fn add_sent(flow: &mut FlowRecord, used: &[usize], sent: &Sent) {
    flow.sender_subflows.extend(on_paths(sent, used));
    for (interface, bytes) in sent.by_interface.first_sent_bytes.iter().enumerate() {
        if let Some(path) = used.get(interface) {
            flow.sent.first_sent_bytes[*path] += bytes;
        }
    }
    flow.sent.retransmitted_segs += sent.by_interface.retransmitted_segs;
    flow.sent.reinjected_bytes += sent.by_interface.reinjected_bytes;
}

/// The path of each subflow of a connection, by its number; of plain TCP the only path.
fn on_paths(sent: &Sent, used: &[usize]) -> Vec<usize> {
    if sent.subflows.is_empty() {
        return used.first().copied().into_iter().collect();
    }
    sent.subflows.iter().filter_map(|interface| used.get(*interface)).copied().collect()
}

/// The series of the connection that carried most, by path.
fn series(sender: &End, receiver: &End, used: &[usize]) -> Vec<SutSeries> {
    let most = sender.seen.sent_bytes.iter().max_by_key(|(_, bytes)| **bytes);
    let socket = most.map(|(socket, _)| *socket);
    let of = |wanted: SocketId| sender.ledger.connections().find(|(known, _)| *known == wanted);
    let paths = socket.and_then(of).map(|(_, sent)| on_paths(sent, used)).unwrap_or_default();
    let path_of = |subflow: PathId| paths.get(subflow.index()).copied();
    let mut all: Vec<SutSeries> = Vec::new();
    for ((_, quantity, subflow), points) in
        sender.seen.of_subflows.iter().filter(|((of, ..), _)| Some(*of) == socket)
    {
        let (quantity, path) = (*quantity, path_of(*subflow));
        match all.iter_mut().find(|one| one.quantity == quantity && one.path == path) {
            // A path that was joined again has several subflows.
            Some(one) => one.points.extend(points),
            None => all.push(SutSeries { quantity, path, points: points.clone() }),
        }
    }
    for one in &mut all {
        one.points.sort_by_key(|(at, _)| *at);
    }
    all.sort_by_key(|one| (one.quantity, one.path));
    let read = receiver.seen.read.values().max_by_key(|points| last(points));
    all.extend(read.map(|points| SutSeries {
        quantity: SutQuantity::Read,
        path: None,
        points: points.clone(),
    }));
    all
}

/// Bytes of a stream that were read.
fn last(points: &Points) -> u64 {
    points.last().map_or(0, |(_, value)| *value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_a_path_share_what_no_other_path_has() {
        for ipv4 in [true, false] {
            let [near, far] =
                [Role::Client, Role::Server].map(|role| engine_address(7, role, ipv4, 2));
            let shared = if ipv4 { SHARED_V4 } else { SHARED_V6 };
            let path = Subnet { prefix_len: shared, ..near };
            assert!(path.contains(far.address), "{near} {far}");
            assert!(!near.contains(far.address) && !far.contains(near.address));
            assert!(!path.contains(engine_address(8, Role::Client, ipv4, 2).address));
        }
    }
}
