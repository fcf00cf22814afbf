//! Flows beside the measured connection: their hosts and applications, and what each connection
//! of the run got.
//!
//! Leaves where hosts are attached to `layout`, and shares and fairness to the lab.

use super::layout::{flow_address, hosts_of};
use super::news::Party;
use super::{CLIENT, SERVER, SERVER_PORT, Sent, half, socket_of};
use crate::host::Endpoint;
use crate::run::{FlowRecord, FlowSetup, RunError, RunSetup};
use crate::world::{Stopped, World, WorldError};
use base::{Duration, HostId, Instant};
use std::net::{IpAddr, SocketAddr};
use traffic::{Application, Half, Role};
use transport::{InterfaceConfig, ProtocolConfig, StackConfig};

/// Bytes that were read are noted this often.
const NOTE_EVERY: Duration = Duration::from_secs(1);

/// Every flow has the path that it begins on.
pub(super) fn check_flows(setup: &RunSetup) -> Result<(), RunError> {
    let first = |flow: &FlowSetup| flow.multipath.as_ref().map_or(0, |multipath| multipath.first);
    let lacking = setup.flows.iter().find(|flow| first(flow) >= flow.paths.len());
    lacking.map_or(Ok(()), |flow| Err(RunError::NoSuchPath(first(flow))))
}

/// The address of a flow's client on one of its interfaces.
pub(super) fn client_address(setup: &RunSetup, flow: usize, interface: usize) -> IpAddr {
    let before: usize = setup.flows[..flow].iter().map(|flow| flow.paths.len()).sum();
    flow_address(setup, before + interface, false)
}

/// Add the hosts of all flows with their applications.
pub(super) fn add_flows(world: &mut World<Half>, setup: &RunSetup) -> Result<(), RunError> {
    let mut interfaces = 0;
    for (number, flow) in setup.flows.iter().enumerate() {
        let first = flow.multipath.as_ref().map_or(0, |multipath| multipath.first);
        let at = |interface: usize, server| flow_address(setup, interfaces + interface, server);
        for (host, role) in hosts_of(number).into_iter().zip([Role::Client, Role::Server]) {
            let server = role == Role::Server;
            let address = |interface| InterfaceConfig {
                addresses: vec![at(interface, server)],
                mtu: setup.mtu,
            };
            let stack = StackConfig { interfaces: (0..flow.paths.len()).map(address).collect() };
            let cost = if server { setup.server_cost } else { setup.client_cost };
            let id = world.add_host(stack, cost, setup.nic);
            debug_assert_eq!(id, host);
            let mut socket = socket_of(setup, &flow.tcp, flow.multipath.as_ref(), flow.paths.len());
            if let (Role::Client, ProtocolConfig::Mptcp(config)) = (role, &mut socket) {
                config.backup = Party::of_flow(setup, number).backups();
            }
            let endpoint = Endpoint {
                local: at(first, server),
                remote: SocketAddr::new(at(first, true), SERVER_PORT),
                listen: server.then_some(SERVER_PORT),
                starts_at: if server { Instant::ZERO } else { Instant::ZERO + flow.start },
                socket,
            };
            let connection = number as u32 + 1;
            let application = Half::new(&flow.traffic, role, flow.reverse, connection);
            world.add_application(host, application, endpoint).map_err(RunError::Socket)?;
        }
        interfaces += flow.paths.len();
    }
    Ok(())
}

/// One of the connections of a run: whose hosts, over which paths.
struct Competitor<'a> {
    sender: HostId,
    receiver: HostId,
    /// Of each interface.
    paths: Vec<usize>,
    first: usize,
    start: Duration,
    /// `None`: the measured one.
    flow: Option<&'a FlowSetup>,
}

/// Follows all connections of a run.
pub(super) struct Progress<'a> {
    setup: &'a RunSetup,
    /// The measured one first; none if it has no company and no warm-up.
    competitors: Vec<Competitor<'a>>,
    /// By every full second, of each.
    read_by: Vec<Vec<u64>>,
    next_note: Instant,
    /// At the end of the warm-up, of each: bytes read and first sent on each path.
    warm: Option<Vec<(u64, Vec<u64>)>>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(setup: &'a RunSetup) -> Self {
        let is_alone = setup.flows.is_empty() && setup.warm_up.is_zero();
        let competitors = if is_alone { Vec::new() } else { competitors(setup) };
        let read_by = vec![Vec::new(); competitors.len()];
        Progress { setup, competitors, read_by, next_note: Instant::ZERO, warm: None }
    }

    /// Let time pass until the run is measured, and note what there is to note on the way.
    pub(super) fn run(&mut self, world: &mut World<Half>) -> Result<Stopped, WorldError> {
        let limit = Instant::ZERO + self.setup.limit;
        loop {
            let next = self.next_stop().filter(|next| *next < limit);
            let stopped = world.run_until(next.unwrap_or(limit), super::measured)?;
            if stopped != Stopped::Limit || next.is_none() {
                return Ok(stopped);
            }
            self.note(world);
        }
    }

    fn next_stop(&self) -> Option<Instant> {
        if self.competitors.is_empty() {
            return None;
        }
        let warm = Instant::ZERO + self.setup.warm_up;
        Some(if self.warm.is_none() { warm.min(self.next_note) } else { self.next_note })
    }

    fn note(&mut self, world: &World<Half>) {
        let now = world.now();
        if self.warm.is_none() && now >= Instant::ZERO + self.setup.warm_up {
            let state = |one: &Competitor<'_>| (one.read(world), one.sent(self.setup, world));
            let states = self.competitors.iter().map(state);
            self.warm = Some(states.map(|(read, sent)| (read, sent.first_sent_bytes)).collect());
        }
        if now >= self.next_note {
            for (noted, one) in self.read_by.iter_mut().zip(&self.competitors) {
                noted.push(one.read(world));
            }
            self.next_note += NOTE_EVERY;
        }
    }

    /// What every connection did by now, the end of the run.
    pub(super) fn finish(self, world: &World<Half>) -> Vec<FlowRecord> {
        let Progress { setup, competitors, read_by, warm, .. } = self;
        let now = world.now() - Instant::ZERO;
        let mut records = Vec::new();
        for ((number, one), read_by) in competitors.iter().enumerate().zip(read_by) {
            let warm = warm.as_ref().map(|warm| &warm[number]);
            let sent = one.sent(setup, world);
            let before = |path: usize| warm.map_or(0, |(_, sent)| sent[path]);
            let first_sent = sent.first_sent_bytes.iter().enumerate();
            records.push(FlowRecord {
                started: one.start,
                ended: one.ended(world),
                bytes_read: one.read(world),
                goodput: one.goodput(world, now, setup.warm_up, warm.map_or(0, |(read, _)| *read)),
                first_sent_bytes: first_sent
                    .map(|(path, bytes)| bytes.saturating_sub(before(path)))
                    .collect(),
                retransmitted_segs: sent.retransmitted_segs,
                read_by,
                failure: one.failure(world),
            });
        }
        records
    }
}

fn competitors(setup: &RunSetup) -> Vec<Competitor<'_>> {
    let ends = |[client, server]: [HostId; 2], reverse: bool| {
        if reverse { (client, server) } else { (server, client) }
    };
    let (sender, receiver) = ends([CLIENT, SERVER], setup.reverse);
    let main = Competitor {
        sender,
        receiver,
        paths: (0..setup.paths.len()).collect(),
        first: setup.protocol.first_path(),
        start: setup.start,
        flow: None,
    };
    let flows = setup.flows.iter().enumerate().map(|(number, flow)| {
        let (sender, receiver) = ends(hosts_of(number), flow.reverse);
        let first = flow.paths[flow.multipath.as_ref().map_or(0, |multipath| multipath.first)];
        let (paths, start) = (flow.paths.clone(), flow.start);
        Competitor { sender, receiver, paths, first, start, flow: Some(flow) }
    });
    std::iter::once(main).chain(flows).collect()
}

impl Competitor<'_> {
    fn read(&self, world: &World<Half>) -> u64 {
        half(world, self.receiver).report().bytes_read
    }

    fn sent(&self, setup: &RunSetup, world: &World<Half>) -> Sent {
        let mut sent = Sent::new(setup.paths.len());
        sent.add(world, self.sender, &self.paths, self.first);
        sent
    }

    /// When a flow had read everything, if it has.
    fn ended(&self, world: &World<Half>) -> Option<Duration> {
        self.flow?;
        let is_done = [self.receiver, self.sender].iter().any(|host| half(world, *host).is_done());
        let is_whole = is_done && self.failure(world).is_none();
        let last_read = half(world, self.receiver).report().last_read;
        last_read.filter(|_| is_whole).map(|at| at - Instant::ZERO)
    }

    fn goodput(
        &self,
        world: &World<Half>,
        now: Duration,
        warm_up: Duration,
        before: u64,
    ) -> Option<f64> {
        let begin = self.start.max(warm_up);
        let end = self.ended(world).unwrap_or(now);
        let bits = self.read(world).saturating_sub(before) as f64 * 8.0;
        (end > begin).then(|| bits / (end - begin).as_secs_f64())
    }

    fn failure(&self, world: &World<Half>) -> Option<traffic::StreamFailure> {
        let ends = [self.receiver, self.sender];
        ends.iter().find_map(|host| half(world, *host).report().failure)
    }
}
