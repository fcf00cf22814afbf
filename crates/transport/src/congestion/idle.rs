//! Windows that were not used: restart after idling, and congestion window validation.
//!
//! RFC 5681 s4.1, RFC 2861 as Linux has it, RFC 7661 (`Cwv`); congestion spec s0 rule 9. When a
//! path was idle or limited by the application is for the connection to say.

use super::window::Window;
use super::{AckSample, CongestionEvent, CongestionKind};
use base::{Duration, Instant};
use std::collections::VecDeque;

/// What becomes of a window that was not used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IdleRule {
    /// Back to the initial window after one RTO (RFC 5681 s4.1).
    Rfc5681,
    /// Halve once for each RTO (RFC 2861, Linux's default).
    #[default]
    Rfc2861,
    /// Keep it, but validate it (RFC 7661).
    Cwv,
    /// Keep it.
    Off,
}

/// Linux's initial window, the restart window even after a lost handshake.
const RESTART_WINDOW: u32 = 10;
/// The shortest period over which `pipe_ack` is a maximum (RFC 7661 s4.2).
const MIN_PERIOD: Duration = Duration::from_secs(1);
/// How long a window may stay non-validated before it is halved (RFC 7661 s4.4.1).
const NON_VALIDATED_PERIOD: Duration = Duration::from_secs(300);

/// Data are sent with nothing in flight after `idle` of silence.
pub fn restart(rule: IdleRule, window: &mut Window, idle: Duration, rto: Duration) {
    if idle <= rto || rto.is_zero() {
        return;
    }
    match rule {
        IdleRule::Rfc5681 => {
            let initial = f64::from(window.initial());
            window.set_cwnd(window.cwnd().min(initial));
        }
        IdleRule::Rfc2861 => halve_per_rto(window, idle, rto),
        IdleRule::Cwv | IdleRule::Off => {}
    }
}

fn halve_per_rto(window: &mut Window, mut idle: Duration, rto: Duration) {
    let mut cwnd = window.cwnd_segs();
    let floor = restart_window(window).min(cwnd);
    window.set_ssthresh(window.current_ssthresh());
    idle -= rto;
    while !idle.is_zero() && cwnd > floor {
        cwnd /= 2;
        idle -= rto;
    }
    window.set_cwnd(f64::from(cwnd.max(floor)));
}

/// For one RTO the application used at most `used_segs` of the window: Linux's part of RFC 2861
/// s3 for senders that are never quite idle.
pub fn application_limited(rule: IdleRule, window: &mut Window, used_segs: u32) {
    if rule != IdleRule::Rfc2861 {
        return;
    }
    let cwnd = window.cwnd_segs();
    let used = used_segs.max(restart_window(window));
    if used < cwnd {
        window.set_ssthresh(window.current_ssthresh());
        window.set_cwnd(f64::from((cwnd + used) / 2));
    }
}

fn restart_window(window: &Window) -> u32 {
    if window.initial() > 1 { window.initial() } else { RESTART_WINDOW }
}

/// RFC 7661's variables.
#[derive(Clone, Debug, Default)]
pub struct Validation {
    /// Segments acknowledged in a round, decreasing, with the time the round ended.
    samples: VecDeque<(Instant, u32)>,
    round_end: u64,
    acked_in_round: u32,
    non_validated_since: Option<Instant>,
    recovery: Option<ValidatedLoss>,
}

/// A loss in the non-validated phase.
#[derive(Clone, Copy, Debug)]
struct ValidatedLoss {
    used: u32,
    retransmitted: u32,
}

impl Validation {
    /// An acknowledgement outside of recovery.
    pub fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        self.acked_in_round += sample.acked_segs;
        if sample.snd_una >= self.round_end {
            self.end_round(sample);
        }
        self.on_time(window, sample.now);
        if self.is_non_validated(window) {
            self.non_validated_since.get_or_insert(sample.now);
        } else {
            self.non_validated_since = None;
        }
    }

    fn end_round(&mut self, sample: &AckSample) {
        let acked = std::mem::take(&mut self.acked_in_round);
        self.round_end = sample.snd_nxt;
        while self.samples.back().is_some_and(|(_, segs)| *segs <= acked) {
            self.samples.pop_back();
        }
        self.samples.push_back((sample.now, acked));
        let period = (sample.srtt * 3).max(MIN_PERIOD);
        while self.samples.front().is_some_and(|(at, _)| sample.now - *at > period) {
            self.samples.pop_front();
        }
    }

    /// The largest amount acknowledged within a round; `None` while undefined.
    pub fn pipe_ack(&self) -> Option<u32> {
        self.samples.front().map(|(_, segs)| *segs)
    }

    fn is_non_validated(&self, window: &Window) -> bool {
        self.pipe_ack().is_some_and(|used| f64::from(used) < window.cwnd() / 2.0)
    }

    /// Time passed: each period spent non-validated halves the window.
    pub fn on_time(&mut self, window: &mut Window, now: Instant) {
        while let Some(since) = self.non_validated_since
            && now - since >= NON_VALIDATED_PERIOD
        {
            window.set_ssthresh(window.ssthresh().max(window.cwnd() * 0.75));
            window.set_cwnd((window.cwnd() / 2.0).max(f64::from(window.initial())));
            self.non_validated_since = Some(since + NON_VALIDATED_PERIOD);
        }
    }

    /// A congestion signal: the threshold of the non-validated phase, or `None` for the ordinary.
    pub fn on_congestion(&mut self, window: &Window, event: &CongestionEvent) -> Option<f64> {
        let non_validated = self.is_non_validated(window);
        let used = self.pipe_ack().unwrap_or(0).max(event.inflight_segs);
        self.samples.clear();
        self.acked_in_round = 0;
        self.non_validated_since = None;
        self.recovery = None;
        let timeout = matches!(event.kind, CongestionKind::Rto | CongestionKind::RtoRepeated);
        if !non_validated || timeout {
            return None;
        }
        self.recovery = Some(ValidatedLoss { used, retransmitted: 0 });
        Some(f64::from(used) / 2.0)
    }

    /// `segs` lost segments were sent again during recovery.
    pub fn on_retransmitted(&mut self, segs: u32) {
        if let Some(loss) = &mut self.recovery {
            loss.retransmitted += segs;
        }
    }

    /// Recovery ended: the threshold of the non-validated phase, if the loss came in it.
    pub fn on_recovery_exit(&mut self) -> Option<f64> {
        let loss = self.recovery.take()?;
        Some((f64::from(loss.used.saturating_sub(loss.retransmitted)) / 2.0).max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::test_support::{ack, loss};
    use crate::congestion::{
        Arithmetic, CongestionControl, Controller, Options, PathStart, by_name,
    };
    use base::PathId;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Window 80, threshold 40, initial window 10.
    fn window(arithmetic: Arithmetic) -> Window {
        let mut window = Window::new(arithmetic, 1448, 10, Some(40));
        window.set_cwnd(80.0);
        window
    }

    #[test]
    fn idle_1_three_halvings_in_800_ms() {
        let mut window = window(Arithmetic::Counter);
        restart(IdleRule::Rfc2861, &mut window, ms(800), ms(250));
        assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (10, Some(60)));
    }

    #[test]
    fn idle_1_each_further_rto_halves_once() {
        for (idle, cwnd) in [(250, 80), (251, 40), (500, 40), (501, 20), (9_000, 10)] {
            let mut window = window(Arithmetic::Counter);
            restart(IdleRule::Rfc2861, &mut window, ms(idle), ms(250));
            assert_eq!(window.cwnd_segs(), cwnd, "after {idle} ms");
        }
    }

    #[test]
    fn rfc5681_goes_back_to_the_initial_window() {
        let mut window = window(Arithmetic::Counter);
        restart(IdleRule::Rfc5681, &mut window, ms(250), ms(250));
        assert_eq!(window.cwnd_segs(), 80, "not yet");
        restart(IdleRule::Rfc5681, &mut window, ms(251), ms(250));
        assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (10, Some(40)));
    }

    #[test]
    fn restart_never_raises_the_window() {
        let mut window = Window::new(Arithmetic::Counter, 1448, 10, None);
        window.set_cwnd(4.0);
        restart(IdleRule::Rfc2861, &mut window, ms(800), ms(250));
        assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (4, None));
    }

    #[test]
    fn lost_handshake_does_not_lower_the_restart_window() {
        let mut window = Window::new(Arithmetic::Counter, 1448, 1, None);
        window.set_cwnd(80.0);
        restart(IdleRule::Rfc2861, &mut window, Duration::from_secs(60), ms(250));
        assert_eq!(window.cwnd_segs(), 10);
    }

    #[test]
    fn unused_window_shrinks_towards_what_was_used() {
        let mut window = window(Arithmetic::Counter);
        application_limited(IdleRule::Rfc2861, &mut window, 30);
        assert_eq!((window.cwnd_segs(), window.ssthresh_segs()), (55, Some(60)));
        application_limited(IdleRule::Rfc2861, &mut window, 2);
        assert_eq!(window.cwnd_segs(), 32, "the initial window counts as used");
        application_limited(IdleRule::Off, &mut window, 2);
        assert_eq!(window.cwnd_segs(), 32);
    }

    fn cwv_with_pipe_ack_30() -> Controller {
        let options = Options { idle: IdleRule::Cwv, ..Options::RFC };
        let mut controller = by_name("reno", &options).unwrap();
        let start = PathStart {
            now: Instant::ZERO,
            mss: 1448,
            initial_window_segs: 80,
            initial_ssthresh_segs: Some(40),
            srtt: Duration::ZERO,
        };
        controller.on_path_added(PathId(0), &start);
        for round in 0..3u64 {
            let mut sample = ack(Instant::from_millis(100 * (round + 1)), 30);
            sample.cwnd_limited = false;
            (sample.snd_una, sample.snd_nxt) = (round * 30, (round + 1) * 30);
            controller.on_ack(PathId(0), &sample);
        }
        controller
    }

    fn real_window(controller: &Controller) -> (f64, f64) {
        let Controller::Reno(reno) = controller else { unreachable!("asked for reno") };
        let window = reno.window(PathId(0)).unwrap();
        (window.cwnd(), window.ssthresh())
    }

    #[test]
    fn cwv_1_loss_in_the_non_validated_phase_counts_what_was_used() {
        let mut controller = cwv_with_pipe_ack_30();
        assert_eq!(real_window(&controller).0, 80.0, "kept while not used");
        let event = CongestionEvent { inflight_segs: 24, ..loss(Instant::from_millis(400)) };
        controller.on_congestion(PathId(0), &event);
        assert_eq!(real_window(&controller).1, 15.0);
        controller.on_retransmitted(PathId(0), 2);
        controller.on_retransmitted(PathId(0), 1);
        controller.on_recovery_exit(PathId(0), Instant::from_millis(500));
        assert_eq!(real_window(&controller), (13.5, 13.5));
    }

    #[test]
    fn cwv_time_out_is_an_ordinary_one() {
        let mut controller = cwv_with_pipe_ack_30();
        let event =
            CongestionEvent { kind: CongestionKind::Rto, ..loss(Instant::from_millis(400)) };
        controller.on_congestion(PathId(0), &event);
        assert_eq!(real_window(&controller), (1.0, 40.0));
    }

    #[test]
    fn cwv_halves_after_five_minutes() {
        let mut controller = cwv_with_pipe_ack_30();
        controller.on_idle_restart(PathId(0), ms(299_000), ms(250), Instant::from_millis(300_199));
        assert_eq!(real_window(&controller).0, 80.0);
        controller.on_idle_restart(PathId(0), ms(300_000), ms(250), Instant::from_millis(300_200));
        // The initial window of this path is 80.
        assert_eq!(real_window(&controller), (80.0, 60.0));
    }

    #[test]
    fn cwv_pipe_ack_is_a_maximum_over_a_second() {
        let mut validation = Validation::default();
        let mut window = window(Arithmetic::Real);
        for (at, acked) in [(0, 50), (500, 20), (1_200, 10)] {
            let mut sample = ack(Instant::from_millis(at), acked);
            sample.snd_nxt = 0;
            validation.on_ack(&mut window, &sample);
        }
        assert_eq!(validation.pipe_ack(), Some(20), "50 is older than a second");
    }
}
