//! Captures of associations made of packets whose numbers are known.

use super::{Association, Change, End, Known, Retransmissions, State};
use crate::analyze::tests::{check_shares, mangled};
use crate::analyze::{Analysis, Connection, Sending, Spoken, Vantage};
use crate::analyze::{analysis_document, analyze, analyze_sequences};
use base::{Duration, Instant};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use transport::Protocol;
use wire::sctp::{
    AddressRequest, Asconf, AsconfAck, Cause, Chunk, Data, DataFlags, ForwardTsn, GapBlock, IData,
    Init, Mid, NrSack, Parameter, Request, RestOfSack, Sack, Ssn, Tsn, UdpPorts, VerificationTag,
};
use wire::{Body, Packet, Payload, PcapngWriter, SctpPacket, UdpDatagram};

const CLIENT_TAG: u32 = 0x1122_3344;
const SERVER_TAG: u32 = 0xAABB_CCDD;
/// Initial TSNs of the client and of the server; those of the client wrap after five.
const INITIAL: [u32; 2] = [u32::MAX - 4, 5000];
/// Bytes of user data in a chunk.
const LEN: u32 = 1000;

/// A capture being made: host 0 is the client with 10.0.p.1, host 1 the server with 10.0.p.2 on
/// path p.
struct Made {
    writer: PcapngWriter<Vec<u8>>,
    udp: Option<UdpPorts>,
    tags: [u32; 2],
}

impl Made {
    fn new() -> Made {
        let writer = PcapngWriter::new(Vec::new(), &["wlan", "lte"]).unwrap();
        Made { writer, udp: None, tags: [CLIENT_TAG, SERVER_TAG] }
    }

    fn send(&mut self, millis: u64, from: usize, path: u8, chunks: Vec<Chunk>) {
        let is_init = matches!(chunks[0], Chunk::Init(_));
        let tag = if is_init { 0 } else { self.tags[1 - from] };
        let ports = [2000, 5001];
        let packet = SctpPacket {
            src_port: ports[from],
            dst_port: ports[1 - from],
            tag: VerificationTag(tag),
            udp: self.udp.map(|udp| match from {
                0 => udp,
                _ => UdpPorts { src: udp.dst, dst: udp.src },
            }),
            chunks: chunks.into(),
        };
        let host = |host: usize| IpAddr::from([10, 0, path, 1 + host as u8]);
        self.write(millis, path.into(), host(from), host(1 - from), packet);
    }

    fn write(&mut self, millis: u64, path: usize, src: IpAddr, dst: IpAddr, packet: SctpPacket) {
        let packet = Packet::new(src, dst, Body::Sctp(packet));
        self.writer.write(path, Instant::from_micros(millis * 1000), &packet).unwrap();
    }

    /// The handshake at the client from 0 to 20 ms, over path 0.
    fn handshake(&mut self) {
        self.send(0, 0, 0, vec![Chunk::Init(Box::new(init(0)))]);
        self.send(10, 1, 0, vec![Chunk::InitAck(Box::new(init(1)))]);
        self.send(10, 0, 0, vec![Chunk::CookieEcho(vec![7; 8].into())]);
        self.send(20, 1, 0, vec![Chunk::CookieAck]);
    }

    fn data(&mut self, millis: u64, from: usize, path: u8, nth: u32) {
        self.send(millis, from, path, vec![data(from, nth, nth as u16)]);
    }

    fn sack(&mut self, millis: u64, from: usize, path: u8, sack: Sack) {
        self.send(millis, from, path, vec![Chunk::Sack(sack)]);
    }

    fn analysis(self) -> Analysis {
        analyze(&self.writer.into_inner()).unwrap()
    }

    fn only(self) -> Connection {
        let Analysis { connections, notes, .. } = self.analysis();
        assert_eq!(notes, Vec::<String>::new());
        let [connection] = <[Connection; 1]>::try_from(connections).expect("one connection");
        assert_eq!(connection.spoken, Spoken::Of(Protocol::Sctp));
        connection
    }
}

/// INIT of the client or INIT ACK of the server, both with two addresses.
fn init(side: usize) -> Init {
    let address = |path: u8| Parameter::Address([10, 0, path, 1 + side as u8].into());
    let mut parameters = vec![address(0), address(1)];
    if side == 1 {
        parameters.push(Parameter::StateCookie(vec![7; 8].into()));
    }
    Init {
        tag: VerificationTag([CLIENT_TAG, SERVER_TAG][side]),
        a_rwnd: 100_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn(INITIAL[side]),
        parameters,
    }
}

/// A whole ordered message on stream 0.
fn data(from: usize, nth: u32, ssn: u16) -> Chunk {
    Chunk::Data(Data {
        flags: DataFlags::WHOLE,
        tsn: Tsn(INITIAL[from]) + nth,
        stream: 0,
        ssn: Ssn(ssn),
        ppid: 0,
        payload: Payload::virtual_range(1, 0, LEN),
    })
}

/// A SACK of the client's data up to the `nth` chunk, with gap blocks.
fn sack(nth: u32, gaps: &[(u16, u16)]) -> Sack {
    let gaps = gaps.iter().map(|(start, end)| GapBlock { start: *start, end: *end }).collect();
    let cum_tsn = Tsn(INITIAL[0]) + nth;
    Sack { cum_tsn, a_rwnd: 50_000, gaps, ..Sack::default() }
}

fn of(connection: &Connection) -> &Association {
    connection.sctp.as_ref().expect("an association")
}

/// The capture with each packet a second time 200 us later, a hop further; `copied`: whether that
/// has the identification of the first one.
fn twice(file: &[u8], copied: bool) -> Vec<u8> {
    let mut written = PcapngWriter::new(Vec::new(), &["wlan", "lte"]).unwrap();
    let packets = wire::CaptureReader::new(file).unwrap().map(Result::unwrap);
    for (packet, number) in packets.zip((1_u16..).step_by(2)) {
        let mut datagram = packet.datagram.to_vec();
        let numbers = [number, number + u16::from(!copied)];
        for (identification, late) in numbers.into_iter().zip([0, 200]) {
            datagram[4..6].copy_from_slice(&identification.to_be_bytes());
            // Time to live, and a checksum that the hardware fills in.
            datagram[8] -= 1;
            datagram[10..12].fill(0);
            let time = packet.time + Duration::from_micros(late);
            written.write_datagram(packet.interface, time, &datagram).unwrap();
        }
    }
    written.into_inner()
}

/// Regression: an association that was captured at both interfaces of a router had a loss of 50 %.
#[test]
fn packets_captured_twice_count_once() {
    for udp in [None, Some(UdpPorts { src: 9899, dst: 9899 })] {
        let mut made = Made { udp, ..Made::new() };
        made.handshake();
        (0..8).for_each(|nth| made.data(100 + u64::from(nth), 0, 0, nth));
        made.sack(130, 1, 0, sack(7, &[]));
        let file = made.writer.into_inner();
        let expected = analyze(&file).unwrap();
        let found = analyze(&twice(&file, true)).unwrap();
        assert_eq!(found.connections, expected.connections);
        assert_eq!((expected.sctp_packets, found.sctp_packets), (13, 26));
        let [note] = &found.notes[..] else { panic!("{:?}", found.notes) };
        assert!(note.starts_with("13 SCTP packets are in the capture again within"), "{note}");
        // Other packets with the same chunks are retransmissions.
        let found = analyze(&twice(&file, false)).unwrap();
        assert_eq!(found.connections[0].subflows[0].up.resent_segments, 8);
        assert_eq!(found.notes, [""; 0]);
    }
}

#[test]
fn association_from_init_to_shutdown_has_its_numbers() {
    let mut made = Made::new();
    made.handshake();
    for nth in 0..8 {
        made.data(100 + u64::from(nth), 0, 0, nth);
    }
    made.sack(130, 1, 0, sack(3, &[]));
    made.sack(140, 1, 0, Sack { a_rwnd: 0, ..sack(7, &[]) });
    made.send(200, 1, 0, vec![data(1, 0, 0)]);
    made.send(200, 0, 0, vec![Chunk::Shutdown { cum_tsn: Tsn(INITIAL[1]) }]);
    made.send(210, 1, 0, vec![Chunk::ShutdownAck]);
    made.send(210, 0, 0, vec![Chunk::ShutdownComplete { reflected: false }]);
    let connection = made.only();
    let association = of(&connection);
    assert_eq!((association.initiated, association.state), (true, State::Closed));
    assert_eq!(association.end, End::Shutdown(Some(0)));
    assert_eq!(association.tags, [Some(CLIENT_TAG), Some(SERVER_TAG)]);
    assert_eq!(connection.vantage, Vantage::Client);
    assert_eq!((connection.client.port(), connection.server.port()), (2000, 5001));
    let up = &connection.subflows[0].up;
    assert_eq!(
        (connection.subflows.len(), connection.subflows[0].path.as_deref()),
        (1, Some("wlan"))
    );
    assert_eq!((up.segments, up.bytes, up.first_bytes, up.share), (8, 8000, 8000, Some(1.0)));
    assert_eq!((up.loss, up.out_of_order), (Some(0.0), None), "captured at the sender");
    // Each SACK gives the time of the oldest chunk that it is the first to acknowledge.
    let rtt = up.rtt.expect("captured at the sender");
    assert_eq!((rtt.n, rtt.min, rtt.max), (2, 0.030, 0.036));
    let sent = &association.sides[0];
    assert_eq!((sent.chunks, sent.unique_chunks, sent.unique_bytes), (8, 8, 8000));
    assert_eq!(sent.goodput.map(f64::round), Some(8000.0 * 8.0 / 0.040));
    assert_eq!(
        (sent.sacks.sacks, sent.sacks.zero_windows, sent.sacks.least_window),
        (2, 1, Some(0))
    );
    assert_eq!((sent.streams.len(), sent.streams[0].ordered, sent.streams[0].bytes), (1, 8, 8000));
    let down = &connection.subflows[0].down;
    assert_eq!((down.segments, down.rtt), (1, None), "its receiver has the capture");
    assert_eq!(association.sides[1].streams[0].blocked.unwrap().segments, 0);
}

#[test]
fn addresses_of_init_and_asconf_belong_to_their_side() {
    let mut made = Made::new();
    made.handshake();
    let third: IpAddr = [10, 0, 2, 1].into();
    let request = |correlation, address| AddressRequest { correlation, address };
    let asconf = |serial, requests| {
        Chunk::Asconf(Box::new(Asconf { serial, address: [10, 0, 0, 1].into(), requests }))
    };
    let add = asconf(1, vec![Parameter::AddAddress(request(7, third))]);
    made.send(30, 0, 0, vec![add.clone()]);
    made.send(35, 0, 0, vec![add]);
    made.send(40, 1, 0, vec![Chunk::AsconfAck(AsconfAck { serial: 1, responses: vec![] })]);
    let last: IpAddr = [10, 0, 0, 1].into();
    let second: IpAddr = [10, 0, 1, 1].into();
    let delete = vec![
        Parameter::DeleteAddress(request(8, second)),
        Parameter::DeleteAddress(request(9, last)),
    ];
    made.send(50, 0, 0, vec![asconf(2, delete)]);
    let refusal = Parameter::ErrorIndication {
        correlation: 9,
        causes: vec![Cause::DeleteSourceAddress(vec![].into())],
    };
    made.send(60, 1, 0, vec![Chunk::AsconfAck(AsconfAck { serial: 2, responses: vec![refusal] })]);
    made.send(70, 0, 0, vec![asconf(3, vec![Parameter::SetPrimary(request(10, third))])]);
    let connection = made.only();
    let association = of(&connection);
    let known: Vec<_> = association.addresses[0]
        .iter()
        .map(|known| (known.address, known.from, known.removed))
        .collect();
    let expected =
        [(last, Known::Init, false), (second, Known::Init, true), (third, Known::Asconf, false)];
    assert_eq!(known, expected);
    assert_eq!(association.addresses[1].len(), 2);
    let changes: Vec<_> =
        association.changes.iter().map(|change| (change.what, change.answer.clone())).collect();
    let refused = Some(vec!["Request to Delete Source IP Address".to_owned()]);
    let expected = [
        (Change::Add, Some(vec![])),
        (Change::Delete, Some(vec![])),
        (Change::Delete, refused),
        (Change::SetPrimary, None),
    ];
    assert_eq!(changes, expected);
}

#[test]
fn chunk_reported_missing_three_times_is_a_fast_retransmission_and_others_time_out() {
    let mut made = Made::new();
    made.handshake();
    (0..8).for_each(|nth| made.data(100, 0, 0, nth));
    // Chunk 1 is lost; 2, 3 and 4 are reported. Chunk 7 is lost, too, without reports.
    for last in 2..=4 {
        made.sack(120 + u64::from(last), 1, 0, sack(0, &[(2, last)]));
    }
    made.data(130, 0, 0, 1);
    made.sack(150, 1, 0, sack(6, &[]));
    made.data(1200, 0, 1, 7);
    made.sack(1230, 1, 1, sack(7, &[]));
    let connection = made.only();
    let [first, second] = &connection.subflows[..] else { panic!("two paths") };
    let kinds = |retransmissions: Retransmissions| {
        (retransmissions.fast, retransmissions.timeout, retransmissions.moved)
    };
    let used = |path: &crate::analyze::Subflow| path.up.sctp.clone().unwrap().retransmissions;
    assert_eq!(kinds(used(first)), (1, 0, 0));
    assert_eq!(kinds(used(second)), (0, 1, 1));
    assert_eq!((first.up.resent_segments, first.up.resent_bytes), (1, 1000));
    assert_eq!((second.up.resent_segments, second.up.reinjected_bytes), (0, 1000));
    // Chunks 1 and 7 were lost on the first path, where nine were sent; none on the second.
    assert_eq!((first.up.loss, second.up.loss), (Some(2.0 / 9.0), Some(0.0)));
    assert_eq!((first.up.first_bytes, second.up.first_bytes), (8000, 0));
    // Neither copy of a chunk that was sent again gives a round-trip time (Karn).
    assert_eq!((first.up.rtt.unwrap().n, second.up.rtt), (4, None));
    let sent = &of(&connection).sides[0];
    assert_eq!((sent.chunks, sent.unique_chunks), (10, 8));
    assert_eq!((sent.sacks.gap_blocks, sent.sacks.most_gap_blocks), (3, 1));
}

#[test]
fn first_chunk_of_an_association_is_reported_missing_like_others() {
    let mut made = Made::new();
    made.handshake();
    (0..5).for_each(|nth| made.data(100, 0, 0, nth));
    for last in 2..=4 {
        // The cumulative TSN is the one before the initial TSN.
        let before = Sack { cum_tsn: Tsn(INITIAL[0]) - 1, ..sack(0, &[(2, last)]) };
        made.sack(120 + u64::from(last), 1, 0, before);
    }
    made.data(125, 0, 0, 0);
    let connection = made.only();
    let retransmissions = of(&connection).sides[0].retransmissions;
    assert_eq!((retransmissions.fast, retransmissions.timeout), (1, 0));
    assert_eq!(connection.subflows[0].up.rtt.unwrap().n, 3);
}

#[test]
fn chunk_behind_a_gap_blocks_its_stream_and_no_other_at_the_receiver() {
    let mut made = Made::new();
    // At the server: the answer takes no time.
    made.send(0, 0, 0, vec![Chunk::Init(Box::new(init(0)))]);
    made.send(0, 1, 0, vec![Chunk::InitAck(Box::new(init(1)))]);
    made.send(20, 0, 0, vec![Chunk::CookieEcho(vec![7; 8].into())]);
    made.send(20, 1, 0, vec![Chunk::CookieAck]);
    let on = |nth: u32, stream: u16, ssn: u16, flags: DataFlags| {
        let Chunk::Data(chunk) = data(0, nth, ssn) else { unreachable!("DATA") };
        vec![Chunk::Data(Data { stream, flags, ..chunk })]
    };
    let (whole, unordered) = (DataFlags::WHOLE, DataFlags::WHOLE | DataFlags::UNORDERED);
    made.send(100, 0, 0, on(0, 0, 0, whole));
    // The second message of stream 0 is lost; it comes again at 150 ms.
    made.send(102, 0, 0, on(2, 0, 2, whole));
    made.send(103, 0, 0, on(3, 1, 0, whole));
    made.send(104, 0, 0, on(4, 0, 0, unordered));
    for last in 2..=4 {
        made.sack(104, 1, 0, sack(0, &[(2, last)]));
    }
    made.send(150, 0, 0, on(1, 0, 1, whole));
    // A message of three fragments, the middle one last.
    made.send(160, 0, 0, on(5, 0, 3, DataFlags::BEGIN));
    made.send(161, 0, 0, on(7, 0, 3, DataFlags::END));
    made.send(163, 0, 0, on(6, 0, 3, DataFlags(0)));
    let connection = made.only();
    assert_eq!(connection.vantage, Vantage::Server);
    let sent = &of(&connection).sides[0];
    let streams: Vec<_> = sent
        .streams
        .iter()
        .map(|stream| {
            let blocked = stream.blocked.expect("at the receiver");
            (stream.id, stream.ordered, stream.unordered, blocked.segments, blocked.delay.max)
        })
        .collect();
    assert_eq!(streams, [(0, 4, 1, 2, 0.048), (1, 1, 0, 0, 0.0)]);
    let up = &connection.subflows[0].up;
    assert_eq!(up.out_of_order.unwrap().segments, 2);
    assert_eq!(up.out_of_order.unwrap().delay.n, 8);
    assert_eq!((up.rtt, up.loss), (None, Some(1.0 / 9.0)), "one of nine never came");
    let once = Retransmissions { fast: 1, timeout: 0, moved: 0, lost_before: 1 };
    assert_eq!(sent.retransmissions, once);
}

#[test]
fn fragments_of_i_data_wait_for_their_own_message_only() {
    let mut made = Made::new();
    let chunk = |nth: u32, mid: u32, fsn: u32, flags: DataFlags| {
        let payload = Payload::virtual_range(1, 0, LEN);
        let (tsn, mid) = (Tsn(INITIAL[0]) + nth, Mid(mid));
        vec![Chunk::IData(IData { flags, tsn, stream: 3, mid, ppid_or_fsn: fsn, payload })]
    };
    let unordered = DataFlags::UNORDERED;
    made.handshake();
    made.send(100, 0, 0, chunk(0, 0, 0, DataFlags::BEGIN | unordered));
    made.send(101, 0, 0, chunk(2, 1, 0, DataFlags::BEGIN | unordered));
    made.send(102, 0, 0, chunk(3, 0, 2, DataFlags::END | unordered));
    made.send(103, 0, 0, chunk(4, 1, 1, DataFlags::END | unordered));
    made.send(110, 0, 0, chunk(1, 0, 1, unordered));
    let analysis = made.analysis();
    let half = &of(&analysis.connections[0]).sides[0];
    assert_eq!((half.streams[0].id, half.streams[0].unordered), (3, 2));
    let waited = analysis.connections[0].subflows[0].up.out_of_order;
    assert_eq!(waited, None, "captured at the sender");
}

#[test]
fn heartbeats_are_matched_by_their_content_whatever_path_answers() {
    let mut made = Made::new();
    made.handshake();
    let info = |byte: u8| vec![Parameter::HeartbeatInfo(vec![byte; 16].into())];
    made.send(100, 0, 1, vec![Chunk::Heartbeat(info(1))]);
    made.send(150, 1, 0, vec![Chunk::HeartbeatAck(info(1))]);
    made.send(200, 0, 1, vec![Chunk::Heartbeat(info(2))]);
    made.send(260, 1, 1, vec![Chunk::HeartbeatAck(info(3))]);
    let connection = made.only();
    let second = connection.subflows[1].up.sctp.clone().unwrap();
    assert_eq!((second.packets, second.heartbeats, second.answered), (2, 2, 1));
    assert_eq!(second.heartbeat_rtt.unwrap().mean, 0.050);
    assert!(connection.subflows[1].established);
}

#[test]
fn abort_has_its_side_and_causes() {
    let mut made = Made::new();
    made.handshake();
    let causes = vec![Cause::UserAbort(b"enough".to_vec().into()), Cause::OutOfResource];
    made.send(50, 1, 1, vec![Chunk::Abort { reflected: false, causes }]);
    let connection = made.only();
    let causes = ["User-Initiated Abort \"enough\"", "Out of Resource"].map(str::to_owned);
    assert_eq!(of(&connection).end, End::Abort(1, causes.to_vec()));
    assert_eq!(of(&connection).state, State::Established);
}

#[test]
fn reflected_tag_is_that_of_the_sender() {
    let mut made = Made::new();
    made.handshake();
    made.tags = [SERVER_TAG, CLIENT_TAG];
    made.send(50, 1, 0, vec![Chunk::Abort { reflected: true, causes: vec![] }]);
    assert_eq!(of(&made.only()).end, End::Abort(1, vec![]));
}

#[test]
fn packet_with_a_wrong_tag_is_counted_and_changes_nothing() {
    let mut made = Made::new();
    made.handshake();
    made.tags = [1, 2];
    made.send(50, 1, 0, vec![Chunk::Abort { reflected: false, causes: vec![] }]);
    made.data(51, 0, 0, 0);
    let connection = made.only();
    let association = of(&connection);
    assert_eq!((association.wrong_tags, &association.end), (2, &End::Running));
    assert_eq!(association.sides[0].chunks, 0);
}

#[test]
fn second_init_with_another_tag_is_a_restart() {
    let mut made = Made::new();
    made.handshake();
    let again = Init { tag: VerificationTag(5), ..init(0) };
    made.send(100, 0, 0, vec![Chunk::Init(Box::new(again))]);
    made.tags[0] = 5;
    let answer = Init { tag: VerificationTag(6), ..init(1) };
    made.send(110, 1, 0, vec![Chunk::InitAck(Box::new(answer))]);
    let analysis = made.analysis();
    let ends: Vec<_> = analysis.connections.iter().map(|one| of(one).end.clone()).collect();
    assert_eq!(ends, [End::Restart, End::Running]);
    assert_eq!(of(&analysis.connections[1]).tags, [Some(5), Some(6)]);
}

#[test]
fn inits_of_both_ends_at_once_are_one_association() {
    let mut made = Made::new();
    made.send(0, 0, 0, vec![Chunk::Init(Box::new(init(0)))]);
    let other = Init { parameters: vec![], ..init(1) };
    made.send(1, 1, 0, vec![Chunk::Init(Box::new(other))]);
    made.send(10, 1, 0, vec![Chunk::InitAck(Box::new(init(1)))]);
    made.send(11, 0, 0, vec![Chunk::CookieEcho(vec![7; 8].into())]);
    made.send(20, 1, 0, vec![Chunk::CookieAck]);
    assert_eq!(of(&made.only()).state, State::Established);
}

#[test]
fn nr_sacks_duplicates_and_abandoned_chunks_are_counted() {
    let mut made = Made::new();
    made.handshake();
    (0..5).for_each(|nth| made.data(100, 0, 0, nth));
    let blocks = |start, end| vec![GapBlock { start, end }].into_boxed_slice();
    let nr = NrSack {
        cum_tsn: Tsn(INITIAL[0]),
        a_rwnd: 700,
        dac_packets: 0,
        nr_gaps: blocks(4, 4),
        rest: RestOfSack::new(blocks(2, 2), vec![Tsn(INITIAL[0]); 2].into()),
    };
    made.send(110, 1, 0, vec![Chunk::NrSack(nr)]);
    // Chunks 5 and 6 were never sent.
    let streams = vec![(0, Ssn(6))].into();
    let forward = ForwardTsn { new_cum_tsn: Tsn(INITIAL[0]) + 6, streams };
    made.send(120, 0, 0, vec![Chunk::ForwardTsn(forward)]);
    let reset = Request::ResetOutgoing {
        request: 1,
        response: 0,
        last_tsn: Tsn(INITIAL[0]) + 6,
        streams: vec![0].into(),
    };
    made.send(130, 0, 0, vec![Chunk::Reconfig(vec![Parameter::Reconfig(reset)])]);
    made.send(140, 0, 0, vec![data(0, 7, 0)]);
    let connection = made.only();
    let sent = &of(&connection).sides[0];
    let sacks = sent.sacks;
    assert_eq!((sacks.nr_sacks, sacks.gap_blocks, sacks.duplicates), (1, 2, 2));
    assert_eq!((sacks.least_window, sent.abandoned_chunks, sent.unique_chunks), (Some(700), 2, 6));
}

#[test]
fn capture_that_begins_in_the_middle_joins_paths_by_the_tags() {
    let mut made = Made::new();
    made.data(100, 0, 0, 10);
    made.sack(110, 1, 0, sack(10, &[]));
    made.data(111, 0, 1, 11);
    // Sent before the capture began, and again.
    made.data(500, 0, 1, 9);
    made.sack(130, 1, 1, sack(10, &[]));
    let connection = made.only();
    let association = of(&connection);
    assert_eq!((association.initiated, association.state), (false, State::Established));
    assert_eq!(connection.vantage, Vantage::Unknown);
    assert_eq!((connection.subflows.len(), connection.client.port()), (2, 5001));
    assert_eq!(association.sides[1].unique_chunks, 3);
}

/// Regression: without the INIT, the sender of the INIT ACK was the client if its port was higher.
#[test]
fn client_of_a_handshake_without_its_first_packets_is_the_one_that_echoes_the_cookie() {
    for from in 1..4 {
        let mut made = Made::new();
        made.handshake();
        made.data(30, 0, 0, 0);
        made.sack(40, 1, 0, sack(0, &[]));
        let whole = made.writer.into_inner();
        let mut late = PcapngWriter::new(Vec::new(), &["wlan"]).unwrap();
        for packet in wire::CaptureReader::new(&whole).unwrap().skip(from).map(Result::unwrap) {
            late.write_datagram(0, packet.time, packet.datagram).unwrap();
        }
        let analysis = analyze(&late.into_inner()).unwrap();
        let [found] = &analysis.connections[..] else { panic!("{analysis:?}") };
        assert_eq!((found.client.port(), found.server.port()), (2000, 5001), "{from}");
        assert!(of(found).initiated);
        assert_eq!((of(found).state, of(found).sides[0].bytes), (State::Established, LEN.into()));
    }
}

#[test]
fn packets_over_udp_are_found_by_the_port_or_by_their_checksum() {
    for udp in [UdpPorts { src: 9899, dst: 9899 }, UdpPorts { src: 40_000, dst: 5000 }] {
        let mut made = Made::new();
        made.udp = Some(udp);
        made.handshake();
        made.data(100, 0, 0, 0);
        let analysis = made.analysis();
        assert_eq!((analysis.sctp_packets, analysis.notes.len()), (5, 0), "{udp:?}");
        assert_eq!(analysis.protocols[0].protocol, "SCTP over UDP");
        assert_eq!(of(&analysis.connections[0]).udp, Some([udp.src, udp.dst]));
    }
}

/// Regression: they were left out for a wrong checksum, which lost nearly all data of a capture on
/// a host of the live engine.
#[test]
fn packets_that_the_kernel_joined_in_one_datagram_are_several() {
    let udp = UdpPorts { src: 9899, dst: 40_000 };
    let analyzed = |joined: bool| {
        let mut made = Made::new();
        made.udp = Some(udp);
        made.handshake();
        let sent: Vec<SctpPacket> = (0..3)
            .map(|nth| SctpPacket {
                src_port: 2000,
                dst_port: 5001,
                tag: VerificationTag(SERVER_TAG),
                udp: None,
                chunks: [2 * nth, 2 * nth + 1].map(|nth| data(0, nth, nth as u16)).into(),
            })
            .collect();
        let bytes_of = |packets: &[SctpPacket]| {
            let mut bytes = Vec::new();
            packets.iter().for_each(|packet| packet.emit(&mut bytes));
            bytes
        };
        for packets in sent.chunks(if joined { 3 } else { 1 }) {
            let payload = bytes_of(packets).into();
            let datagram = UdpDatagram { src_port: udp.src, dst_port: udp.dst, payload };
            let [src, dst] = [1, 2].map(|host| IpAddr::from([10, 0, 0, host]));
            let packet = Packet::new(src, dst, Body::Udp(datagram));
            made.writer.write(0, Instant::from_micros(100_000), &packet).unwrap();
        }
        made.analysis()
    };
    let (apart, joined) = (analyzed(false), analyzed(true));
    assert_eq!((joined.sctp_packets, joined.notes.len()), (7, 0));
    assert_eq!(joined.connections, apart.connections);
    assert_eq!((apart.packets, joined.packets), (7, 5));
}

#[test]
fn wrong_checksums_are_left_out_and_adler_32_is_named() {
    let mut made = Made::new();
    made.handshake();
    let mut adler = Vec::new();
    let mut datagrams = Vec::new();
    for packet in wire::CaptureReader::new(&made.writer.into_inner()).unwrap() {
        let packet = packet.unwrap();
        let mut datagram = packet.datagram.to_vec();
        datagram[28] ^= 1;
        datagrams.push(datagram.clone());
        let (mut a, mut b) = (1_u32, 0_u32);
        datagram[28..32].fill(0);
        for byte in &datagram[20..] {
            a = (a + u32::from(*byte)) % 65_521;
            b = (b + a) % 65_521;
        }
        datagram[28..32].copy_from_slice(&(b << 16 | a).to_be_bytes());
        adler.push(datagram);
    }
    let all = |datagrams: &[Vec<u8>]| {
        let mut writer = PcapngWriter::new(Vec::new(), &["wlan"]).unwrap();
        for datagram in datagrams {
            writer.write_datagram(0, Instant::ZERO, datagram).unwrap();
        }
        analyze(&writer.into_inner()).unwrap()
    };
    let wrong = all(&datagrams);
    assert_eq!((wrong.sctp_packets, wrong.adler32_packets), (0, 0));
    assert_eq!(wrong.notes, ["4 left out: wrong SCTP checksum"]);
    let adler = all(&adler);
    assert_eq!((adler.connections.len(), adler.adler32_packets), (0, 4));
    assert!(adler.notes[0].contains("Adler-32 of RFC 2960"), "{:?}", adler.notes);
}

#[test]
fn packets_cut_behind_their_chunk_headers_keep_their_numbers() {
    let mut made = Made::new();
    made.handshake();
    (0..8).for_each(|nth| made.data(100, 0, 0, nth));
    made.sack(130, 1, 0, sack(7, &[]));
    let whole = made.writer.into_inner();
    let mut cut = PcapngWriter::new(Vec::new(), &["wlan", "lte"]).unwrap();
    for packet in wire::CaptureReader::new(&whole).unwrap().map(Result::unwrap) {
        let len = packet.datagram.len().min(96);
        cut.write_datagram(packet.interface, packet.time, &packet.datagram[..len]).unwrap();
    }
    assert_eq!(
        analyze(&cut.into_inner()).unwrap().connections,
        analyze(&whole).unwrap().connections
    );
}

/// Regression: the note on a packet whose first chunk was cut left out the common header of what it
/// needs: 36 bytes, although 46 were there.
#[test]
fn note_on_a_chunk_cut_short_has_the_bytes_that_it_needs() {
    let mut made = Made::new();
    made.send(0, 0, 0, vec![Chunk::Init(Box::new(init(0)))]);
    let whole = made.writer.into_inner();
    let mut cut = PcapngWriter::new(Vec::new(), &["wlan"]).unwrap();
    let packet = wire::CaptureReader::new(&whole).unwrap().next().unwrap().unwrap();
    let len = packet.datagram.len() - 2;
    cut.write_datagram(0, packet.time, &packet.datagram[..len]).unwrap();
    assert_eq!(
        analyze(&cut.into_inner()).unwrap().notes,
        ["1 left out: SCTP cut short: 48 bytes needed, 46 there"]
    );
}

#[test]
fn sequence_counts_tsns_and_has_the_kind_of_every_chunk() {
    let mut made = Made::new();
    made.handshake();
    (0..4).for_each(|nth| made.data(100, 0, 0, nth));
    made.sack(120, 1, 0, sack(2, &[]));
    made.data(1100, 0, 1, 3);
    made.sack(1130, 1, 1, sack(3, &[]));
    let analysis = analyze_sequences(&made.writer.into_inner()).unwrap();
    let sequence = analysis.connections[0].sequence(false);
    let sent: Vec<_> =
        sequence.sent.iter().map(|one| (one.position, one.subflow, one.kind)).collect();
    assert_eq!(sent[3..], [(3, 0, Sending::New), (3, 1, Sending::Reinjection)]);
    assert_eq!(sequence.acknowledged, [(0.12, 3), (1.13, 4)]);
}

#[test]
fn document_has_the_association_beside_its_paths() {
    let mut made = Made::new();
    made.handshake();
    made.data(100, 0, 0, 0);
    let analysis = made.analysis();
    let document = analysis_document("made.pcapng", &analysis);
    let document = serde_json::to_value(document).unwrap();
    assert_eq!(document["sctp_packets"], 5);
    let connection = &document["connections"][0];
    assert_eq!(connection["protocol"], "sctp");
    assert_eq!(connection["sctp"]["state"], "established");
    assert_eq!(connection["sctp"]["end"]["how"], "running");
    assert_eq!(connection["sctp"]["up"]["unique_chunks"], 1);
    assert_eq!(connection["subflows"][0]["up"]["sctp"]["packets"], 3);
    assert_eq!(connection["subflows"][0]["up"]["segments"], 1);
}

/// The captures of the folder `ANABRANCH_DATA`.
fn shared(name: &str) -> Option<PathBuf> {
    let Some(data) = std::env::var_os("ANABRANCH_DATA") else {
        println!("skipped: ANABRANCH_DATA names no folder of captures");
        return None;
    };
    let file = Path::new(&data).join("pcap/sctp").join(name);
    if !file.exists() {
        println!("skipped: ANABRANCH_DATA has no {name}");
        return None;
    }
    Some(file)
}

/// The columns that the comparison asks of tshark.
const FIELDS: [&str; 9] = [
    "frame.time_epoch",
    "ip.src",
    "ip.dst",
    "sctp.chunk_type",
    "sctp.chunk_length",
    "sctp.data_tsn_raw",
    "sctp.sack_cumulative_tsn_ack_raw",
    "sctp.sack_gap_block_start",
    "sctp.sack_gap_block_end",
];

/// A packet as tshark shows it.
struct Row {
    time: f64,
    ends: [IpAddr; 2],
    /// Types and lengths of the chunks.
    chunks: Vec<(u32, u64)>,
    tsns: Vec<u32>,
    /// Cumulative TSN and blocks of a SACK.
    sack: Option<(u32, Vec<(u32, u32)>)>,
}

/// Every packet of a capture; `None` without tshark.
fn tshark(file: &Path) -> Option<Vec<Row>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-o", "sctp.checksum:CRC-32c", "-Y", "sctp"]);
    command.args(["-T", "fields", "-E", "separator=;"]);
    command.args(FIELDS.iter().flat_map(|field| ["-e", *field]));
    let Ok(output) = command.output() else {
        println!("skipped: tshark not found");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).lines().map(row).collect())
}

fn row(line: &str) -> Row {
    let cells: Vec<&str> = line.split(';').collect();
    let numbers = |at: usize| -> Vec<u32> {
        let values = cells[at].split(',').filter(|value| !value.is_empty());
        values.map(|value| value.parse().unwrap()).collect()
    };
    let lengths = numbers(4).into_iter().map(u64::from);
    let blocks = numbers(7).into_iter().zip(numbers(8)).collect();
    Row {
        time: cells[0].parse().unwrap(),
        ends: [cells[1].parse().unwrap(), cells[2].parse().unwrap()],
        chunks: numbers(3).into_iter().zip(lengths).collect(),
        tsns: numbers(5),
        sack: numbers(6).first().map(|cumulative| (*cumulative, blocks)),
    }
}

/// Time from a TSN to the SACK that reports it first, the oldest TSN of each SACK and path; without
/// any structure.
fn round_trips(rows: &[Row], sends: impl Fn(&Row) -> bool) -> BTreeMap<[IpAddr; 2], Vec<f64>> {
    let mut outstanding: Vec<(u32, f64, [IpAddr; 2])> = Vec::new();
    let mut samples: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for row in rows {
        if sends(row) {
            outstanding.extend(row.tsns.iter().map(|tsn| (*tsn, row.time, row.ends)));
            continue;
        }
        let Some((cumulative, blocks)) = &row.sack else { continue };
        let is_reported = |tsn: u32| {
            let offset = tsn.wrapping_sub(*cumulative) as i32;
            let within =
                |(start, end): &(u32, u32)| (*start as i32..=*end as i32).contains(&offset);
            offset <= 0 || blocks.iter().any(within)
        };
        let mut oldest: BTreeMap<[IpAddr; 2], f64> = BTreeMap::new();
        outstanding.retain(|(tsn, time, ends)| {
            let reported = is_reported(*tsn);
            if reported {
                oldest.entry(*ends).or_insert(*time);
            }
            !reported
        });
        for (ends, sent) in oldest {
            samples.entry(ends).or_default().push(row.time - sent);
        }
    }
    samples
}

/// Chunks, bytes, TSNs, gap blocks, packets and round-trip times of every direction and path.
#[test]
fn tshark_counts_the_same_in_shared_captures() {
    for name in ["usrsctp-mh.pcap", "usrsctp-cmt.pcap", "zeek-communityid-sctp.pcap"] {
        let Some(file) = shared(name) else { return };
        let Some(rows) = tshark(&file) else { return };
        let analysis = analyze(&std::fs::read(&file).unwrap()).unwrap();
        let [connection] = &analysis.connections[..] else { panic!("{name}: one association") };
        let association = of(connection);
        let all = (analysis.sctp_packets, association.wrong_tags);
        assert_eq!(all, (rows.len() as u64, 0), "{name}");
        for side in [0, 1] {
            let own = &association.addresses[side];
            let sends = |row: &Row| own.iter().any(|known| known.address == row.ends[0]);
            let (mine, other): (Vec<&Row>, Vec<&Row>) =
                rows.iter().partition(|row: &&Row| sends(row));
            let chunks = |rows: &[&Row], kind: u32| -> Vec<u64> {
                let all = rows.iter().flat_map(|row| &row.chunks);
                all.filter(|(of, _)| *of == kind).map(|(_, len)| *len).collect()
            };
            let (data, sacks) = (chunks(&mine, 0), chunks(&other, 3));
            let sent = &association.sides[side];
            assert_eq!(sent.chunks, data.len() as u64, "{name}: DATA");
            let bytes = data.iter().map(|len| len - u64::from(Data::HEADER)).sum::<u64>();
            assert_eq!(sent.bytes, bytes, "{name}: user data");
            assert_eq!(sent.sacks.sacks, sacks.len() as u64, "{name}: SACK");
            let tsns: BTreeSet<u32> = mine.iter().flat_map(|row| &row.tsns).copied().collect();
            assert_eq!(sent.unique_chunks, tsns.len() as u64, "{name}: TSNs");
            let gaps = other.iter().filter_map(|row| row.sack.as_ref()).map(|(_, gaps)| gaps.len());
            assert_eq!(sent.sacks.gap_blocks, gaps.sum::<usize>() as u64, "{name}: gap blocks");
            let samples = round_trips(&rows, sends);
            for path in &connection.subflows {
                let ends = [path.client.ip(), path.server.ip()];
                let ends = [ends[side], ends[1 - side]];
                let flowing = path.flowing(side == 1);
                let on: Vec<&Row> = mine.iter().filter(|row| row.ends == ends).copied().collect();
                let used = flowing.sctp.as_ref().unwrap();
                assert_eq!(used.packets, on.len() as u64, "{name}: packets of {ends:?}");
                assert_eq!(used.heartbeats, chunks(&on, 4).len() as u64, "{name}: HEARTBEAT");
                let Some(rtt) = flowing.rtt else { continue };
                let samples = &samples[&ends];
                let mean = samples.iter().sum::<f64>() / samples.len() as f64;
                assert_eq!(rtt.n, samples.len() as u64, "{name}: RTTs of {ends:?}");
                assert!((rtt.mean - mean).abs() < 1e-6, "{name}: {} and {mean}", rtt.mean);
            }
        }
    }
}

/// Packets of the rarer chunks.
fn others(made: &mut Made) {
    let info = vec![Parameter::HeartbeatInfo(vec![1; 16].into())];
    made.send(150, 0, 1, vec![Chunk::Heartbeat(info.clone())]);
    made.send(151, 1, 0, vec![Chunk::HeartbeatAck(info)]);
    let request = AddressRequest { correlation: 1, address: [10, 0, 2, 1].into() };
    let requests = vec![Parameter::AddAddress(request), Parameter::DeleteAddress(request)];
    let asconf = Asconf { serial: 1, address: [10, 0, 0, 1].into(), requests };
    made.send(152, 0, 0, vec![Chunk::Asconf(Box::new(asconf))]);
    let causes = vec![Cause::ProtocolViolation(b"no".to_vec().into())];
    let responses = vec![Parameter::ErrorIndication { correlation: 1, causes: causes.clone() }];
    made.send(153, 1, 0, vec![Chunk::AsconfAck(AsconfAck { serial: 1, responses })]);
    let streams = vec![(0, Ssn(41))].into();
    let forward = ForwardTsn { new_cum_tsn: Tsn(INITIAL[0]) + 42, streams };
    made.send(154, 0, 0, vec![Chunk::ForwardTsn(forward)]);
    for (nth, fsn) in [(44, 1), (43, 0), (46, 0), (45, 2)] {
        let flags = DataFlags((fsn == 0).into());
        let (tsn, payload) = (Tsn(INITIAL[0]) + nth, Payload::virtual_range(1, 0, LEN));
        let chunk = IData { flags, tsn, stream: 1, mid: Mid(0), ppid_or_fsn: fsn, payload };
        made.send(155, 0, 1, vec![Chunk::IData(chunk)]);
    }
    let gaps = vec![GapBlock { start: 2, end: 9 }].into_boxed_slice();
    let nr = NrSack { cum_tsn: Tsn(INITIAL[0]) + 30, nr_gaps: gaps, ..NrSack::default() };
    made.send(156, 1, 1, vec![Chunk::NrSack(nr), Chunk::Error(causes.clone())]);
    let (request, response, last_tsn) = (1, 0, Tsn(INITIAL[0]));
    let reset = Request::ResetOutgoing { request, response, last_tsn, streams: [].into() };
    made.send(157, 0, 0, vec![Chunk::Reconfig(vec![Parameter::Reconfig(reset)]), data(0, 47, 0)]);
    made.send(160, 0, 0, vec![Chunk::Shutdown { cum_tsn: Tsn(INITIAL[1]) }]);
    made.send(161, 1, 0, vec![Chunk::ShutdownAck]);
    made.send(162, 1, 0, vec![Chunk::Abort { reflected: false, causes }]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    /// Packets lost, repeated, out of place and with other bytes whose checksum is right: no
    /// panic, and shares stay shares.
    #[test]
    fn mangled_associations_are_analysed_without_harm(
        places in proptest::collection::vec((any::<usize>(), 0u8..5, any::<u8>()), 1..80),
        init_is_there in any::<bool>(),
    ) {
        let mut made = Made::new();
        if init_is_there {
            made.handshake();
        }
        for nth in 0..40 {
            made.data(100 + u64::from(nth), 0, (nth % 2) as u8, nth);
            if nth % 3 == 0 {
                made.sack(101 + u64::from(nth), 1, 0, sack(nth / 2, &[(2, 2 + (nth / 4) as u16)]));
            }
        }
        others(&mut made);
        let file = made.writer.into_inner();
        let mangled = mangled(&file, &places, |bytes, place, value| {
            let byte = 20 + place % (bytes.len() - 20);
            bytes[byte] = value;
            wire::sctp::fill_checksum(&mut bytes[20..]);
        });
        let analysis = analyze(&mangled).unwrap();
        check_shares(&analysis)?;
        prop_assert!(serde_json::to_value(analysis_document("made", &analysis)).is_ok());
    }
}
