//! Loss recovery: the states Open, Disorder, Recovery and Loss, what starts, ends and undoes them
//! (RFC 6675, 6582, 8985, 9937, 5682, 3708; states and order of decisions as Linux).
//!
//! The rules themselves are pure parts in `recovery`; timers that fire are in `timeout`.

use super::acknowledge::AckNews;
use super::profile::{CwndAfterRto, LossDetection};
use super::subflow::Subflow;
use super::timers::Retransmit;
use crate::congestion::{CongestionControl, CongestionEvent, CongestionKind, Controller};
use crate::recovery::{DupThresh, Prr, Rack, Tlp};
use base::{CaState, Context, Duration, Event, EventMask, Instant, LossReason};
use std::ops::Range;

/// Linux adds this to the reordering timer.
const REORDERING_SLACK: Duration = Duration::from_millis(2);

/// What may be sent in answer to an acknowledgement besides new data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rexmit {
    #[default]
    None,
    /// Lost segments.
    Lost,
    /// F-RTO step 2b: new data first, to see whether the time-out was spurious.
    New,
}

/// The state of loss recovery on one path. What few acknowledgements need comes first.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct LossState {
    /// An undo is possible while this is set: `una` when the episode began.
    undo_marker: Option<u64>,
    /// Retransmissions of the episode that no D-SACK has shown to be needless;
    /// `None`: there were none.
    undo_retrans: Option<u32>,
    /// When the episode's first retransmission was sent.
    pub retrans_stamp: Option<Instant>,
    /// FACK: everything below this identifier was marked.
    marked_below: u64,
    pub dup: DupThresh,
    /// Runs while the window is being reduced.
    pub prr: Option<Prr>,
    /// Time-outs in a row.
    pub timeouts: u32,
    /// Recovery, or the window after a time-out, ends when this is acknowledged.
    pub high_seq: u64,
    pub rack: Rack,
    pub tlp: Tlp,
    /// Duplicate acknowledgements that stand for SACKed segments (NewReno).
    pub reno_sacked: u32,
    pub recovery_just_began: bool,
    /// F-RTO watches for signs that the time-out was spurious.
    pub frto: bool,
    /// What is allowed to be retransmitted now.
    pub rexmit: Rexmit,
    pub ca_state: CaState,
}

impl LossState {
    /// The duplicate threshold in segments.
    pub fn dup_thresh(&self) -> u32 {
        self.dup.segs()
    }

    /// Whether segments were ever seen to overtake each other by more than the threshold.
    pub fn reordering_seen(&self) -> bool {
        self.dup.segs() > DupThresh::new().segs()
    }

    /// A D-SACK: one retransmission of the episode was needless (RFC 3708).
    pub fn on_dsack(&mut self, duplicate: Range<u64>, mss: u32) {
        let within = self.undo_marker.is_some_and(|marker| duplicate.end > marker);
        if let Some(open) = self.undo_retrans.filter(|_| within) {
            let segs = (duplicate.end - duplicate.start).div_ceil(u64::from(mss.max(1)));
            self.undo_retrans = Some(open.saturating_sub(segs as u32));
        }
    }

    /// A segment of the episode was sent again.
    pub fn on_retransmitted(&mut self, now: Instant) {
        self.retrans_stamp.get_or_insert(now);
        self.undo_retrans = Some(self.undo_retrans.unwrap_or(0) + 1);
    }

    /// Data were acknowledged cumulatively.
    pub fn on_una_advanced(&mut self, nothing_outstanding: bool) {
        self.timeouts = 0;
        if nothing_outstanding {
            self.reno_sacked = 0;
        }
    }

    fn start_undo(&mut self, una: u64, retransmissions_out: u32) {
        self.undo_marker = Some(una);
        self.undo_retrans = (retransmissions_out > 0).then_some(retransmissions_out);
        if retransmissions_out == 0 {
            self.retrans_stamp = None;
        }
    }
}

impl Subflow {
    /// Segments in the network (specs/tcp-subflow.md s3, RFC 6675's pipe).
    pub(super) fn inflight(&self) -> u32 {
        self.tx.board.inflight().saturating_sub(self.loss.reno_sacked)
    }

    /// An acknowledgement that is more than plain progress (Linux `tcp_fastretrans_alert`).
    pub(super) fn on_alert(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        news: &mut AckNews,
    ) -> Rexmit {
        self.note_reordering(news);
        let duplicate = !news.una_advanced && !news.not_dup && news.dsack.is_none();
        if !self.hs.sack {
            self.count_reno_duplicates(news, duplicate);
        }
        if self.loss.ca_state == CaState::Open {
            self.loss.retrans_stamp = None;
        } else if self.loss.ca_state == CaState::Recovery && self.tx.una >= self.loss.high_seq {
            self.end_recovery(cx, cc, news, true);
        }
        match self.loss.ca_state {
            CaState::Recovery => self.continue_recovery(cx, cc, news),
            CaState::Loss => return self.continue_after_timeout(cx, cc, news, duplicate),
            _ => {
                self.try_undo_by_dsack(cx, cc);
                self.find_losses(cx, news);
                if !self.is_time_to_recover(cx) {
                    self.keep_open(cx, cc);
                    return Rexmit::None;
                }
                self.enter_recovery(cx, cc);
            }
        }
        Rexmit::Lost
    }

    fn note_reordering(&mut self, news: &AckNews) {
        if let Some(low) = news.reordered {
            self.loss.dup.on_reordering(low, news.prior_highest_sacked, self.tx.mss);
        }
    }

    /// Without SACK a duplicate acknowledgement stands for one segment that arrived (RFC 6582).
    fn count_reno_duplicates(&mut self, news: &mut AckNews, duplicate: bool) {
        if duplicate {
            let most = self.tx.board.packets_out() - self.tx.board.lost_out();
            self.loss.reno_sacked = (self.loss.reno_sacked + 1).min(most);
            news.delivered += 1;
        } else if news.una_advanced {
            let covered = news.newly_acked.saturating_sub(1);
            self.loss.reno_sacked = self.loss.reno_sacked.saturating_sub(covered);
            let most = self.tx.board.packets_out() - self.tx.board.lost_out();
            self.loss.reno_sacked = self.loss.reno_sacked.min(most);
        }
    }

    fn continue_recovery(&mut self, cx: &mut Context<'_>, cc: &mut Controller, news: &mut AckNews) {
        if news.una_advanced && self.try_undo_partial(cx, cc, news) {
            return;
        }
        self.try_undo_by_dsack(cx, cc);
        if !self.hs.sack && news.una_advanced {
            // RFC 6582 s3.2 step 3: a partial acknowledgement shows the next hole.
            self.mark_head_lost(cx, news);
        }
        self.find_losses(cx, news);
        if self.loss.ca_state != CaState::Recovery && self.is_time_to_recover(cx) {
            self.enter_recovery(cx, cc);
        }
    }

    /// The state Loss (Linux `tcp_process_loss`, RFC 5682 s3.1 in its SACK form).
    fn continue_after_timeout(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        news: &mut AckNews,
        duplicate: bool,
    ) -> Rexmit {
        let rexmit = self.process_loss_state(cx, cc, news, duplicate);
        let lost_before = news.newly_lost;
        let was_out = self.tx.board.retrans_out();
        self.find_losses(cx, news);
        let lost_a_copy = news.newly_lost > lost_before && self.tx.board.retrans_out() < was_out;
        if self.loss.ca_state != CaState::Open && !lost_a_copy {
            return rexmit;
        }
        self.try_undo_by_dsack(cx, cc);
        if !self.is_time_to_recover(cx) {
            self.keep_open(cx, cc);
            return rexmit;
        }
        self.enter_recovery(cx, cc);
        Rexmit::Lost
    }

    fn process_loss_state(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        news: &AckNews,
        duplicate: bool,
    ) -> Rexmit {
        let recovered = self.tx.una >= self.loss.high_seq;
        if news.una_advanced && self.may_undo(news) {
            self.undo_timeout(cx, cc);
            return Rexmit::None;
        }
        if self.loss.frto {
            if news.original_delivered {
                self.undo_timeout(cx, cc);
                return Rexmit::None;
            }
            if self.tx.nxt > self.loss.high_seq {
                if news.newly_sacked > 0 || duplicate {
                    self.loss.frto = false;
                }
            } else if news.una_advanced && !recovered {
                self.loss.high_seq = self.tx.nxt;
                if self.tx.has_unsent() && self.tx.window_left() > 0 {
                    return Rexmit::New;
                }
                self.loss.frto = false;
            }
        }
        if recovered {
            self.end_recovery(cx, cc, news, false);
            return Rexmit::None;
        }
        if !self.hs.sack && news.una_advanced {
            self.loss.reno_sacked = 0;
        }
        Rexmit::Lost
    }

    /// All is acknowledged that was outstanding when the episode began. `reducing`: the window was
    /// led by PRR and becomes the threshold, unless the reduction is undone.
    fn end_recovery(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        news: &AckNews,
        reducing: bool,
    ) {
        if self.may_undo(news) {
            self.undo(cx, cc, false);
        } else if reducing && self.loss.undo_marker.is_some() {
            cc.on_recovery_exit(self.path, cx.now);
        }
        self.loss.reno_sacked = 0;
        self.loss.prr = None;
        self.loss.frto = false;
        self.loss.rack.on_recovery_end();
        self.loss.ca_state = CaState::Open;
        self.record_window(cx, cc);
    }

    /// Look for segments that are lost by now.
    pub(super) fn find_losses(&mut self, cx: &mut Context<'_>, news: &mut AckNews) {
        if !self.hs.sack {
            if self.loss.reno_sacked >= self.loss.dup.segs()
                && self.loss.ca_state < CaState::Recovery
            {
                self.mark_head_lost(cx, news);
            }
            return;
        }
        match self.switches.loss_detection {
            LossDetection::Rack => {
                if news.rack_advanced {
                    news.newly_lost += self.detect_by_time(cx);
                }
            }
            LossDetection::SackFack => news.newly_lost += self.detect_by_fack(cx),
        }
    }

    /// RFC 8985 s6.2 step 5. Sets the reordering timer if something may still arrive.
    pub(super) fn detect_by_time(&mut self, cx: &mut Context<'_>) -> u32 {
        let in_recovery = self.loss.ca_state >= CaState::Recovery;
        let reo_wnd = self.loss.rack.reo_wnd(
            in_recovery,
            self.tx.board.sacked_out(),
            self.loss.dup.segs(),
            self.min_rtt.get(),
            self.rtt.srtt(),
        );
        let mut lost: Vec<u64> = Vec::new();
        let mut latest: Option<Instant> = None;
        for (id, segment) in self.tx.board.by_time() {
            if !self.loss.rack.overtook(segment.sent_at, segment.end()) {
                break;
            }
            let deadline = self.loss.rack.deadline_of(segment.sent_at, reo_wnd);
            if deadline <= cx.now {
                lost.push(id);
            } else {
                latest = latest.max(Some(deadline));
            }
        }
        let count = lost.len() as u32;
        for id in lost {
            self.mark_lost(cx, id, LossReason::Rack);
        }
        if let Some(deadline) = latest {
            let span = deadline - cx.now + REORDERING_SLACK;
            self.timers.set_retransmit(Retransmit::Reordering, cx.now, span);
        }
        count
    }

    /// Forward acknowledgement: what lies more than the threshold below the highest SACKed
    /// segment is lost; once reordering was seen only SACKed segments count (RFC 6675 s4).
    fn detect_by_fack(&mut self, cx: &mut Context<'_>) -> u32 {
        let thresh = self.loss.dup.segs();
        let fack = !self.loss.reordering_seen();
        let board = &self.tx.board;
        if board.sacked_out() == 0 {
            return 0;
        }
        let sacked = board.sacked_out();
        let highest = board.highest_sacked(self.tx.una);
        let mut above = if fack { 0 } else { sacked };
        let mut limit = None;
        // From the lowest segment that is not marked yet upwards.
        let total = board.iter().take_while(|(_, segment)| segment.end() <= highest).count() as u32;
        for (position, (id, segment)) in board.iter().enumerate() {
            if segment.end() > highest {
                break;
            }
            let beyond = if fack { total - position as u32 - 1 } else { above };
            if beyond < thresh {
                break;
            }
            limit = Some(id + 1);
            above -= u32::from(!fack && segment.sacked);
        }
        let first = board.head().map_or(0, |(id, _)| id).max(self.loss.marked_below);
        let limit = limit.unwrap_or(0);
        let mut count = 0;
        for id in first..limit {
            count += u32::from(self.mark_lost(cx, id, LossReason::DupThresh));
        }
        self.loss.marked_below = self.loss.marked_below.max(limit);
        count
    }

    pub(super) fn mark_head_lost(&mut self, cx: &mut Context<'_>, news: &mut AckNews) {
        if let Some((id, _)) = self.tx.board.head() {
            news.newly_lost += u32::from(self.mark_lost(cx, id, LossReason::DupThresh));
        }
    }

    pub(super) fn mark_lost(&mut self, cx: &mut Context<'_>, id: u64, reason: LossReason) -> bool {
        let Some(segment) = self.tx.board.segment(id) else { return false };
        let (offset, len) = (segment.offset, u32::from(segment.len));
        let (socket, path) = (self.socket, self.path);
        let marked = self.tx.board.mark_lost(id);
        if marked {
            cx.record(EventMask::SEGMENT, || Event::SegmentLost {
                socket,
                path,
                offset,
                len,
                reason,
            });
        }
        marked
    }

    fn is_time_to_recover(&mut self, cx: &Context<'_>) -> bool {
        if self.tx.board.lost_out() > 0 {
            return true;
        }
        self.switches.early_retransmit && self.is_early_retransmit_due(cx)
    }

    /// RFC 5827 s3.2, delayed by a quarter of the RTT as Linux does: a small window cannot
    /// bring three duplicates.
    fn is_early_retransmit_due(&mut self, cx: &Context<'_>) -> bool {
        let board = &self.tx.board;
        let out = board.packets_out();
        let sacked = board.sacked_out();
        let small = out < 4 && sacked > 0 && out == sacked + 1 && board.retrans_out() == 0;
        if small
            && !self.tx.has_unsent()
            && self.timers.retransmit() != Some(Retransmit::Reordering)
        {
            let wait = (self.rtt.srtt() / 4).max(REORDERING_SLACK);
            self.timers.set_retransmit(Retransmit::Reordering, cx.now, wait);
        }
        false
    }

    /// Neither lost nor recovering: Disorder while something is odd, otherwise Open.
    fn keep_open(&mut self, cx: &mut Context<'_>, cc: &Controller) {
        let board = &self.tx.board;
        let odd = board.sacked_out() + board.lost_out() + self.loss.reno_sacked > 0;
        let state = if odd { CaState::Disorder } else { CaState::Open };
        if state != self.loss.ca_state {
            self.loss.ca_state = state;
            self.loss.high_seq = self.tx.nxt;
            self.record_window(cx, cc);
        }
    }

    /// Fast recovery starts (RFC 9937 s6, RFC 6675 s5).
    pub(super) fn enter_recovery(&mut self, cx: &mut Context<'_>, cc: &mut Controller) {
        let probe = u32::from(self.loss.tlp.end_offset().is_some() && self.loss.tlp.is_retrans());
        self.loss.start_undo(self.tx.una, self.tx.board.retrans_out() + probe);
        self.begin_reduction(cx, cc);
        self.loss.ca_state = CaState::Recovery;
        self.loss.recovery_just_began = true;
        self.record_window(cx, cc);
    }

    fn begin_reduction(&mut self, cx: &Context<'_>, cc: &mut Controller) {
        let prior_cwnd = cc.cwnd_segs(self.path);
        self.loss.high_seq = self.tx.nxt;
        self.loss.tlp.reset();
        cc.on_congestion(
            self.path,
            &CongestionEvent {
                now: cx.now,
                kind: CongestionKind::FastRecovery,
                inflight_segs: self.inflight(),
                snd_nxt: self.tx.nxt,
                cwnd_after_rto_segs: 1,
            },
        );
        let ssthresh = cc.ssthresh_segs(self.path).unwrap_or(prior_cwnd);
        self.loss.prr = Some(Prr::enter(self.switches.prr, ssthresh, prior_cwnd));
    }

    /// A loss probe repaired a loss: one reduction, no recovery (RFC 8985 s7.4).
    pub(super) fn reduce_for_repaired_loss(&mut self, cx: &mut Context<'_>, cc: &mut Controller) {
        if self.loss.prr.is_some() || self.loss.ca_state >= CaState::Recovery {
            return;
        }
        self.begin_reduction(cx, cc);
        self.loss.prr = None;
        cc.on_recovery_exit(self.path, cx.now);
        self.record_window(cx, cc);
    }

    /// The time-out's reduction (Linux `tcp_enter_loss`).
    pub(super) fn enter_loss(&mut self, cx: &mut Context<'_>, cc: &mut Controller) {
        let before = self.loss.ca_state;
        let fresh = before < CaState::Recovery;
        self.mark_lost_at_timeout(cx);
        let cwnd_after_rto_segs = match self.switches.cwnd_after_rto {
            CwndAfterRto::InflightPlusOne => self.inflight() + 1,
            CwndAfterRto::One => 1,
        };
        let first = fresh
            || self.tx.una >= self.loss.high_seq
            || (before == CaState::Loss && self.loss.timeouts == 0);
        if first {
            cc.on_congestion(
                self.path,
                &CongestionEvent {
                    now: cx.now,
                    kind: CongestionKind::Rto,
                    inflight_segs: self.inflight(),
                    snd_nxt: self.tx.nxt,
                    cwnd_after_rto_segs,
                },
            );
            self.loss.start_undo(self.tx.una, self.tx.board.retrans_out());
        } else {
            cc.on_congestion(
                self.path,
                &CongestionEvent {
                    now: cx.now,
                    kind: CongestionKind::RtoRepeated,
                    inflight_segs: self.inflight(),
                    snd_nxt: self.tx.nxt,
                    cwnd_after_rto_segs,
                },
            );
        }
        if fresh {
            self.loss.dup.on_rto(self.tx.board.sacked_out());
        }
        self.loss.prr = None;
        self.loss.reno_sacked = 0;
        self.loss.ca_state = CaState::Loss;
        self.loss.high_seq = self.tx.nxt;
        self.loss.tlp.reset();
        self.loss.frto = self.switches.frto && (fresh || self.loss.timeouts > 0);
        self.record_window(cx, cc);
    }

    /// Which segments a time-out declares lost: the first, and with RACK only the others that
    /// were sent at least an RTT ago (specs/tcp-subflow.md s2).
    fn mark_lost_at_timeout(&mut self, cx: &mut Context<'_>) {
        let head_sacked = self.tx.board.head().is_some_and(|(_, head)| head.sacked);
        if head_sacked {
            self.tx.board.forget_sacks();
        }
        let rack = self.hs.sack && self.switches.loss_detection == LossDetection::Rack;
        let rtt = self.loss.rack.rtt();
        let lost: Vec<u64> = self
            .tx
            .board
            .iter()
            .enumerate()
            .filter(|(position, (_, segment))| {
                let recent = rack && segment.sent_at + rtt > cx.now;
                *position == 0 || head_sacked || !recent
            })
            .filter(|(_, (_, segment))| !segment.sacked)
            .map(|(_, (id, _))| id)
            .collect();
        for id in lost {
            self.mark_lost(cx, id, LossReason::Timeout);
        }
    }

    /// Eifel: the acknowledgement was caused by the original, not by the retransmission
    /// (RFC 3522, 4015), or D-SACKs cover every retransmission (RFC 3708).
    fn may_undo(&self, news: &AckNews) -> bool {
        self.loss.undo_marker.is_some()
            && (self.loss.undo_retrans == Some(0) || self.is_packet_delayed(news))
    }

    fn is_packet_delayed(&self, news: &AckNews) -> bool {
        let (Some(stamp), Some(echo)) = (self.loss.retrans_stamp, news.echo) else { return false };
        self.hs.timestamps && (echo.wrapping_sub(self.hs.ts_value(stamp)) as i32) < 0
    }

    fn undo(&mut self, cx: &mut Context<'_>, cc: &mut Controller, unmark: bool) {
        if unmark {
            self.tx.board.unmark_all_lost();
        }
        cc.on_undo(self.path, cx.now);
        self.loss.undo_marker = None;
        self.loss.prr = None;
        self.record_window(cx, cc);
    }

    fn undo_timeout(&mut self, cx: &mut Context<'_>, cc: &mut Controller) {
        self.undo(cx, cc, true);
        self.loss.timeouts = 0;
        self.loss.frto = false;
        self.loss.ca_state = CaState::Open;
    }

    /// A partial acknowledgement came of the originals: they were late, not lost.
    fn try_undo_partial(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        news: &AckNews,
    ) -> bool {
        if self.loss.undo_marker.is_none() || !self.is_packet_delayed(news) {
            return false;
        }
        self.loss.rack.on_reordering();
        let highest = self.tx.board.highest_sacked(self.tx.una);
        self.loss.dup.on_reordering(news.prior_una, highest, self.tx.mss);
        if self.tx.board.retrans_out() > 0 {
            return true;
        }
        self.undo(cx, cc, true);
        self.loss.ca_state = CaState::Open;
        self.keep_open(cx, cc);
        false
    }

    /// Every retransmission of the episode proved needless.
    fn try_undo_by_dsack(&mut self, cx: &mut Context<'_>, cc: &mut Controller) {
        if self.loss.undo_marker.is_none() || self.loss.undo_retrans != Some(0) {
            return;
        }
        self.undo(cx, cc, false);
        if self.loss.ca_state == CaState::Recovery {
            self.loss.ca_state = CaState::Open;
            self.keep_open(cx, cc);
        }
    }
}
