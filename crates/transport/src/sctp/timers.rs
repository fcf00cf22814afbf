//! Timers of an established association: T3-rtx, heartbeats and the delayed SACK (RFC 9260 s6.3.3,
//! s8.3; RFC 7829 s5).

use super::ends::Ends;
use super::path::{Heartbeat, Path};
use super::path_state::{Consequence, PathState};
use super::profile::T3Rule;
use super::sender::Probe;
use super::transfer::{Probes, Stranded, Transfer};
use crate::congestion::{CongestionControl, CongestionKind};
use base::{Context, Event, EventMask, Instant, LossReason, PathId};

/// The peer does not answer any more (RFC 9260 s8.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Unreachable;

/// What T3-rtx of a path took for lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unanswered {
    All,
    /// The rest was sent too recently.
    Some,
    Nothing,
}

impl Transfer {
    /// Timers may have expired.
    ///
    /// # Errors
    /// If the peer is unreachable.
    pub(super) fn on_timeout(&mut self, cx: &mut Context<'_>) -> Result<(), Unreachable> {
        self.receiver.on_timeout(cx.now);
        self.sender.end_hold(cx.now);
        self.sender.drop_expired(cx.now);
        if self.sender.take_forward_timeout(cx.now) {
            self.on_unforwarded(cx)?;
        }
        self.on_stranded(cx.now)?;
        for index in 0..self.paths.len() {
            if self.paths[index].t3.is_some_and(|at| at <= cx.now) {
                self.on_t3(cx, PathId(index as u8))?;
            }
            let path = &mut self.paths[index];
            if path.blocked_until.take_if(|until| *until <= cx.now).is_some() {
                self.round.lead(path.id);
            }
            let heartbeat = path.heartbeat;
            match heartbeat {
                Heartbeat::Next(at) if at <= cx.now => self.on_heartbeat_due(cx, index),
                Heartbeat::Answer(at) if at <= cx.now => self.on_unanswered(cx, index)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Data wait for a path: without any no other timer runs that could find the peer unreachable.
    #[cold]
    pub(super) fn arm_stranded(&mut self, now: Instant) {
        let waits = self.states.data_path().is_none() && !self.sender.is_empty();
        if waits && self.stranded.is_none() {
            let timeout = self.config.parameters.rto.initial;
            self.stranded = Some(Stranded { deadline: now + timeout, timeout });
        }
    }

    /// Data may have waited for a path for too long: each expiry is an error of the association, as
    /// one of T3-rtx is (RFC 9260 s6.3.3, s8.1).
    fn on_stranded(&mut self, now: Instant) -> Result<(), Unreachable> {
        let Some(expired) = self.stranded.take_if(|stranded| stranded.deadline <= now) else {
            return Ok(());
        };
        if self.states.data_path().is_some() || self.sender.is_empty() {
            return Ok(());
        }
        if self.states.on_association_error() {
            return Err(Unreachable);
        }
        let timeout = (expired.timeout * 2).min(self.config.parameters.rto.max);
        self.stranded = Some(Stranded { deadline: now + timeout, timeout });
        Ok(())
    }

    /// T3-rtx of a path expired (RFC 9260 s6.3.3).
    fn on_t3(&mut self, cx: &mut Context<'_>, id: PathId) -> Result<(), Unreachable> {
        let index = id.index();
        let socket = self.socket;
        cx.record(EventMask::TIMER, || Event::TimerFired { socket, path: id, timer: "t3-rtx" });
        let probe = self.sender.probe;
        self.paths[index].t3 = None;
        self.paths[index].rto.back_off();
        if probe == Probe::Waiting {
            self.sender.probe = Probe::Due;
            return Ok(());
        }
        self.leave_recovery(cx.now, id);
        let unanswered = self.mark_unanswered(cx, id);
        if unanswered != Unanswered::All {
            self.paths[index].start_t3(cx.now);
        }
        if unanswered == Unanswered::Nothing {
            return Ok(());
        }
        let path = &mut self.paths[index];
        path.rtx_to = None;
        path.counters.timeouts += 1;
        if matches!(probe, Probe::Sent | Probe::Answered) {
            self.sender.probe = Probe::Due;
        }
        if probe == Probe::Answered {
            // A SACK answered: the peer lives, and nothing was lost (RFC 9260 s6.1 A).
            return Ok(());
        }
        self.sender.reduce(cx, &mut self.paths[index], CongestionKind::Rto);
        self.paths[index].after_loss.one_packet = true;
        let consequence = self.states.on_error(id, true);
        self.on_consequence(cx, id, &consequence)?;
        let chosen = self.choose_rtx_path(cx.chance, id);
        self.paths[index].rtx_to = chosen;
        if unanswered == Unanswered::All
            && let Some(path) = chosen.and_then(|path| self.paths.get_mut(path.index()))
        {
            path.after_loss.owes_packet = true;
        }
        if let Some(next) = self.states.alternative(id) {
            self.round.lead(next);
        }
        Ok(())
    }

    /// Fast recovery of a path ends although its exit point is not acknowledged. The controller
    /// has to know, too: otherwise its window never grows again, and skips the next cut.
    pub(super) fn leave_recovery(&mut self, now: Instant, id: PathId) {
        let path = self.paths.get_mut(id.index());
        if path.and_then(|path| path.recovery_exit.take()).is_some() {
            self.sender.control.on_recovery_exit(id, now);
        }
    }

    /// A control chunk on a path was not answered: an error of the path.
    ///
    /// # Errors
    /// If the peer is unreachable.
    pub(super) fn on_control_timeout(
        &mut self,
        cx: &mut Context<'_>,
        id: PathId,
    ) -> Result<(), Unreachable> {
        if let Some(path) = self.paths.get_mut(id.index()) {
            path.rto.back_off();
        }
        let consequence = self.states.on_error(id, true);
        if id.index() >= self.paths.len() {
            return if consequence.unreachable { Err(Unreachable) } else { Ok(()) };
        }
        self.on_consequence(cx, id, &consequence)
    }

    /// Paths that `ends` has in addition begin, and those whose addresses are there again go on.
    /// They are verified first.
    pub(super) fn on_address_added(&mut self, cx: &mut Context<'_>, ends: &Ends) {
        self.leave_other_pairs();
        self.add_paths(cx, ends);
        for index in 0..self.paths.len() {
            let id = PathId(index as u8);
            if self.states.is_deleted(id) && ends.is_live(id) {
                self.states.set_deleted(id, false);
                // Another path may have its number.
                if let Some(other) = self.new_path(cx.now, id, ends)
                    && !other.is_like(&self.paths[index])
                {
                    self.paths[index] = other;
                }
                let path = &mut self.paths[index];
                path.heartbeat = Heartbeat::Next(cx.now);
                // It may be another path through the network (RFC 9260 s7.2.5).
                let room = path.room;
                self.resume(cx, id);
                self.start_window(cx.now, id, room, ends);
                self.sender.record_window(cx, &self.paths[index]);
            }
        }
        self.list_live();
    }

    /// The path policy leaves new data to a path that begins anew.
    fn resume(&mut self, cx: &mut Context<'_>, path: PathId) {
        let policy = self.sender.cmt.as_mut().and_then(|cmt| cmt.policy.as_mut());
        if policy.is_some_and(|policy| policy.on_path_added(path)) {
            let (socket, on) = (self.socket, false);
            cx.record(EventMask::STATE, || Event::Probing { socket, path, on });
        }
    }

    /// Pairs that are no paths get other numbers: SACKs go to a path.
    fn leave_other_pairs(&mut self) {
        let to = self.receiver.reply_to();
        if to.index() >= self.paths.len() {
            self.receiver.leave(to, self.states.data_path());
        }
    }

    /// Paths end that have an address which `ends` has no more: what was sent there is sent
    /// elsewhere.
    pub(super) fn on_addresses_deleted(&mut self, cx: &mut Context<'_>, ends: &Ends) {
        self.leave_other_pairs();
        for index in 0..self.paths.len() {
            let id = PathId(index as u8);
            if ends.is_live(id) || self.states.is_deleted(id) {
                continue;
            }
            let path = &mut self.paths[index];
            path.heartbeat = Heartbeat::Off;
            path.verifier.forget();
            self.states.set_deleted(id, true);
            self.on_local_address(cx, id, false);
            self.sender.control.on_path_removed(id);
            self.receiver.leave(id, self.states.data_path());
        }
        self.list_live();
        self.arm_stranded(cx.now);
    }

    /// FORWARD TSN was not answered: it is sent again, as data are (RFC 3758 s3.5 C5). Where data
    /// wait for their acknowledgement T3-rtx judges the path, and one loss is one error.
    fn on_unforwarded(&mut self, cx: &mut Context<'_>) -> Result<(), Unreachable> {
        match self.states.data_path() {
            Some(id) if !self.paths.get(id.index()).is_some_and(Path::has_outstanding) => {
                self.on_control_timeout(cx, id)
            }
            _ => Ok(()),
        }
    }

    /// What T3-rtx of a path takes for lost is to be sent again.
    fn mark_unanswered(&mut self, cx: &mut Context<'_>, id: PathId) -> Unanswered {
        let path = &mut self.paths[id.index()];
        if self.sender.rules.t3 == T3Rule::Rfc9260 {
            self.mark_lost(cx, id);
            return Unanswered::All;
        }
        let limit = cx.now - path.rto.estimate();
        let Some(first) = self.sender.outstanding.earliest_before(id, limit) else {
            return Unanswered::Nothing;
        };
        (path.timed, path.unmeasured) = (None, None);
        path.counters.on_lost();
        self.sender.record_lost(cx, &self.paths[id.index()], first, LossReason::Timeout);
        let (bytes, chunks) = self.sender.outstanding.mark_older(id, limit);
        self.sender.peer_rwnd += self.sender.at_peer(bytes, chunks);
        match self.sender.outstanding.in_flight_bytes(id) {
            0 => Unanswered::All,
            _ => Unanswered::Some,
        }
    }

    /// Everything in the network on a path is to be sent again.
    pub(super) fn mark_lost(&mut self, cx: &mut Context<'_>, id: PathId) {
        let Some(first) = self.sender.outstanding.earliest(id) else { return };
        let path = &mut self.paths[id.index()];
        (path.timed, path.unmeasured) = (None, None);
        path.counters.on_lost();
        let path = &self.paths[id.index()];
        self.sender.record_lost(cx, path, first, LossReason::Timeout);
        let (bytes, chunks) = self.sender.outstanding.mark_path(id);
        self.sender.peer_rwnd += self.sender.at_peer(bytes, chunks);
    }

    /// What an error of a path leads to: a path that may have failed is probed at once.
    fn on_consequence(
        &mut self,
        cx: &mut Context<'_>,
        id: PathId,
        consequence: &Consequence,
    ) -> Result<(), Unreachable> {
        if let Some((_, after)) = consequence.changed {
            self.record_state(cx, after);
            let path = &mut self.paths[id.index()];
            let is_quiet = matches!(path.heartbeat, Heartbeat::Next(_));
            if after == PathState::PotentiallyFailed && is_quiet {
                path.heartbeat = Heartbeat::Next(cx.now);
                self.on_heartbeat_due(cx, id.index());
            }
        }
        if consequence.unreachable { Err(Unreachable) } else { Ok(()) }
    }

    /// Records that a path is in another state.
    pub(super) fn record_state(&self, cx: &mut Context<'_>, state: PathState) {
        let socket = self.socket;
        cx.record(EventMask::STATE, || Event::Connection { socket, state: state.name() });
    }

    /// A heartbeat is due, unless data were sent in the meantime (RFC 9260 s8.3).
    fn on_heartbeat_due(&mut self, cx: &mut Context<'_>, index: usize) {
        let id = PathId(index as u8);
        let state = self.states.state(id);
        let is_needed = self.sender.binding().is_some() && self.paths[index].samples.count == 0;
        if state == Some(PathState::Active) && !is_needed {
            let (last_sent, rto) = (self.paths[index].last_sent, self.paths[index].rto.rto());
            let quiet_until = last_sent + self.heartbeat_period(cx.chance, rto);
            if quiet_until > cx.now {
                self.paths[index].heartbeat = Heartbeat::Next(quiet_until);
                return;
            }
        }
        if state == Some(PathState::Unconfirmed) {
            // HB.Max.Burst: that many per RTO to all of these addresses, which a peer could have
            // listed to flood them (RFC 9260 s5.4, RFC 5062 s5).
            if cx.now >= self.probes.until {
                let until = cx.now + self.config.parameters.rto.initial;
                let left = self.config.parameters.heartbeat_burst;
                self.probes = Probes { until, left };
            }
            let Some(left) = self.probes.left.checked_sub(1) else {
                self.paths[index].heartbeat = Heartbeat::Next(self.probes.until);
                return;
            };
            self.probes.left = left;
        }
        self.probe(cx, index);
    }

    /// Sends a heartbeat.
    fn probe(&mut self, cx: &Context<'_>, index: usize) {
        let id = PathId(index as u8);
        let nonce = self.draw(cx.chance);
        let path = &mut self.paths[index];
        let chunk = path.verifier.probe(cx.now, nonce);
        path.heartbeat = Heartbeat::Answer(cx.now + path.rto.rto());
        self.control.push(id, chunk);
    }

    /// The answer to a heartbeat is overdue: an error of the path, and of the association if it
    /// carries the data.
    fn on_unanswered(&mut self, cx: &mut Context<'_>, index: usize) -> Result<(), Unreachable> {
        let id = PathId(index as u8);
        let counts = self.states.data_path() == Some(id);
        let path = &mut self.paths[index];
        // Heartbeats judge a path that is idle; where data wait for their acknowledgement T3-rtx
        // does, and one loss is one error (RFC 9260 s8.2, s8.3). The heartbeat measures the round
        // trip there, which data sent again cannot.
        let has_data = path.has_outstanding();
        if path.verifier.give_up() && !has_data {
            path.rto.back_off();
            let consequence = self.states.on_error(id, counts);
            self.paths[index].heartbeat = Heartbeat::Next(cx.now);
            if consequence.unreachable {
                return Err(Unreachable);
            }
            if let Some((_, after)) = consequence.changed {
                self.record_state(cx, after);
            }
        }
        let is_urgent = matches!(
            self.states.state(id),
            Some(PathState::Unconfirmed | PathState::PotentiallyFailed)
        );
        if is_urgent {
            self.on_heartbeat_due(cx, index);
        } else {
            let rto = self.paths[index].rto.rto();
            let period = self.heartbeat_period(cx.chance, rto);
            self.paths[index].heartbeat = Heartbeat::Next(cx.now + period);
        }
        Ok(())
    }

    /// The local address of a path can be used again, which a heartbeat proves, or cannot: the path
    /// is inactive at once, and what was sent there is sent again elsewhere.
    pub(super) fn on_local_address(&mut self, cx: &mut Context<'_>, id: PathId, works: bool) {
        let Some(path) = self.paths.get_mut(id.index()) else { return };
        if works {
            // Without heartbeats the interface is believed.
            if path.heartbeat == Heartbeat::Off {
                self.states.on_alive(id);
            } else {
                self.probe(cx, id.index());
            }
            return;
        }
        let had_timer = path.t3.take().is_some();
        path.blocked_until = None;
        if had_timer && self.sender.probe == Probe::Waiting {
            // The timer of the probe is that of another path from now on.
            self.sender.probe = Probe::Off;
        }
        if let Some((_, after)) = self.states.fail(id) {
            self.record_state(cx, after);
        }
        self.leave_recovery(cx.now, id);
        self.mark_lost(cx, id);
        let chosen = self.choose_rtx_path(cx.chance, id);
        self.paths[id.index()].rtx_to = chosen;
        // Without anything to send again nothing would clear the debt, and heartbeats, which judge
        // idle paths, would not count (RFC 9260 s8.3).
        if self.sender.outstanding.has_marked_of(id)
            && let Some(path) = chosen.and_then(|path| self.paths.get_mut(path.index()))
        {
            path.after_loss.owes_packet = true;
        }
    }

    /// T2-shutdown of a path expired: an error of the path, so that the next SHUTDOWN takes another
    /// one if there is any (RFC 9260 s9.2). The last resort is a path that the peer was heard on:
    /// heartbeats have stopped, so that an address which is not verified by now never is.
    pub(super) fn on_t2(&mut self, cx: &mut Context<'_>, id: PathId) {
        let socket = self.socket;
        let timer = "t2-shutdown";
        cx.record(EventMask::TIMER, || Event::TimerFired { socket, path: id, timer });
        if let Some(path) = self.paths.get_mut(id.index()) {
            path.rto.back_off();
        }
        // Retransmissions of SHUTDOWN are limited by a count of their own.
        if let Some((_, after)) = self.states.on_error(id, false).changed {
            self.record_state(cx, after);
        }
        let other = self.states.alternative(id).filter(|other| *other != id);
        if let Some(other) = other.or_else(|| self.next_heard(id)) {
            self.shutdown_path = Some(other);
        }
    }

    /// The next path in a circle behind `path` that the peer was heard on.
    fn next_heard(&self, path: PathId) -> Option<PathId> {
        let (before, behind) = self.paths.split_at(self.paths.len().min(path.index() + 1));
        behind.iter().chain(before).find(|path| path.heard).map(|path| path.id)
    }

    /// No more heartbeats: SHUTDOWN or SHUTDOWN ACK was sent (RFC 9260 s8.3).
    pub(super) fn stop_heartbeats(&mut self) {
        for path in &mut self.paths {
            path.heartbeat = Heartbeat::Off;
        }
    }
}
