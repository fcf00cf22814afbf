//! Pages over simulated links: times by hand, and the same page over several paths.

use crate::multipath::over;
use crate::pair::{link, one_path, record};
use base::Duration;
use simulator::RunSetup;
use std::sync::Arc;
use traffic::Traffic;
use traffic::web::{Action, Activity, Http, Object, Opening, Page, Trigger, Wait, Web};

/// A document and `count` objects that wait for all of it.
fn star(count: u32, bytes: u64, http: Http) -> Traffic {
    let object = |response_bytes, urgency| Object {
        label: String::new(),
        host: 0,
        request_bytes: 400,
        response_bytes,
        think: Duration::ZERO,
        urgency,
        in_clear: false,
    };
    let fetch =
        |object, waits| Activity { action: Action::Fetch(object), waits, before_load: true };
    let after = Wait { on: 0, event: Trigger::End, delay: Duration::ZERO };
    let mut objects = vec![object(1000, 0)];
    let mut activities = vec![fetch(0, Vec::new())];
    for number in 1..=count {
        objects.push(object(bytes, 3));
        activities.push(fetch(number, vec![after]));
    }
    let page = Page::new("star".into(), objects, activities).unwrap();
    Traffic::Web(Web { page: Arc::new(page), http, per_host: false, opening: Opening::default() })
}

fn load_time(setup: &RunSetup) -> f64 {
    record(setup).outcome.value.expect("a page that loads")
}

#[test]
fn small_page_takes_its_round_trips() {
    // 1 Gbit/s, 20 ms each way: packets take microseconds. Connect 40, document 40, then one
    // object at once on the first connection and five more on connections that open in 40: the
    // first carries a second one meanwhile, and its third beside the other five's first.
    for (count, round_trips) in [(0, 2), (1, 3), (2, 4), (13, 5), (14, 6)] {
        let time = load_time(&one_path(&link(1000, 20), star(count, 1000, Http::SIX)));
        let rounds = time / 0.040;
        assert!((rounds - f64::from(round_trips)).abs() < 0.05, "{count} objects: {rounds} rounds");
    }
    // Concurrent streams take one round, unless the requests (400 bytes each) are more than an
    // initial window of ten segments.
    for (count, round_trips) in [(1, 3.0), (13, 3.0), (30, 3.0), (60, 4.0)] {
        let rounds = load_time(&one_path(&link(1000, 20), star(count, 100, Http::Two))) / 0.040;
        assert!((rounds - round_trips).abs() < 0.05, "{count} streams: {rounds} rounds");
    }
}

#[test]
fn large_page_takes_the_time_of_its_bytes() {
    // 60 x 100 kB at 20 Mbit/s are 2.4 s of payload, 2.49 s with headers of 52 bytes in 1500.
    for http in [Http::SIX, Http::Two] {
        let time = load_time(&one_path(&link(20, 10), star(60, 100_000, http)));
        assert!((2.49..2.85).contains(&time), "{http:?}: {time} s");
    }
}

#[test]
fn page_over_two_paths_uses_both_and_is_faster() {
    let links = [link(10, 10), link(10, 12)];
    for http in [Http::SIX, Http::Two] {
        let page = star(30, 100_000, http);
        let single = load_time(&one_path(&links[0], page.clone()));
        let both = record(&over(&links, "lrf", page));
        let time = both.outcome.value.expect("a page that loads");
        assert!(time < 0.75 * single, "{http:?}: {time} s instead of {single} s");
        assert!(
            both.measured().sent.first_sent_bytes.iter().all(|bytes| *bytes > 500_000),
            "{both:?}"
        );
        let sent: u64 = both.measured().sent.first_sent_bytes.iter().sum();
        assert!(sent >= both.outcome.bytes_read, "all connections are counted");
    }
}

#[test]
fn page_is_loaded_the_same_every_time_and_through_the_codec() {
    for http in [Http::SIX, Http::Two] {
        let page = star(20, 30_000, http);
        let mut setup = over(&[link(5, 10), link(3, 30)], "lrf", page);
        let first = record(&setup);
        assert_eq!(first.hash(), record(&setup).hash());
        setup.recording.pass_through = true;
        assert_eq!(
            first.hash(),
            record(&setup).hash(),
            "real and virtual bytes survive emit, parse"
        );
    }
}

#[test]
fn page_ends_with_every_connection_closed() {
    let mut setup = one_path(&link(10, 10), star(20, 30_000, Http::SIX));
    setup.until = simulator::Until::Closed;
    let record = record(&setup);
    assert!(record.is_idle(), "nothing is left to happen");
    assert_eq!(record.measured().failure, None);
}
