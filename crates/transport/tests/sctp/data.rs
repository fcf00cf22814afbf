//! Data transfer as the wire shows it: streams, fragments, SACKs in time, and limits (RFC 9260 s6).

use crate::pair::{Client, DELAY, Fate, Pair, Passing, Server, address, config, message};
use base::Duration;
use transport::sctp::SctpConfig;
use transport::sctp::streams::Message;
use wire::sctp::{Chunk, Data, DataFlags, Features, IData, Mid, Parameter, Ssn, Tsn, UdpPorts};

fn tsns(passing: &Passing) -> Vec<Tsn> {
    let tsn = |chunk: &Chunk| match chunk {
        Chunk::Data(data) => Some(data.tsn),
        _ => None,
    };
    passing.packet.chunks.iter().filter_map(tsn).collect()
}

fn is_sack(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::Sack(_) | Chunk::NrSack(_))
}

/// User data of the DATA chunks that the client has sent.
fn lens(pair: &Pair) -> Vec<u32> {
    let len = |(_, chunk): (_, &Chunk)| match chunk {
        Chunk::Data(data) => Some(data.payload.len()),
        _ => None,
    };
    pair.chunks(Client).filter_map(len).collect()
}

#[test]
fn loss_on_one_stream_holds_back_neither_the_other_nor_unordered_messages() {
    let mut pair = Pair::open(1);
    let mut lost = false;
    pair.rule = Some(Box::new(move |passing| {
        let is_first = passing.has_data() && !std::mem::replace(&mut lost, passing.has_data());
        if is_first { Fate::Drop } else { Fate::Pass }
    }));
    for (stream, len, unordered) in
        [(0, 1001, false), (0, 1002, false), (1, 1003, false), (0, 1004, true), (1, 1005, false)]
    {
        pair.send(Client, Message { unordered, ..message(stream, len) });
    }
    pair.pass(Duration::from_millis(25));
    assert_eq!(pair.host(Server).lens(), [1003, 1004, 1005], "before the retransmission");
    pair.pass(Duration::from_secs(2));
    assert_eq!(pair.host(Server).lens(), [1003, 1004, 1005, 1001, 1002]);
}

#[test]
fn video_frame_of_3958_bytes_travels_as_three_chunks() {
    let mut pair = Pair::open(1);
    pair.send(Client, message(0, 3958));
    pair.pass(Duration::from_secs(1));
    assert_eq!(lens(&pair), [1452, 1452, 1054]);
    assert_eq!(pair.host(Server).lens(), [3958]);
}

#[test]
fn first_data_are_acknowledged_at_once_and_a_single_packet_after_200_ms() {
    let mut pair = Pair::open(1);
    for waits in [0, 200, 200] {
        let start = pair.now;
        pair.send(Client, message(0, 10));
        pair.pass(Duration::from_secs(1));
        let sacks = pair.sent(Server).filter(|passing| passing.at >= start && passing.has(is_sack));
        let times: Vec<_> = sacks.map(|passing| passing.at - start).collect();
        assert_eq!(times, [DELAY + Duration::from_millis(waits)]);
    }
    // The second packet is acknowledged with the first.
    let start = pair.now;
    pair.send(Client, message(0, 1000));
    pair.send(Client, message(0, 1000));
    pair.pass(Duration::from_secs(1));
    let sacks = pair.sent(Server).filter(|passing| passing.at >= start && passing.has(is_sack));
    assert_eq!(sacks.map(|passing| passing.at - start).collect::<Vec<_>>(), [DELAY]);
}

#[test]
fn at_most_65535_chunks_are_outstanding_so_that_ssns_and_gap_blocks_reach_them() {
    let mut pair = Pair::open(1);
    pair.send(Client, message(0, 10));
    pair.pass(Duration::from_secs(1));
    let first = tsns(pair.sent(Client).find(|passing| passing.has_data()).expect("data"))[0] + 1;
    let lost = pair.now + Duration::from_secs(40);
    pair.rule = Some(Box::new(move |passing| {
        let is_it = passing.from == Client && tsns(passing).contains(&first);
        if is_it && passing.at < lost { Fate::Drop } else { Fate::Pass }
    }));
    // The first is lost again and again, all others arrive.
    pair.send(Client, message(0, 1400));
    for _ in 0..70_000 {
        let socket = pair.socket(Client);
        assert_eq!(pair.stack(Client).send_message(socket, message(0, 1)), Ok(true));
    }
    pair.pass(Duration::from_secs(39));
    let ahead = pair.sent(Client).flat_map(tsns).map(|tsn| tsn.distance_from(first));
    assert_eq!(ahead.max(), Some(65_534));
    assert_eq!(pair.host(Server).received.len(), 1);
    pair.pass(Duration::from_secs(100));
    assert_eq!(pair.host(Server).received.len(), 70_002);
    assert_eq!(pair.host(Server).lens()[1], 1400, "in order");
}

/// A HEARTBEAT of the client, in UDP or not.
fn heartbeat(pair: &mut Pair, udp: Option<UdpPorts>) {
    let chunks = vec![Chunk::Heartbeat(vec![Parameter::HeartbeatInfo(vec![1; 28].into())])];
    let packet = wire::SctpPacket { udp, ..pair.forged(Server, chunks) };
    pair.inject(Server, address(Client, 0), address(Server, 0), packet);
}

#[test]
fn packets_have_8_bytes_less_when_udp_sets_in_and_8_more_when_it_ends() {
    let mut pair = Pair::open(1);
    let mut sent = |udp: Option<UdpPorts>| {
        heartbeat(&mut pair, udp);
        let before = pair.log.len();
        // The pair refuses packets larger than the MTU.
        pair.send(Server, message(0, 20_000));
        pair.pass(Duration::from_secs(1));
        let packets = pair.log[before..].iter().filter(|passing| passing.from == Server);
        let data = packets.filter(|passing| passing.has_data()).collect::<Vec<_>>();
        assert!(data.iter().all(|passing| passing.packet.udp.is_some() == udp.is_some()));
        data.iter().map(|passing| passing.packet.payload_len()).max()
    };
    assert_eq!(sent(None), Some(1452));
    assert_eq!(sent(Some(UdpPorts { src: 9899, dst: 9899 })), Some(1444));
    assert_eq!(sent(None), Some(1452), "a packet without UDP ends it");
    assert_eq!(pair.host(Client).lens(), [20_000; 3]);
}

#[test]
fn client_that_is_answered_without_udp_goes_on_without() {
    let udp = Some(UdpPorts { src: 9899, dst: 9899 });
    let client = SctpConfig { udp, ..config() };
    let mut pair = Pair::new([1, 1], [client, config()]);
    pair.run_until("establishment", Duration::from_secs(1), |pair| {
        pair.hosts.iter().all(crate::pair::Host::is_open)
    });
    let chunks = vec![Chunk::Heartbeat(vec![Parameter::HeartbeatInfo(vec![1; 28].into())])];
    pair.forge(Client, chunks);
    pair.send(Client, message(0, 5000));
    assert!(pair.sent(Client).last().is_some_and(|passing| passing.packet.udp.is_none()));
    pair.pass(Duration::from_secs(1));
    assert_eq!(pair.host(Server).lens(), [5000]);
}

/// A message in one chunk, whose TSN is `ahead` after the `first` one.
fn single(first: Tsn, ahead: u32, stream: u16, number: u16, len: usize, ordered: bool) -> Data {
    let order = if ordered { DataFlags(0) } else { DataFlags::UNORDERED };
    let (flags, tsn, payload) = (DataFlags::WHOLE | order, first + ahead, vec![0; len].into());
    Data { flags, tsn, stream, ssn: Ssn(number), payload, ..Data::default() }
}

/// The same message in I-DATA.
fn interleaved(data: Data) -> IData {
    let Data { flags, tsn, stream, ssn, payload, .. } = data;
    IData { flags, tsn, stream, mid: Mid(ssn.0.into()), payload, ..IData::default() }
}

/// Regression: TSNs of messages that the application had not taken yet were given up to make room.
/// It got the unordered message twice; the repetition of the ordered one stayed in the buffer, and
/// aborted the association with I-DATA.
#[test]
fn receiver_that_reneges_discards_only_what_waits() {
    let without = config().features.0 & !Features::NR_SACK.0;
    for with in [Features(0), Features::NR_SACK, Features::INTERLEAVING] {
        let client = SctpConfig { features: Features(without | with.0), ..config() };
        let server = SctpConfig { receive_buffer: 4000, reneging: true, ..client.clone() };
        let mut pair = Pair::new([1, 1], [client, server]);
        pair.run_until("establishment", Duration::from_secs(1), |pair| {
            pair.hosts.iter().all(crate::pair::Host::is_open)
        });
        // The peer is made by hand.
        pair.rule = Some(Box::new(|_| Fate::Drop));
        pair.hosts[1].paused = true;
        let first = pair.first_tsn();
        let sent = [
            single(first, 0, 0, 0, 1400, true),
            single(first, 1, 0, 1, 1001, true),
            single(first, 2, 0, 0, 1002, false),
            single(first, 3, 1, 0, 1003, true),
        ];
        let sent = sent.map(|data| match with {
            Features::INTERLEAVING => Chunk::IData(interleaved(data)),
            _ => Chunk::Data(data),
        });
        // There is room for three: the second one is discarded, as it waits for the first.
        for at in [1, 2, 3, 0] {
            pair.forge(Server, vec![sent[at].clone()]);
        }
        pair.hosts[1].paused = false;
        pair.receive(Server);
        for chunk in &sent[1..] {
            pair.forge(Server, vec![chunk.clone()]);
        }
        assert_eq!(pair.host(Server).lens(), [1002, 1003, 1400, 1001], "{with:?}");
        assert_eq!(pair.info(Server).held_bytes, 0, "{with:?}");
    }
}
