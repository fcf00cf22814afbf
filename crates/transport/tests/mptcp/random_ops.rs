//! Random operations on a pair with two and three paths: whatever is written arrives, in order,
//! exactly once, once the network is calm again; nothing live-locks, memory stays bounded, and both
//! sides are notified of the end and of no failure (the pair checks bytes and steps).
//!
//! A failure prints the smallest list of operations as `ops = [...]`; paste it into a named
//! regression that calls `replay`. `PROPTEST_CASES=5000` makes a long run.

use crate::fates::{Fates, Kind, PATHS, kind, side};
use crate::pair::{PORT, Pair, Path, Side, address, tcp};
use base::{Duration, InterfaceId};
use proptest::prelude::*;
use std::cell::Cell;
use std::net::IpAddr;
use std::rc::Rc;
use transport::choice::Choice;
use transport::mptcp::MptcpConfig;
use transport::path_manager::{
    Endpoint, EndpointFlags, Endpoints, Limits, PathManagerKind, Reopen,
};
use transport::{
    Buffers, ConnectionInfo, InterfaceEvent, PathInfo, Profile, congestion, scheduler,
};
use wire::{Flags, Payload};

/// Packets in a row that may be lost: fewer than the retransmissions before a connection fails.
const MAX_BURST: u32 = 8;

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
enum Op {
    Write(Side, u32),
    /// Stop or go on reading.
    Reading(Side, bool),
    /// The next packets that a side sends on a path have this fate.
    Next(Side, usize, Kind, u32, u64),
    /// A path goes silent, or returns.
    Cut(usize, bool),
    /// The client's interface goes down or up; it is noticed.
    Interface(usize, bool),
    /// The last path's address comes or goes.
    Address(bool),
    /// A middlebox begins or ceases to strip options, on a path that joined.
    Strip(usize, bool),
    /// It changes the next payloads of a side on a path that joined, checksums of TCP and all.
    Rewrite(Side, usize, u32),
    Backup(Side, usize, bool),
    Advance(u64),
    Shutdown(Side),
}

/// What strips options on the first path, from the beginning: the connection is TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Nothing,
    Syn,
    SynAck,
    AfterSyn,
    DataOfClient,
}

/// None, and one that suspends and probes all the time.
const POLICIES: [&str; 2] =
    ["none", "drepas:mincontribution=0.8,interval=100ms,period=10ms,probe-interval=100ms"];

const MANAGERS: [PathManagerKind; 5] = [
    PathManagerKind::FULLMESH,
    PathManagerKind::PASSIVE,
    PathManagerKind::Kernel,
    PathManagerKind::Ndiffports { subflows: 3 },
    PathManagerKind::Fullmesh {
        again: Reopen { on_err: false, on_reset: true },
        batch: Duration::ZERO,
    },
];
/// Subflows that `kernel` allows in addition to the first.
const LIMITS: Limits = Limits { subflows: 3, add_addr_accepted: 2 };

/// The client opens subflows from all of its addresses, the server announces all of its.
fn endpoints(side: Side) -> Endpoints {
    let client = side == Side::Client;
    let flags = |path| EndpointFlags {
        subflow: client,
        signal: !client || path == 2,
        backup: false,
        fullmesh: client && path == 1,
    };
    let endpoint = |path| Endpoint { ip: address(side, path), flags: flags(path) };
    Endpoints { endpoints: (0..PATHS).map(endpoint).collect(), limits: LIMITS }
}

/// What the pair is made of.
#[derive(Clone, Copy, Debug)]
struct World {
    paths: usize,
    delays: [u64; PATHS],
    loss: f64,
    scheduler: usize,
    policy: usize,
    congestion: usize,
    manager: usize,
    profile: usize,
    checksum: bool,
    /// 0: auto-tuned; otherwise fixed, in KiB.
    buffer_kib: u32,
    backup: bool,
    stage: Stage,
    start: [u64; 2],
    seed: u64,
}

/// Shrinks towards waiting and writing little.
fn op() -> impl Strategy<Value = Op> {
    let next = (side(), 0..PATHS, kind(), 1..=MAX_BURST, 1u64..400);
    prop_oneof![
        4 => (1u64..200).prop_map(Op::Advance),
        1 => (200u64..4000).prop_map(Op::Advance),
        4 => (side(), 1u32..50_000).prop_map(|(side, len)| Op::Write(side, len)),
        1 => (side(), 50_000u32..400_000).prop_map(|(side, len)| Op::Write(side, len)),
        4 => next.prop_map(|(side, path, kind, n, ms)| Op::Next(side, path, kind, n, ms)),
        2 => (0..PATHS, any::<bool>()).prop_map(|(path, on)| Op::Cut(path, on)),
        1 => (0..PATHS, any::<bool>()).prop_map(|(path, up)| Op::Interface(path, up)),
        1 => any::<bool>().prop_map(Op::Address),
        1 => (1..PATHS, any::<bool>()).prop_map(|(path, on)| Op::Strip(path, on)),
        1 => (side(), 1..PATHS, 1u32..4).prop_map(|(side, path, n)| Op::Rewrite(side, path, n)),
        1 => (side(), 0..PATHS, any::<bool>()).prop_map(|(side, path, on)| {
            Op::Backup(side, path, on)
        }),
        1 => (side(), any::<bool>()).prop_map(|(side, on)| Op::Reading(side, on)),
        1 => side().prop_map(Op::Shutdown),
    ]
}

fn world() -> impl Strategy<Value = World> {
    let buffer = prop_oneof![2 => Just(0u32), 1 => 16u32..64, 1 => 64u32..1024];
    let stage = prop_oneof![
        8 => Just(Stage::Nothing),
        1 => Just(Stage::Syn),
        1 => Just(Stage::SynAck),
        1 => Just(Stage::AfterSyn),
        1 => Just(Stage::DataOfClient),
    ];
    let start = prop_oneof![
        2 => any::<u64>(),
        1 => (0u64..100_000).prop_map(|below| u64::MAX - below),
        1 => (0u64..100_000).prop_map(|below| (1 << 32) - below),
    ];
    let network = (2..=PATHS, prop::array::uniform3(0u64..120), prop_oneof![Just(0.0), 0.0..0.04]);
    let manager = prop_oneof![2 => Just(0usize), 1 => 1..MANAGERS.len()];
    let profile = prop_oneof![2 => Just(0usize), 1 => Just(1)];
    let scheduler = (0..scheduler::TABLE.len(), 0..POLICIES.len());
    let controls = 0..congestion::TABLE.len();
    let names = (scheduler, controls, manager, profile);
    let choice = (names, any::<bool>(), buffer, prop::bool::weighted(0.2));
    let rest = (stage, prop::array::uniform2(start), any::<u64>());
    (network, choice, rest).prop_map(|(network, choice, (stage, start, seed))| {
        let (paths, delays, loss) = network;
        let (names, checksum, buffer_kib, backup) = choice;
        let ((scheduler, policy), congestion, manager, profile) = names;
        // A connection all of whose subflows lose the options of data cannot fall back to one of
        // them: it fails, and may (RFC 8684 s3.7).
        let one_path = matches!(MANAGERS[manager], PathManagerKind::Ndiffports { .. });
        let manager = if one_path && stage != Stage::Nothing { 0 } else { manager };
        World {
            paths,
            delays,
            loss,
            scheduler,
            policy,
            congestion,
            manager,
            profile,
            checksum,
            buffer_kib,
            backup,
            stage,
            start,
            seed,
        }
    })
}

/// The fates of packets, by side and path.
#[derive(Default)]
struct Plan {
    fates: Fates,
    stripped: Cell<[bool; PATHS]>,
}

impl Plan {
    /// Whether middleboxes work somewhere.
    fn meddles(&self) -> bool {
        self.stripped.get() != [false; PATHS] || self.fates.rewrites()
    }
}

fn config(world: &World, side: Side) -> MptcpConfig {
    let mut config = MptcpConfig {
        scheduler: Choice::of(&scheduler::TABLE[world.scheduler]),
        policy: POLICIES[world.policy].parse().expect("a policy of the table"),
        path_manager: MANAGERS[world.manager],
        endpoints: endpoints(side),
        checksum: world.checksum && side == Side::Server,
        test_idsn: Some(world.start),
        ..MptcpConfig::default()
    };
    config.tcp.profile = [Profile::Linux, Profile::Linux41][world.profile];
    config.tcp.congestion = Choice::of(&congestion::TABLE[world.congestion]);
    if world.buffer_kib > 0 {
        let bytes = world.buffer_kib << 10;
        config.tcp.buffers = Buffers { send_max: bytes, receive_max: bytes, auto_tuning: false };
    }
    if world.backup && side == Side::Client {
        config.backup = vec![address(side, 1)];
    }
    config
}

fn strips(stage: Stage, side: Side, flags: Flags, len: u32) -> bool {
    let syn = flags.contains(Flags::SYN);
    match stage {
        Stage::Nothing => false,
        Stage::Syn => syn && side == Side::Client,
        Stage::SynAck => syn && side == Side::Server,
        Stage::AfterSyn => !syn,
        Stage::DataOfClient => len > 0 && side == Side::Client,
    }
}

fn pair_of(world: &World, plan: &Rc<Plan>) -> Pair {
    let path = |delay: &u64| Path { loss: world.loss, ..Path::ms(*delay) };
    let paths: Vec<Path> = world.delays.iter().take(world.paths).map(path).collect();
    let (client, server) = (config(world, Side::Client), config(world, Side::Server));
    let mut pair = Pair::with_seed(&paths, client, server, world.seed);
    pair.finish = false;
    let stage = world.stage;
    let stripped = Rc::clone(plan);
    // Where data alone are stripped a join would be the end of the first subflow.
    let alone = stage == Stage::DataOfClient;
    pair.mangle = Some(Box::new(move |side, path, packet| {
        let len = packet.payload_len();
        let Some(segment) = tcp(packet) else { return true };
        let first = path == 0 && strips(stage, side, segment.flags, len);
        let later = path > 0 && stripped.stripped.get()[path];
        if first || later {
            segment.options.mptcp = Default::default();
        }
        if len > 0 && stripped.fates.takes_rewrite(side, path) {
            segment.payload = changed(&segment.payload);
        }
        !(alone && path > 0)
    }));
    let rules = Rc::clone(plan);
    pair.rule = Some(Box::new(move |side, path, _| rules.fates.fate(side, path)));
    pair
}

/// One byte of it is another one.
fn changed(payload: &Payload) -> Payload {
    let mut bytes = payload.to_bytes().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    Payload::from(bytes)
}

/// Whether both sides have a subflow on the first path.
fn is_first_open(pair: &Pair) -> bool {
    [Side::Client, Side::Server].into_iter().filter_map(|side| pair.try_info(side)).all(|info| {
        let mut subflows = info.paths.iter();
        subflows.any(|sub| sub.interface == InterfaceId(0) && sub.tcp.state == "ESTABLISHED")
    })
}

fn apply(pair: &mut Pair, world: &World, plan: &Plan, op: Op) {
    let exists = |path: usize| path < world.paths;
    // One path lives at any time: the first one is whole while others are stripped.
    let first_works = !pair.paths[0].cut && is_first_open(pair);
    let op = match op {
        Op::Strip(_, true) | Op::Rewrite(..) if !first_works => return,
        // Without checksums the rewrite is not detected.
        Op::Rewrite(..) if !world.checksum => return,
        Op::Cut(0, true) | Op::Interface(0, false) if plan.meddles() => return,
        op => op,
    };
    match op {
        Op::Write(side, len) if !pair.ends[side as usize].shut => {
            pair.ends[side as usize].to_write += u64::from(len);
            pair.settle();
        }
        Op::Write(..) => {}
        Op::Reading(side, on) => pair.set_reading(side, on),
        Op::Next(side, path, kind, count, ms) => {
            plan.fates.set_next(side, path, (kind, count, ms));
        }
        Op::Cut(path, on) if exists(path) => pair.paths[path].cut = on,
        Op::Interface(path, up) if exists(path) => {
            pair.paths[path].cut = !up;
            let event = if up { InterfaceEvent::Up } else { InterfaceEvent::Down };
            pair.interface(Side::Client, path, event);
        }
        Op::Address(there) => {
            let path = world.paths - 1;
            let event = match there {
                true => InterfaceEvent::AddressAdded(address(Side::Client, path)),
                false => InterfaceEvent::AddressRemoved(address(Side::Client, path)),
            };
            pair.interface(Side::Client, path, event);
        }
        Op::Strip(path, on) => {
            let mut stripped = plan.stripped.get();
            stripped[path] = on;
            plan.stripped.set(stripped);
        }
        Op::Rewrite(side, path, count) => {
            plan.fates.rewrite(side, path, count);
        }
        Op::Backup(side, path, on) if pair.ends[side as usize].socket.is_some() => {
            let socket = pair.socket(side);
            pair.stack(side).set_backup(socket, address(side, path), on).ok();
            pair.settle();
        }
        Op::Advance(ms) => pair.pass(Duration::from_millis(ms)),
        Op::Shutdown(side) if pair.ends[side as usize].socket.is_some() => {
            // Only what was written in time is sent.
            let end = &mut pair.ends[side as usize];
            end.to_write = end.written;
            if !end.shut {
                pair.shutdown(side);
            }
        }
        Op::Cut(..) | Op::Interface(..) | Op::Backup(..) | Op::Shutdown(_) => {}
    }
}

fn check(pair: &Pair, world: &World) {
    pair.assert_intact();
    for side in [Side::Client, Side::Server] {
        let Some(info) = pair.try_info(side) else { continue };
        let most = match world.buffer_kib {
            0 => Buffers::default().receive_max,
            kib => kib << 10,
        };
        // The connection's and, apart from it, what subflows hold back.
        assert!(info.held_bytes <= 2 * u64::from(most) + 65_535, "{}", pair.describe());
        assert!(info.mappings as usize <= 8192);
        check_subflows(world, side, &info);
        assert!(info.snd_una <= info.snd_nxt + 1);
        assert!(info.snd_nxt <= pair.ends[side as usize].written);
    }
}

/// Never more subflows than the limits allow, never two that this side opened between the same
/// addresses, unless that is what was asked for. Of what the peer opened, and has ended and opened
/// again, it may still have one that it has not heard the end of.
fn check_subflows(world: &World, side: Side, info: &ConnectionInfo) {
    let over = ["CLOSED", "TIME_WAIT", "LAST_ACK", "CLOSING"];
    let alive = info.paths.iter().filter(|subflow| !over.contains(&subflow.tcp.state));
    let opened = |subflow: &&PathInfo| match side {
        Side::Client => subflow.remote.port() == PORT,
        Side::Server => subflow.local.port() != PORT,
    };
    let own = alive.filter(opened);
    let mut pairs: Vec<(IpAddr, IpAddr)> =
        own.map(|subflow| (subflow.local.ip(), subflow.remote.ip())).collect();
    let most = match MANAGERS[world.manager] {
        PathManagerKind::Default { .. } => 1,
        // Announced addresses may exceed the limit.
        PathManagerKind::Kernel => 1 + usize::from(LIMITS.subflows + LIMITS.add_addr_accepted),
        PathManagerKind::Ndiffports { subflows } => usize::from(subflows),
        _ => world.paths,
    };
    assert!(pairs.len() <= most, "{side:?} {pairs:?}");
    if !matches!(MANAGERS[world.manager], PathManagerKind::Ndiffports { .. }) {
        let all = pairs.len();
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), all, "{side:?} {pairs:?}");
    }
}

/// Apply the operations, calm the network, and let everything end.
fn replay(world: &World, ops: &[Op]) {
    let plan = Rc::new(Plan::default());
    let mut pair = pair_of(world, &plan);
    pair.expect("a connection", Duration::from_secs(100), |pair| {
        pair.ends.iter().all(|end| end.connected)
    });
    for op in ops {
        apply(&mut pair, world, &plan, *op);
        check(&pair, world);
    }
    pair.rule = None;
    plan.stripped.set([false; PATHS]);
    plan.fates.clear();
    for path in 0..world.paths {
        pair.paths[path].cut = false;
        pair.paths[path].loss = 0.0;
        pair.interface(Side::Client, path, InterfaceEvent::Up);
    }
    apply(&mut pair, world, &plan, Op::Address(true));
    for side in [Side::Client, Side::Server] {
        pair.set_reading(side, true);
    }
    pair.run_until(Duration::from_secs(900), |pair| {
        check(pair, world);
        pair.is_delivered()
    });
    for side in [Side::Client, Side::Server] {
        pair.shutdown(side);
    }
    pair.run_until(Duration::from_secs(900), |pair| pair.is_closed());
    check(&pair, world);
    pair.pass(Duration::from_secs(700));
    check(&pair, world);
    assert_eq!([Side::Client, Side::Server].map(|side| pair.live(side)), [0, 0]);
}

const CALM: World = World {
    paths: 2,
    delays: [85, 0, 0],
    loss: 0.0,
    scheduler: 0,
    policy: 0,
    congestion: 0,
    manager: 0,
    profile: 0,
    checksum: false,
    buffer_kib: 0,
    backup: false,
    stage: Stage::Nothing,
    start: [0, 0],
    seed: 0,
};

/// The connection's timer sent a copy on the only subflow; the peer, which saw no option on data
/// and had fallen back, took it for new data.
#[test]
fn only_subflow_gets_no_copy_that_a_peer_without_options_takes_for_data() {
    let ops = [
        Op::Advance(1),
        Op::Write(Side::Client, 1425),
        Op::Cut(0, true),
        Op::Advance(86),
        Op::Advance(1657),
        Op::Write(Side::Server, 1449),
    ];
    replay(&World { stage: Stage::DataOfClient, ..CALM }, &ops);
}

/// The only active path had no sample of its round-trip time, so the scheduler waited for ever for
/// a backup that it may not use.
#[test]
fn path_without_a_sample_is_used_beside_a_backup() {
    let ops = [
        Op::Next(Side::Client, 1, Kind::Drop, 3, 1),
        Op::Advance(1),
        Op::Advance(925),
        Op::Backup(Side::Client, 0, true),
        Op::Advance(1),
        Op::Advance(1),
        Op::Advance(74),
        Op::Write(Side::Server, 1),
    ];
    replay(&World { scheduler: 11, delays: [0, 1, 0], ..CALM }, &ops);
}

/// The client joined what the server had announced, from the address next to it, while the server
/// did the same: in mainline Linux neither would know.
#[test]
fn joins_of_both_ends_over_the_same_addresses_may_cross() {
    let ops = [Op::Interface(1, false), Op::Advance(45)];
    replay(&World { paths: 3, manager: 2, delays: [15, 0, 0], ..CALM }, &ops);
}

/// An announcement came again over another subflow, and with that subflow's port was taken for a
/// new one.
#[test]
fn announcement_repeated_on_another_subflow_opens_no_second_one() {
    let ops = [
        Op::Write(Side::Client, 1),
        Op::Next(Side::Server, 0, Kind::Drop, 6, 1),
        Op::Advance(1011),
    ];
    replay(&World { paths: 3, manager: 2, delays: [11, 0, 0], ..CALM }, &ops);
}

proptest! {
    #![proptest_config(crate::cases(96))]

    #[test]
    fn whatever_happens_bytes_arrive_once(
        world in world(),
        ops in prop::collection::vec(op(), 0..40),
    ) {
        replay(&world, &ops);
    }

    /// The first packets of each side on each path have random fates.
    #[test]
    fn connections_open_and_close_through_anything(
        world in world(),
        fates in prop::collection::vec((side(), 0..PATHS, kind(), 1u32..3, 1u64..2500), 0..6),
        sizes in prop::array::uniform2(0u64..9000),
    ) {
        let plan = Rc::new(Plan::default());
        for (side, path, kind, count, ms) in fates {
            plan.fates.set_next(side, path, (kind, count, ms));
        }
        let mut pair = pair_of(&world, &plan);
        pair.ends[0].to_write = sizes[0];
        pair.ends[1].to_write = sizes[1];
        pair.expect("delivery", Duration::from_secs(300), |pair| {
            pair.ends.iter().all(|end| end.connected) && pair.is_delivered()
        });
        for side in [Side::Client, Side::Server] {
            pair.shutdown(side);
        }
        pair.run_until(Duration::from_secs(300), |pair| pair.is_closed());
        check(&pair, &world);
    }
}
