//! How the hosts and links of a run are connected.
//!
//! ```text
//! client - access - [near end] - own link - [near] - shared link - [far] - ... - [far] - server
//! ```
//! A path without a shared link ends behind its own; one through several passes a wire between the
//! far router of each and the near router of the next. The hosts of every flow have access links of
//! their own, which are wires unless a flow has a delay of its own; routers forward by address, or
//! by both addresses where paths name their ends. If nothing is shared and flow 0 is alone, its
//! hosts are at the ends of the links of the paths. Links are numbered: two for each path (down,
//! up), two for each shared link, then the access links, then the wires. What a link consists of is
//! left to `build`.

use super::hosts::FlowHosts;
use crate::run_error::RunError;
use crate::setup::RunSetup;
use base::{Duration, HostId, InterfaceId, LinkId};
use network::{End, LinkEnds, MiddleBoxConfig, Network, Route, RouterId};
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
    /// The two addresses reach only each other.
    has_ends: bool,
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
        let attachments: Vec<Attachment> = flows.iter().flat_map(attachments).collect();
        let mut plan = Plan::new(setup, attachments.len())?;
        let first = plan.network.links.len();
        let numbered = || (first..).step_by(ACCESS_LINKS).zip(&attachments);
        for (_, attachment) in numbered() {
            plan.attach(attachment);
        }
        for (access, attachment) in numbered() {
            plan.lead(attachment, access, attachment.addresses);
        }
        for (access, over) in numbered().filter(|(_, over)| !over.has_ends) {
            for other in attachments.iter().filter(|other| other.hosts == over.hosts) {
                plan.lead(over, access, other.addresses);
            }
        }
        plan.lay_wires();
        let one = |one: &Attachment| [one.delay, one.delay, Duration::ZERO, Duration::ZERO];
        let access = attachments.iter().flat_map(one);
        let wires = std::iter::repeat_n(Duration::ZERO, 2 * plan.wires.len());
        Ok(Layout { access: access.chain(wires).collect(), network: plan.network })
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
        has_ends: flow.has_ends(),
    })
}

/// A network under construction.
struct Plan {
    network: Network,
    /// By path.
    chains: Vec<Chain>,
    /// The far router of a shared link and the near one of the link behind it.
    wires: Vec<(RouterId, RouterId)>,
    /// Number of the first wire.
    first_wire: usize,
    /// What the routes lead to: router, source of a pair of addresses, destination.
    known: BTreeSet<(RouterId, Option<IpAddr>, IpAddr)>,
}

/// The routers that a path passes from client to server, and the links between them.
struct Chain {
    routers: Vec<RouterId>,
    /// Each leads to the server's side; the number before it leads back.
    up: Vec<usize>,
}

impl Plan {
    /// The links of paths and shared links, with the routers between them; wires come behind the
    /// access links of this many attachments.
    fn new(setup: &RunSetup, attachments: usize) -> Result<Plan, RunError> {
        let (paths, links) = (setup.network.paths.len(), &setup.network.links);
        let mut plan = Plan {
            network: Network::default(),
            chains: Vec::new(),
            wires: Vec::new(),
            first_wire: 2 * (paths + links.len()) + ACCESS_LINKS * attachments,
            known: BTreeSet::new(),
        };
        for path in 0..paths {
            let shared = (0..links.len()).filter(|link| links[*link].paths.contains(&path));
            let mut shared: Vec<usize> = shared.collect();
            if let Some(order) = setup.network.order.get(path) {
                shared.sort_by_key(|link| order.iter().position(|other| other == link));
            }
            let shared: Vec<usize> = shared.into_iter().map(|link| paths + link).collect();
            let chain = plan.chain(path, &shared);
            plan.join(chain.routers[0], chain.routers[1]);
            plan.chains.push(chain);
        }
        for (number, link) in links.iter().enumerate() {
            if let Some(path) = link.paths.iter().find(|path| **path >= paths) {
                return Err(RunError::NoSuchPath(*path));
            }
            let [near, far] = routers_of(paths + number);
            plan.join(near, far);
        }
        plan.add_default_routes(setup);
        Ok(plan)
    }

    /// The chain of a path through these shared links.
    fn chain(&mut self, path: usize, shared: &[usize]) -> Chain {
        let [near_end, own_end] = routers_of(path);
        let behind = shared.first().map_or(own_end, |link| routers_of(*link)[0]);
        let mut chain = Chain { routers: vec![near_end, behind], up: vec![2 * path + 1] };
        for (place, link) in shared.iter().enumerate() {
            let [near, far] = routers_of(*link);
            if place > 0 {
                let before = routers_of(shared[place - 1])[1];
                chain.up.push(self.wire(before, near));
                chain.routers.push(near);
            }
            chain.up.push(2 * link + 1);
            chain.routers.push(far);
        }
        chain
    }

    /// The number of the wire between two routers that leads to the second one.
    fn wire(&mut self, before: RouterId, behind: RouterId) -> usize {
        let place = self.wires.iter().position(|wire| *wire == (before, behind));
        let place = place.unwrap_or_else(|| {
            self.wires.push((before, behind));
            self.wires.len() - 1
        });
        self.first_wire + 2 * place + 1
    }

    fn lay_wires(&mut self) {
        debug_assert_eq!(self.first_wire, self.network.links.len());
        for (before, behind) in self.wires.clone() {
            self.join(before, behind);
        }
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
        let route = |router, link| {
            let via = LinkId(link as u32);
            Route { router, from: None, prefix: anywhere, len: 0, via }
        };
        for path in 0..paths {
            self.network.routes.push(route(routers_of(path)[0], 2 * path + 1));
        }
        for number in paths..paths + setup.network.links.len() {
            let [near, far] = routers_of(number);
            self.network.routes.push(route(near, 2 * number + 1));
            self.network.routes.push(route(far, 2 * number));
        }
        for there in &setup.network.boxes {
            if let MiddleBoxConfig::Nat { outside, .. } = there.config {
                self.lead_back(there.path, outside);
            }
        }
    }

    /// A route over a path to the outside address of a translator there, which no host has.
    fn lead_back(&mut self, path: usize, outside: IpAddr) {
        let router = self.chains[path].routers[1];
        let via = LinkId(2 * path as u32);
        let len = if outside.is_ipv4() { 32 } else { 128 };
        self.network.routes.push(Route { router, from: None, prefix: outside, len, via });
    }

    /// Access links for a pair of hosts.
    fn attach(&mut self, attachment: &Attachment) {
        let Attachment { hosts: [client, server], interface, path, .. } = attachment;
        let routers = &self.chains[*path].routers;
        // A chain has two routers at least.
        let ends = [(*client, routers[0]), (*server, routers[routers.len() - 1])];
        for (host, router) in ends {
            let (host, router) = (End::Host(host, *interface), End::Router(router));
            self.network.links.push(LinkEnds { from: host, to: router });
            self.network.links.push(LinkEnds { from: router, to: host });
        }
    }

    /// Routes over a path to the addresses of its hosts, unless there are others; `access`: the
    /// first of its access links. A host is reached over each of its paths by all of its addresses,
    /// since a subflow may lead from the client's address on one path to the server's first
    /// address, unless paths name their ends. In a shared link an address is reached over its own
    /// path.
    fn lead(&mut self, over: &Attachment, access: usize, [client, server]: [IpAddr; 2]) {
        let Chain { routers, up } = &self.chains[over.path];
        let last = routers.len() - 1;
        for (place, router) in routers.iter().enumerate() {
            let down = if place == 0 { access + 1 } else { up[place - 1] - 1 };
            let up = if place == last { access + 3 } else { up[place] };
            for (from, to, via) in [(server, client, down), (client, server, up)] {
                let from = over.has_ends.then_some(from);
                if self.known.insert((*router, from, to)) {
                    let (router, via) = (*router, LinkId(via as u32));
                    let len = if to.is_ipv4() { 32 } else { 128 };
                    self.network.routes.push(Route { router, from, prefix: to, len, via });
                }
            }
        }
    }
}

/// The two routers of a path's own link or, numbered behind all paths, of a shared link: that on
/// the client's side, the other one.
const fn routers_of(number: usize) -> [RouterId; 2] {
    [RouterId(2 * number as u32), RouterId(2 * number as u32 + 1)]
}
