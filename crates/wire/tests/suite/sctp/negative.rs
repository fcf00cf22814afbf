//! 18 ways in which a packet is wrong, made of the vectors, and what a receiver finds.
//!
//! What it then does, of which the comments of RFC 9260 are in the names, is up to the association.

use super::vectors::{self, CREATED_MS, auth_key, bytes_of, cookie_secret, heartbeat_info, packet};
use bytes::Bytes;
use wire::sctp::{
    Cause, Chunk, CookieError, Discard, HeartbeatInfo, Init, InitFault, Parameter, RawChunk,
    StateCookie, Tsn, VerificationTag, fill_checksum,
};
use wire::{Layer, ParseError, SctpPacket};

/// A vector with changed bytes and a right checksum.
fn changed(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> SctpPacket {
    let mut bytes = bytes_of(name);
    change(&mut bytes);
    fill_checksum(&mut bytes);
    SctpPacket::parse(&bytes).unwrap()
}

fn init_of(packet: &SctpPacket) -> &Init {
    let [Chunk::Init(init)] = &packet.chunks[..] else { panic!("an INIT: {packet:?}") };
    init
}

fn open(packet: &SctpPacket, now_ms: u64) -> Result<StateCookie, CookieError> {
    let Chunk::CookieEcho(cookie) = &packet.chunks[0] else { panic!("a COOKIE ECHO") };
    StateCookie::open(cookie, &[cookie_secret()], packet, now_ms)
}

/// The packet of V8 with a chunk of type `kind` before its DATA.
fn with_unknown_first(kind: u8) -> SctpPacket {
    let mut packet = packet("V8");
    let value = Bytes::from_static(&[0xDE, 0xAD, 0xBE, 0xEF]);
    packet.chunks.push_first(Chunk::Unknown(RawChunk { kind, flags: 0, value }));
    let mut bytes = Vec::new();
    packet.emit(&mut bytes);
    SctpPacket::parse(&bytes).unwrap()
}

/// The report of an unknown chunk of type `kind`.
fn report(kind: u8) -> Vec<Cause> {
    let copy = vec![kind, 0, 0, 8, 0xDE, 0xAD, 0xBE, 0xEF];
    vec![Cause::UnrecognizedChunk(copy.into())]
}

#[test]
fn n01_flipped_bit_is_a_wrong_checksum() {
    for at in 0..bytes_of("V1").len() {
        let mut bytes = bytes_of("V1");
        bytes[at] ^= 0x10;
        assert_eq!(SctpPacket::parse(&bytes), Err(ParseError::Checksum(Layer::Sctp)), "{at}");
    }
}

#[test]
fn n02_init_with_a_tag_is_discarded() {
    assert_eq!(packet("V1").discard(), None);
    assert_eq!(changed("V1", |bytes| bytes[7] = 1).discard(), Some(Discard::InitWithTag));
}

#[test]
fn n03_bundled_init_is_discarded() {
    let both = changed("V1", |bytes| bytes.extend_from_slice(&bytes_of("V23")[12..]));
    assert_eq!(both.chunks.len(), 2);
    assert_eq!(both.discard(), Some(Discard::BundledInit));
}

#[test]
fn n04_init_with_a_window_of_1499_is_refused_as_invalid() {
    let window = |bytes: u32| changed("V1", |b| b[20..24].copy_from_slice(&bytes.to_be_bytes()));
    assert_eq!(init_of(&window(1500)).fault(), None);
    let refused = window(1499);
    assert_eq!(refused.discard(), None, "it is answered");
    let fault = init_of(&refused).fault().unwrap();
    assert_eq!(fault, InitFault::InvalidMandatory);
    assert_eq!(fault.cause(), Some(Cause::InvalidParameter));
    assert_eq!(init_of(&refused).tag, VerificationTag(0x1122_3344), "tag of the answer");
    for streams in [24..26, 26..28] {
        let none = changed("V1", |bytes| bytes[streams].fill(0));
        assert_eq!(init_of(&none).fault(), Some(InitFault::InvalidMandatory));
    }
}

#[test]
fn n05_init_with_an_initiate_tag_of_0_is_discarded() {
    let zero = changed("V1", |bytes| bytes[16..20].fill(0));
    assert_eq!(zero.discard(), Some(Discard::ZeroInitiateTag));
    assert_eq!(init_of(&zero).fault().unwrap().cause(), None, "nothing answers");
}

#[test]
fn n06_unknown_parameter_that_stops_is_reported_and_hides_later_ones() {
    // Before Forward-TSN-Supported, behind addresses and their types.
    let unknown = changed("V1", |bytes| {
        bytes.splice(56..56, [0x40, 0x01, 0, 4]);
        bytes[15] += 4;
    });
    let admitted = init_of(&unknown).admitted();
    assert_eq!(admitted.parameters.len(), 3);
    assert_eq!(admitted.unrecognized, [Bytes::from_static(&[0x40, 0x01, 0, 4])]);
    let [copy] = &admitted.unrecognized[..] else { panic!("one report") };
    let mut wrapped = Vec::new();
    Parameter::Unrecognized(copy.clone()).emit(&mut wrapped);
    assert_eq!(wrapped, [0, 8, 0, 8, 0x40, 0x01, 0, 4]);
    assert_eq!(init_of(&unknown).fault(), None, "the handshake goes on");
}

#[test]
fn n07_changed_cookie_is_not_ours() {
    let echo = changed("V3", |bytes| bytes[16 + 40] ^= 1);
    assert_eq!(open(&echo, CREATED_MS), Err(CookieError::NotOurs));
    assert_eq!(open(&packet("V3"), CREATED_MS), Ok(vectors::cookie()));
}

#[test]
fn n08_cookie_from_another_port_is_of_another_association() {
    let port = changed("V3", |bytes| bytes[1] += 1);
    assert_eq!(port.src_port, 20_001);
    assert_eq!(open(&port, CREATED_MS), Err(CookieError::OtherAssociation));
    let tag = changed("V3", |bytes| bytes[7] ^= 1);
    assert_eq!(open(&tag, CREATED_MS), Err(CookieError::OtherAssociation));
}

#[test]
fn n09_cookie_is_stale_after_its_life() {
    let at = |ms| open(&packet("V3"), CREATED_MS + ms);
    let peer_tag = at(0).map(|cookie| cookie.peer.tag).unwrap();
    assert!(at(60_000).is_ok());
    assert_eq!(at(60_001), Err(CookieError::Stale { staleness_us: 1000, peer_tag }));
    assert_eq!(at(u64::MAX / 2), Err(CookieError::Stale { staleness_us: u32::MAX, peer_tag }));
}

#[test]
fn n10_sack_with_more_blocks_than_bytes_is_malformed() {
    let sack = changed("V5", |bytes| bytes[25] = 3);
    assert!(matches!(sack.chunks[..], [Chunk::Malformed(RawChunk { kind: 3, .. })]), "{sack:?}");
    let backward = changed("V5", |bytes| bytes[31] = 1);
    assert!(matches!(backward.chunks[..], [Chunk::Malformed(_)]), "end before start");
}

#[test]
fn n11_sack_beyond_what_was_sent_shows_in_its_highest_tsn() {
    let sack = changed("V5", |bytes| bytes[35] = 70);
    let [Chunk::Sack(sack)] = &sack.chunks[..] else { panic!("a SACK") };
    assert_eq!(sack.highest(), Tsn(82));
    assert!(sack.highest() > Tsn(17), "the last one sent");
}

#[test]
fn n12_partial_chunk_is_dropped_with_what_follows() {
    let packet = changed("V8", |bytes| bytes[35] = 200);
    let [Chunk::Data(first)] = &packet.chunks[..] else { panic!("the first fragment") };
    assert_eq!(first.tsn, Tsn(1001));
}

#[test]
fn n13_heartbeat_with_another_nonce_is_not_the_one_sent() {
    let info = |packet: &SctpPacket| match &packet.chunks[..] {
        [Chunk::HeartbeatAck(parameters)] => HeartbeatInfo::of(parameters),
        other => panic!("{other:?}"),
    };
    assert_eq!(info(&packet("V10")), Some(heartbeat_info()));
    let other = info(&changed("V10", |bytes| bytes[20] ^= 1)).unwrap();
    assert_ne!(other.nonce, heartbeat_info().nonce);
    assert_eq!(info(&changed("V10", |bytes| bytes[38] = 5)), None, "no address family");
}

#[test]
fn n14_chunks_behind_a_wrong_hmac_are_not_authenticated() {
    for name in ["V18", "V19"] {
        assert_eq!(packet(name).authenticated_from(&auth_key()), Some(1));
        for at in [20, bytes_of(name).len() - 1] {
            let wrong = changed(name, |bytes| bytes[at] ^= 1);
            assert_eq!(wrong.authenticated_from(&auth_key()), None, "{name} byte {at}");
        }
    }
    let unsupported = changed("V18", |bytes| bytes[19] = 2);
    assert_eq!(unsupported.authenticated_from(&auth_key()), None);
}

#[test]
fn n15_unknown_chunk_01_drops_the_rest_and_is_reported() {
    let packet = with_unknown_first(0x7E);
    let admitted = packet.admitted();
    assert!(admitted.chunks.is_empty());
    assert_eq!(admitted.reports, report(0x7E));
    let [Chunk::Error(causes)] = &vectors::packet("V24").chunks[..] else { panic!("an ERROR") };
    assert_eq!(&admitted.reports, causes);
}

#[test]
fn n16_unknown_chunk_10_is_skipped() {
    let packet = with_unknown_first(0xBE);
    assert_eq!(packet.admitted().chunks.len(), 3);
    assert!(packet.admitted().reports.is_empty());
}

#[test]
fn n17_unknown_chunk_11_is_skipped_and_reported() {
    let packet = with_unknown_first(0xFE);
    assert_eq!(packet.admitted().chunks.len(), 3);
    assert_eq!(packet.admitted().reports, report(0xFE));
}

#[test]
fn n18_unknown_chunk_00_drops_the_rest() {
    let packet = with_unknown_first(0x3E);
    assert!(packet.admitted().chunks.is_empty());
    assert!(packet.admitted().reports.is_empty());
}
