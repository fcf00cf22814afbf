//! The file of recorded runs: JSON, one object a scenario, every value of every repetition, with
//! the machine, the kernel and the settings that gave them.
//!
//! A scenario is kept with everything its runs depend on in words, so that a change of it is
//! noticed and named. Times are seconds, rates bit/s. Leaves carrying out to others.

use super::set::Entry;
use crate::path_spec::{CapacitySpec, PathSpec};
use crate::run::Run;
use crate::scenario::{Scenario, show_buffers};
use crate::study::hex;
use crate::traffic_spec::show_traffic;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The version of the document.
const SCHEMA: u32 = 1;
/// Larger files are not series.
const LARGEST: u64 = 256 << 20;

/// Recorded runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Series {
    /// Version of the document.
    schema: u32,
    /// Where they come from.
    pub machine: Machine,
    /// In the order of the set when they were recorded.
    pub scenarios: Vec<Recorded>,
}

/// Where runs come from.
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
    /// What the emulator measured of itself before the first run, in its words.
    pub emulator: Vec<String>,
}

/// A scenario and its runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Recorded {
    /// Its name in the set.
    pub name: String,
    /// What the runs depended on, in words.
    pub conditions: BTreeMap<String, String>,
    /// In the order recorded.
    pub variants: Vec<RecordedVariant>,
}

/// The runs of a variant.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RecordedVariant {
    /// `kernel-tcp/wlan/cubic`.
    pub name: String,
    /// As read back from the kernel.
    pub cc: String,
    /// What was measured.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// By number.
    pub runs: Vec<RecordedRun>,
}

/// A repetition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RecordedRun {
    /// Its number, the key of its chance.
    pub number: u64,
    /// In the metric's unit; absent if it did not finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Tries before it that the emulator disturbed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub disturbed: u32,
    /// Why it is not valid; such a run is not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
    /// Bytes first sent on each path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path_bytes: Vec<u64>,
}

/// Why a file of recorded runs cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// Not there, or not readable.
    #[error(
        "{file}: the recorded runs cannot be read: {reason}\n  help: `sudo anabranch validate \
         --record SET.toml` makes this file"
    )]
    Unreadable {
        /// Which file.
        file: String,
        /// The system's words.
        reason: io::Error,
    },
    /// Something else.
    #[error(
        "{file}: this is no series of recorded runs: {reason}\n  help: name a file that \
         `sudo anabranch validate --record SET.toml` made, or make it again"
    )]
    Malformed {
        /// Which file.
        file: String,
        /// What is wrong, and where.
        reason: String,
    },
    /// From another time.
    #[error(
        "{file}: its version is {found}, this program reads {SCHEMA}\n  help: record it again, or \
         use the program that made it"
    )]
    Version {
        /// Which file.
        file: String,
        /// Its version.
        found: u32,
    },
}

impl Series {
    /// One without runs.
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
        /// What every version has.
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

    /// The file's text; one line a run, so that two recordings can be compared line by line.
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

    /// Puts these runs in the place of those of the same name.
    pub fn replace(&mut self, recorded: Recorded) {
        match self.scenarios.iter_mut().find(|other| other.name == recorded.name) {
            Some(place) => *place = recorded,
            None => self.scenarios.push(recorded),
        }
    }
}

impl Recorded {
    /// One of this entry without runs.
    pub fn new(entry: &Entry) -> Recorded {
        let conditions = conditions(&entry.scenario);
        Recorded { name: entry.name.clone(), conditions, variants: Vec::new() }
    }

    /// What is not as it was when the runs were recorded, in words.
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
    /// What is kept of a run.
    pub fn new(run: &Run) -> RecordedRun {
        RecordedRun {
            number: run.number,
            value: run.value,
            disturbed: 0,
            invalid: run.failure.clone(),
            path_bytes: run.first_sent_bytes.clone(),
        }
    }
}

/// An object with a list as its last value, an element a line.
fn with_list(head: &Value, key: &str, elements: &[String]) -> String {
    let head = head.to_string();
    let open = head.strip_suffix('}').unwrap_or(&head);
    format!("{open},\"{key}\":[\n{}\n]}}", elements.join(",\n"))
}

/// What runs depend on beside variant and number, in words.
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
    if let Some(digest) = scenario.page.as_ref().and_then(|page| page.digest) {
        words.insert("page".to_owned(), hex(&digest));
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
