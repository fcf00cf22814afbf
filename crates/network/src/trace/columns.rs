//! Two columns, time in seconds and a rate: pensieve's `seconds megabit/s`, CSV
//! `second,bytes-per-second`, or the unit of `unit=`.
//!
//! A value holds until the time of the next one, the last as long as the one before it; times
//! count from the first. Without `unit=` two forms are unambiguous: values with a decimal point in
//! columns separated by white space are Mbit/s, as in pensieve, and whole numbers in CSV that reach
//! 100,000 are bytes per second. A header may name the units, the times may be milliseconds; a
//! `unit=` other than the one it names is refused. All other files are ambiguous.

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
    let (line, [times, values]) =
        header.map_or((1, [""; 2]), |(number, line)| (number, headings(line)));
    if times != values && matches!(headings::unit(times), Ok(Some(_))) {
        let wanted = "a heading of times: the first column has them, the second the rates";
        return Err(TraceFault::malformed(times, wanted).at(line));
    }
    let seconds = headings::seconds(times).map_err(|fault| fault.at(line))?;
    let named = match (unit, headings::unit(values)) {
        (Some(unit), Ok(Some(named))) if named != (unit, 1.0) => {
            let why = "the heading names another unit";
            return Err(TraceFault::Unit { unit: unit.name(), why }.at(line));
        }
        (Some(unit), _) => Some((unit, 1.0)),
        (None, named) => named.map_err(|fault| fault.at(line))?,
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

/// The headings of the two columns: in quotation marks, between tabs, or as the fields of a row. In
/// `time (ms) rate (kbit/s)` a bracket belongs to the word before it. Otherwise both headings are
/// the whole line.
fn headings(line: &str) -> [&str; 2] {
    let quoted = two(line.split('"').skip(1).step_by(2));
    let between_tabs = || two(line.split('\t').filter(|field| !field.trim().is_empty()));
    let as_row = || two(fields(line));
    let with_brackets = || {
        let is_end = |(at, c): (usize, char)| {
            (c.is_whitespace() && !line[at..].trim_start().starts_with(['(', '['])).then_some(at)
        };
        let [at] = line.char_indices().filter_map(is_end).collect::<Vec<_>>()[..] else {
            return None;
        };
        Some(<[&str; 2]>::from(line.split_at(at)))
    };
    quoted.or_else(between_tabs).or_else(as_row).or_else(with_brackets).unwrap_or([line; 2])
}

/// The items if they are two.
fn two<'a>(mut items: impl Iterator<Item = &'a str>) -> Option<[&'a str; 2]> {
    match (items.next(), items.next(), items.next()) {
        (Some(first), Some(second), None) => Some([first, second]),
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: headings were split at every blank, so that neither of a file with tabs had its
    /// unit: kbit/s were read as Mbit/s, and milliseconds as seconds.
    #[test]
    fn headings_have_their_units_whatever_separates_them() {
        for heading in [
            "Time (ms)\tRate (kbit/s)",
            "Time in ms\tRate in kbit/s",
            "\"Time (ms)\" \"Rate (kbit/s)\"",
            "\"Time, ms\",\"Rate, kbit/s\"",
            "Time (ms),Rate (kbit/s)",
            "time (ms) rate (kbit/s)",
            "time_ms rate_kbit",
        ] {
            let comma = if heading.contains(',') { "," } else { "\t" };
            let text = format!("{heading}\n0{comma}4030.5\n1000{comma}5030.5\n");
            let (trace, unit) = read(&text, None).unwrap_or_else(|why| panic!("{heading}: {why}"));
            assert_eq!((unit, trace.period()), (Unit::Kbit, Duration::from_secs(2)), "{heading}");
            assert_eq!(trace.mean_rate(), Rate::from_bps(4_530_500), "{heading}");
        }
    }

    #[test]
    fn headings_of_more_words_than_columns_are_read_as_a_whole() {
        let of = |heading: &str, unit| read(&format!("{heading}\n0 4.5\n1 5.5\n"), unit);
        let (trace, unit) = of("time rate in Mbit/s", None).unwrap();
        assert_eq!((unit, trace.period()), (Unit::Mbit, Duration::from_secs(2)));
        let ambiguous = of("time in ms rate in kbit/s", None).unwrap_err();
        assert!(matches!(ambiguous.fault, TraceFault::Ambiguous { .. }), "{ambiguous:?}");
        let (trace, _) = of("time in ms rate in kbit/s", Some(Unit::Kbit)).unwrap();
        assert_eq!(trace.period(), Duration::from_millis(2));
    }
}
