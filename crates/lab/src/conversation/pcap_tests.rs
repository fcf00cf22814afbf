//! Captures of simulated conversations: sizes, order and directions are those that were sent.

use super::pcap::{Recorded, Wanted, read, read_at_most, split};
use base::{Duration, Rate};
use network::{Capacity, Limit, LinkConfig, LossConfig};
use simulator::{Carrier, Multipath, PathSetup, RunSetup, Until, simulate};
use std::ops::Range;
use std::sync::Arc;
use traffic::model::conversation::{Conversation, Timing, Turn};
use traffic::{Role, Traffic};
use transport::Protocol;
use wire::{CaptureReader, PcapngWriter};

const THINK: [u64; 2] = [40, 90];

/// Requests of the client, answers of one or two parts, some of them large.
fn turns() -> Vec<Turn> {
    let mut turns = Vec::new();
    let mut at = 0;
    for number in 0..12u64 {
        let mut push = |from, after, bytes| {
            at += after;
            let start = Duration::from_millis(at);
            turns.push(Turn { from, start, end: start, bytes });
        };
        push(Role::Client, THINK[1], 50 + number * 13);
        push(Role::Server, THINK[0], 1 + (number * 7919) % 1400);
        if number % 3 == 0 {
            push(Role::Server, 300, 700);
        }
    }
    turns
}

/// The captures at both ends of the conversation over these paths.
fn captured(carrier: Carrier, paths: usize, loss: f64) -> [Vec<u8>; 2] {
    captured_of(&turns(), carrier, paths, loss)
}

fn captured_of(turns: &[Turn], carrier: Carrier, paths: usize, loss: f64) -> [Vec<u8>; 2] {
    let link = |delay| LinkConfig {
        capacity: Capacity::Rate(Rate::from_mbit(100)),
        delay: Duration::from_millis(delay),
        limit: Limit::Packets(100),
        loss: LossConfig::Bernoulli { p: loss },
        ..LinkConfig::default()
    };
    let path = |number: u64| PathSetup {
        name: format!("p{number}"),
        down: link(15),
        up: link(15),
        events: Vec::new(),
    };
    let paths = (0..paths as u64).map(path).collect();
    let conversation = Conversation::new("table:x".to_owned(), Timing::Answered, turns);
    let traffic = Traffic::Conversation(Arc::new(conversation));
    let mut setup = RunSetup::new(paths, carrier, traffic);
    setup.until = Until::Measured;
    setup.recording.capture = true;
    let captures = simulate(&setup).unwrap().captures.expect("asked for");
    [captures.receiver, captures.sender]
}

fn messages(recorded: &Recorded) -> Vec<(Role, u64)> {
    recorded.turns.iter().map(|turn| (turn.from, turn.bytes)).collect()
}

#[test]
fn messages_of_a_capture_are_those_that_were_sent() {
    let sent: Vec<(Role, u64)> = turns().iter().map(|turn| (turn.from, turn.bytes)).collect();
    let carriers = [
        (Carrier::Single(Protocol::Tcp), 1),
        (Multipath::default().into(), 2),
        (Carrier::Sctp(Box::default()), 1),
    ];
    for (carrier, paths) in carriers {
        for loss in [0.0, 0.05] {
            for file in captured(carrier.clone(), paths, loss) {
                let recorded = read(&file[..], Wanted::Largest).unwrap();
                assert_eq!(recorded.timing, Timing::Answered);
                assert_eq!(messages(&recorded), sent, "{carrier:?} {loss}: {:?}", recorded.notes);
            }
        }
    }
}

/// Regression: bytes first seen in a segment that was classed as sent again were dropped.
#[test]
fn bytes_first_seen_in_retransmissions_are_part_of_the_conversation() {
    let large = |from, start, bytes| {
        let start = Duration::from_millis(start);
        Turn { from, start, end: start, bytes }
    };
    let turns = [large(Role::Client, 0, 400), large(Role::Server, 5, 2_000_000)];
    let carriers = [
        (Carrier::Single(Protocol::Tcp), 1),
        (Multipath::default().into(), 2),
        (Carrier::Sctp(Box::default()), 1),
    ];
    for (carrier, paths) in carriers {
        for file in captured_of(&turns, carrier.clone(), paths, 0.03) {
            let recorded = read(&file[..], Wanted::Largest).unwrap();
            let sum = |from| {
                let of = recorded.turns.iter().filter(|turn| turn.from == from);
                of.map(|turn| turn.bytes).sum::<u64>()
            };
            assert_eq!((sum(Role::Client), sum(Role::Server)), (400, 2_000_000), "{carrier:?}");
        }
    }
}

#[test]
fn round_trips_are_taken_out_of_the_think_times_of_the_far_end() {
    for (file, far) in
        captured(Carrier::Single(Protocol::Tcp), 1, 0.0).iter().zip(["server", "client"])
    {
        let recorded = read(&file[..], Wanted::Connection(1)).unwrap();
        let note = recorded.notes.last().expect("a note");
        assert!(note.contains("30.") && note.ends_with(far), "{note}");
        for pair in recorded.turns.windows(2).filter(|pair| pair[0].from != pair[1].from) {
            let think = (pair[1].start - pair[0].end).as_millis();
            let expected = THINK[usize::from(pair[1].from == Role::Client)];
            assert!(think.abs_diff(expected) <= 1, "{far}: {pair:?}");
        }
    }
}

/// A pcap file of raw IP with UDP datagrams, those of port 7 from host 1: microseconds, source
/// port, destination port, payload.
fn udp(datagrams: &[(u32, u16, u16, u16)]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xA1B2_C3D4, 4 << 16 | 2, 0, 0, 65_535, 101] {
        file.extend(u32::to_be_bytes(word));
    }
    for &(at, src, dst, len) in datagrams {
        let whole = 28 + len;
        // Cut to its headers.
        for word in [at / 1_000_000, at % 1_000_000, 28, u32::from(whole)] {
            file.extend(word.to_be_bytes());
        }
        let [high, low] = whole.to_be_bytes();
        let [from, to] = if src == 7 { [1, 2] } else { [2, 1] };
        file.extend([0x45, 0, high, low, 0, 0, 0, 0, 64, 17, 0, 0]);
        file.extend([10, 0, 0, from, 10, 0, 0, to]);
        file.extend([src, dst, 8 + len, 0].iter().flat_map(|word| word.to_be_bytes()));
    }
    file
}

/// A pcap file of raw IP with TCP segments of host 1, port 7, and host 2, port 9: milliseconds,
/// whether host 1 sent it, flags, sequence number, acknowledgement, payload.
fn tcp(segments: &[(u32, bool, u8, u32, u32, u16)]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xA1B2_C3D4, 4 << 16 | 2, 0, 0, 65_535, 101] {
        file.extend(u32::to_be_bytes(word));
    }
    for &(at, up, flags, seq, ack, len) in segments {
        for word in [at / 1000, at % 1000 * 1000, 40, 40 + u32::from(len)] {
            file.extend(word.to_be_bytes());
        }
        let ([from, to], ports) = if up { ([1, 2], [7, 9]) } else { ([2, 1], [9, 7]) };
        file.extend([0x45, 0]);
        file.extend((40 + len).to_be_bytes());
        file.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
        file.extend(ports.iter().flat_map(|port: &u16| port.to_be_bytes()));
        file.extend([seq, ack].iter().flat_map(|number| number.to_be_bytes()));
        file.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    }
    file
}

/// Regression: acknowledgements that ride on answers made the think time part of the round trip.
#[test]
fn round_trip_of_the_handshake_is_known_where_acknowledgements_ride_on_answers() {
    const SYN: u8 = 2;
    const ACK: u8 = 16;
    let mut segments = vec![
        (0, true, SYN, 100, 0, 0),
        (20, false, SYN | ACK, 500, 101, 0),
        (20, true, ACK, 101, 501, 0),
    ];
    for n in 0..5 {
        let at = 50 + n * 90;
        segments.push((at, true, ACK, 101 + n * 1000, 501 + n * 500, 1000));
        segments.push((at + 60, false, ACK, 501 + n * 500, 1101 + n * 1000, 500));
    }
    let recorded = read(&tcp(&segments)[..], Wanted::Largest).unwrap();
    let note = recorded.notes.last().unwrap();
    assert!(note.contains("20.0 ms"), "{note}");
    let think = recorded.turns[1].start - recorded.turns[0].end;
    assert_eq!(think, Duration::from_millis(40), "{:?}", recorded.turns);
}

#[test]
fn datagrams_are_messages_at_their_times() {
    let of = |src, dst| move |at, len| (at, src, dst, len);
    let (up, down, other) = (of(7, 9), of(9, 7), of(7, 53));
    let file = udp(&[other(0, 1000), up(5, 100), down(1005, 900), down(1006, 901), other(2000, 5)]);
    let recorded = read(&file[..], Wanted::Udp).unwrap();
    assert_eq!(
        messages(&recorded),
        [(Role::Client, 100), (Role::Server, 900), (Role::Server, 901)]
    );
    let times: Vec<u64> = recorded.turns.iter().map(|turn| turn.start.as_micros()).collect();
    assert_eq!((recorded.timing, times), (Timing::Paced, vec![0, 1000, 1001]));
    assert_eq!(messages(&read(&file[..], Wanted::Largest).unwrap()).len(), 3);
}

/// Regression: datagrams that a router had captured at both of its interfaces were sent twice.
#[test]
fn datagram_that_was_captured_twice_is_one_message() {
    let (up, down) = (|at| (at, 7, 9, 100), |at| (at, 9, 7, 300));
    let mut file = udp(&[up(0), up(80), down(500), up(20_000), down(20_030), up(20_090)]);
    // The last pair is two datagrams of equal lengths.
    for (packet, identification) in [1, 1, 2, 3, 4, 5].into_iter().enumerate() {
        let datagram = 24 + packet * (16 + 28) + 16;
        file[datagram + 5] = identification;
        file[datagram + 8] -= packet as u8;
    }
    let recorded = read(&file[..], Wanted::Udp).unwrap();
    assert_eq!(
        messages(&recorded),
        [
            (Role::Client, 100),
            (Role::Server, 300),
            (Role::Client, 100),
            (Role::Server, 300),
            (Role::Client, 100)
        ]
    );
    let copies = "1 datagram is in the capture again within milliseconds";
    assert!(recorded.notes[1].starts_with(copies), "{:?}", recorded.notes);
}

/// Regression: fragments were conversations of their own, with ports from the payload.
#[test]
fn datagram_in_fragments_is_one_message_of_its_length() {
    let mut file = udp(&[(0, 7, 9, 1472), (1, 0x4141, 0x4242, 1472), (9_000, 9, 7, 10)]);
    let place = |packet: usize| 24 + packet * (16 + 28) + 16;
    // The first fragment names 8 + 2944 bytes; the second one begins at byte 1480.
    file[place(0) + 6] = 0x20;
    file[place(0) + 24..place(0) + 26].copy_from_slice(&2952_u16.to_be_bytes());
    file[place(1) + 7] = 185;
    file[place(1) + 15] = 1;
    file[place(1) + 19] = 2;
    let recorded = read(&file[..], Wanted::Largest).unwrap();
    assert_eq!(messages(&recorded), [(Role::Client, 2944), (Role::Server, 10)]);
}

#[test]
fn captures_without_the_flow_are_refused() {
    let problem = |file: &[u8], wanted| read(file, wanted).unwrap_err().0;
    let [tcp, _] = captured(Carrier::Single(Protocol::Tcp), 1, 0.0);
    assert_eq!(problem(&tcp, Wanted::Connection(2)), "has no connection 2, but 1");
    assert_eq!(problem(&tcp, Wanted::Connection(0)), "has no connection 0, but 1");
    assert_eq!(problem(&tcp, Wanted::Udp), "has no UDP datagrams");
    assert_eq!(problem(&udp(&[]), Wanted::Largest), "has no data of TCP, SCTP or UDP");
    assert_eq!(problem(b"time,dir,size\n", Wanted::Largest), "neither a pcapng nor a pcap file");
}

/// The capture without these of its packets.
/// Before it takes memory for every packet.
#[test]
fn capture_of_too_many_packets_is_refused() {
    let file = udp(&[(0, 7, 9, 10), (5, 9, 7, 20), (9, 7, 9, 30)]);
    let of = |most| read_at_most(most, file.as_slice(), Wanted::Largest);
    assert_eq!(of(3).unwrap().turns.len(), 3);
    let (problem, help) = of(2).unwrap_err();
    assert_eq!(problem, "the file has more than 2 packets");
    assert!(help.contains("editcap"), "{help}");
}

fn without(file: &[u8], gone: Range<usize>) -> Vec<u8> {
    let packets = CaptureReader::new(file).unwrap().map(Result::unwrap).enumerate();
    let mut rest = PcapngWriter::new(Vec::new(), &["p0"]).unwrap();
    for (_, packet) in packets.filter(|(number, _)| !gone.contains(number)) {
        rest.write_datagram(packet.interface, packet.time, packet.datagram).unwrap();
    }
    rest.into_inner()
}

#[test]
fn what_a_capture_lacks_is_noted() {
    let [file, _] = captured(Carrier::Single(Protocol::Tcp), 1, 0.0);
    let notes = |gone| read(&without(&file, gone)[..], Wanted::Largest).unwrap().notes;
    let has = |notes: Vec<String>, words: &str| notes.iter().any(|note| note.contains(words));
    assert!(has(notes(0..3), "think times include round trips"), "no handshake");
    assert!((4..12).any(|gone| has(notes(gone..gone + 1), "are missing in the capture")));
    let opened = without(&file, 3..usize::MAX);
    let (problem, _) = read(&opened[..], Wanted::Connection(1)).unwrap_err();
    assert_eq!(problem, "connection 1 carries no data");
}

#[test]
fn flow_is_behind_the_name_of_the_file() {
    assert_eq!(split("a.pcap"), ("a.pcap", Wanted::Largest));
    assert_eq!(split("a.pcap:3"), ("a.pcap", Wanted::Connection(3)));
    assert_eq!(split("a.pcap:udp"), ("a.pcap", Wanted::Udp));
    assert_eq!(split("c:\\a.pcap"), ("c:\\a.pcap", Wanted::Largest));
}

/// Some programs write packets of several interfaces one after the other.
#[test]
fn packets_of_a_capture_whose_times_go_back_are_put_in_order() {
    let file = udp(&[(5_000, 7, 9, 100), (9_000, 7, 9, 300), (7_000, 9, 7, 200)]);
    let recorded = read(&file[..], Wanted::Udp).unwrap();
    let expected = [(Role::Client, 100), (Role::Server, 200), (Role::Client, 300)];
    assert_eq!(messages(&recorded), expected);
}

/// As of a file whose writer was killed. Regression: a half of the conversation was sent without a
/// word.
#[test]
fn damaged_capture_is_used_up_to_the_damage_with_a_note() {
    let [file, _] = captured(Carrier::Single(Protocol::Tcp), 1, 0.0);
    let read = |bytes: &[u8]| read(bytes, Wanted::Largest);
    let whole = read(&file).unwrap();
    assert!(!whole.notes.join(" ").contains("damaged"), "{:?}", whole.notes);
    let half = read(&file[..file.len() / 2]).unwrap();
    assert!(half.turns.len() < whole.turns.len());
    let notes = half.notes.join(" ");
    assert!(notes.contains("damaged; read up to the damage"), "{notes}");
    let nothing = read(&file[..200]).map(|_| ()).unwrap_err();
    assert!(nothing.0.contains("has no data") && nothing.0.contains("damaged"), "{nothing:?}");
}
