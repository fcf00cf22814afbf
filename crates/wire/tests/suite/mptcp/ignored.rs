//! What RFC 8684 requires to ignore is ignored and counted; damaged option lists stay refused.

use super::bytes;
use wire::mptcp::{Capable, CapableFlags, CapableForm};
use wire::{Body, Flags, MptcpOption, Packet, Payload, SeqNumber, TcpOptions, TcpSegment};

/// The options of a header that holds these bytes, padded with NOPs.
fn parsed(hex: &str) -> Result<TcpOptions, wire::ParseError> {
    let mut options = bytes(hex);
    options.resize(options.len().next_multiple_of(4), 1);
    let segment = TcpSegment {
        src_port: 1,
        dst_port: 2,
        seq: SeqNumber(3),
        flags: Flags::ACK,
        payload: Payload::from(options.clone()),
        ..TcpSegment::default()
    };
    let packet = Packet::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), Body::Tcp(segment));
    let mut datagram = Vec::new();
    packet.emit(&mut datagram);
    // The payload becomes the options; the checksum becomes one left to the hardware.
    datagram[32] = ((20 + options.len()) as u8 / 4) << 4;
    datagram[36..38].fill(0);
    Packet::parse_captured(&datagram).map(|packet| match packet.body {
        Body::Tcp(segment) => segment.options,
        other => unreachable!("{other:?}"),
    })
}

#[test]
fn wrong_lengths_and_unknown_subtypes_are_ignored_and_counted() {
    // Every length of every subtype; the right ones are in the table of the specification.
    let right = |subtype: u8, flags: u8, len: usize| match subtype {
        0 if flags != 1 => len > 3,
        0 => [4, 12, 20, 22, 24].contains(&len),
        1 => [12, 16, 24].contains(&len),
        // All fields zero mean that there are no more.
        2 => len == 4,
        3 if flags & 1 == 1 => [8, 10, 20, 22].contains(&len),
        3 => [16, 18, 28, 30].contains(&len),
        4 => len > 3,
        5 => len == 3,
        6 | 7 => len == 12,
        8 => len == 4,
        _ => false,
    };
    for (subtype, flags) in (0..16u8).flat_map(|subtype| [(subtype, 0), (subtype, 1)]) {
        for len in 3..=40usize {
            let mut option = vec![0u8; len];
            option[..3].copy_from_slice(&[30, len as u8, subtype << 4 | flags]);
            let hex: String = option.iter().map(|byte| format!("{byte:02x}")).collect();
            let mptcp = parsed(&hex).unwrap().mptcp;
            // A MP_CAPABLE without any flags has its place: others decide about it.
            let expected = usize::from(!right(subtype, flags, len));
            assert_eq!(usize::from(mptcp.ignored()), expected, "{hex}");
            assert_eq!(mptcp.is_empty(), expected == 1, "{hex}");
        }
    }
    assert_eq!(parsed("1e02").unwrap().mptcp.ignored(), 1, "no subtype");
}

#[test]
fn dss_of_any_length_but_that_of_its_flags_is_ignored() {
    for flags in 0..32u8 {
        let ack = [0, 4, 0, 8][usize::from(flags & 3)];
        let mapping = [0, 10, 0, 14][usize::from(flags >> 2 & 3)];
        let plain = 4 + ack + mapping;
        for len in 4..=32usize {
            let mut content = vec![0u8; len - 2];
            content[..2].copy_from_slice(&[0x20, flags]);
            let with_checksum = mapping > 0 && len == plain + 2;
            let dss = MptcpOption::parse(&content);
            assert_eq!(dss.is_some(), len == plain || with_checksum, "flags {flags:#x}, {len}");
            if let Some(MptcpOption::Dss(dss)) = dss {
                assert_eq!(dss.wire_len() as usize, len);
                let checksum = dss.mapping().and_then(|mapping| mapping.checksum);
                assert_eq!(checksum, with_checksum.then_some(0));
            }
        }
    }
}

#[test]
fn reserved_bits_are_ignored_where_they_are_no_flags() {
    let cases = [
        ("1e0820e18e087c8f", "1e0820018e087c8f"),
        ("1e04200a", "1e042000"),
        ("1e0c1e05ccad45ac21222324", "1e0c1005ccad45ac21222324"),
        ("1e083f03c0000207", "1e083103c0000207"),
        ("1e035f", "1e0351"),
        ("1e044f05", "1e044005"),
        ("1e048e04", "1e048004"),
        ("1e0c6fff0000000000000001", "1e0c60000000000000000001"),
    ];
    for (received, meant) in cases {
        let received = MptcpOption::parse(&bytes(received)[2..]);
        assert!(received.is_some());
        assert_eq!(received, MptcpOption::parse(&bytes(meant)[2..]), "{meant}");
    }
}

#[test]
fn first_dss_counts_and_the_second_is_ignored() {
    let mptcp = parsed("1e0820018e087c8f1e0820018e087c90").unwrap().mptcp;
    assert_eq!(MptcpOption::parse(&bytes("20018e087c8f")), mptcp.dss.map(MptcpOption::Dss));
    assert_eq!((mptcp.ignored(), mptcp.others()), (1, &[][..]));
}

#[test]
fn other_options_beside_an_ignored_one_are_kept() {
    let options = parsed("1e03f0020405b41e0820018e087c8f1e0351").unwrap();
    assert_eq!(options.mss, Some(1460));
    assert!(options.mptcp.dss.is_some());
    assert_eq!(options.mptcp.others(), [MptcpOption::Prio { backup: true }]);
    assert_eq!(options.mptcp.ignored(), 1);
}

#[test]
fn other_versions_are_reported_as_unsupported_whatever_they_carry() {
    for (hex, version) in [
        ("1e0c00819c9eabd1e46a33b2", 0),
        ("1e1400819c9eabd1e46a33b2967d2770b6960552", 0),
        ("1e040201", 2),
        ("1e050f01ff", 15),
    ] {
        let options = parsed(hex).unwrap();
        assert_eq!(options.mptcp.capable(), Some(Capable::Unsupported { version }), "{hex}");
    }
}

#[test]
fn flags_of_an_mp_capable_tell_whether_to_ignore_it() {
    let ignored = |hex| match parsed(hex).unwrap().mptcp.capable() {
        Some(Capable::V1 { flags, form: CapableForm::Syn }) => flags.must_be_ignored(),
        other => unreachable!("{other:?}"),
    };
    assert!(!ignored("1e040101") && !ignored("1e0401a1"));
    assert!(ignored("1e040100"), "no algorithm");
    assert!(ignored("1e040110"), "no algorithm of ours");
    assert!(ignored("1e040141"), "extension");
    let both = CapableFlags::CHECKSUM.with(CapableFlags::NO_JOIN);
    assert!(both.contains(CapableFlags::NO_JOIN) && !CapableFlags::CHECKSUM.contains(both));
}

#[test]
fn option_beyond_the_header_is_refused() {
    for hex in ["1e0c20018e087c8f", "0101011e", "1e000000", "1e012001"] {
        let (kind, len) = if hex.starts_with("01") { (30, 0) } else { (30, bytes(hex)[1]) };
        assert_eq!(parsed(hex), Err(wire::ParseError::TcpOption { kind, len }), "{hex}");
    }
}
