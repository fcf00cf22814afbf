//! Ending a connection: DATA_FIN, closing its subflows, MP_FASTCLOSE (RFC 8684 s3.3.3, s3.5).

use super::connection::Connection;
use super::slot::Stage;
use crate::stack::SocketError;
use crate::tcp::subflow::News;
use base::Context;
use wire::mptcp::{DataNumber, Mapping, MptcpOption, MptcpOptions, ResetReason};

impl Connection {
    /// The application will write no more.
    pub fn shutdown(&mut self, cx: &mut Context<'_>) -> Result<(), SocketError> {
        if self.is_plain() {
            self.send.fin_queued = true;
            self.push_plain();
            return Ok(());
        }
        if self.closed {
            return Err(SocketError::NotConnected);
        }
        self.send.fin_queued = true;
        self.check_fin(cx);
        Ok(())
    }

    /// Send the DATA_FIN once everything written was handed to subflows.
    pub(super) fn check_fin(&mut self, cx: &mut Context<'_>) {
        let due = self.send.fin_queued && !self.send.fin_sent && self.send.is_drained();
        if !due || self.is_plain() || !self.fully_established {
            return;
        }
        self.send.fin_sent = true;
        let dsn = self.send.dsn(self.send.buffer.end());
        let checksum =
            self.checksum.then(|| Mapping::checksum_of(dsn, 0, 1, &wire::Payload::Empty));
        let dsn = DataNumber::Long(dsn);
        let mapping = Mapping { dsn, subflow_seq: 0, len: 1, checksum };
        for slot in self.slots.iter_mut().filter(|slot| slot.stage == Stage::Open) {
            if let Some(mp) = slot.subflow.multipath() {
                mp.data_fin = Some(mapping);
            }
        }
        self.acknowledge_everywhere();
        self.start_fin_timer(cx.now);
    }

    /// The peer acknowledged the DATA_FIN.
    pub(super) fn on_fin_acked(&mut self, cx: &mut Context<'_>) {
        self.stop_fin_timer();
        for slot in &mut self.slots {
            if let Some(mp) = slot.subflow.multipath() {
                mp.data_fin = None;
            }
        }
        self.check_closed(cx);
    }

    /// Both DATA_FINs are acknowledged: subflows end (as Linux, which waits for both).
    pub(super) fn check_closed(&mut self, cx: &mut Context<'_>) {
        if self.is_plain() || !self.receive.fin_received || !self.send.is_fin_acked() {
            return;
        }
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            if slot.stage == Stage::Open && !slot.subflow.is_shut_down() {
                slot.subflow.finish(cx);
                self.wake(index);
            } else if matches!(slot.stage, Stage::Opening | Stage::PreEstablished) {
                self.drop_slot(cx, index, ResetReason::UNSPECIFIED);
            }
        }
        if !std::mem::replace(&mut self.closed, true) {
            self.news.push(News::Closed);
        }
    }

    /// End at once: MP_FASTCLOSE and a reset on every subflow (RFC 8684 s3.5, option R).
    pub fn abort(&mut self, cx: &mut Context<'_>) {
        let mut options = MptcpOptions::default();
        if let Some(receiver) = self.remote_key.filter(|_| !self.is_plain()) {
            options.push(MptcpOption::FastClose { receiver });
        }
        for index in 0..self.slots.len() {
            self.reset_slot(cx, index, options.clone());
        }
        self.closed = true;
    }

    /// The peer ended the connection at once.
    pub(super) fn on_fast_close(&mut self, cx: &mut Context<'_>) {
        for index in 0..self.slots.len() {
            self.reset_slot(cx, index, MptcpOptions::default());
        }
        self.fail(SocketError::Reset);
    }

    /// No path leads on.
    pub(super) fn fail_all(&mut self, cx: &mut Context<'_>) {
        for index in 0..self.slots.len() {
            self.reset_slot(cx, index, MptcpOptions::default());
        }
        self.fail(SocketError::TimedOut);
    }

    /// The connection failed: tell once.
    pub(super) fn fail(&mut self, error: SocketError) {
        self.timers = super::timers::Timers::default();
        self.addresses.announced.clear();
        if !std::mem::replace(&mut self.closed, true) {
            self.news.push(News::Failed(error));
        }
    }

    /// Reset one subflow, saying why.
    pub(super) fn drop_slot(&mut self, cx: &mut Context<'_>, index: usize, reason: ResetReason) {
        let mut options = MptcpOptions::default();
        options.push(MptcpOption::TcpRst { transient: false, reason });
        self.reset_slot(cx, index, options);
    }

    fn reset_slot(&mut self, cx: &mut Context<'_>, index: usize, options: MptcpOptions) {
        let slot = &mut self.slots[index];
        if slot.stage == Stage::Gone {
            return;
        }
        if let Some(mp) = slot.subflow.multipath() {
            mp.on_reset = options;
        }
        slot.subflow.abort(cx);
        self.wake(index);
        self.lose_slot(cx, index);
    }
}
