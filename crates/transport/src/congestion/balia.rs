//! BALIA, balanced linked adaptation (draft-walid-mptcp-congestion-control-04, multipath-tcp
//! kernel v0.95; congestion spec s5).
//!
//! With `x_i = w_i / rtt_i` and `alpha_i = max_k x_k / x_i` over all paths with an RTT sample,
//! congestion avoidance on path `i` per segment acknowledged:
//! `w_i += x_i / (rtt_i (sum_k x_k)^2) * (1 + alpha_i) / 2 * (4 + alpha_i) / 5`,
//! and a loss: `w_i -= w_i / 2 * min(alpha_i, 1.5)`, down to a segment, so that a congested path
//! can be drained. Ours: at most a segment more for a segment acknowledged, which the formula does
//! not bound. With `kernel_compat` the kernel's integers: a segment more after `n + 1`
//! acknowledgements, `n = 10 w_i (sum x)^2 / ((x_i + x_max)(4 x_i + x_max))`, as its counter is
//! compared before it is raised; `alpha_i` cut to a whole number; and the decrease, too.

use super::coupled::{AckCounter, Coupled, Flow, Rule, total_rate};
use super::lisa;
use super::window::Window;
use super::{CongestionEvent, Options};
use crate::parameters::{Kind, Parameter};

/// The linked windows of one connection.
pub type Balia = Coupled<Balanced>;

/// What can be set.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "min-ssthresh",
        about: "smallest threshold of one path among several, in segments",
        least: 1.0,
        most: 2.0,
        default: LEAST_SSTHRESH,
        kind: Kind::Whole,
        source: "draft-walid-04 and the kernel",
    },
    lisa::PARAMETER,
];

/// A congested path can be drained to a segment.
const LEAST_SSTHRESH: f64 = 1.0;
/// A loss takes three quarters of the window at most.
const MOST_ALPHA: f64 = 1.5;

/// One path's part.
#[derive(Clone, Debug)]
pub struct Balanced {
    kernel_compat: bool,
    /// The smallest threshold, in segments.
    least: f64,
    /// `kernel_compat`: acknowledgements since the last step.
    acks: AckCounter,
}

impl Rule for Balanced {
    type Told = ();

    fn new(options: &Options) -> Self {
        let least = options.coupling.min_ssthresh_segs.map_or(LEAST_SSTHRESH, f64::from);
        Balanced { kernel_compat: options.kernel_compat, least, acks: AckCounter::default() }
    }

    fn told(&self) {}

    fn increase(&mut self, window: &mut Window, acked: f64, flows: &[Flow<()>]) {
        let Some(own) = flows.last() else { return };
        if !self.kernel_compat {
            window.grow(acked * increase_per_segment(flows, own).min(1.0));
        } else if self.acks.steps(kernel_step(flows, own)) {
            window.grow(1.0);
        }
    }

    fn threshold(&mut self, window: &Window, flows: &[Flow<()>], _: &CongestionEvent) -> f64 {
        let Some(own) = flows.last() else { return window.cwnd() / 2.0 };
        let alpha = alpha(flows, own);
        let decrease = if self.kernel_compat {
            let half = window.cwnd_segs() / 2;
            libm::floor(f64::from(half) * libm::floor(alpha).min(MOST_ALPHA))
        } else {
            window.cwnd() / 2.0 * alpha.min(MOST_ALPHA)
        };
        (window.cwnd() - decrease).max(self.least)
    }

    fn on_loss(&mut self) {
        self.acks = AckCounter::default();
    }

    fn on_timeout(&mut self) {
        self.acks = AckCounter::default();
    }
}

/// `max_k x_k`.
fn largest_rate(flows: &[Flow<()>]) -> f64 {
    flows.iter().map(Flow::rate).fold(0.0, f64::max)
}

/// `alpha_i`, at least 1.
fn alpha(flows: &[Flow<()>], own: &Flow<()>) -> f64 {
    largest_rate(flows) / own.rate()
}

/// What a segment acknowledged on path `own` adds to its window.
fn increase_per_segment(flows: &[Flow<()>], own: &Flow<()>) -> f64 {
    let (total, alpha) = (total_rate(flows), alpha(flows, own));
    own.rate() / (own.rtt() * total * total) * ((1.0 + alpha) / 2.0) * ((4.0 + alpha) / 5.0)
}

/// `n`, at least one.
fn kernel_step(flows: &[Flow<()>], own: &Flow<()>) -> u64 {
    let (total, x, most) = (total_rate(flows), own.rate(), largest_rate(flows));
    let step = 10.0 * own.window * total * total / ((x + most) * (4.0 * x + most));
    // Rounding of products that are whole numbers must not cost one.
    ((step + 1e-9) as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::CongestionControl;
    use crate::congestion::coupled::tests::{ack_of, avoiding, close, growth};
    use crate::congestion::test_support::loss;
    use base::{Instant, PathId};

    const EQUAL: [(u32, u64); 2] = [(20, 100), (10, 100)];
    const UNEQUAL: [(u32, u64); 2] = [(20, 10), (10, 100)];

    /// The threshold of that path after a loss.
    fn threshold(options: Options, paths: &[(u32, u64)], path: u8) -> Option<u64> {
        let mut balia: Balia = avoiding(options, paths);
        balia.on_congestion(PathId(path), &loss(Instant::from_secs(1)));
        balia.ssthresh_bytes(PathId(path))
    }

    fn real() -> Options {
        Options { arithmetic: crate::congestion::Arithmetic::Real, ..Options::LINUX }
    }

    #[test]
    fn balia_1_equal_round_trip_times() {
        close(growth::<Balanced>(&EQUAL, 0), 0.022_222_2);
        close(growth::<Balanced>(&EQUAL, 1), 0.02);
        // A decrease by 10 and by 7.5.
        assert_eq!(threshold(real(), &EQUAL, 0), Some(10 * 1428));
        assert_eq!(threshold(real(), &EQUAL, 1), Some(2 * 1428 + 714));
    }

    #[test]
    fn balia_2_one_path_is_far_slower() {
        close(growth::<Balanced>(&UNEQUAL, 0), 0.045_351_5);
        close(growth::<Balanced>(&UNEQUAL, 1), 0.011_428_6);
        assert_eq!(threshold(real(), &UNEQUAL, 0), Some(10 * 1428));
        assert_eq!(threshold(real(), &UNEQUAL, 1), Some(2 * 1428 + 714));
    }

    #[test]
    fn balia_1_kernel_counts_acknowledgements() {
        let options = Options { kernel_compat: true, ..Options::LINUX };
        for (path, ai) in [(0, 45), (1, 50)] {
            let mut balia: Balia = avoiding(options, &EQUAL);
            let before = balia.cwnd_segs(PathId(path));
            let mut acks = 0;
            while balia.cwnd_segs(PathId(path)) == before {
                balia.on_ack(PathId(path), &ack_of(100, 2));
                acks += 1;
            }
            assert_eq!(acks, ai + 1, "compared, then raised");
        }
    }

    #[test]
    fn kernel_takes_whole_segments_away() {
        let options = Options { kernel_compat: true, ..Options::LINUX };
        // 7 * 1.5 = 10 of 15; by real numbers 11.25 were taken.
        assert_eq!(threshold(options, &[(30, 10), (15, 100)], 1), Some(5 * 1428));
        assert_eq!(threshold(Options::LINUX, &[(30, 10), (15, 100)], 1), Some(3 * 1428 + 1071));
    }

    #[test]
    fn kernel_cuts_alpha_to_a_whole_number() {
        let options = Options { kernel_compat: true, ..real() };
        let paths = [(14, 100), (10, 100)];
        // Of alpha 1.4: 10 - 5 * 1.4 = 3 segments are left, in the kernel 5.
        assert_eq!(threshold(real(), &paths, 1), Some(3 * 1428));
        assert_eq!(threshold(options, &paths, 1), Some(5 * 1428));
    }

    #[test]
    fn congested_path_can_be_drained_to_a_segment() {
        assert_eq!(threshold(real(), &[(20, 10), (2, 100)], 1), Some(1428));
    }
}
