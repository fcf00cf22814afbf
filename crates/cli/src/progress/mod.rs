//! Progress on standard error: a line for each variant on a terminal, a plain line every ten
//! seconds elsewhere.
//!
//! `frame` formats the lines.

mod frame;

use crate::output::{can_redraw, columns, message};
use frame::{Count, Question, State};
use indicatif::{ProgressBar, ProgressStyle};
use lab::answer::Open;
use lab::run::Run;
use lab::scenario::Variant;
use lab::{Captures, Watcher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Time between two redraws.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// The name of a variant and the packets of its first repetition.
type Captured = (String, Captures);

/// Shows the progress of a study, keeps its captures, and stops it.
pub(crate) struct Progress {
    study: Mutex<Followed>,
    /// `None` if lines cannot be redrawn, or if nothing is shown.
    bar: Option<ProgressBar>,
    quiet: bool,
    verbose: bool,
    stopped: Arc<AtomicBool>,
    captures: Option<Mutex<Vec<Captured>>>,
    /// When no further run is started.
    ends_at: Option<Instant>,
}

/// Output requested by the user.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    /// No progress.
    pub quiet: bool,
    /// A line for each run.
    pub verbose: bool,
    /// Keep the packets of the first repetition of each variant.
    pub captures: bool,
    /// Start no run after this time.
    pub time: Option<Duration>,
}

/// Progress of a study, and when it was last shown.
struct Followed {
    state: State,
    started: Instant,
    shown: Instant,
}

impl Progress {
    /// Follows a study of these variants.
    pub(crate) fn new(variants: &[Variant], shown: Shown) -> Progress {
        let Shown { quiet, verbose, captures, time } = shown;
        let bar = (!quiet && can_redraw()).then(|| {
            let bar = ProgressBar::new(0);
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                bar.set_style(style);
            }
            bar
        });
        let names = variants.iter().map(|variant| (variant.name.clone(), Count::default()));
        let (variants, now) = (names.collect(), real_time());
        let state = State { variants, elapsed: Duration::ZERO, question: None };
        Progress {
            study: Mutex::new(Followed { state, started: now, shown: now }),
            bar,
            quiet,
            verbose,
            stopped: Arc::new(AtomicBool::new(false)),
            captures: captures.then(|| Mutex::new(Vec::new())),
            ends_at: time.map(|time| now + time),
        }
    }

    /// Stops at the first interrupt, exits at the second.
    pub(crate) fn stop_on_interrupt(&self) {
        let stopped = Arc::clone(&self.stopped);
        let bar = self.bar.clone();
        // Without a handler an interrupt ends the program at once, which is acceptable.
        let _ = ctrlc::set_handler(move || {
            if stopped.swap(true, Ordering::Relaxed) {
                if let Some(bar) = &bar {
                    bar.finish_and_clear();
                }
                std::process::exit(i32::from(crate::exit::INTERRUPTED));
            }
            let text = "interrupted: finishing the runs in progress; interrupt again to exit at \
                once";
            print_above(bar.as_ref(), text);
        });
    }

    /// Removes the lines.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Number of runs done.
    pub(crate) fn done(&self) -> usize {
        self.study().state.whole().done
    }

    /// Number of runs reused.
    pub(crate) fn reused(&self) -> usize {
        self.study().state.whole().reused
    }

    /// The captures, with the names of their variants.
    pub(crate) fn take_captures(&self) -> Vec<Captured> {
        let Some(captures) = &self.captures else { return Vec::new() };
        std::mem::take(&mut captures.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn study(&self) -> MutexGuard<'_, Followed> {
        self.study.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more run of a variant as done.
    fn advance(&self, variant: &Variant, reused: usize) {
        let mut study = self.study();
        let mut variants = study.state.variants.iter_mut();
        if let Some((_, count)) = variants.find(|(name, _)| *name == variant.name) {
            count.done += 1;
            count.reused += reused;
        }
        let every = if self.bar.is_some() { DRAW_EVERY } else { LINE_EVERY };
        if study.shown.elapsed() >= every {
            self.show(&mut study);
        }
    }

    fn show(&self, study: &mut Followed) {
        study.shown = real_time();
        study.state.elapsed = study.started.elapsed();
        match &self.bar {
            Some(bar) => {
                let terminal = console::Term::stderr();
                let rows = usize::from(terminal.size().0);
                bar.set_message(study.state.lines(columns(&terminal), rows));
            }
            None if !self.quiet => message(&study.state.line()),
            None => {}
        }
    }

    fn detail(&self, variant: &Variant, run: &Run) {
        let without = if run.is_discarded() { "discarded" } else { "incomplete" };
        let value = run.value.map_or(without.to_owned(), |value| value.to_string());
        let unit = run.metric.unit();
        let text = format!(
            "{} run {}: {value} {unit}, retransmitted segments: {}",
            variant.name, run.number, run.retransmitted_segs
        );
        print_above(self.bar.as_ref(), &text);
    }
}

/// Prints a message above the lines.
fn print_above(bar: Option<&ProgressBar>, text: &str) {
    match bar {
        Some(bar) => bar.println(text),
        None => message(text),
    }
}

impl Watcher for Progress {
    fn on_plan(&self, total: usize) {
        let mut study = self.study();
        let variants = study.state.variants.len().max(1);
        for (_, count) in &mut study.state.variants {
            count.wanted = total / variants;
        }
        if self.bar.is_some() {
            self.show(&mut study);
        }
    }

    fn on_run(&self, variant: &Variant, run: &Run) {
        if self.verbose {
            self.detail(variant, run);
        }
        self.advance(variant, 0);
    }

    fn on_stored(&self, variant: &Variant, _run: &Run) {
        self.advance(variant, 1);
    }

    fn on_open(&self, runs: u32, open: &Open) {
        self.study().state.question = Some(Question { runs, open: open.clone() });
    }

    fn is_out_of_time(&self) -> bool {
        self.ends_at.is_some_and(|ends_at| real_time() >= ends_at)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn on_captures(&self, variant: &Variant, files: Captures) {
        if let Some(captures) = &self.captures {
            let mut captures = captures.lock().unwrap_or_else(PoisonError::into_inner);
            captures.push((variant.name.clone(), files));
        }
    }

    fn wants_captures(&self) -> bool {
        self.captures.is_some()
    }
}

/// The wall clock, for display only.
#[allow(clippy::disallowed_methods, reason = "progress is real time; no result depends on it")]
pub(crate) fn real_time() -> Instant {
    Instant::now()
}

/// A line on standard error for many studies, hidden when `quiet`, and whether an interrupt asked
/// to stop: the first one ends the study after the runs in progress, the second one the program.
pub(crate) fn stopping_line(quiet: bool) -> (ProgressBar, Arc<AtomicBool>) {
    let is_hidden = quiet || !can_redraw();
    let bar = if is_hidden { ProgressBar::hidden() } else { ProgressBar::new(0) };
    if let Ok(style) = ProgressStyle::with_template("{msg}") {
        bar.set_style(style);
    }
    let stopped = Arc::new(AtomicBool::new(false));
    let (asked, cleared) = (Arc::clone(&stopped), bar.clone());
    // Without a handler an interrupt ends the program at once, which is acceptable.
    let _ = ctrlc::set_handler(move || {
        cleared.finish_and_clear();
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(crate::exit::INTERRUPTED));
        }
        message("interrupted: finishing the runs in progress; interrupt again to exit at once");
    });
    (bar, stopped)
}
