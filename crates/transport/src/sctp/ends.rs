//! `Ends`: ports and addresses of both sides, and the paths between them.
//!
//! A path is a pair of a local and a remote address. Pairs that are no paths may still carry
//! packets of the peer, which builds its own list; they come behind the paths. Whether a path works
//! is left to `PathStates`.

use super::cmt::PairRule;
use crate::endpoint::Tuple;
use crate::routes::Routes;
use base::{InterfaceId, PathId};
use std::net::{IpAddr, SocketAddr};
use wire::sctp::UdpPorts;

/// Pairs of addresses of one association at most, so that they have numbers of paths.
const MAX_PAIRS: usize = 128;

/// Paths of a mesh at most.
const MAX_MESH: usize = 8;

/// An address of this host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LocalAddress {
    pub address: IpAddr,
    pub interface: InterfaceId,
    /// Largest IP datagram of the interface, in bytes.
    pub mtu: u32,
}

/// A local and a remote address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair {
    pub local: LocalAddress,
    pub remote: IpAddr,
}

/// Ports, addresses and pairs of addresses.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    port: u16,
    peer_port: u16,
    /// At least one; the first is that of the first path.
    locals: Vec<LocalAddress>,
    /// At least one; the first is that of the first path.
    remotes: Vec<IpAddr>,
    /// Paths, then other pairs.
    pairs: Vec<Pair>,
    /// How many of `pairs` are paths.
    paths: usize,
    /// Numbers of deleted paths that further ones may have when all are used up.
    vacant: Vec<PathId>,
    /// A pair that is not the association's, from which a packet came or to which one goes.
    stray: Option<Pair>,
    /// Every pair is a path.
    is_mesh: bool,
    rule: PairRule,
    /// Interfaces of pairs; if there are any, other pairs are not connected.
    routes: Routes,
    /// UDP ports around packets to an address of the peer (RFC 6951), the usual ones first; `None`
    /// for an address whose packets come without UDP.
    udp: Vec<(Option<IpAddr>, Option<UdpPorts>)>,
}

impl Ends {
    /// Paths between `locals` and `remotes`, of which the first ones are the first path.
    pub(super) fn new(
        (port, peer_port): (u16, u16),
        locals: Vec<LocalAddress>,
        remotes: Vec<IpAddr>,
    ) -> Ends {
        debug_assert!(!locals.is_empty() && !remotes.is_empty(), "an address at each end");
        let mut ends = Ends {
            port,
            peer_port,
            locals,
            remotes,
            pairs: Vec::new(),
            paths: 0,
            vacant: Vec::new(),
            stray: None,
            is_mesh: false,
            rule: PairRule::Auto,
            routes: Routes::default(),
            udp: vec![],
        };
        ends.pair();
        ends
    }

    /// Only pairs with a route are paths, which leave on its interface.
    pub(super) fn with_routes(mut self, routes: Routes) -> Ends {
        if !routes.is_empty() {
            self.routes = routes;
            self.paths = 0;
            self.pair();
        }
        self
    }

    /// The pair of two addresses, if they are connected.
    fn routed(&self, pair: Pair) -> Option<Pair> {
        let Pair { local, remote } = pair;
        let interface = self.routes.interface(local.address, remote).unwrap_or(local.interface);
        let is_connected = self.routes.connects(local.address, remote);
        is_connected.then_some(Pair { local: LocalAddress { interface, ..local }, remote })
    }

    /// Every pair of addresses is a path, up to 8 of them.
    pub(super) fn use_all_pairs(&mut self) {
        self.is_mesh = true;
        self.pair();
    }

    /// Paths are those of this rule; the first one stays.
    pub(super) fn use_rule(&mut self, rule: PairRule) {
        self.rule = rule;
        self.paths = self.paths.min(1);
        self.pair();
    }

    /// Lists the pairs anew; paths that there are keep their numbers.
    fn pair(&mut self) {
        let mut paths: Vec<Pair> = self.pairs[..self.paths].to_vec();
        let mut wanted = paired(&self.locals, &self.remotes, self.rule);
        let mut most = MAX_PAIRS;
        if self.is_mesh {
            most = MAX_MESH;
            wanted.extend(crossed(&self.locals, &self.remotes));
        }
        let connected: Vec<Pair> = wanted.iter().filter_map(|pair| self.routed(*pair)).collect();
        // An association has a path: that of its packets, though there be no route for them.
        let wanted = if paths.is_empty() && connected.is_empty() { wanted } else { connected };
        for pair in wanted {
            let live = paths.iter().filter(|path| self.has_both(path)).count();
            if !paths.contains(&pair) && live < most {
                self.enter(&mut paths, pair);
            }
        }
        self.list(paths);
    }

    /// Lists these paths, and behind them the other pairs of addresses.
    fn list(&mut self, paths: Vec<Pair>) {
        self.paths = paths.len();
        self.pairs = paths;
        for local in &self.locals {
            for remote in &self.remotes {
                let pair = self.routed(Pair { local: *local, remote: *remote });
                let Some(pair) = pair else { continue };
                let fits = self.pairs.len() < MAX_PAIRS;
                if fits && same_family(&pair) && !self.pairs.contains(&pair) {
                    self.pairs.push(pair);
                }
            }
        }
    }

    /// The peer's addresses are known; of the paths so far only the first one stays.
    pub(super) fn set_remotes(&mut self, remotes: &[IpAddr]) {
        let first = self.remotes[0];
        self.remotes = vec![first];
        self.remotes.extend(remotes.iter().filter(|remote| **remote != first));
        // The other paths so far were made without the peer's addresses.
        self.paths = self.paths.min(1);
        self.pair();
    }

    /// The peer has restarted, and has these addresses only. The first path stays if it can.
    pub(super) fn restart(&mut self, remotes: &[IpAddr]) {
        let kept = self.remotes.iter().filter(|remote| remotes.contains(remote));
        let mut all: Vec<IpAddr> = kept.copied().collect();
        all.extend(remotes.iter().filter(|remote| !self.remotes.contains(remote)));
        if all.is_empty() {
            return;
        }
        self.remotes = all;
        let stays = self.locals.is_empty() || self.is_live(PathId(0));
        self.paths = if stays { self.paths.min(1) } else { 0 };
        self.pair();
    }

    /// One more address of the peer, with a path to it unless it had one before; returns whether
    /// it was not known.
    pub(super) fn add_remote(&mut self, remote: IpAddr) -> bool {
        if self.remotes.contains(&remote) {
            return false;
        }
        self.remotes.push(remote);
        let uses = |path: &Pair, local: &LocalAddress| path.local.address == local.address;
        let fits = |local: &&LocalAddress| local.address.is_ipv4() == remote.is_ipv4();
        let live = self.live_pairs();
        let is_idle = |local: &&LocalAddress| !live.iter().any(|path| uses(path, local));
        let fitting = || self.locals.iter().filter(fits);
        let partner = fitting().find(is_idle).or_else(|| fitting().next()).copied();
        self.cover(partner.map(|local| Pair { local, remote }), |path| path.remote == remote);
        true
    }

    /// One more address of this host, with a path from it unless it had one before; returns whether
    /// it was not known.
    pub(super) fn add_local(&mut self, local: LocalAddress) -> bool {
        if self.locals.iter().any(|known| known.address == local.address) {
            return false;
        }
        self.locals.push(local);
        let fits = |remote: &&IpAddr| remote.is_ipv4() == local.address.is_ipv4();
        let live = self.live_pairs();
        let is_idle = |remote: &&IpAddr| !live.iter().any(|path| path.remote == **remote);
        let fitting = || self.remotes.iter().filter(fits);
        let partner = fitting().find(is_idle).or_else(|| fitting().next()).copied();
        self.cover(partner.map(|remote| Pair { local, remote }), |path| {
            path.local.address == local.address
        });
        true
    }

    /// Adds a path for an address, unless there is one that `has` it.
    fn cover(&mut self, path: Option<Pair>, has: impl Fn(&Pair) -> bool) {
        if self.is_mesh {
            return self.pair();
        }
        let is_covered = self.live_pairs().iter().any(has);
        let mut paths: Vec<Pair> = self.pairs[..self.paths].to_vec();
        let path = path.and_then(|path| self.routed(path));
        if let Some(path) = path.filter(|_| !is_covered) {
            self.enter(&mut paths, path);
        }
        self.list(paths);
    }

    /// Adds a path to others, in the place of a deleted one if there are no more numbers.
    fn enter(&self, paths: &mut Vec<Pair>, path: Pair) {
        if paths.len() < MAX_PAIRS {
            return paths.push(path);
        }
        let is_dead = |number: &&PathId| {
            paths.get(number.index()).is_some_and(|former| !self.has_both(former))
        };
        if let Some(number) = self.vacant.iter().find(is_dead) {
            paths[number.index()] = path;
        }
    }

    /// Deleted paths of which nothing is left: further paths may have their numbers.
    pub(super) fn set_vacant(&mut self, vacant: Vec<PathId>) {
        self.vacant = vacant;
    }

    fn live_pairs(&self) -> Vec<Pair> {
        let paths = self.pairs[..self.paths].iter();
        paths.filter(|path| self.has_both(path)).copied().collect()
    }

    fn has_both(&self, pair: &Pair) -> bool {
        self.remotes.contains(&pair.remote)
            && self.locals.iter().any(|local| local.address == pair.local.address)
    }

    /// Whether a path, or another pair, has addresses that neither side has deleted.
    pub(super) fn is_live(&self, number: PathId) -> bool {
        self.pair_of(number).is_some_and(|pair| self.has_both(pair))
    }

    /// An address of the peer is not used any more. Paths with it keep their numbers.
    pub(super) fn remove_remote(&mut self, remote: IpAddr) {
        self.remotes.retain(|known| *known != remote);
        self.list(self.pairs[..self.paths].to_vec());
    }

    /// An address of this host is not used any more.
    pub(super) fn remove_local(&mut self, local: IpAddr) {
        self.locals.retain(|known| known.address != local);
        self.list(self.pairs[..self.paths].to_vec());
    }

    /// An address of this host by which the peer knows the association.
    pub(super) fn known_local(&self) -> IpAddr {
        let first = self.locals.first().or(self.pairs.first().map(|pair| &pair.local));
        first.map_or(IpAddr::from([0, 0, 0, 0]), |local| local.address)
    }

    /// The path to an address of the peer that works.
    pub(super) fn live_path_to(&self, remote: IpAddr) -> Option<PathId> {
        let live = (0..self.paths).map(|path| PathId(path as u8));
        live.filter(|path| self.is_live(*path))
            .find(|path| self.pair_of(*path).is_some_and(|pair| pair.remote == remote))
    }

    /// A live pair to an address of the peer, a path if possible.
    pub(super) fn number_to(&self, remote: IpAddr) -> Option<PathId> {
        let all = (0..self.pairs.len()).map(|path| PathId(path as u8));
        all.filter(|pair| self.is_live(*pair))
            .find(|path| self.pair_of(*path).is_some_and(|pair| pair.remote == remote))
    }

    /// The number of the stray pair.
    pub(super) const STRAY: PathId = PathId(u8::MAX - 1);

    /// A packet comes or goes between addresses that are no pair of the association; returns the
    /// number that the pair has until the next one.
    pub(super) fn set_stray(&mut self, local: LocalAddress, remote: IpAddr) -> PathId {
        self.stray = Some(Pair { local, remote });
        Ends::STRAY
    }

    /// Packets are carried in UDP between these ports (RFC 6951).
    pub(super) fn set_udp(&mut self, ports: UdpPorts) {
        self.udp = vec![(None, Some(ports))];
    }

    /// A packet from an address of the peer came in UDP, or without: so does the answer, to these
    /// ports (RFC 6951 s5.4). Returns whether that is new.
    pub(super) fn learn_udp(&mut self, remote: IpAddr, ports: Option<UdpPorts>) -> bool {
        if self.udp_to(remote) == ports {
            return false;
        }
        match self.udp.iter_mut().find(|(address, _)| *address == Some(remote)) {
            Some((_, known)) => *known = ports,
            None => self.udp.push((Some(remote), ports)),
        }
        true
    }

    /// Whether packets to or from any address have been in UDP.
    pub(super) const fn knows_udp(&self) -> bool {
        !self.udp.is_empty()
    }

    /// The UDP ports of packets to an address of the peer: those of its packets, or until there
    /// are any those of another address.
    #[inline]
    pub(super) fn udp_to(&self, remote: IpAddr) -> Option<UdpPorts> {
        if self.udp.is_empty() { None } else { self.noted_udp(remote) }
    }

    fn noted_udp(&self, remote: IpAddr) -> Option<UdpPorts> {
        if let Some((_, ports)) = self.udp.iter().find(|(address, _)| *address == Some(remote)) {
            return *ports;
        }
        let in_udp = || self.udp.iter().filter(|(_, ports)| ports.is_some());
        let other = in_udp().find(|(address, _)| address.is_some());
        other.or_else(|| in_udp().next()).and_then(|(_, ports)| *ports)
    }

    /// Whether packets to an address are carried in UDP, so that they have less room.
    pub(super) fn uses_udp(&self) -> bool {
        self.udp.iter().any(|(_, ports)| ports.is_some())
    }

    /// Port of this side and of the peer.
    pub(super) const fn ports(&self) -> (u16, u16) {
        (self.port, self.peer_port)
    }

    pub(super) fn locals(&self) -> &[LocalAddress] {
        &self.locals
    }

    pub(super) fn remotes(&self) -> &[IpAddr] {
        &self.remotes
    }

    /// Number of paths.
    pub(super) const fn paths(&self) -> usize {
        self.paths
    }

    /// Number of paths with addresses that neither side has deleted.
    pub(super) fn live_paths(&self) -> usize {
        self.live_pairs().len()
    }

    /// The pair with this number; paths come first.
    pub(super) fn pair_of(&self, number: PathId) -> Option<&Pair> {
        if number == Ends::STRAY {
            return self.stray.as_ref();
        }
        self.pairs.get(number.index())
    }

    /// The path whose remote address is that of the pair `number`: itself if it is a path.
    #[inline(always)]
    pub(super) fn path_to(&self, number: PathId) -> Option<PathId> {
        if number.index() < self.paths { Some(number) } else { self.path_of_pair(number) }
    }

    #[cold]
    fn path_of_pair(&self, number: PathId) -> Option<PathId> {
        let remote = self.pair_of(number)?.remote;
        self.path_with(remote)
    }

    /// The first path to an address of the peer.
    pub(super) fn path_with(&self, remote: IpAddr) -> Option<PathId> {
        let path = self.pairs[..self.paths].iter().position(|pair| pair.remote == remote)?;
        Some(PathId(path as u8))
    }

    /// The pair, or path, between these addresses.
    pub(super) fn number_of(&self, local: IpAddr, remote: IpAddr) -> Option<PathId> {
        let is_it = |pair: &Pair| pair.local.address == local && pair.remote == remote;
        self.pairs.iter().position(is_it).map(|index| PathId(index as u8))
    }

    /// Both ends of every pair, with the interface, in the order of the numbers.
    pub(super) fn tuples(&self) -> Vec<(Tuple, InterfaceId)> {
        let tuple = |pair: &Pair| {
            let local = SocketAddr::new(pair.local.address, self.port);
            let remote = SocketAddr::new(pair.remote, self.peer_port);
            (Tuple { local, remote }, pair.local.interface)
        };
        self.pairs.iter().map(tuple).collect()
    }

    /// The smallest MTU of the paths, in bytes.
    pub(super) fn mtu(&self) -> u32 {
        self.pairs[..self.paths].iter().map(|pair| pair.local.mtu).min().unwrap_or(1500)
    }
}

/// The paths of a list that is not a mesh. Addresses of each IP version are paired apart, those of
/// the version of the first address first.
fn paired(locals: &[LocalAddress], remotes: &[IpAddr], rule: PairRule) -> Vec<Pair> {
    let is_first =
        |address: IpAddr| remotes.first().is_some_and(|first| first.is_ipv4() == address.is_ipv4());
    let of_version = |first: bool| {
        let locals = locals.iter().filter(|local| is_first(local.address) == first);
        let remotes = remotes.iter().filter(|remote| is_first(**remote) == first);
        paired_of_version(
            &locals.copied().collect::<Vec<_>>(),
            &remotes.copied().collect::<Vec<_>>(),
            rule,
        )
    };
    [of_version(true), of_version(false)].concat()
}

fn paired_of_version(locals: &[LocalAddress], remotes: &[IpAddr], rule: PairRule) -> Vec<Pair> {
    let places = rule.places(locals.len(), remotes.len());
    places.map(|(ours, theirs)| Pair { local: locals[ours], remote: remotes[theirs] }).collect()
}

/// All pairs.
fn crossed(locals: &[LocalAddress], remotes: &[IpAddr]) -> Vec<Pair> {
    let with = |local: &LocalAddress| {
        let local = *local;
        remotes.iter().map(move |remote| Pair { local, remote: *remote })
    };
    locals.iter().flat_map(with).filter(same_family).collect()
}

fn same_family(pair: &Pair) -> bool {
    pair.local.address.is_ipv4() == pair.remote.is_ipv4()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(last: u8) -> LocalAddress {
        let address = IpAddr::from([10, 0, last, 1]);
        LocalAddress { address, interface: InterfaceId(last.into()), mtu: 1500 }
    }

    fn remote(last: u8) -> IpAddr {
        [10, 0, last, 2].into()
    }

    /// A host with addresses of IPv4 and IPv6 on each interface had no second path to a peer with
    /// two addresses of IPv4.
    #[test]
    fn addresses_of_each_ip_version_are_paired_apart() {
        let v6 = |net: u16, host: u16| IpAddr::from([0xfd01, net, 0, 0, 0, 0, 0, host]);
        let locals = [local(1), local(2)].map(|v4| {
            let address = v6(v4.interface.0, 1);
            [v4, LocalAddress { address, ..v4 }]
        });
        let locals = locals.concat();
        let shown = |remotes: &[IpAddr]| {
            let pairs = paired(&locals, remotes, PairRule::Auto).into_iter();
            pairs.map(|pair| (pair.local.address, pair.remote)).collect::<Vec<_>>()
        };
        let of_v4 = [(local(1).address, remote(1)), (local(2).address, remote(2))];
        assert_eq!(shown(&[remote(1), remote(2)]), of_v4);
        let both = shown(&[remote(1), v6(1, 2), remote(2), v6(2, 2)]);
        assert_eq!(both[..2], of_v4);
        assert_eq!(both[2..], [(v6(1, 1), v6(1, 2)), (v6(2, 1), v6(2, 2))]);
    }

    fn ends(locals: &[u8], remotes: &[u8]) -> Ends {
        let locals = locals.iter().map(|last| local(*last)).collect();
        Ends::new((5000, 7), locals, remotes.iter().map(|last| remote(*last)).collect())
    }

    fn paths(ends: &Ends) -> Vec<(IpAddr, IpAddr)> {
        let of = |pair: &Pair| (pair.local.address, pair.remote);
        ends.pairs[..ends.paths()].iter().map(of).collect()
    }

    #[test]
    fn paths_pair_addresses_in_their_order() {
        let pair = |l, r| (local(l).address, remote(r));
        assert_eq!(paths(&ends(&[1, 2], &[1, 2])), [pair(1, 1), pair(2, 2)]);
        assert_eq!(paths(&ends(&[2, 1], &[1, 2])), [pair(2, 1), pair(1, 2)]);
        assert_eq!(paths(&ends(&[1, 2], &[1])), [pair(1, 1), pair(2, 1)], "one server address");
        assert_eq!(paths(&ends(&[1], &[1, 2])), [pair(1, 1), pair(1, 2)]);
        assert_eq!(paths(&ends(&[1], &[1])), [pair(1, 1)]);
    }

    /// The table of 003's extended testbed, and its topologies with one address on a side.
    #[test]
    fn pairs_follow_from_the_primary_and_the_rule() {
        let pair = |l, r| (local(l).address, remote(r));
        let of = |locals: &[u8], remotes: &[u8], rule| {
            let mut ends = ends(locals, remotes);
            ends.use_rule(rule);
            paths(&ends)
        };
        for rule in [PairRule::Auto, PairRule::Zip, PairRule::Dest, PairRule::Src] {
            assert_eq!(of(&[1, 2], &[1, 2], rule), [pair(1, 1), pair(2, 2)], "primary S1-R1");
            assert_eq!(of(&[1, 2], &[2, 1], rule), [pair(1, 2), pair(2, 1)], "S1-R2");
            assert_eq!(of(&[2, 1], &[1, 2], rule), [pair(2, 1), pair(1, 2)], "S2-R1");
            assert_eq!(of(&[2, 1], &[2, 1], rule), [pair(2, 2), pair(1, 1)], "S2-R2");
        }
        assert_eq!(of(&[1, 2], &[1], PairRule::Zip), [pair(1, 1)]);
        assert_eq!(of(&[1, 2], &[1], PairRule::Dest), [pair(1, 1)]);
        assert_eq!(of(&[1, 2], &[1], PairRule::Src), [pair(1, 1), pair(2, 1)]);
        assert_eq!(of(&[1], &[1, 2], PairRule::Dest), [pair(1, 1), pair(1, 2)]);
        assert_eq!(of(&[1], &[1, 2], PairRule::Src), [pair(1, 1)]);
        let three = [pair(1, 1), pair(2, 2), pair(2, 3)];
        assert_eq!(of(&[1, 2], &[1, 2, 3], PairRule::Dest), three, "L' in turn");
        let three = [pair(1, 1), pair(2, 2), pair(3, 2)];
        assert_eq!(of(&[1, 2, 3], &[1, 2], PairRule::Src), three, "R' in turn");
    }

    #[test]
    fn mesh_has_the_primary_then_equal_numbers_then_the_cross_pairs() {
        let pair = |l, r| (local(l).address, remote(r));
        let mut ends = ends(&[1, 2], &[2, 1]);
        ends.use_all_pairs();
        assert_eq!(paths(&ends), [pair(1, 2), pair(2, 1), pair(1, 1), pair(2, 2)]);
        assert!(ends.add_local(local(3)));
        assert_eq!(ends.paths(), 6);
        assert!(ends.add_local(local(4)) && ends.add_local(local(5)));
        assert_eq!(ends.paths(), MAX_MESH);
    }

    #[test]
    fn mesh_counts_paths_that_are_not_deleted() {
        let mut ends = ends(&[1], &[1, 2]);
        ends.use_all_pairs();
        for number in 2..20 {
            assert!(ends.add_local(local(number)));
            ends.remove_local(local(number - 1).address);
            assert_eq!(ends.live_paths(), 2, "paths from address {number}");
        }
    }

    #[test]
    fn numbers_of_deleted_paths_are_used_again_when_there_are_no_others() {
        for is_mesh in [false, true] {
            let mut ends = ends(&[1], &[1]);
            if is_mesh {
                ends.use_all_pairs();
            }
            let move_to = |ends: &mut Ends, number: u8| {
                assert!(ends.add_local(local(number)));
                ends.remove_local(local(number - 1).address);
            };
            (2..=128).for_each(|number| move_to(&mut ends, number));
            assert_eq!((ends.paths(), ends.live_paths()), (MAX_PAIRS, 1));
            move_to(&mut ends, 129);
            assert_eq!(ends.live_paths(), 0, "no number is vacant");
            ends.set_vacant(vec![PathId(5), PathId(7)]);
            move_to(&mut ends, 130);
            let number = ends.number_of(local(130).address, remote(1));
            assert!(matches!(number, Some(PathId(5 | 7))), "{number:?}");
            assert_eq!((ends.paths(), ends.live_paths()), (MAX_PAIRS, 1));
        }
    }

    #[test]
    fn other_pairs_follow_and_lead_to_the_path_of_their_remote_address() {
        let ends = ends(&[1, 2], &[1, 2]);
        assert_eq!(ends.tuples().len(), 4);
        let cross = ends.number_of(local(1).address, remote(2)).unwrap();
        assert!(cross.index() >= ends.paths());
        assert_eq!(ends.path_to(cross), Some(PathId(1)));
        assert_eq!(ends.path_to(PathId(0)), Some(PathId(0)));
        assert_eq!(ends.number_of(local(3).address, remote(2)), None);
    }

    #[test]
    fn paths_keep_their_numbers_when_addresses_are_added() {
        let mut ends = ends(&[1], &[1]);
        ends.set_remotes(&[remote(2), remote(1)]);
        assert_eq!(ends.remotes(), [remote(1), remote(2)], "the first path stays");
        let before = paths(&ends);
        assert!(ends.add_local(local(2)));
        assert!(!ends.add_local(local(2)));
        assert_eq!(paths(&ends)[..2], before);
        assert!(ends.add_remote(remote(3)) && !ends.add_remote(remote(3)));
        let pair = |l, r| (local(l).address, remote(r));
        assert_eq!(paths(&ends)[2..], [pair(2, 1), pair(1, 3)]);
    }

    #[test]
    fn address_that_returns_has_its_path_again() {
        let mut ends = ends(&[1, 2], &[1, 2]);
        let before = paths(&ends);
        ends.remove_local(local(1).address);
        assert!(!ends.is_live(PathId(0)) && ends.is_live(PathId(1)));
        assert!(ends.add_local(local(1)));
        assert_eq!(paths(&ends), before);
        ends.remove_remote(remote(2));
        assert!(ends.is_live(PathId(0)) && !ends.is_live(PathId(1)));
        assert!(ends.add_local(local(3)), "a handover");
        let pair = |l, r| (local(l).address, remote(r));
        assert_eq!(paths(&ends)[2..], [pair(3, 1)]);
    }

    #[test]
    fn paths_pair_the_addresses_that_the_peer_lists() {
        let mut ends = ends(&[1, 2], &[1]);
        ends.set_remotes(&[remote(1), remote(2)]);
        let pair = |l, r| (local(l).address, remote(r));
        assert_eq!(paths(&ends), [pair(1, 1), pair(2, 2)]);
    }

    #[test]
    fn addresses_of_two_families_make_no_path() {
        let v6 = LocalAddress { address: [0u16; 8].map(|_| 1).into(), ..local(2) };
        let ends = Ends::new((1, 2), vec![local(1), v6], vec![remote(1)]);
        assert_eq!(ends.paths(), 1);
    }
}
