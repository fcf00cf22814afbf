//! `Offer`: what an endpoint puts into INIT and INIT ACK; `Agreement`: what both sides then have.

use crate::sctp::authentication::{Authentication, auth_parameters, own_parameters};
use std::net::IpAddr;
use wire::SctpPacket;
use wire::sctp::{
    Chunk, CookieSide, Features, IPV4_ADDRESS, IPV6_ADDRESS, Init, Parameter, StateCookie, Tsn,
    VerificationTag,
};

/// Addresses of a peer that are used; further ones are ignored.
const MAX_ADDRESSES: usize = 32;

/// Chunk types of Supported Extensions and the extension they stand for, in the order in which they
/// are listed (RFC 5061 s4.2.7). Those of one extension are listed together.
const EXTENSIONS: [(Features, &[u8]); 6] = [
    (Features::PARTIAL_RELIABILITY, &[0xC0]),
    (Features::RECONFIG, &[0x82]),
    (Features::ASCONF, &[0xC1, 0x80]),
    (Features::AUTH, &[0x0F]),
    (Features::NR_SACK, &[0x10]),
    (Features::INTERLEAVING, &[0x40]),
];

/// What an endpoint offers for an association.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Receiver window, in bytes.
    pub a_rwnd: u32,
    /// Outbound streams wanted.
    pub outbound_streams: u16,
    /// Most inbound streams accepted.
    pub inbound_streams: u16,
    /// Extensions.
    pub features: Features,
    /// Addresses to list; none if there is one only, or behind a NAT (RFC 6951 s5.2).
    pub addresses: Vec<IpAddr>,
    /// RANDOM, if chunks can be authenticated (RFC 4895 s3.1).
    pub random: Option<[u8; 32]>,
}

/// What both sides of an association have agreed on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agreement {
    /// This side; its streams are those it sends on.
    pub local: CookieSide,
    /// The other side.
    pub peer: CookieSide,
    /// Extensions that both have.
    pub features: Features,
    /// Addresses of the peer: the source of its packet, then those it lists.
    pub peer_addresses: Vec<IpAddr>,
    /// How chunks are authenticated.
    pub auth: Option<Authentication>,
}

impl Offer {
    /// The fields of INIT or INIT ACK with this tag and first TSN, and the parameters that both
    /// have: addresses, then `middle`, then extensions.
    pub(super) fn init(&self, tag: VerificationTag, tsn: Tsn, middle: Vec<Parameter>) -> Init {
        let addresses = self.addresses.iter().copied().map(Parameter::Address);
        let mut parameters: Vec<Parameter> = addresses.chain(middle).collect();
        if self.features.contains(Features::PARTIAL_RELIABILITY) {
            parameters.push(Parameter::ForwardTsnSupported);
        }
        let listed = EXTENSIONS.iter().filter(|(feature, _)| self.features.contains(*feature));
        parameters.extend(self.auth());
        let types: Vec<u8> = listed.flat_map(|(_, types)| types.iter().copied()).collect();
        if !types.is_empty() {
            parameters.push(Parameter::SupportedExtensions(types.into()));
        }
        Init {
            tag,
            a_rwnd: self.a_rwnd,
            outbound_streams: self.outbound_streams,
            inbound_streams: self.inbound_streams,
            initial_tsn: tsn,
            parameters,
        }
    }

    /// RANDOM, CHUNKS and HMAC-ALGO.
    pub(super) fn auth(&self) -> Vec<Parameter> {
        self.random.as_ref().map(own_parameters).unwrap_or_default()
    }

    /// Address types as a parameter of an INIT (RFC 9260 s3.3.2.1).
    pub(super) fn address_types() -> Parameter {
        Parameter::SupportedAddressTypes([IPV4_ADDRESS, IPV6_ADDRESS].into())
    }

    /// What this offer, made from `port` with this tag and first TSN, and the peer's `init` from
    /// `src` and its `peer_port` amount to.
    pub(super) fn agree(
        &self,
        (tag, tsn, port): (VerificationTag, Tsn, u16),
        init: &Init,
        (src, peer_port): (IpAddr, u16),
    ) -> Agreement {
        let local = CookieSide {
            tag,
            tie_tag: 0,
            initial_tsn: tsn,
            a_rwnd: self.a_rwnd,
            streams: self.outbound_streams.min(init.inbound_streams),
            port,
        };
        let peer = CookieSide {
            tag: init.tag,
            tie_tag: 0,
            initial_tsn: init.initial_tsn,
            a_rwnd: init.a_rwnd,
            streams: init.outbound_streams.min(self.inbound_streams),
            port: peer_port,
        };
        let features = Features(self.features.0 & features_of(init).0);
        let auth = match features.contains(Features::AUTH) {
            true => Authentication::new(&self.auth(), &auth_of(init)),
            false => None,
        };
        Agreement { local, peer, features, peer_addresses: addresses_of(init, src), auth }
    }
}

impl Agreement {
    /// Whether the packet with COOKIE ECHO has no AUTH before it, or a right one.
    pub(crate) fn admits_first(&self, packet: &SctpPacket) -> bool {
        match (packet.chunks.first(), &self.auth) {
            (Some(Chunk::Auth(_)), Some(auth)) => auth.is_authentic(packet),
            (Some(Chunk::Auth(_)), None) => false,
            _ => true,
        }
    }

    /// What the responder has agreed on, from its cookie.
    pub(super) fn of_cookie(cookie: StateCookie) -> Agreement {
        let StateCookie { local, peer, features, peer_addresses, mut auth, .. } = cookie;
        let own = match auth.pop() {
            Some(Parameter::Random(random)) => random.first_chunk().map(own_parameters),
            _ => None,
        };
        let auth = own.and_then(|own| Authentication::new(&own, &auth));
        Agreement { local, peer, features, peer_addresses, auth }
    }
}

/// RANDOM, CHUNKS and HMAC-ALGO of an INIT or INIT ACK.
pub(super) fn auth_of(init: &Init) -> Vec<Parameter> {
    auth_parameters(init.admitted().parameters.into_iter())
}

/// Whether an INIT or INIT ACK lists changes of addresses without authentication, which an attacker
/// could use (RFC 5061 s4.2.7).
pub(super) fn lacks_auth(init: &Init) -> bool {
    let features = features_of(init);
    features.contains(Features::ASCONF) && !features.contains(Features::AUTH)
}

/// Extensions that an INIT or INIT ACK lists.
fn features_of(init: &Init) -> Features {
    let admitted = init.admitted().parameters;
    let lists = |kind: u8| {
        admitted.iter().any(|parameter| match parameter {
            Parameter::SupportedExtensions(types) => types.contains(&kind),
            _ => false,
        })
    };
    let bits = EXTENSIONS.iter().filter(|(_, types)| types.iter().all(|kind| lists(*kind)));
    let mut features = bits.fold(0, |all, (feature, _)| all | feature.0);
    // RFC 3758 s3.1: older than the list of extensions.
    if admitted.contains(&&Parameter::ForwardTsnSupported) {
        features |= Features::PARTIAL_RELIABILITY.0;
    }
    Features(features)
}

/// Addresses of a peer: the source of its packet and those of `init` that can be of use (RFC 9260
/// s5.1.2). Others are ignored.
pub(super) fn addresses_of(init: &Init, src: IpAddr) -> Vec<IpAddr> {
    let mut addresses = vec![src];
    for parameter in init.admitted().parameters {
        let Parameter::Address(address) = parameter else { continue };
        let known = addresses.contains(address);
        if !known && is_usable(*address, src) && addresses.len() < MAX_ADDRESSES {
            addresses.push(*address);
        }
    }
    addresses
}

/// Whether a packet from `src` may list `address`.
fn is_usable(address: IpAddr, src: IpAddr) -> bool {
    let is_broadcast = address == IpAddr::from([255, 255, 255, 255]);
    let is_mapped = address.to_canonical() != address;
    let is_foreign_loopback = address.is_loopback() && !src.is_loopback();
    !(address.is_unspecified()
        || address.is_multicast()
        || is_broadcast
        || is_mapped
        || is_foreign_loopback)
}
