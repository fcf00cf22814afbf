//! How many segments take the short way at their receiver. That results do not depend on it is
//! tested with the result hashes.

use crate::pair::{CLIENT, SERVER, address, link, stack_of};
use base::{Chance, HostId, Instant, InterfaceId, Ways};
use network::{End, LinkConfig, LinkEnds, Network, NicSetup};
use simulator::{Endpoint, ProcessingCost, World};
use std::net::SocketAddr;
use traffic::{Half, Role, Traffic};
use transport::ProtocolConfig;
use transport::mptcp::MptcpConfig;

const SECONDS: u64 = 30;

/// Segments that arrived at both hosts in half a minute of bulk, and those that took the short way.
fn segments(paths: &[LinkConfig], protocol: &ProtocolConfig, ways: Ways) -> (u64, u64) {
    let mut world = world(paths);
    world.set_ways(ways);
    let traffic = Traffic::BulkTime(base::Duration::from_secs(2 * SECONDS));
    for (host, role) in [(CLIENT, Role::Client), (SERVER, Role::Server)] {
        let endpoint = Endpoint {
            local: address(host).into(),
            remote: SocketAddr::new(address(SERVER).into(), 5001),
            listen: (role == Role::Server).then_some(5001),
            starts_at: Instant::ZERO,
            socket: protocol.clone(),
        };
        world.add_application(host, Half::new(&traffic, role, false, 0), endpoint).unwrap();
    }
    world.run_until(Instant::from_secs(SECONDS), |_| false).unwrap();
    let of = |host: HostId| {
        let sockets = world.applications(host).flat_map(Half::sockets);
        sockets.filter_map(|socket| world.info(host, socket)).collect::<Vec<_>>()
    };
    let connections = [of(CLIENT), of(SERVER)].concat();
    let subflows = connections.iter().flat_map(|connection| &connection.paths);
    subflows
        .fold((0, 0), |(all, short), path| (all + path.tcp.segs_in, short + path.tcp.segs_expected))
}

fn world(paths: &[LinkConfig]) -> World<Half> {
    let links = (0..paths.len() as u16).flat_map(|number| {
        let [client, server] = [CLIENT, SERVER].map(|host| End::Host(host, InterfaceId(number)));
        [LinkEnds { from: server, to: client }, LinkEnds { from: client, to: server }]
    });
    let network = Network { links: links.collect(), routes: Vec::new() };
    let mut world = World::new(Chance::new(1, 0), &network).unwrap();
    for (owner, link) in paths.iter().flat_map(|link| [link, link]).enumerate() {
        world.add_link(link.clone(), owner as u64);
    }
    for host in [CLIENT, SERVER] {
        let stack = stack_of(host, paths.len() as u8);
        world.add_host(stack, ProcessingCost::default(), Some(NicSetup::default()));
    }
    world
}

/// The networks of `sim/tcp-bulk` and `sim/mptcp-two-path`.
#[test]
fn four_of_five_segments_of_both_benchmarks_take_the_short_way() {
    let two = [link(25, 20), link(4, 70)];
    let cases: [(&[LinkConfig], ProtocolConfig, u64); 2] = [
        (&[link(100, 10)], ProtocolConfig::default(), 250_000),
        (&two, MptcpConfig::default().into(), 90_000),
    ];
    for (paths, protocol, least) in cases {
        let (all, short) = segments(paths, &protocol, Ways::Short);
        println!("{short} of {all} segments");
        assert!(all > least && short * 5 > all * 4, "{short} of {all}: {protocol:?}");
        let (whole, none) = segments(paths, &protocol, Ways::Whole);
        assert_eq!((whole, none), (all, 0), "the switch");
    }
}
