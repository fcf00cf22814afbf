//! What `ip mptcp` does: the endpoints and limits of the kernel's MPTCP in a namespace, by generic
//! netlink (family `mptcp_pm`).
//!
//! An endpoint is an address that connections may use besides the one they began on. The choice of
//! endpoints is left to the caller, paths and routes to `netlink`.

use crate::raw_netlink::{RawNetlink, array, attribute, push_attribute, push_nested};
use netlink_sys::protocols::NETLINK_GENERIC;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use transport::path_manager::{Endpoint, EndpointFlags, Limits};

/// Generic netlink's own family, its command and attributes (Linux `genetlink.h`).
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// Commands of `mptcp_pm` (Linux `mptcp_pm.h`).
const ADD_ADDR: u8 = 1;
const GET_ADDR: u8 = 3;
const FLUSH_ADDRS: u8 = 4;
const SET_LIMITS: u8 = 5;
const GET_LIMITS: u8 = 6;
/// Its attributes,
const ADDR: u16 = 1;
const RCV_ADD_ADDRS: u16 = 2;
const SUBFLOWS: u16 = 3;
/// and those of an address.
const FAMILY: u16 = 1;
const ID: u16 = 2;
const ADDR4: u16 = 3;
const ADDR6: u16 = 4;
const FLAGS: u16 = 6;
const DEVICE: u16 = 7;
/// Length of generic netlink's header: command, version, two reserved bytes.
const HEADER: usize = 4;
const VERSION: u8 = 1;
/// Address families as the kernel numbers them.
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

/// The kernel's path manager of one namespace.
pub struct PathManager {
    netlink: RawNetlink,
    family: u16,
}

/// An endpoint as the kernel has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelEndpoint {
    /// Its address and what it is for.
    pub endpoint: Endpoint,
    /// Its address identifier; zero lets the kernel choose.
    pub id: u8,
    /// The number of the device that its packets must take; zero for any.
    pub device: u32,
}

/// Flags as the kernel numbers them (Linux `mptcp.h`).
const fn bits(flags: EndpointFlags) -> u32 {
    flags.signal as u32
        | (flags.subflow as u32) << 1
        | (flags.backup as u32) << 2
        | (flags.fullmesh as u32) << 3
}

const fn from_bits(bits: u32) -> EndpointFlags {
    EndpointFlags {
        signal: bits & 1 != 0,
        subflow: bits & 2 != 0,
        backup: bits & 4 != 0,
        fullmesh: bits & 8 != 0,
    }
}

impl PathManager {
    /// Of the namespace that the calling thread is in; `None` if the kernel has no MPTCP.
    pub fn open() -> io::Result<Option<Self>> {
        let mut netlink = RawNetlink::open(NETLINK_GENERIC)?;
        let mut body = vec![GET_FAMILY, VERSION, 0, 0];
        push_attribute(&mut body, FAMILY_NAME, b"mptcp_pm\0");
        let answers = match netlink.command(CONTROL, &body) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            answers => answers?,
        };
        let id = answers.iter().find_map(|answer| {
            let id = attribute(answer.get(HEADER..)?, FAMILY_ID)?;
            array(id, 0).map(u16::from_ne_bytes)
        });
        let missing = || io::Error::other("the netlink family mptcp_pm has no number");
        Ok(Some(PathManager { netlink, family: id.ok_or_else(missing)? }))
    }

    /// `ip mptcp endpoint add ADDRESS dev DEVICE subflow [backup]`: connections get another
    /// subflow from here, over that device.
    pub fn add_subflow_endpoint(
        &mut self,
        ip: IpAddr,
        device: u32,
        backup: bool,
    ) -> io::Result<()> {
        let flags = EndpointFlags { subflow: true, backup, ..EndpointFlags::default() };
        self.add(&KernelEndpoint { endpoint: Endpoint { ip, flags }, id: 0, device })
    }

    /// Add an endpoint.
    pub fn add(&mut self, added: &KernelEndpoint) -> io::Result<()> {
        let KernelEndpoint { endpoint: Endpoint { ip, flags }, id, device } = *added;
        let mut address = Vec::new();
        let family = if ip.is_ipv4() { AF_INET } else { AF_INET6 };
        push_attribute(&mut address, FAMILY, &family.to_ne_bytes());
        if id != 0 {
            push_attribute(&mut address, ID, &[id]);
        }
        match ip {
            IpAddr::V4(ip) => push_attribute(&mut address, ADDR4, &ip.octets()),
            IpAddr::V6(ip) => push_attribute(&mut address, ADDR6, &ip.octets()),
        }
        push_attribute(&mut address, FLAGS, &bits(flags).to_ne_bytes());
        if device != 0 {
            push_attribute(&mut address, DEVICE, &device.to_ne_bytes());
        }
        let mut body = vec![ADD_ADDR, VERSION, 0, 0];
        push_nested(&mut body, ADDR, &address);
        self.netlink.command(self.family, &body).map(drop)
    }

    /// The endpoints there are.
    pub fn endpoints(&mut self) -> io::Result<Vec<KernelEndpoint>> {
        let answers = self.netlink.dump(self.family, &[GET_ADDR, VERSION, 0, 0])?;
        Ok(answers.iter().filter_map(|answer| endpoint_of(answer)).collect())
    }

    /// Remove all endpoints.
    pub fn flush(&mut self) -> io::Result<()> {
        self.netlink.command(self.family, &[FLUSH_ADDRS, VERSION, 0, 0]).map(drop)
    }

    /// Set the limits.
    pub fn set_limits(&mut self, limits: Limits) -> io::Result<()> {
        let mut body = vec![SET_LIMITS, VERSION, 0, 0];
        let accepted = u32::from(limits.add_addr_accepted);
        push_attribute(&mut body, RCV_ADD_ADDRS, &accepted.to_ne_bytes());
        push_attribute(&mut body, SUBFLOWS, &u32::from(limits.subflows).to_ne_bytes());
        self.netlink.command(self.family, &body).map(drop)
    }

    /// The limits.
    pub fn limits(&mut self) -> io::Result<Limits> {
        let answers = self.netlink.command(self.family, &[GET_LIMITS, VERSION, 0, 0])?;
        let number = |kind| {
            let number = attribute(answers.first()?.get(HEADER..)?, kind)?;
            u8::try_from(array(number, 0).map(u32::from_ne_bytes)?).ok()
        };
        match (number(SUBFLOWS), number(RCV_ADD_ADDRS)) {
            (Some(subflows), Some(add_addr_accepted)) => Ok(Limits { subflows, add_addr_accepted }),
            _ => Err(io::Error::other("an answer without limits")),
        }
    }
}

fn endpoint_of(answer: &[u8]) -> Option<KernelEndpoint> {
    let address = attribute(answer.get(HEADER..)?, ADDR)?;
    let v4 = attribute(address, ADDR4).and_then(|ip| array(ip, 0)).map(Ipv4Addr::from_octets);
    let v6 = attribute(address, ADDR6).and_then(|ip| array(ip, 0)).map(Ipv6Addr::from_octets);
    let number = |kind| attribute(address, kind).and_then(|number| array(number, 0));
    let flags = from_bits(u32::from_ne_bytes(number(FLAGS).unwrap_or_default()));
    Some(KernelEndpoint {
        endpoint: Endpoint { ip: v4.map(IpAddr::V4).or(v6.map(IpAddr::V6))?, flags },
        id: *attribute(address, ID)?.first()?,
        device: u32::from_ne_bytes(number(DEVICE).unwrap_or_default()),
    })
}
