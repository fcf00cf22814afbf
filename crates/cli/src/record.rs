//! `validate --record`: the kernel's runs, scenario by scenario, into the file of the set.
//!
//! Scenarios that the file has already are recorded again; with `--only`, just those.

use crate::INTERRUPTED;
use crate::emulate::failed;
use crate::output::message;
use crate::report::utc;
use crate::validate::{Follower, ValidateArgs};
use lab::Watcher;
use lab::validation::{Machine, Series, ValidationSet, record as record_entry};
use linux::LiveError;
use std::time::SystemTime;

/// Carries it out; the answer is the exit code.
pub fn record(args: &ValidateArgs, set: &ValidationSet) -> u8 {
    match carry_out(args, set) {
        Ok(code) => code,
        Err(failure) => failed(&failure),
    }
}

fn carry_out(args: &ValidateArgs, set: &ValidationSet) -> Result<u8, LiveError> {
    // First of all: it needs a process without threads.
    linux::user_namespace::enter_if_needed()?;
    let mut series = series(args, set);
    let follower = Follower::new(set, args.quiet);
    for entry in &set.entries {
        follower.next(&entry.name);
        let Some((recorded, accuracy)) = record_entry(entry, &follower)? else { break };
        let invalid = recorded.variants.iter().flat_map(|variant| &variant.runs);
        let invalid = invalid.filter(|run| run.invalid.is_some()).count();
        if !args.quiet {
            let note =
                if invalid > 0 { format!("; {invalid} runs invalid") } else { String::new() };
            follower.bar.suspend(|| message(&format!("recorded {accuracy}{note}")));
        }
        let of_this = format!("{}: ", entry.name);
        series.machine.emulator.retain(|line| !line.starts_with(&of_this));
        series.machine.emulator.push(accuracy);
        series.replace(recorded);
        let file = set.series.display();
        series
            .write(&set.series)
            .map_err(|error| LiveError::Failed(format!("cannot write `{file}`: {error}")))?;
    }
    follower.bar.finish_and_clear();
    if follower.is_stopped() {
        message("interrupted: the scenario under way is not recorded, those before it are");
        return Ok(INTERRUPTED);
    }
    if !args.quiet {
        message(&format!("wrote {}", set.series.display()));
    }
    Ok(0)
}

/// What there is already, if it was recorded on this machine by this version; else nothing.
fn series(args: &ValidateArgs, set: &ValidationSet) -> Series {
    // Where the program lies is nobody's business.
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
            message("note: the recorded runs there are of another machine or kernel: begun anew");
            Series::new(here)
        }
        _ => Series::new(here),
    }
}

/// The day, in Greenwich.
#[allow(clippy::disallowed_methods, reason = "provenance; no result depends on it")]
fn today() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let text = utc(now.map_or(0.0, |time| time.as_secs_f64()));
    text.split(' ').next().unwrap_or_default().to_owned()
}
