//! The calls of the layer above a subflow (RFC 9293 s3.9.1): a socket's write, read and close, and
//! what a multi-path connection needs besides: mapped data in and out, options, windows and the
//! view of a scheduler.

use super::{Due, Subflow};
use crate::congestion::Controller;
use crate::recovery::{LINUX_SLACK, Reception, Space};
use crate::scheduler::{LossPhase, PathState, PathView};
use crate::socket::SocketError;
use crate::tcp::multipath::Multipath;
use crate::tcp::receiver::SharedWindow;
use crate::tcp::sent_mappings::SentMapping;
use crate::tcp::timers::Retransmit;
use base::{Blocked, CaState, Context, Duration, Event, EventMask, Instant, PathId, SocketId};
use wire::mptcp::{DataNumber, MptcpOption};
use wire::{Packet, Payload};

/// Calls of a socket.
impl Subflow {
    /// Appends to the stream as far as the send buffer has space; returns the number of bytes
    /// taken. A writer fills buffers of up to 64 KiB while there is space for one to begin (Linux
    /// `tcp_sendmsg`).
    pub fn write(&mut self, payload: &Payload) -> Result<u32, SocketError> {
        if self.tx.is_fin_queued() || self.fsm.is_closed() {
            return Err(SocketError::Closed);
        }
        if !self.fsm.may_send() {
            return Err(SocketError::NotConnected);
        }
        let len = payload.len();
        let mut taken = 0;
        while taken < len {
            let step = (len - taken).min(self.tx.room_for_write(self.options.notsent_lowat));
            if step == 0 {
                break;
            }
            self.tx.append(payload.slice(taken, step));
            self.tx.writer.on_filled(step);
            taken += step;
        }
        if taken < len {
            self.tx.writer.set_waiting(true);
        }
        Ok(taken)
    }

    /// Takes the next bytes in order, at most `max`.
    // It has one caller.
    #[inline(always)]
    pub fn read(&mut self, cx: &mut Context<'_>, max: u32) -> Result<Payload, SocketError> {
        if self.rx.data().readable() == 0 || max == 0 {
            let ended = self.rx.is_fin_received() || self.fsm.is_closed();
            return if ended { Err(SocketError::Closed) } else { Ok(Payload::EMPTY) };
        }
        let offset = self.rx.data().read_offset();
        let (payload, opened) = self.rx.read(cx.now, max, self.handshake.our_shift());
        let socket = self.id.socket;
        cx.record(EventMask::DELIVERY, || {
            let len = payload.len();
            Event::Delivered { socket, offset, len }
        });
        let urgent = self.rx.on_all_read();
        if self.fsm.is_synchronised() && (opened || urgent) {
            self.rx.ack.now();
        }
        Ok(payload)
    }

    /// Closes the sending direction: a FIN follows the data.
    pub fn shutdown(&mut self, cx: &mut Context<'_>) -> Result<(), SocketError> {
        if self.fsm.is_syn_sent() {
            self.timers.stop_all();
            self.handshake.stop();
            self.fsm.close(cx);
            return Ok(());
        }
        if self.fsm.is_closed() {
            return Err(SocketError::NotConnected);
        }
        self.tx.queue_fin();
        Ok(())
    }

    /// The socket that the subflow belongs to.
    pub const fn socket(&self) -> SocketId {
        self.id.socket
    }

    /// Bytes that can be read.
    pub fn readable(&self) -> u64 {
        self.rx.data().readable()
    }

    /// The next offset expected, FIN included.
    pub const fn received_to(&self) -> u64 {
        self.rx.nxt()
    }

    /// Whether an acknowledgement is to be sent at once.
    pub fn needs_ack_now(&self) -> bool {
        self.rx.ack.is_urgent()
    }

    /// Why nothing more is sent, asked when nothing is.
    pub fn blocked_reason(&self) -> Blocked {
        if !self.fsm.is_synchronised() {
            return Blocked::Opening;
        }
        self.tx.blocked_reason()
    }
}

/// Calls of a multi-path connection.
impl Subflow {
    /// The multi-path side; every subflow of a multi-path connection has one.
    pub fn multipath(&mut self) -> Option<&mut Multipath> {
        self.mp.as_deref_mut()
    }

    /// Makes this a subflow of a multi-path connection, before anything is sent.
    pub fn set_multipath(&mut self, mp: Multipath) {
        self.mp = Some(Box::new(mp));
    }

    /// Makes this the subflow `path` of another socket.
    pub const fn set_owner(&mut self, socket: SocketId, path: PathId) {
        self.id.socket = socket;
        self.id.path = path;
        self.fsm.set_socket(socket);
    }

    /// Number of this path in its connection.
    pub const fn path(&self) -> PathId {
        self.id.path
    }

    /// Whether new data may be queued.
    pub fn may_send(&self) -> bool {
        self.fsm.may_send() && !self.tx.is_fin_queued()
    }

    /// Whether a FIN of its own was queued.
    pub const fn is_shut_down(&self) -> bool {
        self.tx.is_fin_queued()
    }

    /// Queued bytes that were never sent.
    pub fn unsent(&self) -> u64 {
        self.tx.unsent()
    }

    /// Queued data of the connection that were never sent here, last ones first: their first number
    /// and their length.
    pub fn unsent_data(&self) -> impl Iterator<Item = (DataNumber, u16)> {
        self.mp.iter().flat_map(|mp| mp.data_from(self.tx.nxt()))
    }

    /// Offset of the next byte to be queued.
    pub fn write_end(&self) -> u64 {
        self.tx.write_end()
    }

    /// Everything below this offset is acknowledged on this subflow.
    pub const fn una(&self) -> u64 {
        self.tx.una()
    }

    /// The next offset to be sent for the first time.
    pub const fn nxt(&self) -> u64 {
        self.tx.nxt()
    }

    /// Queues mapped payload, which cannot be taken back. `joins`: it may extend the mapping before
    /// it.
    #[inline(always)]
    pub fn push(&mut self, payload: Payload, map: SentMapping, joins: bool) {
        debug_assert_eq!(map.offset, self.tx.write_end(), "mappings follow each other");
        self.tx.append(payload);
        let (nxt, goal) = (self.tx.nxt(), self.tx.size_goal());
        if let Some(mp) = self.mp.as_mut() {
            if joins {
                mp.map_joined(map, nxt, goal);
            } else {
                mp.map(map);
            }
        }
    }

    /// Queues payload after the connection fell back to TCP.
    pub fn push_plain(&mut self, payload: Payload) {
        self.tx.append(payload);
    }

    /// Sets whether more of what the application wrote follows the queued data, on any subflow.
    pub const fn expect_more(&mut self, more: bool) {
        self.tx.set_more_follows(more);
    }

    /// Queues a FIN after the connection fell back to TCP and its application closed.
    pub const fn queue_fin(&mut self) {
        self.tx.queue_fin();
    }

    /// Whether the sending direction ends after what is queued.
    pub const fn is_fin_queued(&self) -> bool {
        self.tx.is_fin_queued()
    }

    /// Closes the sending direction unless the subflow is closed already.
    pub fn finish(&mut self, cx: &mut Context<'_>) {
        self.shutdown(cx).ok();
    }

    /// The subflow is over: forgets what was received and what was to be sent.
    pub fn discard(&mut self) {
        self.rx.discard();
        self.tx.discard();
    }

    /// Offset of the next in-order byte that was not taken, and the number of such bytes.
    pub fn received(&self) -> (u64, u64) {
        (self.rx.data().read_offset(), self.rx.data().readable())
    }

    /// Takes in-order bytes, at most `max`.
    // Saves a call a segment.
    #[inline(always)]
    pub fn take_received(&mut self, now: Instant, max: u32) -> Payload {
        self.rx.take(now, max, self.handshake.our_shift())
    }

    /// Bytes received and not taken: in order, and behind gaps.
    pub fn held(&self) -> (u64, u64) {
        (self.rx.data().readable(), self.rx.data().out_of_order_bytes())
    }

    /// Whether the peer closed its direction of this subflow.
    pub const fn is_fin_received(&self) -> bool {
        self.rx.is_fin_received()
    }

    /// Payload of the segments that the peer may send, in bytes.
    pub const fn received_mss(&self) -> u32 {
        self.rx.advmss()
    }

    /// Memory ratio and RTT, as far as the receiver knows them.
    pub const fn reception(&self) -> Reception {
        self.rx.reception()
    }

    /// The buffer of the connection grew because its reader took `copied` bytes in a round trip:
    /// the buffer of the subflow does likewise.
    pub fn follow_reader(&mut self, copied: u32) {
        if self.fsm.is_synchronised() {
            self.rx.on_connection_read(copied);
        }
    }

    /// The base of growth of a connection that begins with this subflow, in bytes.
    pub fn initial_space(&self) -> u32 {
        self.rx.initial_space()
    }

    /// The window announced last, in bytes.
    pub const fn announced_window(&self) -> u32 {
        self.rx.announced_window()
    }

    /// The window of the SYN or SYN/ACK, in bytes.
    pub fn offered_window(&self) -> u32 {
        self.rx.initial_window()
    }

    /// Whether this subflow would announce at least twice what is left of its window (Linux
    /// `tcp_cleanup_rbuf`).
    pub fn would_double_window(&self, space: Space) -> bool {
        self.rx.would_double_window(space, self.handshake.our_shift())
    }

    /// Leaves acknowledgements of two segments to the connection's reader.
    pub const fn leave_acks_to_reader(&mut self, leaves: bool) {
        self.rx.leave_acks_to_reader(leaves);
    }

    /// Data went to the connection (`Receiver::on_passed`).
    #[inline]
    pub fn on_passed(&mut self, waits: bool, space: impl FnOnce() -> Space) {
        self.rx.on_passed(waits, space, self.handshake.our_shift());
    }

    /// The application read from the connection, and `emptied` its buffer. Returns whether an
    /// acknowledgement is urgent.
    pub fn on_connection_cleanup(&mut self, emptied: bool) -> bool {
        self.rx.on_connection_cleanup(emptied)
    }

    /// Announces the window of the connection from now on.
    pub const fn share_window(&mut self, window: SharedWindow) {
        self.rx.share_window(window);
    }

    /// Accepts up to `bytes` beyond what arrived in order.
    pub const fn limit_reception(&mut self, bytes: u32) {
        self.rx.limit_reception(bytes);
    }

    /// Shift of the windows that it announces.
    pub const fn window_shift(&self) -> u8 {
        self.handshake.our_shift()
    }

    /// Queues an option for an acknowledgement of its own.
    pub fn queue_option(&mut self, option: MptcpOption) {
        if let Some(mp) = self.mp.as_mut().filter(|_| self.fsm.is_synchronised()) {
            mp.queue_option(option);
        }
    }

    /// Bytes of every segment that are reserved for options of the connection.
    pub(super) fn option_room(&self) -> u32 {
        self.mp.as_ref().map_or(0, |mp| mp.room())
    }

    /// Reserves `room` bytes of every segment for the DSS from now on.
    pub fn set_option_room(&mut self, room: u32) {
        let Some(mp) = self.mp.as_mut() else { return };
        let before = mp.set_room(room);
        self.tx.set_mss((self.tx.mss() + before).saturating_sub(room).max(1));
    }

    /// Sends an acknowledgement at once.
    pub fn acknowledge(&mut self) {
        if self.fsm.is_synchronised() {
            self.rx.ack.now();
        }
    }

    /// The connection fell back to TCP: the peer's window ends `bytes` after what is acknowledged.
    pub fn lower_window(&mut self, bytes: u64) {
        self.tx.window.limit(bytes);
    }

    /// The SYN/ACK that is due, for a subflow that has no connection yet.
    pub fn poll_syn_ack(&mut self, cx: &mut Context<'_>) -> Option<Box<Packet>> {
        self.poll_handshake(cx)
    }

    /// The SYN came again: so is the SYN/ACK sent.
    pub const fn repeat_syn_ack(&mut self) {
        self.handshake.repeat();
    }

    /// Number of SYNs or SYN/ACKs repeated because no answer came.
    pub const fn handshake_repetitions(&self) -> u32 {
        self.handshake.retries()
    }

    /// The path is usable again: the SYN is repeated now, with a new back-off.
    pub fn retry_opening(&mut self, cx: &Context<'_>) {
        if self.timers.retransmit() == Some(Retransmit::Handshake) {
            self.handshake.reset_retries();
            self.timers.set_retransmit(Retransmit::Handshake, cx.now, Duration::ZERO);
        }
    }

    /// The path answered after a time-out: the head is sent again now, with a new back-off and as
    /// many tries as after the first time-out.
    pub fn retry_now(&mut self, cx: &Context<'_>) {
        if self.timers.retransmit() == Some(Retransmit::Rto) && !self.loss.is_idle() {
            self.rtt.reset_back_off();
            self.loss.count_timeouts_anew();
            self.timers.set_retransmit(Retransmit::Rto, cx.now, Duration::ZERO);
        }
    }

    /// Probes the peer's window.
    pub const fn probe_window(&mut self) {
        self.outbox.put(Due::WindowProbe);
    }

    /// Sends a keep-alive segment, which makes the peer acknowledge (RFC 1122 s4.2.3.6).
    pub const fn send_keep_alive(&mut self) {
        self.outbox.put(Due::KeepAlive);
    }

    /// How long the answer to a probe may take: a round trip, and its variation or `slack`.
    pub fn probe_patience(&self, slack: Duration) -> Duration {
        self.rtt.srtt() + (self.rtt.estimator().mdev() * 4).max(slack)
    }

    /// The retransmission time-out.
    pub fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// Time until the retransmission or probe timer fires; `None` if none runs. With
    /// `counts_unsent` queued data count as sent: two round trips to a probe, or the time-out for a
    /// single segment.
    pub fn retransmission_in(&self, now: Instant, counts_unsent: bool) -> Option<Duration> {
        let running = self.timers.retransmit_in(now);
        if !counts_unsent {
            return running;
        }
        let queued = match self.tx.unsent() {
            0 => None,
            unsent if unsent > u64::from(self.tx.mss()) => Some(self.rtt.srtt() * 2 + LINUX_SLACK),
            _ => Some(self.rtt.rto()),
        };
        running.max(queued.map(|span| self.timers.ticks_of(now, span)))
    }

    /// Payload of a full segment.
    pub const fn segment_size(&self) -> u32 {
        self.tx.mss()
    }

    /// Whether the peer's window of this subflow has no space for a segment.
    pub fn is_shut(&self) -> bool {
        self.tx.window_left() < u64::from(self.tx.mss())
    }

    /// Whether something beyond the first gap was acknowledged.
    pub fn is_sacked(&self) -> bool {
        self.loss.board().sacked_out() > 0
    }

    /// Whether queued data are not acknowledged on this subflow.
    pub fn has_outstanding(&self) -> bool {
        self.tx.has_outstanding()
    }

    /// The link of its interface went down or came up.
    pub const fn set_link_down(&mut self, down: bool) {
        self.outbox.set_link_down(down);
    }

    /// The size of its send buffer, in bytes of memory.
    pub const fn send_buffer(&self) -> u32 {
        self.tx.writer.size()
    }

    /// Grows its send buffer to what its window requires.
    pub fn grow_send_buffer(&mut self, cc: &Controller) {
        if self.fsm.is_synchronised() {
            let cwnd = cc.cwnd_segs(self.id.path);
            self.tx.writer.expand(cwnd, self.loss.dup_thresh(), self.tx.mss());
        }
    }

    /// Sets whether the writer of the connection waits for space.
    pub fn set_writer_waiting(&mut self, waits: bool) {
        self.tx.writer.set_waiting(waits);
    }

    /// Fills in what admits data in the view of a scheduler, in its place, as it is large. The
    /// fields `interface`, `backup`, `probing` and `continues_at` belong to the connection.
    #[inline(always)]
    pub fn look(&self, view: &mut PathView, cc: &Controller) {
        view.id = self.id.path;
        view.state = if self.may_send() { PathState::Open } else { PathState::Closed };
        view.throttled = self.tx.nic.is_throttled();
        view.loss = match self.loss.ca_state() {
            CaState::Open => LossPhase::Open,
            CaState::Loss => LossPhase::Timeout,
            CaState::Disorder | CaState::Cwr | CaState::Recovery => LossPhase::Recovery,
        };
        view.rtt.srtt = self.rtt.srtt();
        let (PathView { window, queue, .. }, tx) = (view, &self.tx);
        window.mss = tx.mss().max(1);
        window.cwnd_segs = cc.cwnd_segs(self.id.path);
        window.inflight_segs = self.inflight();
        window.send_window_bytes = tx.window_end().saturating_sub(tx.write_end());
        queue.unsent_bytes = tx.unsent();
    }

    /// Fills in the rest of the view.
    #[inline(never)]
    pub fn look_further(&self, view: &mut PathView, cc: &Controller) {
        view.last_send = self.tx.validation.last_data_sent();
        view.pacing_rate = self.tx.pacing_rate;
        let rtt = self.rtt.estimator();
        view.rtt.rttvar = rtt.rttvar();
        view.rtt.last = rtt.latest();
        view.rtt.first = rtt.first();
        view.rtt.samples = rtt.samples();
        view.rtt.rto = self.rtt.rto();
        view.queue.limit_bytes = self.tx.writer.size();
        self.view_window(view, cc);
        self.view_queue(view);
    }

    /// Updates the window in the view.
    #[inline]
    pub fn view_window(&self, view: &mut PathView, cc: &Controller) {
        view.window.cwnd_segs = cc.cwnd_segs(self.id.path);
        view.window.ssthresh_segs = cc.ssthresh_segs(self.id.path);
    }

    /// Updates what queued data change in the view. Where a connection assigns before it sends
    /// (`poll_packet`), one more segment may wait behind a window that was just filled.
    #[inline]
    pub fn view_queue(&self, view: &mut PathView) {
        let mss = u64::from(self.tx.mss().max(1));
        let PathView { window, queue, .. } = view;
        window.inflight_segs = self.inflight();
        window.inflight_bytes = u64::from(window.inflight_segs) * mss;
        queue.unsent_bytes = self.tx.unsent();
        queue.unsent_segs = u32::try_from(queue.unsent_bytes.div_ceil(mss)).unwrap_or(u32::MAX);
        let write_end = self.tx.write_end();
        queue.outstanding_bytes = write_end.saturating_sub(self.tx.una());
        queue.memory_bytes = self.tx.memory();
        window.send_window_bytes = self.tx.window_end().saturating_sub(write_end);
    }
}
