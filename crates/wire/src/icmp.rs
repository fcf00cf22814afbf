//! `Icmp`: echo and destination unreachable of ICMP (RFC 792) and ICMPv6 (RFC 4443) as values.

use bytes::Bytes;

/// An ICMP or ICMPv6 message; the family is that of the packet around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Icmp {
    Echo { reply: bool, identifier: u16, sequence: u16, data: Bytes },
    Unreachable { code: u8, next_hop_mtu: u16, original: Bytes },
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
}
