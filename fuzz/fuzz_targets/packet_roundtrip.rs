//! Any packet a host could send: `Packet::roundtrip` is the identity.

#![no_main]

mod packets;

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use packets::{payload, segment};
use std::net::IpAddr;
use wire::{Body, Icmp, Layer, Packet, ParseError, UdpDatagram};

fuzz_target!(|input: Input| {
    let Input(packet) = input;
    let answer = packet.roundtrip();
    if packet.corrupted {
        let layer = match packet.body {
            Body::Tcp(_) => Layer::Tcp,
            Body::Udp(_) => Layer::Udp,
            Body::Sctp(_) => Layer::Sctp,
            Body::Icmp(_) | Body::Fragment(_) | Body::Opaque(_) => Layer::Icmp,
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
