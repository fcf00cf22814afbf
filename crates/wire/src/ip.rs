//! IPv4 (RFC 791) and IPv6 (RFC 8200) datagrams as bytes: emit and parse.
//!
//! What is emitted is an atomic datagram (RFC 6864), DF set, or an IPv4 fragment: no options, DSCP
//! and flow label 0. Parsing skips IPv4 options and IPv6 hop-by-hop and destination options,
//! ignores DSCP and flow label, and refuses fragments of IPv6, and in captures those of IPv4, too.
//! Bytes beyond the length a header names are padding of the link below and ignored. Transport
//! headers are left to their own modules; their checksums are filled in and verified here, because
//! they cover the addresses.

use crate::checksum::Checksum;
use crate::error::{Layer, ParseError, at_least, be16};
use crate::sctp::{UdpPorts, crc};
use crate::{Body, Fragment, Icmp, Packet, Payload, SctpPacket, TcpSegment, UdpDatagram};
use bytes::Bytes;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const HOP_BY_HOP: u8 = 0;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const ENCRYPTION: u8 = 50;
const AUTHENTICATION: u8 = 51;
const ICMPV6: u8 = 58;
const DESTINATION_OPTIONS: u8 = 60;
const SCTP: u8 = 132;
const MOBILITY: u8 = 135;

/// The longest datagram both families can name.
const MAX_LEN: u32 = 65_535;

/// How much a wrong transport checksum matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// It is damage.
    Strict,
    /// The sender's hardware may not have filled it in yet.
    Captured,
    /// That of TCP or UDP is not looked at: a device verified it or has yet to fill it in.
    Device,
}

/// Who fills in the checksum of a TCP segment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Summing {
    Here,
    /// The field has the sum of the pseudo header.
    Device,
}

/// Fields of the IP header that concern the transport unit behind it.
struct Envelope<'a> {
    src: IpAddr,
    dst: IpAddr,
    hop_limit: u8,
    ecn: u8,
    protocol: u8,
    /// Identification, and flags with offset, of an IPv4 fragment.
    fragment: Option<(u16, u16)>,
    unit: &'a [u8],
}

impl Packet {
    /// Append the datagram to `out`, checksums filled in. A `corrupted` one gets a wrong checksum.
    ///
    /// # Panics
    /// If the addresses are of two families, or of IPv6 in a fragment, the TCP options take more
    /// than 40 bytes or the datagram more than 65,535. Nothing that `parse` gives does.
    pub fn emit(&self, out: &mut Vec<u8>) {
        self.emit_summed(out, Summing::Here);
    }

    /// Append the datagram to `out`, the checksum of an intact TCP segment left to a device that
    /// adds the sum from the first byte of the segment to the end (VIRTIO_NET_HDR_F_NEEDS_CSUM).
    /// Returns the offset of that byte in the datagram; `None` if all checksums are filled in.
    ///
    /// # Panics
    /// As `emit`.
    pub fn emit_to_device(&self, out: &mut Vec<u8>) -> Option<u32> {
        let Body::Tcp(segment) = &self.body else {
            self.emit(out);
            return None;
        };
        if self.corrupted {
            self.emit(out);
            return None;
        }
        self.emit_summed(out, Summing::Device);
        Some(self.wire_len() - segment.wire_len())
    }

    fn emit_summed(&self, out: &mut Vec<u8>, summing: Summing) {
        if let Body::Opaque(datagram) = &self.body {
            return datagram.emit(self.ecn, out);
        }
        let len = self.wire_len();
        assert!(len <= MAX_LEN, "a datagram of {len} bytes");
        out.reserve(len as usize);
        match (self.src(), self.dst()) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => self.emit_ipv4(src, dst, len as u16, out),
            (IpAddr::V6(src), IpAddr::V6(dst)) if !matches!(self.body, Body::Fragment(_)) => {
                self.emit_ipv6(src, dst, len as u16, out);
            }
            (src, dst) => panic!("a datagram from {src} to {dst}"),
        }
        self.emit_unit(out, summing);
    }

    /// The datagram in `bytes`, every checksum verified.
    pub fn parse(bytes: &[u8]) -> Result<Packet, ParseError> {
        parse(bytes, Trust::Strict)
    }

    /// The datagram in `bytes`, which were captured on a host: checksums that its hardware had yet
    /// to fill in are taken as right, other wrong ones mark the packet `corrupted`.
    pub fn parse_captured(bytes: &[u8]) -> Result<Packet, ParseError> {
        parse(bytes, Trust::Captured)
    }

    /// The datagram in `bytes`, which a device passed without a checksum of TCP or UDP, because it
    /// verified it or the packet never left this host.
    pub fn parse_from_device(bytes: &[u8]) -> Result<Packet, ParseError> {
        parse(bytes, Trust::Device)
    }

    /// The packet, emitted and parsed. Equal to `self`, unless it is `corrupted`, which gives the
    /// checksum error of a receiver.
    pub fn roundtrip(&self) -> Result<Packet, ParseError> {
        let mut bytes = Vec::new();
        self.emit(&mut bytes);
        let mut packet = match self.body {
            Body::Opaque(_) => Packet::opaque(bytes)?,
            _ => Packet::parse(&bytes)?,
        };
        packet.flow = self.flow;
        if matches!(self.body, Body::Sctp(_)) {
            packet = packet.decapsulated()?;
        }
        match (&mut packet.body, &self.body) {
            (
                Body::Tcp(TcpSegment { payload, .. }),
                Body::Tcp(TcpSegment { payload: sent, .. }),
            )
            | (
                Body::Udp(UdpDatagram { payload, .. }),
                Body::Udp(UdpDatagram { payload: sent, .. }),
            ) => {
                *payload = std::mem::take(payload).reshaped_like(sent);
            }
            (Body::Fragment(parsed), Body::Fragment(sent)) => {
                parsed.payload = std::mem::take(&mut parsed.payload).reshaped_like(&sent.payload);
            }
            (Body::Sctp(parsed), Body::Sctp(sent)) => parsed.reshape_like(sent),
            _ => {}
        }
        Ok(packet)
    }

    /// The packet with the SCTP packet that its UDP datagram carries (RFC 6951 s5.3); another one
    /// as it is.
    ///
    /// # Errors
    /// If the datagram does not carry a whole SCTP packet with a right checksum.
    pub fn decapsulated(mut self) -> Result<Packet, ParseError> {
        if let Body::Udp(datagram) = &self.body {
            let mut packet = SctpPacket::parse(&datagram.payload.to_bytes())?;
            packet.udp = Some(UdpPorts { src: datagram.src_port, dst: datagram.dst_port });
            self.body = Body::Sctp(packet);
        }
        Ok(self)
    }

    /// The packet whose content of `protocol`, transport header included, was collected from
    /// fragments; the rest is as in `header`. A virtual payload stays virtual.
    ///
    /// # Errors
    /// As of `parse`; most often a wrong checksum, because fragments of two datagrams were mixed.
    pub fn reassembled(
        header: &Packet,
        protocol: u8,
        unit: &Payload,
    ) -> Result<Packet, ParseError> {
        let (src, dst) = (header.src(), header.dst());
        let body = if protocol == UDP && unit.len() >= UdpDatagram::HEADER_BYTES {
            reassembled_udp(src, dst, unit)?
        } else {
            let (hop_limit, ecn, bytes) = (header.hop_limit, header.ecn, unit.to_bytes());
            let unit = &bytes[..];
            let fragment = None;
            let envelope = Envelope { src, dst, hop_limit, ecn, protocol, fragment, unit };
            parse_unit(&envelope, Trust::Strict)?.0
        };
        let (hop_limit, ecn) = (header.hop_limit, header.ecn);
        Ok(Packet { hop_limit, ecn, ..Packet::new(src, dst, body) })
    }

    fn protocol(&self) -> u8 {
        match self.body {
            Body::Tcp(_) => TCP,
            Body::Udp(_) => UDP,
            Body::Sctp(ref packet) if packet.udp.is_some() => UDP,
            Body::Sctp(_) => SCTP,
            Body::Icmp(_) if self.is_ipv4() => ICMP,
            Body::Icmp(_) => ICMPV6,
            Body::Fragment(ref fragment) => fragment.protocol,
            Body::Opaque(ref datagram) => datagram.protocol,
        }
    }

    /// Identification, and flags with offset, of the IPv4 header (RFC 791 s3.1).
    const fn fragment_fields(&self) -> (u16, u16) {
        match &self.body {
            Body::Fragment(fragment) => (fragment.identification, fragment.flags_and_offset()),
            _ => (0, 0x4000),
        }
    }

    /// RFC 791 s3.1.
    fn emit_ipv4(&self, src: Ipv4Addr, dst: Ipv4Addr, len: u16, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0x45, self.ecn & 3]);
        out.extend_from_slice(&len.to_be_bytes());
        let (identification, flags) = self.fragment_fields();
        out.extend_from_slice(&identification.to_be_bytes());
        out.extend_from_slice(&flags.to_be_bytes());
        out.extend_from_slice(&[self.hop_limit, self.protocol(), 0, 0]);
        out.extend_from_slice(&src.octets());
        out.extend_from_slice(&dst.octets());
        let mut sum = Checksum::new();
        sum.add_bytes(&out[start..]);
        out[start + 10..start + 12].copy_from_slice(&sum.finish().to_be_bytes());
    }

    /// RFC 8200 s3.
    fn emit_ipv6(&self, src: Ipv6Addr, dst: Ipv6Addr, len: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0x60, (self.ecn & 3) << 4, 0, 0]);
        out.extend_from_slice(&(len - 40).to_be_bytes());
        out.extend_from_slice(&[self.protocol(), self.hop_limit]);
        out.extend_from_slice(&src.octets());
        out.extend_from_slice(&dst.octets());
    }

    /// Append the transport unit and fill in its checksum. The payload's share of the sum comes
    /// from its closed form, so that a parser summing the bytes checks that too.
    fn emit_unit(&self, out: &mut Vec<u8>, summing: Summing) {
        let start = out.len();
        let carrier;
        let (field, payload) = match &self.body {
            Body::Tcp(segment) => (segment.emit(out), &segment.payload),
            Body::Udp(datagram) => (datagram.emit(out), &datagram.payload),
            Body::Sctp(packet) => match packet.udp {
                None => return self.emit_sctp(packet, out),
                Some(ports) => {
                    carrier = carrier_of(packet, ports);
                    (carrier.emit(out), &carrier.payload)
                }
            },
            Body::Icmp(message) => (message.emit(!self.is_ipv4(), out), &Payload::EMPTY),
            Body::Fragment(fragment) => return self.emit_part(fragment, out),
            // Has no unit apart from the datagram, which is emitted whole.
            Body::Opaque(_) => return,
        };
        let unit = out.len() - start;
        let pseudo = match self.protocol() {
            ICMP => Checksum::new(),
            protocol => Checksum::pseudo_header(self.src(), self.dst(), protocol, unit as u32),
        };
        if summing == Summing::Device {
            let field = start + field;
            out[field..field + 2].copy_from_slice(&pseudo.fold().to_be_bytes());
            return;
        }
        let mut sum = pseudo;
        sum.add_bytes(&out[start..out.len() - payload.len() as usize]);
        sum.add_payload(payload);
        let checksum = match (sum.finish(), &self.body) {
            // Zero would mean that there is none (RFC 768); its other form sums to the same.
            (0, Body::Udp(_) | Body::Sctp(_)) => 0xFFFF,
            (checksum, _) => checksum,
        };
        let checksum = match self.corrupted {
            true => damaged(checksum, pseudo.fold()),
            false => checksum,
        };
        out[start + field..start + field + 2].copy_from_slice(&checksum.to_be_bytes());
    }

    /// Append a part, which has no checksum of its own; damage shows in the whole.
    fn emit_part(&self, fragment: &Fragment, out: &mut Vec<u8>) {
        fragment.payload.write_to(out);
        if self.corrupted
            && !fragment.payload.is_empty()
            && let Some(last) = out.last_mut()
        {
            *last ^= 1;
        }
    }

    /// Append an SCTP packet, whose checksum does not cover the addresses (RFC 9260 s6.8).
    fn emit_sctp(&self, packet: &SctpPacket, out: &mut Vec<u8>) {
        let start = out.len();
        packet.emit(out);
        if self.corrupted {
            crc::damage_checksum(&mut out[start..]);
        }
    }
}

/// The UDP datagram around an SCTP packet (RFC 6951 s5.3).
fn carrier_of(packet: &SctpPacket, ports: UdpPorts) -> UdpDatagram {
    let mut bytes = Vec::with_capacity(packet.wire_len() as usize);
    packet.emit(&mut bytes);
    UdpDatagram { src_port: ports.src, dst_port: ports.dst, payload: bytes.into() }
}

/// The checksum with one bit flipped, but not one that a capture's reader would take for a
/// checksum left to the hardware: zero, or the sum of the pseudo header.
fn damaged(checksum: u16, pseudo: u16) -> u16 {
    let wrong = [1, 2, 4].map(|bit| checksum ^ bit);
    // Of three different numbers one is neither of two.
    wrong.into_iter().find(|wrong| ![0, pseudo].contains(wrong)).unwrap_or(!checksum)
}

fn parse(bytes: &[u8], trust: Trust) -> Result<Packet, ParseError> {
    let version = bytes.first().map_or(0, |first| first >> 4);
    let envelope = match version {
        4 => open_ipv4(bytes, trust)?,
        6 => open_ipv6(bytes)?,
        _ => return Err(ParseError::Version(version)),
    };
    let (body, intact) = parse_unit(&envelope, trust)?;
    let Envelope { src, dst, hop_limit, ecn, .. } = envelope;
    let packet = Packet { hop_limit, ecn, corrupted: !intact, ..Packet::new(src, dst, body) };
    // Our layout of the TCP options may take more padding than theirs did.
    if packet.wire_len() > MAX_LEN {
        let layer = if version == 4 { Layer::Ipv4 } else { Layer::Ipv6 };
        return Err(ParseError::Length { layer, len: packet.wire_len() as usize });
    }
    Ok(packet)
}

/// RFC 791 s3.1.
fn open_ipv4(bytes: &[u8], trust: Trust) -> Result<Envelope<'_>, ParseError> {
    at_least(bytes, 20, Layer::Ipv4)?;
    let header_len = usize::from(bytes[0] & 0x0F) * 4;
    let total_len = usize::from(be16(bytes, 2));
    if header_len < 20 {
        return Err(ParseError::Length { layer: Layer::Ipv4, len: header_len });
    }
    if total_len < header_len {
        return Err(ParseError::Length { layer: Layer::Ipv4, len: total_len });
    }
    let datagram = &at_least(bytes, total_len, Layer::Ipv4)?[..total_len];
    let (header, unit) = datagram.split_at(header_len);
    let mut sum = Checksum::new();
    sum.add_bytes(header);
    let unfilled = trust == Trust::Captured && be16(header, 10) == 0;
    if sum.finish() != 0 && !unfilled {
        return Err(ParseError::Checksum(Layer::Ipv4));
    }
    // More fragments, or an offset.
    let is_part = be16(header, 6) & 0x3FFF != 0;
    if is_part && trust == Trust::Captured {
        return Err(ParseError::Fragment);
    }
    Ok(Envelope {
        src: ipv4_at(header, 12),
        dst: ipv4_at(header, 16),
        hop_limit: header[8],
        ecn: header[1] & 3,
        protocol: header[9],
        fragment: is_part.then(|| (be16(header, 4), be16(header, 6))),
        unit,
    })
}

/// RFC 8200 s3 and s4.
fn open_ipv6(bytes: &[u8]) -> Result<Envelope<'_>, ParseError> {
    at_least(bytes, 40, Layer::Ipv6)?;
    let total_len = 40 + usize::from(be16(bytes, 4));
    let datagram = &at_least(bytes, total_len, Layer::Ipv6)?[..total_len];
    let (header, mut unit) = datagram.split_at(40);
    let mut protocol = header[6];
    while matches!(protocol, HOP_BY_HOP | DESTINATION_OPTIONS) {
        at_least(unit, 8, Layer::Ipv6)?;
        let len = 8 + usize::from(unit[1]) * 8;
        at_least(unit, len, Layer::Ipv6)?;
        protocol = unit[0];
        unit = &unit[len..];
    }
    match protocol {
        FRAGMENT => return Err(ParseError::Fragment),
        ROUTING | ENCRYPTION | AUTHENTICATION | MOBILITY => {
            return Err(ParseError::ExtensionHeader(protocol));
        }
        _ => {}
    }
    Ok(Envelope {
        src: ipv6_at(header, 8),
        dst: ipv6_at(header, 24),
        hop_limit: header[7],
        ecn: (header[1] >> 4) & 3,
        protocol,
        fragment: None,
        unit,
    })
}

/// The UDP datagram in a unit of at least a header.
fn reassembled_udp(src: IpAddr, dst: IpAddr, unit: &Payload) -> Result<Body, ParseError> {
    let header = unit.prefix::<{ UdpDatagram::HEADER_BYTES as usize }>().unwrap_or_default();
    let len = UdpDatagram::length(&header, unit.len() as usize)? as u32;
    let trimmed = (len < unit.len()).then(|| unit.slice(0, len));
    let unit = trimmed.as_ref().unwrap_or(unit);
    let mut sum = Checksum::pseudo_header(src, dst, UDP, len);
    sum.add_payload(unit);
    // No checksum, which IPv4 allows (RFC 768).
    let is_absent = be16(&header, 6) == 0;
    if !is_absent && sum.finish() != 0 {
        return Err(ParseError::Checksum(Layer::Udp));
    }
    let rest = len - UdpDatagram::HEADER_BYTES;
    let payload = unit.slice(UdpDatagram::HEADER_BYTES, rest);
    let (src_port, dst_port) = (be16(&header, 0), be16(&header, 2));
    Ok(Body::Udp(UdpDatagram { src_port, dst_port, payload }))
}

/// The transport unit, and whether its checksum is right as far as it is there.
fn parse_unit(envelope: &Envelope<'_>, trust: Trust) -> Result<(Body, bool), ParseError> {
    let unit = envelope.unit;
    let v6 = envelope.src.is_ipv6();
    if let Some((identification, flags)) = envelope.fragment {
        let fragment = Fragment {
            identification,
            protocol: envelope.protocol,
            offset: (flags & 0x1FFF) * 8,
            more: flags & 0x2000 != 0,
            payload: Bytes::copy_from_slice(unit).into(),
        };
        return Ok((Body::Fragment(fragment), true));
    }
    match envelope.protocol {
        TCP => {
            at_least(unit, 20, Layer::Tcp)?;
            let intact = trust == Trust::Device || verify(envelope, unit, 16, Layer::Tcp, trust)?;
            Ok((Body::Tcp(TcpSegment::parse(unit)?), intact))
        }
        UDP => {
            let unit = UdpDatagram::trim(unit)?;
            // IPv4 allows to send without a checksum (RFC 768), IPv6 does not (RFC 8200 s8.1).
            let absent = be16(unit, 6) == 0;
            if absent && v6 && trust == Trust::Strict {
                return Err(ParseError::Checksum(Layer::Udp));
            }
            let summed = absent || trust == Trust::Device;
            let intact = summed || verify(envelope, unit, 6, Layer::Udp, trust)?;
            Ok((Body::Udp(UdpDatagram::parse(unit)), intact))
        }
        SCTP => {
            let (packet, intact) = match trust {
                Trust::Strict | Trust::Device => (SctpPacket::parse(unit)?, true),
                Trust::Captured => SctpPacket::parse_captured(unit)?,
            };
            Ok((Body::Sctp(packet), intact))
        }
        ICMP if !v6 => parse_icmp(envelope, trust),
        ICMPV6 if v6 => parse_icmp(envelope, trust),
        protocol => Err(ParseError::Protocol(protocol)),
    }
}

fn parse_icmp(envelope: &Envelope<'_>, trust: Trust) -> Result<(Body, bool), ParseError> {
    let unit = at_least(envelope.unit, 8, Layer::Icmp)?;
    let intact = verify(envelope, unit, 2, Layer::Icmp, trust)?;
    Ok((Body::Icmp(Icmp::parse(envelope.src.is_ipv6(), unit)?), intact))
}

/// Whether the checksum at `field` of the unit is right, or not filled in yet and so may be.
fn verify(
    envelope: &Envelope<'_>,
    unit: &[u8],
    field: usize,
    layer: Layer,
    trust: Trust,
) -> Result<bool, ParseError> {
    let pseudo = match envelope.protocol {
        ICMP => Checksum::new(),
        protocol => {
            Checksum::pseudo_header(envelope.src, envelope.dst, protocol, unit.len() as u32)
        }
    };
    let mut sum = pseudo;
    sum.add_bytes(unit);
    if sum.finish() == 0 {
        return Ok(true);
    }
    if trust != Trust::Captured {
        return Err(ParseError::Checksum(layer));
    }
    // What hardware completes is left zero or holds the sum of the pseudo header.
    let checksum = be16(unit, field);
    Ok(checksum == 0 || checksum == pseudo.fold())
}

fn ipv4_at(header: &[u8], at: usize) -> IpAddr {
    IpAddr::from([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

fn ipv6_at(header: &[u8], at: usize) -> IpAddr {
    let mut octets = [0; 16];
    octets.copy_from_slice(&header[at..at + 16]);
    IpAddr::from(octets)
}
