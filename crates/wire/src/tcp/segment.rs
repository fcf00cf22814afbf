//! `TcpSegment`: one TCP segment as a value (RFC 9293 s3.1).
//!
//! Its bytes are left to the codec, its meaning to `transport`.

use super::options::TcpOptions;
use crate::{Payload, SeqNumber};
use std::ops::BitOr;

/// A TCP segment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TcpSegment {
    pub src_port: u16,
    pub dst_port: u16,
    pub seq: SeqNumber,
    /// Valid only with `Flags::ACK`.
    pub ack: SeqNumber,
    pub flags: Flags,
    /// As on the wire, not scaled.
    pub window: u16,
    pub options: TcpOptions,
    pub payload: Payload,
}

impl TcpSegment {
    /// Header with options and payload, in bytes.
    #[inline]
    pub fn wire_len(&self) -> u32 {
        20 + self.options.padded_len() + self.payload.len()
    }

    /// Sequence space taken: payload plus one each for SYN and FIN.
    #[inline]
    pub fn sequence_len(&self) -> u32 {
        self.payload.len()
            + u32::from(self.flags.contains(Flags::SYN))
            + u32::from(self.flags.contains(Flags::FIN))
    }
}

/// The control bits of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u8);

impl Flags {
    pub const NONE: Flags = Flags(0);
    pub const FIN: Flags = Flags(1);
    pub const SYN: Flags = Flags(1 << 1);
    pub const RST: Flags = Flags(1 << 2);
    pub const PSH: Flags = Flags(1 << 3);
    pub const ACK: Flags = Flags(1 << 4);
    pub const URG: Flags = Flags(1 << 5);
    pub const ECE: Flags = Flags(1 << 6);
    pub const CWR: Flags = Flags(1 << 7);

    /// Whether all bits of `other` are set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, rhs: Flags) -> Flags {
        Flags(self.0 | rhs.0)
    }
}
