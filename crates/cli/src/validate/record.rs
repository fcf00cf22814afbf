//! `validate --record`: the kernel's runs into the file of the set.
//!
//! The lab carries out the runs and writes each of them; here are messages and progress.

use super::ValidateArgs;
use crate::emulate::failed;
use crate::exit::{INTERRUPTED, USAGE};
use crate::output::{can_redraw, counted, error, message};
use crate::report::utc;
use crate::save::Overwrite;
use indicatif::{ProgressBar, ProgressStyle};
use lab::validation::{
    Machine, Recording, RecordingEvent, RecordingWatcher, Series, SeriesError, ValidationSet,
};
use linux::LiveError;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Message after an interrupt.
const STOPPED: &str = "interrupted: the finished runs are recorded; run the same command again to \
                       resume";
/// Note on a file of another machine or kernel.
const ANOTHER: &str = "note: the recorded runs are from another machine or kernel and are replaced";
/// Note on a file that has all runs.
const COMPLETE: &str = "note: nothing to record: the file has all runs; remove it to record them \
                        again";
const HELP: &str = "\n  help: free some space, or name another file: `series = \"FILE\"` in the \
                    set; finished runs are kept";
/// Time between two lines where lines cannot be redrawn.
const EVERY: Duration = Duration::from_secs(60);

/// Runs the subcommand and returns the exit code.
pub(super) fn record(args: &ValidateArgs, set: &ValidationSet) -> u8 {
    let is_series = !matches!(Series::from_file(&set.series), Err(SeriesError::Malformed { .. }));
    let overwrite = Overwrite { force: args.force || is_series };
    if let Err(refusal) = overwrite.allow("series", &set.series, "file") {
        error(&refusal);
        return USAGE;
    }
    match carry_out(args, set) {
        Ok(code) => code,
        Err(LiveError::Failed(problem)) if problem.starts_with("cannot write") => {
            failed(&LiveError::Failed(format!("{problem}{HELP}")))
        }
        Err(failure) => failed(&failure),
    }
}

fn carry_out(args: &ValidateArgs, set: &ValidationSet) -> Result<u8, LiveError> {
    // Before everything else: it needs a process without threads.
    linux::user_namespace::enter_if_needed()?;
    let jobs = args.jobs.unwrap_or(1);
    let follower = Follower::new(args.quiet, jobs);
    stop_on_interrupt(&follower.bar);
    let recording = Recording::new(set, series(args, set), &follower)?;
    recording.carry_out(jobs)?;
    follower.bar.finish_and_clear();
    if !args.quiet {
        let Counts { runs, repeated, discarded } = follower.counts();
        if runs == 0 {
            message(COMPLETE);
            return Ok(0);
        }
        message(&conduct_line(runs, repeated, discarded));
        message(&format!("wrote {}", set.series.display()));
    }
    Ok(0)
}

/// Every finished run is on disk, so nothing is waited for.
fn stop_on_interrupt(bar: &ProgressBar) {
    let bar = bar.clone();
    // Without a handler an interrupt ends the program, too.
    let _ = ctrlc::set_handler(move || {
        bar.finish_and_clear();
        message(STOPPED);
        std::process::exit(i32::from(INTERRUPTED));
    });
}

/// Shows progress.
struct Follower {
    bar: ProgressBar,
    quiet: bool,
    jobs: usize,
    begun: Instant,
    /// Seconds since the beginning at the last line.
    last: AtomicU64,
    runs: AtomicU32,
    repeated: AtomicU32,
    discarded: AtomicU32,
}

/// Numbers of runs.
struct Counts {
    runs: u32,
    repeated: u32,
    discarded: u32,
}

impl Follower {
    #[allow(clippy::disallowed_methods, reason = "progress; no result depends on it")]
    fn new(quiet: bool, jobs: usize) -> Follower {
        let bar =
            if quiet || !can_redraw() { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Follower {
            bar,
            quiet,
            jobs,
            begun: Instant::now(),
            last: AtomicU64::new(0),
            runs: AtomicU32::new(0),
            repeated: AtomicU32::new(0),
            discarded: AtomicU32::new(0),
        }
    }

    fn counts(&self) -> Counts {
        let [runs, repeated, discarded] = [&self.runs, &self.repeated, &self.discarded]
            .map(|count| count.load(Ordering::Relaxed));
        Counts { runs, repeated, discarded }
    }

    fn say(&self, text: &str) {
        if !self.quiet {
            self.bar.suspend(|| message(text));
        }
    }

    /// Draws progress, or prints it once in a while.
    fn show(&self, text: String) {
        if !self.bar.is_hidden() {
            self.bar.set_message(text);
            return;
        }
        let now = self.begun.elapsed().as_secs();
        let last = self.last.load(Ordering::Relaxed);
        if now >= last + EVERY.as_secs() {
            self.last.store(now, Ordering::Relaxed);
            self.say(&text);
        }
    }
}

impl RecordingWatcher for Follower {
    fn on_event(&self, event: &RecordingEvent<'_>) {
        match event {
            RecordingEvent::Dropped { reason } => {
                self.say(&changed_line(reason));
            }
            RecordingEvent::Planned { missing: 0, .. } => {}
            RecordingEvent::Planned { missing, seconds } => {
                self.say(&plan_line(*missing, *seconds, self.jobs));
            }
            RecordingEvent::Measured { accuracy } => self.say(&format!("emulator: {accuracy}")),
            RecordingEvent::Recorded { name, run, missing, seconds } => {
                self.runs.fetch_add(1, Ordering::Relaxed);
                self.repeated.fetch_add(run.disturbed, Ordering::Relaxed);
                if let Some(reason) = &run.invalid {
                    self.discarded.fetch_add(1, Ordering::Relaxed);
                    self.say(&format!("discarded: {name}, run {}: {reason}", run.number));
                }
                let Counts { runs, repeated, .. } = self.counts();
                let left = time(*seconds / self.jobs as f64);
                let late = match repeated {
                    0 => String::new(),
                    late => format!(", {late} repeated"),
                };
                self.show(format!("{runs} recorded{late}, {missing} missing ({left}), now {name}"));
            }
        }
    }
}

/// Text on a scenario that is not what was recorded.
fn changed_line(reason: &str) -> String {
    format!("note: recorded again, because it changed: {reason}")
}

/// The estimate before the first run.
fn plan_line(missing: usize, seconds: f64, jobs: usize) -> String {
    let runs = counted(u32::try_from(missing).unwrap_or(u32::MAX), "run");
    let at_once = if jobs > 1 { format!(", {jobs} at once") } else { String::new() };
    let time = time(seconds / jobs as f64);
    format!("{runs} to record, about {time}{at_once}; more where figures vary")
}

/// Hours and minutes.
fn time(seconds: f64) -> String {
    // Not negative, and a recording takes no years.
    let minutes = (seconds / 60.0).ceil() as u64;
    if minutes < 60 {
        format!("{minutes} min")
    } else {
        format!("{} h {} min", minutes / 60, minutes % 60)
    }
}

/// Text on the runs of a recording.
fn conduct_line(runs: u32, repeated: u32, discarded: u32) -> String {
    let mut line = format!("recorded {}", counted(runs, "run"));
    if repeated > 0 {
        let attempts = counted(repeated, "attempt");
        line.push_str(&format!("; repeated because the emulator was late: {attempts}"));
    }
    if discarded > 0 {
        let runs = counted(discarded, "run");
        line.push_str(&format!(
            "; discarded: disturbed by other load on this machine: {runs} (the same command \
             repeats them)"
        ));
    }
    line
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
        let plans = [plan_line(1, 45.0, 1), plan_line(1240, 74_000.0, 4)].join("\n");
        let ends = [(1, 0, 0), (30, 1, 0), (240, 31, 4)];
        let ends = ends.map(|(runs, repeated, discarded)| conduct_line(runs, repeated, discarded));
        let failure = format!("error: cannot write `FILE`: it is full{HELP}");
        let changed = changed_line("clean: `nic` was `none`, is `1gbit`");
        let text =
            [&plans, &changed, &ends.join("\n"), STOPPED, ANOTHER, COMPLETE, &failure].join("\n");
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.set_snapshot_path("../snapshots");
        settings.bind(|| insta::assert_snapshot!("recording", text));
    }
}
