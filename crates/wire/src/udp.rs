//! `UdpDatagram`: a UDP datagram as a value (RFC 768), and its bytes.
//!
//! The checksum, which covers the addresses, is left to `ip`.

use crate::Payload;
use crate::error::{Layer, ParseError, at_least, be16};
use bytes::Bytes;

/// Bytes of the header.
const HEADER: usize = 8;
/// Offset of the checksum.
const CHECKSUM: usize = 6;

/// A UDP datagram.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UdpDatagram {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Data octets, at most `MOST_BYTES` over IPv4.
    pub payload: Payload,
}

impl UdpDatagram {
    /// Bytes of the header.
    pub const HEADER_BYTES: u32 = HEADER as u32;
    /// Most octets of the payload over IPv4.
    pub const MOST_BYTES: u32 = 65_507;

    /// Header and payload, in bytes.
    pub fn wire_len(&self) -> u32 {
        HEADER as u32 + self.payload.len()
    }

    /// Append the datagram with a checksum of 0. Returns the offset of the checksum.
    pub(crate) fn emit(&self, out: &mut Vec<u8>) -> usize {
        let checksum = self.emit_header(out);
        self.payload.write_to(out);
        checksum
    }

    /// Append the header with a checksum of 0. Returns the offset of the checksum.
    pub(crate) fn emit_header(&self, out: &mut Vec<u8>) -> usize {
        out.extend_from_slice(&self.src_port.to_be_bytes());
        out.extend_from_slice(&self.dst_port.to_be_bytes());
        out.extend_from_slice(&(self.wire_len() as u16).to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        CHECKSUM
    }

    /// The part of `unit` that is the datagram, by its length field, header included.
    pub(crate) fn trim(unit: &[u8]) -> Result<&[u8], ParseError> {
        at_least(unit, HEADER, Layer::Udp)?;
        Ok(&unit[..UdpDatagram::length(unit, unit.len())?])
    }

    /// Length of the datagram that begins with `header`, header included; `have` bytes are there.
    pub(crate) fn length(header: &[u8], have: usize) -> Result<usize, ParseError> {
        let need = usize::from(be16(header, 4));
        if need < HEADER {
            return Err(ParseError::Length { layer: Layer::Udp, len: need });
        }
        if have < need {
            return Err(ParseError::Truncated { layer: Layer::Udp, need, have });
        }
        Ok(need)
    }

    /// The datagram that `trim` returned.
    pub(crate) fn parse(unit: &[u8]) -> UdpDatagram {
        UdpDatagram {
            src_port: be16(unit, 0),
            dst_port: be16(unit, 2),
            payload: Bytes::copy_from_slice(&unit[HEADER..]).into(),
        }
    }
}
