//! Schedulers that bind data to a path ahead of sending, over two paths with round trips of 20 and
//! 120 ms and windows of three packets.

use crate::cases;
use crate::pair::{Client, Fate, Pair, Passing, Server, address, config, message};
use base::{Duration, Instant};
use proptest::prelude::{any, prop};
use proptest::{prop_assert_eq, proptest};
use std::collections::BTreeSet;
use transport::sctp::SctpConfig;
use transport::sctp::cmt::CmtConfig;
use transport::sctp::streams::{Message, Reliability};
use wire::sctp::{Chunk, Features, Tsn};

const FULL: usize = 1452;
const SCHEDULERS: [&str; 5] = ["daps", "otias", "linux", "sttf", "sttf:alpha=0"];

fn with(scheduler: &str) -> SctpConfig {
    let mut config = config();
    config.parameters.max_burst = 0;
    SctpConfig {
        cmt: Some(CmtConfig::default()),
        scheduler: Some(scheduler.parse().expect("a scheduler")),
        ..config
    }
}

/// Packets of the second path, of either side.
fn is_slow(passing: &Passing) -> bool {
    [address(Client, 1), address(Server, 1)].contains(&passing.src)
}

/// An association whose second path takes 50 ms more in each direction, measured.
fn unlike(config: SctpConfig) -> Pair {
    let mut pair = Pair::new([2, 2], [config.clone(), config]);
    let late = Fate::Late(Duration::from_millis(50));
    pair.rule = Some(Box::new(move |passing| if is_slow(passing) { late } else { Fate::Pass }));
    pair.run_until("establishment", Duration::from_secs(5), |pair| {
        pair.hosts.iter().all(crate::pair::Host::is_open)
    });
    pair.pass(Duration::from_secs(2));
    pair
}

/// New chunks of the client: TSN, number of the message in stream 0, path.
fn sent(pair: &Pair, since: Instant) -> Vec<(Tsn, u32, usize)> {
    let mut all: Vec<(Tsn, u32, usize)> = Vec::new();
    for passing in pair.sent(Client).filter(|passing| passing.at >= since) {
        let path = usize::from(is_slow(passing));
        for chunk in &passing.packet.chunks {
            let (tsn, number) = match chunk {
                Chunk::Data(data) => (data.tsn, u32::from(data.ssn.0)),
                Chunk::IData(data) => (data.tsn, data.mid.0),
                _ => continue,
            };
            if all.iter().all(|(known, ..)| *known != tsn) {
                all.push((tsn, number, path));
            }
        }
    }
    all
}

/// The messages that the slow path carries of `count` full ones, and whether a later message had a
/// lower TSN than an earlier one.
fn slow_of(scheduler: &str, count: usize) -> (Vec<u32>, bool) {
    let mut pair = unlike(with(scheduler));
    let start = pair.now;
    for len in 0..count {
        pair.send(Client, message(0, FULL - len));
    }
    pair.pass(Duration::from_secs(20));
    let lens: Vec<u32> = (0..count).map(|len| (FULL - len) as u32).collect();
    assert_eq!(pair.host(Server).lens(), lens, "{scheduler}: in the order of the stream");
    let mut sent = sent(&pair, start);
    let first = pair.first_tsn();
    sent.sort_by_key(|(tsn, ..)| tsn.distance_from(first));
    let overtakes = sent.windows(2).any(|two| two[0].1 > two[1].1);
    let slow = sent.iter().filter(|(.., path)| *path == 1).map(|(_, number, _)| *number);
    (slow.collect::<BTreeSet<u32>>().into_iter().collect(), overtakes)
}

/// `T` of the fast path is 10 ms for the three segments of its window, 30 and 50 ms for three more
/// that wait each, then 70 ms, and that of the slow one 60 ms: messages 9 to 11 overtake six that
/// wait.
#[test]
fn otias_queues_two_windows_before_the_slow_path_is_earlier() {
    let (slow, overtakes) = slow_of("otias", 12);
    assert_eq!((slow, overtakes), (vec![9, 10, 11], true));
}

/// Windows of 3, 6 and 12 segments arrive within 50 ms, the next ones after 70 ms: messages 21 to
/// 23 overtake 18 that wait.
#[test]
fn sttf_sends_on_the_slow_path_what_arrives_earlier_there() {
    let (slow, overtakes) = slow_of("sttf", 24);
    assert_eq!((slow, overtakes), (vec![21, 22, 23], true));
}

/// Delays of 12 and 60 ms: five runs of three segments on the fast path, then one on the slow one.
#[test]
fn daps_sends_runs_in_the_order_of_their_arrival() {
    let (slow, overtakes) = slow_of("daps", 18);
    assert_eq!((slow, overtakes), (vec![15, 16, 17], true));
}

/// The slow path has a sixth of the rate: its queue of one segment lasts as long as six of the fast
/// one.
#[test]
fn linux_gives_segments_in_the_proportion_of_rates() {
    let (slow, _) = slow_of("linux", 14);
    assert_eq!(slow, [1, 8]);
}

/// A message of several DATA chunks has consecutive TSNs, all on one path; with I-DATA they may
/// alternate.
#[test]
fn message_of_several_data_chunks_is_bound_whole() {
    for scheduler in SCHEDULERS {
        let mut pair = unlike(with(scheduler));
        let start = pair.now;
        for _ in 0..12 {
            pair.send(Client, message(0, 3 * FULL));
        }
        pair.pass(Duration::from_secs(20));
        assert_eq!(pair.host(Server).lens(), [3 * FULL as u32; 12], "{scheduler}");
        let sent = sent(&pair, start);
        assert_eq!(sent.len(), 36, "{scheduler}");
        for three in sent.chunks(3) {
            assert!(three.iter().all(|one| one.1 == three[0].1), "{scheduler}: {three:?}");
            assert!(three.iter().all(|one| one.2 == three[0].2), "{scheduler}: {three:?}");
            assert_eq!(three[2].0, three[0].0 + 2, "{scheduler}: consecutive");
        }
    }
}

#[test]
fn what_is_bound_to_a_path_that_fails_is_bound_anew() {
    for scheduler in SCHEDULERS {
        for len in [FULL, 3 * FULL] {
            let mut pair = unlike(with(scheduler));
            let late = Fate::Late(Duration::from_millis(50));
            let dies = pair.now + Duration::from_millis(100);
            pair.rule = Some(Box::new(move |passing| match is_slow(passing) {
                true if passing.at >= dies => Fate::Drop,
                true => late,
                false => Fate::Pass,
            }));
            for _ in 0..200 {
                pair.send(Client, message(0, len));
            }
            pair.pass(Duration::from_secs(40));
            assert_eq!(pair.host(Server).lens(), [len as u32; 200], "{scheduler}");
        }
    }
}

/// Messages that got their numbers when they were bound expire before they are sent: each takes a
/// TSN, which FORWARD TSN skips, and the stream goes on behind them.
#[test]
fn message_abandoned_after_it_was_bound_is_skipped() {
    let is_forward = |chunk: &Chunk| matches!(chunk, Chunk::ForwardTsn(_) | Chunk::IForwardTsn(_));
    for scheduler in SCHEDULERS {
        for interleaving in [false, true] {
            let mut config = with(scheduler);
            if interleaving {
                config.features = Features(config.features.0 | Features::INTERLEAVING.0);
            }
            let mut pair = unlike(config);
            let end = pair.now + Duration::from_millis(5);
            for _ in 0..20 {
                let reliability = Reliability::Lifetime(end);
                pair.send(Client, Message { reliability, ..message(0, FULL) });
            }
            pair.send(Client, message(0, 100));
            pair.pass(Duration::from_secs(20));
            let lens = pair.host(Server).lens();
            assert!((2..=10).contains(&lens.len()), "{scheduler}: {lens:?}");
            assert_eq!(lens.last(), Some(&100), "{scheduler}");
            // What STTF tags is not bound, and is dropped in its stream.
            let is_skipped = pair.chunks(Client).any(|(_, chunk)| is_forward(chunk));
            assert_eq!(is_skipped, interleaving || !scheduler.starts_with("sttf"), "{scheduler}");
            pair.shutdown(Client);
            pair.pass(Duration::from_secs(2));
            assert!(pair.host(Server).has(transport::SocketEventKind::Closed), "{scheduler}");
        }
    }
}

/// What overtakes must leave room at the peer for what it overtakes, which would never arrive
/// otherwise.
#[test]
fn messages_overtaken_find_room_in_a_small_receive_buffer() {
    for scheduler in SCHEDULERS {
        for receive_buffer in [3000, 6000, 12_000, 30_000] {
            let mut pair = unlike(SctpConfig { receive_buffer, ..with(scheduler) });
            for _ in 0..120 {
                pair.send(Client, message(0, 1000));
            }
            pair.pass(Duration::from_secs(120));
            let lens = pair.host(Server).lens();
            assert_eq!(lens, [1000; 120], "{scheduler}, {receive_buffer} bytes");
        }
    }
}

proptest! {
    #![proptest_config(cases(48))]

    /// Messages of any size in any stream, with losses, over either framing.
    #[test]
    fn streams_keep_their_order(
        scheduler in 0..SCHEDULERS.len(),
        messages in prop::collection::vec((0u16..4, 1usize..6000, 0u64..30), 1..80),
        lost in prop::collection::btree_set(0u32..200, 0..20),
        (interleaving, small) in any::<(bool, bool)>(),
    ) {
        let mut config = with(SCHEDULERS[scheduler]);
        if interleaving {
            config.features = Features(config.features.0 | Features::INTERLEAVING.0);
        }
        config.receive_buffer = if small { 20_000 } else { 1 << 20 };
        let mut pair = unlike(config);
        let mut count = 0;
        pair.rule = Some(Box::new(move |passing| {
            count += 1;
            match lost.contains(&count) {
                true => Fate::Drop,
                false if is_slow(passing) => Fate::Late(Duration::from_millis(50)),
                false => Fate::Pass,
            }
        }));
        for (stream, len, wait) in &messages {
            pair.send(Client, message(*stream, *len));
            pair.pass(Duration::from_millis(*wait));
        }
        pair.pass(Duration::from_secs(200));
        for stream in 0..4 {
            let sent = messages.iter().filter(|(of, ..)| *of == stream);
            let lens = sent.map(|(_, len, _)| *len as u32);
            let received = &pair.host(Server).received;
            let received = received.iter().filter(|message| message.stream == stream);
            prop_assert_eq!(
                received.map(|message| message.payload.len()).collect::<Vec<_>>(),
                lens.collect::<Vec<_>>()
            );
        }
    }
}
