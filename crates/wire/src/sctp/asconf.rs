//! ASCONF and ASCONF ACK (RFC 5061 s4.1).
//!
//! Their requests and responses are parameters; carrying them out is left to `transport`.

use super::parameter::{self, Parameter, parse_address};
use super::tlv::Tlvs;
use crate::fields::Fields;
use std::net::IpAddr;

/// Address configuration change (RFC 5061 s4.1.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asconf {
    /// Serial number, counted from the initial TSN of the sender.
    pub serial: u32,
    /// An address of the sender, by which the association is found if the source is new.
    pub address: IpAddr,
    /// Requests, in the order in which they are carried out.
    pub requests: Vec<Parameter>,
}

/// Address configuration acknowledgement (RFC 5061 s4.1.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AsconfAck {
    /// Serial number of the ASCONF.
    pub serial: u32,
    /// Responses to requests; without any all have succeeded.
    pub responses: Vec<Parameter>,
}

impl Asconf {
    pub(super) fn value_len(&self) -> u32 {
        4 + Parameter::Address(self.address).wire_len() + parameter::list_len_of(&self.requests)
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.serial.to_be_bytes());
        Parameter::Address(self.address).emit(out);
        parameter::emit_parameters(&self.requests, out);
    }

    pub(super) fn parse(value: &[u8]) -> Option<Asconf> {
        let mut fields = Fields(value);
        let serial = fields.u32()?;
        let mut list = Tlvs(fields.0);
        let address = parse_address(list.next()??)?;
        let requests = parameter::parse_parameters(list.0)?;
        Some(Asconf { serial, address, requests })
    }
}

impl AsconfAck {
    pub(super) fn value_len(&self) -> u32 {
        4 + parameter::list_len_of(&self.responses)
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.serial.to_be_bytes());
        parameter::emit_parameters(&self.responses, out);
    }

    pub(super) fn parse(value: &[u8]) -> Option<AsconfAck> {
        let mut fields = Fields(value);
        let serial = fields.u32()?;
        Some(AsconfAck { serial, responses: parameter::parse_parameters(fields.0)? })
    }
}
