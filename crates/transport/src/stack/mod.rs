//! `Stack`: the transport of a host, its sockets and the calls that drive it.
//!
//! Socket calls, the list of sockets that may have something to send, and timers are here; `input`
//! has the packets that arrive, `reassembly` their fragments, `paths` the paths of connections,
//! `udp` UDP. Addresses and ports are `addressing`'s, and what a connection does is its protocol's:
//! see [`Endpoint`].

mod addressing;
mod icmp;
mod input;
mod io;
mod paths;
mod reassembly;
mod sctp;
mod sockets;
mod udp;

pub use crate::endpoint::Transmit;
pub use io::{
    Input, InterfaceConfig, InterfaceEvent, ProtocolConfig, SocketEvent, SocketEventKind,
    StackConfig,
};
use std::hint::cold_path;

use crate::endpoint::{Draws, Endpoint, IpProtocol, Rest, Tuple, flow_of, split_flow};
use crate::info::ConnectionInfo;
use crate::mptcp::host::MptcpHost;
use crate::sctp::StreamChange;
use crate::sctp::association::Association;
use crate::sctp::host::SctpHost;
use crate::sctp::streams::{Message, Received};
use crate::socket::{ConnectionEvent, SocketError};
use crate::tcp::connection::Connection;
use addressing::Addressing;
use base::{Context, Instant, InterfaceId, PathId, Purpose, ShortQueue, SocketId, prefetch};
use paths::View;
use reassembly::Reassembly;
use sockets::{Listener, Socket, Sockets};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use wire::Payload;

/// The largest number of connections per listener whose handshake is not over (Linux
/// `somaxconn`).
const MAX_EMBRYONIC: u32 = 4096;

/// A host's transport stack.
pub struct Stack {
    addressing: Addressing,
    sockets: Sockets,
    ready: ShortQueue<SocketId>,
    deadlines: BinaryHeap<Reverse<(Instant, SocketId)>>,
    events: ShortQueue<SocketEvent>,
    /// Empty between calls; its memory is used again.
    collected: Vec<ConnectionEvent>,
    /// Packets that belong to no connection: resets, echo replies, datagrams.
    stray: VecDeque<Transmit>,
    /// The socket that the last packet was for.
    reader: Option<SocketId>,
    draws: Draws,
    refused_paths: u64,
    /// Interfaces that were marked for backup, or no longer are.
    backups: Vec<(InterfaceId, bool)>,
    mptcp: MptcpHost,
    sctp: SctpHost,
    /// Identification of the next datagram that is sent in fragments.
    next_identification: u16,
    /// Boxed, since few hosts receive fragments.
    reassembly: Box<Reassembly>,
}

impl Stack {
    /// A stack with these interfaces and no socket.
    pub fn new(config: StackConfig) -> Stack {
        Stack {
            addressing: Addressing::new(config),
            sockets: Sockets::default(),
            ready: ShortQueue::new(),
            deadlines: BinaryHeap::new(),
            events: ShortQueue::new(),
            collected: Vec::new(),
            stray: VecDeque::new(),
            reader: None,
            draws: Draws::default(),
            refused_paths: 0,
            backups: Vec::new(),
            mptcp: MptcpHost::default(),
            sctp: SctpHost::default(),
            next_identification: 0,
            reassembly: Box::default(),
        }
    }

    /// Handles one input. The caller drains `poll_transmit` and `poll_event` afterwards.
    // Callers know which input it is, and a departure costs half as much without the others.
    #[inline(always)]
    pub fn handle(&mut self, cx: &mut Context<'_>, input: Input) {
        match input {
            Input::Packet { interface, mut packet } => {
                self.handle_packet(cx, interface, &mut packet);
                packet.discard();
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
    /// `poll_deadline` the same as after the last drain, unless a timeout was handled since.
    #[inline]
    pub fn is_drained(&self) -> bool {
        self.ready.is_empty() && self.events.is_empty() && self.stray.is_empty()
    }

    /// The socket that the last packet was for.
    pub const fn reader(&self) -> Option<SocketId> {
        self.reader
    }

    /// Entries of gap structures that the socket of the last packet visited since the last call:
    /// of an association chunks at the sender and blocks of TSNs at the receiver; otherwise 0.
    pub fn take_visited_entries(&mut self) -> u64 {
        match self.reader.and_then(|id| self.sockets.get_mut(id)) {
            Some(Socket::Sctp(association)) => association.take_visited(),
            _ => 0,
        }
    }

    /// The next packet is probably one for this socket: it is found sooner then.
    pub const fn expect(&mut self, socket: SocketId) {
        self.addressing.expect(socket);
    }

    /// Prefetches the entry of a socket.
    pub fn prefetch_socket(&self, socket: SocketId) {
        self.addressing.prefetch(socket);
        if let Some(socket) = self.sockets.get(socket) {
            prefetch(socket);
        }
    }

    /// Prefetches the connection of a socket, whose entry is in the cache.
    pub fn prefetch(&self, socket: SocketId) {
        if let Some(Socket::Tcp(connection)) = self.sockets.get(socket) {
            connection.prefetch();
        }
    }

    /// Prefetches the rest of a connection, by what it does, after `prefetch`. Returns whether it
    /// probably receives.
    pub fn prefetch_more(&self, socket: SocketId) -> bool {
        match self.sockets.get(socket) {
            Some(Socket::Tcp(connection)) => connection.prefetch_more(),
            _ => false,
        }
    }

    /// Prefetches what a connection that is in the cache points to.
    pub fn prefetch_last(&self, socket: SocketId) {
        if let Some(Socket::Tcp(connection)) = self.sockets.get(socket) {
            connection.prefetch_last();
        }
    }

    /// The next packet to send, until `None`.
    pub fn poll_transmit(&mut self, cx: &mut Context<'_>) -> Option<Transmit> {
        let mut next = Next(None);
        self.transmit(cx, &mut next);
        next.0
    }

    /// Passes packets to `sink`, all that there are or until one was the last.
    // A loop that stays with a connection: to find it again for each packet of a burst costs a
    // tenth of the packet.
    #[inline(always)]
    pub fn transmit(&mut self, cx: &mut Context<'_>, sink: &mut impl Sink) {
        while let Some(transmit) = self.stray.pop_front() {
            if pass(cx, sink, transmit) == Sent::Last {
                return;
            }
        }
        while let Some(&id) = self.ready.front() {
            // Settled here, a connection needs not be found again.
            let rest = match self.sockets.get_mut(id) {
                Some(Socket::Tcp(connection)) => {
                    while let Some(transmit) = connection.poll_transmit(cx) {
                        let sent = sink.send(cx, transmit);
                        if has_enough(cx, &mut **connection, sent) {
                            return;
                        }
                    }
                    if cx.recalls {
                        recall(cx, id, &mut **connection, sink);
                    }
                    at_rest(cx, &mut **connection)
                }
                Some(Socket::Mptcp(connection)) => {
                    if pass_all(cx, &mut **connection, sink) {
                        return;
                    }
                    if cx.recalls {
                        recall(cx, id, &mut **connection, sink);
                    }
                    if connection.wants_path() {
                        self.open_or_settle(cx, id);
                        continue;
                    }
                    at_rest(cx, &mut **connection)
                }
                Some(Socket::Sctp(association)) => match transmit_of(cx, association, sink) {
                    Some(rest) => rest,
                    None => return,
                },
                _ => {
                    self.ready.pop_front();
                    continue;
                }
            };
            self.ready.pop_front();
            self.settle_at(cx, id, rest);
        }
    }

    /// The first socket that is ready has nothing to send, but may open another path.
    #[cold]
    fn open_or_settle(&mut self, cx: &mut Context<'_>, id: SocketId) {
        if !self.open_paths(cx, id) {
            self.ready.pop_front();
            self.settle(cx, id);
        }
    }

    /// The next event for an application, until `None`.
    #[inline]
    pub fn poll_event(&mut self) -> Option<SocketEvent> {
        self.events.pop_front()
    }

    /// When to call `handle` with `Input::Timeout`; `None` if no timer runs. It may be too early,
    /// never too late.
    #[inline]
    pub fn poll_deadline(&self) -> Option<Instant> {
        self.deadlines.peek().map(|Reverse((at, _))| *at)
    }

    /// Accepts connections on a port of all addresses. A listener for MPTCP also accepts peers
    /// without it, as TCP connections.
    pub fn listen(
        &mut self,
        port: u16,
        config: impl Into<ProtocolConfig>,
    ) -> Result<SocketId, SocketError> {
        let config = config.into();
        let Some(protocol) = config.ip_protocol() else { return self.udp_listen(port) };
        let id = self.sockets.next_id();
        self.addressing.bind_listener(protocol, port, id)?;
        let listener = Listener { port, config, embryonic: 0 };
        self.sockets.push(Socket::Listener(Box::new(listener)));
        Ok(id)
    }

    /// Opens a connection from `local`, an address of this host, to `remote`. With a multi-path
    /// protocol these are the ends of its first path. MPTCP falls back to TCP with a peer that does
    /// not support it. With UDP nothing is sent, and `Connected` follows at once.
    pub fn connect(
        &mut self,
        cx: &mut Context<'_>,
        local: IpAddr,
        remote: SocketAddr,
        config: &ProtocolConfig,
    ) -> Result<SocketId, SocketError> {
        let interface = self.addressing.interface_to(local, remote.ip());
        let interface = interface.ok_or(SocketError::NoSuchAddress)?;
        let Some(protocol) = config.ip_protocol() else {
            return self.udp_connect(cx, local, remote);
        };
        let first = self.draws.draw(cx, Purpose::Port);
        let ends = self.addressing.free_ends(protocol, local, remote, first)?;
        let path = self.new_path(self.sockets.next_id(), PathId(0), interface, ends);
        let socket = match config {
            ProtocolConfig::Tcp(config) => {
                Socket::Tcp(Box::new(Connection::connect(cx, &mut self.draws, &path, config)))
            }
            ProtocolConfig::Mptcp(config) => {
                let host = View::new(&self.sockets, &self.addressing);
                let draws = &mut self.draws;
                Socket::Mptcp(Box::new(self.mptcp.connect(cx, draws, &host, &path, config)))
            }
            ProtocolConfig::Sctp(config) => {
                let own = self.sctp_locals(interface, local);
                let locals = config.locals(own, &self.sctp_host_addresses());
                let (draws, routes) = (&mut self.draws, self.addressing.routes().clone());
                let made = Association::connect(cx, draws, (&path, routes), config, locals);
                Socket::Sctp(Box::new(made))
            }
            // Returned above.
            ProtocolConfig::Udp => return Err(SocketError::NotConnected),
        };
        let id = self.insert(socket);
        self.open_paths(cx, id);
        Ok(id)
    }

    /// Appends to the stream. The result is the number of bytes taken from the front. If it is less
    /// than all, a `Writable` event follows when there is room again.
    pub fn write(
        &mut self,
        cx: &mut Context<'_>,
        socket: SocketId,
        payload: &Payload,
    ) -> Result<u32, SocketError> {
        let taken = self.sockets.endpoint_mut(socket)?.write(cx, payload)?;
        if taken > 0 {
            self.wake(socket);
        }
        Ok(taken)
    }

    /// Takes the next bytes in order, at most `max`; empty if there is nothing to read now.
    /// `Err(Closed)` at the end of the stream.
    // The result is in memory: inlined where it is passed on, that saves two copies.
    #[inline(always)]
    pub fn read(
        &mut self,
        cx: &mut Context<'_>,
        socket: SocketId,
        max: u32,
    ) -> Result<Payload, SocketError> {
        let (payload, is_urgent) = match self.sockets.get_mut(socket) {
            Some(Socket::Tcp(connection)) => (connection.read(cx, max)?, connection.has_urgent()),
            Some(Socket::Mptcp(connection)) => (connection.read(cx, max)?, connection.has_urgent()),
            Some(Socket::Sctp(connection)) => (connection.read(cx, max)?, connection.has_urgent()),
            _ => {
                let endpoint = self.sockets.endpoint_mut(socket)?;
                (endpoint.read(cx, max)?, endpoint.has_urgent())
            }
        };
        if is_urgent {
            self.wake(socket);
        }
        Ok(payload)
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

    /// Resets or adds streams of an association (RFC 6525). Streams that are being reset take no
    /// messages until the peer has answered.
    ///
    /// # Errors
    /// If the socket is no open association, or the peer cannot be asked.
    pub fn change_streams(
        &mut self,
        socket: SocketId,
        change: StreamChange,
    ) -> Result<(), SocketError> {
        let Some(Socket::Sctp(association)) = self.sockets.get_mut(socket) else {
            return Err(SocketError::NoSuchSocket);
        };
        if !association.change_streams(change) {
            return Err(SocketError::NotConnected);
        }
        self.wake(socket);
        Ok(())
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

    /// The number of bytes that `read` would give.
    pub fn readable(&self, socket: SocketId) -> u64 {
        self.sockets.endpoint(socket).map_or(0, Endpoint::readable)
    }

    /// Closes the sending direction after the data that are buffered.
    pub fn shutdown(&mut self, cx: &mut Context<'_>, socket: SocketId) -> Result<(), SocketError> {
        self.sockets.endpoint_mut(socket)?.shutdown(cx)?;
        self.wake(socket);
        Ok(())
    }

    /// Resets the connection.
    pub fn abort(&mut self, cx: &mut Context<'_>, socket: SocketId) -> Result<(), SocketError> {
        self.sockets.endpoint_mut(socket)?.abort(cx);
        self.wake(socket);
        Ok(())
    }

    /// The application has no more use for the socket. A connection is removed when its protocol is
    /// done with it, a listener or UDP socket at once.
    pub fn release(&mut self, cx: &mut Context<'_>, socket: SocketId) {
        if let Ok(endpoint) = self.sockets.endpoint_mut(socket) {
            endpoint.marks().released = true;
            endpoint.on_released(cx);
            self.settle(cx, socket);
            return;
        }
        match self.sockets.get(socket) {
            Some(Socket::Listener(listener)) => {
                if let Some(protocol) = listener.config.ip_protocol() {
                    self.addressing.unbind_listener(protocol, listener.port);
                }
                self.sockets.remove(socket);
            }
            Some(Socket::Udp(udp)) => {
                self.addressing.unbind_udp(udp.port);
                self.sockets.remove(socket);
            }
            _ => {}
        }
    }

    /// The state of a connection or a UDP socket with a peer, for measurement; `None` for other
    /// sockets, and after the end of a released connection.
    pub fn info(&self, socket: SocketId) -> Option<ConnectionInfo> {
        self.sockets.endpoint(socket).map(Endpoint::info).or_else(|| self.udp_info(socket))
    }

    /// The ends, local and remote, of all paths whose packets leave on an interface. Addresses
    /// alone do not determine it: several interfaces can have the same one.
    pub fn ends_on(&self, interface: InterfaceId) -> Vec<(SocketAddr, SocketAddr)> {
        let connections = self.sockets.iter().filter_map(Socket::endpoint);
        let open = connections.filter(|endpoint| !endpoint.is_closed());
        let paths = open.flat_map(Endpoint::paths);
        let there = paths.filter(|(_, leaves_on)| *leaves_on == interface);
        there.map(|(Tuple { local, remote }, _)| (local, remote)).collect()
    }

    /// Resets paths, as valid resets of the peer do.
    fn handle_reset(&mut self, cx: &mut Context<'_>, ends: &[(SocketAddr, SocketAddr)]) {
        for (local, remote) in ends {
            let ends = Tuple { local: *local, remote: *remote };
            let of = |protocol| self.addressing.flow(protocol, &ends);
            let Some(flow) = IpProtocol::ALL.into_iter().find_map(of) else { continue };
            let Ok(endpoint) = self.sockets.endpoint_mut(flow.socket) else { continue };
            endpoint.on_reset(cx, flow.path);
            self.wake(flow.socket);
        }
    }

    /// The connection may have something to send.
    fn wake(&mut self, id: SocketId) {
        if let Ok(endpoint) = self.sockets.endpoint_mut(id)
            && !std::mem::replace(&mut endpoint.marks().ready, true)
        {
            self.ready.push_back(id);
        }
    }

    /// A connection has nothing more to send for now: its events are collected and its deadline is
    /// set, or it is removed.
    fn settle(&mut self, cx: &mut Context<'_>, id: SocketId) {
        let rest = match self.sockets.get_mut(id) {
            Some(Socket::Tcp(connection)) => at_rest(cx, &mut **connection),
            Some(Socket::Mptcp(connection)) => at_rest(cx, &mut **connection),
            Some(Socket::Sctp(association)) => at_rest(cx, &mut **association),
            _ => return,
        };
        self.settle_at(cx, id, rest);
    }

    #[inline(always)]
    fn settle_at(&mut self, cx: &mut Context<'_>, id: SocketId, rest: AtRest) {
        if let Some(deadline) = rest.deadline {
            cold_path();
            self.arm(deadline.max(cx.now), id);
        }
        match rest.events {
            Events::None => {}
            Events::Readable => {
                let kind = SocketEventKind::Readable;
                self.events.push_back(SocketEvent { socket: id, kind });
            }
            Events::Some => {
                cold_path();
                self.collect_events(id);
            }
        }
        if rest.is_closed {
            cold_path();
            self.bury(id);
        }
    }

    // One settlement in two hundred needs it.
    #[inline(never)]
    fn arm(&mut self, at: Instant, id: SocketId) {
        self.deadlines.push(Reverse((at, id)));
    }

    /// A connection is over: its ends are free, and it is removed if the application released it.
    fn bury(&mut self, id: SocketId) {
        let Ok(endpoint) = self.sockets.endpoint_mut(id) else { return };
        let released = endpoint.marks().released;
        for (ends, _) in endpoint.paths() {
            self.addressing.unbind_flow(endpoint.ip_protocol(), &ends, id);
        }
        if let Some(tag) = endpoint.tag() {
            self.addressing.unbind_tag(tag, id);
        }
        if released {
            self.sockets.remove(id);
        }
    }

    fn collect_events(&mut self, id: SocketId) {
        let Ok(endpoint) = self.sockets.endpoint_mut(id) else { return };
        let mut events = std::mem::take(&mut self.collected);
        endpoint.take_events(&mut events);
        let listener = endpoint.marks().listener;
        let accepted = events.contains(&ConnectionEvent::Accepted);
        if accepted || events.iter().any(|event| matches!(event, ConnectionEvent::Failed(_))) {
            endpoint.marks().listener = None;
            self.leave_backlog(listener);
        }
        if listener.is_some() && self.is_stillborn(id, accepted) {
            events.clear();
        }
        for event in events.drain(..) {
            let kind = match (event, listener) {
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
                (ConnectionEvent::Restarted, _) => SocketEventKind::Restarted,
                (ConnectionEvent::SendFailed(failure), _) => SocketEventKind::SendFailed(failure),
                (ConnectionEvent::Failed(error), _) => SocketEventKind::Failed(error),
            };
            self.events.push_back(SocketEvent { socket: id, kind });
        }
        self.collected = events;
    }

    /// The handshake of a connection of this listener is over.
    fn leave_backlog(&mut self, listener: Option<SocketId>) {
        if let Some(listener) = listener.and_then(|id| self.sockets.listener_mut(id)) {
            listener.embryonic = listener.embryonic.saturating_sub(1);
        }
    }

    /// A connection failed before it was accepted. The application does not know of it and will not
    /// release it.
    fn is_stillborn(&mut self, id: SocketId, accepted: bool) -> bool {
        let Ok(endpoint) = self.sockets.endpoint_mut(id) else { return false };
        let stillborn = !accepted && endpoint.is_closed();
        endpoint.marks().released |= stillborn;
        stillborn
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        while let Some(&Reverse((at, id))) = self.deadlines.peek() {
            if at > cx.now {
                break;
            }
            self.deadlines.pop();
            let Ok(endpoint) = self.sockets.endpoint_mut(id) else { continue };
            if endpoint.marks().armed_at > at {
                continue;
            }
            endpoint.marks().armed_at = Instant::FAR_FUTURE;
            endpoint.on_timeout(cx);
            self.wake(id);
        }
    }

    // Saves a call a packet.
    #[inline(always)]
    fn handle_departed(&mut self, flow: u32, bytes: u32) {
        let Some((id, path)) = split_flow(flow) else { return };
        if let Some(Socket::Tcp(connection)) = self.sockets.get_mut(id) {
            if connection.on_departed(path, bytes) {
                self.wake(id);
            }
            return;
        }
        self.handle_departed_of_path(id, path, bytes);
    }

    // A call of its own, so that TCP's needs no registers.
    #[inline(never)]
    fn handle_departed_of_path(&mut self, id: SocketId, path: PathId, bytes: u32) {
        // An association does not heed departures, and needs no registers for those of MPTCP.
        if let Some(Socket::Mptcp(_)) = self.sockets.get_mut(id) {
            self.handle_departed_of_mptcp(id, path, bytes);
        }
    }

    #[inline(never)]
    fn handle_departed_of_mptcp(&mut self, id: SocketId, path: PathId, bytes: u32) {
        if let Some(Socket::Mptcp(connection)) = self.sockets.get_mut(id)
            && Endpoint::on_departed(&mut **connection, path, bytes)
        {
            self.wake(id);
        }
    }
}

/// What became of a packet that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// It is in the queue of its interface.
    Queued,
    /// It left the interface at once (`Input::Departed`).
    Departed {
        /// `Packet::flow` of the packet.
        flow: u32,
        /// Length of the IP packet, in bytes.
        bytes: u32,
    },
    /// It leaves the interface at `at`; `Input::Departed` does not follow. At most
    /// [`crate::KNOWN_DEPARTURES`] such packets of an interface have not left it.
    Departs {
        /// `Packet::flow` of the packet.
        flow: u32,
        /// When it leaves.
        at: Instant,
    },
    /// No more packets are wanted now.
    Last,
}

/// What takes the packets of a stack.
pub trait Sink {
    /// Takes a packet.
    fn send(&mut self, cx: &mut Context<'_>, transmit: Transmit) -> Sent;

    /// Departures of these `Packet::flow` that were reported in advance ([`Sent::Departs`]) and are
    /// still to come follow as [`Input::Departed`].
    fn recall(&mut self, flows: &[u32]) {
        let _ = flows;
    }
}

/// Takes one packet.
struct Next(Option<Transmit>);

impl Sink for Next {
    fn send(&mut self, _cx: &mut Context<'_>, transmit: Transmit) -> Sent {
        self.0 = Some(transmit);
        Sent::Last
    }
}

/// Sends a packet. A call, as `send` is in line for packets of TCP.
#[inline(never)]
fn pass(cx: &mut Context<'_>, sink: &mut impl Sink, transmit: Transmit) -> Sent {
    sink.send(cx, transmit)
}

/// Sends what a connection has to send; returns whether no more is wanted.
#[inline(always)]
fn pass_all<E: Endpoint>(cx: &mut Context<'_>, connection: &mut E, sink: &mut impl Sink) -> bool {
    while let Some(transmit) = connection.poll_transmit(cx) {
        let sent = pass(cx, sink, transmit);
        if has_enough(cx, connection, sent) {
            return true;
        }
    }
    false
}

/// Sends what an association has to send; `None`: no more is wanted.
// A call of its own: in line it spread the code of the others over more lines of the cache.
#[inline(never)]
fn transmit_of(
    cx: &mut Context<'_>,
    association: &mut Association,
    sink: &mut impl Sink,
) -> Option<AtRest> {
    while let Some(transmit) = association.poll_transmit(cx) {
        if sink.send(cx, transmit) == Sent::Last {
            return None;
        }
    }
    Some(at_rest(cx, association))
}

/// Tells a connection what became of its packet; returns whether no more is wanted.
// First what becomes of nearly all, without the jump table of a match.
#[inline(always)]
fn has_enough<E: Endpoint>(cx: &mut Context<'_>, connection: &mut E, sent: Sent) -> bool {
    let Sent::Departs { flow, at } = sent else { return has_enough_of_others(connection, sent) };
    let by = cx.departed_by();
    let known = |(_, path)| connection.on_departure_known(by, path, at);
    // Retransmissions may leave while new data wait.
    if split_flow(flow).is_some_and(known) {
        cold_path();
        cx.recalls = true;
    }
    false
}

/// The same but for packets whose departure is known.
#[inline(never)]
fn has_enough_of_others<E: Endpoint>(connection: &mut E, sent: Sent) -> bool {
    if let Sent::Departed { flow, bytes } = sent {
        // It is in the list already of those that may have something to send.
        let _ = split_flow(flow).map(|(_, path)| connection.on_departed(path, bytes));
    }
    sent == Sent::Last
}

/// Asks for the departures that a connection waits for.
#[cold]
fn recall<E: Endpoint>(
    cx: &mut Context<'_>,
    id: SocketId,
    connection: &mut E,
    sink: &mut impl Sink,
) {
    cx.recalls = false;
    let flows: Vec<u32> =
        connection.recall(cx.departed_by()).iter().map(|path| flow_of(id, path)).collect();
    sink.recall(&flows);
}

/// A connection that has nothing to send for now.
struct AtRest {
    events: Events,
    /// A deadline before every one that the stack knows of.
    deadline: Option<Instant>,
    is_closed: bool,
}

/// The events of a connection.
enum Events {
    None,
    /// Data can be read, as for most segments with data; it was taken.
    Readable,
    Some,
}

/// Asks a connection that has nothing to send for now, and marks it so.
#[inline(always)]
fn at_rest<E: Endpoint>(cx: &Context<'_>, connection: &mut E) -> AtRest {
    let Rest { has_events, is_closed, deadline } = connection.rest();
    let quick = has_events && connection.marks().listener.is_none() && cx.has_short_ways();
    let events = if !has_events {
        Events::None
    } else if quick && connection.take_readable() {
        Events::Readable
    } else {
        Events::Some
    };
    let marks = connection.marks();
    marks.ready = false;
    let arms = deadline < marks.armed_at && !is_closed;
    if arms {
        marks.armed_at = deadline;
    }
    AtRest { events, deadline: arms.then_some(deadline), is_closed }
}
