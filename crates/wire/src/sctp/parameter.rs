//! `Parameter`: parameters of INIT, INIT ACK, HEARTBEAT, ASCONF, ASCONF ACK and RE-CONFIG.
//!
//! Values and bytes (RFC 9260 s3.2.1 and s3.3). Which parameters a chunk may have is left to the
//! chunks, what they mean to `transport`. Parameters of RE-CONFIG are in `reconfig`.

use super::cause::{self, Cause};
use super::reconfig::Request;
use super::tlv::{HEADER, Tlv, Tlvs, emit_list, emit_tlv, list_len};
use crate::fields::Fields;
use bytes::Bytes;
use std::net::IpAddr;

/// A parameter of a chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Parameter {
    /// Heartbeat Info: content that the peer returns unchanged (RFC 9260 s3.3.5).
    HeartbeatInfo(Bytes),
    /// IPv4 or IPv6 Address of the sender (RFC 9260 s3.3.2.1).
    Address(IpAddr),
    /// State Cookie (RFC 9260 s3.3.3.1).
    StateCookie(Bytes),
    /// Unrecognized Parameter: a copy of one parameter of the INIT, with type and length and
    /// without padding (RFC 9260 s3.3.3.1).
    Unrecognized(Bytes),
    /// Cookie Preservative: milliseconds to add to the life of the cookie (RFC 9260 s3.3.2.1).
    CookiePreservative(u32),
    /// Host Name Address, which is never sent and answered with ABORT (RFC 9260 s3.3.2.1).
    HostName(Bytes),
    /// Supported Address Types, as parameter types (RFC 9260 s3.3.2.1).
    SupportedAddressTypes(Box<[u16]>),
    /// Request or response of RE-CONFIG (RFC 6525 s4).
    Reconfig(Request),
    /// RANDOM: random number for the association key (RFC 4895 s3.1).
    Random(Bytes),
    /// CHUNKS: types that the sender only accepts authenticated (RFC 4895 s3.2).
    AuthenticatedChunks(Bytes),
    /// HMAC-ALGO: HMAC identifiers in the order of preference (RFC 4895 s3.3).
    HmacAlgorithms(Box<[u16]>),
    /// PAD: bytes that are discarded (RFC 4820 s4).
    Padding(Bytes),
    /// Supported Extensions: chunk types (RFC 5061 s4.2.7).
    SupportedExtensions(Bytes),
    /// Forward-TSN-Supported (RFC 3758 s3.1).
    ForwardTsnSupported,
    /// Add IP Address (RFC 5061 s4.2.1).
    AddAddress(AddressRequest),
    /// Delete IP Address (RFC 5061 s4.2.2).
    DeleteAddress(AddressRequest),
    /// Error Cause Indication (RFC 5061 s4.2.3).
    ErrorIndication {
        /// Correlation identifier of the request that failed.
        correlation: u32,
        /// Reasons.
        causes: Vec<Cause>,
    },
    /// Set Primary IP Address (RFC 5061 s4.2.4).
    SetPrimary(AddressRequest),
    /// Success Indication (RFC 5061 s4.2.5).
    Success {
        /// Correlation identifier of the request.
        correlation: u32,
    },
    /// Adaptation Layer Indication, passed to the user (RFC 5061 s4.2.6).
    Adaptation(u32),
    /// A type that is not known here. Its two highest bits say what to do.
    Unknown {
        /// Parameter type.
        kind: u16,
        /// Bytes behind type and length.
        value: Bytes,
    },
}

/// A request that names an address (RFC 5061 s4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressRequest {
    /// Correlation identifier, which the response repeats.
    pub correlation: u32,
    /// The address; the unspecified one is the wildcard for the source of the packet.
    pub address: IpAddr,
}

const HEARTBEAT_INFO: u16 = 1;
/// Parameter type of an IPv4 address (RFC 9260 s3.3.2.1).
pub const IPV4_ADDRESS: u16 = 5;
/// Parameter type of an IPv6 address (RFC 9260 s3.3.2.1).
pub const IPV6_ADDRESS: u16 = 6;
const STATE_COOKIE: u16 = 7;
const UNRECOGNIZED: u16 = 8;
const COOKIE_PRESERVATIVE: u16 = 9;
const HOST_NAME: u16 = 11;
const SUPPORTED_ADDRESS_TYPES: u16 = 12;
const RANDOM: u16 = 0x8002;
const CHUNKS: u16 = 0x8003;
const HMAC_ALGO: u16 = 0x8004;
const PAD: u16 = 0x8005;
const SUPPORTED_EXTENSIONS: u16 = 0x8008;
const FORWARD_TSN_SUPPORTED: u16 = 0xC000;
const ADD_ADDRESS: u16 = 0xC001;
const DELETE_ADDRESS: u16 = 0xC002;
const ERROR_INDICATION: u16 = 0xC003;
const SET_PRIMARY: u16 = 0xC004;
const SUCCESS: u16 = 0xC005;
const ADAPTATION: u16 = 0xC006;

impl Parameter {
    /// The State Cookie is what an INIT ACK must have; its type is named when it is missing.
    pub const STATE_COOKIE: u16 = STATE_COOKIE;

    /// Parameter type.
    pub const fn kind(&self) -> u16 {
        match self {
            Parameter::HeartbeatInfo(_) => HEARTBEAT_INFO,
            Parameter::Address(IpAddr::V4(_)) => IPV4_ADDRESS,
            Parameter::Address(IpAddr::V6(_)) => IPV6_ADDRESS,
            Parameter::StateCookie(_) => STATE_COOKIE,
            Parameter::Unrecognized(_) => UNRECOGNIZED,
            Parameter::CookiePreservative(_) => COOKIE_PRESERVATIVE,
            Parameter::HostName(_) => HOST_NAME,
            Parameter::SupportedAddressTypes(_) => SUPPORTED_ADDRESS_TYPES,
            Parameter::Reconfig(request) => request.kind(),
            Parameter::Random(_) => RANDOM,
            Parameter::AuthenticatedChunks(_) => CHUNKS,
            Parameter::HmacAlgorithms(_) => HMAC_ALGO,
            Parameter::Padding(_) => PAD,
            Parameter::SupportedExtensions(_) => SUPPORTED_EXTENSIONS,
            Parameter::ForwardTsnSupported => FORWARD_TSN_SUPPORTED,
            Parameter::AddAddress(_) => ADD_ADDRESS,
            Parameter::DeleteAddress(_) => DELETE_ADDRESS,
            Parameter::ErrorIndication { .. } => ERROR_INDICATION,
            Parameter::SetPrimary(_) => SET_PRIMARY,
            Parameter::Success { .. } => SUCCESS,
            Parameter::Adaptation(_) => ADAPTATION,
            Parameter::Unknown { kind, .. } => *kind,
        }
    }

    /// Length without padding, in bytes, type and length included.
    pub fn wire_len(&self) -> u32 {
        let value = match self {
            Parameter::HeartbeatInfo(bytes)
            | Parameter::StateCookie(bytes)
            | Parameter::Unrecognized(bytes)
            | Parameter::HostName(bytes)
            | Parameter::Random(bytes)
            | Parameter::AuthenticatedChunks(bytes)
            | Parameter::Padding(bytes)
            | Parameter::SupportedExtensions(bytes)
            | Parameter::Unknown { value: bytes, .. } => bytes.len() as u32,
            Parameter::Address(address) => address_len(*address),
            Parameter::SupportedAddressTypes(list) | Parameter::HmacAlgorithms(list) => {
                2 * list.len() as u32
            }
            Parameter::Reconfig(request) => request.value_len(),
            Parameter::ForwardTsnSupported => 0,
            Parameter::AddAddress(request)
            | Parameter::DeleteAddress(request)
            | Parameter::SetPrimary(request) => 8 + address_len(request.address),
            Parameter::ErrorIndication { causes, .. } => 4 + cause::list_len_of(causes),
            Parameter::CookiePreservative(_)
            | Parameter::Success { .. }
            | Parameter::Adaptation(_) => 4,
        };
        HEADER as u32 + value
    }

    /// Appends the parameter without padding.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit_tlv(self.kind(), out, |out| self.emit_value(out));
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        match self {
            Parameter::HeartbeatInfo(bytes)
            | Parameter::StateCookie(bytes)
            | Parameter::Unrecognized(bytes)
            | Parameter::HostName(bytes)
            | Parameter::Random(bytes)
            | Parameter::AuthenticatedChunks(bytes)
            | Parameter::Padding(bytes)
            | Parameter::SupportedExtensions(bytes)
            | Parameter::Unknown { value: bytes, .. } => out.extend_from_slice(bytes),
            Parameter::Address(address) => emit_address(*address, out),
            Parameter::SupportedAddressTypes(list) | Parameter::HmacAlgorithms(list) => {
                list.iter().for_each(|item| out.extend_from_slice(&item.to_be_bytes()));
            }
            Parameter::Reconfig(request) => request.emit_value(out),
            Parameter::ForwardTsnSupported => {}
            Parameter::AddAddress(request)
            | Parameter::DeleteAddress(request)
            | Parameter::SetPrimary(request) => {
                out.extend_from_slice(&request.correlation.to_be_bytes());
                Parameter::Address(request.address).emit(out);
            }
            Parameter::ErrorIndication { correlation, causes } => {
                out.extend_from_slice(&correlation.to_be_bytes());
                cause::emit_causes(causes, out);
            }
            Parameter::CookiePreservative(number)
            | Parameter::Success { correlation: number }
            | Parameter::Adaptation(number) => out.extend_from_slice(&number.to_be_bytes()),
        }
    }

    /// A parameter of this type; `None` if its length is impossible for the type.
    pub(super) fn parse(item: Tlv<'_>) -> Option<Parameter> {
        let value = item.value;
        let bytes = || Bytes::copy_from_slice(value);
        Some(match item.kind {
            HEARTBEAT_INFO => Parameter::HeartbeatInfo(bytes()),
            IPV4_ADDRESS | IPV6_ADDRESS => Parameter::Address(parse_address(item)?),
            STATE_COOKIE => Parameter::StateCookie(bytes()),
            UNRECOGNIZED => Parameter::Unrecognized(bytes()),
            COOKIE_PRESERVATIVE => Parameter::CookiePreservative(number(value)?),
            HOST_NAME => Parameter::HostName(bytes()),
            SUPPORTED_ADDRESS_TYPES => Parameter::SupportedAddressTypes(numbers(value)?),
            RANDOM => Parameter::Random(bytes()),
            CHUNKS => Parameter::AuthenticatedChunks(bytes()),
            HMAC_ALGO => Parameter::HmacAlgorithms(numbers(value)?),
            PAD => Parameter::Padding(bytes()),
            SUPPORTED_EXTENSIONS => Parameter::SupportedExtensions(bytes()),
            FORWARD_TSN_SUPPORTED if value.is_empty() => Parameter::ForwardTsnSupported,
            FORWARD_TSN_SUPPORTED => return None,
            ADD_ADDRESS => Parameter::AddAddress(AddressRequest::parse(value)?),
            DELETE_ADDRESS => Parameter::DeleteAddress(AddressRequest::parse(value)?),
            ERROR_INDICATION => {
                let mut fields = Fields(value);
                let correlation = fields.u32()?;
                Parameter::ErrorIndication { correlation, causes: cause::parse_causes(fields.0) }
            }
            SET_PRIMARY => Parameter::SetPrimary(AddressRequest::parse(value)?),
            SUCCESS => Parameter::Success { correlation: number(value)? },
            ADAPTATION => Parameter::Adaptation(number(value)?),
            kind if Request::KINDS.contains(&kind) => {
                Parameter::Reconfig(Request::parse(kind, value)?)
            }
            kind => Parameter::Unknown { kind, value: bytes() },
        })
    }
}

impl AddressRequest {
    fn parse(value: &[u8]) -> Option<AddressRequest> {
        let mut fields = Fields(value);
        let correlation = fields.u32()?;
        let address = parse_address(Tlvs(fields.0).next()??)?;
        // Nothing may follow, or it would be lost.
        let is_whole = fields.0.len() as u32 == HEADER as u32 + address_len(address);
        is_whole.then_some(AddressRequest { correlation, address })
    }
}

/// Length of a list of parameters in bytes.
pub(super) fn list_len_of(parameters: &[Parameter]) -> u32 {
    list_len(parameters.iter().map(Parameter::wire_len))
}

/// Appends parameters in order with padding between them.
pub(super) fn emit_parameters(parameters: &[Parameter], out: &mut Vec<u8>) {
    emit_list(parameters, out, Parameter::emit);
}

/// The parameters of a list; `None` if one of them is malformed.
pub(super) fn parse_parameters(list: &[u8]) -> Option<Vec<Parameter>> {
    Tlvs(list).map(|item| Parameter::parse(item?)).collect()
}

/// The address of an address parameter.
pub(super) fn parse_address(item: Tlv<'_>) -> Option<IpAddr> {
    match item.kind {
        IPV4_ADDRESS => <[u8; 4]>::try_from(item.value).ok().map(IpAddr::from),
        IPV6_ADDRESS => <[u8; 16]>::try_from(item.value).ok().map(IpAddr::from),
        _ => None,
    }
}

const fn address_len(address: IpAddr) -> u32 {
    if address.is_ipv4() { 4 } else { 16 }
}

/// Appends the 4 or 16 bytes of an address.
pub(super) fn emit_address(address: IpAddr, out: &mut Vec<u8>) {
    match address {
        IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
        IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
    }
}

/// The number in a value of exactly four bytes.
fn number(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_be_bytes)
}

/// The 16-bit numbers that fill a value.
pub(super) fn numbers(value: &[u8]) -> Option<Box<[u16]>> {
    let pairs = value.chunks_exact(2);
    let whole = pairs.remainder().is_empty();
    whole.then(|| pairs.map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect())
}
