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
    /// Data octets, at most 65,507 over IPv4.
    pub payload: Payload,
}

impl UdpDatagram {
    /// Header and payload, in bytes.
    pub fn wire_len(&self) -> u32 {
        HEADER as u32 + self.payload.len()
    }

    /// Append the datagram with a checksum of 0. Returns the offset of the checksum.
    pub(crate) fn emit(&self, out: &mut Vec<u8>) -> usize {
        out.extend_from_slice(&self.src_port.to_be_bytes());
        out.extend_from_slice(&self.dst_port.to_be_bytes());
        out.extend_from_slice(&(self.wire_len() as u16).to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        self.payload.write_to(out);
        CHECKSUM
    }

    /// The part of `unit` that is the datagram, by its length field, header included.
    pub(crate) fn trim(unit: &[u8]) -> Result<&[u8], ParseError> {
        at_least(unit, HEADER, Layer::Udp)?;
        let len = usize::from(be16(unit, 4));
        if len < HEADER {
            return Err(ParseError::Length { layer: Layer::Udp, len });
        }
        Ok(&at_least(unit, len, Layer::Udp)?[..len])
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
