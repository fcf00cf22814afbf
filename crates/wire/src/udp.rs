//! `UdpDatagram`: a UDP datagram as a value (RFC 768).

use crate::Payload;

/// A UDP datagram.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UdpDatagram {
    pub src_port: u16,
    pub dst_port: u16,
    pub payload: Payload,
}

impl UdpDatagram {
    /// Header and payload, in bytes.
    pub fn wire_len(&self) -> u32 {
        8 + self.payload.len()
    }
}
