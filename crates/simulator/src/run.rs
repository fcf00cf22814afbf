//! One run: what the lab asks for and what it gets back.
//!
//! Two hosts, client and server, N paths between them, one traffic model over TCP connections on
//! one of the paths or MPTCP connections over all of them: one, or as many as a page needs.
//! Everything a run depends on is in [`RunSetup`]; equal setups give equal records on any machine
//! and with any number of threads.
//! Leaves names, texts, repetitions and statistics to the lab.
//!
//! Beside that connection others may compete for the same links. A [`FlowSetup`] is a pair of
//! hosts of its own at the ends of paths of the run, a [`SharedLink`] a link that several paths
//! lead through. Two subflows beside one TCP, both through one bottleneck:
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
//! let flow = FlowSetup {
//!     start: Duration::from_millis(700),
//!     ..FlowSetup::new(&[0], Traffic::BulkTime(Duration::from_secs(600)))
//! };
//! let record = simulate(&RunSetup {
//!     paths: vec![path("a", &access), path("b", &access)],
//!     links: vec![SharedLink { link: path("core", &core), paths: vec![0, 1] }],
//!     protocol: Protocol::Mptcp(Multipath::default()),
//!     traffic: Traffic::BulkTime(Duration::from_secs(4)),
//!     flows: vec![flow],
//!     warm_up: Duration::from_secs(1),
//!     ..RunSetup::default()
//! }).unwrap();
//! let main = record.main.unwrap();
//! assert!(main.goodput.unwrap() > 1e6 && record.flows[0].goodput.unwrap() > 1e6);
//! ```

use crate::accounts::Account;
use crate::failover::FailoverTime;
use crate::managers::KernelSetup;
use crate::processor::ProcessingCost;
use crate::world::WorldError;
use base::{Duration, Instant};
use network::{NicSetup, PathCounters, PathSetup, TopologyError};
use traffic::{Outcome, StreamFailure, StreamMismatch, Traffic};
use transport::mptcp::Failover;
use transport::path_manager::PathManagerKind;
use transport::path_policy::PolicyChoice;
use transport::scheduler::SchedulerChoice;
use transport::{SocketError, TcpConfig};

/// Everything one run depends on.
#[derive(Clone, Debug)]
pub struct RunSetup {
    /// The study's seed.
    pub seed: u64,
    /// Number of the repetition.
    pub run: u64,
    pub paths: Vec<PathSetup>,
    /// Links that several paths lead through, between a path's own link and the server.
    pub links: Vec<SharedLink>,
    pub protocol: Protocol,
    /// When the client begins, since the start of the run.
    pub start: Duration,
    /// Other connections beside the one that is measured.
    pub flows: Vec<FlowSetup>,
    /// What is read and sent before counts neither for goodputs nor for what each path carried.
    pub warm_up: Duration,
    /// When the client asks to have a path spared, in any order; TCP has no word for it.
    pub backup: Vec<BackupMark>,
    /// What happens to the client's addresses and to connections on a path, in any order.
    pub marks: Vec<PathMark>,
    /// What the path manager `kernel` goes by; `None`: a subflow on every path.
    pub kernel: Option<KernelSetup>,
    /// SYNs on all paths at once (001 s4.1.1), with the path manager `fullmesh`.
    pub simultaneous_syn: bool,
    pub traffic: Traffic,
    /// Client to server instead of a download; a page is always a download.
    pub reverse: bool,
    /// For both ends and all subflows.
    pub tcp: TcpConfig,
    /// The NIC link before every path, on both hosts; `None`: packets leave at once.
    pub nic: Option<NicSetup>,
    /// Largest IP datagram, in bytes.
    pub mtu: u32,
    /// IPv6 addresses instead of IPv4 ones.
    pub ipv6: bool,
    /// Virtual time after which an unfinished run is given up as incomplete.
    pub limit: Duration,
    /// When the run is over.
    pub until: Until,
    pub client_cost: ProcessingCost,
    pub server_cost: ProcessingCost,
    /// Push every packet through bytes and back, and fail if it is not the same afterwards.
    pub pass_through: bool,
    /// Compute the result hash; costs some 50 ns a packet.
    pub hash: bool,
    /// Keep accounts of why senders stand still and what waits at receivers.
    pub accounts: bool,
    /// Capture all packets at both hosts, one interface per path.
    pub capture: bool,
}

/// The client asks the server to spare a path, or to use it again (RFC 8684 s3.3.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BackupMark {
    /// Index of the path.
    pub path: usize,
    /// Since the start of the run; what is marked at zero is opened so.
    pub at: Duration,
    pub on: bool,
}

/// Something that happens to a path but not to its links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathMark {
    /// Index of the path.
    pub path: usize,
    /// Since the start of the run.
    pub at: Duration,
    pub what: Mark,
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Every connection on the path gets a reset at both ends.
    Reset,
    /// The client's address is withdrawn; the link works.
    Removed,
    /// It is there again.
    Returned,
}

/// How the traffic is carried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// TCP connections on the path of this index.
    Tcp { path: usize },
    /// MPTCP connections that may use every path.
    Mptcp(Multipath),
}

/// What only a connection over several paths has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Multipath {
    /// Index of the path of the first subflow.
    pub first: usize,
    /// Which path sends next.
    pub scheduler: SchedulerChoice,
    /// Which paths are eligible.
    pub policy: PolicyChoice,
    pub path_manager: PathManagerKind,
    /// When a path counts as failed; `None`: what is usual with profile and scheduler.
    pub failover: Option<Failover>,
    /// DSS checksums (RFC 8684 s3.3.1).
    pub checksum: bool,
}

/// A link that several paths lead through. Towards the client its packets pass it first and then
/// the link of their own path, towards the server the other way round.
#[derive(Clone, Debug)]
pub struct SharedLink {
    /// Its two directions, and what happens to them.
    pub link: PathSetup,
    /// Indices of the paths that lead through it.
    pub paths: Vec<usize>,
}

/// A connection of two hosts of its own that competes for the links of paths.
#[derive(Clone, Debug)]
pub struct FlowSetup {
    /// Indices of the paths at whose ends its hosts are: the interfaces of both, in their order.
    pub paths: Vec<usize>,
    /// MPTCP over all of them, the first subflow on `paths[first]`; without it TCP over the first.
    pub multipath: Option<Multipath>,
    pub tcp: TcpConfig,
    /// One that ends after the run is as one without an end.
    pub traffic: Traffic,
    pub reverse: bool,
    /// Since the start of the run.
    pub start: Duration,
    /// Between its client and the paths, one way, on top of what the paths have.
    pub delay: Duration,
}

/// Most flows of a run.
pub const MOST_FLOWS: usize = 1_000;

/// When a run is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Until {
    /// As soon as the outcome is known.
    #[default]
    Measured,
    /// When nothing is left to happen: closed at both ends, TIME-WAIT over.
    Closed,
}

/// What a run yields.
#[derive(Clone, PartialEq, Debug)]
pub struct RunRecord {
    pub outcome: Outcome,
    /// When the outcome was known or given up, in virtual time since the start.
    pub ended: Duration,
    /// Nothing was left to happen when the run stopped.
    pub idle: bool,
    /// Payload bytes first sent by the data sender on each path after the warm-up, retransmissions
    /// excluded.
    pub first_sent_bytes: Vec<u64>,
    /// Segments that the data sender sent again on the same path, over all paths.
    pub retransmitted_segs: u64,
    /// Bytes that the data sender handed to a second path although another one had them.
    pub reinjected_bytes: u64,
    /// What of these was to probe paths.
    pub probe_bytes: u64,
    /// What the data sender sent more than once on each path.
    pub repeated: Vec<Repeated>,
    /// Where the time went, if accounts were asked for.
    pub account: Option<Account>,
    /// What became of the data when a path failed, in the order of time.
    pub failovers: Vec<FailoverTime>,
    /// Bytes that reached the data receiver's connection more than once.
    pub duplicate_bytes: u64,
    /// Segments with payload that reached the data receiver.
    pub data_packets: u64,
    /// All packets that came out of a path's links.
    pub packets: u64,
    /// Per path.
    pub links: Vec<PathCounters>,
    /// SHA-256 over every packet and delivery event and the metric values, if it was asked for.
    pub hash: Option<[u8; 32]>,
    /// On which path each subflow of the data sender is, by its number.
    pub sender_subflows: Vec<usize>,
    /// The same of the receiver, which may count them otherwise.
    pub receiver_subflows: Vec<usize>,
    /// The captures, if they were asked for.
    pub captures: Option<Captures>,
    /// Why the connection failed, if it did.
    pub failure: Option<StreamFailure>,
    /// What the connection did as one among others, if there are any.
    pub main: Option<FlowRecord>,
    /// The others, in their order.
    pub flows: Vec<FlowRecord>,
    /// Of the shared links, in their order.
    pub shared: Vec<PathCounters>,
}

/// What one of several connections did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FlowRecord {
    /// Since the start of the run.
    pub started: Duration,
    /// When its last byte was read, if that was all it had to send.
    pub ended: Option<Duration>,
    /// Bytes read in all.
    pub bytes_read: u64,
    /// Bits read per second from its start, or the end of the warm-up if that is later, until it
    /// ended or the run did; `None` if it had no time.
    pub goodput: Option<f64>,
    /// Payload first sent on each path of the run after the warm-up.
    pub first_sent_bytes: Vec<u64>,
    /// Segments sent again on their own path.
    pub retransmitted_segs: u64,
    /// Bytes read by every full second of the run, from second zero on.
    pub read_by: Vec<u64>,
    pub failure: Option<StreamFailure>,
}

/// What went out on a path although the peer, or another path, had it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Repeated {
    /// Segments sent again on the same path that a D-SACK proved needless.
    pub spurious_segs: u64,
    /// Segments handed to the path although another one had them,
    pub reinjected_segs: u64,
    /// and their payload.
    pub reinjected_bytes: u64,
}

/// Files in pcapng form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captures {
    /// At the host that sends the data.
    pub sender: Vec<u8>,
    /// At the host that receives them.
    pub receiver: Vec<u8>,
}

/// Why a run could not be carried out.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RunError {
    #[error("the run has no path {0}")]
    NoSuchPath(usize),
    #[error("path {0} leads through two shared links")]
    TwoSharedLinks(usize),
    #[error("{0} flows are more than {MOST_FLOWS}")]
    TooManyFlows(usize),
    #[error("the names of the paths are too long or too many for a capture")]
    PathNames,
    #[error("the network makes no sense: {0}")]
    Topology(TopologyError),
    #[error("cannot open a socket: {0}")]
    Socket(SocketError),
    /// A defect of the engine or of the codec.
    #[error("{error} (seed {seed}, run {run})")]
    World { error: WorldError, seed: u64, run: u64 },
    /// What was read is not what was written: a defect of the engine.
    #[error("stream broken at {at} of virtual time: {what} (seed {seed}, run {run})")]
    StreamBroken { at: Instant, what: StreamMismatch, seed: u64, run: u64 },
}

impl Protocol {
    /// Index of the path of the connection or of its first subflow.
    pub const fn first_path(&self) -> usize {
        match self {
            Protocol::Tcp { path } => *path,
            Protocol::Mptcp(multipath) => multipath.first,
        }
    }
}

impl FlowSetup {
    /// A TCP download over the first of these paths from the start of the run on.
    pub fn new(paths: &[usize], traffic: Traffic) -> Self {
        FlowSetup {
            paths: paths.to_vec(),
            multipath: None,
            tcp: TcpConfig::default(),
            traffic,
            reverse: false,
            start: Duration::ZERO,
            delay: Duration::ZERO,
        }
    }
}

impl Default for Multipath {
    /// `lrf` and `fullmesh`, no path policy, the first subflow on the first path, no checksum.
    fn default() -> Self {
        Multipath {
            first: 0,
            scheduler: SchedulerChoice::default(),
            policy: PolicyChoice::NONE,
            path_manager: PathManagerKind::FULLMESH,
            failover: None,
            checksum: false,
        }
    }
}

impl Default for RunSetup {
    /// A setup with the interface's defaults and no path yet.
    fn default() -> Self {
        RunSetup {
            seed: 1,
            run: 0,
            paths: Vec::new(),
            links: Vec::new(),
            protocol: Protocol::Tcp { path: 0 },
            start: Duration::ZERO,
            flows: Vec::new(),
            warm_up: Duration::ZERO,
            backup: Vec::new(),
            marks: Vec::new(),
            kernel: None,
            simultaneous_syn: false,
            traffic: Traffic::BulkSize(1 << 20),
            reverse: false,
            tcp: TcpConfig::default(),
            nic: Some(NicSetup::default()),
            mtu: 1500,
            ipv6: false,
            limit: Duration::from_secs(600),
            until: Until::Measured,
            client_cost: ProcessingCost::default(),
            server_cost: ProcessingCost::default(),
            pass_through: false,
            hash: true,
            accounts: false,
            capture: false,
        }
    }
}
