//! The host besides TCP: UDP sockets, port unreachable, echo, errors about connections
//! (RFC 768, 792, 1122 s3.2.2).

use crate::bare::{Bare, HERE, PEER, modern};
use crate::pair::{Setup, Side};
use base::Context;
use bytes::Bytes;
use std::net::SocketAddr;
use transport::{ProtocolConfig, SocketError, SocketEventKind, TcpConfig};
use wire::{Body, Ends, Icmp, Packet, Payload, UdpDatagram};

fn datagram(dst_port: u16, payload: Payload) -> Packet {
    Packet::new(PEER, HERE, Body::Udp(UdpDatagram { src_port: 5000, dst_port, payload }))
}

#[test]
fn datagrams_go_there_and_back() {
    let mut pair = Setup::default().idle();
    let (from, to) = (pair.address(0, Side::Client), pair.address(0, Side::Server));
    let server = pair.with(Side::Server, |end, cx| end.stack.udp_bind(cx, 53).unwrap());
    let client = pair.with(Side::Client, |end, cx| {
        let socket = end.stack.udp_bind(cx, 0).unwrap();
        let remote = SocketAddr::new(to, 53);
        end.stack.udp_send(socket, from, remote, vec![1, 2, 3].into()).unwrap();
        socket
    });
    pair.drive();
    let answer = pair.with(Side::Server, |end, _| {
        let (sender, payload) = end.stack.udp_receive(server).unwrap();
        assert_eq!((sender.ip(), payload.to_bytes().as_ref()), (from, &[1u8, 2, 3][..]));
        assert!(end.stack.udp_receive(server).is_none());
        end.stack.udp_send(server, to, sender, vec![4].into())
    });
    assert_eq!(answer, Ok(()));
    pair.drive();
    let got = pair.with(Side::Client, |end, _| end.stack.udp_receive(client).unwrap());
    assert_eq!(got.0, SocketAddr::new(to, 53));
}

/// RFC 791 s3.2: what the MTU does not let through goes in fragments.
#[test]
fn long_datagram_goes_in_fragments_and_arrives_whole() {
    let mut pair = Setup::default().idle();
    let (from, to) = (pair.address(0, Side::Client), pair.address(0, Side::Server));
    let server = pair.with(Side::Server, |end, cx| end.stack.udp_bind(cx, 53).unwrap());
    let socket = pair.with(Side::Client, |end, cx| end.stack.udp_bind(cx, 0).unwrap());
    let send = |pair: &mut crate::pair::Pair, len| {
        let payload = Payload::virtual_range(4, 0, len);
        let remote = SocketAddr::new(to, 53);
        pair.with(Side::Client, |end, _| end.stack.udp_send(socket, from, remote, payload))
    };
    for len in [5000, 65_507] {
        assert_eq!(send(&mut pair, len), Ok(()));
        pair.drive();
        let (_, payload) = pair.with(Side::Server, |end, _| end.stack.udp_receive(server)).unwrap();
        assert_eq!(payload, Payload::virtual_range(4, 0, len));
    }
    assert_eq!(send(&mut pair, 65_508), Err(SocketError::MessageTooLong));
}

#[test]
fn lost_fragment_is_a_lost_datagram_and_no_connection_notices() {
    let mut bare = Bare::listening(TcpConfig::default());
    let mut cx = Context::quiet(bare.now, base::Chance::new(1, 0));
    let socket = bare.stack.udp_bind(&mut cx, 53).unwrap();
    let parts = |id| datagram(53, Payload::virtual_range(1, 0, 5000)).fragmented(1500, id);
    for (id, lost) in [(1, 0), (2, 1), (3, 2), (4, 3)] {
        for (number, part) in parts(id).into_iter().enumerate() {
            if number != lost {
                bare.send_packet(part);
            }
        }
    }
    assert!(bare.stack.udp_receive(socket).is_none());
    parts(5).into_iter().for_each(|part| bare.send_packet(part));
    assert!(bare.stack.udp_receive(socket).is_some());
    assert!(bare.drain_packets().is_empty());
}

#[test]
fn udp_port_is_taken_once_and_given_back() {
    let mut pair = Setup::default().idle();
    pair.with(Side::Client, |end, cx| {
        let socket = end.stack.udp_bind(cx, 53).unwrap();
        assert_eq!(end.stack.udp_bind(cx, 53), Err(SocketError::AddressInUse));
        end.stack.release(cx, socket);
        assert!(end.stack.udp_bind(cx, 53).is_ok());
    });
}

/// A listener answers the first that sends, a connected socket hears its peer only.
#[test]
fn datagrams_of_others_do_not_reach_a_socket_with_a_peer() {
    let mut pair = Setup::default().idle();
    let (from, to) = (pair.address(0, Side::Client), pair.address(0, Side::Server));
    let listener =
        pair.with(Side::Server, |end, _| end.stack.listen(53, ProtocolConfig::Udp).unwrap());
    let early = pair.with(Side::Server, |end, _| end.stack.udp_write(listener, vec![1].into()));
    assert_eq!(early, Err(SocketError::NotConnected));
    let remote = SocketAddr::new(to, 53);
    let open = |pair: &mut crate::pair::Pair| {
        pair.with(Side::Client, |end, cx| {
            let socket = end.stack.connect(cx, from, remote, &ProtocolConfig::Udp).unwrap();
            let event = end.stack.poll_event().unwrap();
            assert_eq!((event.socket, event.kind), (socket, SocketEventKind::Connected));
            end.stack.udp_write(socket, vec![7; 100].into()).unwrap();
            socket
        })
    };
    let first = open(&mut pair);
    pair.drive();
    open(&mut pair);
    pair.drive();
    let read = pair.with(Side::Server, |end, cx| {
        let read = std::iter::from_fn(|| end.stack.udp_read(cx, listener)).count();
        end.stack.udp_write(listener, vec![8; 200].into()).unwrap();
        read
    });
    assert_eq!(read, 1, "the second socket is another peer");
    pair.drive();
    pair.with(Side::Client, |end, cx| {
        assert_eq!(end.stack.udp_read(cx, first).map(|payload| payload.len()), Some(200));
        let info = end.stack.info(first).unwrap();
        assert_eq!((info.paths[0].first_sent_bytes, info.rcv_nxt), (100, 200));
        assert_eq!(info.paths[0].remote, remote);
    });
}

#[test]
fn udp_socket_holds_what_its_buffer_holds_and_no_more() {
    let mut bare = Bare::listening(TcpConfig::default());
    let mut cx = Context::quiet(bare.now, base::Chance::new(1, 0));
    let socket = bare.stack.udp_bind(&mut cx, 53).unwrap();
    (0..1000).for_each(|_| bare.send_packet(datagram(53, Payload::virtual_range(1, 0, 1000))));
    let held = std::iter::from_fn(|| bare.stack.udp_receive(socket)).count();
    assert_eq!(held, 212_992 / 1256);
    bare.drain();
    let readable = bare.events.iter().filter(|event| event.kind == SocketEventKind::Readable);
    assert_eq!(readable.count(), 1);
}

#[test]
fn datagram_to_a_closed_port_is_unreachable() {
    let mut bare = Bare::listening(TcpConfig::default());
    bare.send_packet(datagram(54, vec![1].into()));
    let answers = bare.drain_packets();
    let Body::Icmp(Icmp::Unreachable { code, original, .. }) = &answers[0].body else {
        panic!("{answers:?}")
    };
    assert_eq!((*code, answers[0].dst()), (3, PEER));
    assert_eq!(original[20..24], [19, 136, 0, 54], "the ports of what came");
}

#[test]
fn echo_is_answered_and_replies_are_not() {
    let mut bare = Bare::listening(TcpConfig::default());
    let echo = |reply| Icmp::Echo { reply, identifier: 7, sequence: 9, data: Bytes::from("abc") };
    bare.send_packet(Packet::new(PEER, HERE, Body::Icmp(echo(false))));
    let answers = bare.drain_packets();
    assert_eq!((answers.len(), &answers[0].body), (1, &Body::Icmp(echo(true))));
    bare.send_packet(Packet::new(PEER, HERE, Body::Icmp(echo(true))));
    assert!(bare.drain_packets().is_empty());
}

#[test]
fn packet_for_another_host_is_ignored() {
    let mut bare = Bare::listening(TcpConfig::default());
    let elsewhere = "10.9.9.9".parse().unwrap();
    let mut packet = datagram(54, vec![1].into());
    packet.ends = Ends::new(packet.src(), elsewhere);
    bare.send_packet(packet);
    assert!(bare.drain_packets().is_empty());
}

/// An error that quotes a packet of the stack.
fn unreachable(quoted: Packet) -> Packet {
    let mut original = Vec::new();
    quoted.emit(&mut original);
    original.truncate(28);
    let message = Icmp::Unreachable { code: 1, next_hop_mtu: 0, original: original.into() };
    Packet::new(PEER, HERE, Body::Icmp(message))
}

#[test]
fn unreachable_ends_a_connection_that_is_opening() {
    let (mut bare, syn) = Bare::syn_sent(TcpConfig::default());
    bare.send_packet(unreachable(Packet::new(HERE, PEER, Body::Tcp(syn))));
    bare.drain();
    let failed = SocketEventKind::Failed(SocketError::Unreachable);
    assert_eq!(bare.last_event(), Some(failed));
}

#[test]
fn unreachable_that_quotes_another_sequence_number_is_ignored() {
    for (off, ends) in [(0x4000_0000, false), (u32::MAX, false), (2, false), (0, true)] {
        let (mut bare, mut syn) = Bare::syn_sent(TcpConfig::default());
        syn.seq += off;
        bare.send_packet(unreachable(Packet::new(HERE, PEER, Body::Tcp(syn))));
        bare.drain();
        assert_eq!(bare.state() != "SYN-SENT", ends, "{off}");
    }
}

#[test]
fn fragmentation_needed_does_not_end_a_connection_that_is_opening() {
    for (code, mtu) in [(4, 1400), (4, 0)] {
        let (mut bare, syn) = Bare::syn_sent(TcpConfig::default());
        let mut packet = unreachable(Packet::new(HERE, PEER, Body::Tcp(syn)));
        let Body::Icmp(Icmp::Unreachable { code: field, next_hop_mtu, .. }) = &mut packet.body
        else {
            panic!("an unreachable message")
        };
        (*field, *next_hop_mtu) = (code, mtu);
        bare.send_packet(packet);
        bare.drain();
        assert_eq!(bare.state(), "SYN-SENT");
    }
}

#[test]
fn unreachable_does_not_end_a_connection_that_is_open() {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    let sent = bare.write(100).remove(0);
    bare.send_packet(unreachable(Packet::new(HERE, PEER, Body::Tcp(sent))));
    bare.drain();
    assert_eq!(bare.state(), "ESTABLISHED", "RFC 1122 s4.2.3.9: a soft error");
}

#[test]
fn unreachable_with_nonsense_inside_is_ignored() {
    let (mut bare, syn) = Bare::syn_sent(TcpConfig::default());
    let Body::Icmp(Icmp::Unreachable { original, .. }) =
        unreachable(Packet::new(HERE, PEER, Body::Tcp(syn))).body
    else {
        panic!("an unreachable message")
    };
    for len in 0..original.len() {
        for first in [0x45, 0x4F, 0x60, 0x00, 0xFF] {
            let mut quoted = original[..len].to_vec();
            quoted.iter_mut().take(1).for_each(|byte| *byte = first);
            if len >= 24 && first == 0x45 {
                continue;
            }
            let message = Icmp::Unreachable { code: 1, next_hop_mtu: 0, original: quoted.into() };
            bare.send_packet(Packet::new(PEER, HERE, Body::Icmp(message)));
        }
    }
    bare.drain();
    assert_eq!(bare.state(), "SYN-SENT");
}
