//! What a subflow sends next: a reset, the handshake, probes, retransmissions, new data and
//! acknowledgements, in this order; and the header and options of a segment.
//!
//! The congestion window, the peer's window, Nagle's algorithm, TCP Small Queues, pacing and burst
//! sizing decide whether new data may be sent. Order and conditions are those of Linux
//! `tcp_write_xmit`; RFC 9293 s3.1 and s3.8.6.2, RFC 1122 s4.2.3.4 (Nagle), RFC 7323, RFC 2018.

use super::{Due, FlowId, SACK_BASE, SACK_BLOCK, Subflow, TIMESTAMPS, sack_bytes};
use crate::congestion::Controller;
use crate::recovery::burst_segs;
use crate::socket::ConnectionEvent;
use crate::tcp::handshake::syn_timeout;
use crate::tcp::loss::{Rexmit, TICK};
use crate::tcp::sender::{SEGS_PER_BUFFER, Usage};
use crate::tcp::timers::Retransmit;
use base::{Blocked, CaState, Context, Duration, Event, EventMask, Instant};
use std::hint::cold_path;
use wire::{Body, Flags, Packet, Payload, SeqNumber, TcpOptions, TcpSegment};

/// A burst is deferred only if the last one left within this time, and the acknowledgement of the
/// oldest segment is due within it (Linux).
const DEFER_WITHIN: Duration = Duration::from_millis(1);
/// TCP header without options, in bytes.
const TCP_HEADER: u32 = 20;
/// IP and TCP header with timestamps, in bytes.
const HEADERS: u64 = 52;
/// Option space of a TCP header, in bytes.
const OPTION_SPACE: u32 = 40;

/// New data that may be sent next.
#[derive(Clone, Copy, Debug)]
struct Ready {
    /// Payload bytes of the next segment, which is within one mapping; 0 if only a FIN is left.
    len: u64,
    /// Unsent payload that one burst may have: all, or what the next offload buffer has.
    head: u64,
    /// Payload bytes of a full segment.
    mss: u64,
}

impl Subflow {
    /// The next segment to send, until `None`.
    // Inlined as far as nothing is sent: two calls a data packet find nothing.
    #[inline(always)]
    pub fn poll_segment(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
    ) -> Option<Box<Packet>> {
        if self.has_rare() || !cx.has_short_ways() {
            return self.poll_any(cx, cc);
        }
        let segment = self.poll_new(cx, cc);
        if segment.is_some() {
            return segment;
        }
        self.poll_ack(cx)
    }

    /// Whether `poll_segment` would do nothing.
    #[inline]
    pub fn is_at_rest(&self) -> bool {
        let tx = &self.tx;
        let is_busy = self.rx.ack.is_urgent()
            || tx.has_unsent()
            || tx.bursts.is_open()
            || tx.validation.has_round()
            || tx.writer.is_check_due()
            || self.has_rare()
            || self.mp.as_ref().is_some_and(|mp| mp.owes_option());
        !is_busy
    }

    /// Whether anything may be due but new data and an acknowledgement: asked once, instead of
    /// each question of `poll_rare` for each segment.
    #[inline]
    fn has_rare(&self) -> bool {
        !self.fsm.is_synchronised()
            || !self.outbox.is_empty()
            || self.loss.rexmit() != Rexmit::None
            || self.handshake.is_due()
    }

    /// The next segment where anything may be due, on a link that may be down.
    #[inline(never)]
    fn poll_any(&mut self, cx: &mut Context<'_>, cc: &mut Controller) -> Option<Box<Packet>> {
        let nxt = self.tx.nxt();
        let segment = self.poll_rare(cx, cc);
        // What a dropped SYN leaves is forgotten with the handshake (Linux `tcp_init_metrics`).
        if segment.is_some() && self.outbox.is_link_down() && self.fsm.is_synchronised() {
            cold_path();
            let (loss, mut rcx) = self.recovery(cx, cc);
            loss.on_local_drop(&mut rcx, nxt);
        }
        segment
    }

    fn poll_rare(&mut self, cx: &mut Context<'_>, cc: &mut Controller) -> Option<Box<Packet>> {
        if self.outbox.take(Due::Reset) {
            return Some(self.reset_segment(cx, self.outbox.reset_with));
        }
        if let Some(segment) = self.poll_handshake(cx) {
            return Some(segment);
        }
        if !self.fsm.is_synchronised() {
            return None;
        }
        if self.outbox.take(Due::AckBefore) {
            return Some(self.ack_before(cx));
        }
        let data = self.poll_data(cx, cc);
        if data.is_some() {
            return data;
        }
        self.poll_ack(cx)
    }

    /// The acknowledgement that is urgent, or an option that is.
    #[inline]
    fn poll_ack(&mut self, cx: &mut Context<'_>) -> Option<Box<Packet>> {
        if self.rx.ack.is_urgent() || self.mp.as_ref().is_some_and(|mp| mp.owes_option()) {
            return Some(self.pure_ack(cx));
        }
        None
    }

    /// The SYN or SYN/ACK that is due.
    #[inline]
    pub(super) fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Option<Box<Packet>> {
        self.handshake.take_due(cx.now).then(|| self.handshake_segment(cx))
    }

    #[cold]
    fn handshake_segment(&mut self, cx: &mut Context<'_>) -> Box<Packet> {
        let syn_ack = self.fsm.is_syn_received();
        let linear = if syn_ack { 0 } else { self.switches.linear_syn_retries };
        let wait = syn_timeout(self.handshake.retries(), linear);
        self.timers.set_retransmit(Retransmit::Handshake, cx.now, wait);
        self.stats.segs_out += 1;
        self.syn_segment(cx.now, syn_ack)
    }

    fn poll_data(&mut self, cx: &mut Context<'_>, cc: &mut Controller) -> Option<Box<Packet>> {
        if let Some(segment) = self.poll_probe(cx, cc) {
            return Some(segment);
        }
        if self.loss.rexmit() == Rexmit::Lost {
            if let Some(segment) = self.poll_retransmission(cx, cc) {
                return Some(segment);
            }
            self.loss.set_rexmit(Rexmit::None);
        }
        if let Some(segment) = self.poll_new(cx, cc) {
            return Some(segment);
        }
        if self.loss.rexmit() == Rexmit::New && self.loss.on_no_new_data(self.tx.nxt()) {
            return self.poll_retransmission(cx, cc);
        }
        None
    }

    #[inline(never)]
    fn poll_probe(&mut self, cx: &mut Context<'_>, cc: &mut Controller) -> Option<Box<Packet>> {
        if self.outbox.take(Due::ProbeCopy)
            && let Some((id, _)) = self.loss.board().last()
        {
            let segment = self.retransmit(cx, id, false);
            self.loss.on_probe_sent(self.tx.nxt(), true);
            return Some(segment);
        }
        if self.outbox.take(Due::ProbeNew) && self.tx.unsent() > 0 {
            let segment = self.send_probe(cx, cc, self.next_len());
            self.tx.validation.take_round();
            self.loss.on_probe_sent(self.tx.nxt(), false);
            return Some(segment);
        }
        if self.outbox.take(Due::KeepAlive) {
            return Some(self.window_probe(cx));
        }
        if self.outbox.take(Due::WindowProbe) {
            let room = self.tx.window_left();
            let may_send = self.inflight() < cc.cwnd_segs(self.id.path);
            if self.tx.unsent() > 0 && room > 0 && may_send {
                return Some(self.send_probe(cx, cc, self.next_len().min(room)));
            }
            return Some(self.window_probe(cx));
        }
        None
    }

    fn poll_retransmission(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
    ) -> Option<Box<Packet>> {
        let id = self.loss.board().next_to_retransmit()?;
        if self.is_paced_out(cx.now) || self.inflight() >= cc.cwnd_segs(self.id.path) {
            return None;
        }
        if self.switches.small_queue.bounds_retransmissions
            && self.is_small_queue_full(cx.departed_by(), self.retransmission_limit())
        {
            cold_path();
            self.throttle(cx);
            return None;
        }
        let is_head = self.loss.board().head().is_some_and(|(head, _)| head == id);
        let segment = self.retransmit(cx, id, true);
        if is_head && self.timers.retransmit() != Some(Retransmit::Reordering) {
            self.timers.set_retransmit(Retransmit::Rto, cx.now, self.rtt.rto());
        }
        Some(segment)
    }

    #[inline(always)]
    fn poll_new(&mut self, cx: &mut Context<'_>, cc: &mut Controller) -> Option<Box<Packet>> {
        if !self.tx.has_unsent() {
            self.tx.bursts.on_nothing_unsent();
            // A receiver has neither after half of the segments that it gets.
            if self.tx.validation.has_round() || self.tx.writer.is_check_due() {
                self.finish_round(cx, cc, false);
            }
            return None;
        }
        self.next_new(cx, cc)
    }

    /// What new data wait for.
    fn on_blocked(&mut self, cx: &mut Context<'_>, cc: &mut Controller, why: Blocked) {
        let FlowId { socket, path } = self.id;
        cx.record(EventMask::BLOCKED, || Event::Blocked { socket, path, why });
        self.tx.on_blocked(why);
        self.finish_round(cx, cc, why == Blocked::CongestionWindow);
        self.check_persist(cx);
    }

    /// The next segment of new data, of which there are some.
    #[inline(never)]
    fn next_new(&mut self, cx: &mut Context<'_>, cc: &mut Controller) -> Option<Box<Packet>> {
        // With a processing cost a loss may be detected in the middle of a burst: the burst then
        // ends, because its size was computed for the earlier window.
        let mut cwnd = cc.cwnd_segs(self.id.path);
        let begins = self.tx.bursts.is_over() || self.inflight() >= cwnd;
        if begins {
            if self.restart_after_idle(cx, cc) {
                cwnd = cc.cwnd_segs(self.id.path);
            }
            if let Some(why) = self.why_no_burst(cx.now, cwnd) {
                self.on_blocked(cx, cc, why);
                return None;
            }
        }
        let ready = self.ready();
        if begins {
            match self.size_burst(cx, cwnd, ready) {
                Ok(segs) => self.tx.begin_burst(segs, self.switches.autosized_bursts),
                Err(why) => {
                    cold_path();
                    self.on_blocked(cx, cc, why);
                    return None;
                }
            }
        }
        self.tx.bursts.on_segment();
        let mut len = ready.len;
        if !begins && len > self.tx.window_left() {
            cold_path();
            // What is left of the peer's window, which may have shrunk, too.
            len = self.tx.window_left().max(1);
        }
        Some(self.send_range(cx, cc, len as u32))
    }

    /// Why no burst begins, whatever there is to send.
    #[inline]
    fn why_no_burst(&mut self, now: Instant, cwnd: u32) -> Option<Blocked> {
        if self.is_paced_out(now) {
            return Some(Blocked::Pacing);
        }
        (self.inflight() >= cwnd).then_some(Blocked::CongestionWindow)
    }

    /// The number of segments that may be sent at once; at least one. `cwnd`: the window in
    /// segments, of which one or more are free.
    fn size_burst(
        &mut self,
        cx: &mut Context<'_>,
        cwnd: u32,
        Ready { len, head, mss }: Ready,
    ) -> Result<u32, Blocked> {
        let room = cwnd - self.inflight();
        if len > self.tx.window_left() {
            cold_path();
            return Err(Blocked::ReceiveWindow);
        }
        let waits_for_more = self.options.nagle && !self.tx.is_fin_queued() && !self.loss.is_idle();
        if waits_for_more && len < mss {
            cold_path();
            return Err(Blocked::Nagle);
        }
        // That there are more than have room is all that is to be known of further ones.
        let most = self.most_per_burst(room.saturating_add(1));
        if head > mss && self.is_deferred(cx, cwnd, (room, most), head) {
            return Err(Blocked::CongestionWindow);
        }
        if self.is_small_queue_full(cx.departed_by(), self.small_queue_limit()) {
            cold_path();
            self.throttle(cx);
            return Err(Blocked::SmallQueue);
        }
        let wanted = room.min((cwnd / 2).max(1)).min(most);
        // Mostly window and data have them all: two divisions less.
        let needed = self.tx.window_left().min(head);
        if needed >= u64::from(wanted) * mss {
            return Ok(wanted);
        }
        // A short last segment is sent with the burst, the window and Nagle's algorithm permitting
        // (Linux `tcp_mss_split_point`).
        let is_cut = waits_for_more || needed < head && !self.switches.fills_window;
        let available = if is_cut { needed / mss } else { needed.div_ceil(mss) }.max(1);
        let segs = u64::from(wanted).min(available);
        debug_assert!(segs > 0 && segs <= u64::from(room), "a burst fits into the window");
        Ok(segs as u32)
    }

    /// Whether pacing delays the next segment; then its timer is set.
    fn is_paced_out(&mut self, now: Instant) -> bool {
        if !self.options.pacing {
            return false;
        }
        cold_path();
        let until = self.tx.pacer.blocked_until(now);
        if let Some(at) = until {
            self.timers.set_pacing(at);
        }
        until.is_some()
    }

    /// Payload of a full segment sent now: SACK blocks take room from it (Linux `tcp_current_mss`).
    #[inline]
    fn current_mss(&self) -> u32 {
        let mss = self.tx.mss();
        if !self.rx.has_sacks() {
            return mss;
        }
        cold_path();
        mss - self.room_for_sacks().min(mss / 2)
    }

    /// Option bytes of the SACK blocks that are due. Next to a DSS those of a segment with data
    /// find no place.
    #[cold]
    fn room_for_sacks(&self) -> u32 {
        let blocks = self.rx.sack_blocks();
        if !self.handshake.sack() || self.option_room() > 0 {
            return 0;
        }
        let taken = if self.handshake.timestamps() { TIMESTAMPS } else { 0 };
        let most = (OPTION_SPACE - taken - SACK_BASE) / SACK_BLOCK;
        sack_bytes(blocks.min(most))
    }

    /// What may be sent next.
    // In line: a call saves the registers of its caller.
    #[inline(always)]
    fn ready(&self) -> Ready {
        let unsent = self.tx.unsent();
        let mss = u64::from(self.current_mss());
        let Some(mp) = &self.mp else { return Ready { len: unsent.min(mss), head: unsent, mss } };
        let mapped = mp.mapped_from(self.tx.nxt()).map_or(unsent, |left| left.min(unsent));
        let head = if mp.is_buffered() { mapped } else { unsent };
        Ready { len: mapped.min(mss), head, mss }
    }

    /// A millisecond's worth at the pacing rate (Linux TSO autosizing), at most `wanted`.
    fn most_per_burst(&self, wanted: u32) -> u32 {
        if !self.switches.autosized_bursts {
            return 1;
        }
        match self.tx.pacing_rate {
            Some(rate) => burst_segs(rate, self.tx.mss(), self.rtt.min(), wanted),
            None => SEGS_PER_BUFFER.min(wanted),
        }
    }

    /// Whether the burst waits for an acknowledgement that will enlarge it and is due soon (Linux
    /// `tcp_tso_should_defer`).
    fn is_deferred(
        &self,
        cx: &Context<'_>,
        cwnd: u32,
        (room, most): (u32, u32),
        head: u64,
    ) -> bool {
        if !self.switches.autosized_bursts || self.loss.ca_state() >= CaState::Recovery {
            return false;
        }
        let last = self.tx.validation.last_data_sent();
        if last.is_none_or(|last| cx.now - last > DEFER_WITHIN) {
            return false;
        }
        let mss = u64::from(self.tx.mss());
        let send_window = self.tx.window_left();
        let cong_window = u64::from(room) * mss;
        let limit = send_window.min(cong_window);
        let unsent = self.tx.unsent();
        let head = head.min(u64::from(SEGS_PER_BUFFER) * mss);
        if limit >= u64::from(most) * mss || (unsent > head && limit >= head) {
            return false;
        }
        let chunk = self.tx.window.size().min(u64::from(cwnd) * mss) / 3;
        if limit >= chunk {
            return false;
        }
        let Some((_, oldest)) = self.loss.board().head() else { return false };
        let due = oldest.sent_at() + self.rtt.srtt();
        if due - cx.now > DEFER_WITHIN.min(self.rtt.srtt() / 2) {
            return false;
        }
        limit <= head && !(self.tx.is_fin_queued() && limit >= unsent)
    }

    /// Whether the interface's queue has more than `limit` bytes of this connection. One packet is
    /// always allowed.
    fn is_small_queue_full(&mut self, departed_by: Instant, limit: u64) -> bool {
        self.tx.nic.exceeds(limit, departed_by) && self.loss.board().packets_out() > 1
    }

    /// Data wait for the queue of the interface.
    fn throttle(&mut self, cx: &mut Context<'_>) {
        self.tx.nic.throttle();
        cx.recalls |= self.tx.nic.waits_for_known();
    }

    /// Whether departures after `departed_by` that it knows of are to be reported; then it forgets
    /// them.
    pub fn recall(&mut self, departed_by: Instant) -> bool {
        let waits = self.tx.nic.waits_for_known();
        if waits {
            self.tx.nic.forget_departures(departed_by);
        }
        waits
    }

    /// A millisecond's worth at the pacing rate, but at least two segments (Linux
    /// `tcp_small_queue_check`).
    fn small_queue_limit(&self) -> u64 {
        let two = 2 * (u64::from(self.tx.mss()) + HEADERS);
        let rate = self.tx.pacing_rate.unwrap_or(u64::MAX) >> 10;
        two.max(rate).min(u64::from(self.switches.small_queue.cap_bytes))
    }

    /// The same for retransmissions, which may be twice as many.
    fn retransmission_limit(&self) -> u64 {
        2 * self.small_queue_limit()
    }

    /// `Packet::wire_len` of the last packet of `poll_segment`.
    #[inline]
    pub const fn last_len(&self) -> u32 {
        self.tx.nic.last_len
    }

    /// `bytes` left the interface. Returns whether a throttled segment may be sent now.
    #[inline]
    pub fn on_departed(&mut self, bytes: u32) -> bool {
        self.tx.nic.on_departed(bytes);
        self.tx.nic.is_throttled() && self.try_release()
    }

    /// The packet that was made last leaves the interface at `at`. Whether data wait for that.
    #[inline]
    pub fn on_departure_known(&mut self, departed_by: Instant, at: Instant) -> bool {
        self.tx.nic.on_departure_known(departed_by, at);
        self.tx.nic.is_throttled()
    }

    /// Whether the queue of the interface is short enough now for a throttled segment.
    fn try_release(&mut self) -> bool {
        let limit = if self.loss.board().next_to_retransmit().is_some() {
            self.retransmission_limit()
        } else {
            self.small_queue_limit()
        };
        let released = self.tx.nic.release(limit);
        if released {
            self.resume_retransmission();
        }
        released
    }

    /// What kept the interface's queue or pacing from sending may go now (Linux `tcp_tsq_write`).
    pub(super) fn resume_retransmission(&mut self) {
        if self.loss.board().next_to_retransmit().is_some() {
            self.loss.set_rexmit(Rexmit::Lost);
        }
    }

    /// Reports silence to the controller: at the latest when a burst begins; a connection of
    /// several paths needs to know earlier. Returns whether the path was idle, so that its window
    /// may have changed.
    pub fn restart_after_idle(&mut self, cx: &Context<'_>, cc: &mut Controller) -> bool {
        let is_idle = self.loss.is_idle();
        if is_idle {
            cold_path();
            let nxt = self.tx.nxt();
            let buffers = self.mp.as_ref().map_or(1, |mp| mp.buffers_from(nxt));
            let silence = (cx.now, self.rtt.rto());
            self.tx.validation.on_send_after_idle(silence, buffers, cc, self.id.path);
        }
        is_idle
    }

    /// Payload bytes of the next new segment, which is within one mapping; 0 if only a FIN is left.
    pub(super) fn next_len(&self) -> u64 {
        self.ready().len
    }

    /// After a round of sending: judges the use of the congestion window, sets the probe timer, and
    /// considers the writer.
    fn finish_round(&mut self, cx: &mut Context<'_>, cc: &mut Controller, limited: bool) {
        let sent = self.tx.validation.take_round();
        let limited = limited || (sent > 0 && self.inflight() >= cc.cwnd_segs(self.id.path));
        if sent > 0 || limited {
            let open = self.loss.ca_state() == CaState::Open;
            let usage = Usage {
                now: cx.now,
                una: self.tx.una(),
                nxt: self.tx.nxt(),
                packets_out: self.loss.board().packets_out(),
                limited,
                application_limited: open && !self.tx.writer.is_waiting(),
                rtt: &self.rtt,
            };
            self.tx.validation.validate(&usage, cc, self.id.path);
        }
        if sent > 0 {
            let (loss, mut rcx) = self.recovery(cx, cc);
            loss.schedule_probe_after_sending(&mut rcx);
        }
        self.check_writer(cx.now, cc);
    }

    /// After an acknowledgement and what it allowed to be sent: grows the send buffer unless the
    /// window is full all the same, and wakes a waiting writer (Linux `tcp_check_space`).
    fn check_writer(&mut self, now: Instant, cc: &Controller) {
        // What waits for the queue of the interface leaves within microseconds.
        if self.tx.writer.is_in_a_write() && !self.tx.nic.is_throttled() {
            cold_path();
            if self.tx.writer.take_sent() {
                self.events.push(ConnectionEvent::Writable);
            }
        }
        if !self.tx.writer.take_check() {
            return;
        }
        let cwnd = cc.cwnd_segs(self.id.path);
        if self.tx.writer.is_tuned() && self.inflight() < cwnd {
            cold_path();
            self.tx.writer.expand(cwnd, self.loss.dup_thresh(), self.tx.mss());
            self.tx.validation.restart_clock(now);
        }
        // The writer of a multi-path connection is woken by the connection.
        if self.mp.is_none() && self.tx.wakes_writer(self.options.notsent_lowat) {
            self.tx.writer.set_waiting(false);
            self.events.push(ConnectionEvent::Writable);
        }
    }

    /// The next `len` bytes that were never sent, for a probe.
    #[cold]
    fn send_probe(&mut self, cx: &mut Context<'_>, cc: &mut Controller, len: u64) -> Box<Packet> {
        self.send_range(cx, cc, len as u32)
    }

    #[inline(always)]
    fn send_range(&mut self, cx: &mut Context<'_>, cc: &mut Controller, len: u32) -> Box<Packet> {
        let offset = self.tx.nxt();
        let fin = self.tx.is_fin_unsent() && offset + u64::from(len) == self.tx.write_end();
        let prior_out = self.loss.board().packets_out();
        self.loss.on_sent(cx.now, offset, len + u32::from(fin), fin);
        self.tx.on_sent(len, fin);
        self.tx.validation.on_new_segment();
        if prior_out == 0 {
            cold_path();
            let (loss, mut rcx) = self.recovery(cx, cc);
            loss.rearm_rto(&mut rcx);
        } else if self.timers.retransmit() == Some(Retransmit::LossProbe) {
            let left = self.loss.rto_left(&self.rtt, cx.now);
            self.timers.set_retransmit(Retransmit::Rto, cx.now, left.max(TICK));
        }
        if fin {
            cold_path();
            self.fsm.send_fin(cx);
        }
        self.pace(cx.now, len);
        self.record_sent(cx, offset, len, false);
        self.data_segment(cx, offset, len, fin)
    }

    /// A segment with `len` bytes of payload delays the next one, if they are paced.
    #[inline(always)]
    fn pace(&mut self, now: Instant, len: u32) {
        if self.options.pacing
            && let Some(rate) = self.tx.pacing_rate
        {
            cold_path();
            self.tx.pacer.on_sent(now, u64::from(len) + HEADERS, rate);
        }
    }

    /// Sends segment `id` again, byte for byte. `repairs`: it repairs a loss, as opposed to a loss
    /// probe.
    #[inline(never)]
    fn retransmit(&mut self, cx: &mut Context<'_>, id: u64, repairs: bool) -> Box<Packet> {
        let segment = self.loss.board().segment(id);
        let (offset, len, fin) = segment.map_or((self.tx.una(), 0, false), |segment| {
            (segment.offset(), segment.len(), segment.fin())
        });
        let payload = len - u32::from(fin);
        self.loss.on_retransmitted(cx.now, id, repairs);
        self.pace(cx.now, payload);
        self.stats.bytes_retrans += u64::from(payload);
        self.stats.segs_retrans += 1;
        self.record_sent(cx, offset, payload, true);
        self.data_segment(cx, offset, payload, fin)
    }

    fn record_sent(&self, cx: &mut Context<'_>, offset: u64, len: u32, retransmission: bool) {
        let FlowId { socket, path } = self.id;
        cx.record(EventMask::SEGMENT, || Event::SegmentSent {
            socket,
            path,
            offset,
            len,
            retransmission,
            inflight_segs: self.inflight(),
        });
    }

    fn syn_segment(&mut self, now: Instant, syn_ack: bool) -> Box<Packet> {
        let echo = if syn_ack { self.rx.ts_recent() } else { 0 };
        let retries = self.handshake.retries();
        let window = self.rx.announce_initial_window();
        let mptcp = self.mp.as_ref().map(|mp| mp.syn_options(retries));
        self.packet(TcpSegment {
            src_port: self.envelope.src_port,
            dst_port: self.envelope.dst_port,
            seq: self.handshake.iss(),
            ack: if syn_ack { self.handshake.peer_first_seq() } else { SeqNumber(0) },
            flags: if syn_ack { Flags::SYN | Flags::ACK } else { Flags::SYN },
            window,
            options: TcpOptions {
                mss: Some(self.advertised_mss()),
                window_scale: self.handshake.window_scale_option(syn_ack),
                sack_permitted: self.handshake.sack(),
                timestamps: self.handshake.timestamps_option(now, echo),
                mptcp: mptcp.unwrap_or_default(),
                ..TcpOptions::default()
            },
            ..TcpSegment::default()
        })
    }

    /// Payload `offset..offset + len`, with a FIN if `fin`, and the acknowledgement.
    #[inline(always)]
    fn data_segment(&mut self, cx: &Context<'_>, offset: u64, len: u32, fin: bool) -> Box<Packet> {
        let mut flags = Flags::ACK;
        if fin {
            flags = flags | Flags::FIN;
        }
        if self.tx.is_pushed(offset, len) {
            flags = flags | Flags::PSH;
        }
        self.stats.bytes_sent += u64::from(len);
        if len > 0 {
            self.tx.validation.on_data_sent(cx.now);
            self.rx.ack.on_data_sent(cx.now);
        }
        let payload = self.tx.payload(offset, len);
        self.segment(cx, offset, flags, payload)
    }

    /// An acknowledgement without data.
    #[inline(never)]
    fn pure_ack(&mut self, cx: &Context<'_>) -> Box<Packet> {
        self.segment(cx, self.tx.nxt(), Flags::ACK, Payload::EMPTY)
    }

    /// The acknowledgement as it was before the last segment; what that segment is owed stays owed.
    #[cold]
    fn ack_before(&mut self, cx: &Context<'_>) -> Box<Packet> {
        let (owed, timers) = (self.rx.ack, self.timers);
        let place = self.outbox.sack_place;
        self.rx.move_newest_sack(place, false);
        let packet = self.pure_ack(cx);
        self.rx.move_newest_sack(place, true);
        (self.rx.ack, self.timers) = (owed, timers);
        packet
    }

    /// A probe of a closed window: an old sequence number makes the peer answer
    /// (RFC 9293 s3.8.6.1).
    fn window_probe(&mut self, cx: &Context<'_>) -> Box<Packet> {
        let before = self.tx.una().wrapping_sub(1);
        self.segment(cx, before, Flags::ACK, Payload::EMPTY)
    }

    /// A reset (RFC 9293 s3.5.2).
    fn reset_segment(&mut self, cx: &Context<'_>, seq: SeqNumber) -> Box<Packet> {
        let with_ack = self.fsm.is_synchronised() || self.fsm.is_closed();
        self.stats.segs_out += 1;
        let ack = self.handshake.peer_seq_of(self.rx.nxt());
        let segment = TcpSegment {
            src_port: self.envelope.src_port,
            dst_port: self.envelope.dst_port,
            seq,
            ack: if with_ack { ack } else { SeqNumber(0) },
            flags: if with_ack { Flags::RST | Flags::ACK } else { Flags::RST },
            options: TcpOptions {
                timestamps: self.handshake.timestamps_option(cx.now, self.rx.ts_recent()),
                mptcp: self.mp.as_ref().map(|mp| mp.reset_options()).unwrap_or_default(),
                ..TcpOptions::default()
            },
            ..TcpSegment::default()
        };
        self.packet(segment)
    }

    /// The datagram around a segment of the handshake or a reset.
    fn packet(&mut self, segment: TcpSegment) -> Box<Packet> {
        self.tx.nic.last_len = self.envelope.ip + segment.wire_len();
        let flow = self.id.socket.0 + 1;
        let ends = self.envelope.ends.clone();
        let packet = Packet { flow, ..Packet::between(ends, Body::Tcp(segment)) };
        debug_assert_eq!(self.tx.nic.last_len, packet.wire_len());
        Box::new(packet)
    }

    fn segment(
        &mut self,
        cx: &Context<'_>,
        offset: u64,
        flags: Flags,
        payload: Payload,
    ) -> Box<Packet> {
        // Everything that is a call comes before the segment is made: then its fields go from
        // registers to where it will be kept.
        let mut packet = Packet::spare();
        let ends = self.envelope.ends.clone();
        let len = payload.len();
        let seq = self.handshake.seq_of(offset);
        let ack = self.handshake.peer_seq_of(self.rx.nxt());
        let window = self.rx.announce_window(self.handshake.our_shift(), cx.has_short_ways());
        let timestamps = self.handshake.timestamps_option(cx.now, self.rx.ts_recent());
        self.rx.ack.on_ack_sent();
        self.timers.stop_acks();
        self.stats.segs_out += 1;
        let padded = if timestamps.is_some() { TIMESTAMPS } else { 0 };
        self.tx.nic.last_len = self.envelope.ip + TCP_HEADER + padded + len;
        let segment = TcpSegment {
            src_port: self.envelope.src_port,
            dst_port: self.envelope.dst_port,
            seq,
            ack,
            flags,
            window,
            options: TcpOptions { timestamps, ..TcpOptions::default() },
            payload,
        };
        let flow = self.id.socket.0 + 1;
        packet.fill(ends, flow, segment);
        debug_assert_eq!(self.tx.nic.last_len, packet.wire_len());
        // Added in place: options that may be there cost each segment a copy and their length.
        if self.mp.is_some() || self.rx.has_sacks() {
            self.add_options(offset, &mut packet);
        }
        self.tx.nic.on_packet(self.tx.nic.last_len);
        packet
    }

    /// Adds what a segment has besides timestamps: options of the connection, and SACK blocks.
    // Inlined: a call would save the registers that its caller saved.
    #[inline(always)]
    fn add_options(&mut self, offset: u64, packet: &mut Packet) {
        let Body::Tcp(segment) = &mut packet.body else { return };
        let (options, len) = (&mut segment.options, segment.payload.len());
        if let Some(mp) = self.mp.as_mut() {
            let plain = len <= self.tx.mss() && !self.rx.has_sacks();
            if plain && let Some(dss) = mp.only_dss(offset, len) {
                // With timestamps it fits, and the length need not be counted again.
                options.mptcp.dss = Some(dss);
                self.tx.nic.last_len += dss.wire_len().next_multiple_of(4);
                debug_assert_eq!(self.tx.nic.last_len, packet.wire_len());
                return;
            }
        }
        self.add_other_options(offset, packet);
    }

    /// The same where there may be more than a DSS.
    // A call of its own, so that the usual one saves few registers.
    #[inline(never)]
    fn add_other_options(&mut self, offset: u64, packet: &mut Packet) {
        let Body::Tcp(segment) = &mut packet.body else { return };
        let (options, len) = (&mut segment.options, segment.payload.len());
        if let Some(mp) = self.mp.as_mut() {
            options.mptcp = mp.options(offset, len);
            if len > self.tx.mss() {
                cold_path();
                // The segment was cut while acknowledgements were shorter.
                options.mptcp = mp.shorter_options(offset);
            }
        }
        if self.handshake.sack() && self.rx.has_sacks() {
            cold_path();
            let most = self.sack_space(options.padded_len(), len);
            options.sack = self.rx.take_sack_blocks(self.handshake.peer_first_seq(), most);
        }
        self.tx.nic.last_len = self.envelope.ip + segment.wire_len();
        debug_assert_eq!(self.tx.nic.last_len, packet.wire_len());
    }

    /// The number of SACK blocks that fit next to `taken` bytes of options and `len` bytes of
    /// payload.
    fn sack_space(&self, taken: u32, len: u32) -> usize {
        let header = if self.tuple.local.is_ipv4() { 40 } else { 60 };
        let space = self.mtu.saturating_sub(header + len).min(OPTION_SPACE);
        (space.saturating_sub(taken + SACK_BASE) / SACK_BLOCK) as usize
    }
}
