//! A subflow's face towards the multi-path connection that owns it.
//!
//! What is said in options goes through `multipath`; here is the rest: data in and out, and what
//! a scheduler wants to know.

use super::multipath::Multipath;
use super::receiver::SharedWindow;
use super::sent_mappings::SentMapping;
use super::subflow::Subflow;
use super::timers::Retransmit;
use crate::congestion::{CongestionControl, Controller};
use crate::recovery::{Reception, Space};
use crate::scheduler::{LossPhase, PathState, PathView, QueueView, RttView, WindowView};
use base::{CaState, Context, Duration, Instant, InterfaceId, PathId, SocketId};
use wire::mptcp::MptcpOption;
use wire::{Packet, Payload};

impl Subflow {
    /// The multi-path side; every subflow of a connection has one.
    pub fn multipath(&mut self) -> Option<&mut Multipath> {
        self.mp.as_deref_mut()
    }

    /// Make this a subflow of a connection, before anything is sent.
    pub fn set_multipath(&mut self, mp: Multipath) {
        self.mp = Some(Box::new(mp));
    }

    /// Number of this path in its connection.
    pub const fn path(&self) -> PathId {
        self.path
    }

    /// New data may be handed to it.
    pub fn may_send(&self) -> bool {
        self.fsm.may_send() && !self.tx.fin_queued
    }

    /// Its own FIN was queued.
    pub const fn is_shut_down(&self) -> bool {
        self.tx.fin_queued
    }

    /// Bytes pushed and never sent.
    pub fn unsent(&self) -> u64 {
        self.tx.unsent()
    }

    /// Offset of the next byte handed to it.
    pub fn write_end(&self) -> u64 {
        self.tx.buffer.end()
    }

    /// Everything below is acknowledged on this subflow.
    pub const fn una(&self) -> u64 {
        self.tx.una
    }

    /// Hand mapped payload to this subflow; it cannot be taken back. `joins`: it may lengthen the
    /// mapping before it.
    pub fn push(&mut self, payload: Payload, map: SentMapping, joins: bool) {
        debug_assert_eq!(map.offset, self.tx.buffer.end());
        self.tx.buffer.append(payload);
        let (nxt, most) = (self.tx.nxt, self.tx.size_goal());
        if let Some(mp) = self.mp.as_mut() {
            if joins {
                mp.map_joined(map, nxt, most);
            } else {
                mp.map(map);
            }
        }
    }

    /// Whether more of what the application wrote follows what was handed to it, on whatever
    /// subflow.
    pub const fn expect_more(&mut self, more: bool) {
        self.tx.more = more;
    }

    /// Hand payload to a subflow of a connection that fell back.
    pub fn push_plain(&mut self, payload: Payload) {
        self.tx.buffer.append(payload);
    }

    /// Offset of the next in-order byte that was not taken yet, and how many are there.
    pub fn received(&self) -> (u64, u64) {
        (self.rx.data.read_offset(), self.rx.data.readable())
    }

    /// What it knows of its reception.
    pub const fn reception(&self) -> Reception {
        Reception { ratio: self.rx.buffer.ratio(), rtt_us8: self.rx.buffer.rtt_us8() }
    }

    /// The connection's buffer grew by what a reader took, `copied` bytes in a round trip: its
    /// own does likewise.
    pub fn follow_reader(&mut self, copied: u32) {
        if self.fsm.is_synchronised() {
            let beyond = self.rx.highest().saturating_sub(self.rx.data.next_offset());
            self.rx.buffer.enlarge(copied, beyond);
        }
    }

    /// The base of growth of a connection that begins with it, in bytes.
    pub fn initial_space(&self) -> u32 {
        self.rx.buffer.initial_space()
    }

    /// The window announced last, in bytes.
    pub const fn announced_window(&self) -> u32 {
        self.rx.announced_window
    }

    /// The window in the SYN or SYN/ACK, in bytes.
    pub fn offered_window(&self) -> u32 {
        self.rx.buffer.initial_window().min(65_535)
    }

    /// Whether this subflow would announce twice what is left of its window (Linux
    /// `tcp_cleanup_rbuf`).
    pub fn would_double_window(&self, space: Space) -> bool {
        let left = self.rx.own_left();
        let window = self.rx.buffer.select_of(space.free, space.full, self.hs.our_shift);
        u64::from(left) * 2 <= u64::from(self.rx.buffer.clamp()) && window > 0 && window / 2 >= left
    }

    /// Take in-order bytes, at most `max`.
    pub fn take_received(&mut self, now: Instant, max: u32) -> Payload {
        let payload = self.rx.data.read(max);
        self.rx.on_taken(now, self.hs.our_shift);
        let unacked = self.rx.nxt().saturating_sub(self.rx.announced_at);
        let size = self.rx.buffer.segment_size();
        if self.rx.data.readable() == 0 {
            self.rx.ack.on_all_read(unacked, size);
        }
        payload
    }

    /// The peer closed this subflow's direction.
    pub const fn is_fin_received(&self) -> bool {
        self.rx.fin_received
    }

    /// Say an option on an acknowledgement of its own.
    pub fn queue_option(&mut self, option: MptcpOption) {
        if let Some(mp) = self.mp.as_mut().filter(|_| self.fsm.is_synchronised()) {
            mp.queue_option(option);
        }
    }

    /// An acknowledgement is to go out at once.
    pub fn acknowledge(&mut self) {
        if self.fsm.is_synchronised() {
            self.rx.ack.now();
        }
    }

    /// Announce the connection's window from now on.
    pub const fn share_window(&mut self, window: SharedWindow) {
        self.rx.shared = Some(window);
    }

    /// Take so many bytes beyond what arrived in order.
    pub const fn limit_reception(&mut self, bytes: u32) {
        self.rx.share_limit = bytes;
    }

    /// Bytes received and not taken: in order, and behind gaps.
    pub fn held(&self) -> (u64, u64) {
        (self.rx.data.readable(), self.rx.data.out_of_order_bytes())
    }

    /// It is over: forget what was received and what was to be sent.
    pub fn discard(&mut self) {
        self.rx.data.discard();
        let end = self.tx.buffer.end();
        self.tx.buffer.release_below(end);
    }

    /// The connection fell back: the peer's window ends `bytes` after what is acknowledged.
    pub fn lower_window(&mut self, bytes: u64) {
        self.tx.window = self.tx.window.min(bytes);
    }

    /// Times the SYN or SYN/ACK was repeated because nothing came.
    pub const fn handshake_repetitions(&self) -> u32 {
        self.hs.retries
    }

    /// Shift of the windows it sends.
    pub const fn window_shift(&self) -> u8 {
        self.hs.our_shift
    }

    /// Payload of a full segment.
    pub const fn segment_size(&self) -> u32 {
        self.tx.mss
    }

    /// Its own window takes no segment more.
    pub fn is_shut(&self) -> bool {
        self.tx.window_left() < u64::from(self.tx.mss)
    }

    /// It belongs to another socket, as its subflow of this number.
    pub const fn set_owner(&mut self, socket: SocketId, path: PathId) {
        self.socket = socket;
        self.path = path;
        self.fsm.set_socket(socket);
    }

    /// The SYN/ACK that is due, of a subflow that has no connection yet.
    pub fn poll_syn_ack(&mut self, cx: &mut Context<'_>) -> Option<Box<Packet>> {
        self.poll_handshake(cx)
    }

    /// The SYN came again: so does the SYN/ACK.
    pub const fn repeat_syn_ack(&mut self) {
        self.hs.due = true;
    }

    /// Probe the peer's window.
    pub const fn probe_window(&mut self) {
        self.outbox.window_probe = true;
    }

    /// Ask for an acknowledgement with a segment that brings nothing (RFC 1122 s4.2.3.6).
    pub const fn send_keep_alive(&mut self) {
        self.outbox.keep_alive = true;
    }

    /// The path answered after a time-out: send the head again now, as after the first one.
    pub fn retry_now(&mut self, cx: &Context<'_>) {
        if self.timers.retransmit() == Some(Retransmit::Rto) && !self.tx.board.is_empty() {
            self.rtt.reset_back_off();
            self.timers.set_retransmit(Retransmit::Rto, cx.now, Duration::ZERO);
        }
    }

    /// The way is free again: repeat the SYN now, as after the first one.
    pub fn retry_opening(&mut self, cx: &Context<'_>) {
        if self.timers.retransmit() == Some(Retransmit::Handshake) {
            self.hs.retries = 0;
            self.timers.set_retransmit(Retransmit::Handshake, cx.now, Duration::ZERO);
        }
    }

    /// How long the answer to a probe may take: a round trip, and its variation or `slack`.
    pub fn probe_patience(&self, slack: Duration) -> Duration {
        self.rtt.srtt() + (self.rtt.mdev() * 4).max(slack)
    }

    /// Something beyond the first gap was acknowledged.
    pub fn is_sacked(&self) -> bool {
        self.tx.board.sacked_out() > 0
    }

    /// Something handed to it is not acknowledged on it.
    pub fn has_outstanding(&self) -> bool {
        self.tx.buffer.end() > self.tx.una
    }

    /// Time until its retransmission or probe timer fires; `None` if none runs. What was handed to
    /// it counts as sent: two round trips to a probe, or the time-out for a single segment.
    pub fn retransmission_in(&self, now: Instant) -> Option<Duration> {
        let running = self.timers.retransmit_at().map(|at| at - now);
        let handed = match self.tx.unsent() {
            0 => None,
            unsent if unsent > u64::from(self.tx.mss) => Some(self.rtt.srtt() * 2),
            _ => Some(self.rtt.rto()),
        };
        running.max(handed)
    }

    /// Queue a FIN: the connection fell back and its application is done.
    pub const fn queue_fin(&mut self) {
        self.tx.fin_queued = true;
    }

    /// Queue a FIN after what was handed to it.
    pub fn finish(&mut self, cx: &mut Context<'_>) {
        // Refused only if it is closed already.
        self.shutdown(cx).ok();
    }

    /// Bytes of every segment that are kept free for options of the connection.
    pub(super) fn option_room(&self) -> u32 {
        self.mp.as_ref().map_or(0, |mp| mp.room())
    }

    /// Keep `room` bytes of options free for the DSS from now on.
    pub fn set_option_room(&mut self, room: u32) {
        let Some(mp) = self.mp.as_mut() else { return };
        let before = mp.set_room(room);
        self.tx.mss = (self.tx.mss + before).saturating_sub(room).max(1);
    }

    /// The retransmission time-out.
    pub fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// The size of its own send buffer, in bytes of memory.
    pub const fn send_buffer(&self) -> u32 {
        self.tx.tuning.size()
    }

    /// Grow its send buffer to what its window calls for.
    pub fn grow_send_buffer(&mut self, cc: &Controller) {
        if self.fsm.is_synchronised() {
            let cwnd = cc.cwnd_segs(self.path);
            self.tx.tuning.expand(cwnd, self.loss.dup_thresh(), self.tx.mss);
        }
    }

    /// Whether the connection's writer waits for room.
    pub const fn set_writer_waiting(&mut self, waits: bool) {
        self.tx.writer_waits = waits;
    }

    /// What a scheduler sees of it; marks that are the connection's are left at their defaults.
    #[inline]
    pub fn view(&self, cc: &Controller) -> PathView {
        let mut view = PathView {
            id: self.path,
            interface: InterfaceId(0),
            state: if self.may_send() { PathState::Open } else { PathState::Closed },
            backup: false,
            probing: false,
            throttled: self.tx.small_queue_throttled,
            loss: match self.loss.ca_state {
                CaState::Open => LossPhase::Open,
                CaState::Loss => LossPhase::Timeout,
                CaState::Disorder | CaState::Recovery => LossPhase::Recovery,
            },
            continues_at: None,
            last_send: self.tx.last_data_sent,
            pacing_rate: self.tx.pacing_rate,
            rtt: RttView {
                srtt: self.rtt.srtt(),
                rttvar: self.rtt.rttvar(),
                last: self.rtt.latest(),
                first: self.rtt.first(),
                samples: self.rtt.samples(),
                rto: self.rtt.rto(),
            },
            window: WindowView {
                mss: self.tx.mss.max(1),
                cwnd_segs: cc.cwnd_segs(self.path),
                ssthresh_segs: cc.ssthresh_segs(self.path),
                inflight_segs: 0,
                inflight_bytes: 0,
                send_window_bytes: 0,
            },
            queue: QueueView {
                unsent_bytes: 0,
                unsent_segs: 0,
                outstanding_bytes: 0,
                memory_bytes: 0,
                limit_bytes: self.tx.tuning.size(),
            },
        };
        self.view_queue(&mut view);
        view
    }

    /// Its window in the view of it.
    pub fn view_window(&self, view: &mut PathView, cc: &Controller) {
        view.window.cwnd_segs = cc.cwnd_segs(self.path);
        view.window.ssthresh_segs = cc.ssthresh_segs(self.path);
    }

    /// What handing data to it changed in the view of it. Where a connection hands over first
    /// (`poll_packet`) one segment more may wait behind a window just filled.
    pub fn view_queue(&self, view: &mut PathView) {
        let mss = u64::from(self.tx.mss.max(1));
        let PathView { window, queue, .. } = view;
        window.inflight_segs = self.inflight();
        window.inflight_bytes = u64::from(window.inflight_segs) * mss;
        queue.unsent_bytes = self.tx.unsent();
        queue.unsent_segs = u32::try_from(queue.unsent_bytes.div_ceil(mss)).unwrap_or(u32::MAX);
        let write_end = self.tx.buffer.end();
        queue.outstanding_bytes = write_end.saturating_sub(self.tx.una);
        queue.memory_bytes = self.tx.memory();
        window.send_window_bytes = self.tx.window_end().saturating_sub(write_end);
    }
}
