//! Tests that a document names, as `file::test` in backticks: each of them must exist.

use crate::workspace::Source;

/// The tests named in `text`: file without its ending, and function.
fn names(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let quoted = text.split('`').skip(1).step_by(2);
    let pairs = quoted.filter_map(|quoted| quoted.split_once("::"));
    pairs.filter(|(file, test)| is_identifier(file) && is_identifier(test))
}

fn is_identifier(word: &str) -> bool {
    !word.is_empty()
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Whether `source` is called `file` and has a test of that name.
fn has_test(source: &Source, file: &str, test: &str) -> bool {
    let name = source.path.rsplit('/').next().and_then(|name| name.strip_suffix(".rs"));
    if name != Some(file) {
        return false;
    }
    let head = format!("fn {test}(");
    let lines: Vec<&str> = source.code.lines().map(str::trim).collect();
    let at = lines.iter().position(|line| line.starts_with(&head));
    at.is_some_and(|at| {
        let above = lines[..at].iter().rev().take_while(|line| !line.ends_with(['}', ';', '{']));
        above.into_iter().any(|line| *line == "#[test]")
    })
}

/// What a document names and nobody wrote.
pub(crate) fn complaints(text: &str, sources: &[Source]) -> Vec<String> {
    names(text)
        .filter(|(file, test)| !sources.iter().any(|source| has_test(source, file, test)))
        .map(|(file, test)| format!("there is no test {file}::{test}"))
        .collect()
}

#[test]
fn name_without_a_test_is_a_complaint() {
    let code =
        "fn helper() {}\n\n/// Says.\n#[test]\nfn it_works() {\n    fn helper(x: u8) {}\n}\n";
    let sources = [Source::new("crates/a/tests/suite/data.rs", code, true)];
    let text = "`data::it_works`, `data::helper` and `other::it_works`, not `Data::new`.";
    let found = complaints(text, &sources);
    assert_eq!(found, ["there is no test data::helper", "there is no test other::it_works"]);
}
