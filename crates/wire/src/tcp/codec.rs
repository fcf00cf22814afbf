//! TCP segments and their options as bytes (RFC 9293 s3.1 and s3.2).
//!
//! Options have the layout of Linux. Unknown options are skipped, malformed ones are refused. The
//! urgent pointer and the bits beyond the eight flags are not part of the value of a segment: they
//! are emitted as 0 and ignored. The checksum, which covers the addresses, is left to `ip`.

use super::options::{MAX_OPTIONS, SackBlocks, TcpOptions, Timestamps};
use super::segment::{Flags, TcpSegment};
use crate::SeqNumber;
use crate::error::{Layer, ParseError, at_least, be16, be32};
use bytes::Bytes;

/// Bytes of the header without options.
const HEADER: usize = 20;
/// Offset of the checksum.
const CHECKSUM: usize = 16;

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const MPTCP: u8 = 30;

impl TcpSegment {
    /// Append the segment with a checksum of 0. Returns the offset of the checksum.
    pub(crate) fn emit(&self, out: &mut Vec<u8>) -> usize {
        let options_len = self.options.padded_len();
        assert!(options_len <= MAX_OPTIONS, "TCP options of {options_len} bytes");
        let data_offset = (HEADER as u32 + options_len) / 4;
        out.extend_from_slice(&self.src_port.to_be_bytes());
        out.extend_from_slice(&self.dst_port.to_be_bytes());
        out.extend_from_slice(&self.seq.0.to_be_bytes());
        out.extend_from_slice(&self.ack.0.to_be_bytes());
        out.extend_from_slice(&[(data_offset as u8) << 4, self.flags.0]);
        out.extend_from_slice(&self.window.to_be_bytes());
        out.extend_from_slice(&[0, 0, 0, 0]);
        let end = out.len() + options_len as usize;
        self.options.emit(out);
        out.resize(end, NOP);
        self.payload.write_to(out);
        CHECKSUM
    }

    /// Parse a segment of at least 20 bytes.
    pub(crate) fn parse(unit: &[u8]) -> Result<TcpSegment, ParseError> {
        let header_len = usize::from(unit[12] >> 4) * 4;
        if header_len < HEADER {
            return Err(ParseError::Length { layer: Layer::Tcp, len: header_len });
        }
        let (header, payload) = at_least(unit, header_len, Layer::Tcp)?.split_at(header_len);
        Ok(TcpSegment {
            src_port: be16(header, 0),
            dst_port: be16(header, 2),
            seq: SeqNumber(be32(header, 4)),
            ack: SeqNumber(be32(header, 8)),
            flags: Flags(header[13]),
            window: be16(header, 14),
            options: TcpOptions::parse(&header[HEADER..])?,
            payload: Bytes::copy_from_slice(payload).into(),
        })
    }
}

impl TcpOptions {
    /// Append the options, without the padding at their end.
    fn emit(&self, out: &mut Vec<u8>) {
        let (start, aligned) = (out.len(), self.fits_aligned());
        let align = |out: &mut Vec<u8>, nops: usize| {
            if aligned {
                out.extend_from_slice(&[NOP; 3][..nops]);
            }
        };
        if let Some(mss) = self.mss {
            out.extend_from_slice(&[MSS, 4]);
            out.extend_from_slice(&mss.to_be_bytes());
        }
        if self.sack_permitted {
            align(out, if self.timestamps.is_some() { 0 } else { 2 });
            out.extend_from_slice(&[SACK_PERMITTED, 2]);
        }
        if let Some(timestamps) = self.timestamps {
            align(out, if self.sack_permitted { 0 } else { 2 });
            out.extend_from_slice(&[TIMESTAMPS, 10]);
            out.extend_from_slice(&timestamps.value.to_be_bytes());
            out.extend_from_slice(&timestamps.echo.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            align(out, 1);
            out.extend_from_slice(&[WINDOW_SCALE, 3, shift]);
        }
        if !self.sack.is_empty() {
            align(out, 2);
            out.extend_from_slice(&[SACK, 2 + 8 * self.sack.len() as u8]);
            for (start, end) in self.sack.as_slice() {
                out.extend_from_slice(&start.0.to_be_bytes());
                out.extend_from_slice(&end.0.to_be_bytes());
            }
        }
        self.mptcp.emit(out, |out| {
            let len = out.len() - start;
            align(out, len.next_multiple_of(4) - len);
        });
    }

    /// Parse the options that follow the first 20 bytes of a header.
    fn parse(mut bytes: &[u8]) -> Result<TcpOptions, ParseError> {
        let mut options = TcpOptions::default();
        while let [kind, rest @ ..] = bytes {
            match *kind {
                END => break,
                NOP => bytes = rest,
                kind => {
                    let len = rest.first().copied().unwrap_or(0);
                    let malformed = ParseError::TcpOption { kind, len };
                    let content = bytes.get(2..len.into()).ok_or(malformed)?;
                    options.set(kind, content).ok_or(malformed)?;
                    bytes = &bytes[len.into()..];
                }
            }
        }
        Ok(options)
    }

    /// Parse one option; `None` if its length is invalid for its kind.
    fn set(&mut self, kind: u8, content: &[u8]) -> Option<()> {
        match (kind, content) {
            (MSS, [high, low]) => self.mss = Some(u16::from_be_bytes([*high, *low])),
            (WINDOW_SCALE, [shift]) => self.window_scale = Some(*shift),
            (SACK_PERMITTED, []) => self.sack_permitted = true,
            (TIMESTAMPS, content) if content.len() == 8 => {
                let (value, echo) = (be32(content, 0), be32(content, 4));
                self.timestamps = Some(Timestamps { value, echo });
            }
            (SACK, content) => self.sack = sack_blocks(content)?,
            (MPTCP, content) => self.mptcp.parse(content),
            (MSS | WINDOW_SCALE | SACK_PERMITTED | TIMESTAMPS, _) => return None,
            _ => {}
        }
        Some(())
    }
}

/// One to four blocks (RFC 2018 s3).
fn sack_blocks(content: &[u8]) -> Option<SackBlocks> {
    let mut blocks = SackBlocks::NONE;
    let pairs = content.chunks_exact(8);
    if content.is_empty() || !pairs.remainder().is_empty() {
        return None;
    }
    for pair in pairs {
        let block = (SeqNumber(be32(pair, 0)), SeqNumber(be32(pair, 4)));
        blocks.push(block.0, block.1).then_some(())?;
    }
    Some(blocks)
}
