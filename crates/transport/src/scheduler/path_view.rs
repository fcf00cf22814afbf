//! `PathView`: one path as schedulers and path policies see it, for any protocol.
//!
//! A protocol fills it in its own terms: an MPTCP subflow counts windows in whole segments as
//! Linux does, an SCTP path in bytes ([`WindowView::from_bytes`]). Availability follows the
//! multipath-tcp kernel v0.95 (`mptcp_is_available`, `mptcp_is_def_unavailable`,
//! `mptcp_is_temp_unavailable`).

use super::view::Offer;
use base::{Blocked, Duration, Instant, InterfaceId, PathId};

/// Whether a path carries data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathState {
    /// Its handshake or its verification is not over: no data yet.
    Opening,
    /// It carries data.
    Open,
    /// It is open, but timed out or answers no probe (RFC 7829 s3): no new data.
    PotentiallyFailed,
    /// It ends: no data any more.
    Closed,
}

/// What a path does about losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossPhase {
    /// Nothing seems to be missing.
    Open,
    /// Something seems to be missing, or is retransmitted.
    Recovery,
    /// Retransmission after a time-out: no new data until it is complete.
    Timeout,
}

/// Round-trip times of a path; zero without a sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RttView {
    /// Smoothed round-trip time (RFC 6298).
    pub srtt: Duration,
    /// Its variation (RFC 6298); of a TCP path with the window and the floor of Linux, 50 ms.
    pub rttvar: Duration,
    /// The newest sample, unsmoothed.
    pub last: Duration,
    /// The first sample, taken in the handshake.
    pub first: Duration,
    /// Number of samples.
    pub samples: u32,
    /// Retransmission time-out.
    pub rto: Duration,
}

/// The windows of a path.
///
/// Congestion windows are given in segments of `mss` bytes, because the rules of the papers and
/// the admission of TCP (Linux `tcp_cwnd_test`) count whole segments: from bytes the number of
/// segments in flight could not be recovered once a short segment is among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowView {
    /// Payload of a full segment after all options, in bytes; at least 1.
    pub mss: u32,
    /// Congestion window.
    pub cwnd_segs: u32,
    /// Slow-start threshold; `None` while infinite.
    pub ssthresh_segs: Option<u32>,
    /// Sent, neither acknowledged nor declared lost.
    pub inflight_segs: u32,
    /// The same in bytes.
    pub inflight_bytes: u64,
    /// Bytes that the path's own receive window permits beyond those passed to it. `u32::MAX` where
    /// only the connection's window counts ([`super::View::fits_window`]).
    pub send_window_bytes: u64,
}

impl WindowView {
    /// The windows of a path that admits a packet while less than `cwnd` bytes are in flight
    /// (RFC 9260 s6.1 B): [`WindowView::free_segs`] is the number of packets it admits.
    pub fn from_bytes(mss: u32, cwnd: u64, ssthresh: Option<u64>, inflight: u64) -> Self {
        let mss = mss.max(1);
        let segs = |bytes: u64| u32::try_from(bytes.div_ceil(u64::from(mss))).unwrap_or(u32::MAX);
        let (cwnd_segs, free) = (segs(cwnd), segs(cwnd.saturating_sub(inflight)));
        let inflight_segs = if free > 0 { cwnd_segs - free } else { segs(inflight).max(cwnd_segs) };
        WindowView {
            mss,
            cwnd_segs,
            ssthresh_segs: ssthresh.map(segs),
            inflight_segs,
            inflight_bytes: inflight,
            send_window_bytes: u64::from(u32::MAX),
        }
    }

    /// Segments that the congestion window still takes.
    pub const fn free_segs(&self) -> u32 {
        self.cwnd_segs.saturating_sub(self.inflight_segs)
    }
}

/// Data that were passed or assigned to a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueView {
    /// Not transmitted yet, in bytes.
    pub unsent_bytes: u64,
    /// The same in segments.
    pub unsent_segs: u32,
    /// Not acknowledged on the path, in bytes.
    pub outstanding_bytes: u64,
    /// Memory that the unacknowledged part takes, in bytes.
    pub memory_bytes: u32,
    /// Size of the path's own send buffer, in bytes of memory.
    pub limit_bytes: u32,
}

impl QueueView {
    /// What the path's own send buffer still takes, in bytes of memory.
    pub const fn room_bytes(&self) -> u32 {
        self.limit_bytes.saturating_sub(self.memory_bytes)
    }
}

/// One path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathView {
    /// The number of the path; ties are broken by the lowest.
    pub id: PathId,
    /// The interface that its packets leave on: what a user calls a path. It outlives a subflow.
    pub interface: InterfaceId,
    /// Whether it carries data.
    pub state: PathState,
    /// Either host asks to use it as a backup only.
    pub backup: bool,
    /// The path policy admits probes and reinjections only, no new data.
    pub probing: bool,
    /// Enough of the path's data waits below the transport (TCP Small Queues). Never set where
    /// schedulers ignore it.
    pub throttled: bool,
    /// What it does about losses.
    pub loss: LossPhase,
    /// The only position in the connection's stream at which data may be passed to the path;
    /// `None`: any.
    pub continues_at: Option<u64>,
    /// Time of the last transmission of data.
    pub last_send: Option<Instant>,
    /// Pacing rate in bytes per second; `None` without an RTT sample.
    pub pacing_rate: Option<u64>,
    /// Round-trip times.
    pub rtt: RttView,
    /// Congestion window, data in flight and receive window.
    pub window: WindowView,
    /// Data that were passed or assigned to it.
    pub queue: QueueView,
}

impl PathView {
    /// To be filled in: nothing is known.
    pub(crate) const BLANK: PathView = PathView {
        id: PathId(0),
        interface: InterfaceId(0),
        state: PathState::Opening,
        backup: false,
        probing: false,
        throttled: false,
        loss: LossPhase::Open,
        continues_at: None,
        last_send: None,
        pacing_rate: None,
        rtt: RttView {
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            last: Duration::ZERO,
            first: Duration::ZERO,
            samples: 0,
            rto: Duration::ZERO,
        },
        window: WindowView {
            mss: 1,
            cwnd_segs: 0,
            ssthresh_segs: None,
            inflight_segs: 0,
            inflight_bytes: 0,
            send_window_bytes: 0,
        },
        queue: QueueView {
            unsent_bytes: 0,
            unsent_segs: 0,
            outstanding_bytes: 0,
            memory_bytes: 0,
            limit_bytes: 0,
        },
    };

    /// Not a backup.
    pub const fn is_active(&self) -> bool {
        !self.backup
    }

    /// Its handshake is over and it has not ended; it may have failed.
    pub const fn is_established(&self) -> bool {
        matches!(self.state, PathState::Open | PathState::PotentiallyFailed)
    }

    /// It is established and has not failed.
    pub const fn is_open(&self) -> bool {
        matches!(self.state, PathState::Open)
    }

    /// Segments that the congestion window still takes.
    pub const fn free_segs(&self) -> u32 {
        self.window.free_segs()
    }

    /// It cannot carry the offer before its state changes.
    pub const fn is_definitely_unavailable(&self, offer: &Offer) -> bool {
        !self.is_open() || (self.probing && !offer.reinject)
    }

    /// The congestion window is full, or will be by what is queued.
    pub fn is_window_full(&self) -> bool {
        let free = self.free_segs();
        free == 0 || self.queue.unsent_bytes > u64::from(free) * u64::from(self.window.mss)
    }

    /// The offer may follow what was passed to the path last.
    pub fn may_carry(&self, offer: &Offer) -> bool {
        self.continues_at.is_none_or(|at| at == offer.offset)
    }

    /// The reason why the offer cannot go on the path, apart from its congestion window.
    pub fn held_by(&self, offer: &Offer) -> Option<Blocked> {
        if self.loss == LossPhase::Timeout {
            return Some(Blocked::CongestionWindow);
        }
        if !self.may_carry(offer) {
            return Some(Blocked::PathDown);
        }
        if self.window.send_window_bytes < u64::from(offer.len_on(self).max(1)) {
            return Some(Blocked::ReceiveWindow);
        }
        self.throttled.then_some(Blocked::SmallQueue)
    }

    /// It cannot carry the offer right now.
    pub fn is_temporarily_unavailable(&self, offer: &Offer) -> bool {
        self.is_window_full() || self.held_by(offer).is_some()
    }

    /// It can carry the offer right now.
    pub fn is_available(&self, offer: &Offer) -> bool {
        !self.is_definitely_unavailable(offer) && !self.is_temporarily_unavailable(offer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9260 s6.1 B: a packet may leave while less than `cwnd` bytes are outstanding, and the
    /// last one may exceed the window.
    #[test]
    fn window_of_bytes_admits_a_packet_while_less_than_cwnd_is_in_flight() {
        for cwnd in [1u64, 1467, 1468, 1469, 4404, 4405] {
            for inflight in 0..=6000u64 {
                let window = WindowView::from_bytes(1468, cwnd, None, inflight);
                let (mut sent, mut after) = (0, inflight);
                while after < cwnd {
                    (sent, after) = (sent + 1, after + 1468);
                }
                assert_eq!(window.free_segs(), sent, "{inflight} of {cwnd} bytes in flight");
            }
        }
    }
}
