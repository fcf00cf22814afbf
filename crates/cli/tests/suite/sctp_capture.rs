//! A capture of SCTP associations, made of packets: everything that `analyze` can say of them.

use base::Instant;
use std::net::IpAddr;
use wire::sctp::{
    AddressRequest, Asconf, AsconfAck, Cause, Chunk, Data, DataFlags, ForwardTsn, GapBlock, Init,
    Parameter, Sack, Ssn, Tsn, UdpPorts, VerificationTag,
};
use wire::{Body, Packet, Payload, PcapngWriter, SctpPacket};

const TAGS: [u32; 2] = [0x1122_3344, 0xAABB_CCDD];

struct Made {
    writer: PcapngWriter<Vec<u8>>,
    client_port: u16,
    udp: bool,
    tags: [u32; 2],
}

impl Made {
    /// Sends chunks at this millisecond from host 0, the client, or 1 over path 0 or 1.
    fn send(&mut self, millis: u64, from: usize, path: u8, chunks: Vec<Chunk>) {
        let ports = [self.client_port, 5001];
        let tag = if matches!(chunks[0], Chunk::Init(_)) { 0 } else { self.tags[1 - from] };
        let packet = SctpPacket {
            src_port: ports[from],
            dst_port: ports[1 - from],
            tag: VerificationTag(tag),
            udp: self.udp.then_some(UdpPorts { src: 9899, dst: 9899 }),
            chunks: chunks.into(),
        };
        let host = |host: usize| IpAddr::from([10, 0, path, 1 + host as u8]);
        let packet = Packet::new(host(from), host(1 - from), Body::Sctp(packet));
        let now = Instant::from_micros(millis * 1000);
        self.writer.write(path.into(), now, &packet).expect("memory");
    }

    fn handshake(&mut self, millis: u64) {
        self.send(millis, 0, 0, vec![Chunk::Init(Box::new(init(0)))]);
        self.send(millis + 30, 1, 0, vec![Chunk::InitAck(Box::new(init(1)))]);
        self.send(millis + 30, 0, 0, vec![Chunk::CookieEcho(vec![7; 8].into())]);
        self.send(millis + 60, 1, 0, vec![Chunk::CookieAck]);
    }
}

fn init(side: usize) -> Init {
    let address = |path: u8| Parameter::Address([10, 0, path, 1 + side as u8].into());
    let mut parameters = vec![address(0), address(1)];
    if side == 1 {
        parameters.push(Parameter::StateCookie(vec![7; 8].into()));
    }
    Init {
        tag: VerificationTag(TAGS[side]),
        a_rwnd: 100_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn(1),
        parameters,
    }
}

/// A whole message; the streams take turns.
fn data(tsn: u32) -> Chunk {
    let (stream, ssn) = ((tsn % 2) as u16, Ssn((tsn / 2) as u16));
    let payload = Payload::virtual_range(1, 0, 1400);
    Chunk::Data(Data { flags: DataFlags::WHOLE, tsn: Tsn(tsn), stream, ssn, ppid: 0, payload })
}

fn sack(cum_tsn: u32, gaps: &[(u16, u16)]) -> Vec<Chunk> {
    let gaps = gaps.iter().map(|(start, end)| GapBlock { start: *start, end: *end }).collect();
    vec![Chunk::Sack(Sack { cum_tsn: Tsn(cum_tsn), a_rwnd: 64_000, gaps, ..Sack::default() })]
}

fn asconf(serial: u32, requests: Vec<Parameter>) -> Vec<Chunk> {
    vec![Chunk::Asconf(Box::new(Asconf { serial, address: [10, 0, 0, 1].into(), requests }))]
}

fn asconf_ack(serial: u32, responses: Vec<Parameter>) -> Vec<Chunk> {
    vec![Chunk::AsconfAck(AsconfAck { serial, responses })]
}

/// Every cause that has a name.
fn causes() -> Vec<Cause> {
    let none = || vec![].into();
    vec![
        Cause::InvalidStream(9),
        Cause::MissingParameter(vec![7].into()),
        Cause::StaleCookie(0),
        Cause::OutOfResource,
        Cause::UnresolvableAddress(none()),
        Cause::UnrecognizedChunk(vec![0x7E, 0, 0, 4].into()),
        Cause::InvalidParameter,
        Cause::UnrecognizedParameters(none()),
        Cause::NoUserData(Tsn(1)),
        Cause::CookieWhileShuttingDown,
        Cause::RestartWithNewAddresses(vec![].into()),
        Cause::ProtocolViolation(none()),
        Cause::DeleteLastAddress(none()),
        Cause::ResourceShortage(none()),
        Cause::DeleteSourceAddress(none()),
        Cause::IllegalAsconfAck,
        Cause::NoAuthorization(none()),
        Cause::UnsupportedHmac(9),
    ]
}

/// Associations: one with losses on its first path and changes of addresses, one over UDP that is
/// aborted, one begun before the capture, one that is restarted, and one captured at the server.
pub(crate) fn capture() -> Vec<u8> {
    let writer = PcapngWriter::new(Vec::new(), &["wlan", "lte"]).expect("memory");
    let mut made = Made { writer, client_port: 2000, udp: false, tags: TAGS };
    made.handshake(0);
    let info = vec![Parameter::HeartbeatInfo(vec![1; 16].into())];
    made.send(70, 0, 1, vec![Chunk::Heartbeat(info.clone())]);
    made.send(150, 1, 1, vec![Chunk::HeartbeatAck(info)]);
    (1..=12).for_each(|tsn| made.send(200 + u64::from(tsn), 0, 0, vec![data(tsn)]));
    (3..=6).for_each(|end| made.send(230 + u64::from(end), 1, 0, sack(2, &[(2, end)])));
    made.send(240, 0, 0, vec![data(3)]);
    made.send(270, 1, 0, sack(10, &[]));
    (11..=12).for_each(|tsn| made.send(1270, 0, 1, vec![data(tsn)]));
    made.send(1350, 1, 1, sack(12, &[]));
    let add = |address: [u8; 4]| {
        Parameter::AddAddress(AddressRequest { correlation: 1, address: address.into() })
    };
    let request = |address: [u8; 4]| AddressRequest { correlation: 2, address: address.into() };
    made.send(1400, 0, 1, asconf(1, vec![add([10, 0, 2, 1])]));
    made.send(1480, 1, 1, asconf_ack(1, vec![]));
    made.send(1500, 0, 1, asconf(2, vec![Parameter::DeleteAddress(request([10, 0, 1, 1]))]));
    let causes_of_refusal = vec![Cause::DeleteSourceAddress(vec![].into())];
    let refusal = Parameter::ErrorIndication { correlation: 2, causes: causes_of_refusal };
    made.send(1580, 1, 1, asconf_ack(2, vec![refusal]));
    made.send(1600, 0, 1, asconf(3, vec![Parameter::SetPrimary(request([10, 0, 1, 1]))]));
    let forward = ForwardTsn { new_cum_tsn: Tsn(14), streams: vec![].into() };
    made.send(1610, 0, 1, vec![Chunk::ForwardTsn(forward)]);
    made.send(1620, 1, 1, vec![Chunk::Error(causes())]);
    made.send(1700, 0, 0, vec![Chunk::Shutdown { cum_tsn: Tsn(0) }]);
    made.send(1730, 1, 0, vec![Chunk::ShutdownAck]);
    made.send(1730, 0, 0, vec![Chunk::ShutdownComplete { reflected: false }]);
    made.client_port = 2001;
    made.udp = true;
    made.handshake(1800);
    let reason = b"the user has enough".to_vec();
    let causes = vec![Cause::UserAbort(reason.into())];
    made.send(1900, 1, 0, vec![Chunk::Abort { reflected: false, causes }]);
    made.client_port = 2002;
    made.udp = false;
    // The second chunk is not in the capture, and the fourth comes when later ones have come.
    [20, 22, 24, 25].iter().for_each(|tsn| made.send(2000, 0, 0, vec![data(*tsn)]));
    made.send(2001, 1, 0, sack(22, &[]));
    made.send(2060, 0, 0, vec![data(23)]);
    made.tags = [1, 2];
    made.send(2070, 0, 0, vec![data(26)]);
    made.tags = TAGS;
    made.client_port = 2003;
    made.handshake(2100);
    made.send(2200, 0, 0, vec![Chunk::Init(Box::new(Init { tag: VerificationTag(9), ..init(0) }))]);
    made.client_port = 2004;
    made.send(2300, 0, 0, vec![Chunk::Init(Box::new(init(0)))]);
    made.send(2300, 1, 0, vec![Chunk::InitAck(Box::new(init(1)))]);
    made.send(2330, 0, 0, vec![Chunk::CookieEcho(vec![7; 8].into())]);
    [1, 2, 3].iter().for_each(|tsn| made.send(2330, 0, (*tsn % 2) as u8, vec![data(*tsn)]));
    made.writer.into_inner()
}

/// The same packets with the Adler-32 of RFC 2960 as checksum.
pub(crate) fn with_adler_32(file: &[u8]) -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), &["wlan", "lte"]).expect("memory");
    let packets = wire::CaptureReader::new(file).expect("a capture");
    for packet in packets.map(|packet| packet.expect("a packet")) {
        // Behind the header of IPv4; SCTP over UDP is left out.
        let mut datagram = packet.datagram.to_vec();
        if datagram[9] != 132 {
            continue;
        }
        datagram[28..32].fill(0);
        let sums = datagram[20..].iter().fold((1_u32, 0_u32), |(a, b), byte| {
            let a = (a + u32::from(*byte)) % 65_521;
            (a, (b + a) % 65_521)
        });
        datagram[28..32].copy_from_slice(&(sums.1 << 16 | sums.0).to_be_bytes());
        writer.write_datagram(packet.interface, packet.time, &datagram).expect("memory");
    }
    writer.into_inner()
}
