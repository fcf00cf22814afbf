//! Any bytes with a right CRC32c as SCTP packet: parsing never panics, what parses is the same
//! after emit and parse, and takes no more memory than a small multiple of the bytes.

#![no_main]

mod memory;

use libfuzzer_sys::fuzz_target;
use memory::Counting;
use wire::sctp::{
    AuthKey, Chunk, CookieSecret, HeartbeatInfo, KeyVector, StateCookie, fill_checksum,
};
use wire::{ParseError, SctpPacket};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A chunk without value is a value of 64 bytes, and a list has room for twice its length.
const MEMORY_PER_BYTE: usize = 40;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    if bytes.len() >= 12 {
        fill_checksum(&mut bytes);
    }
    let before = memory::live();
    let parsed = SctpPacket::parse(&bytes);
    let taken = memory::live() - before;
    assert!(taken <= (MEMORY_PER_BYTE * bytes.len()) as isize, "{taken} of {}", bytes.len());
    match parsed {
        Ok(packet) => check(&packet, bytes.len()),
        Err(error) => assert!(!matches!(error, ParseError::Checksum(_) | ParseError::Adler32)),
    }
});

/// The packet is stable, and the checks of a receiver do not panic.
fn check(packet: &SctpPacket, len: usize) {
    let mut again = Vec::new();
    packet.emit(&mut again);
    assert_eq!(again.len(), packet.wire_len() as usize);
    assert!(again.len() <= len.next_multiple_of(4));
    assert_eq!(SctpPacket::parse(&again).as_ref(), Ok(packet));
    packet.discard();
    assert!(packet.admitted().chunks.len() <= packet.chunks.len());
    let key = AuthKey::new(b"", &KeyVector::default(), &KeyVector::default());
    packet.authenticated_from(&key);
    for chunk in &packet.chunks {
        match chunk {
            Chunk::Init(init) => _ = init.fault(),
            Chunk::InitAck(init) => _ = init.ack_fault(),
            Chunk::Heartbeat(list) | Chunk::HeartbeatAck(list) => _ = HeartbeatInfo::of(list),
            Chunk::CookieEcho(cookie) => {
                let secret = CookieSecret { id: 7, secret: std::array::from_fn(|i| i as u8) };
                _ = StateCookie::open(cookie, &[secret], packet, 0);
            }
            Chunk::Sack(sack) => _ = sack.highest(),
            Chunk::NrSack(sack) => _ = sack.highest(),
            _ => {}
        }
    }
}
