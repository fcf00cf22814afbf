//! Progress on standard error: a bar on a terminal, a plain line every ten seconds elsewhere.

use crate::output::message;
use indicatif::{ProgressBar, ProgressStyle};
use lab::{Captures, Run, Variant, Watcher};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// The name of a variant and the packets of its first repetition.
type Captured = (String, Captures);

/// Shows how far a study is, keeps its captures, and stops it.
pub struct Progress {
    total: AtomicUsize,
    done: AtomicUsize,
    /// Of those, from before.
    reused: AtomicUsize,
    bar: Option<ProgressBar>,
    /// When the last plain line was written; `None`: no lines.
    last_line: Mutex<Option<Instant>>,
    verbose: bool,
    stopped: Arc<AtomicBool>,
    captures: Option<Mutex<Vec<Captured>>>,
}

impl Progress {
    /// Follows a study.
    pub fn new(quiet: bool, verbose: bool, captures: bool) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        let bar = (!quiet && terminal).then(|| {
            let bar = ProgressBar::new(0);
            let template = "{bar:40} {pos}/{len} runs, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        });
        Progress {
            total: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            reused: AtomicUsize::new(0),
            bar,
            last_line: Mutex::new((!quiet && !terminal).then(real_time)),
            verbose,
            stopped: Arc::new(AtomicBool::new(false)),
            captures: captures.then(|| Mutex::new(Vec::new())),
        }
    }

    /// Stop at the first interrupt, leave at the second.
    pub fn stop_on_interrupt(&self) {
        let stopped = Arc::clone(&self.stopped);
        // Without a handler an interrupt ends the program at once, which is no worse.
        let _ = ctrlc::set_handler(move || {
            if stopped.swap(true, Ordering::Relaxed) {
                std::process::exit(i32::from(crate::INTERRUPTED));
            }
            message("interrupted: finishing the runs under way; once more to leave at once");
        });
    }

    /// Take the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// How many runs are done.
    pub fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// How many runs were there already.
    pub fn reused(&self) -> usize {
        self.reused.load(Ordering::Relaxed)
    }

    /// One more is done.
    fn advance(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        match &self.bar {
            Some(bar) => bar.set_position(done as u64),
            None => self.line(done),
        }
    }

    /// The captures, with the names of their variants.
    pub fn take_captures(&self) -> Vec<Captured> {
        let Some(captures) = &self.captures else { return Vec::new() };
        std::mem::take(&mut captures.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn line(&self, done: usize) {
        let mut last = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = *last
            && before.elapsed() >= LINE_EVERY
        {
            *last = Some(real_time());
            let total = self.total.load(Ordering::Relaxed);
            message(&format!("{done} of {total} runs done"));
        }
    }

    fn detail(&self, variant: &Variant, run: &Run) {
        let value = run.value.map_or("incomplete".to_owned(), |value| value.to_string());
        let unit = run.metric.unit();
        let text = format!(
            "{} run {}: {value} {unit}, {} segments sent again",
            variant.name, run.number, run.retransmitted_segs
        );
        match &self.bar {
            Some(bar) => bar.println(text),
            None => message(&text),
        }
    }
}

impl Watcher for Progress {
    fn on_plan(&self, total: usize) {
        self.total.store(total, Ordering::Relaxed);
        if let Some(bar) = &self.bar {
            bar.set_length(total as u64);
        }
    }

    fn on_run(&self, variant: &Variant, run: &Run) {
        if self.verbose {
            self.detail(variant, run);
        }
        self.advance();
    }

    fn on_stored(&self, _variant: &Variant, _run: &Run) {
        self.reused.fetch_add(1, Ordering::Relaxed);
        self.advance();
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

/// The clock on the wall, for people who wait.
#[allow(clippy::disallowed_methods, reason = "progress is real time; no result depends on it")]
pub fn real_time() -> Instant {
    Instant::now()
}
