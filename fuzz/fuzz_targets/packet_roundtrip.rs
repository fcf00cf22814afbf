//! Any packet a host could send: `Packet::roundtrip` is the identity.

#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use std::net::IpAddr;
use wire::mptcp::{
    AddAddr, Capable, CapableFlags, CapableForm, DataNumber, GroupSyn, Join, Key, Mapping,
    ResetReason, Token,
};
use wire::{
    Body, Dss, Flags, Icmp, Layer, MptcpOption, MptcpOptions, Packet, ParseError, Payload,
    SackBlocks, SeqNumber, TcpOptions, TcpSegment, Timestamps, UdpDatagram,
};

fuzz_target!(|input: Input| {
    let Input(packet) = input;
    let answer = packet.roundtrip();
    if packet.corrupted {
        let layer = match packet.body {
            Body::Tcp(_) => Layer::Tcp,
            Body::Udp(_) => Layer::Udp,
            Body::Icmp(_) | Body::Opaque(_) => Layer::Icmp,
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
        mptcp: MptcpOptions::default(),
    };
    if options.padded_len() > 40 {
        options.sack = SackBlocks::NONE;
    }
    for _ in 0..u.int_in_range(0..=3)? {
        let before = options.mptcp.clone();
        options.mptcp.push(mptcp_option(u)?);
        if options.padded_len() > 40 {
            options.mptcp = before;
        }
    }
    Ok(options)
}

fn mptcp_option(u: &mut Unstructured<'_>) -> Result<MptcpOption> {
    Ok(match u.int_in_range(0..=10)? {
        0 => MptcpOption::Capable(capable(u)?),
        1 => MptcpOption::Join(join(u)?),
        2 => MptcpOption::AddAddr(add_addr(u)?),
        3 => {
            let len = u.int_in_range(1..=37)?;
            MptcpOption::RemoveAddr { ids: u.bytes(len)?.to_vec() }
        }
        4 => MptcpOption::Prio { backup: u.arbitrary()? },
        5 => MptcpOption::Fail { dsn: u.arbitrary()? },
        6 => MptcpOption::FastClose { receiver: Key(u.arbitrary()?) },
        7 => {
            let reason = ResetReason(u.arbitrary()?);
            MptcpOption::TcpRst { transient: u.arbitrary()?, reason }
        }
        8 => MptcpOption::Group(GroupSyn {
            backup: u.arbitrary()?,
            address_id: u.arbitrary()?,
            number: u.arbitrary()?,
        }),
        _ => MptcpOption::Dss(dss(u)?),
    })
}

fn capable(u: &mut Unstructured<'_>) -> Result<Capable> {
    let version = u.int_in_range(0..=15)?;
    if version < 4 && version != 1 {
        return Ok(Capable::Unsupported { version });
    }
    let flags = CapableFlags(u.arbitrary()?);
    let (sender, receiver) = (Key(u.arbitrary()?), Key(u.arbitrary()?));
    let form = match u.int_in_range(0..=3)? {
        0 => CapableForm::Syn,
        1 => CapableForm::SynAck { sender },
        2 => CapableForm::Ack { sender, receiver },
        _ => {
            let (len, checksum) = (u.arbitrary()?, u.arbitrary()?);
            CapableForm::Data { sender, receiver, len, checksum }
        }
    };
    Ok(Capable::V1 { flags, form })
}

fn join(u: &mut Unstructured<'_>) -> Result<Join> {
    let (backup, address_id, nonce) = (u.arbitrary()?, u.arbitrary()?, u.arbitrary()?);
    Ok(match u.int_in_range(0..=2)? {
        0 => Join::Syn { backup, address_id, token: Token(u.arbitrary()?), nonce },
        1 => Join::SynAck { backup, address_id, hmac: u.arbitrary()?, nonce },
        _ => Join::Ack { hmac: u.arbitrary()? },
    })
}

fn add_addr(u: &mut Unstructured<'_>) -> Result<AddAddr> {
    let address: IpAddr = match u.arbitrary()? {
        true => u.arbitrary::<[u8; 4]>()?.into(),
        false => u.arbitrary::<[u8; 16]>()?.into(),
    };
    Ok(AddAddr { address_id: u.arbitrary()?, address, port: u.arbitrary()?, hmac: u.arbitrary()? })
}

fn dss(u: &mut Unstructured<'_>) -> Result<Dss> {
    let mut dss = Dss::EMPTY;
    if u.arbitrary()? {
        dss = dss.with_ack(data_number(u)?);
    }
    if u.arbitrary()? {
        let dsn = data_number(u)?;
        let (subflow_seq, len, checksum) = (u.arbitrary()?, u.arbitrary()?, u.arbitrary()?);
        dss = dss.with_mapping(Mapping { dsn, subflow_seq, len, checksum });
    }
    Ok(if u.arbitrary()? { dss.with_fin() } else { dss })
}

fn data_number(u: &mut Unstructured<'_>) -> Result<DataNumber> {
    Ok(match u.arbitrary()? {
        true => DataNumber::Long(u.arbitrary()?),
        false => DataNumber::Short(u.arbitrary()?),
    })
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
