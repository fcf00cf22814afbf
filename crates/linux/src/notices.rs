//! `Notices`: what a live host reports to its user about its paths while it runs: a device that
//! went down, returned or was removed, and segments of TCP that are too large for the network
//! behind it.
//!
//! What the engine makes of these events is its own business. Each is reported once.

use crate::interface::{Interface, Port};
use std::net::IpAddr;
use wire::{Body, Icmp, Packet};

/// The smallest MTU of IPv6 (RFC 8200 s5), which IPv4 networks of today have, too.
const SAFE_MTU: u16 = 1280;
/// IP protocol number of TCP.
const TCP: u8 = 6;

/// State of a path's device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum DeviceState {
    #[default]
    Up,
    Down,
    /// Removed, which is final: a new device of its name is another one.
    Removed,
}

/// What is known of a path.
#[derive(Clone, Debug)]
struct Noted {
    name: String,
    /// A TUN device, or else an address of a device.
    is_tun: bool,
    state: DeviceState,
    /// A segment was too large for the network behind it.
    was_too_large: bool,
}

impl Noted {
    fn new(name: &str, is_tun: bool) -> Self {
        let state = DeviceState::Up;
        Noted { name: name.to_owned(), is_tun, state, was_too_large: false }
    }
}

/// Reports events of paths, by number.
pub(crate) struct Notices {
    print: Box<dyn FnMut(&str)>,
    paths: Vec<Noted>,
}

impl Notices {
    /// For the paths of these interfaces.
    pub(crate) fn new(interfaces: &[Interface], print: impl FnMut(&str) + 'static) -> Self {
        let noted = |interface: &Interface| {
            Noted::new(interface.port.name(), matches!(interface.port, Port::Tun(_)))
        };
        Notices { print: Box::new(print), paths: interfaces.iter().map(noted).collect() }
    }

    /// The device of a path is in this state now.
    pub(crate) fn on_state(&mut self, number: usize, state: DeviceState) {
        let Some(path) = self.paths.get_mut(number) else { return };
        if path.state == state || path.state == DeviceState::Removed {
            return;
        }
        path.state = state;
        let name = path.name.clone();
        let what = match state {
            DeviceState::Up => return (self.print)(&format!("{name} is up again")),
            DeviceState::Down => "is down",
            DeviceState::Removed if path.is_tun => {
                "was removed and is not used again until the next start"
            }
            DeviceState::Removed => "has no device any more",
        };
        let is_left = self.paths.iter().any(|path| path.state == DeviceState::Up);
        let rest = if is_left { "" } else { "; no path is left" };
        (self.print)(&format!("{name} {what}{rest}"));
    }

    /// A packet came in on a path whose device has this MTU and these addresses of the engine.
    pub(crate) fn on_packet(
        &mut self,
        number: usize,
        (mtu, addresses): (u32, &[IpAddr]),
        packet: &Packet,
    ) {
        let Body::Icmp(Icmp::Unreachable { code, next_hop_mtu, original }) = &packet.body else {
            return;
        };
        let Some(path) = self.paths.get_mut(number).filter(|path| !path.was_too_large) else {
            return;
        };
        let is_too_large = match packet.dst() {
            IpAddr::V4(_) => *code == 4,
            IpAddr::V6(_) => *next_hop_mtu > 0,
        };
        let is_ours = tcp_source(original).is_some_and(|source| addresses.contains(&source));
        if !is_too_large || !is_ours || u32::from(*next_hop_mtu) >= mtu {
            return;
        }
        path.was_too_large = true;
        let name = &path.name;
        let (beyond, fit) = match next_hop_mtu {
            0 => (String::new(), SAFE_MTU),
            beyond => (format!(" (MTU {beyond})"), *beyond),
        };
        (self.print)(&format!(
            "{name}: segments of {mtu} bytes are too large for the network behind it{beyond}, and \
             tcp and mptcp send no smaller ones: sudo ip link set {name} mtu {fit}, then start \
             again"
        ));
    }
}

/// The source address of a quoted datagram, if it was one of TCP.
fn tcp_source(original: &[u8]) -> Option<IpAddr> {
    match original.first()? >> 4 {
        4 if *original.get(9)? == TCP => {
            original.get(12..16)?.first_chunk::<4>().map(|bytes| IpAddr::from(*bytes))
        }
        6 if *original.get(6)? == TCP => {
            original.get(8..24)?.first_chunk::<16>().map(|bytes| IpAddr::from(*bytes))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;
    use wire::TcpSegment;

    fn notices() -> (Notices, Rc<RefCell<Vec<String>>>) {
        let lines: Rc<RefCell<Vec<String>>> = Rc::default();
        let printed = Rc::clone(&lines);
        let print = Box::new(move |line: &str| printed.borrow_mut().push(line.to_owned()));
        let names = [("tun0", true), ("tun1", true), ("udp 10.9.0.7:9899", false)];
        let paths = names.map(|(name, is_tun)| Noted::new(name, is_tun)).to_vec();
        (Notices { print, paths }, lines)
    }

    #[test]
    fn changes_of_devices_are_reported_once_and_the_last_path_as_such() {
        let (mut notices, lines) = notices();
        for (number, state) in [
            (2, DeviceState::Removed),
            (0, DeviceState::Up),
            (0, DeviceState::Down),
            (0, DeviceState::Down),
            (1, DeviceState::Down),
            (0, DeviceState::Up),
            (0, DeviceState::Down),
            (0, DeviceState::Removed),
            (0, DeviceState::Up),
            (3, DeviceState::Down),
        ] {
            notices.on_state(number, state);
        }
        assert_eq!(
            *lines.borrow(),
            [
                "udp 10.9.0.7:9899 has no device any more",
                "tun0 is down",
                "tun1 is down; no path is left",
                "tun0 is up again",
                "tun0 is down; no path is left",
                "tun0 was removed and is not used again until the next start; no path is left",
            ]
        );
    }

    /// The message of a router at the engine's end of `from` to `to`, whose link has `mtu`.
    fn too_large(from: &str, to: &str, body: Body, mtu: u16) -> Packet {
        let [from, to] = [from, to].map(|text| text.parse::<IpAddr>().expect("an address"));
        let mut original = Vec::new();
        Packet::new(from, to, body).emit(&mut original);
        let code = if from.is_ipv4() { 4 } else { 0 };
        let original = original.into();
        let message = Icmp::Unreachable { code, next_hop_mtu: mtu, original };
        Packet::new(to, from, Body::Icmp(message))
    }

    fn segment() -> Body {
        Body::Tcp(TcpSegment::default())
    }

    #[test]
    fn segments_too_large_for_the_network_are_reported_once_a_path() {
        let (mut notices, lines) = notices();
        let ours: [IpAddr; 2] = ["10.9.0.2", "fd00::2"].map(|text| text.parse().expect("one"));
        let packet = too_large("10.9.0.2", "10.8.0.1", segment(), 1400);
        notices.on_packet(0, (1400, &ours), &packet);
        notices.on_packet(0, (1500, &ours[1..]), &packet);
        let icmp = Icmp::Echo { reply: false, identifier: 0, sequence: 0, data: Vec::new().into() };
        let echo = too_large("10.9.0.2", "10.8.0.1", Body::Icmp(icmp), 1400);
        notices.on_packet(0, (1500, &ours), &echo);
        assert_eq!(*lines.borrow(), [""; 0], "not a segment of this path that is too large");
        for _ in 0..2 {
            notices.on_packet(0, (1500, &ours), &packet);
            notices.on_packet(1, (1500, &ours), &too_large("fd00::2", "fd08::1", segment(), 1300));
        }
        let rest = "and tcp and mptcp send no smaller ones: sudo ip link set";
        assert_eq!(
            *lines.borrow(),
            [
                format!(
                    "tun0: segments of 1500 bytes are too large for the network behind it (MTU \
                     1400), {rest} tun0 mtu 1400, then start again"
                ),
                format!(
                    "tun1: segments of 1500 bytes are too large for the network behind it (MTU \
                     1300), {rest} tun1 mtu 1300, then start again"
                ),
            ]
        );
    }
}
