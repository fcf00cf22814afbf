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

/// A study that is planned.
#[derive(Clone, Copy)]
pub(super) struct Planned {
    pub runs: usize,
    /// CPU seconds of a run; `None` without an estimate.
    pub seconds: Option<f64>,
}

struct State {
    /// What is planned, by study.
    planned: Vec<Planned>,
    /// Number of the current study, from 1, and what it is.
    study: usize,
    label: String,
    /// Finished runs of it.
    done: usize,
    began: Instant,
    shown: Instant,
}

impl Follower {
    pub(super) fn new(planned: Vec<Planned>, quiet: bool) -> Follower {
        let (bar, stopped) = stopping_line(quiet);
        let (began, shown) = (real_time(), real_time());
        let label = String::new();
        let state = State { planned, study: 0, label, done: 0, began, shown };
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
        let now = self.study.saturating_sub(1);
        let planned = self.planned.get(now).map_or(0, |study| study.runs);
        let left = self.left();
        format!(
            "study {} of {}, {}: {} of {planned} runs, {} left",
            self.study,
            self.planned.len(),
            self.label,
            self.done,
            duration(self.began.elapsed().as_secs_f64() * left)
        )
    }

    /// What is left over what is done, by the estimates: runs of one study take a thousand times as
    /// long as those of another. A study without one counts as the mean of the others.
    fn left(&self) -> f64 {
        let known: Vec<f64> = self.planned.iter().filter_map(|study| study.seconds).collect();
        let mean = match known.len() {
            0 => 1.0,
            count => known.iter().sum::<f64>() / count as f64,
        };
        let work = |study: &Planned, runs: usize| study.seconds.unwrap_or(mean) * runs as f64;
        let total: f64 = self.planned.iter().map(|study| work(study, study.runs)).sum();
        let (before, from) = self.planned.split_at(self.study.saturating_sub(1));
        let before: f64 = before.iter().map(|study| work(study, study.runs)).sum();
        let done = before + from.first().map_or(0.0, |study| work(study, self.done));
        if done > 0.0 { (total - done).max(0.0) / done } else { 0.0 }
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

    const fn planned(runs: usize, seconds: Option<f64>) -> Planned {
        Planned { runs, seconds }
    }

    #[test]
    fn line_has_the_study_and_the_time_left() {
        let now = real_time();
        let state = State {
            planned: vec![planned(10, Some(3.0)), planned(30, Some(1.0)), planned(5, None)],
            study: 2,
            label: "002 burst".to_owned(),
            done: 5,
            began: now,
            shown: now,
        };
        // 35 s are done, 25 and five times the mean of 2 s are left.
        assert!((state.left() - 1.0).abs() < 1e-9, "{}", state.left());
        let line = state.line();
        assert!(line.starts_with("study 2 of 3, 002 burst: 5 of 30 runs, "), "{line}");
        assert_eq!(
            [0.4, 61.0, 600.0, 7500.0].map(duration),
            ["1 s", "2 min", "10 min", "2 h 5 min"]
        );
    }
}
