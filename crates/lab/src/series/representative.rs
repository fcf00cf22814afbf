//! The representative repetition of each variant, run again with a recorder.
//!
//! A run depends on the scenario, the variant and its number only, so the second run equals the
//! first.

use super::{Series, record_series};
use crate::scenario::Scenario;
use crate::setup::setup;
use crate::statistics::median;
use crate::study::{Study, StudyError, VariantRuns};

/// Largest number of points kept per series.
const MOST_POINTS: usize = 6_000;

/// One repetition of a variant over time.
#[derive(Clone, PartialEq, Debug)]
pub struct VariantSeries {
    /// The variant's name.
    pub variant: String,
    /// Number of the repetition.
    pub run: u64,
    /// Series, thinned if they are long.
    pub series: Vec<Series>,
}

/// The series of the repetition nearest to the median of each variant; variants without a
/// finished repetition have none.
pub fn representative_series(
    scenario: &Scenario,
    study: &Study,
) -> Result<Vec<VariantSeries>, StudyError> {
    let chosen = study.variants.iter().filter_map(|runs| Some((runs, nearest_to_median(runs)?)));
    chosen.map(|(runs, number)| of_run(scenario, runs, number)).collect()
}

fn nearest_to_median(runs: &VariantRuns) -> Option<u64> {
    let finished = || runs.runs.iter().filter_map(|run| Some((run.number, run.value?)));
    let middle = median(&finished().map(|(_, value)| value).collect::<Vec<_>>())?;
    let distance = |value: f64| (value - middle).abs();
    // The first of several.
    finished().min_by(|a, b| distance(a.1).total_cmp(&distance(b.1))).map(|(number, _)| number)
}

fn of_run(
    scenario: &Scenario,
    runs: &VariantRuns,
    number: u64,
) -> Result<VariantSeries, StudyError> {
    let setup = setup(scenario, &runs.variant, number);
    let (_, series) = record_series(&setup).map_err(|error| StudyError::Run {
        variant: runs.variant.name.clone(),
        run: number,
        seed: scenario.seed,
        reason: error.to_string(),
    })?;
    let series = series.iter().map(|series| series.thinned(MOST_POINTS)).collect();
    Ok(VariantSeries { variant: runs.variant.name.clone(), run: number, series })
}
