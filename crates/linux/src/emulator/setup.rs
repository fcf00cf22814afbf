//! The two hosts: a namespace each, a TUN device a path, routes, settings, MPTCP endpoints.
//!
//! Path P has the subnets 10.0.P.0/24 and fd00::P:0/112, the client is host 1 and the server host
//! 2 there, as in the simulator. A path is chosen by the client's address: the client routes by
//! source address, the server has nothing but the subnets. So a subflow from the client's address
//! on path P uses path P in both directions for every address of the server, which is what the
//! kernel's path manager makes. Nothing here has a name outside of the process.

use super::EmulatorConfig;
use crate::address::Subnet;
use crate::device::Tun;
use crate::error::LiveError;
use crate::mptcp_pm::PathManager;
use crate::namespace::Namespace;
use crate::netlink::{Netlink, Route};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use transport::path_manager::{LIMIT, Limits};

/// Packets that may wait in a device for the loop to take them out: more than a card's queue
/// holds, so that packets are dropped by the links and not here.
const DEVICE_QUEUE: u32 = 4000;
/// Name of the devices of an engine that runs in a host, before the number of the path.
pub(crate) const ENGINE_DEVICE: &str = "engine";
/// The first of the tables of routes by source address.
const FIRST_TABLE: u32 = 100;

/// Which host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The host that opens connections, with host number 1 in every subnet.
    Client,
    /// The host that accepts connections, with host number 2 in every subnet.
    Server,
}

/// A host with its devices, one a path.
pub struct EmulatedHost {
    /// The network namespace of the host.
    pub namespace: Namespace,
    pub(super) devices: Vec<Tun>,
    /// The kernel's numbers of the devices.
    pub(super) indices: Vec<u32>,
    /// Whether its kernel supports MPTCP.
    pub mptcp: bool,
}

/// A host's address on a path.
pub fn address(side: Side, path: usize, ipv6: bool) -> IpAddr {
    let host = if side == Side::Client { 1 } else { 2 };
    if ipv6 {
        return Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, path as u16, host).into();
    }
    Ipv4Addr::new(10, (path >> 8) as u8, path as u8, host as u8).into()
}

/// The names of the paths' devices: those of the paths where the kernel can take them.
pub(super) fn device_names(paths: &[String]) -> Vec<String> {
    /// Linux IFNAMSIZ without the final zero.
    const LONGEST: usize = 15;
    /// Have a meaning of their own below `net` of sysctl and to the kernel.
    const TAKEN: [&str; 5] = ["all", "default", "lo", ".", ".."];
    let usable = |name: &str| {
        !name.is_empty() && name.len() <= LONGEST && !TAKEN.contains(&name) && !is_of_engine(name)
    };
    let mut names: Vec<String> = Vec::with_capacity(paths.len());
    for (number, path) in paths.iter().enumerate() {
        let other = |name: &String| !paths.contains(name) && !names.contains(name);
        let name = match usable(path) {
            true => Some(path.clone()),
            false => (number..).map(|number| format!("path{number}")).find(other),
        };
        names.extend(name);
    }
    names
}

/// Whether the engine as a system under test calls its devices so.
fn is_of_engine(name: &str) -> bool {
    let number = name.strip_prefix(ENGINE_DEVICE);
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

impl EmulatedHost {
    /// Make one.
    pub(super) fn new(side: Side, config: &EmulatorConfig) -> Result<Self, LiveError> {
        let namespace = Namespace::new()?;
        let failed = |error: io::Error| LiveError::system("setting up an emulated host", &error);
        namespace.run(|| settings(config)).map_err(failed)?.map_err(failed)?;
        let names = device_names(&config.paths);
        let open = || names.iter().map(|name| Tun::open(name)).collect::<Result<Vec<_>, _>>();
        let devices = namespace.run(open).map_err(failed)??;
        let indices: Vec<u32> = namespace
            .configure(|netlink| {
                let devices = names.iter().enumerate();
                devices.map(|(path, name)| set_up(netlink, side, config, path, name)).collect()
            })
            .map_err(failed)?;
        let mptcp = namespace.run(|| endpoints(side, config, &indices));
        let mptcp = mptcp.map_err(failed)?.map_err(failed)?;
        Ok(EmulatedHost { namespace, devices, indices, mptcp })
    }

    /// Packets that the devices of these paths dropped because they were not fetched, since the
    /// devices were created.
    pub(super) fn drops(&self, paths: &[usize]) -> io::Result<u64> {
        let indices = paths.iter().filter_map(|path| self.indices.get(*path));
        self.namespace.configure(|netlink| {
            indices.map(|index| netlink.tx_dropped(*index)).sum::<io::Result<u64>>()
        })
    }

    /// Give all devices a carrier.
    pub(super) fn plug_in(&self) -> io::Result<()> {
        self.namespace.configure(|netlink| {
            self.indices.iter().try_for_each(|index| netlink.set_carrier(*index, true))
        })
    }
}

/// A device's addresses, its routes, its queue; its number.
fn set_up(
    netlink: &mut Netlink,
    side: Side,
    config: &EmulatorConfig,
    path: usize,
    name: &str,
) -> io::Result<u32> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, format!("no device {name}"));
    let index = netlink.link(name)?.ok_or_else(missing)?.index;
    netlink.set_mtu(index, config.mtu)?;
    netlink.set_queue_len(index, DEVICE_QUEUE)?;
    // A kernel without it has another FIFO.
    let _ = netlink.set_fifo(index);
    netlink.set_up(index, true)?;
    for ipv6 in [false, true] {
        if ipv6 && !config.ipv6 {
            continue;
        }
        let address = address(side, path, ipv6);
        let prefix_len = if ipv6 { 112 } else { 24 };
        netlink.add_address(index, Subnet { address, prefix_len })?;
        if side == Side::Client {
            let table = FIRST_TABLE + path as u32;
            netlink.add_source_rule(address, table)?;
            let destination = everything(ipv6);
            netlink.add_route(&Route { destination, device: index, gateway: None, table })?;
        }
    }
    Ok(index)
}

fn everything(ipv6: bool) -> Subnet {
    let v4 = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let address = if ipv6 { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { v4 };
    Subnet { address, prefix_len: 0 }
}

/// Kernel settings made before there is a device, in the calling thread's namespace.
fn settings(config: &EmulatorConfig) -> io::Result<()> {
    let [send, receive] = config.buffers.texts();
    let off = if config.ipv6 { "0" } else { "1" };
    let all = [
        // What one connection learned is not the next one's.
        ("ipv4/tcp_no_metrics_save", "1"),
        ("ipv4/tcp_wmem", &send),
        ("ipv4/tcp_rmem", &receive),
        // Packets for an address come in by the path that the sender chose.
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/default/rp_filter", "0"),
        ("ipv4/conf/all/accept_redirects", "0"),
        ("ipv4/conf/all/send_redirects", "0"),
        // Nothing goes over a path but what the hosts' programs send.
        ("ipv6/conf/all/disable_ipv6", off),
        ("ipv6/conf/default/disable_ipv6", off),
        ("ipv6/conf/default/accept_ra", "0"),
        ("ipv6/conf/default/router_solicitations", "0"),
        ("ipv6/conf/default/dad_transmits", "0"),
        ("ipv6/conf/default/addr_gen_mode", "1"),
        ("mptcp/enabled", "1"),
    ];
    for (name, value) in all {
        match std::fs::write(format!("/proc/sys/net/{name}"), value) {
            // A kernel without IPv6 or MPTCP.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => done?,
        }
    }
    Ok(())
}

/// Let connections have a subflow on every path. Whether the kernel can.
fn endpoints(side: Side, config: &EmulatorConfig, indices: &[u32]) -> io::Result<bool> {
    let Some(mut manager) = PathManager::open()? else { return Ok(false) };
    let most = usize::from(LIMIT);
    // Not more than the limit, which is a byte.
    let subflows = indices.len().saturating_sub(1).min(most) as u8;
    manager.set_limits(Limits { subflows, add_addr_accepted: 0 })?;
    if side == Side::Client {
        // The kernel has at most eight endpoints.
        for (path, index) in indices.iter().enumerate().take(most) {
            for ipv6 in [false, true] {
                if !ipv6 || config.ipv6 && indices.len() <= most / 2 {
                    manager.add_subflow_endpoint(address(side, path, ipv6), *index, false)?;
                }
            }
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_called_like_their_paths_where_that_is_possible() {
        let names = ["wlan", "lo", "a-very-long-name-of-a-path", ".."].map(str::to_owned);
        assert_eq!(device_names(&names), ["wlan", "path1", "path2", "path3"]);
        let names = ["path1", "a-very-long-name-of-a-path", "path3", "engine0", "engineer"];
        let names = device_names(&names.map(str::to_owned));
        assert_eq!(names, ["path1", "path2", "path3", "path4", "engineer"]);
    }

    #[test]
    fn addresses_are_the_simulators() {
        assert_eq!(address(Side::Client, 1, false).to_string(), "10.0.1.1");
        assert_eq!(address(Side::Server, 258, false).to_string(), "10.1.2.2");
        assert_eq!(address(Side::Server, 1, true).to_string(), "fd00::1:2");
    }
}
