//! RACK: time-based loss detection (RFC 8985 s6). Steps are those of RFC 8985 s6.2.
//!
//! This part has the variables of a path and the reordering window. The list of outstanding
//! segments is the scoreboard's; marking segments lost and the reordering timer are left to the
//! owner.

use base::{Duration, Instant};
use std::hint::cold_path;

/// Recoveries without a D-SACK after which the reordering window shrinks back (RFC 8985 s6.2.4).
const PERSIST: u32 = 16;
/// Largest multiple of a quarter of the minimum RTT (Linux keeps it in 8 bits).
const MAX_MULT: u64 = 255;

/// Whether transmission `a` (time, end offset) came after `b`; ties are broken by sequence
/// (RFC 8985 s6.2).
fn sent_after(a: (Instant, u64), b: (Instant, u64)) -> bool {
    a > b
}

/// A segment that was newly acknowledged or SACKed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RackSample {
    pub now: Instant,
    /// Time of the last transmission.
    pub sent_at: Instant,
    pub end_offset: u64,
    /// The segment was transmitted more than once.
    pub retransmitted: bool,
    /// The echoed timestamp is older than the last transmission.
    pub echo_older: bool,
    pub min_rtt: Duration,
    /// The segment is SACKed, and others that the same acknowledgement covers cumulatively gave
    /// their RTT: Linux takes SACKs first, and the last RTT counts (`tcp_rack_advance`).
    pub rtt_known: bool,
}

/// RACK's state of one path.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// Time and end offset of the most recently sent segment known delivered.
    newest: Option<(Instant, u64)>,
    rtt: Duration,
    fack: u64,
    reordering_seen: bool,
    mult: u64,
    persist: u32,
    dsack_round: Option<u64>,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            newest: None,
            rtt: Duration::ZERO,
            fack: 0,
            reordering_seen: false,
            mult: 1,
            persist: PERSIST,
            dsack_round: None,
        }
    }
}

impl Rack {
    /// Step 2: a segment was newly acknowledged or SACKed. Returns whether it counted, so that
    /// losses must be looked for.
    pub(crate) fn on_delivered(&mut self, sample: &RackSample) -> bool {
        let rtt = sample.now - sample.sent_at;
        if sample.retransmitted && (sample.echo_older || rtt < sample.min_rtt) {
            // The earlier copy arrived.
            return false;
        }
        if !sample.rtt_known {
            self.rtt = rtt;
        }
        let sent = (sample.sent_at, sample.end_offset);
        if self.newest.is_none_or(|newest| sent_after(sent, newest)) {
            self.newest = Some(sent);
        }
        true
    }

    /// Step 3, in ascending order of `end_offset`: raises the forward acknowledgement, or detects
    /// that an original transmission was overtaken. Returns whether this was reordering.
    pub(crate) fn on_fack_order(&mut self, end_offset: u64, ever_retransmitted: bool) -> bool {
        if end_offset > self.fack {
            self.fack = end_offset;
            return false;
        }
        let reordered = end_offset < self.fack && !ever_retransmitted;
        self.reordering_seen |= reordered;
        reordered
    }

    /// Reordering was proved by an undone recovery.
    pub(crate) const fn on_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// Step 4: the D-SACK part of an acknowledgement; `dsack` if it carried one.
    pub(crate) fn on_dsack_round(&mut self, dsack: bool, snd_una: u64, snd_nxt: u64) {
        if self.dsack_round.is_some_and(|round| snd_una >= round) {
            cold_path();
            self.dsack_round = None;
        }
        if dsack && self.dsack_round.is_none() {
            cold_path();
            self.dsack_round = Some(snd_nxt);
            self.mult = (self.mult + 1).min(MAX_MULT);
            debug_assert!(snd_una <= snd_nxt, "a round ends after it begins");
            self.persist = PERSIST;
        }
    }

    /// Step 4: a recovery (fast or after a time-out) ended.
    pub(crate) const fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.mult = 1;
        }
    }

    /// The reordering window. `in_recovery`: in fast recovery or after a time-out.
    pub(crate) fn reo_wnd(
        &self,
        in_recovery: bool,
        sacked_segs: u32,
        dup_thresh: u32,
        min_rtt: Duration,
        srtt: Duration,
    ) -> Duration {
        if !self.reordering_seen && (in_recovery || sacked_segs >= dup_thresh) {
            return Duration::ZERO;
        }
        debug_assert!((1..=MAX_MULT).contains(&self.mult));
        (min_rtt / 4 * self.mult).min(srtt)
    }

    /// Whether a delivered segment was sent after the one sent at `xmit_ts` ending at
    /// `end_offset`: only then may that one be lost.
    pub(crate) fn overtook(&self, xmit_ts: Instant, end_offset: u64) -> bool {
        self.newest.is_some_and(|newest| sent_after(newest, (xmit_ts, end_offset)))
    }

    /// When a segment last sent at `xmit_ts` counts as lost.
    pub(crate) fn deadline_of(&self, xmit_ts: Instant, reo_wnd: Duration) -> Instant {
        xmit_ts + self.rtt + reo_wnd
    }

    /// RTT of the most recently delivered segment; zero before one.
    pub(crate) const fn rtt(&self) -> Duration {
        self.rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUP_THRESH: u32 = 3;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// A segment with its last transmission, and whether it was retransmitted and its echo older.
    fn sample(
        now: Instant,
        (sent_at, end_offset): (Instant, u64),
        (retransmitted, echo_older): (bool, bool),
        min_rtt: Duration,
    ) -> RackSample {
        let rtt_known = false;
        RackSample { now, sent_at, end_offset, retransmitted, echo_older, min_rtt, rtt_known }
    }

    fn reordered() -> Rack {
        let mut rack = Rack::default();
        rack.on_fack_order(20, false);
        assert!(rack.on_fack_order(10, false));
        rack
    }

    #[test]
    fn rack_1_lost_after_rtt_and_a_quarter_of_the_minimum() {
        let mut rack = reordered();
        assert!(rack.on_delivered(&sample(at(42), (at(1), 200), (false, false), ms(40))));
        let wnd = rack.reo_wnd(false, 1, DUP_THRESH, ms(40), ms(41));
        assert_eq!(wnd, ms(10));
        assert!(rack.overtook(at(0), 100));
        assert_eq!(rack.deadline_of(at(0), wnd), at(51));
    }

    #[test]
    fn rack_1_third_sacked_segment_needs_no_waiting() {
        let mut rack = Rack::default();
        rack.on_delivered(&sample(at(42), (at(1), 200), (false, false), ms(40)));
        let wnd = rack.reo_wnd(false, 3, DUP_THRESH, ms(40), ms(41));
        assert_eq!(wnd, Duration::ZERO);
        assert!(rack.deadline_of(at(0), wnd) <= at(42));
        assert_eq!(rack.reo_wnd(true, 1, DUP_THRESH, ms(40), ms(41)), Duration::ZERO);
        assert_eq!(rack.reo_wnd(false, 2, DUP_THRESH, ms(40), ms(41)), ms(10));
    }

    #[test]
    fn rack_2_dsack_rounds_widen_the_window_up_to_srtt() {
        let mut rack = reordered();
        let wnd = |rack: &Rack| rack.reo_wnd(true, 5, DUP_THRESH, ms(40), ms(60)).as_millis();
        assert_eq!(wnd(&rack), 10);
        let mut seen = Vec::new();
        for round in 1..=7u64 {
            rack.on_dsack_round(true, round * 100, round * 100 + 50);
            // A second D-SACK of the same round does not count.
            rack.on_dsack_round(true, round * 100 + 10, round * 100 + 60);
            seen.push(wnd(&rack));
        }
        assert_eq!(seen, [20, 30, 40, 50, 60, 60, 60]);
        for _ in 0..15 {
            rack.on_recovery_end();
            assert_eq!(wnd(&rack), 60);
        }
        rack.on_recovery_end();
        assert_eq!(wnd(&rack), 10);
    }

    #[test]
    fn a_dsack_restarts_the_count_of_recoveries() {
        let mut rack = reordered();
        rack.on_dsack_round(true, 0, 10);
        for _ in 0..15 {
            rack.on_recovery_end();
        }
        rack.on_dsack_round(true, 10, 20);
        rack.on_recovery_end();
        assert_eq!(rack.reo_wnd(false, 0, DUP_THRESH, ms(40), ms(60)), ms(30));
    }

    #[test]
    fn acknowledgement_of_the_earlier_copy_does_not_count() {
        let mut rack = Rack::default();
        assert!(
            !rack.on_delivered(&sample(at(100), (at(90), 10), (true, false), ms(40))),
            "faster than light"
        );
        assert!(
            !rack.on_delivered(&sample(at(100), (at(20), 10), (true, true), ms(40))),
            "older timestamp"
        );
        assert!(!rack.overtook(at(0), 0));
        assert!(rack.on_delivered(&sample(at(100), (at(50), 10), (true, false), ms(40))));
        assert_eq!(rack.rtt(), ms(50));
    }

    #[test]
    fn segment_that_was_sacked_gives_no_rtt_if_others_have_given_theirs() {
        let mut rack = Rack::default();
        rack.on_delivered(&sample(at(50), (at(25), 10), (false, false), ms(40)));
        let sacked = sample(at(50), (at(46), 90), (false, false), ms(40));
        assert!(rack.on_delivered(&RackSample { rtt_known: true, ..sacked }));
        assert!(rack.overtook(at(45), 80));
        assert_eq!(rack.rtt(), ms(25));
        rack.on_delivered(&sacked);
        assert_eq!(rack.rtt(), ms(4));
    }

    #[test]
    fn same_time_is_decided_by_sequence() {
        let mut rack = Rack::default();
        rack.on_delivered(&sample(at(50), (at(5), 200), (false, false), ms(40)));
        assert!(rack.overtook(at(5), 199) && !rack.overtook(at(5), 200));
        assert!(rack.overtook(at(4), 900) && !rack.overtook(at(6), 100));
    }

    #[test]
    fn retransmitted_segments_prove_no_reordering() {
        let mut rack = Rack::default();
        rack.on_fack_order(20, false);
        assert!(!rack.on_fack_order(10, true));
        assert!(!rack.reordering_seen);
    }
}
