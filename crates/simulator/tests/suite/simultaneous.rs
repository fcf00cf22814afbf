//! SYNs on all paths at once shorten short downloads most (001 s4.1.1): there 14 % of 512 KB and
//! 5 % of 2 MB over WiFi and LTE, whose round trips are 30 and 60 ms (001 s4).

use crate::multipath::over;
use crate::pair::record;
use base::{Duration, Rate};
use network::{Limit, LinkConfig};
use traffic::Traffic;
use transport::{Buffers, Profile};

/// 64 KB.
const SSTHRESH_SEGS: u32 = 45;

/// Of a download of so many bytes: its time without and with, in seconds.
fn times(bytes: u64, cc: &'static str) -> (f64, f64) {
    let link = |mbit, ms| LinkConfig {
        capacity: Rate::from_mbit(mbit).into(),
        delay: Duration::from_millis(ms),
        limit: Limit::Packets(300),
        ..LinkConfig::default()
    };
    let mut setup = over(&[link(20, 15), link(20, 30)], "lrf", Traffic::BulkSize(bytes));
    // 001 s3.1: its kernel, its first threshold, and receive buffers that do not hold it up.
    setup.tcp.profile = Profile::Linux35;
    setup.tcp.congestion = cc;
    setup.tcp.initial_ssthresh_segs = Some(SSTHRESH_SEGS);
    let most = 8 << 20;
    setup.tcp.buffers = Buffers { send_max: most, receive_max: most, auto_tuning: false };
    let usual = record(&setup).outcome.value.unwrap();
    setup.simultaneous_syn = true;
    let at_once = record(&setup).outcome.value.unwrap();
    (usual, at_once)
}

#[test]
fn shortened_by_more_for_512_kib_than_for_2_mib() {
    for cc in ["reno", "lia", "olia"] {
        let gain = |bytes| {
            let (usual, at_once) = times(bytes, cc);
            1.0 - at_once / usual
        };
        let (short, long) = (gain(512 << 10), gain(2 << 20));
        assert!(short > long && long > 0.0, "{cc}: {short} {long}");
    }
}
