//! OLIA, opportunistic linked increases (Khalili and others, CoNEXT 2012, as in 001 sII;
//! multipath-tcp kernel v0.95, `mptcp_olia.c`).
//!
//! The change in congestion avoidance is that of `law::olia`; a loss halves the window. `l_i` is
//! the larger of the data acknowledged since the last loss and between the last two losses.
//! `olia-draft` ranks paths by `l_i^2 / rtt_i`, as implementations of
//! draft-khalili-mptcp-congestion-control-05 do.
//!
//! With `kernel_compat` the kernel's integers: the change gathers in units of 2^-10, and the window
//! moves by a segment when 1023 of them are there, either way; a loss leaves what has gathered.

use super::byte_control::ByteLaw;
use super::choice::ControllerRow;
use super::controller::Controller;
use super::coupled::{Coupled, Rule};
use super::law::{self, Flow, olia::Metric};
use super::lia::half;
use super::lisa;
use super::reno;
use super::segment_window::{MIN_SSTHRESH_SEGS, SegmentWindow};
use super::{AckSample, CongestionEvent, Options};
use crate::parameters::{Kind, Parameter};

/// The row of `olia`.
pub(super) const ROW: ControllerRow = ControllerRow {
    name: "olia",
    about: "OLIA: windows move to the paths that lose least for their round-trip time. Coupled.",
    source: "Khalili and others 2012 as in 001, multipath-tcp kernel v0.95 `olia`",
    parameters: PARAMETERS,
    is_coupled: true,
    make: |options| Controller::Olia(Olia::new(*options)),
    bytes: Some(ByteLaw {
        increase: |flows, own, pmdcs| law::olia::increase(flows, own, Metric::Kernel, pmdcs),
        ..reno::BYTES
    }),
};

/// The row of `olia-draft`.
pub(super) const DRAFT_ROW: ControllerRow = ControllerRow {
    name: "olia-draft",
    about: "OLIA with paths ranked by the square of the data between losses. Coupled.",
    source: "draft-khalili-05 as implementations have it",
    parameters: PARAMETERS,
    is_coupled: true,
    make: |options| Controller::OliaDraft(OliaDraft::new(*options)),
    bytes: Some(ByteLaw {
        increase: |flows, own, pmdcs| law::olia::increase(flows, own, Metric::Draft, pmdcs),
        ..reno::BYTES
    }),
};

/// What a user may set.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "min-ssthresh",
        about: "smallest threshold of one path among several, in segments; the draft's is 1",
        least: 1.0,
        most: 2.0,
        default: MIN_SSTHRESH_SEGS,
        kind: Kind::Whole,
        source: "multipath-tcp kernel v0.95",
    },
    lisa::PARAMETER,
];

/// The linked windows of one connection, paths ranked as in the paper and the kernel.
pub(super) type Olia = Coupled<Opportunistic<false>>;
/// The same, paths ranked as in the draft.
pub(super) type OliaDraft = Coupled<Opportunistic<true>>;

/// Units of the kernel in a segment.
const KERNEL_SCALE: f64 = 1024.0;
/// Units that move the window.
const KERNEL_STEP: i64 = 1023;

/// One path's state; `DRAFT` selects the metric.
#[derive(Clone, Debug)]
pub struct Opportunistic<const DRAFT: bool> {
    kernel_compat: bool,
    min_ssthresh_segs: f64,
    interval: LossInterval,
    /// `kernel_compat`: change of the window that is not applied yet.
    gathered: i64,
}

impl<const DRAFT: bool> Opportunistic<DRAFT> {
    const METRIC: Metric = if DRAFT { Metric::Draft } else { Metric::Kernel };
}

impl<const DRAFT: bool> Rule for Opportunistic<DRAFT> {
    fn new(options: &Options) -> Self {
        let min_ssthresh = options.coupling.min_ssthresh_segs.map_or(MIN_SSTHRESH_SEGS, f64::from);
        Opportunistic {
            kernel_compat: options.kernel_compat,
            min_ssthresh_segs: min_ssthresh,
            interval: LossInterval::default(),
            gathered: 0,
        }
    }

    fn describe(&self, flow: Flow) -> Flow {
        Flow { loss_interval: self.interval.bytes(), ..flow }
    }

    fn on_ack(&mut self, _window: &mut SegmentWindow, _flows: &[Flow], sample: &AckSample) {
        self.interval.on_ack(sample.snd_una);
    }

    fn increase(&mut self, window: &mut SegmentWindow, acked: f64, flows: &[Flow]) {
        let Some(own) = flows.len().checked_sub(1) else { return };
        let change = law::olia::increase(flows, own, Self::METRIC, 1.0);
        if !self.kernel_compat {
            return window.change(acked * change);
        }
        self.gathered += (change * KERNEL_SCALE) as i64;
        if self.gathered.abs() >= KERNEL_STEP {
            window.change(if self.gathered > 0 { 1.0 } else { -1.0 });
            self.gathered = 0;
        }
    }

    fn ssthresh(&mut self, window: &SegmentWindow, _: &[Flow], _: &CongestionEvent) -> f64 {
        half(window, self.kernel_compat).max(self.min_ssthresh_segs)
    }

    fn on_loss(&mut self) {
        self.interval.on_loss();
    }
}

/// `l_i`, from the offsets up to which data were acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossInterval {
    /// At the last loss but one.
    before: u64,
    /// At the last loss.
    last: u64,
    now: u64,
}

impl LossInterval {
    /// Data up to `una` are acknowledged.
    pub(super) fn on_ack(&mut self, una: u64) {
        self.now = self.now.max(una);
    }

    /// A loss begins an interval, unless nothing was acknowledged since the last one.
    pub(super) fn on_loss(&mut self) {
        if self.now != self.last {
            (self.before, self.last) = (self.last, self.now);
        }
    }

    /// `l_i`: the larger of the last two intervals.
    pub(super) fn bytes(&self) -> u64 {
        debug_assert!(self.before <= self.last && self.last <= self.now, "{self:?}");
        (self.last - self.before).max(self.now - self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::coupled::tests::{ack_of, avoiding, growth};
    use crate::congestion::law::assert_close;
    use crate::congestion::law::olia::increase;
    use crate::congestion::test_support::loss;
    use crate::congestion::{CongestionControl, CongestionKind};
    use base::{Duration, Instant, PathId};

    fn flow(cwnd: f64, rtt_ms: u64, loss_interval: u64) -> Flow {
        Flow { loss_interval, ..Flow::new(cwnd, Duration::from_millis(rtt_ms)) }
    }

    #[test]
    fn loss_interval_is_the_larger_of_the_last_two() {
        let mut interval = LossInterval::default();
        let acked_to = |interval: &mut LossInterval, una| {
            interval.on_ack(una);
            interval.bytes()
        };
        assert_eq!([1000, 3000].map(|una| acked_to(&mut interval, una)), [1000, 3000]);
        interval.on_loss();
        assert_eq!(acked_to(&mut interval, 4000), 3000);
        interval.on_loss();
        assert_eq!(interval.bytes(), 1000, "the interval of 3000 is too old");
        interval.on_loss();
        assert_eq!(interval.bytes(), 1000, "a loss without anything acknowledged begins none");
        assert_eq!(acked_to(&mut interval, 6000), 2000);
    }

    /// The acknowledgements until the window has moved by a segment.
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
        // 1024 / 90 = 11 units per acknowledgement on the second path: 93 of them make 1023.
        assert_eq!(acks_to_move(&mut olia, 1, 100), (93, 11));
        // Best is the one with data acknowledged, which is not the largest: -0.5 / 20 and its own.
        let data = AckSample { snd_una: 600, cwnd_limited: false, ..ack_of(100, 1) };
        olia.on_ack(PathId(1), &data);
        let flows = [flow(11.0, 100, 600), flow(20.0, 100, 0)];
        let change = increase(&flows, 1, Metric::Kernel, 1.0);
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
        // 1024 * 20 / 40^2 = 12 units per acknowledgement.
        (0..85).for_each(|_| olia.on_ack(path, &ack_of(100, 1)));
        olia.on_congestion(path, &loss(Instant::from_secs(1)));
        olia.on_recovery_exit(path, Instant::from_secs(1));
        assert_eq!(olia.cwnd_segs(path), 10);
        // 1020 and 1024 * 10 / 30^2 = 11 more.
        olia.on_ack(path, &ack_of(100, 1));
        assert_eq!(olia.cwnd_segs(path), 11);
    }

    #[test]
    fn growth_of_a_connection_is_that_of_the_law() {
        assert_close(growth::<Opportunistic<false>>(&[(20, 100), (10, 100)], 0), 0.022_222_2);
    }

    #[test]
    fn draft_ranks_paths_differently() {
        fn grown<const DRAFT: bool>() -> f64 {
            let mut olia: Coupled<Opportunistic<DRAFT>> =
                avoiding(Options::LINUX, &[(20, 10), (9, 10), (9, 40)]);
            for (path, rtt_ms, snd_una) in [(1, 10, 100), (2, 40, 300)] {
                let data = AckSample { snd_una, cwnd_limited: false, ..ack_of(rtt_ms, 1) };
                olia.on_ack(PathId(path), &data);
            }
            olia.on_ack(PathId(1), &AckSample { snd_una: 100, ..ack_of(10, 1) });
            olia.paths.window(PathId(1)).unwrap().cwnd() - 9.0
        }
        // The bonus 1 / (3 * 1) / 9 goes to the second path by l / rtt^2 only.
        assert_close(grown::<false>() - grown::<true>(), 1.0 / 27.0);
    }

    #[test]
    fn repeated_time_out_begins_no_interval() {
        let mut olia: Olia = avoiding(Options::LINUX, &[(20, 100), (10, 100)]);
        let acked = |una| AckSample { snd_una: una, cwnd_limited: false, ..ack_of(100, 1) };
        let (path, now) = (PathId(0), Instant::from_secs(1));
        olia.on_ack(path, &acked(5000));
        olia.on_congestion(path, &CongestionEvent { kind: CongestionKind::Rto, ..loss(now) });
        olia.on_ack(path, &acked(6000));
        let again = CongestionEvent { kind: CongestionKind::RtoRepeated, ..loss(now) };
        olia.on_congestion(path, &again);
        let interval = olia.paths.algorithm_mut(path).map(|path| path.rule().interval).unwrap();
        assert_eq!((interval.before, interval.last, interval.now), (0, 5000, 6000));
    }
}
