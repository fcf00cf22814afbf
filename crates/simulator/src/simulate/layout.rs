//! How the hosts and links of a run meet when links are shared or other flows compete.
//!
//! ```text
//! client - access - [mouth of a path] - its own link - [behind it] - shared link - [end] - server
//! ```
//! A path without a shared link ends behind its own. Everybody's hosts have access links of their
//! own, which are wires unless a flow has a delay of its own, and routers send by address.
//! Links are numbered: two for each path (down, up), two for each shared link, then the access
//! links. What a link is made of is left to `simulate`.

use super::{CLIENT, SERVER, address, network};
use crate::run::{MOST_FLOWS, RunError, RunSetup};
use base::{Duration, HostId, InterfaceId, LinkId};
use network::{End, Network, Route, RouterId, Wiring};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Links of an attachment: from and to the client, from and to the server.
const ACCESS_LINKS: usize = 4;

/// The network of a run, and the delays of its access links in their order.
pub(super) struct Layout {
    pub network: Network,
    pub access: Vec<Duration>,
}

/// A pair of hosts at the ends of a path.
struct Attachment {
    hosts: [HostId; 2],
    interface: InterfaceId,
    path: usize,
    /// Of the client's access, one way.
    delay: Duration,
    addresses: [IpAddr; 2],
}

impl Layout {
    pub(super) fn new(setup: &RunSetup) -> Result<Layout, RunError> {
        if setup.links.is_empty() && setup.flows.is_empty() {
            return Ok(Layout { network: network(setup.paths.len()), access: Vec::new() });
        }
        let mut plan = Plan::new(setup)?;
        let attachments = attachments(setup)?;
        for attachment in &attachments {
            plan.attach(attachment);
        }
        plan.lead_to_all_addresses(&attachments);
        let one = |one: &Attachment| [one.delay, one.delay, Duration::ZERO, Duration::ZERO];
        Ok(Layout { network: plan.network, access: attachments.iter().flat_map(one).collect() })
    }
}

/// The hosts of flow `number`.
pub(super) const fn hosts_of(number: usize) -> [HostId; 2] {
    let first = 2 * (number as u16) + 2;
    [HostId(first), HostId(first + 1)]
}

/// The address of a flow's host on the interface that is the `number`-th of all flows.
pub(super) fn flow_address(setup: &RunSetup, number: usize, server: bool) -> IpAddr {
    let host = 1 + u16::from(server);
    if setup.ipv6 {
        Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 1, number as u16, host).into()
    } else {
        // The lower half of 10.0.0.0/8 is the paths'.
        Ipv4Addr::new(10, 128 | (number >> 8) as u8, number as u8, host as u8).into()
    }
}

fn attachments(setup: &RunSetup) -> Result<Vec<Attachment>, RunError> {
    if setup.flows.len() > MOST_FLOWS {
        return Err(RunError::TooManyFlows(setup.flows.len()));
    }
    let main = (0..setup.paths.len()).map(|path| Attachment {
        hosts: [CLIENT, SERVER],
        interface: InterfaceId(path as u16),
        path,
        delay: Duration::ZERO,
        addresses: [CLIENT, SERVER].map(|host| address(setup, path, host)),
    });
    let mut attachments: Vec<Attachment> = main.collect();
    let mut number = 0;
    for (flow, hosts) in setup.flows.iter().zip((0..).map(hosts_of)) {
        for (interface, path) in flow.paths.iter().enumerate() {
            if *path >= setup.paths.len() {
                return Err(RunError::NoSuchPath(*path));
            }
            attachments.push(Attachment {
                hosts,
                interface: InterfaceId(interface as u16),
                path: *path,
                delay: flow.delay,
                addresses: [false, true].map(|server| flow_address(setup, number, server)),
            });
            number += 1;
        }
    }
    Ok(attachments)
}

/// A network in the making.
struct Plan {
    network: Network,
    /// Of each path: its router at the client's side, the one behind its own link, and the one at
    /// the server's side.
    routers: Vec<[RouterId; 3]>,
}

impl Plan {
    /// The links of paths and shared links with the routers between them.
    fn new(setup: &RunSetup) -> Result<Plan, RunError> {
        let paths = setup.paths.len();
        let mut plan = Plan { network: Network::default(), routers: Vec::new() };
        for path in 0..paths {
            let [mouth, behind] = routers_of(path);
            let mut shared =
                (0..setup.links.len()).filter(|l| setup.links[*l].paths.contains(&path));
            let via = shared.next();
            if shared.next().is_some() {
                return Err(RunError::TwoSharedLinks(path));
            }
            let [behind, end] = via.map_or([behind, behind], |link| routers_of(paths + link));
            plan.routers.push([mouth, behind, end]);
            plan.join(mouth, behind);
        }
        for (number, link) in setup.links.iter().enumerate() {
            if let Some(path) = link.paths.iter().find(|path| **path >= paths) {
                return Err(RunError::NoSuchPath(*path));
            }
            let [near, far] = routers_of(paths + number);
            plan.join(near, far);
        }
        plan.add_default_routes(setup);
        Ok(plan)
    }

    /// Two links between the router at the client's side and the other one: down, up.
    fn join(&mut self, near: RouterId, far: RouterId) {
        let [near, far] = [near, far].map(End::Router);
        self.network.links.push(Wiring { from: far, to: near });
        self.network.links.push(Wiring { from: near, to: far });
    }

    /// Up from every mouth; on a shared link whatever is not for hosts at its ends.
    fn add_default_routes(&mut self, setup: &RunSetup) {
        let anywhere = if setup.ipv6 {
            IpAddr::from(Ipv6Addr::UNSPECIFIED)
        } else {
            IpAddr::from(Ipv4Addr::UNSPECIFIED)
        };
        let paths = setup.paths.len();
        let route =
            |router, link| Route { router, prefix: anywhere, len: 0, via: LinkId(link as u32) };
        for path in 0..paths {
            self.network.routes.push(route(routers_of(path)[0], 2 * path + 1));
        }
        for number in paths..paths + setup.links.len() {
            let [near, far] = routers_of(number);
            self.network.routes.push(route(near, 2 * number + 1));
            self.network.routes.push(route(far, 2 * number));
        }
    }

    /// Access links for a pair of hosts, and the ways to them.
    fn attach(&mut self, attachment: &Attachment) {
        let Attachment { hosts: [client, server], interface, path, addresses, .. } = attachment;
        let [mouth, behind, end] = self.routers[*path];
        let first = self.network.links.len();
        for (host, router) in [(*client, mouth), (*server, end)] {
            let (host, router) = (End::Host(host, *interface), End::Router(router));
            self.network.links.push(Wiring { from: host, to: router });
            self.network.links.push(Wiring { from: router, to: host });
        }
        debug_assert_eq!(first + ACCESS_LINKS, self.network.links.len());
        let [to_client, to_server] = *addresses;
        let ways = [
            (mouth, to_client, first + 1),
            (behind, to_client, 2 * path),
            (end, to_server, first + 3),
        ];
        let routes = ways.map(|(router, prefix, via)| host_route(router, prefix, via));
        self.network.routes.extend(routes);
    }
}

impl Plan {
    /// A host is reached over each of its paths by all of its addresses, as by a subflow between
    /// the client's address there and the server's first one. Behind a shared link an address is
    /// reached over its own path.
    fn lead_to_all_addresses(&mut self, attachments: &[Attachment]) {
        let access = self.network.links.len() - ACCESS_LINKS * attachments.len();
        let routes = self.network.routes.iter();
        let mut known: BTreeSet<_> = routes.map(|route| (route.router.0, route.prefix)).collect();
        for (number, over) in attachments.iter().enumerate() {
            let [mouth, behind, end] = self.routers[over.path];
            let first = access + ACCESS_LINKS * number;
            let same = attachments.iter().filter(|other| other.hosts == over.hosts);
            for [client, server] in same.map(|other| other.addresses) {
                let ways = [
                    (mouth, client, first + 1),
                    (behind, client, 2 * over.path),
                    (end, server, first + 3),
                ];
                for (router, prefix, via) in ways {
                    if known.insert((router.0, prefix)) {
                        self.network.routes.push(host_route(router, prefix, via));
                    }
                }
            }
        }
    }
}

fn host_route(router: RouterId, prefix: IpAddr, via: usize) -> Route {
    let len = if prefix.is_ipv4() { 32 } else { 128 };
    Route { router, prefix, len, via: LinkId(via as u32) }
}

/// The two routers of a path's own link, or behind all paths of a shared link: the client's side,
/// the other one.
const fn routers_of(number: usize) -> [RouterId; 2] {
    [RouterId(2 * number as u32), RouterId(2 * number as u32 + 1)]
}
