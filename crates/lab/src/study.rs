//! Carrying out a study: variants times repetitions, on all cores, on common random numbers.
//!
//! Results depend on the scenario only, never on the number of threads: a repetition's chance is
//! keyed by (seed, run), and every result has its place. Leaves statistics to `report`.

use crate::path_spec::PathSpec;
use crate::precision;
use crate::results::Records;
use crate::run::Run;
use crate::scenario::{Scenario, draw_start};
use crate::variants::{Carrier, Variant, variants_of};
use harness::Captures;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use simulator::{
    FlowSetup, Multipath, NetworkSetup, PathSetup, Recording, RunSetup, SharedLink, simulate,
};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use traffic::Metric;
use transport::TcpConfig;

/// Every repetition of every variant.
#[derive(Clone, Debug)]
pub struct Study {
    /// In the order of `variants_of`.
    pub variants: Vec<VariantRuns>,
    /// Stopped early: only repetitions that all variants finished are there.
    pub interrupted: bool,
}

/// The repetitions of one variant.
#[derive(Clone, Debug)]
pub struct VariantRuns {
    /// Which one.
    pub variant: Variant,
    /// In the order of their numbers.
    pub runs: Vec<Run>,
}

/// Follows a study from outside.
pub trait Watcher: Sync {
    /// One more repetition of a variant is done and kept.
    fn on_run(&self, variant: &Variant, run: &Run);
    /// One more repetition of a variant was there already.
    fn on_stored(&self, _variant: &Variant, _run: &Run) {}
    /// So many repetitions of all variants together are planned, those done included.
    fn on_plan(&self, _total: usize) {}
    /// With `--runs auto`, after so many repetitions of each variant: the widest half-width of a
    /// paired difference as a share of the baseline's mean, and the one that is narrow enough.
    fn on_precision(&self, _runs: u32, _half_width: f64, _target: f64) {}
    /// Whether to start no more repetitions.
    fn is_stopped(&self) -> bool;
    /// Captures of the first repetition of a variant, if captures were asked for.
    fn on_captures(&self, _variant: &Variant, _captures: Captures) {}
    /// Whether captures are wanted.
    fn wants_captures(&self) -> bool {
        false
    }
}

/// Why a study could not be carried out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StudyError {
    /// No threads.
    #[error("cannot start {jobs} threads: {reason}")]
    Threads {
        /// As asked for.
        jobs: usize,
        /// The system's words.
        reason: String,
    },
    /// A repetition could not be carried out.
    #[error("{variant}, repetition {run}, seed {seed}: {reason}")]
    Run {
        /// Name of the variant.
        variant: String,
        /// Number of the repetition.
        run: u64,
        /// Of the study.
        seed: u64,
        /// What went wrong.
        reason: String,
    },
    /// A run could not be kept, so the study went no further.
    #[error(
        "cannot write to `{folder}`: {reason}\n  {kept} finished runs are kept there; make room, \
         and the same command goes on from them"
    )]
    Keep {
        /// The result folder.
        folder: String,
        /// The system's words.
        reason: String,
        /// Runs in it.
        kept: usize,
    },
}

/// Carry out all repetitions of all variants that `records` does not have, and keep them there.
pub fn run_study(
    scenario: &Scenario,
    records: Option<&Records>,
    watcher: &dyn Watcher,
) -> Result<Study, StudyError> {
    let variants = variants_of(scenario);
    let threads = |e: rayon::ThreadPoolBuildError| StudyError::Threads {
        jobs: scenario.jobs,
        reason: e.to_string(),
    };
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(scenario.jobs).build().map_err(threads)?;
    let task = Task { scenario, records, watcher };
    let mut study = Study::empty(&variants);
    let (mut done, mut wanted) = (0, precision::first(scenario));
    loop {
        watcher.on_plan(variants.len() * wanted as usize);
        // Repetition by repetition, so that what an interrupted study has done can be compared.
        let tasks: Vec<(u64, &Variant)> = (u64::from(done)..u64::from(wanted))
            .flat_map(|number| variants.iter().map(move |variant| (number, variant)))
            .collect();
        let results: Vec<Option<Run>> = pool.install(|| {
            tasks
                .par_iter()
                .with_max_len(1)
                .map(|(number, variant)| task.run(variant, *number))
                .collect::<Result<_, StudyError>>()
        })?;
        study.add(results);
        done = wanted;
        if let Some(width) = precision::reached(scenario, &study) {
            watcher.on_precision(done, width, precision::TARGET);
        }
        match precision::next(scenario, &study, done) {
            Some(more) if !study.interrupted => wanted = more,
            _ => return Ok(study),
        }
    }
}

/// What every repetition is given.
#[derive(Clone, Copy)]
struct Task<'a> {
    scenario: &'a Scenario,
    records: Option<&'a Records>,
    watcher: &'a dyn Watcher,
}

impl Task<'_> {
    /// The repetition, from before or carried out now; `None` after a stop.
    fn run(&self, variant: &Variant, number: u64) -> Result<Option<Run>, StudyError> {
        // A capture is not kept, so its repetition is carried out again.
        let capture = number == 0 && self.watcher.wants_captures();
        let stored = self.records.and_then(|records| records.find(variant, number));
        if let Some(run) = stored.filter(|_| !capture) {
            self.watcher.on_stored(variant, &run);
            return Ok(Some(run));
        }
        if self.watcher.is_stopped() {
            return Ok(None);
        }
        let run = self.carry_out(variant, number, capture)?;
        if let Some(records) = self.records {
            records.keep(self.scenario, variant, &run).map_err(|error| StudyError::Keep {
                folder: records.folder().display().to_string(),
                reason: error.to_string(),
                kept: records.len(),
            })?;
        }
        self.watcher.on_run(variant, &run);
        Ok(Some(run))
    }

    fn carry_out(&self, variant: &Variant, number: u64, capture: bool) -> Result<Run, StudyError> {
        let mut setup = setup(self.scenario, variant, number);
        setup.recording.capture = capture;
        let fault = |reason: String| StudyError::Run {
            variant: variant.name.clone(),
            run: number,
            seed: self.scenario.seed,
            reason,
        };
        // A defect of the engine must not take the other repetitions' results with it.
        let simulated = catch_unwind(AssertUnwindSafe(|| simulate(&setup)));
        let mut record = simulated
            .map_err(|panic| {
                fault(format!("defect of the engine: {}", panic_text(panic.as_ref())))
            })?
            .map_err(|error| fault(error.to_string()))?;
        if let Some(captures) = record.captures.take() {
            self.watcher.on_captures(variant, captures);
        }
        Ok(Run::new(self.scenario, number, &record))
    }
}

/// What one repetition depends on.
pub(crate) fn setup(scenario: &Scenario, variant: &Variant, number: u64) -> RunSetup {
    let paths: Vec<PathSetup> =
        scenario.paths.iter().map(|path| path.draw(scenario.seed, number)).collect();
    let (seed, tcp) = (scenario.seed, tcp_config(scenario, variant));
    let competing: Vec<FlowSetup> =
        scenario.flows.iter().flat_map(|flow| flow.draw(seed, number, &tcp)).collect();
    let on_all: Vec<usize> = (0..paths.len()).collect();
    let measured = FlowSetup {
        first: variant.single_path().unwrap_or(scenario.first),
        carrier: carrier(scenario, variant),
        tcp,
        reverse: scenario.reverse,
        start: draw_start(&scenario.start, "start", seed, number, 0),
        ..FlowSetup::new(&on_all, scenario.traffic.clone())
    };
    let links = scenario.links.iter().map(|link| shared(scenario, link, number)).collect();
    let numbered = || scenario.paths.iter().enumerate();
    RunSetup {
        seed,
        run: number,
        network: NetworkSetup { paths, links, nic: scenario.nic, ..NetworkSetup::default() },
        flows: std::iter::once(measured).chain(competing).collect(),
        warm_up: scenario.warm_up,
        backup: numbered().flat_map(|(number, path)| path.backup_marks(number)).collect(),
        marks: numbered().flat_map(|(number, path)| path.marks(number)).collect(),
        recording: Recording { accounts: true, ..Recording::default() },
        ..RunSetup::default()
    }
}

/// What carries the compared connection.
fn carrier(scenario: &Scenario, variant: &Variant) -> simulator::Carrier {
    let Carrier::Mptcp { scheduler, path_manager, policy, failover } = variant.carrier.clone()
    else {
        return simulator::Carrier::Tcp;
    };
    simulator::Carrier::Multipath(Multipath {
        scheduler,
        path_manager,
        policy,
        failover: Some(failover),
        kernel: scenario.kernel.clone(),
        simultaneous_syn: scenario.simultaneous_syn,
        ..Multipath::default()
    })
}

fn tcp_config(scenario: &Scenario, variant: &Variant) -> TcpConfig {
    TcpConfig {
        profile: scenario.profile,
        congestion: variant.congestion.clone(),
        buffers: scenario.buffers,
        ..TcpConfig::default()
    }
}

/// A link, and which paths lead through it.
fn shared(scenario: &Scenario, link: &PathSpec, number: u64) -> SharedLink {
    let leads_through =
        |path: &PathSpec| path.via.as_ref().is_some_and(|via| via.link == link.name);
    let paths = scenario.paths.iter().enumerate().filter(|(_, path)| leads_through(path));
    SharedLink {
        link: link.draw(scenario.seed, number),
        paths: paths.map(|(path, _)| path).collect(),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

impl Study {
    fn empty(variants: &[Variant]) -> Study {
        let without_runs =
            |variant: &Variant| VariantRuns { variant: variant.clone(), runs: Vec::new() };
        Study { variants: variants.iter().map(without_runs).collect(), interrupted: false }
    }

    /// Sorts results, repetition by repetition, to their variants; incomplete ones are left out.
    fn add(&mut self, results: Vec<Option<Run>>) {
        let width = self.variants.len().max(1);
        let mut results = results.into_iter();
        loop {
            let repetition: Vec<Option<Run>> = results.by_ref().take(width).collect();
            if repetition.is_empty() {
                return;
            }
            if repetition.iter().any(Option::is_none) {
                self.interrupted = true;
                continue;
            }
            for (variant, run) in self.variants.iter_mut().zip(repetition.into_iter().flatten()) {
                variant.runs.push(run);
            }
        }
    }

    /// How many repetitions all variants have.
    pub fn repetitions(&self) -> u32 {
        let runs = self.variants.iter().map(|variant| variant.runs.len()).max().unwrap_or(0);
        u32::try_from(runs).unwrap_or(u32::MAX)
    }

    /// What is measured; `None` of an empty study.
    pub fn metric(&self) -> Option<Metric> {
        self.variants.iter().find_map(|v| v.runs.first()).map(|run| run.metric)
    }

    /// SHA-256 over every run's packet and delivery events and metric values, in the order of
    /// variants and runs.
    pub fn hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for variant in &self.variants {
            hash.update(variant.variant.name.as_bytes());
            hash.update([0]);
            for run in &variant.runs {
                hash.update(run.number.to_le_bytes());
                hash.update(run.hash);
                hash.update(run.value.unwrap_or(f64::NAN).to_bits().to_le_bytes());
            }
        }
        hash.finalize().into()
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
