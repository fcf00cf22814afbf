//! Several connections over bottlenecks: their network, and what each of them read.
//!
//! Every connection has two hosts of its own with an interface on each of its paths; a path leads
//! over one bottleneck, from the router on the servers' side to that on the clients'. All delay
//! and all queues are the bottlenecks'.

use base::{Chance, Duration, HostId, Instant, InterfaceId, LinkId, Purpose, Rate};
use network::{End, Limit, LinkConfig, Network, NicSetup, QueueConfig, Route};
use network::{LinkEnds, RouterId};
use simulator::{Endpoint, ProcessingCost, World};
use std::net::{Ipv4Addr, SocketAddr};
use traffic::{Half, Role, Traffic};
use transport::mptcp::MptcpConfig;
use transport::sctp::cmt::CmtConfig;
use transport::sctp::{Addresses, RtxPolicy, SctpConfig};
use transport::{ConnectionInfo, InterfaceConfig, ProtocolConfig, StackConfig, TcpConfig};

/// What connections may compete for.
#[derive(Clone, Debug)]
pub(crate) struct Bottleneck {
    pub mbit: u64,
    /// Without queueing, there and back.
    pub rtt_ms: u64,
    pub queue: QueueConfig,
    /// Packets.
    pub limit: u32,
    pub loss: f64,
}

impl Bottleneck {
    /// RED at 30, 90 and 10 %, and room beyond.
    pub(crate) const fn red(mbit: u64, rtt_ms: u64) -> Bottleneck {
        let queue = QueueConfig::Red { min_packets: 30.0, max_packets: 90.0, max_p: 0.1 };
        Bottleneck { mbit, rtt_ms, queue, limit: 1000, loss: 0.0 }
    }

    /// Drop-tail of 100 packets.
    pub(crate) const fn drop_tail(mbit: u64, rtt_ms: u64) -> Bottleneck {
        Bottleneck { mbit, rtt_ms, queue: QueueConfig::DropTail, limit: 100, loss: 0.0 }
    }

    fn links(&self) -> [LinkConfig; 2] {
        let up = LinkConfig {
            capacity: Rate::from_mbit(self.mbit).into(),
            delay: Duration::from_micros(self.rtt_ms * 500),
            ..LinkConfig::default()
        };
        let down = LinkConfig {
            queue: self.queue,
            limit: Limit::Packets(self.limit),
            loss: network::LossConfig::Bernoulli { p: self.loss },
            ..up.clone()
        };
        [down, up]
    }
}

/// A saturating download: the bottlenecks its paths lead over, and its congestion control. TCP if
/// there is one path, otherwise MPTCP or CMT-SCTP.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub over: Vec<usize>,
    pub congestion: &'static str,
    sctp: bool,
}

pub(crate) fn flow(congestion: &'static str, over: &[usize]) -> Flow {
    Flow { over: over.to_vec(), congestion, sctp: false }
}

/// An association with data on all paths at once.
pub(crate) fn cmt(congestion: &'static str, over: &[usize]) -> Flow {
    Flow { sctp: true, ..flow(congestion, over) }
}

/// What is run.
#[derive(Clone, Debug)]
pub(crate) struct Experiment {
    pub bottlenecks: Vec<Bottleneck>,
    pub flows: Vec<Flow>,
    /// Before this nothing counts.
    pub warm_up: Duration,
    /// Then this long is looked at.
    pub measured: Duration,
}

/// What came out of it.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    /// Of each flow, in bit/s.
    pub goodput: Vec<f64>,
    /// Of each flow, what it first sent over each of its paths, in bytes.
    pub sent: Vec<Vec<u64>>,
}

/// Within this much of the beginning every flow starts.
const JITTER: u64 = 5_000;

/// Runs the experiment; `seed` changes the starts and all random draws.
pub(crate) fn run(experiment: &Experiment, seed: u64) -> Shares {
    let mut net = Net::new(experiment, seed);
    net.run_to(experiment.warm_up);
    let before = net.counts();
    net.run_to(experiment.warm_up + experiment.measured);
    let after = net.counts();
    let seconds = experiment.measured.as_secs_f64();
    let goodput =
        |(before, after): (&Count, &Count)| (after.read - before.read) as f64 * 8.0 / seconds;
    let sent = |(before, after): (&Count, &Count)| {
        after.sent.iter().zip(&before.sent).map(|(after, before)| after - before).collect()
    };
    Shares {
        goodput: before.iter().zip(&after).map(goodput).collect(),
        sent: before.iter().zip(&after).map(sent).collect(),
    }
}

/// What one flow did so far.
struct Count {
    read: u64,
    sent: Vec<u64>,
}

/// The world of an experiment.
pub(crate) struct Net {
    pub world: World<Half>,
    flows: Vec<Flow>,
}

impl Net {
    pub(crate) fn new(experiment: &Experiment, seed: u64) -> Net {
        let Experiment { bottlenecks, flows, .. } = experiment;
        let chance = Chance::new(seed, 0);
        let mut world = World::new(chance, &network(bottlenecks.len(), flows)).unwrap();
        let paths: usize = flows.iter().map(|flow| flow.over.len()).sum();
        let ways = bottlenecks.iter().flat_map(Bottleneck::links);
        for (owner, link) in (0..).zip(ways.chain(vec![LinkConfig::default(); 4 * paths])) {
            world.add_link(link, owner);
        }
        for (number, flow) in flows.iter().enumerate() {
            for role in [Role::Client, Role::Server] {
                let stack = StackConfig {
                    interfaces: interfaces(number, flow, role),
                    ..StackConfig::default()
                };
                world.add_host(stack, ProcessingCost::default(), Some(NicSetup::default()));
            }
        }
        for (number, flow) in flows.iter().enumerate() {
            let start = chance.below(JITTER, number as u64, Purpose::Traffic, 0);
            connect(&mut world, number, flow, Instant::from_millis(start));
        }
        Net { world, flows: flows.clone() }
    }

    pub(crate) fn run_to(&mut self, time: Duration) {
        self.world.run_until(Instant::ZERO + time, |_| false).unwrap();
    }

    /// The state of a multi-path sender.
    pub(crate) fn info(&self, flow: usize) -> Option<ConnectionInfo> {
        let server = host(flow, Role::Server);
        let half = self.world.applications(server).next()?;
        let info = self.world.info(server, *half.sockets().first()?);
        info.filter(|info| info.protocol.is_multipath())
    }

    fn counts(&self) -> Vec<Count> {
        (0..self.flows.len()).map(|flow| self.count(flow)).collect()
    }

    fn count(&self, flow: usize) -> Count {
        let client = self.world.applications(host(flow, Role::Client)).next().unwrap();
        let report = client.report();
        assert_eq!((report.failure, report.mismatch), (None, None), "flow {flow}");
        let mut sent = vec![0; self.flows[flow].over.len()];
        for subflow in self.info(flow).iter().flat_map(|info| &info.paths) {
            sent[subflow.interface.index()] += subflow.first_sent_bytes;
        }
        Count { read: report.bytes_read, sent }
    }
}

fn host(flow: usize, role: Role) -> HostId {
    HostId(2 * flow as u16 + u16::from(role == Role::Server))
}

fn address(flow: usize, path: usize, role: Role) -> Ipv4Addr {
    Ipv4Addr::new(10, flow as u8, path as u8, 1 + u8::from(role == Role::Server))
}

fn interfaces(number: usize, flow: &Flow, role: Role) -> Vec<InterfaceConfig> {
    let on =
        |path| InterfaceConfig { addresses: vec![address(number, path, role).into()], mtu: 1500 };
    (0..flow.over.len()).map(on).collect()
}

/// First the bottlenecks, down and up, then for each path from and to the client, from and to the
/// server.
fn network(bottlenecks: usize, flows: &[Flow]) -> Network {
    let router =
        |bottleneck: usize, role| RouterId(2 * bottleneck as u32 + u32::from(role == Role::Client));
    let mut network = Network::default();
    for bottleneck in 0..bottlenecks {
        let [left, right] =
            [Role::Server, Role::Client].map(|role| End::Router(router(bottleneck, role)));
        network
            .links
            .extend([LinkEnds { from: left, to: right }, LinkEnds { from: right, to: left }]);
    }
    for (number, flow) in flows.iter().enumerate() {
        for (path, bottleneck) in flow.over.iter().enumerate() {
            for role in [Role::Client, Role::Server] {
                let end = End::Host(host(number, role), InterfaceId(path as u16));
                let near = router(*bottleneck, role);
                let far = router(*bottleneck, other(role));
                let out = LinkId(network.links.len() as u32 + 1);
                network.links.push(LinkEnds { from: end, to: End::Router(near) });
                network.links.push(LinkEnds { from: End::Router(near), to: end });
                let across = LinkId(2 * *bottleneck as u32 + u32::from(role == Role::Server));
                let prefix = address(number, path, role).into();
                let route = |router, via| Route { router, from: None, prefix, len: 32, via };
                network.routes.extend([route(near, out), route(far, across)]);
            }
        }
    }
    network
}

fn other(role: Role) -> Role {
    if role == Role::Client { Role::Server } else { Role::Client }
}

fn connect(world: &mut World<Half>, number: usize, flow: &Flow, starts_at: Instant) {
    const PORT: u16 = 5001;
    let traffic = Traffic::BulkTime(Duration::from_secs(10_000));
    for role in [Role::Client, Role::Server] {
        let endpoint = Endpoint {
            local: address(number, 0, role).into(),
            remote: SocketAddr::new(address(number, 0, Role::Server).into(), PORT),
            listen: (role == Role::Server).then_some(PORT),
            starts_at: if role == Role::Server { Instant::ZERO } else { starts_at },
            socket: socket(flow),
        };
        let application = Half::new(&traffic, role, false, number as u32);
        world.add_application(host(number, role), application, endpoint).unwrap();
    }
}

fn socket(flow: &Flow) -> ProtocolConfig {
    if flow.sctp {
        return ProtocolConfig::Sctp(Box::new(SctpConfig {
            congestion: flow.congestion.parse().unwrap(),
            addresses: Addresses::All,
            rtx_policy: RtxPolicy::Rtt,
            cmt: Some(CmtConfig::default()),
            ..SctpConfig::default()
        }));
    }
    let tcp = TcpConfig { congestion: flow.congestion.parse().unwrap(), ..TcpConfig::default() };
    if flow.over.len() == 1 {
        return ProtocolConfig::Tcp(tcp);
    }
    let mainline_limits = tcp.profile.switches().multipath.mainline_limits;
    let common_prefix_bits = Some(24);
    ProtocolConfig::Mptcp(Box::new(MptcpConfig {
        tcp,
        mainline_limits,
        common_prefix_bits,
        ..MptcpConfig::default()
    }))
}
