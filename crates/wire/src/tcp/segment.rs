//! `TcpSegment`: one TCP segment as a value (RFC 9293 s3.1).
//!
//! Its bytes are left to the codec, its meaning to `transport`.

use super::options::TcpOptions;
use crate::{Payload, SeqNumber};
use std::ops::BitOr;

/// A TCP segment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TcpSegment {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the SYN, or else of the first byte of the payload.
    pub seq: SeqNumber,
    /// Acknowledgement number: the next one expected. Valid only with `Flags::ACK`.
    pub ack: SeqNumber,
    /// The control bits.
    pub flags: Flags,
    /// Receive window as on the wire, before the scale of RFC 7323 is applied.
    pub window: u16,
    /// The options of the header.
    pub options: TcpOptions,
    /// The data.
    pub payload: Payload,
}

impl TcpSegment {
    /// Header with options and payload, in bytes.
    // Where a segment is made, most of the questions have known answers.
    #[inline(always)]
    pub fn wire_len(&self) -> u32 {
        20 + self.options.padded_len() + self.payload.len()
    }

    /// Sequence space taken: payload plus one each for SYN and FIN.
    #[inline]
    pub fn sequence_len(&self) -> u32 {
        self.payload.len() + self.flags.sequence_len()
    }
}

/// The control bits of a segment (RFC 9293 s3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// Sequence space taken: one each for SYN and FIN.
    #[inline]
    pub const fn sequence_len(self) -> u32 {
        self.contains(Flags::SYN) as u32 + self.contains(Flags::FIN) as u32
    }

    /// No bit.
    pub const NONE: Flags = Flags(0);
    /// No more data from the sender.
    pub const FIN: Flags = Flags(1);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(1 << 1);
    /// Reset the connection.
    pub const RST: Flags = Flags(1 << 2);
    /// Push the data to the application.
    pub const PSH: Flags = Flags(1 << 3);
    /// The acknowledgement number is valid.
    pub const ACK: Flags = Flags(1 << 4);
    /// Congestion window reduced (RFC 3168 s6.1).
    pub const CWR: Flags = Flags(1 << 7);

    /// Whether any flag of `other` is set.
    pub const fn intersects(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether all flags of `other` are set.
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
