//! Two connections over one bottleneck behind routers.

use crate::pair::{address, connect, link};
use base::{Chance, HostId, Instant, InterfaceId, LinkId};
use network::{End, LinkConfig, LinkEnds, Network, Route, RouterId};
use simulator::{ProcessingCost, World};
use traffic::{Half, Traffic};

const SERVERS: [HostId; 2] = [HostId(0), HostId(1)];
const CLIENTS: [HostId; 2] = [HostId(2), HostId(3)];
const LEFT: RouterId = RouterId(0);
const RIGHT: RouterId = RouterId(1);
/// From the servers' router to the clients'.
const BOTTLENECK: LinkId = LinkId(8);

/// Servers 0 and 1 on the left, clients 2 and 3 on the right, one link each way between.
fn dumbbell() -> Network {
    let host = |number: u16| End::Host(HostId(number), InterfaceId(0));
    let side = |number: u16| End::Router(if number < 2 { LEFT } else { RIGHT });
    let mut links: Vec<LinkEnds> =
        (0..4).map(|number| LinkEnds { from: host(number), to: side(number) }).collect();
    links.extend((0..4).map(|number| LinkEnds { from: side(number), to: host(number) }));
    links.push(LinkEnds { from: End::Router(LEFT), to: End::Router(RIGHT) });
    links.push(LinkEnds { from: End::Router(RIGHT), to: End::Router(LEFT) });
    let route = |router, number: u16, via| Route {
        router,
        from: None,
        prefix: address(HostId(number)).into(),
        len: 32,
        via: LinkId(via),
    };
    let mut routes = Vec::new();
    for number in 0..4u16 {
        let (near, far) = if number < 2 { (LEFT, RIGHT) } else { (RIGHT, LEFT) };
        routes.push(route(near, number, 4 + u32::from(number)));
        routes.push(route(far, number, if number < 2 { 9 } else { 8 }));
    }
    Network { links, routes }
}

fn world() -> World<Half> {
    let mut world = World::new(Chance::new(1, 0), &dumbbell()).unwrap();
    let fast = LinkConfig { delay: base::Duration::from_millis(1), ..LinkConfig::default() };
    for owner in 0..10 {
        let config = if owner < 8 { fast.clone() } else { link(20, 10) };
        world.add_link(config, owner);
    }
    for number in 0..4 {
        let stack = crate::pair::stack(HostId(number));
        world.add_host(stack, ProcessingCost::default(), None);
    }
    world
}

#[test]
fn two_connections_share_a_bottleneck_fairly() {
    let mut world = world();
    for number in 0..2u16 {
        let hosts = [CLIENTS[usize::from(number)], SERVERS[usize::from(number)]];
        let traffic = Traffic::BulkTime(base::Duration::from_secs(60));
        connect(&mut world, hosts, number, traffic, Instant::from_millis(700 * u64::from(number)));
    }
    world.run_until(Instant::from_secs(60), |_| false).unwrap();
    let read: Vec<f64> = CLIENTS
        .iter()
        .map(|host| world.applications(*host).next().unwrap().report().bytes_read as f64)
        .collect();
    let total: f64 = read.iter().sum();
    let used = total * 8.0 / 60.0 / 20e6;
    assert!((0.90..0.97).contains(&used), "share of the bottleneck used: {used}");
    let jain = total * total / (2.0 * read.iter().map(|bytes| bytes * bytes).sum::<f64>());
    assert!(jain > 0.9, "Jain's index {jain} of {read:?}");
    assert!(world.link_stats(BOTTLENECK).dropped_full > 0, "the bottleneck was one");
}
