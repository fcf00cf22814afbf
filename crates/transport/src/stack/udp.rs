//! UDP sockets (RFC 768).

use super::face::{SocketEvent, SocketEventKind};
use super::{Socket, Stack};
use crate::socket::SocketError;
use base::{Context, Purpose, SocketId};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use wire::{Body, Payload, UdpDatagram};

/// Bytes a socket holds for its reader (Linux `rmem_default`); more are dropped.
const RECEIVE_BUFFER: u32 = 212_992;
/// What a datagram takes besides its payload.
const OVERHEAD: u32 = 256;

/// A bound UDP port.
#[derive(Debug)]
pub(super) struct UdpSocket {
    pub(super) port: u16,
    received: VecDeque<(SocketAddr, Payload)>,
    held: u32,
}

impl UdpSocket {
    /// A datagram arrived; the event if the reader had nothing before.
    pub(super) fn receive(
        &mut self,
        id: SocketId,
        from: SocketAddr,
        payload: Payload,
    ) -> Option<SocketEvent> {
        let size = payload.len() + OVERHEAD;
        if self.held + size > RECEIVE_BUFFER {
            return None;
        }
        self.held += size;
        let was_empty = self.received.is_empty();
        self.received.push_back((from, payload));
        was_empty.then_some(SocketEvent { socket: id, kind: SocketEventKind::Readable })
    }
}

impl Stack {
    /// Bind a UDP port; 0 picks a free one.
    pub fn udp_bind(&mut self, cx: &mut Context<'_>, port: u16) -> Result<SocketId, SocketError> {
        let first = self.draw(cx, Purpose::Port);
        let id = self.next_id();
        let port = self.addressing.bind_udp(port, first, id)?;
        let socket = UdpSocket { port, received: VecDeque::new(), held: 0 };
        self.sockets.push(Socket::Udp(Box::new(socket)));
        Ok(id)
    }

    /// Send a datagram from `local` to `remote`.
    pub fn udp_send(
        &mut self,
        socket: SocketId,
        local: IpAddr,
        remote: SocketAddr,
        payload: Payload,
    ) -> Result<(), SocketError> {
        let interface = self.addressing.interface_of(local).ok_or(SocketError::NoSuchAddress)?;
        let Some(Socket::Udp(udp)) = self.sockets.get(socket.index()) else {
            return Err(SocketError::NoSuchSocket);
        };
        let datagram = UdpDatagram { src_port: udp.port, dst_port: remote.port(), payload };
        self.send_stray(interface, local, remote.ip(), Body::Udp(datagram));
        Ok(())
    }

    /// The next datagram that arrived, with its sender.
    pub fn udp_receive(&mut self, socket: SocketId) -> Option<(SocketAddr, Payload)> {
        let Some(Socket::Udp(udp)) = self.sockets.get_mut(socket.index()) else { return None };
        let (from, payload) = udp.received.pop_front()?;
        udp.held -= payload.len() + OVERHEAD;
        Some((from, payload))
    }
}
