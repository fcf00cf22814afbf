//! A warning before a study of very many runs: the memory and the time that it takes.
//!
//! Both are estimated from the first repetitions, which are carried out once more for it.

use crate::output::message;
use crate::progress::real_time;
use lab::run::Run;
use lab::scenario::{Runs, Variant, variants_of};
use lab::{Scenario, Watcher, run_study};

/// Largest number of runs without a warning.
const MANY: u64 = 100_000;

/// Number of repetitions for the estimate.
const SAMPLE: u32 = 50;

/// Prints the warning, if the study has that many runs.
pub(crate) fn warn_of_cost(scenario: &Scenario) {
    let variants = variants_of(scenario).len();
    let (repetitions, most) = match scenario.runs {
        Runs::Fixed(runs) => (runs, ""),
        Runs::Auto { most } => (most, "up to "),
    };
    let runs = u64::from(repetitions) * variants as u64;
    if runs <= MANY {
        return;
    }
    let first = Scenario { runs: Runs::Fixed(SAMPLE), ..scenario.clone() };
    let clock = real_time();
    // A failure is that of the study, which reports it.
    let Ok(study) = run_study(&first, None, &Silent) else { return };
    let more = f64::from(repetitions) / f64::from(SAMPLE);
    let seconds = clock.elapsed().as_secs_f64() * more;
    let sampled = study.variants.iter().flat_map(|variant| &variant.runs);
    let bytes = sampled.map(Run::memory).sum::<usize>() as f64 * more;
    message(&warning(most, runs, bytes, seconds));
}

fn warning(most: &str, runs: u64, bytes: f64, seconds: f64) -> String {
    format!(
        "warning: {most}{runs} runs take about {} of memory and {}\n  help: fewer runs are enough \
         for most questions; `--runs auto` stops when the answer is known",
        memory(bytes),
        duration(seconds)
    )
}

fn memory(bytes: f64) -> String {
    if bytes < 1e9 { format!("{:.0} MB", bytes / 1e6) } else { format!("{:.1} GB", bytes / 1e9) }
}

fn duration(seconds: f64) -> String {
    // Times above some centuries are cut.
    let minutes = (seconds / 60.0).ceil() as u64;
    match minutes {
        0..=2 => format!("{} s", seconds.ceil()),
        3..120 => format!("{minutes} min"),
        120..2880 => format!("{} h", minutes.div_ceil(60)),
        _ => format!("{} days", minutes.div_ceil(1440)),
    }
}

/// Watches nothing.
struct Silent;

impl Watcher for Silent {
    fn on_run(&self, _: &Variant, _: &Run) {}
    fn is_stopped(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warning_has_the_memory_and_the_time() {
        let shown = warning("", 2_000_000, 1.52e9, 50.0 * 3600.0);
        let expected = "warning: 2000000 runs take about 1.5 GB of memory and 3 days\n";
        assert!(shown.starts_with(expected), "{shown}");
        assert!(warning("up to ", 1, 2e6, 3.2).contains("up to 1 runs take about 2 MB of memory"));
        let times = [0.4, 90.0, 170.0, 7200.0].map(duration);
        assert_eq!(times, ["1 s", "90 s", "3 min", "2 h"]);
    }
}
