//! The sender's side of an acknowledgement: window update, scoreboard, RTT sample, and what the
//! congestion controller is told (RFC 9293 s3.10.7.4, 2018, 2883, 6298, 7323).
//!
//! What the news means for loss recovery is decided in `loss`.

use super::loss::Rexmit;
use super::profile::SubflowWindow;
use super::subflow::Subflow;
use crate::congestion::{AckSample, CongestionControl, Controller};
use crate::recovery::{SentSegment, TlpAck, TlpOutcome, pacing_rate};
use crate::socket::ConnectionEvent;
use base::{CaState, Context, Duration, Event, EventMask, Instant};
use std::ops::Range;
use wire::{SackBlocks, TcpSegment};

/// More than any connection window.
const LIFTED_WINDOW: u64 = 1 << 40;

/// What one acknowledgement brought.
#[derive(Clone, Debug, Default)]
pub struct AckNews {
    /// Before it was processed.
    pub prior_una: u64,
    pub prior_inflight: u32,
    pub prior_highest_sacked: u64,
    pub una_advanced: bool,
    /// It carried payload or changed the window: never a duplicate.
    pub not_dup: bool,
    /// Segments newly delivered, cumulatively or selectively.
    pub delivered: u32,
    pub delivered_bytes: u64,
    pub newly_sacked: u32,
    /// Cumulatively acknowledged, segments.
    pub newly_acked: u32,
    /// A segment that was retransmitted is cumulatively acknowledged.
    pub retransmitted_acked: bool,
    /// A never retransmitted segment sent before the recovery point is delivered.
    pub original_delivered: bool,
    /// Lowest never retransmitted segment that was delivered although higher ones were before.
    pub reordered: Option<u64>,
    /// Oldest and newest transmission times of never retransmitted segments, cumulatively
    pub acked_sent: Option<(Instant, Instant)>,
    /// and selectively acknowledged.
    pub sacked_sent: Option<(Instant, Instant)>,
    /// Transmission time and end of the newest delivered segment counts for RACK.
    pub rack_advanced: bool,
    pub dsack: Option<Range<u64>>,
    /// The echo of a timestamp.
    pub echo: Option<u32>,
    pub rtt: Option<Duration>,
    /// The retransmission timer is to be set anew.
    pub set_timer: bool,
    /// Segments declared lost while processing.
    pub newly_lost: u32,
}

fn widen(span: &mut Option<(Instant, Instant)>, at: Instant) {
    *span = Some(span.map_or((at, at), |(first, last)| (first.min(at), last.max(at))));
}

impl Subflow {
    /// Process the acknowledgement in `segment`. `false`: the segment is not to be used further.
    pub(super) fn process_ack(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        segment: &TcpSegment,
    ) -> bool {
        let ack = segment.ack.to_offset(self.hs.iss + 1, self.tx.una);
        let una = self.tx.una as i64;
        if ack > self.tx.nxt as i64 || ack + (self.tx.max_window as i64) < una {
            // RFC 5961 s5: never sent, or too old.
            self.rx.ack.now();
            return false;
        }
        self.tx.probes_unanswered = 0;
        let mut news = AckNews {
            prior_una: self.tx.una,
            prior_inflight: self.inflight(),
            prior_highest_sacked: self.tx.board.highest_sacked(self.tx.una),
            // RFC 8684 s3: an option other than a DSS makes no duplicate.
            not_dup: !segment.payload.is_empty() || !segment.options.mptcp.others().is_empty(),
            echo: segment.options.timestamps.map(|timestamps| timestamps.echo),
            ..AckNews::default()
        };
        if ack < una {
            // An old acknowledgement still has news in its SACK blocks.
            if !segment.options.sack.is_empty() && !self.tx.board.is_empty() {
                self.process_sacks(cx, &mut news, ack, &segment.options.sack);
                let rexmit = self.on_alert(cx, cc, &mut news);
                self.after_ack(cx, cc, &mut news, rexmit);
            }
            return true;
        }
        let ack = ack as u64;
        self.update_window(segment, ack, &mut news);
        if self.tx.board.is_empty() {
            self.after_empty_ack();
            self.process_late_dsack(cx, cc, segment, &mut news);
            return true;
        }
        // Lowest first: what this acknowledgement covers cannot have been overtaken by what it
        // SACKs.
        if ack > self.tx.una {
            self.advance_una(cx, &mut news, ack);
        }
        self.process_sacks(cx, &mut news, ack as i64, &segment.options.sack);
        self.take_rtt_samples(cx, &mut news);
        self.loss.rack.on_dsack_round(news.dsack.is_some(), self.tx.una, self.tx.nxt);
        self.finish_probe(cx, cc, &news, ack);
        let rexmit =
            if self.is_dubious(&news) { self.on_alert(cx, cc, &mut news) } else { Rexmit::None };
        self.after_ack(cx, cc, &mut news, rexmit);
        true
    }

    /// RFC 9293 s3.10.7.4: a window counts if its segment is not older than the last one's.
    fn update_window(&mut self, segment: &TcpSegment, ack: u64, news: &mut AckNews) {
        let window = u64::from(segment.window) << self.hs.peer_shift;
        let newer = segment.seq > self.tx.window_updated_at;
        let same = segment.seq == self.tx.window_updated_at;
        if ack > self.tx.una || newer || (same && (window > self.tx.window || window == 0)) {
            news.not_dup |= window != self.tx.window;
            self.tx.window_updated_at = segment.seq;
            self.tx.window = if self.is_lifted() { LIFTED_WINDOW } else { window };
            self.tx.max_window = self.tx.max_window.max(window);
        }
    }

    /// The connection's window counts, not the subflow's.
    fn is_lifted(&self) -> bool {
        let lifts = self.switches.subflow_window == SubflowWindow::Lift;
        lifts && self.mp.as_ref().is_some_and(|mp| !mp.is_fallen_back())
    }

    /// Nothing was outstanding: at most the window opened.
    fn after_empty_ack(&mut self) {
        if self.tx.has_unsent() && self.tx.window_left() >= self.next_len() {
            self.rtt.reset_back_off();
            self.timers.stop_retransmit();
        }
    }

    /// Nothing was outstanding, but a D-SACK may still tell that a probe or a retransmission was
    /// needless (Linux `tcp_ack`, `no_queue`).
    fn process_late_dsack(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        segment: &TcpSegment,
        news: &mut AckNews,
    ) {
        if segment.options.sack.is_empty() && self.loss.tlp.end_offset().is_none() {
            // So it is with all that a receiver hears.
            return;
        }
        let ack = self.tx.una;
        self.process_sacks(cx, news, ack as i64, &segment.options.sack);
        self.finish_probe(cx, cc, news, ack);
        if news.dsack.is_some() {
            self.loss.rack.on_dsack_round(true, ack, self.tx.nxt);
            self.on_alert(cx, cc, news);
        }
    }

    fn process_sacks(
        &mut self,
        cx: &mut Context<'_>,
        news: &mut AckNews,
        ack: i64,
        blocks: &SackBlocks,
    ) {
        if blocks.is_empty() {
            return;
        }
        let base = self.hs.iss + 1;
        let mut ranges = [0u64..0, 0..0, 0..0, 0..0];
        for (index, &(start, end)) in blocks.as_slice().iter().enumerate() {
            let start = start.to_offset(base, self.tx.una);
            let end = end.to_offset(base, self.tx.una);
            if end <= start || end > self.tx.nxt as i64 {
                continue;
            }
            if index == 0 && self.is_dsack(blocks, ack, start, end) {
                self.note_dsack(news, start, end);
            } else if end > self.tx.una as i64 {
                ranges[index] = start.max(0) as u64..end as u64;
            }
        }
        // Blocks come most recent first; what overtook what shows in ascending order only.
        ranges.sort_unstable_by_key(|range| range.start);
        for range in ranges.into_iter().filter(|range| !range.is_empty()) {
            self.sack_block(cx, news, range);
        }
    }

    /// RFC 2883 s4: the first block lies below the acknowledgement or within the second block.
    fn is_dsack(&self, blocks: &SackBlocks, ack: i64, start: i64, end: i64) -> bool {
        if end <= ack {
            return true;
        }
        let base = self.hs.iss + 1;
        blocks.as_slice().get(1).is_some_and(|(next_start, next_end)| {
            start >= next_start.to_offset(base, self.tx.una)
                && end <= next_end.to_offset(base, self.tx.una)
        })
    }

    fn note_dsack(&mut self, news: &mut AckNews, start: i64, end: i64) {
        // Only what this connection sent since it began can be a duplicate.
        if start < 0 {
            return;
        }
        news.dsack = Some(start as u64..end as u64);
        self.stats.spurious_retrans += 1;
        self.loss.on_dsack(start as u64..end as u64, self.tx.mss);
    }

    fn sack_block(&mut self, cx: &Context<'_>, news: &mut AckNews, block: Range<u64>) {
        let (rack, high_seq) = (&mut self.loss.rack, self.loss.high_seq);
        let min_rtt = self.min_rtt.get();
        let highest = news.prior_highest_sacked;
        let use_fack_order = self.hs.sack;
        self.tx.board.sack(block, |segment| {
            news.newly_sacked += 1;
            news.delivered += 1;
            news.delivered_bytes += u64::from(segment.len);
            // The echo is that of the last segment in order (RFC 7323 s4.3): it says nothing here.
            let older = false;
            news.rack_advanced |= rack.on_delivered(
                cx.now,
                segment.sent_at,
                segment.end(),
                segment.ever_retransmitted,
                older,
                min_rtt,
            );
            if use_fack_order {
                rack.on_fack_order(segment.end(), segment.ever_retransmitted);
            }
            if !segment.ever_retransmitted {
                note_original(news, segment, high_seq, highest);
                widen(&mut news.sacked_sent, segment.sent_at);
            }
        });
    }

    fn advance_una(&mut self, cx: &mut Context<'_>, news: &mut AckNews, ack: u64) {
        news.una_advanced = true;
        news.set_timer = true;
        let min_rtt = self.min_rtt.get();
        while let Some(segment) = self.tx.board.pop_acked(ack) {
            news.newly_acked += 1;
            news.retransmitted_acked |= segment.ever_retransmitted;
            if segment.fin {
                self.fsm.fin_acked(cx);
            }
            if segment.sacked {
                continue;
            }
            news.delivered += 1;
            news.delivered_bytes += u64::from(segment.len);
            if !segment.ever_retransmitted {
                note_original(news, &segment, self.loss.high_seq, news.prior_highest_sacked);
                widen(&mut news.acked_sent, segment.sent_at);
            }
            let older = segment.ever_retransmitted
                && is_echo_older(self.hs.ts_value(segment.sent_at), news.echo);
            news.rack_advanced |= self.loss.rack.on_delivered(
                cx.now,
                segment.sent_at,
                segment.end(),
                segment.ever_retransmitted,
                older,
                min_rtt,
            );
            self.loss.rack.on_fack_order(segment.end(), segment.ever_retransmitted);
        }
        self.tx.board.forget_below(ack);
        self.loss.on_una_advanced(self.tx.board.is_empty());
        // The window was counted from the old edge; the segment that moves it also carries it.
        self.tx.una = ack;
        self.tx.forget_bursts();
        self.tx.buffer.release_below(ack);
        if let Some(mp) = self.mp.as_mut() {
            mp.forget_below(ack);
        }
        self.after_una(cx);
    }

    fn after_una(&mut self, cx: &mut Context<'_>) {
        if self.fsm.is_time_wait() {
            self.enter_time_wait(cx);
        } else if self.fsm.is_fin_wait_2() && self.orphaned {
            self.bound_fin_wait_2(cx);
        } else if self.fsm.is_closed() {
            self.timers.stop_all();
            self.news.push(ConnectionEvent::Closed);
        }
    }

    /// RFC 6298 s3 with Karn's rule, RFC 7323 s4 (specs/tcp-subflow.md s2).
    fn take_rtt_samples(&mut self, cx: &mut Context<'_>, news: &mut AckNews) {
        let mut smoothed = None;
        let mut newest = None;
        if let Some((first, last)) = news.acked_sent
            && !news.retransmitted_acked
        {
            smoothed = Some(cx.now - first);
            newest = Some(cx.now - last);
        }
        if let Some((first, last)) = news.sacked_sent {
            smoothed = smoothed.or(Some(cx.now - first));
            newest = Some(cx.now - last);
            news.set_timer |= smoothed.is_some_and(|rtt| self.is_sent_after_head(cx.now, rtt));
        }
        if smoothed.is_none() && news.una_advanced {
            let echoed = news.echo.filter(|_| self.hs.timestamps);
            let ticks = echoed.map(|echo| self.hs.ts_value(cx.now).wrapping_sub(echo));
            smoothed = ticks
                .filter(|ticks| (*ticks as i32) >= 0)
                .map(|ticks| Duration::from_millis(u64::from(ticks.max(1))));
            newest = smoothed;
        }
        let Some(smoothed) = smoothed else { return };
        let newest = newest.unwrap_or(smoothed);
        news.rtt = Some(newest);
        self.min_rtt.update(cx.now, newest);
        self.rtt.sample(smoothed, self.tx.una, self.tx.nxt);
        self.loss.tlp.on_rtt_sample();
        self.record_rtt(cx, smoothed);
    }

    /// The sample is of a segment sent after the head was last sent: Linux re-arms the timer.
    fn is_sent_after_head(&self, now: Instant, rtt: Duration) -> bool {
        self.tx.board.head().is_some_and(|(_, head)| rtt > now - head.sent_at)
    }

    fn finish_probe(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        news: &AckNews,
        ack: u64,
    ) {
        let Some(end) = self.loss.tlp.end_offset() else { return };
        let outcome = self.loss.tlp.on_ack(&TlpAck {
            ack,
            dsack_of_probe: news.dsack.as_ref().is_some_and(|dsack| dsack.end >= end),
            snd_una_advanced: news.una_advanced,
            newly_sacked: news.newly_sacked > 0,
            not_dup: news.not_dup,
        });
        if outcome == TlpOutcome::LossRepaired {
            self.reduce_for_repaired_loss(cx, cc);
        }
    }

    /// Whether loss recovery has to look at this acknowledgement (Linux `tcp_ack_is_dubious`).
    fn is_dubious(&self, news: &AckNews) -> bool {
        self.loss.ca_state != CaState::Open
            || news.newly_sacked > 0
            || news.dsack.is_some()
            || !(news.not_dup || news.una_advanced)
    }

    /// Timers, congestion control, and who may send next.
    fn after_ack(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        news: &mut AckNews,
        rexmit: Rexmit,
    ) {
        if news.set_timer {
            self.set_retransmission_timer(cx, cc);
        }
        self.control_congestion(cx, cc, news);
        self.loss.rexmit = rexmit;
        self.tx.writer_check_due |= news.una_advanced;
        let (socket, path, up_to) = (self.socket, self.path, self.tx.una);
        let inflight_segs = self.inflight();
        cx.record(EventMask::SEGMENT, || Event::SegmentAcked {
            socket,
            path,
            up_to,
            newly_acked: news.delivered_bytes,
            inflight_segs,
        });
    }

    /// Linux `tcp_cong_control`: PRR while the window is being reduced, growth otherwise.
    fn control_congestion(&mut self, cx: &mut Context<'_>, cc: &mut Controller, news: &AckNews) {
        let pipe = self.inflight();
        if let Some(prr) = self.loss.prr.as_mut() {
            let safe = news.una_advanced && news.newly_lost == 0;
            let first = std::mem::take(&mut self.loss.recovery_just_began);
            if let Some(allowed) = prr.on_ack(news.delivered, pipe, safe, first) {
                cc.set_recovery_window(self.path, pipe + allowed);
            }
        } else if news.delivered > 0 && (news.una_advanced || self.loss.reordering_seen()) {
            let sample = AckSample {
                now: cx.now,
                acked_segs: news.delivered,
                acked_bytes: news.delivered_bytes,
                rtt: news.rtt,
                srtt: self.rtt.srtt(),
                min_rtt: self.min_rtt.get(),
                inflight_before_segs: news.prior_inflight,
                cwnd_limited: self.is_cwnd_limited(cc),
                may_grow: true,
                state: self.loss.ca_state,
                snd_una: self.tx.una,
                snd_nxt: self.tx.nxt,
                paced: self.options.pacing,
            };
            cc.on_ack(self.path, &sample);
        }
        self.update_pacing_rate(cc);
        self.record_window(cx, cc);
    }

    /// Known from the handshake on. Mainline leaves options of a connection of several paths out
    /// of account (`mss_cache`).
    pub(super) fn update_pacing_rate(&mut self, cc: &Controller) {
        let room = if self.switches.mainline_limits { self.option_room() } else { 0 };
        self.tx.pacing_rate = pacing_rate(
            cc.cwnd_segs(self.path),
            cc.ssthresh_segs(self.path),
            self.tx.board.packets_out(),
            self.tx.mss + room,
            self.rtt.srtt(),
        );
    }

    /// After an acknowledgement and what it let out: grow the send buffer unless the window is
    /// full all the same, and wake a writer that waits (Linux `tcp_check_space`).
    pub(super) fn check_writer(&mut self, cc: &Controller) {
        if !std::mem::take(&mut self.tx.writer_check_due) || !self.tx.writer_waits {
            return;
        }
        if self.inflight() < cc.cwnd_segs(self.path) {
            let cwnd = cc.cwnd_segs(self.path);
            self.tx.tuning.expand(cwnd, self.loss.dup_thresh(), self.tx.mss);
        }
        // The writer of several subflows is their connection's to wake.
        if self.mp.is_none() && self.tx.wakes_writer(self.options.notsent_lowat) {
            self.tx.writer_waits = false;
            self.news.push(ConnectionEvent::Writable);
        }
    }
}

fn is_echo_older(sent: u32, echo: Option<u32>) -> bool {
    echo.is_some_and(|echo| (echo.wrapping_sub(sent) as i32) < 0)
}

/// A segment that was never retransmitted is delivered: reordering if higher ones were before.
fn note_original(news: &mut AckNews, segment: &SentSegment, high_seq: u64, highest: u64) {
    news.original_delivered |= segment.end() <= high_seq;
    if segment.offset < highest {
        let lowest = news.reordered.map_or(segment.offset, |low| low.min(segment.offset));
        news.reordered = Some(lowest);
    }
}
