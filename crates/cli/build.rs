//! Tells the program which commit it is built from, where there is one to tell, and compresses the
//! library of the report's figures to a third of its size.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The library, relative to this file.
const LIBRARY: &str = "assets/plotly-cartesian.min.js";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={LIBRARY}");
    compress();
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // The log of HEAD grows with every commit and checkout.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && std::path::Path::new(&log).is_file()
    {
        println!("cargo::rerun-if-changed={log}");
    }
    if let Some(commit) = git(&["rev-parse", "HEAD"]) {
        println!("cargo::rustc-env=ANABRANCH_COMMIT={commit}");
    }
}

/// Writes the compressed library, unless one is there that is newer than the library.
fn compress() {
    // Cargo always sets it.
    let Some(folder) = env::var_os("OUT_DIR").map(PathBuf::from) else { return };
    let out = folder.join("plotly.js.zlib");
    let changed = |file: &Path| fs::metadata(file).and_then(|data| data.modified()).ok();
    if changed(&out).is_some_and(|then| changed(Path::new(LIBRARY)).is_some_and(|at| at < then)) {
        return;
    }
    let written = fs::read(LIBRARY)
        .map(|library| miniz_oxide::deflate::compress_to_vec_zlib(&library, 6))
        .and_then(|compressed| fs::write(&out, compressed));
    if let Err(error) = written {
        println!("cargo::error=cannot compress {LIBRARY}: {error}");
    }
}
