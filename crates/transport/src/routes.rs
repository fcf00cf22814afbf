//! `Routes`: the interface of each pair of addresses, for hosts whose interfaces share addresses.
//!
//! As `ip rule from ADDRESS` with a table that has one route for each address of the peer.

use base::InterfaceId;
use std::net::IpAddr;

/// Routes by pair of addresses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Routes {
    pairs: Vec<PairRoute>,
}

/// Packets from a local address to a remote one leave on an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PairRoute {
    /// Address of this host.
    pub local: IpAddr,
    /// Address of the peer.
    pub remote: IpAddr,
    /// The interface that leads there.
    pub interface: InterfaceId,
}

impl Routes {
    /// These routes, of which the first one of a pair applies. Without any, packets leave on the
    /// interface of their local address, and every pair is connected.
    pub const fn new(pairs: Vec<PairRoute>) -> Routes {
        Routes { pairs }
    }

    /// The interface of a pair; `None`: that of the local address.
    pub(crate) fn interface(&self, local: IpAddr, remote: IpAddr) -> Option<InterfaceId> {
        let is_it = |route: &&PairRoute| route.local == local && route.remote == remote;
        self.pairs.iter().find(is_it).map(|route| route.interface)
    }

    /// Whether packets between two addresses arrive.
    pub(crate) fn connects(&self, local: IpAddr, remote: IpAddr) -> bool {
        self.pairs.is_empty() || self.interface(local, remote).is_some()
    }

    /// Whether there is no route by pair.
    pub(crate) const fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_of_a_pair_is_the_first_one_and_other_pairs_are_not_connected() {
        let [a, b, c] = [1, 2, 3].map(|last| IpAddr::from([10, 0, 0, last]));
        let route = |remote, interface| PairRoute { local: a, remote, interface };
        let routes = Routes::new(vec![route(b, InterfaceId(3)), route(b, InterfaceId(4))]);
        assert_eq!(routes.interface(a, b), Some(InterfaceId(3)));
        assert!(routes.connects(a, b) && !routes.connects(a, c) && !routes.connects(b, a));
        assert_eq!(Routes::default().interface(a, b), None);
        assert!(Routes::default().connects(a, b) && Routes::default().is_empty());
    }
}
