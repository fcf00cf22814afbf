//! The connection's own timers: data-level retransmission, closed window, DATA_FIN
//! (specs/tcp-subflow.md s6.4, s6.5; mptcp-protocol spec s3.3). Subflows have theirs.

use super::connection::Connection;
use super::fallback::Announcement;
use super::subflow::SubflowEntry;
use crate::path_manager::Manager;
use crate::scheduler::Scheduler;
use crate::socket::SocketError;
use base::{Blocked, Context, Duration, Instant};
use wire::mptcp::ResetReason;

/// First interval of an unanswered DATA_FIN, doubled each time (Linux).
const FIN_INTERVAL: Duration = Duration::from_millis(200);
/// Its longest.
const MAX_FIN_INTERVAL: Duration = Duration::from_millis(102_400);
/// What is handed out again at once: what one buffer of Linux's send queue holds.
const RETRANSMIT_BYTES: u64 = 64 << 10;
/// Longest interval of data-level retransmission (RFC 6298's bound).
const MAX_INTERVAL: Duration = Duration::from_secs(120);
/// Data-level retransmissions or probes without an answer before the connection is given up.
const MAX_TRIES: u32 = 15;
/// A connection without any subflow waits so long for a new one (Linux `close_timeout`), and so
/// long for its peer when nobody reads any more.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the finder of a wrong checksum waits for an answer (Linux: TCP_RTO_MAX).
const FAIL_TIMEOUT: Duration = Duration::from_secs(120);
/// First interval of an unanswered MP_FAIL, doubled each time.
const FAIL_INTERVAL: Duration = Duration::from_millis(100);
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
    /// The DATA_FIN is to be repeated.
    pub fin: Instant,
    fin_tries: u32,
    /// Without a subflow for too long, or without a reader.
    pub end: Instant,
    /// A wrong checksum is to be told again,
    pub fail: Instant,
    /// at most until then.
    fail_end: Instant,
    fail_tries: u32,
    /// When the peer's connection was last heard.
    pub heard_at: Instant,
}

impl Default for Timers {
    fn default() -> Self {
        let never = Instant::FAR_FUTURE;
        Timers {
            data: never,
            data_tries: 0,
            stale_interval: FIN_INTERVAL,
            fin: never,
            fin_tries: 0,
            end: never,
            fail: never,
            fail_end: never,
            fail_tries: 0,
            heard_at: Instant::ZERO,
        }
    }
}

impl Connection {
    /// The earliest deadline of connection and subflows.
    pub fn deadline(&self) -> Instant {
        let Timers { data, fin, end, fail, .. } = self.timers;
        let own = self
            .scheduler_deadline()
            .min(self.policy_deadline())
            .min(data)
            .min(fin)
            .min(end)
            .min(fail)
            .min(self.manager_deadline())
            .min(self.addresses.deadline())
            .min(self.watch_deadline());
        self.subflows.iter().map(SubflowEntry::deadline).fold(own, Instant::min)
    }

    fn manager_deadline(&self) -> Instant {
        if self.is_plain() || self.closed { Instant::FAR_FUTURE } else { self.manager.deadline() }
    }

    /// When the scheduler wants to be asked, if there is something to ask about.
    fn scheduler_deadline(&self) -> Instant {
        let asks = |_: &Instant| !self.is_plain() && !self.closed && self.has_offer();
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
        if self.timers.fin <= cx.now {
            self.on_fin_timeout(cx);
        }
        if self.timers.fail <= cx.now {
            self.on_fail_timeout(cx);
        }
        if self.timers.end <= cx.now {
            self.fail_all(cx);
        }
        self.check_withdrawn(cx);
        self.run_manager(cx);
    }

    /// Interval of the data-level timer but under the rule `stale`: twice the longest RTO of a
    /// usable path.
    fn data_interval(&self) -> Duration {
        let usable = self.subflows.iter().filter(|entry| entry.is_usable() && !entry.pf);
        let longest = usable.map(|entry| entry.tcp.rto()).max().unwrap_or(FIN_INTERVAL);
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
        let runs = open && !self.is_plain() && !self.closed;
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

    /// Start repeating the DATA_FIN.
    pub(super) fn start_fin_timer(&mut self, now: Instant) {
        self.timers.fin_tries = 0;
        self.timers.fin = now + FIN_INTERVAL;
    }

    /// The DATA_FIN was acknowledged.
    pub(super) const fn stop_fin_timer(&mut self) {
        self.timers.fin = Instant::FAR_FUTURE;
    }

    fn on_fin_timeout(&mut self, cx: &mut Context<'_>) {
        self.timers.fin_tries = self.timers.fin_tries.saturating_add(1);
        if self.timers.fin_tries > MAX_TRIES && self.is_peer_silent(cx.now) {
            self.fail_all(cx);
            return;
        }
        if self.fallback.is_fail_agreed() && self.timers.fin_tries > FIN_PATIENCE {
            // The peer is plain by now, and had no data to say so with.
            self.fall_back(cx, Announcement::Nothing);
            return;
        }
        let interval = FIN_INTERVAL * (1 << self.timers.fin_tries.min(10));
        self.timers.fin = cx.now + interval.min(MAX_FIN_INTERVAL);
        self.offer_fin();
        self.subflows.acknowledge_all();
    }

    /// No subflow is left.
    pub(super) fn set_alone_timer(&mut self, now: Instant) {
        self.timers.end = self.timers.end.min(now + CLOSE_TIMEOUT);
    }

    /// Nobody reads any more.
    pub(super) fn set_linger_timer(&mut self, now: Instant) {
        self.timers.end = self.timers.end.min(now + CLOSE_TIMEOUT);
    }

    /// There is a subflow again.
    pub(super) fn stop_alone_timer(&mut self) {
        if !(self.released && self.send.is_fin_acked()) {
            self.timers.end = Instant::FAR_FUTURE;
        }
    }

    /// A wrong checksum was told.
    pub(super) fn start_fail_timer(&mut self, now: Instant) {
        self.timers.fail_tries = 0;
        self.timers.fail = now + FAIL_INTERVAL;
        self.timers.fail_end = now + FAIL_TIMEOUT;
    }

    /// It does not matter any more.
    pub(super) const fn stop_fail_timer(&mut self) {
        self.timers.fail = Instant::FAR_FUTURE;
    }

    fn on_fail_timeout(&mut self, cx: &mut Context<'_>) {
        if cx.now >= self.timers.fail_end {
            self.reset_for(cx, 0, ResetReason::MIDDLEBOX_INTERFERENCE);
            self.fail(SocketError::Reset);
            return;
        }
        self.timers.fail_tries += 1;
        let interval = FAIL_INTERVAL * (1 << self.timers.fail_tries.min(10));
        self.timers.fail = (cx.now + interval).min(self.timers.fail_end);
        self.send_fail();
    }
}
