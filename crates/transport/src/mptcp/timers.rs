//! What is due at a time: the timers of the connection, of its sender and of its subflows.

use super::connection::Connection;
use super::deadlines::Unanswered;
use super::fallback::Announcement;
use super::subflow::SubflowEntry;
use crate::socket::SocketError;
use base::{Context, Duration, Instant};
use wire::mptcp::ResetReason;

/// The longest silence of a peer that is there: two intervals of data-level retransmission.
const MAX_SILENCE: Duration = Duration::from_secs(240);
/// DATA_FINs without an answer before the connection is given up.
const MAX_TRIES: u32 = 15;
/// Unanswered DATA_FINs after which a peer that agreed to fall back is taken to be plain.
const FIN_PATIENCE: u32 = 2;

impl Connection {
    /// The earliest deadline of connection and subflows.
    pub fn deadline(&self) -> Instant {
        let own = self
            .sender
            .deadline(self.is_over())
            .min(self.deadlines.earliest())
            .min(self.manager_deadline())
            .min(self.management.announcement_deadline())
            .min(self.watch_deadline());
        self.subflows.iter().map(SubflowEntry::deadline).fold(own, Instant::min)
    }

    /// When a path is to be looked at again.
    fn watch_deadline(&self) -> Instant {
        let usable = |entry: &SubflowEntry| entry.is_usable();
        self.sender.watch_deadline(|path| self.subflows.get(path.index()).is_some_and(usable))
    }

    fn manager_deadline(&self) -> Instant {
        if self.is_over() { Instant::FAR_FUTURE } else { self.management.manager_deadline() }
    }

    /// Run what is due.
    pub fn on_timeout(&mut self, cx: &mut Context<'_>) {
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
        self.check_withdrawn(cx);
        self.run_manager(cx);
    }

    /// The data were not acknowledged by the connection for long, whatever subflows say.
    fn on_data_timeout(&mut self, cx: &mut Context<'_>) {
        let (sender, paths) = self.parts();
        let exhausted = sender.count_timeout(cx.now, &paths);
        if exhausted && self.is_peer_silent(cx.now) {
            self.fail_all(cx);
            return;
        }
        if self.rules.own_windows {
            self.probe_shut_subflows();
        }
        let (sender, mut paths) = self.parts();
        if sender.on_data_timeout(cx, &mut paths) {
            self.check_fin(cx);
        }
    }

    /// A peer that answers may keep its window closed for as long as it likes.
    fn is_peer_silent(&self, now: Instant) -> bool {
        now - self.peer_heard_at > MAX_SILENCE
    }

    /// The news that a window opened may have been lost on a subflow that is not used since.
    fn probe_shut_subflows(&mut self) {
        for index in 0..self.subflows.len() {
            if self.subflows[index].is_usable() && self.subflows[index].tcp.is_shut() {
                self.subflows[index].tcp.probe_window();
                self.subflows.wake(index);
            }
        }
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
                self.reset_for(cx, 0, ResetReason::MIDDLEBOX_INTERFERENCE);
                self.fail(SocketError::Reset);
            }
        }
    }
}
