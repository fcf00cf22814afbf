//! Progress on standard error: the study that is running, and the time left. It stops at an
//! interrupt.

use crate::output::message;
use crate::progress::{real_time, stopping_line};
use indicatif::ProgressBar;
use lab::Watcher;
use lab::run::Run;
use lab::scenario::Variant;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Follows the studies.
pub(super) struct Follower {
    bar: ProgressBar,
    quiet: bool,
    stopped: Arc<AtomicBool>,
    state: Mutex<State>,
}

struct State {
    /// Planned runs of every study.
    planned: Vec<usize>,
    /// Number of the current study, from 1, and what it is.
    study: usize,
    label: String,
    /// Finished runs of it, and of all.
    done: usize,
    all: usize,
    began: Instant,
    shown: Instant,
}

impl Follower {
    pub(super) fn new(planned: Vec<usize>, quiet: bool) -> Follower {
        let (bar, stopped) = stopping_line(quiet);
        let (began, shown) = (real_time(), real_time());
        let label = String::new();
        let state = State { planned, study: 0, label, done: 0, all: 0, began, shown };
        Follower { bar, quiet, stopped, state: Mutex::new(state) }
    }

    /// Follows the next study.
    pub(super) fn next(&self, label: &str) {
        let mut state = self.state();
        state.study += 1;
        label.clone_into(&mut state.label);
        state.done = 0;
    }

    /// Removes the line.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// `study 3 of 84, 002 burst/100ms: 12 of 90 runs, 3 min left`.
    fn line(&self) -> String {
        let planned = self.planned.get(self.study.saturating_sub(1)).copied().unwrap_or(0);
        let total: usize = self.planned.iter().sum();
        let left = total.saturating_sub(self.all) as f64 / self.all.max(1) as f64;
        format!(
            "study {} of {}, {}: {} of {planned} runs, {} left",
            self.study,
            self.planned.len(),
            self.label,
            self.done,
            duration(self.began.elapsed().as_secs_f64() * left)
        )
    }
}

/// `40 s`, `3 min`, `2 h 5 min`.
fn duration(seconds: f64) -> String {
    let minutes = (seconds / 60.0).ceil() as u64;
    match minutes {
        0 | 1 => format!("{} s", seconds.ceil()),
        2..120 => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

impl Watcher for Follower {
    fn on_run(&self, _: &Variant, _: &Run) {
        let mut state = self.state();
        state.done += 1;
        state.all += 1;
        if !self.bar.is_hidden() {
            self.bar.set_message(state.line());
        } else if !self.quiet && state.shown.elapsed() >= LINE_EVERY {
            message(&state.line());
            state.shown = real_time();
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_has_the_study_and_the_time_left() {
        let now = real_time();
        let state = State {
            planned: vec![10, 30],
            study: 2,
            label: "002 burst".to_owned(),
            done: 5,
            all: 15,
            began: now,
            shown: now,
        };
        let line = state.line();
        assert!(line.starts_with("study 2 of 2, 002 burst: 5 of 30 runs, "), "{line}");
        assert_eq!(
            [0.4, 61.0, 600.0, 7500.0].map(duration),
            ["1 s", "2 min", "10 min", "2 h 5 min"]
        );
    }
}
