//! What is done to the window of a path that blocks its siblings (schedulers spec s11).
//!
//! Only the arithmetic, in segments; who is penalised and how often is `reinjection`'s. A penalty
//! is no congestion event: nothing is retracted, a path whose window falls below its flight rests.

use super::window::{MIN_SSTHRESH, Window};

/// The kinds of penalty; all halve the window, they differ in the slow-start threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Penalty {
    /// The threshold becomes the new window (NSDI 2012 as in 004 sII-D).
    Nsdi12,
    /// It becomes the new window while it is infinite and stays otherwise (004 Algorithm 1 as
    /// printed, which contradicts 004's prose).
    P004,
    /// It becomes the new window once it is finite, so not in the initial slow start (004 sII-D
    /// on CoNEXT 2013).
    Conext13,
    /// It is halved if the window had reached it (multipath-tcp kernel v0.95).
    Kernel,
}

impl Penalty {
    /// Carried out on a path's window.
    pub(super) fn apply(self, window: &mut Window) {
        let (cwnd, ssthresh) = self.halved(window.cwnd(), window.ssthresh());
        window.set_cwnd(cwnd);
        if ssthresh < window.ssthresh() {
            window.set_ssthresh(ssthresh);
        }
    }

    /// Window and threshold afterwards, from those before.
    fn halved(self, cwnd: f64, ssthresh: f64) -> (f64, f64) {
        let half = (cwnd / 2.0).max(1.0);
        let lowered = match self {
            Penalty::Nsdi12 => half,
            Penalty::P004 if ssthresh.is_infinite() => half,
            Penalty::Conext13 if ssthresh.is_finite() => half,
            Penalty::Kernel if cwnd >= ssthresh => ssthresh / 2.0,
            _ => return (half, ssthresh),
        };
        (half, lowered.max(MIN_SSTHRESH).min(ssthresh))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Arithmetic;

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
    fn kernel_spares_the_threshold_of_a_window_below_it() {
        assert_eq!(Penalty::Kernel.halved(11.0, 12.0), (5.5, 12.0));
    }

    #[test]
    fn no_penalty_goes_below_the_smallest_window_or_raises_a_threshold() {
        for kind in [Penalty::Nsdi12, Penalty::P004, Penalty::Conext13, Penalty::Kernel] {
            assert_eq!(kind.halved(1.0, 1.0), (1.0, 1.0), "{kind:?}");
            let mut window = Window::new(Arithmetic::Counter, 1448, 3, Some(2));
            kind.apply(&mut window);
            assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (1, Some(2)), "{kind:?}");
        }
    }
}
