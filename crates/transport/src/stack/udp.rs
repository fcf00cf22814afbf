//! UDP sockets (RFC 768).
//!
//! A datagram that is longer than the MTU of its interface is sent in fragments (RFC 791 s3.2).

use super::io::{SocketEvent, SocketEventKind};
use super::sockets::Socket;
use super::{Stack, Transmit};
use crate::socket::SocketError;
use base::{Context, Purpose, SocketId};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use wire::{Body, Packet, Payload, UdpDatagram};

/// Receive buffer of a socket in bytes (Linux `net.core.rmem_default`); datagrams beyond it are
/// dropped.
const RECEIVE_BUFFER: u32 = 212_992;
/// Bytes of the receive buffer that a datagram takes in addition to its payload.
const OVERHEAD: u32 = 256;

/// A UDP socket, which is bound to a port.
#[derive(Debug)]
pub(super) struct UdpSocket {
    pub(super) port: u16,
    received: VecDeque<(SocketAddr, Payload)>,
    held: u32,
}

impl UdpSocket {
    /// Queues a datagram. The result is an event if the queue was empty.
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
    /// Binds a UDP port; 0 chooses a free one.
    pub fn udp_bind(&mut self, cx: &mut Context<'_>, port: u16) -> Result<SocketId, SocketError> {
        let first = self.draws.draw(cx, Purpose::Port);
        // Others cannot guess it (RFC 7739 s3).
        self.next_identification ^= (first >> 32) as u16;
        let id = self.sockets.next_id();
        let port = self.addressing.bind_udp(port, first, id)?;
        let socket = UdpSocket { port, received: VecDeque::new(), held: 0 };
        self.sockets.push(Socket::Udp(Box::new(socket)));
        Ok(id)
    }

    /// Sends a datagram from `local` to `remote`.
    ///
    /// # Errors
    /// If the socket or the local address is not there, or the datagram is longer than IPv4, or the
    /// MTU of an IPv6 interface, allows.
    pub fn udp_send(
        &mut self,
        socket: SocketId,
        local: IpAddr,
        remote: SocketAddr,
        payload: Payload,
    ) -> Result<(), SocketError> {
        let interface = self.addressing.interface_to(local, remote.ip());
        let interface = interface.ok_or(SocketError::NoSuchAddress)?;
        let Some(Socket::Udp(udp)) = self.sockets.get(socket) else {
            return Err(SocketError::NoSuchSocket);
        };
        let datagram = UdpDatagram { src_port: udp.port, dst_port: remote.port(), payload };
        let packet = Packet::new(local, remote.ip(), Body::Udp(datagram));
        let mtu = self.addressing.mtu(interface);
        let is_v4 = local.is_ipv4();
        if packet.payload_len() > UdpDatagram::MOST_BYTES || (!is_v4 && packet.wire_len() > mtu) {
            return Err(SocketError::MessageTooLong);
        }
        let parts = packet.fragmented(mtu, self.next_identification);
        self.next_identification = self.next_identification.wrapping_add((parts.len() > 1) as u16);
        for part in parts {
            self.send_stray_packet(Transmit::new(interface, Box::new(part)));
        }
        Ok(())
    }

    /// Takes the next datagram that arrived, with its sender.
    pub fn udp_receive(&mut self, socket: SocketId) -> Option<(SocketAddr, Payload)> {
        let Some(Socket::Udp(udp)) = self.sockets.get_mut(socket) else { return None };
        let (from, payload) = udp.received.pop_front()?;
        udp.held -= payload.len() + OVERHEAD;
        Some((from, payload))
    }
}
