//! Loss recovery of one path: the states Open, Disorder, Cwr, Recovery and Loss, and what starts,
//! ends and undoes them (RFC 6675, 6582, 8985, 9937, 5682, 3708; states and order of decisions as
//! in Linux `tcp_fastretrans_alert`).
//!
//! What an acknowledgement delivers is in `delivery`, which segments are lost in `detection`,
//! timers in `timers`. The rules themselves are parts of `recovery`.

mod delivery;
mod detection;
mod timers;
mod undo;

pub(super) use delivery::Delivery;
pub(super) use timers::{TICK, TimeoutOutcome};

use super::ack_info::AckInfo;
use super::handshake::Handshake;
use super::profile::{CwndAfterRto, RecoverySwitches};
use super::round_trip::RoundTrip;
use super::sender::Sender;
use super::subflow::FlowId;
use super::timers::Timers;
use crate::congestion::{CongestionControl, CongestionEvent, CongestionKind, Controller};
use crate::recovery::{DupThresh, Prr, Rack, Scoreboard, Tlp};
use base::{CaState, Context, Event, EventMask, Instant, prefetch};
use std::hint::cold_path;
use undo::Undo;

/// What may be sent in answer to an acknowledgement besides new data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Rexmit {
    #[default]
    None,
    /// Lost segments.
    Lost,
    /// F-RTO step 2b: new data first, to find out whether the time-out was spurious.
    New,
}

/// The segments in flight and the state of loss recovery. The fields that few acknowledgements need
/// come first.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct LossRecovery {
    undo: Undo,
    /// Segments below this identifier were examined by forward acknowledgement.
    marked_below: u64,
    dup: DupThresh,
    /// Present while the window is being reduced.
    prr: Option<Prr>,
    /// Number of time-outs in a row.
    timeouts: u32,
    /// Recovery, or the window after a time-out, ends when this offset is acknowledged.
    high_seq: u64,
    rack: Rack,
    tlp: Tlp,
    /// Duplicate acknowledgements that count as SACKed segments (NewReno).
    reno_sacked: u32,
    /// F-RTO looks for signs that the time-out was spurious.
    frto: bool,
    /// This host dropped segments of the episode: an undo leaves the window as it is (Linux
    /// `prior_ssthresh` of 0).
    keeps_reduction: bool,
    /// What may be retransmitted now.
    rexmit: Rexmit,
    ca_state: CaState,
    board: Scoreboard,
}

/// The rest of the subflow, as far as loss recovery needs it to handle one event.
pub(super) struct RecoveryContext<'a, 'b> {
    pub cx: &'a mut Context<'b>,
    pub cc: &'a mut Controller,
    pub timers: &'a mut Timers,
    pub rtt: &'a mut RoundTrip,
    pub sender: &'a Sender,
    pub handshake: &'a Handshake,
    pub switches: &'a RecoverySwitches,
    pub id: FlowId,
}

impl LossRecovery {
    /// Requests the memory that every packet needs.
    pub(super) fn prefetch(&self) {
        prefetch(&self.board);
    }

    /// Requests the memory that sending needs besides.
    pub(super) fn prefetch_more(&self) {
        prefetch(&self.rack);
        prefetch(&self.tlp);
        self.board.prefetch_first();
    }

    /// The scoreboard.
    pub(super) const fn board(&self) -> &Scoreboard {
        &self.board
    }

    /// Whether nothing is outstanding.
    pub(super) fn is_idle(&self) -> bool {
        self.board.is_empty()
    }

    /// Segments in the network (RFC 6675's pipe).
    pub(super) fn inflight(&self) -> u32 {
        self.board.inflight().saturating_sub(self.reno_sacked)
    }

    /// The state of recovery.
    pub(super) const fn ca_state(&self) -> CaState {
        self.ca_state
    }

    /// The duplicate threshold in segments.
    pub(super) const fn dup_thresh(&self) -> u32 {
        self.dup.segs()
    }

    /// What may be retransmitted now.
    pub(super) const fn rexmit(&self) -> Rexmit {
        self.rexmit
    }

    /// Sets what may be retransmitted now.
    pub(super) const fn set_rexmit(&mut self, rexmit: Rexmit) {
        self.rexmit = rexmit;
    }

    /// F-RTO step 2b found no new data to send: the time-out is taken as real. Returns whether
    /// lost segments are to be retransmitted instead.
    pub(super) fn on_no_new_data(&mut self, nxt: u64) -> bool {
        if nxt > self.high_seq {
            self.rexmit = Rexmit::None;
            return false;
        }
        self.frto = false;
        self.rexmit = Rexmit::Lost;
        true
    }

    /// A segment was sent for the first time; `len` includes the offset of a FIN.
    #[inline(always)]
    pub(super) fn on_sent(&mut self, now: Instant, offset: u64, len: u32, fin: bool) {
        self.board.on_sent(now, offset, len, fin);
        if let Some(prr) = self.prr.as_mut() {
            prr.on_sent(1);
        }
    }

    /// The interface dropped a segment at once, because its link is down. The window is reduced
    /// (Linux `tcp_enter_cwr`, which follows on `NET_XMIT_CN` of `noop_enqueue`). `nxt`: SND.NXT
    /// before the segment.
    #[cold]
    pub(super) fn on_local_drop(&mut self, rcx: &mut RecoveryContext<'_, '_>, nxt: u64) {
        self.keeps_reduction = true;
        if self.ca_state >= CaState::Cwr {
            return;
        }
        self.undo.end();
        let mut prr = self.begin_reduction(rcx);
        prr.expect_retransmission(false);
        prr.on_sent(u32::from(rcx.sender.nxt() > nxt));
        self.prr = Some(prr);
        self.high_seq = nxt;
        self.ca_state = CaState::Cwr;
        self.record_window(rcx);
    }

    /// Segment `id` was sent again. `repairs`: it repairs a loss, as opposed to a loss probe.
    pub(super) fn on_retransmitted(&mut self, now: Instant, id: u64, repairs: bool) {
        self.board.on_retransmitted(now, id, repairs);
        if !repairs {
            return;
        }
        self.undo.on_retransmitted(now);
        if let Some(prr) = self.prr.as_mut() {
            prr.on_sent(1);
        }
    }

    /// A loss probe was sent, `nxt` being SND.NXT after it. `is_copy`: it repeats a segment.
    pub(super) const fn on_probe_sent(&mut self, nxt: u64, is_copy: bool) {
        self.tlp.on_probe(nxt, is_copy);
    }

    /// An acknowledgement that is more than plain progress (Linux `tcp_fastretrans_alert`). Returns
    /// what may be retransmitted.
    pub(super) fn on_alert(
        &mut self,
        rcx: &mut RecoveryContext<'_, '_>,
        info: &mut AckInfo,
    ) -> Rexmit {
        if let Some(low) = info.delivered.reordered {
            self.dup.on_reordering(low, info.prior.highest_sacked, rcx.sender.mss());
        }
        let duplicate = info.is_duplicate();
        if !rcx.handshake.sack() {
            self.count_reno_duplicates(info, duplicate);
        }
        let una = rcx.sender.una();
        match self.ca_state {
            CaState::Open => self.undo.forget_stamp(),
            CaState::Cwr if una > self.high_seq => self.end_local_reduction(rcx),
            CaState::Recovery if una >= self.high_seq => self.end_recovery(rcx, info, true),
            _ => {}
        }
        match self.ca_state {
            CaState::Recovery => self.continue_recovery(rcx, info),
            CaState::Loss => self.continue_after_timeout(rcx, info, duplicate),
            state => {
                if state <= CaState::Disorder {
                    self.try_undo_by_dsack(rcx);
                }
                self.find_losses(rcx, info);
                if !self.is_time_to_recover(rcx, info) {
                    if state != CaState::Cwr {
                        self.keep_open(rcx);
                    }
                    return Rexmit::None;
                }
                self.enter_recovery(rcx);
                Rexmit::Lost
            }
        }
    }

    /// Without SACK a duplicate acknowledgement counts as one segment that arrived (RFC 6582).
    fn count_reno_duplicates(&mut self, info: &mut AckInfo, duplicate: bool) {
        if duplicate {
            self.reno_sacked += 1;
            info.delivered.segs += 1;
        } else if info.una_advanced {
            let covered = info.delivered.newly_acked.saturating_sub(1);
            self.reno_sacked = self.reno_sacked.saturating_sub(covered);
        } else {
            return;
        }
        let most = self.board.packets_out() - self.board.lost_out();
        self.reno_sacked = self.reno_sacked.min(most);
    }

    fn continue_recovery(
        &mut self,
        rcx: &mut RecoveryContext<'_, '_>,
        info: &mut AckInfo,
    ) -> Rexmit {
        if info.una_advanced && self.try_undo_partial(rcx, info) {
            return Rexmit::None;
        }
        self.try_undo_by_dsack(rcx);
        if !rcx.handshake.sack() && info.una_advanced {
            // RFC 6582 s3.2 step 3: a partial acknowledgement shows the next hole.
            self.mark_head_lost(rcx, info);
        }
        self.find_losses(rcx, info);
        if self.ca_state != CaState::Recovery {
            if !self.is_time_to_recover(rcx, info) {
                return Rexmit::None;
            }
            self.enter_recovery(rcx);
        }
        Rexmit::Lost
    }

    /// An acknowledgement in state Loss (Linux `tcp_process_loss`).
    fn continue_after_timeout(
        &mut self,
        rcx: &mut RecoveryContext<'_, '_>,
        info: &mut AckInfo,
        duplicate: bool,
    ) -> Rexmit {
        let rexmit = self.process_loss_state(rcx, info, duplicate);
        let lost_before = info.newly_lost;
        let was_out = self.board.retrans_out();
        self.find_losses(rcx, info);
        let lost_a_copy = info.newly_lost > lost_before && self.board.retrans_out() < was_out;
        if self.ca_state != CaState::Open && !lost_a_copy {
            return rexmit;
        }
        self.try_undo_by_dsack(rcx);
        if !self.is_time_to_recover(rcx, info) {
            self.keep_open(rcx);
            return rexmit;
        }
        self.enter_recovery(rcx);
        Rexmit::Lost
    }

    /// F-RTO in its SACK form (RFC 5682 s3.1), and the end of state Loss.
    fn process_loss_state(
        &mut self,
        rcx: &mut RecoveryContext<'_, '_>,
        info: &AckInfo,
        duplicate: bool,
    ) -> Rexmit {
        let recovered = rcx.sender.una() >= self.high_seq;
        if info.una_advanced && self.may_undo(rcx, info) {
            self.undo_timeout(rcx);
            return Rexmit::None;
        }
        if self.frto {
            if info.delivered.original {
                self.undo_timeout(rcx);
                return Rexmit::None;
            }
            if rcx.sender.nxt() > self.high_seq {
                if info.delivered.newly_sacked > 0 || duplicate {
                    self.frto = false;
                }
            } else if info.una_advanced && !recovered {
                self.high_seq = rcx.sender.nxt();
                if rcx.sender.has_unsent() && rcx.sender.window_left() > 0 {
                    return Rexmit::New;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.end_recovery(rcx, info, false);
            return Rexmit::None;
        }
        if !rcx.handshake.sack() && info.una_advanced {
            self.reno_sacked = 0;
        }
        Rexmit::Lost
    }

    /// Everything that was outstanding when the episode began is acknowledged. `reducing`: PRR
    /// controlled the window, which becomes the threshold unless the reduction is undone.
    fn end_recovery(&mut self, rcx: &mut RecoveryContext<'_, '_>, info: &AckInfo, reducing: bool) {
        if self.may_undo(rcx, info) {
            self.undo_reduction(rcx);
        } else if reducing && self.undo.is_possible() {
            rcx.cc.on_recovery_exit(rcx.id.path, rcx.cx.now);
        }
        self.reno_sacked = 0;
        self.prr = None;
        self.frto = false;
        self.rack.on_recovery_end();
        self.ca_state = CaState::Open;
        self.record_window(rcx);
    }

    /// Something that was sent after the first drop of this host is acknowledged.
    fn end_local_reduction(&mut self, rcx: &mut RecoveryContext<'_, '_>) {
        rcx.cc.on_recovery_exit(rcx.id.path, rcx.cx.now);
        self.prr = None;
        self.ca_state = CaState::Open;
        self.record_window(rcx);
    }

    /// Neither lost nor recovering: Disorder while something is SACKed, otherwise Open.
    fn keep_open(&mut self, rcx: &mut RecoveryContext<'_, '_>) {
        let odd = self.board.sacked_out() + self.board.lost_out() + self.reno_sacked > 0;
        let state = if odd { CaState::Disorder } else { CaState::Open };
        if state != self.ca_state {
            self.ca_state = state;
            self.high_seq = rcx.sender.nxt();
            self.record_window(rcx);
        }
    }

    /// Fast recovery starts (RFC 9937 s6, RFC 6675 s5).
    fn enter_recovery(&mut self, rcx: &mut RecoveryContext<'_, '_>) {
        let probe = u32::from(self.tlp.end_offset().is_some() && self.tlp.is_retrans());
        self.undo.start(rcx.sender.una(), self.board.retrans_out() + probe);
        self.keeps_reduction = self.ca_state == CaState::Cwr;
        if let Some(prr) = self.prr.as_mut().filter(|_| self.keeps_reduction) {
            // One reduction is enough.
            prr.expect_retransmission(true);
        } else {
            self.prr = Some(self.begin_reduction(rcx));
        }
        self.ca_state = CaState::Recovery;
        self.record_window(rcx);
    }

    /// Notifies the controller of a loss; returns the reduction that follows.
    fn begin_reduction(&mut self, rcx: &mut RecoveryContext<'_, '_>) -> Prr {
        let path = rcx.id.path;
        let prior_cwnd = rcx.cc.cwnd_segs(path);
        self.high_seq = rcx.sender.nxt();
        self.tlp.reset();
        self.report_congestion(rcx, CongestionKind::FastRecovery, 1);
        let ssthresh = rcx.cc.ssthresh_segs(path).unwrap_or(prior_cwnd);
        Prr::enter(rcx.switches.prr, ssthresh, prior_cwnd)
    }

    fn report_congestion(
        &self,
        rcx: &mut RecoveryContext<'_, '_>,
        kind: CongestionKind,
        cwnd_after_rto_segs: u32,
    ) {
        let event = CongestionEvent {
            now: rcx.cx.now,
            kind,
            inflight_segs: self.inflight(),
            snd_nxt: rcx.sender.nxt(),
            cwnd_after_rto_segs,
        };
        rcx.cc.on_congestion(rcx.id.path, &event);
    }

    /// A loss probe repaired a loss: one reduction without a recovery (RFC 8985 s7.4).
    fn reduce_for_repaired_loss(&mut self, rcx: &mut RecoveryContext<'_, '_>) {
        if self.prr.is_some() || self.ca_state >= CaState::Recovery {
            return;
        }
        self.begin_reduction(rcx);
        rcx.cc.on_recovery_exit(rcx.id.path, rcx.cx.now);
        self.record_window(rcx);
    }

    /// The reduction of a time-out (Linux `tcp_enter_loss`).
    fn enter_loss(&mut self, rcx: &mut RecoveryContext<'_, '_>) {
        let before = self.ca_state;
        let (fresh, unreduced) = (before < CaState::Recovery, before <= CaState::Disorder);
        self.mark_lost_at_timeout(rcx);
        let cwnd_after_rto = match rcx.switches.cwnd_after_rto {
            CwndAfterRto::InflightPlusOne => self.inflight() + 1,
            CwndAfterRto::One => 1,
        };
        let una = rcx.sender.una();
        let first =
            unreduced || una >= self.high_seq || (before == CaState::Loss && self.timeouts == 0);
        if first {
            self.keeps_reduction = false;
            self.report_congestion(rcx, CongestionKind::Rto, cwnd_after_rto);
            self.undo.start(una, self.board.retrans_out());
        } else {
            self.report_congestion(rcx, CongestionKind::RtoRepeated, cwnd_after_rto);
        }
        if unreduced {
            self.dup.on_rto(self.board.sacked_out());
        }
        self.prr = None;
        self.reno_sacked = 0;
        self.ca_state = CaState::Loss;
        self.high_seq = rcx.sender.nxt();
        self.tlp.reset();
        self.frto = rcx.switches.frto && (fresh || self.timeouts > 0);
        self.record_window(rcx);
    }

    /// Whether the reduction may be undone: the acknowledgement was caused by the original, not by
    /// the retransmission (Eifel, RFC 3522 and 4015), or D-SACKs cover every retransmission
    /// (RFC 3708).
    fn may_undo(&self, rcx: &RecoveryContext<'_, '_>, info: &AckInfo) -> bool {
        self.undo.is_possible()
            && (self.undo.are_all_needless() || self.is_packet_delayed(rcx, info))
    }

    /// Whether SND.UNA advanced because of originals that were late (Linux `tcp_packet_delayed`).
    fn is_packet_delayed(&self, rcx: &RecoveryContext<'_, '_>, info: &AckInfo) -> bool {
        let Some(stamp) = self.undo.stamp() else {
            // Nothing was retransmitted yet: the interface's queue or pacing held it back.
            return rcx.handshake.sack() || rcx.sender.una() < self.high_seq;
        };
        rcx.handshake.timestamps() && rcx.handshake.is_echo_older(info.echo, stamp)
    }

    fn undo_reduction(&mut self, rcx: &mut RecoveryContext<'_, '_>) {
        if !self.keeps_reduction {
            rcx.cc.on_undo(rcx.id.path, rcx.cx.now);
        }
        self.undo.end();
        self.prr = None;
        self.marked_below = 0;
        self.record_window(rcx);
    }

    fn undo_timeout(&mut self, rcx: &mut RecoveryContext<'_, '_>) {
        self.board.unmark_all_lost();
        self.undo_reduction(rcx);
        self.timeouts = 0;
        self.frto = false;
        self.ca_state = CaState::Open;
    }

    /// A partial acknowledgement was caused by the originals: they were late, not lost. Returns
    /// whether recovery has to wait for the retransmissions in flight.
    fn try_undo_partial(&mut self, rcx: &mut RecoveryContext<'_, '_>, info: &AckInfo) -> bool {
        if !self.undo.is_possible() || !self.is_packet_delayed(rcx, info) {
            return false;
        }
        self.rack.on_reordering();
        let highest = self.board.highest_sacked(rcx.sender.una());
        self.dup.on_reordering(info.prior.una, highest, rcx.sender.mss());
        if self.board.retrans_out() > 0 {
            return true;
        }
        self.board.unmark_all_lost();
        self.undo_reduction(rcx);
        self.ca_state = CaState::Open;
        self.keep_open(rcx);
        false
    }

    /// Every retransmission of the episode proved needless.
    fn try_undo_by_dsack(&mut self, rcx: &mut RecoveryContext<'_, '_>) {
        if !self.undo.is_possible() || !self.undo.are_all_needless() {
            return;
        }
        self.undo_reduction(rcx);
        if self.ca_state == CaState::Recovery {
            self.ca_state = CaState::Open;
            self.keep_open(rcx);
        }
    }

    /// Reports the window to the recorder.
    // Inlined as far as nobody records.
    #[inline(always)]
    pub(super) fn record_window(&self, rcx: &mut RecoveryContext<'_, '_>) {
        if rcx.cx.wants(EventMask::WINDOW) {
            cold_path();
            self.report_window(rcx);
        }
    }

    #[inline(never)]
    fn report_window(&self, rcx: &mut RecoveryContext<'_, '_>) {
        let FlowId { socket, path } = rcx.id;
        let cc = &*rcx.cc;
        rcx.cx.record(EventMask::WINDOW, || Event::WindowChange {
            socket,
            path,
            cwnd_bytes: cc.cwnd_bytes(path),
            ssthresh_bytes: cc.ssthresh_bytes(path),
            inflight_segs: self.inflight(),
            state: self.ca_state,
        });
    }
}
