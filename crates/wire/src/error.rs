//! `ParseError`: why bytes are not a packet this engine understands.

use std::fmt;

/// What is wrong with a received datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseError {
    /// Fewer bytes than the header, or than the value of a length field.
    #[error("{layer} cut short: {need} bytes needed, {have} there")]
    Truncated {
        /// The header that is incomplete, or whose length field is too large.
        layer: Layer,
        /// Bytes needed.
        need: usize,
        /// Bytes present.
        have: usize,
    },
    /// A length field that contradicts the format.
    #[error("{layer} length field of {len} is impossible")]
    Length {
        /// The header with the length field.
        layer: Layer,
        /// The length, in bytes.
        len: usize,
    },
    /// Neither IPv4 nor IPv6.
    #[error("IP version {0} is neither 4 nor 6")]
    Version(u8),
    /// A fragment of an IPv6 datagram, or one in a capture.
    #[error("fragments are not supported")]
    Fragment,
    /// An IPv6 extension header other than hop-by-hop and destination options.
    #[error("IPv6 extension header {0} is not supported")]
    ExtensionHeader(u8),
    /// A transport protocol that this engine does not support.
    #[error("{} is not supported", ip_protocol(*.0))]
    Protocol(u8),
    /// Damaged on the way.
    #[error("wrong {0} checksum")]
    Checksum(Layer),
    /// The checksum of RFC 2960, which RFC 3309 replaced.
    #[error("the SCTP checksum is the Adler-32 of RFC 2960, not the CRC32c of RFC 9260")]
    Adler32,
    /// A port of 0, which is reserved.
    #[error("{0} port 0 is reserved")]
    PortZero(Layer),
    /// A TCP option whose length contradicts its kind or its place.
    #[error("TCP option {kind} with length {len} is malformed")]
    TcpOption {
        /// Option kind (RFC 9293 s3.2).
        kind: u8,
        /// Option length, in bytes, kind and length included; 0 if it is missing.
        len: u8,
    },
    /// An ICMP message other than echo and destination unreachable.
    #[error("ICMP type {kind} code {code} is not supported")]
    IcmpType {
        /// Type field of ICMP (RFC 792) or ICMPv6 (RFC 4443).
        kind: u8,
        /// Code field.
        code: u8,
    },
}

/// The header an error is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    /// IPv4 (RFC 791).
    Ipv4,
    /// IPv6 (RFC 8200).
    Ipv6,
    /// TCP (RFC 9293).
    Tcp,
    /// UDP (RFC 768).
    Udp,
    /// SCTP (RFC 9260).
    Sctp,
    /// ICMP (RFC 792) or ICMPv6 (RFC 4443).
    Icmp,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Layer::Ipv4 => "IPv4",
            Layer::Ipv6 => "IPv6",
            Layer::Tcp => "TCP",
            Layer::Udp => "UDP",
            Layer::Sctp => "SCTP",
            Layer::Icmp => "ICMP",
        })
    }
}

/// `bytes` if there are at least `need` of them.
pub(crate) fn at_least(bytes: &[u8], need: usize, layer: Layer) -> Result<&[u8], ParseError> {
    if bytes.len() < need {
        return Err(ParseError::Truncated { layer, need, have: bytes.len() });
    }
    Ok(bytes)
}

/// The big-endian 16 bits at `at`, which must be within `bytes`.
pub(crate) const fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The big-endian 32 bits at `at`, which must be within `bytes`.
pub(crate) const fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Name of an IP protocol for the reader of a capture, by IANA's numbers.
fn ip_protocol(number: u8) -> String {
    let name = match number {
        33 => "DCCP",
        47 => "GRE",
        50 => "ESP",
        132 => "SCTP",
        _ => return format!("IP protocol {number}"),
    };
    format!("{name} (IP protocol {number})")
}
