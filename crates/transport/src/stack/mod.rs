//! `Stack`: a host's transport, its sockets and the calls a world makes.
//!
//! Sockets, ready list and timers are here; addresses and ports in `addressing`, arriving packets
//! in `input`, UDP in `udp`; what a connection does is in `tcp`.

mod addressing;
mod face;
mod groups;
mod input;
mod multipath;
mod stream;
mod udp;

pub use face::{
    Input, InterfaceConfig, InterfaceEvent, ProtocolConfig, SocketEvent, SocketEventKind,
    StackConfig, Transmit,
};

use crate::info::ConnectionInfo;
use crate::mptcp::connection::Connection as MptcpConnection;
use crate::mptcp::split_flow;
use crate::socket::{ConnectionEvent, SocketError};
use crate::tcp::TcpConfig;
use crate::tcp::connection::Connection;
use crate::tcp::subflow::{Identity, Tuple};
use addressing::{Addressing, FlowKey, FlowRef};
use base::{Context, Instant, InterfaceId, PathId, Purpose, SocketId, prefetch};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use stream::Stream;
use udp::UdpSocket;
use wire::{Payload, SeqNumber};

/// Connections whose handshake is not over, per listener (Linux `somaxconn`).
const MAX_EMBRYONIC: u32 = 4096;

/// A host's transport stack.
pub struct Stack {
    addressing: Addressing,
    /// Indexed by `SocketId`; never reused, so that a late event cannot meet a stranger.
    sockets: Vec<Socket>,
    ready: VecDeque<SocketId>,
    deadlines: BinaryHeap<Reverse<(Instant, SocketId)>>,
    events: VecDeque<SocketEvent>,
    /// Packets that belong to no connection: resets, echo replies, datagrams.
    stray: VecDeque<Transmit>,
    /// Who got the last packet.
    reader: Option<SocketId>,
    /// Times a socket asked for anything of chance.
    draws: u64,
    /// SYNs of joins answered with a reset.
    refused_joins: u64,
    /// Interfaces that were marked for backup, or no longer are.
    backups: Vec<(InterfaceId, bool)>,
    /// Simultaneous SYNs whose connection is not known.
    groups: groups::Groups,
}

/// Small, as one is looked up for every packet.
enum Socket {
    Tcp(Box<Connection>),
    Mptcp(Box<MptcpConnection>),
    Listener(Box<Listener>),
    Udp(Box<UdpSocket>),
    Gone,
}

struct Listener {
    port: u16,
    config: ProtocolConfig,
    embryonic: u32,
}

impl Stack {
    /// A stack with these interfaces and no socket.
    pub fn new(config: StackConfig) -> Stack {
        Stack {
            addressing: Addressing::new(config),
            sockets: Vec::new(),
            ready: VecDeque::new(),
            deadlines: BinaryHeap::new(),
            events: VecDeque::new(),
            stray: VecDeque::new(),
            reader: None,
            draws: 0,
            refused_joins: 0,
            backups: Vec::new(),
            groups: groups::Groups::default(),
        }
    }

    /// Feed one input. Drain `poll_transmit` and `poll_event` afterwards.
    // Inlined: callers know which input it is.
    #[inline]
    pub fn handle(&mut self, cx: &mut Context<'_>, input: Input) {
        match input {
            Input::Packet { interface, mut packet } => {
                self.handle_packet(cx, interface, &mut packet);
            }
            Input::Timeout => self.handle_timeout(cx),
            Input::Departed { flow, bytes } => self.handle_departed(flow, bytes),
            Input::Interface { interface, event } => {
                self.on_interface_event(cx, interface, event);
            }
            Input::Reset { ends } => self.handle_reset(cx, &ends),
        }
    }

    /// Whether there is nothing to drain: `poll_transmit` and `poll_event` would give `None`, and
    /// `poll_deadline` what it gave after the last drain, unless a timeout was handled since.
    #[inline]
    pub fn is_drained(&self) -> bool {
        self.ready.is_empty() && self.events.is_empty() && self.stray.is_empty()
    }

    /// The socket that the last packet was for.
    pub const fn reader(&self) -> Option<SocketId> {
        self.reader
    }

    /// Ask for the place of a socket,
    pub fn prefetch_socket(&self, socket: SocketId) {
        if let Some(socket) = self.sockets.get(socket.index()) {
            prefetch(socket);
        }
    }

    /// for the memory of its connection, once that is there,
    pub fn prefetch(&self, socket: SocketId) {
        if let Some(Socket::Tcp(connection)) = self.sockets.get(socket.index()) {
            connection.prefetch();
        }
    }

    /// and then for what the connection has elsewhere.
    pub fn prefetch_more(&self, socket: SocketId) {
        if let Some(Socket::Tcp(connection)) = self.sockets.get(socket.index()) {
            connection.prefetch_more();
        }
    }

    /// The next packet to send, until `None`.
    pub fn poll_transmit(&mut self, cx: &mut Context<'_>) -> Option<Transmit> {
        if let Some(stray) = self.stray.pop_front() {
            return Some(stray);
        }
        while let Some(&id) = self.ready.front() {
            if let Some(transmit) = self.poll_connection(cx, id) {
                return Some(transmit);
            }
            if self.open_joins(cx, id) {
                continue;
            }
            self.ready.pop_front();
            self.settle(cx, id);
        }
        None
    }

    fn poll_connection(&mut self, cx: &mut Context<'_>, id: SocketId) -> Option<Transmit> {
        match self.sockets.get_mut(id.index())? {
            Socket::Tcp(connection) => {
                let packet = connection.poll_segment(cx)?;
                Some(Transmit { interface: connection.interface, packet })
            }
            Socket::Mptcp(connection) => {
                let (packet, interface) = connection.poll_packet(cx)?;
                Some(Transmit { interface, packet })
            }
            _ => None,
        }
    }

    /// The next news for an application, until `None`.
    #[inline]
    pub fn poll_event(&mut self) -> Option<SocketEvent> {
        self.events.pop_front()
    }

    /// When to call `handle` with `Input::Timeout`; `None` if no timer runs. May be earlier than
    /// anything happens, never later.
    #[inline]
    pub fn poll_deadline(&self) -> Option<Instant> {
        self.deadlines.peek().map(|Reverse((at, _))| *at)
    }

    /// Accept connections on a local port, on all addresses. A listener for MPTCP also accepts
    /// peers without it, as plain TCP.
    pub fn listen(
        &mut self,
        port: u16,
        config: impl Into<ProtocolConfig>,
    ) -> Result<SocketId, SocketError> {
        let id = self.next_id();
        self.addressing.bind_listener(port, id)?;
        let listener = Listener { port, config: config.into(), embryonic: 0 };
        self.sockets.push(Socket::Listener(Box::new(listener)));
        Ok(id)
    }

    /// Open a connection from `local` (an address of this host) to `remote`; with a multi-path
    /// protocol these are the ends of its first path. MPTCP falls back to TCP with a peer that
    /// does not support it.
    pub fn connect(
        &mut self,
        cx: &mut Context<'_>,
        local: IpAddr,
        remote: SocketAddr,
        config: &ProtocolConfig,
    ) -> Result<SocketId, SocketError> {
        match config {
            ProtocolConfig::Tcp(config) => self.connect_tcp(cx, local, remote, config),
            ProtocolConfig::Mptcp(config) => self.connect_mptcp(cx, local, remote, config),
        }
    }

    fn connect_tcp(
        &mut self,
        cx: &mut Context<'_>,
        local: IpAddr,
        remote: SocketAddr,
        config: &TcpConfig,
    ) -> Result<SocketId, SocketError> {
        let interface = self.addressing.interface_of(local).ok_or(SocketError::NoSuchAddress)?;
        let first = self.draw(cx, Purpose::Port);
        let local = self.addressing.free_port(local, remote, first)?;
        let id = self.next_id();
        let identity = self.identity(cx, id, interface, Tuple { local, remote });
        let connection = Connection::connect(&identity, interface, config);
        self.insert(id, connection);
        self.wake(id);
        Ok(id)
    }

    /// Append to the stream; returns how many bytes were taken (a prefix). After less than all a
    /// `Writable` event follows when there is room again.
    pub fn write(
        &mut self,
        cx: &mut Context<'_>,
        socket: SocketId,
        payload: &Payload,
    ) -> Result<u32, SocketError> {
        let taken = self.stream_mut(socket)?.write(cx, payload)?;
        if taken > 0 {
            self.wake(socket);
        }
        Ok(taken)
    }

    /// Take the next in-order bytes, at most `max`; empty if there is nothing to read now.
    /// `Err(Closed)` at the end of the stream.
    pub fn read(
        &mut self,
        cx: &mut Context<'_>,
        socket: SocketId,
        max: u32,
    ) -> Result<Payload, SocketError> {
        let stream = self.stream_mut(socket)?;
        let payload = stream.read(cx, max)?;
        if stream.owes_now() {
            self.wake(socket);
        }
        Ok(payload)
    }

    /// Bytes that `read` would give.
    pub fn readable(&self, socket: SocketId) -> u64 {
        match self.sockets.get(socket.index()) {
            Some(Socket::Tcp(connection)) => connection.subflow.readable(),
            Some(Socket::Mptcp(connection)) => connection.readable(),
            _ => 0,
        }
    }

    /// No more data will be written: FIN after what is buffered.
    pub fn shutdown(&mut self, cx: &mut Context<'_>, socket: SocketId) -> Result<(), SocketError> {
        self.stream_mut(socket)?.shutdown(cx)?;
        self.wake(socket);
        Ok(())
    }

    /// Reset the connection at once.
    pub fn abort(&mut self, cx: &mut Context<'_>, socket: SocketId) -> Result<(), SocketError> {
        self.stream_mut(socket)?.abort(cx);
        self.wake(socket);
        Ok(())
    }

    /// The application has no more use for the socket: its state goes once TCP is done with it.
    /// A listener or UDP port goes at once.
    pub fn release(&mut self, cx: &mut Context<'_>, socket: SocketId) {
        if let Ok(stream) = self.stream_mut(socket) {
            stream.marks().released = true;
            stream.on_released(cx);
            self.settle(cx, socket);
            return;
        }
        match self.sockets.get_mut(socket.index()) {
            Some(Socket::Listener(listener)) => {
                self.addressing.unbind_listener(listener.port);
                self.sockets[socket.index()] = Socket::Gone;
            }
            Some(Socket::Udp(udp)) => {
                self.addressing.unbind_udp(udp.port);
                self.sockets[socket.index()] = Socket::Gone;
            }
            _ => {}
        }
    }

    /// The state of a connection, for measurement; `None` of other sockets and after the end of a
    /// released connection.
    pub fn info(&self, socket: SocketId) -> Option<ConnectionInfo> {
        match self.sockets.get(socket.index())? {
            Socket::Tcp(connection) => Some(connection.info()),
            Socket::Mptcp(connection) => Some(connection.info()),
            _ => None,
        }
    }

    fn next_id(&self) -> SocketId {
        SocketId(self.sockets.len() as u32)
    }

    fn draw(&mut self, cx: &Context<'_>, purpose: Purpose) -> u64 {
        self.draws += 1;
        cx.chance.bits(u64::from(cx.host.0), purpose, self.draws)
    }

    fn identity(
        &mut self,
        cx: &Context<'_>,
        socket: SocketId,
        interface: InterfaceId,
        tuple: Tuple,
    ) -> Identity {
        Identity {
            socket,
            path: PathId(0),
            tuple,
            mtu: self.addressing.mtu(interface),
            iss: SeqNumber(self.draw(cx, Purpose::InitialSequence) as u32),
            ts_offset: self.draw(cx, Purpose::TimestampOffset) as u32,
        }
    }

    fn insert(&mut self, id: SocketId, connection: Connection) {
        debug_assert_eq!(id.index(), self.sockets.len());
        let Tuple { local, remote } = *connection.subflow.tuple();
        let flow = FlowRef { socket: id, subflow: 0 };
        self.addressing.bind_flow(FlowKey::new(local, remote), flow);
        self.sockets.push(Socket::Tcp(Box::new(connection)));
    }

    fn stream_mut(&mut self, socket: SocketId) -> Result<&mut dyn Stream, SocketError> {
        match self.sockets.get_mut(socket.index()) {
            Some(Socket::Tcp(connection)) => Ok(&mut **connection),
            Some(Socket::Mptcp(connection)) => Ok(&mut **connection),
            _ => Err(SocketError::NoSuchSocket),
        }
    }

    /// The ends, the host's own and the peer's, of all connections and subflows whose packets leave
    /// on an interface. Addresses do not tell: several interfaces may serve one.
    pub fn ends_on(&self, interface: InterfaceId) -> Vec<(SocketAddr, SocketAddr)> {
        let mut ends = Vec::new();
        for socket in &self.sockets {
            let stream: &dyn Stream = match socket {
                Socket::Tcp(connection) => &**connection,
                Socket::Mptcp(connection) => &**connection,
                _ => continue,
            };
            if stream.is_closed() {
                continue;
            }
            let subflows = stream.tuples().into_iter().zip(stream.interfaces());
            let there = subflows.filter(|(_, leaves_on)| *leaves_on == interface);
            ends.extend(there.map(|(tuple, _)| (tuple.local, tuple.remote)));
        }
        ends
    }

    /// As by valid resets of the peer.
    fn handle_reset(&mut self, cx: &mut Context<'_>, ends: &[(SocketAddr, SocketAddr)]) {
        for (local, remote) in ends {
            let Some(flow) = self.addressing.flow(FlowKey::new(*local, *remote)) else { continue };
            let Ok(stream) = self.stream_mut(flow.socket) else { continue };
            stream.on_reset(cx, usize::from(flow.subflow));
            self.wake(flow.socket);
        }
    }

    /// The connection may have something to send.
    fn wake(&mut self, id: SocketId) {
        if let Ok(stream) = self.stream_mut(id)
            && !std::mem::replace(&mut stream.marks().ready, true)
        {
            self.ready.push_back(id);
        }
    }

    /// A connection has nothing more to send for now: collect its news, arm its deadline, or let
    /// it go.
    fn settle(&mut self, cx: &mut Context<'_>, id: SocketId) {
        self.collect_news(id);
        let Ok(stream) = self.stream_mut(id) else { return };
        stream.marks().ready = false;
        if stream.is_closed() {
            self.bury(id);
            return;
        }
        let deadline = stream.deadline();
        if deadline < stream.marks().armed_at {
            stream.marks().armed_at = deadline;
            self.deadlines.push(Reverse((deadline.max(cx.now), id)));
        }
    }

    /// A connection is over: its ends are free, and if nobody looks at it any more it goes.
    fn bury(&mut self, id: SocketId) {
        let Ok(stream) = self.stream_mut(id) else { return };
        let released = stream.marks().released;
        for Tuple { local, remote } in stream.tuples() {
            self.addressing.unbind_flow(FlowKey::new(local, remote), id);
        }
        if let Some(Socket::Mptcp(connection)) = self.sockets.get(id.index()) {
            self.addressing.unbind_token(connection.token(), id);
        }
        if released {
            self.sockets[id.index()] = Socket::Gone;
        }
    }

    fn collect_news(&mut self, id: SocketId) {
        let Ok(stream) = self.stream_mut(id) else { return };
        if !stream.has_news() {
            return;
        }
        let news = stream.take_news();
        let listener = stream.marks().listener;
        let accepted = news.contains(&ConnectionEvent::Accepted);
        if accepted || news.iter().any(|news| matches!(news, ConnectionEvent::Failed(_))) {
            stream.marks().listener = None;
            self.leave_backlog(listener);
        }
        if listener.is_some() && self.is_stillborn(id, accepted) {
            return;
        }
        for news in news {
            let kind = match (news, listener) {
                (ConnectionEvent::Connected, _) | (ConnectionEvent::Accepted, None) => {
                    SocketEventKind::Connected
                }
                (ConnectionEvent::Accepted, Some(listener)) => {
                    SocketEventKind::Accepted { listener }
                }
                (ConnectionEvent::Readable, _) => SocketEventKind::Readable,
                (ConnectionEvent::Writable, _) => SocketEventKind::Writable,
                (ConnectionEvent::PeerClosed, _) => SocketEventKind::PeerClosed,
                (ConnectionEvent::Closed, _) => SocketEventKind::Closed,
                (ConnectionEvent::Failed(error), _) => SocketEventKind::Failed(error),
            };
            self.events.push_back(SocketEvent { socket: id, kind });
        }
    }

    /// The handshake of a connection that `listener` answered is over.
    fn leave_backlog(&mut self, listener: Option<SocketId>) {
        let socket = listener.and_then(|listener| self.sockets.get_mut(listener.index()));
        if let Some(Socket::Listener(listener)) = socket {
            listener.embryonic = listener.embryonic.saturating_sub(1);
        }
    }

    /// A connection that failed before it was accepted: the application never knew of it, so that
    /// nobody else would let go of it.
    fn is_stillborn(&mut self, id: SocketId, accepted: bool) -> bool {
        let Ok(stream) = self.stream_mut(id) else { return false };
        let stillborn = !accepted && stream.is_closed();
        stream.marks().released |= stillborn;
        stillborn
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        while let Some(&Reverse((at, id))) = self.deadlines.peek() {
            if at > cx.now {
                break;
            }
            self.deadlines.pop();
            let Ok(stream) = self.stream_mut(id) else { continue };
            if stream.marks().armed_at > at {
                continue;
            }
            stream.marks().armed_at = Instant::FAR_FUTURE;
            stream.on_timeout(cx);
            self.wake(id);
        }
    }

    fn handle_departed(&mut self, flow: u32, bytes: u32) {
        let (socket, subflow) = split_flow(flow);
        let Some(index) = socket.checked_sub(1) else { return };
        let id = SocketId(index);
        if let Ok(stream) = self.stream_mut(id)
            && stream.on_departed(subflow, bytes)
        {
            self.wake(id);
        }
    }
}
