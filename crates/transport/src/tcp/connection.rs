//! `Connection`: a plain TCP socket: one subflow, its controller, and the application's side.
//!
//! Reading, writing and closing are here; segments are the subflow's, addresses the stack's.

use super::config::TcpConfig;
use super::subflow::{Identity, Subflow, Tuple};
use crate::account::Account;
use crate::congestion::{CongestionControl, Controller};
use crate::info::{ConnectionInfo, PathInfo, Protocol};
use crate::socket::{ConnectionEvent, SocketError, SocketMarks};
use base::{Context, Event, EventMask, Instant, InterfaceId, PathId, SocketId, prefetch};
use wire::{Packet, Payload, TcpSegment};

/// Segments taken from a writer at once (Linux fills buffers of up to 64 KiB).
const WRITE_SEGS: u32 = 44;

/// A TCP socket. Begins with a cache line and with what every packet needs.
#[repr(C, align(64))]
pub struct Connection {
    /// The stack's notes.
    pub marks: SocketMarks,
    pub interface: InterfaceId,
    pub subflow: Subflow,
    controller: Controller,
    account: Account,
}

impl Connection {
    /// An active opener.
    pub fn connect(identity: &Identity, interface: InterfaceId, config: &TcpConfig) -> Connection {
        let controller = config.new_controller();
        Connection::new(Subflow::connect(identity, config), controller, interface, None)
    }

    /// A passive opener that answers `syn`.
    pub fn accept(
        now: Instant,
        identity: &Identity,
        interface: InterfaceId,
        config: &TcpConfig,
        syn: &TcpSegment,
        listener: SocketId,
    ) -> Connection {
        let controller = config.new_controller();
        let subflow = Subflow::accept(now, identity, config, syn);
        Connection::new(subflow, controller, interface, Some(listener))
    }

    fn new(
        subflow: Subflow,
        controller: Controller,
        interface: InterfaceId,
        listener: Option<SocketId>,
    ) -> Connection {
        let (marks, account) = (SocketMarks::new(listener), Account::default());
        Connection { subflow, controller, interface, marks, account }
    }

    /// Ask for the memory of what every packet needs.
    pub fn prefetch(&self) {
        let Subflow { tx, rx, loss, rtt, .. } = &self.subflow;
        prefetch(&self.marks);
        prefetch(&self.subflow.socket);
        prefetch(&self.subflow.hs);
        prefetch(&rx.ack);
        prefetch(&rx.announced_at);
        prefetch(&rx.buffer);
        prefetch(&rx.dsack);
        prefetch(&rx.data);
        prefetch(&tx.una);
        prefetch(&tx.buffer);
        prefetch(&tx.board);
        prefetch(&loss.tlp);
        prefetch(&loss.ca_state);
        prefetch(rtt);
        prefetch(&self.subflow.stats);
        prefetch(&self.subflow.tuple);
        prefetch(&self.controller);
    }

    /// Ask for what sending needs besides, once it is known whether there is any.
    pub fn prefetch_more(&self) {
        let Subflow { tx, loss, min_rtt, .. } = &self.subflow;
        if tx.board.is_empty() {
            return;
        }
        prefetch(&tx.max_packets_out);
        prefetch(&tx.tuning);
        prefetch(&loss.rack);
        prefetch(min_rtt);
        self.controller.prefetch();
        tx.board.prefetch();
        tx.buffer.prefetch();
    }

    /// A segment arrived.
    pub fn handle_segment(&mut self, cx: &mut Context<'_>, segment: &mut TcpSegment) {
        self.subflow.handle_segment(cx, &mut self.controller, segment);
        if cx.wants(EventMask::ACCOUNT) {
            let (_, gaps) = self.subflow.held();
            self.account.holds(cx, self.subflow.socket, gaps, gaps > 0);
        }
    }

    /// A deadline passed.
    pub fn on_timeout(&mut self, cx: &mut Context<'_>) {
        self.subflow.on_timeout(cx, &mut self.controller);
    }

    /// The next segment to send.
    pub fn poll_segment(&mut self, cx: &mut Context<'_>) -> Option<Box<Packet>> {
        let packet = self.subflow.poll_segment(cx, &mut self.controller);
        if packet.is_none() && cx.wants(EventMask::ACCOUNT) {
            let (socket, why) = (self.subflow.socket, self.subflow.blocked_reason());
            let (end, unsent) = (self.subflow.write_end(), self.subflow.unsent());
            self.account.stops(cx, socket, why, end, unsent);
        }
        packet
    }

    /// Append to the stream; how many bytes were taken.
    pub fn write(&mut self, payload: &Payload) -> Result<u32, SocketError> {
        self.subflow.write(payload)
    }

    /// Take the next bytes in order.
    pub fn read(&mut self, cx: &mut Context<'_>, max: u32) -> Result<Payload, SocketError> {
        self.subflow.read(cx, max)
    }

    /// No more will be written.
    pub fn shutdown(&mut self, cx: &mut Context<'_>) -> Result<(), SocketError> {
        self.subflow.shutdown(cx)
    }

    /// News for the application.
    pub fn take_news(&mut self) -> Vec<ConnectionEvent> {
        self.subflow.take_events()
    }

    /// The state, for measurement.
    pub fn info(&self) -> ConnectionInfo {
        let tcp = self.subflow.info(&self.controller);
        let Tuple { local, remote } = *self.subflow.tuple();
        let (readable, gaps) = self.subflow.held();
        let path = PathInfo {
            path: PathId(0),
            interface: self.interface,
            local,
            remote,
            backup: false,
            probing: false,
            is_over: tcp.is_over(),
            first_sent_bytes: tcp.bytes_sent.saturating_sub(tcp.bytes_retrans),
            segs_retrans: tcp.segs_retrans,
            spurious_retrans: tcp.spurious_retrans,
            reinjected_bytes: 0,
            reinjected_segs: 0,
            tcp,
        };
        ConnectionInfo {
            protocol: Protocol::Tcp,
            paths: vec![path],
            retired: Vec::new(),
            fallback: false,
            snd_una: self.subflow.tx.una,
            snd_nxt: self.subflow.tx.nxt,
            rcv_nxt: self.subflow.rx.nxt(),
            reinjected_bytes: 0,
            probe_bytes: 0,
            duplicate_bytes: 0,
            refused: 0,
            held_bytes: readable + gaps,
            mappings: 0,
        }
    }
}

impl Subflow {
    /// Append to the stream as far as the send buffer reaches (Linux `tcp_sendmsg`: in buffers of
    /// up to 64 KiB while there is room for one to begin).
    pub(super) fn write(&mut self, payload: &Payload) -> Result<u32, SocketError> {
        if self.tx.fin_queued || self.fsm.is_closed() {
            return Err(SocketError::Closed);
        }
        if !self.fsm.may_send() {
            return Err(SocketError::NotConnected);
        }
        let len = payload.len();
        let mut taken = 0;
        while taken < len && self.has_room() {
            let step = (len - taken).min(WRITE_SEGS * self.tx.mss);
            self.tx.buffer.append(payload.slice(taken, step));
            taken += step;
        }
        self.tx.writer_waits |= taken < len;
        Ok(taken)
    }

    fn has_room(&self) -> bool {
        let below_lowat =
            self.options.notsent_lowat.is_none_or(|lowat| self.tx.unsent() < u64::from(lowat));
        below_lowat && self.tx.tuning.has_room(self.tx.memory())
    }

    pub(super) fn read(&mut self, cx: &mut Context<'_>, max: u32) -> Result<Payload, SocketError> {
        let offset = self.rx.data.read_offset();
        let payload = self.rx.data.read(max);
        let len = payload.len();
        if len == 0 {
            let ended = self.rx.fin_received || self.fsm.is_closed();
            return if ended { Err(SocketError::Closed) } else { Ok(payload) };
        }
        let socket = self.socket;
        cx.record(EventMask::DELIVERY, || Event::Delivered { socket, offset, len });
        let opened = self.rx.on_read(cx.now, self.hs.our_shift);
        let unacked = self.rx.nxt().saturating_sub(self.rx.announced_at);
        let all_read = self.rx.data.readable() == 0;
        let size = self.rx.buffer.segment_size();
        let pushed = all_read && self.rx.ack.on_all_read(unacked, size);
        if self.fsm.is_synchronised() && (opened || pushed) {
            self.rx.ack.now();
        }
        Ok(payload)
    }

    /// Bytes that can be read.
    pub fn readable(&self) -> u64 {
        self.rx.data.readable()
    }

    pub(super) fn shutdown(&mut self, cx: &mut Context<'_>) -> Result<(), SocketError> {
        if self.fsm.is_syn_sent() {
            self.timers.stop_all();
            self.hs.due = false;
            self.fsm.close(cx);
            return Ok(());
        }
        if self.fsm.is_closed() {
            return Err(SocketError::NotConnected);
        }
        self.tx.fin_queued = true;
        Ok(())
    }

    /// Whether an acknowledgement is to go out at once.
    pub fn needs_ack_now(&self) -> bool {
        self.rx.ack.is_urgent()
    }
}
