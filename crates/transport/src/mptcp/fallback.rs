//! Leaving MPTCP for plain TCP on the first subflow (RFC 8684 s3.7, mptcp-protocol spec s3.5).
//!
//! Possible only while one subflow carried everything, so that offsets of the connection and of
//! the subflow are the same numbers: after it everything goes straight to the subflow.

use super::connection::Connection;
use super::slot::Stage;
use base::Context;
use wire::mptcp::{DataNumber, MptcpOption, MptcpOptions};

impl Connection {
    /// Whether the connection is plain TCP by now.
    pub const fn is_plain(&self) -> bool {
        self.plain
    }

    /// Only one subflow was ever tried, and nothing was sent twice.
    pub(super) fn may_fall_back(&self) -> bool {
        self.slots.len() == 1 && self.send.reinjected_bytes == 0
    }

    /// Become TCP. `announce`: tell the peer with an infinite mapping.
    pub(super) fn fall_back(&mut self, cx: &mut Context<'_>, announce: bool) {
        if std::mem::replace(&mut self.plain, true) {
            return;
        }
        self.timers = super::timers::Timers::default();
        self.addresses.announced.clear();
        let end = self.send.dsn(self.send.nxt);
        let Some(slot) = self.slots.first_mut() else { return };
        slot.stage = if slot.stage == Stage::Gone { Stage::Gone } else { Stage::Open };
        slot.subflow.unshare_window();
        slot.subflow.set_option_room(0);
        if let Some(mp) = slot.subflow.multipath() {
            mp.plain = true;
            mp.infinite = announce.then_some(end);
            mp.on_ack = None;
            mp.first_data = None;
            mp.data_ack = None;
        }
        self.push_plain();
        self.drain_plain(cx);
        self.wake(0);
    }

    /// Hand what was written to the one subflow.
    pub(super) fn push_plain(&mut self) {
        let left = self.send.buffer.end() - self.send.nxt;
        let Some(slot) = self.slots.first_mut() else { return };
        if left > 0 {
            // A send buffer is smaller than 4 GiB.
            let len = u32::try_from(left).unwrap_or(u32::MAX);
            let payload = self.send.buffer.slice(self.send.nxt, len);
            self.send.nxt += u64::from(payload.len());
            slot.first_sent_bytes += u64::from(payload.len());
            slot.subflow.push_plain(payload);
        }
        if self.send.fin_queued && self.send.is_drained() {
            slot.subflow.queue_fin();
        }
        self.wake(0);
    }

    /// What the subflow acknowledged frees the connection's buffer.
    pub(super) fn on_plain_ack(&mut self) {
        let Some(slot) = self.slots.first() else { return };
        let una = slot.subflow.una().min(self.send.buffer.end());
        self.send.una = self.send.una.max(una);
        self.send.buffer.release_below(una);
        while self.send.segments.front().is_some_and(|segment| segment.end() <= una) {
            self.send.segments.pop_front();
        }
    }

    /// What the subflow received in order goes to the reader.
    pub(super) fn drain_plain(&mut self, cx: &mut Context<'_>) {
        let Some(slot) = self.slots.first_mut() else { return };
        let (offset, len) = slot.subflow.received();
        if len > 0 {
            let payload =
                slot.subflow.take_received(cx.now, u32::try_from(len).unwrap_or(u32::MAX));
            self.receive.edge = self.receive.edge.max(offset + len);
            if self.receive.insert(cx.now, offset, payload) {
                self.tell_readable();
            }
        }
        let ended = self.slots.first().is_some_and(|slot| slot.subflow.is_fin_received());
        if ended && !std::mem::replace(&mut self.receive.fin_received, true) {
            self.news.push(crate::tcp::subflow::News::PeerClosed);
        }
    }

    /// A checksum was wrong: a middlebox changed the payload of subflow `index` from data
    /// sequence number `dsn` on.
    pub(super) fn on_checksum_failure(&mut self, cx: &mut Context<'_>, index: usize, dsn: u64) {
        self.refused += 1;
        let fail = MptcpOption::Fail { dsn };
        if self.may_fall_back() {
            if let Some(mp) = self.slots[index].subflow.multipath() {
                mp.pending.push_back(fail);
            }
            self.slots[index].subflow.acknowledge();
            self.wake(index);
            self.failed_checksum = true;
            return;
        }
        let mut options = MptcpOptions::default();
        options.push(fail);
        self.slots[index].subflow.acknowledge();
        self.drop_with(cx, index, options);
    }

    /// The peer found a wrong checksum: data from the last acknowledged on go again, unmapped.
    pub(super) fn on_mp_fail(&mut self, cx: &mut Context<'_>, index: usize) {
        if !self.may_fall_back() {
            return;
        }
        let una = self.send.una;
        if let Some(mp) = self.slots[index].subflow.multipath() {
            mp.infinite = Some(self.send.first_dsn.wrapping_add(una));
            mp.data_ack = None;
        }
        self.fall_back(cx, true);
    }

    /// An infinite mapping arrived, or the first data without one.
    pub(super) fn on_infinite_mapping(&mut self, cx: &mut Context<'_>, dsn: Option<DataNumber>) {
        let _ = dsn;
        if self.may_fall_back() {
            self.fall_back(cx, false);
        } else {
            self.refused += 1;
        }
    }
}
