//! What an addition touches: the table of `CONTRIBUTING.md`, held against the source.
//!
//! Each row names one that there is, the words by which code knows it, and the files that have one
//! of them outside of tests. A file that is missing there, or there for nothing, is a complaint,
//! and so is a list of more than three: then an addition has become too dear.

use crate::workspace::Source;

/// Most files that an addition may touch beside documents, tests and snapshots.
const MOST: usize = 3;

/// A row of the table.
struct Row<'t> {
    what: &'t str,
    words: Vec<&'t str>,
    files: Vec<&'t str>,
}

/// What the table says and the source does not.
pub(crate) fn complaints(text: &str, sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for Row { what, words, files } in rows(text) {
        if files.len() > MOST {
            found.push(format!("{what} touches {} files, more than {MOST}", files.len()));
        }
        let has = |source: &&Source| words.iter().any(|word| knows(source, word));
        let with: Vec<&str> =
            sources.iter().filter(has).map(|source| source.path.as_str()).collect();
        for file in with.iter().filter(|file| !files.contains(file)) {
            found.push(format!("{what} touches {file}, too"));
        }
        for file in files.iter().filter(|file| !with.contains(file)) {
            found.push(format!("{what} does not touch {file}"));
        }
    }
    found
}

/// The number of rows.
pub(crate) fn count(text: &str) -> usize {
    rows(text).count()
}

/// Rows such as ``| a scheduler | `redundant` | `"redundant"` | `crates/...` |``.
fn rows(text: &str) -> impl Iterator<Item = Row<'_>> {
    text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.trim().trim_matches('|').split(" | ").collect();
        let [what, words, files] = cells[..] else { return None };
        let files = quoted(files);
        let is_row = !files.is_empty() && files.iter().all(|file| file.starts_with("crates/"));
        is_row.then(|| Row { what: what.trim(), words: quoted(words), files })
    })
}

/// The parts between back-quotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Whether product code has the word: comments do not count, texts do.
fn knows(source: &Source, word: &str) -> bool {
    if !source.is_rust() || source.product_of().is_none() {
        return false;
    }
    let lines = source.text.lines().zip(&source.is_test);
    let code = lines.filter(|(line, test)| !**test && !line.trim_start().starts_with("//"));
    code.map(|(line, _)| line).any(|line| has_word(line, word))
}

/// Whether the line has the word as a whole.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[test]
fn file_too_many_and_file_too_few_are_complaints() {
    let source = |path: &str, text: &str| Source::new(path, text, false);
    let sources = [
        source("crates/a/src/one.rs", "const NAME: &str = \"x\";\n"),
        source("crates/a/src/two.rs", "fn f() { g(\"x\") }\n// \"y\"\n"),
    ];
    let found = |files: &str| complaints(&format!("| a thing | `\"x\"` | {files} |"), &sources);
    assert_eq!(found("`crates/a/src/one.rs`, `crates/a/src/two.rs`"), [""; 0]);
    assert_eq!(found("`crates/a/src/one.rs`"), ["a thing touches crates/a/src/two.rs, too"]);
    let all = found("`crates/a/src/one.rs`, `crates/a/src/two.rs`, `crates/b/src/lib.rs`");
    assert_eq!(all, ["a thing does not touch crates/b/src/lib.rs"]);
    assert_eq!(count("| what | example | files |\n|---|---|---|\n"), 0);
}
