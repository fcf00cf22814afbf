//! What the pair is made for: set-up, messages, verification of addresses, and the end.

use crate::pair::{Client, DELAY, Fate, Pair, Server, address, config, message};
use base::Duration;
use transport::SocketEventKind;
use transport::sctp::SctpConfig;
use transport::sctp::streams::Message;
use wire::sctp::{Chunk, DataFlags, UdpPorts};

#[test]
fn messages_arrive_whole_and_in_order_and_both_sides_end() {
    let mut pair = Pair::open(2);
    for len in [1, 100, 3958, 20_000] {
        pair.send(Client, message(1, len));
        pair.send(Server, message(0, len));
    }
    pair.pass(Duration::from_secs(2));
    for side in [Client, Server] {
        assert_eq!(pair.host(side).lens(), [1, 100, 3958, 20_000]);
        let Message { payload, .. } = message(0, 3958);
        assert_eq!(pair.host(side).received[2].payload.to_bytes(), payload.to_bytes());
    }
    pair.shutdown(Client);
    pair.run_until("end", Duration::from_secs(2), |pair| {
        pair.hosts.iter().all(|host| host.has(SocketEventKind::Closed))
    });
}

#[test]
fn further_addresses_carry_data_only_after_a_heartbeat_was_answered() {
    let mut pair = Pair::open(2);
    let second = address(Server, 1);
    let is_ack = |chunk: &Chunk| matches!(chunk, Chunk::HeartbeatAck(_));
    let answered = pair.sent(Server).find(|passing| passing.src == second && passing.has(is_ack));
    let answered = answered.expect("a verified address").at + DELAY;
    // The primary dies: data go to the second address.
    let primary = address(Server, 0);
    pair.rule =
        Some(Box::new(move |passing| if passing.dst == primary { Fate::Drop } else { Fate::Pass }));
    pair.send(Client, message(0, 5000));
    pair.pass(Duration::from_secs(5));
    assert_eq!(pair.host(Server).lens(), [5000]);
    let mut data = pair.sent(Client).filter(|passing| passing.dst == second && passing.has_data());
    assert!(data.next().expect("data on the second path").at >= answered);
}

#[test]
fn lost_handshake_packets_are_sent_again_after_1_s() {
    for lost in 0..4 {
        let config = crate::pair::config();
        let mut pair = Pair::new([1, 1], [config.clone(), config]);
        let mut count = 0;
        pair.rule = Some(Box::new(move |_| {
            count += 1;
            if count == lost + 1 { Fate::Drop } else { Fate::Pass }
        }));
        pair.run_until("establishment", Duration::from_secs(2), |pair| {
            pair.hosts.iter().all(|host| host.is_open())
        });
    }
}

#[test]
fn server_that_learns_udp_from_its_client_sends_packets_with_room_for_it() {
    let udp = Some(UdpPorts { src: 9899, dst: 9900 });
    let client = SctpConfig { udp, ..crate::pair::config() };
    let mut pair = Pair::new([1, 1], [client, crate::pair::config()]);
    pair.run_until("establishment", Duration::from_secs(2), |pair| {
        pair.hosts.iter().all(|host| host.is_open())
    });
    // The pair refuses packets larger than the MTU.
    pair.send(Server, message(0, 20_000));
    pair.pass(Duration::from_secs(2));
    assert_eq!(pair.host(Client).lens(), [20_000]);
    let ports = pair.sent(Server).map(|passing| passing.packet.udp);
    assert!(ports.min_by_key(Option::is_some).flatten().is_some(), "all of them in UDP");
}

#[test]
fn writer_of_a_message_larger_than_the_room_is_not_woken_before_it_fits() {
    let config = SctpConfig { send_buffer: 20_000, ..crate::pair::config() };
    let mut pair = Pair::open_with(1, config);
    let socket = pair.socket(Client);
    // Both are larger than a chunk: one that is free is not enough.
    for (len, taken) in [(12_000, true), (10_000, false)] {
        assert_eq!(pair.stack(Client).send_message(socket, message(0, len)), Ok(taken));
    }
    pair.settle();
    assert!(!pair.host(Client).has(SocketEventKind::Writable), "8,000 bytes are free");
    pair.pass(Duration::from_secs(1));
    assert!(pair.host(Client).has(SocketEventKind::Writable));
    assert_eq!(pair.stack(Client).send_message(socket, message(0, 10_000)), Ok(true));
}

#[test]
fn chunk_that_fills_the_window_alone_asks_for_a_sack() {
    let asks = |chunk: &Chunk| match chunk {
        Chunk::Data(data) => data.flags.contains(DataFlags::IMMEDIATE),
        _ => false,
    };
    let mut pair = Pair::open(1);
    pair.send(Client, message(0, 100_000));
    pair.pass(Duration::from_millis(200));
    assert!(!pair.sent(Client).any(|packet| packet.has(asks)), "two packets get a SACK anyway");
    // Everything is lost until T3-rtx expires: then the window is one packet.
    let mut left = 3;
    pair.rule = Some(Box::new(move |passing| match passing.has_data() && left > 0 {
        true => {
            left -= 1;
            Fate::Drop
        }
        false => Fate::Pass,
    }));
    let lost_from = pair.now;
    pair.send(Client, message(0, 4000));
    pair.pass(Duration::from_secs(3));
    assert_eq!(pair.host(Server).lens(), [100_000, 4000]);
    let mut again = pair.sent(Client).filter(|packet| packet.at > lost_from && packet.has_data());
    assert!(again.next().expect("a retransmission").has(asks));
}

#[test]
fn message_that_takes_more_than_the_receive_buffer_arrives_by_probes() {
    let server = SctpConfig { receive_buffer: 6000, ..config() };
    let mut pair = Pair::new([1, 1], [config(), server]);
    pair.run_until("establishment", Duration::from_secs(2), |pair| {
        pair.hosts.iter().all(|host| host.is_open())
    });
    pair.send(Client, message(0, 10_000));
    pair.pass(Duration::from_secs(60));
    pair.send(Client, message(0, 500));
    pair.pass(Duration::from_secs(60));
    assert_eq!(pair.host(Server).lens(), [10_000, 500], "{}", pair.describe());
}
