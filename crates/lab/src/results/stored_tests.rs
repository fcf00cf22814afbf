//! Reading folders: unchanged series, tables of other programs.

use super::columnar;
use super::columns::{Cell, Kind};
use super::folder::{Provenance, ResultFolder, Written};
use super::series_table::SeriesTable;
use super::stored::StoredStudy;
use crate::delays::Delays;
use crate::report::Report;
use crate::run::{Drops, Run};
use crate::scenario::{Key, Options, Runs, Scenario, variants_of};
use crate::series::{Quantity, Series, VariantSeries};
use crate::study::{Study, VariantRuns};
use crate::words::hex;
use base::Instant;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::path::PathBuf;
use traffic::Metric;

/// A results folder of its own for one test, removed at the end.
struct Scratch {
    path: PathBuf,
    scenario: Scenario,
}

impl Scratch {
    fn new(name: &str) -> Scratch {
        let name = format!("anabranch-stored-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        let options = Options::default()
            .with(Key::Path, "a=rate 5mbit loss 1%")
            .with(Key::Path, "b=rate 3mbit")
            .with(Key::Traffic, "bulk:4MiB");
        let mut scenario = options.resolve().unwrap();
        scenario.runs = Runs::Fixed(3);
        let scratch = Scratch { path, scenario };
        scratch.write();
        scratch
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn write(&self) {
        let scenario = &self.scenario;
        let of = |variant| VariantRuns { variant, runs: (0..3).map(run).collect() };
        let variants = variants_of(scenario).into_iter().map(of).collect();
        let study = &Study { variants, interrupted: false, stopped: crate::answer::Stopped::Runs };
        let report = &Report::new(scenario, study).unwrap();
        let provenance = Provenance {
            version: "1".into(),
            command: vec!["anabranch".into()],
            started: 0.5,
            duration: 0.25,
            commit: None,
            reused: 0,
            csv: false,
        };
        let series = &series();
        let written = Written {
            scenario,
            study,
            report,
            series,
            delays: &Delays::default(),
            repetition: None,
            records: None,
            stacks: &[],
        };
        let folder = ResultFolder::open(&self.name()).unwrap();
        folder.write_study(&written, &provenance, &[]).unwrap();
    }

    /// Replaces the file, and its entry in `run.json`.
    fn replace(&self, name: &str, content: &[u8]) {
        fs::write(self.path.join(name), content).unwrap();
        let run = self.path.join("run.json");
        let mut document: Value = serde_json::from_slice(&fs::read(&run).unwrap()).unwrap();
        document["outputs"][name] = hex(&Sha256::digest(content)).into();
        fs::write(&run, document.to_string()).unwrap();
    }

    /// The error message for a refused folder, without its name.
    fn refused(&self) -> String {
        let refusal = StoredStudy::open(&self.name()).unwrap_err().to_string();
        refusal.replace(&self.name(), "DIR")
    }

    /// A table with these columns of text and this version, of this study.
    fn table(&self, columns: &[&str], version: &str) -> Vec<u8> {
        let columns: Vec<(&str, Kind)> = columns.iter().map(|name| (*name, Kind::Text)).collect();
        let study = hex(&self.scenario.study_key());
        let metadata = [("schema", version.to_owned()), ("study", study)];
        let cells = |_| std::iter::once(Cell::Text("x".into()));
        columnar::file("runs", &columns, &metadata, cells).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn run(number: u64) -> Run {
    Run {
        number,
        metric: Metric::CompletionTime,
        value: Some(1.0 + number as f64 / 3.0),
        extra: Vec::new(),
        histograms: Vec::new(),
        parts: number,
        ended: 2.0,
        bytes_read: 4 << 20,
        data_packets: 3,
        retransmitted_segs: 4,
        reinjected_bytes: 5,
        duplicate_bytes: 6,
        sacks: Some(2),
        first_sent_bytes: vec![7, 8],
        repeated: Vec::new(),
        account: None,
        drops: Drops::default(),
        failure: None,
        hash: [number as u8; 32],
    }
}

/// Of two variants, over a path and over the connection.
fn series() -> Vec<VariantSeries> {
    let at = Instant::from_nanos;
    let one = |quantity, path, last| Series {
        quantity,
        path,
        points: vec![(at(0), 0.1), (at(7), 1e-300), (at(u64::MAX >> 1), last)],
    };
    let of = |variant: &str, run| VariantSeries {
        variant: variant.to_owned(),
        run,
        series: vec![
            one(Quantity::SmoothedRtt, Some(0), 1.0 / 3.0),
            one(Quantity::SmoothedRtt, Some(1), 0.0),
            one(Quantity::ReorderBuffer, None, 12.0),
        ],
    };
    vec![of("tcp/a/cubic", 2), of("tcp/b/cubic", 0)]
}

#[test]
fn series_read_back_are_the_same_series() {
    let scratch = Scratch::new("series");
    let table = SeriesTable::open(File::open(scratch.path.join("series.parquet")).unwrap());
    assert_eq!(table.unwrap().series(&scratch.scenario).unwrap(), series());
    let stored = StoredStudy::open(&scratch.name()).unwrap();
    assert_eq!((stored.series, stored.notes), (series(), Vec::new()));
    assert_eq!(stored.study.variants[1].runs[2], run(2));
    assert_eq!((stored.provenance.started, stored.provenance.duration), (0.5, 0.25));
}

#[test]
fn tables_of_another_version_are_refused() {
    let scratch = Scratch::new("version");
    for (name, reads) in [("series.parquet", "1"), ("runs.parquet", "2")] {
        scratch.replace(name, &scratch.table(&["variant"], "9"));
        assert_eq!(
            scratch.refused(),
            format!(
                "DIR/{name}: the table has version 9, this program reads version {reads}\n  help: \
                 use the program that wrote the folder, or run the study again into a new folder"
            )
        );
    }
}

#[test]
fn tables_without_a_column_or_of_another_study_are_refused() {
    let scratch = Scratch::new("columns");
    scratch.replace("series.parquet", &scratch.table(&["variant", "run"], "1"));
    let problem = "cannot be read: Parquet error: the column `run` is not as it should be";
    let refused = scratch.refused();
    assert!(refused.starts_with(&format!("DIR/series.parquet: {problem}\n  help: ")), "{refused}");
    scratch.replace("runs.parquet", &scratch.table(&["metric", "failure", "variant"], "2"));
    let problem = "cannot be read: Parquet error: the column `hash` is not as it should be";
    let refused = scratch.refused();
    assert!(refused.starts_with(&format!("DIR/runs.parquet: {problem}\n  help: ")), "{refused}");
    let foreign = columnar::file("runs", &[("a", Kind::Text)], &[("schema", "2".into())], |_| {
        std::iter::empty::<Cell>()
    });
    scratch.replace("runs.parquet", &foreign.unwrap());
    let problem = "the table and `run.json` belong to different scenarios";
    assert!(scratch.refused().starts_with(&format!("DIR/runs.parquet: {problem}")));
}

#[test]
fn no_damage_of_a_table_ends_the_program() {
    let scratch = Scratch::new("damage");
    for name in ["runs.parquet", "series.parquet"] {
        let whole = fs::read(scratch.path.join(name)).unwrap();
        for at in (0..whole.len()).step_by(41) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            // Whether damage in a value shows is the file format's; it must not end us.
            scratch.replace(name, &damaged);
            let _ = StoredStudy::open(&scratch.name());
        }
        scratch.replace(name, &whole[..whole.len() / 2]);
        assert!(scratch.refused().starts_with(&format!("DIR/{name}: cannot be read")));
        scratch.replace(name, &whole);
    }
}

#[test]
fn scenario_that_does_not_match_the_runs_is_refused() {
    let scratch = Scratch::new("mismatch");
    let toml = fs::read_to_string(scratch.path.join("scenario.toml")).unwrap();
    scratch.replace("scenario.toml", toml.replace("\"cubic\"", "\"cubic,reno\"").as_bytes());
    let refused = scratch.refused();
    let problem = "DIR/runs.parquet: runs of `scenario.toml` are missing\n";
    assert!(refused.starts_with(problem), "{refused}");
    scratch.replace("scenario.toml", toml.replace("rate", "speed").as_bytes());
    let refused = scratch.refused();
    assert!(refused.starts_with("DIR/scenario.toml: "), "{refused}");
}
