//! The sockets of a stack by number.

use super::io::ProtocolConfig;
use super::udp::UdpSocket;
use crate::endpoint::Endpoint;
use crate::mptcp::connection::Connection as MptcpConnection;
use crate::sctp::association::Association;
use crate::socket::SocketError;
use crate::tcp::connection::Connection as TcpConnection;
use base::SocketId;

/// A socket. Small, as one is looked up for every packet.
pub(super) enum Socket {
    Tcp(Box<TcpConnection>),
    Mptcp(Box<MptcpConnection>),
    Sctp(Box<Association>),
    Listener(Box<Listener>),
    Udp(Box<UdpSocket>),
    /// It was released and is over.
    Gone,
}

/// A socket that accepts connections.
pub(super) struct Listener {
    pub port: u16,
    pub config: ProtocolConfig,
    /// Connections whose handshake is not over.
    pub embryonic: u32,
}

/// All sockets that there are and were: numbers are never used again, so that a late event cannot
/// reach another socket.
#[derive(Default)]
pub(super) struct Sockets {
    list: Vec<Socket>,
}

impl Socket {
    /// The connection, if it is one.
    pub(super) fn endpoint(&self) -> Option<&dyn Endpoint> {
        match self {
            Socket::Tcp(connection) => Some(&**connection),
            Socket::Mptcp(connection) => Some(&**connection),
            Socket::Sctp(association) => Some(&**association),
            _ => None,
        }
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn endpoint_mut(&mut self) -> Option<&mut dyn Endpoint> {
        match self {
            Socket::Tcp(connection) => Some(&mut **connection),
            Socket::Mptcp(connection) => Some(&mut **connection),
            Socket::Sctp(association) => Some(&mut **association),
            _ => None,
        }
    }
}

impl Sockets {
    /// The number of the next socket.
    pub(super) const fn next_id(&self) -> SocketId {
        SocketId(self.list.len() as u32)
    }

    /// Adds a socket.
    pub(super) fn push(&mut self, socket: Socket) {
        self.list.push(socket);
    }

    #[inline]
    pub(super) fn get(&self, id: SocketId) -> Option<&Socket> {
        self.list.get(id.index())
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: SocketId) -> Option<&mut Socket> {
        self.list.get_mut(id.index())
    }

    /// Every socket in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Socket> {
        self.list.iter()
    }

    /// The numbers of all sockets.
    pub(super) fn ids(&self) -> impl Iterator<Item = SocketId> + use<> {
        (0..self.list.len() as u32).map(SocketId)
    }

    /// The connection with this number.
    pub(super) fn endpoint(&self, id: SocketId) -> Option<&dyn Endpoint> {
        self.get(id)?.endpoint()
    }

    /// The connection with this number, to be changed.
    #[inline]
    pub(super) fn endpoint_mut(&mut self, id: SocketId) -> Result<&mut dyn Endpoint, SocketError> {
        let socket = self.get_mut(id).and_then(Socket::endpoint_mut);
        socket.ok_or(SocketError::NoSuchSocket)
    }

    /// The listener with this number.
    pub(super) fn listener(&self, id: SocketId) -> Option<&Listener> {
        match self.get(id)? {
            Socket::Listener(listener) => Some(listener),
            _ => None,
        }
    }

    /// The listener with this number, to be changed.
    pub(super) fn listener_mut(&mut self, id: SocketId) -> Option<&mut Listener> {
        match self.get_mut(id)? {
            Socket::Listener(listener) => Some(listener),
            _ => None,
        }
    }

    /// The socket is not used any more.
    pub(super) fn remove(&mut self, id: SocketId) {
        if let Some(socket) = self.get_mut(id) {
            *socket = Socket::Gone;
        }
    }
}
