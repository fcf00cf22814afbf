//! Which packets belong to an association, and what answers those that belong to none (RFC 9260
//! s8.4 and s8.5).
//!
//! Limits of rates are left to the host.

use std::net::IpAddr;
use wire::SctpPacket;
use wire::sctp::{Cause, Chunk, Chunks, UdpPorts, VerificationTag};

/// Type of INIT.
const INIT: u8 = 1;

/// Verification tags of an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnTags {
    /// Tag that the peer must use.
    pub local: VerificationTag,
    /// Tag that this side uses.
    pub peer: VerificationTag,
}

/// What a packet without association is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stray {
    /// It is discarded.
    Discard,
    /// An INIT, which may be answered with INIT ACK.
    Init,
    /// A COOKIE ECHO, which may set up an association.
    CookieEcho,
    /// This packet answers.
    Answer(SctpPacket),
}

/// Whether the verification tag of a packet allows to process it (RFC 9260 s8.5). An INIT for an
/// existing association has a tag of 0.
pub fn has_right_tag(packet: &SctpPacket, own: OwnTags) -> bool {
    match packet.chunks.first() {
        Some(Chunk::Init(_)) => packet.tag == VerificationTag(0),
        _ => match reflection(packet) {
            // The peer has no association and could only repeat the tag it was sent.
            Some(true) => packet.tag == own.peer,
            _ => packet.tag == own.local,
        },
    }
}

/// What a packet is that belongs to no association, by the rules of RFC 9260 s8.4 in their order.
pub fn out_of_the_blue(src: IpAddr, dst: IpAddr, packet: &SctpPacket) -> Stray {
    let has = |is: fn(&Chunk) -> bool| packet.chunks.iter().any(is);
    let is_stale = |chunk: &Chunk| match chunk {
        Chunk::Error(causes) => causes.iter().any(|cause| matches!(cause, Cause::StaleCookie(_))),
        Chunk::CookieAck => true,
        _ => false,
    };
    if !is_unicast(src) || !is_unicast(dst) || packet.discard().is_some() {
        return Stray::Discard;
    }
    if has(|chunk| matches!(chunk, Chunk::Abort { .. })) {
        return Stray::Discard;
    }
    match packet.chunks.first() {
        Some(Chunk::Init(_)) => return Stray::Init,
        Some(Chunk::CookieEcho(_)) => return Stray::CookieEcho,
        Some(Chunk::Malformed(chunk)) if chunk.kind == INIT => {
            return malformed_init(packet, &chunk.value);
        }
        _ => {}
    }
    if has(|chunk| matches!(chunk, Chunk::ShutdownAck)) {
        return Stray::Answer(answer(packet, Chunk::ShutdownComplete { reflected: true }));
    }
    if has(|chunk| matches!(chunk, Chunk::ShutdownComplete { .. })) || has(is_stale) {
        return Stray::Discard;
    }
    Stray::Answer(answer(packet, Chunk::Abort { reflected: true, causes: vec![] }))
}

/// What an INIT is whose parameters cannot be read: the answer has its Initiate Tag, as there is no
/// other one (RFC 9260 s5.1).
fn malformed_init(packet: &SctpPacket, value: &[u8]) -> Stray {
    let tag = value.first_chunk().copied().map_or(0, u32::from_be_bytes);
    if tag == 0 || packet.tag != VerificationTag(0) || packet.chunks.len() > 1 {
        return Stray::Discard;
    }
    let causes = vec![Cause::ProtocolViolation(b"malformed chunk"[..].into())];
    let abort = Chunk::Abort { reflected: false, causes };
    Stray::Answer(SctpPacket { tag: VerificationTag(tag), ..answer(packet, abort) })
}

/// A packet back to the sender with its own tag.
fn answer(packet: &SctpPacket, chunk: Chunk) -> SctpPacket {
    SctpPacket {
        src_port: packet.dst_port,
        dst_port: packet.src_port,
        tag: packet.tag,
        udp: packet.udp.map(|UdpPorts { src, dst }| UdpPorts { src: dst, dst: src }),
        chunks: Chunks::one(chunk),
    }
}

/// T bit of the ABORT or SHUTDOWN COMPLETE in a packet.
fn reflection(packet: &SctpPacket) -> Option<bool> {
    packet.chunks.iter().find_map(|chunk| match chunk {
        Chunk::Abort { reflected, .. } | Chunk::ShutdownComplete { reflected } => Some(*reflected),
        _ => None,
    })
}

fn is_unicast(address: IpAddr) -> bool {
    let is_broadcast = address == IpAddr::from([255, 255, 255, 255]);
    !(address.is_multicast() || address.is_unspecified() || is_broadcast)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::sctp::{Data, Init};

    const LOCAL: VerificationTag = VerificationTag(0x1111_1111);
    const PEER: VerificationTag = VerificationTag(0x2222_2222);
    const OWN: OwnTags = OwnTags { local: LOCAL, peer: PEER };

    fn packet(tag: VerificationTag, chunks: Vec<Chunk>) -> SctpPacket {
        SctpPacket { src_port: 5000, dst_port: 7, tag, udp: None, chunks: chunks.into() }
    }

    fn abort(reflected: bool) -> Chunk {
        Chunk::Abort { reflected, causes: vec![] }
    }

    fn init() -> Chunk {
        let streams = 1;
        Chunk::Init(Box::new(Init {
            tag: PEER,
            a_rwnd: 1500,
            outbound_streams: streams,
            inbound_streams: streams,
            ..Init::default()
        }))
    }

    fn stray(chunks: Vec<Chunk>) -> Stray {
        let tag = if matches!(chunks[..], [Chunk::Init(_)]) { VerificationTag(0) } else { PEER };
        out_of_the_blue([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), &packet(tag, chunks))
    }

    #[test]
    fn tags_of_rfc_9260_section_8_5() {
        let zero = VerificationTag(0);
        let complete = |reflected| Chunk::ShutdownComplete { reflected };
        let cases = [
            (Chunk::CookieAck, [true, false, false]),
            (init(), [false, false, true]),
            (abort(false), [true, false, false]),
            (abort(true), [false, true, false]),
            (complete(false), [true, false, false]),
            (complete(true), [false, true, false]),
        ];
        for (chunk, right) in cases {
            for (tag, right) in [LOCAL, PEER, zero].into_iter().zip(right) {
                let packet = packet(tag, vec![chunk.clone()]);
                assert_eq!(has_right_tag(&packet, OWN), right, "{packet:?}");
            }
        }
        // An ABORT may follow other chunks.
        let last = packet(PEER, vec![Chunk::CookieAck, abort(true)]);
        assert!(has_right_tag(&last, OWN));
    }

    #[test]
    fn packets_out_of_the_blue_are_answered_in_the_order_of_rfc_9260_section_8_4() {
        let data = || Chunk::Data(Data::default());
        let stale = || Chunk::Error(vec![Cause::StaleCookie(0)]);
        assert_eq!(stray(vec![data(), abort(false)]), Stray::Discard, "never ABORT for ABORT");
        assert_eq!(stray(vec![init()]), Stray::Init);
        assert_eq!(stray(vec![init(), data()]), Stray::Discard, "bundled");
        let cookie = Chunk::CookieEcho(vec![1].into());
        assert_eq!(stray(vec![cookie.clone(), data()]), Stray::CookieEcho);
        for chunk in [Chunk::ShutdownComplete { reflected: false }, Chunk::CookieAck, stale()] {
            assert_eq!(stray(vec![chunk]), Stray::Discard);
        }
        let answered = |chunks| match stray(chunks) {
            Stray::Answer(answer) => {
                assert_eq!((answer.tag, answer.src_port, answer.dst_port), (PEER, 7, 5000));
                answer.chunks
            }
            other => panic!("{other:?}"),
        };
        let complete = Chunk::ShutdownComplete { reflected: true };
        assert_eq!(answered(vec![Chunk::ShutdownAck]), [complete]);
        assert_eq!(answered(vec![data()]), [abort(true)]);
        assert_eq!(answered(vec![data(), cookie]), [abort(true)], "it is not the first chunk");
    }

    #[test]
    fn nothing_answers_packets_that_are_not_unicast() {
        let unicast = IpAddr::from([10, 0, 0, 1]);
        let packet = packet(PEER, vec![Chunk::ShutdownAck]);
        for other in [[224, 0, 0, 1], [255, 255, 255, 255], [0, 0, 0, 0]] {
            let other = IpAddr::from(other);
            assert_eq!(out_of_the_blue(other, unicast, &packet), Stray::Discard);
            assert_eq!(out_of_the_blue(unicast, other, &packet), Stray::Discard);
        }
    }
}
