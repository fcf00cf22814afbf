//! Loss recovery in pure parts: estimators and rules that a TCP subflow or an SCTP path owns.
//!
//! Nothing here sees a segment, a socket or a timer: a caller passes the time and values and
//! carries out the answers. Windows belong to `congestion`; which segment is where belongs to the
//! scoreboard and the connection.

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
