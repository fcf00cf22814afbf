//! Names the build: a hash over the sources of everything that a run's result can depend on.
//!
//! Stored runs are reused only by the build that made them, because a changed engine may give
//! other results. The hash covers the lock file and the compiler, not the place of the sources.
//!
//! It also makes the table of the papers' scenario files and claims, which are part of the program.

use sha2::{Digest, Sha256};
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The floors that a run passes through, seen from this crate.
const FLOORS: [&str; 8] =
    ["base", "wire", "transport", "network", "traffic", "harness", "simulator", "lab"];

fn main() -> Result<(), Box<dyn Error>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = vec![crates.join("../Cargo.lock"), crates.join("../Cargo.toml")];
    for floor in FLOORS {
        files.push(crates.join(floor).join("Cargo.toml"));
        let folders = ["src", "profiles"].map(|folder| crates.join(floor).join(folder));
        for folder in folders.iter().filter(|folder| folder.is_dir()) {
            println!("cargo::rerun-if-changed={}", folder.display());
            collect(folder, &mut files)?;
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    let mut hash = Sha256::new();
    for file in files.iter().filter(|file| !judges(file)) {
        println!("cargo::rerun-if-changed={}", file.display());
        hash.update(file.strip_prefix(&crates)?.to_string_lossy().as_bytes());
        hash.update([0]);
        hash.update(Sha256::digest(std::fs::read(file)?));
    }
    hash.update(compiler());
    hash.update(std::env::var("TARGET")?);
    let digits: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=ANABRANCH_BUILD={digits}");
    papers(&crates.join("../scenarios"))
}

/// Whether the file is about finished runs only: the claims of papers are judged anew each time,
/// `values.rs` apart, which takes numbers from runs and stores them.
fn judges(file: &Path) -> bool {
    let is_in = file.parent().is_some_and(|folder| folder.ends_with("src/reproduction"));
    is_in && file.file_name().is_some_and(|name| name != "values.rs")
}

/// Writes the table of the files in the folders of papers, whose names begin with a digit: the
/// name `002-hurtig/burst.toml` and the content.
fn papers(folder: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    let mut table = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(folder)?.to_string_lossy().into_owned();
        if name.starts_with(|c: char| c.is_ascii_digit()) && name.ends_with(".toml") {
            println!("cargo::rerun-if-changed={}", file.display());
            let place = file.canonicalize()?;
            writeln!(table, "    ({name:?}, include_str!({place:?})),")?;
        }
    }
    table.push_str("]\n");
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("papers.rs"), table)?;
    Ok(())
}

/// All files below `folder`, in an order that depends on names only.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let entries = std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut entries: Vec<PathBuf> = entries.collect::<Result<_, _>>()?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            collect(&entry, files)?;
        } else {
            files.push(entry);
        }
    }
    Ok(())
}

/// What the compiler says of itself.
fn compiler() -> Vec<u8> {
    let name = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    Command::new(name).arg("-Vv").output().map_or(Vec::new(), |output| output.stdout)
}
