//! The connection's own timers: data-level retransmission, closed window, DATA_FIN
//! (specs/tcp-subflow.md s6.4, s6.5; mptcp-protocol spec s3.3). Subflows have theirs.

use super::connection::Connection;
use super::deadlines::Unanswered;
use super::fallback::Announcement;
use super::subflow::SubflowEntry;
use crate::scheduler::Scheduler;
use crate::socket::SocketError;
use base::{Blocked, Context, Duration, Instant};
use wire::mptcp::ResetReason;

/// Interval of the data-level timer where no path gives one (Linux `TCP_RTO_MIN`).
const LEAST_INTERVAL: Duration = Duration::from_millis(200);
/// What is handed out again at once: what one buffer of Linux's send queue holds.
const RETRANSMIT_BYTES: u64 = 64 << 10;
/// Longest interval of data-level retransmission (RFC 6298's bound).
const MAX_INTERVAL: Duration = Duration::from_secs(120);
/// Data-level retransmissions or probes without an answer before the connection is given up.
const MAX_TRIES: u32 = 15;
/// Unanswered DATA_FINs after which a peer that agreed to fall back is taken to be plain.
const FIN_PATIENCE: u32 = 2;

/// Deadlines of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Timers {
    /// The head of the data is to be handed to another path, or a closed window probed.
    pub data: Instant,
    data_tries: u32,
    /// Its interval under the rule `stale`, as of when data were last on offer.
    pub stale_interval: Duration,
    /// When the peer's connection was last heard.
    pub heard_at: Instant,
}

impl Default for Timers {
    fn default() -> Self {
        let never = Instant::FAR_FUTURE;
        Timers {
            data: never,
            data_tries: 0,
            stale_interval: LEAST_INTERVAL,
            heard_at: Instant::ZERO,
        }
    }
}

impl Connection {
    /// The earliest deadline of connection and subflows.
    pub fn deadline(&self) -> Instant {
        let own = self
            .scheduler_deadline()
            .min(self.policy_deadline())
            .min(self.timers.data)
            .min(self.deadlines.earliest())
            .min(self.manager_deadline())
            .min(self.management.announcement_deadline())
            .min(self.watch_deadline());
        self.subflows.iter().map(SubflowEntry::deadline).fold(own, Instant::min)
    }

    fn manager_deadline(&self) -> Instant {
        if self.is_over() { Instant::FAR_FUTURE } else { self.management.manager_deadline() }
    }

    /// When the scheduler wants to be asked, if there is something to ask about.
    fn scheduler_deadline(&self) -> Instant {
        let asks = |_: &Instant| !self.is_over() && self.has_offer();
        self.scheduler.poll_timeout().filter(asks).unwrap_or(Instant::FAR_FUTURE)
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
        self.schedule_due |= self.scheduler_deadline().min(self.policy_deadline()) <= cx.now;
        if self.watch_deadline() <= cx.now {
            self.on_watch_timeout(cx);
        }
        if self.timers.data <= cx.now {
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

    /// Interval of the data-level timer but under the rule `stale`: twice the longest RTO of a
    /// usable path.
    fn data_interval(&self) -> Duration {
        let usable = self.subflows.iter().filter(|entry| entry.is_usable() && !entry.pf);
        let longest = usable.map(|entry| entry.tcp.rto()).max().unwrap_or(LEAST_INTERVAL);
        let doublings = self.timers.data_tries.min(10);
        (longest * 2 * (1 << doublings)).min(MAX_INTERVAL)
    }

    /// Data or acknowledgements moved: begin anew, or stop if nothing is open.
    pub(super) fn restart_data_timer(&mut self, now: Instant) {
        self.timers.data_tries = 0;
        self.set_data_timer(now);
    }

    /// Keep the timer running while something is open.
    pub(super) fn ensure_data_timer(&mut self, now: Instant) {
        if self.timers.data == Instant::FAR_FUTURE {
            self.set_data_timer(now);
        }
    }

    fn set_data_timer(&mut self, now: Instant) {
        let open = !self.send.segments.is_empty() || !self.send.is_drained();
        let runs = open && !self.is_over();
        self.timers.data = match runs {
            true if self.fails_as_mainline() => self.stale_expiry(now),
            true => now + self.data_interval(),
            false => Instant::FAR_FUTURE,
        };
    }

    /// The head was not acknowledged by the connection for long, whatever subflows say.
    fn on_data_timeout(&mut self, cx: &mut Context<'_>) {
        self.timers.data_tries = self.timers.data_tries.saturating_add(1);
        self.set_data_timer(cx.now);
        if self.timers.data_tries > MAX_TRIES && self.is_peer_silent(cx.now) {
            self.fail_all(cx);
            return;
        }
        if self.own_windows {
            self.probe_shut_subflows();
        }
        let spare = self.fails_as_mainline().then(|| self.on_stale_interval(cx));
        match self.send.segments.front() {
            Some(head) => {
                let start = head.offset.max(self.send.una);
                let range = start..self.send.nxt.min(start + RETRANSMIT_BYTES);
                if let Some(spare) = spare {
                    self.send_head_over(spare, start);
                    return;
                }
                let all_stuck = self.subflows.iter().all(|entry| !entry.is_usable() || entry.pf);
                // On an only subflow a copy would be taken for new data by a peer that fell back.
                let patience = u32::from(all_stuck);
                if self.timers.data_tries > patience {
                    if self.fallback.is_join_confirmed() {
                        self.send.reinject.insert(range);
                        self.schedule_due = true;
                    } else {
                        // All may have arrived and the answer be lost: another one is asked for.
                        self.probe_window();
                    }
                }
            }
            // Its choice: it is asked again.
            None if self.waits == Some(Blocked::SchedulerWaits) => self.schedule_due = true,
            // Written, never handed out: the window is closed, or was when last heard.
            None => {
                self.probe_window();
                self.check_fin(cx);
            }
        }
    }

    /// A peer that answers may keep its window closed for as long as it likes.
    fn is_peer_silent(&self, now: Instant) -> bool {
        now - self.timers.heard_at > MAX_INTERVAL * 2
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

    fn probe_window(&mut self) {
        let usable = |entry: &SubflowEntry| entry.is_usable() && !entry.pf;
        let active = self.subflows.iter().position(|entry| usable(entry) && !entry.probing);
        let Some(index) = active.or_else(|| self.subflows.iter().position(usable)) else { return };
        // A window smaller than a segment is filled only now (RFC 9293 s3.8.6.2.1).
        if !self.fill_window(index) {
            self.subflows[index].tcp.probe_window();
            self.subflows.wake(index);
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
        if !(self.lifecycle.is_released() && self.send.is_fin_acked()) {
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
