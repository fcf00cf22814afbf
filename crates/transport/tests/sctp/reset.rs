//! Streams that are reset and added (RFC 6525).

use crate::pair::{Client, Fate, Pair, Server, Side, config, message};
use base::Duration;
use transport::SocketEventKind;
use transport::sctp::streams::{Message, Reliability};
use transport::sctp::{SctpConfig, StreamChange};
use wire::sctp::{Chunk, Features, ForwardTsn, Parameter, ReconfigResult, Request, Sack, Ssn, Tsn};

fn change(pair: &mut Pair, change: StreamChange) {
    let socket = pair.socket(Client);
    pair.stack(Client).change_streams(socket, change).expect("the peer can be asked");
    pair.settle();
}

fn is_reconfig(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::Reconfig(_))
}

/// SSNs of the client's messages on a stream.
fn ssns(pair: &Pair, stream: u16) -> Vec<Ssn> {
    let ssn = |(_, chunk): (_, &Chunk)| match chunk {
        Chunk::Data(data) if data.stream == stream => Some(data.ssn),
        _ => None,
    };
    pair.chunks(Client).filter_map(ssn).collect()
}

#[test]
fn stream_that_is_reset_begins_with_message_0_again_and_loses_nothing() {
    let mut pair = Pair::open(1);
    for len in 1..=3 {
        pair.send(Client, message(1, len));
        pair.send(Client, message(2, len));
    }
    change(&mut pair, StreamChange::ResetOutgoing(vec![1]));
    let socket = pair.socket(Client);
    let refused = pair.stack(Client).send_message(socket, message(1, 9));
    assert_eq!(refused, Ok(false), "not before the peer has answered");
    pair.send(Client, message(2, 4));
    pair.pass(Duration::from_secs(1));
    assert!(pair.host(Client).has(SocketEventKind::Writable));
    pair.send(Client, message(1, 9));
    pair.send(Client, message(2, 5));
    pair.pass(Duration::from_secs(1));
    assert_eq!(ssns(&pair, 1), [0, 1, 2, 0].map(Ssn));
    assert_eq!(ssns(&pair, 2), [0, 1, 2, 3, 4].map(Ssn));
    assert_eq!(pair.host(Server).received.len(), 9);
}

#[test]
fn lost_request_or_answer_is_repeated_with_its_number() {
    for from in [Client, Server] {
        let mut pair = Pair::open(1);
        pair.send(Client, message(1, 10));
        let mut count = 0;
        pair.rule = Some(Box::new(move |passing| {
            let is_lost = passing.from == from && passing.has(is_reconfig);
            count += u32::from(is_lost);
            if is_lost && count <= 2 { Fate::Drop } else { Fate::Pass }
        }));
        change(&mut pair, StreamChange::ResetOutgoing(vec![]));
        pair.pass(Duration::from_secs(20));
        let requests: Vec<Chunk> =
            pair.chunks(Client).map(|(_, chunk)| chunk.clone()).filter(is_reconfig).collect();
        assert_eq!(requests.len(), 3);
        assert!(requests.iter().all(|request| *request == requests[0]));
        pair.send(Client, message(1, 20));
        pair.pass(Duration::from_secs(1));
        assert_eq!(ssns(&pair, 1), [0, 0].map(Ssn));
        assert_eq!(pair.host(Server).lens(), [10, 20]);
    }
}

/// Regression: acknowledgements of data restored the error counter and the RTO, so that a request
/// without an answer was repeated every second for ever.
#[test]
fn request_that_is_never_answered_is_repeated_every_minute_while_data_arrive() {
    let mut pair = Pair::open(1);
    pair.rule =
        Some(Box::new(|passing| if passing.has(is_reconfig) { Fate::Drop } else { Fate::Pass }));
    change(&mut pair, StreamChange::ResetOutgoing(vec![1]));
    for _ in 0..200 {
        pair.send(Client, message(0, 10));
        pair.pass(Duration::from_secs(5));
    }
    assert_eq!(pair.host(Server).received.len(), 200, "the association goes on");
    let count = pair.chunks(Client).filter(|(_, chunk)| is_reconfig(chunk)).count();
    assert!((15..25).contains(&count), "{count}");
}

#[test]
fn request_waits_until_the_data_of_the_stream_are_acknowledged() {
    let mut pair = Pair::open(1);
    let mut lost = false;
    pair.rule = Some(Box::new(move |passing| {
        let is_first = passing.has_data() && !std::mem::replace(&mut lost, passing.has_data());
        if is_first { Fate::Drop } else { Fate::Pass }
    }));
    pair.send(Client, message(3, 10));
    change(&mut pair, StreamChange::ResetOutgoing(vec![3]));
    pair.pass(Duration::from_millis(900));
    assert!(!pair.chunks(Client).any(|(_, chunk)| is_reconfig(chunk)));
    pair.pass(Duration::from_secs(2));
    assert!(pair.chunks(Client).any(|(_, chunk)| is_reconfig(chunk)));
    assert_eq!(pair.host(Server).lens(), [10]);
}

#[test]
fn incoming_request_is_answered_by_a_reset_of_the_peer() {
    let mut pair = Pair::open(1);
    pair.send(Server, message(0, 10));
    pair.pass(Duration::from_secs(1));
    change(&mut pair, StreamChange::ResetIncoming(vec![0]));
    pair.pass(Duration::from_secs(1));
    pair.send(Server, message(0, 20));
    pair.pass(Duration::from_secs(1));
    assert_eq!(pair.host(Client).lens(), [10, 20]);
    let last = pair.chunks(Server).filter_map(|(_, chunk)| match chunk {
        Chunk::Data(data) => Some(data.ssn),
        _ => None,
    });
    assert_eq!(last.collect::<Vec<_>>(), [0, 0].map(Ssn));
    let answers = pair.chunks(Client).filter(|(_, chunk)| is_reconfig(chunk)).count();
    assert_eq!(answers, 2, "the request and the response to the reset");
}

#[test]
fn streams_are_added_in_both_directions() {
    let mut pair = Pair::open(1);
    let (client, server) = (pair.socket(Client), pair.socket(Server));
    let refused = pair.stack(Client).send_message(client, message(5, 1));
    assert!(refused.is_err(), "there are 4 streams");
    change(&mut pair, StreamChange::AddOutgoing(2));
    change(&mut pair, StreamChange::AddIncoming(3));
    pair.pass(Duration::from_secs(1));
    pair.send(Client, message(5, 11));
    assert!(pair.stack(Client).send_message(client, message(6, 1)).is_err());
    pair.send(Server, message(6, 12));
    assert!(pair.stack(Server).send_message(server, message(7, 1)).is_err());
    pair.pass(Duration::from_secs(1));
    assert_eq!((pair.host(Server).lens(), pair.host(Client).lens()), (vec![11], vec![12]));
}

/// Regression: the request was repeated until the association failed if the peer answered it with
/// its own request alone, as Linux does.
#[test]
fn request_for_streams_is_answered_by_the_request_that_adds_them() {
    let mut pair = Pair::open(1);
    let first = pair.chunks(Server).find_map(|(_, chunk)| match chunk {
        Chunk::InitAck(ack) => Some(ack.initial_tsn.0),
        _ => None,
    });
    pair.rule = Some(Box::new(|passing| match passing.from {
        Server if passing.has(is_reconfig) => Fate::Drop,
        _ => Fate::Pass,
    }));
    change(&mut pair, StreamChange::AddIncoming(3));
    let request = first.expect("an INIT ACK");
    let adds = Parameter::Reconfig(Request::AddOutgoing { request, streams: 3 });
    pair.forge(Client, vec![Chunk::Reconfig(vec![adds])]);
    pair.pass(Duration::from_secs(20));
    let sent = pair.chunks(Client).filter(|(_, chunk)| match chunk {
        Chunk::Reconfig(list) => {
            matches!(list[..], [Parameter::Reconfig(Request::AddIncoming { .. })])
        }
        _ => false,
    });
    assert_eq!(sent.count(), 1, "{}", pair.describe());
}

#[test]
fn requests_that_make_no_sense_are_answered_with_the_reason() {
    let mut pair = Pair::open(1);
    let first = pair.first_tsn();
    let mut answer = |request: Request| {
        pair.forge(Server, vec![Chunk::Reconfig(vec![Parameter::Reconfig(request)])]);
        let found = pair.chunks(Server).filter_map(|(_, chunk)| match chunk {
            Chunk::Reconfig(list) => Some(list.clone()),
            _ => None,
        });
        match found.last().as_deref() {
            Some([Parameter::Reconfig(Request::Response { result, .. })]) => *result,
            other => panic!("{other:?}"),
        }
    };
    let reset = |request, streams: &[u16], last_tsn| Request::ResetOutgoing {
        request,
        response: 0,
        last_tsn,
        streams: streams.into(),
    };
    let number = first.0;
    assert_eq!(answer(reset(number + 7, &[0], first)), ReconfigResult::BAD_SEQUENCE_NUMBER);
    assert_eq!(answer(reset(number, &[0], first + 100)), ReconfigResult::IN_PROGRESS);
    assert_eq!(answer(reset(number, &[99], first - 1)), ReconfigResult::WRONG_SSN);
    assert_eq!(
        answer(Request::AddOutgoing { request: number + 1, streams: u16::MAX }),
        ReconfigResult::DENIED
    );
}

/// Results in the server's answer to requests of the client.
fn results(pair: &mut Pair, requests: &[Request]) -> Vec<(u32, ReconfigResult)> {
    let before = pair.log.len();
    let requests = requests.iter().cloned().map(Parameter::Reconfig).collect();
    pair.forge(Server, vec![Chunk::Reconfig(requests)]);
    let mut results = Vec::new();
    for passing in pair.log[before..].iter().filter(|passing| passing.from == Server) {
        for chunk in &passing.packet.chunks {
            let Chunk::Reconfig(list) = chunk else { continue };
            results.extend(list.iter().filter_map(|parameter| match parameter {
                Parameter::Reconfig(Request::Response { response, result, .. }) => {
                    Some((*response, *result))
                }
                _ => None,
            }));
        }
    }
    results
}

/// Regression: of two requests in one chunk only the last outcome was remembered, and the first one
/// had a bad number when the chunk was repeated.
#[test]
fn two_requests_that_are_repeated_are_answered_as_before() {
    let mut pair = Pair::open(1);
    let number = pair.first_tsn().0;
    let requests = [
        Request::AddOutgoing { request: number, streams: 2 },
        Request::AddIncoming { request: number.wrapping_add(1), streams: u16::MAX },
    ];
    let expected =
        [(number, ReconfigResult::PERFORMED), (number.wrapping_add(1), ReconfigResult::DENIED)];
    for _ in 0..3 {
        assert_eq!(results(&mut pair, &requests), expected);
    }
    let early = Request::AddOutgoing { request: number.wrapping_sub(1), streams: 2 };
    let bad = (number.wrapping_sub(1), ReconfigResult::BAD_SEQUENCE_NUMBER);
    assert_eq!(results(&mut pair, &[early]), [bad]);
}

/// Regression: a request had a bad number when the one before it in the chunk was in progress.
#[test]
fn request_behind_one_that_is_in_progress_waits_with_it() {
    let mut pair = Pair::open(1);
    let first = pair.first_tsn();
    let number = first.0;
    let requests = |last_tsn| {
        [
            Request::ResetOutgoing { request: number, response: 0, last_tsn, streams: [1].into() },
            Request::AddIncoming { request: number.wrapping_add(1), streams: 1 },
        ]
    };
    let all = |result| [(number, result), (number.wrapping_add(1), result)];
    for _ in 0..2 {
        let answered = results(&mut pair, &requests(first));
        assert_eq!(answered, all(ReconfigResult::IN_PROGRESS), "the TSN has not arrived");
    }
    for _ in 0..2 {
        let answered = results(&mut pair, &requests(first - 1));
        assert_eq!(answered, all(ReconfigResult::PERFORMED));
    }
}

/// TSNs and SSNs of DATA that a host has sent.
fn numbers(pair: &Pair, side: Side) -> Vec<(Tsn, Ssn)> {
    let number = |(_, chunk): (_, &Chunk)| match chunk {
        Chunk::Data(data) => Some((data.tsn, data.ssn)),
        _ => None,
    };
    pair.chunks(side).filter_map(number).collect()
}

#[test]
fn association_that_is_reset_has_other_tsns_and_begins_all_streams_with_message_0() {
    let mut pair = Pair::open(1);
    for len in 1..=3 {
        pair.send(Client, message(1, len));
        pair.send(Server, message(2, len));
    }
    pair.pass(Duration::from_secs(1));
    let before = [Client, Server].map(|side| *numbers(&pair, side).last().expect("DATA"));
    change(&mut pair, StreamChange::ResetAssociation);
    let socket = pair.socket(Client);
    let refused = pair.stack(Client).send_message(socket, message(2, 9));
    assert_eq!(refused, Ok(false), "not before the peer has answered");
    pair.pass(Duration::from_secs(1));
    for len in 4..=5 {
        pair.send(Client, message(1, len));
        pair.send(Server, message(2, len));
        pair.pass(Duration::from_secs(1));
    }
    let after = |side| numbers(&pair, side)[3..].to_vec();
    let client = before[0].0 + 1 + (1 << 31);
    assert_eq!(after(Client), [(client, Ssn(0)), (client + 1, Ssn(1))]);
    let server = before[1].0 + 1;
    assert_eq!(after(Server), [(server, Ssn(0)), (server + 1, Ssn(1))]);
    for side in [Client, Server] {
        assert_eq!(pair.host(side).lens(), [1, 2, 3, 4, 5], "{side:?}");
    }
}

/// Regression: no message was abandoned any more if none had a limit before the reset.
#[test]
fn messages_are_abandoned_after_a_reset_of_the_association() {
    let mut pair = Pair::open(1);
    pair.send(Client, message(1, 1));
    pair.pass(Duration::from_secs(1));
    change(&mut pair, StreamChange::ResetAssociation);
    pair.pass(Duration::from_secs(1));
    let mut count = 0;
    pair.rule = Some(Box::new(move |passing| {
        let is_data = passing.from == Client && passing.has_data();
        count += u32::from(is_data);
        if is_data && count == 1 { Fate::Drop } else { Fate::Pass }
    }));
    for len in [10, 20] {
        let reliability = Reliability::Retransmissions(0);
        pair.send(Client, Message { reliability, ..message(1, len) });
    }
    pair.pass(Duration::from_secs(5));
    assert_eq!(pair.host(Server).lens(), [1, 20], "{}", pair.describe());
}

#[test]
fn reset_of_the_association_waits_for_the_data_of_the_peer_and_survives_losses() {
    for lost_answers in 0..3 {
        let mut pair = Pair::open(1);
        pair.send(Client, message(0, 10));
        // More than a window.
        pair.send(Server, message(0, 60_000));
        let mut lost = 0;
        pair.rule = Some(Box::new(move |passing| {
            let is_performed = |chunk: &Chunk| match chunk {
                Chunk::Reconfig(list) => list.iter().any(|parameter| {
                    let Parameter::Reconfig(Request::Response { result, .. }) = parameter else {
                        return false;
                    };
                    *result == ReconfigResult::PERFORMED
                }),
                _ => false,
            };
            let is_lost = passing.has(is_performed) && lost < lost_answers;
            lost += u32::from(is_lost);
            if is_lost { Fate::Drop } else { Fate::Pass }
        }));
        pair.pass(Duration::from_millis(30));
        change(&mut pair, StreamChange::ResetAssociation);
        pair.pass(Duration::from_millis(30));
        let socket = pair.socket(Server);
        let refused = pair.stack(Server).send_message(socket, message(0, 9));
        assert_eq!(refused, Ok(false), "the peer has asked");
        pair.run_until("writer", Duration::from_secs(20), |pair| {
            pair.host(Server).has(SocketEventKind::Writable)
        });
        // With a lost answer these arrive before it.
        pair.send(Server, message(0, 20));
        pair.send(Server, message(0, 30));
        pair.pass(Duration::from_secs(20));
        pair.send(Server, message(0, 40));
        pair.send(Client, message(0, 50));
        pair.pass(Duration::from_secs(2));
        assert_eq!(pair.host(Client).lens(), [60_000, 20, 30, 40], "{}", pair.describe());
        assert_eq!(pair.host(Server).lens(), [10, 50]);
        assert_eq!(pair.info(Client).paths[0].tcp.state, "ESTABLISHED");
    }
}

#[test]
fn writer_goes_on_if_the_peer_does_not_ask_again_for_the_reset() {
    let mut pair = Pair::open(1);
    pair.send(Server, message(0, 20_000));
    let request = Request::ResetAssociation { request: pair.first_tsn().0 };
    pair.forge(Server, vec![Chunk::Reconfig(vec![Parameter::Reconfig(request)])]);
    let socket = pair.socket(Server);
    assert_eq!(pair.stack(Server).send_message(socket, message(0, 9)), Ok(false));
    pair.pass(Duration::from_secs(59));
    assert!(!pair.host(Server).has(SocketEventKind::Writable));
    pair.pass(Duration::from_secs(2));
    assert!(pair.host(Server).has(SocketEventKind::Writable));
    pair.send(Server, message(0, 9));
    pair.pass(Duration::from_secs(1));
    assert_eq!(pair.host(Client).lens(), [20_000, 9]);
}

#[test]
fn peer_without_reconfig_is_not_asked() {
    let plain = SctpConfig { features: Features::NR_SACK, ..config() };
    let mut pair = Pair::new([1, 1], [config(), plain]);
    pair.pass(Duration::from_secs(1));
    let socket = pair.socket(Client);
    let asked = pair.stack(Client).change_streams(socket, StreamChange::AddOutgoing(1));
    assert!(asked.is_err());
}

/// Regression: half of the number space behind the new numbers, old ones seemed to be as far ahead.
/// A late SACK aborted the association, and a late FORWARD TSN skipped all data that followed.
#[test]
fn late_numbers_of_before_an_association_reset_are_old() {
    let mut pair = Pair::open(1);
    let last = pair.first_tsn() + 2;
    for len in 1..=3 {
        pair.send(Client, message(1, len));
    }
    pair.pass(Duration::from_secs(1));
    change(&mut pair, StreamChange::ResetAssociation);
    pair.pass(Duration::from_secs(1));
    let sack = Sack { cum_tsn: last, a_rwnd: 100_000, ..Sack::default() };
    pair.forge(Client, vec![Chunk::Sack(sack)]);
    let forward = ForwardTsn { new_cum_tsn: last, streams: [].into() };
    pair.forge(Server, vec![Chunk::ForwardTsn(forward)]);
    for len in 4..=6 {
        pair.send(Client, message(1, len));
    }
    pair.pass(Duration::from_secs(1));
    assert_eq!(pair.host(Server).lens(), [1, 2, 3, 4, 5, 6]);
}

/// Regression: a peer that had begun anew, and whose answer was lost, abandoned its first message.
/// The message was skipped in the stream of before, and was missing in the one that began with the
/// answer, for ever.
#[test]
fn message_abandoned_before_the_answer_to_a_reset_is_skipped_after_it() {
    let mut pair = Pair::open(1);
    let (mut answers, mut data) = (0, 0);
    pair.rule = Some(Box::new(move |passing| {
        let is_answer = passing.from == Client && passing.has(is_reconfig);
        let is_data = passing.from == Client && passing.has_data();
        (answers, data) = (answers + u32::from(is_answer), data + u32::from(is_data));
        let is_lost = (is_answer && answers <= 2) || (is_data && data == 1);
        if is_lost { Fate::Drop } else { Fate::Pass }
    }));
    let socket = pair.socket(Server);
    pair.stack(Server).change_streams(socket, StreamChange::ResetAssociation).expect("a request");
    pair.pass(Duration::from_millis(100));
    pair.send(Client, Message { reliability: Reliability::Retransmissions(0), ..message(3, 10) });
    pair.pass(Duration::from_millis(1500));
    assert_eq!(ssns(&pair, 3).len(), 1, "it is abandoned");
    pair.send(Client, message(3, 20));
    pair.pass(Duration::from_secs(30));
    assert_eq!(pair.host(Server).lens(), [20]);
}

/// Regression: the last TSN before the reset seemed to be half of the number space behind the new
/// ones and in front of them, so that a late copy of it was delivered again.
#[test]
fn late_copy_of_the_last_chunk_before_an_association_reset_is_dropped() {
    let mut pair = Pair::open(1);
    pair.send(Client, Message { unordered: true, ..message(1, 10) });
    pair.pass(Duration::from_secs(1));
    let sent: Vec<Chunk> = pair.chunks(Client).map(|(_, chunk)| chunk.clone()).collect();
    let data = sent.into_iter().find(|chunk| matches!(chunk, Chunk::Data(_))).expect("data");
    change(&mut pair, StreamChange::ResetAssociation);
    pair.pass(Duration::from_secs(1));
    pair.forge(Server, vec![data]);
    pair.send(Client, message(1, 20));
    pair.pass(Duration::from_secs(1));
    assert_eq!(pair.host(Server).lens(), [10, 20]);
}
