//! Any packet a host could send: `Packet::roundtrip` is the identity.

#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use std::net::IpAddr;
use wire::tcp::OpaqueOption;
use wire::{
    Body, Flags, Icmp, Layer, Packet, ParseError, Payload, SackBlocks, SeqNumber, TcpOptions,
    TcpSegment, Timestamps, UdpDatagram,
};

fuzz_target!(|input: Input| {
    let Input(packet) = input;
    let answer = packet.roundtrip();
    if packet.corrupted {
        let layer = match packet.body {
            Body::Tcp(_) => Layer::Tcp,
            Body::Udp(_) => Layer::Udp,
            Body::Icmp(_) => Layer::Icmp,
        };
        assert_eq!(answer, Err(ParseError::Checksum(layer)));
    } else {
        assert_eq!(answer, Ok(packet));
    }
});

#[derive(Debug)]
struct Input(Packet);

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let (src, dst): (IpAddr, IpAddr) = if u.arbitrary()? {
            (u.arbitrary::<[u8; 4]>()?.into(), u.arbitrary::<[u8; 4]>()?.into())
        } else {
            (u.arbitrary::<[u8; 16]>()?.into(), u.arbitrary::<[u8; 16]>()?.into())
        };
        let body = match u.int_in_range(0..=3)? {
            0 | 1 => Body::Tcp(segment(u)?),
            2 => Body::Udp(UdpDatagram {
                src_port: u.arbitrary()?,
                dst_port: u.arbitrary()?,
                payload: payload(u)?,
            }),
            _ => Body::Icmp(icmp(u)?),
        };
        let mut packet = Packet::new(src, dst, body);
        packet.hop_limit = u.arbitrary()?;
        packet.ecn = u.int_in_range(0..=3)?;
        packet.flow = u.arbitrary()?;
        packet.corrupted = u.arbitrary()?;
        Ok(Input(packet))
    }
}

fn segment(u: &mut Unstructured<'_>) -> Result<TcpSegment> {
    Ok(TcpSegment {
        src_port: u.arbitrary()?,
        dst_port: u.arbitrary()?,
        seq: SeqNumber(u.arbitrary()?),
        ack: SeqNumber(u.arbitrary()?),
        flags: Flags(u.arbitrary()?),
        window: u.arbitrary()?,
        options: options(u)?,
        payload: payload(u)?,
    })
}

/// Options that fit a header.
fn options(u: &mut Unstructured<'_>) -> Result<TcpOptions> {
    let mut sack = SackBlocks::NONE;
    for _ in 0..u.int_in_range(0..=4)? {
        sack.push(SeqNumber(u.arbitrary()?), SeqNumber(u.arbitrary()?));
    }
    let timestamps: Option<(u32, u32)> = u.arbitrary()?;
    let mut options = TcpOptions {
        mss: u.arbitrary()?,
        window_scale: u.arbitrary()?,
        sack_permitted: u.arbitrary()?,
        timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
        sack,
        mptcp: None,
    };
    if u.arbitrary()? {
        let len = u.int_in_range(0..=38)?;
        options.mptcp = Some(Box::new(OpaqueOption { content: u.bytes(len)?.to_vec() }));
    }
    if options.padded_len() > 40 {
        options.mptcp = None;
    }
    if options.padded_len() > 40 {
        options.sack = SackBlocks::NONE;
    }
    Ok(options)
}

fn payload(u: &mut Unstructured<'_>) -> Result<Payload> {
    let mut payload = Payload::Empty;
    for _ in 0..u.int_in_range(0..=3)? {
        payload.append(if u.arbitrary()? {
            Payload::virtual_range(u.arbitrary()?, u.arbitrary()?, u.int_in_range(0..=9000)?)
        } else {
            u.arbitrary::<Vec<u8>>()?.into()
        });
    }
    // Room for the longest headers in the longest datagram.
    Ok(payload.slice(0, payload.len().min(65_400)))
}

fn icmp(u: &mut Unstructured<'_>) -> Result<Icmp> {
    Ok(if u.arbitrary()? {
        Icmp::Echo {
            reply: u.arbitrary()?,
            identifier: u.arbitrary()?,
            sequence: u.arbitrary()?,
            data: u.arbitrary::<[u8; 32]>()?.to_vec().into(),
        }
    } else {
        Icmp::Unreachable {
            code: u.arbitrary()?,
            next_hop_mtu: u.arbitrary()?,
            original: u.arbitrary::<[u8; 28]>()?.to_vec().into(),
        }
    })
}
