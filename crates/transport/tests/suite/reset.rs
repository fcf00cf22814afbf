//! Resets and segments that should not be: RFC 9293 s3.10.7, RFC 5961 challenge acknowledgements.

use crate::bare::{Bare, modern};
use crate::pair::{Setup, Side};
use base::Duration;
use transport::{SocketError, SocketEventKind, TcpConfig};
use wire::{Body, Flags, Packet, Payload, SeqNumber, TcpSegment};

const RESET: Option<SocketEventKind> = Some(SocketEventKind::Failed(SocketError::Reset));

fn established() -> Bare {
    Bare::accepted(TcpConfig::default(), modern())
}

/// A state, how to get there, and what an exact RST means there.
type Case = (&'static str, fn() -> Bare, Option<SocketEventKind>);

fn fin_wait_1() -> Bare {
    let mut bare = established();
    bare.shutdown();
    bare
}

fn fin_wait_2() -> Bare {
    let mut bare = fin_wait_1();
    bare.ack(1);
    bare
}

fn peer_fin(mut bare: Bare) -> Bare {
    bare.send(bare.segment(Flags::FIN | Flags::ACK));
    bare.sent += 1;
    bare
}

fn last_ack() -> Bare {
    let mut bare = peer_fin(established());
    bare.shutdown();
    bare
}

const CASES: [Case; 7] = [
    ("ESTABLISHED", established, RESET),
    ("FIN-WAIT-1", fin_wait_1, RESET),
    ("FIN-WAIT-2", fin_wait_2, RESET),
    ("CLOSE-WAIT", || peer_fin(established()), RESET),
    ("CLOSING", || peer_fin(fin_wait_1()), Some(SocketEventKind::Closed)),
    ("LAST-ACK", last_ack, Some(SocketEventKind::Closed)),
    ("TIME-WAIT", || peer_fin(fin_wait_2()), Some(SocketEventKind::Closed)),
];

#[test]
fn exact_reset_ends_the_connection_in_every_state() {
    for (state, reach, outcome) in CASES {
        let mut bare = reach();
        assert_eq!(bare.state(), state);
        let answers = bare.send(bare.segment(Flags::RST));
        assert!(answers.is_empty(), "a reset is never answered");
        assert_eq!((bare.state(), bare.last_event()), ("CLOSED", outcome), "{state}");
        assert!(bare.wait(Duration::from_secs(200)).is_empty(), "{state}: silent afterwards");
    }
}

#[test]
fn reset_needs_no_new_timestamp() {
    let mut bare = established();
    bare.wait_ms(100);
    bare.send_data(100);
    let mut reset = bare.segment(Flags::RST);
    let stamps = reset.options.timestamps.as_mut().unwrap();
    stamps.value = stamps.value.wrapping_sub(1);
    assert!(bare.send(reset).is_empty());
    assert_eq!((bare.state(), bare.last_event()), ("CLOSED", RESET), "RFC 7323 s5.3 R1");
}

#[test]
fn reset_within_the_window_is_challenged_in_every_state() {
    for (state, reach, _) in CASES {
        let mut bare = reach();
        let mut reset = bare.segment(Flags::RST);
        reset.seq += 100;
        let answers = bare.send(reset);
        assert_eq!(answers.len(), 1, "{state}");
        assert_eq!(answers[0].flags, Flags::ACK, "RFC 5961 s3");
        assert_eq!(bare.state(), state);
    }
}

#[test]
fn reset_outside_the_window_is_ignored_in_every_state() {
    for (state, reach, _) in CASES {
        let mut bare = reach();
        for away in [1 << 30, 0u32.wrapping_sub(1 << 20)] {
            let mut reset = bare.segment(Flags::RST);
            reset.seq += away;
            assert!(bare.send(reset).is_empty(), "{state}");
            assert_eq!(bare.state(), state);
        }
    }
}

#[test]
fn reset_in_syn_received_forgets_the_connection() {
    let (mut bare, _) = Bare::syn_received(TcpConfig::default(), modern());
    bare.send(bare.segment(Flags::RST));
    assert!(bare.stack.info(bare.socket).is_none(), "no state is left behind");
    assert!(bare.events.is_empty(), "the application never knew: {:?}", bare.events);
}

#[test]
fn syn_is_challenged_in_every_state() {
    for (state, reach, _) in CASES.iter().filter(|(state, ..)| *state != "TIME-WAIT") {
        for away in [0u32, 100, 0u32.wrapping_sub(100_000), 1 << 30] {
            let mut bare = reach();
            let mut syn = bare.segment(Flags::SYN);
            syn.seq += away;
            let answers = bare.send(syn);
            assert_eq!(answers.len(), 1, "{state} {away}");
            assert_eq!(answers[0].flags, Flags::ACK, "RFC 5961 s4");
            assert_eq!(bare.state(), *state);
        }
    }
}

#[test]
fn acknowledgement_of_what_was_never_sent_is_challenged() {
    let mut bare = established();
    bare.write(1000);
    bare.acked = 2000;
    let answers = bare.send(bare.segment(Flags::ACK));
    assert_eq!((answers.len(), answers[0].flags), (1, Flags::ACK), "RFC 5961 s5");
    assert_eq!(bare.info().bytes_acked, 0);
    bare.ack(1000);
    assert_eq!(bare.info().bytes_acked, 1000);
}

#[test]
fn two_forged_segments_start_no_endless_exchange_of_acknowledgements() {
    for timestamps in [None, Some(0x1000_0000)] {
        let mut pair = Setup::default().established();
        pair.write(Side::Client, 1000);
        pair.write(Side::Server, 1000);
        pair.drive_for(Duration::from_secs(2));
        pair.set_reading(Side::Client, false);
        pair.set_reading(Side::Server, false);
        pair.forgives = true;
        let before = pair.log.len();
        for (from, to) in [(Side::Client, Side::Server), (Side::Server, Side::Client)] {
            let last = pair.log.iter().rev().find(|logged| logged.from == from).unwrap();
            let mut forged = last.segment.clone();
            forged.seq += forged.payload.len();
            forged.payload = Payload::from(vec![0; 100]);
            match (&mut forged.options.timestamps, timestamps) {
                (Some(stamps), Some(ahead)) => stamps.value = stamps.value.wrapping_add(ahead),
                (stamps, _) => *stamps = None,
            }
            let (src, dst) = (pair.address(0, from), pair.address(0, to));
            pair.inject(to, Packet::new(src, dst, Body::Tcp(forged)));
        }
        pair.drive_for(Duration::from_secs(10));
        let sent = pair.log.len() - before;
        assert!((2..=44).contains(&sent), "{sent} in ten seconds, two a second at each end");
    }
}

#[test]
fn old_timestamps_are_answered_twice_a_second_and_old_acknowledgements_never() {
    let mut bare = established();
    bare.write(1000);
    bare.wait_ms(100);
    bare.send_data(1000);
    let mut old = bare.segment(Flags::ACK);
    bare.ack(1000);
    bare.send_data(0);
    let stamps = old.options.timestamps.as_mut().unwrap();
    stamps.value -= 50;
    let mut answers = |after: u64, segment: &TcpSegment| {
        bare.wait_ms(after);
        bare.send(segment.clone()).len()
    };
    let within_500_ms = [answers(0, &old), answers(1, &old), answers(498, &old)];
    assert_eq!(within_500_ms, [1, 0, 0], "Linux tcp_invalid_ratelimit");
    assert_eq!([answers(1, &old), answers(1, &old)], [1, 0]);
    old.seq = old.seq - 500;
    assert_eq!(answers(1000, &old), 0, "before what was received");
    old.payload = Payload::from(vec![0; 500]);
    assert_eq!([answers(1, &old), answers(1, &old)], [1, 1], "data");
}

/// Linux `tcp_disordered_ack_check`: not older than the time-out.
#[test]
fn duplicate_acknowledgement_that_was_overtaken_still_reports_what_came() {
    let segments = |from: u32, to: u32| [(from * 1448, to * 1448)];
    for (age, counts) in [(2, true), (100, true), (2000, false)] {
        let mut bare = established();
        bare.write(10 * 1448);
        bare.wait_ms(40);
        let mut late = bare.sacking(&segments(1, 5));
        let stamps = late.options.timestamps.as_mut().unwrap();
        stamps.value -= age;
        assert!(bare.sack(&segments(5, 6)).iter().all(|sent| sent.payload.is_empty()));
        assert_eq!(bare.send(late).is_empty(), counts, "{age} ms old: an answer");
        bare.wait_ms(30);
        // The first one came again: the next four are missing unless they were reported.
        let mut sent = bare.ack(1448);
        sent.extend(bare.wait_ms(60).into_iter().map(|(_, sent)| sent));
        let is_repeat = |sent: &TcpSegment| bare.position(sent.seq) < 5 * 1448;
        assert_eq!(sent.iter().any(is_repeat), !counts, "{age} ms old: {sent:?}");
    }
}

#[test]
fn timestamp_of_the_tick_before_is_not_old() {
    for (ticks, received) in [(1, 2000), (2, 1000)] {
        let mut bare = established();
        bare.wait_ms(100);
        bare.send_data(1000);
        let mut data = bare.data_at(1000, 1000);
        let stamps = data.options.timestamps.as_mut().unwrap();
        stamps.value -= ticks;
        bare.send(data);
        assert_eq!(bare.read(4000).0, received, "{ticks} ticks");
    }
}

#[test]
fn segment_without_ack_is_dropped() {
    let mut bare = established();
    let mut data = bare.data_at(0, 100);
    data.flags = Flags::NONE;
    assert!(bare.send(data).is_empty());
    assert_eq!(bare.stack.readable(bare.socket), 0);
}

#[test]
fn segment_beyond_the_window_is_answered_and_not_kept() {
    let mut bare = established();
    let answers = bare.send(bare.data_at(10 << 20, 100));
    assert_eq!((answers.len(), bare.acks(&answers[0])), (1, 0));
    assert!(answers[0].options.sack.is_empty());
}

#[test]
fn abort_resets_the_peer() {
    let mut pair = Setup::default().established();
    pair.write(Side::Client, 1000);
    pair.with(Side::Client, |end, cx| {
        let socket = end.socket.unwrap();
        end.stack.abort(cx, socket).unwrap();
    });
    pair.drive();
    assert_eq!(pair.end(Side::Server).failure(), Some(SocketError::Reset));
    let reset = pair.log.iter().find(|sent| sent.has(Flags::RST)).unwrap();
    assert_eq!((reset.segment.flags, reset.offset), (Flags::RST | Flags::ACK, 1000));
    assert_eq!(pair.state(Side::Client), "CLOSED");
}

#[test]
fn abort_while_connecting_says_nothing() {
    let (mut bare, _) = Bare::syn_sent(TcpConfig::default());
    assert!(bare.abort().is_empty());
    assert!(bare.wait(Duration::from_secs(200)).is_empty());
}

#[test]
fn segment_to_a_connection_that_is_gone_is_reset() {
    let mut bare = established();
    bare.abort();
    let answers = bare.send(bare.data_at(0, 10));
    assert_eq!((answers.len(), answers[0].flags), (1, Flags::RST));
    assert_eq!(answers[0].seq, bare.their_iss + 1, "the acknowledgement number of what came");
}

#[test]
fn stranger_without_ack_is_reset_with_an_acknowledgement() {
    let mut bare = Bare::listening(TcpConfig::default());
    let mut stray = bare.segment(Flags::FIN);
    stray.dst_port = 9;
    let answers = bare.send(stray.clone());
    assert_eq!(answers[0].flags, Flags::RST | Flags::ACK);
    assert_eq!((answers[0].seq, answers[0].ack), (SeqNumber(0), stray.seq + 1));
    stray.flags = Flags::RST;
    assert!(bare.send(stray).is_empty(), "a reset is never answered");
}

#[test]
fn listener_answers_an_acknowledgement_with_a_reset() {
    let mut bare = Bare::listening(TcpConfig::default());
    let answers = bare.send(bare.segment(Flags::ACK));
    assert_eq!((answers.len(), answers[0].flags), (1, Flags::RST));
}

#[test]
fn damaged_segment_is_as_good_as_lost() {
    let mut bare = established();
    let mut packet =
        Packet::new(crate::bare::PEER, crate::bare::HERE, Body::Tcp(bare.data_at(0, 100)));
    packet.corrupted = true;
    bare.send_packet(packet);
    assert!(bare.drain().is_empty());
    assert_eq!(bare.stack.readable(bare.socket), 0);
}
