//! The receiving half of the data sequence space: one buffer and one window for all subflows
//! (RFC 8684 s3.3.2, s3.3.4). This is where head-of-line blocking happens.

use crate::buffer::Reassembly;
use crate::recovery::{ReceiveBuffer, Received, received_truesize};
use base::Instant;
use wire::Payload;

/// The receiving half.
#[derive(Debug)]
pub struct DataReceive {
    pub data: Reassembly,
    pub buffer: ReceiveBuffer,
    /// The right edge that was announced on any subflow; never moves left.
    pub edge: u64,
    /// Data sequence number of offset zero.
    pub first_dsn: u64,
    /// Offset of the peer's DATA_FIN, once seen.
    pub fin_offset: Option<u64>,
    /// The DATA_FIN was reached in order.
    pub fin_received: bool,
    /// The peer sent a 64-bit number: acknowledgements must have 64 bits.
    pub long_numbers: bool,
    pub duplicate_bytes: u64,
    /// Some data came at another offset of the connection than of the subflow: the two are not
    /// one stream, as they must be for falling back.
    pub shifted: bool,
}

impl DataReceive {
    /// Nothing received.
    pub fn new(buffer: ReceiveBuffer) -> Self {
        let edge = u64::from(buffer.initial_window());
        DataReceive {
            data: Reassembly::new(),
            buffer,
            edge,
            first_dsn: 0,
            fin_offset: None,
            fin_received: false,
            long_numbers: false,
            duplicate_bytes: 0,
            shifted: false,
        }
    }

    /// The next offset expected, DATA_FIN included.
    pub const fn nxt(&self) -> u64 {
        self.data.next_offset() + self.fin_received as u64
    }

    /// The number that is to be acknowledged.
    pub const fn ack_number(&self) -> u64 {
        self.first_dsn.wrapping_add(self.nxt())
    }

    /// Payload from a subflow. Whether something new arrived in order; what lies beyond the
    /// announced edge (RFC 8684 s3.8) or behind the end of the stream is dropped.
    pub fn insert(&mut self, now: Instant, offset: u64, payload: Payload) -> bool {
        let len = payload.len();
        let end = self.fin_offset.map_or(self.edge, |fin| fin.min(self.edge));
        let room = end.saturating_sub(offset).min(u64::from(len)) as u32;
        let payload = if room == len { payload } else { payload.slice(0, room) };
        if payload.is_empty() {
            return false;
        }
        let inserted = self.data.insert(offset, payload);
        self.duplicate_bytes += u64::from(room) - inserted.new_bytes;
        if inserted.new_bytes == 0 {
            return false;
        }
        // New bytes are a part of a payload, whose length is a u32.
        let fresh = inserted.new_bytes as u32;
        self.buffer.on_segment(&Received {
            now,
            len: fresh,
            truesize: received_truesize(fresh + 80),
            push: false,
            in_order: !inserted.out_of_order,
            next_offset: self.data.next_offset(),
            highest: self.highest(),
        });
        inserted.advanced > 0
    }

    /// Payload that was not read, in bytes.
    pub const fn held(&self) -> u64 {
        self.data.readable() + self.data.out_of_order_bytes()
    }

    /// End of the highest byte received.
    pub fn highest(&self) -> u64 {
        self.data.highest()
    }

    /// Whether the DATA_FIN is reached just now.
    pub fn reach_fin(&mut self) -> bool {
        let reached = !self.fin_received && self.fin_offset == Some(self.data.next_offset());
        self.fin_received |= reached;
        reached
    }

    /// The window to announce on every subflow, in bytes from the data acknowledgement on.
    pub fn window(&mut self, shift: u8) -> u32 {
        let kept = self.edge.saturating_sub(self.nxt());
        let kept = u32::try_from(kept).unwrap_or(u32::MAX);
        let window = self.buffer.window(kept, shift).min(65_535 << shift);
        self.edge = self.edge.max(self.nxt() + u64::from(window));
        window
    }

    /// The application read: whether the window opened enough to be told at once.
    pub fn on_read(&mut self, now: Instant, shift: u8) -> bool {
        let next = self.data.next_offset();
        self.buffer.on_read(now, self.data.read_offset(), next, self.highest());
        let left = self.edge.saturating_sub(self.nxt());
        if 2 * left > u64::from(self.buffer.size()) {
            return false;
        }
        let window = u64::from(self.buffer.select_window(shift));
        window > 0 && window >= 2 * left
    }
}
