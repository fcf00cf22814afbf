//! OLIA, opportunistic linked increases (CoNEXT 2012 as in 001, multipath-tcp kernel v0.95;
//! congestion spec s4).
//!
//! Congestion avoidance on path `i`, per segment acknowledged, over the `n` paths with an RTT
//! sample: `w_i += (w_i / rtt_i^2) / (sum_p w_p / rtt_p)^2 + alpha_i / w_i`.
//! `M` are the paths with the largest window, `B` the best ones, those with the largest
//! `l_i / rtt_i^2`, where `l_i` is the larger of what was acknowledged since the last loss and
//! between the last two; `C = B \ M`. `alpha_i` is `1 / (n |C|)` in `C`, `-1 / (n |M|)` in `M` if
//! `C` is not empty, otherwise zero: windows move from the largest to the best. A loss halves.
//!
//! `olia-draft` ranks by `l_i^2 / rtt_i`, as implementations of the draft do. With `kernel_compat`
//! the kernel's integers: the change gathers in units of 2^-10, and the window moves a segment
//! when 1023 of them are there, either way; a loss leaves what has gathered.

use super::coupled::{Coupled, Flow, Rule, half, total_rate};
use super::lisa;
use super::window::{MIN_SSTHRESH, Window};
use super::{AckSample, CongestionEvent, Options};
use crate::parameters::{Kind, Parameter};

/// The linked windows of one connection.
pub type Olia = Coupled<Opportunistic>;

/// The kernel's units in a segment, and how many move the window.
const KERNEL_SCALE: f64 = 1024.0;
const KERNEL_STEP: i64 = 1023;

/// What can be set.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "min-ssthresh",
        about: "smallest threshold of one path among several, in segments; the draft's is 1",
        least: 1.0,
        most: 2.0,
        default: MIN_SSTHRESH,
        kind: Kind::Whole,
        source: "multipath-tcp kernel v0.95",
    },
    lisa::PARAMETER,
];

/// One path's part.
#[derive(Clone, Debug)]
pub struct Opportunistic {
    kernel_compat: bool,
    /// The smallest threshold, in segments.
    least: f64,
    metric: Metric,
    /// Offsets up to which was acknowledged at the last loss but one, at the last loss, and now.
    marks: [u64; 3],
    /// `kernel_compat`: what the window is to move by.
    gathered: i64,
}

/// What makes a path a good one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Metric {
    /// `l / rtt^2`: the kernel.
    Kernel,
    /// `l^2 / rtt`.
    Draft,
}

impl Rule for Opportunistic {
    /// `l_i`, in bytes.
    type Told = u64;

    fn new(options: &Options) -> Self {
        let metric = if options.olia_draft { Metric::Draft } else { Metric::Kernel };
        let least = options.coupling.min_ssthresh_segs.map_or(MIN_SSTHRESH, f64::from);
        let kernel_compat = options.kernel_compat;
        Opportunistic { kernel_compat, least, metric, marks: [0; 3], gathered: 0 }
    }

    fn told(&self) -> u64 {
        let [before, last, now] = self.marks;
        (last - before).max(now - last)
    }

    fn on_ack(&mut self, _window: &mut Window, _flows: &[Flow<u64>], sample: &AckSample) {
        self.marks[2] = self.marks[2].max(sample.snd_una);
    }

    fn increase(&mut self, window: &mut Window, acked: f64, flows: &[Flow<u64>]) {
        let Some(own) = flows.len().checked_sub(1) else { return };
        let change = change(flows, own, self.metric);
        if !self.kernel_compat {
            return window.shift(acked * change);
        }
        self.gathered += (change * KERNEL_SCALE) as i64;
        if self.gathered.abs() >= KERNEL_STEP {
            window.shift(if self.gathered > 0 { 1.0 } else { -1.0 });
            self.gathered = 0;
        }
    }

    fn threshold(&mut self, window: &Window, _: &[Flow<u64>], _: &CongestionEvent) -> f64 {
        half(window, self.kernel_compat).max(self.least)
    }

    fn on_loss(&mut self) {
        let [_, last, now] = self.marks;
        if now != last {
            self.marks = [last, now, now];
        }
    }
}

/// What a segment acknowledged on path `own` changes its window by.
fn change(flows: &[Flow<u64>], own: usize, metric: Metric) -> f64 {
    let flow = &flows[own];
    let total = total_rate(flows);
    flow.rate() / flow.rtt() / (total * total) + alpha(flows, own, metric) / flow.window
}

/// `alpha_i`.
fn alpha(flows: &[Flow<u64>], own: usize, metric: Metric) -> f64 {
    let largest = flows.iter().map(whole_window).max().unwrap_or(0);
    let is_largest = |flow: &Flow<u64>| whole_window(flow) == largest;
    let is_best = |flow: &Flow<u64>| {
        flow.told > 0 && flows.iter().all(|other| metric.is_at_least(flow, other))
    };
    let collected = flows.iter().filter(|flow| is_best(flow) && !is_largest(flow)).count();
    if collected == 0 {
        return 0.0;
    }
    let paths = flows.len() as f64;
    if is_largest(&flows[own]) {
        let count = flows.iter().filter(|flow| is_largest(flow)).count();
        -1.0 / (paths * count as f64)
    } else if is_best(&flows[own]) {
        1.0 / (paths * collected as f64)
    } else {
        0.0
    }
}

/// Windows are compared in whole segments.
fn whole_window(flow: &Flow<u64>) -> u64 {
    flow.window as u64
}

impl Metric {
    /// Whether `a` is as good as `b`, exactly.
    fn is_at_least(self, a: &Flow<u64>, b: &Flow<u64>) -> bool {
        let rtt = |flow: &Flow<u64>| u128::from(flow.srtt.as_micros().max(1));
        let l = |flow: &Flow<u64>| u128::from(flow.told);
        // Data below 2^48 bytes and round-trip times below 2^31 us keep this below 2^128; beyond
        // that both sides are as large as can be, and a tie.
        let product = |one: u128, two: u128| one.saturating_mul(two);
        match self {
            Metric::Kernel => product(l(a), rtt(b) * rtt(b)) >= product(l(b), rtt(a) * rtt(a)),
            Metric::Draft => {
                product(product(l(a), l(a)), rtt(b)) >= product(product(l(b), l(b)), rtt(a))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::coupled::tests::{ack_of, avoiding, close, growth};
    use crate::congestion::test_support::loss;
    use crate::congestion::{CongestionControl, CongestionEvent, CongestionKind};
    use base::{Duration, Instant, PathId};
    use proptest::prelude::*;

    fn flow(window: f64, rtt_ms: u64, told: u64) -> Flow<u64> {
        Flow { window, srtt: Duration::from_millis(rtt_ms), told }
    }

    fn changes(flows: &[Flow<u64>]) -> Vec<f64> {
        (0..flows.len()).map(|own| change(flows, own, Metric::Kernel)).collect()
    }

    #[test]
    fn olia_1_windows_move_to_the_best_path() {
        let flows = [flow(20.0, 100, 300), flow(10.0, 100, 600)];
        assert_eq!([0, 1].map(|own| alpha(&flows, own, Metric::Kernel)), [-0.5, 0.5]);
        let changes = changes(&flows);
        close(changes[0], -0.002_777_78);
        close(changes[1], 0.061_111_1);
    }

    #[test]
    fn olia_2_best_path_has_the_largest_window() {
        let flows = [flow(20.0, 100, 600), flow(10.0, 100, 300)];
        assert_eq!([0, 1].map(|own| alpha(&flows, own, Metric::Kernel)), [0.0, 0.0]);
        let changes = changes(&flows);
        close(changes[0], 0.022_222_2);
        close(changes[1], 0.011_111_1);
    }

    #[test]
    fn olia_3_two_largest_windows_give_to_a_third_path() {
        let flows = [flow(12.0, 50, 100), flow(12.0, 50, 120), flow(6.0, 50, 700)];
        let alphas = [0, 1, 2].map(|own| alpha(&flows, own, Metric::Kernel));
        [-1.0 / 6.0, -1.0 / 6.0, 1.0 / 3.0].into_iter().zip(alphas).for_each(|(a, b)| close(a, b));
        let changes = changes(&flows);
        close(changes[0], -0.000_555_556);
        close(changes[1], -0.000_555_556);
        close(changes[2], 0.062_222_2);
    }

    #[test]
    fn the_two_metrics_disagree() {
        let (first, second) = (flow(9.0, 10, 100), flow(9.0, 40, 300));
        assert!(Metric::Kernel.is_at_least(&first, &second));
        assert!(!Metric::Kernel.is_at_least(&second, &first));
        assert!(Metric::Draft.is_at_least(&second, &first));
        assert!(!Metric::Draft.is_at_least(&first, &second));
    }

    #[test]
    fn path_without_data_acknowledged_is_never_the_best() {
        let flows = [flow(20.0, 100, 0), flow(10.0, 1, 0)];
        assert_eq!([0, 1].map(|own| alpha(&flows, own, Metric::Kernel)), [0.0, 0.0]);
    }

    #[test]
    fn data_between_losses_are_the_larger_of_the_last_two_stretches() {
        let mut rule = Opportunistic::new(&Options::LINUX);
        let mut window = Window::new(crate::congestion::Arithmetic::Real, 1448, 10, None);
        let mut acked_to = |rule: &mut Opportunistic, snd_una| {
            rule.on_ack(&mut window, &[], &AckSample { snd_una, ..ack_of(100, 1) });
            rule.told()
        };
        assert_eq!([1000, 3000].map(|una| acked_to(&mut rule, una)), [1000, 3000]);
        rule.on_loss();
        assert_eq!(acked_to(&mut rule, 4000), 3000);
        rule.on_loss();
        assert_eq!(rule.told(), 1000, "the stretch of 3000 lies too far back");
        rule.on_loss();
        assert_eq!(rule.told(), 1000, "a loss without anything acknowledged begins no stretch");
        assert_eq!(acked_to(&mut rule, 6000), 2000);
    }

    /// The ACKs until the window has moved by a segment.
    fn acks_to_move(olia: &mut Olia, path: u8, rtt_ms: u64) -> (u32, u32) {
        let before = olia.cwnd_segs(PathId(path));
        let mut acks = 0;
        while olia.cwnd_segs(PathId(path)) == before && acks < 10_000 {
            olia.on_ack(PathId(path), &ack_of(rtt_ms, 2));
            acks += 1;
        }
        (acks, olia.cwnd_segs(PathId(path)))
    }

    #[test]
    fn kernel_moves_a_segment_at_1023_units_either_way() {
        let options = Options { kernel_compat: true, ..Options::LINUX };
        let mut olia: Olia = avoiding(options, &[(20, 100), (10, 100)]);
        // 1024 / 90 = 11 units an ACK on the second path: 93 of them make 1023.
        assert_eq!(acks_to_move(&mut olia, 1, 100), (93, 11));
        // Best is the one with data acknowledged, which is not the largest: -0.5 / 20 and its own.
        let data = AckSample { snd_una: 600, cwnd_limited: false, ..ack_of(100, 1) };
        olia.on_ack(PathId(1), &data);
        let change = change(&[flow(11.0, 100, 600), flow(20.0, 100, 0)], 1, Metric::Kernel);
        let units = (change * 1024.0) as i64;
        assert!(units < 0, "{units}");
        let acks = u32::try_from(1023 / -units + i64::from(1023 % -units != 0)).unwrap();
        assert_eq!(acks_to_move(&mut olia, 0, 100), (acks, 19));
    }

    #[test]
    fn kernel_keeps_what_has_gathered_over_a_loss() {
        let options = Options { kernel_compat: true, ..Options::LINUX };
        let mut olia: Olia = avoiding(options, &[(20, 100), (20, 100)]);
        let path = PathId(1);
        // 1024 * 20 / 40^2 = 12 units an ACK.
        (0..85).for_each(|_| olia.on_ack(path, &ack_of(100, 1)));
        olia.on_congestion(path, &loss(Instant::from_secs(1)));
        olia.on_recovery_exit(path, Instant::from_secs(1));
        assert_eq!(olia.cwnd_segs(path), 10);
        // 1020 and 1024 * 10 / 30^2 = 11 more.
        olia.on_ack(path, &ack_of(100, 1));
        assert_eq!(olia.cwnd_segs(path), 11);
    }

    #[test]
    fn growth_of_a_connection_is_that_of_the_rule() {
        close(growth::<Opportunistic>(&[(20, 100), (10, 100)], 0), 0.022_222_2);
    }

    #[test]
    fn repeated_time_out_begins_no_stretch() {
        let mut olia: Olia = avoiding(Options::LINUX, &[(20, 100), (10, 100)]);
        let acked = |una| AckSample { snd_una: una, cwnd_limited: false, ..ack_of(100, 1) };
        let (path, now) = (PathId(0), Instant::from_secs(1));
        olia.on_ack(path, &acked(5000));
        olia.on_congestion(path, &CongestionEvent { kind: CongestionKind::Rto, ..loss(now) });
        olia.on_ack(path, &acked(6000));
        let again = CongestionEvent { kind: CongestionKind::RtoRepeated, ..loss(now) };
        olia.on_congestion(path, &again);
        let marks = olia.paths.algorithm_mut(path).map(|share| share.rule().marks);
        assert_eq!(marks, Some([0, 5000, 6000]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        /// Congestion spec s8 item 3.
        #[test]
        fn alphas_add_up_to_nothing(
            paths in prop::collection::vec((1..200u32, 1..3000u64, 0..1_000_000u64), 1..9),
            draft in any::<bool>(),
        ) {
            let flows: Vec<_> =
                paths.iter().map(|(w, rtt, l)| flow(f64::from(*w), *rtt, *l)).collect();
            let metric = if draft { Metric::Draft } else { Metric::Kernel };
            let sum: f64 = (0..flows.len()).map(|own| alpha(&flows, own, metric)).sum();
            prop_assert!(sum.abs() < 1e-9, "{}", sum);
        }
    }
}
