//! Carrying out a fallback, and the stream after it, which is that of the first subflow
//! (RFC 8684 s3.7). When a connection falls back is decided by `fallback`.

use super::connection::Connection;
use super::fallback::{Announcement, FailReceived, OptionsLost, Refused, Suspect};
use super::mappings::ReceivedMappings;
use super::stage::Stage;
use super::subflow::SubflowEntry;
use crate::tcp::multipath::SegmentInfo;
use base::Context;
use wire::mptcp::{DataNumber, Mapping, MptcpOption, MptcpOptions, ResetReason};

impl Connection {
    /// Whether the connection is plain TCP by now.
    pub const fn is_plain(&self) -> bool {
        self.fallback.is_plain()
    }

    /// Only one subflow was ever used, and nothing was sent twice.
    pub(super) fn may_fall_back(&self) -> bool {
        self.fallback.is_permitted(self.is_one_stream())
    }

    /// Offsets of the connection and of its first subflow are the same.
    fn is_one_stream(&self) -> bool {
        self.sender.queue.reinjected_bytes() == 0
            && !self.sender.queue.is_scattered()
            && self.receive.is_one_stream()
    }

    /// Data or acknowledgements arrived without options on subflow `index`.
    pub(super) fn on_options_lost(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        announcement: Announcement,
    ) {
        match self.fallback.on_options_lost(index == 0, announcement, self.is_one_stream()) {
            Ok(OptionsLost::Deferred) => {}
            Ok(OptionsLost::FallBack(announcement)) => self.fall_back(cx, announcement),
            Err(Refused) => {
                self.refused += 1;
                self.reset_for(cx, index, ResetReason::MIDDLEBOX_INTERFERENCE);
                self.fail_if_alone();
            }
        }
    }

    /// A join was confirmed or failed: once none is pending, options lost before are judged.
    pub(super) fn resolve_join(&mut self, cx: &mut Context<'_>) {
        if self.is_over() {
            return;
        }
        let pending = |entry: &SubflowEntry| entry.stage() == Stage::PreEstablished;
        if !self.fallback.is_join_confirmed() && self.subflows.iter().any(pending) {
            return;
        }
        let lost = self.fallback.on_joins_settled();
        let open = self.subflows.first().is_some_and(|entry| entry.stage() == Stage::Open);
        if let Some(announcement) = lost.filter(|_| open) {
            self.on_options_lost(cx, 0, announcement);
        }
    }

    /// Become TCP.
    pub(super) fn fall_back(&mut self, cx: &mut Context<'_>, announcement: Announcement) {
        if announcement == Announcement::FailAndInfiniteMapping {
            self.send_fail();
        }
        let Ok(suspect) = self.fallback.become_plain(announcement) else { return };
        self.stop_timers();
        self.sender.clear_assignments();
        self.receive.mark_changed();
        for index in 1..self.subflows.len() {
            self.reset_for(cx, index, ResetReason::MIDDLEBOX_INTERFERENCE);
        }
        let announces = announcement != Announcement::Nothing;
        let infinite = announces.then(|| self.infinite_mapping());
        let window = self.sender.queue.window_end();
        let Some(entry) = self.subflows.first_mut() else { return };
        if entry.stage() != Stage::Gone {
            entry.handshake.on_open();
        }
        entry.received = ReceivedMappings::default();
        let una = entry.tcp.una();
        if let Some(mp) = entry.tcp.multipath() {
            mp.fall_back(infinite);
            mp.retain_queued(|option| matches!(option, MptcpOption::Fail { .. }));
        }
        entry.tcp.lower_window(window.saturating_sub(una));
        if let Some(suspect) = suspect {
            self.accept_suspect(cx, suspect);
        }
        self.push_plain();
        self.drain_plain(cx);
        self.subflows.wake(0);
    }

    /// Payload that a middlebox changed is part of the stream after all.
    fn accept_suspect(&mut self, cx: &mut Context<'_>, Suspect { offset, payload }: Suspect) {
        self.receive.extend_edge(offset + u64::from(payload.len()));
        self.receive.insert(cx.now, offset, payload);
        self.lifecycle.push_readable();
    }

    /// Everything from the last data known intact on lies where the subflow has it.
    fn infinite_mapping(&self) -> Mapping {
        let start = self.sender.queue.una();
        Mapping {
            dsn: DataNumber::Long(self.numbers.dsn(start)),
            subflow_seq: (start as u32).wrapping_add(1),
            len: 0,
            checksum: self.keys.uses_checksum().then_some(0),
        }
    }

    /// Hand what was written to the one subflow.
    pub(super) fn push_plain(&mut self) {
        let Some(entry) = self.subflows.first_mut() else { return };
        if let Some(payload) = self.sender.take_rest(entry.path) {
            entry.tcp.push_plain(payload);
        }
        if self.numbers.is_fin_queued() && self.sender.queue.is_drained() {
            entry.tcp.queue_fin();
        }
        self.subflows.wake(0);
    }

    /// What the subflow acknowledged frees the connection's buffer.
    pub(super) fn on_plain_ack(&mut self) {
        let Some(entry) = self.subflows.first_mut() else { return };
        let una = entry.tcp.una().min(self.sender.queue.nxt());
        // Room for options is not needed once the infinite mapping is out.
        if entry.tcp.multipath().is_some_and(|mp| mp.is_fallback_announced()) {
            entry.tcp.set_option_room(0);
        }
        self.sender.queue.on_ack(una);
    }

    /// What the subflow received in order goes to the reader.
    pub(super) fn drain_plain(&mut self, cx: &mut Context<'_>) {
        let Some(entry) = self.subflows.first_mut() else { return };
        let (offset, len) = entry.tcp.received();
        if len > 0 {
            let payload = entry.tcp.take_received(cx.now, u32::try_from(len).unwrap_or(u32::MAX));
            self.receive.extend_edge(offset + len);
            if self.receive.insert(cx.now, offset, payload) {
                self.lifecycle.push_readable();
            }
            self.receive.mark_changed();
        }
        let ended = self.subflows.first().is_some_and(|entry| entry.tcp.is_fin_received());
        if ended && self.receive.on_plain_fin() {
            self.lifecycle.push(crate::socket::ConnectionEvent::PeerClosed);
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
        let mut options = MptcpOptions::default();
        options.push(MptcpOption::Fail { dsn });
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

    /// An MP_FAIL arrived on subflow `index`; `mapped`: beside a DSS.
    pub(super) fn on_mp_fail(&mut self, cx: &mut Context<'_>, index: usize, mapped: bool) {
        match self.fallback.on_fail_received(mapped, self.is_one_stream()) {
            Ok(FailReceived::Repeated) => {}
            Ok(FailReceived::Agreed(suspect)) => self.on_fail_agreed(cx, suspect),
            Ok(FailReceived::FallBack(announcement)) => self.fall_back(cx, announcement),
            Err(Refused) => {
                self.reset_for(cx, index, ResetReason::MIDDLEBOX_INTERFERENCE);
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

    /// A segment arrived after the fallback: the answer to the peer's MP_FAIL may have been lost.
    pub(super) fn handle_plain(&mut self, heard: &SegmentInfo) {
        let fail = |option: &MptcpOption| matches!(option, MptcpOption::Fail { .. });
        if self.fallback.is_fail_answered() && heard.options.others().iter().any(fail) {
            self.send_fail();
        }
    }

    /// An infinite mapping arrived on subflow `index`.
    pub(super) fn on_infinite_mapping(&mut self, cx: &mut Context<'_>, index: usize) {
        if self.fallback.accepts_infinite_mapping(self.is_one_stream()) {
            self.fall_back(cx, Announcement::Nothing);
        } else {
            self.refused += 1;
            self.reset_for(cx, index, ResetReason::MPTCP_ERROR);
            self.fail_if_alone();
        }
    }
}
