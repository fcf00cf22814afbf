//! What a study yields: the repetitions of every variant, and who follows them.
//!
//! Leaves carrying a study out to `execution`, and statistics to `report`.

use crate::run::Run;
use crate::scenario::Variant;
use harness::Captures;
use sha2::{Digest, Sha256};
use traffic::Metric;

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

impl Study {
    pub(crate) fn empty(variants: &[Variant]) -> Study {
        let without_runs =
            |variant: &Variant| VariantRuns { variant: variant.clone(), runs: Vec::new() };
        Study { variants: variants.iter().map(without_runs).collect(), interrupted: false }
    }

    /// Sorts results, repetition by repetition, to their variants; incomplete ones are left out.
    pub(crate) fn add(&mut self, results: Vec<Option<Run>>) {
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
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
