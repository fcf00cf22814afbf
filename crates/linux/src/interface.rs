//! An interface of the live host: a TUN device or a UDP socket, the engine's addresses on it, and
//! its MTU.
//!
//! Existing devices are used unchanged: the engine takes free addresses of their subnets. For a
//! device created here, the kernel's address follows from the engine's.

use crate::address::{KernelAddress, Subnet};
use crate::device::Tun;
use crate::error::LiveError;
use crate::live::LiveCounters;
use crate::namespace::bring_up;
use crate::netlink::{Link, Netlink};
use crate::path::{PathDevice, UdpAddress};
use crate::tun_path::TunPath;
use crate::udp_path::{SCTP_UDP_PORT, UdpPath};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};

/// What packets of an interface pass.
pub(crate) enum Port {
    /// IP datagrams.
    Tun(TunPath),
    /// SCTP in UDP; its address is the kernel's, too.
    Udp(UdpPath),
}

/// A device with the engine's side of it.
pub(crate) struct Interface {
    pub port: Port,
    /// The kernel's number of the device.
    pub index: u32,
    /// The engine's.
    pub addresses: Vec<IpAddr>,
    /// Largest IP datagram, in bytes.
    pub mtu: u32,
    /// For use when nothing else is left.
    pub backup: bool,
    /// What was counted on it.
    pub counters: LiveCounters,
}

impl Port {
    /// The name of the device or socket.
    pub(crate) fn name(&self) -> &str {
        match self {
            Port::Tun(tun) => tun.name(),
            Port::Udp(path) => path.name(),
        }
    }
}

impl Interface {
    /// Whether the kernel segments and computes checksums.
    pub(crate) const fn has_offloads(&self) -> bool {
        match &self.port {
            Port::Tun(tun) => tun.has_offloads(),
            Port::Udp(_) => false,
        }
    }
}

impl AsRawFd for Port {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Port::Tun(tun) => tun.as_raw_fd(),
            Port::Udp(path) => path.as_raw_fd(),
        }
    }
}

/// The largest MTU assumed of a path in UDP whose first device has a larger one: what is beyond is
/// not known, and the kernel cuts larger datagrams into fragments.
const ETHERNET_MTU: u32 = 1500;

/// Opens UDP sockets at `paths`. `listen` is one of their addresses; a server has the port of
/// RFC 6951, a client the same free port at every address where it can.
pub(crate) fn open_udp(
    paths: &[UdpAddress],
    listen: Option<IpAddr>,
) -> Result<Vec<Interface>, LiveError> {
    let mut netlink = Netlink::open().map_err(|error| failed("reading devices", &error))?;
    let mut usual = if listen.is_some() { SCTP_UDP_PORT } else { 0 };
    let mut interfaces = Vec::with_capacity(paths.len());
    for path in paths {
        let local = SocketAddr::new(path.address, path.port.unwrap_or(usual));
        let device = path.device.as_deref();
        let opened = UdpPath::open(local, device);
        let socket = match opened {
            // Another program has the port at this address.
            Err(_) if listen.is_none() && path.port.is_none() && usual != 0 => {
                UdpPath::open(SocketAddr::new(path.address, 0), device)?
            }
            opened => opened?,
        };
        if listen.is_none() && usual == 0 {
            usual = socket.local().port();
        }
        let (index, mtu) = beneath(&mut netlink, path)?;
        let mtu = path.mtu.unwrap_or(mtu.min(ETHERNET_MTU));
        let addresses = vec![path.address];
        interfaces.push(Interface {
            port: Port::Udp(socket),
            index,
            addresses,
            mtu,
            backup: false,
            counters: LiveCounters::default(),
        });
    }
    if let Some(address) = listen.filter(|address| !address.is_unspecified())
        && !paths.iter().any(|path| path.address == address)
    {
        let known: Vec<String> = paths.iter().map(|path| path.address.to_string()).collect();
        return Err(LiveError::Usage(format!(
            "{address} is not the address of any path: add --path udp={address}, or listen at {}",
            known.join(" or ")
        )));
    }
    Ok(interfaces)
}

/// Number and MTU of the device that a UDP path uses.
fn beneath(netlink: &mut Netlink, path: &UdpAddress) -> Result<(u32, u32), LiveError> {
    let doing = "reading the devices";
    let known = netlink.addresses().map_err(|error| failed(doing, &error))?;
    let links = netlink.links().map_err(|error| failed(doing, &error))?;
    let own = known.iter().find(|(_, known)| known.subnet.address == path.address);
    // All of 127.0.0.0/8 is local.
    let of_subnet = || known.iter().find(|(_, known)| known.subnet.contains(path.address));
    let index = own.or_else(of_subnet).map(|(index, _)| *index);
    let link = links.iter().find(|link| match &path.device {
        Some(name) => link.name == *name,
        None => Some(link.index) == index,
    });
    Ok(link.map_or((0, ETHERNET_MTU), |link| (link.index, link.mtu)))
}

/// Opens the devices of `paths` in the calling thread's namespace. `listen` becomes an address of
/// the engine on the device with its subnet, or on the first if that device must be created.
pub(crate) fn open(
    paths: &[PathDevice],
    listen: Option<IpAddr>,
) -> Result<Vec<Interface>, LiveError> {
    let listen = listen.filter(|address| !address.is_unspecified());
    let mut netlink = Netlink::open().map_err(|error| failed("reading devices", &error))?;
    let mut interfaces = Vec::with_capacity(paths.len());
    for (number, path) in paths.iter().enumerate() {
        let tun = Tun::open_offloaded(&path.name)?;
        if tun.is_ours() {
            set_up_new(&mut netlink, path, listen.filter(|_| number == 0))?;
        }
        let engines = engines_beside(paths, number, &interfaces);
        interfaces.push(adopt(&mut netlink, path, tun, (listen, &engines))?);
    }
    if let Some(address) = listen
        && !interfaces.iter().any(|interface| interface.addresses.contains(&address))
    {
        return Err(LiveError::Usage(format!(
            "{address} is not in the subnet of any device: {}",
            describe(&interfaces)
        )));
    }
    Ok(interfaces)
}

/// The engine's addresses on other devices than number `number`: those it has, and those given.
fn engines_beside(paths: &[PathDevice], number: usize, open: &[Interface]) -> Vec<IpAddr> {
    let others = paths.iter().enumerate().filter(|(other, _)| *other != number);
    let given = others.flat_map(|(_, path)| path.addresses.iter().map(|subnet| subnet.address));
    given.chain(open.iter().flat_map(|interface| interface.addresses.iter().copied())).collect()
}

/// `tun0 has 10.9.0.2, tun1 has 10.9.1.2`.
pub(crate) fn describe(interfaces: &[Interface]) -> String {
    let one = |interface: &Interface| {
        if let Port::Udp(path) = &interface.port {
            return path.name().to_owned();
        }
        let addresses: Vec<String> = interface.addresses.iter().map(IpAddr::to_string).collect();
        let addresses = if addresses.is_empty() { "none" } else { &addresses.join(" and ") };
        format!("{} has {addresses}", interface.port.name())
    };
    interfaces.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The devices without offloads, in words, if there are any.
pub(crate) fn note(interfaces: &[Interface]) -> Option<String> {
    let plain = interfaces.iter().filter_map(|interface| match &interface.port {
        Port::Tun(tun) if !tun.has_offloads() => Some(tun.name()),
        _ => None,
    });
    let names: Vec<&str> = plain.collect();
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!("{names}: no segmentation offload in this kernel; transfers take more CPU time")
    })
}

/// Give the kernel the other end of a device that was just made, and set it up.
fn set_up_new(
    netlink: &mut Netlink,
    path: &PathDevice,
    listen: Option<IpAddr>,
) -> Result<(), LiveError> {
    let name = &path.name;
    let mut ours = path.addresses.clone();
    if ours.is_empty() {
        ours.extend(listen.map(Subnet::usual));
    }
    if ours.is_empty() {
        return Err(LiveError::missing(
            format!("there is no device {name}"),
            format!(
                "sudo ip tuntap add dev {name} mode tun && sudo ip addr add 10.9.0.1/24 dev {name} \
                 && sudo ip link set {name} up\n  or have it created: --path \
                 dev={name},addr=10.9.0.2/24 (the engine's address; the kernel gets another)"
            ),
        ));
    }
    let kernels = other_ends(&ours)?;
    bring_up(netlink, name, &kernels).map_err(|error| failed(&format!("setting {name} up"), &error))
}

/// The kernel's addresses on a device that is made for these of the engine: one a subnet.
fn other_ends(ours: &[Subnet]) -> Result<Vec<Subnet>, LiveError> {
    let mut taken: Vec<IpAddr> = ours.iter().map(|subnet| subnet.address).collect();
    let mut kernels: Vec<Subnet> = Vec::new();
    for subnet in ours {
        let is_same = |known: &Subnet| {
            known.prefix_len == subnet.prefix_len && known.contains(subnet.address)
        };
        if kernels.iter().any(is_same) {
            continue;
        }
        let address = subnet
            .free_address(&taken)
            .ok_or_else(|| LiveError::Usage(format!("{subnet} has no room for a second host")))?;
        taken.push(address);
        kernels.push(Subnet { address, ..*subnet });
    }
    Ok(kernels)
}

/// Take a device as it is now.
fn adopt(
    netlink: &mut Netlink,
    path: &PathDevice,
    tun: Tun,
    (listen, engines): (Option<IpAddr>, &[IpAddr]),
) -> Result<Interface, LiveError> {
    let doing = format!("reading the addresses of {}", path.name);
    let link = netlink.link(&path.name).map_err(|error| failed(&doing, &error))?;
    let Link { index, is_up, mtu, .. } =
        link.ok_or_else(|| LiveError::Failed(format!("{doing}: the device is gone")))?;
    if !is_up {
        let what = format!("{} is down", path.name);
        return Err(LiveError::missing(what, format!("sudo ip link set {} up", path.name)));
    }
    let known = netlink.addresses().map_err(|error| failed(&doing, &error))?;
    let taken: Vec<IpAddr> = known.iter().map(|(_, known)| known.subnet.address).collect();
    let here: Vec<KernelAddress> =
        known.into_iter().filter(|(at, _)| *at == index).map(|(_, known)| known).collect();
    let addresses = engine_addresses(path, &here, (&taken, engines), listen)?;
    let port = Port::Tun(TunPath::new(tun));
    let counters = LiveCounters::default();
    Ok(Interface { port, index, addresses, mtu, backup: path.backup, counters })
}

/// The engine's addresses: those given, or one in each subnet of the kernel's; `listen` in its
/// subnet. `kernels` are all addresses of the kernel, `engines` those of the engine elsewhere.
fn engine_addresses(
    path: &PathDevice,
    here: &[KernelAddress],
    (kernels, engines): (&[IpAddr], &[IpAddr]),
    listen: Option<IpAddr>,
) -> Result<Vec<IpAddr>, LiveError> {
    let given: Vec<IpAddr> = path.addresses.iter().map(|subnet| subnet.address).collect();
    if let Some(address) = given.iter().chain(&listen).find(|address| kernels.contains(address)) {
        return Err(LiveError::Usage(format!(
            "{address} is the kernel's own address; the engine needs another one of its subnet"
        )));
    }
    if let Some(address) = given.iter().find(|address| engines.contains(address)) {
        return Err(LiveError::Usage(format!(
            "{address} is the address of another device; give each device one of its own"
        )));
    }
    let mut taken = [kernels, engines].concat();
    let mut addresses = given.clone();
    let unknown = here.iter().enumerate().filter(|_| given.is_empty());
    for (_, kernel) in unknown.filter(|(number, kernel)| !is_repeated(kernel, &here[..*number])) {
        let wanted = listen.filter(|address| kernel.subnet.contains(*address));
        let own = wanted.map(|address| Subnet { address, ..kernel.subnet });
        if let Some(own) = own.filter(|own| !own.is_of_a_host()) {
            let what = format!("{own} is not the address of one host; listen at another one");
            return Err(LiveError::Usage(what));
        }
        let wanted = wanted.filter(|address| !taken.contains(address));
        let address = wanted.or_else(|| kernel.engine_address(&taken));
        if let Some(address) = address.filter(|address| !taken.contains(address)) {
            taken.push(address);
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        let name = &path.name;
        return Err(LiveError::missing(
            format!("{name} has no address, so the engine has no subnet to take one from"),
            format!("sudo ip addr add 10.9.0.1/24 dev {name}"),
        ));
    }
    Ok(addresses)
}

/// Whether an address is in the subnet of an earlier one: the engine is the neighbour of both.
fn is_repeated(kernel: &KernelAddress, earlier: &[KernelAddress]) -> bool {
    let of_subnet = |other: &KernelAddress| {
        other.peer.is_none()
            && other.subnet.prefix_len == kernel.subnet.prefix_len
            && other.subnet.contains(kernel.subnet.address)
    };
    kernel.peer.is_none() && earlier.iter().any(of_subnet)
}

fn failed(doing: &str, error: &std::io::Error) -> LiveError {
    LiveError::system(doing, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn path(addresses: &[&str]) -> PathDevice {
        let addresses = addresses.iter().map(|text| text.parse().expect("a subnet")).collect();
        PathDevice { name: "tun0".to_owned(), addresses, backup: false }
    }

    fn kernel() -> Vec<KernelAddress> {
        let address =
            |text: &str| KernelAddress { subnet: text.parse().expect("a subnet"), peer: None };
        vec![address("10.9.0.1/24"), address("fd00::1/64"), address("fe80::7/64")]
    }

    fn taken() -> Vec<IpAddr> {
        kernel().iter().map(|kernel| kernel.subnet.address).collect()
    }

    #[test]
    fn engine_has_an_address_of_each_family_beside_the_kernels() {
        let ours =
            engine_addresses(&path(&[]), &kernel(), (&taken(), &[]), None).expect("addresses");
        assert_eq!(ours, [ip("10.9.0.2"), ip("fd00::2")]);
    }

    #[test]
    fn address_to_listen_at_replaces_the_one_of_its_subnet() {
        let listen = Some(ip("10.9.0.77"));
        let taken = (&taken()[..], &[][..]);
        let ours = engine_addresses(&path(&[]), &kernel(), taken, listen).expect("addresses");
        assert_eq!(ours, [ip("10.9.0.77"), ip("fd00::2")]);
    }

    #[test]
    fn engine_has_one_address_a_subnet_and_no_address_twice() {
        let here: Vec<KernelAddress> = ["10.9.0.1/24", "10.9.0.5/24", "10.9.0.5/16"]
            .map(|text| KernelAddress { subnet: text.parse().expect("a subnet"), peer: None })
            .into();
        let kernels = [ip("10.9.0.1"), ip("10.9.0.5")];
        let ours = |engines: &[IpAddr], listen: Option<IpAddr>| {
            engine_addresses(&path(&[]), &here, (&kernels, engines), listen).expect("addresses")
        };
        assert_eq!(ours(&[], None), [ip("10.9.0.2"), ip("10.9.0.3")]);
        assert_eq!(ours(&[], Some(ip("10.9.0.7"))), [ip("10.9.0.7"), ip("10.9.0.2")]);
        let elsewhere = [ip("10.9.0.2"), ip("10.9.0.7")];
        assert_eq!(ours(&elsewhere, Some(ip("10.9.0.7"))), [ip("10.9.0.3"), ip("10.9.0.4")]);
        let peer = Some(ip("10.9.0.9"));
        let both = [kernels[0], kernels[1]]
            .map(|address| KernelAddress { subnet: Subnet { address, prefix_len: 32 }, peer });
        let ours = engine_addresses(&path(&[]), &both, (&kernels, &[]), None).expect("addresses");
        assert_eq!(ours, [ip("10.9.0.9")]);
        let given = path(&["10.9.0.2"]);
        let error = engine_addresses(&given, &here, (&kernels, &elsewhere), None);
        let error = error.expect_err("taken").to_string();
        assert!(error.contains("10.9.0.2 is the address of another device"), "{error}");
    }

    #[test]
    fn server_cannot_listen_at_a_subnet_or_its_broadcast_address() {
        for address in ["10.9.0.0", "10.9.0.255", "fd00::"] {
            let listen = Some(ip(address));
            let refused = engine_addresses(&path(&[]), &kernel(), (&taken(), &[]), listen);
            let error = refused.expect_err(address).to_string();
            assert!(error.contains(&format!("{address}/")), "{error}");
        }
    }

    #[test]
    fn kernel_has_one_address_a_subnet_of_a_new_device() {
        let subnets = |texts: &[&str]| {
            let parse = |text: &&str| text.parse::<Subnet>().expect("a subnet");
            texts.iter().map(parse).collect::<Vec<Subnet>>()
        };
        let kernels = other_ends(&subnets(&["10.7.0.2", "10.7.0.3", "fd00::2", "10.7.0.4/16"]));
        let expected = subnets(&["10.7.0.1", "fd00::1", "10.7.0.5/16"]);
        assert_eq!(kernels.expect("addresses"), expected);
        let error = other_ends(&subnets(&["10.7.0.1/30", "10.7.0.2/30"])).expect_err("full");
        assert!(error.to_string().contains("10.7.0.1/30 has no room"), "{error}");
    }

    #[test]
    fn address_of_the_kernel_is_refused() {
        for (path, listen) in [(path(&["10.9.0.1"]), None), (path(&[]), Some(ip("10.9.0.1")))] {
            let taken = (&taken()[..], &[][..]);
            let error = engine_addresses(&path, &kernel(), taken, listen).expect_err("taken");
            assert!(error.to_string().contains("10.9.0.1 is the kernel's own"), "{error}");
        }
    }

    #[test]
    fn device_without_addresses_asks_for_one() {
        let error = engine_addresses(&path(&[]), &[], (&[], &[]), None).expect_err("none");
        assert!(error.to_string().contains("ip addr add"), "{error}");
    }
}
