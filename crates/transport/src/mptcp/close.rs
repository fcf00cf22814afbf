//! Ending a connection: DATA_FIN, closing its subflows, MP_FASTCLOSE (RFC 8684 s3.3.3, s3.5).

use super::connection::Connection;
use super::deadlines::Deadlines;
use super::stage::Stage;
use crate::socket::SocketError;
use base::{Context, Instant};
use wire::mptcp::{DataNumber, Mapping, MptcpOption, MptcpOptions, ResetReason};

impl Connection {
    /// The application will write no more.
    pub fn shutdown(&mut self, cx: &mut Context<'_>) -> Result<(), SocketError> {
        if self.is_plain() {
            self.numbers.queue_fin();
            self.push_plain();
            return Ok(());
        }
        if self.lifecycle.is_closed() {
            return Err(SocketError::NotConnected);
        }
        self.numbers.queue_fin();
        self.check_fin(cx);
        Ok(())
    }

    /// Nobody reads any more and this side is done: the peer has a minute to end, too.
    pub(super) fn bound_linger(&mut self, now: Instant) {
        if self.lifecycle.is_released()
            && self.numbers.is_fin_acked()
            && !self.lifecycle.is_closed()
            && !self.is_plain()
        {
            self.deadlines.start_end(now);
        }
    }

    /// Send the DATA_FIN once everything written was handed to subflows.
    pub(super) fn check_fin(&mut self, cx: &mut Context<'_>) {
        let due = self.numbers.is_fin_due() && self.sender.queue.is_drained();
        // A client without data may end what its peer does not know to be open yet; its keys go
        // along in turns with the DATA_FIN.
        let known = self.keys.is_fully_established()
            || (self.keys.is_client() && self.keys.remote().is_some());
        if !due || self.is_plain() || !known {
            return;
        }
        self.numbers.on_fin_sent();
        self.offer_fin();
        self.subflows.acknowledge_all();
        self.deadlines.start_fin(cx.now);
    }

    /// Every open subflow repeats the DATA_FIN while it is not acknowledged.
    pub(super) fn offer_fin(&mut self) {
        if !self.numbers.is_fin_sent() || self.numbers.is_fin_acked() || self.is_plain() {
            return;
        }
        let dsn = self.numbers.dsn(self.sender.queue.end());
        let checksum = self
            .keys
            .uses_checksum()
            .then(|| Mapping::checksum_of(dsn, 0, 1, &wire::Payload::Empty));
        let dsn = DataNumber::Long(dsn);
        let mapping = Mapping { dsn, subflow_seq: 0, len: 1, checksum };
        for entry in self.subflows.iter_mut().filter(|entry| entry.stage() == Stage::Open) {
            if let Some(mp) = entry.tcp.multipath() {
                mp.set_data_fin(Some(mapping));
            }
        }
    }

    /// The peer acknowledged the DATA_FIN.
    pub(super) fn on_fin_acked(&mut self, cx: &mut Context<'_>) {
        self.deadlines.stop_fin();
        for entry in &mut self.subflows {
            if let Some(mp) = entry.tcp.multipath() {
                mp.set_data_fin(None);
            }
        }
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
                self.reset_for(cx, index, ResetReason::UNSPECIFIED);
            }
        }
        self.close();
    }

    /// Nothing is repeated or awaited any more.
    pub(super) fn stop_timers(&mut self) {
        self.sender.stop();
        self.peer_heard_at = Instant::ZERO;
        self.deadlines = Deadlines::default();
        self.management.stop();
    }

    fn close(&mut self) {
        self.stop_timers();
        self.lifecycle.close();
    }

    /// After a subflow ended: without another one a new one may come within a minute
    /// (mptcp-protocol spec s3.6); before the connection was established none can.
    pub(super) fn check_alone(&mut self, cx: &mut Context<'_>, error: SocketError) {
        if self.lifecycle.is_closed()
            || self.subflows.iter().any(|entry| entry.stage() != Stage::Gone)
        {
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

    /// End at once: MP_FASTCLOSE and a reset on every subflow (RFC 8684 s3.5, option R).
    pub fn abort(&mut self, cx: &mut Context<'_>) {
        self.reset_all(cx);
        self.stop_timers();
        self.lifecycle.abort();
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

    /// No path leads on.
    pub(super) fn fail_all(&mut self, cx: &mut Context<'_>) {
        self.reset_all(cx);
        self.fail(SocketError::TimedOut);
    }

    /// The connection failed: tell once.
    pub(super) fn fail(&mut self, error: SocketError) {
        self.stop_timers();
        self.lifecycle.fail(error);
    }

    /// Reset one subflow, saying why.
    pub(super) fn reset_for(&mut self, cx: &mut Context<'_>, index: usize, reason: ResetReason) {
        let mut options = MptcpOptions::default();
        options.push(MptcpOption::TcpRst { transient: false, reason });
        self.reset_subflow(cx, index, options);
    }

    pub(super) fn reset_subflow(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        options: MptcpOptions,
    ) {
        let entry = &mut self.subflows[index];
        if entry.stage() == Stage::Gone {
            return;
        }
        if let Some(mp) = entry.tcp.multipath() {
            mp.set_reset_options(options);
        }
        entry.tcp.abort(cx);
        self.subflows.wake(index);
        self.lose_subflow(cx, index);
    }
}
