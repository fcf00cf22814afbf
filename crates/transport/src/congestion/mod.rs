//! Congestion control: one controller per connection owns the windows of all its paths.
//!
//! `law` holds the equations; `segment_window` (TCP) and `byte_window` (SCTP) hold the windows;
//! `uncoupled`, `coupled` and `byte_control` join them; `controller` is the table of names. Loss
//! detection and proportional rate reduction are left to `recovery`: during fast recovery the
//! window of a TCP path is the last value given to `set_recovery_window`. Amounts are in bytes at
//! the interface; TCP controllers count segments inside.

mod balia;
mod byte_control;
mod byte_window;
mod choice;
mod controller;
mod coupled;
mod cubic;
mod groups;
mod hystart;
mod idle;
mod law;
mod lia;
mod lisa;
mod olia;
mod penalty;
mod pool;
mod reno;
mod segment_window;
mod uncoupled;
mod wvegas;

#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;

use base::{CaState, Duration, Instant, PathId};

pub use byte_window::initial_window;
pub use choice::{ControllerChoice, ControllerRow};
pub use controller::{Controller, Counting, Growth, NAMES, Options, TABLE, by_name};
pub use coupled::Coupling;
pub use groups::PathGroups;
pub use penalty::Penalty;

/// What a limit for a burst means for window and threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BurstLimit {
    /// The window becomes it.
    Lose,
    /// The window becomes it, and the threshold is at least the new window.
    KeepNew,
    /// The window becomes it, and the threshold is at least the window before.
    KeepOld,
    /// The threshold is at least the limit; the window stays.
    Threshold,
}

/// A congestion controller of one connection.
pub trait CongestionControl {
    /// A path was added to the connection, or starts anew (RFC 9260 s7.2.5).
    fn on_path_added(&mut self, path: PathId, start: &PathStart);
    /// A path left the connection.
    fn on_path_removed(&mut self, _path: PathId) {}
    /// An acknowledgement of data. TCP: outside of recovery, or the one that ends it.
    fn on_ack(&mut self, path: PathId, sample: &AckSample);
    /// A congestion event. TCP: lowers the threshold and remembers the window for `on_undo`; the
    /// window follows by `set_recovery_window`, or for a time-out becomes `cwnd_after_rto_segs`.
    /// SCTP: lowers the window, too.
    fn on_congestion(&mut self, path: PathId, event: &CongestionEvent);
    /// The window during recovery as proportional rate reduction computes it, in whole segments.
    fn set_recovery_window(&mut self, path: PathId, cwnd_segs: u32);
    /// Recovery is over: the window becomes the threshold.
    fn on_recovery_exit(&mut self, path: PathId, now: Instant);
    /// The last reduction was spurious: window and threshold are restored.
    fn on_undo(&mut self, path: PathId, now: Instant);
    /// Data are about to be sent with nothing in flight, `idle` after the last transmission.
    fn on_idle_restart(&mut self, path: PathId, idle: Duration, rto: Duration, now: Instant);
    /// The first data after an application-limited pause with nothing in flight (Linux
    /// `CA_EVENT_TX_START`): CUBIC shifts its epoch.
    fn on_transmit_start(&mut self, _path: PathId, _idle: Duration, _now: Instant) {}
    /// Halves a window because the path blocks its siblings.
    fn penalise(&mut self, _path: PathId, _kind: Penalty, _now: Instant) {}
    /// For one RTO, without ever filling the window, the application had at most `used_segs` in
    /// flight (Linux's part of RFC 2861 for senders that are never quite idle).
    fn on_application_limited(&mut self, _path: PathId, _used_segs: u32) {}
    /// A burst is about to be sent: a larger window than `bytes` becomes that (Max.Burst, RFC 9260
    /// s6.1 D).
    fn limit_window(&mut self, _path: PathId, _bytes: u64, _how: BurstLimit) {}
    /// The window that a loss on `path` would leave without any floor, in bytes; `None` if it is
    /// not known.
    fn reduced_window(&mut self, _path: PathId) -> Option<f64> {
        None
    }
    /// The largest segment of the path changed, to `mss` bytes of payload; SCTP: its PMDCS. Windows
    /// in segments stay.
    fn set_segment_size(&mut self, _path: PathId, _mss: u32) {}
    /// Prefetches the memory of the first path.
    fn prefetch(&self) {}
    /// The window in bytes.
    fn cwnd_bytes(&self, path: PathId) -> u64;
    /// The window in whole segments, by which TCP admits.
    fn cwnd_segs(&self, path: PathId) -> u32;
    /// The threshold in bytes; `None` while infinite.
    fn ssthresh_bytes(&self, path: PathId) -> Option<u64>;
    /// The threshold in whole segments; `None` while infinite.
    fn ssthresh_segs(&self, path: PathId) -> Option<u32>;
}

/// The start of a path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathStart {
    /// Time of the start.
    pub now: Instant,
    /// Payload bytes of a full segment; SCTP: the PMDCS.
    pub mss: u32,
    /// TCP: RFC 6928, or one segment after a lost handshake. SCTP: `initial_window`.
    pub initial_window_bytes: u64,
    /// `None`: infinite.
    pub initial_ssthresh_bytes: Option<u64>,
    /// From the handshake; zero if it gave no sample, as after a lost SYN.
    pub srtt: Duration,
}

impl PathStart {
    /// The initial window in whole segments.
    pub fn initial_window_segs(&self) -> u32 {
        self.whole_segs(self.initial_window_bytes)
    }

    /// The initial threshold in whole segments.
    pub fn initial_ssthresh_segs(&self) -> Option<u32> {
        self.initial_ssthresh_bytes.map(|bytes| self.whole_segs(bytes))
    }

    fn whole_segs(&self, bytes: u64) -> u32 {
        u32::try_from(bytes / u64::from(self.mss.max(1))).unwrap_or(u32::MAX)
    }
}

/// One acknowledgement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AckSample {
    /// Time of arrival of the acknowledgement.
    pub now: Instant,
    /// Newly delivered (cumulatively or selectively) in whole segments.
    pub acked_segs: u32,
    /// Newly delivered (cumulatively or selectively), in bytes of payload.
    pub acked_bytes: u64,
    /// The RTT sample of this acknowledgement, if it was valid.
    pub rtt: Option<Duration>,
    /// Zero before the first sample.
    pub srtt: Duration,
    /// Smallest recent RTT; zero before the first sample.
    pub min_rtt: Duration,
    /// In flight before this acknowledgement.
    pub inflight_before_segs: u32,
    /// Whether the window was the limit (RFC 7661 s3; SCTP: a window or more was outstanding
    /// before the acknowledgement, RFC 9260 s7.2.1).
    pub cwnd_limited: bool,
    /// Whether the acknowledgement may let the window grow. CMT-SCTP: the pseudo-cumulative TSN of
    /// the path advanced (CUC). Always for TCP.
    pub may_grow: bool,
    /// Congestion state of the path when the acknowledgement arrived.
    pub state: CaState,
    /// Offset of the first byte of the path that is not acknowledged, after this acknowledgement.
    pub snd_una: u64,
    /// Offset of the next byte of the path that was never sent.
    pub snd_nxt: u64,
    /// Whether the sender paces.
    pub paced: bool,
}

/// A congestion event.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CongestionEvent {
    /// Time of the event.
    pub now: Instant,
    /// Kind of the event.
    pub kind: CongestionKind,
    /// In flight at the event (RFC 5681 FlightSize).
    pub inflight_segs: u32,
    /// The window after a time-out: 1 (RFC 5681 s3.1), or in Linux one more than the packets still
    /// considered in flight. Ignored for other events and by SCTP.
    pub cwnd_after_rto_segs: u32,
    /// Offset of the next byte never sent: HyStart's round starts there after a time-out.
    pub snd_nxt: u64,
}

/// Kinds of congestion events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionKind {
    /// Loss found by acknowledgements.
    FastRecovery,
    /// The first expiry of the retransmission timer in an episode.
    Rto,
    /// A further expiry, or one inside a fast recovery: the window falls again, the threshold of a
    /// TCP path stays (RFC 5681 s3.1).
    RtoRepeated,
}
