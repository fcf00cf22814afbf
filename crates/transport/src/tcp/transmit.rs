//! What a subflow sends next: retransmissions, then new data, then probes and acknowledgements.
//!
//! The congestion window, the peer's window, Nagle's rule, TCP Small Queues, pacing and burst
//! sizing decide here whether something may go; `segment` writes it. Order and conditions as
//! Linux `tcp_ack` and `tcp_write_xmit`; RFC 9293 s3.8.6.2, RFC 1122 s4.2.3.4 (Nagle).

use super::loss::Rexmit;
use super::subflow::Subflow;
use super::timers::Retransmit;
use crate::congestion::{CongestionControl, Controller};
use crate::recovery::burst_segs;
use base::{Blocked, CaState, Context, Duration, Event, EventMask};
use wire::Packet;

/// Segments that one buffer of the send queue holds (Linux: 64 KiB).
const BUFFER_SEGS: u64 = 44;
/// A burst is deferred only if the last one left this recently, and the acknowledgement of the
/// oldest segment is due this soon (Linux).
const DEFER_WITHIN: Duration = Duration::from_millis(1);
/// IP and TCP header with timestamps, in bytes.
const HEADERS: u64 = 52;

/// The answer to "what new data may go".
enum NewData {
    Segment(Box<Packet>),
    Blocked(Blocked),
}

impl Subflow {
    /// The next segment to send, until `None`.
    pub fn poll_segment(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
    ) -> Option<Box<Packet>> {
        if let Some(seq) = self.outbox.reset_with.take() {
            return Some(self.reset_segment(cx, seq));
        }
        if let Some(segment) = self.poll_handshake(cx) {
            return Some(segment);
        }
        if !self.fsm.is_synchronised() {
            return None;
        }
        let data = self.poll_data(cx, cc);
        if data.is_some() {
            return data;
        }
        if self.rx.ack.is_urgent() || self.mp.as_ref().is_some_and(|mp| mp.owes_option()) {
            return Some(self.pure_ack(cx));
        }
        None
    }

    fn poll_data(&mut self, cx: &mut Context<'_>, cc: &mut Controller) -> Option<Box<Packet>> {
        if let Some(segment) = self.poll_probe(cx, cc) {
            return Some(segment);
        }
        if self.loss.rexmit == Rexmit::Lost {
            if let Some(segment) = self.poll_retransmission(cx, cc) {
                return Some(segment);
            }
            self.loss.rexmit = Rexmit::None;
        }
        if let Some(segment) = self.poll_new(cx, cc) {
            return Some(segment);
        }
        if self.loss.rexmit == Rexmit::New {
            // F-RTO step 2b: without new data the time-out is taken as real.
            self.loss.rexmit = Rexmit::None;
            if self.tx.nxt <= self.loss.high_seq {
                self.loss.frto = false;
                return self.poll_retransmission(cx, cc);
            }
        }
        None
    }

    fn poll_probe(&mut self, cx: &mut Context<'_>, cc: &mut Controller) -> Option<Box<Packet>> {
        if std::mem::take(&mut self.outbox.probe_copy)
            && let Some((id, _)) = self.tx.board.last()
        {
            let segment = self.retransmit(cx, id, false);
            self.loss.tlp.on_probe(self.tx.nxt, true);
            return Some(segment);
        }
        if std::mem::take(&mut self.outbox.probe_new) && self.tx.unsent() > 0 {
            let segment = self.send_new(cx, cc);
            self.tx.round_sent = 0;
            self.loss.tlp.on_probe(self.tx.nxt, false);
            return Some(segment);
        }
        if std::mem::take(&mut self.outbox.keep_alive) {
            return Some(self.window_probe(cx));
        }
        if std::mem::take(&mut self.outbox.window_probe) {
            let room = self.tx.window_left();
            let may_send = self.inflight() < cc.cwnd_segs(self.path);
            if self.tx.unsent() > 0 && room > 0 && may_send {
                let len = self.next_len().min(room) as u32;
                return Some(self.send_range(cx, cc, len));
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
        let id = self.tx.board.next_to_retransmit()?;
        if self.inflight() >= cc.cwnd_segs(self.path) || self.is_small_queue_full() {
            return None;
        }
        let is_head = self.tx.board.head().is_some_and(|(head, _)| head == id);
        let segment = self.retransmit(cx, id, true);
        self.loss.on_retransmitted(cx.now);
        if let Some(prr) = self.loss.prr.as_mut() {
            prr.on_sent(1);
        }
        if is_head && self.timers.retransmit() != Some(Retransmit::Reordering) {
            self.timers.set_retransmit(Retransmit::Rto, cx.now, self.rtt.rto());
        }
        Some(segment)
    }

    fn poll_new(&mut self, cx: &mut Context<'_>, cc: &mut Controller) -> Option<Box<Packet>> {
        if !self.tx.has_unsent() {
            self.tx.burst_segs = 0;
            self.finish_round(cx, cc, false);
            return None;
        }
        match self.next_new(cx, cc) {
            NewData::Segment(segment) => Some(segment),
            NewData::Blocked(why) => {
                let (socket, path) = (self.socket, self.path);
                cx.record(EventMask::BLOCKED, || Event::Blocked { socket, path, why });
                self.tx.stopped = why;
                self.tx.burst_left = 0;
                self.tx.burst_segs = 0;
                self.finish_round(cx, cc, why == Blocked::CongestionWindow);
                self.check_persist(cx);
                None
            }
        }
    }

    fn next_new(&mut self, cx: &mut Context<'_>, cc: &mut Controller) -> NewData {
        // A host that takes its time may learn of a loss in the middle of a burst: what is left of
        // the burst does not outlive the window it was cut for.
        if self.tx.burst_left == 0 || self.inflight() >= cc.cwnd_segs(self.path) {
            self.restart_after_idle(cx, cc);
            match self.size_burst(cx, cc) {
                Ok(segs) => self.tx.begin_burst(segs, self.switches.autosized_bursts),
                Err(why) => return NewData::Blocked(why),
            }
        }
        self.tx.burst_left -= 1;
        NewData::Segment(self.send_new(cx, cc))
    }

    /// How many segments may go at once; at least one.
    fn size_burst(&mut self, cx: &Context<'_>, cc: &Controller) -> Result<u32, Blocked> {
        if self.options.pacing
            && let Some(at) = self.tx.pacer.blocked_until(cx.now)
        {
            self.timers.set_pacing(at);
            return Err(Blocked::Pacing);
        }
        let cwnd = cc.cwnd_segs(self.path);
        let room = cwnd.saturating_sub(self.inflight());
        if room == 0 {
            return Err(Blocked::CongestionWindow);
        }
        let len = self.next_len();
        if len > self.tx.window_left() {
            return Err(Blocked::ReceiveWindow);
        }
        let mss = u64::from(self.tx.mss);
        if self.options.nagle && len < mss && !self.tx.fin_queued && !self.tx.board.is_empty() {
            return Err(Blocked::Nagle);
        }
        let most = self.most_per_burst();
        let head = self.head();
        if head > mss && self.is_deferred(cx, cc, room, most, head) {
            return Err(Blocked::CongestionWindow);
        }
        if self.is_small_queue_full() {
            self.tx.small_queue_throttled = true;
            return Err(Blocked::SmallQueue);
        }
        let in_window = (self.tx.window_left() / mss).max(1);
        // A short last segment goes with the burst, the window and Nagle permitting.
        let held = self.options.nagle && !self.tx.fin_queued && !self.tx.board.is_empty();
        let available = if held { head / mss } else { head.div_ceil(mss) }.max(1);
        let segs = u64::from(room.min((cwnd / 2).max(1)).min(most)).min(in_window).min(available);
        Ok(segs as u32)
    }

    /// Payload that may go out in one burst: what is unsent, or of it what is in the next buffer.
    fn head(&self) -> u64 {
        let buffer = self.mp.as_ref().and_then(|mp| mp.buffered_from(self.tx.nxt));
        self.tx.unsent().min(buffer.unwrap_or(u64::MAX))
    }

    /// Linux TSO autosizing: a millisecond's worth at the pacing rate.
    fn most_per_burst(&self) -> u32 {
        if !self.switches.autosized_bursts {
            return 1;
        }
        match self.tx.pacing_rate {
            Some(rate) => burst_segs(rate, self.tx.mss, self.min_rtt.get()),
            None => BUFFER_SEGS as u32,
        }
    }

    /// Linux `tcp_tso_should_defer`: wait for a larger burst while an acknowledgement that
    /// enlarges it is due soon.
    fn is_deferred(
        &self,
        cx: &Context<'_>,
        cc: &Controller,
        room: u32,
        most: u32,
        head: u64,
    ) -> bool {
        if !self.switches.autosized_bursts || self.loss.ca_state >= CaState::Recovery {
            return false;
        }
        if self.tx.last_data_sent.is_none_or(|last| cx.now - last > DEFER_WITHIN) {
            return false;
        }
        let mss = u64::from(self.tx.mss);
        let send_window = self.tx.window_left();
        let cong_window = u64::from(room) * mss;
        let limit = send_window.min(cong_window);
        let unsent = self.tx.unsent();
        let head = head.min(BUFFER_SEGS * mss);
        if limit >= u64::from(most) * mss || (unsent > head && limit >= head) {
            return false;
        }
        let chunk = self.tx.window.min(u64::from(cc.cwnd_segs(self.path)) * mss) / 3;
        if limit >= chunk {
            return false;
        }
        let Some((_, oldest)) = self.tx.board.head() else { return false };
        let due = oldest.sent_at + self.rtt.srtt();
        if due - cx.now > DEFER_WITHIN.min(self.rtt.srtt() / 2) {
            return false;
        }
        limit <= head && !(self.tx.fin_queued && limit >= unsent)
    }

    /// Enough of this connection waits in the NIC (schedulers spec s0.4).
    fn is_small_queue_full(&self) -> bool {
        self.tx.below > self.small_queue_limit() && self.tx.board.packets_out() > 1
    }

    fn small_queue_limit(&self) -> u64 {
        let two = 2 * (u64::from(self.tx.mss) + HEADERS);
        let rate = self.tx.pacing_rate.unwrap_or(u64::MAX) >> 10;
        two.max(rate).min(self.switches.small_queue.cap_bytes)
    }

    /// `bytes` left the NIC. Whether that lets a held segment go.
    pub fn on_departed(&mut self, bytes: u32) -> bool {
        self.tx.below = self.tx.below.saturating_sub(u64::from(bytes));
        let released = self.tx.small_queue_throttled && self.tx.below <= self.small_queue_limit();
        if released {
            self.tx.small_queue_throttled = false;
            if self.tx.board.next_to_retransmit().is_some() {
                self.loss.rexmit = Rexmit::Lost;
            }
        }
        released
    }

    /// RFC 2861, RFC 5681 s4.1: an old window says nothing about the network now.
    /// Once, at the latest when a burst begins; a connection of several paths needs to know sooner.
    pub fn restart_after_idle(&mut self, cx: &Context<'_>, cc: &mut Controller) {
        if !self.tx.board.is_empty() || self.tx.idle_heeded == self.tx.last_data_sent {
            return;
        }
        let Some(last) = self.tx.last_data_sent else { return };
        self.tx.idle_heeded = Some(last);
        let idle = cx.now - last;
        let rto = self.rtt.rto();
        if idle > rto {
            cc.on_idle_restart(self.path, idle, rto, cx.now);
            self.tx.cwnd_stamp = cx.now;
            self.tx.cwnd_used = 0;
        }
        cc.on_transmit_start(self.path, idle, cx.now);
    }

    /// Payload bytes of the next new segment; 0 if only a FIN is left.
    pub(super) fn next_len(&self) -> u64 {
        let len = self.tx.unsent().min(u64::from(self.tx.mss));
        // A segment lies within one mapping.
        self.mp
            .as_ref()
            .and_then(|mp| mp.mapped_from(self.tx.nxt))
            .map_or(len, |left| len.min(left))
    }

    /// After a round of sending: judge how full the window was, and set the probe timer.
    fn finish_round(&mut self, cx: &mut Context<'_>, cc: &mut Controller, limited: bool) {
        let sent = std::mem::take(&mut self.tx.round_sent);
        let limited = limited || (sent > 0 && self.inflight() >= cc.cwnd_segs(self.path));
        if sent > 0 || limited {
            self.validate_cwnd(cx, cc, limited);
        }
        if sent > 0 {
            self.schedule_loss_probe(cx, cc, false);
        }
        self.check_writer(cc);
    }

    /// Linux `tcp_cwnd_validate`: the strongest sign within a round of how much of the window is
    /// in use.
    fn validate_cwnd(&mut self, cx: &Context<'_>, cc: &mut Controller, limited: bool) {
        let out = self.tx.board.packets_out();
        let tx = &mut self.tx;
        if tx.una >= tx.usage_round_end || limited || (!tx.cwnd_limited && out > tx.max_packets_out)
        {
            tx.cwnd_limited = limited;
            tx.max_packets_out = out;
            tx.usage_round_end = tx.nxt;
        }
        if self.is_cwnd_limited(cc) {
            self.tx.cwnd_used = 0;
            self.tx.cwnd_stamp = cx.now;
            return;
        }
        self.tx.cwnd_used = self.tx.cwnd_used.max(out);
        if cx.now - self.tx.cwnd_stamp >= self.rtt.rto() {
            if self.loss.ca_state == CaState::Open && !self.tx.writer_waits {
                cc.on_application_limited(self.path, self.tx.cwnd_used);
                self.tx.cwnd_used = 0;
            }
            self.tx.cwnd_stamp = cx.now;
        }
    }

    /// Linux `tcp_is_cwnd_limited`: growth is allowed (congestion spec s0 rule 1).
    pub(super) fn is_cwnd_limited(&self, cc: &Controller) -> bool {
        if self.tx.cwnd_limited {
            return true;
        }
        let cwnd = cc.cwnd_segs(self.path);
        let slow_start = cc.ssthresh_segs(self.path).is_none_or(|ssthresh| cwnd < ssthresh);
        slow_start && cwnd < 2 * self.tx.max_packets_out
    }

    /// Send the next segment that was never sent.
    fn send_new(&mut self, cx: &mut Context<'_>, cc: &mut Controller) -> Box<Packet> {
        let len = self.next_len() as u32;
        self.send_range(cx, cc, len)
    }

    fn send_range(&mut self, cx: &mut Context<'_>, cc: &mut Controller, len: u32) -> Box<Packet> {
        let offset = self.tx.nxt;
        let end = offset + u64::from(len);
        let fin = self.tx.fin_unsent() && end == self.tx.buffer.end();
        let prior_out = self.tx.board.packets_out();
        self.tx.board.on_sent(cx.now, offset, len + u32::from(fin), fin);
        self.tx.nxt = end + u64::from(fin);
        self.tx.round_sent += 1;
        if let Some(prr) = self.loss.prr.as_mut() {
            prr.on_sent(1);
        }
        if prior_out == 0 || self.timers.retransmit() == Some(Retransmit::LossProbe) {
            self.rearm_rto(cx);
        }
        if fin {
            self.tx.fin_sent = true;
            self.fsm.send_fin(cx);
        }
        if self.options.pacing
            && let Some(rate) = self.tx.pacing_rate
        {
            self.tx.pacer.on_sent(cx.now, u64::from(len) + HEADERS, rate);
        }
        let _ = cc;
        self.record_sent(cx, offset, len, false);
        self.data_segment(cx, offset, len, fin)
    }

    /// Send segment `id` again, byte for byte.
    fn retransmit(&mut self, cx: &mut Context<'_>, id: u64, counted: bool) -> Box<Packet> {
        let (offset, len, fin) =
            self.tx.board.segment(id).map_or((self.tx.una, 0, false), |segment| {
                (segment.offset, u32::from(segment.len), segment.fin)
            });
        let payload = len - u32::from(fin);
        self.tx.board.on_retransmitted(cx.now, id, counted);
        self.stats.bytes_retrans += u64::from(payload);
        self.stats.segs_retrans += 1;
        self.record_sent(cx, offset, payload, true);
        self.data_segment(cx, offset, payload, fin)
    }

    fn record_sent(&self, cx: &mut Context<'_>, offset: u64, len: u32, retransmission: bool) {
        cx.record(EventMask::SEGMENT, || Event::SegmentSent {
            socket: self.socket,
            path: self.path,
            offset,
            len,
            retransmission,
            inflight_segs: self.inflight(),
        });
    }
}
