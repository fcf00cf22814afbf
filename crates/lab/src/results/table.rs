//! The table of runs as Parquet: one row per repetition of a variant.
//!
//! Read it with pandas, polars, DuckDB or R. The file's metadata say what the rows belong to: the
//! version of the table, the scenario, the seed and the build, so that no row is taken for
//! something else. Columns are `columns`'.

use super::columns::{self, Cell, Column, Kind, cell};
use crate::run::Record;
use crate::scenario::Scenario;
use crate::study::hex;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The version of the table.
pub(super) const SCHEMA_VERSION: &str = "2";

/// What a table says of itself; `None` where it says nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Origin {
    pub schema: Option<String>,
    pub study: Option<String>,
    pub build: Option<String>,
}

/// The file's bytes.
pub(super) fn parquet(scenario: &Scenario, records: &[&Record]) -> Result<Vec<u8>> {
    let columns = columns::columns(records);
    let schema = Arc::new(parse_message_type(&message_type(&columns))?);
    let metadata = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by("anabranch".to_owned())
        .set_key_value_metadata(Some(vec![
            metadata("schema", SCHEMA_VERSION.to_owned()),
            metadata("seed", scenario.seed.to_string()),
            metadata("study", hex(&scenario.study_key())),
            metadata("build", super::BUILD.to_owned()),
            metadata("scenario_hash", hex(&scenario.hash())),
        ]))
        .build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for column in &columns {
        let mut writer = group
            .next_column()?
            .ok_or_else(|| ParquetError::General("the schema has too few columns".to_owned()))?;
        let cells = records.iter().map(|record| cell(scenario, record, column));
        write_column(writer.untyped(), cells)?;
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

fn message_type(columns: &[Column]) -> String {
    let field = |column: &Column| {
        let name = &column.name;
        match column.kind {
            Kind::Text => format!("required binary {name} (UTF8);"),
            // A seed may have all 64 bits.
            Kind::Whole if name == "seed" => {
                format!("required int64 {name} (INTEGER(64, false));")
            }
            Kind::Whole => format!("required int64 {name};"),
            Kind::Number => format!("optional double {name};"),
        }
    };
    let fields: Vec<String> = columns.iter().map(field).collect();
    format!("message runs {{ {} }}", fields.join(" "))
}

fn write_column(writer: &mut ColumnWriter<'_>, cells: impl Iterator<Item = Cell>) -> Result<()> {
    match writer {
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let text = |cell| match cell {
                Cell::Text(text) => Some(ByteArray::from(text.into_bytes())),
                _ => None,
            };
            let values: Vec<ByteArray> = cells.filter_map(text).collect();
            writer.write_batch(&values, None, None)?;
        }
        ColumnWriter::Int64ColumnWriter(writer) => {
            let whole = |cell| match cell {
                Cell::Whole(number) => Some(number.cast_signed()),
                _ => None,
            };
            let values: Vec<i64> = cells.filter_map(whole).collect();
            writer.write_batch(&values, None, None)?;
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let number = |cell| match cell {
                Cell::Number(number) => number,
                _ => None,
            };
            let values: Vec<Option<f64>> = cells.map(number).collect();
            let present: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
            let values: Vec<f64> = values.into_iter().flatten().collect();
            writer.write_batch(&values, Some(&present), None)?;
        }
        _ => return Err(ParquetError::General("a column does not fit its writer".to_owned())),
    }
    Ok(())
}

/// A table of runs that is there already.
pub(super) struct Table {
    reader: SerializedFileReader<File>,
    /// Bytes of the file.
    len: u64,
}

impl Table {
    /// Opens it and reads what it says of itself.
    pub fn open(file: File) -> Result<Table> {
        let len = file.metadata()?.len();
        Ok(Table { reader: SerializedFileReader::new(file)?, len })
    }

    /// Where it comes from.
    pub fn origin(&self) -> Origin {
        let metadata = self.reader.metadata().file_metadata().key_value_metadata();
        let value = |key: &str| {
            let entry = metadata?.iter().find(|entry| entry.key == key)?;
            entry.value.clone()
        };
        Origin { schema: value("schema"), study: value("study"), build: value("build") }
    }

    /// Its rows.
    pub fn records(&self, scenario: &Scenario) -> Result<Vec<Record>> {
        self.check_extents()?;
        // The library takes some of what it reads on trust; a damaged file must not end us.
        catch_unwind(AssertUnwindSafe(|| self.rows(scenario)))
            .unwrap_or_else(|_| Err(ParquetError::General("the file is damaged".to_owned())))
    }

    /// Every column has to lie inside the file.
    fn check_extents(&self) -> Result<()> {
        let groups = self.reader.metadata().row_groups();
        for column in groups.iter().flat_map(RowGroupMetaData::columns) {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let end = start.checked_add(column.compressed_size());
            let inside = |end: i64| u64::try_from(end).is_ok_and(|end| end <= self.len);
            if start < 0 || column.compressed_size() < 0 || !end.is_some_and(inside) {
                return Err(ParquetError::General("the file is damaged".to_owned()));
            }
        }
        Ok(())
    }

    fn rows(&self, scenario: &Scenario) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        for row in self.reader.get_row_iter(None)? {
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
