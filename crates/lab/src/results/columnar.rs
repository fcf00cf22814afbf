//! Tables as Parquet files: columns written, files opened without trusting them.
//!
//! Read the files with pandas, polars, DuckDB or R. The metadata of a file identify the version of
//! the table, the study and the build. `table` and `series_table` define the contents.

use super::columns::{Cell, Kind};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::reader::get_typed_column_reader;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Limit of rows, far more than a study has: the number in the file is untrusted.
const MOST_ROWS: usize = 100_000_000;

/// Metadata of a table; `None` for missing keys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Origin {
    pub schema: Option<String>,
    pub study: Option<String>,
    pub build: Option<String>,
}

/// Bytes of a file with these columns, each with name and kind; `cells` returns those of a column.
pub(super) fn file<I: Iterator<Item = Cell>>(
    table: &str,
    columns: &[(&str, Kind)],
    metadata: &[(&str, String)],
    cells: impl Fn(usize) -> I,
) -> Result<Vec<u8>> {
    let schema = Arc::new(parse_message_type(&message_type(table, columns))?);
    let entry = |(key, value): &(&str, String)| KeyValue::new((*key).to_owned(), value.clone());
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by("anabranch".to_owned())
        .set_key_value_metadata(Some(metadata.iter().map(entry).collect()))
        .build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for index in 0..columns.len() {
        let mut writer = group
            .next_column()?
            .ok_or_else(|| ParquetError::General("the schema has too few columns".to_owned()))?;
        write_column(writer.untyped(), cells(index))?;
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

/// The same for tables of other modules.
pub(crate) fn table_file<I: Iterator<Item = Cell>>(
    table: &str,
    columns: &[(&str, Kind)],
    metadata: &[(&str, String)],
    cells: impl Fn(usize) -> I,
) -> io::Result<Vec<u8>> {
    file(table, columns, metadata, cells).map_err(io::Error::other)
}

fn message_type(table: &str, columns: &[(&str, Kind)]) -> String {
    let field = |(name, kind): &(&str, Kind)| match kind {
        Kind::Text => format!("required binary {name} (UTF8);"),
        // A seed may have all 64 bits.
        Kind::Whole if *name == "seed" => format!("required int64 {name} (INTEGER(64, false));"),
        Kind::Whole => format!("required int64 {name};"),
        Kind::Number => format!("optional double {name};"),
    };
    let fields: Vec<String> = columns.iter().map(field).collect();
    format!("message {table} {{ {} }}", fields.join(" "))
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

/// An existing Parquet file.
pub(super) struct Stored {
    pub reader: SerializedFileReader<File>,
    /// Content of the file.
    len: u64,
}

impl Stored {
    /// Opens the file and reads its metadata.
    pub(super) fn open(file: File) -> Result<Stored> {
        let len = file.metadata()?.len();
        Ok(Stored { reader: SerializedFileReader::new(file)?, len })
    }

    /// Metadata of the file.
    pub(super) fn origin(&self) -> Origin {
        let metadata = self.reader.metadata().file_metadata().key_value_metadata();
        let value = |key: &str| {
            let entry = metadata?.iter().find(|entry| entry.key == key)?;
            entry.value.clone()
        };
        Origin { schema: value("schema"), study: value("study"), build: value("build") }
    }

    /// Result of `read` on the rows of a possibly damaged file.
    pub(super) fn read<T>(
        &self,
        read: impl Fn(&SerializedFileReader<File>) -> Result<T>,
    ) -> Result<T> {
        self.check_extents()?;
        // The library trusts parts of its input; a damaged file must not end the program.
        catch_unwind(AssertUnwindSafe(|| read(&self.reader)))
            .unwrap_or_else(|_| Err(ParquetError::General("the file is damaged".to_owned())))
    }

    /// Checks that every column is inside the file.
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
}

/// All values of a column, none of them absent.
pub(super) fn column<T: DataType>(
    reader: &SerializedFileReader<File>,
    name: &str,
) -> Result<Vec<T::T>> {
    let values = optional_column::<T>(reader, name)?;
    values.into_iter().map(|value| value.ok_or_else(|| wrong(name))).collect()
}

/// All values of a column.
pub(super) fn optional_column<T: DataType>(
    reader: &SerializedFileReader<File>,
    name: &str,
) -> Result<Vec<Option<T::T>>> {
    let metadata = reader.metadata();
    let schema = metadata.file_metadata().schema_descr();
    let index = schema.columns().iter().position(|column| column.name() == name);
    let index = index.ok_or_else(|| wrong(name))?;
    if schema.column(index).physical_type() != T::get_physical_type() {
        return Err(wrong(name));
    }
    let optional = schema.column(index).max_def_level() > 0;
    let mut all = Vec::new();
    for group in 0..metadata.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows()).map_err(|_| wrong(name))?;
        if rows > MOST_ROWS {
            return Err(ParquetError::General("its number of rows is too large".to_owned()));
        }
        let mut column = get_typed_column_reader::<T>(group.get_column_reader(index)?);
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let (read, ..) =
            column.read_records(rows, optional.then_some(&mut levels), None, &mut values)?;
        if read != rows {
            return Err(wrong(name));
        }
        if !optional {
            levels.resize(rows, 1);
        }
        let mut values = values.into_iter();
        let before = all.len();
        all.extend(levels.iter().map(|level| if *level > 0 { values.next() } else { None }));
        if all.len() - before != rows || values.next().is_some() {
            return Err(wrong(name));
        }
    }
    Ok(all)
}

fn wrong(column: &str) -> ParquetError {
    ParquetError::General(format!("the column `{column}` is not as it should be"))
}
