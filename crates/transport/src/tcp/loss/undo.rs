//! Whether the reduction of an episode of recovery can be undone, because every retransmission
//! proved needless (RFC 3708) or the originals arrived late (Eifel, RFC 3522).
//!
//! The undo itself is in `loss`.

use base::Instant;
use std::ops::Range;

/// The retransmissions of one episode.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Undo {
    /// SND.UNA when the episode began; `None`: no undo is possible.
    marker: Option<u64>,
    /// Retransmissions that no D-SACK has reported; `None`: there were none.
    unreported: Option<u32>,
    /// Time of the first retransmission.
    stamp: Option<Instant>,
}

impl Undo {
    /// An episode begins with `retransmissions` in flight.
    pub(super) fn start(&mut self, una: u64, retransmissions: u32) {
        self.marker = Some(una);
        self.unreported = (retransmissions > 0).then_some(retransmissions);
        if retransmissions == 0 {
            self.stamp = None;
        }
    }

    /// The reduction was undone.
    pub(super) const fn end(&mut self) {
        self.marker = None;
    }

    /// Whether there is a reduction to be undone.
    pub(super) const fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    /// Whether D-SACKs reported every retransmission as a duplicate.
    pub(super) fn are_all_needless(&self) -> bool {
        self.unreported == Some(0)
    }

    /// Time of the first retransmission.
    pub(super) const fn stamp(&self) -> Option<Instant> {
        self.stamp
    }

    /// No episode is running: a later one has retransmissions of its own.
    pub(super) const fn forget_stamp(&mut self) {
        self.stamp = None;
    }

    /// A D-SACK reported `duplicate`: retransmissions of the episode were needless.
    pub(super) fn on_dsack(&mut self, duplicate: Range<u64>, mss: u32) {
        let within = self.marker.is_some_and(|marker| duplicate.end > marker);
        if let Some(open) = self.unreported.filter(|_| within) {
            let segs = (duplicate.end - duplicate.start).div_ceil(u64::from(mss.max(1)));
            self.unreported = Some(open.saturating_sub(segs as u32));
        }
    }

    /// A segment of the episode was retransmitted.
    pub(super) fn on_retransmitted(&mut self, now: Instant) {
        self.stamp.get_or_insert(now);
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_retransmissions_must_be_reported() {
        let mut undo = Undo::default();
        undo.start(1000, 0);
        assert!(undo.is_possible() && !undo.are_all_needless(), "nothing was retransmitted");
        undo.on_retransmitted(Instant::from_millis(5));
        undo.on_retransmitted(Instant::from_millis(6));
        undo.on_dsack(0..1000, 1000);
        undo.on_dsack(1000..2000, 1000);
        assert!(!undo.are_all_needless(), "the first lies before the episode");
        undo.on_dsack(2000..3000, 1000);
        assert!(undo.are_all_needless());
        assert_eq!(undo.stamp(), Some(Instant::from_millis(5)));
    }
}
