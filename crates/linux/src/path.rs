//! `--path`: the devices or addresses an engine uses.
//!
//! The grammar is `dev=NAME[,addr=ADDRESS[/LENGTH]]...[,backup]`, repeated; what follows a device
//! belongs to it. `backup` is the word of `ip mptcp`. Or, for SCTP in UDP (RFC 6951),
//! `udp=ADDRESS[:PORT][,dev=NAME][,mtu=BYTES]`, repeated. Opening devices is left to `device`,
//! opening sockets to `udp_path`.

use crate::address::{Subnet, is_link_local};
use crate::error::LiveError;
use std::net::{IpAddr, SocketAddr};

/// Longest name of a network device (Linux IFNAMSIZ less its zero).
const MAX_NAME: usize = 15;

/// A device as the user named it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathDevice {
    /// The name of the TUN device.
    pub name: String,
    /// The engine's addresses on it; empty: derived from the kernel's.
    pub addresses: Vec<Subnet>,
    /// Data goes here only when no other path is left (MPTCP's B flag).
    pub backup: bool,
}

/// A local address of SCTP in UDP as the user named it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UdpAddress {
    /// An address of this host.
    pub address: IpAddr,
    /// UDP port; `None`: 9899 for a server, any for a client.
    pub port: Option<u16>,
    /// The only device that packets may use (SO_BINDTODEVICE).
    pub device: Option<String>,
    /// Largest IP datagram in bytes; `None`: the MTU of the address's device, at most 1500.
    pub mtu: Option<u32>,
}

/// All paths of an engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Paths {
    /// TUN devices.
    Devices(Vec<PathDevice>),
    /// Local addresses with UDP sockets.
    Udp(Vec<UdpAddress>),
}

impl Paths {
    /// How many there are.
    pub const fn count(&self) -> usize {
        match self {
            Paths::Devices(devices) => devices.len(),
            Paths::Udp(addresses) => addresses.len(),
        }
    }
}

/// The smallest MTU over which IPv6 works; IPv4 with less is not in use (RFC 8200 s5).
const MIN_MTU: u32 = 1280;
/// The longest datagram.
const MAX_MTU: u32 = 65_535;

/// The paths of all `--path` options, in order: all of one kind.
pub fn parse_any<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Paths, LiveError> {
    let is_udp = |text: &&str| text.trim_start().starts_with("udp=");
    let (udp, devices): (Vec<&str>, Vec<&str>) = texts.into_iter().partition(is_udp);
    match (udp.first(), devices.first()) {
        (None, _) => parse(devices).map(Paths::Devices),
        (Some(_), None) => parse_udp(udp).map(Paths::Udp),
        (Some(udp), Some(device)) => Err(LiveError::Usage(format!(
            "--path {udp} and --path {device}: one host uses either UDP or TUN devices\n  \
             write all paths as udp=ADDRESS, or all as dev=TUN"
        ))),
    }
}

fn parse_udp<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Vec<UdpAddress>, LiveError> {
    let mut addresses: Vec<UdpAddress> = Vec::new();
    for text in texts {
        let mut items = text.split(',');
        items
            .try_for_each(|item| read_udp_item(&mut addresses, item))
            .and_then(|()| check_links(&addresses))
            .map_err(|why| {
                let form = "udp=ADDRESS[:PORT][,dev=NAME][,mtu=BYTES]";
                LiveError::Usage(format!("--path {text}: {why}\n  write it as {form}"))
            })?;
    }
    Ok(addresses)
}

/// Refuses link-local addresses without the device of their link, which the kernel does not bind.
fn check_links(addresses: &[UdpAddress]) -> Result<(), String> {
    let is_lost = |udp: &&UdpAddress| udp.device.is_none() && is_link_local(udp.address);
    addresses.iter().find(is_lost).map_or(Ok(()), |UdpAddress { address, .. }| {
        Err(format!("{address} is valid on one link only; name its device: udp={address},dev=NAME"))
    })
}

fn read_udp_item(addresses: &mut Vec<UdpAddress>, item: &str) -> Result<(), String> {
    let (key, value) =
        item.trim().split_once('=').ok_or_else(|| format!("`{item}` is not KEY=VALUE"))?;
    if key == "udp" {
        let (address, port) = udp_address(value)?;
        if addresses.iter().any(|known| known.address == address) {
            return Err(format!("{address} is given twice"));
        }
        addresses.push(UdpAddress { address, port, device: None, mtu: None });
        return Ok(());
    }
    let last = addresses.last_mut().ok_or("an address comes first")?;
    match key {
        "dev" => {
            check_name(value)?;
            last.device = Some(value.to_owned());
        }
        "mtu" => {
            let mtu = value.parse().ok().filter(|mtu| (MIN_MTU..=MAX_MTU).contains(mtu));
            let refuse =
                || format!("`{value}` is not a number of bytes from {MIN_MTU} to {MAX_MTU}");
            last.mtu = Some(mtu.ok_or_else(refuse)?);
        }
        _ => return Err(format!("unknown key `{key}`; valid are udp, dev and mtu")),
    }
    Ok(())
}

/// `ADDRESS` or `ADDRESS:PORT`, IPv6 with a port in brackets.
fn udp_address(text: &str) -> Result<(IpAddr, Option<u16>), String> {
    let (address, port) = match text.parse::<SocketAddr>() {
        Ok(both) => (both.ip(), Some(both.port())),
        Err(_) => {
            let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
            let address = bare.unwrap_or(text).parse();
            (address.map_err(|_| format!("`{text}` is not an address"))?, None)
        }
    };
    if address.is_unspecified() || address.is_multicast() {
        return Err(format!("{address} is not one address of this host; name one for each path"));
    }
    if port == Some(0) {
        return Err("port 0 cannot be reached; leave it out for the usual one".to_owned());
    }
    Ok((address, port))
}

/// The devices of all `--path` options, in order.
pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Vec<PathDevice>, LiveError> {
    let mut devices: Vec<PathDevice> = Vec::new();
    for text in texts {
        for item in text.split(',') {
            read_item(&mut devices, item).map_err(|why| refuse(text, &why))?;
        }
    }
    if devices.is_empty() {
        return Err(LiveError::Usage("no path: add --path dev=TUN".to_owned()));
    }
    Ok(devices)
}

fn read_item(devices: &mut Vec<PathDevice>, item: &str) -> Result<(), String> {
    match item.trim().split_once('=') {
        Some(("dev", name)) => {
            check_name(name)?;
            if devices.iter().any(|device| device.name == name) {
                return Err(format!("`{name}` is given twice"));
            }
            let (name, addresses) = (name.to_owned(), Vec::new());
            devices.push(PathDevice { name, addresses, backup: false });
        }
        Some(("addr", address)) => {
            let subnet = engine_subnet(devices, address)?;
            let device = devices.last_mut().ok_or("an address needs a device before it")?;
            device.addresses.push(subnet);
        }
        None if item.trim() == "backup" => {
            let device = devices.last_mut().ok_or("`backup` needs a device before it")?;
            device.backup = true;
        }
        Some((key, _)) => {
            return Err(format!("unknown key `{key}`; valid are dev, addr and backup"));
        }
        None => return Err(format!("`{item}` is not KEY=VALUE")),
    }
    Ok(())
}

/// An address that the engine can have and has on no other device.
fn engine_subnet(devices: &[PathDevice], text: &str) -> Result<Subnet, String> {
    let subnet: Subnet = text.parse().map_err(|()| format!("`{text}` is not an address"))?;
    if !subnet.is_of_a_host() {
        return Err(format!("{subnet} is not the address of one host"));
    }
    let known = devices.iter().flat_map(|device| &device.addresses);
    match known.into_iter().any(|known| known.address == subnet.address) {
        true => Err(format!("{} is given twice", subnet.address)),
        false => Ok(subnet),
    }
}

/// What the kernel accepts as a device's name. `%d` would be a pattern of names.
fn check_name(name: &str) -> Result<(), String> {
    let odd = |c: char| matches!(c, '/' | ':' | '%') || c.is_whitespace() || c.is_control();
    if name.is_empty() || name == "." || name == ".." || name.contains(odd) {
        return Err(format!("`{name}` cannot be a device's name"));
    }
    if name.len() > MAX_NAME {
        return Err(format!("`{name}` is longer than {MAX_NAME} characters"));
    }
    Ok(())
}

fn refuse(text: &str, why: &str) -> LiveError {
    LiveError::Usage(format!(
        "--path {text}: {why}\n  write it as dev=TUN[,addr=ADDRESS/LENGTH][,backup][,dev=TUN...]"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_their_addresses_are_read_in_order() {
        let devices = parse(["dev=tun0,addr=10.9.0.2/24,addr=fd00::2", "dev=tun1,backup"]);
        let devices = devices.expect("two devices");
        assert_eq!(devices[0].name, "tun0");
        let addresses: Vec<String> = devices[0].addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["10.9.0.2/24", "fd00::2/64"]);
        let (name, addresses) = ("tun1".to_owned(), vec![]);
        assert_eq!(devices[1], PathDevice { name, addresses, backup: true });
        assert!(!devices[0].backup);
    }

    #[test]
    fn bad_paths_are_refused_with_their_text() {
        for (text, part) in [
            ("", "not KEY=VALUE"),
            ("tun0", "not KEY=VALUE"),
            ("dev=", "cannot be"),
            ("dev=../x", "cannot be"),
            ("dev=tun%d", "cannot be"),
            ("dev=abcdefghijklmnop", "longer than 15"),
            ("dev=a,dev=a", "twice"),
            ("addr=10.0.0.1", "device before"),
            ("backup", "device before"),
            ("dev=a,addr=10.0.0.300", "is not an address"),
            ("dev=a,via=b", "unknown key"),
            ("dev=a,addr=10.0.0.2,dev=b,addr=10.0.0.2/16", "10.0.0.2 is given twice"),
            ("dev=a,addr=10.0.0.0/24", "10.0.0.0/24 is not the address of one host"),
            ("dev=a,addr=ff02::1", "ff02::1/64 is not the address of one host"),
        ] {
            let error = parse([text]).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(error.contains(&format!("--path {text}")), "{error}");
        }
        assert!(parse([]).is_err());
    }

    #[test]
    fn udp_addresses_are_read_in_order() {
        let texts = ["udp=10.0.0.1,dev=eth0", "udp=[fd00::1]:9900,mtu=9000,udp=::1"];
        let Ok(Paths::Udp(read)) = parse_any(texts) else { panic!("UDP") };
        let address = |address: &str, port, device: Option<&str>, mtu| UdpAddress {
            address: address.parse().expect("an address"),
            port,
            device: device.map(str::to_owned),
            mtu,
        };
        assert_eq!(
            read,
            [
                address("10.0.0.1", None, Some("eth0"), None),
                address("fd00::1", Some(9900), None, Some(9000)),
                address("::1", None, None, None),
            ]
        );
        assert!(matches!(parse_any(["dev=tun0"]), Ok(Paths::Devices(_))));
    }

    #[test]
    fn bad_udp_paths_are_refused_with_their_text() {
        for (text, part) in [
            ("udp=", "`` is not an address"),
            ("udp=lo", "`lo` is not an address"),
            ("udp=0.0.0.0", "not one address of this host"),
            ("udp=224.0.0.1", "not one address of this host"),
            ("udp=10.0.0.1:0", "port 0"),
            ("udp=10.0.0.1,udp=10.0.0.1", "twice"),
            ("udp=10.0.0.1,dev=a/b", "cannot be"),
            ("udp=10.0.0.1,mtu=100", "from 1280 to 65535"),
            ("udp=10.0.0.1,addr=10.0.0.2", "unknown key `addr`"),
            ("udp=10.0.0.1,backup", "not KEY=VALUE"),
        ] {
            let error = parse_any([text]).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(error.contains(&format!("--path {text}")), "{error}");
        }
        let error = parse_any(["udp=10.0.0.1", "dev=tun0"]).expect_err("both kinds").to_string();
        assert!(error.contains("either UDP or TUN"), "{error}");
    }
}
