//! Chunk rescheduling of a sender: the lowest chunk goes to a path that has room, and its path
//! has less (`cmt::reschedule` has the rule).

use super::cmt::Sides;
use super::cmt::reschedule::{Stall, is_stalled};
use super::path::Path;
use super::sender::Sender;
use crate::congestion::CongestionKind;
use base::{Context, Duration, PathId};
use wire::sctp::Tsn;

impl Sender {
    /// CMT: the lowest chunk, if `to`, which is about to send, is to send it again because all
    /// others wait for it. It is marked.
    pub(super) fn take_moved(
        &mut self,
        cx: &mut Context<'_>,
        paths: &mut [Path],
        to: PathId,
    ) -> Option<Tsn> {
        let config = &self.cmt.as_ref()?.config;
        let rule = config.reschedule;
        let path = paths.get(to.index())?;
        let rests = path.recovery_exit.is_some() || path.is_blocked(cx.now);
        if rule.sides == Sides::None || rests || !self.has_window(to) {
            return None;
        }
        if !is_stalled(&rule, config.buffer_split.sides, &self.stall(to)) {
            return None;
        }
        let two_round_trips = path.rto.srtt().unwrap_or(path.rto.rto()) * 2;
        let before = cx.now - two_round_trips;
        let (tsn, from, len) = self.outstanding.take_lowest(to, before)?;
        self.peer_rwnd += self.at_peer(len.into(), 1);
        let from = paths.get_mut(from.index())?;
        if from.timed == Some(tsn) {
            from.timed = None;
        }
        // T3-rtx goes on for what the peer may still ask for.
        if from.id != to && self.outstanding.held_bytes_of(from.id) == u64::from(len) {
            from.t3 = None;
        }
        if rule.moved_reduces_cwnd {
            self.cut_for_move(cx, from, tsn);
        }
        Some(tsn)
    }

    fn stall(&self, path: PathId) -> Stall {
        // What it keeps may be delivered, then its window does not lack it.
        let lacks = self.largest_rwnd.saturating_sub(self.total_window().into());
        let kept = if lacks == 0 { 0 } else { self.outstanding.kept_bytes().min(lacks) };
        Stall {
            queued: self.outstanding.held_bytes_of(path),
            outstanding: self.outstanding.in_flight_bytes(path),
            kept: self.outstanding.kept_bytes_of(path).min(kept),
            send_buffer: self.setup.buffer.into(),
            window: self.peer_rwnd + self.outstanding.held_bytes() + kept,
            paths: self.cmt.as_ref().map_or(1, |cmt| cmt.paths()),
        }
    }

    /// The path that a chunk was taken from enters fast recovery; in fast recovery it rests for a
    /// round trip.
    fn cut_for_move(&mut self, cx: &mut Context<'_>, from: &mut Path, tsn: Tsn) {
        if from.is_blocked(cx.now) {
            return;
        }
        if from.recovery_exit.is_some() {
            let round_trip = from.rto.srtt().unwrap_or(Duration::ZERO);
            from.blocked_until = Some(cx.now + round_trip);
            return;
        }
        let latest = self.outstanding.latest(from.id).filter(|latest| *latest > tsn);
        from.recovery_exit = Some(latest.unwrap_or(tsn));
        self.reduce(cx, from, CongestionKind::FastRecovery);
    }
}
