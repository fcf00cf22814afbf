//! `StateCookie`: all that a responder must remember between INIT ACK and COOKIE ECHO.
//!
//! RFC 9260 s5.1.3 leaves the content to the responder. It is signed with HMAC-SHA-256 and names
//! ports, tags and addresses, so that it is of no use for another association (RFC 5062 s3). The
//! tie-tags are random numbers, never the verification tags of an association (RFC 5062 s3.3).
//! Drawing and rotating the secrets is left to `transport`.

use super::parameter;
use super::tlv::{self, Tlvs};
use super::{Parameter, SctpPacket, Tsn, VerificationTag};
use crate::error::be16;
use crate::fields::Fields;
use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::net::{IpAddr, Ipv6Addr};

/// State of an association that is being set up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateCookie {
    /// Creation time, in milliseconds of the responder's clock.
    pub created_ms: u64,
    /// Life, in milliseconds.
    pub life_ms: u32,
    /// What the responder offered in its INIT ACK.
    pub local: CookieSide,
    /// What the peer offered in its INIT.
    pub peer: CookieSide,
    /// Extensions that both sides have.
    pub features: Features,
    /// Source address of the INIT.
    pub src: IpAddr,
    /// Destination address of the INIT.
    pub dst: IpAddr,
    /// Addresses listed in the INIT, at most 255.
    pub peer_addresses: Vec<IpAddr>,
    /// RANDOM, CHUNKS and HMAC-ALGO of the INIT, then RANDOM of the INIT ACK; empty without AUTH.
    pub auth: Vec<Parameter>,
}

/// One side of an association in a cookie.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CookieSide {
    /// Initiate Tag.
    pub tag: VerificationTag,
    /// Tie-tag, 0 without an existing association (RFC 9260 s5.2.2).
    pub tie_tag: u32,
    /// First TSN.
    pub initial_tsn: Tsn,
    /// Advertised receiver window, in bytes.
    pub a_rwnd: u32,
    /// Number of streams from this side to the other.
    pub streams: u16,
    /// Port.
    pub port: u16,
}

/// Extensions of SCTP as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Features(pub u16);

/// Secret of a responder and its number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CookieSecret {
    /// Number of the secret, which the cookie names.
    pub id: u8,
    /// Random bytes.
    pub secret: [u8; 32],
}

/// Why a COOKIE ECHO is not accepted (RFC 9260 s5.1.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CookieError {
    /// It is not a cookie of this responder: dropped silently.
    NotOurs,
    /// It is for other ports or tags: dropped silently.
    OtherAssociation,
    /// It is too old: answered with ERROR cause 3.
    Stale {
        /// Time since it expired, in microseconds.
        staleness_us: u32,
        /// Tag of the answer.
        peer_tag: VerificationTag,
    },
}

/// Version of the layout.
const VERSION: u8 = 1;
/// Bytes before the peer's addresses.
const FIXED: usize = 92;
/// Bytes of the HMAC at the end.
const MAC: usize = 32;

impl Features {
    /// Partial reliability (RFC 3758).
    pub const PARTIAL_RELIABILITY: Features = Features(1);
    /// Stream re-configuration (RFC 6525).
    pub const RECONFIG: Features = Features(2);
    /// Address re-configuration (RFC 5061).
    pub const ASCONF: Features = Features(4);
    /// Authentication (RFC 4895).
    pub const AUTH: Features = Features(8);
    /// NR-SACK.
    pub const NR_SACK: Features = Features(16);
    /// Interleaving (RFC 8260).
    pub const INTERLEAVING: Features = Features(32);

    /// Whether all of `features` are there.
    pub const fn contains(self, features: Features) -> bool {
        self.0 & features.0 == features.0
    }
}

impl StateCookie {
    /// The cookie as bytes, signed.
    ///
    /// # Panics
    /// If there are more than 255 addresses.
    pub fn seal(&self, secret: &CookieSecret) -> Bytes {
        let mut out = Vec::with_capacity(FIXED + MAC + 20 * self.peer_addresses.len());
        out.extend_from_slice(&[VERSION, secret.id, 0, 0]);
        out.extend_from_slice(&self.created_ms.to_be_bytes());
        let (local, peer) = (&self.local, &self.peer);
        let words = [
            self.life_ms,
            local.tag.0,
            peer.tag.0,
            local.tie_tag,
            peer.tie_tag,
            local.initial_tsn.0,
            peer.initial_tsn.0,
            peer.a_rwnd,
            local.a_rwnd,
        ];
        words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
        let halves = [local.streams, peer.streams, local.port, peer.port, self.features.0];
        halves.iter().for_each(|half| out.extend_from_slice(&half.to_be_bytes()));
        let count = u8::try_from(self.peer_addresses.len());
        assert!(count.is_ok(), "{} addresses in a cookie", self.peer_addresses.len());
        out.extend_from_slice(&[count.unwrap_or(u8::MAX), 0]);
        [self.src, self.dst].into_iter().for_each(|address| emit_mapped(address, &mut out));
        debug_assert_eq!(out.len(), FIXED);
        for address in &self.peer_addresses {
            Parameter::Address(*address).emit(&mut out);
        }
        self.auth.iter().for_each(|parameter| parameter.emit(&mut out));
        let mac = mac(secret, &out);
        out.extend_from_slice(&mac.finalize().into_bytes());
        out.into()
    }

    /// The cookie in a COOKIE ECHO of `packet`, which arrives at `now_ms`, if it is valid. The
    /// order of the checks is that of RFC 9260 s5.1.5.
    pub fn open(
        cookie: &[u8],
        secrets: &[CookieSecret],
        packet: &SctpPacket,
        now_ms: u64,
    ) -> Result<StateCookie, CookieError> {
        let opened = StateCookie::open_signed(cookie, secrets).ok_or(CookieError::NotOurs)?;
        let (local, peer) = (&opened.local, &opened.peer);
        let named = (peer.port, local.port, local.tag);
        if named != (packet.src_port, packet.dst_port, packet.tag) {
            return Err(CookieError::OtherAssociation);
        }
        let expiry = opened.created_ms.saturating_add(opened.life_ms.into());
        if now_ms > expiry {
            let staleness = (now_ms - expiry).saturating_mul(1000);
            let staleness_us = u32::try_from(staleness).unwrap_or(u32::MAX);
            return Err(CookieError::Stale { staleness_us, peer_tag: peer.tag });
        }
        Ok(opened)
    }

    /// The content of a cookie that one of `secrets` signed.
    fn open_signed(cookie: &[u8], secrets: &[CookieSecret]) -> Option<StateCookie> {
        let (content, received) = cookie.split_at_checked(cookie.len().checked_sub(MAC)?)?;
        let id = *content.get(1)?;
        let secret = secrets.iter().find(|secret| secret.id == id)?;
        // Compares in constant time.
        mac(secret, content).verify_slice(received).ok()?;
        StateCookie::parse(content)
    }

    fn parse(content: &[u8]) -> Option<StateCookie> {
        let mut fields = Fields(content);
        let [version, _, _, _] = fields.take()?;
        if version != VERSION {
            return None;
        }
        let (mut local, mut peer) = (CookieSide::default(), CookieSide::default());
        let (created_ms, life_ms) = (fields.u64()?, fields.u32()?);
        local.tag = VerificationTag(fields.u32()?);
        peer.tag = VerificationTag(fields.u32()?);
        (local.tie_tag, peer.tie_tag) = (fields.u32()?, fields.u32()?);
        (local.initial_tsn, peer.initial_tsn) = (Tsn(fields.u32()?), Tsn(fields.u32()?));
        (peer.a_rwnd, local.a_rwnd) = (fields.u32()?, fields.u32()?);
        (local.streams, peer.streams) = (fields.u16()?, fields.u16()?);
        (local.port, peer.port) = (fields.u16()?, fields.u16()?);
        let features = Features(fields.u16()?);
        let [count, _] = fields.take()?;
        let (src, dst) = (unmapped(fields.take()?), unmapped(fields.take()?));
        let peer_addresses =
            (0..count).map(|_| take_address(&mut fields)).collect::<Option<_>>()?;
        let auth = parse_unpadded(fields.0)?;
        Some(StateCookie {
            created_ms,
            life_ms,
            local,
            peer,
            features,
            src,
            dst,
            peer_addresses,
            auth,
        })
    }
}

impl std::fmt::Debug for CookieSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CookieSecret({})", self.id)
    }
}

fn mac(secret: &CookieSecret, content: &[u8]) -> Hmac<Sha256> {
    // One block of SHA-256 has room for the key and its zero padding (RFC 2104 s2).
    let mut block = [0; 64];
    block[..32].copy_from_slice(&secret.secret);
    Hmac::<Sha256>::new(&block.into()).chain_update(content)
}

/// Appends an address as 16 bytes, an IPv4 one mapped into IPv6.
fn emit_mapped(address: IpAddr, out: &mut Vec<u8>) {
    let mapped = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    out.extend_from_slice(&mapped.octets());
}

fn unmapped(octets: [u8; 16]) -> IpAddr {
    Ipv6Addr::from(octets).to_canonical()
}

/// The next address parameter.
fn take_address(fields: &mut Fields<'_>) -> Option<IpAddr> {
    let item = Tlvs(fields.0).next()??;
    fields.0 = fields.0.get(tlv::HEADER + item.value.len()..)?;
    parameter::parse_address(item)
}

/// Parameters one behind the other without padding.
fn parse_unpadded(mut list: &[u8]) -> Option<Vec<Parameter>> {
    let mut parameters = Vec::new();
    while !list.is_empty() {
        let len = usize::from(be16(list.get(..tlv::HEADER)?, 2));
        let item = Tlvs(list.get(..len)?).next()??;
        parameters.push(Parameter::parse(item)?);
        list = &list[len..];
    }
    Some(parameters)
}
