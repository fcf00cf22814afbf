//! Random packets of all kinds, for property tests.

use crate::sctp;
use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::net::IpAddr;
use wire::mptcp::{
    AddAddr, Capable, CapableFlags, CapableForm, DataNumber, GroupSyn, Join, Key, Mapping,
    ResetReason, Token,
};
use wire::{
    Body, Dss, Flags, Icmp, MptcpOption, MptcpOptions, Packet, Payload, SackBlocks, SeqNumber,
    TcpOptions, TcpSegment, Timestamps, UdpDatagram,
};

/// A packet of any kind that a host could send, not corrupted.
pub(crate) fn packet() -> impl Strategy<Value = Packet> {
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
        1 => sctp::properties::packet().prop_map(Body::Sctp),
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
pub(crate) fn options() -> impl Strategy<Value = TcpOptions> {
    let timestamps = any::<(u32, u32)>().prop_map(|(value, echo)| Timestamps { value, echo });
    let sack = vec(any::<(u32, u32)>(), 0..=4).prop_map(|pairs| {
        let mut blocks = SackBlocks::NONE;
        for (start, end) in pairs {
            assert!(blocks.push(SeqNumber(start), SeqNumber(end)));
        }
        blocks
    });
    let mptcp = vec(mptcp_option(), 0..4);
    (
        option::of(any::<u16>()),
        option::of(any::<u8>()),
        any::<bool>(),
        option::of(timestamps),
        sack,
        mptcp,
    )
        .prop_map(|(mss, window_scale, sack_permitted, timestamps, sack, mptcp)| {
            let none = MptcpOptions::default();
            let mut options =
                TcpOptions { mss, window_scale, sack_permitted, timestamps, sack, mptcp: none };
            // What does not fit is left out.
            if options.padded_len() > 40 {
                options.sack = SackBlocks::NONE;
            }
            for option in mptcp {
                let before = options.mptcp.clone();
                options.mptcp.push(option);
                if options.padded_len() > 40 {
                    options.mptcp = before;
                }
            }
            options
        })
}

/// An option of any subtype in any of its lengths.
pub(crate) fn mptcp_option() -> impl Strategy<Value = MptcpOption> {
    prop_oneof![
        2 => capable().prop_map(MptcpOption::Capable),
        2 => join().prop_map(MptcpOption::Join),
        4 => dss().prop_map(MptcpOption::Dss),
        2 => add_addr().prop_map(MptcpOption::AddAddr),
        1 => vec(any::<u8>(), 1..9).prop_map(|ids| MptcpOption::RemoveAddr { ids }),
        1 => any::<bool>().prop_map(|backup| MptcpOption::Prio { backup }),
        1 => any::<u64>().prop_map(|dsn| MptcpOption::Fail { dsn }),
        1 => any::<u64>().prop_map(|key| MptcpOption::FastClose { receiver: Key(key) }),
        1 => any::<(bool, u8)>().prop_map(|(transient, reason)| {
            MptcpOption::TcpRst { transient, reason: ResetReason(reason) }
        }),
        1 => any::<(bool, u8, u64)>().prop_map(|(backup, address_id, number)| {
            MptcpOption::Group(GroupSyn { backup, address_id, number })
        }),
    ]
}

fn capable() -> impl Strategy<Value = Capable> {
    let key = || any::<u64>().prop_map(Key);
    let form = prop_oneof![
        Just(CapableForm::Syn),
        key().prop_map(|sender| CapableForm::SynAck { sender }),
        (key(), key()).prop_map(|(sender, receiver)| CapableForm::Ack { sender, receiver }),
        (key(), key(), any::<u16>(), any::<Option<u16>>()).prop_map(
            |(sender, receiver, len, checksum)| CapableForm::Data {
                sender,
                receiver,
                len,
                checksum
            }
        ),
    ];
    let v1 = (any::<u8>(), form)
        .prop_map(|(flags, form)| Capable::V1 { flags: CapableFlags(flags), form });
    let other =
        (0u8..15).prop_map(|n| Capable::Unsupported { version: if n == 1 { 15 } else { n } });
    prop_oneof![9 => v1, 1 => other]
}

fn join() -> impl Strategy<Value = Join> {
    prop_oneof![
        any::<(bool, u8, u32, u32)>().prop_map(|(backup, address_id, token, nonce)| {
            Join::Syn { backup, address_id, token: Token(token), nonce }
        }),
        any::<(bool, u8, [u8; 8], u32)>().prop_map(|(backup, address_id, hmac, nonce)| {
            Join::SynAck { backup, address_id, hmac, nonce }
        }),
        any::<[u8; 20]>().prop_map(|hmac| Join::Ack { hmac }),
    ]
}

fn data_number() -> impl Strategy<Value = DataNumber> {
    prop_oneof![any::<u32>().prop_map(DataNumber::Short), any::<u64>().prop_map(DataNumber::Long),]
}

fn dss() -> impl Strategy<Value = Dss> {
    let mapping = (data_number(), any::<(u32, u16, Option<u16>)>()).prop_map(
        |(dsn, (subflow_seq, len, checksum))| Mapping { dsn, subflow_seq, len, checksum },
    );
    (option::of(data_number()), option::of(mapping), any::<bool>()).prop_map(
        |(ack, mapping, fin)| {
            let dss = ack.map_or(Dss::EMPTY, |ack| Dss::EMPTY.with_ack(ack));
            let dss = mapping.map_or(dss, |mapping| dss.with_mapping(mapping));
            if fin { dss.with_fin() } else { dss }
        },
    )
}

fn add_addr() -> impl Strategy<Value = AddAddr> {
    let address = prop_oneof![
        any::<[u8; 4]>().prop_map(IpAddr::from),
        any::<[u8; 16]>().prop_map(IpAddr::from),
    ];
    (any::<u8>(), address, any::<(Option<u16>, Option<[u8; 8]>)>())
        .prop_map(|(address_id, address, (port, hmac))| AddAddr { address_id, address, port, hmac })
}

pub(crate) fn payload() -> impl Strategy<Value = Payload> {
    let piece = prop_oneof![
        (any::<u32>(), any::<u64>(), 0u32..1500)
            .prop_map(|(stream, offset, len)| Payload::virtual_range(stream, offset, len)),
        vec(any::<u8>(), 0..100).prop_map(Payload::from),
    ];
    vec(piece, 0..4).prop_map(|pieces| {
        let mut payload = Payload::EMPTY;
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
