//! Both halves over a network of two queues that loses, repeats and reorders datagrams.

use super::*;
use crate::model::Traffic;
use crate::model::udp::Udp;
use base::Rate;
use std::collections::BTreeMap;

const SOCKET: SocketId = SocketId(0);
const DELAY: Duration = Duration::from_millis(50);

/// A host; what it sends is collected.
struct Host {
    now: Instant,
    sent: Vec<Payload>,
    inbox: Vec<Payload>,
}

impl StreamHost for Host {
    fn now(&self) -> Instant {
        self.now
    }
    fn connect(&mut self) -> Result<SocketId, StreamFailure> {
        Ok(SOCKET)
    }
    fn write(&mut self, _socket: SocketId, _payload: &Payload) -> u32 {
        panic!("there is no stream")
    }
    fn read(&mut self, _socket: SocketId, _max: u32) -> Payload {
        panic!("there is no stream")
    }
    fn send_message(&mut self, _socket: SocketId, payload: &Payload, _info: MessageInfo) -> bool {
        self.sent.push(payload.clone());
        true
    }
    fn receive_message(&mut self, _socket: SocketId) -> Option<(u16, Payload)> {
        self.inbox.pop().map(|payload| (0, payload))
    }
    fn shutdown(&mut self, _socket: SocketId) {}
    fn close(&mut self, _socket: SocketId) {}
}

/// Messages at 100 a second.
fn udp(seconds: u64) -> Udp {
    Udp { rate: Rate::from_bps(80_000), time: Duration::from_secs(seconds), bytes: 100 }
}

/// Runs both halves until the receiver is done; `fate` has the extra delays of the n-th datagram's
/// copies. The result, the time, and the number of datagrams.
fn run(
    traffic: &Traffic,
    reverse: bool,
    fate: impl Fn(usize) -> Vec<Duration>,
) -> (Outcome, Instant, usize) {
    let half = |role| match crate::Half::over_datagrams(traffic, role, reverse, 3) {
        crate::Half::Datagrams(half) => *half,
        _ => panic!("has messages"),
    };
    let mut halves = [half(Role::Client), half(Role::Server)];
    let mut on_way: BTreeMap<(Instant, usize), (usize, Payload)> = BTreeMap::new();
    let (mut now, mut count, mut copies) = (Instant::ZERO, 0, 0);
    let mut begun = false;
    while !halves.iter().any(Datagrams::is_done) {
        let arrivals = on_way.keys().next().map(|(at, _)| *at);
        let due = halves.iter().filter_map(Datagrams::poll_deadline).chain(arrivals).min();
        if begun {
            now = due.expect("somebody waits for something").max(now);
        }
        assert!(now < Instant::from_millis(600_000), "no end");
        for (at, half) in halves.iter_mut().enumerate() {
            let mut host = Host { now, sent: Vec::new(), inbox: Vec::new() };
            if at == 0 && !begun {
                half.on_start(&mut host);
                half.on_connected(&mut host, SOCKET);
            }
            let due =
                |(key, (to, _)): &(&(Instant, usize), &(usize, Payload))| key.0 <= now && *to == at;
            let due: Vec<(Instant, usize)> =
                on_way.iter().filter(due).map(|(key, _)| *key).collect();
            for (_, payload) in due.iter().filter_map(|key| on_way.remove(key)) {
                host.inbox.push(payload);
                half.on_readable(&mut host, SOCKET);
            }
            if half.poll_deadline().is_some_and(|deadline| deadline <= now) {
                half.on_timeout(&mut host);
            }
            for payload in host.sent {
                for extra in fate(count) {
                    on_way.insert((now + DELAY + extra, copies), (1 - at, payload.clone()));
                    copies += 1;
                }
                count += 1;
            }
        }
        begun = true;
    }
    (outcome(&halves[0], &halves[1]), now, count)
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    outcome.extra.iter().find(|(known, _)| *known == name).expect("a number").1
}

fn whole(_: usize) -> Vec<Duration> {
    vec![Duration::ZERO]
}

#[test]
fn every_datagram_arrives_after_the_delay_of_the_network() {
    for reverse in [false, true] {
        let (outcome, end, _) = run(&Traffic::Udp(udp(2)), reverse, whole);
        assert_eq!(outcome.message_delays.len(), 200);
        assert!((outcome.value.expect("complete") - 0.05).abs() < 1e-6);
        assert_eq!((number(&outcome, "lost"), outcome.bytes_read), (0.0, 20_000));
        // A download begins when hello has arrived; the last message is due 10 ms before the end.
        let begin = if reverse { 0 } else { 50 };
        assert_eq!((end - Instant::ZERO).as_micros() / 1000, begin + 1990 + 50);
    }
}

#[test]
fn lost_datagrams_are_counted_and_those_behind_them_do_not_wait() {
    // Number 0 is hello.
    let fate = |n: usize| if n % 10 == 5 { vec![] } else { vec![Duration::ZERO] };
    let (outcome, ..) = run(&Traffic::Udp(udp(2)), false, fate);
    assert_eq!((outcome.message_delays.len(), outcome.parts.len()), (180, 200));
    assert!((number(&outcome, "lost") - 0.1).abs() < 1e-12);
    assert!((number(&outcome, "over_150ms") - 0.1).abs() < 1e-12);
    assert!((outcome.value.expect("complete") - 0.05).abs() < 1e-6);
    let lost: Vec<usize> = (0..200).filter(|index| outcome.parts[*index].delay.is_none()).collect();
    assert_eq!(lost[..3], [4, 14, 24]);
}

#[test]
fn repeated_and_overtaken_datagrams_count_once() {
    let fate = |n: usize| {
        let late = Duration::from_millis(if n.is_multiple_of(7) { 35 } else { 0 });
        if n.is_multiple_of(3) { vec![late, late + DELAY] } else { vec![late] }
    };
    let (outcome, ..) = run(&Traffic::Udp(udp(2)), true, fate);
    assert_eq!((outcome.message_delays.len(), outcome.bytes_read), (200, 20_000));
    assert_eq!(number(&outcome, "lost"), 0.0);
    assert!(number(&outcome, "interarrival_jitter") > 0.001);
}

#[test]
fn hello_and_end_are_repeated_until_they_are_answered() {
    // Hello is lost twice, and from the last message on nothing arrives for three datagrams.
    let fate = |n: usize| match n {
        0 | 1 | 202..=205 => vec![],
        _ => vec![Duration::ZERO],
    };
    let (outcome, end, count) = run(&Traffic::Udp(udp(2)), false, fate);
    assert!(outcome.is_complete());
    assert_eq!(number(&outcome, "lost"), 1.0 / 200.0);
    // 2 s for hello, 50 ms to the server, 1.99 s, the fourth END and a second of lingering.
    assert_eq!((end - Instant::ZERO).as_millis(), 2050 + 1990 + 3000 + 50 + 1000);
    assert_eq!(count, 3 + 200 + 4 + 1);
}

#[test]
fn frames_of_video_are_late_if_they_are_lost() {
    let fate = |n: usize| if n % 10 == 5 { vec![] } else { vec![Duration::ZERO] };
    let (outcome, ..) = run(&Traffic::video(Duration::from_secs(4)), false, fate);
    assert_eq!(outcome.parts.len(), 120);
    assert!((number(&outcome, "over_150ms") - 0.1).abs() < 1e-12);
    assert_eq!(number(&outcome, "freezes"), 12.0);
}

#[test]
fn what_is_no_datagram_of_ours_is_ignored() {
    let crate::Model::OneWay(model) = Traffic::Udp(udp(2)).model() else { panic!("one way") };
    let mut half = Datagrams::new(model, Role::Client, false, 0);
    let mut host = Host { now: Instant::ZERO, sent: Vec::new(), inbox: Vec::new() };
    half.on_connected(&mut host, SOCKET);
    let beyond = Kind::Message.datagram(200);
    let foreign: [Payload; 4] =
        [Payload::EMPTY, vec![1; 7].into(), vec![9; 8].into(), vec![0xFF; 100].into()];
    for datagram in foreign.into_iter().chain([beyond]) {
        half.take_in(&mut host, &datagram);
    }
    assert_eq!(half.report().bytes_read, 0);
    assert!(half.report().mismatch.is_none());
    // A message with other bytes is a defect of the engine.
    let mut wrong = Kind::Message.datagram(1);
    wrong.append(Payload::virtual_range(77, 0, 92));
    half.take_in(&mut host, &wrong);
    assert!(half.report().mismatch.is_some());
}

/// Every message of both directions arrives at its time, whichever end's is the last.
#[test]
fn paced_messages_of_both_directions_are_datagrams() {
    use crate::model::conversation::{Conversation, Timing, Turn};
    let turn = |from, millis: u64, bytes| {
        let start = Duration::from_millis(millis);
        Turn { from, start, end: start, bytes }
    };
    for last in [Role::Client, Role::Server] {
        let turns = [
            turn(Role::Client, 0, 60),
            turn(Role::Server, 20, 1500),
            turn(Role::Client, 35, 80),
            turn(last, 3_000, 500),
        ];
        let talk = Conversation::new("game:x".into(), Timing::Paced, &turns);
        let traffic = Traffic::Conversation(std::sync::Arc::new(talk));
        assert!(traffic.fits_datagrams());
        let (outcome, ..) = run(&traffic, false, whole);
        assert_eq!((outcome.message_delays.len(), outcome.bytes_read), (4, 2_140));
        assert!((outcome.value.expect("complete") - 0.05).abs() < 1e-6, "{outcome:?}");
        // The first datagram is the client's first message or its hello: lose both.
        let lossy = |n: usize| if n < 2 { Vec::new() } else { vec![Duration::ZERO] };
        let (outcome, ..) = run(&traffic, false, lossy);
        assert_eq!(number(&outcome, "lost"), 0.25, "{outcome:?}");
        assert!(outcome.value.is_some());
    }
}

#[test]
fn conversations_that_wait_for_answers_go_over_no_datagrams() {
    use crate::model::conversation::{Conversation, Timing, Turn};
    let turn =
        |bytes| Turn { from: Role::Client, start: Duration::ZERO, end: Duration::ZERO, bytes };
    let of = |timing, bytes| {
        let talk = Conversation::new("table:x".into(), timing, &[turn(bytes)]);
        Traffic::Conversation(std::sync::Arc::new(talk)).fits_datagrams()
    };
    assert!(of(Timing::Paced, 65_507) && !of(Timing::Paced, 65_508) && !of(Timing::Answered, 9));
}
