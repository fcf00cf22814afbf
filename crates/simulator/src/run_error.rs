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
    #[error("the run has no flow")]
    NoFlow,
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
    /// The bytes read differ from the bytes written: a defect of the engine.
    #[error("stream broken at {at} of virtual time: {what} (seed {seed}, run {run})")]
    StreamBroken { at: Instant, what: StreamMismatch, seed: u64, run: u64 },
}
