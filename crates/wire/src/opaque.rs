//! `Opaque`: an IP datagram as bytes, for links that carry traffic of other programs.
//!
//! Options, fragments and unknown protocols pass unchanged. Only the fields that a link needs are
//! read: addresses, ECN bits, and the ports that identify flows. A link changes the real bytes:
//! congestion marks (RFC 3168) with an updated header checksum (RFC 1624), damage as one flipped
//! bit after the IP header. Parsing datagrams is left to `ip`.

use crate::error::{Layer, ParseError, at_least, be16};
use crate::{Body, Packet};
use std::net::IpAddr;

const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;
/// Protocols whose units begin with two ports.
const WITH_PORTS: [u8; 3] = [TCP, UDP, SCTP];

/// A datagram of at least an IP header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opaque {
    bytes: Vec<u8>,
    /// The IP protocol, or IPv6's next header.
    pub protocol: u8,
    /// Where the IP header ends, at most the end of the bytes.
    unit: usize,
}

impl Packet {
    /// Parse the fields of `bytes` that a link needs.
    ///
    /// # Errors
    /// If there is no whole IP header.
    pub fn opaque(bytes: Vec<u8>) -> Result<Packet, ParseError> {
        let version = bytes.first().map_or(0, |first| first >> 4);
        match version {
            4 => at_least(&bytes, 20, Layer::Ipv4).map(drop)?,
            6 => at_least(&bytes, 40, Layer::Ipv6).map(drop)?,
            _ => return Err(ParseError::Version(version)),
        }
        let (src, dst, hop_limit, ecn, protocol, header) = if version == 4 {
            let header = usize::from(bytes[0] & 0x0F) * 4;
            (ipv4(&bytes, 12), ipv4(&bytes, 16), bytes[8], bytes[1] & 3, bytes[9], header)
        } else {
            let ecn = (bytes[1] >> 4) & 3;
            (ipv6(&bytes, 8), ipv6(&bytes, 24), bytes[7], ecn, bytes[6], 40)
        };
        let unit = header.min(bytes.len());
        let body = Body::Opaque(Box::new(Opaque { bytes, protocol, unit }));
        Ok(Packet { hop_limit, ecn, ..Packet::new(src, dst, body) })
    }
}

impl Opaque {
    /// Bytes, IP header included.
    pub fn len(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
    }

    /// Never: there is an IP header.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Source and destination port. Zeros for unknown protocols and for fragments other than the
    /// first, which have other bytes there.
    pub fn ports(&self) -> (u16, u16) {
        let is_ipv4 = self.bytes[0] >> 4 == 4;
        let is_later_fragment = is_ipv4 && be16(&self.bytes, 6) & 0x1FFF != 0;
        let unit = &self.bytes[self.unit..];
        if is_later_fragment || !WITH_PORTS.contains(&self.protocol) || unit.len() < 4 {
            return (0, 0);
        }
        (be16(unit, 0), be16(unit, 2))
    }

    /// Flip the bit after the IP header that the uniform `draw` selects.
    pub fn flip_bit(&mut self, draw: u64) {
        let unit = &mut self.bytes[self.unit..];
        if !unit.is_empty() {
            let bit = draw % (unit.len() as u64 * 8);
            unit[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
    }

    /// Append the datagram to `out`, with these ECN bits.
    pub fn emit(&self, ecn: u8, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        mark(&mut out[start..], ecn & 3);
    }
}

/// Write the ECN bits; nothing changes if they are set already.
fn mark(bytes: &mut [u8], ecn: u8) {
    if bytes[0] >> 4 == 6 {
        bytes[1] = (bytes[1] & !0x30) | ecn << 4;
        return;
    }
    let before = be16(bytes, 0);
    bytes[1] = (bytes[1] & !3) | ecn;
    let after = be16(bytes, 0);
    if before != after {
        // RFC 1624 s3, equation 3.
        let sum = u32::from(!be16(bytes, 10)) + u32::from(!before) + u32::from(after);
        let sum = (sum & 0xFFFF) + (sum >> 16);
        let sum = (sum & 0xFFFF) + (sum >> 16);
        bytes[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
}

fn ipv4(bytes: &[u8], at: usize) -> IpAddr {
    IpAddr::from([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn ipv6(bytes: &[u8], at: usize) -> IpAddr {
    let mut octets = [0; 16];
    octets.copy_from_slice(&bytes[at..at + 16]);
    IpAddr::from(octets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Checksum, Icmp, Payload, UdpDatagram};
    use proptest::prelude::*;

    fn udp(v6: bool) -> Vec<u8> {
        let address = |last: u8| match v6 {
            true => IpAddr::from([0xFD00, 0, 0, 0, 0, 0, 0, last.into()]),
            false => IpAddr::from([10, 0, 0, last]),
        };
        let payload = Payload::from(vec![7u8; 100]);
        let body = Body::Udp(UdpDatagram { src_port: 4000, dst_port: 53, payload });
        let mut bytes = Vec::new();
        Packet::new(address(1), address(2), body).emit(&mut bytes);
        bytes
    }

    fn emitted(packet: &Packet) -> Vec<u8> {
        let mut bytes = Vec::new();
        packet.emit(&mut bytes);
        bytes
    }

    fn ports(packet: &Packet) -> (u16, u16) {
        match &packet.body {
            Body::Opaque(datagram) => datagram.ports(),
            _ => (0, 0),
        }
    }

    proptest! {
        #[test]
        fn any_bytes_behind_an_ip_header_come_out_as_they_went_in(
            v6: bool,
            rest in proptest::collection::vec(any::<u8>(), 40..200),
        ) {
            let mut bytes = rest;
            bytes[0] = (bytes[0] & 0x0F) | if v6 { 0x60 } else { 0x40 };
            let packet = Packet::opaque(bytes.clone()).unwrap();
            prop_assert_eq!(packet.wire_len() as usize, bytes.len());
            ports(&packet);
            prop_assert_eq!(emitted(&packet), bytes);
        }
    }

    #[test]
    fn what_is_no_ip_datagram_is_refused() {
        assert_eq!(Packet::opaque(vec![]), Err(ParseError::Version(0)));
        assert_eq!(Packet::opaque(vec![0x50; 60]), Err(ParseError::Version(5)));
        assert!(Packet::opaque(vec![0x45; 19]).is_err());
        assert!(Packet::opaque(vec![0x60; 39]).is_err());
    }

    #[test]
    fn flow_is_read_as_from_a_parsed_packet() {
        for v6 in [false, true] {
            let opaque = Packet::opaque(udp(v6)).unwrap();
            let parsed = Packet::parse(&udp(v6)).unwrap();
            assert_eq!((opaque.src(), opaque.dst()), (parsed.src(), parsed.dst()));
            assert_eq!(opaque.wire_len(), parsed.wire_len());
            assert_eq!(ports(&opaque), (4000, 53));
            assert_eq!(opaque.roundtrip(), Ok(opaque));
        }
    }

    #[test]
    fn ports_are_read_behind_options_and_not_in_later_fragments() {
        let mut bytes = udp(false);
        bytes[0] = 0x46;
        bytes.splice(20..20, [1, 1, 1, 0]);
        assert_eq!(ports(&Packet::opaque(bytes).unwrap()), (4000, 53));
        let mut bytes = udp(false);
        bytes[7] = 100;
        assert_eq!(ports(&Packet::opaque(bytes).unwrap()), (0, 0));
        let mut bytes = Vec::new();
        let echo = Icmp::Echo { reply: false, identifier: 9, sequence: 1, data: vec![].into() };
        Packet::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), Body::Icmp(echo)).emit(&mut bytes);
        assert_eq!(ports(&Packet::opaque(bytes).unwrap()), (0, 0));
    }

    #[test]
    fn marked_datagram_has_a_right_header_checksum() {
        for v6 in [false, true] {
            for ecn in 0..4 {
                let mut packet = Packet::opaque(udp(v6)).unwrap();
                packet.ecn = ecn;
                let marked = Packet::parse(&emitted(&packet)).expect("right checksums");
                assert_eq!(marked.ecn, ecn);
            }
        }
        let mut sum = Checksum::new();
        sum.add_bytes(&udp(false)[..20]);
        assert_eq!(sum.finish(), 0);
    }

    #[test]
    fn flipped_bit_breaks_the_transport_checksum_and_nothing_else() {
        for draw in [0, 63, 64, 500, u64::MAX] {
            let mut packet = Packet::opaque(udp(false)).unwrap();
            let Body::Opaque(datagram) = &mut packet.body else { panic!("an opaque one") };
            datagram.flip_bit(draw);
            let after = emitted(&packet);
            let differ =
                udp(false).iter().zip(&after).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
            assert_eq!(differ, 1, "{draw}");
            assert_eq!(udp(false)[..20], after[..20]);
            assert!(Packet::parse(&after).is_err(), "{draw}");
        }
    }
}
