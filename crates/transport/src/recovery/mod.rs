//! Loss recovery and buffer tuning as parts without I/O: estimators and rules that a TCP subflow or
//! an SCTP path owns.
//!
//! No part knows a packet format, a socket or a timer: the owner passes the time and values and
//! carries out the answers. Windows belong to `congestion`.

mod drs;
mod dup_thresh;
mod pacing;
mod prr;
mod rack;
mod rtt;
mod scoreboard;
mod shared_drs;
mod sndbuf;
mod tlp;

pub use drs::{ReceiveBuffer, Received, received_truesize};
pub use dup_thresh::DupThresh;
pub use pacing::{Pacer, burst_segs, pacing_rate};
pub use prr::{Prr, PrrVariant};
pub use rack::{Rack, RackSample};
pub use rtt::{MinRttFilter, RttEstimator, RttMode};
pub use scoreboard::{ByTime, Scoreboard, SentSegment};
pub use shared_drs::{Reception, SharedBuffer, Space};
pub use sndbuf::{SendBufferTuning, sent_truesize};
pub use tlp::{PtoInput, Tlp, TlpAck, TlpOutcome, TlpRule, pto};
