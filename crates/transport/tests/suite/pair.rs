//! The test pair: two stacks in memory, virtual time, and a programmable fate for every packet.
//!
//! `step` does the next thing, `drive` goes on until nothing is left to do, `drive_bounded` until
//! all written data are read. Live-lock (too many steps at one instant) and silence (data
//! undelivered and no deadline) fail the test, and so does a packet that acknowledges what was
//! never sent or takes window back (`witness`). Fates are in `fate`, applications in `end`.

use crate::end::{End, tcp_info};
use crate::fate::{Fate, Logged, Rule, Sight};
pub(crate) use crate::setup::Setup;
use crate::witness::Witness;
use base::{
    Chance, Context, Duration, Event, EventMask, HostId, Instant, InterfaceId, Recorder, SocketId,
};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use transport::{
    Input, InterfaceConfig, InterfaceEvent, Stack, StackConfig, TcpConfig, TcpInfo, Transmit,
};
use wire::{Body, Packet, Payload, TcpSegment};

/// More steps at one instant are taken for a live-lock: the largest windows here hold fewer.
const MAX_STEPS_AT_ONCE: u32 = 20_000;
/// The port servers listen on.
pub(crate) const PORT: u16 = 80;

/// One of the two hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    pub(crate) const BOTH: [Side; 2] = [Side::Client, Side::Server];

    pub(crate) const fn index(self) -> usize {
        self as usize
    }

    pub(crate) const fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

struct Arrival {
    to: Side,
    interface: InterfaceId,
    packet: Packet,
}

/// Remembers the engine's events.
pub(crate) struct Tape {
    pub mask: EventMask,
    pub events: Vec<(Instant, HostId, Event)>,
}

impl Recorder for Tape {
    fn mask(&self) -> EventMask {
        self.mask
    }

    fn record(&mut self, now: Instant, host: HostId, event: &Event) {
        self.events.push((now, host, event.clone()));
    }
}

/// Changes packets on their way, as a middlebox would.
pub(crate) type Mangler = Box<dyn FnMut(Side, &mut Packet)>;

/// Two hosts and the network between them.
pub(crate) struct Pair {
    pub now: Instant,
    pub chance: Chance,
    ends: [End; 2],
    /// One-way delay of what each side sends.
    pub delay: [Duration; 2],
    arrivals: BTreeMap<(Instant, u64), Arrival>,
    inserted: u64,
    counts: [u64; 2],
    rules: Vec<Rule>,
    pub mangle: Option<Mangler>,
    /// Directions that hold everything back.
    stopped: [bool; 2],
    held: [Vec<Arrival>; 2],
    /// Sides whose NIC keeps what it is given (no departure notices).
    pub nic_holds: [bool; 2],
    below: [Vec<(u32, u32)>; 2],
    pub keep_log: bool,
    pub log: Vec<Logged>,
    pub tape: Tape,
    witness: Witness,
    /// Segments were forged: what is acknowledged need not have been sent.
    pub forgives: bool,
    steps_here: u32,
    client_config: TcpConfig,
    ipv6: bool,
}

impl Pair {
    /// Two hosts; the server listens.
    pub(crate) fn new(setup: &Setup) -> Pair {
        let stack = |side| {
            let interface = |index| InterfaceConfig {
                addresses: vec![address(setup.ipv6, index, side)],
                mtu: setup.mtu,
            };
            let interfaces = (0..setup.interfaces).map(interface).collect();
            End::new(Stack::new(StackConfig { interfaces, ..StackConfig::default() }))
        };
        let mut pair = Pair {
            now: Instant::ZERO,
            chance: Chance::new(setup.seed, 0),
            ends: [stack(Side::Client), stack(Side::Server)],
            delay: [setup.delay; 2],
            arrivals: BTreeMap::new(),
            inserted: 0,
            counts: [0; 2],
            rules: Vec::new(),
            mangle: None,
            stopped: [false; 2],
            held: [Vec::new(), Vec::new()],
            nic_holds: [false; 2],
            below: [Vec::new(), Vec::new()],
            keep_log: true,
            log: Vec::new(),
            tape: Tape { mask: EventMask::TIMER, events: Vec::new() },
            witness: Witness::default(),
            forgives: false,
            steps_here: 0,
            client_config: setup.client.clone(),
            ipv6: setup.ipv6,
        };
        pair.end_mut(Side::Server).stack.listen(PORT, setup.server.clone()).unwrap();
        pair
    }

    pub(crate) fn end(&self, side: Side) -> &End {
        &self.ends[side.index()]
    }

    pub(crate) fn end_mut(&mut self, side: Side) -> &mut End {
        &mut self.ends[side.index()]
    }

    /// Address of a side's interface.
    pub(crate) fn address(&self, interface: u8, side: Side) -> IpAddr {
        address(self.ipv6, interface, side)
    }

    /// Call into one side with the present context, then let it send.
    pub(crate) fn with<R>(
        &mut self,
        side: Side,
        call: impl FnOnce(&mut End, &mut Context<'_>) -> R,
    ) -> R {
        let host = HostId(side.index() as u16);
        let mut cx = Context::recording(self.now, self.chance, &mut self.tape).for_host(host);
        let result = call(&mut self.ends[side.index()], &mut cx);
        self.drain(side);
        result
    }

    /// The client connects to the server's port over an interface.
    pub(crate) fn connect(&mut self, interface: u8) -> SocketId {
        self.connect_to(Side::Client, interface, PORT)
    }

    /// One side connects to a port of the other.
    pub(crate) fn connect_to(&mut self, side: Side, interface: u8, port: u16) -> SocketId {
        let local = self.address(interface, side);
        let remote = SocketAddr::new(self.address(interface, side.other()), port);
        let config = self.client_config.clone().into();
        self.with(side, |end, cx| {
            let socket = end.stack.connect(cx, local, remote, &config).unwrap();
            end.socket.get_or_insert(socket);
            socket
        })
    }

    /// Have `side` write `len` real bytes of its pattern.
    pub(crate) fn write(&mut self, side: Side, len: u32) {
        let from = self.end(side).asked;
        let bytes: Vec<u8> = (from..from + u64::from(len)).map(|at| pattern(side, at)).collect();
        self.write_payload(side, bytes.into());
    }

    /// Have `side` write `len` bytes of virtual stream 1.
    pub(crate) fn write_virtual(&mut self, side: Side, len: u32) {
        let from = self.end(side).asked;
        self.write_payload(side, Payload::virtual_range(1, from, len));
    }

    fn write_payload(&mut self, side: Side, payload: Payload) {
        self.with(side, |end, cx| {
            end.queue(payload);
            end.act(cx);
        });
    }

    /// Have `side` close its sending direction after what it has to write.
    pub(crate) fn shutdown(&mut self, side: Side) {
        self.with(side, |end, cx| {
            end.queue_shutdown();
            end.act(cx);
        });
    }

    /// Reading stops, or continues.
    pub(crate) fn set_reading(&mut self, side: Side, reading: bool) {
        self.with(side, |end, cx| {
            end.reading = reading;
            end.act(cx);
        });
    }

    /// The state of a side's connection, RFC 9293's name; "-" without one.
    pub(crate) fn state(&self, side: Side) -> &'static str {
        let end = self.end(side);
        let info = end.socket.and_then(|socket| tcp_info(&end.stack, socket));
        info.map_or("-", |info| info.state)
    }

    pub(crate) fn info(&self, side: Side) -> TcpInfo {
        let end = self.end(side);
        tcp_info(&end.stack, end.socket.unwrap()).unwrap()
    }

    /// Adds a rule for the fates of packets.
    pub(crate) fn rule(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    /// Forget all rules.
    pub(crate) fn calm(&mut self) {
        self.rules.clear();
        Side::BOTH.into_iter().for_each(|side| self.resume(side));
    }

    /// Hold back what `from` sends.
    pub(crate) fn stop(&mut self, from: Side) {
        self.stopped[from.index()] = true;
    }

    /// Let go what was held back.
    pub(crate) fn resume(&mut self, from: Side) {
        self.stopped[from.index()] = false;
        for arrival in std::mem::take(&mut self.held[from.index()]) {
            self.insert(Duration::ZERO, arrival);
        }
    }

    /// Everything in a side's NIC leaves it.
    pub(crate) fn release_nic(&mut self, side: Side) {
        for (flow, bytes) in std::mem::take(&mut self.below[side.index()]) {
            self.with(side, |end, cx| end.stack.handle(cx, Input::Departed { flow, bytes }));
        }
    }

    /// IP bytes in a side's NIC.
    pub(crate) fn nic_bytes(&self, side: Side) -> u32 {
        self.below[side.index()].iter().map(|(_, bytes)| bytes).sum()
    }

    /// A packet arrives at `to` now, wherever it came from.
    pub(crate) fn inject(&mut self, to: Side, packet: Packet) {
        let interface = InterfaceId(0);
        self.with(to, |end, cx| {
            end.stack.handle(cx, Input::Packet { interface, packet: packet.into() })
        });
    }

    /// A side notices a change of its first interface.
    pub(crate) fn interface(&mut self, side: Side, event: InterfaceEvent) {
        let interface = InterfaceId(0);
        self.with(side, |end, cx| end.stack.handle(cx, Input::Interface { interface, event }));
    }

    /// When something happens next.
    pub(crate) fn next_time(&self) -> Option<Instant> {
        let arrival = self.arrivals.first_key_value().map(|((at, _), _)| *at);
        let deadlines = self.ends.iter().filter_map(|end| end.stack.poll_deadline());
        deadlines.chain(arrival).min()
    }

    /// Do what is next. `false` if there is nothing.
    pub(crate) fn step(&mut self) -> bool {
        let Some(at) = self.next_time() else { return false };
        if at > self.now {
            self.now = at;
            self.steps_here = 0;
        }
        self.steps_here += 1;
        assert!(self.steps_here < MAX_STEPS_AT_ONCE, "live-lock at {}", self.describe());
        if let Some(entry) = self.arrivals.first_entry()
            && entry.key().0 <= self.now
        {
            let Arrival { to, interface, packet } = entry.remove();
            self.with(to, |end, cx| {
                end.stack.handle(cx, Input::Packet { interface, packet: packet.into() })
            });
            return true;
        }
        for side in Side::BOTH {
            if self.end(side).stack.poll_deadline().is_some_and(|at| at <= self.now) {
                self.with(side, |end, cx| end.stack.handle(cx, Input::Timeout));
            }
        }
        true
    }

    /// Until nothing is left to do; TIME-WAIT is over then.
    pub(crate) fn drive(&mut self) {
        while self.step() {}
    }

    /// Until `span` has passed.
    pub(crate) fn drive_for(&mut self, span: Duration) {
        let end = self.now + span;
        while self.next_time().is_some_and(|at| at <= end) {
            self.step();
        }
        self.now = end;
        self.steps_here = 0;
    }

    /// Until all that was asked to be written is read and all closing is done.
    pub(crate) fn drive_bounded(&mut self, limit: Duration) {
        self.run_until("delivery", limit, Pair::is_delivered);
    }

    /// Until `done`. Fails after `limit`, and on silence.
    pub(crate) fn run_until(&mut self, what: &str, limit: Duration, done: impl Fn(&Pair) -> bool) {
        let end = self.now + limit;
        while !done(self) {
            assert!(self.step(), "silence while waiting for {what}: {}", self.describe());
            assert!(self.now <= end, "{what} took too long: {}", self.describe());
        }
    }

    /// All data written are read, and ends of streams are seen.
    pub(crate) fn is_delivered(&self) -> bool {
        Side::BOTH.iter().all(|side| {
            let (writer, reader) = (self.end(*side), self.end(side.other()));
            writer.is_idle()
                && reader.received == writer.asked
                && (!writer.is_shut() || reader.ended)
        })
    }

    /// What was read is exactly what was written, so far as it was read.
    pub(crate) fn assert_intact(&self) {
        for side in Side::BOTH {
            let reader = self.end(side);
            let from = side.other();
            let wrong =
                reader.bytes.iter().zip(0..).find(|(byte, at)| **byte != pattern(from, *at));
            assert_eq!(wrong, None, "first wrong byte and position read by {side:?}");
            assert!(reader.received <= self.end(from).asked, "{side:?} read more than was written");
        }
    }

    /// The timers that fired at a side, with their times.
    pub(crate) fn timers(&self, side: Side) -> Vec<(Instant, &'static str)> {
        let events = self.tape.events.iter().filter(|(_, host, _)| host.index() == side.index());
        events
            .filter_map(|(at, _, event)| match event {
                Event::TimerFired { timer, .. } => Some((*at, *timer)),
                _ => None,
            })
            .collect()
    }

    /// Names of the timers that fired at a side, delayed acknowledgements not among them.
    pub(crate) fn timer_names(&self, side: Side) -> Vec<&'static str> {
        self.timers(side).into_iter().map(|(_, name)| name).collect()
    }

    /// Segments with payload that `from` sent.
    pub(crate) fn data_sent(&self, from: Side) -> Vec<&Logged> {
        self.log.iter().filter(|sent| sent.from == from && sent.len() > 0).collect()
    }

    /// Segments with payload whose first byte had been sent before.
    pub(crate) fn retransmissions(&self, from: Side) -> Vec<&Logged> {
        let mut next = 0;
        let data = self.data_sent(from).into_iter();
        data.filter(|sent| {
            let again = sent.offset < next;
            next = next.max(sent.offset + i64::from(sent.len()));
            again
        })
        .collect()
    }

    fn describe(&self) -> String {
        let one = |side: Side| {
            let end = self.end(side);
            let info = end.socket.and_then(|socket| tcp_info(&end.stack, socket));
            format!(
                "{side:?}: {} of {} read by the other, failure {:?}, {info:?}",
                self.end(side.other()).received,
                end.asked,
                end.failure(),
            )
        };
        format!("{}\n  {}\n  {}", self.now, one(Side::Client), one(Side::Server))
    }

    /// Habit 8: transmit until none, events until none.
    fn drain(&mut self, side: Side) {
        let host = HostId(side.index() as u16);
        loop {
            let mut cx = Context::recording(self.now, self.chance, &mut self.tape).for_host(host);
            let end = &mut self.ends[side.index()];
            if let Some(transmit) = end.stack.poll_transmit(&mut cx) {
                self.dispatch(side, transmit);
            } else if let Some(event) = end.stack.poll_event() {
                end.on_event(&mut cx, event);
            } else if !self.nic_holds[side.index()] && !self.below[side.index()].is_empty() {
                for (flow, bytes) in std::mem::take(&mut self.below[side.index()]) {
                    end.stack.handle(&mut cx, Input::Departed { flow, bytes });
                }
            } else {
                return;
            }
        }
    }

    fn dispatch(&mut self, from: Side, transmit: Transmit) {
        let (interface, mut packet) = (transmit.interface, *transmit.packet);
        self.below[from.index()].push((packet.flow, packet.wire_len()));
        self.counts[from.index()] += 1;
        if let Some(mangle) = &mut self.mangle {
            mangle(from, &mut packet);
        }
        let n = self.counts[from.index()];
        let sight = Sight { from, n, now: self.now, packet: &packet };
        let fates = self.rules.iter_mut().map(|rule| rule(&sight));
        // Every rule sees every packet, so that those that count stay right.
        let fate =
            fates.fold(Fate::Pass, |so_far, fate| if so_far == Fate::Pass { fate } else { so_far });
        if let Body::Tcp(segment) = &packet.body {
            self.witness(from, fate, segment);
        }
        let mut arrival = Arrival { to: from.other(), interface, packet };
        let copy = || Arrival { packet: arrival.packet.clone(), ..arrival };
        match fate {
            Fate::Pass => self.insert(Duration::ZERO, arrival),
            Fate::Drop => {}
            Fate::Late(by) => self.insert(by, arrival),
            Fate::Twice(by) => {
                let twin = copy();
                self.insert(Duration::ZERO, arrival);
                self.insert(by, twin);
            }
            Fate::Damage => {
                arrival.packet.corrupted = true;
                self.insert(Duration::ZERO, arrival);
            }
        }
    }

    fn insert(&mut self, extra: Duration, arrival: Arrival) {
        let from = arrival.to.other().index();
        if self.stopped[from] {
            self.held[from].push(arrival);
            return;
        }
        self.inserted += 1;
        self.arrivals.insert((self.now + self.delay[from] + extra, self.inserted), arrival);
    }

    /// Hold a segment against what both sides sent before, and log it.
    fn witness(&mut self, from: Side, fate: Fate, segment: &TcpSegment) {
        let offset = if self.forgives { 0 } else { self.witness.observe(from, segment) };
        if self.keep_log {
            let segment = segment.clone();
            self.log.push(Logged { at: self.now, from, fate, offset, segment });
        }
    }
}

fn address(ipv6: bool, interface: u8, side: Side) -> IpAddr {
    let host = 1 + side.index() as u8;
    if ipv6 {
        return Ipv6Addr::new(0xFD00, 0, 0, interface.into(), 0, 0, 0, host.into()).into();
    }
    Ipv4Addr::new(10, 0, interface, host).into()
}

/// The byte at a position of what a side writes: different everywhere, so that a byte out of
/// place shows.
pub(crate) fn pattern(side: Side, at: u64) -> u8 {
    let mixed = (at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    mixed as u8 ^ (at >> 8) as u8 ^ (side.index() as u8 * 0x55)
}
