//! Requests and responses of RE-CONFIG (RFC 6525 s4).
//!
//! Carrying them out is left to `transport`.

use super::parameter::numbers;
use super::{Parameter, Tsn};
use crate::fields::Fields;
use std::ops::RangeInclusive;

/// A parameter of RE-CONFIG.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Outgoing SSN Reset Request (RFC 6525 s4.1).
    ResetOutgoing {
        /// Re-configuration request sequence number.
        request: u32,
        /// Sequence number of the incoming request that this answers.
        response: u32,
        /// Last TSN assigned by the sender.
        last_tsn: Tsn,
        /// Streams of the sender to reset; all of them if empty.
        streams: Box<[u16]>,
    },
    /// Incoming SSN Reset Request (RFC 6525 s4.2).
    ResetIncoming {
        /// Re-configuration request sequence number.
        request: u32,
        /// Streams of the receiver to reset; all of them if empty.
        streams: Box<[u16]>,
    },
    /// SSN/TSN Reset Request (RFC 6525 s4.3).
    ResetAssociation {
        /// Re-configuration request sequence number.
        request: u32,
    },
    /// Re-configuration Response (RFC 6525 s4.4).
    Response {
        /// Sequence number of the request.
        response: u32,
        /// Outcome.
        result: ReconfigResult,
        /// Next TSN of the sender and of the receiver, after an SSN/TSN reset.
        next_tsns: Option<(Tsn, Tsn)>,
    },
    /// Add Outgoing Streams Request (RFC 6525 s4.5).
    AddOutgoing {
        /// Re-configuration request sequence number.
        request: u32,
        /// Number of streams that the sender wants to add to its own.
        streams: u16,
    },
    /// Add Incoming Streams Request (RFC 6525 s4.6).
    AddIncoming {
        /// Re-configuration request sequence number.
        request: u32,
        /// Number of streams that the receiver is asked to add to its own.
        streams: u16,
    },
}

/// Outcome of a request (RFC 6525 s4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReconfigResult(pub u32);

impl ReconfigResult {
    /// Success: nothing to do.
    pub const NOTHING_TO_DO: ReconfigResult = ReconfigResult(0);
    /// Success: performed.
    pub const PERFORMED: ReconfigResult = ReconfigResult(1);
    /// Denied.
    pub const DENIED: ReconfigResult = ReconfigResult(2);
    /// Error: wrong SSN.
    pub const WRONG_SSN: ReconfigResult = ReconfigResult(3);
    /// Error: a request is already in progress.
    pub const ALREADY_IN_PROGRESS: ReconfigResult = ReconfigResult(4);
    /// Error: bad sequence number.
    pub const BAD_SEQUENCE_NUMBER: ReconfigResult = ReconfigResult(5);
    /// In progress: the requester asks again later.
    pub const IN_PROGRESS: ReconfigResult = ReconfigResult(6);
}

const RESET_OUTGOING: u16 = 13;
const RESET_INCOMING: u16 = 14;
const RESET_ASSOCIATION: u16 = 15;
const RESPONSE: u16 = 16;
const ADD_OUTGOING: u16 = 17;
const ADD_INCOMING: u16 = 18;

impl Request {
    /// Parameter types of RE-CONFIG.
    pub(super) const KINDS: RangeInclusive<u16> = RESET_OUTGOING..=ADD_INCOMING;

    pub(super) const fn kind(&self) -> u16 {
        match self {
            Request::ResetOutgoing { .. } => RESET_OUTGOING,
            Request::ResetIncoming { .. } => RESET_INCOMING,
            Request::ResetAssociation { .. } => RESET_ASSOCIATION,
            Request::Response { .. } => RESPONSE,
            Request::AddOutgoing { .. } => ADD_OUTGOING,
            Request::AddIncoming { .. } => ADD_INCOMING,
        }
    }

    pub(super) const fn value_len(&self) -> u32 {
        match self {
            Request::ResetOutgoing { streams, .. } => 12 + 2 * streams.len() as u32,
            Request::ResetIncoming { streams, .. } => 4 + 2 * streams.len() as u32,
            Request::ResetAssociation { .. } => 4,
            Request::Response { next_tsns: None, .. } => 8,
            Request::Response { next_tsns: Some(_), .. } => 16,
            Request::AddOutgoing { .. } | Request::AddIncoming { .. } => 8,
        }
    }

    pub(super) fn emit_value(&self, out: &mut Vec<u8>) {
        let mut word = |number: u32| out.extend_from_slice(&number.to_be_bytes());
        match self {
            Request::ResetOutgoing { request, response, last_tsn, streams } => {
                [*request, *response, last_tsn.0].into_iter().for_each(word);
                emit_streams(streams, out);
            }
            Request::ResetIncoming { request, streams } => {
                word(*request);
                emit_streams(streams, out);
            }
            Request::ResetAssociation { request } => word(*request),
            Request::Response { response, result, next_tsns } => {
                word(*response);
                word(result.0);
                if let Some((sender, receiver)) = next_tsns {
                    word(sender.0);
                    word(receiver.0);
                }
            }
            Request::AddOutgoing { request, streams }
            | Request::AddIncoming { request, streams } => {
                word(*request);
                word(u32::from(*streams) << 16);
            }
        }
    }

    /// A parameter of one of [`Request::KINDS`]; `None` if its length is impossible.
    pub(super) fn parse(kind: u16, value: &[u8]) -> Option<Request> {
        let mut fields = Fields(value);
        let number = fields.u32()?;
        let parsed = match kind {
            RESET_OUTGOING => {
                let (response, last_tsn) = (fields.u32()?, Tsn(fields.u32()?));
                let streams = take_streams(&mut fields)?;
                Request::ResetOutgoing { request: number, response, last_tsn, streams }
            }
            RESET_INCOMING => {
                let streams = take_streams(&mut fields)?;
                Request::ResetIncoming { request: number, streams }
            }
            RESET_ASSOCIATION => Request::ResetAssociation { request: number },
            RESPONSE => {
                let result = ReconfigResult(fields.u32()?);
                let next_tsns = match fields.is_empty() {
                    true => None,
                    false => Some((Tsn(fields.u32()?), Tsn(fields.u32()?))),
                };
                Request::Response { response: number, result, next_tsns }
            }
            _ => {
                let streams = fields.u16()?;
                fields.u16()?;
                match kind {
                    ADD_OUTGOING => Request::AddOutgoing { request: number, streams },
                    _ => Request::AddIncoming { request: number, streams },
                }
            }
        };
        fields.is_empty().then_some(parsed)
    }
}

/// Whether a RE-CONFIG may have these parameters (RFC 6525 s3.1).
pub(super) fn is_allowed(parameters: &[Parameter]) -> bool {
    let mut kinds: Vec<u16> = parameters.iter().map(Parameter::kind).collect();
    kinds.sort_unstable();
    match kinds[..] {
        [kind] => Request::KINDS.contains(&kind),
        [RESET_OUTGOING, RESET_INCOMING | RESPONSE]
        | [ADD_OUTGOING, ADD_INCOMING]
        | [RESPONSE, RESPONSE] => true,
        _ => false,
    }
}

fn emit_streams(streams: &[u16], out: &mut Vec<u8>) {
    streams.iter().for_each(|stream| out.extend_from_slice(&stream.to_be_bytes()));
}

fn take_streams(fields: &mut Fields<'_>) -> Option<Box<[u16]>> {
    numbers(std::mem::take(&mut fields.0))
}
