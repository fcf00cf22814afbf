//! Configuration, inputs and events of a stack.

use crate::congestion::ControllerChoice;
use crate::endpoint::IpProtocol;
use crate::info::Protocol;
use crate::mptcp::MptcpConfig;
use crate::routes::Routes;
use crate::sctp::SctpConfig;
use crate::socket::{SendFailure, SocketError};
use crate::tcp::TcpConfig;
use base::{InterfaceId, SocketId};
use std::net::{IpAddr, SocketAddr};
use wire::Packet;

/// The configuration of a stack.
#[derive(Clone, Debug, Default)]
pub struct StackConfig {
    /// The interfaces in the order of their `InterfaceId`s.
    pub interfaces: Vec<InterfaceConfig>,
    /// Routes by pair of addresses, where interfaces share addresses.
    pub routes: Routes,
}

/// One interface of a host.
#[derive(Clone, Debug)]
pub struct InterfaceConfig {
    /// Addresses of this host on the interface.
    pub addresses: Vec<IpAddr>,
    /// Largest IP datagram, in bytes.
    pub mtu: u32,
}

/// The configuration of a connection or listener, which names its protocol.
#[derive(Clone, PartialEq, Debug)]
pub enum ProtocolConfig {
    /// TCP (RFC 9293).
    Tcp(TcpConfig),
    /// Multi-path TCP (RFC 8684).
    Mptcp(Box<MptcpConfig>),
    /// SCTP (RFC 9260).
    Sctp(Box<SctpConfig>),
    /// UDP (RFC 768). A listener is a socket that takes the first sender for its peer.
    Udp,
}

impl ProtocolConfig {
    /// The protocol that it configures.
    pub const fn protocol(&self) -> Protocol {
        match self {
            ProtocolConfig::Tcp(_) => Protocol::Tcp,
            ProtocolConfig::Mptcp(_) => Protocol::Mptcp,
            ProtocolConfig::Sctp(config) => config.protocol(),
            ProtocolConfig::Udp => Protocol::Udp,
        }
    }

    /// Congestion control of its paths; `None` of UDP.
    pub const fn congestion(&self) -> Option<&ControllerChoice> {
        match self {
            ProtocolConfig::Tcp(tcp) => Some(&tcp.congestion),
            ProtocolConfig::Mptcp(mptcp) => Some(&mptcp.tcp.congestion),
            ProtocolConfig::Sctp(sctp) => Some(&sctp.congestion),
            ProtocolConfig::Udp => None,
        }
    }

    /// The protocol of the packets of its connections; `None`: it has none.
    pub(super) const fn ip_protocol(&self) -> Option<IpProtocol> {
        match self {
            ProtocolConfig::Tcp(_) | ProtocolConfig::Mptcp(_) => Some(IpProtocol::Tcp),
            ProtocolConfig::Sctp(_) => Some(IpProtocol::Sctp),
            ProtocolConfig::Udp => None,
        }
    }
}

impl Default for ProtocolConfig {
    fn default() -> Self {
        ProtocolConfig::Tcp(TcpConfig::default())
    }
}

impl From<TcpConfig> for ProtocolConfig {
    fn from(config: TcpConfig) -> Self {
        ProtocolConfig::Tcp(config)
    }
}

impl From<MptcpConfig> for ProtocolConfig {
    fn from(config: MptcpConfig) -> Self {
        ProtocolConfig::Mptcp(Box::new(config))
    }
}

impl From<SctpConfig> for ProtocolConfig {
    fn from(config: SctpConfig) -> Self {
        ProtocolConfig::Sctp(Box::new(config))
    }
}

/// An input of a stack.
#[derive(Debug)]
pub enum Input {
    /// A packet arrived on an interface.
    Packet {
        /// The interface.
        interface: InterfaceId,
        /// The packet, with its IP header.
        packet: Box<Packet>,
    },
    /// The time that `poll_deadline` gave is due. An early timeout has no effect.
    Timeout,
    /// A packet of a path left the network interface.
    Departed {
        /// `Packet::flow` of the packet.
        flow: u32,
        /// Length of the IP packet, in bytes.
        bytes: u32,
    },
    /// An interface changed.
    Interface {
        /// The interface.
        interface: InterfaceId,
        /// The change.
        event: InterfaceEvent,
    },
    /// A middlebox reset all paths between some pairs of ends.
    Reset {
        /// Local and remote end of each path.
        ends: Vec<(SocketAddr, SocketAddr)>,
    },
}

/// A change of an interface of which the host is notified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InterfaceEvent {
    /// Its link is up.
    Up,
    /// Its link is down.
    Down,
    /// It has one more address.
    AddressAdded(IpAddr),
    /// It lost an address.
    AddressRemoved(IpAddr),
    /// Peers of multi-path connections are asked to use the interface as backup only, or again as
    /// any other (RFC 8684 s3.3.8).
    Backup(bool),
}

/// An event of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketEvent {
    /// The socket.
    pub socket: SocketId,
    /// Kind of the event.
    pub kind: SocketEventKind,
}

/// Kinds of events of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SocketEventKind {
    /// `connect` succeeded.
    Connected,
    /// A listener produced this connection.
    Accepted {
        /// The listener.
        listener: SocketId,
    },
    /// New data can be read.
    Readable,
    /// A `write` that took less than all can be tried again.
    Writable,
    /// The peer closed its direction: after the data, `read` returns `Err(Closed)`.
    PeerClosed,
    /// Both directions are closed.
    Closed,
    /// The peer has restarted, and the connection begins anew.
    Restarted,
    /// A message of an association was given up, and may not be delivered.
    SendFailed(SendFailure),
    /// The connection failed.
    Failed(SocketError),
}
