//! The world of a run: links, hosts, events, applications and recorders.
//!
//! Links are numbered by path, 2P (down) and 2P + 1 (up), then shared links, then access links;
//! NIC links come after all of them. Where they lead is `layout`'s.

use super::SERVER_PORT;
use super::hosts::FlowHosts;
use super::layout::Layout;
use super::notify::schedule;
use super::sockets::host_config;
use crate::accounts::Accounts;
use crate::capture::Capture;
use crate::failover::{Gaps, disruptions};
use crate::host::Endpoint;
use crate::proxy::Proxy;
use crate::result_hash::ResultHash;
use crate::run_error::RunError;
use crate::setup::{Carrier, RunSetup};
use crate::world::World;
use base::{Chance, HostId, Instant, LinkId};
use network::middlebox::chain;
use network::{Direction, LinkConfig, PathSetup};
use std::net::SocketAddr;
use traffic::{Half, Role};
use transport::{Protocol, TcpConfig};

/// The world of a run, everything in it but the caller's recorder.
pub(super) fn build(setup: &RunSetup, flows: &[FlowHosts<'_>]) -> Result<World<Half>, RunError> {
    let chance = Chance::new(setup.seed, setup.run);
    let Layout { network, access } = Layout::new(setup, flows)?;
    let mut world = World::new(chance, &network).map_err(RunError::Topology)?;
    let shared = setup.network.links.iter().map(|shared| &shared.link);
    for path in setup.network.paths.iter().chain(shared) {
        add_links(&mut world, path);
    }
    add_boxes(&mut world, setup);
    add_proxies(&mut world, setup);
    for (number, delay) in access.into_iter().enumerate() {
        // Nothing on them is left to chance.
        world.add_link(LinkConfig { delay, ..LinkConfig::default() }, number as u64);
    }
    for flow in flows {
        add_hosts(&mut world, setup, flow);
    }
    schedule(&mut world, setup, flows);
    for flow in flows {
        add_applications(&mut world, setup, flow)?;
    }
    world.set_pass_through(setup.recording.pass_through);
    world.set_ways(setup.ways);
    if setup.recording.hash {
        world.set_hash(ResultHash::new(LinkId(network.links.len() as u32)));
    }
    add_recorders(&mut world, setup, &flows[0])?;
    Ok(world)
}

fn add_links(world: &mut World<Half>, path: &PathSetup) {
    world.add_link(path.down.clone(), path.owner(Direction::Down));
    world.add_link(path.up.clone(), path.owner(Direction::Up));
}

fn add_boxes(world: &mut World<Half>, setup: &RunSetup) {
    for path in 0..setup.network.paths.len() {
        let own = setup.network.boxes.iter().filter(|there| there.path == path);
        if let Some([outward, inward]) = chain(own.map(|there| &there.config)) {
            world.set_middlebox(LinkId(2 * path as u32 + 1), outward);
            world.set_middlebox(LinkId(2 * path as u32), inward);
        }
    }
}

/// The first host of a proxy, which keys its random draws; hosts of flows are numbered from 0.
const FIRST_PROXY: u16 = 60_000;

fn add_proxies(world: &mut World<Half>, setup: &RunSetup) {
    let tcp = setup.flows.first().map(|flow| TcpConfig {
        profile: flow.tcp.profile,
        buffers: flow.tcp.buffers,
        ..TcpConfig::default()
    });
    for path in &setup.network.proxies {
        let host = HostId(FIRST_PROXY + *path as u16);
        let proxy = Proxy::new(host, tcp.clone().unwrap_or_default(), setup.network.mtu);
        world.set_proxy(proxy, LinkId(2 * *path as u32), LinkId(2 * *path as u32 + 1));
    }
}

fn add_hosts(world: &mut World<Half>, setup: &RunSetup, flow: &FlowHosts<'_>) {
    for (role, cost) in [(Role::Client, setup.client_cost), (Role::Server, setup.server_cost)] {
        let stack = flow.stack(role, setup.network.mtu);
        let id = world.add_host(stack, cost, setup.network.nic);
        debug_assert_eq!(id, flow.host(role), "hosts are numbered flow by flow");
    }
}

fn add_applications(
    world: &mut World<Half>,
    setup: &RunSetup,
    flow: &FlowHosts<'_>,
) -> Result<(), RunError> {
    let first = flow.flow.first;
    let remote = SocketAddr::new(flow.address(Role::Server, first), SERVER_PORT);
    for role in [Role::Client, Role::Server] {
        let is_server = role == Role::Server;
        let starts_at = Instant::ZERO;
        let endpoint = Endpoint {
            local: flow.address(role, first),
            remote,
            listen: is_server.then_some(SERVER_PORT),
            starts_at: if is_server { starts_at } else { starts_at + flow.flow.start },
            socket: host_config(setup, flow, role),
        };
        let half = match &flow.flow.carrier {
            Carrier::Single(Protocol::Udp) => Half::over_datagrams,
            _ => Half::new,
        };
        let application = half(&flow.flow.traffic, role, flow.flow.reverse, flow.number as u32);
        let host = flow.host(role);
        world.add_application(host, application, endpoint).map_err(RunError::Socket)?;
    }
    Ok(())
}

/// What is recorded of the measured flow in addition to the result hash.
fn add_recorders(
    world: &mut World<Half>,
    setup: &RunSetup,
    flow: &FlowHosts<'_>,
) -> Result<(), RunError> {
    let (sender, receiver) = flow.ends();
    if setup.recording.accounts {
        world.set_accounts(Accounts::new(sender, receiver));
    }
    let disruptions = disruptions(setup);
    if !disruptions.is_empty() {
        let (paths, start) = (&flow.flow.paths, flow.flow.start);
        world.set_gaps(Gaps::new((sender, receiver), paths, start, disruptions));
    }
    if setup.recording.capture {
        let names = flow.flow.paths.iter().map(|path| setup.network.paths[*path].name.as_str());
        let names: Vec<&str> = names.collect();
        let capture = Capture::new(&[sender, receiver], &names);
        world.set_capture(capture.map_err(|_| RunError::PathNames)?);
    }
    Ok(())
}
