//! `Checksum`: the ones-complement sum of IP, TCP, UDP and ICMP (RFC 1071).
//!
//! A sum is kept modulo 65535, where swapping the bytes of every word is a multiplication by 256.
//! Pieces that begin at odd positions can therefore be summed separately and combined. The sum of
//! a virtual payload is left to `virtual_stream`.

use crate::Payload;
use crate::payload::Content;
use std::net::IpAddr;

/// A running ones-complement sum over consecutive pieces, at any alignment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum {
    sum: u64,
    /// The next piece begins at an odd position.
    odd: bool,
}

impl Checksum {
    /// The sum over no bytes.
    pub const fn new() -> Self {
        Checksum { sum: 0, odd: false }
    }

    /// The sum over no bytes, before a piece that begins at an odd (`true`) or even position.
    pub const fn at(odd: bool) -> Self {
        Checksum { sum: 0, odd }
    }

    /// The sum over the pseudo header of TCP, UDP and ICMPv6 (RFC 9293 s3.1, RFC 8200 s8.1).
    /// `len` is that of the transport unit, in bytes.
    pub fn pseudo_header(src: IpAddr, dst: IpAddr, protocol: u8, len: u32) -> Self {
        let mut sum = Checksum::new();
        for address in [src, dst] {
            match address {
                IpAddr::V4(address) => sum.add_bytes(&address.octets()),
                IpAddr::V6(address) => sum.add_bytes(&address.octets()),
            }
        }
        sum.add_bytes(&len.to_be_bytes());
        sum.add_bytes(&u16::from(protocol).to_be_bytes());
        sum
    }

    /// Append real bytes.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        self.add_aligned(sum_of_bytes(bytes), bytes.len());
    }

    /// Append a payload; a virtual one costs O(1).
    pub fn add_payload(&mut self, payload: &Payload) {
        match payload.content() {
            Content::Empty => {}
            Content::Virtual(range) => self.add_aligned(range.sum().into(), range.len as usize),
            Content::Real(bytes) => self.add_bytes(bytes),
            Content::Mixed(pieces) => pieces.iter().for_each(|piece| self.add_payload(piece)),
        }
    }

    /// The folded sum, not complemented.
    pub const fn fold(self) -> u16 {
        fold(self.sum)
    }

    /// The value of the checksum field: the complement of the sum.
    pub const fn finish(self) -> u16 {
        !self.fold()
    }

    /// Whether a received checksum field matches the sum, in either form of zero.
    pub const fn agrees_with(self, checksum: u16) -> bool {
        matches!(fold(self.sum + checksum as u64), 0 | 0xFFFF)
    }

    /// Append a piece of `len` bytes whose sum is `sum` if it begins at an even position.
    fn add_aligned(&mut self, sum: u64, len: usize) {
        let sum = u64::from(fold(sum));
        self.sum += if self.odd { sum << 8 } else { sum };
        self.odd ^= len % 2 == 1;
    }
}

/// The sum over bytes that begin at an even position, not folded.
fn sum_of_bytes(bytes: &[u8]) -> u64 {
    // Words of 32 bits give the same sum as words of 16: 2^16 is 1 modulo 65535. In the order of
    // the machine they need no swap each, and four sums none of which waits for another one take a
    // third of the time; the bytes of the sum are in the order of the words' (RFC 1071 s2).
    let mut blocks = bytes.chunks_exact(16);
    let mut sums = [0u64; 4];
    for block in &mut blocks {
        for (sum, word) in sums.iter_mut().zip(block.as_chunks::<4>().0) {
            *sum += u64::from(u32::from_ne_bytes(*word));
        }
    }
    let mut last = [0; 16];
    last[..blocks.remainder().len()].copy_from_slice(blocks.remainder());
    for (sum, word) in sums.iter_mut().zip(last.as_chunks::<4>().0) {
        *sum += u64::from(u32::from_ne_bytes(*word));
    }
    u64::from(u16::from_be(fold(sums.iter().sum())))
}

/// Adds the carries until 16 bits are left; zero only for zero.
const fn fold(mut sum: u64) -> u16 {
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1071 s1, word by word.
    fn naive(bytes: &[u8]) -> u16 {
        let mut sum = 0u32;
        for (i, byte) in bytes.iter().enumerate() {
            sum += if i % 2 == 0 { u32::from(*byte) << 8 } else { u32::from(*byte) };
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        sum as u16
    }

    /// Zero has two forms in ones-complement arithmetic.
    fn residue(sum: u16) -> u16 {
        sum % 0xFFFF
    }

    fn payload() -> impl Strategy<Value = Payload> {
        let piece = prop_oneof![
            (any::<u32>(), any::<u64>(), 0u32..3000)
                .prop_map(|(stream, offset, len)| Payload::virtual_range(stream, offset, len)),
            proptest::collection::vec(any::<u8>(), 0..100).prop_map(Payload::from),
        ];
        proptest::collection::vec(piece, 0..5).prop_map(|pieces| {
            let mut payload = Payload::EMPTY;
            pieces.into_iter().for_each(|piece| payload.append(piece));
            payload
        })
    }

    #[test]
    fn rfc_1071_section_3_example() {
        let bytes = [0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7];
        let mut sum = Checksum::new();
        sum.add_bytes(&bytes);
        assert_eq!(sum.fold(), 0xDDF2);
        assert_eq!(sum.finish(), 0x220D);
    }

    proptest! {
        #[test]
        fn sum_over_pieces_is_the_sum_over_the_whole(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            cuts in proptest::collection::vec(0usize..200, 0..5),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.push(bytes.len());
            cuts.sort_unstable();
            let (mut sum, mut from) = (Checksum::new(), 0);
            for cut in cuts {
                sum.add_bytes(&bytes[from..cut]);
                from = cut;
            }
            prop_assert_eq!(residue(sum.fold()), residue(naive(&bytes)));
        }

        #[test]
        fn sum_of_a_payload_is_the_sum_of_its_bytes(payload in payload(), odd in any::<bool>()) {
            let mut bytes = if odd { vec![0] } else { vec![] };
            payload.write_to(&mut bytes);
            let mut sum = Checksum::at(odd);
            sum.add_payload(&payload);
            prop_assert_eq!(residue(sum.fold()), residue(naive(&bytes)));
        }
    }
}
