//! A split-TCP proxy on a path: TCP passes it, MPTCP falls back there.

use base::{Duration, Rate};
use harness::RunRecord;
use network::{Capacity, Limit, LinkConfig, LossConfig};
use simulator::{Carrier, Multipath, PathSetup, RunSetup, SharedLink, simulate};
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
