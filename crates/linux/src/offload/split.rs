//! What a device with offloads read, as packets: merged segments are cut apart again.
//!
//! Input is untrusted: what contradicts itself has no packets.

use super::{DATA_VALID, GSO_ECN, GSO_NONE, GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4, HEADER, NEEDS_CSUM};
use tun_rs::VirtioNetHdr;
use wire::{Body, Flags, Packet, Payload, SeqNumber};

/// What was read at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Read {
    /// A datagram as it is on a wire.
    Whole(Packet),
    /// Packets that a device merged or whose checksum it has yet to fill in.
    Pieces(Pieces),
}

/// Packets of one read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pieces {
    /// The header of the first packet, without payload.
    head: Packet,
    payload: Payload,
    /// Payload of each packet but the last one, at least 1.
    size: u32,
    /// Bytes of the payload that previous packets had.
    at: u32,
    /// Packets were taken.
    begun: bool,
}

/// The packets in `bytes`, a header and a datagram; `None` if there are none.
pub(crate) fn read(bytes: &[u8]) -> Option<Read> {
    let header = VirtioNetHdr::decode(bytes).ok()?;
    let datagram = bytes.get(HEADER..)?;
    let merged = header.gso_type & !GSO_ECN;
    if merged == GSO_NONE && header.flags & NEEDS_CSUM == 0 {
        let is_verified = header.flags & DATA_VALID != 0;
        let packet = match is_verified {
            true => Packet::parse_from_device(datagram),
            false => Packet::parse(datagram),
        };
        return packet.ok().map(Read::Whole);
    }
    let packet = Packet::parse_from_device(datagram).ok()?;
    let size = match (merged, &packet.body) {
        (GSO_NONE, _) => u32::MAX,
        (GSO_TCPV4 | GSO_TCPV6, Body::Tcp(_)) | (GSO_UDP_L4, Body::Udp(_)) => {
            (header.gso_size > 0).then_some(header.gso_size.into())?
        }
        _ => return None,
    };
    Some(Read::Pieces(Pieces::new(packet, size)))
}

impl Pieces {
    /// Of a packet whose payload is cut every `size` bytes.
    pub(crate) fn new(mut packet: Packet, size: u32) -> Pieces {
        let payload = match &mut packet.body {
            Body::Tcp(segment) => std::mem::take(&mut segment.payload),
            Body::Udp(datagram) => std::mem::take(&mut datagram.payload),
            _ => Payload::EMPTY,
        };
        Pieces { head: packet, payload, size: size.max(1), at: 0, begun: false }
    }

    /// Whether there is more than one.
    pub(crate) fn is_merged(&self) -> bool {
        self.payload.len() > self.size
    }
}

impl Iterator for Pieces {
    type Item = Packet;

    fn next(&mut self) -> Option<Packet> {
        let left = self.payload.len() - self.at;
        if self.begun && left == 0 {
            return None;
        }
        let (at, len) = (self.at, left.min(self.size));
        let is_first = !std::mem::replace(&mut self.begun, true);
        self.at += len;
        let mut packet = self.head.clone();
        if self.payload.is_empty() {
            return Some(packet);
        }
        let payload = self.payload.slice(at, len);
        match &mut packet.body {
            Body::Tcp(segment) => {
                segment.seq = SeqNumber(segment.seq.0.wrapping_add(at));
                // What ends the data is on the last segment, what answers a mark on the first.
                let mut absent = Flags::NONE;
                if len < left {
                    absent = absent | Flags::FIN | Flags::PSH;
                }
                if !is_first {
                    absent = absent | Flags::CWR;
                }
                segment.flags = Flags(segment.flags.0 & !absent.0);
                segment.payload = payload;
            }
            Body::Udp(datagram) => datagram.payload = payload,
            _ => {}
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use wire::sctp::Chunk;
    use wire::{SctpPacket, TcpSegment, UdpDatagram};

    fn packet(body: Body) -> Packet {
        let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        Packet::new(src.into(), dst.into(), body)
    }

    fn tcp(len: u32, flags: Flags) -> Packet {
        let bytes: Vec<u8> = (0..len).map(|at| at as u8).collect();
        let seq = SeqNumber(u32::MAX - 10);
        packet(Body::Tcp(TcpSegment { seq, flags, payload: bytes.into(), ..<_>::default() }))
    }

    /// A header and a datagram, as a device gives them.
    fn with_header(header: VirtioNetHdr, packet: &Packet) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        header.encode(&mut bytes).expect("room");
        packet.emit_to_device(&mut bytes);
        bytes
    }

    fn merged(gso_type: u8, gso_size: u16) -> VirtioNetHdr {
        VirtioNetHdr { flags: NEEDS_CSUM, gso_type, gso_size, ..VirtioNetHdr::default() }
    }

    fn pieces(bytes: &[u8]) -> Vec<Packet> {
        match read(bytes) {
            None => Vec::new(),
            Some(Read::Whole(packet)) => vec![packet],
            Some(Read::Pieces(pieces)) => pieces.collect(),
        }
    }

    #[test]
    fn merged_segments_are_cut_and_their_flags_are_where_segmentation_puts_them() {
        let flags = Flags::ACK | Flags::PSH | Flags::FIN | Flags::CWR;
        let bytes = with_header(merged(GSO_TCPV4 | GSO_ECN, 100), &tcp(250, flags));
        let cut: Vec<(u32, Flags, Vec<u8>)> = pieces(&bytes)
            .into_iter()
            .map(|packet| match packet.body {
                Body::Tcp(cut) => (cut.seq.0, cut.flags, cut.payload.to_bytes().to_vec()),
                other => panic!("{other:?}"),
            })
            .collect();
        let payload: Vec<u8> = (0..250).map(|at| at as u8).collect();
        let first = u32::MAX - 10;
        let last = Flags::ACK | Flags::PSH | Flags::FIN;
        assert_eq!(
            cut,
            [
                (first, Flags::ACK | Flags::CWR, payload[..100].to_vec()),
                (first.wrapping_add(100), Flags::ACK, payload[100..200].to_vec()),
                (first.wrapping_add(200), last, payload[200..].to_vec()),
            ]
        );
    }

    #[test]
    fn merged_datagrams_of_udp_are_cut() {
        let payload = vec![7; 25].into();
        let udp = packet(Body::Udp(UdpDatagram { src_port: 1, dst_port: 2, payload }));
        let lens = pieces(&with_header(merged(GSO_UDP_L4, 10), &udp));
        let lens: Vec<u32> = lens.iter().map(Packet::payload_len).collect();
        assert_eq!(lens, [10, 10, 5]);
    }

    #[test]
    fn checksum_is_verified_unless_the_device_vouches_for_it() {
        let segment = tcp(100, Flags::ACK);
        let mut damaged = with_header(VirtioNetHdr::default(), &segment);
        assert_eq!(pieces(&damaged), [], "not filled in, and the header does not say so");
        for flags in [DATA_VALID, NEEDS_CSUM] {
            damaged[0] = flags;
            assert_eq!(pieces(&damaged), std::slice::from_ref(&segment));
        }
        let chunks = Chunk::Pad(vec![7; 4].into()).into();
        let sctp =
            packet(Body::Sctp(SctpPacket { src_port: 5, dst_port: 6, chunks, ..<_>::default() }));
        let mut damaged = with_header(merged(GSO_NONE, 0), &sctp);
        assert_eq!(pieces(&damaged), [sctp], "its checksum is never left to a device");
        if let Some(last) = damaged.last_mut() {
            *last ^= 1;
        }
        assert_eq!(pieces(&damaged), []);
    }

    #[test]
    fn headers_that_contradict_the_datagram_have_no_packets() {
        let udp = UdpDatagram { src_port: 1, dst_port: 2, payload: vec![7; 25].into() };
        let udp = packet(Body::Udp(udp));
        let segment = tcp(100, Flags::ACK);
        for (header, packet) in [
            (merged(GSO_TCPV4, 0), &segment),
            (merged(GSO_TCPV4, 10), &udp),
            (merged(GSO_UDP_L4, 10), &segment),
            (merged(3, 10), &udp),
            (merged(99, 10), &segment),
        ] {
            assert_eq!(pieces(&with_header(header, packet)), [], "{header:?}");
        }
        let whole = with_header(merged(GSO_TCPV4, 10), &segment);
        for len in 0..whole.len() {
            assert_eq!(pieces(&whole[..len]), [], "cut at {len}");
        }
        // Sizes of its own are not believed: no more comes out than was there.
        let long = with_header(merged(GSO_TCPV4, u16::MAX), &segment);
        assert_eq!(pieces(&long), std::slice::from_ref(&segment));
        assert_eq!(pieces(&with_header(merged(GSO_TCPV6, 1), &segment)).len(), 100);
        let empty = tcp(0, Flags::ACK);
        assert_eq!(pieces(&with_header(merged(GSO_TCPV4, 10), &empty)), [empty]);
    }

    #[test]
    fn damaged_bytes_neither_panic_nor_multiply() {
        let whole = with_header(merged(GSO_TCPV4, 10), &tcp(300, Flags::ACK));
        let mut state = 1u32;
        let mut next = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below
        };
        for _ in 0..20_000 {
            let mut bytes = whole.clone();
            for _ in 0..1 + next(4) {
                // Headers more often than payload.
                let below = if next(2) == 0 { HEADER + 60 } else { whole.len() };
                let at = next(below);
                bytes[at] = next(256) as u8;
            }
            bytes.truncate(whole.len() - next(2) * next(whole.len()));
            let payload: u32 = pieces(&bytes).iter().map(Packet::payload_len).sum();
            assert!(payload as usize <= bytes.len());
        }
    }
}
