//! The connection's own timers: DATA_FIN, MP_FAIL, the wait for a subflow or for the peer's end,
//! and the sender's. Subflows have theirs.

use super::connection::Connection;
use super::fallback::Announcement;
use super::subflow::SubflowEntry;
use crate::path_manager::Manager;
use crate::socket::SocketError;
use base::{Context, Duration, Instant};
use wire::mptcp::ResetReason;

/// First interval of an unanswered DATA_FIN, doubled each time (Linux).
const FIN_INTERVAL: Duration = Duration::from_millis(200);
/// Its longest.
const MAX_FIN_INTERVAL: Duration = Duration::from_millis(102_400);
/// The longest silence of a peer that is there: two intervals of data-level retransmission.
const MAX_SILENCE: Duration = Duration::from_secs(240);
/// DATA_FINs without an answer before the connection is given up.
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
        let Timers { fin, end, fail, .. } = self.timers;
        let own = self
            .sender
            .deadline(self.is_over())
            .min(fin)
            .min(end)
            .min(fail)
            .min(self.manager_deadline())
            .min(self.addresses.deadline())
            .min(self.watch_deadline());
        self.subflows.iter().map(SubflowEntry::deadline).fold(own, Instant::min)
    }

    /// Nothing is scheduled any more.
    const fn is_over(&self) -> bool {
        self.closed || self.is_plain()
    }

    /// When a path is to be looked at again.
    fn watch_deadline(&self) -> Instant {
        let usable = |entry: &SubflowEntry| entry.is_usable();
        self.sender.watch_deadline(|path| self.subflows.get(path.index()).is_some_and(usable))
    }

    fn manager_deadline(&self) -> Instant {
        if self.is_over() { Instant::FAR_FUTURE } else { self.manager.deadline() }
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
        now - self.timers.heard_at > MAX_SILENCE
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
        if !(self.released && self.numbers.is_fin_acked()) {
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
