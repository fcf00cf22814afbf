//! Reassembly, order of delivery, skipped messages, hostile chunks.

use super::*;
use crate::sctp::streams::{Message, OutboundStreams, Reliability, StreamOrder};
use proptest::prelude::*;
use wire::payload::Content;
use wire::sctp::{Chunk, Tsn};

const NONE: DataFlags = DataFlags(0);
const BEGIN: DataFlags = DataFlags::BEGIN;
const END: DataFlags = DataFlags::END;
const WHOLE: DataFlags = DataFlags::WHOLE;
const UNORDERED: DataFlags = DataFlags::UNORDERED;

/// Offset of the TSN, stream, SSN and flags of DATA.
type Plain = (u64, u16, u16, DataFlags);
/// FSN and flags of I-DATA.
type Interleaved = (u32, DataFlags);

/// A chunk of 10 bytes.
fn data(stream: u16, ssn: u16, flags: DataFlags) -> Data {
    let payload = Payload::virtual_range(stream.into(), 0, 10);
    Data { flags, stream, ssn: Ssn(ssn), ppid: 7, payload, ..Data::default() }
}

fn idata(stream: u16, mid: u32, fsn: u32, flags: DataFlags) -> IData {
    let payload = Payload::virtual_range(stream.into(), u64::from(fsn) * 10, 10);
    IData { flags, stream, mid: Mid(mid), ppid_or_fsn: fsn, payload, ..IData::default() }
}

fn streams(framing: Framing) -> InboundStreams {
    InboundStreams::new(10, framing)
}

/// What is delivered, as (stream, bytes).
fn pop(streams: &mut InboundStreams) -> Vec<(u16, u32)> {
    let received: Vec<Received> = std::iter::from_fn(|| streams.pop()).collect();
    received.iter().map(|received| (received.stream, received.payload.len())).collect()
}

/// DATA chunks in this order of arrival.
fn arrive(streams: &mut InboundStreams, chunks: &[Plain]) {
    for (at, stream, ssn, flags) in chunks.iter().copied() {
        streams.insert(at, &mut data(stream, ssn, flags)).unwrap();
    }
}

#[test]
fn loss_on_one_stream_blocks_neither_another_nor_unordered_messages() {
    let mut streams = streams(Framing::Data);
    // TSN 1, SSN 1 of stream 0, is lost.
    let unordered = WHOLE | UNORDERED;
    arrive(&mut streams, &[(0, 0, 0, WHOLE), (2, 1, 0, WHOLE), (3, 0, 2, WHOLE)]);
    arrive(&mut streams, &[(4, 0, 0, unordered), (5, 1, 1, WHOLE)]);
    assert_eq!((streams.readable(), streams.waiting_bytes()), (40, 10));
    assert_eq!(pop(&mut streams), [(0, 10), (1, 10), (0, 10), (1, 10)]);
    assert_eq!((streams.held_bytes(), streams.readable()), (10, 0));
    arrive(&mut streams, &[(1, 0, 1, WHOLE)]);
    assert_eq!(pop(&mut streams), [(0, 10), (0, 10)]);
    assert_eq!(streams.held_bytes(), 0);
}

#[test]
fn fragments_in_any_order_make_the_message() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in orders {
        let (mut plain, mut interleaved) = (streams(Framing::Data), streams(Framing::Interleaved));
        for at in order {
            let flags = [BEGIN, NONE, END][at as usize];
            let mut chunk = data(3, 0, flags);
            chunk.payload = Payload::virtual_range(3, u64::from(at) * 10, 10);
            plain.insert(at.into(), &mut chunk).unwrap();
            interleaved.insert_interleaved(at.into(), &mut idata(3, 0, at, flags)).unwrap();
        }
        for streams in [&mut plain, &mut interleaved] {
            let whole = streams.pop().map(|received| received.payload);
            assert_eq!(whole, Some(Payload::virtual_range(3, 0, 30)), "{order:?}");
            assert_eq!(streams.held_bytes(), 0);
        }
    }
}

#[test]
fn interleaved_messages_are_put_together_apart() {
    let mut streams = streams(Framing::Interleaved);
    let unordered = BEGIN | UNORDERED;
    let chunks = [(0, 0, BEGIN), (1, 0, BEGIN), (0, 0, unordered), (0, 1, NONE), (1, 1, END)];
    for (at, (stream, fsn, flags)) in (0..).zip(chunks) {
        streams.insert_interleaved(at, &mut idata(stream, 0, fsn, flags)).unwrap();
    }
    assert_eq!(pop(&mut streams), [(1, 20)]);
    streams.insert_interleaved(6, &mut idata(0, 0, 1, END | UNORDERED)).unwrap();
    streams.insert_interleaved(5, &mut idata(0, 0, 2, END)).unwrap();
    assert_eq!(pop(&mut streams), [(0, 20), (0, 30)]);
}

#[test]
fn ssn_and_mid_wrap() {
    let mut plain = streams(Framing::Data);
    let mut interleaved = streams(Framing::Interleaved);
    interleaved.streams.entry(0).next = u64::from(u32::MAX) - 70_000;
    for at in 0..140_000u64 {
        plain.insert(at ^ 1, &mut data(0, (at ^ 1) as u16, WHOLE)).unwrap();
        let mid = (u32::MAX - 70_000).wrapping_add(at as u32 ^ 1);
        interleaved.insert_interleaved(at ^ 1, &mut idata(0, mid, 0, WHOLE)).unwrap();
    }
    assert_eq!((plain.readable(), interleaved.readable()), (1_400_000, 1_400_000));
}

#[test]
fn all_other_ssns_can_wait_for_a_lost_message() {
    let mut streams = streams(Framing::Data);
    for ssn in (1..=u16::MAX).rev() {
        streams.insert(ssn.into(), &mut data(0, ssn, WHOLE)).unwrap();
    }
    assert_eq!((streams.readable(), streams.waiting_bytes()), (0, 655_350));
    streams.skip(0, &[(0, Ssn(u16::MAX))]);
    assert_eq!(streams.readable(), 0, "an old FORWARD TSN");
    streams.insert(0, &mut data(0, 0, WHOLE)).unwrap();
    assert_eq!(streams.readable(), 655_360);
}

#[test]
fn message_of_i_data_that_was_delivered_does_not_come_again() {
    let mut streams = streams(Framing::Interleaved);
    streams.insert_interleaved(0, &mut idata(0, 0, 0, WHOLE)).unwrap();
    let again = streams.insert_interleaved(1, &mut idata(0, 0, 0, WHOLE));
    assert_eq!(again, Err(Violation::Malformed("two messages with one number")));
    assert_eq!(streams.held_bytes(), 10);
}

#[test]
fn bytes_are_read_without_regard_to_messages() {
    let mut streams = streams(Framing::Data);
    for at in 0..5u64 {
        let payload = Payload::virtual_range(9, at * 10, 10);
        let chunk = Data { payload, ..data(0, at as u16, WHOLE) };
        streams.insert(at, &mut chunk.clone()).unwrap();
    }
    assert_eq!(streams.read(25), Payload::virtual_range(9, 0, 25));
    assert_eq!((streams.readable(), streams.held_bytes()), (25, 25));
    assert_eq!(streams.pop().map(|rest| rest.payload), Some(Payload::virtual_range(9, 25, 5)));
    assert_eq!(streams.read(0), Payload::EMPTY);
    assert_eq!(streams.read(u32::MAX), Payload::virtual_range(9, 30, 20));
    assert_eq!(streams.held_bytes(), 0);
}

#[test]
fn forward_tsn_releases_stranded_messages() {
    // RFC 3758 s3.6: 102 is acknowledged, 103 is abandoned, 104, 105 and 107 have arrived.
    let mut streams = streams(Framing::Data);
    arrive(&mut streams, &[(102, 1, 0, WHOLE), (104, 1, 2, WHOLE), (105, 1, 3, WHOLE)]);
    arrive(&mut streams, &[(107, 1, 5, WHOLE)]);
    assert_eq!(pop(&mut streams), [(1, 10)]);
    streams.skip(104, &[(1, Ssn(1))]);
    assert_eq!(pop(&mut streams), [(1, 10), (1, 10)], "104 and 105, 106 is missing");
    arrive(&mut streams, &[(106, 1, 4, WHOLE)]);
    assert_eq!(pop(&mut streams), [(1, 10), (1, 10)]);
}

#[test]
fn forward_tsn_drops_incomplete_messages_and_keeps_complete_ones() {
    let mut streams = streams(Framing::Data);
    // SSN 0 is lost, SSN 1 complete, SSN 2 lacks its end, an unordered message lacks its middle.
    arrive(&mut streams, &[(1, 0, 1, BEGIN), (2, 0, 1, END), (3, 0, 2, BEGIN)]);
    arrive(&mut streams, &[(5, 4, 0, BEGIN | UNORDERED), (7, 4, 0, END | UNORDERED)]);
    assert_eq!(streams.waiting_bytes(), 50);
    streams.skip(8, &[(0, Ssn(2)), (77, Ssn(5))]);
    assert_eq!(pop(&mut streams), [(0, 20)]);
    assert_eq!(streams.held_bytes(), 0);
    arrive(&mut streams, &[(8, 0, 3, WHOLE)]);
    assert_eq!(pop(&mut streams), [(0, 10)]);
}

#[test]
fn i_forward_tsn_skips_messages_of_streams() {
    let mut streams = streams(Framing::Interleaved);
    let chunks = [
        (1, 0, 0, BEGIN),
        (1, 1, 0, WHOLE),
        (1, 0, 0, BEGIN | UNORDERED),
        (2, 0, 0, BEGIN),
        (1, 3, 0, BEGIN),
    ];
    for (at, (stream, mid, fsn, flags)) in (0..).zip(chunks) {
        streams.insert_interleaved(at, &mut idata(stream, mid, fsn, flags)).unwrap();
    }
    let skipped = |unordered, mid| SkippedMessages { stream: 1, unordered, mid: Mid(mid) };
    streams.skip_interleaved(5, &[skipped(false, 2), skipped(true, 0)]);
    assert_eq!(pop(&mut streams), [(1, 10)]);
    assert_eq!(streams.held_bytes(), 20, "stream 2, and MID 3 of stream 1");
    streams.insert_interleaved(5, &mut idata(1, 3, 1, END)).unwrap();
    assert_eq!(pop(&mut streams), [(1, 20)]);
    assert_eq!(streams.partial.discard(5), 0);
}

#[test]
fn skipped_messages_are_those_that_are_not_above_in_serial_arithmetic() {
    let mut streams = streams(Framing::Interleaved);
    for (at, mid) in (0..).zip([u32::MAX - 1, u32::MAX, 0, 1, 2]) {
        streams.insert_interleaved(at, &mut idata(1, mid, 0, BEGIN | UNORDERED)).unwrap();
    }
    let skipped = SkippedMessages { stream: 1, unordered: true, mid: Mid(0) };
    streams.skip_interleaved(0, &[skipped]);
    assert_eq!(streams.held_bytes(), 20);
}

#[test]
fn discarded_chunk_is_accepted_again() {
    let mut streams = streams(Framing::Data);
    arrive(&mut streams, &[(1, 0, 1, BEGIN), (2, 0, 1, NONE), (3, 0, 1, END), (5, 0, 3, END)]);
    assert_eq!([5, 2, 2, 4, 0].map(|at| streams.discard(at)), [10, 10, 0, 0, 0]);
    assert_eq!(streams.held_bytes(), 20);
    arrive(&mut streams, &[(0, 0, 0, WHOLE), (2, 0, 1, NONE)]);
    assert_eq!(pop(&mut streams), [(0, 10), (0, 30)]);
    assert_eq!((streams.discard(0), streams.held_bytes()), (0, 0), "it is delivered");
}

#[test]
fn discarded_fragment_of_i_data_is_accepted_again() {
    let mut streams = streams(Framing::Interleaved);
    for (at, fsn, flags) in [(7, 2, END), (3, 0, BEGIN), (5, 1, NONE)] {
        streams.insert_interleaved(at, &mut idata(0, 1, fsn, flags)).unwrap();
    }
    assert_eq!([5, 5, 7].map(|at| streams.discard(at)), [10, 0, 10]);
    streams.insert_interleaved(5, &mut idata(0, 1, 1, NONE)).unwrap();
    streams.insert_interleaved(7, &mut idata(0, 1, 2, END)).unwrap();
    streams.insert_interleaved(1, &mut idata(0, 0, 0, WHOLE)).unwrap();
    assert_eq!(pop(&mut streams), [(0, 10), (0, 30)]);
    assert!(streams.index().is_empty() && is_indexed(&streams));
}

#[test]
fn reset_streams_expect_zero_again() {
    let mut streams = streams(Framing::Data);
    arrive(&mut streams, &[(0, 0, 0, WHOLE), (1, 1, 0, WHOLE), (2, 1, 2, WHOLE)]);
    streams.reset(&[0, 9]);
    arrive(&mut streams, &[(3, 0, 0, WHOLE)]);
    assert_eq!(pop(&mut streams).len(), 3);
    streams.reset(&[]);
    assert_eq!(pop(&mut streams), [(1, 10)], "what waited");
    arrive(&mut streams, &[(4, 1, 0, WHOLE), (5, 0, 0, WHOLE)]);
    assert_eq!(pop(&mut streams).len(), 2);
}

#[test]
fn chunk_on_a_stream_that_does_not_exist_is_refused() {
    let mut streams = streams(Framing::Data);
    assert_eq!(streams.insert(0, &mut data(10, 0, WHOLE)), Err(Violation::InvalidStream));
    streams.add_streams(1);
    assert_eq!(streams.insert(1, &mut data(10, 0, WHOLE)), Ok(()));
    assert_eq!((streams.streams(), streams.held_bytes()), (11, 10));
}

#[test]
fn contradictory_data_is_a_violation() {
    let table: [(&str, &[Plain], Plain); 11] = [
        ("first chunk is not a first fragment", &[], (0, 0, 0, END)),
        ("behind a whole message", &[(0, 0, 0, WHOLE)], (1, 0, 1, NONE)),
        ("behind a last fragment", &[(7, 0, 0, END)], (8, 0, 1, NONE)),
        ("a message begins within another", &[(7, 0, 0, BEGIN)], (8, 0, 1, BEGIN)),
        ("a whole message within another", &[(7, 0, 0, BEGIN)], (8, 0, 1, WHOLE)),
        ("no end before a first fragment", &[(8, 0, 0, BEGIN)], (7, 0, 1, BEGIN)),
        ("an end before a middle fragment", &[(8, 0, 0, NONE)], (7, 0, 0, END)),
        ("another SSN", &[(7, 0, 0, BEGIN)], (8, 0, 1, END)),
        ("another stream", &[(8, 0, 0, NONE)], (7, 1, 0, NONE)),
        ("ordered and unordered", &[(7, 0, 0, BEGIN)], (8, 0, 0, END | UNORDERED)),
        ("an SSN twice", &[(7, 0, 1, WHOLE)], (9, 0, 1, WHOLE)),
    ];
    for (name, before, (at, stream, ssn, flags)) in table {
        let mut streams = streams(Framing::Data);
        arrive(&mut streams, before);
        let held = streams.held_bytes();
        let result = streams.insert(at, &mut data(stream, ssn, flags));
        assert!(matches!(result, Err(Violation::Malformed(_))), "{name}: {result:?}");
        assert_eq!(streams.held_bytes(), held, "{name}");
    }
    let mut streams = streams(Framing::Data);
    let mut empty = Data { payload: Payload::EMPTY, ..data(0, 0, WHOLE) };
    assert!(streams.insert(0, &mut empty).is_err());
    assert!(streams.insert_interleaved(0, &mut idata(0, 0, 0, WHOLE)).is_err());
}

#[test]
fn contradictory_i_data_is_a_violation() {
    let table: [(&str, &[Interleaved], Interleaved); 6] = [
        ("fragment 0 without B", &[], (0, END)),
        ("an FSN twice", &[(3, NONE)], (3, NONE)),
        ("behind the end", &[(3, END)], (5, NONE)),
        ("an end before others", &[(5, NONE)], (3, END)),
        ("whole and not", &[(5, NONE)], (0, WHOLE)),
        ("two ends", &[(5, END)], (6, END)),
    ];
    for (name, before, (fsn, flags)) in table {
        let mut streams = streams(Framing::Interleaved);
        for (at, (fsn, flags)) in (0..).zip(before) {
            streams.insert_interleaved(at, &mut idata(0, 0, *fsn, *flags)).unwrap();
        }
        let result = streams.insert_interleaved(90, &mut idata(0, 0, fsn, flags));
        assert!(matches!(result, Err(Violation::Malformed(_))), "{name}: {result:?}");
        assert_eq!(streams.held_bytes(), 10 * before.len() as u64, "{name}");
    }
}

#[test]
fn streams_cost_memory_when_they_are_used() {
    let mut streams = InboundStreams::new(u16::MAX, Framing::Data);
    arrive(&mut streams, &[(0, 65_534, 0, WHOLE), (1, 7, 0, WHOLE | UNORDERED)]);
    assert_eq!(streams.streams.keys().count(), 1);
}

/// A message: stream, bytes, unordered.
fn messages() -> impl Strategy<Value = Vec<(u16, u32, bool)>> {
    prop::collection::vec((0..4u16, 1..60u32, prop::bool::weighted(0.3)), 1..30)
}

fn insert(streams: &mut InboundStreams, at: u64, chunk: Chunk) -> Result<(), Violation> {
    match chunk {
        Chunk::Data(mut data) => streams.insert(at, &mut data),
        Chunk::IData(mut data) => streams.insert_interleaved(at, &mut data),
        other => panic!("{other:?}"),
    }
}

/// A chunk with fields near one another, so that they collide.
fn any_chunk(interleaved: bool) -> impl Strategy<Value = (u64, Chunk)> {
    let payload = (0..20u32).prop_map(|len| Payload::virtual_range(1, 0, len));
    let fields = (0..40u64, 0..16u8, 0..4u16, 0..6u32, 0..5u32, payload);
    fields.prop_map(move |(at, flags, stream, number, fsn, payload)| {
        let (flags, tsn) = (DataFlags(flags), Tsn(0));
        let chunk = if interleaved {
            let (mid, ppid_or_fsn) = (Mid(number), fsn);
            Chunk::IData(IData { flags, tsn, stream, mid, ppid_or_fsn, payload })
        } else {
            let ssn = Ssn(number as u16);
            Chunk::Data(Data { flags, tsn, stream, ssn, ppid: fsn, payload })
        };
        (at, chunk)
    })
}

/// One step of a hostile peer, or of a receiver that lacks memory.
fn disturb(streams: &mut InboundStreams, what: u8, at: u64) {
    let number = (at % 7) as u32;
    let skipped = SkippedMessages { stream: 1, unordered: what & 1 == 0, mid: Mid(number) };
    match what {
        0 => streams.skip(at, &[(1, Ssn(number as u16)), (2, Ssn(u16::MAX))]),
        1 | 2 => streams.skip_interleaved(at, &[skipped]),
        3 => streams.reset(&[1]),
        4 | 5 => {
            let before = streams.held_bytes();
            let bytes = streams.discard(at);
            assert_eq!(streams.held_bytes() + bytes, before);
        }
        6 => drop(streams.read(at as u32)),
        _ => drop(streams.pop()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn messages_arrive_once_whole_and_in_order(
        messages in messages(),
        interleaved in any::<bool>(),
        order in 0..6usize,
        max in 1..40u32,
        shuffle in any::<u64>(),
    ) {
        let framing = if interleaved { Framing::Interleaved } else { Framing::Data };
        let name = StreamOrder::names().nth(order).unwrap();
        let mut out = OutboundStreams::new(4, framing, StreamOrder::by_name(name).unwrap());
        let mut from = 0;
        let mut expected = Vec::new();
        for (stream, len, unordered) in messages {
            let (ppid, immediate, reliability) = (len, false, Reliability::Full);
            let payload = Payload::virtual_range(1, from, len);
            from += u64::from(len) + 1;
            expected.push(Received { stream, ppid, unordered, payload: payload.clone() });
            out.push(Message { stream, ppid, unordered, immediate, reliability, payload }).unwrap();
        }
        let mut chunks = Vec::new();
        while out.queued_bytes() > 0 {
            match out.take(max) {
                Some(fragment) => chunks.push(fragment.to_chunk(Tsn(chunks.len() as u32))),
                None => out.end_packet(),
            }
        }
        let mut chunks: Vec<(u64, Chunk)> = (0..).zip(chunks).collect();
        chunks.sort_by_key(|(at, _)| at.wrapping_add(shuffle).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut streams = InboundStreams::new(4, framing);
        let (mut received, mut left) = (Vec::new(), from - expected.len() as u64);
        for (at, chunk) in chunks {
            left -= u64::from(chunk.payload().map_or(0, Payload::len));
            insert(&mut streams, at, chunk).unwrap();
            received.extend(std::iter::from_fn(|| streams.pop()));
            let taken: u64 = received.iter().map(|r| u64::from(r.payload.len())).sum();
            prop_assert_eq!(streams.held_bytes() + taken + left, from - expected.len() as u64);
        }
        for (stream, unordered) in (0..4u16).flat_map(|stream| [(stream, false), (stream, true)]) {
            let of = |list: &[Received]| -> Vec<Received> {
                let same = |r: &&Received| (r.stream, r.unordered) == (stream, unordered);
                let mut list: Vec<Received> = list.iter().filter(same).cloned().collect();
                if unordered {
                    list.sort_by_key(|received| received.payload.slice(0, 1).first_offset());
                }
                list
            };
            prop_assert_eq!(of(&received), of(&expected));
        }
        prop_assert_eq!((streams.held_bytes(), streams.index().len()), (0, 0));
        prop_assert!(is_indexed(&streams));
        prop_assert!(streams.partial.is_empty());
    }

    #[test]
    fn hostile_chunks_never_hold_more_than_they_carry(
        interleaved in any::<bool>(),
        steps in prop::collection::vec(
            (any_chunk(false), any_chunk(true), prop::option::weighted(0.2, 0..8u8)), 1..80),
    ) {
        let framing = if interleaved { Framing::Interleaved } else { Framing::Data };
        let mut streams = InboundStreams::new(3, framing);
        let (mut seen, mut carried) = (std::collections::BTreeSet::new(), 0);
        for (plain, idata, disturbance) in steps {
            let (at, chunk) = if interleaved { idata } else { plain };
            if let Some(what) = disturbance {
                disturb(&mut streams, what, at);
            } else if seen.insert(at) {
                let bytes = chunk.payload().map_or(0, Payload::len);
                let before = streams.held_bytes();
                let result = insert(&mut streams, at, chunk);
                let kept = if result.is_ok() { u64::from(bytes) } else { 0 };
                prop_assert!(streams.held_bytes() <= before + kept);
                carried += u64::from(bytes);
            }
            prop_assert!(streams.held_bytes() <= carried);
            prop_assert!(streams.readable() <= streams.held_bytes());
            prop_assert!(is_indexed(&streams));
        }
        drop(streams.read(u32::MAX));
        let places: Vec<u64> = (0..40).collect();
        let discarded: u64 = places.iter().map(|at| streams.discard(*at)).sum();
        prop_assert_eq!((discarded, streams.held_bytes()), (streams.held_bytes() + discarded, 0));
    }
}

#[test]
fn discard_of_a_message_whose_first_fragment_came_twice_leaves_nothing() {
    let mut streams = InboundStreams::new(1, Framing::Interleaved);
    for (at, fsn, flags) in
        [(0, 1, DataFlags::END), (1, 0, DataFlags::BEGIN), (2, 0, DataFlags::BEGIN)]
    {
        let payload = Payload::virtual_range(1, 0, 1);
        let (ppid_or_fsn, mid) = (fsn, Mid(5));
        let mut data = IData { flags, tsn: Tsn(0), stream: 0, mid, ppid_or_fsn, payload };
        streams.insert_interleaved(at, &mut data).unwrap();
    }
    let discarded: u64 = (0..3).map(|at| streams.discard(at)).sum();
    assert_eq!((discarded, streams.held_bytes()), (3, 0));
}

/// Whether the index of what waits, once there is one, is up to date.
fn is_indexed(streams: &InboundStreams) -> bool {
    streams.waiting.as_ref().is_none_or(|waiting| *waiting == streams.index())
}

trait FirstOffset {
    fn first_offset(&self) -> u64;
}

impl FirstOffset for Payload {
    fn first_offset(&self) -> u64 {
        match self.content() {
            Content::Virtual(range) => range.offset,
            other => panic!("{other:?}"),
        }
    }
}

/// Regression: fragments of a skipped message that came behind I-FORWARD-TSN were kept for ever.
#[test]
fn late_fragment_of_a_skipped_message_is_dropped() {
    for unordered in [false, true] {
        let flags = |flags: DataFlags| if unordered { flags | UNORDERED } else { flags };
        let mut streams = streams(Framing::Interleaved);
        streams.insert_interleaved(1, &mut idata(3, 0, 0, flags(BEGIN))).unwrap();
        let skipped = SkippedMessages { stream: 3, unordered, mid: Mid(0) };
        streams.skip_interleaved(2, &[skipped]);
        assert_eq!(streams.held_bytes(), 0);
        for fsn in [1, 2] {
            streams
                .insert_interleaved(4 + u64::from(fsn), &mut idata(3, 0, fsn, flags(NONE)))
                .unwrap();
        }
        streams.insert_interleaved(8, &mut idata(3, 0, 3, flags(END))).unwrap();
        assert_eq!(streams.held_bytes(), 0, "unordered: {unordered}");
        streams.insert_interleaved(9, &mut idata(3, 1, 0, flags(WHOLE))).unwrap();
        assert_eq!(pop(&mut streams), [(3, 10)]);
    }
}

/// Regression: a skipped message was remembered for ever, and fragments of a message whose MID is
/// 2^31 behind it were dropped as late ones.
#[test]
fn skipped_message_is_forgotten_when_messages_far_behind_it_arrive() {
    let mut streams = streams(Framing::Interleaved);
    let skipped = SkippedMessages { stream: 3, unordered: true, mid: Mid(5) };
    streams.skip_interleaved(2, &[skipped]);
    for (at, mid) in (3..).zip([6, 1 << 30, 5 + (1 << 30), 1 << 31]) {
        streams.insert_interleaved(at, &mut idata(3, mid, 0, WHOLE | UNORDERED)).unwrap();
    }
    assert_eq!(pop(&mut streams).len(), 4);
    let far = 5 + (1 << 31);
    streams.insert_interleaved(9, &mut idata(3, far, 0, BEGIN | UNORDERED)).unwrap();
    assert_eq!(streams.held_bytes(), 10);
    streams.insert_interleaved(10, &mut idata(3, far, 1, END | UNORDERED)).unwrap();
    assert_eq!(pop(&mut streams), [(3, 20)]);
}
