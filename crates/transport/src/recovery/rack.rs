//! RACK: time-based loss detection (RFC 8985 s6, tcp-subflow spec s3).
//!
//! The per-path variables and the reordering window. The list of outstanding segments, marking
//! them lost and the reordering timer are left to the scoreboard and the connection.

use base::{Duration, Instant};

/// Recoveries without a D-SACK after which the reordering window shrinks back (RFC 8985 s6.2.4).
const PERSIST: u32 = 16;
/// Largest multiple of a quarter of the minimum RTT (Linux keeps it in 8 bits).
const MAX_MULT: u64 = 255;

/// Whether transmission `a` (time, end offset) came after `b` (RFC 8985 s6.2: ties by sequence).
pub fn sent_after(a: (Instant, u64), b: (Instant, u64)) -> bool {
    a > b
}

/// RACK's state of one path.
#[derive(Clone, Debug)]
pub struct Rack {
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
    /// Nothing delivered yet.
    pub fn new() -> Self {
        Rack::default()
    }

    /// Step 2: a segment last sent at `xmit_ts` and ending at `end_offset` was newly acknowledged
    /// or SACKed. Returns whether it counted, so that losses must be looked for.
    /// `ts_echo_older`: the echoed timestamp is older than `xmit_ts`.
    pub fn on_delivered(
        &mut self,
        now: Instant,
        xmit_ts: Instant,
        end_offset: u64,
        retransmitted: bool,
        ts_echo_older: bool,
        min_rtt: Duration,
    ) -> bool {
        let rtt = now - xmit_ts;
        if retransmitted && (ts_echo_older || rtt < min_rtt) {
            // The earlier copy arrived.
            return false;
        }
        self.rtt = rtt;
        let sent = (xmit_ts, end_offset);
        if self.newest.is_none_or(|newest| sent_after(sent, newest)) {
            self.newest = Some(sent);
        }
        true
    }

    /// Step 3, in ascending order of `end_offset`: raises the forward acknowledgement, or notices
    /// that an original transmission was overtaken. Returns whether this was reordering.
    pub fn on_fack_order(&mut self, end_offset: u64, ever_retransmitted: bool) -> bool {
        if end_offset > self.fack {
            self.fack = end_offset;
            return false;
        }
        let reordered = end_offset < self.fack && !ever_retransmitted;
        self.reordering_seen |= reordered;
        reordered
    }

    /// Reordering was proved otherwise (an undone recovery).
    pub const fn on_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// Step 4: the D-SACK part of an acknowledgement; `dsack` if it carried one.
    pub fn on_dsack_round(&mut self, dsack: bool, snd_una: u64, snd_nxt: u64) {
        if self.dsack_round.is_some_and(|round| snd_una >= round) {
            self.dsack_round = None;
        }
        if dsack && self.dsack_round.is_none() {
            self.dsack_round = Some(snd_nxt);
            self.mult = (self.mult + 1).min(MAX_MULT);
            self.persist = PERSIST;
        }
    }

    /// Step 4: a recovery (fast or after a time-out) ended.
    pub const fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.mult = 1;
        }
    }

    /// The reordering window. `in_recovery`: in fast recovery or after a time-out.
    pub fn reo_wnd(
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
        (min_rtt / 4 * self.mult).min(srtt)
    }

    /// Whether a delivered segment was sent after the one sent at `xmit_ts` ending at
    /// `end_offset`: only then may that one be lost.
    pub fn overtook(&self, xmit_ts: Instant, end_offset: u64) -> bool {
        self.newest.is_some_and(|newest| sent_after(newest, (xmit_ts, end_offset)))
    }

    /// When a segment last sent at `xmit_ts` counts as lost.
    pub fn deadline_of(&self, xmit_ts: Instant, reo_wnd: Duration) -> Instant {
        xmit_ts + self.rtt + reo_wnd
    }

    /// RTT of the most recently delivered segment; zero before one.
    pub const fn rtt(&self) -> Duration {
        self.rtt
    }

    /// End of the highest segment delivered.
    pub const fn fack(&self) -> u64 {
        self.fack
    }

    /// Whether reordering was ever seen.
    pub const fn reordering_seen(&self) -> bool {
        self.reordering_seen
    }
}
