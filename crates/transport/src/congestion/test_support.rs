//! Values for the tests of controllers.

use super::{AckSample, CongestionEvent, CongestionKind};
use base::{CaState, Duration, Instant};

/// An acknowledgement of `acked_segs` while the window is the limit, RTT 50 ms.
pub fn ack(now: Instant, acked_segs: u32) -> AckSample {
    AckSample {
        now,
        acked_segs,
        acked_bytes: u64::from(acked_segs) * 1448,
        rtt: Some(Duration::from_millis(50)),
        srtt: Duration::from_millis(50),
        min_rtt: Duration::from_millis(50),
        inflight_before_segs: 10,
        cwnd_limited: true,
        state: CaState::Open,
        snd_una: 0,
        snd_nxt: 0,
        paced: false,
    }
}

/// A loss found by acknowledgements.
pub fn loss(now: Instant) -> CongestionEvent {
    CongestionEvent {
        now,
        kind: CongestionKind::FastRecovery,
        inflight_segs: 10,
        cwnd_after_rto_segs: 1,
        snd_nxt: 0,
    }
}
