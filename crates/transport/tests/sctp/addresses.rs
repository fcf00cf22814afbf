//! Addresses that are added and deleted, the primary, and their authentication (RFC 5061, RFC
//! 4895).

use crate::pair::{Client, Fate, Pair, Passing, Server, address, config, message};
use base::Duration;
use std::net::IpAddr;
use transport::InterfaceEvent::{AddressAdded, AddressRemoved};
use transport::sctp::{Addresses, SctpConfig};
use transport::{InterfaceEvent, SocketError, SocketEventKind};
use wire::sctp::{
    AddressRequest, Asconf, AsconfAck, Auth, AuthHmac, AuthKey, Cause, Chunk, Features, KeyVector,
    Parameter,
};

const NEW: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 9, 1));

fn is_asconf(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::Asconf(_))
}

fn asconfs(pair: &Pair) -> Vec<Asconf> {
    let asconf = |(_, chunk): (_, &Chunk)| match chunk {
        Chunk::Asconf(asconf) => Some((**asconf).clone()),
        _ => None,
    };
    pair.chunks(Client).filter_map(asconf).collect()
}

fn acks(pair: &Pair) -> Vec<AsconfAck> {
    let ack = |(_, chunk): (_, &Chunk)| match chunk {
        Chunk::AsconfAck(ack) => Some(ack.clone()),
        _ => None,
    };
    pair.chunks(Server).filter_map(ack).collect()
}

/// Data packets of a side between these addresses since the `from`-th packet.
fn data(pair: &Pair, from: usize, is: impl Fn(&Passing) -> bool) -> usize {
    pair.log[from..].iter().filter(|passing| passing.has_data() && is(passing)).count()
}

fn one_way(pair: &mut Pair, count: usize) {
    for _ in 0..count {
        pair.send(Client, message(0, 1400));
        pair.send(Server, message(0, 1400));
    }
}

#[test]
fn added_address_is_verified_and_carries_data_when_the_others_are_gone() {
    let mut pair = Pair::open(1);
    pair.interface(Client, 0, AddressAdded(NEW));
    pair.pass(Duration::from_secs(1));
    let asconf = pair.sent(Client).find(|passing| passing.has(is_asconf)).expect("ASCONF");
    assert!(matches!(asconf.packet.chunks[0], Chunk::Auth(_)), "authenticated");
    assert_eq!(asconf.src, address(Client, 0), "not the new address");
    assert_eq!(acks(&pair).len(), 1);
    assert_eq!(acks(&pair)[0].responses, []);
    let acked = pair
        .sent(Server)
        .position(|passing| passing.has(|chunk| matches!(chunk, Chunk::AsconfAck(_))));
    assert!(acked.is_some());
    let verified = |passing: &Passing| {
        passing.dst == NEW
            && passing.has(|chunk| matches!(chunk, Chunk::HeartbeatAck(_) | Chunk::Heartbeat(_)))
    };
    assert!(pair.sent(Server).any(verified), "verified");
    let from = pair.log.len();
    pair.interface(Client, 0, AddressRemoved(address(Client, 0)));
    one_way(&mut pair, 20);
    pair.pass(Duration::from_secs(5));
    assert_eq!(pair.host(Server).received.len(), 20);
    assert_eq!(pair.host(Client).received.len(), 20);
    let stale = |passing: &Passing| passing.src == address(Client, 0);
    assert_eq!(data(&pair, from, stale), 0);
    assert!(data(&pair, from, |passing| passing.dst == NEW) >= 20);
    let end = pair.now;
    let late = pair.log.iter().filter(|passing| passing.dst == address(Client, 0));
    assert!(late.filter(|passing| passing.at + Duration::from_secs(4) > end).count() == 0);
}

#[test]
fn address_that_is_removed_and_returns_has_its_path_again() {
    let mut pair = Pair::open(2);
    for round in 1..=3 {
        pair.interface(Client, 1, AddressRemoved(address(Client, 1)));
        pair.pass(Duration::from_secs(2));
        one_way(&mut pair, 5);
        pair.interface(Client, 1, AddressAdded(address(Client, 1)));
        pair.pass(Duration::from_secs(2));
        assert_eq!(asconfs(&pair).len(), 2 * round);
        assert_eq!(pair.info(Client).paths.len(), 2);
        assert_eq!(pair.info(Server).paths.len(), 2);
    }
    // The first path dies: the one that returned carries the data.
    pair.rule = Some(Box::new(|passing| match passing.dst.to_string().starts_with("10.0.1.") {
        true => Fate::Drop,
        false => Fate::Pass,
    }));
    one_way(&mut pair, 10);
    pair.pass(Duration::from_secs(10));
    assert_eq!((pair.host(Client).received.len(), pair.host(Server).received.len()), (25, 25));
}

#[test]
fn primary_that_is_removed_is_the_primary_again_when_it_returns() {
    let mut pair = Pair::open(2);
    let destination = |pair: &mut Pair| {
        pair.send(Server, message(0, 10));
        let last = pair.sent(Server).filter(|passing| passing.has_data()).last();
        let to = last.expect("data").dst;
        pair.pass(Duration::from_secs(1));
        to
    };
    assert_eq!(destination(&mut pair), address(Client, 0));
    pair.interface(Client, 0, AddressRemoved(address(Client, 0)));
    pair.pass(Duration::from_secs(2));
    assert_eq!(destination(&mut pair), address(Client, 1));
    pair.interface(Client, 0, AddressAdded(address(Client, 0)));
    pair.pass(Duration::from_secs(2));
    assert_eq!(destination(&mut pair), address(Client, 0));
    assert_eq!(pair.host(Client).lens(), [10; 3]);
}

#[test]
fn abort_and_heartbeat_from_an_address_that_the_peer_deleted_have_no_effect() {
    let mut pair = Pair::open(2);
    let deleted = address(Server, 1);
    pair.interface(Server, 1, AddressRemoved(deleted));
    pair.pass(Duration::from_secs(2));
    let abort = Chunk::Abort { reflected: false, causes: vec![] };
    for chunk in [Chunk::Heartbeat(vec![]), abort] {
        let packet = pair.forged(Client, vec![chunk]);
        let before = pair.log.len();
        pair.inject(Client, deleted, address(Client, 1), packet);
        assert_eq!(pair.log.len(), before, "no answer");
    }
    one_way(&mut pair, 5);
    pair.pass(Duration::from_secs(1));
    assert_eq!((pair.host(Client).received.len(), pair.host(Server).received.len()), (5, 5));
}

#[test]
fn data_in_flight_to_a_deleted_address_go_elsewhere_at_once() {
    let mut pair = Pair::open(2);
    pair.rule = Some(Box::new(|passing| match passing.dst.to_string().starts_with("10.0.1.") {
        true => Fate::Drop,
        false => Fate::Pass,
    }));
    pair.send(Client, message(0, 4000));
    let start = pair.now;
    pair.interface(Client, 0, AddressRemoved(address(Client, 0)));
    pair.pass(Duration::from_millis(400));
    assert_eq!(pair.host(Server).lens(), [4000], "before T3-rtx expires: {start}");
}

#[test]
fn last_address_can_be_replaced_by_another_one() {
    let mut pair = Pair::open(1);
    pair.interface(Client, 0, AddressRemoved(address(Client, 0)));
    one_way(&mut pair, 5);
    pair.pass(Duration::from_secs(3));
    pair.interface(Client, 0, AddressAdded(NEW));
    pair.pass(Duration::from_secs(30));
    let asconf = pair.sent(Client).find(|passing| passing.has(is_asconf)).expect("ASCONF");
    assert_eq!(asconf.src, NEW, "there is no other address");
    let requests = &asconfs(&pair)[0].requests;
    assert!(matches!(requests[..], [Parameter::AddAddress(_), Parameter::DeleteAddress(_)]));
    assert_eq!((pair.host(Client).received.len(), pair.host(Server).received.len()), (5, 5));
}

#[test]
fn lost_acknowledgement_is_repeated_from_memory() {
    let mut pair = Pair::open(2);
    let mut count = 0;
    pair.rule = Some(Box::new(move |passing| {
        let is_ack = passing.has(|chunk| matches!(chunk, Chunk::AsconfAck(_)));
        count += u32::from(is_ack);
        if is_ack && count <= 2 { Fate::Drop } else { Fate::Pass }
    }));
    pair.interface(Client, 1, AddressAdded(NEW));
    pair.pass(Duration::from_secs(20));
    let sent = asconfs(&pair);
    assert_eq!(sent.len(), 3, "{}", pair.describe());
    assert!(sent.iter().all(|asconf| *asconf == sent[0]), "unchanged");
    assert_eq!(acks(&pair).len(), 3);
    assert_eq!(pair.info(Server).paths.len(), 3, "added once");
    let paths = pair.sent(Client).filter(|passing| passing.has(is_asconf));
    let mut destinations: Vec<IpAddr> = paths.map(|passing| passing.dst).collect();
    destinations.dedup();
    assert!(destinations.len() > 1, "repeated on another path");
}

/// Regression: without any path no timer ran, and an association with data never ended.
#[test]
fn association_without_a_path_ends_if_data_wait() {
    let failed = SocketEventKind::Failed(SocketError::TimedOut);
    // Before the address is removed, and when it is.
    for is_before in [false, true] {
        let mut pair = Pair::open(1);
        if is_before {
            pair.rule = Some(Box::new(|_| Fate::Drop));
            pair.send(Client, message(0, 1000));
        }
        pair.interface(Client, 0, AddressRemoved(address(Client, 0)));
        if !is_before {
            pair.pass(Duration::from_secs(1000));
            assert!(!pair.host(Client).has(failed), "nothing waits");
            pair.send(Client, message(0, 1000));
        }
        pair.pass(Duration::from_secs(360));
        assert!(!pair.host(Client).has(failed));
        pair.pass(Duration::from_secs(4));
        assert!(pair.host(Client).has(failed), "after 1, 2, 4 ... 60 s");
    }
}

/// Regression: acknowledgements of data restored the error counter and the RTO, so that an ASCONF
/// without an answer was repeated every second for ever.
#[test]
fn asconf_that_is_never_answered_is_repeated_every_minute_while_data_arrive() {
    let mut pair = Pair::open(1);
    pair.rule =
        Some(Box::new(|passing| if passing.has(is_asconf) { Fate::Drop } else { Fate::Pass }));
    pair.interface(Client, 0, AddressAdded(NEW));
    for _ in 0..200 {
        pair.send(Client, message(0, 10));
        pair.pass(Duration::from_secs(5));
    }
    assert_eq!(pair.host(Server).received.len(), 200, "the association goes on");
    let sent = pair.sent(Client).filter(|passing| passing.has(is_asconf));
    let at: Vec<u64> = sent.map(|passing| passing.at.as_millis() / 1000).collect();
    let waited: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(waited.windows(2).all(|pair| pair[1] >= (2 * pair[0]).min(60)), "{waited:?}");
    assert!((15..25).contains(&at.len()), "{at:?}");
}

#[test]
fn backup_moves_the_primary_of_both_sides() {
    let mut pair = Pair::open(2);
    let socket = pair.socket(Client);
    pair.stack(Client).set_backup(socket, address(Client, 0), true).expect("an association");
    pair.settle();
    pair.pass(Duration::from_secs(1));
    let requests = &asconfs(&pair)[0].requests;
    let wanted = address(Client, 1);
    assert!(matches!(requests[..], [Parameter::SetPrimary(request)] if request.address == wanted));
    let from = pair.log.len();
    one_way(&mut pair, 10);
    pair.pass(Duration::from_secs(1));
    let first = |passing: &Passing| passing.dst.to_string().starts_with("10.0.1.");
    assert_eq!(data(&pair, from, first), 0);
    pair.stack(Client).set_backup(socket, address(Client, 0), false).expect("an association");
    pair.settle();
    pair.pass(Duration::from_secs(1));
    let from = pair.log.len();
    one_way(&mut pair, 10);
    pair.pass(Duration::from_secs(1));
    assert_eq!(data(&pair, from, |passing| !first(passing)), 0);
}

#[test]
fn interface_that_is_down_needs_no_asconf() {
    let mut pair = Pair::open(2);
    pair.interface(Client, 0, InterfaceEvent::Down);
    pair.send(Client, message(0, 3000));
    pair.pass(Duration::from_millis(500));
    assert_eq!(pair.host(Server).lens(), [3000], "on the other path at once");
    assert_eq!(asconfs(&pair), []);
}

#[test]
fn peer_without_asconf_is_not_asked() {
    let plain = SctpConfig { features: Features::NR_SACK, ..config() };
    let mut pair = Pair::new([2, 2], [config(), plain]);
    pair.pass(Duration::from_secs(2));
    pair.interface(Client, 1, AddressAdded(NEW));
    pair.interface(Client, 0, AddressRemoved(address(Client, 0)));
    one_way(&mut pair, 5);
    pair.pass(Duration::from_secs(5));
    assert_eq!(asconfs(&pair), []);
    assert_eq!(pair.host(Server).received.len(), 5, "by the other address");
}

#[test]
fn peer_that_does_not_know_asconf_after_all_is_not_asked_again() {
    let mut pair = Pair::open(1);
    pair.rule =
        Some(Box::new(|passing| if passing.has(is_asconf) { Fate::Drop } else { Fate::Pass }));
    pair.interface(Client, 0, AddressAdded(NEW));
    let cause = Cause::UnrecognizedChunk(vec![0xC1, 0, 0, 4].into());
    pair.forge(Client, vec![Chunk::Error(vec![cause])]);
    pair.pass(Duration::from_secs(20));
    assert_eq!(asconfs(&pair).len(), 1, "no repetition");
    pair.send(Client, message(0, 10));
    pair.pass(Duration::from_secs(1));
    assert_eq!(pair.host(Server).lens(), [10]);
}

/// Regression: each address took a number for good, and after 127 moves the association was dead.
#[test]
fn host_may_move_from_address_to_address_any_number_of_times() {
    for reverse in [false, true] {
        let mut pair = Pair::open(1);
        let (mover, other) = if reverse { (Server, Client) } else { (Client, Server) };
        let mut old = address(mover, 0);
        for count in 1..=300u16 {
            let [high, low] = count.to_be_bytes();
            let new = IpAddr::from([10, 1, high, low]);
            pair.interface(mover, 0, AddressAdded(new));
            pair.pass(Duration::from_secs(1));
            pair.interface(mover, 0, AddressRemoved(old));
            old = new;
            one_way(&mut pair, 1);
            pair.pass(Duration::from_secs(1));
            let received = [mover, other].map(|side| pair.host(side).received.len());
            assert_eq!(received, [usize::from(count); 2], "{}", pair.describe());
        }
    }
}

#[test]
fn unauthenticated_asconf_changes_nothing_and_is_not_answered() {
    let mut pair = Pair::open(2);
    let first_tsn = pair.first_tsn().0;
    let request = AddressRequest { correlation: 0, address: [10, 0, 66, 6].into() };
    let asconf = Asconf {
        serial: first_tsn,
        address: address(Client, 0),
        requests: vec![Parameter::AddAddress(request)],
    };
    let before = pair.log.len();
    pair.forge(Server, vec![Chunk::Asconf(Box::new(asconf.clone()))]);
    let unsigned = Chunk::Auth(Auth::unsigned(0, AuthHmac::Sha256));
    pair.forge(Server, vec![unsigned, Chunk::Asconf(Box::new(asconf))]);
    pair.pass(Duration::from_millis(200));
    assert_eq!(pair.log.len(), before, "{}", pair.describe());
    assert_eq!(pair.info(Server).paths.len(), 2);
}

/// Passes ASCONFs of the client to the server in one packet, authenticated.
fn forge_asconfs(pair: &mut Pair, asconfs: impl IntoIterator<Item = Asconf>) {
    let parameters = |side| {
        let mut all = pair.chunks(side);
        let found = all.find_map(|(_, chunk)| match chunk {
            Chunk::Init(init) | Chunk::InitAck(init) => Some(init.parameters.clone()),
            _ => None,
        });
        KeyVector::of(&found.expect("INIT or INIT ACK"))
    };
    let key = AuthKey::new(&[], &parameters(Client), &parameters(Server));
    let mut chunks = vec![Chunk::Auth(Auth::unsigned(0, AuthHmac::Sha256))];
    chunks.extend(asconfs.into_iter().map(|asconf| Chunk::Asconf(Box::new(asconf))));
    let mut packet = pair.forged(Server, chunks);
    packet.sign(&key);
    assert!(packet.wire_len() <= 65_507, "a datagram takes it");
    pair.inject(Server, address(Client, 0), address(Server, 0), packet);
}

#[test]
fn asconf_full_of_requests_that_fail_is_answered_within_a_packet() {
    let mut pair = Pair::open(1);
    let add = |correlation| AddressRequest { correlation, address: [127, 0, 0, 1].into() };
    let asconf = Asconf {
        serial: pair.first_tsn().0,
        address: address(Client, 0),
        requests: (0..3900).map(|at| Parameter::AddAddress(add(at))).collect(),
    };
    forge_asconfs(&mut pair, [asconf]);
    let responses = &acks(&pair)[0].responses;
    assert!(!responses.is_empty(), "{}", pair.describe());
    let is_error = |one: &Parameter| matches!(one, Parameter::ErrorIndication { .. });
    assert!(responses.iter().all(is_error));
}

/// Regression: of several ASCONFs in a packet only the last one was answered when they came again.
#[test]
fn asconfs_of_one_packet_that_come_again_are_all_answered_again() {
    let mut pair = Pair::open(1);
    let first = pair.first_tsn().0;
    let asconf = |at: u32| Asconf {
        serial: first.wrapping_add(at),
        address: address(Client, 0),
        requests: vec![Parameter::AddAddress(AddressRequest {
            correlation: at,
            address: [10, 0, 9, at as u8 + 1].into(),
        })],
    };
    for count in 1..=2 {
        forge_asconfs(&mut pair, [asconf(0), asconf(1)]);
        let serials: Vec<u32> = acks(&pair).iter().map(|ack| ack.serial).collect();
        assert_eq!(serials, [first, first.wrapping_add(1)].repeat(count));
    }
}

/// Regression: a request of a type that is not known had succeeded, as nothing was said of it.
#[test]
fn request_of_unknown_type_is_reported_if_its_type_wants_that() {
    let unknown = |kind| Parameter::Unknown { kind, value: vec![0, 0, 0, 7, 1, 2].into() };
    let new = AddressRequest { correlation: 8, address: NEW };
    let answers = |kind| {
        let mut pair = Pair::open(1);
        let (serial, address) = (pair.first_tsn().0, address(Client, 0));
        let requests = vec![unknown(kind), Parameter::AddAddress(new)];
        forge_asconfs(&mut pair, [Asconf { serial, address, requests }]);
        let is_added = pair.info(Server).paths.len() == 2;
        (acks(&pair)[0].responses.clone(), is_added)
    };
    let error = |kind| {
        let mut copy = Vec::new();
        unknown(kind).emit(&mut copy);
        let causes = vec![Cause::UnrecognizedParameters(copy.into())];
        Parameter::ErrorIndication { correlation: 7, causes }
    };
    let success = Parameter::Success { correlation: 8 };
    assert_eq!(answers(0xC0F0), (vec![error(0xC0F0), success], true));
    assert_eq!(answers(0x80F0), (vec![], true));
    assert_eq!(answers(0x40F0), (vec![error(0x40F0)], false), "what follows is not processed");
    assert_eq!(answers(0x00F0), (vec![], false));
}

#[test]
fn asconf_without_auth_in_the_offer_is_refused() {
    let features = Features(Features::ASCONF.0 | Features::NR_SACK.0);
    let bad = SctpConfig { features, addresses: Addresses::One, ..config() };
    let mut pair = Pair::new([1, 1], [bad.clone(), config()]);
    pair.pass(Duration::from_secs(1));
    assert!(pair.chunks(Server).any(|(_, chunk)| matches!(chunk, Chunk::Abort { .. })));
    let mut pair = Pair::new([1, 1], [config(), bad]);
    pair.pass(Duration::from_secs(1));
    assert!(matches!(pair.host(Client).events[..], [SocketEventKind::Failed(_)]));
}

#[test]
fn host_that_moves_at_random_loses_nothing() {
    for seed in 0..40u64 {
        let mut pair = Pair::open(3);
        let mut bits = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut gone = [false; 3];
        let mut sent = 0;
        for _ in 0..30 {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            let index = (bits % 3) as usize;
            if gone[index] {
                pair.interface(Client, index, AddressAdded(address(Client, index)));
                gone[index] = false;
            } else {
                pair.interface(Client, index, AddressRemoved(address(Client, index)));
                gone[index] = true;
            }
            pair.send(Client, message(0, 2000));
            pair.send(Server, message(1, 2000));
            sent += 1;
            pair.pass(Duration::from_millis(bits / 64 % 1500));
        }
        if gone == [true; 3] {
            pair.interface(Client, 0, AddressAdded(address(Client, 0)));
        }
        pair.pass(Duration::from_secs(100));
        for side in [Client, Server] {
            let got = pair.host(side).received.len();
            assert_eq!(got, sent, "{side:?} of seed {seed}: {}", pair.describe());
        }
    }
}
