//! Systems under test over wires with a rate and a delay: kernels and the engine, every traffic.
//!
//! What must be true on any machine, however busy: everything arrives, on the expected paths, and
//! what is impossible is reported. Times are not tested here.

use crate::forwarder::Conditions;
use crate::world::{World, wait_until};
use linux::LiveError;
use linux::mptcp_pm::PathManager;
use linux::sut::{
    KernelSettings, SutPath, SutPaths, SutQuantity, SutRecord, SutRun, SystemUnderTest, run_once,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use traffic::web::{Action, Activity, Http, Object, Opening, Page, Trigger, Wait, Web};
use traffic::{StreamFailure, Traffic};
use transport::mptcp::MptcpConfig;
use transport::path_manager::Limits;
use transport::{Buffers, Protocol, ProtocolConfig, TcpConfig};

/// Of every path, so that a transfer takes long enough for another path to be found.
const RATE: &str = "20mbit";
/// One subflow in addition to the first.
const ONE_MORE: Limits = Limits { subflows: 1, add_addr_accepted: 0 };

/// Two hosts, two paths.
struct Bench {
    world: World,
    paths: Vec<SutPath>,
}

impl Bench {
    fn new() -> Option<Bench> {
        let delay = std::time::Duration::from_millis(5);
        let conditions = Conditions { delay, ..Conditions::default() };
        let world = World::with_kernel(&[conditions; 2])?;
        if !world.has_mptcp() {
            return None;
        }
        let host = |path, host| IpAddr::V4(Ipv4Addr::new(10, 2, path, host));
        let path = |number: u8| SutPath {
            name: format!("path{number}"),
            client: host(number, 1),
            server: host(number, 2),
        };
        let paths = [0, 1].map(path).to_vec();
        for number in 0..2 {
            assert!(world.limit_rate(number, &format!("rate {RATE} burst 10kb limit 100kb")));
        }
        world.engine.run(|| endpoints(&paths)).expect("the namespace");
        let limits = || PathManager::open().ok()??.set_limits(ONE_MORE).ok();
        world.peer.run(limits).expect("the namespace").expect("limits");
        Some(Bench { world, paths })
    }

    fn paths(&self) -> SutPaths<'_> {
        SutPaths { client: &self.world.engine, server: &self.world.peer, paths: &self.paths }
    }

    fn try_run(
        &self,
        system: &SystemUnderTest,
        traffic: &Traffic,
        reverse: bool,
    ) -> Result<SutRecord, LiveError> {
        let limit = base::Duration::from_secs(20);
        run_once(self.paths(), &SutRun { system, traffic, reverse, limit })
    }

    fn run(&self, system: &SystemUnderTest, traffic: &Traffic) -> SutRecord {
        self.try_run(system, traffic, false).expect("a run")
    }
}

/// A subflow from either path of the client, over its own wire.
fn endpoints(paths: &[SutPath]) {
    let mut manager = PathManager::open().expect("netlink").expect("the kernel's MPTCP");
    manager.set_limits(ONE_MORE).expect("limits");
    let devices = linux::Netlink::open().and_then(|mut netlink| netlink.addresses());
    for (device, known) in devices.expect("the addresses") {
        if paths.iter().any(|path| path.client == known.subnet.address) {
            manager.add_subflow_endpoint(known.subnet.address, device, false).expect("an endpoint");
        }
    }
}

fn settings() -> KernelSettings {
    KernelSettings { congestion: "cubic".to_owned(), buffers: Buffers::default() }
}

fn tcp(path: usize) -> SystemUnderTest {
    SystemUnderTest::Kernel { path, protocol: Protocol::Tcp, settings: settings() }
}

fn mptcp() -> SystemUnderTest {
    SystemUnderTest::Kernel { path: 0, protocol: Protocol::Mptcp, settings: settings() }
}

fn engine() -> SystemUnderTest {
    let config = ProtocolConfig::Mptcp(Box::default());
    SystemUnderTest::Engine { path: 0, config }
}

fn engine_tcp(path: usize) -> SystemUnderTest {
    SystemUnderTest::Engine { path, config: ProtocolConfig::Tcp(TcpConfig::default()) }
}

/// Every byte was first sent once, on the paths of `used` and on no other.
fn assert_carried(record: &SutRecord, bytes: u64, used: &[usize]) {
    assert!(
        record.run.outcome.is_complete() && record.run.measured().failure.is_none(),
        "{record:?}"
    );
    let sent = &record.run.measured().sent.first_sent_bytes;
    let all: u64 = sent.iter().sum();
    let extra = record.run.measured().sent.reinjected_bytes + bytes / 100 + 1000;
    assert!((bytes..=bytes + extra).contains(&all), "{bytes} in {sent:?}, {record:?}");
    for (path, sent) in sent.iter().enumerate() {
        assert_eq!(*sent > bytes / 20, used.contains(&path), "path {path}: {record:?}");
    }
    let mut on: Vec<usize> = record.run.measured().sender_subflows.clone();
    on.sort_unstable();
    on.dedup();
    assert_eq!(on, used, "{record:?}");
    assert_eq!(record.congestion, ["cubic"]);
    assert!(record.run.measured().data_packets >= bytes / 1500, "{record:?}");
}

/// Windows, times and flights of the paths used, and what was read, were seen.
fn assert_seen(record: &SutRecord, used: &[usize]) {
    let of = |quantity, path| {
        let mut found = record.series.iter();
        let found = found.find(|series| series.quantity == quantity && series.path == path);
        let points = found.map(|series| series.points.as_slice()).unwrap_or_default();
        assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{quantity:?}");
        points.iter().map(|(_, value)| *value).collect::<Vec<f64>>()
    };
    for path in used {
        let windows = of(SutQuantity::CongestionWindow, Some(*path));
        assert!(windows.iter().all(|bytes| *bytes >= 500.0) && windows.len() > 2, "{windows:?}");
        let times = of(SutQuantity::SmoothedRtt, Some(*path));
        assert!(times.iter().any(|s| (0.01..2.0).contains(s)), "{times:?}");
        assert!(of(SutQuantity::InFlight, Some(*path)).iter().any(|segs| *segs > 0.0));
    }
    let read = of(SutQuantity::Read, None);
    assert_eq!(read.last().copied(), Some(record.run.outcome.bytes_read as f64));
}

/// A document and eight objects that wait for it.
fn page() -> Traffic {
    let object = |response_bytes| Object {
        label: String::new(),
        host: 0,
        request_bytes: 400,
        response_bytes,
        think: base::Duration::from_millis(2),
        urgency: 0,
        in_clear: false,
    };
    let after = Wait { on: 0, event: Trigger::End, delay: base::Duration::ZERO };
    let fetch =
        |object, waits| Activity { action: Action::Fetch(object), waits, before_load: true };
    let mut activities = vec![fetch(0, Vec::new())];
    activities.extend((1..=8).map(|number| fetch(number, vec![after])));
    let objects = vec![object(20_000); 9];
    let page = Page::new("small".into(), objects, activities).expect("a page");
    let opening = Opening::default();
    Traffic::Web(Web { page: Arc::new(page), http: Http::SIX, per_host: false, opening })
}

const BULK: u64 = 3 << 20;

#[test]
fn bulk_over_each_system_arrives_by_its_paths() {
    let Some(bench) = Bench::new() else { return };
    let bulk = Traffic::BulkSize(BULK);
    for (system, used) in [
        (tcp(0), &[0][..]),
        (tcp(1), &[1]),
        (mptcp(), &[0, 1]),
        (engine_tcp(1), &[1]),
        (engine(), &[0, 1]),
    ] {
        let record = bench.run(&system, &bulk);
        assert_carried(&record, BULK, used);
        assert_seen(&record, used);
        assert_eq!(record.run.outcome.bytes_read, BULK);
        let value = record.run.outcome.value.expect("a time");
        // Two paths of 20 Mbit/s cannot be faster than 40.
        assert!(value > BULK as f64 * 8.0 / 41e6, "{system:?} in {value} s");
        assert!(record.run.ended.as_secs_f64() >= value);
    }
}

#[test]
fn ipv6_is_as_good() {
    let Some(bench) = Bench::new() else { return };
    let host = |path, host| IpAddr::V6(Ipv6Addr::new(0xfd02, path, 0, 0, 0, 0, 0, host));
    let path = |number: u16| SutPath {
        name: format!("path{number}"),
        client: host(number, 1),
        server: host(number, 2),
    };
    let paths = [0, 1].map(path);
    bench.world.engine.run(|| endpoints(&paths)).expect("the namespace");
    // IPv6 does not use what a device should reach without a route.
    let route = "-6 route add fd02:0::/64 dev wire1 metric 9999";
    let route = || Command::new("ip").args(route.split(' ')).status();
    assert!(bench.world.engine.run(route).expect("the namespace").expect("ip(8)").success());
    let (client, server) = (&bench.world.engine, &bench.world.peer);
    let paths = SutPaths { client, server, paths: &paths };
    let (traffic, limit) = (Traffic::BulkSize(BULK), base::Duration::from_secs(20));
    for (system, used) in [(tcp(1), &[1][..]), (mptcp(), &[0, 1]), (engine(), &[0, 1])] {
        let run = SutRun { system: &system, traffic: &traffic, reverse: false, limit };
        assert_carried(&run_once(paths, &run).expect("a run"), BULK, used);
    }
}

#[test]
fn upload_is_seen_at_the_client() {
    let Some(bench) = Bench::new() else { return };
    for (system, used) in [(tcp(0), &[0][..]), (mptcp(), &[0, 1]), (engine(), &[0, 1])] {
        let record = bench.try_run(&system, &Traffic::BulkSize(BULK), true).expect("a run");
        assert_carried(&record, BULK, used);
        assert_seen(&record, used);
    }
}

#[test]
fn timed_bulk_ends_with_its_time() {
    let Some(bench) = Bench::new() else { return };
    let traffic = Traffic::BulkTime(base::Duration::from_millis(700));
    for system in [tcp(0), mptcp(), engine()] {
        let record = bench.run(&system, &traffic);
        let rate = record.run.outcome.value.expect("a rate");
        assert!((1e5..41e6).contains(&rate), "{system:?}: {rate}");
        assert!(record.run.outcome.bytes_read > 0 && record.run.measured().failure.is_none());
    }
}

#[test]
fn bursts_and_calls_have_every_message_delayed() {
    let Some(bench) = Bench::new() else { return };
    let burst = Traffic::Burst { segments: 30, segment_bytes: 1420 };
    let video = Traffic::video(base::Duration::from_millis(1500));
    for (traffic, messages) in [(burst, 1), (video, 45)] {
        for system in [tcp(0), mptcp(), engine()] {
            let record = bench.run(&system, &traffic);
            let delays = &record.run.outcome.message_delays;
            assert_eq!(delays.len(), messages, "{system:?} {traffic:?}");
            // There is a delay of 5 ms each way.
            assert!(delays.iter().all(|s| (0.005..5.0).contains(s)), "{system:?}: {delays:?}");
        }
    }
}

#[test]
fn page_is_loaded_over_several_connections() {
    let Some(bench) = Bench::new() else { return };
    for system in [tcp(0), mptcp(), engine()] {
        let record = bench.run(&system, &page());
        assert!(record.run.outcome.value.is_some_and(|s| s > 0.02), "{system:?}: {record:?}");
        assert!(record.run.measured().sender_subflows.len() >= 6, "{record:?}");
        assert!(record.run.measured().sent.first_sent_bytes.iter().sum::<u64>() >= 9 * 20_000);
    }
}

#[test]
fn congestion_control_that_the_kernel_lacks_is_refused_with_a_remedy() {
    let Some(bench) = Bench::new() else { return };
    let congestion = "quiche".to_owned();
    let settings = KernelSettings { congestion, buffers: Buffers::default() };
    for system in [
        SystemUnderTest::Kernel { path: 0, protocol: Protocol::Tcp, settings: settings.clone() },
        SystemUnderTest::Kernel { path: 0, protocol: Protocol::Mptcp, settings: settings.clone() },
    ] {
        let error = bench.try_run(&system, &Traffic::BulkSize(1000), false).expect_err("refused");
        let text = error.to_string();
        assert!(matches!(error, LiveError::Missing { .. }), "{text}");
        assert!(text.contains("has no congestion control quiche; it has"), "{text}");
        assert!(text.contains("remedy: sudo modprobe tcp_quiche"), "{text}");
    }
}

#[test]
fn reno_is_used_where_it_is_asked_for() {
    let Some(bench) = Bench::new() else { return };
    let settings = KernelSettings { congestion: "reno".to_owned(), buffers: Buffers::default() };
    let system = SystemUnderTest::Kernel { path: 1, protocol: Protocol::Mptcp, settings };
    let record = bench.run(&system, &Traffic::BulkSize(BULK));
    assert_eq!(record.congestion, ["reno"]);
    assert_eq!(record.run.measured().sender_subflows, [1, 0]);
}

/// The most segments that were ever in flight.
fn most_in_flight(record: &SutRecord) -> f64 {
    let flights = record.series.iter().find(|series| series.quantity == SutQuantity::InFlight);
    flights.expect("flights").points.iter().map(|(_, segs)| *segs).fold(0.0, f64::max)
}

#[test]
fn fixed_buffers_bound_what_is_in_flight() {
    /// Far less than what is in flight without a bound, some 27 segments.
    const RECEIVE: u32 = 24 << 10;
    let Some(bench) = Bench::new() else { return };
    let buffers = Buffers { send_max: 1 << 20, receive_max: RECEIVE, auto_tuning: false };
    let settings = KernelSettings { congestion: "cubic".to_owned(), buffers };
    let system =
        SystemUnderTest::Kernel { path: 0, protocol: Protocol::Mptcp, settings: settings.clone() };
    assert_eq!(bench.run(&system, &Traffic::BulkSize(BULK)).run.outcome.bytes_read, BULK);
    let system = SystemUnderTest::Kernel { path: 0, protocol: Protocol::Tcp, settings };
    let record = bench.run(&system, &Traffic::BulkSize(BULK));
    assert_carried(&record, BULK, &[0]);
    let bound = most_in_flight(&record);
    assert!(bound * 1448.0 <= f64::from(RECEIVE), "{bound} segments");
    let free = most_in_flight(&bench.run(&tcp(0), &Traffic::BulkSize(BULK)));
    assert!(free > bound, "{free} segments with auto-tuning, {bound} without");
}

/// Regression: a socket began with 131072 bytes, however small the maximum was.
#[test]
fn maxima_below_the_initial_sizes_bound_what_is_in_flight() {
    const RECEIVE: u32 = 24 << 10;
    let Some(bench) = Bench::new() else { return };
    let buffers = Buffers { send_max: 1 << 20, receive_max: RECEIVE, auto_tuning: true };
    let settings = KernelSettings { congestion: "cubic".to_owned(), buffers };
    let system = SystemUnderTest::Kernel { path: 0, protocol: Protocol::Tcp, settings };
    let record = bench.run(&system, &Traffic::BulkSize(BULK));
    assert_carried(&record, BULK, &[0]);
    let bound = most_in_flight(&record);
    assert!(bound * 1448.0 <= f64::from(RECEIVE), "{bound} segments");
}

#[test]
fn fallback_to_plain_tcp_is_an_error_and_not_a_figure() {
    let Some(bench) = Bench::new() else { return };
    let off = bench.world.peer.set("mptcp.enabled", "0");
    off.expect("a setting of our own namespace");
    let error = bench.try_run(&mptcp(), &Traffic::BulkSize(1000), false).expect_err("no MPTCP");
    assert!(error.to_string().contains("net.mptcp.enabled=1"), "{error}");
    bench.world.peer.set("mptcp.enabled", "1").expect("a setting of our own namespace");
    for number in 0..2 {
        let mut strip = bench.world.control(number).strip.lock().expect("not poisoned");
        *strip = Some(crate::strip::Stage::Syn);
    }
    let error = bench.try_run(&mptcp(), &Traffic::BulkSize(1000), false).expect_err("plain TCP");
    assert!(error.to_string().contains("fell back from MPTCP"), "{error}");
}

#[test]
fn server_out_of_reach_leaves_the_run_incomplete_in_time() {
    let Some(bench) = Bench::new() else { return };
    for number in 0..2 {
        bench.world.control(number).cut.store(true, Ordering::Relaxed);
    }
    let limit = base::Duration::from_millis(300);
    for system in [tcp(0), mptcp(), engine()] {
        let traffic = Traffic::BulkSize(1000);
        let run = SutRun { system: &system, traffic: &traffic, reverse: false, limit };
        let record = run_once(bench.paths(), &run).expect("a record");
        assert!(!record.run.outcome.is_complete(), "{record:?}");
        assert!(record.run.ended >= limit && record.run.outcome.bytes_read == 0, "{record:?}");
    }
}

#[test]
fn path_that_dies_in_mid_run_leaves_tcp_incomplete_and_mptcp_whole() {
    let Some(bench) = Bench::new() else { return };
    let bulk = Traffic::BulkSize(BULK);
    let limit = base::Duration::from_secs(15);
    for (system, survives) in [(tcp(1), false), (mptcp(), true), (engine(), true)] {
        let limit = if survives { limit } else { base::Duration::from_secs(2) };
        let run = SutRun { system: &system, traffic: &bulk, reverse: false, limit };
        let record = thread::scope(|scope| {
            let before = bench.world.carried(1);
            let running = scope.spawn(|| run_once(bench.paths(), &run));
            // The server's acknowledgements, or its requests.
            wait_until(|| bench.world.carried(1) > before + 2000);
            bench.world.control(1).cut.store(true, Ordering::Relaxed);
            running.join().expect("no panic").expect("a record")
        });
        bench.world.control(1).cut.store(false, Ordering::Relaxed);
        assert_eq!(record.run.outcome.is_complete(), survives, "{system:?} {record:?}");
        assert_eq!(record.run.measured().failure, None);
    }
}

#[test]
fn peer_that_dies_in_mid_run_is_a_reset_and_not_a_hang() {
    let Some(bench) = Bench::new() else { return };
    let (system, traffic) = (tcp(0), Traffic::BulkSize(BULK));
    let limit = base::Duration::from_secs(15);
    let run = SutRun { system: &system, traffic: &traffic, reverse: false, limit };
    let record = thread::scope(|scope| {
        let running = scope.spawn(|| run_once(bench.paths(), &run));
        wait_until(|| bench.world.carried(0) > 2000);
        // As the kernel does when a process with a socket ends.
        let kill = || Command::new("ss").args(["-K", "state", "established"]).output();
        let killed = bench.world.peer.run(kill).expect("the namespace").expect("ss(8)");
        assert!(String::from_utf8_lossy(&killed.stdout).contains("10.2.0.1"), "{killed:?}");
        running.join().expect("no panic").expect("a record")
    });
    assert_eq!(record.run.measured().failure, Some(StreamFailure::Reset), "{record:?}");
    assert!(!record.run.outcome.is_complete() && record.run.ended < limit, "{record:?}");
}

#[test]
fn refused_connection_is_part_of_the_record() {
    let Some(bench) = Bench::new() else { return };
    // The address belongs to no host, and the far kernel reports that.
    let mut paths = bench.paths.clone();
    paths[0].server = Ipv4Addr::LOCALHOST.into();
    let world = &bench.world;
    let paths = SutPaths { client: &world.engine, server: &world.peer, paths: &paths };
    let traffic = Traffic::BulkSize(1000);
    let limit = base::Duration::from_secs(5);
    let run = SutRun { system: &tcp(0), traffic: &traffic, reverse: false, limit };
    let record = run_once(paths, &run).expect("a record");
    assert!(
        record.run.measured().failure.is_some() && !record.run.outcome.is_complete(),
        "{record:?}"
    );
    assert_ne!(record.run.measured().failure, Some(StreamFailure::TimedOut));
}

#[test]
fn runs_one_after_another_leave_nothing_in_the_namespaces() {
    let Some(bench) = Bench::new() else { return };
    let devices = |namespace: &linux::Namespace| {
        let links = namespace.configure(|netlink| netlink.links()).expect("the devices");
        links.into_iter().map(|link| link.name).collect::<Vec<_>>()
    };
    let connections = |namespace: &linux::Namespace| {
        let all = namespace.run(|| linux::sock_diag::SockDiag::open()?.tcp(true));
        all.expect("the namespace").expect("a diagnosis")
    };
    let before = [&bench.world.engine, &bench.world.peer].map(devices);
    for _ in 0..2 {
        for system in [tcp(0), mptcp(), engine()] {
            let timed = Traffic::BulkTime(base::Duration::from_millis(300));
            bench.run(&system, &timed);
            for namespace in [&bench.world.engine, &bench.world.peer] {
                wait_until(|| connections(namespace).is_empty());
            }
        }
    }
    assert_eq!([&bench.world.engine, &bench.world.peer].map(devices), before);
}

#[test]
fn path_that_is_not_there_is_a_mistake_of_the_caller() {
    let Some(bench) = Bench::new() else { return };
    let error = bench.try_run(&tcp(2), &Traffic::BulkSize(1), false).expect_err("no such path");
    assert!(matches!(error, LiveError::Usage(_)), "{error}");
    let config = MptcpConfig::default();
    let system =
        SystemUnderTest::Engine { path: 9, config: ProtocolConfig::Mptcp(Box::new(config)) };
    assert!(bench.try_run(&system, &Traffic::BulkSize(1), false).is_err());
}
