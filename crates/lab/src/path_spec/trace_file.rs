//! Recorded capacities: finds and reads the file, and describes its format.
//!
//! `network::trace` recognises and parses the formats.

use crate::built_in;
use crate::words::nearest_help;
use base::{Duration, Rate};
use network::CapacityTrace;
use network::trace::{self, Direction, Form, Unit};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest file accepted as a recording of a link.
const LARGEST: u64 = 256 << 20;

/// Factor between the columns of a table from which the lower one shows acknowledgements only: one
/// of 52 bytes for every two packets of 1500 bytes (RFC 5681 s4.2) is a factor of 58, and requests
/// and idle times are counted, too.
const ONLY_ANSWERS: f64 = 10.0;
/// Gaps between opportunities longer than this are noted.
const LONG_SILENCE: Duration = Duration::from_secs(1);
/// Slower and faster recordings, in bit/s, are noted: mahimahi's milliseconds given in seconds or
/// microseconds result in such rates.
const SLOWEST: u64 = 10_000;
const FASTEST: u64 = 5_000_000_000;

/// A recording.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceFile {
    /// Name as given.
    pub file: String,
    /// Absolute name.
    pub anchored: String,
    /// Unit as given.
    pub unit: Option<Unit>,
    /// Capacity over time.
    pub capacity: Arc<CapacityTrace>,
    /// Recognised format.
    pub form: Form,
    /// SHA-256 of its content.
    pub digest: [u8; 32],
    /// Mean rate of the column of the other direction, in a table of both.
    pub other_column: Option<Rate>,
}

/// Problem and remedy.
type Fault = (String, String);

impl TraceFile {
    /// Reads `file`, a name relative to `folder`, for one direction.
    pub fn read(
        folder: Option<&Path>,
        file: &str,
        unit: Option<&str>,
        direction: Direction,
    ) -> Result<Self, Fault> {
        let unit = unit.map(unit_named).transpose()?;
        let content = match built_in::trace(file) {
            Some(known) => known.content.to_owned(),
            None => content(&located(folder, file), file)?,
        };
        let digest = Sha256::digest(content.as_bytes()).into();
        let (capacity, form) = trace::read(&content, direction, unit)
            .map_err(|e| (format!("trace `{file}`: {e}"), e.fault.mend().to_owned()))?;
        let other_column = other_column(&content, form);
        let anchored = absolute(folder, file);
        let (file, capacity) = (file.to_owned(), Arc::new(capacity));
        Ok(TraceFile { file, anchored, unit, capacity, form, digest, other_column })
    }

    /// Whether the file has a column of its own for `direction`.
    pub(super) fn has_column(&self, direction: Direction) -> bool {
        let has_both = self.other_column.is_some();
        has_both && matches!(self.form, Form::BitrateTable(column) if column != direction)
    }

    /// How many times the rate of the other direction's column is higher, from `ONLY_ANSWERS`.
    pub(super) fn below_the_other_column(&self) -> Option<f64> {
        let rate = self.capacity.mean_rate().as_bps().max(1) as f64;
        let factor = self.other_column?.as_bps() as f64 / rate;
        (factor >= ONLY_ANSWERS).then_some(factor)
    }

    /// Description of the recognised recording, for the user to check.
    pub fn recognised(&self) -> String {
        let (period, rate) = (self.capacity.period().as_secs_f64(), self.capacity.mean_rate());
        let period =
            if period < 1.0 { format!("{:.0} ms", period * 1e3) } else { format!("{period:.0} s") };
        let mbit = rate.as_bps() as f64 / 1e6;
        let mean = if mbit < 0.1 {
            format!("{:.2} kbit/s", mbit * 1e3)
        } else {
            format!("{mbit:.2} Mbit/s")
        };
        format!("{}; {period}, mean {mean}{}{}", self.form, self.gaps(), self.unit_warning())
    }

    /// Notes on gaps of the recording and on times without capacity.
    fn gaps(&self) -> String {
        let gap = self.capacity.longest_gap().map(|gap| {
            let secs = gap.as_secs_f64();
            format!("; during its longest gap, {secs:.0} s, the last rate is kept")
        });
        let silence = Some(self.capacity.longest_silence()).filter(|gap| *gap >= LONG_SILENCE);
        let silence = silence
            .map(|silence| format!("; no capacity for up to {:.1} s", silence.as_secs_f64()));
        gap.or(silence).unwrap_or_default()
    }

    /// By how many seconds a run of `length` seconds that transfers `bytes` may take longer
    /// in the slowest part of the recording: no capacity for a time, or too little.
    pub(crate) fn longest_delay(&self, bytes: f64, length: f64) -> f64 {
        let usual = (bytes * 8.0 / self.capacity.mean_rate().as_bps() as f64).max(length);
        let longest = self.capacity.longest_time_for(bytes as u64).as_secs_f64();
        (longest - usual).max(self.capacity.longest_silence().as_secs_f64())
    }

    /// An implausible rate indicates a wrong unit.
    fn unit_warning(&self) -> &'static str {
        match self.capacity.mean_rate().as_bps() {
            ..SLOWEST => "; unusually slow: check the unit of the file",
            FASTEST.. => "; unusually fast: check the unit of the file",
            _ => "",
        }
    }
}

/// Mean rate of the other column of a table with both directions; zero if it has no capacity.
fn other_column(content: &str, form: Form) -> Option<Rate> {
    let Form::BitrateTable(column) = form else { return None };
    let other = if column == Direction::Up { Direction::Down } else { Direction::Up };
    match trace::read(content, other, None) {
        Ok((capacity, Form::BitrateTable(read))) => (read == other).then(|| capacity.mean_rate()),
        Ok(_) => None,
        Err(_) => Some(Rate::default()),
    }
}

fn unit_named(name: &str) -> Result<Unit, Fault> {
    Unit::from_name(name).ok_or_else(|| {
        (format!("unknown unit `{name}` of a trace"), nearest_help(name, &Unit::NAMES))
    })
}

/// The recording of `direction` in the same folder as `file`, which is one of the other direction
/// or has the name of the one wanted.
pub(super) fn sibling(folder: Option<&Path>, file: &str, direction: Direction) -> Option<String> {
    let (wanted, other) = match direction {
        Direction::Up => ("up", "down"),
        Direction::Down => ("down", "up"),
    };
    if built_in::trace(file).is_some() {
        return None;
    }
    let candidates = match file.rsplit_once('.') {
        Some((stem, word)) if word == wanted => vec![format!("{stem}.{other}")],
        Some((stem, extension)) if !extension.contains('/') => {
            vec![format!("{stem}.{wanted}"), format!("{file}.{wanted}")]
        }
        _ => vec![format!("{file}.{wanted}")],
    };
    candidates.into_iter().find(|name| located(folder, name).is_file())
}

/// The absolute name of `file`; one that is part of the program keeps its name.
pub(super) fn absolute(folder: Option<&Path>, file: &str) -> String {
    if built_in::trace(file).is_some() {
        return file.to_owned();
    }
    let path = located(folder, file);
    path.canonicalize().unwrap_or(path).display().to_string()
}

pub(super) fn located(folder: Option<&Path>, file: &str) -> PathBuf {
    folder.map_or_else(|| PathBuf::from(file), |folder| folder.join(file))
}

fn content(path: &Path, file: &str) -> Result<String, Fault> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| {
        let help = "check the name; it is relative to the scenario file, or to the working \
            directory";
        (format!("trace `{file}` cannot be read: {error} ({shown})"), help.to_owned())
    };
    let mut bytes = Vec::new();
    let source = File::open(path).map_err(unreadable)?;
    source.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST {
        let help = "cut it, or check that it is the file you meant";
        return Err((format!("trace `{file}` is larger than 256 MiB"), help.to_owned()));
    }
    if bytes.is_empty() {
        return Err((format!("trace `{file}` is empty"), "give a recording".to_owned()));
    }
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        let help = "save it as UTF-8: `iconv -f UTF-16 -t UTF-8`";
        return Err((format!("trace `{file}` is in UTF-16"), help.to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| {
        let help = "give a recording of capacity: mahimahi, CSV, JSON or two columns";
        (format!("trace `{file}` is not a text file"), help.to_owned())
    })
}
