//! `MP_CAPABLE`: opens a connection and exchanges keys (RFC 8684 s3.1).
//!
//! Which form belongs on which segment, and which flags are acceptable, is left to `transport`.

use super::Key;
use crate::fields::Fields;

/// The supported version of MPTCP.
const VERSION: u8 = 1;

/// An `MP_CAPABLE` of any version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capable {
    /// Version 1 of RFC 8684.
    V1 {
        /// The flags A to H.
        flags: CapableFlags,
        /// The contents after the flags.
        form: CapableForm,
    },
    /// Another version, whose content is unknown. Emitted in its shortest form.
    Unsupported {
        /// The version field, four bits.
        version: u8,
    },
}

/// The flags A to H of an `MP_CAPABLE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapableFlags(pub u8);

/// The contents of an `MP_CAPABLE`, which depend on the segment of the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CapableForm {
    /// On a SYN: nothing.
    Syn,
    /// On a SYN/ACK: the key of its sender.
    SynAck {
        /// Key of the sender of the option.
        sender: Key,
    },
    /// On the third ACK: both keys.
    Ack {
        /// Key of the sender of the option.
        sender: Key,
        /// Key of its receiver.
        receiver: Key,
    },
    /// On the first data: both keys, and a mapping that begins with the first byte of the
    /// connection.
    Data {
        /// Key of the sender of the option.
        sender: Key,
        /// Key of its receiver.
        receiver: Key,
        /// Data-level length of the mapping, in bytes.
        len: u16,
        /// Checksum of the mapping; present if and only if checksums were negotiated.
        checksum: Option<u16>,
    },
}

impl CapableFlags {
    /// A: data are checksummed.
    pub const CHECKSUM: CapableFlags = CapableFlags(0x80);
    /// B: an extension (not defined yet).
    pub const EXTENSIBILITY: CapableFlags = CapableFlags(0x40);
    /// C: the sender's address and port must not be joined.
    pub const NO_JOIN: CapableFlags = CapableFlags(0x20);
    /// H: HMAC-SHA256.
    pub const HMAC_SHA256: CapableFlags = CapableFlags(0x01);

    /// Whether all flags of `other` are set.
    pub const fn contains(self, other: CapableFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags of both.
    #[must_use]
    pub const fn with(self, other: CapableFlags) -> CapableFlags {
        CapableFlags(self.0 | other.0)
    }

    /// Whether the option must be ignored: it requires an extension, or offers no supported HMAC.
    pub const fn must_be_ignored(self) -> bool {
        self.contains(CapableFlags::EXTENSIBILITY) || !self.contains(CapableFlags::HMAC_SHA256)
    }
}

impl Capable {
    /// Length of the option without padding.
    pub const fn wire_len(&self) -> u32 {
        match self {
            Capable::Unsupported { .. } => 4,
            Capable::V1 { form, .. } => match form {
                CapableForm::Syn => 4,
                CapableForm::SynAck { .. } => 12,
                CapableForm::Ack { .. } => 20,
                CapableForm::Data { checksum: None, .. } => 22,
                CapableForm::Data { checksum: Some(_), .. } => 24,
            },
        }
    }

    /// Append the bytes after kind and length.
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let (flags, form) = match self {
            Capable::V1 { flags, form } => (flags, form),
            Capable::Unsupported { version } => {
                out.extend_from_slice(&[version & 0x0F, CapableFlags::HMAC_SHA256.0]);
                return;
            }
        };
        out.extend_from_slice(&[VERSION, flags.0]);
        let mut put = |key: &Key| out.extend_from_slice(&key.0.to_be_bytes());
        match form {
            CapableForm::Syn => {}
            CapableForm::SynAck { sender } => put(sender),
            CapableForm::Ack { sender, receiver } => {
                put(sender);
                put(receiver);
            }
            CapableForm::Data { sender, receiver, len, checksum } => {
                put(sender);
                put(receiver);
                out.extend_from_slice(&len.to_be_bytes());
                if let Some(checksum) = checksum {
                    out.extend_from_slice(&checksum.to_be_bytes());
                }
            }
        }
    }

    /// The option whose version is `version` and whose flags and fields are `content`.
    pub(super) fn parse(version: u8, content: &[u8]) -> Option<Capable> {
        let mut fields = Fields(content);
        let flags = CapableFlags(fields.u8()?);
        if version != VERSION {
            return Some(Capable::Unsupported { version });
        }
        let mut key = || fields.u64().map(Key);
        let form = match content.len() + 3 {
            4 => CapableForm::Syn,
            12 => CapableForm::SynAck { sender: key()? },
            20 => CapableForm::Ack { sender: key()?, receiver: key()? },
            22 | 24 => CapableForm::Data {
                sender: key()?,
                receiver: key()?,
                len: fields.u16()?,
                checksum: fields.u16(),
            },
            _ => return None,
        };
        Some(Capable::V1 { flags, form })
    }
}
