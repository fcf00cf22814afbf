//! Drive-test tables with a `Timestamp` and `DL_bitrate`, `UL_bitrate` in kbit/s (Raca et al., the
//! 5G dataset of MMSys 2020).
//!
//! A row holds from its second to the next later one; rows of the same second share it evenly, and
//! the last row holds for one second. Rows without a value (`-`) are skipped.

use super::columns::{number, rate};
use super::detect::{Direction, Unit, lines};
use super::error::{TraceError, TraceFault};
use super::{CapacityTrace, MAX_BPS};
use base::{Duration, Rate};

/// The longest time between two rows, in seconds: 500 years, which are fewer nanoseconds than 2^64.
const LONGEST_GAP: i64 = 500 * 366 * 86_400;

/// The column that is read from a table with this header; that of the other direction if it is the
/// only one. `None` if this is no such table.
pub(super) fn column_for(header: &str, wanted: Direction) -> Option<Direction> {
    let other = match wanted {
        Direction::Down => Direction::Up,
        Direction::Up => Direction::Down,
    };
    let has = |direction| cells(header).any(|name| name == column(direction));
    [wanted, other].into_iter().find(|direction| has(*direction))
}

/// The cells of a line, without quotation marks.
fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|cell| cell.trim().trim_matches('"').trim())
}

const fn column(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "DL_bitrate",
        Direction::Up => "UL_bitrate",
    }
}

/// One second of the log.
struct Second {
    time: i64,
    sum_kbit: f64,
    rows: u32,
}

pub(super) fn read(text: &str, direction: Direction) -> Result<CapacityTrace, TraceError> {
    let mut rows = lines(text);
    let (line, header) = rows.next().ok_or(TraceFault::Empty.whole())?;
    let place = |name: &str| cells(header).position(|column| column == name);
    let (Some(time), Some(value)) = (place("Timestamp"), place(column(direction))) else {
        return Err(TraceFault::malformed(header, "a header with `Timestamp`").at(line));
    };
    let mut seconds: Vec<Second> = Vec::new();
    for (line, row) in rows {
        let parsed = parse(row, time, value).map_err(|fault| fault.at(line))?;
        let Some((time, kbit)) = parsed else { continue };
        match seconds.last_mut() {
            Some(last) if last.time > time => return Err(TraceFault::Backwards.at(line)),
            Some(last) if time - last.time > LONGEST_GAP => {
                return Err(TraceFault::TooLong.at(line));
            }
            Some(last) if last.time == time => {
                last.sum_kbit += kbit;
                last.rows += 1;
            }
            _ => seconds.push(Second { time, sum_kbit: kbit, rows: 1 }),
        }
    }
    CapacityTrace::from_steps(&steps(&seconds)).map_err(TraceFault::whole)
}

fn steps(seconds: &[Second]) -> Vec<(Duration, Rate)> {
    let ends = seconds.iter().skip(1).map(|second| second.time);
    let ends = ends.chain(seconds.last().map(|second| second.time + 1));
    let step = |(second, end): (&Second, i64)| {
        let kbit = second.sum_kbit / f64::from(second.rows);
        let secs = u64::try_from(end - second.time).unwrap_or(0);
        // Each value is at most a terabit, and so is their mean.
        (Duration::from_secs(secs), rate(kbit, Unit::Kbit).unwrap_or_default())
    };
    seconds.iter().zip(ends).map(step).collect()
}

/// The second and the kbit/s of a row; `None` if it has no value.
fn parse(row: &str, time: usize, value: usize) -> Result<Option<(i64, f64)>, TraceFault> {
    let cell = |index| cells(row).nth(index);
    let (Some(stamp), Some(kbit)) = (cell(time), cell(value)) else {
        return Err(TraceFault::malformed(row, "a row with as many cells as the header"));
    };
    if kbit == "-" || kbit.is_empty() {
        return Ok(None);
    }
    let time = seconds_of(stamp)
        .ok_or_else(|| TraceFault::malformed(stamp, "a time like 2020.02.13_13.03.24"))?;
    Ok(Some((time, number(kbit, MAX_BPS / 1000.0)?)))
}

/// `2020.02.13_13.03.24` as seconds from a fixed day.
fn seconds_of(stamp: &str) -> Option<i64> {
    let mut parts = stamp.split(['.', '_']).map(|part| {
        let digits = (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| part.parse::<i64>().ok()).flatten()
    });
    let mut part = |min: i64, max: i64| parts.next()?.filter(|n| (min..=max).contains(n));
    let (year, month, day) = (part(1, 9999)?, part(1, 12)?, part(1, 31)?);
    let (hour, minute, second) = (part(0, 23)?, part(0, 59)?, part(0, 60)?);
    if parts.next().is_some() {
        return None;
    }
    Some(((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

/// Days of the Gregorian calendar from a fixed day, with the year beginning in March so that the
/// leap day is its last.
const fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_a_thousand_years_apart_are_refused() {
        let table = "Timestamp,DL_bitrate\n2020.01.16_07.26.43,5\n3020.01.16_07.26.46,5\n";
        let refused = read(table, Direction::Down).unwrap_err();
        assert_eq!(refused, TraceFault::TooLong.at(3));
    }

    #[test]
    fn seconds_count_across_midnight_and_leap_days() {
        let secs = |stamp| seconds_of(stamp).unwrap();
        assert_eq!(secs("2020.02.29_00.00.00") - secs("2020.02.28_23.59.59"), 1);
        assert_eq!(secs("2020.03.01_00.00.00") - secs("2020.02.28_00.00.00"), 2 * 86_400);
        assert_eq!(secs("2021.01.01_00.00.00") - secs("2020.01.01_00.00.00"), 366 * 86_400);
        assert_eq!(secs("2100.03.01_00.00.00") - secs("2100.02.28_00.00.00"), 86_400);
        for stamp in
            ["2020.13.01_00.00.00", "2020.01.01", "x", "2020.01.01_00.00.00.1", "1.1.1_-1.0.0"]
        {
            assert_eq!(seconds_of(stamp), None, "{stamp}");
        }
    }
}
