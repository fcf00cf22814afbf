//! ICMP messages about packets of an association (RFC 9260 s10).

use crate::pair::{Client, Fate, Pair, Passing, Server, address, config, message};
use base::Duration;
use transport::sctp::SctpConfig;
use transport::{SocketError, SocketEventKind};
use wire::sctp::VerificationTag;

const PROTOCOL: u8 = 2;
const PORT: u8 = 3;
const TOO_LARGE: u8 = 4;

/// The last data packet of the client.
fn sent(pair: &mut Pair) -> Passing {
    pair.send(Client, message(0, 100));
    pair.sent(Client).filter(|passing| passing.has_data()).last().expect("data").clone()
}

fn has_failed(pair: &Pair) -> bool {
    pair.host(Client).events.iter().any(|event| matches!(event, SocketEventKind::Failed(_)))
}

#[test]
fn protocol_unreachable_ends_the_association_if_the_quoted_tag_is_right() {
    let mut pair = Pair::open(1);
    let packet = sent(&mut pair);
    let mut forged = packet.clone();
    forged.packet.tag = VerificationTag(packet.packet.tag.0 ^ 1);
    pair.unreachable(Client, &forged, PROTOCOL, 0);
    pair.unreachable(Client, &packet, PORT, 0);
    assert!(!has_failed(&pair), "neither a guess nor a port");
    pair.unreachable(Client, &packet, PROTOCOL, 0);
    assert!(has_failed(&pair));
}

#[test]
fn init_is_quoted_with_its_initiate_tag() {
    let mut pair = Pair::new([1, 1], [config(), config()]);
    pair.rule = Some(Box::new(|_| Fate::Drop));
    pair.settle();
    let init = pair.sent(Client).next().expect("an INIT").clone();
    let mut forged = init.clone();
    if let Some(wire::sctp::Chunk::Init(init)) = forged.packet.chunks.first_mut() {
        init.tag = VerificationTag(init.tag.0 ^ 1);
    }
    pair.unreachable(Client, &forged, PROTOCOL, 0);
    assert!(!has_failed(&pair));
    pair.unreachable(Client, &init, PROTOCOL, 0);
    assert!(has_failed(&pair));
}

#[test]
fn fragmentation_needed_ends_no_association_that_is_opening() {
    let mut pair = Pair::new([1, 1], [config(), config()]);
    pair.rule = Some(Box::new(|_| Fate::Drop));
    pair.settle();
    let init = pair.sent(Client).next().expect("an INIT").clone();
    for mtu in [1400, 0] {
        pair.unreachable(Client, &init, TOO_LARGE, mtu);
        assert!(!has_failed(&pair), "an MTU of {mtu}");
    }
}

/// Regression: a router that knew no way to one address of the peer ended the attempt.
#[test]
fn association_that_is_opening_tries_the_next_address_if_there_is_no_way_to_one() {
    const NET: u8 = 0;
    const HOST: u8 = 1;
    let servers = [0, 1].map(|index| address(Server, index));
    for is_second_silent in [false, true] {
        let client = SctpConfig { peer_addresses: servers.to_vec(), ..config() };
        let mut pair = Pair::new([2, 2], [client, config()]);
        pair.rule = Some(Box::new(move |passing| {
            let is_dead = passing.dst == servers[0] || is_second_silent;
            if is_dead { Fate::Drop } else { Fate::Pass }
        }));
        pair.settle();
        let init = pair.sent(Client).next().expect("an INIT").clone();
        pair.unreachable(Client, &init, HOST, 0);
        pair.unreachable(Client, &init, NET, 0);
        assert!(!has_failed(&pair));
        let tried: Vec<_> = pair.sent(Client).map(|passing| passing.dst).collect();
        assert_eq!(tried, servers, "at once, and once");
        if is_second_silent {
            let second = pair.sent(Client).last().expect("an INIT").clone();
            pair.unreachable(Client, &second, HOST, 0);
            let failed = SocketEventKind::Failed(SocketError::Unreachable);
            assert!(pair.host(Client).has(failed), "all were tried");
        } else {
            pair.pass(Duration::from_millis(100));
            assert!(pair.hosts.iter().all(|host| host.is_open()), "{}", pair.describe());
        }
    }
}

#[test]
fn packets_are_smaller_after_fragmentation_was_needed() {
    let mut pair = Pair::open(1);
    let packet = sent(&mut pair);
    let mut forged = packet.clone();
    forged.packet.tag = VerificationTag(1);
    pair.unreachable(Client, &forged, TOO_LARGE, 600);
    pair.send(Client, message(0, 1400));
    let longest = |pair: &Pair, from: usize| {
        let lens = pair.log[from..].iter().map(|passing| passing.packet.wire_len());
        lens.max().unwrap_or(0)
    };
    assert!(longest(&pair, 0) > 1400, "the guess has no effect");
    pair.pass(Duration::from_secs(1));
    pair.unreachable(Client, &packet, TOO_LARGE, 600);
    let from = pair.log.len();
    pair.send(Client, message(0, 4000));
    pair.pass(Duration::from_secs(1));
    assert!(longest(&pair, from) <= 580, "{}", longest(&pair, from));
    assert_eq!(pair.host(Server).lens(), [100, 1400, 4000]);
    pair.unreachable(Client, &packet, TOO_LARGE, 68);
    let from = pair.log.len();
    pair.send(Client, message(0, 4000));
    assert!(longest(&pair, from) > 500, "not below 576 bytes");
}

/// Regression: windows went on growing by the PMDCS of the first MTU.
#[test]
fn window_of_a_path_with_a_smaller_mtu_grows_and_restarts_by_its_own_chunks() {
    let mut pair = Pair::open(1);
    let packet = sent(&mut pair);
    pair.pass(Duration::from_secs(1));
    pair.unreachable(Client, &packet, TOO_LARGE, 580);
    let (room, from) = (580 - 20 - 12, pair.cwnds(Client).len());
    for _ in 0..3 {
        pair.send(Client, message(0, 40_000));
        pair.pass(Duration::from_secs(1));
    }
    let cwnds = pair.cwnds(Client)[from..].to_vec();
    let steps = cwnds.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    assert_eq!(steps.max(), Some(room), "L = 1: {cwnds:?}");
    pair.rule = Some(Box::new(|_| Fate::Drop));
    pair.send(Client, message(0, 100));
    pair.pass(Duration::from_secs(2));
    assert_eq!(pair.cwnds(Client).last(), Some(&room), "after T3-rtx");
}
