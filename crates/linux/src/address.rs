//! Subnets, and which address of a TUN's subnet the engine takes.
//!
//! A TUN device connects two hosts: the kernel, with the addresses that `ip addr` shows, and the
//! engine, with others of the same subnets. Pure functions of addresses; reading the kernel's is
//! `netlink`'s.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An address with the length of its subnet's prefix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Subnet {
    /// The address; bits beyond the prefix may be set.
    pub address: IpAddr,
    /// Bits.
    pub prefix_len: u8,
}

/// An address of the kernel on a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelAddress {
    /// The address, and the subnet that the device reaches.
    pub subnet: Subnet,
    /// The other end, if the address was given with one (`ip addr add A peer B`).
    pub peer: Option<IpAddr>,
}

impl Subnet {
    /// Of an address and the length of a prefix; `None` if that is longer than the address.
    pub fn new(address: IpAddr, prefix_len: u8) -> Option<Self> {
        let subnet = Subnet { address, prefix_len };
        (prefix_len <= subnet.width()).then_some(subnet)
    }

    /// A single address, with the prefix that its device is given when it must be made: 24 bits
    /// of IPv4, 64 of IPv6.
    pub fn usual(address: IpAddr) -> Self {
        Subnet { address, prefix_len: if address.is_ipv4() { 24 } else { 64 } }
    }

    /// Whether `other` is in the subnet.
    pub fn contains(&self, other: IpAddr) -> bool {
        self.address.is_ipv4() == other.is_ipv4()
            && (bits(self.address) ^ bits(other)) & !self.host_mask() == 0
    }

    /// Whether the address is that of a host: neither the subnet itself (of IPv6 its routers'
    /// anycast address) nor IPv4's broadcast address, neither multicast nor unspecified.
    pub(crate) fn is_of_a_host(&self) -> bool {
        let mask = self.host_mask();
        let host = bits(self.address) & mask;
        let is_edge = host == 0 || (host == mask && self.address.is_ipv4());
        let is_one = !self.address.is_multicast() && !self.address.is_unspecified();
        is_one && !(is_edge && mask > 1)
    }

    /// The lowest address for a host that is none of `taken`: not the first one (the subnet
    /// itself, or its routers' anycast address, RFC 4291 s2.6.1), not IPv4's broadcast address.
    pub fn free_address(&self, taken: &[IpAddr]) -> Option<IpAddr> {
        let mask = self.host_mask();
        let network = bits(self.address) & !mask;
        let edges = u128::from(mask > 1);
        let broadcast = if self.address.is_ipv4() { edges } else { 0 };
        // One more than there are taken is enough.
        let last = (mask - broadcast.min(mask)).min(taken.len() as u128 + edges);
        (edges..=last)
            .map(|host| self.address_of(network | host))
            .find(|address| !taken.contains(address))
    }

    fn width(&self) -> u8 {
        if self.address.is_ipv4() { 32 } else { 128 }
    }

    fn host_mask(&self) -> u128 {
        let host_bits = u32::from(self.width() - self.prefix_len);
        1u128.checked_shl(host_bits).map_or(u128::MAX, |bit| bit - 1)
    }

    fn address_of(&self, bits: u128) -> IpAddr {
        match self.address {
            IpAddr::V4(_) => Ipv4Addr::from_bits(bits as u32).into(),
            IpAddr::V6(_) => Ipv6Addr::from_bits(bits).into(),
        }
    }
}

impl KernelAddress {
    /// The engine's address next to this one: the peer if one is named, else the lowest free one.
    /// `None` if the subnet has room for one host only, or is link-local (IPv6 makes these itself).
    pub fn engine_address(&self, taken: &[IpAddr]) -> Option<IpAddr> {
        if is_link_local(self.subnet.address) {
            return None;
        }
        let peer = self.peer.filter(|peer| *peer != self.subnet.address);
        peer.or_else(|| self.subnet.free_address(taken))
    }
}

/// IPv6 addresses that a device gives itself.
pub(crate) fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

impl FromStr for Subnet {
    type Err = ();

    /// `ADDRESS` or `ADDRESS/LENGTH`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let Some((address, len)) = text.split_once('/') else {
            return text.parse().map(Subnet::usual).map_err(drop);
        };
        let (address, len) = (address.parse().map_err(drop)?, len.parse().map_err(drop)?);
        Subnet::new(address, len).ok_or(())
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subnet(text: &str) -> Subnet {
        text.parse().expect("a subnet")
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn engine_takes_the_lowest_address_that_nobody_has() {
        let kernel = |text| KernelAddress { subnet: subnet(text), peer: None };
        let engine = |text| {
            let kernel: KernelAddress = kernel(text);
            kernel.engine_address(&[kernel.subnet.address])
        };
        assert_eq!(engine("10.9.0.1/24"), Some(ip("10.9.0.2")));
        assert_eq!(engine("10.9.0.7/24"), Some(ip("10.9.0.1")));
        assert_eq!(engine("10.9.0.5/31"), Some(ip("10.9.0.4")));
        assert_eq!(engine("10.9.0.1/30"), Some(ip("10.9.0.2")));
        assert_eq!(engine("10.9.0.1/32"), None);
        assert_eq!(engine("fd00:9::1/64"), Some(ip("fd00:9::2")));
        assert_eq!(engine("fe80::1/64"), None);
        assert_eq!(engine("0.0.0.9/0"), Some(ip("0.0.0.1")));
    }

    #[test]
    fn full_subnet_has_no_free_address() {
        let taken = [ip("10.0.0.1"), ip("10.0.0.2")];
        assert_eq!(subnet("10.0.0.1/30").free_address(&taken), None);
        assert_eq!(subnet("10.0.0.1/29").free_address(&taken), Some(ip("10.0.0.3")));
    }

    #[test]
    fn named_peer_is_the_engine() {
        let kernel = KernelAddress { subnet: subnet("10.1.1.1/32"), peer: Some(ip("10.2.2.2")) };
        assert_eq!(kernel.engine_address(&[]), Some(ip("10.2.2.2")));
    }

    #[test]
    fn membership_goes_by_the_prefix_and_the_family() {
        assert!(subnet("10.9.0.1/24").contains(ip("10.9.0.255")));
        assert!(!subnet("10.9.0.1/24").contains(ip("10.9.1.0")));
        assert!(subnet("::/0").contains(ip("2001:db8::1")));
        assert!(!subnet("0.0.0.0/0").contains(ip("::1")));
    }

    #[test]
    fn subnets_and_groups_are_no_hosts() {
        for text in ["10.9.0.7/24", "10.9.0.0/31", "10.9.0.0/32", "fd00::1", "fd00::ffff/112"] {
            assert!(subnet(text).is_of_a_host(), "{text}");
        }
        for text in ["10.9.0.0/24", "10.9.0.255", "0.0.0.0/32", "224.0.0.1", "ff02::1", "fd00::"] {
            assert!(!subnet(text).is_of_a_host(), "{text}");
        }
    }

    #[test]
    fn bad_subnets_are_refused() {
        for text in ["", "10.0.0.1/33", "::1/129", "10.0.0/8", "10.0.0.1/", "10.0.0.1/-1"] {
            assert!(text.parse::<Subnet>().is_err(), "{text}");
        }
    }
}
