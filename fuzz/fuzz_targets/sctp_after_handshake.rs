//! Raw packets after a valid handshake: any chunks with the right ports, tag and checksum, to a
//! host whose association is open and has data under way.
//!
//! Nothing panics, nothing loops, memory stays bounded, and no data go to an address that is not
//! the peer's.

#![no_main]

mod associations;
mod memory;

use associations::{Associations, address};
use base::Duration;
use libfuzzer_sys::fuzz_target;
use memory::Counting;
use transport::sctp::SctpConfig;
use wire::SctpPacket;
use wire::sctp::fill_checksum;

#[global_allocator]
static MEMORY: Counting = Counting;

/// Bytes that two hosts with an association may take.
const MOST_MEMORY: isize = 32 << 20;

fuzz_target!(|bytes: &[u8]| {
    let before = memory::live();
    let mut pair = Associations::new([SctpConfig::default(), SctpConfig::default()]);
    pair.pass(Duration::from_secs(2));
    let mut rest = bytes;
    while let [head, tail @ ..] = rest {
        // The first byte of each packet says where it goes and how long it is.
        let (side, len) = (usize::from(head & 1), usize::from(head >> 1) * 4 + 4);
        let (chunks, left) = tail.split_at(len.min(tail.len()));
        rest = left;
        let Some(packet) = packet(&pair, side, chunks) else { continue };
        pair.inject(side, address(1 - side, 0), address(side, 0), packet);
        pair.pass(Duration::from_millis(5));
        assert!(memory::live() - before < MOST_MEMORY, "too much memory");
    }
    pair.pass(Duration::from_secs(200));
});

/// A packet of the association with these bytes as chunks.
fn packet(pair: &Associations, side: usize, chunks: &[u8]) -> Option<SctpPacket> {
    let (_, model) = pair.models.iter().rev().find(|(from, _)| *from != side)?;
    let wire::Body::Sctp(model) = &model.body else { return None };
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&model.src_port.to_be_bytes());
    bytes.extend_from_slice(&model.dst_port.to_be_bytes());
    bytes.extend_from_slice(&model.tag.0.to_be_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(chunks);
    fill_checksum(&mut bytes);
    SctpPacket::parse(&bytes).ok()
}
