//! Recognises the format of a recording, and files that are not recordings of capacity.
//!
//! The format is recognised by content only and reported to the user. An ambiguous file is refused
//! unless `unit=` is given; the two columns of pensieve and the one column of mahimahi are mixed up
//! most often.

use super::error::{TraceError, TraceFault};
use super::{CapacityTrace, bitrate_table, columns, json, mahimahi, run_list};
use std::fmt;

/// The direction to read from a recording of both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Towards the user equipment.
    Down,
    /// From the user equipment.
    Up,
}

/// The unit of a column of values, or `Millis` for mahimahi's column of times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Milliseconds since the start of the recording.
    Millis,
    /// 10^6 bits per second.
    Mbit,
    /// 10^3 bits per second.
    Kbit,
    /// Bits per second.
    Bit,
    /// Bytes per second.
    Bytes,
}

/// The recognised formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// One millisecond per line, each a chance to send 1500 bytes.
    Mahimahi,
    /// Time in seconds and a rate in this unit (per second).
    Columns(Unit),
    /// An array of objects with `duration_ms` and `bandwidth_kbps`.
    Json,
    /// Blocks `Run k` of Mbit/s every 100 ms.
    RunList,
    /// A table with `Timestamp` and `DL_bitrate` or `UL_bitrate` in kbit/s.
    BitrateTable(Direction),
}

impl Unit {
    /// The words after `unit=`.
    pub const NAMES: [&str; 5] = ["mbit", "kbit", "bit", "bytes", "ms"];

    /// The unit of that name.
    pub fn from_name(name: &str) -> Option<Unit> {
        let units = [Unit::Mbit, Unit::Kbit, Unit::Bit, Unit::Bytes, Unit::Millis];
        units.into_iter().find(|unit| unit.name() == name)
    }

    /// The word after `unit=`.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Millis => "ms",
            Unit::Mbit => "mbit",
            Unit::Kbit => "kbit",
            Unit::Bit => "bit",
            Unit::Bytes => "bytes",
        }
    }

    /// Bits per second in one of this unit per second.
    pub(super) const fn bits(self) -> f64 {
        match self {
            Unit::Mbit => 1e6,
            Unit::Kbit => 1e3,
            Unit::Bytes => 8.0,
            Unit::Bit | Unit::Millis => 1.0,
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Form::Mahimahi => "mahimahi milliseconds, 1500 bytes each",
            Form::Columns(Unit::Mbit) => "columns of seconds and Mbit/s",
            Form::Columns(Unit::Kbit) => "columns of seconds and kbit/s",
            Form::Columns(Unit::Bytes) => "columns of seconds and bytes per second",
            Form::Columns(_) => "columns of seconds and bit/s",
            Form::Json => "JSON of duration_ms and bandwidth_kbps",
            Form::RunList => "throughput list, Mbit/s every 100 ms, all runs joined",
            Form::BitrateTable(Direction::Down) => "bitrate table, DL_bitrate in kbit/s",
            Form::BitrateTable(Direction::Up) => "bitrate table, UL_bitrate in kbit/s",
        })
    }
}

/// Read a recording. Returns the capacity and the recognised format.
pub fn read(
    text: &str,
    direction: Direction,
    unit: Option<Unit>,
) -> Result<(CapacityTrace, Form), TraceError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Old spreadsheets end lines with a single carriage return.
    let mended = (!text.contains('\n') && text.contains('\r')).then(|| text.replace('\r', "\n"));
    let text = mended.as_deref().unwrap_or(text);
    refuse_other_kinds(text)?;
    let Some((_, first)) = lines(text).next() else { return Err(TraceFault::Empty.whole()) };
    if first.starts_with(['[', '{']) {
        no_unit(unit, "the names in the JSON imply the unit")?;
        return Ok((json::read(text)?, Form::Json));
    }
    if let Some(direction) = bitrate_table::column_for(first, direction) {
        no_unit(unit, "the table is in kbit/s")?;
        return Ok((bitrate_table::read(text, direction)?, Form::BitrateTable(direction)));
    }
    if run_list::is_head(first) {
        return Ok((run_list::read(text, unit)?, Form::RunList));
    }
    if columns::fields(first).count() == 1 {
        no_unit(unit.filter(|unit| *unit != Unit::Millis), "one column has times or rates")?;
        return Ok((mahimahi::read(text)?, Form::Mahimahi));
    }
    if unit == Some(Unit::Millis) {
        let why = "mahimahi has one column, this has more";
        return Err(TraceFault::Unit { unit: "ms", why }.whole());
    }
    let (trace, unit) = columns::read(text, unit)?;
    Ok((trace, Form::Columns(unit)))
}

/// Lines with content, trimmed, with their numbers from 1; `#` begins a comment.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn no_unit(unit: Option<Unit>, why: &'static str) -> Result<(), TraceError> {
    match unit {
        None => Ok(()),
        Some(unit) => Err(TraceFault::Unit { unit: unit.name(), why }.whole()),
    }
}

/// Number of lines that are examined.
const HEAD_LINES: usize = 30;

/// Refuse known files that are not recordings of capacity, by name.
fn refuse_other_kinds(text: &str) -> Result<(), TraceError> {
    for (index, line) in text.lines().take(HEAD_LINES).enumerate() {
        // Comments may name the program that the recording was converted from.
        if line.trim_start().starts_with('#') {
            continue;
        }
        if let Some((what, mend)) = other_kind(line) {
            return Err(TraceFault::NotCapacity { what, mend }.at(index + 1));
        }
    }
    Ok(())
}

/// What kind of file a line identifies, and how to correct the mistake.
fn other_kind(line: &str) -> Option<(&'static str, &'static str)> {
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    if line.contains('\0') || line.starts_with("PK") || line.starts_with('\u{1f}') {
        return Some(("a binary file", "give a text file; unpack it first if it is compressed"));
    }
    if has(&["iperf", "[ ID]"]) || is_interval(line) {
        let mend = "iperf measures the throughput of one sender, not the capacity of the link; to \
                    use it anyway, write its intervals as CSV `second,bytes-per-second`";
        return Some(("iperf output", mend));
    }
    if has(&["bytes from ", "icmp_seq", "PING "]) {
        return Some(("ping output", PING_MEND));
    }
    // The last one is the heading of what Wireshark exports.
    let fields = ["frame.time", "tcp.seq", "ip.src", "frame_bytes", "payload_bytes", "tcp.len"];
    if has(&fields) || has(&["\"Source\",\"Destination\",\"Protocol\",\"Length\""]) {
        let mend = "packets that were sent do not show the capacity; give a recording of capacity \
                    such as mahimahi's";
        return Some(("a per-packet table", mend));
    }
    if is_log(line) {
        let mend = "give the trace that mm-link was run with, not its log";
        return Some(("a log of mahimahi's mm-link", mend));
    }
    None
}

/// A line of iperf, `0.00-1.00 sec 112 MBytes 941 Mbits/sec`; a heading has no number there.
fn is_interval(line: &str) -> bool {
    let words = || line.split_ascii_whitespace();
    let mut pairs = words().zip(words().skip(1));
    pairs.any(|(number, unit)| number.parse::<f64>().is_ok() && unit.ends_with("bits/sec"))
}

pub(super) const PING_MEND: &str = "round-trip times do not show capacity: use half of one as \
    `delay`; if these are rates, add `unit=mbit`";

/// `time + size`, `time - size`, `time # size`, `time d packets bytes`.
fn is_log(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let number = words.next().is_some_and(|word| word.parse::<u64>().is_ok());
    number && matches!(words.next(), Some("+" | "-" | "#" | "d"))
}
