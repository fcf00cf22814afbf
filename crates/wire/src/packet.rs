//! `Packet`: an IP datagram as a value, with the transport unit it carries.
//!
//! Its bytes are left to `ip` (emit and parse).

use crate::sctp::{Chunk, Chunks};
use crate::{Fragment, Icmp, Opaque, SctpPacket, TcpSegment, UdpDatagram, spare};
use std::hint::cold_path;
use std::net::{IpAddr, Ipv4Addr};

/// An IPv4 or IPv6 datagram. Source and destination are of one family. At most 128 bytes, because
/// full queues have most of the memory of a world.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Source and destination address.
    pub ends: Ends,
    /// Time to live or hop limit.
    pub hop_limit: u8,
    /// The two ECN bits (RFC 3168): 0 not capable, 1 and 2 capable, 3 congestion experienced.
    pub ecn: u8,
    /// The payload was damaged on a link: the mark of a flipped bit in a virtual payload. A
    /// receiver must treat the checksum as wrong. Not on the wire.
    pub corrupted: bool,
    /// The flow of the sending host, for the notification of its departure. Not on the wire.
    pub flow: u32,
    /// What the link notes of it that carries it.
    pub note: Note,
    /// The transport unit.
    pub body: Body,
}

/// A number that a link notes of a packet. Not on the wire and no part of what the packet is: equal
/// to any other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Note(pub u64);

impl PartialEq for Note {
    fn eq(&self, _: &Note) -> bool {
        true
    }
}

impl Eq for Note {}

/// Source and destination address. Those of IPv6 are boxed: they take 32 bytes, which the packets
/// of IPv4 would have for nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ends(Addresses);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Addresses {
    /// `Ipv4Addr::to_bits`: four bytes each at any place take three times the instructions to copy.
    V4(u32, u32),
    /// Not both of IPv4.
    Other(Box<(IpAddr, IpAddr)>),
}

impl Ends {
    /// From `src` to `dst`.
    #[inline]
    pub fn new(src: IpAddr, dst: IpAddr) -> Ends {
        Ends(match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => Addresses::V4(src.to_bits(), dst.to_bits()),
            other => Addresses::Other(Box::new(other)),
        })
    }

    /// Source and destination, if both are of IPv4.
    #[inline]
    pub const fn as_v4(&self) -> Option<(Ipv4Addr, Ipv4Addr)> {
        match self.0 {
            Addresses::V4(src, dst) => Some((Ipv4Addr::from_bits(src), Ipv4Addr::from_bits(dst))),
            Addresses::Other(_) => None,
        }
    }
}

/// What an IP datagram carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// A TCP segment.
    Tcp(TcpSegment),
    /// A UDP datagram.
    Udp(UdpDatagram),
    /// An SCTP packet, in UDP if it has the ports for that.
    Sctp(SctpPacket),
    /// An ICMP or ICMPv6 message, by the family of the addresses.
    Icmp(Icmp),
    /// A part of an IPv4 datagram.
    Fragment(Fragment),
    /// A datagram that is not parsed; boxed, since simulations have none.
    Opaque(Box<Opaque>),
}

/// The usual hop limit.
const HOPS: u8 = 64;

/// Bytes of a UDP header around an SCTP packet (RFC 6951 s5.1).
const UDP_HEADER: u32 = 8;

impl Body {
    /// Length of the datagram with this body and an IP header of `ip` bytes.
    #[inline(never)]
    fn wire_len_of_others(&self, ip: u32) -> u32 {
        let body = match self {
            Body::Tcp(segment) => segment.wire_len(),
            Body::Udp(datagram) => datagram.wire_len(),
            Body::Sctp(packet) => match packet.udp {
                None => packet.wire_len(),
                Some(_) => UDP_HEADER + packet.wire_len(),
            },
            Body::Icmp(message) => message.wire_len(),
            Body::Fragment(fragment) => fragment.payload.len(),
            Body::Opaque(datagram) => return datagram.len(),
        };
        ip + body
    }

    /// IP protocol, source port and destination port: what distinguishes flows between two
    /// addresses. Ports are 0 where there are none, as in all fragments, and the protocol is 1 for
    /// ICMPv6, too.
    pub fn flow(&self) -> (u8, u16, u16) {
        match self {
            Body::Tcp(segment) => (6, segment.src_port, segment.dst_port),
            Body::Udp(datagram) => (17, datagram.src_port, datagram.dst_port),
            Body::Sctp(packet) => match packet.udp {
                Some(ports) => (17, ports.src, ports.dst),
                None => (132, packet.src_port, packet.dst_port),
            },
            Body::Icmp(_) => (1, 0, 0),
            Body::Fragment(fragment) => (fragment.protocol, 0, 0),
            Body::Opaque(datagram) => {
                let (src, dst) = datagram.ports();
                (datagram.protocol, src, dst)
            }
        }
    }
}

impl Packet {
    /// A datagram from `src` to `dst` with the usual hop limit.
    #[inline]
    pub fn new(src: IpAddr, dst: IpAddr, body: Body) -> Self {
        Packet::between(Ends::new(src, dst), body)
    }

    /// The same between these ends.
    #[inline]
    pub const fn between(ends: Ends, body: Body) -> Self {
        Packet { ends, hop_limit: HOPS, ecn: 0, corrupted: false, flow: 0, note: Note(0), body }
    }

    /// Drops the packet. The box of one of TCP or SCTP is kept for the next ones.
    // Half of what `drop` takes, which is made for every body.
    #[inline(always)]
    pub fn discard(mut self: Box<Packet>) {
        if let Body::Tcp(TcpSegment { payload, options, .. }) = &mut self.body {
            drop(std::mem::take(payload));
            drop(std::mem::take(&mut options.sack));
            drop(std::mem::take(&mut options.mptcp.rare));
            spare::keep(self);
        } else {
            self.discard_other();
        }
    }

    /// The same but for TCP: a call, as in line it would take registers there.
    #[inline(never)]
    fn discard_other(mut self: Box<Packet>) {
        match &mut self.body {
            Body::Sctp(packet) => {
                packet.chunks.discard();
                spare::keep(self);
            }
            _ => {
                cold_path();
                drop(self);
            }
        }
    }

    /// A box for a packet, with the rest of one that was discarded.
    #[inline]
    pub fn spare() -> Box<Packet> {
        spare::take()
    }

    /// Makes a spare packet one with this segment.
    #[inline(always)]
    pub fn fill(&mut self, ends: Ends, flow: u32, segment: TcpSegment) {
        (self.ends, self.flow) = (ends, flow);
        self.fill_body(Body::Tcp(segment));
    }

    /// Makes a spare packet one of SCTP with this chunk. Ports, tag, ends and flow are left to set.
    #[inline(always)]
    pub fn fill_sctp(&mut self, chunk: Chunk) {
        let chunks = Chunks::one(chunk);
        self.fill_body(Body::Sctp(SctpPacket { chunks, ..SctpPacket::default() }));
    }

    #[inline(always)]
    fn fill_body(&mut self, body: Body) {
        (self.hop_limit, self.ecn, self.corrupted) = (HOPS, 0, false);
        // What was discarded owns nothing: to ask for it takes as long as to write the packet.
        std::mem::forget(std::mem::replace(&mut self.body, body));
    }

    /// Source address.
    #[inline]
    pub fn src(&self) -> IpAddr {
        match &self.ends.0 {
            Addresses::V4(src, _) => Ipv4Addr::from_bits(*src).into(),
            Addresses::Other(ends) => ends.0,
        }
    }

    /// Destination address.
    #[inline]
    pub fn dst(&self) -> IpAddr {
        match &self.ends.0 {
            Addresses::V4(_, dst) => Ipv4Addr::from_bits(*dst).into(),
            Addresses::Other(ends) => ends.1,
        }
    }

    /// Whether the source is an IPv4 address.
    #[inline]
    pub fn is_ipv4(&self) -> bool {
        match &self.ends.0 {
            Addresses::V4(..) => true,
            Addresses::Other(ends) => ends.0.is_ipv4(),
        }
    }

    /// Length of the datagram in bytes, IP header included, no link header.
    #[inline]
    pub fn wire_len(&self) -> u32 {
        let ip = if self.is_ipv4() { 20 } else { 40 };
        // Without a jump table and its registers for what is rare.
        match &self.body {
            Body::Tcp(segment) => ip + segment.wire_len(),
            Body::Sctp(packet) if packet.udp.is_none() => ip + packet.wire_len(),
            other => other.wire_len_of_others(ip),
        }
    }

    /// Payload bytes of the transport unit; of a fragment, all bytes of its part.
    #[inline]
    pub fn payload_len(&self) -> u32 {
        match &self.body {
            Body::Tcp(segment) => segment.payload.len(),
            other => other.payload_len(),
        }
    }
}

impl Body {
    /// As `Packet::payload_len`, which asks for TCP first: a jump less.
    fn payload_len(&self) -> u32 {
        if let Body::Sctp(packet) = self {
            return packet.payload_len();
        }
        match self {
            Body::Tcp(segment) => segment.payload.len(),
            Body::Udp(datagram) => datagram.payload.len(),
            Body::Sctp(packet) => packet.payload_len(),
            Body::Fragment(fragment) => fragment.payload.len(),
            Body::Icmp(_) | Body::Opaque(_) => 0,
        }
    }
}
