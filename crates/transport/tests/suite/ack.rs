//! When and what a receiver acknowledges: quick, delayed, compressed, SACK, D-SACK, PAWS
//! (RFC 9293 s3.8.6.3, 2018, 2883, 7323 s5; Linux `tcp_ack_snd_check`).

use crate::bare::{Bare, modern};
use base::Duration;
use transport::{Buffers, Profile, TcpConfig};
use wire::{TcpOptions, TcpSegment, Timestamps};

const MSS: u32 = 1448;

/// With a buffer of fixed size: while the window grows, Linux acknowledges every segment.
fn accepted(profile: Profile) -> Bare {
    let buffers = Buffers { send_max: 1 << 20, receive_max: 128 << 10, auto_tuning: false };
    Bare::accepted(TcpConfig { profile, buffers, ..TcpConfig::default() }, modern())
}

/// A receiver whose quick acknowledgements are used up and whose window grows no more.
fn settled_as(profile: Profile) -> Bare {
    let mut bare = accepted(profile);
    for n in 0.. {
        let acknowledged = bare.send_data(MSS).len();
        bare.read(1 << 20);
        bare.wait_ms(1);
        if n >= 80 && acknowledged == 1 {
            break;
        }
    }
    bare
}

fn settled() -> Bare {
    settled_as(Profile::Linux)
}

fn blocks(segment: &TcpSegment) -> Vec<(i64, i64)> {
    let position = |seq: wire::SeqNumber| seq.to_offset(crate::bare::ISS + 1, 0);
    segment.options.sack.as_slice().iter().map(|(a, b)| (position(*a), position(*b))).collect()
}

#[test]
fn first_sixteen_segments_are_acknowledged_at_once() {
    let mut bare = accepted(Profile::Linux);
    let mut immediate = Vec::new();
    for _ in 0..60 {
        immediate.push(bare.send_data(MSS).len());
        bare.wait_ms(1);
    }
    assert_eq!(immediate[..16], [1; 16]);
    let later = immediate[40..].iter().sum::<usize>();
    assert!((10..=11).contains(&later), "every second one: {immediate:?}");
}

#[test]
fn lone_segment_is_acknowledged_after_forty_milliseconds() {
    let mut bare = settled();
    let at = bare.now;
    assert!(bare.send_data(MSS).is_empty());
    let sent = bare.wait_ms(250);
    assert_eq!(sent.len(), 1);
    let delay = (sent[0].0 - at).as_millis();
    assert!((36..=44).contains(&delay), "{delay} ms: ATO of 40 on a 4 ms wheel");
}

#[test]
fn second_full_segment_is_acknowledged_at_once() {
    let mut bare = settled();
    assert!(bare.send_data(MSS).is_empty());
    assert_eq!(bare.send_data(MSS).len(), 1);
}

#[test]
fn pause_longer_than_the_time_out_brings_quick_acknowledgements_back() {
    let mut bare = settled();
    bare.wait_ms(1000);
    let immediate: usize = (0..8).map(|_| bare.send_data(MSS).len()).sum();
    assert_eq!(immediate, 8, "the sender may be in slow start again");
}

#[test]
fn acknowledgement_rides_on_data() {
    let mut bare = settled();
    assert!(bare.send_data(MSS).is_empty());
    let sent = bare.write(100);
    assert_eq!((sent.len(), bare.acks(&sent[0])), (1, i64::from(bare.sent)));
    bare.acked = 100;
    bare.ack(100);
    assert!(bare.wait_ms(300).is_empty(), "nothing is owed any more");
}

#[test]
fn short_segment_is_acknowledged_once_it_is_read() {
    let mut bare = settled();
    assert!(bare.send_data(100).is_empty());
    let (len, sent) = bare.read(1000);
    assert_eq!((len, sent.len()), (100, 1));
}

#[test]
fn gap_is_reported_at_once_and_its_filling_too() {
    let mut bare = settled();
    let start = bare.sent;
    let answers = bare.send(bare.data_at(start + MSS, MSS));
    assert_eq!(answers.len(), 1);
    assert_eq!(bare.acks(&answers[0]), i64::from(start));
    let (from, to) = (i64::from(start + MSS), i64::from(start + 2 * MSS));
    assert_eq!(blocks(&answers[0]), [(from, to)]);
    let answers = bare.send(bare.data_at(start, MSS));
    assert_eq!((answers.len(), bare.acks(&answers[0])), (1, to), "RFC 5681 s4.2");
    assert!(answers[0].options.sack.is_empty());
}

#[test]
fn sack_blocks_begin_with_the_latest_and_three_fit_beside_timestamps() {
    for (options, most) in [(modern(), 3), (TcpOptions { timestamps: None, ..modern() }, 4)] {
        let mut bare = Bare::accepted(TcpConfig::default(), options);
        let mut last = Vec::new();
        for n in [1u32, 3, 5, 7, 9] {
            let answers = bare.send(bare.data_at(n * 1000, 1000));
            bare.wait_ms(2).into_iter().for_each(|(_, segment)| last = blocks(&segment));
            answers.iter().for_each(|segment| last = blocks(segment));
        }
        let expected = [(9000, 10_000), (7000, 8000), (5000, 6000), (3000, 4000)];
        assert_eq!(last, expected[..most], "RFC 2018 s4");
    }
}

#[test]
fn duplicate_is_reported_first_and_once() {
    let mut bare = settled();
    let start = bare.sent;
    bare.send(bare.data_at(start + MSS, MSS));
    let again = bare.send(bare.data_at(0, MSS));
    let gap = (i64::from(start + MSS), i64::from(start + 2 * MSS));
    assert_eq!(again.len(), 1, "a duplicate is acknowledged at once");
    assert_eq!(blocks(&again[0]), [(0, i64::from(MSS)), gap], "RFC 2883 s4");
    let next = bare.send(bare.data_at(start + 2 * MSS, MSS));
    assert_eq!(blocks(&next[0]), [(gap.0, gap.1 + i64::from(MSS))]);
}

#[test]
fn duplicate_above_a_gap_is_reported_inside_its_block() {
    let mut bare = settled();
    let start = bare.sent;
    bare.send(bare.data_at(start + MSS, 2 * MSS));
    let again = bare.send(bare.data_at(start + MSS, MSS));
    let from = i64::from(start + MSS);
    let mss = i64::from(MSS);
    assert_eq!(blocks(&again[0]), [(from, from + mss), (from, from + 2 * mss)]);
}

/// Immediate answers to nine segments behind one gap.
fn answers_behind_a_gap(profile: Profile) -> Vec<usize> {
    let mut bare = settled_as(profile);
    let start = bare.sent;
    (1..10).map(|n| bare.send(bare.data_at(start + n * MSS, MSS)).len()).collect()
}

#[test]
fn switch_compressed_acks_merges_from_the_fourth_duplicate() {
    assert_eq!(answers_behind_a_gap(Profile::Linux), [1, 1, 1, 0, 0, 0, 0, 0, 0]);
    for old in [Profile::Linux41, Profile::Linux314, Profile::Linux311, Profile::Linux35] {
        assert_eq!(answers_behind_a_gap(old), [1; 9]);
    }
}

#[test]
fn compressed_acks_are_held_at_most_a_millisecond() {
    let mut bare = settled();
    let start = bare.sent;
    (1..8).for_each(|n| drop(bare.send(bare.data_at(start + n * MSS, MSS))));
    let at = bare.now;
    let sent = bare.wait_ms(30);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].0 - at, Duration::from_millis(1), "RTT/20 would be 2 ms");
    let (from, to) = (i64::from(start + MSS), i64::from(start + 8 * MSS));
    assert_eq!(blocks(&sent[0].1), [(from, to)]);
}

/// Linux `tcp_sack_compress_send_ack`: with two ranges known, what is held back goes before a
/// segment that begins another one, which is then held back itself.
///
/// Regression: it went after that segment, whose block took the place of the others: an
/// acknowledgement of MPTCP has room for one, so that ranges were never reported and were sent
/// again (1 MiB over a queue that overflowed: 231 segments for 180 losses, the kernel 182).
#[test]
fn held_ack_goes_without_the_segment_that_begins_another_range() {
    let mut bare = settled();
    let start = bare.sent;
    let block = |from: u32, to: u32| (i64::from(start + from * MSS), i64::from(start + to * MSS));
    let mut answers = |n: u32| bare.send(bare.data_at(start + n * MSS, MSS));
    let immediate = [1, 3, 5].map(|n| answers(n).len());
    assert_eq!((immediate, answers(6).len()), ([1; 3], 0), "the fourth one is held back");
    let before = answers(8);
    assert_eq!(before.len(), 1);
    assert_eq!(blocks(&before[0]), [block(5, 7), block(3, 4), block(1, 2)]);
    let at = bare.now;
    let after = bare.wait_ms(30);
    assert_eq!(after.len(), 1);
    assert_eq!(after[0].0 - at, Duration::from_millis(1), "its own time begins with it");
    assert_eq!(blocks(&after[0].1), [block(8, 9), block(5, 7), block(3, 4)]);
    // A range that was not changed lately: in its place, with what it has now.
    let mut answers = |n: u32| bare.send(bare.data_at(start + n * MSS, MSS));
    assert_eq!((answers(9).len(), answers(10).len()), (0, 0));
    let before = answers(2);
    assert_eq!(before.len(), 1);
    assert_eq!(blocks(&before[0]), [block(8, 11), block(5, 7), block(1, 4)]);
}

#[test]
fn compressed_acks_go_when_forty_four_are_merged() {
    let mut bare = settled();
    let start = bare.sent;
    let mut answered = |n: &u32| !bare.send(bare.data_at(start + n * 1000, 1000)).is_empty();
    let immediate: Vec<u32> = (1..60).filter(|n| answered(n)).collect();
    assert_eq!(immediate, [1, 2, 3, 48]);
}

#[test]
fn paws_old_timestamp_is_refused_with_an_acknowledgement() {
    let mut bare = settled();
    let mut old = bare.data_at(bare.sent, MSS);
    let stamps = old.options.timestamps.unwrap();
    old.options.timestamps = Some(Timestamps { value: stamps.value.wrapping_sub(1000), ..stamps });
    let answers = bare.send(old);
    assert_eq!((answers.len(), bare.acks(&answers[0])), (1, i64::from(bare.sent)));
    assert_eq!(bare.stack.readable(bare.socket), 0, "RFC 7323 s5.3");
}

#[test]
fn paws_is_forgotten_after_twenty_four_days() {
    let mut bare = settled();
    let mut old = bare.data_at(bare.sent, MSS);
    bare.wait(Duration::from_secs(25 * 24 * 3600));
    old.options.timestamps = Some(Timestamps { value: 1, echo: bare.stamps.unwrap() });
    bare.send(old);
    assert_eq!(bare.stack.readable(bare.socket), u64::from(MSS), "RFC 7323 s5.5");
}

#[test]
fn echoed_timestamp_is_that_of_the_segment_that_filled_the_edge() {
    let mut bare = settled();
    let echo_of = |bare: &mut Bare, offset, value| {
        let mut segment = bare.data_at(offset, MSS);
        segment.options.timestamps.as_mut().unwrap().value = value;
        let answers = bare.send(segment);
        answers.first().and_then(|answer| answer.options.timestamps).map(|stamps| stamps.echo)
    };
    let (start, clock) = (bare.sent, bare.clock());
    let before = echo_of(&mut bare, start + MSS, clock + 5);
    assert!(before.is_some_and(|echo| echo <= clock), "out of order: not taken, RFC 7323 s4.3");
    assert_eq!(echo_of(&mut bare, start, clock + 7), Some(clock + 7));
}
