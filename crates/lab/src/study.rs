//! The runs of a study, and the interface of its observers.
//!
//! `execution` runs a study, `report` computes statistics.

use crate::run::Run;
use crate::scenario::{Scenario, Variant};
use base::Ways;
use harness::Captures;
use sha2::{Digest, Sha256};
use traffic::Metric;

/// Every repetition of every variant.
#[derive(Clone, Debug)]
pub struct Study {
    /// Variants in the order of `variants_of`.
    pub variants: Vec<VariantRuns>,
    /// Stopped early, with only the repetitions that all variants finished.
    pub interrupted: bool,
    /// Why the repetitions ended.
    pub stopped: Stopped,
}

/// The repetitions of one variant.
#[derive(Clone, Debug)]
pub struct VariantRuns {
    /// The variant.
    pub variant: Variant,
    /// Runs in the order of their numbers.
    pub runs: Vec<Run>,
}

impl VariantRuns {
    /// Whether its repetitions differ randomly. Runs in real time always do.
    pub(crate) fn is_random(&self, scenario: &Scenario) -> bool {
        if self.runs.iter().any(Run::is_in_real_time) {
            return true;
        }
        match self.variant.single_path() {
            Some(path) => scenario.is_random_on(path),
            None => scenario.is_random(),
        }
    }
}

/// Why the repetitions ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// The answer is known.
    Answer,
    /// The number of repetitions was reached.
    Runs,
    /// The time was over.
    Time,
}

impl Stopped {
    /// The reason of that name.
    pub fn by_name(name: &str) -> Option<Stopped> {
        [Stopped::Answer, Stopped::Runs, Stopped::Time].into_iter().find(|why| why.name() == name)
    }

    /// Name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Stopped::Answer => "answer",
            Stopped::Runs => "runs",
            Stopped::Time => "time",
        }
    }
}

/// What is not known yet.
#[derive(Clone, PartialEq, Debug)]
pub struct Open {
    /// The deciding variant, or the only one.
    pub variant: String,
    /// What it is compared with.
    pub baseline: Option<String>,
    /// Ends of the interval as shares of the baseline's mean; infinite with too few repetitions.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Observes a study.
pub trait Watcher: Sync {
    /// Called when a repetition of a variant is finished and stored.
    fn on_run(&self, variant: &Variant, run: &Run);
    /// Called when a stored repetition of a variant is reused.
    fn on_stored(&self, _variant: &Variant, _run: &Run) {}
    /// Called with the number of planned repetitions of all variants together, including finished
    /// ones.
    fn on_plan(&self, _total: usize) {}
    /// With `--runs auto`, called with the repetitions of each variant so far and what is not known
    /// yet.
    fn on_open(&self, _runs: u32, _open: &Open) {}
    /// Whether the time of the study is over: no more repetitions are started, and the complete
    /// ones are the result.
    fn is_out_of_time(&self) -> bool {
        false
    }
    /// Whether to start no more repetitions.
    fn is_stopped(&self) -> bool;
    /// Called with the captures of the first repetition of a variant, if requested.
    fn on_captures(&self, _variant: &Variant, _captures: Captures) {}
    /// Whether packets take short ways through the simulator; results are the same.
    fn ways(&self) -> Ways {
        Ways::Short
    }
    /// Whether captures are requested.
    fn wants_captures(&self) -> bool {
        false
    }
}

/// Errors of running a study.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StudyError {
    /// Threads could not be started.
    #[error("cannot start {jobs} threads: {reason}")]
    Threads {
        /// Requested number.
        jobs: usize,
        /// Error of the system.
        reason: String,
    },
    /// A repetition failed.
    #[error("{variant}, repetition {run}, seed {seed}: {reason}")]
    Run {
        /// Name of the variant.
        variant: String,
        /// Number of the repetition.
        run: u64,
        /// Seed of the study.
        seed: u64,
        /// Cause.
        reason: String,
    },
    /// A run could not be saved, so the study was stopped.
    #[error(
        "cannot write to `{folder}`: {reason}\n  {kept} finished runs are saved there; free some \
         space and run the command again to resume"
    )]
    Keep {
        /// The result folder.
        folder: String,
        /// Error of the system.
        reason: String,
        /// Number of runs in it.
        kept: usize,
    },
}

impl Study {
    pub(crate) fn empty(variants: &[Variant]) -> Study {
        let without_runs =
            |variant: &Variant| VariantRuns { variant: variant.clone(), runs: Vec::new() };
        let variants = variants.iter().map(without_runs).collect();
        Study { variants, interrupted: false, stopped: Stopped::Runs }
    }

    /// Reserves exactly the memory of this number of runs of every variant.
    pub(crate) fn expect(&mut self, runs: usize) {
        for variant in &mut self.variants {
            variant.runs.reserve_exact(runs.saturating_sub(variant.runs.len()));
        }
    }

    /// Sorts results, repetition by repetition, to their variants, up to the first repetition that
    /// is not complete: a study that was stopped equals one with that number of repetitions.
    /// Returns whether all are complete.
    pub(crate) fn add(&mut self, results: Vec<Option<Run>>) -> bool {
        let width = self.variants.len().max(1);
        let mut results = results.into_iter();
        loop {
            let repetition: Vec<Option<Run>> = results.by_ref().take(width).collect();
            if repetition.is_empty() {
                return true;
            }
            if repetition.iter().any(Option::is_none) {
                return false;
            }
            for (variant, run) in self.variants.iter_mut().zip(repetition.into_iter().flatten()) {
                variant.runs.push(run);
            }
        }
    }

    /// Number of repetitions that all variants have.
    pub fn repetitions(&self) -> u32 {
        let runs = self.variants.iter().map(|variant| variant.runs.len()).max().unwrap_or(0);
        u32::try_from(runs).unwrap_or(u32::MAX)
    }

    /// Metric; `None` for an empty study.
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
