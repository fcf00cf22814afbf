//! Receive-buffer auto-tuning, "dynamic right-sizing", as Linux 6.18 does it.
//!
//! To be completed.

use base::{Duration, Instant};

/// The receive buffer of a connection.
#[derive(Clone, Debug)]
pub struct ReceiveBuffer {
    size: u32,
    max: u32,
}

impl ReceiveBuffer {
    /// Grows from 131072 to `max` bytes of memory. `advmss`: payload of a full segment.
    pub fn auto(max: u32, _advmss: u32) -> Self {
        ReceiveBuffer { size: max.min(131_072), max }
    }

    /// Fixed at `size` bytes of memory.
    pub fn fixed(size: u32, _advmss: u32) -> Self {
        ReceiveBuffer { size, max: size }
    }

    /// The window field of the SYN, in bytes.
    pub fn initial_window(&self) -> u32 {
        self.size / 2
    }

    /// The handshake is over; data may come.
    pub fn on_established(&mut self, _now: Instant) {}

    /// A data segment of `len` payload bytes occupying `truesize` was queued.
    pub fn on_segment(&mut self, _len: u32, _truesize: u32, _in_order: bool) {}

    /// An echoed timestamp gave a round trip as the receiver sees it.
    pub fn on_rtt(&mut self, _rtt: Duration, _unread: u64) {}

    /// The application read up to `read_offset`; `next_offset` is the first missing byte.
    pub fn on_read(&mut self, _now: Instant, _read_offset: u64, _next_offset: u64) {}

    /// The window to advertise given the memory in use.
    pub fn window(&self, used: u32) -> u32 {
        self.size.saturating_sub(used) / 2
    }

    /// The present size in bytes of memory.
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// The largest size in bytes of memory.
    pub const fn max(&self) -> u32 {
        self.max
    }
}

/// Memory of a received packet of `ip_len` bytes.
pub fn received_truesize(ip_len: u32) -> u32 {
    (ip_len + 64 + 320).next_power_of_two() + 256
}
