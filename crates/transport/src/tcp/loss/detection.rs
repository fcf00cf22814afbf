//! Which outstanding segments are lost: by time (RACK, RFC 8985), by forward acknowledgement and
//! duplicate SACKs (RFC 6675), by duplicate acknowledgements (RFC 6582), and at a time-out.

use super::{LossRecovery, RecoveryContext};
use crate::recovery::SentSegment;
use crate::tcp::ack_info::AckInfo;
use crate::tcp::profile::LossDetection;
use crate::tcp::subflow::FlowId;
use crate::tcp::timers::Retransmit;
use base::{CaState, Duration, Event, EventMask, Instant, LossReason};

/// Linux adds this to the reordering timer.
const REORDERING_SLACK: Duration = Duration::from_millis(2);

impl LossRecovery {
    /// Marks the segments that an acknowledgement shows to be lost.
    pub(super) fn find_losses(&mut self, rcx: &mut RecoveryContext<'_, '_>, info: &mut AckInfo) {
        if !rcx.handshake.sack() {
            let enough = self.reno_sacked >= self.dup.segs();
            if enough && self.ca_state < CaState::Recovery {
                self.mark_head_lost(rcx, info);
            }
            return;
        }
        match rcx.switches.loss_detection {
            LossDetection::Rack => {
                if info.delivered.rack_advanced {
                    let (lost, latest) = self.detect_by_time(rcx);
                    info.newly_lost += lost;
                    if let Some(deadline) = latest {
                        let span = deadline - rcx.cx.now + REORDERING_SLACK;
                        wait_for_reordering(rcx, info, span);
                    }
                }
            }
            LossDetection::SackFack => {
                if self.ca_state == CaState::Recovery && !self.is_reordering_seen() {
                    info.newly_lost += self.detect_lost_retransmissions(rcx);
                }
                info.newly_lost += self.detect_by_fack(rcx);
            }
        }
    }

    /// RFC 8985 s6.2 step 5. Returns also the latest time at which one of the others will be late.
    pub(super) fn detect_by_time(
        &mut self,
        rcx: &mut RecoveryContext<'_, '_>,
    ) -> (u32, Option<Instant>) {
        let now = rcx.cx.now;
        let in_recovery = self.ca_state >= CaState::Recovery;
        let reo_wnd = self.rack.reo_wnd(
            in_recovery,
            self.board.sacked_out(),
            self.dup.segs(),
            rcx.rtt.min(),
            rcx.rtt.srtt(),
        );
        let mut lost: Vec<u64> = Vec::new();
        let mut latest: Option<Instant> = None;
        for (id, segment) in self.board.by_time() {
            if !self.rack.overtook(segment.sent_at(), segment.end()) {
                break;
            }
            let deadline = self.rack.deadline_of(segment.sent_at(), reo_wnd);
            if deadline <= now {
                lost.push(id);
            } else {
                latest = latest.max(Some(deadline));
            }
        }
        let count = lost.len() as u32;
        for id in lost {
            self.mark_lost(rcx, id, LossReason::Rack);
        }
        (count, latest)
    }

    /// Retransmissions are lost once something that was sent for the first time after them is
    /// SACKed. Linux has this up to 4.4, while no reordering was seen (`tcp_mark_lost_retrans`).
    fn detect_lost_retransmissions(&mut self, rcx: &mut RecoveryContext<'_, '_>) -> u32 {
        let lost = self.board.overtaken_retransmissions();
        lost.into_iter().map(|id| u32::from(self.mark_lost(rcx, id, LossReason::DupThresh))).sum()
    }

    /// Forward acknowledgement: segments more than the threshold below the highest SACKed segment
    /// are lost; once reordering was seen only SACKed segments count (RFC 6675 s4).
    fn detect_by_fack(&mut self, rcx: &mut RecoveryContext<'_, '_>) -> u32 {
        let thresh = self.dup.segs();
        let fack = !self.is_reordering_seen();
        let board = &self.board;
        let sacked = board.sacked_out();
        if sacked == 0 {
            return 0;
        }
        let highest = board.highest_sacked(rcx.sender.una());
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
            above -= u32::from(!fack && segment.is_sacked());
        }
        let first = board.head().map_or(0, |(id, _)| id).max(self.marked_below);
        let limit = limit.unwrap_or(0);
        let mut count = 0;
        for id in first..limit {
            // Those marked before an undo may have been sent again.
            if !self.board.segment(id).is_some_and(SentSegment::is_lost) {
                count += u32::from(self.mark_lost(rcx, id, LossReason::DupThresh));
            }
        }
        self.marked_below = self.marked_below.max(limit);
        count
    }

    /// Marks the lowest outstanding segment.
    pub(super) fn mark_head_lost(&mut self, rcx: &mut RecoveryContext<'_, '_>, info: &mut AckInfo) {
        if let Some((id, _)) = self.board.head() {
            info.newly_lost += u32::from(self.mark_lost(rcx, id, LossReason::DupThresh));
        }
    }

    fn mark_lost(
        &mut self,
        rcx: &mut RecoveryContext<'_, '_>,
        id: u64,
        reason: LossReason,
    ) -> bool {
        let Some(segment) = self.board.segment(id) else { return false };
        let (offset, len) = (segment.offset(), segment.len());
        let FlowId { socket, path } = rcx.id;
        let marked = self.board.mark_lost(id);
        if marked {
            rcx.cx.record(EventMask::SEGMENT, || Event::SegmentLost {
                socket,
                path,
                offset,
                len,
                reason,
            });
        }
        marked
    }

    /// Marks the segments that a time-out declares lost: the first one, and with RACK only those
    /// others that were sent at least an RTT ago (RFC 8985 s6.3).
    pub(super) fn mark_lost_at_timeout(&mut self, rcx: &mut RecoveryContext<'_, '_>) {
        let now = rcx.cx.now;
        let head_sacked = self.board.head().is_some_and(|(_, head)| head.is_sacked());
        self.marked_below = 0;
        if head_sacked {
            self.board.forget_sacks();
        }
        let rack = rcx.handshake.sack() && rcx.switches.loss_detection == LossDetection::Rack;
        let rtt = self.rack.rtt();
        let lost: Vec<u64> = self
            .board
            .iter()
            .enumerate()
            .filter(|(position, (_, segment))| {
                let recent = rack && segment.sent_at() + rtt > now;
                *position == 0 || head_sacked || !recent
            })
            .filter(|(_, (_, segment))| !segment.is_sacked())
            .map(|(_, (id, _))| id)
            .collect();
        for id in lost {
            self.mark_lost(rcx, id, LossReason::Timeout);
        }
    }

    /// Whether recovery has to start: something is lost. Where nothing is, early retransmit may set
    /// its timer.
    pub(super) fn is_time_to_recover(
        &self,
        rcx: &mut RecoveryContext<'_, '_>,
        info: &mut AckInfo,
    ) -> bool {
        if self.board.lost_out() > 0 {
            return true;
        }
        if rcx.switches.early_retransmit {
            self.delay_early_retransmit(rcx, info);
        }
        false
    }

    /// Sets the timer of early retransmit: a small window cannot cause three duplicate
    /// acknowledgements (RFC 5827 s3.2), and Linux waits a quarter of the RTT for reordering.
    fn delay_early_retransmit(&self, rcx: &mut RecoveryContext<'_, '_>, info: &mut AckInfo) {
        let board = &self.board;
        let out = board.packets_out();
        let sacked = board.sacked_out();
        let small = out < 4 && sacked > 0 && out == sacked + 1 && board.retrans_out() == 0;
        // Progress ends the delay, which then begins anew.
        let waits = rcx.timers.retransmit() == Some(Retransmit::Reordering) && !info.restart_timer;
        if small && !rcx.sender.has_unsent() && !waits {
            wait_for_reordering(rcx, info, (rcx.rtt.srtt() / 4).max(REORDERING_SLACK));
        }
    }
}

/// Sets the reordering timer. The acknowledgement that sets it sets no other.
fn wait_for_reordering(rcx: &mut RecoveryContext<'_, '_>, info: &mut AckInfo, span: Duration) {
    rcx.timers.set_retransmit(Retransmit::Reordering, rcx.cx.now, span);
    info.restart_timer = false;
}
