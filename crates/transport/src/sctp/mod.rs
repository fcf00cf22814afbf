//! SCTP (RFC 9260): the handshake and the data structures of an association, without sockets,
//! streams and paths.
//!
//! `handshake` sets an association up.
//! `ReceivedTsns` is what a receiver knows of TSNs and reports in SACKs, `Outstanding` what a
//! sender has in the network and what SACKs do to it. Both cost O(log n) per TSN that changes and
//! O(1) or O(log n) per block of a report, whatever the span of the gaps: a linear list of gaps can
//! occupy a whole processor (003 sIII-D). Formats are left to `wire`, windows to `congestion`.

pub mod handshake;
mod outstanding;
mod received;

pub use outstanding::{AckedChunk, Acknowledged, Outstanding, Report, SackError};
pub use received::{Arrival, Keep, ReceivedTsns};
