//! Random operations on a pair whose hosts are configured apart from each other: schedulers with
//! their parameters and reinjections, controls, policies, fail-over rules, managers, profiles,
//! buffers, one to three paths or a mesh of them, small packets.
//!
//! In addition to what `random_ops` does both hosts lose and regain addresses, subflows are reset,
//! packets are late by minutes, the only path loses the options for good, and a connection ends by
//! an abort, a release or half-closed. What was written arrives once and in order unless the
//! connection was aborted, the hosts are silent when nothing is left to do, and sums agree.

use crate::fates::{Fates, Kind, PATHS, kind, side};
use crate::pair::{PORT, Pair, Path, Side, address, tcp};
use base::{Duration, Instant, InterfaceId};
use proptest::prelude::*;
use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use transport::choice::{Choice, Row};
use transport::congestion::ControllerChoice;
use transport::mptcp::MptcpConfig;

use transport::path_manager::{
    Endpoint, EndpointFlags, Endpoints, Limits, PathManagerKind, Reopen,
};
use transport::reinjection::Opportunistic;
use transport::scheduler::SchedulerChoice;
use transport::{Buffers, Failover, InterfaceEvent, PathInfo, Profile};
use wire::Payload;

const SIDES: [Side; 2] = [Side::Client, Side::Server];
/// Virtual time of all operations together, so that no path is silent for as long as TCP tries.
const LONGEST: Duration = Duration::from_secs(400);
/// A connection fails after a minute without a subflow.
const ALONE: Duration = Duration::from_secs(59);

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
enum Op {
    Write(Side, u32),
    /// The application goes on reading, or stops.
    Reading(Side, bool),
    /// The next packets that a side sends on a path have this fate.
    Next(Side, usize, Kind, u32, u64),
    /// A path goes silent, or returns.
    Cut(usize, bool),
    /// An interface goes down or up; its host notices it.
    Interface(Side, usize, bool),
    /// An address comes or goes.
    Address(Side, usize, bool),
    /// A side sees a reset on all subflows of a path.
    Reset(Side, usize),
    /// A middlebox begins or ceases to strip what a side sends, on a path that joined; on the
    /// first one if it is the only one.
    Strip(Side, usize, bool),
    /// It changes the next payloads of a side on a path that joined.
    Rewrite(Side, usize, u32),
    /// A side asks for an address or an interface as backup, or no longer.
    Backup(Side, usize, bool),
    InterfaceBackup(Side, usize, bool),
    Advance(u64),
    Shutdown(Side),
}

/// How the connection ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    Both,
    HalfClosed(Side),
    Abort(Side),
    AbortInFlight(Side),
    Release(Side),
}

/// One of the hosts; numbers are indices of lists, modulo their lengths.
#[derive(Clone, Copy, Debug)]
struct Host {
    scheduler: usize,
    congestion: usize,
    policy: usize,
    manager: usize,
    profile: usize,
    failover: usize,
    /// 0: auto-tuned; otherwise fixed, in bytes.
    send: u32,
    receive: u32,
    /// Nagle, pacing, HyStart, checksum, keep-alive, mappings joined, mainline's limits, backup.
    switches: u8,
    ssthresh: u32,
    lowat: u32,
    extra: u8,
}

#[derive(Clone, Copy, Debug)]
struct World {
    paths: usize,
    delays: [u64; PATHS],
    loss: f64,
    mtu: u32,
    mesh: bool,
    simultaneous: bool,
    hosts: [Host; 2],
    ending: Ending,
    start: [u64; 2],
    seed: u64,
}

/// All rows, each with its parameters at both ends of their ranges.
fn with_extremes<R: Row>() -> Vec<Choice<R>> {
    let mut all = Vec::new();
    for choice in Choice::<R>::all() {
        for parameter in choice.row().parameters() {
            for value in [parameter.least, parameter.most] {
                let text = format!("{}={}", parameter.key, parameter.kind.show(value));
                all.extend(choice.with(&text).ok());
            }
        }
        all.push(choice);
    }
    all
}

fn schedulers() -> Vec<SchedulerChoice> {
    let mut all = with_extremes();
    for choice in SchedulerChoice::all() {
        let modes = Opportunistic::ALL.into_iter();
        all.extend(modes.filter_map(|mode| choice.with_reinjection(mode).ok()));
    }
    all.push("wrr:3,1".parse().expect("weights"));
    all
}

const POLICIES: [&str; 3] = [
    "none",
    "drepas:mincontribution=0.8,interval=100ms,period=10ms,probe-interval=100ms",
    "drepas",
];

const MANAGERS: [PathManagerKind; 9] = [
    PathManagerKind::FULLMESH,
    PathManagerKind::PASSIVE,
    PathManagerKind::Default { accept_add_addr: true },
    PathManagerKind::Kernel,
    PathManagerKind::Ndiffports { subflows: 2 },
    PathManagerKind::Ndiffports { subflows: 4 },
    PathManagerKind::Binder,
    PathManagerKind::Fullmesh {
        again: Reopen { on_err: false, on_reset: false },
        batch: Duration::from_millis(500),
    },
    PathManagerKind::Fullmesh {
        again: Reopen { on_err: false, on_reset: true },
        batch: Duration::ZERO,
    },
];

const FAILOVERS: [Failover; 3] = [Failover::Rto, Failover::Stale, Failover::Probe];

fn endpoints(side: Side) -> Endpoints {
    let client = side == Side::Client;
    let flags = |path| EndpointFlags {
        subflow: client,
        signal: !client || path == 2,
        backup: false,
        fullmesh: client && path == 1,
    };
    let endpoint = |path| Endpoint { ip: address(side, path), flags: flags(path) };
    let limits = Limits { subflows: 3, add_addr_accepted: 2 };
    Endpoints { endpoints: (0..PATHS).map(endpoint).collect(), limits }
}

/// Shrinks towards waiting and writing little.
fn op() -> impl Strategy<Value = Op> {
    let late = prop_oneof![6 => 1u64..400, 2 => 400u64..5_000, 1 => 5_000u64..90_000];
    let next = (side(), 0..PATHS, kind(), 1u32..9, late);
    let at = || (side(), 0..PATHS, any::<bool>());
    prop_oneof![
        8 => (1u64..200).prop_map(Op::Advance),
        2 => (200u64..4000).prop_map(Op::Advance),
        1 => (4000u64..70_000).prop_map(Op::Advance),
        8 => (side(), 1u32..50_000).prop_map(|(side, len)| Op::Write(side, len)),
        2 => (side(), 1u32..20).prop_map(|(side, len)| Op::Write(side, len)),
        2 => (side(), 50_000u32..300_000).prop_map(|(side, len)| Op::Write(side, len)),
        8 => next.prop_map(|(side, path, kind, n, ms)| Op::Next(side, path, kind, n, ms)),
        4 => (0..PATHS, any::<bool>()).prop_map(|(path, on)| Op::Cut(path, on)),
        2 => at().prop_map(|(side, path, on)| Op::Interface(side, path, on)),
        2 => at().prop_map(|(side, path, on)| Op::Address(side, path, on)),
        2 => (side(), 0..PATHS).prop_map(|(side, path)| Op::Reset(side, path)),
        2 => at().prop_map(|(side, path, on)| Op::Strip(side, path, on)),
        2 => (side(), 1..PATHS, 1u32..4).prop_map(|(side, path, n)| Op::Rewrite(side, path, n)),
        2 => at().prop_map(|(side, path, on)| Op::Backup(side, path, on)),
        1 => at().prop_map(|(side, path, on)| Op::InterfaceBackup(side, path, on)),
        3 => (side(), any::<bool>()).prop_map(|(side, on)| Op::Reading(side, on)),
        1 => side().prop_map(Op::Shutdown),
    ]
}

fn host() -> impl Strategy<Value = Host> {
    let manager = prop_oneof![2 => Just(0usize), 3 => 0..MANAGERS.len()];
    let policy = prop_oneof![3 => Just(0usize), 1 => 0..POLICIES.len()];
    let names = (any::<u8>(), any::<u8>(), policy, manager, 0..Profile::ALL.len());
    let buffer =
        |least: u32| prop_oneof![2 => Just(0u32), 1 => least..16_000, 1 => 16_000u32..500_000];
    let ssthresh = prop_oneof![3 => Just(0u32), 1 => 1u32..50];
    let lowat = prop_oneof![3 => Just(0u32), 1 => 1u32..50_000];
    // A window of several segments.
    let (send, receive) = (buffer(2_000), buffer(10_000));
    let rest = (0..FAILOVERS.len(), send, receive, any::<u8>(), ssthresh, lowat);
    let extra = prop_oneof![3 => Just(8u8), 1 => 0u8..4];
    (names, rest, extra).prop_map(|(names, rest, extra)| {
        let (scheduler, congestion, policy, manager, profile) = names;
        let (failover, send, receive, switches, ssthresh, lowat) = rest;
        Host {
            scheduler: scheduler.into(),
            congestion: congestion.into(),
            policy,
            manager,
            profile,
            failover,
            send,
            receive,
            switches,
            ssthresh,
            lowat,
            extra,
        }
    })
}

fn world() -> impl Strategy<Value = World> {
    let ending = prop_oneof![
        3 => Just(Ending::Both),
        1 => side().prop_map(Ending::HalfClosed),
        1 => side().prop_map(Ending::Abort),
        1 => side().prop_map(Ending::AbortInFlight),
        1 => side().prop_map(Ending::Release),
    ];
    let start = || {
        prop_oneof![
            1 => any::<u64>(),
            1 => (0u64..100_000).prop_map(|below| u64::MAX - below),
            1 => (0u64..100_000).prop_map(|below| (1 << 32) - below),
        ]
    };
    let mtu = prop_oneof![3 => Just(1500u32), 1 => 576u32..1500, 1 => 1500u32..9000];
    let loss = prop_oneof![Just(0.0), 0.0..0.04];
    let network = (1..=PATHS, prop::array::uniform3(0u64..120), loss, mtu);
    let rare = || prop::bool::weighted(0.2);
    let rest = (rare(), rare(), ending, [start(), start()], any::<u64>());
    (network, [host(), host()], rest).prop_map(|(network, hosts, rest)| {
        let (paths, delays, loss, mtu) = network;
        let (mesh, simultaneous, ending, start, seed) = rest;
        World { paths, delays, loss, mtu, mesh, simultaneous, hosts, ending, start, seed }
    })
}

/// What happens to packets, by side and path.
#[derive(Default)]
struct Plan {
    fates: Fates,
    stripped: Cell<[[bool; PATHS]; 2]>,
}

fn config(world: &World, side: Side) -> MptcpConfig {
    let host = &world.hosts[side as usize];
    let on = |bit: u8| host.switches >> bit & 1 != 0;
    let (schedulers, controls) = (schedulers(), with_extremes());
    let congestion: ControllerChoice = controls[host.congestion % controls.len()].clone();
    let simultaneous = world.simultaneous.then(|| match side {
        Side::Server => Vec::new(),
        Side::Client => (1..world.paths)
            .map(|path| (address(side, path), SocketAddr::new(address(Side::Server, path), PORT)))
            .collect(),
    });
    let mut config = MptcpConfig {
        scheduler: schedulers[host.scheduler % schedulers.len()].clone(),
        policy: POLICIES[host.policy].parse().expect("a policy of the table"),
        path_manager: MANAGERS[host.manager],
        failover: FAILOVERS[host.failover],
        endpoints: endpoints(side),
        gateways: (1..world.paths).map(|path| InterfaceId(path as u16)).collect(),
        checksum: on(3),
        keepalive_on_withdrawal: on(4),
        joins_mappings: on(5),
        mainline_limits: on(6),
        max_extra_subflows: host.extra,
        common_prefix_bits: Some(if world.mesh { 16 } else { 24 }),
        simultaneous_syn: simultaneous,
        test_idsn: Some(world.start),
        ..MptcpConfig::default()
    };
    if on(7) {
        config.backup = vec![address(side, 1)];
    }
    config.tcp.profile = Profile::ALL[host.profile].0;
    config.tcp.congestion = congestion;
    config.tcp.nagle = on(0);
    config.tcp.pacing = on(1);
    config.tcp.hystart = on(2);
    config.tcp.initial_ssthresh_segs = Some(host.ssthresh).filter(|segs| *segs > 0);
    config.tcp.notsent_lowat = Some(host.lowat).filter(|bytes| *bytes > 0);
    let usual = Buffers::default();
    let auto_tuning = host.send == 0 && host.receive == 0;
    let or = |set: u32, usual: u32| if set == 0 { usual } else { set };
    config.tcp.buffers = Buffers {
        send_max: or(host.send, usual.send_max),
        receive_max: or(host.receive, usual.receive_max),
        auto_tuning,
    };
    config
}

struct Run {
    pair: Pair,
    plan: Rc<Plan>,
    world: World,
    /// When a side last had a subflow.
    alive_at: [Instant; 2],
    /// The first subflow may have ended.
    first_touched: bool,
    /// A middlebox changes packets of another one.
    meddled: bool,
    used: Duration,
}

impl Run {
    fn new(world: &World) -> Run {
        let path = |delay: &u64| Path { loss: world.loss, ..Path::ms(*delay) };
        let paths: Vec<Path> = world.delays.iter().take(world.paths).map(path).collect();
        let [client, server] = SIDES.map(|side| config(world, side));
        let mut pair = Pair::with_mtu(&paths, client, server, world.seed, world.mtu);
        pair.finish = false;
        let plan = Rc::new(Plan::default());
        let middlebox = Rc::clone(&plan);
        pair.mangle = Some(Box::new(move |side, path, packet| {
            let len = packet.payload_len();
            let Some(segment) = tcp(packet) else { return true };
            if middlebox.stripped.get()[side as usize][path] {
                segment.options.mptcp = Default::default();
            }
            if len > 0 && middlebox.fates.takes_rewrite(side, path) {
                segment.payload = changed(&segment.payload);
            }
            true
        }));
        let rules = Rc::clone(&plan);
        pair.rule = Some(Box::new(move |side, path, _| rules.fates.fate(side, path)));
        Run {
            pair,
            plan,
            world: *world,
            alive_at: [Instant::ZERO; 2],
            first_touched: false,
            meddled: false,
            used: Duration::ZERO,
        }
    }

    fn pass(&mut self, span: Duration) {
        let end = self.pair.now + span;
        while self.pair.step_until(end) {
            self.observe();
        }
        self.pair.now = self.pair.now.max(end);
        self.pair.settle();
        self.observe();
    }

    fn run_until(&mut self, limit: Duration, done: impl Fn(&Pair) -> bool) -> bool {
        let end = self.pair.now + limit;
        while !done(&self.pair) && !self.has_failed() {
            if !self.pair.step_until(end) {
                return false;
            }
            self.observe();
        }
        true
    }

    fn has_failed(&self) -> bool {
        self.pair.ends.iter().any(|end| end.failed.is_some())
    }

    fn observe(&mut self) {
        for side in SIDES {
            let index = side as usize;
            if self.pair.ends[index].failed.is_none() && self.is_alive(side) {
                self.alive_at[index] = self.pair.now;
            }
        }
    }

    fn is_alive(&self, side: Side) -> bool {
        let info = self.pair.try_info(side);
        info.is_some_and(|info| {
            info.paths.iter().any(|path| !path.is_over && path.tcp.state != "SYN_SENT")
        })
    }

    /// Whether each side has an established subflow on one of these paths, which works.
    fn works(&self, usable: impl Fn(usize) -> bool) -> bool {
        SIDES.into_iter().all(|side| {
            let Some(info) = self.pair.try_info(side) else { return false };
            info.paths.iter().any(|sub| {
                let path = sub.interface.index();
                usable(path) && !self.pair.paths[path].cut && sub.tcp.state == "ESTABLISHED"
            })
        })
    }

    fn checksum(&self) -> bool {
        self.world.hosts.iter().any(|host| host.switches >> 3 & 1 != 0)
    }

    fn is_permitted(&self, op: Op) -> bool {
        match op {
            // The first path is whole in a world where others are changed: a connection whose last
            // subflow is changed fails at once.
            Op::Strip(_, path, true) if path > 0 => !self.first_touched && self.works(is_first),
            Op::Strip(side, 0, true) => {
                self.world.paths == 1 && self.only_first() && !self.pair.ends[side as usize].shut
            }
            Op::Strip(_, 0, false) => false,
            Op::Rewrite(..) => !self.first_touched && self.checksum() && self.works(is_first),
            Op::Cut(0, true) => !self.meddled,
            _ if ends_first(op) && self.meddled => false,
            Op::Reset(_, path) => self.works(|other| other != path),
            _ => true,
        }
    }

    /// Whether neither manager opens a second subflow over the first path.
    fn only_first(&self) -> bool {
        let opens =
            |host: &Host| matches!(MANAGERS[host.manager], PathManagerKind::Ndiffports { .. });
        !self.world.hosts.iter().any(opens)
    }

    fn interface(&mut self, side: Side, path: usize, event: InterfaceEvent) {
        self.pair.interface(side, path, event);
    }

    fn apply(&mut self, op: Op) {
        let exists = |path: usize| path < self.world.paths;
        if !self.is_permitted(op) {
            return;
        }
        self.first_touched |= ends_first(op);
        self.meddled |= matches!(op, Op::Strip(_, 1.., true) | Op::Rewrite(..));
        match op {
            Op::Write(side, len) if !self.pair.ends[side as usize].shut => {
                self.pair.ends[side as usize].to_write += u64::from(len);
                self.pair.settle();
            }
            Op::Reading(side, on) => self.pair.set_reading(side, on),
            Op::Next(side, path, kind, count, ms) => {
                self.plan.fates.set_next(side, path, (kind, count, ms));
            }
            Op::Cut(path, on) if exists(path) => self.pair.paths[path].cut = on,
            Op::Interface(side, path, up) if exists(path) => {
                self.pair.paths[path].cut = !up;
                let event = if up { InterfaceEvent::Up } else { InterfaceEvent::Down };
                self.interface(side, path, event);
            }
            Op::Address(side, path, there) if exists(path) => {
                let event = match there {
                    true => InterfaceEvent::AddressAdded(address(side, path)),
                    false => InterfaceEvent::AddressRemoved(address(side, path)),
                };
                self.interface(side, path, event);
            }
            Op::Reset(side, path) if exists(path) => self.pair.reset(side, path),
            Op::Strip(side, path, on) => {
                if path == 0 && on {
                    // Without data nobody notices.
                    self.pair.ends[side as usize].to_write += 2000;
                }
                let mut stripped = self.plan.stripped.get();
                stripped[side as usize][path] = on;
                self.plan.stripped.set(stripped);
                self.pair.settle();
            }
            Op::Rewrite(side, path, count) => {
                self.plan.fates.rewrite(side, path, count);
            }
            Op::Backup(side, path, on) if self.pair.ends[side as usize].socket.is_some() => {
                let socket = self.pair.socket(side);
                self.pair.stack(side).set_backup(socket, address(side, path), on).ok();
                self.pair.settle();
            }
            Op::InterfaceBackup(side, path, on) if exists(path) => {
                self.interface(side, path, InterfaceEvent::Backup(on));
            }
            Op::Advance(ms) if self.used < LONGEST => {
                self.used += Duration::from_millis(ms);
                self.pass(Duration::from_millis(ms));
            }
            Op::Shutdown(side) if self.pair.ends[side as usize].socket.is_some() => {
                let end = &mut self.pair.ends[side as usize];
                end.to_write = end.written;
                if !end.shut {
                    self.pair.shutdown(side);
                }
            }
            _ => {}
        }
        self.observe();
    }

    /// Everything works again.
    fn calm(&mut self) {
        self.pair.rule = None;
        let mut stripped = self.plan.stripped.get();
        for side in &mut stripped {
            side[1..].fill(false);
        }
        self.plan.stripped.set(stripped);
        self.plan.fates.clear();
        for path in 0..self.world.paths {
            self.pair.paths[path].cut = false;
            self.pair.paths[path].loss = 0.0;
            for side in SIDES {
                self.interface(side, path, InterfaceEvent::Up);
                self.interface(side, path, InterfaceEvent::AddressAdded(address(side, path)));
            }
        }
        for side in SIDES {
            self.pair.set_reading(side, true);
        }
    }

    /// Sums and positions agree.
    fn check(&self) {
        for side in SIDES {
            let end = &self.pair.ends[side as usize];
            let Some(info) = self.pair.try_info(side) else { continue };
            let describe = || format!("{side:?} {}\n{info:?}", self.pair.describe());
            assert!(info.snd_una <= info.snd_nxt + 1, "{}", describe());
            assert!(info.snd_nxt <= end.written, "{}", describe());
            assert!(info.rcv_nxt >= end.got, "{}", describe());
            assert!(info.rcv_nxt <= self.pair.ends[side.other() as usize].written + 1);
            let passed = |path: &PathInfo| path.first_sent_bytes + path.queued_bytes;
            let first: u64 = info.paths.iter().map(passed).sum();
            let retired: u64 = info.retired.iter().map(|path| path.first_sent_bytes).sum();
            let sent = first + retired;
            // Some schedulers send later data first.
            assert!((info.snd_nxt..=end.written).contains(&sent), "{sent} {}", describe());
            let acked = info.snd_una >= end.written;
            assert!(sent == end.written || !acked, "{sent} {}", describe());
            let again: u64 = info.paths.iter().map(|path| path.reinjected_bytes).sum();
            let retired: u64 = info.retired.iter().map(|path| path.reinjected_bytes).sum();
            assert_eq!(again + retired, info.reinjected_bytes, "{}", describe());
            assert!(info.probe_bytes <= info.reinjected_bytes);
        }
    }

    /// Whether the connection failed as it may: after a minute without a subflow. Mainline Linux
    /// refuses to join once nothing more is written.
    fn may_have_failed(&self) -> bool {
        let alone = |side: Side| {
            let end = &self.pair.ends[side as usize];
            end.failed.is_some() && self.pair.now - self.alive_at[side as usize] >= ALONE
        };
        let refuses = |side: Side| {
            let mainline = self.world.hosts[side as usize].switches >> 6 & 1 != 0;
            mainline && self.pair.ends[side as usize].shut
        };
        SIDES.into_iter().any(|side| alone(side) || refuses(side))
    }

    /// Returns whether the connection still is.
    fn check_failure(&self, failed_at: &mut Option<bool>) -> bool {
        if self.has_failed() && failed_at.is_none() {
            *failed_at = Some(self.may_have_failed());
            assert_eq!(*failed_at, Some(true), "{:?} {}", self.alive_at, self.pair.describe());
        }
        failed_at.is_none()
    }
}

const fn is_first(path: usize) -> bool {
    path == 0
}

/// Whether the first subflow may end by it.
const fn ends_first(op: Op) -> bool {
    matches!(op, Op::Interface(_, 0, false) | Op::Address(_, 0, false) | Op::Reset(_, 0))
}

/// One byte of it is another one. The changes of several payloads do not cancel out in a checksum.
fn changed(payload: &Payload) -> Payload {
    let mut bytes = payload.to_bytes().to_vec();
    if let Some(byte) = bytes.iter_mut().step_by(2).find(|byte| **byte < 255) {
        *byte += 1;
    }
    Payload::from(bytes)
}

/// Apply the operations, calm the network, and let everything end.
fn replay(world: &World, ops: &[Op]) {
    let mut run = Run::new(world);
    let connected = |pair: &Pair| pair.ends.iter().all(|end| end.connected);
    assert!(run.run_until(Duration::from_secs(100), connected), "{}", run.pair.describe());
    run.observe();
    let mut failed = None;
    for op in ops {
        run.apply(*op);
        run.check();
        if !run.check_failure(&mut failed) {
            break;
        }
    }
    if let (Ending::AbortInFlight(side), None) = (world.ending, failed) {
        abort(&mut run, side);
        return;
    }
    run.calm();
    if run.check_failure(&mut failed) {
        let done = run.run_until(Duration::from_secs(900), Pair::is_delivered);
        run.check();
        if run.check_failure(&mut failed) {
            assert!(done, "not delivered\n{}", run.pair.describe());
            end(&mut run);
        }
    }
    rest(&mut run);
}

/// Nothing happens while nothing is left to do.
fn idle(run: &mut Run) {
    run.pass(Duration::from_secs(300));
    let sent = run.pair.sent;
    run.pass(Duration::from_secs(100));
    let sent = run.pair.sent - sent;
    assert!(sent == 0, "{sent} packets {}", run.pair.describe());
}

fn end(run: &mut Run) {
    idle(run);
    match run.world.ending {
        Ending::Both => {}
        Ending::HalfClosed(side) => {
            run.pair.shutdown(side);
            run.pass(Duration::from_secs(100));
            let other = &mut run.pair.ends[side.other() as usize];
            if !other.shut {
                other.to_write += 30_000;
            }
            let done = run.run_until(Duration::from_secs(100), Pair::is_delivered);
            assert!(done && !run.has_failed(), "half-closed {}", run.pair.describe());
        }
        Ending::Abort(side) => return abort(run, side),
        Ending::Release(side) => {
            run.pair.release(side);
            run.pass(Duration::from_secs(100));
            run.pair.shutdown(side.other());
            run.pass(Duration::from_secs(100));
            return;
        }
        Ending::AbortInFlight(_) => unreachable!("it ended before"),
    }
    for side in SIDES {
        run.pair.shutdown(side);
    }
    let done = run.run_until(Duration::from_secs(900), Pair::is_closed);
    assert!(done && !run.has_failed(), "it does not end: {}", run.pair.describe());
    run.check();
}

/// The peer notices an abort, at the latest when it writes.
fn abort(run: &mut Run, side: Side) {
    let ended = run.pair.ends[side.other() as usize].closed;
    run.pair.abort(side);
    run.pass(Duration::from_secs(3));
    run.calm();
    let other = side.other();
    if !run.pair.ends[other as usize].shut {
        run.pair.ends[other as usize].to_write += 1000;
    }
    run.pass(Duration::from_secs(900));
    let end = &run.pair.ends[other as usize];
    assert!(
        ended || end.failed.is_some() || end.closed || end.shut,
        "not noticed: {}",
        run.pair.describe()
    );
    rest(run);
}

/// Both applications release the socket, and after some time no timer runs.
fn rest(run: &mut Run) {
    for side in SIDES {
        run.pair.release(side);
    }
    run.pass(Duration::from_secs(1500));
    assert_eq!(run.pair.next_at(), None, "{}", run.pair.describe());
}

proptest! {
    #![proptest_config(crate::cases(64))]

    #[test]
    fn whatever_hosts_are_like_bytes_arrive_once(
        world in world(),
        ops in prop::collection::vec(op(), 0..50),
    ) {
        replay(&world, &ops);
    }
}
