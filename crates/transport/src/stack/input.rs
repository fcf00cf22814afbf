//! Packets that arrive: for a connection, a listener or a UDP port, or answered by the host itself
//! (ICMP echo and unreachable, RFC 792 and RFC 4443).

use super::addressing::{FlowKey, FlowRef};
use super::icmp::{port_unreachable, quoted_ends, quoted_seq, quoted_tags};
use super::paths::View;
use super::sctp::SctpInput;
use super::sockets::Socket;
use super::{MAX_EMBRYONIC, ProtocolConfig, Stack};
use crate::endpoint::{Arrival, Draws, Endpoint, IpProtocol, Transmit, Tuple};
use crate::mptcp::host::ListenerSyn;
use crate::tcp::TcpConfig;
use crate::tcp::connection::Connection;
use crate::tcp::stray::{opens_connection, refusal};
use base::{Context, InterfaceId, PathId, SocketId};
use std::hint::cold_path;
use std::net::{IpAddr, SocketAddr};
use wire::{Body, Icmp, Packet, UdpDatagram};

/// The largest number of the host's own packets that wait to be sent; more are dropped.
const MAX_STRAY: usize = 1024;

impl Stack {
    // Its usual caller knows that it is a packet: inlined, that saves a call a packet.
    #[inline(always)]
    pub(super) fn handle_packet(
        &mut self,
        cx: &mut Context<'_>,
        interface: InterfaceId,
        packet: &mut Packet,
    ) {
        // A damaged packet has a wrong checksum; a damaged fragment makes that of its datagram
        // wrong.
        if packet.corrupted && !matches!(packet.body, Body::Fragment(_)) {
            cold_path();
            return;
        }
        if let Body::Tcp(segment) = &packet.body {
            let ports = (segment.dst_port, segment.src_port);
            self.handle_tcp(cx, interface, packet, ports);
        } else {
            self.handle_other(cx, interface, packet);
        }
    }

    /// A segment with these ports, the local one first.
    // Saves a call a packet.
    #[inline(always)]
    fn handle_tcp(
        &mut self,
        cx: &mut Context<'_>,
        interface: InterfaceId,
        packet: &mut Packet,
        (local, remote): (u16, u16),
    ) {
        // With their families known, the addresses need not be made.
        let key = match packet.ends.as_v4() {
            Some((src, dst)) => FlowKey::v4(IpProtocol::Tcp, (dst, local), (src, remote)),
            None => {
                cold_path();
                FlowKey::of(IpProtocol::Tcp, (packet.dst(), local), (packet.src(), remote))
            }
        };
        if let Some(flow) = self.addressing.receiver(key, || packet.dst())
            && self.deliver(cx, flow, &mut packet.body)
        {
            if self.mptcp.has_waiting() {
                cold_path();
                self.adopt_paths(cx);
            }
            return;
        }
        cold_path();
        let local = SocketAddr::new(packet.dst(), local);
        let remote = SocketAddr::new(packet.src(), remote);
        self.handle_unconnected(cx, &Arrival { interface, ends: Tuple { local, remote } }, packet);
    }

    /// A segment between ends without a connection.
    #[cold]
    fn handle_unconnected(&mut self, cx: &mut Context<'_>, arrival: &Arrival, packet: &Packet) {
        if self.addressing.interface_of(packet.dst()).is_some() {
            self.handle_unknown(cx, IpProtocol::Tcp, arrival, &packet.body);
        }
    }

    /// A packet that was sent in fragments.
    #[inline(never)]
    fn handle_whole(&mut self, cx: &mut Context<'_>, interface: InterfaceId, whole: &mut Packet) {
        self.handle_packet(cx, interface, whole);
    }

    /// Anything but a TCP segment.
    #[inline(never)]
    fn handle_other(&mut self, cx: &mut Context<'_>, interface: InterfaceId, packet: &mut Packet) {
        if cx.has_short_ways() && self.handle_common_sctp(cx, packet) {
            return;
        }
        self.handle_rare(cx, interface, packet);
    }

    /// The same but for packets as nearly all of an association are: its ends name it, and it takes
    /// no more than data and SACKs. Returns whether it was such a one.
    // A fifth of what an association takes for a packet was to find it.
    #[inline(always)]
    fn handle_common_sctp(&mut self, cx: &mut Context<'_>, packet: &mut Packet) -> bool {
        let Body::Sctp(sctp) = &mut packet.body else { return false };
        let Some((src, dst)) = packet.ends.as_v4() else { return false };
        let (local, remote) = ((dst, sctp.dst_port), (src, sctp.src_port));
        let key = FlowKey::v4(IpProtocol::Sctp, local, remote);
        let Some(flow) = self.addressing.receiver(key, || dst.into()) else { return false };
        let Some(Socket::Sctp(association)) = self.sockets.get_mut(flow.socket) else {
            return false;
        };
        if !association.handle_common(cx, flow.path, sctp) {
            return false;
        }
        self.reader = Some(flow.socket);
        if !std::mem::replace(&mut association.marks().ready, true) {
            self.ready.push_back(flow.socket);
        }
        true
    }

    #[inline(never)]
    fn handle_rare(&mut self, cx: &mut Context<'_>, interface: InterfaceId, packet: &mut Packet) {
        let (src, dst) = (packet.src(), packet.dst());
        match &mut packet.body {
            Body::Sctp(sctp) => {
                SctpInput::new(self, interface, (src, dst), sctp).handle(cx, &mut packet.body);
            }
            _ if self.addressing.interface_of(dst).is_none() => {}
            Body::Fragment(_) => {
                // What comes out is no fragment.
                if let Some(mut whole) = self.reassembly.handle(cx.now, packet) {
                    self.handle_whole(cx, interface, &mut whole);
                }
            }
            Body::Udp(datagram) => self.handle_udp(interface, src, dst, datagram),
            Body::Icmp(message) => self.handle_icmp(cx, interface, src, dst, message),
            // `handle_tcp`; and the driver of a stack parses packets before it passes them in.
            Body::Tcp(_) | Body::Opaque(_) => {}
        }
    }

    /// Passes a segment to its connection; returns whether there is one that it does not replace.
    // Saves a call a packet.
    #[inline(always)]
    pub(super) fn deliver(&mut self, cx: &mut Context<'_>, flow: FlowRef, body: &mut Body) -> bool {
        let marks = match self.sockets.get_mut(flow.socket) {
            Some(Socket::Tcp(connection)) => {
                if connection.is_replaced_by(flow.path, body) {
                    return false;
                }
                connection.handle(cx, flow.path, body);
                connection.marks()
            }
            Some(Socket::Mptcp(connection)) => {
                if connection.is_replaced_by(flow.path, body) {
                    return false;
                }
                connection.handle(cx, flow.path, body);
                connection.marks()
            }
            _ => return false,
        };
        self.reader = Some(flow.socket);
        if !std::mem::replace(&mut marks.ready, true) {
            self.ready.push_back(flow.socket);
        }
        true
    }

    /// A packet opens a connection at a listener.
    pub(super) fn accept(
        &mut self,
        cx: &mut Context<'_>,
        arrival: &Arrival,
        listener: SocketId,
        body: &Body,
    ) {
        let Some(entry) = self.sockets.listener(listener) else { return };
        let Body::Tcp(syn) = body else { return };
        if entry.embryonic >= MAX_EMBRYONIC {
            return;
        }
        let id = self.sockets.next_id();
        let path = self.new_path(id, PathId(0), arrival.interface, arrival.ends);
        let host = View::new(&self.sockets, &self.addressing);
        let draws = &mut self.draws;
        let tcp = |draws: &mut Draws, config: &TcpConfig| {
            let connection = Connection::accept(cx, draws, &path, (listener, config), syn);
            Socket::Tcp(Box::new(connection))
        };
        let socket = match &entry.config {
            ProtocolConfig::Tcp(config) => tcp(draws, config),
            ProtocolConfig::Mptcp(config) => {
                let request = ListenerSyn { path: &path, syn, listener, config };
                match self.mptcp.accept(cx, draws, &host, &request) {
                    Some(connection) => Socket::Mptcp(Box::new(connection)),
                    None => tcp(draws, &config.tcp),
                }
            }
            ProtocolConfig::Sctp(_) | ProtocolConfig::Udp => return,
        };
        self.insert(socket);
        if let Some(entry) = self.sockets.listener_mut(listener) {
            entry.embryonic += 1;
        }
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
        let socket = id.and_then(|id| self.sockets.get_mut(id));
        match (socket, id) {
            (Some(Socket::Udp(socket)), Some(id)) => {
                let payload = std::mem::take(&mut datagram.payload);
                if let Some(event) = socket.receive(id, dst, from, payload) {
                    self.events.push_back(event);
                }
            }
            _ => self.send_stray(interface, dst, src, port_unreachable(src, dst, datagram)),
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
            Icmp::Unreachable { code, next_hop_mtu, original } => {
                self.handle_unreachable(cx, (*code, (*next_hop_mtu).into()), original);
            }
        }
    }

    /// The packet that the message quotes names the path.
    fn handle_unreachable(
        &mut self,
        cx: &mut Context<'_>,
        (code, mtu): (u8, u32),
        original: &[u8],
    ) {
        const FRAGMENTATION_NEEDED: u8 = 4;
        let Some((protocol, ends)) = quoted_ends(original) else { return };
        // The peer can be reached with smaller packets.
        let is_too_large = mtu > 0 || (ends.remote.is_ipv4() && code == FRAGMENTATION_NEEDED);
        let Some(flow) = self.addressing.flow(protocol, &ends) else { return };
        match (self.sockets.get_mut(flow.socket), quoted_tags(original)) {
            (Some(Socket::Sctp(association)), Some(tags)) => {
                association.on_icmp(cx, flow.path, (code, mtu), tags);
            }
            (Some(Socket::Sctp(_)), None) => return,
            _ if is_too_large => return,
            _ => match self.sockets.endpoint_mut(flow.socket) {
                Ok(endpoint) => endpoint.on_unreachable(cx, flow.path, quoted_seq(original)),
                Err(_) => return,
            },
        }
        self.reader = Some(flow.socket);
        self.wake(flow.socket);
    }

    /// Answers a segment without a connection or listener.
    pub(super) fn refuse(&mut self, arrival: &Arrival, body: &Body) {
        let Body::Tcp(segment) = body else { return };
        if let Some(answer) = refusal(&arrival.ends, segment) {
            self.answer(arrival, answer);
        }
    }

    /// Whether a packet between unknown ends opens a connection.
    pub(super) fn opens_connection(body: &Body) -> bool {
        matches!(body, Body::Tcp(segment) if opens_connection(segment))
    }

    /// Sends an answer to a packet between unknown ends.
    pub(super) fn answer(&mut self, arrival: &Arrival, body: Body) {
        let Tuple { local, remote } = arrival.ends;
        self.send_stray(arrival.interface, local.ip(), remote.ip(), body);
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
        self.send_stray_packet(Transmit::new(interface, packet));
    }
}
