//! Interfaces, addresses, ports, and which socket a packet belongs to.

use super::face::{InterfaceConfig, InterfaceEvent, StackConfig};
use crate::socket::SocketError;
use base::{InterfaceId, SocketId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use wire::mptcp::Token;

/// Ephemeral ports (Linux `ip_local_port_range`).
const EPHEMERAL: std::ops::Range<u16> = 32_768..61_000;

/// Both ends of a connection in a form that is quick to compare: addresses, then ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowKey {
    V4(u32, u32, u32),
    V6(u128, u128, u32),
}

impl FlowKey {
    /// Of a connection between these, which are of one family.
    #[inline]
    pub fn new(local: SocketAddr, remote: SocketAddr) -> Self {
        let ports = u32::from(local.port()) << 16 | u32::from(remote.port());
        match (local.ip(), remote.ip()) {
            (IpAddr::V4(local), IpAddr::V4(remote)) => {
                FlowKey::V4(local.to_bits(), remote.to_bits(), ports)
            }
            (local, remote) => FlowKey::V6(as_bits(local), as_bits(remote), ports),
        }
    }
}

fn as_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// A subflow of a socket; plain TCP has one, number 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowRef {
    pub socket: SocketId,
    pub subflow: u8,
}

/// Connections by their ends. Looked up for every packet: IPv4 has a table of its own, whose
/// entries are a third as large.
#[derive(Debug, Default)]
struct Flows {
    v4: FxHashMap<(u32, u32, u32), FlowRef>,
    v6: FxHashMap<(u128, u128, u32), FlowRef>,
}

impl Flows {
    fn get(&self, key: FlowKey) -> Option<FlowRef> {
        match key {
            FlowKey::V4(local, remote, ports) => self.v4.get(&(local, remote, ports)),
            FlowKey::V6(local, remote, ports) => self.v6.get(&(local, remote, ports)),
        }
        .copied()
    }

    fn insert(&mut self, key: FlowKey, flow: FlowRef) {
        match key {
            FlowKey::V4(local, remote, ports) => self.v4.insert((local, remote, ports), flow),
            FlowKey::V6(local, remote, ports) => self.v6.insert((local, remote, ports), flow),
        };
    }

    fn remove(&mut self, key: FlowKey) {
        match key {
            FlowKey::V4(local, remote, ports) => self.v4.remove(&(local, remote, ports)),
            FlowKey::V6(local, remote, ports) => self.v6.remove(&(local, remote, ports)),
        };
    }
}

/// The address book of a stack. The maps are looked up, never walked.
#[derive(Debug)]
pub struct Addressing {
    interfaces: Vec<InterfaceConfig>,
    addresses: FxHashMap<IpAddr, InterfaceId>,
    flows: Flows,
    /// An address was removed, so that there may be connections of addresses that are not ours.
    shrunk: bool,
    /// MPTCP connections by the token that joins name.
    tokens: FxHashMap<Token, SocketId>,
    listeners: BTreeMap<u16, SocketId>,
    udp: BTreeMap<u16, SocketId>,
}

impl Addressing {
    /// With the addresses of the interfaces.
    pub fn new(config: StackConfig) -> Self {
        let mut addresses = FxHashMap::default();
        for (index, interface) in config.interfaces.iter().enumerate() {
            for address in &interface.addresses {
                addresses.insert(*address, InterfaceId(index as u16));
            }
        }
        Addressing {
            interfaces: config.interfaces,
            addresses,
            flows: Flows::default(),
            shrunk: false,
            tokens: FxHashMap::default(),
            listeners: BTreeMap::new(),
            udp: BTreeMap::new(),
        }
    }

    /// Addresses come and go; links up and down are the path manager's business.
    pub fn on_interface_event(&mut self, interface: InterfaceId, event: InterfaceEvent) {
        match event {
            InterfaceEvent::AddressAdded(address) => {
                let Some(interface_of) = self.interfaces.get_mut(interface.index()) else { return };
                if !interface_of.addresses.contains(&address) {
                    interface_of.addresses.push(address);
                }
                self.addresses.insert(address, interface);
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
    pub fn interface_of(&self, address: IpAddr) -> Option<InterfaceId> {
        self.addresses.get(&address).copied()
    }

    /// Largest datagram of an interface.
    pub fn mtu(&self, interface: InterfaceId) -> u32 {
        self.interfaces.get(interface.index()).map_or(1500, |interface| interface.mtu)
    }

    /// The connection between these ends.
    pub fn flow(&self, key: FlowKey) -> Option<FlowRef> {
        self.flows.get(key)
    }

    /// The connection of a packet to `local`, if that address is still ours. A connection begins
    /// at an address of ours, hence no second look unless one was removed.
    #[inline]
    pub fn receiver(&self, local: SocketAddr, remote: SocketAddr) -> Option<FlowRef> {
        if self.shrunk && self.interface_of(local.ip()).is_none() {
            return None;
        }
        self.flow(FlowKey::new(local, remote))
    }

    /// All addresses of this host, by interface.
    pub fn host(&self) -> Vec<(IpAddr, InterfaceId)> {
        let of = |(index, interface): (usize, &InterfaceConfig)| {
            let addresses = interface.addresses.clone().into_iter();
            addresses.map(move |address| (address, InterfaceId(index as u16)))
        };
        let all = self.interfaces.iter().enumerate().flat_map(of);
        all.filter(|(address, _)| self.addresses.contains_key(address)).collect()
    }

    /// Addresses of one interface.
    pub fn addresses_of(&self, interface: InterfaceId) -> Vec<IpAddr> {
        let interface = self.interfaces.get(interface.index());
        interface.map(|interface| interface.addresses.clone()).unwrap_or_default()
    }

    /// The connection that joins name by this token.
    pub fn by_token(&self, token: Token) -> Option<SocketId> {
        self.tokens.get(&token).copied()
    }

    /// Joins may name this connection.
    pub fn bind_token(&mut self, token: Token, id: SocketId) {
        self.tokens.insert(token, id);
    }

    /// The connection is over.
    pub fn unbind_token(&mut self, token: Token, id: SocketId) {
        if self.tokens.get(&token) == Some(&id) {
            self.tokens.remove(&token);
        }
    }

    /// The listener on `port`.
    pub fn listener(&self, port: u16) -> Option<SocketId> {
        self.listeners.get(&port).copied()
    }

    /// The UDP socket on `port`.
    pub fn udp(&self, port: u16) -> Option<SocketId> {
        self.udp.get(&port).copied()
    }

    /// A connection began.
    pub fn bind_flow(&mut self, key: FlowKey, flow: FlowRef) {
        self.flows.insert(key, flow);
    }

    /// A connection ended.
    pub fn unbind_flow(&mut self, key: FlowKey, id: SocketId) {
        if self.flows.get(key).is_some_and(|flow| flow.socket == id) {
            self.flows.remove(key);
        }
    }

    /// Listen on `port`.
    pub fn bind_listener(&mut self, port: u16, id: SocketId) -> Result<(), SocketError> {
        if self.listeners.contains_key(&port) {
            return Err(SocketError::AddressInUse);
        }
        self.listeners.insert(port, id);
        Ok(())
    }

    /// Listen no more.
    pub fn unbind_listener(&mut self, port: u16) {
        self.listeners.remove(&port);
    }

    /// Take a UDP port; for 0 a free one from `first` on.
    pub fn bind_udp(&mut self, port: u16, first: u64, id: SocketId) -> Result<u16, SocketError> {
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

    /// Give a UDP port back.
    pub fn unbind_udp(&mut self, port: u16) {
        self.udp.remove(&port);
    }

    /// A local end for a connection to `remote`, from a free port.
    pub fn free_port(
        &self,
        local: IpAddr,
        remote: SocketAddr,
        first: u64,
    ) -> Result<SocketAddr, SocketError> {
        ephemeral_ports(first)
            .map(|port| SocketAddr::new(local, port))
            .find(|local| self.flows.get(FlowKey::new(*local, remote)).is_none())
            .ok_or(SocketError::NoFreePort)
    }
}

/// Every ephemeral port once, beginning somewhere.
fn ephemeral_ports(first: u64) -> impl Iterator<Item = u16> {
    let count = EPHEMERAL.end - EPHEMERAL.start;
    let first = (first % u64::from(count)) as u16;
    (0..count).map(move |step| EPHEMERAL.start + (first + step) % count)
}
