//! `validate --record`: the kernel's runs, scenario by scenario, into the file of the set.
//!
//! Scenarios that the file has already are recorded again; with `--only`, just those.

use super::{Follower, ValidateArgs};
use crate::emulate::failed;
use crate::exit::INTERRUPTED;
use crate::output::{counted, message};
use crate::report::utc;
use lab::Watcher;
use lab::validation::{Machine, Series, ValidationSet, record as record_entry};
use linux::LiveError;
use std::time::SystemTime;

/// Message after an interrupt.
const STOPPED: &str = "interrupted: the current scenario is not recorded, the ones before it are";
/// Note on a file of another machine or kernel.
const ANOTHER: &str = "note: the recorded runs are from another machine or kernel and are replaced";
const HELP: &str = "\n  help: free some space, or name another file: `series = \"FILE\"` in the \
                    set; scenarios recorded before this one are kept";

/// Runs the subcommand and returns the exit code.
pub(super) fn record(args: &ValidateArgs, set: &ValidationSet) -> u8 {
    match carry_out(args, set) {
        Ok(code) => code,
        Err(failure) => failed(&failure),
    }
}

fn carry_out(args: &ValidateArgs, set: &ValidationSet) -> Result<u8, LiveError> {
    // Before everything else: it needs a process without threads.
    linux::user_namespace::enter_if_needed()?;
    let mut series = series(args, set);
    let follower = Follower::new(set, args.quiet);
    for entry in &set.entries {
        follower.next(&entry.name);
        let Some((recorded, accuracy)) = record_entry(entry, &follower)? else { break };
        let invalid = recorded.variants.iter().flat_map(|variant| &variant.runs);
        let invalid = invalid.filter(|run| run.invalid.is_some()).count();
        if !args.quiet {
            follower.bar.suspend(|| message(&recorded_line(&accuracy, invalid)));
        }
        let of_this = format!("{}: ", entry.name);
        series.machine.emulator.retain(|line| !line.starts_with(&of_this));
        series.machine.emulator.push(accuracy);
        series.replace(recorded);
        let file = set.series.display();
        series
            .write(&set.series)
            .map_err(|error| LiveError::Failed(format!("cannot write `{file}`: {error}{HELP}")))?;
    }
    follower.bar.finish_and_clear();
    if follower.is_stopped() {
        message(STOPPED);
        return Ok(INTERRUPTED);
    }
    if !args.quiet {
        message(&format!("wrote {}", set.series.display()));
    }
    Ok(0)
}

/// Text on a recorded scenario.
fn recorded_line(accuracy: &str, invalid: usize) -> String {
    let invalid = u32::try_from(invalid).unwrap_or(u32::MAX);
    let note = if invalid > 0 {
        format!("; discarded: disturbed by other load on this machine: {}", counted(invalid, "run"))
    } else {
        String::new()
    };
    format!("recorded {accuracy}{note}")
}

/// The existing series if it was recorded on this machine by this version, else an empty one.
fn series(args: &ValidateArgs, set: &ValidationSet) -> Series {
    // The path of the program is private.
    let words = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let command = format!("anabranch {words}");
    let here = Machine::here(today(), command, env!("CARGO_PKG_VERSION").to_owned());
    match Series::from_file(&set.series) {
        Ok(there)
            if there.machine.kernel == here.kernel && there.machine.hardware == here.hardware =>
        {
            there
        }
        Ok(_) if !args.quiet => {
            message(ANOTHER);
            Series::new(here)
        }
        _ => Series::new(here),
    }
}

/// The current day in UTC.
#[allow(clippy::disallowed_methods, reason = "provenance; no result depends on it")]
fn today() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let text = utc(now.map_or(0.0, |time| time.as_secs_f64()));
    text.split(' ').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recording_says_what_is_kept_and_what_is_not() {
        let accuracy = "clean: delay +0.118 ms, rate -0.20 %, every loss as drawn";
        let lines = [0, 1, 4].map(|invalid| recorded_line(accuracy, invalid));
        let failure = format!("error: cannot write `FILE`: it is full{HELP}");
        let text = [&lines.join("\n"), STOPPED, ANOTHER, &failure].join("\n");
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.set_snapshot_path("../snapshots");
        settings.bind(|| insta::assert_snapshot!("recording", text));
    }
}
