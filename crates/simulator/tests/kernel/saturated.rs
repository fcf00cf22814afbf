//! `bulk:30s` over 100 Mbit/s with a queue of 100 packets: bytes read, and segments sent again.

use crate::{Bench, assert_near};
use base::Duration;
use traffic::Traffic;

/// Kernel figures: Mbit/s of payload and retransmitted segments; tolerances as fractions.
fn check(cc: &'static str, delay_ms: u64, kernel: (f64, u64), tolerance: (f64, f64)) {
    let record = Bench::fast(delay_ms).run(cc, Traffic::BulkTime(Duration::from_secs(30)), 0);
    let what = format!("100 Mbit/s {delay_ms} ms {cc}");
    let mbit = record.outcome.value.expect("complete") / 1e6;
    assert_near(&format!("{what}, Mbit/s"), mbit, kernel.0, tolerance.0);
    let retransmitted = record.measured().sent.retransmitted_segs as f64;
    assert_near(&format!("{what}, retransmitted"), retransmitted, kernel.1 as f64, tolerance.1);
}

#[test]
fn reno_at_rtt_10() {
    check("reno", 5, (96.4, 218), (0.005, 0.15));
}

#[test]
fn reno_at_rtt_40() {
    check("reno", 20, (86.0, 168), (0.02, 0.15));
}

#[test]
fn reno_at_rtt_100() {
    check("reno", 50, (45.4, 160), (0.05, 0.15));
}

#[test]
fn reno_at_rtt_200_and_400() {
    check("reno", 100, (18.28, 161), (0.02, 0.15));
    check("reno", 200, (7.84, 161), (0.02, 0.15));
}

/// CUBIC varies from run to run on the kernel: at RTT 200 and 400 by 5 % and a factor of 1.6 in
/// retransmissions, which are not compared there.
#[test]
fn cubic_at_every_rtt() {
    check("cubic", 5, (96.43, 25), (0.005, 0.4));
    check("cubic", 20, (95.1, 144), (0.02, 0.15));
    check("cubic", 50, (72.5, 177), (0.05, 0.15));
    check("cubic", 100, (39.6, 1016), (0.05, 0.5));
    check("cubic", 200, (18.7, 1313), (0.08, 0.5));
}
