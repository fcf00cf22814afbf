//! The journal of an unfinished study: every finished run is saved at once, one JSON object per
//! line.
//!
//! A line is written by a single call, so that a program killed at any moment leaves complete lines
//! and at most a truncated last one, which does not parse and is left out. The same holds after a
//! power failure. The first line identifies the study. The journal is removed when the study is
//! written as a table.

use super::columns::{self, Cell, cell};
use super::delays_json;
use crate::delays::Delay;
use crate::run::Record;
use crate::scenario::Scenario;
use crate::words::hex;
use serde_json::{Map, Value, json};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

/// The version of the lines.
const SCHEMA: u64 = 1;
/// The key of the delays in a line.
const DELAYS: &str = "delays";

/// A run and its delays.
pub(super) type Entry = (Record, Vec<Delay>);

/// A journal open for writing, by one program at a time.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    /// Whether the last call wrote a partial line.
    torn: bool,
}

/// Why a journal cannot be used.
#[derive(Debug)]
pub(super) enum Unusable {
    Io(io::Error),
    /// Another program has it open.
    InUse,
    /// Its first line names another scenario or version.
    Foreign,
}

impl Journal {
    /// Opens or creates the journal at `path`, and returns its contents.
    pub(super) fn open(
        path: &Path,
        scenario: &Scenario,
    ) -> Result<(Journal, Vec<Entry>), Unusable> {
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(Unusable::Io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Unusable::InUse),
            // Some file systems have no locks; then concurrent use is not detected.
            Err(TryLockError::Error(_)) => {}
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(Unusable::Io)?;
        let torn = bytes.last().is_some_and(|byte| *byte != b'\n');
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut journal = Journal { file, torn };
        let heading = heading(scenario);
        match lines.next() {
            Some(first) if first != heading => return Err(Unusable::Foreign),
            Some(_) => {}
            None => journal.line(&heading).map_err(Unusable::Io)?,
        }
        let entry = |line: Value| {
            let record = parse(scenario, &line)?;
            let delays = delays_json::parse(record.run.number, &line[DELAYS])?;
            Some((record, delays))
        };
        let records = lines.filter_map(entry).collect();
        Ok((journal, records))
    }

    /// Adds a run, with the delays to be kept.
    pub(super) fn append(
        &mut self,
        scenario: &Scenario,
        record: &Record,
        delays: &[Delay],
    ) -> io::Result<()> {
        let entry = |column: &columns::Column| {
            let value = match cell(scenario, record, column) {
                Cell::Text(text) => json!(text),
                Cell::Whole(number) => json!(number),
                Cell::Number(number) => json!(number),
            };
            (column.name.clone(), value)
        };
        let mut object: Map<String, Value> =
            columns::columns(&[record]).iter().map(entry).collect();
        if !delays.is_empty() {
            object.insert(DELAYS.to_owned(), delays_json::show(delays));
        }
        self.line(&Value::Object(object))
    }

    /// Writes a line with one call; on a new line after a truncated one.
    fn line(&mut self, value: &Value) -> io::Result<()> {
        let begin = if self.torn { "\n" } else { "" };
        let line = format!("{begin}{value}\n");
        let written = self.file.write_all(line.as_bytes());
        self.torn = written.is_err();
        written
    }
}

fn heading(scenario: &Scenario) -> Value {
    json!({
        "anabranch": "runs",
        "schema": SCHEMA,
        "study": hex(&scenario.study_key()),
        "build": super::BUILD,
    })
}

fn parse(scenario: &Scenario, line: &Value) -> Option<Record> {
    let cell = |(name, value): (&String, &Value)| {
        let cell = match value {
            Value::String(text) => Cell::Text(text.clone()),
            Value::Null => Cell::Number(None),
            Value::Number(number) => match number.as_u64() {
                Some(whole) => Cell::Whole(whole),
                None => Cell::Number(number.as_f64()),
            },
            _ => return None,
        };
        Some((name.clone(), cell))
    };
    let cells: Vec<(String, Cell)> = line.as_object()?.iter().filter_map(cell).collect();
    columns::record(scenario, &cells).ok()
}
