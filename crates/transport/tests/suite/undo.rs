//! Time-outs and recoveries that were a mistake, and how the window comes back: F-RTO (RFC 5682),
//! Eifel (RFC 3522, 4015), D-SACK (RFC 3708).

use crate::fate::Fate;
use crate::middlebox::strip;
use crate::pair::{Pair, Setup, Side};
use base::{CaState, Duration};
use wire::TcpOptions;

const MSS: u32 = 1448;
const SECOND: Duration = Duration::from_secs(1);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn grow(pair: &mut Pair) {
    pair.write(Side::Client, 100 * MSS);
    pair.drive_bounded(SECOND * 5);
    pair.drive_for(ms(100));
    pair.log.clear();
    pair.tape.events.clear();
}

/// Everything the client sends is held for 600 ms and then let go: a delay spike.
fn spike(pair: &mut Pair) {
    pair.write(Side::Client, 40 * MSS);
    pair.drive_for(ms(5));
    pair.stop(Side::Client);
    pair.write(Side::Client, 20 * MSS);
    pair.drive_for(ms(600));
    pair.resume(Side::Client);
}

#[test]
fn time_out_of_a_delay_spike_is_undone() {
    let mut pair = Setup::default().established();
    grow(&mut pair);
    let before = pair.info(Side::Client);
    // All is delayed by more than the RTO, nothing lost.
    pair.rule(Box::new(|sight| {
        let late = sight.from == Side::Client && sight.now < base::Instant::from_millis(1_000);
        if late { Fate::Late(ms(700)) } else { Fate::Pass }
    }));
    pair.write(Side::Client, 30 * MSS);
    pair.drive_bounded(SECOND * 5);
    pair.drive_for(SECOND);
    assert!(pair.timer_names(Side::Client).contains(&"rto"), "{:?}", pair.timers(Side::Client));
    let after = pair.info(Side::Client);
    assert_eq!(after.ca_state, CaState::Open);
    assert!(after.cwnd_segs >= before.cwnd_segs, "{} {}", after.cwnd_segs, before.cwnd_segs);
    assert!(pair.retransmissions(Side::Client).len() <= 4, "not the whole window again");
    pair.assert_intact();
}

#[test]
fn time_out_of_a_delay_spike_is_undone_without_timestamps() {
    let mut pair = Setup::default().idle();
    pair.mangle = Some(strip(|options| TcpOptions { timestamps: None, ..options }));
    pair.connect(0);
    grow(&mut pair);
    let before = pair.info(Side::Client);
    spike(&mut pair);
    pair.drive_bounded(SECOND * 5);
    pair.drive_for(SECOND);
    assert!(pair.timer_names(Side::Client).contains(&"rto"));
    let after = pair.info(Side::Client);
    assert_eq!(after.ca_state, CaState::Open);
    assert!(after.cwnd_segs >= before.cwnd_segs, "{} {}", after.cwnd_segs, before.cwnd_segs);
    pair.assert_intact();
}

#[test]
fn time_out_of_a_real_loss_is_not_undone() {
    let mut pair = Setup::default().established();
    grow(&mut pair);
    let before = pair.info(Side::Client);
    let until = pair.now + ms(400);
    pair.rule(crate::fate::black_out(Side::Client, pair.now, until));
    pair.write(Side::Client, 60 * MSS);
    pair.drive_bounded(SECOND * 5);
    pair.drive_for(SECOND);
    let after = pair.info(Side::Client);
    assert!(after.ssthresh_segs.is_some_and(|ssthresh| ssthresh <= before.cwnd_segs * 3 / 4));
    pair.assert_intact();
}

/// One segment comes late by more than the reordering window: its retransmission is spurious, which
/// both the D-SACK and the echo show.
fn overtaken(pair: &mut Pair) -> (u32, u32) {
    grow(pair);
    let before = pair.info(Side::Client).cwnd_segs;
    let mut count = 0;
    pair.rule(Box::new(move |sight| {
        count += u32::from(sight.from == Side::Client && sight.payload_len() > 0);
        let hit = sight.from == Side::Client && sight.payload_len() > 0 && count == 5;
        if hit { Fate::Late(ms(30)) } else { Fate::Pass }
    }));
    pair.write(Side::Client, 40 * MSS);
    pair.drive_bounded(SECOND);
    pair.drive_for(SECOND);
    pair.assert_intact();
    assert_eq!(pair.retransmissions(Side::Client).len(), 1);
    assert_eq!(pair.info(Side::Client).spurious_retrans, 1);
    (before, pair.info(Side::Client).cwnd_segs)
}

#[test]
fn recovery_that_reordering_caused_is_undone_by_the_echo() {
    let (before, after) = overtaken(&mut Setup::default().established());
    assert!(after >= before, "{after} of {before}");
}

#[test]
fn recovery_that_reordering_caused_is_undone_by_d_sack_alone() {
    let mut pair = Setup::default().idle();
    pair.mangle = Some(strip(|options| TcpOptions { timestamps: None, ..options }));
    pair.connect(0);
    let (before, after) = overtaken(&mut pair);
    assert!(after >= before, "RFC 3708: {after} of {before}");
}
