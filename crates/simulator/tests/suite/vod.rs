//! Films over simulated links: prefetch and blocks, stalls of a slow link, and chosen bit rates.

use crate::multipath::over;
use crate::pair::{link, one_path, record};
use crate::sctp::sctp;
use base::Duration;
use network::LinkConfig;
use simulator::RunSetup;
use traffic::vod::{Service, Vod};
use traffic::{Draws, Outcome, Traffic};

fn film(service: Service) -> Traffic {
    let time = Vod::DEFAULT_TIME;
    Traffic::Vod(Vod { service, time, draws: Draws::new((1, 0), 1) })
}

fn watch(setup: &RunSetup) -> Outcome {
    let outcome = record(setup).outcome;
    assert!(outcome.is_complete(), "{outcome:?}");
    outcome
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.extra.iter().find(|(known, _)| *known == name);
    found.map_or_else(|| panic!("no {name} in {:?}", outcome.extra), |(_, value)| *value)
}

#[test]
fn prefetch_is_followed_by_a_block_in_every_period() {
    let outcome = watch(&one_path(&link(100, 20), film(Service::NetflixIpad)));
    // 2.5 s of 1387 kbit/s are 433 kB: a handshake, a request and four more rounds of slow start,
    // 10 to 160 segments, are 240 ms.
    let startup = outcome.value.expect("complete");
    assert!((0.22..0.30).contains(&startup), "{startup}");
    // 15.04 +- 2.64 MB at 96 Mbit/s.
    let prefetch = number(&outcome, "prefetch_time");
    assert!((0.6..2.2).contains(&prefetch), "{prefetch}");
    let starts: Vec<f64> =
        outcome.parts.iter().map(|part| part.start.expect("asked").as_secs_f64()).collect();
    let periods: Vec<f64> = starts[1..].windows(2).map(|two| two[1] - two[0]).collect();
    let mean = periods.iter().sum::<f64>() / periods.len() as f64;
    assert!((25..35).contains(&periods.len()) && (mean - 10.15).abs() < 1.5, "{periods:?}");
    assert_eq!(number(&outcome, "stalls"), 0.0);
    // 15 MB are 87 s of film.
    assert!((50.0..110.0).contains(&number(&outcome, "buffer")), "{outcome:?}");
}

#[test]
fn film_on_too_slow_a_link_stalls_for_what_is_missing() {
    let mbit = |kbit: u64| LinkConfig {
        capacity: base::Rate::from_bps(kbit * 1000).into(),
        ..link(1, 20)
    };
    let outcome = watch(&one_path(&mbit(500), film(Service::NetflixIpad)));
    // 500 kbit/s of packets are 482.7 kbit/s of payload, 0.348 s of film a second.
    let (startup, stalled) = (outcome.value.expect("complete"), number(&outcome, "stall_time"));
    assert!((startup - 2.5 / 0.348).abs() < 0.5, "{startup}");
    let left = outcome.bytes_read as f64 * 8.0 / 1_387_192.0 - (300.0 - startup - stalled);
    assert!((0.0..5.1).contains(&left), "played and buffered: {left} s, {outcome:?}");
    // From 5 s of film to none and back takes 7.67 s and 14.37 s.
    let stalls = number(&outcome, "stalls");
    assert!((stalls - 289.0 / 22.04).abs() < 1.5, "{stalls}");
}

#[test]
fn player_of_segments_settles_between_the_bit_rates_around_the_link_s() {
    let outcome = watch(&one_path(&link(3, 20), film(Service::Dash)));
    assert_eq!(number(&outcome, "stalls"), 0.0);
    let last: Vec<f64> = outcome.message_delays.iter().rev().take(20).copied().collect();
    // 2350 or 3000 kbit/s for four seconds at 2.9 Mbit/s.
    let mean = last.iter().sum::<f64>() / 20.0;
    assert!((3.2..4.2).contains(&mean), "{last:?}");
    let fast = watch(&one_path(&link(50, 20), film(Service::Dash)));
    assert!(number(&fast, "bitrate") > number(&outcome, "bitrate"));
    // Full: a segment is requested when there is room for it.
    assert!((210.0..240.5).contains(&number(&fast, "buffer")), "{:?}", fast.extra);
}

#[test]
fn every_protocol_and_service_plays() {
    let links = [link(8, 20), link(3, 60)];
    for (_, service, ..) in Service::TABLE {
        for setup in [over(&links, "lrf", film(service)), sctp(&links, film(service))] {
            let outcome = watch(&setup);
            assert_eq!(number(&outcome, "stalls"), 0.0, "{service:?}");
            assert!(outcome.message_delays.len() > 3, "{service:?} {outcome:?}");
        }
    }
}

#[test]
fn viewer_who_leaves_before_the_film_begins_saw_nothing() {
    let traffic = Traffic::Vod(Vod {
        service: Service::Netflix,
        time: Duration::from_millis(100),
        draws: Draws::default(),
    });
    let outcome = record(&one_path(&link(1, 200), traffic)).outcome;
    assert!(!outcome.is_complete() && outcome.parts.is_empty(), "{outcome:?}");
}
