//! What a process has used so far, as Linux accounts it.

use std::fs::read_to_string;

/// User plus system time of this thread, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    cpu_seconds_of("thread-self")
}

/// That of a process with one thread, also of one that ended and was not waited for.
pub(crate) fn cpu_seconds_of(process: &str) -> f64 {
    let nanos: Option<f64> = read_to_string(format!("/proc/{process}/schedstat"))
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok());
    nanos.unwrap_or(f64::NAN) / 1e9
}

/// The most memory this process ever had resident, in KiB.
pub(crate) fn peak_kib() -> f64 {
    status_kib("VmHWM:")
}

/// The memory this process has resident, in KiB.
pub(crate) fn resident_kib() -> f64 {
    status_kib("VmRSS:")
}

fn status_kib(field: &str) -> f64 {
    let value: Option<f64> = read_to_string("/proc/self/status").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix(field))?;
        line.split_whitespace().next()?.parse().ok()
    });
    value.unwrap_or(f64::NAN)
}
