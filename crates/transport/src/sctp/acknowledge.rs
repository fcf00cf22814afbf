//! What a SACK or NR-SACK does to a sender, in the order of RFC 9260 s6.2.1 and s7.2.

use super::cmt::{PathBlocking, RttRule};
use super::outstanding::{AckedChunk, Acknowledged, Outstanding, Report, SackError};
use super::path::Path;
use super::profile::T3Rule;
use super::sender::{Probe, Sender, Sent};
use crate::congestion::{AckSample, CongestionControl, CongestionEvent, CongestionKind};
use base::{Context, Event, EventMask, Instant, LossReason, PathId};
use std::hint::cold_path;
use wire::sctp::Tsn;

/// A SACK or NR-SACK beside what it reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct SackArrival {
    /// Window of the peer, in bytes.
    pub a_rwnd: u32,
    /// Packets that it acknowledges, if the peer counts them (DAC).
    pub dac_packets: u8,
    /// The path that it came over; `None` if the packet measures no round trip.
    pub path: Option<PathId>,
}

/// What a SACK leads to beyond the sender.
#[derive(Clone, Debug, Default)]
pub(super) struct SackEffects {
    /// By path.
    paths: Vec<Before>,
    /// Data were acknowledged, or abandoned data were skipped.
    pub acknowledged: bool,
}

/// A path before a SACK, and what the SACK does there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    path: PathId,
    in_flight: u64,
    earliest: Option<Tsn>,
    acked: u64,
    /// The part of it that was not moved to the path, for which the window may grow.
    grown: u64,
    chunks: u32,
    /// A chunk was acknowledged that was sent once and not taken for lost.
    alive: bool,
    /// The cumulative TSN advanced over a chunk.
    advanced: bool,
    cwnd: u64,
}

impl SackEffects {
    /// Paths on which a chunk was acknowledged that was sent once and not taken for lost: they
    /// work. One that T3-rtx took for lost arrived before the path failed, perhaps, and only its
    /// SACK was lost.
    pub(super) fn alive(&self) -> impl Iterator<Item = PathId> + '_ {
        self.paths.iter().filter(|path| path.alive).map(|path| path.path)
    }
}

impl Sender {
    /// A SACK or NR-SACK with this window arrives.
    ///
    /// # Errors
    /// If it is old, or acknowledges what was never sent.
    pub(super) fn on_sack(
        &mut self,
        cx: &mut Context<'_>,
        paths: &mut [Path],
        report: &Report<'_>,
        arrival: SackArrival,
    ) -> Result<SackEffects, SackError> {
        // What few SACKs need is out of line: inlined it took half of the lines of this function.
        if self.cmt.is_some() {
            self.measure_late(cx, paths, report, arrival);
        }
        let mut before = std::mem::take(&mut self.spare_paths);
        before.clear();
        before.extend(paths.iter().map(|path| self.before(path.id)));
        if self.cmt.as_ref().is_some_and(|cmt| cmt.config.smart.reneging) {
            self.outstanding.arrives(cx.now, arrival.path);
            self.gaps.arrives(cx.now, arrival.path);
        }
        let acked = self.outstanding.acknowledge(report)?;
        self.gaps.on_report(report, &acked);
        self.release(acked.released_bytes);
        for chunk in &acked.newly {
            self.credit(cx, paths, &mut before, chunk, arrival.path);
        }
        if acked.advanced {
            self.acked = self.acked_up_to();
        }
        if self.cmt.is_some() {
            self.update_marks(report, &acked);
        }
        let missing = self.missing(cx.now, paths, report, &acked, arrival.dac_packets);
        for path in paths.iter_mut().filter(|path| path.recovery_exit.is_some()) {
            self.leave_recovery(cx, path);
        }
        self.on_window(arrival.a_rwnd);
        self.peer_rwnd = u64::from(arrival.a_rwnd).saturating_sub(self.in_flight_at_peer());
        if self.probe != Probe::Off {
            cold_path();
            self.update_probe();
        }
        for (path, before) in paths.iter_mut().zip(&before) {
            let may_grow = match &self.cmt {
                None => acked.advanced || !self.rules.grows_with_cum_tsn,
                Some(cmt) => cmt.marks.advance(path.id, before.advanced).grows,
            };
            if cx.wants(EventMask::REPORT) {
                cold_path();
                self.record_report(cx, before, may_grow, &missing, arrival);
            }
            self.grow(cx, path, before, may_grow);
        }
        if !missing.is_empty() {
            cold_path();
            self.lose(cx, paths, &missing);
        }
        let keeps_t3 = self.rules.t3 == T3Rule::FreeBsd && self.is_express(report);
        for (path, before) in paths.iter_mut().zip(&before) {
            self.restart_t3(cx, path, before, (keeps_t3, !acked.reneged.is_empty()));
        }
        self.forget_acknowledged(paths);
        // The peer also lives if all that it acknowledges was abandoned (RFC 3758 s3.5 A5).
        let acknowledged = acked.advanced || !acked.newly.is_empty();
        self.outstanding.recycle(acked);
        Ok(SackEffects { paths: before, acknowledged })
    }

    /// The vectors of `effects` are used for the next SACK.
    pub(super) fn recycle(&mut self, effects: SackEffects) {
        self.spare_paths = effects.paths;
    }

    /// CMT: notes what arrived on which path.
    #[inline(never)]
    fn update_marks(&mut self, report: &Report<'_>, acked: &Acknowledged) {
        let Some(cmt) = &mut self.cmt else { return };
        let (outstanding, skips) = (&self.outstanding, cmt.config.smart.fast_rtx);
        let next = outstanding.position(outstanding.cum_tsn() + 1);
        let highest = outstanding.position(outstanding.highest_of(report));
        let newly = acked.newly.iter().map(|chunk| {
            (outstanding.position(chunk.tsn), chunk.path, !(skips && chunk.timed_out))
        });
        cmt.marks.on_report(newly, (next, highest));
        for tsn in &acked.reneged {
            if let Some((path, _)) = outstanding.sent_on(*tsn) {
                cmt.marks.on_reneged(outstanding.position(*tsn), path);
            }
        }
    }

    /// Chunks that three reports miss, which are marked.
    fn missing(
        &mut self,
        now: Instant,
        paths: &[Path],
        report: &Report<'_>,
        acked: &Acknowledged,
        dac_packets: u8,
    ) -> Vec<Tsn> {
        // Everything that is reported missing counts (RFC 9260 s7.2.4).
        let counts_all = |path: &Path| acked.advanced && path.recovery_exit.is_some();
        if self.cmt.as_ref().is_some_and(|cmt| cmt.config.algorithms.sfr) {
            return self.missing_by_path(now, paths, report, acked, dac_packets);
        }
        let highest = match (paths.iter().any(counts_all), acked.newly.last()) {
            (true, _) => Some(self.outstanding.highest_of(report)),
            (false, newly) => newly.map(|chunk| chunk.tsn),
        };
        let missing = highest.map(|highest| self.outstanding.count_misses(None, highest));
        missing.unwrap_or_default()
    }

    /// The same with split fast retransmission (SFR): what arrived on a path says what is missing
    /// there.
    #[inline(never)]
    fn missing_by_path(
        &mut self,
        now: Instant,
        paths: &[Path],
        report: &Report<'_>,
        acked: &Acknowledged,
        dac_packets: u8,
    ) -> Vec<Tsn> {
        let counts_all = |path: &Path| acked.advanced && path.recovery_exit.is_some();
        let Some(cmt) = &self.cmt else { return Vec::new() };
        let mut missing = Vec::new();
        for path in paths {
            let Some(mut misses) = cmt.marks.misses(path.id, dac_packets) else { continue };
            let round_trips = u64::from(cmt.config.reschedule.moved_fast_rtx);
            misses.settled = now - path.srtt() * round_trips;
            if counts_all(path) {
                cold_path();
                let highest = self.outstanding.highest_of(report);
                misses.below = misses.below.max(self.outstanding.position(highest));
            }
            missing.extend(self.outstanding.count_misses_of(Some(path.id), &misses));
        }
        missing
    }

    fn before(&self, path: PathId) -> Before {
        Before {
            path,
            in_flight: self.outstanding.in_flight_bytes(path),
            earliest: self.outstanding.earliest(path),
            acked: 0,
            grown: 0,
            chunks: 0,
            alive: false,
            advanced: false,
            cwnd: self.control.cwnd_bytes(path),
        }
    }

    /// A chunk is acknowledged for the first time.
    fn credit(
        &mut self,
        cx: &mut Context<'_>,
        paths: &mut [Path],
        before: &mut [Before],
        chunk: &AckedChunk,
        over: Option<PathId>,
    ) {
        let index = chunk.path.index();
        let (Some(path), Some(before)) = (paths.get_mut(index), before.get_mut(index)) else {
            return;
        };
        before.acked += u64::from(chunk.len);
        before.grown += if chunk.moved { 0 } else { u64::from(chunk.len) };
        before.chunks += 1;
        before.alive |= chunk.sent_once && chunk.in_flight;
        before.advanced |= chunk.tsn <= self.outstanding.cum_tsn();
        path.counters.acked_bytes += u64::from(chunk.len);
        path.after_loss.one_packet = false;
        if path.timed == Some(chunk.tsn) {
            path.timed = None;
            if chunk.sent_once && chunk.in_flight {
                self.measure(cx, path, chunk, over);
            }
        }
    }

    /// A chunk that measures the round trip of its path was acknowledged by a SACK `over` a path.
    #[inline(never)]
    fn measure(
        &self,
        cx: &mut Context<'_>,
        path: &mut Path,
        chunk: &AckedChunk,
        over: Option<PathId>,
    ) {
        let rule = self.cmt.as_ref().map_or(RttRule::AnyPath, |cmt| cmt.config.rtt);
        if rule != RttRule::AnyPath && over != Some(path.id) {
            let is_open = rule == RttRule::SlowPath;
            path.unmeasured = is_open.then_some((chunk.tsn, chunk.sent_at));
            return;
        }
        let rtt = cx.now - chunk.sent_at;
        path.on_rtt(rtt);
        self.record_rtt(cx, path, rtt);
    }

    /// CMT: a SACK, old or not, over the path of a chunk that another one acknowledged measures
    /// the round trip, unless that is longer than the retransmission time-out: then the path was
    /// idle.
    #[inline(never)]
    fn measure_late(
        &self,
        cx: &mut Context<'_>,
        paths: &mut [Path],
        report: &Report<'_>,
        arrival: SackArrival,
    ) {
        let path = arrival.path.and_then(|path| paths.get_mut(path.index()));
        let Some(path) = path else { return };
        let covers = |(tsn, _): &mut _| Outstanding::<Sent>::covers(report, *tsn);
        let Some((_, sent_at)) = path.unmeasured.take_if(covers) else { return };
        let rtt = cx.now - sent_at;
        if rtt <= path.rto.rto() {
            path.on_rtt(rtt);
            self.record_rtt(cx, path, rtt);
        }
    }

    fn record_rtt(&self, cx: &mut Context<'_>, path: &Path, sample: base::Duration) {
        let (socket, id, rto) = (self.setup.socket, path.id, &path.rto);
        cx.record(EventMask::WINDOW, || Event::RttSample {
            socket,
            path: id,
            sample,
            srtt: path.srtt(),
            rttvar: rto.rttvar(),
            rto: rto.rto(),
        });
    }

    /// Position in the user data up to which all is acknowledged cumulatively.
    fn acked_up_to(&self) -> u64 {
        let next = self.outstanding.cum_tsn() + 1;
        match self.outstanding.data(next) {
            // Positions and TSNs have different orders: all that is acknowledged.
            _ if self.binding().is_some() => self.acked.max(self.acknowledged_bytes()),
            Some(sent) => sent.offset,
            None if self.outstanding.is_empty() => self.bound(),
            // The next chunk was abandoned.
            None => self.acked,
        }
    }

    /// Leaves fast recovery if everything that was outstanding at its beginning is acknowledged.
    #[inline(never)]
    fn leave_recovery(&mut self, cx: &Context<'_>, path: &mut Path) {
        let cum_tsn = self.outstanding.cum_tsn();
        let Some(exit) = path.recovery_exit else { return };
        let up_to = self.cmt.as_ref().and_then(|cmt| cmt.marks.advance(path.id, false).up_to);
        let has_passed = || up_to.is_some_and(|up_to| up_to > self.outstanding.position(exit));
        if cum_tsn >= exit || has_passed() {
            path.recovery_exit = None;
            self.control.on_recovery_exit(path.id, cx.now);
        }
    }

    /// A window that is open again needs no probe; a SACK answers one that was sent.
    #[cold]
    fn update_probe(&mut self) {
        let least = self.next_len_of_all();
        let is_open =
            least.is_none_or(|payload| u64::from(self.window_len(payload)) <= self.peer_rwnd);
        let is_idle = self.outstanding.total_in_flight_bytes() == 0;
        self.probe = match self.probe {
            _ if is_open => Probe::Off,
            // The peer took the probe although it announces no room: the next one waits anew.
            Probe::Sent | Probe::Answered if is_idle => Probe::Off,
            Probe::Sent => Probe::Answered,
            other => other,
        };
    }

    /// The window of a path may grow (RFC 9260 s7.2.1, s7.2.2).
    fn grow(&mut self, cx: &mut Context<'_>, path: &Path, before: &Before, may_grow: bool) {
        if before.acked > 0 {
            let in_flight = self.outstanding.in_flight_bytes(path.id);
            let acked = path.counters.acked_bytes;
            self.control.on_ack(
                path.id,
                &AckSample {
                    now: cx.now,
                    acked_segs: before.chunks,
                    acked_bytes: before.grown,
                    rtt: None,
                    srtt: path.srtt(),
                    min_rtt: path.min_rtt.unwrap_or_default(),
                    inflight_before_segs: 0,
                    cwnd_limited: before.in_flight >= before.cwnd,
                    may_grow: may_grow && before.grown > 0,
                    state: path.ca_state(),
                    snd_una: acked,
                    snd_nxt: acked + in_flight,
                    paced: false,
                },
            );
            self.record_acked(cx, path, before);
            self.bursts.on_acked(self.rules.burst, path.id);
        }
        if self.control.cwnd_bytes(path.id) != before.cwnd {
            self.record_window(cx, path);
        }
    }

    /// CMT: records what the SACK means for a path, if it has news of it.
    #[inline(never)]
    fn record_report(
        &self,
        cx: &mut Context<'_>,
        before: &Before,
        may_grow: bool,
        lost: &[Tsn],
        arrival: SackArrival,
    ) {
        let Some(cmt) = &self.cmt else { return };
        let (socket, path) = (self.setup.socket, before.path);
        let misses = cmt.marks.misses(path, arrival.dac_packets);
        let (below, times) = match cmt.config.algorithms.sfr {
            true => (misses.map(|misses| misses.below), misses.map_or(0, |misses| misses.more) + 1),
            false => (cmt.marks.highest_arrival(), 1),
        };
        let missing = || below.map_or(0, |below| self.outstanding.in_flight_below(path, below));
        if before.acked > 0 || below.is_some() {
            cx.record(EventMask::REPORT, || Event::PathReport {
                socket,
                path,
                over: arrival.path,
                newly_acked: u32::try_from(before.acked).unwrap_or(u32::MAX),
                may_grow: may_grow && before.grown > 0,
                missing: missing(),
                times: u8::try_from(times).unwrap_or(u8::MAX),
                lost: self.outstanding.count_on(path, lost),
            });
        }
    }

    fn record_acked(&self, cx: &mut Context<'_>, path: &Path, before: &Before) {
        let (socket, id, up_to) = (self.setup.socket, path.id, self.acked);
        cx.record(EventMask::SEGMENT, || Event::SegmentAcked {
            socket,
            path: id,
            up_to,
            newly_acked: before.acked,
            inflight_segs: self.outstanding.in_flight_chunks(id) as u32,
        });
    }

    /// Chunks that three reports miss are lost: each path concerned cuts its window, once per fast
    /// recovery, and sends one packet of them whatever its window is (RFC 9260 s7.2.4).
    #[inline(never)]
    fn lose(&mut self, cx: &mut Context<'_>, paths: &mut [Path], missing: &[Tsn]) {
        for tsn in missing {
            let Some((path, _)) = self.outstanding.sent_on(*tsn) else { continue };
            let Some(path) = paths.get_mut(path.index()) else { continue };
            self.record_lost(cx, path, *tsn, LossReason::DupThresh);
            path.counters.on_lost();
            if path.timed == Some(*tsn) {
                path.timed = None;
            }
            if path.recovery_exit.is_none() {
                let latest = self.outstanding.latest(path.id).filter(|latest| *latest > *tsn);
                let exit = match &self.cmt {
                    Some(cmt) if cmt.config.algorithms.frc => latest.unwrap_or(*tsn),
                    _ => self.outstanding.highest_tsn(),
                };
                path.recovery_exit = Some(exit);
                path.after_loss.owes_packet = true;
                self.reduce(cx, path, CongestionKind::FastRecovery);
            }
        }
    }

    /// A congestion event on a path.
    pub(super) fn reduce(&mut self, cx: &mut Context<'_>, path: &mut Path, kind: CongestionKind) {
        self.rest_if_small(cx.now, path);
        let event = CongestionEvent {
            now: cx.now,
            kind,
            inflight_segs: self.outstanding.in_flight_chunks(path.id) as u32,
            cwnd_after_rto_segs: 1,
            snd_nxt: self.bound(),
        };
        self.control.on_congestion(path.id, &event);
        self.record_window(cx, path);
    }

    /// CMT: a path whose window would fall below a packet takes no new data for a while.
    fn rest_if_small(&mut self, now: Instant, path: &mut Path) {
        let Some(cmt) = &self.cmt else { return };
        let (blocking, groups) = (cmt.config.blocking, cmt.config.cc_groups);
        if blocking == PathBlocking::Off {
            return;
        }
        let group = groups.of(path.id);
        let paths = cmt.live.iter().filter(|other| groups.of(**other) == group).count();
        let Some(reduced) = self.control.reduced_window(path.id) else { return };
        let rest = blocking.rest((reduced, path.room), path.rto.rto(), paths as u32);
        if let Some(rest) = rest {
            path.blocked_until = Some(now + rest);
        }
    }

    /// Records the loss of a chunk.
    pub(super) fn record_lost(
        &self,
        cx: &mut Context<'_>,
        path: &Path,
        tsn: Tsn,
        reason: LossReason,
    ) {
        let Some(sent) = self.outstanding.data(tsn) else { return };
        let (socket, id) = (self.setup.socket, path.id);
        let (offset, len) = (sent.offset, sent.fragment.payload.len());
        cx.record(EventMask::SEGMENT, || Event::SegmentLost {
            socket,
            path: id,
            offset,
            len,
            reason,
        });
    }

    /// T3-rtx stops with nothing outstanding, and starts anew if the earliest outstanding chunk was
    /// acknowledged (RFC 9260 s6.3.2 R2, R3, R4).
    fn restart_t3(
        &self,
        cx: &Context<'_>,
        path: &mut Path,
        before: &Before,
        (keeps, reneged): (bool, bool),
    ) {
        let earliest = self.outstanding.earliest(path.id);
        let is_smart = self.cmt.as_ref().is_none_or(|cmt| cmt.config.smart.t3);
        let restarts = if is_smart { earliest != before.earliest } else { before.advanced };
        if earliest.is_none() {
            // A timer of zero-window probes goes on.
            if !matches!(self.probe, Probe::Waiting) {
                path.t3 = None;
            }
        } else if (restarts && !(keeps && path.t3.is_some())) || (reneged && path.t3.is_none()) {
            path.start_t3(cx.now);
        }
    }

    /// FreeBSD: neither this SACK nor the last one has gap blocks, and nothing is to be sent again
    /// (`sctp_express_handle_sack`).
    #[cold]
    fn is_express(&mut self, report: &Report<'_>) -> bool {
        let has_gaps = !report.gaps.is_empty() || !report.nr_gaps.is_empty();
        let had_gaps = std::mem::replace(&mut self.saw_gaps, has_gaps);
        !has_gaps && !had_gaps && !self.outstanding.has_marked()
    }
}
