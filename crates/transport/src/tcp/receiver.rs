//! The receive side's state: reassembly, the window that was announced, and the timestamp to echo.
//!
//! When to acknowledge is in `ack_policy`; buffer sizes are `recovery::ReceiveBuffer`'s.

use super::ack_policy::AckPolicy;
use super::config::Buffers;
use crate::buffer::Reassembly;
use crate::recovery::{ReceiveBuffer, Space};
use base::{Duration, Instant};
use std::ops::Range;

/// SACK blocks that an acknowledgement has room for in any case (three with timestamps).
const SACK_BLOCKS_EXPECTED: usize = 2;

/// The window of a multi-path connection, in bytes from its data acknowledgement on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedWindow {
    /// All its subflows announce this.
    Whole(u32),
    /// Each announces what it earned itself of the room there is (`recovery::SharedBuffer`), and
    /// at least what is left of the window that any of them announced.
    Room { space: Space, left: u32 },
}

/// The receive side of a subflow. Offsets count payload from zero; a FIN takes one more. What
/// sending looks at, too, comes first.
#[derive(Debug)]
#[repr(C)]
pub struct Receiver {
    pub ack: AckPolicy,
    /// `nxt` when the window was last announced (Linux `rcv_wup`).
    pub announced_at: u64,
    /// The window announced then, in bytes.
    pub announced_window: u32,
    /// Bytes beyond `nxt` that such a subflow takes, whatever it announced.
    pub share_limit: u32,
    /// What the multi-path connection says about its window.
    pub shared: Option<SharedWindow>,
    /// The timestamp to echo (RFC 7323 s4.3).
    pub ts_recent: u32,
    /// The FIN was reached in order.
    pub fin_received: bool,
    pub ts_recent_at: Instant,
    /// The echo that was last looked at for a round trip.
    pub last_echo: Option<u32>,
    pub buffer: ReceiveBuffer,
    /// To be reported as duplicate in the next acknowledgement (RFC 2883).
    pub dsack: Option<Range<u64>>,
    /// Offset of the peer's FIN, once seen.
    pub fin_offset: Option<u64>,
    pub data: Reassembly,
}

impl Receiver {
    /// Nothing received.
    pub fn new(buffers: &Buffers, mss: u32) -> Self {
        let buffer = if buffers.auto_tuning {
            ReceiveBuffer::auto(buffers.receive_max, mss)
        } else {
            ReceiveBuffer::fixed(buffers.receive_max, mss)
        };
        Receiver {
            data: Reassembly::new(),
            buffer,
            announced_at: 0,
            announced_window: 0,
            shared: None,
            share_limit: 0,
            fin_offset: None,
            fin_received: false,
            ts_recent: 0,
            ts_recent_at: Instant::ZERO,
            last_echo: None,
            dsack: None,
            ack: AckPolicy::default(),
        }
    }

    /// The peer's SYN came.
    pub fn on_syn(&mut self) {
        self.announced_at = 0;
    }

    /// The handshake is over.
    pub fn on_established(&mut self, now: Instant, mss: u32) {
        self.buffer.on_established(now, mss);
    }

    /// The next offset expected, FIN included.
    pub const fn nxt(&self) -> u64 {
        self.data.next_offset() + self.fin_received as u64
    }

    /// End of the highest byte received.
    pub fn highest(&self) -> u64 {
        self.data.highest()
    }

    /// What is left of the announced window (Linux `tcp_receive_window`).
    pub const fn window_left(&self) -> u64 {
        if self.shared.is_some() {
            return self.share_limit as u64;
        }
        (self.announced_at + self.announced_window as u64).saturating_sub(self.nxt())
    }

    /// Choose the window to announce and remember it. The right edge never moves left
    /// (RFC 9293 s3.8.6).
    pub fn announce_window(&mut self, shift: u8) -> u16 {
        let window = match self.shared {
            // It counts the connection's bytes; what one subflow may bring is bounded by
            // `share_limit`, and the connection checks the rest (RFC 8684 s3.3.5).
            Some(SharedWindow::Whole(window)) => window,
            Some(SharedWindow::Room { space, left }) => self.window_of(space, shift).max(left),
            None => self.own_window(shift),
        };
        self.announced_window = window;
        self.announced_at = self.nxt();
        (window >> shift).min(65_535) as u16
    }

    fn own_window(&mut self, shift: u8) -> u32 {
        let kept = u32::try_from(self.window_left()).unwrap_or(u32::MAX);
        self.buffer.window(kept, shift).min(65_535 << shift)
    }

    /// What this subflow earned of the connection's room; never less than what is left of the
    /// window it announced, which counts its own bytes (Linux `tcp_select_window`).
    fn window_of(&mut self, space: Space, shift: u8) -> u32 {
        let selected = self.buffer.select_of(space.free, space.full, shift);
        let unit = 1u32 << shift;
        let window = selected.max(self.own_left().div_ceil(unit).saturating_mul(unit));
        self.buffer.on_announced(window);
        window
    }

    /// What is left of the window announced last, counted in bytes of this subflow.
    pub fn own_left(&self) -> u32 {
        let left =
            (self.announced_at + u64::from(self.announced_window)).saturating_sub(self.nxt());
        u32::try_from(left).unwrap_or(u32::MAX)
    }

    /// The multi-path connection took what there was to read. Where it tunes one buffer for all
    /// subflows, theirs follow that.
    pub fn on_taken(&mut self, now: Instant, shift: u8) {
        if matches!(self.shared, Some(SharedWindow::Room { .. })) {
            self.buffer.on_taken(self.data.read_offset());
        } else {
            self.on_read(now, shift);
        }
    }

    /// The application read: grow the buffer, and say whether the window opened enough to be
    /// told at once (Linux: at least twice what the peer knows).
    pub fn on_read(&mut self, now: Instant, shift: u8) -> bool {
        let next = self.data.next_offset();
        self.buffer.on_read(now, self.data.read_offset(), next, self.highest());
        let left = self.window_left();
        if 2 * left > u64::from(self.buffer.size()) {
            return false;
        }
        let window = u64::from(self.buffer.select_window(shift));
        window > 0 && window >= 2 * left
    }

    /// Whether payload `start..end` makes a new out-of-order range, or touches one not recently
    /// changed, where the blocks of one acknowledgement are all in use: held acknowledgements
    /// must go first, lest a range is never told (Linux `TCP_SACK_BLOCKS_EXPECTED`).
    pub fn would_crowd_sacks(&self, start: u64, end: u64) -> bool {
        let recent = self.data.sack_ranges();
        let touched = recent.iter().position(|range| range.start <= end && start <= range.end);
        touched.unwrap_or(recent.len()) >= SACK_BLOCKS_EXPECTED
    }

    /// Something is odd: acknowledge the next segments at once.
    pub fn enter_quick_acks(&mut self) {
        self.ack.enter_quick(self.announced_window, self.buffer.segment_size());
    }

    /// A round trip as the receiver sees it, from an echoed timestamp.
    pub fn on_rtt(&mut self, rtt: Duration) {
        let unread = self.data.readable() > 0;
        self.buffer.on_rtt(rtt, unread);
    }
}
