//! Fragments, numbers and the order of stream schedulers.

use super::*;

/// Payload of a full DATA chunk in a packet of 1500 bytes.
const FULL: u32 = 1452;

fn message(stream: u16, len: u32) -> Message {
    Message {
        stream,
        ppid: 7,
        unordered: false,
        immediate: false,
        reliability: Reliability::Full,
        payload: Payload::virtual_range(stream.into(), 0, len),
    }
}

fn streams(framing: Framing, order: StreamOrder) -> OutboundStreams {
    OutboundStreams::new(10, framing, order)
}

fn fcfs(framing: Framing) -> OutboundStreams {
    streams(framing, StreamOrder::Fcfs)
}

/// Everything queued, in chunks of up to `max` bytes.
fn drain(out: &mut OutboundStreams, max: u32) -> Vec<Fragment> {
    let fragments: Vec<Fragment> = std::iter::from_fn(|| {
        let expected = out.next_len(max);
        let fragment = out.take(max);
        assert_eq!(expected, fragment.as_ref().map(|fragment| fragment.payload.len()));
        fragment
    })
    .collect();
    assert_eq!(out.queued_bytes(), 0);
    fragments
}

fn lens(fragments: &[Fragment]) -> Vec<u32> {
    fragments.iter().map(|fragment| fragment.payload.len()).collect()
}

fn order_of(fragments: &[Fragment]) -> Vec<u16> {
    fragments.iter().map(|fragment| fragment.stream).collect()
}

#[test]
fn video_frame_of_3958_bytes_is_three_fragments() {
    let mut out = fcfs(Framing::Data);
    out.push(Message { immediate: true, ..message(3, 3958) }).unwrap();
    let fragments = drain(&mut out, FULL);
    assert_eq!(lens(&fragments), [1452, 1452, 1054]);
    let bits = |f: &Fragment| (f.is_first(), f.is_last(), f.flags.contains(DataFlags::IMMEDIATE));
    let bits: Vec<_> = fragments.iter().map(bits).collect();
    assert_eq!(bits, [(true, false, false), (false, false, false), (false, true, true)]);
    assert!(fragments.iter().all(|fragment| fragment.sequence == Sequence::Ssn(Ssn(0))));
    assert_eq!(fragments[1].payload, Payload::virtual_range(3, 1452, 1452));
}

#[test]
fn chunks_have_the_bits_and_numbers_of_their_fragment() {
    let mut out = fcfs(Framing::Data);
    out.push(Message { unordered: true, immediate: true, ..message(2, 8) }).unwrap();
    let ends = [DataFlags::BEGIN, DataFlags::END | DataFlags::IMMEDIATE];
    for (fragment, end) in drain(&mut out, 4).iter().zip(ends) {
        let Chunk::Data(data) = fragment.to_chunk(Tsn(9)) else { panic!("DATA") };
        assert_eq!(data.flags, end | DataFlags::UNORDERED);
        assert_eq!((data.tsn, data.stream, data.ppid, data.payload.len()), (Tsn(9), 2, 7, 4));
    }

    let mut out = fcfs(Framing::Interleaved);
    out.push(message(2, 10)).unwrap();
    let chunks: Vec<_> = drain(&mut out, 4).iter().map(|f| f.to_chunk(Tsn(9))).collect();
    let fields = chunks.iter().map(|chunk| match chunk {
        Chunk::IData(data) => (data.flags, data.mid, data.ppid_or_fsn),
        other => panic!("{other:?}"),
    });
    let expected =
        [(DataFlags::BEGIN, 7), (DataFlags::default(), 1), (DataFlags::END, 2)].into_iter();
    assert!(fields.eq(expected.map(|(flags, number)| (flags, Mid(0), number))));
}

#[test]
fn ssn_counts_ordered_messages_of_a_stream_and_wraps() {
    let mut out = fcfs(Framing::Data);
    for _ in 0..65_537 {
        out.push(message(1, 1)).unwrap();
    }
    out.push(message(2, 1)).unwrap();
    out.push(Message { unordered: true, ..message(1, 1) }).unwrap();
    out.push(message(1, 1)).unwrap();
    let fragments = drain(&mut out, FULL);
    let ssn = |index: usize| fragments[index].sequence;
    assert_eq!([ssn(0), ssn(65_535)], [Sequence::Ssn(Ssn(0)), Sequence::Ssn(Ssn(65_535))]);
    assert_eq!([ssn(65_536), ssn(65_537)], [Sequence::Ssn(Ssn(0)), Sequence::Ssn(Ssn(0))]);
    assert_eq!(ssn(65_539), Sequence::Ssn(Ssn(1)), "the unordered one has none");
}

#[test]
fn mids_count_ordered_and_unordered_messages_apart() {
    let mut out = fcfs(Framing::Interleaved);
    for unordered in [false, true, true, false] {
        out.push(Message { unordered, ..message(0, 1) }).unwrap();
    }
    let mids = drain(&mut out, FULL).into_iter().map(|fragment| fragment.sequence);
    let expected = [0, 0, 1, 1].map(|mid| Sequence::Mid { mid: Mid(mid), fsn: 0 });
    assert!(mids.eq(expected));
}

#[test]
fn message_without_bytes_or_stream_is_refused() {
    let mut out = fcfs(Framing::Data);
    assert_eq!(out.push(message(0, 0)), Err(InvalidStream::Empty));
    assert_eq!(out.push(message(10, 1)), Err(InvalidStream::Unknown));
    assert_eq!(out.append(10, Payload::virtual_range(0, 0, 1), 9), Err(InvalidStream::Unknown));
    out.add_streams(1);
    assert_eq!((out.push(message(10, 1)), out.streams()), (Ok(()), 11));
    out.add_streams(u16::MAX);
    assert_eq!(out.streams(), u16::MAX);
    assert_eq!(out.take(0), None, "no room");
}

#[test]
fn appended_bytes_fill_the_last_message_that_has_not_begun() {
    let mut out = fcfs(Framing::Data);
    let append = |out: &mut OutboundStreams, from, len| {
        out.append(0, Payload::virtual_range(1, from, len), FULL).unwrap();
    };
    append(&mut out, 0, 1000);
    append(&mut out, 1000, 2000);
    assert_eq!(out.queued_bytes(), 3000);
    assert_eq!(out.take(FULL).map(|first| first.payload), Some(Payload::virtual_range(1, 0, FULL)));
    assert_eq!(
        out.take(1000).map(|second| (second.is_first(), second.is_last())),
        Some((true, false))
    );
    append(&mut out, 3000, 300);
    out.push(message(0, 5)).unwrap();
    append(&mut out, 3300, 100);
    let rest = drain(&mut out, FULL);
    assert_eq!(lens(&rest), [452, 396, 5, 100], "bytes stay in order around a message");
    assert!(out.is_idle(0));
}

#[test]
fn message_that_has_begun_is_finished_first_without_i_data() {
    for order in StreamOrder::names().filter_map(StreamOrder::by_name) {
        let mut out = streams(Framing::Data, order);
        out.push(message(4, 30)).unwrap();
        assert_eq!(out.take(10).map(|fragment| fragment.stream), Some(4));
        out.set_priority(4, 9);
        out.push(message(1, 10)).unwrap();
        out.end_packet();
        assert_eq!(order_of(&[out.take(10).unwrap(), out.take(10).unwrap()]), [4, 4], "{order:?}");
        out.end_packet();
        assert_eq!(out.take(10).map(|fragment| fragment.stream), Some(1), "{order:?}");
    }
}

/// Streams in the order of their fragments: two messages of 20 bytes on streams 5, 2 and 8, cut
/// into chunks of 10 bytes, two in a packet.
fn two_messages_each(framing: Framing, order: StreamOrder) -> Vec<u16> {
    let mut out = streams(framing, order);
    for (stream, priority, weight) in [(5, 2, 1), (2, 1, 2), (8, 1, 1)] {
        out.set_priority(stream, priority);
        out.set_weight(stream, weight);
        out.push(message(stream, 20)).unwrap();
        out.push(message(stream, 20)).unwrap();
    }
    let mut taken = Vec::new();
    while out.queued_bytes() > 0 {
        taken.extend([out.take(10), out.take(10)].into_iter().flatten());
        out.end_packet();
    }
    order_of(&taken)
}

#[test]
fn every_stream_scheduler_has_its_order() {
    use Framing::{Data, Interleaved};
    use StreamOrder::*;
    let table: [(StreamOrder, Framing, [u16; 12]); 12] = [
        (Fcfs, Data, [5, 5, 5, 5, 2, 2, 2, 2, 8, 8, 8, 8]),
        (Fcfs, Interleaved, [5, 5, 5, 5, 2, 2, 2, 2, 8, 8, 8, 8]),
        (RoundRobin, Data, [5, 5, 2, 2, 8, 8, 5, 5, 2, 2, 8, 8]),
        (RoundRobin, Interleaved, [5, 2, 8, 5, 2, 8, 5, 2, 8, 5, 2, 8]),
        (RoundRobinPacket, Data, [5, 5, 2, 2, 8, 8, 5, 5, 2, 2, 8, 8]),
        (RoundRobinPacket, Interleaved, [5, 5, 2, 2, 8, 8, 5, 5, 2, 2, 8, 8]),
        (Priority, Data, [2, 2, 8, 8, 2, 2, 8, 8, 5, 5, 5, 5]),
        (Priority, Interleaved, [2, 8, 2, 8, 2, 8, 2, 8, 5, 5, 5, 5]),
        (Fair, Data, [5, 5, 2, 2, 8, 8, 5, 5, 2, 2, 8, 8]),
        (Fair, Interleaved, [5, 2, 8, 5, 2, 8, 5, 2, 8, 5, 2, 8]),
        (WeightedFair, Data, [5, 5, 2, 2, 8, 8, 2, 2, 5, 5, 8, 8]),
        (WeightedFair, Interleaved, [5, 2, 8, 2, 5, 8, 2, 2, 5, 8, 5, 8]),
    ];
    for (order, framing, expected) in table {
        assert_eq!(two_messages_each(framing, order), expected, "{order:?} with {framing:?}");
    }
}

#[test]
fn stream_that_was_alone_takes_turns_with_one_that_is_new() {
    for order in [StreamOrder::RoundRobin, StreamOrder::Priority] {
        let mut out = streams(Framing::Data, order);
        out.append(0, Payload::virtual_range(0, 0, 50), 10).unwrap();
        assert_eq!(order_of(&[out.take(10).unwrap(), out.take(10).unwrap()]), [0, 0]);
        out.append(1, Payload::virtual_range(1, 0, 20), 10).unwrap();
        assert_eq!(order_of(&drain(&mut out, 10)), [0, 1, 0, 1, 0], "{order:?}");
    }
}

#[test]
fn packet_has_data_of_one_stream_in_packet_round_robin() {
    let mut out = streams(Framing::Data, StreamOrder::RoundRobinPacket);
    out.push(message(0, 10)).unwrap();
    out.push(message(1, 10)).unwrap();
    assert_eq!(out.take(100).map(|fragment| fragment.stream), Some(0));
    assert_eq!((out.next_len(100), out.take(100)), (None, None));
    out.push(message(0, 10)).unwrap();
    assert_eq!(out.take(100).map(|fragment| fragment.stream), Some(0), "it has more");
    out.end_packet();
    assert_eq!(out.take(100).map(|fragment| fragment.stream), Some(1));
}

#[test]
fn weighted_fair_shares_follow_the_weights() {
    let mut out = streams(Framing::Interleaved, StreamOrder::WeightedFair);
    for (stream, weight) in [(0, 1), (1, 2), (2, 5)] {
        out.set_weight(stream, weight);
        out.push(message(stream, 1 << 20)).unwrap();
    }
    let mut sent = [0u32; 3];
    for _ in 0..800 {
        let fragment = out.take(1000).unwrap();
        sent[usize::from(fragment.stream)] += fragment.payload.len();
    }
    assert!((99_000..=101_000).contains(&sent[0]), "{sent:?}");
    assert!((198_000..=202_000).contains(&sent[1]), "{sent:?}");
}

#[test]
fn idle_stream_does_not_catch_up_in_fair_order() {
    let mut out = streams(Framing::Data, StreamOrder::Fair);
    for _ in 0..100 {
        out.push(message(0, 1000)).unwrap();
    }
    for _ in 0..50 {
        out.take(1000);
    }
    for _ in 0..50 {
        out.push(message(1, 1000)).unwrap();
    }
    let next: Vec<u16> = (0..40).filter_map(|_| Some(out.take(1000)?.stream)).collect();
    assert_eq!(next.iter().filter(|stream| **stream == 1).count(), 20, "{next:?}");
}

#[test]
fn expired_messages_leave_no_gap_in_the_ssns() {
    let mut out = fcfs(Framing::Data);
    let timed = |ms, len| {
        let reliability = Reliability::Lifetime(Instant::from_millis(ms));
        Message { reliability, ..message(0, len) }
    };
    for (ms, len) in [(30, 40), (20, 2), (50, 3), (20, 4)] {
        out.push(timed(ms, len)).unwrap();
    }
    out.take(10);
    assert_eq!(out.next_expiry(), Some(Instant::from_millis(20)));
    assert_eq!(out.drop_expired(Instant::from_millis(19)), []);
    let dropped = out.drop_expired(Instant::from_millis(40));
    let bytes: Vec<u64> = dropped.iter().map(|dropped| dropped.bytes).collect();
    assert_eq!((bytes, dropped[0].message), (vec![2, 4], MessageKey(1)), "30 ms has begun");
    assert_eq!(out.next_expiry(), Some(Instant::from_millis(50)));
    let rest = drain(&mut out, 100);
    assert_eq!(lens(&rest), [30, 3]);
    assert_eq!(rest[1].sequence, Sequence::Ssn(Ssn(1)));
    assert_eq!(out.next_expiry(), None);
}

#[test]
fn less_important_messages_make_room() {
    let mut out = fcfs(Framing::Data);
    let ranked =
        |priority, len| Message { reliability: Reliability::Priority(priority), ..message(0, len) };
    for (priority, len) in [(9, 100), (3, 10), (5, 20), (7, 40), (5, 80)] {
        out.push(ranked(priority, len)).unwrap();
    }
    out.push(message(0, 1000)).unwrap();
    assert_eq!(out.take(1).map(|begun| begun.message), Some(MessageKey(0)));
    let bytes = |dropped: Vec<Dropped>| dropped.iter().map(|d| d.bytes).collect::<Vec<_>>();
    assert_eq!(bytes(out.make_room(50, Some(4))), [40, 20], "one that has begun stays");
    assert_eq!(bytes(out.make_room(u64::MAX, Some(4))), [80], "only less important ones");
    assert_eq!(out.queued_bytes(), 99 + 10 + 1000);
}

#[test]
fn rest_of_an_abandoned_message_is_dropped() {
    let mut out = fcfs(Framing::Data);
    out.push(message(0, 100)).unwrap();
    out.push(message(1, 10)).unwrap();
    assert!(out.abandon(MessageKey(0)).is_none(), "it has not begun");
    out.take(30);
    let rest = out.abandon(MessageKey(0)).expect("a rest");
    assert_eq!((rest.message, rest.payload.len(), rest.is_last()), (MessageKey(0), 70, true));
    assert!(out.abandon(MessageKey(0)).is_none());
    out.push(message(0, 5)).unwrap();
    let rest = drain(&mut out, 100);
    assert_eq!(order_of(&rest), [1, 0]);
    assert_eq!(rest[1].sequence, Sequence::Ssn(Ssn(1)), "its SSN was bound");
}

#[test]
fn reset_streams_number_from_zero() {
    let mut out = fcfs(Framing::Data);
    let ssns = |out: &mut OutboundStreams| -> Vec<Sequence> {
        (0..3).for_each(|stream| out.push(message(stream, 1)).unwrap());
        drain(out, FULL).iter().map(|fragment| fragment.sequence).collect()
    };
    ssns(&mut out);
    out.reset(&[1, 9]);
    assert_eq!(ssns(&mut out), [1, 0, 1].map(|ssn| Sequence::Ssn(Ssn(ssn))));
    out.reset(&[]);
    assert_eq!(ssns(&mut out), [Sequence::Ssn(Ssn(0)); 3]);
}
