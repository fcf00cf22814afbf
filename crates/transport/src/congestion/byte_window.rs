//! `ByteWindow`: congestion window and slow-start threshold of an SCTP path, in bytes (RFC 9260
//! s7.2).
//!
//! It decides when a window grows; by how much and what a loss leaves is the answer of a law
//! (`byte_control`). PMDCS is the path maximum DATA chunk size: the path MTU less IP header and
//! SCTP common header.
//!
//! Details that RFC 9260 leaves open:
//! - The decay of an unused window (s7.2.1) never raises it: a window of at most 4 PMDCS stays,
//!   and so does its threshold. Taken literally, a path that was idle for one RTO would get a
//!   threshold of its initial window and a window of 4 PMDCS.
//! - Where an acknowledgement must not grow the window, `partial_bytes_acked` keeps at most one
//!   window, so that the window grows by at most one step per round trip afterwards (s7.2.2).
//! - Bytes of duplicate TSNs are not counted in `partial_bytes_acked`.

use super::BurstLimit;
use base::{Duration, Instant};
use std::net::IpAddr;

/// Floor of the window in whole PMDCS that is not undercut by idle periods (s7.2.1).
const MIN_IDLE_WINDOW: u64 = 4;

/// Window, threshold and `partial_bytes_acked` of one path.
#[derive(Clone, Debug)]
pub(super) struct ByteWindow {
    pmdcs: u32,
    /// At least one PMDCS.
    cwnd: u64,
    /// At least one PMDCS; `u64::MAX` while arbitrarily high.
    ssthresh: u64,
    partial_bytes_acked: u64,
    in_fast_recovery: bool,
    /// The idle time for which it decayed: from when to when.
    decayed: (Instant, Instant),
}

/// What an acknowledgement does to a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// It does not grow.
    None,
    /// It grows by at most that many bytes (s7.2.1).
    SlowStart(u64),
    /// A whole window was acknowledged; it grows by at most one PMDCS (s7.2.2).
    CongestionAvoidance,
}

/// An acknowledgement as the window sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Acknowledged {
    /// Bytes of DATA chunks newly acknowledged on this path, with headers and padding.
    pub bytes: u64,
    /// Before the acknowledgement cwnd or more bytes were outstanding.
    pub fully_used: bool,
    /// The acknowledgement may let the window grow (CUC; `AckSample::may_grow`).
    pub may_grow: bool,
    /// Nothing is outstanding any more.
    pub all_acked: bool,
}

/// The initial window of a path to `peer` (s7.2.1).
pub fn initial_window(pmdcs: u32, peer: IpAddr) -> u64 {
    let pmdcs = u64::from(pmdcs);
    let bytes = if peer.is_ipv4() { 4404 } else { 4344 };
    (4 * pmdcs).min((2 * pmdcs).max(bytes))
}

impl ByteWindow {
    /// A path with that initial window; no threshold means arbitrarily high.
    pub(super) fn new(pmdcs: u32, initial_window: u64, ssthresh: Option<u64>) -> Self {
        let least = u64::from(pmdcs.max(1));
        ByteWindow {
            pmdcs: pmdcs.max(1),
            cwnd: initial_window.max(least),
            ssthresh: ssthresh.map_or(u64::MAX, |bytes| bytes.max(least)),
            partial_bytes_acked: 0,
            in_fast_recovery: false,
            decayed: (Instant::ZERO, Instant::ZERO),
        }
    }

    /// The window in bytes.
    pub(super) const fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// The threshold in bytes; `None` while arbitrarily high.
    pub(super) fn ssthresh(&self) -> Option<u64> {
        (self.ssthresh != u64::MAX).then_some(self.ssthresh)
    }

    /// The largest DATA chunk of the path in bytes.
    pub(super) const fn pmdcs(&self) -> u32 {
        self.pmdcs
    }

    /// The path has another MTU: steps and floors are those of its PMDCS from now on. The window
    /// stays in bytes, at least one PMDCS.
    pub(super) fn set_pmdcs(&mut self, pmdcs: u32) {
        self.pmdcs = pmdcs.max(1);
        self.cwnd = self.cwnd.max(self.pmdcs.into());
        self.ssthresh = self.ssthresh.max(self.pmdcs.into());
    }

    /// Slow start: the window is at most the threshold (s7.2.1; RFC 5681 leaves equality open).
    pub(super) const fn in_slow_start(&self) -> bool {
        self.cwnd <= self.ssthresh
    }

    /// The growth that an acknowledgement allows. `limit` is L of s7.2.1, in PMDCS.
    pub(super) fn on_ack(&mut self, limit: u32, acked: Acknowledged) -> Step {
        let may_grow = acked.fully_used && acked.may_grow && !self.in_fast_recovery;
        let step = if self.in_slow_start() {
            let most = u64::from(limit) * u64::from(self.pmdcs);
            if may_grow { Step::SlowStart(acked.bytes.min(most)) } else { Step::None }
        } else {
            self.count(acked.bytes, may_grow)
        };
        if acked.all_acked {
            self.partial_bytes_acked = 0;
        }
        step
    }

    /// `partial_bytes_acked` (s7.2.2).
    fn count(&mut self, bytes: u64, may_grow: bool) -> Step {
        self.partial_bytes_acked += bytes;
        if self.partial_bytes_acked < self.cwnd {
            return Step::None;
        }
        if may_grow {
            self.partial_bytes_acked -= self.cwnd;
            return Step::CongestionAvoidance;
        }
        self.partial_bytes_acked = self.cwnd;
        Step::None
    }

    /// Adds bytes or, for a negative number, takes them away, down to one PMDCS; fractions are
    /// rounded up.
    pub(super) fn change(&mut self, bytes: f64) {
        debug_assert!(bytes.is_finite(), "{self:?}");
        // Rounding must not raise products that are whole numbers.
        let cwnd = self.cwnd as f64 + libm::ceil(bytes - 1e-9);
        self.cwnd = (cwnd.max(0.0) as u64).max(u64::from(self.pmdcs));
    }

    /// Loss found by acknowledgements: window and threshold become `ssthresh` (s7.2.3), unless the
    /// path is in fast recovery already (s7.2.4). Whether they were reduced.
    pub(super) fn on_loss(&mut self, ssthresh: u64) -> bool {
        if self.in_fast_recovery {
            return false;
        }
        self.set_ssthresh(ssthresh);
        self.cwnd = self.ssthresh;
        self.in_fast_recovery = true;
        true
    }

    /// T3-rtx expired: the window becomes one PMDCS (s7.2.3), and fast recovery is over.
    pub(super) fn on_timeout(&mut self, ssthresh: u64) {
        self.set_ssthresh(ssthresh);
        self.cwnd = u64::from(self.pmdcs);
        self.in_fast_recovery = false;
    }

    fn set_ssthresh(&mut self, ssthresh: u64) {
        debug_assert!(ssthresh >= u64::from(self.pmdcs), "{ssthresh} {self:?}");
        self.ssthresh = ssthresh.max(u64::from(self.pmdcs));
        self.partial_bytes_acked = 0;
    }

    /// A burst is limited to `bytes`, which concerns a window that is larger.
    pub(super) fn limit(&mut self, bytes: u64, how: BurstLimit) {
        let before = self.cwnd;
        let limit = bytes.max(u64::from(self.pmdcs));
        if before <= limit {
            return;
        }
        if how != BurstLimit::Threshold {
            self.cwnd = limit;
        }
        self.ssthresh = match how {
            BurstLimit::Lose => self.ssthresh,
            BurstLimit::KeepNew | BurstLimit::Threshold => self.ssthresh.max(limit),
            BurstLimit::KeepOld => self.ssthresh.max(before),
        };
    }

    /// Everything up to the fast-recovery exit point is acknowledged.
    pub(super) const fn on_recovery_exit(&mut self) {
        self.in_fast_recovery = false;
    }

    /// Nothing was sent on the path since `last_sent`: each RTO halves the window once, however
    /// often this is called, not below 4 PMDCS; the threshold keeps the window before the first of
    /// them (s7.2.1).
    pub(super) fn decay(&mut self, last_sent: Instant, rto: Duration, now: Instant) {
        let floor = MIN_IDLE_WINDOW * u64::from(self.pmdcs);
        let goes_on = self.decayed.0 == last_sent && self.decayed.1 > last_sent;
        let mut until = if goes_on { self.decayed.1 } else { last_sent };
        if rto.is_zero() || until + rto > now || self.cwnd <= floor {
            return;
        }
        if !goes_on {
            self.ssthresh = self.cwnd;
        }
        while until + rto <= now && self.cwnd > floor {
            self.cwnd = (self.cwnd / 2).max(floor);
            until += rto;
        }
        self.decayed = (last_sent, until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const P: u32 = 1468;

    const fn full(bytes: u64) -> Acknowledged {
        Acknowledged { bytes, fully_used: true, may_grow: true, all_acked: false }
    }

    #[test]
    fn initial_window_is_three_full_packets_of_ethernet() {
        let v4 = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
        assert_eq!([500, 1468, 4000].map(|pmdcs| initial_window(pmdcs, v4)), [2000, 4404, 8000]);
        assert_eq!([500, 1448, 4000].map(|pmdcs| initial_window(pmdcs, v6)), [2000, 4344, 8000]);
    }

    #[test]
    fn window_at_its_threshold_is_in_slow_start() {
        let mut window = ByteWindow::new(P, 14_680, Some(14_680));
        assert_eq!(window.on_ack(1, full(2936)), Step::SlowStart(1468));
        assert_eq!(window.on_ack(2, full(2936)), Step::SlowStart(2936));
        window.change(1468.0);
        assert_eq!((window.cwnd(), window.in_slow_start()), (16_148, false));
        assert_eq!(window.on_ack(1, full(2936)), Step::None);
        assert_eq!(window.partial_bytes_acked, 2936);
    }

    #[test]
    fn unused_window_does_not_grow_and_keeps_one_window_of_credit() {
        let mut window = ByteWindow::new(P, 14_680, Some(1468));
        let unused = Acknowledged { fully_used: false, ..full(10_000) };
        assert_eq!([(); 3].map(|()| window.on_ack(1, unused)), [Step::None; 3]);
        assert_eq!(window.partial_bytes_acked, 14_680);
        assert_eq!(window.on_ack(1, full(1)), Step::CongestionAvoidance);
        assert_eq!(window.partial_bytes_acked, 1);
        let mut starting = ByteWindow::new(P, 4404, None);
        assert_eq!(starting.on_ack(1, unused), Step::None);
    }

    /// CUC: the bytes count, the window grows when the path's own cumulative point moves.
    #[test]
    fn acknowledgement_that_does_not_advance_grows_nothing() {
        let mut window = ByteWindow::new(P, 14_680, Some(1468));
        let stuck = Acknowledged { may_grow: false, ..full(14_000) };
        assert_eq!([(); 3].map(|()| window.on_ack(1, stuck)), [Step::None; 3]);
        assert_eq!(window.on_ack(1, full(1468)), Step::CongestionAvoidance);
        assert_eq!(window.on_ack(1, full(1468)), Step::None, "one step per round trip");
    }

    #[test]
    fn credit_ends_when_nothing_is_outstanding() {
        let mut window = ByteWindow::new(P, 14_680, Some(1468));
        window.on_ack(1, full(14_000));
        assert_eq!(window.partial_bytes_acked, 14_000);
        window.on_ack(1, Acknowledged { all_acked: true, ..full(100) });
        assert_eq!(window.partial_bytes_acked, 0);
    }

    #[test]
    fn fast_recovery_neither_grows_nor_cuts_again() {
        let mut window = ByteWindow::new(P, 20_000, Some(1468));
        window.on_ack(1, full(5000));
        assert!(window.on_loss(10_000));
        assert_eq!((window.cwnd(), window.ssthresh()), (10_000, Some(10_000)));
        assert_eq!(window.partial_bytes_acked, 0);
        assert!(!window.on_loss(5872));
        assert_eq!(window.cwnd(), 10_000, "one cut per recovery");
        assert_eq!(window.on_ack(1, full(10_000)), Step::None);
        window.on_recovery_exit();
        assert_eq!(window.on_ack(1, full(1468)), Step::SlowStart(1468));
        assert!(window.on_loss(5872));
        assert_eq!(window.cwnd(), 5872);
        window.on_timeout(5872);
        assert_eq!((window.cwnd(), window.ssthresh()), (1468, Some(5872)));
        assert_eq!(window.on_ack(1, full(1468)), Step::SlowStart(1468), "recovery is over");
    }

    /// Outstanding 2936, window 29360, Max.Burst 4.
    #[test]
    fn burst_limit_cuts_the_window_to_what_may_leave() {
        let mut window = ByteWindow::new(P, 29_360, Some(10_000));
        window.limit(2936 + 4 * u64::from(P), BurstLimit::Lose);
        assert_eq!((window.cwnd(), window.ssthresh()), (8808, Some(10_000)));
        window.limit(20_000, BurstLimit::Lose);
        assert_eq!(window.cwnd(), 8808, "never raised");
        for (how, cwnd, ssthresh) in [
            (BurstLimit::KeepNew, 8808, 8808),
            (BurstLimit::KeepOld, 8808, 29_360),
            (BurstLimit::Threshold, 29_360, 8808),
        ] {
            let mut window = ByteWindow::new(P, 29_360, Some(5000));
            window.limit(8808, how);
            assert_eq!((window.cwnd(), window.ssthresh()), (cwnd, Some(ssthresh)), "{how:?}");
        }
    }

    #[test]
    fn steps_and_floors_follow_the_pmdcs_of_the_path() {
        let mut window = ByteWindow::new(P, 4404, None);
        window.set_pmdcs(548);
        assert_eq!((window.cwnd(), window.ssthresh()), (4404, None), "bytes in the network stay");
        assert_eq!(window.on_ack(1, full(2936)), Step::SlowStart(548));
        window.decay(Instant::ZERO, Duration::from_secs(1), Instant::from_secs(60));
        assert_eq!(window.cwnd(), 4 * 548);
        window.on_timeout(4 * 548);
        assert_eq!((window.cwnd(), window.ssthresh()), (548, Some(4 * 548)));
        window.set_pmdcs(P);
        assert_eq!((window.cwnd(), window.ssthresh()), (1468, Some(4 * 548)), "one PMDCS at least");
    }

    #[test]
    fn idle_window_decays_to_four_chunks_once_per_rto() {
        let (rto, sent) = (Duration::from_millis(1000), Instant::from_millis(7));
        let after = |idle| sent + Duration::from_millis(idle);
        for (idle, cwnd, ssthresh) in [
            (999, 40_000, None),
            (1000, 20_000, Some(40_000)),
            (2999, 10_000, Some(40_000)),
            (3000, 5872, Some(40_000)),
            (60_000, 5872, Some(40_000)),
        ] {
            let mut window = ByteWindow::new(P, 40_000, None);
            window.decay(sent, rto, after(idle));
            assert_eq!((window.cwnd(), window.ssthresh()), (cwnd, ssthresh), "after {idle} ms");
        }
        let mut unused = ByteWindow::new(P, 4404, None);
        unused.decay(sent, rto, after(60_000));
        assert_eq!((unused.cwnd(), unused.ssthresh()), (4404, None), "never raised");
    }

    /// A path that could not send although it was polled halved its window with every poll.
    #[test]
    fn idle_window_decays_once_per_rto_however_often_it_is_polled() {
        let (rto, ms) = (Duration::from_millis(1000), Instant::from_millis);
        let mut window = ByteWindow::new(P, 40_000, None);
        for (now, cwnd) in [(1007, 20_000), (1008, 20_000), (2006, 20_000), (2007, 10_000)] {
            window.decay(ms(7), rto, ms(now));
            assert_eq!((window.cwnd(), window.ssthresh()), (cwnd, Some(40_000)), "at {now} ms");
        }
        window.decay(ms(2500), rto, ms(3499));
        assert_eq!((window.cwnd(), window.ssthresh()), (10_000, Some(40_000)), "sent again");
        window.decay(ms(2500), rto, ms(3500));
        assert_eq!((window.cwnd(), window.ssthresh()), (5872, Some(10_000)), "and idle again");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        /// RFC 9260 s7.2.2: in congestion avoidance at most one step per window acknowledged.
        #[test]
        fn window_never_grows_by_more_than_one_step_per_window(
            acks in prop::collection::vec((1..30_000u64, any::<bool>(), any::<bool>()), 1..100),
        ) {
            let mut window = ByteWindow::new(P, 14_680, Some(1468));
            let (mut acked, mut steps) = (14_680, 0);
            for (bytes, fully_used, may_grow) in acks {
                let ack = Acknowledged { bytes, fully_used, may_grow, all_acked: false };
                acked += bytes;
                if window.on_ack(1, ack) == Step::CongestionAvoidance {
                    steps += 1;
                    window.change(f64::from(P));
                }
                prop_assert!(steps * 14_680 <= acked);
                prop_assert_eq!(window.cwnd(), 14_680 + steps * u64::from(P));
            }
        }
    }
}
