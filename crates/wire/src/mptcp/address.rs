//! `ADD_ADDR`: announces an address, or echoes an announcement (RFC 8684 s3.4.1).
//!
//! Which addresses to announce and to use is left to `transport`.

use super::keys::is_same;
use super::{Key, add_addr_hmac};
use crate::fields::Fields;
use std::net::IpAddr;

/// An address and its ID.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddAddr {
    /// Address ID, unique among the sender's addresses of the connection.
    pub address_id: u8,
    /// The announced address.
    pub address: IpAddr,
    /// The announced port; `None`: the port of the subflow that the option arrived on.
    pub port: Option<u16>,
    /// The right end of the sender's HMAC; `None` makes this the echo, which has none.
    pub hmac: Option<[u8; 8]>,
}

/// The flag of an echo.
const ECHO: u8 = 1;

impl AddAddr {
    /// The announcement of an address to `receiver`, signed.
    pub fn signed(
        sender: Key,
        receiver: Key,
        address_id: u8,
        address: IpAddr,
        port: Option<u16>,
    ) -> AddAddr {
        let hmac = add_addr_hmac(sender, receiver, address_id, address, port).right8();
        AddAddr { address_id, address, port, hmac: Some(hmac) }
    }

    /// The echo of the receiver.
    #[must_use]
    pub const fn echo(self) -> AddAddr {
        AddAddr { hmac: None, ..self }
    }

    /// Whether this is an echo.
    pub const fn is_echo(&self) -> bool {
        self.hmac.is_none()
    }

    /// Whether this is an announcement that the owner of `sender` signed.
    pub fn is_signed_by(&self, sender: Key, receiver: Key) -> bool {
        self.hmac.is_some_and(|hmac| {
            let expected =
                add_addr_hmac(sender, receiver, self.address_id, self.address, self.port);
            is_same(&expected.right8(), &hmac)
        })
    }

    /// Length of the option without padding.
    pub const fn wire_len(&self) -> u32 {
        let address = if self.address.is_ipv4() { 4 } else { 16 };
        let port = if self.port.is_some() { 2 } else { 0 };
        4 + address + port + if self.is_echo() { 0 } else { 8 }
    }

    /// Append the bytes after kind and length.
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0x30 | if self.is_echo() { ECHO } else { 0 }, self.address_id]);
        match self.address {
            IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
            IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
        }
        if let Some(port) = self.port {
            out.extend_from_slice(&port.to_be_bytes());
        }
        if let Some(hmac) = &self.hmac {
            out.extend_from_slice(hmac);
        }
    }

    /// The option whose flags are `flags` and whose further bytes are `content`.
    pub(super) fn parse(flags: u8, content: &[u8]) -> Option<AddAddr> {
        let mut fields = Fields(content);
        let address_id = fields.u8()?;
        let echo = flags & ECHO != 0;
        // An announcement is as long as its echo and the HMAC.
        let (v4, with_port) = match content.len() + 3 + if echo { 8 } else { 0 } {
            16 => (true, false),
            18 => (true, true),
            28 => (false, false),
            30 => (false, true),
            _ => return None,
        };
        let address: IpAddr = match v4 {
            true => fields.take::<4>()?.into(),
            false => fields.take::<16>()?.into(),
        };
        let port = if with_port { Some(fields.u16()?) } else { None };
        let hmac = if echo { None } else { Some(fields.take()?) };
        Some(AddAddr { address_id, address, port, hmac })
    }
}
