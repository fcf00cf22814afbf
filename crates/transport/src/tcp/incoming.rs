//! A segment arrives at a synchronised connection (RFC 9293 s3.10.7.4): is it acceptable, what
//! does it acknowledge, what does it bring.
//!
//! RFC 5961 challenge acknowledgements and RFC 7323 PAWS are here; the sender's reaction to an
//! acknowledgement is in `acknowledge`.

use super::ack_policy::{Arrival, Received, Verdict};
use super::multipath::SegmentInfo;
use super::subflow::Subflow;
use crate::congestion::Controller;
use crate::recovery::{Received as Queued, received_truesize};
use crate::socket::ConnectionEvent;
use base::{Context, Duration, Event, EventMask};
use wire::{Flags, TcpSegment};

/// A timestamp older than this may be a wrapped clock and is not compared (RFC 7323 s5.5).
const PAWS_IDLE: Duration = Duration::from_secs(24 * 24 * 3600);
/// How long TIME-WAIT and an orphaned FIN-WAIT-2 last (Linux TCP_TIMEWAIT_LEN).
const TIME_WAIT: Duration = Duration::from_secs(60);

impl Subflow {
    /// A segment of this connection arrived.
    pub fn handle_segment(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        segment: &mut TcpSegment,
    ) {
        if self.fsm.is_closed() {
            return;
        }
        if self.fsm.is_syn_sent() {
            self.handle_in_syn_sent(cx, cc, segment);
            return;
        }
        if !self.accept_segment(cx, segment) || !segment.flags.contains(Flags::ACK) {
            return;
        }
        if self.fsm.is_syn_received() {
            if segment.ack != self.hs.iss + 1 && !self.acks_something_sent(segment) {
                self.outbox.reset_with = Some(segment.ack);
                return;
            }
            self.accept_ack_of_syn(cx, cc, segment);
        }
        self.replace_ts_recent(cx, segment);
        let (una, window) = (self.tx.una, self.tx.window);
        if !self.process_ack(cx, cc, segment) {
            return;
        }
        // A kernel's short way for acknowledgements does not look at them.
        if self.mp.is_some() || !segment.payload.is_empty() || self.tx.window != window {
            self.measure_receiver_rtt(cx, segment);
        }
        if self.mp.is_some() {
            let offset = u64::try_from(self.offset_of(segment)).unwrap_or(0);
            self.summarise(segment, offset, self.tx.una > una);
        }
        self.receive_payload(cx, segment);
        self.decide_acknowledgement(cx);
    }

    fn acks_something_sent(&self, segment: &TcpSegment) -> bool {
        let ack = segment.ack.to_offset(self.hs.iss + 1, self.tx.una);
        (0..=self.tx.nxt as i64).contains(&ack)
    }

    /// Keep what an accepted segment says to the multi-path connection.
    pub(super) fn summarise(&mut self, segment: &TcpSegment, offset: u64, acked_data: bool) {
        // The window of a SYN is never scaled (RFC 7323 s2.2).
        let shift = if segment.flags.contains(Flags::SYN) { 0 } else { self.hs.peer_shift };
        let window = u64::from(segment.window) << shift;
        if let Some(mp) = self.mp.as_mut() {
            mp.on_segment(SegmentInfo {
                options: segment.options.mptcp.clone(),
                offset,
                len: segment.payload.len(),
                window,
                acked_data,
                fin: segment.flags.contains(Flags::FIN),
                reset: segment.flags.contains(Flags::RST),
            });
        }
    }

    /// The offset of a segment's first byte in the peer's stream; may lie before its beginning.
    fn offset_of(&self, segment: &TcpSegment) -> i64 {
        segment.seq.to_offset(self.hs.irs + 1, self.rx.nxt())
    }

    /// RFC 9293 s3.10.7.4 first to fourth check, with PAWS and RFC 5961.
    fn accept_segment(&mut self, cx: &mut Context<'_>, segment: &TcpSegment) -> bool {
        let reset = segment.flags.contains(Flags::RST);
        if self.is_old_by_timestamp(cx, segment) {
            if !reset {
                self.answer_unacceptable(segment);
            }
            return false;
        }
        let start = self.offset_of(segment);
        let end = start + i64::from(segment.sequence_len());
        let window_end = self.rx.nxt() + self.rx.window_left();
        let acceptable = end >= self.rx.announced_at as i64 && start <= window_end as i64;
        if !acceptable {
            if self.is_repeated_syn(segment) {
                self.hs.due = true;
            } else if !reset {
                self.answer_unacceptable(segment);
            }
            return false;
        }
        if reset {
            if start == self.rx.nxt() as i64 {
                self.summarise(segment, 0, false);
                self.reset_by_peer(cx);
            } else {
                self.rx.ack.now();
            }
            return false;
        }
        if segment.flags.contains(Flags::SYN) {
            // RFC 5961 s4: challenge, whatever the sequence number; a peer in SYN-RECEIVED that
            // repeats its SYN gets the SYN/ACK again.
            if self.is_repeated_syn(segment) {
                self.hs.due = true;
            } else if self.fsm.is_syn_received() && segment.flags.contains(Flags::ACK) {
                return true;
            } else {
                self.rx.ack.now();
            }
            return false;
        }
        true
    }

    fn is_repeated_syn(&self, segment: &TcpSegment) -> bool {
        self.fsm.is_syn_received()
            && segment.flags.contains(Flags::SYN)
            && !segment.flags.contains(Flags::ACK)
            && segment.seq == self.hs.irs
    }

    /// RFC 7323 s5.3.
    fn is_old_by_timestamp(&self, cx: &Context<'_>, segment: &TcpSegment) -> bool {
        if !self.hs.timestamps || self.fsm.is_syn_received() {
            return false;
        }
        let Some(timestamps) = segment.options.timestamps else { return false };
        let older = (timestamps.value.wrapping_sub(self.rx.ts_recent) as i32) < 0;
        older && cx.now - self.rx.ts_recent_at < PAWS_IDLE
    }

    /// An old or unacceptable segment: tell the peer where we are, with the duplicate part.
    fn answer_unacceptable(&mut self, segment: &TcpSegment) {
        let start = self.offset_of(segment);
        let end = start + i64::from(segment.payload.len());
        if end > start && start >= 0 && start < self.rx.nxt() as i64 {
            self.rx.dsack = Some(start as u64..(end as u64).min(self.rx.nxt()));
            self.rx.enter_quick_acks();
        }
        self.rx.ack.now();
    }

    fn replace_ts_recent(&mut self, cx: &Context<'_>, segment: &TcpSegment) {
        let Some(timestamps) = segment.options.timestamps else { return };
        let newer = (timestamps.value.wrapping_sub(self.rx.ts_recent) as i32) >= 0;
        if newer && self.offset_of(segment) <= self.rx.announced_at as i64 {
            self.rx.ts_recent = timestamps.value;
            self.rx.ts_recent_at = cx.now;
        }
    }

    fn receive_payload(&mut self, cx: &mut Context<'_>, segment: &mut TcpSegment) {
        let fin = segment.flags.contains(Flags::FIN);
        if segment.payload.is_empty() && !fin {
            return;
        }
        if !self.fsm.may_receive() {
            self.receive_after_end(cx, segment);
            return;
        }
        let start = self.offset_of(segment);
        let len = i64::from(segment.payload.len());
        if fin {
            self.rx.fin_offset = u64::try_from(start + len).ok().or(self.rx.fin_offset);
        }
        if len > 0 {
            self.insert_payload(cx, segment, start);
        }
        if fin {
            self.rx.ack.now();
        }
        if !self.rx.fin_received && self.rx.fin_offset == Some(self.rx.data.next_offset()) {
            self.receive_fin(cx);
        }
    }

    /// Payload or a FIN came although the peer's FIN was received: a retransmission.
    fn receive_after_end(&mut self, cx: &Context<'_>, segment: &TcpSegment) {
        if segment.sequence_len() > 0 {
            self.answer_unacceptable(segment);
        }
        if self.fsm.is_time_wait() {
            // RFC 9293 s3.10.7.4: the peer did not hear that we are done; wait anew.
            self.enter_time_wait(cx);
        }
    }

    fn insert_payload(&mut self, cx: &mut Context<'_>, segment: &mut TcpSegment, start: i64) {
        let len = segment.payload.len();
        // What lies before the stream or beyond the window is cut off (RFC 9293 s3.10.7.4).
        let cut = u32::try_from((-start).max(0)).unwrap_or(u32::MAX).min(len);
        let offset = (start + i64::from(cut)) as u64;
        let room = (self.rx.nxt() + self.rx.window_left()).saturating_sub(offset);
        let keep = (len - cut).min(u32::try_from(room).unwrap_or(u32::MAX));
        if keep == 0 {
            self.answer_unacceptable(segment);
            return;
        }
        let truesize = received_truesize(segment.wire_len() + 20);
        let whole = std::mem::take(&mut segment.payload);
        let payload = if keep == len { whole } else { whole.slice(cut, keep) };
        let had_gaps = self.rx.data.out_of_order_bytes() > 0;
        let end = offset + u64::from(keep);
        if self.timers.compressed_ack_runs() && self.rx.would_crowd_sacks(offset, end) {
            self.rx.ack.now();
        }
        let inserted = self.rx.data.insert(offset, payload);
        if let Some(duplicate) = inserted.duplicate {
            self.rx.dsack = Some(duplicate);
        }
        if inserted.new_bytes == 0 {
            self.rx.enter_quick_acks();
            self.rx.ack.now();
            return;
        }
        let (socket, path) = (self.socket, self.path);
        cx.record(EventMask::ARRIVAL, || Event::SegmentArrived { socket, path, offset, len: keep });
        let opened = self.rx.buffer.on_segment(&Queued {
            now: cx.now,
            len,
            truesize,
            push: segment.flags.contains(Flags::PSH),
            in_order: !inserted.out_of_order,
            next_offset: self.rx.data.next_offset(),
            highest: self.rx.highest(),
        });
        if inserted.advanced == 0 {
            self.rx.ack.owe();
            self.rx.ack.on_window_growth(opened);
            return;
        }
        self.rx.ack.on_data(&Arrival {
            now: cx.now,
            len,
            segment_size: self.rx.buffer.segment_size(),
            push: segment.flags.contains(Flags::PSH),
            rto: self.rtt.rto(),
            window: self.rx.announced_window,
        });
        self.rx.ack.on_window_growth(opened);
        if had_gaps && self.rx.data.out_of_order_bytes() == 0 {
            // RFC 5681 s4.2: the last gap is filled.
            self.rx.ack.now();
        }
        // A multi-path connection looks for data after every segment.
        if self.mp.is_none() && self.news.last() != Some(&ConnectionEvent::Readable) {
            self.news.push(ConnectionEvent::Readable);
        }
    }

    /// RFC 7323 s4: the echo of our own timestamps gives the receiver a round trip, too, if the
    /// first segment with that echo is a full one.
    fn measure_receiver_rtt(&mut self, cx: &Context<'_>, segment: &TcpSegment) {
        let Some(timestamps) = segment.options.timestamps else { return };
        let fresh = self.rx.last_echo.replace(timestamps.echo) != Some(timestamps.echo);
        if !fresh || segment.payload.len() < self.rx.buffer.segment_size() {
            return;
        }
        let ticks = self.hs.ts_value(cx.now).wrapping_sub(timestamps.echo);
        if (ticks as i32) > 0 {
            self.rx.on_rtt(Duration::from_millis(u64::from(ticks)));
        }
    }

    fn receive_fin(&mut self, cx: &mut Context<'_>) {
        self.rx.fin_received = true;
        self.fsm.receive_fin(cx);
        self.news.push(ConnectionEvent::PeerClosed);
        if self.fsm.is_time_wait() {
            self.enter_time_wait(cx);
        }
    }

    pub(super) fn enter_time_wait(&mut self, cx: &Context<'_>) {
        self.timers.stop_retransmit();
        self.timers.set_close(cx.now, TIME_WAIT);
    }

    /// FIN-WAIT-2 without a reader does not last for ever.
    pub(super) fn bound_fin_wait_2(&mut self, cx: &Context<'_>) {
        self.timers.set_close(cx.now, TIME_WAIT);
    }

    fn decide_acknowledgement(&mut self, cx: &Context<'_>) {
        if !self.rx.ack.is_owed() {
            return;
        }
        let received = Received {
            unacked: self.rx.nxt().saturating_sub(self.rx.announced_at),
            segment_size: self.rx.buffer.segment_size(),
            gaps: self.rx.data.out_of_order_bytes() > 0,
            expected: self.rx.nxt(),
            compress: self.switches.compressed_acks && self.hs.sack,
            srtt: self.rtt.srtt(),
        };
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
