//! How the hosts and links of a run are connected.
//!
//! ```text
//! client - access - [near end] - own link - [behind it] - shared link - [far end] - server
//! ```
//! A path without a shared link ends behind its own. The hosts of every flow have access links of
//! their own, which are wires unless a flow has a delay of its own; routers forward by address. If
//! nothing is shared and flow 0 is alone, its hosts are at the ends of the links of the paths.
//! Links are numbered: two for each path (down, up), two for each shared link, then the access
//! links. What a link consists of is left to `build`.

use super::hosts::FlowHosts;
use crate::run_error::RunError;
use crate::setup::RunSetup;
use base::{Duration, HostId, InterfaceId, LinkId};
use network::{End, LinkEnds, Network, Route, RouterId};
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
    /// One-way delay of the client's access links.
    delay: Duration,
    /// Client and server.
    addresses: [IpAddr; 2],
}

impl Layout {
    pub(super) fn new(setup: &RunSetup, flows: &[FlowHosts<'_>]) -> Result<Layout, RunError> {
        let paths = setup.network.paths.len();
        if let [alone] = flows
            && alone.flow.delay.is_zero()
            && setup.network.links.is_empty()
        {
            return Ok(Layout { network: direct(paths, alone), access: Vec::new() });
        }
        let mut plan = Plan::new(setup)?;
        let attachments: Vec<Attachment> = flows.iter().flat_map(attachments).collect();
        for attachment in &attachments {
            plan.attach(attachment);
        }
        plan.lead_to_all_addresses(&attachments);
        let one = |one: &Attachment| [one.delay, one.delay, Duration::ZERO, Duration::ZERO];
        Ok(Layout { network: plan.network, access: attachments.iter().flat_map(one).collect() })
    }
}

/// Two links for each path, one each way, between the hosts of one flow. A path that the flow does
/// not use leads to routers that forward nothing.
fn direct(paths: usize, flow: &FlowHosts<'_>) -> Network {
    let links = (0..paths).flat_map(|path| {
        let [client, server] = match flow.interface_on(path) {
            Some(interface) => flow.both().map(|host| End::Host(host, interface)),
            None => routers_of(path).map(End::Router),
        };
        [LinkEnds { from: server, to: client }, LinkEnds { from: client, to: server }]
    });
    Network { links: links.collect(), routes: Vec::new() }
}

fn attachments<'a>(flow: &'a FlowHosts<'_>) -> impl Iterator<Item = Attachment> + 'a {
    flow.interfaces().enumerate().map(|(number, (path, addresses))| Attachment {
        hosts: flow.both(),
        interface: InterfaceId(number as u16),
        path,
        delay: flow.flow.delay,
        addresses,
    })
}

/// A network under construction.
struct Plan {
    network: Network,
    /// Of each path: the router on the client's side, the one behind its own link, and the one on
    /// the server's side.
    routers: Vec<[RouterId; 3]>,
}

impl Plan {
    /// The links of paths and shared links, with the routers between them.
    fn new(setup: &RunSetup) -> Result<Plan, RunError> {
        let paths = setup.network.paths.len();
        let mut plan = Plan { network: Network::default(), routers: Vec::new() };
        for path in 0..paths {
            let [near_end, behind] = routers_of(path);
            let mut shared = (0..setup.network.links.len())
                .filter(|l| setup.network.links[*l].paths.contains(&path));
            let via = shared.next();
            if shared.next().is_some() {
                return Err(RunError::TwoSharedLinks(path));
            }
            let [behind, end] = via.map_or([behind, behind], |link| routers_of(paths + link));
            plan.routers.push([near_end, behind, end]);
            plan.join(near_end, behind);
        }
        for (number, link) in setup.network.links.iter().enumerate() {
            if let Some(path) = link.paths.iter().find(|path| **path >= paths) {
                return Err(RunError::NoSuchPath(*path));
            }
            let [near, far] = routers_of(paths + number);
            plan.join(near, far);
        }
        plan.add_default_routes(setup);
        Ok(plan)
    }

    /// Two links between the router on the client's side and the other one: down, up.
    fn join(&mut self, near: RouterId, far: RouterId) {
        let [near, far] = [near, far].map(End::Router);
        self.network.links.push(LinkEnds { from: far, to: near });
        self.network.links.push(LinkEnds { from: near, to: far });
    }

    /// Default routes from every path's near end, and through a shared link for other hosts than
    /// those at its ends.
    fn add_default_routes(&mut self, setup: &RunSetup) {
        let anywhere = if setup.network.ipv6 {
            IpAddr::from(Ipv6Addr::UNSPECIFIED)
        } else {
            IpAddr::from(Ipv4Addr::UNSPECIFIED)
        };
        let paths = setup.network.paths.len();
        let route =
            |router, link| Route { router, prefix: anywhere, len: 0, via: LinkId(link as u32) };
        for path in 0..paths {
            self.network.routes.push(route(routers_of(path)[0], 2 * path + 1));
        }
        for number in paths..paths + setup.network.links.len() {
            let [near, far] = routers_of(number);
            self.network.routes.push(route(near, 2 * number + 1));
            self.network.routes.push(route(far, 2 * number));
        }
    }

    /// Access links for a pair of hosts, and the routes to them.
    fn attach(&mut self, attachment: &Attachment) {
        let Attachment { hosts: [client, server], interface, path, addresses, .. } = attachment;
        let [near_end, behind, end] = self.routers[*path];
        let first = self.network.links.len();
        for (host, router) in [(*client, near_end), (*server, end)] {
            let (host, router) = (End::Host(host, *interface), End::Router(router));
            self.network.links.push(LinkEnds { from: host, to: router });
            self.network.links.push(LinkEnds { from: router, to: host });
        }
        debug_assert_eq!(first + ACCESS_LINKS, self.network.links.len());
        let [to_client, to_server] = *addresses;
        let ways = [
            (near_end, to_client, first + 1),
            (behind, to_client, 2 * path),
            (end, to_server, first + 3),
        ];
        let routes = ways.map(|(router, prefix, via)| host_route(router, prefix, via));
        self.network.routes.extend(routes);
    }
}

impl Plan {
    /// A host is reached over each of its paths by all of its addresses, since a subflow may lead
    /// from the client's address on one path to the server's first address. Behind a shared link
    /// an address is reached over its own path.
    fn lead_to_all_addresses(&mut self, attachments: &[Attachment]) {
        let access = self.network.links.len() - ACCESS_LINKS * attachments.len();
        let routes = self.network.routes.iter();
        let mut known: BTreeSet<_> = routes.map(|route| (route.router.0, route.prefix)).collect();
        for (number, over) in attachments.iter().enumerate() {
            let [near_end, behind, end] = self.routers[over.path];
            let first = access + ACCESS_LINKS * number;
            let same = attachments.iter().filter(|other| other.hosts == over.hosts);
            for [client, server] in same.map(|other| other.addresses) {
                let ways = [
                    (near_end, client, first + 1),
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

/// The two routers of a path's own link or, numbered behind all paths, of a shared link: that on
/// the client's side, the other one.
const fn routers_of(number: usize) -> [RouterId; 2] {
    [RouterId(2 * number as u32), RouterId(2 * number as u32 + 1)]
}
