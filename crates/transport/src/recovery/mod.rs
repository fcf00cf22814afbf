//! Loss recovery and buffer tuning as parts without I/O: estimators and rules that a TCP subflow or
//! an SCTP path owns.
//!
//! No part depends on a packet format, a socket or a timer: the owner passes the time and values
//! and carries out the answers. Windows belong to `congestion`.

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

pub(crate) use drs::Sizing;
pub(crate) use drs::{ReceiveBuffer, Received, received_tail_room, received_truesize};
pub(crate) use dup_thresh::DupThresh;
pub(crate) use pacing::{MAX_BURST_BYTES, Pacer, burst_segs, pacing_rate};
pub(crate) use prr::{Prr, PrrVariant};
pub(crate) use rack::{Rack, RackSample};
pub(crate) use rtt::{MinRttFilter, RttEstimator};
pub(crate) use scoreboard::{PlainRun, Scoreboard, SentSegment};
pub(crate) use shared_drs::{Reception, SharedBuffer, Space};
pub(crate) use sndbuf::{SendBufferTuning, sent_truesize};
pub(crate) use tlp::{LINUX_SLACK, PtoInput, Tlp, TlpAck, TlpOutcome, TlpRule, pto};
