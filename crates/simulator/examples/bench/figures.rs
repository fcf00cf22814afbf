//! The figures: what is simulated and what is printed.

use crate::meter::{cpu_seconds, peak_kib, resident_kib};
use base::{Chance, Duration, HostId, Instant, InterfaceId, Rate};
use network::{Capacity, End, Limit, LinkConfig, LinkEnds, Network};
use simulator::{
    Carrier, Endpoint, Multipath, NicSetup, PathSetup, ProcessingCost, Recording, RunSetup, World,
    simulate,
};
use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use traffic::{Half, Role, Traffic};
use transport::sctp::cmt::CmtConfig;
use transport::sctp::{Addresses, RtxPolicy, SctpConfig};
use transport::{InterfaceConfig, Protocol, ProtocolConfig, StackConfig};

const CLIENT: HostId = HostId(0);
const SERVER: HostId = HostId(1);
const FIRST_PORT: u16 = 5001;
/// Longer than any figure: the transfer never ends.
const FOREVER: Traffic = Traffic::BulkTime(Duration::from_secs(1_000_000));

/// One connection over links of its own, many times.
struct Shape {
    connections: u16,
    rate: Rate,
    delay: Duration,
    traffic: Traffic,
    protocol: fn() -> ProtocolConfig,
}

/// The transfer that `sim/tcp-bulk` is about.
const TCP_BULK: Shape = Shape {
    connections: 1,
    rate: Rate::from_mbit(100),
    delay: Duration::from_millis(10),
    traffic: FOREVER,
    protocol: ProtocolConfig::default,
};

/// The same over SCTP, ordered.
const SCTP_BULK: Shape = Shape { protocol: || ProtocolConfig::Sctp(Box::default()), ..TCP_BULK };

/// A fixed amount of integer work: how fast this machine is today.
pub(crate) fn calibration() -> Result<(), String> {
    let begin = cpu_seconds();
    let mut x = 0x9E37_79B9_7F4A_7C15u64;
    for _ in 0..200_000_000u32 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    std::hint::black_box(x);
    line("calibration/loop", format_args!("{:.1}", (cpu_seconds() - begin) * 1e3), "ms");
    Ok(())
}

/// 100 Mbit/s, 10 ms one way, 100 packets of queue, 100 s of virtual time.
fn bulk(name: &str, shape: &Shape) -> Result<(), String> {
    let mut world = build(shape)?;
    let begin = cpu_seconds();
    run_to(&mut world, 100)?;
    let seconds = cpu_seconds() - begin;
    let packets = world.counters(CLIENT).data_packets;
    rate_line(name, packets, seconds);
    line(&format!("{name}-goodput"), goodput(packets, 100, shape.rate), "of_rate");
    Ok(())
}

/// One TCP connection.
pub(crate) fn tcp_bulk() -> Result<(), String> {
    bulk("sim/tcp-bulk", &TCP_BULK)
}

/// One association on the network of `sim/tcp-bulk`.
pub(crate) fn sctp_bulk() -> Result<(), String> {
    bulk("sim/sctp-bulk", &SCTP_BULK)
}

/// The same, with every packet written as bytes and parsed again, which takes its CRC32c twice.
pub(crate) fn sctp_bulk_bytes() -> Result<(), String> {
    let path = bench_path("lan", 100, 10);
    let traffic = Traffic::BulkTime(Duration::from_secs(100));
    let mut setup = RunSetup::new(vec![path], Carrier::Sctp(Box::default()), traffic);
    setup.recording.pass_through = true;
    setup.recording.hash = false;
    let begin = cpu_seconds();
    let record = simulate(&setup).map_err(|error| error.to_string())?;
    let seconds = cpu_seconds() - begin;
    rate_line("sim/sctp-bulk-pass-through", record.measured().data_packets, seconds);
    Ok(())
}

/// 25 Mbit/s, 20 ms and 4 Mbit/s, 70 ms at once, 300 s of virtual time; lrf and cubic.
pub(crate) fn mptcp_two_path() -> Result<(), String> {
    two_path("sim/mptcp-two-path", Multipath::default().into())
}

/// The same network with CMT-SCTP; send-all and reno.
pub(crate) fn cmt_two_path() -> Result<(), String> {
    two_path("sim/cmt-two-path", cmt())
}

fn cmt() -> Carrier {
    let (addresses, cmt) = (Addresses::All, Some(CmtConfig::default()));
    let rtx_policy = RtxPolicy::Rtt;
    Carrier::Sctp(Box::new(SctpConfig { addresses, cmt, rtx_policy, ..SctpConfig::default() }))
}

fn two_path(name: &str, carrier: Carrier) -> Result<(), String> {
    let setup = two_paths(Duration::from_secs(300), carrier);
    let begin = cpu_seconds();
    let record = simulate(&setup).map_err(|error| error.to_string())?;
    let seconds = cpu_seconds() - begin;
    rate_line(name, record.measured().data_packets, seconds);
    let goodput = record.outcome.value.unwrap_or(f64::NAN) / 1e6;
    line(&format!("{name}-goodput"), format_args!("{goodput:.2}"), "Mbit/s");
    Ok(())
}

/// A piece of `sim/mptcp-two-path` for `instructions` to count; prints its packets.
pub(crate) fn work_mptcp(seconds: u64) -> Result<(), String> {
    work_two_path(seconds, Multipath::default().into())
}

/// A piece of `sim/cmt-two-path`.
pub(crate) fn work_cmt(seconds: u64) -> Result<(), String> {
    work_two_path(seconds, cmt())
}

fn work_two_path(seconds: u64, carrier: Carrier) -> Result<(), String> {
    let setup = two_paths(Duration::from_secs(seconds), carrier);
    let record = simulate(&setup).map_err(|error| error.to_string())?;
    println!("{}", record.measured().data_packets);
    Ok(())
}

fn two_paths(time: Duration, carrier: Carrier) -> RunSetup {
    let paths = vec![bench_path("wlan", 25, 20), bench_path("3g", 4, 70)];
    let mut setup = RunSetup::new(paths, carrier, Traffic::BulkTime(time));
    setup.recording.hash = false;
    setup
}

fn bench_path(name: &str, mbit: u64, delay_ms: u64) -> PathSetup {
    let link = LinkConfig {
        capacity: Rate::from_mbit(mbit).into(),
        delay: Duration::from_millis(delay_ms),
        limit: Limit::Packets(100),
        ..LinkConfig::default()
    };
    PathSetup { name: name.into(), down: link.clone(), up: link, events: Vec::new() }
}

/// Each 1 Mbit/s, 20 ms, 100 packets, own links, in the steady state after 20 s.
pub(crate) fn connections(count: u16) -> Result<(), String> {
    let mut world = build(&slow_connections(count, FOREVER))?;
    run_to(&mut world, 20)?;
    let warm_up = world.counters(CLIENT).data_packets;
    // The same number of packets for every count, as far as whole cycles of the window allow.
    let seconds = (7_200 / u64::from(count)).max(20);
    let begin = cpu_seconds();
    run_to(&mut world, 20 + seconds)?;
    let cpu = cpu_seconds() - begin;
    let packets = world.counters(CLIENT).data_packets - warm_up;
    let name = format!("sim/connections-{count}");
    rate_line(&name, packets, cpu);
    line(&format!("{name}-peak"), format_args!("{:.0}", peak_kib()), "KiB");
    if count > 1 {
        // What the program itself takes is under 4 MiB and is counted in.
        let each = peak_kib() / f64::from(count);
        line(&format!("{name}-peak-each"), format_args!("{each:.1}"), "KiB");
    }
    Ok(())
}

/// Connections that are established and have sent nothing but the request: both ends, with their
/// share of NICs and links.
pub(crate) fn idle(count: u16) -> Result<(), String> {
    let before = resident_kib();
    // The first frame of a video is due half a second after the request.
    let shape = slow_connections(count, Traffic::video(Duration::from_secs(60)));
    let mut world = build(&shape)?;
    let unconnected = resident_kib();
    run_millis(&mut world, 450)?;
    let each = |kib: f64| kib / f64::from(count);
    line("sim/idle-world-each", format_args!("{:.2}", each(unconnected - before)), "KiB");
    line("sim/idle-connection", format_args!("{:.2}", each(resident_kib() - unconnected)), "KiB");
    Ok(())
}

/// Instructions per data packet, by the difference of two runs under valgrind, so that neither
/// start nor end counts. Virtual machines often hide the processor's own counters. `recorded`: the
/// same with what a study records by default. Without SHA-256, which valgrind has only in software.
pub(crate) fn instructions() -> Result<(), String> {
    for (name, short, long) in [
        ("sim/tcp-bulk-instructions", "work/tcp-bulk-2s", "work/tcp-bulk-6s"),
        ("sim/sctp-bulk-instructions", "work/sctp-bulk-2s", "work/sctp-bulk-6s"),
        ("sim/mptcp-two-path-instructions", "work/mptcp-two-path-10s", "work/mptcp-two-path-30s"),
        ("sim/cmt-two-path-instructions", "work/cmt-two-path-10s", "work/cmt-two-path-30s"),
        ("sim/tcp-recorded-instructions", "work/tcp-recorded-2s", "work/tcp-recorded-6s"),
        ("sim/mptcp-recorded-instructions", "work/mptcp-recorded-10s", "work/mptcp-recorded-30s"),
    ] {
        let runs = count_work(short).zip(count_work(long));
        match runs.map(|((before, packets), (after, more))| (after - before) / (more - packets)) {
            Some(value) => line(name, format_args!("{value:.0}"), "instructions/packet"),
            None => line(name, "n/a", "instructions/packet"),
        }
    }
    Ok(())
}

/// The network of `sim/tcp-bulk` with what a study records by default; prints its packets.
pub(crate) fn work_recorded_tcp(seconds: u64) -> Result<(), String> {
    let traffic = Traffic::BulkTime(Duration::from_secs(seconds));
    let path = bench_path("lan", 100, 10);
    recorded(RunSetup::new(vec![path], Carrier::Single(Protocol::Tcp), traffic))
}

/// The same of `sim/mptcp-two-path`.
pub(crate) fn work_recorded_mptcp(seconds: u64) -> Result<(), String> {
    recorded(two_paths(Duration::from_secs(seconds), Multipath::default().into()))
}

fn recorded(mut setup: RunSetup) -> Result<(), String> {
    setup.recording = Recording { accounts: true, ..Recording::default() };
    let record = simulate(&setup).map_err(|error| error.to_string())?;
    println!("{}", record.measured().data_packets);
    Ok(())
}

/// A piece of `sim/tcp-bulk` for `instructions` to count; prints its packets.
pub(crate) fn work(seconds: u64) -> Result<(), String> {
    piece(&TCP_BULK, seconds)
}

/// A piece of `sim/sctp-bulk`.
pub(crate) fn work_sctp(seconds: u64) -> Result<(), String> {
    piece(&SCTP_BULK, seconds)
}

fn piece(shape: &Shape, seconds: u64) -> Result<(), String> {
    let mut world = build(shape)?;
    run_to(&mut world, seconds)?;
    println!("{}", world.counters(CLIENT).data_packets);
    Ok(())
}

/// A piece of `sim/connections-N` for a profiler to look at; prints its packets.
pub(crate) fn work_connections(count: u16, seconds: u64) -> Result<(), String> {
    let mut world = build(&slow_connections(count, FOREVER))?;
    run_to(&mut world, seconds)?;
    println!("{}", world.counters(CLIENT).data_packets);
    Ok(())
}

/// Instructions and packets of a figure; the instructions of SHA-256 are left out.
fn count_work(name: &str) -> Option<(f64, f64)> {
    let program = std::env::current_exe().ok()?;
    let counted = std::env::temp_dir().join(format!("bench-{}.cachegrind", std::process::id()));
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no"])
        .arg(format!("--cachegrind-out-file={}", counted.display()))
        .arg(program)
        .args(["--only", name])
        .output()
        .ok()?;
    let packets = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
    let report = std::fs::read_to_string(&counted).ok()?;
    std::fs::remove_file(&counted).ok()?;
    Some((instructions_of(&report), packets))
}

/// The sum of a file of cachegrind: `fn=NAME`, then lines of source line and instructions.
fn instructions_of(report: &str) -> f64 {
    let mut sum = 0.0;
    let mut counts = false;
    for line in report.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            // The second one turns its blocks into numbers.
            counts = !name.contains("sha2::sha256") && !name.contains("try_trait::Wrapped");
        } else if counts && line.starts_with(|first: char| first.is_ascii_digit()) {
            sum += line.split_once(' ').and_then(|(_, count)| count.parse().ok()).unwrap_or(0.0);
        }
    }
    sum
}

const fn slow_connections(count: u16, traffic: Traffic) -> Shape {
    Shape {
        connections: count,
        rate: Rate::from_mbit(1),
        delay: Duration::from_millis(20),
        traffic,
        protocol: ProtocolConfig::default,
    }
}

/// One client and one server stack that hold all connections.
fn build(shape: &Shape) -> Result<World<Half>, String> {
    let network = network(shape.connections);
    let chance = Chance::new(1, 0);
    let mut world = World::new(chance, &network).map_err(|error| error.to_string())?;
    let link = LinkConfig {
        capacity: Capacity::Rate(shape.rate),
        delay: shape.delay,
        limit: Limit::Packets(100),
        ..LinkConfig::default()
    };
    for (owner, _) in network.links.iter().enumerate() {
        world.add_link(link.clone(), owner as u64);
    }
    let nic = Some(NicSetup::default());
    for host in [CLIENT, SERVER] {
        world.add_host(stack(host, shape.connections), ProcessingCost::default(), nic);
    }
    for number in 0..shape.connections {
        add_connection(&mut world, shape, number).map_err(|error| error.to_string())?;
    }
    Ok(world)
}

fn network(connections: u16) -> Network {
    let links = (0..connections).flat_map(|number| {
        let [client, server] = [CLIENT, SERVER].map(|host| End::Host(host, InterfaceId(number)));
        [LinkEnds { from: server, to: client }, LinkEnds { from: client, to: server }]
    });
    Network { links: links.collect(), routes: Vec::new() }
}

fn stack(host: HostId, connections: u16) -> StackConfig {
    let interfaces = (0..connections)
        .map(|number| InterfaceConfig { addresses: vec![address(host, number).into()], mtu: 1500 })
        .collect();
    StackConfig { interfaces, ..StackConfig::default() }
}

fn address(host: HostId, number: u16) -> Ipv4Addr {
    Ipv4Addr::new(10, (number >> 8) as u8, number as u8, host.0 as u8 + 1)
}

fn add_connection(
    world: &mut World<Half>,
    shape: &Shape,
    number: u16,
) -> Result<(), transport::SocketError> {
    let port = FIRST_PORT + number;
    for (host, role) in [(CLIENT, Role::Client), (SERVER, Role::Server)] {
        let endpoint = Endpoint {
            local: address(host, number).into(),
            remote: SocketAddr::new(address(SERVER, number).into(), port),
            listen: (host == SERVER).then_some(port),
            // Not in step with each other: spread over the first 300 ms.
            starts_at: Instant::from_micros(u64::from(number) * 300_000 / 1000),
            socket: (shape.protocol)(),
        };
        let application = Half::new(&shape.traffic, role, false, u32::from(number));
        world.add_application(host, application, endpoint)?;
    }
    Ok(())
}

fn run_to(world: &mut World<Half>, seconds: u64) -> Result<(), String> {
    run_millis(world, seconds * 1000)
}

fn run_millis(world: &mut World<Half>, millis: u64) -> Result<(), String> {
    world.run_until(Instant::from_millis(millis), |_| false).map_err(|error| error.to_string())?;
    Ok(())
}

/// Share of the link that was used: a sanity check of what was simulated.
fn goodput(packets: u64, seconds: u64, rate: Rate) -> String {
    let bits = packets as f64 * 1500.0 * 8.0;
    format!("{:.3}", bits / (rate.as_bps() * seconds) as f64)
}

fn rate_line(name: &str, packets: u64, seconds: f64) {
    line(name, format_args!("{:.0}", packets as f64 / seconds), "packets/cpu_s");
}

pub(crate) fn line(name: &str, value: impl Display, unit: &str) {
    println!("{name} {value} {unit}");
}
