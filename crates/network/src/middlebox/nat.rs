//! `Nat`: one outside address for all inside ones, with a port for each flow.
//!
//! Address- and port-dependent mapping and filtering (RFC 4787 s4.1, s5), the strictest kind: two
//! flows of one inside port have two outside ports, and only answers pass from outside. A TCP
//! mapping begins with a SYN from inside and ends after an idle time (RFC 5382 s5); packets without
//! a mapping are dropped silently. Packets of the other address family pass unchanged. ICMP errors
//! do not pass; their translation (RFC 5508 s4), port forwarding and hairpinning are left out.

use super::{TwoWay, Way};
use base::{Context, Duration, Instant};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{IpAddr, SocketAddr};
use wire::{Body, Ends, Flags, Icmp, Packet};

/// The first outside port; those below belong to servers (RFC 6335 s6).
const FIRST_PORT: u16 = 1024;

/// A network address and port translator. Its ports bound the number of mappings.
#[derive(Clone, Debug)]
pub struct Nat {
    outside: IpAddr,
    /// Time after which an unused mapping is removed.
    idle: Duration,
    /// By protocol and outside port.
    mappings: BTreeMap<(Protocol, u16), Mapping>,
    ports: BTreeMap<NatFlow, u16>,
    /// The port to try first for the next mapping.
    next_port: u16,
    /// When all mappings are forgotten, if that is to come.
    rebind: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Protocol {
    Tcp,
    Udp,
    /// Echo messages, whose identifier is the inside port and whose outside port is 0.
    Echo,
}

/// A flow with its inside address, not translated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct NatFlow {
    protocol: Protocol,
    inside: SocketAddr,
    remote: SocketAddr,
}

#[derive(Clone, Copy, Debug)]
struct Mapping {
    flow: NatFlow,
    used: Instant,
}

impl Nat {
    /// `idle` is the time after which an unused mapping is removed; Linux and RFC 5382 s5 keep
    /// established connections for hours.
    pub const fn new(outside: IpAddr, idle: Duration) -> Self {
        Nat {
            outside,
            idle,
            mappings: BTreeMap::new(),
            ports: BTreeMap::new(),
            next_port: FIRST_PORT,
            rebind: None,
        }
    }

    /// Forgets all mappings at this time, as after a restart: flows that may begin in the middle
    /// get other ports.
    #[must_use]
    pub const fn rebinding(mut self, at: Option<Instant>) -> Self {
        self.rebind = at;
        self
    }

    fn outward(&mut self, now: Instant, packet: &mut Packet) -> Option<()> {
        let (protocol, src_port, dst_port) = ports(&packet.body)?;
        let inside = SocketAddr::new(packet.src(), src_port);
        let remote = SocketAddr::new(packet.dst(), dst_port);
        let flow = NatFlow { protocol, inside, remote };
        let port = match self.port_of(now, &flow) {
            Some(port) => port,
            None if may_begin(&packet.body) => self.begin(now, flow)?,
            None => return None,
        };
        packet.ends = Ends::new(self.outside, packet.dst());
        set_source(&mut packet.body, port);
        Some(())
    }

    fn inward(&mut self, now: Instant, packet: &mut Packet) -> Option<()> {
        let (protocol, src_port, dst_port) = ports(&packet.body)?;
        let (port, src_port) = match protocol {
            Protocol::Echo => (src_port, 0),
            Protocol::Tcp | Protocol::Udp => (dst_port, src_port),
        };
        self.forget_if_idle(now, (protocol, port));
        let mapping = self.mappings.get_mut(&(protocol, port))?;
        if packet.dst() != self.outside
            || mapping.flow.remote != SocketAddr::new(packet.src(), src_port)
        {
            return None;
        }
        mapping.used = now;
        packet.ends = Ends::new(packet.src(), mapping.flow.inside.ip());
        set_destination(&mut packet.body, mapping.flow.inside.port());
        Some(())
    }

    /// The outside port of a flow that has one.
    fn port_of(&mut self, now: Instant, flow: &NatFlow) -> Option<u16> {
        let port = *self.ports.get(flow)?;
        self.forget_if_idle(now, (flow.protocol, port));
        self.mappings.get_mut(&(flow.protocol, port))?.used = now;
        Some(port)
    }

    /// A mapping for a new flow; `None` if no port is free.
    fn begin(&mut self, now: Instant, flow: NatFlow) -> Option<u16> {
        for _ in FIRST_PORT..=u16::MAX {
            let port = self.next_port;
            self.next_port = port.checked_add(1).unwrap_or(FIRST_PORT);
            let key = (flow.protocol, port);
            self.forget_if_idle(now, key);
            if let Entry::Vacant(free) = self.mappings.entry(key) {
                free.insert(Mapping { flow, used: now });
                self.ports.insert(flow, port);
                return Some(port);
            }
        }
        None
    }

    fn forget_if_idle(&mut self, now: Instant, key: (Protocol, u16)) {
        let Some(mapping) = self.mappings.get(&key) else { return };
        if now >= mapping.used + self.idle {
            self.ports.remove(&mapping.flow);
            self.mappings.remove(&key);
        }
    }
}

impl TwoWay for Nat {
    fn handle(
        &mut self,
        cx: &mut Context<'_>,
        way: Way,
        mut packet: Box<Packet>,
        out: &mut Vec<Box<Packet>>,
    ) {
        if self.rebind.take_if(|at| *at <= cx.now).is_some() {
            self.mappings.clear();
            self.ports.clear();
        }
        let concerned = packet.is_ipv4() == self.outside.is_ipv4();
        let passes = match way {
            _ if !concerned => Some(()),
            Way::Outward => self.outward(cx.now, &mut packet),
            Way::Inward => self.inward(cx.now, &mut packet),
        };
        if passes.is_some() {
            out.push(packet);
        }
    }
}

/// The flow of a packet between two hosts: protocol, source port, destination port.
const fn ports(body: &Body) -> Option<(Protocol, u16, u16)> {
    match body {
        Body::Tcp(segment) => Some((Protocol::Tcp, segment.src_port, segment.dst_port)),
        Body::Udp(datagram) => Some((Protocol::Udp, datagram.src_port, datagram.dst_port)),
        Body::Sctp(packet) => match packet.udp {
            Some(ports) => Some((Protocol::Udp, ports.src, ports.dst)),
            // Native SCTP does not pass (RFC 6951 s3.1).
            None => None,
        },
        Body::Icmp(Icmp::Echo { identifier, .. }) => Some((Protocol::Echo, *identifier, 0)),
        // Later fragments have no ports, and fragments are not put together here.
        Body::Fragment(_) => None,
        Body::Icmp(Icmp::Unreachable { .. }) | Body::Opaque(_) => None,
    }
}

/// Whether a packet from inside creates a mapping.
const fn may_begin(body: &Body) -> bool {
    match body {
        Body::Tcp(segment) => {
            segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK)
        }
        Body::Udp(_) => true,
        Body::Sctp(packet) => packet.udp.is_some(),
        Body::Icmp(icmp) => matches!(icmp, Icmp::Echo { reply: false, .. }),
        Body::Fragment(_) | Body::Opaque(_) => false,
    }
}

const fn set_source(body: &mut Body, port: u16) {
    match body {
        Body::Tcp(segment) => segment.src_port = port,
        Body::Udp(datagram) => datagram.src_port = port,
        Body::Sctp(packet) => {
            if let Some(ports) = &mut packet.udp {
                ports.src = port;
            }
        }
        Body::Icmp(Icmp::Echo { identifier, .. }) => *identifier = port,
        Body::Icmp(Icmp::Unreachable { .. }) | Body::Fragment(_) | Body::Opaque(_) => {}
    }
}

const fn set_destination(body: &mut Body, port: u16) {
    match body {
        Body::Tcp(segment) => segment.dst_port = port,
        Body::Udp(datagram) => datagram.dst_port = port,
        Body::Sctp(packet) => {
            if let Some(ports) = &mut packet.udp {
                ports.dst = port;
            }
        }
        Body::Icmp(Icmp::Echo { identifier, .. }) => *identifier = port,
        Body::Icmp(Icmp::Unreachable { .. }) | Body::Fragment(_) | Body::Opaque(_) => {}
    }
}
