//! Results and captures to folders, and pages to files. What another program wrote is overwritten
//! with `--force` only.

use crate::by_hand;
use crate::output::message;
use crate::report::{Sheet, page};
use lab::results::{FILES, Provenance, Records, ResultFolder, Written, is_replaceable};
use lab::scenario::Variant;
use lab::series::representative_series;
use lab::{Captures, InputError, Report, Scenario, Study};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Name of the page in a results folder.
const PAGE: &str = "report.html";

/// Help where recordings and pages cannot be copied to the folder of results.
const KEPT: &str = "recordings and pages are copied to the folder `inputs` there";

/// Files that must not be lost are refused, except with `--force`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overwrite {
    /// With `--force`.
    pub force: bool,
}

impl Overwrite {
    /// Opens the folder of `--out`, unless results would overwrite a file of somebody else.
    pub(crate) fn out(self, name: Option<&str>) -> Result<Option<ResultFolder>, InputError> {
        let names = FILES.iter().copied().chain([PAGE]).map(str::to_owned);
        name.map(|name| self.folder("--out", name, names)).transpose()
    }

    /// Opens the folder of `--pcap`, unless captures would overwrite a file of somebody else.
    pub(crate) fn pcap(
        self,
        name: Option<&str>,
        variants: &[Variant],
    ) -> Result<Option<ResultFolder>, InputError> {
        let names = variants.iter().flat_map(|variant| PLACES.map(|at| capture(&variant.name, at)));
        name.map(|name| self.folder("--pcap", name, names)).transpose()
    }

    /// Copies the recordings and pages of a scenario to the folder of its results.
    pub(crate) fn inputs(
        self,
        folder: &ResultFolder,
        scenario: &Scenario,
    ) -> Result<(), InputError> {
        folder.keep_inputs(scenario, self.force).map_err(|refusal| {
            let mend = match refusal.kind() {
                io::ErrorKind::AlreadyExists => {
                    "name another folder, or add `--force` to overwrite the file there"
                }
                _ => "name another folder",
            };
            InputError::at("--out", refusal.to_string(), format!("{KEPT}; {mend}"))
        })
    }

    /// Opens a folder unless one of these files in it is somebody else's.
    pub(crate) fn folder(
        self,
        option: &str,
        name: &str,
        files: impl Iterator<Item = String>,
    ) -> Result<ResultFolder, InputError> {
        for file in files {
            self.allow(option, &Path::new(name).join(file), "folder")?;
        }
        ResultFolder::open_for(option, name)
    }

    /// Refuses to overwrite a file that this program did not write; `what` can be named instead.
    pub(crate) fn allow(self, option: &str, path: &Path, what: &str) -> Result<(), InputError> {
        if self.force || is_replaceable(path) {
            return Ok(());
        }
        let problem = format!("`{}` was not written by anabranch", path.display());
        let help = format!("name another {what}, or add `--force` to overwrite it");
        Err(InputError::at(option, problem, help))
    }

    /// Refuses to overwrite any file: downloaded ones have no mark of this program.
    #[cfg(all(feature = "linux", target_os = "linux"))]
    pub(crate) fn absent(self, option: &str, path: &Path) -> Result<(), InputError> {
        let has_data = |data: std::fs::Metadata| data.is_file() && data.len() > 0;
        let exists = std::fs::metadata(path).is_ok_and(has_data) || leads_nowhere(path);
        if self.force || !exists {
            return Ok(());
        }
        let problem = format!("`{}` exists", path.display());
        let help = format!("name another file with {option}, or add `--force` to overwrite it");
        Err(InputError::at(option, problem, help))
    }

    /// The place of the page `out`, unless it cannot be written there or is somebody else's.
    pub(crate) fn page(self, out: &Path) -> Result<FilePlace, InputError> {
        self.place("--out", out)
    }

    /// The place of the document of `--write`, whose text by hand is kept, unless it cannot be
    /// written there or is somebody else's.
    pub(crate) fn document(self, file: &Path) -> Result<FilePlace, InputError> {
        // A link to a document remains one.
        let linked = file.is_symlink().then(|| std::fs::canonicalize(file).ok()).flatten();
        let target = linked.unwrap_or_else(|| file.to_owned());
        Overwrite { force: self.force || by_hand::is_generated(&target) }.place("--write", &target)
    }

    /// The place of the file that `option` names, in a folder that can be written to.
    pub(crate) fn place(self, option: &'static str, out: &Path) -> Result<FilePlace, InputError> {
        let refuse = |why: &str| {
            let problem = format!("cannot write `{}`: {why}", out.display());
            InputError::at(option, problem, help(option))
        };
        match std::fs::metadata(out) {
            Ok(data) if data.is_dir() => return Err(refuse("it is a folder")),
            // A device must not be replaced by a file of its name.
            Ok(data) if !data.is_file() => return Err(refuse("it is not a regular file")),
            _ if leads_nowhere(out) && !self.force => {
                return Err(refuse("it is a symbolic link to a file that does not exist"));
            }
            _ => {}
        }
        self.allow(option, out, "file")?;
        let name = out.file_name().ok_or_else(|| refuse("this is not a file name"))?;
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).display().to_string();
        let folder = ResultFolder::open(&folder).map_err(|refusal| refuse(refusal.problem()))?;
        let name = name.to_string_lossy().into_owned();
        Ok(FilePlace { option, path: out.to_owned(), name, folder })
    }
}

/// Whether the file is a symbolic link to nothing, which a new file would replace.
fn leads_nowhere(path: &Path) -> bool {
    path.is_symlink() && !path.exists()
}

/// Help where a file cannot be written.
fn help(option: &str) -> String {
    format!("name a file that can be written to: `{option} FILE`")
}

/// The file of an option, in a folder that can be written to.
pub(crate) struct FilePlace {
    option: &'static str,
    path: PathBuf,
    name: String,
    folder: ResultFolder,
}

impl FilePlace {
    /// Writes the file under a temporary name and renames it when complete.
    pub(crate) fn write(&self, content: &str) -> Result<(), String> {
        let written = self.folder.write(&self.name, content.as_bytes());
        written.map_err(|error| self.failure(&error))
    }

    /// The same for a document: what was generated, and below it what is there by hand.
    pub(crate) fn write_document(&self, generated: &str) -> Result<(), String> {
        let document = by_hand::document(&self.path, generated);
        let written = document.and_then(|content| self.folder.write(&self.name, &content));
        written.map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &io::Error) -> String {
        format!("cannot write `{}`: {error}\n  help: {}", self.path.display(), help(self.option))
    }
}

/// Prints the notes on copies that are used in place of their originals.
pub(crate) fn tell_of_copies(notes: Option<Vec<String>>, quiet: bool) {
    for note in notes.into_iter().flatten().filter(|_| !quiet) {
        message(&format!("note: {note}"));
    }
}

/// Writes the files of a results folder and the page that shows them.
pub(crate) fn write_folder(
    folder: &ResultFolder,
    written: &Written<'_>,
    provenance: &Provenance,
    notes: &[String],
) -> io::Result<()> {
    let Written { scenario, study, report, series, delays, repetition, .. } = *written;
    let toml = &folder.scenario_toml(scenario)?;
    let seeds = &[scenario.seed];
    let sheet = Sheet {
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
    };
    folder.write_study(written, provenance, &[(PAGE, page(&sheet))])
}

/// Writes the folder of a comparison. On failure the runs remain in their journal.
pub(crate) fn write_results(
    folder: &ResultFolder,
    scenario: &Scenario,
    (study, report): (&Study, &Report),
    records: Option<&Records>,
    provenance: &Provenance,
) -> Result<(), String> {
    let series = representative_series(scenario, study).map_err(|error| error.to_string())?;
    let series = series.as_slice();
    let delays = &records.map(Records::delays).unwrap_or_default();
    let written =
        Written { scenario, study, report, series, delays, repetition: None, records, stacks: &[] };
    let name = folder.path().display();
    write_folder(folder, &written, provenance, &[]).map_err(|e| {
        format!(
            "cannot write to `{name}`: {e}\n  all runs are saved there; free some space and run \
             the command again to write the files without repeating them"
        )
    })
}

/// Writes two files per variant, with its name: from the sender of the data, and from the receiver.
pub(crate) fn write_captures(
    folder: &ResultFolder,
    captures: Vec<(String, Captures)>,
) -> Result<(), String> {
    for (variant, captures) in captures {
        for (place, pcapng) in PLACES.into_iter().zip([captures.sender, captures.receiver]) {
            let name = capture(&variant, place);
            let path = folder.path().join(&name);
            folder
                .write(&name, &pcapng)
                .map_err(|e| format!("cannot write `{}`: {e}", path.display()))?;
        }
    }
    Ok(())
}

/// Ends of the names of captures, as seen by the sender and by the receiver.
const PLACES: [&str; 2] = ["", "-receiver"];

/// File name of a variant's capture.
fn capture(variant: &str, place: &str) -> String {
    format!("{}{place}.pcapng", variant.replace('/', "-"))
}

/// Provenance of results that were begun at `clock` and are complete now.
pub(crate) fn provenance(clock: Instant) -> Provenance {
    let duration = clock.elapsed().as_secs_f64();
    Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("ANABRANCH_COMMIT").map(str::to_owned),
        command: std::env::args().collect(),
        started: seconds_since_1970() - duration,
        duration,
        reused: 0,
        csv: false,
    }
}

#[allow(clippy::disallowed_methods, reason = "provenance; no result depends on it")]
fn seconds_since_1970() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}
