//! Any bytes as MPTCP option, and as the options of a TCP header: parsing never panics, what
//! parses is the same after emit and parse, takes no more room than it came in, and fits.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{Body, MptcpOption, Packet, TcpOptions, TcpSegment};

fuzz_target!(|bytes: &[u8]| {
    let bytes = &bytes[..bytes.len().min(40)];
    if let Some(option) = MptcpOption::parse(bytes) {
        let mut emitted = Vec::new();
        option.emit(&mut emitted);
        assert_eq!(emitted.len() as u32, option.wire_len());
        assert!(emitted.len() <= bytes.len() + 2);
        assert_eq!(MptcpOption::parse(&emitted[2..]), Some(option));
    }
    if let Some(options) = parsed(bytes) {
        let len = options.padded_len();
        assert!(len <= 40);
        assert!(len + options.space_left() == 40 || options.space_left() == 0);
        let alone = TcpSegment { options: options.clone(), ..TcpSegment::default() };
        assert_eq!(
            packet(alone).roundtrip(),
            Ok(packet(TcpSegment { options, ..TcpSegment::default() }))
        );
    }
});

fn packet(segment: TcpSegment) -> Packet {
    Packet::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), Body::Tcp(segment))
}

/// The options that `bytes`, padded, are in a header.
fn parsed(bytes: &[u8]) -> Option<TcpOptions> {
    let mut options = bytes.to_vec();
    options.resize(bytes.len().next_multiple_of(4), 1);
    let mut datagram = Vec::new();
    let payload = options.clone().into();
    packet(TcpSegment { payload, ..TcpSegment::default() }).emit(&mut datagram);
    // The payload becomes the options, the checksum one that was left to the hardware.
    datagram[32] = ((20 + options.len()) as u8 / 4) << 4;
    datagram[36..38].fill(0);
    match Packet::parse_captured(&datagram).ok()?.body {
        Body::Tcp(segment) => Some(segment.options),
        other => unreachable!("{other:?}"),
    }
}
