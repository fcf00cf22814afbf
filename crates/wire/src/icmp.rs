//! `Icmp`: echo and destination unreachable of ICMP (RFC 792, RFC 1191) and ICMPv6 (RFC 4443) as
//! values, and their bytes.
//!
//! Leaves the checksum to `ip`, because that of ICMPv6 covers the addresses.

use crate::error::{ParseError, be16, be32};
use bytes::Bytes;

/// Offset of the checksum, in bytes.
const CHECKSUM: usize = 2;

const ECHO_REPLY: u8 = 0;
const UNREACHABLE: u8 = 3;
const ECHO_REQUEST: u8 = 8;
const UNREACHABLE_V6: u8 = 1;
const PACKET_TOO_BIG_V6: u8 = 2;
const ECHO_REQUEST_V6: u8 = 128;
const ECHO_REPLY_V6: u8 = 129;

/// An ICMP or ICMPv6 message; the family is that of the packet around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Icmp {
    /// Echo request or echo reply (RFC 792; RFC 4443 s4).
    Echo {
        /// The message is a reply.
        reply: bool,
        /// Identifier that the requester chose; a reply has the same.
        identifier: u16,
        /// Sequence number of the request; a reply has the same.
        sequence: u16,
        /// Data that the reply returns unchanged.
        data: Bytes,
    },
    /// Destination unreachable (RFC 792; RFC 4443 s3.1), or packet too big of ICMPv6 (RFC 4443
    /// s3.2) if `next_hop_mtu` is not 0.
    Unreachable {
        /// Code field; 4 is fragmentation needed of ICMP.
        code: u8,
        /// MTU of the next hop, in bytes (RFC 1191 s4); 0 if the message has none. Larger values
        /// of ICMPv6 are 65,535.
        next_hop_mtu: u16,
        /// The beginning of the datagram that was not delivered.
        original: Bytes,
    },
}

impl Icmp {
    /// Header and content, in bytes.
    pub fn wire_len(&self) -> u32 {
        let content = match self {
            Icmp::Echo { data, .. } => data.len(),
            Icmp::Unreachable { original, .. } => original.len(),
        };
        8 + content as u32
    }

    /// Appends the message with a checksum of 0; returns the offset of that field.
    pub(crate) fn emit(&self, v6: bool, out: &mut Vec<u8>) -> usize {
        match self {
            Icmp::Echo { reply, identifier, sequence, data } => {
                let kind = match (v6, reply) {
                    (false, false) => ECHO_REQUEST,
                    (false, true) => ECHO_REPLY,
                    (true, false) => ECHO_REQUEST_V6,
                    (true, true) => ECHO_REPLY_V6,
                };
                out.extend_from_slice(&[kind, 0, 0, 0]);
                out.extend_from_slice(&identifier.to_be_bytes());
                out.extend_from_slice(&sequence.to_be_bytes());
                out.extend_from_slice(data);
            }
            Icmp::Unreachable { code, next_hop_mtu, original } => {
                let kind = match (v6, next_hop_mtu) {
                    (false, _) => UNREACHABLE,
                    (true, 0) => UNREACHABLE_V6,
                    (true, _) => PACKET_TOO_BIG_V6,
                };
                out.extend_from_slice(&[kind, *code, 0, 0, 0, 0]);
                out.extend_from_slice(&next_hop_mtu.to_be_bytes());
                out.extend_from_slice(original);
            }
        }
        CHECKSUM
    }

    /// The message in `unit`, at least 8 bytes.
    pub(crate) fn parse(v6: bool, unit: &[u8]) -> Result<Icmp, ParseError> {
        let (kind, code) = (unit[0], unit[1]);
        let content = || Bytes::copy_from_slice(&unit[8..]);
        let echo = |reply| Icmp::Echo {
            reply,
            identifier: be16(unit, 4),
            sequence: be16(unit, 6),
            data: content(),
        };
        let unreachable =
            |next_hop_mtu| Icmp::Unreachable { code, next_hop_mtu, original: content() };
        match (v6, kind) {
            (false, ECHO_REQUEST) | (true, ECHO_REQUEST_V6) => Ok(echo(false)),
            (false, ECHO_REPLY) | (true, ECHO_REPLY_V6) => Ok(echo(true)),
            (false, UNREACHABLE) => Ok(unreachable(be16(unit, 6))),
            (true, UNREACHABLE_V6) => Ok(unreachable(0)),
            // An MTU of 0 is no information; one above 65,535 is no limit to a datagram.
            (true, PACKET_TOO_BIG_V6) if be32(unit, 4) != 0 => {
                Ok(unreachable(u16::try_from(be32(unit, 4)).unwrap_or(u16::MAX)))
            }
            _ => Err(ParseError::IcmpType { kind, code }),
        }
    }
}
