//! How links are connected: hosts with interfaces, routers with static routes, paths that share a
//! link.
//!
//! A plain description is checked and turned into tables, which return the next hop of a packet
//! that came out of a link. Links themselves and moving packets between them are left to the world
//! that drives them; there is no dynamic routing.

use base::{HostId, InterfaceId, LinkId};
use std::net::IpAddr;
use wire::Packet;

/// A router of a world, in the order routers are numbered by its description.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RouterId(pub u32);

/// One end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// An interface of a host.
    Host(HostId, InterfaceId),
    /// A router.
    Router(RouterId),
}

/// A one-way link between two nodes. Its `LinkId` is its place in the description.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkEnds {
    /// The node that sends into the link.
    pub from: End,
    /// The node that receives from it.
    pub to: End,
}

/// A static route of one router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// The router whose table has the route.
    pub router: RouterId,
    /// Only for packets from this address to the very address `prefix`; such a route comes before
    /// all others (`ip rule from`). `None`: for packets from anywhere.
    pub from: Option<IpAddr>,
    /// Destination prefix; the bits after the first `len` are ignored.
    pub prefix: IpAddr,
    /// Length of the prefix in bits, at most 32 for IPv4 and 128 for IPv6; 0 matches every address
    /// of the family.
    pub len: u8,
    /// The next link; it starts at the router.
    pub via: LinkId,
}

/// The next hop of a packet that came out of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hop {
    /// The router at the end of the link sends it into this link.
    Link(LinkId),
    /// It has reached this interface of a host.
    Host(HostId, InterfaceId),
    /// No route, or the hop limit is used up.
    Drop,
}

/// The description of a network: links by their ends, and the routes of routers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Network {
    /// Ends of each link, by `LinkId`.
    pub links: Vec<LinkEnds>,
    /// Routes of all routers, in any order; the longest matching prefix applies.
    pub routes: Vec<Route>,
}

/// A mistake in a description.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TopologyError {
    #[error("interface {1:?} of host {0:?} has two outgoing links")]
    /// A second link starts at an interface.
    TwoLinks(HostId, InterfaceId),
    #[error("a route of router {0:?} leads over link {1:?}, which does not start there")]
    /// The link of a route does not start at its router, or does not exist.
    NotALinkOf(RouterId, LinkId),
    #[error("router {0:?} has two routes for {1}/{2}")]
    /// A router has two routes of the same prefix and length.
    TwoRoutes(RouterId, IpAddr, u8),
    #[error("a prefix of {1} bits is too long for {0}")]
    /// A prefix is longer than an address of its family.
    PrefixTooLong(IpAddr, u8),
}

/// The tables of a checked network.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// The end of each link.
    ahead: Vec<Ahead>,
    /// By link: the ends of the last packet of IPv4 that came out, and its next hop. Packets come
    /// in bursts, and searches in tables were a twentieth of a world with background traffic.
    last: Vec<Option<(u64, Hop)>>,
    /// The link out of each interface, by host and interface.
    egress: Vec<Vec<Option<LinkId>>>,
    /// By router.
    tables: Vec<Table>,
}

/// The node at the end of a link.
#[derive(Clone, Copy, Debug)]
enum Ahead {
    /// A host.
    Fixed(Hop),
    /// A router, which uses its table.
    Table(usize),
}

impl Topology {
    /// Check a description and build its tables.
    pub fn new(network: &Network) -> Result<Topology, TopologyError> {
        let mut topology = Topology::default();
        for (index, link) in network.links.iter().enumerate() {
            let id = LinkId(index as u32);
            if let End::Host(host, interface) = link.from {
                topology.set_egress(host, interface, id)?;
            }
            topology.ahead.push(match link.to {
                End::Host(host, interface) => Ahead::Fixed(Hop::Host(host, interface)),
                End::Router(router) => Ahead::Table(router.0 as usize),
            });
        }
        topology.last = vec![None; network.links.len()];
        for route in &network.routes {
            let from = network.links.get(route.via.index()).map(|link| link.from);
            if from != Some(End::Router(route.router)) {
                return Err(TopologyError::NotALinkOf(route.router, route.via));
            }
            topology.table(route.router).insert(route)?;
        }
        Ok(topology)
    }

    /// The link that an interface of a host sends on; `None` if it is not connected.
    #[inline]
    pub fn egress(&self, host: HostId, interface: InterfaceId) -> Option<LinkId> {
        *self.egress.get(host.index())?.get(interface.index())?
    }

    /// The host at the end of `link`, if it is none of the routers.
    pub fn host(&self, link: LinkId) -> Option<(HostId, InterfaceId)> {
        match self.ahead.get(link.index()) {
            Some(Ahead::Fixed(Hop::Host(host, interface))) => Some((*host, *interface)),
            _ => None,
        }
    }

    /// The next hop of a packet from `src` to `dst` that came out of `link`.
    #[inline]
    pub fn next_hop(&self, link: LinkId, (src, dst): (IpAddr, IpAddr)) -> Hop {
        self.hop(link, |table| table.lookup(src, dst))
    }

    #[inline(always)]
    fn hop(&self, link: LinkId, lookup: impl FnOnce(&Table) -> Option<LinkId>) -> Hop {
        match self.ahead.get(link.index()) {
            Some(Ahead::Fixed(hop)) => *hop,
            Some(Ahead::Table(router)) => {
                self.tables.get(*router).and_then(lookup).map_or(Hop::Drop, Hop::Link)
            }
            None => Hop::Drop,
        }
    }

    #[inline]
    fn hop_of_v4(&mut self, link: LinkId, src: u32, dst: u32) -> Hop {
        let pair = Bits::pair(src, dst);
        if let Some(Some((last, hop))) = self.last.get(link.index())
            && *last == pair
        {
            return *hop;
        }
        let hop = self.hop(link, |table| table.v4.lookup(src, dst));
        if let Some(last) = self.last.get_mut(link.index()) {
            *last = Some((pair, hop));
        }
        hop
    }

    /// The next hop of a packet. A router decrements its hop limit (RFC 1812 s5.3.1), which ends
    /// loops of routes.
    #[inline]
    pub fn forward(&mut self, link: LinkId, packet: &mut Packet) -> Hop {
        let hop = match packet.ends.as_v4() {
            Some((src, dst)) => self.hop_of_v4(link, src.to_bits(), dst.to_bits()),
            None => self.next_hop(link, (packet.src(), packet.dst())),
        };
        if let Hop::Link(_) = hop {
            if packet.hop_limit <= 1 {
                return Hop::Drop;
            }
            packet.hop_limit -= 1;
        }
        hop
    }

    fn set_egress(
        &mut self,
        host: HostId,
        interface: InterfaceId,
        link: LinkId,
    ) -> Result<(), TopologyError> {
        let interfaces = entry(&mut self.egress, host.index());
        match entry(interfaces, interface.index()).replace(link) {
            None => Ok(()),
            Some(_) => Err(TopologyError::TwoLinks(host, interface)),
        }
    }

    fn table(&mut self, router: RouterId) -> &mut Table {
        entry(&mut self.tables, router.0 as usize)
    }
}

/// The element at `index`; the vector grows to hold it. Indices are numbers of declared items and
/// small.
fn entry<T: Default + Clone>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}

/// The routes of a router.
#[derive(Clone, Debug, Default)]
struct Table {
    v4: Routes<u32>,
    v6: Routes<u128>,
}

impl Table {
    fn insert(&mut self, route: &Route) -> Result<(), TopologyError> {
        let (prefix, len) = (route.prefix, route.len);
        let inserted = match (route.from, prefix) {
            (None, IpAddr::V4(to)) => self.v4.insert(to.to_bits(), len, route.via),
            (None, IpAddr::V6(to)) => self.v6.insert(to.to_bits(), len, route.via),
            (Some(IpAddr::V4(from)), IpAddr::V4(to)) => {
                self.v4.insert_pair((from.to_bits(), to.to_bits()), route.via)
            }
            (Some(IpAddr::V6(from)), IpAddr::V6(to)) => {
                self.v6.insert_pair((from.to_bits(), to.to_bits()), route.via)
            }
            // No packet is between two families.
            (Some(_), _) => Ok(()),
        };
        inserted.map_err(|refused| match refused {
            Refused::Twice => TopologyError::TwoRoutes(route.router, prefix, len),
            Refused::TooLong => TopologyError::PrefixTooLong(prefix, len),
        })
    }

    #[inline]
    fn lookup(&self, src: IpAddr, dst: IpAddr) -> Option<LinkId> {
        match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => self.v4.lookup(src.to_bits(), dst.to_bits()),
            (IpAddr::V6(src), IpAddr::V6(dst)) => self.v6.lookup(src.to_bits(), dst.to_bits()),
            _ => None,
        }
    }
}

/// Why a route was not inserted.
enum Refused {
    Twice,
    TooLong,
}

/// An address as a number: with shared links every packet is looked up at two routers, and numbers
/// of 32 bits are compared in a third of the time of an `IpAddr`.
trait Bits: Copy + Ord {
    const WIDTH: u8;
    /// Two of them, compared at once where that is possible.
    type Pair: Copy + Ord;
    fn pair(src: Self, dst: Self) -> Self::Pair;
    /// The first `len` bits, shifted down.
    fn prefix(self, len: u8) -> Self;
}

impl Bits for u32 {
    const WIDTH: u8 = 32;
    type Pair = u64;
    #[inline]
    fn pair(src: u32, dst: u32) -> u64 {
        u64::from(src) << 32 | u64::from(dst)
    }
    #[inline]
    fn prefix(self, len: u8) -> Self {
        self.checked_shr(u32::from(Self::WIDTH - len)).unwrap_or(0)
    }
}

impl Bits for u128 {
    const WIDTH: u8 = 128;
    type Pair = (u128, u128);
    #[inline]
    fn pair(src: u128, dst: u128) -> (u128, u128) {
        (src, dst)
    }
    #[inline]
    fn prefix(self, len: u8) -> Self {
        self.checked_shr(u32::from(Self::WIDTH - len)).unwrap_or(0)
    }
}

/// The routes of one family: one sorted list per prefix length, longest first, so that host routes,
/// the usual ones, are found by one binary search.
#[derive(Clone, Debug)]
struct Routes<A: Bits> {
    /// Routes by source and destination, in their order.
    pairs: Vec<(A::Pair, LinkId)>,
    groups: Vec<Group<A>>,
}

#[derive(Clone, Debug)]
struct Group<A> {
    len: u8,
    /// Prefix bits, shifted down, and the link; in the order of the bits.
    routes: Vec<(A, LinkId)>,
}

impl<A: Bits> Default for Routes<A> {
    fn default() -> Self {
        Routes { pairs: Vec::new(), groups: Vec::new() }
    }
}

impl<A: Bits> Routes<A> {
    fn insert_pair(&mut self, (src, dst): (A, A), via: LinkId) -> Result<(), Refused> {
        insert_sorted(&mut self.pairs, A::pair(src, dst), via)
    }

    fn insert(&mut self, prefix: A, len: u8, via: LinkId) -> Result<(), Refused> {
        if len > A::WIDTH {
            return Err(Refused::TooLong);
        }
        let place = self.groups.partition_point(|group| group.len > len);
        if self.groups.get(place).is_none_or(|group| group.len != len) {
            self.groups.insert(place, Group { len, routes: Vec::new() });
        }
        insert_sorted(&mut self.groups[place].routes, prefix.prefix(len), via)
    }

    /// A route of the pair before any other, then longest prefix first.
    #[inline]
    fn lookup(&self, src: A, dst: A) -> Option<LinkId> {
        find_sorted(&self.pairs, A::pair(src, dst)).or_else(|| {
            let of = |group: &Group<A>| find_sorted(&group.routes, dst.prefix(group.len));
            self.groups.iter().find_map(of)
        })
    }
}

fn insert_sorted<K: Ord>(list: &mut Vec<(K, LinkId)>, key: K, via: LinkId) -> Result<(), Refused> {
    match list.binary_search_by(|(other, _)| other.cmp(&key)) {
        Ok(_) => Err(Refused::Twice),
        Err(place) => {
            list.insert(place, (key, via));
            Ok(())
        }
    }
}

#[inline]
fn find_sorted<K: Ord>(list: &[(K, LinkId)], key: K) -> Option<LinkId> {
    list.binary_search_by(|(other, _)| other.cmp(&key)).ok().map(|place| list[place].1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Body, UdpDatagram};

    const CLIENT: HostId = HostId(0);
    const SERVER: HostId = HostId(1);
    const R0: RouterId = RouterId(0);
    const R1: RouterId = RouterId(1);

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn wiring(from: End, to: End) -> LinkEnds {
        LinkEnds { from, to }
    }

    fn route(router: RouterId, prefix: IpAddr, len: u8, via: u32) -> Route {
        Route { router, from: None, prefix, len, via: LinkId(via) }
    }

    /// A client with two interfaces (10.0.0.1, 10.0.0.2) whose paths share link 2 to the server.
    fn shared_bottleneck() -> Network {
        let client = |interface| End::Host(CLIENT, InterfaceId(interface));
        let server = End::Host(SERVER, InterfaceId(0));
        Network {
            links: vec![
                wiring(client(0), End::Router(R0)),
                wiring(client(1), End::Router(R0)),
                wiring(End::Router(R0), server),
                wiring(server, End::Router(R1)),
                wiring(End::Router(R1), client(0)),
                wiring(End::Router(R1), client(1)),
            ],
            routes: vec![route(R0, ip(0), 0, 2), route(R1, ip(1), 32, 4), route(R1, ip(2), 32, 5)],
        }
    }

    #[test]
    fn two_interfaces_share_one_link_and_answers_part_by_address() {
        let topology = Topology::new(&shared_bottleneck()).unwrap();
        assert_eq!(topology.egress(CLIENT, InterfaceId(1)), Some(LinkId(1)));
        assert_eq!(topology.egress(CLIENT, InterfaceId(2)), None);
        for nic in [LinkId(0), LinkId(1)] {
            assert_eq!(topology.next_hop(nic, (ip(77), ip(9))), Hop::Link(LinkId(2)));
        }
        assert_eq!(
            topology.next_hop(LinkId(2), (ip(77), ip(9))),
            Hop::Host(SERVER, InterfaceId(0))
        );
        assert_eq!(topology.next_hop(LinkId(3), (ip(77), ip(1))), Hop::Link(LinkId(4)));
        assert_eq!(topology.next_hop(LinkId(3), (ip(77), ip(2))), Hop::Link(LinkId(5)));
        assert_eq!(topology.next_hop(LinkId(3), (ip(77), ip(3))), Hop::Drop);
        let v6 = IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1u16]);
        assert_eq!(topology.next_hop(LinkId(0), (ip(77), v6)), Hop::Drop);
    }

    #[test]
    fn route_of_a_pair_of_addresses_comes_before_all_others() {
        let mut network = shared_bottleneck();
        let of_pair = |from, via| Route { from: Some(ip(from)), ..route(R1, ip(2), 32, via) };
        network.routes.extend([of_pair(9, 4), of_pair(8, 5)]);
        let topology = Topology::new(&network).unwrap();
        let from = |last| topology.next_hop(LinkId(3), (ip(last), ip(2)));
        assert_eq!([9, 8, 7].map(from), [4, 5, 5].map(|link| Hop::Link(LinkId(link))));
        network.routes.push(of_pair(9, 5));
        let twice = Err(TopologyError::TwoRoutes(R1, ip(2), 32));
        assert_eq!(Topology::new(&network).map(|_| ()), twice);
    }

    #[test]
    fn longest_prefix_wins_in_any_order_of_description() {
        let mut network = shared_bottleneck();
        network.routes = vec![
            route(R1, ip(0), 24, 4),
            route(R1, ip(0), 0, 4),
            route(R1, ip(2), 32, 5),
            route(R1, ip(128), 25, 5),
        ];
        for _ in 0..network.routes.len() {
            network.routes.rotate_left(1);
            let topology = Topology::new(&network).unwrap();
            let hop = |address| topology.next_hop(LinkId(3), (ip(77), address));
            assert_eq!(hop(ip(2)), Hop::Link(LinkId(5)));
            assert_eq!(hop(ip(3)), Hop::Link(LinkId(4)));
            assert_eq!(hop(ip(200)), Hop::Link(LinkId(5)));
            assert_eq!(hop(IpAddr::from([192, 168, 0, 1])), Hop::Link(LinkId(4)));
        }
    }

    #[test]
    fn packets_that_alternate_are_forwarded_as_each_alone() {
        let mut network = shared_bottleneck();
        network.routes.push(Route { from: Some(ip(9)), ..route(R1, ip(2), 32, 4) });
        let mut topology = Topology::new(&network).unwrap();
        let pairs = [(9, 2), (8, 2), (8, 2), (9, 1), (9, 3), (9, 3), (9, 2)];
        let found = pairs.map(|(src, dst)| {
            let body = Body::Udp(UdpDatagram::default());
            topology.forward(LinkId(3), &mut Packet::new(ip(src), ip(dst), body))
        });
        let via = |link| Hop::Link(LinkId(link));
        assert_eq!(found, [via(4), via(5), via(5), via(4), Hop::Drop, Hop::Drop, via(4)]);
        let alone = pairs.map(|(src, dst)| topology.next_hop(LinkId(3), (ip(src), ip(dst))));
        assert_eq!(found, alone);
    }

    #[test]
    fn loop_of_routes_ends_with_the_hop_limit() {
        let network = Network {
            links: vec![
                wiring(End::Router(R0), End::Router(R1)),
                wiring(End::Router(R1), End::Router(R0)),
            ],
            routes: vec![route(R0, ip(0), 0, 0), route(R1, ip(0), 0, 1)],
        };
        let mut topology = Topology::new(&network).unwrap();
        let mut packet = Packet::new(ip(1), ip(2), Body::Udp(UdpDatagram::default()));
        let mut link = LinkId(0);
        let mut hops = 0;
        while let Hop::Link(next) = topology.forward(link, &mut packet) {
            link = next;
            hops += 1;
        }
        assert_eq!(hops, 63);
    }

    #[test]
    fn nonsense_is_refused() {
        let with = |change: fn(&mut Network)| {
            let mut network = shared_bottleneck();
            change(&mut network);
            Topology::new(&network).err()
        };
        assert_eq!(
            with(|network| network.links.push(network.links[0])),
            Some(TopologyError::TwoLinks(CLIENT, InterfaceId(0)))
        );
        assert_eq!(
            with(|network| network.routes.push(route(R1, ip(7), 32, 2))),
            Some(TopologyError::NotALinkOf(R1, LinkId(2)))
        );
        assert_eq!(
            with(|network| network.routes.push(route(R1, ip(7), 32, 99))),
            Some(TopologyError::NotALinkOf(R1, LinkId(99)))
        );
        assert_eq!(
            with(|network| network.routes.push(route(R1, ip(1), 32, 5))),
            Some(TopologyError::TwoRoutes(R1, ip(1), 32))
        );
        assert_eq!(
            with(|network| network.routes.push(route(R1, ip(7), 33, 5))),
            Some(TopologyError::PrefixTooLong(ip(7), 33))
        );
    }
}
