//! A split-TCP proxy on a path: TCP passes it, MPTCP falls back there.

use base::{Duration, Rate};
use harness::RunRecord;
use network::{Capacity, Limit, LinkChange, LinkConfig, LossConfig};
use simulator::{
    Carrier, Direction, Multipath, PathEvent, PathSetup, RunSetup, SharedLink, simulate,
};
use traffic::Traffic;
use transport::Protocol;

const BYTES: u64 = 2 << 20;

/// Paths of 20 Mbit/s with a round trip of 10 ms and losses, `proxies` of them through a proxy, and
/// 100 ms behind them.
fn run(carrier: Carrier, paths: usize, proxies: &[usize]) -> RunRecord {
    let link = LinkConfig {
        capacity: Capacity::Rate(Rate::from_mbit(20)),
        delay: Duration::from_millis(5),
        limit: Limit::Packets(60),
        loss: LossConfig::Bernoulli { p: 0.01 },
        ..LinkConfig::default()
    };
    let both = |name: String, link: &LinkConfig| {
        let (down, up) = (link.clone(), link.clone());
        PathSetup { name, down, up, events: Vec::new() }
    };
    let own = (0..paths).map(|number| both(format!("p{number}"), &link)).collect();
    let mut setup = RunSetup::new(own, carrier, Traffic::BulkSize(BYTES));
    let core = LinkConfig { delay: Duration::from_millis(50), ..LinkConfig::default() };
    let all = (0..paths).collect();
    setup.network.links = vec![SharedLink { link: both("core".to_owned(), &core), paths: all }];
    setup.network.proxies = proxies.to_vec();
    setup.recording.pass_through = true;
    simulate(&setup).unwrap()
}

#[test]
fn losses_are_repaired_on_this_side_of_the_proxy() {
    let tcp = || Carrier::Single(Protocol::Tcp);
    let (split, whole) = (run(tcp(), 1, &[0]), run(tcp(), 1, &[]));
    let [split, whole] = [split, whole].map(|record| {
        assert_eq!(record.measured().bytes_read, BYTES);
        record.outcome.value.unwrap()
    });
    println!("{split} s and {whole} s");
    assert!(split * 2.0 < whole && split > BYTES as f64 * 8.0 / 20e6, "{split} s, {whole} s");
}

#[test]
fn mptcp_is_tcp_on_the_first_path_and_does_not_join_another_one() {
    for (proxies, carries) in [(&[0][..], 0), (&[1], 0), (&[0, 1], 0)] {
        let record = run(Multipath::default().into(), 2, proxies);
        assert!(record.outcome.is_complete() && record.measured().failure.is_none(), "{proxies:?}");
        let sent = &record.measured().sent.first_sent_bytes;
        assert_eq!(sent.get(carries).copied(), Some(BYTES), "{proxies:?}: {sent:?}");
    }
}

/// The delay of a burst after an idle time over a path with a proxy, on which `p` of the packets to
/// the proxy are lost.
fn burst(p: f64, seed: u64, events: Vec<PathEvent>) -> f64 {
    let down = LinkConfig {
        capacity: Capacity::Rate(Rate::from_mbit(2)),
        delay: Duration::from_millis(10),
        ..LinkConfig::default()
    };
    let up = LinkConfig { loss: LossConfig::Bernoulli { p }, ..down.clone() };
    let path = PathSetup { name: "p".to_owned(), down, up, events };
    let traffic = Traffic::Burst { segments: 12, segment_bytes: 1420 };
    let mut setup = RunSetup::new(vec![path], Carrier::Single(Protocol::Tcp), traffic);
    setup.network.proxies = vec![0];
    setup.seed = seed;
    simulate(&setup).unwrap().outcome.value.unwrap()
}

#[test]
fn timers_of_a_proxy_outlast_changes_of_its_link_and_lost_packets() {
    let same = LinkChange::Delay(Duration::from_millis(10));
    let at = Duration::from_millis(300);
    let changed = burst(0.0, 1, vec![PathEvent { at, direction: Direction::Both, change: same }]);
    assert_eq!(changed, burst(0.0, 1, Vec::new()), "the same delay again changes nothing");
    for seed in 1..=20 {
        assert!(burst(0.3, seed, Vec::new()) < 60.0, "seed {seed}");
    }
}
