//! Comments and documents cite what everybody can open: an RFC, a paper, a file of a kernel.

use crate::rules::Finding;
use crate::workspace::Source;

/// Words of citations that lead nowhere: documents outside of this repository, and rules by a
/// number.
const NOWHERE: [&str; 7] = [
    "schedulers spec",
    "scheduler spec",
    "congestion spec",
    "mptcp-protocol spec",
    "tcp-subflow spec",
    "house rule",
    "specs/",
];

/// Every citation that leads nowhere. This file has to name them.
pub(crate) fn citations(source: &Source) -> Vec<Finding> {
    let is_read =
        source.is_rust() || source.path.ends_with(".md") || source.path.ends_with(".toml");
    if !is_read || source.path.starts_with("crates/tidy/") {
        return Vec::new();
    }
    let lines = source.text.lines().enumerate();
    lines
        .filter_map(|(at, line)| {
            let named = NOWHERE.iter().find(|word| line.contains(**word)).copied();
            let word = named.or_else(|| numbered_rule(line))?;
            let what =
                format!("`{word}`: cite an RFC, a paper or a kernel file, or state the fact");
            Some(Finding { line: at + 1, what })
        })
        .collect()
}

/// A rule of the house that is named by its number.
fn numbered_rule(line: &str) -> Option<&str> {
    let (before, _) = line.split_once(" of the house")?;
    let number = before.rsplit(' ').next()?;
    number.parse::<u8>().is_ok().then_some("rule of the house")
}

#[test]
fn citation_of_a_document_that_is_not_here_is_a_finding() {
    let text = "//! RFC 8684 s3.3.1\n//! schedulers spec s0.3\n//! (house rule 4)\n\
                //! rule 12 of the house\n//! the rules of the house\n";
    let found = citations(&Source::new("crates/base/src/x.rs", text, false));
    assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2, 3, 4]);
}
