//! Systems under test: one repetition of a traffic model over the kernel's TCP, the kernel's MPTCP,
//! our engine or usrsctp, between two namespaces that are connected by paths.
//!
//! [`run_once`] is the interface. The paths may be emulated links or plain wires: they need an
//! address at either end and, for several paths, the routes and endpoints of the kernel's MPTCP
//! ([`crate::mptcp_pm`]). Both ends of the traffic run in this process with one clock. Links are
//! left to the emulator, repetitions, statistics and files to the lab.

mod counters;
mod emulated;
mod engine;
mod kernel;
mod sampler;
mod usrsctp;
mod watch;

pub use emulated::{ATTEMPTS, EmulatedSut, run_emulated};
pub use usrsctp::Usrsctp;

use crate::error::LiveError;
use crate::namespace::Namespace;
use base::{Duration, Instant};
use harness::{FlowRecord, RunRecord, SentRecord};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use traffic::{Half, Outcome, StreamFailure, Traffic};
use transport::sctp::SctpConfig;
use transport::{Buffers, Protocol, ProtocolConfig};

/// Where servers listen: iperf's port.
const SERVER_PORT: u16 = 5001;
/// Interval at which a sender is sampled for its time series.
const SAMPLE_EVERY: Duration = Duration::from_millis(10);
/// Real-time priority of the ends, below that of the emulator, which must not wait for them.
const PRIORITY: i32 = 10;

/// Name of the number of T3-rtx expirations of the sender of an association (RFC 9260 s6.3.3), in
/// the further numbers of a run.
pub const T3_TIMEOUTS: &str = "t3_timeouts";

/// The implementation and protocol that carry the traffic. A protocol with one path uses the path
/// with the index `path`; a multi-path protocol uses all paths and begins on that one.
#[derive(Clone, PartialEq, Debug)]
pub enum SystemUnderTest {
    /// Sockets of the kernel.
    Kernel {
        /// Index of the path.
        path: usize,
        /// Protocol of the sockets.
        protocol: Protocol,
        /// Congestion control and buffers of the sockets.
        settings: KernelSettings,
    },
    /// The engine of this project.
    Engine {
        /// Index of the path.
        path: usize,
        /// Protocol of both ends, with its configuration.
        config: ProtocolConfig,
    },
    /// usrsctp, in a process at either end.
    Usrsctp {
        /// Index of the path; with several addresses, of the primary one.
        path: usize,
        /// Compiled program, of [`Usrsctp::path`].
        program: PathBuf,
        /// Configuration of both ends, as far as usrsctp has it.
        config: Box<SctpConfig>,
    },
}

/// Settings of the kernel's sockets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelSettings {
    /// The kernel's name of the congestion control.
    pub congestion: String,
    /// Buffers of the sockets; without auto-tuning they have the maxima from the start.
    pub buffers: Buffers,
}

/// Two hosts and the paths between them.
#[derive(Clone, Copy)]
pub struct SutPaths<'a> {
    /// The namespace of the client.
    pub client: &'a Namespace,
    /// The namespace of the server.
    pub server: &'a Namespace,
    /// The paths, by index.
    pub paths: &'a [SutPath],
}

/// A path between two addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SutPath {
    /// The name of the path in messages.
    pub name: String,
    /// The client's address, which identifies the path of a packet.
    pub client: IpAddr,
    /// The server's address on the path.
    pub server: IpAddr,
}

/// One repetition.
#[derive(Clone, PartialEq, Debug)]
pub struct SutRun<'a> {
    /// What carries the traffic.
    pub system: &'a SystemUnderTest,
    /// The traffic model with its parameters.
    pub traffic: &'a Traffic,
    /// Send from client to server instead of downloading; a page is always a download.
    pub reverse: bool,
    /// Time after which an unfinished run ends as incomplete.
    pub limit: Duration,
}

/// What a repetition yields.
#[derive(Clone, PartialEq, Debug)]
pub struct SutRecord {
    /// What a simulated run yields, too. Its only flow is the measured one.
    pub run: RunRecord,
    /// The congestion controls that the sender reported, each once.
    pub congestion: Vec<String>,
    /// In the order of quantities and paths.
    pub series: Vec<SutSeries>,
    /// What the kernel counted; empty for other systems.
    pub counts: KernelCounts,
}

/// What the kernel counted during a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelCounts {
    /// Times of the data sender by path.
    pub times: Vec<SendTimes>,
    /// Counters of the data sender's host that grew, by their names in `/proc/net/netstat`.
    pub sender: BTreeMap<String, u64>,
    /// The same of the data receiver's host.
    pub receiver: BTreeMap<String, u64>,
}

/// Times of the subflows of a path, in microseconds, as `ss -ti` shows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SendTimes {
    /// With data to send or in flight (`busy`).
    pub busy_us: u64,
    /// Of these, limited by the receive window (`rwnd_limited`).
    pub rwnd_limited_us: u64,
    /// Of these, limited by the send buffer (`sndbuf_limited`).
    pub sndbuf_limited_us: u64,
}

/// A quantity over time.
#[derive(Clone, PartialEq, Debug)]
pub struct SutSeries {
    /// What was measured, with its unit.
    pub quantity: SutQuantity,
    /// Index of the path; `None` for the connection.
    pub path: Option<usize>,
    /// In the order of time since the start.
    pub points: Vec<(Instant, f64)>,
}

/// The quantities that are recorded of a kernel and of the engine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SutQuantity {
    /// Congestion window of the data sender, in bytes.
    CongestionWindow,
    /// Smoothed round-trip time at the data sender, in seconds.
    SmoothedRtt,
    /// Segments in flight at the data sender.
    InFlight,
    /// Bytes read by the application.
    Read,
}

/// Carry out one repetition, over connections of its own. Failed connections are part of the
/// record; an error means that the machine or the kernel did not do what was requested.
pub fn run_once(paths: SutPaths<'_>, run: &SutRun<'_>) -> Result<SutRecord, LiveError> {
    let (SystemUnderTest::Kernel { path, .. }
    | SystemUnderTest::Engine { path, .. }
    | SystemUnderTest::Usrsctp { path, .. }) = run.system;
    if *path >= paths.paths.len() {
        return Err(LiveError::Usage(format!("there is no path {path}")));
    }
    match run.system {
        SystemUnderTest::Kernel { path, protocol, settings } => {
            kernel::run(paths, run, *protocol, *path, settings)
        }
        SystemUnderTest::Engine { path, config } => engine::run(paths, run, *path, config),
        SystemUnderTest::Usrsctp { path, program, config } => {
            usrsctp::run(paths, run, *path, (program, config))
        }
    }
}

impl SutRecord {
    /// The record of both halves; everything that is counted elsewhere is zero or empty.
    fn of_halves(
        run: &SutRun<'_>,
        paths: usize,
        client: &Half,
        server: &Half,
    ) -> Result<Self, LiveError> {
        let reports = [client.report(), server.report()];
        if let Some(mismatch) = reports.iter().find_map(|report| report.mismatch) {
            return Err(LiveError::Failed(format!(
                "received data differ from sent data: {mismatch}"
            )));
        }
        let outcome = Half::outcome(run.traffic, client, server, run.reverse);
        let failure = reports.iter().find_map(|report| report.failure);
        Ok(SutRecord::of_outcome(outcome, failure, paths))
    }

    /// The record with this outcome of the measured flow; everything else is zero or empty.
    fn of_outcome(outcome: Outcome, failure: Option<StreamFailure>, paths: usize) -> Self {
        let measured = FlowRecord {
            failure,
            bytes_read: outcome.bytes_read,
            sent: SentRecord { first_sent_bytes: vec![0; paths], ..SentRecord::default() },
            ..FlowRecord::default()
        };
        let run = RunRecord {
            outcome,
            ended: Duration::ZERO,
            flows: vec![measured],
            links: Vec::new(),
            shared: Vec::new(),
            captures: None,
            simulated: None,
        };
        SutRecord {
            run,
            congestion: Vec::new(),
            series: Vec::new(),
            counts: KernelCounts::default(),
        }
    }

    /// The measured flow.
    fn flow_mut(&mut self) -> &mut FlowRecord {
        &mut self.run.flows[0]
    }
}

/// Enter the namespace, with real-time priority where that is allowed.
fn settle_in(namespace: &Namespace) -> Result<(), LiveError> {
    // Without the privilege, a busy machine delays the ends; the emulator detects disturbed runs.
    let _ = crate::system::run_in_real_time(PRIORITY);
    namespace.enter().map_err(|error| LiveError::system("entering a namespace", &error))
}

/// The result of a thread, or an error if it panicked.
fn joined<T>(result: std::thread::Result<Result<T, LiveError>>) -> Result<T, LiveError> {
    result.unwrap_or_else(|_| Err(LiveError::Failed("a thread of a run panicked".to_owned())))
}
