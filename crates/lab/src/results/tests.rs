//! Round trips of records, truncated journals, tables that must not be changed.

use super::columns;
use super::delays_table;
use super::folder::ResultFolder;
use super::records::{DELAYS, Records, TABLE};
use super::table::parquet;
use crate::delays::Delay;
use crate::run::{Drops, Labels, Record, Run};
use crate::scenario::{Key, Options, Runs, Scenario, Variant, variants_of};
use base::Duration;
use harness::{Account, Held, Repeated};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use traffic::Metric;

/// A folder of its own for one test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let name = format!("anabranch-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    fn open(&self, scenario: &Scenario) -> Result<Records, String> {
        let folder = ResultFolder::open(&self.0.display().to_string()).unwrap();
        Records::open(&folder, scenario).map_err(|refusal| refusal.to_string())
    }

    /// Writes a table of these records.
    fn table(&self, scenario: &Scenario, records: &[Record]) -> Vec<u8> {
        let bytes = parquet(scenario, &records.iter().collect::<Vec<_>>()).unwrap();
        fs::write(self.0.join(TABLE), &bytes).unwrap();
        bytes
    }

    fn journal(&self) -> PathBuf {
        let entries = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        entries.into_iter().find(|path| path.extension().is_some_and(|e| e == "jsonl")).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn scenario(seed: u64) -> Scenario {
    let options = Options::default()
        .with(Key::Path, "a=rate 5mbit loss 1%")
        .with(Key::Path, "b=rate 3mbit delay 20ms")
        .with(Key::Traffic, "bulk:4MiB")
        .with(Key::Seed, &seed.to_string());
    options.resolve().unwrap()
}

fn variant(scenario: &Scenario) -> Variant {
    variants_of(scenario).remove(0)
}

fn repeated(number: u64) -> Repeated {
    Repeated { spurious_segs: number, reinjected_segs: 2 * number, reinjected_bytes: 3 * number }
}

/// Times to the nanosecond, and the longest times.
fn account(number: u64) -> Account {
    let held = |place: usize| Held {
        time: Duration::from_nanos(599_999_999_999 - place as u64 * number),
        bytes: (1 << 50) + place as u64,
    };
    let life = Duration::from_nanos(6_000_000_000_001);
    Account { life, stopped: std::array::from_fn(held), head_of_line: held(77) }
}

/// A run with numbers that are hard to print exactly.
fn run(number: u64) -> Run {
    Run {
        number,
        metric: Metric::MessageDelay,
        value: (number != 3).then(|| 0.1 + number as f64 / 3.0),
        extra: vec![("median".into(), 1.0 / 7.0), ("p95".into(), 2e-300)],
        histograms: Vec::new(),
        parts: 0,
        ended: 600.0,
        bytes_read: u64::from(u32::MAX) * 1000,
        data_packets: 3,
        retransmitted_segs: 4,
        reinjected_bytes: 5,
        duplicate_bytes: 6,
        sacks: Some(2),
        first_sent_bytes: vec![7, 8],
        repeated: [5, 6].map(repeated).into(),
        account: (number != 2).then(|| account(number)),
        drops: Drops { full: 9, early: 10, random: 11, down: 12 },
        failure: (number == 3).then(|| "reset, by \"peer\"\nat last".into()),
        hash: std::array::from_fn(|i| i as u8 * 7 + number as u8),
    }
}

fn record(scenario: &Scenario, number: u64) -> Record {
    Record { labels: Labels::new(scenario, &variant(scenario)), run: run(number) }
}

/// The numbers of the runs that are read back unchanged.
fn found(records: &Records, scenario: &Scenario, of: u64) -> Vec<u64> {
    let variant = variant(scenario);
    let same = |number: &u64| match records.find(&variant, *number) {
        Some(stored) => {
            assert_eq!(stored, run(*number), "a stored run is the run");
            true
        }
        None => false,
    };
    (0..of).filter(same).collect()
}

#[test]
fn run_read_back_from_table_or_journal_is_the_same_run() {
    // A seed of 64 bits must not damage the table.
    let scenario = scenario(u64::MAX);
    let scratch = Scratch::new("same");
    let records = scratch.open(&scenario).unwrap();
    for number in 0..5 {
        records.keep(&scenario, &variant(&scenario), &run(number), Vec::new()).unwrap();
    }
    assert_eq!((records.found(), records.len()), (0, 5));
    drop(records);
    let records = scratch.open(&scenario).unwrap();
    assert_eq!(found(&records, &scenario, 9), [0, 1, 2, 3, 4]);
    records.remove_journal().unwrap();
    drop(records);
    let rows: Vec<Record> = (2..8).map(|number| record(&scenario, number)).collect();
    scratch.table(&scenario, &rows);
    let records = scratch.open(&scenario).unwrap();
    assert_eq!(found(&records, &scenario, 9), [2, 3, 4, 5, 6, 7]);
    records.keep(&scenario, &variant(&scenario), &run(0), Vec::new()).unwrap();
    drop(records);
    let records = scratch.open(&scenario).unwrap();
    assert_eq!(found(&records, &scenario, 9), [0, 2, 3, 4, 5, 6, 7], "table and journal together");
}

#[test]
fn journal_cut_anywhere_keeps_its_whole_lines() {
    let scenario = scenario(1);
    let scratch = Scratch::new("torn");
    let records = scratch.open(&scenario).unwrap();
    for number in 0..4 {
        records.keep(&scenario, &variant(&scenario), &run(number), Vec::new()).unwrap();
    }
    drop(records);
    let journal = scratch.journal();
    let whole = fs::read(&journal).unwrap();
    for len in (0..=whole.len()).rev().step_by(3) {
        fs::write(&journal, &whole[..len]).unwrap();
        let records = scratch.open(&scenario).unwrap();
        // A line without a line end is complete if it parses.
        let ends = whole[..len].iter().filter(|byte| **byte == b'\n').count() as u64;
        let runs = found(&records, &scenario, 9).len() as u64;
        assert!(runs == ends.saturating_sub(1) || runs == ends, "{runs} runs in {ends} lines");
        records.keep(&scenario, &variant(&scenario), &run(8), Vec::new()).unwrap();
        drop(records);
        let again = found(&scratch.open(&scenario).unwrap(), &scenario, 9);
        assert_eq!(again.len() as u64, runs + 1, "what is added to a torn journal is kept");
    }
}

#[test]
fn journal_is_written_by_one_program_at_a_time() {
    let scenario = scenario(1);
    let scratch = Scratch::new("in-use");
    let records = scratch.open(&scenario).unwrap();
    let message = scratch.open(&scenario).unwrap_err();
    assert!(message.contains("another anabranch is writing"), "{message}");
    drop(records);
    assert!(scratch.open(&scenario).is_ok());
}

#[test]
fn unfinished_runs_of_another_scenario_are_refused_and_kept() {
    let scratch = Scratch::new("unfinished");
    let (first, second) = (scenario(1), scenario(2));
    let records = scratch.open(&first).unwrap();
    records.keep(&first, &variant(&first), &run(0), Vec::new()).unwrap();
    drop(records);
    let message = scratch.open(&second).unwrap_err();
    assert!(message.contains("unfinished results of another scenario"), "{message}");
    assert_eq!(found(&scratch.open(&first).unwrap(), &first, 9), [0]);
}

/// The folder is refused with these words, and its table stays as it is.
#[track_caller]
fn refused(scratch: &Scratch, scenario: &Scenario, bytes: &[u8], parts: &[&str]) {
    fs::write(scratch.0.join(TABLE), bytes).unwrap();
    let message = scratch.open(scenario).unwrap_err();
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in:\n{message}");
    }
    assert_eq!(fs::read(scratch.0.join(TABLE)).unwrap(), bytes, "nothing was changed");
}

/// The table with the value of a key of its metadata replaced, of the same length.
fn with_metadata(table: &[u8], key: &str, value: &str, other: &str) -> Vec<u8> {
    // Thrift's compact protocol: the key, a byte for the field, one for the length, the value.
    let at = (0..table.len()).rev().find(|at| {
        let rest = &table[*at..];
        rest.starts_with(key.as_bytes())
            && rest.get(key.len() + 2..).is_some_and(|rest| rest.starts_with(value.as_bytes()))
    });
    let at = at.unwrap() + key.len() + 2;
    let mut table = table.to_vec();
    table[at..at + other.len()].copy_from_slice(other.as_bytes());
    table
}

#[test]
fn tables_of_another_version_scenario_or_program_are_refused_and_stay() {
    let scratch = Scratch::new("foreign");
    let scenario = scenario(1);
    let table = scratch.table(&scenario, &[record(&scenario, 0)]);
    let other_version = with_metadata(&table, "schema", "2", "9");
    let version = ["runs.parquet: the table of runs has version 9, this program writes version 2"];
    refused(&scratch, &scenario, &other_version, &version);
    let other_seed = self::scenario(2);
    refused(&scratch, &other_seed, &table, &["results of another scenario", "another folder"]);
    refused(&scratch, &scenario, b"variant,run\na,1\n", &["cannot be read", "nothing was changed"]);
    refused(&scratch, &scenario, b"", &["cannot be read"]);
}

#[test]
fn runs_of_another_build_are_not_reused() {
    let scratch = Scratch::new("build");
    let scenario = scenario(1);
    let table = scratch.table(&scenario, &[record(&scenario, 0)]);
    assert_eq!(found(&scratch.open(&scenario).unwrap(), &scenario, 9), [0]);
    let other = with_metadata(&table, "build", &super::BUILD[..8], "!other!!");
    fs::write(scratch.0.join(TABLE), other).unwrap();
    let records = scratch.open(&scenario).unwrap();
    assert_eq!(found(&records, &scenario, 9), [] as [u64; 0]);
    assert!(records.note().is_some_and(|note| note.contains("from another build")));
}

#[test]
fn unfinished_runs_of_another_build_are_told_of_and_stay() {
    let scratch = Scratch::new("other-journal");
    let scenario = scenario(1);
    let other = scratch.0.join(".runs-0123456789ab.partial.jsonl");
    fs::write(&other, "{}\n").unwrap();
    let records = scratch.open(&scenario).unwrap();
    let note = records.note().unwrap();
    assert!(note.contains(".runs-0123456789ab") && note.contains("not reused"), "{note}");
    records.remove_journal().unwrap();
    assert!(other.exists());
}

#[test]
fn damaged_tables_never_panic() {
    let scratch = Scratch::new("damaged");
    let scenario = scenario(1);
    let rows: Vec<Record> = (0..4).map(|number| record(&scenario, number)).collect();
    let table = scratch.table(&scenario, &rows);
    let write = |bytes: &[u8]| fs::write(scratch.0.join(TABLE), bytes).unwrap();
    for len in (0..table.len()).step_by(97) {
        write(&table[..len]);
        assert!(scratch.open(&scenario).is_err(), "a table of {len} bytes");
    }
    for at in (0..table.len()).step_by(31) {
        let mut table = table.clone();
        table[at] ^= 0x55;
        write(&table);
        // A flipped bit of a value may be undetected, but must not cause a panic.
        let _ = scratch.open(&scenario);
    }
}

#[test]
fn number_of_runs_and_choice_of_variants_do_not_make_another_study() {
    let first = scenario(1);
    let mut second = scenario(1);
    second.about.title = Some("The same".into());
    second.runs = Runs::Auto { most: 40 };
    second.choices.congestion.push(transport::congestion::ControllerChoice::RENO);
    assert_eq!(first.study_key(), second.study_key());
    assert_ne!(first.hash(), second.hash());
    assert_ne!(first.study_key(), scenario(2).study_key());
    second.ends.reverse = true;
    assert_ne!(first.study_key(), second.study_key());
}

#[test]
fn columns_of_the_traffic_model_stand_behind_the_fixed_ones() {
    let scenario = scenario(1);
    let rows = [record(&scenario, 0), record(&scenario, 3)];
    let mut fewer = rows[0].clone();
    fewer.run.extra.remove(0);
    let all: Vec<&Record> = std::iter::once(&fewer).chain(&rows).collect();
    let columns = columns::columns(&all);
    let last = columns.last().unwrap();
    let cell = |record| columns::cell(&scenario, record, last);
    assert_eq!(cell(&fewer), cell(&rows[0]), "found at another place too");
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names[..3], ["variant", "protocol", "path"]);
    assert_eq!(names[23..27], ["failure", "hash", "sacks", "life"]);
    assert_eq!(names[names.len() - 3..], ["reinjected_bytes_on", "median", "p95"]);
    let text = super::csv::csv(&scenario, &rows.iter().collect::<Vec<_>>());
    assert!(text.contains("\"reset, by \"\"peer\"\"\nat last\""), "{text}");
    assert!(text.starts_with("variant,protocol,path,"));
}

fn delays(number: u64) -> Vec<Delay> {
    let delay = |index: u32| Delay {
        run: number,
        index,
        start: Some(Duration::from_nanos(33_333_333 * u64::from(index))),
        delay: (index != 3).then(|| Duration::from_nanos(20_000_001 + number)),
        first_path: Some(1),
        last_path: (index != 3).then_some(0),
    };
    (1..=5).map(delay).collect()
}

/// Numbers of the runs whose delays the folder has.
fn runs_with_delays(records: &Records) -> Vec<u64> {
    let delays = records.delays();
    let rows = delays.rows();
    let rows: Vec<Delay> = rows.into_values().flatten().collect();
    let runs: BTreeSet<u64> = rows.iter().map(|one| one.run).collect();
    let expected: Vec<Delay> = runs.iter().flat_map(|run| self::delays(*run)).collect();
    assert_eq!(rows, expected, "every delay as it was kept");
    runs.into_iter().collect()
}

#[test]
fn delays_read_back_from_table_and_journal_are_the_same() {
    let scenario = scenario(1);
    let scratch = Scratch::new("delays");
    let with_parts = |number| Run { parts: 5, ..run(number) };
    let keep = |records: &Records, number| {
        let variant = variant(&scenario);
        records.keep(&scenario, &variant, &with_parts(number), delays(number)).unwrap();
    };
    let records = scratch.open(&scenario).unwrap();
    (0..3).for_each(|number| keep(&records, number));
    drop(records);
    let records = scratch.open(&scenario).unwrap();
    assert_eq!(runs_with_delays(&records), [0, 1, 2], "from the journal");
    keep(&records, 3);
    // The study is written, and the program stopped before it removed the journal.
    let rows: Vec<Record> = records.all().into_values().collect();
    scratch.table(&scenario, &rows);
    let table = delays_table::parquet(&scenario, &records.delays()).unwrap();
    fs::write(scratch.0.join(DELAYS), &table).unwrap();
    drop(records);
    let records = scratch.open(&scenario).unwrap();
    assert_eq!(runs_with_delays(&records), [0, 1, 2, 3], "each once");
    records.remove_journal().unwrap();
    drop(records);
    assert_eq!(runs_with_delays(&scratch.open(&scenario).unwrap()), [0, 1, 2, 3]);
    for damaged in [&b"no table"[..], &table[..table.len() / 2]] {
        fs::write(scratch.0.join(DELAYS), damaged).unwrap();
        let records = scratch.open(&scenario).unwrap();
        assert_eq!(records.found(), 0, "the runs are repeated, to have their delays again");
        assert!(records.note().is_some_and(|note| note.contains("all runs are repeated")));
    }
}
