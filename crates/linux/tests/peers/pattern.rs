//! User data of the tests, which differ at every position, and their hash.

/// Bytes of a pattern from a position on.
pub(crate) fn bytes(seed: u64, from: u64, len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len + 16);
    let mut word = from / 8;
    while bytes.len() < len + 8 {
        bytes.extend_from_slice(&self::word(seed.wrapping_add(word)).to_le_bytes());
        word += 1;
    }
    bytes.drain(..(from % 8) as usize);
    bytes.truncate(len);
    bytes
}

/// A word for every value (SplitMix64).
pub(crate) fn word(value: u64) -> u64 {
    let z = value.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// FNV-1a of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hash(pub u64);

impl Hash {
    /// The hash of nothing.
    pub(crate) const EMPTY: Hash = Hash(0xCBF2_9CE4_8422_2325);

    /// Adds bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }

    /// The hash of the first `len` bytes of a pattern.
    pub(crate) fn of_pattern(seed: u64, len: u64) -> Hash {
        let mut hash = Hash::EMPTY;
        let mut at = 0;
        while at < len {
            let step = (len - at).min(1 << 16);
            hash.add(&bytes(seed, at, step as usize));
            at += step;
        }
        hash
    }
}

#[test]
fn pattern_is_the_same_from_any_position() {
    let whole = bytes(7, 0, 100);
    for from in 0..20 {
        assert_eq!(bytes(7, from, 50), whole[from as usize..][..50]);
    }
}
