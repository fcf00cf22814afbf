//! Files that the documents name exist.

use crate::workspace::Source;

/// Folders that a document's paths are relative to, besides those of the files that the same
/// section has named before.
const FOLDERS: [&str; 4] = ["", "crates/", "crates/transport/src/", "fuzz/"];
/// The name of a file that every module may have.
const ANY: &str = "tests.rs";

/// Whether this is a document that names sources.
pub(crate) fn is_document(source: &Source) -> bool {
    let in_docs = source.path.strip_prefix("docs/").is_some_and(|rest| !rest.contains('/'));
    let others = ["README.md", "CONTRIBUTING.md", "fuzz/README.md"];
    in_docs && source.path.ends_with(".md") || others.contains(&source.path.as_str())
}

/// The `*.rs` in back quotes in a document that are no files.
pub(crate) fn complaints(document: &Source, sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    let mut named: Vec<String> = Vec::new();
    for (at, line) in document.text.lines().enumerate() {
        if line.starts_with('#') {
            named.clear();
        }
        for name in quoted(line).filter(|name| is_path(name)) {
            let folders = FOLDERS.into_iter().chain(named.iter().map(String::as_str));
            let mut paths = folders.map(|folder| format!("{folder}{name}"));
            let path = paths.find(|path| exists(path, sources));
            drop(paths);
            match path {
                Some(path) => named.extend(folders_of(&path)),
                None if name.ends_with(".rs") && name != ANY => {
                    found.push(format!("{}:{}: `{name}` is no file", document.path, at + 1));
                }
                None => {}
            }
        }
    }
    found
}

/// What a line has between pairs of back quotes.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_path(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    name.chars().all(is_letter) && (name.ends_with(".rs") || name.contains('/'))
}

/// Whether a file has this path, or a file is in this folder.
fn exists(path: &str, sources: &[Source]) -> bool {
    let folder = format!("{}/", path.trim_end_matches('/'));
    sources.iter().any(|source| source.path == path || source.path.starts_with(&folder))
}

/// The folders that a path goes through, from that of its crate on, and the path itself if it is
/// one.
fn folders_of(path: &str) -> Vec<String> {
    let whole = if path.ends_with(".rs") { path.to_owned() } else { format!("{path}/") };
    let ends = whole.match_indices('/').skip(1);
    ends.map(|(end, _)| whole[..=end].to_owned()).collect()
}

#[test]
fn path_is_relative_to_a_known_folder_or_to_one_named_before() {
    let source = |path: &str| Source::new(path, "", false);
    let sources = ["crates/a/src/b/c.rs", "crates/a/src/d.rs", "crates/transport/src/e.rs"];
    let sources = sources.map(source);
    let text = "`a/src/b/c.rs`, then `d.rs`, `e.rs`\n`gone.rs` and `tests.rs`\n## Next\n\
                `c.rs`, `crates/a/src`, `d.rs` and `x.rs()`\n";
    let document = Source::new("docs/x.md", text, false);
    assert!(is_document(&document) && !is_document(&sources[0]));
    let found = complaints(&document, &sources);
    assert_eq!(found, ["docs/x.md:2: `gone.rs` is no file", "docs/x.md:4: `c.rs` is no file"]);
}
