//! `bulk:SIZE`: connect to last byte read.

use crate::{Bench, assert_near};
use traffic::Traffic;

fn completion(bench: &Bench, cc: &'static str, bytes: u64, run: u64) -> (f64, u64) {
    let record = bench.run(cc, Traffic::BulkSize(bytes), run);
    (record.outcome.value.expect("complete"), record.measured().sent.retransmitted_segs)
}

#[test]
fn slow_path_with_a_deep_queue() {
    for (cc, kib, kernel) in [
        ("cubic", 64, 0.613),
        ("cubic", 256, 1.0465),
        ("cubic", 1024, 2.676),
        ("cubic", 4096, 9.193),
        ("cubic", 16_384, 35.276),
        ("reno", 4096, 9.197),
        ("reno", 16_384, 35.281),
    ] {
        let (ours, retransmitted) = completion(&Bench::SLOW, cc, kib << 10, 0);
        assert_near(&format!("4 Mbit/s 70 ms {cc} {kib} KiB, s"), ours, kernel, 0.005);
        assert_eq!(retransmitted, 0, "the queue is deep enough");
    }
}

/// The handshake takes longer than the time-out of a SYN.
#[test]
fn path_with_a_round_trip_of_seconds() {
    for (mbit, delay_ms, kernel) in [(25, 1200, 9.610), (10, 1100, 8.822)] {
        let (bench, kib) = (Bench { mbit, ..Bench::fast(delay_ms) }, 64);
        let (ours, _) = completion(&bench, "cubic", kib << 10, 0);
        assert_near(&format!("{mbit} Mbit/s {delay_ms} ms {kib} KiB, s"), ours, kernel, 0.005);
    }
}

#[test]
fn wlan_without_loss() {
    for (cc, kib, kernel, kernel_retransmitted) in [
        ("cubic", 64, 0.1692, 0),
        ("cubic", 256, 0.2584, 0),
        ("cubic", 1024, 0.5193, 0),
        ("cubic", 16_384, 5.7335, 13),
        ("reno", 1024, 0.5192, 183),
        ("reno", 16_384, 5.7335, 190),
    ] {
        let (ours, retransmitted) = completion(&Bench::WLAN, cc, kib << 10, 0);
        assert_near(&format!("25 Mbit/s 20 ms {cc} {kib} KiB, s"), ours, kernel, 0.005);
        let off = retransmitted.abs_diff(kernel_retransmitted);
        println!("  retransmitted {retransmitted}, kernel {kernel_retransmitted}");
        assert!(off * 100 <= kernel_retransmitted * 15, "{retransmitted} retransmitted");
    }
}

/// Median of `runs` repetitions, in seconds.
fn median(loss: f64, cc: &'static str, mib: u64, runs: u64) -> f64 {
    let bench = Bench { loss, ..Bench::WLAN };
    let mut times: Vec<f64> =
        (0..runs).map(|run| completion(&bench, cc, mib << 20, run).0).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[test]
fn wlan_with_one_percent_loss() {
    let ours = median(0.01, "reno", 16, 100);
    println!("25 Mbit/s 20 ms loss 1 % reno 16 MiB, median s: {ours:.2}");
    assert!((37.0..=42.0).contains(&ours), "median of 100 runs {ours}");
}

/// Medians of 20 kernel runs; theirs and ours each have a standard error of 1 to 2 %.
#[test]
fn other_loss_rates_and_cubic() {
    for (loss, cc, kernel) in [
        (0.005, "reno", 26.32),
        (0.02, "reno", 60.25),
        (0.005, "cubic", 27.97),
        (0.01, "cubic", 44.38),
        (0.02, "cubic", 68.58),
    ] {
        let ours = median(loss, cc, 16, 40);
        assert_near(&format!("25 Mbit/s 20 ms loss {loss} {cc} 16 MiB, s"), ours, kernel, 0.07);
    }
}
