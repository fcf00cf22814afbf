//! Comments and documents cite what everybody can open: an RFC, a paper, a file of a kernel.

use crate::rules::Finding;
use crate::workspace::Source;

/// Words, in lower case, of citations that lead nowhere: documents outside of this repository, and
/// rules by a number.
const NOWHERE: [&str; 7] = [
    "schedulers spec",
    "scheduler spec",
    "congestion spec",
    "mptcp-protocol spec",
    "tcp-subflow spec",
    "house rule",
    "specs/",
];
/// Words that lead nowhere if the number of a section follows: `spec s1`.
const NUMBERED: [&str; 2] = ["spec s", ".md s"];

/// Every citation that leads nowhere. This file has to name them.
pub(crate) fn citations(source: &Source) -> Vec<Finding> {
    let is_read =
        source.is_rust() || source.path.ends_with(".md") || source.path.ends_with(".toml");
    if !is_read || source.path.ends_with("/tidy/tests/suite/citations.rs") {
        return Vec::new();
    }
    let lines = source.text.lines().enumerate();
    lines
        .filter_map(|(at, line)| {
            let line = line.to_lowercase();
            let named = NOWHERE.iter().find(|word| line.contains(**word)).copied();
            let word =
                named.or_else(|| numbered_section(&line)).or_else(|| numbered_rule(&line))?;
            let what =
                format!("`{word}`: cite an RFC, a paper or a kernel file, or state the fact");
            Some(Finding { line: at + 1, what })
        })
        .collect()
}

/// A section of a specification that names no publisher.
fn numbered_section(line: &str) -> Option<&'static str> {
    let is_number = |rest: &str| rest.starts_with(|next: char| next.is_ascii_digit());
    NUMBERED.into_iter().find(|word| line.split(word).skip(1).any(is_number))
}

/// A rule of the house that is named by its number.
fn numbered_rule(line: &str) -> Option<&'static str> {
    let (before, _) = line.split_once(" of the house")?;
    let number = before.rsplit(' ').next()?;
    number.parse::<u8>().is_ok().then_some("rule of the house")
}

#[test]
fn citation_of_a_document_that_is_not_here_is_a_finding() {
    let text = "//! RFC 8684 s3.3.1\n//! schedulers spec s0.3\n//! (house rule 4)\n\
                //! Rule 12 of the house\n//! the rules of the house\n\
                //! Spec s13, rows 1 and 2\n//! (congestion.md s0 rule 9)\n//! a.md says\n";
    let found = citations(&Source::new("crates/base/src/x.rs", text, false));
    assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2, 3, 4, 6, 7]);
}
