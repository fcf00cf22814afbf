//! Every option of the table is accepted by all sources, and has the scope of its row.

use super::*;
use crate::scenario::cmt::switches;
use crate::scenario::{Options, Scenario, file, scenario_schema, variants_of};
use std::fmt::Write;

/// Options in order.
type Sayings<'a> = Vec<(Key, &'a str)>;

/// A study in which `key` is valid.
fn base(key: Key) -> Sayings<'static> {
    let mut said =
        vec![(Key::Path, "a=rate 5mbit delay 10ms"), (Key::Path, "b=rate 3mbit delay 20ms")];
    let protocols = match key {
        _ if switches().any(|switch| switch == key) => "tcp,mptcp,cmt-sctp",
        _ if SctpChoices::OPTIONS.contains(&key) => "tcp,mptcp,sctp",
        _ => "tcp,mptcp",
    };
    said.push((Key::Protocols, protocols));
    said.push(match key {
        Key::Http | Key::PerHost | Key::Tls | Key::Dns => (Key::Traffic, "web:wikipedia"),
        Key::Metric => (Key::Traffic, "bulk:4MiB"),
        _ => (Key::Traffic, "bulk:30s"),
    });
    match key {
        Key::Endpoints | Key::Limits => said.push((Key::PathManagers, "fullmesh,kernel")),
        Key::RunsMax => said.push((Key::Runs, "auto")),
        Key::Link => {
            said.extend([(Key::Path, "d=delay 5ms via core"), (Key::Link, "core=rate 20mbit")]);
        }
        _ => {}
    }
    said
}

/// The same with the example of `key` as its value.
fn changed(key: Key) -> Sayings<'static> {
    let mut said = base(key);
    said.retain(|(other, _)| *other != key);
    said.push((key, key.row().example));
    said
}

fn on_command_line(said: &[(Key, &str)]) -> Scenario {
    let all = said.iter().fold(Options::default(), |all, (key, text)| all.with(*key, text));
    all.resolve().unwrap_or_else(|error| panic!("{said:?}: {error}"))
}

/// The same as a scenario file.
fn in_file(said: &[(Key, &str)]) -> Scenario {
    let mut text = String::new();
    for (key, value) in said.iter().filter(|(key, _)| !key.is_table()) {
        let row = key.row();
        let value = if row.takes == Takes::Switch { "true".into() } else { quoted(value) };
        writeln!(text, "{} = {value}", row.name).unwrap();
    }
    for table in [Key::Path, Key::Link, Key::Flow] {
        let lines: Vec<&str> =
            said.iter().filter(|(key, _)| *key == table).map(|(_, text)| *text).collect();
        if !lines.is_empty() {
            writeln!(text, "[{}]", table.row().name).unwrap();
        }
        for line in lines {
            let (name, spec) = line.split_once('=').unwrap();
            writeln!(text, "{name} = {}", quoted(spec)).unwrap();
        }
    }
    let options = file::parse("study.toml", text.clone());
    let scenario = options.and_then(|options| options.resolve());
    scenario.unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn variants(scenario: &Scenario) -> Vec<String> {
    variants_of(scenario).into_iter().map(|variant| variant.name).collect()
}

#[test]
fn every_option_counts_where_its_row_says() {
    for key in Key::ALL.iter().copied() {
        let [before, after] = [base(key), changed(key)].map(|said| on_command_line(&said));
        let has_other_key = before.study_key() != after.study_key();
        let has_other_variants = variants(&before) != variants(&after);
        let has_other_hash = before.hash() != after.hash();
        let found = (has_other_key, has_other_variants, has_other_hash);
        match key.row().counts {
            Counts::StudyKey => assert!(has_other_key && has_other_hash, "{key:?}: {found:?}"),
            Counts::Variants => assert_eq!(found, (false, true, true), "{key:?}"),
            Counts::Scenario => assert_eq!(found, (false, false, true), "{key:?}"),
            Counts::Nowhere => assert_eq!(found, (false, false, false), "{key:?}"),
        }
    }
}

#[test]
fn every_option_is_read_from_a_file_and_written_to_one() {
    for key in Key::ALL.iter().copied() {
        let said = changed(key);
        let (argument, file) = (on_command_line(&said), in_file(&said));
        assert_eq!(argument.hash(), file.hash(), "{key:?}");
        assert_eq!(argument.study_key(), file.study_key(), "{key:?}");
        let text = argument.to_toml();
        let again = file::parse("study.toml", text.clone()).and_then(|options| options.resolve());
        assert_eq!(again.unwrap().to_toml(), text, "{key:?}");
        let counts = key.row().counts != Counts::Nowhere;
        assert_eq!(text != on_command_line(&base(key)).to_toml(), counts, "{key:?}");
        let table = format!("[{}]", key.row().name);
        let line = if key.is_table() { table } else { format!("{} = ", key.row().name) };
        // Schedulers have it in their names.
        let is_written = counts && key != Key::Reinjection;
        assert_eq!(text.lines().any(|found| found.starts_with(&line)), is_written, "{key:?}");
    }
}

#[test]
fn every_option_is_described_for_editors() {
    let schema = scenario_schema();
    for key in Key::ALL {
        let property = &schema["properties"][key.row().name];
        assert_eq!(property["description"], key.row().about, "{key:?}");
    }
    assert_eq!(schema["properties"].as_object().unwrap().len(), Key::ALL.len());
}

#[test]
fn names_and_places_in_the_help_are_different() {
    for (number, key) in Key::ALL.iter().enumerate() {
        let row = key.row();
        for other in Key::ALL[..number].iter().map(|other| other.row()) {
            assert_ne!(row.name, other.name);
            let is_listed = !row.argument.help.is_empty();
            assert!(!is_listed || row.argument.place != other.argument.place, "{}", row.name);
        }
        assert_eq!(Key::by_name(row.name), Some(*key));
    }
}
