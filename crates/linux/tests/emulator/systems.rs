//! Systems under test over emulated links: kernel TCP, kernel MPTCP and the engine, side by side.
//!
//! Order and plausibility, and the figures with `--nocapture`; how near a simulation is to a
//! kernel is another study.

use crate::world::{emulator, link, path, run_over, turn};
use base::Duration;
use linux::sut::{EmulatedSut, KernelSettings, SutRun, SystemUnderTest, run_emulated};
use traffic::Traffic;
use transport::{Buffers, Protocol, ProtocolConfig, TcpConfig};

const BULK: u64 = 2 << 20;

fn systems() -> [(&'static str, SystemUnderTest); 5] {
    let settings =
        || KernelSettings { congestion: "cubic".to_owned(), buffers: Buffers::default() };
    let tcp =
        |path| SystemUnderTest::Kernel { path, protocol: Protocol::Tcp, settings: settings() };
    let config = ProtocolConfig::Tcp(TcpConfig::default());
    [
        ("kernel-tcp a", tcp(0)),
        ("kernel-tcp b", tcp(1)),
        (
            "kernel-mptcp",
            SystemUnderTest::Kernel { path: 0, protocol: Protocol::Mptcp, settings: settings() },
        ),
        ("engine tcp a", SystemUnderTest::Engine { path: 0, config }),
        (
            "engine mptcp",
            SystemUnderTest::Engine { path: 0, config: ProtocolConfig::Mptcp(Box::default()) },
        ),
    ]
}

fn describe(name: &str, done: &EmulatedSut) -> String {
    let EmulatedSut { system, quality, attempt } = done;
    format!(
        "{name}: {:.4} {}, sent {:?}, again {}, attempt {attempt}, {:?} at the median",
        system.run.outcome.value.unwrap_or(f64::NAN),
        system.run.outcome.metric.unit(),
        system.run.measured().sent.first_sent_bytes,
        system.run.measured().sent.retransmitted_segs,
        quality.median
    )
}

#[test]
fn two_paths_are_faster_than_either_for_kernel_and_engine() {
    let _turn = turn();
    let paths = [path("a", link(16, 10, 0.0)), path("b", link(10, 15, 0.0))];
    let Some(mut emulator) = emulator(&paths, false) else { return };
    if !emulator.server.mptcp {
        println!("skipped: the kernel has no MPTCP (sudo sysctl -w net.mptcp.enabled=1)");
        return;
    }
    let traffic = Traffic::BulkSize(BULK);
    let times = systems().map(|(name, system)| {
        let limit = Duration::from_secs(30);
        let run = SutRun { system: &system, traffic: &traffic, reverse: false, limit };
        let done = run_emulated(&mut emulator, &run_over(&paths), &run).expect("a run");
        println!("{}", describe(name, &done));
        let carried: u64 = done.system.run.links.iter().map(|path| path.down.bytes_delivered).sum();
        // Headers included; what was sent again may have been dropped before.
        assert!(carried > BULK && carried < BULK * 3 / 2, "{name}: {carried} bytes on the links");
        assert!(done.system.run.measured().data_packets >= BULK / 1460, "{name}");
        (done.quality.is_valid(), done.system.run.outcome.value.expect("a time"))
    });
    let [a, b, kernel, engine_a, engine] = times;
    if ![a, b, kernel, engine_a, engine].iter().all(|(valid, _)| *valid) {
        println!("skipped: the machine is too busy to tell the order");
        return;
    }
    // At the rate of the links: 16 and 10 Mbit/s, 26 together.
    assert!(a.1 > 1.05 && b.1 > 1.68 && kernel.1 > 0.64 && engine.1 > 0.64, "{times:?}");
    assert!(a.1 < b.1 && kernel.1 < a.1 && engine.1 < engine_a.1, "{times:?}");
}

#[test]
fn call_and_burst_over_emulated_links_have_delays_above_the_links() {
    let _turn = turn();
    let paths = [path("a", link(16, 10, 0.0)), path("b", link(10, 15, 0.0))];
    let Some(mut emulator) = emulator(&paths, false) else { return };
    let limit = Duration::from_secs(30);
    for traffic in [
        Traffic::video(Duration::from_secs(2)),
        Traffic::Burst { segments: 20, segment_bytes: 1420 },
    ] {
        for (name, system) in systems() {
            if name == "kernel-mptcp" && !emulator.server.mptcp {
                continue;
            }
            let run = SutRun { system: &system, traffic: &traffic, reverse: false, limit };
            let done = run_emulated(&mut emulator, &run_over(&paths), &run).expect("a run");
            println!("{}", describe(name, &done));
            let delays = &done.system.run.outcome.message_delays;
            assert!(delays.iter().all(|delay| *delay >= 0.010), "{name}: {delays:?}");
            assert!(done.system.run.outcome.is_complete() && !delays.is_empty(), "{name}");
        }
    }
}
