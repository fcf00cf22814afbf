//! A segment arrives (RFC 9293 s3.10.7): the handshake, whether the segment is acceptable, what it
//! acknowledges, and its data.
//!
//! Challenge acknowledgements are RFC 5961, PAWS is RFC 7323. The sender's reaction to what is
//! acknowledged belongs to `loss`.

use super::{Counters, FlowId, Subflow, TIMESTAMPS, sack_bytes};
use crate::congestion::{CongestionControl, Controller, PathStart};
use crate::recovery::{pacing_rate, received_truesize};
use crate::socket::{ConnectionEvent, SocketError};
use crate::tcp::ack_info::{AckInfo, SackRanges};
use crate::tcp::ack_policy::Verdict;
use crate::tcp::loss::{Delivery, Rexmit};
use crate::tcp::multipath::AcceptedSegment;
use crate::tcp::profile::SubflowWindow;
use crate::tcp::receiver::{Accepted, ArrivedData, Inserted};
use base::{Context, Duration, Event, EventMask, Instant};
use std::hint::cold_path;
use std::ops::Range;
use wire::{Flags, SackBlocks, TcpSegment};

/// Payload of a segment if the peer announces no MSS (RFC 9293 s3.7.1).
const DEFAULT_MSS: u16 = 536;
/// Smallest MSS of a peer: smaller ones make a host flood itself with headers (Linux
/// `tcp_min_snd_mss`, CVE-2019-11479).
const MIN_MSS: u16 = 48;
/// Time between two answers to segments that are no progress (Linux `tcp_invalid_ratelimit`).
const ANSWER_INTERVAL: Duration = Duration::from_millis(500);

/// The payload of a segment in the peer's stream. Every step needs it, so it is computed once.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// Offset of the first byte, negative before the beginning of the stream.
    start: i64,
    len: u32,
}

impl Subflow {
    /// A segment of this connection arrived.
    #[inline(never)]
    pub fn handle_segment(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        segment: &mut TcpSegment,
    ) {
        let extent = Extent { start: self.offset_of(segment), len: segment.payload.len() };
        self.stats.segs_in += 1;
        let expected = self.is_expected(cx, segment, extent);
        if expected {
            self.stats.segs_expected += 1;
        } else {
            cold_path();
            if !self.is_usable(cx, cc, segment, extent) {
                return;
            }
        }
        if let Some(timestamps) = segment.options.timestamps {
            self.rx.on_timestamp(cx.now, timestamps.value, extent.start);
        }
        let (una, window) = (self.tx.una(), self.tx.window.size());
        if !self.process_ack(cx, cc, segment, extent.len) {
            return;
        }
        // The fast path of a kernel does not look at timestamps of acknowledgements.
        if self.mp.is_some() || extent.len > 0 || self.tx.window.size() != window {
            self.sample_receiver_rtt(cx, segment, extent.len);
        }
        if self.mp.is_some() {
            let offset = u64::try_from(extent.start).unwrap_or(0);
            self.summarise(segment, offset, self.tx.una() > una);
        }
        if !expected {
            cold_path();
            self.receive_payload(cx, segment, extent);
        } else if extent.len > 0 {
            self.insert_payload(cx, segment, extent);
        }
        self.decide_acknowledgement(cx);
    }

    /// Whether a segment is the one that comes next: nothing in `is_usable` and no FIN concerns it
    /// (header prediction, as in Linux `tcp_rcv_established`). Nineteen of twenty segments.
    #[inline(always)]
    fn is_expected(&self, cx: &Context<'_>, segment: &TcpSegment, extent: Extent) -> bool {
        cx.has_short_ways()
            && self.fsm.is_established()
            && segment.flags | Flags::PSH == Flags::ACK | Flags::PSH
            && self.rx.is_next(extent.start)
            && segment.options.timestamps.is_none_or(|stamps| self.rx.is_in_order(stamps.value))
    }

    /// Whether a segment is acceptable and acknowledges; the handshake.
    #[inline(never)]
    fn is_usable(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        segment: &TcpSegment,
        extent: Extent,
    ) -> bool {
        if self.fsm.is_closed() {
            return false;
        }
        if self.fsm.is_syn_sent() {
            self.handle_in_syn_sent(cx, cc, segment);
            return false;
        }
        if !self.accept_segment(cx, segment, extent) || !segment.flags.contains(Flags::ACK) {
            return false;
        }
        if self.fsm.is_syn_received() {
            if segment.ack != self.handshake.first_seq() && !self.acks_something_sent(segment) {
                self.outbox.put_reset(segment.ack);
                return false;
            }
            self.accept_ack_of_syn(cx, cc, segment);
        }
        true
    }

    /// Takes over what the peer's SYN or SYN/ACK offers.
    pub(super) fn on_syn(&mut self, now: Instant, segment: &TcpSegment) {
        self.handshake.on_syn(segment);
        self.rx.on_syn(now, segment.options.timestamps.map(|timestamps| timestamps.value));
        let mut option_bytes = if self.handshake.timestamps() { TIMESTAMPS } else { 0 };
        if let Some(mp) = self.mp.as_mut() {
            if segment.options.mptcp.is_empty() {
                mp.set_room(0);
            }
            option_bytes += mp.room();
        }
        let mss = segment.options.mss.unwrap_or(DEFAULT_MSS).max(MIN_MSS);
        self.tx.set_mss(u32::from(mss.min(self.advertised_mss())) - option_bytes);
        // The window of a SYN is never scaled (RFC 7323 s2.2).
        self.tx.window.set(segment.seq, u64::from(segment.window));
    }

    /// SYN-SENT: a segment came (RFC 9293 s3.10.7.3).
    #[cold]
    fn handle_in_syn_sent(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        segment: &TcpSegment,
    ) {
        let flags = segment.flags;
        let acks_syn = flags.contains(Flags::ACK) && segment.ack == self.handshake.first_seq();
        if flags.contains(Flags::ACK) && !acks_syn {
            if !flags.contains(Flags::RST) {
                self.outbox.put_reset(segment.ack);
            }
            return;
        }
        if flags.contains(Flags::RST) {
            if acks_syn {
                self.summarise(segment, 0, false);
                self.fail(cx, SocketError::Refused);
            }
            return;
        }
        if !flags.contains(Flags::SYN) {
            return;
        }
        self.on_syn(cx.now, segment);
        if !acks_syn {
            // Simultaneous open: a SYN/ACK answers.
            self.fsm.open_simultaneously(cx);
            self.handshake.open_simultaneously();
            return;
        }
        self.summarise(segment, 0, false);
        self.become_established(cx, cc, segment);
        self.rx.ack.on_connected(cx.now);
        self.rx.ack.now();
        self.events.push(ConnectionEvent::Connected);
    }

    /// SYN-RECEIVED: `segment` acknowledges our SYN.
    #[cold]
    fn accept_ack_of_syn(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        segment: &TcpSegment,
    ) {
        self.tx.window.set(segment.seq, self.handshake.scaled_window(segment));
        self.become_established(cx, cc, segment);
        self.events.push(ConnectionEvent::Accepted);
    }

    #[cold]
    fn become_established(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        segment: &TcpSegment,
    ) {
        self.fsm.establish(cx);
        self.timers.stop_retransmit();
        self.handshake.stop();
        let echo = segment.options.timestamps.map(|timestamps| timestamps.echo);
        match self.handshake.rtt(cx.now, echo) {
            Some(rtt) => {
                self.rtt.on_handshake(cx.now, rtt);
                self.rtt.record(cx, self.id, rtt);
            }
            None => self.rtt.on_handshake_timeout(),
        }
        // RFC 6928 s2: a single lost SYN keeps the initial window, and so do needless repetitions
        // (Linux `tcp_try_undo_spurious_syn`).
        let needless = self.switches.undoes_syn_timeouts && self.handshake.is_answer_to_first(echo);
        let lost_twice = self.handshake.sends() > 2 && !needless;
        let initial_window_segs = if lost_twice { 1 } else { self.switches.initial_window_segs };
        let (path, mss) = (self.id.path, self.tx.mss());
        let bytes = |segs: u32| u64::from(segs) * u64::from(mss);
        let start = PathStart {
            now: cx.now,
            mss,
            initial_window_bytes: bytes(initial_window_segs),
            initial_ssthresh_bytes: self.initial_ssthresh_segs.map(bytes),
            srtt: self.rtt.srtt(),
        };
        cc.on_path_added(path, &start);
        self.tx.writer.expand(cc.cwnd_segs(path), self.loss.dup_thresh(), mss);
        self.tx.validation.on_established(cx.now);
        // What the peer may send is not lowered by options of our own (Linux `advmss`).
        self.rx.on_established(cx.now, mss + self.option_room());
        self.update_pacing_rate(cc);
    }

    #[cold]
    fn acks_something_sent(&self, segment: &TcpSegment) -> bool {
        let ack = segment.ack.to_offset(self.handshake.first_seq(), self.tx.una());
        (0..=self.tx.nxt() as i64).contains(&ack)
    }

    /// Keeps the summary of an accepted segment for the multi-path connection.
    fn summarise(&mut self, segment: &TcpSegment, offset: u64, acked_data: bool) {
        // The window of a SYN is never scaled (RFC 7323 s2.2).
        let window = if segment.flags.contains(Flags::SYN) {
            u64::from(segment.window)
        } else {
            self.handshake.scaled_window(segment)
        };
        if let Some(mp) = self.mp.as_mut() {
            mp.on_segment(AcceptedSegment {
                offset,
                len: segment.payload.len(),
                window,
                acked_data,
                fin: segment.flags.contains(Flags::FIN),
                reset: segment.flags.contains(Flags::RST),
            });
        }
    }

    /// The offset of a segment's first byte in the peer's stream, negative before its beginning.
    fn offset_of(&self, segment: &TcpSegment) -> i64 {
        segment.seq.to_offset(self.handshake.peer_first_seq(), self.rx.nxt())
    }

    /// RFC 9293 s3.10.7.4 first to fourth check, with PAWS and RFC 5961.
    fn accept_segment(
        &mut self,
        cx: &mut Context<'_>,
        segment: &TcpSegment,
        Extent { start, len }: Extent,
    ) -> bool {
        let reset = segment.flags.contains(Flags::RST);
        // A reset need not pass PAWS (RFC 7323 s5.3 R1).
        if !reset
            && self.is_old_by_timestamp(cx, segment)
            && !self.is_late_duplicate(segment, start)
        {
            self.answer_old(cx, segment, start);
            return false;
        }
        let end = start + i64::from(len) + i64::from(segment.flags.sequence_len());
        if !self.rx.is_acceptable(start, end) {
            if self.is_repeated_syn(segment) {
                self.handshake.repeat();
            } else if !reset {
                self.answer_outside(cx, segment);
            }
            return false;
        }
        if reset {
            if start == self.rx.nxt() as i64 {
                self.summarise(segment, 0, false);
                self.reset_by_peer(cx);
            } else {
                self.challenge(cx.now);
            }
            return false;
        }
        if segment.flags.contains(Flags::SYN) {
            // RFC 5961 s4: a challenge, for any sequence number. A peer in SYN-RECEIVED that
            // repeats its SYN gets the SYN/ACK again.
            if self.is_repeated_syn(segment) {
                self.handshake.repeat();
            } else if self.fsm.is_syn_received() && segment.flags.contains(Flags::ACK) {
                return true;
            } else {
                self.challenge(cx.now);
            }
            return false;
        }
        true
    }

    fn is_repeated_syn(&self, segment: &TcpSegment) -> bool {
        self.fsm.is_syn_received()
            && segment.flags.contains(Flags::SYN)
            && !segment.flags.contains(Flags::ACK)
            && segment.seq == self.handshake.irs()
    }

    fn is_old_by_timestamp(&self, cx: &Context<'_>, segment: &TcpSegment) -> bool {
        if !self.handshake.timestamps() || self.fsm.is_syn_received() {
            return false;
        }
        let Some(timestamps) = segment.options.timestamps else { return false };
        self.rx.is_old_timestamp(cx.now, timestamps.value)
    }

    /// Whether a segment with an old timestamp is a duplicate acknowledgement that others overtook:
    /// its SACK blocks count (Linux `tcp_disordered_ack_check`).
    #[cold]
    fn is_late_duplicate(&self, segment: &TcpSegment, start: i64) -> bool {
        let Some(timestamps) = segment.options.timestamps else { return false };
        let ack = segment.ack.to_offset(self.handshake.first_seq(), self.tx.una());
        let size = self.handshake.scaled_window(segment);
        is_bare(segment)
            && start == self.rx.nxt() as i64
            && ack == self.tx.una() as i64
            && !self.tx.window.is_updated_by(segment.seq, size, false)
            && self.rx.timestamp_age(timestamps.value) <= self.rtt.rto().as_millis() as i64
    }

    /// Answers a segment with an old timestamp. An old acknowledgement is common where packets
    /// overtake each other, and gets no answer (Linux `LINUX_MIB_PAWS_OLD_ACK`).
    #[cold]
    fn answer_old(&mut self, cx: &Context<'_>, segment: &TcpSegment, start: i64) {
        if !is_bare(segment) || start >= self.rx.nxt() as i64 {
            self.answer_outside(cx, segment);
        }
    }

    /// Answers an old or unacceptable segment, which without data may be part of a loop of
    /// acknowledgements between hosts that a forged segment has deceived (RFC 5961 s7; Linux
    /// `tcp_oow_rate_limited`).
    #[cold]
    fn answer_outside(&mut self, cx: &Context<'_>, segment: &TcpSegment) {
        let is_data = segment.sequence_len() > 0 && !segment.flags.contains(Flags::SYN);
        if is_data || self.may_challenge(cx.now) {
            self.answer_unacceptable(segment);
        }
    }

    /// A challenge acknowledgement (RFC 5961), unless there was one just now (Linux
    /// `tcp_send_challenge_ack`).
    #[cold]
    fn challenge(&mut self, now: Instant) {
        if self.may_challenge(now) {
            self.rx.ack.now();
        }
    }

    fn may_challenge(&mut self, now: Instant) -> bool {
        let may = now >= self.no_answer_before;
        if may {
            self.no_answer_before = now + ANSWER_INTERVAL;
        }
        may
    }

    /// Answers an old or unacceptable segment.
    #[cold]
    fn answer_unacceptable(&mut self, segment: &TcpSegment) {
        let start = self.offset_of(segment);
        self.rx.on_unacceptable(start, start + i64::from(segment.payload.len()));
    }

    /// Processes the acknowledgement in `segment` (RFC 9293 s3.10.7.4). Returns whether the segment
    /// is to be used further.
    #[inline(always)]
    fn process_ack(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        segment: &TcpSegment,
        len: u32,
    ) -> bool {
        let una = self.tx.una();
        let ack = segment.ack.to_offset(self.handshake.first_seq(), una);
        if !self.tx.is_acceptable_ack(ack) {
            self.challenge(cx.now);
            return false;
        }
        self.tx.window.on_answer();
        // A receiver has nothing outstanding: at most the window opens.
        let is_bare = segment.options.sack.is_empty() && !self.loss.is_probing();
        if is_bare && self.loss.is_idle() && cx.has_short_ways() {
            if ack >= una as i64 {
                self.update_window(segment, ack as u64);
                self.after_empty_ack();
            }
            return true;
        }
        self.process_ack_in_flight(cx, cc, segment, (ack, len));
        true
    }

    /// The same where segments are outstanding, or something unusual may be.
    // Not inlined: a receiver's segments would save all registers for it.
    #[inline(never)]
    fn process_ack_in_flight(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        segment: &TcpSegment,
        (ack, len): (i64, u32),
    ) {
        let una = self.tx.una();
        let mut info = self.loss.ack_info(una);
        // RFC 8684 s3: a segment with an option other than a DSS is no duplicate acknowledgement.
        info.not_dup = len > 0 || !segment.options.mptcp.others().is_empty();
        info.echo = segment.options.timestamps.map(|timestamps| timestamps.echo);
        let sacks = &segment.options.sack;
        if ack < una as i64 {
            cold_path();
            // The SACK blocks of an old acknowledgement may be new.
            if !sacks.is_empty() && !self.loss.is_idle() {
                self.process_old_sacks(cx, cc, &mut info, (ack, sacks));
            }
            return;
        }
        let acked = ack as u64;
        info.not_dup |= self.update_window(segment, acked);
        if self.loss.is_idle() {
            cold_path();
            self.after_empty_ack();
            self.process_late_dsack(cx, cc, segment, &mut info);
            return;
        }
        // Cumulative acknowledgement first: what it covers cannot have been overtaken by what the
        // same segment SACKs.
        if acked > una {
            self.advance_una(cx, &mut info, acked);
        }
        if !sacks.is_empty() {
            self.process_sacks(cx, &mut info, ack, sacks);
        }
        let paced = self.options.pacing;
        let (loss, mut rcx) = self.recovery(cx, cc);
        loss.after_delivery(&mut rcx, &mut info);
        let dubious = loss.is_dubious(&info);
        let rexmit = if dubious { loss.on_alert(&mut rcx, &mut info) } else { Rexmit::None };
        let may_grow = loss.react(&mut rcx, &info, rexmit, paced);
        self.after_ack(cx, cc, &info, may_grow);
    }

    /// SACK blocks of an old acknowledgement.
    #[cold]
    fn process_old_sacks(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        info: &mut AckInfo,
        (ack, sacks): (i64, &SackBlocks),
    ) {
        self.process_sacks(cx, info, ack, sacks);
        let paced = self.options.pacing;
        let (loss, mut rcx) = self.recovery(cx, cc);
        let rexmit = loss.on_alert(&mut rcx, info);
        let may_grow = loss.react(&mut rcx, info, rexmit, paced);
        self.after_ack(cx, cc, info, may_grow);
    }

    /// Returns whether the window changed.
    #[inline(always)]
    fn update_window(&mut self, segment: &TcpSegment, ack: u64) -> bool {
        let size = self.handshake.scaled_window(segment);
        let advances = ack > self.tx.una();
        if !self.tx.window.is_updated_by(segment.seq, size, advances) {
            return false;
        }
        let changed = self.tx.window.update(segment.seq, size);
        if self.is_window_lifted() {
            cold_path();
            self.tx.window.lift();
        }
        changed
    }

    /// Whether only the window of the connection counts, not that of the subflow.
    fn is_window_lifted(&self) -> bool {
        let lifts = self.switches.multipath.subflow_window == SubflowWindow::Lift;
        lifts && self.mp.as_ref().is_some_and(|mp| !mp.is_fallen_back())
    }

    /// Nothing was outstanding: at most the window opened.
    #[inline(always)]
    fn after_empty_ack(&mut self) {
        if self.tx.has_unsent() {
            self.after_window_update();
        }
    }

    #[cold]
    fn after_window_update(&mut self) {
        if self.tx.window_left() >= self.next_len() {
            self.rtt.reset_back_off();
            self.timers.stop_retransmit();
        }
    }

    /// Nothing was outstanding, but a D-SACK may report a needless retransmission.
    #[cold]
    fn process_late_dsack(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        segment: &TcpSegment,
        info: &mut AckInfo,
    ) {
        self.process_sacks(cx, info, self.tx.una() as i64, &segment.options.sack);
        let (loss, mut rcx) = self.recovery(cx, cc);
        loss.after_late_dsack(&mut rcx, info);
    }

    #[cold]
    fn process_sacks(
        &mut self,
        cx: &Context<'_>,
        info: &mut AckInfo,
        ack: i64,
        blocks: &SackBlocks,
    ) {
        let first = self.handshake.first_seq();
        let sacks = SackRanges::new(blocks, first, ack, self.tx.una(), self.tx.nxt());
        // Only what was sent on this connection can be a duplicate.
        if let Some(dsack) = sacks.dsack.filter(|dsack| dsack.start >= 0) {
            self.on_dsack(info, dsack.start as u64..dsack.end as u64);
        }
        let at = Delivery::new(cx, &self.rtt, &self.handshake).after(info);
        for range in sacks.ranges.into_iter().filter(|range| !range.is_empty()) {
            self.loss.on_sacked(&at, info, range);
        }
    }

    /// A D-SACK reports `duplicate`: a retransmission was needless, unless the network duplicates
    /// packets.
    fn on_dsack(&mut self, info: &mut AckInfo, duplicate: Range<u64>) {
        info.probe_duplicated = self.loss.is_of_probe(duplicate.end);
        let mss = self.tx.mss();
        let bytes = duplicate.end.saturating_sub(duplicate.start);
        // A block has 32 bits.
        let segs = bytes.div_ceil(u64::from(mss.max(1))) as u32;
        let Counters { segs_retrans, spurious_retrans, segs_duplicated, .. } = &mut self.stats;
        *segs_duplicated = segs_duplicated.saturating_add(segs);
        *spurious_retrans = spurious_retrans.saturating_add(1);
        let are_too_many = u64::from(*segs_duplicated) > *segs_retrans;
        if !(are_too_many && self.switches.recovery.doubts_dsacks) {
            self.loss.on_dsack(info, duplicate, mss);
        }
    }

    fn advance_una(&mut self, cx: &mut Context<'_>, info: &mut AckInfo, ack: u64) {
        let at = Delivery::new(cx, &self.rtt, &self.handshake);
        if self.loss.on_acked(&at, info, ack) {
            cold_path();
            self.fsm.fin_acked(cx);
        }
        // The window was counted from the old edge; the segment that moves it also updates it.
        self.tx.on_acked(ack);
        if let Some(mp) = self.mp.as_mut() {
            mp.forget_below(ack);
        }
        if self.fsm.is_time_wait() {
            cold_path();
            self.enter_time_wait(cx);
        } else if self.fsm.is_fin_wait_2() && self.orphaned {
            cold_path();
            self.limit_fin_wait_2(cx);
        } else if self.fsm.is_closed() {
            cold_path();
            self.timers.stop_all();
            self.events.push(ConnectionEvent::Closed);
        }
    }

    /// What follows from what loss recovery made of an acknowledgement. `may_grow`: the window
    /// could grow.
    // Inlined: what it needs is at hand where it is called.
    #[inline(always)]
    fn after_ack(&mut self, cx: &mut Context<'_>, cc: &Controller, info: &AckInfo, may_grow: bool) {
        if may_grow {
            self.tx.validation.restart_clock(cx.now);
        }
        self.update_pacing_rate(cc);
        if info.una_advanced {
            self.tx.writer.on_freed();
        }
        let FlowId { socket, path } = self.id;
        let (up_to, inflight_segs) = (self.tx.una(), self.inflight());
        cx.record(EventMask::SEGMENT, || Event::SegmentAcked {
            socket,
            path,
            up_to,
            newly_acked: info.delivered.bytes,
            inflight_segs,
        });
    }

    /// The pacing rate is known from the handshake on. Mainline does not count the options of a
    /// connection of several paths (`mss_cache`).
    #[inline(always)]
    pub(super) fn update_pacing_rate(&mut self, cc: &Controller) {
        let room = if self.switches.multipath.mainline_limits { self.option_room() } else { 0 };
        let path = self.id.path;
        self.tx.pacing_rate = pacing_rate(
            cc.cwnd_segs(path),
            cc.ssthresh_segs(path),
            self.loss.board().packets_out(),
            self.tx.mss() + room,
            self.rtt.srtt(),
        );
    }

    #[inline(never)]
    fn receive_payload(&mut self, cx: &mut Context<'_>, segment: &mut TcpSegment, extent: Extent) {
        let fin = segment.flags.contains(Flags::FIN);
        if extent.len == 0 && !fin {
            return;
        }
        if !self.fsm.may_receive() {
            self.receive_after_end(cx, segment);
            return;
        }
        if fin {
            self.rx.on_fin(extent.start + i64::from(extent.len));
        }
        if extent.len > 0 {
            self.insert_payload(cx, segment, extent);
        }
        if fin {
            self.rx.ack.now();
        }
        if self.rx.reaches_fin() {
            self.fsm.receive_fin(cx);
            self.events.push(ConnectionEvent::PeerClosed);
            if self.fsm.is_time_wait() {
                self.enter_time_wait(cx);
            }
        }
    }

    /// Payload or a FIN came although the peer's FIN was received: a retransmission.
    #[cold]
    fn receive_after_end(&mut self, cx: &Context<'_>, segment: &TcpSegment) {
        if segment.sequence_len() > 0 {
            self.answer_unacceptable(segment);
        }
        if self.fsm.is_time_wait() {
            // RFC 9293 s3.10.7.4: our acknowledgement was lost, so TIME-WAIT begins anew.
            self.enter_time_wait(cx);
        }
    }

    #[inline(always)]
    fn insert_payload(
        &mut self,
        cx: &mut Context<'_>,
        segment: &mut TcpSegment,
        Extent { start, len: segment_len }: Extent,
    ) {
        let Some(part) = self.rx.acceptable_part(start, segment_len) else {
            cold_path();
            self.answer_unacceptable(segment);
            return;
        };
        if self.timers.compressed_ack_runs() {
            cold_path();
            self.release_held_ack(part);
        }
        let arrived = ArrivedData {
            now: cx.now,
            segment_len,
            truesize: received_truesize(40 + segment.options.padded_len() + segment_len),
            sack_bytes: sack_bytes(segment.options.sack.len() as u32),
            push: segment.flags.contains(Flags::PSH),
            rto: self.rtt.rto(),
        };
        let mut payload = std::mem::take(&mut segment.payload);
        if part.len < segment_len {
            cold_path();
            payload = payload.slice(part.skipped, part.len);
        }
        let inserted = self.rx.insert(arrived, part, payload);
        if inserted == Inserted::Duplicate {
            cold_path();
            return;
        }
        let FlowId { socket, path } = self.id;
        let (offset, len) = (part.offset, part.len);
        cx.record(EventMask::ARRIVAL, || Event::SegmentArrived { socket, path, offset, len });
        // A multi-path connection looks for data after every segment.
        let readable = inserted == Inserted::InOrder && self.mp.is_none();
        if readable && self.events.last() != Some(&ConnectionEvent::Readable) {
            self.events.push(ConnectionEvent::Readable);
        }
    }

    /// An acknowledgement that is held back goes before `part` changes the SACK blocks, if it has
    /// to (Linux `tcp_sack_compress_send_ack`).
    #[inline(never)]
    fn release_held_ack(&mut self, part: Accepted) {
        if let Some(place) = self.rx.crowded_place(part) {
            self.outbox.put_ack_before(place);
            self.rx.ack.on_ack_sent();
            self.timers.stop_acks();
        }
    }

    /// RFC 7323 s4: the echo of our own timestamps gives the receiver an RTT sample, too, if the
    /// first segment with that echo is a full one.
    #[inline(always)]
    fn sample_receiver_rtt(&mut self, cx: &Context<'_>, segment: &TcpSegment, len: u32) {
        let Some(timestamps) = segment.options.timestamps else { return };
        if !self.rx.is_sampled_echo(timestamps.echo, len) {
            return;
        }
        self.take_receiver_rtt(cx.now, timestamps.echo);
    }

    #[inline(never)]
    fn take_receiver_rtt(&mut self, now: Instant, echo: u32) {
        let ticks = self.handshake.ts_value(now).wrapping_sub(echo);
        if (ticks as i32) > 0 {
            self.rx.on_rtt(Duration::from_millis(u64::from(ticks)));
        }
    }

    #[inline(always)]
    fn decide_acknowledgement(&mut self, cx: &Context<'_>) {
        if !self.rx.ack.is_owed() {
            return;
        }
        let compress = self.switches.compressed_acks && self.handshake.sack();
        let received = self.rx.received(compress, self.rtt.srtt());
        match self.rx.ack.after_segment(&received) {
            Verdict::Nothing | Verdict::Now => {}
            Verdict::Delay(delay) => self.timers.set_delayed_ack(cx.now, delay),
            Verdict::Compress(delay) => {
                if !self.timers.compressed_ack_runs() {
                    self.timers.set_compressed_ack(cx.now, delay);
                }
            }
        }
    }
}

/// Whether a segment is an acknowledgement without anything that takes a sequence number.
fn is_bare(segment: &TcpSegment) -> bool {
    segment.flags.contains(Flags::ACK) && segment.sequence_len() == 0
}
