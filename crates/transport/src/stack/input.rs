//! Packets that arrive: to a connection, a listener, a UDP port, or answered by the host itself
//! (RFC 9293 s3.10.7.1 resets, RFC 792 and 4443 echo and unreachable).

use super::addressing::{FlowKey, FlowRef};
use super::face::Transmit;
use super::{MAX_EMBRYONIC, ProtocolConfig, Socket, Stack};
use crate::mptcp::{MptcpConfig, acceptable_capable};
use crate::socket::SocketError;
use crate::tcp::connection::Connection;
use crate::tcp::subflow::Tuple;
use base::{Context, InterfaceId, SocketId};
use bytes::Bytes;
use std::net::{IpAddr, SocketAddr};
use wire::mptcp::Join;
use wire::{Body, Flags, Icmp, Packet, SeqNumber, TcpSegment, UdpDatagram};

/// ICMP code "port unreachable" (RFC 792); ICMPv6 has 4 (RFC 4443 s3.1).
const PORT_UNREACHABLE_V4: u8 = 3;
const PORT_UNREACHABLE_V6: u8 = 4;
/// Answers of the host itself that may wait to be sent; more are dropped.
const MAX_STRAY: usize = 1024;

impl Stack {
    pub(super) fn handle_packet(
        &mut self,
        cx: &mut Context<'_>,
        interface: InterfaceId,
        packet: &mut Packet,
    ) {
        // A damaged packet has a wrong checksum.
        if packet.corrupted {
            return;
        }
        let (src, dst) = (packet.src, packet.dst);
        match &mut packet.body {
            Body::Tcp(segment) => self.handle_tcp(cx, interface, src, dst, segment),
            _ if self.addressing.interface_of(dst).is_none() => {}
            Body::Udp(datagram) => self.handle_udp(interface, src, dst, datagram),
            Body::Icmp(message) => self.handle_icmp(cx, interface, src, dst, message),
            // Whoever drives a stack parses what it hands in.
            Body::Opaque(_) => {}
        }
    }

    fn handle_tcp(
        &mut self,
        cx: &mut Context<'_>,
        interface: InterfaceId,
        src: IpAddr,
        dst: IpAddr,
        segment: &mut TcpSegment,
    ) {
        let local = SocketAddr::new(dst, segment.dst_port);
        let remote = SocketAddr::new(src, segment.src_port);
        let known = self.addressing.receiver(local, remote);
        if let Some(flow) = known.filter(|flow| !self.is_reusable(*flow, segment)) {
            self.deliver(cx, flow, segment);
            self.adopt_grouped(cx);
            return;
        }
        if self.addressing.interface_of(dst).is_none() {
            return;
        }
        if self.handle_grouped(cx, interface, Tuple { local, remote }, segment) {
            return;
        }
        if is_opening(segment)
            && let Some(Join::Syn { token, .. }) = segment.options.mptcp.join()
        {
            self.accept_join(cx, interface, token, Tuple { local, remote }, segment);
            return;
        }
        let listener = self.addressing.listener(local.port());
        match listener {
            Some(listener) if is_opening(segment) => {
                self.accept(cx, interface, listener, Tuple { local, remote }, segment);
            }
            _ => self.refuse(interface, local, remote, segment),
        }
    }

    pub(super) fn deliver(
        &mut self,
        cx: &mut Context<'_>,
        flow: FlowRef,
        segment: &mut TcpSegment,
    ) {
        match self.sockets.get_mut(flow.socket.index()) {
            Some(Socket::Tcp(connection)) => connection.handle_segment(cx, segment),
            Some(Socket::Mptcp(connection)) => {
                connection.handle_segment(cx, usize::from(flow.subflow), segment);
            }
            _ => return,
        }
        self.reader = Some(flow.socket);
        self.wake(flow.socket);
    }

    /// A new SYN may take the place of a connection in TIME-WAIT (RFC 9293 s3.6.1).
    fn is_reusable(&self, flow: FlowRef, segment: &TcpSegment) -> bool {
        match self.sockets.get(flow.socket.index()) {
            Some(Socket::Tcp(connection)) => {
                connection.subflow.is_closed()
                    || (is_opening(segment) && connection.subflow.may_be_reopened(segment))
            }
            Some(Socket::Mptcp(connection)) => {
                connection.is_subflow_closed(usize::from(flow.subflow))
            }
            _ => true,
        }
    }

    fn accept(
        &mut self,
        cx: &mut Context<'_>,
        interface: InterfaceId,
        listener: SocketId,
        tuple: Tuple,
        syn: &TcpSegment,
    ) {
        let Some(Socket::Listener(entry)) = self.sockets.get(listener.index()) else { return };
        if entry.embryonic >= MAX_EMBRYONIC {
            return;
        }
        let tcp = match &entry.config {
            ProtocolConfig::Tcp(config) => config.clone(),
            ProtocolConfig::Mptcp(config) => {
                if let Some(asked) = acceptable_capable(syn) {
                    let config = MptcpConfig::clone(config);
                    self.accept_capable(cx, interface, listener, &config, tuple, (syn, asked));
                    return;
                }
                config.tcp.clone()
            }
        };
        let id = self.next_id();
        let identity = self.identity(cx, id, interface, tuple);
        let connection = Connection::accept(cx.now, &identity, interface, &tcp, syn, listener);
        self.insert(id, connection);
        self.join_backlog(listener);
        self.wake(id);
    }

    /// One more handshake that a listener waits for.
    pub(super) fn join_backlog(&mut self, listener: SocketId) {
        if let Some(Socket::Listener(entry)) = self.sockets.get_mut(listener.index()) {
            entry.embryonic += 1;
        }
    }

    /// RFC 9293 s3.10.7.1: no connection, no listener.
    fn refuse(
        &mut self,
        interface: InterfaceId,
        local: SocketAddr,
        remote: SocketAddr,
        segment: &TcpSegment,
    ) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let mut reset = TcpSegment {
            src_port: local.port(),
            dst_port: remote.port(),
            flags: Flags::RST,
            ..TcpSegment::default()
        };
        if segment.flags.contains(Flags::ACK) {
            reset.seq = segment.ack;
        } else {
            reset.seq = SeqNumber(0);
            reset.ack = segment.seq + segment.sequence_len();
            reset.flags = Flags::RST | Flags::ACK;
        }
        self.send_stray(interface, local.ip(), remote.ip(), Body::Tcp(reset));
    }

    fn handle_udp(
        &mut self,
        interface: InterfaceId,
        src: IpAddr,
        dst: IpAddr,
        datagram: &mut UdpDatagram,
    ) {
        let from = SocketAddr::new(src, datagram.src_port);
        let id = self.addressing.udp(datagram.dst_port);
        let socket = id.and_then(|id| self.sockets.get_mut(id.index()));
        match (socket, id) {
            (Some(Socket::Udp(socket)), Some(id)) => {
                if let Some(event) = socket.receive(id, from, std::mem::take(&mut datagram.payload))
                {
                    self.events.push_back(event);
                }
            }
            _ => {
                let code = if dst.is_ipv4() { PORT_UNREACHABLE_V4 } else { PORT_UNREACHABLE_V6 };
                let original = offending_header(src, dst, datagram);
                let message = Icmp::Unreachable { code, next_hop_mtu: 0, original };
                self.send_stray(interface, dst, src, Body::Icmp(message));
            }
        }
    }

    fn handle_icmp(
        &mut self,
        cx: &mut Context<'_>,
        interface: InterfaceId,
        src: IpAddr,
        dst: IpAddr,
        message: &mut Icmp,
    ) {
        match message {
            Icmp::Echo { reply: false, identifier, sequence, data } => {
                let (identifier, sequence) = (*identifier, *sequence);
                let data = std::mem::take(data);
                let answer = Icmp::Echo { reply: true, identifier, sequence, data };
                self.send_stray(interface, dst, src, Body::Icmp(answer));
            }
            Icmp::Echo { .. } => {}
            Icmp::Unreachable { original, .. } => self.handle_unreachable(cx, original),
        }
    }

    /// Which connection an error is about stands in the packet it quotes.
    fn handle_unreachable(&mut self, cx: &mut Context<'_>, original: &[u8]) {
        let Some((local, remote)) = quoted_tcp_ends(original) else { return };
        let Some(flow) = self.addressing.flow(FlowKey::new(local, remote)) else { return };
        match self.sockets.get_mut(flow.socket.index()) {
            Some(Socket::Tcp(connection)) => {
                connection.subflow.on_unreachable(cx, SocketError::Unreachable);
            }
            Some(Socket::Mptcp(connection)) => {
                connection.on_unreachable(cx, usize::from(flow.subflow), SocketError::Unreachable);
            }
            _ => return,
        }
        self.reader = Some(flow.socket);
        self.wake(flow.socket);
    }

    pub(super) fn send_stray_packet(&mut self, packet: Transmit) {
        if self.stray.len() < MAX_STRAY {
            self.stray.push_back(packet);
        }
    }

    pub(super) fn send_stray(
        &mut self,
        interface: InterfaceId,
        src: IpAddr,
        dst: IpAddr,
        body: Body,
    ) {
        let packet = Box::new(Packet::new(src, dst, body));
        self.send_stray_packet(Transmit { interface, packet });
    }
}

/// A SYN that opens a connection.
fn is_opening(segment: &TcpSegment) -> bool {
    segment.flags.contains(Flags::SYN)
        && !segment.flags.contains(Flags::ACK)
        && !segment.flags.contains(Flags::RST)
}

/// The IP and UDP header of a datagram that nobody wanted, as an ICMP error quotes them.
fn offending_header(src: IpAddr, dst: IpAddr, datagram: &UdpDatagram) -> Bytes {
    let header = UdpDatagram {
        src_port: datagram.src_port,
        dst_port: datagram.dst_port,
        ..UdpDatagram::default()
    };
    let mut bytes = Vec::new();
    Packet::new(src, dst, Body::Udp(header)).emit(&mut bytes);
    Bytes::from(bytes)
}

/// The ends of the TCP connection whose packet (of ours) an ICMP error quotes.
fn quoted_tcp_ends(original: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    const TCP: u8 = 6;
    let version = original.first()? >> 4;
    let (src, dst, ports): (IpAddr, IpAddr, usize) = match version {
        4 => {
            let header = original.first_chunk::<20>()?;
            let ports = usize::from(header[0] & 15) * 4;
            let src: [u8; 4] = header[12..16].try_into().ok()?;
            let dst: [u8; 4] = header[16..20].try_into().ok()?;
            (header[9] == TCP).then_some((src.into(), dst.into(), ports))?
        }
        6 => {
            let header = original.first_chunk::<40>()?;
            let src: [u8; 16] = header[8..24].try_into().ok()?;
            let dst: [u8; 16] = header[24..40].try_into().ok()?;
            (header[6] == TCP).then_some((src.into(), dst.into(), 40))?
        }
        _ => return None,
    };
    let ends = original.get(ports..ports + 4)?;
    let source = u16::from_be_bytes([ends[0], ends[1]]);
    let destination = u16::from_be_bytes([ends[2], ends[3]]);
    Some((SocketAddr::new(src, source), SocketAddr::new(dst, destination)))
}
