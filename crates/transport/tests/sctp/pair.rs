//! Two hosts with several interfaces each, joined by a network that a rule of the test governs.
//!
//! Every packet goes through bytes, is logged, and can be dropped or delayed. A packet reaches the
//! interface that has its destination address, whatever interface it left. Fails on live-lock.

#![allow(dead_code, reason = "every kind of test needs other parts of it")]

use base::{
    Chance, Context, Duration, Event, EventMask, HostId, Instant, InterfaceId, Recorder, SocketId,
};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use transport::sctp::streams::{Message, Received, Reliability};
use transport::sctp::{Addresses, GapStructure, SctpConfig};
use transport::{
    ConnectionInfo, Input, InterfaceConfig, InterfaceEvent, SocketEventKind, Stack, StackConfig,
};
use wire::sctp::{Chunk, Data, IData, Tsn, VerificationTag};
use wire::{Body, Icmp, Packet, SctpPacket};

/// More packets at one instant are taken for a live-lock.
const MAX_PACKETS_AT_ONCE: u32 = 10_000;
const MTU: u32 = 1500;
pub(crate) const PORT: u16 = 5001;
/// Time of a packet between the hosts.
pub(crate) const DELAY: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Client,
    Server,
}

pub(crate) use Side::{Client, Server};

impl Side {
    pub(crate) const fn other(self) -> Side {
        match self {
            Client => Server,
            Server => Client,
        }
    }
}

/// A packet on its way.
#[derive(Clone, Debug)]
pub(crate) struct Passing {
    /// When it was sent.
    pub at: Instant,
    /// Who sent it; injected packets have the side that they pretend to be from.
    pub from: Side,
    pub src: IpAddr,
    pub dst: IpAddr,
    pub packet: SctpPacket,
    pub dropped: bool,
}

impl Passing {
    /// Whether a chunk of the packet is one that `is` accepts.
    pub(crate) fn has(&self, is: impl Fn(&Chunk) -> bool) -> bool {
        self.packet.chunks.iter().any(is)
    }

    /// Whether the packet carries user data.
    pub(crate) fn has_data(&self) -> bool {
        self.packet.payload_len() > 0
    }
}

/// What the network does with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Pass,
    Drop,
    /// It arrives later than others by this time.
    Late(Duration),
}

/// Decides about packets.
pub(crate) type Rule = Box<dyn FnMut(&Passing) -> Fate>;

/// What the application of a host knows.
#[derive(Default)]
pub(crate) struct Host {
    pub socket: Option<SocketId>,
    pub events: Vec<SocketEventKind>,
    /// Messages received, in their order.
    pub received: Vec<Received>,
    /// The application takes no messages.
    pub paused: bool,
}

impl Host {
    pub(crate) fn has(&self, event: SocketEventKind) -> bool {
        self.events.contains(&event)
    }

    /// The number of bytes of each message received.
    pub(crate) fn lens(&self) -> Vec<u32> {
        self.received.iter().map(|message| message.payload.len()).collect()
    }

    /// The association was set up.
    pub(crate) fn is_open(&self) -> bool {
        let opens = |event: &SocketEventKind| {
            matches!(event, SocketEventKind::Connected | SocketEventKind::Accepted { .. })
        };
        self.events.iter().any(opens)
    }
}

/// A congestion window that changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    pub of: Side,
    /// In bytes.
    pub cwnd: u64,
    /// In bytes; `None` while arbitrarily high.
    pub ssthresh: Option<u64>,
}

#[derive(Default)]
struct Windows(Vec<Window>);

impl Recorder for Windows {
    fn mask(&self) -> EventMask {
        EventMask::WINDOW
    }

    fn record(&mut self, _now: Instant, host: HostId, event: &Event) {
        if let Event::WindowChange { cwnd_bytes, ssthresh_bytes, .. } = *event {
            let of = if host == HostId(0) { Client } else { Server };
            self.0.push(Window { of, cwnd: cwnd_bytes, ssthresh: ssthresh_bytes });
        }
    }
}

pub(crate) struct Pair {
    pub now: Instant,
    chance: Chance,
    stacks: [Stack; 2],
    pub hosts: [Host; 2],
    /// Every address with its host and interface.
    addresses: Vec<(IpAddr, Side, usize)>,
    arrivals: BTreeMap<(Instant, u64), (Side, usize, Box<Packet>)>,
    count: u64,
    pub rule: Option<Rule>,
    /// Every packet sent.
    pub log: Vec<Passing>,
    windows: Windows,
}

/// The first address of an interface.
pub(crate) fn address(side: Side, interface: usize) -> IpAddr {
    let host = if side == Client { 1 } else { 2 };
    [10, 0, interface as u8 + 1, host].into()
}

/// An ordered, reliable message of `len` bytes.
pub(crate) fn message(stream: u16, len: usize) -> Message {
    let payload = (0..len).map(|at| (at * 7) as u8).collect::<Vec<u8>>().into();
    Message {
        stream,
        ppid: 0,
        unordered: false,
        immediate: false,
        reliability: Reliability::Full,
        payload,
    }
}

/// The default configuration with all addresses of a host; with debug assertions the list beside
/// the tree checks what the tree acknowledges.
pub(crate) fn config() -> SctpConfig {
    let gap_structure = GapStructure::List;
    SctpConfig { addresses: Addresses::All, streams: 4, gap_structure, ..SctpConfig::default() }
}

impl Pair {
    /// Hosts with this many interfaces each; the client has sent nothing yet.
    pub(crate) fn new(interfaces: [usize; 2], configs: [SctpConfig; 2]) -> Pair {
        let mut pair = Pair::apart(interfaces);
        let [client, server] = configs;
        pair.stacks[1].listen(PORT, server).expect("a free port");
        pair.connect(Client, PORT, client);
        pair
    }

    /// Hosts that know nothing of each other.
    pub(crate) fn apart(interfaces: [usize; 2]) -> Pair {
        let stack = |side: Side| {
            let interface =
                |index| InterfaceConfig { addresses: vec![address(side, index)], mtu: MTU };
            let interfaces = (0..interfaces[side as usize]).map(interface).collect();
            Stack::new(StackConfig { interfaces, ..StackConfig::default() })
        };
        let of = |side: Side| {
            (0..interfaces[side as usize]).map(move |index| (address(side, index), side, index))
        };
        Pair {
            now: Instant::ZERO,
            chance: Chance::new(1, 0),
            stacks: [stack(Client), stack(Server)],
            hosts: [Host::default(), Host::default()],
            addresses: of(Client).chain(of(Server)).collect(),
            arrivals: BTreeMap::new(),
            count: 0,
            rule: None,
            log: Vec::new(),
            windows: Windows::default(),
        }
    }

    /// A host opens an association to a port of the other one.
    pub(crate) fn connect(&mut self, side: Side, port: u16, config: SctpConfig) {
        let mut cx = self.cx(side);
        let remote = SocketAddr::new(address(side.other(), 0), port);
        let socket = self.stack(side).connect(&mut cx, address(side, 0), remote, &config.into());
        self.hosts[side as usize].socket = Some(socket.expect("a configuration that is known"));
    }

    /// Congestion windows of a host since the beginning, in bytes.
    pub(crate) fn cwnds(&self, side: Side) -> Vec<u64> {
        self.windows(side).map(|window| window.cwnd).collect()
    }

    /// Changes of congestion windows of a host.
    pub(crate) fn windows(&self, side: Side) -> impl Iterator<Item = Window> {
        self.windows.0.iter().copied().filter(move |window| window.of == side)
    }

    /// Calls a stack with a recorder.
    fn call<R>(&mut self, side: Side, call: impl FnOnce(&mut Stack, &mut Context<'_>) -> R) -> R {
        let cx = Context::recording(self.now, self.chance, &mut self.windows);
        call(&mut self.stacks[side as usize], &mut cx.for_host(HostId(side as u16)))
    }

    /// Both associations are established, with all addresses of `interfaces` interfaces a host.
    pub(crate) fn open(interfaces: usize) -> Pair {
        Pair::open_with(interfaces, config())
    }

    /// The same with this configuration at both ends.
    pub(crate) fn open_with(interfaces: usize, config: SctpConfig) -> Pair {
        Pair::open_between(interfaces, [config.clone(), config])
    }

    /// The same with these configurations of client and server.
    pub(crate) fn open_between(interfaces: usize, configs: [SctpConfig; 2]) -> Pair {
        let mut pair = Pair::new([interfaces; 2], configs);
        pair.run_until("establishment", Duration::from_secs(60), |pair| {
            pair.hosts.iter().all(Host::is_open)
        });
        // Further addresses are verified.
        pair.pass(Duration::from_secs(1));
        pair
    }

    pub(crate) fn cx(&self, side: Side) -> Context<'static> {
        Context::quiet(self.now, self.chance).for_host(HostId(side as u16))
    }

    pub(crate) fn stack(&mut self, side: Side) -> &mut Stack {
        &mut self.stacks[side as usize]
    }

    pub(crate) fn host(&self, side: Side) -> &Host {
        &self.hosts[side as usize]
    }

    pub(crate) fn socket(&self, side: Side) -> SocketId {
        self.host(side).socket.expect("a socket")
    }

    pub(crate) fn info(&self, side: Side) -> ConnectionInfo {
        self.stacks[side as usize].info(self.socket(side)).expect("an association")
    }

    /// The tag that packets to `side` have.
    pub(crate) fn tag_of(&self, side: Side) -> VerificationTag {
        let mut to = self.log.iter().rev().filter(|passing| passing.from != side);
        let found = to.find(|passing| passing.packet.tag != VerificationTag(0));
        found.expect("a packet").packet.tag
    }

    /// First TSN of the client, with which its serial and request numbers begin, too.
    pub(crate) fn first_tsn(&self) -> Tsn {
        let init = self.chunks(Client).find_map(|(_, chunk)| match chunk {
            Chunk::Init(init) => Some(init.initial_tsn),
            _ => None,
        });
        init.expect("an INIT")
    }

    /// Packets that `side` has sent.
    pub(crate) fn sent(&self, side: Side) -> impl Iterator<Item = &Passing> {
        self.log.iter().filter(move |passing| passing.from == side)
    }

    /// Chunks that `side` has sent.
    pub(crate) fn chunks(&self, side: Side) -> impl Iterator<Item = (Instant, &Chunk)> {
        self.sent(side)
            .flat_map(|passing| passing.packet.chunks.iter().map(|chunk| (passing.at, chunk)))
    }

    /// Queues a message and lets it out; fails if there is no room.
    pub(crate) fn send(&mut self, side: Side, message: Message) {
        let socket = self.socket(side);
        let taken = self.stack(side).send_message(socket, message);
        assert_eq!(taken, Ok(true), "a message is taken");
        self.settle();
    }

    pub(crate) fn shutdown(&mut self, side: Side) {
        let (mut cx, socket) = (self.cx(side), self.socket(side));
        self.stack(side).shutdown(&mut cx, socket).expect("an association");
        self.settle();
    }

    pub(crate) fn abort(&mut self, side: Side) {
        let (mut cx, socket) = (self.cx(side), self.socket(side));
        self.stack(side).abort(&mut cx, socket).expect("an association");
        self.settle();
    }

    /// The host notices a change of one of its interfaces.
    pub(crate) fn interface(&mut self, side: Side, index: usize, event: InterfaceEvent) {
        match event {
            InterfaceEvent::AddressAdded(added) => self.addresses.push((added, side, index)),
            InterfaceEvent::AddressRemoved(gone) => self.addresses.retain(|at| at.0 != gone),
            InterfaceEvent::Up | InterfaceEvent::Down | InterfaceEvent::Backup(_) => {}
        }
        let mut cx = self.cx(side);
        let interface = InterfaceId(index as u16);
        self.stack(side).handle(&mut cx, Input::Interface { interface, event });
        self.settle();
    }

    /// Passes a packet of somebody else to `side` at once.
    pub(crate) fn inject(&mut self, side: Side, src: IpAddr, dst: IpAddr, packet: SctpPacket) {
        let packet = Box::new(Packet::new(src, dst, Body::Sctp(packet)));
        self.arrive(side, 0, packet);
        self.settle();
    }

    /// An ICMP message about a packet that `side` has sent arrives.
    pub(crate) fn unreachable(&mut self, side: Side, sent: &Passing, code: u8, mtu: u16) {
        let quoted = Packet::new(sent.src, sent.dst, Body::Sctp(sent.packet.clone()));
        let mut original = Vec::new();
        quoted.emit(&mut original);
        original.truncate(60);
        let message = Icmp::Unreachable { code, next_hop_mtu: mtu, original: original.into() };
        let router = IpAddr::from([10, 9, 9, 9]);
        self.arrive(side, 0, Box::new(Packet::new(router, sent.src, Body::Icmp(message))));
        self.settle();
    }

    /// Passes chunks to `side` as from the peer, with the right tag.
    pub(crate) fn forge(&mut self, side: Side, chunks: Vec<Chunk>) {
        let packet = self.forged(side, chunks);
        self.inject(side, address(side.other(), 0), address(side, 0), packet);
    }

    /// The packet that `forge` passes.
    pub(crate) fn forged(&self, side: Side, chunks: Vec<Chunk>) -> SctpPacket {
        let like = self.sent(side.other()).next().expect("a packet of the peer");
        let (src_port, dst_port) = (like.packet.src_port, like.packet.dst_port);
        SctpPacket { src_port, dst_port, tag: self.tag_of(side), udp: None, chunks: chunks.into() }
    }

    /// Lets applications work and packets out, until both hosts rest.
    pub(crate) fn settle(&mut self) {
        let mut count = 0;
        loop {
            let mut any = false;
            for side in [Client, Server] {
                while let Some(transmit) = self.call(side, Stack::poll_transmit) {
                    any = true;
                    count += 1;
                    assert!(count < MAX_PACKETS_AT_ONCE, "live-lock at {}", self.now);
                    self.carry(side, transmit.packet);
                }
                any |= self.events(side);
            }
            if !any {
                break;
            }
        }
    }

    fn carry(&mut self, from: Side, packet: Box<Packet>) {
        assert!(packet.wire_len() <= MTU, "{} bytes: {packet:?}", packet.wire_len());
        let passed = packet.roundtrip().expect("what was emitted");
        assert_eq!(passed, *packet, "the bytes of a packet are the packet");
        let Body::Sctp(sctp) = &passed.body else { return };
        let (src, dst) = (passed.src(), passed.dst());
        let packet = sctp.clone();
        let mut passing = Passing { at: self.now, from, src, dst, packet, dropped: false };
        let fate = self.rule.as_mut().map_or(Fate::Pass, |rule| rule(&passing));
        let route = self.addresses.iter().find(|(address, ..)| *address == dst).copied();
        passing.dropped = fate == Fate::Drop || route.is_none();
        if let (Some((_, to, interface)), false) = (route, passing.dropped) {
            let late = if let Fate::Late(by) = fate { by } else { Duration::ZERO };
            self.count += 1;
            let at = (self.now + DELAY + late, self.count);
            self.arrivals.insert(at, (to, interface, Box::new(passed)));
        }
        self.log.push(passing);
    }

    fn arrive(&mut self, side: Side, interface: usize, packet: Box<Packet>) {
        let interface = InterfaceId(interface as u16);
        let packet = Input::Packet { interface, packet };
        self.call(side, |stack, cx| stack.handle(cx, packet));
    }

    fn events(&mut self, side: Side) -> bool {
        let mut any = false;
        while let Some(event) = self.stack(side).poll_event() {
            any = true;
            let host = &mut self.hosts[side as usize];
            if matches!(event.kind, SocketEventKind::Accepted { .. }) {
                host.socket = Some(event.socket);
            }
            host.events.push(event.kind);
            if event.kind == SocketEventKind::Readable {
                self.receive(side);
            }
        }
        any
    }

    /// The application takes the messages that there are.
    pub(crate) fn receive(&mut self, side: Side) {
        let mut cx = self.cx(side);
        let Some(socket) = self.host(side).socket.filter(|_| !self.host(side).paused) else {
            return;
        };
        while let Some(received) = self.stack(side).receive_message(&mut cx, socket) {
            self.hosts[side as usize].received.push(received);
        }
    }

    fn next_at(&self) -> Option<Instant> {
        let arrival = self.arrivals.first_key_value().map(|((at, _), _)| *at);
        let deadline = self.stacks.iter().filter_map(Stack::poll_deadline).min();
        let next = [arrival, deadline].into_iter().flatten().min();
        next.filter(|next| *next != Instant::FAR_FUTURE)
    }

    /// The next thing until `end`: a packet arrives or a timer expires.
    pub(crate) fn step_until(&mut self, end: Instant) -> bool {
        self.settle();
        let Some(next) = self.next_at().filter(|next| *next <= end) else { return false };
        self.now = self.now.max(next);
        while let Some(((at, _), _)) = self.arrivals.first_key_value()
            && *at <= self.now
            && let Some((_, (side, interface, packet))) = self.arrivals.pop_first()
        {
            self.arrive(side, interface, packet);
            self.settle();
        }
        for side in [Client, Server] {
            self.call(side, |stack, cx| stack.handle(cx, Input::Timeout));
        }
        self.settle();
        true
    }

    /// Lets `span` pass.
    pub(crate) fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        while self.step_until(end) {}
        self.now = end;
        self.settle();
    }

    /// Goes on until `done`, at most for `limit` of virtual time.
    pub(crate) fn run_until(&mut self, what: &str, limit: Duration, done: impl Fn(&Pair) -> bool) {
        let end = self.now + limit;
        while !done(self) {
            assert!(self.step_until(end), "no {what} after {limit}:\n{}", self.describe());
        }
    }

    /// The last packets and events, for the message of a failure.
    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        let all = self.log.iter().filter(|passing| !passing.has(is_heartbeat));
        let last: Vec<&Passing> = all.rev().take(60).collect();
        for Passing { at, from, src, dst, packet, dropped } in last.into_iter().rev() {
            let lost = if *dropped { " (dropped)" } else { "" };
            let chunks: Vec<String> = packet.chunks.iter().map(brief).collect();
            text += &format!("{at} {from:?} {src} > {dst}{lost}: {}\n", chunks.join(", "));
        }
        for host in &self.hosts {
            text += &format!("{:?}, {} messages\n", host.events, host.received.len());
        }
        text
    }
}

fn is_heartbeat(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::Heartbeat(_) | Chunk::HeartbeatAck(_))
}

/// A chunk in a few words.
fn brief(chunk: &Chunk) -> String {
    match chunk {
        Chunk::Data(data) => {
            let Data { tsn, stream, ssn, flags, payload, .. } = data;
            format!("DATA {} {stream}:{} f{} {}", tsn.0, ssn.0, flags.0, payload.len())
        }
        Chunk::IData(data) => {
            let IData { tsn, stream, mid, flags, payload, .. } = data;
            format!("I-DATA {} {stream}:{} f{} {}", tsn.0, mid.0, flags.0, payload.len())
        }
        other => format!("{other:.300?}"),
    }
}
