//! Results and captures to folders.

use crate::report::{Sheet, page};
use lab::Captures;
use lab::results::{Provenance, ResultFolder, Written};
use std::io;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Writes the files of a results folder and the page that shows them.
pub(crate) fn write_folder(
    folder: &ResultFolder,
    written: &Written<'_>,
    provenance: &Provenance,
    notes: &[String],
) -> io::Result<()> {
    let Written { scenario, study, report, series, repetition, .. } = *written;
    let toml = &scenario.to_toml();
    let sheet = Sheet { scenario, toml, study, report, series, provenance, repetition, notes };
    folder.write_study(written, provenance, &[("report.html", page(&sheet))])
}

/// Writes two files per variant, with its name: from the sender of the data, and from the receiver.
pub(crate) fn write_captures(
    folder: &ResultFolder,
    captures: Vec<(String, Captures)>,
) -> Result<(), String> {
    for (variant, captures) in captures {
        let variant = variant.replace('/', "-");
        for (place, pcapng) in [("", captures.sender), ("-receiver", captures.receiver)] {
            let name = format!("{variant}{place}.pcapng");
            let path = folder.path().join(&name);
            folder
                .write(&name, &pcapng)
                .map_err(|e| format!("cannot write `{}`: {e}", path.display()))?;
        }
    }
    Ok(())
}

/// Provenance of results that were begun at `clock` and are complete now.
pub(crate) fn provenance(clock: Instant) -> Provenance {
    let duration = clock.elapsed().as_secs_f64();
    Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("ANABRANCH_COMMIT").map(str::to_owned),
        command: std::env::args().collect(),
        started: seconds_since_1970() - duration,
        duration,
        reused: 0,
        csv: false,
    }
}

#[allow(clippy::disallowed_methods, reason = "provenance; no result depends on it")]
fn seconds_since_1970() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}
