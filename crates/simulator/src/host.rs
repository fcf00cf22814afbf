//! A simulated host: an engine's stack with applications and network interfaces.
//!
//! Drives the stack by its contract: one input, then `poll_transmit` and `poll_event` until
//! empty, then `poll_deadline`. Applications are called in between. A host with a processing cost
//! is serial, which is left to `processor`; a packet that has left the host is left to `fabric`.

use crate::event_queue::Target;
use crate::fabric::{Fabric, FirstHop};
use crate::processor::{ProcessingCost, Processor};
use base::{Context, HostId, Instant, InterfaceId, SocketId, prefetch};
use harness::{SentRecord, SocketOwner, StackSockets, deliver};
use std::hint::cold_path;
use std::net::{IpAddr, SocketAddr};
use traffic::{Application, StreamHost};
use transport::{
    Input, ProtocolConfig, Sent, Sink, SocketError, SocketEvent, SocketEventKind, Stack,
    StackConfig, Transmit,
};
use wire::Packet;

/// Packets and events that one input may cause before the host is considered to be in a live-lock:
/// far more than any send buffer has segments.
const DRAIN_LIMIT: u32 = 1_000_000;

/// The addresses and the protocol of an application.
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

/// Counters of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostCounters {
    /// Packets received.
    pub packets: u64,
    /// Received packets with payload.
    pub data_packets: u64,
}

/// One host.
pub(crate) struct Host<A> {
    id: HostId,
    target: Target,
    stack: Stack,
    applications: Vec<Running<A>>,
    /// By application; kept apart because they are seldom read.
    endpoints: Vec<Endpoint>,
    owners: Owners,
    /// By interface.
    first_hops: Vec<FirstHop>,
    processor: Option<Processor>,
    counters: HostCounters,
}

/// An application and its state. Aligned: what reading needs is in three cache lines then.
#[repr(C, align(64))]
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

    #[inline]
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

    /// Add an application. Returns its number on this host.
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

    /// Payload bytes first sent on each interface, over all sockets, and those that wait to be sent
    /// there.
    pub(crate) fn first_sent(&self) -> Vec<u64> {
        let mut sent = SentRecord::default();
        for socket in (0..self.owners.0.len() as u32).map(SocketId) {
            if let Some(info) = self.stack.info(socket) {
                sent.add(&info, InterfaceId::index);
                for path in &info.paths {
                    sent.first_sent_bytes[path.interface.index()] += path.queued_bytes;
                }
            }
        }
        sent.first_sent_bytes
    }

    /// A packet arrived.
    // It has one caller.
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        cx: &mut Context<'_>,
        fabric: &mut Fabric,
        interface: InterfaceId,
        packet: Box<Packet>,
    ) {
        self.counters.packets += 1;
        self.counters.data_packets += u64::from(packet.payload_len() > 0);
        let passed = fabric.pass_interface(cx.now, self.id, interface, packet);
        let Some(packet) = passed else {
            cold_path();
            return;
        };
        let input = Input::Packet { interface, packet };
        if self.processor.is_some() {
            cold_path();
            return self.input(cx, fabric, input);
        }
        cx.host = self.id;
        self.stack.handle(cx, input);
        self.drain_now(cx, fabric);
    }

    /// The next packet is probably one for this socket.
    pub(crate) const fn expect(&mut self, socket: SocketId) {
        self.stack.expect(socket);
    }

    /// The socket that received the last packet.
    pub(crate) const fn reader(&self) -> Option<SocketId> {
        self.stack.reader()
    }

    /// The first hop of the packets of an interface.
    pub(crate) fn first_hop(&self, interface: InterfaceId) -> FirstHop {
        self.first_hops.get(interface.index()).copied().unwrap_or(FirstHop::Nowhere)
    }

    /// Prefetch the entry of a socket.
    pub(crate) fn prefetch_socket(&self, socket: SocketId) {
        self.stack.prefetch_socket(socket);
    }

    /// Prefetch a socket, after `prefetch_socket`.
    pub(crate) fn prefetch(&self, socket: SocketId) {
        self.stack.prefetch(socket);
    }

    /// Prefetch the rest of a socket, and its application if it reads, after `prefetch`. Returns
    /// whether it does.
    pub(crate) fn prefetch_more(&self, socket: SocketId) -> bool {
        let reads = self.stack.prefetch_more(socket);
        if reads && let Some(owner) = self.owners.of(socket) {
            prefetch(&self.applications[owner]);
        }
        reads
    }

    /// Prefetch what a socket or its application refers to, after `prefetch_more`.
    pub(crate) fn prefetch_last(&self, socket: SocketId, reads: bool) {
        if !reads {
            self.stack.prefetch_last(socket);
        } else if let Some(owner) = self.owners.of(socket) {
            self.applications[owner].application.prefetch();
        }
    }

    /// A packet left a NIC, which seldom allows another packet to be sent.
    // It has one caller.
    #[inline(always)]
    pub(crate) fn departed(
        &mut self,
        cx: &mut Context<'_>,
        fabric: &mut Fabric,
        flow: u32,
        bytes: u32,
    ) {
        if flow == 0 {
            return;
        }
        let input = Input::Departed { flow, bytes };
        if self.processor.is_some() {
            cold_path();
            self.input(cx, fabric, input);
            return;
        }
        cx.host = self.id;
        self.stack.handle(cx, input);
        if !self.stack.is_drained() {
            cold_path();
            self.drain(cx, fabric);
        }
    }

    /// The deadline of the host is due.
    pub(crate) fn wake(&mut self, cx: &mut Context<'_>, fabric: &mut Fabric) {
        if self.processor.is_some() {
            self.work(cx, fabric);
        } else {
            self.input(cx, fabric, Input::Timeout);
        }
    }

    /// The deadline of application `number` is due; the first one is its start.
    pub(crate) fn wake_application(
        &mut self,
        cx: &mut Context<'_>,
        fabric: &mut Fabric,
        number: usize,
    ) {
        let first = !std::mem::replace(&mut self.applications[number].started, true);
        self.call(cx, fabric, number, |application, host| {
            if first { application.on_start(host) } else { application.on_timeout(host) }
        });
        self.settle(cx, fabric);
    }

    /// Pass an input to the stack.
    #[inline(never)]
    pub(crate) fn input(&mut self, cx: &mut Context<'_>, fabric: &mut Fabric, input: Input) {
        cx.host = self.id;
        if let Some(processor) = &mut self.processor {
            cold_path();
            processor.queue(input);
            self.work(cx, fabric);
        } else {
            self.stack.handle(cx, input);
            self.drain(cx, fabric);
        }
    }

    /// Send what the calls of an application caused.
    fn settle(&mut self, cx: &mut Context<'_>, fabric: &mut Fabric) {
        if self.processor.is_some() {
            self.work(cx, fabric);
        } else {
            self.drain(cx, fabric);
        }
    }

    #[inline(never)]
    fn drain(&mut self, cx: &mut Context<'_>, fabric: &mut Fabric) {
        self.drain_now(cx, fabric);
    }

    /// Steps 2 to 4 of the stack's contract.
    // In line for packets that arrive: a call each.
    #[inline(always)]
    fn drain_now(&mut self, cx: &mut Context<'_>, fabric: &mut Fabric) {
        cx.host = self.id;
        let mut left = DRAIN_LIMIT;
        loop {
            let Host { id, stack, first_hops, .. } = self;
            let mut outgoing = Outgoing { fabric, host: *id, first_hops, left };
            stack.transmit(cx, &mut outgoing);
            left = outgoing.left;
            if left <= 1 {
                return fabric.report_live_lock("one input of a host leads to packets without end");
            }
            let Some(event) = self.stack.poll_event() else { break };
            left -= 1;
            self.notify(cx, fabric, event);
        }
        fabric.queue.set_latest(self.target, self.stack.poll_deadline());
    }

    /// A serial host works step by step, and each step takes its time.
    fn work(&mut self, cx: &mut Context<'_>, fabric: &mut Fabric) {
        // Handling a departure takes it time, so that each needs an event.
        let horizon = std::mem::replace(&mut fabric.horizon, Instant::ZERO);
        self.take_steps(cx, fabric);
        fabric.horizon = horizon;
    }

    fn take_steps(&mut self, cx: &mut Context<'_>, fabric: &mut Fabric) {
        cx.host = self.id;
        for _ in 0..DRAIN_LIMIT {
            if let Some(until) = self.processor.as_ref().and_then(|p| p.busy_until(cx.now)) {
                fabric.queue.set(self.target, Some(until));
                return;
            }
            if !self.one_step(cx, fabric) {
                return;
            }
        }
        fabric.report_live_lock("a serial host works without end and without time passing");
    }

    /// The next step of a serial host, in this order: send the packet that was made, notify
    /// applications, take one input, make one packet. False if there is nothing to do.
    #[inline(never)]
    fn one_step(&mut self, cx: &mut Context<'_>, fabric: &mut Fabric) -> bool {
        let Some(processor) = &mut self.processor else { return false };
        if let Some(transmit) = processor.take_made() {
            let sent = send(cx, fabric, self.id, &self.first_hops, transmit);
            if let Sent::Departed { flow, bytes } = sent
                && flow != 0
            {
                processor.queue(Input::Departed { flow, bytes });
            }
        } else if let Some(event) = self.stack.poll_event() {
            self.notify(cx, fabric, event);
        } else if let Some(input) = processor.next_input(cx.now) {
            let is_packet = matches!(input, Input::Packet { .. });
            self.stack.handle(cx, input);
            if is_packet {
                processor.visit(cx.now, self.stack.take_visited_entries());
            }
        } else if let Some(transmit) = self.stack.poll_transmit(cx) {
            processor.make(cx.now, transmit);
        } else if let Some(event) = self.stack.poll_event() {
            // A connection with nothing to send reports its events.
            self.notify(cx, fabric, event);
        } else if self.stack.poll_deadline().is_some_and(|deadline| deadline <= cx.now) {
            self.stack.handle(cx, Input::Timeout);
        } else {
            fabric.queue.set(self.target, self.stack.poll_deadline());
            return false;
        }
        true
    }

    /// Pass an event of the stack to the application that owns the socket.
    fn notify(&mut self, cx: &mut Context<'_>, fabric: &mut Fabric, event: SocketEvent) {
        let SocketEvent { socket, kind } = event;
        if let SocketEventKind::Accepted { listener } = kind
            && let Some(owner) = self.owners.of(listener)
        {
            self.owners.set(socket, owner);
        }
        let Some(owner) = self.owners.of(socket) else { return };
        self.call(cx, fabric, owner, |application, host| deliver(application, host, event));
    }

    /// Call an application and schedule its next deadline.
    fn call(
        &mut self,
        cx: &mut Context<'_>,
        fabric: &mut Fabric,
        number: usize,
        what: impl FnOnce(&mut A, &mut dyn StreamHost),
    ) {
        cx.host = self.id;
        let Running { application, target, started } = &mut self.applications[number];
        let stack = &mut self.stack;
        let Endpoint { local, remote, socket: protocol, .. } = &self.endpoints[number];
        let (ends, owner) = (Some((local, remote)), Opening { owners: &mut self.owners, number });
        what(application, &mut StackSockets { cx, stack, ends, protocol, owner });
        if *started {
            fabric.queue.set(*target, application.poll_deadline());
        }
        fabric.asks |= application.is_done();
    }
}

/// Sends the packets of a host, up to a number.
struct Outgoing<'a> {
    fabric: &'a mut Fabric,
    host: HostId,
    first_hops: &'a [FirstHop],
    left: u32,
}

impl Sink for Outgoing<'_> {
    #[inline(always)]
    fn send(&mut self, cx: &mut Context<'_>, transmit: Transmit) -> Sent {
        // At least one is left before: at zero the host stops.
        self.left -= 1;
        if self.left == 0 {
            return Sent::Last;
        }
        send(cx, self.fabric, self.host, self.first_hops, transmit)
    }

    fn recall(&mut self, flows: &[u32]) {
        self.fabric.recall(self.host, flows);
    }
}

/// Sends a packet of a host. Without a NIC it departs while it is being sent.
// Saves most packets a call.
#[inline(always)]
fn send(
    cx: &mut Context<'_>,
    fabric: &mut Fabric,
    host: HostId,
    first_hops: &[FirstHop],
    Transmit { interface, packet, bytes }: Transmit,
) -> Sent {
    let passed = fabric.pass_interface(cx.now, host, interface, packet);
    let Some(packet) = passed else { return Sent::Queued };
    match first_hops.get(interface.index()) {
        Some(FirstHop::Nic(nic)) => return fabric.enqueue_nic(cx, *nic, packet, bytes),
        Some(FirstHop::Link(link)) => {
            let flow = packet.flow;
            fabric.enqueue(cx, *link, packet, bytes);
            return Sent::Departed { flow, bytes };
        }
        Some(FirstHop::Nowhere) | None => {}
    }
    Sent::Queued
}

/// Enters the sockets that an application opens.
struct Opening<'a> {
    owners: &'a mut Owners,
    /// Number of the application.
    number: usize,
}

impl SocketOwner for Opening<'_> {
    fn on_opened(&mut self, socket: SocketId) {
        self.owners.set(socket, self.number);
    }
}
