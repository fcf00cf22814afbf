//! `video`: 30 messages of 3958 bytes a second for 60 s over 4 Mbit/s with 70 ms.

use crate::Bench;
use base::Duration;
use traffic::Traffic;

/// Kernel: median 78.4 ms, mean 78.5 ms, exactly one of 1800 messages above 100 ms (119.4 ms).
#[test]
fn one_message_waits_for_the_window() {
    let traffic = Traffic::video(Duration::from_secs(60));
    let record = Bench::SLOW.run("cubic", traffic, 0);
    let mut delays: Vec<f64> = record.outcome.message_delays.iter().map(|s| s * 1e3).collect();
    assert_eq!(delays.len(), 1800);
    let mean = delays.iter().sum::<f64>() / 1800.0;
    delays.sort_by(f64::total_cmp);
    let median = delays[900];
    println!("video: median {median:.2}, mean {mean:.2}, longest {:.2} ms", delays[1799]);
    assert!((median - 78.4).abs() <= 0.4, "median {median} ms");
    assert!((mean - 78.5).abs() <= 0.4, "mean {mean} ms");
    let late: Vec<f64> = delays.iter().copied().filter(|delay| *delay > 100.0).collect();
    assert_eq!(late.len(), 1, "messages above 100 ms: {late:?}");
    assert!((late[0] - 119.4).abs() <= 0.4, "the late one took {} ms", late[0]);
}
