//! Properties of emit and parse over random packets and random bytes.

use super::vectors::{VECTORS, bytes_of};
use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::net::IpAddr;
use wire::sctp::{
    AddressRequest, Asconf, AsconfAck, Auth, AuthHmac, Cause, Chunk, CookieSecret, CookieSide,
    Data, DataFlags, Features, ForwardTsn, GapBlock, IData, IForwardTsn, Init, Mid, NrSack,
    Parameter, RawChunk, ReconfigResult, Request, RestOfSack, Sack, SkippedMessages, Ssn,
    StateCookie, Tsn, VerificationTag, fill_checksum,
};
use wire::{Payload, SctpPacket};

fn bytes(max: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..max).prop_map(Bytes::from)
}

fn numbers() -> impl Strategy<Value = Box<[u16]>> {
    vec(any::<u16>(), 0..5).prop_map(Vec::into_boxed_slice)
}

fn tsn() -> impl Strategy<Value = Tsn> {
    any::<u32>().prop_map(Tsn)
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![any::<[u8; 4]>().prop_map(IpAddr::from), any::<[u8; 16]>().prop_map(IpAddr::from)]
}

fn payload() -> impl Strategy<Value = Payload> {
    let range = (any::<u32>(), any::<u64>(), 1u32..1500);
    prop_oneof![
        range.prop_map(|(stream, offset, len)| Payload::virtual_range(stream, offset, len)),
        vec(any::<u8>(), 0..40).prop_map(Payload::from),
    ]
}

fn request() -> impl Strategy<Value = Request> {
    let result = any::<u32>().prop_map(ReconfigResult);
    prop_oneof![
        (any::<u32>(), any::<u32>(), tsn(), numbers()).prop_map(
            |(request, response, last_tsn, streams)| {
                Request::ResetOutgoing { request, response, last_tsn, streams }
            }
        ),
        (any::<u32>(), numbers())
            .prop_map(|(request, streams)| Request::ResetIncoming { request, streams }),
        any::<u32>().prop_map(|request| Request::ResetAssociation { request }),
        (any::<u32>(), result, option::of((tsn(), tsn()))).prop_map(
            |(response, result, next_tsns)| Request::Response { response, result, next_tsns }
        ),
        (any::<u32>(), any::<u16>())
            .prop_map(|(request, streams)| Request::AddOutgoing { request, streams }),
        (any::<u32>(), any::<u16>())
            .prop_map(|(request, streams)| Request::AddIncoming { request, streams }),
    ]
}

fn address_request() -> impl Strategy<Value = AddressRequest> {
    (any::<u32>(), address())
        .prop_map(|(correlation, address)| AddressRequest { correlation, address })
}

fn parameter() -> impl Strategy<Value = Parameter> {
    let unknown = prop_oneof![20u16..0x8000, 0x8009u16..0xC000, 0xC007u16..=0xFFFF];
    prop_oneof![
        bytes(30).prop_map(Parameter::HeartbeatInfo),
        address().prop_map(Parameter::Address),
        bytes(200).prop_map(Parameter::StateCookie),
        bytes(30).prop_map(Parameter::Unrecognized),
        any::<u32>().prop_map(Parameter::CookiePreservative),
        bytes(30).prop_map(Parameter::HostName),
        numbers().prop_map(Parameter::SupportedAddressTypes),
        request().prop_map(Parameter::Reconfig),
        bytes(40).prop_map(Parameter::Random),
        bytes(9).prop_map(Parameter::AuthenticatedChunks),
        numbers().prop_map(Parameter::HmacAlgorithms),
        bytes(9).prop_map(Parameter::Padding),
        bytes(9).prop_map(Parameter::SupportedExtensions),
        Just(Parameter::ForwardTsnSupported),
        address_request().prop_map(Parameter::AddAddress),
        address_request().prop_map(Parameter::DeleteAddress),
        (any::<u32>(), causes()).prop_map(|(correlation, causes)| {
            Parameter::ErrorIndication { correlation, causes }
        }),
        address_request().prop_map(Parameter::SetPrimary),
        any::<u32>().prop_map(|correlation| Parameter::Success { correlation }),
        any::<u32>().prop_map(Parameter::Adaptation),
        (unknown, bytes(30)).prop_map(|(kind, value)| Parameter::Unknown { kind, value }),
    ]
}

fn parameters() -> impl Strategy<Value = Vec<Parameter>> {
    vec(parameter(), 0..6)
}

fn cause() -> impl Strategy<Value = Cause> {
    let addresses = vec(address(), 0..4).prop_map(Vec::into_boxed_slice);
    prop_oneof![
        any::<u16>().prop_map(Cause::InvalidStream),
        numbers().prop_map(Cause::MissingParameter),
        any::<u32>().prop_map(Cause::StaleCookie),
        Just(Cause::OutOfResource),
        bytes(20).prop_map(Cause::UnresolvableAddress),
        bytes(20).prop_map(Cause::UnrecognizedChunk),
        Just(Cause::InvalidParameter),
        bytes(20).prop_map(Cause::UnrecognizedParameters),
        tsn().prop_map(Cause::NoUserData),
        Just(Cause::CookieWhileShuttingDown),
        addresses.prop_map(Cause::RestartWithNewAddresses),
        bytes(20).prop_map(Cause::UserAbort),
        bytes(20).prop_map(Cause::ProtocolViolation),
        bytes(20).prop_map(Cause::DeleteLastAddress),
        bytes(20).prop_map(Cause::ResourceShortage),
        bytes(20).prop_map(Cause::DeleteSourceAddress),
        Just(Cause::IllegalAsconfAck),
        bytes(20).prop_map(Cause::NoAuthorization),
        any::<u16>().prop_map(Cause::UnsupportedHmac),
        (0x0200u16.., bytes(20)).prop_map(|(code, body)| Cause::Other { code, body }),
    ]
}

fn causes() -> impl Strategy<Value = Vec<Cause>> {
    vec(cause(), 0..4)
}

fn init() -> impl Strategy<Value = Box<Init>> {
    (any::<(u32, u32, u16, u16, u32)>(), parameters()).prop_map(|(fields, parameters)| {
        let (tag, a_rwnd, outbound_streams, inbound_streams, tsn) = fields;
        let (tag, initial_tsn) = (VerificationTag(tag), Tsn(tsn));
        Box::new(Init { tag, a_rwnd, outbound_streams, inbound_streams, initial_tsn, parameters })
    })
}

fn gaps() -> impl Strategy<Value = Box<[GapBlock]>> {
    let block = (1u16.., any::<u16>())
        .prop_map(|(a, b)| GapBlock { start: a.min(b).max(1), end: a.max(b) });
    vec(block, 0..6).prop_map(Vec::into_boxed_slice)
}

fn duplicates() -> impl Strategy<Value = Box<[Tsn]>> {
    vec(tsn(), 0..4).prop_map(Vec::into_boxed_slice)
}

fn sack() -> impl Strategy<Value = Sack> {
    (tsn(), any::<u32>(), 0u8..4, gaps(), duplicates()).prop_map(
        |(cum_tsn, a_rwnd, dac_packets, gaps, duplicates)| Sack {
            cum_tsn,
            a_rwnd,
            dac_packets,
            gaps,
            duplicates: duplicates.into(),
        },
    )
}

fn nr_sack() -> impl Strategy<Value = NrSack> {
    (sack(), gaps()).prop_map(|(sack, nr_gaps)| {
        let Sack { cum_tsn, a_rwnd, dac_packets, gaps, duplicates } = sack;
        let rest = RestOfSack::new(gaps, duplicates[..].into());
        NrSack { cum_tsn, a_rwnd, dac_packets, nr_gaps, rest }
    })
}

fn data() -> impl Strategy<Value = Chunk> {
    let fields = any::<(u8, u32, u16, u16, u32, u32)>();
    (any::<bool>(), fields, payload()).prop_map(|(interleaved, fields, payload)| {
        let (flags, tsn, stream, ssn, mid, ppid) = fields;
        let (flags, tsn, ssn, mid) = (DataFlags(flags), Tsn(tsn), Ssn(ssn), Mid(mid));
        match interleaved {
            true => Chunk::IData(IData { flags, tsn, stream, mid, ppid_or_fsn: ppid, payload }),
            false => Chunk::Data(Data { flags, tsn, stream, ssn, ppid, payload }),
        }
    })
}

fn forward() -> impl Strategy<Value = Chunk> {
    let skipped = any::<(u16, bool, u32)>().prop_map(|(stream, unordered, mid)| SkippedMessages {
        stream,
        unordered,
        mid: Mid(mid),
    });
    let pairs = vec(any::<(u16, u16)>().prop_map(|(stream, ssn)| (stream, Ssn(ssn))), 0..5);
    prop_oneof![
        (tsn(), pairs).prop_map(|(new_cum_tsn, streams)| {
            Chunk::ForwardTsn(ForwardTsn { new_cum_tsn, streams: streams.into() })
        }),
        (tsn(), vec(skipped, 0..5)).prop_map(|(new_cum_tsn, streams)| {
            Chunk::IForwardTsn(IForwardTsn { new_cum_tsn, streams: streams.into() })
        }),
    ]
}

fn reconfig() -> impl Strategy<Value = Chunk> {
    let response = |response| {
        let result = ReconfigResult::PERFORMED;
        Parameter::Reconfig(Request::Response { response, result, next_tsns: None })
    };
    prop_oneof![
        request().prop_map(|request| Chunk::Reconfig(vec![Parameter::Reconfig(request)])),
        any::<(u32, u32)>()
            .prop_map(move |(one, two)| Chunk::Reconfig(vec![response(one), response(two)])),
    ]
}

fn control() -> impl Strategy<Value = Chunk> {
    let unknown = prop_oneof![0x11u8..0x40, 0x41u8..0x80, 0x85u8..0xC0, 0xC3u8..=0xFF];
    let heartbeat = (bytes(50), parameters()).prop_map(|(info, mut rest)| {
        rest.insert(0, Parameter::HeartbeatInfo(info));
        rest
    });
    prop_oneof![
        (heartbeat, any::<bool>()).prop_map(|(list, is_ack)| match is_ack {
            true => Chunk::HeartbeatAck(list),
            false => Chunk::Heartbeat(list),
        }),
        (any::<bool>(), causes())
            .prop_map(|(reflected, causes)| Chunk::Abort { reflected, causes }),
        tsn().prop_map(|cum_tsn| Chunk::Shutdown { cum_tsn }),
        Just(Chunk::ShutdownAck),
        causes().prop_map(Chunk::Error),
        bytes(100).prop_map(Chunk::CookieEcho),
        Just(Chunk::CookieAck),
        any::<bool>().prop_map(|reflected| Chunk::ShutdownComplete { reflected }),
        any::<u16>().prop_map(|key_id| Chunk::Auth(Auth::unsigned(key_id, AuthHmac::Sha1))),
        (any::<u32>(), parameters())
            .prop_map(|(serial, responses)| Chunk::AsconfAck(AsconfAck { serial, responses })),
        reconfig(),
        bytes(50).prop_map(Chunk::Pad),
        (any::<u32>(), address(), parameters()).prop_map(|(serial, address, requests)| {
            Chunk::Asconf(Box::new(Asconf { serial, address, requests }))
        }),
        (unknown, any::<u8>(), bytes(30))
            .prop_map(|(kind, flags, value)| Chunk::Unknown(RawChunk { kind, flags, value })),
    ]
}

fn chunk() -> impl Strategy<Value = Chunk> {
    prop_oneof![
        4 => data(),
        4 => control(),
        1 => sack().prop_map(Chunk::Sack),
        1 => nr_sack().prop_map(Chunk::NrSack),
        1 => forward(),
        1 => init().prop_map(Chunk::Init),
        1 => init().prop_map(Chunk::InitAck),
    ]
}

/// Any packet of which every chunk has a form that is allowed.
pub(crate) fn packet() -> impl Strategy<Value = SctpPacket> {
    (1u16.., 1u16.., any::<u32>(), vec(chunk(), 1..5)).prop_map(
        |(src_port, dst_port, tag, chunks)| SctpPacket {
            src_port,
            dst_port,
            tag: VerificationTag(tag),
            udp: None,
            chunks: chunks.into(),
        },
    )
}

/// The packet with real bytes as its payload.
pub(crate) fn as_received(mut packet: SctpPacket) -> SctpPacket {
    for chunk in &mut packet.chunks {
        if let Some(payload) = chunk.payload_mut() {
            *payload = payload.to_bytes().into();
        }
    }
    packet
}

fn emitted(packet: &SctpPacket) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.emit(&mut bytes);
    bytes
}

/// What these bytes are after their checksum is corrected. It has no more parts than bytes can
/// express, takes no more room than it came in but for padding, and is stable.
fn check_stable(bytes: &mut [u8]) {
    if bytes.len() < 12 {
        assert!(SctpPacket::parse(bytes).is_err());
        return;
    }
    fill_checksum(bytes);
    let Ok(packet) = SctpPacket::parse(bytes) else { return };
    assert!(packet.chunks.len() <= bytes.len() / 4);
    assert!(packet.payload_len() as usize <= bytes.len());
    let again = emitted(&packet);
    assert!(again.len() <= bytes.len().next_multiple_of(4));
    assert_eq!(SctpPacket::parse(&again), Ok(packet.clone()));
    // None of the checks of a receiver panics either.
    packet.discard();
    packet.admitted();
    for chunk in &packet.chunks {
        if let Chunk::Init(init) | Chunk::InitAck(init) = chunk {
            init.fault();
            init.ack_fault();
        }
    }
}

proptest! {
    #[test]
    fn parse_is_the_inverse_of_emit(packet in packet()) {
        let bytes = emitted(&packet);
        prop_assert_eq!(bytes.len() as u32, packet.wire_len());
        prop_assert_eq!(SctpPacket::parse(&bytes), Ok(as_received(packet)));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        check_stable(&mut bytes.clone());
    }

    #[test]
    fn changed_packets_never_panic_and_parse_stably(
        packet in packet(),
        changes in vec((any::<usize>(), any::<u8>()), 1..6),
        keep in any::<usize>(),
    ) {
        let mut bytes = emitted(&packet);
        for (at, value) in changes {
            // The headers are the interesting part.
            let at = at % bytes.len().min(100);
            bytes[at] = value;
        }
        bytes.truncate(bytes.len() - keep % 8);
        check_stable(&mut bytes);
    }

    #[test]
    fn cookie_opens_to_what_was_sealed_and_no_other_bytes_open(
        sides in any::<([u32; 8], [u16; 4])>(),
        addresses in vec(address(), 0..4),
        ends in (any::<[u8; 4]>(), any::<[u8; 4]>()),
        auth in option::of(bytes(40)),
        flip in any::<usize>(),
    ) {
        let ([a, b, c, d, e, f, g, h], [i, j, k, l]) = sides;
        let side = |tag, tie_tag, tsn, a_rwnd, streams, port| CookieSide {
            tag: VerificationTag(tag), tie_tag, initial_tsn: Tsn(tsn), a_rwnd, streams, port,
        };
        let cookie = StateCookie {
            created_ms: 5,
            life_ms: 7,
            local: side(a, b, c, d, i, k),
            peer: side(e, f, g, h, j, l),
            features: Features::AUTH,
            src: ends.0.into(),
            dst: ends.1.into(),
            peer_addresses: addresses,
            auth: auth.into_iter().map(Parameter::Random).collect(),
        };
        let packet = SctpPacket {
            src_port: l, dst_port: k, tag: VerificationTag(a), ..SctpPacket::default()
        };
        let secrets = [1, 2].map(|id| CookieSecret { id, secret: [id; 32] });
        for secret in &secrets {
            let sealed = cookie.seal(secret);
            let opened = StateCookie::open(&sealed, &secrets, &packet, 12);
            prop_assert_eq!(opened, Ok(cookie.clone()));
            let mut changed = sealed.to_vec();
            let at = flip % changed.len();
            changed[at] ^= 1;
            prop_assert!(StateCookie::open(&changed, &secrets, &packet, 12).is_err());
            let cut = &sealed[..at];
            prop_assert!(StateCookie::open(cut, &secrets, &packet, 12).is_err());
        }
    }
}

#[test]
fn vectors_with_one_changed_byte_never_panic() {
    for vector in &VECTORS {
        let bytes = bytes_of(vector.name);
        for at in 12..bytes.len() {
            for value in [0, 1, 3, 0x7F, 0xFF] {
                let mut bytes = bytes.clone();
                bytes[at] = value;
                check_stable(&mut bytes);
            }
        }
        for len in 0..bytes.len() {
            check_stable(&mut bytes.clone()[..len]);
        }
    }
}

/// The largest values for the bytes that they come in, so that memory is bounded by a factor.
#[test]
fn values_are_not_much_larger_than_the_bytes_they_come_in() {
    assert!(size_of::<Chunk>() <= 64, "{} for 4 bytes", size_of::<Chunk>());
    assert!(size_of::<Parameter>() <= 48, "{} for 4 bytes", size_of::<Parameter>());
    assert!(size_of::<Cause>() <= 40, "{} for 4 bytes", size_of::<Cause>());
}
