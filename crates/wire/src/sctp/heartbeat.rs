//! `HeartbeatInfo`: what this engine puts into a Heartbeat Info parameter (RFC 9260 s3.3.5).
//!
//! The peer returns it unchanged. The nonce makes guessing it hopeless (RFC 9260 s5.4 and s8.3),
//! and the small size makes heartbeats useless for amplification (RFC 5062 s6).

use super::Parameter;
use super::parameter::emit_address;
use crate::fields::Fields;
use std::net::IpAddr;

/// Content of a heartbeat: which one it is, where and when it was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeartbeatInfo {
    /// Random number.
    pub nonce: u64,
    /// Send time, in microseconds of the sender's clock.
    pub sent_us: u64,
    /// Number of the path.
    pub path: u16,
    /// Destination address.
    pub address: IpAddr,
}

impl HeartbeatInfo {
    /// The parameter with this content, of 28 bytes for IPv4 and 40 for IPv6.
    pub fn to_parameter(&self) -> Parameter {
        let mut out = Vec::with_capacity(36);
        out.extend_from_slice(&self.nonce.to_be_bytes());
        out.extend_from_slice(&self.sent_us.to_be_bytes());
        out.extend_from_slice(&self.path.to_be_bytes());
        out.extend_from_slice(&[if self.address.is_ipv4() { 4 } else { 6 }, 0]);
        emit_address(self.address, &mut out);
        Parameter::HeartbeatInfo(out.into())
    }

    /// The content of a heartbeat that came back; `None` if this engine did not send it.
    pub fn of(parameters: &[Parameter]) -> Option<HeartbeatInfo> {
        let Some(Parameter::HeartbeatInfo(bytes)) = parameters.first() else { return None };
        let mut fields = Fields(bytes);
        let (nonce, sent_us, path) = (fields.u64()?, fields.u64()?, fields.u16()?);
        let address: IpAddr = match fields.take()? {
            [4, 0] => fields.take::<4>()?.into(),
            [6, 0] => fields.take::<16>()?.into(),
            _ => return None,
        };
        fields.is_empty().then_some(HeartbeatInfo { nonce, sent_us, path, address })
    }
}
