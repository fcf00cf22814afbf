//! Time-outs and recoveries that were a mistake, and how the window comes back: F-RTO (RFC 5682),
//! Eifel (RFC 3522, 4015), D-SACK (RFC 3708).

use crate::bare::{Bare, modern};
use crate::fate::Fate;
use crate::middlebox::strip;
use crate::pair::{Pair, Setup, Side};
use base::{CaState, Duration};
use transport::{InterfaceEvent, Profile, TcpConfig};
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

/// As a kernel that has no carrier, which drops at once what it is to send: 30 segments are taken
/// for sent, and arrive late all the same.
#[test]
fn time_out_while_the_link_is_down_leaves_the_window_reduced() {
    let mut pair = Setup::default().established();
    grow(&mut pair);
    let before = pair.info(Side::Client);
    pair.interface(Side::Client, InterfaceEvent::Down);
    pair.rule(Box::new(|sight| {
        let late = sight.from == Side::Client && sight.now < base::Instant::from_millis(1_000);
        if late { Fate::Late(ms(700)) } else { Fate::Pass }
    }));
    pair.write(Side::Client, 30 * MSS);
    let dropped = pair.info(Side::Client);
    assert_eq!((dropped.ca_state, dropped.cwnd_segs), (CaState::Cwr, before.cwnd_segs));
    let reduced = before.cwnd_segs * 717 / 1024;
    assert_eq!(dropped.ssthresh_segs, Some(reduced), "one reduction, of CUBIC");
    pair.run_until("the time-out", SECOND, |pair| pair.timer_names(Side::Client).contains(&"rto"));
    pair.interface(Side::Client, InterfaceEvent::Up);
    pair.drive_bounded(SECOND * 5);
    pair.drive_for(SECOND);
    let after = pair.info(Side::Client);
    assert_eq!((after.ca_state, after.ssthresh_segs), (CaState::Open, Some(reduced)));
    assert!(after.cwnd_segs <= 31, "one segment and slow start: {}", after.cwnd_segs);
    pair.assert_intact();
}

#[test]
fn reduction_of_a_link_that_is_down_ends_with_what_was_sent_later() {
    let mut pair = Setup::default().established();
    grow(&mut pair);
    let before = pair.info(Side::Client).cwnd_segs;
    pair.interface(Side::Client, InterfaceEvent::Down);
    pair.write(Side::Client, 4 * MSS);
    pair.interface(Side::Client, InterfaceEvent::Up);
    assert_eq!(pair.info(Side::Client).ca_state, CaState::Cwr);
    pair.drive_bounded(SECOND);
    pair.drive_for(ms(500));
    let after = pair.info(Side::Client);
    assert_eq!((after.ca_state, after.cwnd_segs), (CaState::Open, before * 717 / 1024));
    pair.write(Side::Client, 4 * MSS);
    assert_eq!(pair.info(Side::Client).ca_state, CaState::Open, "the link is up");
    pair.assert_intact();
}

/// A receiver only acknowledges, and has a window all the same.
#[test]
fn acknowledgements_into_a_link_that_is_down_reduce_the_window() {
    let mut pair = Setup::default().established();
    pair.interface(Side::Server, InterfaceEvent::Down);
    pair.write(Side::Client, 4 * MSS);
    pair.drive_bounded(SECOND);
    pair.drive_for(ms(500));
    let receiver = pair.info(Side::Server);
    assert_eq!((receiver.ca_state, receiver.ssthresh_segs), (CaState::Cwr, Some(7)));
    assert_eq!(pair.info(Side::Client).ca_state, CaState::Open);
    pair.interface(Side::Server, InterfaceEvent::Up);
    pair.write(Side::Server, 2 * MSS);
    pair.drive_bounded(SECOND);
    pair.drive_for(ms(500));
    let sender = pair.info(Side::Server);
    assert_eq!((sender.ca_state, sender.cwnd_segs), (CaState::Open, 7));
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

/// Ten segments are sent, the last three arrive first: recovery begins.
fn recovering() -> (Bare, u32) {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    bare.write(10 * MSS);
    let echo = bare.stamps.unwrap();
    bare.wait_ms(40);
    let again = bare.sack(&[(7 * MSS, 10 * MSS)]);
    assert_eq!(again.len(), 3, "of seven");
    assert_eq!(bare.info().ca_state, CaState::Recovery);
    (bare, echo)
}

/// Regression: where originals arrive late, and retransmissions are still in flight, more of them
/// were sent (Linux `tcp_try_undo_partial` sends new data alone).
#[test]
fn no_more_is_retransmitted_once_originals_proved_late() {
    let (mut bare, echo) = recovering();
    bare.wait_ms(1);
    bare.stamps = Some(echo);
    assert!(bare.ack(MSS).is_empty());
    let (mut bare, _) = recovering();
    bare.wait_ms(1);
    assert!(!bare.ack(MSS).is_empty(), "the retransmission arrived: the next one follows");
}

/// Linux `tcp_packet_delayed`: nothing was retransmitted yet, so what is acknowledged was late.
#[test]
fn recovery_without_a_retransmission_is_undone_by_progress() {
    let mut bare = Bare::accepted(TcpConfig { pacing: true, ..TcpConfig::default() }, modern());
    bare.write(20 * MSS);
    let sent: u32 = bare.wait_ms(40).iter().map(|(_, segment)| segment.payload.len()).sum();
    assert!(sent < 10 * MSS);
    // The acknowledgement lets a burst go, and pacing delays what follows.
    assert!(!bare.ack(MSS).is_empty());
    let before = bare.info();
    assert!(bare.sack(&[(5 * MSS, 10 * MSS)]).is_empty(), "paced");
    assert_eq!(bare.info().ca_state, CaState::Recovery);
    bare.ack(2 * MSS);
    let after = bare.info();
    assert_eq!(after.ca_state, CaState::Disorder);
    assert_eq!(after.segs_retrans, 0);
    assert!(after.cwnd_segs >= before.cwnd_segs && after.ssthresh_segs == before.ssthresh_segs);
}

/// Regression: after an undo, old kernels looked for losses only above those marked before it.
#[test]
fn losses_are_found_again_after_an_undo_in_old_kernels() {
    let config = TcpConfig { profile: Profile::Linux41, ..TcpConfig::default() };
    let mut bare = Bare::accepted(config, modern());
    bare.write(10 * MSS);
    bare.wait_ms(40);
    bare.sack(&[(7 * MSS, 8 * MSS)]);
    assert_eq!(bare.info().ca_state, CaState::Recovery);
    bare.wait_ms(900);
    assert_eq!(bare.info().ca_state, CaState::Loss, "two time-outs");
    // An original arrives, so that the second time-out was spurious; five are still missing.
    let again = bare.sack(&[(5 * MSS, 6 * MSS), (7 * MSS, 8 * MSS)]);
    assert_eq!(bare.info().ca_state, CaState::Recovery);
    assert!(!again.is_empty());
}
