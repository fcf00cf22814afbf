//! Results of an SCTP association beside those that every connection has.
//!
//! Index 0 is the client, which sent the INIT, and what it sends; index 1 the server.

use crate::analyze::{Distribution, OutOfOrder};
use std::net::IpAddr;

/// An association.
#[derive(Clone, PartialEq, Debug)]
pub struct Association {
    /// The capture has the handshake or a part of it, so the client is known to have initiated the
    /// association.
    pub initiated: bool,
    /// The furthest state that the capture shows.
    pub state: State,
    /// How it ended.
    pub end: End,
    /// Initiate Tag of each side: the verification tag of the packets sent to it.
    pub tags: [Option<u32>; 2],
    /// UDP ports of the client and of the server, if UDP carries the packets (RFC 6951).
    pub udp: Option<[u16; 2]>,
    /// Addresses of each side.
    pub addresses: [Vec<Address>; 2],
    /// Requests of ASCONF, in the order of time.
    pub changes: Vec<AddressChange>,
    /// Data of each side, and their acknowledgement by the other one.
    pub sides: [Sent; 2],
    /// Causes in ERROR chunks of each side, and how often.
    pub errors: [Vec<(String, u64)>; 2],
    /// Chunks of a known type with an impossible content.
    pub malformed_chunks: u64,
    /// Packets with a verification tag that is not that of the association.
    pub wrong_tags: u64,
}

impl Association {
    /// TSNs that were acknowledged but are not in the capture, both directions.
    pub fn missed_chunks(&self) -> u64 {
        self.sides.iter().map(|side| side.missed_chunks).sum()
    }
}

/// State of an association (RFC 9260 s4), as far as its packets show it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// An INIT was sent.
    CookieWait,
    /// A COOKIE ECHO was sent.
    CookieEchoed,
    /// The handshake is complete, or was complete when the capture began.
    Established,
    /// A SHUTDOWN was sent.
    ShutdownSent,
    /// A SHUTDOWN ACK was sent.
    ShutdownAckSent,
    /// A SHUTDOWN COMPLETE was sent.
    Closed,
}

impl State {
    /// The state as RFC 9260 writes it, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            State::CookieWait => "cookie-wait",
            State::CookieEchoed => "cookie-echoed",
            State::Established => "established",
            State::ShutdownSent => "shutdown-sent",
            State::ShutdownAckSent => "shutdown-ack-sent",
            State::Closed => "closed",
        }
    }
}

/// How an association ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// It runs when the capture ends.
    Running,
    /// By SHUTDOWN, first sent by this side; `None` if only the end of the exchange was captured.
    Shutdown(Option<usize>),
    /// By an ABORT of this side, with the causes that it names.
    Abort(usize, Vec<String>),
    /// Another association of the same addresses and ports replaced it (RFC 9260 s5.2).
    Restart,
}

/// An address of one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// The address.
    pub address: IpAddr,
    /// How the capture shows it.
    pub from: Known,
    /// An ASCONF removed it, which was acknowledged.
    pub removed: bool,
}

/// How an address became known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// By the list of an INIT or INIT ACK.
    Init,
    /// By an ASCONF that was acknowledged.
    Asconf,
    /// By packets from it or to it only.
    Packet,
}

/// A request of an ASCONF (RFC 5061 s4.2).
#[derive(Clone, PartialEq, Debug)]
pub struct AddressChange {
    /// Seconds after the first packet of the capture.
    pub time: f64,
    /// The side whose address it is.
    pub side: usize,
    /// What to do with it.
    pub what: Change,
    /// The address; a wildcard stands for the source of the packet.
    pub address: IpAddr,
    /// `None` without an ASCONF ACK, otherwise the causes of a refusal, of which success has none.
    pub answer: Option<Vec<String>>,
}

/// A change of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Add IP Address.
    Add,
    /// Delete IP Address.
    Delete,
    /// Set Primary Address.
    SetPrimary,
}

impl Change {
    /// The name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Change::Add => "add",
            Change::Delete => "delete",
            Change::SetPrimary => "set-primary",
        }
    }
}

/// Data that one side sent.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sent {
    /// DATA and I-DATA chunks, retransmissions included.
    pub chunks: u64,
    /// Their user data, in bytes.
    pub bytes: u64,
    /// Different TSNs.
    pub unique_chunks: u64,
    /// User data of different TSNs, in bytes.
    pub unique_bytes: u64,
    /// TSNs that were acknowledged but are not in the capture.
    pub missed_chunks: u64,
    /// TSNs that the sender abandoned: not seen, and skipped by FORWARD TSN.
    pub abandoned_chunks: u64,
    /// Retransmissions by kind, over all paths.
    pub retransmissions: Retransmissions,
    /// SACKs and NR-SACKs of the other side.
    pub sacks: Sacks,
    /// Different user data over the time from the first chunk to the last new one or its
    /// acknowledgement, in bit/s; `None` if that takes no time.
    pub goodput: Option<f64>,
    /// Streams, by identifier.
    pub streams: Vec<Stream>,
}

/// Retransmissions by what caused them, as far as a capture can tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Retransmissions {
    /// The first one of a TSN, after three SACKs had acknowledged later chunks of its path (RFC
    /// 9260 s7.2.4).
    pub fast: u64,
    /// All others: expiry of T3-rtx, which covers every chunk of the path (RFC 9260 s6.3.3), or a
    /// choice of the sender.
    pub timeout: u64,
    /// Of both: those sent on another path than before.
    pub moved: u64,
    /// Of both: those whose first copy was lost before the point of capture.
    pub lost_before: u64,
}

/// SACKs and NR-SACKs of the receiver of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sacks {
    /// SACK chunks.
    pub sacks: u64,
    /// NR-SACK chunks.
    pub nr_sacks: u64,
    /// Gap Ack Blocks in all of them.
    pub gap_blocks: u64,
    /// Gap Ack Blocks in the chunk with most of them.
    pub most_gap_blocks: u64,
    /// TSNs reported as duplicates.
    pub duplicates: u64,
    /// The smallest advertised window, in bytes; `None` without acknowledgement.
    pub least_window: Option<u32>,
    /// Acknowledgements with a window of 0.
    pub zero_windows: u64,
}

/// A stream in one direction.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stream {
    /// Stream identifier.
    pub id: u16,
    /// Ordered messages whose last fragment is in the capture.
    pub ordered: u64,
    /// The same of unordered messages.
    pub unordered: u64,
    /// User data without retransmissions, in bytes.
    pub bytes: u64,
    /// Time that chunks waited for everything before them in their stream, or, of an unordered
    /// message, in the message; `None` for captures at the sender.
    pub blocked: Option<OutOfOrder>,
}

/// What a path carried in one direction beside data.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PathUse {
    /// Packets with any chunks.
    pub packets: u64,
    /// Retransmissions sent here, by kind.
    pub retransmissions: Retransmissions,
    /// HEARTBEAT chunks.
    pub heartbeats: u64,
    /// Those among them that were answered.
    pub answered: u64,
    /// Time from a HEARTBEAT to its HEARTBEAT ACK, on whatever path that came; `None` for captures
    /// at the receiver of the HEARTBEAT.
    pub heartbeat_rtt: Option<Distribution>,
}
