//! Runs a study: variants times repetitions, on all cores, with common random numbers.
//!
//! Results depend on the scenario only, never on the number of threads: random draws of a
//! repetition are keyed by (seed, run), and every result has its place. `report` computes the
//! statistics.

use crate::delays::{self, Arrivals, Delay};
use crate::packet_metrics::{PacketMetrics, Recorders};
use crate::results::Records;
use crate::run::Run;
use crate::scenario::{Runs, Scenario, Variant, variants_of};
use crate::setup::{RECORDING, setup};
use crate::statistics::FEWEST;
use crate::stopping::{first, next, open};
use crate::study::{Stopped, Study, StudyError, Watcher};
use base::Recorder;
use rayon::prelude::*;
use simulator::{Recording, simulate, simulate_recorded};
use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs all repetitions of all variants that `records` does not have, and stores them there.
pub fn run_study(
    scenario: &Scenario,
    records: Option<&Records>,
    watcher: &dyn Watcher,
) -> Result<Study, StudyError> {
    Task { scenario, records, recording: RECORDING, watcher }.study(&variants_of(scenario))
}

/// The same of some variants of the scenario, with nothing stored and only `recording` recorded.
pub(crate) fn run_variants(
    scenario: &Scenario,
    variants: &[Variant],
    recording: Recording,
    watcher: &dyn Watcher,
) -> Result<Study, StudyError> {
    Task { scenario, records: None, recording, watcher }.study(variants)
}

/// Largest number of repetitions whose results are collected before they are sorted to variants:
/// until then they take their memory twice.
const AT_ONCE: u32 = 1_000;

/// Inputs of every repetition.
#[derive(Clone, Copy)]
struct Task<'a> {
    scenario: &'a Scenario,
    records: Option<&'a Records>,
    recording: Recording,
    watcher: &'a dyn Watcher,
}

impl Task<'_> {
    /// All repetitions of these variants.
    fn study(&self, variants: &[Variant]) -> Result<Study, StudyError> {
        let Task { scenario, watcher, .. } = *self;
        let threads = |e: rayon::ThreadPoolBuildError| StudyError::Threads {
            jobs: scenario.jobs,
            reason: e.to_string(),
        };
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(scenario.jobs).build().map_err(threads)?;
        let mut study = Study::empty(variants);
        let (mut done, mut wanted) = (0, first(scenario));
        loop {
            watcher.on_plan(variants.len() * wanted as usize);
            study.expect(wanted as usize);
            while done < wanted {
                let end = wanted.min(done + AT_ONCE);
                if !study.add(pool.install(|| self.repetitions(variants, done..end))?) {
                    let out_of_time = watcher.is_out_of_time() && !watcher.is_stopped();
                    study.interrupted = !out_of_time;
                    study.stopped = if out_of_time { Stopped::Time } else { Stopped::Runs };
                    return Ok(study);
                }
                done = end;
            }
            let open = matches!(scenario.runs, Runs::Auto { .. }).then(|| open(scenario, &study));
            if let Some(Some(open)) = &open {
                watcher.on_open(done, open);
            }
            if open == Some(None) {
                study.stopped = Stopped::Answer;
            }
            match next(scenario, open.flatten().as_ref(), done) {
                Some(more) => wanted = more,
                None => return Ok(study),
            }
        }
    }

    /// These repetitions of all variants, one after the other, so that the results of an
    /// interrupted study can be compared.
    fn repetitions(
        &self,
        variants: &[Variant],
        numbers: Range<u32>,
    ) -> Result<Vec<Option<Run>>, StudyError> {
        let tasks: Vec<(u64, &Variant)> = (u64::from(numbers.start)..u64::from(numbers.end))
            .flat_map(|number| variants.iter().map(move |variant| (number, variant)))
            .collect();
        let run = |(number, variant): &(u64, &Variant)| self.run(variant, *number);
        tasks.par_iter().with_max_len(1).map(run).collect()
    }

    /// The repetition, stored or new; `None` after a stop.
    fn run(&self, variant: &Variant, number: u64) -> Result<Option<Run>, StudyError> {
        // A capture is not stored, so its repetition is run again.
        let capture = number == 0 && self.watcher.wants_captures();
        let stored = self.records.and_then(|records| records.find(variant, number));
        if let Some(run) = stored.filter(|_| !capture) {
            self.watcher.on_stored(variant, &run);
            return Ok(Some(run));
        }
        // A result needs a few runs, however little time there is.
        let late = number >= FEWEST as u64 && self.watcher.is_out_of_time();
        if late || self.watcher.is_stopped() {
            return Ok(None);
        }
        let (run, delays) = self.carry_out(variant, number, capture)?;
        if let Some(records) = self.records {
            records.keep(self.scenario, variant, &run, delays).map_err(|error| {
                StudyError::Keep {
                    folder: records.folder().display().to_string(),
                    reason: error.to_string(),
                    kept: records.len(),
                }
            })?;
        }
        self.watcher.on_run(variant, &run);
        Ok(Some(run))
    }

    fn carry_out(
        &self,
        variant: &Variant,
        number: u64,
        capture: bool,
    ) -> Result<(Run, Vec<Delay>), StudyError> {
        let mut setup = setup(self.scenario, variant, number);
        setup.recording = Recording { capture, ..self.recording };
        setup.ways = self.watcher.ways();
        let fault = |reason: String| StudyError::Run {
            variant: variant.name.clone(),
            run: number,
            seed: self.scenario.seed,
            reason,
        };
        // A defect of the engine must not discard the results of other repetitions.
        let arrivals = self.records.and_then(|_| Arrivals::of(&setup));
        let packets = PacketMetrics::of(self.scenario, &setup);
        let recorder = Recorders::boxed([
            arrivals.clone().map(|arrivals| Box::new(arrivals) as Box<dyn Recorder>),
            packets.clone().map(|packets| Box::new(packets) as Box<dyn Recorder>),
        ]);
        let simulated = catch_unwind(AssertUnwindSafe(|| match recorder {
            Some(recorder) => simulate_recorded(&setup, recorder),
            None => simulate(&setup),
        }));
        let mut record = simulated
            .map_err(|panic| {
                fault(format!("defect of the engine: {}", panic_text(panic.as_ref())))
            })?
            .map_err(|error| fault(error.to_string()))?;
        if let Some(captures) = record.captures.take() {
            self.watcher.on_captures(variant, captures);
        }
        let delays = match self.records {
            Some(_) => delays::of_run(self.scenario, variant, (number, &record), arrivals.as_ref()),
            None => Vec::new(),
        };
        let mut run = Run::new(self.scenario, number, &record);
        if let Some(packets) = packets {
            packets.add_to(&mut run, self.scenario, &record);
        }
        Ok((run, delays))
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Key, Options};

    struct Silent;

    impl Watcher for Silent {
        fn on_run(&self, _: &Variant, _: &Run) {}
        fn is_stopped(&self) -> bool {
            false
        }
    }

    #[test]
    fn repetitions_of_a_large_study_are_in_order_and_take_no_more_memory_than_they_need() {
        let runs = AT_ONCE + 3;
        let options = Options::default()
            .with(Key::Path, "a=rate 5mbit loss 1%")
            .with(Key::Path, "b=rate 9mbit")
            .with(Key::Protocols, "tcp")
            .with(Key::Traffic, "bulk:1KiB")
            .with(Key::Runs, &runs.to_string());
        let study = run_study(&options.resolve().unwrap(), None, &Silent).unwrap();
        for variant in &study.variants {
            let numbers = variant.runs.iter().map(|run| run.number);
            assert!(numbers.eq(0..u64::from(runs)), "{}", variant.variant.name);
            assert_eq!(variant.runs.capacity(), runs as usize);
        }
    }
}
