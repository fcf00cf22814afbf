//! The table of runs as Parquet: one row per repetition of a variant.
//!
//! Read it with pandas, polars, DuckDB or R. Columns in SI units.

use crate::scenario::Scenario;
use crate::study::{Run, Study, hex};
use crate::variants::Variant;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// The version of the table.
const SCHEMA_VERSION: &str = "1";

/// A row and where it comes from.
struct Row<'a> {
    variant: &'a Variant,
    run: &'a Run,
}

/// A column: its name and what it takes from a row.
enum Column {
    Text(&'static str, fn(&Scenario, &Row) -> String),
    Whole(&'static str, fn(&Row) -> u64),
    Number(&'static str, fn(&Row) -> Option<f64>),
    /// A further number of the traffic model.
    Extra(&'static str),
}

const COLUMNS: [Column; 23] = [
    Column::Text("variant", |_, row| row.variant.name.clone()),
    Column::Text("protocol", |_, row| row.variant.protocol().name().to_owned()),
    Column::Text("path", |scenario, row| {
        let path = row.variant.single_path().and_then(|path| scenario.paths.get(path));
        path.map_or(String::new(), |path| path.name.clone())
    }),
    Column::Text("scheduler", |_, row| row.variant.scheduler().unwrap_or_default().to_owned()),
    Column::Text("cc", |_, row| row.variant.congestion.to_owned()),
    Column::Text("profile", |scenario, _| scenario.profile.name().to_owned()),
    Column::Whole("run", |row| row.run.number),
    Column::Text("metric", |_, row| row.run.record.outcome.metric.name().to_owned()),
    Column::Text("unit", |_, row| row.run.record.outcome.metric.unit().to_owned()),
    Column::Number("value", |row| row.run.value()),
    Column::Number("ended", |row| Some(row.run.record.ended.as_secs_f64())),
    Column::Whole("bytes_read", |row| row.run.record.outcome.bytes_read),
    Column::Whole("data_packets", |row| row.run.record.data_packets),
    Column::Whole("retransmitted_segments", |row| row.run.record.retransmitted_segs),
    Column::Whole("reinjected_bytes", |row| row.run.record.reinjected_bytes),
    Column::Whole("duplicate_bytes", |row| row.run.record.duplicate_bytes),
    Column::Text("first_sent_bytes", first_sent),
    Column::Whole("dropped_full", |row| links(row, |link| link.dropped_full)),
    Column::Whole("dropped_early", |row| {
        links(row, |link| link.dropped_early + link.dropped_queued)
    }),
    Column::Whole("dropped_random", |row| links(row, |link| link.lost)),
    Column::Whole("dropped_down", |row| links(row, |link| link.dropped_down)),
    Column::Text("failure", |_, row| {
        row.run.record.failure.as_ref().map_or(String::new(), ToString::to_string)
    }),
    Column::Text("hash", |_, row| hex(&row.run.record.hash.unwrap_or_default())),
];

/// Payload first sent on each path, `wlan=1234,3g=567`.
fn first_sent(scenario: &Scenario, row: &Row) -> String {
    let paths = scenario.paths.iter().zip(&row.run.record.first_sent_bytes);
    let words: Vec<String> = paths.map(|(path, bytes)| format!("{}={bytes}", path.name)).collect();
    words.join(",")
}

/// A counter summed over both links of all paths.
fn links(row: &Row, counter: fn(&network::LinkStats) -> u64) -> u64 {
    row.run.record.links.iter().map(|path| counter(&path.down) + counter(&path.up)).sum()
}

/// The file's bytes.
pub(super) fn parquet(scenario: &Scenario, study: &Study) -> Result<Vec<u8>> {
    let rows: Vec<Row> = study
        .variants
        .iter()
        .flat_map(|v| v.runs.iter().map(move |run| Row { variant: &v.variant, run }))
        .collect();
    let extra = rows.iter().find(|row| row.run.value().is_some());
    let extra = extra.map_or(Vec::new(), |row| row.run.record.outcome.extra.clone());
    let columns: Vec<Column> =
        COLUMNS.into_iter().chain(extra.iter().map(|(name, _)| Column::Extra(name))).collect();
    let schema = Arc::new(parse_message_type(&message_type(&columns))?);
    let metadata = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by("anabranch".to_owned())
        .set_key_value_metadata(Some(vec![
            metadata("schema", SCHEMA_VERSION.to_owned()),
            metadata("seed", scenario.seed.to_string()),
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
        write_column(writer.untyped(), column, scenario, &rows)?;
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

fn message_type(columns: &[Column]) -> String {
    let field = |column: &Column| match column {
        Column::Text(name, _) => format!("required binary {name} (UTF8);"),
        Column::Whole(name, _) => format!("required int64 {name};"),
        Column::Number(name, _) | Column::Extra(name) => format!("optional double {name};"),
    };
    let fields: Vec<String> = columns.iter().map(field).collect();
    format!("message runs {{ {} }}", fields.join(" "))
}

fn write_column(
    writer: &mut ColumnWriter<'_>,
    column: &Column,
    scenario: &Scenario,
    rows: &[Row],
) -> Result<()> {
    match (writer, column) {
        (ColumnWriter::ByteArrayColumnWriter(writer), Column::Text(_, text)) => {
            let values: Vec<ByteArray> =
                rows.iter().map(|row| ByteArray::from(text(scenario, row).into_bytes())).collect();
            writer.write_batch(&values, None, None)?;
        }
        (ColumnWriter::Int64ColumnWriter(writer), Column::Whole(_, number)) => {
            let whole = |row| i64::try_from(number(row)).unwrap_or(i64::MAX);
            let values: Vec<i64> = rows.iter().map(whole).collect();
            writer.write_batch(&values, None, None)?;
        }
        (ColumnWriter::DoubleColumnWriter(writer), column) => {
            let value = |row: &Row| match column {
                Column::Number(_, number) => number(row),
                Column::Extra(name) => {
                    let extra = &row.run.record.outcome.extra;
                    extra.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
                }
                _ => None,
            };
            let values: Vec<Option<f64>> = rows.iter().map(value).collect();
            let present: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
            let values: Vec<f64> = values.into_iter().flatten().collect();
            writer.write_batch(&values, Some(&present), None)?;
        }
        _ => return Err(ParquetError::General("a column does not fit its writer".to_owned())),
    }
    Ok(())
}
