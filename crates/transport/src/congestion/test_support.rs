//! Values for the tests of controllers.

use super::{AckSample, CongestionEvent, CongestionKind, PathStart};
use base::{CaState, Duration, Instant};

/// A path with that window and threshold in segments of `mss` bytes, without an RTT sample.
pub(super) fn path_start(mss: u32, cwnd_segs: u32, ssthresh_segs: Option<u32>) -> PathStart {
    let bytes = |segs: u32| u64::from(segs) * u64::from(mss);
    PathStart {
        now: Instant::ZERO,
        mss,
        initial_window_bytes: bytes(cwnd_segs),
        initial_ssthresh_bytes: ssthresh_segs.map(bytes),
        srtt: Duration::ZERO,
    }
}

/// An acknowledgement of `acked_segs` while the window is the limit, RTT 50 ms.
pub(super) fn ack(now: Instant, acked_segs: u32) -> AckSample {
    AckSample {
        now,
        acked_segs,
        acked_bytes: u64::from(acked_segs) * 1448,
        rtt: Some(Duration::from_millis(50)),
        srtt: Duration::from_millis(50),
        min_rtt: Duration::from_millis(50),
        inflight_before_segs: 10,
        cwnd_limited: true,
        may_grow: true,
        state: CaState::Open,
        snd_una: 0,
        snd_nxt: 0,
        paced: false,
    }
}

/// A loss found by acknowledgements.
pub(super) fn loss(now: Instant) -> CongestionEvent {
    CongestionEvent {
        now,
        kind: CongestionKind::FastRecovery,
        inflight_segs: 10,
        cwnd_after_rto_segs: 1,
        snd_nxt: 0,
    }
}
