//! The receiving half of the data sequence space: one buffer and one window for all subflows
//! (RFC 8684 s3.3.2, s3.3.4). This is where head-of-line blocking happens.

use crate::buffer::Reassembly;
use crate::recovery::{ReceiveBuffer, Received, SharedBuffer, received_truesize};
use crate::tcp::receiver::SharedWindow;
use base::Instant;
use wire::Payload;

/// Who sizes the buffer and chooses the window.
#[derive(Debug)]
pub enum Tuning {
    /// The connection, as if it were one TCP connection: every subflow announces the same.
    Whole(ReceiveBuffer),
    /// The connection sizes the buffer, every subflow chooses its window (mainline).
    Shared(SharedBuffer),
}

/// The receiving half.
#[derive(Debug)]
pub struct DataReceive {
    pub data: Reassembly,
    pub tuning: Tuning,
    /// The right edge that was announced on any subflow; never moves left.
    pub edge: u64,
    /// The window announced last on any subflow, in bytes.
    pub announced: u32,
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
    /// Nothing received. `initial_window`: what the handshake of the first subflow offers.
    pub fn new(tuning: Tuning, initial_window: u32) -> Self {
        DataReceive {
            data: Reassembly::new(),
            tuning,
            edge: u64::from(initial_window),
            announced: initial_window,
            first_dsn: 0,
            fin_offset: None,
            fin_received: false,
            long_numbers: false,
            duplicate_bytes: 0,
            shifted: false,
        }
    }

    /// The first subflow is established.
    pub const fn on_established(&mut self, now: Instant) {
        if let Tuning::Shared(buffer) = &mut self.tuning {
            buffer.on_established(now);
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
        let truesize = received_truesize(fresh + 80);
        match &mut self.tuning {
            Tuning::Shared(buffer) => buffer.on_queued(fresh, truesize),
            Tuning::Whole(buffer) => {
                buffer.on_segment(&Received {
                    now,
                    len: fresh,
                    truesize,
                    push: false,
                    in_order: !inserted.out_of_order,
                    next_offset: self.data.next_offset(),
                    highest: self.data.highest(),
                });
            }
        }
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

    /// What is left of the window that was announced, in bytes.
    fn left(&self) -> u32 {
        u32::try_from(self.edge.saturating_sub(self.nxt())).unwrap_or(u32::MAX)
    }

    /// What subflows are to announce, with windows of this shift.
    pub fn window(&mut self, shift: u8) -> SharedWindow {
        let left = self.left();
        match &mut self.tuning {
            Tuning::Shared(buffer) => SharedWindow::Room { space: buffer.room(), left },
            Tuning::Whole(buffer) => {
                let window = buffer.window(left, shift).min(65_535 << shift);
                self.move_edge(window);
                SharedWindow::Whole(window)
            }
        }
    }

    /// A subflow announced `window` bytes. Whether the right edge moved, so that the others are to
    /// hear of it.
    pub fn on_announced(&mut self, window: u32) -> bool {
        if !matches!(self.tuning, Tuning::Shared(_)) {
            return false;
        }
        self.announced = window;
        self.move_edge(window)
    }

    fn move_edge(&mut self, window: u32) -> bool {
        let before = self.edge;
        self.edge = before.max(self.nxt() + u64::from(window));
        self.edge > before
    }

    /// The largest size of the buffer, in bytes of memory.
    pub const fn max(&self) -> u32 {
        match &self.tuning {
            Tuning::Whole(buffer) => buffer.max(),
            Tuning::Shared(buffer) => buffer.max(),
        }
    }
}
