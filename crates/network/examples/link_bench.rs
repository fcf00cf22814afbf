//! What a packet costs on a link: CPU time of `enqueue` and `poll`, in ns per packet.
//!
//! Run with `cargo run --release -p anabranch-network --example link_bench`; the time is that of
//! the thread as Linux accounts it, so other load on the machine matters little.

use base::{Chance, Context, Duration, Instant, LinkId, Rate};
use network::{Capacity, CapacityTrace, Jitter, Limit, Link, LinkConfig, LossConfig, QueueConfig};
use std::net::IpAddr;
use std::sync::Arc;
use wire::{Body, Packet, Payload, TcpSegment};

const PACKETS: u64 = 5_000_000;

fn main() {
    let base = LinkConfig {
        capacity: Capacity::Rate(Rate::from_mbit(100)),
        delay: Duration::from_millis(10),
        limit: Limit::Packets(100),
        ..LinkConfig::default()
    };
    println!("a packet is {} bytes", size_of::<Packet>());
    run_without_link();
    run("rate, delay, drop-tail", &base);
    run(
        "the same, loss 1 %",
        &LinkConfig { loss: LossConfig::Bernoulli { p: 0.01 }, ..base.clone() },
    );
    run(
        "the same, jitter 2 ms",
        &LinkConfig { jitter: Jitter::uniform(Duration::from_millis(2)), ..base.clone() },
    );
    let red = QueueConfig::Red { min_packets: 30.0, max_packets: 90.0, max_p: 0.1 };
    run("the same, red", &LinkConfig { queue: red, ..base.clone() });
    run("the same, codel", &LinkConfig { queue: QueueConfig::CoDel, ..base.clone() });
    run("the same, fq_codel", &LinkConfig { queue: QueueConfig::FqCoDel, ..base.clone() });
    let steps = [
        (Duration::from_secs(1), Rate::from_mbit(80)),
        (Duration::from_secs(1), Rate::from_mbit(120)),
    ];
    if let (Ok(steps), Ok(chances)) = (
        CapacityTrace::from_steps(&steps),
        CapacityTrace::from_chances((0..60_000).map(|n| n * 12 / 100).collect()),
    ) {
        let trace =
            |trace| Capacity::Trace { trace: Arc::new(trace), offset: Duration::from_millis(3) };
        run("recorded steps", &LinkConfig { capacity: trace(steps), ..base.clone() });
        run("recorded chances", &LinkConfig { capacity: trace(chances), ..base.clone() });
    }
    run("unlimited rate", &LinkConfig { capacity: Capacity::Unlimited, ..base });
}

/// What making a packet and dropping it costs: part of every other figure.
fn run_without_link() {
    let begin = cpu_ns();
    for _ in 0..PACKETS {
        drop(std::hint::black_box(packet()));
    }
    println!("no link: {:.1} ns/packet", (cpu_ns() - begin) as f64 / PACKETS as f64);
}

/// Offer packets a little above the rate, as a window of TCP would, polling when due.
fn run(name: &str, config: &LinkConfig) {
    let mut link = Link::new(LinkId(0), config.clone(), 1);
    let chance = Chance::new(1, 0);
    let mut out = 0u64;
    let begin = cpu_ns();
    for i in 0..PACKETS {
        let now = Instant::from_nanos(i * 119_000);
        while let Some(due) = link.next_deadline()
            && due <= now
        {
            let mut cx = Context::quiet(due, chance);
            while let Some(packet) = link.poll(&mut cx) {
                out += u64::from(std::hint::black_box(&packet).hop_limit);
            }
        }
        link.enqueue(&mut Context::quiet(now, chance), packet());
    }
    let ns = (cpu_ns() - begin) as f64 / PACKETS as f64;
    let stats = link.stats();
    println!("{name}: {ns:.1} ns/packet ({} delivered, check {out})", stats.delivered);
}

fn packet() -> Packet {
    let payload = Payload::virtual_range(1, 0, 1448);
    let segment = TcpSegment { payload, ..TcpSegment::default() };
    Packet::new(IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]), Body::Tcp(segment))
}

/// CPU time of this thread in ns, from the scheduler's statistics; 0 where there are none.
fn cpu_ns() -> u64 {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .unwrap_or(0)
}
