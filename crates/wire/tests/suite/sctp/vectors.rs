//! 24 packets byte by byte, each with the value that it is the encoding of.
//!
//! An independent program made the bytes, and another dissector found their checksums good.
//! Endpoint A has port 20000 and tag 0x11223344, endpoint Z port 8000 and tag 0xAABBCCDD.

use bytes::Bytes;
use std::net::IpAddr;
use wire::SctpPacket;
use wire::sctp::{
    AddressRequest, Asconf, AsconfAck, Auth, AuthHmac, AuthKey, Cause, Chunk, Chunks, CookieSecret,
    CookieSide, Data, DataFlags, Features, ForwardTsn, GapBlock, HeartbeatInfo, IData, IForwardTsn,
    IPV4_ADDRESS, IPV6_ADDRESS, Init, KeyVector, Mid, NrSack, Parameter, Request, RestOfSack, Sack,
    SkippedMessages, Ssn, StateCookie, Tsn, VerificationTag,
};

/// A vector: its name, its content in words, its CRC32c and its bytes.
pub(super) struct Vector {
    pub(super) name: &'static str,
    content: &'static str,
    crc: u32,
    hex: &'static str,
}

pub(super) const VECTORS: [Vector; 24] = [
    Vector {
        name: "V1",
        content: "INIT, two IPv4 addresses",
        crc: 0x84B2_D164,
        hex: "4e201f400000000064d1b2840100003a1122334400100000000a0010000003e8\
              000500080a010101000500080a020101000c000800050006c00000048008000a\
              c082c1800f100000",
    },
    Vector {
        name: "V2",
        content: "INIT ACK with state cookie",
        crc: 0xCE24_6784,
        hex: "1f404e2011223344846724ce020000c4aabbccdd002000000010000a00001388\
              000500080a010201000500080a020201c00000048008000ac082c1800f100000\
              00070090010700000000018bcfe568000000ea60aabbccdd1122334400000000\
              0000000000001388000003e80010000000200000000a00101f404e20003f0200\
              00000000000000000000ffff0a01010100000000000000000000ffff0a010201\
              000500080a010101000500080a0201019cd410ee7c6d05e63103cdd9138a3885\
              17132aa910758b442f2a8c57cf47433b",
    },
    Vector {
        name: "V3",
        content: "COOKIE ECHO + DATA hello (I,B,E)",
        crc: 0xA610_62F2,
        hex: "4e201f40aabbccddf26210a60a000090010700000000018bcfe568000000ea60\
              aabbccdd11223344000000000000000000001388000003e80010000000200000\
              000a00101f404e20003f020000000000000000000000ffff0a01010100000000\
              000000000000ffff0a010201000500080a010101000500080a0201019cd410ee\
              7c6d05e63103cdd9138a388517132aa910758b442f2a8c57cf47433b000b0015\
              000003e8000000000000000068656c6c6f000000",
    },
    Vector {
        name: "V4",
        content: "COOKIE ACK + SACK(cum 1000)",
        crc: 0x5E83_6167,
        hex: "1f404e20112233446761835e0b00000403000010000003e8001ffffb00000000",
    },
    Vector {
        name: "V5",
        content: "SACK cum 12, a_rwnd 4660, gaps 2-3 and 5-5",
        crc: 0xBCCD_0D40,
        hex: "1f404e2011223344400dcdbc030000180000000c000012340002000000020003\
              00050005",
    },
    Vector {
        name: "V6",
        content: "SACK with DAC count 2 in flag bits 7-6, dup 19 twice",
        crc: 0x28F9_FA8A,
        hex: "1f404e20112233448afaf9280380001c00000400000100000001000200020002\
              0000001300000013",
    },
    Vector {
        name: "V7",
        content: "NR-SACK cum 12, R gap 2-3, NR gap 5-5, dup 9",
        crc: 0xD1BE_D6B3,
        hex: "1f404e2011223344b3d6bed1100000200000000c000012340001000100010000\
              000200030005000500000009",
    },
    Vector {
        name: "V8",
        content: "DATA three fragments of an ordered message, bundled",
        crc: 0x6786_DD52,
        hex: "4e201f40aabbccdd52dd866700020014000003e9000300071234567841414141\
              00000014000003ea00030007123456784242424200010012000003eb00030007\
              1234567843430000",
    },
    Vector {
        name: "V9",
        content: "HEARTBEAT, nonce+time+path",
        crc: 0xD409_B802,
        hex: "4e201f40aabbccdd02b809d4040000200001001c0123456789abcdef00060a24\
              182d8240000104000a020201",
    },
    Vector {
        name: "V10",
        content: "HEARTBEAT ACK echo",
        crc: 0x8067_4188,
        hex: "1f404e201122334488416780050000200001001c0123456789abcdef00060a24\
              182d8240000104000a020201",
    },
    Vector {
        name: "V11",
        content: "ABORT T=1 reflected tag, no cause",
        crc: 0x90EE_036E,
        hex: "1f404e20aabbccdd6e03ee9006010004",
    },
    Vector {
        name: "V12",
        content: "ABORT, cause 13 Protocol Violation bad",
        crc: 0x0D16_867D,
        hex: "1f404e20112233447d86160d0600000b000d000762616400",
    },
    Vector {
        name: "V13",
        content: "ERROR, stale cookie 1500000 us",
        crc: 0x8564_7D5C,
        hex: "1f404e20112233445c7d64850900000c000300080016e360",
    },
    Vector {
        name: "V14",
        content: "SHUTDOWN cum 5007",
        crc: 0x6CFE_237A,
        hex: "4e201f40aabbccdd7a23fe6c070000080000138f",
    },
    Vector {
        name: "V15",
        content: "SHUTDOWN ACK",
        crc: 0xCF45_CED9,
        hex: "1f404e2011223344d9ce45cf08000004",
    },
    Vector {
        name: "V16",
        content: "SHUTDOWN COMPLETE T=0",
        crc: 0x60B1_2732,
        hex: "4e201f40aabbccdd3227b1600e000004",
    },
    Vector {
        name: "V17",
        content: "FORWARD TSN 1010, stream 3 ssn 9",
        crc: 0x0A06_2B81,
        hex: "4e201f40aabbccdd812b060ac000000c000003f200030009",
    },
    Vector {
        name: "V18",
        content: "AUTH(HMAC-SHA1)+ASCONF add 192.0.2.1, set primary 10.1.1.1",
        crc: 0x3C14_9D21,
        hex: "4e201f40aabbccdd219d143c0f00001c0000000162ddb4b781fa7b9df70e57c8\
              ebc35899de6a9056c1000030000003e8000500080a010101c001001001023474\
              00050008c0000201c004001001023479000500080a010101",
    },
    Vector {
        name: "V19",
        content: "AUTH(HMAC-SHA256)+ASCONF ACK success",
        crc: 0xF39C_6280,
        hex: "1f404e201122334480629cf30f00002800000003e0870518339b0f8393f97709\
              3aaf9ffb0ea353db7768ab542906ca4ab4dff98480000010000003e8c0050008\
              01023474",
    },
    Vector {
        name: "V20",
        content: "I-DATA first and last fragment, MID 5",
        crc: 0x9A42_35E6,
        hex: "4e201f40aabbccdde635429a40020018000003fc000100000000000500000033\
              7778797a40090015000003fd00010000000000050000000121000000",
    },
    Vector {
        name: "V21",
        content: "I-FORWARD-TSN 1030, stream 1 unordered MID 8",
        crc: 0x86F8_BF88,
        hex: "4e201f40aabbccdd88bff886c2000010000004060001000100000008",
    },
    Vector {
        name: "V22",
        content: "RE-CONFIG outgoing SSN reset, stream 3",
        crc: 0x196A_36E7,
        hex: "4e201f40aabbccdde7366a1982000016000d0012000003e800001387000003fd\
              00030000",
    },
    Vector {
        name: "V23",
        content: "PAD 8 bytes of padding data",
        crc: 0xB01D_7F46,
        hex: "4e201f40aabbccdd467f1db08400000c0000000000000000",
    },
    Vector {
        name: "V24",
        content: "ERROR cause 6 quoting unknown chunk type 0x7E",
        crc: 0x8FE8_B800,
        hex: "1f404e201122334400b8e88f090000100006000c7e000008deadbeef",
    },
];

const PORT_A: u16 = 20_000;
const PORT_Z: u16 = 8_000;
const TAG_A: VerificationTag = VerificationTag(0x1122_3344);
const TAG_Z: VerificationTag = VerificationTag(0xAABB_CCDD);
/// When the cookie of V2 was made, in milliseconds.
pub(super) const CREATED_MS: u64 = 1_700_000_000_000;

/// The bytes of the vector of this name.
pub(super) fn bytes_of(name: &str) -> Vec<u8> {
    let vector = VECTORS.iter().find(|vector| vector.name == name).unwrap();
    crate::mptcp::bytes(vector.hex)
}

/// The packet that the vector of this name is.
pub(super) fn packet(name: &str) -> SctpPacket {
    SctpPacket::parse(&bytes_of(name)).unwrap()
}

pub(super) fn cookie_secret() -> CookieSecret {
    CookieSecret { id: 7, secret: std::array::from_fn(|i| i as u8) }
}

/// The association key of V18 and V19.
pub(super) fn auth_key() -> AuthKey {
    AuthKey::new(&[], &key_vector(0), &key_vector(32))
}

/// The key vector whose random number begins with `first` and counts up.
pub(super) fn key_vector(first: u8) -> KeyVector {
    let random: Vec<u8> = (first..first + 32).collect();
    KeyVector::of(&[
        Parameter::HmacAlgorithms([1, 3].into()),
        Parameter::Random(random.into()),
        Parameter::AuthenticatedChunks(Bytes::from_static(&[0xC1, 0x80])),
    ])
}

fn address(octets: [u8; 4]) -> IpAddr {
    octets.into()
}

fn from_a(chunks: impl Into<Chunks>) -> SctpPacket {
    SctpPacket { src_port: PORT_A, dst_port: PORT_Z, tag: TAG_Z, udp: None, chunks: chunks.into() }
}

fn from_z(chunks: impl Into<Chunks>) -> SctpPacket {
    SctpPacket { src_port: PORT_Z, dst_port: PORT_A, tag: TAG_A, udp: None, chunks: chunks.into() }
}

fn extensions() -> [Parameter; 2] {
    let chunks = Bytes::from_static(&[0xC0, 0x82, 0xC1, 0x80, 0x0F, 0x10]);
    [Parameter::ForwardTsnSupported, Parameter::SupportedExtensions(chunks)]
}

fn init() -> SctpPacket {
    let mut parameters = vec![
        Parameter::Address(address([10, 1, 1, 1])),
        Parameter::Address(address([10, 2, 1, 1])),
        Parameter::SupportedAddressTypes([IPV4_ADDRESS, IPV6_ADDRESS].into()),
    ];
    parameters.extend(extensions());
    let init = Init {
        tag: TAG_A,
        a_rwnd: 1 << 20,
        outbound_streams: 10,
        inbound_streams: 16,
        initial_tsn: Tsn(1000),
        parameters,
    };
    SctpPacket { tag: VerificationTag(0), ..from_a([Chunk::Init(Box::new(init))]) }
}

pub(super) fn cookie() -> StateCookie {
    let window = 2 << 20;
    let local = CookieSide {
        tag: TAG_Z,
        tie_tag: 0,
        initial_tsn: Tsn(5000),
        a_rwnd: window,
        streams: 10,
        port: PORT_Z,
    };
    let peer = CookieSide {
        tag: TAG_A,
        initial_tsn: Tsn(1000),
        a_rwnd: 1 << 20,
        streams: 16,
        port: PORT_A,
        ..local
    };
    StateCookie {
        created_ms: CREATED_MS,
        life_ms: 60_000,
        local,
        peer,
        features: Features(0x3F),
        src: address([10, 1, 1, 1]),
        dst: address([10, 1, 2, 1]),
        peer_addresses: vec![address([10, 1, 1, 1]), address([10, 2, 1, 1])],
        auth: vec![],
    }
}

fn init_ack() -> SctpPacket {
    let mut parameters = vec![
        Parameter::Address(address([10, 1, 2, 1])),
        Parameter::Address(address([10, 2, 2, 1])),
    ];
    parameters.extend(extensions());
    parameters.push(Parameter::StateCookie(cookie().seal(&cookie_secret())));
    let init = Init {
        tag: TAG_Z,
        a_rwnd: 2 << 20,
        outbound_streams: 16,
        inbound_streams: 10,
        initial_tsn: Tsn(5000),
        parameters,
    };
    from_z([Chunk::InitAck(Box::new(init))])
}

fn data(tsn: u32, payload: &'static [u8]) -> Data {
    let payload = Bytes::from_static(payload).into();
    Data { tsn: Tsn(tsn), payload, ..Data::default() }
}

fn cookie_echo() -> SctpPacket {
    let flags = DataFlags::IMMEDIATE | DataFlags::WHOLE;
    let hello = Data { flags, ..data(1000, b"hello") };
    from_a([Chunk::CookieEcho(cookie().seal(&cookie_secret())), Chunk::Data(hello)])
}

fn cookie_ack() -> SctpPacket {
    let sack = Sack { cum_tsn: Tsn(1000), a_rwnd: (2 << 20) - 5, ..Sack::default() };
    from_z([Chunk::CookieAck, Chunk::Sack(sack)])
}

fn sack(gaps: &[(u16, u16)], duplicates: &[u32], dac_packets: u8) -> Sack {
    Sack {
        cum_tsn: Tsn(12),
        a_rwnd: 4660,
        dac_packets,
        gaps: blocks(gaps),
        duplicates: duplicates.iter().copied().map(Tsn).collect::<Vec<_>>().into(),
    }
}

fn blocks(pairs: &[(u16, u16)]) -> Box<[GapBlock]> {
    pairs.iter().map(|(start, end)| GapBlock { start: *start, end: *end }).collect()
}

fn nr_sack() -> NrSack {
    NrSack {
        cum_tsn: Tsn(12),
        a_rwnd: 4660,
        dac_packets: 0,
        nr_gaps: blocks(&[(5, 5)]),
        rest: RestOfSack::new(blocks(&[(2, 3)]), [Tsn(9)].into()),
    }
}

fn fragments() -> SctpPacket {
    let fragment = |flags, tsn, payload| {
        let whole = Data { stream: 3, ssn: Ssn(7), ppid: 0x1234_5678, ..data(tsn, payload) };
        Chunk::Data(Data { flags, ..whole })
    };
    from_a([
        fragment(DataFlags::BEGIN, 1001, b"AAAA"),
        fragment(DataFlags::default(), 1002, b"BBBB"),
        fragment(DataFlags::END, 1003, b"CC"),
    ])
}

/// What the heartbeat of V9 is for.
pub(super) fn heartbeat_info() -> HeartbeatInfo {
    HeartbeatInfo {
        nonce: 0x0123_4567_89AB_CDEF,
        sent_us: 0x0006_0A24_182D_8240,
        path: 1,
        address: address([10, 2, 2, 1]),
    }
}

fn authenticated(hmac: AuthHmac, chunk: Chunk, mut packet: SctpPacket) -> SctpPacket {
    let key_id = 0;
    packet.chunks = [Chunk::Auth(Auth::unsigned(key_id, hmac)), chunk].into();
    packet.sign(&auth_key());
    packet
}

fn asconf() -> SctpPacket {
    let request = |correlation, octets| AddressRequest { correlation, address: address(octets) };
    let asconf = Asconf {
        serial: 1000,
        address: address([10, 1, 1, 1]),
        requests: vec![
            Parameter::AddAddress(request(0x0102_3474, [192, 0, 2, 1])),
            Parameter::SetPrimary(request(0x0102_3479, [10, 1, 1, 1])),
        ],
    };
    authenticated(AuthHmac::Sha1, Chunk::Asconf(Box::new(asconf)), from_a([]))
}

fn asconf_ack() -> SctpPacket {
    let responses = vec![Parameter::Success { correlation: 0x0102_3474 }];
    let ack = Chunk::AsconfAck(AsconfAck { serial: 1000, responses });
    authenticated(AuthHmac::Sha256, ack, from_z([]))
}

fn interleaved() -> SctpPacket {
    let fragment = |flags, tsn, ppid_or_fsn, payload| {
        let payload = Bytes::from_static(payload).into();
        let (tsn, mid) = (Tsn(tsn), Mid(5));
        Chunk::IData(IData { flags, tsn, stream: 1, mid, ppid_or_fsn, payload })
    };
    let last = DataFlags::IMMEDIATE | DataFlags::END;
    from_a([fragment(DataFlags::BEGIN, 1020, 51, b"wxyz"), fragment(last, 1021, 1, b"!")])
}

fn reset_stream_3() -> Request {
    let streams = [3].into();
    Request::ResetOutgoing { request: 1000, response: 4999, last_tsn: Tsn(1021), streams }
}

/// The values of the vectors, in their order.
fn values() -> Vec<SctpPacket> {
    let copy = Bytes::from_static(&[0x7E, 0, 0, 8, 0xDE, 0xAD, 0xBE, 0xEF]);
    let skipped = SkippedMessages { stream: 1, unordered: true, mid: Mid(8) };
    let abort = |reflected, causes| Chunk::Abort { reflected, causes };
    vec![
        init(),
        init_ack(),
        cookie_echo(),
        cookie_ack(),
        from_z([Chunk::Sack(sack(&[(2, 3), (5, 5)], &[], 0))]),
        from_z([Chunk::Sack(Sack {
            cum_tsn: Tsn(1024),
            a_rwnd: 1 << 16,
            ..sack(&[(2, 2)], &[19, 19], 2)
        })]),
        from_z([Chunk::NrSack(nr_sack())]),
        fragments(),
        from_a([Chunk::Heartbeat(vec![heartbeat_info().to_parameter()])]),
        from_z([Chunk::HeartbeatAck(vec![heartbeat_info().to_parameter()])]),
        SctpPacket { tag: TAG_Z, ..from_z([abort(true, vec![])]) },
        from_z([abort(false, vec![Cause::ProtocolViolation(Bytes::from_static(b"bad"))])]),
        from_z([Chunk::Error(vec![Cause::StaleCookie(1_500_000)])]),
        from_a([Chunk::Shutdown { cum_tsn: Tsn(5007) }]),
        from_z([Chunk::ShutdownAck]),
        from_a([Chunk::ShutdownComplete { reflected: false }]),
        from_a([Chunk::ForwardTsn(ForwardTsn {
            new_cum_tsn: Tsn(1010),
            streams: [(3, Ssn(9))].into(),
        })]),
        asconf(),
        asconf_ack(),
        interleaved(),
        from_a([Chunk::IForwardTsn(IForwardTsn {
            new_cum_tsn: Tsn(1030),
            streams: [skipped].into(),
        })]),
        from_a([Chunk::Reconfig(vec![Parameter::Reconfig(reset_stream_3())])]),
        from_a([Chunk::Pad(vec![0; 8].into())]),
        from_z([Chunk::Error(vec![Cause::UnrecognizedChunk(copy)])]),
    ]
}

#[test]
fn vectors_are_the_encodings_of_their_values() {
    for (vector, value) in VECTORS.iter().zip(values()) {
        let (name, content, bytes) = (vector.name, vector.content, bytes_of(vector.name));
        let mut emitted = Vec::new();
        value.emit(&mut emitted);
        assert_eq!(emitted, bytes, "{name}: {content}");
        assert_eq!(value.wire_len() as usize, bytes.len(), "{name}: {content}");
        assert_eq!(SctpPacket::parse(&bytes), Ok(value), "{name}: {content}");
        let crc = u32::from_le_bytes(bytes[8..12].try_into().unwrap());
        assert_eq!(crc, vector.crc, "{name}: {content}");
    }
}

#[test]
fn cookie_of_v2_opens_to_what_was_sealed() {
    let [Chunk::InitAck(ack)] = &packet("V2").chunks[..] else { panic!("an INIT ACK") };
    let sealed = ack.cookie().unwrap();
    assert_eq!(sealed.len(), 108 + 32);
    let echo = packet("V3");
    let opened = StateCookie::open(sealed, &[cookie_secret()], &echo, CREATED_MS + 60_000);
    assert_eq!(opened, Ok(cookie()));
}

#[test]
fn key_vectors_and_hmacs_of_v18_and_v19() {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(
        hex(key_vector(0).as_bytes()),
        "80020024000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\
         80030006c1808004000800010003"
    );
    for (name, expected) in [
        ("V18", "62ddb4b781fa7b9df70e57c8ebc35899de6a9056"),
        ("V19", "e0870518339b0f8393f977093aaf9ffb0ea353db7768ab542906ca4ab4dff984"),
    ] {
        let packet = packet(name);
        let Chunk::Auth(auth) = &packet.chunks[0] else { panic!("an AUTH") };
        assert_eq!(hex(&auth.hmac), expected, "{name}");
        assert_eq!(packet.authenticated_from(&auth_key()), Some(1), "{name}");
    }
}

#[test]
fn highest_tsn_of_sacks() {
    assert_eq!(sack(&[(2, 3), (5, 5)], &[], 0).highest(), Tsn(17));
    assert_eq!(nr_sack().highest(), Tsn(17));
    assert_eq!(Sack { cum_tsn: Tsn(7), ..Sack::default() }.highest(), Tsn(7));
}

#[test]
fn fragments_of_v20_have_their_identifier_or_their_number() {
    let [Chunk::IData(first), Chunk::IData(last)] = &packet("V20").chunks[..] else {
        panic!("two I-DATA")
    };
    assert_eq!((first.ppid(), first.fsn()), (Some(51), 0));
    assert_eq!((last.ppid(), last.fsn()), (None, 1));
}
