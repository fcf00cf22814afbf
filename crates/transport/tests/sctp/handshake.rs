//! The handshake as the wire shows it: lost packets, stale cookies, collision and restart (RFC 9260
//! s5.1, s5.2).

use crate::pair::{Client, Fate, PORT, Pair, Passing, Server, address, config, message};
use base::{Duration, Instant};
use std::net::IpAddr;
use transport::sctp::cmt::CmtConfig;
use transport::sctp::{RtoBounds, SctpConfig};
use transport::{InterfaceEvent, SendFailure, SocketError, SocketEventKind};
use wire::SctpPacket;
use wire::sctp::{Cause, Chunk, Init, Parameter, Tsn, VerificationTag};

fn is_init(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::Init(_))
}

fn is_init_ack(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::InitAck(_))
}

fn is_cookie_echo(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::CookieEcho(_))
}

fn is_cookie_ack(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::CookieAck)
}

fn is_abort(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::Abort { .. })
}

fn are_open(pair: &Pair) -> bool {
    pair.hosts.iter().all(crate::pair::Host::is_open)
}

/// The first INIT of the client.
fn init_of(pair: &Pair) -> (Passing, Init) {
    let passing = pair.sent(Client).find(|passing| passing.has(is_init)).expect("an INIT").clone();
    let Some(Chunk::Init(init)) = passing.packet.chunks.first() else { panic!("an INIT") };
    let init = (**init).clone();
    (passing, init)
}

#[test]
fn each_packet_of_the_handshake_lost_up_to_three_times_is_sent_again_after_1_2_and_4_s() {
    let kinds = [is_init, is_init_ack, is_cookie_echo, is_cookie_ack];
    for (kind, is_it) in kinds.into_iter().enumerate() {
        for (losses, waited) in [(1, 1000), (2, 3000), (3, 7000)] {
            let mut pair = Pair::new([1, 1], [config(), config()]);
            let mut lost = 0;
            pair.rule = Some(Box::new(move |passing| {
                let is_lost = passing.has(is_it) && lost < losses;
                lost += u32::from(is_lost);
                if is_lost { Fate::Drop } else { Fate::Pass }
            }));
            let what = format!("packet {kind} lost {losses} times");
            pair.run_until(&what, Duration::from_secs(8), |pair| pair.host(Client).is_open());
            assert_eq!(pair.now.as_millis(), waited + 40, "{what}: and two round trips");
            assert!(are_open(&pair), "{what}");
            pair.send(Client, message(0, 10));
            pair.pass(Duration::from_secs(1));
            assert_eq!(pair.host(Server).lens(), [10], "{what}");
        }
    }
}

/// Regression: it was not answered, so that a path which is faster than the first one was verified
/// a second later.
#[test]
fn heartbeat_that_overtakes_cookie_ack_is_answered() {
    let mut pair = Pair::new([2, 2], [config(), config()]);
    let late = Fate::Late(Duration::from_millis(20));
    pair.rule =
        Some(Box::new(move |passing| if passing.has(is_cookie_ack) { late } else { Fate::Pass }));
    let is_answer = |chunk: &Chunk| matches!(chunk, Chunk::HeartbeatAck(_));
    pair.pass(Duration::from_millis(50));
    assert!(!pair.host(Client).is_open(), "COOKIE-ECHOED");
    let answers = pair.sent(Client).filter(|passing| passing.has(is_answer));
    let answers: Vec<_> =
        answers.map(|answer| (answer.at.as_millis(), answer.src, answer.dst)).collect();
    assert_eq!(answers, [(40, address(Client, 1), address(Server, 1))]);
    pair.pass(Duration::from_secs(5));
    assert!(are_open(&pair));
    let is_probe = |passing: &&Passing| passing.has(|chunk| matches!(chunk, Chunk::Heartbeat(_)));
    let probes = pair.sent(Server).filter(is_probe).filter(|probe| probe.dst == address(Client, 1));
    assert_eq!(probes.count(), 1, "the path is verified");
}

#[test]
fn initiator_gives_up_after_max_init_retransmits_of_its_profile() {
    let mut client = config();
    client.parameters.init_retransmits = 2;
    client.parameters.rto = RtoBounds {
        initial: Duration::from_secs(3),
        max: Duration::from_secs(5),
        ..client.parameters.rto
    };
    let mut pair = Pair::new([1, 1], [client, config()]);
    pair.rule = Some(Box::new(|_| Fate::Drop));
    pair.pass(Duration::from_secs(60));
    let sent: Vec<u64> = pair.sent(Client).map(|passing| passing.at.as_millis()).collect();
    assert_eq!(sent, [0, 3000, 8000], "RTO.Initial 3 s, RTO.Max 5 s");
    assert!(pair.host(Client).has(SocketEventKind::Failed(SocketError::TimedOut)));
}

#[test]
fn init_goes_to_another_address_if_the_first_is_silent_which_is_the_primary_later() {
    let first = address(Server, 0);
    let client = SctpConfig { peer_addresses: vec![first, address(Server, 1)], ..config() };
    let mut pair = Pair::new([2, 2], [client, config()]);
    let works = Instant::ZERO + Duration::from_secs(5);
    pair.rule = Some(Box::new(move |passing| {
        let is_first = passing.dst == first || passing.src == first;
        if is_first && passing.at < works { Fate::Drop } else { Fate::Pass }
    }));
    pair.run_until("establishment", Duration::from_millis(1100), are_open);
    let inits = pair.sent(Client).filter(|passing| passing.has(is_init));
    assert_eq!(inits.map(|passing| passing.dst).collect::<Vec<_>>(), [first, address(Server, 1)]);
    let source = |pair: &mut Pair| {
        pair.send(Server, message(0, 10));
        let last = pair.sent(Server).filter(|passing| passing.has_data()).last();
        let source = last.expect("data").src;
        pair.pass(Duration::from_secs(1));
        source
    };
    assert_eq!(source(&mut pair), address(Server, 1));
    pair.pass(Duration::from_secs(30));
    assert_eq!(source(&mut pair), first, "{}", pair.describe());
    assert_eq!(pair.host(Client).lens(), [10, 10]);
}

#[test]
fn stale_cookie_is_asked_for_again_with_a_longer_life_over_the_wire() {
    // A cookie is 20 ms old when it returns.
    let mut server = config();
    server.parameters.cookie_life = Duration::from_millis(15);
    let mut pair = Pair::new([1, 1], [config(), server]);
    pair.run_until("establishment", Duration::from_secs(1), are_open);
    let is_stale = |chunk: &Chunk| match chunk {
        Chunk::Error(causes) => matches!(causes[..], [Cause::StaleCookie(5000)]),
        _ => false,
    };
    assert_eq!(pair.chunks(Server).filter(|(_, chunk)| is_stale(chunk)).count(), 1);
    let asked = pair.chunks(Client).filter_map(|(_, chunk)| match chunk {
        Chunk::Init(init) => init.parameters.iter().find_map(|parameter| match parameter {
            Parameter::CookiePreservative(ms) => Some(*ms),
            _ => None,
        }),
        _ => None,
    });
    assert_eq!(asked.collect::<Vec<_>>(), [1020], "the round trip and one second");
}

/// Ports that the hosts take for an association that they open.
fn ports() -> (u16, u16) {
    let mut pair = Pair::apart([1, 1]);
    for side in [Client, Server] {
        pair.connect(side, PORT, config());
    }
    pair.settle();
    let of = |side| pair.sent(side).next().expect("an INIT").packet.src_port;
    (of(Client), of(Server))
}

#[test]
fn simultaneous_open_from_both_sides_ends_in_one_association() {
    let (client, server) = ports();
    let deliveries: [fn(&Passing) -> Fate; 4] = [
        |_| Fate::Pass,
        // The server is in COOKIE-ECHOED when the INIT arrives.
        |passing| match passing.from == Client && passing.has(is_init) {
            true => Fate::Late(Duration::from_millis(15)),
            false => Fate::Pass,
        },
        |passing| {
            if passing.has(is_init_ack) && passing.from == Client { Fate::Drop } else { Fate::Pass }
        },
        |passing| {
            if passing.has(is_cookie_ack) {
                Fate::Late(Duration::from_millis(7))
            } else {
                Fate::Pass
            }
        },
    ];
    let cases = [1, 2].map(|count| deliveries.map(|delivery| (count, delivery)));
    for (case, (interfaces, delivery)) in cases.into_iter().flatten().enumerate() {
        let mut pair = Pair::apart([interfaces; 2]);
        pair.rule = Some(Box::new(delivery));
        pair.connect(Client, server, config());
        pair.connect(Server, client, config());
        pair.run_until("establishment", Duration::from_secs(10), are_open);
        pair.pass(Duration::from_secs(3));
        for side in [Client, Server] {
            let opened = pair.host(side).events.iter().filter(|event| {
                matches!(event, SocketEventKind::Connected | SocketEventKind::Accepted { .. })
            });
            assert_eq!(opened.count(), 1, "case {case}: {:?}", pair.host(side).events);
            pair.send(side, message(0, 500));
        }
        pair.pass(Duration::from_secs(4));
        for side in [Client, Server] {
            assert_eq!(pair.host(side).lens(), [500], "case {case}: {}", pair.describe());
        }
        assert!(!pair.log.iter().any(|passing| passing.has(is_abort)), "{}", pair.describe());
    }
}

/// Regression: the answer to an INIT that crossed the own one had another RANDOM than that, so that
/// the two sides had different keys, and no ASCONF was ever answered.
#[test]
fn both_sides_of_a_simultaneous_open_have_the_same_key() {
    let (client, server) = ports();
    let mut pair = Pair::apart([1, 1]);
    pair.connect(Client, server, config());
    pair.connect(Server, client, config());
    pair.run_until("establishment", Duration::from_secs(10), are_open);
    let added = IpAddr::from([10, 0, 9, 1]);
    pair.interface(Client, 0, InterfaceEvent::AddressAdded(added));
    pair.pass(Duration::from_secs(1));
    let is_ack = |chunk: &Chunk| matches!(chunk, Chunk::AsconfAck(_));
    assert!(pair.sent(Server).any(|passing| passing.has(is_ack)), "{}", pair.describe());
}

/// A peer at the client's address and port that has lost its association, and begins anew.
struct Restarted {
    packet: SctpPacket,
    tag: VerificationTag,
}

impl Restarted {
    fn of(pair: &Pair, listed: &[IpAddr]) -> Restarted {
        let (passing, init) = init_of(pair);
        let tag = VerificationTag(0x5555_5555);
        let parameters = listed.iter().copied().map(Parameter::Address).collect();
        let init = Init { tag, initial_tsn: Tsn(7000), parameters, ..init };
        let chunks = vec![Chunk::Init(Box::new(init))];
        Restarted { packet: SctpPacket { chunks: chunks.into(), ..passing.packet }, tag }
    }

    /// Sends to the server and returns the chunks of its answer.
    fn send(&self, pair: &mut Pair, packet: SctpPacket) -> Vec<Chunk> {
        let before = pair.log.len();
        pair.inject(Server, address(Client, 0), address(Server, 0), packet);
        let answers = pair.log[before..].iter().filter(|passing| passing.from == Server);
        answers.flat_map(|passing| passing.packet.chunks.clone()).collect()
    }

    /// Sends the INIT; returns the COOKIE ECHO for its answer.
    fn echo(&self, pair: &mut Pair) -> SctpPacket {
        let answer = self.send(pair, self.packet.clone());
        let [Chunk::InitAck(ack)] = &answer[..] else { panic!("{answer:?}") };
        let cookie = Chunk::CookieEcho(ack.cookie().expect("a cookie").clone());
        SctpPacket { tag: ack.tag, chunks: cookie.into(), ..self.packet.clone() }
    }
}

#[test]
fn restart_of_the_peer_begins_the_association_anew_with_its_new_tag() {
    let mut pair = Pair::open(1);
    pair.send(Client, message(0, 100));
    pair.pass(Duration::from_secs(1));
    // The client host is gone: nothing reaches it.
    pair.rule =
        Some(Box::new(|passing| if passing.from == Server { Fate::Drop } else { Fate::Pass }));
    pair.send(Server, message(1, 300));
    let peer = Restarted::of(&pair, &[]);
    let answer = peer.send(&mut pair, peer.packet.clone());
    let [Chunk::InitAck(ack)] = &answer[..] else { panic!("{answer:?}") };
    assert!(!pair.host(Server).has(SocketEventKind::Restarted), "an INIT alone changes nothing");
    let cookie = Chunk::CookieEcho(ack.cookie().expect("a cookie").clone());
    let echo = SctpPacket { tag: ack.tag, chunks: cookie.into(), ..peer.packet.clone() };
    let answer = peer.send(&mut pair, echo);
    assert_eq!(answer.first(), Some(&Chunk::CookieAck), "{answer:?}");
    assert!(pair.host(Server).has(SocketEventKind::Restarted));
    let lost = SendFailure { stream: 1, ppid: 0, sent: true };
    assert!(pair.host(Server).has(SocketEventKind::SendFailed(lost)), "the peer forgot it");
    pair.send(Server, message(0, 200));
    let last = pair.sent(Server).last().expect("data");
    assert!(last.has_data() && last.packet.tag == peer.tag, "{last:?}");
    let cwnd = pair.windows(Server).last().map(|window| window.cwnd);
    assert_eq!(cwnd, Some(4404), "windows begin anew");
}

/// Regression: the cookie set up a second association beside the first one.
#[test]
fn restart_whose_cookie_comes_from_an_unknown_address_is_one_of_the_association() {
    let mut pair = Pair::open(1);
    pair.rule =
        Some(Box::new(|passing| if passing.from == Server { Fate::Drop } else { Fate::Pass }));
    let peer = Restarted::of(&pair, &[]);
    let echo = peer.echo(&mut pair);
    let before = pair.log.len();
    pair.inject(Server, IpAddr::from([10, 0, 77, 1]), address(Server, 0), echo);
    assert!(pair.host(Server).has(SocketEventKind::Restarted), "{}", pair.describe());
    let answers: Vec<_> =
        pair.log[before..].iter().filter(|passing| passing.from == Server).collect();
    let [answer] = answers[..] else { panic!("{answers:?}") };
    assert!(answer.has(is_cookie_ack) && answer.dst == address(Client, 0), "{answer:?}");
}

/// Regression: the first address of before stayed in use, although the peer has it no more.
#[test]
fn peer_that_restarts_with_fewer_addresses_gets_nothing_at_the_others() {
    for cmt in [None, Some(CmtConfig::default())] {
        let mut pair = Pair::open_with(2, SctpConfig { cmt, ..config() });
        pair.rule = Some(Box::new(|passing| match passing.from {
            Server => Fate::Drop,
            Client => Fate::Pass,
        }));
        let peer = Restarted::of(&pair, &[]);
        let (src, dst) = (address(Client, 1), address(Server, 1));
        let from_second = |pair: &mut Pair, packet: SctpPacket| {
            let before = pair.log.len();
            pair.inject(Server, src, dst, packet);
            before
        };
        let before = from_second(&mut pair, peer.packet.clone());
        let answer = pair.log[before..].iter().flat_map(|passing| passing.packet.chunks.iter());
        let ack = answer.clone().find_map(|chunk| match chunk {
            Chunk::InitAck(ack) => Some(ack.clone()),
            _ => None,
        });
        let ack = ack.expect("an INIT ACK");
        let cookie = Chunk::CookieEcho(ack.cookie().expect("a cookie").clone());
        let echo = SctpPacket { tag: ack.tag, chunks: cookie.into(), ..peer.packet.clone() };
        let before = from_second(&mut pair, echo);
        assert!(pair.host(Server).has(SocketEventKind::Restarted));
        pair.send(Server, message(0, 200));
        pair.pass(Duration::from_secs(90));
        let sent: Vec<_> =
            pair.log[before..].iter().filter(|passing| passing.from == Server).collect();
        assert!(sent.iter().any(|passing| passing.has_data()));
        assert!(sent.iter().all(|passing| passing.dst == src), "{}", pair.describe());
    }
}

#[test]
fn restart_while_the_association_waits_for_its_end_is_put_off() {
    let mut pair = Pair::open(1);
    pair.rule =
        Some(Box::new(|passing| if passing.from == Server { Fate::Drop } else { Fate::Pass }));
    let peer = Restarted::of(&pair, &[]);
    let echo = peer.echo(&mut pair);
    // The client shuts down in the meantime, and never completes it.
    pair.shutdown(Client);
    pair.pass(Duration::from_millis(50));
    let answer = peer.send(&mut pair, echo);
    let reason = Chunk::Error(vec![Cause::CookieWhileShuttingDown]);
    assert!(answer.contains(&reason) && answer.contains(&Chunk::ShutdownAck), "{answer:?}");
    assert!(
        !answer.contains(&Chunk::CookieAck) && !pair.host(Server).has(SocketEventKind::Restarted)
    );
}

#[test]
fn association_that_opens_completes_an_earlier_one_of_which_its_peer_waits_for_the_end() {
    let mut pair = Pair::new([1, 1], [config(), config()]);
    pair.rule =
        Some(Box::new(|passing| if passing.has(is_init) { Fate::Drop } else { Fate::Pass }));
    pair.settle();
    let (passing, _) = init_of(&pair);
    let (tag, before) = (VerificationTag(0x7777_7777), pair.log.len());
    let ack = SctpPacket {
        src_port: passing.packet.dst_port,
        dst_port: passing.packet.src_port,
        tag,
        udp: None,
        chunks: Chunk::ShutdownAck.into(),
    };
    pair.inject(Client, address(Server, 0), address(Client, 0), ack);
    let answers: Vec<&SctpPacket> = pair.log[before..].iter().map(|to| &to.packet).collect();
    let [answer] = answers[..] else { panic!("{answers:?}") };
    assert_eq!(
        (answer.tag, &answer.chunks[..]),
        (tag, &[Chunk::ShutdownComplete { reflected: true }][..])
    );
    pair.rule = None;
    pair.run_until("establishment", Duration::from_secs(2), are_open);
}

#[test]
fn expired_cookie_of_the_association_itself_is_acknowledged() {
    let mut pair = Pair::new([1, 1], [config(), config()]);
    pair.rule =
        Some(Box::new(|passing| if passing.has(is_cookie_ack) { Fate::Drop } else { Fate::Pass }));
    // T1-cookie expires after 1, 3, 7, 15, 31 and 63 s; the cookie lives for 60 s.
    pair.pass(Duration::from_secs(40));
    pair.rule = None;
    pair.run_until("establishment", Duration::from_secs(40), are_open);
    assert_eq!(pair.now.as_millis(), 63_000 + 40);
    let echoes = pair.sent(Client).filter(|passing| passing.has(is_cookie_echo));
    assert_eq!(echoes.count(), 7);
    assert_eq!(pair.sent(Client).filter(|passing| passing.has(is_init)).count(), 1);
}

#[test]
fn restart_with_a_new_address_is_aborted_and_changes_nothing() {
    let mut pair = Pair::open(1);
    let added = IpAddr::from([10, 0, 77, 1]);
    let peer = Restarted::of(&pair, &[added]);
    let answer = peer.send(&mut pair, peer.packet.clone());
    let refused = Cause::RestartWithNewAddresses([added].into());
    assert_eq!(answer, [Chunk::Abort { reflected: false, causes: vec![refused] }]);
    let tag = pair.sent(Server).last().map(|passing| passing.packet.tag);
    assert_eq!(tag, Some(peer.tag), "the Initiate Tag of the INIT");
    // The answer goes to the address of the client, which has another tag.
    pair.send(Client, message(0, 100));
    pair.pass(Duration::from_secs(1));
    assert_eq!(pair.host(Server).lens(), [100]);
}

#[test]
fn init_that_meets_cookie_echoed_gets_the_own_tag_and_tie_tags_and_adds_no_address() {
    let (client, server) = ports();
    let mut pair = Pair::apart([1, 1]);
    // No answer to COOKIE ECHO.
    pair.rule = Some(Box::new(|passing| match passing.has(is_cookie_echo) {
        true => Fate::Drop,
        false => Fate::Pass,
    }));
    pair.stack(Server).listen(server, config()).expect("a free port");
    pair.connect(Client, server, config());
    pair.pass(Duration::from_millis(30));
    assert!(pair.sent(Client).any(|passing| passing.has(is_cookie_echo)));
    let (_, own) = init_of(&pair);
    let added = IpAddr::from([10, 0, 77, 1]);
    let peer = VerificationTag(0x5555_5555);
    for listed in [vec![], vec![added]] {
        let parameters = listed.iter().copied().map(Parameter::Address).collect();
        let init = Init { tag: peer, initial_tsn: Tsn(7000), parameters, ..own.clone() };
        let packet = SctpPacket {
            src_port: server,
            dst_port: client,
            tag: VerificationTag(0),
            udp: None,
            chunks: Chunk::Init(Box::new(init)).into(),
        };
        let before = pair.log.len();
        pair.inject(Client, address(Server, 0), address(Client, 0), packet);
        match &pair.log[before..].iter().flat_map(|to| &to.packet.chunks).collect::<Vec<_>>()[..] {
            [Chunk::InitAck(ack)] if listed.is_empty() => {
                assert_eq!((ack.tag, ack.initial_tsn), (own.tag, own.initial_tsn));
                let cookie = ack.cookie().expect("a cookie");
                assert!(cookie[24..28] != [0; 4] && cookie[28..32] != [0; 4], "tie-tags");
            }
            [Chunk::Abort { causes, .. }] => {
                assert_eq!(*causes, [Cause::RestartWithNewAddresses([added].into())]);
            }
            other => panic!("{other:?}"),
        }
    }
    pair.rule = None;
    pair.pass(Duration::from_secs(4));
    assert!(pair.host(Client).is_open(), "nothing has changed");
}

#[test]
fn init_ack_and_cookie_ack_outside_of_their_states_are_dropped() {
    let mut pair = Pair::open(1);
    let ack = pair.sent(Server).find(|passing| passing.has(is_init_ack)).expect("an INIT ACK");
    let (again, before) = (ack.packet.clone(), pair.log.len());
    pair.inject(Client, address(Server, 0), address(Client, 0), again);
    pair.forge(Client, vec![Chunk::CookieAck]);
    pair.forge(Server, vec![Chunk::CookieAck]);
    pair.pass(Duration::from_millis(100));
    assert_eq!(pair.log.len(), before, "{}", pair.describe());
    pair.send(Client, message(0, 100));
    pair.pass(Duration::from_secs(1));
    assert_eq!(pair.host(Server).lens(), [100]);
}

#[test]
fn cookie_echo_that_was_sent_twice_is_acknowledged_twice() {
    let mut pair = Pair::open(1);
    let echo = pair.sent(Client).find(|passing| passing.has(is_cookie_echo)).expect("a cookie");
    let (again, before) = (echo.packet.clone(), pair.log.len());
    pair.inject(Server, address(Client, 0), address(Server, 0), again);
    let answers = pair.log[before..].iter().filter(|passing| passing.has(is_cookie_ack));
    assert_eq!(answers.count(), 1);
    assert!(!pair.host(Server).has(SocketEventKind::Restarted));
}

#[test]
fn shutdown_before_the_association_is_set_up_is_dropped() {
    let mut pair = Pair::new([1, 1], [config(), config()]);
    pair.settle();
    let (passing, init) = init_of(&pair);
    let back = SctpPacket {
        src_port: passing.packet.dst_port,
        dst_port: passing.packet.src_port,
        tag: init.tag,
        udp: None,
        chunks: Chunk::Shutdown { cum_tsn: Tsn(1) }.into(),
    };
    pair.inject(Client, address(Server, 0), address(Client, 0), back);
    pair.run_until("establishment", Duration::from_secs(1), are_open);
    assert!(pair.now < Instant::ZERO + Duration::from_millis(100));
}

#[test]
fn silent_listener_of_another_profile_agrees_on_the_smaller_number_of_streams() {
    let few = SctpConfig { streams: 2, ..config() };
    let mut pair = Pair::new([1, 1], [config(), few]);
    pair.run_until("establishment", Duration::from_secs(1), are_open);
    let socket = pair.socket(Server);
    assert!(pair.stack(Server).send_message(socket, message(2, 1)).is_err(), "it has two");
    pair.send(Client, message(3, 1));
    pair.pass(Duration::from_secs(1));
    assert_eq!(pair.host(Server).lens(), [1]);
}

/// COOKIE ECHO is repeated on another path than INIT: the server paired the address where it
/// arrived with the one where INIT came from. Found by random operations.
#[test]
fn paths_have_their_own_addresses_after_a_cookie_on_another_path_than_init() {
    let mut config = config();
    config.parameters.limits.potentially_failed = None;
    config.peer_addresses = vec![address(Server, 0), address(Server, 1)];
    let mut pair = Pair::new([2, 2], [config.clone(), config]);
    let mut count = 0;
    pair.rule = Some(Box::new(move |passing| {
        count += 1;
        let is_second = passing.dst == address(Server, 1) || passing.dst == address(Client, 1);
        // INIT and its answer pass on the second path, and nothing after them.
        let is_silent = is_second && passing.at > Instant::from_millis(1015);
        if count == 1 || is_silent { Fate::Drop } else { Fate::Pass }
    }));
    pair.pass(Duration::from_secs(4));
    assert!(pair.host(Client).is_open() && pair.host(Server).is_open(), "{}", pair.describe());
    pair.send(Server, message(0, 3000));
    pair.pass(Duration::from_secs(400));
    assert_eq!(pair.host(Client).lens(), [3000], "{}", pair.describe());
}

/// A client in COOKIE-ECHOED: packets that `is_lost` accepts are lost.
fn in_cookie_echoed(is_lost: fn(&Chunk) -> bool) -> Pair {
    let mut pair = Pair::new([1, 1], [config(), config()]);
    pair.rule =
        Some(Box::new(move |passing| if passing.has(is_lost) { Fate::Drop } else { Fate::Pass }));
    pair.pass(Duration::from_millis(100));
    assert!(pair.sent(Client).any(|passing| passing.has(is_cookie_echo)));
    assert!(!pair.host(Client).is_open());
    pair
}

#[test]
fn abort_with_the_tag_of_the_cookie_echo_ends_cookie_echoed() {
    for (flip, ends) in [(1, false), (0, true)] {
        let mut pair = in_cookie_echoed(is_cookie_echo);
        let echo = pair.sent(Client).find(|passing| passing.has(is_cookie_echo)).expect("one");
        let mut abort = echo.packet.clone();
        std::mem::swap(&mut abort.src_port, &mut abort.dst_port);
        abort.tag.0 ^= flip;
        abort.chunks = vec![Chunk::Abort { reflected: true, causes: vec![] }].into();
        pair.inject(Client, address(Server, 0), address(Client, 0), abort);
        let refused = SocketEventKind::Failed(SocketError::Refused);
        assert_eq!(pair.host(Client).has(refused), ends, "RFC 9260 s8.5.1 B");
    }
}

#[test]
fn abort_of_the_user_in_cookie_echoed_reaches_the_peer() {
    let mut pair = in_cookie_echoed(is_cookie_ack);
    assert!(pair.host(Server).is_open());
    pair.abort(Client);
    pair.pass(Duration::from_millis(100));
    assert!(pair.host(Server).has(SocketEventKind::Failed(SocketError::Reset)));
}
