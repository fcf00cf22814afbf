//! Penalties: the window of a path that blocks its siblings is halved (Raiciu and others, NSDI
//! 2012; 004 sII-D).
//!
//! Only the arithmetic, in segments; `reinjection` decides which path is penalised and how often.
//! A penalty is no congestion event: nothing is retransmitted, and a path whose window falls below
//! its flight pauses.

use super::segment_window::{MIN_SSTHRESH_SEGS, SegmentWindow};

/// The kinds of penalty. All halve the window; they differ in the slow-start threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Penalty {
    /// The threshold becomes the new window (NSDI 2012 as in 004 sII-D).
    Nsdi12,
    /// An infinite threshold becomes the new window, a finite one stays (004 Algorithm 1 as
    /// printed, which contradicts the text of 004).
    P004,
    /// A finite threshold becomes the new window, an infinite one stays: no effect on the
    /// threshold in the initial slow start (004 sII-D on CoNEXT 2013).
    Conext13,
    /// The threshold is halved if the window had reached it (multipath-tcp kernel v0.95,
    /// `mptcp_rcv_buf_optimization`).
    Kernel,
}

impl Penalty {
    /// Applies the penalty to the window of a path.
    pub(super) fn apply(self, window: &mut SegmentWindow) {
        let (cwnd, ssthresh) = self.halved(window.cwnd(), window.ssthresh());
        window.set_cwnd(cwnd);
        if ssthresh < window.ssthresh() {
            window.set_ssthresh(ssthresh);
        }
    }

    /// Window and threshold after the penalty.
    fn halved(self, cwnd: f64, ssthresh: f64) -> (f64, f64) {
        let half = (cwnd / 2.0).max(1.0);
        let lowered = match self {
            Penalty::Nsdi12 => half,
            Penalty::P004 if ssthresh.is_infinite() => half,
            Penalty::Conext13 if ssthresh.is_finite() => half,
            Penalty::Kernel if cwnd >= ssthresh => ssthresh / 2.0,
            _ => return (half, ssthresh),
        };
        (half, lowered.max(MIN_SSTHRESH_SEGS).min(ssthresh))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rp_1_windows_and_thresholds_of_each_kind() {
        let infinite = f64::INFINITY;
        for (kind, initial, later) in [
            (Penalty::Nsdi12, 10.0, 10.0),
            (Penalty::P004, 10.0, 12.0),
            (Penalty::Conext13, infinite, 10.0),
            (Penalty::Kernel, infinite, 6.0),
        ] {
            assert_eq!(kind.halved(20.0, infinite), (10.0, initial), "{kind:?}");
            assert_eq!(kind.halved(20.0, 12.0), (10.0, later), "{kind:?}");
        }
    }

    #[test]
    fn kernel_keeps_the_threshold_of_a_window_below_it() {
        assert_eq!(Penalty::Kernel.halved(11.0, 12.0), (5.5, 12.0));
    }

    #[test]
    fn no_penalty_goes_below_the_smallest_window_or_raises_a_threshold() {
        for kind in [Penalty::Nsdi12, Penalty::P004, Penalty::Conext13, Penalty::Kernel] {
            assert_eq!(kind.halved(1.0, 1.0), (1.0, 1.0), "{kind:?}");
            let mut window = SegmentWindow::new(1448, 3, Some(2));
            kind.apply(&mut window);
            assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (1, Some(2)), "{kind:?}");
        }
    }
}
