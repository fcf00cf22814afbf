//! Which files this program wrote, so that no other file is overwritten.
//!
//! A page has a `generator` element, a capture names its application, a figure its producer, and a
//! manual page begins with a comment. The
//! other files of a result folder have no room for a mark: they are ours beside a `run.json` of
//! ours, or a journal of runs, those of a matrix beside a `matrix.json` of ours; the document of a
//! reproduction has claims, its values name their metrics, and the data of its figures are ours
//! beside that document.

use super::REPRODUCTION;
use super::folder::FILES;
use super::matrix::MATRIX_FILES;
use super::records::has_journal;
use super::stored::read_run;
use crate::words::hex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Name and beginning of the content of the `meta` element of a page that names the program.
pub const GENERATOR: &str = "\"generator\" content=\"anabranch";
/// Beginning of a file with a manual page.
pub const MANUAL: &str = ".\\\" anabranch ";
/// First bytes of a file in which marks are searched for.
const SEARCHED: u64 = 1 << 10;
/// Block type of the first block of a pcapng file.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Beginnings of figures, and the mark that those of this program have.
const FIGURES: [(&[u8], &str); 3] = [
    (b"<!-- ", "<!-- anabranch "),
    (b"%PDF-", "/Producer (anabranch "),
    (b"\x89PNG", "Software\0anabranch "),
];

/// Whether writing to `path` loses nothing: no file is there, it is empty, it has a mark of this
/// program, or it belongs to the results in its folder.
pub fn is_replaceable(path: &Path) -> bool {
    let Ok(data) = fs::metadata(path) else { return true };
    if !data.is_file() || data.len() == 0 {
        return true;
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(SEARCHED).read_to_end(&mut start));
    read.is_ok() && has_mark(&start) || is_result(path)
}

fn has_mark(start: &[u8]) -> bool {
    let has = |mark: &str| start.windows(mark.len()).any(|bytes| bytes == mark.as_bytes());
    let is_figure =
        || FIGURES.iter().any(|(start_of, mark)| start.starts_with(start_of) && has(mark));
    has(GENERATOR)
        || start.starts_with(MANUAL.as_bytes())
        || start.starts_with(&PCAPNG) && has("anabranch")
        || is_figure()
}

/// Whether the file is one of the results in its folder. A page that somebody wrote in the place of
/// ours is not.
fn is_result(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let run = read_run(folder).filter(|run| run["program"] == "anabranch").unwrap_or_default();
    let named = &run["outputs"][name];
    if name.ends_with(".html") {
        let content = fs::read(path).unwrap_or_default();
        return named.as_str() == Some(hex(&Sha256::digest(content)).as_str());
    }
    if MATRIX_FILES.contains(&name) {
        return is_matrix(folder);
    }
    if name == REPRODUCTION {
        return has_list(path, "claims");
    }
    if is_values(name) {
        return has_list(path, "metrics");
    }
    if is_data_of_figure(name) && has_list(&folder.join(REPRODUCTION), "claims") {
        return true;
    }
    // A later study in the folder may name fewer files.
    FILES.contains(&name) && run.is_object() || named.is_string() || has_journal(folder)
}

/// Whether a file of this name has the values of a study of a reproduction.
fn is_values(name: &str) -> bool {
    name.starts_with("values-") && name.ends_with(".json")
}

/// Whether a file of this name has the data of a figure of a reproduction: `002-fig8.csv`.
fn is_data_of_figure(name: &str) -> bool {
    let of_paper = name.get(..4).is_some_and(|start| {
        start.ends_with('-') && start[..3].chars().all(|digit| digit.is_ascii_digit())
    });
    of_paper && [".csv", ".parquet"].iter().any(|end| name.ends_with(end))
}

/// Whether the folder has the document of a matrix.
pub(super) fn is_matrix(folder: &Path) -> bool {
    has_list(&folder.join(MATRIX_FILES[0]), "cells")
}

/// Whether the file is a document of this program with the list `key`.
fn has_list(path: &Path, key: &str) -> bool {
    let document = fs::read(path).ok();
    let document: Option<Value> = document.and_then(|text| serde_json::from_slice(&text).ok());
    document.is_some_and(|of| of["program"] == "anabranch" && of[key].is_array())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_empty_and_own_files_are_replaceable() {
        let folder = std::env::temp_dir().join(format!("anabranch-own-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, content: &str| {
            fs::write(folder.join(name), content).unwrap();
            is_replaceable(&folder.join(name))
        };
        assert!(is_replaceable(&folder.join("none")));
        assert!(file("empty.html", ""));
        assert!(file("ours.html", &format!("<!doctype html><meta name={GENERATOR} 0.1.0\">")));
        assert!(!file("theirs.html", "<!doctype html><p>anabranch is nice"));
        assert!(file("ours.1", &format!("{MANUAL}0.1.0\n.TH anabranch 1")));
        assert!(!file("theirs.1", ".TH anabranch 1"));
        assert!(!file("notes.md", "# anabranch"));
        assert!(!file("scenario.toml", "title = \"mine\""));
        assert!(!file("run.json", "{\"program\": \"iperf3\"}"));
        assert!(!file(REPRODUCTION, "{\"program\": \"anabranch\"}"));
        assert!(file(REPRODUCTION, "{\"program\": \"anabranch\", \"claims\": []}"));
        let hash = hex(&Sha256::digest("<p>an old page"));
        let run = format!(
            "{{\"program\": \"anabranch\", \"outputs\": {{\"scenario.toml\": \"0\", \
             \"report.html\": \"{hash}\"}}}}"
        );
        assert!(file("run.json", &run));
        assert!(file("scenario.toml", "title = \"stored\""));
        assert!(!file("matrix.parquet", "PAR1"), "no document of a matrix is there");
        assert!(!file("matrix.json", "{\"cells\": []}"), "of another program");
        assert!(file("matrix.json", "{\"program\": \"anabranch\", \"cells\": []}"));
        assert!(file("matrix.parquet", "PAR1"));
        assert!(file("runs.csv", "a,b"), "of an earlier study in the folder");
        assert!(!file("notes.csv", "a,b"), "`run.json` does not name it");
        assert!(file("002-fig8.csv", "a,b"), "the document of a reproduction is there");
        assert!(file("values-002.json", "{\"program\": \"anabranch\", \"metrics\": []}"));
        assert!(!file("values-003.json", "{\"metrics\": []}"), "of another program");
        assert!(file("report.html", "<p>an old page"), "of a version without marks");
        assert!(!file("report.html", "<p>a page of somebody else"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
