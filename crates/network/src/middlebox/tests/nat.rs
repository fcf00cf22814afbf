//! `Nat`: RFC 4787 and RFC 5382.

use super::*;
use wire::sctp::{Chunk, UdpPorts};
use wire::{Ends, Icmp, SctpPacket, UdpDatagram};

const IDLE: Duration = Duration::from_secs(100);

fn nat() -> Bench {
    Bench::new(&MiddleBoxConfig::Nat { outside: ip(100), idle: IDLE, rebind: None })
}

/// A segment from port `port` of the client to the server.
fn out(port: u16, segment: TcpSegment) -> Packet {
    let segment = TcpSegment { src_port: port, dst_port: 80, ..segment };
    Packet::new(ip(1), ip(2), Body::Tcp(segment))
}

/// The server's answer to `packet`.
fn answer(packet: &Packet, answer: TcpSegment) -> Packet {
    let asked = segment(packet);
    let answer = TcpSegment { src_port: asked.dst_port, dst_port: asked.src_port, ..answer };
    Packet::new(packet.dst(), packet.src(), Body::Tcp(answer))
}

#[test]
fn syn_from_inside_makes_a_mapping_that_answers_go_back_by() {
    let mut nat = nat();
    let outside = nat.through(Way::Outward, out(4000, syn(7)));
    assert_eq!((outside[0].src(), outside[0].dst()), (ip(100), ip(2)));
    assert_eq!(segment(&outside[0]).seq, SeqNumber(7));
    let inside = nat.through(Way::Inward, answer(&outside[0], ack(1, 8)));
    assert_eq!((inside[0].src(), inside[0].dst()), (ip(2), ip(1)));
    assert_eq!(segment(&inside[0]).dst_port, 4000);
    let again = nat.through(Way::Outward, out(4000, data(0, 10)));
    assert_eq!(segment(&again[0]).src_port, segment(&outside[0]).src_port, "the same mapping");
}

#[test]
fn flows_of_one_inside_port_have_ports_of_their_own() {
    let mut nat = nat();
    let first = nat.through(Way::Outward, out(4000, syn(7)));
    let mut other = out(4000, syn(7));
    other.ends = Ends::new(other.src(), ip(3));
    let second = nat.through(Way::Outward, other);
    assert_ne!(segment(&first[0]).src_port, segment(&second[0]).src_port);
    // Filtering: the port of the first flow is not open to the second one's server.
    let mut foreign = answer(&first[0], ack(1, 8));
    foreign.ends = Ends::new(ip(3), foreign.dst());
    assert_eq!(nat.through(Way::Inward, foreign), []);
}

#[test]
fn a_restart_gives_datagrams_another_port_and_ends_connections() {
    let rebind = Some(Instant::from_secs(10));
    let config = MiddleBoxConfig::Nat { outside: ip(100), idle: IDLE, rebind };
    let mut nat = Bench::new(&config);
    let datagram = || {
        let body = UdpDatagram { src_port: 4000, dst_port: 80, payload: Payload::EMPTY };
        Packet::new(ip(1), ip(2), Body::Udp(body))
    };
    let port = |packets: &[Packet]| {
        let Body::Udp(datagram) = &packets[0].body else { panic!("{packets:?}") };
        datagram.src_port
    };
    nat.through(Way::Outward, out(4000, syn(7)));
    let before = port(&nat.through(Way::Outward, datagram()));
    nat.now = Instant::from_secs(9);
    assert_eq!(port(&nat.through(Way::Outward, datagram())), before);
    nat.now = Instant::from_secs(10);
    assert_ne!(port(&nat.through(Way::Outward, datagram())), before);
    assert_eq!(nat.through(Way::Outward, out(4000, data(0, 10))), []);
    assert_eq!(nat.through(Way::Outward, out(4000, syn(9))).len(), 1, "it may begin again");
}

#[test]
fn nothing_comes_in_or_begins_in_the_middle_without_a_mapping() {
    let mut nat = nat();
    assert_eq!(nat.through(Way::Outward, out(4000, data(0, 10))), []);
    assert_eq!(nat.through(Way::Inward, packet(Way::Inward, syn(1))), []);
}

#[test]
fn mapping_lives_while_it_is_used_and_is_forgotten_when_idle() {
    let mut nat = nat();
    let outside = nat.through(Way::Outward, out(4000, syn(7)));
    for _ in 0..3 {
        nat.pass(IDLE - Duration::from_secs(1));
        assert_eq!(nat.through(Way::Inward, answer(&outside[0], ack(1, 8))).len(), 1);
    }
    nat.pass(IDLE);
    assert_eq!(nat.through(Way::Inward, answer(&outside[0], ack(1, 8))), []);
    assert_eq!(nat.through(Way::Outward, out(4000, data(0, 10))), [], "not a SYN");
    assert_eq!(nat.through(Way::Outward, out(4000, syn(9))).len(), 1);
}

#[test]
fn ports_run_out_and_are_used_again_when_idle() {
    let mut nat = nat();
    let mut taken = 0;
    for port in 0..=u16::MAX {
        let mut opened = Vec::new();
        let (mut cx, packet) = (nat.cx(), Box::new(out(port, syn(1))));
        nat.half(Way::Outward).handle(&mut cx, packet, &mut opened);
        taken += opened.len();
        if opened.is_empty() {
            break;
        }
    }
    assert_eq!(taken, 65_536 - 1024);
    nat.pass(IDLE);
    assert_eq!(nat.through(Way::Outward, out(1, syn(1))).len(), 1);
}

#[test]
fn datagrams_and_echoes_are_translated_both_ways() {
    let mut nat = nat();
    let datagram = UdpDatagram { src_port: 5000, dst_port: 53, payload: b"?".to_vec().into() };
    let outside = nat.through(Way::Outward, Packet::new(ip(1), ip(2), Body::Udp(datagram)));
    let Body::Udp(asked) = &outside[0].body else { panic!("{outside:?}") };
    let reply = UdpDatagram { src_port: 53, dst_port: asked.src_port, payload: Payload::EMPTY };
    let inside = nat.through(Way::Inward, Packet::new(ip(2), ip(100), Body::Udp(reply)));
    assert!(matches!(&inside[0].body, Body::Udp(reply) if reply.dst_port == 5000));

    let echo = |reply, identifier| {
        Body::Icmp(Icmp::Echo { reply, identifier, sequence: 3, data: Vec::new().into() })
    };
    let outside = nat.through(Way::Outward, Packet::new(ip(1), ip(2), echo(false, 77)));
    let Body::Icmp(Icmp::Echo { identifier, .. }) = outside[0].body else { panic!("an echo") };
    let inside = nat.through(Way::Inward, Packet::new(ip(2), ip(100), echo(true, identifier)));
    assert_eq!(inside, [Packet::new(ip(2), ip(1), echo(true, 77))]);
}

#[test]
fn sctp_is_translated_only_if_udp_carries_it() {
    let sctp = |udp| {
        let chunks = Chunk::CookieAck.into();
        let packet =
            SctpPacket { src_port: 5000, dst_port: 7, udp, chunks, ..SctpPacket::default() };
        Body::Sctp(packet)
    };
    let ports = |src, dst| Some(UdpPorts { src, dst });
    let mut nat = nat();
    assert!(nat.through(Way::Outward, Packet::new(ip(1), ip(2), sctp(None))).is_empty());
    let asked = Packet::new(ip(1), ip(2), sctp(ports(9899, 9900)));
    let outside = nat.through(Way::Outward, asked);
    let Body::Sctp(packet) = &outside[0].body else { panic!("{outside:?}") };
    let seen = packet.udp.unwrap();
    assert_eq!((outside[0].src(), packet.src_port, seen.dst), (ip(100), 5000, 9900));
    let answer = Packet::new(ip(2), ip(100), sctp(ports(9900, seen.src)));
    let inside = nat.through(Way::Inward, answer);
    assert_eq!(inside, [Packet::new(ip(2), ip(1), sctp(ports(9900, 9899)))]);
}
