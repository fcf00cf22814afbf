//! What subflows hear: data acknowledgements, mappings, data, and the other options
//! (RFC 8684 s3.3, s3.4, s3.6, s3.7).

use super::connection::Connection;
use super::handshake::LONG_ROOM;
use super::slot::{ReceivedMap, Stage};
use crate::path_manager::{Address, PathEvent};
use crate::scheduler::{PathChange, Scheduler};
use crate::stack::SocketError;
use crate::tcp::multipath::Heard;
use crate::tcp::subflow::News;
use base::Context;
use std::net::SocketAddr;
use wire::TcpSegment;
use wire::mptcp::{AddAddr, DataNumber, Dss, Mapping, MptcpOption, MptcpOptions, ResetReason};

/// Mappings of one subflow that wait for their data; a peer that sends more is broken.
const MAX_MAPPINGS: usize = 4096;

impl Connection {
    /// A segment arrived on subflow `index`.
    pub fn handle_segment(&mut self, cx: &mut Context<'_>, index: usize, segment: &mut TcpSegment) {
        let Some(slot) = self.slots.get_mut(index) else { return };
        slot.subflow.handle_segment(cx, &mut self.controller, segment);
        self.after_subflow(cx, index);
        self.wake(index);
        self.schedule_due = true;
    }

    /// An ICMP error about subflow `index`.
    pub fn on_unreachable(&mut self, cx: &mut Context<'_>, index: usize, error: SocketError) {
        let Some(slot) = self.slots.get_mut(index) else { return };
        slot.subflow.on_unreachable(cx, error);
        self.after_subflow(cx, index);
    }

    /// Take what a subflow heard, received and became.
    pub(super) fn after_subflow(&mut self, cx: &mut Context<'_>, index: usize) {
        let heard =
            self.slots[index].subflow.multipath().map(|mp| mp.take_heard()).unwrap_or_default();
        for heard in &heard {
            if !self.hear(cx, index, heard) {
                break;
            }
        }
        self.take_subflow_news(cx, index);
        if self.plain {
            self.on_plain_ack();
            self.drain_plain(cx);
            self.check_writer();
        } else {
            self.drain(cx, index);
            self.notice_timeout(index);
        }
    }

    fn take_subflow_news(&mut self, cx: &mut Context<'_>, index: usize) {
        if !self.slots[index].subflow.has_news() {
            return;
        }
        for news in self.slots[index].subflow.take_news() {
            match news {
                News::Failed(error) => self.on_subflow_failed(cx, index, error),
                News::Closed => self.on_subflow_closed(cx, index),
                News::PeerClosed if !self.plain => self.on_subflow_fin(cx, index),
                // The connection has news of its own.
                _ => {}
            }
        }
    }

    fn on_subflow_failed(&mut self, cx: &mut Context<'_>, index: usize, error: SocketError) {
        self.lose_slot(cx, index);
        let alive = self.slots.iter().any(|slot| slot.stage != Stage::Gone);
        if !alive || self.plain {
            self.fail(error);
        }
    }

    fn on_subflow_closed(&mut self, cx: &mut Context<'_>, index: usize) {
        if self.plain && !std::mem::replace(&mut self.closed, true) {
            self.news.push(News::Closed);
        }
        self.lose_slot(cx, index);
    }

    /// The peer ended a subflow: so do we. With the connection's data unfinished and no other
    /// subflow it is over.
    fn on_subflow_fin(&mut self, cx: &mut Context<'_>, index: usize) {
        if !self.closed {
            self.send.reinject_all_of(self.slots[index].path);
        }
        self.slots[index].subflow.finish(cx);
        self.schedule_due = true;
        self.wake(index);
    }

    /// The retransmission timer of a subflow fired: its data go elsewhere (000 s2.3.4).
    fn notice_timeout(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let una = slot.subflow.una();
        let path = slot.path;
        let fired = slot.subflow.multipath().is_some_and(|mp| std::mem::take(&mut mp.timed_out));
        if fired {
            slot.pf = true;
            slot.pf_una = una;
            if self.slots.iter().filter(|slot| slot.is_usable()).count() > 1 {
                self.send.reinject_all_of(path);
            }
        } else if slot.pf && una > slot.pf_una {
            slot.pf = false;
        } else {
            return;
        }
        self.scheduler.on_path_changed(path, PathChange::State);
        self.schedule_due = true;
    }

    /// `false`: the subflow is gone, or the connection is no longer MPTCP.
    fn hear(&mut self, cx: &mut Context<'_>, index: usize, heard: &Heard) -> bool {
        if self.plain || self.slots[index].stage == Stage::Gone {
            return false;
        }
        let stage = self.slots[index].stage;
        if stage == Stage::Opening && !self.hear_opening(cx, index, heard) {
            return false;
        }
        if stage == Stage::PreEstablished {
            self.open_slot(index);
        }
        if self.plain {
            return false;
        }
        self.refused += u64::from(heard.options.ignored());
        for option in heard.options.others() {
            if !self.hear_option(cx, index, option) {
                return false;
            }
        }
        let implied = self.implied_mapping(heard);
        match heard.options.dss {
            Some(dss) => self.hear_dss(cx, index, heard, &dss),
            None if implied.is_some() => {
                self.hear_mapping(cx, index, heard, implied, false);
            }
            None if heard.options.is_empty() => return self.hear_nothing(cx, index, heard),
            None => {}
        }
        self.slots[index].stage != Stage::Gone && !self.plain
    }

    /// A segment without any option: a middlebox may strip them (RFC 8684 s3.7).
    fn hear_nothing(&mut self, cx: &mut Context<'_>, index: usize, heard: &Heard) -> bool {
        let slot = &self.slots[index];
        let unmapped = heard.len > 0 && slot.received.at(heard.offset).is_none();
        let unacked = heard.acked_data && heard.len == 0 && slot.last_end.is_some();
        if !unmapped && !unacked {
            return true;
        }
        if self.may_fall_back() && (!self.fully_established || unmapped || unacked) {
            self.fall_back(cx, unacked);
            return false;
        }
        if index > 0 {
            self.refused += 1;
            self.drop_slot(cx, index, ResetReason::MIDDLEBOX_INTERFERENCE);
            return false;
        }
        true
    }

    fn hear_dss(&mut self, cx: &mut Context<'_>, index: usize, heard: &Heard, dss: &Dss) {
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
        heard: &Heard,
        ack: DataNumber,
    ) {
        let number = ack.expand(self.send.dsn(self.send.una));
        let up_to = number.wrapping_sub(self.send.first_dsn);
        match self.send.on_data_ack(up_to, heard.window) {
            Some(true) => {
                self.restart_data_timer(cx.now);
                if self.send.is_fin_acked() {
                    self.on_fin_acked(cx);
                }
                self.check_writer();
            }
            Some(false) => {}
            None => self.refused += 1,
        }
        if self.client && index == 0 {
            self.become_fully_established(cx);
        }
    }

    fn hear_mapping(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        heard: &Heard,
        mapping: Option<Mapping>,
        fin: bool,
    ) {
        let Some(mapping) = mapping else { return };
        if mapping.is_infinite() {
            self.on_infinite_mapping(cx, Some(mapping.dsn));
            return;
        }
        if mapping.checksum.is_some() != self.checksum {
            self.refuse_mapping(cx, index);
            return;
        }
        if matches!(mapping.dsn, DataNumber::Long(_)) && heard.options.dss.is_some() {
            self.use_long_numbers();
        }
        let expected = self.receive.ack_number();
        let dsn = mapping.dsn.expand(expected);
        let data = dsn.wrapping_sub(self.receive.first_dsn);
        let bytes = u32::from(mapping.len) - u32::from(fin);
        if fin {
            self.hear_data_fin(data.wrapping_add(u64::from(bytes)));
        }
        if bytes > 0 {
            self.keep_mapping(cx, index, heard, mapping, dsn, data, bytes);
        } else if fin {
            self.slots[index].subflow.acknowledge();
        }
        self.reach_fin(cx);
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one mapping")]
    fn keep_mapping(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        heard: &Heard,
        wire: Mapping,
        dsn: u64,
        data: u64,
        len: u32,
    ) {
        // The subflow's own number, nearest to where the segment lies.
        let distance = wire.subflow_seq.wrapping_sub(heard.offset as u32 + 1) as i32;
        let Some(offset) = heard.offset.checked_add_signed(i64::from(distance)) else {
            return self.refuse_mapping(cx, index);
        };
        let slot = &mut self.slots[index];
        if offset + u64::from(len) <= slot.subflow.received().0 {
            // A repetition of what was taken already.
            return;
        }
        let map = ReceivedMap { offset, len, data, wire, dsn };
        let contradicts = slot.received.insert(map).is_err();
        if contradicts || slot.received.len() > MAX_MAPPINGS {
            self.refuse_mapping(cx, index);
        }
    }

    /// A mapping that contradicts another one, or lacks its checksum (RFC 8684 s3.3.1).
    fn refuse_mapping(&mut self, cx: &mut Context<'_>, index: usize) {
        self.refused += 1;
        if index == 0 && !self.fully_established && self.may_fall_back() {
            self.fall_back(cx, false);
        } else {
            self.drop_slot(cx, index, ResetReason::MPTCP_ERROR);
            self.fail_if_alone();
        }
    }

    /// After a subflow was dropped: without another one the connection is over.
    fn fail_if_alone(&mut self) {
        if self.slots.iter().all(|slot| slot.stage == Stage::Gone) {
            self.fail(SocketError::Reset);
        }
    }

    /// The peer uses 64 bits: so must our acknowledgements (RFC 8684 s3.3.2).
    fn use_long_numbers(&mut self) {
        if std::mem::replace(&mut self.receive.long_numbers, true) {
            return;
        }
        self.signals_stale = true;
        for slot in &mut self.slots {
            slot.subflow.set_option_room(LONG_ROOM);
        }
    }

    fn hear_data_fin(&mut self, offset: u64) {
        // A stream ends once; another end is not believed.
        let within = offset <= self.receive.edge;
        if within && self.receive.fin_offset.is_none() {
            self.receive.fin_offset = Some(offset);
        } else if self.receive.fin_offset != Some(offset) {
            self.refused += 1;
        }
    }

    fn reach_fin(&mut self, cx: &mut Context<'_>) {
        if self.receive.reach_fin() {
            self.signals_stale = true;
            self.news.push(News::PeerClosed);
            self.acknowledge_everywhere();
        }
        if self.receive.fin_received {
            self.check_closed(cx);
        }
    }

    /// Take in-order data of a subflow to where they belong in the connection.
    fn drain(&mut self, cx: &mut Context<'_>, index: usize) {
        let before = self.receive.data.next_offset();
        loop {
            let slot = &mut self.slots[index];
            let (offset, readable) = slot.subflow.received();
            let Some(map) = slot.received.at(offset).copied().filter(|_| readable > 0) else {
                break;
            };
            let left = map.offset + u64::from(map.len) - offset;
            if map.wire.checksum.is_some() && readable < left {
                // A checksum covers the whole mapping.
                break;
            }
            let len = left.min(readable) as u32;
            let payload = slot.subflow.take_received(cx.now, len);
            slot.received.forget_below(offset + u64::from(len));
            if self.failed_checksum || !map.wire.matches(map.dsn, &payload) {
                if !self.failed_checksum {
                    self.on_checksum_failure(cx, index, map.dsn);
                }
                break;
            }
            let data = map.data + (offset - map.offset);
            self.receive.insert(cx.now, data, payload);
        }
        if self.receive.data.next_offset() > before {
            self.signals_stale = true;
            self.tell_readable();
            self.reach_fin(cx);
        }
    }

    fn hear_option(&mut self, cx: &mut Context<'_>, index: usize, option: &MptcpOption) -> bool {
        match option {
            MptcpOption::AddAddr(add) => self.hear_add_addr(cx, index, add),
            MptcpOption::RemoveAddr { ids } => self.hear_remove_addr(cx, ids),
            MptcpOption::Prio { backup } => {
                self.slots[index].backup_remote = *backup;
                let path = self.slots[index].path;
                self.scheduler.on_path_changed(path, PathChange::State);
            }
            MptcpOption::Fail { .. } => {
                self.on_mp_fail(cx, index);
                return !self.plain;
            }
            MptcpOption::FastClose { receiver } if *receiver == self.local_key => {
                self.on_fast_close(cx);
                return false;
            }
            MptcpOption::FastClose { .. } => self.refused += 1,
            MptcpOption::Capable(_)
            | MptcpOption::Join(_)
            | MptcpOption::Dss(_)
            | MptcpOption::TcpRst { .. } => {}
        }
        true
    }

    fn hear_add_addr(&mut self, cx: &mut Context<'_>, index: usize, add: &AddAddr) {
        if add.hmac.is_none() {
            self.addresses.echoed(add);
            return;
        }
        let Some(remote_key) = self.remote_key else { return };
        if !add.is_signed_by(remote_key, self.local_key) {
            self.refused += 1;
            return;
        }
        if let Some(mp) = self.slots[index].subflow.multipath() {
            mp.pending.push_back(MptcpOption::AddAddr(add.echo()));
        }
        self.slots[index].subflow.acknowledge();
        self.wake(index);
        let port = add.port.unwrap_or_else(|| self.slots[index].subflow.tuple().remote.port());
        let news = self.addresses.learn(add.address_id, SocketAddr::new(add.address, port));
        if self.client && index == 0 {
            self.become_fully_established(cx);
        }
        if news {
            let address = Address { id: add.address_id, ip: add.address };
            self.manage(cx, PathEvent::Announced(address));
        }
    }

    /// The peer lost addresses: subflows to them end (RFC 8684 s3.4.2).
    fn hear_remove_addr(&mut self, cx: &mut Context<'_>, ids: &[u8]) {
        for id in ids {
            self.addresses.remote.retain(|known| known.id != *id || *id == 0);
            for index in 0..self.slots.len() {
                let slot = &self.slots[index];
                let alone = self.slots.iter().filter(|slot| slot.is_usable()).count() <= 1;
                if slot.remote_id == *id && slot.stage == Stage::Open && !alone {
                    self.drop_slot(cx, index, ResetReason::UNSPECIFIED);
                }
            }
            self.manage(cx, PathEvent::Withdrawn { id: *id });
        }
    }

    /// Reset a subflow with these options, and the connection with it if it was the last one.
    pub(super) fn drop_with(&mut self, cx: &mut Context<'_>, index: usize, options: MptcpOptions) {
        if let Some(mp) = self.slots[index].subflow.multipath() {
            mp.on_reset = options;
        }
        self.slots[index].subflow.abort(cx);
        self.wake(index);
        self.lose_slot(cx, index);
        self.fail_if_alone();
    }
}
