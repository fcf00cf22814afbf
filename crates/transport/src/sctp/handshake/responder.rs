//! The side that receives an INIT: nothing is remembered until the cookie returns (RFC 9260 s5.1).
//!
//! Also what a cookie means to an existing association (RFC 9260 s5.2.4). Limits of rates are left
//! to the host.

use super::agreement::{addresses_of, auth_of, lacks_auth};
use super::{Agreement, CookieSecrets, Offer};
use bytes::Bytes;
use std::net::IpAddr;
use wire::SctpPacket;
use wire::sctp::{
    Cause, Chunk, Chunks, CookieError, Init, Parameter, StateCookie, Tsn, UdpPorts, VerificationTag,
};

/// Bytes of reports of unknown parameters in an answer at most, each of which may be twice as long
/// as the parameter: further ones are left out (Linux `sctp_make_op_error_limited`).
const MAX_REPORTS: u32 = 1500;
/// Bytes of an INIT ACK at most: those of a UDP datagram over IPv4 less the common header.
const MAX_INIT_ACK: u32 = 65_507 - SctpPacket::HEADER;

/// A packet with the addresses of its datagram.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a> {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// The packet.
    pub packet: &'a SctpPacket,
    /// Time of arrival, in milliseconds.
    pub now_ms: u64,
}

/// What an INIT ACK says of the responder, by the state of the association that the INIT would
/// belong to (RFC 9260 s5.1 and s5.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InitAckSource {
    /// Initiate Tag: a random one, but in COOKIE-WAIT and COOKIE-ECHOED that of the own INIT.
    pub tag: VerificationTag,
    /// First TSN: likewise.
    pub initial_tsn: Tsn,
    /// Tie-tags of this side and of the peer; 0 without association and in COOKIE-WAIT.
    pub tie_tags: (u32, u32),
    /// Addresses of the peer in an association behind COOKIE-WAIT, which no INIT may add to.
    pub known: Option<Vec<IpAddr>>,
}

/// Answer to an INIT.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The packet is discarded.
    Nothing,
    /// The packet to send back, to where the INIT came from: INIT ACK or ABORT.
    Send(SctpPacket),
}

/// Tags and tie-tags of this side and of the peer, in an association or a cookie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tags {
    /// Tag of this side.
    pub local: VerificationTag,
    /// Tag of the peer; 0 as long as it is not known.
    pub peer: VerificationTag,
    /// Tie-tag of this side.
    pub local_tie: u32,
    /// Tie-tag of the peer.
    pub peer_tie: u32,
}

/// What a cookie means to an existing association: the rows of RFC 9260 s5.2.4, table 12.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CookieAction {
    /// A: the peer has restarted.
    Restart,
    /// B: both sides have initiated at the same time; the peer's tag is that of the cookie.
    Collision,
    /// C: the cookie is late.
    Late,
    /// D: COOKIE ECHO or COOKIE ACK was lost.
    Duplicate,
    /// None of these: discarded.
    Discard,
}

impl Tags {
    /// Tags that a cookie has.
    pub const fn of_cookie(cookie: &StateCookie) -> Tags {
        Tags {
            local: cookie.local.tag,
            peer: cookie.peer.tag,
            local_tie: cookie.local.tie_tag,
            peer_tie: cookie.peer.tie_tag,
        }
    }
}

/// The answer to a packet with an INIT. The cookie in it lives for `life_ms`.
pub fn answer_init(
    arrived: &Arrived<'_>,
    offer: &Offer,
    source: &InitAckSource,
    secrets: &CookieSecrets,
    life_ms: u32,
) -> Answer {
    let packet = arrived.packet;
    let [Chunk::Init(init)] = &packet.chunks[..] else { return Answer::Nothing };
    if packet.discard().is_some() {
        return Answer::Nothing;
    }
    let back = |chunk| {
        let (src_port, dst_port) = (packet.dst_port, packet.src_port);
        let udp = packet.udp.map(|UdpPorts { src, dst }| UdpPorts { src: dst, dst: src });
        let chunks = Chunks::one(chunk);
        Answer::Send(SctpPacket { src_port, dst_port, tag: init.tag, udp, chunks })
    };
    let abort = |cause| back(Chunk::Abort { reflected: false, causes: vec![cause] });
    if let Some(fault) = init.fault() {
        return fault.cause().map_or(Answer::Nothing, abort);
    }
    if lacks_auth(init) {
        return abort(Cause::ProtocolViolation(b"ASCONF without AUTH"[..].into()));
    }
    if let Some(added) = added_addresses(arrived, init, source) {
        return abort(Cause::RestartWithNewAddresses(added));
    }
    let own = (source.tag, source.initial_tsn, packet.dst_port);
    let mut agreed = offer.agree(own, init, (arrived.src, packet.src_port));
    (agreed.local.tie_tag, agreed.peer.tie_tag) = source.tie_tags;
    let cookie = StateCookie {
        created_ms: arrived.now_ms,
        life_ms: life_ms.saturating_add(extension_ms(init, life_ms)),
        local: agreed.local,
        peer: agreed.peer,
        features: agreed.features,
        src: arrived.src,
        dst: arrived.dst,
        peer_addresses: agreed.peer_addresses,
        auth: agreed.auth.as_ref().map(|_| cookie_auth(init, offer)).unwrap_or_default(),
    };
    let mut ack = offer.init(source.tag, source.initial_tsn, vec![]);
    ack.parameters.push(Parameter::StateCookie(cookie.seal(secrets.current())));
    let reports = init.admitted().unrecognized.into_iter().map(Parameter::Unrecognized);
    ack.parameters.extend(fitting(reports, Parameter::wire_len));
    let ack = Chunk::InitAck(Box::new(ack));
    // The cookie has copies of parameters that may be as long as the INIT.
    if ack.padded_len() > MAX_INIT_ACK { Answer::Nothing } else { back(ack) }
}

/// The first of several reports, as far as an answer has room for them.
pub(super) fn fitting<T>(
    reports: impl Iterator<Item = T>,
    len: impl Fn(&T) -> u32,
) -> impl Iterator<Item = T> {
    let mut left = MAX_REPORTS;
    reports.map_while(move |report| {
        left = left.checked_sub(len(&report).next_multiple_of(4))?;
        Some(report)
    })
}

/// What a cookie has of the keys: RANDOM, CHUNKS and HMAC-ALGO of the peer, and the own RANDOM.
fn cookie_auth(init: &Init, offer: &Offer) -> Vec<Parameter> {
    let own = offer.random.map(|random| Parameter::Random(Bytes::copy_from_slice(&random)));
    auth_of(init).into_iter().chain(own).collect()
}

/// What the COOKIE ECHO that begins a packet agrees on, with the cookie that says so.
///
/// # Errors
/// If there is no COOKIE ECHO, or its cookie is not valid.
pub fn accept_cookie(
    arrived: &Arrived<'_>,
    secrets: &CookieSecrets,
) -> Result<(Agreement, Tags), CookieError> {
    let Some(Chunk::CookieEcho(cookie)) = arrived.packet.chunks.first() else {
        return Err(CookieError::NotOurs);
    };
    let valid = secrets.valid(arrived.now_ms);
    let cookie = StateCookie::open(cookie, &valid, arrived.packet, arrived.now_ms)?;
    let tags = Tags::of_cookie(&cookie);
    Ok((Agreement::of_cookie(cookie), tags))
}

/// What a valid cookie means to an association with the tags `own` (RFC 9260 s5.2.4).
pub fn compare(own: &Tags, cookie: &Tags) -> CookieAction {
    let ties_match = (own.local_tie, own.peer_tie) == (cookie.local_tie, cookie.peer_tie);
    let ties_zero = (cookie.local_tie, cookie.peer_tie) == (0, 0);
    match (own.local == cookie.local, own.peer == cookie.peer) {
        (true, true) => CookieAction::Duplicate,
        (true, false) => CookieAction::Collision,
        (false, true) if ties_zero => CookieAction::Late,
        (false, false) if ties_match && !ties_zero => CookieAction::Restart,
        _ => CookieAction::Discard,
    }
}

/// Addresses that the INIT would add to an association that exists.
fn added_addresses(
    arrived: &Arrived<'_>,
    init: &Init,
    source: &InitAckSource,
) -> Option<Box<[IpAddr]>> {
    let known = source.known.as_ref()?;
    let listed = addresses_of(init, arrived.src).into_iter();
    let added: Box<[IpAddr]> = listed.filter(|address| !known.contains(address)).collect();
    (!added.is_empty()).then_some(added)
}

/// Milliseconds that a Cookie Preservative adds to the life of a cookie: the life once more at
/// most, so that a cookie is of no use for replays for long (RFC 9260 s5.2.6, RFC 5062 s3).
fn extension_ms(init: &Init, life_ms: u32) -> u32 {
    let asked = init.parameters.iter().find_map(|parameter| match parameter {
        Parameter::CookiePreservative(ms) => Some(*ms),
        _ => None,
    });
    asked.unwrap_or(0).min(life_ms)
}
