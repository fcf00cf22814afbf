//! Leaving MPTCP for plain TCP on the first subflow (RFC 8684 s3.7, mptcp-protocol spec s3.5).
//!
//! Possible only while one subflow carried everything, so that offsets of the connection and of
//! the subflow are the same numbers: after it everything goes straight to the subflow.

use super::connection::Connection;
use super::slot::{ReceivedMaps, Slot, Stage};
use crate::tcp::multipath::SegmentInfo;
use base::Context;
use wire::Payload;
use wire::mptcp::{DataNumber, Mapping, MptcpOption, MptcpOptions, ResetReason};

impl Connection {
    /// Whether the connection is plain TCP by now.
    pub const fn is_plain(&self) -> bool {
        self.plain
    }

    /// Only one subflow was ever used, and nothing was sent twice.
    pub(super) fn may_fall_back(&self) -> bool {
        !self.joined && self.is_one_stream()
    }

    fn is_one_stream(&self) -> bool {
        self.send.reinjected_bytes == 0 && !self.send.scattered && !self.receive.shifted
    }

    /// The peer proved a join to us and has not said that it took ours: it may fall back before
    /// our proof arrives, and refuses the join then.
    fn is_join_in_doubt(&self) -> bool {
        self.joined && !self.shared && self.is_one_stream()
    }

    /// Data or acknowledgements came without options on subflow `index`. While a join is in doubt
    /// its end decides.
    pub(super) fn on_options_lost(&mut self, cx: &mut Context<'_>, index: usize, announce: bool) {
        if index == 0 && self.is_join_in_doubt() {
            self.lost_options = Some(announce || self.lost_options == Some(true));
        } else if self.may_fall_back() {
            self.fall_back(cx, announce);
        } else {
            self.refused += 1;
            self.drop_slot(cx, index, ResetReason::MIDDLEBOX_INTERFERENCE);
            self.fail_if_alone();
        }
    }

    /// A join is complete, or failed: what was put off until then.
    pub(super) fn resolve_join(&mut self, cx: &mut Context<'_>) {
        let waits = |slot: &Slot| slot.stage == Stage::PreEstablished;
        if self.plain || self.closed || (!self.shared && self.slots.iter().any(waits)) {
            return;
        }
        self.joined = self.shared;
        let there = self.slots.first().is_some_and(|slot| slot.stage == Stage::Open);
        if let Some(announce) = self.lost_options.take().filter(|_| there) {
            self.on_options_lost(cx, 0, announce);
        }
    }

    /// Become TCP. `announce`: tell the peer with an infinite mapping.
    pub(super) fn fall_back(&mut self, cx: &mut Context<'_>, announce: bool) {
        if std::mem::replace(&mut self.plain, true) {
            return;
        }
        self.timers = super::timers::Timers::default();
        self.addresses.announced.clear();
        self.assigned.clear();
        self.failed_checksum = false;
        self.signals_stale = true;
        for index in 1..self.slots.len() {
            self.drop_slot(cx, index, ResetReason::MIDDLEBOX_INTERFERENCE);
        }
        let infinite = announce.then(|| self.infinite_mapping());
        let window = self.send.window_end;
        let Some(slot) = self.slots.first_mut() else { return };
        slot.stage = if slot.stage == Stage::Gone { Stage::Gone } else { Stage::Open };
        slot.received = ReceivedMaps::default();
        let una = slot.subflow.una();
        if let Some(mp) = slot.subflow.multipath() {
            mp.fall_back(infinite);
            mp.retain_queued(|option| matches!(option, MptcpOption::Fail { .. }));
        }
        slot.subflow.lower_window(window.saturating_sub(una));
        self.take_doubted(cx);
        self.push_plain();
        self.drain_plain(cx);
        self.wake(0);
    }

    /// What a middlebox wrote is the stream after all.
    fn take_doubted(&mut self, cx: &mut Context<'_>) {
        if let Some((offset, payload)) = self.doubted.take() {
            self.receive.edge = self.receive.edge.max(offset + u64::from(payload.len()));
            self.receive.insert(cx.now, offset, payload);
            self.tell_readable();
        }
    }

    /// Everything from the last data known intact on lies where the subflow has it.
    fn infinite_mapping(&self) -> Mapping {
        let start = self.send.una.min(self.send.buffer.end());
        Mapping {
            dsn: DataNumber::Long(self.send.dsn(start)),
            subflow_seq: (start as u32).wrapping_add(1),
            len: 0,
            checksum: self.checksum.then_some(0),
        }
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
        let Some(slot) = self.slots.first_mut() else { return };
        let una = slot.subflow.una().min(self.send.buffer.end());
        // Room for options is not needed once the infinite mapping is out.
        if slot.subflow.multipath().is_some_and(|mp| mp.is_fallback_announced()) {
            slot.subflow.set_option_room(0);
        }
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
            self.signals_stale = true;
        }
        let ended = self.slots.first().is_some_and(|slot| slot.subflow.is_fin_received());
        if ended && !std::mem::replace(&mut self.receive.fin_received, true) {
            self.news.push(crate::socket::ConnectionEvent::PeerClosed);
        }
    }

    /// A checksum was wrong: a middlebox changed the payload of subflow `index` from data
    /// sequence number `dsn` on.
    pub(super) fn on_checksum_failure(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        dsn: u64,
        (offset, payload): (u64, Payload),
    ) {
        self.refused += 1;
        if self.may_fall_back() {
            // What a middlebox wrote is the stream of the TCP connection that this becomes.
            self.failed_checksum = true;
            self.doubted = Some((offset, payload));
            self.start_fail_timer(cx.now);
            self.tell_failure();
            return;
        }
        let mut options = MptcpOptions::default();
        options.push(MptcpOption::Fail { dsn });
        let reason = ResetReason::MIDDLEBOX_INTERFERENCE;
        options.push(MptcpOption::TcpRst { transient: false, reason });
        self.reset_slot(cx, index, options);
        self.fail_if_alone();
    }

    /// Say where the mapping with the wrong checksum begins.
    pub(super) fn tell_failure(&mut self) {
        let dsn = self.receive.ack_number();
        self.say_on(0, MptcpOption::Fail { dsn });
    }

    /// The peer found a wrong checksum, or answers that it agrees to fall back; `mapped`: it still
    /// acknowledges data, so that its own infinite mapping is to come.
    pub(super) fn on_mp_fail(&mut self, cx: &mut Context<'_>, index: usize, mapped: bool) {
        if !self.may_fall_back() {
            self.drop_slot(cx, index, ResetReason::MIDDLEBOX_INTERFERENCE);
            self.fail_if_alone();
            return;
        }
        if self.agreed_fail {
            return;
        }
        if self.failed_checksum && mapped {
            self.agree_to_fail(cx);
            return;
        }
        if !self.failed_checksum {
            self.answered_fail = true;
            self.tell_failure();
        }
        self.fall_back(cx, true);
    }

    /// The peer agrees to fall back, and says from where on with its next new data. Until then it
    /// is acknowledged, as it may have no window left for them; an infinite mapping of ours would
    /// come too early: a kernel (6.18) that is plain before its own is out makes segments longer
    /// than the path takes of it.
    fn agree_to_fail(&mut self, cx: &mut Context<'_>) {
        self.failed_checksum = false;
        self.agreed_fail = true;
        self.stop_fail_timer();
        if let Some(mp) = self.slots[0].subflow.multipath() {
            mp.retain_queued(|option| !matches!(option, MptcpOption::Fail { .. }));
        }
        self.take_doubted(cx);
        self.signals_stale = true;
        self.slots[0].subflow.acknowledge();
        self.wake(0);
    }

    /// The connection is plain, and something was heard all the same: the answer to the peer's
    /// MP_FAIL may have been lost.
    pub(super) fn hear_plain(&mut self, heard: &SegmentInfo) {
        let fail = |option: &MptcpOption| matches!(option, MptcpOption::Fail { .. });
        if self.answered_fail && heard.options.others().iter().any(fail) {
            self.tell_failure();
        }
    }

    /// An infinite mapping arrived on subflow `index`.
    pub(super) fn on_infinite_mapping(&mut self, cx: &mut Context<'_>, index: usize) {
        if self.may_fall_back() || self.is_join_in_doubt() {
            self.fall_back(cx, false);
        } else {
            self.refused += 1;
            self.drop_slot(cx, index, ResetReason::MPTCP_ERROR);
            self.fail_if_alone();
        }
    }
}
