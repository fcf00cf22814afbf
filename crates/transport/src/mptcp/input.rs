//! What arrives on subflows: acknowledgements, mappings, data, options (RFC 8684 s3.3 to s3.7).

use super::connection::Connection;
use super::fallback::{Announcement, FailCompany, FailReceived, OptionsLost, Refused, Suspect};
use super::receive::Mapped;
use super::stage::Stage;
use super::subflow::NextReceived;
use crate::multipath::{Signs, path_id};
use crate::path_manager::{Address, PathEvent};
use crate::scheduler::PathChange;
use crate::socket::{ConnectionEvent, SocketError};
use crate::tcp::multipath::{AcceptedSegment, Multipath, SegmentInfo};
use base::{Context, Event, EventMask, SocketId};
use std::hint::cold_path;
use wire::TcpSegment;
use wire::mptcp::{AddAddr, DataNumber, Dss, Mapping, MptcpOption, MptcpOptions, ResetReason};

/// What was taken of a subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Drained {
    Nothing,
    /// There may be more.
    Some,
    /// Mostly it was all.
    All,
}

impl Connection {
    /// A segment arrived on subflow `index`.
    pub(crate) fn handle_segment(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        segment: &mut TcpSegment,
    ) {
        let Some(entry) = self.subflows.get(index) else { return };
        let usual = cx.has_short_ways()
            && entry.takes_usual(segment)
            && self.fallback.is_multipath()
            && self.keys.remote().is_some();
        if !usual {
            cold_path();
            self.handle_any(cx, index, segment);
            return;
        }
        if let Some(accepted) = self.pass_to_subflow(cx, index, segment) {
            self.sender.on_arrival(cx.now, path_id(index));
            if let Some(dss) = &segment.options.mptcp.dss {
                self.handle_dss(cx, index, &accepted, dss);
            }
        }
        self.after_segment(cx, index);
        self.conclude(cx, index);
    }

    /// A segment that may have more than data and acknowledgements arrived.
    #[inline(never)]
    fn handle_any(&mut self, cx: &mut Context<'_>, index: usize, segment: &mut TcpSegment) {
        if !self.is_admitted(index, segment) {
            return;
        }
        let keyless = self.keys.remote().is_none();
        let accepted = self.pass_to_subflow(cx, index, segment);
        self.on_answer(index);
        if let Some(accepted) = accepted {
            let info = SegmentInfo::new(accepted, &segment.options.mptcp);
            let goes_on = self.handle_others(cx, index, &info);
            if let Some(dss) = info.options.dss.as_ref().filter(|_| goes_on) {
                self.handle_dss(cx, index, &accepted, dss);
            }
        }
        self.after_subflow(cx, index);
        if keyless && self.keys.remote().is_some() {
            self.release_answers(cx);
        }
        self.conclude(cx, index);
    }

    /// The subflow handles its segment. What is known of it, if it was accepted.
    #[inline(always)]
    fn pass_to_subflow(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        segment: &mut TcpSegment,
    ) -> Option<AcceptedSegment> {
        let held = self.subflows.held();
        let entry = &mut self.subflows[index];
        self.receive.limit_reception(entry, held, self.fallback.is_plain());
        entry.tcp.handle_segment(cx, &mut self.controller, segment);
        entry.tcp.multipath().and_then(Multipath::take_segment)
    }

    /// A segment was handled: what may be sent now.
    #[inline(always)]
    fn conclude(&mut self, cx: &mut Context<'_>, index: usize) {
        self.sender.on_segment(cx, path_id(index));
        self.subflows.after_segment(index);
        if cx.wants(EventMask::ACCOUNT) {
            cold_path();
            self.record_held(cx);
        }
    }

    /// What precedes a segment that is not a usual one. `false`: it is dropped or kept.
    #[inline(never)]
    fn is_admitted(&mut self, index: usize, segment: &TcpSegment) -> bool {
        if index > 0 {
            if self.hold_answer(index, segment) {
                return false;
            }
        } else if self.comes_before_keys(segment) {
            return false;
        } else {
            self.handle_repeated_syn(segment);
        }
        if self.fallback.is_fail_sent() && !segment.payload.is_empty() {
            self.send_fail();
        }
        true
    }

    /// Handle what a subflow received, and its events.
    #[inline(never)]
    pub(super) fn after_subflow(&mut self, cx: &mut Context<'_>, index: usize) {
        self.after_segment(cx, index);
    }

    // Saves a call a segment.
    #[inline(always)]
    fn after_segment(&mut self, cx: &mut Context<'_>, index: usize) {
        if self.is_plain() {
            cold_path();
            let mut stream = self.plain_stream();
            stream.acknowledge();
            stream.receive(cx.now);
            self.check_writer();
        } else {
            // An acknowledgement brings none.
            if self.subflows[index].tcp.readable() > 0 {
                self.drain(cx, index);
            }
        }
        // Each question about the subflow while it is at hand.
        let entry = &mut self.subflows[index];
        let signs = entry.take_signs();
        let judges = self.sender.may_judge(path_id(index), signs);
        if judges || entry.tcp.has_events() {
            self.after_rare(cx, index, judges.then_some(signs));
        }
    }

    /// A segment brought more than data and acknowledgements.
    #[cold]
    fn after_rare(&mut self, cx: &mut Context<'_>, index: usize, signs: Option<Signs>) {
        if let Some(signs) = signs.filter(|_| !self.is_plain()) {
            self.judge_by(cx, index, signs);
        }
        if self.subflows[index].tcp.has_events() {
            self.handle_subflow_events(cx, index);
        }
    }

    fn handle_subflow_events(&mut self, cx: &mut Context<'_>, index: usize) {
        for event in self.subflows[index].tcp.take_events() {
            match event {
                ConnectionEvent::Failed(error) => self.on_subflow_failed(cx, index, error),
                ConnectionEvent::Closed => self.on_subflow_closed(cx, index),
                ConnectionEvent::PeerClosed if !self.is_plain() => self.on_subflow_fin(cx, index),
                // The connection has events of its own.
                _ => {}
            }
        }
    }

    fn on_subflow_failed(&mut self, cx: &mut Context<'_>, index: usize, error: SocketError) {
        let open = self.subflows[index].stage() == Stage::Open;
        self.lose_subflow(cx, index);
        self.check_alone(cx, error);
        let how = self.subflows[index].ending(error, open);
        self.on_ended(cx, index, how);
    }

    fn on_subflow_closed(&mut self, cx: &mut Context<'_>, index: usize) {
        if self.is_plain() {
            self.lifecycle.close();
        }
        self.lose_subflow(cx, index);
        self.check_alone(cx, SocketError::TimedOut);
    }

    /// The peer ended its direction of a subflow. With all of its data here it closes without
    /// waiting for this host (RFC 8684 s3.3.3), whose data are still sent there; otherwise it gave
    /// the subflow up.
    fn on_subflow_fin(&mut self, cx: &mut Context<'_>, index: usize) {
        if !self.lifecycle.is_closed() {
            if self.receive.is_fin_received() {
                return;
            }
            let path = self.subflows[index].path;
            let (sender, paths) = self.parts();
            sender.reinject(&paths, path);
        }
        self.subflows[index].tcp.finish(cx);
        self.sender.set_due();
        self.subflows.wake(index);
    }

    /// Processes the options of an accepted segment but its DSS, and the lack of one. Whether the
    /// DSS is to be processed.
    #[inline(never)]
    fn handle_others(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        segment: &SegmentInfo<'_>,
    ) -> bool {
        if self.subflows[index].stage() == Stage::Gone {
            return false;
        }
        self.sender.on_arrival(cx.now, path_id(index));
        if segment.reset {
            self.handle_reset(cx, index, segment);
            return false;
        }
        if self.is_plain() {
            self.handle_plain(segment);
            return false;
        }
        let stage = self.subflows[index].stage();
        if stage == Stage::Opening && !self.handle_opening(cx, index, segment) {
            return false;
        }
        if stage == Stage::PreEstablished {
            self.on_join_open(cx, index);
            self.resolve_join(cx);
        }
        if self.is_plain() {
            return false;
        }
        self.refused += u64::from(segment.options.ignored());
        for option in segment.options.others() {
            if !self.handle_option(cx, index, option, segment.options.dss.is_some()) {
                return false;
            }
        }
        if segment.options.dss.is_none() {
            self.handle_no_dss(cx, index, segment);
        }
        true
    }

    /// A segment without a DSS: its first data may have the keys instead, or a middlebox may have
    /// stripped the options (RFC 8684 s3.7).
    fn handle_no_dss(&mut self, cx: &mut Context<'_>, index: usize, segment: &SegmentInfo<'_>) {
        let implied = self.keys.implied_mapping(segment, self.receive.first_dsn());
        if let Some(mapping) = implied.filter(|_| index == 0) {
            // Its number is implied; mainline Linux takes it for a long one.
            let mapping = (&mapping, self.config.mainline_limits);
            self.take_mapping(cx, index, (segment.offset, segment.len), mapping, false);
        } else if segment.options.is_empty() {
            let pending = self.fallback.is_pending();
            if let Some(lost) = self.subflows[index].lost_options(segment, pending) {
                self.on_options_lost(cx, index, lost);
            }
        }
    }

    // Saves a call a segment.
    #[inline(always)]
    fn handle_dss(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        segment: &AcceptedSegment,
        dss: &Dss,
    ) {
        if let Some(ack) = dss.ack() {
            self.handle_data_ack(cx, index, segment.window, ack);
        }
        if !dss.maps() {
            return;
        }
        let received = &self.subflows[index].received;
        // The segments of one offload buffer have the same mapping, which need not be looked at;
        // that of MP_CAPABLE is implied, so that a DSS with the same one may say more.
        let says_more = dss.maps_long() && !self.receive.uses_long_numbers();
        if !says_more && received.repeats_last(dss, segment.offset, segment.len) {
            self.reach_fin(cx);
        } else {
            self.handle_mapping(cx, index, (segment.offset, segment.len), dss);
        }
    }

    /// A reset may close the whole connection by MP_FASTCLOSE (RFC 8684 s3.5).
    fn handle_reset(&mut self, cx: &mut Context<'_>, index: usize, segment: &SegmentInfo<'_>) {
        for option in segment.options.others() {
            match option {
                MptcpOption::TcpRst { transient, reason } => {
                    self.subflows[index].handshake.on_reset(*transient, *reason);
                }
                MptcpOption::FastClose { receiver } if !self.is_plain() => {
                    if *receiver == self.keys.local() {
                        self.on_fast_close(cx);
                        return;
                    }
                    self.refused += 1;
                }
                _ => {}
            }
        }
    }

    #[inline(always)]
    fn handle_data_ack(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        window: u64,
        ack: DataNumber,
    ) {
        self.deadlines.on_heard(cx.now);
        // With most segments a receiver of data gets the same again: half of what it costs.
        if !(cx.has_short_ways() && self.numbers.is_repeated(ack, window)) {
            self.take_data_ack(cx, index, ack, window);
        }
        if !self.keys.is_fully_established() && self.keys.is_client() {
            self.become_fully_established(cx);
        }
    }

    #[inline(never)]
    fn take_data_ack(&mut self, cx: &mut Context<'_>, index: usize, ack: DataNumber, window: u64) {
        match self.numbers.on_data_ack(&mut self.sender.queue, ack, window, path_id(index)) {
            Some(true) => {
                let (sender, paths) = self.parts();
                sender.restart_timer(cx.now, &paths);
                if self.numbers.is_fin_acked() {
                    cold_path();
                    self.on_fin_acked(cx);
                }
                self.check_writer();
            }
            Some(false) => {}
            None => self.refused += 1,
        }
    }

    /// The mapping of a DSS arrived, if it has one, on a segment at (offset, length).
    #[inline(never)]
    fn handle_mapping(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        segment: (u64, u32),
        dss: &Dss,
    ) {
        if let Some(mapping) = dss.mapping() {
            let is_long = matches!(mapping.dsn, DataNumber::Long(_));
            self.take_mapping(cx, index, segment, (&mapping, is_long), dss.fin());
        }
    }

    /// A mapping arrived, which has a number of 64 bits if `is_long`; `fin`: its last number is the
    /// DATA_FIN.
    #[inline(always)]
    fn take_mapping(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        segment: (u64, u32),
        (mapping, is_long): (&Mapping, bool),
        fin: bool,
    ) {
        if mapping.is_infinite() {
            cold_path();
            self.on_infinite_mapping(cx, index);
            return;
        }
        if mapping.checksum.is_some() != self.keys.uses_checksum() {
            cold_path();
            self.refuse_mapping(cx, index);
            return;
        }
        // So must the acknowledgements of this host (RFC 8684 s3.3.2).
        if is_long && self.receive.use_long_numbers() {
            self.subflows.set_option_room(self.room());
            self.sender.set_due();
        }
        match self.receive.on_mapping(&mut self.subflows[index], segment, mapping, fin) {
            Mapped::Invalid => {
                self.refused += 1;
                return;
            }
            Mapped::Taken { refused } => self.refused += refused,
            Mapped::Contradiction { refused } => {
                self.refused += refused;
                self.refuse_mapping(cx, index);
            }
        }
        self.reach_fin(cx);
    }

    /// A mapping that contradicts another one, or lacks its checksum (RFC 8684 s3.3.1).
    fn refuse_mapping(&mut self, cx: &mut Context<'_>, index: usize) {
        self.refused += 1;
        if index == 0 && !self.keys.is_fully_established() && self.may_fall_back() {
            self.fall_back(cx, Announcement::Nothing);
        } else {
            self.reset(cx, index, ResetReason::MPTCP_ERROR);
            self.fail_if_alone();
        }
    }

    /// After a subflow was dropped: without another one the connection is over.
    pub(super) fn fail_if_alone(&mut self) {
        if self.subflows.are_all_gone() {
            self.fail(SocketError::Reset);
        }
    }

    #[inline]
    fn reach_fin(&mut self, cx: &mut Context<'_>) {
        if self.receive.knows_end() {
            self.reach_end(cx);
        }
    }

    #[inline(never)]
    fn reach_end(&mut self, cx: &mut Context<'_>) {
        if self.receive.reach_fin() {
            self.sender.on_peer_closed();
            self.lifecycle.push(ConnectionEvent::PeerClosed);
            self.subflows.acknowledge_all();
        }
        if self.receive.is_fin_received() {
            self.check_closed(cx);
        }
    }

    /// Moves in-order data of a subflow to their place in the connection's stream.
    #[inline(always)]
    fn drain(&mut self, cx: &mut Context<'_>, index: usize) {
        let before = self.receive.next_offset();
        let mut taken = false;
        loop {
            let drained = self.take_received(cx, index);
            taken |= drained != Drained::Nothing;
            if drained != Drained::Some {
                break;
            }
        }
        if taken {
            self.receive.on_taken(&mut self.subflows[index]);
        }
        if self.receive.next_offset() > before {
            self.receive.mark_changed();
            self.lifecycle.push_readable();
            self.reach_fin(cx);
        }
    }

    /// Takes what is next of a subflow, as far as one mapping reaches.
    // A call for each: mostly there is one.
    #[inline(never)]
    fn take_received(&mut self, cx: &mut Context<'_>, index: usize) -> Drained {
        let entry = &mut self.subflows[index];
        if self.fallback.is_fail_sent() || entry.stage() == Stage::Gone {
            cold_path();
            return Drained::Nothing;
        }
        let (data, offset, len, summed) = match entry.next_received() {
            NextReceived::Nothing => return Drained::Nothing,
            NextReceived::Unmapped { offset, waiting } => {
                cold_path();
                self.check_unmapped(cx, index, offset, waiting);
                return Drained::Nothing;
            }
            NextReceived::Mapped { data, offset, len, summed } => (data, offset, len, summed),
        };
        let payload = entry.tcp.take_received(cx.now, len);
        let wrong = summed && !self.fallback.is_fail_agreed();
        if let Some(dsn) = wrong.then(|| entry.wrong_checksum(offset, &payload)).flatten() {
            cold_path();
            entry.received.forget_below(offset + u64::from(len));
            self.on_wrong_checksum(cx, index, dsn, Suspect { offset, payload });
            return Drained::All;
        }
        if cx.wants(EventMask::ARRIVAL) {
            cold_path();
            record_arrival(cx, (self.socket, index), (data, offset, len));
        }
        entry.received.forget_below(offset + u64::from(len));
        let is_all = entry.tcp.readable() == 0;
        if !self.receive.extend_top(data, &payload) {
            self.receive.insert(cx.now, data, payload);
        }
        if is_all { Drained::All } else { Drained::Some }
    }

    /// Data from `offset` on wait for a mapping, not more of them than the window. A mapping of
    /// later data shows that a middlebox joined segments and kept the options of the first one.
    #[inline(never)]
    fn check_unmapped(&mut self, cx: &mut Context<'_>, index: usize, offset: u64, waiting: u64) {
        if self.subflows[index].received.reach_beyond(offset) {
            self.on_options_lost(cx, index, Announcement::Nothing);
        } else if waiting > self.receive.unmapped_limit() && !self.fallback.is_verdict_deferred() {
            self.refused += 1;
            self.reset(cx, index, ResetReason::MPTCP_ERROR);
            self.fail_if_alone();
        }
    }

    /// `mapped`: together with a DSS. `false`: the connection or the subflow is not what it was.
    fn handle_option(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        option: &MptcpOption,
        mapped: bool,
    ) -> bool {
        match option {
            MptcpOption::AddAddr(add) => self.handle_add_addr(cx, index, add),
            MptcpOption::RemoveAddr { ids } => self.on_remove_addr(cx, ids),
            MptcpOption::Prio { backup } => {
                self.subflows[index].priority.set_remote(*backup);
                let path = self.subflows[index].path;
                self.sender.on_path_changed(path, PathChange::State);
            }
            MptcpOption::Fail { .. } => {
                self.on_mp_fail(cx, index, mapped);
                return self.fallback.is_fail_agreed() && !self.is_plain();
            }
            MptcpOption::FastClose { receiver } if *receiver == self.keys.local() => {
                self.on_fast_close(cx);
                return false;
            }
            MptcpOption::FastClose { .. } => self.refused += 1,
            MptcpOption::Join(_) if index > 0 && !self.subflows[index].handshake.is_initiator() => {
                // The third packet again: the fourth was lost.
                self.subflows[index].tcp.acknowledge();
            }
            MptcpOption::Capable(_)
            | MptcpOption::Join(_)
            | MptcpOption::Dss(_)
            | MptcpOption::Group(_)
            | MptcpOption::TcpRst { .. } => {}
        }
        true
    }

    fn handle_add_addr(&mut self, cx: &mut Context<'_>, index: usize, add: &AddAddr) {
        if add.hmac.is_none() {
            if let Some(next) = self.management.addresses_mut().echoed(cx.now, add) {
                self.send_announcement(next);
            }
            self.notify_manager(cx, PathEvent::Echoed { local_id: add.address_id });
            return;
        }
        let Some(remote_key) = self.keys.remote() else { return };
        if !add.is_signed_by(remote_key, self.keys.local()) {
            self.refused += 1;
            return;
        }
        self.subflows.queue_option_on(index, MptcpOption::AddAddr(add.echo()));
        let port = self.subflows[index].tcp.tuple().remote.port();
        let known = self.management.addresses_mut().on_add_addr(add, port);
        if self.keys.is_client() && index == 0 {
            self.become_fully_established(cx);
        }
        if known {
            let address = Address { id: add.address_id, ip: add.address };
            self.notify_manager(cx, PathEvent::Announced(address));
        }
    }

    /// Only one subflow was ever used, and nothing was sent twice.
    pub(super) fn may_fall_back(&self) -> bool {
        self.fallback.is_permitted(self.is_one_stream())
    }

    /// Offsets of the connection and of its first subflow are the same, and the subflow takes what
    /// is still to be sent.
    fn is_one_stream(&self) -> bool {
        self.sender.queue.reinjected_bytes() == 0
            && !self.sender.queue.is_scattered()
            && self.receive.is_one_stream()
            && self.takes_the_rest()
    }

    /// The first subflow has not ended its direction, or nothing is left to send after its end.
    fn takes_the_rest(&self) -> bool {
        let is_ended = self.subflows.first().is_some_and(|entry| entry.tcp.is_fin_queued());
        !is_ended || (self.numbers.is_fin_queued() && self.sender.queue.is_drained())
    }

    /// Data or acknowledgements arrived without options on subflow `index`.
    pub(super) fn on_options_lost(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        announcement: Announcement,
    ) {
        match self.fallback.on_options_lost(index, announcement, self.is_one_stream()) {
            Ok(OptionsLost::Deferred) => {}
            Ok(OptionsLost::FallBack(announcement)) => self.fall_back(cx, announcement),
            Err(Refused) => {
                self.refused += 1;
                self.reset(cx, index, ResetReason::MIDDLEBOX_INTERFERENCE);
                self.fail_if_alone();
            }
        }
    }

    /// A checksum was wrong: a middlebox changed the payload of subflow `index` from data
    /// sequence number `dsn` on.
    pub(super) fn on_wrong_checksum(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        dsn: u64,
        suspect: Suspect,
    ) {
        self.refused += 1;
        if self.fallback.on_wrong_checksum(suspect, self.is_one_stream()).is_ok() {
            self.deadlines.start_fail(cx.now);
            self.send_fail();
            return;
        }
        let mut options = MptcpOptions::from(MptcpOption::Fail { dsn });
        let reason = ResetReason::MIDDLEBOX_INTERFERENCE;
        options.push(MptcpOption::TcpRst { transient: false, reason });
        self.reset_subflow(cx, index, options);
        self.fail_if_alone();
    }

    /// Send an MP_FAIL with the number that the mapping with the wrong checksum begins at.
    pub(super) fn send_fail(&mut self) {
        let dsn = self.receive.ack_number();
        self.subflows.queue_option_on(0, MptcpOption::Fail { dsn });
    }

    /// An MP_FAIL arrived on subflow `index`; `mapped`: together with a DSS.
    pub(super) fn on_mp_fail(&mut self, cx: &mut Context<'_>, index: usize, mapped: bool) {
        let company = if mapped { FailCompany::Dss } else { FailCompany::None };
        match self.fallback.on_fail_received(company, self.is_one_stream()) {
            Ok(FailReceived::Repeated) => {}
            Ok(FailReceived::Agreed(suspect)) => self.on_fail_agreed(cx, suspect),
            Ok(FailReceived::FallBack(announcement)) => self.fall_back(cx, announcement),
            Err(Refused) => {
                self.reset(cx, index, ResetReason::MIDDLEBOX_INTERFERENCE);
                self.fail_if_alone();
            }
        }
    }

    /// The peer agreed to fall back; its infinite mapping comes with its next new data. Until then
    /// it is acknowledged, as it may have no window left for them. An infinite mapping of this
    /// host would come too early: a kernel (6.18) that falls back before it sent its own makes
    /// segments longer than the path takes.
    fn on_fail_agreed(&mut self, cx: &mut Context<'_>, suspect: Suspect) {
        self.deadlines.stop_fail();
        if let Some(mp) = self.subflows[0].tcp.multipath() {
            mp.retain_queued(|option| !matches!(option, MptcpOption::Fail { .. }));
        }
        self.accept_suspect(cx, suspect);
        self.receive.mark_changed();
        self.subflows[0].tcp.acknowledge();
        self.subflows.wake(0);
    }

    /// A segment arrived after the fallback: the answer to the peer's MP_FAIL may have been lost. A
    /// peer that is TCP as well sends its own without a DSS; two that answered each other would
    /// never stop.
    pub(super) fn handle_plain(&mut self, segment: &SegmentInfo<'_>) {
        let fail = |option: &MptcpOption| matches!(option, MptcpOption::Fail { .. });
        let asks = segment.options.dss.is_some() && segment.options.others().iter().any(fail);
        if asks && self.fallback.is_fail_answered() {
            self.send_fail();
        }
    }

    /// An infinite mapping arrived on subflow `index`.
    pub(super) fn on_infinite_mapping(&mut self, cx: &mut Context<'_>, index: usize) {
        if self.fallback.accepts_infinite_mapping(self.is_one_stream()) {
            self.fall_back(cx, Announcement::Nothing);
        } else {
            self.refused += 1;
            self.reset(cx, index, ResetReason::MPTCP_ERROR);
            self.fail_if_alone();
        }
    }
}

/// `len` bytes at `data` of the connection arrived at `offset` of a subflow.
#[cold]
fn record_arrival(
    cx: &mut Context<'_>,
    (socket, index): (SocketId, usize),
    (data, offset, len): (u64, u64, u32),
) {
    let path = path_id(index);
    cx.record(EventMask::ARRIVAL, || Event::DataArrived {
        socket,
        path,
        offset: data,
        subflow_offset: offset,
        len,
    });
}
