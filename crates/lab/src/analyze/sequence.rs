//! `Sequence`: what one side of a connection sent when, by position in the connection.
//!
//! Positions of MPTCP are data sequence numbers less that of the first byte, of TCP bytes since the
//! SYN. A page draws them over time.

/// Kind of a sent segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sending {
    /// Bytes that were not seen before.
    New,
    /// Sent again on the same subflow.
    Retransmission,
    /// Sent before under another mapping, mostly on another subflow.
    Reinjection,
}

/// A segment with payload.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SentAt {
    /// Seconds after the first segment of the capture.
    pub time: f64,
    /// Index of the subflow in the connection.
    pub subflow: usize,
    /// Position of its first byte in the connection.
    pub position: u64,
    /// Bytes of payload.
    pub len: u64,
    /// Bytes of the connection among them that were seen here first.
    pub fresh: u64,
    /// Kind.
    pub kind: Sending,
}

/// One direction of a connection over time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sequence {
    /// Segments in the order of time.
    pub sent: Vec<SentAt>,
    /// Acknowledged bytes of the connection: seconds and position, both increasing.
    pub acknowledged: Vec<(f64, u64)>,
}
