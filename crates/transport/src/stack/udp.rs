//! UDP sockets (RFC 768).
//!
//! A datagram that is longer than the MTU of its interface is sent in fragments (RFC 791 s3.2).

use super::io::{SocketEvent, SocketEventKind};
use super::sockets::Socket;
use super::{Stack, Transmit};
use crate::info::{ConnectionInfo, PathInfo, Protocol, TcpInfo};
use crate::socket::SocketError;
use base::{Context, Event, EventMask, PathId, Purpose, SocketId};
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
    peer: Peer,
    received: VecDeque<(SocketAddr, Payload)>,
    held: u32,
    sent_bytes: u64,
    sent: u64,
    /// Payload bytes that the application read.
    read_bytes: u64,
}

/// Whom a socket exchanges datagrams with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Peer {
    /// Anybody.
    Any,
    /// The first one that sends a datagram.
    First,
    /// This one only: local address, remote address and port.
    One(IpAddr, SocketAddr),
}

impl UdpSocket {
    const fn new(port: u16, peer: Peer) -> Self {
        let received = VecDeque::new();
        UdpSocket { port, peer, received, held: 0, sent_bytes: 0, sent: 0, read_bytes: 0 }
    }

    /// Queues a datagram. The result is an event if the queue was empty.
    pub(super) fn receive(
        &mut self,
        id: SocketId,
        to: IpAddr,
        from: SocketAddr,
        payload: Payload,
    ) -> Option<SocketEvent> {
        let size = payload.len() + OVERHEAD;
        let is_foreign = matches!(self.peer, Peer::One(_, peer) if peer != from);
        if is_foreign || self.held + size > RECEIVE_BUFFER {
            return None;
        }
        if self.peer == Peer::First {
            self.peer = Peer::One(to, from);
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
        self.sockets.push(Socket::Udp(Box::new(UdpSocket::new(port, Peer::Any))));
        Ok(id)
    }

    /// Binds a UDP port; the first host that sends a datagram there becomes the peer.
    pub(super) fn udp_listen(&mut self, port: u16) -> Result<SocketId, SocketError> {
        let id = self.sockets.next_id();
        let port = self.addressing.bind_udp(port, 0, id)?;
        self.sockets.push(Socket::Udp(Box::new(UdpSocket::new(port, Peer::First))));
        Ok(id)
    }

    /// Binds a free UDP port to a peer.
    pub(super) fn udp_connect(
        &mut self,
        cx: &mut Context<'_>,
        local: IpAddr,
        remote: SocketAddr,
    ) -> Result<SocketId, SocketError> {
        let id = self.udp_bind(cx, 0)?;
        if let Some(Socket::Udp(socket)) = self.sockets.get_mut(id) {
            socket.peer = Peer::One(local, remote);
        }
        self.events.push_back(SocketEvent { socket: id, kind: SocketEventKind::Connected });
        Ok(id)
    }

    /// Sends a datagram to the peer of a socket.
    ///
    /// # Errors
    /// If the socket has no peer yet, and as of `udp_send`.
    pub fn udp_write(&mut self, socket: SocketId, payload: Payload) -> Result<(), SocketError> {
        let Some(Socket::Udp(udp)) = self.sockets.get(socket) else {
            return Err(SocketError::NoSuchSocket);
        };
        let Peer::One(local, remote) = udp.peer else { return Err(SocketError::NotConnected) };
        self.udp_send(socket, local, remote, payload)
    }

    /// Takes the next datagram of a socket; the bytes count as delivered in order.
    pub fn udp_read(&mut self, cx: &mut Context<'_>, socket: SocketId) -> Option<Payload> {
        let (_, payload) = self.udp_receive(socket)?;
        let Some(Socket::Udp(udp)) = self.sockets.get_mut(socket) else { return None };
        let (offset, len) = (udp.read_bytes, payload.len());
        udp.read_bytes += u64::from(len);
        cx.record(EventMask::DELIVERY, || Event::Delivered { socket, offset, len });
        Some(payload)
    }

    /// The state of a socket with a peer.
    pub(super) fn udp_info(&self, socket: SocketId) -> Option<ConnectionInfo> {
        let Some(Socket::Udp(udp)) = self.sockets.get(socket) else { return None };
        let Peer::One(local, remote) = udp.peer else { return None };
        let path = PathInfo {
            path: PathId(0),
            interface: self.addressing.interface_to(local, remote.ip())?,
            local: SocketAddr::new(local, udp.port),
            remote,
            backup: false,
            probing: false,
            is_over: false,
            first_sent_bytes: udp.sent_bytes,
            queued_bytes: 0,
            segs_retrans: 0,
            spurious_retrans: 0,
            reinjected_bytes: 0,
            reinjected_segs: 0,
            tcp: TcpInfo {
                bytes_sent: udp.sent_bytes,
                segs_out: udp.sent,
                ..TcpInfo::unused("ESTABLISHED")
            },
        };
        Some(ConnectionInfo {
            protocol: Protocol::Udp,
            paths: vec![path],
            retired: Vec::new(),
            fallback: false,
            snd_una: 0,
            snd_nxt: udp.sent_bytes,
            rcv_nxt: udp.read_bytes,
            reinjected_bytes: 0,
            probe_bytes: 0,
            duplicate_bytes: 0,
            sacks: 0,
            refused: 0,
            held_bytes: udp.held.into(),
            mappings: 0,
        })
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
        let Some(Socket::Udp(udp)) = self.sockets.get_mut(socket) else {
            return Err(SocketError::NoSuchSocket);
        };
        let datagram = UdpDatagram { src_port: udp.port, dst_port: remote.port(), payload };
        let packet = Packet::new(local, remote.ip(), Body::Udp(datagram));
        let mtu = self.addressing.mtu(interface);
        let is_v4 = local.is_ipv4();
        if packet.payload_len() > UdpDatagram::MOST_BYTES || (!is_v4 && packet.wire_len() > mtu) {
            return Err(SocketError::MessageTooLong);
        }
        udp.sent_bytes += u64::from(packet.payload_len());
        udp.sent += 1;
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
