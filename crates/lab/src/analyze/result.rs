//! Results of an analysis: connections, their subflows, and both directions of those.

use super::sctp::{Association, PathUse};
use super::{Counted, Distribution, Sequence, Talkers};
use base::Duration;
use std::net::SocketAddr;
use transport::Protocol;

/// Results for a capture.
#[derive(Clone, PartialEq, Debug)]
pub struct Analysis {
    /// IP packets in the file.
    pub packets: u64,
    /// TCP segments among them.
    pub tcp_segments: u64,
    /// SCTP packets among them, those over UDP included.
    pub sctp_packets: u64,
    /// SCTP packets that were left out because their checksum is that of RFC 2960.
    pub adler32_packets: u64,
    /// Time from the first packet to the last, in seconds.
    pub duration: f64,
    /// Packets by protocol, most bytes first; the analysis is of TCP and SCTP only.
    pub protocols: Vec<Counted>,
    /// Pairs of hosts, most bytes first.
    pub talkers: Vec<Talkers>,
    /// Connections in the order of their first segments.
    pub connections: Vec<Connection>,
    /// Notes on omitted or uncertain parts.
    pub notes: Vec<String>,
}

/// Protocol of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spoken {
    /// The protocol that the hosts agreed on; MPTCP is version 1 (RFC 8684).
    Of(Protocol),
    /// The client requested MPTCP, and the connection fell back to TCP.
    FellBack,
    /// MPTCP of a version other than 1, analysed as TCP.
    OtherVersion(u8),
}

/// Point of capture relative to a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vantage {
    /// At or near the client: it completed the handshake in less than a third of the time that the
    /// SYN-ACK took.
    Client,
    /// At or near the server: the SYN-ACK took less than a third of the time until the handshake
    /// was complete.
    Server,
    /// Between the ends.
    Between,
    /// Unknown, because there is no handshake.
    Unknown,
}

impl Vantage {
    /// The place where the answer to the first packet took `to_answer`, and the opener
    /// `to_confirm` to answer that: an end answers at once.
    pub(super) fn of(to_answer: Duration, to_confirm: Duration) -> Vantage {
        if to_confirm * 3 < to_answer {
            Vantage::Client
        } else if to_answer * 3 < to_confirm {
            Vantage::Server
        } else {
            Vantage::Between
        }
    }
}

/// A TCP connection, an MPTCP connection with all its subflows, or an SCTP association with all its
/// paths.
#[derive(Clone, PartialEq, Debug)]
pub struct Connection {
    /// Protocol of the connection.
    pub spoken: Spoken,
    /// Not a subflow of a connection whose keys are unknown, and with them its version of MPTCP.
    pub is_matched: bool,
    /// Opener, as far as the capture shows it.
    pub client: SocketAddr,
    /// The address and port that the first SYN was sent to.
    pub server: SocketAddr,
    /// Point of capture of the first subflow.
    pub vantage: Vantage,
    /// Start in seconds after the first segment of the capture.
    pub start: f64,
    /// Time from its first segment to its last, in seconds.
    pub duration: f64,
    /// Subflows in the order of their first segments; one for TCP.
    pub subflows: Vec<Subflow>,
    /// Bytes that were acknowledged but are not in the capture, both directions.
    pub missed_bytes: u64,
    /// What the client and what the server sent when; empty unless it was asked for.
    pub sequences: [Sequence; 2],
    /// What only an SCTP association has.
    pub sctp: Option<Box<Association>>,
}

/// A subflow, or a path of an association: a pair of addresses.
#[derive(Clone, PartialEq, Debug)]
pub struct Subflow {
    /// Name of the interface it was captured at, if it is unique and has a name.
    pub path: Option<String>,
    /// Address of the connection's client on this subflow.
    pub client: SocketAddr,
    /// Its end at the connection's server.
    pub server: SocketAddr,
    /// The server opened it.
    pub opened_by_server: bool,
    /// Its handshake is complete (or the capture began after it).
    pub established: bool,
    /// Round-trip time of the handshake in seconds; `None` for SCTP, between the ends, and if a
    /// part of the handshake was repeated or is not in the capture.
    pub handshake_rtt: Option<f64>,
    /// Opened as a backup.
    pub backup: bool,
    /// Ended by a reset.
    pub reset: bool,
    /// Client to server.
    pub up: Flowing,
    /// Server to client.
    pub down: Flowing,
}

/// Data sent by one end of a subflow. Segments of SCTP are DATA and I-DATA chunks, and its
/// reinjected bytes those sent before on another path.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Flowing {
    /// Segments with payload.
    pub segments: u64,
    /// Payload bytes, retransmissions included.
    pub bytes: u64,
    /// Bytes of the connection first seen on this subflow.
    pub first_bytes: u64,
    /// Share of the first bytes of this direction of the connection; `None` if there are none.
    pub share: Option<f64>,
    /// Segments retransmitted on this subflow.
    pub resent_segments: u64,
    /// Payload bytes sent again on this subflow.
    pub resent_bytes: u64,
    /// Bytes of the connection that had been sent before under another mapping, mostly on another
    /// subflow.
    pub reinjected_bytes: u64,
    /// Retransmitted segments over segments sent, both of at most the MSS of the SYNs: a captured
    /// one that hardware divides is several. `None` without segments.
    pub loss: Option<f64>,
    /// Times from sending to acknowledgement, one value per acknowledgement; `None` for captures at
    /// the receiver.
    pub rtt: Option<Distribution>,
    /// Out-of-order delay; `None` for captures at the sender.
    pub out_of_order: Option<OutOfOrder>,
    /// What only a path of SCTP has.
    pub sctp: Option<PathUse>,
}

/// Delay of segments that arrived out of order.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OutOfOrder {
    /// Segments that had to wait.
    pub segments: u64,
    /// Delay of all segments with new bytes; segments in order count as 0.
    pub delay: Distribution,
}

impl Connection {
    /// The sequence of one direction.
    pub fn sequence(&self, down: bool) -> &Sequence {
        &self.sequences[usize::from(down)]
    }

    /// Name of the path of a subflow, unless another subflow has it, too: all subflows of a host
    /// with one interface do.
    pub fn own_path<'s>(&self, subflow: &'s Subflow) -> Option<&'s str> {
        let path = subflow.path.as_deref()?;
        let there = self.subflows.iter().filter(|other| other.path.as_deref() == Some(path));
        (there.count() == 1).then_some(path)
    }

    /// The first bytes of one direction over all subflows.
    pub fn first_bytes(&self, down: bool) -> u64 {
        self.subflows.iter().map(|subflow| subflow.flowing(down).first_bytes).sum()
    }
}

impl Subflow {
    /// One direction.
    pub fn flowing(&self, down: bool) -> &Flowing {
        if down { &self.down } else { &self.up }
    }
}
