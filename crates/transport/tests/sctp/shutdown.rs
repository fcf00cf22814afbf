//! The end of an association as the wire shows it: SHUTDOWN, T2 and T5, ABORT (RFC 9260 s9).

use crate::pair::{Client, Fate, Pair, Passing, Server, Side, address, config, message};
use base::Duration;
use transport::{SocketError, SocketEventKind};
use wire::sctp::{Cause, Chunk, Data, DataFlags, Tsn};

fn is_shutdown(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::Shutdown { .. })
}

fn is_ack(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::ShutdownAck)
}

fn is_complete(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::ShutdownComplete { .. })
}

fn is_abort(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::Abort { .. })
}

fn is_over(pair: &Pair) -> bool {
    pair.hosts.iter().all(|host| host.has(SocketEventKind::Closed))
}

/// Milliseconds since `since` at which `side` has sent packets that `is` accepts.
fn times(pair: &Pair, side: Side, is: fn(&Chunk) -> bool, since: base::Instant) -> Vec<u64> {
    let sent = pair.sent(side).filter(|passing| passing.has(is));
    sent.map(|passing| (passing.at - since).as_millis()).collect()
}

/// Loses the first `losses` packets that `is` accepts.
fn lose(pair: &mut Pair, is: fn(&Chunk) -> bool, losses: u32) {
    let mut lost = 0;
    pair.rule = Some(Box::new(move |passing: &Passing| {
        let is_lost = passing.has(is) && lost < losses;
        lost += u32::from(is_lost);
        if is_lost { Fate::Drop } else { Fate::Pass }
    }));
}

/// DATA of the client behind all that it has sent.
fn next_data(pair: &Pair) -> Chunk {
    let sent = pair.chunks(Client).filter_map(|(_, chunk)| match chunk {
        Chunk::Data(data) => Some(data.clone()),
        _ => None,
    });
    let last = sent.last().expect("DATA");
    Chunk::Data(Data { tsn: last.tsn + 1, ssn: last.ssn + 1, ..last })
}

#[test]
fn graceful_shutdown_waits_for_ten_outstanding_chunks() {
    let mut pair = Pair::open(1);
    for _ in 0..4 {
        pair.send(Client, message(0, 14_520));
        pair.pass(Duration::from_secs(1));
    }
    // The third of ten is lost.
    let mut count = 0;
    pair.rule = Some(Box::new(move |passing: &Passing| {
        count += u32::from(passing.has_data());
        if passing.has_data() && count == 3 { Fate::Drop } else { Fate::Pass }
    }));
    for _ in 0..10 {
        pair.send(Client, message(0, 1452));
    }
    let start = pair.now;
    pair.shutdown(Client);
    let socket = pair.socket(Client);
    let refused = pair.stack(Client).send_message(socket, message(0, 1));
    assert_eq!(refused, Err(SocketError::Closed), "the user has nothing more to send");
    assert!(!pair.sent(Client).any(|passing| passing.has(is_shutdown)), "ten are outstanding");
    pair.run_until("end", Duration::from_secs(5), is_over);
    assert_eq!(pair.host(Server).lens()[4..], [1452; 10]);
    let sent = times(&pair, Client, is_shutdown, start);
    assert!(sent.len() == 1 && sent[0] >= 40, "after the retransmission: {sent:?}");
    // RFC 9260 s9.2: the last chunks ask for an immediate SACK.
    let data = pair.chunks(Client).filter_map(|(_, chunk)| match chunk {
        Chunk::Data(data) => Some(data.flags.contains(DataFlags::IMMEDIATE)),
        _ => None,
    });
    assert_eq!(data.last(), Some(true));
}

#[test]
fn peer_that_has_data_sends_them_before_its_shutdown_ack() {
    let mut pair = Pair::open(1);
    pair.send(Server, message(0, 20_000));
    pair.shutdown(Client);
    pair.pass(Duration::from_millis(15));
    assert!(pair.host(Server).has(SocketEventKind::PeerClosed));
    let socket = pair.socket(Server);
    let refused = pair.stack(Server).send_message(socket, message(0, 1));
    assert_eq!(refused, Err(SocketError::Closed), "SHUTDOWN-RECEIVED takes no new data");
    pair.run_until("end", Duration::from_secs(2), is_over);
    assert_eq!(pair.host(Client).lens(), [20_000]);
}

/// Regression: the peer's second address was not verified when SHUTDOWN ACK ended the heartbeats.
/// The first path was dead, and SHUTDOWN ACK, whose answer had been lost, was only repeated there;
/// then also if a late packet had come over the first path last.
#[test]
fn shutdown_ack_is_repeated_where_the_peer_was_heard_if_the_only_verified_path_is_dead() {
    for is_late in [false, true] {
        let mut pair = Pair::new([2, 2], [config(), config()]);
        let dead = [address(Client, 0), address(Server, 0)];
        let (mut cut, mut completes) = (false, 0);
        pair.rule = Some(Box::new(move |passing: &Passing| {
            let is_answer = passing.has(|chunk| matches!(chunk, Chunk::HeartbeatAck(_)));
            let is_first = dead.contains(&passing.src) || dead.contains(&passing.dst);
            let is_complete = passing.has(is_complete);
            completes += u32::from(is_complete);
            let unverified = passing.from == Client && is_answer;
            let is_lost = (is_first && cut) || unverified || (is_complete && completes == 1);
            let is_data = passing.has_data();
            let begins = is_data && !cut;
            cut |= is_data;
            match () {
                () if begins && is_late => Fate::Late(Duration::from_millis(1200)),
                () if is_lost || begins => Fate::Drop,
                () => Fate::Pass,
            }
        }));
        pair.pass(Duration::from_secs(2));
        pair.send(Client, message(0, 1000));
        pair.shutdown(Client);
        pair.run_until("end", Duration::from_secs(60), is_over);
        assert_eq!(pair.host(Server).lens(), [1000]);
    }
}

#[test]
fn data_after_shutdown_are_answered_with_shutdown_and_sack_at_once() {
    let mut pair = Pair::open(1);
    pair.send(Client, message(0, 10));
    pair.pass(Duration::from_secs(1));
    // The client never hears of it.
    pair.rule =
        Some(Box::new(|passing| if passing.from == Server { Fate::Drop } else { Fate::Pass }));
    pair.shutdown(Server);
    pair.pass(Duration::from_millis(500));
    let (before, data) = (pair.log.len(), next_data(&pair));
    pair.forge(Server, vec![data]);
    let answers: Vec<&Passing> = pair.log[before..].iter().collect();
    assert!(answers.iter().any(|passing| passing.has(is_shutdown)), "{}", pair.describe());
    let first =
        pair.sent(Server).find(|passing| passing.has(is_shutdown)).map(|passing| passing.at);
    let start = first.expect("SHUTDOWN");
    pair.pass(Duration::from_millis(900));
    let sent = times(&pair, Server, is_shutdown, start);
    assert_eq!(sent, [0, 500], "T2 begins anew");
    assert_eq!(pair.host(Server).lens(), [10, 10]);
}

#[test]
fn lost_shutdown_and_shutdown_ack_are_sent_again_after_t2() {
    for (is, from) in [(is_shutdown as fn(&Chunk) -> bool, Client), (is_ack, Server)] {
        let mut pair = Pair::open(1);
        lose(&mut pair, is, 2);
        let start = pair.now;
        pair.shutdown(Client);
        pair.run_until("end", Duration::from_secs(10), is_over);
        let sent = times(&pair, Client, is_shutdown, start);
        assert!(sent.len() >= 2 && sent[1] == 1000, "{from:?}: {sent:?}");
    }
}

#[test]
fn lost_shutdown_complete_is_sent_again_by_a_host_without_the_association() {
    let mut pair = Pair::open(1);
    lose(&mut pair, is_complete, 2);
    pair.shutdown(Client);
    pair.pass(Duration::from_millis(100));
    assert!(pair.host(Client).has(SocketEventKind::Closed));
    assert!(!pair.host(Server).has(SocketEventKind::Closed), "it waits for SHUTDOWN COMPLETE");
    pair.run_until("end", Duration::from_secs(10), is_over);
    let complete: Vec<Chunk> =
        pair.chunks(Client).map(|(_, chunk)| chunk.clone()).filter(is_complete).collect();
    let reflected = |reflected| Chunk::ShutdownComplete { reflected };
    assert_eq!(complete, [reflected(false), reflected(true), reflected(true)]);
    let acks = pair.sent(Server).filter(|passing| passing.has(is_ack)).count();
    assert_eq!(acks, 3, "T2 repeats SHUTDOWN ACK");
}

#[test]
fn both_sides_that_shut_down_at_once_end_without_time_out() {
    let mut pair = Pair::open(1);
    let start = pair.now;
    pair.shutdown(Client);
    pair.shutdown(Server);
    pair.run_until("end", Duration::from_secs(1), is_over);
    assert!((pair.now - start).as_millis() < 100);
    for side in [Client, Server] {
        assert_eq!(times(&pair, side, is_ack, start), [10], "{side:?}");
    }
}

#[test]
fn init_of_an_association_that_waits_for_shutdown_complete_is_answered_with_shutdown_ack() {
    let mut pair = Pair::open(1);
    lose(&mut pair, is_complete, u32::MAX);
    pair.shutdown(Client);
    pair.pass(Duration::from_millis(100));
    let is_init = |chunk: &Chunk| matches!(chunk, Chunk::Init(_));
    let init = pair.sent(Client).find(|passing| passing.has(is_init)).expect("an INIT").clone();
    let before = pair.log.len();
    pair.inject(Server, init.src, init.dst, init.packet);
    let answers: Vec<Chunk> = pair.log[before..]
        .iter()
        .filter(|passing| passing.from == Server)
        .flat_map(|passing| passing.packet.chunks.clone())
        .collect();
    assert_eq!(answers, [Chunk::ShutdownAck]);
}

#[test]
fn shutdown_that_is_never_answered_ends_after_association_max_retrans() {
    let mut pair = Pair::open(1);
    pair.rule = Some(Box::new(|_| Fate::Drop));
    let start = pair.now;
    pair.shutdown(Client);
    pair.pass(Duration::from_secs(400));
    let sent = times(&pair, Client, is_shutdown, start);
    assert_eq!(sent[..6], [0, 1000, 3000, 7000, 15_000, 31_000]);
    let end = SocketEventKind::Failed(SocketError::TimedOut);
    assert!(pair.host(Client).has(end), "{:?}", pair.host(Client).events);
    // T5 is five times RTO.Max, before ten retransmissions that take longer.
    let abort = times(&pair, Client, is_abort, start);
    assert_eq!(abort, [300_000]);
}

#[test]
fn peer_that_never_answers_is_given_up_after_ten_retransmissions_of_t2() {
    let mut config = config();
    config.parameters.rto.max = Duration::from_secs(5);
    config.parameters.limits.association = 2;
    let mut pair = Pair::open_with(1, config);
    pair.rule = Some(Box::new(|_| Fate::Drop));
    let start = pair.now;
    pair.shutdown(Client);
    pair.pass(Duration::from_secs(100));
    assert_eq!(times(&pair, Client, is_shutdown, start), [0, 1000, 3000], "two, as configured");
    let end = SocketEventKind::Failed(SocketError::TimedOut);
    assert!(pair.host(Client).has(end));
}

#[test]
fn abort_of_the_user_has_its_cause_and_ends_both_sides_at_once() {
    let mut pair = Pair::open(1);
    pair.send(Client, message(0, 5000));
    pair.abort(Client);
    pair.pass(Duration::from_millis(50));
    let causes = pair.chunks(Client).find_map(|(_, chunk)| match chunk {
        Chunk::Abort { causes, .. } => Some(causes.clone()),
        _ => None,
    });
    assert!(matches!(causes.as_deref(), Some([Cause::UserAbort(_)])), "{causes:?}");
    let end = SocketEventKind::Failed(SocketError::Reset);
    assert!(pair.host(Server).has(end));
    assert!(!pair.sent(Server).any(|passing| passing.has(is_abort)), "never ABORT for ABORT");
}

#[test]
fn shutdown_of_what_was_never_sent_aborts() {
    let mut pair = Pair::open(1);
    pair.send(Client, message(0, 10));
    pair.pass(Duration::from_secs(1));
    let Chunk::Data(next) = next_data(&pair) else { panic!("DATA") };
    pair.forge(Client, vec![Chunk::Shutdown { cum_tsn: Tsn(next.tsn.0.wrapping_add(5)) }]);
    let last = pair.sent(Client).last().expect("an answer");
    assert!(last.has(is_abort) && last.dst == address(Server, 0));
}
