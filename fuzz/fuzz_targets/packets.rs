//! Any segment, any options, any payload: what several targets make packets of.

#![allow(dead_code, reason = "no target needs all of it")]

use arbitrary::{Result, Unstructured};
use std::net::IpAddr;
use wire::mptcp::{
    AddAddr, Capable, CapableFlags, CapableForm, DataNumber, GroupSyn, Join, Key, Mapping,
    ResetReason, Token,
};
use wire::{
    Dss, Flags, MptcpOption, MptcpOptions, Payload, SackBlocks, SeqNumber, TcpOptions, TcpSegment,
    Timestamps,
};

/// Any segment whose options fit a header.
pub fn segment(u: &mut Unstructured<'_>) -> Result<TcpSegment> {
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
pub fn options(u: &mut Unstructured<'_>) -> Result<TcpOptions> {
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

/// Any option of MPTCP.
pub fn mptcp_option(u: &mut Unstructured<'_>) -> Result<MptcpOption> {
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

/// Any payload, virtual ranges and bytes.
pub fn payload(u: &mut Unstructured<'_>) -> Result<Payload> {
    let mut payload = Payload::EMPTY;
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
