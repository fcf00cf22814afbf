//! The options of a TCP segment as values (RFC 9293 s3.2, 2018, 7323, 8684).
//!
//! The contents of option 30 are in `mptcp`.

use crate::SeqNumber;
use crate::mptcp::{MptcpOption, MptcpOptions};
use crate::rarely::Rarely;

/// The options that the engine supports, in the order in which Linux sends them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TcpOptions {
    /// Maximum segment size in bytes, headers not counted (RFC 9293 s3.7.1); SYN only.
    pub mss: Option<u16>,
    /// Window scale shift in bits (RFC 7323 s2.2); SYN only.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 s2); SYN only.
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323 s3).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks (RFC 2018 s3); without blocks the option is absent.
    pub sack: SackBlocks,
    /// The options of kind 30 (RFC 8684 s3).
    pub mptcp: MptcpOptions,
}

/// The timestamps option (RFC 7323 s3.2). Packed, so that the options have no padding, which would
/// be 8 bytes of each packet of a full queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(Rust, packed)]
pub struct Timestamps {
    /// TSval: the sender's timestamp clock.
    pub value: u32,
    /// TSecr: a recent TSval of the peer; valid only with `Flags::ACK`.
    pub echo: u32,
}

/// Up to four SACK blocks `[start, end)`, the most recent first (RFC 2018 s4).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks(Rarely<Blocks>);

/// At least one block, the rest zero. Boxed, since most segments have none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Blocks {
    len: u8,
    blocks: [(SeqNumber, SeqNumber); 4],
}

/// Most bytes of options in a header (RFC 9293 s3.1).
pub(super) const MAX_OPTIONS: u32 = 40;

impl TcpOptions {
    /// Length of the options in a header, padded to a multiple of four, in the layout of Linux:
    /// `MSS, SACK-permitted + TS or NOP NOP TS, NOP WScale, NOP NOP SACK, MPTCP`. If that exceeds
    /// a header, there are no NOPs between options.
    #[inline(always)]
    pub fn padded_len(&self) -> u32 {
        match self.aligned_len() {
            len if len <= MAX_OPTIONS => len,
            _ => self.natural_len().next_multiple_of(4),
        }
    }

    /// Free bytes of the header; a multiple of four.
    #[inline]
    pub fn space_left(&self) -> u32 {
        MAX_OPTIONS.saturating_sub(self.aligned_len())
    }

    /// Whether one more option fits.
    #[inline]
    pub fn fits(&self, option: &MptcpOption) -> bool {
        option.padded_len() <= self.space_left()
    }

    /// Whether the NOPs that align each option to a multiple of four fit.
    pub(super) fn fits_aligned(&self) -> bool {
        self.aligned_len() <= MAX_OPTIONS
    }

    #[inline(always)]
    fn aligned_len(&self) -> u32 {
        let mut len = 0;
        if self.mss.is_some() {
            len += 4;
        }
        // SACK-permitted replaces the two NOPs before the timestamps.
        if self.timestamps.is_some() {
            len += 12;
        } else if self.sack_permitted {
            len += 4;
        }
        if self.window_scale.is_some() {
            len += 4;
        }
        if !self.sack.is_empty() {
            len += 4 + 8 * self.sack.len() as u32;
        }
        len + self.mptcp.padded_len()
    }

    #[cold]
    fn natural_len(&self) -> u32 {
        let sack = if self.sack.is_empty() { 0 } else { 2 + 8 * self.sack.len() as u32 };
        4 * u32::from(self.mss.is_some())
            + 2 * u32::from(self.sack_permitted)
            + 10 * u32::from(self.timestamps.is_some())
            + 3 * u32::from(self.window_scale.is_some())
            + sack
            + self.mptcp.natural_len()
    }
}

impl SackBlocks {
    /// No blocks.
    pub const NONE: SackBlocks = SackBlocks(Rarely::NONE);

    /// Append a block; a fifth is refused with `false`.
    pub fn push(&mut self, start: SeqNumber, end: SeqNumber) -> bool {
        let Blocks { len, blocks } = self.0.get_or_insert_default();
        let Some(slot) = blocks.get_mut(usize::from(*len)) else { return false };
        *slot = (start, end);
        *len += 1;
        true
    }

    /// The blocks in order.
    #[inline]
    pub fn as_slice(&self) -> &[(SeqNumber, SeqNumber)] {
        self.0.get().map_or(&[], |all| &all.blocks[..usize::from(all.len)])
    }

    /// Number of blocks.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.get().map_or(0, |all| usize::from(all.len))
    }

    /// Whether there is none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}
