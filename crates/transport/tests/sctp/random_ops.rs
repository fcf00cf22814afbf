//! Random operations on an association with one to three paths, of SCTP or CMT-SCTP.
//!
//! Messages are sent in both directions, abandoned, lost and late, streams are reset and added,
//! paths fail and take smaller packets, addresses leave and return, readers pause. Reliable
//! messages arrive once and in the order of their streams, the others arrive or are reported, no
//! association fails, and it ends. `PROPTEST_CASES=20000` makes a long run.

use crate::pair::{Client, Fate, Pair, Passing, Server, Side, address, config, message};
use base::{Duration, Instant};
use proptest::prelude::*;
use std::cell::Cell;
use std::net::IpAddr;
use std::rc::Rc;
use transport::InterfaceEvent;
use transport::SocketEventKind;
use transport::sctp::cmt::{
    Algorithms, BufferBasis, BufferSplit, CmtConfig, CucRule, PathMode, Rescheduling, SackPath,
    SendAllKey, Sides, Smart,
};
use transport::sctp::streams::{Message, Reliability, StreamOrder};
use transport::sctp::{SctpConfig, StreamChange};
use wire::Payload;
use wire::sctp::Features;

const PATHS: usize = 3;
const STREAMS: u16 = 4;

/// One thing that happens.
#[derive(Clone, Debug)]
enum Op {
    Send {
        side: Side,
        stream: u16,
        len: usize,
        unordered: bool,
        reliability: Reliability,
    },
    Advance(u64),
    /// The next packets that a side sends on a path are late by this number of milliseconds, or
    /// lost.
    Next(Side, usize, Option<u64>, u32),
    /// A path goes silent, or returns.
    Cut(usize, bool),
    /// The client's interface goes up or down; it is noticed.
    Interface(usize, bool),
    /// The client's last address returns or leaves.
    Address(bool),
    /// The application of a side pauses or goes on reading.
    Reading(Side, bool),
    /// A router says that the path of the last data of a side takes smaller packets only.
    Smaller(Side, u16),
    /// A side requests one of `stream_change`.
    Change(Side, u8),
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Client), Just(Server)]
}

fn reliability() -> impl Strategy<Value = Reliability> {
    let lifetime = |ms| Reliability::Lifetime(Instant::from_millis(1100 + ms));
    prop_oneof![
        3 => Just(Reliability::Full),
        1 => (0..3u32).prop_map(Reliability::Retransmissions),
        1 => (0..3000u64).prop_map(lifetime),
        1 => (0..3u32).prop_map(Reliability::Priority),
    ]
}

fn send() -> impl Strategy<Value = Op> {
    let len = prop_oneof![2..60usize, 1000..1600usize, 2..6000usize];
    (side(), 0..STREAMS, len, any::<bool>(), reliability()).prop_map(
        |(side, stream, len, unordered, reliability)| Op::Send {
            side,
            stream,
            len,
            unordered,
            reliability,
        },
    )
}

/// Packets are late by less than `latest` milliseconds, and the first `changes` stream changes are
/// requested.
fn op(latest: u64, changes: u8) -> impl Strategy<Value = Op> {
    let next = (side(), 0..PATHS, prop::option::of(1..latest), 1..6u32);
    let mtu = prop_oneof![Just(0), 20..600u16, 576..1500u16];
    prop_oneof![
        8 => send(),
        5 => (0..700u64).prop_map(Op::Advance),
        3 => next.prop_map(|(side, path, late, count)| Op::Next(side, path, late, count)),
        1 => (0..PATHS, any::<bool>()).prop_map(|(path, cut)| Op::Cut(path, cut)),
        1 => (0..PATHS, any::<bool>()).prop_map(|(path, up)| Op::Interface(path, up)),
        1 => any::<bool>().prop_map(Op::Address),
        1 => (side(), mtu).prop_map(|(side, mtu)| Op::Smaller(side, mtu)),
        1 => (side(), any::<bool>()).prop_map(|(side, reads)| Op::Reading(side, reads)),
        1 => (side(), 0..changes).prop_map(|(side, kind)| Op::Change(side, kind)),
    ]
}

fn stream_change(kind: u8) -> StreamChange {
    match kind {
        0 => StreamChange::ResetOutgoing(vec![]),
        1 => StreamChange::ResetOutgoing(vec![1]),
        2 => StreamChange::ResetOutgoing(vec![0, 3]),
        3 => StreamChange::ResetIncoming(vec![2]),
        4 => StreamChange::ResetIncoming(vec![]),
        5 => StreamChange::AddOutgoing(1),
        6 => StreamChange::AddIncoming(1),
        _ => StreamChange::ResetAssociation,
    }
}

/// What the pair is made of.
#[derive(Clone, Copy, Debug)]
struct World {
    paths: usize,
    /// Switches, the key of the order of paths, the path of SACKs and the scheduler of CMT.
    cmt: Option<(u16, usize, usize, usize)>,
    interleaving: bool,
    nr_sack: bool,
    order: usize,
    /// For sending and for receiving, in bytes.
    buffers: (u32, u32),
    nagle: bool,
    reneging: bool,
    partial: bool,
}

fn world() -> impl Strategy<Value = World> {
    let cmt = (any::<u16>(), 0..6usize, 0..4usize, 0..SCHEDULERS.len());
    let buffers = (12_000..90_000u32, 12_000..90_000u32);
    (1..=PATHS, prop::option::of(cmt), any::<[bool; 4]>(), 0..ORDERS.len(), buffers).prop_map(
        |(paths, cmt, [interleaving, nr_sack, nagle, reneging], order, buffers)| World {
            paths,
            cmt: cmt.filter(|_| paths > 1),
            interleaving,
            nr_sack,
            order,
            buffers,
            nagle,
            reneging,
            partial: true,
        },
    )
}

/// Both ends, of which the server may differ in all but the paths.
fn worlds() -> impl Strategy<Value = [World; 2]> {
    (world(), world(), any::<bool>(), prop::bool::weighted(0.8)).prop_map(
        |(client, other, differs, partial)| {
            let cmt = other.cmt.filter(|_| client.paths > 1);
            let differing = World { paths: client.paths, cmt, partial, ..other };
            [client, if differs { differing } else { client }]
        },
    )
}

const SCHEDULERS: [Option<&str>; 8] = [
    None,
    Some("lrf"),
    Some("rr"),
    Some("daps"),
    Some("otias"),
    Some("sttf"),
    Some("linux"),
    Some("ecf"),
];

const ORDERS: [StreamOrder; 6] = [
    StreamOrder::Fcfs,
    StreamOrder::RoundRobin,
    StreamOrder::RoundRobinPacket,
    StreamOrder::Priority,
    StreamOrder::Fair,
    StreamOrder::WeightedFair,
];

fn cmt_of(bits: u16, key: usize, sack: usize) -> CmtConfig {
    let on = |bit: u16| bits >> bit & 1 != 0;
    let sides = |bit: u16| Sides::ALL[usize::from(bits >> bit & 3)].0;
    let cuc = CucRule::ALL[usize::from(bits >> 3 & 3) % 3].0;
    CmtConfig {
        algorithms: Algorithms { sfr: on(0), dac: on(1), frc: on(2), cuc },
        smart: Smart { fast_rtx: on(5), reneging: on(6), t3: on(7) },
        send_all: SendAllKey::ALL[key].0,
        buffer_split: BufferSplit {
            sides: sides(8),
            basis: if on(10) { BufferBasis::Queued } else { BufferBasis::Outstanding },
        },
        sack_path: SackPath::ALL[sack].0,
        path_mode: if on(11) { PathMode::Mesh } else { PathMode::Paired },
        reschedule: Rescheduling::of(sides(12)),
        ..CmtConfig::default()
    }
}

fn config_of(world: &World) -> SctpConfig {
    let mut with = SctpConfig {
        streams: STREAMS,
        send_buffer: world.buffers.0,
        receive_buffer: world.buffers.1,
        nagle: world.nagle,
        reneging: world.reneging,
        stream_order: ORDERS[world.order],
        ..config()
    };
    if world.interleaving {
        with.features = Features(with.features.0 | Features::INTERLEAVING.0);
    }
    if !world.nr_sack {
        with.features = Features(with.features.0 & !Features::NR_SACK.0);
    }
    if !world.partial {
        with.features = Features(with.features.0 & !Features::PARTIAL_RELIABILITY.0);
    }
    // Every path may be silent for long.
    with.parameters.limits.association = 1000;
    if let Some((bits, key, sack, scheduler)) = world.cmt {
        with.cmt = Some(cmt_of(bits, key, sack));
        with.scheduler = SCHEDULERS[scheduler].map(|name| name.parse().expect("a scheduler"));
    }
    with
}

/// What happens to packets.
#[derive(Default)]
struct Net {
    cut: [Cell<bool>; PATHS],
    /// By side and path.
    next: [[Cell<Next>; PATHS]; 2],
}

/// How many of the next packets are late by which number of milliseconds, or lost.
type Next = (u32, Option<u64>);

impl Net {
    fn fate(&self, passing: &Passing) -> Fate {
        let path = path_of(passing.src);
        if self.cut[path].get() || self.cut[path_of(passing.dst)].get() {
            return Fate::Drop;
        }
        let next = &self.next[passing.from as usize][path];
        let (left, late) = next.get();
        let Some(left) = left.checked_sub(1) else { return Fate::Pass };
        next.set((left, late));
        late.map_or(Fate::Drop, |ms| Fate::Late(Duration::from_millis(ms)))
    }

    fn calm(&self) {
        self.cut.iter().for_each(|cut| cut.set(false));
        self.next.iter().flatten().for_each(|next| next.set((0, None)));
    }
}

fn path_of(end: IpAddr) -> usize {
    let is_there = |path: &usize| end == address(Client, *path) || end == address(Server, *path);
    (0..PATHS).find(is_there).expect("an address of a path")
}

/// A message that was taken.
#[derive(Clone, Copy, Debug)]
struct Taken {
    stream: u16,
    len: usize,
    unordered: bool,
    reliable: bool,
}

struct Run {
    pair: Pair,
    net: Rc<Net>,
    /// By side.
    taken: [Vec<Taken>; 2],
    up: [bool; PATHS],
    has_address: bool,
    paths: usize,
}

impl Run {
    fn new(worlds: &[World; 2]) -> Run {
        let world = &worlds[0];
        let mut pair = Pair::open_between(world.paths, [0, 1].map(|side| config_of(&worlds[side])));
        let net = Rc::new(Net::default());
        let rule = Rc::clone(&net);
        pair.rule = Some(Box::new(move |passing| rule.fate(passing)));
        let (taken, up, paths) = (Default::default(), [true; PATHS], world.paths);
        Run { pair, net, taken, up, has_address: true, paths }
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Send { side, stream, len, unordered, reliability } => {
                self.send(side, Taken { stream, len, unordered, reliable: true }, reliability);
            }
            Op::Advance(ms) => self.pair.pass(Duration::from_millis(ms)),
            Op::Next(side, path, late, count) => {
                self.net.next[side as usize][path].set((count, late));
            }
            Op::Cut(path, cut) => self.net.cut[path].set(cut),
            Op::Interface(path, up) => self.interface(path, up),
            Op::Address(here) => self.address(here),
            Op::Reading(side, reads) => self.reading(side, reads),
            Op::Smaller(side, mtu) => {
                let last = self.pair.sent(side).filter(|passing| passing.has_data()).last();
                if let Some(last) = last.cloned() {
                    self.pair.unreachable(side, &last, 4, mtu);
                }
            }
            Op::Change(side, kind) => {
                let socket = self.pair.socket(side);
                // It is refused while another one is under way.
                let _ = self.pair.stack(side).change_streams(socket, stream_change(kind));
                self.pair.settle();
            }
        }
    }

    fn send(&mut self, side: Side, taken: Taken, reliability: Reliability) {
        let number = self.taken[side as usize].len() as u16;
        let mut bytes = vec![0; taken.len];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        let message = Message {
            ppid: number.into(),
            unordered: taken.unordered,
            reliability,
            payload: Payload::from(bytes),
            ..message(taken.stream, 1)
        };
        let socket = self.pair.socket(side);
        if self.pair.stack(side).send_message(socket, message) == Ok(true) {
            let reliable = reliability == Reliability::Full;
            self.taken[side as usize].push(Taken { reliable, ..taken });
        }
        self.pair.settle();
    }

    fn interface(&mut self, path: usize, up: bool) {
        if path < self.paths && self.up[path] != up {
            self.up[path] = up;
            let event = if up { InterfaceEvent::Up } else { InterfaceEvent::Down };
            self.pair.interface(Client, path, event);
        }
    }

    fn address(&mut self, here: bool) {
        if self.paths > 1 && self.has_address != here {
            self.has_address = here;
            let last = self.paths - 1;
            let event = match here {
                true => InterfaceEvent::AddressAdded(address(Client, last)),
                false => InterfaceEvent::AddressRemoved(address(Client, last)),
            };
            self.pair.interface(Client, last, event);
        }
    }

    fn reading(&mut self, side: Side, reads: bool) {
        self.pair.hosts[side as usize].paused = !reads;
        self.pair.receive(side);
        self.pair.settle();
    }

    /// Everything works again, for long enough.
    fn calm(&mut self) {
        self.net.calm();
        (0..self.paths).for_each(|path| self.interface(path, true));
        self.address(true);
        self.reading(Client, true);
        self.reading(Server, true);
        self.pair.pass(Duration::from_secs(400));
    }

    /// Checks what `side` has sent.
    fn check(&self, side: Side) -> Result<(), TestCaseError> {
        let events = || self.pair.host(side).events.iter();
        let has_failed = events().any(|event| matches!(event, SocketEventKind::Failed(_)));
        prop_assert!(!has_failed, "{side:?} failed: {}", self.pair.describe());
        let taken = &self.taken[side as usize];
        let mut got: Vec<usize> = Vec::new();
        for message in &self.pair.host(side.other()).received {
            let bytes = message.payload.to_bytes();
            let number = usize::from(u16::from_be_bytes([bytes[0], bytes[1]]));
            let Taken { stream, len, .. } = taken[number];
            prop_assert_eq!((message.stream, bytes.len()), (stream, len), "message {}", number);
            prop_assert!(!got.contains(&number), "{side:?} {number} arrives twice");
            got.push(number);
        }
        let failed: Vec<usize> = events()
            .filter_map(|event| match event {
                SocketEventKind::SendFailed(failure) => Some(failure.ppid as usize),
                _ => None,
            })
            .collect();
        for (number, message) in taken.iter().enumerate() {
            let (arrived, failed) = (got.contains(&number), failed.contains(&number));
            let is_right = if message.reliable { arrived && !failed } else { arrived || failed };
            prop_assert!(
                is_right,
                "{side:?} {number}, {message:?}, arrived: {arrived}, failed: {failed}\n{}",
                self.pair.describe()
            );
        }
        for stream in 0..STREAMS {
            let is_ordered = |number: &&usize| {
                let message = taken[**number];
                message.stream == stream && !message.unordered
            };
            let numbers: Vec<_> = got.iter().filter(is_ordered).collect();
            prop_assert!(numbers.is_sorted(), "{side:?}, stream {stream}: {numbers:?}");
        }
        let held = self.pair.info(side).held_bytes;
        prop_assert_eq!(held, 0, "{:?} keeps what nobody reads\n{}", side, self.pair.describe());
        Ok(())
    }
}

fn replay(worlds: &[World; 2], ops: &[Op]) -> Result<(), TestCaseError> {
    let mut run = Run::new(worlds);
    ops.iter().for_each(|op| run.apply(op));
    run.calm();
    run.check(Client)?;
    run.check(Server)?;
    run.pair.shutdown(Client);
    run.pair.pass(Duration::from_secs(20));
    let closed = run.pair.host(Server).has(SocketEventKind::Closed);
    prop_assert!(closed, "it ends: {}", run.pair.describe());
    Ok(())
}

/// The association ends while `late` happens.
fn replay_end(
    worlds: &[World; 2],
    (ops, late): (&[Op], &[Op]),
    side: Side,
) -> Result<(), TestCaseError> {
    let mut run = Run::new(worlds);
    ops.iter().for_each(|op| run.apply(op));
    run.pair.shutdown(side);
    late.iter().for_each(|op| run.apply(op));
    run.calm();
    for side in [Client, Server] {
        run.check(side)?;
        let closed = run.pair.host(side).has(SocketEventKind::Closed);
        prop_assert!(closed, "it ends: {}", run.pair.describe());
    }
    Ok(())
}

proptest! {
    #![proptest_config(crate::cases(48))]
    #[test]
    fn whatever_happens_reliable_messages_arrive_once(
        worlds in worlds(),
        ops in prop::collection::vec(op(2500, 7), 1..80),
    ) {
        replay(&worlds, &ops)?;
    }

    #[test]
    fn whatever_happens_meanwhile_associations_end(
        worlds in worlds(),
        ops in prop::collection::vec(op(2500, 7), 1..60),
        late in prop::collection::vec(op(2500, 7), 1..40),
        side in side(),
    ) {
        replay_end(&worlds, (&ops, &late), side)?;
    }

    /// No packet is overtaken by its repetition: a late request is carried out after the answer "in
    /// progress", while the requester expects that only its next repetition is.
    #[test]
    fn whatever_happens_associations_begin_anew(
        worlds in worlds(),
        ops in prop::collection::vec(op(400, 8), 1..80),
    ) {
        replay(&worlds, &ops)?;
    }
}

/// Regression: the first fragment of a message arrived behind a gap, was acknowledged for good, and
/// the message was abandoned before its rest was sent. No TSN was skipped for it, and the receiver
/// refused the next message.
#[test]
fn message_whose_sent_part_is_acknowledged_for_good_is_given_up_with_a_tsn_more() {
    let world = World {
        paths: 3,
        cmt: Some((24_620, 0, 2, 1)),
        interleaving: false,
        nr_sack: true,
        order: 4,
        buffers: (15_167, 16_286),
        nagle: true,
        reneging: false,
        partial: true,
    };
    let of = |side: Side, stream: u16, len: usize, reliability: Reliability| Op::Send {
        side,
        stream,
        len,
        unordered: false,
        reliability,
    };
    let reliable = |side, stream, len| of(side, stream, len, Reliability::Full);
    let ops = [
        Op::Address(false),
        reliable(Client, 0, 2),
        reliable(Client, 0, 2),
        reliable(Client, 0, 2),
        Op::Reading(Client, false),
        reliable(Server, 0, 2143),
        Op::Next(Server, 1, None, 2),
        reliable(Server, 0, 4880),
        Op::Advance(320),
        Op::Advance(394),
        Op::Advance(546),
        Op::Next(Server, 0, None, 4),
        reliable(Server, 1, 5069),
        reliable(Server, 0, 1205),
        reliable(Server, 1, 1000),
        of(Server, 0, 4244, Reliability::Priority(0)),
        reliable(Server, 0, 1309),
        Op::Advance(40),
        reliable(Server, 0, 5245),
    ];
    replay(&[world; 2], &ops).unwrap();
}
