//! Interfaces, addresses and ports of a host, and the socket that a packet belongs to.

use super::io::{InterfaceConfig, InterfaceEvent, StackConfig};
use crate::endpoint::{IpProtocol, Tag, Tuple};
use crate::routes::Routes;
use crate::socket::SocketError;
use base::{InterfaceId, PathId, SocketId, prefetch};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::hint::cold_path;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Ephemeral ports (Linux `net.ipv4.ip_local_port_range`).
const EPHEMERAL: std::ops::Range<u16> = 32_768..61_000;

/// Both ends of a connection and its IP protocol, in a form that is quick to compare: addresses,
/// then protocol and ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FlowKey {
    V4(u64, u64),
    V6(u128, u128, u64),
}

impl FlowKey {
    /// The key of ends of one address family.
    #[inline]
    pub(super) fn new(protocol: IpProtocol, ends: &Tuple) -> Self {
        let Tuple { local, remote } = ends;
        FlowKey::of(protocol, (local.ip(), local.port()), (remote.ip(), remote.port()))
    }

    /// The key of a local and a remote end of IPv4.
    #[inline(always)]
    pub(super) const fn v4(
        protocol: IpProtocol,
        (local, local_port): (Ipv4Addr, u16),
        (remote, remote_port): (Ipv4Addr, u16),
    ) -> Self {
        let addresses = (local.to_bits() as u64) << 32 | remote.to_bits() as u64;
        FlowKey::V4(addresses, FlowKey::rest(protocol, local_port, remote_port))
    }

    const fn rest(protocol: IpProtocol, local_port: u16, remote_port: u16) -> u64 {
        (protocol as u64) << 32 | (local_port as u64) << 16 | remote_port as u64
    }

    /// The key of a local and a remote end.
    #[inline(always)]
    pub(super) fn of(
        protocol: IpProtocol,
        (local, local_port): (IpAddr, u16),
        (remote, remote_port): (IpAddr, u16),
    ) -> Self {
        match (local, remote) {
            (IpAddr::V4(local), IpAddr::V4(remote)) => {
                FlowKey::v4(protocol, (local, local_port), (remote, remote_port))
            }
            (local, remote) => {
                let rest = FlowKey::rest(protocol, local_port, remote_port);
                FlowKey::V6(as_bits(local), as_bits(remote), rest)
            }
        }
    }
}

fn as_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// A path of a connection; TCP has one, number 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FlowRef {
    pub socket: SocketId,
    pub path: PathId,
}

/// Connections by their ends. Looked up for every packet: IPv4 has a table of its own, whose
/// entries are less than half as large.
#[derive(Debug, Default)]
struct Flows {
    v4: FxHashMap<(u64, u64), FlowRef>,
    v6: FxHashMap<(u128, u128, u64), FlowRef>,
    /// The last two that were found: packets come in runs, and mostly over two paths at most.
    last: [Bound; 2],
    /// Those of IPv4 by socket, of one with several the last one.
    by_socket: Vec<Bound>,
    /// The socket whose packet probably comes next.
    expected: SocketId,
}

/// A connection of IPv4 with the key of its ends.
#[derive(Clone, Copy, Debug)]
struct Bound {
    addresses: u64,
    rest: u64,
    flow: FlowRef,
}

impl Bound {
    #[inline(always)]
    const fn is(&self, addresses: u64, rest: u64) -> bool {
        self.addresses == addresses && self.rest == rest
    }
}

impl Default for Bound {
    /// No connection: ends have fewer bits.
    fn default() -> Self {
        let flow = FlowRef { socket: SocketId(0), path: PathId(0) };
        Bound { addresses: 0, rest: u64::MAX, flow }
    }
}

impl Flows {
    #[inline(always)]
    fn find(&mut self, key: FlowKey) -> Option<FlowRef> {
        let FlowKey::V4(addresses, rest) = key else { return self.get(key) };
        // A look into the table is three times as long.
        let [first, second] = &self.last;
        if first.is(addresses, rest) {
            return Some(first.flow);
        }
        if second.is(addresses, rest) {
            return Some(second.flow);
        }
        self.find_another(addresses, rest)
    }

    /// Another one of IPv4 than the last times.
    #[inline(never)]
    fn find_another(&mut self, addresses: u64, rest: u64) -> Option<FlowRef> {
        // The table has two cache misses in a large world; this entry is prefetched.
        if let Some(expected) = self.by_socket.get(self.expected.index())
            && expected.is(addresses, rest)
        {
            return Some(expected.flow);
        }
        let flow = self.v4.get(&(addresses, rest)).copied()?;
        self.last = [Bound { addresses, rest, flow }, self.last[0]];
        Some(flow)
    }

    fn get(&self, key: FlowKey) -> Option<FlowRef> {
        match key {
            FlowKey::V4(addresses, rest) => self.v4.get(&(addresses, rest)),
            FlowKey::V6(local, remote, rest) => self.v6.get(&(local, remote, rest)),
        }
        .copied()
    }

    fn insert(&mut self, key: FlowKey, flow: FlowRef) {
        self.remove(key);
        match key {
            FlowKey::V4(addresses, rest) => {
                let socket = flow.socket.index();
                if self.by_socket.len() <= socket {
                    self.by_socket.resize(socket + 1, Bound::default());
                }
                self.by_socket[socket] = Bound { addresses, rest, flow };
                self.v4.insert((addresses, rest), flow)
            }
            FlowKey::V6(local, remote, rest) => self.v6.insert((local, remote, rest), flow),
        };
    }

    fn remove(&mut self, key: FlowKey) {
        self.last = Default::default();
        match key {
            FlowKey::V4(addresses, rest) => {
                let removed = self.v4.remove(&(addresses, rest));
                let socket = removed.and_then(|flow| self.by_socket.get_mut(flow.socket.index()));
                if let Some(entry) = socket
                    && entry.is(addresses, rest)
                {
                    *entry = Bound::default();
                }
            }
            FlowKey::V6(local, remote, rest) => {
                self.v6.remove(&(local, remote, rest));
            }
        }
    }

    fn prefetch(&self, socket: SocketId) {
        if let Some(entry) = self.by_socket.get(socket.index()) {
            prefetch(entry);
        }
    }
}

/// The addresses of a host and what is bound to them. The maps are looked up, never iterated over.
#[derive(Debug)]
pub(super) struct Addressing {
    interfaces: Vec<InterfaceConfig>,
    routes: Routes,
    addresses: FxHashMap<IpAddr, InterfaceId>,
    flows: Flows,
    /// An address was removed, so that connections may have addresses that the host has not.
    shrunk: bool,
    /// Connections by the names that packets between unknown ends have for them.
    tags: FxHashMap<Tag, SocketId>,
    listeners: BTreeMap<(IpProtocol, u16), SocketId>,
    udp: BTreeMap<u16, SocketId>,
}

impl Addressing {
    /// Nothing is bound yet.
    pub(super) fn new(config: StackConfig) -> Self {
        let mut addresses = FxHashMap::default();
        for (index, interface) in config.interfaces.iter().enumerate() {
            for address in &interface.addresses {
                addresses.entry(*address).or_insert(InterfaceId(index as u16));
            }
        }
        Addressing {
            interfaces: config.interfaces,
            routes: config.routes,
            addresses,
            flows: Flows::default(),
            shrunk: false,
            tags: FxHashMap::default(),
            listeners: BTreeMap::new(),
            udp: BTreeMap::new(),
        }
    }

    /// Adds or removes an address. Links that go up or down do not change addresses.
    pub(super) fn on_interface_event(&mut self, interface: InterfaceId, event: InterfaceEvent) {
        match event {
            InterfaceEvent::AddressAdded(address) => {
                let Some(interface_of) = self.interfaces.get_mut(interface.index()) else { return };
                if !interface_of.addresses.contains(&address) {
                    interface_of.addresses.push(address);
                }
                if self.routes.is_empty() {
                    self.addresses.insert(address, interface);
                } else {
                    // Other interfaces may have it, too.
                    self.addresses.entry(address).or_insert(interface);
                }
            }
            InterfaceEvent::AddressRemoved(address) => {
                if let Some(interface_of) = self.interfaces.get_mut(interface.index()) {
                    interface_of.addresses.retain(|known| *known != address);
                }
                self.addresses.remove(&address);
                self.shrunk = true;
            }
            InterfaceEvent::Up | InterfaceEvent::Down | InterfaceEvent::Backup(_) => {}
        }
    }

    /// The interface that has `address`.
    pub(super) fn interface_of(&self, address: IpAddr) -> Option<InterfaceId> {
        self.addresses.get(&address).copied()
    }

    /// The interface that packets from an address of this host to a peer leave on.
    pub(super) fn interface_to(&self, local: IpAddr, remote: IpAddr) -> Option<InterfaceId> {
        let own = self.interface_of(local)?;
        Some(self.routes.interface(local, remote).unwrap_or(own))
    }

    /// The interface of a packet to `local` that arrived on `interface`: that one if it has the
    /// address, otherwise the one that has.
    pub(super) fn interface_for(&self, interface: InterfaceId, local: IpAddr) -> InterfaceId {
        let arrived_on = self.interfaces.get(interface.index());
        if arrived_on.is_some_and(|arrived_on| arrived_on.addresses.contains(&local)) {
            return interface;
        }
        self.interface_of(local).unwrap_or(interface)
    }

    /// Routes by pair of addresses.
    pub(super) const fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Largest IP datagram of an interface, in bytes.
    pub(super) fn mtu(&self, interface: InterfaceId) -> u32 {
        self.interfaces.get(interface.index()).map_or(1500, |interface| interface.mtu)
    }

    /// The path between these ends.
    pub(super) fn flow(&self, protocol: IpProtocol, ends: &Tuple) -> Option<FlowRef> {
        self.flows.get(FlowKey::new(protocol, ends))
    }

    /// The next packet is probably one for this socket.
    pub(super) const fn expect(&mut self, socket: SocketId) {
        self.flows.expected = socket;
    }

    /// Prefetches what `receiver` reads for a socket that is expected.
    pub(super) fn prefetch(&self, socket: SocketId) {
        self.flows.prefetch(socket);
    }

    /// The path of a packet that arrived, if the host still has the local address. A path begins
    /// at an address of the host, so the address is looked up only after one was removed.
    #[inline(always)]
    pub(super) fn receiver(
        &mut self,
        key: FlowKey,
        local: impl FnOnce() -> IpAddr,
    ) -> Option<FlowRef> {
        if self.shrunk {
            cold_path();
            self.interface_of(local())?;
        }
        self.flows.find(key)
    }

    /// All addresses of this host with their interfaces, in the order of the interfaces; one that
    /// several interfaces share has the first of them.
    pub(super) fn host(&self) -> Vec<(IpAddr, InterfaceId)> {
        let of = |(index, interface): (usize, &InterfaceConfig)| {
            let addresses = interface.addresses.clone().into_iter();
            addresses.map(move |address| (address, InterfaceId(index as u16)))
        };
        let all = self.interfaces.iter().enumerate().flat_map(of);
        let mut host: Vec<(IpAddr, InterfaceId)> = Vec::new();
        for (address, interface) in all {
            let is_new = host.iter().all(|(known, _)| *known != address);
            if is_new && self.addresses.contains_key(&address) {
                host.push((address, interface));
            }
        }
        host
    }

    /// The addresses of one interface.
    pub(super) fn addresses_of(&self, interface: InterfaceId) -> Vec<IpAddr> {
        let interface = self.interfaces.get(interface.index());
        interface.map(|interface| interface.addresses.clone()).unwrap_or_default()
    }

    /// The connection with this name.
    pub(super) fn tagged(&self, tag: Tag) -> Option<SocketId> {
        self.tags.get(&tag).copied()
    }

    /// Gives a connection the name that packets between unknown ends have for it.
    pub(super) fn bind_tag(&mut self, tag: Tag, id: SocketId) {
        self.tags.insert(tag, id);
    }

    /// Removes the name of a connection that is over.
    pub(super) fn unbind_tag(&mut self, tag: Tag, id: SocketId) {
        if self.tags.get(&tag) == Some(&id) {
            self.tags.remove(&tag);
        }
    }

    /// The listener on `port`.
    pub(super) fn listener(&self, protocol: IpProtocol, port: u16) -> Option<SocketId> {
        self.listeners.get(&(protocol, port)).copied()
    }

    /// The UDP socket on `port`.
    pub(super) fn udp(&self, port: u16) -> Option<SocketId> {
        self.udp.get(&port).copied()
    }

    /// Binds a path to its ends.
    pub(super) fn bind_flow(&mut self, protocol: IpProtocol, ends: &Tuple, flow: FlowRef) {
        self.flows.insert(FlowKey::new(protocol, ends), flow);
    }

    /// Frees the ends of a path, unless another connection has them by now.
    pub(super) fn unbind_flow(&mut self, protocol: IpProtocol, ends: &Tuple, id: SocketId) {
        let key = FlowKey::new(protocol, ends);
        if self.flows.get(key).is_some_and(|flow| flow.socket == id) {
            self.flows.remove(key);
        }
    }

    /// Binds a listener to a port.
    pub(super) fn bind_listener(
        &mut self,
        protocol: IpProtocol,
        port: u16,
        id: SocketId,
    ) -> Result<(), SocketError> {
        if self.listeners.contains_key(&(protocol, port)) {
            return Err(SocketError::AddressInUse);
        }
        self.listeners.insert((protocol, port), id);
        Ok(())
    }

    /// Frees the port of a listener.
    pub(super) fn unbind_listener(&mut self, protocol: IpProtocol, port: u16) {
        self.listeners.remove(&(protocol, port));
    }

    /// Binds a UDP port; 0 takes a free one, which `first` chooses.
    pub(super) fn bind_udp(
        &mut self,
        port: u16,
        first: u64,
        id: SocketId,
    ) -> Result<u16, SocketError> {
        let port = if port == 0 {
            ephemeral_ports(first)
                .find(|port| !self.udp.contains_key(port))
                .ok_or(SocketError::NoFreePort)?
        } else {
            port
        };
        if self.udp.contains_key(&port) {
            return Err(SocketError::AddressInUse);
        }
        self.udp.insert(port, id);
        Ok(port)
    }

    /// Frees a UDP port.
    pub(super) fn unbind_udp(&mut self, port: u16) {
        self.udp.remove(&port);
    }

    /// The ends of a path from an address of the host to `remote`, with a free port.
    pub(super) fn free_ends(
        &self,
        protocol: IpProtocol,
        local: IpAddr,
        remote: SocketAddr,
        first: u64,
    ) -> Result<Tuple, SocketError> {
        ephemeral_ports(first)
            .map(|port| Tuple { local: SocketAddr::new(local, port), remote })
            .find(|ends| self.flow(protocol, ends).is_none())
            .ok_or(SocketError::NoFreePort)
    }
}

/// Every ephemeral port once, from a place that `first` chooses.
fn ephemeral_ports(first: u64) -> impl Iterator<Item = u16> {
    let count = EPHEMERAL.end - EPHEMERAL.start;
    let first = (first % u64::from(count)) as u16;
    (0..count).map(move |step| EPHEMERAL.start + (first + step) % count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(local: &str, remote: &str) -> Tuple {
        let [local, remote] = [local, remote].map(|at| at.parse().expect("an address"));
        Tuple { local, remote }
    }

    #[test]
    fn path_is_found_by_both_ends_and_freed_by_its_socket() {
        let mut addressing = Addressing::new(StackConfig::default());
        let all = [
            ends("10.0.0.1:1", "10.0.0.2:2"),
            ends("10.0.0.2:1", "10.0.0.1:2"),
            ends("10.0.0.1:2", "10.0.0.2:1"),
            ends("[fd00::1]:1", "[fd00::2]:2"),
            ends("[fd00::1]:2", "[fd00::2]:1"),
        ];
        let flow = |n: usize| FlowRef { socket: SocketId(n as u32), path: PathId(n as u8) };
        for (n, ends) in all.iter().enumerate() {
            assert_eq!(addressing.flow(IpProtocol::Tcp, ends), None);
            addressing.bind_flow(IpProtocol::Tcp, ends, flow(n));
        }
        for (n, ends) in all.iter().enumerate() {
            assert_eq!(addressing.flow(IpProtocol::Tcp, ends), Some(flow(n)));
            addressing.unbind_flow(IpProtocol::Tcp, ends, SocketId(99));
            assert_eq!(addressing.flow(IpProtocol::Tcp, ends), Some(flow(n)), "of another socket");
            addressing.unbind_flow(IpProtocol::Tcp, ends, SocketId(n as u32));
            assert_eq!(addressing.flow(IpProtocol::Tcp, ends), None);
        }
    }

    #[test]
    fn free_ends_are_those_of_no_path() {
        let mut addressing = Addressing::new(StackConfig::default());
        let remote: SocketAddr = ([10, 0, 0, 2], 80).into();
        let local: IpAddr = [10, 0, 0, 1].into();
        let free = |addressing: &Addressing| {
            addressing.free_ends(IpProtocol::Tcp, local, remote, 7).expect("a free port")
        };
        let first = free(&addressing);
        let flow = FlowRef { socket: SocketId(0), path: PathId(0) };
        addressing.bind_flow(IpProtocol::Tcp, &first, flow);
        let second = free(&addressing);
        assert_eq!(second.local.port(), first.local.port() + 1);
        assert!(EPHEMERAL.contains(&second.local.port()));
    }
}
