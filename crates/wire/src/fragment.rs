//! `Fragment`: a part of an IPv4 datagram (RFC 791 s3.2), and how a datagram becomes fragments.
//!
//! Only UDP datagrams are split: TCP and SCTP choose the size of their packets. Collecting the
//! fragments of a datagram is left to hosts, their bytes to `ip`. IPv6 fragments are not supported.

use crate::{Body, Checksum, Packet, Payload, UdpDatagram};
use std::net::IpAddr;

/// Bytes of an IPv4 header without options.
const IPV4_HEADER: u32 = 20;
/// The unit of offsets, in bytes; every fragment but the last is a multiple of it.
const UNIT: u32 = 8;
/// IP protocol number of UDP.
const UDP: u8 = 17;

/// A part of what an IPv4 datagram carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// The same in all fragments of a datagram.
    pub identification: u16,
    /// IP protocol of the datagram.
    pub protocol: u8,
    /// Where the part begins in the content of the datagram, in bytes: a multiple of 8, at most
    /// 65,528.
    pub offset: u16,
    /// Later parts follow (flag MF).
    pub more: bool,
    /// The part, transport header included.
    pub payload: Payload,
}

impl Fragment {
    /// The field of flags and offset; DF is not set.
    pub(crate) const fn flags_and_offset(&self) -> u16 {
        ((self.more as u16) << 13) | (self.offset / UNIT as u16)
    }

    /// Where the part ends in the content of the datagram, in bytes; may be beyond what a datagram
    /// can have.
    pub fn end(&self) -> u32 {
        u32::from(self.offset) + self.payload.len()
    }
}

impl Packet {
    /// The packets of at most `mtu` bytes that carry this one: fragments of an IPv4 packet with a
    /// longer UDP datagram, otherwise the packet itself. Each fragment carries as many bytes as
    /// fit; `identification` must not be used for other datagrams between these hosts for as long
    /// as their fragments may be on the way (RFC 6864 s4.1).
    pub fn fragmented(self, mtu: u32, identification: u16) -> Vec<Packet> {
        let room = mtu.saturating_sub(IPV4_HEADER) / UNIT * UNIT;
        let is_split = self.is_ipv4() && room > 0 && self.wire_len() > mtu;
        let (src, dst, ends) = (self.src(), self.dst(), self.ends.clone());
        let datagram = match self.body {
            Body::Udp(datagram) if is_split => datagram,
            body => return vec![Packet { body, ..self }],
        };
        let units = cut(unit((src, dst), datagram), room);
        let mut offset = 0;
        let last = units.len() - 1;
        let part = |(number, payload): (usize, Payload)| {
            let len = payload.len();
            let fragment = Fragment {
                identification,
                protocol: UDP,
                // The content of a datagram has at most 65,515 bytes.
                offset: offset as u16,
                more: number < last,
                payload,
            };
            offset += len;
            Packet { ends: ends.clone(), body: Body::Fragment(fragment), ..self }
        };
        units.into_iter().enumerate().map(part).collect()
    }
}

/// A UDP datagram with its header as real bytes, checksum included.
fn unit((src, dst): (IpAddr, IpAddr), datagram: UdpDatagram) -> Payload {
    let mut header = Vec::with_capacity(UdpDatagram::HEADER_BYTES as usize);
    let field = datagram.emit_header(&mut header);
    let mut sum = Checksum::pseudo_header(src, dst, UDP, datagram.wire_len());
    sum.add_bytes(&header);
    sum.add_payload(&datagram.payload);
    // Zero would mean that there is none (RFC 768).
    let checksum = Some(sum.finish()).filter(|checksum| *checksum != 0).unwrap_or(0xFFFF);
    header[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    [header.into(), datagram.payload].into_iter().collect()
}

/// A payload in parts of `room` bytes, the last one shorter.
fn cut(payload: Payload, room: u32) -> Vec<Payload> {
    let mut parts = Vec::with_capacity(payload.len().div_ceil(room) as usize);
    let (mut part, mut left) = (Vec::new(), room);
    for mut piece in payload.into_pieces() {
        while piece.len() > left {
            let rest = piece.slice(left, piece.len() - left);
            part.push(piece.slice(0, left));
            parts.push(Payload::from_pieces(std::mem::take(&mut part)));
            (piece, left) = (rest, room);
        }
        left -= piece.len();
        part.push(piece);
        if left == 0 {
            parts.push(Payload::from_pieces(std::mem::take(&mut part)));
            left = room;
        }
    }
    if !part.is_empty() {
        parts.push(Payload::from_pieces(part));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ends, ParseError};

    fn datagram(len: u32) -> Packet {
        let payload = Payload::virtual_range(3, 7, len);
        let body = Body::Udp(UdpDatagram { src_port: 4000, dst_port: 9, payload });
        let mut packet = Packet::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), body);
        (packet.ecn, packet.hop_limit) = (2, 9);
        packet
    }

    fn fragments(packet: &Packet, mtu: u32) -> Vec<Fragment> {
        let parts = packet.clone().fragmented(mtu, 77);
        let of = |part: Packet| match part.body {
            Body::Fragment(fragment) => fragment,
            other => panic!("{other:?}"),
        };
        parts.into_iter().map(of).collect()
    }

    fn whole(parts: &[Fragment]) -> Payload {
        parts.iter().map(|part| part.payload.clone()).collect()
    }

    /// 000 s4.4: frames of 5000 bytes over Ethernet.
    #[test]
    fn frame_of_5000_bytes_has_four_fragments() {
        let parts = fragments(&datagram(5000), 1500);
        let places: Vec<(u16, u32, bool)> =
            parts.iter().map(|part| (part.offset, part.payload.len(), part.more)).collect();
        let expected =
            [(0, 1480, true), (1480, 1480, true), (2960, 1480, true), (4440, 568, false)];
        assert_eq!(places, expected);
        let packets = datagram(5000).fragmented(1500, 77);
        assert_eq!(
            packets.iter().map(Packet::wire_len).collect::<Vec<_>>(),
            [1500, 1500, 1500, 588]
        );
        assert!(packets.iter().all(|part| (part.ecn, part.hop_limit) == (2, 9)));
    }

    #[test]
    fn packet_that_fits_is_not_split() {
        assert_eq!(datagram(1472).fragmented(1500, 1), [datagram(1472)]);
        assert_eq!(fragments(&datagram(1473), 1500).len(), 2);
        let v6: [IpAddr; 2] = [[0xFD00, 0, 0, 0, 0, 0, 0, 1].into(), [0xFD00; 8].into()];
        let v6 = Packet { ends: Ends::new(v6[0], v6[1]), ..datagram(5000) };
        assert_eq!(v6.clone().fragmented(1500, 1), [v6]);
        assert_eq!(datagram(5000).fragmented(27, 1), [datagram(5000)], "no room for 8 bytes");
    }

    #[test]
    fn fragments_make_up_the_datagram_for_any_mtu() {
        for mtu in [28, 68, 576, 577, 1499, 1500, 9000, 65_535] {
            for len in [1, 100, 1473, 5000, 65_507] {
                let packet = datagram(len);
                if packet.wire_len() <= mtu {
                    continue;
                }
                let parts = fragments(&packet, mtu);
                assert!(parts.iter().all(|part| part.payload.len() + 20 <= mtu));
                let back = Packet::reassembled(&packet, UDP, &whole(&parts));
                assert_eq!(back, Ok(packet), "{mtu} {len}");
            }
        }
    }

    #[test]
    fn datagram_with_another_s_fragment_is_refused() {
        let parts = fragments(&datagram(5000), 1500);
        let mut other = parts.clone();
        other[1].payload = Payload::virtual_range(4, 0, 1480);
        let wrong = Packet::reassembled(&datagram(5000), UDP, &whole(&other));
        assert_eq!(wrong, Err(ParseError::Checksum(crate::Layer::Udp)));
        let short = Packet::reassembled(&datagram(5000), UDP, &whole(&parts[..2]));
        assert!(matches!(short, Err(ParseError::Truncated { .. })));
    }

    #[test]
    fn other_protocols_are_parsed_from_their_bytes() {
        let mut bytes = Vec::new();
        datagram(100).emit(&mut bytes);
        let real: Payload = bytes[20..].to_vec().into();
        let back = Packet::reassembled(&datagram(100), UDP, &real).expect("right");
        assert_eq!(back.payload_len(), 100);
        let unknown = Packet::reassembled(&datagram(100), 200, &real);
        assert_eq!(unknown, Err(ParseError::Protocol(200)));
    }
}
