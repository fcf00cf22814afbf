//! The record of one run, simulated or in real time.

use crate::account::Account;
use crate::failover::FailoverTime;
use base::{Duration, InterfaceId};
use network::PathCounters;
use traffic::{Outcome, StreamFailure};
use transport::ConnectionInfo;

/// What one run yields.
#[derive(Clone, PartialEq, Debug)]
pub struct RunRecord {
    /// The result of flow 0.
    pub outcome: Outcome,
    /// Time from the start until the result was known or the run was ended as incomplete.
    pub ended: Duration,
    /// Every flow in the order of the setup. Flow 0 is the measured one and is always there.
    pub flows: Vec<FlowRecord>,
    /// Counters of the links of every path; empty without links of ours.
    pub links: Vec<PathCounters>,
    /// Counters of the shared links, in their order.
    pub shared: Vec<PathCounters>,
    /// The captures, if they were requested.
    pub captures: Option<Captures>,
    /// Values that only a simulation has.
    pub simulated: Option<SimulatedRecord>,
}

/// What one flow did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FlowRecord {
    /// Since the start of the run.
    pub started: Duration,
    /// When its last byte was read, if that was all it had to send; never of flow 0, whose end is
    /// that of the run.
    pub ended: Option<Duration>,
    /// Why its connection failed, if it did.
    pub failure: Option<StreamFailure>,
    /// Payload bytes that the application at the data receiver read.
    pub bytes_read: u64,
    /// Bits read per second, from its start or the end of the warm-up, whichever is later, to its
    /// end or that of the run; `None` if that interval is empty.
    pub goodput: Option<f64>,
    /// Bytes read by every full second of the run, from second zero on; empty without competing
    /// flows and warm-up.
    pub read_by: Vec<u64>,
    /// What its data sender sent.
    pub sent: SentRecord,
    /// Bytes that reached the data receiver's connection more than once.
    pub duplicate_bytes: u64,
    /// Segments with payload that reached the data receiver.
    pub data_packets: u64,
    /// SACKs and NR-SACKs that the data receiver sent; `None` without SCTP, and where the number is
    /// not known.
    pub sacks: Option<u64>,
    /// Path of each connection or subflow of the data sender, by its number.
    pub sender_subflows: Vec<usize>,
    /// The same of the data receiver, whose numbers may differ; empty where it is not known.
    pub receiver_subflows: Vec<usize>,
}

/// What the data sender of a flow sent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SentRecord {
    /// Payload bytes first sent on each path after the warm-up, retransmissions excluded.
    pub first_sent_bytes: Vec<u64>,
    /// Segments that were sent again on the same path, over all paths.
    pub retransmitted_segs: u64,
    /// Bytes that were assigned to a second path although another one had them.
    pub reinjected_bytes: u64,
    /// Bytes of `reinjected_bytes` that were sent to probe paths.
    pub probe_bytes: u64,
    /// By path; empty where it is not known, as of kernels.
    pub repeated: Vec<Repeated>,
}

impl SentRecord {
    /// Add what a connection sent so far; `path_of` has the path of each interface.
    pub fn add(&mut self, info: &ConnectionInfo, path_of: impl Fn(InterfaceId) -> usize) {
        for path in &info.paths {
            let repeated = Repeated {
                spurious_segs: path.spurious_retrans,
                reinjected_segs: path.reinjected_segs,
                reinjected_bytes: path.reinjected_bytes,
            };
            self.first_sent(path_of(path.interface), path.first_sent_bytes, repeated);
            self.retransmitted_segs += path.segs_retrans;
        }
        for former in &info.retired {
            let repeated = Repeated {
                spurious_segs: former.spurious_retrans,
                reinjected_segs: former.reinjected_segs,
                reinjected_bytes: former.reinjected_bytes,
            };
            self.first_sent(path_of(former.interface), former.first_sent_bytes, repeated);
            self.retransmitted_segs += former.segs_retrans;
        }
        self.reinjected_bytes += info.reinjected_bytes;
        self.probe_bytes += info.probe_bytes;
    }

    fn first_sent(&mut self, path: usize, bytes: u64, repeated: Repeated) {
        if self.first_sent_bytes.len() <= path {
            self.first_sent_bytes.resize(path + 1, 0);
        }
        if self.repeated.len() <= path {
            self.repeated.resize(path + 1, Repeated::default());
        }
        self.first_sent_bytes[path] += bytes;
        let sum = &mut self.repeated[path];
        sum.spurious_segs += repeated.spurious_segs;
        sum.reinjected_segs += repeated.reinjected_segs;
        sum.reinjected_bytes += repeated.reinjected_bytes;
    }
}

/// What was sent on a path although the peer, or another path, had it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Repeated {
    /// Segments sent again on the same path that a D-SACK proved needless.
    pub spurious_segs: u64,
    /// Segments assigned to the path although another one had them.
    pub reinjected_segs: u64,
    /// Payload of `reinjected_segs`.
    pub reinjected_bytes: u64,
}

/// Values that only a simulation has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SimulatedRecord {
    /// No event was left when the run stopped.
    pub idle: bool,
    /// Where the time of flow 0 went, if accounts were requested.
    pub account: Option<Account>,
    /// Failures of the paths of flow 0, in the order of time.
    pub failovers: Vec<FailoverTime>,
    /// SHA-256 over every packet and delivery event and the metric values, if it was requested.
    pub hash: Option<[u8; 32]>,
}

/// Captures of flow 0 in pcapng format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captures {
    /// At the host that sends the data.
    pub sender: Vec<u8>,
    /// At the host that receives them.
    pub receiver: Vec<u8>,
}

impl RunRecord {
    /// Flow 0.
    pub fn measured(&self) -> &FlowRecord {
        &self.flows[0]
    }

    /// The flows that compete with flow 0.
    pub fn competing(&self) -> &[FlowRecord] {
        self.flows.get(1..).unwrap_or_default()
    }

    /// Packets that came out of the links of paths.
    pub fn packets(&self) -> u64 {
        self.links.iter().map(|path| path.down.delivered + path.up.delivered).sum()
    }

    /// Whether no event was left when a simulation stopped.
    pub fn is_idle(&self) -> bool {
        self.simulated.as_ref().is_some_and(|simulated| simulated.idle)
    }

    /// The result hash of a simulation.
    pub fn hash(&self) -> Option<[u8; 32]> {
        self.simulated.as_ref()?.hash
    }

    /// The accounts of a simulation.
    pub fn account(&self) -> Option<Account> {
        self.simulated.as_ref()?.account
    }

    /// The failures of paths in a simulation.
    pub fn failovers(&self) -> &[FailoverTime] {
        self.simulated.as_ref().map_or(&[], |simulated| simulated.failovers.as_slice())
    }
}
