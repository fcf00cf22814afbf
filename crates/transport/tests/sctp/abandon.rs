//! Partial reliability (RFC 3758, RFC 7496): what is abandoned, and what the receiver does then.

use crate::pair::{Client, Fate, Pair, Passing, Server, address, config, message};
use base::Duration;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::{prop_assert_eq, proptest};
use std::collections::BTreeSet;
use transport::sctp::cmt::CmtConfig;
use transport::sctp::streams::{Message, Reliability};
use transport::sctp::{GapStructure, SctpConfig};
use transport::{InterfaceEvent, SocketError, SocketEventKind};
use wire::Payload;
use wire::sctp::{Chunk, Features, ForwardTsn, Tsn};

fn limited(stream: u16, len: usize, most: u32) -> Message {
    Message { reliability: Reliability::Retransmissions(most), ..message(stream, len) }
}

fn is_forward(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::ForwardTsn(_) | Chunk::IForwardTsn(_))
}

/// Drops data packets of the client whose numbers, from 0, are in `lost`.
fn lose(pair: &mut Pair, lost: &'static [u32]) {
    let mut count = 0;
    pair.rule = Some(Box::new(move |passing| {
        let is_data = passing.from == Client && passing.has_data();
        count += u32::from(is_data);
        if is_data && lost.contains(&(count - 1)) { Fate::Drop } else { Fate::Pass }
    }));
}

fn data_packets(pair: &Pair) -> usize {
    pair.sent(Client).filter(|passing| passing.has_data()).count()
}

fn with_interleaving() -> SctpConfig {
    let config = config();
    let features = Features(config.features.0 | Features::INTERLEAVING.0);
    SctpConfig { features, ..config }
}

#[test]
fn message_without_retransmissions_is_skipped_when_it_is_lost() {
    for config in [config(), with_interleaving()] {
        let mut pair = Pair::open_with(1, config);
        lose(&mut pair, &[1]);
        for len in [10, 20, 30] {
            pair.send(Client, limited(1, len, 0));
        }
        pair.pass(Duration::from_secs(5));
        assert_eq!(pair.host(Server).lens(), [10, 30]);
        assert_eq!(data_packets(&pair), 3, "nothing is sent again");
        assert_eq!(pair.chunks(Client).filter(|(_, chunk)| is_forward(chunk)).count(), 1);
        pair.shutdown(Client);
        pair.pass(Duration::from_secs(1));
        assert!(pair.host(Server).has(SocketEventKind::Closed));
    }
}

#[test]
fn message_is_retransmitted_as_often_as_allowed_fast_or_by_the_timer() {
    let mut pair = Pair::open(1);
    lose(&mut pair, &[0, 1, 2, 3]);
    pair.send(Client, limited(1, 10, 2));
    pair.pass(Duration::from_secs(30));
    assert_eq!(data_packets(&pair), 3);
    assert_eq!(pair.host(Server).lens(), []);
    pair.send(Client, limited(1, 20, 2));
    pair.pass(Duration::from_secs(30));
    assert_eq!(pair.host(Server).lens(), [20]);
}

/// Regression: errors of the association were cleared by data only that were not abandoned, so that
/// a peer which answered every FORWARD TSN was taken for unreachable.
#[test]
fn peer_that_acknowledges_what_was_abandoned_is_reachable() {
    let mut config = config();
    config.parameters.rto.max = Duration::from_secs(1);
    let mut pair = Pair::open_with(1, config);
    // Heartbeats would clear the errors, too.
    let is_heartbeat = |chunk: &Chunk| matches!(chunk, Chunk::Heartbeat(_));
    pair.rule = Some(Box::new(move |passing| {
        let is_lost = passing.has_data() || passing.has(is_heartbeat);
        if passing.from == Client && is_lost { Fate::Drop } else { Fate::Pass }
    }));
    for _ in 0..15 {
        pair.send(Client, limited(1, 10, 0));
        pair.pass(Duration::from_millis(1500));
    }
    let forwards = pair.chunks(Client).filter(|(_, chunk)| is_forward(chunk)).count();
    assert!(forwards > 11, "{forwards} are not more than Association.Max.Retrans and one");
    pair.rule = None;
    pair.send(Client, limited(1, 20, 0));
    pair.pass(Duration::from_secs(5));
    assert_eq!(pair.host(Server).lens(), [20]);
}

#[test]
fn lifetime_ends_in_the_queue_and_in_the_network() {
    let mut pair = Pair::open(1);
    let until = pair.now + Duration::from_millis(500);
    // Nothing arrives for a second.
    let silent = pair.now + Duration::from_secs(1);
    pair.rule =
        Some(Box::new(move |passing| if passing.at < silent { Fate::Drop } else { Fate::Pass }));
    let expiring = |len| Message { reliability: Reliability::Lifetime(until), ..message(0, len) };
    for _ in 0..10 {
        pair.send(Client, expiring(1400));
    }
    pair.send(Client, message(0, 7));
    let sent = data_packets(&pair);
    assert!((2..10).contains(&sent), "the window has no room for all: {sent}");
    pair.pass(Duration::from_secs(10));
    assert_eq!(pair.host(Server).lens(), [7]);
    let again = pair.sent(Client).filter(|passing| passing.at > until && passing.has_data());
    assert_eq!(again.count(), 1, "only what is reliable");
}

#[test]
fn user_hears_of_each_message_that_is_given_up_and_whether_it_was_sent() {
    let mut pair = Pair::open_with(1, SctpConfig { send_buffer: 11_500, ..config() });
    let until = pair.now + Duration::from_millis(500);
    pair.rule = Some(Box::new(|_| Fate::Drop));
    let numbered = |ppid, reliability, len| Message { ppid, reliability, ..message(2, len) };
    // Four packets fill the window.
    for ppid in 1..=4 {
        pair.send(Client, numbered(ppid, Reliability::Retransmissions(0), 1400));
    }
    pair.send(Client, numbered(5, Reliability::Lifetime(until), 1400));
    pair.send(Client, numbered(6, Reliability::Priority(9), 1400));
    pair.send(Client, numbered(7, Reliability::Full, 4000));
    pair.pass(Duration::from_millis(1500));
    let failed = pair.host(Client).events.iter().filter_map(|event| match event {
        SocketEventKind::SendFailed(failure) => Some((failure.stream, failure.ppid, failure.sent)),
        _ => None,
    });
    let mut expected = vec![(2, 6, false), (2, 5, false)];
    expected.extend((1..=4).map(|ppid| (2, ppid, true)));
    assert_eq!(failed.collect::<Vec<_>>(), expected);
    pair.rule = None;
    pair.pass(Duration::from_secs(10));
    assert_eq!(pair.host(Server).lens(), [4000]);
}

/// What a user hears about messages that were not delivered: PPID, and whether some was sent.
fn failed(pair: &Pair) -> Vec<(u32, bool)> {
    let events = pair.host(Client).events.iter().filter_map(|event| match event {
        SocketEventKind::SendFailed(failure) => Some((failure.ppid, failure.sent)),
        _ => None,
    });
    events.collect()
}

#[test]
fn user_hears_of_each_message_that_is_lost_with_the_association_before_its_failure() {
    let mut pair = Pair::open(1);
    let numbered = |ppid, stream, len| Message { ppid, ..message(stream, len) };
    pair.send(Client, numbered(9, 0, 1000));
    pair.pass(Duration::from_secs(1));
    pair.rule = Some(Box::new(|_| Fate::Drop));
    // Four packets fill the window; the third message is sent in part, the last one not at all.
    for (ppid, stream, len) in [(1, 3, 1400), (2, 0, 1400), (3, 1, 9000), (4, 0, 10)] {
        pair.send(Client, numbered(ppid, stream, len));
    }
    pair.pass(Duration::from_secs(600));
    assert_eq!(failed(&pair), [(1, true), (2, true), (3, true), (4, false)]);
    let last = pair.host(Client).events.last();
    assert_eq!(last, Some(&SocketEventKind::Failed(SocketError::TimedOut)));
}

#[test]
fn message_that_the_peer_keeps_is_not_reported_when_the_association_fails() {
    // The first of three is lost, and gap blocks acknowledge the others: with NR-SACK for good.
    let all = vec![(1, true), (2, true), (3, true)];
    for (features, lost) in [(Features::NR_SACK.0, vec![(1, true)]), (0, all)] {
        let features = Features(Features::PARTIAL_RELIABILITY.0 | features);
        let mut pair = Pair::open_with(1, SctpConfig { features, ..config() });
        let mut count = 0;
        pair.rule = Some(Box::new(move |passing| {
            let is_data = passing.from == Client && passing.has_data();
            count += u32::from(is_data);
            let is_lost = is_data && (count == 1 || count > 3);
            if is_lost { Fate::Drop } else { Fate::Pass }
        }));
        for ppid in 1..=3 {
            pair.send(Client, Message { ppid, ..message(ppid as u16, 100) });
        }
        pair.pass(Duration::from_millis(500));
        pair.abort(Server);
        pair.pass(Duration::from_secs(1));
        assert_eq!(failed(&pair), lost);
    }
}

#[test]
fn rest_of_a_message_is_not_sent_after_a_fragment_was_abandoned() {
    for config in [config(), with_interleaving()] {
        let mut pair = Pair::open_with(1, config);
        lose(&mut pair, &[0]);
        // More than a window: fragments wait when the first one is found to be lost.
        pair.send(Client, limited(2, 200_000, 0));
        pair.send(Client, message(2, 11));
        pair.send(Client, message(3, 12));
        pair.pass(Duration::from_secs(10));
        let mut lens = pair.host(Server).lens();
        lens.sort_unstable();
        assert_eq!(lens, [11, 12]);
        assert!(data_packets(&pair) < 20, "{}", data_packets(&pair));
    }
}

/// The timer was due again and again: found by fuzzing.
#[test]
fn forward_tsn_that_no_path_takes_waits_for_one() {
    let mut pair = Pair::new([2, 2], [config(), config()]);
    // The second path is not verified.
    pair.rule = Some(Box::new(|passing| {
        let is_lost = passing.dst == address(Server, 1) || passing.has_data();
        if is_lost { Fate::Drop } else { Fate::Pass }
    }));
    let is_open = |pair: &Pair| pair.host(Server).is_open() && pair.host(Client).is_open();
    pair.run_until("establishment", Duration::from_secs(1), is_open);
    pair.send(Client, limited(0, 3000, 0));
    let gone = InterfaceEvent::AddressRemoved(address(Client, 0));
    pair.interface(Client, 0, gone);
    let end = pair.now + Duration::from_secs(1);
    let steps = (0..1000).take_while(|_| pair.step_until(end)).count();
    assert!(steps < 1000, "{}", pair.describe());
    pair.rule = None;
    pair.pass(Duration::from_secs(10));
    pair.send(Client, message(0, 20));
    pair.pass(Duration::from_secs(5));
    assert_eq!(pair.host(Server).lens(), [20], "{}", pair.describe());
    assert!(pair.chunks(Client).any(|(_, chunk)| is_forward(chunk)));
}

#[test]
fn forward_tsn_is_repeated_when_it_is_lost() {
    let mut pair = Pair::open(1);
    let mut lost = 0;
    pair.rule = Some(Box::new(move |passing| {
        let is_lost = passing.from == Client && (passing.has_data() || passing.has(is_forward));
        lost += u32::from(is_lost);
        if is_lost && lost <= 3 { Fate::Drop } else { Fate::Pass }
    }));
    pair.send(Client, limited(0, 10, 0));
    pair.pass(Duration::from_secs(20));
    let forwards: Vec<_> = pair.chunks(Client).filter(|(_, chunk)| is_forward(chunk)).collect();
    assert_eq!(forwards.len(), 3, "{}", pair.describe());
    assert!(forwards[1].0 - forwards[0].0 >= Duration::from_secs(1));
    pair.send(Client, message(0, 20));
    pair.pass(Duration::from_secs(1));
    assert_eq!(pair.host(Server).lens(), [20]);
}

/// Regression: one FORWARD TSN skipped more messages of a stream than half of the SSNs, which the
/// receiver takes for an old one: the stream delivered nothing any more.
#[test]
fn stream_goes_on_after_more_messages_are_skipped_than_serial_numbers_can_compare() {
    let tree = GapStructure::Tree;
    let mut config = SctpConfig { gap_structure: tree, send_buffer: 64 << 20, ..config() };
    config.parameters.max_burst = 0;
    let mut pair = Pair::open_with(1, config);
    // A window for all of them.
    while pair.cwnds(Client).last().is_none_or(|cwnd| *cwnd < 1_000_000) {
        for _ in 0..100 {
            pair.send(Client, message(0, 1400));
        }
        pair.pass(Duration::from_millis(5));
    }
    pair.pass(Duration::from_millis(100));
    let before = pair.host(Server).received.len();
    pair.rule = Some(Box::new(|_| Fate::Drop));
    let sent = 40_000;
    for _ in 0..sent {
        pair.send(Client, limited(1, 1, 0));
    }
    pair.pass(Duration::from_secs(3));
    pair.rule = None;
    pair.send(Client, message(1, 2));
    pair.pass(Duration::from_secs(30));
    let received = &pair.host(Server).received[before..];
    assert_eq!(received.last().map(|last| last.payload.len()), Some(2));
    assert!(received.len() < 8000, "{} of {sent} arrive", received.len());
}

/// Regression: while data were outstanding, each time-out of FORWARD TSN was an error beside that
/// of T3-rtx, and doubled the time-out a second time.
#[test]
fn forward_tsn_and_data_that_are_lost_together_are_one_error() {
    let times = |reliability: Reliability| {
        let mut pair = Pair::open(1);
        pair.rule = Some(Box::new(|passing| match passing.from {
            Client => Fate::Drop,
            Server => Fate::Pass,
        }));
        pair.send(Client, Message { reliability, ..message(0, 10) });
        for _ in 0..3 {
            pair.send(Client, message(1, 20));
        }
        pair.pass(Duration::from_secs(20));
        let data = pair.sent(Client).filter(|passing| passing.has_data());
        let mut times: Vec<_> = data.map(|passing| passing.at).collect();
        times.dedup();
        times
    };
    assert_eq!(times(Reliability::Retransmissions(0)), times(Reliability::Full));
}

#[test]
fn forward_tsn_shares_a_packet_with_data_that_wait_for_the_window() {
    let mut pair = Pair::open(1);
    lose(&mut pair, &[0]);
    pair.send(Client, limited(0, 1000, 0));
    for _ in 0..40 {
        pair.send(Client, message(1, 1400));
    }
    pair.pass(Duration::from_secs(10));
    assert_eq!(pair.host(Server).received.len(), 40);
    let forwards: Vec<&Passing> =
        pair.sent(Client).filter(|passing| passing.has(is_forward)).collect();
    assert!(!forwards.is_empty() && forwards.iter().all(|passing| passing.has_data()));
}

#[test]
fn loss_of_what_is_abandoned_cuts_the_window_all_the_same() {
    let cwnd_after = |reliability: Reliability| {
        let mut pair = Pair::open(1);
        lose(&mut pair, &[0]);
        for _ in 0..8 {
            pair.send(Client, Message { reliability, ..message(0, 1400) });
        }
        pair.pass(Duration::from_millis(500));
        pair.info(Client).paths[0].tcp.ssthresh_segs
    };
    let reliable = cwnd_after(Reliability::Full);
    assert!(reliable.is_some_and(|ssthresh| ssthresh < 10), "{reliable:?}");
    assert_eq!(cwnd_after(Reliability::Retransmissions(0)), reliable);
}

#[test]
fn round_trips_are_measured_after_a_chunk_that_measured_one_was_abandoned() {
    // Whichever chunk is lost, and with it the rest of its message.
    for lost in 0..40 {
        let mut pair = Pair::open(1);
        let mut count = 0;
        pair.rule = Some(Box::new(move |passing| {
            let is_data = passing.from == Client && passing.has_data();
            count += u32::from(is_data);
            if is_data && count == lost + 1 { Fate::Drop } else { Fate::Pass }
        }));
        pair.send(Client, limited(1, 60_000, 0));
        pair.pass(Duration::from_secs(5));
        let before = pair.info(Client).paths[0].tcp.srtt;
        pair.rule = Some(Box::new(|passing| match passing.from == Client && passing.has_data() {
            true => Fate::Late(Duration::from_millis(100)),
            false => Fate::Pass,
        }));
        for _ in 0..10 {
            pair.send(Client, message(0, 100));
            pair.pass(Duration::from_secs(1));
        }
        let after = pair.info(Client).paths[0].tcp.srtt;
        assert!(after > before + Duration::from_millis(30), "{lost} lost: {before} to {after}");
    }
}

#[test]
fn message_without_retransmissions_is_not_sent_again_on_any_of_several_paths() {
    for (bits, silent_ms) in (0..256u32).flat_map(|bits| [(bits, 900), (bits, 5)]) {
        let with = SctpConfig { cmt: Some(CmtConfig::default()), ..config() };
        let mut pair = Pair::open_with(2, with);
        let start = pair.now;
        let silent = start + Duration::from_millis(silent_ms);
        pair.rule = Some(Box::new(move |passing| match passing.at < silent {
            true => Fate::Drop,
            false => Fate::Pass,
        }));
        for at in 0..8 {
            let once = bits >> at & 1 == 1;
            let message = if once { limited(0, 1452, 0) } else { message(0, 1452) };
            pair.send(Client, Message { ppid: u32::from(once), ..message });
        }
        pair.pass(Duration::from_secs(20));
        let mut sent = BTreeSet::new();
        for (_, chunk) in pair.chunks(Client) {
            let Chunk::Data(data) = chunk else { continue };
            let is_new = sent.insert(data.tsn.0);
            assert!(is_new || data.ppid == 0, "{bits:b}:\n{}", pair.describe());
        }
    }
}

#[test]
fn less_important_messages_make_room_even_if_they_were_sent() {
    let mut pair = Pair::open_with(1, SctpConfig { send_buffer: 10_000, ..config() });
    pair.rule = Some(Box::new(|_| Fate::Drop));
    let ranked =
        |rank, len| Message { reliability: Reliability::Priority(rank), ..message(0, len) };
    for len in [1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007] {
        pair.send(Client, ranked(5, len));
    }
    pair.send(Client, ranked(1, 9000));
    let socket = pair.socket(Client);
    let refused = pair.stack(Client).send_message(socket, ranked(3, 3000));
    assert_eq!(refused, Ok(false), "what is there is more important");
    pair.rule = None;
    pair.pass(Duration::from_secs(10));
    let lens = pair.host(Server).lens();
    assert_eq!(lens.last(), Some(&9000), "{lens:?}");
    assert!(lens.len() < 4, "{lens:?}");
}

#[test]
fn nothing_that_was_sent_is_abandoned_if_the_peer_cannot_skip_it() {
    let plain = SctpConfig { features: Features::NR_SACK, ..config() };
    let mut pair = Pair::new([1, 1], [config(), plain]);
    pair.pass(Duration::from_secs(1));
    lose(&mut pair, &[0]);
    pair.send(Client, limited(0, 10, 0));
    pair.pass(Duration::from_secs(5));
    assert_eq!(pair.host(Server).lens(), [10]);
    assert!(!pair.chunks(Client).any(|(_, chunk)| is_forward(chunk)));
    // RFC 3758 s3.3.1: the chunk is one that the peer does not know.
    pair.forge(Server, vec![Chunk::ForwardTsn(ForwardTsn::default())]);
    pair.pass(Duration::from_secs(1));
    assert!(pair.chunks(Server).any(|(_, chunk)| matches!(chunk, Chunk::Error(_))));
    pair.send(Client, message(0, 20));
    pair.pass(Duration::from_secs(1));
    assert_eq!(pair.host(Server).lens(), [10, 20]);
}

#[test]
fn forward_tsn_of_the_other_kind_aborts() {
    let forward = || Chunk::ForwardTsn(ForwardTsn { new_cum_tsn: Tsn(1), streams: [].into() });
    let mut pair = Pair::open_with(1, with_interleaving());
    pair.forge(Server, vec![forward()]);
    assert!(pair.chunks(Server).any(|(_, chunk)| matches!(chunk, Chunk::Abort { .. })));
}

fn reliability() -> impl Strategy<Value = Reliability> {
    prop_oneof![
        Just(Reliability::Full),
        (0..3u32).prop_map(Reliability::Retransmissions),
        (0..3000u64).prop_map(|ms| {
            Reliability::Lifetime(base::Instant::ZERO + Duration::from_millis(1100 + ms))
        }),
        (0..3u32).prop_map(Reliability::Priority),
    ]
}

fn messages() -> impl Strategy<Value = Vec<(u16, usize, bool, Reliability)>> {
    let one = (0..4u16, 5..6000usize, proptest::bool::ANY, reliability());
    proptest::collection::vec(one, 1..40)
}

proptest! {
    #![proptest_config(crate::cases(16))]
    #[test]
    fn reliable_messages_arrive_once_and_in_order_whatever_is_abandoned_beside_them(
        messages in messages(),
        interleaved: bool,
        seed: u64,
        loss in 0..25u64,
    ) {
        let config = if interleaved { with_interleaving() } else { config() };
        let mut pair = Pair::open_with(2, config);
        let mut count = 0u64;
        pair.rule = Some(Box::new(move |_| {
            count += 1;
            let bits = (seed ^ count).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
            if bits % 100 < loss { Fate::Drop } else { Fate::Pass }
        }));
        for (index, (stream, len, unordered, reliability)) in messages.iter().enumerate() {
            let mut bytes = vec![0; *len];
            bytes[0] = index as u8;
            let payload = Payload::from(bytes);
            let (stream, unordered, reliability) = (*stream, *unordered, *reliability);
            let message = Message { payload, unordered, reliability, ..message(stream, 1) };
            pair.send(Client, message);
            if index % 7 == 0 {
                pair.pass(Duration::from_millis(40));
            }
        }
        pair.pass(Duration::from_secs(60));
        pair.rule = None;
        pair.pass(Duration::from_secs(120));
        let index = |payload: &Payload| usize::from(payload.to_bytes()[0]);
        let got: Vec<usize> =
            pair.host(Server).received.iter().map(|message| index(&message.payload)).collect();
        let mut once = got.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), got.len(), "each once: {:?}", got);
        for (at, (_, _, _, reliability)) in messages.iter().enumerate() {
            let is_lost = *reliability == Reliability::Full && !got.contains(&at);
            prop_assert_eq!(is_lost, false, "message {} is lost: {}", at, pair.describe());
        }
        for stream in 0..4 {
            let ordered: Vec<usize> = got.iter().copied()
                .filter(|at| messages[*at].0 == stream && !messages[*at].2).collect();
            prop_assert_eq!(ordered.is_sorted(), true, "stream {}: {:?}", stream, ordered);
        }
        pair.shutdown(Client);
        pair.pass(Duration::from_secs(10));
        prop_assert_eq!(pair.host(Server).has(SocketEventKind::Closed), true);
    }
}
