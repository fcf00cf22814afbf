//! What an acknowledgement delivers: cumulative and selective acknowledgement of outstanding
//! segments, RTT samples, the outcome of a loss probe, and the congestion window that follows
//! (RFC 2018, RFC 6298, RFC 8985 s6.2, Linux `tcp_clean_rtx_queue` and `tcp_cong_control`).

use super::{LossRecovery, RecoveryContext, Rexmit};
use crate::congestion::{AckSample, CongestionControl};
use crate::recovery::{DupThresh, RackSample, SentSegment, TlpAck, TlpOutcome};
use crate::tcp::ack_info::AckInfo;
use crate::tcp::handshake::Handshake;
use crate::tcp::round_trip::RoundTrip;
use base::{CaState, Context, Duration, Instant};
use std::hint::cold_path;
use std::ops::Range;

/// Time of an acknowledgement, and the state of the path at that time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery<'a> {
    now: Instant,
    min_rtt: Duration,
    handshake: &'a Handshake,
    short_ways: bool,
    /// What the acknowledgement covers cumulatively has given RACK its RTT.
    rtt_known: bool,
}

impl<'a> Delivery<'a> {
    #[inline(always)]
    pub(crate) fn new(cx: &Context<'_>, rtt: &RoundTrip, handshake: &'a Handshake) -> Self {
        let (now, min_rtt, short_ways) = (cx.now, rtt.min(), cx.has_short_ways());
        Delivery { now, min_rtt, handshake, short_ways, rtt_known: false }
    }

    /// The same after cumulative acknowledgement.
    pub(crate) fn after(self, info: &AckInfo) -> Self {
        Delivery { rtt_known: info.delivered.rack_advanced, ..self }
    }

    fn rack_sample(&self, segment: &SentSegment, echo_older: bool) -> RackSample {
        RackSample {
            now: self.now,
            sent_at: segment.sent_at(),
            end_offset: segment.end(),
            retransmitted: segment.ever_retransmitted(),
            echo_older,
            min_rtt: self.min_rtt,
            rtt_known: self.rtt_known,
        }
    }
}

impl LossRecovery {
    /// The sender before an acknowledgement is processed, `una` being SND.UNA.
    pub(crate) fn ack_info(&self, una: u64) -> AckInfo {
        let mut info = AckInfo::default();
        info.prior.una = una;
        info.prior.inflight = self.inflight();
        info.prior.highest_sacked = self.board.highest_sacked(una);
        info
    }

    /// Everything below `ack` is acknowledged. Returns whether the FIN is.
    pub(crate) fn on_acked(&mut self, at: &Delivery<'_>, info: &mut AckInfo, ack: u64) -> bool {
        let mut fin_acked = false;
        info.una_advanced = true;
        info.restart_timer = true;
        if let Some(run) = at.short_ways.then(|| self.board.pop_plain(ack)).flatten() {
            info.on_plain_run(&run, self.high_seq);
            info.delivered.rack_advanced |=
                self.rack.on_delivered(&at.rack_sample(&run.last, false));
            self.rack.on_fack_order(run.first.end(), false);
            self.rack.on_fack_order(run.last.end(), false);
            if run.last.end() == ack {
                // Nothing else is covered, not even in part.
                self.after_acked(ack);
                return false;
            }
        }
        while let Some(segment) = self.board.pop_acked(ack) {
            cold_path();
            info.on_acked(&segment);
            fin_acked |= segment.fin();
            if segment.is_sacked() {
                continue;
            }
            info.on_delivered(&segment, self.high_seq);
            if !segment.ever_retransmitted() {
                info.delivered.on_acked_sent_at(segment.sent_at());
            }
            let older = segment.ever_retransmitted()
                && at.handshake.is_echo_older(info.echo, segment.sent_at());
            let sample = at.rack_sample(&segment, older);
            info.delivered.rack_advanced |= self.rack.on_delivered(&sample);
            self.rack.on_fack_order(segment.end(), segment.ever_retransmitted());
        }
        self.after_acked(ack);
        fin_acked
    }

    fn after_acked(&mut self, ack: u64) {
        self.board.forget_below(ack);
        self.timeouts = 0;
        if self.board.is_empty() {
            cold_path();
            self.reno_sacked = 0;
        }
    }

    /// The range `block` is selectively acknowledged. Blocks come in ascending order.
    pub(crate) fn on_sacked(&mut self, at: &Delivery<'_>, info: &mut AckInfo, block: Range<u64>) {
        let (rack, high_seq) = (&mut self.rack, self.high_seq);
        let in_fack_order = at.handshake.sack();
        self.board.sack(block, |segment: &SentSegment| {
            info.delivered.newly_sacked += 1;
            info.on_delivered(segment, high_seq);
            // The echo is that of the last segment in order (RFC 7323 s4.3), not of this one, so it
            // is not compared.
            let sample = at.rack_sample(segment, false);
            info.delivered.rack_advanced |= rack.on_delivered(&sample);
            if in_fack_order {
                rack.on_fack_order(segment.end(), segment.ever_retransmitted());
            }
            if !segment.ever_retransmitted() {
                info.delivered.on_sacked_sent_at(segment.sent_at());
            }
        });
    }

    /// Whether a D-SACK that ends at `end` is about the outstanding loss probe.
    pub(crate) fn is_of_probe(&self, end: u64) -> bool {
        self.tlp.end_offset().is_some_and(|probe| end >= probe)
    }

    /// A D-SACK reported `duplicate`.
    pub(crate) fn on_dsack(&mut self, info: &mut AckInfo, duplicate: Range<u64>, mss: u32) {
        info.dsack = Some(duplicate.clone());
        self.undo.on_dsack(duplicate, mss);
    }

    /// After cumulative and selective acknowledgement: RTT samples, RACK's D-SACK round and the
    /// outcome of a loss probe.
    pub(crate) fn after_delivery(&mut self, rcx: &mut RecoveryContext<'_, '_>, info: &mut AckInfo) {
        let now = rcx.cx.now;
        let (una, nxt) = (rcx.sender.una(), rcx.sender.nxt());
        self.check(una, nxt);
        let head_sent_at = || self.board.head().map(|(_, head)| head.sent_at());
        if let Some(samples) = RoundTrip::samples_of(now, info, rcx.handshake, head_sent_at) {
            rcx.rtt.on_samples(now, &samples, una, nxt);
            self.tlp.on_rtt_sample();
            rcx.rtt.record(rcx.cx, rcx.id, samples.oldest);
        }
        self.rack.on_dsack_round(info.dsack.is_some(), una, nxt);
        if self.is_probing() {
            cold_path();
            self.finish_probe(rcx, info);
        }
    }

    /// An acknowledgement came while nothing was outstanding: a D-SACK may still report that a
    /// probe or a retransmission was needless (Linux `tcp_ack`, `no_queue`).
    pub(crate) fn after_late_dsack(
        &mut self,
        rcx: &mut RecoveryContext<'_, '_>,
        info: &mut AckInfo,
    ) {
        self.finish_probe(rcx, info);
        if info.dsack.is_some() {
            self.rack.on_dsack_round(true, rcx.sender.una(), rcx.sender.nxt());
            self.on_alert(rcx, info);
        }
    }

    /// Whether a loss probe is outstanding.
    pub(crate) const fn is_probing(&self) -> bool {
        self.tlp.end_offset().is_some()
    }

    fn finish_probe(&mut self, rcx: &mut RecoveryContext<'_, '_>, info: &AckInfo) {
        let outcome = self.tlp.on_ack(&TlpAck {
            ack: rcx.sender.una(),
            dsack_of_probe: info.probe_duplicated,
            snd_una_advanced: info.una_advanced,
            newly_sacked: info.delivered.newly_sacked > 0,
            not_dup: info.not_dup,
        });
        if outcome == TlpOutcome::LossRepaired {
            self.reduce_for_repaired_loss(rcx);
        }
    }

    /// Whether recovery has to look at this acknowledgement (Linux `tcp_ack_is_dubious`).
    pub(crate) fn is_dubious(&self, info: &AckInfo) -> bool {
        self.ca_state != CaState::Open
            || info.delivered.newly_sacked > 0
            || info.dsack.is_some()
            || !(info.not_dup || info.una_advanced)
    }

    /// Timer, congestion window, and what may be retransmitted after an acknowledgement. Returns
    /// whether the window could grow.
    // Inlined: its arguments are at hand where it is called.
    #[inline(always)]
    pub(crate) fn react(
        &mut self,
        rcx: &mut RecoveryContext<'_, '_>,
        info: &AckInfo,
        rexmit: Rexmit,
        paced: bool,
    ) -> bool {
        if info.restart_timer {
            self.set_retransmission_timer(rcx);
        }
        let may_grow = self.control_window(rcx, info, paced);
        self.set_rexmit(rexmit);
        may_grow
    }

    /// The congestion window after an acknowledgement (Linux `tcp_cong_control`): PRR while it is
    /// being reduced, growth otherwise. Returns whether it could grow (`tcp_cong_avoid`).
    #[inline(always)]
    fn control_window(
        &mut self,
        rcx: &mut RecoveryContext<'_, '_>,
        info: &AckInfo,
        paced: bool,
    ) -> bool {
        let path = rcx.id.path;
        let pipe = self.inflight();
        let delivered = &info.delivered;
        debug_assert_eq!(
            self.prr.is_some(),
            matches!(self.ca_state, CaState::Cwr | CaState::Recovery),
            "PRR controls the window while it is reduced only"
        );
        let may_grow = self.prr.is_none()
            && delivered.segs > 0
            && (info.una_advanced || self.is_reordering_seen());
        if let Some(prr) = self.prr.as_mut() {
            cold_path();
            let safe = info.una_advanced && info.newly_lost == 0;
            if let Some(allowed) = prr.on_ack(delivered.segs, pipe, safe) {
                rcx.cc.set_recovery_window(path, pipe + allowed);
            }
        } else if may_grow {
            let sample = AckSample {
                now: rcx.cx.now,
                acked_segs: delivered.segs,
                acked_bytes: delivered.bytes,
                rtt: info.rtt,
                srtt: rcx.rtt.srtt(),
                min_rtt: rcx.rtt.min(),
                inflight_before_segs: info.prior.inflight,
                cwnd_limited: rcx.sender.validation.is_limited(rcx.cc, path),
                may_grow: true,
                state: self.ca_state,
                snd_una: rcx.sender.una(),
                snd_nxt: rcx.sender.nxt(),
                paced,
            };
            rcx.cc.on_ack(path, &sample);
        }
        self.record_window(rcx);
        may_grow
    }

    /// Outstanding segments are those sent and not cumulatively acknowledged.
    fn check(&self, una: u64, nxt: u64) {
        debug_assert!(una <= nxt, "acknowledged data were sent");
        debug_assert_eq!(self.board.is_empty(), una == nxt, "outstanding = sent - acknowledged");
        debug_assert!(self.board.head().is_none_or(|(_, head)| head.offset() == una));
        debug_assert!(self.board.last().is_none_or(|(_, last)| last.end() == nxt));
    }

    /// Whether segments were ever reordered by more than the initial threshold.
    pub(super) fn is_reordering_seen(&self) -> bool {
        self.dup.segs() > DupThresh::default().segs()
    }
}
