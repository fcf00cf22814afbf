//! `Cause`: error causes of ERROR, ABORT and ASCONF ACK (RFC 9260 s3.3.10).
//!
//! A cause without the form of its code is [`Cause::Other`], and what follows a truncated one is
//! ignored: nothing that reports an error causes another one.

use super::parameter::{numbers, parse_address};
use super::tlv::{HEADER, Tlv, Tlvs, emit_list, emit_tlv, list_len};
use super::{Parameter, Tsn};
use crate::fields::Fields;
use bytes::Bytes;
use std::net::IpAddr;

/// Why a chunk, a parameter or an association is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cause {
    /// Invalid Stream Identifier (RFC 9260 s3.3.10.1).
    InvalidStream(u16),
    /// Missing Mandatory Parameter: their types (RFC 9260 s3.3.10.2).
    MissingParameter(Box<[u16]>),
    /// Stale Cookie: time since it expired, in microseconds, or 0 (RFC 9260 s3.3.10.3).
    StaleCookie(u32),
    /// Out of Resource (RFC 9260 s3.3.10.4).
    OutOfResource,
    /// Unresolvable Address: the parameter (RFC 9260 s3.3.10.5).
    UnresolvableAddress(Bytes),
    /// Unrecognized Chunk Type: the chunk (RFC 9260 s3.3.10.6).
    UnrecognizedChunk(Bytes),
    /// Invalid Mandatory Parameter (RFC 9260 s3.3.10.7).
    InvalidParameter,
    /// Unrecognized Parameters of an INIT ACK: copies of them (RFC 9260 s3.3.10.8).
    UnrecognizedParameters(Bytes),
    /// No User Data (RFC 9260 s3.3.10.9).
    NoUserData(Tsn),
    /// Cookie Received While Shutting Down (RFC 9260 s3.3.10.10).
    CookieWhileShuttingDown,
    /// Restart of an Association with New Addresses (RFC 9260 s3.3.10.11).
    RestartWithNewAddresses(Box<[IpAddr]>),
    /// User-Initiated Abort: reason of the upper layer (RFC 9260 s3.3.10.12).
    UserAbort(Bytes),
    /// Protocol Violation: additional information (RFC 9260 s3.3.10.13).
    ProtocolViolation(Bytes),
    /// Request to Delete Last Remaining IP Address: the request (RFC 5061 s4.3.1).
    DeleteLastAddress(Bytes),
    /// Operation Refused Due to Resource Shortage: the request (RFC 5061 s4.3.2).
    ResourceShortage(Bytes),
    /// Request to Delete Source IP Address: the request (RFC 5061 s4.3.3).
    DeleteSourceAddress(Bytes),
    /// Association Aborted due to illegal ASCONF-ACK (RFC 5061 s4.3.4).
    IllegalAsconfAck,
    /// Request Refused - No Authorization: the request (RFC 5061 s4.3.5).
    NoAuthorization(Bytes),
    /// Unsupported HMAC Identifier (RFC 4895 s4).
    UnsupportedHmac(u16),
    /// Any other code, or one whose body has another form.
    Other {
        /// Cause code.
        code: u16,
        /// Bytes behind code and length.
        body: Bytes,
    },
}

impl Cause {
    /// Cause code.
    pub const fn code(&self) -> u16 {
        match self {
            Cause::InvalidStream(_) => 1,
            Cause::MissingParameter(_) => 2,
            Cause::StaleCookie(_) => 3,
            Cause::OutOfResource => 4,
            Cause::UnresolvableAddress(_) => 5,
            Cause::UnrecognizedChunk(_) => 6,
            Cause::InvalidParameter => 7,
            Cause::UnrecognizedParameters(_) => 8,
            Cause::NoUserData(_) => 9,
            Cause::CookieWhileShuttingDown => 10,
            Cause::RestartWithNewAddresses(_) => 11,
            Cause::UserAbort(_) => 12,
            Cause::ProtocolViolation(_) => 13,
            Cause::DeleteLastAddress(_) => 0xA0,
            Cause::ResourceShortage(_) => 0xA1,
            Cause::DeleteSourceAddress(_) => 0xA2,
            Cause::IllegalAsconfAck => 0xA3,
            Cause::NoAuthorization(_) => 0xA4,
            Cause::UnsupportedHmac(_) => 0x0105,
            Cause::Other { code, .. } => *code,
        }
    }

    /// Length without padding, in bytes, code and length included.
    pub fn wire_len(&self) -> u32 {
        let body = match self {
            Cause::OutOfResource
            | Cause::InvalidParameter
            | Cause::CookieWhileShuttingDown
            | Cause::IllegalAsconfAck => 0,
            Cause::UnsupportedHmac(_) => 2,
            Cause::InvalidStream(_) | Cause::StaleCookie(_) | Cause::NoUserData(_) => 4,
            Cause::MissingParameter(kinds) => 4 + 2 * kinds.len() as u32,
            Cause::RestartWithNewAddresses(addresses) => {
                list_len(addresses.iter().map(|address| Parameter::Address(*address).wire_len()))
            }
            Cause::UnresolvableAddress(bytes)
            | Cause::UnrecognizedChunk(bytes)
            | Cause::UnrecognizedParameters(bytes)
            | Cause::UserAbort(bytes)
            | Cause::ProtocolViolation(bytes)
            | Cause::DeleteLastAddress(bytes)
            | Cause::ResourceShortage(bytes)
            | Cause::DeleteSourceAddress(bytes)
            | Cause::NoAuthorization(bytes)
            | Cause::Other { body: bytes, .. } => bytes.len() as u32,
        };
        HEADER as u32 + body
    }

    fn emit(&self, out: &mut Vec<u8>) {
        emit_tlv(self.code(), out, |out| self.emit_body(out));
    }

    fn emit_body(&self, out: &mut Vec<u8>) {
        match self {
            Cause::OutOfResource
            | Cause::InvalidParameter
            | Cause::CookieWhileShuttingDown
            | Cause::IllegalAsconfAck => {}
            Cause::UnsupportedHmac(id) => out.extend_from_slice(&id.to_be_bytes()),
            Cause::InvalidStream(stream) => {
                out.extend_from_slice(&stream.to_be_bytes());
                out.extend_from_slice(&[0, 0]);
            }
            Cause::StaleCookie(number) | Cause::NoUserData(Tsn(number)) => {
                out.extend_from_slice(&number.to_be_bytes());
            }
            Cause::MissingParameter(kinds) => {
                out.extend_from_slice(&(kinds.len() as u32).to_be_bytes());
                kinds.iter().for_each(|kind| out.extend_from_slice(&kind.to_be_bytes()));
            }
            Cause::RestartWithNewAddresses(addresses) => {
                emit_list(addresses, out, |address, out| Parameter::Address(*address).emit(out));
            }
            Cause::UnresolvableAddress(bytes)
            | Cause::UnrecognizedChunk(bytes)
            | Cause::UnrecognizedParameters(bytes)
            | Cause::UserAbort(bytes)
            | Cause::ProtocolViolation(bytes)
            | Cause::DeleteLastAddress(bytes)
            | Cause::ResourceShortage(bytes)
            | Cause::DeleteSourceAddress(bytes)
            | Cause::NoAuthorization(bytes)
            | Cause::Other { body: bytes, .. } => out.extend_from_slice(bytes),
        }
    }

    fn parse(item: Tlv<'_>) -> Cause {
        let other = || Cause::Other { code: item.kind, body: Bytes::copy_from_slice(item.value) };
        Cause::of_known_form(item).unwrap_or_else(other)
    }

    /// `None` for another code or another form.
    fn of_known_form(item: Tlv<'_>) -> Option<Cause> {
        let mut fields = Fields(item.value);
        let bytes = || Bytes::copy_from_slice(item.value);
        let without_body = |cause: Cause| item.value.is_empty().then_some(cause);
        let cause = match item.kind {
            1 => {
                let stream = fields.u16()?;
                fields.u16()?;
                Cause::InvalidStream(stream)
            }
            2 => {
                let count = fields.u32()?;
                let kinds = numbers(std::mem::take(&mut fields.0))?;
                (kinds.len() as u32 == count).then_some(Cause::MissingParameter(kinds))?
            }
            3 => Cause::StaleCookie(fields.u32()?),
            4 => return without_body(Cause::OutOfResource),
            5 => return Some(Cause::UnresolvableAddress(bytes())),
            6 => return Some(Cause::UnrecognizedChunk(bytes())),
            7 => return without_body(Cause::InvalidParameter),
            8 => return Some(Cause::UnrecognizedParameters(bytes())),
            9 => Cause::NoUserData(Tsn(fields.u32()?)),
            10 => return without_body(Cause::CookieWhileShuttingDown),
            11 => return addresses(item.value).map(Cause::RestartWithNewAddresses),
            12 => return Some(Cause::UserAbort(bytes())),
            13 => return Some(Cause::ProtocolViolation(bytes())),
            0xA0 => return Some(Cause::DeleteLastAddress(bytes())),
            0xA1 => return Some(Cause::ResourceShortage(bytes())),
            0xA2 => return Some(Cause::DeleteSourceAddress(bytes())),
            0xA3 => return without_body(Cause::IllegalAsconfAck),
            0xA4 => return Some(Cause::NoAuthorization(bytes())),
            0x0105 => Cause::UnsupportedHmac(fields.u16()?),
            _ => return None,
        };
        fields.is_empty().then_some(cause)
    }
}

/// The addresses of a list of address parameters only, which fill it.
fn addresses(list: &[u8]) -> Option<Box<[IpAddr]>> {
    let whole = list.len().is_multiple_of(4);
    whole.then(|| Tlvs(list).map(|item| parse_address(item?)).collect())?
}

/// Length of a list of causes in bytes.
pub(super) fn list_len_of(causes: &[Cause]) -> u32 {
    list_len(causes.iter().map(Cause::wire_len))
}

/// Appends causes in order with padding between them.
pub(super) fn emit_causes(causes: &[Cause], out: &mut Vec<u8>) {
    emit_list(causes, out, Cause::emit);
}

/// The causes of a list up to the first truncated one.
pub(super) fn parse_causes(list: &[u8]) -> Vec<Cause> {
    Tlvs(list).map_while(|item| item.map(Cause::parse)).collect()
}
