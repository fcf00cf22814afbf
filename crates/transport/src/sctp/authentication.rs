//! `Authentication`: which chunks of an association are authenticated, and how (RFC 4895).
//!
//! Both sides name the chunk types that they accept authenticated only. There is no key of the
//! users: the key consists of what INIT and INIT ACK say. Formats and HMACs are left to `wire`.

use bytes::Bytes;
use std::collections::BTreeSet;
use wire::SctpPacket;
use wire::sctp::{Auth, AuthHmac, AuthKey, Cause, Chunk, KeyVector, Parameter};

/// Chunk types that this side accepts authenticated only: ASCONF and ASCONF ACK (RFC 5061 s4.1).
const OWN_CHUNKS: [u8; 2] = [0xC1, 0x80];
/// HMACs in the order of preference; SHA-1 is mandatory (RFC 4895 s3.3).
const OWN_HMACS: [u16; 2] = [AuthHmac::Sha256.id(), AuthHmac::Sha1.id()];
/// Chunk types that no CHUNKS can name (RFC 4895 s3.2): INIT, INIT ACK, SHUTDOWN COMPLETE, AUTH.
const NEVER: [u8; 4] = [0x01, 0x02, 0x0E, 0x0F];

/// Keys and rules of one association.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Authentication {
    key: AuthKey,
    /// HMAC of packets sent: the first of the peer's that this side has.
    hmac: AuthHmac,
    /// Chunk types that the peer accepts authenticated only.
    required: Box<[u8]>,
    /// Bytes that AUTH takes of every packet: none if only changes of addresses need it.
    reserve: u32,
}

/// Which chunks of a packet are processed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Admission {
    /// Chunks from here on are authenticated.
    authenticated_from: usize,
    /// Chunks from here on are dropped.
    dropped_from: usize,
    /// Cause of the ERROR that answers.
    pub(super) cause: Option<Cause>,
}

/// RANDOM, CHUNKS and HMAC-ALGO of this side.
pub(super) fn own_parameters(random: &[u8; 32]) -> Vec<Parameter> {
    vec![
        Parameter::Random(Bytes::copy_from_slice(random)),
        Parameter::AuthenticatedChunks(Bytes::from_static(&OWN_CHUNKS)),
        Parameter::HmacAlgorithms(OWN_HMACS.into()),
    ]
}

/// RANDOM, CHUNKS and HMAC-ALGO among `parameters`, the first of each.
pub(super) fn auth_parameters<'a>(
    parameters: impl Iterator<Item = &'a Parameter> + Clone,
) -> Vec<Parameter> {
    let is_kind: [fn(&Parameter) -> bool; 3] = [
        |parameter| matches!(parameter, Parameter::Random(_)),
        |parameter| matches!(parameter, Parameter::AuthenticatedChunks(_)),
        |parameter| matches!(parameter, Parameter::HmacAlgorithms(_)),
    ];
    is_kind.iter().filter_map(|is| parameters.clone().find(|one| is(one)).cloned()).collect()
}

impl Authentication {
    /// What two sides have agreed on by these parameters of theirs; `None` unless both have sent
    /// RANDOM and HMACs of which one is known.
    pub(super) fn new(own: &[Parameter], peer: &[Parameter]) -> Option<Authentication> {
        let has_random = |parameters: &[Parameter]| {
            parameters.iter().any(|parameter| matches!(parameter, Parameter::Random(_)))
        };
        if !has_random(own) || !has_random(peer) {
            return None;
        }
        let hmac = peer.iter().find_map(|parameter| match parameter {
            Parameter::HmacAlgorithms(ids) => ids.iter().find_map(|id| AuthHmac::of_id(*id)),
            _ => None,
        })?;
        let required = peer.iter().find_map(|parameter| match parameter {
            Parameter::AuthenticatedChunks(types) => {
                let listed = types.iter().copied().filter(|kind| !NEVER.contains(kind));
                // A list as long as a packet would be searched for every chunk.
                Some(listed.collect::<BTreeSet<u8>>().into_iter().collect())
            }
            _ => None,
        });
        let key = AuthKey::new(&[], &KeyVector::of(own), &KeyVector::of(peer));
        let required: Box<[u8]> = required.unwrap_or_default();
        let reserve = match required.iter().all(|kind| OWN_CHUNKS.contains(kind)) {
            true => 0,
            false => Chunk::Auth(Auth::unsigned(0, hmac)).padded_len(),
        };
        Some(Authentication { key, hmac, required, reserve })
    }

    /// Bytes that AUTH takes of every packet: none if only changes of addresses need it.
    pub(super) const fn reserve(&self) -> u32 {
        self.reserve
    }

    /// Puts AUTH before the first chunk that the peer wants authenticated.
    pub(super) fn protect(&self, packet: &mut SctpPacket) {
        let needs = |chunk: &Chunk| self.required.contains(&chunk.kind());
        if let Some(at) = packet.chunks.iter().position(needs) {
            let auth = Chunk::Auth(Auth::unsigned(0, self.hmac));
            packet.chunks.change(|chunks| chunks.insert(at, auth));
            packet.sign(&self.key);
        }
    }

    /// Whether a packet has a right AUTH.
    pub(super) fn is_authentic(&self, packet: &SctpPacket) -> bool {
        packet.authenticated_from(&self.key).is_some()
    }

    /// Which chunks of a packet are processed (RFC 4895 s6.3).
    pub(super) fn admit(&self, packet: &SctpPacket) -> Admission {
        let is_auth = |chunk: &Chunk| matches!(chunk, Chunk::Auth(_));
        let all = packet.chunks.len();
        let Some(at) = packet.chunks.iter().position(is_auth) else {
            return Admission { authenticated_from: all, dropped_from: all, cause: None };
        };
        let Chunk::Auth(auth) = &packet.chunks[at] else { return Admission::none() };
        let unsupported = AuthHmac::of_id(auth.hmac_id).is_none();
        // The only key is the one with the number 0.
        match packet.authenticated_from(&self.key).filter(|_| auth.key_id == 0) {
            Some(from) => Admission { authenticated_from: from, dropped_from: all, cause: None },
            None => Admission {
                authenticated_from: all,
                dropped_from: at,
                cause: unsupported.then_some(Cause::UnsupportedHmac(auth.hmac_id)),
            },
        }
    }
}

impl Admission {
    /// Without authentication: chunks that need it are dropped.
    pub(super) const fn none() -> Admission {
        Admission { authenticated_from: usize::MAX, dropped_from: usize::MAX, cause: None }
    }

    /// Whether the chunk at this position is processed.
    pub(super) fn takes(&self, at: usize, chunk: &Chunk) -> bool {
        let is_free = !OWN_CHUNKS.contains(&chunk.kind()) || at >= self.authenticated_from;
        at < self.dropped_from && is_free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::sctp::{AsconfAck, VerificationTag};

    fn sides() -> (Authentication, Authentication) {
        let (a, z) = (own_parameters(&[1; 32]), own_parameters(&[2; 32]));
        let new = |own, peer| Authentication::new(own, peer).expect("both have sent RANDOM");
        (new(&a, &z), new(&z, &a))
    }

    fn packet() -> SctpPacket {
        let ack = Chunk::AsconfAck(AsconfAck { serial: 7, responses: vec![] });
        let chunks = [Chunk::CookieAck, ack, Chunk::ShutdownAck].into();
        SctpPacket { src_port: 1, dst_port: 2, tag: VerificationTag(3), udp: None, chunks }
    }

    fn taken(side: &Authentication, packet: &SctpPacket) -> Vec<bool> {
        let admission = side.admit(packet);
        (0..).zip(&packet.chunks).map(|(at, chunk)| admission.takes(at, chunk)).collect()
    }

    #[test]
    fn chunk_that_must_be_authenticated_is_processed_only_behind_a_right_auth() {
        let (a, z) = sides();
        let mut sent = packet();
        assert_eq!(taken(&z, &sent), [true, false, true], "without AUTH");
        a.protect(&mut sent);
        assert!(matches!(sent.chunks[1], Chunk::Auth(_)), "before the first that needs it");
        assert_eq!(taken(&z, &sent), [true, true, true, true]);
        sent.chunks[3] = Chunk::CookieAck;
        assert_eq!(taken(&z, &sent), [true, false, false, false], "the HMAC is wrong");
    }

    #[test]
    fn other_key_or_hmac_is_not_accepted() {
        let (a, z) = sides();
        for change in [|auth: &mut Auth| auth.key_id = 1, |auth: &mut Auth| auth.hmac_id = 2] {
            let mut sent = packet();
            a.protect(&mut sent);
            if let Chunk::Auth(auth) = &mut sent.chunks[1] {
                change(auth);
            }
            sent.sign(&a.key);
            assert_eq!(taken(&z, &sent), [true, false, false, false]);
            let id = sent.chunks.iter().any(|c| matches!(c, Chunk::Auth(a) if a.hmac_id == 2));
            assert_eq!(z.admit(&sent).cause, id.then_some(Cause::UnsupportedHmac(2)));
        }
    }

    #[test]
    fn no_authentication_without_random_of_both() {
        let own = own_parameters(&[1; 32]);
        assert_eq!(Authentication::new(&own, &own[1..]), None);
        assert_eq!(Authentication::new(&own[1..], &own), None);
        assert_eq!(Authentication::new(&own, &own[..2]), None, "without HMACs");
    }

    #[test]
    fn peer_that_wants_data_authenticated_gets_smaller_packets() {
        let (a, _) = sides();
        assert_eq!(a.reserve(), 0);
        let own = own_parameters(&[1; 32]);
        let mut peer = own_parameters(&[2; 32]);
        peer[1] = Parameter::AuthenticatedChunks(vec![0, 1, 15].into());
        let all = Authentication::new(&own, &peer).expect("both have sent RANDOM");
        assert_eq!(all.reserve(), 40);
        assert_eq!(*all.required, [0], "INIT and AUTH cannot be authenticated");
    }
}
