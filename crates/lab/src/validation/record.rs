//! Recording: runs of this machine's kernel over emulated links, kept as a series.
//!
//! Several emulations run at once, each in network namespaces of its own. The file is written after
//! every run, under a temporary name, so that an interrupted recording loses nothing but the runs
//! under way, and the next one resumes.

use super::judge::counterparts;
use super::plan::{self, Task};
use super::series::{Recorded, RecordedRun, RecordedVariant, Series};
use super::set::{Entry, ValidationSet};
use crate::emulation::{Bench, Conduct};
use crate::execution::run_study;
use crate::run::Run;
use crate::scenario::{Runs, Scenario, Variant};
use crate::stack::{Emulated, StackKind};
use crate::study::Watcher;
use linux::LiveError;
use linux::sut::Usrsctp;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Failed runs in succession after which a recording ends.
const MOST_FAILURES: u32 = 5;

/// A recording of the runs that a series lacks.
pub struct Recording<'a> {
    entries: Vec<(Entry, Vec<String>)>,
    variants: Vec<Vec<Emulated>>,
    file: PathBuf,
    usrsctp: Option<Usrsctp>,
    watcher: &'a dyn RecordingWatcher,
    state: Mutex<State>,
    changed: Condvar,
}

/// Follows a recording.
pub trait RecordingWatcher: Sync {
    /// Called when something happens.
    fn on_event(&self, event: &RecordingEvent<'_>);
}

/// Progress of a recording.
#[derive(Clone, PartialEq, Debug)]
pub enum RecordingEvent<'a> {
    /// A scenario was left out of the series because it changed since its recording.
    Dropped {
        /// Name of the scenario, and the change.
        reason: String,
    },
    /// The missing runs are known.
    Planned {
        /// Number of missing runs.
        missing: usize,
        /// Seconds that they take, one after the other.
        seconds: f64,
    },
    /// The accuracy of the emulator was measured.
    Measured {
        /// Scenario and accuracy.
        accuracy: &'a str,
    },
    /// A run is on disk.
    Recorded {
        /// Scenario and variant.
        name: String,
        /// The run.
        run: &'a RecordedRun,
        /// Number of missing runs.
        missing: usize,
        /// Seconds that they take, one after the other.
        seconds: f64,
    },
}

struct State {
    series: Series,
    /// Expected seconds of a run, by scenario and variant.
    seconds: BTreeMap<(usize, usize), f64>,
    busy: BTreeSet<Task>,
    /// Runs that are invalid after all attempts; the next recording repeats them.
    given_up: BTreeSet<Task>,
    /// Scenarios whose accuracy is measured.
    measured: BTreeSet<usize>,
    failures: u32,
    failure: Option<LiveError>,
}

impl<'a> Recording<'a> {
    /// A recording of the scenarios of `set` into its file, which has the runs of `series` so far.
    /// Scenarios that changed since they were recorded are recorded again.
    pub fn new(
        set: &ValidationSet,
        mut series: Series,
        watcher: &'a dyn RecordingWatcher,
    ) -> Result<Recording<'a>, LiveError> {
        let variants: Vec<Vec<Emulated>> = set.entries.iter().map(Entry::variants).collect();
        let names = variants.iter().map(|all| all.iter().map(|v| v.name.clone()).collect());
        let entries: Vec<_> = set.entries.iter().cloned().zip(names).collect();
        for (entry, _) in &entries {
            if let Some(change) = series.find(&entry.name).and_then(|there| there.stale(entry)) {
                series.scenarios.retain(|recorded| recorded.name != entry.name);
                let reason = format!("{}: {change}", entry.name);
                watcher.on_event(&RecordingEvent::Dropped { reason });
            }
        }
        let compiled = set.entries.iter().any(|entry| entry.stacks.contains(&StackKind::Usrsctp));
        let measured = (0..entries.len()).filter(|place| {
            let of_this = format!("{}: ", entries[*place].0.name);
            series.machine.emulator.iter().any(|line| line.starts_with(&of_this))
        });
        let state = State {
            seconds: BTreeMap::new(),
            busy: BTreeSet::new(),
            given_up: BTreeSet::new(),
            measured: measured.collect(),
            failures: 0,
            failure: None,
            series,
        };
        Ok(Recording {
            entries,
            variants,
            file: set.series.clone(),
            usrsctp: compiled.then(Usrsctp::compile).transpose()?,
            watcher,
            state: Mutex::new(state),
            changed: Condvar::new(),
        })
    }

    /// Records what is missing, `jobs` runs at once. Returns the series.
    pub fn carry_out(self, jobs: usize) -> Result<Series, LiveError> {
        self.expect();
        let (missing, seconds) = self.left(&self.lock());
        self.watcher.on_event(&RecordingEvent::Planned { missing, seconds });
        thread::scope(|scope| {
            for _ in 0..jobs.clamp(1, missing.max(1)) {
                scope.spawn(|| self.work());
            }
        });
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.failure.map_or(Ok(state.series), Err)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the expected times of runs from a simulation. A failure only costs the estimate.
    fn expect(&self) {
        for (place, (entry, _)) in self.entries.iter().enumerate() {
            let variants = &self.variants[place];
            let once = Scenario { runs: Runs::Fixed(1), ..counterparts(&entry.scenario, variants) };
            let Ok(study) = run_study(&once, None, &Unwatched) else { continue };
            for (number, emulated) in variants.iter().enumerate() {
                let name = &emulated.variant.name;
                let runs = study.variants.iter().find(|runs| runs.variant.name == *name);
                if let Some(run) = runs.and_then(|runs| runs.runs.first()) {
                    self.lock().seconds.insert((place, number), run.ended);
                }
            }
        }
    }

    /// Number of missing runs, and their time.
    fn left(&self, state: &State) -> (usize, f64) {
        let missing = plan::missing(&self.entries, &state.series);
        let missing = missing.iter().filter(|task| !state.given_up.contains(task));
        let seconds = |task: &Task| state.seconds.get(&(task.entry, task.variant));
        (missing.clone().count(), missing.filter_map(seconds).sum())
    }

    fn work(&self) {
        let mut bench = None;
        while let Some(task) = self.next() {
            let done = self.run(task, &mut bench);
            if done.is_err() {
                // What is left of the run must not disturb the next one.
                bench = None;
            }
            self.keep(task, done);
            self.changed.notify_all();
        }
    }

    /// The next run; `None` at the end.
    fn next(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if state.failure.is_some() {
                return None;
            }
            let missing = plan::missing(&self.entries, &state.series);
            let open = |task: &Task| !state.busy.contains(task) && !state.given_up.contains(task);
            if let Some(task) = missing.into_iter().find(open) {
                state.busy.insert(task);
                return Some(task);
            }
            if state.busy.is_empty() {
                return None;
            }
            // A run under way may show that more are needed.
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn run(
        &self,
        task: Task,
        bench: &mut Option<(usize, Bench)>,
    ) -> Result<(Run, Conduct), LiveError> {
        let entry = &self.entries[task.entry].0;
        let bench = match bench {
            Some((of, bench)) if *of == task.entry => bench,
            old => {
                // Nothing that the hosts learned of one scenario is there in the next one.
                *old = None;
                &mut old.insert((task.entry, Bench::new(&entry.scenario)?)).1
            }
        };
        if self.lock().measured.insert(task.entry) {
            let accuracy = format!("{}: {}", entry.name, bench.accuracy(&entry.scenario)?);
            self.lock().series.machine.emulator.push(accuracy.clone());
            self.watcher.on_event(&RecordingEvent::Measured { accuracy: &accuracy });
        }
        let emulated = &self.variants[task.entry][task.variant];
        bench.run((&entry.scenario, emulated), task.number, self.usrsctp.as_ref())
    }

    /// Writes a run to disk.
    fn keep(&self, task: Task, done: Result<(Run, Conduct), LiveError>) {
        let mut guard = self.lock();
        let state = &mut *guard;
        state.busy.remove(&task);
        let (run, head) = match done {
            Ok((run, conduct)) => {
                state.failures = 0;
                let head = Some((run.metric, conduct.congestion.join(",")));
                (kept(&run, conduct), head)
            }
            Err(failure) => {
                state.failures += 1;
                let invalid = Some(failure.to_string());
                if state.failures >= MOST_FAILURES || !matches!(failure, LiveError::Failed(_)) {
                    state.failure.get_or_insert(failure);
                }
                (RecordedRun { number: task.number, invalid, ..RecordedRun::default() }, None)
            }
        };
        if run.invalid.is_some() {
            state.given_up.insert(task);
        }
        let (entry, names) = &self.entries[task.entry];
        let mut recorded =
            state.series.find(&entry.name).cloned().unwrap_or_else(|| Recorded::new(entry));
        recorded.insert(names, task.variant, run.clone());
        if let Some((metric, cc)) = head
            && let Some(variant) =
                recorded.variants.iter_mut().find(|v| v.name == names[task.variant])
        {
            metric.name().clone_into(&mut variant.metric);
            metric.unit().clone_into(&mut variant.unit);
            variant.cc = cc;
        }
        state.series.replace(recorded);
        if let Err(error) = state.series.write(&self.file) {
            let file = self.file.display();
            let failure = LiveError::Failed(format!("cannot write `{file}`: {error}"));
            state.failure.get_or_insert(failure);
            return;
        }
        let name = format!("{} {}", entry.name, names[task.variant]);
        let (missing, seconds) = self.left(state);
        drop(guard);
        self.watcher.on_event(&RecordingEvent::Recorded { name, run: &run, missing, seconds });
    }
}

impl Recorded {
    /// Adds a run to the variant at this place of `names`, in the order of numbers; it replaces an
    /// earlier one with its number.
    fn insert(&mut self, names: &[String], variant: usize, run: RecordedRun) {
        let name = &names[variant];
        if self.find(name).is_none() {
            self.variants.push(RecordedVariant {
                name: name.clone(),
                cc: String::new(),
                metric: String::new(),
                unit: String::new(),
                runs: Vec::new(),
            });
            let place = |of: &RecordedVariant| names.iter().position(|name| *name == of.name);
            self.variants.sort_by_key(place);
        }
        if let Some(variant) = self.variants.iter_mut().find(|variant| variant.name == *name) {
            variant.runs.retain(|other| other.number != run.number);
            variant.runs.push(run);
            variant.runs.sort_by_key(|run| run.number);
        }
    }
}

fn kept(run: &Run, conduct: Conduct) -> RecordedRun {
    let times = conduct.counts.times.iter();
    let limited_us =
        times.map(|of| [of.busy_us, of.rwnd_limited_us, of.sndbuf_limited_us]).collect();
    RecordedRun {
        disturbed: conduct.disturbed,
        limited_us,
        sender: conduct.counts.sender,
        receiver: conduct.counts.receiver,
        ..RecordedRun::new(run)
    }
}

/// Watches a simulation that nobody follows.
struct Unwatched;

impl Watcher for Unwatched {
    fn on_run(&self, _: &Variant, _: &Run) {}
    fn is_stopped(&self) -> bool {
        false
    }
}
