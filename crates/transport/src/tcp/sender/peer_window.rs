//! The receive window that the peer announces: SND.WND, SND.WL1 and the probes of a closed window
//! (RFC 9293 s3.3.1, s3.8.6.1).

use wire::SeqNumber;

/// More than any window of a connection: the window of a subflow that only the connection's window
/// bounds.
const LIFTED: u64 = 1 << 40;
/// A largest window up to this size does not bound an offload buffer (Linux `TCP_MSS_DEFAULT`).
const SMALL: u64 = 536;
/// Unanswered probes of a closed window before the connection fails (Linux `tcp_retries2`).
const MAX_PROBES: u32 = 15;

/// The window of the peer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct PeerWindow {
    /// Bytes from the highest cumulative acknowledgement on, as of the last update.
    size: u64,
    largest: u64,
    /// Sequence number of the segment that last updated the window (SND.WL1).
    updated_by: SeqNumber,
    /// Probes of a closed window since the last acknowledgement.
    probes_unanswered: u32,
}

impl PeerWindow {
    /// A closed window, before the handshake.
    pub(crate) const fn new() -> Self {
        PeerWindow { size: 0, largest: 0, updated_by: SeqNumber(0), probes_unanswered: 0 }
    }

    /// Sets the window of the handshake, announced by the segment with number `seq`.
    pub(crate) const fn set(&mut self, seq: SeqNumber, size: u64) {
        self.size = size;
        self.largest = size;
        self.updated_by = seq;
    }

    /// Whether a segment may update the window: it is not older than the last update
    /// (RFC 9293 s3.10.7.4). `advances`: it acknowledges new data.
    pub(crate) fn is_updated_by(&self, seq: SeqNumber, size: u64, advances: bool) -> bool {
        let newer = seq > self.updated_by;
        let same = seq == self.updated_by;
        advances || newer || (same && (size > self.size || size == 0))
    }

    /// Takes the window of a segment over; returns whether it changed.
    pub(crate) fn update(&mut self, seq: SeqNumber, size: u64) -> bool {
        let changed = size != self.size;
        self.updated_by = seq;
        self.size = size;
        self.largest = self.largest.max(size);
        changed
    }

    /// Removes the bound: the window of the connection counts.
    pub(crate) const fn lift(&mut self) {
        self.size = LIFTED;
    }

    /// Limits the window to `size` bytes.
    pub(crate) fn limit(&mut self, size: u64) {
        self.size = self.size.min(size);
    }

    /// The window in bytes, from the highest cumulative acknowledgement on.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// The largest window that the peer announced, in bytes.
    pub(crate) const fn largest(&self) -> u64 {
        self.largest
    }

    /// Largest number of bytes in one offload buffer: half of the largest window (Linux
    /// `tcp_bound_to_half_wnd`).
    pub(crate) const fn offload_bound(&self) -> u64 {
        if self.largest > SMALL { self.largest / 2 } else { u64::MAX }
    }

    /// An acknowledgement came.
    pub(crate) const fn on_answer(&mut self) {
        self.probes_unanswered = 0;
    }

    /// Counts a probe of the closed window; returns whether it may be sent.
    pub(crate) const fn may_probe(&mut self) -> bool {
        if self.probes_unanswered >= MAX_PROBES {
            return false;
        }
        self.probes_unanswered += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_segment_does_not_update_the_window() {
        let mut window = PeerWindow::new();
        window.set(SeqNumber(100), 1000);
        assert!(!window.is_updated_by(SeqNumber(99), 5000, false));
        assert!(window.is_updated_by(SeqNumber(99), 5000, true), "it acknowledges new data");
        assert!(!window.is_updated_by(SeqNumber(100), 900, false), "a smaller one of the same");
        assert!(window.is_updated_by(SeqNumber(100), 0, false));
        assert!(window.update(SeqNumber(101), 2000) && !window.update(SeqNumber(102), 2000));
        window.limit(500);
        assert_eq!((window.size(), window.largest()), (500, 2000));
    }

    #[test]
    fn sixteenth_unanswered_probe_is_refused() {
        let mut window = PeerWindow::new();
        assert_eq!((0..20).filter(|_| window.may_probe()).count(), 15);
        window.on_answer();
        assert!(window.may_probe());
    }
}
