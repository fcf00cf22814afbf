//! Congestion controls alone: nanoseconds an acknowledgement, windows and rates of all paths
//! taken into account.
//!
//! Congestion avoidance, a segment an acknowledgement, the paths in turn and a loss now and then.

use base::{CaState, Duration, Instant, PathId};
use std::hint::black_box;
use transport::congestion::{
    AckSample, CongestionControl, CongestionEvent, CongestionKind, Controller, NAMES, Options,
    PathStart, by_name,
};

const ACKS: u64 = 100_000;
/// The best round counts: what else the machine does is no part of it.
const ROUNDS: u32 = 20;

/// Every control at 2 and 8 paths.
pub(crate) fn all() -> Result<(), String> {
    for (name, ..) in NAMES {
        for paths in [2, 8] {
            let controller = by_name(name, &Options::default()).ok_or("an unknown name")?;
            println!("congestion/{name}-{paths} {:.1} ns/ack", measure(controller, paths));
        }
    }
    Ok(())
}

fn measure(mut controller: Controller, paths: u8) -> f64 {
    for path in 0..paths {
        let start = PathStart {
            now: Instant::ZERO,
            mss: 1428,
            initial_window_bytes: 50 * 1428,
            initial_ssthresh_bytes: Some(1428),
            srtt: srtt(path),
        };
        controller.on_path_added(PathId(path), &start);
    }
    let mut acked = 0;
    (0..ROUNDS).map(|_| round(&mut controller, paths, &mut acked)).fold(f64::INFINITY, f64::min)
}

fn srtt(path: u8) -> Duration {
    Duration::from_millis(20 + 10 * u64::from(path))
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn round(controller: &mut Controller, paths: u8, acked: &mut u64) -> f64 {
    let begin = std::time::Instant::now();
    for _ in 0..ACKS {
        *acked += 1;
        let path = (*acked % u64::from(paths)) as u8;
        let (id, now, srtt) = (PathId(path), Instant::from_micros(10 * *acked), srtt(path));
        if acked.is_multiple_of(4_001) {
            let kind = CongestionKind::FastRecovery;
            let lost = CongestionEvent {
                now,
                kind,
                inflight_segs: 50,
                cwnd_after_rto_segs: 1,
                snd_nxt: 0,
            };
            controller.on_congestion(id, &lost);
            controller.on_recovery_exit(id, now);
        }
        let sample = AckSample {
            now,
            acked_segs: 1,
            acked_bytes: 1428,
            rtt: Some(srtt),
            srtt,
            min_rtt: srtt,
            inflight_before_segs: 50,
            cwnd_limited: true,
            may_grow: true,
            state: CaState::Open,
            snd_una: *acked,
            snd_nxt: *acked + 50 * u64::from(paths),
            paced: false,
        };
        controller.on_ack(id, black_box(&sample));
    }
    begin.elapsed().as_nanos() as f64 / ACKS as f64
}
