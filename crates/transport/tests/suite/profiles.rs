//! One test for every switch in which the profiles differ, at packet
//! level. Compressed ACKs are tested in `ack`, SYN retries in `handshake`.

use crate::bare::{Bare, modern};
use crate::fate::{Fate, data};
use crate::pair::{Pair, Setup, Side};
use base::{Duration, Instant};

use transport::{Buffers, CwndAfterRto, LossDetection, Profile, TcpConfig};

const MSS: u32 = 1448;
const OLD: [Profile; 4] =
    [Profile::Linux41, Profile::Linux314, Profile::Linux311, Profile::Linux35];

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn config(profile: Profile) -> TcpConfig {
    TcpConfig { profile, ..TcpConfig::default() }
}

/// A stack that has sent `segs` segments at 1 s (an RTT of 40 ms measured), 40 ms ago.
fn in_flight(profile: Profile, segs: u32) -> Bare {
    let mut bare = Bare::accepted(config(profile), modern());
    // A few samples, so that the estimate is 40 ms.
    for n in 1..=8 {
        bare.write(MSS);
        bare.wait_ms(40);
        bare.ack(n * MSS);
    }
    assert_eq!(bare.write(segs * MSS).len(), segs as usize);
    bare.wait_ms(40);
    bare
}

/// Position of the `n`-th of the segments in flight, from 0.
fn at(n: u32) -> u32 {
    (8 + n) * MSS
}

/// How long after now the segment at `position` goes again, within a second.
fn repaired(bare: &mut Bare, position: u32) -> Option<Duration> {
    let begin = bare.now;
    let sent = bare.wait_ms(1000);
    sent.iter()
        .find(|(_, segment)| bare.position(segment.seq) == i64::from(position))
        .map(|(at, _)| *at - begin)
}

#[test]
fn names_and_lists_are_consistent() {
    for (profile, name) in Profile::ALL {
        assert_eq!(Profile::by_name(name), Some(profile));
        assert_eq!(profile.name(), name);
        assert_eq!(profile.is_old(), profile != Profile::Linux);
        assert_eq!(profile.unverified().is_empty(), profile == Profile::Linux);
        let mut switches: Vec<&str> = profile.unverified().to_vec();
        switches.sort_unstable();
        switches.dedup();
        assert_eq!(switches.len(), profile.unverified().len(), "each switch once");
    }
    assert_eq!(Profile::by_name("Linux"), Some(Profile::Linux), "in any case");
    assert_eq!(Profile::by_name("linus"), None);
    assert_eq!(Profile::default(), Profile::Linux);
}

#[test]
fn lists_are_those_of_the_specification() {
    let linux = Profile::Linux.switches();
    assert_eq!(linux.recovery.loss_detection, LossDetection::Rack);
    assert_eq!(linux.recovery.cwnd_after_rto, CwndAfterRto::InflightPlusOne);
    assert!(!linux.recovery.early_retransmit && linux.compressed_acks && linux.recovery.frto);
    for old in OLD {
        let switches = old.switches();
        assert_eq!(switches.recovery.loss_detection, LossDetection::SackFack);
        assert_eq!(switches.recovery.cwnd_after_rto, CwndAfterRto::One);
        assert!(
            switches.recovery.early_retransmit
                && !switches.compressed_acks
                && switches.recovery.frto
        );
        assert_eq!(switches.small_queue.cap_bytes, 128 << 10);
        assert_eq!(switches.initial_window_segs, 10);
        assert_eq!(switches.recovery.tlp.is_none(), old == Profile::Linux35);
    }
}

/// Four in flight, the last one SACKed: forward acknowledgement takes the gap of three for three
/// duplicates; RACK waits a quarter of the round trip.
#[test]
fn switch_loss_detection_fack_counts_the_gap_and_rack_the_time() {
    for old in OLD {
        let mut bare = in_flight(old, 4);
        let sent = bare.sack(&[(at(3), at(4))]);
        assert_eq!(bare.position(sent[0].seq), i64::from(at(0)), "{old:?}");
    }
    let mut bare = in_flight(Profile::Linux, 4);
    assert!(bare.sack(&[(at(3), at(4))]).is_empty());
    let after = repaired(&mut bare, at(0)).unwrap();
    assert!(after >= ms(10) && after <= ms(20), "min_rtt/4 + 2 ms on the wheel: {after}");
}

/// Two in flight behind a loss: no third duplicate can come.
#[test]
fn switch_early_retransmit_repairs_a_small_window_after_a_quarter_round_trip() {
    for old in OLD {
        let mut bare = in_flight(old, 3);
        assert!(bare.sack(&[(at(1), at(2))]).is_empty());
        assert!(bare.sack(&[(at(1), at(3))]).is_empty());
        let after = repaired(&mut bare, at(0)).unwrap();
        assert!(after >= ms(8) && after <= ms(16), "RFC 5827, srtt/4: {old:?} {after}");
        // With two of three lost it is not allowed: the time-out has to do it.
        let mut bare = in_flight(old, 3);
        assert!(bare.sack(&[(at(2), at(3))]).is_empty());
        let after = repaired(&mut bare, at(0)).unwrap();
        assert!(after >= ms(180), "{old:?} {after}");
    }
    let mut bare = in_flight(Profile::Linux, 3);
    bare.sack(&[(at(2), at(3))]);
    assert!(repaired(&mut bare, at(0)).unwrap() <= ms(20), "RACK needs no such rule");
}

/// Timers of a client that loses the last of five segments, RTT 40 ms.
fn tail_loss(profile: Profile) -> (Pair, Instant) {
    let mut pair = Setup::with(config(profile)).established();
    pair.write(Side::Client, 20 * MSS);
    pair.drive_bounded(Duration::from_secs(1));
    pair.drive_for(ms(100));
    pair.tape.events.clear();
    pair.rule(data(Side::Client, &[4, 5], Fate::Drop));
    let begin = pair.now;
    pair.write(Side::Client, 5 * MSS);
    pair.drive_bounded(Duration::from_secs(2));
    (pair, begin)
}

#[test]
fn switch_tlp_none_before_3_10() {
    for profile in [Profile::Linux, Profile::Linux41, Profile::Linux314, Profile::Linux311] {
        let (pair, _) = tail_loss(profile);
        assert_eq!(pair.timer_names(Side::Client)[0], "loss-probe", "{profile:?}");
    }
    let (pair, _) = tail_loss(Profile::Linux35);
    assert_eq!(pair.timer_names(Side::Client)[0], "rto");
}

/// RTT 1 ms: twice that and 2 ms (linux), at least 10 ms (old).
#[test]
fn switch_tlp_rule_old_kernels_wait_ten_milliseconds() {
    let probe = |profile| {
        let delay = Duration::from_micros(500);
        let mut pair = Setup { delay, ..Setup::with(config(profile)) }.established();
        pair.write(Side::Client, 20 * MSS);
        pair.drive_bounded(Duration::from_secs(1));
        pair.drive_for(ms(100) + (Instant::from_millis(1000) - pair.now));
        pair.tape.events.clear();
        pair.rule(data(Side::Client, &[1, 2, 3, 4, 5], Fate::Drop));
        let begin = pair.now;
        pair.write(Side::Client, 5 * MSS);
        pair.drive_bounded(Duration::from_secs(2));
        let (at, name) = pair.timers(Side::Client)[0];
        assert_eq!(name, "loss-probe");
        at - begin
    };
    assert!(probe(Profile::Linux) <= ms(8), "{}", probe(Profile::Linux));
    for old in &OLD[..3] {
        let wait = probe(*old);
        assert!(wait > ms(8) && wait <= ms(16), "{old:?} {wait}");
    }
}

/// Fifteen lost below five that arrived: how many segments the five SACKs let out.
fn sent_for_five_sacks(profile: Profile) -> usize {
    let mut bare = Bare::accepted(config(profile), modern());
    let mut acked = 0;
    while bare.info().cwnd_segs < 20 {
        let cwnd = bare.info().cwnd_segs;
        bare.write(cwnd * MSS);
        bare.wait_ms(40);
        for _ in 0..cwnd {
            acked += MSS;
            bare.ack(acked);
        }
        bare.wait_ms(1);
    }
    assert_eq!(bare.write(20 * MSS).len(), 20);
    bare.wait_ms(40);
    let from = acked + 15 * MSS;
    (1..=5).map(|n| bare.sack(&[(from, from + n * MSS)]).len()).sum()
}

/// PRR-2: below the threshold the old kernels always add a segment, `linux` only on an
/// acknowledgement that makes progress.
#[test]
fn switch_prr_old_kernels_always_add_one() {
    // The third SACK indicates the loss; it and the next two let out one segment each.
    assert_eq!(sent_for_five_sacks(Profile::Linux), 3, "conservation");
    for old in OLD {
        assert!(sent_for_five_sacks(old) >= 8, "{old:?} {}", sent_for_five_sacks(old));
    }
}

/// Five segments are sent shortly before the time-out of an older one.
#[test]
fn switch_cwnd_after_rto_counts_what_is_in_flight() {
    let after = |profile| {
        let mut pair = Setup::with(config(profile)).delay_ms(100).established();
        pair.write(Side::Client, 100 * MSS);
        pair.drive_bounded(Duration::from_secs(2));
        pair.drive_for(ms(250));
        pair.tape.events.clear();
        pair.rule(Box::new(
            |sight| {
                if sight.from == Side::Client { Fate::Drop } else { Fate::Pass }
            },
        ));
        pair.write(Side::Client, 2 * MSS);
        let rto = pair.info(Side::Client).rto;
        pair.drive_for(rto - ms(12));
        pair.write(Side::Client, 5 * MSS);
        pair.drive_for(ms(40));
        assert!(pair.timer_names(Side::Client).contains(&"rto"));
        pair.info(Side::Client).cwnd_segs
    };
    // The five, perhaps a probe, and one.
    assert!((6..=7).contains(&after(Profile::Linux)), "{}", after(Profile::Linux));
    for old in OLD {
        assert_eq!(after(old), 1, "{old:?}");
    }
}

/// A fast, large window with a NIC that keeps everything.
fn most_below(profile: Profile) -> u32 {
    let buffers = Buffers { send_max: 16 << 20, receive_max: 16 << 20, auto_tuning: false };
    let mut setup = Setup::with(TcpConfig { buffers, ..config(profile) });
    setup.delay = Duration::from_micros(100);
    let mut pair = setup.established();
    pair.write_virtual(Side::Client, 2_000_000);
    pair.drive_bounded(Duration::from_secs(5));
    pair.drive_for(ms(100));
    pair.nic_holds[0] = true;
    pair.write_virtual(Side::Client, 4_000_000);
    pair.nic_bytes(Side::Client)
}

#[test]
fn switch_small_queue_cap_is_128_kib_in_old_kernels() {
    for old in OLD {
        let below = most_below(old);
        assert!(below > 100 << 10 && below < 256 << 10, "{old:?} {below}");
    }
    assert!(most_below(Profile::Linux) > 256 << 10, "{}", most_below(Profile::Linux));
}
