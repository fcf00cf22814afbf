//! Two columns, time in seconds and a rate: pensieve's `seconds megabit/s`, CSV
//! `second,bytes-per-second`, or the unit of `unit=`.
//!
//! A value holds until the time of the next one, the last as long as the one before it; times
//! count from the first. Without `unit=` two forms are unambiguous: values with a decimal point in
//! columns separated by white space are Mbit/s, as in pensieve, and whole numbers in CSV that reach
//! 100,000 are bytes per second. A header may name the units, the times may be milliseconds. All
//! other files are ambiguous.

use super::detect::{Unit, lines};
use super::error::{TraceError, TraceFault};
use super::{CapacityTrace, MAX_BPS, MAX_SECS, headings};
use base::{Duration, Rate};

/// Values from here on are not Mbit/s.
const MAX_PLAIN_MBIT: f64 = 100_000.0;
/// Whole numbers in CSV from here on are bytes per second (0.8 Mbit/s): as Mbit/s they are
/// implausible, and as kbit/s above 100 Mbit/s.
const MIN_PLAIN_BYTES: f64 = 100_000.0;

struct Row {
    line: usize,
    secs: f64,
    value: f64,
}

/// How the unit of the second column was determined.
struct Signs {
    comma: bool,
    decimals: bool,
    largest: f64,
}

/// The trace, and the unit that was read.
pub(super) fn read(text: &str, unit: Option<Unit>) -> Result<(CapacityTrace, Unit), TraceError> {
    let mut rows = lines(text).peekable();
    let header = rows.next_if(|(_, line)| is_header(line));
    let heading = |place| header.and_then(|(_, line)| fields(line).nth(place)).unwrap_or_default();
    let line = header.map_or(1, |(number, _)| number);
    let seconds = headings::seconds(heading(0)).map_err(|fault| fault.at(line))?;
    let named = match unit {
        Some(unit) => Some((unit, 1.0)),
        None => headings::unit(heading(1)).map_err(|fault| fault.at(line))?,
    };
    let mut signs = Signs { comma: false, decimals: false, largest: 0.0 };
    let longest = MAX_SECS * 10.0 / seconds;
    let mut rows: Vec<Row> = rows
        .map(|(number, line)| {
            row(number, line, longest, &mut signs).map_err(|fault| fault.at(number))
        })
        .collect::<Result<_, _>>()?;
    let (unit, factor) = match named {
        Some(named) => named,
        None => (guess(&signs).map_err(TraceFault::whole)?, 1.0),
    };
    for row in &mut rows {
        (row.secs, row.value) = (row.secs * seconds, row.value * factor);
    }
    let steps = steps(&rows, unit)?;
    Ok((CapacityTrace::from_steps(&steps).map_err(TraceFault::whole)?, unit))
}

/// The fields of a line, separated by comma, semicolon or white space, without quotation marks.
pub(super) fn fields(line: &str) -> impl Iterator<Item = &str> {
    let marked = line.contains([',', ';']);
    line.split(move |c: char| if marked { c == ',' || c == ';' } else { c.is_whitespace() })
        .map(|field| field.trim().trim_matches('"').trim())
        .filter(move |field| marked || !field.is_empty())
}

fn is_header(line: &str) -> bool {
    fields(line).all(|field| field.parse::<f64>().is_err())
        && line.starts_with(|c: char| c.is_alphabetic() || c == '"')
}

/// A row whose time is at most `longest`, in the unit of the column.
fn row(line: usize, text: &str, longest: f64, signs: &mut Signs) -> Result<Row, TraceFault> {
    const WANTED: &str = "a line of two numbers, a time in seconds and a rate";
    let mut columns = fields(text);
    let (Some(time), Some(value), None) = (columns.next(), columns.next(), columns.next()) else {
        return Err(TraceFault::malformed(text, WANTED));
    };
    let secs = number(time, longest)?;
    let rate = number(value, MAX_BPS)?;
    signs.comma |= text.contains([',', ';']);
    signs.decimals |= value.contains('.');
    signs.largest = signs.largest.max(rate);
    Ok(Row { line, secs, value: rate })
}

/// A number from 0 to `max`.
pub(super) fn number(text: &str, max: f64) -> Result<f64, TraceFault> {
    let number: f64 = text.parse().map_err(|_| TraceFault::malformed(text, "a number"))?;
    if (0.0..=max).contains(&number) {
        Ok(number)
    } else {
        Err(TraceFault::out_of_range(text, "expected a number from 0 to 1 Tbit/s, or to 300 years"))
    }
}

/// A rate of `value` `unit` per second.
pub(super) fn rate(value: f64, unit: Unit) -> Option<Rate> {
    let bps = value * unit.bits();
    (bps <= MAX_BPS).then(|| Rate::from_bps((bps + 0.5) as u64))
}

fn guess(signs: &Signs) -> Result<Unit, TraceFault> {
    let why = match signs {
        Signs { comma: false, decimals: true, largest } if *largest < MAX_PLAIN_MBIT => {
            return Ok(Unit::Mbit);
        }
        Signs { comma: true, decimals: false, largest } if *largest >= MIN_PLAIN_BYTES => {
            return Ok(Unit::Bytes);
        }
        Signs { comma: false, decimals: true, .. } => "the values are too large for Mbit/s",
        Signs { comma: false, decimals: false, .. } => {
            "whole numbers could be Mbit/s, kbit/s or bytes (mahimahi's form has one column)"
        }
        Signs { comma: true, decimals: true, .. } => {
            "CSV of decimals could be Mbit/s, kbit/s or bytes"
        }
        Signs { comma: true, decimals: false, .. } => {
            "CSV of small numbers is not bytes per second"
        }
    };
    Err(TraceFault::Ambiguous { why })
}

fn steps(rows: &[Row], unit: Unit) -> Result<Vec<(Duration, Rate)>, TraceError> {
    let mut steps = Vec::with_capacity(rows.len());
    let mut last = Duration::ZERO;
    for (index, row) in rows.iter().enumerate() {
        if let Some(next) = rows.get(index + 1).filter(|next| next.secs < row.secs) {
            return Err(TraceFault::Backwards.at(next.line));
        }
        // Of several rows of one time the last one counts, and it lasts as long as the one before.
        let length = rows.get(index + 1).map(|next| Duration::from_secs_f64(next.secs - row.secs));
        if let Some(length) = length.filter(|length| *length > Duration::ZERO) {
            last = length;
        }
        let too_fast = || {
            TraceFault::out_of_range(&row.value.to_string(), "a rate up to 1 Tbit/s").at(row.line)
        };
        steps.push((length.unwrap_or(last), rate(row.value, unit).ok_or_else(too_fast)?));
    }
    Ok(steps)
}
