//! SCTP packets that arrive: for an association, a listener, or for the host itself (RFC 9260 s5,
//! s8.4).

use super::Stack;
use super::addressing::{FlowKey, FlowRef};
use super::io::ProtocolConfig;
use super::sockets::Socket;
use crate::endpoint::{Endpoint, IpProtocol, NewPath, Tag, Tuple};
use crate::sctp::association::Association;
use crate::sctp::handshake::{Agreement, CookieAction, Tags, compare};
use crate::sctp::host::{Cookie, Datagram};
use crate::sctp::{OwnTags, SctpConfig};
use base::{Context, InterfaceId, PathId, SocketId};
use std::net::{IpAddr, SocketAddr};
use wire::sctp::{Chunk, UdpPorts, VerificationTag};
use wire::{Body, SctpPacket};

/// The addresses of a packet are no pair of its association.
const UNKNOWN_PAIR: PathId = PathId(u8::MAX);

/// An SCTP packet on its way to an association.
pub(super) struct SctpInput<'a> {
    stack: &'a mut Stack,
    interface: InterfaceId,
    ends: Tuple,
}

impl<'a> SctpInput<'a> {
    /// A packet between `src` and `dst` that arrived on `interface`.
    pub(super) const fn new(
        stack: &'a mut Stack,
        interface: InterfaceId,
        (src, dst): (IpAddr, IpAddr),
        packet: &SctpPacket,
    ) -> Self {
        let local = SocketAddr::new(dst, packet.dst_port);
        let ends = Tuple { local, remote: SocketAddr::new(src, packet.src_port) };
        SctpInput { stack, interface, ends }
    }

    /// Processes the packet.
    pub(super) fn handle(&mut self, cx: &mut Context<'_>, body: &mut Body) {
        let Body::Sctp(packet) = body else { return };
        let opens = matches!(
            packet.chunks.first(),
            Some(Chunk::Init(_) | Chunk::CookieEcho(_) | Chunk::Auth(_))
        );
        if !opens && let Some(flow) = self.known() {
            return self.deliver(cx, flow, body);
        }
        if self.stack.addressing.interface_of(self.ends.local.ip()).is_none() {
            return;
        }
        match packet.chunks.first() {
            Some(Chunk::Init(_)) => self.on_init(cx, packet),
            Some(Chunk::CookieEcho(_)) => self.on_cookie(cx, body),
            Some(Chunk::Auth(_)) if matches!(packet.chunks.get(1), Some(Chunk::CookieEcho(_))) => {
                self.on_cookie(cx, body);
            }
            _ => match self.flow(packet.tag) {
                Some(flow) => self.deliver(cx, flow, body),
                None => self.on_stray(cx, packet),
            },
        }
    }

    /// The association of a packet: by its addresses, otherwise by its tag.
    fn flow(&mut self, tag: VerificationTag) -> Option<FlowRef> {
        let known = self.known();
        let by_tag = || {
            let tag = Tag::Verification(self.ends.local.port(), tag);
            let socket = self.stack.addressing.tagged(tag)?;
            Some(FlowRef { socket, path: UNKNOWN_PAIR }).filter(|flow| self.is_live(flow))
        };
        known.or_else(by_tag)
    }

    /// The association that any of these addresses of the peer belongs to.
    fn flow_of(&self, addresses: &[IpAddr]) -> Option<FlowRef> {
        let of = |address: &IpAddr| {
            let remote = SocketAddr::new(*address, self.ends.remote.port());
            self.stack.addressing.flow(IpProtocol::Sctp, &Tuple { remote, ..self.ends })
        };
        addresses.iter().find_map(of)
    }

    /// The association of a packet by its addresses.
    #[inline(always)]
    fn known(&mut self) -> Option<FlowRef> {
        let key = FlowKey::new(IpProtocol::Sctp, &self.ends);
        let known = self.stack.addressing.receiver(key, || self.ends.local.ip());
        known.filter(|flow| self.is_live(flow))
    }

    #[inline]
    fn is_live(&self, flow: &FlowRef) -> bool {
        match self.stack.sockets.get(flow.socket) {
            Some(Socket::Sctp(association)) => !association.is_closed(),
            _ => false,
        }
    }

    fn deliver(&mut self, cx: &mut Context<'_>, flow: FlowRef, body: &mut Body) {
        let is_unknown = flow.path == UNKNOWN_PAIR;
        let local =
            is_unknown.then(|| self.stack.sctp_locals(self.interface, self.ends.local.ip()));
        if let Some(Socket::Sctp(association)) = self.stack.sockets.get_mut(flow.socket) {
            let path = match local {
                Some(local) => association.on_stray(local, self.ends.remote.ip()),
                None => flow.path,
            };
            association.handle(cx, path, body);
            let is_ready = std::mem::replace(&mut association.marks().ready, true);
            if association.has_new_pairs() {
                SctpInput::rebind(self.stack, flow.socket);
            }
            self.stack.reader = Some(flow.socket);
            if !is_ready {
                self.stack.ready.push_back(flow.socket);
            }
        }
    }

    /// Binds the pairs of addresses of an association if their list changed.
    pub(super) fn rebind(stack: &mut Stack, id: SocketId) {
        let Some(Socket::Sctp(association)) = stack.sockets.get_mut(id) else { return };
        let Some(before) = association.take_pairs_changed() else { return };
        for (ends, _) in before {
            stack.addressing.unbind_flow(IpProtocol::Sctp, &ends, id);
        }
        for (path, (ends, _)) in (0..).zip(association.paths()) {
            let flow = FlowRef { socket: id, path: PathId(path) };
            stack.addressing.bind_flow(IpProtocol::Sctp, &ends, flow);
        }
        if let Some(tag) = association.tag() {
            stack.addressing.bind_tag(tag, id);
        }
    }

    fn on_init(&mut self, cx: &mut Context<'_>, packet: &SctpPacket) {
        let datagram = Datagram { src: self.ends.remote.ip(), dst: self.ends.local.ip(), packet };
        // An INIT belongs to the association that any of its addresses belongs to.
        let known = self.flow_of(&datagram.listed()).map(|flow| flow.socket);
        let listener = self.listener(self.ends.local.port()).map(|(_, config)| config.clone());
        let own = self.stack.sctp_locals(self.interface, self.ends.local.ip());
        let host = self.stack.sctp_host_addresses();
        let present = match known.and_then(|id| self.stack.sockets.get_mut(id)) {
            Some(Socket::Sctp(association)) => Some(&mut **association),
            _ => None,
        };
        let config = match &present {
            Some(association) => Some(association.config().clone()),
            None => listener,
        };
        let locals = config.as_ref().map(|config| config.locals(own, &host)).unwrap_or_default();
        let config = config.as_ref().map(|config| (config, &locals[..]));
        let answer = self.stack.sctp.on_init(cx, &mut self.stack.draws, &datagram, config, present);
        if let Some(answer) = answer {
            let (local, remote) = (self.ends.local.ip(), self.ends.remote.ip());
            self.stack.send_stray(self.interface, local, remote, Body::Sctp(answer));
        }
        if let Some(id) = known {
            self.stack.wake(id);
        }
    }

    fn on_cookie(&mut self, cx: &mut Context<'_>, body: &mut Body) {
        let Body::Sctp(packet) = &*body else { return };
        let datagram = Datagram { src: self.ends.remote.ip(), dst: self.ends.local.ip(), packet };
        match self.stack.sctp.on_cookie(cx, &datagram) {
            Cookie::Discard => {}
            Cookie::Answer(answer) => {
                let tags = OwnTags { local: packet.tag, peer: answer.tag };
                if let Some(flow) = self.flow(packet.tag)
                    && let Some(Socket::Sctp(association)) = self.stack.sockets.get_mut(flow.socket)
                    && association.on_stale_cookie(&self.ends, tags)
                {
                    return self.deliver(cx, flow, body);
                }
                let (local, remote) = (self.ends.local.ip(), self.ends.remote.ip());
                self.stack.send_stray(self.interface, local, remote, Body::Sctp(answer));
            }
            Cookie::Valid(agreed, tags) => {
                let (tag, udp) = (packet.tag, packet.udp);
                let known = self.flow(tag).or_else(|| {
                    let of = self.flow_of(&agreed.peer_addresses);
                    of.filter(|flow| self.is_live(flow))
                });
                let id = match known {
                    Some(flow) => self.on_known_cookie(cx, flow.socket, &agreed, tags),
                    None => self.accept(cx, (&agreed, tags), udp),
                };
                // Data may follow the cookie (RFC 9260 s5.1 C).
                if let Some(id) = id {
                    let path = self.flow(tag).map_or(PathId(0), |flow| flow.path);
                    self.deliver(cx, FlowRef { socket: id, path }, body);
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
        let Some(Socket::Sctp(association)) = self.stack.sockets.get_mut(id) else { return None };
        let goes_on = match compare(association.tags(), &tags) {
            CookieAction::Restart => {
                let life = association.config().parameters.cookie_life;
                self.stack.sctp.uses_cookie(cx.now, &tags, life);
                association.restart(cx, &self.ends, agreed, tags);
                true
            }
            CookieAction::Collision | CookieAction::Duplicate => {
                association.on_cookie(cx, &self.ends, agreed.clone(), &tags);
                true
            }
            CookieAction::Late | CookieAction::Discard => false,
        };
        SctpInput::rebind(self.stack, id);
        self.stack.wake(id);
        goes_on.then_some(id)
    }

    /// A valid cookie sets up an association at a listener.
    fn accept(
        &mut self,
        cx: &mut Context<'_>,
        (agreed, tags): (&Agreement, Tags),
        udp: Option<UdpPorts>,
    ) -> Option<SocketId> {
        let (listener, config) = self.listener(self.ends.local.port())?;
        let config = config.clone();
        if !self.stack.sctp.uses_cookie(cx.now, &tags, config.parameters.cookie_life) {
            return None;
        }
        let id = self.stack.sockets.next_id();
        let path: NewPath = self.stack.new_path(id, PathId(0), self.interface, self.ends);
        let own = self.stack.sctp_locals(self.interface, self.ends.local.ip());
        let locals = config.locals(own, &self.stack.sctp_host_addresses());
        let locals = (locals, self.stack.addressing.routes().clone());
        let (path, listener) = ((&path, udp), (listener, &config));
        let made = Association::accept(cx, path, listener, locals, (agreed, tags));
        let id = self.stack.insert(Socket::Sctp(Box::new(made)));
        SctpInput::rebind(self.stack, id);
        Some(id)
    }

    fn on_stray(&mut self, cx: &Context<'_>, packet: &SctpPacket) {
        let datagram = Datagram { src: self.ends.remote.ip(), dst: self.ends.local.ip(), packet };
        if let Some(answer) = self.stack.sctp.on_stray(cx.now, &datagram) {
            let (local, remote) = (self.ends.local.ip(), self.ends.remote.ip());
            self.stack.send_stray(self.interface, local, remote, Body::Sctp(answer));
        }
    }

    fn listener(&self, port: u16) -> Option<(SocketId, &SctpConfig)> {
        let id = self.stack.addressing.listener(IpProtocol::Sctp, port)?;
        match &self.stack.sockets.listener(id)?.config {
            ProtocolConfig::Sctp(config) => Some((id, config)),
            ProtocolConfig::Tcp(_) | ProtocolConfig::Mptcp(_) | ProtocolConfig::Udp => None,
        }
    }
}
