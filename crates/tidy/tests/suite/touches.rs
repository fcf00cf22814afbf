//! What an addition touches, as `CONTRIBUTING.md` lists it, held against what an example of its
//! kind touches.
//!
//! A row of that table names an example by a word of its code and the files that an addition of
//! its kind changes. The files in which product code has the word must be these. `mod` and `use`
//! lines are not counted, and neither are comments, literals and tests.

use crate::lexer;
use crate::workspace::Source;
use std::collections::BTreeSet;

/// Heading of the section that has the table.
const SECTION: &str = "## What an addition touches";
/// Most files that any addition changes.
const MOST_FILES: usize = 3;

/// Rows of the table that do not say what is so.
pub fn complaints(guide: &str, sources: &[Source]) -> Vec<String> {
    let rows = rows(guide);
    if rows.is_empty() {
        return vec!["the table of what an addition touches is gone".to_owned()];
    }
    rows.into_iter().filter_map(|row| row.complaint(sources)).collect()
}

/// One kind of addition.
#[derive(Debug, PartialEq, Eq)]
struct Row<'a> {
    kind: &'a str,
    example: &'a str,
    files: BTreeSet<String>,
}

impl Row<'_> {
    fn complaint(&self, sources: &[Source]) -> Option<String> {
        let touched: BTreeSet<String> = sources
            .iter()
            .filter(|source| source.product_of().is_some() && has_word(source, self.example))
            .map(|source| source.path.clone())
            .collect();
        if touched != self.files {
            return Some(format!("{}: `{}` is in {touched:?}", self.kind, self.example));
        }
        let count = touched.len();
        (count > MOST_FILES).then(|| format!("{}: {count} files", self.kind))
    }
}

/// Whether product code has the word, `mod` and `use` lines apart.
fn has_word(source: &Source, word: &str) -> bool {
    let mut importing = false;
    source.product_lines().any(|(_, line)| {
        let text = line.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        importing |= text.starts_with("use ") || text.starts_with("mod ");
        let counts = !importing && lexer::words(line, word).next().is_some();
        importing &= !line.contains(';');
        counts
    })
}

/// The rows of the table: kind, example, files with their places below `crates/`.
fn rows(guide: &str) -> Vec<Row<'_>> {
    let section = guide.split_once(SECTION).map_or("", |(_, rest)| rest);
    let section = section.split("\n## ").next().unwrap_or_default();
    let row = |line| {
        let cells: Vec<&str> = str::split(line, '|').map(str::trim).collect();
        let [_, kind, example, files, _] = cells[..] else { return None };
        let files: BTreeSet<String> = quoted(files).map(|file| format!("crates/{file}")).collect();
        let example = quoted(example).next()?;
        (!files.is_empty()).then_some(Row { kind, example, files })
    };
    section.lines().filter_map(row).collect()
}

/// What stands between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn row_that_leaves_a_file_out_is_a_complaint() {
    let guide = "## What an addition touches\n\n| addition | example | files |\n|---|---|---|\n\
                 | a thing | `Thing` | `a/src/x.rs`, `a/src/y.rs` |\n\n## Next\n| b | `C` | `d` |\n";
    let source = |path: &str, text: &str| Source::new(path, text, false);
    let x = || source("crates/a/src/x.rs", "struct Thing;\n");
    let y = || source("crates/a/src/y.rs", "// Thing\nlet a = Thing::new();\n");
    let z = source("crates/a/src/z.rs", "mod thing;\npub use thing::{\n    Thing,\n};\n");
    assert_eq!(rows(guide).len(), 1);
    assert!(complaints(guide, &[x(), y(), z]).is_empty());
    let w = source("crates/b/src/w.rs", "fn f(thing: Thing) {}\n");
    assert_eq!(complaints(guide, &[x(), y(), w]).len(), 1);
    assert_eq!(complaints(guide, &[x()]).len(), 1, "one of the list that it does not touch");
    assert_eq!(complaints("", &[x()]).len(), 1);
}
