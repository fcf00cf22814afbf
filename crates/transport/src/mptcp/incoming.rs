//! What subflows hear: data acknowledgements, mappings, data, and the other options
//! (RFC 8684 s3.3, s3.4, s3.6, s3.7).

use super::connection::Connection;
use super::fallback::{Announcement, Suspect};
use super::handshake::LONG_ROOM;
use super::mappings::ReceivedMapping;
use super::stage::Stage;
use super::subflow::NextReceived;
use crate::path_manager::{Address, Ending, PathEvent};
use crate::scheduler::PathChange;
use crate::socket::{ConnectionEvent, SocketError};
use crate::tcp::multipath::{Multipath, SegmentInfo};
use base::{Context, Event, EventMask};
use wire::mptcp::{AddAddr, DataNumber, Dss, Mapping, MptcpOption, ResetReason};
use wire::{Payload, TcpSegment};

impl Connection {
    /// A segment arrived on subflow `index`.
    pub fn handle_segment(&mut self, cx: &mut Context<'_>, index: usize, segment: &mut TcpSegment) {
        if index >= self.subflows.len() || (index == 0 && self.comes_before_keys(segment)) {
            return;
        }
        if index == 0 {
            self.heed_repeated_syn(segment);
        } else if self.holds_answer(index, segment) {
            return;
        }
        let keyless = self.keys.remote().is_none();
        if self.fallback.is_fail_sent() && !segment.payload.is_empty() {
            self.send_fail();
        }
        self.limit_reception(index);
        self.subflows[index].tcp.handle_segment(cx, &mut self.controller, segment);
        self.note_answer(index);
        self.after_subflow(cx, index);
        if keyless && self.keys.remote().is_some() {
            self.release_answers(cx);
        }
        self.subflows.count_held(index);
        if cx.wants(EventMask::ACCOUNT) {
            self.record_held(cx);
        }
        self.subflows.wake(index);
        self.sender.on_segment(self.subflows[index].path);
    }

    /// Limit what the subflow takes of the next segment.
    fn limit_reception(&mut self, index: usize) {
        let limit = if self.is_plain() {
            self.receive.room()
        } else {
            let (_, own_gaps) = self.subflows[index].tcp.held();
            self.receive.reception_limit(self.subflows.held(), own_gaps)
        };
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        self.subflows[index].tcp.limit_reception(limit);
    }

    /// An ICMP error about subflow `index`.
    pub fn on_unreachable(&mut self, cx: &mut Context<'_>, index: usize, error: SocketError) {
        let Some(entry) = self.subflows.get_mut(index) else { return };
        entry.tcp.on_unreachable(cx, error);
        self.after_subflow(cx, index);
    }

    /// A valid reset came on subflow `index`.
    pub fn on_reset(&mut self, cx: &mut Context<'_>, index: usize) {
        let Some(entry) = self.subflows.get_mut(index) else { return };
        entry.tcp.handle_reset(cx);
        self.after_subflow(cx, index);
        self.subflows.wake(index);
    }

    /// Take what a subflow heard, received and became.
    pub(super) fn after_subflow(&mut self, cx: &mut Context<'_>, index: usize) {
        let mp = self.subflows[index].tcp.multipath();
        if let Some(heard) = mp.and_then(Multipath::take_segment) {
            self.hear(cx, index, &heard);
        }
        if self.is_plain() {
            self.on_plain_ack();
            self.drain_plain(cx);
            self.check_writer();
        } else {
            self.drain(cx, index);
            self.judge_path(cx, index);
        }
        self.take_subflow_news(cx, index);
    }

    fn take_subflow_news(&mut self, cx: &mut Context<'_>, index: usize) {
        if !self.subflows[index].tcp.has_events() {
            return;
        }
        for news in self.subflows[index].tcp.take_events() {
            match news {
                ConnectionEvent::Failed(error) => self.on_subflow_failed(cx, index, error),
                ConnectionEvent::Closed => self.on_subflow_closed(cx, index),
                ConnectionEvent::PeerClosed if !self.is_plain() => self.on_subflow_fin(cx, index),
                // The connection has news of its own.
                _ => {}
            }
        }
    }

    fn on_subflow_failed(&mut self, cx: &mut Context<'_>, index: usize, error: SocketError) {
        let open = self.subflows[index].stage() == Stage::Open;
        self.lose_subflow(cx, index);
        self.check_alone(cx, error);
        let how = match error {
            SocketError::TimedOut if open => Ending::TimedOut,
            SocketError::TimedOut | SocketError::Unreachable => Ending::Unreachable,
            _ => self.subflows[index].handshake.reset_reason.unwrap_or(Ending::Reset),
        };
        self.on_ended(cx, index, how);
    }

    fn on_subflow_closed(&mut self, cx: &mut Context<'_>, index: usize) {
        if self.is_plain() {
            self.lifecycle.close();
        }
        self.lose_subflow(cx, index);
        self.check_alone(cx, SocketError::TimedOut);
    }

    /// The peer ended its direction of a subflow. With all of its data here that is how a peer
    /// closes that does not wait for us (RFC 8684 s3.3.3), and our data still go there; otherwise
    /// it gave the subflow up.
    fn on_subflow_fin(&mut self, cx: &mut Context<'_>, index: usize) {
        if !self.lifecycle.is_closed() && self.receive.is_fin_received() {
            return;
        }
        if !self.lifecycle.is_closed() {
            let path = self.subflows[index].path;
            let (sender, paths) = self.parts();
            sender.reinject(&paths, path);
        }
        self.subflows[index].tcp.finish(cx);
        self.sender.set_due();
        self.subflows.wake(index);
    }

    /// What an accepted segment said.
    fn hear(&mut self, cx: &mut Context<'_>, index: usize, heard: &SegmentInfo) {
        if self.subflows[index].stage() == Stage::Gone {
            return;
        }
        self.sender.on_arrival(cx.now, self.subflows[index].path);
        if heard.reset {
            self.hear_reset(cx, index, heard);
            return;
        }
        if self.is_plain() {
            self.handle_plain(heard);
            return;
        }
        let stage = self.subflows[index].stage();
        if stage == Stage::Opening && !self.hear_opening(cx, index, heard) {
            return;
        }
        if stage == Stage::PreEstablished {
            self.on_join_open(cx, index);
            self.resolve_join(cx);
        }
        if self.is_plain() {
            return;
        }
        self.refused += u64::from(heard.options.ignored());
        for option in heard.options.others() {
            if !self.hear_option(cx, index, option, heard.options.dss.is_some()) {
                return;
            }
        }
        let implied = self.keys.implied_mapping(heard, self.receive.first_dsn());
        match heard.options.dss {
            Some(dss) => self.hear_dss(cx, index, heard, &dss),
            None if implied.is_some() && index == 0 => {
                self.hear_mapping(cx, index, heard, implied, false);
            }
            None if heard.options.is_empty() => self.hear_nothing(cx, index, heard),
            None => {}
        }
    }

    /// A reset may close the whole connection; it may say whether another subflow there is worth
    /// a try (RFC 8684 s3.6). The unspecified reason says no more than that this one is over: it
    /// comes of an address withdrawn, too, even if that news was overtaken by the address's return.
    fn hear_reset(&mut self, cx: &mut Context<'_>, index: usize, heard: &SegmentInfo) {
        for option in heard.options.others() {
            if let MptcpOption::TcpRst { transient, reason } = option {
                self.subflows[index].handshake.reset_reason = match *transient {
                    true => Some(Ending::NotNow),
                    false if *reason == ResetReason::UNSPECIFIED => None,
                    false => Some(Ending::Refused),
                };
            }
            if let MptcpOption::FastClose { receiver } = option
                && !self.is_plain()
            {
                if *receiver == self.keys.local() {
                    self.on_fast_close(cx);
                    return;
                }
                self.refused += 1;
            }
        }
    }

    /// A segment without any option: a middlebox may strip them (RFC 8684 s3.7).
    fn hear_nothing(&mut self, cx: &mut Context<'_>, index: usize, heard: &SegmentInfo) {
        let pending = self.fallback.is_pending();
        let Some(announcement) = self.subflows[index].lost_options(heard, pending) else { return };
        self.on_options_lost(cx, index, announcement);
    }

    fn hear_dss(&mut self, cx: &mut Context<'_>, index: usize, heard: &SegmentInfo, dss: &Dss) {
        if let Some(ack) = dss.ack() {
            self.hear_data_ack(cx, index, heard, ack);
        }
        if dss.mapping().is_some() {
            self.hear_mapping(cx, index, heard, dss.mapping(), dss.fin());
        }
    }

    fn hear_data_ack(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        heard: &SegmentInfo,
        ack: DataNumber,
    ) {
        let number = ack.expand(self.numbers.dsn(self.numbers.una(self.sender.queue.una())));
        let up_to = self.numbers.offset(number);
        self.peer_heard_at = cx.now;
        match self.on_data_ack(up_to, heard.window) {
            Some(true) => {
                self.restart_data_timer(cx.now);
                if self.numbers.is_fin_acked() {
                    self.on_fin_acked(cx);
                }
                self.check_writer();
            }
            Some(false) => {}
            None => self.refused += 1,
        }
        if self.keys.is_client() && index == 0 {
            self.become_fully_established(cx);
        }
    }

    fn hear_mapping(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        heard: &SegmentInfo,
        mapping: Option<Mapping>,
        fin: bool,
    ) {
        let Some(mapping) = mapping else { return };
        if mapping.is_infinite() {
            self.on_infinite_mapping(cx, index);
            return;
        }
        if mapping.checksum.is_some() != self.keys.uses_checksum() {
            self.refuse_mapping(cx, index);
            return;
        }
        // First data with the keys have a number that is implied; mainline takes it for a long one.
        let said = heard.options.dss.is_some() || self.mainline_limits;
        if said && matches!(mapping.dsn, DataNumber::Long(_)) {
            self.use_long_numbers();
        }
        let (dsn, data) = self.receive.expand(mapping.dsn);
        let bytes = u32::from(mapping.len) - u32::from(fin);
        if bytes == 0 && !mapping.matches(dsn, &Payload::Empty) {
            self.refused += 1;
            return;
        }
        if fin {
            let end = data.wrapping_add(u64::from(bytes));
            self.refused += u64::from(self.receive.on_data_fin(end).is_err());
        }
        if bytes > 0 {
            match ReceivedMapping::new(mapping, bytes, (dsn, data), heard.offset) {
                Some(map) => self.keep_mapping(cx, index, heard, map),
                None => self.refuse_mapping(cx, index),
            }
        } else if fin {
            self.subflows[index].tcp.acknowledge();
        }
        self.reach_fin(cx);
    }

    fn keep_mapping(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        heard: &SegmentInfo,
        map: ReceivedMapping,
    ) {
        // It applies to a part of the segment at least (RFC 8684 s3.3.1).
        if !map.overlaps(heard.offset, heard.len) {
            self.refused += 1;
            return;
        }
        let entry = &mut self.subflows[index];
        if map.end() <= entry.tcp.received().0 {
            // A repetition of what was taken already.
            return;
        }
        self.receive.note_offsets(map.data, map.offset);
        let contradicts = entry.received.insert(map).is_err();
        if contradicts || entry.received.len() > self.receive.mapping_limit() {
            self.refuse_mapping(cx, index);
        }
    }

    /// A mapping that contradicts another one, or lacks its checksum (RFC 8684 s3.3.1).
    fn refuse_mapping(&mut self, cx: &mut Context<'_>, index: usize) {
        self.refused += 1;
        if index == 0 && !self.keys.is_fully_established() && self.may_fall_back() {
            self.fall_back(cx, Announcement::Nothing);
        } else {
            self.reset_for(cx, index, ResetReason::MPTCP_ERROR);
            self.fail_if_alone();
        }
    }

    /// After a subflow was dropped: without another one the connection is over.
    pub(super) fn fail_if_alone(&mut self) {
        if self.subflows.are_all_gone() {
            self.fail(SocketError::Reset);
        }
    }

    /// The peer uses 64 bits: so must the acknowledgements of this host (RFC 8684 s3.3.2).
    fn use_long_numbers(&mut self) {
        if self.receive.use_long_numbers() {
            for entry in &mut self.subflows {
                entry.tcp.set_option_room(LONG_ROOM);
            }
        }
    }

    fn reach_fin(&mut self, cx: &mut Context<'_>) {
        if self.receive.reach_fin() {
            self.sender.on_peer_closed();
            self.lifecycle.push(ConnectionEvent::PeerClosed);
            self.subflows.acknowledge_all();
        }
        if self.receive.is_fin_received() {
            self.check_closed(cx);
        }
    }

    /// Take in-order data of a subflow to where they belong in the connection.
    fn drain(&mut self, cx: &mut Context<'_>, index: usize) {
        if self.fallback.is_fail_sent() || self.subflows[index].stage() == Stage::Gone {
            return;
        }
        let before = self.receive.next_offset();
        loop {
            let entry = &mut self.subflows[index];
            let (map, offset, len) = match entry.next_received() {
                NextReceived::Nothing => break,
                NextReceived::Unmapped { offset, waiting } => {
                    self.check_unmapped(cx, index, offset, waiting);
                    break;
                }
                NextReceived::Mapped { map, offset, len } => (map, offset, len),
            };
            let payload = entry.tcp.take_received(cx.now, len);
            entry.received.forget_below(offset + u64::from(len));
            if !self.fallback.is_fail_agreed() && !map.wire.matches(map.dsn, &payload) {
                self.on_wrong_checksum(cx, index, map.dsn, Suspect { offset, payload });
                break;
            }
            let data = map.data.wrapping_add(offset - map.offset);
            let (socket, path) = (self.socket, entry.path);
            cx.record(EventMask::ARRIVAL, || Event::DataArrived {
                socket,
                path,
                offset: data,
                subflow_offset: offset,
                len,
            });
            self.receive.insert(cx.now, data, payload);
        }
        if self.receive.next_offset() > before {
            self.receive.mark_changed();
            self.lifecycle.push_readable();
            self.reach_fin(cx);
        }
    }

    /// Data from `offset` on wait for a mapping: no more of them than the window, and none once a
    /// mapping of later data arrived. Then a middlebox joined segments and kept the options of the
    /// first one.
    fn check_unmapped(&mut self, cx: &mut Context<'_>, index: usize, offset: u64, waiting: u64) {
        if self.subflows[index].received.reach_beyond(offset) {
            self.on_options_lost(cx, index, Announcement::Nothing);
        } else if waiting > self.receive.unmapped_limit() && !self.fallback.is_verdict_deferred() {
            self.refused += 1;
            self.reset_for(cx, index, ResetReason::MPTCP_ERROR);
            self.fail_if_alone();
        }
    }

    /// `mapped`: beside a DSS. `false`: the connection or the subflow is not what it was.
    fn hear_option(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        option: &MptcpOption,
        mapped: bool,
    ) -> bool {
        match option {
            MptcpOption::AddAddr(add) => self.hear_add_addr(cx, index, add),
            MptcpOption::RemoveAddr { ids } => self.on_withdrawn(cx, ids),
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

    fn hear_add_addr(&mut self, cx: &mut Context<'_>, index: usize, add: &AddAddr) {
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
}
