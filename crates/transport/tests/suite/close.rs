//! Closing connections: orderly, half, simultaneous, TIME-WAIT (RFC 9293 s3.6).

use crate::bare::{Bare, ISS, bytes, modern};
use crate::fate::{Fate, first};
use crate::pair::{Setup, Side};
use base::{Context, Duration};
use transport::{SocketError, SocketEventKind, TcpConfig};
use wire::Flags;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn orderly_close_goes_through_time_wait_for_a_minute() {
    let mut pair = Setup::default().established();
    let begin = pair.now;
    pair.shutdown(Side::Client);
    pair.drive_for(Duration::from_millis(50));
    assert_eq!(pair.state(Side::Client), "FIN-WAIT-2");
    assert_eq!(pair.state(Side::Server), "CLOSE-WAIT");
    assert!(pair.end(Side::Server).ended && !pair.end(Side::Client).ended);
    pair.shutdown(Side::Server);
    assert_eq!(pair.state(Side::Server), "LAST-ACK");
    pair.drive_for(Duration::from_millis(50));
    assert_eq!((pair.state(Side::Client), pair.state(Side::Server)), ("TIME-WAIT", "CLOSED"));
    pair.drive();
    assert_eq!(pair.state(Side::Client), "CLOSED");
    let closed = pair.end(Side::Client).heard(SocketEventKind::Closed).unwrap() - begin;
    assert!((60_050..60_150).contains(&closed.as_millis()), "{closed}");
    assert!(pair.end(Side::Server).heard(SocketEventKind::Closed).is_some());
    assert_eq!(pair.log.iter().filter(|sent| sent.has(Flags::FIN)).count(), 2);
}

#[test]
fn half_close_lets_the_other_direction_flow_on() {
    let mut pair = Setup::default().established();
    pair.write(Side::Client, 1000);
    pair.shutdown(Side::Client);
    pair.drive_for(Duration::from_millis(100));
    assert_eq!(pair.state(Side::Server), "CLOSE-WAIT");
    pair.write(Side::Server, 300_000);
    pair.shutdown(Side::Server);
    pair.drive_bounded(SECOND * 5);
    pair.assert_intact();
    assert_eq!(pair.end(Side::Client).received, 300_000);
}

#[test]
fn simultaneous_close_meets_in_closing() {
    let mut pair = Setup::default().established();
    pair.shutdown(Side::Client);
    pair.shutdown(Side::Server);
    pair.drive_for(Duration::from_millis(21));
    assert_eq!((pair.state(Side::Client), pair.state(Side::Server)), ("CLOSING", "CLOSING"));
    pair.drive_for(Duration::from_millis(30));
    assert_eq!((pair.state(Side::Client), pair.state(Side::Server)), ("TIME-WAIT", "TIME-WAIT"));
    pair.drive();
    for side in Side::BOTH {
        assert!(pair.end(side).heard(SocketEventKind::Closed).is_some());
        assert_eq!(pair.end(side).failure(), None);
    }
}

#[test]
fn fin_goes_with_the_last_data() {
    let mut pair = Setup::default().syn_sent();
    pair.with(Side::Client, |end, _| {
        end.queue(vec![7; 2000].into());
        end.queue_shutdown();
    });
    pair.drive_for(SECOND);
    let fins: Vec<u32> =
        pair.log.iter().filter(|sent| sent.has(Flags::FIN)).map(|sent| sent.len()).collect();
    // The application is notified of the connection, writes and closes at once, before anything is
    // sent.
    assert_eq!(fins, [552]);
}

#[test]
fn fin_alone_is_repeated_until_acknowledged() {
    let mut pair = Setup::default().established();
    pair.rule(first(Side::Client, 3, Fate::Drop, |sight| sight.has(Flags::FIN)));
    pair.shutdown(Side::Client);
    pair.run_until("FIN", SECOND * 10, |pair| pair.end(Side::Server).ended);
    assert_eq!(pair.log.iter().filter(|sent| sent.has(Flags::FIN)).count(), 4);
}

#[test]
fn write_after_shutdown_is_refused() {
    let mut pair = Setup::default().established();
    pair.shutdown(Side::Client);
    pair.with(Side::Client, |end, cx| {
        let socket = end.socket.unwrap();
        let result = end.stack.write(cx, socket, &vec![1].into());
        assert_eq!(result, Err(SocketError::Closed));
    });
}

#[test]
fn data_after_the_peers_fin_are_acknowledged_but_not_taken() {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    bare.send(bare.segment(Flags::FIN | Flags::ACK));
    bare.sent += 1;
    assert_eq!(bare.state(), "CLOSE-WAIT");
    let answers = bare.send(bare.data_at(1, 100));
    assert!(answers.iter().all(|answer| bare.acks(answer) == 1), "{answers:?}");
    assert_eq!(bare.stack.readable(bare.socket), 0);
}

#[test]
fn close_wait_may_send_until_it_closes() {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    bare.send(bare.segment(Flags::FIN | Flags::ACK));
    bare.sent += 1;
    assert_eq!(bytes(&bare.write(3000)), 3000);
    let fin = bare.shutdown();
    assert!(fin[0].flags.contains(Flags::FIN));
    assert_eq!(bare.state(), "LAST-ACK");
    bare.ack(3001);
    assert_eq!(bare.state(), "CLOSED");
    assert_eq!(bare.last_event(), Some(SocketEventKind::Closed));
}

/// The stack closed first and is in TIME-WAIT; the peer's next position is 1.
fn time_wait() -> Bare {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    bare.shutdown();
    bare.acked = 1;
    let answers = bare.send(bare.segment(Flags::FIN | Flags::ACK));
    bare.sent = 1;
    assert_eq!(bare.acks(&answers[0]), 1);
    assert_eq!(bare.state(), "TIME-WAIT");
    bare
}

#[test]
fn time_wait_answers_a_repeated_fin_and_begins_anew() {
    let mut bare = time_wait();
    bare.wait(Duration::from_secs(50));
    bare.sent = 0;
    let answers = bare.send(bare.segment(Flags::FIN | Flags::ACK));
    assert_eq!(answers.len(), 1);
    assert_eq!(bare.acks(&answers[0]), 1);
    bare.wait(Duration::from_secs(59));
    assert_eq!(bare.state(), "TIME-WAIT", "RFC 9293 s3.10.7.4: restart the 2 MSL time-out");
    bare.wait(Duration::from_secs(2));
    assert_eq!(bare.state(), "CLOSED");
}

#[test]
fn time_wait_is_reopened_by_a_newer_syn() {
    let mut bare = time_wait();
    bare.wait(SECOND);
    let mut syn = bare.segment(Flags::SYN);
    syn.seq = ISS + 100_000;
    let answers = bare.send(syn);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].flags, Flags::SYN | Flags::ACK);
    assert_eq!(answers[0].ack, ISS + 100_001);
}

#[test]
fn time_wait_is_not_reopened_by_an_old_syn() {
    let mut bare = time_wait();
    bare.wait(SECOND);
    let mut syn = bare.segment(Flags::SYN);
    syn.seq = ISS - 5;
    let stamps = syn.options.timestamps.as_mut().unwrap();
    stamps.value = stamps.value.wrapping_sub(10_000);
    let answers = bare.send(syn);
    assert!(answers.iter().all(|answer| answer.flags == Flags::ACK), "{answers:?}");
    assert_eq!(bare.state(), "TIME-WAIT");
}

#[test]
fn fin_wait_2_ends_by_itself_after_a_minute() {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    bare.shutdown();
    bare.ack(1);
    assert_eq!(bare.state(), "FIN-WAIT-2");
    bare.release();
    bare.wait(Duration::from_secs(61));
    assert_eq!(bare.state(), "-");
}

#[test]
fn fin_wait_2_of_a_reader_lasts_as_long_as_data_come() {
    let mut bare = Bare::accepted(TcpConfig::default(), modern());
    bare.shutdown();
    bare.ack(1);
    for _ in 0..5 {
        bare.wait(Duration::from_secs(30));
        assert_eq!(bare.state(), "FIN-WAIT-2", "a half close may last");
        bare.send_data(100);
        bare.read(1000);
    }
}

#[test]
fn released_socket_goes_once_tcp_is_done_with_it() {
    let mut pair = Setup::default().established();
    let sockets = Side::BOTH.map(|side| pair.end(side).socket.unwrap());
    for side in Side::BOTH {
        pair.shutdown(side);
        pair.with(side, |end, cx| end.stack.release(cx, sockets[side.index()]));
    }
    pair.drive();
    for side in Side::BOTH {
        assert!(pair.end(side).stack.info(sockets[side.index()]).is_none());
    }
}

impl Bare {
    fn release(&mut self) {
        let mut cx = Context::quiet(self.now, base::Chance::new(1, 0));
        self.stack.release(&mut cx, self.socket);
    }
}
