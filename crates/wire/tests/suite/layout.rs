//! Known bytes: layouts as Linux sends them, and what parsing skips and refuses.

use std::net::IpAddr;
use wire::mptcp::{Capable, CapableFlags, CapableForm};
use wire::{
    Body, Flags, Icmp, Layer, MptcpOption, Packet, ParseError, Payload, SeqNumber, TcpOptions,
    TcpSegment, Timestamps, UdpDatagram,
};

const V4: [[u8; 4]; 2] = [[10, 0, 0, 1], [10, 0, 0, 2]];

fn v4(body: Body) -> Packet {
    Packet::new(V4[0].into(), V4[1].into(), body)
}

fn v6(body: Body) -> Packet {
    let address = |last: u16| IpAddr::from([0x2001, 0xDB8, 0, 0, 0, 0, 0, last]);
    Packet::new(address(1), address(2), body)
}

fn segment(options: TcpOptions) -> TcpSegment {
    TcpSegment {
        src_port: 40_000,
        dst_port: 80,
        seq: SeqNumber(0x0102_0304),
        ack: SeqNumber(0x0506_0708),
        flags: Flags::ACK,
        window: 502,
        options,
        payload: Payload::EMPTY,
    }
}

fn bytes_of(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.emit(&mut bytes);
    bytes
}

/// The options of a segment as emitted.
fn emitted(options: TcpOptions) -> Vec<u8> {
    bytes_of(&v4(Body::Tcp(segment(options))))[40..].to_vec()
}

/// A datagram around a TCP header with these options, its checksums not filled in.
fn with_options(options: &[u8]) -> Vec<u8> {
    assert_eq!(options.len() % 4, 0);
    let mut bytes = bytes_of(&v4(Body::Tcp(segment(TcpOptions::default()))));
    bytes.extend_from_slice(options);
    bytes[3] = bytes.len() as u8;
    bytes[32] = ((20 + options.len()) as u8 / 4) << 4;
    bytes[10..12].fill(0);
    bytes[36..38].fill(0);
    bytes
}

fn parsed(options: &[u8]) -> Result<TcpOptions, ParseError> {
    Packet::parse_captured(&with_options(options)).map(|packet| match packet.body {
        Body::Tcp(segment) => segment.options,
        other => unreachable!("{other:?}"),
    })
}

fn timestamps() -> Option<Timestamps> {
    Some(Timestamps { value: 0x1112_1314, echo: 0x2122_2324 })
}

const TS: [u8; 10] = [8, 10, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24];

#[test]
fn syn_options_lie_as_linux_lays_them() {
    let flags = CapableFlags::HMAC_SHA256;
    let capable = Capable::V1 { flags, form: CapableForm::Syn };
    let options = TcpOptions {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: timestamps(),
        mptcp: MptcpOption::Capable(capable).into(),
        ..TcpOptions::default()
    };
    let mut expected = vec![2, 4, 0x05, 0xB4, 4, 2];
    expected.extend(TS);
    expected.extend([1, 3, 3, 7, 30, 4, 0x01, 0x01]);
    assert_eq!(emitted(options), expected);
}

#[test]
fn ack_options_lie_as_linux_lays_them() {
    let mut options = TcpOptions { timestamps: timestamps(), ..TcpOptions::default() };
    assert!(options.sack.push(SeqNumber(1), SeqNumber(2)));
    let mut expected = vec![1, 1];
    expected.extend(TS);
    expected.extend([1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    assert_eq!(emitted(options), expected);
}

#[test]
fn options_without_timestamps_are_aligned_with_nops() {
    let options = TcpOptions {
        sack_permitted: true,
        window_scale: Some(2),
        mptcp: MptcpOption::RemoveAddr { ids: vec![9, 8] }.into(),
        ..TcpOptions::default()
    };
    assert_eq!(emitted(options), [1, 1, 4, 2, 1, 3, 3, 2, 30, 5, 0x40, 9, 8, 1, 1, 1]);
}

#[test]
fn options_that_fill_the_header_do_without_nops() {
    let mut options = TcpOptions { mss: Some(1000), sack_permitted: true, ..TcpOptions::default() };
    for i in 0..4 {
        assert!(options.sack.push(SeqNumber(i), SeqNumber(i + 1)));
    }
    assert_eq!(options.padded_len(), 40);
    let bytes = emitted(options.clone());
    assert_eq!(bytes[..8], [2, 4, 0x03, 0xE8, 4, 2, 5, 34]);
    assert_eq!(parsed(&bytes), Ok(options));
}

#[test]
fn unknown_options_are_skipped_and_the_end_ends() {
    let options = parsed(&[254, 4, 1, 2, 1, 3, 3, 7, 0, 2, 4, 9]).unwrap();
    assert_eq!(options, TcpOptions { window_scale: Some(7), ..TcpOptions::default() });
}

#[test]
fn damaged_option_lengths_are_refused() {
    let cases: [(&[u8], u8, u8); 10] = [
        (&[2, 3, 5, 0], 2, 3),
        (&[3, 4, 7, 0], 3, 4),
        (&[4, 3, 0, 0], 4, 3),
        (&[8, 4, 0, 0], 8, 4),
        (&[5, 2, 0, 0], 5, 2),
        (&[5, 4, 0, 0], 5, 4),
        (&[254, 0, 0, 0], 254, 0),
        (&[254, 1, 0, 0], 254, 1),
        (&[254, 5, 0, 0], 254, 5),
        (&[1, 1, 1, 30], 30, 0),
    ];
    for (bytes, kind, len) in cases {
        assert_eq!(parsed(bytes), Err(ParseError::TcpOption { kind, len }), "{bytes:?}");
    }
}

#[test]
fn unfilled_checksum_is_right_in_a_capture_only() {
    let unfilled = with_options(&[]);
    assert_eq!(Packet::parse(&unfilled), Err(ParseError::Checksum(Layer::Ipv4)));
    assert!(!Packet::parse_captured(&unfilled).unwrap().corrupted);

    // What Linux leaves for the hardware to complete: the sum of the pseudo header.
    let packet = v4(Body::Tcp(segment(TcpOptions::default())));
    let mut partial = bytes_of(&packet);
    let sum = 0x0A00u16 + 1 + 0x0A00 + 2 + 6 + 20;
    partial[36..38].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(Packet::parse(&partial), Err(ParseError::Checksum(Layer::Tcp)));
    assert_eq!(Packet::parse_captured(&partial), Ok(packet));
    partial[37] ^= 4;
    assert!(Packet::parse_captured(&partial).unwrap().corrupted);
}

/// Regression, found by fuzzing: a checksum one bit away from the pseudo header's sum was damaged
/// into that.
#[test]
fn corrupted_packet_never_looks_unfilled() {
    for word in 0..=u16::MAX {
        let mut segment = segment(TcpOptions::default());
        segment.payload = word.to_be_bytes().to_vec().into();
        let mut packet = v4(Body::Tcp(segment));
        packet.corrupted = true;
        let bytes = bytes_of(&packet);
        assert_eq!(Packet::parse(&bytes), Err(ParseError::Checksum(Layer::Tcp)));
        assert_eq!(Packet::parse_captured(&bytes), Ok(packet));
    }
}

#[test]
fn udp_without_checksum_is_for_ipv4_only() {
    let datagram = UdpDatagram { src_port: 1, dst_port: 2, payload: vec![1, 2, 3].into() };
    let packet = v4(Body::Udp(datagram.clone()));
    let mut bytes = bytes_of(&packet);
    bytes[26..28].fill(0);
    assert_eq!(Packet::parse(&bytes), Ok(packet));

    let mut bytes = bytes_of(&v6(Body::Udp(datagram)));
    bytes[46..48].fill(0);
    assert_eq!(Packet::parse(&bytes), Err(ParseError::Checksum(Layer::Udp)));
}

#[test]
fn udp_checksum_that_comes_out_zero_is_sent_as_ffff() {
    let mut datagram = UdpDatagram { src_port: 1, dst_port: 2, payload: vec![0, 0].into() };
    let checksum = |datagram: &UdpDatagram| {
        let bytes = bytes_of(&v4(Body::Udp(datagram.clone())));
        [bytes[26], bytes[27]]
    };
    // Two bytes equal to the checksum without them make the sum 0xFFFF.
    datagram.payload = checksum(&datagram).to_vec().into();
    assert_eq!(checksum(&datagram), [0xFF, 0xFF]);
}

#[test]
fn fragments_are_refused_in_captures_and_of_ipv6() {
    for (high, low) in [(0x20, 0), (0, 1), (0x1F, 0xFF)] {
        let mut bytes = with_options(&[]);
        (bytes[6], bytes[7]) = (high, low);
        assert_eq!(Packet::parse_captured(&bytes), Err(ParseError::Fragment));
        // The header checksum is that of the datagram.
        assert_eq!(Packet::parse(&bytes), Err(ParseError::Checksum(Layer::Ipv4)));
    }
    let mut bytes = bytes_of(&v6(Body::Tcp(segment(TcpOptions::default()))));
    bytes[6] = 44;
    assert_eq!(Packet::parse(&bytes), Err(ParseError::Fragment));
}

#[test]
fn ipv4_options_are_skipped() {
    let packet = v4(Body::Tcp(segment(TcpOptions::default())));
    let mut bytes = bytes_of(&packet);
    bytes.splice(20..20, [1, 1, 1, 0]);
    bytes[0] = 0x46;
    bytes[3] += 4;
    bytes[10..12].fill(0);
    assert_eq!(Packet::parse_captured(&bytes), Ok(packet));
}

#[test]
fn ipv6_options_headers_are_skipped_and_others_refused() {
    let packet = v6(Body::Tcp(segment(TcpOptions::default())));
    let mut bytes = bytes_of(&packet);
    let tcp = bytes[6];
    bytes.splice(40..40, [60, 0, 1, 4, 0, 0, 0, 0, tcp, 1, 1, 12, 0, 0, 0, 0]);
    bytes.splice(56..56, [0; 8]);
    bytes[6] = 0;
    bytes[5] += 24;
    assert_eq!(Packet::parse(&bytes), Ok(packet));
    for other in [43, 50, 51, 135] {
        bytes[40] = other;
        assert_eq!(Packet::parse(&bytes), Err(ParseError::ExtensionHeader(other)));
    }
}

#[test]
fn impossible_lengths_and_versions_are_refused() {
    let with = |at: usize, value: u8| {
        let mut bytes = with_options(&[]);
        bytes[at] = value;
        Packet::parse_captured(&bytes).unwrap_err()
    };
    assert_eq!(with(0, 0x44), ParseError::Length { layer: Layer::Ipv4, len: 16 });
    assert_eq!(with(3, 19), ParseError::Length { layer: Layer::Ipv4, len: 19 });
    assert_eq!(with(3, 41), ParseError::Truncated { layer: Layer::Ipv4, need: 41, have: 40 });
    assert_eq!(with(32, 0x40), ParseError::Length { layer: Layer::Tcp, len: 16 });
    assert_eq!(with(32, 0x60), ParseError::Truncated { layer: Layer::Tcp, need: 24, have: 20 });
    assert_eq!(with(0, 0x55), ParseError::Version(5));
    assert_eq!(with(9, 33), ParseError::Protocol(33));
    assert_eq!(with(9, 58), ParseError::Protocol(58), "ICMPv6 is not for IPv4");
    assert_eq!(Packet::parse(&[]), Err(ParseError::Version(0)));
}

#[test]
fn packet_too_big_is_unreachable_with_an_mtu() {
    let message = Icmp::Unreachable { code: 0, next_hop_mtu: 1400, original: vec![7; 8].into() };
    let bytes = bytes_of(&v6(Body::Icmp(message.clone())));
    assert_eq!(bytes[40..42], [2, 0]);
    assert_eq!(bytes[44..48], 1400u32.to_be_bytes());
    assert_eq!(Packet::parse(&bytes).map(|packet| packet.body), Ok(Body::Icmp(message)));
    let unreachable = Icmp::Unreachable { code: 4, next_hop_mtu: 0, original: vec![7; 8].into() };
    assert_eq!(bytes_of(&v6(Body::Icmp(unreachable.clone())))[40..42], [1, 4]);
    assert_eq!(bytes_of(&v4(Body::Icmp(unreachable)))[20..22], [3, 4]);
}

#[test]
fn datagram_that_our_layout_would_make_too_long_is_refused() {
    // Options of 8 bytes that take 12 once aligned, in the longest datagram there is.
    let mut bytes = with_options(&[30, 5, 0x40, 2, 3, 3, 3, 7]);
    bytes.resize(65_535, 0);
    bytes[2..4].fill(0xFF);
    let refused = ParseError::Length { layer: Layer::Ipv4, len: 65_539 };
    assert_eq!(Packet::parse_captured(&bytes), Err(refused));
}
