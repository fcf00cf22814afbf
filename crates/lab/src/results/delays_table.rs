//! Delays of single messages and objects as Parquet: one row each.
//!
//! Times are in seconds; `start_s` counts from the start of the connection or page. What was not
//! sent or did not arrive is null. A variant has at most [`MOST_KEPT`](crate::delays::MOST_KEPT)
//! rows; `runs.parquet` has the number of messages of each run, in `parts`.

use super::columnar::{self, Origin, Stored, column, optional_column};
use super::columns::{Cell, Kind};
use crate::delays::{Delay, Delays, names};
use crate::scenario::Scenario;
use crate::words::hex;
use base::Duration;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use std::collections::BTreeMap;
use std::fs::File;

/// The version of the table.
pub(super) const DELAYS_VERSION: &str = "1";

const COLUMNS: [(&str, Kind); 8] = [
    ("variant", Kind::Text),
    ("run", Kind::Whole),
    ("index", Kind::Whole),
    ("name", Kind::Text),
    ("start_s", Kind::Number),
    ("delay_s", Kind::Number),
    ("first_path", Kind::Text),
    ("last_path", Kind::Text),
];

/// Bytes of the file.
pub(super) fn parquet(scenario: &Scenario, delays: &Delays) -> Result<Vec<u8>> {
    let metadata = [
        ("schema", DELAYS_VERSION.to_owned()),
        ("study", hex(&scenario.study_key())),
        ("build", super::BUILD.to_owned()),
    ];
    let rows = delays.rows();
    let (names, rows) = (names(scenario), &rows);
    let names = &names;
    columnar::file("delays", &COLUMNS, &metadata, |index| {
        let all = rows.iter().flat_map(|(variant, rows)| rows.iter().map(|row| (*variant, row)));
        all.map(move |(variant, row)| cell(scenario, names, variant, row, index))
    })
}

/// Cells in the order of `COLUMNS`.
fn cell(scenario: &Scenario, names: &[&str], variant: &str, row: &Delay, column: usize) -> Cell {
    let seconds = |time: Option<Duration>| Cell::Number(time.map(Duration::as_secs_f64));
    let path = |path: Option<u16>| {
        let path = path.and_then(|path| scenario.paths.get(usize::from(path)));
        Cell::Text(path.map(|path| path.name.clone()).unwrap_or_default())
    };
    match column {
        0 => Cell::Text(variant.to_owned()),
        1 => Cell::Whole(row.run),
        2 => Cell::Whole(row.index.into()),
        3 => {
            let name = names.get((row.index as usize).saturating_sub(1));
            Cell::Text(name.copied().unwrap_or_default().to_owned())
        }
        4 => seconds(row.start),
        5 => seconds(row.delay),
        6 => path(row.first_path),
        _ => path(row.last_path),
    }
}

/// An existing table of delays.
pub(super) struct DelaysTable {
    stored: Stored,
}

impl DelaysTable {
    /// Opens the table and reads its metadata.
    pub(super) fn open(file: File) -> Result<DelaysTable> {
        Ok(DelaysTable { stored: Stored::open(file)? })
    }

    /// Metadata of the table.
    pub(super) fn origin(&self) -> Origin {
        self.stored.origin()
    }

    /// Rows of the table, by variant and run.
    pub(super) fn delays(
        &self,
        scenario: &Scenario,
    ) -> Result<BTreeMap<(String, u64), Vec<Delay>>> {
        self.stored.read(|reader| {
            let variant = column::<ByteArrayType>(reader, "variant")?;
            let run = column::<Int64Type>(reader, "run")?;
            let index = column::<Int64Type>(reader, "index")?;
            let start = optional_column::<DoubleType>(reader, "start_s")?;
            let delay = optional_column::<DoubleType>(reader, "delay_s")?;
            let first = column::<ByteArrayType>(reader, "first_path")?;
            let last = column::<ByteArrayType>(reader, "last_path")?;
            let lengths = [run.len(), index.len(), start.len(), delay.len(), first.len()];
            if lengths.into_iter().chain([last.len()]).any(|len| len != variant.len()) {
                return Err(ParquetError::General("its columns have different lengths".to_owned()));
            }
            let mut rows: BTreeMap<(String, u64), Vec<Delay>> = BTreeMap::new();
            for row in 0..variant.len() {
                let name = text(&variant[row]).ok_or_else(|| wrong("variant"))?;
                let run = u64::try_from(run[row]).map_err(|_| wrong("run"))?;
                let one = Delay {
                    run,
                    index: u32::try_from(index[row]).map_err(|_| wrong("index"))?,
                    start: time(start[row]).ok_or_else(|| wrong("start_s"))?,
                    delay: time(delay[row]).ok_or_else(|| wrong("delay_s"))?,
                    first_path: path(scenario, &first[row]).ok_or_else(|| wrong("first_path"))?,
                    last_path: path(scenario, &last[row]).ok_or_else(|| wrong("last_path"))?,
                };
                rows.entry((name.to_owned(), run)).or_default().push(one);
            }
            Ok(rows)
        })
    }
}

fn wrong(column: &str) -> ParquetError {
    ParquetError::General(format!("the column `{column}` is not as it should be"))
}

fn text(bytes: &ByteArray) -> Option<&str> {
    std::str::from_utf8(bytes.data()).ok()
}

/// The time of this many seconds; `None` for a number that is none.
fn time(seconds: Option<f64>) -> Option<Option<Duration>> {
    match seconds {
        None => Some(None),
        Some(seconds) if (0.0..1e9).contains(&seconds) => {
            Some(Some(Duration::from_nanos((seconds * 1e9).round() as u64)))
        }
        Some(_) => None,
    }
}

/// The path of that name, `None` for an unknown one; an empty name is no path.
fn path(scenario: &Scenario, name: &ByteArray) -> Option<Option<u16>> {
    let name = text(name)?;
    if name.is_empty() {
        return Some(None);
    }
    let index = scenario.paths.iter().position(|path| path.name == name)?;
    Some(u16::try_from(index).ok())
}
