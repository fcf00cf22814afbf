//! Two stacks joined by several paths, each with its delay, rate of loss and fate of packets.
//!
//! Fails on live-lock (too many steps at one instant) and on silence (data undelivered and
//! nothing left to happen). What is read must be what was written; every packet must fit its
//! interface and survive the wire format.

use base::{Chance, Context, Duration, HostId, Instant, InterfaceId, Purpose, SocketId};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use transport::mptcp::MptcpConfig;
use transport::{
    ConnectionInfo, Input, InterfaceConfig, InterfaceEvent, Protocol, SocketError, SocketEventKind,
    Stack, StackConfig,
};
use wire::{Body, Packet, Payload, TcpSegment};

/// More steps at one instant are taken for a live-lock.
const MAX_STEPS_AT_ONCE: u32 = 50_000;
pub(crate) const PORT: u16 = 80;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    pub(crate) const fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// One path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub delay: Duration,
    /// Probability that a packet is lost, either direction.
    pub loss: f64,
    /// Everything is dropped, silently.
    pub cut: bool,
}

impl Path {
    pub(crate) const fn ms(delay: u64) -> Path {
        Path { delay: Duration::from_millis(delay), loss: 0.0, cut: false }
    }
}

/// What a middlebox makes of a packet; `false`: it is dropped.
pub(crate) type Mangler = Box<dyn FnMut(Side, usize, &mut Packet) -> bool>;

/// What a path does with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Pass,
    Drop,
    /// It arrives later than others by this time.
    Late(Duration),
    /// Another copy arrives later by this time.
    Twice(Duration),
    Damage,
}

/// Decides about packets, by side, path and time.
pub(crate) type Rule = Box<dyn FnMut(Side, usize, Instant) -> Fate>;

#[derive(Default)]
pub(crate) struct End {
    pub socket: Option<SocketId>,
    pub connected: bool,
    pub written: u64,
    pub to_write: u64,
    pub read: Vec<u8>,
    pub ended: bool,
    pub closed: bool,
    pub failed: Option<SocketError>,
    pub shut: bool,
    /// The application does not read.
    pub paused: bool,
    /// It writes no more, but does not close.
    pub hold_open: bool,
    /// Bytes read; `read` has them unless they are virtual.
    pub got: u64,
}

pub(crate) struct Pair {
    pub now: Instant,
    chance: Chance,
    stacks: [Stack; 2],
    pub ends: [End; 2],
    pub paths: Vec<Path>,
    arrivals: BTreeMap<(Instant, u64), (Side, usize, Box<Packet>)>,
    pub sent: u64,
    pub mangle: Option<Mangler>,
    pub rule: Option<Rule>,
    mtu: u32,
    /// Payloads are virtual.
    pub fictive: bool,
    /// Data segments per path that the server sent.
    pub data_packets: Vec<u64>,
    /// Finish each direction when everything was written.
    pub finish: bool,
}

pub(crate) fn address(side: Side, path: usize) -> IpAddr {
    let host = if side == Side::Client { 1 } else { 2 };
    [10, 0, path as u8 + 1, host].into()
}

/// The byte at `offset` of what `side` writes.
pub(crate) fn byte(side: Side, offset: u64) -> u8 {
    (offset.wrapping_mul(2_654_435_761) >> 11) as u8 ^ side as u8
}

impl Pair {
    pub(crate) fn new(paths: &[Path], client: MptcpConfig, server: MptcpConfig) -> Pair {
        Pair::with_seed(paths, client, server, 1)
    }

    pub(crate) fn with_seed(
        paths: &[Path],
        client: MptcpConfig,
        server: MptcpConfig,
        seed: u64,
    ) -> Pair {
        Pair::with_mtu(paths, client, server, seed, 1500)
    }

    pub(crate) fn with_mtu(
        paths: &[Path],
        mut client: MptcpConfig,
        mut server: MptcpConfig,
        seed: u64,
        mtu: u32,
    ) -> Pair {
        // No path leads into another, unless a test requests that.
        client.common_prefix_bits.get_or_insert(24);
        server.common_prefix_bits.get_or_insert(24);
        let stack = |side| {
            let interface = |path| InterfaceConfig { addresses: vec![address(side, path)], mtu };
            Stack::new(StackConfig {
                interfaces: (0..paths.len()).map(interface).collect(),
                ..StackConfig::default()
            })
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
            rule: None,
            mtu,
            fictive: false,
            data_packets: vec![0; paths.len()],
            finish: true,
        };
        pair.stacks[1].listen(PORT, server).expect("a free port");
        let mut cx = Context::quiet(pair.now, pair.chance);
        let remote = SocketAddr::new(address(Side::Server, 0), PORT);
        let local = address(Side::Client, 0);
        let socket = pair.stacks[0].connect(&mut cx, local, remote, &client.into());
        let socket = socket.expect("a configuration that is known");
        pair.ends[0].socket = Some(socket);
        pair
    }

    pub(crate) fn info(&self, side: Side) -> ConnectionInfo {
        self.try_info(side).expect("an MPTCP socket")
    }

    /// Unless there is no connection yet, or it is one of plain TCP.
    pub(crate) fn try_info(&self, side: Side) -> Option<ConnectionInfo> {
        let socket = self.ends[side as usize].socket?;
        let info = self.stacks[side as usize].info(socket)?;
        (info.protocol == Protocol::Mptcp).then_some(info)
    }

    pub(crate) fn stack(&mut self, side: Side) -> &mut Stack {
        &mut self.stacks[side as usize]
    }

    pub(crate) fn cx(&self, side: Side) -> Context<'static> {
        Context::quiet(self.now, self.chance).for_host(HostId(side as u16))
    }

    /// Let applications work and packets out, until both hosts rest.
    pub(crate) fn settle(&mut self) {
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
        let len = packet.wire_len();
        assert!(len <= self.mtu, "{len} bytes with {:?}", tcp(&mut packet).map(|s| &s.options));
        if !self.fictive {
            let passed = packet.roundtrip().expect("what was emitted");
            assert_eq!(passed.wire_len(), packet.wire_len());
        }
        if side == Side::Server && packet.payload_len() > 0 {
            self.data_packets[path] += 1;
        }
        let Path { delay, loss, cut } = self.paths[path];
        let lost = self.chance.happens(loss, path as u64, Purpose::Loss, self.sent);
        let passed = self.mangle.as_mut().is_none_or(|mangle| mangle(side, path, &mut packet));
        let now = self.now;
        let fate = self.rule.as_mut().map_or(Fate::Pass, |rule| rule(side, path, now));
        if cut || lost || !passed || fate == Fate::Drop {
            return;
        }
        let mut at = self.now + delay;
        match fate {
            Fate::Late(by) => at += by,
            Fate::Twice(by) => self.deliver_at(at + by, side.other(), path, packet.clone()),
            Fate::Damage => packet.corrupted = true,
            Fate::Pass | Fate::Drop => {}
        }
        self.deliver_at(at, side.other(), path, packet);
    }

    fn deliver_at(&mut self, at: Instant, side: Side, path: usize, packet: Box<Packet>) {
        self.sent += 1;
        self.arrivals.insert((at, self.sent), (side, path, packet));
    }

    /// Injects a packet of a third host towards `side`.
    pub(crate) fn inject(&mut self, side: Side, path: usize, packet: Packet) {
        self.deliver_at(self.now, side, path, Box::new(packet));
    }

    /// The host notices a change of one of its interfaces.
    pub(crate) fn interface(&mut self, side: Side, path: usize, event: InterfaceEvent) {
        let mut cx = self.cx(side);
        let interface = InterfaceId(path as u16);
        self.stacks[side as usize].handle(&mut cx, Input::Interface { interface, event });
        self.settle();
    }

    /// Something resets every subflow on a path, as one side sees it.
    pub(crate) fn reset(&mut self, side: Side, path: usize) {
        let ends = self.stacks[side as usize].ends_on(InterfaceId(path as u16));
        let mut cx = self.cx(side);
        self.stacks[side as usize].handle(&mut cx, Input::Reset { ends });
        self.settle();
    }

    pub(crate) fn socket(&self, side: Side) -> SocketId {
        self.ends[side as usize].socket.expect("a socket")
    }

    pub(crate) fn abort(&mut self, side: Side) {
        let mut cx = self.cx(side);
        let socket = self.socket(side);
        self.stacks[side as usize].abort(&mut cx, socket).expect("a socket");
        self.settle();
    }

    pub(crate) fn shutdown(&mut self, side: Side) {
        let mut cx = self.cx(side);
        let socket = self.socket(side);
        self.ends[side as usize].shut = true;
        self.stacks[side as usize].shutdown(&mut cx, socket).ok();
        self.settle();
    }

    pub(crate) fn release(&mut self, side: Side) {
        let mut cx = self.cx(side);
        let socket = self.socket(side);
        self.stacks[side as usize].release(&mut cx, socket);
        self.settle();
    }

    /// Go on reading, or stop.
    pub(crate) fn set_reading(&mut self, side: Side, on: bool) {
        self.ends[side as usize].paused = !on;
        if on {
            self.read(side);
        }
        self.settle();
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
                SocketEventKind::Restarted => panic!("MPTCP has no restart"),
                SocketEventKind::SendFailed(_) => panic!("MPTCP has no messages"),
                SocketEventKind::Closed => end.closed = true,
                SocketEventKind::Failed(error) => end.failed = Some(error),
                SocketEventKind::Readable | SocketEventKind::PeerClosed => self.read(side),
                SocketEventKind::Writable => {}
            }
        }
        any
    }

    pub(crate) fn read(&mut self, side: Side) {
        let mut cx = self.cx(side);
        let Some(socket) = self.ends[side as usize].socket else { return };
        if self.ends[side as usize].paused {
            return;
        }
        loop {
            match self.stacks[side as usize].read(&mut cx, socket, 1 << 20) {
                Ok(payload) if payload.is_empty() => return,
                Ok(payload) => {
                    let end = &mut self.ends[side as usize];
                    if self.fictive {
                        end.got = follow(side.other(), end.got, payload);
                        continue;
                    }
                    end.got += u64::from(payload.len());
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

    /// The application of `side` writes `len` bytes in one call, and nothing is sent yet. Returns
    /// how many were taken.
    pub(crate) fn write_at_once(&mut self, side: Side, len: u64) -> u64 {
        let before = self.ends[side as usize].written;
        self.ends[side as usize].to_write += len;
        self.write(side);
        self.ends[side as usize].written - before
    }

    fn write(&mut self, side: Side) -> bool {
        let mut cx = self.cx(side);
        let end = &mut self.ends[side as usize];
        let Some(socket) = end.socket.filter(|_| end.connected && end.failed.is_none()) else {
            return false;
        };
        let left = end.to_write - end.written;
        if left == 0 {
            if self.finish && !end.shut && end.to_write > 0 && !end.hold_open {
                end.shut = true;
                return self.stacks[side as usize].shutdown(&mut cx, socket).is_ok();
            }
            return false;
        }
        let from = end.written;
        let upto = from + left.min(64 << 10);
        let payload = match self.fictive {
            true => Payload::virtual_range(side as u32, from, (upto - from) as u32),
            false => (from..upto).map(|offset| byte(side, offset)).collect::<Vec<u8>>().into(),
        };
        let taken = self.stacks[side as usize].write(&mut cx, socket, &payload).unwrap_or(0);
        self.ends[side as usize].written += u64::from(taken);
        taken > 0
    }

    /// The next thing: a packet arrives or a timer fires. `false`: nothing is left.
    pub(crate) fn step(&mut self) -> bool {
        self.step_until(Instant::FAR_FUTURE)
    }

    /// The next thing, if it happens until `end`. Hosts rest first, which may move it.
    pub(crate) fn step_until(&mut self, end: Instant) -> bool {
        self.settle();
        let Some(next) = self.next_at().filter(|next| *next <= end) else { return false };
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
    pub(crate) fn run_until(&mut self, limit: Duration, done: impl Fn(&Pair) -> bool) {
        let end = self.now + limit;
        let mut steps = 0u64;
        while !done(self) {
            assert!(self.step(), "silence: nothing is left to happen\n{}", self.describe());
            assert!(self.now <= end, "not done after {limit}\n{}", self.describe());
            steps += 1;
            assert!(steps < 20_000_000, "too many steps");
        }
    }

    /// Transfers `up` bytes from client to server and `down` bytes back.
    pub(crate) fn transfer(&mut self, up: u64, down: u64) {
        self.ends[0].to_write = up;
        self.ends[1].to_write = down;
        self.run_until(Duration::from_secs(600), |pair| pair.is_delivered());
    }

    /// Everything that is to be written was read.
    pub(crate) fn is_delivered(&self) -> bool {
        self.ends[1].got == self.ends[0].to_write && self.ends[0].got == self.ends[1].to_write
    }

    /// Both applications know that it is over.
    pub(crate) fn is_closed(&self) -> bool {
        self.ends.iter().all(|end| end.closed && end.ended)
    }

    /// Let both directions end; neither may fail.
    pub(crate) fn close(&mut self) {
        self.run_until(Duration::from_secs(600), Pair::is_closed);
        self.assert_intact();
    }

    /// Neither application was notified of a failure.
    pub(crate) fn assert_intact(&self) {
        for end in &self.ends {
            assert_eq!(end.failed, None, "at {}", self.now);
        }
    }

    /// Runs until `until` is satisfied; fails after `limit`.
    pub(crate) fn expect(&mut self, what: &str, limit: Duration, until: impl Fn(&Pair) -> bool) {
        let end = self.now + limit;
        while !until(self) {
            assert!(self.step() && self.now <= end, "no {what}\n{}", self.describe());
        }
    }

    /// Where both sides are, for a failure's message.
    pub(crate) fn describe(&self) -> String {
        let mut text = format!("at {}", self.now);
        for (end, stack) in self.ends.iter().zip(&self.stacks) {
            let End { written, to_write, got, ended, closed, failed, shut, .. } = end;
            text += &format!(
                "\nwrote {written} of {to_write} (shut {shut}), got {got}, ended {ended}, closed \
                 {closed}, failed {failed:?}"
            );
            let Some(info) = end.socket.and_then(|socket| stack.info(socket)) else {
                continue;
            };
            text += &format!(
                "\n  una {} nxt {} rcv {} held {} refused {} fallback {}",
                info.snd_una,
                info.snd_nxt,
                info.rcv_nxt,
                info.held_bytes,
                info.refused,
                info.fallback,
            );
            for subflow in &info.paths {
                let tcp = &subflow.tcp;
                text += &format!(
                    "\n  {} {}: {:?} cwnd {} sent {} acked {} rto {} wnd {}/{}",
                    subflow.path.0,
                    tcp.state,
                    tcp.ca_state,
                    tcp.cwnd_segs,
                    tcp.bytes_sent,
                    tcp.bytes_acked,
                    tcp.rto,
                    tcp.snd_wnd,
                    tcp.rcv_wnd,
                );
            }
        }
        text
    }

    /// Both sides have this many subflows in use.
    pub(crate) fn await_subflows(&mut self, count: usize) {
        self.expect("subflows", Duration::from_secs(200), |pair| {
            [Side::Client, Side::Server].iter().all(|side| pair.live(*side) == count)
        });
    }

    /// Subflows of a side that are established.
    pub(crate) fn live(&self, side: Side) -> usize {
        let Some(info) = self.try_info(side) else { return 0 };
        info.paths.iter().filter(|subflow| subflow.tcp.state == "ESTABLISHED").count()
    }

    pub(crate) fn next_at(&self) -> Option<Instant> {
        let arrival = self.arrivals.first_key_value().map(|((at, _), _)| *at);
        let deadline = self.stacks.iter().filter_map(Stack::poll_deadline).min();
        let next = [arrival, deadline].into_iter().flatten().min();
        next.filter(|next| *next != Instant::FAR_FUTURE)
    }

    /// Let `span` pass, and not more.
    pub(crate) fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        while self.step_until(end) {}
        self.now = self.now.max(end);
        self.settle();
    }
}

/// Follows a virtual stream from `offset` on; returns where it continues.
fn follow(writer: Side, offset: u64, payload: Payload) -> u64 {
    let mut at = offset;
    for piece in payload.into_pieces() {
        let Some(range) = piece.as_virtual() else { panic!("a real piece at {at}") };
        assert_eq!((range.stream, range.offset), (writer as u32, at));
        at += u64::from(range.len);
    }
    at
}

/// The TCP segment of a packet.
pub(crate) fn tcp(packet: &mut Packet) -> Option<&mut TcpSegment> {
    match &mut packet.body {
        Body::Tcp(segment) => Some(segment),
        _ => None,
    }
}
