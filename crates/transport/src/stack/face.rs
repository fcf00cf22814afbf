//! What goes into a stack and what comes out of it, as values.

use crate::info::Protocol;
use crate::mptcp::MptcpConfig;
use crate::socket::SocketError;
use crate::tcp::TcpConfig;
use base::{InterfaceId, SocketId};
use std::net::{IpAddr, SocketAddr};
use wire::Packet;

/// What a stack is made of.
#[derive(Clone, Debug, Default)]
pub struct StackConfig {
    /// In the order of their `InterfaceId`s.
    pub interfaces: Vec<InterfaceConfig>,
}

/// One interface of a host.
#[derive(Clone, Debug)]
pub struct InterfaceConfig {
    pub addresses: Vec<IpAddr>,
    /// Largest IP datagram, in bytes.
    pub mtu: u32,
}

/// The configuration of a connection or listener, which names its protocol.
#[derive(Clone, PartialEq, Debug)]
pub enum ProtocolConfig {
    Tcp(TcpConfig),
    Mptcp(Box<MptcpConfig>),
}

impl ProtocolConfig {
    /// The protocol that it configures.
    pub const fn protocol(&self) -> Protocol {
        match self {
            ProtocolConfig::Tcp(_) => Protocol::Tcp,
            ProtocolConfig::Mptcp(_) => Protocol::Mptcp,
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

/// Something that happened to the stack.
#[derive(Debug)]
pub enum Input {
    /// A packet arrived on an interface.
    Packet { interface: InterfaceId, packet: Box<Packet> },
    /// The time that `poll_deadline` named has come. Harmless if early.
    Timeout,
    /// `bytes` (IP length) of `flow` (`Packet::flow`) left the NIC.
    Departed { flow: u32, bytes: u32 },
    /// An interface changed.
    Interface { interface: InterfaceId, event: InterfaceEvent },
    /// Something on the way reset all connections and subflows between these ends: the host's own,
    /// the peer's.
    Reset { ends: Vec<(SocketAddr, SocketAddr)> },
}

/// A change of an interface that the host notices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InterfaceEvent {
    Up,
    Down,
    AddressAdded(IpAddr),
    AddressRemoved(IpAddr),
    /// Peers of connections over several paths are asked to spare it, or to use it again
    /// (RFC 8684 s3.3.8).
    Backup(bool),
}

/// A packet to put on an interface.
#[derive(Debug)]
pub struct Transmit {
    pub interface: InterfaceId,
    pub packet: Box<Packet>,
}

/// News about a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketEvent {
    pub socket: SocketId,
    pub kind: SocketEventKind,
}

/// Kinds of news.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SocketEventKind {
    /// `connect` succeeded.
    Connected,
    /// A listener produced this connection.
    Accepted { listener: SocketId },
    /// There is something new to read.
    Readable,
    /// A `write` that was refused or cut short may be tried again.
    Writable,
    /// The peer will send no more: after the data, `read` gives end of stream.
    PeerClosed,
    /// The connection is over in both directions.
    Closed,
    /// The connection failed.
    Failed(SocketError),
}
