//! The columns of the table of runs, from records and back to records.
//!
//! One list for Parquet, CSV and the journal of an unfinished study. Numbers are in SI units. The
//! further numbers of the traffic model follow the fixed columns, one column each. `table`, `csv`
//! and `journal` define the file formats.

use super::accounts;
use super::histograms;
use crate::run::{Drops, Labels, Record, Run};
use crate::scenario::{Protocol, Scenario};
use crate::words::hex;
use std::collections::BTreeSet;
use traffic::Metric;

/// A value of a row.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Cell {
    Text(String),
    Whole(u64),
    Number(Option<f64>),
}

/// Type of the cells of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Text,
    Whole,
    Number,
}

/// A column.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Column {
    pub name: String,
    pub kind: Kind,
    /// Index of the number in the first record; the same in most others.
    place: usize,
}

/// The cell of a record, for a fixed column.
type Take = fn(&Scenario, &Record) -> Cell;

/// The fixed columns.
const FIXED: [(&str, Kind, Take); 26] = [
    ("variant", Kind::Text, |_, r| text(&r.labels.variant)),
    ("protocol", Kind::Text, |_, r| text(&r.labels.protocol)),
    ("path", Kind::Text, |_, r| text(&r.labels.path)),
    ("scheduler", Kind::Text, |_, r| text(&r.labels.scheduler)),
    ("cc", Kind::Text, |_, r| text(&r.labels.congestion)),
    ("profile", Kind::Text, |scenario, r| text(profile(scenario, r))),
    ("seed", Kind::Whole, |scenario, _| Cell::Whole(scenario.seed)),
    ("run", Kind::Whole, |_, r| Cell::Whole(r.run.number)),
    ("metric", Kind::Text, |_, r| text(r.run.metric.name())),
    ("unit", Kind::Text, |_, r| text(r.run.metric.unit())),
    ("value", Kind::Number, |_, r| Cell::Number(r.run.value)),
    ("parts", Kind::Whole, |_, r| Cell::Whole(r.run.parts)),
    ("ended", Kind::Number, |_, r| Cell::Number(Some(r.run.ended))),
    ("bytes_read", Kind::Whole, |_, r| Cell::Whole(r.run.bytes_read)),
    ("data_packets", Kind::Whole, |_, r| Cell::Whole(r.run.data_packets)),
    ("retransmitted_segments", Kind::Whole, |_, r| Cell::Whole(r.run.retransmitted_segs)),
    ("reinjected_bytes", Kind::Whole, |_, r| Cell::Whole(r.run.reinjected_bytes)),
    ("duplicate_bytes", Kind::Whole, |_, r| Cell::Whole(r.run.duplicate_bytes)),
    ("first_sent_bytes", Kind::Text, |scenario, r| Cell::Text(first_sent(scenario, &r.run))),
    ("dropped_full", Kind::Whole, |_, r| Cell::Whole(r.run.drops.full)),
    ("dropped_early", Kind::Whole, |_, r| Cell::Whole(r.run.drops.early)),
    ("dropped_random", Kind::Whole, |_, r| Cell::Whole(r.run.drops.random)),
    ("dropped_down", Kind::Whole, |_, r| Cell::Whole(r.run.drops.down)),
    ("failure", Kind::Text, |_, r| text(r.run.failure.as_deref().unwrap_or_default())),
    ("hash", Kind::Text, |_, r| Cell::Text(hex(&r.run.hash))),
    ("sacks", Kind::Number, |_, r| Cell::Number(r.run.sacks.map(|sacks| sacks as f64))),
];

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

/// Name of the profile of a record's hosts: SCTP has its own.
fn profile(scenario: &Scenario, record: &Record) -> &'static str {
    let protocol = Protocol::by_name(&record.labels.protocol);
    scenario.profile_of(protocol.unwrap_or(Protocol::Tcp))
}

/// The columns of a table of these records.
pub(super) fn columns(records: &[&Record]) -> Vec<Column> {
    let column = |name: &str, kind, place| Column { name: name.to_owned(), kind, place };
    let mut columns: Vec<Column> =
        FIXED.iter().map(|(name, kind, _)| column(name, *kind, 0)).collect();
    columns.extend(accounts::columns().iter().map(|(name, kind)| column(name, *kind, 0)));
    columns.extend(histograms::columns(records).map(|name| column(name, Kind::Text, 0)));
    let mut known: BTreeSet<&str> = FIXED.iter().map(|(name, ..)| *name).collect();
    // Pages have hundreds of further numbers. The record with the most comes first, so that the
    // columns keep the order of the model.
    let most = records.iter().max_by_key(|record| record.run.extra.len());
    for record in most.into_iter().chain(records) {
        for (place, (name, _)) in record.run.extra.iter().enumerate() {
            if !is_fixed(name) && known.insert(name) {
                columns.push(column(name, Kind::Number, place));
            }
        }
    }
    columns
}

/// The cell of a record in a column.
pub(super) fn cell(scenario: &Scenario, record: &Record, column: &Column) -> Cell {
    match FIXED.iter().find(|(name, ..)| *name == column.name) {
        Some((_, _, take)) => take(scenario, record),
        None => of_run(scenario, &record.run, &column.name).unwrap_or_else(|| {
            let extra = &record.run.extra;
            let is_it = |(name, _): &&(String, f64)| *name == column.name;
            let found = extra.get(column.place).filter(is_it);
            let found = found.or_else(|| extra.iter().find(is_it));
            Cell::Number(found.map(|(_, value)| *value))
        }),
    }
}

/// The cell of a column of accounts or distributions.
fn of_run(scenario: &Scenario, run: &Run, column: &str) -> Option<Cell> {
    let account = accounts::cell(scenario, run, column);
    account.or_else(|| histograms::cell(scenario, run, column).map(Cell::Text))
}

/// Whether the table has a fixed column of that name.
pub(super) fn is_fixed(name: &str) -> bool {
    FIXED.iter().any(|(fixed, ..)| *fixed == name) || accounts::is_column(name)
}

/// Payload first sent on each path, `wlan=1234,3g=567`.
fn first_sent(scenario: &Scenario, run: &Run) -> String {
    let paths = scenario.paths.iter().zip(&run.first_sent_bytes);
    let words: Vec<String> = paths.map(|(path, bytes)| format!("{}={bytes}", path.name)).collect();
    words.join(",")
}

/// Parses the same, for the paths of this scenario.
fn parse_first_sent(scenario: &Scenario, text: &str) -> Option<Vec<u64>> {
    let mut rest = text;
    let mut bytes = Vec::new();
    for path in &scenario.paths {
        rest = rest.strip_prefix(path.name.as_str())?.strip_prefix('=')?;
        let (number, after) = rest.split_once(',').unwrap_or((rest, ""));
        bytes.push(number.parse().ok()?);
        rest = after;
    }
    rest.is_empty().then_some(bytes)
}

/// Builds the record from its cells; the error names the invalid column.
pub(super) fn record(scenario: &Scenario, cells: &[(String, Cell)]) -> Result<Record, String> {
    let row = Row { cells };
    let hash = row.text("hash")?;
    let metric = row.text("metric")?;
    let failure = row.text("failure")?;
    let labels = Labels {
        variant: row.text("variant")?,
        protocol: row.text("protocol")?,
        path: row.text("path")?,
        scheduler: row.text("scheduler")?,
        congestion: row.text("cc")?,
    };
    let run = Run {
        number: row.whole("run")?,
        metric: Metric::by_name(&metric).ok_or("metric")?,
        value: row.number("value")?,
        extra: row.extra(),
        histograms: histograms::of(scenario, |name| row.text(name).ok())?,
        // Tables of earlier versions do not have it.
        parts: row.whole("parts").unwrap_or(0),
        ended: row.number("ended")?.ok_or("ended")?,
        bytes_read: row.whole("bytes_read")?,
        data_packets: row.whole("data_packets")?,
        retransmitted_segs: row.whole("retransmitted_segments")?,
        reinjected_bytes: row.whole("reinjected_bytes")?,
        duplicate_bytes: row.whole("duplicate_bytes")?,
        // Tables of earlier versions do not have it.
        sacks: row.number("sacks").ok().flatten().map(|sacks| sacks as u64),
        first_sent_bytes: parse_first_sent(scenario, &row.text("first_sent_bytes")?)
            .ok_or("first_sent_bytes")?,
        repeated: accounts::repeated(scenario, |name| row.text(name).ok())
            .ok_or("reinjected_segments")?,
        account: accounts::account(|name| row.number(name).ok().flatten()),
        drops: Drops {
            full: row.whole("dropped_full")?,
            early: row.whole("dropped_early")?,
            random: row.whole("dropped_random")?,
            down: row.whole("dropped_down")?,
        },
        failure: Some(failure).filter(|failure| !failure.is_empty()),
        hash: bytes(&hash).ok_or("hash")?,
    };
    Ok(Record { labels, run })
}

struct Row<'a> {
    cells: &'a [(String, Cell)],
}

impl Row<'_> {
    fn cell(&self, name: &str) -> Option<&Cell> {
        self.cells.iter().find(|(other, _)| other == name).map(|(_, cell)| cell)
    }

    fn text(&self, name: &str) -> Result<String, String> {
        match self.cell(name) {
            Some(Cell::Text(text)) => Ok(text.clone()),
            _ => Err(name.to_owned()),
        }
    }

    fn whole(&self, name: &str) -> Result<u64, String> {
        match self.cell(name) {
            Some(Cell::Whole(number)) => Ok(*number),
            _ => Err(name.to_owned()),
        }
    }

    fn number(&self, name: &str) -> Result<Option<f64>, String> {
        match self.cell(name) {
            Some(Cell::Number(number)) => Ok(*number),
            _ => Err(name.to_owned()),
        }
    }

    fn extra(&self) -> Vec<(String, f64)> {
        let others = self.cells.iter().filter(|(name, _)| !is_fixed(name));
        let numbers = others.filter_map(|(name, cell)| match cell {
            Cell::Number(Some(number)) => Some((name.clone(), *number)),
            _ => None,
        });
        numbers.collect()
    }
}

/// 32 bytes from 64 hexadecimal digits.
fn bytes(digits: &str) -> Option<[u8; 32]> {
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    let mut bytes = [0; 32];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(bytes)
}
