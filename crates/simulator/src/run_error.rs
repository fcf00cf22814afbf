//! Why a run could not be carried out.

use crate::setup::MOST_FLOWS;
use crate::world::WorldError;
use base::Instant;
use network::TopologyError;
use traffic::StreamMismatch;
use transport::SocketError;

/// Why a run could not be carried out.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RunError {
    /// The setup has no flow 0.
    #[error("the run has no flow")]
    NoFlow,
    /// A flow or a shared link refers to the path with this index, which does not exist.
    #[error("the run has no path {0}")]
    NoSuchPath(usize),
    /// This many flows compete with flow 0; more than [`MOST_FLOWS`].
    #[error("{0} flows are more than {MOST_FLOWS}")]
    TooManyFlows(usize),
    /// A pcapng capture cannot have one interface for each name of a path.
    #[error("the names of the paths are too long or too many for a capture")]
    PathNames,
    /// The links and routes of the setup contradict each other.
    #[error("the network makes no sense: {0}")]
    Topology(TopologyError),
    /// The client or the server of a flow could not open its first socket.
    #[error("cannot open a socket: {0}")]
    Socket(SocketError),
    /// A defect of the engine or of the codec.
    #[error("{error} (seed {seed}, run {run})")]
    World {
        /// The defect.
        error: WorldError,
        /// Seed of the study.
        seed: u64,
        /// Number of the repetition.
        run: u64,
    },
    /// The bytes read differ from the bytes written: a defect of the engine.
    #[error("stream broken at {at} of virtual time: {what} (seed {seed}, run {run})")]
    StreamBroken {
        /// Virtual time of the read.
        at: Instant,
        /// The bytes read and those expected.
        what: StreamMismatch,
        /// Seed of the study.
        seed: u64,
        /// Number of the repetition.
        run: u64,
    },
}
