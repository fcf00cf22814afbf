//! The folder of `--out`: `run.json`, `runs.parquet`, `scenario.toml`, `result.json`, and what the
//! caller adds.

use super::document;
use super::table::parquet;
use crate::error::InputError;
use crate::report::Report;
use crate::scenario::Scenario;
use crate::study::{Study, hex};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A folder that results can be written to: tried before the study starts.
#[derive(Clone, Debug)]
pub struct ResultFolder {
    path: PathBuf,
}

/// Where results come from, as far as only the caller knows it.
#[derive(Clone, Debug)]
pub struct Provenance {
    /// Of the program.
    pub version: String,
    /// The command line as it was given.
    pub command: Vec<String>,
    /// Seconds since 1970, when the study began.
    pub started: f64,
    /// Seconds of real time that it took.
    pub duration: f64,
}

impl ResultFolder {
    /// Makes the folder, and tries whether a file can be written there.
    pub fn open(name: &str) -> Result<ResultFolder, InputError> {
        let path = PathBuf::from(name);
        let refuse = |error: io::Error| {
            let help = "name a folder that can be written to; it is made if it is not there";
            InputError::at("--out", format!("`{name}` cannot be written to: {error}"), help)
        };
        if name.is_empty() {
            return Err(refuse(io::Error::other("the name is empty")));
        }
        fs::create_dir_all(&path).map_err(refuse)?;
        let probe = path.join(".anabranch.partial");
        fs::write(&probe, b"").and_then(|()| fs::remove_file(&probe)).map_err(refuse)?;
        Ok(ResultFolder { path })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file under a temporary name and renames it when complete.
    pub fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let partial = self.path.join(format!(".{name}.partial"));
        let mut file = fs::File::create(&partial)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&partial, self.path.join(name))
    }

    /// Writes everything a study leaves, and `pages` with it; `run.json` comes last and names the
    /// others.
    pub fn write_study(
        &self,
        scenario: &Scenario,
        study: &Study,
        report: &Report,
        provenance: &Provenance,
        pages: &[(&str, String)],
    ) -> io::Result<()> {
        let table = parquet(scenario, study).map_err(io::Error::other)?;
        let document = pretty(&document(scenario, report));
        let mut files: Vec<(&str, Vec<u8>)> = vec![
            ("runs.parquet", table),
            ("scenario.toml", scenario.to_toml().into_bytes()),
            ("result.json", document),
        ];
        files.extend(pages.iter().map(|(name, text)| (*name, text.clone().into_bytes())));
        let mut outputs = Map::new();
        for (name, content) in &files {
            self.write(name, content)?;
            outputs.insert((*name).to_owned(), json!(hex(&Sha256::digest(content))));
        }
        self.write("run.json", &pretty(&run(scenario, report, provenance, outputs)))
    }
}

fn run(
    scenario: &Scenario,
    report: &Report,
    provenance: &Provenance,
    outputs: Map<String, Value>,
) -> Value {
    json!({
        "schema": 1,
        "program": "anabranch",
        "version": provenance.version,
        "command": provenance.command,
        "seed": scenario.seed,
        "runs": scenario.runs,
        "jobs": scenario.jobs,
        "scenario_hash": hex(&scenario.hash()),
        "hash": report.hash,
        "interrupted": report.interrupted,
        "host": system("hostname"),
        "kernel": system("osrelease"),
        "system": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        "started": provenance.started,
        "duration": provenance.duration,
        "outputs": outputs,
    })
}

/// What Linux says of itself; `null` elsewhere.
fn system(what: &str) -> Option<String> {
    let text = fs::read_to_string(Path::new("/proc/sys/kernel").join(what)).ok()?;
    Some(text.trim().to_owned())
}

fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}
