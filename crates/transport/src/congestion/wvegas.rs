//! wVegas, weighted Vegas: coupled and led by delay (multipath-tcp kernel v0.95; congestion spec
//! s6).
//!
//! Once per round trip, from the mean `rtt` of its samples and the smallest RTT seen, `base`:
//! `diff = cwnd (rtt - base) / rtt` segments stand in queues. In slow start `diff > gamma` ends it
//! at `cwnd base / rtt + 1`. In congestion avoidance, while `diff >= alpha_i`, the path takes its
//! part of `total_alpha` anew: `alpha_i = max(2, total_alpha rate_i / sum_k rate_k)`, `rate_i =
//! cwnd_i / rtt_i`; then the window moves by a segment towards `diff = alpha_i`. When the queueing
//! delay has doubled since its smallest value the window drains to `cwnd base / (2 rtt)`. A loss
//! halves. A round of fewer than three samples, and what follows a loss until the path is in
//! order again, is NewReno. Rates are real numbers, where the kernel's integers make all equal.

use super::coupled::{Coupled, Flow, Rule};
use super::window::Window;
use super::{AckSample, Options};
use base::{CaState, Duration};

/// The weighted windows of one connection.
pub type Wvegas = Coupled<Weighted>;

/// Segments in queues that a path begins with, and that it may always have.
const LEAST_ALPHA: f64 = 2.0;
/// Segments in queues that all paths share.
const TOTAL_ALPHA: f64 = 10.0;
/// Segments in queues that end slow start.
const GAMMA: f64 = 1.0;
/// Samples of a round that can be believed.
const LEAST_SAMPLES: u32 = 3;
/// The smallest window but for time-outs, in segments.
const LEAST_CWND: f64 = 2.0;

/// One path's part.
#[derive(Clone, Debug)]
pub struct Weighted {
    /// The smallest RTT and a microsecond.
    base: Option<Duration>,
    /// Of this round: the sum of its samples and their number.
    sampled: (Duration, u32),
    /// The round ends when this is acknowledged.
    round_end: u64,
    /// The path's share of what may queue.
    weight: f64,
    alpha: f64,
    /// Segments a second of the last round that was looked at; zero before.
    rate: f64,
    /// The smallest queueing delay since the last drain; zero before.
    queue_delay: Duration,
    /// NewReno has this acknowledgement.
    plain: bool,
}

/// What a round trip showed.
#[derive(Clone, Copy, Debug)]
struct Round {
    rtt: Duration,
    base: Duration,
}

impl Round {
    /// Segments of a window that stand in queues, whole ones.
    fn queued(self, cwnd: f64) -> f64 {
        let waiting = self.rtt.saturating_sub(self.base);
        libm::floor(cwnd * waiting.as_secs_f64() / self.rtt.as_secs_f64())
    }

    /// The window that would leave queues empty, whole segments.
    fn target(self, cwnd: f64) -> f64 {
        libm::floor(cwnd * self.base.as_secs_f64() / self.rtt.as_secs_f64())
    }
}

impl Rule for Weighted {
    /// `rate_i`.
    type Told = f64;

    fn new(_options: &Options) -> Self {
        Weighted {
            base: None,
            sampled: (Duration::ZERO, 0),
            round_end: 0,
            weight: 1.0,
            alpha: LEAST_ALPHA,
            rate: 0.0,
            queue_delay: Duration::ZERO,
            plain: true,
        }
    }

    fn told(&self) -> f64 {
        self.rate
    }

    fn on_ack(&mut self, window: &mut Window, flows: &[Flow<f64>], sample: &AckSample) {
        self.plain = sample.state != CaState::Open;
        if let Some(rtt) = sample.rtt {
            let floor = rtt + Duration::from_micros(1);
            self.base = Some(self.base.map_or(floor, |base| base.min(floor)));
            self.sampled = (self.sampled.0 + rtt, self.sampled.1 + 1);
        }
        if sample.snd_una <= self.round_end {
            return;
        }
        self.round_end = sample.snd_nxt;
        let (sum, count) = std::mem::take(&mut self.sampled);
        let Some(base) = self.base.filter(|_| count >= LEAST_SAMPLES) else {
            self.plain = true;
            return;
        };
        if !self.plain && flows.len() > 1 {
            let rtt = (sum / u64::from(count)).max(Duration::from_micros(1));
            self.end_round(window, flows, Round { rtt, base }, sample.cwnd_limited);
        }
    }

    fn increase(&mut self, window: &mut Window, acked: f64, _flows: &[Flow<f64>]) {
        if self.plain {
            window.reno_increase(acked);
        }
    }

    fn on_loss(&mut self) {
        self.sampled = (Duration::ZERO, 0);
    }

    fn on_timeout(&mut self) {
        self.rate = 0.0;
    }

    fn on_transmit_start(&mut self) {
        let round_end = self.round_end;
        *self = Weighted { round_end, ..Weighted::new(&Options::default()) };
    }
}

impl Weighted {
    fn end_round(&mut self, window: &mut Window, flows: &[Flow<f64>], round: Round, limited: bool) {
        let cwnd = window.cwnd();
        let diff = round.queued(cwnd);
        if cwnd <= window.ssthresh() {
            if diff > GAMMA {
                window.set_cwnd(cwnd.min(round.target(cwnd) + 1.0));
                self.lower_threshold(window);
            }
        } else {
            if diff >= self.alpha {
                self.rate = cwnd / round.rtt.as_secs_f64();
                self.take_share(flows);
            }
            if diff > self.alpha {
                window.set_cwnd(cwnd - 1.0);
                self.lower_threshold(window);
            } else if diff < self.alpha && limited {
                window.set_cwnd(cwnd + 1.0);
            }
        }
        self.drain(window, round);
        window.set_cwnd(window.cwnd().max(LEAST_CWND));
    }

    /// The part of `total_alpha` that goes with this path's part of the rate; as it was while no
    /// rate is known.
    fn take_share(&mut self, flows: &[Flow<f64>]) {
        let siblings = flows.split_last().map_or(&[][..], |(_, siblings)| siblings);
        let total = self.rate + siblings.iter().map(|flow| flow.told).sum::<f64>();
        if total > 0.0 {
            self.weight = self.rate / total;
        }
        self.alpha = libm::floor(self.weight * TOTAL_ALPHA).max(LEAST_ALPHA);
    }

    /// Empty the queue if its delay has doubled.
    fn drain(&mut self, window: &mut Window, round: Round) {
        let delay = round.rtt.saturating_sub(round.base);
        if self.queue_delay.is_zero() || delay < self.queue_delay {
            self.queue_delay = delay;
        }
        if !self.queue_delay.is_zero() && delay >= self.queue_delay * 2 {
            let share = round.base.as_secs_f64() / (2.0 * round.rtt.as_secs_f64());
            window.set_cwnd(libm::floor(window.cwnd() * share));
            self.queue_delay = Duration::ZERO;
        }
    }

    /// Slow start does not begin again.
    fn lower_threshold(&self, window: &mut Window) {
        window.set_ssthresh(window.ssthresh().min(window.cwnd() - 1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Arithmetic;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn round(rtt: u64) -> Round {
        Round { rtt: ms(rtt), base: ms(100) }
    }

    /// Itself last, beside a path of that rate.
    fn beside(rate: f64) -> [Flow<f64>; 2] {
        let flow = |told| Flow { window: 20.0, srtt: ms(100), told };
        [flow(rate), flow(0.0)]
    }

    /// The window after a round of that RTT, from 20 in congestion avoidance.
    fn after(rule: &mut Weighted, rtt: u64, sibling_rate: f64) -> u32 {
        let mut window = Window::new(Arithmetic::Counter, 1448, 20, Some(10));
        rule.end_round(&mut window, &beside(sibling_rate), round(rtt), true);
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
        let mut window = Window::new(Arithmetic::Counter, 1448, 20, None);
        let mut rule = rule();
        rule.end_round(&mut window, &beside(0.0), round(105), true);
        assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (20, None), "0 segments queued");
        rule.end_round(&mut window, &beside(0.0), round(125), true);
        // 4 are queued, 16 would not be; the delay has more than doubled, too: 17 * 100 / 250.
        assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (6, Some(16)));
    }

    #[test]
    fn path_that_leaves_its_window_unused_does_not_grow() {
        let mut window = Window::new(Arithmetic::Counter, 1448, 20, Some(10));
        rule().end_round(&mut window, &beside(0.0), round(110), false);
        assert_eq!(window.cwnd_segs(), 20);
    }

    #[test]
    fn rates_that_differ_little_have_different_weights() {
        // The kernel's integers would make both 10.
        let mut rule = Weighted { rate: 20.0 / 0.13, ..rule() };
        rule.take_share(&beside(10.0 / 0.06));
        assert!((rule.weight - 0.48).abs() < 1e-9, "{}", rule.weight);
        rule.rate = 0.0;
        rule.take_share(&beside(0.0));
        assert!((rule.weight - 0.48).abs() < 1e-9, "no rate is known");
    }

    #[test]
    fn idle_restart_forgets_the_shortest_round_trip() {
        let mut rule = rule();
        let mut window = Window::new(Arithmetic::Counter, 1448, 20, Some(10));
        let sample = AckSample {
            snd_una: 10,
            snd_nxt: 20,
            ..crate::congestion::test_support::ack(base::Instant::ZERO, 1)
        };
        rule.on_ack(&mut window, &[], &sample);
        assert_eq!((rule.base, rule.round_end), (Some(ms(50) + Duration::from_micros(1)), 20));
        rule.on_transmit_start();
        assert_eq!((rule.base, rule.round_end), (None, 20));
    }

    #[test]
    fn round_of_two_samples_is_new_renos() {
        let mut rule = rule();
        let mut window = Window::new(Arithmetic::Real, 1448, 20, Some(10));
        let now = base::Instant::ZERO;
        let ack = |una| AckSample {
            snd_una: una,
            snd_nxt: 100,
            ..crate::congestion::test_support::ack(now, 1)
        };
        rule.on_ack(&mut window, &beside(0.0), &ack(10));
        assert!(rule.plain, "the first round has one sample");
        rule.on_ack(&mut window, &beside(0.0), &ack(50));
        assert!(!rule.plain, "within a round the window stays");
        rule.on_ack(&mut window, &beside(0.0), &ack(101));
        assert!(rule.plain);
        let before = window.cwnd();
        rule.increase(&mut window, 1.0, &beside(0.0));
        assert!(window.cwnd() > before);
    }
}
