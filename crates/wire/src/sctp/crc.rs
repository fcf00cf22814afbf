//! CRC32c of the SCTP common header (RFC 9260 s6.8 and appendix A).
//!
//! The field has the least significant byte first, other than every other field. Packets that
//! carry the Adler-32 of RFC 2960 s6.8 are refused with a reason of their own.

use crate::error::{Layer, ParseError, be16, be32};

/// Offset of the checksum in the common header, in bytes.
const FIELD: usize = 8;
/// Bytes of the common header.
pub(super) const HEADER: usize = 12;
/// Chunks of a packet at most whose end is looked for.
const MAX_CHUNKS: usize = 256;
/// Modulus of Adler-32: the largest prime below 2^16.
const ADLER_MODULUS: u32 = 65_521;

/// CRC32c over `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    ::crc32c::crc32c(bytes)
}

/// Writes the CRC32c of an SCTP packet into its common header.
///
/// # Panics
/// If `packet` is shorter than the common header of 12 bytes.
pub fn fill_checksum(packet: &mut [u8]) {
    let crc = checksum(packet);
    packet[FIELD..HEADER].copy_from_slice(&crc.to_le_bytes());
}

/// Flips one bit of a checksum that was filled in. The result is never zero, which a capture's
/// reader takes for a checksum left to the hardware, nor the Adler-32.
pub(crate) fn damage_checksum(packet: &mut [u8]) {
    let adler = over_pieces(packet, adler32_append, 1);
    let right = field(packet);
    // Of three different numbers one is neither of two.
    let wrong = [1, 2, 4].map(|bit| right ^ bit).into_iter();
    let wrong = wrong.into_iter().find(|wrong| *wrong != 0 && *wrong != adler.swap_bytes());
    packet[FIELD..HEADER].copy_from_slice(&wrong.unwrap_or(!right).to_le_bytes());
}

/// Whether the checksum of `packet`, at least a common header, is right.
///
/// # Errors
/// `ParseError::Adler32` if it is right by RFC 2960, otherwise `ParseError::Checksum`.
pub(crate) fn verify_checksum(packet: &[u8]) -> Result<(), ParseError> {
    let received = field(packet);
    if received == checksum(packet) {
        return Ok(());
    }
    let adler = over_pieces(packet, adler32_append, 1);
    // Adler-32 has the byte order of the network.
    if be32(packet, FIELD) == adler {
        return Err(ParseError::Adler32);
    }
    Err(ParseError::Checksum(Layer::Sctp))
}

/// Length of the packet at the beginning of `bytes`, which others follow: up to the first chunk
/// where the checksum is right.
pub(super) fn first_len(bytes: &[u8]) -> Option<usize> {
    let header = bytes.get(..HEADER)?;
    let mut crc = checksum(header);
    let mut end = HEADER;
    for _ in 0..MAX_CHUNKS {
        let len = be16(bytes.get(end..end + 4)?, 2);
        let chunk = bytes.get(end..end + usize::from(len).next_multiple_of(4))?;
        crc = ::crc32c::crc32c_append(crc, chunk);
        end += chunk.len();
        if chunk.is_empty() || crc == field(header) {
            return (!chunk.is_empty()).then_some(end);
        }
    }
    None
}

/// Whether the checksum field of `packet` is zero, as it is before the hardware fills it in.
pub(crate) fn is_unfilled(packet: &[u8]) -> bool {
    field(packet) == 0
}

fn field(packet: &[u8]) -> u32 {
    u32::from_le_bytes([packet[8], packet[9], packet[10], packet[11]])
}

fn checksum(packet: &[u8]) -> u32 {
    over_pieces(packet, ::crc32c::crc32c_append, 0)
}

/// A running sum over a packet whose checksum field counts as zero.
fn over_pieces(packet: &[u8], append: impl Fn(u32, &[u8]) -> u32, initial: u32) -> u32 {
    let pieces = [&packet[..FIELD], &[0; 4], &packet[HEADER..]];
    pieces.into_iter().fold(initial, append)
}

/// Adler-32 (RFC 2960 appendix B) of what was summed before and of `bytes`.
fn adler32_append(sum: u32, bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (sum & 0xFFFF, sum >> 16);
    for byte in bytes {
        a = (a + u32::from(*byte)) % ADLER_MODULUS;
        b = (b + a) % ADLER_MODULUS;
    }
    b << 16 | a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 9260 appendix A bit by bit.
    fn bitwise(bytes: &[u8]) -> u32 {
        let mut crc = u32::MAX;
        for byte in bytes {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ 0x82F6_3B78 } else { crc >> 1 };
            }
        }
        !crc
    }

    #[test]
    fn check_values_of_crc32c() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[]), 0);
    }

    #[test]
    fn check_value_of_adler_32() {
        assert_eq!(adler32_append(1, b"Wikipedia"), 0x11E6_0398);
    }

    #[test]
    fn damaged_checksum_is_wrong_and_neither_zero_nor_adler_32() {
        for seed in 0..200u8 {
            let mut packet = vec![seed; 12 + usize::from(seed)];
            fill_checksum(&mut packet);
            assert_eq!(verify_checksum(&packet), Ok(()));
            damage_checksum(&mut packet);
            assert_eq!(verify_checksum(&packet), Err(ParseError::Checksum(Layer::Sctp)));
            assert!(!is_unfilled(&packet));
        }
    }

    proptest! {
        #[test]
        fn crc_over_pieces_is_the_crc_bit_by_bit(
            bytes in proptest::collection::vec(any::<u8>(), 12..200),
        ) {
            let mut zeroed = bytes.clone();
            zeroed[FIELD..HEADER].fill(0);
            prop_assert_eq!(checksum(&bytes), bitwise(&zeroed));
            prop_assert_eq!(crc32c(&bytes), bitwise(&bytes));
        }
    }
}
