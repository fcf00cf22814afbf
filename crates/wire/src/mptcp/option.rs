//! `MptcpOption`: one option of kind 30, any of the nine subtypes (RFC 8684 s8.2) or ours.
//!
//! The rarely used subtypes are defined here, the others in modules of their own.

use super::{AddAddr, Capable, Dss, GroupSyn, Join, Key};
use crate::fields::Fields;

/// An MPTCP option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MptcpOption {
    /// `MP_CAPABLE`.
    Capable(Capable),
    /// `MP_JOIN`.
    Join(Join),
    /// `DSS`.
    Dss(Dss),
    /// `ADD_ADDR`.
    AddAddr(AddAddr),
    /// `REMOVE_ADDR`: addresses are withdrawn (RFC 8684 s3.4.2).
    RemoveAddr {
        /// Their address IDs; at least one.
        ids: Vec<u8>,
    },
    /// `MP_PRIO`: changes the priority of this subflow (RFC 8684 s3.3.8).
    Prio {
        /// Use it as a backup, or else as a regular one.
        backup: bool,
    },
    /// `MP_FAIL`: a mapping has a wrong checksum (RFC 8684 s3.7).
    Fail {
        /// Data sequence number of the first byte of the mapping.
        dsn: u64,
    },
    /// `MP_FASTCLOSE`: the connection ends at once (RFC 8684 s3.5).
    FastClose {
        /// Key of the receiver, the proof of authenticity.
        receiver: Key,
    },
    /// `MP_TCPRST`: why this subflow is reset (RFC 8684 s3.6).
    TcpRst {
        /// The condition is transient: the subflow may be opened again.
        transient: bool,
        /// The reason code.
        reason: ResetReason,
    },
    /// For private use: the group of a SYN.
    Group(GroupSyn),
}

/// Why a subflow is reset (RFC 8684 s3.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ResetReason(pub u8);

impl ResetReason {
    /// No reason given.
    pub const UNSPECIFIED: ResetReason = ResetReason(0);
    /// An error in the processing of MPTCP options.
    pub const MPTCP_ERROR: ResetReason = ResetReason(1);
    /// The policy of the host forbids the subflow.
    pub const ADMINISTRATIVELY_PROHIBITED: ResetReason = ResetReason(3);
    /// A middlebox changes or removes MPTCP signals or payload.
    pub const MIDDLEBOX_INTERFERENCE: ResetReason = ResetReason(6);
}

/// Option 30.
const KIND: u8 = 30;
/// The one flag of `MP_PRIO` and of `MP_TCPRST`.
const BACKUP: u8 = 1;
const TRANSIENT: u8 = 1;

impl MptcpOption {
    /// Length of the option without padding.
    pub const fn wire_len(&self) -> u32 {
        match self {
            MptcpOption::Capable(capable) => capable.wire_len(),
            MptcpOption::Join(join) => join.wire_len(),
            MptcpOption::Dss(dss) => dss.wire_len(),
            MptcpOption::AddAddr(add) => add.wire_len(),
            MptcpOption::RemoveAddr { ids } => 3 + ids.len() as u32,
            MptcpOption::Prio { .. } => 3,
            MptcpOption::Fail { .. } | MptcpOption::FastClose { .. } => 12,
            MptcpOption::TcpRst { .. } => 4,
            MptcpOption::Group(_) => GroupSyn::WIRE_LEN,
        }
    }

    /// Length of the option with NOPs to a multiple of four.
    pub const fn padded_len(&self) -> u32 {
        self.wire_len().next_multiple_of(4)
    }

    /// Append the option, padding excluded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[KIND, self.wire_len() as u8]);
        match self {
            MptcpOption::Capable(capable) => capable.emit(out),
            MptcpOption::Join(join) => join.emit(out),
            MptcpOption::Dss(dss) => dss.emit(out),
            MptcpOption::AddAddr(add) => add.emit(out),
            MptcpOption::RemoveAddr { ids } => {
                out.push(0x40);
                out.extend_from_slice(ids);
            }
            MptcpOption::Prio { backup } => out.push(0x50 | if *backup { BACKUP } else { 0 }),
            MptcpOption::Fail { dsn } => {
                out.extend_from_slice(&[0x60, 0]);
                out.extend_from_slice(&dsn.to_be_bytes());
            }
            MptcpOption::FastClose { receiver } => {
                out.extend_from_slice(&[0x70, 0]);
                out.extend_from_slice(&receiver.0.to_be_bytes());
            }
            MptcpOption::TcpRst { transient, reason } => {
                let flags = if *transient { TRANSIENT } else { 0 };
                out.extend_from_slice(&[0x80 | flags, reason.0]);
            }
            MptcpOption::Group(group) => group.emit(out),
        }
    }

    /// The option whose bytes after kind and length are `content`; `None` if it must be ignored
    /// because its subtype or its length is unknown. Reserved bits are ignored.
    pub fn parse(content: &[u8]) -> Option<MptcpOption> {
        let (first, rest) = content.split_first()?;
        let flags = first & 0x0F;
        Some(match first >> 4 {
            0 => MptcpOption::Capable(Capable::parse(flags, rest)?),
            1 => MptcpOption::Join(Join::parse(flags, rest)?),
            2 => MptcpOption::Dss(Dss::parse(rest)?),
            3 => MptcpOption::AddAddr(AddAddr::parse(flags, rest)?),
            4 if !rest.is_empty() => MptcpOption::RemoveAddr { ids: rest.to_vec() },
            5 if rest.is_empty() => MptcpOption::Prio { backup: flags & BACKUP != 0 },
            6 => MptcpOption::Fail { dsn: reserved_then_u64(rest)? },
            7 => MptcpOption::FastClose { receiver: Key(reserved_then_u64(rest)?) },
            8 => {
                let [reason] = rest.try_into().ok()?;
                let transient = flags & TRANSIENT != 0;
                MptcpOption::TcpRst { transient, reason: ResetReason(reason) }
            }
            15 if flags == 0 => MptcpOption::Group(GroupSyn::parse(rest)?),
            _ => return None,
        })
    }
}

/// The number in a single byte of reserved bits and a number.
fn reserved_then_u64(bytes: &[u8]) -> Option<u64> {
    let mut fields = Fields(bytes);
    fields.u8()?;
    let number = fields.u64()?;
    fields.is_empty().then_some(number)
}
