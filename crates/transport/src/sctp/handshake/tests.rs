//! Tests of the handshake: known bytes, lost packets, collisions, restarts, bad cookies.

use super::*;
use crate::sctp::rto::RtoBounds;
use base::{Duration, Instant};
use std::net::IpAddr;
use wire::SctpPacket;
use wire::sctp::{
    Cause, Chunk, CookieError, Features, Init, InitFault, Parameter, RawChunk, Tsn, UdpPorts,
    VerificationTag,
};

const LIFE_MS: u32 = 60_000;
/// Time of the known bytes, in milliseconds.
const CREATED_MS: u64 = 1_700_000_000_000;
const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 1, 1, 1));
const A2: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 2, 1, 1));
const Z: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 1, 2, 1));
const Z2: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 2, 2, 1));
const TAG_A: VerificationTag = VerificationTag(0x1122_3344);
const TAG_Z: VerificationTag = VerificationTag(0xAABB_CCDD);
const PORT_A: u16 = 20_000;
const PORT_Z: u16 = 8_000;

/// All extensions that the known bytes list.
const LISTED: Features = Features(0x1F);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn opening() -> Opening {
    Opening {
        offer: Offer {
            a_rwnd: 1 << 20,
            outbound_streams: 10,
            inbound_streams: 16,
            features: LISTED,
            random: None,
            addresses: vec![A, A2],
        },
        port: PORT_A,
        peer_port: PORT_Z,
        peer_addresses: vec![Z],
        tag: TAG_A,
        initial_tsn: Tsn(1000),
        rto: RtoBounds::RFC_9260,
        retransmissions: 8,
    }
}

fn offer_of_z() -> Offer {
    Offer {
        a_rwnd: 2 << 20,
        outbound_streams: 16,
        inbound_streams: 10,
        features: LISTED,
        random: None,
        addresses: vec![Z, Z2],
    }
}

fn fresh() -> InitAckSource {
    InitAckSource { tag: TAG_Z, initial_tsn: Tsn(5000), tie_tags: (0, 0), known: None }
}

fn secrets() -> CookieSecrets {
    CookieSecrets::new(std::array::from_fn(|i| i as u8))
}

fn open() -> (Initiator, SctpPacket) {
    let (initiator, step) = Initiator::open(at(0), opening());
    (initiator, sent(step).1)
}

fn sent(step: Step) -> (IpAddr, SctpPacket) {
    let Step::Send(to, packet) = step else { panic!("a packet: {step:?}") };
    (to, packet)
}

fn from_a(packet: &SctpPacket, now_ms: u64) -> Arrived<'_> {
    Arrived { src: A, dst: Z, packet, now_ms }
}

fn answer_with(packet: &SctpPacket, source: &InitAckSource) -> Answer {
    answer_init(&from_a(packet, CREATED_MS), &offer_of_z(), source, &secrets(), LIFE_MS)
}

fn init_ack(packet: &SctpPacket) -> SctpPacket {
    let Answer::Send(ack) = answer_with(packet, &fresh()) else { panic!("an INIT ACK") };
    ack
}

fn cookie_ack() -> SctpPacket {
    let chunks = vec![Chunk::CookieAck];
    let (src_port, dst_port) = (PORT_Z, PORT_A);
    SctpPacket { src_port, dst_port, tag: TAG_A, udp: None, chunks: chunks.into() }
}

fn init_of(packet: &mut SctpPacket) -> &mut Init {
    match &mut packet.chunks[0] {
        Chunk::Init(init) | Chunk::InitAck(init) => init,
        other => panic!("{other:?}"),
    }
}

fn known(bytes: &[u8]) -> SctpPacket {
    SctpPacket::parse(bytes).unwrap()
}

/// An INIT ACK without its cookie, of which the known one has other streams and extensions.
fn without_cookie(mut packet: SctpPacket) -> SctpPacket {
    let is_cookie = |parameter: &Parameter| matches!(parameter, Parameter::StateCookie(_));
    init_of(&mut packet).parameters.retain(|parameter| !is_cookie(parameter));
    packet
}

#[test]
fn init_and_init_ack_are_the_known_bytes() {
    let (_, init) = open();
    assert_eq!(init, known(include_bytes!("../../../../../fuzz/seeds/sctp_packet/v1")));
    let ack = init_ack(&init);
    let expected = known(include_bytes!("../../../../../fuzz/seeds/sctp_packet/v2"));
    assert_eq!(without_cookie(ack.clone()), without_cookie(expected.clone()));
    let len = |mut packet: SctpPacket| init_of(&mut packet).cookie().map(|cookie| cookie.len());
    assert_eq!(len(ack), len(expected));
}

#[test]
fn four_packets_set_up_an_association_that_both_sides_see_alike() {
    let (mut initiator, init) = open();
    let ack = init_ack(&init);
    let (to, echo) = sent(initiator.handle(at(20), Z, &ack));
    assert_eq!((to, echo.tag), (Z, TAG_Z));
    assert!(matches!(echo.chunks[..], [Chunk::CookieEcho(_)]));
    let (of_z, tags) = accept_cookie(&from_a(&echo, CREATED_MS + 40), &secrets()).unwrap();
    assert_eq!((tags.local, tags.peer), (TAG_Z, TAG_A));
    let step = initiator.handle(at(60), Z, &cookie_ack());
    let Step::Established { agreed: of_a, acknowledge: false } = step else { panic!("{step:?}") };
    assert_eq!(initiator.deadline(), None);
    assert_eq!((of_a.local, of_a.peer), (of_z.peer, of_z.local));
    assert_eq!((of_a.local.streams, of_a.peer.streams), (10, 16));
    assert_eq!((of_a.features, of_z.features), (LISTED, LISTED));
    assert_eq!((of_a.peer_addresses, of_z.peer_addresses), (vec![Z, Z2], vec![A, A2]));
    assert_eq!(initiator.handle(at(61), Z, &cookie_ack()), Step::Nothing, "it came twice");
}

#[test]
fn answer_travels_in_udp_if_the_init_did() {
    let (_, init) = open();
    let udp = Some(UdpPorts { src: 40_000, dst: 9899 });
    let ack = init_ack(&SctpPacket { udp, ..init.clone() });
    assert_eq!(ack.udp, Some(UdpPorts { src: 9899, dst: 40_000 }));
    assert_eq!(init_ack(&init).udp, None);
}

#[test]
fn extensions_are_those_of_both_sides() {
    let (_, init) = open();
    let few = Offer { features: Features(0x30), ..offer_of_z() };
    let arrived = from_a(&init, CREATED_MS);
    let Answer::Send(ack) = answer_init(&arrived, &few, &fresh(), &secrets(), LIFE_MS) else {
        panic!("an INIT ACK")
    };
    let (mut initiator, _) = open();
    let (_, echo) = sent(initiator.handle(at(20), Z, &ack));
    let (agreed, _) = accept_cookie(&from_a(&echo, CREATED_MS), &secrets()).unwrap();
    assert_eq!(agreed.features, Features::NR_SACK);
}

/// Times at which the packets of the initiator leave if the first `lost` of each kind get lost,
/// and the time of the end.
fn with_losses(lost: [u32; 4]) -> (Vec<u64>, u64) {
    let (mut initiator, mut packet) = open();
    let (mut now, mut times, mut lost) = (0, vec![0], lost);
    let mut drop = |kind: usize| {
        let is_lost = lost[kind] > 0;
        lost[kind] = lost[kind].saturating_sub(1);
        is_lost
    };
    loop {
        let is_init = matches!(packet.chunks[0], Chunk::Init(_));
        let answer = if is_init { init_ack(&packet) } else { cookie_ack() };
        let kind = if is_init { 0 } else { 2 };
        let step = match drop(kind) || drop(kind + 1) {
            false => initiator.handle(at(now), Z, &answer),
            true => {
                let deadline = initiator.deadline().unwrap();
                now = deadline.as_nanos() / 1_000_000;
                initiator.handle_timeout(deadline)
            }
        };
        match step {
            Step::Send(_, next) => packet = next,
            Step::Established { .. } => return (times, now),
            other => panic!("{other:?}"),
        }
        times.push(now);
    }
}

#[test]
fn lost_packets_of_the_handshake_are_sent_again_after_1_2_and_4_seconds() {
    for (kind, name) in ["INIT", "INIT ACK", "COOKIE ECHO", "COOKIE ACK"].iter().enumerate() {
        for (count, end) in [(1, 1000), (2, 3000), (3, 7000)] {
            let mut lost = [0; 4];
            lost[kind] = count;
            assert_eq!(with_losses(lost).1, end, "{count} of {name}");
        }
    }
    assert_eq!(with_losses([1, 1, 1, 1]), (vec![0, 1000, 3000, 3000, 4000, 6000], 6000));
}

#[test]
fn initiator_gives_up_after_8_retransmissions_over_all_addresses() {
    let peer_addresses = vec![Z, Z2];
    let (mut initiator, first) = Initiator::open(at(0), Opening { peer_addresses, ..opening() });
    let mut tried = vec![sent(first).0];
    let end = loop {
        let deadline = initiator.deadline().unwrap();
        assert_eq!(initiator.handle_timeout(at(0)), Step::Nothing, "too early");
        match initiator.handle_timeout(deadline) {
            Step::Send(to, _) => tried.push(to),
            step => break (step, deadline),
        }
    };
    assert_eq!(tried, [Z, Z2, Z, Z2, Z, Z2, Z, Z2, Z]);
    // 1 + 2 + 4 + 8 + 16 + 32 + 60 + 60 + 60 seconds.
    assert_eq!(end, (Step::Failed(Failure::TimedOut, None), at(243_000)));
    assert_eq!(initiator.deadline(), None);
}

#[test]
fn stale_cookie_is_asked_for_again_with_a_longer_life() {
    let (mut initiator, init) = open();
    initiator.handle(at(250), Z, &init_ack(&init));
    let stale =
        SctpPacket { chunks: Chunk::Error(vec![Cause::StaleCookie(9)]).into(), ..cookie_ack() };
    let (_, mut again) = sent(initiator.handle(at(300), Z, &stale));
    let asked = Parameter::CookiePreservative(1250);
    assert!(init_of(&mut again).parameters.contains(&asked), "{again:?}");
    let ack = init_ack(&again);
    let (_, echo) = sent(initiator.handle(at(320), Z, &ack));
    let valid = |ms| accept_cookie(&from_a(&echo, CREATED_MS + ms), &secrets()).map(drop);
    assert_eq!(valid(61_250), Ok(()));
    let refused = Err(CookieError::Stale { staleness_us: 1000, peer_tag: TAG_A });
    assert_eq!(valid(61_251), refused);
    assert_eq!(initiator.handle(at(330), Z, &init_ack(&again)), Step::Nothing, "not COOKIE-WAIT");
}

#[test]
fn initiator_gives_up_when_every_cookie_is_stale() {
    let (mut initiator, mut init) = open();
    let stale =
        SctpPacket { chunks: Chunk::Error(vec![Cause::StaleCookie(9)]).into(), ..cookie_ack() };
    for n in 0..opening().retransmissions {
        let now = at(100 * u64::from(n));
        sent(initiator.handle(now, Z, &init_ack(&init)));
        init = sent(initiator.handle(now, Z, &stale)).1;
    }
    sent(initiator.handle(at(2000), Z, &init_ack(&init)));
    let failed = Step::Failed(Failure::TimedOut, None);
    assert_eq!(initiator.handle(at(2000), Z, &stale), failed);
    assert_eq!(initiator.deadline(), None);
}

#[test]
fn life_of_a_cookie_is_at_most_doubled() {
    let (_, mut init) = open();
    init_of(&mut init).parameters.push(Parameter::CookiePreservative(u32::MAX));
    let (mut initiator, _) = open();
    let (_, echo) = sent(initiator.handle(at(1), Z, &init_ack(&init)));
    let valid = |ms| accept_cookie(&from_a(&echo, CREATED_MS + ms), &secrets()).is_ok();
    assert!(valid(2 * u64::from(LIFE_MS)) && !valid(2 * u64::from(LIFE_MS) + 1));
}

#[test]
fn cookies_of_the_previous_secret_are_valid_for_one_life() {
    let (mut initiator, init) = open();
    let (_, echo) = sent(initiator.handle(at(20), Z, &init_ack(&init)));
    let mut secrets = secrets();
    secrets.rotate([7; 32], CREATED_MS, LIFE_MS / 2);
    let accepted = |secrets: &CookieSecrets, ms| {
        accept_cookie(&from_a(&echo, CREATED_MS + ms), secrets).map(drop)
    };
    assert_eq!(accepted(&secrets, 30_000), Ok(()));
    assert_eq!(accepted(&secrets, 30_001), Err(CookieError::NotOurs));
    secrets.rotate([8; 32], CREATED_MS, LIFE_MS);
    assert_eq!(accepted(&secrets, 0), Err(CookieError::NotOurs));
}

#[test]
fn changed_cookie_and_what_is_no_cookie_are_not_ours() {
    let (mut initiator, init) = open();
    let (_, echo) = sent(initiator.handle(at(20), Z, &init_ack(&init)));
    let Chunk::CookieEcho(cookie) = &echo.chunks[0] else { panic!("a COOKIE ECHO") };
    for at in 0..cookie.len() {
        let mut changed = cookie.to_vec();
        changed[at] ^= 4;
        let chunks = vec![Chunk::CookieEcho(changed.into())];
        let packet = SctpPacket { chunks: chunks.into(), ..echo.clone() };
        let refused = accept_cookie(&from_a(&packet, CREATED_MS), &secrets());
        assert_eq!(refused, Err(CookieError::NotOurs), "byte {at}");
    }
    let refused = accept_cookie(&from_a(&init, CREATED_MS), &secrets());
    assert_eq!(refused, Err(CookieError::NotOurs));
}

#[test]
fn both_sides_may_initiate_at_the_same_time() {
    let of_z = Opening {
        offer: offer_of_z(),
        port: PORT_Z,
        peer_port: PORT_A,
        peer_addresses: vec![A],
        tag: TAG_Z,
        initial_tsn: Tsn(5000),
        rto: RtoBounds::RFC_9260,
        retransmissions: 8,
    };
    let (mut z, step) = Initiator::open(at(0), of_z);
    let init_of_z = sent(step).1;
    let (mut a, init_of_a) = open();
    // Each answers the INIT of the other with its own tag and TSN (RFC 9260 s5.2.1).
    let own_of_a = InitAckSource { tag: TAG_A, initial_tsn: Tsn(1000), ..fresh() };
    let arrived = Arrived { src: Z, dst: A, packet: &init_of_z, now_ms: CREATED_MS };
    let of_a = answer_init(&arrived, &opening().offer, &own_of_a, &secrets(), LIFE_MS);
    let Answer::Send(ack_of_a) = of_a else { panic!("an INIT ACK") };
    let (_, echo_of_a) = sent(a.handle(at(20), Z, &init_ack(&init_of_a)));
    let (_, echo_of_z) = sent(z.handle(at(20), A, &ack_of_a));
    let (seen_by_z, tags) = accept_cookie(&from_a(&echo_of_a, CREATED_MS), &secrets()).unwrap();
    let at_z = z.handle_cookie(seen_by_z, &tags);
    let arrived = Arrived { src: Z, dst: A, packet: &echo_of_z, now_ms: CREATED_MS };
    let (seen_by_a, tags) = accept_cookie(&arrived, &secrets()).unwrap();
    let at_a = a.handle_cookie(seen_by_a, &tags);
    let (
        Step::Established { agreed: a_has, acknowledge: true },
        Step::Established { agreed: z_has, .. },
    ) = (at_a, at_z)
    else {
        panic!("both are established")
    };
    assert_eq!((a_has.local, a_has.peer), (z_has.peer, z_has.local), "one association");
    assert_eq!((a_has.local.tag, a_has.peer.tag), (TAG_A, TAG_Z));
}

#[test]
fn cookie_is_compared_with_the_tags_of_an_association() {
    let tags = |local, peer, local_tie, peer_tie| Tags {
        local: VerificationTag(local),
        peer: VerificationTag(peer),
        local_tie,
        peer_tie,
    };
    let own = tags(0x1111_1111, 0x2222_2222, 7, 9);
    let cases = [
        (tags(0x3333_3333, 0x4444_4444, 7, 9), CookieAction::Restart),
        (tags(0x3333_3333, 0x4444_4444, 7, 8), CookieAction::Discard),
        (tags(0x3333_3333, 0x4444_4444, 0, 0), CookieAction::Discard),
        (tags(0x1111_1111, 0x5555_5555, 0, 0), CookieAction::Collision),
        (tags(0x6666_6666, 0x2222_2222, 0, 0), CookieAction::Late),
        (tags(0x6666_6666, 0x2222_2222, 7, 9), CookieAction::Discard),
        (tags(0x1111_1111, 0x2222_2222, 3, 4), CookieAction::Duplicate),
    ];
    for (cookie, action) in cases {
        assert_eq!(compare(&own, &cookie), action, "{cookie:?}");
    }
    // Without association there are no tie-tags: nothing is a restart of it.
    let bare = tags(1, 0, 0, 0);
    assert_eq!(compare(&bare, &tags(2, 3, 0, 0)), CookieAction::Discard);
}

#[test]
fn restart_may_not_add_addresses() {
    let (_, init) = open();
    let source = |known: &[IpAddr]| InitAckSource {
        tie_tags: (7, 9),
        known: Some(known.to_vec()),
        ..fresh()
    };
    let Answer::Send(abort) = answer_with(&init, &source(&[A])) else { panic!("an ABORT") };
    let causes = vec![Cause::RestartWithNewAddresses([A2].into())];
    assert_eq!(abort.chunks, [Chunk::Abort { reflected: false, causes }]);
    assert_eq!(abort.tag, TAG_A);
    let Answer::Send(mut ack) = answer_with(&init, &source(&[A2, A])) else { panic!("an ACK") };
    let cookie = init_of(&mut ack).cookie().unwrap().clone();
    let chunks = vec![Chunk::CookieEcho(cookie)];
    let echo = SctpPacket { tag: TAG_Z, chunks: chunks.into(), ..init };
    let (_, tags) = accept_cookie(&from_a(&echo, CREATED_MS), &secrets()).unwrap();
    assert_eq!((tags.local_tie, tags.peer_tie), (7, 9));
}

#[test]
fn init_that_must_be_refused_is_answered_or_discarded() {
    let with = |change: fn(&mut SctpPacket)| {
        let (_, mut init) = open();
        change(&mut init);
        answer_with(&init, &fresh())
    };
    assert_eq!(with(|packet| packet.tag = TAG_Z), Answer::Nothing);
    assert_eq!(with(|packet| packet.chunks.push(Chunk::CookieAck)), Answer::Nothing);
    assert_eq!(with(|packet| init_of(packet).tag = VerificationTag(0)), Answer::Nothing);
    let Answer::Send(abort) = with(|packet| init_of(packet).a_rwnd = 1499) else {
        panic!("an ABORT")
    };
    let causes = vec![Cause::InvalidParameter];
    assert_eq!(
        (abort.tag, &abort.chunks[..]),
        (TAG_A, &[Chunk::Abort { reflected: false, causes }][..])
    );
}

#[test]
fn unknown_parameters_are_reported_in_both_directions() {
    let (_, mut init) = open();
    let unknown = |kind| Parameter::Unknown { kind, value: vec![1, 2, 3].into() };
    init_of(&mut init).parameters.insert(0, unknown(0xC0FF));
    let mut ack = init_ack(&init);
    let copy: &[u8] = &[0xC0, 0xFF, 0, 7, 1, 2, 3];
    let expected = Parameter::Unrecognized(copy.to_vec().into());
    assert_eq!(init_of(&mut ack).parameters.last(), Some(&expected));
    init_of(&mut ack).parameters.insert(0, unknown(0xC0FF));
    let (mut initiator, _) = open();
    let (_, echo) = sent(initiator.handle(at(20), Z, &ack));
    let report = Cause::UnrecognizedParameters(copy.to_vec().into());
    assert_eq!(echo.chunks[1..], [Chunk::Error(vec![report])]);
}

#[test]
fn init_ack_that_must_be_refused_ends_the_attempt() {
    let with = |change: fn(&mut Init)| {
        let (mut initiator, init) = open();
        let mut ack = init_ack(&init);
        change(init_of(&mut ack));
        let step = initiator.handle(at(20), Z, &ack);
        assert_eq!(initiator.deadline(), None);
        let Step::Failed(failure, answer) = step else { panic!("{step:?}") };
        let Some(Chunk::Abort { reflected, causes }) = answer.unwrap().chunks.into_list().pop()
        else {
            panic!("an ABORT")
        };
        (failure, reflected, causes)
    };
    let refused = Failure::Refused;
    let zero = with(|ack| ack.tag = VerificationTag(0));
    assert_eq!(zero, (refused(InitFault::ZeroTag), true, vec![]));
    let none = with(|ack| ack.parameters.clear());
    let missing = Cause::MissingParameter([7].into());
    assert_eq!(none, (refused(InitFault::MissingCookie), false, vec![missing]));
    let streams = with(|ack| ack.outbound_streams = 17);
    assert_eq!(streams, (Failure::TooManyStreams, false, vec![Cause::InvalidParameter]));
}

#[test]
fn packets_with_a_wrong_tag_are_ignored_and_abort_ends_the_attempt() {
    let (mut initiator, init) = open();
    let ack = init_ack(&init);
    let forged = SctpPacket { tag: TAG_Z, ..ack.clone() };
    assert_eq!(initiator.handle(at(1), Z, &forged), Step::Nothing);
    assert_eq!(initiator.handle(at(1), Z, &cookie_ack()), Step::Nothing, "not COOKIE-ECHOED");
    let abort = |tag, reflected| SctpPacket {
        tag,
        chunks: Chunk::Abort { reflected, causes: vec![] }.into(),
        ..cookie_ack()
    };
    let zero = VerificationTag(0);
    assert_eq!(initiator.handle(at(1), Z, &abort(zero, true)), Step::Nothing, "no tag to reflect");
    sent(initiator.handle(at(2), Z, &ack));
    assert_eq!(initiator.handle(at(3), Z, &abort(TAG_Z, false)), Step::Nothing);
    let unknown = Chunk::Unknown(RawChunk { kind: 0x3E, flags: 0, value: vec![].into() });
    let noise = SctpPacket { chunks: unknown.into(), ..cookie_ack() };
    assert_eq!(initiator.handle(at(3), Z, &noise), Step::Nothing);
    let failed = Step::Failed(Failure::Aborted, None);
    let mut behind = initiator.clone();
    assert_eq!(initiator.handle(at(4), Z, &abort(TAG_Z, true)), failed);
    // Regression: behind another chunk it was ignored.
    let error = Chunk::Error(vec![Cause::OutOfResource]);
    let with_error = |tag, reflected| SctpPacket {
        chunks: [error.clone(), Chunk::Abort { reflected, causes: vec![] }].into(),
        ..abort(tag, reflected)
    };
    assert_eq!(behind.handle(at(4), Z, &with_error(TAG_Z, false)), Step::Nothing);
    assert_eq!(behind.handle(at(4), Z, &with_error(TAG_Z, true)), failed);
}

#[test]
fn useless_addresses_of_a_peer_are_ignored() {
    let (_, mut init) = open();
    let mut listed: Vec<IpAddr> = vec![
        [0, 0, 0, 0].into(),
        [127, 0, 0, 1].into(),
        [224, 0, 0, 1].into(),
        [255, 255, 255, 255].into(),
        IpAddr::V6(std::net::Ipv4Addr::new(10, 9, 9, 9).to_ipv6_mapped()),
        A,
    ];
    listed.extend((0..100).map(|last| IpAddr::from([10, 7, 7, last])));
    init_of(&mut init).parameters = listed.into_iter().map(Parameter::Address).collect();
    let (mut initiator, _) = open();
    let (_, echo) = sent(initiator.handle(at(1), Z, &init_ack(&init)));
    let (agreed, _) = accept_cookie(&from_a(&echo, CREATED_MS), &secrets()).unwrap();
    assert_eq!(agreed.peer_addresses.len(), 32);
    assert_eq!(agreed.peer_addresses[..2], [A, IpAddr::from([10, 7, 7, 0])]);
}
