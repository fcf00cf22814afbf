//! The subflows that the path manager `kernel` opens: those of Linux 6.18 between two kernels over
//! three paths of 15 ms, with the same endpoints and limits (`ip mptcp`).

use crate::pair::{Pair, Path, Side, address};
use base::{CaState, Duration};
use transport::InterfaceEvent;
use transport::mptcp::MptcpConfig;
use transport::path_manager::{Endpoint, EndpointFlags, Endpoints, Limits, PathManagerKind};

const NONE: EndpointFlags =
    EndpointFlags { signal: false, subflow: false, backup: false, fullmesh: false };
const SUBFLOW: EndpointFlags = EndpointFlags { subflow: true, ..NONE };
const SIGNAL: EndpointFlags = EndpointFlags { signal: true, ..NONE };
const BOTH: EndpointFlags = EndpointFlags { signal: true, ..SUBFLOW };
const MESH: EndpointFlags = EndpointFlags { fullmesh: true, ..SUBFLOW };

/// The endpoints of a host by path, and its limits `subflows` and `add_addr_accepted`.
type Host<'a> = (&'a [(usize, EndpointFlags)], (u8, u8));

fn config(side: Side, (endpoints, limits): Host<'_>) -> MptcpConfig {
    let limits = Limits { subflows: limits.0, add_addr_accepted: limits.1 };
    let endpoint = |(path, flags): &(usize, EndpointFlags)| Endpoint {
        ip: address(side, *path),
        flags: *flags,
    };
    let endpoints = endpoints.iter().map(endpoint).collect();
    MptcpConfig {
        path_manager: PathManagerKind::Kernel,
        endpoints: Endpoints { endpoints, limits },
        common_prefix_bits: Some(8),
        ..MptcpConfig::default()
    }
}

/// The paths of the addresses at both ends of the client's open subflows.
fn subflows(client: Host<'_>, server: Host<'_>) -> Vec<(usize, usize)> {
    let paths = [Path::ms(15); 3];
    let [client, server] = [config(Side::Client, client), config(Side::Server, server)];
    let mut pair = Pair::new(&paths, client, server);
    pair.finish = false;
    pair.transfer(1, 50_000);
    pair.pass(Duration::from_secs(2));
    pair.transfer(50_000, 50_000);
    let path = |side, ip| (0..paths.len()).find(|path| address(side, *path) == ip);
    let info = pair.info(Side::Client);
    let open = info.paths.iter().filter(|subflow| subflow.tcp.state == "ESTABLISHED");
    let ends = open.filter_map(|subflow| {
        Some((path(Side::Client, subflow.local.ip())?, path(Side::Server, subflow.remote.ip())?))
    });
    let mut ends: Vec<_> = ends.collect();
    ends.sort_unstable();
    ends
}

/// The first packet of the server announces an address: it is used before the client's endpoints.
#[test]
fn announced_address_comes_before_endpoints() {
    let server: Host<'_> = (&[(0, SIGNAL), (1, SIGNAL)], (3, 1));
    assert_eq!(subflows((&[(2, SUBFLOW)], (1, 2)), server), [(0, 0), (1, 1)]);
    let server: Host<'_> = (&[(0, MESH), (2, SIGNAL)], (5, 4));
    assert_eq!(subflows((&[(1, SUBFLOW)], (1, 4)), server), [(0, 0), (2, 2)]);
    let client: Host<'_> = (&[(1, SUBFLOW), (2, MESH)], (2, 4));
    let server: Host<'_> = (&[(1, SIGNAL)], (2, 1));
    assert_eq!(subflows(client, server), [(0, 0), (1, 0), (2, 1)]);
}

/// The limit is checked after an announced address was used.
#[test]
fn announced_address_may_exceed_the_limit_of_subflows() {
    let server: Host<'_> = (&[(1, SIGNAL), (2, SIGNAL)], (8, 8));
    for (client, opened) in [
        ((&[(1, SUBFLOW)][..], (2, 4)), vec![(0, 0), (1, 0), (1, 1), (2, 2)]),
        ((&[(2, MESH)], (2, 2)), vec![(0, 0), (2, 0), (2, 1), (2, 2)]),
        ((&[(0, MESH), (1, MESH)], (3, 8)), vec![(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]),
        ((&[(1, SUBFLOW), (2, MESH)], (3, 2)), vec![(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)]),
        // Used announcements reach the limit, and no further one counts.
        ((&[], (1, 2)), vec![(0, 0), (1, 1)]),
        ((&[], (2, 1)), vec![(0, 0), (1, 1)]),
    ] {
        assert_eq!(subflows(client, server), opened, "{client:?}");
    }
}

/// `fullmesh` leads to addresses that have a subflow.
#[test]
fn announced_address_that_is_not_accepted_has_no_subflow_of_fullmesh_either() {
    let server: Host<'_> = (&[(1, SIGNAL)], (8, 8));
    assert_eq!(subflows((&[(1, MESH)], (4, 0)), server), [(0, 0), (1, 0)]);
}

/// It does not listen, unlike the server.
#[test]
fn client_refuses_joins_to_its_addresses() {
    let server: Host<'_> = (&[(0, SUBFLOW)], (3, 2));
    let client: Host<'_> = (&[(0, SIGNAL), (1, SIGNAL), (2, SUBFLOW)], (2, 1));
    assert_eq!(subflows(client, server), [(0, 0), (2, 0)]);
    let client: Host<'_> = (&[(1, BOTH), (2, MESH)], (5, 4));
    let server: Host<'_> = (&[(2, MESH)], (4, 4));
    assert_eq!(subflows(client, server), [(0, 0), (1, 0), (2, 0)]);
}

/// A device without a carrier drops what is sent. Kernels leave the subflow where it is.
#[test]
fn subflow_on_a_link_that_is_down_reduces_its_window_and_stays() {
    let hosts: [Host<'_>; 2] = [(&[(1, SUBFLOW)], (2, 0)), (&[], (2, 0))];
    let [client, server] =
        [Side::Client, Side::Server].map(|side| config(side, hosts[side as usize]));
    let mut pair = Pair::new(&[Path::ms(15), Path::ms(15)], client, server);
    pair.finish = false;
    pair.transfer(50_000, 0);
    pair.await_subflows(2);
    pair.transfer(500_000, 0);
    pair.interface(Side::Client, 1, InterfaceEvent::Down);
    pair.ends[0].to_write = 1_000_000;
    pair.pass(Duration::from_millis(5));
    let states = |pair: &Pair| {
        let info = pair.info(Side::Client);
        info.paths.iter().map(|path| (path.tcp.ca_state, path.tcp.state)).collect::<Vec<_>>()
    };
    let [open, cwr] = [CaState::Open, CaState::Cwr].map(|state| (state, "ESTABLISHED"));
    assert_eq!(states(&pair), [open, cwr]);
    pair.interface(Side::Client, 1, InterfaceEvent::Up);
    pair.transfer(1_500_000, 0);
    assert_eq!(states(&pair), [open, open]);
}

/// The client knows one address of the server, which so has it on both paths: only what leaves
/// through the device without a carrier is dropped.
#[test]
fn link_that_is_down_concerns_the_subflows_that_leave_through_it() {
    let hosts: [Host<'_>; 2] = [(&[(1, SUBFLOW)], (2, 0)), (&[], (2, 0))];
    let [client, server] =
        [Side::Client, Side::Server].map(|side| config(side, hosts[side as usize]));
    let mut pair = Pair::new(&[Path::ms(15), Path::ms(15)], client, server);
    pair.finish = false;
    pair.transfer(1, 50_000);
    pair.await_subflows(2);
    pair.transfer(1, 500_000);
    pair.interface(Side::Server, 0, InterfaceEvent::Down);
    pair.ends[1].to_write = 1_000_000;
    pair.pass(Duration::from_millis(5));
    let info = pair.info(Side::Server);
    let states: Vec<_> = info.paths.iter().map(|path| path.tcp.ca_state).collect();
    assert_eq!(states, [CaState::Cwr, CaState::Open]);
}
