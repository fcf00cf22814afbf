//! SCTP packets that arrive: for an association, a listener, or for the host itself (RFC 9260 s5,
//! s8.4).

use super::Stack;
use super::addressing::FlowRef;
use super::io::ProtocolConfig;
use super::sockets::Socket;
use crate::endpoint::{Endpoint, IpProtocol, NewPath, Tag, Tuple};
use crate::sctp::SctpConfig;
use crate::sctp::association::Association;
use crate::sctp::handshake::{Agreement, CookieAction, Tags, compare};
use crate::sctp::host::{Cookie, Datagram, LocalAddress};
use crate::sctp::streams::{Message, Received};
use crate::socket::SocketError;
use base::{Context, InterfaceId, PathId, SocketId};
use std::net::{IpAddr, SocketAddr};
use wire::sctp::{Chunk, VerificationTag};
use wire::{Body, SctpPacket};

impl Stack {
    /// An SCTP packet between `src` and `dst`.
    pub(super) fn handle_sctp(
        &mut self,
        cx: &mut Context<'_>,
        interface: InterfaceId,
        (src, dst): (IpAddr, IpAddr),
        body: &mut Body,
    ) {
        let Body::Sctp(packet) = body else { return };
        let local = SocketAddr::new(dst, packet.dst_port);
        let ends = Tuple { local, remote: SocketAddr::new(src, packet.src_port) };
        if self.addressing.interface_of(dst).is_none() {
            return;
        }
        match packet.chunks.first() {
            Some(Chunk::Init(_)) => self.on_sctp_init(cx, interface, &ends, packet),
            Some(Chunk::CookieEcho(_)) => self.on_sctp_cookie(cx, interface, &ends, body),
            _ => match self.sctp_flow(&ends, packet.tag) {
                Some(flow) => self.deliver_sctp(cx, flow, body),
                None => self.on_sctp_stray(cx, interface, &ends, packet),
            },
        }
    }

    /// The association of a packet: by its addresses, otherwise by its tag.
    fn sctp_flow(&self, ends: &Tuple, tag: VerificationTag) -> Option<FlowRef> {
        let known = self.addressing.receiver(IpProtocol::Sctp, ends);
        let by_tag = || {
            let tag = Tag::Verification(ends.local.port(), tag);
            let socket = self.addressing.tagged(tag)?;
            Some(FlowRef { socket, path: PathId(u8::MAX) })
        };
        let is_live = |flow: &FlowRef| {
            self.sockets.endpoint(flow.socket).is_some_and(|endpoint| !endpoint.is_closed())
        };
        known.or_else(by_tag).filter(is_live)
    }

    fn deliver_sctp(&mut self, cx: &mut Context<'_>, flow: FlowRef, body: &mut Body) {
        if let Some(Socket::Sctp(association)) = self.sockets.get_mut(flow.socket) {
            let before = association.paths();
            association.handle(cx, flow.path, body);
            self.rebind_sctp(flow.socket, &before);
            self.reader = Some(flow.socket);
            self.wake(flow.socket);
        }
    }

    /// Binds the pairs of addresses of an association whose list changed from `before`.
    fn rebind_sctp(&mut self, id: SocketId, before: &[(Tuple, InterfaceId)]) {
        let Some(Socket::Sctp(association)) = self.sockets.get_mut(id) else { return };
        if !association.take_pairs_changed() {
            return;
        }
        for (ends, _) in before {
            self.addressing.unbind_flow(IpProtocol::Sctp, ends, id);
        }
        for (path, (ends, _)) in (0..).zip(association.paths()) {
            let flow = FlowRef { socket: id, path: PathId(path) };
            self.addressing.bind_flow(IpProtocol::Sctp, &ends, flow);
        }
        if let Some(tag) = association.tag() {
            self.addressing.bind_tag(tag, id);
        }
    }

    fn on_sctp_init(
        &mut self,
        cx: &mut Context<'_>,
        interface: InterfaceId,
        ends: &Tuple,
        packet: &SctpPacket,
    ) {
        let datagram = Datagram { src: ends.remote.ip(), dst: ends.local.ip(), packet };
        // An INIT belongs to the association that any of its addresses belongs to.
        let of = |address: IpAddr| {
            let remote = SocketAddr::new(address, ends.remote.port());
            self.addressing.flow(IpProtocol::Sctp, &Tuple { remote, ..*ends })
        };
        let known = datagram.listed().into_iter().find_map(of).map(|flow| flow.socket);
        let listener = self.sctp_listener(ends.local.port()).map(|(_, config)| config.clone());
        let own = self.sctp_locals(interface, ends.local.ip());
        let host = self.sctp_host_addresses();
        let present = match known.and_then(|id| self.sockets.get_mut(id)) {
            Some(Socket::Sctp(association)) => Some(&mut **association),
            _ => None,
        };
        let config = match &present {
            Some(association) => Some(association.config().clone()),
            None => listener,
        };
        let locals = config.as_ref().map(|config| config.locals(own, &host)).unwrap_or_default();
        let config = config.as_ref().map(|config| (config, &locals[..]));
        let answer = self.sctp.on_init(cx, &mut self.draws, &datagram, config, present);
        if let Some(answer) = answer {
            let (local, remote) = (ends.local.ip(), ends.remote.ip());
            self.send_stray(interface, local, remote, Body::Sctp(Box::new(answer)));
        }
        if let Some(id) = known {
            self.wake(id);
        }
    }

    fn on_sctp_cookie(
        &mut self,
        cx: &mut Context<'_>,
        interface: InterfaceId,
        ends: &Tuple,
        body: &mut Body,
    ) {
        let Body::Sctp(packet) = &*body else { return };
        let datagram = Datagram { src: ends.remote.ip(), dst: ends.local.ip(), packet };
        match self.sctp.on_cookie(cx, &datagram) {
            Cookie::Discard => {}
            Cookie::Answer(answer) => {
                let (local, remote) = (ends.local.ip(), ends.remote.ip());
                self.send_stray(interface, local, remote, Body::Sctp(Box::new(answer)));
            }
            Cookie::Valid(agreed, tags) => {
                let tag = packet.tag;
                let id = match self.sctp_flow(ends, tag) {
                    Some(flow) => self.on_known_cookie(cx, flow.socket, &agreed, tags),
                    None => self.accept_sctp(cx, interface, ends, (&agreed, tags)),
                };
                // Data may follow the cookie (RFC 9260 s5.1 C).
                if let Some(id) = id {
                    let path = self.sctp_flow(ends, tag).map_or(PathId(0), |flow| flow.path);
                    self.deliver_sctp(cx, FlowRef { socket: id, path }, body);
                }
            }
        }
    }

    /// A valid cookie for an association that there is (RFC 9260 s5.2.4).
    fn on_known_cookie(
        &mut self,
        cx: &mut Context<'_>,
        id: SocketId,
        agreed: &Agreement,
        tags: Tags,
    ) -> Option<SocketId> {
        let Some(Socket::Sctp(association)) = self.sockets.get_mut(id) else { return None };
        let before = association.paths();
        let goes_on = match compare(association.tags(), &tags) {
            CookieAction::Restart => {
                association.restart(cx, agreed, tags);
                true
            }
            CookieAction::Collision | CookieAction::Duplicate => {
                association.on_cookie(cx, agreed.clone(), &tags);
                true
            }
            CookieAction::Late | CookieAction::Discard => false,
        };
        self.rebind_sctp(id, &before);
        self.wake(id);
        goes_on.then_some(id)
    }

    /// A valid cookie sets up an association at a listener.
    fn accept_sctp(
        &mut self,
        cx: &mut Context<'_>,
        interface: InterfaceId,
        ends: &Tuple,
        (agreed, tags): (&Agreement, Tags),
    ) -> Option<SocketId> {
        let (listener, config) = self.sctp_listener(ends.local.port())?;
        let config = config.clone();
        let id = self.sockets.next_id();
        let path: NewPath = self.new_path(id, PathId(0), interface, *ends);
        let own = self.sctp_locals(interface, ends.local.ip());
        let locals = config.locals(own, &self.sctp_host_addresses());
        let made = Association::accept(cx, &path, (listener, &config), locals, (agreed, tags));
        let id = self.insert(Socket::Sctp(Box::new(made)));
        self.rebind_sctp(id, &[]);
        Some(id)
    }

    fn on_sctp_stray(
        &mut self,
        cx: &Context<'_>,
        interface: InterfaceId,
        ends: &Tuple,
        packet: &SctpPacket,
    ) {
        let datagram = Datagram { src: ends.remote.ip(), dst: ends.local.ip(), packet };
        if let Some(answer) = self.sctp.on_stray(cx.now, &datagram) {
            let (local, remote) = (ends.local.ip(), ends.remote.ip());
            self.send_stray(interface, local, remote, Body::Sctp(Box::new(answer)));
        }
    }

    fn sctp_listener(&self, port: u16) -> Option<(SocketId, &SctpConfig)> {
        let id = self.addressing.listener(IpProtocol::Sctp, port)?;
        match &self.sockets.listener(id)?.config {
            ProtocolConfig::Sctp(config) => Some((id, config)),
            ProtocolConfig::Tcp(_) | ProtocolConfig::Mptcp(_) => None,
        }
    }

    /// One address of the host.
    pub(super) fn sctp_locals(&self, interface: InterfaceId, address: IpAddr) -> LocalAddress {
        // A packet may arrive on another interface than that of its destination.
        let interface = self.addressing.interface_of(address).unwrap_or(interface);
        LocalAddress { address, interface, mtu: self.addressing.mtu(interface) }
    }

    /// All addresses of the host.
    pub(super) fn sctp_host_addresses(&self) -> Vec<LocalAddress> {
        let all = self.addressing.host().into_iter();
        all.map(|(address, interface)| self.sctp_locals(interface, address)).collect()
    }

    /// Queues a whole message of an association (RFC 9260 s11.1); returns whether there was room.
    /// If not, a `Writable` event follows.
    ///
    /// # Errors
    /// If the socket is no association, is not open, or lacks the stream.
    pub fn send_message(
        &mut self,
        socket: SocketId,
        message: Message,
    ) -> Result<bool, SocketError> {
        let Some(Socket::Sctp(association)) = self.sockets.get_mut(socket) else {
            return Err(SocketError::NoSuchSocket);
        };
        let taken = association.send_message(message)?;
        self.wake(socket);
        Ok(taken)
    }

    /// The next whole message of an association.
    pub fn receive_message(&mut self, cx: &mut Context<'_>, socket: SocketId) -> Option<Received> {
        let Some(Socket::Sctp(association)) = self.sockets.get_mut(socket) else { return None };
        let received = association.receive_message(cx);
        if association.has_urgent() {
            self.wake(socket);
        }
        received
    }
}
