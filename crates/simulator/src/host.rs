//! A simulated host: an engine's stack with applications and network interfaces.
//!
//! Drives the stack by its contract: one input, then `poll_transmit` and `poll_event` until
//! empty, then `poll_deadline`. Applications are called between. A host with a processing cost is
//! serial; that is `processor`'s. What happens to a packet once it has left is `network`'s.

use crate::event_queue::Target;
use crate::processor::{ProcessingCost, Processor};
use crate::wiring::{FirstHop, Wiring};
use base::{Context, HostId, Instant, InterfaceId, SocketId, prefetch};
use std::net::{IpAddr, SocketAddr};
use traffic::{Application, StreamFailure, StreamHost};
use transport::{
    Input, ProtocolConfig, SocketError, SocketEvent, SocketEventKind, Stack, StackConfig, Transmit,
};
use wire::{Packet, Payload};

/// Packets and events one input may cause before the host is held to be in a live-lock: far more
/// than any send buffer has segments.
const DRAIN_LIMIT: u32 = 1_000_000;

/// What an application talks to.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The address of this host to connect from.
    pub local: IpAddr,
    /// The peer, for `connect`.
    pub remote: SocketAddr,
    /// The port to accept connections on, if any.
    pub listen: Option<u16>,
    /// When the application starts.
    pub starts_at: Instant,
    /// The protocol of its sockets.
    pub socket: ProtocolConfig,
}

/// What a host counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostCounters {
    /// Packets that arrived.
    pub packets: u64,
    /// Those of them that carried payload.
    pub data_packets: u64,
}

/// One host.
pub(crate) struct Host<A> {
    id: HostId,
    target: Target,
    stack: Stack,
    applications: Vec<Running<A>>,
    /// Of the applications, by number; apart from them because they are seldom looked at.
    endpoints: Vec<Endpoint>,
    owners: Owners,
    /// By interface.
    first_hops: Vec<FirstHop>,
    processor: Option<Processor>,
    counters: HostCounters,
}

/// An application and its surroundings.
#[repr(C)]
struct Running<A> {
    target: Target,
    started: bool,
    application: A,
}

/// Which application a socket belongs to. Socket numbers are dense, hence a plain table.
#[derive(Default)]
struct Owners(Vec<u32>);

impl Owners {
    fn set(&mut self, socket: SocketId, application: usize) {
        if self.0.len() <= socket.index() {
            self.0.resize(socket.index() + 1, u32::MAX);
        }
        self.0[socket.index()] = application as u32;
    }

    fn of(&self, socket: SocketId) -> Option<usize> {
        self.0.get(socket.index()).filter(|owner| **owner != u32::MAX).map(|owner| *owner as usize)
    }
}

impl<A: Application> Host<A> {
    pub(crate) fn new(
        id: HostId,
        target: Target,
        config: StackConfig,
        cost: ProcessingCost,
        first_hops: Vec<FirstHop>,
    ) -> Self {
        Host {
            id,
            target,
            stack: Stack::new(config),
            applications: Vec::new(),
            endpoints: Vec::new(),
            owners: Owners::default(),
            first_hops,
            processor: (!cost.is_zero()).then(|| Processor::new(cost)),
            counters: HostCounters::default(),
        }
    }

    /// Add an application; the answer is its number on this host.
    pub(crate) fn add(
        &mut self,
        application: A,
        endpoint: Endpoint,
        target: Target,
    ) -> Result<usize, SocketError> {
        let number = self.applications.len();
        if let Some(port) = endpoint.listen {
            let listener = self.stack.listen(port, endpoint.socket.clone())?;
            self.owners.set(listener, number);
        }
        self.applications.push(Running { application, target, started: false });
        self.endpoints.push(endpoint);
        Ok(number)
    }

    pub(crate) fn applications(&self) -> impl Iterator<Item = &A> {
        self.applications.iter().map(|running| &running.application)
    }

    pub(crate) const fn stack(&self) -> &Stack {
        &self.stack
    }

    pub(crate) const fn counters(&self) -> HostCounters {
        self.counters
    }

    /// Payload bytes first sent on each interface, over all sockets; TCP's on `tcp`.
    pub(crate) fn first_sent(&self, tcp: usize) -> Vec<u64> {
        let mut bytes = vec![0; self.first_hops.len()];
        for socket in (0..self.owners.0.len() as u32).map(SocketId) {
            let Some(info) = self.stack.info(socket) else { continue };
            for path in &info.paths {
                let single = !info.protocol.is_multipath();
                let at = if single { tcp } else { path.interface.index() };
                bytes[at] += path.first_sent_bytes;
            }
            for retired in &info.retired {
                bytes[retired.interface.index()] += retired.first_sent_bytes;
            }
        }
        bytes
    }

    /// A packet arrived.
    pub(crate) fn receive(
        &mut self,
        cx: &mut Context<'_>,
        wiring: &mut Wiring,
        interface: InterfaceId,
        packet: Box<Packet>,
    ) {
        self.counters.packets += 1;
        self.counters.data_packets += u64::from(packet.payload_len() > 0);
        wiring.tap(cx.now, self.id, interface, &packet);
        let Some(packet) = wiring.pass_through(packet) else { return };
        self.input(cx, wiring, Input::Packet { interface, packet });
    }

    /// The socket that the last packet went to.
    pub(crate) const fn reader(&self) -> Option<SocketId> {
        self.stack.reader()
    }

    /// Where the packets of an interface go.
    pub(crate) fn first_hop(&self, interface: InterfaceId) -> FirstHop {
        self.first_hops.get(interface.index()).copied().unwrap_or(FirstHop::Nowhere)
    }

    /// Ask for where a socket is,
    pub(crate) fn prefetch_socket(&self, socket: SocketId) {
        self.stack.prefetch_socket(socket);
    }

    /// for what lies behind it,
    pub(crate) fn prefetch_more(&self, socket: SocketId) {
        self.stack.prefetch_more(socket);
    }

    /// and between the two for the memory of the socket and of what uses it.
    pub(crate) fn prefetch(&self, socket: SocketId) {
        self.stack.prefetch(socket);
        if let Some(owner) = self.owners.of(socket) {
            let running = &self.applications[owner];
            prefetch(running);
            running.application.prefetch();
        }
    }

    /// A packet left a NIC, which seldom lets another one go.
    pub(crate) fn departed(
        &mut self,
        cx: &mut Context<'_>,
        wiring: &mut Wiring,
        flow: u32,
        bytes: u32,
    ) {
        if flow == 0 {
            return;
        }
        let input = Input::Departed { flow, bytes };
        if self.processor.is_some() {
            self.input(cx, wiring, input);
            return;
        }
        cx.host = self.id;
        self.stack.handle(cx, input);
        if !self.stack.is_drained() {
            self.drain(cx, wiring);
        }
    }

    /// The host's own time has come.
    pub(crate) fn wake(&mut self, cx: &mut Context<'_>, wiring: &mut Wiring) {
        if self.processor.is_some() {
            self.work(cx, wiring);
        } else {
            self.input(cx, wiring, Input::Timeout);
        }
    }

    /// The time of application `number` has come, at first to start.
    pub(crate) fn wake_application(
        &mut self,
        cx: &mut Context<'_>,
        wiring: &mut Wiring,
        number: usize,
    ) {
        let first = !std::mem::replace(&mut self.applications[number].started, true);
        self.call(cx, wiring, number, |application, host| {
            if first { application.on_start(host) } else { application.on_timeout(host) }
        });
        self.settle(cx, wiring);
    }

    /// Something happened to the stack.
    #[inline]
    pub(crate) fn input(&mut self, cx: &mut Context<'_>, wiring: &mut Wiring, input: Input) {
        cx.host = self.id;
        if let Some(processor) = &mut self.processor {
            processor.queue(input);
            self.work(cx, wiring);
        } else {
            self.stack.handle(cx, input);
            self.drain(cx, wiring);
        }
    }

    /// Let out what an application's calls caused.
    fn settle(&mut self, cx: &mut Context<'_>, wiring: &mut Wiring) {
        if self.processor.is_some() {
            self.work(cx, wiring);
        } else {
            self.drain(cx, wiring);
        }
    }

    /// The contract's steps 2 to 4.
    fn drain(&mut self, cx: &mut Context<'_>, wiring: &mut Wiring) {
        cx.host = self.id;
        for _ in 0..DRAIN_LIMIT {
            if let Some(transmit) = self.stack.poll_transmit(cx) {
                self.send(cx, wiring, transmit);
            } else if let Some(event) = self.stack.poll_event() {
                self.notify(cx, wiring, event);
            } else {
                wiring.queue.set_latest(self.target, self.stack.poll_deadline());
                return;
            }
        }
        wiring.report_live_lock("one input of a host leads to packets without end");
    }

    /// A serial host does one thing after the other, each of which takes its time.
    fn work(&mut self, cx: &mut Context<'_>, wiring: &mut Wiring) {
        cx.host = self.id;
        for _ in 0..DRAIN_LIMIT {
            if let Some(until) = self.processor.as_ref().and_then(|p| p.busy_until(cx.now)) {
                wiring.queue.set(self.target, Some(until));
                return;
            }
            if !self.one_step(cx, wiring) {
                return;
            }
        }
        wiring.report_live_lock("a serial host works without end and without time passing");
    }

    /// The next piece of work, in order: hand over what was made, tell applications, take one
    /// input, make one packet. False if there is none.
    fn one_step(&mut self, cx: &mut Context<'_>, wiring: &mut Wiring) -> bool {
        let Some(processor) = &mut self.processor else { return false };
        if let Some(transmit) = processor.take_made() {
            self.send(cx, wiring, transmit);
        } else if let Some(event) = self.stack.poll_event() {
            self.notify(cx, wiring, event);
        } else if let Some(input) = processor.next_input(cx.now) {
            self.stack.handle(cx, input);
        } else if let Some(transmit) = self.stack.poll_transmit(cx) {
            processor.make(cx.now, transmit);
        } else if let Some(event) = self.stack.poll_event() {
            // Having nothing to send, a connection tells its news.
            self.notify(cx, wiring, event);
        } else if self.stack.poll_deadline().is_some_and(|deadline| deadline <= cx.now) {
            self.stack.handle(cx, Input::Timeout);
        } else {
            wiring.queue.set(self.target, self.stack.poll_deadline());
            return false;
        }
        true
    }

    fn send(&mut self, cx: &mut Context<'_>, wiring: &mut Wiring, transmit: Transmit) {
        let Transmit { interface, packet } = transmit;
        wiring.tap(cx.now, self.id, interface, &packet);
        let Some(packet) = wiring.pass_through(packet) else { return };
        match self.first_hops.get(interface.index()) {
            Some(FirstHop::Nic(nic)) => wiring.enqueue_nic(cx, *nic, packet),
            Some(FirstHop::Link(link)) => {
                let (flow, bytes) = (packet.flow, packet.wire_len());
                wiring.enqueue(cx, *link, packet, bytes);
                self.departed_at_once(cx, flow, bytes);
            }
            Some(FirstHop::Nowhere) | None => {}
        }
    }

    /// On a host without NIC links a packet departs while it is being sent.
    fn departed_at_once(&mut self, cx: &mut Context<'_>, flow: u32, bytes: u32) {
        if flow == 0 {
            return;
        }
        let input = Input::Departed { flow, bytes };
        match &mut self.processor {
            Some(processor) => processor.queue(input),
            None => self.stack.handle(cx, input),
        }
    }

    /// Pass the stack's news to the application concerned.
    fn notify(&mut self, cx: &mut Context<'_>, wiring: &mut Wiring, event: SocketEvent) {
        let SocketEvent { socket, kind } = event;
        if let SocketEventKind::Accepted { listener } = kind
            && let Some(owner) = self.owners.of(listener)
        {
            self.owners.set(socket, owner);
        }
        let Some(owner) = self.owners.of(socket) else { return };
        self.call(cx, wiring, owner, |application, host| match kind {
            SocketEventKind::Connected => application.on_connected(host, socket),
            SocketEventKind::Accepted { .. } => application.on_accepted(host, socket),
            SocketEventKind::Readable => application.on_readable(host, socket),
            SocketEventKind::Writable => application.on_writable(host, socket),
            SocketEventKind::PeerClosed => application.on_peer_closed(host, socket),
            SocketEventKind::Closed => application.on_closed(socket),
            SocketEventKind::Failed(error) => application.on_failed(socket, failure(error)),
        });
    }

    /// Call an application and note when it wants to be called again.
    fn call(
        &mut self,
        cx: &mut Context<'_>,
        wiring: &mut Wiring,
        number: usize,
        what: impl FnOnce(&mut A, &mut dyn StreamHost),
    ) {
        cx.host = self.id;
        wiring.called = true;
        let Running { application, target, started } = &mut self.applications[number];
        let stack = &mut self.stack;
        let (endpoint, owners) = (&self.endpoints[number], &mut self.owners);
        let mut port = Port { cx, stack, endpoint, owners, number };
        what(application, &mut port);
        if *started {
            wiring.queue.set(*target, application.poll_deadline());
        }
    }
}

/// What an application sees of its host.
struct Port<'a, 'c> {
    cx: &'a mut Context<'c>,
    stack: &'a mut Stack,
    endpoint: &'a Endpoint,
    owners: &'a mut Owners,
    number: usize,
}

impl StreamHost for Port<'_, '_> {
    fn now(&self) -> Instant {
        self.cx.now
    }

    fn connect(&mut self) -> Result<SocketId, StreamFailure> {
        let Endpoint { local, remote, socket, .. } = self.endpoint;
        let socket = self.stack.connect(self.cx, *local, *remote, socket).map_err(failure)?;
        self.owners.set(socket, self.number);
        Ok(socket)
    }

    fn write(&mut self, socket: SocketId, payload: &Payload) -> u32 {
        // A failed connection says so by an event of its own.
        self.stack.write(self.cx, socket, payload).unwrap_or(0)
    }

    fn read(&mut self, socket: SocketId, max: u32) -> Payload {
        self.stack.read(self.cx, socket, max).unwrap_or_default()
    }

    fn shutdown(&mut self, socket: SocketId) {
        // Already shut, or gone: nothing is left to do either way.
        let _ = self.stack.shutdown(self.cx, socket);
    }

    fn close(&mut self, socket: SocketId) {
        self.stack.release(self.cx, socket);
    }
}

/// An engine's error as an application sees it.
const fn failure(error: SocketError) -> StreamFailure {
    match error {
        SocketError::Refused => StreamFailure::Refused,
        SocketError::Reset => StreamFailure::Reset,
        SocketError::TimedOut => StreamFailure::TimedOut,
        SocketError::Unreachable => StreamFailure::Unreachable,
        _ => StreamFailure::Local,
    }
}
