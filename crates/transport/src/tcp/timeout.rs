//! Timers that fire: retransmission time-out, loss probe, reordering, closed window
//! (RFC 6298 s5, RFC 8985 s6.2 and s7, RFC 9293 s3.8.6.1), and how they are set.

use super::acknowledge::AckNews;
use super::loss::Rexmit;
use super::profile::LossDetection;
use super::subflow::Subflow;
use super::timers::Retransmit;
use crate::congestion::{CongestionControl, Controller};
use crate::recovery::{PtoInput, TlpRule, pto};
use crate::socket::SocketError;
use base::{CaState, Context, Duration};

/// Retransmissions of one segment before the connection is given up (Linux `tcp_retries2`).
const MAX_TIMEOUTS: u32 = 15;
/// Probes of a closed window without an answer before it is given up (Linux `tcp_retries2`).
const MAX_PROBES: u32 = 15;

impl Subflow {
    /// RFC 6298 s5.4 to s5.7.
    pub(super) fn on_rto(&mut self, cx: &mut Context<'_>, cc: &mut Controller) {
        if self.tx.board.is_empty() {
            return;
        }
        if self.loss.timeouts >= MAX_TIMEOUTS {
            self.fail(cx, SocketError::TimedOut);
            return;
        }
        self.enter_loss(cx, cc);
        self.loss.timeouts += 1;
        if let Some(mp) = self.mp.as_mut() {
            mp.on_timeout();
        }
        self.rtt.back_off();
        self.loss.rexmit = Rexmit::Lost;
        let rto = self.rtt.rto();
        self.timers.set_retransmit(Retransmit::Rto, cx.now, rto);
    }

    /// RFC 8985 s7.3.
    pub(super) fn on_loss_probe(&mut self, cx: &mut Context<'_>) {
        let rule = self.switches.tlp.unwrap_or(TlpRule::Rfc8985);
        if self.tx.board.is_empty() {
            return;
        }
        if self.loss.tlp.may_probe(rule) {
            // One new segment may exceed the window; otherwise the highest one goes again.
            if self.tx.unsent() > 0 && self.tx.window_left() >= self.next_len() {
                self.outbox.probe_new = true;
            } else {
                self.outbox.probe_copy = true;
            }
            if let Some(mp) = self.mp.as_mut() {
                mp.on_loss_probe();
            }
            self.timers.set_retransmit(Retransmit::Rto, cx.now, self.rtt.rto());
        } else {
            let left = self.rto_left(cx).max(Duration::from_micros(1));
            self.timers.set_retransmit(Retransmit::Rto, cx.now, left);
        }
    }

    /// RFC 8985 s6.2.1: what was merely late so far is lost now. Without RACK: the delay of
    /// early retransmit is over.
    pub(super) fn on_reordering_timeout(&mut self, cx: &mut Context<'_>, cc: &mut Controller) {
        let mut news = AckNews::default();
        let lost = match self.switches.loss_detection {
            LossDetection::Rack => self.detect_by_time(cx),
            LossDetection::SackFack => {
                if self.tx.board.sacked_out() > 0 {
                    self.mark_head_lost(cx, &mut news);
                }
                news.newly_lost
            }
        };
        if lost > 0 {
            if self.loss.ca_state != CaState::Recovery {
                self.enter_recovery_from_timer(cx, cc);
            }
            self.loss.rexmit = Rexmit::Lost;
        }
        if self.timers.retransmit().is_none() {
            self.rearm_rto(cx);
        }
    }

    fn enter_recovery_from_timer(&mut self, cx: &mut Context<'_>, cc: &mut Controller) {
        if self.loss.ca_state == CaState::Loss {
            return;
        }
        self.enter_recovery(cx, cc);
        // No acknowledgement asks PRR for the fast retransmit, so it is allowed here.
        let pipe = self.inflight();
        cc.set_recovery_window(self.path, pipe + 1);
    }

    /// RFC 9293 s3.8.6.1: the window may have opened and the update been lost.
    pub(super) fn on_persist(&mut self, cx: &mut Context<'_>) {
        if !self.tx.has_unsent() || !self.tx.board.is_empty() {
            return;
        }
        if self.tx.probes_unanswered >= MAX_PROBES {
            self.fail(cx, SocketError::TimedOut);
            return;
        }
        self.tx.probes_unanswered += 1;
        self.outbox.window_probe = true;
        self.rtt.back_off();
        self.timers.set_retransmit(Retransmit::Persist, cx.now, self.rtt.rto());
    }

    /// Data are waiting, nothing is in flight and the window is closed: start probing.
    pub(super) fn check_persist(&mut self, cx: &Context<'_>) {
        let idle = self.tx.board.is_empty() && self.timers.retransmit().is_none();
        if idle && self.tx.has_unsent() && self.fsm.is_synchronised() {
            self.timers.set_retransmit(Retransmit::Persist, cx.now, self.rtt.rto());
        }
    }

    /// After an acknowledgement made progress: a loss probe where one is due, else the RTO.
    pub(super) fn set_retransmission_timer(&mut self, cx: &Context<'_>, cc: &Controller) {
        if self.timers.retransmit() == Some(Retransmit::Reordering) && !self.tx.board.is_empty() {
            return;
        }
        if !self.schedule_loss_probe(cx, cc, true) {
            self.rearm_rto(cx);
        }
    }

    /// Time until the RTO of the head, counted from its last transmission.
    fn rto_left(&self, cx: &Context<'_>) -> Duration {
        let Some((_, head)) = self.tx.board.head() else { return self.rtt.rto() };
        (head.sent_at + self.rtt.rto()) - cx.now
    }

    /// Linux `tcp_rearm_rto`: a time-out that replaces a probe or a reordering timer does not
    /// begin anew.
    pub(super) fn rearm_rto(&mut self, cx: &Context<'_>) {
        if self.tx.board.is_empty() {
            self.timers.stop_retransmit();
            return;
        }
        let replaced = self.timers.retransmit();
        let offset = matches!(replaced, Some(Retransmit::Reordering | Retransmit::LossProbe));
        let span =
            if offset { self.rto_left(cx).max(Duration::from_micros(1)) } else { self.rtt.rto() };
        self.timers.set_retransmit(Retransmit::Rto, cx.now, span);
    }

    /// RFC 8985 s7.2. `advancing`: an acknowledgement just restarted the RTO. Whether a probe is
    /// scheduled.
    pub(super) fn schedule_loss_probe(
        &mut self,
        cx: &Context<'_>,
        cc: &Controller,
        advancing: bool,
    ) -> bool {
        let Some(rule) = self.switches.tlp else { return false };
        let open = self.loss.ca_state == CaState::Open;
        if !open || !self.hs.sack || self.tx.board.is_empty() {
            return false;
        }
        let rto_left = if advancing { self.rtt.rto() } else { self.rto_left(cx) };
        let out = self.tx.board.packets_out();
        let input = PtoInput {
            srtt: self.rtt.srtt(),
            inflight_segs: out,
            rto_left: if rto_left.is_zero() { Duration::MAX } else { rto_left },
            min_rto: self.rtt.min_rto(),
            cwnd_limited_or_nothing_unsent: out >= cc.cwnd_segs(self.path) || !self.tx.has_unsent(),
        };
        match pto(rule, &input) {
            Some(wait) => {
                self.timers.set_retransmit(Retransmit::LossProbe, cx.now, wait);
                true
            }
            None => false,
        }
    }
}
