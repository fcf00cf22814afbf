//! Generated documents with text written by hand at their end, which a new generation keeps.

use std::io;
use std::path::Path;

/// Text written by hand is below this line.
const BY_HAND: &str = "<!-- Below this line nothing is generated. -->";

/// Whether the document was generated, so that only text above the line is written again.
pub(crate) fn is_generated(file: &Path) -> bool {
    std::fs::read(file).is_ok_and(|text| below_the_line(&text).is_some())
}

/// What was generated, and below it what the existing document has by hand.
pub(crate) fn document(file: &Path, generated: &str) -> io::Result<Vec<u8>> {
    let existing = match std::fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        existing => existing?,
    };
    let by_hand = below_the_line(&existing).unwrap_or_default();
    Ok([format!("{generated}\n{BY_HAND}\n").as_bytes(), by_hand].concat())
}

/// Text written by hand in an existing document, in whatever encoding.
fn below_the_line(text: &[u8]) -> Option<&[u8]> {
    let line = BY_HAND.as_bytes();
    let at = text.windows(line.len()).position(|part| part == line)?;
    let below = &text[at + line.len()..];
    let begins = below.iter().position(|byte| *byte != b'\n').unwrap_or(below.len());
    Some(&below[begins..])
}
