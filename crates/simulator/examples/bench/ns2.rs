//! The same transfer in ns-2, where its program `ns` is installed (Debian `ns2`).

use crate::figures::line;
use crate::meter::cpu_seconds_of;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};

const NAME: &str = "sim/ns2-tcp-bulk";
const UNIT: &str = "packets/cpu_s";
/// Files are all that `ns` reads.
const SCRIPT: &str = include_str!("ns2.tcl");

/// Packets acknowledged per second of CPU time, its start included.
pub(crate) fn tcp_bulk() -> Result<(), String> {
    let script = std::env::temp_dir().join(format!("bench-{}.tcl", std::process::id()));
    std::fs::write(&script, SCRIPT).map_err(|error| error.to_string())?;
    let started = Command::new("ns").arg(&script).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = started else {
        line(NAME, "n/a", &format!("{UNIT} (ns is not installed)"));
        return std::fs::remove_file(&script).map_err(|error| error.to_string());
    };
    let counted = packets_and_seconds(&mut child);
    child.wait().map_err(|error| error.to_string())?;
    std::fs::remove_file(&script).map_err(|error| error.to_string())?;
    let (packets, seconds) = counted.ok_or("ns printed no number of packets")?;
    line(NAME, format_args!("{:.0}", packets / seconds), UNIT);
    Ok(())
}

/// What `ns` printed, and its time once it has closed its output.
fn packets_and_seconds(child: &mut Child) -> Option<(f64, f64)> {
    let mut printed = String::new();
    child.stdout.take()?.read_to_string(&mut printed).ok()?;
    let seconds = cpu_seconds_of(&child.id().to_string());
    Some((printed.trim().parse().ok()?, seconds))
}
