//! BALIA, balanced linked adaptation (draft-walid-mptcp-congestion-control-04; multipath-tcp kernel
//! v0.95, `mptcp_balia.c`).
//!
//! Increase and decrease are those of `law::balia`. A loss may leave a single segment, so that a
//! congested path can be drained. The growth for one acknowledged segment is bounded to one
//! segment, which the formula does not do.
//!
//! With `kernel_compat` the kernel's integers: one segment after `n + 1` acknowledgements, because
//! its counter is compared before it is raised; `alpha_i` and the decrease cut to whole numbers.

use super::choice::ControllerRow;
use super::controller::Controller;
use super::coupled::{AckCounter, Coupled, Rule};
use super::law::{self, Flow};
use super::lisa;
use super::segment_window::SegmentWindow;
use super::{CongestionEvent, Options};
use crate::parameters::{Kind, Parameter};

/// The row of `balia`.
pub(super) const ROW: ControllerRow = ControllerRow {
    name: "balia",
    about: "BALIA: balances fairness to a single TCP against responsiveness. Coupled.",
    source: "draft-walid-04, multipath-tcp kernel v0.95 `balia`",
    parameters: PARAMETERS,
    is_coupled: true,
    make: |options| Controller::Balia(Balia::new(*options)),
    bytes: None,
};

/// What a user may set.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "min-ssthresh",
        about: "smallest threshold of one path among several, in segments",
        least: 1.0,
        most: 2.0,
        default: MIN_SSTHRESH_SEGS,
        kind: Kind::Whole,
        source: "draft-walid-04 and the kernel",
    },
    lisa::PARAMETER,
];

/// The linked windows of one connection.
pub(super) type Balia = Coupled<Balanced>;

/// Smallest threshold of one path among several, in segments.
const MIN_SSTHRESH_SEGS: f64 = 1.0;

/// One path's state.
#[derive(Clone, Debug)]
pub struct Balanced {
    kernel_compat: bool,
    min_ssthresh_segs: f64,
    /// `kernel_compat`: acknowledgements since the last step.
    acks: AckCounter,
}

impl Rule for Balanced {
    fn new(options: &Options) -> Self {
        let min_ssthresh = options.coupling.min_ssthresh_segs.map_or(MIN_SSTHRESH_SEGS, f64::from);
        Balanced {
            kernel_compat: options.kernel_compat,
            min_ssthresh_segs: min_ssthresh,
            acks: AckCounter::default(),
        }
    }

    fn increase(&mut self, window: &mut SegmentWindow, acked: f64, flows: &[Flow]) {
        let Some(own) = flows.last() else { return };
        if !self.kernel_compat {
            window.grow(acked * law::balia::increase(flows, own, 1.0).min(1.0));
        } else if self.acks.steps(law::balia::kernel_step(flows, own)) {
            window.grow(1.0);
        }
    }

    fn ssthresh(&mut self, window: &SegmentWindow, flows: &[Flow], _: &CongestionEvent) -> f64 {
        let Some(own) = flows.last() else { return law::reno::decrease(window.cwnd()) };
        let decrement = if self.kernel_compat {
            law::balia::kernel_decrement(flows, own, window.cwnd_segs())
        } else {
            law::balia::decrement(flows, own, window.cwnd())
        };
        (window.cwnd() - decrement).max(self.min_ssthresh_segs)
    }

    fn on_loss(&mut self) {
        self.acks = AckCounter::default();
    }

    fn on_timeout(&mut self) {
        self.acks = AckCounter::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::CongestionControl;
    use crate::congestion::coupled::tests::{ack_of, avoiding, growth};
    use crate::congestion::law::assert_close;
    use crate::congestion::test_support::loss;
    use base::{Instant, PathId};

    const EQUAL: [(u32, u64); 2] = [(20, 100), (10, 100)];
    const UNEQUAL: [(u32, u64); 2] = [(20, 10), (10, 100)];
    const KERNEL: Options = Options { kernel_compat: true, ..Options::LINUX };

    /// The threshold of that path after a loss.
    fn ssthresh(options: Options, paths: &[(u32, u64)], path: u8) -> Option<u64> {
        let mut balia: Balia = avoiding(options, paths);
        balia.on_congestion(PathId(path), &loss(Instant::from_secs(1)));
        balia.ssthresh_bytes(PathId(path))
    }

    #[test]
    fn balia_1_equal_round_trip_times() {
        assert_close(growth::<Balanced>(&EQUAL, 0), 0.022_222_2);
        assert_close(growth::<Balanced>(&EQUAL, 1), 0.02);
        // A decrease by 10 and by 7.5.
        assert_eq!(ssthresh(Options::LINUX, &EQUAL, 0), Some(10 * 1428));
        assert_eq!(ssthresh(Options::LINUX, &EQUAL, 1), Some(2 * 1428 + 714));
    }

    #[test]
    fn balia_2_one_path_is_far_slower() {
        assert_close(growth::<Balanced>(&UNEQUAL, 0), 0.045_351_5);
        assert_close(growth::<Balanced>(&UNEQUAL, 1), 0.011_428_6);
        assert_eq!(ssthresh(Options::LINUX, &UNEQUAL, 0), Some(10 * 1428));
        assert_eq!(ssthresh(Options::LINUX, &UNEQUAL, 1), Some(2 * 1428 + 714));
    }

    #[test]
    fn balia_1_kernel_counts_acknowledgements() {
        for (path, ai) in [(0, 45), (1, 50)] {
            let mut balia: Balia = avoiding(KERNEL, &EQUAL);
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
        // 7 * 1.5 = 10 of 15; in real numbers 11.25.
        assert_eq!(ssthresh(KERNEL, &[(30, 10), (15, 100)], 1), Some(5 * 1428));
        assert_eq!(ssthresh(Options::LINUX, &[(30, 10), (15, 100)], 1), Some(3 * 1428 + 1071));
    }

    #[test]
    fn kernel_cuts_alpha_to_a_whole_number() {
        let paths = [(14, 100), (10, 100)];
        // Of alpha 1.4: 10 - 5 * 1.4 = 3 segments are left, in the kernel 5.
        assert_eq!(ssthresh(Options::LINUX, &paths, 1), Some(3 * 1428));
        assert_eq!(ssthresh(KERNEL, &paths, 1), Some(5 * 1428));
    }

    #[test]
    fn congested_path_can_be_drained_to_a_segment() {
        assert_eq!(ssthresh(Options::LINUX, &[(20, 10), (2, 100)], 1), Some(1428));
    }
}
