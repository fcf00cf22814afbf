//! What a connection does by itself: packets to send, timers, and the path manager's commands
//! (RFC 8684 s3.3.8, s3.4).

use super::config::MptcpConfig;
use super::connection::Connection;
use super::deadlines::Unanswered;
use super::fallback::Announcement;
use super::keys::Keys;
use super::management::{Announced, JoinRequest, NoRoom};
use super::paths::SubflowPaths;
use super::receive::DataReceive;
use super::remove_addr::KeepAlive;
use super::stage::Stage;
use super::subflow::{AddressIds, SubflowEntry};
use crate::endpoint::{AddressChange, FLOW_PATH_SHIFT, Transmit};
use crate::multipath::{Dispatched, Sender, Signs, path_id};
use crate::path_manager::{Address, Command, Ending, JoinKind, PathEvent};
use crate::scheduler::PathChange;
use crate::socket::SocketError;
use crate::tcp::receiver::SharedWindow;
use base::{Blocked, Context, Duration, EventMask, Instant, InterfaceId};
use std::hint::cold_path;
use std::net::IpAddr;
use wire::mptcp::{AddAddr, MptcpOption, ResetReason};

/// Longest time without a segment of a peer that is not considered dead: two intervals of
/// data-level retransmission.
const MAX_SILENCE: Duration = Duration::from_secs(240);
/// DATA_FINs without an answer before the connection fails.
const MAX_TRIES: u32 = 15;
/// Unanswered DATA_FINs after which a peer that agreed to fall back is assumed to use plain TCP.
const FIN_PATIENCE: u32 = 2;

impl Connection {
    /// The sender, and its paths.
    #[inline]
    pub(super) fn parts(&mut self) -> (&mut Sender, SubflowPaths<'_>) {
        let paths = SubflowPaths {
            subflows: &mut self.subflows,
            controller: &mut self.controller,
            keys: &self.keys,
            fallback: &self.fallback,
            numbers: &self.numbers,
            rules: self.rules,
            closed: self.lifecycle.is_closed(),
        };
        (&mut self.sender, paths)
    }

    /// The next packet to send, until `None`.
    pub(crate) fn poll_packet(&mut self, cx: &mut Context<'_>) -> Option<Transmit> {
        // Everything that fits is dispatched before anything leaves, so that a subflow knows
        // whether its window or the data end first, and where a burst ends (as Linux, which
        // pushes after filling). Older kernels send what a subflow has, then each segment before
        // they choose the next one's subflow.
        if !self.rules.one_at_a_time {
            self.schedule(cx);
        }
        loop {
            let transmit = self.poll_subflows(cx);
            if transmit.is_some() || !self.goes_on(cx) {
                return transmit;
            }
        }
    }

    /// The next packet of the subflows that may have one.
    #[inline(always)]
    fn poll_subflows(&mut self, cx: &mut Context<'_>) -> Option<Transmit> {
        if !self.informs_late(cx) {
            cold_path();
            self.inform_all();
        }
        while let Some(index) = self.subflows.first_queued() {
            let entry = &mut self.subflows[index];
            if entry.informed != self.receive.version() {
                if entry.tcp.is_at_rest() {
                    self.subflows.pop_queued();
                    continue;
                }
                // Only a window that all are told at once depends on the scale.
                let window = self.receive.window(0);
                inform(&self.config, &self.keys, (window, &self.receive), false, entry);
            }
            if let Some(mut packet) = entry.tcp.poll_segment(cx, &mut self.controller) {
                packet.flow |= u32::from(entry.path.0) << FLOW_PATH_SHIFT;
                // Siblings announce no less from now on.
                let window = entry.tcp.announced_window();
                let (interface, bytes) = (entry.interface, entry.tcp.last_len());
                self.receive.on_announced(window);
                return Some(Transmit { interface, packet, bytes });
            }
            self.subflows.pop_queued();
        }
        None
    }

    /// Whether `poll_packet` would do nothing, as after each segment of a receiver: asked in line.
    #[inline]
    pub(super) fn is_idle(&mut self, cx: &Context<'_>) -> bool {
        !self.sender.is_due()
            && !self.sender.queue.writer_waits()
            && self.informs_late(cx)
            && self.subflows.are_at_rest()
            && (!cx.wants(EventMask::ACCOUNT) || self.has_reported_idle())
    }

    /// Whether a subflow learns what to acknowledge and which window to announce only when it has
    /// something to send.
    #[inline]
    pub(super) fn informs_late(&self, cx: &Context<'_>) -> bool {
        cx.has_short_ways() && self.subflows.informs_late()
    }

    /// Nothing more can be sent for now. Whether a scheduler that is asked about each segment
    /// decided on another one.
    #[inline]
    fn goes_on(&mut self, cx: &mut Context<'_>) -> bool {
        // What left may have let a subflow's buffer grow.
        self.check_writer();
        let goes_on = self.rules.one_at_a_time && self.sender.is_due();
        if goes_on {
            cold_path();
            self.schedule(cx);
        } else if cx.wants(EventMask::ACCOUNT) {
            cold_path();
            self.record_idle(cx);
        }
        goes_on
    }

    /// Tells every subflow what to acknowledge and which window to announce, if that changed.
    #[inline(never)]
    fn inform_all(&mut self) {
        let version = self.receive.version();
        if self.subflows.iter().any(|entry| entry.informed != version) {
            let is_plain = self.fallback.is_plain();
            let window = self.receive.window(self.subflows.window_shift());
            for entry in self.subflows.iter_mut().filter(|entry| entry.informed != version) {
                inform(&self.config, &self.keys, (window, &self.receive), is_plain, entry);
            }
            self.subflows.set_informed(self.receive.is_shared() && !is_plain);
        }
    }

    /// Carries out the scheduler's decisions until it waits, if there may be any.
    // Two of three times there are none.
    #[inline(always)]
    fn schedule(&mut self, cx: &mut Context<'_>) {
        if !self.sender.takes_round(cx) {
            return;
        }
        let (sender, mut paths) = self.parts();
        if sender.begin_round(cx, &mut paths) {
            while self.dispatch(cx) {}
        }
    }

    /// Each write is assigned to paths before the next one, as far as they take it: a decision
    /// covers what was written until then (Linux `mptcp_sendmsg`, `__mptcp_push_pending`). Older
    /// kernels decide on segments.
    pub(super) fn schedule_written(&mut self, cx: &mut Context<'_>) {
        if !self.rules.one_at_a_time {
            self.schedule(cx);
        }
    }

    /// Carries out one decision, or a run of them. Whether another one may follow.
    // A call for each: mostly there is one.
    #[inline(never)]
    fn dispatch(&mut self, cx: &mut Context<'_>) -> bool {
        let (sender, mut paths) = self.parts();
        let before = sender.queue.nxt();
        let dispatched = sender.dispatch(cx, &mut paths);
        let ends = paths.numbers.is_fin_due() && sender.queue.is_drained();
        if ends && (dispatched != Dispatched::Nothing || sender.queue.nxt() != before) {
            cold_path();
            // All that was written is with subflows: copies at most follow the DATA_FIN.
            self.check_fin(cx);
        }
        dispatched == Dispatched::Again
    }

    /// Something happened on a subflow: whether its path works is decided by the fail-over rule.
    #[inline(never)]
    pub(super) fn judge_by(&mut self, cx: &Context<'_>, index: usize, signs: Signs) {
        let (sender, mut paths) = self.parts();
        sender.judge(cx, &mut paths, path_id(index), signs);
    }

    /// Nothing more can be sent for now: record why.
    #[cold]
    fn record_idle(&mut self, cx: &mut Context<'_>) {
        let why = self.why_idle();
        let (sender, paths) = self.parts();
        let (end, unsent) = (sender.queue.end(), sender.unsent(&paths));
        self.account.stops(cx, self.socket, why, end, unsent);
    }

    fn why_idle(&mut self) -> Blocked {
        let opening = |entry: &SubflowEntry| entry.stage() == Stage::Opening;
        let is_opening = self.subflows.first().is_none_or(opening);
        let schedules = !self.is_plain();
        let (sender, paths) = self.parts();
        if is_opening { Blocked::Opening } else { sender.why_idle(&paths, schedules) }
    }

    /// Whether `record_idle` would repeat its last report, that there is nothing to send, as after
    /// each segment of a receiver. Its subflows are at rest.
    #[inline(never)]
    fn has_reported_idle(&mut self) -> bool {
        let queue = &self.sender.queue;
        let reported = self.account.says(Blocked::NothingToSend)
            && queue.is_drained()
            && !queue.has_unacknowledged();
        debug_assert!(
            !reported || self.why_idle() == Blocked::NothingToSend,
            "{:?}",
            self.why_idle()
        );
        reported
    }

    /// Something arrived: records how many bytes wait for preceding ones. Bytes in a subflow that
    /// have arrived on another one since do not block the reader.
    #[cold]
    pub(super) fn record_held(&mut self, cx: &mut Context<'_>) {
        let gaps = self.receive.out_of_order_bytes();
        let next = self.receive.next_offset();
        let waits = |entry: &SubflowEntry| {
            entry.held > 0 && (self.is_plain() || entry.received.data_end() > next)
        };
        let blocks_reader = gaps > 0 || self.subflows.iter().any(waits);
        self.account.holds(cx, self.socket, self.subflows.held() + gaps, blocks_reader);
    }

    /// The earliest deadline of connection and subflows if it is before `at`, else any time that is
    /// not.
    #[inline(always)]
    pub(super) fn earliest_deadline(&mut self, at: Instant) -> Instant {
        let is_over = self.is_over();
        let own = self
            .sender
            .deadline(is_over)
            .min(self.deadlines.earliest())
            .min(self.management.deadline(is_over))
            .min(self.watch_deadline());
        self.subflows.iter_mut().map(|entry| entry.deadline_before(at)).fold(own, Instant::min)
    }

    /// When the fail-over rule examines a path again.
    #[inline(always)]
    fn watch_deadline(&self) -> Instant {
        let usable = |entry: &SubflowEntry| entry.is_usable();
        self.sender.watch_deadline(|path| self.subflows.get(path.index()).is_some_and(usable))
    }

    /// Runs the timers that are due.
    pub(super) fn run_timers(&mut self, cx: &mut Context<'_>) {
        for index in 0..self.subflows.len() {
            if self.subflows[index].tcp.deadline() <= cx.now {
                self.subflows[index].tcp.on_timeout(cx, &mut self.controller);
                self.after_subflow(cx, index);
                self.subflows.wake(index);
            }
            if self.subflows[index].handshake.deadline() <= cx.now {
                self.repeat_third_packet(cx, index);
            }
        }
        self.sender.check_due(cx.now, self.is_over());
        if self.watch_deadline() <= cx.now {
            let (sender, mut paths) = self.parts();
            sender.on_watch_timeout(cx, &mut paths);
        }
        if self.sender.timer_at() <= cx.now {
            self.on_data_timeout(cx);
        }
        if let Some(tries) = self.deadlines.take_fin(cx.now) {
            self.on_fin_timeout(cx, tries);
        }
        if let Some(unanswered) = self.deadlines.take_fail(cx.now) {
            self.on_fail_timeout(cx, unanswered);
        }
        if self.deadlines.is_end_due(cx.now) {
            self.fail_all(cx);
        }
        self.check_removals(cx);
        self.run_manager(cx);
    }

    /// The data timer expired: the peer's connection did not acknowledge the data in time, even if
    /// its subflows did.
    fn on_data_timeout(&mut self, cx: &mut Context<'_>) {
        let (sender, paths) = self.parts();
        let exhausted = sender.count_timeout(cx.now, &paths);
        if exhausted && self.is_peer_silent(cx.now) {
            self.fail_all(cx);
            return;
        }
        if self.rules.own_windows {
            self.subflows.probe_shut();
        }
        let (sender, mut paths) = self.parts();
        if sender.on_data_timeout(cx, &mut paths) {
            self.check_fin(cx);
        }
    }

    /// A peer that answers may keep its window closed without a limit (RFC 9293 s3.8.6.1).
    fn is_peer_silent(&self, now: Instant) -> bool {
        now - self.deadlines.heard_at() > MAX_SILENCE
    }

    /// The DATA_FIN was sent `tries` times without an answer.
    fn on_fin_timeout(&mut self, cx: &mut Context<'_>, tries: u32) {
        if tries > MAX_TRIES && self.is_peer_silent(cx.now) {
            self.fail_all(cx);
            return;
        }
        if self.fallback.is_fail_agreed() && tries > FIN_PATIENCE {
            // The peer is TCP by now, and had no data to send an infinite mapping with.
            self.fall_back(cx, Announcement::Nothing);
            return;
        }
        self.offer_fin();
        self.subflows.acknowledge_all();
    }

    /// There is a subflow again.
    pub(super) fn stop_alone_timer(&mut self) {
        if !(self.lifecycle.is_released() && self.numbers.is_fin_acked()) {
            self.deadlines.stop_end();
        }
    }

    fn on_fail_timeout(&mut self, cx: &mut Context<'_>, unanswered: Unanswered) {
        match unanswered {
            Unanswered::Repeat => self.send_fail(),
            Unanswered::GiveUp => {
                self.reset(cx, 0, ResetReason::MIDDLEBOX_INTERFERENCE);
                self.fail(SocketError::Reset);
            }
        }
    }

    /// Whether subflows are to be opened, unless the connection is over.
    #[inline]
    pub(crate) fn wants_path(&self) -> bool {
        self.management.next_request().is_some()
    }

    /// The next subflow to be opened.
    pub(crate) fn next_join(&mut self) -> Option<&JoinRequest> {
        if self.is_over() {
            self.management.clear_requests();
        }
        self.management.next_request()
    }

    /// Notify the path manager, and carry out its commands.
    pub(super) fn notify_manager(&mut self, cx: &mut Context<'_>, event: PathEvent) {
        if self.is_over() {
            return;
        }
        for command in self.management.on_event(cx.now, event, &self.subflows) {
            match command {
                Command::Announce { local_id } => self.announce(cx, local_id),
                Command::Join { local_id, remote_id, kind } => {
                    self.request_join(cx, local_id, remote_id, kind);
                }
                Command::Remove { local_id } => self.remove_address(cx, local_id),
            }
        }
    }

    /// The manager's timer, and announcements that are repeated.
    pub(super) fn run_manager(&mut self, cx: &mut Context<'_>) {
        if self.management.manager_deadline() <= cx.now {
            self.notify_manager(cx, PathEvent::Timer);
        }
        let heard_at = self.deadlines.heard_at();
        let gives_up = self.management.is_kernel();
        let (due, given_up) = self.management.addresses_mut().take_due(cx.now, heard_at, gives_up);
        for (option, before) in due {
            let before = if gives_up { 0 } else { before };
            let Some(index) = self.subflows.next_carrier(&self.sender, before) else { continue };
            self.subflows.queue_option_on(index, MptcpOption::AddAddr(option));
            // Nothing may have arrived since the last one: an acknowledgement asks for an answer.
            self.subflows[index].tcp.acknowledge();
            self.subflows.wake(index);
        }
        for local_id in given_up {
            self.notify_manager(cx, PathEvent::Echoed { local_id });
        }
    }

    fn announce(&mut self, cx: &mut Context<'_>, local_id: u8) {
        match self.management.announce(cx.now, local_id, &self.keys) {
            Announced::Now(option) => self.send_announcement(option),
            Announced::Later => {}
            // There is no echo to wait for.
            Announced::Never => self.notify_manager(cx, PathEvent::Echoed { local_id }),
        }
    }

    /// An ADD_ADDR on an acknowledgement of its own.
    pub(super) fn send_announcement(&mut self, option: AddAddr) {
        self.subflows.queue_option(&self.sender, None, MptcpOption::AddAddr(option));
    }

    fn request_join(&mut self, cx: &mut Context<'_>, local_id: u8, remote_id: u8, kind: JoinKind) {
        let forbidden = remote_id == 0 && self.keys.forbids_join_to_first();
        if self.fallback.is_pending() || self.is_plain() || forbidden {
            return;
        }
        let ids = (local_id, remote_id);
        if self.management.request_join(ids, kind, &self.subflows) == Err(NoRoom) {
            let how = Ending::NotNow;
            self.notify_manager(cx, PathEvent::Ended { local_id, remote_id, how });
        }
    }

    /// Reset the subflows of an address that was removed, and remove it at the peer. Without
    /// another subflow they stay: the address may return, and TCP would have waited for it, too.
    fn remove_address(&mut self, cx: &mut Context<'_>, local_id: u8) {
        if let Some(next) = self.management.withdraw(cx.now, local_id) {
            self.send_announcement(next);
        }
        let other = |entry: &SubflowEntry| entry.ids.local != local_id && entry.is_usable();
        if !self.management.is_known_to_peer(local_id, &self.subflows)
            || !self.subflows.iter().any(other)
        {
            return;
        }
        for index in 0..self.subflows.len() {
            let entry = &self.subflows[index];
            if entry.ids.local == local_id && entry.stage() != Stage::Gone {
                self.reset(cx, index, ResetReason::UNSPECIFIED);
                // There is room for another one.
                self.on_ended(cx, index, Ending::Refused);
            }
        }
        let option = MptcpOption::RemoveAddr { ids: vec![local_id] };
        self.subflows.queue_option(&self.sender, Some(local_id), option);
    }

    /// Ask the peer to use the subflows of an address of this host as backup, or no longer
    /// (RFC 8684 s3.3.8).
    pub(crate) fn set_backup(&mut self, ip: IpAddr, backup: bool) {
        self.management.addresses_mut().set_backup(backup, |address| address.ip == ip);
        self.set_priority(backup, |entry| entry.tcp.tuple().local.ip() == ip);
    }

    /// The same for the subflows whose packets leave on an interface, with any addresses.
    pub(crate) fn mark_interface(&mut self, interface: InterfaceId, backup: bool) {
        let addresses = self.management.addresses_mut();
        addresses.set_backup(backup, |address| address.interface == interface);
        self.set_priority(backup, |entry| entry.interface == interface);
    }

    fn set_priority(&mut self, backup: bool, which: impl Fn(&SubflowEntry) -> bool) {
        for index in 0..self.subflows.len() {
            let entry = &mut self.subflows[index];
            if !which(entry) || !entry.priority.set_local(backup) {
                continue;
            }
            if entry.stage() == Stage::Open {
                let path = entry.path;
                self.sender.on_path_changed(path, PathChange::State);
            }
            self.announce_priority(index);
        }
        self.sender.set_due();
    }

    /// Announce the priority of a subflow to the peer by MP_PRIO, if the last one announced
    /// differs; that of a subflow being opened once it is open.
    pub(super) fn announce_priority(&mut self, index: usize) {
        let entry = &mut self.subflows[index];
        if entry.stage() != Stage::Open || self.fallback.is_plain() {
            return;
        }
        if let Some(backup) = entry.priority.take_announcement() {
            self.subflows.queue_option_on(index, MptcpOption::Prio { backup });
        }
    }

    /// An address of this host came or went, or its link did.
    pub(crate) fn on_local_address(
        &mut self,
        cx: &mut Context<'_>,
        ip: IpAddr,
        interface: InterfaceId,
        change: AddressChange,
    ) {
        self.subflows.set_link_down(interface, change == AddressChange::Down);
        let addresses = self.management.addresses_mut();
        match change {
            AddressChange::Up => {
                let backup = self.config.backup.contains(&ip);
                let Some(id) = addresses.add_local(ip, interface, backup) else { return };
                self.subflows.retry_openings_from(cx, ip);
                self.notify_manager(cx, PathEvent::LocalUp(Address { id, ip }));
            }
            AddressChange::Down | AddressChange::Removed => {
                let Some(id) = addresses.lose_local(ip) else { return };
                let removed = change == AddressChange::Removed;
                self.notify_manager(cx, PathEvent::LocalDown { id, removed });
            }
        }
    }

    /// A subflow that the manager requested could not be opened: this host has no port or no path
    /// number for it now.
    pub(crate) fn on_unopened(&mut self, cx: &mut Context<'_>, request: &JoinRequest) {
        let JoinRequest { local_id, remote_id, .. } = *request;
        let how = Ending::Unreachable;
        self.notify_manager(cx, PathEvent::Ended { local_id, remote_id, how });
    }

    /// A subflow that this host opened ended: the manager may request another one.
    pub(super) fn on_ended(&mut self, cx: &mut Context<'_>, index: usize, how: Ending) {
        let entry = &self.subflows[index];
        if entry.handshake.is_initiator() {
            let AddressIds { local: local_id, remote: remote_id } = entry.ids;
            self.notify_manager(cx, PathEvent::Ended { local_id, remote_id, how });
        }
    }

    /// The peer lost addresses.
    pub(super) fn on_remove_addr(&mut self, cx: &mut Context<'_>, ids: &[u8]) {
        for id in ids {
            self.management.addresses_mut().forget_remote(*id);
            for index in 0..self.subflows.len() {
                if self.subflows[index].ids.remote == *id {
                    self.check_or_reset(cx, index);
                }
            }
            self.notify_manager(cx, PathEvent::Removed { id: *id });
        }
    }

    /// The last subflow stays: the address may return, and TCP would have waited for it, too.
    fn check_or_reset(&mut self, cx: &mut Context<'_>, index: usize) {
        let entry = &self.subflows[index];
        let alone = self.subflows.iter().filter(|entry| entry.is_usable()).count() <= 1;
        let open = entry.stage() == Stage::Open;
        if entry.stage() == Stage::Gone || (open && alone) {
            return;
        }
        if !open || !self.config.keepalive_on_withdrawal {
            self.reset(cx, index, ResetReason::UNSPECIFIED);
            return;
        }
        if entry.removal.is_none() {
            // Until it answers what it carries goes elsewhere.
            let path = entry.path;
            let (sender, paths) = self.parts();
            sender.suspect(&paths, path);
            self.subflows.check_removed(cx.now, index, 0);
        }
    }

    /// Something arrived on a subflow: the check of its address is over.
    pub(super) fn on_answer(&mut self, index: usize) {
        let entry = &mut self.subflows[index];
        if entry.removal.take().is_some() {
            self.sender.clear(entry.path);
        }
    }

    /// Checks of addresses that are due: the next keep-alive segment, or the end of a subflow on
    /// which none was answered.
    pub(super) fn check_removals(&mut self, cx: &mut Context<'_>) {
        for index in 0..self.subflows.len() {
            match self.subflows[index].removal.and_then(|check| check.on_due(cx.now)) {
                None => {}
                Some(KeepAlive::Send { sent }) => self.subflows.check_removed(cx.now, index, sent),
                Some(KeepAlive::GiveUp) => self.reset(cx, index, ResetReason::UNSPECIFIED),
            }
        }
    }
}

/// Tells a subflow what to acknowledge and which window to announce.
#[inline(never)]
fn inform(
    config: &MptcpConfig,
    keys: &Keys,
    (window, receive): (SharedWindow, &DataReceive),
    is_plain: bool,
    entry: &mut SubflowEntry,
) {
    entry.informed = receive.version();
    entry.tcp.share_window(window);
    // Linux sets SO_RCVLOWAT of subflows to 0 (`mptcp_sockopt_sync_locked`).
    entry.tcp.leave_acks_to_reader(config.mainline_limits && !is_plain);
    if let Some(mp) = entry.tcp.multipath() {
        let known = keys.remote().is_some() && !is_plain;
        mp.set_data_ack(known.then_some(receive.data_ack()));
    }
}
