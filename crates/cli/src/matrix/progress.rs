//! Progress of a matrix on standard error: the cell that is running, and its runs. It stops at an
//! interrupt.

use super::MatrixArgs;
use crate::output::message;
use crate::progress::{real_time, stopping_line};
use indicatif::ProgressBar;
use lab::Watcher;
use lab::run::Run;
use lab::scenario::{PlannedCell, Scenario, Variant};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Follows the studies of a matrix.
pub(super) struct Follower {
    bar: ProgressBar,
    quiet: bool,
    verbose: bool,
    stopped: Arc<AtomicBool>,
    state: Mutex<State>,
}

struct State {
    /// Number of cells, and of the current one from 1.
    cells: usize,
    cell: usize,
    /// What it is.
    label: String,
    /// Planned runs of the cell, and its finished ones.
    planned: usize,
    done: usize,
    /// Finished and reused runs of all cells.
    all: usize,
    reused: usize,
    /// When no further run of the cell is started.
    ends_at: Option<Instant>,
    shown: Instant,
}

impl Follower {
    pub(super) fn new(cells: usize, args: &MatrixArgs) -> Follower {
        let (quiet, verbose) = (args.quiet, args.verbose);
        let (bar, stopped) = stopping_line(quiet);
        let state = State {
            cells,
            cell: 0,
            label: String::new(),
            planned: 0,
            done: 0,
            all: 0,
            reused: 0,
            ends_at: None,
            shown: real_time(),
        };
        Follower { bar, quiet, verbose, stopped, state: Mutex::new(state) }
    }

    /// Follows the study of the next cell.
    pub(super) fn next(&self, cell: &PlannedCell, scenario: &Scenario) {
        let place = &cell.place;
        let mut state = self.state();
        state.cell += 1;
        state.label = format!("{} over {}, {}", place.traffic, place.pair, place.protocol.name());
        (state.planned, state.done) = (0, 0);
        let time = scenario.time.map(|time| Duration::from_nanos(time.as_nanos()));
        state.ends_at = time.map(|time| real_time() + time);
    }

    /// Prints a message above the line.
    pub(super) fn tell(&self, text: &str) {
        if self.bar.is_hidden() {
            message(text);
        } else {
            self.bar.println(text);
        }
    }

    /// Removes the line.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Number of finished runs of all cells.
    pub(super) fn finished(&self) -> usize {
        self.state().all
    }

    /// Number of those that were stored.
    pub(super) fn reused(&self) -> usize {
        self.state().reused
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn advance(&self, reused: usize) {
        let mut state = self.state();
        state.done += 1;
        state.all += 1;
        state.reused += reused;
        let line = || {
            format!(
                "cell {} of {}, {}: {} of {} runs",
                state.cell, state.cells, state.label, state.done, state.planned
            )
        };
        if !self.bar.is_hidden() {
            self.bar.set_message(line());
        } else if !self.quiet && state.shown.elapsed() >= LINE_EVERY {
            message(&line());
            state.shown = real_time();
        }
    }
}

impl Watcher for Follower {
    fn on_plan(&self, total: usize) {
        self.state().planned = total;
    }

    fn on_run(&self, variant: &Variant, run: &Run) {
        if self.verbose {
            let value = run.value.map_or("incomplete".to_owned(), |value| value.to_string());
            let label = self.state().label.clone();
            let (name, number, unit) = (&variant.name, run.number, run.metric.unit());
            self.tell(&format!("{label}: {name} run {number}: {value} {unit}"));
        }
        self.advance(0);
    }

    fn on_stored(&self, _: &Variant, _: &Run) {
        self.advance(1);
    }

    fn is_out_of_time(&self) -> bool {
        self.state().ends_at.is_some_and(|ends_at| real_time() >= ends_at)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
