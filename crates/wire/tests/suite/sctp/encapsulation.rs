//! SCTP packets in datagrams: over IP, over UDP (RFC 6951), damaged, captured.

use super::vectors::packet;
use wire::sctp::{Chunk, Data, DataFlags, Tsn, UdpPorts, fill_checksum};
use wire::{Body, Layer, Packet, ParseError, Payload, SctpPacket};

const PORTS: UdpPorts = UdpPorts { src: 9899, dst: 40_000 };

fn datagram(packet: SctpPacket) -> Packet {
    Packet::new([10, 1, 1, 1].into(), [10, 1, 2, 1].into(), Body::Sctp(packet))
}

fn bytes_of(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.emit(&mut bytes);
    bytes
}

/// A packet with a fragment of a virtual stream.
fn with_virtual_data(udp: Option<UdpPorts>) -> Packet {
    let payload = Payload::virtual_range(3, 70_001, 1452);
    let data = Data { flags: DataFlags::WHOLE, tsn: Tsn(7), payload, ..Data::default() };
    let chunks = [Chunk::CookieAck, Chunk::Data(data)].into();
    datagram(SctpPacket { udp, chunks, ..packet("V8") })
}

#[test]
fn largest_data_chunk_fills_a_path_mtu_of_1500() {
    let mut packet = with_virtual_data(None);
    let Body::Sctp(sctp) = &mut packet.body else { panic!("an SCTP packet") };
    sctp.chunks.change(|chunks| drop(chunks.remove(0)));
    assert_eq!((packet.wire_len(), packet.payload_len()), (1500, 1452));
}

#[test]
fn udp_adds_eight_bytes_and_is_what_ip_carries() {
    let (native, carried) = (with_virtual_data(None), with_virtual_data(Some(PORTS)));
    assert_eq!(native.body.flow(), (132, 20_000, 8_000));
    assert_eq!(carried.body.flow(), (17, 9899, 40_000));
    assert_eq!(carried.wire_len(), native.wire_len() + 8);
    assert_eq!(carried.payload_len(), native.payload_len());
    let (native, carried) = (bytes_of(&native), bytes_of(&carried));
    assert_eq!((native[9], carried[9]), (132, 17));
    assert_eq!(native[20..], carried[28..], "the CRC32c is computed over UDP, too");
}

#[test]
fn udp_is_taken_off_where_its_port_is_known_to_carry_sctp() {
    for udp in [None, Some(PORTS)] {
        let sent = with_virtual_data(udp);
        assert_eq!(sent.roundtrip(), Ok(sent.clone()));
        let parsed = Packet::parse(&bytes_of(&sent)).unwrap();
        assert_eq!(matches!(parsed.body, Body::Udp(_)), udp.is_some());
        let Body::Sctp(packet) = parsed.decapsulated().unwrap().body else { panic!("SCTP") };
        assert_eq!(packet.udp, udp);
        assert_eq!(packet.payload_len(), 1452);
    }
}

#[test]
fn damaged_packet_has_one_wrong_checksum() {
    let wrong = |udp, layer| {
        let damaged = Packet { corrupted: true, ..with_virtual_data(udp) };
        assert_eq!(damaged.roundtrip(), Err(ParseError::Checksum(layer)));
        assert!(Packet::parse_captured(&bytes_of(&damaged)).unwrap().corrupted);
    };
    wrong(None, Layer::Sctp);
    wrong(Some(PORTS), Layer::Udp);
}

#[test]
fn checksum_of_zero_in_a_capture_was_left_to_the_hardware() {
    let mut bytes = bytes_of(&with_virtual_data(None));
    bytes[28..32].fill(0);
    assert_eq!(Packet::parse(&bytes), Err(ParseError::Checksum(Layer::Sctp)));
    assert!(!Packet::parse_captured(&bytes).unwrap().corrupted);
}

#[test]
fn adler_32_is_refused_with_its_reason() {
    // A COOKIE ACK with the sum of RFC 2960 appendix B.
    let mut unit = vec![0x0B, 0x58, 0x0B, 0x58, 0, 0, 0x0E, 0xB0, 0, 0, 0, 0, 11, 0, 0, 4];
    let (mut a, mut b) = (1u32, 0u32);
    for byte in &unit {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    unit[8..12].copy_from_slice(&(b << 16 | a).to_be_bytes());
    let refused = SctpPacket::parse(&unit);
    assert_eq!(refused, Err(ParseError::Adler32));
    assert_eq!(
        ParseError::Adler32.to_string(),
        "the SCTP checksum is the Adler-32 of RFC 2960, not the CRC32c of RFC 9260"
    );
    fill_checksum(&mut unit);
    assert_eq!(SctpPacket::parse(&unit).unwrap().chunks, [Chunk::CookieAck]);
}

#[test]
fn too_short_packets_and_ports_of_zero_are_refused() {
    let with = |change: fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        packet("V15").emit(&mut bytes);
        change(&mut bytes);
        if bytes.len() >= 12 {
            fill_checksum(&mut bytes);
        }
        SctpPacket::parse(&bytes)
    };
    let truncated = |need, have| Err(ParseError::Truncated { layer: Layer::Sctp, need, have });
    assert_eq!(with(|bytes| bytes.truncate(15)), truncated(16, 15));
    assert_eq!(with(|bytes| bytes[15] = 5), truncated(5, 4));
    let length = ParseError::Length { layer: Layer::Sctp, len: 3 };
    assert_eq!(with(|bytes| bytes[15] = 3), Err(length));
    assert_eq!(with(|bytes| bytes[..2].fill(0)), Err(ParseError::PortZero(Layer::Sctp)));
    assert_eq!(with(|bytes| bytes[2..4].fill(0)), Err(ParseError::PortZero(Layer::Sctp)));
}
