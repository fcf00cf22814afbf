//! One repetition of variants with everything recorded: numbers, packets, time series.
//!
//! A run depends on the scenario, the variant and its number only, so it equals the run with that
//! number in a study.

use crate::delays::{self, Arrivals, Delay, Delays};
use crate::packet_metrics::PacketMetrics;
use crate::run::Run;
use crate::scenario::{Scenario, Variant};
use crate::series::{VariantSeries, record_series_and_more};
use crate::setup::setup;
use crate::study::{Stopped, Study, StudyError, VariantRuns};
use harness::Captures;
use rayon::prelude::*;
use simulator::PathCounters;

/// A repetition of a variant.
#[derive(Clone, Debug)]
pub struct Repetition {
    /// The variant.
    pub variant: Variant,
    /// The run, as in a study.
    pub run: Run,
    /// Counters of the links of each path, followed by those of each shared link.
    pub links: Vec<PathCounters>,
    /// Its time series.
    pub series: VariantSeries,
    /// Delays of its messages or objects.
    pub delays: Vec<Delay>,
    /// The captures at both ends, if requested.
    pub captures: Option<Captures>,
}

/// Runs repetition `number` of these variants.
pub fn record_repetition(
    scenario: &Scenario,
    variants: &[Variant],
    number: u64,
    capture: bool,
) -> Result<Vec<Repetition>, StudyError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(scenario.jobs).build();
    let pool = pool
        .map_err(|error| StudyError::Threads { jobs: scenario.jobs, reason: error.to_string() })?;
    let record = |variant: &Variant| one(scenario, variant, number, capture);
    pool.install(|| variants.par_iter().with_max_len(1).map(record).collect())
}

fn one(
    scenario: &Scenario,
    variant: &Variant,
    number: u64,
    capture: bool,
) -> Result<Repetition, StudyError> {
    let mut setup = setup(scenario, variant, number);
    setup.recording.capture = capture;
    let arrivals = Arrivals::of(&setup);
    let packets = PacketMetrics::of(scenario, &setup);
    let recorded = record_series_and_more(&setup, arrivals.clone(), packets.clone());
    let (mut record, series) = recorded.map_err(|error| StudyError::Run {
        variant: variant.name.clone(),
        run: number,
        seed: scenario.seed,
        reason: error.to_string(),
    })?;
    let delays = delays::of_run(scenario, variant, (number, &record), arrivals.as_ref());
    let mut run = Run::new(scenario, number, &record);
    if let Some(packets) = packets {
        packets.add_to(&mut run, scenario, &record);
    }
    Ok(Repetition {
        variant: variant.clone(),
        delays,
        run,
        captures: record.captures.take(),
        links: record.links.into_iter().chain(record.shared).collect(),
        series: VariantSeries { variant: variant.name.clone(), run: number, series },
    })
}

/// The delays of the repetitions.
pub fn delays_of(repetitions: &[Repetition]) -> Delays {
    let mut delays = Delays::default();
    for repetition in repetitions {
        delays.add(&repetition.variant.name, repetition.delays.clone());
    }
    delays
}

/// The repetitions as a study of one repetition each.
pub fn as_study(repetitions: &[Repetition]) -> Study {
    let alone = |repetition: &Repetition| VariantRuns {
        variant: repetition.variant.clone(),
        runs: vec![repetition.run.clone()],
    };
    Study {
        variants: repetitions.iter().map(alone).collect(),
        interrupted: false,
        stopped: Stopped::Runs,
    }
}
