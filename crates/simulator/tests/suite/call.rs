//! Adaptive calls over simulated links: the rate follows the link, both directions, every protocol.

use crate::cmt::cmt;
use crate::multipath::over;
use crate::pair::{link, one_path, record};
use crate::sctp::sctp;
use base::{Duration, Rate};
use network::{LinkConfig, LossConfig};
use simulator::{Carrier, RunSetup};
use traffic::call::{Call, CallKind};
use traffic::{Outcome, Traffic};
use transport::Protocol;

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

/// The same call with a datagram for every message.
fn over_udp(link: &LinkConfig, traffic: Traffic) -> RunSetup {
    let mut setup = one_path(link, traffic);
    setup.flows[0].carrier = Carrier::Single(Protocol::Udp);
    setup
}

#[test]
fn call_over_datagrams_has_the_delays_of_the_path() {
    for (kind, frames) in [(CallKind::TwoWay, 600), (CallKind::OneWay, 200)] {
        let outcome = talk(&over_udp(&link(10, 20), call(kind, 10)));
        assert!(outcome.parts.len() >= frames, "{kind:?}: {outcome:?}");
        assert_eq!(outcome.parts.len(), outcome.message_delays.len());
        assert_eq!(number(&outcome, "lost"), 0.0);
        let delay = outcome.value.expect("complete");
        assert!((0.02..0.027).contains(&delay), "{kind:?}: {delay}");
    }
}

/// RFC 8698 s4.2: losses count as delay, so that the rate stays low; nothing is sent again.
#[test]
fn losses_of_datagrams_hold_the_rate_of_a_call_down() {
    let lossy = |p| LinkConfig { loss: LossConfig::Bernoulli { p }, ..link(10, 20) };
    let of = |p| {
        let outcome = talk(&over_udp(&lossy(p), call(CallKind::OneWay, 60)));
        (number(&outcome, "lost"), number(&outcome, "bitrate"), number(&outcome, "over_150ms"))
    };
    let [whole, some, many] = [0.0, 0.002, 0.05].map(of);
    assert_eq!((whole.0, whole.2), (0.0, 0.0));
    assert!(some.0 > 0.0 && some.2 == some.0, "what is lost is late: {some:?}");
    assert!(many.0 > some.0, "{many:?}");
    assert!(whole.1 > some.1 && some.1 > many.1, "{whole:?} {some:?} {many:?}");
}
