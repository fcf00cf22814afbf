//! Generated documents with text written by hand at their end, which a new generation keeps.

use std::io;
use std::path::Path;

/// Text written by hand is below this line.
const BY_HAND: &str = "<!-- Below this line nothing is generated. -->";

/// Whether the document was generated, so that only text above the line is written again.
pub(crate) fn is_generated(file: &Path) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| text.contains(BY_HAND))
}

/// Writes what was generated, and below it what the existing document has by hand.
pub(crate) fn write(file: &Path, generated: &str) -> io::Result<()> {
    let by_hand = kept(file)?;
    std::fs::write(file, format!("{generated}\n{BY_HAND}\n{by_hand}"))
}

/// Text written by hand in the existing document.
fn kept(file: &Path) -> io::Result<String> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text
            .split_once(BY_HAND)
            .map_or(String::new(), |(_, below)| below.trim_start_matches('\n').to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    }
}
