//! The folder of `--out`: `run.json`, `runs.parquet`, `delays.parquet`, `ccdf.parquet`,
//! `series.parquet`, `scenario.toml`, `result.json`, copies of the inputs, and what the caller
//! adds.

use super::ccdf_table::Curves;
use super::csv::{csv, summary};
use super::delays_table;
use super::document;
use super::inputs;
use super::records::{DELAYS, Records, TABLE, has_journal};
use super::series_table;
use super::stored::{SERIES, is_emulated, is_repetition, read_run};
use super::table::parquet;
use crate::delays::Delays;
use crate::error::InputError;
use crate::report::Report;
use crate::run::{Labels, Record};
use crate::scenario::Scenario;
use crate::series::VariantSeries;
use crate::stack::StackKind;
use crate::study::{Study, VariantRuns};
use crate::words::hex;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A writable folder for results, checked before the study starts.
#[derive(Clone, Debug)]
pub struct ResultFolder {
    path: PathBuf,
}

/// Provenance of results that only the caller knows.
#[derive(Clone, Debug)]
pub struct Provenance {
    /// Version of the program.
    pub version: String,
    /// Command line as given.
    pub command: Vec<String>,
    /// Start of the study, in seconds since 1970.
    pub started: f64,
    /// Duration in seconds of real time.
    pub duration: f64,
    /// Commit of the build, if known.
    pub commit: Option<String>,
    /// Number of reused runs.
    pub reused: usize,
    /// Whether to write the table of runs as CSV, too.
    pub csv: bool,
}

/// Contents of the folder of a study.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// Scenario.
    pub scenario: &'a Scenario,
    /// Runs.
    pub study: &'a Study,
    /// Report.
    pub report: &'a Report,
    /// Time series of one repetition of each variant.
    pub series: &'a [VariantSeries],
    /// Delays of messages and objects.
    pub delays: &'a Delays,
    /// Number of the repetition, for a single repetition.
    pub repetition: Option<u64>,
    /// Stacks of an emulation; empty for a simulation.
    pub stacks: &'a [StackKind],
    /// Stored runs of the folder.
    pub records: Option<&'a Records>,
}

/// Names of the files of a study's folder, without pages.
pub const FILES: [&str; 10] = [
    TABLE,
    DELAYS,
    SERIES,
    CCDF,
    "scenario.toml",
    "result.json",
    "runs.csv",
    "summary.csv",
    CCDF_CSV,
    "run.json",
];
/// Distributions of packets.
const CCDF: &str = "ccdf.parquet";
const CCDF_CSV: &str = "ccdf.csv";

impl ResultFolder {
    /// Creates the folder of `--out`, and checks that files can be written there.
    pub fn open(name: &str) -> Result<ResultFolder, InputError> {
        ResultFolder::open_for("--out", name)
    }

    /// The same for another option.
    pub fn open_for(option: &str, name: &str) -> Result<ResultFolder, InputError> {
        let path = PathBuf::from(name);
        let refuse = |error: io::Error| {
            let help = "name a folder that can be written to; it is created if it does not exist";
            InputError::at(option, format!("cannot write to `{name}`: {error}"), help)
        };
        if path.is_file() {
            return Err(refuse(io::Error::other("it is a file")));
        }
        if name.is_empty() {
            return Err(refuse(io::Error::other("the name is empty")));
        }
        fs::create_dir_all(&path).map_err(refuse)?;
        let probe = path.join(".anabranch.partial");
        fs::write(&probe, b"").and_then(|()| fs::remove_file(&probe)).map_err(refuse)?;
        Ok(ResultFolder { path })
    }

    /// Refuses a folder with results of more than a single repetition: they would be lost.
    pub fn for_a_repetition(self) -> Result<ResultFolder, InputError> {
        if is_repetition(&self.path) == Some(false) || has_journal(&self.path) {
            let problem = format!("`{}` has the results of a comparison", self.path.display());
            return Err(InputError::at("--out", problem, "name another folder"));
        }
        Ok(self)
    }

    /// Refuses a folder with simulated results: they would be lost, or mistaken for these.
    pub fn for_an_emulation(self) -> Result<ResultFolder, InputError> {
        if is_emulated(&self.path) == Some(false) || has_journal(&self.path) {
            let problem = format!("`{}` has simulated results", self.path.display());
            return Err(InputError::at("--out", problem, "name another folder"));
        }
        Ok(self)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file under a temporary name and renames it when complete.
    pub fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        write_file(&self.path.join(name), content)
    }

    /// Whether the folder has the files of exactly this result, written by this build. Then the
    /// journal, which has no run that the table lacks, is removed.
    pub fn is_finished(&self, scenario: &Scenario, report: &Report, records: &Records) -> bool {
        let Some(run) = read_run(&self.path) else { return false };
        let is = |key: &str, value: &str| run[key].as_str() == Some(value);
        let is_same = is("program", "anabranch")
            && is("build", super::BUILD)
            && is("scenario_hash", &hex(&scenario.hash()))
            && is("hash", &report.hash);
        let Some(outputs) = run["outputs"].as_object().filter(|_| is_same) else { return false };
        outputs.keys().all(|name| self.path.join(name).is_file())
            && records.remove_journal().is_ok()
    }

    /// Writes all files of a study, and `pages`; `run.json` comes last and names the others. Then
    /// removes the journal, because the table has its runs.
    pub fn write_study(
        &self,
        written: &Written<'_>,
        provenance: &Provenance,
        pages: &[(&str, String)],
    ) -> io::Result<()> {
        let Written { scenario, report, series, delays, records, .. } = *written;
        let rows = written.rows();
        let rows: Vec<&Record> = rows.iter().collect();
        let table = parquet(scenario, &rows).map_err(io::Error::other)?;
        let series = series_table::parquet(scenario, series).map_err(io::Error::other)?;
        let document = pretty(&document(scenario, report));
        let mut files: Vec<(&str, Vec<u8>)> = vec![
            (TABLE, table),
            (SERIES, series),
            ("scenario.toml", self.scenario_toml(scenario)?.into_bytes()),
            ("result.json", document),
        ];
        if !delays.is_empty() {
            let delays = delays_table::parquet(scenario, delays).map_err(io::Error::other)?;
            files.push((DELAYS, delays));
        }
        let curves = Curves::of(written.study);
        if !curves.is_empty() {
            files.push((CCDF, curves.parquet(scenario).map_err(io::Error::other)?));
        }
        if provenance.csv && !curves.is_empty() {
            files.push((CCDF_CSV, curves.csv(scenario).into_bytes()));
        }
        if provenance.csv {
            files.push(("runs.csv", csv(scenario, &rows).into_bytes()));
            files.push(("summary.csv", summary(report).into_bytes()));
        }
        files.extend(pages.iter().map(|(name, text)| (*name, text.clone().into_bytes())));
        let mut outputs = Map::new();
        for (name, content) in &files {
            self.write(name, content)?;
            outputs.insert((*name).to_owned(), json!(hex(&Sha256::digest(content))));
        }
        let mut run = run(written, provenance, outputs);
        run["inputs"] = json!(inputs::list(&self.inputs(scenario)?));
        let earlier = read_run(&self.path).unwrap_or_default();
        self.write("run.json", &pretty(&run))?;
        self.remove_earlier(&earlier["outputs"], &run["outputs"])?;
        records.map_or(Ok(()), Records::remove_journal)
    }

    /// Removes the files of an earlier result that the new one does not have: they would pass for
    /// its own.
    fn remove_earlier(&self, earlier: &Value, outputs: &Value) -> io::Result<()> {
        let is_earlier = |name: &&str| earlier.get(name).is_some() && outputs.get(name).is_none();
        for name in FILES.into_iter().filter(is_earlier) {
            match fs::remove_file(self.path.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Writes a file under a temporary name and renames it when complete.
pub(super) fn write_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = path.with_file_name(format!(".{name}.partial"));
    let written = fs::File::create(&partial).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()
    });
    if let Err(error) = written {
        // A partial file is useless, and occupies space on a full disk.
        let _ = fs::remove_file(&partial);
        return Err(error);
    }
    fs::rename(&partial, path)
}

impl Written<'_> {
    /// Records by variant in the order of the study, then further ones of the folder.
    fn rows(&self) -> Vec<Record> {
        let mut others = self.records.map_or_else(BTreeMap::new, Records::all);
        let mut rows = Vec::new();
        for VariantRuns { variant, runs } in &self.study.variants {
            for run in runs {
                others.remove(&(variant.name.clone(), run.number));
                let labels = Labels::new(self.scenario, variant);
                rows.push(Record { labels, run: run.clone() });
            }
        }
        rows.extend(others.into_values());
        rows
    }
}

fn run(written: &Written<'_>, provenance: &Provenance, outputs: Map<String, Value>) -> Value {
    let Written { scenario, report, repetition, stacks, .. } = *written;
    let stacks: Vec<&str> = stacks.iter().map(|stack| stack.name()).collect();
    json!({
        "schema": 1,
        "program": "anabranch",
        "version": provenance.version,
        "commit": provenance.commit,
        "build": super::BUILD,
        "command": provenance.command,
        "seed": scenario.seed,
        "runs": report.runs,
        "repetition": repetition,
        "stacks": if stacks.is_empty() { Value::Null } else { json!(stacks) },
        "jobs": scenario.jobs,
        "scenario_hash": hex(&scenario.hash()),
        "study": hex(&scenario.study_key()),
        "hash": report.hash,
        "interrupted": report.interrupted,
        "stopped": report.stopped.name(),
        "reused_runs": provenance.reused,
        "host": system("kernel/hostname"),
        "kernel": system("kernel/osrelease"),
        "system": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        "sysctls": sysctls(),
        "started": provenance.started,
        "duration": provenance.duration,
        "outputs": outputs,
    })
}

/// Settings of the kernel that affect transport. They do not affect a simulation, but comparisons
/// of it with this machine.
fn sysctls() -> Map<String, Value> {
    const NAMES: [&str; 6] = [
        "net/ipv4/tcp_congestion_control",
        "net/ipv4/tcp_rmem",
        "net/ipv4/tcp_wmem",
        "net/ipv4/tcp_sack",
        "net/ipv4/tcp_timestamps",
        "net/mptcp/enabled",
    ];
    NAMES.iter().map(|name| (name.replace('/', "."), json!(system(name)))).collect()
}

/// Version of Linux; `null` on other systems.
fn system(name: &str) -> Option<String> {
    let text = fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?;
    Some(text.trim().to_owned())
}

fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}
