//! The runs of a result folder: stored runs are not computed again, new ones are saved at once.
//!
//! A run is identified by (study key, variant, number) and the build that carried it out: the key
//! is a hash over scenario and seed, and runs of another build are not reused. Runs are stored in
//! `runs.parquet`, those of an unfinished study in a journal next to it, one per build. A killed
//! study resumes from there.

use super::columnar::Origin;
use super::delays_table::{DELAYS_VERSION, DelaysTable};
use super::folder::ResultFolder;
use super::inputs;
use super::journal::{Journal, Unusable};
use super::stored::is_emulated;
use super::table::{SCHEMA_VERSION, Table};
use crate::delays::{Delay, Delays};
use crate::error::InputError;
use crate::run::{Labels, Record, Run};
use crate::scenario::{self, Counts, Scenario, Variant};
use crate::words::hex;
use parquet::errors::ParquetError;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// File name of the table in a result folder.
pub(super) const TABLE: &str = "runs.parquet";
/// File name of the table of delays.
pub(super) const DELAYS: &str = "delays.parquet";
/// Hexadecimal digits of the build in the name of a journal.
const BUILD_DIGITS: usize = 12;

/// The name of a variant and the number of a repetition.
type Key = (String, u64);

/// The runs of a folder.
#[derive(Debug)]
pub struct Records {
    folder: PathBuf,
    /// Stored runs of this scenario and build.
    stored: BTreeMap<Key, Record>,
    /// Their journal, with the new runs.
    added: Mutex<Added>,
    note: Option<String>,
}

#[derive(Debug)]
struct Added {
    journal: Journal,
    records: Vec<Record>,
    /// Delays of stored and new runs.
    delays: Delays,
}

impl Records {
    /// Opens the records of `folder` for this scenario. A folder with results of another scenario,
    /// or with unreadable files, is refused and not changed.
    pub fn open(folder: &ResultFolder, scenario: &Scenario) -> Result<Records, InputError> {
        let path = folder.path();
        if is_emulated(path) == Some(true) {
            let problem = format!("`{}` has results of emulated links", path.display());
            return Err(InputError::at("--out", problem, "name another folder"));
        }
        let (from_table, note) = read_table(path, scenario)?;
        let name = journal_path(path);
        let note = note.or_else(|| other_journal(path, &name));
        let (journal, from_journal) =
            Journal::open(&name, scenario).map_err(|why| unusable(path, &name, &why))?;
        let mut stored: BTreeMap<Key, Record> =
            from_table.into_iter().map(|record| (key(&record), record)).collect();
        let (mut delays, delays_note) = table_delays(path, scenario, &mut stored);
        for (record, of_run) in from_journal {
            // A study stopped between the table and the removal of its journal has a run twice.
            if let Entry::Vacant(place) = stored.entry(key(&record)) {
                delays.add(&record.labels.variant, of_run);
                place.insert(record);
            }
        }
        let added = Mutex::new(Added { journal, records: Vec::new(), delays });
        Ok(Records { folder: path.to_owned(), stored, added, note: note.or(delays_note) })
    }

    /// Notes on the contents found.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The stored run, if any.
    pub fn find(&self, variant: &Variant, number: u64) -> Option<Run> {
        let record = self.stored.get(&(variant.name.clone(), number))?;
        Some(record.run.clone())
    }

    /// Saves a run.
    pub fn keep(
        &self,
        scenario: &Scenario,
        variant: &Variant,
        run: &Run,
        delays: Vec<Delay>,
    ) -> io::Result<()> {
        let record = Record { labels: Labels::new(scenario, variant), run: run.clone() };
        let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        let delays = added.delays.add(&variant.name, delays);
        added.journal.append(scenario, &record, &delays)?;
        added.records.push(record);
        Ok(())
    }

    /// Number of runs stored when the folder was opened.
    pub fn found(&self) -> usize {
        self.stored.len()
    }

    /// Number of runs.
    pub(crate) fn len(&self) -> usize {
        self.all().len()
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All runs, stored and new, by variant and number.
    pub(super) fn all(&self) -> BTreeMap<Key, Record> {
        let added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        let added = added.records.iter().map(|record| (key(record), record.clone()));
        self.stored.clone().into_iter().chain(added).collect()
    }

    /// The delays of all runs, stored and new.
    pub fn delays(&self) -> Delays {
        self.added.lock().unwrap_or_else(PoisonError::into_inner).delays.clone()
    }

    /// Removes the journal, because the table has all runs.
    pub(super) fn remove_journal(&self) -> io::Result<()> {
        fs::remove_file(journal_path(&self.folder))
    }
}

fn key(record: &Record) -> Key {
    (record.labels.variant.clone(), record.run.number)
}

fn journal_path(folder: &Path) -> PathBuf {
    folder.join(format!(".runs-{}.partial.jsonl", &super::BUILD[..BUILD_DIGITS]))
}

/// The journals of all builds.
fn journals(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let is_journal = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.starts_with(".runs-") && name.ends_with(".partial.jsonl"))
    };
    let mut found: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_journal).collect();
    found.sort();
    found
}

/// Whether a study in this folder is unfinished.
pub(super) fn has_journal(folder: &Path) -> bool {
    !journals(folder).is_empty()
}

/// Note on unfinished runs of another build.
fn other_journal(folder: &Path, ours: &Path) -> Option<String> {
    let others = journals(folder);
    let other = others.iter().find(|path| *path != ours)?.display();
    Some(format!("`{other}` has unfinished runs of another build, which are not reused"))
}

/// Rows of the folder's table that can be reused, and a note on the others.
fn read_table(
    folder: &Path,
    scenario: &Scenario,
) -> Result<(Vec<Record>, Option<String>), InputError> {
    let path = folder.join(TABLE);
    let shown = path.display().to_string();
    let file = match fs::File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), None)),
        Err(error) => return Err(unreadable(&shown, &error)),
    };
    let broken = |error: ParquetError| unreadable(&shown, &error);
    let table = Table::open(file).map_err(broken)?;
    check_origin(folder, &shown, scenario, &table.origin())?;
    if table.origin().build.as_deref() != Some(super::BUILD) {
        let note = format!(
            "the runs in `{shown}` are from another build, so all runs are repeated; the file is \
             kept until then"
        );
        return Ok((Vec::new(), Some(note)));
    }
    let records = table.records(scenario).map_err(broken)?;
    Ok((records, None))
}

/// The delays of the stored runs. Without a usable table of them, runs with delays are left out of
/// `stored`, so that they are repeated, and a note tells it.
fn table_delays(
    folder: &Path,
    scenario: &Scenario,
    stored: &mut BTreeMap<Key, Record>,
) -> (Delays, Option<String>) {
    let mut delays = Delays::default();
    if stored.values().all(|record| record.run.parts == 0) {
        return (delays, None);
    }
    let path = folder.join(DELAYS);
    let read = || -> Result<_, String> {
        let file = fs::File::open(&path).map_err(|error| error.to_string())?;
        let table = DelaysTable::open(file).map_err(|error| error.to_string())?;
        let origin = table.origin();
        let is_ours = origin.study.as_deref() == Some(hex(&scenario.study_key()).as_str())
            && origin.build.as_deref() == Some(super::BUILD)
            && origin.schema.as_deref() == Some(DELAYS_VERSION);
        if !is_ours {
            return Err("it belongs to other runs".to_owned());
        }
        table.delays(scenario).map_err(|error| error.to_string())
    };
    match read() {
        Ok(rows) => {
            for ((variant, _), rows) in rows {
                delays.add(&variant, rows);
            }
            (delays, None)
        }
        Err(why) => {
            stored.retain(|_, record| record.run.parts == 0);
            let shown = path.display();
            let note = format!("all runs are repeated, because `{shown}` cannot be used: {why}");
            (delays, Some(note))
        }
    }
}

/// Refuses a table of another version or another scenario.
fn check_origin(
    folder: &Path,
    shown: &str,
    scenario: &Scenario,
    origin: &Origin,
) -> Result<(), InputError> {
    let elsewhere = "name another folder with `--out`, or move the results away first";
    match origin.schema.as_deref() {
        Some(SCHEMA_VERSION) => {}
        Some(version) => {
            let problem = format!(
                "the table of runs has version {}, this program writes version {SCHEMA_VERSION}",
                version.chars().take(20).collect::<String>()
            );
            return Err(InputError::at(shown, problem, elsewhere));
        }
        None => {
            let problem = "this is a Parquet file, but not a table of runs";
            return Err(InputError::at(shown, problem, elsewhere));
        }
    }
    if origin.study.as_deref() == Some(hex(&scenario.study_key()).as_str()) {
        return Ok(());
    }
    let difference = difference(folder, scenario);
    let problem = format!("the folder has results of another scenario{difference}");
    Err(InputError::at(shown, problem, elsewhere))
}

/// The first difference of the folder's scenario that its runs depend on.
fn difference(folder: &Path, scenario: &Scenario) -> String {
    if let Some(changed) = inputs::changed(folder) {
        return format!(": {changed}");
    }
    let theirs = fs::read_to_string(folder.join("scenario.toml")).unwrap_or_default();
    if theirs.is_empty() {
        return String::new();
    }
    let ours = scenario.to_toml_with_names(&inputs::copies(folder));
    let (there, here) = (settings(&theirs), settings(&ours));
    let different = |setting: &&Setting<'_>| find(&there, setting) != find(&here, setting);
    let Some(setting) = here.iter().chain(&there).find(different) else {
        return noise_difference(&theirs, scenario);
    };
    match (find(&there, setting), find(&here, setting)) {
        (Some(there), Some(here)) => format!(": there `{there}`, here `{here}`"),
        _ if !setting.table.is_empty() => format!(": its {}s differ", setting.table),
        (None, Some(here)) => format!(": there without `{}`, here `{here}`", setting.name),
        (there, _) => {
            let there = there.unwrap_or_default();
            format!(": there `{there}`, here without `{}`", setting.name)
        }
    }
}

/// A line of a scenario file.
struct Setting<'a> {
    /// `path`, `link`, `flow`; empty: none of these.
    table: &'a str,
    name: &'a str,
    line: &'a str,
}

/// The lines of a scenario file that runs depend on.
fn settings(toml: &str) -> Vec<Setting<'_>> {
    let mut table = "";
    let mut settings = Vec::new();
    for line in toml.lines() {
        if let Some(heading) = line.strip_prefix('[') {
            table = heading.trim_end_matches(']');
        } else if let Some((name, _)) = line.split_once(" = ") {
            let key = scenario::Key::by_name(name);
            let counts = key.is_none_or(|key| key.row().counts == Counts::StudyKey);
            if counts || !table.is_empty() {
                settings.push(Setting { table, name, line });
            }
        }
    }
    settings
}

/// The line of the same setting.
fn find<'a>(settings: &[Setting<'a>], wanted: &Setting<'_>) -> Option<&'a str> {
    let is_same = |of: &&Setting<'_>| (of.table, of.name) == (wanted.table, wanted.name);
    settings.iter().find(is_same).map(|setting| setting.line)
}

/// Paths have an extra delay where a variant uses several of them, which the variants of a scenario
/// file show, but no line of its own.
fn noise_difference(theirs: &str, scenario: &Scenario) -> String {
    let protocols = theirs.lines().find_map(|line| line.strip_prefix("protocols = "));
    let several = protocols.is_some_and(|of| of.contains("mptcp") || of.contains("sctp"));
    match (several, !scenario.path_noise().is_zero()) {
        (false, true) => ": there each path is used alone, so that none has an extra delay \
                          (`--path-noise`)"
            .to_owned(),
        (true, false) => ": there a variant uses several paths, so that each has an extra delay \
                          (`--path-noise`)"
            .to_owned(),
        _ => String::new(),
    }
}

fn unreadable(shown: &str, error: &dyn std::fmt::Display) -> InputError {
    let help = "nothing was changed; name another folder with `--out`, or move that file away";
    InputError::at(shown, format!("the table of runs cannot be read: {error}"), help)
}

fn unusable(folder: &Path, journal: &Path, why: &Unusable) -> InputError {
    let changed = inputs::changed(folder).map_or(String::new(), |changed| format!(": {changed}"));
    let (folder, journal) = (folder.display().to_string(), journal.display().to_string());
    match why {
        Unusable::Io(error) => InputError::at(
            "--out",
            format!("cannot write to `{folder}`: {error}"),
            "name a folder that can be written to; it is created if it does not exist",
        ),
        Unusable::InUse => InputError::at(
            "--out",
            format!("another anabranch is writing to `{folder}`"),
            "wait until it ends, or name another folder",
        ),
        Unusable::Foreign => InputError::at(
            "--out",
            format!(
                "`{folder}` has unfinished results of another scenario, in `{journal}`{changed}"
            ),
            "finish them with the command that began them, name another folder, or remove that \
             file",
        ),
    }
}
