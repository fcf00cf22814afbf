//! Keys and the values derived from them: token, initial data sequence number, HMACs (RFC 8684
//! s3.1, s3.2 and s3.4.1).
//!
//! Generating keys and nonces and keeping tokens unique is left to `transport`.

use hmac::{KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::net::IpAddr;

/// The 64-bit random key of one side of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Key(pub u64);

/// Identifies the receiver's connection in an `MP_JOIN`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Token(pub u32);

/// A whole HMAC-SHA256, of which options carry one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hmac(pub [u8; 32]);

impl Key {
    /// The token and the initial data sequence number, the first 32 and the last 64 bits of the
    /// key's SHA-256. The first byte of data has the number behind the initial one.
    pub fn derive(self) -> (Token, u64) {
        let hash: [u8; 32] = Sha256::digest(self.0.to_be_bytes()).into();
        let [a, b, c, d, .., s, t, u, v, w, x, y, z] = hash;
        (Token(u32::from_be_bytes([a, b, c, d])), u64::from_be_bytes([s, t, u, v, w, x, y, z]))
    }

    /// The token.
    pub fn token(self) -> Token {
        self.derive().0
    }

    /// The initial data sequence number.
    pub fn idsn(self) -> u64 {
        self.derive().1
    }
}

impl Hmac {
    /// The leftmost 8 bytes, for the SYN/ACK of a join.
    pub fn left8(&self) -> [u8; 8] {
        self.end(0)
    }

    /// The leftmost 20 bytes, for the third ACK of a join.
    pub fn left20(&self) -> [u8; 20] {
        self.end(0)
    }

    /// The rightmost 8 bytes, for an `ADD_ADDR`.
    pub fn right8(&self) -> [u8; 8] {
        self.end(24)
    }

    fn end<const N: usize>(&self, from: usize) -> [u8; N] {
        std::array::from_fn(|i| self.0[from + i])
    }
}

/// The HMAC of the `sender` of a join's SYN/ACK or third ACK: `HMAC-B` of the side that was
/// joined, `HMAC-A` of the one that joins (RFC 8684 s3.2).
pub fn join_hmac(sender: (Key, u32), receiver: (Key, u32)) -> Hmac {
    hmac(sender.0, receiver.0, &[&sender.1.to_be_bytes(), &receiver.1.to_be_bytes()])
}

/// The HMAC of an `ADD_ADDR` (RFC 8684 s3.4.1). Without a port, zero is signed.
pub fn add_addr_hmac(
    sender: Key,
    receiver: Key,
    address_id: u8,
    address: IpAddr,
    port: Option<u16>,
) -> Hmac {
    let port = port.unwrap_or(0).to_be_bytes();
    match address {
        IpAddr::V4(v4) => hmac(sender, receiver, &[&[address_id], &v4.octets(), &port]),
        IpAddr::V6(v6) => hmac(sender, receiver, &[&[address_id], &v6.octets(), &port]),
    }
}

/// Whether a received truncation is the expected one, in constant time.
pub(crate) fn is_same(expected: &[u8], received: &[u8]) -> bool {
    let pairs = expected.iter().zip(received);
    expected.len() == received.len() && pairs.fold(0, |acc, (a, b)| acc | (a ^ b)) == 0
}

/// HMAC-SHA256 with the concatenation of two keys over the parts of a message.
fn hmac(first: Key, second: Key, parts: &[&[u8]]) -> Hmac {
    // One block of SHA-256 holds the key with its zero padding (RFC 2104 s2).
    let mut block = [0; 64];
    block[..8].copy_from_slice(&first.0.to_be_bytes());
    block[8..16].copy_from_slice(&second.0.to_be_bytes());
    let mut mac = hmac::Hmac::<Sha256>::new(&block.into());
    parts.iter().for_each(|part| mac.update(part));
    Hmac(mac.finalize().into_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Keys and nonces A and B, then their tokens, initial numbers, `HMAC-A` and `HMAC-B`.
    type Set = ([Key; 2], [u32; 2], [u32; 2], [u64; 2], [&'static str; 2]);

    const V: Set = (
        [Key(0x0102_0304_0506_0708), Key(0x1112_1314_1516_1718)],
        [0x2122_2324, 0x3132_3334],
        [0x6684_0dda, 0xccad_45ac],
        [0xf5a1_01d3_d29d_6f72, 0x535b_eea3_8e08_7c8e],
        [
            "e19ad4ac22d51c2f064d49662431bc8f9d6b3a296b01db7d00bf81aee3362e2e",
            "0fce2597e55e87efdb418d2adc714b2145f5f6dcc484629a5803db567aff882f",
        ],
    );

    /// From a capture of two 6.18 kernels.
    const C: Set = (
        [Key(0xb399_aa3d_b451_9438), Key(0x8d1b_8e4c_0851_a0fb)],
        [0x82a3_4b0d, 0x570d_e170],
        [0x39ef_436a, 0x82bf_8f8c],
        [0xfbce_038d_1c9f_3e15, 0xe989_ffc4_935a_5bef],
        [
            "ddf517715609cdddd8c1fa72105710fa30e714f880e24839b58fccefba0ce2f2",
            "2bfc2526ab39ab469c9beb32462adac7fade4ff8a07517742644c20f467469de",
        ],
    );

    #[test]
    fn keys_give_the_tokens_and_initial_numbers_of_sets_v_and_c() {
        for (keys, _, tokens, idsns, _) in [V, C] {
            for side in [0, 1] {
                assert_eq!(keys[side].derive(), (Token(tokens[side]), idsns[side]));
                assert_eq!(keys[side].token(), Token(tokens[side]));
                assert_eq!(keys[side].idsn(), idsns[side]);
            }
        }
    }

    #[test]
    fn joins_give_the_hmacs_of_sets_v_and_c() {
        for ([key_a, key_b], [nonce_a, nonce_b], _, _, [hmac_a, hmac_b]) in [V, C] {
            let a = join_hmac((key_a, nonce_a), (key_b, nonce_b));
            let b = join_hmac((key_b, nonce_b), (key_a, nonce_a));
            assert_eq!((hex(&a.0).as_str(), hex(&b.0).as_str()), (hmac_a, hmac_b));
            assert_eq!(hex(&a.left20()), hmac_a[..40]);
            assert_eq!(hex(&b.left8()), hmac_b[..16]);
            assert_eq!(hex(&b.right8()), hmac_b[48..]);
        }
    }

    #[test]
    fn hmacs_of_the_kernel_self_test() {
        let cases = [
            (
                b"0b0b0b0b0b0b0b0b",
                b"48692054",
                "8385e24fb4235ac37556b6b886db106284a1da671699f46db1f235ec622dcafa",
            ),
            (
                b"aaaaaaaaaaaaaaaa",
                b"dddddddd",
                "2c5e219164ff1dca1c4a92318d847bb6b9d44492984e1eb71aff9022f71046e9",
            ),
            (
                b"0102030405060708",
                b"cdcdcdcd",
                "e73b9ba9969969cefb04aa0d6df18ec2fcc075b6f23b4d8c4da736a5dbbc6e7d",
            ),
        ];
        for (keys, message, expected) in cases {
            let half = |at: usize| u64::from_be_bytes(std::array::from_fn(|i| keys[at + i]));
            let nonce = |at: usize| u32::from_be_bytes(std::array::from_fn(|i| message[at + i]));
            let hmac = join_hmac((Key(half(0)), nonce(0)), (Key(half(8)), nonce(4)));
            assert_eq!(hex(&hmac.0), expected);
        }
    }

    #[test]
    fn truncations_are_compared_whole() {
        assert!(is_same(&[1, 2], &[1, 2]));
        assert!(!is_same(&[1, 2], &[1, 3]));
        assert!(!is_same(&[1, 2], &[0, 2]));
        assert!(!is_same(&[1, 2], &[1]));
    }
}
