//! wVegas, weighted Vegas: coupled and delay-based (Cao, Xu, Fu: ICNP 2012; multipath-tcp kernel
//! v0.95, `mptcp_wvegas.c`).
//!
//! Once per round trip, with the symbols of `law::wvegas`: in slow start, `diff > gamma` ends it
//! at a window of `w base / rtt + 1`. In congestion avoidance, while `diff >= alpha_i`, the path
//! takes its share of `total_alpha` anew; then the window moves by a segment towards
//! `diff = alpha_i`. When the queueing delay has doubled since its smallest value, the window
//! drains to `w base / (2 rtt)`, and slow start restores it: after every round the threshold is at
//! least three quarters of the window before. A loss halves the window. NewReno applies to a round
//! of fewer than three samples and, after a loss, until the path is in state Open again; then
//! everything but `base` is forgotten.
//!
//! A path that is not shared loses much throughput to the drain: a queue grows from nothing, so
//! that its delay doubles as soon as a second segment waits, long before `alpha_i` do. Bursts of
//! slow start and delayed acknowledgements look like queues as well. The window therefore moves
//! between half of what fits the path and nearly all of it, which follows from the algorithm and
//! not from its arithmetic (tests `drains_before_alpha_segments_wait` here and `wvegas_*` of the
//! simulator).
//!
//! Differences from the kernel: rates are real numbers, where its integers make all rates equal;
//! an empty queue never counts as one that has doubled, which halves the window there; a path
//! alone is NewReno as with the other coupled controls.
//!
//! `base` only falls, so that a path whose delay rises permanently always seems congested and keeps
//! hardly more than `alpha_i` segments. `base-window` uses the smallest RTT of the last seconds
//! instead. A queue that other flows keep filled for that long then counts as delay of the path.

use super::choice::ControllerRow;
use super::controller::Controller;
use super::coupled::{Coupled, Rule};
use super::law::Flow;
use super::law::wvegas::{Round, alpha, weight};
use super::segment_window::SegmentWindow;
use super::{AckSample, Coupling, Options};
use crate::parameters::{Kind, Parameter};
use crate::recovery::MinRttFilter;
use base::{CaState, Duration};

/// The row of `wvegas`.
pub(super) const ROW: ControllerRow = ControllerRow {
    name: "wvegas",
    about: "wVegas, delay-based: paths share a number of queued segments. Coupled.",
    source: "Cao and others 2012 as in multipath-tcp kernel v0.95 `wvegas`",
    parameters: PARAMETERS,
    is_coupled: true,
    make: |options| Controller::Wvegas(Wvegas::new(*options)),
    bytes: None,
};

/// What a user may set.
const PARAMETERS: &[Parameter] = &[
    queued("initial-alpha", "initial number of queued segments per path", 2.0),
    queued("total-alpha", "queued segments of all paths together", 10.0),
    queued("gamma", "queued segments that end slow start", 1.0),
    Parameter {
        key: "base-window",
        about: "time window of the minimum RTT; 0s: since the start",
        least: 0.0,
        most: 3_600_000.0,
        default: 0.0,
        kind: Kind::Time,
        source: "multipath-tcp kernel v0.95",
    },
];

/// The weighted windows of one connection.
pub(super) type Wvegas = Coupled<Weighted>;

const fn queued(key: &'static str, about: &'static str, default: f64) -> Parameter {
    let (kind, source) = (Kind::Whole, "multipath-tcp kernel v0.95");
    Parameter { key, about, least: 1.0, most: 1000.0, default, kind, source }
}

/// Samples that a round needs.
const MIN_SAMPLES: u32 = 3;
/// Smallest window except after time-outs, in segments.
const MIN_CWND_SEGS: f64 = 2.0;

/// One path's state.
#[derive(Clone, Debug)]
pub struct Weighted {
    coupling: Coupling,
    /// Delay-based: the path is in state Open. Otherwise NewReno.
    active: bool,
    /// The smallest RTT; a microsecond is added to every sample, so that none is zero.
    base: MinRttFilter,
    /// Sum and number of the samples of this round.
    sampled: (Duration, u32),
    /// The round ends when this offset is acknowledged.
    round_end: u64,
    /// The path's share of `total_alpha`.
    weight: f64,
    alpha: f64,
    /// Of the last round in which it was measured, in segments per second; zero before.
    rate: f64,
    /// The smallest queueing delay since the last drain; zero before.
    queue_delay: Duration,
    /// NewReno applies to the present acknowledgement.
    uses_reno: bool,
}

impl Rule for Weighted {
    fn new(options: &Options) -> Self {
        Weighted::with(options.coupling)
    }

    fn describe(&self, flow: Flow) -> Flow {
        Flow { round_rate: self.round_rate(), ..flow }
    }

    fn on_ack(&mut self, window: &mut SegmentWindow, flows: &[Flow], sample: &AckSample) {
        let rtt = sample.rtt.map(|rtt| rtt + Duration::from_micros(1));
        if let Some(rtt) = rtt {
            self.base.update(sample.now, rtt);
        }
        self.uses_reno = sample.state != CaState::Open;
        if self.uses_reno {
            self.active = false;
        } else if !self.active {
            self.activate(sample.snd_nxt);
        } else {
            self.sampled.0 += rtt.unwrap_or_default();
            self.sampled.1 += u32::from(rtt.is_some());
            if sample.snd_una > self.round_end {
                self.round_end = sample.snd_nxt;
                self.on_round_end(window, flows, sample.cwnd_limited);
                self.sampled = (Duration::ZERO, 0);
            }
        }
    }

    fn increase(&mut self, window: &mut SegmentWindow, acked: f64, _flows: &[Flow]) {
        if self.uses_reno {
            window.reno_increase(acked);
        }
    }

    fn on_loss(&mut self) {
        self.active = false;
    }

    fn on_timeout(&mut self) {
        self.rate = 0.0;
    }

    fn on_idle_restart(&mut self) {
        *self = Weighted::with(self.coupling);
    }
}

impl Weighted {
    /// Nothing is measured.
    const fn with(coupling: Coupling) -> Self {
        let window = match coupling.base_window {
            Duration::ZERO => Duration::MAX,
            window => window,
        };
        Weighted {
            coupling,
            active: false,
            base: MinRttFilter::new(window),
            sampled: (Duration::ZERO, 0),
            round_end: 0,
            weight: 1.0,
            alpha: coupling.initial_alpha_segs as f64,
            rate: 0.0,
            queue_delay: Duration::ZERO,
            uses_reno: true,
        }
    }

    /// The rate for the weights of siblings: zero without a sample in the present round.
    fn round_rate(&self) -> f64 {
        if self.sampled.1 > 0 { self.rate } else { 0.0 }
    }

    /// The path is in state Open: its first round begins, and everything but `base` is as at
    /// first.
    fn activate(&mut self, snd_nxt: u64) {
        let base = self.base;
        let first = Weighted::with(self.coupling);
        *self = Weighted { active: true, base, round_end: snd_nxt, uses_reno: false, ..first };
    }

    fn on_round_end(&mut self, window: &mut SegmentWindow, flows: &[Flow], limited: bool) {
        let (sum, count) = self.sampled;
        if count < MIN_SAMPLES {
            self.uses_reno = true;
        } else if flows.len() > 1 {
            let (rtt, base) = (sum / u64::from(count), self.base.get());
            self.update_window(window, flows, Round { rtt, base }, limited);
        }
    }

    fn update_window(
        &mut self,
        window: &mut SegmentWindow,
        flows: &[Flow],
        round: Round,
        limited: bool,
    ) {
        let cwnd = window.cwnd();
        let diff = round.queued(cwnd);
        if !window.in_slow_start() {
            self.avoid_congestion(window, flows, round, limited);
        } else if diff > f64::from(self.coupling.gamma_segs) {
            window.set_cwnd(cwnd.min(round.target(cwnd) + 1.0));
            lower_ssthresh(window);
        }
        window.set_cwnd(window.cwnd().max(MIN_CWND_SEGS));
        window.set_ssthresh(window.current_ssthresh());
    }

    fn avoid_congestion(
        &mut self,
        window: &mut SegmentWindow,
        flows: &[Flow],
        round: Round,
        limited: bool,
    ) {
        let cwnd = window.cwnd();
        let diff = round.queued(cwnd);
        if diff >= self.alpha {
            self.rate = cwnd / round.rtt.as_secs_f64();
            self.update_alpha(flows);
        }
        if diff > self.alpha {
            window.set_cwnd(cwnd - 1.0);
            lower_ssthresh(window);
        } else if diff < self.alpha && limited {
            window.set_cwnd(cwnd + 1.0);
        }
        self.drain(window, round);
    }

    /// Takes the share of `total_alpha` that corresponds to the path's share of the rate.
    fn update_alpha(&mut self, flows: &[Flow]) {
        let siblings = flows.split_last().map_or(&[][..], |(_, siblings)| siblings);
        let rates = siblings.iter().map(|flow| flow.round_rate).sum::<f64>();
        self.weight = weight(self.rate, rates).unwrap_or(self.weight);
        self.alpha = alpha(self.weight, self.coupling.total_alpha_segs);
    }

    /// Empties the queue if its delay has doubled.
    fn drain(&mut self, window: &mut SegmentWindow, round: Round) {
        let delay = round.queue_delay();
        if self.queue_delay.is_zero() || delay < self.queue_delay {
            self.queue_delay = delay;
        }
        if !self.queue_delay.is_zero() && delay >= self.queue_delay * 2 {
            window.set_cwnd(round.drained(window.cwnd()));
            self.queue_delay = Duration::ZERO;
        }
    }
}

/// Slow start does not begin again.
fn lower_ssthresh(window: &mut SegmentWindow) {
    window.set_ssthresh(window.ssthresh().min(window.cwnd() - 1.0));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn round(rtt: u64) -> Round {
        Round { rtt: ms(rtt), base: ms(100) }
    }

    /// The path itself last, after a sibling of that rate.
    fn beside(rate: f64) -> [Flow; 2] {
        let flow = |round_rate| Flow { round_rate, ..Flow::new(20.0, ms(100)) };
        [flow(rate), flow(0.0)]
    }

    /// The window after a round of that RTT, from 20 in congestion avoidance.
    fn after(rule: &mut Weighted, rtt: u64, sibling_rate: f64) -> u32 {
        let mut window = SegmentWindow::new(1448, 20, Some(10));
        rule.update_window(&mut window, &beside(sibling_rate), round(rtt), true);
        window.cwnd_segs()
    }

    fn rule() -> Weighted {
        Weighted::new(&Options::LINUX)
    }

    #[test]
    fn wv_1_and_2_window_moves_towards_its_share_of_the_queue() {
        assert_eq!(after(&mut rule(), 110, 0.0), 21, "1 of 2 queued");
        let own = 20.0 / 0.13;
        let mut half = rule();
        assert_eq!(after(&mut half, 130, own), 21, "4 of 5 queued");
        assert_eq!(half.alpha, 5.0);
        let mut third = rule();
        assert_eq!(after(&mut third, 130, own * 7.0 / 3.0 * 0.999), 19, "4 of 3 queued");
        assert_eq!(third.alpha, 3.0);
    }

    #[test]
    fn wv_3_doubled_queue_is_drained() {
        let mut rule = Weighted { queue_delay: ms(60), ..rule() };
        assert_eq!(after(&mut rule, 220, 0.0), 4);
        assert!(rule.queue_delay.is_zero());
    }

    #[test]
    fn queue_in_slow_start_ends_it() {
        let mut window = SegmentWindow::new(1448, 20, None);
        let mut rule = rule();
        rule.update_window(&mut window, &beside(0.0), round(105), true);
        assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (20, None), "0 segments queued");
        rule.update_window(&mut window, &beside(0.0), round(125), true);
        // 4 are queued, 16 would not be. Nothing is drained before congestion avoidance.
        assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (17, Some(16)));
    }

    /// Regression: a window that had reached its threshold neither grew nor shrank any more.
    #[test]
    fn window_at_its_threshold_is_in_congestion_avoidance() {
        let mut window = SegmentWindow::new(1448, 20, Some(20));
        rule().update_window(&mut window, &beside(0.0), round(100), true);
        assert_eq!(window.cwnd_segs(), 21);
    }

    #[test]
    fn slow_start_goes_on_where_the_drain_began() {
        let mut window = SegmentWindow::new(1448, 40, Some(10));
        let mut rule = Weighted { queue_delay: ms(1), ..rule() };
        rule.update_window(&mut window, &beside(0.0), round(101), true);
        assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (41, Some(30)));
        rule.update_window(&mut window, &beside(0.0), round(102), true);
        // 42 * 100 / 204; three quarters of 41 are the threshold.
        assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (20, Some(30)));
        assert!(window.in_slow_start());
    }

    /// A path of 40 segments without other users, and a queue behind it: the window never reaches
    /// the two segments in the queue that `alpha` requires.
    #[test]
    fn drains_before_alpha_segments_wait() {
        let mut window = SegmentWindow::new(1448, 30, Some(30));
        let mut rule = rule();
        let (mut most, mut drains) = (0, 0);
        for _ in 0..200 {
            let before = window.cwnd_segs();
            let queued = u64::from(before.saturating_sub(40));
            let rtt = Duration::from_micros(100_000 + 2_500 * queued);
            let round = Round { rtt, base: ms(100) };
            rule.update_window(&mut window, &beside(0.0), round, true);
            drains += u32::from(window.cwnd_segs() < before / 2 + 1);
            most = most.max(window.cwnd_segs());
            if window.in_slow_start() {
                window.slow_start(f64::from(window.cwnd_segs()));
            }
        }
        assert_eq!(most, 42);
        assert!(drains >= 10, "{drains}");
    }

    #[test]
    fn path_that_leaves_its_window_unused_does_not_grow() {
        let mut window = SegmentWindow::new(1448, 20, Some(10));
        rule().update_window(&mut window, &beside(0.0), round(110), false);
        assert_eq!(window.cwnd_segs(), 20);
    }

    #[test]
    fn rates_that_differ_little_have_different_weights() {
        // The kernel's integers would make both 10.
        let mut rule = Weighted { rate: 20.0 / 0.13, ..rule() };
        rule.update_alpha(&beside(10.0 / 0.06));
        assert!((rule.weight - 0.48).abs() < 1e-9, "{}", rule.weight);
        rule.rate = 0.0;
        rule.update_alpha(&beside(0.0));
        assert!((rule.weight - 0.48).abs() < 1e-9, "no rate is known");
    }

    #[test]
    fn idle_restart_forgets_the_shortest_round_trip() {
        let mut rule = rule();
        let mut window = SegmentWindow::new(1448, 20, Some(10));
        let sample = AckSample {
            snd_una: 10,
            snd_nxt: 20,
            ..crate::congestion::test_support::ack(base::Instant::ZERO, 1)
        };
        rule.on_ack(&mut window, &[], &sample);
        assert_eq!((rule.base.get(), rule.round_end), (ms(50) + Duration::from_micros(1), 20));
        rule.on_idle_restart();
        assert_eq!((rule.base.get(), rule.active), (Duration::ZERO, false));
    }

    #[test]
    fn loss_forgets_all_but_the_shortest_round_trip() {
        let mut base = rule().base;
        base.update(base::Instant::ZERO, ms(40));
        let learnt = Weighted {
            base,
            rate: 9.0,
            weight: 0.3,
            alpha: 3.0,
            queue_delay: ms(3),
            active: true,
            ..rule()
        };
        let mut window = SegmentWindow::new(1448, 20, Some(10));
        let sample = crate::congestion::test_support::ack(base::Instant::ZERO, 1);
        let disorder = AckSample { state: CaState::Disorder, ..sample };
        let mut disturbed = learnt.clone();
        disturbed.on_ack(&mut window, &[], &disorder);
        assert!(disturbed.uses_reno, "NewReno in the meantime");
        let mut lost = learnt;
        lost.on_loss();
        for mut rule in [disturbed, lost] {
            rule.on_ack(&mut window, &[], &AckSample { snd_nxt: 70, ..sample });
            assert_eq!((rule.base.get(), rule.round_end, rule.uses_reno), (ms(40), 70, false));
            assert_eq!((rule.rate, rule.weight, rule.alpha), (0.0, 1.0, 2.0));
            assert!(rule.queue_delay.is_zero());
        }
    }

    #[test]
    fn longer_delay_is_the_smallest_once_the_window_is_over() {
        let base_after = |base_window, secs| {
            let mut rule = Weighted::with(Coupling { base_window, ..Coupling::DEFAULT });
            let mut window = SegmentWindow::new(1448, 20, Some(10));
            for second in 0..=secs {
                let rtt = if second == 0 { ms(20) } else { ms(120) };
                let now = base::Instant::from_secs(second);
                let ack = crate::congestion::test_support::ack(now, 1);
                rule.on_ack(&mut window, &[], &AckSample { rtt: Some(rtt), ..ack });
            }
            rule.base.get().as_millis()
        };
        let minute = Duration::from_secs(60);
        assert_eq!([59, 62].map(|secs| base_after(minute, secs)), [20, 120]);
        assert_eq!(base_after(Duration::ZERO, 4000), 20, "the kernel's never forgets");
    }

    #[test]
    fn sibling_without_a_sample_in_its_round_has_no_rate() {
        let sampled = Weighted { rate: 5.0, sampled: (ms(80), 2), ..rule() };
        assert_eq!(sampled.round_rate(), 5.0);
        assert_eq!(Weighted { sampled: (Duration::ZERO, 0), ..sampled }.round_rate(), 0.0);
    }

    #[test]
    fn round_of_two_samples_is_new_renos() {
        let mut rule = rule();
        let mut window = SegmentWindow::new(1448, 20, Some(10));
        let now = base::Instant::ZERO;
        let ack = |una| AckSample {
            snd_una: una,
            snd_nxt: 100,
            ..crate::congestion::test_support::ack(now, 1)
        };
        rule.on_ack(&mut window, &beside(0.0), &ack(10));
        rule.on_ack(&mut window, &beside(0.0), &ack(50));
        assert!(!rule.uses_reno, "within a round the window stays");
        rule.on_ack(&mut window, &beside(0.0), &ack(101));
        assert!(rule.uses_reno);
        let before = window.cwnd();
        rule.increase(&mut window, before, &beside(0.0));
        assert_eq!(window.cwnd(), before + 1.0);
    }
}
