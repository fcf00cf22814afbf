//! What one run depends on.
//!
//! Client and server hosts at the ends of N paths, and connections between them. Flow 0 is the
//! connection that is measured: the run ends when its result is known. Further flows have hosts of
//! their own and compete for the same links. Equal setups give equal records on any machine and
//! with any number of threads. Names, texts, repetitions and statistics are left to the lab.
//!
//! Two subflows and one TCP connection, all through one bottleneck:
//!
//! ```
//! # use simulator::*;
//! # use network::{LinkConfig, QueueConfig};
//! # use base::{Duration, Rate};
//! # use traffic::Traffic;
//! let path = |name: &str, link: &LinkConfig| PathSetup {
//!     name: name.to_owned(), down: link.clone(), up: link.clone(), events: Vec::new(),
//! };
//! let access = LinkConfig { delay: Duration::from_millis(20), ..LinkConfig::default() };
//! let core = LinkConfig {
//!     capacity: Rate::from_mbit(10).into(),
//!     queue: QueueConfig::Red { min_packets: 30.0, max_packets: 90.0, max_p: 0.1 },
//!     ..LinkConfig::default()
//! };
//! let paths = vec![path("a", &access), path("b", &access)];
//! let four_seconds = Traffic::BulkTime(Duration::from_secs(4));
//! let mut setup = RunSetup::new(paths, Multipath::default().into(), four_seconds);
//! setup.network.links = vec![SharedLink { link: path("core", &core), paths: vec![0, 1] }];
//! setup.flows.push(FlowSetup {
//!     start: Duration::from_millis(700),
//!     ..FlowSetup::new(&[0], Traffic::BulkTime(Duration::from_secs(600)))
//! });
//! setup.warm_up = Duration::from_secs(1);
//! let record = simulate(&setup).unwrap();
//! assert!(record.flows.iter().all(|flow| flow.goodput.unwrap() > 1e6));
//! ```

use crate::managers::KernelSetup;
use crate::processor::ProcessingCost;
use base::{Duration, Ways};
use network::{MiddleBoxConfig, NicSetup, PathSetup};
use traffic::Traffic;
use transport::path_manager::PathManagerKind;
use transport::path_policy::PolicyChoice;
use transport::scheduler::SchedulerChoice;
use transport::sctp::{Addresses, SctpConfig};
use transport::{Failover, Protocol, TcpConfig};

/// Most flows of a run in addition to the measured one.
pub const MOST_FLOWS: usize = 1_000;

/// Everything one run depends on.
#[derive(Clone, Debug)]
pub struct RunSetup {
    /// Seed of the study.
    pub seed: u64,
    /// Number of the repetition.
    pub run: u64,
    /// The paths with their links, and what is the same for all of them.
    pub network: NetworkSetup,
    /// The connections. Flow 0 is the measured one and must be there.
    pub flows: Vec<FlowSetup>,
    /// Requests of the clients to treat a path as a backup, in any order. Plain TCP ignores them.
    pub backup: Vec<BackupMark>,
    /// Changes of the clients' addresses and resets of connections, in any order.
    pub marks: Vec<PathMark>,
    /// Time at the start of the run that is excluded from goodputs and from the bytes per path.
    pub warm_up: Duration,
    /// Virtual time after which an unfinished run ends as incomplete.
    pub limit: Duration,
    /// When the run is over.
    pub until: Until,
    /// Processing time per packet at the clients.
    pub client_cost: ProcessingCost,
    /// Processing time per packet at the servers.
    pub server_cost: ProcessingCost,
    /// What is recorded in addition to the counters.
    pub recording: Recording,
    /// Whether packets take short ways; results are the same.
    pub ways: Ways,
}

/// Paths, links and interfaces.
#[derive(Clone, Debug)]
pub struct NetworkSetup {
    /// The paths, by index.
    pub paths: Vec<PathSetup>,
    /// Links that several paths share, between a path's own link and the server.
    pub links: Vec<SharedLink>,
    /// Of each path the places in `links` of those that it passes, from client to server; a path
    /// without an entry passes its links in the order of `links`.
    pub order: Vec<Vec<usize>>,
    /// The addresses of each path's ends; empty: every path has addresses of its own.
    pub ends: Vec<PathEnds>,
    /// Middleboxes of the paths, those of a path in their order from client to server.
    pub boxes: Vec<PathBox>,
    /// Indices of the paths with a split-TCP proxy between their own links and the server.
    pub proxies: Vec<usize>,
    /// The NIC link before every path, on all hosts; `None`: packets leave at once.
    pub nic: Option<NicSetup>,
    /// Largest IP datagram, in bytes.
    pub mtu: u32,
    /// IPv6 addresses instead of IPv4 addresses.
    pub ipv6: bool,
}

/// A middlebox at the far end of both links of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathBox {
    /// Index of the path.
    pub path: usize,
    /// What it is.
    pub config: MiddleBoxConfig,
}

/// The ends of a path: paths with the same number have the same address there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathEnds {
    /// Number of the client's address; `None`: one that no other path has.
    pub client: Option<usize>,
    /// Number of the server's address, counted apart; `None`: one that no other path has.
    pub server: Option<usize>,
}

/// A link that several paths share. Packets to the client pass it before the link of their own
/// path, packets to the server after it.
#[derive(Clone, Debug)]
pub struct SharedLink {
    /// Both directions and their events.
    pub link: PathSetup,
    /// Indices of the paths that lead through it.
    pub paths: Vec<usize>,
}

/// A connection, or the connections of a page, between two hosts of its own.
#[derive(Clone, Debug)]
pub struct FlowSetup {
    /// Indices of the paths between its hosts, in the order of the interfaces of both.
    pub paths: Vec<usize>,
    /// Place in `paths` of the path of the TCP connection or of the first subflow.
    pub first: usize,
    /// Protocol of the connections.
    pub carrier: Carrier,
    /// For both ends and all subflows.
    pub tcp: TcpConfig,
    /// Traffic of a competing flow that would end after the run ends with the run.
    pub traffic: Traffic,
    /// Send from client to server instead of downloading; a page is always a download.
    pub reverse: bool,
    /// When the client begins, since the start of the run.
    pub start: Duration,
    /// One-way delay between its client and the paths, in addition to that of the paths.
    pub delay: Duration,
}

/// What carries the traffic of a flow.
#[derive(Clone, PartialEq, Debug)]
pub enum Carrier {
    /// Connections of this protocol, or datagrams of UDP, on the first path.
    Single(Protocol),
    /// Connections over all paths of the flow.
    Multipath(Multipath),
    /// Associations (SCTP). If all addresses are listed, they may use all paths of the flow, one at
    /// a time; congestion control, buffers and Nagle's algorithm are those of `FlowSetup::tcp`.
    Sctp(Box<SctpConfig>),
}

/// What only a connection over several paths has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Multipath {
    /// The protocol.
    pub protocol: Protocol,
    /// The scheduler of both hosts.
    pub scheduler: SchedulerChoice,
    /// The path policy of both hosts.
    pub policy: PolicyChoice,
    /// Rules for declaring a path failed; `None`: those of the profile and the scheduler.
    pub failover: Option<Failover>,
    /// The path manager of both hosts.
    pub path_manager: PathManagerKind,
    /// Endpoints and limits of the path manager `kernel`; `None`: a subflow on every path.
    pub kernel: Option<KernelSetup>,
    /// SYNs on all paths at once (001 s4.1.1), with the path manager `fullmesh`.
    pub simultaneous_syn: bool,
    /// A subflow whose address the peer withdraws is closed only if it does not answer (RFC 8684
    /// s3.4.2). Linux closes it at once.
    pub probes_removed: bool,
    /// DSS checksums (RFC 8684 s3.3.1).
    pub checksum: bool,
}

/// The client asks the server to treat a path as a backup, or to use it again (RFC 8684 s3.3.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BackupMark {
    /// Index of the path.
    pub path: usize,
    /// Since the start of the run. A path that is marked when the client begins is opened as a
    /// backup.
    pub at: Duration,
    /// `true`: use the path as a backup; `false`: use it as any other path again.
    pub on: bool,
}

/// An event of a path that does not concern its links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathMark {
    /// Index of the path.
    pub path: usize,
    /// Since the start of the run.
    pub at: Duration,
    /// The event.
    pub what: Mark,
}

/// What happens to a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Every connection on the path is reset at both ends.
    Reset,
    /// The client's address is withdrawn; the link works.
    Removed,
    /// The client's address is available again.
    Returned,
}

/// When a run is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Until {
    /// As soon as the result of flow 0 is known.
    #[default]
    Measured,
    /// When no event is left: closed at both ends, TIME-WAIT over.
    Closed,
}

/// What is recorded of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recording {
    /// Compute the result hash; costs some 50 ns per packet.
    pub hash: bool,
    /// Keep accounts of what stops the senders of flow 0 and what waits at its receivers.
    pub accounts: bool,
    /// Capture all packets at both hosts of flow 0, one pcapng interface per path.
    pub capture: bool,
    /// Serialise and parse every packet, and fail if the result differs.
    pub pass_through: bool,
}

impl RunSetup {
    /// A run whose flow 0 is on all of these paths, its first subflow on the first one, with the
    /// defaults of the command line.
    pub fn new(paths: Vec<PathSetup>, carrier: Carrier, traffic: Traffic) -> Self {
        let on_all: Vec<usize> = (0..paths.len()).collect();
        RunSetup {
            network: NetworkSetup { paths, ..NetworkSetup::default() },
            flows: vec![FlowSetup { carrier, ..FlowSetup::new(&on_all, traffic) }],
            ..RunSetup::default()
        }
    }
}

impl Default for RunSetup {
    /// The defaults of the command line, without paths and flows.
    fn default() -> Self {
        RunSetup {
            seed: 1,
            run: 0,
            network: NetworkSetup::default(),
            flows: Vec::new(),
            backup: Vec::new(),
            marks: Vec::new(),
            warm_up: Duration::ZERO,
            limit: Duration::from_secs(600),
            until: Until::Measured,
            client_cost: ProcessingCost::default(),
            server_cost: ProcessingCost::default(),
            recording: Recording::default(),
            ways: Ways::Short,
        }
    }
}

impl Default for NetworkSetup {
    /// No path yet, NICs, Ethernet's MTU, IPv4.
    fn default() -> Self {
        NetworkSetup {
            paths: Vec::new(),
            links: Vec::new(),
            order: Vec::new(),
            ends: Vec::new(),
            boxes: Vec::new(),
            proxies: Vec::new(),
            nic: Some(NicSetup::default()),
            mtu: 1500,
            ipv6: false,
        }
    }
}

impl Default for Recording {
    /// The result hash only.
    fn default() -> Self {
        Recording { hash: true, accounts: false, capture: false, pass_through: false }
    }
}

impl FlowSetup {
    /// A TCP download over the first of these paths from the start of the run on.
    pub fn new(paths: &[usize], traffic: Traffic) -> Self {
        FlowSetup {
            paths: paths.to_vec(),
            first: 0,
            carrier: Carrier::Single(Protocol::Tcp),
            tcp: TcpConfig::default(),
            traffic,
            reverse: false,
            start: Duration::ZERO,
            delay: Duration::ZERO,
        }
    }

    /// Index of the path of the connection or of its first subflow.
    pub fn first_path(&self) -> Option<usize> {
        self.paths.get(self.first).copied()
    }
}

impl Carrier {
    /// Whether its connections can use all paths of the flow.
    pub fn uses_all_paths(&self) -> bool {
        match self {
            Carrier::Single(_) => false,
            Carrier::Multipath(_) => true,
            Carrier::Sctp(config) => config.addresses != Addresses::One,
        }
    }

    /// What it has as a multi-path protocol.
    pub const fn multipath(&self) -> Option<&Multipath> {
        match self {
            Carrier::Single(_) | Carrier::Sctp(_) => None,
            Carrier::Multipath(multipath) => Some(multipath),
        }
    }
}

impl From<Multipath> for Carrier {
    fn from(multipath: Multipath) -> Self {
        Carrier::Multipath(multipath)
    }
}

impl Default for Multipath {
    /// MPTCP with `lrf` and `fullmesh`, without path policy and checksum.
    fn default() -> Self {
        Multipath {
            protocol: Protocol::Mptcp,
            scheduler: SchedulerChoice::default(),
            policy: PolicyChoice::NONE,
            failover: None,
            path_manager: PathManagerKind::FULLMESH,
            kernel: None,
            simultaneous_syn: false,
            probes_removed: false,
            checksum: false,
        }
    }
}
