//! `Connection`: a plain TCP socket, which is one subflow, its controller, and its account.
//!
//! Segments are left to the subflow, addresses to the stack.

use super::config::TcpConfig;
use super::subflow::{Identity, Subflow, Tuple};
use crate::account::Account;
use crate::congestion::{CongestionControl, Controller};
use crate::info::{ConnectionInfo, PathInfo, Protocol};
use crate::socket::{ConnectionEvent, SocketError, SocketMarks};
use base::{Context, EventMask, Instant, InterfaceId, PathId, SocketId, prefetch};
use wire::{Packet, Payload, TcpSegment};

/// A TCP socket. It begins with a cache line and with what every packet needs.
#[repr(C, align(64))]
pub struct Connection {
    /// The stack's record of the socket.
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

    /// Requests the memory that every packet needs.
    pub fn prefetch(&self) {
        prefetch(&self.marks);
        self.subflow.prefetch();
        prefetch(&self.controller);
    }

    /// Requests the memory that sending needs besides, once it is known whether there is any.
    pub fn prefetch_more(&self) {
        if self.subflow.prefetch_more() {
            self.controller.prefetch();
        }
    }

    /// A segment arrived.
    pub fn handle_segment(&mut self, cx: &mut Context<'_>, segment: &mut TcpSegment) {
        self.subflow.handle_segment(cx, &mut self.controller, segment);
        if cx.wants(EventMask::ACCOUNT) {
            let (_, gaps) = self.subflow.held();
            self.account.holds(cx, self.subflow.socket(), gaps, gaps > 0);
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
            let (socket, why) = (self.subflow.socket(), self.subflow.blocked_reason());
            let (end, unsent) = (self.subflow.write_end(), self.subflow.unsent());
            self.account.stops(cx, socket, why, end, unsent);
        }
        packet
    }

    /// Appends to the stream; returns the number of bytes taken.
    pub fn write(&mut self, payload: &Payload) -> Result<u32, SocketError> {
        self.subflow.write(payload)
    }

    /// Takes the next bytes in order.
    pub fn read(&mut self, cx: &mut Context<'_>, max: u32) -> Result<Payload, SocketError> {
        self.subflow.read(cx, max)
    }

    /// Closes the sending direction.
    pub fn shutdown(&mut self, cx: &mut Context<'_>) -> Result<(), SocketError> {
        self.subflow.shutdown(cx)
    }

    /// Events for the application.
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
            snd_una: self.subflow.una(),
            snd_nxt: self.subflow.nxt(),
            rcv_nxt: self.subflow.received_to(),
            reinjected_bytes: 0,
            probe_bytes: 0,
            duplicate_bytes: 0,
            refused: 0,
            held_bytes: readable + gaps,
            mappings: 0,
        }
    }
}
