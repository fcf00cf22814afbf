//! `MP_JOIN`: adds a subflow to a connection (RFC 8684 s3.2).
//!
//! The handshake and nonces are left to `transport`.

use super::keys::is_same;
use super::{Hmac, Token};
use crate::fields::Fields;

/// An `MP_JOIN`; its form depends on the segment of the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Join {
    /// On a SYN.
    Syn {
        /// Use this subflow as a backup.
        backup: bool,
        /// Address ID of the sender's address.
        address_id: u8,
        /// Token of the receiver's connection.
        token: Token,
        /// The sender's random number, which the HMACs cover.
        nonce: u32,
    },
    /// On a SYN/ACK.
    SynAck {
        /// Use this subflow as a backup.
        backup: bool,
        /// Address ID of the sender's address.
        address_id: u8,
        /// The leftmost 64 bits of the sender's HMAC.
        hmac: [u8; 8],
        /// The sender's random number, which the HMACs cover.
        nonce: u32,
    },
    /// On the third ACK.
    Ack {
        /// The leftmost 160 bits of the sender's HMAC.
        hmac: [u8; 20],
    },
}

impl Join {
    /// Whether the option carries the expected HMAC of its sender; a SYN carries none.
    pub fn proves(&self, expected: &Hmac) -> bool {
        match self {
            Join::Syn { .. } => false,
            Join::SynAck { hmac, .. } => is_same(&expected.left8(), hmac),
            Join::Ack { hmac } => is_same(&expected.left20(), hmac),
        }
    }

    /// Length of the option; a multiple of four.
    pub const fn wire_len(&self) -> u32 {
        match self {
            Join::Syn { .. } => 12,
            Join::SynAck { .. } => 16,
            Join::Ack { .. } => 24,
        }
    }

    /// Append the bytes after kind and length.
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Join::Syn { backup, address_id, token, nonce } => {
                out.extend_from_slice(&[0x10 | u8::from(*backup), *address_id]);
                out.extend_from_slice(&token.0.to_be_bytes());
                out.extend_from_slice(&nonce.to_be_bytes());
            }
            Join::SynAck { backup, address_id, hmac, nonce } => {
                out.extend_from_slice(&[0x10 | u8::from(*backup), *address_id]);
                out.extend_from_slice(hmac);
                out.extend_from_slice(&nonce.to_be_bytes());
            }
            Join::Ack { hmac } => {
                out.extend_from_slice(&[0x10, 0]);
                out.extend_from_slice(hmac);
            }
        }
    }

    /// The option whose flags are `flags` and whose further bytes are `content`.
    pub(super) fn parse(flags: u8, content: &[u8]) -> Option<Join> {
        let mut fields = Fields(content);
        let address_id = fields.u8()?;
        let backup = flags & 1 != 0;
        Some(match content.len() + 3 {
            12 => {
                let token = Token(fields.u32()?);
                Join::Syn { backup, address_id, token, nonce: fields.u32()? }
            }
            16 => {
                let hmac = fields.take()?;
                Join::SynAck { backup, address_id, hmac, nonce: fields.u32()? }
            }
            24 => Join::Ack { hmac: fields.take()? },
            _ => return None,
        })
    }
}
