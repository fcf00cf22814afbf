//! MPTCP: every vector of the specification, what is ignored, properties, and captures.

mod captures;
mod ignored;
mod properties;
mod tshark;
mod vectors;

use wire::mptcp::Key;

/// The keys and nonces of vector set V.
pub(crate) const KEY_A: Key = Key(0x0102_0304_0506_0708);
pub(crate) const KEY_B: Key = Key(0x1112_1314_1516_1718);
pub(crate) const NONCE_A: u32 = 0x2122_2324;
pub(crate) const NONCE_B: u32 = 0x3132_3334;

/// The bytes of an even number of hexadecimal digits.
pub(crate) fn bytes(hex: &str) -> Vec<u8> {
    assert_eq!(hex.len() % 2, 0, "{hex}");
    let digits = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}
