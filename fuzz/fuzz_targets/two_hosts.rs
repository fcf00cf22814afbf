//! Two stacks, the packets between them, and applications that write a known pattern.
//!
//! Every byte that is read must be the one at its position of the pattern of the other side, until
//! segments are forged.

use base::{Chance, Context, Duration, HostId, Instant, InterfaceId, SocketId};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use transport::{
    Input, InterfaceConfig, InterfaceEvent, ProtocolConfig, SocketError, SocketEventKind, Stack,
    StackConfig,
};
use wire::{Packet, Payload};

/// The port that both hosts listen on.
pub const PORT: u16 = 80;
/// More expired deadlines at one instant are a live-lock.
const MOST_TIMEOUTS_AT_ONCE: u32 = 2_000;
/// More packets in answer to one input are one, too.
const MOST_ROUNDS: u32 = 20_000;
/// Packets that are remembered as models of forged ones.
const MODELS: usize = 16;

/// What an application does with a socket.
#[derive(Default)]
pub struct Application {
    pub written: u64,
    /// Bytes that wait for room.
    pub waiting: u64,
    pub read: u64,
    pub open: bool,
    pub shutdown: Option<bool>,
    pub ended: bool,
    pub failed: bool,
}

pub struct Host {
    pub stack: Stack,
    pub sockets: BTreeMap<SocketId, Application>,
    pub reading: bool,
    /// The NIC keeps what it is given.
    pub holds: bool,
    below: Vec<(u32, u32)>,
}

/// A packet under way to a host.
pub struct Flying {
    pub to: usize,
    pub interface: InterfaceId,
    pub packet: Packet,
}

pub struct TwoHosts {
    pub now: Instant,
    chance: Chance,
    pub hosts: [Host; 2],
    pub flying: BTreeMap<(Instant, u64), Flying>,
    inserted: u64,
    pub models: VecDeque<(usize, Packet)>,
    /// Segments were forged: streams may hold anything.
    pub forged: bool,
    /// Packets pass through bytes.
    pub bytes: bool,
    timeouts_here: u32,
    ipv6: bool,
}

impl TwoHosts {
    pub fn new(seed: u64, interfaces: u8, ipv6: bool, listeners: [&ProtocolConfig; 2]) -> Self {
        let host = |side: usize| {
            let interface =
                |index| InterfaceConfig { addresses: vec![address(ipv6, index, side)], mtu: 1500 };
            let interfaces = (0..interfaces).map(interface).collect();
            let mut stack = Stack::new(StackConfig { interfaces, ..StackConfig::default() });
            stack.listen(PORT, listeners[side].clone()).expect("the port is free");
            let (sockets, below) = (BTreeMap::new(), Vec::new());
            Host { stack, sockets, reading: true, holds: false, below }
        };
        TwoHosts {
            now: Instant::ZERO,
            chance: Chance::new(seed, 0),
            hosts: [host(0), host(1)],
            flying: BTreeMap::new(),
            inserted: 0,
            models: VecDeque::new(),
            forged: false,
            bytes: false,
            timeouts_here: 0,
            ipv6,
        }
    }

    pub fn address(&self, interface: u8, side: usize) -> IpAddr {
        address(self.ipv6, interface, side)
    }

    pub fn connect(&mut self, side: usize, interface: u8, config: &ProtocolConfig) {
        let local = self.address(interface, side);
        let remote = SocketAddr::new(self.address(interface, 1 - side), PORT);
        let mut cx = context(self.now, self.chance, side);
        let host = &mut self.hosts[side];
        if let Ok(socket) = host.stack.connect(&mut cx, local, remote, config) {
            host.sockets.insert(socket, Application::default());
        }
        self.drain(side);
    }

    /// One input of a host.
    pub fn handle(&mut self, side: usize, input: Input) {
        let mut cx = context(self.now, self.chance, side);
        self.hosts[side].stack.handle(&mut cx, input);
        self.drain(side);
    }

    /// A call of an application on one of its sockets.
    pub fn call(
        &mut self,
        side: usize,
        number: usize,
        call: impl FnOnce(&mut Stack, &mut Context<'_>, SocketId, &mut Application),
    ) {
        let mut cx = context(self.now, self.chance, side);
        let Host { stack, sockets, .. } = &mut self.hosts[side];
        let count = sockets.len().max(1);
        if let Some((socket, application)) = sockets.iter_mut().nth(number % count) {
            call(stack, &mut cx, *socket, application);
        }
        self.act(side);
        self.drain(side);
    }

    /// A packet is under way for `delay`.
    pub fn fly(&mut self, delay: Duration, flying: Flying) {
        self.inserted += 1;
        self.flying.insert((self.now + delay, self.inserted), flying);
    }

    /// When something happens next.
    pub fn next_time(&self) -> Option<Instant> {
        let arrival = self.flying.first_key_value().map(|((at, _), _)| *at);
        let deadlines = self.hosts.iter().filter_map(|host| host.stack.poll_deadline());
        deadlines.chain(arrival).min()
    }

    /// Time passes in which nothing is done.
    pub fn pass(&mut self, until: Instant) {
        self.now = self.now.max(until);
        self.timeouts_here = 0;
    }

    /// Does what is next; `false` if there is nothing.
    pub fn step(&mut self) -> bool {
        let Some(at) = self.next_time() else { return false };
        if at > self.now {
            self.now = at;
            self.timeouts_here = 0;
        }
        if let Some(entry) = self.flying.first_entry()
            && entry.key().0 <= self.now
        {
            let Flying { to, interface, packet } = entry.remove();
            self.handle(to, Input::Packet { interface, packet: packet.into() });
            return true;
        }
        for side in 0..2 {
            if self.hosts[side].stack.poll_deadline().is_some_and(|at| at <= self.now) {
                self.timeouts_here += 1;
                assert!(self.timeouts_here < MOST_TIMEOUTS_AT_ONCE, "live-lock at {}", self.now);
                self.handle(side, Input::Timeout);
            }
        }
        true
    }

    /// All that was asked to be written was read, on every connection.
    pub fn is_delivered(&self) -> bool {
        let sum = |side: usize, of: fn(&Application) -> u64| -> u64 {
            self.hosts[side].sockets.values().map(of).sum()
        };
        (0..2).all(|side| {
            sum(side, |a| a.waiting) == 0 && sum(side, |a| a.written) == sum(1 - side, |a| a.read)
        })
    }

    pub fn has_failed(&self) -> bool {
        self.hosts.iter().any(|host| host.sockets.values().any(|application| application.failed))
    }

    /// Reads and writes as far as possible.
    fn act(&mut self, side: usize) {
        let mut cx = context(self.now, self.chance, side);
        let forged = self.forged;
        let Host { stack, sockets, reading, .. } = &mut self.hosts[side];
        for (socket, application) in sockets.iter_mut() {
            while *reading && !application.ended {
                match stack.read(&mut cx, *socket, 64 << 10) {
                    Ok(payload) if payload.is_empty() => break,
                    Ok(payload) => take(application, payload, 1 - side, forged),
                    Err(SocketError::Closed) => application.ended = true,
                    Err(_) => break,
                }
            }
            while application.open && application.waiting > 0 {
                let most = application.waiting.min(20_000) as u32;
                let payload = pattern(side, application.written, most);
                let len = payload.len();
                let Ok(taken) = stack.write(&mut cx, *socket, &payload) else {
                    application.open = false;
                    break;
                };
                assert!(taken <= len, "more was taken than given");
                application.written += u64::from(taken);
                application.waiting -= u64::from(taken);
                application.open = taken == len;
            }
            if application.shutdown == Some(false) && application.waiting == 0 && application.open {
                application.shutdown = Some(stack.shutdown(&mut cx, *socket).is_ok());
            }
        }
    }

    /// Transmits and events until there are none.
    fn drain(&mut self, side: usize) {
        let mut rounds = 0;
        loop {
            rounds += 1;
            assert!(rounds < MOST_ROUNDS, "a host never stops at {}", self.now);
            let mut cx = context(self.now, self.chance, side);
            let host = &mut self.hosts[side];
            if let Some(transmit) = host.stack.poll_transmit(&mut cx) {
                self.transmit(side, transmit.interface, *transmit.packet);
            } else if let Some(event) = host.stack.poll_event() {
                self.on_event(side, event.socket, event.kind);
            } else if !host.holds && !host.below.is_empty() {
                for (flow, bytes) in std::mem::take(&mut host.below) {
                    host.stack.handle(&mut cx, Input::Departed { flow, bytes });
                }
            } else {
                return;
            }
        }
    }

    fn transmit(&mut self, from: usize, interface: InterfaceId, packet: Packet) {
        self.hosts[from].below.push((packet.flow, packet.wire_len()));
        if self.bytes {
            let flow = packet.flow;
            assert_eq!(
                packet.roundtrip().map(|packet| Packet { flow, ..packet }),
                Ok(packet.clone())
            );
        }
        assert!(packet.wire_len() <= 1500, "a packet of {} bytes", packet.wire_len());
        if self.models.len() == MODELS {
            self.models.pop_front();
        }
        self.models.push_back((1 - from, packet.clone()));
        self.fly(delay(interface), Flying { to: 1 - from, interface, packet });
    }

    fn on_event(&mut self, side: usize, socket: SocketId, kind: SocketEventKind) {
        let sockets = &mut self.hosts[side].sockets;
        if matches!(kind, SocketEventKind::Accepted { .. }) {
            sockets.insert(socket, Application::default());
        }
        let Some(application) = sockets.get_mut(&socket) else { return };
        match kind {
            SocketEventKind::Connected
            | SocketEventKind::Accepted { .. }
            | SocketEventKind::Writable => application.open = true,
            SocketEventKind::Failed(_) => application.failed = true,
            _ => {}
        }
        self.act(side);
    }

    /// An interface changes.
    pub fn interface(&mut self, side: usize, interface: InterfaceId, event: InterfaceEvent) {
        self.handle(side, Input::Interface { interface, event });
    }
}

fn context(now: Instant, chance: Chance, side: usize) -> Context<'static> {
    Context::quiet(now, chance).for_host(HostId(side as u16))
}

/// One way; paths differ.
fn delay(interface: InterfaceId) -> Duration {
    Duration::from_millis(5 + 20 * u64::from(interface.0))
}

fn address(ipv6: bool, interface: u8, side: usize) -> IpAddr {
    let host = 1 + side as u8;
    if ipv6 {
        return Ipv6Addr::new(0xFD00, 0, 0, interface.into(), 0, 0, 0, host.into()).into();
    }
    Ipv4Addr::new(10, 0, interface, host).into()
}

/// What a side writes at a position: real bytes, every fourth block of 4096 virtual ones.
fn pattern(side: usize, from: u64, len: u32) -> Payload {
    let block = from >> 12;
    let end = (from + u64::from(len)).min((block + 1) << 12);
    if block % 4 == 3 {
        return Payload::virtual_range(side as u32 + 1, from, (end - from) as u32);
    }
    let bytes: Vec<u8> = (from..end).map(|at| byte(side, at)).collect();
    bytes.into()
}

fn byte(side: usize, at: u64) -> u8 {
    let mixed = (at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    mixed as u8 ^ (at >> 8) as u8 ^ (side as u8 * 0x55)
}

/// Checks what was read against the pattern of `writer`.
fn take(application: &mut Application, payload: Payload, writer: usize, forged: bool) {
    for piece in payload.into_pieces() {
        let (from, len) = (application.read, piece.len());
        application.read += u64::from(len);
        if forged {
            continue;
        }
        if let Some(range) = piece.as_virtual() {
            assert_eq!((range.stream, range.offset), (writer as u32 + 1, from), "virtual bytes");
            continue;
        }
        let mut bytes = Vec::new();
        piece.write_to(&mut bytes);
        let wrong = bytes.iter().zip(from..).find(|(found, at)| **found != byte(writer, *at));
        assert_eq!(wrong, None, "the first wrong byte and its position");
    }
}
