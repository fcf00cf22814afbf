//! Tables of messages: a row is a time, a direction and a size; or a gap and a size.
//!
//! With a heading, columns are found by their names; without one they are time (s), direction and
//! size (bytes). Columns are separated by commas, semicolons or blanks, `#` begins a comment. Times
//! do not go back. A size called `payload_bytes` is that of a packet: packets are joined to
//! messages, which end with a change of direction or a gap of 5 ms, and those without payload are
//! left out. Tables come from strangers: each line is checked, and memory is bounded by the
//! messages.

use crate::error::sanitised;
use crate::traffic_source::Fault;
use base::Duration;
use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader, Read};
use traffic::Role;
use traffic::model::conversation::Turn;

/// Largest file, in bytes.
const LARGEST: u64 = 1 << 30;
/// Longest line, in bytes.
const LONGEST_LINE: u64 = 4096;
/// Most messages.
pub(super) const MOST_MESSAGES: usize = 1_000_000;
/// Largest message, in bytes.
const LARGEST_MESSAGE: u64 = 1 << 40;
/// Longest recording, in seconds: a day.
const LONGEST: f64 = 86_400.0;
/// A longer gap ends a message of packets.
const GAP: Duration = Duration::from_millis(5);
/// Pauses longer than this are noted.
const LONG_PAUSE: Duration = Duration::from_secs(10);

const TIMES: [&str; 4] = ["time_s", "time", "timestamp", "t"];
const GAPS: [&str; 2] = ["gap_s", "gap"];
const DIRECTIONS: [&str; 2] = ["direction", "dir"];
const SIZES: [&str; 5] = ["message_bytes", "size", "bytes", "size_bytes", "length"];
const PAYLOADS: [&str; 2] = ["payload_bytes", "payload"];
const FLOWS: [&str; 1] = ["flow"];
const UP: [&str; 5] = ["up", "c2s", "client", "upload", "out"];
const DOWN: [&str; 5] = ["down", "s2c", "server", "download", "in"];

/// What rows with a column `payload_bytes` are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rows {
    /// A message each, as datagrams are.
    Messages,
    /// Packets, which are joined to messages.
    Packets,
}

/// A table as it was read.
#[derive(Debug)]
pub(super) struct Table {
    pub turns: Vec<Turn>,
    /// SHA-256 of the file.
    pub digest: [u8; 32],
    pub notes: Vec<String>,
}

/// Which column is what.
#[derive(Clone, Copy, Debug)]
struct Columns {
    time: usize,
    /// The time column is the gap to the next message.
    is_gap: bool,
    /// `None`: all messages are the server's.
    direction: Option<usize>,
    size: usize,
    /// The size is that of a packet's payload.
    is_payload: bool,
    flow: Option<usize>,
    /// Number of columns.
    count: usize,
}

/// Reads a table.
pub(super) fn read(source: impl Read, rows: Rows) -> Result<Table, Fault> {
    let mut lines = BufReader::with_capacity(1 << 16, source.take(LARGEST + 1));
    let (mut hash, mut line) = (Sha256::new(), Vec::new());
    let mut reader = Reader::new(rows);
    let mut read = 0;
    for number in 1.. {
        line.clear();
        let mut limited = (&mut lines).take(LONGEST_LINE + 1);
        let len = limited
            .read_until(b'\n', &mut line)
            .map_err(|error| (format!("cannot be read: {error}"), "check the file".to_owned()))?;
        if len == 0 {
            break;
        }
        hash.update(&line);
        read += len as u64;
        if read > LARGEST {
            return Err(fault("the file has more than 1 GiB", "cut a part out of it"));
        }
        let at = |(problem, help): Fault| (format!("line {number}: {problem}"), help);
        reader.line(&line).map_err(at)?;
    }
    reader.finish(hash.finalize().into())
}

fn fault(problem: impl Into<String>, help: &str) -> Fault {
    (problem.into(), help.to_owned())
}

/// What was read so far.
struct Reader {
    rows: Rows,
    columns: Option<Columns>,
    turns: Vec<Turn>,
    /// Time of the last row, or of the next one where gaps are given, in seconds.
    time: Option<f64>,
    /// Time of the first row.
    first: Option<f64>,
    longest_pause: Duration,
    /// Least and largest flow number or name seen.
    flows: Option<(String, bool)>,
}

impl Reader {
    const fn new(rows: Rows) -> Self {
        Reader {
            rows,
            columns: None,
            turns: Vec::new(),
            time: None,
            first: None,
            longest_pause: Duration::ZERO,
            flows: None,
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), Fault> {
        if line.len() as u64 > LONGEST_LINE {
            return Err(fault("is longer than 4096 bytes", "give a table of text"));
        }
        let not_text = |_| fault("is not text", "give a table: time, direction, size");
        let text = std::str::from_utf8(line).map_err(not_text)?;
        let text = text.trim_start_matches('\u{FEFF}');
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            return Ok(());
        }
        let cells = cells(text);
        let columns = match self.columns {
            Some(columns) => columns,
            None => {
                let (columns, is_heading) = Columns::of(&cells)?;
                self.columns = Some(columns);
                if is_heading {
                    return Ok(());
                }
                columns
            }
        };
        self.row(columns, &cells)
    }

    fn row(&mut self, columns: Columns, cells: &[&str]) -> Result<(), Fault> {
        if cells.len() != columns.count {
            let problem = format!("has {} columns, not {}", cells.len(), columns.count);
            return Err(fault(problem, "correct the line, or leave it out"));
        }
        let time = self.time_of(columns, cells[columns.time])?;
        let from = match columns.direction {
            Some(column) => direction(cells[column])?,
            None => Role::Server,
        };
        if let Some(flow) = columns.flow {
            let name = cells[flow];
            let (first, several) = self.flows.get_or_insert_with(|| (name.to_owned(), false));
            *several |= first != name;
        }
        let bytes = bytes(cells[columns.size], columns.is_payload)?;
        if bytes == 0 {
            return Ok(());
        }
        let joined = columns.is_payload && self.rows == Rows::Packets;
        self.message(from, time, bytes, joined)
    }

    /// The time of a row since the first one.
    fn time_of(&mut self, columns: Columns, cell: &str) -> Result<Duration, Fault> {
        let value = number(cell).filter(|value| value.is_finite());
        let help = "write seconds, from 0 to a day";
        let value =
            value.ok_or_else(|| fault(format!("`{}` is no time", sanitised(cell)), help))?;
        if columns.is_gap {
            if !(0.0..=LONGEST).contains(&value) {
                return Err(fault(format!("`{}` is no gap", sanitised(cell)), help));
            }
            let at = self.time.unwrap_or(0.0);
            self.time = Some(at + value);
            return since(at, help);
        }
        if let Some(last) = self.time.filter(|last| value < *last) {
            let problem = format!("the time goes back from {last} s to {value} s");
            return Err(fault(problem, "sort the table by time: `sort -n`"));
        }
        self.time = Some(value);
        let first = *self.first.get_or_insert(value);
        since(value - first, help)
    }

    fn message(
        &mut self,
        from: Role,
        start: Duration,
        bytes: u64,
        joined: bool,
    ) -> Result<(), Fault> {
        if let Some(last) = self.turns.last_mut() {
            let pause = start.saturating_sub(last.end);
            self.longest_pause = self.longest_pause.max(pause);
            if joined && last.from == from && pause < GAP {
                last.end = start;
                last.bytes = last.bytes.saturating_add(bytes);
                return Ok(());
            }
        }
        if self.turns.len() == MOST_MESSAGES {
            let problem = format!("has more than {MOST_MESSAGES} messages");
            return Err(fault(problem, "cut a part out of the table"));
        }
        self.turns.push(Turn { from, start, end: start, bytes });
        Ok(())
    }

    fn finish(self, digest: [u8; 32]) -> Result<Table, Fault> {
        if self.turns.is_empty() {
            let help = "give a table with a row for each message: time, direction, size";
            return Err(fault("has no message", help));
        }
        let mut notes = Vec::new();
        if self.flows.is_some_and(|(_, several)| several) {
            notes.push("its flows are sent over one connection".to_owned());
        }
        if self.longest_pause > LONG_PAUSE {
            let seconds = self.longest_pause.as_secs_f64();
            notes.push(format!("its longest pause is {seconds:.0} s"));
        }
        Ok(Table { turns: self.turns, digest, notes })
    }
}

impl Columns {
    /// The columns of a table with this first line, and whether it is a heading.
    fn of(cells: &[&str]) -> Result<(Columns, bool), Fault> {
        if cells.iter().any(|cell| number(cell).is_some()) {
            return match *cells {
                [_, _, _] => Ok((Columns::plain(), false)),
                _ => {
                    let problem = format!("has {} columns and no heading", cells.len());
                    Err(fault(problem, "write time, direction and size, or name the columns"))
                }
            };
        }
        let place = |names: &[&str]| {
            cells.iter().position(|cell| names.iter().any(|name| name.eq_ignore_ascii_case(cell)))
        };
        let lacks = |what: &str, names: &[&str]| {
            let help = format!("call one of them `{}`", names[0]);
            fault(format!("no column is {what}"), &help)
        };
        let (gap, payload) = (place(&GAPS), place(&PAYLOADS));
        let time = place(&TIMES).or(gap).ok_or_else(|| lacks("the time", &TIMES))?;
        let size = place(&SIZES).or(payload).ok_or_else(|| lacks("the size", &SIZES))?;
        let direction = place(&DIRECTIONS);
        if direction.is_none() && gap.is_none() {
            return Err(lacks("the direction", &DIRECTIONS));
        }
        let columns = Columns {
            time,
            is_gap: place(&TIMES).is_none(),
            direction,
            size,
            is_payload: Some(size) == payload,
            flow: place(&FLOWS),
            count: cells.len(),
        };
        Ok((columns, true))
    }

    const fn plain() -> Columns {
        Columns {
            time: 0,
            is_gap: false,
            direction: Some(1),
            size: 2,
            is_payload: false,
            flow: None,
            count: 3,
        }
    }
}

/// The cells of a line.
fn cells(line: &str) -> Vec<&str> {
    match line.find([',', ';', '\t']) {
        Some(at) => {
            let separator = line[at..].chars().next().unwrap_or(',');
            line.split(separator).map(|cell| cell.trim().trim_matches('"')).collect()
        }
        None => line.split_whitespace().collect(),
    }
}

fn number(cell: &str) -> Option<f64> {
    let is_number = cell.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    cell.parse().ok().filter(|_| is_number)
}

fn since(seconds: f64, help: &str) -> Result<Duration, Fault> {
    if seconds > LONGEST {
        return Err(fault(format!("is {seconds} s after the first one, more than a day"), help));
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn direction(cell: &str) -> Result<Role, Fault> {
    let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(cell));
    match () {
        () if is(&UP) => Ok(Role::Client),
        () if is(&DOWN) => Ok(Role::Server),
        () => {
            let problem = format!("`{}` is no direction", sanitised(cell));
            Err(fault(problem, "write `up` (client to server) or `down`"))
        }
    }
}

/// The size of a message, or of a packet's payload, which may be zero.
fn bytes(cell: &str, is_payload: bool) -> Result<u64, Fault> {
    let least = if is_payload { 0 } else { 1 };
    let value = cell.parse::<u64>().ok().filter(|bytes| (least..=LARGEST_MESSAGE).contains(bytes));
    value.ok_or_else(|| {
        let problem = format!("`{}` is no size of a message", sanitised(cell));
        fault(problem, "write a number of bytes, at least 1")
    })
}
