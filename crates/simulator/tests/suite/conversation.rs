//! Conversations over simulated links: think times, times of a recording, every protocol, and both
//! ways round.

use crate::cmt::cmt;
use crate::multipath::over;
use crate::pair::{link, one_path, record};
use crate::sctp::sctp;
use base::Duration;
use simulator::RunSetup;
use std::sync::Arc;
use traffic::model::conversation::{Conversation, Timing, Turn};
use traffic::{Outcome, Role, Traffic};

/// Messages of these ends at these times, in milliseconds.
fn conversation(timing: Timing, turns: &[(Role, u64, u64)]) -> Traffic {
    let turn = |&(from, at, bytes)| {
        let start = Duration::from_millis(at);
        Turn { from, start, end: start, bytes }
    };
    let turns: Vec<Turn> = turns.iter().map(turn).collect();
    Traffic::Conversation(Arc::new(Conversation::new("table:x".to_owned(), timing, &turns)))
}

/// A request, its answer after 30 ms, a second part of it 20 ms later, and a request after 200 ms.
const TURNS: [(Role, u64, u64); 4] = [
    (Role::Client, 1000, 300),
    (Role::Server, 1030, 5000),
    (Role::Server, 1050, 700),
    (Role::Client, 1250, 40),
];

/// When each message was sent, in milliseconds since the start of `connect`.
fn starts(outcome: &Outcome) -> Vec<f64> {
    let start = |part: &traffic::Part| part.start.expect("it was sent").as_secs_f64() * 1e3;
    outcome.parts.iter().map(start).collect()
}

fn assert_near(found: &[f64], expected: &[f64], within: f64) {
    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < within);
    assert!(found.len() == expected.len() && near, "{found:?} {expected:?}");
}

#[test]
fn answer_waits_for_its_request_and_paced_message_for_its_time() {
    // 1 Gbit/s, 50 ms each way: the connection is open at 100 ms, at the server at 150 ms.
    let run = |timing| record(&one_path(&link(1000, 50), conversation(timing, &TURNS))).outcome;
    let answered = run(Timing::Answered);
    assert_near(&starts(&answered), &[100.0, 180.0, 200.0, 450.0], 0.2);
    assert_near(&answered.message_delays, &[0.05; 4], 2e-4);
    assert_eq!(answered.bytes_read, 6040);
    let paced = run(Timing::Paced);
    assert_near(&starts(&paced), &[100.0, 180.0, 200.0, 350.0], 0.2);
    // Further numbers of a game.
    let late = paced.extra.iter().find(|(name, _)| *name == "over_60ms");
    assert_eq!(late.map(|(_, share)| *share), Some(0.0));
}

#[test]
fn every_protocol_delivers_all_messages_both_ways_round() {
    let mut long: Vec<(Role, u64, u64)> = Vec::new();
    for number in 0..60 {
        let from = if number % 3 == 0 { Role::Client } else { Role::Server };
        long.push((from, number * 7, 1 + (number * 7919) % 9000));
    }
    let only_up = [(Role::Client, 0, 100), (Role::Client, 500, 20_000)];
    let server_first = [(Role::Server, 0, 100), (Role::Client, 100, 7)];
    let links = [link(8, 20), link(3, 60)];
    for turns in [&TURNS[..], &long, &only_up, &server_first, &[(Role::Server, 0, 9)]] {
        for timing in [Timing::Answered, Timing::Paced] {
            let traffic = conversation(timing, turns);
            let setups = [
                one_path(&links[0], traffic.clone()),
                over(&links, "lrf", traffic.clone()),
                sctp(&links, traffic.clone()),
                cmt(&links, traffic),
            ];
            for setup in setups {
                for reverse in [false, true] {
                    assert_all_arrive(setup.clone(), reverse, turns);
                }
            }
        }
    }
}

fn assert_all_arrive(mut setup: RunSetup, reverse: bool, turns: &[(Role, u64, u64)]) {
    setup.flows[0].reverse = reverse;
    let outcome = record(&setup).outcome;
    assert!(outcome.is_complete(), "{:?} {reverse} {outcome:?}", setup.flows[0].carrier);
    assert_eq!(outcome.message_delays.len(), turns.len());
    assert_eq!(outcome.bytes_read, turns.iter().map(|(_, _, bytes)| bytes).sum::<u64>());
    assert!(outcome.message_delays.iter().all(|delay| *delay > 0.0), "{outcome:?}");
}
