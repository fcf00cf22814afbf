//! Properties of emit and parse over all kinds of packets.

use crate::generate::packet;
use crate::sctp::properties::as_received as as_received_sctp;
use proptest::collection::vec;
use proptest::prelude::*;
use wire::{Body, Checksum, Layer, Packet, ParseError};

fn bytes_of(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.emit(&mut bytes);
    bytes
}

/// The packet with its payload as real bytes and nothing that is not on the wire.
fn as_received(mut packet: Packet) -> Packet {
    packet.flow = 0;
    match &mut packet.body {
        Body::Tcp(segment) => segment.payload = segment.payload.to_bytes().into(),
        Body::Udp(datagram) => datagram.payload = datagram.payload.to_bytes().into(),
        Body::Sctp(sctp) => *sctp = as_received_sctp(sctp.clone()),
        Body::Fragment(part) => part.payload = part.payload.to_bytes().into(),
        Body::Icmp(_) | Body::Opaque(_) => {}
    }
    packet
}

/// Where the transport header of one of our datagrams begins.
fn header_len(packet: &Packet) -> usize {
    if packet.is_ipv4() { 20 } else { 40 }
}

fn layer_of(packet: &Packet) -> Layer {
    match packet.body {
        Body::Tcp(_) => Layer::Tcp,
        Body::Udp(_) => Layer::Udp,
        Body::Sctp(_) => Layer::Sctp,
        Body::Icmp(_) => Layer::Icmp,
        Body::Fragment(_) | Body::Opaque(_) => panic!("not generated"),
    }
}

proptest! {
    #[test]
    fn parse_is_the_inverse_of_emit(packet in packet()) {
        let bytes = bytes_of(&packet);
        prop_assert_eq!(bytes.len() as u32, packet.wire_len());
        prop_assert_eq!(Packet::parse(&bytes), Ok(as_received(packet.clone())));
        prop_assert_eq!(Packet::parse_captured(&bytes), Ok(as_received(packet)));
    }

    #[test]
    fn roundtrip_is_the_identity_virtual_payload_included(packet in packet()) {
        prop_assert_eq!(packet.roundtrip(), Ok(packet));
    }

    #[test]
    fn emit_appends(packet in packet(), before in vec(any::<u8>(), 0..9)) {
        let mut bytes = before.clone();
        packet.emit(&mut bytes);
        prop_assert_eq!(&bytes[..before.len()], &before[..]);
        prop_assert_eq!(&bytes[before.len()..], bytes_of(&packet));
    }

    #[test]
    fn device_fills_in_what_is_left_to_it(packet in packet(), damage in any::<u16>()) {
        let mut bytes = Vec::new();
        let left = packet.emit_to_device(&mut bytes);
        prop_assert_eq!(left.is_some(), matches!(packet.body, Body::Tcp(_)));
        if let Some(start) = left {
            let (start, field) = (start as usize, start as usize + 16);
            prop_assert_eq!(start, header_len(&packet));
            let parsed = Packet::parse_from_device(&bytes);
            prop_assert_eq!(parsed, Ok(as_received(packet.clone())), "as it is");
            // As `skb_checksum_help` of Linux: the sum of all, what the field has included.
            let mut sum = Checksum::new();
            sum.add_bytes(&bytes[start..]);
            bytes[field..field + 2].copy_from_slice(&sum.finish().to_be_bytes());
            prop_assert_eq!(&bytes, &bytes_of(&packet));
            bytes[field..field + 2].copy_from_slice(&damage.to_be_bytes());
            prop_assert!(Packet::parse_from_device(&bytes).is_ok(), "it is not looked at");
        } else {
            prop_assert_eq!(bytes, bytes_of(&packet));
        }
    }

    #[test]
    fn padding_of_the_link_below_is_ignored(
        packet in packet(),
        padding in vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = bytes_of(&packet);
        bytes.extend(padding);
        prop_assert_eq!(Packet::parse(&bytes), Ok(as_received(packet)));
    }

    #[test]
    fn corrupted_packet_has_a_wrong_checksum(packet in packet()) {
        let corrupted = Packet { corrupted: true, ..packet };
        let wrong = ParseError::Checksum(layer_of(&corrupted));
        prop_assert_eq!(corrupted.roundtrip(), Err(wrong));
        let captured = Packet::parse_captured(&bytes_of(&corrupted));
        prop_assert_eq!(captured, Ok(as_received(corrupted)));
    }

    #[test]
    fn one_flipped_bit_behind_the_ip_header_is_noticed(packet in packet(), at in any::<usize>()) {
        let mut bytes = bytes_of(&packet);
        let bits = 8 * (bytes.len() - header_len(&packet));
        let bit = 8 * header_len(&packet) + at % bits;
        bytes[bit / 8] ^= 0x80 >> (bit % 8);
        // A length field of UDP may be caught before the checksum; a checksum that became zero
        // means that there is none.
        let became_unsummed = matches!(packet.body, Body::Udp(_))
            && packet.is_ipv4()
            && bytes[26..28] == [0, 0];
        prop_assert!(became_unsummed || Packet::parse(&bytes).is_err());
    }

    #[test]
    fn one_flipped_bit_of_an_ipv4_header_is_noticed(packet in packet(), bit in 0usize..160) {
        prop_assume!(packet.is_ipv4());
        let mut bytes = bytes_of(&packet);
        bytes[bit / 8] ^= 0x80 >> (bit % 8);
        prop_assert!(Packet::parse(&bytes).is_err());
    }

    #[test]
    fn cut_short_packet_is_refused(packet in packet(), keep in any::<usize>()) {
        let bytes = bytes_of(&packet);
        let keep = keep % bytes.len();
        prop_assert!(Packet::parse(&bytes[..keep]).is_err());
        prop_assert!(Packet::parse_captured(&bytes[..keep]).is_err());
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200), version in 0u8..3) {
        let mut bytes = bytes;
        if let (Some(first), 1..) = (bytes.first_mut(), version) {
            *first = [0x45, 0x60][usize::from(version - 1)];
        }
        check_stable(&bytes);
    }

    /// Damage that gets past the checksums, because captures are parsed without them.
    #[test]
    fn mutated_packets_never_panic_and_parse_stably(
        packet in packet(),
        changes in vec((any::<usize>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = bytes_of(&packet);
        for (at, value) in changes {
            // The headers are the interesting part.
            let at = at % bytes.len().min(100);
            bytes[at] = value;
        }
        if packet.is_ipv4() {
            bytes[10..12].fill(0); // taken for not filled in
        }
        check_stable(&bytes);
    }
}

/// A packet that was parsed and emitted parses to the same again, in any layout.
fn check_stable(bytes: &[u8]) {
    if let Ok(packet) = Packet::parse(bytes) {
        assert_eq!(Packet::parse(&bytes_of(&packet)), Ok(packet));
    }
    if let Ok(packet) = Packet::parse_captured(bytes) {
        assert_eq!(Packet::parse_captured(&bytes_of(&packet)), Ok(packet.clone()));
        assert!(packet.payload_len() as usize <= bytes.len(), "more payload than was carried");
    }
}

#[test]
fn packets_stay_small() {
    // Packets are moved several times on their way through a simulation.
    assert!(size_of::<Packet>() <= 128, "{}", size_of::<Packet>());
}
