//! The duplicate threshold: how much reordering to tolerate before a loss is declared.
//!
//! Linux's adapting reordering degree, and `IsLost` of RFC 6675 s4 for kernels without RACK. The
//! scoreboard itself is left to the connection.

use std::ops::Range;

/// The initial threshold (RFC 5681 s3.2, `net.ipv4.tcp_reordering`).
const INITIAL: u32 = 3;
/// The largest threshold (`net.ipv4.tcp_max_reordering`).
const MAX: u32 = 300;

/// The reordering degree of one path, in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DupThresh {
    segs: u32,
    seen: u64,
}

impl Default for DupThresh {
    fn default() -> Self {
        DupThresh { segs: INITIAL, seen: 0 }
    }
}

impl DupThresh {
    /// Three.
    pub fn new() -> Self {
        DupThresh::default()
    }

    /// The threshold in segments.
    pub const fn segs(&self) -> u32 {
        self.segs
    }

    /// How often reordering was seen.
    pub const fn seen(&self) -> u64 {
        self.seen
    }

    /// A segment never retransmitted, starting at `low`, was acknowledged after data up to
    /// `highest_sacked` had been.
    pub fn on_reordering(&mut self, low: u64, highest_sacked: u64, mss: u32) {
        let Some(distance) = highest_sacked.checked_sub(low).filter(|d| *d > 0) else { return };
        let degree = distance.div_ceil(u64::from(mss.max(1)));
        if degree > u64::from(self.segs) {
            self.segs = degree.min(u64::from(MAX)) as u32;
        }
        self.seen += 1;
    }

    /// The retransmission timer fired outside of a recovery with `sacked_segs` SACKed: that many
    /// arrived and still the threshold was not reached, so it was too high (as Linux).
    pub const fn on_rto(&mut self, sacked_segs: u32) {
        if sacked_segs >= INITIAL && self.segs > INITIAL {
            self.segs = INITIAL;
        }
    }
}

/// `IsLost` of RFC 6675 s4 for the byte before the ranges: `above` are the discontiguous SACKed
/// ranges above it.
pub fn is_lost_rfc6675(above: impl Iterator<Item = Range<u64>>, dup_thresh: u32, mss: u32) -> bool {
    let enough = u64::from(dup_thresh.saturating_sub(1)) * u64::from(mss);
    let mut ranges = 0;
    let mut bytes = 0;
    for range in above {
        ranges += 1;
        bytes += range.end.saturating_sub(range.start);
        if ranges >= dup_thresh || bytes > enough {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threshold_rises_to_the_distance_seen() {
        let mut thresh = DupThresh::new();
        assert_eq!(thresh.segs(), 3);
        thresh.on_reordering(1000, 3000, 1000);
        assert_eq!((thresh.segs(), thresh.seen()), (3, 1));
        thresh.on_reordering(1000, 8001, 1000);
        assert_eq!(thresh.segs(), 8);
        thresh.on_reordering(0, 10_000_000, 1000);
        assert_eq!(thresh.segs(), 300);
        thresh.on_reordering(5000, 5000, 1000);
        assert_eq!(thresh.seen(), 3, "in order");
    }

    #[test]
    fn time_out_with_three_sacked_resets_the_threshold() {
        let mut thresh = DupThresh::new();
        thresh.on_reordering(0, 10_000, 1000);
        thresh.on_rto(2);
        assert_eq!(thresh.segs(), 10);
        thresh.on_rto(3);
        assert_eq!(thresh.segs(), 3);
    }

    #[test]
    fn three_ranges_or_more_than_two_segments_above_prove_a_loss() {
        let is_lost = |ranges: &[Range<u64>]| is_lost_rfc6675(ranges.iter().cloned(), 3, 1000);
        assert!(!is_lost(&[]));
        assert!(!is_lost(&[10..20, 30..40]));
        assert!(is_lost(&[10..20, 30..40, 50..60]));
        assert!(!is_lost(&[1000..2000, 3000..4000]));
        assert!(is_lost(&[1000..2000, 3000..4001]));
    }
}
