//! The subflows as the paths of a `multipath::Sender`.

use super::fallback::Fallback;
use super::keys::Keys;
use super::numbers::SendNumbers;
use super::stage::Stage;
use super::subflow::SubflowEntry;
use super::subflows::Subflows;
use crate::congestion::{CongestionControl, Controller, Penalty};
use crate::multipath::{Paths, Piece, Progress, Prompt};
use crate::scheduler::{PathState, PathView};
use crate::tcp::profile::{SubflowWindow, Switches};
use crate::tcp::sent_mappings::SentMapping;
use crate::tcp::timers::TimerWheel;
use base::{Blocked, Context, Duration, Instant, PathId};
use std::hint::cold_path;
use wire::mptcp::Mapping;

/// What kernels do differently with the data of a subflow.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubflowRules {
    /// The window announced on a subflow bounds it, in addition to the connection's.
    pub own_windows: bool,
    /// Each segment leaves before the scheduler is asked about the next one.
    pub one_at_a_time: bool,
    /// Data that follow each other share a mapping (Linux, interfaces that segment).
    joins_mappings: bool,
    timer_wheel: TimerWheel,
}

impl SubflowRules {
    /// Of a profile.
    pub(super) const fn new(switches: &Switches, joins_mappings: bool) -> Self {
        SubflowRules {
            own_windows: matches!(switches.multipath.subflow_window, SubflowWindow::Rfc),
            one_at_a_time: switches.multipath.sends_what_it_hands,
            joins_mappings,
            timer_wheel: switches.timer_wheel,
        }
    }
}

/// The subflows of a connection with what sending on them takes.
pub(super) struct SubflowPaths<'a> {
    pub subflows: &'a mut Subflows,
    pub controller: &'a mut Controller,
    pub keys: &'a Keys,
    pub fallback: &'a Fallback,
    pub numbers: &'a SendNumbers,
    pub rules: SubflowRules,
    /// Both directions are over, or the connection failed.
    pub closed: bool,
}

impl SubflowPaths<'_> {
    /// Until the peer proved that it supports MPTCP, data are contiguous on the first subflow (RFC
    /// 8684 s3.1).
    fn continues_at(&self, entry: &SubflowEntry) -> Option<u64> {
        let free = self.keys.is_fully_established() || entry.path != PathId(0);
        if free { None } else { entry.last_end }
    }

    /// Removes the bound of the subflow's window where all subflows share the connection's window:
    /// the multipath-tcp kernel v0.95 checks that window after the choice of a path
    /// (`mptcp_write_xmit`), so that a full window can cause a copy, whose data are within it.
    fn lift_window(&self, view: &mut PathView) {
        if !self.rules.own_windows {
            view.window.send_window_bytes = u64::from(u32::MAX);
        }
    }

    /// Data that follow each other share a mapping; one with a checksum is indivisible.
    #[inline]
    const fn joins_mappings(&self) -> bool {
        self.rules.joins_mappings && !self.keys.uses_checksum()
    }

    /// Queue data with a mapping for each piece of them.
    #[inline(never)]
    fn enqueue_pieces(&mut self, path: PathId, piece: &Piece) {
        let (len, mut at) = (piece.payload.len(), 0);
        while at < len {
            let payload = piece.payload.slice(at, piece.most.min(len - at));
            let offset = piece.offset + u64::from(at);
            at += payload.len();
            self.enqueue_mapped(path, Piece { offset, payload, ..*piece });
        }
    }

    /// Queue data with a mapping for all of them.
    #[inline(always)]
    fn enqueue_mapped(&mut self, path: PathId, piece: Piece) {
        let Piece { offset, payload, more, .. } = piece;
        let dsn = self.numbers.dsn(offset);
        let entry = &mut self.subflows[path];
        let at = entry.tcp.write_end();
        debug_assert!(payload.len() <= u32::from(u16::MAX), "a mapping has 16 bits for its length");
        let len = payload.len() as u16;
        let subflow_seq = (at as u32).wrapping_add(1);
        let mut checksum = None;
        if self.keys.uses_checksum() {
            cold_path();
            checksum = Some(Mapping::checksum_of(dsn, subflow_seq, len, &payload));
        }
        let dsn = self.numbers.to_wire(dsn);
        let map = SentMapping { offset: at, len, dsn, checksum, fin: false };
        entry.last_end = Some(offset + u64::from(len));
        entry.tcp.push(payload, map, self.rules.joins_mappings);
        entry.tcp.expect_more(self.rules.one_at_a_time && more);
        self.subflows.wake(path.index());
    }
}

impl Paths for SubflowPaths<'_> {
    #[inline]
    fn count(&self) -> usize {
        self.subflows.len()
    }

    fn view(&self, path: PathId) -> Option<PathView> {
        let mut view = PathView::BLANK;
        self.look(path, &mut view, true).then_some(view)
    }

    #[inline(always)]
    fn look(&self, path: PathId, view: &mut PathView, whole: bool) -> bool {
        let entry = &self.subflows[path];
        if entry.stage() == Stage::Gone {
            return false;
        }
        entry.tcp.look(view, self.controller);
        if whole {
            entry.tcp.look_further(view, self.controller);
            view.interface = entry.interface;
        }
        if entry.stage() != Stage::Open {
            view.state = PathState::Opening;
        }
        view.backup = entry.is_backup();
        view.continues_at = self.continues_at(entry);
        self.lift_window(view);
        true
    }

    #[inline]
    fn refresh(&mut self, cx: &Context<'_>, view: &mut PathView) {
        let entry = &mut self.subflows[view.id];
        if entry.tcp.restart_after_idle(cx, self.controller) {
            entry.tcp.view_window(view, self.controller);
        }
        entry.tcp.view_queue(view);
        view.continues_at = self.continues_at(&self.subflows[view.id]);
        self.lift_window(view);
    }

    #[inline]
    fn is_usable(&self, path: PathId) -> bool {
        self.subflows[path].is_usable()
    }

    #[inline]
    fn segment_size(&self, path: PathId) -> u32 {
        self.subflows[path].tcp.segment_size()
    }

    #[inline]
    fn may_carry(&self, path: PathId, offset: u64) -> bool {
        self.keys.is_fully_established() || self.subflows[path].last_end.unwrap_or(0) == offset
    }

    /// On the only subflow a peer that fell back would take a copy for new data.
    fn accepts_copies(&self) -> bool {
        self.fallback.is_join_confirmed()
    }

    fn only_queues(&self) -> bool {
        true
    }

    #[inline(always)]
    fn enqueue(&mut self, path: PathId, piece: Piece) {
        let len = piece.payload.len();
        if len <= piece.most || self.joins_mappings() {
            return self.enqueue_mapped(path, piece);
        }
        cold_path();
        self.enqueue_pieces(path, &piece);
    }

    fn penalise(&mut self, now: Instant, path: PathId, kind: Penalty) {
        self.controller.penalise(path, kind, now);
    }

    #[inline]
    fn progress(&self, path: PathId) -> Progress {
        let entry = &self.subflows[path];
        Progress {
            una: entry.tcp.una(),
            is_sacked: entry.tcp.is_sacked(),
            has_outstanding: entry.tcp.has_outstanding(),
            is_backup: entry.is_backup(),
            rto: entry.tcp.rto(),
        }
    }

    fn timer_left(&self, path: PathId, now: Instant, counts_unsent: bool) -> Option<Duration> {
        self.subflows[path].tcp.retransmission_in(now, counts_unsent)
    }

    fn probe_patience(&self, path: PathId, slack: Duration) -> Duration {
        self.subflows[path].tcp.probe_patience(slack)
    }

    fn prompt(&mut self, cx: &Context<'_>, path: PathId, prompt: Prompt) {
        let entry = &mut self.subflows[path];
        match prompt {
            Prompt::Window => entry.tcp.probe_window(),
            Prompt::KeepAlive => entry.tcp.send_keep_alive(),
            Prompt::Retransmission => return entry.tcp.retry_now(cx),
        }
        self.subflows.wake(path.index());
    }

    fn expiry(&self, now: Instant, interval: Duration) -> Instant {
        self.rules.timer_wheel.expiry(now, interval)
    }

    fn unsent(&self, path: PathId) -> u64 {
        let entry = &self.subflows[path];
        if entry.stage() == Stage::Open { entry.tcp.unsent() } else { 0 }
    }

    fn why_unsent(&self, path: PathId) -> Blocked {
        self.subflows[path].tcp.blocked_reason()
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.closed || self.fallback.is_plain()
    }
}
