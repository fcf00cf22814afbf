//! The ranges of both kinds.

use super::*;

fn limits(kind: CallKind) -> Limits {
    Call { kind, time: Call::DEFAULT_TIME }.limits()
}

/// 000 s3.1: 30 to 950 kbit/s, 5 to 30 frames a second.
#[test]
fn adaptive_video_has_the_range_of_the_paper() {
    let limits = limits(CallKind::OneWay);
    assert_eq!((limits.least.as_bps(), limits.most.as_bps()), (30_000, 950_000));
    for (bps, frames) in [(0.0, 5.0), (30e3, 5.0), (490e3, 17.5), (950e3, 30.0), (2e6, 30.0)] {
        assert!((limits.frames_at(bps) - frames).abs() < 1e-9, "{bps}");
    }
}

/// RFC 8698 s4.1: RMIN and RMAX.
#[test]
fn call_has_the_range_of_the_rfc_at_30_frames_a_second() {
    let limits = limits(CallKind::TwoWay);
    assert_eq!((limits.least.as_bps(), limits.most.as_bps()), (150_000, 1_500_000));
    assert_eq!([150e3, 1.5e6].map(|bps| limits.frames_at(bps)), [30.0, 30.0]);
}
