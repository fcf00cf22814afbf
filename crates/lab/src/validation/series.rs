//! The file of recorded runs: JSON with one object per scenario, all values of all repetitions, and
//! the machine, kernel and settings of the recording.
//!
//! A scenario is stored with everything its runs depend on, as text, so that a change is detected
//! and named. Times are in seconds, rates in bit/s.

use super::set::Entry;
use crate::path_spec::{CapacitySpec, PathSpec};
use crate::run::Run;
use crate::scenario::{Scenario, show_buffers};
use crate::traffic_spec::show_traffic;
use crate::words::hex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The version of the document.
const SCHEMA: u32 = 1;
/// Largest file in bytes.
const LARGEST: u64 = 256 << 20;

/// Recorded runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Series {
    /// Version of the document.
    schema: u32,
    /// Machine of the recording.
    pub machine: Machine,
    /// Scenarios in the order of the set when they were recorded.
    pub scenarios: Vec<Recorded>,
}

/// Machine of a recording.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// `Linux 6.18.44 x86_64`.
    pub kernel: String,
    /// Processor, cores, memory.
    pub hardware: String,
    /// Day of the first recording, `2026-11-20`.
    pub recorded: String,
    /// The command that made the file.
    pub command: String,
    /// Version of the emulator.
    pub version: String,
    /// Settings of the kernel by their `sysctl` names.
    pub settings: BTreeMap<String, String>,
    /// Accuracy of the emulator before the first run, as text.
    pub emulator: Vec<String>,
}

/// A scenario and its runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Recorded {
    /// Its name in the set.
    pub name: String,
    /// Everything the runs depended on, as text.
    pub conditions: BTreeMap<String, String>,
    /// Variants in recording order.
    pub variants: Vec<RecordedVariant>,
}

/// The runs of a variant.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RecordedVariant {
    /// `kernel-tcp/wlan/cubic`.
    pub name: String,
    /// Congestion controls as read back from the kernel.
    pub cc: String,
    /// Metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Runs by number.
    pub runs: Vec<RecordedRun>,
}

/// A repetition.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RecordedRun {
    /// Number, which keys its random draws.
    pub number: u64,
    /// Value in the metric's unit; absent if it did not finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Discarded attempts before it, disturbed by other load.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub disturbed: u32,
    /// Reason why it is invalid; such a run is not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
    /// Bytes first sent on each path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path_bytes: Vec<u64>,
    /// Seconds until the value was known or the run ended as incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<f64>,
    /// Bytes that the application read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_read: Option<u64>,
    /// Segments that were sent again on the same path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted_segs: Option<u64>,
    /// Bytes that were sent on another path, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reinjected_bytes: Option<u64>,
    /// Bytes that reached the receiver more than once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_bytes: Option<u64>,
    /// Further numbers of the traffic model, those of single objects left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<String, f64>,
    /// Microseconds by path in which the data sender had data to send or in flight, was limited by
    /// the receive window, and by the send buffer (`ss -ti`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limited_us: Vec<[u64; 3]>,
    /// Counters of the data sender's host that grew (`/proc/net/netstat`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sender: BTreeMap<String, u64>,
    /// The same of the data receiver's host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub receiver: BTreeMap<String, u64>,
}

/// Errors of files of recorded runs.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// The file is missing or unreadable.
    #[error(
        "{file}: the recorded runs cannot be read: {reason}\n  help: `sudo anabranch validate \
         --record SET.toml` makes this file"
    )]
    Unreadable {
        /// Name of the file.
        file: String,
        /// Error of the system.
        reason: io::Error,
    },
    /// The file has other contents.
    #[error(
        "{file}: this is no series of recorded runs: {reason}\n  help: name a file that \
         `sudo anabranch validate --record SET.toml` made, or make it again"
    )]
    Malformed {
        /// Name of the file.
        file: String,
        /// Problem, and its position.
        reason: String,
    },
    /// The file has another version.
    #[error(
        "{file}: its version is {found}, this program reads {SCHEMA}\n  help: record it again, or \
         use the program that made it"
    )]
    Version {
        /// Name of the file.
        file: String,
        /// Version of the file.
        found: u32,
    },
}

impl Series {
    /// A series without runs.
    pub fn new(machine: Machine) -> Series {
        Series { schema: SCHEMA, machine, scenarios: Vec::new() }
    }

    /// Reads a file.
    pub fn from_file(path: &Path) -> Result<Series, SeriesError> {
        let file = path.display().to_string();
        let unreadable = |reason| SeriesError::Unreadable { file: file.clone(), reason };
        if std::fs::metadata(path).map_err(unreadable)?.len() > LARGEST {
            let reason = "it is larger than 256 MiB".to_owned();
            return Err(SeriesError::Malformed { file, reason });
        }
        let text = std::fs::read(path).map_err(unreadable)?;
        Series::parse(file, &text)
    }

    pub(super) fn parse(file: String, text: &[u8]) -> Result<Series, SeriesError> {
        /// The fields that every version has.
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let malformed = |error: serde_json::Error| SeriesError::Malformed {
            file: file.clone(),
            reason: error.to_string(),
        };
        let version: Version = serde_json::from_slice(text).map_err(malformed)?;
        if version.schema != SCHEMA {
            return Err(SeriesError::Version { file, found: version.schema });
        }
        let series: Series = serde_json::from_slice(text).map_err(malformed)?;
        let values = series.scenarios.iter().flat_map(|s| &s.variants).flat_map(|v| &v.runs);
        if values.filter_map(|run| run.value).any(|value| !value.is_finite() || value < 0.0) {
            let reason = "a value is negative or not a number".to_owned();
            return Err(SeriesError::Malformed { file, reason });
        }
        Ok(series)
    }

    /// Text of the file, with one line per run, so that two recordings can be compared by line.
    pub fn to_text(&self) -> String {
        let scenarios = self.scenarios.iter().map(|recorded| {
            let variants = recorded.variants.iter().map(|variant| {
                let runs: Vec<String> =
                    variant.runs.iter().map(|run| json!(run).to_string()).collect();
                let RecordedVariant { name, cc, metric, unit, runs: _ } = variant;
                let head = json!({"name": name, "cc": cc, "metric": metric, "unit": unit});
                with_list(&head, "runs", &runs)
            });
            let head = json!({"name": recorded.name, "conditions": recorded.conditions});
            with_list(&head, "variants", &variants.collect::<Vec<_>>())
        });
        let head = json!({"schema": self.schema, "machine": self.machine});
        with_list(&head, "scenarios", &scenarios.collect::<Vec<_>>()) + "\n"
    }

    /// The runs of this name.
    pub fn find(&self, name: &str) -> Option<&Recorded> {
        self.scenarios.iter().find(|recorded| recorded.name == name)
    }

    /// Replaces the runs of the same name by these.
    pub fn replace(&mut self, recorded: Recorded) {
        match self.scenarios.iter_mut().find(|other| other.name == recorded.name) {
            Some(place) => *place = recorded,
            None => self.scenarios.push(recorded),
        }
    }
}

impl Recorded {
    /// The scenario of this entry without runs.
    pub fn new(entry: &Entry) -> Recorded {
        let conditions = conditions(&entry.scenario);
        Recorded { name: entry.name.clone(), conditions, variants: Vec::new() }
    }

    /// Whether the runs loaded a page from a recording that is not here. Everything else is equal.
    pub fn lacks_page(&self, entry: &Entry) -> bool {
        let now = conditions(&entry.scenario);
        let mut then = self.conditions.clone();
        then.remove(PAGE).is_some() && then == now
    }

    /// Description of the changes since the recording.
    pub fn stale(&self, entry: &Entry) -> Option<String> {
        let now = conditions(&entry.scenario);
        let keys = now.keys().chain(self.conditions.keys());
        let differs = |key: &&String| now.get(*key) != self.conditions.get(*key);
        let key = keys.into_iter().find(differs)?;
        let word = |of: &BTreeMap<String, String>| match of.get(key) {
            Some(text) => format!("`{text}`"),
            None => "absent".to_owned(),
        };
        Some(format!("`{key}` was {}, is {}", word(&self.conditions), word(&now)))
    }

    /// The runs of a variant.
    pub fn find(&self, name: &str) -> Option<&RecordedVariant> {
        self.variants.iter().find(|variant| variant.name == name)
    }
}

impl RecordedVariant {
    /// The values of the valid runs that finished.
    pub fn values(&self) -> Vec<f64> {
        let valid = self.runs.iter().filter(|run| run.invalid.is_none());
        valid.filter_map(|run| run.value).collect()
    }
}

impl RecordedRun {
    /// The stored part of a run.
    pub fn new(run: &Run) -> RecordedRun {
        RecordedRun {
            number: run.number,
            value: run.value,
            invalid: run.failure.clone(),
            path_bytes: run.first_sent_bytes.clone(),
            ended: Some(run.ended),
            bytes_read: Some(run.bytes_read),
            retransmitted_segs: Some(run.retransmitted_segs),
            reinjected_bytes: Some(run.reinjected_bytes),
            duplicate_bytes: Some(run.duplicate_bytes),
            numbers: numbers(run),
            ..RecordedRun::default()
        }
    }
}

fn numbers(run: &Run) -> BTreeMap<String, f64> {
    let kept = |(name, value): &&(String, f64)| !name.contains('/') && value.is_finite();
    run.extra.iter().filter(kept).cloned().collect()
}

/// An object with a list as its last value, one element per line.
fn with_list(head: &Value, key: &str, elements: &[String]) -> String {
    let head = head.to_string();
    let open = head.strip_suffix('}').unwrap_or(&head);
    format!("{open},\"{key}\":[\n{}\n]}}", elements.join(",\n"))
}

/// Condition of the content of a recorded page.
const PAGE: &str = "page";

/// Everything that runs depend on apart from variant and number, as text.
fn conditions(scenario: &Scenario) -> BTreeMap<String, String> {
    let nic = scenario.ends.nic.map_or("none".to_owned(), |nic| nic.rate.to_string());
    let first =
        scenario.paths.get(scenario.ends.first).map_or(String::new(), |path| path.name.clone());
    let mut words = BTreeMap::from([
        ("traffic".to_owned(), show_traffic(&scenario.traffic)),
        ("buffers".to_owned(), show_buffers(&scenario.ends.buffers)),
        ("nic".to_owned(), nic),
        ("reverse".to_owned(), scenario.ends.reverse.to_string()),
        ("first".to_owned(), first),
        ("seed".to_owned(), scenario.seed.to_string()),
    ]);
    for path in &scenario.paths {
        words.insert(format!("path.{}", path.name), path_words(path));
    }
    if let Some(digest) = scenario.source.as_ref().and_then(|source| source.digest) {
        words.insert(PAGE.to_owned(), hex(&digest));
    }
    words
}

fn path_words(path: &PathSpec) -> String {
    let mut words = path.to_string();
    for link in [&path.down, &path.up] {
        if let CapacitySpec::Trace(trace) = &link.capacity {
            words.push_str(" sha256:");
            words.push_str(&hex(&trace.digest));
        }
    }
    words
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
