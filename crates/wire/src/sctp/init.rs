//! INIT and INIT ACK (RFC 9260 s3.3.2 and s3.3.3).
//!
//! Checks that need no association are here; the handshake is left to `transport`.

use super::parameter::{self, Parameter};
use super::{Cause, Tsn, UnknownRule, VerificationTag};
use crate::fields::Fields;
use bytes::Bytes;

/// INIT or INIT ACK: what an endpoint offers for an association.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Init {
    /// Initiate Tag: verification tag of the packets that the receiver will send.
    pub tag: VerificationTag,
    /// Advertised receiver window, in bytes; at least 1500.
    pub a_rwnd: u32,
    /// Number of outbound streams that the sender wants; at least 1.
    pub outbound_streams: u16,
    /// Most inbound streams that the sender accepts; at least 1.
    pub inbound_streams: u16,
    /// First TSN of the sender.
    pub initial_tsn: Tsn,
    /// Addresses, extensions and so on, in their order.
    pub parameters: Vec<Parameter>,
}

/// Why an INIT or INIT ACK is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitFault {
    /// The Initiate Tag is zero: no packet could answer (RFC 9260 s3.3.2).
    ZeroTag,
    /// Fewer than 1500 bytes of window, or no streams (RFC 9260 s3.3.2).
    InvalidMandatory,
    /// An INIT ACK without State Cookie (RFC 9260 s3.3.3).
    MissingCookie,
    /// A host name instead of an address (RFC 9260 s5.1.2).
    HostName,
    /// A random number of another length than 32 bytes (RFC 4895 s6.1).
    Random,
}

/// Parameters of an INIT or INIT ACK by what to do with them (RFC 9260 s3.2.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdmittedParameters<'a> {
    /// Known parameters, up to the first unknown one that stops processing.
    pub parameters: Vec<&'a Parameter>,
    /// Unknown parameters that must be reported, type and length included, without padding.
    pub unrecognized: Vec<Bytes>,
}

/// The smallest receiver window an endpoint may offer, in bytes (RFC 9260 s3.3.2).
const MIN_WINDOW: u32 = 1500;
/// Length of a random number (RFC 4895 s3.1).
const RANDOM_LEN: usize = 32;

impl Init {
    /// Bytes of the chunk without parameters.
    pub const HEADER: u32 = 20;

    /// Whether an INIT must be refused, and why.
    pub fn fault(&self) -> Option<InitFault> {
        if self.tag == VerificationTag(0) {
            return Some(InitFault::ZeroTag);
        }
        let streams = self.outbound_streams.min(self.inbound_streams);
        if self.a_rwnd < MIN_WINDOW || streams == 0 {
            return Some(InitFault::InvalidMandatory);
        }
        self.admitted().parameters.iter().find_map(|parameter| match parameter {
            Parameter::HostName(_) => Some(InitFault::HostName),
            Parameter::Random(random) if random.len() != RANDOM_LEN => Some(InitFault::Random),
            _ => None,
        })
    }

    /// Whether an INIT ACK must be refused, and why.
    pub fn ack_fault(&self) -> Option<InitFault> {
        self.fault().or(self.cookie().is_none().then_some(InitFault::MissingCookie))
    }

    /// The State Cookie of an INIT ACK.
    pub fn cookie(&self) -> Option<&Bytes> {
        self.admitted().parameters.iter().find_map(|parameter| match parameter {
            Parameter::StateCookie(cookie) => Some(cookie),
            _ => None,
        })
    }

    /// The parameters to process, and those to report.
    pub fn admitted(&self) -> AdmittedParameters<'_> {
        let mut admitted = AdmittedParameters { parameters: vec![], unrecognized: vec![] };
        for parameter in &self.parameters {
            let Parameter::Unknown { kind, .. } = parameter else {
                admitted.parameters.push(parameter);
                continue;
            };
            let rule = UnknownRule::of_parameter(*kind);
            if rule.report {
                let mut copy = Vec::new();
                parameter.emit(&mut copy);
                admitted.unrecognized.push(copy.into());
            }
            if rule.stop {
                break;
            }
        }
        admitted
    }

    pub(super) fn value_len(&self) -> u32 {
        Self::HEADER - 4 + parameter::list_len_of(&self.parameters)
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.tag.0.to_be_bytes());
        out.extend_from_slice(&self.a_rwnd.to_be_bytes());
        out.extend_from_slice(&self.outbound_streams.to_be_bytes());
        out.extend_from_slice(&self.inbound_streams.to_be_bytes());
        out.extend_from_slice(&self.initial_tsn.0.to_be_bytes());
        parameter::emit_parameters(&self.parameters, out);
    }

    pub(super) fn parse(value: &[u8]) -> Option<Init> {
        let mut fields = Fields(value);
        Some(Init {
            tag: VerificationTag(fields.u32()?),
            a_rwnd: fields.u32()?,
            outbound_streams: fields.u16()?,
            inbound_streams: fields.u16()?,
            initial_tsn: Tsn(fields.u32()?),
            parameters: parameter::parse_parameters(fields.0)?,
        })
    }
}

impl InitFault {
    /// Cause of the ABORT that answers; `None` if nothing does.
    pub fn cause(self) -> Option<Cause> {
        match self {
            InitFault::ZeroTag => None,
            InitFault::InvalidMandatory => Some(Cause::InvalidParameter),
            InitFault::MissingCookie => {
                Some(Cause::MissingParameter([Parameter::STATE_COOKIE].into()))
            }
            InitFault::HostName => Some(Cause::UnresolvableAddress(Bytes::new())),
            InitFault::Random => Some(Cause::ProtocolViolation(Bytes::from_static(b"RANDOM"))),
        }
    }
}
