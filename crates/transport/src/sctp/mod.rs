//! SCTP (RFC 9260): parts of an association, each without sockets and timers of its own.
//!
//! `handshake` sets an association up, `accept` says which packets belong to it. `ReceivedTsns` is
//! what a receiver knows of TSNs and reports in SACKs, `Outstanding` what a sender has in the
//! network and what SACKs do to it. Both cost O(log n) per TSN that changes and per block of a
//! report, whatever the span of the gaps: a linear list of gaps can occupy a whole processor (003
//! sIII-D). `PathStates` says which destinations work, `Rto` when a packet to one is overdue.
//! `streams` cuts messages into fragments and puts them together again. Formats are left to `wire`,
//! windows to `congestion`.

mod abandon;
mod accept;
mod acknowledge;
mod addresses;
pub(crate) mod association;
mod authentication;
mod binding;
mod burst;
pub mod cmt;
mod config;
mod control;
mod describe;
mod eligibility;
mod ends;
mod gaps;
pub mod handshake;
pub(crate) mod host;
mod input;
mod moves;
mod offset_set;
mod outgoing;
mod output;
mod outstanding;
mod path;
mod path_state;
mod profile;
mod received;
mod receiver;
mod repeated;
mod resent;
mod rto;
mod rtx_policy;
mod sack_timing;
mod schedule;
mod sender;
mod shutdown;
mod stream_changes;
pub mod streams;
mod timers;
mod transfer;
mod verifier;

pub use accept::{OwnTags, Stray, has_right_tag, out_of_the_blue};
pub use burst::BurstRule;
pub use config::{Addresses, SctpConfig};
pub use gaps::{GapStructure, ListAnswer, ReceivedList, SentList};
pub use outstanding::{AckedChunk, Acknowledged, Marked, Outstanding, Report, SackError, UserData};
pub use path_state::{Consequence, FailureLimits, PathState, PathStates};
pub use profile::{InitialWindow, SctpParameters, SctpProfile, SendRules};
pub use received::{Arrival, Keep, ReceivedTsns};
pub use rto::{Rto, RtoBounds};
pub use rtx_policy::{Candidate, RtxPolicy};
pub use sack_timing::{Content, DataPacket, Gap, SackTiming};
pub use stream_changes::StreamChange;
pub use verifier::Verifier;
