//! Damage to a packet on a link: one flipped bit, as netem's `corrupt`.
//!
//! The Internet checksum always detects one flipped bit, so the packet is marked as having a wrong
//! checksum. If the bit is one of real payload, it is flipped as well, so that a receiver that
//! ignores the mark reads wrong data.

use wire::payload::Content;
use wire::sctp::Chunk;
use wire::{Body, Packet, Payload, SctpPacket};

/// Mark `packet` as damaged and flip the bit selected by the uniform `draw`, if it is real payload.
pub(crate) fn corrupt(packet: &mut Packet, draw: u64) {
    packet.corrupted = true;
    let payload = match &mut packet.body {
        Body::Tcp(segment) => &mut segment.payload,
        Body::Udp(datagram) => &mut datagram.payload,
        Body::Sctp(packet) => return corrupt_data(packet, draw),
        Body::Fragment(fragment) => &mut fragment.payload,
        Body::Icmp(_) => return,
        Body::Opaque(datagram) => return datagram.flip_bit(draw),
    };
    let bits = u64::from(payload.len()) * 8;
    if bits > 0 {
        flip(payload, draw % bits);
    }
}

/// Flip one bit of the user data of all chunks.
fn corrupt_data(packet: &mut SctpPacket, draw: u64) {
    let bits = u64::from(packet.payload_len()) * 8;
    let mut bit = draw.checked_rem(bits).unwrap_or(0);
    for payload in packet.chunks.iter_mut().filter_map(Chunk::payload_mut) {
        let here = u64::from(payload.len()) * 8;
        if bit < here {
            return flip(payload, bit);
        }
        bit -= here;
    }
}

fn flip(payload: &mut Payload, bit: u64) {
    match payload.content() {
        Content::Empty | Content::Virtual(_) => {}
        Content::Real(bytes) => {
            let mut damaged = bytes.to_vec();
            if let Some(byte) = damaged.get_mut((bit / 8) as usize) {
                *byte ^= 1 << (bit % 8);
            }
            *payload = damaged.into();
        }
        Content::Mixed(_) => {
            let mut bit = bit;
            let mut pieces = std::mem::take(payload).into_pieces();
            for piece in &mut pieces {
                let here = u64::from(piece.len()) * 8;
                if bit < here {
                    flip(piece, bit);
                    break;
                }
                bit -= here;
            }
            *payload = Payload::from_pieces(pieces);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use wire::UdpDatagram;
    use wire::sctp::Data;

    fn packet(payload: Payload) -> Packet {
        let address = IpAddr::from([10, 0, 0, 1]);
        let body = Body::Udp(UdpDatagram { src_port: 1, dst_port: 2, payload });
        Packet::new(address, address, body)
    }

    fn payload(packet: Packet) -> Payload {
        match packet.body {
            Body::Udp(datagram) => datagram.payload,
            _ => Payload::EMPTY,
        }
    }

    #[test]
    fn real_payload_loses_exactly_one_bit() {
        let mut damaged = packet(Payload::from(vec![0u8; 4]));
        corrupt(&mut damaged, 32 + 9);
        assert!(damaged.corrupted);
        assert_eq!(payload(damaged), Payload::from(vec![0, 2, 0, 0]));
    }

    #[test]
    fn bit_of_sctp_is_one_of_all_chunks_with_data() {
        let data = |bytes| {
            let payload = Payload::from(vec![0u8; bytes]);
            Chunk::Data(Data { payload, ..Data::default() })
        };
        let chunks = [Chunk::CookieAck, data(2), data(1)].into();
        let body = Body::Sctp(SctpPacket { chunks, ..SctpPacket::default() });
        for (draw, expected) in [(3, vec![8, 0, 0]), (24 + 17, vec![0, 0, 2])] {
            let mut damaged = Packet { body: body.clone(), ..packet(Payload::EMPTY) };
            corrupt(&mut damaged, draw);
            assert!(damaged.corrupted);
            let Body::Sctp(packet) = damaged.body else { panic!("an SCTP packet") };
            let payloads = packet.chunks.iter().filter_map(Chunk::payload);
            let bytes: Vec<u8> = payloads.flat_map(|payload| payload.to_bytes()).collect();
            assert_eq!(bytes, expected);
        }
    }

    #[test]
    fn virtual_payload_is_only_marked() {
        let mut damaged = packet(Payload::virtual_range(1, 0, 100));
        corrupt(&mut damaged, 77);
        assert!(damaged.corrupted);
        assert_eq!(payload(damaged), Payload::virtual_range(1, 0, 100));
    }

    #[test]
    fn mixed_payload_is_hit_in_the_piece_that_holds_the_bit() {
        let mut mixed = Payload::virtual_range(1, 0, 2);
        mixed.append(Payload::from(vec![0u8; 2]));
        let mut damaged = packet(mixed);
        corrupt(&mut damaged, 16);
        let pieces = payload(damaged).into_pieces();
        assert_eq!(pieces[1], Payload::from(vec![1, 0]));
    }
}
