//! Reads a results folder, to make the report again without new runs.
//!
//! Every file is checked against `run.json` before it is used. The folder may come from another
//! build or another machine; a note tells the user.

use super::delays_table::{DELAYS_VERSION, DelaysTable};
use super::document;
use super::folder::Provenance;
use super::ownership::is_matrix;
use super::records::{DELAYS, TABLE, has_journal};
use super::series_table::{SERIES_VERSION, SeriesTable};
use super::stored_inputs;
use super::table::{SCHEMA_VERSION, Table};
use crate::delays::Delays;
use crate::error::InputError;
use crate::report::Report;
use crate::run::{Record, Run};
use crate::scenario::{Runs, Scenario, Variant, variants_of};
use crate::series::VariantSeries;
use crate::stack::{Emulated, StackKind, emulated_of};
use crate::study::{Stopped, Study, VariantRuns};
use crate::words::hex;
use parquet::errors::ParquetError;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The table of time series in a results folder.
pub(super) const SERIES: &str = "series.parquet";
const FROM_COMPARE: &str = "give a folder written by `anabranch compare --out DIR` or `anabranch \
                            run --out DIR`";
const AGAIN: &str = "run the command that wrote the folder again, with the same `--out`; it reuses \
                     the runs saved there";

const OTHER_VERSION: &str = "use the program that wrote the folder, or run the study again into a \
                             new folder";

/// Contents of a results folder.
#[derive(Clone, Debug)]
pub struct StoredStudy {
    /// Scenario without pages and recordings that are gone, so it cannot be simulated.
    pub scenario: Scenario,
    /// Text of `scenario.toml`; empty where folders were combined, as each has its own.
    pub toml: String,
    /// Runs.
    pub study: Study,
    /// Report.
    pub report: Report,
    /// Time series of one repetition of each variant.
    pub series: Vec<VariantSeries>,
    /// Delays of messages and objects.
    pub delays: Delays,
    /// Provenance.
    pub provenance: Provenance,
    /// Number of the repetition, for a folder of `anabranch run`.
    pub repetition: Option<u64>,
    /// Notes for readers.
    pub notes: Vec<String>,
    /// Seeds of the runs, each once.
    pub seeds: Vec<u64>,
    /// `result.json`.
    pub(super) document: Value,
}

impl StoredStudy {
    /// Reads the folder `name`.
    pub fn open(name: &str) -> Result<StoredStudy, InputError> {
        let folder = Folder::open(name)?;
        let toml = String::from_utf8_lossy(&folder.content("scenario.toml")?).into_owned();
        let document = folder.json("result.json", &folder.content("result.json")?)?;
        let shown = folder.path.join("scenario.toml").display().to_string();
        let (scenario, mut notes) = stored_inputs::scenario(&shown, &document, &folder.inputs())?;
        let records = folder.records(&scenario)?;
        let repetition = folder.run["repetition"].as_u64();
        let study = folder.study(&scenario, records, repetition)?;
        let series = folder.series(&scenario, &mut notes)?;
        let delays = folder.delays(&scenario, &mut notes)?;
        let report = Report::new(&scenario, &study)
            .ok_or_else(|| folder.refuse(TABLE, "it has no complete repetition", AGAIN))?;
        folder.hold_against(&report, &document, &mut notes)?;
        let provenance = folder.provenance();
        let seeds = vec![scenario.seed];
        Ok(StoredStudy {
            scenario,
            toml,
            study,
            report,
            series,
            delays,
            provenance,
            repetition,
            notes,
            seeds,
            document,
        })
    }

    /// The document, as `compare --json` printed it.
    pub fn document(&self) -> Value {
        let mut document = document(&self.scenario, &self.report);
        // Notes on inputs cannot be derived from their names.
        for key in ["traffic", "paths", "page", "conversation", "notes"] {
            document[key] = self.document[key].clone();
        }
        if let Some(folders) = self.document.get("folders") {
            document["folders"] = folders.clone();
        }
        // Folders that were combined may have different ones.
        for variant in document["variants"].as_array_mut().into_iter().flatten() {
            if let Some(profile) =
                variant["name"].as_str().map(|name| &self.document["profiles"][name])
                && profile.is_string()
            {
                variant["profile"] = profile.clone();
            }
        }
        document
    }
}

/// A folder with its `run.json`.
struct Folder {
    path: PathBuf,
    run: Value,
}

impl Folder {
    fn open(name: &str) -> Result<Folder, InputError> {
        if name.is_empty() {
            return Err(InputError::at("DIR", "the name of the folder is empty", FROM_COMPARE));
        }
        let path = PathBuf::from(name);
        let refuse = |problem: String, help: &str| Err(InputError::at(name, problem, help));
        match fs::metadata(&path) {
            Ok(data) if data.is_dir() => {}
            Ok(_) => return refuse("this is a file, not a results folder".into(), FROM_COMPARE),
            Err(error) => {
                return refuse(format!("the folder cannot be read: {error}"), FROM_COMPARE);
            }
        }
        let folder = Folder { path, run: Value::Null };
        let content = match fs::read(folder.path.join("run.json")) {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(folder.without_results(name));
            }
            Err(error) => return Err(folder.unreadable("run.json", &error)),
        };
        let run = folder.json("run.json", &content)?;
        let (problem, help) = match (run["program"].as_str(), run["schema"].as_u64()) {
            (Some("anabranch"), Some(1)) => return Ok(Folder { run, ..folder }),
            (Some("anabranch"), Some(version)) => {
                (format!("it has version {version}, this program reads version 1"), OTHER_VERSION)
            }
            _ => ("this is not the `run.json` of a results folder".to_owned(), FROM_COMPARE),
        };
        Err(folder.refuse("run.json", &problem, help))
    }

    /// Reason why the folder has no report.
    fn without_results(&self, name: &str) -> InputError {
        if has_journal(&self.path) {
            let problem = "the study was stopped before its end: there are runs, and no results";
            let help = "run the command that began it again, with the same `--out`, to resume; \
                        stop it with Ctrl-C for a report on the complete repetitions";
            return InputError::at(name, problem, help);
        }
        if is_matrix(&self.path) {
            let help = "give the folder of a cell, below `cells`; `matrix.html` links to all of \
                        their reports";
            return InputError::at(name, "the folder has a matrix of comparisons", help);
        }
        InputError::at(name, "the folder has no `run.json`", FROM_COMPARE)
    }

    fn refuse(&self, file: &str, problem: &str, help: &str) -> InputError {
        InputError::at(&self.path.join(file).display().to_string(), problem, help)
    }

    fn unreadable(&self, file: &str, error: &dyn std::fmt::Display) -> InputError {
        self.refuse(file, &format!("cannot be read: {error}"), AGAIN)
    }

    fn json(&self, file: &str, content: &[u8]) -> Result<Value, InputError> {
        serde_json::from_slice(content)
            .map_err(|error| self.refuse(file, &format!("this is not JSON: {error}"), FROM_COMPARE))
    }

    /// Whether `run.json` names a file.
    fn names(&self, file: &str) -> bool {
        self.run["outputs"][file].is_string()
    }

    /// SHA-256 of the input files of the study.
    fn inputs(&self) -> BTreeSet<String> {
        let inputs = self.run["inputs"].as_array().into_iter().flatten();
        inputs.filter_map(|input| input["sha256"].as_str().map(str::to_owned)).collect()
    }

    /// Reads a file and checks its hash.
    fn content(&self, file: &str) -> Result<Vec<u8>, InputError> {
        if !self.names(file) {
            let problem = format!("it does not name `{file}`, so this is not a results folder");
            return Err(self.refuse("run.json", &problem, FROM_COMPARE));
        }
        let content = fs::read(self.path.join(file)).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                self.refuse(file, "the file is missing, although `run.json` names it", AGAIN)
            }
            _ => self.unreadable(file, &error),
        })?;
        if self.run["outputs"][file].as_str() != Some(hex(&Sha256::digest(&content)).as_str()) {
            let problem = "this is not the file that `run.json` names: it was changed, damaged or \
                           truncated, or the program was stopped while it wrote the folder";
            return Err(self.refuse(file, problem, AGAIN));
        }
        Ok(content)
    }

    fn file(&self, name: &str) -> Result<File, InputError> {
        self.content(name)?;
        File::open(self.path.join(name)).map_err(|error: io::Error| self.unreadable(name, &error))
    }

    fn records(&self, scenario: &Scenario) -> Result<Vec<Record>, InputError> {
        let broken = |error: ParquetError| self.unreadable(TABLE, &error);
        let table = Table::open(self.file(TABLE)?).map_err(broken)?;
        let origin = table.origin();
        self.check(TABLE, origin.schema.as_deref(), SCHEMA_VERSION, origin.study.as_deref())?;
        table.records(scenario).map_err(broken)
    }

    /// Refuses a table of another version or another study.
    fn check(
        &self,
        file: &str,
        schema: Option<&str>,
        version: &str,
        study: Option<&str>,
    ) -> Result<(), InputError> {
        if schema != Some(version) {
            let theirs: String = schema.unwrap_or("none").chars().take(20).collect();
            let problem =
                format!("the table has version {theirs}, this program reads version {version}");
            return Err(self.refuse(file, &problem, OTHER_VERSION));
        }
        if study != self.run["study"].as_str() {
            let problem = "the table and `run.json` belong to different scenarios";
            return Err(self.refuse(file, problem, AGAIN));
        }
        Ok(())
    }

    /// Variants compared; for an emulation, those that its stacks support.
    fn variants(&self, scenario: &Scenario) -> Result<Vec<Variant>, InputError> {
        let Some(names) = self.run["stacks"].as_array() else { return Ok(variants_of(scenario)) };
        let stack = |name: &Value| StackKind::by_name(name.as_str().unwrap_or_default());
        let stacks: Option<Vec<StackKind>> = names.iter().map(stack).collect();
        let stacks = stacks.ok_or_else(|| {
            let help = "use the program that wrote the folder";
            self.refuse("run.json", "it names a stack that this program does not know", help)
        })?;
        let emulated = emulated_of(scenario, &stacks).into_iter();
        Ok(emulated.map(Emulated::into_variant).collect())
    }

    /// The runs of the results; the table may have others.
    fn study(
        &self,
        scenario: &Scenario,
        records: Vec<Record>,
        repetition: Option<u64>,
    ) -> Result<Study, InputError> {
        let interrupted = self.run["interrupted"].as_bool().unwrap_or(false);
        let keyed = records.into_iter().map(|r| ((r.labels.variant.clone(), r.run.number), r.run));
        let mut runs: BTreeMap<(String, u64), Run> = keyed.collect();
        let mut variants = self.variants(scenario)?;
        let numbers: Vec<u64> = match repetition {
            Some(number) => {
                // A single repetition may have a part of the variants.
                variants.retain(|variant| runs.contains_key(&(variant.name.clone(), number)));
                vec![number]
            }
            None => {
                let planned = match (scenario.runs, interrupted) {
                    (Runs::Auto { most }, true) => u64::from(most),
                    _ => self.run["runs"].as_u64().unwrap_or(0),
                };
                (0..planned).collect()
            }
        };
        let stopped = self.run["stopped"].as_str().and_then(Stopped::by_name);
        let stopped = stopped.unwrap_or(Stopped::Runs);
        let mut study = Study { variants: Vec::new(), interrupted, stopped };
        let complete = |number: &u64| {
            variants.iter().all(|variant| runs.contains_key(&(variant.name.clone(), *number)))
        };
        let there: Vec<u64> = numbers.iter().copied().take_while(complete).collect();
        if there.len() < numbers.len() && !interrupted {
            let problem = "runs of `scenario.toml` are missing";
            return Err(self.refuse(TABLE, problem, AGAIN));
        }
        for variant in variants {
            let of = |number: &u64| runs.remove(&(variant.name.clone(), *number));
            let runs = there.iter().filter_map(of).collect();
            study.variants.push(VariantRuns { variant, runs });
        }
        Ok(study)
    }

    fn series(
        &self,
        scenario: &Scenario,
        notes: &mut Vec<String>,
    ) -> Result<Vec<VariantSeries>, InputError> {
        if !self.names(SERIES) || !self.path.join(SERIES).exists() {
            notes.push(format!("the folder has no `{SERIES}`, so there are no figures over time"));
            return Ok(Vec::new());
        }
        let broken = |error: ParquetError| self.unreadable(SERIES, &error);
        let table = SeriesTable::open(self.file(SERIES)?).map_err(broken)?;
        let origin = table.origin();
        self.check(SERIES, origin.schema.as_deref(), SERIES_VERSION, origin.study.as_deref())?;
        table.series(scenario).map_err(broken)
    }

    /// Folders of earlier versions, and of traffic without messages, have none.
    fn delays(&self, scenario: &Scenario, notes: &mut Vec<String>) -> Result<Delays, InputError> {
        let mut delays = Delays::default();
        if !self.names(DELAYS) {
            return Ok(delays);
        }
        if !self.path.join(DELAYS).exists() {
            notes.push(format!("the folder has no `{DELAYS}`, so there are no figures of delays"));
            return Ok(delays);
        }
        let broken = |error: ParquetError| self.unreadable(DELAYS, &error);
        let table = DelaysTable::open(self.file(DELAYS)?).map_err(broken)?;
        let origin = table.origin();
        self.check(DELAYS, origin.schema.as_deref(), DELAYS_VERSION, origin.study.as_deref())?;
        for ((variant, _), rows) in table.delays(scenario).map_err(broken)? {
            delays.add(&variant, rows);
        }
        Ok(delays)
    }

    /// The report must equal the stored one; for another build, a note tells the difference.
    fn hold_against(
        &self,
        report: &Report,
        document: &Value,
        notes: &mut Vec<String>,
    ) -> Result<(), InputError> {
        let same = self.run["hash"] == report.hash.as_str();
        if self.run["build"] == super::BUILD {
            let problem = "its runs do not give the result in `run.json`";
            return if same { Ok(()) } else { Err(self.refuse(TABLE, problem, AGAIN)) };
        }
        let text = |key: &str| self.run[key].as_str().unwrap_or("unknown").to_owned();
        let build: String = text("build").chars().take(12).collect();
        let version = text("version");
        notes.push(format!(
            "these runs and figures are from another build of anabranch (version {version}, build \
             {build}), whose results may differ"
        ));
        if !same || document["verdict"] != report.verdict.as_str() {
            let verdict = document["verdict"].as_str().unwrap_or_default();
            let verdict = verdict.trim_start_matches("Verdict: ");
            notes.push(format!("the result of that build was different; its verdict: {verdict}"));
        }
        Ok(())
    }

    fn provenance(&self) -> Provenance {
        let text = |key: &str| self.run[key].as_str().map(str::to_owned);
        let words = self.run["command"].as_array().into_iter().flatten();
        Provenance {
            version: text("version").unwrap_or_default(),
            command: words.filter_map(|word| word.as_str().map(str::to_owned)).collect(),
            started: self.run["started"].as_f64().unwrap_or(0.0),
            duration: self.run["duration"].as_f64().unwrap_or(0.0),
            commit: text("commit"),
            reused: self.run["reused_runs"].as_u64().and_then(|n| n.try_into().ok()).unwrap_or(0),
            csv: self.names("runs.csv"),
        }
    }
}

/// Whether the results in a folder are of emulated links; `None` without results.
pub(super) fn is_emulated(folder: &Path) -> Option<bool> {
    Some(read_run(folder)?["stacks"].is_array())
}

/// Whether the results in a folder are of single repetitions; `None` without results.
pub(super) fn is_repetition(folder: &Path) -> Option<bool> {
    Some(read_run(folder)?["repetition"].is_u64())
}

pub(super) fn read_run(folder: &Path) -> Option<Value> {
    let run = fs::read(folder.join("run.json")).ok()?;
    serde_json::from_slice(&run).ok()
}
