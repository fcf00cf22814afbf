//! Throughput lists: blocks of `Run k` and a line of comma-separated Mbit/s, one every 100 ms
//! (the lists of Ghoshal et al., 5G-MeMU 2022).
//!
//! The files state neither unit nor interval. Every value is a multiple of 80 bit/s, the resolution
//! of whole bytes in 100 ms, so the interval is 100 ms. All runs are joined. Lists of round-trip
//! times have the same format; they are recognised by the three significant digits of ping.

use super::columns::{number, rate};
use super::detect::{PING_MEND, Unit, lines};
use super::error::{TraceError, TraceFault};
use super::{CapacityTrace, MAX_BPS};
use base::{Duration, Rate};

const INTERVAL: Duration = Duration::from_millis(100);

/// Whether a line begins a run.
pub(super) fn is_head(line: &str) -> bool {
    line.strip_prefix("Run")
        .is_some_and(|rest| !rest.trim().is_empty() && rest.trim().parse::<u32>().is_ok())
}

pub(super) fn read(text: &str, unit: Option<Unit>) -> Result<CapacityTrace, TraceError> {
    if unit == Some(Unit::Millis) {
        let fault = TraceFault::Unit { unit: "ms", why: "a list of rates has none" };
        return Err(fault.whole());
    }
    let mut steps = Vec::new();
    let mut precise = 0;
    for (line, content) in lines(text).filter(|(_, line)| !is_head(line)) {
        for value in content.split(',').map(str::trim).filter(|value| !value.is_empty()) {
            precise += usize::from(significant_digits(value) > 3);
            let rate = sample(value, unit.unwrap_or(Unit::Mbit)).map_err(|fault| fault.at(line))?;
            steps.push((INTERVAL, rate));
        }
    }
    // ping prints more than three digits only for a second and more.
    if unit.is_none() && precise * 2 < steps.len() {
        let what = "a list of round-trip times as ping prints them (three digits each)";
        return Err(TraceFault::NotCapacity { what, mend: PING_MEND }.whole());
    }
    CapacityTrace::from_steps(&steps).map_err(TraceFault::whole)
}

fn sample(text: &str, unit: Unit) -> Result<Rate, TraceFault> {
    rate(number(text, MAX_BPS)?, unit)
        .ok_or_else(|| TraceFault::out_of_range(text, "a rate up to 1 Tbit/s"))
}

fn significant_digits(text: &str) -> usize {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').len()
}
