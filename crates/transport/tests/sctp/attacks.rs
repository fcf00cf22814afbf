//! Attacks of RFC 5062 and what any peer can send: the table is in `docs/security.md`.

use crate::pair::{Client, Fate, PORT, Pair, Passing, Server, address, config, message};
use base::{Duration, InterfaceId};
use bytes::Bytes;
use proptest::prelude::any;
use proptest::{prop_assert, proptest};
use std::net::IpAddr;
use transport::sctp::{SctpConfig, SctpProfile};
use transport::{Input, SocketError, SocketEventKind};
use wire::sctp::{
    AuthHmac, Cause, Chunk, Data, DataFlags, ForwardTsn, GapBlock, Init, Parameter, RawChunk, Sack,
    Ssn, Tsn, VerificationTag,
};
use wire::{Body, Packet, SctpPacket};

/// Somebody who has nothing to do with the association.
const VICTIM: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 66, 6));
const ATTACKER_PORT: u16 = 6000;
const TAG: VerificationTag = VerificationTag(0x1111_1111);

/// A server that only the attacker speaks to, from the client's first address.
fn server() -> Pair {
    server_with(config())
}

fn server_with(config: SctpConfig) -> Pair {
    let mut pair = Pair::new([1, 1], [crate::pair::config(), config]);
    pair.rule = Some(Box::new(|passing| match passing.from {
        Client => Fate::Drop,
        Server => Fate::Pass,
    }));
    pair
}

fn raw(tag: VerificationTag, chunks: Vec<Chunk>) -> SctpPacket {
    SctpPacket { src_port: ATTACKER_PORT, dst_port: PORT, tag, udp: None, chunks: chunks.into() }
}

fn init(listed: &[IpAddr]) -> SctpPacket {
    let init = Init {
        tag: TAG,
        a_rwnd: 1 << 20,
        outbound_streams: 4,
        inbound_streams: 4,
        initial_tsn: Tsn(1000),
        parameters: listed.iter().copied().map(Parameter::Address).collect(),
    };
    raw(VerificationTag(0), vec![Chunk::Init(Box::new(init))])
}

fn inject(pair: &mut Pair, src: IpAddr, packet: SctpPacket) {
    pair.inject(Server, src, address(Server, 0), packet);
}

/// Bytes of the server's answer to an INIT with these parameters, as long as UDP takes.
fn answer_to_init_with(parameters: Vec<Parameter>) -> Option<(u32, u32)> {
    let mut pair = Pair::apart([1, 1]);
    pair.stack(Server).listen(PORT, config()).expect("a free port");
    let mut packet = init(&[]);
    if let Some(Chunk::Init(init)) = packet.chunks.first_mut() {
        init.parameters = parameters;
    }
    let len = packet.wire_len();
    assert!(len <= 65_507, "{len} bytes");
    pair.now += Duration::from_secs(1);
    let packet = Packet::new(address(Client, 0), address(Server, 0), Body::Sctp(packet));
    let (interface, packet) = (InterfaceId(0), Box::new(packet));
    let mut cx = pair.cx(Server);
    pair.stack(Server).handle(&mut cx, Input::Packet { interface, packet });
    let answer = pair.stack(Server).poll_transmit(&mut cx)?.packet;
    assert_eq!(answer.roundtrip().expect("what was emitted"), *answer);
    Some((len, answer.wire_len()))
}

/// The server's tag and cookie in its last INIT ACK.
fn init_ack(pair: &Pair) -> Option<(VerificationTag, Chunk)> {
    let acks = pair.chunks(Server).filter_map(|(_, chunk)| match chunk {
        Chunk::InitAck(ack) => Some((ack.tag, Chunk::CookieEcho(ack.cookie()?.clone()))),
        _ => None,
    });
    acks.last()
}

/// Sets an association up whose INIT lists `listed`; returns the server's tag.
fn handshake(pair: &mut Pair, listed: &[IpAddr]) -> VerificationTag {
    inject(pair, address(Client, 0), init(listed));
    let (tag, cookie) = init_ack(pair).expect("an INIT ACK");
    inject(pair, address(Client, 0), raw(tag, vec![cookie]));
    assert!(pair.host(Server).is_open());
    tag
}

fn to_victim(pair: &Pair) -> Vec<&Passing> {
    pair.sent(Server).filter(|passing| passing.dst == VICTIM).collect()
}

fn data(tsn: u32, stream: u16, len: usize) -> Chunk {
    let flags = DataFlags::BEGIN | DataFlags::END;
    let payload = vec![7; len].into();
    Chunk::Data(Data { flags, tsn: Tsn(tsn), stream, payload, ..Data::default() })
}

/// The only cause of an ERROR.
fn reported(chunk: &Chunk) -> Option<&Cause> {
    match chunk {
        Chunk::Error(causes) if causes.len() == 1 => causes.first(),
        _ => None,
    }
}

fn is_violation(chunk: &Chunk) -> bool {
    let Chunk::Abort { causes, .. } = chunk else { return false };
    matches!(causes[..], [Cause::ProtocolViolation(_)])
}

fn is_abort(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::Abort { .. })
}

#[test]
fn listed_address_that_does_not_answer_never_gets_data() {
    let mut pair = server();
    handshake(&mut pair, &[VICTIM]);
    // The attacker acknowledges nothing, so the server looks for another path.
    for _ in 0..20 {
        pair.send(Server, message(0, 1400));
    }
    pair.pass(Duration::from_secs(300));
    let sent = to_victim(&pair);
    assert!(!sent.is_empty() && sent.iter().all(|passing| !passing.has_data()));
    assert!(sent.iter().all(|passing| passing.packet.wire_len() < 60), "small heartbeats");
}

/// Regression: after a restart all addresses that the peer had listed counted as verified.
#[test]
fn listed_address_that_does_not_answer_never_gets_data_after_a_restart_either() {
    let mut pair = server();
    handshake(&mut pair, &[VICTIM]);
    pair.pass(Duration::from_secs(2));
    let mut again = init(&[VICTIM]);
    if let Some(Chunk::Init(init)) = again.chunks.first_mut() {
        init.tag = VerificationTag(0x2222_2222);
    }
    inject(&mut pair, address(Client, 0), again);
    let (tag, cookie) = init_ack(&pair).expect("an INIT ACK");
    inject(&mut pair, address(Client, 0), raw(tag, vec![cookie]));
    assert!(pair.host(Server).has(SocketEventKind::Restarted), "{}", pair.describe());
    for _ in 0..20 {
        pair.send(Server, message(0, 1400));
    }
    pair.pass(Duration::from_secs(300));
    let sent = to_victim(&pair);
    assert!(!sent.is_empty() && sent.iter().all(|passing| !passing.has_data()));
}

#[test]
fn forged_heartbeat_ack_verifies_no_address() {
    let mut pair = server();
    let tag = handshake(&mut pair, &[VICTIM]);
    pair.pass(Duration::from_secs(2));
    let probe = pair.chunks(Server).find_map(|(_, chunk)| match chunk {
        Chunk::Heartbeat(parameters) => Some(parameters.clone()),
        _ => None,
    });
    let Some([Parameter::HeartbeatInfo(info)]) = probe.as_deref() else { panic!("a heartbeat") };
    let mut guess = info.to_vec();
    guess[0] ^= 1;
    let ack = Chunk::HeartbeatAck(vec![Parameter::HeartbeatInfo(guess.into())]);
    inject(&mut pair, VICTIM, raw(tag, vec![ack]));
    for _ in 0..20 {
        pair.send(Server, message(0, 1400));
    }
    pair.pass(Duration::from_secs(100));
    assert!(to_victim(&pair).iter().all(|passing| !passing.has_data()));
}

#[test]
fn many_listed_addresses_get_one_heartbeat_per_rto_together() {
    let mut pair = server();
    let listed: Vec<IpAddr> = (1..=31).map(|last| IpAddr::from([10, 0, 66, last])).collect();
    handshake(&mut pair, &listed);
    let start = pair.now;
    pair.pass(Duration::from_secs(10));
    let probes = pair.sent(Server).filter(|passing| listed.contains(&passing.dst));
    let times: Vec<_> = probes.map(|passing| passing.at).collect();
    assert!((5..=11).contains(&times.len()), "{} since {start}", times.len());
    let apart = times.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_secs(1));
    assert!(apart, "{times:?}");
}

#[test]
fn heartbeats_to_listed_addresses_are_four_per_rto_with_the_profile_of_freebsd() {
    let mut pair =
        server_with(SctpConfig { parameters: SctpProfile::Bsd.parameters(), ..config() });
    let listed: Vec<IpAddr> = (1..=31).map(|last| IpAddr::from([10, 0, 66, last])).collect();
    handshake(&mut pair, &listed);
    let start = pair.now;
    pair.pass(Duration::from_millis(3500));
    let probes = pair.sent(Server).filter(|passing| listed.contains(&passing.dst));
    let times: Vec<u64> = probes.map(|passing| (passing.at - start).as_millis()).collect();
    let per_second =
        [0, 1000, 2000, 3000].map(|at| times.iter().filter(|time| **time == at).count());
    assert_eq!(per_second, [4; 4], "{times:?}");
}

#[test]
fn address_that_somebody_else_listed_can_still_open_an_association() {
    let mut pair = server();
    handshake(&mut pair, &[VICTIM]);
    let before = pair.log.len();
    inject(&mut pair, VICTIM, init(&[]));
    let is_ack = |chunk: &Chunk| matches!(chunk, Chunk::InitAck(_));
    assert!(pair.log[before..].iter().any(|passing| passing.has(is_ack)));
}

#[test]
fn cookie_from_another_address_redirects_nothing() {
    let mut pair = server();
    inject(&mut pair, address(Client, 0), init(&[]));
    let (tag, cookie) = init_ack(&pair).expect("an INIT ACK");
    inject(&mut pair, VICTIM, raw(tag, vec![cookie]));
    for _ in 0..20 {
        pair.send(Server, message(0, 1400));
    }
    pair.pass(Duration::from_secs(100));
    assert_eq!(to_victim(&pair).len(), 0, "{}", pair.describe());
}

#[test]
fn cookie_of_other_ports_or_tags_is_discarded_silently() {
    let mut pair = server();
    inject(&mut pair, address(Client, 0), init(&[]));
    let (tag, cookie) = init_ack(&pair).expect("an INIT ACK");
    let before = pair.sent(Server).count();
    let other_port = SctpPacket { src_port: 6001, ..raw(tag, vec![cookie.clone()]) };
    inject(&mut pair, address(Client, 0), other_port);
    inject(&mut pair, address(Client, 0), raw(VerificationTag(tag.0 ^ 1), vec![cookie.clone()]));
    let Chunk::CookieEcho(bytes) = &cookie else { panic!("a cookie") };
    for at in [0, 8, 40, bytes.len() - 1] {
        let mut changed = bytes.to_vec();
        changed[at] ^= 1;
        let chunks = vec![Chunk::CookieEcho(changed.into()), data(1000, 0, 10)];
        inject(&mut pair, address(Client, 0), raw(tag, chunks));
    }
    assert_eq!(pair.sent(Server).count(), before);
    assert!(pair.host(Server).events.is_empty());
}

#[test]
fn old_cookie_is_answered_with_its_staleness_and_opens_nothing() {
    let mut pair = server();
    inject(&mut pair, address(Client, 0), init(&[]));
    let (tag, cookie) = init_ack(&pair).expect("an INIT ACK");
    pair.pass(Duration::from_secs(61));
    inject(&mut pair, address(Client, 0), raw(tag, vec![cookie]));
    let is_stale =
        |chunk: &Chunk| reported(chunk).is_some_and(|cause| matches!(cause, Cause::StaleCookie(_)));
    assert!(pair.sent(Server).last().is_some_and(|passing| passing.has(is_stale)));
    assert!(pair.host(Server).events.is_empty());
}

/// Regression: a COOKIE ECHO that was delayed on a path opened the association again after its end.
#[test]
fn replayed_cookie_of_an_association_that_has_ended_opens_nothing() {
    let mut pair = Pair::open(1);
    let is_echo = |chunk: &Chunk| matches!(chunk, Chunk::CookieEcho(_));
    let echo = pair.sent(Client).find(|passing| passing.has(is_echo)).expect("a cookie").clone();
    pair.shutdown(Client);
    pair.pass(Duration::from_secs(1));
    let (mut cx, socket) = (pair.cx(Server), pair.socket(Server));
    pair.stack(Server).release(&mut cx, socket);
    let (packets, events) = (pair.log.len(), pair.host(Server).events.len());
    for _ in 0..2 {
        pair.inject(Server, echo.src, echo.dst, echo.packet.clone());
        pair.pass(Duration::from_secs(1));
    }
    assert_eq!((pair.log.len(), pair.host(Server).events.len()), (packets, events));
    pair.connect(Client, PORT, config());
    pair.pass(Duration::from_secs(1));
    let opened = pair.host(Server).events[events..].iter();
    let opened = opened.filter(|event| matches!(event, SocketEventKind::Accepted { .. }));
    assert_eq!(opened.count(), 1, "a new cookie opens one");
}

#[test]
fn replayed_cookie_of_an_open_association_changes_nothing() {
    let mut pair = Pair::open(1);
    let is_echo = |chunk: &Chunk| matches!(chunk, Chunk::CookieEcho(_));
    let echo = pair.sent(Client).find(|passing| passing.has(is_echo)).expect("a cookie").clone();
    pair.send(Client, message(0, 100));
    pair.pass(Duration::from_secs(1));
    pair.inject(Server, echo.src, echo.dst, echo.packet);
    pair.send(Client, message(0, 200));
    pair.pass(Duration::from_secs(1));
    assert_eq!(pair.host(Server).lens(), [100, 200]);
    assert!(!pair.host(Server).has(SocketEventKind::Restarted));
}

#[test]
fn flood_of_inits_is_answered_100_times_a_second_and_leaves_no_state() {
    let mut pair = server();
    for _ in 0..1000 {
        inject(&mut pair, address(Client, 0), init(&[]));
    }
    let is_ack = |chunk: &Chunk| matches!(chunk, Chunk::InitAck(_));
    assert_eq!(pair.sent(Server).filter(|passing| passing.has(is_ack)).count(), 100);
    assert!(pair.host(Server).events.is_empty());
    // Somebody from another network is not affected.
    inject(&mut pair, VICTIM, init(&[]));
    assert_eq!(to_victim(&pair).len(), 1);
}

#[test]
fn init_full_of_unknown_parameters_is_answered_with_some_reports() {
    let unknown = |count| vec![Parameter::Unknown { kind: 0xC123, value: Bytes::new() }; count];
    let bare = answer_to_init_with(vec![]).expect("an INIT ACK").1;
    let few = answer_to_init_with(unknown(20)).expect("an INIT ACK").1;
    assert_eq!(few, bare + 20 * 8, "each is reported");
    for (count, len) in [(9000, 0), (1, 60_000)] {
        let value = Bytes::from(vec![7; len]);
        let parameters = vec![Parameter::Unknown { kind: 0xC123, value }; count];
        let (request, answer) = answer_to_init_with(parameters).expect("an INIT ACK");
        assert!(answer <= bare + 1500, "{answer} bytes answer {request}");
    }
}

#[test]
fn init_whose_answer_would_be_too_long_is_discarded() {
    let with_chunks = |len| {
        let parameters = vec![
            Parameter::Random(vec![1; 32].into()),
            Parameter::AuthenticatedChunks(vec![0xC1; len].into()),
            Parameter::HmacAlgorithms([AuthHmac::Sha1.id()].into()),
            Parameter::SupportedExtensions(vec![0x0F].into()),
        ];
        answer_to_init_with(parameters)
    };
    assert!(with_chunks(256).is_some());
    assert_eq!(with_chunks(65_300), None, "its cookie has a copy");
}

#[test]
fn packets_out_of_the_blue_are_answered_100_times_a_second() {
    let mut pair = server();
    for _ in 0..1000 {
        inject(&mut pair, address(Client, 0), raw(TAG, vec![data(1, 0, 10)]));
    }
    assert_eq!(pair.sent(Server).filter(|passing| passing.has(is_abort)).count(), 100);
}

#[test]
fn wrong_tag_is_discarded_silently_whatever_the_packet_says() {
    let mut pair = Pair::open(1);
    let right = pair.tag_of(Server);
    let before = pair.log.len();
    let chunks = || {
        vec![
            data(1, 0, 10),
            Chunk::Sack(Sack::default()),
            Chunk::Heartbeat(vec![Parameter::HeartbeatInfo(vec![1; 28].into())]),
            Chunk::Abort { reflected: false, causes: vec![] },
            Chunk::Abort { reflected: true, causes: vec![] },
            Chunk::Shutdown { cum_tsn: Tsn(0) },
            Chunk::ShutdownAck,
            Chunk::ShutdownComplete { reflected: false },
            Chunk::Error(vec![Cause::OutOfResource]),
            Chunk::CookieAck,
            Chunk::ForwardTsn(ForwardTsn::default()),
        ]
    };
    for wrong in [right.0 ^ 1, 0, right.0.wrapping_add(1)] {
        for chunk in chunks() {
            let mut packet = pair.forged(Server, vec![chunk]);
            packet.tag = VerificationTag(wrong);
            pair.inject(Server, address(Client, 0), address(Server, 0), packet);
        }
    }
    assert_eq!(pair.log.len(), before, "{}", pair.describe());
    pair.send(Client, message(0, 10));
    pair.pass(Duration::from_secs(1));
    assert_eq!(pair.host(Server).lens(), [10]);
}

#[test]
fn acknowledgement_of_what_was_never_sent_aborts() {
    let gap = |end| Sack { gaps: [GapBlock { start: 2, end }].into(), ..Sack::default() };
    for ahead in [Sack { cum_tsn: Tsn(1), ..Sack::default() }, gap(9)] {
        let mut pair = Pair::open(1);
        pair.send(Client, message(0, 10));
        pair.pass(Duration::from_secs(1));
        let sent = pair.chunks(Client).find_map(|(_, chunk)| match chunk {
            Chunk::Data(data) => Some(data.tsn),
            _ => None,
        });
        let cum_tsn = sent.expect("DATA") + ahead.cum_tsn.0;
        pair.forge(Client, vec![Chunk::Sack(Sack { cum_tsn, ..ahead })]);
        let last = pair.sent(Client).last().expect("an answer");
        assert!(last.has(is_violation));
        assert!(matches!(pair.host(Client).events.last(), Some(SocketEventKind::Failed(_))));
    }
}

#[test]
fn one_packet_of_heartbeats_is_answered_with_one_packet_not_longer() {
    let mut pair = Pair::open(2);
    let before = pair.log.len();
    let info = |n: u8| Chunk::Heartbeat(vec![Parameter::HeartbeatInfo(vec![n; 28].into())]);
    let packet = pair.forged(Server, (0..40).map(info).collect());
    let len = packet.wire_len();
    pair.inject(Server, address(Client, 0), address(Server, 0), packet);
    let answers = &pair.log[before..];
    assert_eq!(answers.len(), 1);
    assert!(answers[0].packet.wire_len() <= len && answers[0].dst == address(Client, 0));
}

#[test]
fn invalid_stream_is_acknowledged_and_reported() {
    let mut pair = server();
    let tag = handshake(&mut pair, &[]);
    inject(&mut pair, address(Client, 0), raw(tag, vec![data(1000, 99, 10)]));
    let is_report = |chunk: &Chunk| reported(chunk) == Some(&Cause::InvalidStream(99));
    assert!(pair.sent(Server).any(|passing| passing.has(is_report)));
    assert!(pair.sent(Server).any(|passing| {
        passing.has(|chunk| matches!(chunk, Chunk::Sack(sack) if sack.cum_tsn == Tsn(1000)))
    }));
    assert!(pair.host(Server).received.is_empty());
}

#[test]
fn contradictory_fragments_abort() {
    let mut pair = server();
    let tag = handshake(&mut pair, &[]);
    let fragment = |tsn, flags| {
        let payload = vec![1; 10].into();
        Chunk::Data(Data { flags, tsn: Tsn(tsn), payload, ..Data::default() })
    };
    let chunks = vec![fragment(1000, DataFlags::BEGIN), fragment(1001, DataFlags::BEGIN)];
    inject(&mut pair, address(Client, 0), raw(tag, chunks));
    assert!(pair.sent(Server).any(|passing| passing.has(is_abort)));
}

#[test]
fn data_behind_gaps_never_take_more_than_the_window() {
    let buffer = 20_000;
    let mut pair = server_with(SctpConfig { receive_buffer: buffer, ..config() });
    let tag = handshake(&mut pair, &[]);
    for tsn in 1001..3000 {
        inject(&mut pair, address(Client, 0), raw(tag, vec![data(tsn, 0, 1000)]));
    }
    assert!(pair.info(Server).held_bytes <= u64::from(buffer));
    let fits = |chunk: &Chunk| matches!(chunk, Chunk::Sack(sack) if sack.a_rwnd <= buffer);
    assert!(
        pair.sent(Server)
            .filter(|passing| passing.has(|chunk| { matches!(chunk, Chunk::Sack(_)) }))
            .all(|passing| passing.has(fits))
    );
}

/// Regression: a peer that ignored the window could make the receiver hold any number of bytes.
#[test]
fn message_without_end_aborts_when_it_takes_twice_the_buffer() {
    let buffer = 20_000;
    let mut pair = server_with(SctpConfig { receive_buffer: buffer, ..config() });
    let tag = handshake(&mut pair, &[]);
    let fragment = |tsn: u32| {
        let flags = if tsn == 1000 { DataFlags::BEGIN } else { DataFlags(0) };
        let payload = vec![7; 1000].into();
        Chunk::Data(Data { flags, tsn: Tsn(tsn), payload, ..Data::default() })
    };
    for tsn in 1000..1040 {
        inject(&mut pair, address(Client, 0), raw(tag, vec![fragment(tsn)]));
        assert!(pair.info(Server).held_bytes <= 2 * u64::from(buffer));
    }
    assert!(!pair.chunks(Server).any(|(_, chunk)| is_abort(chunk)), "a message may be larger");
    inject(&mut pair, address(Client, 0), raw(tag, vec![fragment(1040)]));
    let abort = Chunk::Abort { reflected: false, causes: vec![Cause::OutOfResource] };
    assert!(pair.chunks(Server).any(|(_, chunk)| *chunk == abort));
    assert!(pair.host(Server).has(SocketEventKind::Failed(SocketError::Reset)));
}

/// Regression: with one message that waits for an earlier one all others were held, too.
#[test]
fn reader_that_is_slow_is_not_flooded_behind_a_message_that_is_withheld() {
    let buffer = 20_000;
    for withheld in [false, true] {
        let mut pair = server_with(SctpConfig { receive_buffer: buffer, ..config() });
        let tag = handshake(&mut pair, &[]);
        pair.hosts[Server as usize].paused = true;
        let whole = |tsn: u32, stream: u16, ssn: u16| {
            let (tsn, ssn, payload) = (Tsn(tsn), Ssn(ssn), vec![7; 1000].into());
            let flags = DataFlags::WHOLE;
            Chunk::Data(Data { flags, tsn, stream, ssn, payload, ..Data::default() })
        };
        let first = if withheld { whole(1000, 1, 1) } else { whole(1000, 1, 0) };
        inject(&mut pair, address(Client, 0), raw(tag, vec![first]));
        for at in 0..100 {
            let chunk = whole(1001 + u32::from(at), 0, at);
            inject(&mut pair, address(Client, 0), raw(tag, vec![chunk]));
        }
        assert_eq!(pair.info(Server).held_bytes, u64::from(buffer), "{withheld}");
        pair.hosts[Server as usize].paused = false;
        pair.receive(Server);
        pair.settle();
        let next = whole(1020, 0, 19);
        inject(&mut pair, address(Client, 0), raw(tag, vec![next]));
        let received = if withheld { 20 } else { 21 };
        assert_eq!(pair.host(Server).received.len(), received, "the reader makes room");
    }
}

#[test]
fn tsn_further_ahead_than_the_window_is_dropped() {
    let mut pair = server();
    let tag = handshake(&mut pair, &[]);
    let buffer = SctpConfig::default().receive_buffer;
    for (ahead, gaps) in [(1 << 30, 0), (buffer + 1, 0), (buffer - 1, 1)] {
        inject(&mut pair, address(Client, 0), raw(tag, vec![data(1000 + ahead, 0, 10)]));
        pair.pass(Duration::from_secs(1));
        let sacks = pair.chunks(Server).filter_map(|(_, chunk)| match chunk {
            Chunk::Sack(sack) => Some((sack.cum_tsn, sack.a_rwnd)),
            _ => None,
        });
        let held = if gaps == 0 { 0 } else { 10 };
        assert_eq!(sacks.last(), Some((Tsn(999), buffer - held)), "{ahead}");
    }
}

#[test]
fn association_that_was_aborted_by_its_peer_is_not_answered() {
    let mut pair = server();
    let tag = handshake(&mut pair, &[]);
    let before = pair.sent(Server).count();
    let abort = Chunk::Abort { reflected: false, causes: vec![] };
    inject(&mut pair, address(Client, 0), raw(tag, vec![abort]));
    assert_eq!(pair.sent(Server).count(), before);
    assert!(matches!(pair.host(Server).events.last(), Some(SocketEventKind::Failed(_))));
}

#[test]
fn hmac_that_is_not_supported_is_reported() {
    let mut pair = Pair::open(1);
    let auth = wire::sctp::Auth { hmac_id: 2, ..wire::sctp::Auth::unsigned(0, AuthHmac::Sha1) };
    pair.forge(Server, vec![Chunk::Auth(auth), data(1, 0, 10)]);
    let is_report = |chunk: &Chunk| reported(chunk) == Some(&Cause::UnsupportedHmac(2));
    assert!(pair.sent(Server).any(|passing| passing.has(is_report)));
}

/// Regression: the ABORT had the tag 0 of the INIT, which its sender does not accept.
#[test]
fn malformed_init_is_aborted_with_its_initiate_tag() {
    let answer = |value: &[u8], tag: u32| {
        let mut pair = server();
        let value = value.to_vec().into();
        let init = Chunk::Malformed(RawChunk { kind: 1, flags: 0, value });
        inject(&mut pair, address(Client, 0), raw(VerificationTag(tag), vec![init]));
        let sent: Vec<_> = pair.sent(Server).collect();
        let violates = sent.iter().all(|passing| passing.has(is_violation));
        assert!(violates, "{}", pair.describe());
        sent.iter().map(|passing| passing.packet.tag).collect::<Vec<_>>()
    };
    // An address of 3 bytes behind the fixed fields.
    let value = |tag: VerificationTag| {
        let fields = [tag.0, 1 << 20, 0x0004_0004, 1000, 0x0005_0003];
        fields.iter().flat_map(|field: &u32| field.to_be_bytes()).collect::<Vec<u8>>()
    };
    assert_eq!(answer(&value(TAG), 0), [TAG]);
    assert_eq!(answer(&value(VerificationTag(0)), 0), []);
    assert_eq!(answer(&value(TAG)[..3], 0), []);
    assert_eq!(answer(&value(TAG), 1), []);
}

/// Regression: they ended the association.
#[test]
fn malformed_parameters_have_no_effect() {
    let is_error = |chunk: &Chunk| matches!(reported(chunk), Some(Cause::ProtocolViolation(_)));
    // HEARTBEAT, HEARTBEAT ACK, AUTH, ASCONF ACK, RE-CONFIG, ASCONF.
    for kind in [0x04, 0x05, 0x0F, 0x80, 0x82, 0xC1] {
        let mut pair = Pair::open(1);
        let before = pair.sent(Server).count();
        let value = vec![0, 1, 0, 3].into();
        pair.forge(Server, vec![Chunk::Malformed(RawChunk { kind, flags: 0, value })]);
        let answers: Vec<_> = pair.sent(Server).skip(before).collect();
        let reports = answers.iter().filter(|passing| passing.has(is_error)).count();
        assert_eq!((answers.len(), reports), if kind == 0x82 { (1, 1) } else { (0, 0) });
        pair.send(Client, message(0, 10));
        pair.pass(Duration::from_secs(1));
        assert_eq!(pair.host(Server).lens(), [10], "type {kind:#x}");
    }
}

#[test]
fn report_of_an_unknown_chunk_as_long_as_a_packet_fits_a_packet() {
    let mut pair = Pair::open(1);
    let value = vec![7; 1464].into();
    pair.forge(Server, vec![Chunk::Unknown(RawChunk { kind: 0x41, flags: 0, value })]);
    let reported = |chunk: &Chunk| matches!(reported(chunk), Some(Cause::UnrecognizedChunk(_)));
    assert!(pair.sent(Server).any(|passing| passing.has(reported)));
}

proptest! {
    #![proptest_config(crate::cases(64))]
    /// Packets of the association with some bytes changed: nothing panics, no address that is not
    /// verified gets data, and answers are not more than a few.
    #[test]
    fn damaged_packets_after_the_handshake_are_survived(
        changes in proptest::collection::vec((any::<u16>(), any::<u8>(), any::<u8>()), 1..60),
    ) {
        let mut pair = Pair::open(2);
        pair.send(Client, message(0, 4000));
        pair.send(Server, message(1, 4000));
        pair.pass(Duration::from_secs(1));
        let models = pair.log.clone();
        for (which, at, value) in changes {
            let model = &models[usize::from(which) % models.len()];
            let mut bytes = Vec::new();
            model.packet.emit(&mut bytes);
            // Ports and tag stay, the checksum is right.
            let place = 12 + usize::from(at) % (bytes.len() - 12);
            bytes[place] ^= value;
            bytes[8..12].fill(0);
            let Some(packet) = parsed(model, bytes) else { continue };
            let before = pair.log.len();
            pair.inject(model.from.other(), model.src, model.dst, packet);
            prop_assert!(pair.log.len() - before < 20, "{}", pair.describe());
        }
        pair.pass(Duration::from_secs(100));
        let both = |index| [address(Client, index), address(Server, index)];
        let known: Vec<IpAddr> = (0..2).flat_map(both).collect();
        let stray = pair.log.iter().find(|sent| sent.has_data() && !known.contains(&sent.dst));
        prop_assert!(stray.is_none(), "{:?}", stray);
    }
}

/// The packet in SCTP bytes without checksum, as a receiver sees it.
fn parsed(model: &Passing, mut bytes: Vec<u8>) -> Option<SctpPacket> {
    let checksum = crc32c(&bytes);
    bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
    let packet = SctpPacket::parse(&bytes).ok()?;
    let _ = Packet::new(model.src, model.dst, wire::Body::Sctp(packet.clone()));
    Some(packet)
}

fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0x82F6_3B78 & (crc & 1).wrapping_neg())
        })
    })
}
