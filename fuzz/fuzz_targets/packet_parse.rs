//! Any bytes: `Packet::parse` never panics, and what parses survives being emitted.
//!
//! Checksums stop nearly all random bytes, so the lenient entry is tried too.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::Packet;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(packet) = Packet::parse(bytes) {
        assert_eq!(Packet::parse(&emitted(&packet)), Ok(packet));
    }
    if let Ok(packet) = Packet::parse_captured(bytes) {
        assert!(packet.payload_len() as usize <= bytes.len());
        assert_eq!(Packet::parse_captured(&emitted(&packet)), Ok(packet));
    }
});

fn emitted(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.emit(&mut bytes);
    bytes
}
