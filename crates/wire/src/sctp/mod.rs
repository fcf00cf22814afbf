//! SCTP (RFC 9260): packets, chunks, parameters, error causes and the state cookie.
//!
//! Values and bytes; numbers are those of the wire. Beside RFC 9260: partial reliability (RFC
//! 3758), authentication (RFC 4895), padding (RFC 4820), address and stream re-configuration (RFC
//! 5061, RFC 6525), interleaving (RFC 8260) and NR-SACK. Extensions that are not known are kept as
//! bytes with the rule for them. What chunks mean, and when they may be sent, is left to
//! `transport`.

mod asconf;
mod auth;
mod cause;
mod chunk;
mod chunks;
mod cookie;
pub(crate) mod crc;
mod data;
mod few;
mod forward;
mod heartbeat;
mod init;
mod packet;
mod parameter;
mod reconfig;
mod sack;
mod serial;
mod tlv;
mod unknown;

pub use asconf::{Asconf, AsconfAck};
pub use auth::{Auth, AuthHmac, AuthKey, KeyVector};
pub use cause::Cause;
pub use chunk::{Chunk, RawChunk};
pub use chunks::Chunks;
pub use cookie::{CookieError, CookieSecret, CookieSide, Features, StateCookie};
pub use crc::{crc32c, fill_checksum};
pub use data::{Data, DataFlags, IData};
pub use few::Few;
pub use forward::{ForwardTsn, IForwardTsn, SkippedMessages};
pub use heartbeat::HeartbeatInfo;
pub use init::{AdmittedParameters, Init, InitFault};
pub use packet::{Discard, SctpPacket, UdpPorts, VerificationTag};
pub use parameter::{AddressRequest, IPV4_ADDRESS, IPV6_ADDRESS, Parameter};
pub use reconfig::{ReconfigResult, Request};
pub use sack::{GapBlock, NrSack, RestOfSack, Sack};
pub use serial::{Mid, Ssn, Tsn};
pub use unknown::{Admitted, UnknownRule};
