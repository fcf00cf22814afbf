//! Flow control: closed windows, probes, silly windows on both sides (RFC 9293 s3.8.6).

use crate::bare::{Bare, bytes, modern};
use crate::fate::{Fate, first};
use crate::pair::{Pair, Setup, Side};
use base::{Duration, Instant};
use transport::{Buffers, Profile, SocketError, SocketEventKind, TcpConfig};

const SECOND: Duration = Duration::from_secs(1);

fn small_buffers() -> TcpConfig {
    let buffers = Buffers { send_max: 1 << 20, receive_max: 64 << 10, auto_tuning: false };
    TcpConfig { buffers, ..TcpConfig::default() }
}

/// The server does not read; the client has filled its window.
fn closed_window() -> Pair {
    let mut pair = Setup::with(small_buffers()).established();
    pair.set_reading(Side::Server, false);
    pair.write(Side::Client, 300_000);
    pair.drive_for(SECOND);
    assert_eq!(pair.info(Side::Client).snd_wnd, 0);
    pair
}

#[test]
fn closed_window_stops_the_sender_and_reopens() {
    let mut pair = closed_window();
    let held = pair.info(Side::Client).bytes_acked;
    assert!(held > 10_000 && held < 64 << 10, "{held} bytes fill 64 KiB of memory");
    pair.set_reading(Side::Server, true);
    pair.drive_bounded(SECOND);
    pair.assert_intact();
}

#[test]
fn closed_window_is_probed_with_growing_distance() {
    let mut pair = closed_window();
    pair.log.clear();
    pair.drive_for(Duration::from_secs(100));
    let probes: Vec<Instant> =
        pair.log.iter().filter(|sent| sent.from == Side::Client).map(|sent| sent.at).collect();
    assert!((5..12).contains(&probes.len()), "{probes:?}");
    for gaps in probes.windows(3) {
        let (first, second) = (gaps[1] - gaps[0], gaps[2] - gaps[1]);
        let ratio = second.as_secs_f64() / first.as_secs_f64();
        assert!((1.9..2.1).contains(&ratio), "{first} then {second}");
    }
    assert!(pair.timer_names(Side::Client).contains(&"persist"));
    assert!(pair.retransmissions(Side::Client).is_empty());
}

#[test]
fn window_update_lost_is_replaced_by_the_answer_to_a_probe() {
    let mut pair = closed_window();
    pair.rule(first(Side::Server, 1, Fate::Drop, |_| true));
    pair.set_reading(Side::Server, true);
    pair.drive_bounded(Duration::from_secs(20));
    pair.assert_intact();
}

#[test]
fn closed_window_that_answers_is_never_given_up() {
    let mut pair = closed_window();
    pair.drive_for(Duration::from_secs(3 * 3600));
    assert_eq!(pair.end(Side::Client).failure(), None);
    pair.set_reading(Side::Server, true);
    pair.drive_bounded(Duration::from_secs(130));
}

#[test]
fn closed_window_that_never_answers_is_given_up_after_fifteen_probes() {
    let mut pair = closed_window();
    // The answers to the first probes are less than 500 ms apart, so one is left out.
    pair.drive_for(Duration::from_secs(10));
    pair.log.clear();
    pair.rule(Box::new(|_| Fate::Drop));
    pair.drive_for(Duration::from_secs(2 * 3600));
    assert_eq!(pair.end(Side::Client).failure(), Some(SocketError::TimedOut));
    assert_eq!(pair.log.iter().filter(|sent| sent.from == Side::Client).count(), 15);
}

#[test]
fn reader_that_takes_little_does_not_open_a_silly_window() {
    let mut pair = closed_window();
    let mut opened = Vec::new();
    for _ in 0..64 {
        pair.log.clear();
        pair.with(Side::Server, |end, cx| end.read_some(cx, 500));
        pair.drive_for(Duration::from_millis(1));
        opened.extend(pair.log.iter().map(|sent| {
            let shift = 7;
            u32::from(sent.segment.window) << shift
        }));
    }
    assert!(!opened.is_empty(), "32,000 bytes were read");
    assert!(opened.iter().all(|window| *window >= 1448), "{opened:?}");
}

#[test]
fn sender_waits_for_a_full_segment_and_the_persist_timer_ends_the_wait() {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    bare.send_data(1);
    bare.window = 1500 >> 7;
    bare.send_data(1);
    assert_eq!(bare.info().snd_wnd, 1408);
    assert!(bare.write(10_000).is_empty(), "RFC 9293 s3.8.6.2.1: not a whole segment fits");
    let begin = bare.now;
    let sent = bare.wait(SECOND);
    let payload: Vec<u32> = sent.iter().map(|(_, segment)| segment.payload.len()).collect();
    assert_eq!(payload[0], 1408, "what fits, once the timer fired");
    let waited = sent[0].0 - begin;
    assert!((236..=244).contains(&waited.as_millis()), "one RTO: {waited}");
}

#[test]
fn last_piece_that_fits_goes_at_once() {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    bare.window = 2;
    bare.ack(0);
    assert_eq!(bytes(&bare.write(200)), 200);
}

/// Regression: what was left of the window behind full segments was not used (Linux
/// `tcp_mss_split_point`, since 3.14). A window of 126,552 bytes had 600 of them unused.
#[test]
fn burst_ends_with_the_window() {
    let sent = |config: TcpConfig| {
        let mut bare = Bare::accepted(config, modern());
        bare.send_data(1);
        bare.window = 40;
        bare.send_data(1);
        let sent = bare.write(20_000);
        sent.iter().map(|segment| segment.payload.len()).collect::<Vec<_>>()
    };
    let of = |profile| sent(TcpConfig { profile, ..TcpConfig::default() });
    assert_eq!(of(Profile::Linux), [1448, 1448, 1448, 776], "40 x 128 bytes");
    assert_eq!(of(Profile::Linux314), [1448, 1448, 1448, 776]);
    assert_eq!(of(Profile::Linux311), [1448, 1448, 1448]);
    let waiting = TcpConfig { nagle: true, ..TcpConfig::default() };
    assert_eq!(sent(waiting), [1448, 1448, 1448], "others are outstanding");
}

#[test]
fn data_beyond_a_closed_window_are_refused() {
    let mut bare = Bare::accepted(small_buffers(), modern());
    let mut edge = 0;
    for _ in 0..100 {
        let answers = bare.send(bare.data_at(bare.sent, 1448));
        let later = bare.wait_ms(50).into_iter().map(|(_, segment)| segment);
        let answer = answers.into_iter().chain(later).last().unwrap();
        bare.sent = bare.acks(&answer) as u32;
        // The window scale for half of 64 KiB is zero.
        edge = edge.max(bare.sent + u32::from(answer.window));
        assert!(bare.sent <= edge);
    }
    assert_eq!(bare.sent, edge, "the window is full to the last byte");
    let held = bare.stack.readable(bare.socket);
    assert_eq!(held, u64::from(edge));
    let answers = bare.send(bare.data_at(bare.sent, 1448));
    assert_eq!((answers.len(), bare.acks(&answers[0])), (1, i64::from(edge)));
    assert_eq!(bare.stack.readable(bare.socket), held);
}

#[test]
fn window_update_of_an_older_segment_is_ignored() {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    bare.send_data(100);
    bare.window = 50;
    bare.ack(0);
    let current = bare.info().snd_wnd;
    let mut old = bare.segment(wire::Flags::ACK);
    old.seq = crate::bare::ISS + 1;
    old.window = 9000;
    bare.send(old);
    assert_eq!(bare.info().snd_wnd, current, "RFC 9293 s3.10.7.4: SND.WL1");
}

#[test]
fn shrinking_window_with_data_in_flight_does_no_harm() {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    assert_eq!(bytes(&bare.write(20_000)), 14_480);
    bare.window = 0;
    bare.ack(1448);
    assert!(bare.drain().is_empty());
    bare.wait_ms(10);
    bare.ack(14_480);
    assert!(bare.wait(SECOND).iter().all(|(_, segment)| segment.payload.is_empty()));
    bare.window = 65_535;
    assert_eq!(bytes(&bare.ack(14_480)), 20_000 - 14_480);
    assert_ne!(bare.last_event(), Some(SocketEventKind::Failed(SocketError::TimedOut)));
}
