//! LIA, "coupled" in 001: linked increases (RFC 6356). The paths of a connection together take no
//! more than one TCP would on the best of them.
//!
//! The increase in congestion avoidance is that of `law::lia`; a loss halves the window. With
//! `kernel_compat` the integers of the multipath-tcp kernel v0.95 (`mptcp_coupled.c`): one segment
//! after `n + 1` acknowledgements, `n = max(w_i, w_total / alpha)`, regardless of what each covers.

use super::byte_control::ByteLaw;
use super::choice::ControllerRow;
use super::controller::Controller;
use super::coupled::{AckCounter, Coupled, Rule};
use super::law::{self, Flow};
use super::lisa;
use super::segment_window::{MIN_SSTHRESH_SEGS, SegmentWindow, truncate};
use super::{CongestionEvent, Options};
use crate::parameters::{Kind, Parameter};

/// The row of `lia`.
pub(super) const ROW: ControllerRow = ControllerRow {
    name: "lia",
    about: "LIA: all paths together take as much as one TCP on the best path. Coupled.",
    source: "RFC 6356; `coupled` in 001 and multipath-tcp kernel v0.95",
    parameters: PARAMETERS,
    is_coupled: true,
    make: |options| Controller::Lia(Lia::new(*options)),
    bytes: Some(BYTES),
};

/// The row of `lia-printed`.
pub(super) const PRINTED_ROW: ControllerRow = ControllerRow {
    name: "lia-printed",
    about: "LIA as 003 prints it: bytes and packets mixed, which hardly couples the paths.",
    source: "003 sII-B",
    parameters: &[],
    is_coupled: true,
    make: |options| Controller::LiaPrinted(LiaPrinted::new(*options)),
    bytes: Some(ByteLaw {
        slow_start_share: |flows, own, pmdcs| law::lia::printed_share(flows, own, pmdcs),
        increase: |flows, own, pmdcs| {
            let step = law::reno::increase(flows[own].cwnd, pmdcs);
            law::lia::printed_share(flows, own, pmdcs) * step
        },
        ..BYTES
    }),
};

/// What a user may set.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "app-limited-alpha",
        about: "1: use the data in flight for a window that is not filled (RFC 6356)",
        least: 0.0,
        most: 1.0,
        default: 0.0,
        kind: Kind::Whole,
        source: "multipath-tcp kernel v0.95",
    },
    lisa::PARAMETER,
];

/// "MPTCP-like" in 003: slow start takes the same share of its step as congestion avoidance,
/// and the floor of the threshold is one PMDCS.
const BYTES: ByteLaw = ByteLaw {
    slow_start_share: |flows, own, _| law::lia::share(flows, own),
    increase: |flows, own, pmdcs| law::lia::increase(flows, flows[own].cwnd, pmdcs),
    reduced: |flows, own| law::reno::decrease(flows[own].cwnd),
    floor: |_, _, pmdcs| pmdcs,
    shares_start: false,
};

/// Linked increases as 003 prints them.
pub(super) type LiaPrinted = Coupled<Printed>;

/// One path under the equation as 003 prints it.
#[derive(Clone, Debug)]
pub struct Printed;

impl Rule for Printed {
    fn new(_options: &Options) -> Self {
        Printed
    }

    fn increase(&mut self, window: &mut SegmentWindow, acked: f64, flows: &[Flow]) {
        let Some(own) = flows.len().checked_sub(1) else { return };
        let share = law::lia::printed_share(flows, own, f64::from(window.mss()));
        window.grow(acked * share * law::reno::increase(window.cwnd(), 1.0));
    }
}

/// The linked increases of one connection.
pub(super) type Lia = Coupled<Linked>;

/// One path's state.
#[derive(Clone, Debug)]
pub struct Linked {
    kernel_compat: bool,
    /// `kernel_compat`: acknowledgements since the last step.
    acks: AckCounter,
}

impl Rule for Linked {
    fn new(options: &Options) -> Self {
        Linked { kernel_compat: options.kernel_compat, acks: AckCounter::default() }
    }

    fn increase(&mut self, window: &mut SegmentWindow, acked: f64, flows: &[Flow]) {
        let own = window.cwnd();
        if !self.kernel_compat {
            window.grow(acked * law::lia::increase(flows, own, 1.0));
        } else if self.acks.steps(law::lia::kernel_step(flows).max(u64::from(window.cwnd_segs()))) {
            window.grow(1.0);
        }
    }

    fn ssthresh(&mut self, window: &SegmentWindow, _: &[Flow], _: &CongestionEvent) -> f64 {
        half(window, self.kernel_compat).max(MIN_SSTHRESH_SEGS)
    }

    fn on_loss(&mut self) {
        self.acks = AckCounter::default();
    }

    fn on_timeout(&mut self) {
        self.acks = AckCounter::default();
    }
}

/// Half of a window, in the kernel's arithmetic cut to whole segments.
pub(super) fn half(window: &SegmentWindow, kernel_compat: bool) -> f64 {
    let half = law::reno::decrease(window.cwnd());
    if kernel_compat { truncate(half) } else { half }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::coupled::tests::{ack_of, avoiding, cwnd, start};
    use crate::congestion::coupled::{self, Coupling};
    use crate::congestion::law::assert_close;
    use crate::congestion::law::lia::increase;
    use crate::congestion::test_support::loss;
    use crate::congestion::{AckSample, CongestionControl, CongestionKind, PathStart};
    use base::{Duration, Instant, PathId};

    const KERNEL: Options = Options { kernel_compat: true, ..Options::LINUX };

    fn flow(cwnd: f64, rtt_ms: u64) -> Flow {
        Flow::new(cwnd, Duration::from_millis(rtt_ms))
    }

    fn growth(paths: &[(u32, u64)], path: u8) -> f64 {
        coupled::tests::growth::<Linked>(paths, path)
    }

    #[test]
    fn growth_of_a_connection_is_that_of_the_law() {
        for paths in [[(20, 10), (10, 100)], [(10, 100), (10, 100)], [(4, 10), (100, 200)]] {
            let flows = paths.map(|(cwnd, rtt_ms)| flow(f64::from(cwnd), rtt_ms));
            for path in [0, 1] {
                let own = flows[usize::from(path)].cwnd;
                assert_close(growth(&paths, path), increase(&flows, own, 1.0));
            }
        }
    }

    #[test]
    fn lia_1_kernel_step_after_n_plus_one_acks() {
        let mut lia: Lia = avoiding(KERNEL, &[(20, 10), (10, 100)]);
        // Acknowledgements count, not what they cover.
        let mut acks_to = |window: u32| {
            let mut acks = 0;
            while lia.cwnd_segs(PathId(0)) < window {
                lia.on_ack(PathId(0), &ack_of(10, 2));
                acks += 1;
            }
            acks
        };
        assert_eq!(acks_to(21), 23);
        // (21504 + 1024)^2 makes alpha 177; the step is 4096 / 177 = 23.
        assert_eq!(acks_to(22), 24);
    }

    #[test]
    fn kernel_counter_is_void_after_a_loss() {
        let mut lia: Lia = avoiding(KERNEL, &[(40, 10), (10, 100)]);
        let path = PathId(0);
        (0..40).for_each(|_| lia.on_ack(path, &ack_of(10, 1)));
        lia.on_congestion(path, &loss(Instant::from_secs(1)));
        lia.on_recovery_exit(path, Instant::from_secs(1));
        (0..20).for_each(|_| lia.on_ack(path, &ack_of(10, 1)));
        assert_eq!(lia.cwnd_segs(path), 20);
    }

    #[test]
    fn sibling_without_sample_or_gone_does_not_count() {
        let mut lia: Lia = avoiding(Options::LINUX, &[(10, 100)]);
        lia.on_path_added(PathId(1), &start(10, Some(1)));
        lia.on_ack(PathId(0), &ack_of(100, 10));
        assert_eq!(cwnd(&lia, 0), 11.0, "a plain TCP's step");
        lia.on_ack(PathId(1), &AckSample { cwnd_limited: false, ..ack_of(100, 1) });
        lia.on_ack(PathId(0), &ack_of(100, 10));
        assert!(cwnd(&lia, 0) < 11.3, "coupled");
        lia.on_path_removed(PathId(1));
        let before = cwnd(&lia, 0);
        for _ in 0..11 {
            lia.on_ack(PathId(0), &ack_of(100, 1));
        }
        assert_eq!(cwnd(&lia, 0), before + 1.0, "alone again");
    }

    #[test]
    fn sibling_in_recovery_counts_with_its_threshold() {
        let mut lia: Lia = avoiding(Options::LINUX, &[(10, 100), (20, 100)]);
        lia.on_congestion(PathId(1), &loss(Instant::from_secs(1)));
        assert_eq!((cwnd(&lia, 1), lia.ssthresh_segs(PathId(1))), (20.0, Some(10)));
        lia.on_ack(PathId(0), &ack_of(100, 1));
        assert_close(cwnd(&lia, 0), 10.025);
        // A time-out is no fast recovery: its window of one segment counts.
        let rto = CongestionEvent { kind: CongestionKind::Rto, ..loss(Instant::from_secs(1)) };
        lia.on_congestion(PathId(1), &rto);
        let before = cwnd(&lia, 0);
        let expected = increase(&[flow(before, 100), flow(1.0, 100)], before, 1.0);
        lia.on_ack(PathId(0), &ack_of(100, 1));
        assert_close(cwnd(&lia, 0) - before, expected);
    }

    #[test]
    fn unfilled_sibling_counts_with_its_flight_on_request() {
        let with = |app_limited_alpha| {
            let coupling = Coupling { app_limited_alpha, ..Coupling::DEFAULT };
            let options = Options { coupling, ..Options::LINUX };
            let mut lia: Lia = avoiding(options, &[(10, 100), (40, 100)]);
            let srtt = Duration::from_millis(100);
            lia.on_path_added(PathId(2), &PathStart { srtt, ..start(10, Some(1)) });
            let unfilled =
                AckSample { cwnd_limited: false, inflight_before_segs: 5, ..ack_of(100, 1) };
            lia.on_ack(PathId(1), &unfilled);
            lia.on_ack(PathId(0), &ack_of(100, 1));
            cwnd(&lia, 0) - 10.0
        };
        let expected = |sibling, unused| {
            let windows = [10.0, sibling, unused];
            increase(&windows.map(|window| flow(window, 100)), 10.0, 1.0)
        };
        assert_close(with(false), expected(40.0, 10.0));
        assert_close(with(true), expected(5.0, 0.0));
    }

    #[test]
    fn loss_halves() {
        let mut lia: Lia = avoiding(Options::LINUX, &[(20, 10), (10, 100)]);
        lia.on_congestion(PathId(0), &loss(Instant::from_secs(1)));
        lia.on_recovery_exit(PathId(0), Instant::from_secs(1));
        assert_eq!((lia.cwnd_segs(PathId(0)), lia.cwnd_segs(PathId(1))), (10, 10));
    }
}
