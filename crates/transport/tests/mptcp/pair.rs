//! Two stacks joined by several paths, each with its delay, rate of loss and fate of packets.
//!
//! Fails on live-lock (too many steps at one instant) and on silence (data undelivered and
//! nothing left to happen). What is read must be what was written.

use base::{Chance, Context, Duration, HostId, Instant, InterfaceId, Purpose, SocketId};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use transport::mptcp::{MptcpConfig, MptcpInfo};
use transport::{Input, InterfaceConfig, SocketError, SocketEventKind, Stack, StackConfig};
use wire::{Body, Packet, Payload, TcpSegment};

/// More steps at one instant are taken for a live-lock.
const MAX_STEPS_AT_ONCE: u32 = 50_000;
pub const PORT: u16 = 80;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Client,
    Server,
}

impl Side {
    pub const fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// One path.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    pub delay: Duration,
    /// Probability that a packet is lost, either direction.
    pub loss: f64,
    /// Everything is dropped, silently.
    pub cut: bool,
}

impl Path {
    pub const fn ms(delay: u64) -> Path {
        Path { delay: Duration::from_millis(delay), loss: 0.0, cut: false }
    }
}

/// What a middlebox makes of a packet; `false`: it is dropped.
pub type Mangler = Box<dyn FnMut(Side, usize, &mut Packet) -> bool>;

#[derive(Default)]
pub struct End {
    pub socket: Option<SocketId>,
    pub connected: bool,
    pub written: u64,
    pub to_write: u64,
    pub read: Vec<u8>,
    pub ended: bool,
    pub closed: bool,
    pub failed: Option<SocketError>,
    pub shut: bool,
}

pub struct Pair {
    pub now: Instant,
    chance: Chance,
    stacks: [Stack; 2],
    pub ends: [End; 2],
    pub paths: Vec<Path>,
    arrivals: BTreeMap<(Instant, u64), (Side, usize, Box<Packet>)>,
    sent: u64,
    pub mangle: Option<Mangler>,
    /// Data segments per path that the server sent.
    pub data_packets: Vec<u64>,
    /// Finish each direction when everything was written.
    pub finish: bool,
}

pub fn address(side: Side, path: usize) -> IpAddr {
    let host = if side == Side::Client { 1 } else { 2 };
    [10, 0, path as u8 + 1, host].into()
}

/// The byte at `offset` of what `side` writes.
pub fn byte(side: Side, offset: u64) -> u8 {
    (offset.wrapping_mul(2_654_435_761) >> 11) as u8 ^ side as u8
}

impl Pair {
    pub fn new(paths: &[Path], client: MptcpConfig, server: MptcpConfig) -> Pair {
        Pair::with_seed(paths, client, server, 1)
    }

    pub fn with_seed(
        paths: &[Path],
        mut client: MptcpConfig,
        mut server: MptcpConfig,
        seed: u64,
    ) -> Pair {
        client.common_prefix_bits = Some(24);
        server.common_prefix_bits = Some(24);
        let stack = |side| {
            let interface =
                |path| InterfaceConfig { addresses: vec![address(side, path)], mtu: 1500 };
            Stack::new(StackConfig { interfaces: (0..paths.len()).map(interface).collect() })
        };
        let mut pair = Pair {
            now: Instant::ZERO,
            chance: Chance::new(seed, 0),
            stacks: [stack(Side::Client), stack(Side::Server)],
            ends: [End::default(), End::default()],
            paths: paths.to_vec(),
            arrivals: BTreeMap::new(),
            sent: 0,
            mangle: None,
            data_packets: vec![0; paths.len()],
            finish: true,
        };
        pair.stacks[1].listen_mptcp(PORT, server).unwrap();
        let mut cx = Context::quiet(pair.now, pair.chance);
        let remote = SocketAddr::new(address(Side::Server, 0), PORT);
        let local = address(Side::Client, 0);
        let socket = pair.stacks[0].connect_mptcp(&mut cx, local, remote, &client).unwrap();
        pair.ends[0].socket = Some(socket);
        pair
    }

    pub fn info(&self, side: Side) -> MptcpInfo {
        let socket = self.ends[side as usize].socket.expect("a socket");
        self.stacks[side as usize].mptcp_info(socket).expect("an MPTCP socket")
    }

    pub fn stack(&mut self, side: Side) -> &mut Stack {
        &mut self.stacks[side as usize]
    }

    pub fn cx(&self, side: Side) -> Context<'static> {
        Context::quiet(self.now, self.chance).for_host(HostId(side as u16))
    }

    /// Let applications work and packets out, until both hosts rest.
    pub fn settle(&mut self) {
        for side in [Side::Client, Side::Server] {
            let mut steps = 0;
            loop {
                steps += 1;
                assert!(steps < MAX_STEPS_AT_ONCE, "live-lock at {}", self.now);
                let transmitted = self.transmit(side);
                let events = self.events(side);
                let written = self.write(side);
                if !transmitted && !events && !written {
                    break;
                }
            }
        }
    }

    fn transmit(&mut self, side: Side) -> bool {
        let mut cx = self.cx(side);
        let mut any = false;
        let mut count = 0;
        while let Some(transmit) = self.stacks[side as usize].poll_transmit(&mut cx) {
            any = true;
            count += 1;
            assert!(count < MAX_STEPS_AT_ONCE, "endless transmission at {}", self.now);
            let (flow, bytes) = (transmit.packet.flow, transmit.packet.wire_len());
            self.send(side, transmit.interface.index(), transmit.packet);
            self.stacks[side as usize].handle(&mut cx, Input::Departed { flow, bytes });
        }
        any
    }

    fn send(&mut self, side: Side, path: usize, mut packet: Box<Packet>) {
        self.sent += 1;
        if side == Side::Server && packet.payload_len() > 0 {
            self.data_packets[path] += 1;
        }
        let Path { delay, loss, cut } = self.paths[path];
        let lost = self.chance.happens(loss, path as u64, Purpose::Loss, self.sent);
        let passed = self.mangle.as_mut().is_none_or(|mangle| mangle(side, path, &mut packet));
        if cut || lost || !passed {
            return;
        }
        self.arrivals.insert((self.now + delay, self.sent), (side.other(), path, packet));
    }

    fn events(&mut self, side: Side) -> bool {
        let mut any = false;
        while let Some(event) = self.stacks[side as usize].poll_event() {
            any = true;
            let end = &mut self.ends[side as usize];
            match event.kind {
                SocketEventKind::Accepted { .. } => {
                    end.socket = Some(event.socket);
                    end.connected = true;
                }
                SocketEventKind::Connected => end.connected = true,
                SocketEventKind::Closed => end.closed = true,
                SocketEventKind::Failed(error) => end.failed = Some(error),
                SocketEventKind::Readable | SocketEventKind::PeerClosed => self.read(side),
                SocketEventKind::Writable => {}
            }
        }
        any
    }

    pub fn read(&mut self, side: Side) {
        let mut cx = self.cx(side);
        let Some(socket) = self.ends[side as usize].socket else { return };
        loop {
            match self.stacks[side as usize].read(&mut cx, socket, 1 << 20) {
                Ok(payload) if payload.is_empty() => return,
                Ok(payload) => {
                    let end = &mut self.ends[side as usize];
                    for read in payload.to_bytes() {
                        let expected = byte(side.other(), end.read.len() as u64);
                        assert_eq!(read, expected, "byte {} of {side:?}", end.read.len());
                        end.read.push(read);
                    }
                }
                Err(_) => {
                    self.ends[side as usize].ended = true;
                    return;
                }
            }
        }
    }

    fn write(&mut self, side: Side) -> bool {
        let mut cx = self.cx(side);
        let end = &mut self.ends[side as usize];
        let Some(socket) = end.socket.filter(|_| end.connected && end.failed.is_none()) else {
            return false;
        };
        let left = end.to_write - end.written;
        if left == 0 {
            if self.finish && !end.shut && end.to_write > 0 {
                end.shut = true;
                return self.stacks[side as usize].shutdown(&mut cx, socket).is_ok();
            }
            return false;
        }
        let from = end.written;
        let bytes: Vec<u8> =
            (from..from + left.min(64 << 10)).map(|offset| byte(side, offset)).collect();
        let payload = Payload::from(bytes);
        let taken = self.stacks[side as usize].write(&mut cx, socket, &payload).unwrap_or(0);
        self.ends[side as usize].written += u64::from(taken);
        taken > 0
    }

    /// The next thing: a packet arrives or a timer fires. `false`: nothing is left.
    pub fn step(&mut self) -> bool {
        self.settle();
        let arrival = self.arrivals.first_key_value().map(|((at, _), _)| *at);
        let deadline = self.stacks.iter().filter_map(Stack::poll_deadline).min();
        let next = [arrival, deadline].into_iter().flatten().min();
        let Some(next) = next.filter(|next| *next != Instant::FAR_FUTURE) else { return false };
        self.now = self.now.max(next);
        while let Some(((at, _), _)) = self.arrivals.first_key_value()
            && *at <= self.now
        {
            let Some((_, (side, path, packet))) = self.arrivals.pop_first() else { break };
            let mut cx = self.cx(side);
            let interface = InterfaceId(path as u16);
            self.stacks[side as usize].handle(&mut cx, Input::Packet { interface, packet });
            self.settle();
        }
        for side in [Side::Client, Side::Server] {
            let mut cx = self.cx(side);
            self.stacks[side as usize].handle(&mut cx, Input::Timeout);
        }
        self.settle();
        true
    }

    /// Go on until `done`, at most for `limit` of virtual time.
    pub fn run_until(&mut self, limit: Duration, done: impl Fn(&Pair) -> bool) {
        let end = self.now + limit;
        let mut steps = 0u64;
        while !done(self) {
            assert!(self.step(), "silence at {}: nothing is left to happen", self.now);
            assert!(self.now <= end, "not done after {limit}, at {}", self.now);
            steps += 1;
            assert!(steps < 20_000_000, "too many steps");
        }
    }

    /// Transfer so many bytes from client to server and back.
    pub fn transfer(&mut self, up: u64, down: u64) {
        self.ends[0].to_write = up;
        self.ends[1].to_write = down;
        self.run_until(Duration::from_secs(600), |pair| {
            pair.ends[1].read.len() as u64 == up && pair.ends[0].read.len() as u64 == down
        });
    }

    /// Let `span` pass.
    pub fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end && self.step() {}
    }
}

/// The TCP segment of a packet.
pub fn tcp(packet: &mut Packet) -> Option<&mut TcpSegment> {
    match &mut packet.body {
        Body::Tcp(segment) => Some(segment),
        _ => None,
    }
}
