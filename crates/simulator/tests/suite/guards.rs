//! Processing cost, NICs, limits of time, and the guard against live-lock.

use crate::pair::{CLIENT, SERVER, UP, connect, link, one_path, record, two_hosts, value, with};
use base::{Chance, Context, Duration, HostId, Instant, InterfaceId, LinkId};
use network::{End, LinkConfig, LinkEnds, MiddleBox, Network, Route, RouterId};
use simulator::{ProcessingCost, WorldError};
use traffic::Traffic;
use wire::Packet;

#[test]
fn processing_cost_bounds_the_rate_of_a_host() {
    let fast = one_path(&link(1000, 1), Traffic::BulkTime(Duration::from_secs(2)));
    let free = value(&fast);
    assert!(free > 800e6, "{free} bit/s without a cost");
    let cost = ProcessingCost {
        per_segment: Duration::from_micros(80),
        per_decision: Duration::from_micros(40),
        ..ProcessingCost::default()
    };
    let slow = value(&with(fast, |setup| setup.server_cost = cost));
    // 120 us for each segment sent, 80 us for each ACK received, one for two segments.
    let bound = 1448.0 * 8.0 / 120e-6;
    assert!((0.6 * bound..bound).contains(&slow), "{slow} bit/s of at most {bound}");
}

#[test]
fn processing_cost_delays_a_handshake_by_its_packets() {
    let free = one_path(&link(100, 10), Traffic::BulkSize(1));
    let cost = ProcessingCost { per_segment: Duration::from_millis(1), ..Default::default() };
    let slow = with(free.clone(), |setup| (setup.server_cost, setup.client_cost) = (cost, cost));
    let delay = value(&slow) - value(&free);
    // SYN, SYN/ACK, ACK, request, its ACK and the answer are sent and received, one at a time.
    assert!((0.009..0.012).contains(&delay), "{delay} s");
}

#[test]
fn without_a_nic_the_first_packet_is_earlier_by_its_serialisation() {
    let with_nic = one_path(&link(100, 10), Traffic::BulkSize(1));
    let without = with(with_nic.clone(), |setup| setup.network.nic = None);
    let delay = value(&with_nic) - value(&without);
    assert!((1e-7..5e-6).contains(&delay), "{delay} s at 1 Gbit/s");
}

#[test]
fn a_run_beyond_its_limit_is_incomplete() {
    let mut setup = one_path(&link(1, 10), Traffic::BulkSize(10_000_000));
    setup.limit = Duration::from_secs(2);
    let record = record(&setup);
    assert!(!record.outcome.is_complete());
    assert_eq!(record.ended, Duration::from_secs(2));
    assert!(record.outcome.bytes_read > 100_000);
}

#[test]
fn a_path_that_never_carries_anything_is_incomplete_not_endless() {
    let mut setup = one_path(&link(1, 10), Traffic::BulkSize(1000));
    setup.network.paths[0].events = vec![simulator::PathEvent {
        at: Duration::ZERO,
        direction: simulator::Direction::Both,
        change: network::LinkChange::Silent,
    }];
    let record = record(&setup);
    assert!(!record.outcome.is_complete());
    assert_eq!(record.outcome.bytes_read, 0);
}

/// Multiplies every packet, and the copies reach the same place again.
struct Flood;

impl MiddleBox for Flood {
    fn handle(&mut self, _cx: &mut Context<'_>, packet: Box<Packet>, out: &mut Vec<Box<Packet>>) {
        out.extend(std::iter::repeat_n(packet, 3));
    }
}

#[test]
fn packets_multiplying_in_a_loop_are_found_to_be_a_live_lock() {
    let (first, second) = (End::Router(RouterId(0)), End::Router(RouterId(1)));
    let host = End::Host(HostId(0), InterfaceId(0));
    let links = vec![
        LinkEnds { from: host, to: first },
        LinkEnds { from: first, to: second },
        LinkEnds { from: second, to: first },
    ];
    let route = |router, via| Route {
        router: RouterId(router),
        from: None,
        prefix: crate::pair::address(SERVER).into(),
        len: 32,
        via: LinkId(via),
    };
    let network = Network { links, routes: vec![route(0, 1), route(1, 2)] };
    let mut world = simulator::World::new(Chance::new(1, 0), &network).unwrap();
    for owner in 0..3 {
        world.add_link(LinkConfig::default(), owner);
    }
    world.set_middlebox(LinkId(1), Box::new(Flood));
    world.add_host(crate::pair::stack(CLIENT), ProcessingCost::default(), None);
    let endpoint = simulator::Endpoint {
        local: crate::pair::address(CLIENT).into(),
        remote: (crate::pair::address(SERVER), 5001).into(),
        listen: None,
        starts_at: Instant::ZERO,
        socket: transport::ProtocolConfig::default(),
    };
    let application = traffic::Half::new(&Traffic::BulkSize(1), traffic::Role::Client, false, 0);
    world.add_application(CLIENT, application, endpoint).unwrap();
    let error = world.run_until(Instant::from_secs(1), |_| false).unwrap_err();
    assert!(matches!(error, WorldError::LiveLock { .. }), "{error}");
}

/// Their events are recognised by their numbers.
#[test]
#[should_panic(expected = "links are added before hosts")]
fn a_link_cannot_be_added_after_a_host() {
    let ends = [CLIENT, SERVER].map(|host| End::Host(host, InterfaceId(0)));
    let links =
        vec![LinkEnds { from: ends[0], to: ends[1] }, LinkEnds { from: ends[1], to: ends[0] }];
    let network = Network { links, routes: vec![] };
    let mut world = simulator::World::<traffic::Half>::new(Chance::new(1, 0), &network).unwrap();
    world.add_link(LinkConfig::default(), 0);
    world.add_host(crate::pair::stack(CLIENT), ProcessingCost::default(), None);
    world.add_link(LinkConfig::default(), 1);
}

#[test]
fn a_flood_of_copies_at_the_far_end_does_no_harm() {
    let mut world = two_hosts(&link(10, 10), ProcessingCost::default());
    world.set_middlebox(UP, Box::new(Flood));
    let traffic = Traffic::BulkSize(300_000);
    connect(&mut world, [CLIENT, SERVER], 0, traffic, Instant::ZERO);
    world.run_until(Instant::from_secs(100), |_| false).unwrap();
    let report = world.applications(CLIENT).next().unwrap().report();
    assert_eq!(report.bytes_read, 300_000);
    assert_eq!(report.mismatch, None);
}
