//! `Connection`: an MPTCP socket, made of its parts; the application's side, and its end.
//!
//! Each part keeps its own rules. What needs several of them is in four files: what the stack and
//! the application ask for here, opening and falling back in `handshake`, what arrives in `input`,
//! what the connection does by itself in `output`.

use super::addresses::Addresses;
use super::config::{MptcpConfig, Start};
use super::deadlines::{Deadlines, Watched};
use super::fallback::Fallback;
use super::host::refusal;
use super::keys::Keys;
use super::lifecycle::Lifecycle;
use super::management::PathManagement;
use super::numbers::SendNumbers;
use super::paths::SubflowRules;
use super::receive::DataReceive;
use super::stage::Stage;
use super::subflows::Subflows;
use super::write_limit::WriteLimit;
use crate::account::Account;
use crate::congestion::{CongestionControl, Controller};
use crate::endpoint::{
    AddressChange, Draws, Endpoint, IpProtocol, NewPath, PathRequest, Tag, Transmit, Tuple,
};
use crate::info::{ConnectionInfo, Protocol};
use crate::multipath::Sender;
use crate::scheduler::PathSet;
use crate::socket::{ConnectionEvent, SocketError, SocketMarks};
use crate::tcp::subflow::Identity;
use base::{Context, Event, EventMask, Instant, InterfaceId, PathId, Purpose, SocketId};
use std::net::IpAddr;
use wire::mptcp::{MptcpOption, MptcpOptions, ResetReason};
use wire::{Body, Payload, SeqNumber};

/// An MPTCP socket.
pub(crate) struct Connection {
    pub(super) socket: SocketId,
    pub(super) config: MptcpConfig,
    pub(super) keys: Keys,
    pub(super) fallback: Fallback,
    pub(super) lifecycle: Lifecycle,
    pub(super) subflows: Subflows,
    pub(super) sender: Sender,
    pub(super) numbers: SendNumbers,
    pub(super) rules: SubflowRules,
    write_limit: WriteLimit,
    pub(super) receive: DataReceive,
    pub(super) controller: Controller,
    pub(super) account: Account,
    pub(super) management: Watched,
    pub(super) deadlines: Deadlines,
    /// Options, mappings and joins refused.
    pub(super) refused: u64,
    marks: SocketMarks,
}

impl Connection {
    /// Without a subflow yet.
    pub(super) fn new(start: &Start<'_>, receive: DataReceive) -> Connection {
        let config = start.config.clone();
        let switches = config.tcp.profile.switches();
        let (host, routes) = start.host;
        let addresses = Addresses::new(start.local, start.remote, host, &config.backup);
        let joins = config.mainline_limits || config.joins_mappings;
        let rules = SubflowRules::new(&switches, joins);
        let management = PathManagement::new(&config, start.client, addresses, routes.clone());
        let sender = Sender::new(config.sender(start.socket, rules.one_at_a_time));
        Connection {
            socket: start.socket,
            keys: Keys::new(start.client, start.key).with_checksum(config.checksum),
            fallback: Fallback::default(),
            lifecycle: Lifecycle::default(),
            subflows: Subflows::default(),
            sender,
            numbers: SendNumbers::new(
                config.idsn(start.client, start.key),
                !switches.multipath.short_numbers,
            ),
            rules,
            write_limit: WriteLimit::new(&config),
            receive,
            controller: config.tcp.new_controller(),
            account: Account::default(),
            management: Watched::new(management),
            deadlines: Deadlines::default(),
            refused: 0,
            marks: SocketMarks::new(start.listener),
            config,
        }
    }

    /// A writer that waits lets the buffers of all subflows grow.
    pub(super) fn set_writer_waits(&mut self, waits: bool) {
        self.sender.queue.set_writer_waits(waits);
        for entry in &mut self.subflows {
            entry.tcp.set_writer_waiting(waits);
        }
    }

    /// Acknowledgements freed space: wake a writer that waits.
    #[inline]
    pub(super) fn check_writer(&mut self) {
        if self.sender.queue.writer_waits() {
            self.check_waiting_writer();
        }
    }

    #[inline(never)]
    fn check_waiting_writer(&mut self) {
        let limit = self.write_limit.bytes(&mut self.subflows, &self.controller);
        if WriteLimit::is_writable(limit, &mut self.sender.queue) {
            self.wake_writer();
        }
    }

    // A call of its own: most checks find too little room, and save no registers.
    #[inline(never)]
    fn wake_writer(&mut self) {
        self.set_writer_waits(false);
        self.lifecycle.push(ConnectionEvent::Writable);
    }

    /// The connection is TCP, over or failed: it opens and schedules nothing.
    pub(super) const fn is_over(&self) -> bool {
        self.fallback.is_plain() || self.lifecycle.is_closed()
    }

    /// It fell back to TCP.
    pub(crate) const fn is_plain(&self) -> bool {
        self.fallback.is_plain()
    }

    /// Limits the time until the peer closes its direction to 60 s, once the application released
    /// the socket and the DATA_FIN is acknowledged.
    pub(super) fn bound_linger(&mut self, now: Instant) {
        if self.lifecycle.is_released() && self.numbers.is_fin_acked() && !self.is_over() {
            self.deadlines.start_end(now);
        }
    }

    /// Send the DATA_FIN once everything written was passed to subflows.
    #[inline]
    pub(super) fn check_fin(&mut self, cx: &mut Context<'_>) {
        if self.numbers.is_fin_due() && self.sender.queue.is_drained() {
            self.send_fin(cx);
        }
    }

    fn send_fin(&mut self, cx: &mut Context<'_>) {
        // A client without data may end what its peer does not know to be open yet; its keys go
        // along in turns with the DATA_FIN.
        let known = self.keys.is_fully_established()
            || (self.keys.is_client() && self.keys.remote().is_some());
        if self.is_plain() || !known {
            return;
        }
        self.numbers.on_fin_sent();
        self.offer_fin();
        self.subflows.send_data_fin();
        self.deadlines.start_fin(cx.now);
    }

    /// Every open subflow repeats the DATA_FIN while it is not acknowledged.
    pub(super) fn offer_fin(&mut self) {
        if self.numbers.is_fin_sent() && !self.numbers.is_fin_acked() && !self.is_plain() {
            let end = self.sender.queue.end();
            let mapping = self.numbers.fin_mapping(end, self.keys.uses_checksum());
            self.subflows.set_data_fin(Some(mapping));
        }
    }

    /// The peer acknowledged the DATA_FIN.
    pub(super) fn on_fin_acked(&mut self, cx: &mut Context<'_>) {
        self.deadlines.stop_fin();
        self.subflows.set_data_fin(None);
        self.bound_linger(cx.now);
        self.check_closed(cx);
    }

    /// Both DATA_FINs are acknowledged: subflows end (as Linux, which waits for both).
    pub(super) fn check_closed(&mut self, cx: &mut Context<'_>) {
        if self.is_plain() || !self.receive.is_fin_received() || !self.numbers.is_fin_acked() {
            return;
        }
        for index in 0..self.subflows.len() {
            let entry = &mut self.subflows[index];
            if entry.stage() == Stage::Open && !entry.tcp.is_shut_down() {
                entry.tcp.finish(cx);
                self.subflows.wake(index);
            } else if matches!(entry.stage(), Stage::Opening | Stage::PreEstablished) {
                self.reset(cx, index, ResetReason::UNSPECIFIED);
            }
        }
        self.close();
    }

    /// Stops all timers and repetitions.
    pub(super) fn stop_timers(&mut self) {
        self.sender.stop();
        self.deadlines = Deadlines::default();
        self.management.stop();
    }

    fn close(&mut self) {
        self.stop_timers();
        self.lifecycle.close();
    }

    /// After a subflow ended: without another one a new one may be opened within a minute (Linux
    /// `close_timeout`), but not before the connection was established.
    pub(super) fn check_alone(&mut self, cx: &mut Context<'_>, error: SocketError) {
        if self.lifecycle.is_closed() || !self.subflows.are_all_gone() {
            return;
        }
        let data_acked = self.sender.queue.una() >= self.sender.queue.end();
        if self.is_plain() || !self.keys.is_fully_established() {
            self.fail(error);
        } else if self.receive.is_fin_received() && self.numbers.is_fin_sent() && data_acked {
            // The peer, which ends its subflows when both DATA_FINs are acknowledged, did: only
            // the acknowledgement of ours was lost.
            self.close();
        } else {
            self.deadlines.start_end(cx.now);
        }
    }

    fn reset_all(&mut self, cx: &mut Context<'_>) {
        let mut options = MptcpOptions::default();
        if let Some(receiver) = self.keys.remote().filter(|_| !self.is_plain()) {
            options.push(MptcpOption::FastClose { receiver });
        }
        for index in 0..self.subflows.len() {
            self.reset_subflow(cx, index, options.clone());
        }
    }

    /// The peer ended the connection at once.
    pub(super) fn on_fast_close(&mut self, cx: &mut Context<'_>) {
        for index in 0..self.subflows.len() {
            self.reset_subflow(cx, index, MptcpOptions::default());
        }
        self.fail(SocketError::Reset);
    }

    /// Fails: MP_FASTCLOSE and a reset on every subflow.
    pub(super) fn fail_all(&mut self, cx: &mut Context<'_>) {
        self.reset_all(cx);
        self.fail(SocketError::TimedOut);
    }

    /// The connection failed.
    pub(super) fn fail(&mut self, error: SocketError) {
        self.stop_timers();
        self.lifecycle.fail(error);
    }

    /// Reset one subflow with a reason (RFC 8684 s3.6).
    pub(super) fn reset(&mut self, cx: &mut Context<'_>, index: usize, reason: ResetReason) {
        let option = MptcpOption::TcpRst { transient: false, reason };
        self.reset_subflow(cx, index, option.into());
    }

    pub(super) fn reset_subflow(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        options: MptcpOptions,
    ) {
        if self.subflows.reset(cx, index, options) {
            self.lose_subflow(cx, index);
        }
    }

    /// A subflow ended: its data are sent on others.
    pub(super) fn lose_subflow(&mut self, cx: &mut Context<'_>, index: usize) {
        if !self.subflows.on_gone(index) {
            return;
        }
        let path = self.subflows[index].path;
        self.controller.on_path_removed(path);
        let (sender, paths) = self.parts();
        sender.on_path_removed(cx.now, &paths, path);
        self.resolve_join(cx);
        if self.subflows.are_all_gone() && self.keys.is_fully_established() && !self.is_over() {
            self.deadlines.start_end(cx.now);
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

    #[inline]
    fn handle(&mut self, cx: &mut Context<'_>, path: PathId, body: &mut Body) {
        if let Body::Tcp(segment) = body {
            self.handle_segment(cx, path.index(), segment);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, cx: &mut Context<'_>) -> Option<Transmit> {
        if self.is_idle(cx) {
            return None;
        }
        self.poll_packet(cx)
    }

    // Saves a call a drain, with the parts of it.
    #[inline(always)]
    fn deadline(&mut self) -> Instant {
        self.earliest_deadline(self.marks.armed_at)
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>) {
        self.run_timers(cx);
    }

    // The stack has a call of its own around it.
    #[inline(always)]
    fn on_departed(&mut self, path: PathId, bytes: u32) -> bool {
        let released = self.subflows.on_departed(path, bytes);
        if released {
            self.sender.set_due();
        }
        released
    }

    #[inline]
    fn on_departure_known(&mut self, departed_by: Instant, path: PathId, at: Instant) -> bool {
        let entry = self.subflows.get_mut(path.index());
        entry.is_some_and(|entry| entry.tcp.on_departure_known(departed_by, at))
    }

    fn recall(&mut self, departed_by: Instant) -> PathSet {
        let waiting = self.subflows.iter_mut().filter_map(|entry| {
            let waits = entry.tcp.recall(departed_by);
            waits.then_some(entry.path)
        });
        waiting.fold(PathSet::EMPTY, PathSet::with)
    }

    fn on_reset(&mut self, cx: &mut Context<'_>, path: PathId) {
        let Some(entry) = self.subflows.get_mut(path.index()) else { return };
        entry.tcp.handle_reset(cx);
        self.after_subflow(cx, path.index());
        self.subflows.wake(path.index());
    }

    fn on_unreachable(&mut self, cx: &mut Context<'_>, path: PathId, quoted: Option<SeqNumber>) {
        let Some(entry) = self.subflows.get_mut(path.index()) else { return };
        entry.tcp.on_unreachable(cx, quoted);
        self.after_subflow(cx, path.index());
    }

    fn write(&mut self, cx: &mut Context<'_>, payload: &Payload) -> Result<u32, SocketError> {
        if self.numbers.is_fin_queued() || self.lifecycle.is_closed() {
            return Err(SocketError::Closed);
        }
        if self.subflows.first().is_none_or(|entry| entry.stage() == Stage::Opening) {
            return Err(SocketError::NotConnected);
        }
        let limit = self.write_limit.bytes(&mut self.subflows, &self.controller);
        let taken = WriteLimit::append(&mut self.sender.queue, payload, limit);
        if taken < payload.len() {
            self.set_writer_waits(true);
        }
        self.sender.on_write();
        if self.is_plain() {
            self.push_plain();
        } else {
            self.schedule_written(cx);
        }
        Ok(taken)
    }

    fn read(&mut self, cx: &mut Context<'_>, max: u32) -> Result<Payload, SocketError> {
        let (offset, payload) = self.receive.read(max);
        let len = payload.len();
        if len == 0 {
            let ended = self.receive.is_fin_received() || self.lifecycle.is_closed();
            return if ended { Err(SocketError::Closed) } else { Ok(payload) };
        }
        let socket = self.socket;
        cx.record(EventMask::DELIVERY, || Event::Delivered { socket, offset, len });
        self.receive.on_read(cx.now, len, &mut self.subflows);
        Ok(payload)
    }

    fn readable(&self) -> u64 {
        self.receive.readable()
    }

    fn shutdown(&mut self, cx: &mut Context<'_>) -> Result<(), SocketError> {
        if !self.is_plain() && self.lifecycle.is_closed() {
            return Err(SocketError::NotConnected);
        }
        self.numbers.queue_fin();
        if self.is_plain() {
            self.push_plain();
        } else {
            self.check_fin(cx);
        }
        Ok(())
    }

    /// MP_FASTCLOSE and a reset on every subflow (RFC 8684 s3.5, option R).
    fn abort(&mut self, cx: &mut Context<'_>) {
        self.reset_all(cx);
        self.stop_timers();
        self.lifecycle.abort();
    }

    fn on_released(&mut self, cx: &mut Context<'_>) {
        self.lifecycle.release();
        for entry in &mut self.subflows {
            entry.tcp.on_released(cx);
        }
        self.bound_linger(cx.now);
    }

    fn has_urgent(&self) -> bool {
        !self.subflows.is_queue_empty()
    }

    fn has_events(&self) -> bool {
        self.lifecycle.has_events()
    }

    fn take_events(&mut self, events: &mut Vec<ConnectionEvent>) {
        self.lifecycle.take_events(events);
    }

    fn take_readable(&mut self) -> bool {
        self.lifecycle.take_readable()
    }

    #[inline]
    fn is_closed(&self) -> bool {
        self.lifecycle.is_closed()
            && self.subflows.iter().all(|entry| entry.tcp.is_closed())
            && self.subflows.is_queue_empty()
    }

    fn info(&self) -> ConnectionInfo {
        let queue = &self.sender.queue;
        let numbers = (!self.is_plain()).then_some(&self.numbers);
        ConnectionInfo {
            protocol: Protocol::Mptcp,
            paths: self.subflows.infos(&self.sender, numbers, &self.controller),
            retired: self.subflows.retired().to_vec(),
            fallback: self.is_plain(),
            snd_una: self.numbers.una(queue.una()),
            snd_nxt: queue.nxt(),
            rcv_nxt: self.receive.nxt(),
            reinjected_bytes: queue.reinjected_bytes(),
            probe_bytes: queue.probe_bytes(),
            duplicate_bytes: self.receive.duplicate_bytes(),
            sacks: 0,
            refused: self.refused,
            held_bytes: self.subflows.held() + self.receive.held(),
            mappings: self.subflows.iter().map(|entry| entry.received.len() as u32).sum(),
        }
    }

    fn paths(&self) -> Vec<(Tuple, InterfaceId)> {
        self.subflows.iter().map(|entry| (*entry.tcp.tuple(), entry.interface)).collect()
    }

    fn is_replaced_by(&self, path: PathId, _body: &Body) -> bool {
        self.subflows.get(path.index()).is_none_or(|entry| entry.tcp.is_closed())
    }

    fn tag(&self) -> Option<Tag> {
        Some(Tag::Token(self.keys.token()))
    }

    fn admit_path(&mut self, ends: &Tuple, body: &Body) -> Result<PathId, Option<Body>> {
        if let Some(path) = self.subflows.next_path().filter(|_| self.may_accept_join()) {
            return Ok(path);
        }
        let asked = self.ask_rivals(ends);
        let Body::Tcp(syn) = body else { return Err(None) };
        Err(Some(refusal(ends, syn, ResetReason::ADMINISTRATIVELY_PROHIBITED, asked)))
    }

    fn accept_path(
        &mut self,
        cx: &mut Context<'_>,
        draws: &mut Draws,
        path: &NewPath,
        body: &Body,
    ) {
        let Body::Tcp(syn) = body else { return };
        let identity = Identity::draw(cx, draws, path);
        let nonce = draws.draw(cx, Purpose::Key) as u32;
        self.accept_join(cx.now, &identity, path.interface, syn, nonce);
    }

    fn poll_path(&mut self) -> Option<PathRequest> {
        let join = *self.next_join()?;
        let (local, remote, interface) = (join.local, join.remote, join.interface);
        Some(PathRequest { path: self.subflows.next_path(), interface, local, remote })
    }

    fn open_path(&mut self, cx: &mut Context<'_>, draws: &mut Draws, path: &NewPath) {
        let Some(join) = self.management.take_request() else { return };
        let identity = Identity::draw(cx, draws, path);
        let nonce = draws.draw(cx, Purpose::Key) as u32;
        match join.group {
            Some(group) => self.open_simultaneous(&join, &identity, group),
            None => self.open_join(&join, &identity, nonce),
        }
    }

    fn on_path_unopened(&mut self, cx: &mut Context<'_>) {
        // A path of a group is opened with the connection or, later, as any other.
        if let Some(join) = self.management.take_request().filter(|join| join.group.is_none()) {
            self.on_unopened(cx, &join);
        }
    }

    fn ends_replaced_by(&self, path: PathId) -> Option<Tuple> {
        self.subflows.get(path.index()).map(|entry| *entry.tcp.tuple())
    }

    fn on_addresses(
        &mut self,
        cx: &mut Context<'_>,
        addresses: &[IpAddr],
        interface: InterfaceId,
        change: AddressChange,
    ) -> bool {
        for address in addresses {
            self.on_local_address(cx, *address, interface, change);
        }
        true
    }

    fn set_interface_backup(&mut self, interface: InterfaceId, backup: bool) -> bool {
        self.mark_interface(interface, backup);
        true
    }

    fn set_address_backup(&mut self, local: IpAddr, backup: bool) -> bool {
        self.set_backup(local, backup);
        true
    }
}
