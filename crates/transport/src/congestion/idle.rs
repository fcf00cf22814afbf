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
    in_recovery: bool,
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
        self.in_recovery = false;
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
