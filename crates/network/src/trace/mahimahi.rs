//! mahimahi's traces: one millisecond per line, non-decreasing, each an opportunity to send 1500
//! bytes. A repeated time means several opportunities in that millisecond; the last time is the
//! period.

use super::CapacityTrace;
use super::detect::lines;
use super::error::{TraceError, TraceFault};

/// The last plausible millisecond: 24 days.
const MAX_MILLIS: u64 = 1 << 31;

pub(super) fn read(text: &str) -> Result<CapacityTrace, TraceError> {
    let mut millis = Vec::new();
    let mut before = 0;
    for (number, line) in lines(text) {
        let ms = parse(line).map_err(|fault| fault.at(number))?;
        if ms < before {
            return Err(TraceFault::Backwards.at(number));
        }
        before = ms;
        millis.push(ms);
    }
    CapacityTrace::from_chances(millis).map_err(TraceFault::whole)
}

fn parse(line: &str) -> Result<u32, TraceFault> {
    const WANTED: &str = "a whole number of milliseconds, alone on its line";
    if line.is_empty() || !line.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(TraceFault::malformed(line, WANTED));
    }
    let ms = line.parse::<u64>().ok().filter(|ms| *ms <= MAX_MILLIS);
    ms.and_then(|ms| u32::try_from(ms).ok())
        .ok_or_else(|| TraceFault::out_of_range(line, "milliseconds up to 2147483648"))
}
