//! Tables of messages, right and wrong, and games by name.

use super::*;
use crate::traffic_spec::{Fetching, Folders, parse_traffic};
use base::Duration;
use std::fs;
use std::path::PathBuf;
use traffic::model::{Due, Message};
use traffic::{Role, Traffic};
use transport::Profile;

fn read(text: &str, rows: Rows) -> Result<Vec<Turn>, Fault> {
    table::read(text.as_bytes(), rows).map(|table| table.turns)
}

fn turn(from: Role, [start, end]: [u64; 2], bytes: u64) -> Turn {
    let [start, end] = [start, end].map(Duration::from_millis);
    Turn { from, start, end, bytes }
}

#[test]
fn rows_are_messages_at_the_time_since_the_first() {
    let expected = vec![turn(Role::Client, [0, 0], 100), turn(Role::Server, [50, 50], 2000)];
    for text in [
        "5.0,up,100\n5.05,down,2000\n",
        "\u{FEFF}# mine\ntime;direction;size\n5;up;100\n\n5.05;DOWN;2000 # the answer",
        "bytes\tdir\ttime_s\n100\tc2s\t5\n2000\ts2c\t5.05\n",
        "5 client 100\r\n5.05 server 2000\r\n",
    ] {
        assert_eq!(read(text, Rows::Packets).unwrap(), expected, "{text}");
    }
}

#[test]
fn gaps_are_those_to_the_next_message_of_the_server() {
    let text = "gap_s,message_bytes\n0.5,33296\n0.25,10\n9,20\n";
    let times = [(0, 33296), (500, 10), (750, 20)];
    let expected = times.map(|(at, bytes)| turn(Role::Server, [at, at], bytes));
    assert_eq!(read(text, Rows::Messages).unwrap(), expected);
}

#[test]
fn packets_are_joined_until_the_direction_changes_or_5_ms_pass() {
    let text = "time_s,dir,flow,payload_bytes,frame_bytes\n\
                0,up,1,200,254\n0.001,down,1,0,54\n0.002,down,1,1460,1514\n\
                0.0065,down,1,1460,1514\n0.0115,down,1,9,63\n0.012,up,1,1,55\n";
    let expected = vec![
        turn(Role::Client, [0, 0], 200),
        Turn { end: Duration::from_micros(6500), ..turn(Role::Server, [2, 0], 2920) },
        Turn {
            start: Duration::from_micros(11_500),
            end: Duration::from_micros(11_500),
            ..turn(Role::Server, [0, 0], 9)
        },
        turn(Role::Client, [12, 12], 1),
    ];
    assert_eq!(read(text, Rows::Packets).unwrap(), expected);
    assert_eq!(read(text, Rows::Messages).unwrap().len(), 5, "datagrams are not joined");
}

#[test]
fn wrong_tables_are_refused_with_the_place_and_the_mend() {
    for (text, problem) in [
        ("", "has no message"),
        ("time,dir,size\n", "has no message"),
        ("1,up,5\n0.5,up,5\n", "line 2: the time goes back from 1 s to 0.5 s"),
        ("1,up,-5\n", "line 1: `-5` is no size"),
        ("1,up,0\n", "line 1: `0` is no size"),
        ("1,up,1e3\n", "line 1: `1e3` is no size"),
        ("1,left,5\n", "line 1: `left` is no direction"),
        ("1,up,5\nsoon,up,5\n", "line 2: `soon` is no time"),
        ("1,up,5\nNaN,up,5\n", "line 2: `NaN` is no time"),
        ("0,up,5\n90000,up,5\n", "line 2: is 90000 s after the first one, more than a day"),
        ("1,up,5\n2,up\n", "line 2: has 2 columns, not 3"),
        ("1,up\n", "line 1: has 2 columns and no heading"),
        ("time,size\n1,5\n", "line 1: no column is the direction"),
        ("dir,size\nup,5\n", "line 1: no column is the time"),
        ("gap_s,message_bytes\n-1,5\n", "line 2: `-1` is no gap"),
    ] {
        let (found, help) = read(text, Rows::Packets).unwrap_err();
        assert!(found.contains(problem) && !help.is_empty(), "{text:?}: {found}");
    }
    let long = "x".repeat(5000);
    assert!(read(&long, Rows::Packets).unwrap_err().0.contains("longer than 4096"));
    let binary = table::read(&[0xFF, 0xFE, 0x00][..], Rows::Packets).unwrap_err();
    assert!(binary.0.contains("is not text"));
}

#[test]
fn ten_million_messages_are_refused_before_they_fill_the_memory() {
    let rows = (0..10_000_000u32).flat_map(|_| *b"1,up,5\n").collect::<Vec<u8>>();
    let (problem, help) = table::read(&rows[..], Rows::Messages).unwrap_err();
    assert_eq!(problem, "line 1000001: has more than 1000000 messages");
    assert_eq!(help, "cut a part out of the table");
}

fn places(folder: &Path) -> Places<'_> {
    Places { relative_to: Some(folder), data: Some(folder) }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("anabranch-{name}-{}", std::process::id()));
    fs::create_dir_all(folder.join("games/age-of-conan")).unwrap();
    folder
}

fn dues(messages: &[Message]) -> Vec<Due> {
    messages.iter().map(|message| message.due).collect()
}

#[test]
fn game_is_paced_and_a_table_answered_unless_it_is_paced_too() {
    let folder = folder("conversation");
    fs::write(folder.join("t.csv"), "0,up,5\n1,down,6\n").unwrap();
    let ms = Duration::from_millis;
    let (conversation, source) = table(places(&folder), "t.csv").unwrap();
    assert_eq!(conversation.name(), "table:t.csv");
    let after = Due::SincePeer { messages: 1, after: ms(1000) };
    assert_eq!(dues(conversation.from(Role::Server)), [after]);
    assert!(source.text().ends_with("t.csv") && source.text().starts_with("table:/"));
    for (read, name) in [
        (table(places(&folder), "t.csv:paced"), "table:t.csv:paced"),
        (game(places(&folder), "t.csv"), "game:t.csv"),
    ] {
        let (conversation, source) = read.unwrap();
        assert_eq!(conversation.name(), name);
        assert_eq!(dues(conversation.from(Role::Server)), [Due::SinceStart(ms(1000))]);
        assert_eq!(source.text().ends_with(":paced"), name.ends_with(":paced"));
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn messages_of_a_game_are_cut_and_its_words_say_so() {
    let read = |text: &str| {
        parse_traffic(text, Profile::Linux, Folders::default(), Fetching::USUAL).unwrap()
    };
    let (traffic, source) = read("game:aoc-2:message=100");
    let Traffic::Conversation(cut) = traffic else { panic!("a game is a conversation") };
    assert_eq!(cut.name(), "game:aoc-2:message=100");
    assert_eq!(source.unwrap().text(), "game:aoc-2:message=100");
    let Traffic::Conversation(whole) = read("game:aoc-2").0 else { panic!("as above") };
    let bytes = |of: &[Message]| of.iter().map(|message| message.len).sum::<u64>();
    let (cut, whole) = (cut.from(Role::Server), whole.from(Role::Server));
    assert_eq!(bytes(cut), bytes(whole));
    assert!(cut.len() > whole.len() && cut.iter().all(|message| message.len <= 100));
}

#[test]
fn named_game_is_its_recording_where_the_folder_of_data_has_it() {
    let folder = folder("games");
    let (model, source) = game(places(&folder), "AOC-1").unwrap();
    assert_eq!((model.name(), source.digest), ("game:aoc-1", None));
    assert!(source.notes[0].contains("is a model with a mean gap of 181.4 ms"));
    fs::write(folder.join("games/age-of-conan/trace111.csv"), "gap_s,message_bytes\n1,5\n")
        .unwrap();
    let (recorded, source) = game(places(&folder), "aoc-1").unwrap();
    assert_eq!(recorded.from(Role::Server).len(), 1);
    assert!(source.is_data && source.notes[0].contains("`aoc-1` as recorded in"));
    let (problem, help) = game(places(&folder), "aoc-4").unwrap_err();
    assert_eq!(problem, "unknown game `aoc-4`");
    assert!(help.contains("did you mean `aoc-"), "{help}");
    assert!(game(places(&folder), "no.csv").unwrap_err().0.contains("`no.csv` cannot be read"));
    assert!(table(places(&folder), "games").unwrap_err().0.contains("`games` is a folder"));
    fs::remove_dir_all(folder).unwrap();
}

/// A table of a few bytes has any number of messages of one byte.
#[test]
fn a_game_that_is_cut_into_too_many_messages_is_refused() {
    let folder = folder("cut");
    fs::write(folder.join("large.csv"), "gap_s,message_bytes\n1,900000000\n").unwrap();
    let folders = Folders { relative_to: Some(&folder), data: None };
    let read = |text: &str| parse_traffic(text, Profile::Linux, folders, Fetching::USUAL);
    let refusal = read("game:large.csv:message=1").unwrap_err();
    assert_eq!(refusal.problem, "these are 900000000 messages, more than 10000000");
    let Traffic::Conversation(cut) = read("game:large.csv:message=9000").unwrap().0 else {
        panic!("a game is a conversation")
    };
    assert_eq!(cut.from(Role::Server).len(), 100_000);
    fs::remove_dir_all(folder).unwrap();
}

/// Number of messages, mean gap in milliseconds, mean size, and rate in bit/s.
fn means(turns: &[Turn]) -> [f64; 3] {
    let (count, gaps) = (turns.len() as f64, turns.len() as f64 - 1.0);
    let span = (turns[turns.len() - 1].start - turns[0].start).as_secs_f64();
    let bytes = turns.iter().map(|turn| turn.bytes as f64).sum::<f64>();
    [span / gaps * 1e3, bytes / count, bytes * 8.0 / span]
}

/// 000 s4.3.2: the means of its three traces, of the models and, where they are, the recordings.
#[test]
fn games_have_the_gaps_sizes_and_rates_of_the_paper_within_one_percent() {
    let data = std::env::var_os("ANABRANCH_DATA").map(PathBuf::from);
    if data.is_none() {
        println!("skipped: ANABRANCH_DATA names no folder of recordings");
    }
    for (named, [gap, bytes]) in
        games::NAMED_GAMES.iter().zip([[181.4, 142.7], [74.1, 113.0], [167.7, 101.7]])
    {
        let recorded = data.as_ref().zip(named.recorded).map(|(folder, name)| {
            let file = fs::File::open(folder.join("games").join(name)).unwrap();
            table::read(file, Rows::Messages).unwrap().turns
        });
        for turns in std::iter::once(named.turns()).chain(recorded) {
            let expected = [gap, bytes, bytes * 8e3 / gap];
            for (found, expected) in means(&turns).into_iter().zip(expected) {
                assert!(
                    (found / expected - 1.0).abs() < 0.01,
                    "{}: {found} {expected}",
                    named.name
                );
            }
        }
    }
}

/// Time in nanoseconds, direction and payload of the packets with payload, read without `table`.
fn packets(text: &str) -> Vec<(u64, bool, u64)> {
    let mut lines = text.lines();
    let heading: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name| heading.iter().position(|cell| *cell == name).unwrap();
    let (time, way, payload) = (place("time_s"), place("dir"), place("payload_bytes"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let nanos = (cells[time].parse::<f64>().unwrap() * 1e9).round() as u64;
        (nanos, cells[way] == "up", cells[payload].parse().unwrap())
    };
    lines.map(row).filter(|(_, _, bytes)| *bytes > 0).collect()
}

/// The shared tables of games and applications: every message with its size, in its order and
/// direction, as packets and joined to messages.
#[test]
fn recorded_tables_have_exactly_their_messages() {
    let Some(data) = std::env::var_os("ANABRANCH_DATA").map(PathBuf::from) else {
        println!("skipped: ANABRANCH_DATA names no folder of recordings");
        return;
    };
    for name in [
        "games/starcraft2-battlenet-tcp.csv",
        "games/wow-logon-tcp.csv",
        "games/firefall-mmo-gameplay-udp-first180s.csv",
        "apps/netflix-2017-tcp.csv",
        "apps/skype-conference-udp.csv",
        "apps/whatsapp-call-udp.csv",
    ] {
        let text = fs::read_to_string(data.join(name)).unwrap();
        let single = packets(&text);
        let mut joined: Vec<(u64, bool, u64)> = Vec::new();
        let mut last = 0;
        for &(at, up, bytes) in &single {
            match joined.last_mut() {
                Some(before) if before.1 == up && at - last < 5_000_000 => before.2 += bytes,
                _ => joined.push((at, up, bytes)),
            }
            last = at;
        }
        for (rows, expected) in [(Rows::Messages, single), (Rows::Packets, joined)] {
            let turns = table::read(text.as_bytes(), rows).unwrap().turns;
            let found: Vec<(bool, u64)> =
                turns.iter().map(|turn| (turn.from == Role::Client, turn.bytes)).collect();
            let messages: Vec<(bool, u64)> = expected.iter().map(|one| (one.1, one.2)).collect();
            assert!(found == messages, "{name} {rows:?}: {} {}", found.len(), messages.len());
            let on_time = turns
                .iter()
                .zip(&expected)
                .all(|(turn, (at, ..))| turn.start.as_nanos().abs_diff(*at) <= 1_000);
            assert!(on_time, "{name} {rows:?}");
        }
    }
}
