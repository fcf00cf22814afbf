//! The duplicate threshold: how much reordering is tolerated before a loss is declared.
//!
//! Linux's adaptive reordering degree. The scoreboard and the decision which segments are lost are
//! left to the owner.

/// The initial threshold (RFC 5681 s3.2, `net.ipv4.tcp_reordering`).
const INITIAL: u32 = 3;
/// The largest threshold (`net.ipv4.tcp_max_reordering`).
const MAX: u32 = 300;

/// The reordering degree of one path, in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DupThresh {
    segs: u32,
}

impl Default for DupThresh {
    fn default() -> Self {
        DupThresh { segs: INITIAL }
    }
}

impl DupThresh {
    /// The threshold in segments.
    pub(crate) const fn segs(&self) -> u32 {
        self.segs
    }

    /// A segment never retransmitted, starting at `low`, was acknowledged after data up to
    /// `highest_sacked` had been.
    pub(crate) fn on_reordering(&mut self, low: u64, highest_sacked: u64, mss: u32) {
        let Some(distance) = highest_sacked.checked_sub(low).filter(|d| *d > 0) else { return };
        let degree = distance.div_ceil(u64::from(mss.max(1)));
        if degree > u64::from(self.segs) {
            self.segs = degree.min(u64::from(MAX)) as u32;
        }
        debug_assert!((INITIAL..=MAX).contains(&self.segs), "the threshold stays in its bounds");
    }

    /// The retransmission timer fired outside of a recovery while `sacked_segs` segments were
    /// SACKed. If the initial threshold would have been reached, the present one is too high (Linux
    /// `tcp_enter_loss`).
    pub(crate) const fn on_rto(&mut self, sacked_segs: u32) {
        if sacked_segs >= INITIAL && self.segs > INITIAL {
            self.segs = INITIAL;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threshold_rises_to_the_distance_seen() {
        let mut thresh = DupThresh::default();
        assert_eq!(thresh.segs(), 3);
        thresh.on_reordering(1000, 3000, 1000);
        assert_eq!(thresh.segs(), 3, "two segments are below the threshold");
        thresh.on_reordering(1000, 8001, 1000);
        assert_eq!(thresh.segs(), 8);
        thresh.on_reordering(0, 10_000_000, 1000);
        assert_eq!(thresh.segs(), 300);
    }

    #[test]
    fn time_out_with_three_sacked_resets_the_threshold() {
        let mut thresh = DupThresh::default();
        thresh.on_reordering(0, 10_000, 1000);
        thresh.on_rto(2);
        assert_eq!(thresh.segs(), 10);
        thresh.on_rto(3);
        assert_eq!(thresh.segs(), 3);
    }
}
