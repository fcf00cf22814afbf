//! The timers of loss recovery: retransmission time-out, loss probe and reordering, how they are
//! set and what happens when they fire (RFC 6298 s5, RFC 8985 s6.2 and s7).

use super::{LossRecovery, RecoveryContext, Rexmit};
use crate::congestion::CongestionControl;
use crate::recovery::{PtoInput, TlpRule, pto};
use crate::tcp::ack_info::AckInfo;
use crate::tcp::profile::LossDetection;
use crate::tcp::round_trip::RoundTrip;
use crate::tcp::timers::Retransmit;
use base::{CaState, Duration, Instant};
use std::hint::cold_path;

/// Retransmissions of one segment before the connection fails (Linux `tcp_retries2`).
const MAX_TIMEOUTS: u32 = 15;
/// Shortest time for which a timer is set.
pub(in crate::tcp) const TICK: Duration = Duration::from_micros(1);

/// What a retransmission time-out means for the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimeoutOutcome {
    /// Nothing is outstanding.
    Nothing,
    /// Lost segments are to be retransmitted.
    Retransmit,
    /// The connection fails.
    GiveUp,
}

impl LossRecovery {
    /// The retransmission timer fired (RFC 6298 s5.4 to s5.7).
    pub(crate) fn on_rto(&mut self, rcx: &mut RecoveryContext<'_, '_>) -> TimeoutOutcome {
        if self.board.is_empty() {
            return TimeoutOutcome::Nothing;
        }
        if self.timeouts >= MAX_TIMEOUTS {
            return TimeoutOutcome::GiveUp;
        }
        self.enter_loss(rcx);
        self.timeouts += 1;
        rcx.rtt.back_off();
        self.rexmit = Rexmit::Lost;
        rcx.timers.set_retransmit(Retransmit::Rto, rcx.cx.now, rcx.rtt.rto());
        TimeoutOutcome::Retransmit
    }

    /// Time-outs follow each other at short intervals again: those before count as one, so that the
    /// connection does not fail before the time that the limit stands for (RFC 9293 s3.8.3, R2).
    pub(crate) fn count_timeouts_anew(&mut self) {
        self.timeouts = self.timeouts.min(1);
    }

    /// The probe timer fired (RFC 8985 s7.3). Returns whether a probe is to be sent.
    pub(crate) fn on_probe_timeout(&mut self, rcx: &mut RecoveryContext<'_, '_>) -> bool {
        let rule = rcx.switches.tlp.unwrap_or(TlpRule::Rfc8985);
        if self.board.is_empty() {
            return false;
        }
        let probes = self.tlp.may_probe(rule);
        let span =
            if probes { rcx.rtt.rto() } else { self.rto_left(rcx.rtt, rcx.cx.now).max(TICK) };
        rcx.timers.set_retransmit(Retransmit::Rto, rcx.cx.now, span);
        probes
    }

    /// The reordering timer fired: segments that were late are lost now (RFC 8985 s6.2.1). Without
    /// RACK, the delay of early retransmit is over.
    pub(crate) fn on_reordering_timeout(&mut self, rcx: &mut RecoveryContext<'_, '_>) {
        let mut info = AckInfo::default();
        let lost = match rcx.switches.loss_detection {
            LossDetection::Rack => self.detect_by_time(rcx).0,
            LossDetection::SackFack => {
                if self.board.sacked_out() > 0 {
                    self.mark_head_lost(rcx, &mut info);
                }
                info.newly_lost
            }
        };
        if lost > 0 {
            if self.ca_state != CaState::Recovery {
                self.enter_recovery_from_timer(rcx);
            }
            self.rexmit = Rexmit::Lost;
        }
        if !self.board.is_empty() {
            self.continue_rto(rcx);
        }
    }

    fn enter_recovery_from_timer(&mut self, rcx: &mut RecoveryContext<'_, '_>) {
        self.enter_recovery(rcx);
        // No acknowledgement lets PRR allow the fast retransmit, so it is allowed here.
        let pipe = self.inflight();
        rcx.cc.set_recovery_window(rcx.id.path, pipe + 1);
    }

    /// Sets the timer after an acknowledgement made progress: a loss probe where one may be sent,
    /// otherwise the RTO.
    pub(crate) fn set_retransmission_timer(&mut self, rcx: &mut RecoveryContext<'_, '_>) {
        let rto = rcx.rtt.rto();
        if !self.schedule_loss_probe(rcx, rto) {
            self.rearm_rto(rcx);
        }
    }

    /// Time until the RTO of the lowest outstanding segment, counted from its last transmission.
    #[inline]
    pub(crate) fn rto_left(&self, rtt: &RoundTrip, now: Instant) -> Duration {
        let Some((_, head)) = self.board.head() else { return rtt.rto() };
        (head.sent_at() + rtt.rto()) - now
    }

    /// Sets the RTO. In place of a probe or a reordering timer it does not begin anew (Linux
    /// `tcp_rearm_rto`).
    #[inline(never)]
    pub(crate) fn rearm_rto(&self, rcx: &mut RecoveryContext<'_, '_>) {
        if self.board.is_empty() {
            rcx.timers.stop_retransmit();
            return;
        }
        let replaced = rcx.timers.retransmit();
        if matches!(replaced, Some(Retransmit::Reordering | Retransmit::LossProbe)) {
            self.continue_rto(rcx);
        } else {
            rcx.timers.set_retransmit(Retransmit::Rto, rcx.cx.now, rcx.rtt.rto());
        }
    }

    /// Sets the RTO as it was before another timer took its place.
    fn continue_rto(&self, rcx: &mut RecoveryContext<'_, '_>) {
        let left = self.rto_left(rcx.rtt, rcx.cx.now).max(TICK);
        rcx.timers.set_retransmit(Retransmit::Rto, rcx.cx.now, left);
    }

    /// Sets the probe timer after new data were sent.
    pub(crate) fn schedule_probe_after_sending(&self, rcx: &mut RecoveryContext<'_, '_>) {
        let rto_left = self.rto_left(rcx.rtt, rcx.cx.now);
        self.schedule_loss_probe(rcx, rto_left);
    }

    /// Sets the probe timer where a probe may be sent (RFC 8985 s7.2); returns whether it did.
    /// `rto_left`: time until the RTO would fire.
    fn schedule_loss_probe(&self, rcx: &mut RecoveryContext<'_, '_>, rto_left: Duration) -> bool {
        let Some(rule) = rcx.switches.tlp else { return false };
        let open = matches!(self.ca_state, CaState::Open | CaState::Cwr);
        if !open || !rcx.handshake.sack() || self.board.is_empty() {
            cold_path();
            return false;
        }
        let out = self.board.packets_out();
        let estimator = rcx.rtt.estimator();
        let input = PtoInput {
            srtt: estimator.srtt(),
            inflight_segs: out,
            rto_left: if rto_left.is_zero() { Duration::MAX } else { rto_left },
            min_rto: estimator.min_rto(),
            // Only this rule asks.
            cwnd_limited_or_nothing_unsent: rule != TlpRule::Papers
                || !rcx.sender.has_unsent()
                || out >= rcx.cc.cwnd_segs(rcx.id.path),
        };
        match pto(rule, &input) {
            Some(wait) => {
                rcx.timers.set_retransmit(Retransmit::LossProbe, rcx.cx.now, wait);
                true
            }
            None => false,
        }
    }
}
