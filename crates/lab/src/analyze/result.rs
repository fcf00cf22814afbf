//! What an analysis says: connections, their subflows, and each direction of those.

use super::Distribution;
use std::net::SocketAddr;

/// Of a whole capture.
#[derive(Clone, PartialEq, Debug)]
pub struct Analysis {
    /// IP packets in the file.
    pub packets: u64,
    /// TCP segments among them.
    pub tcp_segments: u64,
    /// From the first packet to the last, in seconds.
    pub duration: f64,
    /// In the order in which they begin.
    pub connections: Vec<Connection>,
    /// What was left out or is uncertain.
    pub notes: Vec<String>,
}

/// What the two ends speak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spoken {
    /// TCP (RFC 9293), without an attempt to use MPTCP.
    Tcp,
    /// MPTCP version 1 (RFC 8684).
    Mptcp,
    /// MPTCP was asked for by the client, and something made it TCP.
    FellBack,
    /// Another version than 1, which is analysed as TCP.
    OtherVersion(u8),
}

/// Where the capture was taken, seen from a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vantage {
    /// At or near the client: it completed the handshake in less than a third of the time that the
    /// SYN-ACK took.
    Client,
    /// At or near the server: the SYN-ACK took less than a third of the time until the handshake
    /// was complete.
    Server,
    /// Somewhere between.
    Between,
    /// There is no handshake that tells.
    Unknown,
}

/// A TCP connection, or an MPTCP connection with all its subflows.
#[derive(Clone, PartialEq, Debug)]
pub struct Connection {
    /// Protocol of the connection.
    pub spoken: Spoken,
    /// Who opened it, as far as that is seen.
    pub client: SocketAddr,
    /// The address and port that the first SYN was sent to.
    pub server: SocketAddr,
    /// Where the segments of the first subflow were captured.
    pub vantage: Vantage,
    /// Seconds after the first segment of the capture.
    pub start: f64,
    /// From its first segment to its last, in seconds.
    pub duration: f64,
    /// In the order in which they begin; one for TCP.
    pub subflows: Vec<Subflow>,
    /// Bytes that were acknowledged but are not in the capture, both directions.
    pub missed_bytes: u64,
}

/// A subflow.
#[derive(Clone, PartialEq, Debug)]
pub struct Subflow {
    /// The name of the interface it was captured at, if it has one and there was only one.
    pub path: Option<String>,
    /// Its end at the connection's client.
    pub client: SocketAddr,
    /// Its end at the connection's server.
    pub server: SocketAddr,
    /// The server opened it.
    pub opened_by_server: bool,
    /// Its handshake is complete (or the capture began after it).
    pub established: bool,
    /// Opened as a backup.
    pub backup: bool,
    /// Ended by a reset.
    pub reset: bool,
    /// Client to server.
    pub up: Flowing,
    /// Server to client.
    pub down: Flowing,
}

/// What one end of a subflow sent.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Flowing {
    /// Segments with payload.
    pub segments: u64,
    /// Payload bytes, those sent again included.
    pub bytes: u64,
    /// Bytes of the connection that were seen here first.
    pub first_bytes: u64,
    /// Of all first bytes of this direction of the connection; `None` if there are none.
    pub share: Option<f64>,
    /// Segments sent again on this subflow.
    pub resent_segments: u64,
    /// Payload bytes sent again on this subflow.
    pub resent_bytes: u64,
    /// Bytes of the connection that had been sent before under another mapping, mostly on another
    /// subflow.
    pub reinjected_bytes: u64,
    /// Segments sent again over segments sent; `None` without any.
    pub loss: Option<f64>,
    /// From sending to acknowledgement, one value an acknowledgement; `None` where the capture was
    /// taken at the receiver.
    pub rtt: Option<Distribution>,
    /// `None` where the capture was taken at the sender.
    pub out_of_order: Option<OutOfOrder>,
}

/// How arriving segments waited for what was before them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OutOfOrder {
    /// Segments that had to wait.
    pub segments: u64,
    /// Of all segments with new bytes; those in order count as 0.
    pub delay: Distribution,
}

impl Connection {
    /// The first bytes of one direction over all subflows.
    pub fn first_bytes(&self, down: bool) -> u64 {
        self.subflows.iter().map(|subflow| subflow.flowing(down).first_bytes).sum()
    }
}

impl Subflow {
    /// One of the directions.
    pub fn flowing(&self, down: bool) -> &Flowing {
        if down { &self.down } else { &self.up }
    }
}
