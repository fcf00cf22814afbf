//! `SctpPacket`: an SCTP packet as a value (RFC 9260 s3), and its bytes.
//!
//! A packet that stays a value has no checksum; whether it was damaged is a mark of the datagram
//! around it. Bytes get the CRC32c of RFC 9260 appendix A.

use super::chunk::{self, Chunk};
use super::chunks::Chunks;
use super::crc;
use super::init::InitFault;
use crate::error::{Layer, ParseError, at_least, be16, be32};

/// Verification tag: proves that the sender knows the association (RFC 9260 s8.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct VerificationTag(pub u32);

/// A packet: the common header and chunks (RFC 9260 s3).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SctpPacket {
    /// Source port, not 0.
    pub src_port: u16,
    /// Destination port, not 0.
    pub dst_port: u16,
    /// Verification tag of the receiver; 0 in a packet with an INIT.
    pub tag: VerificationTag,
    /// UDP ports around the packet, of which IP then carries a UDP datagram (RFC 6951).
    pub udp: Option<UdpPorts>,
    /// Chunks, at least one.
    pub chunks: Chunks,
}

/// Ports of the UDP datagram that carries an SCTP packet (RFC 6951 s5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UdpPorts {
    /// Source port.
    pub src: u16,
    /// Destination port.
    pub dst: u16,
}

/// Why a packet is discarded silently whatever association it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discard {
    /// An INIT with other chunks (RFC 9260 s4.3 and s6.10).
    BundledInit,
    /// An INIT whose packet has a verification tag other than 0 (RFC 9260 s8.5.1).
    InitWithTag,
    /// An INIT whose Initiate Tag is 0 (RFC 9260 s3.3.2).
    ZeroInitiateTag,
}

/// The shortest packet: the common header and a chunk without value.
const MIN_LEN: usize = crc::HEADER + chunk::HEADER;

impl SctpPacket {
    /// Bytes of the common header.
    pub const HEADER: u32 = crc::HEADER as u32;

    /// Common header and chunks with their padding, in bytes; UDP not included.
    #[inline]
    pub fn wire_len(&self) -> u32 {
        match self.chunks.only() {
            // Nearly all packets.
            Some(only) => Self::HEADER + only.padded_len(),
            None => Self::HEADER + len_of_several(&self.chunks),
        }
    }

    /// Bytes of user data.
    #[inline]
    pub fn payload_len(&self) -> u32 {
        match self.chunks.only() {
            Some(only) => only.payload().map_or(0, crate::Payload::len),
            None => payload_of_several(&self.chunks),
        }
    }

    /// Appends the packet with its CRC32c, without UDP.
    ///
    /// # Panics
    /// If a chunk or one of its parameters is longer than a length field can express.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.emit_header(out);
        self.chunks.iter().for_each(|chunk| chunk.emit(out));
        crc::fill_checksum(&mut out[start..]);
    }

    fn emit_header(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.src_port.to_be_bytes());
        out.extend_from_slice(&self.dst_port.to_be_bytes());
        out.extend_from_slice(&self.tag.0.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
    }

    /// The packet in `bytes`, its checksum verified. A chunk that is cut short is dropped with
    /// what follows it; what precedes it stays (RFC 9260 s6.10).
    pub fn parse(bytes: &[u8]) -> Result<SctpPacket, ParseError> {
        at_least(bytes, MIN_LEN, Layer::Sctp)?;
        crc::verify_checksum(bytes)?;
        SctpPacket::parse_unverified(bytes)
    }

    /// The packet in `bytes`, which were captured on a host, and whether its checksum is right or
    /// was left to the hardware.
    pub fn parse_captured(bytes: &[u8]) -> Result<(SctpPacket, bool), ParseError> {
        at_least(bytes, MIN_LEN, Layer::Sctp)?;
        let intact = match crc::verify_checksum(bytes) {
            Ok(()) => true,
            Err(ParseError::Checksum(_)) => crc::is_unfilled(bytes),
            Err(other) => return Err(other),
        };
        Ok((SctpPacket::parse_unverified(bytes)?, intact))
    }

    /// Several packets in `bytes`, of one length but the last one, which may be shorter: so a host
    /// captures what it passes to its card, or gets from it, as one datagram (UDP_SEGMENT and
    /// UDP_GRO). `None` unless all checksums are right.
    pub fn parse_joined(bytes: &[u8]) -> Option<Vec<SctpPacket>> {
        let len = crc::first_len(bytes)?;
        bytes.chunks(len).map(|packet| SctpPacket::parse(packet).ok()).collect()
    }

    /// The packet in `bytes`, whose checksum is not verified.
    fn parse_unverified(bytes: &[u8]) -> Result<SctpPacket, ParseError> {
        let (src_port, dst_port) = (be16(bytes, 0), be16(bytes, 2));
        if src_port == 0 || dst_port == 0 {
            return Err(ParseError::PortZero(Layer::Sctp));
        }
        let mut rest = &bytes[crc::HEADER..];
        let mut chunks = Chunks::one(take_chunk(&mut rest)?);
        while !rest.is_empty() {
            let Ok(chunk) = take_chunk(&mut rest) else { break };
            chunks.push(chunk);
        }
        let tag = VerificationTag(be32(bytes, 4));
        Ok(SctpPacket { src_port, dst_port, tag, udp: None, chunks })
    }

    /// Gives the payloads of a parsed packet the pieces that they have in `sent`.
    pub(crate) fn reshape_like(&mut self, sent: &SctpPacket) {
        for (chunk, sent) in self.chunks.iter_mut().zip(&sent.chunks) {
            if let (Some(payload), Some(sent)) = (chunk.payload_mut(), sent.payload()) {
                *payload = std::mem::take(payload).reshaped_like(sent);
            }
        }
    }

    /// Why the packet must be discarded; `None` if only an association can tell.
    pub fn discard(&self) -> Option<Discard> {
        let init = self.chunks.iter().find_map(|chunk| match chunk {
            Chunk::Init(init) => Some(init),
            _ => None,
        })?;
        if self.chunks.len() > 1 {
            return Some(Discard::BundledInit);
        }
        if self.tag != VerificationTag(0) {
            return Some(Discard::InitWithTag);
        }
        (init.fault() == Some(InitFault::ZeroTag)).then_some(Discard::ZeroInitiateTag)
    }
}

/// Bytes of chunks with their padding.
#[inline(never)]
fn len_of_several(chunks: &[Chunk]) -> u32 {
    chunks.iter().map(Chunk::padded_len).sum()
}

/// Bytes of user data of chunks.
#[inline(never)]
fn payload_of_several(chunks: &[Chunk]) -> u32 {
    chunks.iter().filter_map(Chunk::payload).map(crate::Payload::len).sum()
}

/// The first chunk of `rest`, at least one byte, which is taken with its padding.
fn take_chunk(rest: &mut &[u8]) -> Result<Chunk, ParseError> {
    at_least(rest, chunk::HEADER, Layer::Sctp)?;
    let len = usize::from(be16(rest, 2));
    if len < chunk::HEADER {
        return Err(ParseError::Length { layer: Layer::Sctp, len });
    }
    let value = &at_least(rest, len, Layer::Sctp)?[chunk::HEADER..len];
    let chunk = Chunk::parse(rest[0], rest[1], value);
    // The padding of the last chunk may be missing.
    *rest = &rest[len.next_multiple_of(4).min(rest.len())..];
    Ok(chunk)
}
