//! Congestion control: one controller per connection owns the windows of all its paths (rule 5).
//!
//! The trait, the samples and the table of names. Leaves loss detection and proportional rate
//! reduction to `recovery`: during fast recovery the window is what `set_recovery_window` was
//! told last. Shared with SCTP, hence bytes at the face; TCP controllers count segments inside.

mod balia;
mod choice;
mod controller;
mod coupled;
mod cubic;
mod cubic_linux;
mod hystart;
mod idle;
mod lia;
mod lisa;
mod olia;
mod penalty;
mod reno;
mod uncoupled;
mod window;
mod wvegas;

#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;

use base::{CaState, Duration, Instant, PathId};

pub use choice::{ControllerChoice, ControllerRow};
pub use controller::{Controller, NAMES, Options, TABLE, by_name};
pub use coupled::Coupling;
pub use cubic::CubicFlavour;
pub use hystart::HyStartKind;
pub use idle::IdleRule;
pub use penalty::Penalty;
pub use window::{Arithmetic, Window};

/// A congestion controller of one connection.
pub trait CongestionControl {
    /// A path was added to the connection.
    fn on_path_added(&mut self, path: PathId, start: &PathStart);
    /// A path left the connection.
    fn on_path_removed(&mut self, _path: PathId) {}
    /// An acknowledgement outside of recovery, or the one that ends it, acknowledged data.
    fn on_ack(&mut self, path: PathId, sample: &AckSample);
    /// A congestion signal: reduce `ssthresh` (and remember what an undo needs).
    /// The window itself follows by `set_recovery_window`, or for `Rto` is set to `cwnd_after`.
    fn on_congestion(&mut self, path: PathId, event: &CongestionEvent);
    /// PRR's answer: the window to use while recovery lasts, in whole segments.
    fn set_recovery_window(&mut self, path: PathId, cwnd_segs: u32);
    /// Recovery is over: the window becomes the threshold.
    fn on_recovery_exit(&mut self, path: PathId, now: Instant);
    /// The last reduction proved wrong: restore window and threshold.
    fn on_undo(&mut self, path: PathId, now: Instant);
    /// Data are about to be sent with nothing in flight after `idle` of silence.
    fn on_idle_restart(&mut self, path: PathId, idle: Duration, rto: Duration, now: Instant);
    /// The first data after an application-limited pause with nothing in flight (Linux
    /// `CA_EVENT_TX_START`): CUBIC shifts its epoch.
    fn on_transmit_start(&mut self, _path: PathId, _idle: Duration, _now: Instant) {}
    /// Halve a window because the path blocks its siblings (schedulers spec s11).
    fn penalise(&mut self, _path: PathId, _kind: Penalty, _now: Instant) {}
    /// For one RTO, without ever filling the window, the application had at most `used_segs` in
    /// flight (Linux's part of RFC 2861 for senders that are never quite idle).
    fn on_application_limited(&mut self, _path: PathId, _used_segs: u32) {}
    /// Lost segments were sent again during recovery (RFC 7661 counts them).
    fn on_retransmitted(&mut self, _path: PathId, _segs: u32) {}
    /// The window in bytes.
    fn cwnd_bytes(&self, path: PathId) -> u64;
    /// The window in whole segments, what TCP admits by.
    fn cwnd_segs(&self, path: PathId) -> u32;
    /// The threshold in bytes; `None` while infinite.
    fn ssthresh_bytes(&self, path: PathId) -> Option<u64>;
    /// The threshold in whole segments; `None` while infinite.
    fn ssthresh_segs(&self, path: PathId) -> Option<u32>;
}

/// What a controller needs to know of a new path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathStart {
    pub now: Instant,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// RFC 6928, or 1 after a lost handshake.
    pub initial_window_segs: u32,
    /// `None`: infinite.
    pub initial_ssthresh_segs: Option<u32>,
    /// What the handshake showed; zero if nothing, after a lost SYN.
    pub srtt: Duration,
}

/// What one acknowledgement told.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AckSample {
    pub now: Instant,
    /// Newly delivered (cumulatively or selectively) in whole segments.
    pub acked_segs: u32,
    pub acked_bytes: u64,
    /// The RTT sample of this acknowledgement, if it was valid.
    pub rtt: Option<Duration>,
    /// Zero before the first sample.
    pub srtt: Duration,
    /// Smallest recent RTT; zero before the first sample.
    pub min_rtt: Duration,
    /// In flight before this acknowledgement.
    pub inflight_before_segs: u32,
    /// Whether the window was the limit (congestion spec s0 rule 1).
    pub cwnd_limited: bool,
    pub state: CaState,
    /// Offset of the first byte not acknowledged, after this acknowledgement.
    pub snd_una: u64,
    /// Offset of the next byte never sent.
    pub snd_nxt: u64,
    /// Whether the sender paces.
    pub paced: bool,
}

/// A congestion signal.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CongestionEvent {
    pub now: Instant,
    pub kind: CongestionKind,
    /// In flight when the signal came (RFC 5681 FlightSize).
    pub inflight_segs: u32,
    /// The window a time-out leaves (rule 6: 1, or Linux in flight + 1); ignored otherwise.
    pub cwnd_after_rto_segs: u32,
    /// Offset of the next byte never sent: HyStart's round starts there after a time-out.
    pub snd_nxt: u64,
}

/// Kinds of congestion signals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionKind {
    /// Loss found by acknowledgements.
    FastRecovery,
    /// An ECN mark.
    Ecn,
    /// The first expiry of the retransmission timer in an episode.
    Rto,
    /// A further expiry, or one inside a fast recovery: the window falls to `cwnd_after`, the
    /// threshold stays (congestion spec s0 rule 6).
    RtoRepeated,
}
