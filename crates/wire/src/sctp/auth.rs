//! AUTH (RFC 4895): the chunk, the association key, and signing and verifying packets.
//!
//! Which chunks must be authenticated is left to `transport`. The HMAC of a packet that was parsed
//! is that of its chunks as this module emits them, with zeros in padding and reserved fields, as
//! RFC 9260 s3.2 demands of senders.

use super::{Chunk, Parameter, SctpPacket};
use crate::fields::Fields;
use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::Sha256;
use std::cmp::Ordering;

/// Authenticates the chunks behind it (RFC 4895 s4.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Auth {
    /// Shared key identifier.
    pub key_id: u16,
    /// HMAC identifier, which may be one that is not supported.
    pub hmac_id: u16,
    /// HMAC over this chunk, with zeros in its place, and the following ones.
    pub hmac: Bytes,
}

/// A supported HMAC algorithm (RFC 4895 s3.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuthHmac {
    /// HMAC-SHA-1, mandatory to implement.
    Sha1,
    /// HMAC-SHA-256.
    Sha256,
}

/// Key vector: RANDOM, CHUNKS and HMAC-ALGO of one side as sent, without padding (RFC 4895 s6.1).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeyVector(Vec<u8>);

/// Association shared key (RFC 4895 s6.1).
#[derive(Clone, PartialEq, Eq)]
pub struct AuthKey(Vec<u8>);

impl AuthHmac {
    /// The algorithm with this identifier.
    pub const fn of_id(id: u16) -> Option<AuthHmac> {
        match id {
            1 => Some(AuthHmac::Sha1),
            3 => Some(AuthHmac::Sha256),
            _ => None,
        }
    }

    /// HMAC identifier.
    pub const fn id(self) -> u16 {
        match self {
            AuthHmac::Sha1 => 1,
            AuthHmac::Sha256 => 3,
        }
    }

    /// Bytes of an HMAC.
    pub const fn output_len(self) -> usize {
        match self {
            AuthHmac::Sha1 => 20,
            AuthHmac::Sha256 => 32,
        }
    }

    fn compute(self, key: &AuthKey, message: &[u8]) -> Option<Bytes> {
        match self {
            AuthHmac::Sha1 => mac::<Hmac<Sha1>>(key, message),
            AuthHmac::Sha256 => mac::<Hmac<Sha256>>(key, message),
        }
    }
}

impl KeyVector {
    /// The key vector of a side that sent `parameters` in its INIT or INIT ACK.
    pub fn of(parameters: &[Parameter]) -> KeyVector {
        let mut vector = Vec::new();
        let of_kind: [fn(&Parameter) -> bool; 3] = [
            |parameter| matches!(parameter, Parameter::Random(_)),
            |parameter| matches!(parameter, Parameter::AuthenticatedChunks(_)),
            |parameter| matches!(parameter, Parameter::HmacAlgorithms(_)),
        ];
        for is_kind in of_kind {
            if let Some(parameter) = parameters.iter().find(|parameter| is_kind(parameter)) {
                parameter.emit(&mut vector);
            }
        }
        KeyVector(vector)
    }

    /// The vector as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Order as numbers in network byte order; of equal ones the shorter is smaller.
    fn compare(&self, other: &KeyVector) -> Ordering {
        let digits = |vector: &KeyVector| {
            let zeros = vector.0.iter().take_while(|byte| **byte == 0).count();
            vector.0[zeros..].to_vec()
        };
        let (a, b) = (digits(self), digits(other));
        a.len().cmp(&b.len()).then(a.cmp(&b)).then(self.0.len().cmp(&other.0.len()))
    }
}

impl AuthKey {
    /// The key of two sides with the endpoint pair shared key `shared`, which may be empty. It is
    /// the same for both sides.
    pub fn new(shared: &[u8], one: &KeyVector, other: &KeyVector) -> AuthKey {
        let (smaller, larger) = match one.compare(other) {
            Ordering::Greater => (other, one),
            _ => (one, other),
        };
        AuthKey([shared, &smaller.0, &larger.0].concat())
    }
}

impl std::fmt::Debug for AuthKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AuthKey({} bytes)", self.0.len())
    }
}

impl Auth {
    /// A chunk whose HMAC is still to be computed.
    pub fn unsigned(key_id: u16, hmac: AuthHmac) -> Auth {
        Auth { key_id, hmac_id: hmac.id(), hmac: vec![0; hmac.output_len()].into() }
    }

    pub(super) fn value_len(&self) -> u32 {
        4 + self.hmac.len() as u32
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.key_id.to_be_bytes());
        out.extend_from_slice(&self.hmac_id.to_be_bytes());
        out.extend_from_slice(&self.hmac);
    }

    /// An HMAC of another length than that of its algorithm is malformed.
    pub(super) fn parse(value: &[u8]) -> Option<Auth> {
        let mut fields = Fields(value);
        let (key_id, hmac_id) = (fields.u16()?, fields.u16()?);
        let fits = AuthHmac::of_id(hmac_id).is_none_or(|hmac| hmac.output_len() == fields.0.len());
        fits.then(|| Auth { key_id, hmac_id, hmac: Bytes::copy_from_slice(fields.0) })
    }
}

impl SctpPacket {
    /// Fills in the HMAC of the AUTH chunk, if there is one with a supported algorithm.
    pub fn sign(&mut self, key: &AuthKey) {
        let Some((at, hmac)) = self.authenticator(key) else { return };
        if let Chunk::Auth(auth) = &mut self.chunks[at] {
            auth.hmac = hmac;
        }
    }

    /// Number of chunks up to and including an AUTH whose HMAC is right: those behind it are
    /// authenticated. `None` if there is no AUTH, or a wrong one, or one that is not supported.
    pub fn authenticated_from(&self, key: &AuthKey) -> Option<usize> {
        let (at, expected) = self.authenticator(key)?;
        let Chunk::Auth(auth) = &self.chunks[at] else { return None };
        crate::mptcp::is_same(&expected, &auth.hmac).then_some(at + 1)
    }

    /// Position of the AUTH chunk and what its HMAC must be.
    fn authenticator(&self, key: &AuthKey) -> Option<(usize, Bytes)> {
        let is_auth = |chunk: &Chunk| matches!(chunk, Chunk::Auth(_));
        let at = self.chunks.iter().position(is_auth)?;
        let Chunk::Auth(auth) = &self.chunks[at] else { return None };
        let hmac = AuthHmac::of_id(auth.hmac_id)?;
        let mut message = Vec::new();
        Chunk::Auth(Auth::unsigned(auth.key_id, hmac)).emit(&mut message);
        self.chunks[at + 1..].iter().for_each(|chunk| chunk.emit(&mut message));
        Some((at, hmac.compute(key, &message)?))
    }
}

/// HMACs take keys of any length, so this is never `None`.
fn mac<M: Mac + KeyInit>(key: &AuthKey, message: &[u8]) -> Option<Bytes> {
    let mac = <M as KeyInit>::new_from_slice(&key.0).ok()?.chain_update(message);
    Some(Bytes::copy_from_slice(&mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_vector_is_larger_and_leading_zeros_count_last() {
        let vector = |bytes: &[u8]| KeyVector(bytes.to_vec());
        let order = |a: &[u8], b: &[u8]| vector(a).compare(&vector(b));
        assert_eq!(order(&[1, 0], &[255]), Ordering::Greater);
        assert_eq!(order(&[1, 2], &[1, 3]), Ordering::Less);
        assert_eq!(order(&[0, 5], &[5]), Ordering::Greater);
        assert_eq!(order(&[5], &[5]), Ordering::Equal);
    }

    #[test]
    fn key_is_the_same_on_both_sides_and_is_not_shown() {
        let (a, b) = (KeyVector(vec![9, 1]), KeyVector(vec![3, 7, 7]));
        let key = AuthKey::new(b"shared", &a, &b);
        assert_eq!(key, AuthKey::new(b"shared", &b, &a));
        assert_eq!(key.0, b"shared\x09\x01\x03\x07\x07");
        assert_eq!(format!("{key:?}"), "AuthKey(11 bytes)");
    }
}
