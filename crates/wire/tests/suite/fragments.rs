//! IPv4 fragments: known bytes, and the way there and back for any datagram.

use proptest::prelude::*;
use wire::{Body, Fragment, Layer, Packet, ParseError, Payload, UdpDatagram};

const SRC: [u8; 4] = [192, 0, 2, 1];
const DST: [u8; 4] = [192, 0, 2, 2];

/// Protocol number of UDP.
const UDP: u8 = 17;

fn bytes_of(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.emit(&mut bytes);
    bytes
}

/// RFC 791 appendix A, example 2: identification 111, time to live 119, protocol 6;
/// the checksums are of RFC 1071, computed by another program.
#[test]
fn fragments_of_the_rfc_s_example_have_its_fields() {
    let first = [0x45, 0, 0x01, 0x14, 0, 111, 0x20, 0, 119, 6, 0x9E, 0x71];
    let second = [0x45, 0, 0, 0xD8, 0, 111, 0, 32, 119, 6, 0xBE, 0x8D];
    for (head, offset, more, len) in [(first, 0, true, 256), (second, 256, false, 196)] {
        let mut bytes = head.to_vec();
        bytes.extend(SRC);
        bytes.extend(DST);
        bytes.extend((0..len).map(|n| n as u8));
        let packet = Packet::parse(&bytes).expect("a fragment");
        let Body::Fragment(fragment) = &packet.body else { panic!("{packet:?}") };
        let found = (fragment.identification, fragment.protocol, fragment.offset, fragment.more);
        assert_eq!(found, (111, 6, offset, more));
        assert_eq!((packet.hop_limit, fragment.end()), (119, u32::from(offset) + len));
        assert_eq!(packet.body.flow(), (6, 0, 0), "no ports: they are in the first one only");
        assert_eq!(packet.wire_len() as usize, bytes.len());
        assert_eq!(bytes_of(&packet), bytes);
        bytes[7] ^= 1;
        assert_eq!(Packet::parse(&bytes), Err(ParseError::Checksum(Layer::Ipv4)));
    }
}

#[test]
fn damaged_fragment_makes_the_datagram_wrong() {
    let datagram = UdpDatagram { src_port: 1, dst_port: 2, payload: vec![5; 3000].into() };
    let packet = Packet::new(SRC.into(), DST.into(), Body::Udp(datagram));
    let mut parts = packet.clone().fragmented(1500, 9);
    parts[1].corrupted = true;
    let received: Payload = parts.iter().map(|part| content(&bytes_of(part))).collect();
    let wrong = Packet::reassembled(&packet, UDP, &received);
    assert_eq!(wrong, Err(ParseError::Checksum(Layer::Udp)));
}

/// The part that a fragment's bytes carry.
fn content(bytes: &[u8]) -> Payload {
    match Packet::parse(bytes).expect("a fragment").body {
        Body::Fragment(Fragment { payload, .. }) => payload,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn fragment_is_emitted_and_parsed_unchanged(
        identification: u16,
        protocol: u8,
        units in 0u16..0x2000,
        more: bool,
        stream: u32,
        len in 0u32..1480,
    ) {
        // Neither a flag nor an offset: that is no fragment.
        prop_assume!(more || units > 0);
        let payload = Payload::virtual_range(stream, 100, len);
        let fragment = Fragment { identification, protocol, offset: units * 8, more, payload };
        let packet = Packet::new(SRC.into(), DST.into(), Body::Fragment(fragment));
        prop_assert_eq!(packet.roundtrip(), Ok(packet.clone()));
        let bytes = bytes_of(&packet);
        prop_assert_eq!(Packet::parse_captured(&bytes), Err(ParseError::Fragment));
        for keep in [0, 19, bytes.len() - 1] {
            prop_assert!(Packet::parse(&bytes[..keep]).is_err());
        }
    }

    #[test]
    fn bytes_of_all_fragments_are_those_of_the_datagram(
        len in 0u32..20_000,
        mtu in 28u32..3000,
        real: bool,
        identification: u16,
    ) {
        let virtual_bytes = Payload::virtual_range(7, 11, len);
        let payload = if real { virtual_bytes.to_bytes().into() } else { virtual_bytes };
        let datagram = UdpDatagram { src_port: 9, dst_port: 10, payload };
        let packet = Packet::new(SRC.into(), DST.into(), Body::Udp(datagram));
        let whole = bytes_of(&packet);
        let parts = packet.clone().fragmented(mtu, identification);
        prop_assert!(parts.iter().all(|part| part.wire_len() <= mtu));
        if parts.len() > 1 {
            let together: Vec<u8> =
                parts.iter().flat_map(|part| bytes_of(part)[20..].to_vec()).collect();
            prop_assert_eq!(&together, &whole[20..].to_vec());
            let unit: Payload = parts.iter().map(|part| content(&bytes_of(part))).collect();
            let back = Packet::reassembled(&packet, UDP, &unit).expect("all bytes");
            prop_assert_eq!(bytes_of(&back), whole);
        } else {
            prop_assert_eq!(parts, vec![packet]);
        }
    }

    #[test]
    fn any_collected_bytes_are_a_packet_or_an_error(
        protocol: u8,
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let header = Packet::new(SRC.into(), DST.into(), Body::Udp(UdpDatagram::default()));
        // It must not panic; checksums refuse nearly all.
        let _ = Packet::reassembled(&header, protocol, &bytes.into());
    }
}
