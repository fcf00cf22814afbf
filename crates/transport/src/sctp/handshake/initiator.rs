//! `Initiator`: the side that sends INIT, from COOKIE-WAIT to ESTABLISHED (RFC 9260 s4 and s5.1).
//!
//! Timer T1 retransmits INIT and COOKIE ECHO (RFC 9260 s5.1.6), to one of the addresses of the user
//! after the other. What an INIT of the peer means is left to `responder`.

use super::agreement::lacks_auth;
use super::responder::fitting;
use super::{Agreement, CookieAction, Offer, Tags, compare};
use crate::sctp::rto::{Rto, RtoBounds};
use base::{Duration, Instant};
use bytes::Bytes;
use std::net::IpAddr;
use wire::SctpPacket;
use wire::sctp::{Cause, Chunk, Init, InitFault, Parameter, Tsn, VerificationTag};

/// What a Cookie Preservative adds to the measured round trip at most (RFC 9260 s5.2.6).
const PRESERVATIVE_MARGIN_MS: u32 = 1000;

/// What the user of an initiator decides, and random numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opening {
    /// What this side offers.
    pub offer: Offer,
    /// Port of this side.
    pub port: u16,
    /// Port of the peer.
    pub peer_port: u16,
    /// Addresses of the peer that the user gave; at least one.
    pub peer_addresses: Vec<IpAddr>,
    /// Random tag, not 0.
    pub tag: VerificationTag,
    /// Random first TSN.
    pub initial_tsn: Tsn,
    /// RTO.Initial, RTO.Min and RTO.Max of T1.
    pub rto: RtoBounds,
    /// Max.Init.Retransmits.
    pub retransmissions: u32,
}

/// Association that this side initiates.
#[derive(Clone, Debug)]
pub struct Initiator {
    opening: Opening,
    state: State,
    /// Transmissions of the packet of this state before the last one.
    retransmissions: u32,
    rto: Rto,
    deadline: Option<Instant>,
    sent_at: Instant,
    /// Which of the user's addresses is next.
    turn: usize,
    /// Addresses to which a router says there is no way, since the state began.
    unreachable: Vec<IpAddr>,
    /// Round trip of an INIT that was sent once.
    round_trip: Option<Duration>,
    /// Cookies that were stale.
    stale: u32,
    /// Milliseconds to ask for because a cookie was stale.
    preservative_ms: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum State {
    CookieWait,
    CookieEchoed { agreed: Box<Agreement>, chunks: Vec<Chunk>, rtt_ms: u32 },
    Established,
    Closed,
}

/// What an input leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Nothing.
    Nothing,
    /// Send this packet to this address.
    Send(IpAddr, SctpPacket),
    /// The association is set up; send COOKIE ACK if `acknowledge` is set.
    Established {
        /// What it consists of.
        agreed: Box<Agreement>,
        /// The peer's cookie did it, so it waits for COOKIE ACK.
        acknowledge: bool,
    },
    /// It cannot be set up; a packet may have to be sent.
    Failed(Failure, Option<SctpPacket>),
}

/// Why an association is not set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// No answer after all retransmissions.
    TimedOut,
    /// The peer has aborted.
    Aborted,
    /// The INIT ACK is refused.
    Refused(InitFault),
    /// The INIT ACK has more streams than this side accepts.
    TooManyStreams,
    /// The INIT ACK lists changes of addresses without authentication (RFC 5061 s4.2.7).
    Unauthenticated,
    /// There is no way to any of the user's addresses.
    Unreachable,
}

impl Initiator {
    /// The association in COOKIE-WAIT, and the INIT to send.
    pub fn open(now: Instant, opening: Opening) -> (Initiator, Step) {
        debug_assert!(opening.tag != VerificationTag(0), "a tag of 0 is none");
        let rto = Rto::new(opening.rto);
        let mut initiator = Initiator {
            opening,
            state: State::CookieWait,
            retransmissions: 0,
            rto,
            deadline: None,
            sent_at: now,
            turn: 0,
            unreachable: Vec::new(),
            round_trip: None,
            stale: 0,
            preservative_ms: None,
        };
        let step = initiator.send(now);
        (initiator, step)
    }

    /// First TSN of this side.
    pub const fn initial_tsn(&self) -> Tsn {
        self.opening.initial_tsn
    }

    /// RANDOM in the INIT of this side, if chunks can be authenticated.
    pub const fn random(&self) -> Option<[u8; 32]> {
        self.opening.offer.random
    }

    /// Whether COOKIE ECHO was sent.
    pub const fn has_echoed(&self) -> bool {
        matches!(self.state, State::CookieEchoed { .. })
    }

    /// Addresses of the peer, once COOKIE ECHO was sent.
    pub fn known_addresses(&self) -> Option<Vec<IpAddr>> {
        match &self.state {
            State::CookieEchoed { agreed, .. } => Some(agreed.peer_addresses.clone()),
            _ => None,
        }
    }

    /// Round trip of INIT and INIT ACK; `None` if INIT was sent again (RFC 9260 s6.3.1 C5).
    pub const fn round_trip(&self) -> Option<Duration> {
        self.round_trip
    }

    /// When T1 expires.
    pub const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Tags of this association, with tie-tags of 0 as before it is set up.
    pub fn tags(&self) -> Tags {
        let peer = match &self.state {
            State::CookieEchoed { agreed, .. } => agreed.peer.tag,
            _ => VerificationTag(0),
        };
        Tags { local: self.opening.tag, peer, local_tie: 0, peer_tie: 0 }
    }

    /// T1 may have expired: retransmits with twice the time-out, or gives up (RFC 9260 s5.1.6).
    pub fn handle_timeout(&mut self, now: Instant) -> Step {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return Step::Nothing;
        }
        if self.retransmissions >= self.opening.retransmissions {
            return self.fail(Failure::TimedOut, None);
        }
        self.retransmissions += 1;
        self.rto.back_off();
        self.turn += 1;
        self.send(now)
    }

    /// A router says that there is no way to `address`: the next one is tried at once, as when T1
    /// expires, until there is no way to any (RFC 9260 s10).
    pub fn handle_unreachable(&mut self, now: Instant, address: IpAddr) -> Step {
        let addresses = &self.opening.peer_addresses;
        if !addresses.contains(&address) {
            return Step::Nothing;
        }
        if !self.unreachable.contains(&address) {
            self.unreachable.push(address);
        }
        let count = addresses.len();
        let at = |turn: usize| addresses[turn % count];
        if at(self.turn) != address && addresses.iter().any(|one| !self.unreachable.contains(one)) {
            // It is about an earlier packet, and another address is being tried.
            return Step::Nothing;
        }
        let mut turns = self.turn + 1..self.turn + count;
        let Some(turn) = turns.find(|turn| !self.unreachable.contains(&at(*turn))) else {
            return self.fail(Failure::Unreachable, None);
        };
        self.turn = turn;
        self.retransmissions += 1;
        self.send(now)
    }

    /// A packet from `src` arrives, whose ports are those of this association.
    pub fn handle(&mut self, now: Instant, src: IpAddr, packet: &SctpPacket) -> Step {
        // Other chunks may be in front of it (RFC 9260 s3.3.7).
        let abort = packet.chunks.iter().find_map(|chunk| match chunk {
            Chunk::Abort { reflected, .. } => Some(*reflected),
            _ => None,
        });
        match packet.chunks.first() {
            // What follows COOKIE ACK is for the association.
            Some(first)
                if *first != Chunk::CookieAck
                    && let Some(reflected) = abort =>
            {
                match self.is_abort_ours(packet, reflected) {
                    true => self.fail(Failure::Aborted, None),
                    false => Step::Nothing,
                }
            }
            _ if packet.tag != self.opening.tag => Step::Nothing,
            Some(Chunk::InitAck(ack)) if self.state == State::CookieWait => {
                self.handle_init_ack(now, src, ack)
            }
            Some(Chunk::CookieAck) => self.establish(false),
            Some(Chunk::Error(causes)) => self.handle_error(now, causes),
            _ => Step::Nothing,
        }
    }

    /// The answer to HEARTBEATs in COOKIE-ECHOED (RFC 9260 s8.3): the peer verifies its paths as
    /// soon as it has the cookie, and COOKIE ACK may be slower on another path.
    pub fn heartbeat_ack(&self, packet: &SctpPacket) -> Option<SctpPacket> {
        let State::CookieEchoed { agreed, .. } = &self.state else { return None };
        let answers = packet.chunks.iter().filter_map(|chunk| match chunk {
            Chunk::Heartbeat(parameters) => Some(Chunk::HeartbeatAck(parameters.clone())),
            _ => None,
        });
        let answers: Vec<Chunk> = answers.collect();
        if answers.is_empty() || packet.tag != self.opening.tag {
            return None;
        }
        let mut packet = self.packet(agreed.peer.tag, answers);
        if let Some(auth) = &agreed.auth {
            auth.protect(&mut packet);
        }
        Some(packet)
    }

    /// A cookie of the peer is valid: it has initiated at the same time (RFC 9260 s5.2.4).
    pub fn handle_cookie(&mut self, agreed: Agreement, cookie: &Tags) -> Step {
        match compare(&self.tags(), cookie) {
            CookieAction::Duplicate | CookieAction::Collision if self.is_open() => {
                let (agreed, acknowledge) = (Box::new(agreed), true);
                self.finish(State::Established);
                Step::Established { agreed, acknowledge }
            }
            _ => Step::Nothing,
        }
    }

    /// RFC 9260 s5.1 C.
    fn handle_init_ack(&mut self, now: Instant, src: IpAddr, ack: &Init) -> Step {
        let abort =
            |tag, reflected, cause: Option<Cause>| {
                Some(self.packet(
                    tag,
                    vec![Chunk::Abort { reflected, causes: cause.into_iter().collect() }],
                ))
            };
        if let Some(fault) = ack.ack_fault() {
            let answer = match fault {
                // There is no tag to answer with but the one that the peer chose.
                InitFault::ZeroTag => abort(self.opening.tag, true, None),
                _ => abort(ack.tag, false, fault.cause()),
            };
            return self.fail(Failure::Refused(fault), answer);
        }
        if lacks_auth(ack) {
            return self.fail(Failure::Unauthenticated, None);
        }
        if ack.outbound_streams > self.opening.offer.inbound_streams {
            let answer = abort(ack.tag, false, Some(Cause::InvalidParameter));
            return self.fail(Failure::TooManyStreams, answer);
        }
        let Some(cookie) = ack.cookie() else { return Step::Nothing };
        let own = (self.opening.tag, self.opening.initial_tsn, self.opening.port);
        let agreed = self.opening.offer.agree(own, ack, (src, self.opening.peer_port));
        self.rto = Rto::new(self.opening.rto);
        if self.retransmissions == 0 {
            let round_trip = now - self.sent_at;
            self.rto.sample(round_trip);
            self.round_trip = Some(round_trip);
        }
        let mut chunks = vec![Chunk::CookieEcho(cookie.clone())];
        chunks.extend(report_of(ack));
        let rtt_ms = u32::try_from((now - self.sent_at).as_nanos() / 1_000_000).unwrap_or(u32::MAX);
        self.state = State::CookieEchoed { agreed: Box::new(agreed), chunks, rtt_ms };
        self.retransmissions = 0;
        self.unreachable.clear();
        self.send(now)
    }

    /// A stale cookie is asked for again, with a longer life (RFC 9260 s5.2.6), as often as an INIT
    /// is sent again (Linux `sctp_sf_do_5_2_6_stale`).
    fn handle_error(&mut self, now: Instant, causes: &[Cause]) -> Step {
        let stale = causes.iter().any(|cause| matches!(cause, Cause::StaleCookie(_)));
        let State::CookieEchoed { rtt_ms, .. } = self.state else { return Step::Nothing };
        if !stale {
            return Step::Nothing;
        }
        if self.stale >= self.opening.retransmissions {
            return self.fail(Failure::TimedOut, None);
        }
        self.stale += 1;
        self.preservative_ms = Some(rtt_ms.saturating_add(PRESERVATIVE_MARGIN_MS));
        self.state = State::CookieWait;
        self.send(now)
    }

    fn establish(&mut self, acknowledge: bool) -> Step {
        let state = std::mem::replace(&mut self.state, State::Established);
        match state {
            State::CookieEchoed { agreed, .. } => {
                self.finish(State::Established);
                Step::Established { agreed, acknowledge }
            }
            other => {
                self.state = other;
                Step::Nothing
            }
        }
    }

    /// RFC 9260 s8.5.1 B.
    fn is_abort_ours(&self, packet: &SctpPacket, reflected: bool) -> bool {
        let peer = self.tags().peer;
        match reflected {
            false => packet.tag == self.opening.tag,
            true => peer != VerificationTag(0) && packet.tag == peer,
        }
    }

    const fn is_open(&self) -> bool {
        matches!(self.state, State::CookieWait | State::CookieEchoed { .. })
    }

    fn fail(&mut self, failure: Failure, answer: Option<SctpPacket>) -> Step {
        if !self.is_open() {
            return Step::Nothing;
        }
        self.finish(State::Closed);
        Step::Failed(failure, answer)
    }

    fn finish(&mut self, state: State) {
        (self.state, self.deadline) = (state, None);
    }

    /// Sends the packet of the state, and starts T1.
    fn send(&mut self, now: Instant) -> Step {
        let Opening { tag, initial_tsn, ref offer, .. } = self.opening;
        let (tag, chunks) = match &self.state {
            State::CookieWait => {
                let mut middle = vec![Offer::address_types()];
                middle.extend(self.preservative_ms.map(Parameter::CookiePreservative));
                let init = offer.init(tag, initial_tsn, middle);
                (VerificationTag(0), vec![Chunk::Init(Box::new(init))])
            }
            State::CookieEchoed { agreed, chunks, .. } => (agreed.peer.tag, chunks.clone()),
            State::Established | State::Closed => return Step::Nothing,
        };
        (self.sent_at, self.deadline) = (now, Some(now + self.rto.rto()));
        let addresses = &self.opening.peer_addresses;
        match addresses.get(self.turn % addresses.len().max(1)) {
            Some(address) => {
                let mut packet = self.packet(tag, chunks);
                if let State::CookieEchoed { agreed, .. } = &self.state
                    && let Some(auth) = &agreed.auth
                {
                    auth.protect(&mut packet);
                }
                Step::Send(*address, packet)
            }
            None => Step::Nothing,
        }
    }

    fn packet(&self, tag: VerificationTag, chunks: Vec<Chunk>) -> SctpPacket {
        let (src_port, dst_port) = (self.opening.port, self.opening.peer_port);
        SctpPacket { src_port, dst_port, tag, udp: None, chunks: chunks.into() }
    }
}

/// The ERROR that reports unknown parameters of an INIT ACK behind COOKIE ECHO (RFC 9260 s3.2.2).
fn report_of(ack: &Init) -> Option<Chunk> {
    let unrecognized = ack.admitted().unrecognized.into_iter();
    let mut copies = Vec::new();
    for copy in fitting(unrecognized, |copy| copy.len() as u32) {
        copies.resize(copies.len().next_multiple_of(4), 0);
        copies.extend_from_slice(&copy);
    }
    let is_empty = copies.is_empty();
    let report = || Chunk::Error(vec![Cause::UnrecognizedParameters(Bytes::from(copies))]);
    (!is_empty).then(report)
}
