//! Time series as Parquet, in long form: one row per value.
//!
//! `t_ns` counts virtual nanoseconds from the start of the repetition; `path` is empty for
//! quantities of the connection, and names the flow for goodputs of competing flows. The rows of a
//! series are adjacent, in time order.

use super::columnar::{self, Origin, Stored, column};
use super::columns::{Cell, Kind};
use crate::scenario::Scenario;
use crate::series::{Quantity, Series, VariantSeries};
use crate::words::hex;
use base::Instant;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::SerializedFileReader;
use std::fs::File;

/// The version of the table.
pub(super) const SERIES_VERSION: &str = "1";

const COLUMNS: [(&str, Kind); 7] = [
    ("variant", Kind::Text),
    ("run", Kind::Whole),
    ("path", Kind::Text),
    ("quantity", Kind::Text),
    ("unit", Kind::Text),
    ("t_ns", Kind::Whole),
    ("value", Kind::Number),
];

/// A value with its quantity.
type Row<'a> = (&'a VariantSeries, &'a Series, (Instant, f64));

/// Bytes of the file.
pub(super) fn parquet(scenario: &Scenario, series: &[VariantSeries]) -> Result<Vec<u8>> {
    let metadata = [
        ("schema", SERIES_VERSION.to_owned()),
        ("study", hex(&scenario.study_key())),
        ("build", super::BUILD.to_owned()),
    ];
    columnar::file("series", &COLUMNS, &metadata, |column| {
        rows(series).map(move |row| cell(scenario, row, column))
    })
}

fn rows(series: &[VariantSeries]) -> impl Iterator<Item = Row<'_>> {
    series.iter().flat_map(|of| {
        of.series.iter().flat_map(move |one| one.points.iter().map(move |at| (of, one, *at)))
    })
}

/// Cells in the order of `COLUMNS`.
fn cell(scenario: &Scenario, row: Row<'_>, column: usize) -> Cell {
    let (of, series, (at, value)) = row;
    match column {
        0 => Cell::Text(of.variant.clone()),
        1 => Cell::Whole(of.run),
        2 => {
            let names = names(scenario, series.quantity);
            let name = series.path.and_then(|index| names.into_iter().nth(index));
            Cell::Text(name.unwrap_or_default())
        }
        3 => Cell::Text(series.quantity.name().to_owned()),
        4 => Cell::Text(series.quantity.unit().to_owned()),
        5 => Cell::Whole(at.as_nanos()),
        _ => Cell::Number(Some(value)),
    }
}

/// Meaning of the index of this quantity: competing flow, or path.
fn names(scenario: &Scenario, quantity: Quantity) -> Vec<String> {
    match quantity {
        Quantity::Goodput => scenario.flow_names(),
        _ => scenario.paths.iter().map(|path| path.name.clone()).collect(),
    }
}

/// An existing table of series.
pub(super) struct SeriesTable {
    stored: Stored,
}

impl SeriesTable {
    /// Opens the table and reads its metadata.
    pub(super) fn open(file: File) -> Result<SeriesTable> {
        Ok(SeriesTable { stored: Stored::open(file)? })
    }

    /// Metadata of the table.
    pub(super) fn origin(&self) -> Origin {
        self.stored.origin()
    }

    /// Series of the table, in the order of its rows.
    pub(super) fn series(&self, scenario: &Scenario) -> Result<Vec<VariantSeries>> {
        self.stored.read(|reader| {
            let columns = Columns::read(reader)?;
            let mut found: Vec<VariantSeries> = Vec::new();
            for row in 0..columns.at.len() {
                columns.add(scenario, row, &mut found)?;
            }
            Ok(found)
        })
    }
}

/// The required columns.
struct Columns {
    variant: Vec<ByteArray>,
    run: Vec<i64>,
    path: Vec<ByteArray>,
    quantity: Vec<ByteArray>,
    at: Vec<i64>,
    value: Vec<f64>,
}

impl Columns {
    fn read(reader: &SerializedFileReader<File>) -> Result<Columns> {
        let columns = Columns {
            variant: column::<ByteArrayType>(reader, "variant")?,
            run: column::<Int64Type>(reader, "run")?,
            path: column::<ByteArrayType>(reader, "path")?,
            quantity: column::<ByteArrayType>(reader, "quantity")?,
            at: column::<Int64Type>(reader, "t_ns")?,
            value: column::<DoubleType>(reader, "value")?,
        };
        let Columns { variant, run, path, quantity, at, value } = &columns;
        let texts = [variant.len(), path.len(), quantity.len()];
        if [run.len(), value.len()].into_iter().chain(texts).any(|len| len != at.len()) {
            return Err(ParquetError::General("its columns have different lengths".to_owned()));
        }
        Ok(columns)
    }

    /// Adds a row to its series: the last one, or a new one.
    fn add(&self, scenario: &Scenario, row: usize, to: &mut Vec<VariantSeries>) -> Result<()> {
        let wrong = |column: &str| {
            ParquetError::General(format!("the column `{column}` is not as it should be"))
        };
        let variant = text(&self.variant[row]).ok_or_else(|| wrong("variant"))?;
        let run = u64::try_from(self.run[row]).map_err(|_| wrong("run"))?;
        let at = u64::try_from(self.at[row]).map_err(|_| wrong("t_ns"))?;
        let quantity = text(&self.quantity[row]).and_then(Quantity::by_name);
        let quantity = quantity.ok_or_else(|| wrong("quantity"))?;
        let path = match text(&self.path[row]).ok_or_else(|| wrong("path"))? {
            "" => None,
            name => {
                let index = names(scenario, quantity).iter().position(|other| other == name);
                Some(index.ok_or_else(|| wrong("path"))?)
            }
        };
        let belongs = |of: &VariantSeries| of.variant == variant && of.run == run;
        if !to.last().is_some_and(belongs) {
            to.push(VariantSeries { variant: variant.to_owned(), run, series: Vec::new() });
        }
        let point = (Instant::from_nanos(at), self.value[row]);
        // A last one exists: it was just checked or added.
        let Some(of) = to.last_mut() else { return Ok(()) };
        match of.series.last_mut() {
            Some(series) if (series.quantity, series.path) == (quantity, path) => {
                series.points.push(point);
            }
            _ => of.series.push(Series { quantity, path, points: vec![point] }),
        }
        Ok(())
    }
}

fn text(bytes: &ByteArray) -> Option<&str> {
    std::str::from_utf8(bytes.data()).ok()
}
