//! Finding and repairing losses: fast retransmit, RACK, tail probes, PRR, time-outs
//! (RFC 6298, 6675, 8985, 9937).

use crate::bare::{Bare, bytes, modern};
use crate::fate::{Fate, data, first};
use crate::pair::{Pair, Setup, Side};
use base::{CaState, Duration, Event, EventMask};
use transport::{Buffers, Profile, SocketError, TcpConfig};
use wire::TcpSegment;

const MSS: u32 = 1448;
const SECOND: Duration = Duration::from_secs(1);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A connection that has sent `segs` segments without loss.
fn grown(segs: u32) -> Pair {
    let mut pair = Setup::default().established();
    pair.write(Side::Client, segs * MSS);
    pair.drive_bounded(SECOND * 5);
    pair.drive_for(ms(100));
    pair.log.clear();
    pair.tape.events.clear();
    pair
}

/// The segments `numbers` of the next `segs` are lost; the time until all are read.
fn losing(pair: &mut Pair, numbers: &'static [u32], segs: u32) -> Duration {
    let begin = pair.now;
    pair.rule(data(Side::Client, numbers, Fate::Drop));
    pair.write(Side::Client, segs * MSS);
    pair.drive_bounded(SECOND * 5);
    let took = pair.now - begin;
    pair.drive_for(ms(300));
    pair.assert_intact();
    took
}

#[test]
fn one_loss_costs_one_retransmission_and_one_round_trip() {
    let mut pair = grown(30);
    let took = losing(&mut pair, &[3], 10);
    assert_eq!(pair.retransmissions(Side::Client).len(), 1);
    assert!(took >= ms(60) && took < ms(62), "{took}");
    assert!(!pair.timer_names(Side::Client).contains(&"rto"));
}

#[test]
fn three_losses_of_one_window_are_repaired_in_one_round_trip() {
    let mut pair = grown(60);
    let took = losing(&mut pair, &[3, 9, 15], 30);
    assert_eq!(pair.retransmissions(Side::Client).len(), 3);
    assert!(took < ms(70), "{took}");
}

#[test]
fn window_is_reduced_once_for_the_losses_of_one_window() {
    let mut pair = grown(60);
    let before = pair.info(Side::Client).cwnd_segs;
    losing(&mut pair, &[3, 9, 15], 30);
    let info = pair.info(Side::Client);
    // CUBIC: beta 717/1024 of the window.
    assert_eq!(info.ssthresh_segs, Some(before * 717 / 1024));
    assert_eq!(info.ca_state, CaState::Open);
}

#[test]
fn retransmission_lost_is_found_by_time_and_sent_again() {
    lose_a_retransmission(grown(60));
}

/// Linux up to 4.4 has `tcp_mark_lost_retrans`: what was sent after the retransmission is SACKed.
#[test]
fn retransmission_lost_is_found_by_later_data_in_old_kernels() {
    let config = TcpConfig { profile: Profile::Linux41, ..TcpConfig::default() };
    let mut pair = Setup::with(config).established();
    pair.write(Side::Client, 60 * MSS);
    pair.drive_bounded(SECOND * 5);
    pair.drive_for(ms(100));
    pair.log.clear();
    pair.tape.events.clear();
    lose_a_retransmission(pair);
}

fn lose_a_retransmission(mut pair: Pair) {
    let mut seen = 0;
    let lost = pair.end(Side::Client).asked as u32 + 5 * MSS;
    pair.rule(Box::new(move |sight| {
        let wire::Body::Tcp(segment) = &sight.packet.body else { return Fate::Pass };
        let is_it = sight.from == Side::Client
            && !segment.payload.is_empty()
            && crate::pair::pattern(Side::Client, lost.into())
                == segment.payload.byte_at(0).unwrap()
            && crate::pair::pattern(Side::Client, (lost + 1).into())
                == segment.payload.byte_at(1).unwrap()
            && crate::pair::pattern(Side::Client, (lost + 2).into())
                == segment.payload.byte_at(2).unwrap();
        seen += u32::from(is_it);
        if is_it && seen <= 2 { Fate::Drop } else { Fate::Pass }
    }));
    pair.write(Side::Client, 300 * MSS);
    pair.drive_bounded(SECOND * 2);
    pair.assert_intact();
    assert_eq!(pair.retransmissions(Side::Client).len(), 2);
    assert!(!pair.timer_names(Side::Client).contains(&"rto"), "RFC 8985 s6.2, Linux");
}

#[test]
fn tail_lost_is_probed_before_the_time_out() {
    let mut pair = grown(30);
    let begin = pair.now;
    let rto = pair.info(Side::Client).rto;
    losing(&mut pair, &[10], 10);
    let timers = pair.timers(Side::Client);
    assert_eq!(timers.len(), 1, "{timers:?}");
    let (at, name) = timers[0];
    assert_eq!(name, "loss-probe");
    // The ACK of segment 9 at 40 ms leaves one in flight: PTO = min(2 srtt + 200 ms, RTO).
    assert!(at - begin <= ms(40) + rto + ms(4), "{}", at - begin);
    assert_eq!(pair.retransmissions(Side::Client).len(), 1);
}

/// Regression: a reordering timer of an earlier acknowledgement kept the probe away, and the
/// time-out began anew when it fired (Linux `tcp_set_xmit_timer`).
#[test]
fn progress_replaces_the_reordering_timer_by_a_probe() {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    bare.write(10 * MSS);
    bare.wait_ms(40);
    assert!(bare.sack(&[(MSS, 2 * MSS)]).is_empty(), "one may be late");
    bare.wait_ms(1);
    assert!(bare.ack(2 * MSS).is_empty(), "it was");
    let sent = bare.wait_ms(300);
    let after = sent[0].0 - (bare.now - ms(300));
    assert_eq!(bare.position(sent[0].1.seq), 9 * i64::from(MSS), "the probe");
    assert!(after >= ms(82) && after <= ms(90), "{after}");
}

/// Regression: of an acknowledgement that covers some segments and SACKs a later one that overtook
/// others by most of the delay, the RTT of the latter counted, and all before it were lost at once.
/// 2 MiB over 10 Mbit/s and 20 ms with 10 % of packets reordered took 3.0 s, a kernel 1.88 s (Linux
/// `tcp_rack_advance`: SACKs come first, and the last RTT counts).
#[test]
fn segment_that_overtook_others_does_not_make_them_late_by_its_short_round_trip() {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    bare.write(20 * MSS);
    bare.wait_ms(24);
    assert_eq!(bytes(&bare.ack(MSS)), 2 * MSS);
    bare.wait_ms(4);
    bare.acked = 3 * MSS;
    let sent = bare.sack(&[(10 * MSS, 11 * MSS)]);
    let is_new = |segment: &TcpSegment| bare.position(segment.seq) >= 12 * i64::from(MSS);
    assert!(!sent.is_empty() && sent.iter().all(is_new), "one may be late: {sent:?}");
    // The RTT of the segments that were covered, a quarter of the smallest RTT, and two ticks.
    let late = bare.wait_ms(20);
    let after = late[0].0 - (bare.now - ms(20));
    assert_eq!(bare.position(late[0].1.seq), 3 * i64::from(MSS));
    assert!(after >= ms(1) && after <= ms(8), "{after}");
}

/// Regression: after F-RTO found no new data to send, one segment was retransmitted, not as many as
/// the window lets through (Linux `tcp_xmit_recovery`).
#[test]
fn all_that_the_window_allows_is_retransmitted_where_frto_cannot_send_new_data() {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    // The window has room for ten segments and 88 bytes.
    bare.window = 114;
    bare.send_data(1);
    bare.send_data(1);
    let sent = bare.write(20 * MSS);
    assert_eq!((sent.len(), bytes(&sent)), (10, 10 * MSS));
    let probes = bare.wait_ms(350);
    assert_eq!(bare.position(probes.last().unwrap().1.seq), 0, "the time-out");
    bare.window -= 11;
    let again = bare.ack(MSS);
    let starts: Vec<i64> = again.iter().map(|segment| bare.position(segment.seq)).collect();
    assert_eq!(starts, [i64::from(MSS), 2 * i64::from(MSS)]);
}

/// TLP-2: the probe's SACK uncovers the whole tail.
#[test]
fn tlp_2_tail_of_three_lost_needs_no_time_out() {
    let mut pair = grown(30);
    let begin = pair.now;
    let took = losing(&mut pair, &[8, 9, 10], 10);
    assert_eq!(pair.timer_names(Side::Client)[0], "loss-probe");
    assert!(!pair.timer_names(Side::Client).contains(&"rto"));
    let retransmitted: Vec<i64> =
        pair.retransmissions(Side::Client).iter().map(|sent| sent.offset).collect();
    let base = i64::from(30 * MSS);
    let at = |n: u32| base + i64::from((n - 1) * MSS);
    assert_eq!(retransmitted, [at(10), at(8), at(9)]);
    let probe = pair.timers(Side::Client)[0].0 - begin;
    // 40 ms until the ACK, then 2 srtt + 2 ms.
    assert!(probe >= ms(120) && probe <= ms(128), "{probe}");
    assert!(took < ms(200 + 40), "{took}");
}

/// TLP-3: a loss that the probe itself repaired halves the window all the same.
#[test]
fn tlp_3_repaired_loss_reduces_the_window_with_later_data() {
    let mut pair = grown(60);
    let before = pair.info(Side::Client).cwnd_segs;
    losing(&mut pair, &[10], 10);
    assert_eq!(pair.info(Side::Client).cwnd_segs, before, "nothing known yet");
    pair.write(Side::Client, MSS);
    pair.drive_for(ms(100));
    let after = pair.info(Side::Client);
    assert!(after.cwnd_segs < before, "{} of {before}", after.cwnd_segs);
    assert_eq!(after.ca_state, CaState::Open);
}

#[test]
fn probe_of_a_late_acknowledgement_costs_nothing() {
    let mut pair = grown(60);
    let before = pair.info(Side::Client);
    // The acknowledgements of the next ten are late, so that the probe was needless.
    pair.rule(first(Side::Server, 10, Fate::Late(ms(150)), |_| true));
    pair.write(Side::Client, 10 * MSS);
    // Less than an RTO after the last one, lest the window be halved for idleness.
    pair.drive_for(ms(280));
    pair.write(Side::Client, MSS);
    pair.drive_for(ms(100));
    assert_eq!(pair.timer_names(Side::Client)[0], "loss-probe");
    assert_eq!(pair.info(Side::Client).spurious_retrans, 1, "D-SACK");
    assert!(pair.info(Side::Client).cwnd_segs >= before.cwnd_segs, "RFC 8985 s7.4.2");
}

#[test]
fn probe_sends_new_data_if_there_are_any() {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    assert_eq!(bare.write(12 * MSS).len(), 10, "the window is full");
    let sent = bare.wait_ms(250);
    assert_eq!(bare.position(sent[0].1.seq), i64::from(10 * MSS), "one beyond the window");
}

#[test]
fn prr_keeps_sending_while_the_window_is_reduced() {
    let buffers = Buffers { send_max: 16 << 20, receive_max: 16 << 20, auto_tuning: false };
    let mut pair = Setup::with(TcpConfig { buffers, ..TcpConfig::default() }).established();
    pair.write(Side::Client, 200 * MSS);
    pair.drive_bounded(SECOND);
    pair.drive_for(ms(100));
    pair.log.clear();
    let cwnd = pair.info(Side::Client).cwnd_segs;
    pair.rule(data(Side::Client, &[1], Fate::Drop));
    pair.write(Side::Client, 4 * cwnd * MSS);
    // The SACKs of the first window arrive from 40 ms on; recovery lasts until 80 ms.
    pair.drive_for(ms(79));
    let ssthresh = pair.info(Side::Client).ssthresh_segs.unwrap();
    let sent = pair.data_sent(Side::Client).len() as u32 - cwnd;
    let expected = ssthresh;
    assert!(sent.abs_diff(expected) <= 3, "RFC 9937: {sent} sent, threshold {expected}");
    pair.drive_bounded(SECOND * 5);
    pair.assert_intact();
}

#[test]
fn heavy_loss_is_repaired_by_slow_start_from_the_pipe() {
    let mut pair = grown(60);
    let took = losing(&mut pair, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], 20);
    assert_eq!(pair.retransmissions(Side::Client).len(), 15);
    assert!(!pair.timer_names(Side::Client).contains(&"rto"));
    // PRR-2: 3, then doubling: 3 + 6 + 6.
    assert!(took < ms(260), "{took}");
}

#[test]
fn time_outs_double_up_to_two_minutes_and_fifteen_end_it() {
    let mut pair = grown(30);
    pair.rule(Box::new(|_| Fate::Drop));
    let begin = pair.now;
    pair.write(Side::Client, 5 * MSS);
    pair.drive();
    assert_eq!(pair.end(Side::Client).failure(), Some(SocketError::TimedOut));
    let rtos: Vec<_> =
        pair.timers(Side::Client).into_iter().filter(|(_, name)| *name == "rto").collect();
    assert_eq!(rtos.len(), 16, "fifteen retransmissions, and the end");
    for three in rtos.windows(3) {
        let (gap, next) = (three[1].0 - three[0].0, three[2].0 - three[1].0);
        let expected = (gap * 2).min(SECOND * 120);
        // A slot of the timer wheel is up to an eighth of the time.
        assert!(next.abs_diff(expected) <= expected / 8, "{gap} then {next}");
    }
    let total = pair.now - begin;
    assert!((800..1000).contains(&(total.as_millis() / 1000)), "Linux: about 924 s, not {total}");
}

#[test]
fn time_out_goes_back_to_one_segment_and_doubles() {
    let mut pair = grown(60);
    let until = pair.now + ms(500);
    pair.rule(crate::fate::black_out(Side::Client, pair.now, until));
    pair.write(Side::Client, 30 * MSS);
    pair.drive_for(ms(490));
    let info = pair.info(Side::Client);
    assert_eq!((info.ca_state, info.cwnd_segs), (CaState::Loss, 1));
    pair.drive_bounded(SECOND * 5);
    pair.assert_intact();
    pair.drive_for(ms(300));
    assert_eq!(pair.info(Side::Client).ca_state, CaState::Open);
}

#[test]
fn back_off_ends_with_the_next_valid_sample() {
    let mut pair = grown(30);
    let until = pair.now + SECOND * 3;
    pair.rule(crate::fate::black_out(Side::Client, pair.now, until));
    pair.write(Side::Client, 5 * MSS);
    pair.drive_for(SECOND * 2);
    assert!(pair.info(Side::Client).rto >= ms(900), "{}", pair.info(Side::Client).rto);
    pair.drive_bounded(SECOND * 10);
    pair.write(Side::Client, 5 * MSS);
    pair.drive_bounded(SECOND * 10);
    pair.drive_for(ms(100));
    assert!(pair.info(Side::Client).rto < ms(400), "{}", pair.info(Side::Client).rto);
}

/// RFC 8985 s7: the probe of a tail that had arrived must not reduce the window, although its
/// D-SACK comes when nothing is outstanding any more. Once it was ignored then.
#[test]
fn regression_d_sack_with_nothing_outstanding_clears_the_probe() {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    bare.write(5 * MSS);
    bare.wait_ms(40);
    bare.ack(4 * MSS);
    let probe = bare.wait_ms(245);
    assert_eq!(bare.position(probe[0].1.seq), i64::from(4 * MSS));
    let before = bare.info();
    bare.ack(5 * MSS);
    bare.sack(&[(4 * MSS, 5 * MSS)]);
    assert_eq!(bare.info().spurious_retrans, 1);
    bare.write(MSS);
    bare.wait_ms(40);
    bare.ack(6 * MSS);
    assert!(bare.info().cwnd_segs >= before.cwnd_segs);
    assert_eq!(bare.info().ssthresh_segs, None);
}

#[test]
fn reordering_seen_is_tolerated_afterwards() {
    let mut pair = grown(100);
    // Every tenth segment arrives behind the following ones by less than a quarter round trip.
    let mut count = 0;
    pair.rule(Box::new(move |sight| {
        let is_data = sight.from == Side::Client && sight.payload_len() > 0;
        count += u32::from(is_data);
        if is_data && count % 10 == 5 { Fate::Late(ms(6)) } else { Fate::Pass }
    }));
    let send = |pair: &mut Pair| {
        let before = pair.retransmissions(Side::Client).len();
        pair.write(Side::Client, 40 * MSS);
        pair.drive_bounded(SECOND);
        pair.drive_for(ms(100));
        pair.retransmissions(Side::Client).len() - before
    };
    let counts: Vec<usize> = (0..6).map(|_| send(&mut pair)).collect();
    assert_eq!(counts[1..], [0; 5], "RFC 8985 s6.2.4, {counts:?}");
    pair.assert_intact();
}

#[test]
fn acknowledgements_lost_cost_nothing_while_others_come() {
    let mut pair = grown(100);
    pair.rule(Box::new(|sight| {
        if sight.from == Side::Server && sight.n % 2 == 0 { Fate::Drop } else { Fate::Pass }
    }));
    pair.write(Side::Client, 200 * MSS);
    pair.drive_bounded(SECOND * 2);
    assert!(pair.retransmissions(Side::Client).len() <= 1);
}

#[test]
fn duplicated_packets_cause_no_retransmission_and_no_reduction() {
    let mut pair = grown(100);
    let before = pair.info(Side::Client).cwnd_segs;
    pair.rule(Box::new(|_| Fate::Twice(ms(1))));
    pair.write(Side::Client, 100 * MSS);
    pair.drive_bounded(SECOND);
    pair.drive_for(ms(100));
    assert!(pair.retransmissions(Side::Client).is_empty());
    assert!(pair.info(Side::Client).cwnd_segs >= before);
    pair.assert_intact();
}

#[test]
fn sacked_data_that_the_receiver_forgot_are_sent_again_after_the_time_out() {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    bare.write(10 * MSS);
    bare.wait_ms(40);
    let sent = bare.sack(&[(MSS, 10 * MSS)]);
    assert_eq!(bytes(&sent), MSS, "the head goes again");
    bare.wait_ms(20);
    // The receiver took the head but threw away what it had SACKed (RFC 2018 s8).
    bare.ack(MSS);
    let mut again: Vec<i64> = Vec::new();
    for _ in 0..40 {
        let sent = bare.wait_ms(500);
        let positions = sent.iter().map(|(_, segment)| bare.position(segment.seq));
        again.extend(positions);
        let next = bare.acked + MSS;
        if again.last() == Some(&i64::from(bare.acked)) && bare.acked < 10 * MSS {
            bare.ack(next);
        }
    }
    assert_eq!(bare.info().bytes_acked, u64::from(10 * MSS), "{again:?}");
}

#[test]
fn every_lost_segment_is_recorded_with_its_reason() {
    let mut pair = grown(30);
    pair.tape.mask = EventMask::SEGMENT;
    losing(&mut pair, &[3], 10);
    let lost = pair.tape.events.iter().filter_map(|(_, _, event)| match event {
        Event::SegmentLost { offset, len, reason, .. } => Some((*offset, *len, *reason)),
        _ => None,
    });
    let lost: Vec<_> = lost.collect();
    assert_eq!(lost, [(u64::from(32 * MSS), MSS, base::LossReason::Rack)]);
}
