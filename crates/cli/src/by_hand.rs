//! Generated documents with text written by hand at their end, which a new generation keeps.

use lab::InputError;
use lab::results::is_replaceable;
use std::io;
use std::path::Path;

/// Text written by hand is below this line.
const BY_HAND: &str = "<!-- Below this line nothing is generated. -->";

/// Refuses a document that this program did not write, except with `force`.
pub(crate) fn allow(option: &str, file: &Path, force: bool) -> Result<(), InputError> {
    let is_generated = || {
        let text = std::fs::read_to_string(file);
        text.is_ok_and(|text| text.trim().is_empty() || text.contains(BY_HAND))
    };
    if force || !file.exists() || is_generated() || is_replaceable(file) {
        return Ok(());
    }
    let problem = format!("`{}` was not written by anabranch", file.display());
    Err(InputError::at(option, problem, "name another file, or add `--force` to overwrite it"))
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
