//! DATA (RFC 9260 s3.3.1) and I-DATA (RFC 8260 s2.1).
//!
//! The payload may be virtual. Fragmenting and reassembling messages is left to `transport`.

use super::{Mid, Ssn, Tsn};
use crate::Payload;
use crate::fields::Fields;
use bytes::Bytes;
use std::ops::BitOr;

/// Flags of DATA and I-DATA (RFC 9260 s3.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DataFlags(pub u8);

/// One fragment of a message, or a whole one (RFC 9260 s3.3.1).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Data {
    /// Position in the message, order, request for an immediate SACK.
    pub flags: DataFlags,
    /// Transmission sequence number.
    pub tsn: Tsn,
    /// Stream identifier.
    pub stream: u16,
    /// Stream sequence number, the same in all fragments; ignored if unordered.
    pub ssn: Ssn,
    /// Payload protocol identifier of the upper layer, opaque to SCTP.
    pub ppid: u32,
    /// User data. A receiver answers an empty one with ABORT cause 9 (RFC 9260 s6.2).
    pub payload: Payload,
}

/// One fragment of a message that fragments of other streams may interleave (RFC 8260 s2.1).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IData {
    /// As in DATA.
    pub flags: DataFlags,
    /// Transmission sequence number.
    pub tsn: Tsn,
    /// Stream identifier.
    pub stream: u16,
    /// Message identifier within the stream, apart for ordered and unordered messages.
    pub mid: Mid,
    /// Payload protocol identifier in the first fragment, otherwise the fragment sequence number.
    pub ppid_or_fsn: u32,
    /// User data; see [`Data::payload`].
    pub payload: Payload,
}

impl DataFlags {
    /// E: last fragment.
    pub const END: DataFlags = DataFlags(0x01);
    /// B: first fragment.
    pub const BEGIN: DataFlags = DataFlags(0x02);
    /// Both B and E: a whole message.
    pub const WHOLE: DataFlags = DataFlags(0x03);
    /// U: unordered.
    pub const UNORDERED: DataFlags = DataFlags(0x04);
    /// I: the receiver should acknowledge at once.
    pub const IMMEDIATE: DataFlags = DataFlags(0x08);

    /// Whether all of `flags` are set.
    pub const fn contains(self, flags: DataFlags) -> bool {
        self.0 & flags.0 == flags.0
    }
}

impl BitOr for DataFlags {
    type Output = DataFlags;
    fn bitor(self, rhs: DataFlags) -> DataFlags {
        DataFlags(self.0 | rhs.0)
    }
}

impl Data {
    /// Bytes of the chunk without its payload and padding.
    pub const HEADER: u32 = 16;

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.tsn.0.to_be_bytes());
        out.extend_from_slice(&self.stream.to_be_bytes());
        out.extend_from_slice(&self.ssn.0.to_be_bytes());
        out.extend_from_slice(&self.ppid.to_be_bytes());
        self.payload.write_to(out);
    }

    pub(super) fn parse(flags: u8, value: &[u8]) -> Option<Data> {
        let mut fields = Fields(value);
        Some(Data {
            flags: DataFlags(flags),
            tsn: Tsn(fields.u32()?),
            stream: fields.u16()?,
            ssn: Ssn(fields.u16()?),
            ppid: fields.u32()?,
            payload: Bytes::copy_from_slice(fields.0).into(),
        })
    }
}

impl IData {
    /// Bytes of the chunk without its payload and padding.
    pub const HEADER: u32 = 20;

    /// Fragment sequence number, 0 in the first fragment.
    pub const fn fsn(&self) -> u32 {
        if self.flags.contains(DataFlags::BEGIN) { 0 } else { self.ppid_or_fsn }
    }

    /// Payload protocol identifier, which only the first fragment has.
    pub fn ppid(&self) -> Option<u32> {
        self.flags.contains(DataFlags::BEGIN).then_some(self.ppid_or_fsn)
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.tsn.0.to_be_bytes());
        out.extend_from_slice(&self.stream.to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&self.mid.0.to_be_bytes());
        out.extend_from_slice(&self.ppid_or_fsn.to_be_bytes());
        self.payload.write_to(out);
    }

    pub(super) fn parse(flags: u8, value: &[u8]) -> Option<IData> {
        let mut fields = Fields(value);
        let (tsn, stream) = (Tsn(fields.u32()?), fields.u16()?);
        fields.u16()?;
        Some(IData {
            flags: DataFlags(flags),
            tsn,
            stream,
            mid: Mid(fields.u32()?),
            ppid_or_fsn: fields.u32()?,
            payload: Bytes::copy_from_slice(fields.0).into(),
        })
    }
}
