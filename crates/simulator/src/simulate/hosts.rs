//! The two hosts of a flow: their numbers, interfaces and addresses.
//!
//! Flow F has the hosts 2F (client) and 2F + 1 (server). On path P flow 0 has the addresses
//! 10.0.P.1 and 10.0.P.2, or fd00::P:1 and fd00::P:2. The interfaces of all other flows are
//! numbered together; number N has 10.128.N.1 and 10.128.N.2, or fd00::1:N:1 and fd00::1:N:2. Paths
//! with the same end have the address of the first of them there; every path has an interface.

use crate::run_error::RunError;
use crate::setup::{FlowSetup, MOST_FLOWS, RunSetup};
use crate::world::World;
use base::{HostId, InterfaceId};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use traffic::{Half, Role, StreamFailure};
use transport::{InterfaceConfig, PairRoute, Routes, StackConfig};

/// A flow with its hosts. Its paths exist, the one it begins on among them.
pub(super) struct FlowHosts<'a> {
    pub number: usize,
    pub flow: &'a FlowSetup,
    /// Index of the path of the connection or of its first subflow.
    pub first_path: usize,
    /// Client and server, by interface.
    addresses: Vec<[IpAddr; 2]>,
    /// Only addresses that are the two ends of a path reach each other.
    has_ends: bool,
}

impl<'a> FlowHosts<'a> {
    /// Those of all flows of a run.
    pub(super) fn all(setup: &'a RunSetup) -> Result<Vec<FlowHosts<'a>>, RunError> {
        let Some((_, competing)) = setup.flows.split_first() else { return Err(RunError::NoFlow) };
        if competing.len() > MOST_FLOWS {
            return Err(RunError::TooManyFlows(competing.len()));
        }
        let mut before = 0;
        let mut all = Vec::with_capacity(setup.flows.len());
        for (number, flow) in setup.flows.iter().enumerate() {
            all.push(FlowHosts::new(setup, number, flow, before)?);
            if number > 0 {
                before += flow.paths.len();
            }
        }
        Ok(all)
    }

    /// `before`: interfaces of the flows between flow 0 and this one.
    fn new(
        setup: &'a RunSetup,
        number: usize,
        flow: &'a FlowSetup,
        before: usize,
    ) -> Result<FlowHosts<'a>, RunError> {
        let first_path = flow.first_path().ok_or(RunError::NoSuchPath(flow.first))?;
        let is_missing = |path: &&usize| **path >= setup.network.paths.len();
        if let Some(path) = flow.paths.iter().find(is_missing) {
            return Err(RunError::NoSuchPath(*path));
        }
        let end = |path: usize, server: usize| {
            let ends = setup.network.ends.get(path).copied().unwrap_or_default();
            if server == 0 { ends.client } else { ends.server }
        };
        let addresses = |interface: usize| {
            [0, 1].map(|server| {
                let named = end(flow.paths[interface], server);
                let is_same = |path: &usize| named.is_some() && end(*path, server) == named;
                let interface = flow.paths.iter().position(is_same).unwrap_or(interface);
                let (subnet, index) =
                    if number == 0 { (0, flow.paths[interface]) } else { (1, before + interface) };
                address(setup.network.ipv6, subnet, index, server as u16)
            })
        };
        let addresses = (0..flow.paths.len()).map(addresses).collect();
        let has_ends =
            flow.paths.iter().any(|path| [0, 1].iter().any(|side| end(*path, *side).is_some()));
        Ok(FlowHosts { number, flow, first_path, addresses, has_ends })
    }

    /// Whether this is the flow whose result is the run's.
    pub(super) const fn is_measured(&self) -> bool {
        self.number == 0
    }

    pub(super) const fn client(&self) -> HostId {
        HostId(2 * self.number as u16)
    }

    pub(super) const fn server(&self) -> HostId {
        HostId(2 * self.number as u16 + 1)
    }

    pub(super) const fn both(&self) -> [HostId; 2] {
        [self.client(), self.server()]
    }

    /// The host of one role.
    pub(super) const fn host(&self, role: Role) -> HostId {
        match role {
            Role::Client => self.client(),
            Role::Server => self.server(),
        }
    }

    /// The host that sends the data, and the one that receives them.
    pub(super) const fn ends(&self) -> (HostId, HostId) {
        let [client, server] = self.both();
        if self.flow.reverse { (client, server) } else { (server, client) }
    }

    /// The address of one of the hosts on an interface.
    pub(super) fn address(&self, role: Role, interface: usize) -> IpAddr {
        let [client, server] = self.addresses[interface];
        if role == Role::Client { client } else { server }
    }

    /// Client and server of every interface, with the path that it leads to.
    pub(super) fn interfaces(&self) -> impl Iterator<Item = (usize, [IpAddr; 2])> + '_ {
        self.flow.paths.iter().copied().zip(self.addresses.iter().copied())
    }

    /// Whether only addresses that are the two ends of a path reach each other.
    pub(super) const fn has_ends(&self) -> bool {
        self.has_ends
    }

    /// Whether several interfaces of a host have the address of this one.
    pub(super) fn is_shared(&self, role: Role, interface: InterfaceId) -> bool {
        self.interfaces_with(role, self.address(role, interface.index())).nth(1).is_some()
    }

    /// The interfaces of a host that have an address.
    pub(super) fn interfaces_with(
        &self,
        role: Role,
        address: IpAddr,
    ) -> impl Iterator<Item = InterfaceId> + '_ {
        let all = (0..self.addresses.len()).filter(move |at| self.address(role, *at) == address);
        all.map(|at| InterfaceId(at as u16))
    }

    /// The interface of both hosts that leads to a path.
    pub(super) fn interface_on(&self, path: usize) -> Option<InterfaceId> {
        let number = self.flow.paths.iter().position(|each| *each == path)?;
        Some(InterfaceId(number as u16))
    }

    /// The path that an interface of both hosts leads to.
    pub(super) fn path_of(&self, interface: InterfaceId) -> usize {
        self.flow.paths[interface.index()]
    }

    /// The stack of one of the hosts.
    pub(super) fn stack(&self, role: Role, mtu: u32) -> StackConfig {
        let on =
            |interface| InterfaceConfig { addresses: vec![self.address(role, interface)], mtu };
        let numbers = 0..self.addresses.len();
        StackConfig { interfaces: numbers.map(on).collect(), routes: self.routes(role) }
    }

    /// The routes of one of the hosts by pair of addresses, if paths name their ends.
    fn routes(&self, role: Role) -> Routes {
        let other = if role == Role::Client { Role::Server } else { Role::Client };
        let route = |interface: usize| PairRoute {
            local: self.address(role, interface),
            remote: self.address(other, interface),
            interface: InterfaceId(interface as u16),
        };
        let named = (0..self.addresses.len()).filter(|_| self.has_ends);
        Routes::new(named.map(route).collect())
    }

    /// Why the flow failed, if it did.
    pub(super) fn failure(&self, world: &World<Half>) -> Option<StreamFailure> {
        self.both().iter().find_map(|host| half(world, *host).report().failure)
    }
}

/// The application of a host.
pub(super) fn half(world: &World<Half>, host: HostId) -> &Half {
    // `build` gives each host exactly one application.
    world.applications(host).next().unwrap_or_else(|| unreachable!("one application per host"))
}

/// The address of a client or a server in one of the two subnets.
fn address(ipv6: bool, subnet: u16, index: usize, server: u16) -> IpAddr {
    let host = 1 + server;
    if ipv6 {
        return Ipv6Addr::new(0xFD00, 0, 0, 0, 0, subnet, index as u16, host).into();
    }
    // The lower half of 10.0.0.0/8 is flow 0's.
    Ipv4Addr::new(10, (subnet as u8) << 7 | (index >> 8) as u8, index as u8, host as u8).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Carrier;
    use network::{LinkConfig, PathSetup};
    use traffic::Traffic;
    use transport::Protocol;

    fn setup(competing: &[&[usize]]) -> RunSetup {
        let path = |name: &str| PathSetup {
            name: name.to_owned(),
            down: LinkConfig::default(),
            up: LinkConfig::default(),
            events: Vec::new(),
        };
        let traffic = Traffic::BulkSize(1);
        let paths = vec![path("a"), path("b")];
        let mut setup = RunSetup::new(paths, Carrier::Single(Protocol::Tcp), traffic.clone());
        setup.flows.extend(competing.iter().map(|paths| FlowSetup::new(paths, traffic.clone())));
        setup
    }

    #[test]
    fn every_flow_has_hosts_and_addresses_of_its_own() {
        let mut setup = setup(&[&[1], &[1, 0]]);
        for (ipv6, expected) in [
            (false, ["10.0.0.1", "10.0.1.2", "10.128.0.1", "10.128.1.2", "10.128.2.1"]),
            (true, ["fd00::1", "fd00::1:2", "fd00::1:0:1", "fd00::1:1:2", "fd00::1:2:1"]),
        ] {
            setup.network.ipv6 = ipv6;
            let flows = FlowHosts::all(&setup).expect("all paths exist");
            let hosts: Vec<u16> =
                flows.iter().flat_map(FlowHosts::both).map(|host| host.0).collect();
            assert_eq!(hosts, [0, 1, 2, 3, 4, 5]);
            let addresses = [
                flows[0].address(Role::Client, 0),
                flows[0].address(Role::Server, 1),
                flows[1].address(Role::Client, 0),
                flows[2].address(Role::Server, 0),
                flows[2].address(Role::Client, 1),
            ];
            assert_eq!(addresses.map(|address| address.to_string()), expected);
            assert_eq!((flows[2].first_path, flows[2].interface_on(0)), (1, Some(InterfaceId(1))));
            assert_eq!(flows[1].interface_on(0), None);
        }
    }

    #[test]
    fn first_path_of_a_flow_must_exist() {
        let mut setup = setup(&[&[0]]);
        setup.flows[1].first = 1;
        assert_eq!(FlowHosts::all(&setup).err(), Some(RunError::NoSuchPath(1)));
        setup.flows.clear();
        assert_eq!(FlowHosts::all(&setup).err(), Some(RunError::NoFlow));
    }
}
