//! SYNs on all paths at once shorten short downloads most (001 s4.1.1): there 14 % of 512 KB and
//! 5 % of 2 MB over WiFi and LTE, whose round trips are 30 and 60 ms (001 s4). Not with the receive
//! window that Linux begins with: what the second path carries then is behind what it has queued,
//! a round trip of its own away, and 64 KiB are full before that comes.

use crate::multipath::{multipath, over};
use crate::pair::record;
use base::{Duration, Rate};
use network::{Limit, LinkConfig};
use simulator::RunSetup;
use traffic::Traffic;
use transport::{Buffers, Profile};

/// 64 KB.
const SSTHRESH_SEGS: u32 = 45;

/// A download of `bytes` bytes.
fn download(bytes: u64) -> RunSetup {
    let link = |mbit, ms| LinkConfig {
        capacity: Rate::from_mbit(mbit).into(),
        delay: Duration::from_millis(ms),
        limit: Limit::Packets(300),
        ..LinkConfig::default()
    };
    over(&[link(20, 15), link(20, 30)], "lrf", Traffic::BulkSize(bytes))
}

/// What of the time SYNs at once save.
fn gain(mut setup: RunSetup) -> f64 {
    let usual = record(&setup).outcome.value.unwrap();
    multipath(&mut setup).simultaneous_syn = true;
    let at_once = record(&setup).outcome.value.unwrap();
    1.0 - at_once / usual
}

fn as_in_001(bytes: u64, cc: &'static str) -> RunSetup {
    let mut setup = download(bytes);
    // 001 s3.1: its kernel, its first threshold, and receive buffers that are not the limit.
    setup.flows[0].tcp.profile = Profile::Linux35;
    setup.flows[0].tcp.congestion = cc.parse().unwrap();
    setup.flows[0].tcp.initial_ssthresh_segs = Some(SSTHRESH_SEGS);
    let most = 8 << 20;
    setup.flows[0].tcp.buffers = Buffers { send_max: most, receive_max: most, auto_tuning: false };
    setup
}

#[test]
fn shortened_by_more_for_512_kib_than_for_2_mib() {
    for cc in ["reno", "lia", "olia"] {
        let [short, long] = [512 << 10, 2 << 20].map(|bytes| gain(as_in_001(bytes, cc)));
        println!("{cc}: {short:.3} of 512 KiB, {long:.3} of 2 MiB");
        assert!(short > long && long > 0.0, "{cc}: {short} {long}");
    }
}

/// Today's kernel: the writer has to wait, so that the second path can join.
#[test]
fn small_receive_window_takes_the_gain_away() {
    for cc in ["cubic", "lia"] {
        let with_room = |receive_max| {
            let mut setup = download(512 << 10);
            setup.flows[0].tcp.congestion = cc.parse().unwrap();
            setup.flows[0].tcp.buffers =
                Buffers { send_max: 256 << 10, receive_max, auto_tuning: false };
            gain(setup)
        };
        let (small, large) = (with_room(128 << 10), with_room(8 << 20));
        println!("{cc}: {small:.3} with 64 KiB, {large:.3} with 4 MiB");
        assert!(large > 0.0 && small < large, "{cc}: {small} {large}");
    }
}
