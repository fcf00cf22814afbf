//! Result hashes of many scenarios, compared with recorded ones.
//!
//! `entries.toml` names the scenarios, `recorded.txt` has a name and a hash per line. A change that
//! is not intended to alter results leaves all hashes unchanged; one that alters behaviour records
//! the changed entries again and names the mechanism in its commit: CONTRIBUTING, "Result hashes".

mod coverage;
mod entries;
mod short_ways;

use entries::{Entry, entries, folder};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Environment variable with names of entries or groups, separated by commas, or `all`: their
/// hashes are recorded again.
const RECORD: &str = "RECORD_HASHES";

/// Hashes by the name of the entry.
type Hashes = BTreeMap<String, String>;

#[test]
fn results_are_those_recorded() {
    let entries = entries();
    let asked = std::env::var(RECORD).unwrap_or_default();
    let recording = |name: &str| asked.split(',').any(|word| word == "all" || is_in(name, word));
    let chosen: Vec<&Entry> =
        entries.iter().filter(|entry| asked.is_empty() || recording(&entry.name)).collect();
    assert!(!chosen.is_empty(), "{RECORD}={asked} names no entry");
    let found = of_all(&chosen, hash);
    let mut recorded = read();
    if !asked.is_empty() {
        recorded.retain(|name, _| entries.iter().any(|entry| entry.name == *name));
        recorded.extend(found);
        write(&recorded);
        println!("recorded: {} of {} result hashes", chosen.len(), entries.len());
        return;
    }
    let names = found.keys().chain(recorded.keys());
    let mut changed: Vec<&str> =
        names.filter(|name| found.get(*name) != recorded.get(*name)).map(String::as_str).collect();
    changed.sort_unstable();
    changed.dedup();
    assert!(
        changed.is_empty(),
        "{} of {} result hashes are not those recorded:\n  {}\nIf the change is meant to alter \
         results, record these again, and name in the commit the mechanism that alters them:\n  \
         {RECORD}={} cargo test --release -p anabranch-cli --test hashes",
        changed.len(),
        entries.len(),
        changed.join("\n  "),
        changed.join(","),
    );
}

/// An entry of that name, or one of that group.
fn is_in(name: &str, word: &str) -> bool {
    name.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn file() -> PathBuf {
    folder().join("recorded.txt")
}

fn read() -> Hashes {
    let text = std::fs::read_to_string(file()).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(name, hash)| (name.to_owned(), hash.to_owned())).collect()
}

fn write(hashes: &Hashes) {
    let lines: Vec<String> = hashes.iter().map(|(name, hash)| format!("{name} {hash}\n")).collect();
    std::fs::write(file(), lines.concat()).expect("the list of hashes is written");
}

/// What `of` gives for each entry, by name, computed on all cores.
fn of_all<T: Send>(
    entries: &[&Entry],
    of: impl Fn(&Entry) -> Result<T, String> + Sync,
) -> BTreeMap<String, T> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        while let Some(entry) = entries.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = of(entry);
            done.lock().expect("no other thread failed").push((entry.name.clone(), result));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    let done = done.into_inner().expect("no thread failed");
    let faults = done.iter().filter_map(|(name, result)| Some((name, result.as_ref().err()?)));
    let faults: Vec<String> = faults.map(|(name, fault)| format!("{name}: {fault}")).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    done.into_iter().filter_map(|(name, result)| Some((name, result.ok()?))).collect()
}

/// A scenario file of an entry, for as long as `with` reads it.
fn with_file<T>(entry: &Entry, kind: &str, with: impl FnOnce(&str) -> T) -> Result<T, String> {
    let file = format!("{kind}-{}-{}.toml", std::process::id(), entry.name.replace('/', "-"));
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(file);
    std::fs::write(&file, entry.scenario()).map_err(|error| error.to_string())?;
    let result = with(&file.display().to_string());
    std::fs::remove_file(&file).map_err(|error| error.to_string())?;
    Ok(result)
}

/// The result hash of an entry, which is one variant, or those of SCTP over each path and over all,
/// with all of their runs complete.
fn hash(entry: &Entry) -> Result<String, String> {
    let text =
        with_file(entry, "hashes", |file| anabranch(&["compare", file, "--json", "--quiet"]))??;
    let document: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let variants = document["variants"].as_array().ok_or("no variants")?;
    let is_sctp = variants.iter().all(|variant| variant["protocol"] == "sctp");
    if variants.is_empty() || (variants.len() > 1 && !is_sctp) {
        return Err("not one variant".to_owned());
    }
    if variants.iter().any(|variant| variant["incomplete"] != 0) {
        return Err("runs were given up".to_owned());
    }
    Ok(document["hash"].as_str().ok_or("no hash")?.to_owned())
}

/// What the program prints with `arguments`.
fn anabranch(arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    // The environment does not affect the tests.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ANABRANCH_") {
            command.env_remove(name);
        }
    }
    let output = command.args(arguments).output().expect("the program starts");
    if output.status.success() {
        String::from_utf8(output.stdout).map_err(|error| error.to_string())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}
