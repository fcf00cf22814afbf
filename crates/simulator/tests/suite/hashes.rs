//! Result hashes of runs that no option of the command line asks for: IPv6, DSS checksums, large
//! datagrams, first thresholds, Nagle, pacing, processing cost, ends of runs. The others are in
//! `crates/cli/tests/hashes`.

use crate::multipath::{multipath, over};
use crate::pair::{link, one_path, record, with};
use base::{Duration, Rate, Ways};
use network::{Limit, LinkConfig, LossConfig, NicSetup};
use simulator::{FlowSetup, ProcessingCost, RunSetup, Until};
use traffic::Traffic;

/// Name and the first eight bytes of the hash.
const RECORDED: [(&str, &str); 16] = [
    ("ipv6-tcp", "c9318e5644e238ad"),
    ("ipv6-mptcp", "753954fdb7510339"),
    ("checksum", "b94e47d6cdd3ec60"),
    ("checksum-ipv6", "590bc263f5c0f12d"),
    ("mtu-tcp", "d7de4fb4b81bbba1"),
    ("mtu-mptcp", "b7404196958491a0"),
    ("ssthresh-tcp", "09c52be071d391e6"),
    ("ssthresh-mptcp", "4f9385b1f0ac38d5"),
    ("nagle-tcp", "a86f1ea6bb6f446d"),
    ("nagle-mptcp", "71b18a345bfa7212"),
    ("pacing-tcp", "7bdd491c79e4970e"),
    ("pacing-mptcp", "30035573a0fb7e91"),
    ("cost-tcp", "77ddec0bc184bd01"),
    ("cost-mptcp", "48876798081cdb7d"),
    ("closed-tcp", "d0d84e20c1710a56"),
    ("closed-mptcp", "2aad9e0c5689686b"),
];

fn lossy(mbit: u64, delay_ms: u64) -> LinkConfig {
    LinkConfig { loss: LossConfig::Bernoulli { p: 0.01 }, ..link(mbit, delay_ms) }
}

fn tcp() -> RunSetup {
    one_path(&lossy(20, 15), Traffic::BulkSize(2_000_000))
}

fn mptcp() -> RunSetup {
    over(&[lossy(20, 15), link(8, 40)], "lrf", Traffic::BulkSize(2_000_000))
}

fn checksum(setup: &mut RunSetup) {
    multipath(setup).checksum = true;
    setup.network.paths[0].down.corrupt = 0.02;
}

fn costs(setup: &mut RunSetup) {
    let per_segment = Duration::from_micros(300);
    setup.client_cost = ProcessingCost { per_segment, ..ProcessingCost::default() };
    let per_decision = Duration::from_micros(100);
    setup.server_cost = ProcessingCost { per_segment, per_decision, ..ProcessingCost::default() };
}

fn setups() -> Vec<(&'static str, RunSetup)> {
    vec![
        ("ipv6-tcp", with(tcp(), |setup| setup.network.ipv6 = true)),
        ("ipv6-mptcp", with(mptcp(), |setup| setup.network.ipv6 = true)),
        ("checksum", with(mptcp(), checksum)),
        ("checksum-ipv6", with(with(mptcp(), checksum), |setup| setup.network.ipv6 = true)),
        ("mtu-tcp", with(tcp(), |setup| setup.network.mtu = 9000)),
        ("mtu-mptcp", with(mptcp(), |setup| setup.network.mtu = 600)),
        ("ssthresh-tcp", with(tcp(), |setup| setup.flows[0].tcp.initial_ssthresh_segs = Some(45))),
        (
            "ssthresh-mptcp",
            with(mptcp(), |setup| setup.flows[0].tcp.initial_ssthresh_segs = Some(20)),
        ),
        ("nagle-tcp", with(tcp(), |setup| setup.flows[0].tcp.nagle = true)),
        ("nagle-mptcp", with(mptcp(), |setup| setup.flows[0].tcp.nagle = true)),
        ("pacing-tcp", with(tcp(), |setup| setup.flows[0].tcp.pacing = true)),
        ("pacing-mptcp", with(mptcp(), |setup| setup.flows[0].tcp.pacing = true)),
        ("cost-tcp", with(tcp(), costs)),
        ("cost-mptcp", with(mptcp(), costs)),
        ("closed-tcp", with(tcp(), |setup| setup.until = Until::Closed)),
        ("closed-mptcp", with(mptcp(), |setup| setup.until = Until::Closed)),
    ]
}

fn hash(setup: &RunSetup) -> String {
    let hash = record(setup).hash().unwrap();
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn results_without_an_option_are_those_recorded() {
    let found: Vec<(&str, String)> =
        setups().iter().map(|(name, setup)| (*name, hash(setup))).collect();
    let found: Vec<(&str, &str)> = found.iter().map(|(name, hash)| (*name, &**hash)).collect();
    assert_eq!(found, RECORDED, "CONTRIBUTING: Result hashes");
}

#[test]
fn short_ways_change_no_result_without_an_option() {
    for (name, setup) in setups() {
        let whole = with(setup.clone(), |setup| setup.ways = Ways::Whole);
        assert_eq!(hash(&whole), hash(&setup), "{name}");
    }
}

/// Departures that are known in advance need no event. With slow cards other events come before
/// them or at the same time, new data wait for them, and short queues drop packets.
#[test]
fn departures_without_an_event_change_no_result() {
    let cards = [10, 15, 20, 30, 40, 60, 80, 120, 200, 1000, 2000].into_iter();
    let cards = cards.flat_map(|mbit| [0, 1, 2, 3, 5, 1000].map(|queue| (mbit, queue)));
    for (number, (mbit, queue_packets)) in (0u64..).zip(cards) {
        let nic = NicSetup { rate: Rate::from_mbit(mbit), queue_packets };
        for setup in [tcp(), mptcp(), with(mptcp(), |setup| setup.flows[0].tcp.pacing = true)] {
            let short = with(setup, |setup| {
                setup.network.nic = Some(nic);
                setup.run = number % 4;
            });
            let whole = with(short.clone(), |setup| setup.ways = Ways::Whole);
            assert_eq!(hash(&whole), hash(&short), "{mbit} Mbit/s, {queue_packets} packets");
        }
    }
}

/// Packets that cards of equal rate begin with at the same time depart at the same time: in the
/// order in which they were sent.
#[test]
fn departures_at_one_time_change_no_result() {
    for run in 0..8 {
        let links = [lossy(20, 20), link(8, 20), link(4, 20)];
        let short = over(&links, "rr", Traffic::BulkSize(3_000_000));
        let short = with(short, |setup| setup.run = run);
        let whole = with(short.clone(), |setup| setup.ways = Ways::Whole);
        assert_eq!(hash(&whole), hash(&short), "run {run}");
    }
}

/// Regression: events at the time of the departures of two cards were before both or behind both,
/// and departures at one time were in the order of sending.
#[test]
fn events_between_departures_at_one_time_change_no_result() {
    let nic = NicSetup { rate: Rate::from_mbit(500), queue_packets: 1000 };
    let beside = |path| FlowSetup::new(&[path], Traffic::BulkTime(Duration::from_secs(600)));
    for (mbit, flows) in [(100, [1, 1]), (1000, [0, 1]), (10_000, [0, 1])] {
        for scheduler in ["blest", "lrf", "redundant"] {
            let quick = LinkConfig { limit: Limit::Packets(1000), ..link(mbit, 1) };
            let short = over(&[quick.clone(), quick], scheduler, Traffic::BulkSize(1 << 20));
            let short = with(short, |setup| {
                setup.network.nic = Some(nic);
                setup.flows.extend(flows.map(beside));
            });
            let whole = with(short.clone(), |setup| setup.ways = Ways::Whole);
            assert_eq!(hash(&whole), hash(&short), "{mbit} Mbit/s, {scheduler}");
        }
    }
}
