//! Any text as a scenario file: reading it never panics, and what is understood is written in a
//! form that is understood in the same way. Small transfers are carried out as well.

#![no_main]

mod files;

use lab::run::Run;
use lab::scenario::{Runs, Variant, variants_of};
use lab::{Scenario, Watcher, run_study};
use libfuzzer_sys::fuzz_target;
use traffic::Traffic;

/// Transfers up to this many bytes or segments are carried out.
const SMALL: u64 = 50_000;

fuzz_target!(|bytes: &[u8]| {
    // A device is no recording: reading it may not end.
    if bytes.windows(4).any(|name| name == b"/dev") {
        return;
    }
    let file = files::write("scenario.toml", bytes);
    let Some(scenario) = understood(&file) else { return };
    let again = files::write("again.toml", scenario.to_toml().as_bytes());
    let second = understood(&again).expect("what is written is understood");
    assert_eq!(second.to_toml(), scenario.to_toml());
    assert_eq!(second.study_key(), scenario.study_key());
    carry_out(scenario);
});

fn understood(file: &str) -> Option<Scenario> {
    match Scenario::options_from_file(file).and_then(|options| options.resolve()) {
        Ok(scenario) => Some(scenario),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

struct Silent;

impl Watcher for Silent {
    fn on_run(&self, _: &Variant, _: &Run) {}

    fn is_stopped(&self) -> bool {
        false
    }
}

/// One repetition where that takes no longer than reading the file.
fn carry_out(mut scenario: Scenario) {
    let small = match scenario.traffic {
        Traffic::BulkSize(bytes) => bytes <= SMALL,
        Traffic::Burst { segments, .. } => u64::from(segments) <= SMALL / 1000,
        _ => false,
    };
    if !small || !scenario.flows.is_empty() || variants_of(&scenario).len() > 3 {
        return;
    }
    scenario.runs = Runs::Fixed(1);
    scenario.jobs = 1;
    if let Err(error) = run_study(&scenario, None, &Silent) {
        panic!("{error}");
    }
}
