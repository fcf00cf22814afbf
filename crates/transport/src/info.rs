//! The state of a connection, for measurement: the same shape for every protocol.

use crate::choice::own_name;
use base::{CaState, Duration, InterfaceId, PathId};
use std::fmt;
use std::net::SocketAddr;

/// A transport protocol of connections.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Protocol {
    /// TCP (RFC 9293).
    Tcp,
    /// Multi-path TCP (RFC 8684).
    Mptcp,
    /// SCTP (RFC 9260), one path at a time.
    Sctp,
    /// SCTP with data on all paths at once (CMT-SCTP).
    CmtSctp,
    /// UDP (RFC 768): datagrams over one path, not a connection.
    Udp,
}

impl Protocol {
    /// Every protocol.
    pub const ALL: [Protocol; 5] =
        [Protocol::Tcp, Protocol::Mptcp, Protocol::Sctp, Protocol::CmtSctp, Protocol::Udp];

    /// The name in options and scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "tcp",
            Protocol::Mptcp => "mptcp",
            Protocol::Sctp => "sctp",
            Protocol::CmtSctp => "cmt-sctp",
            Protocol::Udp => "udp",
        }
    }

    /// The protocol with this `name`, in any case.
    pub fn by_name(name: &str) -> Option<Protocol> {
        const ALIASES: [(&str, &str); 4] = [
            ("multipath-tcp", "mptcp"),
            ("mp-tcp", "mptcp"),
            ("cmt", "cmt-sctp"),
            ("cmtsctp", "cmt-sctp"),
        ];
        let name = own_name(name, &ALIASES);
        Protocol::ALL.into_iter().find(|protocol| protocol.name() == name)
    }

    /// Whether a connection can use more than one path at once.
    pub const fn is_multipath(self) -> bool {
        match self {
            Protocol::Tcp | Protocol::Sctp | Protocol::Udp => false,
            Protocol::Mptcp | Protocol::CmtSctp => true,
        }
    }

    /// Whether its connections are associations of SCTP.
    pub const fn is_sctp(self) -> bool {
        matches!(self, Protocol::Sctp | Protocol::CmtSctp)
    }
}

impl fmt::Display for Protocol {
    /// The name in prose.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Protocol::Tcp => "TCP",
            Protocol::Mptcp => "MPTCP",
            Protocol::Sctp => "SCTP",
            Protocol::CmtSctp => "CMT-SCTP",
            Protocol::Udp => "UDP",
        })
    }
}

/// The state of a connection. Counters have the names of `nstat` and `ss -Mi`.
#[derive(Clone, PartialEq, Debug)]
pub struct ConnectionInfo {
    /// Protocol that the connection was configured for, also after a fallback.
    pub protocol: Protocol,
    /// The paths in the order of their `PathId`s. A connection of a protocol with a single path
    /// has one.
    pub paths: Vec<PathInfo>,
    /// The sums over former paths whose `PathId`s were given to new ones, by interface.
    pub retired: Vec<RetiredPath>,
    /// The peers agreed on a simpler protocol: MPTCP fell back to TCP (RFC 8684 s3.7).
    pub fallback: bool,
    /// Offset of the oldest unacknowledged byte in the stream of data; the FIN or DATA_FIN counts
    /// as one byte.
    pub snd_una: u64,
    /// Offset of the next byte to send for the first time, over all paths.
    pub snd_nxt: u64,
    /// Offset of the next byte expected from the peer; its FIN or DATA_FIN counts as one byte.
    pub rcv_nxt: u64,
    /// Bytes sent on a path after another path had sent them, probes included.
    pub reinjected_bytes: u64,
    /// Bytes of these that were sent to probe a path.
    pub probe_bytes: u64,
    /// Bytes of the stream received more than once, as far as the connection sees them: the
    /// repetitions of a TCP subflow are not counted.
    pub duplicate_bytes: u64,
    /// SACKs and NR-SACKs sent (SCTP); 0 with other protocols.
    pub sacks: u64,
    /// Refused options, mappings and joins.
    pub refused: u64,
    /// Payload bytes received and not yet read, those in subflows included.
    pub held_bytes: u64,
    /// Received mappings whose data have not all arrived (RFC 8684 s3.3.1).
    pub mappings: u32,
}

/// The state of one path of a connection.
#[derive(Clone, PartialEq, Debug)]
pub struct PathInfo {
    /// Number of the path in the connection.
    pub path: PathId,
    /// Interface that its packets leave on.
    pub interface: InterfaceId,
    /// Address and port of this host.
    pub local: SocketAddr,
    /// Address and port of the peer.
    pub remote: SocketAddr,
    /// Either end asks to use the path only while no other works.
    pub backup: bool,
    /// The path policy allows only probes.
    pub probing: bool,
    /// Nothing is exchanged any more except answers to late packets.
    pub is_over: bool,
    /// Payload bytes sent first on this path.
    pub first_sent_bytes: u64,
    /// Payload bytes that MPTCP's scheduler passed to this path alone and that wait to be sent.
    pub queued_bytes: u64,
    /// Retransmissions on this path, in segments.
    pub segs_retrans: u64,
    /// Retransmissions that a D-SACK showed to be unnecessary, in segments (RFC 3708).
    pub spurious_retrans: u64,
    /// Payload bytes sent here after another path had sent them.
    pub reinjected_bytes: u64,
    /// The same in segments.
    pub reinjected_segs: u64,
    /// The state of the TCP connection or subflow.
    pub tcp: TcpInfo,
}

/// Sums over former paths of one interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetiredPath {
    /// The interface.
    pub interface: InterfaceId,
    /// Payload bytes sent first on these paths.
    pub first_sent_bytes: u64,
    /// Retransmissions on these paths, in segments.
    pub segs_retrans: u64,
    /// Retransmissions that a D-SACK showed to be unnecessary.
    pub spurious_retrans: u64,
    /// Payload bytes sent here after another path had sent them.
    pub reinjected_bytes: u64,
    /// The same in segments.
    pub reinjected_segs: u64,
}

impl RetiredPath {
    /// Adds another former path of the interface.
    pub(crate) const fn add(&mut self, other: &RetiredPath) {
        self.first_sent_bytes += other.first_sent_bytes;
        self.segs_retrans += other.segs_retrans;
        self.spurious_retrans += other.spurious_retrans;
        self.reinjected_bytes += other.reinjected_bytes;
        self.reinjected_segs += other.reinjected_segs;
    }
}

/// The state of a TCP connection or subflow, with the names that `ss -ti` prints.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TcpInfo {
    /// Name of the state (RFC 9293 s3.3.2), such as `ESTABLISHED`.
    pub state: &'static str,
    /// Congestion state.
    pub ca_state: CaState,
    /// Congestion window, in segments; 0 before the handshake is complete.
    pub cwnd_segs: u32,
    /// Slow-start threshold, in segments; `None` while infinite.
    pub ssthresh_segs: Option<u32>,
    /// Smoothed round-trip time (RFC 6298 s2); zero without a sample.
    pub srtt: Duration,
    /// Variation of the round-trip time (RFC 6298 s2); zero without a sample.
    pub rttvar: Duration,
    /// Smallest round-trip time of the last 300 s (Linux `tcp_min_rtt_wlen`); zero without a
    /// sample.
    pub min_rtt: Duration,
    /// Retransmission time-out, its back-off included (RFC 6298 s5).
    pub rto: Duration,
    /// Payload of a full segment after all options, in bytes.
    pub mss: u32,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload bytes sent again.
    pub bytes_retrans: u64,
    /// Bytes acknowledged; the FIN counts as one byte.
    pub bytes_acked: u64,
    /// Segments received, those without payload included; 0 of an association.
    pub segs_in: u64,
    /// Of these those that came next and took the short way (`base::Ways`).
    pub segs_expected: u64,
    /// Segments sent, those without payload included.
    pub segs_out: u64,
    /// Segments of data or FIN sent again.
    pub segs_retrans: u64,
    /// Retransmissions that a D-SACK showed to be unnecessary.
    pub spurious_retrans: u64,
    /// Window that the peer announced last, in bytes (SND.WND of RFC 9293).
    pub snd_wnd: u64,
    /// Window announced to the peer last, in bytes (RCV.WND of RFC 9293).
    pub rcv_wnd: u64,
    /// Size of the receive buffer, in bytes of memory.
    pub receive_buffer: u32,
}

impl TcpInfo {
    /// That of a path without a TCP connection.
    pub(crate) const fn unused(state: &'static str) -> Self {
        TcpInfo {
            state,
            ca_state: CaState::Open,
            cwnd_segs: 0,
            ssthresh_segs: None,
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            min_rtt: Duration::ZERO,
            rto: Duration::ZERO,
            mss: 0,
            bytes_sent: 0,
            bytes_retrans: 0,
            bytes_acked: 0,
            segs_in: 0,
            segs_expected: 0,
            segs_out: 0,
            segs_retrans: 0,
            spurious_retrans: 0,
            snd_wnd: 0,
            rcv_wnd: 0,
            receive_buffer: 0,
        }
    }

    /// Nothing is exchanged any more except answers to late segments: closed, or in TIME-WAIT.
    pub fn is_over(&self) -> bool {
        matches!(self.state, "CLOSED" | "TIME-WAIT")
    }
}
