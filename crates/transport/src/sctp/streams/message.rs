//! Messages as users send and receive them, and how they are framed.

use base::Instant;
use wire::Payload;
use wire::sctp::{Data, IData};

/// A user message to send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Stream identifier.
    pub stream: u16,
    /// Payload protocol identifier, opaque to SCTP.
    pub ppid: u32,
    /// Deliver it as soon as it is complete, whatever is missing before it.
    pub unordered: bool,
    /// Ask for a SACK as soon as its last fragment arrives (RFC 9260 s3.3.1, I bit).
    pub immediate: bool,
    /// When to give it up.
    pub reliability: Reliability,
    /// User data, at least one byte.
    pub payload: Payload,
}

/// When a message is abandoned (RFC 3758, RFC 7496).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reliability {
    /// Never.
    #[default]
    Full,
    /// At this time (RFC 3758 s4).
    Lifetime(Instant),
    /// When one of its fragments would be retransmitted more often than this (RFC 7496 s3.1).
    Retransmissions(u32),
    /// When the send buffer is full and a more important message comes; a larger number is less
    /// important (RFC 7496 s3.2).
    Priority(u32),
}

/// A whole message received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// Stream identifier.
    pub stream: u16,
    /// Payload protocol identifier of its first fragment.
    pub ppid: u32,
    /// It was delivered without regard to the messages before it.
    pub unordered: bool,
    /// User data.
    pub payload: Payload,
}

/// Number of a message to send, in the order in which messages are queued.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct MessageKey(pub u64);

/// Chunks that carry user data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Framing {
    /// DATA: the fragments of a message have consecutive TSNs (RFC 9260 s6.9).
    #[default]
    Data,
    /// I-DATA: fragments of several streams may alternate (RFC 8260 s2).
    Interleaved,
}

impl Framing {
    /// Bytes of a chunk without its payload and padding.
    pub const fn header(self) -> u32 {
        match self {
            Framing::Data => Data::HEADER,
            Framing::Interleaved => IData::HEADER,
        }
    }
}
