//! LIA, "coupled" (RFC 6356; congestion spec s3): the paths of a connection together take no more
//! than one TCP would on the best of them.
//!
//! Congestion avoidance on path `i`, per segment acknowledged, over all paths with an RTT sample:
//! `w_i += min(alpha / w_total, 1 / w_i)`,
//! `alpha = w_total * max_i(w_i / rtt_i^2) / (sum_i w_i / rtt_i)^2`.
//! Slow start, time-outs and the halving are a plain TCP's (RFC 6356 s3), those of `uncoupled`;
//! one path alone is NewReno. With `kernel_compat` the multipath-tcp kernel's integers: a segment
//! more after `n + 1` acknowledgements, `n = max(w_i, w_total / alpha)`, whatever each covered.

use super::reno::Reno;
use super::uncoupled::{Algorithm, Uncoupled};
use super::window::Window;
use super::{
    AckSample, CongestionControl, CongestionEvent, CongestionKind, Options, PathStart, Penalty,
};
use base::{Duration, Instant, PathId};

/// The linked increases of one connection.
#[derive(Clone, Debug)]
pub struct Lia {
    paths: Uncoupled<Share>,
    /// Reused for every acknowledgement.
    siblings: Vec<Flow>,
}

impl Lia {
    /// No path yet.
    pub const fn new(options: Options) -> Self {
        Lia { paths: Uncoupled::new(options), siblings: Vec::new() }
    }

    /// Tell the path of an acknowledgement what its siblings have.
    fn inform(&mut self, path: PathId, sample: &AckSample) {
        self.siblings.clear();
        let others = self.paths.parts().filter(|(id, ..)| *id != path);
        self.siblings.extend(others.filter_map(|(_, window, share)| share.flow(window)));
        if let Some(share) = self.paths.algorithm_mut(path) {
            share.srtt = sample.srtt;
            std::mem::swap(&mut share.siblings, &mut self.siblings);
        }
    }

    fn set_recovering(&mut self, path: PathId, recovering: bool) {
        if let Some(share) = self.paths.algorithm_mut(path) {
            share.recovering = recovering;
        }
    }
}

impl CongestionControl for Lia {
    fn on_path_added(&mut self, path: PathId, start: &PathStart) {
        self.paths.on_path_added(path, start);
    }

    fn on_path_removed(&mut self, path: PathId) {
        self.paths.on_path_removed(path);
    }

    fn on_ack(&mut self, path: PathId, sample: &AckSample) {
        self.inform(path, sample);
        self.paths.on_ack(path, sample);
    }

    fn on_congestion(&mut self, path: PathId, event: &CongestionEvent) {
        self.set_recovering(path, event.kind == CongestionKind::FastRecovery);
        self.paths.on_congestion(path, event);
    }

    fn set_recovery_window(&mut self, path: PathId, cwnd_segs: u32) {
        self.paths.set_recovery_window(path, cwnd_segs);
    }

    fn on_recovery_exit(&mut self, path: PathId, now: Instant) {
        self.set_recovering(path, false);
        self.paths.on_recovery_exit(path, now);
    }

    fn on_undo(&mut self, path: PathId, now: Instant) {
        self.set_recovering(path, false);
        self.paths.on_undo(path, now);
    }

    fn on_idle_restart(&mut self, path: PathId, idle: Duration, rto: Duration, now: Instant) {
        self.paths.on_idle_restart(path, idle, rto, now);
    }

    fn on_transmit_start(&mut self, path: PathId, idle: Duration, now: Instant) {
        self.paths.on_transmit_start(path, idle, now);
    }

    fn penalise(&mut self, path: PathId, kind: Penalty, now: Instant) {
        self.paths.penalise(path, kind, now);
    }

    fn on_application_limited(&mut self, path: PathId, used_segs: u32) {
        self.paths.on_application_limited(path, used_segs);
    }

    fn on_retransmitted(&mut self, path: PathId, segs: u32) {
        self.paths.on_retransmitted(path, segs);
    }

    fn cwnd_bytes(&self, path: PathId) -> u64 {
        self.paths.cwnd_bytes(path)
    }

    fn cwnd_segs(&self, path: PathId) -> u32 {
        self.paths.cwnd_segs(path)
    }

    fn ssthresh_bytes(&self, path: PathId) -> Option<u64> {
        self.paths.ssthresh_bytes(path)
    }

    fn ssthresh_segs(&self, path: PathId) -> Option<u32> {
        self.paths.ssthresh_segs(path)
    }
}

/// What `alpha` takes of a path.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Flow {
    /// `w_i`, in segments.
    window: f64,
    /// `rtt_i`, smoothed, not zero.
    srtt: Duration,
}

impl Flow {
    /// `w_i / rtt_i^2`.
    fn rank(&self) -> f64 {
        let rtt = self.srtt.as_secs_f64();
        self.window / (rtt * rtt)
    }
}

/// One path's part.
#[derive(Clone, Debug)]
struct Share {
    kernel_compat: bool,
    srtt: Duration,
    /// In fast recovery: its window is inflated or not yet down, the threshold counts.
    recovering: bool,
    /// The other paths at the time of the acknowledgement.
    siblings: Vec<Flow>,
    /// `kernel_compat`: acknowledgements since the last step.
    acks: u32,
}

impl Share {
    /// What siblings see of it; nothing before its first sample.
    fn flow(&self, window: &Window) -> Option<Flow> {
        let segs = if self.recovering { window.ssthresh() } else { window.cwnd() };
        (!self.srtt.is_zero()).then_some(Flow { window: segs, srtt: self.srtt })
    }

    /// The compare-then-increment of the kernels: a step at the `n + 1`st acknowledgement.
    fn count(&mut self, window: &mut Window, per_step: u64) {
        if u64::from(self.acks) >= per_step {
            window.grow(1.0);
            self.acks = 0;
        } else {
            self.acks += 1;
        }
    }
}

impl Algorithm for Share {
    fn new(options: &Options) -> Self {
        let kernel_compat = options.kernel_compat;
        let srtt = Duration::ZERO;
        Share { kernel_compat, srtt, recovering: false, siblings: Vec::new(), acks: 0 }
    }

    fn increase(&mut self, window: &mut Window, acked: f64, _sample: &AckSample) {
        if self.siblings.is_empty() || self.srtt.is_zero() {
            return window.reno_increase(acked);
        }
        let own = window.cwnd();
        self.siblings.push(Flow { window: own, srtt: self.srtt });
        let flows = &self.siblings;
        if self.kernel_compat {
            let per_step = kernel_step(flows).max(u64::from(window.cwnd_segs()));
            self.count(window, per_step);
        } else {
            window.grow(acked * increase_per_segment(flows, own));
        }
    }

    fn threshold(&mut self, window: &Window, event: &CongestionEvent) -> f64 {
        self.acks = 0;
        Reno.threshold(window, event)
    }

    fn on_timeout(&mut self) {
        self.acks = 0;
    }
}

/// `sum_i w_i`.
fn total(flows: &[Flow]) -> f64 {
    flows.iter().map(|flow| flow.window).sum()
}

/// The aggressiveness of the increase (RFC 6356 s3).
fn alpha(flows: &[Flow]) -> f64 {
    let best = flows.iter().map(Flow::rank).fold(0.0, f64::max);
    let rate: f64 = flows.iter().map(|flow| flow.window / flow.srtt.as_secs_f64()).sum();
    total(flows) * best / (rate * rate)
}

/// `min(alpha / w_total, 1 / w_i)`.
fn increase_per_segment(flows: &[Flow], own: f64) -> f64 {
    (alpha(flows) / total(flows)).min(1.0 / own)
}

/// `w_total / alpha` in the kernel's fixed point: `alpha` carries 12 bits, its numerator 32, the
/// terms of its denominator 10.
fn kernel_step(flows: &[Flow]) -> u64 {
    (1 << 12) / kernel_alpha(flows)
}

/// `alpha / w_total` with 12 bits of fraction, at least 1.
fn kernel_alpha(flows: &[Flow]) -> u64 {
    let micros = |flow: &Flow| u128::from(flow.srtt.as_micros().max(1));
    let Some(best) = flows.iter().max_by(|a, b| a.rank().total_cmp(&b.rank())) else { return 1 };
    let rate: u128 =
        flows.iter().map(|flow| ((flow.window as u128) << 10) * micros(best) / micros(flow)).sum();
    // Windows and round-trip times below 2^32 keep this far from the type's end.
    let alpha = ((best.window as u128) << 32) / (rate * rate).max(1);
    u64::try_from(alpha).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::test_support::{ack, loss};
    use crate::congestion::{Arithmetic, Controller, HyStartKind, by_name};
    use proptest::prelude::*;

    const OPTIONS: Options = Options { hystart: HyStartKind::Off, ..Options::LINUX };
    const KERNEL: Options = Options { kernel_compat: true, ..OPTIONS };

    fn flow(window: f64, rtt_ms: u64) -> Flow {
        Flow { window, srtt: Duration::from_millis(rtt_ms) }
    }

    fn close(ours: f64, expected: f64) {
        assert!((ours - expected).abs() < 1e-6, "{ours} is not {expected}");
    }

    fn start(cwnd: u32) -> PathStart {
        PathStart {
            now: Instant::ZERO,
            mss: 1428,
            initial_window_segs: cwnd,
            initial_ssthresh_segs: Some(1),
        }
    }

    fn ack_of(rtt_ms: u64, acked: u32) -> AckSample {
        let srtt = Duration::from_millis(rtt_ms);
        AckSample { srtt, rtt: Some(srtt), ..ack(Instant::from_secs(1), acked) }
    }

    /// In congestion avoidance, every RTT known to all: path, window, RTT in ms.
    fn avoiding(options: Options, paths: &[(u32, u64)]) -> Lia {
        let mut lia = Lia::new(options);
        for (id, (cwnd, rtt_ms)) in (0..).map(PathId).zip(paths) {
            lia.on_path_added(id, &start(*cwnd));
            lia.on_ack(id, &AckSample { cwnd_limited: false, ..ack_of(*rtt_ms, 1) });
        }
        lia
    }

    fn cwnd(lia: &Lia, path: u8) -> f64 {
        lia.paths.window(PathId(path)).unwrap().cwnd()
    }

    /// The growth by one acknowledged segment on that path.
    fn growth(paths: &[(u32, u64)], path: u8) -> f64 {
        let mut lia = avoiding(OPTIONS, paths);
        let before = cwnd(&lia, path);
        lia.on_ack(PathId(path), &ack_of(paths[usize::from(path)].1, 1));
        cwnd(&lia, path) - before
    }

    #[test]
    fn lia_1_fast_and_slow() {
        close(alpha(&[flow(20.0, 10), flow(10.0, 100)]), 1.360_544_2);
        let paths = [(20, 10), (10, 100)];
        close(growth(&paths, 0), 0.045_351_5);
        close(growth(&paths, 1), 0.045_351_5);
    }

    #[test]
    fn lia_2_equal_paths() {
        close(alpha(&[flow(10.0, 100), flow(10.0, 100)]), 0.5);
        close(growth(&[(10, 100), (10, 100)], 0), 0.025);
        close(growth(&[(10, 100), (10, 100)], 1), 0.025);
    }

    #[test]
    fn lia_3_capped_by_one_tcp() {
        let flows = [flow(4.0, 10), flow(100.0, 200)];
        close(alpha(&flows), 5.135_802_5);
        close(alpha(&flows) / total(&flows), 0.049_382_7);
        close(growth(&[(4, 10), (100, 200)], 0), 0.049_382_7);
        close(growth(&[(4, 10), (100, 200)], 1), 0.01);
    }

    #[test]
    fn lia_1_kernel_step_after_n_plus_one_acks() {
        let flows = [flow(20.0, 10), flow(10.0, 100)];
        assert_eq!((kernel_alpha(&flows), kernel_step(&flows)), (185, 22));
        let mut lia = avoiding(KERNEL, &[(20, 10), (10, 100)]);
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
        let mut lia = avoiding(KERNEL, &[(40, 10), (10, 100)]);
        let path = PathId(0);
        (0..40).for_each(|_| lia.on_ack(path, &ack_of(10, 1)));
        lia.on_congestion(path, &loss(Instant::from_secs(1)));
        lia.on_recovery_exit(path, Instant::from_secs(1));
        (0..20).for_each(|_| lia.on_ack(path, &ack_of(10, 1)));
        assert_eq!(lia.cwnd_segs(path), 20);
    }

    #[test]
    fn sibling_without_sample_or_gone_does_not_count() {
        let mut lia = avoiding(OPTIONS, &[(10, 100)]);
        lia.on_path_added(PathId(1), &start(10));
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
        let mut lia = avoiding(OPTIONS, &[(10, 100), (20, 100)]);
        lia.on_congestion(PathId(1), &loss(Instant::from_secs(1)));
        assert_eq!((cwnd(&lia, 1), lia.ssthresh_segs(PathId(1))), (20.0, Some(10)));
        lia.on_ack(PathId(0), &ack_of(100, 1));
        close(cwnd(&lia, 0), 10.025);
        // A time-out is no fast recovery: its window of one segment counts.
        let rto = CongestionEvent { kind: CongestionKind::Rto, ..loss(Instant::from_secs(1)) };
        lia.on_congestion(PathId(1), &rto);
        let before = cwnd(&lia, 0);
        let expected = increase_per_segment(&[flow(before, 100), flow(1.0, 100)], before);
        lia.on_ack(PathId(0), &ack_of(100, 1));
        close(cwnd(&lia, 0) - before, expected);
    }

    #[test]
    fn slow_start_is_not_coupled() {
        let mut lia = avoiding(OPTIONS, &[(10, 100), (20, 100)]);
        let open = PathStart { initial_ssthresh_segs: None, ..start(10) };
        lia.on_path_added(PathId(2), &open);
        lia.on_ack(PathId(2), &ack_of(50, 10));
        assert_eq!(cwnd(&lia, 2), 20.0);
    }

    #[test]
    fn loss_halves() {
        let mut lia = avoiding(OPTIONS, &[(20, 10), (10, 100)]);
        lia.on_congestion(PathId(0), &loss(Instant::from_secs(1)));
        lia.on_recovery_exit(PathId(0), Instant::from_secs(1));
        assert_eq!((lia.cwnd_segs(PathId(0)), lia.cwnd_segs(PathId(1))), (10, 10));
    }

    fn apply(controller: &mut Controller, (what, segs, gap): (u8, u32, u64), now: Instant) {
        let path = PathId(0);
        match what {
            0 => controller.on_congestion(path, &loss(now)),
            1 => controller.on_recovery_exit(path, now),
            2 => {
                let rto = CongestionEvent { kind: CongestionKind::Rto, ..loss(now) };
                controller.on_congestion(path, &rto);
            }
            3 => controller.set_recovery_window(path, segs),
            4 => {
                let (idle, rto) = (Duration::from_millis(gap), Duration::from_millis(200));
                controller.on_idle_restart(path, idle, rto, now);
            }
            5 => controller.on_undo(path, now),
            6 => controller.penalise(path, Penalty::Kernel, now),
            _ => controller.on_ack(path, &AckSample { now, ..ack_of(gap + 1, segs) }),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        /// Congestion spec s8 item 1.
        #[test]
        fn one_path_is_new_reno(
            rfc in any::<bool>(),
            kernel_compat in any::<bool>(),
            ops in prop::collection::vec((0..20u8, 1..20u32, 0..400u64), 1..150),
        ) {
            let options = if rfc { Options::RFC } else { Options::LINUX };
            let options = Options { kernel_compat, ..options };
            let mut both = ["reno", "lia"].map(|name| by_name(name, &options).unwrap());
            let open = PathStart { initial_ssthresh_segs: None, ..start(10) };
            both.iter_mut().for_each(|controller| controller.on_path_added(PathId(0), &open));
            let mut now = Instant::from_secs(1);
            for op in ops {
                now += Duration::from_millis(op.2);
                both.iter_mut().for_each(|controller| apply(controller, op, now));
                let [reno, lia] = &both;
                prop_assert_eq!(reno.cwnd_bytes(PathId(0)), lia.cwnd_bytes(PathId(0)));
                prop_assert_eq!(reno.ssthresh_bytes(PathId(0)), lia.ssthresh_bytes(PathId(0)));
            }
        }

        /// Congestion spec s8 item 3, and the window never outgrows one TCP's.
        #[test]
        fn increase_is_at_most_that_of_one_tcp(
            paths in prop::collection::vec((1..2000u32, 1..3000u64), 1..6),
        ) {
            let flows: Vec<Flow> =
                paths.iter().map(|(cwnd, rtt_ms)| flow(f64::from(*cwnd), *rtt_ms)).collect();
            for flow in &flows {
                let increase = increase_per_segment(&flows, flow.window);
                prop_assert!(increase > 0.0 && increase <= 1.0 / flow.window);
            }
            // The kernel's step, where its integers have digits enough to tell.
            if kernel_alpha(&flows) > 1000 {
                let exact = total(&flows) / alpha(&flows);
                let kernel = kernel_step(&flows) as f64;
                prop_assert!((kernel - exact).abs() <= 1.0 + 0.05 * exact, "{kernel} {exact}");
            }
        }

        #[test]
        fn alpha_of_equal_paths_is_one_part_of_their_number(
            n in 1..9usize,
            cwnd in 1..1000u32,
            rtt_ms in 1..1000u64,
        ) {
            let flows = vec![flow(f64::from(cwnd), rtt_ms); n];
            prop_assert!((alpha(&flows) - 1.0 / n as f64).abs() < 1e-9);
        }

        /// Coupled windows under whatever happens stay those of real connections.
        #[test]
        fn window_stays_sane(
            kernel_compat in any::<bool>(),
            real in any::<bool>(),
            ops in prop::collection::vec((0..3u8, 0..9u8, 1..20u32, 0..400u64), 1..150),
        ) {
            let arithmetic = if real { Arithmetic::Real } else { Arithmetic::Counter };
            let options = Options { kernel_compat, arithmetic, ..OPTIONS };
            let mut lia = avoiding(options, &[(10, 10), (40, 100), (2, 300)]);
            for (path, what, segs, gap) in ops {
                let (path, now) = (PathId(path), Instant::from_secs(1));
                let before = lia.cwnd_segs(path);
                match what {
                    0 => lia.on_congestion(path, &loss(now)),
                    1 => lia.on_recovery_exit(path, now),
                    2 => {
                        let rto = CongestionEvent { kind: CongestionKind::Rto, ..loss(now) };
                        lia.on_congestion(path, &rto);
                    }
                    3 => lia.penalise(path, Penalty::Nsdi12, now),
                    _ => {
                        lia.on_ack(path, &ack_of(gap, segs));
                        let most = before + segs.max(2);
                        prop_assert!((before..=most).contains(&lia.cwnd_segs(path)));
                    }
                }
                prop_assert!(cwnd(&lia, path.0).is_finite() && lia.cwnd_segs(path) >= 1);
                prop_assert!(lia.ssthresh_segs(path).is_none_or(|ssthresh| ssthresh >= 1));
            }
        }
    }
}
