//! Random packets of all kinds, for property tests.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::net::IpAddr;
use wire::tcp::OpaqueOption;
use wire::{
    Body, Flags, Icmp, Packet, Payload, SackBlocks, SeqNumber, TcpOptions, TcpSegment, Timestamps,
    UdpDatagram,
};

/// A packet of any kind that a host could send, not corrupted.
pub fn packet() -> impl Strategy<Value = Packet> {
    (addresses(), any::<u8>(), 0u8..4, any::<u32>(), body()).prop_map(
        |((src, dst), hop_limit, ecn, flow, body)| {
            let mut packet = Packet::new(src, dst, body);
            (packet.hop_limit, packet.ecn, packet.flow) = (hop_limit, ecn, flow);
            packet
        },
    )
}

fn addresses() -> impl Strategy<Value = (IpAddr, IpAddr)> {
    prop_oneof![
        any::<([u8; 4], [u8; 4])>().prop_map(|(src, dst)| (src.into(), dst.into())),
        any::<([u8; 16], [u8; 16])>().prop_map(|(src, dst)| (src.into(), dst.into())),
    ]
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        4 => segment().prop_map(Body::Tcp),
        2 => (any::<u16>(), any::<u16>(), payload()).prop_map(|(src_port, dst_port, payload)| {
            Body::Udp(UdpDatagram { src_port, dst_port, payload })
        }),
        1 => icmp().prop_map(Body::Icmp),
    ]
}

fn segment() -> impl Strategy<Value = TcpSegment> {
    (any::<(u16, u16, u32, u32, u8, u16)>(), options(), payload()).prop_map(
        |((src_port, dst_port, seq, ack, flags, window), options, payload)| TcpSegment {
            src_port,
            dst_port,
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            flags: Flags(flags),
            window,
            options,
            payload,
        },
    )
}

/// Any options that fit a header.
fn options() -> impl Strategy<Value = TcpOptions> {
    let timestamps = any::<(u32, u32)>().prop_map(|(value, echo)| Timestamps { value, echo });
    let sack = vec(any::<(u32, u32)>(), 0..=4).prop_map(|pairs| {
        let mut blocks = SackBlocks::NONE;
        for (start, end) in pairs {
            assert!(blocks.push(SeqNumber(start), SeqNumber(end)));
        }
        blocks
    });
    let mptcp = vec(any::<u8>(), 0..=38).prop_map(|content| Box::new(OpaqueOption { content }));
    (
        option::of(any::<u16>()),
        option::of(any::<u8>()),
        any::<bool>(),
        option::of(timestamps),
        sack,
        option::weighted(0.3, mptcp),
    )
        .prop_map(|(mss, window_scale, sack_permitted, timestamps, sack, mptcp)| {
            let mut options =
                TcpOptions { mss, window_scale, sack_permitted, timestamps, sack, mptcp };
            // What does not fit is left out, the bulkiest first.
            if options.padded_len() > 40 {
                options.mptcp = None;
            }
            if options.padded_len() > 40 {
                options.sack = SackBlocks::NONE;
            }
            options
        })
}

pub fn payload() -> impl Strategy<Value = Payload> {
    let piece = prop_oneof![
        (any::<u32>(), any::<u64>(), 0u32..1500)
            .prop_map(|(stream, offset, len)| Payload::virtual_range(stream, offset, len)),
        vec(any::<u8>(), 0..100).prop_map(Payload::from),
    ];
    vec(piece, 0..4).prop_map(|pieces| {
        let mut payload = Payload::Empty;
        pieces.into_iter().for_each(|piece| payload.append(piece));
        payload
    })
}

fn icmp() -> impl Strategy<Value = Icmp> {
    let content = || vec(any::<u8>(), 0..200).prop_map(Bytes::from);
    prop_oneof![
        (any::<(bool, u16, u16)>(), content()).prop_map(|((reply, identifier, sequence), data)| {
            Icmp::Echo { reply, identifier, sequence, data }
        }),
        (any::<(u8, u16)>(), content()).prop_map(|((code, next_hop_mtu), original)| {
            Icmp::Unreachable { code, next_hop_mtu, original }
        }),
    ]
}
