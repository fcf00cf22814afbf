//! What the tests share: setups of one path, and a world of two hosts that can be built upon.

use base::{
    Chance, Duration, Event, EventMask, HostId, Instant, InterfaceId, LinkId, Rate, Recorder,
};
use harness::RunRecord;
use network::{Capacity, End, Limit, LinkConfig, LinkEnds, Network};
use simulator::{
    Carrier, Endpoint, PathSetup, ProcessingCost, RunSetup, World, simulate, simulate_recorded,
};
use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use traffic::{Half, Role, Traffic};
use transport::{InterfaceConfig, Protocol, ProtocolConfig, StackConfig};

pub(crate) const CLIENT: HostId = HostId(0);
pub(crate) const SERVER: HostId = HostId(1);
pub(crate) const DOWN: LinkId = LinkId(0);
pub(crate) const UP: LinkId = LinkId(1);

/// Rate, one-way delay, and a queue of 100 packets.
pub(crate) fn link(mbit: u64, delay_ms: u64) -> LinkConfig {
    LinkConfig {
        capacity: Capacity::Rate(Rate::from_mbit(mbit)),
        delay: Duration::from_millis(delay_ms),
        limit: Limit::Packets(100),
        ..LinkConfig::default()
    }
}

/// A run over one path, alike in both directions.
pub(crate) fn one_path(link: &LinkConfig, traffic: Traffic) -> RunSetup {
    let path = PathSetup {
        name: "p0".to_owned(),
        down: link.clone(),
        up: link.clone(),
        events: Vec::new(),
    };
    RunSetup::new(vec![path], Carrier::Single(Protocol::Tcp), traffic)
}

/// The same setup with a change.
pub(crate) fn with(mut setup: RunSetup, change: impl FnOnce(&mut RunSetup)) -> RunSetup {
    change(&mut setup);
    setup
}

/// The record of a run that must not fail; the message names the setup.
pub(crate) fn record(setup: &RunSetup) -> RunRecord {
    simulate(setup).unwrap_or_else(|error| panic!("{error}\n{setup:#?}"))
}

/// The record of a run with what `pick` takes of the sender's events.
pub(crate) fn record_with<T: 'static>(
    setup: &RunSetup,
    mask: EventMask,
    pick: impl FnMut(Instant, &Event) -> Option<T> + 'static,
) -> (RunRecord, Vec<T>) {
    let found = Rc::new(RefCell::new(Vec::new()));
    let sender = if setup.flows[0].reverse { CLIENT } else { SERVER };
    let recorder = Picker { mask, sender, pick, found: Rc::clone(&found) };
    let record = simulate_recorded(setup, Box::new(recorder))
        .unwrap_or_else(|error| panic!("{error}\n{setup:#?}"));
    let found = found.take();
    (record, found)
}

struct Picker<T, F> {
    mask: EventMask,
    sender: HostId,
    pick: F,
    found: Rc<RefCell<Vec<T>>>,
}

impl<T, F: FnMut(Instant, &Event) -> Option<T>> Recorder for Picker<T, F> {
    fn mask(&self) -> EventMask {
        self.mask
    }

    fn record(&mut self, now: Instant, host: HostId, event: &Event) {
        if host == self.sender {
            self.found.borrow_mut().extend((self.pick)(now, event));
        }
    }
}

/// The metric of a run that must be complete.
pub(crate) fn value(setup: &RunSetup) -> f64 {
    let record = record(setup);
    record.outcome.value.unwrap_or_else(|| panic!("incomplete: {record:?}\n{setup:#?}"))
}

/// Client and server with one link each way and nothing else; `link` for both directions.
pub(crate) fn two_hosts(link: &LinkConfig, cost: ProcessingCost) -> World<Half> {
    let (client, server) = (End::Host(CLIENT, InterfaceId(0)), End::Host(SERVER, InterfaceId(0)));
    let links = vec![LinkEnds { from: server, to: client }, LinkEnds { from: client, to: server }];
    let network = Network { links, routes: Vec::new() };
    let mut world = World::new(Chance::new(1, 0), &network).unwrap();
    world.add_link(link.clone(), 1);
    world.add_link(link.clone(), 2);
    for host in [CLIENT, SERVER] {
        world.add_host(stack(host), cost, None);
    }
    world
}

/// The stack of a host with one interface.
pub(crate) fn stack(host: HostId) -> StackConfig {
    stack_of(host, 1)
}

/// The stack of a host with an interface on each path.
pub(crate) fn stack_of(host: HostId, paths: u8) -> StackConfig {
    let on = |path| InterfaceConfig { addresses: vec![address_on(path, host).into()], mtu: 1500 };
    StackConfig { interfaces: (0..paths).map(on).collect(), ..StackConfig::default() }
}

pub(crate) fn address(host: HostId) -> Ipv4Addr {
    address_on(0, host)
}

/// The address of a host on a path.
pub(crate) fn address_on(path: u8, host: HostId) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, path, host.0 as u8 + 1)
}

/// A connection from `client` to `server` that starts at `starts_at`.
pub(crate) fn connect(
    world: &mut World<Half>,
    hosts: [HostId; 2],
    number: u16,
    traffic: Traffic,
    starts_at: Instant,
) {
    let port = 5001 + number;
    for (host, role) in [(hosts[0], Role::Client), (hosts[1], Role::Server)] {
        let endpoint = Endpoint {
            local: address(host).into(),
            remote: SocketAddr::new(address(hosts[1]).into(), port),
            listen: (role == Role::Server).then_some(port),
            starts_at,
            socket: ProtocolConfig::default(),
        };
        let application = Half::new(&traffic, role, false, u32::from(number));
        world.add_application(host, application, endpoint).unwrap();
    }
}
