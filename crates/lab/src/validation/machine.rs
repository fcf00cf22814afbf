//! The machine of a recording, and its file.

use super::series::{Machine, Series};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Settings of the kernel that affect runs, by their `sysctl` names; the emulator sets those of its
/// namespaces.
const SETTINGS: [&str; 12] = [
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_rto_min_us",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_comp_sack_delay_ns",
    "net.core.default_qdisc",
    "net.mptcp.scheduler",
];

impl Machine {
    /// This machine; `recorded` is the current day, `command` the command line, `version` that of
    /// the program.
    pub fn here(recorded: String, command: String, version: String) -> Machine {
        let release = sysctl("kernel.osrelease").unwrap_or_default();
        let settings = SETTINGS.iter().filter_map(|name| Some(((*name).to_owned(), sysctl(name)?)));
        Machine {
            kernel: format!("Linux {release} {}", std::env::consts::ARCH),
            hardware: hardware(),
            recorded,
            command,
            version,
            settings: settings.collect::<BTreeMap<_, _>>(),
            emulator: Vec::new(),
        }
    }
}

/// Processor, cores, memory.
fn hardware() -> String {
    let field = |file: &str, name: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name))?.to_owned();
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let kilobytes: Option<u64> = field("/proc/meminfo", "MemTotal")
        .and_then(|memory| memory.split_whitespace().next()?.parse().ok());
    let memory =
        kilobytes.map_or(String::new(), |kb| format!(", {:.0} GiB", kb as f64 / 1048576.0));
    format!("{processor}, {cores} cores{memory}")
}

fn sysctl(name: &str) -> Option<String> {
    let file = format!("/proc/sys/{}", name.replace('.', "/"));
    Some(fs::read_to_string(file).ok()?.trim().to_owned())
}

impl Series {
    /// Writes the file under a temporary name and renames it when complete.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let partial = path.with_extension("partial");
        let mut file = File::create(&partial)?;
        file.write_all(self.to_text().as_bytes())?;
        file.sync_all()?;
        fs::rename(&partial, path)
    }
}
