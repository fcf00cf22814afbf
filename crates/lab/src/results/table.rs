//! The table of runs as Parquet: one row per repetition of a variant.
//!
//! `columns` defines the columns, `columnar` the file. The metadata of the file identify the study,
//! so that no row is mistaken for another study's.

use super::columnar::{self, Origin, Stored};
use super::columns::{self, Cell, Kind, cell};
use crate::run::Record;
use crate::scenario::Scenario;
use crate::words::hex;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::FileReader;
use parquet::record::Field;
use std::fs::File;

/// The version of the table.
pub(super) const SCHEMA_VERSION: &str = "2";

/// Bytes of the file.
pub(super) fn parquet(scenario: &Scenario, records: &[&Record]) -> Result<Vec<u8>> {
    let columns = columns::columns(records);
    let named: Vec<(&str, Kind)> = columns.iter().map(|c| (c.name.as_str(), c.kind)).collect();
    let metadata = [
        ("schema", SCHEMA_VERSION.to_owned()),
        ("seed", scenario.seed.to_string()),
        ("study", hex(&scenario.study_key())),
        ("build", super::BUILD.to_owned()),
        ("scenario_hash", hex(&scenario.hash())),
    ];
    let columns = &columns;
    columnar::file("runs", &named, &metadata, |index| {
        records.iter().map(move |record| cell(scenario, record, &columns[index]))
    })
}

/// An existing table of runs.
pub(super) struct Table {
    stored: Stored,
}

impl Table {
    /// Opens the table and reads its metadata.
    pub(super) fn open(file: File) -> Result<Table> {
        Ok(Table { stored: Stored::open(file)? })
    }

    /// Metadata of the table.
    pub(super) fn origin(&self) -> Origin {
        self.stored.origin()
    }

    /// Rows of the table.
    pub(super) fn records(&self, scenario: &Scenario) -> Result<Vec<Record>> {
        self.stored.read(|reader| {
            let mut records = Vec::new();
            for row in reader.get_row_iter(None)? {
                let row = row?;
                let cells: Vec<(String, Cell)> = row
                    .get_column_iter()
                    .filter_map(|(name, field)| Some((name.clone(), cell_of(field)?)))
                    .collect();
                let record = columns::record(scenario, &cells).map_err(|column| {
                    ParquetError::General(format!("the column `{column}` is not as it should be"))
                })?;
                records.push(record);
            }
            Ok(records)
        })
    }
}

fn cell_of(field: &Field) -> Option<Cell> {
    match field {
        Field::Str(text) => Some(Cell::Text(text.clone())),
        Field::Long(number) => u64::try_from(*number).ok().map(Cell::Whole),
        Field::ULong(number) => Some(Cell::Whole(*number)),
        Field::Double(number) => Some(Cell::Number(Some(*number))),
        Field::Null => Some(Cell::Number(None)),
        _ => None,
    }
}
