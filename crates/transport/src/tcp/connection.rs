//! `Connection`: a plain TCP socket, which is one subflow, its controller, and its account.
//!
//! Segments are left to the subflow, addresses to the stack.

use super::config::TcpConfig;
use super::stray::opens_connection;
use super::subflow::{Identity, Subflow};
use crate::account::Account;
use crate::congestion::{CongestionControl, Controller};
use crate::endpoint::{AddressChange, Draws, Endpoint, IpProtocol, NewPath, Transmit, Tuple};
use crate::info::{ConnectionInfo, PathInfo, Protocol};
use crate::scheduler::PathSet;
use crate::socket::{ConnectionEvent, SocketError, SocketMarks};
use base::{Context, EventMask, Instant, InterfaceId, PathId, SocketId, prefetch};
use std::net::IpAddr;
use wire::{Body, Payload, SeqNumber, TcpSegment};

/// A TCP socket. It begins with a cache line and with what every packet needs.
#[repr(C, align(64))]
pub(crate) struct Connection {
    marks: SocketMarks,
    interface: InterfaceId,
    subflow: Subflow,
    controller: Controller,
    account: Account,
}

impl Connection {
    /// Opens a connection.
    pub(crate) fn connect(
        cx: &Context<'_>,
        draws: &mut Draws,
        path: &NewPath,
        config: &TcpConfig,
    ) -> Connection {
        let identity = Identity::draw(cx, draws, path);
        let subflow = Subflow::connect(&identity, config);
        Connection::new(subflow, config.new_controller(), path.interface, None)
    }

    /// Answers `syn`, which arrived for a listener.
    pub(crate) fn accept(
        cx: &Context<'_>,
        draws: &mut Draws,
        path: &NewPath,
        (listener, config): (SocketId, &TcpConfig),
        syn: &TcpSegment,
    ) -> Connection {
        let identity = Identity::draw(cx, draws, path);
        let subflow = Subflow::accept(cx.now, &identity, config, syn);
        Connection::new(subflow, config.new_controller(), path.interface, Some(listener))
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

    /// Nothing more can be sent for now: records why.
    #[inline(never)]
    fn record_stop(&mut self, cx: &mut Context<'_>) {
        let (socket, why) = (self.subflow.socket(), self.subflow.blocked_reason());
        if self.account.says(why) {
            return;
        }
        let (end, unsent) = (self.subflow.write_end(), self.subflow.unsent());
        self.account.stops(cx, socket, why, end, unsent);
    }

    /// A segment was handled: records what waits behind gaps.
    #[inline(never)]
    fn record_gaps(&mut self, cx: &mut Context<'_>) {
        let (_, gaps) = self.subflow.held();
        self.account.holds(cx, self.subflow.socket(), gaps, gaps > 0);
    }

    /// Requests the memory that every packet needs.
    pub(crate) fn prefetch(&self) {
        prefetch(&self.marks);
        self.subflow.prefetch();
    }

    /// Requests the memory that receiving or sending needs besides. Returns whether it probably
    /// receives.
    pub(crate) fn prefetch_more(&self) -> bool {
        self.subflow.prefetch_more();
        if self.subflow.is_idle() {
            return true;
        }
        prefetch(&self.controller);
        prefetch(&self.account);
        false
    }

    /// Requests the memory that the fields refer to.
    pub(crate) fn prefetch_last(&self) {
        if !self.subflow.is_idle() {
            self.subflow.prefetch_last();
            self.controller.prefetch();
        }
    }
}

impl Endpoint for Connection {
    fn marks(&mut self) -> &mut SocketMarks {
        &mut self.marks
    }

    fn ip_protocol(&self) -> IpProtocol {
        IpProtocol::Tcp
    }

    // Saves a call a segment.
    #[inline(always)]
    fn handle(&mut self, cx: &mut Context<'_>, _path: PathId, body: &mut Body) {
        let Body::Tcp(segment) = body else { return };
        self.subflow.handle_segment(cx, &mut self.controller, segment);
        if cx.wants(EventMask::ACCOUNT) && !self.account.says_held(self.subflow.held().1) {
            self.record_gaps(cx);
        }
    }

    // Saves a call a segment.
    #[inline(always)]
    fn poll_transmit(&mut self, cx: &mut Context<'_>) -> Option<Transmit> {
        let packet = self.subflow.poll_segment(cx, &mut self.controller);
        if packet.is_none() && cx.wants(EventMask::ACCOUNT) {
            self.record_stop(cx);
        }
        let bytes = self.subflow.last_len();
        Some(Transmit { interface: self.interface, packet: packet?, bytes })
    }

    #[inline]
    fn deadline(&mut self) -> Instant {
        self.subflow.deadline_before(self.marks.armed_at)
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>) {
        self.subflow.on_timeout(cx, &mut self.controller);
    }

    #[inline]
    fn on_departed(&mut self, _path: PathId, bytes: u32) -> bool {
        self.subflow.on_departed(bytes)
    }

    #[inline]
    fn on_departure_known(&mut self, departed_by: Instant, _path: PathId, at: Instant) -> bool {
        self.subflow.on_departure_known(departed_by, at)
    }

    fn recall(&mut self, departed_by: Instant) -> PathSet {
        let none = PathSet::EMPTY;
        if self.subflow.recall(departed_by) { none.with(PathId(0)) } else { none }
    }

    fn on_reset(&mut self, cx: &mut Context<'_>, _path: PathId) {
        self.subflow.handle_reset(cx);
    }

    fn on_unreachable(&mut self, cx: &mut Context<'_>, _path: PathId, quoted: Option<SeqNumber>) {
        self.subflow.on_unreachable(cx, quoted);
    }

    fn write(&mut self, _cx: &mut Context<'_>, payload: &Payload) -> Result<u32, SocketError> {
        self.subflow.write(payload)
    }

    #[inline(always)]
    fn read(&mut self, cx: &mut Context<'_>, max: u32) -> Result<Payload, SocketError> {
        self.subflow.read(cx, max)
    }

    fn readable(&self) -> u64 {
        self.subflow.readable()
    }

    fn shutdown(&mut self, cx: &mut Context<'_>) -> Result<(), SocketError> {
        self.subflow.shutdown(cx)
    }

    fn abort(&mut self, cx: &mut Context<'_>) {
        self.subflow.abort(cx);
    }

    fn on_released(&mut self, cx: &mut Context<'_>) {
        self.subflow.on_released(cx);
    }

    fn has_urgent(&self) -> bool {
        self.subflow.needs_ack_now()
    }

    fn has_events(&self) -> bool {
        self.subflow.has_events()
    }

    fn take_events(&mut self, events: &mut Vec<ConnectionEvent>) {
        self.subflow.move_events(events);
    }

    fn take_readable(&mut self) -> bool {
        self.subflow.take_readable()
    }

    fn is_closed(&self) -> bool {
        self.subflow.is_closed()
    }

    fn info(&self) -> ConnectionInfo {
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
            queued_bytes: 0,
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
            sacks: 0,
            refused: 0,
            held_bytes: readable + gaps,
            mappings: 0,
        }
    }

    fn on_addresses(
        &mut self,
        _cx: &mut Context<'_>,
        _addresses: &[IpAddr],
        interface: InterfaceId,
        change: AddressChange,
    ) -> bool {
        if interface == self.interface {
            self.subflow.set_link_down(change == AddressChange::Down);
        }
        false
    }

    fn paths(&self) -> Vec<(Tuple, InterfaceId)> {
        vec![(*self.subflow.tuple(), self.interface)]
    }

    /// A SYN can reopen a connection in TIME-WAIT (RFC 9293 s3.6.1).
    #[inline(always)]
    fn is_replaced_by(&self, _path: PathId, body: &Body) -> bool {
        let Body::Tcp(segment) = body else { return false };
        self.subflow.is_closed()
            || (opens_connection(segment) && self.subflow.may_be_reopened(segment))
    }
}

// A larger one takes 2048 bytes of the allocator.
const _: () = assert!(size_of::<Connection>() <= 1792);
