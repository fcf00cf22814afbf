//! Adaptive calls over simulated links: the rate follows the link, both directions, every protocol.

use crate::cmt::cmt;
use crate::multipath::over;
use crate::pair::{link, one_path, record};
use crate::sctp::sctp;
use base::{Duration, Rate};
use network::LinkConfig;
use simulator::RunSetup;
use traffic::call::{Call, CallKind};
use traffic::{Outcome, Traffic};

fn call(kind: CallKind, seconds: u64) -> Traffic {
    Traffic::Call(Call { kind, time: Duration::from_secs(seconds) })
}

fn talk(setup: &RunSetup) -> Outcome {
    let outcome = record(setup).outcome;
    assert!(outcome.is_complete(), "{:?} {outcome:?}", setup.flows[0].carrier);
    outcome
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.extra.iter().find(|(known, _)| *known == name);
    found.map_or_else(|| panic!("no {name} in {:?}", outcome.extra), |(_, value)| *value)
}

fn slow(kbit: u64) -> LinkConfig {
    LinkConfig { capacity: Rate::from_bps(kbit * 1000).into(), ..link(1, 20) }
}

#[test]
fn rate_rises_to_the_most_on_a_fast_link() {
    let outcome = talk(&one_path(&link(10, 20), call(CallKind::OneWay, 30)));
    let rate = number(&outcome, "bitrate");
    assert!((850e3..951e3).contains(&rate), "{rate}");
    assert!((27.0..30.1).contains(&number(&outcome, "frames_per_second")), "{outcome:?}");
    // 20 ms and 3.2 ms for a frame of 3958 bytes.
    assert!((outcome.value.expect("complete") - 0.0232).abs() < 0.001, "{outcome:?}");
    assert_eq!((number(&outcome, "freezes"), number(&outcome, "skipped")), (0.0, 0.0));
}

#[test]
fn rate_stays_below_a_slow_link_s_and_the_delay_small() {
    let rates: Vec<f64> = [200, 500]
        .into_iter()
        .map(|kbit| {
            let outcome = talk(&one_path(&slow(kbit), call(CallKind::OneWay, 60)));
            let rate = number(&outcome, "bitrate");
            assert!(rate < 0.97 * 1000.0 * kbit as f64, "{kbit}: {rate}");
            assert!(rate > 0.3 * 1000.0 * kbit as f64, "{kbit}: {rate}");
            assert!(number(&outcome, "over_150ms") < 0.2, "{kbit}: {:?}", outcome.extra);
            rate
        })
        .collect();
    assert!(rates[1] > rates[0], "{rates:?}");
}

#[test]
fn call_talks_both_ways_over_every_protocol() {
    let links = [link(8, 20), link(3, 60)];
    let traffic = || call(CallKind::TwoWay, 10);
    let setups = [
        one_path(&links[0], traffic()),
        over(&links, "lrf", traffic()),
        sctp(&links, traffic()),
        cmt(&links, traffic()),
    ];
    for setup in setups {
        let outcome = talk(&setup);
        // 30 frames a second each way.
        assert_eq!(outcome.message_delays.len(), 600, "{outcome:?}");
        assert!(number(&outcome, "bitrate") > 150e3, "{outcome:?}");
        let audio = number(&outcome, "audio_delay");
        assert!((0.02..0.1).contains(&audio), "{audio}");
    }
}

#[test]
fn frames_are_skipped_while_the_path_is_away() {
    let mut setup = one_path(&slow(300), call(CallKind::OneWay, 20));
    setup.flows[0].tcp.buffers =
        transport::Buffers { send_max: 8 << 10, receive_max: 64 << 10, auto_tuning: false };
    setup.network.paths[0].events.push(network::PathEvent {
        at: Duration::from_secs(8),
        direction: network::Direction::Both,
        change: network::LinkChange::Silent,
    });
    setup.network.paths[0].events.push(network::PathEvent {
        at: Duration::from_secs(11),
        direction: network::Direction::Both,
        change: network::LinkChange::Up,
    });
    let outcome = talk(&setup);
    assert!(number(&outcome, "skipped") > 5.0, "{:?}", outcome.extra);
    assert!(number(&outcome, "frozen_time") > 0.5, "{:?}", outcome.extra);
}
