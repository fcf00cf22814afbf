//! `burst:N`: after a warm-up of 20 segments and 3 s of idleness, one write of N x 1420 bytes.

use crate::Bench;
use traffic::Traffic;

/// The test bench adds this much per one-way crossing at most, in ms.
const BENCH_DELAY_MS: f64 = 0.15;
/// And at least this much; the emulator's rounding is as large.
const MARGIN_MS: f64 = 0.05;

/// `kernel_ms` as measured; the burst crosses the path `crossings` times.
fn check(delay_ms: u64, segments: u32, kernel_ms: f64, crossings: u32) {
    for cc in ["reno", "cubic"] {
        let traffic = Traffic::Burst { segments, segment_bytes: 1420 };
        let record = Bench::fast(delay_ms).run(cc, traffic, 0);
        let ours = record.outcome.value.expect("complete") * 1e3;
        println!("burst {segments} {cc} {delay_ms} ms: ours {ours:.3}, kernel {kernel_ms}");
        let least = kernel_ms - (MARGIN_MS + BENCH_DELAY_MS * f64::from(crossings));
        assert!(
            (least..=kernel_ms + MARGIN_MS).contains(&ours),
            "burst {segments} {cc}: {ours} ms, kernel {kernel_ms} ms"
        );
    }
}

#[test]
fn bursts_at_5_ms() {
    for (segments, kernel_ms, crossings) in
        [(10, 6.3, 1), (20, 16.7, 3), (30, 17.9, 3), (40, 27.0, 5), (50, 28.2, 5)]
    {
        check(5, segments, kernel_ms, crossings);
    }
}

#[test]
fn bursts_at_longer_delays() {
    for (delay_ms, segments, kernel_ms, crossings) in [
        (20, 10, 21.36, 1),
        (20, 20, 61.54, 3),
        (20, 50, 102.89, 5),
        (50, 50, 252.88, 5),
        (200, 20, 601.56, 3),
        (200, 50, 1002.93, 5),
    ] {
        check(delay_ms, segments, kernel_ms, crossings);
    }
}
