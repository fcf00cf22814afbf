//! SCTP for a host rather than for one association: answers to INIT and COOKIE ECHO, and to packets
//! that belong to no association (RFC 9260 s5.1, s5.2, s8.4).
//!
//! Nothing is remembered of an INIT; rates are limited, so that a flood costs little (RFC 5062).

use super::accept::{Stray, out_of_the_blue};
use super::association::{Association, Present, draw_tag};
use super::config::SctpConfig;
pub(crate) use super::ends::LocalAddress;
use super::handshake::{
    Agreement, Answer, Arrived, CookieSecrets, InitAckSource, Tags, accept_cookie, answer_init,
};
use crate::endpoint::Draws;
use base::{Context, Duration, Instant, Purpose};
use std::collections::VecDeque;
use std::net::IpAddr;
use wire::SctpPacket;
use wire::sctp::{Cause, Chunk, CookieError, Init, Parameter, Tsn, UdpPorts, VerificationTag};

/// What SCTP keeps for a host.
#[derive(Default)]
pub(crate) struct SctpHost {
    secrets: Option<(CookieSecrets, Instant)>,
    inits: Vec<(Prefix, RateLimit)>,
    strays: RateLimit,
    /// Tags of cookies that set up an association, until they expire, oldest first.
    used: VecDeque<(Instant, (VerificationTag, VerificationTag))>,
}

/// Answers in the second that began at a time.
#[derive(Clone, Copy, Debug, Default)]
struct RateLimit {
    second: u64,
    count: u32,
}

/// The network that an INIT comes from: /24 or /48.
type Prefix = u128;

/// Answers per second: to INITs of one network, and to packets out of the blue.
const MOST_PER_SECOND: u32 = 100;
/// Networks whose INITs are counted at a time; when there are more, the count begins anew.
const MOST_PREFIXES: usize = 256;
/// Used cookies that are remembered; a table of this size costs 24 KiB.
const MOST_USED: usize = 1024;
/// Life of a secret.
const SECRET_LIFE: Duration = Duration::from_secs(3600);

/// A packet for the host with the addresses of its datagram.
#[derive(Clone, Copy)]
pub(crate) struct Datagram<'a> {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub packet: &'a SctpPacket,
}

/// What a COOKIE ECHO says.
pub(crate) enum Cookie {
    /// It is valid.
    Valid(Box<Agreement>, Tags),
    /// This packet answers.
    Answer(SctpPacket),
    /// It is discarded.
    Discard,
}

impl RateLimit {
    /// Whether one more answer may be sent.
    const fn admits(&mut self, now: Instant) -> bool {
        let second = now.as_millis() / 1000;
        if second != self.second {
            *self = RateLimit { second, count: 0 };
        }
        self.count += 1;
        self.count <= MOST_PER_SECOND
    }
}

impl Datagram<'_> {
    /// A packet back to the sender.
    fn back(&self, tag: VerificationTag, chunks: Vec<Chunk>) -> SctpPacket {
        let packet = self.packet;
        SctpPacket {
            src_port: packet.dst_port,
            dst_port: packet.src_port,
            tag,
            udp: packet.udp.map(|UdpPorts { src, dst }| UdpPorts { src: dst, dst: src }),
            chunks: chunks.into(),
        }
    }

    /// Addresses that the INIT of the packet lists, its source first.
    pub(crate) fn listed(&self) -> Vec<IpAddr> {
        let mut addresses = vec![self.src];
        if let Some(Chunk::Init(init)) = self.packet.chunks.first() {
            addresses.extend(init.parameters.iter().filter_map(|parameter| match parameter {
                Parameter::Address(address) => Some(*address),
                _ => None,
            }));
        }
        addresses
    }
}

impl SctpHost {
    /// Answers an INIT. `present`: the association that it belongs to; otherwise `config` is that
    /// of the listener, `locals` the addresses that it lists.
    pub(crate) fn on_init(
        &mut self,
        cx: &mut Context<'_>,
        draws: &mut Draws,
        datagram: &Datagram<'_>,
        config: Option<(&SctpConfig, &[LocalAddress])>,
        present: Option<&mut Association>,
    ) -> Option<SctpPacket> {
        let [Chunk::Init(init)] = &datagram.packet.chunks[..] else { return None };
        if datagram.packet.discard().is_some() || !self.admits(cx.now, datagram.src) {
            return None;
        }
        // An INIT that crosses the own one is answered with the RANDOM of that: both sides must
        // have the same key, whichever INIT ACK arrives (RFC 9260 s5.2.1, RFC 4895 s6.1).
        let mut own_random = None;
        let source = match present {
            Some(association) => {
                let known = association.ends().remotes().to_vec();
                match association.present() {
                    Present::ShuttingDown => {
                        association.repeat_shutdown_ack(cx);
                        return None;
                    }
                    Present::Closed => fresh(cx, draws),
                    Present::Opening { tags, initial_tsn, random, known } => {
                        own_random = random;
                        // 0 in COOKIE-WAIT (RFC 9260 s5.2.1).
                        let tie_tags = match known {
                            Some(_) => (tags.local_tie, tags.peer_tie),
                            None => (0, 0),
                        };
                        InitAckSource { tag: tags.local, initial_tsn, tie_tags, known }
                    }
                    Present::Open { tags } => InitAckSource {
                        tie_tags: (tags.local_tie, tags.peer_tie),
                        known: Some(known),
                        ..fresh(cx, draws)
                    },
                }
            }
            None => fresh(cx, draws),
        };
        let Some((config, locals)) = config else { return Some(refusal(datagram, init)) };
        let random = own_random.unwrap_or_else(|| random_bytes(cx, draws));
        let secrets = self.secrets(cx, draws, config);
        let now_ms = cx.now.as_millis();
        let Datagram { src, dst, packet } = *datagram;
        let arrived = Arrived { src, dst, packet, now_ms };
        let life_ms = config.parameters.cookie_life.as_millis() as u32;
        match answer_init(&arrived, &config.offer(locals, random), &source, secrets, life_ms) {
            Answer::Nothing => None,
            Answer::Send(packet) => Some(packet),
        }
    }

    /// Verifies a COOKIE ECHO (RFC 9260 s5.1.5).
    pub(crate) fn on_cookie(&self, cx: &Context<'_>, datagram: &Datagram<'_>) -> Cookie {
        let Some((secrets, _)) = &self.secrets else { return Cookie::Discard };
        let Datagram { src, dst, packet } = *datagram;
        // AUTH may precede COOKIE ECHO (RFC 4895 s6.3).
        let bare = matches!(packet.chunks.first(), Some(Chunk::Auth(_))).then(|| {
            let chunks = packet.chunks[1..].to_vec().into();
            SctpPacket { chunks, ..packet.clone() }
        });
        let arrived = Arrived {
            src,
            dst,
            packet: bare.as_ref().unwrap_or(packet),
            now_ms: cx.now.as_millis(),
        };
        match accept_cookie(&arrived, secrets) {
            Ok((agreed, _)) if !agreed.admits_first(packet) => Cookie::Discard,
            Ok((agreed, tags)) => Cookie::Valid(Box::new(agreed), tags),
            Err(CookieError::Stale { staleness_us, peer_tag }) => {
                let cause = Cause::StaleCookie(staleness_us);
                Cookie::Answer(datagram.back(peer_tag, vec![Chunk::Error(vec![cause])]))
            }
            Err(CookieError::NotOurs | CookieError::OtherAssociation) => Cookie::Discard,
        }
    }

    /// A valid cookie with these tags is about to set up an association; `life` is that of cookies,
    /// which may be doubled (RFC 9260 s5.2.6). Returns whether it is the first time: a packet that
    /// was delayed must not open an association that has ended a second time (RFC 5062 s7).
    pub(crate) fn uses_cookie(&mut self, now: Instant, tags: &Tags, life: Duration) -> bool {
        while self.used.pop_front_if(|(until, _)| *until <= now).is_some() {}
        let tags = (tags.local, tags.peer);
        let is_first = self.used.iter().all(|(_, used)| *used != tags);
        if is_first {
            if self.used.len() >= MOST_USED {
                self.used.pop_front();
            }
            self.used.push_back((now + life * 2, tags));
        }
        is_first
    }

    /// The answer to a packet out of the blue (RFC 9260 s8.4).
    pub(crate) fn on_stray(&mut self, now: Instant, datagram: &Datagram<'_>) -> Option<SctpPacket> {
        let Datagram { src, dst, packet } = *datagram;
        match out_of_the_blue(src, dst, packet) {
            Stray::Answer(answer) if self.strays.admits(now) => Some(answer),
            _ => None,
        }
    }

    fn admits(&mut self, now: Instant, src: IpAddr) -> bool {
        let prefix = prefix(src);
        if let Some((_, limit)) = self.inits.iter_mut().find(|(known, _)| *known == prefix) {
            return limit.admits(now);
        }
        if self.inits.len() >= MOST_PREFIXES {
            self.inits.clear();
        }
        let mut limit = RateLimit::default();
        let admitted = limit.admits(now);
        self.inits.push((prefix, limit));
        admitted
    }

    /// The secrets that sign cookies, which are replaced from time to time.
    fn secrets(
        &mut self,
        cx: &Context<'_>,
        draws: &mut Draws,
        config: &SctpConfig,
    ) -> &CookieSecrets {
        let mut secret = || random_bytes(cx, draws);
        let (secrets, since) =
            self.secrets.get_or_insert_with(|| (CookieSecrets::new(secret()), cx.now));
        if cx.now - *since >= SECRET_LIFE {
            let life_ms = 2 * config.parameters.cookie_life.as_millis() as u32;
            secrets.rotate(secret(), cx.now.as_millis(), life_ms);
            *since = cx.now;
        }
        secrets
    }
}

/// Random bytes for a key.
pub(super) fn random_bytes(cx: &Context<'_>, draws: &mut Draws) -> [u8; 32] {
    let mut bytes = [0; 32];
    for word in bytes.chunks_exact_mut(8) {
        word.copy_from_slice(&draws.draw(cx, Purpose::Key).to_be_bytes());
    }
    bytes
}

/// What an INIT ACK says where there is no association.
fn fresh(cx: &Context<'_>, draws: &mut Draws) -> InitAckSource {
    let tag = draw_tag(cx, draws);
    let initial_tsn = Tsn(draws.draw(cx, Purpose::InitialSequence) as u32);
    InitAckSource { tag, initial_tsn, tie_tags: (0, 0), known: None }
}

/// The ABORT that answers an INIT to a port without listener (RFC 9260 s8.4 3).
fn refusal(datagram: &Datagram<'_>, init: &Init) -> SctpPacket {
    datagram.back(init.tag, vec![Chunk::Abort { reflected: false, causes: vec![] }])
}

fn prefix(address: IpAddr) -> Prefix {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits() >> 8),
        IpAddr::V6(v6) => v6.to_bits() >> 80,
    }
}
