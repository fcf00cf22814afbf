//! Copies of the recordings and pages of a study in its folder, so that it can be run again when
//! the originals are gone: `inputs/`, with an index of names and hashes.
//!
//! `scenario.toml` names the copies. A large file, and one of the folder of `--data`, whose licence
//! may forbid copies, is only listed with its hash. The two recordings of a path are copied
//! together or not at all, because one is found by the name of the other.

use super::folder::{ResultFolder, write_file};
use crate::built_in;
use crate::error::Given;
use crate::path_spec::with_copies;
use crate::scenario::{InputFile, Key, Options, PathOption, Scenario};
use crate::web_page::NAMED_PAGES;
use crate::words::hex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf, absolute};

/// Folder of the copies in a results folder.
const FOLDER: &str = "inputs";
/// File name of the list of inputs.
const INDEX: &str = "index.json";
/// Largest file that is copied, in bytes.
const LARGEST: u64 = 4 << 20;
const TOO_LARGE: &str = "not copied: larger than 4 MiB";
const NOT_OURS: &str = "not copied: from the folder of data, whose licence may forbid it";
const WITH_OTHER: &str = "not copied, like the recording of the other direction";
/// Models of traffic that name a file.
const MODELS_OF_FILES: [&str; 4] = ["web", "game", "table", "pcap"];

/// An input of a study.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Kept {
    /// Absolute name of the original.
    original: String,
    /// Name of the copy, relative to the results folder.
    copy: Option<String>,
    bytes: u64,
    sha256: String,
    /// Why there is no copy.
    note: Option<String>,
}

impl Kept {
    fn from_json(value: &Value) -> Option<Kept> {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        Some(Kept {
            original: text("original")?,
            copy: text("copy").filter(|copy| is_inside(copy)),
            bytes: value["bytes"].as_u64()?,
            sha256: text("sha256")?,
            note: text("note"),
        })
    }

    fn to_json(&self) -> Value {
        let Kept { original, copy, bytes, sha256, note } = self;
        json!({
            "original": original, "copy": copy, "bytes": bytes, "sha256": sha256, "note": note,
        })
    }
}

/// Whether the name is that of a file in the folder of copies.
fn is_inside(copy: &str) -> bool {
    let mut parts = Path::new(copy).components();
    let begins = parts.next().is_some_and(|first| first.as_os_str() == FOLDER);
    begins && parts.all(|part| matches!(part, std::path::Component::Normal(_)))
}

/// The inputs listed in a results folder.
fn listed(folder: &Path) -> Vec<Kept> {
    let text = fs::read(folder.join(FOLDER).join(INDEX)).unwrap_or_default();
    let index: Value = serde_json::from_slice(&text).unwrap_or_default();
    index["inputs"].as_array().into_iter().flatten().filter_map(Kept::from_json).collect()
}

/// The copies in a results folder by the absolute names of their originals, and of themselves: a
/// study from the copies names these.
pub(super) fn copies(folder: &Path) -> BTreeMap<String, String> {
    let copied = |kept: Kept| {
        let copy = kept.copy?;
        let name = folder.join(&copy).canonicalize().ok()?.display().to_string();
        Some([(kept.original, copy.clone()), (name, copy)])
    };
    listed(folder).into_iter().filter_map(copied).flatten().collect()
}

impl ResultFolder {
    /// Copies the inputs of the scenario to the folder, unless they are there. A file that this
    /// program did not write, and the copy of an original that has changed, are overwritten with
    /// `force` only; without it the error is `AlreadyExists`.
    pub fn keep_inputs(&self, scenario: &Scenario, force: bool) -> io::Result<()> {
        self.copy_inputs(scenario, force).map(|_| ())
    }

    /// The scenario as a file in this folder: with the names of the copies.
    pub fn scenario_toml(&self, scenario: &Scenario) -> io::Result<String> {
        self.inputs(scenario)?;
        Ok(scenario.to_toml_with_names(&copies(self.path())))
    }

    /// The inputs, copied as far as they may be.
    pub(super) fn inputs(&self, scenario: &Scenario) -> io::Result<Vec<Kept>> {
        self.copy_inputs(scenario, false)
    }

    fn copy_inputs(&self, scenario: &Scenario, force: bool) -> io::Result<Vec<Kept>> {
        let files = scenario.inputs();
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let home = self.path().join(FOLDER);
        fs::create_dir_all(&home)?;
        let mut keeper = Keeper {
            folder: self,
            home: home.canonicalize()?,
            listed: listed(self.path()),
            parents: Vec::new(),
            force,
        };
        let place = self.path().join(FOLDER).join(INDEX);
        if !force && !is_index(&place) {
            return Err(foreign(&place));
        }
        let refused = keeper.refused(&files)?;
        let kept: io::Result<Vec<Kept>> =
            files.iter().map(|file| keeper.keep(file, refused.get(&file.name))).collect();
        let kept = kept?;
        if kept != keeper.listed {
            let list: Vec<Value> = kept.iter().map(Kept::to_json).collect();
            let index = json!({"program": "anabranch", "schema": 1, "inputs": list});
            let text = format!("{index:#}\n");
            write_file(&place, text.as_bytes())?;
        }
        Ok(kept)
    }
}

/// Copies files to the folder of copies.
struct Keeper<'a> {
    folder: &'a ResultFolder,
    /// Absolute name of the folder of copies.
    home: PathBuf,
    /// Inputs listed before.
    listed: Vec<Kept>,
    /// Folders of the originals, in the order of their numbers.
    parents: Vec<PathBuf>,
    /// Whether to overwrite every file.
    force: bool,
}

impl Keeper<'_> {
    /// The files that are not copied, and why.
    fn refused(&self, files: &[InputFile]) -> io::Result<BTreeMap<String, &'static str>> {
        let mut refused = BTreeMap::new();
        let mut groups = BTreeSet::new();
        for file in files.iter().filter(|file| !self.is_copy(file)) {
            let large = fs::metadata(&file.name)?.len() > LARGEST;
            if large || file.is_data {
                refused.insert(file.name.clone(), if large { TOO_LARGE } else { NOT_OURS });
                groups.insert(file.group);
            }
        }
        for file in files.iter().filter(|file| groups.contains(&file.group)) {
            refused.entry(file.name.clone()).or_insert(WITH_OTHER);
        }
        Ok(refused)
    }

    fn is_copy(&self, file: &InputFile) -> bool {
        Path::new(&file.name).starts_with(&self.home)
    }

    fn keep(&mut self, file: &InputFile, refused: Option<&&'static str>) -> io::Result<Kept> {
        let sha256 = hex(&file.digest);
        let bytes = fs::metadata(&file.name)?.len();
        let original = file.name.clone();
        if let Ok(inside) = Path::new(&original).strip_prefix(&self.home) {
            let copy = format!("{FOLDER}/{}", inside.display());
            let of = |kept: &&Kept| kept.copy.as_ref() == Some(&copy) && kept.sha256 == sha256;
            let known = self.listed.iter().find(of).cloned();
            let new = Kept {
                original,
                copy: Some(copy.clone()),
                bytes,
                sha256: sha256.clone(),
                note: None,
            };
            return Ok(known.unwrap_or(new));
        }
        if let Some(note) = refused {
            return Ok(Kept {
                original,
                copy: None,
                bytes,
                sha256,
                note: Some((*note).to_owned()),
            });
        }
        let copy = self.place(&original);
        let content = fs::read(&original)?;
        if Sha256::digest(&content).as_slice() != file.digest {
            let problem = format!("`{original}` was changed while the study began");
            return Err(io::Error::other(problem));
        }
        self.write(&original, &copy, &content)?;
        Ok(Kept { original, copy: Some(copy), bytes, sha256, note: None })
    }

    /// Name of a copy: that of before, else the file name, below a number for further folders.
    fn place(&mut self, original: &str) -> String {
        let known = self.listed.iter().find(|kept| kept.original == original);
        if let Some(copy) = known.and_then(|kept| kept.copy.clone()) {
            return copy;
        }
        let path = Path::new(original);
        let parent = path.parent().unwrap_or(Path::new("/")).to_owned();
        let number = self.parents.iter().position(|other| *other == parent).unwrap_or_else(|| {
            self.parents.push(parent);
            self.parents.len() - 1
        });
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Files listed before keep their places.
        let taken = |copy: &String| self.listed.iter().any(|kept| kept.copy.as_ref() == Some(copy));
        let place = |number: usize| match number {
            0 => format!("{FOLDER}/{name}"),
            number => format!("{FOLDER}/{}/{name}", number + 1),
        };
        (number..).map(place).find(|copy| !taken(copy)).unwrap_or_default()
    }

    /// Writes a copy. Overwrites a file that is not ours, or that has the former content of the
    /// original, with `force` only.
    fn write(&self, original: &str, copy: &str, content: &[u8]) -> io::Result<()> {
        let path = self.folder.path().join(copy);
        let present = fs::read(&path).ok();
        if present.as_deref() == Some(content) {
            return Ok(());
        }
        if present.is_some() && !self.force {
            let is_ours = self.listed.iter().any(|kept| kept.copy.as_deref() == Some(copy));
            let changed = || {
                let problem = format!("{}{}", has_changed(original), its_copy(&path));
                io::Error::new(io::ErrorKind::AlreadyExists, problem)
            };
            return Err(if is_ours { changed() } else { foreign(&path) });
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        write_file(&path, content)
    }
}

fn foreign(path: &Path) -> io::Error {
    let problem = format!("`{}` was not written by anabranch", path.display());
    io::Error::new(io::ErrorKind::AlreadyExists, problem)
}

/// Whether writing the index loses nothing.
fn is_index(path: &Path) -> bool {
    let Ok(text) = fs::read(path) else { return !path.exists() };
    let index: Value = serde_json::from_slice(&text).unwrap_or_default();
    text.is_empty() || index["program"] == "anabranch"
}

fn has_changed(original: &str) -> String {
    format!("`{original}` has changed since")
}

fn its_copy(copy: &Path) -> String {
    format!("; its copy is {}", copy.display())
}

/// Names the copies in the results folder `folder` in place of originals that are gone. Returns
/// notes on them.
pub fn use_copies(options: &mut Options, folder: &str) -> Vec<String> {
    let listed = listed(Path::new(folder));
    let mut notes = Vec::new();
    let mut find = |gone: &Path| {
        let names = [absolute(gone).ok(), canonical_parent(gone)]
            .map(|name| name.map(|name| name.display().to_string()).unwrap_or_default());
        let kept = listed.iter().find(|kept| names.contains(&kept.original))?;
        let copy = Path::new(folder).join(kept.copy.as_ref()?);
        let copy = copy.canonicalize().ok()?.display().to_string();
        notes.push(format!("`{}` is gone; its copy is used: {copy}", gone.display()));
        Some(copy)
    };
    for key in [Key::Path, Key::Link] {
        for option in options.described_mut(key) {
            let (given, is_whole) = match option {
                PathOption::Whole(given) => (given, true),
                PathOption::Named { spec, .. } => (spec, false),
            };
            if let Some(copied) = with_copies(given, is_whole, &mut find) {
                *given = copied;
            }
        }
    }
    let traffic = options.text(Key::Traffic).and_then(|given| traffic_of_copy(given, &mut find));
    if let Some(traffic) = traffic {
        *options = std::mem::take(options).with(Key::Traffic, &traffic);
    }
    notes
}

/// The words of traffic from a file that is gone, with the copy that `find` has of it.
fn traffic_of_copy(
    given: &Given,
    find: &mut impl FnMut(&Path) -> Option<String>,
) -> Option<String> {
    let (model, value) = given.text.split_once(':')?;
    let word = MODELS_OF_FILES.into_iter().find(|word| word.eq_ignore_ascii_case(model))?;
    let is_model = || NAMED_PAGES.iter().any(|named| named.name == value);
    if word == "web" && (is_model() || built_in::page(value).is_some()) {
        return None;
    }
    let place = |file: &str| given.folder().map_or_else(|| file.into(), |folder| folder.join(file));
    // The name of the file ends at the last colon, or has it.
    let end = value.rfind(':').unwrap_or(value.len());
    let names = [(value, ""), value.split_at(end)];
    if names.iter().any(|(file, _)| place(file).exists()) {
        return None;
    }
    let copied = |(file, rest)| Some(format!("{word}:{}{rest}", find(&place(file))?));
    names.into_iter().find_map(copied)
}

/// The name of a file that does not exist, without links in the name of its folder.
fn canonical_parent(file: &Path) -> Option<PathBuf> {
    let parent = absolute(file).ok()?.parent()?.canonicalize().ok()?;
    Some(parent.join(file.file_name()?))
}

/// The first input of the folder whose original has another content now, in words.
pub(super) fn changed(folder: &Path) -> Option<String> {
    let other = |kept: &&Kept| {
        let now = fs::read(&kept.original).ok();
        now.is_some_and(|content| hex(&Sha256::digest(content)) != kept.sha256)
    };
    let kept = listed(folder).into_iter().find(|kept| other(&kept))?;
    let copy = kept.copy.map(|copy| its_copy(&folder.join(copy))).unwrap_or_default();
    Some(has_changed(&kept.original) + &copy)
}

/// The inputs for `run.json`.
pub(super) fn list(kept: &[Kept]) -> Vec<Value> {
    kept.iter().map(Kept::to_json).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Records;

    const TRACE: &str = "0.0 4.5\n1.0 5.5\n2.0 3.5\n";
    const PAGE: &str = r#"{"html_bytes": 4000, "object_bytes": [3000]}"#;

    const HAR: &str = r#"{"log": {"entries": [{"startedDateTime": "2020-01-01T00:00:00.000Z",
        "time": 50, "request": {"method": "GET", "url": "http://a.example/"},
        "response": {"status": 200, "bodySize": 4000, "content": {"size": 4000}},
        "timings": {"send": 0, "wait": 40, "receive": 10}}]}}"#;

    /// A folder with inputs, and one for results, removed at the end.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Place {
            let place = std::env::temp_dir()
                .join(format!("anabranch-inputs-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&place);
            fs::create_dir_all(place.join("given/more")).unwrap();
            let place = Place(place.canonicalize().unwrap());
            for (name, content) in [
                ("x.down", TRACE),
                ("x.up", "0.0 1.5\n1.0 1.25\n2.0 1.5\n"),
                ("more/x.down", "0.0 9.5\n1.0 8.5\n2.0 9.5\n"),
                ("page.json", PAGE),
            ] {
                fs::write(place.0.join("given").join(name), content).unwrap();
            }
            place
        }

        fn options(&self) -> Options {
            let given = self.0.join("given").display().to_string();
            Options::default()
                .with(Key::Path, &format!("a='trace {given}/x.down delay 9ms'"))
                .with(Key::Path, &format!("b=trace \"{given}/./more/x.down\""))
                .with(Key::Traffic, &format!("web:{given}/page.json"))
        }

        fn results(&self) -> ResultFolder {
            ResultFolder::open(&self.0.join("results").display().to_string()).unwrap()
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn study_runs_again_from_the_copies_when_the_originals_are_gone() {
        let place = Place::new("gone");
        let scenario = place.options().resolve().unwrap();
        let folder = place.results();
        let toml = folder.scenario_toml(&scenario).unwrap();
        for copy in ["web:inputs/page.json", "\"inputs/x.down\"", "\"inputs/2/x.down\""] {
            assert!(toml.contains(&copy.replace('"', "\\\"")) || toml.contains(copy), "{toml}");
        }
        assert!(folder.path().join("inputs/x.up").is_file(), "found by its name");
        fs::remove_dir_all(place.0.join("given")).unwrap();
        assert!(place.options().resolve().is_err());
        let mut options = place.options();
        let name = folder.path().display().to_string();
        let notes = use_copies(&mut options, &name);
        assert_eq!(notes.len(), 3, "{notes:?}");
        let again = options.resolve().unwrap();
        assert_eq!(hex(&again.study_key()), hex(&scenario.study_key()));
        assert_eq!(hex(&again.hash()), hex(&scenario.hash()), "names do not matter");
        // The folder itself is complete, and does not change.
        let index = || fs::read_to_string(folder.path().join("inputs/index.json")).unwrap();
        let before = index();
        assert_eq!(folder.scenario_toml(&again).unwrap(), toml);
        fs::write(folder.path().join("scenario.toml"), &toml).unwrap();
        let stored = folder.path().join("scenario.toml").display().to_string();
        let stored = Scenario::options_from_file(&stored).unwrap().resolve().unwrap();
        assert_eq!(hex(&stored.study_key()), hex(&scenario.study_key()));
        assert_eq!(folder.scenario_toml(&stored).unwrap(), toml);
        assert_eq!(index(), before);
    }

    /// Regression: only pages were looked for in the folder, and of these none with a view.
    #[test]
    fn traffic_of_a_file_that_is_gone_comes_from_its_copy() {
        let turns = "0.0,up,100\n0.1,down,5000\n";
        for (name, content, words) in [
            ("turns.csv", turns, "table:FILE"),
            ("turns.csv", turns, "TABLE:FILE:paced"),
            ("turns.csv", turns, "game:FILE"),
            ("turns.csv", turns, "game:FILE:message=1000"),
            ("a:b.csv", turns, "table:FILE"),
            ("page.har", HAR, "web:FILE:all"),
        ] {
            let place = Place::new(&words.replace(':', "-"));
            let file = place.0.join("given").join(name);
            fs::write(&file, content).unwrap();
            let options = || {
                let traffic = words.replace("FILE", &file.display().to_string());
                Options::default().with(Key::Path, "a=rate 5mbit").with(Key::Traffic, &traffic)
            };
            let scenario = options().resolve().unwrap_or_else(|why| panic!("{words}: {why}"));
            let folder = place.results();
            folder.keep_inputs(&scenario, false).unwrap();
            let results = folder.path().display().to_string();
            let mut present = options();
            assert_eq!(use_copies(&mut present, &results), [""; 0], "{words}");
            fs::remove_file(&file).unwrap();
            let mut gone = options();
            assert_eq!(use_copies(&mut gone, &results).len(), 1, "{words}");
            let again = gone.resolve().unwrap_or_else(|why| panic!("{words}: {why}"));
            assert_eq!(hex(&again.study_key()), hex(&scenario.study_key()), "{words}");
        }
    }

    #[test]
    fn changed_original_is_named() {
        let place = Place::new("changed");
        let scenario = place.options().resolve().unwrap();
        let folder = place.results();
        folder.keep_inputs(&scenario, false).unwrap();
        drop(Records::open(&folder, &scenario).unwrap());
        assert_eq!(changed(folder.path()), None);
        let original = place.0.join("given/x.down");
        fs::write(&original, TRACE.replace("4.5", "4.6")).unwrap();
        let other = place.options().resolve().unwrap();
        let refused = Records::open(&folder, &other).unwrap_err().to_string();
        let said = format!("`{}` has changed since; its copy is", original.display());
        assert!(refused.contains(&said), "{refused}");
        // A folder whose results are replaced as a whole.
        let refused = folder.keep_inputs(&other, false).unwrap_err();
        assert!(refused.to_string().contains(&said), "{refused}");
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        let copy = || fs::read_to_string(folder.path().join("inputs/x.down")).unwrap();
        assert_eq!(copy(), TRACE);
        folder.keep_inputs(&other, true).unwrap();
        assert_eq!(copy(), TRACE.replace("4.5", "4.6"));
    }

    #[test]
    fn large_files_and_data_are_listed_with_their_hash_only() {
        let place = Place::new("large");
        let large = place.0.join("given/x.up");
        let row = "0.0 1.5\n1.0 1.25\n";
        let rows = row.len() + 2 * (LARGEST as usize) / 9;
        let long: String = (0..rows).map(|n| format!("{n}.0 1.25\n")).collect();
        fs::write(&large, long).unwrap();
        let scenario = place.options().resolve().unwrap();
        let kept = place.results().inputs(&scenario).unwrap();
        let copies: Vec<Option<&str>> = kept.iter().map(|kept| kept.copy.as_deref()).collect();
        let expected = [Some("inputs/page.json"), None, None, Some("inputs/2/x.down")];
        assert_eq!(copies, expected);
        let notes: Vec<&str> = kept.iter().filter_map(|kept| kept.note.as_deref()).collect();
        assert_eq!(notes, [WITH_OTHER, TOO_LARGE]);
    }

    #[test]
    fn file_of_somebody_else_is_overwritten_with_force_only() {
        for (file, content) in [("page.json", "mine"), (INDEX, "{\"program\": \"iperf3\"}")] {
            let place = Place::new("theirs");
            let scenario = place.options().resolve().unwrap();
            let folder = place.results();
            let name = folder.path().join(FOLDER).join(file);
            fs::create_dir_all(folder.path().join(FOLDER)).unwrap();
            fs::write(&name, content).unwrap();
            let refused = folder.keep_inputs(&scenario, false).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            let said = format!("`{}` was not written by anabranch", name.display());
            assert_eq!(refused.to_string(), said);
            assert_eq!(fs::read_to_string(&name).unwrap(), content);
            folder.keep_inputs(&scenario, true).unwrap();
            assert_ne!(fs::read_to_string(&name).unwrap(), content);
            folder.scenario_toml(&scenario).unwrap();
        }
    }

    #[test]
    fn copies_are_inside_of_their_folder() {
        assert!(!is_inside("inputs/../x") && !is_inside("/etc/passwd") && is_inside("inputs/2/x"));
    }
}
